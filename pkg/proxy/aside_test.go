package proxy

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
)

// TestLockAside: a session that finds a lock taken, which its holder keeps while it waits for a server, waits
// beside the loop: the holder's answer may come over the same.
func TestLockAside(t *testing.T) {
	ls, err := netloop.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	if ls == nil {
		t.Skip("there are no loops on this system")
	}
	defer ls.Close()
	p := &Proxy{now: time.Now}
	p.conf.Store(&Options{})
	for name, do := range map[string]func(s *session){
		"begins":    func(s *session) { s.begins(nil) },
		"ends":      func(s *session) { s.ends() },
		"wasKilled": func(s *session) { s.wasKilled() },
		"proveAgain": func(s *session) {
			if err := s.proveAgain(&frontend.Login{}); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{p: p, account: newAccount("app", "")}
			here, there := looped(t, ls)
			other, its := looped(t, ls)
			done := make(chan struct{})
			ls.Run(func(task *netloop.Task) {
				defer close(done)
				s.task = task
				here.Attach(task)
				_, _ = here.Read(make([]byte, 1)) // from here on the loop runs it
				do(s)
			})
			ls.Run(func(task *netloop.Task) {
				other.Attach(task)
				_, _ = io.Copy(struct{ io.Writer }{other}, struct{ io.Reader }{other})
			})
			s.mu.Lock()
			s.account.proving.Lock()
			_, _ = there.Write([]byte("x"))
			b := make([]byte, 1)
			_ = its.SetDeadline(time.Now().Add(10 * time.Second))
			for range 100 {
				if _, err = its.Write(b); err == nil {
					_, err = io.ReadFull(its, b)
				}
				if err != nil {
					t.Error("the loop waits for the lock: ", err)
					break
				}
			}
			s.account.proven(time.Now(), false)
			s.account.proving.Unlock()
			s.mu.Unlock()
			<-done
		})
	}
}

// looped returns the two ends of a connection that loops wait for.
func looped(t *testing.T, ls *netloop.Loops) (here *netloop.Conn, there net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if there, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	here, ok := ls.Wrap(accepted).(*netloop.Conn)
	if !ok {
		t.Fatal("it was not taken over")
	}
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return here, there
}
