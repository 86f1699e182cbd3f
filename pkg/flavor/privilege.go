package flavor

// Need is a thing that an account must be allowed to do.
type Need uint8

// The needs of the commands that only look.
const (
	ReadReplicaStatus     Need = iota + 1 // SHOW REPLICA STATUS and its kin
	ReadBinaryLog                         // the server's own binary log position
	ListReplicas                          // the replicas connected to a server
	ReadPerformanceSchema                 // performance_schema.replication_*
	ListTables                            // all tables, views and foreign keys of the information schema
)

// Grant returns the statement that gives an account what it lacks, with
// account in place as the server prints it ('user'@'host').
//
// Any privilege that a table can have lists tables, if it is had on all of them. REFERENCES lets an
// account that has no other do nothing else.
//
// On MariaDB from 10.5 REPLICATION CLIENT is stored as BINLOG MONITOR and is
// not enough to read the replica status.
func Grant(f Flavor, need Need, account string) string {
	what := ""
	switch {
	case need == ReadPerformanceSchema:
		return "GRANT SELECT ON performance_schema.* TO " + account
	case need == ListTables:
		what = "REFERENCES"
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
