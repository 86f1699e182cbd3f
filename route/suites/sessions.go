package suites

import (
	"regexp"
	"strings"
)

// session is what a connection's earlier statements say of how its next one
// is read.
type session struct {
	mode    Mode
	charset string
	saved   map[string]Mode // by user variable that a mode was kept in
}

// sessions are a test's connections, by name.
type sessions struct {
	current    *session
	byName     map[string]*session
	globalMode Mode
	newCharset string // of connections that are made from now on
	patterns   *patterns
}

func newSessions(c setting, p *patterns) *sessions {
	s := &sessions{byName: map[string]*session{}, globalMode: c.mode, newCharset: c.reader, patterns: p}
	s.connect("default")
	if c.charset != "" {
		s.current.charset = c.charset
	}
	return s
}

// connect makes a connection and uses it.
func (s *sessions) connect(name string) {
	s.current = &session{mode: s.globalMode, charset: s.newCharset, saved: map[string]Mode{}}
	s.byName[name] = s.current
}

// use switches to a connection. One that the file has not made was made by
// the file that includes it.
func (s *sessions) use(name string) {
	if known, ok := s.byName[name]; ok {
		s.current = known
		return
	}
	s.connect(name)
}

// reset makes the current connection new.
func (s *sessions) reset() {
	*s.current = session{mode: s.globalMode, charset: s.newCharset, saved: map[string]Mode{}}
}

// patterns find what matters in SET statements and files of options.
type patterns struct {
	set, names, mode, charset, variable, word, option *regexp.Regexp
}

func newPatterns() *patterns {
	return &patterns{
		set:      regexp.MustCompile(`(?is)^(?:/\*.*?\*/\s*)*set\s+`),
		names:    regexp.MustCompile(`(?is)^(?:names|character\s+set|charset)\s*['"]?(\w+)`),
		mode:     regexp.MustCompile(`(?is)^(session\s+|local\s+|global\s+|persist\s+|@@session\.|@@local\.|@@global\.|@@persist\.|@@)?\x60?sql_mode\x60?\s*:?=\s*(.*)$`),
		charset:  regexp.MustCompile(`(?is)^(?:session\s+|local\s+|@@session\.|@@local\.|@@)?character_set_client\s*:?=\s*['"]?(\w+)`),
		variable: regexp.MustCompile(`(?is)^@([\w.$]+)\s*:?=\s*(.*)$`),
		word:     regexp.MustCompile(`(?i)\w+`),
		option:   regexp.MustCompile(`(?i)--(?:loose[-_])?sql[-_]mode=(\S+)`),
	}
}

// apply takes over what a SET statement changes.
func (s *sessions) apply(text string) {
	head := s.patterns.set.FindString(text)
	if head == "" {
		return
	}
	for _, assignment := range assignments(text[len(head):]) {
		s.assign(assignment)
	}
}

func (s *sessions) assign(text string) {
	p := s.patterns
	if m := p.names.FindStringSubmatch(text); m != nil {
		s.current.charset = clientCharset(m[1])
	} else if m := p.charset.FindStringSubmatch(text); m != nil {
		s.current.charset = clientCharset(m[1])
	} else if m := p.mode.FindStringSubmatch(text); m != nil {
		mode, known := s.modeOf(m[2])
		scope := strings.ToLower(m[1])
		switch {
		case !known:
		case strings.Contains(scope, "global") || strings.Contains(scope, "persist"):
			s.globalMode = mode
		default:
			s.current.mode = mode
		}
	} else if m := p.variable.FindStringSubmatch(text); m != nil {
		if mode, known := s.modeOf(m[2]); known && strings.Contains(strings.ToLower(m[2]), "sql_mode") {
			s.current.saved[strings.ToLower(m[1])] = mode
		}
	}
}

func clientCharset(name string) string {
	name = strings.ToLower(name)
	if name == "default" {
		return ""
	}
	return name
}

// modeOf evaluates what is assigned to sql_mode, as far as suites write it: a
// list, a saved value, the current one with more modes or without some.
func (s *sessions) modeOf(value string) (Mode, bool) {
	value = strings.ToLower(strings.TrimSpace(value))
	if value == "default" {
		return s.globalMode, true
	}
	if name, isVariable := strings.CutPrefix(value, "@"); isVariable && !strings.HasPrefix(name, "@") {
		mode, known := s.current.saved[strings.TrimRight(name, " ;")]
		return mode, known
	}
	mode := Mode(0)
	switch {
	case strings.Contains(value, "@@global.sql_mode"):
		mode = s.globalMode
	case strings.Contains(value, "@@"):
		mode = s.current.mode
	}
	if strings.HasPrefix(value, "replace") {
		return mode &^ s.patterns.modesIn(value), true
	}
	return mode | s.patterns.modesIn(value), true
}

// modesIn returns the modes that the words of a text name. The manuals' pages
// "Server SQL Modes" say which modes contain others.
func (p *patterns) modesIn(text string) Mode {
	found := Mode(0)
	for _, word := range p.word.FindAllString(text, -1) {
		switch strings.ToLower(word) {
		case "ansi_quotes":
			found |= ANSIQuotes
		case "ansi", "db2", "maxdb", "mssql", "postgresql":
			found |= ANSIQuotes | IgnoreSpace
		case "oracle":
			found |= ANSIQuotes | IgnoreSpace | Oracle
		case "ignore_space":
			found |= IgnoreSpace
		case "no_backslash_escapes":
			found |= NoBackslashEscapes
		}
	}
	return found
}

// assignments splits the list of a SET statement at commas outside quotes and
// parentheses.
func assignments(text string) []string {
	var parts []string
	start, depth, quote := 0, 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(text[start:]))
}
