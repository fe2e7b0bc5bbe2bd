-- Units behind keys: rows have the unit of the row of another protected
-- relation whose primary key they refer to, through several steps.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_path
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
-- eight steps may need more than the default
SET dp_pg.reader_memory = '2GB';

SET ROLE :owner;
CREATE TABLE customer (id int PRIMARY KEY, city text NOT NULL);
INSERT INTO customer SELECT i, 'city' || i % 3 FROM generate_series(1, 100) i;
CREATE TABLE orders (gone int, okey bigint PRIMARY KEY, cust int, day date NOT NULL, name varchar UNIQUE NOT NULL);
INSERT INTO orders SELECT 0, i, nullif(1 + i * 7 % 101, 101), date '2024-01-01' + i % 60, 'o' || i FROM generate_series(1, 500) i;
ALTER TABLE orders DROP gone;
CREATE TABLE line (ord int, qty int NOT NULL, part text NOT NULL, gone int);
INSERT INTO line SELECT nullif(1 + i % 520, 3), i % 10, 'part' || i % 4 FROM generate_series(1, 3000) i;
ALTER TABLE line DROP gone;
CREATE TABLE event (id int, line_no int);
CREATE TABLE numbered (line_no int PRIMARY KEY, ord int NOT NULL);
INSERT INTO numbered SELECT i, 1 + i % 510 FROM generate_series(1, 1000) i;
INSERT INTO event SELECT i, 1 + i % 1100 FROM generate_series(1, 2000) i;
CREATE TABLE part (part text PRIMARY KEY, kind text NOT NULL);
INSERT INTO part SELECT 'part' || i, 'kind' || i % 2 FROM generate_series(0, 3) i;
GRANT SELECT ON part TO :analyst;
-- a path leads to what is protected in the dataset, by its primary key
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord -> orders.cust', dataset => 'regress_query_path')$$);
SELECT dp_protect('customer', unit => 'id', dataset => :'schema') \g /dev/null
SELECT dp_protect('orders', unit => 'cust', dataset => :'schema') \g /dev/null
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord -> orders.day')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord -> orders')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord, part -> orders.cust')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord ->')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => '-> orders.cust')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'part -> orders.cust')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'nothing -> orders.cust')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord -> nowhere.cust')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord -> part.kind')$$);
SELECT * FROM outcome($$SELECT dp_protect('line', unit => 'ord -> orders.cust -> customer.id')$$);
SELECT * FROM outcome($$SELECT dp_protect('orders', unit => 'cust -> orders.cust')$$);
SELECT dp_protect('line', unit => 'ord -> orders.cust', dataset => :'schema') \g /dev/null
SELECT dp_protect('numbered', unit => ' ord->orders . cust', dataset => :'schema') \g /dev/null
SELECT dp_protect('event', unit => 'line_no -> numbered.ord -> regress_query_path.orders.cust', dataset => :'schema') \g /dev/null
SELECT relid, unit, unit_through FROM dp_pg.relation WHERE dataset = :'schema' ORDER BY relid::text;
SELECT * FROM outcome($$SELECT dp_protect('orders', unit => 'cust -> numbered.ord')$$);
SELECT dp_declare('customer', 'city', keys => ARRAY['city0', 'city1', 'city2']) \g /dev/null
SELECT dp_declare('line', 'qty', lower => 0, upper => 10) \g /dev/null
SELECT dp_declare('line', 'part', keys => ARRAY['part0', 'part1', 'part2', 'part3']) \g /dev/null
-- what the owner's own queries say
SELECT count(*), sum(qty), count(DISTINCT cust) FROM line JOIN orders ON ord = okey WHERE cust IS NOT NULL;
SELECT count(*) FROM event JOIN numbered USING (line_no) JOIN orders ON ord = okey WHERE cust IS NOT NULL;
SELECT city, count(*), sum(qty) FROM line JOIN orders ON ord = okey JOIN customer ON cust = customer.id GROUP BY city ORDER BY city;
SELECT count(*) FROM line a JOIN line b ON a.ord = b.ord JOIN orders ON a.ord = okey WHERE cust IS NOT NULL;
SELECT count(*) FROM (SELECT cust FROM line JOIN orders ON ord = okey WHERE cust IS NOT NULL GROUP BY cust HAVING sum(qty) > 130) s;
SELECT count(*), sum(q), sum(n) FROM (SELECT ord, sum(qty) AS q, count(*) AS n FROM line JOIN orders ON ord = okey WHERE cust IS NOT NULL GROUP BY ord HAVING sum(qty) > 25) s;
SELECT city, count(*) FROM (SELECT ord, cust, part FROM line JOIN orders ON ord = okey WHERE cust IS NOT NULL GROUP BY ord, cust, part) s JOIN customer ON id = cust GROUP BY city ORDER BY city;
SELECT count(DISTINCT ord) FROM line JOIN orders ON ord = okey WHERE cust IS NOT NULL;
SELECT count(*), sum(n) FROM (SELECT line_no, count(*) AS n FROM event JOIN numbered USING (line_no) JOIN orders ON ord = okey WHERE cust IS NOT NULL GROUP BY line_no) s;
RESET ROLE;

SET ROLE :analyst;
SET dp_pg.epsilon = '1000000';
SET dp_pg.max_rows = 1000;
SET dp_pg.max_keys = 4;
-- one relation, with its unit found
SELECT dp_count(*), dp_sum(qty) FROM line;
SELECT part, dp_count(*) FROM line WHERE qty > 4 GROUP BY part;
SELECT dp_count(*) FROM event;
SELECT dp_count(DISTINCT ord) FROM line;
SELECT kind, dp_count(*) FROM line JOIN part USING (part) GROUP BY kind;
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM line;
-- joined along the path
SELECT city, dp_count(*), dp_sum(qty) FROM line JOIN orders ON ord = okey JOIN customer ON cust = customer.id WHERE city IS NOT NULL GROUP BY city;
SELECT city, dp_count(*) FROM event e, numbered n, orders o, customer c WHERE e.line_no = n.line_no AND n.ord = o.okey AND o.cust = c.id GROUP BY city;
SELECT dp_count(*) FROM line a JOIN line b ON a.ord = b.ord;
SELECT dp_count(*) FROM line l JOIN numbered n ON l.ord = n.ord;
SELECT dp_count(*), dp_count(day) FROM line LEFT JOIN orders ON ord = okey AND day < '2024-01-31';
SELECT dp_count(*) FROM (SELECT ord AS o, qty FROM line WHERE qty > 8) l JOIN (SELECT okey AS k, cust FROM orders) o ON l.o = o.k JOIN customer c ON c.id = o.cust;
-- a person's rows are not as many as the product of those of two tables on a path
RESET ROLE;
SET ROLE :owner;
CREATE TABLE many (k int PRIMARY KEY, cust int);
CREATE TABLE detail (k int);
INSERT INTO many SELECT i, i % 10 FROM generate_series(1, 3000) i;
INSERT INTO detail SELECT 1 + i % 3000 FROM generate_series(1, 15000) i;
SELECT dp_protect('many', unit => 'cust', dataset => :'schema') \g /dev/null
SELECT dp_protect('detail', unit => 'k -> many.cust', dataset => :'schema') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.max_rows = 2000;
SELECT dp_count(*) FROM detail JOIN many USING (k);
SELECT dp_count(*), dp_count(cust) FROM detail LEFT JOIN many ON many.k = detail.k AND cust < 5;
SELECT dp_count(*) FROM (SELECT cust FROM many WHERE cust = 5 GROUP BY cust) s;
SET dp_pg.max_rows = 1000;
-- grouped by the unit
SELECT dp_count(*) FROM (SELECT cust FROM line JOIN orders ON ord = okey GROUP BY cust HAVING sum(qty) > 130) s;
SELECT dp_count(DISTINCT cust) FROM line JOIN orders ON ord = okey;
SELECT charges FROM spent();
-- grouped by the first step of the path, below: each group is of one unit
SET dp_pg.max_rows = 200;	-- for sums, a scale of .02
SELECT dp_count(*), dp_sum(q, 0, 100), dp_sum(n, 0, 100) FROM (SELECT ord, sum(qty) AS q, count(*) AS n FROM line GROUP BY ord HAVING sum(qty) > 25) s;
SELECT dp_count(*) FROM orders WHERE okey IN (SELECT ord FROM line GROUP BY ord HAVING sum(qty) > 25);
SELECT dp_count(*) FROM orders JOIN (SELECT ord, count(*) AS n FROM line GROUP BY ord HAVING sum(qty) > 25) s ON okey = ord AND n > 0;
SELECT city, dp_count(*) FROM customer c JOIN orders ON cust = c.id JOIN (SELECT DISTINCT ord, part FROM line) s ON ord = okey GROUP BY city;
SELECT dp_count(*), dp_sum(n, 0, 100) FROM (SELECT line_no, count(*) AS n FROM event GROUP BY line_no) s;
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM (SELECT ord FROM line GROUP BY ord) s;
SET dp_pg.transparent = on;
SET client_min_messages = error;
SELECT count(*) FROM (SELECT ord, sum(qty) AS q FROM line GROUP BY ord HAVING sum(qty) > 25) s WHERE q < 100;
SELECT count(*) FROM orders WHERE okey IN (SELECT ord FROM line GROUP BY ord HAVING sum(qty) > 25);
RESET dp_pg.transparent;
RESET client_min_messages;
-- twice, one above the other, and joined
SELECT dp_count(*) FROM (SELECT ord FROM (SELECT ord, part FROM line GROUP BY ord, part) a GROUP BY ord) b;
SELECT dp_count(*) FROM (SELECT DISTINCT ord FROM (SELECT ord, part FROM line GROUP BY ord, part) a JOIN orders ON ord = okey) b;
SELECT dp_count(*) FROM (SELECT DISTINCT ord FROM (SELECT line_no, ord FROM numbered GROUP BY line_no) a) b;
SET dp_pg.transparent = on;
SET client_min_messages = error;
SELECT count(*) FROM (SELECT ord FROM (SELECT ord, part FROM line GROUP BY ord, part) a GROUP BY ord) b;
RESET dp_pg.transparent;
RESET client_min_messages;
-- not where it may be NULL, and by nothing else
SELECT dp_count(*) FROM (SELECT ord FROM orders LEFT JOIN line ON ord = okey GROUP BY ord) s;
SELECT dp_count(*) FROM (SELECT part FROM line GROUP BY part) s;
SELECT dp_count(*) FROM (SELECT okey FROM orders GROUP BY okey) s;
SELECT dp_count(*) FROM (SELECT abs(ord) FROM line GROUP BY 1) s;
-- not along it: a value of the key in another column, or another key
SELECT * FROM outcome('SELECT dp_count(*) FROM customer JOIN line ON ord = customer.id');
SELECT * FROM outcome('SELECT dp_count(*) FROM event JOIN orders ON line_no = okey');
SELECT * FROM outcome('SELECT dp_count(*) FROM event JOIN line ON line_no = ord');
SELECT * FROM outcome('SELECT dp_count(*) FROM orders a JOIN orders b ON a.okey = b.okey');
SELECT * FROM outcome('SELECT dp_count(*) FROM line JOIN orders ON ord + 0 = okey');
SELECT * FROM outcome('SELECT dp_count(*) FROM line JOIN orders ON ord <= okey');
SELECT * FROM outcome('SELECT dp_count(*) FROM line LEFT JOIN orders ON qty = 1 WHERE ord = okey');
-- more than sixteen keys
SELECT * FROM outcome('SELECT dp_count(*) FROM numbered NATURAL JOIN event a NATURAL JOIN event b NATURAL JOIN event c NATURAL JOIN event d NATURAL JOIN event e NATURAL JOIN event f NATURAL JOIN event g NATURAL JOIN event h');
-- a list of predicates is bounded, and so are the questions of a session
SELECT * FROM outcome($$SELECT dp_argmax('line', ARRAY['qty > 1', 'qty > 2'])$$);
SELECT * FROM outcome($$SELECT dp_sparse_vector_open('line', 10.0, 1)$$);
SELECT charges FROM spent();
-- a prepared plan follows
PREPARE lines AS SELECT dp_count(*) FROM line;
EXECUTE lines;
RESET ROLE;

SET ROLE :owner;
-- what is behind stays while a path leads there
SELECT * FROM outcome($$SELECT dp_unprotect('orders')$$);
SELECT * FROM outcome($$SELECT dp_protect('orders', unit => 'okey')$$);
SELECT * FROM outcome($$SELECT dp_declare('line', 'part', immutable => true)$$);
-- the same numbers, counted another way; none for an owner of only some of the tables
CREATE FUNCTION counted() RETURNS TABLE (what text, bound bigint, kept bool) LANGUAGE sql AS $$
	WITH part AS (SELECT cust AS u, upper(part) AS k, count(*) AS n FROM line JOIN orders ON ord = okey WHERE cust IS NOT NULL GROUP BY 1, 2),
		unit AS (SELECT sum(n) AS total, count(*) AS groups, max(n) AS most FROM part GROUP BY u)
	SELECT b.what, b.bound, round(b.units_kept::numeric, 9) = round((SELECT avg((CASE b.what WHEN 'max_total' THEN total WHEN 'max_keys' THEN groups ELSE most END <= b.bound)::int) FROM unit), 9)
		AND round(b.rows_kept::numeric, 9) = round(CASE b.what WHEN 'max_total' THEN (SELECT sum(least(total, b.bound)) / sum(total) FROM unit)
			WHEN 'max_keys' THEN (SELECT sum(total * least(1, b.bound::numeric / groups)) / sum(total) FROM unit) ELSE (SELECT sum(least(n, b.bound)) / sum(n) FROM part) END, 9)
	FROM dp_suggest_bounds('line', ARRAY['upper(part)']) b $$;
SELECT what, count(*), bool_and(kept) FROM counted() GROUP BY 1 ORDER BY 1;
SELECT count(*) > 1 AS deeper FROM dp_suggest_bounds('event');
RESET ROLE;
ALTER TABLE orders OWNER TO :analyst;
SET ROLE :owner;
SELECT * FROM outcome($$SELECT * FROM dp_suggest_bounds('line')$$);
RESET ROLE;
ALTER TABLE orders OWNER TO :owner;
SET ROLE :owner;
-- a view that is older than a column
CREATE VIEW short WITH (security_invoker) AS SELECT ord, qty FROM line;
GRANT SELECT ON short TO :analyst;
-- names and orders of columns may change
ALTER TABLE line RENAME ord TO order_no;
ALTER TABLE orders RENAME okey TO number;
ALTER TABLE line ADD extra int;
SELECT relid, unit, unit_through FROM dp_pg.relation WHERE relid = 'line'::regclass;
UPDATE orders SET cust = 5 WHERE cust = 6;
DELETE FROM line WHERE order_no = 7;
SELECT count(*), count(DISTINCT cust) FROM line JOIN orders ON order_no = number WHERE cust IS NOT NULL;
SET ROLE :analyst;
EXECUTE lines;
SELECT dp_count(*), dp_sum(qty) FROM short;
SELECT dp_count(*) FROM short JOIN orders ON ord = number;
SELECT dp_count(*), dp_count(DISTINCT cust) FROM line JOIN orders ON order_no = number;
-- row security hides rows of the relation, not whose they are
RESET ROLE;
SET ROLE :owner;
CREATE POLICY few ON orders TO :analyst USING (day < '2024-01-05');
ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
SET ROLE :analyst;
SELECT dp_count(*) FROM line;
SELECT dp_count(*) < 1000 AS hidden FROM line JOIN orders ON order_no = number;
RESET ROLE;
SET ROLE :owner;
ALTER TABLE orders DISABLE ROW LEVEL SECURITY;
-- without the key, or what it is behind, nothing is answered
ALTER TABLE orders DROP CONSTRAINT orders_pkey;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM line');
SELECT * FROM outcome('EXECUTE lines');
RESET ROLE;
SET ROLE :owner;
ALTER TABLE orders ADD PRIMARY KEY (number) DEFERRABLE;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM line');
RESET ROLE;
SELECT object, finding, remedy FROM dp_audit() WHERE finding ~ 'primary key .* gone' ORDER BY object COLLATE "C";
SET ROLE :owner;
ALTER TABLE orders DROP CONSTRAINT orders_pkey;
ALTER TABLE orders ADD PRIMARY KEY (number);
SET ROLE :analyst;
SELECT dp_count(*) FROM line;
RESET ROLE;
SELECT object, finding, remedy FROM dp_audit() WHERE finding ~ 'primary key .* gone' ORDER BY object COLLATE "C";
SET ROLE :owner;
DROP TABLE orders;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM line');
SELECT * FROM outcome('SELECT dp_count(*) FROM event');
SELECT charges FROM spent();
RESET ROLE;
-- who asks need not see the schema of what is behind
CREATE SCHEMA regress_query_path_far AUTHORIZATION :owner;
SET ROLE :owner;
CREATE TABLE regress_query_path_far.visit (id int PRIMARY KEY, person int);
INSERT INTO regress_query_path_far.visit SELECT i, i % 5 FROM generate_series(1, 10) i;
CREATE TABLE bill (visit int, other int);
INSERT INTO bill SELECT 1 + i % 11, i FROM generate_series(1, 110) i;
SELECT dp_protect('regress_query_path_far.visit', unit => 'person', dataset => :'schema') \g /dev/null
SELECT dp_protect('bill', unit => 'visit -> regress_query_path_far.visit.person', dataset => :'schema') \g /dev/null
SET ROLE :analyst;
SELECT dp_count(*) FROM bill;
RESET ROLE;
-- a path of the same names elsewhere is another one
SET ROLE :owner;
CREATE TABLE visit (id int PRIMARY KEY, person int);
CREATE TABLE item (bill int, visit int);
CREATE TABLE bill_now () INHERITS (bill);
SELECT dp_protect('visit', unit => 'person', dataset => :'schema') \g /dev/null
SELECT * FROM outcome($$SELECT dp_protect('bill_now', unit => 'visit -> visit.person', dataset => 'regress_query_path')$$);
DROP TABLE bill_now;
ALTER TABLE bill ADD PRIMARY KEY (other);
SELECT dp_protect('item', unit => 'bill -> bill.visit', dataset => :'schema') \g /dev/null
SELECT * FROM outcome($$SELECT dp_protect('bill', unit => 'visit -> visit.person')$$);
SELECT dp_unprotect('item') \g /dev/null
-- the key is the one that it was
ALTER TABLE regress_query_path_far.visit ADD number int UNIQUE;
UPDATE regress_query_path_far.visit SET number = 11 - id;
ALTER TABLE regress_query_path_far.visit DROP CONSTRAINT visit_pkey, ADD PRIMARY KEY (number);
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM bill');
SET ROLE :owner;
SELECT dp_protect('bill', unit => 'visit -> regress_query_path_far.visit.person') \g /dev/null
SET ROLE :analyst;
SELECT dp_count(*) FROM bill;
SET ROLE :owner;
ALTER TABLE regress_query_path_far.visit RENAME number TO visit;
SELECT relid, unit, unit_through, unit_key FROM dp_pg.relation WHERE relid = 'bill'::regclass;
SET ROLE :analyst;
SELECT dp_count(*) FROM bill;
-- and of the same type, which bytes tell apart
SET ROLE :owner;
ALTER TABLE regress_query_path_far.visit ALTER visit TYPE date USING date '2000-01-01' + visit;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM bill');
SET ROLE :owner;
ALTER TABLE regress_query_path_far.visit ALTER visit TYPE int[] USING ARRAY[visit - date '2000-01-01'];
ALTER TABLE bill ALTER visit TYPE int[] USING ARRAY[visit];
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM bill');
-- a path has 8 steps at most, and the longest one is followed
SET ROLE :owner;
CREATE TABLE step0 (id int PRIMARY KEY, up int NOT NULL);
INSERT INTO step0 SELECT i, i % 5 FROM generate_series(1, 10) i;
SELECT dp_protect('step0', unit => 'up', dataset => :'schema') \g /dev/null
SELECT format('CREATE TABLE step%1$s (id int PRIMARY KEY, up int NOT NULL)', i),
	format('INSERT INTO step%1$s SELECT id, 11 - id FROM step0', i),
	format('SELECT state FROM outcome($$SELECT dp_protect(''step%s'', unit => ''up -> step%s.up'', dataset => %L)$$)', i, i - 1, :'schema')
FROM generate_series(1, 9) i \gexec
SET ROLE :analyst;
SELECT dp_count(*) FROM step8;
RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA regress_query_path_far CASCADE;
RESET client_min_messages;
SET ROLE :analyst;
DEALLOCATE lines;
RESET dp_pg.epsilon;
RESET dp_pg.max_rows;
RESET dp_pg.max_keys;
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
