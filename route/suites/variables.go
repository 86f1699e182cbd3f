package suites

import (
	"strings"
)

// variables are a test's own, by name without the dollar sign. A value is
// known if the file gave it as a literal.
type variables map[string]string

// placeholder stands for a value that only a running test has. It is a word
// that SQL takes for a name, and is plausible within quotes.
const placeholder = "v1"

// expand replaces variables as mysqltest does in eval: a backslash before a
// dollar sign, a quote or a backslash is dropped.
func (v variables) expand(text string) (expanded string, guessed bool) {
	if !strings.ContainsAny(text, `$\`) {
		return text, false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text) && strings.IndexByte(`\$"`, text[i+1]) >= 0:
			i++
			b.WriteByte(text[i])
		case c == '$' && nameLength(text[i+1:]) > 0:
			name := text[i+1 : i+1+nameLength(text[i+1:])]
			value, known := v[name]
			if !known {
				value, guessed = placeholder, true
			}
			b.WriteString(value)
			i += len(name)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), guessed
}

// let reads the argument of a let command, NAME=VALUE. If a server is asked
// for the value it returns that, expanded once.
func (v variables) let(argument string) (value string, guessed bool) {
	name, value, _ := strings.Cut(argument, "=")
	name = strings.TrimPrefix(strings.TrimSpace(name), "$")
	value = strings.TrimSpace(value)
	delete(v, name)
	fromServer := isQuery(value)
	value, guessed = v.expand(value)
	if fromServer {
		return value, guessed
	}
	if !guessed {
		v[name] = value
	}
	return "", false
}

// queryValue is a function whose first argument is a query.
const queryValue = "query_get_value"

// isQuery tells a value that a server is asked for from a literal.
func isQuery(value string) bool {
	return strings.HasPrefix(value, "`") || strings.HasPrefix(value, queryValue) ||
		strings.HasPrefix(value, "convert_error")
}

// queryOf returns the query whose result is a value or decides a condition.
func queryOf(value string) (query string, found bool) {
	if arguments, isFunction := strings.CutPrefix(value, queryValue); isFunction {
		return firstArgument(strings.TrimSpace(arguments))
	}
	first, last := strings.IndexByte(value, '`'), strings.LastIndexByte(value, '`')
	if first == last {
		return "", false
	}
	query = strings.TrimSpace(value[first+1 : last])
	return query, query != ""
}

// firstArgument returns the query of (QUERY, COLUMN, ROW).
func firstArgument(arguments string) (string, bool) {
	arguments, opened := strings.CutPrefix(arguments, "(")
	comma := strings.LastIndexByte(arguments, ',')
	if !opened || comma < 0 {
		return "", false
	}
	if comma = strings.LastIndexByte(arguments[:comma], ','); comma < 0 {
		return "", false
	}
	query := strings.TrimSpace(arguments[:comma])
	return query, query != ""
}

// unquote removes the quotes that a test puts around an argument.
func unquote(text string) string {
	if n := len(text); n > 1 && text[0] == text[n-1] && (text[0] == '"' || text[0] == '\'') {
		return strings.TrimSpace(text[1 : n-1])
	}
	return text
}

func nameLength(text string) int {
	n := 0
	for n < len(text) && isName(text[n]) {
		n++
	}
	return n
}

func isName(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
