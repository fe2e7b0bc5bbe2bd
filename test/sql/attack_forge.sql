-- Forgeries: markers, internal functions, settings, roles, other people's
-- code; and whose budget pays for what.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_forge
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

\set second regress_attack_forge_second
\set idle regress_attack_forge_idle
CREATE ROLE :second;
CREATE ROLE :idle;
GRANT USAGE ON SCHEMA :schema TO :second, :idle;
SET ROLE :owner;
SELECT dp_grant(:'second', dataset => :'schema', epsilon => 1) \g /dev/null
RESET ROLE;
-- who paid since the last call, by the name's last word
CREATE FUNCTION payers() RETURNS TABLE (asked text, paid text, charges bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
	RETURN QUERY SELECT substring(l.role FROM '[a-z]+$'),
		coalesce(substring(l.payer FROM '[a-z]+$'), 'nobody'), count(*)
	FROM dp_pg.ledger l
	WHERE dataset = current_setting('regress.dataset')
		AND id > current_setting('regress.mark')::bigint GROUP BY 1, 2 ORDER BY 1, 2;
	PERFORM set_config('regress.mark', max(id)::text, false) FROM dp_pg.ledger
	WHERE dataset = current_setting('regress.dataset') HAVING max(id) IS NOT NULL;
END $$;
SET ROLE :analyst;
SELECT * FROM payers();
-- the marker of a release
SELECT * FROM dp_pg.release(1, 0) AS t (n bigint);
SELECT * FROM dp_pg.release(NULL, NULL) AS t (n bigint);
SELECT dp_pg.release(1, 0);
SELECT * FROM ROWS FROM (dp_pg.release(1, 0) AS (n bigint), generate_series(1, 3)) t;
SELECT * FROM dp_pg.release(1, 0) WITH ORDINALITY AS t (n, o);
CREATE VIEW forged AS SELECT * FROM dp_pg.release(1, 0) AS t (n bigint);
SELECT * FROM forged;
SELECT n, dp_count(*) FROM person, forged GROUP BY n;
SELECT dp_count(*), (SELECT n FROM forged) FROM person;
PREPARE forged (bigint, int) AS SELECT * FROM dp_pg.release($1, $2) AS t (n bigint);
EXECUTE forged (1, 0);
CREATE FUNCTION forged_function() RETURNS SETOF record LANGUAGE sql
AS 'SELECT * FROM dp_pg.release(1, 0) AS t (n bigint)';
SELECT * FROM forged_function() AS t (n bigint);
SELECT dp_count(*) FROM dp_pg.release(1, 0) AS t (n bigint);
-- the internal functions
SELECT dp_pg.bounded_sum(age, NULL) FROM person;
SELECT dp_pg.bounded_sum(1, NULL);
SELECT dp_pg.sum_combine(dp_pg.sum_state_in(''), dp_pg.sum_state_in(''));
SELECT ''::dp_pg.sum_spec;
SELECT '\x00'::bytea::dp_pg.sum_spec;
-- (42846, in older minor versions 0A000)
DO $$ BEGIN
	PERFORM dp_pg.final_count(NULL::internal);
EXCEPTION WHEN cannot_coerce OR feature_not_supported THEN
	RAISE 'refused' USING ERRCODE = 'cannot_coerce';
END $$;
SELECT dp_pg.charge(current_setting('regress.dataset'), 'x', 0.1);
SELECT dp_pg.charge(current_setting('regress.dataset'), 'x', -1);
SELECT dp_pg.open_dataset('regress_attack_squat');
SELECT * FROM dp_pg.exposures();
SELECT dp_pg.follow_names();
SELECT dp_pg.forget_dropped();
CREATE AGGREGATE forged_count(int) (SFUNC = int4pl, STYPE = int, FINALFUNC = dp_pg.final_count);
CREATE AGGREGATE forged_sum(int, dp_pg.sum_spec) (SFUNC = dp_pg.sum_add, STYPE = dp_pg.sum_state, INITCOND = '');
CREATE AGGREGATE dp_count(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0);
SELECT dp_count(age) FROM person;
DROP AGGREGATE dp_count(int);
CREATE TRIGGER t BEFORE INSERT ON forged EXECUTE FUNCTION dp_pg.fill_origin();
CREATE FUNCTION own_c() RETURNS int LANGUAGE c AS '$libdir/dp_pg', 'dp_aggregate_count';
LOAD 'dp_pg';
-- the extension's objects
ALTER EXTENSION dp_pg UPDATE;
ALTER EXTENSION dp_pg ADD FUNCTION forged_function();
ALTER EXTENSION dp_pg DROP FUNCTION dp_pg.release(bigint, int);
DROP EXTENSION dp_pg CASCADE;
DROP FUNCTION dp_pg.release(bigint, int);
DROP AGGREGATE dp_count(*);
ALTER FUNCTION dp_pg.release(bigint, int) OWNER TO :analyst;
ALTER EVENT TRIGGER dp_pg_follow_names DISABLE;
ALTER TABLE dp_pg.ledger DISABLE ROW LEVEL SECURITY;
-- the owner's functions
SELECT dp_grant(current_user, current_setting('regress.dataset'), 1e6);
SELECT dp_limit(current_setting('regress.dataset'), 1e6);
SELECT dp_revoke(:'second', current_setting('regress.dataset'));
SELECT dp_unprotect('person');
SELECT dp_protect('person');
SELECT dp_declare('person', 'age', lower => 0, upper => 1);
SELECT dp_declare('person', 'ward', keys => ARRAY['A']);
CREATE TABLE mine (id int PRIMARY KEY, age int);
SELECT dp_protect('mine', dataset => current_setting('regress.dataset'));
SELECT dp_protect('mine', dataset => 'regress_attack_mine') \g /dev/null
SELECT dp_count(*) FROM mine;
-- own dataset, somebody else's rows: neither by view, nor by name, nor by child
CREATE VIEW over AS SELECT * FROM person;
SELECT dp_protect('over', dataset => 'regress_attack_mine');
ALTER TABLE mine INHERIT person;
SELECT dp_count(*) FROM mine, person;
-- names that hide the catalog: pg_temp goes first for everybody but us
CREATE TEMP TABLE relation (relid oid, relid_origin oid, dataset name, unit name, unit_attnum int2, published oid);
CREATE TEMP TABLE budget (LIKE dp_pg.budget);
CREATE TEMP TABLE dataset (LIKE dp_pg.dataset);
CREATE TEMP TABLE ledger (LIKE dp_pg.ledger);
CREATE TEMP TABLE pg_class (oid oid);
CREATE DOMAIN pg_temp.numeric AS float8;
CREATE DOMAIN pg_temp.name AS text;
SELECT set_config('search_path', 'pg_temp, pg_catalog, dp_pg, ' || :'schema' || ', public', false) \g /dev/null
SELECT dp_count(*) FROM person;
SELECT dp_sum(age) FROM person;
SELECT set_config('search_path', :'schema' || ', public', false) \g /dev/null
DISCARD TEMP;
SELECT * FROM payers();
-- settings
SET dp_pg.epsilon_ceiling = '1e9';
SET dp_pg.epsilon_floor = '0.1';
SET dp_pg.max_groups = 100000000;
SET dp_pg.worker_lock_timeout = 1;
SET dp_pg.nonsense = 1;
SET dp_pg.epsilon = '-1';
SET dp_pg.epsilon = '0';
SET dp_pg.epsilon = '0.0';
SET dp_pg.epsilon = 'NaN';
SET dp_pg.epsilon = 'Infinity';
SET dp_pg.epsilon = '1e3';
SET dp_pg.epsilon = '';
SET dp_pg.epsilon = ' 1';
SET dp_pg.epsilon = '1 ';
SET dp_pg.epsilon = '0x10';
SET dp_pg.epsilon = '1.0000000000000000000000000001';
SELECT set_config('dp_pg.epsilon', NULL, false);
SET dp_pg.epsilon = '999999999999';
SELECT dp_count(*) FROM person;
SET dp_pg.epsilon = '0.000000000000000000000001';
SELECT dp_count(*) FROM person;
SELECT dp_count(1, 0) FROM person;
SELECT dp_count(1, -0.5) FROM person;
SELECT dp_count(1, 'NaN'::numeric) FROM person;
SELECT dp_count(1, 'Infinity'::float8) FROM person;
SELECT dp_count(1, NULL::float8) FROM person;
SELECT dp_count(1, 1e-320::float8) FROM person;
SELECT dp_count(1, 1e300) FROM person;
SELECT dp_sum(age, 0, 1e300) FROM person;
SELECT dp_sum(age, 5, 5) FROM person;
SELECT dp_sum(age, 'NaN', 5) FROM person;
SELECT dp_avg(age, '-Infinity', 5) FROM person;
SELECT dp_avg(score, 1e300::float8, 1e301::float8) IS NULL FROM person;
-- an epsilon that changes between looks is one price: what is charged is drawn
CREATE SEQUENCE tick;
CREATE FUNCTION slippery() RETURNS numeric LANGUAGE sql STABLE AS $$ SELECT CASE WHEN nextval('tick') % 2 = 1 THEN 100000 ELSE 1 END $$;
SELECT dp_count(1, slippery()) = 1000 AS exact FROM person;
RESET dp_pg.epsilon;
SET dp_pg.epsilon = '100000';
SELECT epsilon FROM spent() ORDER BY 1 DESC LIMIT 1;
-- the budget of who asks
SELECT dp_count(*) FROM person;
SELECT * FROM payers();
SET ROLE :idle;
SELECT dp_count(*) FROM person;
EXPLAIN SELECT dp_count(*) FROM person;
PREPARE q AS SELECT dp_count(*) FROM person;
SET ROLE :analyst;
EXECUTE q;
SET ROLE :idle;
EXECUTE q;
SET ROLE :analyst;
CREATE FUNCTION asks_invoker() RETURNS bigint LANGUAGE sql AS 'SELECT dp_count(1, 0.1::numeric) FROM person';
CREATE FUNCTION asks_definer() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT public.dp_count(1, 0.1::numeric) FROM regress_attack_forge.person';
CREATE VIEW asks AS SELECT dp_count(1, 0.1) AS n FROM person;
GRANT SELECT ON asks TO PUBLIC;
-- a view is read with its reader's right to it, released or not
CREATE VIEW closed AS SELECT * FROM person WHERE age < 50;
CREATE VIEW closed_release AS SELECT dp_count(1, 0.1) AS n FROM person;
CREATE VIEW half_open AS SELECT * FROM person WHERE age < 50;
GRANT SELECT (id) ON half_open TO :second;
CREATE FUNCTION closed_rows() RETURNS SETOF person LANGUAGE sql STABLE AS 'SELECT * FROM person';
REVOKE EXECUTE ON FUNCTION closed_rows() FROM PUBLIC;
SET ROLE :second;
SELECT dp_count(1, 0.1) FROM closed;
SELECT dp_count(1, 0.1) FROM (SELECT age FROM closed) s;
SELECT n FROM closed_release;
SELECT dp_count(age, 0.1) FROM half_open;
SELECT dp_count(1, 0.1) FROM closed_rows();
SELECT * FROM payers();
SELECT dp_count(id, 0.1) IS NULL FROM half_open;
SELECT asks_invoker() IS NULL;
SELECT asks_definer() IS NULL;
SELECT n IS NULL FROM asks;
SELECT * FROM payers();
-- a budget of 1 pays 10 times 0.1, whoever wrote the code
DO $$ BEGIN FOR i IN 1 .. 6 LOOP PERFORM asks_definer(); END LOOP; END $$;
SELECT asks_definer();
SELECT n FROM asks;
SELECT * FROM payers();
SET ROLE :idle;
SELECT asks_definer();
SELECT n FROM asks;
-- the owner and the superuser are exempt, but not in the analyst's name
SET ROLE :owner;
SELECT asks_invoker() IS NULL;
SELECT asks_definer() IS NULL;
SELECT * FROM payers();
RESET ROLE;
SELECT asks_definer() IS NULL;
SELECT * FROM payers();
-- nor where code runs that nobody called, as REFRESH by another than the owner
SET ROLE :analyst;
CREATE TABLE indexed (x int);
INSERT INTO indexed VALUES (1);
CREATE FUNCTION asks_index(int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT public.dp_count(1, 0.1::numeric) FROM regress_attack_forge.person';
CREATE INDEX ON indexed (asks_index(x));
CREATE MATERIALIZED VIEW kept AS SELECT asks_definer() WITH NO DATA;
REFRESH MATERIALIZED VIEW kept;
RESET ROLE;
REFRESH MATERIALIZED VIEW kept;
SELECT * FROM payers();
-- a budget that is taken away stops what is under way, and refunds nothing
SET ROLE :analyst;
BEGIN;
DECLARE c CURSOR FOR SELECT dp_count(*) FROM person;
PREPARE later AS SELECT dp_count(*) FROM person;
RESET ROLE;
COMMIT;
BEGIN;
SET LOCAL ROLE :analyst;
DECLARE c CURSOR FOR SELECT dp_count(*) FROM person;
SET LOCAL ROLE :idle;
FETCH c;
ROLLBACK;
SET ROLE :owner;
SELECT dp_revoke(:'analyst', dataset => :'schema') \g /dev/null
SET ROLE :analyst;
EXECUTE later;
SELECT dp_count(*) FROM person;
SET ROLE :owner;
SELECT dp_grant(:'analyst', dataset => :'schema', epsilon => 1) \g /dev/null
SET ROLE :analyst;
SELECT dp_count(*) FROM person;
SELECT * FROM payers();

RESET ROLE;
SET client_min_messages = error;
DROP OWNED BY :second, :idle CASCADE;
DROP ROLE :second, :idle;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
