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
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/instant"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/mixed"
)

// dispatch is run, unless rwbench has started itself again for a part of a load.
func dispatch(ctx context.Context, args []string) error {
	if len(args) == 1 && args[0] == mixed.Word {
		return mixed.Main(ctx, os.Stdin, os.Stdout)
	}
	if len(args) == 1 && (args[0] == instant.ServerWord || args[0] == instant.ClientWord) {
		return instant.Main(ctx, args[0], os.Stdin, os.Stdout)
	}
	return run(ctx, args)
}

// twice is how far apart two signals must be to be two: timeout(1) and `go run` send one to the process and to its
// group.
const twice = 300 * time.Millisecond

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go attend(signals, cancel)
	err := dispatch(ctx, os.Args[1:])
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "rwbench: interrupted")
		os.Exit(interrupted)
	default:
		fmt.Fprintln(os.Stderr, "rwbench:", err)
		os.Exit(1)
	}
}

// interrupted is the exit code after a signal, as shells have it for a Ctrl-C.
const interrupted = 130

// attend has the first signal end what was started, and the second one end rwbench at once: the kernel and the guards
// of the servers end the rest then. It goes on until the process ends.
func attend(signals <-chan os.Signal, cancel func()) {
	<-signals
	cancel()
	for first := time.Now(); ; {
		<-signals
		if time.Since(first) > twice {
			os.Exit(interrupted)
		}
	}
}
