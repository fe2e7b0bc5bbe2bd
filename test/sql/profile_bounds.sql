-- Bounds that a profile gives each query where nothing is declared.  At this
-- price noise changes a count of the profile with probability below 2 exp(-1000).
\getenv abs_srcdir PG_ABS_SRCDIR
\set test profile_bounds
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set file :abs_srcdir '/sql/include/bound.psql'
\i :file
-- 400 people: 380 have 1 to 4 orders, 20 have 40; an order costs 1 to 30, one in a hundred 1000
SET ROLE :owner;
CREATE TABLE orders (id int PRIMARY KEY, who int NOT NULL, shop int NOT NULL, cost int NOT NULL, at date NOT NULL, tag text NOT NULL);
INSERT INTO orders SELECT 100 * i + j, i, j % 4, CASE WHEN (i + j) % 100 = 0 THEN 1000 ELSE 1 + (i + j) % 30 END, date '2024-01-31' + j, 't' || j % 3
FROM generate_series(1, 400) i, generate_series(1, CASE WHEN i % 20 = 0 THEN 40 ELSE 1 + i % 4 END) j;
SELECT dp_protect('orders', unit => 'who', dataset => :'schema'), dp_declare('orders', 'shop', keys => ARRAY[0, 1, 2, 3]) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
SELECT state FROM outcome('SELECT dp_count(*) FROM orders');
RESET ROLE;
SET ROLE :owner;
SELECT attribute, what, value FROM dp_profile('orders', 100000, columns => ARRAY['shop', 'cost', 'at']) WHERE what <> 'units';
SELECT attribute, regexp_replace(note, 'profile of [0-9-]*', 'profile of DATE') AS note FROM dp_describe('orders') WHERE attribute IS NULL OR attribute = 'cost';
SELECT count(*) FROM dp_audit() WHERE severity = 'information' AND object ~ 'profile_bounds';
RESET ROLE;
SET ROLE :analyst;

-- many rows are left out where noise costs more
CREATE FUNCTION pg_temp.bounds(query text) RETURNS TABLE (epsilon numeric, line text) LANGUAGE plpgsql AS $$
BEGIN
	FOREACH epsilon IN ARRAY ARRAY[0.001, 0.01, 0.1, 10] LOOP
		PERFORM set_config('dp_pg.epsilon', epsilon::text, true);
		FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
			line := btrim(regexp_replace(line, 'discrete .*error', '..'));
			IF line ~ '^(Contribution|Rows Left|Released.*bounds)' THEN RETURN NEXT; END IF;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM pg_temp.bounds('SELECT dp_count(*) FROM orders');
SELECT * FROM pg_temp.bounds('SELECT shop, dp_count(*) FROM orders GROUP BY shop');
SELECT * FROM pg_temp.bounds('SELECT shop, dp_count(DISTINCT who) FROM orders GROUP BY shop');
SELECT * FROM pg_temp.bounds('SELECT dp_sum(cost), dp_avg(cost), dp_median(cost), dp_sum(cost * 2), dp_max(at) FROM orders');
SELECT * FROM pg_temp.bounds('SELECT dp_sum(cost) FROM orders WHERE cost < 20') WHERE epsilon > 1;
SET dp_pg.delta = '1e-6';
SELECT * FROM pg_temp.bounds('SELECT tag, dp_count(*) FROM orders GROUP BY tag');
SET dp_pg.mechanism = gaussian;
SELECT * FROM pg_temp.bounds('SELECT shop, dp_count(*) FROM orders GROUP BY shop');
RESET dp_pg.mechanism;
RESET dp_pg.delta;
-- what is set goes before it
SET dp_pg.max_total = 3;
SELECT bound('SELECT dp_count(*) FROM orders');
RESET dp_pg.max_total;
SET dp_pg.max_keys = 2;
SELECT bound('SELECT shop, dp_count(*) FROM orders GROUP BY shop');
RESET dp_pg.max_keys;
-- arms add up; readings have those of a number at the usual price
SELECT bound('SELECT dp_count(*) FROM (SELECT who, shop FROM orders UNION ALL SELECT who, shop FROM orders) o');
SET dp_pg.epsilon = '0.001';
SELECT dp_pg.rows_of_unit('orders');
SET dp_pg.epsilon = '100';
SELECT dp_pg.rows_of_unit('orders');
-- plain SQL has them, too
SET dp_pg.transparent = on;
SELECT sum(cost) BETWEEN 20000 AND 50000 AS sum, avg(cost) BETWEEN 20 AND 40 AS avg FROM orders;
RESET dp_pg.transparent;

-- what is left out is said, once, and stays to be read
SET client_min_messages = notice;
\set VERBOSITY default
SET dp_pg.epsilon = '0.001';
SELECT dp_count(*) IS NOT NULL AS counted FROM orders;
SELECT dp_count(*) IS NOT NULL AS counted FROM orders;
SELECT value, max_total, left_out FROM dp_last_release();
SELECT dp_count(DISTINCT who) IS NOT NULL AS counted FROM orders;
SELECT value, max_total, left_out FROM dp_last_release();
-- so is what WHERE asks for beyond the bounds of a column
SELECT dp_sum(cost) IS NOT NULL AS summed FROM orders WHERE cost > 5000;
SELECT dp_max(at) IS NOT NULL AS latest FROM orders WHERE at > date '2030-01-01';
SET client_min_messages = warning;
-- a price of one's own needs no other that is allowed
RESET ROLE;
SET dp_pg.epsilon_ceiling = '0.05';
SET dp_pg.epsilon = '100';
SET ROLE :analyst;
SELECT dp_count(cost, 0.04) IS NOT NULL AS counted, (SELECT count(*) FROM dp_sparse_vector('orders', ARRAY['shop = 1'], 0, epsilon => 0.04)) AS answers FROM orders;
RESET ROLE;
SET dp_pg.epsilon_ceiling = '1000000';
SET ROLE :analyst;

-- a prepared statement has those of the last profile, and then those declared
SET dp_pg.epsilon = '10';
PREPARE q AS SELECT dp_count(*) FROM orders;
EXPLAIN (COSTS off, SUMMARY off) EXECUTE q;
RESET ROLE;
SET ROLE :owner;
DELETE FROM orders WHERE who % 20 = 0;
SELECT value FROM dp_profile('orders', 100000, columns => ARRAY['shop']) WHERE what = 'bounds';
RESET ROLE;
SET ROLE :analyst;
EXPLAIN (COSTS off, SUMMARY off) EXECUTE q;
SELECT state FROM outcome('SELECT dp_sum(cost) FROM orders');
RESET ROLE;
SET ROLE :owner;
SELECT dp_declare('orders', max_total => 7), dp_declare('orders', 'cost', lower => 0, upper => 50) \g /dev/null
RESET ROLE;
SET ROLE :analyst;
EXPLAIN (COSTS off, SUMMARY off) EXECUTE q;
SELECT bound('SELECT dp_sum(cost) FROM orders');
RESET ROLE;
-- an owner may write a profile of any form himself: what is none is left out
SET ROLE :owner;
SELECT dp_declare('orders', max_total => 0) \g /dev/null
CREATE FUNCTION pg_temp.kept(bars jsonb, OUT state text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dp_pg.profile_keep('orders', 1, NULL, '[]', bars);
	SELECT o.state INTO state FROM outcome('SELECT dp_count(*) FROM orders') AS o;
END
$$;
SELECT kept.state, b FROM unnest(ARRAY['7', '{}', '[[1, 2]]', '[{"what": {"a": 1}}]', '[{"what": "rows", "bars": [1, 2]}]', '[{"what": "rows", "bars": {"a": 1}}]',
	'[{"what": "rows", "bars": [[]]}]', '[{"what": "rows", "bars": [[3, 4]]}]', '[{"what": "rows", "bars": [["", 4]]}]', '[{"what": "rows", "bars": [["NaN", 4]]}]',
	'[{"what": "rows", "bars": [["3", "4"]]}]', '[{"what": "rows", "bars": [["3", 4]]}]']::jsonb[]) AS b, pg_temp.kept(b);
RESET ROLE;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
