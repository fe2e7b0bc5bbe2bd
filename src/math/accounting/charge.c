/*
 * charge.c
 *	  What a mechanism costs, in every notion of a charge, and sums of what was
 *	  spent.
 */
#include "../numbers/dp_numbers.h"
#include "dp_accounting.h"
#include "accounting_internal.h"

/* ----------------
 *		What a mechanism costs in zero-concentrated differential privacy.
 *
 * The costs of mechanisms are exact integer arithmetic (pure epsilon) or
 * proved bounds (Laplace, accounting_internal.h), rounded up.
 * ----------------
 */

/*
 * (e^2/2) (60 + e^2) / (60 + 6 e^2) for e = p/q, that is
 * p^2 (60 q^2 + p^2) / (12 q^2 (10 q^2 + p^2)), rounded up.
 */
static dp_fixed
rho_by_pade(dp_big *b, const BIGNUM *p, const BIGNUM *q)
{
	BIGNUM	   *p2 = big_square(b, p);
	BIGNUM	   *q2 = big_square(b, q);
	BIGNUM	   *num = big_add(b, big_multiply_word(b, q2, 60), p2);
	BIGNUM	   *den = big_add(b, big_multiply_word(b, q2, 10), p2);

	den = big_multiply_word(b, big_multiply(b, den, q2), 12);
	return dp_accounting_ratio_to_fixed(b, big_multiply(b, num, p2), den,
										DP_ROUND_UP);
}

/*
 * e - (1 - e^-e) x / sinh(x) for e = p/q, x = e/sensitivity, rounded up.
 * With a and s lower bounds of the two factors, in units of 2^-B, an upper
 * bound is (p/q) - a s / 2^2B; p/q itself stays exact until the ceiling.
 */
static dp_fixed
rho_by_laplace(dp_big *b, const BIGNUM *p, const BIGNUM *q,
			   dp_uint128 sensitivity)
{
	const int	twice = 2 * DP_VALUE_BITS;
	BIGNUM	   *a;
	BIGNUM	   *s;
	BIGNUM	   *num;

	/* a: 1 - e^-e from below, so e^-e from above */
	a = big_subtract(b, value_one(b), value_exp(b, p, q, DP_ROUND_UP));
	if (big_is_negative(b, a))
		a = big_of(b, 0);
	s = dp_numbers_big_over_sinh(b, p,
								 big_multiply(b, big_of(b, sensitivity), q),
								 DP_VALUE_BITS);

	/* (p 2^2B - a s q) / (q 2^2B), never negative: a s / 2^2B < e */
	num = big_multiply(b, big_multiply(b, a, s), q);
	num = big_subtract(b, big_shift(b, p, twice), num);
	return dp_accounting_ratio_to_fixed(b, num, big_shift(b, q, twice),
										DP_ROUND_UP);
}

/*
 * Shared body: sensitivity 0 means that nothing but pure epsilon is known.
 */
static dp_status
rho_of(const dp_rational *epsilon, dp_uint128 sensitivity, dp_fixed *out)
{
	dp_big		b;
	BIGNUM	   *p;
	BIGNUM	   *q;
	dp_fixed	rho;
	dp_fixed	other;
	dp_status	status;

	status = dp_accounting_fixed_from_rational(epsilon, DP_ROUND_UP, &rho);
	if (status != DP_OK)
		return status;
	dp_numbers_big_begin(&b);
	p = big_of(&b, epsilon->num);
	q = big_of(&b, epsilon->den);
	other = rho_by_pade(&b, p, q);
	rho = other < rho ? other : rho;
	if (sensitivity != 0)
	{
		other = rho_by_laplace(&b, p, q, sensitivity);
		rho = other < rho ? other : rho;
	}
	return dp_accounting_end_fixed(&b, rho, out);
}

/*
 * dp_accounting_rho_from_pure
 *	  zCDP of a mechanism of which only its pure epsilon is known.
 *
 * Requires: epsilon in the form dp_noise.h states; rho non-NULL.
 * Gives:	 DP_OK and the exact ceiling, in units of 10^-24, of
 *			 min(e, (e^2/2)(60 + e^2)/(60 + 6 e^2)); DP_E_RANGE when
 *			 epsilon->den is 0; DP_E_OVERFLOW when epsilon does not fit
 *			 dp_fixed; DP_E_MEMORY.
 * Source:	 doc/theory.md T21.
 */
dp_status
dp_accounting_rho_from_pure(const dp_rational *epsilon, dp_fixed *rho)
{
	return rho_of(epsilon, 0, rho);
}

/*
 * dp_accounting_rho_from_laplace
 *	  zCDP of adding a discrete Laplace variate of scale
 *	  sensitivity / epsilon to an integer of that sensitivity.
 *
 * Requires: epsilon in the form dp_noise.h states; rho non-NULL.
 * Gives:	 DP_OK and the smaller of dp_accounting_rho_from_pure and a proved
 *			 upper bound on e - (1 - e^-e) x / sinh(x), x = e / sensitivity,
 *			 that exceeds its ceiling by at most one unit of 10^-24; DP_E_RANGE
 *			 when sensitivity or epsilon is 0; else as
 *			 dp_accounting_rho_from_pure.
 * Source:	 doc/theory.md T22, T24.
 */
dp_status
dp_accounting_rho_from_laplace(dp_uint128 sensitivity,
							   const dp_rational *epsilon, dp_fixed *rho)
{
	if (sensitivity == 0 || epsilon->num == 0)
		return DP_E_RANGE;
	return rho_of(epsilon, sensitivity, rho);
}

/* ----------------
 *		What a mechanism is charged as, where its proofs leave a choice.
 * ----------------
 */

/*
 * dp_accounting_rho_from_exponential
 *	  zCDP of the exponential mechanism that is epsilon-DP: its loss lies in
 *	  an interval of length epsilon (bounded range), at rate epsilon/(2 D), and
 *	  at epsilon/D for monotone scores.
 *
 * Permute-and-flip and noisy max have no bounded range; they cost what
 * dp_accounting_rho_from_pure says.
 *
 * Requires: epsilon in the form dp_noise.h states; rho non-NULL.
 * Gives:	 DP_OK and the smaller of epsilon^2/8, rounded up by at most two
 *			 units of 10^-24, and dp_accounting_rho_from_pure; errors as there.
 * Source:	 doc/theory.md T16, T21.
 */
dp_status
dp_accounting_rho_from_exponential(const dp_rational *epsilon, dp_fixed *rho)
{
	dp_fixed	pure;
	dp_fixed	square;
	dp_fixed	eighth;
	dp_status	status;

	status = dp_accounting_rho_from_pure(epsilon, &pure);
	if (status != DP_OK)
		return status;
	status = dp_accounting_fixed_from_rational(epsilon, DP_ROUND_UP, &square);
	if (status != DP_OK)
		return status;
	square = dp_accounting_square(square);
	eighth = square / 8 + (square % 8 != 0 ? 1 : 0);
	*rho = square != DP_FIXED_INFINITE && eighth < pure ? eighth : pure;
	return DP_OK;
}

/* Whether rho without delta counts under a limit; no limit forbids nothing. */
static bool
takes_rho(const dp_limit *limit)
{
	return limit == NULL || limit->filter == DP_FILTER_ZCDP ||
		(limit->filter == DP_FILTER_BEST && limit->rho > 0);
}

/*
 * dp_accounting_charge_filter
 *	  The filter by which to choose how a Gaussian release is charged, when it
 *	  must pass the limit of a payer and the cap of a dataset.
 *
 * Requires: NULL for a limit that does not exist.
 * Gives:	 DP_FILTER_BEST when there is a limit and all limits count rho,
 *			 else DP_FILTER_BASIC.
 * Source:	 doc/theory.md T27, T28, T29.
 */
dp_filter
dp_accounting_charge_filter(const dp_limit *payer, const dp_limit *cap)
{
	if (payer == NULL && cap == NULL)
		return DP_FILTER_BASIC;
	return takes_rho(payer) && takes_rho(cap) ? DP_FILTER_BEST :
		DP_FILTER_BASIC;
}

/*
 * dp_accounting_charge_gaussian
 *	  How to charge a release that is (epsilon, delta)-DP and rho-zCDP.
 *
 * Filters that count rho alone need no delta for it: (infinite, rho, 0).  The
 * others get (epsilon, rho, delta), which every filter may be given, since
 * min(P, e^epsilon Q) keeps all but delta of P, has a loss of at most epsilon
 * and divergences no larger than those of P.
 *
 * Requires: out non-NULL; filter from dp_accounting_charge_filter, a public
 *			 fact of the grant.
 * Gives:	 *out.
 * Source:	 doc/theory.md T27, T28, T29, T36.
 */
void
dp_accounting_charge_gaussian(dp_filter filter, dp_fixed epsilon,
							  dp_fixed delta, dp_fixed rho, dp_charge *out)
{
	bool		concentrated = filter == DP_FILTER_ZCDP ||
	filter == DP_FILTER_BEST;

	out->epsilon = concentrated ? DP_FIXED_INFINITE : epsilon;
	out->rho = rho;
	out->delta = concentrated ? 0 : delta;
}

/* ----------------
 *		Sums of squared epsilons, which the advanced filter counts: what a
 *		charge adds, and their bound.
 * ----------------
 */

#define TRILLION UINT64_C(1000000000000)

/*
 * dp_accounting_square
 *	  What a pure charge adds to the advanced filter's sum.
 *
 * Requires: nothing.
 * Gives:	 epsilon^2 rounded up to the grid; DP_FIXED_INFINITE when it does
 *			 not fit or epsilon is infinite.
 * Source:	 doc/theory.md T37, T20.
 */
dp_fixed
dp_accounting_square(dp_fixed epsilon)
{
	/* e = a 10^12 + b: e^2 / 10^24 = a^2 + (2ab + b^2/10^12) / 10^12 */
	dp_uint128	a = epsilon / TRILLION;
	dp_uint128	b = epsilon % TRILLION;
	dp_uint128	rest;

	if (epsilon == DP_FIXED_INFINITE || a >> 64 != 0)
		return DP_FIXED_INFINITE;
	rest = 2 * a * b + (b * b + TRILLION - 1) / TRILLION;
	return dp_accounting_fixed_add(a * a, (rest + TRILLION - 1) / TRILLION);
}

/*
 * dp_accounting_squares_limit
 *	  The bound of the advanced filter on sums of squared epsilons.
 *
 * sqrt(2 L S) + S/2 <= E, L = ln(1/delta), holds exactly for
 * S <= 2 E^2 / (2L + E + 2 sqrt(L (L + E))).
 *
 * Requires: squares non-NULL.
 * Gives:	 DP_OK and that S rounded down (by 2^-100 of it and one unit);
 *			 DP_E_RANGE when epsilon is infinite or delta not in (0, 1);
 *			 DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T37.
 */
dp_status
dp_accounting_squares_limit(dp_fixed epsilon, dp_fixed delta,
							dp_fixed *squares)
{
	dp_big		b;
	BIGNUM	   *l;
	BIGNUM	   *e;
	BIGNUM	   *den;
	BIGNUM	   *x;

	if (epsilon == DP_FIXED_INFINITE || delta == 0 || delta >= DP_FIXED_ONE)
		return DP_E_RANGE;
	dp_numbers_big_begin(&b);
	l = value_log_over(&b, 1, delta, DP_ROUND_UP);
	e = big_add(&b, value_from_fixed(&b, epsilon, DP_ROUND_UP), l);
	den = value_root(&b, value_product(&b, l, e, DP_ROUND_UP), DP_ROUND_UP);
	den = big_add(&b, big_add(&b, big_shift(&b, den, 1), e), l);
	x = big_square(&b, value_from_fixed(&b, epsilon, DP_ROUND_DOWN));
	x = big_divide(&b, big_shift(&b, x, 1), den);
	return dp_accounting_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_DOWN),
								   squares);
}

/* ----------------
 *		Sums of charges and of sums: several draws of a release, charges made
 *		elsewhere, and parallel composition over the parts of a partition.
 *
 * What is spent on a partition is, in each component, the largest sum over
 * its parts: a privacy unit lives in one of them, so its own sums are at most
 * these.  A ledger keeps the sums of each part, their componentwise maximum,
 * and adds to the total whatever the maximum rises by.
 * ----------------
 */

/*
 * dp_accounting_charge_add
 *	  Compose two charges into one, for a release that makes several draws.
 *
 * Requires: sum, charge non-NULL.
 * Gives:	 DP_OK with *sum increased, epsilon infinite when one of the two
 *			 is or the sum does not fit; DP_E_OVERFLOW, *sum untouched, when
 *			 the sum of rho or delta does not fit.
 * Source:	 doc/theory.md T20, T27, T28.
 */
dp_status
dp_accounting_charge_add(dp_charge *sum, const dp_charge *charge)
{
	dp_fixed	rho = dp_accounting_fixed_add(sum->rho, charge->rho);
	dp_fixed	delta = dp_accounting_fixed_add(sum->delta, charge->delta);

	if (rho == DP_FIXED_INFINITE || delta == DP_FIXED_INFINITE)
		return DP_E_OVERFLOW;
	sum->epsilon = dp_accounting_fixed_add(sum->epsilon, charge->epsilon);
	sum->rho = rho;
	sum->delta = delta;
	return DP_OK;
}

/*
 * dp_accounting_spent_sum
 *	  Add sums to sums.
 *
 * Requires: spent, more non-NULL.
 * Gives:	 DP_OK; what does not fit becomes infinite.  DP_E_OVERFLOW, spent
 *			 untouched, when the number of charges does not fit; DP_E_RANGE
 *			 when one is negative.
 * Source:	 doc/theory.md T20, T27.
 */
dp_status
dp_accounting_spent_sum(dp_spent *spent, const dp_spent *more)
{
	if (spent->charges < 0 || more->charges < 0)
		return DP_E_RANGE;
	if (spent->charges > INT64_MAX - more->charges)
		return DP_E_OVERFLOW;
	spent->epsilon = dp_accounting_fixed_add(spent->epsilon, more->epsilon);
	spent->rho = dp_accounting_fixed_add(spent->rho, more->rho);
	spent->delta = dp_accounting_fixed_add(spent->delta, more->delta);
	spent->squares = dp_accounting_fixed_add(spent->squares, more->squares);
	spent->charges += more->charges;
	return DP_OK;
}

/* What a component rises by; nothing rises above infinity. */
static dp_fixed
rise(dp_fixed maximum, dp_fixed part)
{
	if (part <= maximum)
		return 0;
	return part == DP_FIXED_INFINITE ? part : part - maximum;
}

/*
 * dp_accounting_spent_rise
 *	  Add to a total what the maximum over the parts rises by when the sums of
 *	  one part become `part`, and count one charge.
 *
 * Requires: total, maximum, part non-NULL; total includes maximum.
 * Gives:	 DP_OK with total increased by max(0, part - maximum) in each
 *			 component, infinite where that is; else as
 *			 dp_accounting_spent_sum.
 * Source:	 doc/ledger.md, "Parts"; doc/theory.md T20, T27, T28.
 */
dp_status
dp_accounting_spent_rise(dp_spent *total, const dp_spent *maximum,
						 const dp_spent *part)
{
	dp_spent	more = {0};

	more.epsilon = rise(maximum->epsilon, part->epsilon);
	more.rho = rise(maximum->rho, part->rho);
	more.delta = rise(maximum->delta, part->delta);
	more.squares = rise(maximum->squares, part->squares);
	more.charges = 1;
	return dp_accounting_spent_sum(total, &more);
}

/*
 * dp_accounting_spent_maximum
 *	  Raise a maximum to the sums of one part; the number of charges is that
 *	  of all parts, so it grows by one.
 *
 * Requires: maximum, part non-NULL; maximum->charges < INT64_MAX.
 * Gives:	 the componentwise maximum.
 * Source:	 doc/ledger.md, "Parts"; doc/theory.md T27, T28.
 */
void
dp_accounting_spent_maximum(dp_spent *maximum, const dp_spent *part)
{
	if (part->epsilon > maximum->epsilon)
		maximum->epsilon = part->epsilon;
	if (part->rho > maximum->rho)
		maximum->rho = part->rho;
	if (part->delta > maximum->delta)
		maximum->delta = part->delta;
	if (part->squares > maximum->squares)
		maximum->squares = part->squares;
	maximum->charges++;
}
