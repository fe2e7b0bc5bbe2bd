/*
 * dp_accounting.h
 *	  Public interface of accounting: fixed-point charges, conversions,
 *	  compositions, filters and certificates.
 *
 * Pure C.  Everything a filter compares is a fixed-point number of exactly
 * 24 decimal digits after the point.  Charges round up, limits round down,
 * so rounding can only cost the spender.
 */
#ifndef DP_ACCOUNTING_H
#define DP_ACCOUNTING_H

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"

/* A non-negative number in units of 10^-24; saturates at DP_FIXED_INFINITE. */
typedef dp_uint128 dp_fixed;

#define DP_FIXED_DIGITS 24
#define DP_FIXED_ONE \
	((dp_fixed) UINT64_C(1000000000000) * UINT64_C(1000000000000))
#define DP_FIXED_GROUPS 10		/* most groups of four digits */
#define DP_FIXED_INFINITE (~(dp_fixed) 0)

/*
 * What one release costs.  epsilon is DP_FIXED_INFINITE for a mechanism that
 * has no pure guarantee; rho is always finite.
 */
typedef struct dp_charge
{
	dp_fixed	epsilon;
	dp_fixed	rho;
	dp_fixed	delta;
} dp_charge;

typedef enum dp_filter
{
	DP_FILTER_BASIC,			/* sum eps <= E and sum delta <= D */
	DP_FILTER_ZCDP,				/* sum rho <= rho_B and sum delta <= d'' */
	DP_FILTER_BEST,				/* either of the two sums, delta <= d'' */
	DP_FILTER_ADVANCED			/* sum eps^2 <= squares, sum delta <= d'' */
} dp_filter;

/*
 * What a budget or a cap promises: (epsilon, delta), and the certificate that
 * makes sums of rho comparable with it.  Found once by
 * dp_accounting_limit_make and stored; never recomputed while charging.
 */
typedef struct dp_limit
{
	dp_filter	filter;
	dp_fixed	epsilon;
	dp_fixed	delta;			/* whole delta of the grant */
	dp_fixed	delta_conversion;	/* d', spent on the conversion from rho */
	dp_fixed	delta_sum;		/* d'', bounds the sum of charges' deltas */
	dp_fixed	rho;			/* rho_B; 0 when the filter cannot use it */
	uint64_t	alpha;			/* the certificate's order, units of 2^-20 */
	dp_fixed	squares;		/* bound of the sum of squared epsilons; 0
								 * unless the filter is advanced */
} dp_limit;

/* Running sums over the charges admitted so far. */
typedef struct dp_spent
{
	dp_fixed	epsilon;		/* DP_FIXED_INFINITE once not pure */
	dp_fixed	rho;
	dp_fixed	delta;
	int64_t		charges;
	dp_fixed	squares;		/* of epsilons; infinite once not pure */
} dp_spent;

/* ---- fixed point (fixed.c) ---- */
extern dp_status dp_accounting_fixed_from_rational(const dp_rational *x,
												   dp_rounding rounding,
												   dp_fixed *out);
extern dp_status dp_accounting_fixed_to_rational(dp_fixed x, dp_rational *out);
/* saturates */
extern dp_fixed dp_accounting_fixed_add(dp_fixed a, dp_fixed b);
extern dp_fixed dp_accounting_fixed_left(dp_fixed limit, dp_fixed spent);
extern double dp_accounting_fixed_approx(dp_fixed x);

/* ---- decimal digits in groups of four (fixed.c) ---- */
extern dp_status dp_accounting_fixed_from_groups(const uint16_t *digits, int n,
												 int weight,
												 dp_rounding rounding,
												 dp_fixed *out, bool *exact);
extern int	dp_accounting_fixed_to_groups(dp_fixed x, uint16_t *digits,
										  int *weight, int *scale);

/* ---- conversions (charge.c) ---- */
extern dp_status dp_accounting_rho_from_pure(const dp_rational *epsilon,
											 dp_fixed *rho);
extern dp_status dp_accounting_rho_from_laplace(dp_uint128 sensitivity,
												const dp_rational *epsilon,
												dp_fixed *rho);

/* ---- certificates (filter.c) ---- */
extern dp_status dp_accounting_rho_certificate(dp_fixed epsilon,
											   dp_fixed delta,
											   dp_fixed *rho, uint64_t *alpha);
extern bool dp_accounting_rho_certified(dp_fixed epsilon, dp_fixed delta,
										dp_fixed rho, uint64_t alpha);

/* ---- how a mechanism is charged (charge.c) ---- */
extern dp_status dp_accounting_rho_from_exponential(const dp_rational *epsilon,
													dp_fixed *rho);
extern dp_filter dp_accounting_charge_filter(const dp_limit *payer,
											 const dp_limit *cap);
extern void dp_accounting_charge_gaussian(dp_filter filter, dp_fixed epsilon,
										  dp_fixed delta, dp_fixed rho,
										  dp_charge *out);

/* ---- filters and sums (filter.c, charge.c) ---- */
extern bool dp_accounting_filter_parse(const char *name, dp_filter *out);
extern const char *dp_accounting_filter_name(dp_filter filter);
extern dp_status dp_accounting_limit_make(dp_filter filter, dp_fixed epsilon,
										  dp_fixed delta, dp_limit *out);
extern bool dp_accounting_limit_admits(const dp_limit *limit,
									   const dp_spent *spent,
									   const dp_charge *charge);
extern bool dp_accounting_limit_holds(const dp_limit *limit,
									  const dp_spent *spent);
extern dp_status dp_accounting_spent_add(dp_spent *spent,
										 const dp_charge *charge);
extern dp_status dp_accounting_spent_sum(dp_spent *spent,
										 const dp_spent *more);
extern dp_status dp_accounting_spent_rise(dp_spent *spent,
										  const dp_spent *maximum,
										  const dp_spent *part);
extern void dp_accounting_spent_maximum(dp_spent *maximum,
										const dp_spent *part);
extern dp_status dp_accounting_charge_add(dp_charge *sum,
										  const dp_charge *charge);
extern dp_fixed dp_accounting_square(dp_fixed epsilon);
extern dp_status dp_accounting_squares_limit(dp_fixed epsilon, dp_fixed delta,
											 dp_fixed *squares);
extern int64_t dp_accounting_limit_calls(const dp_limit *limit,
										 const dp_spent *spent,
										 const dp_charge *charge);

/* ---- numbers of any size (value.c) ---- */

/* digits * 10^exponent, for a delta too small for dp_fixed; 0 has digits 0. */
typedef struct dp_decimal
{
	uint64_t	digits;
	int32_t		exponent;
} dp_decimal;

/* ---- composition (composition.c) ---- */
extern dp_fixed dp_accounting_cap_delta(dp_fixed delta);
extern dp_status dp_accounting_sum_basic(dp_fixed epsilon, dp_fixed delta,
										 int64_t k, dp_fixed *epsilon_out,
										 dp_fixed *delta_out);
extern dp_status dp_accounting_sum_advanced(dp_fixed epsilon, dp_fixed delta,
											int64_t k, dp_fixed slack,
											dp_fixed *epsilon_out,
											dp_fixed *delta_out);
extern dp_status dp_accounting_find_epsilon(dp_fixed epsilon_total, int64_t k,
											dp_fixed slack, dp_fixed *out);
extern dp_status dp_accounting_find_epsilon_advanced(dp_fixed epsilon_total,
													 int64_t k, dp_fixed slack,
													 dp_fixed *out);
extern dp_status dp_accounting_sum_optimal(dp_fixed epsilon, dp_fixed delta,
										   int64_t k, dp_fixed slack,
										   dp_fixed *epsilon_out,
										   dp_fixed *delta_out);
extern dp_status dp_accounting_optimal_delta(dp_fixed epsilon, int64_t k,
											 dp_fixed epsilon_total,
											 dp_decimal *out);
extern dp_status dp_accounting_find_epsilon_optimal(dp_fixed epsilon_total,
													int64_t k, dp_fixed slack,
													dp_fixed *out);
extern dp_status dp_accounting_group(const dp_charge *charge, int64_t g,
									 dp_charge *out);

/* ---- error, plans (composition.c) ---- */

/* Per-query epsilon for k equal pure queries; 0 where a rule gives none. */
typedef struct dp_plan
{
	dp_fixed	basic;			/* filters, queries chosen adaptively */
	dp_fixed	advanced;
	dp_fixed	zcdp;
	dp_fixed	best;
	dp_fixed	corollary;		/* registered batches: Corollary 3.21, */
	dp_fixed	theorem;		/* Theorem 3.20, */
	dp_fixed	optimal;		/* optimal composition */
} dp_plan;

extern dp_status dp_accounting_make_plan(dp_fixed epsilon_total,
										 dp_fixed delta,
										 int64_t k, dp_plan *out);
extern dp_status dp_accounting_laplace_bound(dp_fixed sensitivity,
											 dp_fixed epsilon, int64_t k,
											 dp_fixed beta, dp_fixed *out);
extern dp_status dp_accounting_error_of_laplace(uint64_t sensitivity,
												dp_fixed epsilon, int64_t k,
												dp_fixed beta,
												dp_uint128 *out);
extern dp_status dp_accounting_error_of_geometric(uint64_t sensitivity,
												  dp_fixed epsilon, int64_t k,
												  dp_fixed beta,
												  dp_uint128 *out);

/* ---- zCDP both ways, odometer (concentrated.c) ---- */
extern dp_status dp_accounting_epsilon_of_zcdp(dp_fixed rho, dp_fixed delta,
											   dp_fixed *epsilon);
extern dp_status dp_accounting_rho_of_zcdp(dp_fixed epsilon, dp_fixed delta,
										   dp_fixed *rho);
extern dp_status dp_accounting_delta_of_zcdp(dp_fixed rho, dp_fixed epsilon,
											 dp_decimal *delta);
extern dp_status dp_accounting_odometer_read(dp_fixed rho, dp_fixed delta,
											 dp_fixed *epsilon);

/* ---- Gaussian noise (concentrated.c) ---- */
extern dp_status dp_accounting_rho_from_gaussian(uint64_t sensitivity,
												 const dp_rational *variance,
												 dp_fixed *rho);
extern dp_status dp_accounting_delta_of_gaussian(uint64_t sensitivity,
												 const dp_rational *variance,
												 dp_fixed epsilon,
												 dp_decimal *delta);
extern dp_status dp_accounting_variance_zcdp(uint64_t sensitivity,
											 dp_fixed epsilon,
											 dp_fixed delta,
											 dp_rational *variance);
extern dp_status dp_accounting_variance_exact(uint64_t sensitivity,
											  dp_fixed epsilon,
											  dp_fixed delta,
											  dp_rational *variance);
extern dp_status dp_accounting_variance_classical(uint64_t sensitivity,
												  dp_fixed epsilon,
												  dp_fixed delta,
												  dp_rational *variance);

/* ---- standard deviations and errors (deviation.c) ---- */
extern dp_status dp_accounting_sigma_from_variance(dp_fixed scale,
												   const dp_rational *variance,
												   dp_fixed *sigma);
extern dp_status dp_accounting_variance_from_sigma(dp_fixed sigma,
												   dp_fixed granule,
												   dp_rational *variance);
extern dp_status dp_accounting_error_of_gaussian(const dp_rational *variance,
												 int64_t k, dp_fixed beta,
												 dp_uint128 *out);
extern dp_status dp_accounting_error_of_coins(int64_t n, dp_fixed *out);
extern dp_status dp_accounting_error_of_response(int64_t n, int64_t c,
												 dp_fixed epsilon,
												 dp_fixed *out);

/* ---- sparse vector (interactive.c) ---- */

typedef enum dp_sparse_method
{
	DP_SPARSE_BEST,				/* whichever of the next two has least alpha */
	DP_SPARSE_GEOMETRIC,		/* one threshold for the whole session */
	DP_SPARSE_ROUNDS,			/* a threshold afresh after each "above" */
	DP_SPARSE_BOOK				/* Algorithms 1 to 3, corrected */
} dp_sparse_method;

/* A request for a session; every number is public. */
typedef struct dp_sparse_request
{
	dp_sparse_method method;
	uint64_t	sensitivity;	/* of one query */
	bool		monotone;		/* neighbours move all queries the same way */
	bool		numeric;
	int64_t		questions;		/* most that will be asked */
	int64_t		cutoff;			/* most "above"s */
	dp_fixed	epsilon;		/* of the whole session */
	dp_fixed	delta;
	dp_fixed	beta;			/* 1 - confidence of alpha */
} dp_sparse_request;

/*
 * A session's plan.  With probability 1 - beta every answer up to the last
 * "above" is right: "above" only for values >= threshold - alpha, "below" only
 * for values <= threshold + alpha, numeric answers within alpha.
 */
typedef struct dp_sparse_plan
{
	dp_sparse_method method;	/* never DP_SPARSE_BEST */
	bool		two_sided;
	bool		numeric;
	bool		fresh;			/* arm again after each "above" */
	uint64_t	threshold_sensitivity;	/* scales: sensitivity / epsilon */
	dp_fixed	threshold_epsilon;
	uint64_t	query_sensitivity;
	dp_fixed	query_epsilon;
	uint64_t	answer_sensitivity; /* numeric only */
	dp_fixed	answer_epsilon;
	int64_t		offset;			/* public, added to the threshold */
	dp_uint128	alpha;			/* rounded up */
	dp_charge	charge;			/* of the whole session */
} dp_sparse_plan;

extern dp_status dp_accounting_sparse_plan(const dp_sparse_request *request,
										   dp_sparse_plan *out);
extern dp_status dp_accounting_sparse_law(const dp_sparse_plan *plan,
										  dp_threshold_law *out);
extern const char *dp_accounting_sparse_name(dp_sparse_method method);
extern bool dp_accounting_sparse_parse(const char *name,
									   dp_sparse_method *out);

/* ---- online multiplicative weights (interactive.c) ---- */

typedef struct dp_weights_request
{
	dp_sparse_method method;
	int64_t		cells;			/* |X| */
	int64_t		questions;
	int64_t		n;				/* public number of rows */
	uint64_t	sensitivity;	/* of one count */
	dp_fixed	epsilon;
	dp_fixed	delta;
	dp_fixed	beta;
	dp_fixed	alpha;			/* fraction of n; 0: the least reachable */
} dp_weights_request;

/* Errors of answers are at most 3 alpha n with probability 1 - beta. */
typedef struct dp_weights_plan
{
	dp_fixed	alpha;
	int64_t		updates;		/* the cutoff */
	dp_fixed	step;			/* eta: a cell's weight is multiplied by
								 * e^(-eta r), r its value in the question or
								 * 1 minus that */
	int64_t		threshold;		/* of |F - round(n f)|, in rows */
	dp_sparse_plan sparse;		/* numeric, not monotone */
} dp_weights_plan;

/* DP_E_RANGE: alpha cannot be reached; then out->alpha is the least. */
extern dp_status dp_accounting_weights_plan(const dp_weights_request *request,
											dp_weights_plan *out);

#endif							/* DP_ACCOUNTING_H */
