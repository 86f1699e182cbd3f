module github.com/mysqlrw/mysqlrw/pkg/rwdb/suites

go 1.26.0

replace github.com/mysqlrw/mysqlrw => ../../..

require github.com/mysqlrw/mysqlrw v0.0.0-00010101000000-000000000000

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	golang.org/x/sync v0.25.0 // indirect
)
