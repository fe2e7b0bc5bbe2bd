-- What may be computed from private rows, asked by real queries: every
-- expression of a list in each place that sees rows.
--
-- Answers are compared with the owner's exact ones; see include/query.psql
-- for why that is safe: some 1500 counts and sums of 0 or 1, each wrong with
-- probability 2 exp(-100000).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test expression_rule
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a int, b int);
CREATE TABLE sample (i int, s smallint, b bigint, f float8, r real, n numeric,
	tx text, v varchar(10), c char(5), nm name, ch "char", bo bool, d date,
	ts timestamp, tz timestamptz, ti time, iv interval, u uuid, by bytea,
	m mood, dm positive, ip inet, ia int[], p pair, j jsonb);
INSERT INTO sample SELECT k % 7 - 2, k % 5, k % 4, k % 9 / 2.0, k % 8 / 4.0,
	k % 12 / 2.0, x, x, x, x, x, k % 2 = 0, day, day, day + '1 s'::interval,
	time '00:00' + k * interval '15 min', k * interval '1 hour',
	('123e4567-e89b-12d3-a456-42661417400' || k % 10)::uuid, x::bytea,
	(ARRAY['sad','ok','happy'])[1 + k % 3]::mood, k % 6 + 1,
	('10.0.0.' || k)::inet, ARRAY[1, k], ROW(1, k)::pair, '{"a": "b"}'
FROM (SELECT k, (ARRAY['a','ab','B',' a','','abcd','%a','b'])[1 + k % 8] x,
		date '2020-01-01' + k % 50 + k % 3 * 30000 AS day
	FROM generate_series(1, 96) k) k;
INSERT INTO sample SELECT FROM generate_series(1, 4);
SELECT dp_protect('sample', dataset => :'schema') \g /dev/null
RESET ROLE;

-- the places in a query that an expression can stand in
CREATE FUNCTION place(expression text, OUT place text, OUT query text)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT p, format(q, expression) FROM (VALUES
		('filter', 'SELECT dp_count(*) FILTER (WHERE %s) FROM sample'),
		('where', 'SELECT dp_count(*) FROM sample WHERE %s'),
		('argument', 'SELECT dp_sum((%s)::int, 0, 1) FROM sample'),
		('key', 'SELECT n FROM (SELECT (%s) AS k, dp_count(*) AS n
			FROM sample GROUP BY 1) released WHERE k'),
		('target', 'SELECT dp_count(*) FROM (SELECT (%s) AS k
			FROM sample) private WHERE k')) v(p, q)
$$;
-- how a query ends; $1 and $2 are there for it
CREATE FUNCTION ask(query text, OUT state text, OUT answer bigint,
	OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	BEGIN
		EXECUTE query INTO answer USING 'a'::text, ARRAY[1, 2];
		state := '00000';
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE;
	END;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
-- the exact answer
CREATE FUNCTION truth(expression text, OUT truth bigint) LANGUAGE plpgsql
SECURITY DEFINER AS $$
BEGIN
	EXECUTE 'SELECT count(*) FROM sample WHERE ' || expression INTO truth
		USING 'a'::text, ARRAY[1, 2];
END $$;

SET ROLE :analyst;
CREATE TABLE allowed AS SELECT e FROM regexp_split_to_table(
$$i between 1 and 5
i not between symmetric 5 and 1
i in (1,2,3)
i not in (1,2)
v in ('a','b')
c in ('a','b')
tx not in ('a','b','c')
m in ('sad','ok')
d in ('2020-01-02','2020-01-03')
i = any($2)
i <> all($2)
i = any('{1,2}'::int[])
i = any(array[1,2])
v::text = any((array['a'::varchar,'b'::varchar])::text[])
b in (1,2)
s in (1,2)
n in (1,2.5)
f in (1,2)
i in (1,null)
i is distinct from 3
tx is not distinct from 'a'
tx is not distinct from null
bo is true
bo is not unknown
bo
not bo
tx is null
tx is not null
case when i > 1 then bo else false end
case i when 1 then true when 2 then false end
coalesce(i,0) = 1
nullif(i,0) = 1
nullif(tx,'a') is null
greatest(i,3) = 3
least(tx,'b') = 'b'
greatest(n,2) > 2
greatest(m,'ok') = 'ok'
greatest(d,current_date) = d
m = 'ok'
m < 'ok'
u = '123e4567-e89b-12d3-a456-426614174000'
by = '\x61'
ch = 'a'
nm = 'a'
nm = tx
c = 'ab'
v = 'ab'
ip = '10.0.0.1'
ip << '10.0.0.0/28'
d >= '2020-01-07'
d <= ts
ts < tz
tz > now()
tz > current_timestamp
tz >= now() - interval '30 days'
d > current_date - 30
ts + interval '1 day' < localtimestamp
ti < '12:00'
iv > '1 day'
f > 1
r > 1.5
r < f
n > f
n > i
b > i
s < b
i > 1.5
extract(year from d) = 2020
extract(hour from tz) = 0
extract(minute from ti) = 15
extract(epoch from tz) > 5
extract(hour from iv) = 5
date_part('dow',d) = 1
date_trunc('month',ts) = '2020-01-01'
date_trunc('month',d) = '2020-01-01'
date_trunc('YEAR',tz) = '2020-01-01'
date_trunc('hour',iv) = '5 hours'
ts::date = '2020-01-05'
tz::date = d
d::timestamp = ts
ts at time zone 'Europe/Paris' < now()
ts at time zone 'UTC' < tz
(tz at time zone 'utc')::date = d
age(tz,now()) < interval '18 years'
i + 1 > 2
i * i > 5
i % 2 = 0
mod(i,2) = 0
i / 2 = 1
-i > 1
+i > 1
@ i > 1
abs(i) > 1
b * s > 1
f * 2 + 1 > 3
n / 3 > 1
round(n,2) = 1.5
round(n) = 2
n::numeric(10,2) = 5
i::bigint = 1
b::int = 1
f::int = 1
i::float8 = 1
i::numeric = 2
n::int = 1
sqrt(f) > 1
exp(f) > 5
i & 3 = 1
width_bucket(f,0,10,5) = 2
width_bucket(i,0,10,5) = 1
lower(tx) = 'b'
upper(v) = 'A'
tx like 'a%'
tx not like '%b'
tx ilike 'A%'
c like 'a%'
nm like 'a%'
by like '\x6125'
tx like '!%a' escape '!'
tx like '\%a' escape '\'
tx like 'a%' escape ''
tx like any (array['a%','b%'])
tx like all ('{a%,%b}'::text[])
tx not like all ('{a%,%b}'::text[])
length(tx) > 1
char_length(c) > 1
octet_length(tx) > 1
substring(tx from 1 for 2) = 'ab'
substr(tx,2) = 'b'
left(tx,3) = 'abc'
right(tx,1) = 'b'
position('a' in tx) > 0
strpos(tx,'a') > 0
trim(tx) = 'a'
trim(both 'a' from tx) = 'b'
tx || 'x' = 'ax'
tx ^@ 'a'
starts_with(tx,'a')
dm > 3
dm = i
dm + 1 = i
v::text = 'a'
v::varchar(3) = 'abc'
tx::varchar(2) = 'ab'
tx::char(3) = 'abc'
bo::int = 1
bo::text = 'true'
(i,b) < (1,2)
ia is distinct from null
(i,tx) = (1,'a')
(i,b) in ((1,2),(2,3))
tx = $1
tx > $1 and i < 3
tx collate "C" < 'ab'
tx < 'b' collate "C"
i = 1 or f > 2 and not bo
isfinite(d)
current_user = nm
statement_timestamp() > tz
session_user <> nm
case when i > 0 then 'a' else 'b' end = tx
ts::timestamp(0) = ts
tz = '2020-01-05 00:00:01'
iv + iv > '1 day'
-iv < iv
d - d < 5
ts - ts < iv
d - '2020-01-01' < 20
d + 2 > ts
d + iv > ts
float8 '1' = f
cardinality(ia) = 2
split_part(tx,'a',1) = ''
cardinality(string_to_array(tx,'a')) > 1
tx = 'a' and true$$, '\n') e;
SELECT count(*), count(DISTINCT e) FROM allowed;
-- answered everywhere, each for one charge, and as the owner's plain query
SELECT e, place, state, answer, truth, charges
FROM allowed, place(e), ask(query), truth(e)
WHERE (state, answer, charges) IS DISTINCT FROM ('00000', truth, 1)
	OR truth IS NULL;
-- few of the answers are trivial
SELECT e, truth FROM allowed, truth(e) WHERE truth IN (0, 100);
RESET ROLE;

-- rows on which most built-ins fail change nothing about that
INSERT INTO sample (i, s, b, f, r, n, tx, v, c, nm, ch, d, ts, tz, ti, iv, u, by, m, dm, ip)
VALUES (2147483647, 32767, 9223372036854775807, 1.7976931348623157e308, 3.4028235e38, '9e131071', repeat('%', 1100000), '\', '\', repeat('_', 63), '\377', '5874897-12-31', '294276-12-31 23:59:59.999999', '294276-12-31 23:59:59.999999', '24:00', '178000000 years', 'ffffffff-ffff-ffff-ffff-ffffffffffff', '\x5c', 'happy', 2147483647, 'ffff:ffff::/16'),
	(-2147483648, -32768, -9223372036854775808, -1.7976931348623157e308, -3.4028235e38, '-9e131071', 'a\', 'a\', 'a\', 'a\', '', '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 00:00+00 BC', '00:00', '-178000000 years', '00000000-0000-0000-0000-000000000000', '\x00', 'sad', 1, '0.0.0.0/0'),
	(0, 0, 0, 'Infinity', 'Infinity', 'Infinity', '', '', '', '', '\', 'infinity', 'infinity', 'infinity', '12:00', '-1 mon 31 days -1000000:00:00', NULL, '', 'ok', 2, '::'),
	(-1, -1, -1, '-Infinity', '-Infinity', '-Infinity', '0', '0', '0', '0', '0', '-infinity', '-infinity', '-infinity', '12:00', '2147483647 days', NULL, '', 'ok', 2, '::'),
	(1, 1, 1, 'NaN', 'NaN', 'NaN', '1e400', 'NaN', 'now', 'NULL', 'x', '2020-02-29', '0044-03-15 BC', '0044-03-15 BC', '23:59:59.999999', '-2147483648 months', NULL, '', 'ok', 2, '::1'),
	(1, 1, 1, 5e-324, 1e-45, '1e-16383', '1', '1', '1', '1', '1', '0001-01-01', '0001-01-01', '0001-01-01', '00:00:01', '1 us', NULL, '', 'ok', 2, '::1');
SET ROLE :analyst;
CREATE TABLE extreme AS SELECT e, place, state, charges FROM allowed, place(e), ask(query) WHERE place IN ('where', 'key');
SELECT count(*) FROM extreme;
SELECT * FROM extreme WHERE (state, charges) <> ('00000', 1);
-- on many of them the plain query does fail
RESET ROLE;
SELECT count(*) > 20 AS failing FROM allowed, ask('SELECT count(*) FROM sample WHERE ' || e) WHERE state <> '00000';

-- refused in every place, before anything is charged
SET ROLE :analyst;
CREATE TABLE refused AS SELECT e, n FROM regexp_split_to_table(
$$random() > 0.5
clock_timestamp() > tz
gen_random_uuid() = u
pg_sleep(i) is null
pg_backend_pid() = i
current_setting(tx) = 'a'
set_config(tx,tx,true) = 'a'
nextval('pg_class') = 1
txid_current() = 1
pg_advisory_lock(b) is null
pg_terminate_backend(i)
pg_notify(tx,tx) is null
query_to_xml(tx,true,true,'') is null
to_regclass(tx) is null
has_table_privilege(tx,'select')
pg_typeof(i) = 'int'::regtype
pg_column_size(tx) > 10
lo_get(i::oid) = '\x'
dp_count(*) > 3
tx ~ 'a'
tx ~* 'a'
tx !~ 'a'
tx similar to 'a'
regexp_replace(tx,'a','b') = ''
regexp_match(tx,'a') is null
regexp_like(tx,'a')
substring(tx from 'a.*') = 'a'
substring(tx similar 'a#"b#"c' escape '#') = 'a'
tx like v
tx like 'a\'
tx like 'a' escape 'ab'
tx like 'a' escape tx
tx like tx escape '!'
tx like 'a!' escape '!'
tx like '%' || tx
tx like repeat('%',65)
tx like '%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%'
tx ilike any (array['a%'])
tx like any (array[v])
tx like any (array['a\'])
tx like any ('{a\\}'::text[])
like_escape(tx,'a') = 'a'
by like by
by like '\x5c'
i::text = '1'
i::text::int = 1
tx::int = 1
tx::date = d
tx::bool
d::text = '2020-01-01'
m::text = 'ok'
tx::mood = 'ok'
u::text = tx
n::text = '1'
j::text = ''
ip::text = '::1'
i::positive > 3
positive(i) > 3
i::bit(3) = b'101'
tx::bytea = by
pg_catalog.varchar(tx,5,false) = 'a'
bpchar(c,1529170074,true) = 'a'
pg_catalog.varchar(tx,i,true) = 'a'
pg_catalog.timestamp(ts,9) = ts
pg_catalog.timestamp(ts,i) = ts
pg_catalog.interval(iv,393215) = iv
ia[1] = 1
ia = ia
ia = '{1}'
ia @> '{1}'
1 = any(ia)
i = any(array[i,2])
i = any(array[1,2] || 3)
i = any(string_to_array('1,2',',')::int[])
array[i] = ia
array_length(ia,1) = 2
unnest(ia) = 1
generate_series(1,i) = 1
p = p
p is null
p is not null
(p).a = 1
row(i,b) = row(1,2)::pair
row(i,b)::pair is null
(i,ia) < (1,'{}')
(i,p) = (1,row(1,2)::pair)
sample = sample
sample is null
sample.* is null
sample.*::text is null
coalesce(sample.*::text) is null
ctid = '(0,1)'
tableoid = 3
xmin = '3'
cmax = '3'
exists (select i)
i in (select i + 1)
i = all (select i from sample)
i > any (select generate_series(1,i))
i = (select s.i from sample s limit 1)
(select i) = 1
(1,2) = (select 1,2)
array(select 1) = ia
grouping(i) = 1
count(*) > 1
sum(i) over () > 1
row_number() over () = 1
greatest(ia,ia) = ia
greatest(p,p) = p
greatest(j,j) = j
ia is distinct from ia
nullif(p,p) is null
nullif(i + 1,i * 2) is null and i between random() and 3
case i + 1 when 2 then i / 0 = 1 else random() > 1 end
case ia when '{1}' then true end
j = j
j @> '{}'
j ->> 'a' = 'b'
j -> 'a' is null
xmlparse(document tx) is null
xmlelement(name a,tx) is null
date_trunc(tx,ts) = ts
date_trunc('foo',ts) = ts
date_trunc($1,ts) = ts
date_trunc('day',tz,'Mars') = tz
date_trunc('day',tz,'UTC') = tz
extract(foo from ts) = 1
extract(hour from d) = 1
date_part(tx,ts) = 1
date_bin('1 day',ts,ts) = ts
ts at time zone 'Mars' < now()
ts at time zone tx < now()
ts at time zone iv < now()
age(ts) > iv
now() = any(array[ts])
(d,d) overlaps (d,d)
make_interval(days => i) = iv
make_date(i,1,1) = d
to_timestamp(f) = tz
to_char(ts,'YYYY') = '2020'
to_char(n,'9') = '1'
to_date(tx,'YYYY') = d
iv * f > iv
iv / f > iv
justify_days(iv) > iv
md5(tx) = 'a'
repeat(tx,i) = 'a'
lpad(tx,i) = 'a'
replace(tx,'a','bb') = 'a'
translate(tx,'a','b') = 'b'
concat(tx,i) = 'a'
tx || i = 'a1'
format('%s',i) = 'a'
format(tx) = 'a'
chr(i) = 'a'
ascii(tx) = 97
convert_to(tx,'LATIN1') = by
convert_from(by,'UTF8') = tx
encode(by,'hex') = tx
decode(tx,'hex') = by
get_byte(by,i) = 1
f ^ 2 > 1
power(f,2) > 1
power(n,2) > 1
factorial(b) > 1
asin(f) > 1
gcd(i,i) > 1
n ^ n > 1
circle(point(1,1),f) = circle(point(1,1),f)
point(f,f) ~= point(1,1)
box(point(f,f),point(1,1)) = box(point(1,1),point(2,2))
lower(int4range(i,i)) = 1
inet_client_addr() = ip
ip + i > ip
to_tsvector(tx) @@ 'a'
enum_first(m) = 'ok'
enum_range(m) is null$$, '\n') WITH ORDINALITY x(e, n);
SELECT count(*), count(DISTINCT e) FROM refused;
CREATE TABLE refusal AS SELECT n, e, place, state, charges FROM refused, place(e), ask(query);
SELECT state, CASE count(*) WHEN 5 THEN 'everywhere' ELSE string_agg(place, ' ' ORDER BY place) END AS places, e FROM refusal GROUP BY n, e, state ORDER BY n, state;
SELECT sum(charges) AS charges FROM refusal;
RESET ROLE;

-- what an analyst reads: message, place in the query, reason, advice
SET ROLE :analyst;
\set VERBOSITY default
SELECT dp_count(*) FROM sample WHERE bo AND tx ~ '^a';
SELECT dp_count(*) FILTER (WHERE tx::int = 3) FROM sample;
SELECT dp_count(*) FROM sample GROUP BY i > 0, to_char(ts, 'YYYY');
SELECT dp_sum(i, 0, 10) FROM sample
	WHERE i > 0
	AND random() < 0.5;
SELECT dp_sum(f ^ 2, 0, 10) FROM sample;
SELECT dp_count(*) FROM sample WHERE tx LIKE 'a%\';
SELECT dp_count(*) FROM sample WHERE tx LIKE v || '%';
SELECT dp_count(*) FROM sample WHERE date_trunc('moon', tz) = now();
SELECT dp_count(*) FROM sample WHERE ts AT TIME ZONE 'Mars/Olympus' < now();
SELECT dp_count(*) FROM sample WHERE md5(tx) = 'd41d8cd98f00b204e9800998ecf8427e';
SELECT dp_count(*) FROM sample WHERE i::positive = 3;
SELECT dp_count(*) FROM sample WHERE ctid = '(0,1)';
SELECT dp_count(*) FROM sample WHERE ia[1] = 1;
SELECT dp_count(*) FROM sample WHERE 1 = ANY (ia);
SELECT dp_count(*) FROM sample WHERE i IN (SELECT generate_series(1, i));
SELECT dp_count(*) FROM sample WHERE CASE i + 1 WHEN 2 THEN bo WHEN 3 THEN 'sad' <= m::text END;
SELECT dp_count(*) FROM (SELECT i, tx || i AS label FROM sample) s WHERE label = 'a1';
SELECT dp_count(*) FROM sample WHERE age(tz) > interval '18 years';
SELECT charges FROM spent();
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
