-- Gaussian noise: settings, law by price, and what is charged to each kind of
-- budget.
\getenv abs_srcdir PG_ABS_SRCDIR
\set test query_gaussian
\set file :abs_srcdir '/sql/include/query.psql'
\i :file
CREATE FUNCTION grant_(eps numeric, delta numeric, filter text) RETURNS void LANGUAGE sql AS
$$ SELECT dp_grant('regress_query_gaussian_analyst', 'regress_query_gaussian', eps, delta, filter) $$;
-- what the last charge was
CREATE FUNCTION charged(OUT mechanism text, OUT epsilon numeric, OUT delta numeric, OUT rho numeric) LANGUAGE sql SECURITY DEFINER
SET search_path = pg_catalog AS $$
	SELECT mechanism, epsilon, delta, round(rho, 12) FROM dp_pg.ledger WHERE dataset = 'regress_query_gaussian' ORDER BY id DESC LIMIT 1 $$;

SET ROLE :analyst;
SHOW dp_pg.mechanism;
SET dp_pg.mechanism = gaussian;
-- without a delta: 22023, no charge
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
-- bad settings
SET dp_pg.mechanism = none;
SET dp_pg.delta = '0';
SET dp_pg.delta = '1';
SET dp_pg.delta = '-1e-9';
SET dp_pg.delta = '1e-30';
SET dp_pg.delta = 'nan';
SET dp_pg.delta = '1e-9x';
SET dp_pg.delta = '0x1p-20';
SET dp_pg.delta = '1e-9';
-- sensitivity 1: exact but for noise of variance 6e-6, wrong with probability below 1e-30000 a value
SELECT dp_count(*), dp_count(feel), dp_sum(age, 0, 1), dp_count(*) FILTER (WHERE sex) AS women, dp_avg(age, 0, 1) FROM person;
SELECT ward, dp_count(*), dp_sum(age, 0, 1) FROM person GROUP BY ward;
-- wider bounds: standard deviation 0.3 and 0.23; 12 of them are exceeded with probability below 1e-31
SELECT abs(dp_sum(age, 0, 120) - 49500) < 4 AS sum, abs(dp_sum(score, 0, 100) - 12375) < 3 AS float,
	abs(dp_avg(age, 0, 120) - 49.5) < 0.01 AS mean FROM person;
SELECT * FROM charged();
-- one number: the exact delta; several: zCDP; both spend rho only under the filter best
SET dp_pg.epsilon = 1;
SELECT state FROM outcome('SELECT dp_count(*) FROM person');
SELECT * FROM charged();
SELECT state FROM outcome('SELECT sex, dp_count(*) FROM person GROUP BY sex');
SELECT * FROM charged();
SELECT state FROM outcome('SELECT dp_sum(age, 0, 120) FROM person');
SELECT * FROM charged();
SELECT state FROM outcome('SELECT dp_count(*), dp_sum(age, 0, 120), dp_avg(age, 0, 120) FROM person');
SELECT * FROM charged();
SELECT dp_count(*) IS NOT NULL AS answered FROM person;
SELECT value, mechanism, epsilon, delta, sensitivity, scale, error_95 FROM dp_last_release();
EXPLAIN (COSTS OFF) SELECT sex, dp_count(*), dp_avg(age, 0, 100) FROM person GROUP BY sex;
-- a selection or a sum of a pure price beside it adds up
SET dp_pg.mechanism = laplace;
SELECT state FROM outcome('SELECT dp_count(*) FROM person');
SELECT * FROM charged();
SET dp_pg.mechanism = gaussian;
-- prices are held against floor and ceiling whatever is charged
SELECT * FROM outcome('SELECT dp_count(1, 1e-30) FROM person');
RESET ROLE;
SET dp_pg.epsilon_ceiling = 2;
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(1, 3) FROM person');
-- what a budget of the filter best spent on Gaussian noise has no pure epsilon: another filter finds it exhausted
RESET ROLE;
SELECT grant_(1e6, 1e-6, 'basic');
SET ROLE :analyst;
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
RESET ROLE;
-- a budget that counts epsilon is charged epsilon, delta and rho
CREATE ROLE regress_query_gaussian_second;
GRANT USAGE, CREATE ON SCHEMA regress_query_gaussian TO regress_query_gaussian_second;
SELECT dp_grant('regress_query_gaussian_second', 'regress_query_gaussian', 2, 1e-6, 'basic');
SET ROLE regress_query_gaussian_second;
SELECT state FROM outcome('SELECT dp_count(*) FROM person');
SELECT * FROM charged();
SELECT state FROM outcome('SELECT sex, dp_count(*), dp_sum(age, 0, 120, 0.5) FROM person GROUP BY sex');
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
RESET ROLE;
-- no delta in the budget: no Gaussian noise
SELECT dp_grant('regress_query_gaussian_second', 'regress_query_gaussian', 20, 0, 'basic');
SET ROLE regress_query_gaussian_second;
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
-- without a limit of any kind: the owner, exempt, is charged all three
RESET ROLE;
SET ROLE :owner;
SELECT dp_count(*) IS NOT NULL AS answered FROM person;
SELECT * FROM charged();
-- a cap that has no delta decides too
SELECT dp_limit('regress_query_gaussian', 1000);
RESET ROLE;
CREATE ROLE regress_query_gaussian_third;
GRANT USAGE, CREATE ON SCHEMA regress_query_gaussian TO regress_query_gaussian_third;
SELECT dp_grant('regress_query_gaussian_third', 'regress_query_gaussian', 2, 1e-6, 'best');
SET ROLE regress_query_gaussian_third;
SELECT * FROM outcome('SELECT dp_count(*) FROM person');
RESET ROLE;
DROP OWNED BY regress_query_gaussian_second, regress_query_gaussian_third;
DROP ROLE regress_query_gaussian_second, regress_query_gaussian_third;

\set file :abs_srcdir '/sql/include/query_end.psql'
\i :file
