package stage

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/delay"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// DelayReplication puts a relay between the primary and its replicas, so that these get each transaction so much
// later. The servers' own delay has whole seconds only.
func (s *Stage) DelayReplication(ctx context.Context, by time.Duration) error {
	primary := s.Cluster.Primary()
	r, err := delay.New(primary.Address())
	if err != nil {
		return err
	}
	s.Own(r)
	r.Set(by)
	host, port, err := net.SplitHostPort(r.Address())
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	change := flavor.SourceChange{Host: host, Port: n, User: primary.User, Password: primary.Password, GTID: true, Heartbeat: time.Second}
	for _, replica := range s.Cluster.Replicas() {
		if err := replica.Exec(ctx, flavor.StopReplica(s.Cluster.Flavor, ""), flavor.ChangeSource(s.Cluster.Flavor, change),
			flavor.StartReplica(s.Cluster.Flavor, "")); err != nil {
			return err
		}
	}
	return nil
}
