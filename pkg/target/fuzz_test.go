package target

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// FuzzParse: no panic; the error holds nothing of the argument that looks
// like a password; the name of a TCP target means the same address.
func FuzzParse(f *testing.F) {
	for _, arg := range []string{
		"", "db1", "db1:3307", "[::1]:3307", "::1", "u@db1:1", "localhost", "localhost:3306", "/run/m.sock", "./m.sock",
		"mysql://u:p@db1:3307/d?ssl-mode=REQUIRED", "mysql://u@[fe80::1%25eth0]/", "mysql://:1", "mysql://localhost/?socket=x",
		"u:p@tcp(db1:3307)/d?tls=skip-verify", "u:p@unix(/s)/", "/d", "@tcp(x)/?strict=1", "tcp(x)/?strict=1", "postgres://x",
	} {
		f.Add(arg)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		got, err := fake().parse(arg, Settings{Host: "db9", Socket: "/def"})
		if err != nil {
			return
		}
		if _, err := got.Config(); err != nil {
			if !strings.Contains(arg, "ssl") { // files of certificates that do not exist
				t.Fatalf("%q: %v", arg, err)
			}
			return
		}
		if got.to.network != "tcp" {
			return
		}
		again, err := fake().parse(got.Name, Settings{Host: "db9", Socket: "/def"})
		if err != nil || again.Name != got.Name || again.to.address != got.to.address || again.to.host != got.to.host {
			t.Fatalf("%q: name %q reads as %q, %v", arg, got.Name, again.Name, err)
		}
	})
}

// FuzzParse_password: in no form, well written or not, does a password get
// into the name, the error or what fmt prints.
func FuzzParse_password(f *testing.F) {
	f.Add("root", "p", "db1", "3307", "d")
	f.Add("a@b", "p/?#@:w%", "[::1]", "", "")
	f.Add("", "/(x)@", "/s", "x", "?tls=true")
	f.Fuzz(func(t *testing.T, user, password, host, port, rest string) {
		const mark = "S3cr3tMark"
		if strings.Contains(user+host+port+rest, mark) {
			return
		}
		raw := password + mark
		escaped := url.UserPassword(user, raw).String()
		for _, arg := range []string{
			fmt.Sprintf("mysql://%s@%s:%s/%s", escaped, host, port, rest),
			fmt.Sprintf("mysql://%s:%s@%s:%s/%s", user, raw, host, port, rest),
			fmt.Sprintf("%s:%s@tcp(%s:%s)/%s", user, raw, host, port, rest),
			fmt.Sprintf("%s:%s@unix(%s)/%s", user, raw, host, rest),
			fmt.Sprintf("%s:%s@%s:%s", user, raw, host, port),
			fmt.Sprintf("%s:%s", user, raw),
		} {
			got, err := fake().parse(arg, Settings{Password: mark})
			// A path is printed as it is, and so is a host without a user: with
			// "/" or "." in front the argument is a path by its form.
			if strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, ".") {
				continue
			}
			if text := fmt.Sprintf("%s|%v|%+v|%#v|%v", got.Name, got, got, got, err); strings.Contains(text, mark) {
				t.Fatalf("%q shows the password: %s", arg, text)
			}
		}
		if got, err := fake().parse("mysql://"+escaped+"@db1:1/", Settings{}); err != nil || got.to.password() != raw || got.Name != "db1:1" {
			t.Fatalf("%q: got %q for %s, %v", escaped, got.to.password(), got.Name, err)
		}
	})
}
