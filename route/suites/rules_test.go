package suites

import (
	"slices"
	"strings"

	"github.com/pingcap/tidb/pkg/parser/ast"

	"github.com/mysqlrw/mysqlrw/route"
)

// rule explains a kind of disagreement. The first one that matches counts.
type rule struct {
	name, why string
	match     func(*finding) bool
}

// explain returns the rule that explains a finding. Nothing explains that a
// text may run on a replica which is more than a query for the oracle.
func explain(f *finding) (name string, known bool) {
	harmless := []route.Class{route.Read, route.Show, route.Explain}
	if f.problem == "class" && f.ours.Target == route.ToReplica && !slices.Contains(harmless, f.theirs) {
		return "", false
	}
	for _, r := range rules() {
		if r.match(f) {
			return r.name, true
		}
	}
	return "", false
}

func rules() []rule {
	return slices.Concat(lexerRules(), programRules(), functionRules(), verbRules(), auditRules())
}

// lexerRules explain texts that do not end where the suite says.
func lexerRules() []rule {
	return []rule{
		{
			"quote-of-the-reader", "MariaDB's mysqltest takes an apostrophe in a comment, or before the second byte of a" +
				" character, for a quote, so that its text has several statements; the lexer finds each of them",
			func(f *finding) bool {
				return f.problem == "semicolon" && (strings.Contains(f.Text, "/* doesn't") ||
					strings.Contains(f.Text, "/*doesn't") || f.File == "include/ctype_E05C.inc")
			},
		},
		{
			"brackets", "names in brackets, of MariaDB's sql_mode MSSQL, are not known to the lexer",
			func(f *finding) bool {
				return f.problem == "invalid" && strings.HasPrefix(f.File, "suite/compat/mssql/")
			},
		},
		{
			"broken-condition", "the condition of this file is not well-formed",
			func(f *finding) bool {
				return f.problem == "unterminated" && strings.HasSuffix(f.File, "/have_rocksdb_default.inc")
			},
		},
	}
}

// programRules explain stored programs that are taken for several statements.
// All of them go to the primary.
func programRules() []rule {
	program := func(match func(*finding) bool) func(*finding) bool {
		return func(f *finding) bool {
			return f.problem == "program" && f.ours.Target != route.ToReplica && match(f)
		}
	}
	has := func(words string) func(*finding) bool {
		return func(f *finding) bool { return strings.Contains(strings.ToUpper(f.Text), words) }
	}
	return []rule{
		{
			"program-rejected", "the suite expects a syntax error in the stored program",
			program(func(f *finding) bool { return f.Fails("ER_PARSE_ERROR", "1064") }),
		},
		{
			"program-and-more", "other statements follow the stored program in the text",
			program(func(f *finding) bool {
				return f.ours.Class == route.DDL || f.Fails("ER_BAD_FIELD_ERROR") || strings.HasSuffix(f.Text, "DELIMITER ;")
			}),
		},
		{"package", "the body of a package of MariaDB's is not followed", program(has("PACKAGE"))},
		{"oracle-program", "a program of MariaDB's sql_mode ORACLE is not followed", program(func(f *finding) bool { return f.Mode&Oracle != 0 })},
		{"for-loop", "a body that is a FOR loop, without BEGIN, is not followed", program(has("END FOR"))},
	}
}

// because matches what has our reason, and class if any is given.
func because(reason route.Reason, classes ...route.Class) func(*finding) bool {
	return func(f *finding) bool {
		return f.problem == "class" && f.ours.Reason == reason &&
			(len(classes) == 0 || slices.Contains(classes, f.ours.Class))
	}
}

// functionRules explain classes that come from what a query calls or reads,
// which the oracle's tree does not tell.
func functionRules() []rule {
	return []rule{
		{"sys", "views of the schema sys call functions that set user variables, so that they are no plain read", because(route.SystemSchema, route.Diagnostics)},
		{
			"rejected", "the suite expects a syntax error; the oracle is more lenient",
			func(f *finding) bool {
				return f.problem == "class" && f.Fails("ER_PARSE_ERROR", "1064") && f.ours.Target != route.ToReplica
			},
		},
		{"unknown-function", "a function that is no built-in may be a stored one, and write", because(route.UnknownFunction, route.Call)},
		{"variable", "a user variable gets its value on the server that runs the text", because(route.AssignsVariable, route.Write)},
		{"lock", "a user-level lock is taken", because(route.TakesLock, route.LockingRead)},
		{"lock-released", "a user-level lock is released", because(route.ReleasesLock, route.LockingRead)},
		{"lock-checked", "a user-level lock is asked for", because(route.ChecksLock, route.LockingRead)},
		{"sequence", "a sequence is advanced or set", because(route.UsesSequence, route.Write)},
		{"insert-id", "LAST_INSERT_ID(x) sets the session's", because(route.LastInsertID, route.Write)},
		{"previous", "it asks about the statement before", because(route.PreviousStatement, route.Diagnostics)},
		{"connection", "it asks about the connection, or may: XPath reads user variables", because(route.ConnectionState, route.Diagnostics)},
		{
			"locks-in-subquery", "a query within DO, SET or SHOW takes row locks, as the server does there",
			func(f *finding) bool {
				_, isDo := f.node.(*ast.DoStmt)
				return f.problem == "class" && f.ours.Reason == route.LocksRows &&
					(isDo || f.theirs == route.Set || f.theirs == route.Show)
			},
		},
	}
}

// verbRules explain statements that the two put in different classes.
func verbRules() []rule {
	from := func(theirs route.Class, ours ...route.Class) func(*finding) bool {
		return func(f *finding) bool {
			return f.problem == "class" && f.theirs == theirs && slices.Contains(ours, f.ours.Class)
		}
	}
	return []rule{
		{"explain-analyze", "EXPLAIN ANALYZE runs its statement; of a query it is an Explain here", from(route.Read, route.Explain)},
		{"explain-of-more", "EXPLAIN of what is no plain query is not split", from(route.Explain, route.Write, route.LockingRead, route.Diagnostics)},
		{"alter", "ALTER TABLE ... ANALYZE PARTITION and ALTER INSTANCE are ALTER here", from(route.Admin, route.DDL)},
		{"resource-group", "SET RESOURCE GROUP has no class in the oracle", from(route.Unknown, route.Set)},
		{
			"other-version", "an executable comment is for a version that the suite's server has not",
			func(f *finding) bool { return f.problem == "class" && strings.Contains(f.Text, "/*!99999") },
		},
	}
}

// auditRules explain suspicious words in texts that may run on a replica.
func auditRules() []rule {
	noted := func(facts route.Facts, words ...string) func(*finding) bool {
		return func(f *finding) bool {
			return f.problem == "audit" && f.ours.Facts.Any(facts) &&
				slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(f.word, word) })
		}
	}
	return []rule{
		{
			"system-variable", "the session's variables are the same on each of its connections",
			func(f *finding) bool {
				name := strings.ToLower(f.word[strings.LastIndexAny(f.word, "@.")+1:])
				return f.problem == "audit" && strings.HasPrefix(f.word, "@@") && !strings.HasPrefix(f.word, "@@GLOBAL") &&
					!slices.Contains(serverVariables(), name)
			},
		},
		{
			"rejected-read", "the suite expects a syntax error, which a replica gives as well",
			func(f *finding) bool { return f.problem == "audit" && f.Fails("ER_PARSE_ERROR", "1064") },
		},
		{"read-variable", "a user variable is read: the session knows where it lives", noted(route.FactUserVariable, "@")},
		{
			"insert-id-read", "LAST_INSERT_ID() is read: the session knows where it is",
			noted(route.FactLastInsertID, "LAST_INSERT_ID", "@@"),
		},
		{"found-rows", "SQL_CALC_FOUND_ROWS: the session goes back to the server for FOUND_ROWS()", noted(route.FactCountsFoundRows, "SQL_CALC")},
		{
			"json-returning", "RETURNING is part of JSON_VALUE",
			func(f *finding) bool { return f.word == "RETURNING" && strings.Contains(f.upper, "JSON_VALUE") },
		},
		{
			"several-reads", "each of several statements is a read",
			func(f *finding) bool {
				return f.problem == "audit" && f.ours.Count > 1 && f.word[0] == ';' && strings.HasSuffix(f.word, "SELECT")
			},
		},
		{
			"named-like-a-built-in", "the suite creates stored functions with names of built-ins and types, which" +
				" a call without a schema does not reach",
			func(f *finding) bool {
				return f.problem == "calls" && slices.Contains(strings.Fields("abs binary char current_user database date"+
					" datetime decimal float geometrycollection json_table linestring md5 multilinestring multipoint"+
					" multipolygon pi point polygon real sha2 st_x st_y sum sysdate time timestamp upper x y year"),
					strings.TrimSuffix(f.word, "("))
			},
		},
	}
}

// serverVariables are what differs between servers, or tells of the connection
// or of the statement before.
func serverVariables() []string {
	return strings.Fields("error_count external_user gtid_binlog_pos gtid_current_pos gtid_executed gtid_next gtid_owned" +
		" gtid_purged gtid_slave_pos hostname identity in_transaction insert_id last_gtid last_insert_id port proxy_user" +
		" pseudo_thread_id rand_seed1 rand_seed2 read_only server_id server_uuid socket statement_id super_read_only" +
		" warning_count")
}
