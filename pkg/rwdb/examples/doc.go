// Package examples answers: what does a program look like that uses rwdb with
// sqlx, with GORM, with code that sqlc has generated, or behind net/http?
//
// The packages below it are the same small part of a shop, which has items and
// takes orders, and a middleware with which a redirect reads its own write.
// Each is run by its test on a primary and two replicas, one of which applies
// nothing. docs/library.md shows parts of them.
//
// It is a module of its own, so that what it needs is not needed by who needs
// rwdb.
package examples

import (
	_ "embed"
	"strings"
)

//go:embed schema.sql
var schema string

// Statements returns those of schema.sql, which make the tables of the shop.
func Statements() []string {
	return strings.Split(strings.TrimSuffix(strings.TrimSpace(schema), ";"), ";\n")
}
