-- Levels below a private aggregate that group rows by their unit: native
-- aggregates of a unit's rows, DISTINCT, HAVING, joins above and below.  What
-- groups others' rows, or follows from the order of rows, is refused.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_group
\set file :abs_srcdir '/sql/include/query.psql'
\i :file

SET ROLE :owner;
CREATE TABLE visit (unit int, shop text NOT NULL, day date NOT NULL, amount int, price float8, cost numeric, small real, c char(3));
INSERT INTO visit SELECT nullif(i % 100, 99), 'shop' || i % 3, date '2024-01-01' + i % 50, i % 20, i % 50 / 3.0, i % 70 / 7.0, i % 5, 'c' FROM generate_series(1, 1000) i;
INSERT INTO visit VALUES (1, 'shop0', '2024-01-01', NULL, -0.0, 'NaN', NULL, NULL), (1, 'shop0', '2024-01-01', NULL, 0, 1e200, NULL, NULL), (2, repeat('z', 20000), '2024-01-01', NULL, 'infinity', 1e-150, NULL, NULL);
CREATE TABLE member (id int PRIMARY KEY, city text NOT NULL);
INSERT INTO member SELECT i, 'city' || i % 2 FROM generate_series(0, 110) i;
CREATE TABLE tagged (unit int, tag name, y bytea);
INSERT INTO tagged SELECT i % 10, 'tag' || i % 3, convert_to(repeat('x', CASE WHEN i % 2 = 0 THEN 20000 ELSE 3 END), 'UTF8') FROM generate_series(1, 100) i;
CREATE TABLE region (shop text PRIMARY KEY, region text NOT NULL);
CREATE TABLE many (unit int, x text, n numeric);
INSERT INTO many SELECT 1, 'x' || i, i FROM generate_series(1, 3000) i;
INSERT INTO region VALUES ('shop0', 'north'), ('shop1', 'south'), ('shop2', 'north');
GRANT SELECT ON region TO :analyst;
SELECT dp_protect('visit', unit => 'unit', dataset => :'schema') \g /dev/null
SELECT dp_protect('member', unit => 'id', dataset => :'schema') \g /dev/null
SELECT dp_protect('tagged', unit => 'unit', dataset => :'schema') \g /dev/null
SELECT dp_protect('many', unit => 'unit', dataset => :'schema') \g /dev/null
SELECT dp_declare('visit', 'shop', keys => ARRAY['shop0', 'shop1', 'shop2']) \g /dev/null
SELECT dp_declare('visit', 'amount', lower => 0, upper => 20) \g /dev/null
SELECT dp_declare('member', 'city', keys => ARRAY['city0', 'city1']) \g /dev/null
-- what the rows themselves say
CREATE VIEW part AS SELECT * FROM visit WHERE amount IS NOT NULL;
CREATE VIEW sums AS SELECT unit, sum(amount) AS a, sum(price) AS b, sum(cost) AS c, sum(small) AS d FROM part GROUP BY unit;
CREATE VIEW averages AS SELECT unit, avg(amount) AS a, avg(price) AS b, avg(cost) AS c, avg(small) AS d FROM part GROUP BY unit;
CREATE VIEW least AS SELECT unit, min(amount) AS a, min(price) AS b, min(cost) AS c, min(small) AS d FROM part GROUP BY unit;
CREATE VIEW greatest AS SELECT unit, max(amount) AS a, max(price) AS b, max(cost) AS c, max(small) AS d FROM part GROUP BY unit;
CREATE FUNCTION total(relation regclass, name text, function text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	total float8;
BEGIN
	EXECUTE format('SELECT %s FROM %s WHERE unit IS NOT NULL', format(function, name), relation) INTO total;
	RETURN total;
END $$;
SELECT r, n, abs(total(r, n, 'dp_sum(%I, 0, 1000)') - total(r, n, 'sum(%I)')) < 1 AS same FROM unnest(ARRAY['sums', 'averages', 'least', 'greatest']::regclass[]) r, unnest(ARRAY['a', 'b', 'c', 'd']) n;
RESET ROLE;

SET ROLE :analyst;
SET dp_pg.max_rows = 100;
SET dp_pg.max_keys = 10;
-- one row of each unit: so many of its rows count, and no more of it
SELECT dp_count(*), dp_sum(n, 0, 100) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s;
SELECT n, dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s WHERE n IN (9, 10, 12, 13) GROUP BY n;
SELECT n > 10 AS many, dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s GROUP BY many;
EXPLAIN SELECT dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s;
EXPLAIN SELECT dp_count(*) FROM (SELECT unit, shop FROM visit GROUP BY unit, shop) s;
-- of several keys: a row of each; 100 rows in each of 10 groups may count, so a
-- sum has the noise of 100,000, and a price that leaves none of it
SET dp_pg.epsilon = 1000000;
SELECT shop, dp_count(*), dp_sum(a), round(dp_avg(a), 2) AS avg FROM (SELECT unit, shop, max(amount) AS a FROM visit GROUP BY unit, shop) s GROUP BY shop;
SELECT dp_count(*) FROM (SELECT DISTINCT unit, shop FROM visit) s;
SELECT dp_count(*) FROM (SELECT DISTINCT shop, unit FROM visit WHERE amount > 18) s WHERE shop = 'shop1';
SELECT dp_sum(n, 0, 20) FROM (SELECT unit, date_trunc('month', day), count(*) AS n FROM visit GROUP BY 1, 2) s;
-- other aggregates
SELECT dp_count(*) FROM (SELECT unit, min(day) AS first, max(day) AS last FROM visit GROUP BY unit) s WHERE last - first > 40;
SELECT dp_count(*) FROM (SELECT unit FROM visit GROUP BY unit HAVING bool_or(amount = 19) AND NOT every(amount > 3) AND bool_and(shop < 'z') AND count(amount) FILTER (WHERE amount > 10) > 4) s;
-- what has no one value of its own: huge numbers, NaN, long texts are NULL
SELECT dp_count(*) FROM (SELECT unit, sum(cost) AS c, sum(price) AS p FROM visit WHERE unit IN (1, 2) GROUP BY unit) s WHERE c < 100 AND p < 200;
SELECT dp_count(*), dp_count(c), dp_count(d) FROM (SELECT unit, sum(cost) AS c, sum(cost) FILTER (WHERE cost > 1e100) AS d FROM visit WHERE cost = 'NaN' OR cost > 1e100 OR cost < 1e-100 AND cost > 0 GROUP BY unit) s;
SELECT dp_count(*), dp_count(m) FROM (SELECT unit, max(shop) AS m FROM visit WHERE shop > 'y' GROUP BY unit) s;
SELECT dp_count(*) FROM (SELECT unit, shop FROM visit GROUP BY unit, shop) s WHERE shop IS NULL;
-- keys: of the level below, and its least and greatest values
SELECT m, dp_count(*) FROM (SELECT unit, min(shop) AS m FROM visit GROUP BY unit) s GROUP BY m;
SELECT m, dp_count(*) FROM (SELECT unit, min(shop) AS m FROM visit WHERE shop <> 'shop0' GROUP BY unit) s GROUP BY m;
SELECT m, dp_count(*) FROM (SELECT unit, min(shop) AS m, max(shop) AS x FROM visit WHERE amount < 4 GROUP BY unit) s WHERE x = 'shop2' GROUP BY m;
SELECT m, dp_count(*) FROM (SELECT unit, min(shop) AS m FROM visit WHERE amount < 4 GROUP BY unit) s WHERE m <> 'shop1' GROUP BY m;
SELECT a, dp_count(*) FROM (SELECT unit, min(amount) FILTER (WHERE amount > 15) AS a FROM visit GROUP BY unit) s WHERE a IN (16, 17) GROUP BY a;
SELECT * FROM outcome('SELECT n, dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s GROUP BY n');
SELECT * FROM outcome('SELECT a, dp_count(*) FROM (SELECT unit, min(amount) FILTER (WHERE amount > 15) AS a FROM visit GROUP BY unit) s GROUP BY a');
SELECT n, dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s JOIN (VALUES (10::bigint), (13)) v (n) USING (n) GROUP BY n;
-- aggregates of two levels look the same, and say nothing of one another
SELECT n > 8 AS many, dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) a JOIN (SELECT unit, count(*) AS k FROM visit WHERE shop = 'shop0' GROUP BY unit) b USING (unit) WHERE NOT k > 8 GROUP BY many;
SELECT * FROM outcome('SELECT n, dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) a JOIN (SELECT unit, count(*) AS k FROM visit WHERE shop = $$shop0$$ GROUP BY unit) b USING (unit) WHERE k IN (3, 4) GROUP BY n');
-- a key of a length of its own: it is asked of no row whether it is long
SELECT dp_count(*) FROM (SELECT unit, tag FROM tagged GROUP BY unit, tag) s;
SELECT dp_count(*), dp_count(y) FROM (SELECT unit, y FROM tagged GROUP BY unit, y) s;
-- a key that is computed from a column has that column's public values only where the column is a key below
SELECT upper(shop) AS s, dp_count(*) FROM (SELECT unit, shop FROM visit WHERE shop IS NOT NULL GROUP BY unit, shop) s GROUP BY upper(shop);
SELECT * FROM outcome('SELECT s, dp_count(*) FROM (SELECT unit, upper(shop) AS s FROM visit GROUP BY unit, upper(shop)) s GROUP BY s');
SELECT * FROM outcome('SELECT lower(s), dp_count(*) FROM (SELECT unit, upper(shop) AS s FROM visit GROUP BY unit, upper(shop)) s GROUP BY lower(s)');
SELECT * FROM outcome('SELECT a, dp_count(*) FROM (SELECT DISTINCT unit, amount / 2 AS a FROM visit) s GROUP BY a');
SELECT * FROM outcome('SELECT a, dp_count(*) FROM (SELECT unit, a FROM (SELECT unit, amount / 2 AS a FROM visit) v GROUP BY unit, a) s GROUP BY a');
-- levels of levels, WITH
SELECT dp_count(*), dp_sum(days, 0, 60) FROM (SELECT unit, count(*) AS days FROM (SELECT DISTINCT unit, day FROM visit) a GROUP BY unit) b;
WITH s AS (SELECT unit, count(*) AS n FROM visit GROUP BY unit) SELECT dp_count(*) FROM s WHERE n > 10;
SELECT dp_max(n, 0, 20) FROM (SELECT unit, max(n) AS n FROM (SELECT unit, shop, count(*) AS n FROM visit GROUP BY unit, shop) a GROUP BY unit) b;
-- many levels of several columns, each of which may name the unit
WITH RECURSIVE levels (n, query) AS (SELECT 0, 'SELECT unit, unit AS a, unit AS b, unit AS c FROM visit' UNION ALL
	SELECT n + 1, 'SELECT unit, a, b, c FROM (' || query || ') s GROUP BY unit, a, b, c' FROM levels WHERE n < 20)
SELECT query AS nested FROM levels WHERE n = 20 \gset
SELECT dp_count(*) FROM (:nested) s;
-- joins above and below
SELECT city, dp_count(*), dp_sum(n, 0, 100) FROM member JOIN (SELECT unit, count(*) AS n FROM visit GROUP BY unit) s ON unit = id GROUP BY city;
SELECT city, dp_count(*), dp_count(n), dp_sum(coalesce(n, 0), 0, 100) FROM member LEFT JOIN (SELECT unit, count(*) AS n FROM visit WHERE amount > 12 GROUP BY unit) s ON unit = id GROUP BY city;
SELECT region, dp_count(*), dp_sum(n, 0, 20) FROM (SELECT unit, region, count(*) AS n FROM visit JOIN region USING (shop) GROUP BY unit, region) s GROUP BY region;
SELECT dp_count(*) FROM (SELECT unit, min(region) AS r FROM visit JOIN region USING (shop) GROUP BY unit) s WHERE r = 'north';
SELECT dp_count(*) FROM (SELECT unit, count(*) AS n FROM visit GROUP BY unit) a JOIN (SELECT unit, max(amount) AS m FROM visit GROUP BY unit) b USING (unit) WHERE n > 10 OR m > 18;
SELECT c, dp_count(*) FROM (SELECT id, count(unit) AS c FROM member LEFT JOIN visit ON unit = id GROUP BY id) s WHERE c IN (0, 10, 11, 12) GROUP BY c;
SELECT region, dp_count(*) FROM (SELECT unit, min(shop) AS shop FROM visit GROUP BY unit) s JOIN region USING (shop) GROUP BY region;
-- a condition on groups says nothing of the rows below: the list does not make fewer of them
SELECT dp_count(*) FROM (SELECT unit, g, count(*) AS n FROM visit CROSS JOIN generate_series(1, 3) g GROUP BY unit, g) s WHERE g = n - 8;
-- beside another column that names it, and may be NULL
SELECT dp_count(*) FROM (SELECT id, count(*) FROM member LEFT JOIN visit ON id = unit GROUP BY unit, id) s;
-- room for fewer than may count is told once; what is cast to a length takes no
-- more: all 3000 groups of one unit count
SET client_min_messages = notice;
SET dp_pg.max_rows = 5000;
SELECT dp_count(*) FROM (SELECT unit, upper(x)::varchar(20) AS u FROM many GROUP BY 1, 2) s;
SELECT dp_count(*) FROM (SELECT unit, u FROM (SELECT unit, lower(x)::varchar(20) AS u FROM many) t GROUP BY 1, 2) s;
SELECT dp_count(*) FROM (SELECT unit, x, max((n * 2)::numeric(12, 2)) AS m FROM many GROUP BY 1, 2) s WHERE m > 5;
SELECT dp_count(*) < 2000 AS some FROM (SELECT unit, upper(x) AS u FROM many GROUP BY 1, 2) s;
SELECT dp_count(*) < 2000 AS some FROM (SELECT unit, x, max(n * 2) AS m FROM many GROUP BY 1, 2) s WHERE m > 5;
SET dp_pg.max_rows = 100;
SET client_min_messages = warning;
-- the unit itself
SELECT dp_count(DISTINCT unit) FROM (SELECT unit, shop FROM visit GROUP BY unit, shop) s;
SELECT charges FROM spent();

-- refused, and nothing is charged
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT shop, count(*) FROM visit GROUP BY shop) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT count(*) FROM visit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT DISTINCT shop FROM visit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT DISTINCT ON (unit) unit, shop FROM visit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit % 2, count(*) FROM visit GROUP BY unit % 2) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit FROM visit GROUP BY ROLLUP (unit)) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT 1 FROM visit HAVING count(*) > 3) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, string_agg(shop, $$,$$) FROM visit GROUP BY unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, array_agg(amount) FROM visit GROUP BY unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, stddev(amount) FROM visit GROUP BY unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, min(c) FROM visit GROUP BY unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, count(DISTINCT shop) FROM visit GROUP BY unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, cost, count(*) FROM visit GROUP BY unit, cost) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, price FROM visit GROUP BY unit, price) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, c FROM visit GROUP BY unit, c) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT id, city, count(*) FROM member GROUP BY id) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, dp_count(*) FROM visit GROUP BY unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT v.unit, w.unit AS other FROM visit v, visit w GROUP BY v.unit, w.unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT v.unit FROM member LEFT JOIN visit v ON id = v.unit GROUP BY v.unit) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, sum(amount) OVER () FROM visit GROUP BY unit, amount) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, max(amount) FROM visit GROUP BY unit) a, (SELECT unit, max(amount) FROM visit GROUP BY unit) b');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT unit, max(amount + (SELECT count(*) FROM visit)) FROM visit GROUP BY unit) s');
SELECT charges FROM spent();

RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
