-- How many rows of a unit count: what is declared and set, and what is refused
-- while nobody says.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test unit_bounds
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set file :abs_srcdir '/sql/include/bound.psql'
\i :file
SET ROLE :owner;
CREATE TABLE customer (id int PRIMARY KEY, town text NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, shop int NOT NULL, cost int NOT NULL, at date NOT NULL);
CREATE TABLE item (of_order int NOT NULL, n int NOT NULL);
CREATE TABLE month (n int, label text);
INSERT INTO customer SELECT i, 't' || i % 2 FROM generate_series(1, 40) i;
INSERT INTO orders SELECT i, 1 + i % 40, i % 3, i % 100, date '2024-01-01' + i FROM generate_series(1, 200) i;
INSERT INTO item SELECT i, 1 FROM generate_series(1, 200) i;
INSERT INTO month SELECT i, 'm' || i FROM generate_series(1, 4) i;
GRANT SELECT ON month TO :analyst;
SET client_min_messages = notice;
-- said before: by dp_protect, dp_describe, dp_audit
SELECT dp_protect('customer', unit => 'id', dataset => :'schema');
SELECT dp_protect('orders', unit => 'customer', dataset => :'schema');
SELECT dp_protect('item', unit => 'of_order -> orders.customer', dataset => :'schema');
SELECT dp_declare('orders', 'shop', keys => ARRAY[0, 1, 2]), dp_declare('orders', 'cost', lower => 0, upper => 50), dp_declare('orders', 'at', lower => date '2024-01-01', upper => date '2024-12-31');
SELECT attribute, note, example FROM dp_describe('orders') WHERE attribute IS NULL OR attribute IN ('customer', 'cost');
SELECT note, example FROM dp_describe('item') WHERE attribute IS NULL;
SELECT * FROM dp_audit() WHERE severity = 'information' AND object ~ 'unit_bounds';
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = '10000';
\set VERBOSITY default
SELECT dp_count(*) FROM orders;
SET dp_pg.transparent = on;
SELECT avg(cost) FROM orders;
RESET dp_pg.transparent;
SELECT dp_count(*) FROM item;
SELECT above FROM dp_sparse_vector('orders', ARRAY['cost > 5'], 10);
\set VERBOSITY sqlstate
-- refused before anything is charged
SELECT q, state, hinted, charges FROM unnest(ARRAY['SELECT dp_count(*) FROM orders', 'EXPLAIN SELECT dp_sum(cost) FROM orders', 'SELECT shop, dp_count(DISTINCT customer) FROM orders GROUP BY shop',
	'SELECT dp_count(DISTINCT shop) FROM orders', 'SELECT dp_sum(DISTINCT customer, 0, 50) FROM orders', 'SELECT dp_count(customer) FROM orders', 'SELECT dp_count(DISTINCT customer), dp_count(*) FROM orders', 'SELECT dp_median(cost) FROM orders',
	'SELECT dp_argmax(''orders'', ARRAY[''cost > 5'', ''cost < 5''])', 'SELECT dp_sparse_vector_open(''orders'', 10)', 'SELECT dp_weights_open(''orders'', ARRAY[''shop''], 5)', 'SELECT * FROM dp_smalldb(''orders'', ARRAY[''shop''], ARRAY[''shop = 1'']) AS t(shop int)',
	'SELECT * FROM dp_synthesize(''orders'', ARRAY[''shop'']) AS t(shop int)', 'SELECT dp_pg.rows_of_unit(''orders'')', 'SELECT dp_count(*) FROM customer, month', 'SELECT dp_count(*) FROM customer c JOIN orders o ON c.id = o.customer',
	'SELECT dp_count(*) FROM (SELECT id FROM customer UNION ALL SELECT customer FROM orders) u']) WITH ORDINALITY AS t(q, i), LATERAL outcome(q) ORDER BY i;
-- what needs none
SELECT q, state, charges FROM unnest(ARRAY['SELECT dp_count(DISTINCT customer) FROM orders', 'SELECT dp_count(DISTINCT CASE WHEN cost > 5 THEN customer END), dp_count(DISTINCT customer) FILTER (WHERE cost > 7) FROM orders',
	'SELECT shop, dp_count(DISTINCT customer) FROM orders WHERE shop = 1 GROUP BY shop', 'SELECT shop, dp_count(*) FROM orders WHERE shop > 2 GROUP BY shop', 'SELECT shop FROM orders GROUP BY shop', 'SELECT dp_count(*) FROM customer',
	'SELECT dp_avg(n, 0, 20) FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer) o', 'SELECT dp_count(*) FROM customer c WHERE EXISTS (SELECT FROM orders o WHERE o.customer = c.id)',
	'SELECT town, dp_count(*) FROM customer WHERE town IN (''t0'', ''t1'') GROUP BY town', 'SELECT dp_predicate_cost(''orders'', ARRAY[''cost > 5''])', 'SELECT dp_argmax(''customer'', ARRAY[''id > 5'', ''id < 5''])']) WITH ORDINALITY AS t(q, i), LATERAL outcome(q) ORDER BY i;
-- each way out of the hint, as it stands
SELECT dp_count(DISTINCT customer) FROM regress_unit_bounds.orders;
SET dp_pg.max_total = 50;
SELECT dp_count(*) FROM orders;
SELECT state FROM outcome('SELECT dp_sparse_vector_open(''orders'', 10)');
SELECT dp_pg.rows_of_unit('orders');
RESET dp_pg.max_total;
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('regress_unit_bounds.orders', max_total => 50) \g /dev/null
SELECT dp_declare('regress_unit_bounds.item', max_total => 50) \g /dev/null
SELECT count(*) FROM dp_audit() WHERE severity = 'information' AND object ~ 'unit_bounds';
SELECT note, example FROM dp_describe('orders') WHERE attribute IS NULL;
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(*) FROM orders;
SELECT dp_count(*) FROM item;
-- what follows from what: T, then groups, then rows in each
CREATE FUNCTION pg_temp.resolved(total int, keys int, rows int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('dp_pg.max_total', total::text, true), set_config('dp_pg.max_keys', keys::text, true), set_config('dp_pg.max_rows', rows::text, true);
	RETURN bound('SELECT shop, dp_count(*) FROM orders GROUP BY shop');
END $$;
SELECT total, keys, rows, pg_temp.resolved(total, keys, rows) FROM (VALUES (0, 0, 0), (20, 0, 0), (0, 2, 0), (0, 0, 4), (7, 2, 4), (1, 3, 5), (2147483647, 2147483647, 2147483647)) t(total, keys, rows);
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('orders', max_keys => 2) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT total, keys, rows, pg_temp.resolved(total, keys, rows) FROM (VALUES (0, 0, 0), (20, 0, 0), (0, 3, 0), (0, 0, 4)) t(total, keys, rows);
RESET dp_pg.max_total;
RESET dp_pg.max_keys;
RESET dp_pg.max_rows;
-- without a group; of people; of what several relations make; of arms, one of which has one row of each
SELECT q, bound('SELECT ' || q) FROM unnest(ARRAY['dp_count(*) FROM orders', 'dp_count(DISTINCT customer) FROM orders', 'shop, dp_count(DISTINCT customer) FROM orders GROUP BY shop', 'dp_count(*) FROM orders o JOIN customer c ON c.id = o.customer',
	'dp_count(*) FROM (SELECT id FROM customer UNION ALL SELECT customer FROM orders) u', 'dp_count(*) FROM (SELECT customer FROM orders UNION ALL SELECT customer FROM orders) u']) WITH ORDINALITY AS t(q, i) ORDER BY i;
SELECT dp_count(*), dp_count(DISTINCT customer) FROM orders \g /dev/null
SELECT value, max_total, max_keys, max_rows FROM dp_last_release();
SELECT dp_count(*) FROM customer \g /dev/null
SELECT value, max_total, max_keys, max_rows FROM dp_last_release();
-- a reading takes the total, and a session keeps its own
SELECT dp_pg.rows_of_unit('orders'), dp_pg.rows_of_unit('customer');
SET dp_pg.max_total = 7; SET dp_pg.max_rows = 2;
SELECT dp_argmax('orders', ARRAY['cost >= 0', 'cost < 0']);
SELECT sensitivity, max_total, max_keys, max_rows FROM dp_last_release();
RESET dp_pg.max_total; RESET dp_pg.max_rows;
-- what a subquery reads
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM orders WHERE cost < (SELECT max(n) FROM month);
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM orders WHERE cost < (SELECT dp_count(*) FROM customer);
-- joined rows beyond the bounds: once for a query
\set VERBOSITY default
SET client_min_messages = notice;
SET dp_pg.max_total = 2;
SELECT label, dp_count(*) IS NOT NULL FROM orders, month GROUP BY label HAVING dp_count(*) < 0;
SELECT label, dp_count(*) IS NOT NULL FROM orders, month GROUP BY label HAVING dp_count(*) < 0;
SET dp_pg.max_total = 4; SET dp_pg.max_keys = 4;
SELECT label, dp_count(1, 0.5) IS NOT NULL FROM orders, month GROUP BY label HAVING dp_count(*) < 0;
RESET dp_pg.max_total;
RESET dp_pg.max_keys;
-- what WHERE asks for and declared bounds leave out: once for a relation
SELECT dp_sum(cost) > 0 FROM orders WHERE cost <= 50;
SELECT dp_sum(cost) > 0, dp_avg(cost, 0, 100) > 50 FROM orders WHERE cost > 50;
SELECT dp_sum(cost) > 0 FROM orders WHERE cost > 60;
\c -
SET search_path = regress_unit_bounds, public;
SET SESSION AUTHORIZATION :analyst;
SELECT date_trunc('month', at), dp_count(*) FROM orders WHERE at >= '2025-01-01' GROUP BY 1;
\c -
SET search_path = regress_unit_bounds, public;
SET SESSION AUTHORIZATION :analyst;
PREPARE p(int) AS SELECT dp_sum(cost, 5) IS NOT NULL AS told FROM orders WHERE cost > $1;
EXECUTE p(20);
EXECUTE p(70);
SELECT dp_sum(cost, 0, 100) IS NOT NULL AS written FROM orders WHERE cost > 70;
-- rows of two tables multiply, where none determines the other's; the hint is silent
SELECT dp_count(*) IS NOT NULL AS told FROM orders a JOIN orders b USING (customer);
SELECT dp_count(*) IS NOT NULL AS told FROM orders a JOIN orders b USING (customer);
SELECT dp_count(*) IS NOT NULL AS looked_up FROM orders o JOIN item i ON i.of_order = o.id;
SELECT dp_count(DISTINCT customer) IS NOT NULL AS people FROM orders a JOIN orders b USING (customer) WHERE a.cost > 5;
SET dp_pg.max_total = 2500;
SELECT dp_count(*) IS NOT NULL AS all_count FROM orders a JOIN orders b USING (customer) WHERE b.cost > 5;
RESET dp_pg.max_total;
RESET SESSION AUTHORIZATION;
-- numbers out of range
SET SESSION AUTHORIZATION :owner;
\set VERBOSITY sqlstate
SELECT dp_declare('orders', max_total => -1);
SELECT dp_declare('orders', max_total => 2147483648);
SELECT dp_declare('orders', NULL, NULL, NULL);
SELECT dp_protect('orders', unit => 'customer', max_total => -1);
SET dp_pg.max_total = -1;
-- another unit forgets what was declared, but what is given with it
SET client_min_messages = error;
SELECT dp_unprotect('item'), dp_protect('orders', unit => 'shop') \g /dev/null
SELECT max_total, max_keys, max_rows FROM dp_pg.relation WHERE relid = 'orders'::regclass;
SELECT dp_protect('orders', unit => 'customer', max_total => 9) \g /dev/null
SELECT max_total, max_keys, max_rows FROM dp_pg.relation WHERE relid = 'orders'::regclass;
RESET SESSION AUTHORIZATION;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
