// Command rwbench measures the proxy beside others, on servers that it starts itself. It is no part of the product:
// docs/performance.md says what was found, and is written by rwbench --update.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/instant"
)

// dispatch is run, unless rwbench has started itself again for a part of a load.
func dispatch(ctx context.Context, args []string) error {
	if len(args) == 1 && (args[0] == instant.ServerWord || args[0] == instant.ClientWord) {
		return instant.Main(ctx, args[0], os.Stdin, os.Stdout)
	}
	return run(ctx, args)
}

func main() {
	// The first signal ends what was started; the second one finds its default and ends rwbench at once, and the
	// kernel and the guards of the servers end the rest.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := dispatch(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "rwbench: interrupted")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "rwbench:", err)
		os.Exit(1)
	}
}
