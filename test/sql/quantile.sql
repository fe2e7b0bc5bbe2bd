-- dp_quantile, dp_median: forms, types, grids, special values, prices.
--
-- At epsilon 40000 and more a grid point that is p rows of rank off has odds
-- of at most exp(-20000 p) against the best.  Where the fraction of the number
-- of rows is no integer, one value alone has p = 0, that of percentile_disc;
-- below, p >= 0.01 elsewhere, and there are at most 2^22 points.  So an exact
-- answer is another one with probability below exp(-184), 10^-79.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test quantile
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- 101 rows, 0 .. 100, in every type
CREATE TABLE typed (s smallint, i integer, b bigint, r real,
	d double precision, n numeric, day date, t timestamp, z timestamptz, word text);
INSERT INTO typed SELECT i, i, i, i, i, i, date '2024-01-01' + i,
	timestamp '2024-01-01' + i * interval '16384 us',
	timestamptz '2024-01-01' + i * interval '16384 us', i
FROM generate_series(0, 100) i;
SELECT dp_protect('typed', dataset => :'schema');
-- the values that do not behave
CREATE TABLE special (b bigint, r real, d double precision, n numeric, day date, z timestamptz);
INSERT INTO special VALUES (9223372036854775807, 'NaN', 'NaN', 'NaN', 'infinity', 'infinity'),
	(-9223372036854775808, 'Infinity', 'Infinity', 'Infinity', '-infinity', '-infinity'),
	(1, '-Infinity', '-Infinity', '-Infinity', '2024-01-02', '2024-01-02'),
	(NULL, NULL, NULL, NULL, NULL, NULL),
	(9223372036854775807, 1, 1, 1, '5874897-12-31', '294276-12-31'),
	(2, 1e38, 1e308, 1e308, '2024-01-03', '2024-01-03'),
	(-9223372036854775808, -1e-38, -1e-308, -1e-308, '4713-01-01 BC', '4713-01-01 BC');
SELECT dp_protect('special', dataset => :'schema');
CREATE TABLE nobody (i int, d double precision, n numeric, day date, ward text);
SELECT dp_protect('nobody', dataset => :'schema');
SELECT dp_declare('nobody', 'ward', keys => (SELECT array_agg(k::text) FROM generate_series(1, 200) k));
RESET ROLE;

SET ROLE :analyst;
-- every type by every form by every type of parameter
CREATE FUNCTION forms() RETURNS TABLE (kind regtype, forms int, typed int, exact int)
LANGUAGE plpgsql AS $$
DECLARE
	c record;
	f record;
	p text;
	t regtype;
	v text;
	good boolean;
BEGIN
	FOR c IN SELECT attname AS name, atttypid::regtype AS type, CASE attname
			WHEN 'day' THEN '''2024-01-01'', ''2024-12-31'''
			WHEN 't' THEN '''2024-01-01'', ''2024-01-01 00:00:02'''
			WHEN 'z' THEN '''2024-01-01'', ''2024-01-01 00:00:02''' ELSE '0%1$s, 128%1$s' END AS bounds,
			attnum <= 6 AS number
		FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum BETWEEN 1 AND 9 ORDER BY attnum
	LOOP
		kind := c.type; forms := 0; typed := 0; exact := 0;
		FOREACH p IN ARRAY ARRAY['', '::numeric', '::float8', '::real'] LOOP
		FOR f IN SELECT * FROM (VALUES
			('median', 0.5, '%2$s'), ('median', 0.5, '%2$s, 40000%1$s'),
			('quantile', 0.25, '0.25%1$s, %2$s'), ('quantile', 0.25, '0.25%1$s, %2$s, 40000%1$s'),
			('quantile', 0.99, '0.99, %2$s, 40000'), ('quantile', 0.001, '0.001, %2$s')) x(name, fraction, form)
		LOOP
			EXECUTE format('SELECT pg_typeof(x), x::text, x = (SELECT percentile_disc(%1$s) WITHIN GROUP (ORDER BY i)::%2$s FROM generate_series(0, 100) g, LATERAL (SELECT %3$s AS i) l) FROM (SELECT dp_%4$s(%5$s, %6$s) AS x FROM typed) q',
				f.fraction, c.type, CASE c.name WHEN 'day' THEN 'date ''2024-01-01'' + g'
					WHEN 't' THEN 'timestamp ''2024-01-01'' + g * interval ''16384 us'''
					WHEN 'z' THEN 'timestamptz ''2024-01-01'' + g * interval ''16384 us''' ELSE 'g' END,
				f.name, c.name, format(f.form, p, format(c.bounds, p)))
				INTO t, v, good;
			forms := forms + 1;
			typed := typed + (t = c.type)::int;
			exact := exact + good::int;
		END LOOP;
		END LOOP;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM forms();
-- parameters of several types, literals without one, wider arguments
SELECT dp_quantile(i, 1 / 3.0, 0, 128), dp_quantile(s, 0.25::real, 0::bigint, 128.0), dp_quantile(d, '0.25', '0', '128'),
	dp_median(i + 0.0, 0, 128), pg_typeof(dp_median(i + 0.0, 0, 128)), dp_median(i / 2, 0, 128) FROM typed;
SELECT dp_median(day, timestamp '2024-01-01', timestamp '2024-12-31') - timestamp '2024-02-20' < interval '8 s' AS date_as_timestamp,
	dp_median(day, date '2024-01-01', date '2024-12-31', 90000.0::float8) FROM typed;
PREPARE q AS SELECT dp_quantile(i, $1, $2, $3, $4), dp_median(day, $5, $6), dp_median(d, $2, $3) FROM typed;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'q';
EXECUTE q(0.25, 0, 128, 50000, '2024-01-01', '2024-12-31');
EXECUTE q(0.75, 0, 64, 50000, '2024-01-01', '2024-12-31');
DEALLOCATE q;
-- as a driver binds them
PREPARE q(float8, int, date, numeric, timestamptz) AS SELECT dp_quantile(i, $1, $2, 128, $4), dp_quantile(n, $4 / 1e5, $2, 128, $1 * 1e5), dp_quantile(day, $1, $3, '2024-12-31', $4),
	dp_quantile(z, $1, $5, $5 + interval '2 s'), dp_quantile(d, 0.25, $2, $4) FROM typed;
EXECUTE q(0.25, 0, '2024-01-01', 50000, '2024-01-01');
DEALLOCATE q;
PREPARE q AS SELECT dp_quantile(day, $1, $2, $3, $4), dp_quantile(z, $1, $5, $6), dp_quantile(n, $1, $7, $8) FROM typed;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'q';
DEALLOCATE q;
-- values outside the bounds count at them
SELECT dp_median(i, 0, 10), dp_quantile(i, 0.05, 0, 10), dp_median(i, 60, 80), dp_quantile(i, 0.9, 60, 80),
	dp_quantile(day, 0.9, '2024-01-01', '2024-01-31') FROM typed;
-- least and greatest: anything between the bound and that row is as good
SELECT dp_quantile(i, 0, -10, 200) BETWEEN -10 AND 0 AS least, dp_quantile(i, 1, -10, 200) BETWEEN 100 AND 200 AS greatest,
	dp_quantile(i, 0, 0, 100) = 0 AND dp_quantile(i, 1, 0, 100) = 100 AS at_the_bounds FROM typed;
-- as many below as above: all between the two middle rows is as good
SELECT dp_median(i, 0, 128) FILTER (WHERE i IN (10, 20)) BETWEEN 10 AND 20 AS between FROM typed;

-- groups, FILTER, HAVING, several at once, expressions over them
SELECT * FROM (SELECT ward, dp_median(age), dp_quantile(age, 0.1), dp_quantile(age, 0.9, 0, 50) FROM person WHERE id <= 999 GROUP BY ward) p WHERE ward <> 'E';
SELECT ward, percentile_disc(0.1) WITHIN GROUP (ORDER BY age) FROM (SELECT (ARRAY['other','A','B','C'])[1 + i % 4] AS ward, i % 100 AS age
	FROM generate_series(1, 999) i) p GROUP BY ward ORDER BY 1;
SELECT sex, dp_quantile(age, 0.25) FILTER (WHERE age < 51) AS young, dp_quantile(born, 0.51) AS born, dp_count(*) FROM person
WHERE id <= 997 GROUP BY sex HAVING dp_quantile(age, 0.251) > 3;
SELECT dp_quantile(age, 0.751) - dp_quantile(age, 0.251) AS spread, dp_median(score) * 2 AS twice FROM person WHERE id < 1000;
-- declared bounds of every kind; text has none
SELECT dp_median(income) BETWEEN 24.5 AND 25, dp_quantile(score, 0.333), dp_quantile(born, 0.333) FROM person;
SELECT abs(extract(epoch FROM dp_quantile(seen, 0.3335, '2020-01-01', '2020-03-01') - timestamptz '2020-01-14 22:00')) < 1.5 AS seen FROM person;

-- NULL and NaN are skipped, infinities clamp, nothing fails
SELECT dp_quantile(b, 0.1, -10, 10) AS b, dp_quantile(r, 0.1, -10, 10) AS r, dp_quantile(d, 0.1, -10, 10) AS d, round(dp_quantile(n, 0.1, -10, 10), 4) AS n FROM special;
SELECT dp_quantile(b, 0.45, -10, 10) AS b, dp_quantile(r, 0.5, -10, 10) AS r, dp_quantile(d, 0.5, -10, 10) AS d, round(dp_quantile(n, 0.5, -10, 10), 4) AS n FROM special;
SELECT dp_quantile(b, 0.95, -10, 10) AS b, dp_quantile(r, 0.95, -10, 10) AS r, dp_quantile(d, 0.95, -10, 10) AS d, round(dp_quantile(n, 0.95, -10, 10), 4) AS n FROM special;
SELECT dp_quantile(day, 0.1, '2024-01-01', '2024-01-31') AS least, dp_quantile(day, 0.45, '2024-01-01', '2024-01-31') AS middle,
	dp_quantile(day, 0.95, '2024-01-01', '2024-01-31') AS greatest FROM special;
SELECT dp_quantile(z, 0.1, '2024-01-01', '2024-01-31') < '2024-01-01 00:00:02' AS least,
	abs(extract(epoch FROM dp_quantile(z, 0.45, '2024-01-01', '2024-01-31') - '2024-01-02')) < 2 AS middle,
	dp_quantile(z, 0.95, '2024-01-01', '2024-01-31') > '2024-01-30 23:59:58' AS greatest FROM special;
-- bounds of the type, and beyond it
SELECT dp_median(b, -9223372036854775808, 9223372036854775807) BETWEEN -1e13 AND 1e13 AS b,
	dp_quantile(b, 0.95, -9223372036854775808, 9223372036854775807) > 9e18 AS top FROM special;
SELECT dp_median(s, 0, 100000) = 50 AS s, dp_quantile(s, 0.999, 40000, 100000) AS saturated, dp_median(r, -1e50, 1e50) IS NOT NULL AS r,
	abs(dp_median(i, 0, 10000000000) - 50) < 5000 AS i FROM typed;

-- no rows: any grid value, never NULL.  200 of 1001 values: all equal with
-- probability 1001^-199.
SELECT count(*), bool_and(i BETWEEN 0 AND 1000), count(DISTINCT i) > 1, bool_and(d BETWEEN 3 AND 7), bool_and(n BETWEEN 3 AND 7),
	bool_and(day BETWEEN '2024-01-01' AND '2024-12-31')
FROM (SELECT ward, dp_median(i, 0, 1000) i, dp_quantile(d, 0, 3, 7) d, dp_quantile(n, 1, 3, 7) n, dp_median(day, '2024-01-01', '2024-12-31') AS day
	FROM nobody GROUP BY ward) t;
SELECT dp_median(age) BETWEEN 0 AND 120 AS answered FROM person WHERE age > 1000;
-- there is noise: of 201 uniform answers among 1001 not more than 20 differ
-- with probability below 10^-200
SELECT count(DISTINCT v) > 20 AS noisy FROM (SELECT dp_median(age, 0.001) v FROM person UNION ALL SELECT dp_median(i, 0, 1000, 0.001) FROM nobody GROUP BY ward) t;

-- Grids.  All of a block have at most 2^26 points, here 3 for each of 200 wards, so 2^16 each:
-- [3, 7]: granule 2^-14; [0, 100] declared 2^-2 and 2^-26, the latter finer
-- than what is counted (2^-10); whole
-- numbers: the least power of two.  Numerics are written
-- with enough digits to tell points apart, and stay within their bounds.
SELECT bool_and(d * 2 ^ 14 = trunc(d * 2 ^ 14)), bool_or(d * 2 ^ 13 <> trunc(d * 2 ^ 13)), bool_and(i % 256 = 0), bool_or(i % 512 <> 0), bool_and(n BETWEEN 0.3333333333 AND 0.6666666666)
FROM (SELECT ward, dp_median(d, 3, 7) d, dp_median(i, 1, 16000000) i, dp_median(n, 0.3333333333, 0.6666666666) n FROM nobody GROUP BY ward) t;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('nobody', 'd', lower => 0, upper => 100, granule => 0.25);
SELECT dp_declare('nobody', 'n', lower => 0, upper => 100, granule => 0.00000001490116119384765625);
SELECT dp_declare('nobody', 'i', lower => 0, upper => 1000, granule => 4);
SET ROLE :analyst;
SELECT bool_and(d * 4 = trunc(d * 4)), bool_or(d * 2 <> trunc(d * 2)), bool_and(abs(n * 2048 - round(n * 2048)) < 0.3), count(DISTINCT n) > 100, bool_and(i % 4 = 0), bool_or(i % 8 <> 0)
FROM (SELECT ward, dp_median(d) d, dp_median(n) n, dp_median(i) i FROM nobody GROUP BY ward) t;
SELECT dp_quantile(n, 0, 0.6666666, 0.6666667) BETWEEN 0.6666666 AND 0.6666667 AS within FROM nobody;

-- every plan has the same answer: serial and parallel, hashed and sorted
CREATE FUNCTION plans() RETURNS TABLE (workers text, hashed text, answers text) LANGUAGE plpgsql AS $$
BEGIN
	FOR workers, hashed IN SELECT * FROM unnest(ARRAY['0', '2']) w, unnest(ARRAY['on', 'off']) h LOOP
		PERFORM set_config('max_parallel_workers_per_gather', workers, true), set_config('enable_hashagg', hashed, true),
			set_config('parallel_setup_cost', '0', true), set_config('parallel_tuple_cost', '0', true), set_config('min_parallel_table_scan_size', '0', true);
		SELECT md5(string_agg(format('%s %s %s %s', k, a, b, c), ',' ORDER BY k)) INTO answers
		FROM (SELECT k, dp_quantile(v, 0.35, 0, 1000000) a, dp_quantile(d, 0.35, 0, 1000) b, dp_median(v % 7, 0, 6) c FROM big GROUP BY k) q WHERE k IS NOT NULL;
		RETURN NEXT;
	END LOOP;
END $$;
RESET ROLE;
SET ROLE :owner;
CREATE TABLE big AS SELECT i % 7 AS k, 'w' || i % 20 AS w, (i::bigint * i * 7919 % 1000003)::int AS v, (i::bigint * 7919 % 4093)::float8 / 8 AS d FROM generate_series(1, 30107) i;
SELECT dp_protect('big', dataset => :'schema', rows => 10000000);
SELECT dp_declare('big', 'k', lower => 0, upper => 6);
SELECT dp_declare('big', 'w', keys => ARRAY['w3', 'w7'], other => 'rest');
SET ROLE :analyst;
SELECT count(*), count(DISTINCT answers) FROM plans();
RESET ROLE;
SET ROLE :owner;
SELECT md5(string_agg(format('%s %s %s %s', k, a, b, c), ',' ORDER BY k)) AS answers
FROM (SELECT k, percentile_disc(0.35) WITHIN GROUP (ORDER BY v) a, percentile_disc(0.35) WITHIN GROUP (ORDER BY d) b, percentile_disc(0.5) WITHIN GROUP (ORDER BY v % 7) c FROM big GROUP BY k) q \gset
SET ROLE :analyst;
SELECT workers, hashed, answers = :'answers' AS exact FROM plans();
-- a group that collects others adds their counts up, few values and many
SELECT * FROM (SELECT w, dp_quantile(v, 0.3517, 0, 1000000) a, dp_quantile(d, 0.3517, 0, 1000) b, dp_quantile(v % 7, 0.51, 0, 6) c,
	dp_quantile(v, 0.3517, 0, 1000000) FILTER (WHERE k = 1 AND v < 10000) d FROM big GROUP BY w) q WHERE w IS NOT NULL;
RESET ROLE;
SET ROLE :owner;
SELECT CASE WHEN w IN ('w3', 'w7') THEN w ELSE 'rest' END w, percentile_disc(0.3517) WITHIN GROUP (ORDER BY v) a, percentile_disc(0.3517) WITHIN GROUP (ORDER BY d) b,
	percentile_disc(0.51) WITHIN GROUP (ORDER BY v % 7) c, percentile_disc(0.3517) WITHIN GROUP (ORDER BY v) FILTER (WHERE k = 1 AND v < 10000) d FROM big GROUP BY 1 ORDER BY 1 DESC;
SET ROLE :analyst;

-- what it costs; dp_pg.mechanism makes no difference
CREATE FUNCTION charged(OUT mechanism text, OUT epsilon numeric, OUT delta numeric, OUT rho numeric, OUT releases int) LANGUAGE sql AS $$
	SELECT mechanism, epsilon, delta, round(rho, 12), releases FROM dp_pg.ledger WHERE dataset = 'regress_quantile' ORDER BY id DESC LIMIT 1 $$;
SELECT state, hinted, charges FROM outcome('SELECT dp_median(age, 0.5), dp_quantile(age, 0.9, 0.25), dp_count(1, 1) FROM person');
SELECT * FROM charged();
SET dp_pg.mechanism = gaussian;
SELECT state, hinted, charges FROM outcome('SELECT ward, dp_median(age, 1) FROM person GROUP BY ward');
SELECT * FROM charged();
RESET dp_pg.mechanism;
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line ~ 'Released|Charge' THEN
			RETURN NEXT btrim(line);
		END IF;
	END LOOP;
END $$;
SELECT explained($$SELECT dp_median(age, 0.5), dp_quantile(score, 0.9, 0.25), dp_quantile(born, 0.123, '2020-01-01', '2020-12-31', 1) FROM person$$);
SELECT dp_quantile(income, 0.99, 0, 100, 2) IS NOT NULL AS answered FROM person;
SELECT value, mechanism, epsilon, delta, rho, sensitivity, scale, error_95 FROM dp_last_release();

-- replace one: d instead of max(a, d - a); among groups a unit may leave one
-- and enter another
RESET ROLE;
SET ROLE :owner;
CREATE TABLE swapped (k boolean NOT NULL, v integer);
INSERT INTO swapped SELECT i % 2 = 0, i FROM generate_series(1, 999) i;
SELECT dp_protect('swapped', dataset => 'regress_quantile_replace');
SELECT dp_neighbours('regress_quantile_replace', 'replace_one');
SELECT dp_grant(:'analyst', dataset => 'regress_quantile_replace', epsilon => 1e11, delta => 1e-6);
SET ROLE :analyst;
SELECT explained('SELECT dp_median(v, 0, 1000, 1), dp_quantile(v, 0.9, 0, 1000, 1), dp_quantile(v, 0, 0, 1000, 1) FROM swapped');
SELECT explained('SELECT k, dp_median(v, 0, 1000, 1), dp_quantile(v, 0.9, 0, 1000, 1), dp_quantile(v, 0, 0, 1000, 1) FROM swapped GROUP BY k');
SELECT k, dp_quantile(v, 0.333, 0, 1000) FROM swapped GROUP BY k;

-- mistakes: 22023 before anything is charged
SELECT statement, o.* FROM unnest(ARRAY[
	'dp_quantile(i, 0.5) FROM typed', 'dp_median(i) FROM typed', 'dp_quantile(i, -0.1, 0, 9) FROM typed', 'dp_quantile(i, 1.000000001, 0, 9) FROM typed',
	'dp_quantile(i, 50, 0, 9) FROM typed', 'dp_quantile(i, NULL, 0, 9) FROM typed', 'dp_quantile(i, ''NaN'', 0, 9) FROM typed', 'dp_quantile(i, ''Infinity'', 0, 9) FROM typed',
	'dp_quantile(i, 0.1234567890123456789012345, 0, 9) FROM typed', 'dp_quantile(i, 0.123456789012345678901234, 0, 9) FROM typed', 'dp_quantile(i, 0.5, NULL, 9) FROM typed', 'dp_median(i, 0, NULL) FROM typed',
	'dp_median(i, 9, 0) FROM typed', 'dp_median(i, 1, 1) FROM typed', 'dp_median(i, 0.2, 0.8) FROM typed', 'dp_median(i, ''-Infinity'', 9) FROM typed',
	'dp_median(day, ''-infinity'', ''2024-01-01'') FROM typed', 'dp_median(day, ''2024-01-02'', ''2024-01-01'') FROM typed',
	'dp_median(i, 0, 9, 0) FROM typed', 'dp_median(i, 0, 9, -1) FROM typed', 'dp_median(i, 0, 9, NULL) FROM typed', 'dp_median(age, NULL) FROM person',
	'dp_quantile(i, i / 100.0, 0, 9) FROM typed', 'dp_median(i, 0, i) FROM typed', 'dp_median(i, 0, 9, i) FROM typed', 'dp_quantile(i, random()::numeric, 0, 9) FROM typed',
	'dp_median(word, ''a'', ''b'') FROM typed', 'dp_median(word) FROM typed', 'dp_median(DISTINCT i, 0, 9) FROM typed', 'dp_median(i, 0, 9) OVER () FROM typed', 'dp_median(i, 0, 9) FROM generate_series(1, 9) i',
	'dp_median(10 / i, 0, 9) FROM typed', 'dp_median(day + 1000000000, ''2024-01-01'', ''2024-12-31'') FROM typed']) statement, outcome('SELECT ' || statement) o;
-- the exact aggregate and its parts are nobody's
SELECT statement, o.* FROM unnest(ARRAY['dp_pg.grid_counts(1, NULL)', 'dp_pg.grid_counts(1.5, NULL)', 'dp_pg.grid_counts(i, NULL) FROM typed']) statement, outcome('SELECT ' || statement) o;
-- (42883, in older minor versions 0A000)
SELECT statement, state IN ('42883', '0A000') AS refused, charges FROM unnest(ARRAY['dp_pg.counts_add(NULL, 1, NULL)', 'dp_pg.counts_save(NULL)',
	'dp_pg.counts_load(''\x00'', NULL)', 'dp_pg.counts_combine(NULL, NULL)', 'dp_pg.final_median_integer(NULL)']) statement, outcome('SELECT ' || statement) o;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
