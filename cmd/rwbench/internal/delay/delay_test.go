package delay

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// echo sends back what it gets, and ends each connection with its client.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

func roundTrip(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	began := time.Now()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 5)
	if _, err := io.ReadFull(c, b); err != nil || string(b) != "hello" {
		t.Fatalf("got %q, %v", b, err)
	}
	return time.Since(began)
}

// TestRelay: a round trip takes at least two delays, also on a connection that was open before.
func TestRelay(t *testing.T) {
	r, err := New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	roundTrip(t, c)
	r.Set(20 * time.Millisecond)
	if took := roundTrip(t, c); took < 40*time.Millisecond {
		t.Errorf("a round trip took %v", took)
	}
	r.Set(0)
	roundTrip(t, c)
	r.Set(time.Hour) // what is on the way does not keep Stop
	if _, err := c.Write([]byte("late")); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	if n, err := c.Read(make([]byte, 5)); err == nil {
		t.Errorf("%d bytes after the end", n)
	}
	if _, err := net.Dial("tcp", r.Address()); err == nil {
		t.Error("it still listens")
	}
}

// TestRelay_pace: requests wait for each other, on whichever connections they come, and answers do not.
func TestRelay_pace(t *testing.T) {
	r, err := New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	const each, clients, requests = 5 * time.Millisecond, 4, 5
	r.Pace(each)
	began := time.Now()
	var all sync.WaitGroup
	for range clients {
		c, err := net.Dial("tcp", r.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all.Go(func() {
			for range requests {
				roundTrip(t, c)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < each*clients*requests {
		t.Errorf("%d requests took %v", clients*requests, took)
	}
}

// TestRelay_pipelined: what is sent while something is on the way arrives as much later, and not behind that.
func TestRelay_pipelined(t *testing.T) {
	r, err := New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	const by, pieces = 100 * time.Millisecond, 200
	r.Set(by)
	c, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	var last time.Duration // when the last piece was sent
	var sender sync.WaitGroup
	sender.Go(func() {
		for range pieces {
			if _, err := c.Write(make([]byte, 1000)); err != nil {
				t.Error(err)
				return
			}
		}
		last = time.Since(began)
	})
	if _, err := io.ReadFull(c, make([]byte, pieces*1000)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	sender.Wait()
	if took < 2*by || took-last > 20*by { // one after the other they take 200 times as long
		t.Errorf("%d pieces, sent within %v, took %v", pieces, last, took)
	}
}

// TestRelay_closes: when one side goes, so does the other; and a target that is not there ends a connection.
func TestRelay_closes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, err := New(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Stop()
	for _, clientFirst := range []bool{true, false} {
		client, err := net.Dial("tcp", r.Address())
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		first, other := client, server
		if !clientFirst {
			first, other = server, client
		}
		_ = first.Close()
		if _, err := other.Read(make([]byte, 1)); err == nil {
			t.Error("the other side got something")
		}
		_ = other.Close()
	}
	_ = l.Close()
	c, err := net.Dial("tcp", r.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a target that is not there answers")
	}
}
