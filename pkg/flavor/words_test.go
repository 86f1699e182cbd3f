package flavor_test

import (
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// aliases are the columns of SHOW REPLICA STATUS that have had two names, new
// and old, in MySQL.
const aliases = `
Replica_IO_State Slave_IO_State
Source_Host Master_Host
Source_User Master_User
Source_Port Master_Port
Source_Log_File Master_Log_File
Read_Source_Log_Pos Read_Master_Log_Pos
Relay_Source_Log_File Relay_Master_Log_File
Replica_IO_Running Slave_IO_Running
Replica_SQL_Running Slave_SQL_Running
Exec_Source_Log_Pos Exec_Master_Log_Pos
Source_SSL_Allowed Master_SSL_Allowed
Source_SSL_CA_File Master_SSL_CA_File
Source_SSL_CA_Path Master_SSL_CA_Path
Source_SSL_Cert Master_SSL_Cert
Source_SSL_Cipher Master_SSL_Cipher
Source_SSL_Key Master_SSL_Key
Seconds_Behind_Source Seconds_Behind_Master
Source_SSL_Verify_Server_Cert Master_SSL_Verify_Server_Cert
Source_Server_Id Master_Server_Id
Source_UUID Master_UUID
Source_Info_File Master_Info_File
Replica_SQL_Running_State Slave_SQL_Running_State
Source_Retry_Count Master_Retry_Count
Source_Bind Master_Bind
Source_SSL_Crl Master_SSL_Crl
Source_SSL_Crlpath Master_SSL_Crlpath
Source_TLS_Version Master_TLS_Version
Source_public_key_path Master_public_key_path
Get_Source_public_key Get_master_public_key
Replica_UUID Slave_UUID
`

// mariadbOnly are MariaDB's columns that MySQL does not have.
const mariadbOnly = `
Channel_Name Connection_name
Replica_SQL_State Slave_SQL_State
Replica_DDL_Groups Slave_DDL_Groups
Replica_Non_Transactional_Groups Slave_Non_Transactional_Groups
Replica_Transactional_Groups Slave_Transactional_Groups
Replica_received_heartbeats Slave_received_heartbeats
Replica_heartbeat_period Slave_heartbeat_period
Source_last_event_time Master_last_event_time
Replica_last_event_time Slave_last_event_time
Source_Replica_time_diff Master_Slave_time_diff
Gtid_Replica_Pos Gtid_Slave_Pos
`

// same are columns that have had one name only.
const same = `Connect_Retry Relay_Log_File Relay_Log_Pos Replicate_Do_DB Replicate_Ignore_Server_Ids Last_Errno Last_Error
Skip_Counter Relay_Log_Space Until_Condition Until_Log_File Until_Log_Pos Last_IO_Errno Last_IO_Error Last_SQL_Errno
Last_SQL_Error SQL_Delay SQL_Remaining_Delay Last_IO_Error_Timestamp Last_SQL_Error_Timestamp Retrieved_Gtid_Set
Executed_Gtid_Set Auto_Position Replicate_Rewrite_DB Channel_Name Network_Namespace Using_Gtid Gtid_IO_Pos
Replicate_Do_Domain_Ids Replicate_Ignore_Domain_Ids Parallel_Mode Retried_transactions Max_relay_log_size
Executed_log_entries Connects_Tried File Position Variable_name Value`

func TestColumn(t *testing.T) {
	t.Parallel()
	words := strings.Fields(aliases + mariadbOnly)
	if len(words) != 2*(30+11) {
		t.Fatalf("%d words in the tables", len(words))
	}
	for i := 0; i < len(words); i += 2 {
		want, old := words[i], words[i+1]
		for _, name := range []string{want, old} {
			if got := flavor.Column(name); got != want {
				t.Errorf("%s: got %s, want %s", name, got, want)
			}
			for _, other := range []string{strings.ToLower(name), strings.ToUpper(name)} {
				if got := flavor.Column(other); !strings.EqualFold(got, want) {
					t.Errorf("%s: got %s, want %s in any case", other, got, want)
				}
			}
		}
	}
	for _, name := range strings.Fields(same) {
		if got := flavor.Column(name); got != name {
			t.Errorf("%s: got %s, want it unchanged", name, got)
		}
	}
	for _, name := range []string{"Master_id", "Source_Id", "Master_Server_Id"} { // SHOW REPLICAS and its kin
		if got := flavor.Column(name); got != "Source_Server_Id" {
			t.Errorf("%s: got %s, want Source_Server_Id", name, got)
		}
	}
}

func TestStatements(t *testing.T) {
	t.Parallel()
	my, maria := flavor.MySQL, flavor.MariaDB
	for _, tt := range []struct {
		got  []string
		want string
	}{
		{flavor.ReplicaStatus(my), "SHOW REPLICA STATUS|SHOW SLAVE STATUS"},
		{flavor.ReplicaStatus(maria), "SHOW ALL SLAVES STATUS|SHOW SLAVE STATUS"},
		{flavor.BinaryLogStatus(my), "SHOW BINARY LOG STATUS|SHOW MASTER STATUS"},
		{flavor.BinaryLogStatus(maria), "SHOW BINLOG STATUS|SHOW MASTER STATUS"},
		{flavor.Replicas(my), "SHOW REPLICAS|SHOW SLAVE HOSTS"},
		{flavor.Replicas(maria), "SHOW REPLICA HOSTS|SHOW SLAVE HOSTS"},
		{flavor.PositionWait(my, false), "SOURCE_POS_WAIT(?, ?, ?)|MASTER_POS_WAIT(?, ?, ?)"},
		{flavor.PositionWait(my, true), "SOURCE_POS_WAIT(?, ?, ?, ?)|MASTER_POS_WAIT(?, ?, ?, ?)"},
		{flavor.PositionWait(maria, true), "MASTER_POS_WAIT(?, ?, ?, ?)"},
		{[]string{flavor.GTIDWait(my), flavor.GTIDWait(maria)}, "WAIT_FOR_EXECUTED_GTID_SET(?, ?)|MASTER_GTID_WAIT(?, ?)"},
	} {
		if got := strings.Join(tt.got, "|"); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestReplicaStatements(t *testing.T) {
	t.Parallel()
	my, maria := flavor.MySQL, flavor.MariaDB
	for got, want := range map[string]string{
		flavor.StartReplica(my, ""):                      "START REPLICA",
		flavor.StopReplica(my, "a'b"):                    "STOP REPLICA FOR CHANNEL 'a''b'",
		flavor.StartReplica(maria, "a"):                  "START SLAVE 'a'",
		flavor.StopReplica(maria, ""):                    "STOP SLAVE",
		flavor.StartThread(my, flavor.Receiver, ""):      "START REPLICA IO_THREAD",
		flavor.StopThread(my, flavor.Applier, "a"):       "STOP REPLICA SQL_THREAD FOR CHANNEL 'a'",
		flavor.StartThread(maria, flavor.Applier, "a"):   "START SLAVE 'a' SQL_THREAD",
		flavor.StopThread(maria, flavor.Receiver, ""):    "STOP SLAVE IO_THREAD",
		flavor.StopThread(maria, flavor.Receiver, `a\b`): `STOP SLAVE 'a\\b' IO_THREAD`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestChangeSource(t *testing.T) {
	t.Parallel()
	gtids := flavor.SourceChange{Channel: "a", Host: "h", Port: 3306, User: "u", Password: `p'\`, GTID: true, Delay: 90e9, Heartbeat: 1500e6}
	file := flavor.SourceChange{Host: "h", Port: 3306, User: "u", Password: "p", File: "bin.000002", Position: 4}
	for _, tt := range []struct {
		f      flavor.Flavor
		change flavor.SourceChange
		want   string
	}{
		{flavor.MySQL, gtids, `CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h', SOURCE_PORT = 3306, SOURCE_USER = 'u', SOURCE_PASSWORD = 'p''\\',` +
			` SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_HEARTBEAT_PERIOD = 1.500, SOURCE_DELAY = 90,` +
			` SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1 FOR CHANNEL 'a'`},
		{flavor.MariaDB, gtids, `CHANGE MASTER 'a' TO MASTER_HOST = 'h', MASTER_PORT = 3306, MASTER_USER = 'u', MASTER_PASSWORD = 'p''\\',` +
			` MASTER_CONNECT_RETRY = 1, MASTER_HEARTBEAT_PERIOD = 1.500, MASTER_DELAY = 90, MASTER_USE_GTID = slave_pos`},
		{flavor.MySQL, file, `CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'h', SOURCE_PORT = 3306, SOURCE_USER = 'u', SOURCE_PASSWORD = 'p',` +
			` SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 86400, SOURCE_LOG_FILE = 'bin.000002', SOURCE_LOG_POS = 4,` +
			` SOURCE_AUTO_POSITION = 0, GET_SOURCE_PUBLIC_KEY = 1`},
		{flavor.MariaDB, file, `CHANGE MASTER TO MASTER_HOST = 'h', MASTER_PORT = 3306, MASTER_USER = 'u', MASTER_PASSWORD = 'p',` +
			` MASTER_CONNECT_RETRY = 1, MASTER_LOG_FILE = 'bin.000002', MASTER_LOG_POS = 4, MASTER_USE_GTID = no`},
	} {
		if got := flavor.ChangeSource(tt.f, tt.change); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.f, got, tt.want)
		}
	}
}

func TestLogReader(t *testing.T) {
	t.Parallel()
	o := flavor.LogReaderOptions{Heartbeat: 1500e6, UUID: "u", Position: "0-1-5"}
	for f, want := range map[flavor.Flavor]string{
		flavor.MySQL: "SET @source_binlog_checksum = 'CRC32', @master_binlog_checksum = 'CRC32', @source_heartbeat_period = 1500000000," +
			" @master_heartbeat_period = 1500000000, @replica_uuid = 'u', @slave_uuid = 'u'",
		flavor.MariaDB: "SET @master_binlog_checksum = 'CRC32', @master_heartbeat_period = 1500000000, @mariadb_slave_capability = 4," +
			" @slave_connect_state = '0-1-5', @slave_gtid_strict_mode = 1, @slave_gtid_ignore_duplicates = 0",
	} {
		if got := flavor.LogReader(f, o); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", f, got, want)
		}
	}
}

func TestSemiSync(t *testing.T) {
	t.Parallel()
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		w := flavor.SemiSync(f)
		if (w.SourcePlugin == "") != (f == flavor.MariaDB) || (w.ReplicaPlugin == "") != (f == flavor.MariaDB) {
			t.Errorf("%s: got plugins %q and %q: it is built into MariaDB only", f, w.SourcePlugin, w.ReplicaPlugin)
		}
		if flavor.SemiSyncSide(w.SourceStatus) != flavor.SourceSide || flavor.SemiSyncSide(w.ReplicaStatus) != flavor.ReplicaSide {
			t.Errorf("%s: the sides of %q and %q are not told apart", f, w.SourceStatus, w.ReplicaStatus)
		}
		if flavor.SemiSyncSide(w.SourceClients) != flavor.NoSide {
			t.Errorf("%s: %s is taken for a state", f, w.SourceClients)
		}
		log, timeout := flavor.ReplicaVariables(f)
		if !strings.HasPrefix(log, "log_") || !strings.HasSuffix(timeout, "_net_timeout") {
			t.Errorf("%s: got %s and %s", f, log, timeout)
		}
	}
}
