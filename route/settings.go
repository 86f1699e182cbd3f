package route

import (
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// settings follows SET and USE: what changes how the next text is read, and what
// the session asks of the proxy.
func (s *Session) settings(st *Statement, text string) {
	if !st.Facts.Any(FactMode | FactIsolation | FactProxy | FactReadOnly | FactReadWrite | FactSession) {
		return
	}
	for _, w := range walk(text, &s.Options) {
		switch {
		case w.word(0, "use"):
			if o, _ := w.name(1); o.name != "" {
				s.Schema = o.name
			}
		case w.word(0, "set"):
			s.set(st, w)
		}
	}
}

// set follows one SET statement of the text.
func (s *Session) set(whole *Statement, w *walker) {
	if s.login == nil {
		login := s.Options
		s.login = &login
	}
	st := w.statement(whole, &s.Options)
	next := st.Facts.Any(FactNextTransaction)
	if st.Facts.Any(FactIsolation) {
		committed := false
		for i := range w.tokens {
			committed = committed || w.word(i, "committed") || equal(unquote(w.piece(i)), "read-committed")
		}
		if next {
			s.next.isolation, s.next.readCommitted = true, committed
		} else {
			s.readCommitted = committed
		}
	}
	s.readOnlySetting(&st, w)
	for _, a := range w.assignments() {
		if equal(a.name, "sql_mode") {
			s.mode(w, &a)
			continue
		}
		_ = s.Setting(a.name, a.value) // Decide has refused what cannot be read
	}
	s.charset(w)
}

// check says what is wrong with a SET of the proxy's variables, if anything is.
func (s *Session) check(text string) error {
	trial := *s
	for _, w := range walk(text, &s.Options) {
		for _, a := range w.assignments() {
			if err := trial.Setting(a.name, a.value); err != nil {
				return err
			}
		}
	}
	return nil
}

// readOnlySetting follows SET TRANSACTION READ ONLY and its variable.
func (s *Session) readOnlySetting(st *Statement, w *walker) {
	only := st.Facts.Has(FactReadOnly)
	switch {
	case !st.Facts.Any(FactReadOnly | FactReadWrite):
		return
	case st.Facts.Has(FactReadOnly | FactReadWrite): // the variable: its value tells
		for _, a := range w.assignments() {
			if oneOf(a.name, "tx_read_only transaction_read_only") {
				only = !oneOf(a.value, "0 off false")
			}
		}
	}
	if st.Facts.Any(FactNextTransaction) {
		s.next.readOnly = only
	} else {
		s.sessionReadOnly = only
	}
}

// mode follows SET sql_mode. A computed value, such as CONCAT(@@sql_mode, ',x'),
// can only bring in a mode that its literals name.
func (s *Session) mode(w *walker, a *setting) {
	if a.literal {
		s.unreadable = !s.Options.SetMode(a.value)
		return
	}
	var named Options
	if !named.SetMode(w.literals(a.at)) || named.ANSIQuotes || named.NoBackslashEscapes {
		s.unreadable = true
	}
}

// SetMode takes over what a sql_mode, a list separated by commas, changes in how
// a text is read. It returns false for a number, which is not understood.
func (o *Options) SetMode(mode string) bool {
	o.ANSIQuotes, o.NoBackslashEscapes, o.IgnoreSpace = false, false, false
	for one := range strings.SplitSeq(mode, ",") {
		switch one = strings.ToUpper(strings.TrimSpace(one)); one {
		case "ANSI", "ORACLE", "MSSQL", "DB2", "MAXDB", "POSTGRESQL":
			o.ANSIQuotes, o.IgnoreSpace = true, true
		case "ANSI_QUOTES":
			o.ANSIQuotes = true
		case "NO_BACKSLASH_ESCAPES":
			o.NoBackslashEscapes = true
		case "IGNORE_SPACE":
			o.IgnoreSpace = true
		default:
			if n, err := strconv.Atoi(one); err == nil && n != 0 {
				return false
			}
		}
	}
	return true
}

// Setting gives the session one setting, as SET name = value does: the proxy's
// own (mysqlrw_consistency, mysqlrw_max_staleness, mysqlrw_timeout,
// mysqlrw_node, mysqlrw_token, ob_read_consistency, force_node), and sql_mode as
// a server reports it. Other names are not its business and no error. An error
// says what is wrong with the value; the session is unchanged then.
func (s *Session) Setting(name, value string) error {
	switch strings.ToLower(name) {
	case "mysqlrw_consistency", "ob_read_consistency":
		level, ok := ParseLevel(value)
		if !ok {
			return &SettingError{Name: name, Value: value, Want: "eventual, weak, session, global, scc or strong"}
		}
		s.Level, s.HasLevel = level, true
	case "mysqlrw_max_staleness":
		return s.duration(name, value, &s.MaxStaleness, &s.HasMaxStaleness)
	case "mysqlrw_timeout":
		return s.duration(name, value, &s.Timeout, &s.HasTimeout)
	case "mysqlrw_node", "force_node":
		s.Node = value
	case "mysqlrw_token":
		token, err := gtid.ParseValue(value)
		if err != nil {
			return &SettingError{Name: name, Value: value, Want: "a GTID set", Err: err}
		}
		s.Token = token
	case "sql_mode":
		s.unreadable = !s.Options.SetMode(value)
	default:
		if proxyVariable(name) {
			return &SettingError{Name: name, Value: value, Want: "mysqlrw_consistency, mysqlrw_max_staleness, " +
				"mysqlrw_timeout, mysqlrw_node or mysqlrw_token"}
		}
	}
	return nil
}

// Follow tells the session how the server reads the next text: its sql_mode and character_set_client,
// as it reports them. They count over what was read from the texts of SET.
func (s *Session) Follow(mode, charset string) {
	c, known := sqltoken.ParseCharset(charset)
	s.unreadable = !s.Options.SetMode(mode) || !known
	if known {
		s.Options.Charset = c
	}
}

func (s *Session) duration(name, value string, to *time.Duration, has *bool) error {
	d, err := time.ParseDuration(value)
	if n, bad := strconv.ParseFloat(value, 64); bad == nil && n >= 0 && n < 1e9 { // seconds
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < 0 {
		return &SettingError{Name: name, Value: value, Want: "a duration such as 50ms or 2s"}
	}
	*to, *has = d, true
	return nil
}

// SettingError says why a SET of one of the proxy's variables was refused.
type SettingError struct {
	// Name and Value are as the statement had them.
	Name, Value string
	// Want says what would have been read.
	Want string
	// Err says what is wrong with a position; nil for other settings.
	Err error
}

// Error says what is wrong and what would have been right.
func (e *SettingError) Error() string {
	text := "SET " + e.Name + " = " + strconv.Quote(e.Value) + ": expected " + e.Want
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the parser's error, if there is one.
func (e *SettingError) Unwrap() error { return e.Err }

// charset follows SET NAMES, SET CHARACTER SET and SET character_set_client.
func (s *Session) charset(w *walker) {
	for i := range w.tokens {
		at := -1
		switch {
		case w.word(i, "names"), w.word(i, "charset"):
			at = i + 1
		case w.word(i, "set") && w.word(i-1, "character"):
			at = i + 1
		case w.word(i, "character_set_client"):
			at = i + 2
		}
		if at < 0 || w.kind(at) == sqltoken.EOF || equal(w.piece(at), "default") {
			continue
		}
		c, known := sqltoken.ParseCharset(unquote(w.piece(at)))
		if s.unreadable = !known; known {
			s.Options.Charset = c
		}
		return
	}
}

// setting is one assignment of a SET statement.
type setting struct {
	name, value string // value is the first token of it
	literal     bool   // value is all of it
	at          int    // the token that value is
}

// literals returns all strings from token i on, separated by commas.
func (w *walker) literals(i int) string {
	var all []string
	for ; i < len(w.tokens); i++ {
		switch w.kind(i) {
		case sqltoken.String:
			all = append(all, unquote(w.piece(i)))
		case sqltoken.UserVar:
			all = append(all, "ANSI") // it may be anything
		}
	}
	return strings.Join(all, ",")
}

// assignments returns the assignments to the session's system variables. The
// scope of one without any is that of the one before.
func (w *walker) assignments() []setting {
	var found []setting
	global := false
	for i := range w.tokens {
		if !w.isName(i) || w.piece(i+1) != "=" && w.piece(i+1) != ":=" || w.kind(i+2) == sqltoken.EOF {
			continue
		}
		scope, marked := i-1, false
		if w.piece(scope) == "." { // @@global.x
			scope--
			marked = true
		}
		isGlobal := w.word(scope, "global") || w.word(scope, "persist") || w.word(scope, "persist_only")
		if isGlobal && marked || marked && w.kind(scope-1) != sqltoken.SysVar {
			continue
		}
		if !marked {
			global = isGlobal || global && !w.word(scope, "session") && !w.word(scope, "local")
		}
		if global && !marked && w.kind(scope) != sqltoken.SysVar {
			continue
		}
		a := setting{name: unquote(w.piece(i)), value: unquote(w.piece(i + 2)), at: i + 2}
		end := w.piece(i + 3)
		a.literal = (end == "" || end == ",") && w.kind(i+2) != sqltoken.UserVar && w.kind(i+2) != sqltoken.SysVar
		found = append(found, a)
	}
	return found
}
