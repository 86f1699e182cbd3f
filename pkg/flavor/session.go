package flavor

// SessionUse says what a session variable means to who moves a session from one connection to
// another.
type SessionUse uint8

// The uses. Carried is the zero value, and that of every variable that is not known here.
const (
	// Carried goes along: SET gives the other connection the same value.
	Carried SessionUse = iota
	// Bound has a meaning on its own connection only, is used up by the next statement, or is
	// reported in a way that does not tell its value. A session that sets one stays where it is.
	Bound
	// Ignored is no state of the session, or is followed otherwise.
	Ignored
	// Alias is another name of the variable that is returned with it.
	Alias
	// Part changes the variable that is returned with it, which holds all that it does.
	Part
	// Affects is carried, and changes the variable that is returned with it.
	Affects
	// Recording is carried. While it is on, the server keeps for this connection what was done on it,
	// and a session that asks for that stays there.
	Recording
)

// IsolationVariable returns the variable of the isolation level under the name that all versions in use have.
func IsolationVariable(f Flavor) string {
	if f == MariaDB {
		return "tx_isolation"
	}
	return "transaction_isolation"
}

// SessionVariable tells the use of a session variable by its name in lower case, and the other
// variable of an Alias, Part or Affects. None but the variable that was set is reported when the
// other one changes with it.
func SessionVariable(f Flavor, name string) (use SessionUse, other string) {
	switch name {
	case "timestamp", // the report of =DEFAULT is the old value, not that time goes on
		"rand_seed1", "rand_seed2", // reported as 0
		"insert_id", "last_insert_id", "gtid_seq_no", "wsrep_gtid_seq_no", // used up
		"original_commit_timestamp", "original_server_version", "immediate_server_version",
		"pseudo_thread_id", "pseudo_slave_mode", "pseudo_replica_mode", "gtid_next", "sql_log_bin",
		"skip_replication", "require_row_format", "debug", "debug_sync",
		"character_set_database", "collation_database", // until the next USE
		"system_versioning_asof": // its text depends on time_zone
		return Bound, ""
	case "optimizer_trace", "profiling":
		return Recording, ""
	case "session_track_gtids", "session_track_schema", "session_track_state_change",
		"session_track_system_variables", "session_track_transaction_info", "last_gtid", "statement_id",
		"error_count", "warning_count", "external_user", "proxy_user", "gtid_owned", "in_transaction",
		"max_allowed_packet", "max_user_connections", "net_buffer_length", // a session cannot set them
		"default_master_connection", "max_relay_log_size", "sql_slave_skip_counter": // of a replication channel
		return Ignored, ""
	case "character_set_connection":
		return Part, "collation_connection"
	case "character_set_server":
		return Part, "collation_server"
	case "max_join_size":
		return Affects, "sql_big_selects"
	case "identity":
		return Alias, "last_insert_id"
	}
	if f == MariaDB {
		return mariadbSession(name)
	}
	switch name {
	case "tx_isolation": // 5.7 has both names
		return Alias, "transaction_isolation"
	case "tx_read_only":
		return Alias, "transaction_read_only"
	}
	return Carried, ""
}

func mariadbSession(name string) (SessionUse, string) {
	switch name {
	case "transaction_isolation": // since 11.1
		return Alias, "tx_isolation"
	case "transaction_read_only":
		return Alias, "tx_read_only"
	case "storage_engine":
		return Alias, "default_storage_engine"
	case "tmp_memory_table_size":
		return Alias, "tmp_table_size"
	case "log_slow_query_time":
		return Alias, "long_query_time"
	case "log_slow_min_examined_row_limit":
		return Alias, "min_examined_row_limit"
	case "log_slow_query":
		return Alias, "slow_query_log"
	case "old_alter_table":
		return Alias, "alter_algorithm"
	case "wsrep_causal_reads":
		return Part, "wsrep_sync_wait"
	case "log_queries_not_using_indexes":
		return Part, "log_slow_filter"
	case "log_slow_admin_statements", "log_slow_slave_statements":
		return Part, "log_slow_disabled_statements"
	case "old":
		return Affects, "old_mode"
	}
	return Carried, ""
}

// SessionKind tells the type of a session variable of MySQL from 5.7 to 9.7, by its name in lower
// case, with the words of performance_schema.variables_metadata, which older servers do not have:
// Integer, String, or Enumeration for all that is neither. It is not found if it is not known as one
// that a session can set.
func SessionKind(name string) (kind string, ok bool) {
	switch name {
	case "auto_increment_increment", "auto_increment_offset", "binlog_transaction_compression_level_zstd",
		"bulk_insert_buffer_size", "connection_memory_chunk_size", "connection_memory_limit",
		"cte_max_recursion_depth", "default_week_format", "div_precision_increment", "eq_range_index_dive_limit",
		"explain_json_format_version", "generated_random_password_length", "group_concat_max_len",
		"histogram_generation_max_mem_size", "identity", "immediate_server_version",
		"information_schema_stats_expiry", "innodb_ddl_buffer_size", "innodb_ddl_threads",
		"innodb_lock_wait_timeout", "innodb_parallel_read_threads", "insert_id", "interactive_timeout",
		"join_buffer_size", "last_insert_id", "lock_wait_timeout", "long_query_time", "max_delayed_threads",
		"max_error_count", "max_execution_time", "max_heap_table_size", "max_insert_delayed_threads",
		"max_join_size", "max_length_for_sort_data", "max_points_in_geometry", "max_seeks_for_key",
		"max_sort_length", "max_sp_recursion_depth", "max_tmp_tables", "min_examined_row_limit",
		"multi_range_count", "myisam_repair_threads", "myisam_sort_buffer_size", "net_read_timeout",
		"net_retry_count", "net_write_timeout", "old_passwords", "optimizer_max_subgraph_pairs",
		"optimizer_prune_level", "optimizer_search_depth", "optimizer_trace_limit",
		"optimizer_trace_max_mem_size", "optimizer_trace_offset", "original_commit_timestamp",
		"original_server_version", "parser_max_mem_size", "preload_buffer_size", "profiling_history_size",
		"pseudo_thread_id", "query_alloc_block_size", "query_prealloc_size", "rand_seed1", "rand_seed2",
		"range_alloc_block_size", "range_optimizer_max_mem_size", "read_buffer_size", "read_rnd_buffer_size",
		"secondary_engine_cost_threshold", "select_into_buffer_size", "select_into_disk_sync_delay",
		"set_operations_buffer_size", "sort_buffer_size", "sql_select_limit", "timestamp", "tmp_table_size",
		"transaction_alloc_block_size", "transaction_prealloc_size", "wait_timeout":
		return "Integer", true
	case "character_set_client", "character_set_connection", "character_set_database", "character_set_filesystem",
		"character_set_results", "character_set_server", "collation_connection", "collation_database",
		"collation_server", "default_collation_for_utf8mb4", "default_storage_engine",
		"default_tmp_storage_engine", "external_table_secondary_storage_engine", "external_table_storage_engine",
		"gtid_next", "innodb_ft_user_stopword_table", "innodb_tmpdir", "lc_messages", "lc_time_names",
		"myisam_stats_method", "storage_engine", "time_zone":
		return "String", true
	case "autocommit", "big_tables", "binlog_direct_non_transactional_updates", "binlog_format",
		"binlog_row_image", "binlog_row_value_options", "binlog_rows_query_log_events",
		"binlog_transaction_compression", "block_encryption_mode", "completion_type", "default_table_encryption",
		"enable_cascade_triggers", "enable_secondary_engine_statistics", "end_markers_in_json", "explain_format",
		"explicit_defaults_for_timestamp", "foreign_key_checks", "global_connection_memory_tracking",
		"group_replication_consistency", "innodb_ft_enable_stopword", "innodb_strict_mode", "innodb_table_locks",
		"internal_tmp_mem_storage_engine", "keep_files_on_create", "low_priority_updates", "new",
		"old_alter_table", "optimizer_switch", "optimizer_trace", "optimizer_trace_features",
		"print_identified_with_as_hex", "profiling", "pseudo_replica_mode", "pseudo_slave_mode",
		"query_cache_type", "query_cache_wlock_invalidate", "rbr_exec_mode", "require_row_format",
		"restrict_fk_on_non_standard_key", "resultset_metadata", "select_into_disk_sync",
		"show_create_table_skip_secondary_engine", "show_create_table_verbosity",
		"show_gipk_in_create_table_and_information_schema", "show_old_temporals", "sql_auto_is_null",
		"sql_big_selects", "sql_buffer_result", "sql_generate_invisible_primary_key", "sql_log_bin",
		"sql_log_off", "sql_mode", "sql_notes", "sql_quote_show_create", "sql_require_primary_key",
		"sql_safe_updates", "sql_warnings", "terminology_use_previous", "transaction_allow_batching",
		"transaction_isolation", "transaction_read_only", "transaction_write_set_extraction", "tx_isolation",
		"tx_read_only", "unique_checks", "updatable_views_with_limit", "use_secondary_engine",
		"windowing_use_high_precision", "xa_detach_on_prepare":
		return "Enumeration", true
	}
	return "", false
}
