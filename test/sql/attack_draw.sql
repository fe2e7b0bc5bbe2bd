-- One charge, one draw: a release that is used many times within a statement,
-- or rolled back and repeated, is one value and one charge; and no charge is
-- refunded.  Noise has scale 10^6 here, so that two independent draws agree
-- with probability 2.5e-7.  False alarms: none where values must be equal;
-- where two releases must differ six columns are compared (1e-39).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_draw
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET dp_pg.epsilon_floor = '0.000001';
SET dp_pg.epsilon = '0.000001';
SET ROLE :analyst;
CREATE TABLE pub AS SELECT g FROM generate_series(1, 50) g;
ANALYZE pub;
CREATE VIEW one AS SELECT dp_count(*) AS n FROM person;
CREATE VIEW six AS SELECT dp_count(*) AS a, dp_count(age) AS b,
	dp_count(ward) AS c, dp_count(born) AS d, dp_count(sex) AS e,
	dp_count(seen) AS f FROM person;
SELECT * FROM spent() \g /dev/null
-- joins, rescans, subplans
SELECT count(DISTINCT n) FROM pub, one;
SELECT * FROM spent();
SELECT count(DISTINCT n), count(*) FROM pub LEFT JOIN one ON n + g IS NOT NULL;
SELECT * FROM spent();
SELECT count(DISTINCT n) FROM pub, LATERAL (SELECT dp_count(*) + 0 * g AS n FROM person) s;
SELECT * FROM spent();
SELECT count(DISTINCT n) FROM pub, LATERAL (SELECT dp_count(*) AS n FROM person LIMIT 1 + 0 * g) s;
SELECT * FROM spent();
SELECT count(DISTINCT n) FROM pub, LATERAL (SELECT n FROM one WHERE g > 0 OFFSET 0 * g) s;
SELECT * FROM spent();
SELECT count(DISTINCT (SELECT dp_count(*) FROM person)) FROM pub;
SELECT * FROM spent();
SELECT count(DISTINCT (SELECT dp_count(*) + 0 * g FROM person)) FROM pub;
SELECT * FROM spent();
SELECT count(DISTINCT c) FROM (SELECT (SELECT n FROM one WHERE g IS NOT NULL) AS c FROM pub OFFSET 0) s;
SELECT * FROM spent();
-- with every join method
SET enable_nestloop = off; SET enable_material = off;
SELECT count(DISTINCT (sex, n)) FROM pub JOIN (SELECT sex, dp_count(*) AS n FROM person GROUP BY sex) s ON sex = (g % 2 = 0);
SELECT * FROM spent();
SET enable_hashjoin = off;
SELECT count(DISTINCT (sex, n)) FROM pub JOIN (SELECT sex, dp_count(*) AS n FROM person GROUP BY sex) s ON sex = (g % 2 = 0);
SELECT * FROM spent();
RESET enable_nestloop; SET enable_mergejoin = off;
SELECT count(DISTINCT (sex, n)) FROM pub JOIN (SELECT sex, dp_count(*) AS n FROM person GROUP BY sex) s ON sex = (g % 2 = 0);
SELECT * FROM spent();
RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material;
SET :forced_parallel = on;
SELECT count(DISTINCT n) FROM pub, one;
SELECT * FROM spent();
RESET :forced_parallel;
-- WITH
WITH w AS (SELECT * FROM six) SELECT x = y FROM w x, w y;
SELECT charges FROM spent();
WITH w AS NOT MATERIALIZED (SELECT * FROM six) SELECT x = y FROM w x, w y;
SELECT charges FROM spent();
WITH RECURSIVE r (i, n) AS (
	SELECT 0, 0::bigint
	UNION ALL
	SELECT i + 1, one.n FROM r, one WHERE i < 50)
SELECT count(DISTINCT n) FROM r WHERE i > 0;
SELECT * FROM spent();
WITH RECURSIVE r (i, n) AS (
	SELECT 0, 0::bigint
	UNION ALL
	SELECT i + 1, (SELECT dp_count(*) + 0 * i FROM person) FROM r WHERE i < 50)
SELECT count(DISTINCT n) FROM r WHERE i > 0;
SELECT * FROM spent();
-- the same text twice in one SELECT is one value; in two, two
SELECT dp_count(*) = dp_count(*), dp_count(*) + 1 - dp_count(*) FROM person;
SELECT * FROM spent();
SELECT dp_count(*) FROM person HAVING dp_count(*) <> dp_count(*);
SELECT * FROM spent();
SELECT (SELECT six FROM six) = (SELECT six FROM six);
SELECT charges FROM spent();
SELECT count(*) FROM (SELECT * FROM six UNION SELECT * FROM six) s;
SELECT charges FROM spent();
SELECT count(*) FROM (SELECT * FROM six INTERSECT SELECT * FROM six) s;
SELECT charges FROM spent();
-- windows, grouping, sorting, sets over released values
SELECT count(DISTINCT w) FROM (SELECT max(n) OVER (ORDER BY g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS w FROM pub, one) s;
SELECT * FROM spent();
SELECT count(DISTINCT n) FROM (SELECT generate_series(1, 50), dp_count(*) AS n FROM person) s;
SELECT * FROM spent();
SELECT count(DISTINCT n) FROM (SELECT n, g FROM pub, one GROUP BY ROLLUP (n, g)) s;
SELECT * FROM spent();
-- writing
UPDATE pub SET g = n FROM one;
SELECT count(DISTINCT g) FROM pub;
SELECT * FROM spent();
MERGE INTO pub USING one ON true WHEN MATCHED THEN UPDATE SET g = n;
SELECT count(DISTINCT g) FROM pub;
SELECT * FROM spent();
CREATE TABLE made AS SELECT n FROM one, generate_series(1, 20);
SELECT count(DISTINCT n), count(*) FROM made;
SELECT * FROM spent();
-- functions: inlined is one release, run for each row is one each
CREATE FUNCTION inlined() RETURNS TABLE (n bigint) LANGUAGE sql STABLE
AS 'SELECT dp_count(*) FROM person';
SELECT count(DISTINCT n) FROM pub, inlined();
SELECT * FROM spent();
CREATE FUNCTION each_row() RETURNS bigint LANGUAGE sql VOLATILE
AS 'SELECT dp_count(*) FROM person';
SELECT count(each_row()) FROM generate_series(1, 7);
SELECT * FROM spent();
-- cursors
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT a.n AS n1, b.n AS n2, sum(a.n) OVER () FROM one a, one b;
SELECT * FROM spent();
FETCH c \gset x_
FETCH PRIOR c;
FETCH FIRST c \gset y_
FETCH ABSOLUTE -1 c \gset z_
MOVE BACKWARD ALL c;
SAVEPOINT s;
FETCH c \gset v_
ROLLBACK TO s;
FETCH FIRST c \gset w_
SELECT (:x_n1, :x_n2) = (:y_n1, :y_n2), (:x_n1, :x_n2) = (:z_n1, :z_n2),
	(:x_n1, :x_n2) = (:v_n1, :v_n2), (:x_n1, :x_n2) = (:w_n1, :w_n2);
ROLLBACK;
SELECT * FROM spent();
-- first asked for inside a savepoint that is rolled back
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM six;
SAVEPOINT s;
FETCH c \gset x_
ROLLBACK TO s;
FETCH FIRST c \gset y_
SELECT (:x_a, :x_b, :x_c, :x_d, :x_e, :x_f) = (:y_a, :y_b, :y_c, :y_d, :y_e, :y_f);
COMMIT;
SELECT charges FROM spent();
-- held over COMMIT
BEGIN;
DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM six;
FETCH c \gset x_
COMMIT;
FETCH FIRST c \gset y_
SELECT (:x_a, :x_b, :x_c, :x_d, :x_e, :x_f) = (:y_a, :y_b, :y_c, :y_d, :y_e, :y_f);
CLOSE c;
SELECT charges FROM spent();
-- a loop whose transaction ends under it
CREATE PROCEDURE loops() LANGUAGE plpgsql AS $$
DECLARE
	r record;
	first bigint;
	same boolean := true;
	rounds int := 0;
BEGIN
	FOR r IN SELECT g, n FROM generate_series(1, 25) g, one LOOP
		rounds := rounds + 1;
		first := coalesce(first, r.n);
		same := same AND first = r.n;
		IF rounds % 2 = 0 THEN COMMIT; ELSE ROLLBACK; END IF;
	END LOOP;
	RAISE WARNING 'rounds %, same %', rounds, same;
END $$;
\set VERBOSITY terse
CALL loops();
\set VERBOSITY sqlstate
SELECT charges FROM spent();
-- nothing comes back: rollback, savepoint, exception, LIMIT, failing outer query
BEGIN;
SELECT n IS NULL FROM one;
ROLLBACK;
SELECT * FROM spent();
BEGIN;
SAVEPOINT s;
SELECT n IS NULL FROM one;
ROLLBACK TO s;
ROLLBACK;
SELECT * FROM spent();
DO $$
BEGIN
	PERFORM n FROM one;
	RAISE EXCEPTION 'x';
EXCEPTION WHEN OTHERS THEN NULL;
END $$;
SELECT * FROM spent();
SELECT ('x' || n)::integer FROM one;
SELECT * FROM spent();
SELECT n IS NULL FROM one LIMIT 1 OFFSET 1;
SELECT * FROM spent();
BEGIN READ ONLY;
SELECT n IS NULL FROM one;
COMMIT;
SELECT * FROM spent();
PREPARE p AS SELECT n IS NULL FROM one;
BEGIN; EXECUTE p; EXECUTE p; ROLLBACK;
SET plan_cache_mode = force_generic_plan;
EXECUTE p; EXECUTE p; EXECUTE p;
RESET plan_cache_mode;
SELECT * FROM spent();
-- what is never read costs nothing and tells nothing
SELECT n FROM one LIMIT 0;
SELECT n FROM one WHERE false;
SELECT dp_count(*) FROM person HAVING false;
EXPLAIN (COSTS OFF) SELECT n FROM one WHERE false;
BEGIN; DECLARE c CURSOR FOR SELECT n FROM one; CLOSE c; COMMIT;
CREATE FUNCTION tells(bigint) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'told'; RETURN $1; END $$;
EXPLAIN SELECT dp_count(*) FROM person WHERE age > (SELECT tells(n) FROM one) \g /dev/null
SELECT * FROM spent();
-- a release inside another's condition is made first, whatever the rows are
SELECT dp_count(*) IS NULL FROM person WHERE false AND age > (SELECT n FROM one);
SELECT charges FROM spent();
SELECT dp_count(*) IS NULL FROM person WHERE CASE WHEN age > 1000 THEN age > (SELECT n FROM one) END;
SELECT charges FROM spent();
SELECT dp_count(*) IS NULL FROM (SELECT * FROM person WHERE age < 0) p WHERE age > (SELECT n FROM one);
SELECT charges FROM spent();
SELECT dp_count(*) FILTER (WHERE age > (SELECT n FROM one)) IS NULL FROM person WHERE age < 0;
SELECT charges FROM spent();

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
