package tracker

import (
	"slices"
	"strings"
	"testing"
)

func TestSeesAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		grants string // lines, separated by |
		want   bool
	}{
		{"GRANT USAGE ON *.* TO `u`@`%`", false},
		{"GRANT REPLICATION SLAVE, PROCESS ON *.* TO `u`@`%`", false},
		{"GRANT REFERENCES ON *.* TO `u`@`%`", true},
		{"GRANT RELOAD, SHOW VIEW, EXECUTE ON *.* TO `u`@`%` WITH GRANT OPTION", true},
		{"GRANT ALL PRIVILEGES ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*2'", true},
		{"GRANT ALL PRIVILEGES ON `d`.* TO `u`@`%`|GRANT SELECT ON `d`.`t` TO `u`@`%`", false},
		{"GRANT USAGE ON *.* TO `u`@`%`|GRANT `SELECT`@`%` TO `u`@`%`", false},
		{"GRANT `r` TO `u`@`%`|GRANT USAGE ON *.* TO `u`@`%`|GRANT SELECT ON *.* TO `r`|SET DEFAULT ROLE `r` FOR `u`@`%`", true},
		{"GRANT USAGE ON *.* TO `u`@`%`|GRANT REFERENCES ON *.* TO PUBLIC", true},
		{"GRANT SELECT, REFERENCES ON *.* TO `u`@`%`|REVOKE SELECT ON `d`.* FROM `u`@`%`", true},
		{"GRANT SELECT, REFERENCES ON *.* TO `u`@`%`|REVOKE SELECT ON `d`.* FROM `u`@`%`|REVOKE REFERENCES ON `e`.* FROM `u`@`%`", false},
		{"GRANT ALL PRIVILEGES ON *.* TO `u`@`%`|REVOKE ALL PRIVILEGES ON `d`.* FROM `u`@`%`", false},
		{"GRANT SELECT ON *.* TO `u`@`%`|DENY SELECT ON `d`.* TO `u`@`%`", false},
		{"", false},
	} {
		if got := seesAll(strings.Split(c.grants, "|")); got != c.want {
			t.Errorf("%s: %v", c.grants, got)
		}
	}
}

// schemaOf makes a schema of edges such as "a>b".
func schemaOf(opaque string, edges ...string) *Schema {
	s := &Schema{opaque: map[Key]struct{}{}, edges: map[Key][]Key{}}
	for name := range strings.FieldsSeq(opaque) {
		s.opaque[KeyOf("", name)] = struct{}{}
	}
	for _, e := range edges {
		parent, child, _ := strings.Cut(e, ">")
		s.edge(KeyOf("", parent), KeyOf("", child))
	}
	s.closeEdges()
	return s
}

func (s *Schema) named(k string) string {
	var names []string
	for _, name := range strings.Split("abcdefg", "") {
		if slices.Contains(s.Follows(KeyOf("", k)), KeyOf("", name)) {
			names = append(names, name)
		}
	}
	if len(names) != len(s.Follows(KeyOf("", k))) {
		names = append(names, "and others")
	}
	return strings.Join(names, " ")
}

func TestFollows(t *testing.T) {
	t.Parallel()
	s := schemaOf("", "a>b", "b>c", "b>c", "c>a", "c>c", "d>c", "e>f", "e>g", "f>g")
	for k, want := range map[string]string{"a": "b c", "b": "a c", "c": "a b", "d": "a b c", "e": "f g", "f": "g", "g": "", "x": ""} {
		if got := s.named(k); got != want {
			t.Errorf("%s: %q, want %q", k, got, want)
		}
	}
	if s.Opaque(KeyOf("", "b")) {
		t.Error("b is opaque")
	}
}

// TestUnion: a change may go one step by a foreign key that is no longer there, and the next by one
// that is new.
func TestUnion(t *testing.T) {
	t.Parallel()
	older := schemaOf("v w", "a>b", "d>e")
	s := schemaOf("v x", "b>c", "d>e").Union(older)
	for k, want := range map[string]string{"a": "b c", "b": "c", "d": "e"} {
		if got := s.named(k); got != want {
			t.Errorf("%s: %q, want %q", k, got, want)
		}
	}
	for name, want := range map[string]bool{"v": true, "w": true, "x": true, "a": false} {
		if s.Opaque(KeyOf("", name)) != want {
			t.Errorf("%s: opaque %v", name, !want)
		}
	}
	if older.named("a") != "b" || older.Opaque(KeyOf("", "x")) {
		t.Error("the older one has changed")
	}
	older.hidden = true
	if s.Opaque(KeyOf("", "a")) || !s.Union(older).Opaque(KeyOf("", "a")) {
		t.Error("hidden changes are not all tables'")
	}
}

// TestManyFollowers: the lists are bounded. What would be in them is opaque.
func TestManyFollowers(t *testing.T) {
	t.Parallel()
	s := &Schema{opaque: map[Key]struct{}{}, edges: map[Key][]Key{}}
	const chain = 1000 // 500,000 pairs
	for i := range Key(chain) {
		s.edge(i, i+1)
	}
	s.closeEdges()
	if s.Follows(0) != nil || s.Opaque(0) || !s.Opaque(1) || !s.Opaque(chain) {
		t.Errorf("%d followers, opaque %v %v", len(s.Follows(0)), s.Opaque(0), s.Opaque(1))
	}
}
