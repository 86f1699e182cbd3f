package route_test

import (
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// position is what has run of the first n transactions.
func position(n int) gtid.Value {
	v, err := gtid.ParseValue(fmt.Sprintf("%s:1-%d", uuid, n))
	if err != nil {
		panic(err)
	}
	return v
}

// A read after a write goes to a replica that has the write. While there is none, the nearest replica is waited for.
func Example() {
	policy := route.DefaultPolicy() // level session: a session sees what it has written
	snapshot := route.Snapshot{Servers: []route.Server{
		{Name: "db1", Role: route.Primary, State: route.Online, Position: position(7)},
		{Name: "db2", State: route.Online, LagKnown: true, Weight: 1, Position: position(7)},
	}}
	var session route.Session

	run := func(text string, outcome route.Outcome) {
		st := route.Classify(text, &session.Options)
		d := session.Decide(&st, text, &policy, &snapshot, nil)
		server := "nobody"
		if d.Server >= 0 {
			server = snapshot.Servers[d.Server].Name
		}
		fmt.Printf("%s\n\t%s on %s (%s), wait %v: %v\n", text, st.Class, server, d.Target, d.Wait, d.Reasons())
		session.Apply(&st, text, &d, &snapshot, outcome)
	}

	run("SELECT price FROM item", route.Outcome{})
	run("UPDATE item SET price = 100", route.Outcome{Position: position(8), Wrote: true}) // the answer says that it is number 8
	run("SELECT price FROM item", route.Outcome{})

	snapshot.Servers[1].Position = position(8) // db2 has it
	run("SELECT price FROM item", route.Outcome{})
	run("SELECT price FROM item FOR UPDATE", route.Outcome{})
	// Output:
	// SELECT price FROM item
	// 	read on db2 (replica), wait 0s: [any-replica]
	// UPDATE item SET price = 100
	// 	write on db1 (primary), wait 0s: [writes]
	// SELECT price FROM item
	// 	read on db2 (replica), wait 10ms: [wait-for-replica]
	// SELECT price FROM item
	// 	read on db2 (replica), wait 0s: [caught-up]
	// SELECT price FROM item FOR UPDATE
	// 	locking-read on db1 (primary), wait 0s: [locks-rows]
}

// What is not certainly a read goes to the primary.
func ExampleClassify() {
	for _, text := range []string{
		"SELECT name FROM item",
		"SELECT name FROM item FOR UPDATE",
		"SELECT GET_LOCK('a', 1)",
		"SELECT my_function()",
		"WITH t AS (SELECT 1) DELETE FROM item",
		"SELEC name FROM item",
	} {
		st := route.Classify(text, &route.Options{})
		fmt.Printf("%-12s %-7s %-16s %q\n", st.Class, st.Target, st.Reason, text[st.At:st.End])
	}
	// Output:
	// read         replica read             "SELECT"
	// locking-read primary locks-rows       "FOR UPDATE"
	// locking-read primary takes-lock       "GET_LOCK"
	// call         primary unknown-function "my_function"
	// write        primary writes           "DELETE"
	// unknown      primary not-understood   "SELEC"
}

// At level global a read must see what anybody committed before it arrived, which only the primary knows.
func ExampleSession_Decide_fetch() {
	policy := route.DefaultPolicy()
	policy.Level = route.Global
	snapshot := route.Snapshot{Servers: []route.Server{
		{Name: "db1", Role: route.Primary, State: route.Online, Position: position(7)},
		{Name: "db2", State: route.Online, LagKnown: true, Weight: 1, Position: position(8)},
	}}
	var session route.Session

	text := "SELECT price FROM item"
	st := route.Classify(text, &session.Options)
	d := session.Decide(&st, text, &policy, &snapshot, nil)
	fmt.Println(d.Fetch, d.Reason())
	if d.Fetch {
		current := position(8) // the primary's answer to SELECT @@GLOBAL.gtid_executed
		snapshot.SetCurrent(current, current)
		d = session.Decide(&st, text, &policy, &snapshot, nil)
	}
	fmt.Println(snapshot.Servers[d.Server].Name, d.Reason())
	// Output:
	// true position-unknown
	// db2 caught-up
}

// Why a server takes a read, or does not.
func ExampleSession_Candidates() {
	policy := route.DefaultPolicy()
	policy.MaxLag = 10 * time.Second
	snapshot := route.Snapshot{Servers: []route.Server{
		{Name: "db1", Role: route.Primary, State: route.Online},
		{Name: "db2", State: route.Online, LagKnown: true, Weight: 1},
		{Name: "db3", State: route.Online, LagKnown: true, Lag: time.Minute, Weight: 1},
		{Name: "db4", State: route.Online, Weight: 1}, // its lag is unknown, which is not 0
		{Name: "db5", State: route.Broken, Weight: 1},
	}}
	var session route.Session
	text := "SELECT 1 FROM item"
	st := route.Classify(text, &session.Options)
	session.Decide(&st, text, &policy, &snapshot, nil)
	for _, c := range session.Candidates() {
		fmt.Println(snapshot.Servers[c.Server].Name, c.Readable(), c.Why)
	}
	// Output:
	// db1 false primary-not-read
	// db2 true readable
	// db3 false lag-over-limit
	// db4 false lag-unknown
	// db5 false replication-broken
}
