package commands

import "github.com/urfave/cli/v2"

func demoCommand(env *environment) *cli.Command {
	return &cli.Command{Name: "demo"}
}
