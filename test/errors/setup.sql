-- Tables, the measurements' functions, and what is measured.  The owner asks:
-- he is recorded, not limited, and may know the truth.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE EXTENSION dp_pg;
CREATE ROLE owner LOGIN;
GRANT CREATE ON SCHEMA public TO owner;
ALTER ROLE owner SET dp_pg.delta = '1e-6';
SET SESSION AUTHORIZATION owner;

CREATE TEMP TABLE adult_csv (age int, workclass int, fnlwgt int, education int, marital int, occupation int,
	relationship int, race int, sex int, gain int, loss int, hours int, country int, rich int);
\set copy '\\copy adult_csv FROM ' :'adult' ' CSV HEADER'
:copy
CREATE TEMP TABLE randhie_csv (mdvis int, lncoins float8, idp int, lpi float8, fmde float8, physlm float8, disea float8,
	hlthg int, hlthf int, hlthp int);
\set copy '\\copy randhie_csv FROM ' :'randhie' ' CSV HEADER'
:copy
CREATE TEMP TABLE flights_csv (year int, month int, day int, dep_time int, dep_delay int, arr_time int, arr_delay int,
	carrier text, tailnum text, flight int, origin text, dest text, air_time int, distance int, hour int, minute int);
\set copy '\\copy flights_csv FROM ' :'flights' ' CSV HEADER'
:copy

-- The same column names everywhere: x the number, k the kind, b the yes or no.
CREATE TABLE adult_all AS SELECT age AS x, occupation::text AS k, rich = 1 AS b FROM adult_csv;
CREATE TABLE randhie_all AS SELECT mdvis AS x, round(disea)::text AS k, mdvis > 0 AS b FROM randhie_csv;
CREATE TABLE flights_all AS SELECT distance AS x, carrier AS k, origin = 'JFK' AS b FROM flights_csv;

CREATE TABLE data (data text, id int, lower int, upper int, x text, k text, b text, candidates text[]);
INSERT INTO data VALUES
	('adult', 1, 0, 84, 'age (years above 16)', 'occupation', 'income above 50,000', ARRAY(SELECT generate_series(0, 14)::text)),
	('randhie', 2, 0, 100, 'visits to a doctor', 'disease index', 'visits > 0', ARRAY(SELECT generate_series(0, 60)::text)),
	('flights', 3, 0, 5000, 'distance (miles)', 'carrier', 'from JFK', '{9E,AA,AS,B6,DL,EV,F9,FL,HA,MQ,OO,UA,US,VX,WN,YV}');

-- A table per number of rows: the first ones in an order that means nothing.
CREATE TABLE size (data text, name text, n int);
CREATE TABLE frequency (name text, k text, count int, highest int);
DO $$
DECLARE
	d text;
	wanted int;
	rows int;
BEGIN
	FOR d IN SELECT data FROM data ORDER BY id LOOP
		EXECUTE format('SELECT count(*) FROM %I', d || '_all') INTO rows;
		FOREACH wanted IN ARRAY ARRAY[1000, 10000, rows] LOOP
			EXECUTE format('CREATE TABLE %I AS SELECT t.* FROM (SELECT a.*, row_number() OVER () AS i FROM %I a) t
				ORDER BY md5(i::text) LIMIT %s', d || '_' || wanted, d || '_all', wanted);
			EXECUTE format('ALTER TABLE %I DROP COLUMN i', d || '_' || wanted);
			PERFORM dp_protect((d || '_' || wanted)::regclass, dataset => 'errors');
			INSERT INTO size VALUES (d, d || '_' || wanted, wanted);
			EXECUTE format('INSERT INTO frequency SELECT %1$L, k, count(*), max(count(*)) OVER () FROM %1$I GROUP BY k', d || '_' || wanted);
		END LOOP;
	END LOOP;
END $$;

-- What is measured.  In call and truth, the words LOWER, UPPER and KINDS stand
-- for the public bounds and candidates, EPSILON for the price, TABLE for the
-- table.  truth is an array: of one value, or of the cells of a histogram.
-- tables NULL means all.
CREATE TABLE measurement (id int, name text, noise text, call text, truth text, tables text[]);
INSERT INTO measurement VALUES
	(1, 'dp_count', 'laplace', 'dp_count(1, EPSILON)', 'SELECT ARRAY[count(*)] FROM TABLE', '{adult}'),
	(1, 'dp_count', 'gaussian', 'dp_count(1, EPSILON)', 'SELECT ARRAY[count(*)] FROM TABLE', '{adult}'),
	(2, 'dp_sum', 'laplace', 'dp_sum(x, LOWER, UPPER, EPSILON)', 'SELECT ARRAY[sum(x)] FROM TABLE', NULL),
	(2, 'dp_sum', 'gaussian', 'dp_sum(x, LOWER, UPPER, EPSILON)', 'SELECT ARRAY[sum(x)] FROM TABLE', NULL),
	(3, 'dp_avg', 'laplace', 'dp_avg(x, LOWER, UPPER, EPSILON)', 'SELECT ARRAY[avg(x)] FROM TABLE', NULL),
	(3, 'dp_avg', 'gaussian', 'dp_avg(x, LOWER, UPPER, EPSILON)', 'SELECT ARRAY[avg(x)] FROM TABLE', NULL),
	(4, 'dp_variance', 'laplace', 'dp_variance(x, LOWER, UPPER, EPSILON)', 'SELECT ARRAY[variance(x)] FROM TABLE', NULL),
	(4, 'dp_variance', 'gaussian', 'dp_variance(x, LOWER, UPPER, EPSILON)', 'SELECT ARRAY[variance(x)] FROM TABLE', NULL),
	(5, 'dp_median', 'exponential mechanism', 'dp_median(x, LOWER, UPPER, EPSILON)',
		'SELECT ARRAY[percentile_disc(0.5) WITHIN GROUP (ORDER BY x)] FROM TABLE', NULL),
	(6, 'dp_quantile(0.9)', 'exponential mechanism', 'dp_quantile(x, 0.9, LOWER, UPPER, EPSILON)',
		'SELECT ARRAY[percentile_disc(0.9) WITHIN GROUP (ORDER BY x)] FROM TABLE', NULL),
	(7, 'dp_histogram', 'laplace', 'dp_histogram(x, LOWER, UPPER, 10, EPSILON)',
		'SELECT ARRAY(SELECT (SELECT count(*) FROM TABLE WHERE least(width_bucket(x, LOWER, UPPER, 10), 10) = i) FROM generate_series(1, 10) i)', NULL),
	(7, 'dp_histogram', 'gaussian', 'dp_histogram(x, LOWER, UPPER, 10, EPSILON)',
		'SELECT ARRAY(SELECT (SELECT count(*) FROM TABLE WHERE least(width_bucket(x, LOWER, UPPER, 10), 10) = i) FROM generate_series(1, 10) i)', NULL),
	(8, 'dp_argmax', 'permute-and-flip', 'dp_argmax(k, KINDS, EPSILON)', NULL, NULL),
	(8, 'dp_argmax', 'exponential mechanism', 'dp_argmax(k, KINDS, EPSILON)', NULL, NULL),
	(9, 'dp_randomized_response', 'local model', 'dp_randomized_response', 'SELECT ARRAY[count(*) FILTER (WHERE b)] FROM TABLE', NULL);

CREATE TABLE result (id int, name text, noise text, data text, n int, epsilon numeric, exact numeric, bias float8, rmse float8,
	error95 float8, wrong float8);

-- Errors of many releases of one value.  In a block every price is written
-- differently, so that each value has noise of its own, and all share one
-- scan; blocks are executions of one prepared plan.
CREATE FUNCTION errors(m measurement, t size, d data, epsilon numeric, repeat int) RETURNS TABLE (error float8, exact numeric)
LANGUAGE plpgsql AS $$
DECLARE
	kinds text := quote_literal(d.candidates) || '::text[]';
	call text := replace(replace(replace(m.call, 'LOWER', d.lower::text), 'UPPER', d.upper::text), 'KINDS', kinds);
	truth text := replace(replace(replace(m.truth, 'LOWER', d.lower::text), 'UPPER', d.upper::text), 'TABLE', quote_ident(t.name));
	block int := 50;
	exact numeric[];
	columns text;
	list text;
BEGIN
	PERFORM set_config('dp_pg.mechanism', CASE WHEN m.noise = 'gaussian'
		OR (m.name = 'dp_argmax' AND m.noise = 'exponential mechanism') THEN 'gaussian' ELSE 'laplace' END, false);
	IF m.name = 'dp_randomized_response' THEN
		EXECUTE truth INTO exact;
		RETURN QUERY EXECUTE format('SELECT (dp_randomized_response_estimate(answer, %1$s)).count - %2$s, %2$s::numeric
			FROM (SELECT i, dp_randomized_response(b, %1$s) AS answer FROM %3$I, generate_series(1, %4$s) i OFFSET 0) a GROUP BY i',
			epsilon, exact[1], t.name, repeat);
		RETURN;
	END IF;
	SELECT string_agg(format('%s AS v%s', replace(call, 'EPSILON', format('%s + 0 * %s', epsilon, i)), i), ', '),
		string_agg(format('(v%s)', i), ', ')
	INTO columns, list FROM generate_series(1, block) i;
	IF m.name = 'dp_argmax' THEN
		-- how many rows the chosen kind has less than the most frequent
		EXECUTE format('PREPARE draw AS SELECT (h.highest - coalesce(f.count, 0))::float8, h.highest::numeric
			FROM (SELECT max(highest) AS highest FROM frequency WHERE name = %1$L) h, (SELECT %2$s FROM %1$I) r,
				LATERAL (VALUES %3$s) s(v) LEFT JOIN frequency f ON f.name = %1$L AND f.k = v', t.name, columns, list);
	ELSE
		EXECUTE truth INTO exact;
		EXECUTE format(CASE WHEN m.name = 'dp_histogram'
			THEN 'PREPARE draw AS SELECT (v[i] - (%4$L::numeric[])[i])::float8, (%4$L::numeric[])[i]
				FROM (SELECT %1$s FROM %2$I) r, LATERAL (VALUES %3$s) s(v), generate_series(1, cardinality(v)) i'
			ELSE 'PREPARE draw AS SELECT (v - (%4$L::numeric[])[1])::float8, (%4$L::numeric[])[1]
				FROM (SELECT %1$s FROM %2$I) r, LATERAL (VALUES %3$s) s(v)' END,
			columns, t.name, list, exact);
	END IF;
	FOR i IN 1 .. repeat / block LOOP
		RETURN QUERY EXECUTE 'EXECUTE draw';
	END LOOP;
	DEALLOCATE draw;
END $$;

-- Three significant digits, thousands apart.
CREATE FUNCTION shown(x float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN x IS NULL THEN '' WHEN x = 0 THEN '0' WHEN abs(x) >= 100
		THEN trim(to_char(round(x::numeric, 2 - floor(log(abs(x)))::int), '999,999,999,990'))
		ELSE trim_scale(round(x::numeric, 2 - floor(log(abs(x)))::int))::text END
$$;
