package binlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Options say what is read.
type Options struct {
	// From is what is not sent again: MySQL's executed set, or a position of MariaDB such as
	// gtid_binlog_pos. What comes behind it is read, as far as the server has it still.
	From gtid.Value

	// ServerID is the caller's own in the server's list of replicas. It must not be 0, and unlike that of
	// any other replica and reader: MariaDB ends who has read under the same one.
	ServerID uint32

	// Heartbeat is the pause after which the server sends a sign of life. 0 is a second.
	Heartbeat time.Duration
}

// ErrNoGTID is in the error of an Open from a place in a log, which only GTIDs can be read from here.
var ErrNoGTID = errors.New("binary log can only be read from a GTID position")

// Open asks a server for its log. The connection is the Reader's from then on, even after an error. What
// the server has against it, as with a position that it has purged, Next says.
func Open(ctx context.Context, conn *backend.Conn, o Options) (*Reader, error) {
	r, err := open(ctx, conn, o)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open the binary log of %s: %w", conn.Address(), err)
	}
	return r, nil
}

func open(ctx context.Context, conn *backend.Conn, o Options) (*Reader, error) {
	if o.ServerID == 0 {
		return nil, errors.New("a reader needs a server id")
	}
	f := conn.Server().Flavor
	command, err := dump(f, o)
	if err != nil {
		return nil, err
	}
	pos, _ := o.From.DomainPos()
	set := flavor.LogReader(f, flavor.LogReaderOptions{
		Heartbeat: cmp.Or(o.Heartbeat, time.Second), UUID: randomUUID(), Position: pos.String(),
	})
	if _, err := conn.Exec(ctx, set); err != nil {
		return nil, err
	}
	stop := deadline.Watch(ctx, conn)
	defer stop()
	if err := conn.Write(command); err != nil {
		return nil, err
	}
	return newReader(conn, conn.Address()), nil
}

// randomUUID makes the reader unlike any other to MySQL, which ends who has read under the same one.
func randomUUID() string {
	var u gtid.UUID
	_, _ = rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0F|0x40, u[8]&0x3F|0x80
	return u.String()
}

// firstOffset is where the events of a log begin, behind its magic number.
const firstOffset = 4

// dump returns the command. On MariaDB the position is in the session.
func dump(f flavor.Flavor, o Options) ([]byte, error) {
	set, isSet := o.From.Set()
	_, isPos := o.From.DomainPos()
	b := wire.Reserve(nil)
	switch {
	case f == flavor.MariaDB && isPos:
		b = append(b, byte(wire.ComBinlogDump))
		b = binary.LittleEndian.AppendUint32(b, firstOffset)
		b = binary.LittleEndian.AppendUint16(b, 0) // flags: wait for what is to come
		b = binary.LittleEndian.AppendUint32(b, o.ServerID)
	case f == flavor.MySQL && isSet:
		b = append(b, byte(wire.ComBinlogDumpGTID))
		b = binary.LittleEndian.AppendUint16(b, 0)
		b = binary.LittleEndian.AppendUint32(b, o.ServerID)
		b = binary.LittleEndian.AppendUint32(b, 0) // length of a file's name
		b = binary.LittleEndian.AppendUint64(b, firstOffset)
		size := len(b)
		b = appendSet(binary.LittleEndian.AppendUint32(b, 0), set)
		binary.LittleEndian.PutUint32(b[size:], uint32(len(b)-size-4))
	default:
		return nil, fmt.Errorf("%w of %s, not from a %s", ErrNoGTID, f, o.From.Kind())
	}
	b, _ = wire.Finish(b, 0, 0)
	return b, nil
}

// appendSet appends a set as the servers write it: each source with its intervals, whose ends are
// exclusive. The form with tags is of MySQL 8.3 and is used where there is one; older servers know the
// other one only.
func appendSet(dst []byte, set gtid.Set) []byte {
	tagged, sources := false, uint64(0)
	for src := range set.Sources() {
		tagged = tagged || src.Tag != ""
		sources++
	}
	if tagged {
		const format = 1
		sources = format<<56 | sources<<8 | format
	}
	dst = binary.LittleEndian.AppendUint64(dst, sources)
	for src, part := range set.Sources() {
		dst = append(dst, src.UUID[:]...)
		if tagged {
			dst = append(dst, byte(len(src.Tag))<<1) // a number of mysql::serialization; a tag has 32 letters at most
			dst = append(dst, src.Tag...)
		}
		count := len(dst)
		dst = binary.LittleEndian.AppendUint64(dst, 0)
		n := uint64(0)
		for _, iv := range part.Intervals() {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(iv.First))
			dst = binary.LittleEndian.AppendUint64(dst, uint64(iv.Last)+1)
			n++
		}
		binary.LittleEndian.PutUint64(dst[count:], n)
	}
	return dst
}
