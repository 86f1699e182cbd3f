package suites

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// wishes are what a test wants of its server, from the files beside it.
type wishes struct {
	args     []string // of the server
	timezone string   // "" is the runner's own
	skip     string   // why no server here fulfils them
}

var (
	// A new data directory or a second server is beyond the extern mode.
	bootstrapPattern = regexp.MustCompile(`^--(?:loose[-_])?(?:innodb[-_]page[-_]size|lower[-_]case[-_]table[-_]names|` +
		`innodb[-_]data[-_]file[-_]path|innodb[-_]undo[-_]directory|innodb[-_]checksum|datadir|upgrade|daemonize)\b`)
	// The address of the server is the harness's own business.
	addressPattern = regexp.MustCompile(`^--(?:loose[-_])?(?:skip[-_]networking|bind[-_]address|port|socket|skip[-_]grant[-_]tables|` +
		`admin[-_]address|require[-_]secure[-_]transport)\b`)
	// What ends the server, which the runner would have to start again.
	restartPattern = regexp.MustCompile(`(?i)^\s*(?:--\s*)?(?:shutdown_server|exec\b.*\.expect|write_file\b.*\.expect|` +
		`append_file\b.*\.expect|shutdown\s*;|restart\s*;)`)
	sourcePattern   = regexp.MustCompile(`^\s*(?:--\s*)?source\s+([^\s;]+)`)
	replicaPattern  = regexp.MustCompile(`^(?:include/rpl/init|include/master-slave\.inc|common/rpl/ip)`)
	variablePattern = regexp.MustCompile(`\$\{?(\w+)\}?`)
)

// wishesOf reads the files beside a test.
func wishesOf(t *test, root string, env map[string]string) (wishes, error) {
	base := strings.TrimSuffix(t.file(), ".test")
	var w wishes
	for name, why := range map[string]string{
		base + ".cnf":       "wants servers of its own",
		base + "-slave.opt": "wants a replica of its own",
		base + "-master.sh": "wants files made before the server starts",
	} {
		if _, err := os.Stat(name); err == nil {
			w.skip = why
			return w, nil
		}
	}
	for _, name := range []string{base + ".opt", base + "-master.opt"} {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return w, err
		}
		w.read(string(text), env)
	}
	f := facts{seen: map[string]bool{}}
	f.scan(t.file(), root)
	if f.myisam {
		w.args = append(w.args, "--default-storage-engine=MyISAM", "--default-tmp-storage-engine=MyISAM")
	}
	switch {
	case w.skip != "":
	case f.replica:
		w.skip = "wants a replica of its own"
	case f.ends:
		w.skip = "ends or restarts the server"
	}
	return w, nil
}

// read reads an option file. Quotes around a value go, as in a shell.
func (w *wishes) read(text string, env map[string]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range splitWords(line) {
			word = variablePattern.ReplaceAllStringFunc(word, func(found string) string {
				return env[strings.Trim(found, "${}")]
			})
			w.option(word)
		}
	}
}

func (w *wishes) option(word string) {
	name, value, _ := strings.Cut(word, "=")
	switch {
	case word == "" || name == "--force-restart" || name == "--nowarnings" || name == "--testcase-timeout" ||
		name == "--result-file" || name == "--no-console" || name == "--skip-core-file" || name == "--initialize":
	case strings.EqualFold(word, "--innodb_page_size=16k"): // is the default
	case name == "--timezone":
		w.timezone = value
	case name == "--config-file-template":
		w.skip = "wants servers of its own"
	case bootstrapPattern.MatchString(word):
		w.skip = "wants a data directory of its own"
	case addressPattern.MatchString(word):
		w.skip = "wants another address or no accounts"
	default:
		w.args = append(w.args, word)
	}
}

// splitWords splits at spaces outside of quotes and takes the outermost
// quotes off.
func splitWords(line string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	for _, c := range line {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && (c == ' ' || c == '\t'):
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(c)
		}
	}
	if word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}

// facts are what a test's commands and the files that it includes tell.
type facts struct {
	seen    map[string]bool // files
	ends    bool            // it ends the server
	replica bool
	myisam  bool // it wants another default engine, by a file that holds nothing
}

func (f *facts) scan(file, root string) {
	if f.seen[file] {
		return
	}
	f.seen[file] = true
	text, err := os.ReadFile(file)
	if err != nil {
		return // a name made of variables
	}
	for line := range strings.Lines(string(text)) {
		f.ends = f.ends || restartPattern.MatchString(line)
		m := sourcePattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f.myisam = f.myisam || m[1] == "include/force_myisam_default.inc"
		f.replica = f.replica || replicaPattern.MatchString(m[1])
		for _, dir := range []string{filepath.Dir(file), root} {
			f.scan(filepath.Join(dir, m[1]), root)
		}
	}
}
