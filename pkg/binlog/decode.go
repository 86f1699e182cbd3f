package binlog

import (
	"encoding/binary"
	"hash/crc32"
)

// format is what a log's first event says of the others.
type format struct {
	checksum bool // CRC32 behind each event
	query    int  // lengths of post-headers
	tableMap int
}

func defaultFormat() format { return format{query: 13, tableMap: 8} }

const (
	describedAt  = 2 + 50 + 4 // in a format description: the length of headers, then those of post-headers
	inUseFlag    = 0x01       // of a log that is being written, which is not in its checksum
	flagsAt      = 17
	checksumNone = 0
	checksumCRC  = 1
)

// description reads the first event of a log. It is checked by its own checksum, which it has behind the
// byte that says so, on every server since MySQL 5.6 and MariaDB 5.3.
func (r *Reader) description(b []byte) error {
	n := len(b) - checksumSize
	if n < headerSize+describedAt+1+int(tableMap)+1 {
		return malformed("format description of %d bytes", len(b))
	}
	algorithm := b[n-1]
	body := b[headerSize : n-1]
	if body[describedAt] != headerSize {
		return malformed("headers of %d bytes", body[describedAt])
	}
	switch algorithm {
	case checksumCRC:
		// The flag may have been set or not when the sum was made: without it, both servers say.
		sum := crc32.ChecksumIEEE(b[:flagsAt])
		sum = crc32.Update(sum, crc32.IEEETable, []byte{b[flagsAt] &^ inUseFlag})
		sum = crc32.Update(sum, crc32.IEEETable, b[flagsAt+1:n])
		if sum != binary.LittleEndian.Uint32(b[n:]) {
			return malformed("format description has not its checksum")
		}
	case checksumNone:
	default:
		return malformed("checksums of kind %d", algorithm)
	}
	r.cut("a log ends within a transaction")
	posts := body[describedAt:] // a type's code is its index
	r.format = format{checksum: algorithm == checksumCRC, query: int(posts[query]), tableMap: int(posts[tableMap])}
	return nil
}

// decode reads the body of an event, and gives out what it means.
func (r *Reader) decode(h header, body []byte) error {
	switch h.kind {
	case tableMap:
		return r.table(h, body)
	case xid:
		r.over()
		return nil
	case gtidLog, anonymousGTID:
		return r.gtid(h, body)
	case taggedGTID:
		return r.tagged(h, body)
	case mariadbGTID:
		return r.domainGTID(h, body)
	case query, executeLoadQuery, queryCompressed:
		return r.query(h, body)
	case xaPrepare:
		return r.prepared(h, body)
	}
	return nil
}

func (r *Reader) table(h header, body []byte) error {
	c := fields(body)
	c.Bytes(r.format.tableMap) // a number, and flags
	schema := c.LenEncString()
	c.Bytes(1) // NUL
	table := c.LenEncString()
	c.Bytes(1)
	if err := broken(h, &c); err != nil {
		return err
	}
	r.within(true)
	e := r.put(Table)
	e.Schema, e.Table = schema, table
	return nil
}

// prepared reads the end of an XA transaction, which is committed or waits for XA COMMIT.
func (r *Reader) prepared(h header, body []byte) error {
	c := fields(body)
	onePhase := c.Uint8() != 0
	formatID := c.Uint32()
	global, branch := int(c.Uint32()), int(c.Uint32())
	if c.Err() == nil && global+branch > c.Len() {
		c.Fail("the transaction's name")
	}
	first, second := c.Bytes(global), c.Bytes(branch)
	if err := broken(h, &c); err != nil {
		return err
	}
	r.within(true)
	if !onePhase {
		r.scratch = appendXID(r.scratch[:0], first, second, formatID)
		r.tx.prepared = true
	}
	r.over()
	return nil
}
