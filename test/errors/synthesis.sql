-- What synthetic tables of census data are worth: their two- and three-way
-- marginals against those of the people.  The owner asks, so nothing limits
-- him, and he may know the truth.
\set ON_ERROR_STOP 1
SET client_min_messages = warning;
CREATE EXTENSION dp_pg;
CREATE TABLE adult (age int NOT NULL, workclass int NOT NULL, fnlwgt int NOT NULL, education int NOT NULL, marital int NOT NULL,
	occupation int NOT NULL, relationship int NOT NULL, race int NOT NULL, sex int NOT NULL, gain int NOT NULL, loss int NOT NULL,
	hours int NOT NULL, country int NOT NULL, income int NOT NULL);
\set copy '\\copy adult FROM ' :'adult' ' CSV HEADER'
:copy
-- public sizes of the columns, and the columns of either comparison
CREATE TABLE col (name text, size int, pos int GENERATED ALWAYS AS IDENTITY);
INSERT INTO col (name, size) VALUES ('age', 85), ('workclass', 9), ('fnlwgt', 100), ('education', 16), ('marital', 7), ('occupation', 15),
	('relationship', 6), ('race', 5), ('sex', 2), ('gain', 100), ('loss', 100), ('hours', 99), ('country', 42), ('income', 2);
SELECT dp_protect('adult', dataset => 'census') \g /dev/null
SELECT dp_declare('adult', name, lower => 0, upper => size - 1) FROM col \g /dev/null
-- six columns, age in ten bins of the same width
CREATE TABLE adult6 AS SELECT least(age * 10 / 84, 9) AS age, workclass, education, marital, sex, income FROM adult;
CREATE TABLE col6 AS SELECT name, CASE name WHEN 'age' THEN 10 ELSE size END AS size, pos FROM col
WHERE name IN ('age', 'workclass', 'education', 'marital', 'sex', 'income');
ALTER TABLE adult6 ALTER age SET NOT NULL, ALTER workclass SET NOT NULL, ALTER education SET NOT NULL, ALTER marital SET NOT NULL,
	ALTER sex SET NOT NULL, ALTER income SET NOT NULL;
SELECT dp_protect('adult6', dataset => 'census6') \g /dev/null
SELECT dp_declare('adult6', name, lower => 0, upper => size - 1) FROM col6 \g /dev/null

-- a marginal's counts, every cell, in order of its columns
CREATE FUNCTION counts(relation text, names text[], sizes int[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	answer bigint[];
	grid text := (SELECT string_agg(format('generate_series(0, %s) AS g%s(%I)', size - 1, i, name), ', ' ORDER BY i)
		FROM unnest(names, sizes) WITH ORDINALITY u(name, size, i));
	list text := (SELECT string_agg(quote_ident(name), ', ' ORDER BY i) FROM unnest(names) WITH ORDINALITY u(name, i));
BEGIN
	EXECUTE format('SELECT array_agg(coalesce(n, 0) ORDER BY %1$s) FROM (SELECT * FROM %2$s) AS grid
		LEFT JOIN (SELECT %1$s, count(*) AS n FROM %3$I GROUP BY %1$s) AS data USING (%1$s)', list, grid, relation) INTO answer;
	RETURN answer;
END $$;
-- marginals of k columns, and the truth
CREATE TABLE marginal (relation text, id int GENERATED ALWAYS AS IDENTITY, names text[], sizes int[], exact bigint[]);
INSERT INTO marginal (relation, names, sizes)
SELECT 'adult6', ARRAY[a.name, b.name], ARRAY[a.size, b.size] FROM col6 a, col6 b WHERE a.pos < b.pos
UNION ALL SELECT 'adult6', ARRAY[a.name, b.name, c.name], ARRAY[a.size, b.size, c.size] FROM col6 a, col6 b, col6 c WHERE a.pos < b.pos AND b.pos < c.pos
UNION ALL SELECT 'adult', ARRAY[a.name, b.name], ARRAY[a.size, b.size] FROM col a, col b WHERE a.pos < b.pos;
UPDATE marginal SET exact = counts(relation, names, sizes);

CREATE TABLE result (relation text, epsilon numeric, method text, seconds float8, mean float8, most float8, total float8, promised float8);
CREATE TABLE made6 (age int, workclass int, education int, marital int, sex int, income int);
CREATE TABLE made (LIKE adult);

-- Errors of a table that was made, beside the promised one, or of noisy counts
-- one after the other.
CREATE FUNCTION judge(what text, made text, noisy float8[], e numeric, m text, t float8) RETURNS void LANGUAGE sql AS $$
	WITH cell AS (
		SELECT marginal.id, abs(x - y) AS d FROM marginal,
			LATERAL unnest(exact, counts(made, names, sizes)) u(x, y) WHERE relation = what AND noisy IS NULL
		UNION ALL
		SELECT f.id, abs(f.x - n.y) FROM (SELECT marginal.id, x, row_number() OVER (ORDER BY marginal.id, i) AS place
			FROM marginal, unnest(exact) WITH ORDINALITY u(x, i) WHERE relation = what AND noisy IS NOT NULL) f
			JOIN unnest(noisy) WITH ORDINALITY n(y, place) USING (place))
	INSERT INTO result SELECT what, e, m, t, avg(d), max(d), sum(d) / (SELECT count(*) FROM marginal WHERE relation = what),
		CASE WHEN noisy IS NULL THEN (SELECT error FROM dp_pg.releases ORDER BY id DESC LIMIT 1) END FROM cell
$$;

-- One run of a method; plain noise is one vector, whose L2 sensitivity is the
-- root of the number of marginals, read on a fine grid.
CREATE FUNCTION run(what text, m text, e numeric) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
	noisy float8[];
	k numeric := (SELECT count(*) FROM marginal WHERE relation = what);
BEGIN
	IF m = 'gaussian' THEN
		SELECT dp_gaussian((SELECT array_agg(x::numeric ORDER BY marginal.id, i) FROM marginal, unnest(exact) WITH ORDINALITY u(x, i) WHERE relation = what),
			sqrt(k), e, 1e-9, CASE what WHEN 'adult' THEN 'census' ELSE 'census6' END, method => 'zcdp')::float8[] INTO noisy;
		PERFORM judge(what, NULL, noisy, e, m, extract(epoch FROM clock_timestamp() - begun));
	ELSIF what = 'adult' THEN
		TRUNCATE made;
		INSERT INTO made SELECT * FROM dp_synthesize('adult', (SELECT array_agg(name ORDER BY pos) FROM col), 2, e, delta => 1e-9, method => m)
			AS t(age int, workclass int, fnlwgt int, education int, marital int, occupation int, relationship int, race int, sex int,
				gain int, loss int, hours int, country int, income int);
		PERFORM judge(what, 'made', NULL, e, m, extract(epoch FROM clock_timestamp() - begun));
	ELSE
		TRUNCATE made6;
		INSERT INTO made6 SELECT * FROM dp_synthesize('adult6', (SELECT array_agg(name ORDER BY pos) FROM col6), 3, e,
			delta => CASE m WHEN 'aim' THEN 1e-9 END, method => m) AS t(age int, workclass int, education int, marital int, sex int, income int);
		PERFORM judge(what, 'made6', NULL, e, m, extract(epoch FROM clock_timestamp() - begun));
	END IF;
END $$;
SELECT run('adult6', m, e) FROM unnest(ARRAY['aim', 'gaussian', 'mwem']) m, unnest(ARRAY[0.1, 1, 10]) e, generate_series(1, :repeat) \g /dev/null
-- how much memory the backend has come to need, before and after
CREATE TABLE memory AS SELECT substring(pg_read_file('/proc/' || pg_backend_pid() || '/status') FROM 'VmHWM:\s+(\d+)')::int / 1024 AS before;
SELECT run('adult', m, e) FROM unnest(ARRAY['aim', 'gaussian']) m, unnest(ARRAY[0.1, 1, 10]) e \g /dev/null
ALTER TABLE memory ADD after int;
UPDATE memory SET after = substring(pg_read_file('/proc/' || pg_backend_pid() || '/status') FROM 'VmHWM:\s+(\d+)')::int / 1024;

-- Three significant digits, thousands apart.
CREATE FUNCTION digits(x float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN x = 0 THEN '0' WHEN abs(x) >= 100
		THEN trim(to_char(round(x::numeric, 2 - floor(log(abs(x)))::int), '999,999,999,990'))
		ELSE trim_scale(round(x::numeric, 2 - floor(log(abs(x)))::int))::text END
$$;
-- Tables for synthesis.text: 1 and 2 are results, 3 is a memory.
CREATE FUNCTION shown(which int) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT line FROM (VALUES (1, '| epsilon | method | mean error of a cell, rows | largest, rows | promised, rows | largest, % of rows | mean sum per marginal, % of rows | seconds |'),
		(2, '|---|---|---|---|---|---|---|---|')) h(i, line) WHERE which < 3
	UNION ALL SELECT * FROM (SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', epsilon,
		CASE method WHEN 'aim' THEN 'dp_synthesize' WHEN 'mwem' THEN 'dp_synthesize, mwem' ELSE 'plain Gaussian noise' END,
		digits(avg(mean)), digits(avg(most)), coalesce(digits(avg(promised)), ''), digits(avg(most) / 488.42), digits(avg(total) / 488.42), digits(avg(seconds)))
	FROM result WHERE relation = CASE which WHEN 1 THEN 'adult6' WHEN 2 THEN 'adult' END
	GROUP BY epsilon, method ORDER BY epsilon, avg(mean)) t
	UNION ALL SELECT format('The connection needed at most %s MB of memory, %s MB of that before these runs.', after, before) FROM memory WHERE which = 3
$$;
