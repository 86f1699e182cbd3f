package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Effect is when a changed value holds.
type Effect string

// The effects.
const (
	// Now: for everybody, from the next statement on.
	Now Effect = "now"
	// NewSessions: sessions that are there keep what they began with.
	NewSessions Effect = "session"
	// Restart: a reload cannot do it.
	Restart Effect = "restart"
)

// Change is one value that differs between two configurations.
type Change struct {
	// Key is policy.max-lag, or server[name].weight: listeners are named by
	// their address or socket, servers and users by their name.
	Key string
	// Old and New are as the file has them, secrets hidden; of a table that
	// came or went they are "not there", "there" and "gone".
	Old, New string
	Effect   Effect
}

// String returns key: old -> new.
func (c Change) String() string { return fmt.Sprintf("%s: %s -> %s", c.Key, c.Old, c.New) }

// Diff returns what differs, in the order of the keys, nothing if a reload has
// nothing to do. A certificate that is another one behind the same file name
// differs too. Of users and servers those that came or went take effect now,
// of listeners at a restart. The order of servers counts, since ties are
// settled by it; a change of that alone is one change of the key "server".
func Diff(before, after *Config) []Change {
	d := differ{}
	old, now := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i, f := range fieldsOf(old) {
		if f.value.Kind() == reflect.Slice {
			d.lists(f.key, f.value, now.Field(i))
		} else {
			d.tables(f.key, f.value, now.Field(i))
		}
	}
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) tables(path string, old, now reflect.Value) {
	fresh := fieldsOf(now)
	for i, f := range fieldsOf(old) {
		if reflect.DeepEqual(f.value.Interface(), fresh[i].value.Interface()) {
			continue
		}
		d.changes = append(d.changes, Change{
			Key: path + "." + f.key, Old: textOf(f.value), New: textOf(fresh[i].value), Effect: Effect(f.tag.Get("effect")),
		})
	}
}

func (d *differ) lists(key string, old, now reflect.Value) {
	came := Now
	if key == "listener" {
		came = Restart
	}
	rest := map[string]reflect.Value{}
	for i := range now.Len() {
		rest[identity(now.Index(i))] = now.Index(i)
	}
	var kept []string
	for i := range old.Len() {
		id := identity(old.Index(i))
		path := key + "[" + id + "]"
		if v, ok := rest[id]; ok {
			kept = append(kept, id)
			d.tables(path, old.Index(i), v)
			d.certificates(path, old.Index(i), v)
		} else {
			d.changes = append(d.changes, Change{Key: path, Old: "there", New: "gone", Effect: came})
		}
		delete(rest, id)
	}
	for i := range now.Len() {
		id := identity(now.Index(i))
		if _, fresh := rest[id]; fresh {
			d.changes = append(d.changes, Change{Key: key + "[" + id + "]", Old: "not there", New: "there", Effect: came})
		} else if len(kept) > 0 && kept[0] == id {
			kept = kept[1:]
		}
	}
	if len(kept) > 0 && key == "server" {
		d.changes = append(d.changes, Change{Key: key, Old: "in another order", New: "in this order", Effect: Now})
	}
}

// certificates finds files whose names stay while what they hold does not.
func (d *differ) certificates(path string, old, now reflect.Value) {
	before, after := loadedBy(old), loadedBy(now)
	if before == nil {
		return
	}
	differs := func(key string, other bool) {
		for _, c := range d.changes {
			other = other && c.Key != path+"."+key
		}
		if other {
			d.changes = append(d.changes, Change{Key: path + "." + key, Old: "as it was", New: "as it is now", Effect: NewSessions})
		}
	}
	differs("ssl-ca", before.ca != after.ca)
	differs("ssl-cert", before.cert != after.cert)
}

func loadedBy(v reflect.Value) *certificates {
	switch v := v.Interface().(type) {
	case Listener:
		return &v.loaded
	case Server:
		return &v.loaded
	}
	return nil
}

// identity is what a table of a list is known by.
func identity(v reflect.Value) string {
	switch v := v.Interface().(type) {
	case Listener:
		return v.Where()
	case Server:
		return v.Name
	case User:
		return v.Name
	}
	return ""
}

// Reloadable returns after with those values of before that only a restart can change, so that it
// differs from before in nothing whose Effect is Restart. Both stay as they are.
func Reloadable(before, after *Config) *Config {
	c := *after
	c.Log.Format = before.Log.Format
	c.Admin.Address, c.Admin.Pprof = before.Admin.Address, before.Admin.Pprof
	c.Listeners = slices.Clone(before.Listeners)
	for i := range c.Listeners {
		for _, l := range after.Listeners {
			if l.Where() == c.Listeners[i].Where() {
				c.Listeners[i] = l
			}
		}
	}
	return &c
}
