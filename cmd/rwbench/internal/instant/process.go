package instant

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
)

// The words that rwbench is started again with.
const (
	ServerWord = "instant-server"
	ClientWord = "instant-client"
)

const saysListening = "listening "

// Main is the body of a process that was started with a word and has its options on stdin.
func Main(ctx context.Context, word string, in io.Reader, out io.Writer) error {
	switch word {
	case ServerWord:
		o := &ServerOptions{}
		if err := json.NewDecoder(in).Decode(o); err != nil {
			return err
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = l.Close() })
		defer stop()
		_, _ = io.WriteString(out, saysListening+l.Addr().String()+"\n")
		NewServer(o).Serve(ctx, l)
		return nil
	case ClientWord:
		o := &ClientOptions{}
		if err := json.NewDecoder(in).Decode(o); err != nil {
			return err
		}
		return child.Tell(out, func(begin, end func()) (*Outcome, error) { return Measure(ctx, o, begin, end) })
	}
	return fmt.Errorf("%q is no process of this package", word)
}

// start runs program, which calls Main, with options on its stdin: passwords stand there and not in arguments.
func start(program, word string, options any) (*child.Process, error) {
	b, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	return child.Start(child.Options{Name: word, Stdin: strings.NewReader(string(b))}, program, word)
}

// StartServer starts a Server as a process, which the caller stops, and returns its address.
func StartServer(ctx context.Context, program string, o *ServerOptions) (*child.Process, string, error) {
	p, err := start(program, ServerWord, o)
	if err != nil {
		return nil, "", err
	}
	address := ""
	err = p.Await(ctx, func(line string) (ok bool) {
		address, ok = strings.CutPrefix(line, saysListening)
		return ok
	})
	if err != nil {
		_ = p.Stop()
		return nil, "", err
	}
	return p, address, nil
}

// Run runs clients in a process of their own, and tells what the process pid, if that is not 0, used meanwhile.
func Run(ctx context.Context, program string, o *ClientOptions, pid int) (*Outcome, child.Usage, error) {
	p, err := start(program, ClientWord, o)
	if err != nil {
		return nil, child.Usage{}, err
	}
	defer p.Stop() // it has ended by itself if all went well
	found := &Outcome{}
	costs, err := p.Measured(ctx, pid, found)
	if err != nil {
		return nil, child.Usage{}, err
	}
	return found, costs.Of, nil
}
