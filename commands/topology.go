package commands

import (
	"context"
	"fmt"
	"strings"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// topology walks from the targets and draws a tree for each server that has
// no source. In JSON the nodes are the records of status, with the lag and the
// addresses of their replicas.
func (r *statusRun) topology(ctx context.Context) error {
	starts, err := r.startAddresses()
	if err != nil {
		return err
	}
	t := &tree{run: r, lags: map[*status.Node]cell{}}
	defer t.close()
	t.roots = status.Walk(ctx, starts, r.timeout, t.open)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t.measure(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := newPrinter(r.env, r.c)
	switch {
	case p.quiet:
	case p.format == "json":
		if err := printJSON(r.env.stdout, t.json(), "  "); err != nil {
			return err
		}
	default:
		for _, root := range t.roots {
			t.draw(p, root, "", "", nil)
		}
	}
	code := exitYes
	for _, n := range t.nodes() {
		if n.Err != nil {
			code = exitUnknown
		}
	}
	return answer(code)
}

func (r *statusRun) startAddresses() ([]string, error) {
	arguments := r.c.Args().Slice()
	if len(arguments) == 0 {
		arguments = []string{""}
	}
	for _, a := range arguments { // a typing error costs no connection
		s, err := r.k.open(a)
		if err != nil {
			return nil, err
		}
		s.db.Close()
	}
	return arguments, nil
}

// tree is a topology with what is known of its servers.
type tree struct {
	run   *statusRun
	roots []*status.Node
	names map[string]server // by address
	lags  map[*status.Node]cell
}

func (t *tree) open(_ context.Context, address string) (status.Querier, func(), error) {
	s, err := t.run.k.open(address)
	if err != nil {
		return nil, nil, err
	}
	if t.names == nil {
		t.names = map[string]server{}
	}
	t.names[address] = s
	return s.db, func() {}, nil
}

func (t *tree) close() {
	for _, s := range t.names {
		s.db.Close()
	}
}

// nodes lists every node once, parents before their replicas.
func (t *tree) nodes() []*status.Node {
	var all []*status.Node
	seen := map[*status.Node]bool{}
	var visit func(*status.Node)
	visit = func(n *status.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		all = append(all, n)
		for _, r := range n.Replicas {
			visit(r)
		}
	}
	for _, root := range t.roots {
		visit(root)
	}
	return all
}

// measure reads the lag of every replica, all at once.
func (t *tree) measure(ctx context.Context) {
	var replicas []*status.Node
	var servers []server
	for _, n := range t.nodes() {
		if n.Server != nil && len(n.Server.Channels) > 0 {
			replicas = append(replicas, n)
			servers = append(servers, t.names[n.Address])
		}
	}
	lags := make([]cell, len(replicas))
	inParallel(servers, func(i int, s server) {
		ctx, cancel := within(ctx, t.run.timeout)
		defer cancel()
		samples, err := lag.Measure(ctx, s.db, lag.Options{})
		switch {
		case err != nil:
			reason, _ := failure(err)
			lags[i] = unknownLag(reason)
		default:
			lags[i] = lagCell(samples[len(samples)-1])
		}
	})
	for i, n := range replicas {
		t.lags[n] = lags[i]
	}
}

func unknownLag(reason string) cell { return cell{"lag unknown: " + reason, badTone} }

func lagCell(s lag.Sample) cell {
	d, known := s.Lag.Duration()
	if !known {
		return unknownLag(s.Lag.Reason().String())
	}
	text := fmt.Sprintf("lag %.3fs", d.Seconds())
	if s.Delay > 0 {
		text += " beyond a delay of " + shortDuration(s.Delay)
	}
	return cell{text, goodTone}
}

// draw prints a node and, indented under it, its replicas. A node that is its
// own ancestor ends the branch: the servers replicate in a ring.
func (t *tree) draw(p *printer, n *status.Node, first, rest string, ancestors []*status.Node) {
	line := first + t.label(n)
	note, ring := "", false
	for _, a := range ancestors {
		ring = ring || a == n
	}
	switch {
	case ring:
		note = p.paint(cell{"(ring)", warnTone})
	case n.Err != nil:
		reason, detail := failure(n.Err)
		note = p.paint(cell{reason + ": " + detail, badTone})
	default:
		note = t.describe(p, n)
	}
	fmt.Fprintln(p.w, strings.TrimRight(line+"  "+note, " "))
	if ring {
		return
	}
	ancestors = append(ancestors, n)
	for i, r := range n.Replicas {
		if i == len(n.Replicas)-1 {
			t.draw(p, r, rest+"└─ ", rest+"   ", ancestors)
		} else {
			t.draw(p, r, rest+"├─ ", rest+"│  ", ancestors)
		}
	}
}

func (t *tree) label(n *status.Node) string {
	if s, ok := t.names[n.Address]; ok {
		return s.name
	}
	return n.Address
}

func (t *tree) describe(p *printer, n *status.Node) string {
	s := n.Server
	parts := []string{s.Role().String(), s.Flavor.String() + " " + s.Version.String()}
	if s.ReadOnly {
		parts = append(parts, "read-only")
	}
	if len(s.Channels) > 1 {
		parts = append(parts, fmt.Sprintf("%d channels", len(s.Channels)))
	}
	text := p.paint(cell{strings.Join(parts, ", "), faintTone})
	if lag, ok := t.lags[n]; ok {
		text += "  " + p.paint(lag)
	}
	return text
}

// topologyRow is one server of the tree in JSON.
type topologyRow struct {
	statusRow
	Lag      *string  `json:"lag"`
	Sources  []string `json:"sources"`
	Replicas []string `json:"replicas"`
}

func (t *tree) json() []topologyRow {
	rows := []topologyRow{}
	for _, n := range t.nodes() {
		row := topologyRow{statusRow: newStatusRow(t.label(n), n.Server, n.Err), Sources: []string{}, Replicas: []string{}}
		if lag, ok := t.lags[n]; ok {
			row.Lag = &lag.text
		}
		for _, s := range n.Sources {
			row.Sources = append(row.Sources, t.label(s))
		}
		for _, r := range n.Replicas {
			row.Replicas = append(row.Replicas, t.label(r))
		}
		rows = append(rows, row)
	}
	return rows
}
