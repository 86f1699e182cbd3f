package binlog

import "strconv"

// eventType is an event's type code. Those above 159 are MariaDB's own.
type eventType uint8

// The types that something is known of ("Binary Log Events" of both manuals).
const (
	startV3             eventType = 1
	query               eventType = 2
	stop                eventType = 3
	rotate              eventType = 4
	intVar              eventType = 5
	load                eventType = 6
	replica             eventType = 7
	createFile          eventType = 8
	appendBlock         eventType = 9
	execLoad            eventType = 10
	deleteFile          eventType = 11
	newLoad             eventType = 12
	random              eventType = 13
	userVar             eventType = 14
	formatDescription   eventType = 15
	xid                 eventType = 16
	beginLoadQuery      eventType = 17
	executeLoadQuery    eventType = 18
	tableMap            eventType = 19
	firstRows           eventType = 20 // of MySQL 5.1
	lastRows            eventType = 25
	incident            eventType = 26
	heartbeat           eventType = 27
	ignorable           eventType = 28
	rowsQuery           eventType = 29
	writeRows           eventType = 30
	deleteRows          eventType = 32
	gtidLog             eventType = 33
	anonymousGTID       eventType = 34
	previousGTIDs       eventType = 35
	transactionContext  eventType = 36
	viewChange          eventType = 37
	xaPrepare           eventType = 38
	partialUpdateRows   eventType = 39
	transactionPayload  eventType = 40
	heartbeatV2         eventType = 41
	taggedGTID          eventType = 42
	annotateRows        eventType = 160
	binlogCheckpoint    eventType = 161
	mariadbGTID         eventType = 162
	gtidList            eventType = 163
	startEncryption     eventType = 164
	queryCompressed     eventType = 165
	firstRowsCompressed eventType = 166
	lastRowsCompressed  eventType = 171
	partialRowData      eventType = 172
)

// ignorableFlag is of events that who does not know them need not care about.
const ignorableFlag = 0x80

// decoded tells whether the event is looked into.
func (t eventType) decoded() bool {
	switch t {
	case query, formatDescription, xid, executeLoadQuery, tableMap, gtidLog, anonymousGTID, xaPrepare, taggedGTID,
		mariadbGTID, queryCompressed:
		return true
	}
	return false
}

// packable tells whether the event is looked into in a payload.
func (t eventType) packable() bool {
	switch t {
	case query, xid, executeLoadQuery, tableMap, xaPrepare:
		return true
	}
	return false
}

// skipped tells whether nothing in the event matters: rows, whose table stands in the event before,
// settings for statements, and what is for the servers' own bookkeeping.
func (t eventType) skipped(flags uint16) bool {
	switch t {
	case startV3, stop, rotate, intVar, replica, appendBlock, deleteFile, random, userVar, beginLoadQuery, ignorable,
		rowsQuery, previousGTIDs, transactionContext, viewChange, partialUpdateRows, annotateRows, binlogCheckpoint,
		gtidList, startEncryption, partialRowData:
		return true
	case incident, heartbeat, transactionPayload, heartbeatV2:
		return false
	}
	return t >= firstRows && t <= lastRows || t >= writeRows && t <= deleteRows ||
		t >= firstRowsCompressed && t <= lastRowsCompressed || !t.decoded() && flags&ignorableFlag != 0
}

// reasonOf says why an event means that something is lost.
func reasonOf(t eventType) string {
	switch t {
	case incident:
		return "the server has logged an incident: events may be missing"
	case load, createFile, execLoad, newLoad:
		return "a LOAD DATA of an old server"
	}
	return "an event of an unknown type, " + strconv.Itoa(int(t))
}

// String is for errors.
func (t eventType) String() string { return "event of type " + strconv.Itoa(int(t)) }
