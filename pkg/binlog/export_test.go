package binlog

import "github.com/mysqlrw/mysqlrw/pkg/gtid"

// Source is what a Reader reads from.
type Source = source

// ReadFrom reads what a server answered.
func ReadFrom(s Source) *Reader {
	r := &Reader{where: "test"}
	r.start(s)
	return r
}

// AppendSet appends what the server is sent of a set.
func AppendSet(dst []byte, set gtid.Set) []byte { return appendSet(dst, set) }
