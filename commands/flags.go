package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
)

// durationValue reads 500ms, 5s or 1m30s, and a bare number as seconds, as
// operators of MySQL tools type it. Negative values are refused.
type durationValue struct {
	d   time.Duration
	set bool
}

func (v *durationValue) Set(text string) error {
	d, err := parseDuration(text)
	if err != nil {
		return err
	}
	v.d, v.set = d, true
	return nil
}

func (v *durationValue) String() string {
	if v == nil || v.d == 0 {
		return ""
	}
	return shortDuration(v.d)
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		seconds, numberErr := strconv.ParseFloat(text, 64)
		if numberErr != nil || seconds != seconds || seconds > 1e9 || seconds < -1e9 {
			return 0, fmt.Errorf("%q is not a duration: write 500ms, 5s, 1m30s, or a number of seconds", text)
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	if d < 0 {
		return 0, fmt.Errorf("%q is negative", text)
	}
	return d, nil
}

// shortDuration prints 1m30s as it was typed and 1h0m0s as 1h.
func shortDuration(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "" || s[len(s)-1] < 'A' { // "10s" lost its seconds
		return d.String()
	}
	return s
}

func durationFlag(name string, value time.Duration, usage string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, Value: &durationValue{d: value}, Usage: usage}
}

// duration returns a duration flag's value and whether it was given.
func duration(c *cli.Context, name string) (time.Duration, bool) {
	v := c.Generic(name).(*durationValue)
	return v.d, v.set
}

// enumValue is a flag with a fixed list of words.
type enumValue struct {
	allowed []string
	value   string
}

func (v *enumValue) Set(text string) error {
	at := slices.IndexFunc(v.allowed, func(a string) bool { return strings.EqualFold(a, text) })
	if at < 0 {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(v.allowed, ", "))
	}
	v.value = v.allowed[at]
	return nil
}

func (v *enumValue) String() string {
	if v == nil {
		return ""
	}
	return v.value
}

func enumFlag(name, value, usage string, allowed ...string) *cli.GenericFlag {
	return &cli.GenericFlag{Name: name, Value: &enumValue{allowed: allowed, value: value}, Usage: usage}
}

func enum(c *cli.Context, name string) string { return c.Generic(name).(*enumValue).value }

// enumOf returns the words a flag allows, nil for another kind of flag.
func enumOf(f cli.Flag) *enumValue {
	if g, ok := f.(*cli.GenericFlag); ok {
		if e, ok := g.Value.(*enumValue); ok {
			return e
		}
	}
	return nil
}

// inCategory puts flags under one heading of the help.
func inCategory(category string, flags []cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = category
		case *cli.BoolFlag:
			f.Category = category
		case *cli.GenericFlag:
			f.Category = category
		}
	}
	return flags
}
