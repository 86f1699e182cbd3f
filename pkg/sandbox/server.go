package sandbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Role is what a server does in its cluster.
type Role string

// The roles.
const (
	Primary Role = "primary"
	Replica Role = "replica"
)

// Server is one server of a cluster. The fields must not be changed; the
// methods may be called by several goroutines.
type Server struct {
	Name     string // primary, or primary1, primary2, ...; replica1, replica2, ...
	Role     Role
	Host     string // 127.0.0.1
	Port     int    // the same after a restart
	Socket   string // a short path, which need not lie in Dir
	User     string // an account that may do everything, on TCP and on the socket
	Password string
	ServerID int
	Dir      string // holds the data directory, named data, and error.log

	cluster *Cluster

	mu      sync.Mutex
	process *process // nil before the first start
	secured bool     // the accounts have been made
}

// Address returns host:port.
func (s *Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// ErrorLog returns the path of the server's error log.
func (s *Server) ErrorLog() string { return filepath.Join(s.Dir, "error.log") }

// Config returns a new configuration of the driver for TCP, to be changed as
// the caller likes. It names no database.
func (s *Server) Config() *mysql.Config {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr = "tcp", s.Address()
	cfg.User, cfg.Passwd = s.User, s.Password
	cfg.InterpolateParams = true
	cfg.Timeout = 10 * time.Second
	cfg.Logger = &mysql.NopLogger{} // a killed server is no news
	return cfg
}

// DSN returns the text of Config. It holds the password.
func (s *Server) DSN() string { return s.Config().FormatDSN() }

// Open returns a pool of connections over TCP, which the caller closes. It
// does not connect yet.
func (s *Server) Open() (*sql.DB, error) { return open(s.Config()) }

// openSocket is Open over the socket, where root needs no password before the
// accounts are made.
func (s *Server) openSocket() (*sql.DB, error) {
	cfg := s.Config()
	cfg.Net, cfg.Addr = "unix", s.Socket
	if !s.secured {
		cfg.Passwd = ""
	}
	return open(cfg)
}

func open(cfg *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Start starts the server again after Stop or Kill, on the same data and
// port, and returns when it answers. A replica starts to replicate by itself.
// Starting a server that runs is no error.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.running() {
		return nil
	}
	return s.start(ctx)
}

// start runs the server and waits until it answers. s.mu must be held.
func (s *Server) start(ctx context.Context) error {
	argv, err := s.cluster.inst.Argv("mysqld", s.serverArgs()...)
	if err != nil {
		return err
	}
	p, err := startProcess(s.cluster.guard, argv, s.Dir, s.ErrorLog())
	if err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.process = p
	if err := s.waitReady(ctx, p); err != nil {
		p.kill()
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	return nil
}

// waitReady asks the server over its socket until it answers. The port would
// be no proof: another program may have taken it.
func (s *Server) waitReady(ctx context.Context, p *process) error {
	db, err := s.openSocket()
	if err != nil {
		return err
	}
	defer db.Close()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.exited:
			return fmt.Errorf("the server ended: %w: %s", cmpErr(p.state, errEnded), s.logTail())
		case <-tick.C:
		}
		if db.PingContext(ctx) == nil {
			return nil
		}
	}
}

// errEnded stands for the end of a server with exit code 0.
var errEnded = errors.New("exit status 0")

func cmpErr(err, fallback error) error {
	if err != nil {
		return err
	}
	return fallback
}

// logTail returns the end of the error log, which tells why a server does not
// start. Servers do not write passwords there.
func (s *Server) logTail() string {
	text, err := os.ReadFile(s.ErrorLog())
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text), 5)
}

// Stop shuts the server down as an administrator would and waits until it has
// ended. If ctx ends first the server is killed and the cause returned.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.running() {
		return nil
	}
	_ = resume(s.process.os) // a paused server does not see the signal
	if err := terminate(s.process.os); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", s.Name, err)
	}
	select {
	case <-s.process.exited:
		return nil
	case <-ctx.Done():
		s.process.kill()
		return fmt.Errorf("stop %s: killed: %w", s.Name, context.Cause(ctx))
	}
}

// Kill ends the server at once, as a crash would, and waits until it is gone.
// Start brings it back.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.kill()
	}
}

// Pause stops the server's process without ending it: connections stay open
// and nothing is answered, as with a machine that hangs.
func (s *Server) Pause() error { return s.signal("pause", pause) }

// Resume lets a paused server go on.
func (s *Server) Resume() error { return s.signal("resume", resume) }

func (s *Server) signal(verb string, send func(*os.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.running() {
		return fmt.Errorf("%s %s: %w", verb, s.Name, os.ErrProcessDone)
	}
	if err := send(s.process.os); err != nil {
		return fmt.Errorf("%s %s: %w", verb, s.Name, err)
	}
	return nil
}

// Running reports whether the server's process lives. A paused one does.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil && s.process.running()
}

// PID returns the process id of the server's last run, or 0 before the first.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return 0
	}
	return s.process.os.Pid
}
