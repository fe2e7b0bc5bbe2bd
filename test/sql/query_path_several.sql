-- Units behind keys of several columns: facts that are partitioned by a day,
-- which is in their primary key.  Only all columns together identify a row:
-- here most values of one of them occur with several of the other.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_path_several
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
SET ROLE :owner;
CREATE TABLE customer (id text PRIMARY KEY, city text NOT NULL);
INSERT INTO customer SELECT 'c' || i, 'city' || i % 3 FROM generate_series(1, 50) i;
CREATE TABLE orders (gone int, no int NOT NULL, cust varchar, day date NOT NULL, paid boolean NOT NULL, PRIMARY KEY (no, day))
PARTITION BY RANGE (day);
CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
INSERT INTO orders SELECT 0, i % 100, 'c' || 1 + i * 7 % 50, date '2024-01-01' + i / 10, i % 3 = 0 FROM generate_series(1, 500) i;
UPDATE orders SET cust = NULL WHERE no % 17 = 0;
ALTER TABLE orders DROP gone;
CREATE TABLE item (day date, qty int NOT NULL, gone int, ord bigint, part text NOT NULL);
INSERT INTO item SELECT day, i, 0, no, 'part' || i % 4 FROM orders, generate_series(1, 1 + no % 5) i;
INSERT INTO item VALUES (NULL, 1, 0, 1, 'part0'), (date '2024-01-01', 1, 0, NULL, 'part0'), (date '2024-01-01', 1, 0, 77, 'part0');
ALTER TABLE item DROP gone;
CREATE TABLE shipped (id int PRIMARY KEY, ord int NOT NULL, day date NOT NULL, FOREIGN KEY (day, ord) REFERENCES orders (day, no));
INSERT INTO shipped SELECT row_number() OVER (ORDER BY day, no), no, day FROM orders WHERE no % 2 = 0;
CREATE TABLE mark (ship int NOT NULL, stars int NOT NULL);
INSERT INTO mark SELECT id, id % 5 FROM shipped WHERE id % 3 > 0;
SELECT dp_protect('customer', unit => 'id', dataset => :'schema') \g /dev/null
SELECT dp_protect('orders', unit => 'cust', dataset => :'schema') \g /dev/null
-- what is told of each path that is none
\set VERBOSITY default
SET client_min_messages = notice;
SELECT dp_protect('item', unit => 'ord -> orders.cust', dataset => :'schema');
SELECT dp_protect('shipped', unit => 'ord -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, day, qty) -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(day, ord) -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, nothing) -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, o.day) -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, day) -> orders.(cust, day)', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, day)', dataset => :'schema');
SELECT dp_protect('item', unit => '() -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, -> orders.cust', dataset => :'schema');
-- without the column of the unit, or the dot; and what a hint says then
SELECT dp_protect('item', unit => '(ord, day) -> orders', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, day) -> regress_query_path_several.orders', dataset => :'schema');
SELECT dp_protect('mark', unit => 'ship -> shipped -> orders.cust', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, day) -> nowhere', dataset => :'schema');
SELECT dp_protect('item', unit => '(ord, day) -> nowhere.cust', dataset => :'schema');
BEGIN;
SELECT dp_protect('item', unit => '(ord, day) -> regress_query_path_several.orders(cust)', dataset => :'schema');
ROLLBACK;
-- a column that is not there: of this relation, and which could be meant
SELECT dp_protect('mark', unit => 'shop -> customer.id', dataset => :'schema');
SELECT dp_protect('shipped', unit => '(odr, day) -> orders.cust', dataset => :'schema');
SELECT dp_protect('shipped', unit => '(ord, day) -> orders.custs', dataset => :'schema');
-- what the hints say works, as it is
SELECT dp_protect('item', unit => ' ( ord , "day" )->orders . cust ', dataset => :'schema');
SELECT dp_protect('shipped', unit => '(ord, day) -> regress_query_path_several.orders.cust', dataset => :'schema');
SELECT dp_protect('mark', unit => 'ship -> shipped.ord -> orders.cust', dataset => :'schema');
SELECT dp_protect('mark', unit => 'ship -> shipped.(ord, day) -> orders.cust', dataset => :'schema');
\set VERBOSITY sqlstate
SET client_min_messages = warning;
SELECT relid, unit, unit_more, unit_more_attnums AS numbers, unit_through, unit_key, unit_key_more AS more, unit_key_more_attnums AS key_numbers
FROM dp_pg.relation WHERE dataset = :'schema' AND unit_through IS NOT NULL ORDER BY relid::text;
SELECT dp_declare('customer', 'city', keys => ARRAY['city0', 'city1', 'city2']) \g /dev/null
SELECT dp_declare('item', 'qty', lower => 0, upper => 10) \g /dev/null
SELECT dp_declare('item', 'part', keys => ARRAY['part0', 'part1', 'part2', 'part3']) \g /dev/null
SELECT dp_declare('mark', 'stars', lower => 0, upper => 5) \g /dev/null
-- what the owner's own queries say
SELECT count(*), sum(qty) FROM item JOIN orders ON ord = no AND item.day = orders.day WHERE cust IS NOT NULL;
SELECT count(*), sum(stars) FROM mark JOIN shipped ON ship = id JOIN orders ON ord = no AND shipped.day = orders.day WHERE cust IS NOT NULL;
SELECT city, count(*), sum(qty) FROM item JOIN orders ON ord = no AND item.day = orders.day JOIN customer ON cust = id GROUP BY city ORDER BY city;
SELECT count(*) FROM item a JOIN item b USING (ord, day) JOIN orders ON ord = no AND a.day = orders.day WHERE cust IS NOT NULL;
SELECT count(*), sum(q) FROM (SELECT ord, item.day, sum(qty) AS q FROM item JOIN orders ON ord = no AND item.day = orders.day WHERE cust IS NOT NULL GROUP BY ord, item.day HAVING sum(qty) > 2) s;
SELECT count(*) FILTER (WHERE paid OR EXISTS (SELECT FROM item i WHERE i.ord = no AND i.day = o.day AND qty > 4)) AS mark,
	count(*) FILTER (WHERE (no, day) IN (SELECT ord, day FROM item WHERE qty = 2)) AS in,
	count(*) FILTER (WHERE NOT EXISTS (SELECT FROM item i WHERE i.ord = no AND i.day = o.day AND qty > 1)) AS anti
FROM orders o WHERE cust IS NOT NULL;
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = '1000000';
SET dp_pg.max_rows = 1000;
SET dp_pg.max_keys = 4;
SELECT dp_count(*), dp_sum(qty) FROM item;
SELECT dp_count(*), dp_sum(stars) FROM mark;
SELECT part, dp_count(*) FROM item GROUP BY part;
-- joined along the path, by all of the key
SELECT city, dp_count(*), dp_sum(qty) FROM item JOIN orders ON ord = no AND item.day = orders.day JOIN customer ON cust = id GROUP BY city;
SELECT dp_count(*), dp_sum(qty) FROM item, (SELECT day AS d, no AS n FROM orders) o WHERE d = day AND ord = n;
SELECT dp_count(*) FROM item a JOIN item b USING (ord, day);
SELECT dp_count(*) FROM item JOIN shipped USING (day, ord);
SELECT dp_count(*), dp_count(paid) FROM item i LEFT JOIN orders o ON ord = no AND i.day = o.day AND paid;
SELECT dp_count(*) FROM orders o WHERE EXISTS (SELECT FROM item i WHERE i.ord = o.no AND i.day = o.day AND qty > 4);
SELECT dp_count(*) AS mark FROM orders o WHERE paid OR EXISTS (SELECT FROM item i WHERE i.ord = o.no AND i.day = o.day AND qty > 4);
SELECT dp_count(*) AS in FROM orders WHERE (no, day) IN (SELECT ord, day FROM item WHERE qty = 2);
SELECT dp_count(*) AS anti FROM orders o WHERE NOT EXISTS (SELECT FROM item i WHERE i.ord = o.no AND i.day = o.day AND qty > 1);
SELECT dp_count(*), dp_count(qty), dp_count(cust) FROM item FULL JOIN orders ON ord = no AND item.day = orders.day AND qty > 1;
WITH x AS (SELECT ord, day FROM item) SELECT dp_count(*) FROM x a JOIN x b USING (ord, day);
SELECT dp_count(*) FROM mark JOIN shipped ON ship = id JOIN orders ON ord = no AND orders.day = shipped.day;
SELECT dp_count(DISTINCT cust) FROM item JOIN orders ON ord = no AND item.day = orders.day;
-- grouped by all of it
SET dp_pg.max_rows = 100;
SELECT dp_count(*), dp_sum(q, 0, 100) FROM (SELECT ord, day, sum(qty) AS q FROM item GROUP BY ord, day HAVING sum(qty) > 2) s;
SET dp_pg.max_rows = 1000;
SELECT dp_count(*) FROM (SELECT row_number() OVER (PARTITION BY day, ord) AS n FROM item) s WHERE n = 1;
SET dp_pg.transparent = on;
SET client_min_messages = error;
SELECT count(*) FROM (SELECT ord, day, sum(qty) AS q FROM item GROUP BY ord, day HAVING sum(qty) > 2) s;
SELECT count(*) FROM item JOIN orders ON ord = no AND item.day = orders.day;
RESET dp_pg.transparent;
RESET client_min_messages;
-- not by a part of it, nor by columns of different rows
SELECT * FROM outcome('SELECT dp_count(*) FROM item JOIN orders ON ord = no');
SELECT * FROM outcome('SELECT dp_count(*) FROM item JOIN orders USING (day)');
SELECT * FROM outcome('SELECT dp_count(*) FROM item a JOIN item b USING (ord)');
SELECT * FROM outcome('SELECT dp_count(*) FROM item i JOIN orders o ON ord = no OR i.day = o.day');
SELECT * FROM outcome('SELECT dp_count(*) FROM item i JOIN orders o ON ord = no AND i.day <= o.day');
SELECT * FROM outcome('SELECT dp_count(*) FROM item i JOIN orders o ON ord = no AND i.day = o.day + 0');
SELECT * FROM outcome('SELECT dp_count(*) FROM item i JOIN orders o ON ord = no LEFT JOIN orders p ON i.day = p.day AND o.cust = p.cust');
SELECT * FROM outcome('SELECT dp_count(*) FROM item i, orders o, orders p WHERE o.cust = p.cust AND ord = o.no AND i.day = p.day');
SELECT * FROM outcome('SELECT dp_count(*) FROM item i JOIN (SELECT o.no, p.day FROM orders o JOIN orders p USING (cust)) s ON ord = no AND i.day = s.day');
SELECT * FROM outcome('SELECT dp_count(*) FROM orders o WHERE (no, day) NOT IN (SELECT ord, day FROM item)');
SELECT * FROM outcome('SELECT dp_count(*) FROM orders a JOIN orders b USING (no, day)');
SELECT * FROM outcome('SELECT dp_count(*) FROM orders o WHERE paid OR EXISTS (SELECT FROM item WHERE ord = no)');
SELECT * FROM outcome('WITH x AS (SELECT no, day, cust FROM orders) SELECT dp_count(*) FROM x a JOIN x b USING (cust) JOIN item ON ord = a.no AND item.day = b.day');
SELECT * FROM outcome('SELECT dp_count(*) FROM mark JOIN item ON ship = ord');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT ord FROM item GROUP BY ord) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT a.ord, b.day FROM item a JOIN item b USING (ord, day) GROUP BY a.ord, b.day) s');
SELECT * FROM outcome('SELECT dp_count(*) FROM (SELECT row_number() OVER (PARTITION BY day) AS n FROM item) s');
-- a person's rows change an answer by no more than is said: all of them go, by
-- what they are behind, and by the rows themselves
SET dp_pg.max_rows = 3;
EXPLAIN (COSTS OFF) SELECT dp_count(*), dp_sum(qty) FROM item;
SELECT dp_count(*) AS n, dp_sum(qty) AS q FROM item \gset
SELECT dp_count(*) AS j FROM item JOIN orders ON ord = no AND item.day = orders.day \gset
RESET ROLE;
SET ROLE :owner;
BEGIN;
UPDATE orders SET cust = NULL WHERE cust = 'c8';
SET LOCAL ROLE :analyst;
SELECT :n - dp_count(*) AS n, :q - dp_sum(qty) BETWEEN 3 AND 30 AS q FROM item;
SELECT :j - dp_count(*) AS j FROM item JOIN orders ON ord = no AND item.day = orders.day;
ROLLBACK;
SET ROLE :owner;
BEGIN;
DELETE FROM item USING orders WHERE ord = no AND item.day = orders.day AND cust = 'c8';
SET LOCAL ROLE :analyst;
SELECT :n - dp_count(*) AS n FROM item;
ROLLBACK;
-- so of each unit: what its rows move at most
RESET ROLE;
CREATE FUNCTION moved(question text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	unit text;
	analyst text := current_setting('regress.dataset') || '_analyst';
	with_all numeric;
	without numeric;
	most numeric := 0;
BEGIN
	PERFORM set_config('role', analyst, true);
	EXECUTE question INTO with_all;
	PERFORM set_config('role', 'none', true);
	FOR unit IN SELECT id FROM customer LOOP
		BEGIN
			UPDATE orders SET cust = NULL WHERE cust = unit;
			PERFORM set_config('role', analyst, true);
			EXECUTE question INTO without;
			RAISE EXCEPTION 'undo';
		EXCEPTION WHEN raise_exception THEN
			most := greatest(most, abs(with_all - without));
		END;
	END LOOP;
	RETURN most;
END $$;
SELECT moved('SELECT dp_count(*) FROM item') AS count,
	moved('SELECT dp_sum(qty) FROM item') <= 30 AS sum,
	moved('SELECT dp_count(*) FROM mark') AS behind_two,
	moved('SELECT dp_count(*) FROM item JOIN orders ON ord = no AND item.day = orders.day') AS joined,
	moved('SELECT dp_count(*) FROM item a JOIN item b USING (ord, day)') AS with_itself,
	moved('SELECT dp_count(*) FROM (SELECT ord, day FROM item GROUP BY ord, day) s') AS grouped;
-- rows of somebody else with one column of the key change nothing
SET ROLE :owner;
BEGIN;
INSERT INTO orders SELECT no, NULL, day + 31, paid FROM orders_1 WHERE day < '2024-01-28' AND cust = 'c8' ON CONFLICT DO NOTHING;
SET LOCAL ROLE :analyst;
SELECT :n - dp_count(*) AS n FROM item;
ROLLBACK;
SET ROLE :analyst;
SET dp_pg.max_rows = 1000;
PREPARE items AS SELECT dp_count(*) FROM item;
EXECUTE items;
RESET ROLE;
SET ROLE :owner;
-- names may change, of any of the columns
ALTER TABLE item RENAME ord TO "Order";
ALTER TABLE item RENAME day TO of_day;
ALTER TABLE orders RENAME day TO "on";
ALTER TABLE orders RENAME no TO number;
SELECT unit, unit_more, unit_more_attnums AS numbers, unit_key, unit_key_more, unit_key_more_attnums AS key_numbers
FROM dp_pg.relation WHERE relid = 'item'::regclass;
SELECT * FROM outcome($$SELECT dp_unprotect('orders')$$);
SELECT * FROM outcome($$SELECT dp_protect('orders', unit => 'number')$$);
SET ROLE :analyst;
EXECUTE items;
SELECT dp_count(*) FROM item JOIN orders ON "Order" = number AND of_day = "on";
RESET ROLE;
SET ROLE :owner;
-- what was declared of contributions stays with the same unit, and no longer
SELECT dp_declare('item', max_rows => 5) \g /dev/null
SELECT dp_protect('item', unit => '("Order", of_day) -> orders.cust') \g /dev/null
SELECT max_rows FROM dp_pg.relation WHERE relid = 'item'::regclass;
-- without all of the key, or another, nothing is answered
ALTER TABLE shipped DROP CONSTRAINT shipped_day_ord_fkey;
ALTER TABLE orders DROP CONSTRAINT orders_pkey;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM item');
SELECT * FROM outcome('EXECUTE items');
SET ROLE :owner;
ALTER TABLE orders ADD UNIQUE (number, "on");
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM item');
SET ROLE :owner;
ALTER TABLE orders ADD extra int NOT NULL DEFAULT 0;
ALTER TABLE orders ADD PRIMARY KEY (number, "on", extra);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM item');
SET ROLE :owner;
ALTER TABLE orders DROP CONSTRAINT orders_pkey;
-- in another order it is the same
ALTER TABLE orders ADD PRIMARY KEY ("on", number);
SET ROLE :analyst;
SELECT dp_count(*) FROM item;
SELECT dp_count(*) FROM mark;
SET ROLE :owner;
ALTER TABLE item ALTER of_day TYPE timestamp;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM item');
SET ROLE :owner;
ALTER TABLE item ALTER of_day TYPE date;
ALTER TABLE item DROP of_day;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM item');
-- columns of one type in another order would give rows to others
RESET ROLE;
SET ROLE :owner;
CREATE TABLE seat (hall int, place int, person int NOT NULL, PRIMARY KEY (hall, place));
CREATE TABLE bill (x int NOT NULL, y int NOT NULL, a bigint NOT NULL, FOREIGN KEY (y, x) REFERENCES seat (hall, place));
INSERT INTO seat SELECT i, j, (i - 1) * 3 + j FROM generate_series(1, 3) i, generate_series(1, 3) j;
INSERT INTO bill SELECT place, hall, 1 FROM seat, generate_series(1, hall) WHERE place = 1;
SELECT dp_protect('seat', unit => 'person', dataset => :'schema') \g /dev/null
\set VERBOSITY default
SELECT dp_protect('bill', unit => '(x, y) -> seat.person', dataset => :'schema');
\set VERBOSITY sqlstate
SELECT dp_protect('bill', unit => '(y, x) -> regress_query_path_several.seat.person', dataset => :'schema') \g /dev/null
SET ROLE :analyst;
SELECT dp_count(DISTINCT person) FROM bill JOIN seat ON y = hall AND x = place WHERE hall > 1;
SELECT * FROM outcome('SELECT dp_count(*) FROM bill JOIN seat ON x = hall AND y = place');
RESET ROLE;
-- rows of a child are in no key of its parent's, as long as there is one
SET ROLE :owner;
CREATE TABLE old_seat () INHERITS (seat);
INSERT INTO old_seat VALUES (3, 1, 999);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM bill');
SET ROLE :owner;
DROP TABLE old_seat;
SET ROLE :analyst;
SELECT dp_count(*) FROM bill;
RESET ROLE;
-- columns of two keys that are mixed give rows to others
SET ROLE :owner;
CREATE TABLE swap (h1 int NOT NULL, p1 int NOT NULL, h2 int NOT NULL, p2 int NOT NULL,
	CONSTRAINT swap_from FOREIGN KEY (h1, p1) REFERENCES seat, CONSTRAINT swap_to FOREIGN KEY (p2, h2) REFERENCES seat (place, hall));
\set VERBOSITY default
SET client_min_messages = notice;
SELECT dp_protect('swap', unit => '(h1, p2) -> seat.person', dataset => :'schema');
SET client_min_messages = warning;
SELECT dp_unprotect('swap') \g /dev/null
SET client_min_messages = notice;
SELECT dp_protect('swap', unit => '(h1, h1) -> seat.person', dataset => :'schema');
SELECT dp_protect('swap', unit => '(h2, p2) -> regress_query_path_several.seat.person', dataset => :'schema');
SET client_min_messages = warning;
\set VERBOSITY sqlstate
RESET ROLE;
-- who refers by varchar or smaller numbers to a key is said to find one row, too
SET ROLE :owner;
CREATE TABLE act (name text, no bigint, person int NOT NULL, PRIMARY KEY (name, no));
CREATE TABLE scene (act varchar(9) NOT NULL, no int NOT NULL, n int NOT NULL);
INSERT INTO act SELECT 'act' || i % 9, i, 1 FROM generate_series(1, 100) i;
INSERT INTO scene SELECT name, no, i FROM act, generate_series(1, 5) i;
SELECT dp_protect('act', unit => 'person', dataset => :'schema'), dp_protect('scene', unit => '(act, no) -> act.person', dataset => :'schema') \g /dev/null
SET ROLE :analyst;
SELECT dp_count(*) FROM (SELECT person, act, s.no, n FROM scene s JOIN act a ON s.act = a.name AND s.no = a.no GROUP BY person, act, s.no, n) g;
SELECT dp_count(*) FROM (SELECT person, act, s.no, n FROM (SELECT act, no::bigint AS no, n FROM scene) s JOIN act a ON a.name = s.act AND a.no = s.no GROUP BY person, act, s.no, n) g;
RESET ROLE;
-- columns of a key that lead on to the unit, or are it, are that key's for who refers to it
SET ROLE :owner;
CREATE TABLE line (hall int, place int, n int, PRIMARY KEY (hall, place, n), FOREIGN KEY (hall, place) REFERENCES seat);
CREATE TABLE part (hall int NOT NULL, place int NOT NULL, n int NOT NULL, what int NOT NULL, FOREIGN KEY (hall, place, n) REFERENCES line);
CREATE TABLE deal (person int, n int, PRIMARY KEY (person, n));
CREATE TABLE bid (person int NOT NULL, n int NOT NULL, FOREIGN KEY (person, n) REFERENCES deal);
INSERT INTO line SELECT hall, place, n FROM seat, generate_series(1, 2) n;
INSERT INTO part SELECT hall, place, n, i FROM line, generate_series(1, n) i;
INSERT INTO deal SELECT person, n FROM generate_series(1, 5) person, generate_series(1, 2) n;
INSERT INTO bid SELECT person, n FROM deal WHERE person > 3;
SELECT dp_protect('line', unit => '(hall, place) -> seat.person', dataset => :'schema') \g /dev/null
SELECT dp_protect('part', unit => '(hall, place, n) -> line.(hall, place) -> seat.person', dataset => :'schema') \g /dev/null
SELECT dp_protect('deal', unit => 'person', dataset => :'schema') \g /dev/null
SELECT dp_protect('bid', unit => '(person, n) -> deal.person', dataset => :'schema') \g /dev/null
SET ROLE :analyst;
SELECT dp_count(*) FROM part JOIN line USING (hall, place, n);
SELECT dp_count(*) FROM part p JOIN line l USING (hall, place, n) JOIN seat s ON l.hall = s.hall AND l.place = s.place;
SELECT dp_count(*) FROM line l WHERE EXISTS (SELECT FROM part p WHERE (p.hall, p.place, p.n) = (l.hall, l.place, l.n) AND what = 2);
SELECT dp_count(*) FROM bid JOIN deal USING (person, n);
SELECT * FROM outcome('SELECT dp_count(*) FROM part JOIN line USING (hall, place)');
SELECT * FROM outcome('SELECT dp_count(*) FROM part JOIN line USING (hall, n)');
SELECT * FROM outcome('SELECT dp_count(*) FROM part p JOIN line l ON p.hall = l.hall AND p.place = l.n AND p.n = l.place');
SELECT * FROM outcome('SELECT dp_count(*) FROM part p JOIN line l ON p.hall = l.hall AND p.place = l.place JOIN line m ON p.n = m.n AND l.hall = m.hall AND l.place = m.place');
SELECT * FROM outcome('SELECT dp_count(*) FROM part p JOIN seat s ON p.hall = s.hall AND p.place = s.place');
SELECT * FROM outcome('SELECT dp_count(*) FROM bid JOIN deal USING (person)');
SELECT * FROM outcome('SELECT dp_count(*) FROM bid JOIN deal USING (n)');
RESET ROLE;
