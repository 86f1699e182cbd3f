// Package gtid answers set questions about replication positions: is this transaction in that
// set, what does one server have that another lacks, how many are missing. It knows three kinds
// of position:
//
//   - Set, a MySQL GTID set such as @@gtid_executed, with tags (MySQL 8.3 and later);
//   - DomainPos, a MariaDB position such as @@gtid_current_pos: one GTID for each domain;
//   - LogPos, a place in the binary log of one server, which does where there are no GTIDs.
//
// Value holds any of them, for callers that serve all kinds of server. FilePos is the place without the
// server: it means something only to who knows whose log it is of.
//
// Parse reads a set exactly as MySQL 9.7 reads it, down to the byte offset of an error, and
// String prints what that server prints. ParseStrict refuses what a server would silently drop
// or what two versions read differently; ParseLenient takes text as people paste it, such as the
// GTID_PURGED statement of a dump or the vertical output of SHOW REPLICA STATUS.
//
// Every value is immutable and safe for concurrent use, and its zero value is the empty set. An
// operation that changes nothing returns its receiver and allocates nothing, so one set can be
// shared by any number of holders. Intervals are never expanded: cost grows with the number of
// intervals, not with the transactions in them.
//
// Sets are only partly ordered: two sets may each hold what the other lacks. There is Contains,
// and on purpose no Less. The package does no I/O and does not know which server a set came
// from, nor whether one exists.
//
// What a replica has that its primary lacks, leaving out what the primary is still to send:
//
//	errant := replica.Subtract(primary).Without(primaryUUID)
//	if !errant.IsEmpty() {
//		fmt.Println(errant)
//	}
//
// # Stability
//
// Exported names, what their comments promise and the words that String returns stay as they are within a major
// version; names, fields and words can be added. The texts of errors can change, their types, sentinels and
// offsets not. What Parse accepts is what the newest MySQL accepts, and grows with it.
package gtid
