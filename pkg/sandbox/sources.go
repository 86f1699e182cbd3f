package sandbox

import (
	"slices"
	"strings"
)

// aptSource is one entry of apt's lists of sources: where packages come from.
type aptSource struct {
	uris       []string
	suites     []string
	components []string
	signedBy   string // path of a keyring, or a key as text; empty if not given
}

// parseSources reads a file of apt's in the form that its name tells: the
// one-line form (.list) or the deb822 form (.sources). Entries for source
// code, disabled ones and malformed ones are left out, since apt itself
// complains about them.
//
// The forms are described in sources.list(5).
func parseSources(name, text string) []aptSource {
	if strings.HasSuffix(name, ".sources") {
		return parseStanzas(text)
	}
	var sources []aptSource
	for line := range strings.Lines(text) {
		if s, ok := parseSourceLine(line); ok {
			sources = append(sources, s)
		}
	}
	return sources
}

// parseSourceLine reads `deb [option=value ...] uri suite component...`.
func parseSourceLine(line string) (aptSource, bool) {
	line, _, _ = strings.Cut(line, "#")
	rest, isDeb := cutWord(line, "deb")
	if !isDeb {
		return aptSource{}, false
	}
	var s aptSource
	if inner, bracket := strings.CutPrefix(rest, "["); bracket {
		options, after, closed := strings.Cut(inner, "]")
		if !closed {
			return aptSource{}, false
		}
		rest = after
		for _, option := range strings.Fields(options) {
			if path, ok := strings.CutPrefix(strings.ToLower(option), "signed-by="); ok {
				s.signedBy = option[len(option)-len(path):]
			}
		}
	}
	words := strings.Fields(rest)
	if len(words) < 2 {
		return aptSource{}, false
	}
	s.uris, s.suites, s.components = words[:1], words[1:2], words[2:]
	return s, true
}

func cutWord(line, word string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(strings.TrimSpace(line), word)
	if !ok || rest == "" || !strings.ContainsRune(" \t[", rune(rest[0])) {
		return line, false
	}
	return strings.TrimSpace(rest), true
}

// parseStanzas reads paragraphs of `Field: value` with continuation lines.
func parseStanzas(text string) []aptSource {
	var sources []aptSource
	fields := map[string]string{}
	last := ""
	flush := func() {
		if s, ok := stanzaSource(fields); ok {
			sources = append(sources, s)
		}
		clear(fields)
		last = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "":
			flush()
		case strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				fields[last] += "\n" + strings.TrimSpace(line)
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			last = strings.ToLower(strings.TrimSpace(name))
			fields[last] = strings.TrimSpace(value)
		}
	}
	flush()
	return sources
}

func stanzaSource(fields map[string]string) (aptSource, bool) {
	s := aptSource{
		uris:       strings.Fields(fields["uris"]),
		suites:     strings.Fields(fields["suites"]),
		components: strings.Fields(fields["components"]),
		signedBy:   fields["signed-by"],
	}
	off := []string{"no", "false", "without", "off", "disable", "0"} // apt's StringToBool
	enabled := !slices.Contains(off, strings.ToLower(fields["enabled"]))
	isDeb := slices.Contains(strings.Fields(fields["types"]), "deb")
	return s, enabled && isDeb && len(s.uris) > 0 && len(s.suites) > 0
}

// archiveOf returns the address of the archive that has the main component of
// one of the suites, and the keyring given for it. The suites for security
// and updates lie in other archives on many mirrors, so only exact names
// count.
func archiveOf(sources []aptSource, suites ...string) (uri, signedBy string, ok bool) {
	for _, s := range sources {
		known := slices.ContainsFunc(s.suites, func(name string) bool { return slices.Contains(suites, name) })
		if !known || !slices.Contains(s.components, "main") {
			continue
		}
		for _, uri := range s.uris {
			if !strings.HasPrefix(uri, "cdrom:") {
				return uri, s.signedBy, true
			}
		}
	}
	return "", "", false
}

// release is what the machine's os-release file says.
type release struct {
	id       string // debian, ubuntu, ...
	codename string
}

// parseRelease reads os-release(5).
func parseRelease(text string) release {
	var r release
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch name {
		case "ID":
			r.id = value
		case "VERSION_CODENAME":
			r.codename = value
		}
	}
	return r
}
