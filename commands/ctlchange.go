package commands

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/admin"
)

func (k *ctl) name() string { return url.PathEscape(k.c.Args().First()) }

func (k *ctl) say(format string, args ...any) { fmt.Fprintf(k.env.stdout, format+"\n", args...) }

// drainEvery is how often is asked what still needs a server that is drained.
const drainEvery = 250 * time.Millisecond

// ctlDrain takes a replica out of reads and waits until nothing needs it.
func ctlDrain(ctx context.Context, k *ctl) error {
	var s admin.ServerState
	if err := k.ask(ctx, http.MethodPost, "servers/"+k.name()+"/drain", nil, &s); err != nil {
		return err
	}
	timeout, _ := duration(k.c, "timeout")
	killAfter, kills := duration(k.c, "kill-after")
	kills = kills && killAfter > 0
	began := time.Now()
	line := &progress{env: k.env, shown: k.env.stderrTerminal}
	defer line.clear()
	tick := time.NewTicker(drainEvery)
	defer tick.Stop()
	killed := map[uint32]bool{}
	for {
		var busy []admin.SessionState
		if err := k.get(ctx, "servers/"+k.name()+"/busy", &busy); err != nil {
			return err
		}
		past := time.Since(began)
		if len(busy) == 0 {
			line.clear()
			k.say("%s is drained after %s: nothing needs it, and it can be stopped. ctl resume %s brings it back", s.Name,
				shortDuration(past.Round(100*time.Millisecond)), s.Name)
			return nil
		}
		line.drain(s.Name, busy, past)
		if kills && past >= killAfter {
			if err := k.killAll(ctx, line, busy, killed); err != nil {
				return err
			}
		}
		if timeout > 0 && past >= timeout {
			line.clear()
			k.say("%s takes no new reads, and %d sessions still need it:", s.Name, len(busy))
			out := &printer{w: k.env.stdout, colour: k.env.stdoutTerminal && k.env.getenv("NO_COLOR") == ""}
			if err := out.print(sessionTable(busy)); err != nil {
				return err
			}
			return answer(exitNo)
		}
		select {
		case <-ctx.Done():
			line.clear()
			fmt.Fprintf(k.env.stderr, "%s stays out of reads: ctl resume %s brings it back\n", s.Name, s.Name)
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// killAll ends sessions that were not killed before.
func (k *ctl) killAll(ctx context.Context, line *progress, busy []admin.SessionState, killed map[uint32]bool) error {
	for i := range busy {
		id := busy[i].ID
		if killed[id] {
			continue
		}
		killed[id] = true
		line.clear()
		k.say("kills %s", busyText(&busy[i]))
		err := k.kill(ctx, strconv.FormatUint(uint64(id), 10), false)
		var coded *codeError
		if errors.As(err, &coded) && coded.code == exitUsage {
			continue // it has gone meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// busyText says why a session needs a server.
func busyText(s *admin.SessionState) string {
	text := fmt.Sprintf("session %d of %s from %s", s.ID, s.User, s.Client)
	var why []string
	if s.Running != "" {
		why = append(why, fmt.Sprintf("a statement for %.1fs", s.RunningSeconds))
	}
	if s.Transaction != "" {
		why = append(why, "a transaction")
	}
	for _, h := range s.Holds {
		why = append(why, strings.TrimSpace(h.Kind+" "+h.Name))
	}
	if len(why) == 0 {
		why = []string{"its connection"}
	}
	return text + ": " + strings.Join(why, ", ")
}

// drain shows what a server that is drained is still needed for.
func (p *progress) drain(server string, busy []admin.SessionState, past time.Duration) {
	if !p.shown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drawn = true
	text := fmt.Sprintf("%s: %d sessions need it after %.1fs, such as %s", server, len(busy), past.Seconds(), busyText(&busy[0]))
	if len(text) > 100 {
		text = text[:97] + "..."
	}
	fmt.Fprintf(p.env.stderr, "\r\x1b[K%s", text)
}

func ctlResume(ctx context.Context, k *ctl) error {
	var s admin.ServerState
	if err := k.ask(ctx, http.MethodPost, "servers/"+k.name()+"/resume", nil, &s); err != nil {
		return err
	}
	k.saysWeight(&s)
	return nil
}

func (k *ctl) saysWeight(s *admin.ServerState) {
	text := fmt.Sprintf("%s has weight %d, and %d as the primary", s.Name, s.ReplicaWeight, s.PrimaryWeight)
	if s.SlowStartSeconds > 0 && s.ReplicaWeight > 0 {
		text += fmt.Sprintf("; it takes its whole share in %s", shortDuration(time.Duration(s.SlowStartSeconds*float64(time.Second)).Round(100*time.Millisecond)))
	}
	k.say("%s", text)
}

func ctlWeight(ctx context.Context, k *ctl) error {
	n, err := strconv.Atoi(k.c.Args().Get(1))
	if err != nil {
		return usagef("%q is no weight: want a number from 0", k.c.Args().Get(1))
	}
	change := admin.WeightChange{Weight: &n}
	if k.c.Bool("as-primary") {
		change = admin.WeightChange{PrimaryWeight: &n}
	}
	var s admin.ServerState
	if err := k.ask(ctx, http.MethodPut, "servers/"+k.name()+"/weight", change, &s); err != nil {
		return err
	}
	k.saysWeight(&s)
	return nil
}

func ctlSet(ctx context.Context, k *ctl) error {
	change := admin.SetChange{Set: map[string]string{}, ApplyNow: k.c.Bool("apply-now")}
	for _, arg := range k.c.Args().Slice() {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return usagef("%q is not KEY=VALUE, such as policy.session-timeout=20ms", arg)
		}
		change.Set[key] = value
	}
	return k.change(ctx, http.MethodPatch, "config", change)
}

func ctlUnset(ctx context.Context, k *ctl) error {
	return k.change(ctx, http.MethodPatch, "config", admin.SetChange{Unset: k.c.Args().Slice()})
}

func ctlReload(ctx context.Context, k *ctl) error {
	return k.change(ctx, http.MethodPost, "reload", nil)
}

// change asks for a change of the configuration and prints what has changed.
func (k *ctl) change(ctx context.Context, method, what string, body any) error {
	var changes []admin.ConfigChange
	if err := k.ask(ctx, method, what, body, &changes); err != nil {
		return err
	}
	when := map[string]string{"now": "", "session": ", for sessions that begin now", "restart": ": NOT CHANGED, that takes a restart"}
	for _, c := range changes {
		k.say("%s: %s -> %s%s", c.Key, c.Old, c.New, when[c.Effect])
	}
	if len(changes) == 0 {
		k.say("nothing has changed")
	}
	return nil
}

func ctlKill(ctx context.Context, k *ctl) error {
	for _, id := range k.c.Args().Slice() {
		if err := k.kill(ctx, id, k.c.Bool("query")); err != nil {
			return err
		}
		k.say("killed %s", id)
	}
	return nil
}

func (k *ctl) kill(ctx context.Context, id string, query bool) error {
	if _, err := strconv.ParseUint(id, 10, 64); err != nil {
		return usagef("%q is no session: want a number, as ctl sessions shows it", id)
	}
	what := "sessions/" + id + "/kill"
	if query {
		what += "?query=true"
	}
	return k.ask(ctx, http.MethodPost, what, nil, nil)
}
