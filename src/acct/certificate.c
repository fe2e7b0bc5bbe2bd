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
#include "value.h"

#include <math.h>

#define ALPHA_ONE (UINT64_C(1) << 20)
#define ALPHA_MAX (UINT64_C(1) << 62)	/* proposals fit a signed bigint */

/*
 * Both sides that do not hold rho: *left = c v / u, *right = e m c B, and the
 * factor of rho, *factor = a m B.
 */
static void
inequality(dp_big *b, dp_fixed epsilon, dp_fixed delta, uint64_t alpha,
		   BIGNUM **left, BIGNUM **right, BIGNUM **factor)
{
	BIGNUM	   *a = big_of(b, alpha);
	BIGNUM	   *c = big_of(b, ALPHA_ONE);
	BIGNUM	   *m = big_of(b, alpha - ALPHA_ONE);
	BIGNUM	   *v;
	BIGNUM	   *rest;

	/* v: ln(1/delta) from above, the subtracted logarithms from below */
	v = big_subtract(b, value_log_over(b, 1, delta, DP_ROUND_UP),
					 value_log(b, a, c, DP_ROUND_DOWN));
	rest = big_multiply(b, value_log(b, a, m, DP_ROUND_DOWN), m);
	v = big_subtract(b, big_multiply(b, v, c), rest);
	*left = big_multiply(b, big_multiply(b, v, c), big_of(b, DP_FIXED_ONE));
	*right = big_multiply(b, big_multiply(b, big_of(b, epsilon), m), c);
	*right = big_shift(b, *right, DP_VALUE_BITS);
	*factor = big_shift(b, big_multiply(b, a, m), DP_VALUE_BITS);
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
	dp_big		b;
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *factor;
	uint64_t	proposal;
	dp_fixed	value;
	dp_status	status;

	if (!in_domain(epsilon, delta))
		return DP_E_RANGE;
	proposal = propose_alpha(epsilon, delta);

	/* The largest r with a m B r <= right - left; 0 is always private. */
	dp_mech_big_begin(&b);
	inequality(&b, epsilon, delta, proposal, &left, &right, &factor);
	right = big_subtract(&b, right, left);
	value = big_is_negative(&b, right) ? 0 :
		dp_mech_big_get(&b, big_divide(&b, right, factor));
	status = dp_mech_big_end(&b);
	if (status != DP_OK)
		return status;
	*rho = value == DP_FIXED_INFINITE ? value - 1 : value;
	*alpha = proposal;
	return DP_OK;
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
	dp_big		b;
	BIGNUM	   *left;
	BIGNUM	   *right;
	BIGNUM	   *factor;
	bool		proved;

	if (rho == 0)
		return true;
	if (rho == DP_FIXED_INFINITE || !in_domain(epsilon, delta) ||
		alpha <= ALPHA_ONE)
		return false;
	dp_mech_big_begin(&b);
	inequality(&b, epsilon, delta, alpha, &left, &right, &factor);
	left = big_add(&b, left, big_multiply(&b, big_of(&b, rho), factor));
	proved = big_compare(&b, left, right) <= 0;
	return dp_mech_big_end(&b) == DP_OK && proved;
}
