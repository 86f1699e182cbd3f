//go:build linux

package pagetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// browser is a running Chromium. Both sides write JSON that ends with a zero byte into a pipe, as
// --remote-debugging-pipe has it; Chromium ends when the pipe does, so that none outlives a killed test.
type browser struct {
	commands io.WriteCloser

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	tabs    map[string]*tab // by session
	ended   chan struct{}   // no more replies
}

// message is what Chromium sends: a reply if it has an ID, else an event.
type message struct {
	ID      int             `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	reply
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// callLimit bounds one call on a machine that is busy with other tests.
const callLimit = time.Minute

// findChromium returns its path, or skips the test.
func findChromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-headless-shell", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("CHROMIUM MISSING: install the package chromium")
	return ""
}

// startBrowser runs Chromium until the test ends.
func startBrowser(t testing.TB) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("no browser is started under -short")
	}
	dir := t.TempDir()
	commands, toBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromBrowser, replies, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	// The sandbox cannot be had as root or in most containers; nothing but our own page is loaded.
	cmd := exec.Command(findChromium(t), "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--user-data-dir="+dir,
		"--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--no-proxy-server", "--hide-scrollbars", "--lang=en", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir, "DBUS_SESSION_BUS_ADDRESS=disabled:")
	cmd.ExtraFiles = []*os.File{commands, replies}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = commands.Close(), replies.Close()
	b := &browser{commands: toBrowser, waiting: map[int]chan reply{}, tabs: map[string]*tab{}, ended: make(chan struct{})}
	go b.read(fromBrowser)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = b.call(ctx, "", "Browser.close", nil, nil)
		_ = toBrowser.Close()
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		<-b.ended
		if t.Failed() {
			t.Logf("Chromium said: %.2000s", said.String())
		}
	})
	return b
}

func (b *browser) read(from io.ReadCloser) {
	defer close(b.ended)
	defer from.Close()
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		waiting, tab := b.waiting[m.ID], b.tabs[m.Session]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		switch {
		case waiting != nil:
			waiting <- m.reply
		case m.ID == 0 && tab != nil:
			tab.event(m.Method, m.Params)
		}
	}
}

// call has Chromium do something; session is that of a tab, or "" for the browser. into may be nil.
func (b *browser) call(ctx context.Context, session, method string, params, into any) error {
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.waiting[id] = answer
	body := map[string]any{"id": id, "method": method}
	if params != nil {
		body["params"] = params
	}
	if session != "" {
		body["sessionId"] = session
	}
	text, err := json.Marshal(body)
	if err == nil {
		_, err = b.commands.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	select {
	case r := <-answer:
		if r.Error != nil {
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		}
		if into == nil {
			return nil
		}
		return json.Unmarshal(r.Result, into)
	case <-b.ended:
		return fmt.Errorf("%s: %w", method, errors.New("Chromium has ended"))
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}
