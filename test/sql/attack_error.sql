-- Errors that carry a bit: an expression that fails for some private values
-- must have the same result on a table with such values and on one without,
-- and cost the same.  Rows of "bait" hold extremes; "calm" has none of them.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_error
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE calm (id int PRIMARY KEY, s smallint, a int, b bigint, r real,
	f float8, n numeric, t text, c char(3), y bytea, d date, ts timestamp,
	tz timestamptz, i interval, x jsonb, p int[], nm name, ip inet, u uuid,
	m money, v varchar(5), bt bit(3));
INSERT INTO calm SELECT g, g, g, g, g, g, g, g::text, 'a', 'a', '2020-01-01',
	'2020-01-01', '2020-01-01', '1 day', '{"a": 1}', '{1}', 'n', '1.2.3.4',
	'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1, 'v', '101'
FROM generate_series(1, 100) g;
CREATE TABLE bait (LIKE calm INCLUDING ALL);
INSERT INTO bait SELECT * FROM calm;
INSERT INTO bait (id, s, a, b, r, f, n, t, c, y, d, ts, tz, i, x, p, m, v) VALUES
	(1000, 0, 0, 0, 0, 0, 0, '', '', '', '4714-11-24 BC', '4714-11-24 BC',
	'4714-11-25 BC', '0', '[]', '{}', 0, ''),
	(1001, 32767, 2147483647, 9223372036854775807, 'Infinity', 'Infinity',
	'Infinity', 'x\', '%', '\x5c', 'infinity', 'infinity', 'infinity',
	'178000000 years', '"s"', '{NULL}', '92233720368547758.07', '\'),
	(1002, -32768, -2147483648, -9223372036854775808, '-Infinity',
	'-Infinity', '-Infinity', '(', '_', '\x00', '-infinity', '-infinity',
	'-infinity', '-178000000 years', 'null', NULL, '-92233720368547758.08', '%'),
	(1003, NULL, NULL, NULL, 'NaN', 'NaN', 'NaN', repeat('x', 2000000), 'xxx',
	'\xff', '5874897-12-31', '294276-12-31 23:59:59.999999',
	'294276-12-31 23:59:59.999999+00', '2147483647 days', NULL, '{{1,2},{3,4}}', NULL, NULL),
	(1004, 1, -1, -1, 3e38, 1e308, 1e1000, 'nosuchzone', 'xx', 'x',
	'294277-01-01', '4713-01-01 BC', '4713-01-01 BC', '-1 month', '{}', '{0}', 1, 'x'),
	(1005, 1, 1, 1, 1e-38, 1e-308, ('1e-' || 1000)::numeric, E'\U0001F600', 'x', 'x',
	'2020-02-29', '2020-02-29', '2020-02-29', '1 month', '1', '{1}', 1, 'x');
SELECT dp_protect('calm', dataset => :'schema') \g /dev/null
SELECT dp_protect('bait', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
CREATE TABLE expression (n int GENERATED ALWAYS AS IDENTITY, e text);
INSERT INTO expression (e) VALUES
	('1 / a'), ('a / 0'), ('b / a'), ('s / s'), ('1 % a'), ('mod(1, a)'),
	('mod(b, s)'), ('-a'), ('-b'), ('-s'), ('abs(a)'), ('abs(b)'), ('@ s'),
	('a * a'), ('b * b'), ('s * s'), ('a + 1'), ('a - 2'), ('b + a'),
	('b - s'), ('s + s'), ('a::smallint'), ('b::int'), ('b::smallint'),
	('f::int'), ('f::bigint'), ('f::smallint'), ('f::real'), ('r::int'),
	('r::smallint'), ('n::int'), ('n::bigint'), ('n::smallint'),
	('n::float8'), ('n::real'), ('n::numeric(3,1)'), ('f::numeric(3,1)'),
	('f + 1e308'), ('f - 1e308'), ('f * 2'), ('f * f'), ('f / 0'),
	('1 / f'), ('r * r'), ('r / r'), ('r + f'), ('f / r'), ('exp(f)'),
	('ln(f)'), ('log(f)'), ('log10(f)'), ('sqrt(f)'), ('|/ f'), ('power(f, f)'),
	('f ^ 1000'), ('cbrt(f)'), ('sin(f)'), ('asin(f)'), ('n / 0'), ('n / n'),
	('n % n'), ('n * n'), ('n + n'), ('n - n'), ('ceil(n)'), ('floor(n)'),
	('round(n)'), ('round(n, a)'), ('trunc(n, a)'), ('exp(n)'), ('ln(n)'),
	('sqrt(n)'), ('n ^ n'), ('factorial(b)'), ('width_bucket(f, 0, 1, 10)'),
	('width_bucket(n, 0, 1, 10)'), ('width_bucket(f, f, f, a)'),
	('width_bucket(1, n, n, a)'), ('gcd(a, a)'), ('lcm(b, b)'),
	('a << 40'), ('a # a'), ('~ b'), ('a::bit(3)'), ('bt & bt'),
	('left(t, a)'), ('right(t, a)'), ('substr(t, a, a)'), ('substr(t, a)'),
	('substring(t from a for a)'), ('t || t'), ('lower(t)'), ('upper(t)'),
	('initcap(t)'), ('btrim(t)'), ('rtrim(t, t)'), ('strpos(t, t)'),
	('length(t)'), ('repeat(t, a)'), ('lpad(t, a)'), ('chr(a)'), ('ascii(t)'),
	('t::int'), ('t::date'), ('t::numeric'), ('t::boolean'), ('t::regclass'),
	('t::name'), ('t::char(1)'), ('t::varchar(1)'), ('c::text'), ('v::int'),
	('t LIKE ''x\\''' ), ('t LIKE t'), ('t LIKE ''%\'''), ('t LIKE ''%x%'''),
	('t ILIKE ''%X%'''), ('c LIKE ''x%'''), ('nm LIKE ''x%'''), ('y LIKE ''x%'''),
	('t SIMILAR TO t'), ('t ~ t'), ('t ~ ''('''), ('regexp_match(t, t)'),
	('t LIKE ''x'' ESCAPE t'), ('starts_with(t, t)'), ('split_part(t, t, a)'),
	('convert_from(y, ''UTF8'')'), ('convert_to(t, ''LATIN1'')'), ('t::bytea'),
	('get_byte(y, a)'), ('encode(y, t)'), ('decode(t, ''hex'')'), ('md5(t)'),
	('sha256(y)'), ('d + a'), ('d - a'), ('a + d'), ('d - d'), ('d + i'), ('d - i'),
	('d::timestamp'), ('d::timestamptz'), ('ts::date'), ('tz::date'), ('ts::timestamptz'),
	('tz::timestamp'), ('tz::time'), ('tz::timetz'), ('ts + i'), ('ts - i'), ('tz + i'), ('tz - i'),
	('ts - ts'), ('tz - tz'), ('age(ts, timestamp ''2020-01-01'')'), ('age(tz, tz)'), ('age(ts)'),
	('date_trunc(''millennium'', ts)'), ('date_trunc(''week'', tz)'), ('date_trunc(''day'', i)'),
	('date_trunc(t, ts)'), ('extract(epoch FROM ts)'), ('extract(julian FROM tz)'),
	('extract(isoyear FROM d)'), ('extract(year FROM i)'), ('date_part(''epoch'', d)'),
	('date_part(t, ts)'), ('ts AT TIME ZONE ''Asia/Tokyo'''), ('tz AT TIME ZONE ''Asia/Tokyo'''),
	('ts AT TIME ZONE t'), ('ts AT TIME ZONE i'), ('i + i'), ('i - i'), ('-i'), ('i * f'), ('i / f'),
	('justify_days(i)'), ('make_date(a, a, a)'), ('to_char(ts, t)'), ('to_date(t, ''YYYY'')'),
	('to_number(t, t)'), ('ts::time'), ('i::time'), ('date_bin(i, ts, ts)'), ('isfinite(d)'),
	('ts = d'), ('tz < d'), ('d < ts'), ('overlaps(ts, i, ts, i)'),
	('x -> 0'), ('x ->> ''a'''), ('(x ->> ''a'')::int'), ('x || x'), ('x - t'), ('jsonb_array_length(x)'),
	('p[a]'), ('p[1]'), ('array_length(p, a)'), ('p || p'), ('p || a'), ('a = ANY (p)'), ('unnest(p)'),
	('array_position(p, a)'), ('p = p'), ('ip + b'), ('ip >> ip'), ('set_masklen(ip, a)'), ('m + m'), ('m * f'),
	('m / 0'), ('m::numeric'), ('u = t::uuid'), ('CASE WHEN a = 0 THEN 1 / a END'),
	('coalesce(a, 1 / 0)'), ('nullif(1 / a, 1)'), ('greatest(n / n, 1)'), ('(a, b) < (b, a)'),
	('a BETWEEN 1 / a AND a'), ('CASE WHEN a = 0 THEN error(a) END'), ('a::oid'), ('a::regclass'), ('b::oid'),
	('a::"char"'), ('a::boolean'), ('t COLLATE "C" < t'), ('c = t'), ('generate_series(1, a)'),
	('pg_input_is_valid(t, t)'), ('txid_status(b)'), ('to_timestamp(f)'), ('make_interval(a)'), ('a::money');

-- Every expression as argument, as filter, as condition, as a boolean key.
SELECT * FROM spent() \g /dev/null
CREATE TABLE seen AS
SELECT e.n, e.e, form.what, calm.state AS calm, bait.state AS bait,
	calm.charges AS calm_charges, bait.charges AS bait_charges
FROM expression e, (VALUES
	('argument', 'SELECT dp_count(%s) FROM %s'),
	('distinct', 'SELECT dp_count(DISTINCT %s) FROM %s'),
	('sum', 'SELECT dp_sum(%s, 0, 1) FROM %s'),
	('filter', 'SELECT dp_count(*) FILTER (WHERE (%s) IS NULL) FROM %s'),
	('below', 'SELECT dp_count(z) FROM (SELECT %s AS z FROM %s) q'),
	('key', 'SELECT (%s) IS NULL, dp_count(*) FROM %s GROUP BY 1')) form (what, template),
	LATERAL outcome(format(template, e.e, 'calm')) calm,
	LATERAL outcome(format(template, e.e, 'bait')) bait;
RESET ROLE;
SELECT what, e, calm, bait, calm_charges, bait_charges FROM seen
WHERE calm <> bait OR calm_charges <> bait_charges ORDER BY n, what;
-- That was not for want of expressions: so many are answered in each form.
SELECT what, count(*) FILTER (WHERE calm = '00000') > 60 AS enough_answered,
	count(*) FILTER (WHERE calm <> '00000') > 60 AS enough_refused,
	count(*) FILTER (WHERE calm NOT IN ('00000', '0A000', '22023', '42883', '42725', '42704', '42804', '42846', '42703')) AS odd
FROM seen GROUP BY what ORDER BY what;
SELECT DISTINCT e, calm FROM seen WHERE calm NOT IN ('00000', '0A000', '22023', '42883', '42725', '42704', '42804', '42846', '42703')
ORDER BY e, calm;
-- Clamping takes every value there is.
SET ROLE :analyst;
SELECT dp_sum(s, -1, 1), dp_sum(a, -1, 1), dp_sum(b, -1, 1) FROM bait;
SELECT dp_avg(r, -1, 1) BETWEEN -1 AND 1, dp_avg(f, -1, 1) BETWEEN -1 AND 1,
	dp_avg(n, -1, 1) BETWEEN -1 AND 1 FROM bait;
SELECT round(dp_sum(r, -1, 1)), round(dp_sum(f, -1, 1)), round(dp_sum(n, -1, 1)) FROM bait;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
