package binlog_test

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// FuzzRead: whatever comes is read to its end or refused, in the order that the package promises, and holds
// no more memory than it may.
func FuzzRead(f *testing.F) {
	for _, kind := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		answer, _ := recording(f, kind)
		f.Add(answer)
		f.Add(answer[:3000]) // without checksums
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
