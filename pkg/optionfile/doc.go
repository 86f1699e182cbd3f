// Package optionfile answers one question: what do the option files and the
// login path file say to a MySQL client program?
//
// It reads my.cnf files in the order of the mysql client, with their groups,
// quotes, escapes and includes, and .mylogin.cnf, and returns the options in
// the order in which they were read: of two with one name the later wins, in
// whichever group or file it stands. What my_print_defaults prints of a file
// is what Read returns of it.
//
// It promises that no value and no text of a line appears in an error, in a
// warning or in what fmt prints of a Result: any of them may be a password.
//
// It does not know what an option means, which names exist, or whether a
// skip- in front of a name negates it. It reads no environment and no home
// directory of its own: the caller passes both.
//
// Where a client aborts, Read returns an error; where it complains and goes
// on, and in a few cases where it goes on in silence, Result has a warning.
// Read differs from the clients in these points only:
//   - a byte order mark at the start of a file is skipped, not an error;
//   - a line may be of any length, and a last line needs no line end;
//   - a file with a NUL byte is refused (clients lose the rest of the line);
//   - an include is refused when more than a thousand files have been read;
//   - directives in a login path file are not followed.
//
// A client's white space includes the byte 0xA0, so an unquoted value that
// ends in "à" in UTF-8 loses its last byte, here as there: put it in quotes.
//
//	res, err := optionfile.Read(optionfile.Options{
//		Home:   home,
//		Groups: []string{"client", "mysqlrw"},
//	})
//	if user, ok := res.Lookup("user"); ok {
//		name, _ := user.Value()
//		fmt.Println(name, "from", user.Source())
//	}
package optionfile
