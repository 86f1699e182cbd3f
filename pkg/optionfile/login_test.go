package optionfile

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// encodeLogin writes lines as mysql_config_editor does.
func encodeLogin(header [loginHeader + loginKey]byte, lines []string) []byte {
	var key [16]byte
	for i, b := range header[loginHeader:] {
		key[i%len(key)] ^= b
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // not with a key of 16 bytes
	}
	data := append([]byte(nil), header[:]...)
	for _, line := range lines {
		pad := aes.BlockSize - len(line)%aes.BlockSize
		plain := append([]byte(line), bytes.Repeat([]byte{byte(pad)}, pad)...)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(plain)))
		for i := 0; i < len(plain); i += aes.BlockSize {
			data = append(data, make([]byte, aes.BlockSize)...)
			block.Encrypt(data[len(data)-aes.BlockSize:], plain[i:])
		}
	}
	return data
}

// testHeader is a fixed key with the four unused bytes.
var testHeader = [loginHeader + loginKey]byte{4: 3, 10, 8, 6, 3, 13, 19, 26, 25, 28, 11, 18, 24, 18, 19, 26, 12, 10, 31, 10}

// loginIn writes a login path file that only its owner can use.
func loginIn(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "login.cnf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// text lists the options as my_print_defaults does.
func text(res Result) string {
	var b strings.Builder
	for _, o := range res.options {
		b.WriteString("--" + o.Name)
		if value, ok := o.Value(); ok {
			b.WriteString("=" + value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestRead_loginPath reads a file that mysql_config_editor 9.7.4 has written
// and wants what my_print_defaults 9.7.4 has printed of it.
func TestRead_loginPath(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/login.cnf")
	if err != nil {
		t.Fatal(err)
	}
	path := loginIn(t, data)
	const (
		client  = "--user=root\n--password=plain\n--host=127.0.0.1\n"
		mysqlrw = "--user=rw\n--password=p#w \"q\"   'x' é\n--port=3307\n"
		prod    = "--user=prod user\n--password==x\n--host=db#1\n--socket=/tmp/a b.sock\n"
		suffix  = "--user=suffixed\n--password=\\\n"
	)
	tests := []struct {
		name    string
		options Options
		want    string
		warning string
	}{
		{"client alone", Options{Groups: []string{"client"}}, client, ""},
		{"no defaults", Options{NoDefaults: true, Groups: []string{"client"}}, client, ""},
		{"groups", Options{Groups: []string{"mysqlrw", "client"}}, client + mysqlrw, ""},
		{"login path", Options{Groups: []string{"client"}, LoginPath: "prod"}, client + prod, ""},
		{"letter case", Options{Groups: []string{"CLIENT"}, LoginPath: "Prod"}, client + prod, ""},
		{"suffix", Options{Groups: []string{"client"}, LoginPath: "prod", GroupSuffix: "_s"}, client + prod + suffix, ""},
		{"suffix only", Options{LoginPath: "pro", GroupSuffix: "d_s"}, suffix, ""},
		{"unknown", Options{Groups: []string{"client"}, LoginPath: "nope"}, client, `has no login path "nope"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.options.LoginFile, tt.options.SystemFiles = path, []string{}
			res, err := Read(tt.options)
			if got := text(res); err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			checkWarnings(t, res, tt.warning)
		})
	}
}

// checkWarnings wants one warning that contains the text, or none for "".
func checkWarnings(t *testing.T, res Result, want string) {
	t.Helper()
	if want == "" && len(res.Warnings) == 0 {
		return
	}
	if want == "" || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], want) {
		t.Errorf("got warnings %q, want %q", res.Warnings, want)
	}
}

// TestRead_loginOverFile: the login path file wins over every option file,
// and in it the later entry, not the login path.
func TestRead_loginOverFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, data := range map[string][]byte{
		".my.cnf":      []byte("[client]\nuser=file\nport=1\n[prod]\nport=2\n"),
		".mylogin.cnf": encodeLogin(testHeader, []string{"[prod]\n", "user = prod\n", "# not = read\n", "[client]\n", "user = client#1\n"}),
	} {
		if err := os.WriteFile(filepath.Join(home, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Home: home, SystemFiles: []string{}, Groups: []string{"client"}, LoginPath: "prod"}
	res, err := Read(o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(res), "--user=file\n--port=1\n--user=prod\n--user=client#1\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	checkWarnings(t, res, "")
	user, _ := res.Lookup("user")
	if got, want := user.Source(), filepath.Join(home, ".mylogin.cnf")+":5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRead_loginFileLeftOut(t *testing.T) {
	t.Parallel()
	full := encodeLogin(testHeader, []string{"[client]\n", "user = a\n", "password = \"hunter2\"\n"})
	tests := []struct {
		name    string
		data    []byte
		mode    os.FileMode
		want    string
		warning string
	}{
		{"whole", full, 0o600, "--user=a\n--password=hunter2\n", ""},
		{"read-only", full, 0o400, "--user=a\n--password=hunter2\n", ""},
		{"group reads", full, 0o640, "", "only its owner"},
		{"others read", full, 0o604, "", "only its owner"},
		{"executable", full, 0o700, "", "only its owner"},
		{"empty", nil, 0o600, "", "shorter than its key"},
		{"key cut", full[:20], 0o600, "", "shorter than its key"},
		{"no entries", full[:24], 0o600, "", ""},
		{"length cut", full[:26], 0o600, "", "entry 1: file ends"},
		{"entry cut", full[:30], 0o600, "", "entry 1: file ends"},
		{"last entry cut", full[:len(full)-1], 0o600, "--user=a\n", "entry 3: file ends"},
		{"length not of blocks", replaced(full, 24, 15), 0o600, "", "entry 1: its length"},
		{"length zero", replaced(full, 24, 0), 0o600, "", "entry 1: its length"},
		{"length negative", replaced(full, 27, 0xff), 0o600, "", "entry 1: file ends"},
		{"wrong key", replaced(full, 5, 99), 0o600, "", "entry 1: it does not decrypt"},
		{"byte changed", replaced(full, len(full)-3, full[len(full)-3]^1), 0o600, "--user=a\n", "entry 3: it does not decrypt"},
		{"NUL", encodeLogin(testHeader, []string{"[client]\n", "user=a\x00b"}), 0o600, "", "entry 2: NUL"},
		{"include", encodeLogin(testHeader, []string{"[client]\n", "!include /etc/my.cnf\n"}), 0o600, "", "not followed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" && tt.mode != 0o600 {
				t.Skip("no permission bits")
			}
			path := loginIn(t, tt.data)
			if err := os.Chmod(path, tt.mode); err != nil {
				t.Fatal(err)
			}
			res, err := Read(Options{LoginFile: path, SystemFiles: []string{}, Groups: []string{"client"}})
			if got := text(res); err != nil || got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
			checkWarnings(t, res, tt.warning)
		})
	}
}

// replaced is data with another byte at i.
func replaced(data []byte, i int, b byte) []byte {
	data = append([]byte(nil), data...)
	data[i] = b
	return data
}

func TestRead_loginMalformed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		lines []string
		want  error
	}{
		{[]string{"user = a\n"}, errNoGroup},
		{[]string{"[client]\n", "[client\n"}, errOpenGroup},
	}
	for _, tt := range tests {
		path := loginIn(t, encodeLogin(testHeader, tt.lines))
		_, err := Read(Options{LoginFile: path, SystemFiles: []string{}})
		if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%q: got %v, want %v", tt.lines, err, tt.want)
		}
	}
}

func TestRead_loginMissing(t *testing.T) {
	t.Parallel()
	o := Options{LoginFile: filepath.Join(t.TempDir(), "none"), SystemFiles: []string{}}
	res, err := Read(o)
	if err != nil {
		t.Fatal(err)
	}
	checkWarnings(t, res, "")
	o.LoginPath = "prod"
	if res, err = Read(o); err != nil {
		t.Fatal(err)
	}
	checkWarnings(t, res, "none: no such file")
}
