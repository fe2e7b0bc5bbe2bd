-- Keys alone: SELECT DISTINCT, and GROUP BY without an aggregate, return the
-- public values, free and without reading a row; but roles that may read the
-- rows get the values of these.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_alone
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

-- what a statement answers, and what it cost
CREATE FUNCTION free(statement text, OUT answer text, OUT charges bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM spent();
	EXECUTE 'SELECT string_agg(t::text, '' '' ORDER BY n) FROM (SELECT t, row_number() OVER () AS n FROM (' || statement || ') t) t'
	INTO answer;
	SELECT s.charges INTO charges FROM spent() s;
END $$;
SET ROLE :owner;
CREATE VIEW mine WITH (security_barrier) AS SELECT ward, age FROM person;
CREATE VIEW theirs AS SELECT ward FROM person;
GRANT SELECT ON theirs TO :analyst;
CREATE TABLE color (id int PRIMARY KEY, c text NOT NULL);
GRANT SELECT ON color TO :analyst;
INSERT INTO color VALUES (1, 'red'), (2, 'red');
RESET ROLE;

SET ROLE :analyst;
SELECT DISTINCT ward FROM person;
SELECT ward FROM person GROUP BY ward;
SELECT * FROM free('SELECT DISTINCT ward FROM person');
SELECT * FROM free('SELECT ward FROM person GROUP BY ward');
SELECT * FROM free('SELECT DISTINCT sex, feel FROM person ORDER BY feel DESC, sex');
SELECT * FROM free('SELECT sex AS s, upper(ward) AS u FROM person GROUP BY sex, ward HAVING ward > ''B'' ORDER BY 2, 1 LIMIT 3');
SELECT * FROM free('SELECT DISTINCT ward FROM person WHERE ward <> ''A'' AND age > 200');
SELECT * FROM free('SELECT DISTINCT extract(month FROM born) FROM person WHERE born < date ''2020-03-01''');
SELECT * FROM free('SELECT DISTINCT ward FROM person WHERE ward IN (''here'', ''there'')');
SELECT * FROM free('SELECT DISTINCT age < 10 FROM person');
SELECT * FROM free('SELECT DISTINCT 1 AS one, sex FROM person');
SELECT * FROM free('SELECT ward FROM person WHERE false GROUP BY ward');
SELECT * FROM free('SELECT DISTINCT ward FROM person GROUP BY ward, sex');
-- at every level, beside released values and public rows
SELECT * FROM free('SELECT count(*) FROM (SELECT DISTINCT ward FROM person) t');
SELECT * FROM free('WITH w AS (SELECT age, ward FROM person) SELECT DISTINCT ward FROM w');
SELECT * FROM free('WITH w AS MATERIALIZED (SELECT DISTINCT ward FROM person) SELECT count(*) FROM w a, w b');
SELECT * FROM free('SELECT DISTINCT w FROM (SELECT ward AS w FROM person WHERE sex) s');
SELECT * FROM free('SELECT c FROM color WHERE EXISTS (SELECT DISTINCT sex FROM person) GROUP BY c');
SELECT * FROM free('SELECT DISTINCT sex FROM person UNION ALL SELECT DISTINCT true FROM color');
SELECT ward, n FROM (SELECT DISTINCT ward FROM person) k
LEFT JOIN (SELECT ward, dp_count(*) AS n FROM person WHERE ward = 'A' GROUP BY ward) t USING (ward) ORDER BY ward;
CREATE TEMP TABLE kept AS SELECT DISTINCT feel FROM person;
SELECT * FROM kept;
-- prepared, cursor, PL/pgSQL
PREPARE k(text) AS SELECT DISTINCT ward FROM person WHERE ward > $1;
EXECUTE k('B');
EXECUTE k('C');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT DISTINCT sex FROM person;
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
COMMIT;
EXPLAIN (COSTS OFF) SELECT DISTINCT ward FROM person WHERE ward < 'C';
EXPLAIN (COSTS OFF) SELECT ward, dp_count(*) FROM person WHERE false GROUP BY ward;
-- groups that WHERE leaves none of cost nothing either
SELECT * FROM free('SELECT ward, dp_count(*) FROM person WHERE false GROUP BY ward');
SELECT * FROM outcome('SELECT dp_count(*) FROM person WHERE false');

-- raw rows stay raw: keys that are not public, everything that is no key
SELECT * FROM outcome('SELECT DISTINCT income FROM person');
SELECT * FROM outcome('SELECT DISTINCT ward, id FROM person');
SELECT * FROM outcome('SELECT DISTINCT ON (ward) ward FROM person');
SELECT * FROM outcome('SELECT ward FROM person');
SELECT * FROM outcome('SELECT ward, count(*) FROM person GROUP BY ward');
SELECT * FROM outcome('SELECT DISTINCT count(*) FROM person');
SELECT * FROM outcome('SELECT DISTINCT ward, row_number() OVER () FROM person');
SELECT * FROM outcome('SELECT DISTINCT ward, generate_series(1, 2) FROM person');
SELECT * FROM outcome('SELECT ward FROM person GROUP BY ROLLUP (ward)');
SELECT * FROM outcome('SELECT DISTINCT ward FROM person FOR UPDATE');
SELECT * FROM outcome('SELECT DISTINCT ward FROM person, color');
SELECT * FROM outcome('SELECT DISTINCT ward FROM person WHERE age = (SELECT 1)');
SELECT * FROM outcome('SELECT DISTINCT ward FROM person WHERE income > (SELECT dp_count(*) FROM person)');
SELECT * FROM outcome('SELECT ward FROM person WHERE EXISTS (SELECT FROM person p WHERE p.id = 5) GROUP BY ward');
SELECT * FROM outcome('WITH w AS (SELECT ward, income FROM person) SELECT DISTINCT income FROM w');
SELECT * FROM outcome('WITH w AS (SELECT ward, income FROM person) SELECT a.n FROM (SELECT DISTINCT ward AS n FROM w) a, (SELECT DISTINCT income FROM w) b');
SELECT * FROM outcome('SELECT DISTINCT ward FROM mine');
SELECT * FROM outcome('UPDATE person SET ward = ''A'' WHERE ward IN (SELECT DISTINCT ward FROM person)');
-- who may read the rows reads rows: the owner, a view of the owner
SELECT * FROM free('SELECT DISTINCT ward FROM theirs ORDER BY 1');
SELECT * FROM free('SELECT DISTINCT c FROM color');
RESET ROLE;
SET ROLE :owner;
SELECT * FROM free('SELECT DISTINCT ward FROM person ORDER BY 1');
-- without a budget they are denied, and without SELECT on a public table too
SELECT dp_revoke(:'analyst', :'schema') \g /dev/null
REVOKE SELECT ON color FROM :analyst;
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT DISTINCT ward FROM person');
SELECT * FROM outcome('EXPLAIN SELECT DISTINCT ward FROM person');
SELECT * FROM outcome('EXECUTE k(''B'')');
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
