// Package tracker knows which tables of a primary changed last, so that a read waits for no more than the tables that
// it reads.
//
// A Tracker follows the primary's binary log as a replica would, and keeps for each table the transactions that
// changed it, as far as a replica may lack them. A read of some tables that must see everything up to a position P
// needs, of P, only what changed these:
//
//	P ∩ (base ∪ changes of its tables)
//
// base is what cannot be told apart: all from before the tracker started, DDL, statements that are logged as text, what
// could not be read, and what every replica has. So forgetting a table's changes means to move them into base: a read
// may then wait for more than it must, and never for less. The same holds for names: every identifier in a text counts
// as a table that may be read (Names), and a table of another name with the same Key is taken for it.
//
// Need says no, and the read needs all of P, while the tracker has not read all of P itself, while a DDL is newer than
// what it knows of views and foreign keys (Schema), and for statements whose names cannot be told or name a view.
package tracker
