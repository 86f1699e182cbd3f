package gtid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

func TestParseLenient(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"plain", "<U>:1-5", "<U>:1-5"},
		{"as Parse reads it", "<U>:\ntag:7,{<V>}:5-3", "<U>:tag:7"},
		{"single quotes", "'<U>:1-5'", "<U>:1-5"},
		{"double quotes", ` "<U>:1-5" `, "<U>:1-5"},
		{"quoted empty set", "''", ""},
		{"leading plus", "+<U>:1-5", "<U>:1-5"},
		{"plus in quotes", "'+<U>:1-5';", "<U>:1-5"},
		{"semicolon", "<U>:1-5;\n", "<U>:1-5"},
		{"escaped line breaks", `"<V>:1,` + `\` + `n<U>:1-5` + `\` + `r` + `\` + `n"`, "<V>:1,\n<U>:1-5"},
		{"comment", "<U>:1-5 /* before the switch */", "<U>:1-5"},
		{
			"mysqldump", // go-mysql 442 and 561
			"SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '<U>:1-5,\n<V>:1';",
			"<V>:1,\n<U>:1-5",
		},
		{"mysqldump, nothing executed", "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '';", ""},
		{
			"head of a dump",
			"-- MySQL dump 10.13  Distrib 8.4.3, for Linux (x86_64)\n--\n" +
				"/*!50503 SET NAMES utf8mb4 */;\n" +
				"SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;\n" +
				"SET @@SESSION.SQL_LOG_BIN= 0;\n\n" +
				"--\n-- GTID state at the beginning of the backup \n--\n\n" +
				"SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '<U>:1-5,\n<V>:1';\n\n" +
				"--\n-- Table structure for table `t`\n--\n\n" +
				"DROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (\n  `a` int\n);\n",
			"<V>:1,\n<U>:1-5",
		},
		{"set statement", "set global gtid_purged := \"+<U>:1\"", "<U>:1"},
		{"binlog event", "SET @@SESSION.GTID_NEXT= '<U>:tag:5'/*!*/;", "<U>:tag:5"},
		{"any one assignment", "position = '<U>:7'", "<U>:7"},
		{
			"replica status",
			"*************************** 1. row ***************************\n" +
				"             Replica_IO_State: Waiting for source to send event\n" +
				"                  Source_Host: 10.0.0.1\n" +
				"                  Source_UUID: <V>\n" +
				"           Retrieved_Gtid_Set: <V>:4-9\n" +
				"            Executed_Gtid_Set: <U>:1-5:tag:1,\n<V>:1-8\n" +
				"                Auto_Position: 1\n" +
				"         Replicate_Rewrite_DB: \n" +
				"1 row in set (0.00 sec)\n",
			"<V>:1-8,\n<U>:1-5:tag:1",
		},
		{
			"two channels",
			"*** 1. row ***\nExecuted_Gtid_Set: <U>:1-5\nChannel_Name: a\n" +
				"*** 2. row ***\nExecuted_Gtid_Set: <U>:1-7\nChannel_Name: b\n",
			"<U>:1-7",
		},
		{"one line of status", "Executed_Gtid_Set: <U>:1-5,\n   <V>:1", "<V>:1,\n<U>:1-5"},
		{"the received set alone", "  Retrieved_Gtid_Set: <U>:3", "<U>:3"},
		{"empty executed set", "Retrieved_Gtid_Set: <U>:3\nExecuted_Gtid_Set:\nAuto_Position: 0", ""},
		{"variable", "*** 1. row ***\n@@GLOBAL.gtid_executed: <U>:1-5\r\n", "<U>:1-5"},
		{"prompt", "mysql> select @@gtid_purged\\G\n@@gtid_purged: <U>:1\n1 row in set (0,01 sec)\n", "<U>:1"},
		{"executed goes before purged", "@@gtid_purged: <U>:1\n@@gtid_executed: <U>:1-9", "<U>:1-9"},
		{"a tag and a UUID at the start of lines", "'<U>:1:\ntag:7,\n<DASHLESS>:9'", "<U>:1:9:tag:7"},
		{"mydumper", "\tLog: binlog.000003\n\tPos: 10268\n\tGTID:<U>:1-64\n", "<U>:1-64"},
	}
	for _, test := range tests {
		text := strings.NewReplacer("<U>", uuidU, "<V>", uuidV, "<DASHLESS>", uuidU32).Replace(test.text)
		got, err := gtid.ParseLenient(text)
		if want := expand(test.want); err != nil || got.String() != want {
			t.Errorf("%s: ParseLenient(%q) = %q, %v; want %q", test.name, text, got, err, want)
		}
	}
}

func TestParseLenient_errors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, at, msg string // at: where the error points
	}{
		{"garbage", "hello", "hello", "expected a hexadecimal digit"},
		{"wrong number inside", "SET @@GLOBAL.GTID_PURGED='<U>:1-5,<V>:0';", "0';", "start of interval out of range"},
		{"quote inside a number", "'<U>:1'2", "2", `expected ","`},
		{"only comments", "-- nothing\n/* here */\n# at all", "--", "no GTID set in this text"},
		{"an empty value of no name for sets", "Channel_Name:\n", "Chan", "no GTID set in this text"},
		{
			"two received sets",
			"Retrieved_Gtid_Set: <U>:1\nRetrieved_Gtid_Set: <V>:1", "<V>",
			"several values, and none is called Executed_Gtid_Set",
		},
		{
			"no set among the values",
			"File: binlog.000001\nPosition: 4", "4",
			"several values, and none is called Executed_Gtid_Set",
		},
		{
			"set outside the value",
			"<V>:1,\nExecuted_Gtid_Set: <U>:1", "<V>",
			"a set without a name beside a value that has one",
		},
		{
			"set behind the statement",
			"SET GLOBAL gtid_purged='<U>:1'; <V>:1", "<V>",
			"a set without a name beside a value that has one",
		},
		{"two sets", "<U>:1;<V>:1", "<V>", "several values, and none is called Executed_Gtid_Set"},
	}
	for _, test := range tests {
		text, at := expand(test.text), expand(test.at)
		set, err := gtid.ParseLenient(text)
		var perr *gtid.ParseError
		if !errors.As(err, &perr) {
			t.Errorf("%s: ParseLenient(%q) = %q, %v", test.name, text, set, err)
			continue
		}
		if !strings.HasPrefix(text[perr.Offset:], at) || perr.Msg != test.msg {
			t.Errorf("%s: ParseLenient(%q): %v; want %q at %q", test.name, text, err, test.msg, at)
		}
		if !strings.HasPrefix(text[perr.Offset:], perr.Near) {
			t.Errorf("%s: error near %q does not show the text given", test.name, perr.Near)
		}
	}
}
