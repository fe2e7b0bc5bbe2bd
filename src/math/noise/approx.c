/*
 * approx.c
 *	  Floating-point descriptions of a scale, and of the law of group keys: for
 *	  display (EXPLAIN, dp_last_release()), for limits of a scale, and for the
 *	  distance within which dp_iterate ends.  No sampler is in this file, and
 *	  none uses it.
 */
#include <math.h>

#include "dp_noise.h"

static double
limbs_approx(const uint64_t *limbs)
{
	double		result = 0;
	int			i;

	for (i = 3; i >= 0; i--)
		result = result * 0x1p64 + (double) limbs[i];
	return result;
}

/*
 * dp_noise_scale_approx
 *	  The scale t/s as a floating-point number.
 *
 * Requires: scale from dp_noise_scale_make.
 * Gives:	 t/s within a relative error of 2^-50.
 * Source:	 doc/theory.md T7.
 */
double
dp_noise_scale_approx(const dp_scale *scale)
{
	return limbs_approx(scale->t) / limbs_approx(scale->s);
}

/*
 * dp_noise_laplace_error
 *	  The error that noise of this scale exceeds with probability beta: the
 *	  smallest integer a >= 0 with P[|X| > a] <= beta.  For m answers at once
 *	  pass beta / m (union bound).
 *
 * Requires: scale from dp_noise_scale_make.
 * Gives:	 a in granules.  The real bound is computed within a relative
 *			 error of about 2^-50, so a is exact unless that bound lies that
 *			 close to an integer.  0 when beta >= 1, infinity when beta <= 0,
 *			 NaN when beta is NaN.
 * Source:	 doc/theory.md T7.
 */
double
dp_noise_laplace_error(const dp_scale *scale, double beta)
{
	double		inverse;
	double		level;
	double		a;

	if (isnan(beta))
		return NAN;
	if (beta <= 0)
		return INFINITY;

	/*
	 * P[|X| > a] = 2 p^(a+1) / (1+p) <= beta iff (a+1) s/t >= level, where
	 * level = -ln beta - ln((1+p)/2).
	 */
	inverse = limbs_approx(scale->s) / limbs_approx(scale->t);
	level = -log(beta) - log1p(expm1(-inverse) / 2);
	a = ceil(level / inverse) - 1;
	return a > 0 ? a : 0;
}

/*
 * dp_noise_key_chance
 *	  The probability that a key with n units is released, for display.
 *
 * Requires: law from dp_noise_key_law_make.
 * Gives:	 P[n + X > k and n + X >= least] in floating point, 0 for n = 0.
 * Source:	 doc/theory.md T104.
 */
double
dp_noise_key_chance(const dp_key_law *law, uint64_t n)
{
	double		rate = 1 / dp_noise_scale_approx(&law->scale);
	double		k = (double) law->threshold;
	double		all = -expm1(-rate) + 2 * exp(-rate) * -expm1(-rate * k);
	double		from = fmax(k + 1, (double) law->least);
	double		x = from - (double) n; /* released iff X >= x */

	if (n == 0 || x > k)
		return 0;
	if (x <= -k)
		return 1;
	/* P[X = x] = q^|x| (1 - q) / (1 + q - 2 q^(k+1)); `all` is the divisor */
	if (x > 0)
		return (exp(-rate * x) - exp(-rate * (k + 1))) / all;
	return 1 - (exp(-rate * (1 - x)) - exp(-rate * (k + 1))) / all;
}

/*
 * dp_noise_key_certain
 *	  The least n that is released with certainty.
 *
 * Requires: law from dp_noise_key_law_make.
 * Gives:	 max(k + 1, least) + k.
 * Source:	 doc/theory.md T104, T106.
 */
uint64_t
dp_noise_key_certain(const dp_key_law *law)
{
	uint64_t	from = law->threshold + 1;

	return (law->least > from ? law->least : from) + law->threshold;
}

/*
 * dp_noise_key_units
 *	  The least n that is released with at least this chance, for display.
 *
 * Requires: law from dp_noise_key_law_make; 0 < chance < 1.
 * Gives:	 n, found in floating point.
 * Source:	 doc/theory.md T104.
 */
uint64_t
dp_noise_key_units(const dp_key_law *law, double chance)
{
	uint64_t	low = 0;
	uint64_t	high = dp_noise_key_certain(law);

	while (high - low > 1)
	{
		uint64_t	middle = low + (high - low) / 2;

		if (dp_noise_key_chance(law, middle) >= chance)
			high = middle;
		else
			low = middle;
	}
	return high;
}
