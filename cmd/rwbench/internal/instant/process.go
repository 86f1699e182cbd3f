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

// What the processes say.
const (
	saysListening = "listening "
	saysBegin     = "begin"
	saysEnd       = "end"
	saysOutcome   = "outcome "
)

// Main is the body of a process that was started with a word and has its options on stdin.
func Main(ctx context.Context, word string, in io.Reader, out io.Writer) error {
	say := func(line string) { _, _ = io.WriteString(out, line+"\n") } // who does not read has gone
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
		say(saysListening + l.Addr().String())
		NewServer(o).Serve(ctx, l)
		return nil
	case ClientWord:
		o := &ClientOptions{}
		if err := json.NewDecoder(in).Decode(o); err != nil {
			return err
		}
		got, err := Measure(ctx, o, func() { say(saysBegin) }, func() { say(saysEnd) })
		if err != nil {
			return err
		}
		b, err := json.Marshal(got)
		say(saysOutcome + string(b))
		return err
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

// Result is what clients have found, and what the proxy used meanwhile.
type Result struct {
	Outcome
	Before, After child.Usage
}

// Run runs clients in a process of their own, and reads the use of the process pid, if that is not 0.
func Run(ctx context.Context, program string, o *ClientOptions, pid int) (*Result, error) {
	p, err := start(program, ClientWord, o)
	if err != nil {
		return nil, err
	}
	defer p.Stop() // it has ended by itself if all went well
	r := &Result{}
	for _, border := range []struct {
		word string
		use  *child.Usage
	}{{saysBegin, &r.Before}, {saysEnd, &r.After}} {
		if err := p.Await(ctx, func(line string) bool { return line == border.word }); err != nil {
			return nil, err
		}
		if pid == 0 {
			continue
		}
		if *border.use, err = child.UsageOf(pid); err != nil {
			return nil, err
		}
	}
	var decoded error
	err = p.Await(ctx, func(line string) bool {
		text, ok := strings.CutPrefix(line, saysOutcome)
		if ok {
			decoded = json.Unmarshal([]byte(text), &r.Outcome)
		}
		return ok
	})
	if err == nil {
		err = decoded
	}
	if err != nil {
		return nil, err
	}
	_, err = p.Wait(ctx)
	return r, err
}
