// Package lag answers how far behind each channel of a replica is, and how
// that is known.
//
// A lag is Known or Unknown with a reason; the zero Lag is unknown, and nothing
// turns a NULL, a missing row or a stopped thread into 0. A value that the
// server reports as 0 is believed only if nothing contradicts it: a receiver
// that is not connected, has just started or brings old transactions, a source
// that has gone silent, or received transactions that are not applied.
//
// What no replica can tell is what its source has not sent yet. A receiver
// that has lost its source and found it again may show 0 until the first
// transaction comes; with Options.Source the source is asked.
//
// The configured delay of a channel is not lag: it is reported apart, and Lag
// is what exceeds it. A reader who must not be staler than a limit adds both.
//
// The methods differ in what they need and in what they can see:
//
//	timestamps  MySQL 8.0+: commit timestamps from performance_schema, in microseconds
//	heartbeat   any server: the age of a row that is written on the primary
//	gtid        any server whose source can be asked: the time until the replica
//	            has applied what the source has at the start
//	position    the same by binary log position, for servers without GTIDs
//	seconds     Seconds_Behind_Source, whole seconds, checked against positions
//
// Auto takes heartbeat if a table is named, else timestamps where the server
// has them, else gtid if the source can be reached, else seconds. The clocks
// of source and replica are compared by timestamps, heartbeat and seconds; a
// skew between them shows as lag. gtid and position use one clock only.
//
// Method gtid and position wait, and so need to be told how; the others ask the replica alone:
//
//	samples, err := lag.Measure(ctx, db, lag.Options{})
//	for _, s := range samples {
//		if d, known := s.Lag.Duration(); known {
//			fmt.Println(s.Channel, d)
//		} else {
//			fmt.Println(s.Channel, s.Lag.Reason(), s.Detail)
//		}
//	}
//
// # Stability
//
// Exported names, what their comments promise and the words that String returns stay as they are within a major
// version; names, fields and words can be added. Sample.Detail and the texts of errors
// can change, and so can the order in which Auto prefers methods and when a value of 0 is believed.
package lag
