/*
 * independent.h
 *	  Is noise ever used twice?
 *
 * Two tests.  Collisions: noise of a scale so large that two independent
 * draws practically never have the same magnitude; any two that have it are
 * one draw used twice.  Dependence: two columns of noise, scored by their
 * quantile class, in a table of classes that a chi-square compares with the
 * product law; it sees copies, mirrored copies, shared magnitudes, and noises
 * of one stream of random bytes at different scales.
 */
#ifndef STAT_INDEPENDENT_H
#define STAT_INDEPENDENT_H

#include <math.h>
#include <stdlib.h>

#include "chisq.h"
#include "dp_numbers.h"
#include "dp_noise.h"

#define CLASSES 6				/* of one noise: sign by thirds */

/* Class of a noise: a third of the magnitude's law, and the sign. */
static inline int
noise_class(double noise, double inverse)
{
	double		depth = (fabs(noise) + 0.5) * inverse;
	int			third = depth < log(1.5) ? 0 : depth < log(3) ? 1 : 2;

	return noise < 0 ? third : third + 3;
}

/*
 * Upper bound on the probability that among n independent discrete Laplace
 * noises of this scale two have one magnitude: the number of pairs, times the
 * sum over m of P[|X| = m]^2, which is at most the largest of these
 * probabilities and so at most 2 tanh(inverse / 2).
 */
static inline double
collision_rate(double n, double inverse)
{
	return n * (n - 1) / 2 * 2 * tanh(inverse / 2);
}

static inline int
compare_magnitudes(const void *a, const void *b)
{
	dp_uint128	x = *(const dp_uint128 *) a;
	dp_uint128	y = *(const dp_uint128 *) b;

	return x < y ? -1 : x > y ? 1 : 0;
}

/* Sorts the magnitudes; returns how many occur a second time. */
static inline int
count_collisions(dp_uint128 *magnitude, int n)
{
	int			collisions = 0;
	int			i;

	qsort(magnitude, (size_t) n, sizeof(*magnitude), compare_magnitudes);
	for (i = 1; i < n; i++)
		if (magnitude[i] == magnitude[i - 1])
			collisions++;
	return collisions;
}

/*
 * Dependence of two columns of n noises: chi-square of the table of classes
 * against the product of the table's own margins, whatever these are.
 */
static inline double
dependence_p(const double *x, double inverse_x, const double *y,
			 double inverse_y, int n)
{
	double		cell[CLASSES][CLASSES] = {{0}};
	double		row[CLASSES] = {0};
	double		column[CLASSES] = {0};
	double		statistic = 0;
	int			rows = 0;
	int			columns = 0;
	int			i;
	int			j;

	for (i = 0; i < n; i++)
	{
		int			a = noise_class(x[i], inverse_x);
		int			b = noise_class(y[i], inverse_y);

		cell[a][b]++;
		row[a]++;
		column[b]++;
	}
	for (i = 0; i < CLASSES; i++)
	{
		rows += row[i] > 0;
		columns += column[i] > 0;
	}
	for (i = 0; i < CLASSES; i++)
		for (j = 0; j < CLASSES; j++)
		{
			double		mean = row[i] * column[j] / n;

			if (mean > 0)
				statistic += (cell[i][j] - mean) * (cell[i][j] - mean) / mean;
		}
	return dp_chisq_p(statistic, (rows - 1) * (columns - 1));
}

#endif							/* STAT_INDEPENDENT_H */
