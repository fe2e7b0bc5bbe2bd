-- dp_pg.bounds = measure: a query measures how many rows of a unit count, for a
-- quarter of its price.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_measure
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set ECHO none
CREATE FUNCTION measured(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Contribution|Measured|Charge|Answer' THEN RETURN NEXT btrim(line); END IF;
	END LOOP;
END $$;
\set ECHO all
SET ROLE :owner;
CREATE TABLE customer (id int PRIMARY KEY, town text NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, shop int NOT NULL, cost int NOT NULL, word text NOT NULL);
CREATE TABLE item (of_order int NOT NULL, n int NOT NULL);
CREATE TABLE label (shop int, name text);
-- 400 customers with 1 to 4 orders, and 20 with 24
INSERT INTO customer SELECT i, 't' || i % 2 FROM generate_series(1, 420) i;
INSERT INTO orders SELECT row_number() OVER (), i, j % 3, j, 'w' || j % 2 FROM generate_series(1, 420) i, generate_series(1, CASE WHEN i > 400 THEN 24 ELSE 1 + i % 4 END) j;
INSERT INTO item SELECT id, n FROM orders, generate_series(1, 2) n;
INSERT INTO label VALUES (0, 'a'), (1, 'b'), (1, 'c'), (2, 'd');
GRANT SELECT ON label TO :analyst;
SELECT dp_protect('customer', unit => 'id', dataset => :'schema'), dp_protect('orders', unit => 'customer', dataset => :'schema'), dp_protect('item', unit => 'of_order -> orders.customer', dataset => :'schema') \g /dev/null
SELECT dp_declare('orders', 'shop', keys => ARRAY[0, 1, 2]), dp_declare('orders', 'cost', lower => 0, upper => 50) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(*) FROM orders;
SET dp_pg.bounds = measure;
-- the truth, for two charges that add up to the price
SELECT * FROM spent() \g /dev/null
SELECT dp_count(*) = (1 + 2 + 3 + 4) * 100 + 20 * 24 AS all FROM orders;
SELECT * FROM spent();
SELECT value, mechanism, epsilon, sensitivity, max_total, max_keys, max_rows FROM dp_last_release();
-- shown before, of one row of a unit, and after
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM orders;
SELECT measured('SELECT dp_count(*) FROM orders');
SELECT measured('SELECT dp_count(*) FROM orders WHERE customer <= 400');
SELECT measured('SELECT shop, dp_count(*), dp_sum(cost), dp_avg(cost) FROM orders GROUP BY shop');
-- more than four values: measuring costs no more than the costliest value
SELECT * FROM spent() \g /dev/null
SELECT dp_count(*), dp_sum(cost), dp_avg(cost) > 5 AS mean, dp_median(cost) > 1 AS median, dp_variance(cost) > 40 AS variance, dp_max(cost) > 0 AS most FROM orders;
SELECT epsilon FROM dp_pg.ledger WHERE dataset = :'schema' ORDER BY id DESC LIMIT 2;
-- the least that is seen of a unit: WHERE, FILTER, joins, UNION ALL, groups, keys
SELECT measured('SELECT dp_count(*) FROM orders WHERE cost <= 3');
SELECT measured('SELECT dp_count(*) FILTER (WHERE cost = 1), dp_count(*) FILTER (WHERE cost = 2) FROM orders');
SELECT measured('SELECT dp_count(*) FILTER (WHERE cost = 1), dp_count(*) FROM orders');
SELECT measured('SELECT name, dp_count(*) FROM orders JOIN label USING (shop) GROUP BY name');
SELECT measured('SELECT dp_count(*) FROM item');
SELECT measured('SELECT shop, dp_count(*) FROM orders JOIN customer c ON c.id = customer WHERE cost = 1 GROUP BY shop');
SELECT measured('SELECT dp_count(*) FROM (SELECT customer FROM orders WHERE cost = 1 UNION ALL SELECT customer FROM orders WHERE cost = 2) u');
SELECT measured('SELECT dp_sum(n, 0, 10) FROM (SELECT shop, count(*) AS n FROM orders GROUP BY customer, shop) s');
SELECT name, dp_count(*) FROM orders JOIN label USING (shop) GROUP BY name ORDER BY name;
SET dp_pg.delta = '1e-9';
SELECT word, dp_count(*) FROM orders GROUP BY word ORDER BY word;
SELECT value, epsilon, delta, max_total, max_keys FROM dp_last_release();
RESET dp_pg.delta;
SELECT dp_argmax('orders', ARRAY['cost = 1', 'cost = 2']);
SELECT value, max_total FROM dp_last_release();
-- not where nothing is missing: set, declared, one row of a unit, people
SELECT * FROM spent() \g /dev/null
SELECT dp_count(DISTINCT customer) FROM orders;
SELECT dp_count(*) FROM customer;
SELECT dp_count(*) FROM (SELECT customer FROM orders GROUP BY customer) g;
SET dp_pg.max_total = 24;
SELECT dp_count(*) FROM orders;
RESET dp_pg.max_total;
SET dp_pg.max_rows = 24;
SELECT dp_count(*) FROM orders;
RESET dp_pg.max_rows;
SELECT shop FROM orders GROUP BY shop;
SELECT * FROM spent();
-- a bound on groups alone is kept
SET dp_pg.max_keys = 2;
SELECT measured('SELECT shop, dp_count(*) FROM orders GROUP BY shop');
RESET dp_pg.max_keys;
-- where bounds are not measured: refused before anything is charged
\set VERBOSITY default
SELECT dp_count(*) FROM orders WHERE cost < (SELECT dp_avg(cost) FROM orders);
\set VERBOSITY sqlstate
SELECT q, state, hinted, charges FROM unnest(ARRAY['SELECT dp_count(*) FROM orders WHERE cost < (SELECT dp_avg(cost) FROM orders)',
	'EXPLAIN SELECT dp_count(*) FROM orders WHERE cost < (SELECT dp_avg(cost) FROM orders)',
	'WITH a AS (SELECT shop, dp_count(*) AS n FROM orders GROUP BY shop) SELECT dp_count(*) FROM orders JOIN a USING (shop) WHERE n > 10',
	'SELECT above FROM dp_sparse_vector(''orders'', ARRAY[''cost > 5''], 10)',
	'SELECT shop FROM dp_synthesize(''orders'', ARRAY[''shop''], 1) AS (shop int)']) q, outcome(q);
SELECT dp_count(*) FROM orders WHERE cost < (SELECT count(*) FROM label);
-- a plan keeps no bound: each execution measures its own
PREPARE below(int) AS SELECT dp_count(*) FROM orders WHERE cost <= $1;
SELECT measured('EXECUTE below(1)') LIMIT 1;
SELECT measured('EXECUTE below(24)') LIMIT 1;
SET plan_cache_mode = force_generic_plan;
SELECT measured('EXECUTE below(2)') LIMIT 1;
SELECT measured('EXECUTE below(1)') LIMIT 1;
RESET plan_cache_mode;
\set again 'SELECT dp_count(*) FROM orders WHERE customer > 400;'
SELECT * FROM spent() \g /dev/null
:again
:again
:again
:again
SELECT * FROM spent();
SET dp_pg.bounds = auto;
:again
SET dp_pg.bounds = measure;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT shop, dp_count(*) FROM orders GROUP BY shop ORDER BY shop;
FETCH 1 FROM c;
MOVE BACKWARD ALL IN c;
FETCH ALL FROM c;
COMMIT;
SELECT * FROM spent();
-- stored answers: asked again they cost nothing, and have the bound of then
SET dp_pg.reuse = '1 hour';
SELECT measured('SELECT dp_count(*) FROM orders WHERE cost > 1');
SELECT measured('SELECT dp_count(*) FROM orders WHERE cost > 1');
SELECT * FROM spent();
\set stored 'SELECT dp_count(*) FROM orders WHERE cost > 2;'
:stored
:stored
:stored
SELECT * FROM spent();
-- the numbers of units are stored, too, for other values of the same rows
SELECT measured('SELECT dp_sum(cost) FROM orders WHERE cost > 2');
SELECT * FROM spent();
RESET dp_pg.reuse;
-- a quarter of delta must be something
BEGIN;
SET LOCAL dp_pg.mechanism = gaussian;
SET LOCAL dp_pg.delta = '3e-24';
SELECT dp_count(*) FROM orders;
COMMIT;
-- transparent mode: the price of the query is divided as without
SET dp_pg.transparent = on;
SET dp_pg.reuse = off;
SELECT shop, count(*), avg(cost) > 0 AS above FROM orders GROUP BY shop ORDER BY shop;
SELECT * FROM spent();
RESET dp_pg.reuse;
RESET dp_pg.transparent;
-- Gaussian noise, and neighbours that replace one unit
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = '1e-6';
SELECT dp_count(*) BETWEEN 1400 AND 1560 AS near FROM orders;
SELECT value, mechanism, max_total FROM dp_last_release();
RESET dp_pg.mechanism;
RESET dp_pg.delta;
RESET ROLE;
SET ROLE :owner;
CREATE TABLE swapped AS SELECT * FROM orders;
SELECT dp_protect('swapped', unit => 'customer', dataset => :'schema' || '_swap') \g /dev/null
SELECT dp_neighbours(:'schema' || '_swap', 'replace_one'), dp_grant(:'analyst', :'schema' || '_swap', epsilon => 1e9), dp_declare('swapped', 'shop', keys => ARRAY[0, 1, 2]) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT measured('SELECT shop, dp_count(*) FROM swapped GROUP BY shop');
-- a budget that does not admit both pays neither
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', :'schema' || '_swap', epsilon => 1500000) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT value FROM dp_last_release() \g /dev/null
SELECT state, hinted FROM outcome('SELECT dp_count(*) FROM swapped');
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM swapped;
RESET ROLE;
SELECT count(*), sum(epsilon) FROM dp_pg.ledger WHERE dataset = :'schema' || '_swap';
SET ROLE :owner;
SELECT dp_grant(:'analyst', :'schema' || '_swap', epsilon => 2000000) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT dp_count(*) FROM swapped;
SELECT state, hinted FROM outcome('SELECT dp_count(*) FROM swapped');
RESET ROLE;
SELECT count(*), sum(epsilon) FROM dp_pg.ledger WHERE dataset = :'schema' || '_swap';
-- a ceiling holds for all that is asked of a value, and so for what measures
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 9e9, epsilon_ceiling => 1) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SET dp_pg.epsilon = '1.3';
SELECT * FROM outcome('SELECT dp_count(*) FROM orders');
SET dp_pg.epsilon = '1';
RESET ROLE;
SET ROLE :owner;
SELECT dp_unlimit(:'schema') \g /dev/null
-- a profile bounds values less far for larger totals, so that sensitivity may fall
CREATE TABLE dear AS SELECT customer, 1000 * cost AS cost FROM orders;
SELECT dp_protect('dear', unit => 'customer', dataset => :'schema') \g /dev/null
SELECT dp_pg.profile_keep('dear', 1, NULL, '[{"attribute": "cost", "what": "lower", "value": "0"}, {"attribute": "cost", "what": "upper", "value": "8388608"}]', '[{"attribute": "cost", "what": "values", "bars": [["1048576", 600], ["8388608", 5]]}]') \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_sum(cost) FROM dear WHERE customer <= 400');
RESET ROLE;
-- a batch: two of its queries, or none
SET ROLE :analyst;
SET dp_pg.epsilon = '1';
SELECT dp_batch_open(:'schema', 1, 3) > 0 AS opened;
SELECT * FROM spent() \g /dev/null
SELECT dp_count(*) > 0 AS counted FROM orders;
SELECT state, hinted FROM outcome('SELECT dp_count(*) FROM orders');
SELECT dp_count(*) > 0 AS counted FROM customer;
SELECT * FROM spent();
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
