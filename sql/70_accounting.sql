-- Accounting as plain functions, to plan budgets.  They read no data and
-- charge nothing, so everybody may call them.  Costs, noise and errors are
-- rounded up, allowances down, to 24 digits after the point.
--
-- One row per function; the last column is the comment.
SELECT dp_pg.make_twins(name, arguments,
	result || ' IMMUTABLE STRICT PARALLEL SAFE', 'dp_accounting_' || symbol,
	comment || CASE name WHEN 'dp_plan' THEN '; no rows' ELSE '; NULL' END ||
	' when an argument is NULL; errors 22023')
FROM (VALUES
('dp_compose_basic', 'compose_basic',
'epsilon NUMBER, delta NUMBER, k bigint, OUT epsilon numeric, OUT delta numeric',
'', 'k mechanisms, (epsilon, delta)-DP each, chosen adaptively: exactly k epsilon and k delta, but a delta of 1 at most (book, Theorem 3.16)'),

('dp_compose_basic', 'compose_sum',
$$epsilons NUMBER[], deltas NUMBER[] DEFAULT '{}', OUT epsilon numeric, OUT delta numeric$$,
'', 'different mechanisms together: the exact sums of their epsilons and deltas, but a delta of 1 at most (book, Theorem 3.16); no deltas at all means pure mechanisms; the arrays have one length and no NULL elements'),

('dp_compose_advanced', 'compose_advanced',
'epsilon NUMBER, delta NUMBER, k bigint, delta_slack NUMBER, OUT epsilon numeric, OUT delta numeric',
'', 'k mechanisms, (epsilon, delta)-DP each, by Theorem 3.20 of the book as printed: sqrt(2 k ln(1/delta_slack)) epsilon + k epsilon (e^epsilon - 1), which may exceed k epsilon, and k delta + delta_slack, at most 1; k fixed before, 0 < delta_slack < 1'),

('dp_compose_optimal', 'compose_optimal',
'epsilon NUMBER, delta NUMBER, k bigint, delta_slack NUMBER, OUT epsilon numeric, OUT delta numeric',
'', 'k mechanisms, (epsilon, delta)-DP each, by the optimal composition (Kairouz, Oh, Viswanath 2015): the least epsilon for delta_slack, and k delta + delta_slack, at most 1; k fixed before, at most 2^20, epsilon at most 1000, 0 < delta_slack < 1'),

('dp_epsilon_for', 'epsilon_for',
'epsilon_total NUMBER, k bigint, delta_slack NUMBER', 'RETURNS numeric',
'epsilon that each of k mechanisms may have by Corollary 3.21 of the book, epsilon_total / (2 sqrt(2 k ln(1/delta_slack))); refused where Theorem 3.20 does not confirm it (a delta_slack near 1, a large epsilon_total)'),

('dp_epsilon_for_advanced', 'epsilon_for_advanced',
'epsilon_total NUMBER, k bigint, delta_slack NUMBER', 'RETURNS numeric',
'the largest epsilon for which dp_compose_advanced of k mechanisms stays within epsilon_total: the exact inverse of Theorem 3.20, about twice dp_epsilon_for'),

('dp_epsilon_for_optimal', 'epsilon_for_optimal',
'epsilon_total NUMBER, k bigint, delta_slack NUMBER', 'RETURNS numeric',
'the largest epsilon for which dp_compose_optimal of k mechanisms stays within epsilon_total; k at most 2^20, epsilon_total at most 1000'),

('dp_group_privacy', 'group_privacy',
'epsilon NUMBER, delta NUMBER, group_size bigint, OUT epsilon numeric, OUT delta numeric',
'', 'what (epsilon, delta)-DP for one unit means for a group: group_size epsilon and delta (e^(group_size epsilon) - 1)/(e^epsilon - 1), which is 1 where nothing is known (book, Theorem 2.2)'),

('dp_group_privacy_rho', 'group_privacy_rho',
'rho NUMBER, group_size bigint', 'RETURNS numeric',
'what rho-zCDP for one unit means for a group: exactly group_size^2 rho (Bun and Steinke 2016)'),

('dp_zcdp_epsilon', 'zcdp_epsilon',
'rho NUMBER, delta NUMBER', 'RETURNS numeric',
'the epsilon for which rho-zCDP implies (epsilon, delta)-DP, by the tightest known conversion (Canonne, Kamath, Steinke 2020); 0 < delta < 1'),

('dp_zcdp_rho', 'zcdp_rho',
'epsilon NUMBER, delta NUMBER', 'RETURNS numeric',
'the largest rho for which rho-zCDP implies (epsilon, delta)-DP: the inverse of dp_zcdp_epsilon, an allowance; what a pure epsilon costs is dp_pure_rho; 0 < delta < 1'),

('dp_zcdp_delta', 'zcdp_delta',
'rho NUMBER, epsilon NUMBER', 'RETURNS numeric',
'the delta for which rho-zCDP implies (epsilon, delta)-DP, to 18 significant digits however small (Canonne, Kamath, Steinke 2020)'),

('dp_pure_rho', 'pure_rho',
'epsilon NUMBER', 'RETURNS numeric',
'what a mechanism of pure epsilon costs as rho when nothing else is known of it: at most epsilon^2 / 2 (Bun and Steinke 2016)'),

('dp_exponential_rho', 'exponential_rho',
'epsilon NUMBER', 'RETURNS numeric',
'what the exponential mechanism of pure epsilon costs as rho: at most epsilon^2 / 8, since its loss has a bounded range (Cesar and Rogers 2021); permute-and-flip and noisy max cost dp_pure_rho'),

('dp_laplace_rho', 'laplace_rho',
'sensitivity NUMBER, epsilon NUMBER, granule NUMBER DEFAULT 1',
'RETURNS numeric',
'what discrete Laplace noise of scale sensitivity/epsilon on multiples of granule costs as rho; never above dp_pure_rho(epsilon)'),

('dp_gaussian_rho', 'gaussian_rho',
'sensitivity NUMBER, sigma NUMBER', 'RETURNS numeric',
'what discrete Gaussian noise costs as rho: sensitivity^2 / (2 sigma^2), sensitivity in the L2 norm (Canonne, Kamath, Steinke 2020)'),

('dp_gaussian_sigma', 'gaussian_sigma',
$$sensitivity NUMBER, epsilon NUMBER, delta NUMBER, method text DEFAULT 'exact', granule NUMBER DEFAULT 1$$,
'RETURNS numeric',
'the sigma of Gaussian noise for (epsilon, delta)-DP, in the unit of sensitivity; method exact: least for one number on multiples of granule, to 2^-19 of its square (Canonne, Kamath, Steinke 2020, Theorem 7); zcdp: through rho, right for vectors too; classical: Theorem 3.22 of the book, for an epsilon up to 1 and where zCDP confirms it for the discrete noise; granule matters to exact alone, which takes sensitivity as the next multiple of it'),

('dp_gaussian_delta', 'gaussian_delta',
'sensitivity NUMBER, sigma NUMBER, epsilon NUMBER, granule NUMBER DEFAULT 1',
'RETURNS numeric',
'the least delta for which discrete Gaussian noise on multiples of granule makes one number (epsilon, delta)-DP, to 18 significant digits however small; within 10^-12 of it for a sigma up to 8192 granules, within 1% beyond (Canonne, Kamath, Steinke 2020, Theorem 7)'),

('dp_laplace_error', 'laplace_error',
'sensitivity NUMBER, epsilon NUMBER, confidence NUMBER, k bigint DEFAULT 1, granule NUMBER DEFAULT 1',
'RETURNS numeric',
'none of k answers with Laplace noise of scale sensitivity/epsilon is off by more than this, with probability confidence; exact for the discrete noise on multiples of granule, in the unit of sensitivity, which is taken as the next multiple of granule; granule 0: continuous noise, Theorem 3.8 of the book, ln(k/(1 - confidence)) sensitivity/epsilon; 0 < confidence < 1'),

('dp_gaussian_error', 'gaussian_error',
'sigma NUMBER, confidence NUMBER, k bigint DEFAULT 1, granule NUMBER DEFAULT 1',
'RETURNS numeric',
'none of k answers with discrete Gaussian noise on multiples of granule is off by more than this, with probability confidence; in the unit of sigma; the least multiple up to a sigma of 8192 granules, beyond at most one more; 0 < confidence < 1'),

('dp_selection_error', 'selection_error',
'candidates bigint, sensitivity NUMBER, epsilon NUMBER, confidence NUMBER, monotone boolean DEFAULT false',
'RETURNS numeric',
'the chosen candidate scores less than this below the best one, with probability confidence: (2 sensitivity/epsilon) ln(candidates/(1 - confidence)), half of it for scores that are monotone in the data, such as counts under add/remove; in the unit of the scores; for the exponential mechanism (book, Theorem 3.11) and for permute-and-flip, which is never worse'),

('dp_randomized_response_error', 'response_error',
'n bigint, epsilon NUMBER, candidates bigint DEFAULT 2', 'RETURNS numeric',
'standard error of a count estimated from n randomized responses, given the truth: sqrt(n e^epsilon) / (e^epsilon - 1); with more than two candidates the largest it can be, that times sqrt(candidates - 1); divide by n for a fraction'),

('dp_odometer', 'odometer',
'rho NUMBER, delta NUMBER', 'RETURNS numeric',
'the epsilon that may be claimed, with delta, for a sum of rho spent so far, at every moment at once and however the moment was chosen; deltas of the charges come on top; 0 < delta < 1'),

('dp_plan', 'plan',
'epsilon_total NUMBER, delta NUMBER, k bigint, OUT filter text, OUT kind text, OUT epsilon_per_query numeric',
'RETURNS SETOF record ROWS 7',
'the epsilon that each of k equal pure queries may have within a budget (epsilon_total, delta), one row per rule: adaptive filters of dp_grant, and batches whose k and epsilon are fixed before; epsilon_per_query is NULL where a rule gives nothing; 0 <= delta < 1')
) v(name, symbol, arguments, result, comment);

-- Whole numbers, which fit numeric[] and double precision[] alike.
CREATE FUNCTION @extschema@.dp_compose_basic(
	epsilons integer[], deltas integer[] DEFAULT '{}',
	OUT epsilon numeric, OUT delta numeric)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT * FROM @extschema@.dp_compose_basic($1::pg_catalog.numeric[],
											   $2::pg_catalog.numeric[])';
COMMENT ON FUNCTION @extschema@.dp_compose_basic(integer[], integer[]) IS
'dp_compose_basic for arrays of whole numbers; NULL when an argument is NULL; errors 22023';

CREATE FUNCTION @extschema@.dp_randomized_response_error(n bigint)
RETURNS numeric
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dp_accounting_two_coins_error';
COMMENT ON FUNCTION @extschema@.dp_randomized_response_error(bigint) IS
'standard error of a count estimated from n answers of the book''s two coins, given the truth: sqrt(3 n) / 2; divide by n for a fraction; NULL when n is NULL; errors 22023';
