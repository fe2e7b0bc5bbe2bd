-- Combinations of several group keys: those that a condition over several keys
-- excludes, or that do not occur among the public rows that are joined, are no
-- groups, whatever the private rows are.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_key_together
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE guest (id int PRIMARY KEY, town int, k int, sex text, part numeric, flag boolean, ward text);
INSERT INTO guest SELECT i, i % 8, i % 3, (ARRAY['f', 'm'])[1 + i / 2 % 2], (ARRAY['1.0', '2.50'])[1 + i % 2]::numeric, i % 4 = 0, (ARRAY['A', 'B', 'X', 'Y'])[1 + i % 4] FROM generate_series(0, 239) AS i;
CREATE TABLE visit (guest int, town int, k int);
INSERT INTO visit SELECT i % 240, i % 8, i % 3 FROM generate_series(0, 959) AS i;
SELECT dp_protect('guest', unit => 'id', dataset => :'schema'), dp_protect('visit', unit => 'guest', dataset => :'schema') \g /dev/null
SELECT dp_declare('guest', 'k', lower => 0, upper => 3), dp_declare('guest', 'sex', keys => ARRAY['f', 'm']), dp_declare('guest', 'part', keys => ARRAY['1', '2.5']), dp_declare('guest', 'ward', keys => ARRAY['A', 'B'], other => 'other', nulls => false),
	dp_declare('visit', 'k', lower => 0, upper => 3) \g /dev/null
CREATE TABLE land (land int PRIMARY KEY, name text);
INSERT INTO land VALUES (1, 'north'), (2, 'south'), (3, 'empty'), (4, NULL);
CREATE TABLE town (town int PRIMARY KEY, name text, land int);
INSERT INTO town SELECT i, 'town' || i, 1 + i % 4 FROM generate_series(0, 9) AS i;
INSERT INTO town VALUES (10, NULL, 1), (11, 'nowhere', NULL);
CREATE TABLE hidden (land int, secret text);
INSERT INTO hidden VALUES (1, 'x');
GRANT SELECT ON land, town TO :analyst;
-- the plain query, run by the owner, and the private one give the same rows
CREATE FUNCTION plain(query text) RETURNS SETOF text LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT q::text FROM (%s) AS q', replace(query, 'dp_count', 'count'));
END $$;
CREATE FUNCTION same(query text, OUT rows bigint, OUT missing bigint, OUT more bigint) LANGUAGE plpgsql AS $$
DECLARE
	private text[];
	plain text[];
BEGIN
	EXECUTE format('SELECT array_agg(q::text) FROM (%s) AS q', query) INTO private;
	plain := ARRAY(SELECT plain(query));
	rows := cardinality(private);
	missing := (SELECT count(*) FROM (SELECT unnest(plain) EXCEPT ALL SELECT unnest(private)) AS d);
	more := (SELECT count(*) FROM (SELECT unnest(private) EXCEPT ALL SELECT unnest(plain)) AS d);
END $$;
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.max_rows = 6;
SET dp_pg.max_keys = 6;
-- conditions over several keys
SELECT k, sex, dp_count(*) FROM guest WHERE (k = 0 AND sex = 'f') OR (k = 2 AND sex = 'm') GROUP BY k, sex ORDER BY 1, 2;
SELECT * FROM same('SELECT k, sex, flag, dp_count(*) FROM guest WHERE flag = (k > 1) OR sex = ''f'' AND flag GROUP BY k, sex, flag HAVING dp_count(*) > 0');
SELECT k, sex, dp_count(*) FROM (SELECT k AS k, upper(sex) AS sex FROM guest) p WHERE k > 1 OR sex = 'F' GROUP BY k, sex ORDER BY 1, 2;
SELECT k, sex, dp_count(*) FROM guest WHERE k > length(sex) AND k <> 3 GROUP BY k, sex ORDER BY 1, 2;
-- NULL is a group only where the condition may be true
SELECT k, sex, dp_count(*) FROM guest WHERE k = 1 OR sex IS NULL GROUP BY k, sex ORDER BY 1, 2;
-- equal values that are not the same: the condition says nothing of a key's value
SELECT part, k, dp_count(*) FROM guest WHERE -part = -1.0 AND k = 1 OR k = 2 GROUP BY part, k ORDER BY 1, 2;
SELECT part, k, dp_count(*) FROM guest WHERE part > 2 AND k = 1 OR part < 2 AND k = 2 GROUP BY part, k ORDER BY 1, 2;
-- what is computed of the released values, or of other columns, excludes nothing
SELECT k, sex, dp_count(*) FROM guest WHERE k = 1 AND sex = 'f' OR town = 3 AND k = 0 GROUP BY k, sex ORDER BY 1, 2;
-- undeclared values are counted under another, of which the condition says nothing
SELECT ward, flag, dp_count(*) FROM guest WHERE ward = 'Y' OR flag GROUP BY ward, flag ORDER BY 1, 2;
SELECT ward, flag, dp_count(*) FROM guest WHERE ward = 'A' AND NOT flag OR ward = 'B' AND flag GROUP BY ward, flag ORDER BY 1, 2;
SELECT lower(ward) AS ward, flag, dp_count(*) FROM guest WHERE lower(ward) = 'y' OR flag GROUP BY 1, flag ORDER BY 1, 2;
-- the same rows by a cursor, in both directions
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k, flag, dp_count(*) FROM guest WHERE (k = 1) = flag AND k < 3 GROUP BY k, flag;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
FETCH FIRST FROM c;
COMMIT;
-- parameters, and errors that no private row would raise
PREPARE pairs(int, text) AS SELECT k, sex, dp_count(*) FROM guest WHERE k = $1 OR sex = $2 GROUP BY k, sex ORDER BY 1, 2;
EXECUTE pairs(0, 'f');
SET plan_cache_mode = force_generic_plan;
EXECUTE pairs(1, 'm');
RESET plan_cache_mode;
SELECT k, sex, dp_count(*) FROM guest WHERE 1 / k = 1 OR sex = 'f' GROUP BY k, sex ORDER BY 1, 2;
-- a condition on a row that an outer join leaves out
SELECT p.k, v.k AS k2, dp_count(*) FROM guest p LEFT JOIN (SELECT guest, k FROM visit WHERE town = 1) v ON v.guest = p.id AND v.k = p.k GROUP BY 1, 2 HAVING dp_count(*) > 0 ORDER BY 1, 2;
-- columns of one public row, and of rows that are joined
SELECT * FROM same('SELECT t.name, t.land, dp_count(*) FROM guest p JOIN town t USING (town) GROUP BY 1, 2 HAVING dp_count(*) > 0');
SELECT t.name, t.land, dp_count(*) FROM guest p JOIN town t USING (town) WHERE t.land < 3 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT l.name, dp_count(*) FROM guest p JOIN town t USING (town) JOIN land l ON l.land = t.land WHERE t.name > 'town4' GROUP BY 1 ORDER BY 1;
SELECT t.name, dp_count(*) FROM guest p, town t, land l WHERE p.town = t.town AND t.land = l.land AND l.name = 'north' GROUP BY 1 ORDER BY 1;
SELECT t.name, l.name, dp_count(*), dp_sum(p.k, 0, 3) FROM guest p, town t, land l WHERE p.town = t.town AND t.land = l.land AND l.name <= 'north' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT t.name, l.name, p.sex, dp_count(*) FROM guest p, town t, land l WHERE p.town = t.town AND t.land = l.land AND (l.name = 'north' AND p.sex = 'f' OR l.name = 'south' AND t.name = 'town1') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- one of them without a partner
SELECT t.name, l.name, dp_count(*) FROM guest p JOIN town t USING (town) LEFT JOIN land l ON l.land = t.land AND l.land > 2 WHERE t.town > 4 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT t.name, l.name, dp_count(*) FROM guest p LEFT JOIN town t ON t.town = p.town AND t.town < 3 LEFT JOIN land l ON l.land = t.land GROUP BY 1, 2 ORDER BY 1, 2;
-- the same relation twice, WITH, lists, views, two private relations
SELECT a.name, b.name, dp_count(*) FROM guest p JOIN land a ON a.land = p.k JOIN land b ON b.land = a.land + 1 GROUP BY 1, 2 ORDER BY 1, 2;
WITH t AS (SELECT town.name, town.town, land.name AS land FROM town JOIN land USING (land)) SELECT name, land, dp_count(*) FROM guest p JOIN t USING (town) WHERE land = 'empty' GROUP BY 1, 2 ORDER BY 1;
SELECT x.a, y.b, dp_count(*) FROM guest p, (VALUES (0, 'none'), (1, 'one')) AS x (k, a), (VALUES (0, 'p'), (1, 'q'), (1, 'r')) AS y (k, b) WHERE x.k = p.k AND y.k = x.k GROUP BY 1, 2 ORDER BY 1, 2;
CREATE TEMP VIEW places AS SELECT t.town, t.name, l.name AS land FROM town t JOIN land l USING (land);
SELECT land, s.name, dp_count(*) FROM visit v JOIN guest p ON p.id = v.guest JOIN places s ON s.town = v.town WHERE p.k = 1 AND land IN ('north', 'south') GROUP BY 1, 2 ORDER BY 1, 2;
-- every set of grouping sets by itself
SET dp_pg.transparent = on;
SET client_min_messages = error;
SELECT l.name, t.name, count(*) FROM guest p, town t, land l WHERE p.town = t.town AND t.land = l.land AND l.name = 'north' GROUP BY ROLLUP (1, 2) ORDER BY 1, 2;
RESET dp_pg.transparent;
RESET client_min_messages;
-- keys alone
SELECT DISTINCT k, sex FROM guest WHERE k = 0 AND sex = 'f' OR k = 2 ORDER BY 1, 2;
-- rights on what is joined, and what is read
SELECT t.name, h.secret, dp_count(*) FROM guest p JOIN town t USING (town) JOIN hidden h ON h.land = t.land GROUP BY 1, 2;
SELECT t.name, h.secret, dp_count(*) FROM guest p JOIN town t USING (town) JOIN hidden h ON h.land = t.land GROUP BY 1, 2 LIMIT 0;
CREATE FUNCTION explained(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END $$;
-- (versions write a condition with a subplan otherwise)
SELECT regexp_replace(line, 'Filter: .*SubPlan 1.*', 'Filter: (with SubPlan 1)') FROM explained($$SELECT t.name, l.name, dp_count(*) FROM guest p, town t, land l WHERE p.town = t.town AND t.land = l.land AND l.name = 'north' GROUP BY 1, 2$$) AS line WHERE line ~ 'Filter|Groups|SubPlan|Scan';
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
