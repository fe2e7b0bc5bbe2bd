-- The accounting functions as users see them: names, notations, types, NULL,
-- errors.  test/pgtap/accounting.sql tests the numbers.
\set ECHO none
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE ROLE regress_accounting_reader;
SET ROLE regress_accounting_reader;
\set ECHO all
-- composition
SELECT * FROM dp_compose_basic(0.1, 1e-6, 10);
SELECT * FROM dp_compose_basic(ARRAY[0.1, 0.2, 0.5], ARRAY[0, 1e-6, 0]);
SELECT * FROM dp_compose_basic(ARRAY[1, 2]);
SELECT * FROM dp_compose_basic('{}'::numeric[]);
-- a delta is 1 at most
SELECT * FROM dp_compose_basic(0.1, 0.3, 4);
SELECT * FROM dp_compose_basic(ARRAY[0.1, 0.2], ARRAY[0.9, 0.2]);
SELECT delta FROM dp_compose_advanced(0.1, 0.5, 2, 1e-6) UNION ALL SELECT delta FROM dp_compose_optimal(0.1, 0.5, 2, 1e-6) UNION ALL SELECT delta FROM dp_compose_optimal(0.1, 0.25, 2, 1e-6);
SELECT round(epsilon, 12), delta FROM dp_compose_advanced(epsilon => 0.01, delta => 1e-9, k => 1000, delta_slack => 1e-6);
SELECT round(epsilon, 12), delta FROM dp_compose_optimal(0.01, 1e-9, 1000, 1e-6);
SELECT round(dp_epsilon_for(1, 1000, 1e-6), 12) AS corollary, round(dp_epsilon_for_advanced(1, 1000, 1e-6), 12) AS theorem,
	round(dp_epsilon_for_optimal(1, 1000, 1e-6), 12) AS optimal;
SELECT epsilon, round(delta, 12) AS delta, dp_group_privacy_rho(rho => 0.01, group_size => 4) AS rho FROM dp_group_privacy(epsilon => 0.1, delta => 1e-6, group_size => 4);
-- zCDP
SELECT round(dp_zcdp_epsilon(0.1, 1e-6), 12) AS epsilon, round(dp_zcdp_rho(1, 1e-6), 12) AS rho, to_char(dp_zcdp_delta(0.01, 3), '9.999EEEE') AS delta;
SELECT round(dp_pure_rho(0.5), 12) AS pure, round(dp_laplace_rho(1, 0.5), 12) AS laplace, dp_gaussian_rho(1, 2) AS gaussian, round(dp_odometer(0.1, 1e-6), 12) AS odometer;
-- noise and errors
SELECT method, round(dp_gaussian_sigma(1, 0.5, 1e-6, method), 9) AS sigma FROM unnest('{exact,zcdp,classical}'::text[]) method;
SELECT round(dp_gaussian_sigma(120, 0.5, 1e-6, granule => 0.5), 6) AS sigma, dp_gaussian_delta(1, 8.1, 0.5) < 1e-6 AS enough, dp_gaussian_delta(1, 8.0, 0.5) < 1e-6 AS not_enough;
SELECT dp_laplace_error(1, 0.1, 0.95) AS one, dp_laplace_error(1, 0.1, 0.95, 10) AS ten, round(dp_laplace_error(1, 0.1, 0.95, k => 10, granule => 0), 6) AS theorem,
	dp_gaussian_error(10, 0.95) AS gaussian, dp_gaussian_error(10, 0.95, k => 10) AS ten_gaussian;
SELECT round(dp_selection_error(50, 1, 0.5, 0.95), 6) AS selection, round(dp_selection_error(50, 1, 0.5, 0.95, monotone => true), 6) AS monotone,
	round(dp_randomized_response_error(601), 6) AS coins, round(dp_randomized_response_error(601, 1), 6) AS response, round(dp_randomized_response_error(601, 1, candidates => 5), 6) AS five;
-- plans
SELECT filter, kind, round(epsilon_per_query, 9) AS epsilon_per_query FROM dp_plan(1, 1e-6, 100);
SELECT filter, epsilon_per_query FROM dp_plan(epsilon_total => 1, delta => 0, k => 3);
-- double precision, unknown literals and mixtures mean the same
SELECT DISTINCT dp_zcdp_rho(e, d) = dp_zcdp_rho(1.5, 1e-6) FROM (VALUES (1.5::float8, 1e-6::float8)) v(e, d);
SELECT dp_zcdp_rho('1.5', '1e-6') = dp_zcdp_rho(1.5, 1e-6), dp_zcdp_rho(1.5::float8, 1e-6) = dp_zcdp_rho(1.5, 1e-6), (dp_compose_basic(1, 0, 3)).epsilon;
PREPARE p(float8, float8) AS SELECT (dp_compose_basic($1, $2, 3)).*;
EXECUTE p(0.1, 1e-7);
DEALLOCATE p;
-- NULL gives NULL, and no plan
SELECT dp_zcdp_rho(NULL::numeric, 1e-6), dp_laplace_error(1, 0.1, NULL::numeric), dp_randomized_response_error(NULL);
SELECT * FROM dp_compose_basic(0.1, NULL::numeric, 3);
SELECT count(*) FROM dp_plan(1, 1e-6, NULL);
-- immutable: in generated columns
CREATE TEMP TABLE budget (epsilon numeric, delta numeric DEFAULT 1e-6, rho numeric GENERATED ALWAYS AS (dp_zcdp_rho(epsilon, delta)) STORED);
INSERT INTO budget VALUES (1), (2);
SELECT epsilon, round(rho, 9) AS rho FROM budget ORDER BY 1;
-- errors say what is wrong and what to do
SELECT dp_zcdp_rho(-1, 1e-6);
SELECT dp_zcdp_rho('NaN', 1e-6);
SELECT dp_zcdp_epsilon(0.1, 1);
SELECT dp_zcdp_epsilon(0.1, 1e-30);
SELECT dp_laplace_error(1, 0.1, 95);
SELECT * FROM dp_compose_advanced(0.1, 0, 0, 1e-6);
SELECT * FROM dp_compose_optimal(0.1, 0, 2000000, 1e-6);
SELECT * FROM dp_compose_basic(ARRAY[0.1, NULL]);
SELECT * FROM dp_compose_basic(ARRAY[0.1, 0.2], ARRAY[1e-6]);
SELECT dp_epsilon_for(1, 10, 0.999999);
SELECT dp_gaussian_sigma(1, 1.1, 1e-6, 'classical');
SELECT dp_gaussian_sigma(1, 1, 1e-6, 'analytic');
SELECT dp_gaussian_sigma(1, 1, 1e-6, granule => 9.094947017729282379150390625e-13);
SELECT dp_gaussian_sigma(1, 1, 1e-6, granule => 1e-20);
SELECT * FROM dp_compose_basic(1e11, 0, 1000000000000);
SELECT * FROM dp_plan(1, 1.5, 10);
\set ECHO none
DROP TABLE budget;
RESET ROLE;
DROP ROLE regress_accounting_reader;
\set ECHO all
