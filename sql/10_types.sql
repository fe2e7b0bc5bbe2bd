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
'raises 55000 unless the library was loaded by shared_preload_libraries';
SELECT dp_pg.check_preload();

-- A function with numbers exists twice: for numeric, and for double precision,
-- which drivers bind.  NUMBER in the arguments stands for either; a default in
-- brackets is the numeric one's alone, so that a call without it is not
-- ambiguous.  sql/90_privileges.sql drops this again.
CREATE FUNCTION dp_pg.make_twins(name text, arguments text, properties text,
	symbol text, comment text, owner_only boolean DEFAULT false)
RETURNS void LANGUAGE plpgsql AS $make$
DECLARE
	number text;
	made regprocedure;
BEGIN
	FOREACH number IN ARRAY ARRAY['numeric', 'double precision'] LOOP
		EXECUTE pg_catalog.format(
			$$CREATE FUNCTION @extschema@.%I(%s) %s LANGUAGE c
			AS 'MODULE_PATHNAME', %L$$,
			name, pg_catalog.replace(pg_catalog.regexp_replace(arguments,
				'\[(DEFAULT [^]]*)\]',
				CASE number WHEN 'numeric' THEN '\1' ELSE '' END, 'g'),
				'NUMBER', number),
			properties, symbol);
		-- The one without a comment is the one just made; functions of other
		-- people that have its name are not of our library.
		SELECT p.oid INTO STRICT made FROM pg_catalog.pg_proc p
		WHERE p.proname = make_twins.name
		AND p.prosrc = make_twins.symbol AND p.probin IS NOT NULL
		AND p.pronamespace = '@extschema@'::pg_catalog.regnamespace
		AND pg_catalog.obj_description(p.oid, 'pg_proc') IS NULL;
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', made,
			comment || CASE number WHEN 'numeric' THEN '' ELSE
			'; double precision numbers are read by their shortest decimal text'
			END);
		IF owner_only THEN
			EXECUTE pg_catalog.format(
				'REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', made);
		END IF;
	END LOOP;
END
$make$;
COMMENT ON FUNCTION dp_pg.make_twins(text, text, text, text, text, boolean) IS
'used while the extension is created: creates a function for numeric and for double precision, with one comment; optionally for its owner only';
