package config

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/near"
)

// maxHints bounds the time that a file costs which is something else: nobody
// reads more errors.
const maxHints = 100

// unknown reports a key that does not exist, with what was probably meant.
func (d *decoder) unknown(table, path, key string, fields []field) {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.key
	}
	hint := meant(key, names)
	if hint == "" && len(d.errors) < maxHints {
		hint = elsewhere(key, table)
	}
	section := "the file"
	if table != "" {
		section = "[" + sectionOf(table) + "]"
	}
	d.errorAt(d.keyOf(path), "%s has no key %s%s", section, join("", key), hint)
}

// sectionOf is a path without its indices.
func sectionOf(path string) string {
	name, _, _ := strings.Cut(path, "[")
	return name
}

// elsewhere finds a key in other sections.
func elsewhere(key, table string) string {
	var places []string
	for _, k := range Keys() {
		if k.Name == key && k.Section != sectionOf(table) {
			places = append(places, k.header())
		}
	}
	if places == nil {
		return ""
	}
	return ": it belongs into " + strings.Join(places, " or ")
}

// meant proposes the word that a mistyped one stands for, if one is near.
func meant(typed string, words []string) string {
	edits := min(3, len(typed)/3)
	typed = strings.ToLower(strings.ReplaceAll(typed, "_", "-"))
	if len(typed) > 40 { // no key is, and the distance costs its square
		return ""
	}
	best := near.Word(typed, words, edits)
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}
