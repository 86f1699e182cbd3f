package binlog_test

import (
	"bytes"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// FuzzRead: whatever comes is read to its end or refused, in the order that the package promises, and holds
// no more memory than it may.
func FuzzRead(f *testing.F) {
	for _, kind := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		for _, piece := range pieces(f, kind) {
			f.Add(piece)
		}
	}
	f.Add(newLog(false).gtid(1, 5).query("BEGIN").table("a").event(xid).gtid(2, -1).event(tagged, tagBody("one", 300)...).b)
	f.Add(newLog(false).event(payload, pack(packedNone, makeEvent(query, 0, queryBody("", "BEGIN")), makeEvent(xid, 0, nil))...).b)
	f.Add(newLog(false).event(payload, pack(packedZstd, makeEvent(tableMap, 0, tableBody("a", "b")), makeEvent(xid, 0, nil))...).b)
	f.Add(newLog(false).event(queryPacked, queryBody("shop", packText("INSERT"))...).domain(1, standalone).event(incident).b)
	f.Fuzz(func(t *testing.T, answer []byte) {
		s := &tape{b: answer, piece: 100}
		if _, _, err := play(t, s); err == nil || s.longest > 17<<20 {
			t.Errorf("%v, %d bytes at once", err, s.longest)
		}
	})
}

// pieces are parts of a recording, each behind the description of its format. Long inputs are mutated badly.
func pieces(t testing.TB, f flavor.Flavor) (list [][]byte) {
	answer, _ := recording(t, f)
	var format, piece []byte
	for len(answer) > 0 {
		p, _, n, err := wire.Split(answer)
		if err != nil {
			t.Fatal(err)
		}
		if p[5] == description {
			format = answer[:n]
		}
		piece = append(piece, answer[:n]...)
		if answer = answer[n:]; len(piece) > 1500 || len(answer) == 0 {
			list = append(list, piece)
			piece = bytes.Clone(format)
		}
	}
	return list
}
