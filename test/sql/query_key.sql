-- Group keys: which are public, all of them answered, in public order and
-- spelling; the others are refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- declared keys of every kind
SET ROLE :owner;
CREATE TYPE size AS ENUM ('small', 'medium', 'large');
CREATE TABLE declared (t text, v varchar(5) NOT NULL, c char(3) NOT NULL,
	i int NOT NULL, n numeric NOT NULL, f float8 NOT NULL, d date NOT NULL,
	z size NOT NULL, b boolean, big bigint NOT NULL, small smallint,
	at timestamp NOT NULL, tz timestamptz NOT NULL, plain text, u uuid);
INSERT INTO declared SELECT
	(ARRAY['x','y','q',NULL])[1 + i % 4], (ARRAY['one','two','ONE','two '])[1 + i % 4],
	(ARRAY['a','b'])[1 + i % 2], i % 5, (ARRAY['1.0','1.00','2'])[1 + i % 3]::numeric,
	i % 3, date '2021-12-30' + i % 4, (ARRAY['small','large'])[1 + i % 2]::size,
	(ARRAY[true, NULL])[1 + i % 2], i % 3, i % 2,
	timestamp '2021-01-01' + i * interval '1 day',
	timestamptz '2021-01-01' + i * interval '1 day', 'p', NULL
FROM generate_series(1, 120) i;
SELECT dp_protect('declared', dataset => :'schema');
SELECT dp_declare('declared', 't', keys => ARRAY['y', 'x', 'absent'], other => 'rest');
SELECT dp_declare('declared', 'v', keys => ARRAY['two', 'one', 'ten']);
SELECT dp_declare('declared', 'c', keys => ARRAY['b', 'a']);
SELECT dp_declare('declared', 'i', keys => ARRAY[3, 1, 7]);
SELECT dp_declare('declared', 'n', keys => ARRAY[2, 1.000]);
SELECT dp_declare('declared', 'd', lower => date '2021-12-29', upper => date '2022-01-02');
SELECT dp_declare('declared', 'big', lower => 1::bigint, upper => 3::bigint);
SELECT dp_declare('declared', 'small', lower => 0, upper => 2);
SELECT dp_declare('declared', 'at', lower => timestamp '2021-01-01', upper => timestamp '2021-04-30 12:00');
SELECT dp_declare('declared', 'tz', lower => timestamptz '2021-01-01', upper => timestamptz '2021-04-30 12:00');
RESET ROLE;

SET ROLE :analyst;
-- declared order and spelling, empty keys, other, NULL where nullable
SELECT ward, dp_count(*) FROM person GROUP BY ward;
SELECT t, dp_count(*), dp_count(t) FROM declared GROUP BY t;
-- without other, other values are counted nowhere; equality is the column's
SELECT v, dp_count(*) FROM declared GROUP BY v;
SELECT c, length(c), dp_count(*) FROM declared GROUP BY c;
SELECT i, dp_count(*) FROM declared GROUP BY i;
SELECT n, dp_count(*) FROM declared GROUP BY n;
-- boolean and enum: every value, NULL exactly when nullable
SELECT sex, dp_count(*) FROM person GROUP BY sex;
SELECT b, dp_count(*) FROM declared GROUP BY b;
SELECT feel, dp_count(*) FROM person GROUP BY feel;
SELECT z, dp_count(*) FROM declared GROUP BY z;
-- integers and dates with bounds: rows outside are counted nowhere
SELECT big, dp_count(*), pg_typeof(big) FROM declared GROUP BY big;
SELECT small, dp_count(*), pg_typeof(small) FROM declared GROUP BY small;
SELECT d, dp_count(*) FROM declared GROUP BY d;
SELECT count(*), sum(c), min(age), max(age), count(*) FILTER (WHERE age IS NULL)
FROM (SELECT age, dp_count(*) c FROM person GROUP BY age) t;
-- date_trunc and extract of those
SELECT date_trunc('month', d) AS m, dp_count(*), pg_typeof(date_trunc('month', d)) FROM declared GROUP BY 1;
SELECT date_trunc('year', d), dp_count(*) FROM declared GROUP BY date_trunc('year', d);
SELECT date_trunc('month', at) m, dp_count(*) FROM declared GROUP BY m;
SELECT date_trunc('quarter', tz) m, dp_count(*) FROM declared GROUP BY m;
SELECT date_trunc('day', at)::date m, dp_count(*) FROM declared GROUP BY date_trunc('day', at) ORDER BY 1 LIMIT 2;
SELECT extract(year FROM d) y, dp_count(*), pg_typeof(extract(year FROM d)) FROM declared GROUP BY y;
SELECT extract(month FROM born) m, dp_count(*) FROM person GROUP BY 1;
SELECT extract(dow FROM d) w, dp_count(*) FROM declared GROUP BY w;
SELECT date_part('month', at) m, dp_count(*), pg_typeof(date_part('month', at)) FROM declared GROUP BY m;
SELECT extract(month FROM tz) m, dp_count(*) FROM declared GROUP BY m;
-- the time zone of the session
SET timezone = 'Asia/Tokyo';
SELECT date_trunc('month', tz) m, dp_count(*) FROM declared GROUP BY m;
SELECT extract(hour FROM tz) m, dp_count(*) FROM declared GROUP BY m HAVING dp_count(*) > 50;
RESET timezone;
SET timezone = 'UTC';

-- conditions
SELECT age >= 90, dp_count(*) FROM person GROUP BY age >= 90;
SELECT age < 50 AS young, sex, dp_count(*) FROM person GROUP BY young, sex HAVING dp_count(*) > 0;

-- several keys: all combinations, the first one slowest
SELECT z, b, dp_count(*) FROM declared GROUP BY z, b;
SELECT b, z, dp_count(*) FROM declared GROUP BY z, b;
SELECT ward, sex, extract(month FROM born) m, dp_count(*) FROM person
WHERE age < 50 GROUP BY sex, m, ward HAVING dp_count(*) > 40;
-- keys that are not shown, shown twice, shown in expressions, by alias
SELECT dp_count(*) FROM person GROUP BY ward;
SELECT ward, ward AS again, ward || '!' AS loud, upper(ward), dp_count(*) FROM person GROUP BY ward;
SELECT ward w, dp_count(*) n FROM person GROUP BY w ORDER BY n DESC, w LIMIT 2;
SELECT extract(month FROM born) + 1, dp_count(*) FROM person GROUP BY extract(month FROM born) ORDER BY 1 LIMIT 1;
-- a key twice, a constant key, the empty grouping set
SELECT sex, dp_count(*) FROM person GROUP BY sex, sex;
SELECT 'all' AS k, dp_count(*) FROM person GROUP BY k;
SELECT 'all' AS k, sex, dp_count(*) FROM person GROUP BY k, sex;
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ()');
-- a group dies of what WHERE says of its key (query_key_where), not of FILTER
SELECT ward, dp_count(*), dp_count(*) FILTER (WHERE age < 10) FROM person WHERE ward IN ('A', 'X') GROUP BY ward;
SELECT sex, dp_count(*) FROM person WHERE sex GROUP BY sex;
SELECT feel, dp_count(*) FROM person WHERE feel IS NOT NULL GROUP BY feel;
-- the order is public, whatever the plan does
SET enable_hashagg = off;
SELECT ward, dp_count(*) FROM person GROUP BY ward;
RESET enable_hashagg;
SET enable_sort = off;
SELECT ward, dp_count(*) FROM person GROUP BY ward;
RESET enable_sort;

-- refused keys say why, and cost nothing
SELECT * FROM outcome('SELECT plain, dp_count(*) FROM declared GROUP BY plain');
SELECT * FROM outcome('SELECT income, dp_count(*) FROM person GROUP BY income');
SELECT * FROM outcome('SELECT f, dp_count(*) FROM declared GROUP BY f');
SELECT * FROM outcome('SELECT u, dp_count(*) FROM declared GROUP BY u');
SELECT * FROM outcome('SELECT id, dp_count(*) FROM person GROUP BY id');
SELECT * FROM outcome('SELECT seen, dp_count(*) FROM person GROUP BY seen');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY date_trunc(''day'', seen)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY date_trunc(ward, born)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY date_trunc(''fortnight'', born)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY extract(fortnight FROM born)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY md5(ward)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY person');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ctid');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY tableoid');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ward, id');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY random()');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ROLLUP (ward)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY CUBE (ward, sex)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY GROUPING SETS ((ward), ())');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY GROUPING SETS ((ward), (ward))');
-- a column that is no key, and the one a primary key determines
SELECT * FROM outcome('SELECT age, dp_count(*) FROM person');
SELECT * FROM outcome('SELECT age, dp_count(*) FROM person GROUP BY ward');
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('person', 'id', lower => 1, upper => 5);
SET ROLE :analyst;
SELECT id, dp_count(*) FROM person GROUP BY id;
SELECT * FROM outcome('SELECT id, age, dp_count(*) FROM person GROUP BY id');
SELECT * FROM outcome('SELECT id, dp_count(*) FROM person GROUP BY id HAVING income > 1');
SELECT * FROM outcome('SELECT id, dp_count(*) FROM person GROUP BY id ORDER BY income');
SELECT * FROM outcome('SELECT person, dp_count(*) FROM person GROUP BY id');
-- other aggregates are not private (keys alone: query_key_alone)
SELECT * FROM outcome('SELECT ward, count(*) FROM person GROUP BY ward');
SELECT * FROM outcome('SELECT dp_count(*), count(*) FROM person');
SELECT * FROM outcome('SELECT dp_count(*), max(age) FROM person');
RESET ROLE;

-- too many groups
SET dp_pg.max_groups = 14;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ward');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ward, sex');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ward, feel');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY age');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY born');
RESET ROLE;
RESET dp_pg.max_groups;
SET ROLE :owner;
SELECT dp_declare('person', 'id', lower => -2147483648, upper => 2147483647);
SELECT dp_declare('declared', 'big', lower => -9223372036854775807, upper => 9223372036854775807);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY id');
SELECT * FROM outcome('SELECT dp_count(*) FROM declared GROUP BY big');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY id, age, born, ward, feel');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
