package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// peerPatience is how long somebody may take to set up a proxy by hand, or a script.
const peerPatience = 5 * time.Minute

// Peers waits until the account can log in to proxies of others' and returns them with their process ids. A file says
// where the servers are and what the account is, for whoever configures these proxies: neither is known before.
func (s *Stage) Peers(ctx context.Context, peers []Candidate) ([]Candidate, error) {
	if len(peers) == 0 {
		return nil, nil
	}
	file := filepath.Join(s.Dir, "servers.json")
	text, err := json.MarshalIndent(map[string]any{"servers": s.Servers(), "user": Account, "password": s.Password, "schema": Database}, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, peerPatience, fmt.Errorf("not within %s", peerPatience))
	defer cancel()
	var ready []Candidate
	for _, c := range peers {
		s.progress(fmt.Sprintf("waiting for %s at %s; the servers and the account stand in %s", c.Name, c.HostPort(), file))
		if err := s.awaitPeer(ctx, &c); err != nil {
			return nil, err
		}
		ready = append(ready, c)
	}
	return ready, nil
}

func (s *Stage) awaitPeer(ctx context.Context, c *Candidate) error {
	db := s.Open(*c)
	defer db.Close()
	for {
		err := db.PingContext(ctx)
		if err == nil && c.PIDFile != "" {
			c.PID, err = readPID(c.PIDFile)
		}
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s at %s: %w: %w", c.Name, c.HostPort(), context.Cause(ctx), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func readPID(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
