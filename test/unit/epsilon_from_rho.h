/*
 * epsilon_from_rho.h
 *	  What rho means as epsilon, in floating point: for tests and benches.
 */
#ifndef EPSILON_FROM_RHO_H
#define EPSILON_FROM_RHO_H

#include <float.h>
#include <math.h>

/*
 * epsilon_from_rho
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
static inline double
epsilon_from_rho(double rho, double delta)
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

#endif							/* EPSILON_FROM_RHO_H */
