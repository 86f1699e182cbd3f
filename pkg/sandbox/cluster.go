package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// ErrExists is returned by Start for a folder that has a sandbox, whether it
// runs or was left by a process that was killed. Down removes both.
var ErrExists = errors.New("there is a sandbox already")

// Cluster is a set of running servers. The fields must not be changed.
type Cluster struct {
	Dir       string // absolute
	Flavor    flavor.Flavor
	Version   flavor.Version
	Servers   []*Server // primaries first
	CA        string    // path of the certificate that the servers' certificates are signed by
	ClientCnf string    // path of an option file for the primary, with the password

	opts    Options
	inst    *Installation
	certs   certs
	guard   *guard
	lock    *fileLock
	madeDir bool   // Dir was not there before
	sockets string // temporary folder of the sockets, or ""

	replication struct{ user, password string }

	close sync.Once
	left  error // what Close could not remove
}

// Start starts a cluster and returns when every replica reads from its
// sources and applies. ctx is about starting only: if it ends in the middle,
// everything is taken down again, and later it means nothing. The caller must
// call Close.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.check()
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	inst, err := Install(ctx, o.install())
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	c := &Cluster{Flavor: inst.Flavor, Version: inst.Version, opts: o, inst: inst}
	if err := c.start(ctx); err != nil {
		return nil, fmt.Errorf("start sandbox: %w", errors.Join(err, c.Close()))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	data, err := template(ctx, c.inst, c.opts.install())
	if err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	c.opts.Progress(fmt.Sprintf("starting %d %s %s servers", len(c.Servers), c.Flavor, c.Version))
	boot, bootCtx := errgroup.WithContext(ctx)
	for _, s := range c.Servers {
		boot.Go(func() error { return s.boot(bootCtx, data) })
	}
	if err := boot.Wait(); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	return c.writeFiles()
}

// prepare makes the folders, the guard, the certificates and the servers'
// descriptions. What it made is known to Close at every moment.
func (c *Cluster) prepare() error {
	dir, made, err := prepareDir(c.opts.Dir)
	if err != nil {
		return err
	}
	if c.lock, err = own(dir); err != nil {
		return err
	}
	c.Dir, c.madeDir = dir, made
	sockets, short, err := socketDir(dir, len("replica00.sock.lock"))
	if err != nil {
		return err
	}
	var folders []string
	if short {
		c.sockets = sockets
		folders = append(folders, sockets)
	}
	if c.opts.Dir == "" {
		folders = append(folders, dir)
	}
	if c.guard, err = startGuard(folders...); err != nil {
		return err
	}
	if c.certs, err = makeCerts(dir, time.Now()); err != nil {
		return fmt.Errorf("make certificates: %w", err)
	}
	c.CA, c.ClientCnf = c.certs.ca, filepath.Join(dir, "client.cnf")
	c.replication.user, c.replication.password = "repl", rand.Text()
	c.describe(sockets)
	return nil
}

// describe fills in the servers. Ports are chosen when a server boots.
func (c *Cluster) describe(sockets string) {
	password := rand.Text()
	add := func(name string, role Role) {
		c.Servers = append(c.Servers, &Server{
			Name: name, Role: role, Host: loopback, User: "root", Password: password,
			ServerID: len(c.Servers) + 1, Dir: filepath.Join(c.Dir, name),
			Socket: filepath.Join(sockets, name+".sock"), cluster: c,
		})
	}
	if c.opts.Sources == 1 {
		add("primary", Primary)
	} else {
		for i := range c.opts.Sources {
			add("primary"+strconv.Itoa(i+1), Primary)
		}
	}
	for i := range c.opts.Replicas {
		add("replica"+strconv.Itoa(i+1), Replica)
	}
}

// boot starts the server for the first time, on a copy of the template, and
// makes its accounts. A port that another program takes in the meantime makes
// the server end; it is started again on another one.
func (s *Server) boot(ctx context.Context, template string) error {
	if err := os.MkdirAll(filepath.Join(s.Dir, "tmp"), 0o700); err != nil {
		return err
	}
	if err := copyTree(ctx, template, filepath.Join(s.Dir, "data")); err != nil {
		return fmt.Errorf("copy data directory: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.Port = port
		if err = s.start(ctx); err == nil {
			return s.secure(ctx)
		}
		if ctx.Err() != nil || try == 5 || portFree(port) {
			return err
		}
	}
}

// Primary returns the primary, or the first one of several.
func (c *Cluster) Primary() *Server { return c.Servers[0] }

// Replica returns the n-th replica, counted from 1 as in its name, or nil if
// there are not so many.
func (c *Cluster) Replica(n int) *Server {
	if n < 1 || n > c.opts.Replicas {
		return nil
	}
	return c.Servers[c.opts.Sources+n-1]
}

// Primaries returns the servers that take writes.
func (c *Cluster) Primaries() []*Server { return c.Servers[:c.opts.Sources:c.opts.Sources] }

// Replicas returns the servers that replicate.
func (c *Cluster) Replicas() []*Server { return c.Servers[c.opts.Sources:] }

// Server returns the server of a name, or nil if there is none.
func (c *Cluster) Server(name string) *Server {
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Installation returns the programs that the cluster runs.
func (c *Cluster) Installation() *Installation { return c.inst }

// Close ends all servers and removes the cluster's files, and its folder if
// Start made it. The servers are killed, since nothing of their data is kept.
// Calling it again does nothing and returns the same error, which tells what
// could not be removed.
func (c *Cluster) Close() error {
	c.close.Do(func() { c.left = c.takeDown() })
	return c.left
}

func (c *Cluster) takeDown() error {
	var wg sync.WaitGroup
	for _, s := range c.Servers {
		wg.Go(s.Kill)
	}
	wg.Wait()
	if c.guard != nil {
		c.guard.end()
	}
	err := c.removeFiles()
	if c.lock != nil {
		c.lock.release()
	}
	return err
}

func (c *Cluster) removeFiles() error {
	if c.sockets != "" {
		if err := os.RemoveAll(c.sockets); err != nil {
			return err
		}
	}
	switch {
	case c.Dir == "":
		return nil
	case c.madeDir:
		return os.RemoveAll(c.Dir)
	default:
		return removeContent(c.Dir)
	}
}

func removeContent(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
