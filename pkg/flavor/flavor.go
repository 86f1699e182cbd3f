package flavor

import (
	"fmt"
	"strings"
)

// Flavor is a family of servers. The zero value is Unknown, which no server is.
type Flavor uint8

// The flavors. Percona Server, Aurora and other builds of MySQL are MySQL.
const (
	Unknown Flavor = iota
	MySQL
	MariaDB
)

// String returns "mysql", "mariadb" or "unknown": the words of flags and JSON.
func (f Flavor) String() string {
	switch f {
	case MySQL:
		return "mysql"
	case MariaDB:
		return "mariadb"
	default:
		return "unknown"
	}
}

// MarshalText returns the same word as String.
func (f Flavor) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// ParseFlavor reads "mysql" or "mariadb" in any case.
func ParseFlavor(s string) (Flavor, error) {
	switch strings.ToLower(s) {
	case "mysql":
		return MySQL, nil
	case "mariadb":
		return MariaDB, nil
	default:
		return Unknown, fmt.Errorf("unknown flavor %q: use mysql or mariadb", s)
	}
}

// Version is a server's version in numbers; text comparison would put 10.4
// before 8.1. Missing parts are 0.
type Version struct {
	Major, Minor, Patch int
}

// String returns "major.minor.patch".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// AtLeast reports whether v is the given version or a later one. Comparing
// versions of different flavors means nothing.
func (v Version) AtLeast(major, minor, patch int) bool {
	w := Version{major, minor, patch}
	if v.Major != w.Major {
		return v.Major > w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor > w.Minor
	}
	return v.Patch >= w.Patch
}

// Server is what a version string says.
type Server struct {
	Flavor  Flavor
	Version Version
	Text    string // as the server gave it
}

// Parse reads the answer of SELECT VERSION() or the version of a handshake.
//
// A server is MariaDB if its text says so, in any case, and never because of
// its numbers: MySQL's versions have passed 10 (26.7). The prefix "5.5.5-"
// that MariaDB puts before its version in a handshake is dropped.
func Parse(text string) Server {
	s := Server{Flavor: MySQL, Text: text}
	numbers := text
	if strings.Contains(strings.ToLower(text), "mariadb") {
		s.Flavor = MariaDB
		numbers = strings.TrimPrefix(text, "5.5.5-")
	}
	s.Version = parseNumbers(numbers)
	return s
}

// parseNumbers reads up to three numbers separated by dots and stops at the
// first thing that is neither, such as the "-log" of 8.0.36-log.
func parseNumbers(text string) Version {
	var part [3]int
	i := 0
	for _, c := range []byte(text) {
		switch {
		case c >= '0' && c <= '9':
			if part[i] < 1_000_000 {
				part[i] = part[i]*10 + int(c-'0')
			}
		case c == '.' && i < 2:
			i++
		default:
			return Version{part[0], part[1], part[2]}
		}
	}
	return Version{part[0], part[1], part[2]}
}
