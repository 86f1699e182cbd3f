// Command mysqlrw measures and waits for replication on MySQL and MariaDB.
package main

import (
	"os"

	"github.com/mysqlrw/mysqlrw/commands"
)

func main() { os.Exit(commands.Main()) }
