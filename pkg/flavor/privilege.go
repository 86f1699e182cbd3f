package flavor

// Need is a thing that an account must be allowed to do.
type Need uint8

// The needs of the commands that only look.
const (
	ReadReplicaStatus     Need = iota + 1 // SHOW REPLICA STATUS and its kin
	ReadBinaryLog                         // the server's own binary log position
	ListReplicas                          // the replicas connected to a server
	ReadPerformanceSchema                 // performance_schema.replication_*
)

// Grant returns the statement that gives an account what it lacks, with
// account in place as the server prints it ('user'@'host').
//
// On MariaDB from 10.5 REPLICATION CLIENT is stored as BINLOG MONITOR and is
// not enough to read the replica status.
func Grant(f Flavor, need Need, account string) string {
	what := ""
	switch {
	case need == ReadPerformanceSchema:
		return "GRANT SELECT ON performance_schema.* TO " + account
	case f == MariaDB && need == ReadReplicaStatus:
		what = "SLAVE MONITOR"
	case f == MariaDB && need == ReadBinaryLog:
		what = "BINLOG MONITOR"
	case f == MariaDB:
		what = "REPLICATION MASTER ADMIN"
	case need == ListReplicas:
		what = "REPLICATION SLAVE"
	default:
		what = "REPLICATION CLIENT"
	}
	return "GRANT " + what + " ON *.* TO " + account
}
