package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// decoder fills structs from what the TOML parser returned. It goes on after an
// error, so that all of them can be mended in one go.
type decoder struct {
	*reporter
	places map[string]place
	failed map[string]bool // paths whose values could not be used
}

// field is a key of a table and where its value goes.
type field struct {
	key   string
	tag   reflect.StructTag
	value reflect.Value
}

// fieldsOf returns the keys of a struct; those of an embedded one are its own.
func fieldsOf(v reflect.Value) []field {
	var fields []field
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous {
			fields = append(fields, fieldsOf(v.Field(i))...)
			continue
		}
		fields = append(fields, field{f.Tag.Get("toml"), f.Tag, v.Field(i)})
	}
	return fields
}

func (d *decoder) has(path string) bool { _, ok := d.places[path]; return ok }

// keyOf returns the offset of a key or, if it is not there, of its table.
func (d *decoder) keyOf(path string) int {
	for {
		if p, ok := d.places[path]; ok {
			return p.key
		}
		dot := strings.LastIndexByte(path, '.')
		if dot < 0 {
			return 0
		}
		path = path[:dot]
	}
}

// valueOf is keyOf for the value.
func (d *decoder) valueOf(path string) int {
	if p, ok := d.places[path]; ok {
		return p.value
	}
	return d.keyOf(path)
}

// table decodes one table. Values that cannot be used leave what was there.
func (d *decoder) table(path string, from map[string]any, into reflect.Value) {
	fields := fieldsOf(into)
	for _, key := range slices.Sorted(maps.Keys(from)) {
		own := join(path, key)
		at := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if at < 0 {
			d.unknown(path, own, key, fields)
			continue
		}
		f := fields[at]
		switch {
		case f.value.Kind() == reflect.Struct && f.value.Type() != secretType:
			if m, ok := from[key].(map[string]any); ok {
				d.table(own, m, f.value)
			} else {
				d.failed[own] = true
				d.errorAt(d.keyOf(own), "%s is a table: write [%s] on a line of its own", key, key)
			}
		case f.value.Kind() == reflect.Slice && f.value.Type() != prefixesType:
			d.tables(own, key, from[key], f.value)
		default:
			if err := d.leaf(from[key], f); err != "" {
				d.failed[own] = true
				d.errorAt(d.valueOf(own), "%s: %s", key, err)
			}
		}
	}
}

// tables decodes [[key]], each element from the defaults of its kind.
func (d *decoder) tables(path, key string, from any, into reflect.Value) {
	var all []map[string]any
	switch from := from.(type) {
	case []map[string]any:
		all = from
	case []any:
		for _, e := range from {
			m, ok := e.(map[string]any)
			if !ok {
				d.errorAt(d.keyOf(path), "%s is a list of tables: write [[%s]] in front of each", key, key)
				return
			}
			all = append(all, m)
		}
	default:
		d.errorAt(d.keyOf(path), "%s is a list of tables: write [[%s]] instead of [%s]", key, key, key)
		return
	}
	for i, m := range all {
		e := reflect.New(into.Type().Elem()).Elem()
		switch e.Interface().(type) {
		case Listener:
			e.Set(reflect.ValueOf(defaultListener()))
		case Server:
			e.Set(reflect.ValueOf(defaultServer()))
		}
		d.table(element(path, i), m, e)
		into.Set(reflect.Append(into, e))
	}
}

var (
	secretType   = reflect.TypeFor[Secret]()
	prefixesType = reflect.TypeFor[[]netip.Prefix]()
	levelType    = reflect.TypeFor[route.Level]()
	durationType = reflect.TypeFor[time.Duration]()
	sizeType     = reflect.TypeFor[Size]()
)

// leaf sets one value, or says what is wrong with it.
func (d *decoder) leaf(from any, f field) string {
	switch f.value.Type() {
	case durationType:
		return setDuration(from, f)
	case sizeType:
		return setSize(from, f)
	case prefixesType:
		return setPrefixes(from, f.value)
	}
	if f.value.Kind() == reflect.Int {
		return setInt(from, f)
	}
	text, ok := from.(string)
	if !ok {
		if f.value.Type() == secretType {
			return "want a text in quotes"
		}
		return fmt.Sprintf("want a text in quotes, not %s", shown(from))
	}
	if words := wordsOf(f); words != nil && !slices.Contains(words, text) {
		return fmt.Sprintf("%q is not one of %s%s", text, strings.Join(words, ", "), meant(text, words))
	}
	switch f.value.Type() {
	case secretType:
		f.value.Set(reflect.ValueOf(NewSecret(text)))
	case levelType:
		level, _ := route.ParseLevel(text)
		f.value.Set(reflect.ValueOf(level))
	default:
		f.value.SetString(text)
	}
	return ""
}

// wordsOf returns the words that a value can be, nil if it is free.
func wordsOf(f field) []string {
	if f.value.Type() == levelType {
		var words []string
		for l := route.Eventual; l <= route.Strong; l++ {
			words = append(words, l.String())
		}
		return words
	}
	if words := f.tag.Get("enum"); words != "" {
		return strings.Split(words, "|")
	}
	return nil
}

func setDuration(from any, f field) string {
	text, ok := from.(string)
	if !ok {
		return fmt.Sprintf(`want a duration in quotes, such as "50ms", "5s" or "1m30s", not %s`, shown(from))
	}
	value, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Sprintf(`%q is not a duration: write "50ms", "5s" or "1m30s"`, text)
	}
	if least, err := time.ParseDuration(f.tag.Get("min")); value < 0 || err == nil && value < least {
		return fmt.Sprintf("%q is too short: want at least %s", text, cmp.Or(f.tag.Get("min"), "0s"))
	}
	if most, err := time.ParseDuration(f.tag.Get("max")); err == nil && value > most {
		return fmt.Sprintf("%q is too long: want at most %s", text, f.tag.Get("max"))
	}
	f.value.SetInt(int64(value))
	return ""
}

// maxNumber is over everything that can be counted here, and a sum of some
// fits into 64 bits.
const maxNumber = 1<<31 - 1

func setInt(from any, f field) string {
	n, ok := from.(int64)
	if !ok {
		return fmt.Sprintf("want a whole number without quotes, not %s", shown(from))
	}
	least, _ := strconv.ParseInt(f.tag.Get("min"), 10, 64)
	most, err := strconv.ParseInt(f.tag.Get("max"), 10, 64)
	if err != nil {
		most = maxNumber
	}
	if n < least || n > most {
		return fmt.Sprintf("%d is out of range: want %d to %d", n, least, most)
	}
	f.value.SetInt(n)
	return ""
}

func setPrefixes(from any, into reflect.Value) string {
	list, ok := from.([]any)
	if !ok {
		return fmt.Sprintf(`want a list of networks, such as ["10.0.0.0/8"], not %s`, shown(from))
	}
	all := []netip.Prefix{}
	for _, e := range list {
		text, ok := e.(string)
		if !ok {
			return fmt.Sprintf("want networks in quotes, not %s", shown(e))
		}
		prefix, err := netip.ParsePrefix(text)
		if address, addressErr := netip.ParseAddr(text); addressErr == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil {
			return fmt.Sprintf("%q is neither an IP address nor a network such as 10.0.0.0/8", text)
		}
		all = append(all, prefix.Masked())
	}
	into.Set(reflect.ValueOf(all))
	return ""
}

// shown is a value as a message quotes it.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case map[string]any, []map[string]any:
		return "a table"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
}

// set puts values over those of the file.
func (d *decoder) set(c *Config, settings []Setting) {
	for _, one := range settings {
		section, key, _ := strings.Cut(one.Key, ".")
		f, why := settable(c, section, key)
		if why == "" {
			var from any = one.Value
			if n, err := strconv.ParseInt(one.Value, 10, 64); err == nil && (f.value.Kind() == reflect.Int || f.value.Type() == sizeType) {
				from = n
			}
			why = d.leaf(from, f)
		}
		if why != "" {
			d.errors = append(d.errors, Problem{Message: one.Key + ": " + why})
		}
	}
}

// settable finds a value that can be set while the proxy runs, or says why there is none.
func settable(c *Config, section, key string) (field, string) {
	for _, table := range fieldsOf(reflect.ValueOf(c).Elem()) {
		if table.key != section || table.value.Kind() != reflect.Struct {
			continue
		}
		for _, f := range fieldsOf(table.value) {
			switch {
			case f.key != key:
			case isSecret(f):
				return field{}, "a secret is changed behind its file or variable, and read again by a reload"
			case Effect(f.tag.Get("effect")) == Restart:
				return field{}, "takes a restart: write it into the file"
			default:
				return f, ""
			}
		}
		return field{}, "[" + section + "] has no such key"
	}
	return field{}, "is no key that can be set: write it as section.key, such as policy.session-timeout; servers and listeners are changed in the file"
}
