/*
 * convert.c
 *	  What a mechanism costs in zero-concentrated differential privacy.
 *
 * The costs of mechanisms are exact integer arithmetic (pure epsilon) or
 * proved bounds (Laplace, value.h), rounded up.
 */
#include "value.h"

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
	return dp_acct_ratio_to_fixed(b, big_multiply(b, num, p2), den,
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
	s = dp_mech_big_over_sinh(b, p, big_multiply(b, big_of(b, sensitivity), q),
							  DP_VALUE_BITS);

	/* (p 2^2B - a s q) / (q 2^2B), never negative: a s / 2^2B < e */
	num = big_multiply(b, big_multiply(b, a, s), q);
	num = big_subtract(b, big_shift(b, p, twice), num);
	return dp_acct_ratio_to_fixed(b, num, big_shift(b, q, twice),
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

	status = dp_acct_fixed_from_rational(epsilon, DP_ROUND_UP, &rho);
	if (status != DP_OK)
		return status;
	dp_mech_big_begin(&b);
	p = big_of(&b, epsilon->num);
	q = big_of(&b, epsilon->den);
	other = rho_by_pade(&b, p, q);
	rho = other < rho ? other : rho;
	if (sensitivity != 0)
	{
		other = rho_by_laplace(&b, p, q, sensitivity);
		rho = other < rho ? other : rho;
	}
	return dp_acct_end_fixed(&b, rho, out);
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
