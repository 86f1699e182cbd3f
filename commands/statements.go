package commands

import (
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

// statementHelp is what classify and route say about their input.
const statementHelp = `Each argument is one text; one with several statements has the class of its strongest part, and
goes to one server, as in the proxy. Without arguments, or with - or --file, many statements are
read and cut as the mysql client does: at ; \g \G or what DELIMITER sets; the body of a stored
program stays whole without DELIMITER too. SET sql_mode and SET NAMES count for what follows.`

// statementFlags say where statements come from and how a server reads them.
func statementFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "file", Usage: "read statements from FILE; - is stdin"},
		enumFlag("flavor", "", "the servers' flavor (default: both; what they read differently goes to the primary)", "mysql", "mariadb"),
		&cli.StringFlag{Name: "server-version", Usage: "the servers' version, as X.Y.Z: it decides executable comments (default: any " +
			"from MySQL 5.7 or MariaDB 10.5 on)"},
		&cli.StringFlag{Name: "sql-mode", Usage: "sql_mode at the start, such as ANSI_QUOTES,NO_BACKSLASH_ESCAPES"},
		&cli.StringFlag{Name: "charset", Usage: "character_set_client at the start (default utf8mb4)"},
		&cli.StringSliceFlag{Name: "harmless", Usage: "NAME or SCHEMA.NAME of a routine that only reads (may be repeated)"},
	}
}

// The oldest versions that are supported, which all servers have that nothing
// is known of.
const (
	oldestMySQL   = 50700
	oldestMariaDB = 100500
)

// statementOptions reads the flags. unknown says that the flags leave the
// servers' version open.
func statementOptions(c *cli.Context) (o route.Options, err error) {
	if text := enum(c, "flavor"); text != "" {
		if o.Flavor, err = flavor.ParseFlavor(text); err != nil {
			return o, usagef("--flavor: %w", err)
		}
	}
	o.Oldest = oldestMySQL
	if o.Flavor == flavor.MariaDB {
		o.Oldest = oldestMariaDB
	}
	if text := c.String("server-version"); text != "" {
		if err := versionOption(&o, text); err != nil {
			return o, err
		}
	}
	if name := c.String("charset"); name != "" {
		charset, ok := sqltoken.ParseCharset(name)
		if !ok {
			return o, usagef("--charset: %q is no character set that a client can have and this program can read", name)
		}
		o.Charset = charset
	}
	if names := c.StringSlice("harmless"); len(names) > 0 {
		o.Harmless = map[string]bool{}
		for _, name := range names {
			o.Harmless[strings.ToLower(name)] = true
		}
	}
	mode := c.String("sql-mode")
	for name := range strings.SplitSeq(mode, ",") {
		if name = strings.ToUpper(strings.TrimSpace(name)); name != "" && !strings.Contains(" "+sqlModes+" ", " "+name+" ") {
			return o, usagef("--sql-mode: no server has a mode %q: write names separated by commas", name)
		}
	}
	o.SetMode(mode)
	return o, nil
}

// sqlModes are those of both families, old ones included.
const sqlModes = "ALLOW_INVALID_DATES ANSI ANSI_QUOTES DB2 EMPTY_STRING_IS_NULL ERROR_FOR_DIVISION_BY_ZERO HIGH_NOT_PRECEDENCE " +
	"IGNORE_BAD_TABLE_OPTIONS IGNORE_SPACE MAXDB MSSQL MYSQL323 MYSQL40 NO_AUTO_CREATE_USER NO_AUTO_VALUE_ON_ZERO " +
	"NO_BACKSLASH_ESCAPES NO_DIR_IN_CREATE NO_ENGINE_SUBSTITUTION NO_FIELD_OPTIONS NO_KEY_OPTIONS NO_TABLE_OPTIONS " +
	"NO_UNSIGNED_SUBTRACTION NO_ZERO_DATE NO_ZERO_IN_DATE ONLY_FULL_GROUP_BY ORACLE PAD_CHAR_TO_FULL_LENGTH PIPES_AS_CONCAT " +
	"POSTGRESQL REAL_AS_FLOAT SIMULTANEOUS_ASSIGNMENT STRICT_ALL_TABLES STRICT_TRANS_TABLES TIME_ROUND_FRACTIONAL " +
	"TIME_TRUNCATE_FRACTIONAL TRADITIONAL"

// versionOption reads 8.0.36 and 10.11.19-MariaDB. Numbers alone do not tell
// the flavor.
func versionOption(o *route.Options, text string) error {
	server := flavor.Parse(text)
	switch {
	case server.Version == flavor.Version{}:
		return usagef("--server-version: %q is no version: write X.Y.Z", text)
	case server.Flavor == flavor.MariaDB && o.Flavor == flavor.MySQL:
		return usagef("--server-version %s is not --flavor mysql", text)
	case server.Flavor == flavor.MariaDB:
		o.Flavor = flavor.MariaDB
	case o.Flavor == flavor.Unknown:
		return usagef("--server-version needs --flavor mysql or --flavor mariadb")
	}
	o.Oldest = versionNumber(server.Version)
	o.Newest = o.Oldest
	return nil
}

// versionNumber is how executable comments spell a version: 90704.
func versionNumber(v flavor.Version) int { return v.Major*10000 + v.Minor*100 + v.Patch }

// sqlText is one text to classify.
type sqlText struct {
	text string
	line int // in its file, 0 of an argument
}

// statementTexts gives out the arguments, or the statements of a file or pipe,
// which are cut as the options say at that moment.
func statementTexts(env *environment, c *cli.Context, o *sqltoken.Options) (iter.Seq2[sqlText, error], error) {
	arguments, file := c.Args().Slice(), c.String("file")
	switch {
	case file != "" && len(arguments) > 0:
		return nil, usagef("--file and SQL arguments exclude each other")
	case file == "" && len(arguments) == 1 && arguments[0] == "-":
		file = "-"
	case file == "" && len(arguments) == 0:
		if env.stdinTerminal {
			return nil, usagef("give SQL texts, --file FILE, or - to type statements here")
		}
		file = "-"
	}
	if file == "" {
		return func(yield func(sqlText, error) bool) {
			for _, text := range arguments {
				if !yield(sqlText{text: text}, nil) {
					return
				}
			}
		}, nil
	}
	return fileTexts(env, c, file, o)
}

func fileTexts(env *environment, c *cli.Context, name string, o *sqltoken.Options) (iter.Seq2[sqlText, error], error) {
	var r io.Reader = env.stdin
	close := func() {}
	if name == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, usagef("%w", err)
		}
		r, close = f, func() { f.Close() }
	}
	return func(yield func(sqlText, error) bool) {
		defer close()
		for p, err := range sqltoken.Split(r, o) {
			switch {
			case err != nil:
				yield(sqlText{}, usagef("%s: %w", name, err))
				return
			case p.Command:
				fmt.Fprintf(env.stderr, "mysqlrw %s: %s line %d: %q is a command of the mysql client and is left out\n",
					c.Command.Name, name, p.Line, p.Text)
			case !yield(sqlText{p.Text, p.Line}, nil):
				return
			}
		}
	}, nil
}

// tableWidth is the width of lines for people where nothing else is known.
const tableWidth = 100

func lineWidth(env *environment) int {
	if env.width > 0 {
		return env.width
	}
	return tableWidth
}

// oneLine is a statement for a line of a table: without the comments in front
// of it and without what a terminal would not show as it is.
func oneLine(text string, o *sqltoken.Options) string {
	lex := sqltoken.New(text, o)
	t := lex.Next()
	for t.Kind == sqltoken.Comment || t.Kind == sqltoken.Hint {
		t = lex.Next()
	}
	if t.Kind != sqltoken.EOF {
		text = text[t.Start:]
	}
	if len(text) > 4*1024 { // no terminal is as wide
		text = text[:4*1024]
	}
	shown := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, text)
	return strings.Join(strings.Fields(shown), " ")
}

// shorten cuts a text to a number of characters.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	runes := []rune(text)
	return strings.TrimRight(string(runes[:max(width-1, 0)]), " ") + "…"
}

// shortenMiddle cuts as shorten does and keeps both ends: of a GTID set the last
// number tells most.
func shortenMiddle(text string, width int) string {
	const head = 8
	if len(text) <= width || width <= head+1 {
		return shorten(text, width)
	}
	return text[:head] + "…" + text[len(text)-(width-head-1):]
}

// noted is a row of a table with lines below it that belong to it.
type noted struct {
	cells []cell
	notes []string
	block string // lines that are ready to be printed below the notes
	// words are shown in a note of their own, with what stands around them, if
	// the cut leaves them out.
	words, around string
}

// flexible is the column that is cut so that a row fits the line.
type flexible struct {
	column int
	cut    func(string, int) string
}

// printNoted prints a table with the notes below their rows.
func (p *printer) printNoted(header []string, rows []noted, f flexible, width int) error {
	cells := make([][]cell, len(rows))
	rest := 0
	for i := range header {
		widest := utf8.RuneCountInString(header[i])
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row.cells[i].text))
		}
		if i != f.column {
			rest += widest + 2
		}
	}
	for i, row := range rows {
		cells[i] = row.cells
		whole := row.cells[f.column].text
		cells[i][f.column].text = f.cut(whole, max(width-rest, leastStatement))
		if strings.Contains(whole, row.words) && !strings.Contains(cells[i][f.column].text, row.words) {
			rows[i].notes = append([]string{row.around}, row.notes...)
		}
	}
	var table strings.Builder
	inner := *p
	inner.w = &table
	if err := inner.printTable(header, cells); err != nil {
		return err
	}
	var out strings.Builder
	at := -1 // the header's line
	for line := range strings.Lines(table.String()) {
		const reset = "\x1b[0m\n" // behind blanks that would begin a new line of the terminal
		if coloured, ok := strings.CutSuffix(line, reset); ok {
			line = strings.TrimRight(coloured, " ") + reset
		}
		out.WriteString(line)
		if at >= 0 && at < len(rows) {
			p.notes(&out, rows[at].notes, width)
			out.WriteString(rows[at].block)
		}
		at++
	}
	_, err := io.WriteString(p.w, out.String())
	return err
}

// leastStatement is how much of a statement is shown however narrow the line.
const leastStatement = 12

func (p *printer) notes(out *strings.Builder, notes []string, width int) {
	for _, note := range notes {
		indent := "    "
		for _, line := range wrap(note, width-6) {
			out.WriteString(p.paint(cell{indent + line, faintTone}) + "\n")
			indent = "      "
		}
	}
}

// legend is a list of words with what they mean, each once.
type legend struct {
	words [][2]string
	seen  map[string]bool
}

func (l *legend) add(word, meaning string) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	if word == "" || meaning == "" || l.seen[word+meaning] { // a reason and a hold may have one name
		return
	}
	l.seen[word+meaning] = true
	l.words = append(l.words, [2]string{word, meaning})
}

func (p *printer) printLegend(l *legend, width int) error {
	left := 0
	for _, w := range l.words {
		left = max(left, len(w[0]))
	}
	var out strings.Builder
	for _, w := range l.words {
		word := w[0]
		for _, line := range wrap(w[1], width-left-2) {
			fmt.Fprintf(&out, "%-*s  %s\n", left, word, line)
			word = ""
		}
	}
	if out.Len() > 0 {
		fmt.Fprintln(p.w)
	}
	_, err := io.WriteString(p.w, out.String())
	return err
}
