-- dp_pg: differential privacy inside PostgreSQL
\echo Use "CREATE EXTENSION dp_pg" to load this file. \quit

-- Nobody's operators but the built-in ones may decide what this script does:
-- the schema of CREATE EXTENSION can be one that others create objects in.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

CREATE SCHEMA dp_pg;
COMMENT ON SCHEMA dp_pg IS
'catalog of the dp_pg extension: datasets, budgets, the privacy ledger';
GRANT USAGE ON SCHEMA dp_pg TO PUBLIC;

CREATE FUNCTION dp_pg.check_preload() RETURNS void
LANGUAGE c AS 'MODULE_PATHNAME', 'dp_bridge_check_preload';
COMMENT ON FUNCTION dp_pg.check_preload() IS
'raises 55000 unless the library came in through shared_preload_libraries';
SELECT dp_pg.check_preload();
