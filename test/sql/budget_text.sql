-- Texts about budgets: what a charge lacks, and numbers that are rounded for
-- display.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test budget_text
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
\set VERBOSITY default
SET client_min_messages = notice;
SET dp_pg.epsilon = 0.1;
SET ROLE :owner;
-- what is lacking: epsilon, delta, both; and what EXPLAIN says
SELECT dp_grant(:'analyst', :'schema', epsilon => 1, filter => 'basic') \g /dev/null
SET ROLE :analyst;
SET dp_pg.delta = '1e-9';
SELECT dp_count(1, 1.5) FROM person;
SELECT seen, dp_count(1, 0.3) FROM person WHERE id < 20 GROUP BY seen;
SELECT seen, dp_count(1, 3) FROM person WHERE id < 20 GROUP BY seen;
EXPLAIN (COSTS OFF) SELECT seen, dp_count(1, 0.3) FROM person WHERE id < 20 GROUP BY seen;
RESET ROLE;
SET ROLE :owner;
SELECT dp_grant(:'analyst', :'schema', epsilon => 10, delta => 1.5e-9, filter => 'basic') \g /dev/null
SET ROLE :analyst;
SELECT seen, dp_count(1, 0.3) IS NULL AS n FROM person WHERE id < 20 GROUP BY seen;
SELECT seen, dp_count(1, 0.3) IS NULL AS n FROM person WHERE id < 20 GROUP BY seen;
RESET ROLE;
SET ROLE :owner;
SELECT dp_limit(:'schema', epsilon => 100, filter => 'basic') \g /dev/null
SELECT dp_grant(:'analyst', :'schema', epsilon => 10, delta => 1e-6, filter => 'basic') \g /dev/null
SET ROLE :analyst;
SELECT seen, dp_count(1, 0.3) IS NULL AS n FROM person WHERE id < 20 GROUP BY seen;
RESET ROLE;

-- nine digits, never more than there is: a third of 0.1 three times
SET ROLE :owner;
SELECT dp_unlimit(:'schema') \g /dev/null
RESET ROLE;
CREATE ROLE regress_budget_text_other;
GRANT USAGE ON SCHEMA :schema TO regress_budget_text_other;
SET ROLE :owner;
SELECT dp_grant('regress_budget_text_other', :'schema', epsilon => 1, filter => 'basic') \g /dev/null
RESET ROLE;
SET ROLE regress_budget_text_other;
RESET dp_pg.delta;
SET dp_pg.split = on;
SET dp_pg.epsilon = 0.1;
EXPLAIN (COSTS OFF) SELECT dp_count(*), dp_sum(age), dp_avg(age) FROM person;
SELECT dp_count(*) IS NULL AS c, dp_sum(age) IS NULL AS s, dp_avg(age) IS NULL AS a FROM person;
SELECT spent, remaining_epsilon, remaining_delta FROM dp_pg.my_budget;
SELECT spent_epsilon, spent_rho, total_epsilon, total_rho FROM dp_pg.budgets;
-- aggregates of subqueries take part, priced or not
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM person WHERE age > (SELECT dp_median(age, 0, 100) FROM person);
EXPLAIN (COSTS OFF) SELECT dp_count(*) FROM person WHERE age > (SELECT dp_quantile(age, 0.5, 0, 100, 0.1) FROM person);
SELECT age FROM person;
SELECT dp_count(1, 0.95) FROM person;
SELECT dp_count(1, 0.900000000000000000000001) IS NULL AS n FROM person;
SELECT spent, remaining_epsilon FROM dp_pg.my_budget;
-- exact
SELECT epsilon FROM dp_pg.ledger ORDER BY id;
SELECT spent, remaining_epsilon FROM dp_pg.standing();
RESET ROLE;
SELECT spent_epsilon, spent_rho FROM dp_pg.budget WHERE role_name = 'regress_budget_text_other';
-- a sum that is infinite, and none
SET ROLE :owner;
SELECT dp_grant('regress_budget_text_other', :'schema', epsilon => 100, delta => 1e-6) \g /dev/null
RESET ROLE;
SET ROLE regress_budget_text_other;
SET dp_pg.mechanism = gaussian;
SET dp_pg.delta = 3.3e-18;
SELECT dp_count(1, 0.5) IS NULL AS n FROM person;
SELECT spent, remaining_epsilon < 100 AS less, remaining_delta FROM dp_pg.my_budget;
SELECT spent_epsilon, total_epsilon, spent_delta, scale(spent_rho) <= 9 AS short FROM dp_pg.budgets;
RESET ROLE;
-- rho is rounded like epsilon: up where it is asked, down where it remains
SET ROLE :owner;
SELECT dp_grant('regress_budget_text_other', :'schema', epsilon => 10, delta => 1e-6, filter => 'zcdp') \g /dev/null
RESET ROLE;
SET ROLE regress_budget_text_other;
SET dp_pg.delta = '1e-7';
SELECT dp_count(1, 12) FROM person;
EXPLAIN (COSTS OFF) SELECT dp_count(1, 12) FROM person;
EXPLAIN (COSTS OFF) SELECT dp_count(1, 0.01) FROM person;
RESET ROLE;
SELECT rho - spent_rho AS rho FROM dp_pg.budget WHERE role_name = 'regress_budget_text_other';
SET ROLE regress_budget_text_other;
RESET dp_pg.mechanism;
RESET dp_pg.delta;
RESET ROLE;

DROP OWNED BY regress_budget_text_other;
DROP ROLE regress_budget_text_other;
\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
