-- What must not depend on data: which rows an answer has, how many, in which
-- order and spelling, at which charge; and that one person moves an answer by
-- no more than its sensitivity, on every shape of table that could break this.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test attack_data
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
-- two tables alike but for their rows: other values, other spellings, none
CREATE TABLE a (id int PRIMARY KEY, num numeric, txt text, pad char(4), flt float8,
	ok boolean, feel mood, day date, at timestamptz, n int, vc varchar(3), iv interval);
CREATE TABLE b (LIKE a INCLUDING ALL);
CREATE TABLE empty (LIKE a INCLUDING ALL);
INSERT INTO a SELECT g, 1.0, 'Ä', 'x', 0.0, true, 'happy', '2020-01-05', '2020-01-05', 1, 'abc', '1 day' FROM generate_series(1, 50) g;
INSERT INTO b VALUES (1, 1.00, 'a', 'x   ', '-0', NULL, NULL, '2020-01-01', NULL, NULL, NULL, '24 hours'),
	(2, 1.000, 'z', 'y', 'NaN', false, 'sad', '2099-01-01', '2099-01-01', 2147483647, 'zzz', '-1 day'),
	(3, 'NaN', '', '', 'Infinity', false, 'sad', 'infinity', '-infinity', -2147483648, '', '0'),
	(4, 2, ' x', 'X', 2, false, 'ok', '1900-01-01', '1900-01-01', 5, 'x', '1 mon');
SELECT dp_protect(t::regclass, dataset => :'schema'),
	dp_declare(t::regclass, 'num', keys => ARRAY[2.00, 1.0, 3]),
	dp_declare(t::regclass, 'txt', keys => ARRAY['b', 'a', 'Ä'], other => '?'),
	dp_declare(t::regclass, 'pad', keys => ARRAY['y', 'x']),
	dp_declare(t::regclass, 'flt', keys => ARRAY[0, 2]::float8[]),
	dp_declare(t::regclass, 'vc', keys => ARRAY['x', 'abc']),
	dp_declare(t::regclass, 'day', lower => date '2020-01-01', upper => date '2020-01-07'),
	dp_declare(t::regclass, 'at', lower => timestamptz '2020-01-01 00:00+00', upper => timestamptz '2020-03-01 00:00+00'),
	dp_declare(t::regclass, 'n', lower => 0, upper => 5)
FROM unnest(ARRAY['a', 'b', 'empty']) t \g /dev/null
RESET ROLE;
SET ROLE :analyst;
-- the keys of every answer, in order, as they are spelled
CREATE FUNCTION keys(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	answer text := '';
BEGIN
	FOR line IN EXECUTE 'SELECT k::text FROM (' || query || ') AS q (k, n)' LOOP
		answer := answer || ' ' || coalesce('<' || line || '>', 'NULL');
	END LOOP;
	RETURN answer;
END $$;
SELECT * FROM spent() \g /dev/null
SELECT key, keys(format('SELECT %s, dp_count(*) FROM a GROUP BY 1', key)) AS a,
	keys(format('SELECT %s, dp_count(*) FROM a GROUP BY 1', key)) = keys(format('SELECT %s, dp_count(*) FROM b GROUP BY 1', key)) AS as_b,
	keys(format('SELECT %s, dp_count(*) FROM a GROUP BY 1', key)) = keys(format('SELECT %s, dp_count(*) FROM empty GROUP BY 1', key)) AS as_empty
FROM (VALUES (1, 'num'), (2, 'txt'), (3, 'pad'), (4, 'flt'), (5, 'vc'), (6, 'ok'), (7, 'feel'), (8, 'day'), (9, 'n'),
	(10, 'num > 1'), (11, 'date_trunc(''month'', at)'), (12, 'extract(month FROM at)'), (13, 'date_trunc(''week'', day)'),
	(14, 'extract(dow FROM day)'), (15, '''x''::text'), (16, 'CASE WHEN n = 1 THEN ''ok''::mood END'), (17, 'NULL::boolean'))
	AS v (i, key) ORDER BY i;
-- every table was charged alike
SELECT charges FROM spent();
-- keys that would be data are refused
SELECT iv, dp_count(*) FROM a GROUP BY iv;
SELECT n + id, dp_count(*) FROM a GROUP BY 1;
SELECT id + 1, dp_count(*) FROM a GROUP BY 1;
SELECT id, dp_count(*) FROM a GROUP BY id;
SELECT id FROM a GROUP BY id HAVING dp_count(*) > 0;
SELECT at, dp_count(*) FROM a GROUP BY at;
SELECT date_trunc('second', at), dp_count(*) FROM a GROUP BY 1;
SELECT date_trunc('milliseconds', at), dp_count(*) FROM a GROUP BY 1;
SELECT extract(epoch FROM at), dp_count(*) FROM a GROUP BY 1;
SELECT extract(second FROM at), dp_count(*) FROM a GROUP BY 1;
SELECT ok, dp_count(*) FROM a GROUP BY ROLLUP (ok);
SELECT ok, dp_count(*) FROM a GROUP BY GROUPING SETS ((ok), ());
SELECT DISTINCT ON (dp_count(*)) 1 FROM a;
SELECT txt COLLATE "C", dp_count(*) FROM a GROUP BY 1;
SELECT pad::text, dp_count(*) FROM a GROUP BY 1;
SELECT row(ok, feel), dp_count(*) FROM a GROUP BY 1;
SELECT ward, dp_count(*) FROM person GROUP BY ward, id;
SELECT max(k) FROM (SELECT txt AS k, dp_count(*) FROM a GROUP BY txt) s;
-- the time zone and the date style of a session move no row and no bound
SET timezone = 'Pacific/Kiritimati'; SET datestyle = 'German, DMY'; SET intervalstyle = 'sql_standard'; SET extra_float_digits = -15;
SELECT count(*), sum(n) FROM (SELECT day, dp_count(*) AS n FROM b GROUP BY day) s;
SELECT count(*) FROM (SELECT flt, dp_count(*) AS n FROM b GROUP BY flt) s;
RESET datestyle; RESET intervalstyle; RESET extra_float_digits; SET timezone = 'UTC';
-- a row counts under one key at most, so the parts add up to the whole or less
SELECT sum(n) FROM (SELECT num, dp_count(*) AS n FROM b GROUP BY num) s;
SELECT sum(n) FROM (SELECT flt, dp_count(*) AS n FROM b GROUP BY flt) s;
SELECT sum(n) FROM (SELECT txt, num, pad, dp_count(*) AS n FROM b GROUP BY 1, 2, 3) s;

-- one person, one row: shapes of tables for which it must not be believed, so that
-- what counts of a person is bounded
RESET ROLE;
SET ROLE :owner;
CREATE FUNCTION same(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
CREATE TABLE u_plain (pid int NOT NULL, x int);
CREATE TABLE u_null (pid int UNIQUE, x int);
CREATE TABLE u_deferred (pid int NOT NULL UNIQUE DEFERRABLE INITIALLY DEFERRED, x int);
CREATE TABLE u_deferrable (pid int NOT NULL UNIQUE DEFERRABLE, x int);
CREATE TABLE u_partial (pid int NOT NULL, x int);
CREATE UNIQUE INDEX ON u_partial (pid) WHERE x > 0;
CREATE TABLE u_two (pid int NOT NULL, x int, UNIQUE (pid, x));
CREATE TABLE u_other (pid int NOT NULL, x int NOT NULL UNIQUE);
CREATE TABLE u_expression (pid int NOT NULL, x int);
CREATE UNIQUE INDEX ON u_expression ((pid + 0));
CREATE UNIQUE INDEX ON u_expression (same(pid));
CREATE TABLE u_exclusion (pid int NOT NULL, x int, EXCLUDE (pid WITH =));
CREATE TABLE u_index (pid int NOT NULL, x int);
CREATE INDEX ON u_index (pid);
CREATE TABLE u_invalid (pid int NOT NULL, x int);
INSERT INTO u_invalid VALUES (1, 1), (1, 2);
CREATE UNIQUE INDEX CONCURRENTLY u_invalid_pid ON u_invalid (pid);
CREATE TABLE u_parent (pid int PRIMARY KEY, x int);
CREATE TABLE u_child (CONSTRAINT pk PRIMARY KEY (pid)) INHERITS (u_parent);
INSERT INTO u_parent VALUES (1, 1);
INSERT INTO u_child VALUES (1, 1);
CREATE TABLE u_hash (pid int NOT NULL, x int NOT NULL, UNIQUE (pid, x)) PARTITION BY HASH (x);
CREATE TABLE u_hash_0 PARTITION OF u_hash FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE UNIQUE INDEX ON u_hash_0 (pid);
CREATE TABLE u_check (pid int NOT NULL, x int, CHECK (pid > 0), CHECK (x IS NOT NULL));
-- and those for which it holds
CREATE TABLE u_primary (pid int PRIMARY KEY, x int);
CREATE TABLE u_include (pid int NOT NULL, x int, UNIQUE (pid) INCLUDE (x));
CREATE TABLE u_rows (pid int, x int);
CREATE TABLE u_list (pid int PRIMARY KEY, x int) PARTITION BY LIST (pid);
CREATE TABLE u_list_1 PARTITION OF u_list DEFAULT;
SELECT dp_protect(c.oid::regclass, unit => CASE WHEN relname = 'u_rows' THEN NULL ELSE 'pid' END, dataset => :'schema')
FROM pg_class c WHERE relnamespace = :'schema'::regnamespace AND relname LIKE 'u\_%'
	AND relkind IN ('r', 'p') AND relname NOT IN ('u_child', 'u_hash_0', 'u_list_1') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
-- what a unit moves a count, as EXPLAIN states it: 7 where it may have many rows
CREATE FUNCTION moves(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	moves text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || statement LOOP
		moves := coalesce(moves, substring(line FROM 'sensitivity ([^,]+),'));
	END LOOP;
	RETURN moves;
END $$;
SET dp_pg.max_rows = 7;
SELECT c.relname, o.state, o.charges, CASE o.state WHEN '00000' THEN moves(format('SELECT dp_count(*) FROM %I', relname)) END AS moves
FROM pg_class c, LATERAL outcome(format('SELECT dp_count(*) FROM %I', relname)) o
WHERE relnamespace = :'schema'::regnamespace AND relname LIKE 'u\_%' AND relkind IN ('r', 'p') ORDER BY o.state, 4, c.relname COLLATE "C";
SELECT moves('SELECT dp_count(*) FROM ONLY u_parent'), moves('SELECT dp_count(*) FROM (SELECT p.* FROM u_plain AS p WHERE pid > 0) s') AS filtered;
SELECT dp_count(*) FROM u_child;
-- by one row of a unit, these have one; by 7, all
SET dp_pg.max_rows = 1;
SELECT (SELECT dp_count(*) FROM u_invalid) AS invalid, (SELECT dp_count(*) FROM u_parent) AS parent;
SET dp_pg.max_rows = 7;
SELECT (SELECT dp_count(*) FROM u_invalid) AS invalid, (SELECT dp_count(*) FROM u_parent) AS parent;
-- the proof follows the catalog, with plans kept: 4 rows of a unit without it, of which 2 count
SET dp_pg.max_rows = 2;
PREPARE kept AS SELECT dp_count(*) FROM u_primary;
EXECUTE kept;
SELECT moves('EXECUTE kept');
RESET ROLE; SET ROLE :owner;
ALTER TABLE u_primary DROP CONSTRAINT u_primary_pkey;
INSERT INTO u_primary SELECT 1, i FROM generate_series(1, 4) i;
RESET ROLE; SET ROLE :analyst;
EXECUTE kept;
SELECT moves('EXECUTE kept');
RESET ROLE; SET ROLE :owner;
DELETE FROM u_primary WHERE x > 1;
ALTER TABLE u_primary ADD PRIMARY KEY (pid);
RESET ROLE; SET ROLE :analyst;
EXECUTE kept;
SELECT moves('EXECUTE kept');
RESET ROLE; SET ROLE :owner;
CREATE TABLE u_late () INHERITS (u_primary);
INSERT INTO u_late SELECT 1, i FROM generate_series(1, 4) i;
RESET ROLE; SET ROLE :analyst;
EXECUTE kept;
SELECT moves('EXECUTE kept');
-- lists of predicates are bounded too; a child is not protected by itself
SELECT dp_argmax('u_late', ARRAY['x > 0']);
SELECT dp_argmax('u_plain', ARRAY['x > 0']);
RESET dp_pg.max_rows;
-- rowsets that multiply or mix rows of persons
SELECT dp_count(*) FROM (SELECT * FROM person UNION ALL SELECT * FROM person) s;
CREATE VIEW twice AS SELECT * FROM person UNION ALL SELECT * FROM person;
SELECT dp_count(*) FROM twice;
CREATE VIEW many AS SELECT *, generate_series(1, 1000) AS g FROM person;
SELECT dp_count(*) FROM many;
CREATE VIEW crossed AS SELECT p.* FROM person p, generate_series(1, 1000);
SELECT dp_count(*) FROM crossed;
CREATE VIEW joined AS SELECT p.* FROM person p JOIN person q USING (sex);
SELECT dp_count(*) FROM joined;
CREATE VIEW ranked AS SELECT *, row_number() OVER (ORDER BY id) AS r FROM person;
SELECT dp_count(*) FROM ranked WHERE r < 500;
CREATE VIEW grouped AS SELECT max(age) AS age FROM person GROUP BY sex;
SELECT dp_sum(age) FROM grouped;
CREATE VIEW first_ones AS SELECT * FROM person ORDER BY age LIMIT 1;
SELECT dp_sum(age) FROM first_ones;
CREATE VIEW unlike AS SELECT DISTINCT ON (ward) * FROM person;
SELECT dp_count(*) FROM unlike;
CREATE VIEW places AS SELECT ctid AS c, * FROM person;
SELECT dp_count(*) FROM places WHERE c < '(1,1)';
SELECT dp_count(*) FROM person TABLESAMPLE BERNOULLI (50) REPEATABLE (1);
SELECT dp_count(*) FROM person p LEFT JOIN u_rows u ON u.pid = p.id;
SELECT dp_count(*) FROM person NATURAL JOIN person q;
SELECT dp_count(*) FROM (person CROSS JOIN (VALUES (1), (2)) v);
WITH RECURSIVE w AS (SELECT id FROM person UNION ALL SELECT id FROM w WHERE id < 0) SELECT dp_count(*) FROM w;
WITH w AS (SELECT * FROM person), v AS (SELECT * FROM w WHERE age < 10) SELECT dp_count(*) FROM v;
-- policies of the owner are rules like others
RESET ROLE; SET ROLE :owner;
CREATE TABLE policed (id int PRIMARY KEY, x int);
INSERT INTO policed SELECT g, g FROM generate_series(1, 10) g;
ALTER TABLE policed ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON policed USING (x > 5);
SELECT dp_protect('policed', dataset => :'schema') \g /dev/null
RESET ROLE; SET ROLE :analyst;
SELECT dp_count(*) <= 10 FROM policed;
RESET ROLE; SET ROLE :owner;
ALTER POLICY p ON policed USING (x > (SELECT count(*) FROM policed));
RESET ROLE; SET ROLE :analyst;
SELECT dp_count(*) IS NULL FROM policed;
SET row_security = off;
SELECT dp_count(*) IS NULL FROM policed;
RESET row_security;
RESET ROLE; SET ROLE :owner;
SELECT dp_unprotect('policed') \g /dev/null
RESET ROLE;

-- sensitivity: the largest row there can be moves an exact answer by no more
SET ROLE :owner;
CREATE TABLE extreme (id int PRIMARY KEY, s smallint, a int, b bigint, r real, f float8, n numeric);
INSERT INTO extreme VALUES (0, 0, 0, 0, 0, 0, 0);
SELECT dp_protect('extreme', dataset => :'schema') \g /dev/null
RESET ROLE;
-- the answers of the table with one row more, less those without it
CREATE FUNCTION moved(row_ text) RETURNS TABLE (what text, by_ numeric) LANGUAGE plpgsql AS $$
DECLARE
	form record;
	before numeric;
	after numeric;
BEGIN
	FOR form IN SELECT c || ' ' || l || ' ' || u AS what, format('SELECT dp_sum(%s, %s, %s, %s)::numeric FROM extreme', c, l, u, '100000') AS q
		FROM unnest(ARRAY['s', 'a', 'b', 'r', 'f', 'n']) c, (VALUES ('-1', '1'), ('-3', '7'), ('0.5', '1.5'), ('-7.25', '-2')) v (l, u)
		WHERE c IN ('r', 'f', 'n') OR position('.' IN l || u) = 0 LOOP
		EXECUTE form.q INTO before;
		EXECUTE 'INSERT INTO extreme VALUES ' || row_;
		EXECUTE form.q INTO after;
		DELETE FROM extreme WHERE id <> 0;
		what := form.what;
		by_ := round(after - before, 2);	-- noise moves that with probability exp(-70)
		RETURN NEXT;
	END LOOP;
END $$;
SELECT extreme, min(by_), max(by_), count(*) FILTER (WHERE abs(by_) > greatest(abs(split_part(what, ' ', 2)::numeric), abs(split_part(what, ' ', 3)::numeric)) + 0.01) AS too_far
FROM (VALUES ('(1, 32767, 2147483647, 9223372036854775807, 3e38, 1.7e308, 1e1000)'),
	('(1, -32768, -2147483648, -9223372036854775808, -3e38, -1.7e308, -1e1000)'),
	('(1, 5, 5, 5, ''Infinity'', ''Infinity'', ''Infinity'')'),
	('(1, -5, -5, -5, ''-Infinity'', ''-Infinity'', ''-Infinity'')'),
	('(1, NULL, NULL, NULL, ''NaN'', ''NaN'', ''NaN'')'),
	('(1, 1, 1, 1, 1e-38, 5e-324, 0.00000000000000000000000000001)')) v (extreme), LATERAL moved(extreme)
GROUP BY extreme ORDER BY extreme;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
