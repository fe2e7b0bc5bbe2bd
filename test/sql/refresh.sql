-- Materialized views over private queries: filled by their owners, who pay;
-- refused if another role's statement fills them, or if another statement than
-- REFRESH runs on behalf of a role.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test refresh
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE ROLE regress_refresh_member;
GRANT :analyst TO regress_refresh_member;
GRANT USAGE ON SCHEMA :schema TO regress_refresh_member;
CREATE FUNCTION last_charges(n int) RETURNS TABLE (role name, payer name, mechanism text, releases int)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
	SELECT role, payer, mechanism, releases FROM
		(SELECT * FROM dp_pg.ledger WHERE dataset = current_setting('regress.dataset') ORDER BY id DESC LIMIT n) l ORDER BY id $$;

-- filled, read free, filled anew: its owner pays for each time
SELECT spent() \g /dev/null
SET ROLE :analyst;
CREATE MATERIALIZED VIEW wards AS SELECT ward, dp_count(*) AS n, dp_sum(age, 0, 120) AS years FROM regress_refresh.person GROUP BY ward;
SELECT * FROM last_charges(1);
SELECT * FROM wards ORDER BY ward;
SELECT * FROM spent();
REFRESH MATERIALIZED VIEW wards;
SELECT * FROM wards ORDER BY ward;
SELECT * FROM spent();
CREATE UNIQUE INDEX ON wards (ward);
REFRESH MATERIALIZED VIEW CONCURRENTLY wards;
SELECT count(*) FROM wards;
SELECT * FROM spent();
REFRESH MATERIALIZED VIEW wards WITH NO DATA;
CREATE MATERIALIZED VIEW later AS SELECT dp_count(*) AS n FROM regress_refresh.person WITH NO DATA;
SELECT * FROM spent();
REFRESH MATERIALIZED VIEW later;
SELECT * FROM later;
SELECT * FROM spent();
-- with noise, twice the same would be chance: each is a draw of its own
CREATE MATERIALIZED VIEW noisy AS SELECT array_agg(n) AS n FROM (SELECT dp_count(1, 0.001) AS n FROM regress_refresh.person GROUP BY ward) s;
CREATE TEMP TABLE before AS SELECT n FROM noisy;
REFRESH MATERIALIZED VIEW noisy;
SELECT b.n <> n.n AS another FROM before b, noisy n;
-- a rollback returns nothing, and the contents are the old ones
SELECT spent() \g /dev/null
BEGIN;
REFRESH MATERIALIZED VIEW later;
ROLLBACK;
SELECT * FROM spent();
-- rows are refused, and nothing is made
CREATE MATERIALIZED VIEW copied AS SELECT * FROM regress_refresh.person;
CREATE MATERIALIZED VIEW copied AS SELECT * FROM regress_refresh.person WITH NO DATA;
REFRESH MATERIALIZED VIEW copied;
DROP MATERIALIZED VIEW copied;
RESET ROLE;

-- nobody else: not a superuser, not a member, not by a function of another
SELECT * FROM outcome('REFRESH MATERIALIZED VIEW later');
SET ROLE regress_refresh_member;
SELECT * FROM outcome('REFRESH MATERIALIZED VIEW later');
SET ROLE :analyst;
CREATE FUNCTION refresh_later() RETURNS void LANGUAGE sql SECURITY DEFINER AS 'REFRESH MATERIALIZED VIEW regress_refresh.later';
SET ROLE regress_refresh_member;
SELECT * FROM outcome('SELECT regress_refresh.refresh_later()');
RESET ROLE;
-- what was asked still stands there
SET ROLE :analyst;
SELECT * FROM later;

-- a function with another's rights within it
RESET ROLE;
SET ROLE :owner;
CREATE FUNCTION owners() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_refresh, public, pg_temp
AS 'BEGIN RETURN (SELECT dp_count(*) FROM person); END';
CREATE FUNCTION anybodys() RETURNS bigint LANGUAGE plpgsql
AS 'BEGIN RETURN (SELECT public.dp_count(*) FROM regress_refresh.person); END';
SET ROLE :analyst;
SELECT * FROM outcome('CREATE MATERIALIZED VIEW kept AS SELECT regress_refresh.owners()');
SELECT * FROM outcome('CREATE MATERIALIZED VIEW kept AS SELECT regress_refresh.anybodys()');
SELECT * FROM last_charges(1);

-- another statement that REFRESH begins, and others than REFRESH
CREATE TABLE bait (x int);
INSERT INTO bait VALUES (1);
CREATE FUNCTION sly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE INDEX ON bait (sly(x));
CREATE OR REPLACE FUNCTION sly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql
AS 'BEGIN PERFORM public.dp_count(*) FROM regress_refresh.person; RETURN $1; END';
CREATE FUNCTION analyses() RETURNS int LANGUAGE plpgsql AS 'BEGIN ANALYZE regress_refresh.bait; RETURN 1; END';
SELECT * FROM outcome('CREATE MATERIALIZED VIEW analysed AS SELECT regress_refresh.analyses()');
SELECT * FROM outcome('ANALYZE bait');
SELECT * FROM outcome('REINDEX TABLE bait');
-- after an error within it nothing is left of REFRESH
SELECT * FROM outcome('CREATE MATERIALIZED VIEW broken AS SELECT (''x'' || dp_count(*))::integer FROM regress_refresh.person');
SELECT * FROM outcome('ANALYZE bait');
SELECT * FROM outcome('EXPLAIN ANALYZE CREATE MATERIALIZED VIEW explained AS SELECT dp_count(*) FROM regress_refresh.person');
DROP TABLE bait;

-- in transparent mode the stored query is the plain one; it is private where
-- the mode is on when it is filled
SET dp_pg.transparent = on;
CREATE MATERIALIZED VIEW plain AS SELECT ward, count(*) AS n FROM regress_refresh.person GROUP BY ward;
SELECT * FROM plain ORDER BY ward;
SET dp_pg.transparent = off;
SELECT * FROM outcome('REFRESH MATERIALIZED VIEW plain');
SET dp_pg.transparent = on;
SELECT * FROM outcome('REFRESH MATERIALIZED VIEW plain');
RESET dp_pg.transparent;
RESET ROLE;

-- a budget that is taken away ends it, and the contents stay
SELECT FROM dp_revoke(:'analyst', :'schema');
SET ROLE :analyst;
SELECT * FROM outcome('REFRESH MATERIALIZED VIEW later');
SELECT * FROM later;
RESET ROLE;

-- owners keep their released values in the same way, recorded
SET ROLE :owner;
CREATE MATERIALIZED VIEW released AS SELECT ward, dp_count(*) AS n FROM regress_refresh.person GROUP BY ward;
SELECT * FROM last_charges(1);
SELECT severity, finding FROM dp_audit() a WHERE object LIKE '%released%';
RESET ROLE;

DROP OWNED BY regress_refresh_member;
DROP ROLE regress_refresh_member;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
