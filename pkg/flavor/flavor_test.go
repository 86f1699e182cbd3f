package flavor_test

import (
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		flavor  flavor.Flavor
		version flavor.Version
	}{
		{"8.0.36", flavor.MySQL, flavor.Version{Major: 8, Patch: 36}},
		{"8.4.3", flavor.MySQL, flavor.Version{Major: 8, Minor: 4, Patch: 3}},
		{"9.7.0-log", flavor.MySQL, flavor.Version{Major: 9, Minor: 7}},
		{"26.10.0", flavor.MySQL, flavor.Version{Major: 26, Minor: 10}},
		{"5.7.44-log", flavor.MySQL, flavor.Version{Major: 5, Minor: 7, Patch: 44}},
		{"8.0.34-26 (Percona)", flavor.MySQL, flavor.Version{Major: 8, Patch: 34}},
		{"8.0.mysql_aurora.3.05.2", flavor.MySQL, flavor.Version{Major: 8}},
		{"5.7.25-TiDB-v8", flavor.MySQL, flavor.Version{Major: 5, Minor: 7, Patch: 25}},
		{"5.5.5-10.11.19-MariaDB-log", flavor.MariaDB, flavor.Version{Major: 10, Minor: 11, Patch: 19}},
		{"11.8.2-MariaDB", flavor.MariaDB, flavor.Version{Major: 11, Minor: 8, Patch: 2}},
		{"10.4.34-mariadb", flavor.MariaDB, flavor.Version{Major: 10, Minor: 4, Patch: 34}},
		{"12.0.2-MARIADB-ubu2404", flavor.MariaDB, flavor.Version{Major: 12, Patch: 2}},
		{"5.5.68-MariaDB", flavor.MariaDB, flavor.Version{Major: 5, Minor: 5, Patch: 68}},
		{"8", flavor.MySQL, flavor.Version{Major: 8}},
		{"8.4.3.7", flavor.MySQL, flavor.Version{Major: 8, Minor: 4, Patch: 3}},
		{"", flavor.MySQL, flavor.Version{}},
		{"x8.4", flavor.MySQL, flavor.Version{}},
	} {
		if got := flavor.Parse(tt.text); got.Flavor != tt.flavor || got.Version != tt.version || got.Text != tt.text {
			t.Errorf("%q: got %+v, want %s %v", tt.text, got, tt.flavor, tt.version)
		}
	}
}

// FuzzParse: a version is never negative, and what it prints as is that version.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"8.4.3", "5.5.5-10.11.19-MariaDB-log", "99999999999999999999.1", "8..4", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := flavor.Parse(text)
		if v := s.Version; v.Major < 0 || v.Minor < 0 || v.Patch < 0 {
			t.Errorf("%q: got %v", text, v)
		}
		if (s.Flavor == flavor.MariaDB) != strings.Contains(strings.ToLower(text), "mariadb") {
			t.Errorf("%q: got %s", text, s.Flavor)
		}
		if again := flavor.Parse(s.Version.String()); again.Version != s.Version {
			t.Errorf("%q: got %v, and %v from its own text", text, s.Version, again.Version)
		}
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	v := flavor.Version{Major: 10, Minor: 4, Patch: 8}
	if got := v.String(); got != "10.4.8" {
		t.Errorf("got %s", got)
	}
	for _, tt := range []struct {
		major, minor, patch int
		want                bool
	}{
		{8, 1, 0, true}, // as text 10.4 would come first
		{10, 4, 8, true},
		{10, 4, 7, true},
		{10, 3, 99, true},
		{9, 9, 99, true},
		{10, 4, 9, false},
		{10, 5, 0, false},
		{11, 0, 0, false},
		{26, 7, 0, false},
	} {
		if got := v.AtLeast(tt.major, tt.minor, tt.patch); got != tt.want {
			t.Errorf("%v at least %d.%d.%d: got %v", v, tt.major, tt.minor, tt.patch, got)
		}
	}
}

func TestFlavor(t *testing.T) {
	t.Parallel()
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		if got, err := flavor.ParseFlavor(strings.ToUpper(f.String())); err != nil || got != f {
			t.Errorf("%s: got %v %v", f, got, err)
		}
		if text, err := f.MarshalText(); err != nil || string(text) != f.String() {
			t.Errorf("%s: marshals as %s %v", f, text, err)
		}
	}
	if got, err := flavor.ParseFlavor("percona"); err == nil || got != flavor.Unknown || got.String() != "unknown" {
		t.Errorf("got %v %v, want unknown and an error", got, err)
	}
}

func TestGrant(t *testing.T) {
	t.Parallel()
	const account = "'u'@'%'"
	for _, tt := range []struct {
		f    flavor.Flavor
		need flavor.Need
		want string
	}{
		{flavor.MySQL, flavor.ReadReplicaStatus, "GRANT REPLICATION CLIENT ON *.* TO 'u'@'%'"},
		{flavor.MySQL, flavor.ReadBinaryLog, "GRANT REPLICATION CLIENT ON *.* TO 'u'@'%'"},
		{flavor.MySQL, flavor.ListReplicas, "GRANT REPLICATION SLAVE ON *.* TO 'u'@'%'"},
		{flavor.MySQL, flavor.ReadPerformanceSchema, "GRANT SELECT ON performance_schema.* TO 'u'@'%'"},
		{flavor.MySQL, flavor.ListTables, "GRANT REFERENCES ON *.* TO 'u'@'%'"},
		{flavor.MariaDB, flavor.ListTables, "GRANT REFERENCES ON *.* TO 'u'@'%'"},
		{flavor.MariaDB, flavor.ReadReplicaStatus, "GRANT SLAVE MONITOR ON *.* TO 'u'@'%'"},
		{flavor.MariaDB, flavor.ReadBinaryLog, "GRANT BINLOG MONITOR ON *.* TO 'u'@'%'"},
		{flavor.MariaDB, flavor.ListReplicas, "GRANT REPLICATION MASTER ADMIN ON *.* TO 'u'@'%'"},
		{flavor.MariaDB, flavor.ReadPerformanceSchema, "GRANT SELECT ON performance_schema.* TO 'u'@'%'"},
	} {
		if got := flavor.Grant(tt.f, tt.need, account); got != tt.want {
			t.Errorf("%s %d: got %s, want %s", tt.f, tt.need, got, tt.want)
		}
	}
	if got := flavor.GrantReplication(account); got != "GRANT REPLICATION SLAVE ON *.* TO 'u'@'%'" {
		t.Errorf("got %s", got)
	}
}
