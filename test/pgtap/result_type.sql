-- Result types, as a client sees them, and arithmetic with built-in types.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE ROLE regress_pgtap_owner;
CREATE ROLE regress_pgtap_analyst;
CREATE SCHEMA regress_pgtap AUTHORIZATION regress_pgtap_owner;
GRANT USAGE, CREATE ON SCHEMA regress_pgtap TO regress_pgtap_analyst;
SET search_path = regress_pgtap, public;
SET dp_pg.epsilon_ceiling = '1000000';
SET ROLE regress_pgtap_owner;
CREATE DOMAIN adult_age AS int CHECK (VALUE >= 0);
CREATE TABLE typed (smallint smallint, integer integer, bigint bigint, real real, "double precision" double precision, numeric numeric,
	"numeric(6,2)" numeric(6, 2), adult_age adult_age, "character varying" varchar(10));
INSERT INTO typed SELECT i, i, i, i, i, i, i, i, 'x' FROM generate_series(1, 10) i;
CREATE TABLE public_typed AS TABLE typed;
GRANT SELECT ON public_typed TO PUBLIC;
SELECT dp_protect('typed', dataset => 'regress_pgtap') \g /dev/null
SELECT dp_grant('regress_pgtap_analyst', 'regress_pgtap', epsilon => 1e9) \g /dev/null
RESET ROLE;
SET ROLE regress_pgtap_analyst;
SELECT * FROM no_plan();

-- pg_typeof and the described type are the built-in's
CREATE FUNCTION type_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	t text;
BEGIN
	EXECUTE format('CREATE TEMP VIEW described AS %s', query);
	SELECT format_type(atttypid, atttypmod) INTO t FROM pg_attribute WHERE attrelid = 'pg_temp.described'::regclass AND attnum = 1;
	DROP VIEW pg_temp.described;
	RETURN t;
END $$;
SELECT is(type_of(format('SELECT dp_%s(%I, 0, 20) FROM typed', f, c)), type_of(format('SELECT %s(%I) FROM public_typed', f, c)), format('type of dp_%s(%s)', f, c))
FROM unnest('{sum,avg}'::text[]) f, unnest('{smallint,integer,bigint,real,double precision,numeric,"numeric(6,2)",adult_age}'::text[]) c;
SELECT is(type_of(q), t, q) FROM (VALUES
	('SELECT dp_count(*) FROM typed', 'bigint'), ('SELECT dp_count("character varying") FROM typed', 'bigint'),
	('SELECT dp_count(1, 0.5) FROM typed', 'bigint'), ('SELECT dp_count(*) / 2 FROM typed', 'bigint'),
	('SELECT dp_count(*) / 2.0 FROM typed', 'numeric'), ('SELECT dp_sum(integer, 0, 1) / dp_count(*) FROM typed', 'bigint'),
	('SELECT dp_avg(real, 0, 1) * 2 FROM typed', 'double precision')) v(q, t);
-- close to the built-in's value: noise of scale 20 / 100000, off by 0.1
-- with probability exp(-500)
SELECT ok(abs(p - b) < 0.1, format('dp_%s(%s) is close to %s', f, c, b))
FROM (SELECT f, c, (xpath('//v/text()', query_to_xml(format('SELECT dp_%s(%I, 0, 20, 100000)::numeric AS v FROM typed', f, c), false, true, '')))[1]::text::numeric p,
	(xpath('//v/text()', query_to_xml(format('SELECT %s(%I)::numeric AS v FROM public_typed', f, c), false, true, '')))[1]::text::numeric b
	FROM unnest('{sum,avg}'::text[]) f, unnest('{smallint,integer,bigint,real,double precision,numeric,"numeric(6,2)",adult_age}'::text[]) c) t;
-- group keys keep their types
RESET ROLE;
SET ROLE regress_pgtap_owner;
SELECT dp_declare('typed', 'character varying', keys => ARRAY['x', 'y']) \g /dev/null
SELECT dp_declare('typed', 'smallint', lower => 1, upper => 3) \g /dev/null
SELECT dp_declare('typed', 'numeric(6,2)', keys => ARRAY[1, 2.50]) \g /dev/null
RESET ROLE;
SET ROLE regress_pgtap_analyst;
SELECT is(type_of('SELECT "character varying", dp_count(*) FROM typed GROUP BY 1'), 'character varying(10)', 'key of type varchar(10)');
SELECT is(type_of('SELECT smallint, dp_count(*) FROM typed GROUP BY 1'), 'smallint', 'key of type smallint');
SELECT results_eq('SELECT pg_typeof(smallint)::text FROM typed GROUP BY smallint HAVING dp_count(*) IS NOT NULL', ARRAY['smallint', 'smallint', 'smallint', 'smallint'], 'as values too, NULL among them');
SELECT results_eq('SELECT "numeric(6,2)" FROM typed GROUP BY 1 HAVING dp_count(*) IS NOT NULL', 'VALUES (1.00::numeric), (2.50), (NULL)', 'numeric keys');
SELECT * FROM finish();
RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA regress_pgtap CASCADE;
DROP OWNED BY regress_pgtap_owner, regress_pgtap_analyst CASCADE;
DROP ROLE regress_pgtap_owner, regress_pgtap_analyst;
