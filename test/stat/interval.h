/*
 * interval.h
 *	  Exact confidence bounds and tail probabilities of a binomial count, good
 *	  far out in the tail.
 *
 * All through the regularised incomplete beta function: for X binomial(n, p)
 * P[X >= k] = I_p(k, n - k + 1).  Clopper and Pearson's bounds never promise
 * more than they hold, whatever p is, so an audit that compares them with a
 * claim raises a false alarm with at most the stated probability.
 */
#ifndef STAT_INTERVAL_H
#define STAT_INTERVAL_H

#include <math.h>

/* Lentz's continued fraction of the incomplete beta function. */
static inline double
beta_fraction(double a, double b, double x)
{
	double		c = 1;
	double		d = 1 - (a + b) * x / (a + 1);
	double		h;
	double		step;
	double		t;
	int			m;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	h = d;
	for (m = 1; m < 100000; m++)
	{
		t = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		d = 1 + t * d;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = 1 + t / c;
		if (fabs(c) < 1e-300)
			c = 1e-300;
		h *= d * c;
		t = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 + t * d;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = 1 + t / c;
		if (fabs(c) < 1e-300)
			c = 1e-300;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return h;
}

/* I_x(a, b), 0 < x < 1, a and b positive. */
static inline double
beta_regularised(double a, double b, double x)
{
	double		front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) +
							a * log(x) + b * log1p(-x));

	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* P[X >= k] of X binomial(n, p), accurate when it is small. */
static inline double
binomial_upper(double n, double p, double k)
{
	if (k <= 0)
		return 1;
	if (k > n || p <= 0)
		return 0;
	if (p >= 1)
		return 1;
	return beta_regularised(k, n - k + 1, p);
}

/* P[X <= k], accurate when it is small. */
static inline double
binomial_lower(double n, double p, double k)
{
	return binomial_upper(n, 1 - p, n - k);
}

/* Two-sided p-value of k successes in n. */
static inline double
binomial_p(double n, double p, double k)
{
	return fmin(1, 2 * fmin(binomial_upper(n, p, k),
							binomial_lower(n, p, k)));
}

/*
 * The largest p that k successes in n leave believable: P[X <= k] = alpha.
 * The truth lies above it with probability at most alpha.
 */
static inline double
binomial_p_upper(double n, double k, double alpha)
{
	double		low = k / n;
	double		high = 1;
	int			i;

	if (k >= n)
		return 1;
	for (i = 0; i < 50; i++)
	{
		double		middle = (low + high) / 2;

		if (binomial_lower(n, middle, k) > alpha)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The smallest believable p; the truth lies below it with at most alpha. */
static inline double
binomial_p_lower(double n, double k, double alpha)
{
	return 1 - binomial_p_upper(n, n - k, alpha);
}

#endif							/* STAT_INTERVAL_H */
