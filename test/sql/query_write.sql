-- Statements that write released values: CREATE TABLE AS, INSERT, UPDATE,
-- DELETE, MERGE, COPY (SELECT ..); and statements that must not touch private
-- rows.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_write
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :analyst;
SELECT * FROM spent() \g /dev/null
-- CREATE TABLE AS, SELECT INTO
CREATE TABLE result AS SELECT ward, dp_count(*) AS n, round(dp_avg(age), 1) AS mean FROM person GROUP BY ward;
SELECT * FROM result;
CREATE TABLE result_empty AS SELECT ward, dp_count(*) AS n FROM person GROUP BY ward WITH NO DATA;
SELECT count(*) FROM result_empty;
SELECT ward, dp_count(*) AS n INTO TEMP result_into FROM person GROUP BY ward;
SELECT sum(n) FROM result_into;
PREPARE kept AS SELECT sex, dp_count(*) AS n FROM person GROUP BY sex;
CREATE TABLE result_prepared AS EXECUTE kept;
SELECT * FROM result_prepared;
SELECT * FROM spent();
-- INSERT .. SELECT, VALUES, ON CONFLICT, RETURNING
CREATE TABLE log (ward text PRIMARY KEY, n bigint, other bigint DEFAULT 0);
INSERT INTO log SELECT ward, dp_count(*) FROM person GROUP BY ward;
INSERT INTO log VALUES ('all', (SELECT dp_count(*) FROM person)) RETURNING *;
INSERT INTO log SELECT ward, dp_count(*) FROM person WHERE sex GROUP BY ward
	ON CONFLICT (ward) DO UPDATE SET other = EXCLUDED.n RETURNING ward, n, other;
SELECT * FROM spent();
WITH r AS (SELECT ward, dp_count(1, 0.001) AS n FROM person GROUP BY ward),
	i AS (INSERT INTO log SELECT ward || '2', n FROM r RETURNING *)
SELECT count(*), bool_and(i.n = r.n) FROM i JOIN r ON i.ward = r.ward || '2';
SELECT * FROM spent();
-- UPDATE, DELETE, MERGE
UPDATE log SET n = n + 1, other = (SELECT dp_count(*) FROM person) WHERE ward = 'all' RETURNING *;
UPDATE log SET other = r.n FROM (SELECT ward, dp_count(*) AS n FROM person WHERE age < 10 GROUP BY ward) r
WHERE r.ward = log.ward RETURNING log.ward, other;
DELETE FROM log USING (SELECT ward, dp_count(*) AS n FROM person GROUP BY ward) r WHERE log.ward = r.ward || '2' RETURNING log.ward;
DELETE FROM log WHERE other > (SELECT dp_count(*) FROM person WHERE sex) RETURNING ward;
SELECT * FROM spent();
MERGE INTO log USING (SELECT ward, dp_count(*) AS n FROM person WHERE NOT sex GROUP BY ward) r ON log.ward = r.ward
	WHEN MATCHED AND r.n = 0 THEN DELETE
	WHEN MATCHED THEN UPDATE SET other = r.n
	WHEN NOT MATCHED THEN INSERT VALUES (r.ward, r.n);
MERGE INTO log USING (VALUES ('new')) v(ward) ON log.ward = v.ward
	WHEN NOT MATCHED THEN INSERT VALUES (v.ward, (SELECT dp_count(*) FROM person));
SELECT * FROM log ORDER BY ward;
SELECT * FROM spent();
-- in a data-modifying CTE
WITH d AS (DELETE FROM log WHERE n <= (SELECT dp_count(*) FROM person) RETURNING n) SELECT count(*) FROM d;
SELECT * FROM spent();
-- COPY
COPY (SELECT ward, dp_count(*) FROM person GROUP BY ward) TO STDOUT;
COPY (SELECT sex, dp_count(*) FROM person GROUP BY sex) TO STDOUT (FORMAT csv, HEADER);
SELECT * FROM spent();
-- rules and generated columns of the analyst's own tables
CREATE TABLE doubled (n bigint, twice bigint GENERATED ALWAYS AS (n * 2) STORED, CHECK (n > 5));
INSERT INTO doubled SELECT dp_count(*) FROM person RETURNING *;
INSERT INTO doubled SELECT dp_count(*) FROM person WHERE age < 0;
SELECT * FROM spent();

-- private rows themselves go nowhere, and nothing is charged
SELECT * FROM outcome('CREATE TABLE stolen AS SELECT * FROM person');
SELECT * FROM outcome('SELECT * INTO stolen FROM person');
SELECT * FROM outcome('INSERT INTO log SELECT ward FROM person');
SELECT * FROM outcome('INSERT INTO person (id, ward) VALUES (0, ''A'')');
SELECT * FROM outcome('INSERT INTO person SELECT * FROM person');
SELECT * FROM outcome('UPDATE person SET age = 1');
SELECT * FROM outcome('UPDATE log SET n = p.age FROM person p');
SELECT * FROM outcome('DELETE FROM person');
SELECT * FROM outcome('DELETE FROM log USING person');
SELECT * FROM outcome('MERGE INTO log USING person p ON p.ward = log.ward WHEN MATCHED THEN DELETE');
SELECT * FROM outcome('MERGE INTO person p USING log ON p.ward = log.ward WHEN MATCHED THEN DELETE');
SELECT * FROM outcome('TRUNCATE person');
SELECT * FROM outcome('LOCK TABLE person');
COPY person TO STDOUT;
COPY (SELECT * FROM person) TO STDOUT;
SELECT * FROM outcome('DELETE FROM log RETURNING (SELECT max(age) FROM person)');
-- a release beside a write to the protected table
SELECT * FROM outcome('INSERT INTO person (id, ward, born, sex) SELECT dp_count(*), ''A'', ''2020-01-01'', true FROM person');
SELECT * FROM outcome('WITH d AS (DELETE FROM person RETURNING *) SELECT dp_count(*) FROM d');
-- the owner may write what he released
RESET ROLE;
SET ROLE :owner;
UPDATE person SET age = (SELECT dp_count(*) FROM person WHERE id <= 3) WHERE id = 1 RETURNING age;
SELECT * FROM spent();

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
