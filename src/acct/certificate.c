/*
 * certificate.c
 *	  The (rho, alpha) that turn a budget (epsilon, delta) into a bound on
 *	  sums of rho, and the proof that they may.
 *
 * rho-zCDP implies (epsilon, delta)-DP as soon as one alpha > 1 satisfies
 *
 *	  alpha rho + [ln(1/delta) + (alpha-1) ln(1-1/alpha) - ln alpha]
 *				  / (alpha-1)  <=  epsilon						(T23)
 *
 * Floating point proposes alpha and nothing else.  rho is then the largest
 * grid number for which the inequality is proved for that alpha, and the
 * checker proves it again from the stored numbers alone.
 *
 * Integers throughout: alpha = a/c, alpha - 1 = m/c, c = 2^20; epsilon, rho,
 * delta = e, r, d in units u = 10^-24; logarithms in units of 1/B.  Times
 * (alpha-1) c^2 B / u the inequality reads
 *
 *	  a m r B + c v / u  <=  e m c B,
 *	  v = c B ln(1/delta) - m B ln(a/m) - c B ln(a/c)
 *
 * where v is replaced by an integer that is not below it.
 */
#include "interval.h"

#include <math.h>

#define ALPHA_ONE (UINT64_C(1) << 20)
#define ALPHA_MAX (UINT64_C(1) << 62)	/* proposals fit a signed bigint */

/*
 * Both sides that do not hold rho: *left = c v / u, *right = e m c B, and the
 * factor of rho, *factor = a m B.
 */
static bool
inequality(dp_fixed epsilon, dp_fixed delta, uint64_t alpha, BIGNUM *left,
		   BIGNUM *right, BIGNUM *factor, BN_CTX *ctx)
{
	BIGNUM	   *a;
	BIGNUM	   *c;
	BIGNUM	   *m;
	BIGNUM	   *unit;			/* 1/u */
	BIGNUM	   *number;
	bool		ok = false;

	BN_CTX_start(ctx);
	a = BN_CTX_get(ctx);
	c = BN_CTX_get(ctx);
	m = BN_CTX_get(ctx);
	unit = BN_CTX_get(ctx);
	number = BN_CTX_get(ctx);
	if (number == NULL ||
		!dp_acct_integer_set(a, alpha) ||
		!dp_acct_integer_set(c, ALPHA_ONE) ||
		!dp_acct_integer_set(m, alpha - ALPHA_ONE) ||
		!dp_acct_integer_set(unit, DP_FIXED_ONE) ||
		!dp_acct_integer_set(number, delta))
		goto done;

	/* v: ln(1/delta) from above, the subtracted logarithms from below */
	if (!dp_acct_bound_log(left, unit, number, DP_ROUND_UP, ctx) ||
		!dp_acct_bound_log(number, a, c, DP_ROUND_DOWN, ctx) ||
		!BN_sub(left, left, number) ||
		!BN_mul(left, left, c, ctx) ||
		!dp_acct_bound_log(number, a, m, DP_ROUND_DOWN, ctx) ||
		!BN_mul(number, number, m, ctx) ||
		!BN_sub(left, left, number))
		goto done;
	if (!BN_mul(left, left, c, ctx) || !BN_mul(left, left, unit, ctx))
		goto done;

	if (!dp_acct_integer_set(right, epsilon) ||
		!BN_mul(right, right, m, ctx) || !BN_mul(right, right, c, ctx) ||
		!BN_lshift(right, right, DP_BOUND_BITS))
		goto done;
	ok = BN_mul(factor, a, m, ctx) &&
		BN_lshift(factor, factor, DP_BOUND_BITS);
done:
	BN_CTX_end(ctx);
	return ok;
}

static bool
in_domain(dp_fixed epsilon, dp_fixed delta)
{
	return epsilon != DP_FIXED_INFINITE && delta > 0 && delta < DP_FIXED_ONE;
}

/*
 * An alpha near the best one.  Along the curve of optimal pairs, with
 * beta = alpha - 1 and l = ln(1/delta), rho = (l - ln(1+beta)) / beta^2 and
 * epsilon = rho (1 + 2 beta) + ln(beta / (1 + beta)), which falls as beta
 * grows (T26).  Whatever comes out, even garbage, is only a proposal.
 */
static uint64_t
propose_alpha(dp_fixed epsilon, dp_fixed delta)
{
	double		target = dp_acct_fixed_approx(epsilon);
	double		l = -log(dp_acct_fixed_approx(delta));
	double		low = ldexp(1.0, -20);
	double		high = fmin(expm1(l), ldexp(1.0, 41));
	int			i;

	for (i = 0; i < 90 && high > low; i++)
	{
		double		beta = sqrt(low * high);
		double		rho = (l - log1p(beta)) / beta / beta;

		if (rho * (1 + 2 * beta) - log1p(1 / beta) > target)
			low = beta;
		else
			high = beta;
	}
	high = floor(ldexp(sqrt(low * high), 20) + 0.5);
	if (!(high >= 1))
		high = 1;
	if (high > (double) (ALPHA_MAX - ALPHA_ONE))
		high = (double) (ALPHA_MAX - ALPHA_ONE);
	return ALPHA_ONE + (uint64_t) high;
}

/*
 * dp_acct_rho_certificate
 *	  Find the bound on sums of rho that (epsilon, delta) allows.
 *
 * Requires: rho, alpha non-NULL.
 * Gives:	 DP_OK and a pair that dp_acct_rho_certified accepts, rho at most
 *			 the optimum.  It is short of it by a relative 1e-9 at most while
 *			 epsilon lies in [1e-9, 1e8], or by one unit of 10^-24 where that
 *			 is more; outside it is still valid.  DP_E_RANGE unless epsilon
 *			 is finite and 0 < delta < 1; DP_E_MEMORY.
 * Source:	 doc/theory.md T23 to T26.
 */
dp_status
dp_acct_rho_certificate(dp_fixed epsilon, dp_fixed delta, dp_fixed *rho,
						uint64_t *alpha)
{
	BN_CTX	   *ctx;
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *factor;
	uint64_t	proposal;
	dp_uint128	value;
	dp_status	status = DP_E_MEMORY;

	if (!in_domain(epsilon, delta))
		return DP_E_RANGE;
	proposal = propose_alpha(epsilon, delta);

	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	left = BN_CTX_get(ctx);
	right = BN_CTX_get(ctx);
	factor = BN_CTX_get(ctx);
	if (factor == NULL ||
		!inequality(epsilon, delta, proposal, left, right, factor, ctx) ||
		!BN_sub(right, right, left))
		goto done;

	/* The largest r with a m B r <= right - left; 0 is always private. */
	if (BN_is_negative(right))
		value = 0;
	else
	{
		if (!BN_div(left, NULL, right, factor, ctx))
			goto done;
		if (BN_num_bits(left) > 128)
			value = DP_FIXED_INFINITE - 1;
		else if (!dp_acct_integer_get(left, &value))
			goto done;
		else if (value == DP_FIXED_INFINITE)
			value--;
	}
	*rho = value;
	*alpha = proposal;
	status = DP_OK;
done:
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/*
 * dp_acct_rho_certified
 *	  Prove that rho-zCDP implies (epsilon, delta)-DP, by the order alpha.
 *
 * Requires: nothing; every combination of arguments has an answer.
 * Gives:	 true only if the inequality of T23 is proved, or rho = 0.  False
 *			 when it is not proved (its two sides may agree to 2^-100), when
 *			 epsilon or rho is infinite, delta not in (0, 1) or alpha <= 1,
 *			 and when OpenSSL could not allocate.
 * Source:	 doc/theory.md T23, T24, T25.
 */
bool
dp_acct_rho_certified(dp_fixed epsilon, dp_fixed delta, dp_fixed rho,
					  uint64_t alpha)
{
	BN_CTX	   *ctx;
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *factor;
	BIGNUM	   *number;
	bool		proved = false;

	if (rho == 0)
		return true;
	if (rho == DP_FIXED_INFINITE || !in_domain(epsilon, delta) ||
		alpha <= ALPHA_ONE)
		return false;

	ctx = BN_CTX_new();
	if (ctx == NULL)
		return false;
	BN_CTX_start(ctx);
	left = BN_CTX_get(ctx);
	right = BN_CTX_get(ctx);
	factor = BN_CTX_get(ctx);
	number = BN_CTX_get(ctx);
	if (number != NULL &&
		inequality(epsilon, delta, alpha, left, right, factor, ctx) &&
		dp_acct_integer_set(number, rho) &&
		BN_mul(number, number, factor, ctx) &&
		BN_add(left, left, number))
		proved = BN_cmp(left, right) <= 0;
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return proved;
}
