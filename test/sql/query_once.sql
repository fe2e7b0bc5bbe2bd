-- One row of each unit, through lookups, one-row tables and DISTINCT; and units that are counted.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_once
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE trip (id int PRIMARY KEY, zone int, code text, fare int, lent int);
INSERT INTO trip SELECT i, i % 12, 'c' || i % 12, i % 50, i % 3 FROM generate_series(1, 300) i;
CREATE TABLE other (id bigint PRIMARY KEY, zone int);
INSERT INTO other SELECT i, i % 12 FROM generate_series(1, 400, 2) i;
CREATE TABLE visit (person int NOT NULL, reason int, day int);
INSERT INTO visit SELECT i % 40, i % 5, i % 9 FROM generate_series(1, 400) i;
CREATE TABLE call (person int NOT NULL, reason int, day int);
INSERT INTO call SELECT i % 50, i % 4, i % 9 FROM generate_series(1, 400) i;
SELECT dp_protect('trip', dataset => :'schema', unit => 'id'), dp_protect('other', dataset => :'schema', unit => 'id') \g /dev/null
SELECT dp_protect('visit', dataset => :'schema' || '_people', unit => 'person'), dp_protect('call', dataset => :'schema' || '_people', unit => 'person') \g /dev/null
SELECT dp_declare('trip', 'fare', lower => 0, upper => 50) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
-- what is public: unique by an index, by none, by one that does not count
CREATE TABLE zone (id int PRIMARY KEY, code varchar(9) UNIQUE, name text, near int, lower text, part int);
INSERT INTO zone SELECT i, 'c' || i, 'z' || i % 3, i, 'c' || i, 1 FROM generate_series(0, 11) i;
CREATE UNIQUE INDEX ON zone (near) WHERE part = 1;
CREATE UNIQUE INDEX ON zone (lower(lower));
CREATE TABLE pair (a int, b int, x int UNIQUE DEFERRABLE, UNIQUE (a, b));
INSERT INTO pair SELECT a, b, a * 3 + b FROM generate_series(0, 11) a, generate_series(0, 2) b;
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT generate_series(0, 11);
INSERT INTO child SELECT generate_series(0, 3);
CREATE TABLE parted (id int PRIMARY KEY, x int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
INSERT INTO parted SELECT i, i FROM generate_series(0, 11) i;
-- a key whose equality is of a polymorphic type
CREATE TYPE color AS ENUM ('red', 'green', 'blue');
CREATE TABLE paint (color color PRIMARY KEY);
INSERT INTO paint VALUES ('red'), ('green'), ('blue');
CREATE VIEW near AS SELECT id AS place, name FROM zone WHERE id > 2;
GRANT SELECT ON zone, pair, parent, parted, paint TO :owner;
SET dp_pg.max_rows = 7;
SET dp_pg.max_keys = 3;

-- the rows of a unit that count, and the answer's difference from the plain one
CREATE FUNCTION counted(query text, OUT bound text, OUT sensitivity text, OUT differs numeric) LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plain numeric;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT ' || query LOOP
		bound := coalesce((regexp_match(line, 'Contribution Bound: (.*)'))[1], bound);
		sensitivity := coalesce((regexp_match(line, 'sensitivity ([0-9.]+)'))[1], sensitivity);
	END LOOP;
	EXECUTE 'SELECT ' || query INTO differs;
	EXECUTE 'SELECT ' || replace(query, 'dp_', '') INTO plain;
	differs := differs - plain;
EXCEPTION WHEN OTHERS THEN
	bound := SQLSTATE;
END $$;
RESET ROLE;
GRANT :owner TO :analyst;
SET ROLE :analyst;
SELECT q AS "one row of a trip", c.* FROM unnest(ARRAY['trip t JOIN zone z ON z.id = t.zone', 'trip t LEFT JOIN zone z ON z.id = t.zone', 'trip t JOIN zone z ON t.zone::bigint = z.id', 'trip t JOIN zone z ON z.code = t.code',
	'trip t, zone z WHERE z.id = t.zone + 1', 'trip t JOIN near ON place = zone', 'trip t JOIN zone z ON z.id = t.zone JOIN zone y ON y.id = z.near', 'trip t LEFT JOIN zone z ON z.id = t.zone LEFT JOIN zone y ON y.id = z.near AND y.part = 1',
	'trip t JOIN pair ON a = zone AND b = lent', 'trip t JOIN parted p ON p.id = zone', 'trip t JOIN (SELECT name, min(id) AS id FROM zone GROUP BY name) z ON z.name = t.code', 'trip t JOIN (SELECT DISTINCT near FROM zone) z ON z.near = t.zone',
	'trip t JOIN (SELECT DISTINCT ON (near) near, name FROM zone ORDER BY near, id) z ON z.near = t.zone', 'trip t, (SELECT max(near) AS most FROM zone) m WHERE zone < most', 'trip t, (VALUES (4)) v(x) WHERE zone > x', 'trip t, (SELECT 4 AS x) v WHERE zone > x',
	'trip t, (SELECT near AS x FROM zone ORDER BY id LIMIT 1) v WHERE zone > x', 'trip t WHERE EXISTS (SELECT FROM zone z WHERE z.near > t.zone)', 'trip t JOIN other o ON o.id = t.id', 'trip t LEFT JOIN other o ON o.id = t.id', 'trip t JOIN other o ON o.id = t.id JOIN zone z ON z.id = o.zone',
	'trip t FULL JOIN other o ON o.id = t.id', '(SELECT *, row_number() OVER (PARTITION BY id ORDER BY fare) FROM trip) t JOIN zone z ON z.id = t.zone', 'trip t JOIN paint p ON p.color = CASE WHEN lent = 0 THEN ''red''::color ELSE ''blue'' END']) q, counted('dp_count(*) FROM ' || q) c;
SELECT q AS "not proved", c.bound, c.sensitivity FROM unnest(ARRAY['trip t JOIN zone z ON z.near = t.zone', 'trip t JOIN zone z ON z.lower = t.code', 'trip t JOIN zone z ON z.id > t.zone', 'trip t JOIN zone z ON z.id::numeric = t.zone', 'trip t JOIN pair ON a = zone', 'trip t JOIN pair ON x = zone',
	'trip t JOIN parent p ON p.id = zone', 'trip t JOIN zone z ON z.code = t.code COLLATE "C" OR z.id = t.zone', 'trip t JOIN (SELECT z.id FROM zone z, pair) z ON z.id = zone', 'trip t JOIN (SELECT id FROM zone UNION ALL SELECT 1) z ON z.id = zone', 'trip t JOIN (SELECT DISTINCT near, name FROM zone) z ON near = zone',
	'trip t JOIN (SELECT id, generate_series(1, 2) FROM zone) z ON z.id = zone', 'trip t, (VALUES (4), (5)) v(x) WHERE zone > x', 'trip t, (SELECT near AS x FROM zone ORDER BY id LIMIT 2) v WHERE zone > x', 'trip t, (SELECT near AS x FROM zone ORDER BY part FETCH FIRST ROW WITH TIES) v WHERE zone > x',
	'trip t, (SELECT max(near) AS x FROM zone GROUP BY ROLLUP (part)) v WHERE zone > x', 'trip t FULL JOIN other o ON o.id = t.id AND o.zone = 3', 'trip t LEFT JOIN other o ON o.id = t.id JOIN zone z ON z.id = coalesce(o.zone, 7)', '(SELECT * FROM trip UNION ALL SELECT * FROM trip) t']) q,
	counted('dp_count(*) FROM ' || q) c;
SELECT q AS "people", c.* FROM unnest(ARRAY['dp_count(DISTINCT person) FILTER (WHERE reason = 1) FROM visit', 'dp_count(DISTINCT CASE WHEN reason = 1 THEN person END) FROM visit', 'dp_count(DISTINCT CASE reason WHEN 1 THEN person WHEN 2 THEN person ELSE NULL END) FROM visit',
	'dp_count(DISTINCT nullif(person, 3)) FROM visit', 'dp_count(DISTINCT coalesce(CASE WHEN reason = 1 THEN person END, CASE WHEN reason = 2 THEN person END)) FROM visit', 'dp_count(DISTINCT CASE WHEN c.reason = 1 THEN v.person ELSE c.person END) FROM visit v JOIN call c ON c.person = v.person',
	'dp_count(DISTINCT person) FROM (SELECT person FROM visit UNION ALL SELECT person FROM call) u', 'dp_count(DISTINCT person) FROM (SELECT person, day FROM visit UNION SELECT person, day FROM call) u', 'dp_count(DISTINCT person) FROM (SELECT person, day FROM visit INTERSECT SELECT person, day FROM call) u',
	'dp_count(DISTINCT person) FROM (SELECT person, day FROM visit EXCEPT SELECT person, day FROM call) u', 'dp_count(DISTINCT CASE WHEN day = 1 THEN person END) FROM (SELECT person, day FROM visit UNION ALL SELECT person, day FROM call) u',
	'dp_count(*) FROM (SELECT DISTINCT person FROM visit) d', 'dp_count(*) FROM (SELECT DISTINCT person FROM visit) d JOIN zone z ON z.id = person', 'dp_count(*) FROM (SELECT person FROM visit UNION SELECT person FROM call) u', 'dp_count(*) FROM (SELECT person FROM visit INTERSECT SELECT person FROM call) u']) q, counted(q) c;
SELECT q AS "not the unit", c.bound, c.sensitivity FROM unnest(ARRAY['dp_count(DISTINCT CASE WHEN reason = 1 THEN person ELSE 0 END) FROM visit', 'dp_count(DISTINCT CASE WHEN reason = 1 THEN person ELSE day END) FROM visit', 'dp_count(DISTINCT CASE WHEN reason = 1 THEN -person END) FROM visit',
	'dp_count(DISTINCT nullif(day, person)) FROM visit', 'dp_count(DISTINCT coalesce(day, person)) FROM visit', 'dp_count(DISTINCT day) FROM (SELECT person, day FROM visit UNION ALL SELECT person, person FROM call) u', 'dp_count(CASE WHEN reason = 1 THEN person END) FROM visit']) q, counted(q) c;
-- in groups a unit counts in one group of one row, and in as many as it may of several
EXPLAIN (COSTS OFF) SELECT z.name, dp_count(*), dp_sum(fare) FROM trip t JOIN zone z ON z.id = t.zone GROUP BY 1;
EXPLAIN (COSTS OFF) SELECT reason, dp_count(DISTINCT CASE WHEN day = 1 THEN person END) FROM visit WHERE reason IN (1, 2, 3, 4) GROUP BY 1;
SELECT z.name, dp_count(*) - (SELECT count(*) FROM zone y JOIN generate_series(1, 300) i ON i % 12 = y.id WHERE y.name = z.name) AS differs FROM trip t JOIN zone z ON z.id = t.zone GROUP BY 1 ORDER BY 1;
-- an index that is gone is no proof, nor is one for a prepared query
PREPARE looked AS SELECT dp_count(*) FROM trip t JOIN zone z ON z.code = t.code;
EXPLAIN (COSTS OFF) EXECUTE looked;
ALTER TABLE zone DROP CONSTRAINT zone_code_key;
EXPLAIN (COSTS OFF) EXECUTE looked;
RESET ROLE;
SET ROLE :owner;
ALTER TABLE trip DROP CONSTRAINT trip_pkey;
RESET ROLE;
SET ROLE :analyst;
SELECT c.bound, c.sensitivity FROM counted('dp_count(*) FROM trip t JOIN zone z ON z.id = t.zone') c;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
