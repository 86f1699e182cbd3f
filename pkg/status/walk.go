package status

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Node is one server of a topology.
type Node struct {
	Address string  // by which it was reached, or could not be
	Server  *Server // nil if it could not be read
	Err     error   // why not

	Sources  []*Node // one per channel, in the order of its channels
	Replicas []*Node // in the order in which they were found
}

// Opener opens a server by host:port; the returned function closes it.
type Opener func(ctx context.Context, address string) (Querier, func(), error)

// Walk reads the servers at the start addresses, and from each one its sources
// and its replicas, until no new server appears. It returns the nodes that
// have no source among them, which are the roots of the trees; of a ring,
// which has none, the server that was found first.
//
// A server that is known by two addresses is one node: it is recognised by its
// UUID, or on MariaDB by its server_id, host name and port. A server that
// cannot be read within limit is a node with an error, unless it is a replica
// whose source lists it under an address that does not work here and that was
// found by another one. Replicas that do not report their host (report_host)
// cannot be found from their source.
func Walk(ctx context.Context, start []string, limit time.Duration, open Opener) []*Node {
	w := &walker{open: open, limit: limit, start: start, byAddress: map[string]*Node{}, byIdentity: map[string]*Node{}}
	queue := append([]string{}, start...)
	for len(queue) > 0 && ctx.Err() == nil {
		address := queue[0]
		queue = queue[1:]
		if w.byAddress[address] == nil {
			queue = append(queue, w.visit(ctx, address)...)
		}
	}
	w.connect()
	return w.roots()
}

type walker struct {
	open       Opener
	limit      time.Duration
	start      []string
	byAddress  map[string]*Node
	byIdentity map[string]*Node
	nodes      []*Node
}

// visit reads one server and returns the addresses it knows of.
func (w *walker) visit(ctx context.Context, address string) []string {
	ctx, cancel := context.WithTimeout(ctx, w.limit)
	defer cancel()
	node := &Node{Address: address}
	q, closeServer, err := w.open(ctx, address)
	if err == nil {
		defer closeServer()
		node.Server, err = Read(ctx, q)
	}
	node.Err = err
	if err != nil {
		w.byAddress[address] = node
		w.nodes = append(w.nodes, node)
		return nil
	}
	identity := node.Server.identity()
	if known := w.byIdentity[identity]; known != nil {
		w.byAddress[address] = known
		return nil
	}
	w.byAddress[address], w.byIdentity[identity] = node, node
	w.nodes = append(w.nodes, node)
	var more []string
	for i := range node.Server.Channels {
		more = append(more, node.Server.Channels[i].Source())
	}
	for _, d := range node.Server.Replicas {
		if a := d.address(); a != "" {
			more = append(more, a)
		}
	}
	return more
}

// identity is the same for every address of one server.
func (s *Server) identity() string {
	if s.UUID != "" {
		return s.UUID
	}
	return strings.Join([]string{s.Hostname, strconv.Itoa(s.Port), strconv.FormatUint(uint64(s.ServerID), 10)}, "/")
}

// address is the replica's host:port, "" if it does not report one.
func (d Downstream) address() string {
	if d.Host == "" {
		return ""
	}
	return net.JoinHostPort(d.Host, strconv.Itoa(d.Port))
}

// connect draws an edge for each channel, and for each replica that its
// source lists but that could not be read.
func (w *walker) connect() {
	for _, n := range w.nodes {
		if n.Server == nil {
			continue
		}
		for i := range n.Server.Channels {
			source := w.byAddress[n.Server.Channels[i].Source()]
			if source != nil {
				n.Sources = append(n.Sources, source)
				source.Replicas = append(source.Replicas, n)
			}
		}
	}
	known := map[*Node]bool{} // nodes that are another one's second address
	for _, n := range w.nodes {
		if n.Server == nil {
			continue
		}
		for _, d := range n.Server.Replicas {
			r := w.byAddress[d.address()]
			switch {
			case r == nil || r.Err == nil:
			case n.lists(d) && !slices.Contains(w.start, r.Address):
				known[r] = true
			default:
				n.Replicas = append(n.Replicas, r)
				r.Sources = append(r.Sources, n)
			}
		}
	}
	w.nodes = slices.DeleteFunc(w.nodes, func(n *Node) bool { return known[n] && len(n.Sources) == 0 })
}

// lists reports whether one of n's replicas that could be read is the one that
// n lists as d.
func (n *Node) lists(d Downstream) bool {
	return slices.ContainsFunc(n.Replicas, func(r *Node) bool {
		return r.Server != nil && r.Server.ServerID == d.ServerID && r.Server.UUID == d.UUID
	})
}

func (w *walker) roots() []*Node {
	var roots []*Node
	seen := map[*Node]bool{}
	take := func(n *Node) {
		roots = append(roots, n)
		n.mark(seen)
	}
	for _, n := range w.nodes {
		if len(n.Sources) == 0 {
			take(n)
		}
	}
	for _, n := range w.nodes {
		if !seen[n] {
			take(n)
		}
	}
	return roots
}

// mark adds n and everything below it.
func (n *Node) mark(seen map[*Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	for _, r := range n.Replicas {
		r.mark(seen)
	}
}
