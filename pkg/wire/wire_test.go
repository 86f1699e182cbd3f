package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

func TestLenEnc(t *testing.T) {
	for _, tt := range []struct {
		n    uint64
		want string
	}{
		{0, "00"},
		{250, "fa"},
		{251, "fcfb00"},
		{65535, "fcffff"},
		{65536, "fd000001"},
		{1<<24 - 1, "fdffffff"},
		{1 << 24, "fe0000000100000000"},
		{1<<64 - 1, "feffffffffffffffff"},
	} {
		b := wire.AppendLenEncInt(nil, tt.n)
		if got := hex.EncodeToString(b); got != tt.want {
			t.Errorf("%d is written %s, want %s", tt.n, got, tt.want)
		}
		c := wire.NewCursor("test", b)
		if got := c.LenEncInt(); got != tt.n || c.Err() != nil || c.Len() != 0 {
			t.Errorf("%s is read as %d: %v", tt.want, got, c.Err())
		}
		for n := range b {
			c := wire.NewCursor("test", b[:n])
			if got := c.LenEncInt(); got != 0 || c.Err() == nil {
				t.Errorf("%s cut at %d is read as %d", tt.want, n, got)
			}
		}
	}
}

func TestCursorErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		b      []byte
		read   func(c *wire.Cursor)
		offset int
	}{
		{"byte", nil, func(c *wire.Cursor) { c.Uint8() }, 0},
		{"2 bytes", []byte{1}, func(c *wire.Cursor) { c.Uint16() }, 0},
		{"3 bytes", []byte{1, 2, 3}, func(c *wire.Cursor) { c.Uint8(); c.Uint24() }, 1},
		{"4 bytes", []byte{1, 2, 3}, func(c *wire.Cursor) { c.Uint32() }, 0},
		{"8 bytes", []byte{1, 2, 3, 4, 5, 6, 7}, func(c *wire.Cursor) { c.Uint64() }, 0},
		{"NULL is no integer", []byte{1, 0xFB}, func(c *wire.Cursor) { c.Uint8(); c.LenEncInt() }, 1},
		{"0xFF is none", []byte{0xFF, 1, 2, 3, 4, 5, 6, 7, 8, 9}, func(c *wire.Cursor) { c.LenEncInt() }, 0},
		{"string", []byte{3, 'a', 'b'}, func(c *wire.Cursor) { c.LenEncString() }, 0},
		{"string of 2^64", []byte{0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, func(c *wire.Cursor) { c.LenEncString() }, 0},
		{"no NUL", []byte("abc"), func(c *wire.Cursor) { c.NullString() }, 0},
		{"bytes", []byte("abc"), func(c *wire.Cursor) { c.Bytes(2); c.Bytes(2) }, 2},
		{"negative", []byte("abc"), func(c *wire.Cursor) { c.Bytes(-1) }, 0},
		{"end", []byte("abc"), func(c *wire.Cursor) { c.Uint8(); c.End() }, 1},
		{"the first error counts", []byte("abc"), func(c *wire.Cursor) { c.Uint32(); c.Uint8(); c.NullString() }, 0},
	} {
		c := wire.NewCursor("test", tt.b)
		tt.read(&c)
		var e *wire.DecodeError
		if !errors.As(c.Err(), &e) || e.Offset != tt.offset || e.Length != len(tt.b) || e.Message != "test" {
			t.Errorf("%s: %v, want an error at %d", tt.name, c.Err(), tt.offset)
		}
		if c.Len() != 0 || c.Uint64() != 0 || len(c.Rest()) != 0 || len(c.LenEncString()) != 0 {
			t.Errorf("%s: something is read behind the error", tt.name)
		}
	}
	c := wire.NewCursor("row", []byte{0xFB, 1, 'x', 'y', 0, 'z'})
	v, null := c.LenEncValue()
	w, null2 := c.LenEncValue()
	if v != nil || !null || string(w) != "x" || null2 || string(c.NullString()) != "y" || string(c.Rest()) != "z" || c.Err() != nil {
		t.Errorf("values %q, %q: %v", v, w, c.Err())
	}
	var decode error = &wire.DecodeError{Message: "greeting", Offset: 1, Length: 3, Want: "4 bytes"}
	if got := decode.Error(); got != "read greeting: at offset 1 of 3 bytes: want 4 bytes" {
		t.Error(got)
	}
}

func TestPackets(t *testing.T) {
	sizes := []int{0, 1, 255, wire.MaxPayload - 1, wire.MaxPayload, 2*wire.MaxPayload + 1}
	if testing.Short() {
		sizes = sizes[:3] // the others are 16 MB
	}
	for _, size := range sizes {
		payload := bytes.Repeat([]byte("not a power of 2."), size/17+1)[:size]
		written, next := wire.AppendMessage([]byte("before"), payload, 254)
		dst := append(wire.Reserve([]byte("before")), payload...)
		finished, next2 := wire.Finish(dst, len("before"), 254)
		if !bytes.Equal(written, finished) || next != next2 {
			t.Errorf("%d bytes: AppendMessage and Finish differ, next %d and %d", size, next, next2)
		}
		b := append(written[len("before"):], 9, 9)
		want := len(b) - 2
		got, seq, n, err := wire.Split(b)
		if err != nil || n != want || seq+1 != next || !bytes.Equal(got, payload) || wire.Need(b) != want {
			t.Errorf("%d bytes: read %d, n %d of %d, number %d, next %d, need %d, %v",
				size, len(got), n, want, seq, next, wire.Need(b), err)
		}
		if parts := size/wire.MaxPayload + 1; want != size+parts*wire.HeaderSize || next != byte(254+parts) {
			t.Errorf("%d bytes: %d bytes in %d packets, next %d", size, want, parts, next)
		}
		for _, short := range []int{0, 3, want - 1} {
			if _, _, n, err := wire.Split(b[:short]); n != 0 || err != nil || wire.Need(b[:short]) <= short {
				t.Errorf("%d bytes cut at %d: n %d, need %d, %v", size, short, n, wire.Need(b[:short]), err)
			}
		}
	}
	b, _ := wire.AppendMessage(nil, make([]byte, wire.MaxPayload), 3)
	b[wire.HeaderSize+wire.MaxPayload+3] = 9
	var e *wire.DecodeError
	if _, _, _, err := wire.Split(b); !errors.As(err, &e) {
		t.Errorf("packet out of order: %v", err)
	}
}

// TestCapabilityBits holds the values that a slip in the list of constants would move.
func TestCapabilityBits(t *testing.T) {
	for bit, got := range map[int]wire.Capability{
		9: wire.Protocol41, 11: wire.SSL, 15: wire.SecureConnection, 19: wire.PluginAuth, 23: wire.SessionTrack,
		24: wire.DeprecateEOF, 25: wire.OptionalMetadata, 26: wire.ZstdCompression, 27: wire.QueryAttributes,
		28: wire.MultiFactor, 31: wire.RememberOptions, 32: wire.MariaDBProgress, 34: wire.MariaDBBulk,
		35: wire.MariaDBMetadata, 36: wire.MariaDBCacheMetadata, 37: wire.MariaDBBulkResults,
	} {
		if got != 1<<bit {
			t.Errorf("bit %d is %#x", bit, uint64(got))
		}
	}
}

// storedSecret is the password "secret" as MySQL 9.7.4 stored it, with 10,000 rounds.
const storedSecret = "$A$00A$/?0\x17~\x16TYj\x16ERz\x11e\x1e\tt9qHrthn21efhUq9KTOrL6nDa/SNGnAVrG4DVq/LPd6Vl4"

// TestAuthVectors: the native hash from the manual of both servers, the crypt of a mysql.user row
// of MySQL 9.7.4.
func TestAuthVectors(t *testing.T) {
	h, err := wire.ParseNativeHash("*14E65567ABDB5135D0CFD9A70B3032C179A49EE7")
	if err != nil || h != wire.HashNative([]byte("secret")) {
		t.Errorf("native hash %x: %v", h, err)
	}
	for _, bad := range []string{"", "*", "14E65567ABDB5135D0CFD9A70B3032C179A49EE7", "*14E65567ABDB5135D0CFD9A70B3032C179A49EEX"} {
		if _, err := wire.ParseNativeHash(bad); err == nil {
			t.Errorf("%q is taken as a hash", bad)
		}
	}
	nonce := []byte("01234567890123456789")
	for _, password := range []string{"", "x", "secret", "ünï"} {
		p := []byte(password)
		if r := wire.NativeResponse(p, nonce); !wire.CheckNative(r, nonce, wire.HashNative(p)) {
			t.Errorf("native %q: %x", password, r)
		}
		if r := wire.SHA2Response(p, nonce); !wire.CheckSHA2(r, nonce, wire.HashSHA2(p)) {
			t.Errorf("sha2 %q: %x", password, r)
		}
		for _, r := range [][]byte{nil, {0}, make([]byte, 20), make([]byte, 32), make([]byte, 31)} {
			if len(p) > 0 && (wire.CheckNative(r, nonce, wire.HashNative(p)) || wire.CheckSHA2(r, nonce, wire.HashSHA2(p))) {
				t.Errorf("%q: response %x is taken", password, r)
			}
		}
		if got := wire.ParseClear(wire.ClearResponse(p)); string(got) != password {
			t.Errorf("clear %q came back as %q", password, got)
		}
	}
	if wire.CheckEd25519(make([]byte, 64), nonce, ed25519Secret) || wire.CheckEd25519(nil, nil, "") {
		t.Error("an empty signature is taken")
	}
	for _, bad := range []string{"", "$A$005$short", "$B$005$" + string(make([]byte, 63)), "$A$000$" + string(make([]byte, 63))} {
		if _, err := wire.ParseSHA2Stored(bad); err == nil {
			t.Errorf("%q is taken as a hash", bad)
		}
	}
	stored, err := wire.ParseSHA2Stored(storedSecret)
	if err != nil || !stored.Check([]byte("secret")) || stored.Check([]byte("Secret")) || stored.Check(make([]byte, 1<<20)) {
		t.Errorf("%q: %v", storedSecret, err)
	}
}

// TestExecuteStrips: a server without query attributes gets the statement's parameters only.
func TestExecuteStrips(t *testing.T) {
	types := []byte{byte(wire.TypeVarString), 0, 0, byte(wire.TypeLongLong), 0x80, 0, byte(wire.TypeDateTime), 0, 0}
	types = wire.AppendLenEncString(append(types, byte(wire.TypeVarString), 0), "attribute")
	values := binary.LittleEndian.AppendUint64(wire.AppendLenEncString(nil, "text"), 9)
	values = append(values, 4, 0xEA, 7, 11, 30)
	values = wire.AppendLenEncString(values, "value")
	full := wire.Execute{
		StatementID: 5, Flags: 8 | wire.CursorReadOnly, Iterations: 1, Params: 3,
		Parameters: wire.Parameters{Count: 4, Named: true, Nulls: []byte{0}, NewTypes: true, Types: types, Values: values},
	}
	payload, err := full.Append(nil, wire.QueryAttributes, nil)
	if err != nil {
		t.Fatal(err)
	}
	var m wire.Execute
	if err := m.Decode(payload, 3, wire.QueryAttributes); err != nil {
		t.Fatal(err)
	}
	var got []string
	r := m.Parameters.Read(nil)
	for v, ok := r.Next(); ok; v, ok = r.Next() {
		got = append(got, fmt.Sprintf("%s %d %v %x", v.Name, v.Type, v.Unsigned, v.Value))
	}
	want := "[ 253 false 74657874  8 true 0900000000000000  12 false ea070b1e attribute 253 false 76616c7565]"
	if fmt.Sprint(got) != want || r.Err() != nil {
		t.Errorf("values %v, want %s: %v", got, want, r.Err())
	}
	plain, err := m.Append(nil, 0, nil)
	wantHex := "17" + "05000000" + "01" + "01000000" + "00" + "01" + "fd00" + "0880" + "0c00" +
		"0474657874" + "0900000000000000" + "04ea070b1e"
	if hex.EncodeToString(plain) != wantHex || err != nil {
		t.Errorf("without attributes %x, want %s: %v", plain, wantHex, err)
	}
	// The text came as long data: it is not among the values, and must not be looked for.
	long := m
	long.Parameters.Values = values[5:]
	out, err := long.Append(nil, 0, func(i int) bool { return i == 0 })
	if err != nil || !bytes.HasSuffix(out, values[5:len(values)-6]) {
		t.Errorf("with long data %x: %v", out, err)
	}
	m.Parameters.NewTypes = false
	if _, err := m.Append(nil, 0, nil); !errors.Is(err, wire.ErrTypesUnknown) {
		t.Errorf("attributes without types: %v", err)
	}
	m.Remember(types)
	if out, err := m.Append(nil, 0, nil); err != nil || !bytes.Equal(out, plain) {
		t.Errorf("with remembered types %x: %v", out, err)
	}
	// A client without attributes, a server with them.
	if err := m.Decode(plain, 3, 0); err != nil {
		t.Fatal(err)
	}
	out, err = m.Append(nil, wire.QueryAttributes, nil)
	var back wire.Execute
	if err == nil {
		err = back.Decode(out, 3, wire.QueryAttributes)
	}
	if err != nil || back.Parameters.Count != 3 || !bytes.Equal(back.Parameters.Values, m.Parameters.Values) {
		t.Errorf("with names %x: %v", out, err)
	}
	for n := range payload {
		var short wire.Execute
		if err := short.Decode(payload[:n], 3, wire.QueryAttributes); err == nil && n < 25 {
			t.Errorf("cut at %d: no error", n)
		}
	}
}

// TestBulkRemembers: a bulk execution without types gets those of an earlier one, with types its own.
func TestBulkRemembers(t *testing.T) {
	types, other := []byte{byte(wire.TypeVarString), 0, byte(wire.TypeLong), 0}, []byte{byte(wire.TypeTiny), 0, byte(wire.TypeBlob), 0}
	for _, tt := range []struct{ name, flags, sent, want string }{
		{"none sent", "\x00\x00", "", string(types)},
		{"another flag is kept", "\x40\x00", "", string(types)},
		{"sent", "\x80\x00", string(other), string(other)},
	} {
		var m wire.BulkExecute
		if err := m.Decode([]byte("\xfa\x01\x00\x00\x00"+tt.flags+tt.sent+"\x01\x02"), 2); err != nil {
			t.Fatal(err)
		}
		m.StatementID = 7
		m.Remember(nil) // nothing is known yet
		m.Remember(types)
		want := "\xfa\x07\x00\x00\x00" + string([]byte{tt.flags[0] | 0x80}) + "\x00" + tt.want + "\x01\x02"
		if got := m.Append(nil); string(got) != want {
			t.Errorf("%s: %x, want %x", tt.name, got, want)
		}
	}
}

// TestAnswerGarbage: what no server sends is an error with its place, and nothing hangs.
func TestAnswerGarbage(t *testing.T) {
	for _, tt := range []struct {
		name    string
		command wire.Command
		caps    wire.Capability
		hex     string
		offset  int
	}{
		{"empty packet", wire.ComQuery, 0, "00000001", 0},
		{"full packet", wire.ComQuery, 0, "ffffff0100", 0},
		{"column count", wire.ComQuery, 0, "02000001fcff", 0},
		{"number of the second packet", wire.ComQuery, 0, "01000001010100000303", 8},
		{"no EOF behind definitions", wire.ComQuery, 0, "0100000101" + "0100000203" + "0100000301", 14},
		{"empty row", wire.ComQuery, wire.DeprecateEOF, "0100000101" + "0100000203" + "00000003", 10},
		{"EOF as a definition", wire.ComQuery, 0, "0100000101" + "05000002fe00000200", 9},
		{"short error", wire.ComQuery, 0, "02000001ff01", 4},
		{"text in the place of OK", wire.ComPing, 0, "0100000141", 0},
		{"short OK", wire.ComPing, 0, "03000001000000", 0},
	} {
		b, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		var a wire.Answer
		a.Start(tt.command, tt.caps)
		for {
			n, step, err := a.Next(b)
			var e *wire.DecodeError
			if errors.As(err, &e) {
				if e.Length < 0 && e.Offset != tt.offset {
					t.Errorf("%s: %v, want it at %d", tt.name, err, tt.offset)
				}
				break
			}
			if step == wire.StepMore || err != nil || a.Done() {
				t.Errorf("%s: step %d, %v, needs %d bytes, has %d", tt.name, step, err, a.Need(), len(b))
				break
			}
			b = b[n:]
		}
	}
	var a wire.Answer
	for _, command := range []wire.Command{wire.ComBinlogDump, wire.ComBinlogDumpGTID, wire.ComClone, 0, 0x77} {
		if a.Start(command, 0) {
			t.Errorf("command %#x has an answer", byte(command))
		}
	}
	for _, command := range []wire.Command{wire.ComQuit, wire.ComStmtClose, wire.ComStmtSendLongData} {
		if !a.Start(command, 0) || !a.Done() {
			t.Errorf("command %#x is waited for", byte(command))
		}
		if n, step, err := a.Next([]byte{1, 0, 0, 1, 0}); n != 0 || step != wire.StepMore || err != nil {
			t.Errorf("command %#x: %d bytes of another answer are passed", byte(command), n)
		}
	}
}
