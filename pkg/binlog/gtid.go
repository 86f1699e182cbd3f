package binlog

import (
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// gtid reads MySQL's event at the beginning of a transaction. What is behind the GTID came with later
// versions.
func (r *Reader) gtid(h header, body []byte) error {
	c := fields(body)
	c.Bytes(1) // flags
	uuid := c.Bytes(len(gtid.UUID{}))
	seq := c.Uint64()
	if err := broken(h, &c); err != nil {
		return err
	}
	e := r.begin(false)
	if h.kind == anonymousGTID {
		e.Anonymous = true
	} else {
		copy(e.GTID.UUID[:], uuid)
		e.GTID.Seq = int64(seq)
		if !e.GTID.Valid() {
			return malformed("a GTID with the number %d", seq)
		}
	}
	const logicalClock = 2
	if c.Len() < 1+8+8+7 || c.Uint8() != logicalClock {
		return nil
	}
	c.Bytes(8 + 8)
	if at := c.Bytes(7); at[6]&0x80 != 0 {
		c.Bytes(7) // committed elsewhere before
	}
	if c.Len() > 0 {
		r.size(h, c.LenEncInt())
	}
	return broken(h, &c)
}

// size notes how long the whole transaction is, of which h has been read.
func (r *Reader) size(h header, size uint64) {
	if size > 0 && size < 1<<62 {
		r.tx.sized, r.tx.left = true, int64(size)-int64(h.size)
	}
}

// Flags of MariaDB's event at the beginning of a transaction.
const standalone = 0x01

func (r *Reader) domainGTID(h header, body []byte) error {
	c := fields(body)
	g := gtid.DomainGTID{Server: h.server, Seq: c.Uint64(), Domain: c.Uint32()}
	flags := c.Uint8()
	if err := broken(h, &c); err != nil {
		return err
	}
	alone := flags&standalone != 0
	e := r.begin(!alone)
	e.Domain, e.Alone = g, alone
	return nil
}

// tagged reads the event of a GTID with a tag, which has the form of mysql::serialization: numbered fields,
// ascending, of which some may be left out.
func (r *Reader) tagged(h header, body []byte) error {
	c := fields(body)
	for range 3 { // the form's version, the length, the last field that must be known
		varint(&c)
	}
	var g gtid.GTID
	var size uint64
	for c.Len() > 0 && size == 0 {
		switch varint(&c) {
		case 0, 6, 7: // flags; when it was committed, here and first
			varint(&c)
		case 1:
			for i := range g.UUID {
				g.UUID[i] = byte(varint(&c))
			}
		case 2:
			g.Seq = signed(varint(&c))
		case 3:
			n := varint(&c)
			if n > 32 {
				c.Fail("a tag")
			}
			tag := c.Bytes(int(n))
			if string(tag) != r.tag {
				r.tag = string(tag)
			}
			g.Tag = r.tag
		case 4, 5: // of the logical clock
			varint(&c)
		case 8:
			size = varint(&c)
		default:
			size = 1<<64 - 1 // nothing is of use that is further behind
		}
	}
	if err := broken(h, &c); err != nil {
		return err
	}
	if !g.Valid() {
		return malformed("a GTID with the number %d and the tag %q", g.Seq, g.Tag)
	}
	r.begin(false).GTID = g
	r.size(h, size)
	return nil
}

// varint reads a number of mysql::serialization: the first byte has a 1 at its low end for each byte that
// follows, then a 0, then the lowest bits.
func varint(c *wire.Cursor) uint64 {
	first := c.Uint8()
	n := 0
	for ; n < 8 && first>>n&1 != 0; n++ {
	}
	rest := c.Bytes(n)
	var v uint64
	for i := len(rest) - 1; i >= 0; i-- {
		v = v<<8 | uint64(rest[i])
	}
	if n >= 7 {
		return v
	}
	return v<<(7-n) | uint64(first>>(n+1))
}

// signed is a number whose lowest bit is its sign.
func signed(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
