package binlog

// Source is what a Reader reads from.
type Source = source

// ReadFrom reads what a server answered.
func ReadFrom(s Source) *Reader {
	r := &Reader{where: "test"}
	r.start(s)
	return r
}
