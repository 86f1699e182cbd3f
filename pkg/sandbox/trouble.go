package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// Exec runs statements on the server, one after the other on one connection.
func (s *Server) Exec(ctx context.Context, statements ...string) error {
	db, err := s.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	defer conn.Close()
	for _, statement := range statements {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// HoldApplier keeps a replica from applying anything, by a global read lock,
// until release is called: both threads run, and it falls behind. Release may
// be called more than once, and must be called before the applier is stopped.
func (s *Server) HoldApplier(ctx context.Context) (release func() error, err error) {
	db, err := s.Open()
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "FLUSH TABLES WITH READ LOCK")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hold applier of %s: %w", s.Name, err), db.Close())
	}
	return sync.OnceValue(func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "UNLOCK TABLES")
		return errors.Join(err, conn.Close(), db.Close())
	}), nil
}

// StopApplier stops the applier of a replica's channel; the receiver goes on.
func (s *Server) StopApplier(ctx context.Context, f flavor.Flavor, channel string) error {
	return s.Exec(ctx, flavor.StopThread(f, flavor.Applier, channel))
}

// StartApplier starts the applier of a replica's channel.
func (s *Server) StartApplier(ctx context.Context, f flavor.Flavor, channel string) error {
	return s.Exec(ctx, flavor.StartThread(f, flavor.Applier, channel))
}
