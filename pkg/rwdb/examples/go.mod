module github.com/mysqlrw/mysqlrw/pkg/rwdb/examples

go 1.26.0

replace github.com/mysqlrw/mysqlrw => ../../..

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/jmoiron/sqlx v1.4.0
	github.com/mysqlrw/mysqlrw v0.0.0-00010101000000-000000000000
	gorm.io/driver/mysql v1.6.0
	gorm.io/gorm v1.31.2
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.20.0 // indirect
)
