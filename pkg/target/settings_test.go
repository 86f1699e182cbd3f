package target_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/target"
)

func TestSettings_Overlay(t *testing.T) {
	t.Parallel()
	files := target.Settings{
		Host: "db1", Port: 1, Socket: "/s", Protocol: target.ProtocolTCP, User: "u", Password: "p", Database: "d",
		SSLMode: target.SSLRequired, SSLCA: "/ca", SSLCAPath: "/cas", SSLCert: "/c", SSLKey: "/k", ConnectTimeout: time.Second,
	}
	if got := files.Overlay(target.Settings{}); got != files {
		t.Errorf("nothing on top: got %+v", got)
	}
	if got := (target.Settings{}).Overlay(files); got != files {
		t.Errorf("on top of nothing: got %+v", got)
	}
	flags := target.Settings{
		Host: "db2", Port: 2, Socket: "/t", Protocol: target.ProtocolSocket, User: "v", Password: "q", Database: "e",
		SSLMode: target.SSLDisabled, SSLCA: "/cb", SSLCAPath: "/cbs", SSLCert: "/d", SSLKey: "/l", ConnectTimeout: time.Minute,
	}
	if got := files.Overlay(flags); got != flags {
		t.Errorf("everything on top: got %+v", got)
	}

	ask := target.Settings{AskPassword: true}
	empty := target.Settings{PasswordSet: true}
	given := target.Settings{Password: "p"}
	tests := []struct{ below, above, want target.Settings }{
		{given, ask, ask},
		{given, empty, empty},
		{ask, given, given},
		{ask, empty, empty},
		{empty, ask, ask},
		{ask, target.Settings{}, ask},
		{empty, target.Settings{}, empty},
	}
	for _, tt := range tests {
		if got := tt.below.Overlay(tt.above); got != tt.want {
			t.Errorf("%+v under %+v: got %+v, want %+v", tt.below, tt.above, got, tt.want)
		}
	}
}

func TestParsePort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"1": 1, "3306": 3306, "65535": 65535, "03306": 3306} {
		if got, err := target.ParsePort(text); got != want || err != nil {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "65536", "-1", "+1", "1.0", "0x1", " 1", "1_0", "hunter2"} {
		if got, err := target.ParsePort(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: got %d, %v, want an error", text, got, err)
		}
	}
}

func TestParseSSLMode(t *testing.T) {
	t.Parallel()
	tests := map[string]target.SSLMode{
		"DISABLED": target.SSLDisabled, "preferred": target.SSLPreferred, "Required": target.SSLRequired,
		"verify_ca": target.SSLVerifyCA, "VERIFY-IDENTITY": target.SSLVerifyIdentity,
	}
	for text, want := range tests {
		got, err := target.ParseSSLMode(text)
		if got != want || err != nil {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
		if again, err := target.ParseSSLMode(got.String()); again != got || err != nil {
			t.Errorf("%v does not read its own name: %v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "unset", "REQUIRE", "1", "VERIFY"} {
		if got, err := target.ParseSSLMode(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	if got, want := target.SSLMode(99).String(), "unset"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	const pw = "hunter2"
	settings := target.Settings{User: "u", Password: pw}
	tgt, err := target.Parse("mysql://u:"+pw+"@db1/", settings)
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := target.Parse("u:"+pw+"@tcp(db1)/", settings)
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct{ t []target.Target }{[]target.Target{tgt, dsn}}
	for _, x := range []any{settings, &settings, settings.Password, &settings.Password, tgt, &tgt, dsn, hidden} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(format, x)
			if strings.Contains(text, pw) || strings.Contains(text, fmt.Sprintf("%x", pw)) {
				t.Errorf("%s of %T: %s", format, x, text)
			}
		}
		data, err := json.Marshal(x)
		if err != nil || bytes.Contains(data, []byte(pw)) {
			t.Errorf("JSON of %T: %s, %v", x, data, err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "x", x)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "x", x)
		if strings.Contains(log.String(), pw) {
			t.Errorf("log of %T: %s", x, log.String())
		}
	}
	if got := settings.Password.Reveal(); got != pw {
		t.Errorf("got %q, want %q", got, pw)
	}
	if got, want := fmt.Sprintf("%s %v %#v", settings.Password, tgt, dsn), "*** db1:3306 db1:3306"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
