package route

import (
	"errors"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

func TestSetting(t *testing.T) {
	tests := []struct {
		name, value string
		got         func(s *Session) any
		want        any
	}{
		{"mysqlrw_consistency", "GLOBAL", func(s *Session) any { return s.Level }, Global},
		{"MYSQLRW_CONSISTENCY", "scc", func(s *Session) any { return s.Level }, SCC},
		{"ob_read_consistency", "weak", func(s *Session) any { return s.Level }, Weak},
		{"mysqlrw_timeout", "50ms", func(s *Session) any { return s.Timeout }, 50 * time.Millisecond},
		{"mysqlrw_timeout", "2", func(s *Session) any { return s.Timeout }, 2 * time.Second},
		{"mysqlrw_timeout", "0.25", func(s *Session) any { return s.Timeout }, 250 * time.Millisecond},
		{"mysqlrw_timeout", "0", func(s *Session) any { return s.HasTimeout }, true},
		{"mysqlrw_max_staleness", "1m", func(s *Session) any { return s.MaxStaleness }, time.Minute},
		{"mysqlrw_node", "replica-1", func(s *Session) any { return s.Node }, "replica-1"},
		{"force_node", "Replica1", func(s *Session) any { return s.Node }, "Replica1"},
		{"mysqlrw_token", "0-1-5", func(s *Session) any { return s.Token.String() }, "0-1-5"},
		{"sort_buffer_size", "5", func(s *Session) any { return s.Level }, Eventual},
	}
	for _, test := range tests {
		var s Session
		if err := s.Setting(test.name, test.value); err != nil {
			t.Errorf("%s = %s: %v", test.name, test.value, err)
		} else if got := test.got(&s); got != test.want {
			t.Errorf("%s = %s: got %v, want %v", test.name, test.value, got, test.want)
		}
	}
}

// TestSettingError holds the texts that a client reads, and that nothing has
// changed then.
func TestSettingError(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"mysqlrw_consistency", "fast", `SET mysqlrw_consistency = "fast": expected eventual, weak, session, global, scc or strong`},
		{"ob_read_consistency", "", `SET ob_read_consistency = "": expected eventual, weak, session, global, scc or strong`},
		{"mysqlrw_timeout", "soon", `SET mysqlrw_timeout = "soon": expected a duration such as 50ms or 2s`},
		{"mysqlrw_timeout", "-1s", `SET mysqlrw_timeout = "-1s": expected a duration such as 50ms or 2s`},
		{"mysqlrw_timeout", "NaN", `SET mysqlrw_timeout = "NaN": expected a duration such as 50ms or 2s`},
		{"mysqlrw_timeout", "1e300", `SET mysqlrw_timeout = "1e300": expected a duration such as 50ms or 2s`},
		{"mysqlrw_timeout", "Inf", `SET mysqlrw_timeout = "Inf": expected a duration such as 50ms or 2s`},
		{"mysqlrw_max_staleness", "5 s", `SET mysqlrw_max_staleness = "5 s": expected a duration such as 50ms or 2s`},
	}
	token, err := gtid.ParseValue("0-1-5")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		s := Session{Level: Strong, HasLevel: true, Timeout: time.Second, HasTimeout: true, Token: token}
		err := s.Setting(test.name, test.value)
		var setting *SettingError
		if !errors.As(err, &setting) || err.Error() != test.want {
			t.Errorf("%s = %q: %v\nwant %s", test.name, test.value, err, test.want)
		}
		if s.Level != Strong || s.Timeout != time.Second || s.HasMaxStaleness || !s.Token.Equal(token) {
			t.Errorf("%s = %q changed the session", test.name, test.value)
		}
	}
	var s Session
	err = s.Setting("mysqlrw_token", "3E11FA47-71CA-11E1-9E33-C80AA9429562:5-x")
	var parse *gtid.ParseError
	if !errors.As(err, &parse) || !s.Token.IsEmpty() {
		t.Errorf("a malformed token gives %v, want its ParseError with the offset", err)
	}
}

func TestSetMode(t *testing.T) {
	const ansi, backslash, space = 1, 2, 4
	tests := []struct {
		mode string
		want int
	}{
		{"", 0},
		{"STRICT_TRANS_TABLES,NO_ZERO_DATE", 0},
		{"ANSI_QUOTES", ansi},
		{"ansi_quotes,STRICT_TRANS_TABLES", ansi},
		{"STRICT_TRANS_TABLES, no_backslash_escapes", backslash},
		{"ANSI", ansi | space},
		{"IGNORE_SPACE,NO_BACKSLASH_ESCAPES,ANSI_QUOTES", ansi | backslash | space},
		{"ORACLE", ansi | space},
	}
	for _, test := range tests {
		o := Options{IgnoreSpace: true}
		o.ANSIQuotes = true
		if !o.SetMode(test.mode) {
			t.Errorf("%q is not understood", test.mode)
		}
		got := 0
		for bit, is := range map[int]bool{ansi: o.ANSIQuotes, backslash: o.NoBackslashEscapes, space: o.IgnoreSpace} {
			if is {
				got |= bit
			}
		}
		if got != test.want {
			t.Errorf("%q: got %b, want %b", test.mode, got, test.want)
		}
	}
	if o := (&Options{}); o.SetMode("4") { // ANSI_QUOTES, by its number
		t.Error("a number is understood")
	}
}

// TestAutocommit holds every way to write the value.
func TestAutocommit(t *testing.T) {
	off, on := FactAutocommitOff, FactAutocommitOn
	tests := []struct {
		text string
		want Facts
	}{
		{"SET autocommit=0", off},
		{"SET autocommit = OFF", off},
		{"SET autocommit = 'off'", off},
		{`SET autocommit = "OFF"`, off},
		{"SET autocommit = FALSE", off},
		{"SET @@autocommit := 0", off},
		{"SET @@session . autocommit = 0", off},
		{"SET LOCAL autocommit = 0", off},
		{"SET `autocommit` = 0", off},
		{"SET @@`autocommit` = 0", off},
		{"SET sql_mode = '', autocommit = 0", off},
		{"SET NAMES utf8, autocommit = 0", off},
		{"SET NAMES utf8 COLLATE utf8_bin, autocommit = 0", off},
		{"SET CHARACTER SET utf8, autocommit = 0", off},
		{"/* x */ SET /* y */ autocommit /* z */ = /* w */ 0", off},
		{"SET autocommit=1", on},
		{"SET autocommit=ON", on},
		{"SET autocommit='1'", on},
		{"SET autocommit=true", on},
		{"SET autocommit=00", on | off},
		{"SET autocommit=(0)", on | off},
		{"SET autocommit=1-1", on | off},
		{"SET autocommit=@a", on | off},
		{"SET autocommit=@@global.autocommit", on | off},
		{"SET autocommit=DEFAULT", on | off},
		{"SET autocommit=0x00", on | off},
		{"SET autocommit=0; SET autocommit=1", on | off},
		{"SET GLOBAL autocommit=0", 0},
		{"SET @@global.autocommit=0", 0},
		{"SET PERSIST autocommit=0", 0},
		{"SET @autocommit=0", 0},
		{"SET @a = 'autocommit=0'", 0},
		{"SELECT autocommit=0", 0},
		{"UPDATE t SET autocommit=0", 0},
		{"SET GLOBAL sort_buffer_size = 1, autocommit = 0", 0},
		{"SET GLOBAL sort_buffer_size = 1, SESSION autocommit = 0", off},
		{"SET @@global.sort_buffer_size = 1, autocommit = 0", off},
	}
	for _, test := range tests {
		st := Classify(test.text, &Options{})
		if got := st.Facts & (on | off); got != test.want {
			t.Errorf("%s: on %v, off %v; want on %v, off %v",
				test.text, got.Has(on), got.Has(off), test.want.Has(on), test.want.Has(off))
		}
	}
}
