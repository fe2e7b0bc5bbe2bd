/*
 * convert.c
 *	  What a mechanism costs in zero-concentrated differential privacy, and
 *	  what a cost in zCDP means as (epsilon, delta).
 *
 * The costs of mechanisms are exact integer arithmetic (pure epsilon) or
 * proved bounds (Laplace, interval.h), rounded up.  The one function that
 * uses floating point, dp_acct_epsilon_from_rho, serves people who plan or
 * inspect budgets; no filter consults it.
 */
#include "interval.h"

#include <float.h>
#include <math.h>

/* Ceiling of num * 10^24 / den; DP_E_OVERFLOW unless below infinite. */
static dp_status
fixed_ceiling(const BIGNUM *num, const BIGNUM *den, dp_fixed *out,
			  BN_CTX *ctx)
{
	BIGNUM	   *quotient;
	BIGNUM	   *rest;
	dp_status	status = DP_E_MEMORY;

	BN_CTX_start(ctx);
	quotient = BN_CTX_get(ctx);
	rest = BN_CTX_get(ctx);
	if (rest == NULL ||
		!dp_acct_integer_set(quotient, DP_FIXED_ONE) ||
		!BN_mul(quotient, quotient, num, ctx) ||
		!BN_div(quotient, rest, quotient, den, ctx) ||
		(!BN_is_zero(rest) && !BN_add_word(quotient, 1)))
		goto done;
	if (BN_num_bits(quotient) > 128)
		status = DP_E_OVERFLOW;
	else
	{
		dp_uint128	value;

		if (!dp_acct_integer_get(quotient, &value))
			goto done;
		if (value == DP_FIXED_INFINITE)
			status = DP_E_OVERFLOW;
		else
		{
			*out = value;
			status = DP_OK;
		}
	}
done:
	BN_CTX_end(ctx);
	return status;
}

/* The smaller of *rho and the ceiling of num/den; overflow is not smaller. */
static dp_status
lower_to(dp_fixed *rho, const BIGNUM *num, const BIGNUM *den, BN_CTX *ctx)
{
	dp_fixed	other;
	dp_status	status = fixed_ceiling(num, den, &other, ctx);

	if (status == DP_E_OVERFLOW)
		return DP_OK;
	if (status == DP_OK && other < *rho)
		*rho = other;
	return status;
}

/*
 * Lower *rho to (e^2/2) (60 + e^2) / (60 + 6 e^2) for e = p/q, that is
 * p^2 (60 q^2 + p^2) / (12 q^2 (10 q^2 + p^2)).
 */
static dp_status
lower_to_pade(dp_fixed *rho, const BIGNUM *p, const BIGNUM *q, BN_CTX *ctx)
{
	BIGNUM	   *p2;
	BIGNUM	   *q2;
	BIGNUM	   *num;
	BIGNUM	   *den;
	dp_status	status = DP_E_MEMORY;

	BN_CTX_start(ctx);
	p2 = BN_CTX_get(ctx);
	q2 = BN_CTX_get(ctx);
	num = BN_CTX_get(ctx);
	den = BN_CTX_get(ctx);
	if (den != NULL &&
		BN_sqr(p2, p, ctx) && BN_sqr(q2, q, ctx) &&
		BN_copy(num, q2) != NULL && BN_mul_word(num, 60) &&
		BN_add(num, num, p2) && BN_mul(num, num, p2, ctx) &&
		BN_copy(den, q2) != NULL && BN_mul_word(den, 10) &&
		BN_add(den, den, p2) && BN_mul(den, den, q2, ctx) &&
		BN_mul_word(den, 12))
		status = lower_to(rho, num, den, ctx);
	BN_CTX_end(ctx);
	return status;
}

/*
 * Lower *rho to e - (1 - e^-e) x / sinh(x) for e = p/q, x = e/sensitivity.
 * With a and b lower bounds of the two factors, in units of 2^-B, an upper
 * bound is (p/q) - a b / 2^2B; p/q itself stays exact until the ceiling.
 */
static dp_status
lower_to_laplace(dp_fixed *rho, const BIGNUM *p, const BIGNUM *q,
				 dp_uint128 sensitivity, BN_CTX *ctx)
{
	BIGNUM	   *a;
	BIGNUM	   *b;
	BIGNUM	   *den;
	dp_status	status = DP_E_MEMORY;

	BN_CTX_start(ctx);
	a = BN_CTX_get(ctx);
	b = BN_CTX_get(ctx);
	den = BN_CTX_get(ctx);
	if (den == NULL)
		goto done;

	/* a: 1 - e^-e from below, so e^-e from above */
	if (!dp_acct_bound_exp(b, p, q, DP_ROUND_UP, ctx) ||
		!BN_set_word(a, 1) || !BN_lshift(a, a, DP_BOUND_BITS) ||
		!BN_sub(a, a, b))
		goto done;
	if (BN_is_negative(a))
		BN_zero(a);
	/* b: x / sinh(x) from below */
	if (!dp_acct_integer_set(den, sensitivity) ||
		!BN_mul(den, den, q, ctx) ||
		!dp_acct_bound_sinh(b, p, den, ctx))
		goto done;

	/* (p 2^2B - a b q) / (q 2^2B), never negative: a b / 2^2B < e */
	if (!BN_mul(b, a, b, ctx) || !BN_mul(b, b, q, ctx) ||
		!BN_lshift(a, p, 2 * DP_BOUND_BITS) || !BN_sub(a, a, b) ||
		!BN_lshift(den, q, 2 * DP_BOUND_BITS))
		goto done;
	status = lower_to(rho, a, den, ctx);
done:
	BN_CTX_end(ctx);
	return status;
}

/*
 * Shared body: sensitivity 0 means that nothing but pure epsilon is known.
 */
static dp_status
rho_of(const dp_rational *epsilon, dp_uint128 sensitivity, dp_fixed *out)
{
	BN_CTX	   *ctx;
	BIGNUM	   *p;
	BIGNUM	   *q;
	dp_fixed	rho;
	dp_status	status;

	status = dp_acct_fixed_from_rational(epsilon, DP_ROUND_UP, &rho);
	if (status != DP_OK)
		return status;
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	p = BN_CTX_get(ctx);
	q = BN_CTX_get(ctx);
	if (q == NULL || !dp_acct_integer_set(p, epsilon->num) ||
		!dp_acct_integer_set(q, epsilon->den))
		status = DP_E_MEMORY;
	if (status == DP_OK)
		status = lower_to_pade(&rho, p, q, ctx);
	if (status == DP_OK && sensitivity != 0)
		status = lower_to_laplace(&rho, p, q, sensitivity, ctx);
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	if (status == DP_OK)
		*out = rho;
	return status;
}

/*
 * dp_acct_rho_from_pure
 *	  zCDP of a mechanism of which only its pure epsilon is known.
 *
 * Requires: epsilon in the form dp_mech.h states; rho non-NULL.
 * Gives:	 DP_OK and the exact ceiling, in units of 10^-24, of
 *			 min(e, (e^2/2)(60 + e^2)/(60 + 6 e^2)); DP_E_RANGE when
 *			 epsilon->den is 0; DP_E_OVERFLOW when epsilon does not fit
 *			 dp_fixed; DP_E_MEMORY.
 * Source:	 doc/theory.md T21.
 */
dp_status
dp_acct_rho_from_pure(const dp_rational *epsilon, dp_fixed *rho)
{
	return rho_of(epsilon, 0, rho);
}

/*
 * dp_acct_rho_from_laplace
 *	  zCDP of adding a discrete Laplace variate of scale
 *	  sensitivity / epsilon to an integer of that sensitivity.
 *
 * Requires: epsilon in the form dp_mech.h states; rho non-NULL.
 * Gives:	 DP_OK and the smaller of dp_acct_rho_from_pure and a proved upper
 *			 bound on e - (1 - e^-e) x / sinh(x), x = e / sensitivity, that
 *			 exceeds its ceiling by at most one unit of 10^-24; DP_E_RANGE
 *			 when sensitivity or epsilon is 0; else as dp_acct_rho_from_pure.
 * Source:	 doc/theory.md T22, T24.
 */
dp_status
dp_acct_rho_from_laplace(dp_uint128 sensitivity, const dp_rational *epsilon,
						 dp_fixed *rho)
{
	if (sensitivity == 0 || epsilon->num == 0)
		return DP_E_RANGE;
	return rho_of(epsilon, sensitivity, rho);
}

/*
 * dp_acct_epsilon_from_rho
 *	  Least epsilon such that rho-zCDP implies (epsilon, delta)-DP by T23; for
 *	  planning and display, never part of a filter.
 *
 * Requires: nothing.
 * Gives:	 the minimum over alpha > 1, at least 0, with a relative error of
 *			 about 1e-14 on the side of too much; 0 when rho = 0 or
 *			 delta >= 1; infinity when delta = 0 < rho or rho is infinite;
 *			 NaN when an argument is NaN or negative.
 * Source:	 doc/theory.md T23, T26 (the minimum solves a monotone equation).
 */
double
dp_acct_epsilon_from_rho(double rho, double delta)
{
	double		l;				/* ln(1/delta) */
	double		low;
	double		high;
	double		beta;			/* alpha - 1 */
	double		epsilon;
	double		size;
	int			i;

	if (!(rho >= 0) || !(delta >= 0))
		return (double) NAN;
	if (rho == 0 || delta >= 1)
		return 0;
	if (delta == 0 || isinf(rho))
		return (double) INFINITY;

	/* Solve rho beta^2 + ln(1 + beta) = l, bisecting on a log scale. */
	l = -log(delta);
	low = fmin(sqrt(l / 2 / rho), expm1(l / 2));
	high = fmin(sqrt(l / rho), expm1(l));
	for (i = 0; i < 100; i++)
	{
		beta = sqrt(low) * sqrt(high);
		if (rho * beta * beta + log1p(beta) < l)
			low = beta;
		else
			high = beta;
	}
	beta = sqrt(low) * sqrt(high);

	/* Any beta is valid; rounding errors are paid for, too. */
	epsilon = rho * (1 + beta) + (l - log1p(beta)) / beta - log1p(1 / beta);
	size = rho * (1 + beta) + (l + log1p(beta)) / beta + log1p(1 / beta);
	epsilon += 8 * DBL_EPSILON * size;
	return epsilon > 0 ? epsilon : 0;
}
