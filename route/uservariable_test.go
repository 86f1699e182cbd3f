package route

import (
	"slices"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

func TestUserVariables(t *testing.T) {
	mysql := Options{Options: sqltoken.Options{Flavor: flavor.MySQL}}
	mariadb := Options{Options: sqltoken.Options{Flavor: flavor.MariaDB}}
	raw := mysql
	raw.NoBackslashEscapes = true
	ansi := mysql
	ansi.ANSIQuotes = true
	for _, c := range []struct {
		text    string
		o       *Options
		client  string // utf8mb4 if ""
		collate string // utf8mb4_bin if ""
		want    []string
	}{
		{text: "SET @a = 1", want: []string{"a", "1"}},
		{text: "set @A := -1.5e3 , @`b.c` = +7, @'d'=0x41, @\"e\"=b'01', @f=X'4142'", want: []string{
			"a", "-1.5e3", "b.c", "+7", "d", "0x41", "e", "b'01'", "f", "X'4142'",
		}},
		{text: "SET @a=true,@b=NULL,@c=False;", want: []string{"a", "TRUE", "b", "NULL", "c", "FALSE"}},
		{text: "SET @a='it''s', @b=\"it's\"", want: []string{
			"a", "_utf8mb4 X'69742773' COLLATE utf8mb4_bin", "b", "_utf8mb4 X'69742773' COLLATE utf8mb4_bin",
		}},
		{text: `SET @a='\0\b\n\r\t\Z\\\'\%\_\x'`, want: []string{"a", "_utf8mb4 X'00080a0d091a5c275c255c5f78' COLLATE utf8mb4_bin"}},
		{text: `SET @a='\n'`, o: &raw, want: []string{"a", "_utf8mb4 X'5c6e' COLLATE utf8mb4_bin"}},
		{text: "SET @a='é'", want: []string{"a", "_utf8mb4 X'c3a9' COLLATE utf8mb4_bin"}},
		{text: "SET @a='\xe9'", client: "latin1", collate: "latin1_bin", want: []string{"a", "_latin1 X'e9' COLLATE latin1_bin"}},
		{text: "SET @a='x'", client: "utf8", collate: "utf8mb3_bin", want: []string{"a", "_utf8mb3 X'78' COLLATE utf8mb3_bin"}},
		{text: "SET @a='x'", client: "latin1", want: []string{"a", "CONVERT(_latin1 X'78' USING utf8mb4) COLLATE utf8mb4_bin"}},
		{text: "SET @a='x'", client: "binary", collate: "binary", want: []string{"a", "_binary X'78'"}},
		{text: "SET sql_mode=CONCAT(@@sql_mode, ',ANSI'), @a=1, time_zone=@tz, NAMES latin1", want: []string{"a", "1"}},
		{text: "SET /* why */ @a=1 # so", want: []string{"a", "1"}},
		{text: "SET @a=''", want: []string{"a", "_utf8mb4 X'' COLLATE utf8mb4_bin"}},

		{text: "SET @a=''", o: &mariadb},
		{text: `SET @a="x"`, o: &ansi},
		{text: "SET @a=1+1"},
		{text: "SET @a=- -1"},
		{text: "SET @a=-'1'"},
		{text: "SET @a='x' 'y'"},
		{text: "SET @a=_latin1'x'"},
		{text: "SET @a=N'x'"},
		{text: "SET @a='x' COLLATE utf8mb4_bin"},
		{text: "SET @a=@b"},
		{text: "SET @a=NOW()"},
		{text: "SET @a=(SELECT 1)"},
		{text: "SET @a=ON"},
		{text: "SET @a=1, @b=@a"},
		{text: "SET @a=1, sql_mode=(@b:='ANSI')"},
		{text: "SET @a=1, sort_buffer_size=(SELECT 1)"},
		{text: "SET @`é`=1"},
		{text: "SET @`a `=1"},
		{text: "SET @``=1"},
		{text: "SET @`a-b`=1"},
		{text: "SET @a='\xff'"},
		{text: "SET @a='😀'", client: "utf8mb3", collate: "utf8mb3_bin"},
		{text: "SET @a='\xe9'", client: "gbk", collate: "gbk_bin"},
		{text: "SET @a='x"},
		{text: "SET @a=/*!80000 1, @b= */ 2"},
		{text: "SET @a=1; SET @b=2"},
		{text: "SET @a"},
		{text: "SET"},
		{text: "SET sql_mode='ANSI'"},
		{text: "SET STATEMENT sql_mode='' FOR SELECT 1", o: &mariadb},
		{text: "SELECT @a:=1"},
		{text: ""},
	} {
		o, client, collate := c.o, c.client, c.collate
		if o == nil {
			o = &mysql
		}
		if client == "" {
			client = "utf8mb4"
		}
		if collate == "" {
			collate = "utf8mb4_bin"
		}
		names, literals, ok := UserVariables(c.text, o, client, collate)
		var got []string
		for i := range names {
			got = append(got, names[i], literals[i])
		}
		if !slices.Equal(got, c.want) || ok != (c.want != nil) {
			t.Errorf("%s: %q, %v, want %q", c.text, got, ok, c.want)
		}
	}
}
