package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a file, or that is likely not meant.
type Problem struct {
	File string `json:"file"`
	// Line and Column count from 1, Column in characters.
	Line   int `json:"line"`
	Column int `json:"column"`
	// Message says what to do, and holds no secret.
	Message string `json:"message"`
}

// String returns file:line:column: message, which editors can jump to. A
// problem of Flags stands in no file and is its message alone.
func (p Problem) String() string {
	if p.File == "" {
		return p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Errors is everything for which a file was refused, in its order.
type Errors []Problem

// Error returns one line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// reporter collects the problems of one file.
type reporter struct {
	file, text       string
	lines            []int // where each begins, found at the first problem
	errors, warnings Errors
}

func (r *reporter) errorAt(offset int, format string, args ...any) {
	r.errors = append(r.errors, r.problem(offset, fmt.Sprintf(format, args...)))
}

func (r *reporter) warnAt(offset int, format string, args ...any) {
	r.warnings = append(r.warnings, r.problem(offset, fmt.Sprintf(format, args...)))
}

func (r *reporter) problem(offset int, message string) Problem {
	if r.lines == nil {
		r.lines = []int{0}
		for i := range len(r.text) {
			if r.text[i] == '\n' {
				r.lines = append(r.lines, i+1)
			}
		}
	}
	offset = min(max(offset, 0), len(r.text))
	line, exact := slices.BinarySearch(r.lines, offset)
	if exact {
		line++
	}
	column := utf8.RuneCountInString(r.text[r.lines[line-1]:offset]) + 1
	return Problem{r.file, line, column, message}
}

func inOrder(problems Errors) Errors {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}
