package stage

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// router is MySQL Router's program, from PATH or out of the package that mysqld comes with.
type router struct {
	argv    []string // what goes before its arguments
	keyring []string // the same of mysqlrouter_keyring
	plugins string
	version string
}

func (s *Stage) findRouter(ctx context.Context) (*router, error) {
	var r router
	if path, err := exec.LookPath("mysqlrouter"); err == nil {
		r.argv, r.keyring = []string{path}, []string{path + "_keyring"} // they know their own plugins
	} else {
		argv, root, err := sandbox.FetchProgram(ctx, s.install, "mysql-router", "mysqlrouter")
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, &Missing{"MySQL Router", "install the package mysql-router, which is in Debian's newest suite, or mysql-router-community of Oracle's archive: " + err.Error()}
		}
		r.argv, r.keyring = argv, slices.Clone(argv)
		r.keyring[len(argv)-1] += "_keyring"
		r.plugins = filepath.Join(root, "usr/lib/mysqlrouter/plugin")
	}
	r.version = versionOf(ctx, "Ver", append(r.argv, "--version")...)
	return &r, nil
}

// runRouter runs it with a configuration, in a folder of its own.
func (s *Stage) runRouter(r *router, c Candidate, config string) (*child.Process, Candidate, error) {
	dir := filepath.Join(s.Dir, c.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, c, err
	}
	file := filepath.Join(dir, "router.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, c, freeError(c.Name, err)
	}
	p, err := child.Start(child.Options{Name: c.Name, Dir: dir}, append(slices.Clone(r.argv), "-c", file)...)
	if err != nil {
		return nil, c, err
	}
	s.Own(p)
	c.PID, c.Version = p.PID(), r.version
	return p, c, nil
}

// Router starts MySQL Router where it knows no SQL: everything goes to the primary, TLS included.
func (s *Stage) Router(ctx context.Context) (Candidate, error) {
	c := Candidate{Name: "router", Host: "127.0.0.1"}
	r, err := s.findRouter(ctx)
	if err != nil {
		return c, err
	}
	if c.Port, err = freePort(); err != nil {
		return c, err
	}
	plugins := ""
	if r.plugins != "" {
		plugins = "plugin_folder = " + r.plugins + "\n"
	}
	p, c, err := s.runRouter(r, c, fmt.Sprintf(`[DEFAULT]
max_total_connections = 4000
logging_folder =
%s[logger]
level = WARNING
[routing:forward]
bind_address = %s
bind_port = %d
destinations = %s
routing_strategy = first-available
protocol = classic
client_ssl_mode = PASSTHROUGH
server_ssl_mode = AS_CLIENT
`, plugins, c.Host, c.Port, s.Cluster.Primary().Address()))
	if err != nil {
		return c, err
	}
	return c, p.Poll(ctx, func() error { return answers(ctx, c) })
}
