/*
 * approx.c
 *	  Floating-point descriptions of a scale, for people's eyes: EXPLAIN,
 *	  dp_last_release().  Nothing here is fed back into a mechanism, and no
 *	  sampler is in this file.
 */
#include "dp_mech.h"

#include <math.h>

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
 * dp_mech_scale_approx
 *	  The scale t/s as a floating-point number.
 *
 * Requires: scale from dp_mech_scale_make.
 * Gives:	 t/s within a relative error of 2^-50.
 * Source:	 doc/theory.md T7.
 */
double
dp_mech_scale_approx(const dp_scale *scale)
{
	return limbs_approx(scale->t) / limbs_approx(scale->s);
}

/*
 * dp_mech_laplace_error
 *	  The error that noise of this scale exceeds with probability beta: the
 *	  smallest integer a >= 0 with P[|X| > a] <= beta.  For m answers at once
 *	  pass beta / m (union bound).
 *
 * Requires: scale from dp_mech_scale_make.
 * Gives:	 a in granules.  The real bound is computed within a relative
 *			 error of about 2^-50, so a is exact unless that bound lies that
 *			 close to an integer.  0 when beta >= 1, infinity when beta <= 0,
 *			 NaN when beta is NaN.
 * Source:	 doc/theory.md T7.
 */
double
dp_mech_laplace_error(const dp_scale *scale, double beta)
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
