package route

// variableClass is what reading a system variable depends on.
type variableClass uint8

const (
	// variableServer is the server's own, and so is every one not known.
	variableServer variableClass = iota
	// variableSession is state of the session, which every connection gets, or
	// the same on all servers that can be one cluster.
	variableSession
	variableLastInsertID
	// variablePrevious is about the statement before.
	variablePrevious
	// variableConnection is about the connection to the server itself.
	variableConnection
)

// longestVariable is the length of the longest name in lookupVariable.
const longestVariable = 48

// lookupVariable says what reading @@name depends on.
func lookupVariable(name string) variableClass {
	var buf [longestVariable]byte
	if len(name) > len(buf) {
		return variableServer
	}
	switch lower := string(appendLower(buf[:0], name)); lower {
	case "last_insert_id", "identity":
		return variableLastInsertID
	case "warning_count", "error_count":
		return variablePrevious
	case "pseudo_thread_id", "last_gtid", "proxy_user", "external_user", "insert_id", "gtid_next", "sql_log_bin",
		"rand_seed1", "rand_seed2":
		return variableConnection
	default:
		if sessionVariable(lower) {
			return variableSession
		}
	}
	return variableServer
}

// sessionVariable lists the variables, in lower case, that a session can set on
// every server that has them, and a few that are the same throughout a cluster.
func sessionVariable(name string) bool {
	switch name {
	case "alter_algorithm", "analyze_max_length", "analyze_sample_percentage", "auto_increment_increment",
		"auto_increment_offset", "autocommit", "big_tables", "binlog_alter_two_phase", "binlog_annotate_row_events",
		"binlog_direct_non_transactional_updates", "binlog_format", "binlog_row_image", "binlog_row_value_options",
		"binlog_rows_query_log_events", "binlog_transaction_compression", "binlog_transaction_compression_level_zstd",
		"block_encryption_mode", "bulk_insert_buffer_size", "character_set_client", "character_set_connection",
		"character_set_database", "character_set_filesystem", "character_set_results", "character_set_server",
		"check_constraint_checks", "collation_connection", "collation_database", "collation_server",
		"column_compression_threshold", "column_compression_zlib_level", "column_compression_zlib_strategy",
		"column_compression_zlib_wrap", "completion_type", "connection_memory_chunk_size", "connection_memory_limit",
		"cte_max_recursion_depth", "deadlock_search_depth_long", "deadlock_search_depth_short",
		"deadlock_timeout_long", "deadlock_timeout_short", "default_collation_for_utf8mb4", "default_regex_flags",
		"default_storage_engine", "default_table_encryption", "default_tmp_storage_engine", "default_week_format",
		"div_precision_increment", "enable_cascade_triggers", "enable_secondary_engine_statistics",
		"end_markers_in_json", "enforce_storage_engine", "eq_range_index_dive_limit", "expensive_subquery_limit",
		"explain_format", "explain_json_format_version", "explicit_defaults_for_timestamp",
		"external_table_secondary_storage_engine", "external_table_storage_engine", "foreign_key_checks",
		"generated_random_password_length", "global_connection_memory_tracking", "group_concat_max_len",
		"group_replication_consistency", "histogram_generation_max_mem_size", "histogram_size", "histogram_type",
		"idle_readonly_transaction_timeout", "idle_transaction_timeout", "idle_write_transaction_timeout",
		"immediate_server_version", "in_predicate_conversion_threshold", "information_schema_stats_expiry",
		"innodb_compression_default", "innodb_ddl_buffer_size", "innodb_ddl_threads",
		"innodb_default_encryption_key_id", "innodb_ft_enable_stopword", "innodb_ft_user_stopword_table",
		"innodb_lock_wait_timeout", "innodb_parallel_read_threads", "innodb_snapshot_isolation", "innodb_strict_mode",
		"innodb_table_locks", "innodb_tmpdir", "interactive_timeout", "internal_tmp_mem_storage_engine",
		"join_buffer_size", "join_buffer_space_limit", "join_cache_level", "keep_files_on_create", "language",
		"lc_messages", "lc_time_names", "license", "lock_wait_timeout", "log_disabled_statements",
		"log_slow_disabled_statements", "log_slow_filter", "log_slow_max_warnings", "log_slow_min_examined_row_limit",
		"log_slow_query", "log_slow_query_time", "log_slow_rate_limit", "log_slow_verbosity", "log_warnings",
		"long_query_time", "low_priority_updates", "lower_case_table_names", "max_allowed_packet",
		"max_delayed_threads", "max_error_count", "max_execution_time", "max_heap_table_size",
		"max_insert_delayed_threads", "max_join_size", "max_length_for_sort_data", "max_points_in_geometry",
		"max_recursive_iterations", "max_rowid_filter_size", "max_seeks_for_key", "max_session_mem_used",
		"max_sort_length", "max_sp_recursion_depth", "max_statement_time", "max_tmp_tables", "min_examined_row_limit",
		"mrr_buffer_size", "myisam_repair_threads", "myisam_sort_buffer_size", "myisam_stats_method",
		"net_read_timeout", "net_retry_count", "net_write_timeout", "note_verbosity", "old", "old_alter_table",
		"old_mode", "old_passwords", "optimizer_adjust_secondary_key_costs", "optimizer_extra_pruning_depth",
		"optimizer_join_limit_pref_ratio", "optimizer_max_sel_arg_weight", "optimizer_max_sel_args",
		"optimizer_max_subgraph_pairs", "optimizer_prune_level", "optimizer_search_depth",
		"optimizer_selectivity_sampling_limit", "optimizer_switch", "optimizer_trace", "optimizer_trace_features",
		"optimizer_trace_limit", "optimizer_trace_max_mem_size", "optimizer_trace_offset",
		"optimizer_use_condition_selectivity", "original_commit_timestamp", "original_server_version",
		"parser_max_mem_size", "preload_buffer_size", "print_identified_with_as_hex", "profiling",
		"profiling_history_size", "progress_report_time", "query_alloc_block_size", "query_cache_strip_comments",
		"query_cache_type", "query_cache_wlock_invalidate", "query_prealloc_size", "range_alloc_block_size",
		"range_optimizer_max_mem_size", "rbr_exec_mode", "read_buffer_size", "read_rnd_buffer_size",
		"require_row_format", "restrict_fk_on_non_standard_key", "resultset_metadata", "rowid_merge_buff_size",
		"secondary_engine_cost_threshold", "select_into_buffer_size", "select_into_disk_sync",
		"select_into_disk_sync_delay", "session_track_schema", "session_track_state_change",
		"session_track_system_variables", "session_track_transaction_info", "set_operations_buffer_size",
		"show_create_table_skip_secondary_engine", "show_create_table_verbosity",
		"show_gipk_in_create_table_and_information_schema", "skip_parallel_replication", "sort_buffer_size",
		"sql_auto_is_null", "sql_big_selects", "sql_buffer_result", "sql_generate_invisible_primary_key",
		"sql_if_exists", "sql_log_off", "sql_mode", "sql_notes", "sql_quote_show_create", "sql_require_primary_key",
		"sql_safe_updates", "sql_select_limit", "sql_warnings", "standard_compliant_cte", "storage_engine",
		"system_time_zone", "system_versioning_alter_history", "system_versioning_asof",
		"system_versioning_insert_history", "tcp_nodelay", "terminology_use_previous", "thread_pool_priority",
		"time_zone", "timestamp", "tmp_disk_table_size", "tmp_memory_table_size", "tmp_table_size",
		"transaction_alloc_block_size", "transaction_allow_batching", "transaction_isolation",
		"transaction_prealloc_size", "transaction_read_only", "tx_isolation", "tx_read_only", "unique_checks",
		"updatable_views_with_limit", "use_secondary_engine", "use_stat_tables", "version", "version_comment",
		"wait_timeout", "windowing_use_high_precision", "xa_detach_on_prepare":
		return true
	}
	return false
}
