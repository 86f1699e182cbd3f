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

// named returns which of the tables a to g follow one.
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
	children := map[Key][]Key{}
	for _, e := range []string{"a>b", "b>c", "b>c", "c>a", "c>c", "d>c", "e>f", "e>g", "f>g", "g>g"} {
		parent, child, _ := strings.Cut(e, ">")
		children[KeyOf("", parent)] = append(children[KeyOf("", parent)], KeyOf("", child))
	}
	s := &Schema{}
	s.follow(children)
	for k, want := range map[string]string{"a": "b c", "b": "a c", "c": "a b", "d": "a b c", "e": "f g", "f": "g", "g": "", "x": ""} {
		if got := s.named(k); got != want {
			t.Errorf("%s: %q, want %q", k, got, want)
		}
	}
	if s.Opaque(KeyOf("", "b")) {
		t.Error("b is opaque")
	}
}

// TestManyFollowers: the lists are bounded. What would be in them is opaque.
func TestManyFollowers(t *testing.T) {
	t.Parallel()
	s, children := &Schema{opaque: map[Key]struct{}{}}, map[Key][]Key{}
	const chain = 1000 // 500,000 pairs
	for i := range Key(chain) {
		children[i] = []Key{i + 1}
	}
	s.follow(children)
	if s.Follows(0) != nil || s.Opaque(0) || !s.Opaque(1) || !s.Opaque(chain) {
		t.Errorf("%d followers, opaque %v %v", len(s.Follows(0)), s.Opaque(0), s.Opaque(1))
	}
}
