package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// serverArgs returns the arguments of a server of a cluster.
func (s *Server) serverArgs() []string {
	c := s.cluster
	logUpdates, netTimeout := flavor.ReplicaVariables(c.Flavor)
	args := append(c.inst.pathArgs(filepath.Join(s.Dir, "data")),
		"--tmpdir="+filepath.Join(s.Dir, "tmp"),
		"--pid-file="+filepath.Join(s.Dir, "pid"),
		"--socket="+s.Socket,
		"--bind-address="+s.Host,
		"--port="+strconv.Itoa(s.Port),
		"--report-host="+s.Host,
		"--report-port="+strconv.Itoa(s.Port),
		"--server-id="+strconv.Itoa(s.ServerID),
		"--log-bin=binlog", "--relay-log=relay", "--binlog-format=ROW", "--sync-binlog=0",
		"--"+dashes(logUpdates)+"=ON", "--"+dashes(netTimeout)+"=10",
		"--skip-name-resolve", "--max-connections=500", "--character-set-server=utf8mb4",
		"--innodb-buffer-pool-size=32M", "--innodb-log-buffer-size=2M", "--innodb-flush-log-at-trx-commit=2",
		"--ssl-ca="+c.CA, "--ssl-cert="+c.certs.cert, "--ssl-key="+c.certs.key,
	)
	if s.Role == Replica {
		args = append(args, "--read-only=ON")
	}
	if c.Flavor == flavor.MariaDB {
		args = append(args, s.mariadbArgs()...)
	} else {
		args = append(args, s.mysqlArgs()...)
	}
	args = append(args, s.semiSyncArgs()...)
	extra := c.opts.PrimaryArgs
	if s.Role == Replica {
		extra = c.opts.ReplicaArgs
	}
	return slices.Concat(args, extra)
}

func dashes(variable string) string { return strings.ReplaceAll(variable, "_", "-") }

func (s *Server) mysqlArgs() []string {
	mode := "ON"
	if s.cluster.opts.GTIDOff {
		mode = "OFF"
	}
	args := []string{
		"--gtid-mode=" + mode, "--enforce-gtid-consistency=" + mode,
		"--mysqlx=OFF", "--loose-innodb-redo-log-capacity=16M", "--auto-generate-certs=OFF",
		"--innodb-flush-method=nosync", "--innodb-use-native-aio=OFF",
		"--loose-innodb-log-writer-threads=OFF", // they spin, which a machine with few cores feels
		// Histories that no one reads cost 140 MB and a sixth of the start.
		"--loose-performance-schema-error-size=1", "--loose-performance-schema-digests-size=500",
		"--loose-performance-schema-events-statements-history-long-size=500",
		"--loose-performance-schema-events-stages-history-long-size=100",
		"--loose-performance-schema-events-waits-history-long-size=100",
		"--loose-performance-schema-events-transactions-history-long-size=500",
	}
	if s.Role == Replica {
		args = append(args, "--super-read-only=ON")
	}
	return args
}

// mariadbArgs gives each of several primaries a domain of its own, without
// which their sequence numbers would collide on the replicas.
func (s *Server) mariadbArgs() []string {
	strict, domain := "ON", 0
	if s.cluster.opts.GTIDOff {
		strict = "OFF"
	}
	if s.Role == Primary && s.cluster.opts.Sources > 1 {
		domain = s.ServerID
	}
	return []string{
		"--gtid-strict-mode=" + strict, "--gtid-domain-id=" + strconv.Itoa(domain),
		"--performance-schema=OFF", "--innodb-use-native-aio=0", "--innodb-flush-method=nosync",
		"--innodb-log-file-size=16M", "--aria-pagecache-buffer-size=8M", "--key-buffer-size=1M",
	}
}

func (s *Server) semiSyncArgs() []string {
	if !s.cluster.opts.SemiSync {
		return nil
	}
	words := flavor.SemiSync(s.cluster.Flavor)
	plugin, enabled := words.SourcePlugin, words.SourceEnabled
	if s.Role == Replica {
		plugin, enabled = words.ReplicaPlugin, words.ReplicaEnabled
	}
	var args []string
	if plugin != "" {
		args = append(args, "--plugin-load-add="+plugin)
	}
	return append(args, "--loose-"+dashes(enabled)+"=ON")
}
