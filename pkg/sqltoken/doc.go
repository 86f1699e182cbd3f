// Package sqltoken answers where the tokens of an SQL text begin and end, as a
// MySQL or MariaDB server reads it: which bytes are strings, names and comments,
// and which are code.
//
// It is a scanner and no parser: it allocates nothing, never fails and never
// looks back. What a server could not read is a token of its own kind,
// Unterminated or Invalid, so that a caller can tell "nothing there" from "not
// understood".
//
//	s := sqltoken.New(text, sqltoken.Options{Flavor: flavor.MySQL})
//	for t := s.Next(); t.Kind != sqltoken.EOF; t = s.Next() {
//		fmt.Println(t.Kind, text[t.Start:t.End])
//	}
//
// Split cuts a text into statements, knows the mysql client's DELIMITER, and
// keeps the bodies of stored programs whole.
package sqltoken
