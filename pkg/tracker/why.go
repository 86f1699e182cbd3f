package tracker

// Why says why a read needs all of a position. The zero value is that it does not.
type Why uint8

// The reasons.
const (
	WhyNot     Why = iota // it needs what its tables need
	WhyOff                // the log is not read: no connection, no privilege
	WhySource             // the position is another server's than that which is followed
	WhySchema             // a DDL is newer than what is known of views and foreign keys
	WhyBehind             // the log has not been read so far
	WhyOpaque             // a name is a view's, or a table's that has its rows from elsewhere
	WhyUnknown            // the statement's names cannot be told
	// Whys is the number of reasons.
	Whys
)

var whyNames = [Whys]string{
	WhyNot: "narrowed", WhyOff: "not-connected", WhySource: "other-primary", WhySchema: "schema-changes", WhyBehind: "tracker-behind",
	WhyOpaque: "view", WhyUnknown: "names-unknown",
}

// String returns the reason as it is printed.
func (w Why) String() string {
	if w < Whys {
		return whyNames[w]
	}
	return "unknown"
}

// AllWhys returns every reason, WhyNot first.
func AllWhys() []Why {
	all := make([]Why, Whys)
	for i := range all {
		all[i] = Why(i)
	}
	return all
}
