-- Batches and filters as an analyst uses them, with private queries.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test ledger_batch
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE VIEW standing AS SELECT filter, spent_epsilon, spent_delta, charges FROM dp_pg.budgets
WHERE dataset = 'regress_ledger_batch' AND role = 'regress_ledger_batch_analyst';
GRANT SELECT ON standing TO PUBLIC;
-- the lines since the last look, without their ids
CREATE FUNCTION lines(OUT mechanism text, OUT epsilon numeric, OUT price numeric, OUT in_batch boolean)
RETURNS SETOF record LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
	last bigint := current_setting('regress.mark');
BEGIN
	PERFORM set_config('regress.mark', coalesce((SELECT max(l.id) FROM dp_pg.ledger l), 0)::text, false);
	RETURN QUERY SELECT l.mechanism, l.epsilon, coalesce(l.price_epsilon, l.epsilon), l.batch IS NOT NULL
	FROM dp_pg.ledger l WHERE l.id > last AND dataset = 'regress_ledger_batch' ORDER BY l.id;
END $$;
SELECT dp_grant(:'analyst', :'schema', 1, 1e-6, 'basic') \g /dev/null

-- five queries of 0.1 for 0.5
SET ROLE :analyst;
SET dp_pg.epsilon = 0.1;
SELECT dp_batch_open(:'schema', 0.1, 5) AS batch \gset
SELECT * FROM lines();
SELECT * FROM standing;
-- one value, groups, two values at half the price, a cursor, a prepared
-- query: each takes one of the five
SELECT state FROM outcome('SELECT dp_count(*) FROM person');
SELECT state FROM outcome('SELECT ward, dp_count(*) FROM person GROUP BY ward');
SELECT state FROM outcome('SELECT dp_count(1, 0.05), dp_avg(age, 0, 120, 0.05) FROM person');
BEGIN;
DECLARE c CURSOR FOR SELECT dp_sum(age) IS NULL FROM person;
FETCH c;
ROLLBACK;
SELECT state, epsilon, queries, used FROM dp_pg.my_batches;
SELECT * FROM standing;
-- two values at the full price are none of it, and cost what they cost
SELECT state FROM outcome('SELECT dp_count(*), dp_avg(age) FROM person');
SELECT * FROM standing;
-- EXPLAIN takes nothing
SELECT state, charges FROM outcome('EXPLAIN SELECT dp_count(*) FROM person');
SELECT used FROM dp_pg.my_batches;
PREPARE q(int) AS SELECT dp_count(*) IS NULL FROM person WHERE age < $1;
EXECUTE q(50);
SELECT state, used FROM dp_pg.my_batches;
-- the sixth is refused, not charged
EXECUTE q(60);
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
SELECT * FROM standing;
-- closed, the budget pays
SELECT dp_batch_close(:batch);
EXECUTE q(60);
SELECT * FROM standing;
SELECT * FROM outcome('SELECT dp_batch_close(' || :batch || ')');
-- what remains does not pay for another five
SELECT * FROM outcome($$SELECT dp_batch_open('regress_ledger_batch', 0.1, 5)$$);
RESET ROLE;

-- many small queries: the theorem makes them cheaper
SELECT dp_grant(:'analyst', :'schema', 5, 1e-6, 'basic') \g /dev/null
SET ROLE :analyst;
SET dp_pg.epsilon = 0.01;
SELECT dp_batch_open(:'schema', 0.01, 400, 1e-9) AS batch \gset
SELECT method, round(charged_epsilon, 3) AS charged_epsilon, charged_delta FROM dp_pg.my_batches WHERE id = :batch;
SELECT count(*), bool_and(state = '00000') FROM generate_series(1, 20) AS i, outcome('SELECT dp_count(*) FROM person WHERE age < ' || i);
SELECT used, dp_batch_close(id) FROM dp_pg.my_batches WHERE id = :batch;
RESET ROLE;

-- the filter advanced counts squares: 349 queries of 0.01 in a budget of 1
CREATE ROLE regress_ledger_batch_second;
GRANT USAGE ON SCHEMA regress_ledger_batch TO regress_ledger_batch_second;
SELECT dp_grant('regress_ledger_batch_second', :'schema', 1, 2e-6, 'advanced') \g /dev/null
SET ROLE regress_ledger_batch_second;
SELECT filter, calls_left FROM dp_pg.my_budget;
SELECT state FROM outcome('SELECT dp_count(*) FROM person');
SELECT filter, calls_left FROM dp_pg.my_budget;
SELECT spent_squares FROM dp_pg.budget WHERE role_name = current_user;
RESET ROLE;

-- what was learnt so far: by the analyst, by everybody
SET ROLE :analyst;
SELECT role, charges, basic_epsilon > 1.8 AS basic, basic_delta, odometer_epsilon > 1.8 AS odometer, odometer_delta
FROM dp_odometer_statement(:'schema', 1e-9);
SELECT * FROM outcome($$SELECT * FROM dp_odometer_statement('regress_ledger_batch', 1e-9, 'regress_ledger_batch_second')$$);
SET ROLE :owner;
SELECT role, charges FROM dp_odometer_statement(:'schema', 1e-9, :'analyst');
SELECT role, charges FROM dp_odometer_statement(:'schema', 1e-9);
RESET ROLE;

DROP OWNED BY regress_ledger_batch_second;
DROP ROLE regress_ledger_batch_second;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
