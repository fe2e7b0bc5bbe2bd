-- dp_corr, dp_covar_pop, dp_covar_samp and dp_regr_*.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_pairs
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE TABLE pair (id int PRIMARY KEY, i int, y float8, n numeric, half boolean NOT NULL, who int);
INSERT INTO pair SELECT k, k % 100, (k % 100) * 0.5 + k * 7 % 13 - 6, (k * k % 50) / 4.0, k <= 500, k / 3 FROM generate_series(1, 1000) AS k;
CREATE TABLE plain AS TABLE pair;
-- none of these counts: NULL or NaN on either side
INSERT INTO pair VALUES (0, NULL, 1, 1, true, 0), (-1, 1, NULL, NULL, true, 0), (-2, 1, 'NaN', 'NaN', false, 0);
ALTER TABLE pair OWNER TO :owner;
SELECT dp_protect('pair', dataset => 'regress_query_pairs') \g /dev/null
SET dp_pg.epsilon_ceiling = '1000000000';
SET dp_pg.epsilon = '1000000000';
-- each answer beside the plain one; noise in each sum has scale 1.5e-9 rows, so a difference has odds below e^-1000
CREATE FUNCTION near(a float8, b float8) RETURNS boolean RETURN abs(a - b) <= 1e-5 * (1 + abs(b));
SELECT near(p.corr, t.corr) AS corr, near(p.covar_pop, t.covar_pop) AS covar_pop, near(p.covar_samp, t.covar_samp) AS covar_samp,
	near(p.avgx, t.avgx) AS avgx, near(p.avgy, t.avgy) AS avgy, p.count = t.count AS count, near(p.slope, t.slope) AS slope,
	near(p.intercept, t.intercept) AS intercept, near(p.r2, t.r2) AS r2, near(p.sxx, t.sxx) AS sxx, near(p.sxy, t.sxy) AS sxy, near(p.syy, t.syy) AS syy
FROM (SELECT dp_corr(y, i, -10, 60, 0, 100) AS corr, dp_covar_pop(y, i, -10, 60, 0, 100), dp_covar_samp(y, i, -10, 60, 0, 100), dp_regr_avgx(y, i, 0, 100) AS avgx,
		dp_regr_avgy(y, i, -10, 60) AS avgy, dp_regr_count(y, i) AS count, dp_regr_slope(y, i, -10, 60, 0, 100) AS slope, dp_regr_intercept(y, i, -10, 60, 0, 100) AS intercept,
		dp_regr_r2(y, i, -10, 60, 0, 100) AS r2, dp_regr_sxx(y, i, 0, 100) AS sxx, dp_regr_sxy(y, i, -10, 60, 0, 100) AS sxy, dp_regr_syy(y, i, -10, 60) AS syy FROM pair)
	AS p (corr, covar_pop, covar_samp, avgx, avgy, count, slope, intercept, r2, sxx, sxy, syy),
	(SELECT corr(y, i), covar_pop(y, i), covar_samp(y, i), regr_avgx(y, i), regr_avgy(y, i), regr_count(y, i), regr_slope(y, i), regr_intercept(y, i), regr_r2(y, i), regr_sxx(y, i), regr_sxy(y, i), regr_syy(y, i) FROM plain)
	AS t (corr, covar_pop, covar_samp, avgx, avgy, count, slope, intercept, r2, sxx, sxy, syy);
-- groups and FILTER; numeric arguments; a mirror image; clamping
SELECT p.half, near(p.c, t.c) AS c, near(p.s, t.s) AS s FROM (SELECT half, dp_corr(n, i, 0, 13, 0, 100) AS c, dp_regr_slope(-y, i, -60, 10, 0, 100) FILTER (WHERE i > 50) AS s FROM pair GROUP BY half) AS p
JOIN (SELECT half, corr(n, i) AS c, regr_slope(-y, i) FILTER (WHERE i > 50) AS s FROM plain GROUP BY half) AS t USING (half);
SELECT near(dp_corr(y, i, 0, 20, 30, 70), (SELECT corr(least(greatest(y, 0), 20), least(greatest(i, 30), 70)) FROM plain)) AS clamped FROM pair;
-- types as those of the plain aggregates
SELECT pg_typeof(dp_corr(i, i, 0, 1, 0, 1)) AS corr, pg_typeof(dp_regr_count(i, n)) AS count, pg_typeof(dp_regr_avgx(n, n, 0, 1)) AS avgx FROM pair;
-- no row in 400 groups: what is released is noise around 0, NULL where the released number of rows is not positive, or a variance; each count within ten standard deviations
CREATE TABLE many (id int PRIMARY KEY, x int NOT NULL);
ALTER TABLE many OWNER TO :owner;
SELECT dp_protect('many', dataset => 'regress_query_pairs'), dp_declare('many', 'id', 1, 400) \g /dev/null
SELECT bool_and(n = 0) AS rows, count(*) FILTER (WHERE p IS NULL) BETWEEN 100 AND 300 AS population, count(*) FILTER (WHERE a IS NULL) BETWEEN 100 AND 300 AS mean, count(*) FILTER (WHERE s IS NULL) BETWEEN 150 AND 395 AS slope,
	count(*) FILTER (WHERE c IS NULL) BETWEEN 150 AND 399 AS corr, bool_and(abs(c) <= 1) AS within, bool_and(abs(p) <= 3) AS below
FROM (SELECT id, dp_regr_count(x, x) AS n, dp_covar_pop(x, x, 0, 4, 0, 3) AS p, dp_regr_avgx(x, x, 0, 1) AS a, dp_regr_slope(x, x, 0, 4, 0, 3) AS s, dp_corr(x, x, 0, 4, 0, 3) AS c FROM many GROUP BY id) AS q;
-- declared bounds, and inferred ones
SELECT dp_declare('pair', 'i', lower => 0, upper => 100), dp_declare('pair', 'y', lower => -10, upper => 60) \g /dev/null
SELECT near(dp_corr(y, i), t.c) AS declared, near(dp_regr_slope(2 * y + 1, i - 50), t.s) AS inferred FROM pair, (SELECT corr(y, i) AS c, 2 * regr_slope(y, i) AS s FROM plain) AS t GROUP BY t.c, t.s;
-- any plan, the same sums
ALTER TABLE pair SET (parallel_workers = 3);
SET min_parallel_table_scan_size = 0;
SELECT near(dp_corr(y, i), (SELECT corr(y, i) FROM plain)) AS parallel FROM pair;
RESET min_parallel_table_scan_size;
-- what they cost; EXPLAIN counts in rows; the charge is one price each
RESET dp_pg.epsilon_ceiling;
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT spent() IS NOT NULL AS marked;
SELECT dp_corr(age, score) IS NULL AS c, dp_regr_count(age, score, 0.5) IS NULL AS n, dp_regr_sxx(age, score, 0, 50, 0.25::float8) IS NULL AS s FROM person \g /dev/null
SELECT value, epsilon, rho, sensitivity, scale, error_95 FROM dp_last_release();
SELECT * FROM spent();
EXPLAIN (COSTS OFF) SELECT sex, dp_regr_slope(score, age) FROM person GROUP BY sex;
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
SELECT dp_corr(score, age) IS NULL AS c, dp_covar_samp(score, age) IS NULL AS s FROM person \g /dev/null
SELECT value, mechanism, sensitivity FROM dp_last_release();
RESET dp_pg.mechanism;
-- refused, before anything is charged
SELECT * FROM outcome('SELECT dp_corr(id, age) FROM person');
SELECT * FROM outcome('SELECT dp_regr_avgx(age, id) FROM person');
SELECT * FROM outcome('SELECT dp_corr(score, age, 0, 1, 5, 4) FROM person');
SELECT * FROM outcome('SELECT dp_corr(score, age, 0, 1, 0, NULL) FROM person');
SELECT * FROM outcome('SELECT dp_corr(score, age, 0, 1, 0, income) FROM person');
SELECT * FROM outcome('SELECT dp_corr(DISTINCT score, age, 0, 1, 0, 1) FROM person');
SELECT * FROM outcome('SELECT dp_covar_pop(score, age, 0, 1e200, 0, 1) FROM person');
SELECT * FROM outcome('SELECT dp_regr_slope(score, 1 / (age - 40), 0, 1, 0, 1) FROM person');
SELECT state, charges FROM outcome('SELECT dp_corr(score, ward::float8, 0, 1, 0, 1) FROM person');
-- the inner aggregate and the exact pair are nobody's
SELECT dp_pg.bounded_pairs(1, NULL, 1, NULL);
SELECT dp_pg.granule_pair(1, NULL, 1, NULL);
SELECT has_function_privilege('dp_pg.pair_add(dp_pg.pair_state, float8, dp_pg.sum_spec, float8, dp_pg.sum_spec)', 'execute') AS may;
-- units with many rows: all of them where all count
RESET ROLE;
CREATE TABLE visit_pair AS TABLE plain;
ALTER TABLE visit_pair OWNER TO :owner;
SELECT dp_protect('visit_pair', unit => 'who', dataset => 'regress_query_pairs') \g /dev/null
SET dp_pg.epsilon_ceiling = '1000000000';
SET dp_pg.epsilon = '1000000000';
SET dp_pg.max_rows = 3;
SET dp_pg.max_keys = 2;
SELECT p.half, near(p.c, t.c) AS c, near(p.s, t.s) AS s, p.n = t.n AS n, near(p.a, t.a) AS a, near(p.x, t.x) AS x
FROM (SELECT half, dp_corr(y, i, -10, 60, 0, 100) AS c, dp_regr_slope(y, i, -10, 60, 0, 100) AS s, dp_regr_count(y, i) AS n, dp_regr_avgy(y, i, -10, 60) AS a, dp_regr_sxx(y, i, 0, 100) AS x FROM visit_pair GROUP BY half) AS p
JOIN (SELECT half, corr(y, i) AS c, regr_slope(y, i) AS s, regr_count(y, i) AS n, regr_avgy(y, i) AS a, regr_sxx(y, i) AS x FROM plain GROUP BY half) AS t USING (half);
-- one row of each counts, scaled: a unit counts its own mean
SET dp_pg.max_rows = 1;
SELECT dp_regr_count(y, i) = (SELECT count(DISTINCT who) FROM plain) AS units,
	near(dp_regr_avgx(y, i, 0, 100), (SELECT avg(m) FROM (SELECT avg(i) AS m FROM plain GROUP BY who) AS s)) AS mean,
	near(dp_regr_sxy(y, i, -10, 60, 0, 100), (SELECT sum(p) - sum(m) * sum(o) / count(*) FROM (SELECT avg(i) AS m, avg(y) AS o, avg(i * y) AS p FROM plain GROUP BY who) AS s)) AS products FROM visit_pair;
-- keys by threshold
SET dp_pg.delta = '1e-5';
SET dp_pg.max_rows = 3;
SELECT k, near(c, (SELECT covar_pop(y, i) FROM plain WHERE i % 2 = k)) AS c FROM (SELECT i % 2 AS k, dp_covar_pop(y, i, -10, 60, 0, 100) AS c FROM visit_pair WHERE i > -5 GROUP BY i % 2) AS q ORDER BY k;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
