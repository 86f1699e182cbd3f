package middleware

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
)

const token = "s3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"

// sealed returns the value of a cookie that another process has made at a time.
func (s *Sessions) sealed(token string, at time.Time) string {
	signed := append(binary.BigEndian.AppendUint64(nil, uint64(at.Unix())), token...)
	return base64.RawURLEncoding.EncodeToString(append(s.signature(signed), signed...))
}

func TestOpen(t *testing.T) {
	t.Parallel()
	s := &Sessions{Key: []byte("the key of all processes")}
	now := time.Now()
	good := s.sealed(token, now)
	other := &Sessions{Key: []byte("another key")}
	raw, _ := base64.RawURLEncoding.DecodeString(good)
	changed := func(i int) string {
		b := append([]byte(nil), raw...)
		b[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(b)
	}
	for _, tt := range []struct {
		name, value string
		want        error
	}{
		{"good", good, nil},
		{"good for some time", s.sealed(token, now.Add(-MaxAge/2)), nil},
		{"a clock that is ahead", s.sealed(token, now.Add(2*time.Second)), nil},
		{"too old", s.sealed(token, now.Add(-MaxAge-2*time.Second)), errExpired},
		{"foreign", other.sealed(token, now), errForged},
		{"signature changed", changed(0), errForged},
		{"time changed", changed(35), errForged},
		{"token changed", changed(len(raw) - 1), errForged},
		{"truncated", good[:len(good)-4], errForged},
		{"cut to less than a signature", good[:8], errForged},
		{"empty", "", errForged},
		{"no base64", "%%%" + good, errForged},
		{"longer", good + "AAAA", errForged},
	} {
		var session rwdb.Session
		err := s.open(tt.value, &session)
		if !errors.Is(err, tt.want) || err != nil && tt.want == nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		want := "s"
		if tt.want == nil {
			want = token
		}
		if got, _ := session.MarshalText(); string(got) != want {
			t.Errorf("%s: the session is %q, want %q", tt.name, got, want)
		}
	}
	var session rwdb.Session
	if err := s.open(s.sealed("nonsense", now), &session); err == nil {
		t.Error("what is signed and no token is taken")
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	s := &Sessions{Key: []byte("the key of all processes")}
	var session rwdb.Session
	if err := session.UnmarshalText([]byte(token)); err != nil {
		t.Fatal(err)
	}
	c, err := s.seal(&session)
	if err != nil {
		t.Fatal(err)
	}
	attributes := strings.TrimPrefix(c.String(), Cookie+"="+c.Value)
	if want := "; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax"; attributes != want {
		t.Errorf("the cookie has %q, want %q", attributes, want)
	}
	var again rwdb.Session
	if err := s.open(c.Value, &again); err != nil {
		t.Fatal(err)
	}
	if got, _ := again.MarshalText(); string(got) != token {
		t.Errorf("the session is %q, want %q", got, token)
	}
	long := token
	for uuid := range 100 {
		long += ",3e11fa47-71ca-11e1-9e33-c80aa94295" + string(rune('0'+uuid/10)) + string(rune('0'+uuid%10)) + ":1-5"
	}
	if err := session.UnmarshalText([]byte(long)); err != nil {
		t.Fatal(err)
	}
	if c, err := s.seal(&session); err == nil {
		t.Errorf("a cookie of %d bytes is made, which no browser keeps", len(c.Value))
	}
}
