/*
 * chisq.h
 *	  Chi-square goodness of fit with p-values that stay accurate far out in
 *	  the tail, where the tests put their critical values.
 *
 * The statistical tests accept a sample when its p-value is at least
 * DP_CHISQ_ALPHA.  Cells with a small expectation are merged, so that the
 * chi-square law approximates the statistic's law well; the critical value
 * leaves a factor of 100 for what the approximation is off at the tail.
 */
#ifndef CHISQ_H
#define CHISQ_H

#include <math.h>

/* Critical p-value of one test: its false-alarm rate. */
#define DP_CHISQ_ALPHA 1e-12

/* Cells are merged until each expects at least this many. */
#define DP_CHISQ_MINIMUM 100.0

typedef struct dp_chisq
{
	double		statistic;
	int			freedom;		/* 0: everything was merged into one cell */
	double		p;				/* 0 when an impossible cell was hit */
} dp_chisq;

/* Regularised lower incomplete gamma P(a, x), by its power series. */
static inline double
dp_gamma_lower_series(double a, double x)
{
	double		term = 1 / a;
	double		sum = term;
	int			n;

	for (n = 1; n < 100000; n++)
	{
		term *= x / (a + n);
		sum += term;
		if (term < sum * 1e-17)
			break;
	}
	return sum * exp(a * log(x) - x - lgamma(a));
}

/* Regularised upper incomplete gamma Q(a, x), by Lentz's fraction. */
static inline double
dp_gamma_upper_fraction(double a, double x)
{
	double		b = x + 1 - a;
	double		c = 1e300;
	double		d = 1 / b;
	double		h = d;
	double		coefficient;
	double		step;
	int			n;

	for (n = 1; n < 100000; n++)
	{
		coefficient = -n * (n - a);
		b += 2;
		d = coefficient * d + b;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = b + coefficient / c;
		if (fabs(c) < 1e-300)
			c = 1e-300;
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-16)
			break;
	}
	return h * exp(a * log(x) - x - lgamma(a));
}

static inline double
dp_gamma_upper(double a, double x)
{
	if (x <= 0)
		return 1;
	return x < a + 1 ? 1 - dp_gamma_lower_series(a, x)
		: dp_gamma_upper_fraction(a, x);
}

static inline double
dp_gamma_lower(double a, double x)
{
	if (x <= 0)
		return 0;
	return x < a + 1 ? dp_gamma_lower_series(a, x)
		: 1 - dp_gamma_upper_fraction(a, x);
}

/* P[chi-square of that many degrees of freedom >= statistic]. */
static inline double
dp_chisq_p(double statistic, int freedom)
{
	return freedom > 0 ? dp_gamma_upper(freedom / 2.0, statistic / 2) : 1;
}

/* P[Poisson(mean) >= count], for events too rare for a chi-square. */
static inline double
dp_poisson_p(double mean, double count)
{
	return count > 0 ? dp_gamma_lower(count, mean) : 1;
}

/*
 * Compares n observed counts with their expectations, both summing to the
 * same total; neighbouring cells are merged as DP_CHISQ_MINIMUM demands.
 */
static inline dp_chisq
dp_chisq_test(const double *observed, const double *expected, int n)
{
	dp_chisq	result = {0, -1, 1};
	double		seen = 0;
	double		mean = 0;
	double		last_seen = 0;
	double		last_mean = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		if (expected[i] <= 0 && observed[i] > 0)
		{
			result.p = 0;
			result.freedom = 0;
			return result;
		}
		seen += observed[i];
		mean += expected[i];
		if (mean < DP_CHISQ_MINIMUM)
			continue;
		if (last_mean > 0)
		{
			result.statistic += (last_seen - last_mean) *
				(last_seen - last_mean) / last_mean;
			result.freedom++;
		}
		last_seen = seen;
		last_mean = mean;
		seen = mean = 0;
	}

	/* what is left over joins the last full cell */
	last_seen += seen;
	last_mean += mean;
	if (last_mean > 0)
	{
		result.statistic += (last_seen - last_mean) *
			(last_seen - last_mean) / last_mean;
		result.freedom++;
	}
	if (result.freedom < 0)
		result.freedom = 0;
	result.p = dp_chisq_p(result.statistic, result.freedom);
	return result;
}

#endif							/* CHISQ_H */
