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
)

func main() {
	// The first signal ends what was started; the second one finds its default and ends rwbench at once, and the
	// kernel and the guards of the servers end the rest.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:])
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
