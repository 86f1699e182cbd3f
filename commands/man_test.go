package commands

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/config"
)

const manFolder = "../packaging/man"

// manDate stands in the pages: when what stands in this file was last changed.
const manDate = "2026-11-30"

// TestManual: the manual pages are made of the commands, as their help is, and of the configuration's
// keys; there is one for each command, and no other.
func TestManual(t *testing.T) {
	t.Parallel()
	app := testApp()
	pages := map[string]string{"mysqlrw.1": programPage(app), "mysqlrw.toml.5": configPage()}
	for _, c := range app.Commands {
		if !c.Hidden {
			pages["mysqlrw-"+c.Name+".1"] = commandPage(c)
		}
	}
	update := flag.Lookup("update-docs")
	present, err := filepath.Glob(manFolder + "/*.[0-9]")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range present {
		if pages[filepath.Base(path)] == "" {
			t.Errorf("%s is no command's page", path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		path := filepath.Join(manFolder, name)
		data, err := os.ReadFile(path)
		if err == nil && string(data) == pages[name] {
			continue
		}
		if update == nil || update.Value.String() != "true" {
			t.Errorf("%s is not as the commands are: go test ./commands -run TestManual -update-docs", path)
		} else if err := os.WriteFile(path, []byte(pages[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// manEnvironment are the variables that the program reads.
var manEnvironment = [][2]string{
	{"MYSQL_PWD", "password, if no flag and no option file has one"},
	{"MYSQL_HOST", "host, in the same way"},
	{"MYSQL_TCP_PORT", "port, in the same way"},
	{"MYSQL_UNIX_PORT", "path of the socket, in the same way"},
	{"MYSQL_HOME", "folder with a my.cnf that is read after those of the system"},
	{"MYSQL_GROUP_SUFFIX", "as --defaults-group-suffix"},
	{"MYSQL_TEST_LOGIN_FILE", "file to read in place of ~/.mylogin.cnf"},
	{"MYSQLRW_MONITOR_PASSWORD", "serve without --config: password of the account that watches the servers"},
	{"MYSQLRW_ADMIN", "ctl: URL of the proxy"},
	{"MYSQLRW_ADMIN_TOKEN", "ctl: token for what changes something; serve without --config: the token that it takes"},
	{"MYSQLRW_CACHE", "folder of sandbox and demo for servers that were installed; without it ~/.cache/mysqlrw"},
	{"NO_COLOR", "tables have no colour, whatever its value is"},
	{"NOTIFY_SOCKET", "serve: where systemd is told of readiness, reload and end; see sd_notify(3)"},
	{"WATCHDOG_USEC", "serve: how long systemd waits for a sign of life; see sd_watchdog_enabled(3)"},
	{"WATCHDOG_PID", "serve: which process that is meant for"},
}

// TestManual_environment: the pages have each variable that the commands read, and no other.
func TestManual_environment(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range regexp.MustCompile(`"([A-Z]+(?:_[A-Z]+)+)"`).FindAllStringSubmatch(string(text), -1) {
			read[at[1]] = true
		}
	}
	for _, variable := range manEnvironment {
		if !read[variable[0]] {
			t.Errorf("%s is read nowhere", variable[0])
		}
		delete(read, variable[0])
	}
	for _, word := range slices.Sorted(maps.Keys(read)) {
		if !strings.HasPrefix(word, "VERIFY_") { // of --ssl-mode
			t.Errorf("the variable %s is not in the pages", word)
		}
	}
}

// page is a manual page, in the macros of man(7).
type page struct{ strings.Builder }

func newPage(name string, section int, about string) *page {
	p := &page{}
	p.linef(`.\" Written by go test ./commands -run TestManual -update-docs. DO NOT EDIT.`)
	p.linef(`.TH %s %d %s mysqlrw "mysqlrw manual"`, roff(strings.ToUpper(name)), section, manDate)
	p.linef(".nh\n.ad l\n.SH NAME\n%s \\- %s", roff(name), roff(about))
	return p
}

func (p *page) linef(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// roff is a text that stands for itself: dashes and quotes too, so that what is copied out of a page
// works.
func roff(text string) string {
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == '\\':
			out.WriteString(`\e`)
		case r == '-':
			out.WriteString(`\-`)
		case r == '\'':
			out.WriteString(`\(aq`)
		case r == '"':
			out.WriteString(`\(dq`)
		case r == '`':
			out.WriteString(`\(ga`)
		case r == '^':
			out.WriteString(`\(ha`)
		case r == '~':
			out.WriteString(`\(ti`)
		case r == '.' && (i == 0 || text[i-1] == '\n'):
			out.WriteString(`\&.`)
		case r > '~':
			fmt.Fprintf(&out, `\[u%04X]`, r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

var flagInText = regexp.MustCompile(`(^|[\s(])(-(?:-[a-z][a-z-]*|[a-zA-Z]\b))`)

// prose is roff with flags in bold.
func prose(text string) string {
	return strings.NewReplacer("\x01", `\fB`, "\x02", `\fR`).Replace(roff(flagInText.ReplaceAllString(text, "${1}\x01${2}\x02")))
}

// paragraphs writes a text whose paragraphs have an empty line between them.
func (p *page) paragraphs(text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			p.linef(".PP")
		}
		p.linef("%s", prose(part))
	}
}

// item writes a term, which is roff, and what it means.
func (p *page) item(term, about string) { p.linef(".TP\n%s\n%s", term, prose(about)) }

// literal writes lines as they are.
func (p *page) literal(text string) {
	p.linef(".RS 4\n.nf\n%s\n.fi\n.RE", roff(strings.TrimSpace(text)))
}

func (p *page) seeAlso(names ...string) {
	p.linef(".SH SEE ALSO")
	for i, name := range names {
		title, section, _ := strings.Cut(name, "(")
		if i < len(names)-1 {
			section += " ,"
		}
		p.linef(".BR %s (%s", roff(title), section)
	}
	p.linef(".PP\nThe documents named docs/... are at https://github.com/mysqlrw/mysqlrw, and in /usr/share/doc/mysqlrw\nwhere a package has installed them.")
}

func programPage(app *cli.App) string {
	p := newPage(app.Name, 1, app.Usage)
	p.linef(".SH SYNOPSIS\n.B mysqlrw\n.I COMMAND\n[\\fIflags\\fR] [\\fIarguments\\fR]\n.br\n.B mysqlrw\n.I COMMAND\n.B \\-\\-help")
	p.linef(".SH DESCRIPTION")
	p.paragraphs(`mysqlrw tells how far behind the replicas of MySQL and MariaDB are, waits until they have what was
written, says where a statement may run and why, and is a proxy that sends writes to the primary and reads to
replicas that have what a read must see.

Each command has a page of its own: mysqlrw-lag(1) is that of mysqlrw lag.`)
	p.linef(".SH COMMANDS")
	also := []string{"mysqlrw.toml(5)"}
	for _, c := range app.Commands {
		if !c.Hidden {
			p.item(`\fB`+roff(c.Name)+`\fR`, c.Usage)
			also = append(also, "mysqlrw-"+c.Name+"(1)")
		}
	}
	p.linef(".SH OPTIONS")
	p.paragraphs(`Flags may stand anywhere behind the command; an unknown one is an error. A duration is 500ms, 5s or 1m30s; a
bare number is one of seconds. A target is host[:port], user@host:port, the path of a socket, a mysql:// URL or a DSN
of go-sql-driver. Accounts and passwords are found as the mysql client finds them: flags, option files (groups
[client] and [mysqlrw]), ~/.mylogin.cnf, the environment.`)
	p.linef(".SH EXIT STATUS")
	for _, code := range [][2]string{
		{fmt.Sprint(exitYes), "yes, or done"},
		{fmt.Sprint(exitNo), "no: over the limit, not contained, not reached in time"},
		{fmt.Sprint(exitUsage), "usage, configuration or malformed input"},
		{fmt.Sprint(exitUnknown), "cannot tell: unreachable, replication stopped, no privilege, unknown lag"},
		{fmt.Sprint(exitInt), "interrupted by SIGINT"},
		{fmt.Sprint(exitTerm), "terminated by SIGTERM"},
	} {
		p.item(`\fB`+code[0]+`\fR`, code[1])
	}
	p.linef(".PP\n%s", prose("lag with --nagios has the codes of Nagios. Results go to stdout, everything else to stderr."))
	p.linef(".SH ENVIRONMENT")
	for _, variable := range manEnvironment {
		p.item(`\fB`+variable[0]+`\fR`, variable[1])
	}
	p.linef(".SH FILES")
	for _, file := range [][2]string{
		{"/etc/my.cnf, /etc/mysql/my.cnf, ~/.my.cnf", "option files"},
		{"~/.mylogin.cnf", "accounts that mysql_config_editor has written"},
		{"/etc/mysqlrw/mysqlrw.toml", "configuration of the proxy, where a package has installed it; see mysqlrw.toml(5)"},
		{"~/.cache/mysqlrw", "servers that sandbox has installed"},
	} {
		p.item(`\fI`+roff(file[0])+`\fR`, file[1])
	}
	p.seeAlso(also...)
	return p.String()
}

func commandPage(c *cli.Command) string {
	name := "mysqlrw-" + c.Name
	p := newPage(name, 1, c.Usage)
	leaves := c.Subcommands
	p.linef(".SH SYNOPSIS")
	if len(leaves) == 0 {
		p.linef("%s", synopsis(c.Name, c))
	}
	for i, sub := range leaves {
		if i > 0 {
			p.linef(".br")
		}
		p.linef("%s", synopsis(c.Name+" "+sub.Name, sub))
	}
	about, codes, hasCodes := strings.Cut(c.Description, "Exit codes: ")
	if about = strings.TrimSpace(about); about != "" {
		p.linef(".SH DESCRIPTION")
		p.paragraphs(about)
	}
	if len(leaves) > 0 {
		p.linef(".SH SUBCOMMANDS")
	}
	for _, sub := range leaves {
		p.item(`\fB`+roff(sub.Name)+`\fR `+roff(sub.ArgsUsage), sub.Usage)
	}
	p.options(c)
	p.linef(".SH EXIT STATUS")
	if hasCodes {
		p.linef("%s\n.PP", prose(codes))
	}
	p.linef("All codes are in\n.BR mysqlrw (1).")
	p.linef(".SH EXAMPLES")
	if len(leaves) == 0 {
		p.literal(c.UsageText)
	}
	for i, sub := range leaves {
		if i > 0 {
			p.linef(".PP")
		}
		p.literal(sub.UsageText)
	}
	also := []string{"mysqlrw(1)"}
	if c.Name == "serve" || c.Name == "check-config" || c.Name == "route" {
		also = append(also, "mysqlrw.toml(5)")
	}
	p.seeAlso(also...)
	return p.String()
}

func synopsis(path string, c *cli.Command) string {
	text := `\fBmysqlrw ` + roff(path) + `\fR`
	if len(c.Flags) > 0 {
		text += ` [\fIflags\fR]`
	}
	if c.ArgsUsage != "" {
		text += ` \fI` + roff(c.ArgsUsage) + `\fR`
	}
	return text
}

// options writes the flags. Those that all subcommands of a group have stand there once.
func (p *page) options(c *cli.Command) {
	if len(c.Subcommands) == 0 {
		if len(c.Flags) > 0 {
			p.linef(".SH OPTIONS")
			p.flags(c.Flags, func(string) bool { return true })
		}
		return
	}
	has := map[string]int{}
	for _, sub := range c.Subcommands {
		for _, f := range sub.Flags {
			has[flagItem(f)]++
		}
	}
	common := func(item string) bool { return has[item] == len(c.Subcommands) }
	p.linef(".SH OPTIONS")
	p.flags(c.Subcommands[0].Flags, common)
	for _, sub := range c.Subcommands {
		if slices.ContainsFunc(sub.Flags, func(f cli.Flag) bool { return isVisible(f) && !common(flagItem(f)) }) {
			p.linef(".SS mysqlrw %s %s", roff(c.Name), roff(sub.Name))
			p.flags(sub.Flags, func(item string) bool { return !common(item) })
		}
	}
}

// flags writes those whose text is wanted, under their categories in the order of the help.
func (p *page) flags(flags []cli.Flag, wanted func(string) bool) {
	var categories []string
	items := map[string][]string{}
	for _, f := range flags {
		item := flagItem(f)
		if !isVisible(f) || !wanted(item) {
			continue
		}
		category := f.(cli.CategorizableFlag).GetCategory()
		if !slices.Contains(categories, category) {
			categories = append(categories, category)
		}
		items[category] = append(items[category], item)
	}
	slices.SortStableFunc(categories, func(a, b string) int { return cmp.Compare(min(len(a), 1), min(len(b), 1)) })
	for _, category := range categories {
		if category != "" {
			p.linef(".SS %s", category)
		}
		p.linef("%s", strings.Join(items[category], "\n"))
	}
}

// flagItem is a flag with its value, meaning and default.
func flagItem(f cli.Flag) string {
	doc := f.(cli.DocGenerationFlag)
	var names []string
	for _, n := range f.Names() {
		if len(n) == 1 {
			names = append([]string{`\fB\-` + n + `\fR`}, names...)
		} else {
			names = append(names, `\fB\-\-`+roff(n)+`\fR`)
		}
	}
	term := strings.Join(names, ", ")
	if doc.TakesValue() {
		words := strings.Split(valueName(doc), "|")
		for i := range words {
			words[i] = `\fI` + roff(words[i]) + `\fR`
		}
		term += " " + strings.Join(words, "|")
	}
	about := doc.GetUsage()
	if text := defaultText(doc); text != "" {
		about += " (default " + text + ")"
	}
	return ".TP\n" + term + "\n" + prose(about)
}

func configPage() string {
	p := newPage("mysqlrw.toml", 5, "configuration of the proxy mysqlrw serve")
	p.linef(".SH DESCRIPTION")
	p.paragraphs(`A file in TOML, which mysqlrw-serve(1) takes with --config. mysqlrw check-config FILE says whether it is right, and
if not what is wrong in which line and column; mysqlrw check-config --print-sample prints one with every key.

A key that does not exist, a value out of its range, or a listener that could never keep what it promises is an error,
and nothing of the file is used. Durations are texts such as "50ms", "5s" or "1m30s". Relative paths start from the
folder of the file.

A reload, by SIGHUP, takes the whole file or, with an error in it, nothing. A changed value holds for everybody at once,
for new sessions, or for nobody before a restart, as each key says. Servers and users that are added or removed count at
once, listeners after a restart.`)
	effects := map[config.Effect]string{
		config.Now: "A change holds at once.", config.NewSessions: "A change holds for new sessions.",
		config.Restart: "A change takes a restart.",
	}
	section := ""
	for _, k := range config.Keys() {
		if k.Section != section {
			section = k.Section
			title := "[" + section + "]"
			if k.List {
				title = "[" + title + "]"
			}
			p.linef(".SH %s", title)
		}
		term := `\fB` + roff(k.Name) + `\fR = `
		if len(k.Values) > 1 {
			words := make([]string, len(k.Values))
			for i, word := range k.Values {
				words[i] = roff(`"` + word + `"`)
			}
			term += strings.Join(words, " | ")
		} else {
			term += `\fI` + roff(k.Values[0]) + `\fR`
		}
		about := k.Meaning
		if k.Default != "" {
			about += " Default: " + k.Default + "."
		}
		p.item(term, about+" "+effects[k.Effect])
	}
	p.linef(".SH EXAMPLES")
	p.linef("A listener, the servers, and the account that asks them:\n.PP")
	p.literal(`[[listener]]
address = "127.0.0.1:6446"

[[server]]
address = "10.0.0.1:3306"

[[server]]
address = "10.0.0.2:3306"

[monitor]
user = "mysqlrw"
password-file = "/run/credentials/mysqlrw.service/monitor"`)
	p.linef(".SH FILES")
	p.item(`\fI/etc/mysqlrw/mysqlrw.toml\fR`, "the file of the service mysqlrw")
	p.item(`\fI/etc/credstore/mysqlrw.monitor\fR`,
		"the password of [monitor]; systemd hands it to the service as the file that the example above names")
	p.item(`\fI/etc/credstore/mysqlrw.admin\fR`,
		"the token of [admin], in the same way as /run/credentials/mysqlrw.service/admin")
	p.seeAlso("mysqlrw(1)", "mysqlrw-serve(1)", "mysqlrw-check-config(1)")
	return p.String()
}
