package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"

	_ "embed"
)

// Sample is a file with every key, its meaning and its default. It loads if the
// environment has MYSQLRW_MONITOR_PASSWORD and MYSQLRW_SHOP_PASSWORD.
//
//go:embed sample.toml
var Sample string

// Key is one key of the file.
type Key struct {
	// Section is the table, "policy"; List says that it is written [[section]].
	Section string
	List    bool
	Name    string
	// Values are the words allowed, or one phrase such as "duration".
	Values []string
	// Default is the value without the key, as the file has it, "" for none.
	Default string
	Effect  Effect
	// Meaning is the comment in Sample.
	Meaning string
}

// header is how the section's tables begin.
func (k Key) header() string { return word(k.List, "[["+k.Section+"]]", "["+k.Section+"]") }

// Keys returns every key in the order of Config.
func Keys() []Key {
	meanings := sampleMeanings()
	var keys []Key
	for _, section := range fieldsOf(reflect.ValueOf(defaults()).Elem()) {
		v, list := section.value, section.value.Kind() == reflect.Slice
		switch v.Interface().(type) {
		case []Listener:
			v = reflect.ValueOf(defaultListener())
		case []Server:
			v = reflect.ValueOf(defaultServer())
		case []User:
			v = reflect.ValueOf(User{})
		}
		for _, f := range fieldsOf(v) {
			k := Key{
				Section: section.key, List: list, Name: f.key, Values: wordsOf(f), Default: f.tag.Get("default"),
				Effect: Effect(f.tag.Get("effect")), Meaning: meanings[section.key+"."+f.key],
			}
			if k.Default == "" {
				k.Default = textOf(f.value)
			}
			if k.Values == nil {
				k.Values = []string{kindOf(f)}
			}
			keys = append(keys, k)
		}
	}
	return keys
}

// Value is one value that is in force.
type Value struct {
	// Key is "section.key", and of tables that there can be several of "section[N].key", from 0.
	Key   string
	Value string // as the file has it, without quotes; of what is or may be a secret only that it is set
	// Default says that it is the one that holds without a word in the file.
	Default bool
}

// Values returns all that is in force, in the order of Keys.
func (c *Config) Values() []Value {
	var all []Value
	add := func(section string, v, standard reflect.Value) {
		same := fieldsOf(standard)
		for i, f := range fieldsOf(v) {
			text, was := textOf(f.value), textOf(same[i].value)
			if text != "" && isSecret(f) {
				text = hidden
			}
			all = append(all, Value{Key: section + "." + f.key, Value: text, Default: text == was})
		}
	}
	standard := fieldsOf(reflect.ValueOf(defaults()).Elem())
	for i, section := range fieldsOf(reflect.ValueOf(c).Elem()) {
		if section.value.Kind() != reflect.Slice {
			add(section.key, section.value, standard[i].value)
			continue
		}
		for n := range section.value.Len() {
			e := section.value.Index(n)
			was := reflect.New(e.Type()).Elem()
			switch e.Interface().(type) {
			case Listener:
				was.Set(reflect.ValueOf(defaultListener()))
			case Server:
				was.Set(reflect.ValueOf(defaultServer()))
			}
			add(element(section.key, n), e, was)
		}
	}
	return all
}

// isSecret tells whether a value is a secret, or may be one that was written where its file's name belongs.
func isSecret(f field) bool {
	return f.value.Type() == secretType || strings.HasSuffix(f.key, "password-file") || strings.HasSuffix(f.key, "password-env") ||
		f.key == "token-file" || f.key == "token-env"
}

// kindOf says what a free value looks like.
func kindOf(f field) string {
	least, most := f.tag.Get("min"), f.tag.Get("max")
	kind := "text"
	switch f.value.Interface().(type) {
	case time.Duration:
		kind = "duration"
	case Size:
		kind = "size"
	case int:
		kind = "number"
	case []netip.Prefix:
		return "list of networks"
	}
	switch {
	case least != "" && most != "":
		return kind + " from " + least + " to " + most
	case least != "":
		return kind + " from " + least
	case most != "":
		return kind + " up to " + most
	}
	return kind
}

// textOf is a value as the file has it, without quotes.
func textOf(v reflect.Value) string {
	switch v := v.Interface().(type) {
	case time.Duration:
		return shortDuration(v)
	case []netip.Prefix:
		return "[" + strings.Join(strings.Fields(strings.Trim(fmt.Sprint(v), "[]")), ", ") + "]"
	case int:
		return strconv.Itoa(v)
	case fmt.Stringer:
		return v.String()
	}
	return v.String()
}

// shortDuration writes 1h0m0s as 1h.
func shortDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// sampleMeanings reads the comment above each key of the sample, the first
// one of a key if several tables have it. A key that is shown but not set
// stands behind "#" without a blank.
func sampleMeanings() map[string]string {
	meanings := map[string]string{}
	section, comment := "", []string{}
	for line := range strings.Lines(Sample) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "# "); ok {
			comment = append(comment, text)
			continue
		}
		line = strings.TrimPrefix(line, "#")
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
		} else if key, _, ok := strings.Cut(line, " = "); ok && meanings[section+"."+key] == "" {
			meanings[section+"."+key] = strings.Join(comment, " ")
		}
		comment = nil
	}
	return meanings
}
