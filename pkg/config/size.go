package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// units are the letters of sizes, as MySQL's option files have them.
const units = "KMG"

// String returns "64M", or the bytes if they are no whole K.
func (s Size) String() string {
	unit := ""
	for i := 0; i < len(units) && s != 0 && s%1024 == 0; i++ {
		s, unit = s/1024, units[i:i+1]
	}
	return strconv.FormatInt(int64(s), 10) + unit
}

// parseSize reads "64M", "64m" or a number of bytes.
func parseSize(text string) (Size, bool) {
	factor := int64(1)
	if text != "" {
		if i := strings.IndexByte(units, text[len(text)-1]&^0x20); i >= 0 {
			factor, text = 1<<(10*(i+1)), text[:len(text)-1]
		}
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || int64(n) > math.MaxInt64/factor {
		return 0, false
	}
	return Size(int64(n) * factor), true
}

func setSize(from any, f field) string {
	text, isText := from.(string)
	if n, ok := from.(int64); ok {
		text, isText = strconv.FormatInt(n, 10), true
	}
	size, ok := parseSize(text)
	least, _ := parseSize(f.tag.Get("min"))
	most, _ := parseSize(f.tag.Get("max"))
	switch {
	case !isText || !ok:
		return fmt.Sprintf(`want a size such as "64M" or a number of bytes, not %s`, shown(from))
	case size < least || size > most:
		return fmt.Sprintf("%s is out of range: want %s to %s", shown(from), least, most)
	}
	f.value.SetInt(int64(size))
	return ""
}
