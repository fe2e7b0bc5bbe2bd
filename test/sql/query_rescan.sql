-- One charge and one draw under every plan shape: loops, rescans, mark and
-- restore, parameters that change, EvalPlanQual's second plan.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_rescan
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
CREATE TABLE number (i int PRIMARY KEY, ward text);
INSERT INTO number SELECT i, (ARRAY['A','B','C'])[1 + i % 3] FROM generate_series(1, 20) i;
ANALYZE number;
-- the noise of a released value at epsilon 0.001 has scale 1000: two draws
-- agree with probability 0.00025, and each test compares at least three
SET dp_pg.epsilon = '0.001';

-- nested loop over a bare release, without Materialize in between
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
-- the plan is what this test means: a release straight below a join
CREATE FUNCTION inner_release(statement text, kind text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
	RETURN jsonb_path_exists(plan, format('strict $.** ? (@."Node Type" == "%s").Plans[1] ? (@."Custom Plan Provider" == "DpRelease")', kind)::jsonpath);
END $$;
SELECT inner_release('SELECT 1 FROM number LEFT JOIN (SELECT dp_count(*) c FROM person GROUP BY ward) p ON i + c IS NOT NULL', 'Nested Loop');
SELECT count(*), count(DISTINCT c) <= 5 FROM number LEFT JOIN (SELECT dp_count(*) c FROM person GROUP BY ward) p ON i + c IS NOT NULL;
SELECT * FROM spent();
SELECT count(*), count(DISTINCT c) FROM number LEFT JOIN (SELECT dp_count(*) c FROM person) p ON i + c IS NOT NULL;
SELECT * FROM spent();
SELECT count(*), count(DISTINCT (ward, c)) FROM number LEFT JOIN (SELECT ward, dp_count(*) c FROM person GROUP BY ward) p USING (ward);
SELECT * FROM spent();
-- a parameter that changes with every loop
SELECT count(*), count(DISTINCT (n.ward, c)) FROM number n,
	LATERAL (SELECT c FROM (SELECT ward, dp_count(*) c FROM person GROUP BY ward) p WHERE p.ward = n.ward OFFSET 0) q;
SELECT * FROM spent();
SELECT count(*), count(DISTINCT c) FROM number n, LATERAL (SELECT c, n.i FROM (SELECT dp_count(*) c FROM person) p OFFSET 0) q;
SELECT * FROM spent();
SELECT count(*), count(DISTINCT c) FROM (SELECT i, (SELECT c FROM (SELECT dp_count(*) c FROM person) p WHERE n.i > 0) c FROM number n) t;
SELECT * FROM spent();
SELECT count(*), count(DISTINCT c) FROM (SELECT i, (SELECT max(c) FROM (SELECT dp_count(*) c FROM person GROUP BY ward) p WHERE n.i > 0) c FROM number n) t;
SELECT * FROM spent();
-- an EXISTS that stops early, again and again
SELECT count(*) FROM number n WHERE EXISTS (SELECT 1 FROM (SELECT ward, dp_count(*) c FROM person GROUP BY ward) p WHERE p.ward = n.ward AND c + i IS NOT NULL);
SELECT * FROM spent();
RESET enable_material;
-- Materialize, Memoize
SET enable_memoize = on;
SELECT count(*), count(DISTINCT c) FROM number n, LATERAL (SELECT c, n.ward FROM (SELECT dp_count(*) c FROM person) p OFFSET 0) q;
SELECT * FROM spent();
RESET enable_hashjoin;

-- hash join with the release on either side
SET enable_nestloop = off;
SELECT count(*), count(DISTINCT (ward, c)) FROM number JOIN (SELECT ward, dp_count(*) c FROM person GROUP BY ward) p USING (ward);
SELECT * FROM spent();
-- merge join: mark and restore of duplicates on both sides
SET enable_hashjoin = off;
SET enable_mergejoin = on;
SELECT count(*), count(DISTINCT (p.ward, sex, c)) FROM number n JOIN (SELECT ward, sex, dp_count(*) c FROM person GROUP BY ward, sex) p ON n.ward = p.ward;
SELECT * FROM spent();
WITH r AS (SELECT sex, ward, dp_count(*) c FROM person GROUP BY sex, ward)
SELECT count(*), count(DISTINCT (a.sex, a.ward, a.c)), count(DISTINCT (b.sex, b.ward, b.c)), bool_and(a.c = b.c) FILTER (WHERE a.sex = b.sex)
FROM r a JOIN r b USING (ward);
SELECT * FROM spent();
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_nestloop;

-- in a subplan, hashed and not
SELECT count(*) FROM number WHERE ward NOT IN (SELECT ward FROM person GROUP BY ward HAVING dp_count(*) IS NULL);
SELECT * FROM spent();
SELECT count(*), count(DISTINCT c) FROM (SELECT i, i > ALL (SELECT dp_count(*) FROM person GROUP BY sex) c FROM generate_series(-1000000, 1000000, 1000000) i) t;
SELECT * FROM spent();
-- in CASE and COALESCE, evaluated or not
SELECT count(DISTINCT c) <= 2 FROM (SELECT CASE WHEN i % 2 = 0 THEN (SELECT dp_count(*) FROM person) ELSE 0 END c FROM number) t;
SELECT * FROM spent();
SELECT coalesce(1, (SELECT dp_count(*) FROM person));
SELECT * FROM spent();
-- recursion over it
WITH RECURSIVE w AS (SELECT 1 AS step, 0::bigint AS c UNION ALL SELECT step + 1, p.c FROM w JOIN (SELECT dp_count(*) c FROM person) p ON step < 10 + 0 * p.c)
SELECT count(*), count(DISTINCT c) FILTER (WHERE step > 1) FROM w;
SELECT * FROM spent();
-- set-returning functions and windows above
SELECT count(*), count(DISTINCT c) FROM (SELECT dp_count(*) c, generate_series(1, 10) FROM person) t;
SELECT count(*), count(DISTINCT c), max(n) FROM (SELECT dp_count(*) c, count(*) OVER () n FROM person) t;
SELECT * FROM spent();
-- DISTINCT, sorting, grouping above
SELECT count(*) FROM (SELECT DISTINCT ON (w) w, c FROM (SELECT 1 w, dp_count(*) c FROM person GROUP BY ward) t ORDER BY w, c) u;
SELECT * FROM spent();
-- the same text twice is two releases; one value named twice is one draw
SELECT (SELECT dp_count(1, 1e-3) FROM person) IS NOT NULL, (SELECT dp_count(1, 1e-3) FROM person) IS NOT NULL;
SELECT * FROM spent();
SELECT a = b AND b = c AS same FROM (SELECT dp_count(*) a, dp_count(*) b, dp_count(*) + 0 c FROM person) t;
SELECT * FROM spent();
SELECT bool_and(n = m) FROM (SELECT ward, dp_count(*) n, dp_sum(1, 0, 1) s, 2 * dp_count(*) - dp_count(*) m FROM person GROUP BY ward HAVING dp_count(*) IS NOT NULL ORDER BY dp_count(*)) t;
SELECT * FROM spent();

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
