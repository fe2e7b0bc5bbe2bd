-- The analyst's own code: none of it may run on a private row.  The spy
-- raises a notice whenever it runs; the only notices expected below are those
-- over released values and constants of the analyst.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_code
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SET client_min_messages = notice;
SELECT * FROM spent() \g /dev/null
CREATE FUNCTION spy(anyelement) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
STRICT COST 0.0001 AS $$
BEGIN
	RAISE NOTICE 'spy saw %', $1;
	RETURN true;
END $$;
CREATE FUNCTION spy2(int, int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
STRICT COST 0.0001 AS $$
BEGIN
	RAISE NOTICE 'spy saw % and %', $1, $2;
	RETURN true;
END $$;
CREATE FUNCTION leak(int) RETURNS boolean LANGUAGE sql IMMUTABLE
AS 'SELECT $1 OPERATOR(pg_catalog.>) 5';
-- nobody but a superuser can claim to be leakproof
CREATE FUNCTION spy_leakproof(int) RETURNS boolean LANGUAGE sql LEAKPROOF
AS 'SELECT true';
ALTER FUNCTION spy2(int, int) LEAKPROOF;
CREATE FUNCTION spy_support(int) RETURNS boolean LANGUAGE sql
SUPPORT text_starts_with_support AS 'SELECT true';

-- functions
SELECT dp_count(*) FROM person WHERE spy(age);
SELECT dp_count(spy(age)) FROM person;
SELECT dp_count(*) FILTER (WHERE spy(age)) FROM person;
SELECT spy(age), dp_count(*) FROM person GROUP BY 1;
SELECT dp_count(*) FROM person GROUP BY sex, spy(age);
SELECT dp_count(*) FROM person WHERE leak(age);
SELECT dp_count(*) FROM person WHERE sex OR spy(age);
SELECT dp_count(*) FROM (SELECT spy(age) s FROM person) p;
SELECT dp_count(*) FROM (SELECT *, spy(age) FROM person) p;
SELECT dp_count(*) FROM (SELECT * FROM person WHERE spy(age)) p;
WITH p AS (SELECT * FROM person WHERE spy(age)) SELECT dp_count(*) FROM p;
CREATE VIEW spied WITH (security_barrier = true) AS SELECT * FROM person WHERE spy(age);
SELECT dp_count(*) FROM spied;
CREATE VIEW plain AS SELECT * FROM person WHERE age < 10;
SELECT dp_count(*) FROM plain;
CREATE VIEW spied_invoker WITH (security_invoker = true) AS
SELECT spy(age) AS s, * FROM person;
SELECT dp_count(*) FROM spied_invoker;
SELECT dp_count(*) FROM spied_invoker WHERE s;
CREATE FUNCTION spied_rows() RETURNS SETOF person LANGUAGE sql STABLE
AS 'SELECT * FROM person WHERE spy(age)';
SELECT dp_count(*) FROM spied_rows();
CREATE FUNCTION plain_rows() RETURNS SETOF person LANGUAGE sql STABLE
AS 'SELECT * FROM person WHERE age < 10';
SELECT dp_count(*) FROM plain_rows();
CREATE FUNCTION spied_rows_plpgsql() RETURNS SETOF int LANGUAGE plpgsql STABLE
AS 'BEGIN RETURN QUERY SELECT age FROM person; END';
SELECT dp_count(*) FROM spied_rows_plpgsql();
SELECT dp_count(*) FROM person, spy(age);
SELECT dp_count(*) FROM person CROSS JOIN LATERAL spy(age) s;
-- dp_count that is not dp_count
CREATE FUNCTION spy_add(bigint, "any") RETURNS bigint LANGUAGE internal
AS 'int8inc_any';
CREATE FUNCTION spy_step(int, int) RETURNS int LANGUAGE plpgsql
AS $$ BEGIN RAISE NOTICE 'spy saw %', $2; RETURN $2; END $$;
CREATE AGGREGATE dp_sum(int) (sfunc = spy_step, stype = int);
SELECT dp_sum(age) FROM person;
SELECT dp_sum(age), dp_count(*) FROM person;
DROP AGGREGATE dp_sum(int);
-- operators, by the names of built-in ones
CREATE OPERATOR = (LEFTARG = int, RIGHTARG = int, FUNCTION = spy2,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR ~> (LEFTARG = int, RIGHTARG = int, FUNCTION = spy2,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
SELECT set_config('search_path', :'schema' || ', pg_catalog, public', false) \g /dev/null
SELECT dp_count(*) FROM person WHERE age = 5;
SELECT dp_count(*) FROM person WHERE 5 = age;
SELECT dp_count(*) FROM person WHERE age IN (5, 6);
SELECT dp_count(*) FROM person WHERE age = ANY (ARRAY[5, 6]);
SELECT dp_count(*) FROM person WHERE CASE age WHEN 5 THEN true END;
SELECT dp_count(nullif(age, 5)) FROM person;
SELECT dp_count(*) FROM person WHERE age IS DISTINCT FROM 5;
SELECT dp_count(*) FROM person WHERE age ~> 5;
SELECT dp_count(DISTINCT age) FROM person;
SELECT sex, dp_count(*) FROM person GROUP BY sex ORDER BY sex;
SELECT set_config('search_path', :'schema' || ', public', false) \g /dev/null
SELECT dp_count(DISTINCT age ORDER BY age USING OPERATOR(pg_catalog.<)) FROM person;
DROP OPERATOR :schema.= (int, int);
-- types: domains, casts, enums, ranges, composites, collations
CREATE DOMAIN spied_int AS int CHECK (spy(VALUE));
SELECT dp_count(age::spied_int) FROM person;
SELECT dp_count(*) FROM person WHERE age < 5::spied_int;
SELECT dp_count(coalesce(age, 5::spied_int)) FROM person;
CREATE DOMAIN spied_bool AS boolean CHECK (spy(VALUE));
SELECT (age > 5)::spied_bool, dp_count(*) FROM person GROUP BY 1;
CREATE TYPE boxed AS (x int);
CREATE FUNCTION box_up(int) RETURNS boxed LANGUAGE plpgsql IMMUTABLE
AS $$ BEGIN RAISE NOTICE 'spy saw %', $1; RETURN ROW($1)::boxed; END $$;
CREATE CAST (int AS boxed) WITH FUNCTION box_up(int) AS IMPLICIT;
SELECT dp_count(age::boxed) FROM person;
SELECT dp_count(DISTINCT age::boxed) FROM person;
CREATE TYPE boxed_text AS (x text);
CREATE CAST (text AS boxed_text) WITH INOUT;
SELECT dp_count(ward::boxed_text) FROM person;
CREATE CAST (int AS spied_int) WITHOUT FUNCTION;
CREATE TYPE span AS RANGE (SUBTYPE = int);
SELECT dp_count(DISTINCT span(age, age + 1)) FROM person;
CREATE TYPE letter AS ENUM ('x', 'y');
SELECT dp_count(*) FROM person WHERE ward::letter = 'x';
-- an enum of the analyst is a public set: every label is answered
SELECT CASE WHEN age < 30 THEN 'y'::letter ELSE 'x' END AS k, dp_count(*)
FROM person GROUP BY 1;
CREATE COLLATION blind (PROVIDER = icu, LOCALE = 'und-u-ks-level1', DETERMINISTIC = false);
SELECT dp_count(*) FROM person WHERE ward COLLATE blind = 'a';
SELECT dp_count(DISTINCT ward COLLATE blind) FROM person;
-- aggregates
CREATE AGGREGATE spied(int) (SFUNC = spy_step, STYPE = int);
SELECT spied(age), dp_count(*) FROM person;
SELECT dp_count(*) FROM person HAVING spied(age) > 5;
SELECT sex, dp_count(*) FROM person GROUP BY sex ORDER BY spied(age);
SELECT dp_count(*), count(*) FROM person;
SELECT dp_count(*) FROM person HAVING max(age) > 5;
SELECT dp_count(*), array_agg(age) FROM person;
SELECT (SELECT spied(p.age) FROM (SELECT 1) s), dp_count(*) FROM person p;
-- functions of the server with an effect or an eye of their own
CREATE SEQUENCE s;
SELECT dp_count(*) FROM person WHERE nextval('s') > 0;
SELECT dp_count(*) FROM person WHERE set_config('my.spy', ward, false) IS NULL;
SELECT dp_count(*) FROM person WHERE current_setting('my.' || ward, true) IS NULL;
SELECT dp_count(*) FROM person WHERE pg_notify('spy', ward) IS NULL;
SELECT dp_count(*) FROM person WHERE pg_advisory_lock(age) IS NULL;
SELECT dp_count(*) FROM person WHERE pg_try_advisory_lock(age);
SELECT dp_count(*) FROM person WHERE pg_sleep(age) IS NULL;
SELECT dp_count(*) FROM person WHERE lo_create(id::oid) > 0;
SELECT dp_count(*) FROM person WHERE txid_current() > 0;
SELECT dp_count(*) FROM person WHERE random() < 0.5;
SELECT dp_count(*) FROM person WHERE clock_timestamp() > seen;
SELECT dp_count(*) FROM person WHERE query_to_xml('SELECT 1', true, true, ward) IS NULL;
SELECT dp_count(*) FROM person WHERE has_table_privilege(ward, 'SELECT');
SELECT dp_count(*) FROM person WHERE to_regclass(ward) IS NULL;
SELECT dp_count(*) FROM person WHERE pg_get_expr(ward::pg_node_tree, 0) IS NULL;
SELECT dp_count(*) FROM person WHERE ts_stat(ward) IS NULL;
SELECT dp_count(*) FROM person WHERE pg_relation_size(id::oid) > 0;
SELECT dp_count(*) FROM person WHERE dp_pg.charge('x', ward, 1) > 0;
-- subqueries that see a private row
CREATE TABLE mine (x int);
CREATE FUNCTION mine_spy(int) RETURNS boolean LANGUAGE plpgsql
AS $$ BEGIN INSERT INTO mine VALUES ($1); RETURN true; END $$;
SELECT dp_count(*) FROM person p WHERE EXISTS (SELECT FROM mine WHERE x = p.age);
SELECT dp_count(*) FROM person p WHERE EXISTS (SELECT FROM mine WHERE x = p.age AND mine_spy(p.age));
SELECT dp_count(*) FROM person p WHERE age IN (SELECT x FROM mine WHERE mine_spy(p.age));
SELECT dp_count(*) FROM person p WHERE NOT EXISTS (SELECT mine_spy(p.age) FROM mine WHERE x = p.age);
SELECT dp_count(*) FROM person p WHERE (SELECT spy(p.age));
SELECT dp_count(*) FROM person p WHERE age IN (SELECT x FROM mine);
SELECT dp_count(*) FROM person p WHERE age = ANY (ARRAY(SELECT x FROM mine));
SELECT dp_count((SELECT p.age)) FROM person p;
SELECT dp_count(*) FROM person p WHERE age > (SELECT count(*) FROM mine WHERE mine_spy(p.age));
SELECT * FROM mine;
-- parameters may run code, but on nothing private, and once for a release
CREATE FUNCTION price(numeric) RETURNS numeric LANGUAGE plpgsql STABLE
AS $$ BEGIN RAISE NOTICE 'price asked'; RETURN $1; END $$;
SELECT dp_count(1, price(100000)) FROM person;
SELECT dp_sum(age, price(0), 100) FROM person;
SELECT dp_count(1, age) FROM person;
SELECT dp_sum(age, 0, age) FROM person;
SELECT dp_count(1, random()) FROM person;
SELECT dp_count(1, (SELECT max(age) FROM person)) FROM person;
-- post-processing runs anything, on released values
SELECT spy(dp_count(*)) FROM person WHERE age < 10;
SELECT sex, dp_count(*) FROM person GROUP BY sex HAVING spy(sex) AND spy(dp_count(*));

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
