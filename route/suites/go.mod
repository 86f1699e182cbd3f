module github.com/mysqlrw/mysqlrw/route/suites

go 1.26.0

replace github.com/mysqlrw/mysqlrw => ../..

require (
	github.com/mysqlrw/mysqlrw v0.0.0-00010101000000-000000000000
	github.com/pingcap/tidb/pkg/parser v0.0.0-20260418072757-ce92298d1124
)

require (
	filippo.io/edwards25519 v1.2.0 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/go-sql-driver/mysql v1.10.1 // indirect
	github.com/pingcap/errors v0.11.5-0.20250523034308-74f78ae071ee // indirect
	github.com/pingcap/failpoint v0.0.0-20240528011301-b51a646c7c86 // indirect
	github.com/pingcap/log v1.1.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.27.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.19.0 // indirect
	gopkg.in/natefinch/lumberjack.v2 v2.2.1 // indirect
)
