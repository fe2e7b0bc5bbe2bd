-- dp_sum(DISTINCT x), dp_avg(DISTINCT x): each value counts once.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_distinct
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :analyst;
-- 0 .. 99, ten times each; ward A has 2, 6, .., 98 and so on
SELECT dp_sum(DISTINCT age) AS sum, round(dp_avg(DISTINCT age), 3) AS avg, dp_sum(age) AS all, dp_count(DISTINCT age) AS count FROM person;
SELECT ward, dp_sum(DISTINCT age) AS sum, round(dp_avg(DISTINCT age, 0, 99), 3) AS avg FROM person WHERE ward = 'A' GROUP BY ward HAVING dp_count(*) > 5;
SELECT dp_sum(DISTINCT age % 3, 0, 2) AS expression, dp_sum(DISTINCT age % 3) AS inferred, dp_sum(DISTINCT age) FILTER (WHERE age < 4) AS "filter", dp_sum(DISTINCT age, -5, 3) AS clamped, dp_sum(DISTINCT -age, -120, 0) AS negative FROM person;
-- values on a grid: income 0 .. 49.5, score 0 .. 24.75, to the granule
SELECT abs(dp_sum(DISTINCT income) - 2475) < 0.1 AS numeric, abs(dp_sum(DISTINCT score) - 1237.5) < 0.1 AS float, abs(dp_avg(DISTINCT score) - 12.375) < 0.01 AS mean FROM person;
-- nobody
SELECT dp_sum(DISTINCT age) AS sum, dp_avg(DISTINCT age) AS avg FROM person WHERE false;
-- price and sensitivity as without DISTINCT: one person adds or removes one value at most
SELECT dp_sum(DISTINCT age, 0.5), dp_avg(DISTINCT age, 0, 50, 0.25) FROM person \g /dev/null
SELECT value, mechanism, epsilon, sensitivity, scale FROM dp_last_release();
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-9';
SELECT dp_sum(DISTINCT age) BETWEEN 4000 AND 6000 AS gaussian FROM person;
RESET dp_pg.mechanism;
SELECT e, state, hinted, charges FROM unnest(ARRAY['dp_sum(DISTINCT id)', 'dp_variance(DISTINCT age)', 'dp_median(DISTINCT age)', 'dp_sum(DISTINCT ward)', 'dp_sum(DISTINCT age, 9, 0)']) e, outcome('SELECT ' || e || ' FROM person');
RESET ROLE;
-- distinct values of a person over a join of private rows, by levels that group twice: no step sorts
SET ROLE :owner;
CREATE TABLE trip (id int PRIMARY KEY, pid int NOT NULL, ward varchar(8) NOT NULL);
CREATE TABLE call (pid int NOT NULL, kind varchar(8) NOT NULL);
INSERT INTO trip SELECT i, i % 50, 'w' || i % 3 FROM generate_series(1, 200) AS i;
INSERT INTO call SELECT i % 50, 'k' || i % 3 FROM generate_series(1, 200) AS i;
SELECT dp_protect('trip', unit => 'pid', dataset => :'schema'), dp_protect('call', unit => 'pid', dataset => :'schema') \g /dev/null
SELECT dp_declare('trip', max_rows => 1), dp_declare('call', max_rows => 1) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT round(dp_avg(n, 0, 20), 3) FROM (SELECT pid, count(*) AS n FROM (SELECT DISTINCT v.pid, c.kind FROM trip v JOIN call c ON c.pid = v.pid) d GROUP BY pid) t;
SELECT dp_count(*) FROM (SELECT pid, max(n) AS m FROM (SELECT v.pid, c.kind, count(*) AS n FROM trip v JOIN call c ON c.pid = v.pid GROUP BY v.pid, c.kind) d GROUP BY pid) t WHERE m > 2;
SELECT dp_count(*) FROM (SELECT pid, count(*) AS n FROM (SELECT DISTINCT v.pid, w.kind FROM trip v JOIN call c ON c.pid = v.pid JOIN call w ON w.pid = v.pid) d GROUP BY pid) t WHERE n = 3;
-- of few public values no more than these, and none below 0; ward has others
SELECT dp_count(DISTINCT sex) AS boolean, dp_count(DISTINCT feel) AS enum, dp_count(DISTINCT age > 50) AS condition, dp_count(DISTINCT ward) AS others, dp_count(DISTINCT sex) FILTER (WHERE false) AS none FROM person;
SET dp_pg.epsilon = '0.001';
SELECT bool_and(sex BETWEEN 0 AND 2) AS boolean, bool_and(feel BETWEEN 0 AND 3) AS enum, bool_and(error BETWEEN 1 AND 2) AS error, bool_or(age NOT BETWEEN 0 AND 121) AS age
FROM (SELECT ward, dp_count(DISTINCT sex) AS sex, dp_count(DISTINCT feel) AS feel, dp_error(dp_count(DISTINCT sex)) AS error, dp_count(DISTINCT age) AS age FROM person GROUP BY ward) s;
EXPLAIN (COSTS OFF) SELECT dp_count(DISTINCT feel) FROM person;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('call', 'kind', keys => ARRAY['k0', 'k1', 'k2']) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(DISTINCT kind) BETWEEN 0 AND 3 AS clamped FROM call;
SET dp_pg.epsilon = '100000';
SELECT dp_count(DISTINCT kind) AS kinds FROM call;
-- a person of 50 rows has no more of few values than there are, and fewer values in all than a total
SET dp_pg.max_rows = 50;
SET dp_pg.max_keys = 2;
SELECT dp_count(DISTINCT kind), dp_count(DISTINCT kind) FILTER (WHERE pid > 7) FROM call \g /dev/null
SELECT value, sensitivity FROM dp_last_release();
SELECT kind, dp_count(DISTINCT kind), dp_count(*) FROM call GROUP BY kind \g /dev/null
SELECT value, sensitivity FROM dp_last_release();
SET dp_pg.max_total = 5;
SELECT kind, dp_count(DISTINCT kind) FROM call GROUP BY kind \g /dev/null
SELECT value, sensitivity FROM dp_last_release();
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
RESET dp_pg.max_total;
-- 40 values that no key declares are 3 before the noise, so that some of 50 groups show fewer
RESET ROLE;
SET ROLE :owner;
CREATE TABLE other (id int PRIMARY KEY, g int NOT NULL, kind text);
INSERT INTO other SELECT i, i % 50, 'o' || i FROM generate_series(1, 2000) i;
SELECT dp_protect('other', dataset => :'schema'), dp_declare('other', 'kind', keys => ARRAY['k0', 'k1', 'k2']), dp_declare('other', 'g', lower => 0, upper => 49) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = '0.5';
SELECT bool_or(n < 3) AS fewer, bool_or(n > 3) AS more FROM (SELECT g, dp_count(DISTINCT kind) AS n FROM other GROUP BY g) s;
SET dp_pg.epsilon = '100000';
-- of a large table as presence of public values: party has a fifth one that nobody has
RESET ROLE;
SET ROLE :owner;
CREATE TABLE vote (id int PRIMARY KEY, party text NOT NULL, yes boolean NOT NULL);
INSERT INTO vote SELECT i, 'p' || i % 4, i % 3 = 0 FROM generate_series(1, 8000) i;
SELECT dp_protect('vote', dataset => :'schema', rows => 10000), dp_declare('vote', 'party', keys => ARRAY['p0', 'p1', 'p2', 'p3', 'p4']) \g /dev/null
CREATE TABLE poll (pid int NOT NULL, party text NOT NULL, yes boolean NOT NULL);
INSERT INTO poll SELECT i % 4000, 'p' || i % 4, i % 3 = 0 FROM generate_series(1, 80000) i;
SELECT dp_protect('poll', unit => 'pid', dataset => :'schema', rows => 100000, max_total => 6), dp_declare('poll', 'party', keys => ARRAY['p0', 'p1', 'p2', 'p3', 'p4']) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = '0.5';
SELECT n BETWEEN 4 AND 5 AS present, e + n AS "values", yes FROM (SELECT dp_count(DISTINCT party) AS n, dp_error(dp_count(DISTINCT party)) AS e, dp_count(DISTINCT yes) AS yes FROM vote) s;
SELECT yes, n BETWEEN 4 AND 5 AS present FROM (SELECT yes, dp_count(DISTINCT party) AS n FROM vote GROUP BY yes) s;
SELECT dp_count(DISTINCT party) BETWEEN 4 AND 5 AS present, dp_count(DISTINCT yes) AS yes, dp_count(DISTINCT pid) > 3900 AS people FROM poll;
SELECT value, mechanism, sensitivity, scale, error_95 FROM dp_last_release();
SELECT yes, n BETWEEN 4 AND 5 AS present FROM (SELECT yes, dp_count(DISTINCT party) AS n FROM poll GROUP BY yes) s;
SET dp_pg.mechanism = gaussian;
SELECT dp_count(DISTINCT party) BETWEEN 4 AND 5 AS present, dp_count(DISTINCT yes) AS yes FROM poll;
SELECT value, mechanism, sensitivity, scale, error_95 FROM dp_last_release();
RESET dp_pg.mechanism;
-- not of rows of unknown number, nor where the noise is small or too large
CREATE FUNCTION pg_temp.presence(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'Released: dp_count.DISTINCT' THEN
			RETURN coalesce(substring(line, 'presence of [0-9]+ values'), substring(line, 'sensitivity.*'));
		END IF;
	END LOOP;
END
$$;
SELECT q, pg_temp.presence('SELECT ' || q) FROM unnest(ARRAY['dp_count(DISTINCT party) FROM vote', 'dp_count(DISTINCT party) FROM (SELECT party FROM vote) s',
	'dp_count(DISTINCT id > 4) FROM vote', 'dp_count(DISTINCT party) FROM vote WHERE yes', 'dp_count(DISTINCT party) FILTER (WHERE yes) FROM vote',
	'dp_count(DISTINCT party) FROM (SELECT party FROM vote WHERE yes) s',
	'dp_count(DISTINCT p.party) FROM poll p JOIN poll q USING (pid)', 'dp_count(DISTINCT party) FROM (SELECT DISTINCT party, pid FROM poll) s', 'dp_count(DISTINCT id) FROM vote']) q;
-- where a set lacks keys, a unit has a value once in each crossing
SET dp_pg.transparent = on;
SELECT pg_temp.presence('SELECT yes, count(DISTINCT party) FROM poll GROUP BY ROLLUP (yes)') AS lacks_keys,
	pg_temp.presence('SELECT count(DISTINCT party) FROM poll') AS one_set;
RESET dp_pg.transparent;
SET dp_pg.epsilon = '0.01';
SELECT pg_temp.presence('SELECT dp_count(DISTINCT party) FROM vote') AS few_rows;
SET dp_pg.epsilon = '10';
SELECT pg_temp.presence('SELECT dp_count(DISTINCT party) FROM vote') AS little_noise;
SET dp_pg.epsilon = '0.5';
-- what is declared decides when the query runs
PREPARE parties AS SELECT dp_count(DISTINCT party) BETWEEN 0 AND 5 AS n FROM vote;
EXECUTE parties;
SELECT mechanism FROM dp_last_release();
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('vote', rows => 10) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
EXECUTE parties;
SELECT mechanism FROM dp_last_release();
SET dp_pg.epsilon = '100000';
-- an average of keys need not be one
RESET ROLE;
SET ROLE :owner;
CREATE TABLE grade (pid int NOT NULL, mark int NOT NULL);
INSERT INTO grade SELECT i, j FROM generate_series(1, 70) i, generate_series(1, 3) j WHERE (i % 7 + 1) & (1 << (j - 1)) <> 0;
SELECT dp_protect('grade', unit => 'pid', dataset => :'schema'), dp_declare('grade', 'mark', keys => ARRAY[1, 2, 3]) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(DISTINCT a) AS averages FROM (SELECT pid, avg(mark) AS a FROM grade GROUP BY pid) s;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
