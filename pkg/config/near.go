package config

import "strings"

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
	best, least := "", 1+min(3, len(typed)/3)
	typed = strings.ToLower(strings.ReplaceAll(typed, "_", "-"))
	if len(typed) > 40 { // no key is, and the distance costs its square
		return ""
	}
	for _, w := range words {
		if d := distance(typed, w); d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// distance counts the characters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
