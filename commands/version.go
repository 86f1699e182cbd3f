package commands

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func versionCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version", UsageText: example("version"),
		Flags:  outputFlags(false),
		Action: action(func(c *cli.Context) error { return printVersion(env, c) }),
	}
}

// version is the tag of an installed module.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// printVersion tells what the Go toolchain has put into the binary: a tag for
// an installed module, the commit for a build in a checkout.
func printVersion(env *environment, c *cli.Context) error {
	v := struct {
		Version  string `json:"version"`
		Revision string `json:"revision"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{version(), "", runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	p := newPrinter(env, c)
	switch {
	case p.quiet:
		return nil
	case p.format == "json":
		return printJSON(env.stdout, v, "  ")
	}
	text := "mysqlrw " + v.Version
	if v.Revision != "" {
		text += " (" + v.Revision[:min(12, len(v.Revision))] + ")"
	}
	_, err := fmt.Fprintf(env.stdout, "%s, %s, %s\n", text, v.Go, v.Platform)
	return err
}
