-- Shapes of a private query: everything SQL does with released values is free;
-- anything that would read private rows in another way is refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_shape
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
CREATE TABLE ward_name (ward text PRIMARY KEY, name text, beds int);
INSERT INTO ward_name VALUES ('A', 'Anaesthetics', 10), ('B', 'Burns', 20), ('Q', 'Quarantine', 5);
PREPARE mark AS SELECT * FROM spent();
EXECUTE mark \g /dev/null

-- WHERE
SELECT dp_count(*) FROM person WHERE age >= 18 AND NOT sex;
SELECT dp_count(*) FROM person WHERE age BETWEEN 10 AND 19 OR ward IN ('A', 'B') AND feel IS NULL;
SELECT dp_count(*) FROM person WHERE CASE WHEN sex THEN age < 10 ELSE coalesce(feel = 'ok', false) END;
SELECT dp_count(*) FROM person WHERE born >= '2020-02-01' AND seen < timestamptz '2020-02-01';
SELECT dp_count(*) FROM person WHERE true;
SELECT dp_count(*) FROM person WHERE NULL;
-- HAVING, ORDER BY, LIMIT, OFFSET, FETCH, DISTINCT: over released values
SELECT ward, dp_count(*) FROM person GROUP BY ward HAVING dp_count(*) > 100 AND ward <> 'A' ORDER BY ward;
SELECT dp_count(*) FROM person HAVING dp_count(*) > 2000;
SELECT dp_count(*) FROM person HAVING dp_avg(age) BETWEEN 0 AND 120;
SELECT ward FROM person GROUP BY ward HAVING dp_sum(age) > 12000 ORDER BY dp_sum(age) DESC;
SELECT ward, dp_count(*) FROM person GROUP BY ward ORDER BY dp_avg(age) DESC, ward OFFSET 1 FETCH FIRST 2 ROWS ONLY;
SELECT DISTINCT dp_count(*) FROM person GROUP BY ward ORDER BY 1;
SELECT DISTINCT ON (dp_count(*)) dp_count(*), ward FROM person GROUP BY ward ORDER BY 1, 2;
SELECT ward, dp_count(*) FROM person GROUP BY ward ORDER BY ward LIMIT 0;
SELECT ward, dp_count(*) FROM person GROUP BY ward ORDER BY ward COLLATE "C" LIMIT (SELECT 1);
-- windows over released values
SELECT ward, dp_count(*) AS n, sum(dp_count(*)) OVER (ORDER BY ward), rank() OVER (ORDER BY dp_count(*) DESC, ward),
	round(100.0 * dp_count(*) / sum(dp_count(*)) OVER (), 1) AS percent, lag(ward) OVER w
FROM person GROUP BY ward WINDOW w AS (ORDER BY ward) ORDER BY ward;
SELECT dp_count(*), row_number() OVER () FROM person;
-- expressions, subqueries and functions of released values
SELECT ward, 'ward ' || ward || ': ' || dp_count(*) AS line, CASE WHEN dp_count(*) > 0 THEN round(dp_avg(age)) END FROM person GROUP BY ward;
SELECT ward, (SELECT name FROM ward_name w WHERE w.ward = p.ward) FROM person p GROUP BY ward HAVING dp_count(*) > 0;
SELECT ward, generate_series(1, dp_count(*) / 100) FROM person WHERE sex GROUP BY ward HAVING dp_count(*) > 0;
SELECT coalesce(dp_sum(age) FILTER (WHERE sex), 0), greatest(dp_count(*), 5), row(dp_count(*), 1), array[dp_count(*)] FROM person;
EXECUTE mark;

-- joins of released values with public tables and each other
SELECT w.name, p.n, p.n / w.beds AS per_bed FROM ward_name w
JOIN (SELECT ward, dp_count(*) n FROM person GROUP BY ward) p USING (ward) ORDER BY 1;
SELECT w.ward, w.name, p.n FROM ward_name w
LEFT JOIN (SELECT ward, dp_count(*) n FROM person GROUP BY ward) p ON p.ward = w.ward ORDER BY 1;
SELECT coalesce(a.ward, b.ward), a.n, b.n FROM (SELECT ward, dp_count(*) n FROM person WHERE sex GROUP BY ward) a
FULL JOIN (SELECT ward, dp_count(*) n FROM person WHERE NOT sex GROUP BY ward) b USING (ward) ORDER BY 1;
SELECT a.*, b.* FROM (SELECT dp_count(*) FROM person) a, (SELECT dp_sum(age) FROM person) b;
SELECT w.ward FROM ward_name w WHERE EXISTS (SELECT 1 FROM (SELECT ward, dp_count(*) n FROM person GROUP BY ward) p WHERE p.ward = w.ward AND n > 0) ORDER BY 1;
SELECT w.ward FROM ward_name w WHERE w.ward NOT IN (SELECT ward FROM person GROUP BY ward HAVING dp_count(*) > 0) ORDER BY 1;
SELECT w.ward, p.n FROM ward_name w, LATERAL (SELECT n FROM (SELECT ward, dp_count(*) n FROM person GROUP BY ward) q WHERE q.ward = w.ward) p ORDER BY 1;
EXECUTE mark;

-- subqueries in FROM: of private rows, and of released values
SELECT dp_count(*) FROM (SELECT * FROM person WHERE sex) p WHERE age < 50;
SELECT dp_sum(a, 0, 240) FROM (SELECT age * 2 AS a FROM person) p;
SELECT w, dp_count(*) FROM (SELECT ward AS w, age FROM person WHERE age < 50) p GROUP BY w;
SELECT max(n), sum(n) FROM (SELECT ward, dp_count(*) n FROM person GROUP BY ward) t;
SELECT * FROM (SELECT * FROM (SELECT ward, dp_count(*) AS n FROM (SELECT * FROM person) a GROUP BY ward) b WHERE n > 0) c ORDER BY 1 LIMIT 1;
SELECT (SELECT dp_count(*) FROM person) + (SELECT dp_count(feel) FROM person) AS both;
SELECT 1 WHERE (SELECT dp_count(*) FROM person) > 500;
SELECT x, x <= (SELECT dp_count(*) FROM person WHERE age < 1) FROM generate_series(9, 11) x;
SELECT ARRAY(SELECT dp_count(*) FROM person GROUP BY sex), 500 = ALL (SELECT dp_count(*) FROM person GROUP BY sex);
EXECUTE mark;

-- CTEs: of private rows, of released values; one that is read twice is
-- released and charged once
WITH p AS (SELECT * FROM person WHERE sex) SELECT dp_count(*) FROM p;
WITH p AS MATERIALIZED (SELECT * FROM person WHERE sex) SELECT dp_count(*) FROM p;
WITH p AS NOT MATERIALIZED (SELECT * FROM person WHERE sex) SELECT dp_count(*) FROM p;
EXECUTE mark;
WITH r AS (SELECT ward, dp_count(1, 0.001) n FROM person GROUP BY ward) SELECT count(*), bool_and(a.n = b.n) FROM r a JOIN r b USING (ward);
EXECUTE mark;
WITH r AS MATERIALIZED (SELECT ward, dp_count(1, 0.001) n FROM person GROUP BY ward) SELECT count(*), bool_and(a.n = b.n) FROM r a JOIN r b USING (ward);
EXECUTE mark;
WITH r AS NOT MATERIALIZED (SELECT ward, dp_count(1, 0.001) n FROM person GROUP BY ward) SELECT count(*), bool_and(a.n = b.n) FROM r a JOIN r b USING (ward);
EXECUTE mark;
WITH p AS (SELECT * FROM person WHERE age < 50), r AS (SELECT dp_count(*) n FROM p), s AS (SELECT n + 1 AS m FROM r)
SELECT n, m FROM r, s;
EXECUTE mark;
-- two blocks over one CTE of private rows are two releases
WITH p AS (SELECT * FROM person WHERE age < 50) SELECT (SELECT dp_count(*) FROM p) AS a, (SELECT dp_sum(age) FROM p) AS b;
EXECUTE mark;
-- a CTE nobody reads releases nothing
WITH r AS (SELECT dp_count(*) FROM person) SELECT 1 AS one;
EXECUTE mark;
WITH RECURSIVE r(step, n) AS (SELECT 1, dp_count(1, 0.001) FROM person UNION ALL SELECT step + 1, n FROM r WHERE step < 5)
SELECT count(*), count(DISTINCT n) FROM r;
EXECUTE mark;
-- the release in the recursive term is one release too
WITH RECURSIVE r(step, n) AS (SELECT 0, 0::bigint UNION ALL SELECT step + 1, q.n FROM r, (SELECT dp_count(1, 0.001) n FROM person) q WHERE step < 5)
SELECT count(*), count(DISTINCT n) FILTER (WHERE step > 0) FROM r;
EXECUTE mark;
SELECT * FROM outcome('SELECT w, dp_count(*) FROM (SELECT ward AS w FROM person ORDER BY random() LIMIT 10) p GROUP BY w');
SELECT * FROM outcome('WITH RECURSIVE r AS (SELECT id FROM person UNION ALL SELECT id + 1 FROM r WHERE id < 3) SELECT dp_count(*) FROM r');

-- set operations of released values
SELECT dp_count(*) FROM person UNION ALL SELECT dp_count(*) FROM person WHERE sex;
SELECT dp_count(*) FROM person WHERE sex UNION SELECT dp_count(*) FROM person WHERE NOT sex;
SELECT ward FROM person GROUP BY ward HAVING dp_count(*) > 0 INTERSECT SELECT ward FROM ward_name ORDER BY 1;
SELECT ward FROM ward_name EXCEPT SELECT ward FROM person GROUP BY ward HAVING dp_count(*) > 0;
(SELECT ward, dp_count(*) FROM person GROUP BY ward ORDER BY 2, 1 LIMIT 1) UNION ALL VALUES ('sum', 1::bigint);
EXECUTE mark;

-- a release inside the WHERE of another: by itself, and before it
SELECT dp_count(*) FROM person WHERE age > (SELECT dp_avg(age) FROM person);
EXECUTE mark;
SELECT dp_count(*) FROM person WHERE false AND age > (SELECT dp_avg(age) FROM person);
EXECUTE mark;
-- one value from public tables
SELECT dp_count(*) FROM person WHERE age < (SELECT max(beds) FROM ward_name);
EXECUTE mark;

-- VALUES, row comparison, casts; ORDER BY a key that is not selected
SELECT dp_count(*) FROM person WHERE (ward, sex) = ('A', false);
SELECT dp_count(*)::int::text || '', dp_avg(age)::float8 > 0 FROM person;
SELECT dp_count(*) FROM person GROUP BY ward ORDER BY ward DESC LIMIT 1;
SELECT x.c FROM (VALUES (1)) v(k), LATERAL (SELECT dp_count(*) AS c FROM person) x;
TABLE ward_name ORDER BY 1 LIMIT 1;

-- refused, explained and free
SELECT * FROM outcome('SELECT dp_count(*) FROM person p JOIN person q ON p.id = q.id');
SELECT * FROM outcome('SELECT dp_count(*) FROM person p, ward_name w WHERE p.ward = w.ward');
SELECT * FROM outcome('SELECT dp_count(*) FROM person p LEFT JOIN ward_name w USING (ward)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person, generate_series(1, 10)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person p WHERE EXISTS (SELECT 1 FROM person q WHERE q.id = p.id + 1)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age > (SELECT avg(age) FROM person)');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT * FROM person UNION ALL SELECT * FROM person) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT ward FROM person GROUP BY ward) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT DISTINCT ward FROM person) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT DISTINCT ON (ward) * FROM person) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT * FROM person LIMIT 10) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT * FROM person OFFSET 10) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT row_number() OVER () AS r FROM person) p WHERE r < 10');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT generate_series(1, age) FROM person) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT * FROM person FOR UPDATE) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM person FOR UPDATE');
SELECT * FROM outcome('SELECT dp_count(*) FROM person TABLESAMPLE BERNOULLI (10)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE ctid = ''(0,1)''');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE xmin = ''1''');
SELECT * FROM outcome('SELECT dp_count(*) OVER () FROM person');
SELECT * FROM outcome('SELECT sum(dp_count(*)) FROM person');
SELECT * FROM outcome('SELECT dp_sum(dp_count(*), 0, 1) FROM person');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE dp_count(*) > 1');
SELECT * FROM outcome('SELECT dp_count(*), (SELECT max(age) FROM person) FROM person');
SELECT * FROM outcome('SELECT dp_count(*) FROM person GROUP BY ward HAVING age > 1');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE id = 1 / (age - 7)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE ward ~ ''A''');
-- sets inside a private condition: not yet
-- EXISTS, IN and arrays of what is public or released are run before
SELECT dp_count(*) FROM person;
SELECT dp_count(*) FROM person WHERE ward IN (SELECT ward FROM ward_name);
SELECT dp_count(*) FROM person WHERE ward NOT IN (SELECT ward FROM ward_name);
SELECT dp_count(*) FROM person WHERE ward NOT IN (SELECT ward FROM ward_name UNION ALL SELECT NULL);
SELECT dp_count(*) FROM person WHERE ward = ANY (ARRAY(SELECT ward FROM ward_name ORDER BY ward LIMIT 1));
SELECT dp_count(*) FROM person WHERE ward IN (SELECT ward FROM ward_name WHERE false) OR NOT EXISTS (SELECT FROM ward_name WHERE false);
SELECT dp_count(*), dp_count(*) FILTER (WHERE EXISTS (SELECT 1)), dp_count(*) FILTER (WHERE NOT EXISTS (SELECT 1)) FROM person;
SELECT dp_count(*) FROM (SELECT ward::varchar AS w, age IN (SELECT beds FROM ward_name LIMIT 0) AS never FROM person) p WHERE w IN (SELECT ward FROM ward_name) AND NOT never;
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE ward IN (SELECT ward FROM person GROUP BY ward HAVING dp_count(*) > 0)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE EXISTS (SELECT dp_count(*) FROM person)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE ward IN (SELECT ward FROM person)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE (ward, age) IN (SELECT ward, 3 FROM ward_name)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE age IN (SELECT beds FROM ward_name w WHERE w.ward = person.ward)');
-- columns that order rows and are not chosen
SELECT dp_count(*) FROM person WHERE ward = (SELECT ward FROM ward_name ORDER BY beds DESC, ward LIMIT 1);
SELECT ward FROM ward_name ORDER BY beds DESC, ward LIMIT 1;
SELECT dp_count(*) FROM person WHERE ward = (SELECT ward FROM person WHERE age < 30 AND id < 900 GROUP BY ward ORDER BY dp_count(*) DESC, ward LIMIT 1);
-- correlated: a private block per public row, and the reverse
SELECT * FROM outcome('SELECT ward, (SELECT dp_count(*) FROM person p WHERE p.ward < w.ward) FROM ward_name w');
SELECT * FROM outcome('SELECT w.ward, p.n FROM ward_name w, LATERAL (SELECT dp_count(*) n FROM person p WHERE p.ward < w.ward) p');
SELECT * FROM outcome('SELECT dp_count(*) FROM person p WHERE age < (SELECT max(beds) FROM ward_name w WHERE w.ward = p.ward)');
SELECT * FROM outcome('SELECT dp_count(*) FROM person p WHERE age < (SELECT dp_count(*) FROM person q WHERE q.age < p.age)');
-- not correlated: the aggregate belongs to the outer level, says SQL
SELECT (SELECT dp_sum(p.age) FROM ward_name w LIMIT 1) FROM person p;
SELECT * FROM outcome('SELECT dp_count(1, (SELECT 0.1 * beds FROM ward_name w WHERE w.ward = p.ward)) FROM person p');

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
