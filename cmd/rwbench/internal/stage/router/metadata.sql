DROP DATABASE IF EXISTS mysql_innodb_cluster_metadata;
CREATE DATABASE mysql_innodb_cluster_metadata;
USE mysql_innodb_cluster_metadata;
CREATE TABLE schema_version (major INT, minor INT, patch INT);
INSERT INTO schema_version VALUES (2, 2, 0);
CREATE TABLE v2_ar_clusters (view_id INT, cluster_type CHAR(2), cluster_id CHAR(36), cluster_name VARCHAR(40), attributes JSON, async_topology_type VARCHAR(40));
INSERT INTO v2_ar_clusters VALUES (1, 'ar', '00000000-0000-4000-8000-000000000001', 'bench', '{}', 'SINGLE-PRIMARY-TREE');
CREATE TABLE v2_clusters AS SELECT cluster_type, cluster_id, cluster_name FROM v2_ar_clusters;
CREATE TABLE v2_instances (instance_id INT, cluster_id CHAR(36), label VARCHAR(255), mysql_server_uuid VARCHAR(36), address VARCHAR(255), endpoint VARCHAR(255), xendpoint VARCHAR(255), attributes JSON);
CREATE TABLE v2_ar_members (view_id INT, cluster_id CHAR(36), instance_id INT, label VARCHAR(255), member_id VARCHAR(36), member_role VARCHAR(12));
CREATE SQL SECURITY INVOKER VIEW v2_this_instance AS SELECT i.cluster_id, i.instance_id, c.cluster_name, c.cluster_type FROM v2_instances i JOIN v2_ar_clusters c ON c.cluster_id = i.cluster_id WHERE i.mysql_server_uuid = (SELECT variable_value FROM performance_schema.global_variables WHERE variable_name = 'server_uuid');
CREATE TABLE v2_routers (router_id INT PRIMARY KEY, address VARCHAR(255), router_name VARCHAR(265), product_name VARCHAR(128), version VARCHAR(12), last_check_in TIMESTAMP NULL, attributes JSON, cluster_id CHAR(36), options JSON, clusterset_id CHAR(36));
INSERT INTO v2_routers (router_id, address, router_name, product_name, cluster_id) VALUES (1, '127.0.0.1', 'bench', 'MySQL Router', '00000000-0000-4000-8000-000000000001');
CREATE TABLE v2_router_options AS SELECT 1 AS router_id, '00000000-0000-4000-8000-000000000001' AS cluster_id, CAST('{}' AS JSON) AS router_options
