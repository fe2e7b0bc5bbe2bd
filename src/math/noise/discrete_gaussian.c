/*
 * discrete_gaussian.c
 *	  The discrete Gaussian law of an exactly rational variance.
 *
 * A proposal Y of discrete Laplace law, scale t = floor(sigma) + 1, is kept
 * with probability exp(-(|Y| c t - a)^2 / (2 a c t^2)), sigma^2 = a/c.  The
 * fraction is formed in 128 bits when every step is seen to fit, on BIGNUM
 * otherwise; it is the same fraction, not reduced, so both take the same
 * bytes and give the same draw.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/* floor(sqrt(n)), bit by bit. */
static uint64_t
square_root(dp_uint128 n)
{
	dp_uint128	root = 0;
	dp_uint128	trial;
	int			i;

	for (i = 63; i >= 0; i--)
	{
		trial = root | (dp_uint128) 1 << i;
		if (trial * trial <= n)
			root = trial;
	}
	return (uint64_t) root;
}

/*
 * dp_noise_gaussian_make
 *	  Prepare the discrete Gaussian law of variance parameter sigma^2.
 *
 * Requires: variance a rational, in squared granules of the value.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when the variance is 0 or its
 *			 denominator is, with *out untouched.
 * Source:	 doc/theory.md T11, T12.
 */
dp_status
dp_noise_gaussian_make(const dp_rational *variance, dp_gaussian *out)
{
	const dp_rational one = {1, 1};
	dp_rational reduced;
	dp_scale	proposal;
	dp_uint128	t;
	dp_uint128	ct;
	dp_uint128	den;
	dp_status	status;

	status = dp_numbers_rational_make(variance->num, variance->den, &reduced);
	if (status != DP_OK)
		return status;
	if (reduced.num == 0)
		return DP_E_RANGE;

	/* floor(sqrt(a/c)) = floor(sqrt(floor(a/c))); t <= 2^64 */
	t = (dp_uint128) square_root(reduced.num / reduced.den) + 1;
	status = dp_noise_scale_make(t, &one, &proposal);
	if (status != DP_OK)
		return status;
	out->variance = reduced;
	out->proposal = proposal;
	out->t = t;
	out->narrow = !__builtin_mul_overflow(reduced.den, t, &ct) &&
		!__builtin_mul_overflow(ct, t, &den) &&
		!__builtin_mul_overflow(den, reduced.num, &den) &&
		!__builtin_mul_overflow(den, (dp_uint128) 2, &den);
	out->ct = out->narrow ? ct : 0;
	out->den = out->narrow ? den : 0;
	return DP_OK;
}

/* Whether to keep a proposal of this magnitude, on BIGNUM. */
static dp_status
keep_wide(dp_source *source, const dp_gaussian *gaussian, dp_uint128 y,
		  bool *out)
{
	dp_big		b;
	BIGNUM	   *a;
	BIGNUM	   *t;
	BIGNUM	   *ct;
	BIGNUM	   *distance;
	BIGNUM	   *den;

	dp_numbers_big_begin(&b);
	a = big_of(&b, gaussian->variance.num);
	t = big_of(&b, gaussian->t);
	ct = big_multiply(&b, big_of(&b, gaussian->variance.den), t);
	distance = big_subtract(&b, big_multiply(&b, big_of(&b, y), ct), a);
	den = big_multiply(&b, big_multiply(&b, ct, t), big_shift(&b, a, 1));
	dp_noise_wide_bernoulli_exp(&b, source, big_square(&b, distance), den,
								out);
	return dp_numbers_big_end(&b);
}

static inline dp_status
keep(dp_source *source, const dp_gaussian *gaussian, dp_uint128 y, bool *out)
{
	dp_rational gamma;
	dp_uint128	distance;

	if (!gaussian->narrow ||
		__builtin_mul_overflow(y, gaussian->ct, &distance))
		return keep_wide(source, gaussian, y, out);
	distance = distance > gaussian->variance.num ?
		distance - gaussian->variance.num :
		gaussian->variance.num - distance;
	if (distance >> 64 != 0)
		return keep_wide(source, gaussian, y, out);
	gamma.num = distance * distance;
	gamma.den = gaussian->den;
	return dp_noise_bernoulli_exp(source, &gamma, out);
}

/*
 * dp_noise_discrete_gaussian
 *	  Draw X with P[X = x] proportional to exp(-x^2 / (2 sigma^2)), x any
 *	  integer.
 *
 * Requires: gaussian from dp_noise_gaussian_make (clearing `narrow` is allowed
 *			 and changes neither the law nor the bytes consumed).
 * Gives:	 DP_OK with *out set; DP_E_OVERFLOW when a proposal is 2^127 or
 *			 more (odds below exp(-2^62) for every variance), DP_E_RANDOM,
 *			 DP_E_MEMORY; *out is then untouched.
 * Source:	 doc/theory.md T11 (Canonne, Kamath, Steinke 2020, Algorithm 3).
 */
dp_status
dp_noise_discrete_gaussian(dp_source *source, const dp_gaussian *gaussian,
						   dp_int128 *out)
{
	dp_int128	y;
	bool		accepted;
	dp_status	status;

	do
	{
		status = dp_noise_discrete_laplace(source, &gaussian->proposal, &y);
		if (status != DP_OK)
			return status;
		status = keep(source, gaussian, (dp_uint128) (y < 0 ? -y : y),
					  &accepted);
		if (status != DP_OK)
			return status;
	} while (!accepted);
	*out = y;
	return DP_OK;
}
