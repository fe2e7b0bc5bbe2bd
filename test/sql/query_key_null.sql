-- NULL is a group where the column can be NULL, unless WHERE or the owner
-- excludes it: dp_declare(.., keys => .., nulls => false).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_null
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (id int PRIMARY KEY, ward text, kind text, day date);
INSERT INTO visit SELECT i, (ARRAY['A','B','Z',NULL])[1 + i % 4], (ARRAY['in','out',NULL])[1 + i % 3],
	CASE WHEN i % 2 = 0 THEN date '2021-01-01' + i % 10 END
FROM generate_series(1, 120) i;
SELECT dp_protect('visit', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'ward', keys => ARRAY['A', 'B'], other => 'other') \g /dev/null
SELECT dp_declare('visit', 'kind', keys => ARRAY['in', 'out'], nulls => true) \g /dev/null
SELECT dp_declare('visit', 'day', keys => ARRAY[date '2021-01-02', date '2021-01-03']) \g /dev/null
RESET ROLE;

SET ROLE :analyst;
SELECT ward, dp_count(*) FROM visit GROUP BY ward;
SELECT ward, dp_count(*) FROM visit WHERE ward IS NOT NULL GROUP BY ward;
SELECT ward, dp_count(*) FROM visit WHERE ward IS NULL GROUP BY ward;
RESET ROLE;

SET ROLE :owner;
\set VERBOSITY terse
SET client_min_messages = notice;
SELECT dp_declare('visit', 'ward', keys => ARRAY['A', 'B'], other => 'other', nulls => false);
SELECT dp_declare('visit', 'kind', ARRAY['in', 'out'], NULL, false);
SET client_min_messages = warning;
\set VERBOSITY sqlstate
SELECT attname, keys, other, nulls FROM dp_pg.attribute WHERE relid = 'visit'::regclass ORDER BY 1;
RESET ROLE;
SET ROLE :analyst;
-- such rows count nowhere, not under other either
SELECT ward, dp_count(*) FROM visit GROUP BY ward;
SELECT ward, kind, dp_count(*) FROM visit GROUP BY ward, kind;
SELECT lower(ward), dp_count(*) FROM visit GROUP BY 1;
SELECT coalesce(ward, 'none'), dp_count(*) FROM visit GROUP BY 1;
SELECT ward, dp_count(*) FROM visit WHERE ward IS NULL GROUP BY ward;
SELECT kind, dp_count(*) FROM visit WHERE kind IN ('in', 'up') OR kind IS NULL GROUP BY kind;
SELECT DISTINCT kind FROM visit ORDER BY 1;
-- without the key they count
SELECT dp_count(*), dp_count(ward) FROM visit;
RESET ROLE;
-- another declaration, another word
SET ROLE :owner;
SELECT dp_declare('visit', 'kind', keys => ARRAY['in', 'out']) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT kind, dp_count(*) FROM visit GROUP BY kind;
RESET ROLE;

-- a test for NULL of a column that is never NULL, but where an outer join has
-- nothing: no group is lost by what WHERE says of the column
SET ROLE :owner;
CREATE TYPE measure AS ENUM ('s', 'm', 'l');
CREATE TABLE body (id int PRIMARY KEY, tall numeric NOT NULL, size measure NOT NULL, short numeric);
INSERT INTO body SELECT i, i % 7, (ARRAY['s', 'm', 'l'])[1 + i % 3]::measure, nullif(i % 7, 3) FROM generate_series(1, 100) AS i;
CREATE TABLE stay (pid int NOT NULL, cost int NOT NULL);
INSERT INTO stay SELECT i, i % 50 FROM generate_series(1, 60) AS i;
SELECT dp_protect('body', unit => 'id', dataset => :'schema'), dp_protect('stay', unit => 'pid', dataset => :'schema') \g /dev/null
SELECT dp_declare('stay', max_rows => 1) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT v.pid IS NULL AS none, dp_count(*) FROM body p LEFT JOIN stay v ON v.pid = p.id GROUP BY 1 ORDER BY 1;
SELECT v.pid IS NULL AS none, dp_count(*) FROM body p LEFT JOIN stay v ON v.pid = p.id WHERE v.pid IS NULL GROUP BY 1 ORDER BY 1;
SELECT v.pid IS NULL AS none, dp_count(*) FROM body p LEFT JOIN stay v ON v.pid = p.id WHERE v.pid IS NULL OR v.pid < 5000 GROUP BY 1 ORDER BY 1;
SELECT v.cost IS NOT NULL AS some, dp_count(*) FROM body p LEFT JOIN stay v ON v.pid = p.id WHERE v.cost IS NULL GROUP BY 1 ORDER BY 1;
SELECT v.cost IS NOT NULL AS some, dp_count(*) FROM body p LEFT JOIN stay v ON v.pid = p.id WHERE v.cost > 10 GROUP BY 1 ORDER BY 1;
SET dp_pg.transparent = on;
SELECT none, count(*) FROM (SELECT v.pid IS NULL AS none FROM stay v FULL JOIN body p ON v.pid = p.id) t WHERE none GROUP BY none;
RESET dp_pg.transparent;

-- conditions over columns that are never NULL have no group for NULL, of any type that PostgreSQL compares
SELECT tall > 3 AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
SELECT tall <> 3 AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
SELECT size < 'l' AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
SELECT size = 'm' OR tall BETWEEN 2 AND 3 AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
SELECT tall IN (1, 2) AS k, size NOT IN ('s') AS l, dp_count(*) FROM body GROUP BY 1, 2 ORDER BY 1, 2;
-- and where something can be NULL, they have one
SELECT short > 3 AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
SELECT tall IN (1, NULL) AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
SELECT tall > (NULL::numeric) AS k, dp_count(*) FROM body GROUP BY 1 ORDER BY 1;
RESET ROLE;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
