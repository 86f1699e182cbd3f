package mysql

import "database/sql"

// How the tests of this package open their pools.
var (
	OpenPool      = sql.Open
	PoolConnector = NewConnector
)
