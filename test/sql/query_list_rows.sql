-- Lists in a text of a private row, as rows: same answers as the plain query,
-- as long as bounds keep all of them.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_list_rows
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE member (id int PRIMARY KEY, genres text, tags varchar(40), n int NOT NULL);
INSERT INTO member SELECT i, (ARRAY['rock,jazz', 'jazz', '', NULL, ',', 'pop,,rock,pop', 'größe,pop', 'rock::jazz'])[1 + i % 8], 'a; b;c' || i % 2, i % 3 FROM generate_series(1, 400) i;
-- one with many elements, one with long ones, one that is too long
INSERT INTO member VALUES (1001, repeat('many,', 119) || 'last', NULL, 0), (1002, repeat('x', 20000) || ',jazz', NULL, 0), (1003, repeat('jazz,', 30000), NULL, 0);
CREATE TABLE visit AS SELECT id AS member, 'day ' || j AS days FROM member, generate_series(1, 2) j WHERE id < 20;
CREATE TABLE nobody (genres text);
SELECT dp_protect('member', unit => 'id', dataset => :'schema') \g /dev/null
SELECT dp_protect('visit', unit => 'member', dataset => :'schema') \g /dev/null
SELECT dp_protect('nobody', dataset => :'schema') \g /dev/null
-- the private query and the plain one, over rows whose elements all count
CREATE VIEW usual AS SELECT * FROM member WHERE id < 1000;
\set file :abs_srcdir '/sql/include/same.psql'
\i :file
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 20;
SET dp_pg.delta = '1e-8';
SELECT * FROM same('SELECT genre, dp_count(*), dp_count(DISTINCT id) FROM usual, unnest(string_to_array(genres, '','')) AS genre GROUP BY genre');
SELECT * FROM same('SELECT genre, dp_count(*) FROM usual, string_to_table(genres, '','') AS genre GROUP BY genre');
SELECT * FROM same('SELECT g, dp_count(*) FROM usual u CROSS JOIN LATERAL unnest(string_to_array(u.genres, ''::'')) x (g) WHERE n = 1 GROUP BY g');
SELECT * FROM same('SELECT g, i, dp_count(*), dp_count(i) FROM usual, unnest(string_to_array(genres, '','')) WITH ORDINALITY x (g, i) GROUP BY g, i');
SELECT * FROM same('SELECT g, dp_count(*), dp_count(g) FROM usual LEFT JOIN unnest(string_to_array(genres, '','')) g ON g <> ''pop'' GROUP BY g');
SELECT * FROM same('SELECT trim(tag) AS t, dp_count(*) FROM usual, unnest(string_to_array(tags, '';'')) AS tag GROUP BY 1');
SELECT * FROM same('SELECT g, dp_count(*) FROM (SELECT id, upper(x) AS g FROM usual, unnest(string_to_array(genres || '',all'', '','')) x WHERE x <> '''') t GROUP BY g');
SELECT * FROM same('SELECT genre, dp_count(*) FROM usual, unnest(string_to_array(genres, '''')) AS genre GROUP BY genre');
SELECT * FROM same('SELECT v.days, g, dp_count(*) FROM usual u JOIN visit v ON v.member = u.id, unnest(string_to_array(u.genres, '','')) g GROUP BY v.days, g');
SELECT * FROM same('SELECT k, dp_count(*) FROM usual, unnest(string_to_array(genres, '','')) g JOIN (VALUES (''rock'', ''loud''), (''jazz'', ''blue'')) v (x, k) ON x = g GROUP BY k');
-- joins beside it say of the text what they say of the element
SELECT * FROM same('SELECT k, dp_count(*), dp_count(g) FROM usual CROSS JOIN (unnest(string_to_array(genres, '','')) g JOIN (VALUES (''rock'', ''loud''), (''jazz'', ''blue'')) v (x, k) ON x = g) GROUP BY k');
SELECT * FROM same('SELECT k, dp_count(*), dp_count(g) FROM usual, unnest(string_to_array(genres, '','')) g LEFT JOIN (VALUES (''rock'', ''loud''), (''jazz'', ''blue'')) v (x, k) ON x = g GROUP BY k');
SELECT * FROM same('SELECT y, dp_count(*), dp_count(g) FROM usual, (VALUES (1), (2)) w (y) LEFT JOIN unnest(string_to_array(genres, '','')) g ON g <> ''pop'' GROUP BY y');
SELECT * FROM same('SELECT n, dp_count(*), dp_count(k), dp_count(o) FROM usual, unnest(string_to_array(genres, '','')) g LEFT JOIN (VALUES (''rock'', ''loud''), (''jazz'', ''blue'')) v (x, k) ON x = g LEFT JOIN (VALUES (''loud'', 1)) z (kk, o) ON kk = k AND g = ''rock'' WHERE n IN (0, 1, 2) GROUP BY n');
SELECT * FROM outcome('SELECT dp_count(*) FROM usual CROSS JOIN (unnest(string_to_array(genres, '','')) g LEFT JOIN (VALUES (''rock'')) v (x) ON x = g)');
-- what a list keeps by an outer join is there without an element, too, and a row of NULLs not counted
SELECT * FROM same('SELECT w, dp_count(g), dp_count(id) FROM (VALUES (''rock''), (''jazz''), (''none'')) w (w) LEFT JOIN (usual JOIN string_to_table(genres, '','') g ON true) ON g = w GROUP BY w');
SELECT * FROM same('SELECT w, dp_count(id) FROM (VALUES (''rock''), (''jazz''), (''none'')) w (w) LEFT JOIN (usual JOIN (string_to_table(genres, '','') g JOIN (VALUES (''rock'', 1), (''jazz'', 2)) v (x, k) ON x = g) ON true) ON g = w GROUP BY w');
SELECT * FROM same('SELECT w, dp_count(*) FROM (VALUES (0), (1), (2)) w (w) LEFT JOIN usual ON n = w, string_to_table(genres, '','') g WHERE w < 3 GROUP BY w');
SELECT q, o.* FROM unnest(ARRAY['dp_count(*)', 'dp_sum(CASE WHEN g IS NULL THEN 1 ELSE 0 END, 0, 5)']) WITH ORDINALITY a (q, i),
	outcome('SELECT w, ' || q || ' FROM (VALUES (''rock''), (''none'')) w (w) LEFT JOIN (usual JOIN string_to_table(genres, '','') g ON true) ON g = w GROUP BY w') o ORDER BY i;
SELECT * FROM outcome('SELECT w, dp_count(id) FROM (VALUES (''rock''), (''none'')) w (w) LEFT JOIN (usual JOIN string_to_table(genres, '','') g ON true) ON g = w WHERE id IS NULL GROUP BY w');
SELECT * FROM outcome('SELECT dp_count(m.id) FROM usual, (VALUES (''rock'')) w (w) LEFT JOIN (member m JOIN string_to_table(usual.genres, '','') g ON m.genres = g) ON g = w WHERE m.id = usual.id');
SELECT * FROM same('SELECT dp_count(*), dp_count(DISTINCT id) FROM usual, unnest(string_to_array(genres, '','')) g WHERE EXISTS (SELECT FROM (VALUES (''pop'')) v (x) WHERE x = g)');
-- of two lists at once there may be too many rows
SELECT * FROM outcome('SELECT genre, tag, dp_count(*) FROM usual, unnest(string_to_array(genres, '','')) AS genre, unnest(string_to_array(tags, ''; '')) AS tag WHERE length(tag) < 3 GROUP BY genre, tag');
-- elements that WHERE names need no delta
RESET dp_pg.delta;
SELECT * FROM same('SELECT genre, dp_count(*) FROM usual, unnest(string_to_array(genres, '','')) AS genre WHERE genre IN (''rock'', ''pop'') GROUP BY genre');
SELECT * FROM outcome('SELECT genre, dp_count(*) FROM usual, unnest(string_to_array(genres, '','')) AS genre GROUP BY genre');
SELECT * FROM same('SELECT genre, tag, dp_count(*) FROM usual, unnest(string_to_array(genres, '','')) AS genre, unnest(string_to_array(tags, ''; '')) AS tag WHERE genre = ''pop'' AND tag IN (''b'', ''a'') GROUP BY genre, tag');
-- the first hundred elements of a text, and none of one that is too long
SELECT genre, dp_count(*) FROM member, unnest(string_to_array(genres, ',')) AS genre WHERE id > 1000 AND genre IN ('many', 'last', 'jazz') GROUP BY genre;
-- bounds hold: of a person so many groups, and so many rows in each
SET dp_pg.max_rows = 7;
SELECT dp_count(*), dp_count(DISTINCT id) FROM member, unnest(string_to_array(genres, ',')) AS genre WHERE id > 1000;
SET dp_pg.max_keys = 1;
SELECT sum(n) FROM (SELECT genre, dp_count(DISTINCT id) AS n FROM usual, unnest(string_to_array(genres, ',')) AS genre WHERE genre IN ('rock', 'jazz') AND genres = 'rock,jazz' GROUP BY genre) t;
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM member, unnest(string_to_array(genres, ',')) AS genre WHERE genre = 'jazz';
-- a row without a name, other separators and other functions are refused
\set VERBOSITY default
SELECT dp_count(*) FROM nobody, unnest(string_to_array(genres, ',')) g;
SELECT dp_count(*) FROM member, generate_series(1, n) g;
\set VERBOSITY sqlstate
SELECT q, o.* FROM unnest(ARRAY['unnest(string_to_array(genres, tags))', 'unnest(string_to_array(genres, NULL))', 'unnest(string_to_array(genres, '','', ''''))', 'regexp_split_to_table(genres, '','')',
	'unnest(ARRAY[genres])', 'ROWS FROM (unnest(string_to_array(genres, '','')), generate_series(1, 2))', 'unnest(string_to_array(genres, random()::text))', 'unnest(string_to_array(md5(genres), '',''))', 'unnest(string_to_array(genres || (SELECT dp_count(*) FROM visit)::varchar(9), '',''))']) q, outcome(format('SELECT dp_count(*) FROM member, %s g', q)) o;
SELECT * FROM outcome('SELECT dp_count(*) FROM member m RIGHT JOIN LATERAL (SELECT 1) o ON true, unnest(string_to_array(m.genres, '','')) g');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT genres FROM member, LATERAL (SELECT unnest(string_to_array(genres, '','')) g) t) s');
-- where rows are grouped by their unit, put together or asked for, two rows of a unit would be kept
SELECT q, o.* FROM unnest(ARRAY['(SELECT id, g, count(*) AS n FROM member, unnest(string_to_array(genres, '','')) g GROUP BY 1, 2) p WHERE n = 4', '(SELECT DISTINCT id, g FROM member, unnest(string_to_array(genres, '','')) g) p',
	'(SELECT id, g FROM member, unnest(string_to_array(genres, '','')) g INTERSECT SELECT id, genres FROM member) p', '(SELECT id, genres FROM member UNION SELECT id, g FROM member, unnest(string_to_array(genres, '','')) g) p',
	'(SELECT id, genres FROM member GROUP BY 1, 2) p, unnest(string_to_array(genres, '','')) g', 'member p WHERE EXISTS (SELECT FROM member m, unnest(string_to_array(m.genres, '','')) g WHERE m.id = p.id AND g = ''jazz'')',
	'member p WHERE p.id = 0 OR EXISTS (SELECT FROM member m, unnest(string_to_array(m.genres, '','')) g WHERE m.id = p.id AND g = ''jazz'')']) q, outcome(format('SELECT dp_count(*) FROM %s', q)) o;
RESET ROLE;
-- BI tools
GRANT SELECT ON usual TO :analyst;
SET ROLE :analyst;
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 20;
SET dp_pg.delta = '1e-8';
SET dp_pg.transparent = on;
SELECT genre, count(*) FROM member, unnest(string_to_array(genres, ',')) AS genre WHERE id < 1000 GROUP BY genre ORDER BY 2 DESC, 1 LIMIT 3;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
