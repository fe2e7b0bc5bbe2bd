-- The accounting functions through SQL, against every row of the oracle's
-- files: to a relative 10^-12, and never on the unsafe side.  Nothing here is
-- random: the false-alarm rate is 0.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset pager off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS dp_pg;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE SCHEMA regress_accounting;
SET search_path = regress_accounting, public;
SELECT * FROM no_plan();

-- A cost: within 10^-12 above the oracle, below it only by its 17th digit.
CREATE FUNCTION above(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have >= want * (1 - 1e-16) AND have <= want * (1 + 1e-12)';
-- An allowance: the other way round.
CREATE FUNCTION below(have numeric, want numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT have <= want * (1 + 1e-16) AND have >= want * (1 - 1e-12)';
CREATE FUNCTION near(have numeric, want numeric, relative numeric) RETURNS boolean IMMUTABLE LANGUAGE sql AS
	'SELECT abs(have - want) <= want * relative';
CREATE FUNCTION fraction(text) RETURNS numeric IMMUTABLE LANGUAGE sql AS
	$$SELECT round(split_part($1, '/', 1)::numeric(60, 30) / coalesce(nullif(split_part($1, '/', 2), ''), '1')::numeric(60, 30), 30)$$;
CREATE FUNCTION planned(total numeric, delta numeric, k bigint, rule text) RETURNS numeric IMMUTABLE LANGUAGE sql AS
	'SELECT epsilon_per_query FROM dp_plan(total, delta, k) WHERE filter = rule';

-- Theorems 3.16 and 3.20, the optimum, zCDP and the advanced filter
CREATE TABLE advanced_composition (eps0 numeric, k bigint, delta_prime numeric, basic numeric, thm3_20 numeric, thm3_20_with_tanh numeric,
	whitehouse numeric, zcdp_tight numeric, optimal_kov numeric);
\copy advanced_composition FROM 'test/oracle/advanced_composition.csv' (FORMAT csv, HEADER)
SELECT is((count(*), count(optimal_kov) > 60)::text, '(90,t)', 'advanced_composition.csv has 90 records') FROM advanced_composition;
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_compose_basic(eps0, 3e-24, k) c
	WHERE (c.epsilon = basic AND c.delta = 3e-24 * k) IS NOT TRUE$$, 'basic composition, exactly');
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_compose_basic(array_fill(eps0, ARRAY[k::int])) c
	WHERE k <= 1000 AND (c.epsilon = basic AND c.delta = 0) IS NOT TRUE$$, 'and as a sum');
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_compose_advanced(eps0, 2e-24, k, delta_prime) c
	WHERE (above(c.epsilon, thm3_20) AND c.delta = 2e-24 * k + delta_prime) IS NOT TRUE$$, 'Theorem 3.20');
SELECT is_empty($$SELECT * FROM advanced_composition WHERE above(thm3_20_with_tanh, thm3_20) OR above(whitehouse, thm3_20)$$, 'other theorems are told apart in every row');
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_epsilon_for_advanced(thm3_20, k, delta_prime) e
	WHERE near(e, eps0, 1e-12) IS NOT TRUE$$, 'Theorem 3.20 is inverted');
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_compose_optimal(eps0, 2e-24, k, delta_prime) c
	WHERE optimal_kov IS NOT NULL AND (above(c.epsilon, optimal_kov) AND c.epsilon <= basic AND c.delta = 2e-24 * k + delta_prime) IS NOT TRUE$$, 'the optimum');
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_compose_optimal(eps0, 0, k, delta_prime) c, dp_epsilon_for_optimal(c.epsilon, k, delta_prime) e
	WHERE optimal_kov > 0 AND (e BETWEEN eps0 * (1 - 1e-9) AND eps0 * (1 + 1e-9) AND (dp_compose_optimal(e, 0, k, delta_prime)).epsilon <= c.epsilon * (1 + 1e-12)) IS NOT TRUE$$, 'the optimum is inverted');
SELECT is_empty($$SELECT * FROM advanced_composition a, dp_zcdp_epsilon(k * dp_pure_rho(eps0), delta_prime) e
	WHERE (e >= zcdp_tight * (1 - 1e-16) AND e <= zcdp_tight * 1.00002) IS NOT TRUE$$, 'through rho: k epsilon tanh(epsilon/2), which is bounded to 2 * 10^-5');
SELECT is_empty($$SELECT * FROM advanced_composition a
	WHERE (planned(whitehouse * (1 + 1e-12), 2 * delta_prime, k, 'advanced') >= eps0 AND planned(whitehouse * (1 - 1e-12), 2 * delta_prime, k, 'advanced') < eps0) IS NOT TRUE$$,
	'the advanced filter''s threshold');

-- Example 3.7 and errata 5
CREATE TABLE example_3_7 (rule text, max_eps0 numeric, one_over numeric, thm3_20_eps_at_this numeric, whitehouse_eps_at_this numeric, zcdp_eps_at_this numeric);
\copy example_3_7 FROM 'test/oracle/example_3_7.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 7, 'example_3_7.csv has 7 records') FROM example_3_7;
CREATE TABLE slack AS SELECT exp(-32::numeric(60, 40)) AS d;
SELECT is_empty($$SELECT * FROM example_3_7, slack, dp_compose_advanced(max_eps0, 0, 10000, d) c WHERE near(c.epsilon, thm3_20_eps_at_this, 1e-12) IS NOT TRUE$$, 'Theorem 3.20 at each threshold');
SELECT is_empty($$SELECT * FROM example_3_7, slack, dp_zcdp_epsilon(10000 * dp_pure_rho(max_eps0), d) e WHERE near(e, zcdp_eps_at_this, 1e-12) IS NOT TRUE$$, 'zCDP at each threshold');
SELECT ok(near(have, max_eps0, 1e-12), 'Example 3.7: ' || rule || ' gives 1/' || round(one_over, 1))
FROM example_3_7 JOIN (
	SELECT 'cor3_21' AS rule, dp_epsilon_for(1, 10000, d) AS have FROM slack
	UNION ALL SELECT 'thm3_20', dp_epsilon_for_advanced(1, 10000, d) FROM slack
	UNION ALL SELECT 'whitehouse', planned(1, 2 * d, 10000, 'advanced') FROM slack
	UNION ALL SELECT 'zcdp_tight', planned(1, 2 * d, 10000, 'zcdp') FROM slack
	UNION ALL SELECT 'optimal_KOV', dp_epsilon_for_optimal(1, 10000, d) FROM slack
	UNION ALL SELECT 'cor3_21', planned(1, d, 10000, 'corollary 3.21') FROM slack
	UNION ALL SELECT 'thm3_20', planned(1, d, 10000, 'theorem 3.20') FROM slack
	UNION ALL SELECT 'optimal_KOV', planned(1, d, 10000, 'optimal') FROM slack) AS f USING (rule);
SELECT cmp_ok((dp_compose_advanced(1 / 801.0, 0, 10000, d)).epsilon, '>', 1.014, 'the printed 1/801 does not follow from Theorem 3.20') FROM slack;

-- Errata 3: Theorem 3.22 needs an epsilon up to 1; errata 4: Corollary 3.21 fails for delta' near 1
SELECT throws_ok(format('SELECT dp_gaussian_sigma(1, %s, 1e-5, ''classical'')', e), '22023', NULL, 'Theorem 3.22 refuses epsilon ' || e) FROM unnest('{1.000001,1.5,8}'::text[]) e;
SELECT is(round(dp_gaussian_sigma(1, 1, 1e-5, 'classical'), 2), 4.84, 'and holds at 1');
SELECT is_empty($$SELECT * FROM (VALUES (1e-20), (1e-5), (0.5), (0.99)) v(d), unnest(ARRAY[1, 0.5, 1e-3]) e, dp_gaussian_sigma(1, e, d, 'classical') s
	WHERE (dp_gaussian_delta(1, s, e) <= d AND dp_zcdp_epsilon(dp_gaussian_rho(1, s), d) <= e) IS NOT TRUE$$, 'where it answers, zCDP and the exact delta confirm it');
SELECT throws_ok(format('SELECT dp_epsilon_for(1, 10, %s)', d), '22023', NULL, 'Corollary 3.21 refuses delta'' = ' || d) FROM unnest('{0.99,0.999999}'::text[]) d;
SELECT is_empty($$SELECT * FROM (VALUES (0.5), (0.1), (1e-6), (1e-24)) v(d), unnest(ARRAY[1, 7, 100, 12345, 1000000]) k
	WHERE (k > 1 OR d < 0.2) AND ((dp_compose_advanced(dp_epsilon_for(1, k, d), 0, k, d)).epsilon <= 1) IS NOT TRUE$$, 'where it answers, Theorem 3.20 confirms it');
SELECT is_empty($$SELECT * FROM (VALUES (0.5), (0.1), (1e-6), (1e-24)) v(d), unnest(ARRAY[1, 7, 100, 12345, 1000000]) k, dp_epsilon_for_advanced(1, k, d) e
	WHERE ((dp_compose_advanced(e, 0, k, d)).epsilon <= 1 AND (dp_compose_advanced(e + 1e-24, 0, k, d)).epsilon > 1) IS NOT TRUE$$, 'the inverse of Theorem 3.20 is the largest');

-- Groups
CREATE TABLE group_privacy (eps numeric, delta numeric, "group" bigint, eps_group numeric, delta_group numeric);
\copy group_privacy FROM 'test/oracle/group_privacy.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 20, 'group_privacy.csv has 20 records') FROM group_privacy;
SELECT is_empty($$SELECT * FROM group_privacy o, dp_group_privacy(eps, o.delta, "group") g
	WHERE (g.epsilon = eps_group AND above(g.delta, delta_group) AND dp_group_privacy_rho(eps, "group") = "group" ^ 2 * eps) IS NOT TRUE$$, 'groups');
SELECT cmp_ok(count(*), '>', 5::bigint, 'the simplified formula is told apart') FROM group_privacy WHERE NOT above("group" * delta * exp(("group" - 1) * eps), delta_group);
SELECT is(dp_group_privacy(30, 1e-21, 9)::text, '(270,1)', 'a hopeless group: delta 1');

-- zCDP both ways
CREATE TABLE rho_to_eps (rho numeric, delta numeric, eps_tight numeric, alpha_opt numeric, eps_loose_bs16 numeric, delta_back numeric);
\copy rho_to_eps FROM 'test/oracle/rho_to_eps.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 28, 'rho_to_eps.csv has 28 records') FROM rho_to_eps;
SELECT is_empty($$SELECT * FROM rho_to_eps, dp_zcdp_epsilon(rho, delta) e
	WHERE (above(e, eps_tight) AND dp_zcdp_rho(eps_tight - 1e-15, delta) <= rho AND near(dp_zcdp_rho(e, delta), rho, 1e-12)
		AND near(dp_zcdp_delta(rho, eps_tight), delta_back, 1e-12)) IS NOT TRUE$$, 'rho to epsilon, and back both ways');
SELECT is_empty('SELECT * FROM rho_to_eps WHERE above(eps_loose_bs16, eps_tight)', 'the loose formula is told apart');
CREATE TABLE rho_to_delta (rho numeric, eps numeric, delta_tight numeric, alpha_opt numeric);
\copy rho_to_delta FROM 'test/oracle/rho_to_delta.csv' (FORMAT csv, HEADER)
SELECT is((count(*), min(delta_tight) < 1e-6000)::text, '(25,t)', 'rho_to_delta.csv has 25 records, with very small deltas') FROM rho_to_delta;
SELECT is_empty('SELECT * FROM rho_to_delta WHERE above(dp_zcdp_delta(rho, eps), delta_tight) IS NOT TRUE', 'rho to delta');
CREATE TABLE eps_to_rho_budget (eps numeric, delta numeric, rho_max_tight numeric, rho_max_loose_bs16 numeric);
\copy eps_to_rho_budget FROM 'test/oracle/eps_to_rho_budget.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 18, 'eps_to_rho_budget.csv has 18 records') FROM eps_to_rho_budget;
SELECT is_empty('SELECT * FROM eps_to_rho_budget WHERE below(dp_zcdp_rho(eps, delta), rho_max_tight) IS NOT TRUE', 'epsilon to rho');
SELECT is_empty('SELECT * FROM eps_to_rho_budget WHERE below(rho_max_loose_bs16, rho_max_tight)', 'the loose formula is told apart');
CREATE TABLE filter_certificates (eps numeric, delta_conv numeric, rho numeric, alpha numeric, certified_eps numeric, slack numeric);
\copy filter_certificates FROM 'test/oracle/filter_certificates.csv' (FORMAT csv, HEADER)
UPDATE filter_certificates SET rho = rho / 18446744073709551616.0::numeric(60, 30);
SELECT is(count(*)::int, 18, 'filter_certificates.csv has 18 records') FROM filter_certificates;
SELECT is_empty($$SELECT * FROM filter_certificates WHERE (dp_zcdp_rho(eps, delta_conv) >= rho * (1 - 1e-16) AND near(dp_zcdp_rho(eps, delta_conv), rho, 2e-11)
	AND dp_zcdp_epsilon(rho, delta_conv) BETWEEN certified_eps * (1 - 1e-11) AND certified_eps * (1 + 1e-12)) IS NOT TRUE$$, 'certificates of filters are near the optimum, and never beyond');

-- What mechanisms cost as rho
CREATE TABLE pure_to_rho (eps text, half_eps2 numeric, tight_eps_tanh numeric, rational_upper numeric, rational_upper_exact text, laplace_mech_tight numeric,
	bounded_range_tight numeric, bounded_range_eps2_8 numeric);
\copy pure_to_rho FROM 'test/oracle/pure_to_rho.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 10, 'pure_to_rho.csv has 10 records') FROM pure_to_rho;
SELECT is_empty($$SELECT * FROM pure_to_rho, dp_pure_rho(fraction(eps)) r
	WHERE (above(r, least(rational_upper, fraction(eps))) AND r = least(ceil(fraction(rational_upper_exact) * 1e24) * 1e-24, fraction(eps)) AND r >= tight_eps_tanh * (1 - 1e-16)) IS NOT TRUE$$, 'pure epsilon to rho, the exact ceiling');
SELECT is_empty($$SELECT * FROM pure_to_rho, dp_exponential_rho(fraction(eps)) r
	WHERE (above(r, least(bounded_range_eps2_8, rational_upper, fraction(eps))) AND r >= bounded_range_tight * (1 - 1e-16)) IS NOT TRUE$$, 'the exponential mechanism');
SELECT is_empty($$SELECT * FROM pure_to_rho, dp_laplace_rho(1, fraction(eps), 1e-6) r
	WHERE near(r, laplace_mech_tight, 1e-10) IS NOT TRUE$$, 'Laplace noise on a fine grid is near the continuous one');
CREATE TABLE discrete_laplace_rho (scale text, sensitivity numeric, eps numeric, kl numeric, sup_renyi numeric, eps_tanh numeric, continuous numeric);
\copy discrete_laplace_rho FROM 'test/oracle/discrete_laplace_rho.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 24, 'discrete_laplace_rho.csv has 24 records') FROM discrete_laplace_rho;
SELECT is_empty($$SELECT * FROM discrete_laplace_rho, dp_laplace_rho(sensitivity, sensitivity / fraction(scale)) r
	WHERE (above(r, kl) AND r = dp_laplace_rho(sensitivity / 8, sensitivity / fraction(scale), 0.125)) IS NOT TRUE$$, 'discrete Laplace noise, on any grid');
SELECT cmp_ok(count(*), '>', 12::bigint, 'the continuous formula is told apart') FROM discrete_laplace_rho WHERE NOT above(continuous, kl);

-- Gaussian noise
CREATE TABLE analytic_gaussian (eps numeric, delta numeric, sigma_analytic numeric, sigma_thm3_22 numeric, true_delta numeric, thm3_22_valid text, sigma_zcdp numeric);
\copy analytic_gaussian FROM 'test/oracle/analytic_gaussian.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 36, 'analytic_gaussian.csv has 36 records') FROM analytic_gaussian;
SELECT is_empty($$SELECT * FROM analytic_gaussian WHERE eps <= 1 AND (above(dp_gaussian_sigma(1, eps, delta, 'classical'), sigma_thm3_22)
	AND near(dp_gaussian_sigma(0.003, eps, delta, 'classical'), 0.003 * sigma_thm3_22, 1e-12)) IS NOT TRUE$$, 'the sigma of Theorem 3.22, for any sensitivity');
SELECT throws_ok(format('SELECT dp_gaussian_sigma(1, %s, %s, ''classical'')', eps, delta), '22023', NULL, format('Theorem 3.22 at epsilon %s, delta %s', eps, delta))
FROM analytic_gaussian WHERE eps > 1;
SELECT is_empty($$SELECT * FROM analytic_gaussian, dp_gaussian_sigma(1, eps, delta, 'zcdp') s
	WHERE (above(s, sigma_zcdp) AND near(dp_gaussian_sigma(0.003, eps, delta, 'zcdp'), 0.003 * sigma_zcdp, 1e-12)
		AND dp_gaussian_rho(1, s) <= dp_zcdp_rho(eps, delta)) IS NOT TRUE$$, 'sigma through zCDP, for any sensitivity');
SELECT is_empty($$SELECT * FROM analytic_gaussian, dp_gaussian_sigma(1, eps, delta) s
	WHERE (s <= dp_gaussian_sigma(1, eps, delta, 'zcdp') AND dp_gaussian_delta(1, s, eps) <= delta
		AND dp_gaussian_delta(1, s * (1 - 2e-6), eps) > delta) IS NOT TRUE$$, 'the exact sigma keeps delta, and no smaller one does');
SELECT is_empty($$SELECT * FROM analytic_gaussian, dp_gaussian_sigma(1, eps, delta, granule => 0.015625) s
	WHERE near(s, sigma_analytic, 1e-3) IS NOT TRUE$$, 'on a fine grid it is near the continuous noise');
CREATE TABLE discrete_gaussian_delta (sigma2 numeric, sensitivity numeric, eps numeric, delta_exact numeric, delta_continuous numeric, delta_from_rho numeric);
\copy discrete_gaussian_delta FROM 'test/oracle/discrete_gaussian_delta.csv' (FORMAT csv, HEADER)
-- nine rows of the file were summed with too few terms and lie below the truth, which is this (60 digits, 4000 terms)
CREATE TABLE corrected (sigma2 numeric, sensitivity numeric, eps numeric, delta numeric);
INSERT INTO corrected VALUES (25, 1, 4, 2.30521448810069244e-90), (100, 1, 2, 4.15907616068889059e-91), (100, 1, 4, 7.70729378306109227e-352),
	(100, 2, 4, 1.45443330119401258e-90), (400, 1, 1, 1.17246404914107789e-91), (400, 1, 2, 1.38603435644776429e-352),
	(400, 1, 4, 4.76489627733900705e-1395), (400, 2, 2, 3.42216940393061951e-91), (400, 2, 4, 4.87412549009665417e-352);
SELECT is((SELECT count(*)::int FROM discrete_gaussian_delta), 90, 'discrete_gaussian_delta.csv has 90 records');
UPDATE discrete_gaussian_delta d SET delta_exact = c.delta FROM corrected c WHERE (d.sigma2, d.sensitivity, d.eps) = (c.sigma2, c.sensitivity, c.eps) AND delta_exact < c.delta * (1 - 1e-12);
SELECT is((SELECT count(*)::int FROM discrete_gaussian_delta JOIN corrected ON delta_exact = delta), 9, 'nine of them too low');
SELECT is_empty($$SELECT * FROM discrete_gaussian_delta, sqrt(sigma2::numeric(60, 40)) s
	WHERE (above(dp_gaussian_delta(sensitivity, s, eps), delta_exact) AND dp_gaussian_delta(sensitivity / 4, s / 4, eps, 0.25) >= delta_exact * (1 - 1e-16)) IS NOT TRUE$$,
	'the exact delta of the discrete Gaussian');
SELECT is_empty($$SELECT * FROM discrete_gaussian_delta, dp_gaussian_rho(sensitivity, sqrt(sigma2::numeric(60, 40))) r
	WHERE (above(dp_zcdp_delta(r, eps), delta_from_rho) AND delta_from_rho >= delta_exact AND above(r, sensitivity ^ 2 / (2 * sigma2))) IS NOT TRUE$$, 'and through rho, which never claims less');
SELECT is_empty('SELECT * FROM discrete_gaussian_delta WHERE above(delta_continuous, delta_exact)', 'the continuous formula is told apart in every row');

-- Errors
CREATE TABLE laplace_accuracy (k bigint, beta numeric, eps numeric, thm3_8_alpha numeric, discrete_union_alpha numeric);
\copy laplace_accuracy FROM 'test/oracle/laplace_accuracy.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 8, 'laplace_accuracy.csv has 8 records') FROM laplace_accuracy;
SELECT is_empty($$SELECT * FROM laplace_accuracy WHERE (above(dp_laplace_error(1, eps, 1 - beta, k, 0), thm3_8_alpha)
	AND dp_laplace_error(1, eps, 1 - beta, k) = discrete_union_alpha
	AND dp_laplace_error(0.25, eps, 1 - beta, k, granule => 0.25) = discrete_union_alpha / 4) IS NOT TRUE$$, 'Theorem 3.8, and the discrete noise exactly');
CREATE TABLE moments (scale text, variance numeric, mean_abs numeric, pmf0 numeric, q05 numeric, q01 numeric, q001 numeric, union10 numeric, union10000 numeric);
\copy moments FROM 'test/oracle/discrete_laplace_moments.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 10, 'discrete_laplace_moments.csv has 10 records') FROM moments;
SELECT is_empty($$SELECT * FROM moments, round(1 / fraction(scale), 24) e
	WHERE (dp_laplace_error(1, e, 0.95), dp_laplace_error(1, e, 0.99), dp_laplace_error(1, e, 0.999), dp_laplace_error(1, e, 0.95, 10), dp_laplace_error(1, e, 0.95, 10000))
		IS DISTINCT FROM (q05, q01, q001, union10, union10000)$$, 'quantiles of the discrete Laplace law');
CREATE TABLE tails (sigma2 text, variance numeric, normaliser numeric, pmf0 numeric, "1" numeric, "2" numeric, "3" numeric, "5" numeric, "10" numeric, "50" numeric);
\copy tails FROM PROGRAM 'sed s/e-[0-9][0-9][0-9][0-9]*/e-99/g test/oracle/discrete_gaussian.csv' (FORMAT csv, HEADER)
-- the least a with P[|X| > a] <= beta, beta on either side of P[|X| >= m]
CREATE TABLE tail AS SELECT sigma2, key::numeric AS m, 2 * value::numeric AS p FROM tails t, jsonb_each_text(to_jsonb(t)) WHERE key ~ '^\d+$';
SELECT is(count(*)::int, 66, 'discrete_gaussian.csv has 11 records of 6 tails') FROM tail;
SELECT is_empty($$SELECT * FROM tail, sqrt(fraction(sigma2)::numeric(60, 40)) s WHERE p > 1e-14
	AND (dp_gaussian_error(s, 1 - p * (1 + 1e-9)) = m - 1 AND dp_gaussian_error(s, 1 - p * (1 - 1e-9)) = m
		AND dp_gaussian_error(s, 1 - 7 * p * (1 + 1e-9), 7) = m - 1 AND dp_gaussian_error(s / 8, 1 - p * (1 - 1e-9), granule => 0.125) = m / 8) IS NOT TRUE
	AND 7 * p < 1$$, 'errors of Gaussian noise are quantiles of the discrete law');
SELECT cmp_ok(count(*), '>', 15::bigint, 'many tails are compared') FROM tail WHERE p > 1e-14 AND 7 * p < 1;
SELECT is_empty($$SELECT * FROM (VALUES (0.95, 1.959963984540054), (0.99, 2.575829303548901), (0.999999, 4.891638475699027)) v(c, z), unnest(ARRAY[100, 8000, 9000, 1e6, 1e10]) s
	WHERE (dp_gaussian_error(s, c) BETWEEN s * z - 1 AND s * z * (1 + 1e-9) + 1) IS NOT TRUE$$, 'and near the normal law''s, for large sigma');
-- Theorem 3.11 at its confidence, over the exact laws of both mechanisms
CREATE TABLE choice (mechanism text, vector text, scores text, eps text, sensitivity numeric, monotone text, index0 int, score numeric, probability numeric);
ALTER TABLE choice ALTER mechanism SET DEFAULT 'exponential mechanism';
\copy choice (vector, scores, eps, sensitivity, monotone, index0, score, probability) FROM 'test/oracle/exponential_mechanism.csv' (FORMAT csv, HEADER)
ALTER TABLE choice ALTER mechanism SET DEFAULT 'permute-and-flip';
\copy choice (vector, scores, eps, sensitivity, monotone, index0, score, probability) FROM 'test/oracle/permute_and_flip.csv' (FORMAT csv, HEADER)
CREATE TABLE bounded AS
	SELECT mechanism, vector, eps, monotone, c, bool_or(best - score < bound) AS bites, sum(probability) FILTER (WHERE best - score >= bound) AS missed
	FROM (SELECT *, max(score) OVER w AS best, count(*) OVER w AS candidates FROM choice WINDOW w AS (PARTITION BY mechanism, vector, eps, monotone)) t,
		unnest(ARRAY[0.1, 0.5, 0.9, 0.99]) c,
		dp_selection_error(candidates, sensitivity, fraction(eps), c, monotone = 'yes') bound
	GROUP BY mechanism, vector, eps, monotone, c;
SELECT is((count(*), count(missed) > 10)::text, '(144,t)', '144 bounds of selections, some of them within the scores') FROM bounded;
SELECT is_empty('SELECT * FROM bounded WHERE missed > 1 - c', 'Theorem 3.11 holds at its confidence');
CREATE TABLE randomized_response (eps text, p_truth numeric, variance numeric, rho numeric);
\copy randomized_response FROM 'test/oracle/randomized_response.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 5, 'randomized_response.csv has 5 records') FROM randomized_response;
SELECT is_empty($$SELECT * FROM randomized_response, dp_randomized_response_error(1000, fraction(eps)) s
	WHERE (above(s ^ 2, 1000 * variance) AND near(dp_randomized_response_error(1000, fraction(eps), 5), 2 * s, 1e-20)) IS NOT TRUE$$, 'standard errors of randomized response');
SELECT is(dp_randomized_response_error(1200), 30::numeric, 'the book''s coins: sqrt(3 n) / 2');

-- Filters, odometer, plans
CREATE TABLE filter_max_calls (eps_budget numeric, delta_budget numeric, eps_each numeric, rho_budget numeric, basic bigint, whitehouse bigint, zcdp_half_eps2 bigint,
	zcdp_tanh bigint, zcdp_rational bigint, or_filter bigint);
\copy filter_max_calls FROM 'test/oracle/filter_max_calls.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 36, 'filter_max_calls.csv has 36 records') FROM filter_max_calls;
SELECT is_empty('SELECT * FROM filter_max_calls WHERE below(dp_zcdp_rho(eps_budget, delta_budget), rho_budget) IS NOT TRUE', 'rho of the filters');
SELECT is_empty(format($$SELECT * FROM filter_max_calls
	WHERE ((%1$s = 0 OR planned(eps_budget, 2 * delta_budget, greatest(%1$s, 1), %2$L) >= eps_each) AND planned(eps_budget, 2 * delta_budget, %1$s + 1, %2$L) < eps_each) IS NOT TRUE$$,
	c, f), 'plan of ' || f || ' for the calls that it admits, and one more')
FROM (VALUES ('basic', 'basic'), ('whitehouse', 'advanced'), ('zcdp_rational', 'zcdp'), ('or_filter', 'best')) v(c, f);
CREATE TABLE filters (sequence text, delta_prime numeric, n int, basic_sum_eps numeric, whitehouse_lhs numeric, sum_half_eps2 numeric, zcdp_eps_from_half_eps2 numeric,
	sum_eps_tanh numeric, zcdp_eps_from_tanh numeric);
\copy filters FROM 'test/oracle/filters.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 90, 'filters.csv has 90 records') FROM filters;
SELECT is_empty($$SELECT * FROM filters, regexp_replace(sequence, '^const|^cycle', '') s, CAST(string_to_array(s, '_') AS numeric[]) e,
		dp_compose_basic((SELECT array_agg(e[1 + i % cardinality(e)] ORDER BY i) FROM generate_series(0, n - 1) i)) c
	WHERE (c.epsilon = basic_sum_eps AND c.delta = 0) IS NOT TRUE$$, 'sums of different charges');
SELECT is_empty($$SELECT * FROM filters WHERE (above(dp_zcdp_epsilon(sum_half_eps2, delta_prime), zcdp_eps_from_half_eps2)
	AND above(dp_zcdp_epsilon(sum_eps_tanh, delta_prime), zcdp_eps_from_tanh)) IS NOT TRUE$$, 'epsilon from sums of rho');
SELECT is_empty($$SELECT * FROM filters, CAST(substr(sequence, 6) AS numeric) e WHERE sequence LIKE 'const%'
	AND (planned(whitehouse_lhs * (1 + 1e-12), 2 * delta_prime, n, 'advanced') >= e AND planned(whitehouse_lhs * (1 - 1e-12), 2 * delta_prime, n, 'advanced') < e) IS NOT TRUE$$,
	'left sides of the advanced filter');
CREATE TABLE odometer (delta numeric, j int, rho_j numeric, delta_j numeric, eps_j numeric);
\copy odometer FROM 'test/oracle/odometer.csv' (FORMAT csv, HEADER)
SELECT is(count(*)::int, 28, 'odometer.csv has 28 records') FROM odometer;
SELECT is_empty($$SELECT * FROM odometer, round(2::numeric(60, 40) ^ (j - 10), 24) rho
	WHERE (near(rho, rho_j, 1e-16) AND above(dp_odometer(rho, delta), eps_j) AND dp_odometer(rho - 1e-24, delta) = dp_odometer(rho, delta)
		AND dp_odometer(rho + 1e-24, delta) > dp_odometer(rho, delta)) IS NOT TRUE$$, 'the odometer, which moves in octaves');
SELECT results_eq('SELECT filter, kind, epsilon_per_query FROM dp_plan(1, 0, 4)', $$VALUES ('basic', 'adaptive filter', 0.25), ('advanced', 'adaptive filter', NULL), ('zcdp', 'adaptive filter', NULL),
	('best', 'adaptive filter', 0.25), ('corollary 3.21', 'registered batch', NULL), ('theorem 3.20', 'registered batch', NULL), ('optimal', 'registered batch', NULL)$$, 'a plan without delta');
SELECT is_empty($$SELECT * FROM unnest(ARRAY[0.1, 1, 8]) e, unnest(ARRAY[1, 2, 10, 100, 1000, 20000]) k,
		LATERAL (SELECT max(epsilon_per_query) FILTER (WHERE filter = 'theorem 3.20') AS t, max(epsilon_per_query) FILTER (WHERE filter = 'optimal') AS o,
			max(epsilon_per_query) AS most FROM dp_plan(e, 1e-6, k)) p
	WHERE (o = most AND (dp_compose_advanced(t, 0, k, 1e-6)).epsilon <= e AND (dp_compose_advanced(t + 1e-24, 0, k, 1e-6)).epsilon > e
		AND (dp_compose_optimal(o, 0, k, 1e-6)).epsilon <= e * (1 + 1e-12)) IS NOT TRUE$$, 'batches of a plan compose to the total; nothing beats the optimum');

-- A plan that is followed is not refused: the ledger admits k such queries, and not k with more
CREATE ROLE regress_accounting_owner;
CREATE ROLE regress_accounting_analyst;
GRANT USAGE, CREATE ON SCHEMA regress_accounting TO regress_accounting_owner;
GRANT USAGE ON SCHEMA regress_accounting TO regress_accounting_analyst;
SET ROLE regress_accounting_owner;
CREATE TABLE visit (id int);
SELECT dp_protect('visit', dataset => 'regress_accounting') \g /dev/null
RESET ROLE;
CREATE FUNCTION calls_left(rule text, each numeric) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	SET ROLE regress_accounting_owner;
	PERFORM dp_grant('regress_accounting_analyst', 'regress_accounting', epsilon => 1, delta => 1e-6, filter => rule);
	SET ROLE regress_accounting_analyst;
	PERFORM set_config('dp_pg.epsilon', each::text, true);
	SELECT b.calls_left INTO n FROM dp_pg.my_budget b WHERE dataset = 'regress_accounting';
	RESET ROLE;
	RETURN n;
END $$;
SELECT ok(calls_left(f, e) >= k AND calls_left(f, round(e * (1 + 1e-6), 24)) < k, format('%s admits %s queries of %s', f, k, e))
FROM unnest('{basic,advanced,zcdp,best}'::text[]) f, unnest(ARRAY[3, 100, 1000]) k, round(planned(1, 1e-6, k, f), 24) e;

-- Every form: double precision answers as numeric, NULL gives NULL, everybody may call it;
-- previews of sparse vector are judged by sparse_error.sql
CREATE TABLE form AS SELECT p.oid AS id, p.* FROM pg_proc p WHERE (prosrc ~ '^dp_accounting_' AND proname NOT IN ('dp_sparse_vector_error', 'dp_weights_error'))
	OR p.oid = to_regprocedure('dp_compose_basic(integer[], integer[])');
SELECT is(count(*)::int, 50, '24 functions of two forms, and two more') FROM form;
SELECT is_empty($$SELECT id::regprocedure FROM form WHERE NOT (provolatile = 'i' AND proisstrict AND proparallel = 's' AND NOT prosecdef AND has_function_privilege('public', id, 'EXECUTE'))$$,
	'immutable, strict, parallel safe, for everybody');
SELECT is_empty($$SELECT id::regprocedure FROM form WHERE obj_description(id) !~ 'NULL.*22023'$$, 'their comments name NULL and the errors');
CREATE TABLE sample (name text, arguments text[]);
INSERT INTO sample VALUES ('compose_basic', '{0.1,1e-6,7}'), ('compose_basic', '{"array[0.1,0.3]","array[0,1e-7]"}'), ('compose_advanced', '{0.1,1e-9,7,1e-6}'), ('compose_optimal', '{0.1,1e-9,7,1e-6}'),
	('epsilon_for', '{1,7,1e-6}'), ('epsilon_for_advanced', '{1,7,1e-6}'), ('epsilon_for_optimal', '{1,7,1e-6}'), ('group_privacy', '{0.1,1e-6,3}'), ('group_privacy_rho', '{0.1,3}'),
	('zcdp_epsilon', '{0.1,1e-6}'), ('zcdp_rho', '{0.7,1e-6}'), ('zcdp_delta', '{0.1,0.7}'), ('pure_rho', '{0.3}'), ('exponential_rho', '{0.3}'), ('laplace_rho', '{1,0.3,0.1}'), ('gaussian_rho', '{1,0.7}'),
	('gaussian_sigma', '{1,0.7,1e-6,''exact'',0.1}'), ('gaussian_delta', '{1,3.3,0.7,0.1}'), ('laplace_error', '{1,0.3,0.9,7,0.1}'), ('gaussian_error', '{3.3,0.9,7,0.1}'),
	('selection_error', '{7,1,0.3,0.9,true}'), ('randomized_response_error', '{70,0.3,3}'), ('odometer', '{0.1,1e-6}'), ('plan', '{0.7,1e-6,7}');
-- calls of a sample: c with its number arguments cast to t, argument n replaced by r
CREATE FUNCTION call(s sample, t text, n int DEFAULT 0, r text DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT array_agg(f::text) FROM dp_%s(%s) f', (s).name, string_agg(CASE WHEN i = n THEN r WHEN a ~ '^array' THEN a || '::' || t || '[]' WHEN a ~ '^\d*[.]|^1$|^1e' THEN a || '::' || t ELSE a END, ', ' ORDER BY i))
	FROM unnest((s).arguments) WITH ORDINALITY u(a, i) $$;
SELECT results_eq(call(s, 'float8'), call(s, 'numeric'), format('dp_%s(%s) for double precision', name, array_to_string(arguments, ','))) FROM sample s;
-- bad arguments: numbers are the ones written with a point or an exponent
CREATE FUNCTION refusal(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	d text; h text;
BEGIN
	EXECUTE query;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || CASE WHEN d = '' OR h = '' THEN ' bare' ELSE '' END;
END $$;
CREATE TABLE bad AS
	SELECT call(s, t, i::int, format('%s::%s', b, t)) AS query
	FROM sample s, unnest(arguments) WITH ORDINALITY a(a, i), unnest('{numeric,float8}'::text[]) t, unnest('{''NaN'',''Infinity'',''-Infinity'',-0.1,1e30}'::text[]) b
	WHERE a ~ '^\d*[.]|^1$|^1e'
	UNION ALL SELECT call(s, t, i::int, b) FROM sample s, unnest(arguments) WITH ORDINALITY a(a, i), unnest('{numeric,float8}'::text[]) t, unnest('{0,-1,-9223372036854775808}'::text[]) b WHERE a IN ('7', '3', '70')
	UNION ALL SELECT call(s, t, i::int, format('array[0.1, %s]::%s[]', b, t)) FROM sample s, generate_series(1, 2) i, unnest('{numeric,float8}'::text[]) t, unnest('{"NULL",''NaN'',''Infinity'',-0.1,1e30}'::text[]) b WHERE arguments[1] ~ '^array';
SELECT cmp_ok(count(*), '>', 300::bigint, 'there is much bad input') FROM bad;
SELECT is_empty($$SELECT query, refusal(query) FROM bad WHERE refusal(query) <> '22023'$$, 'all of it is 22023 with detail and hint');
SELECT is(refusal('SELECT * FROM ' || q), '22023', q) FROM unnest(ARRAY['dp_compose_basic(0.1, 1, 7)', 'dp_compose_advanced(0.1, 0, 7, 0)', 'dp_compose_advanced(0.1, 0, 7, 1.0)', 'dp_compose_advanced(0.1, 0, 7, 1e-25)',
	'dp_compose_advanced(65, 0, 7, 1e-6)', 'dp_compose_basic(1e11, 0, 9223372036854775807)', 'dp_compose_basic(ARRAY[0.1, 0.1], ARRAY[0.1])', 'dp_compose_basic(array_fill(999999999999.0, ARRAY[1000]))',
	'dp_compose_optimal(0.1, 0, 1048577, 1e-6)', 'dp_compose_optimal(1001, 0, 7, 1e-6)', 'dp_epsilon_for(0, 7, 1e-6)', 'dp_epsilon_for_optimal(1001, 7, 1e-6)', 'dp_epsilon_for_optimal(1, 1048577, 1e-6)',
	'dp_group_privacy(1, 1.0, 3)', 'dp_group_privacy(1, 0, 9223372036854775807)', 'dp_group_privacy_rho(0.1, 9223372036854775807)', 'dp_zcdp_epsilon(0.1, 0)', 'dp_zcdp_epsilon(0.1, 1.0)', 'dp_zcdp_rho(1, 0)', 'dp_odometer(0.1, 0)',
	'dp_gaussian_sigma(0, 1, 1e-6)', 'dp_gaussian_sigma(1, 0, 1e-6)', 'dp_gaussian_sigma(1, 1, 0)', 'dp_gaussian_sigma(1, 1, 1e-6, ''none'')', 'dp_gaussian_sigma(1, 1, 1e-6, granule => 0)', 'dp_gaussian_sigma(1, 1, 1e-6, granule => 1e-19)',
	'dp_gaussian_sigma(1, 1, 1e-6, granule => 9.094947017729282379150390625e-13)', 'dp_gaussian_sigma(1, 1000, 1e-6)', 'dp_gaussian_delta(1, 0, 1)', 'dp_gaussian_delta(1, 0.01, 1)', 'dp_laplace_error(1, 0, 0.9)', 'dp_laplace_error(1, 0.1, 0)', 'dp_laplace_error(1, 0.1, 1)',
	'dp_laplace_error(1, 0.1, 95)', 'dp_laplace_error(1, 0.1, 0.9, granule => -1)', 'dp_laplace_error(999999999999, 1e-20, 0.9)', 'dp_gaussian_error(1, 1)', 'dp_gaussian_error(0, 0.9)', 'dp_gaussian_error(1e11, 0.9, granule => 1e-10)',
	'dp_selection_error(0, 1, 1, 0.9)', 'dp_selection_error(7, 0, 1, 0.9)', 'dp_randomized_response_error(0)', 'dp_randomized_response_error(7, 0)', 'dp_randomized_response_error(7, 1, 1)', 'dp_randomized_response_error(9223372036854775807, 1e-20)',
	'dp_plan(0, 0, 1)', 'dp_plan(1, 1.0, 1)', 'dp_laplace_rho(1, 1, 0)', 'dp_gaussian_rho(1, 0)']) q;
SELECT is_empty($$SELECT call(s, t, i, 'NULL') FROM sample s, unnest('{numeric,float8}'::text[]) t, generate_series(1, cardinality(arguments)) i
	WHERE (xpath('//array_agg//text()', query_to_xml(replace(call(s, t, i, 'NULL::' || CASE WHEN arguments[i] ~ '^array' THEN t || '[]' WHEN arguments[i] ~ '^\d*[.]|^1$|^1e' THEN t
		WHEN arguments[i] = 'true' THEN 'boolean' WHEN arguments[i] ~ '^''' THEN 'text' ELSE 'bigint' END), 'SELECT array_agg(f::text)', 'SELECT array_agg(f::text) FILTER (WHERE f IS NOT NULL)'), true, true, '')))[1] IS NOT NULL$$,
	'a NULL argument gives NULL');

-- The safe side: arguments finer than 24 digits round against the asker
SELECT is(dp_pure_rho(1e-3 + 1e-26), dp_pure_rho(1e-3 + 1e-24), 'a cost from an epsilon that rounds up');
SELECT is(dp_zcdp_rho(1 + 9e-25, 1e-6 + 9e-25), dp_zcdp_rho(1, 1e-6), 'an allowance from an epsilon and a delta that round down');
SELECT is(dp_laplace_error(1, 1, 0.9 + 1e-25, granule => 0), dp_laplace_error(1, 1, 0.9 + 1e-24, granule => 0), 'confidence rounds up');
SELECT ok(4 * s * s >= 3 AND 4 * (s - 1e-24) * (s - 1e-24) < 3, 'a root is the exact ceiling') FROM dp_randomized_response_error(1) s;
SELECT is(dp_zcdp_delta(1e-20, 1e11), 1e-16383, 'what is too small for numeric rounds up to its smallest number');
SELECT is(dp_gaussian_delta(2.5, 4, 1), dp_gaussian_delta(3, 4, 1), 'a sensitivity is the next multiple of the granule');
SELECT is((dp_compose_basic(0.1, 0, 3)).epsilon, 0.3, '0.1 three times is exactly 0.3');
SELECT is((dp_compose_basic(0.1::float8, 0::float8, 3)).epsilon, 0.3, 'in double precision too');
SELECT is_empty($$SELECT * FROM sample s, unnest(xpath('//text()', query_to_xml(call(s, 'numeric'), true, true, ''))) x, regexp_matches(x::text, '\.(\d+)', 'g') m
	WHERE name NOT IN ('zcdp_delta', 'gaussian_delta') AND length(m[1]) > 24$$, 'at most 24 digits after the point');
-- planned and sigma survive the way there and back
SELECT is_empty($$SELECT * FROM unnest(ARRAY[0.1, 0.5, 1, 3]) e, unnest(ARRAY[1e-3, 1e-9]) d, unnest(ARRAY[1, 0.25, 0.1]) g, dp_gaussian_sigma(1, e, d, granule => g) s
	WHERE (dp_gaussian_delta(1, s, e, granule => g) <= d) IS NOT TRUE$$, 'the exact sigma, printed and read again, keeps delta');

SELECT * FROM finish();
RESET ROLE;
SET client_min_messages = error;
DROP SCHEMA regress_accounting CASCADE;
DROP OWNED BY regress_accounting_owner, regress_accounting_analyst CASCADE;
DROP ROLE regress_accounting_owner, regress_accounting_analyst;
