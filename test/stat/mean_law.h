/*
 * mean_law.h
 *	  The law of a released mean, worked out a second time and without a
 *	  sampler: the exact probabilities of all pairs of noises, added up.
 *
 * A mean is known by its share (mean - lower) / (upper - lower).  With true
 * sums a (distances from the lower bound) and b (from the upper one), noises
 * X and Y that are independent discrete Laplace of scale 1/inverse, A = a + X
 * and B = b + Y, the share is A / (A + B) clamped to [0, 1]; when A + B <= 0
 * the mean is NULL, for which the tests put 1/2.
 *
 * Cells: the atoms 0, 1/2, 1, and MEAN_CELLS intervals between 0 and 1.  The
 * inner edges are i / MEAN_CELLS moved up by sqrt(2) 1e-7, which no fraction
 * with a denominator below 10^4 comes within 1e-8 of, so the rounding of
 * printed means moves nothing from cell to cell.
 */
#ifndef STAT_MEAN_LAW_H
#define STAT_MEAN_LAW_H

#include <math.h>
#include <stdlib.h>

#include "chisq.h"

#define MEAN_CELLS 64
#define MEAN_ATOM_LOW MEAN_CELLS
#define MEAN_ATOM_MIDDLE (MEAN_CELLS + 1)
#define MEAN_ATOM_HIGH (MEAN_CELLS + 2)
#define MEAN_ALL (MEAN_CELLS + 3)

/* Noise beyond this many scales (together 1e-17 of the mass) is left out. */
#define MEAN_REACH 40

static inline int
mean_cell(double share)
{
	double		place;

	if (!(share > 1e-12))
		return MEAN_ATOM_LOW;
	if (!(share < 1 - 1e-12))
		return MEAN_ATOM_HIGH;
	if (fabs(share - 0.5) < 1e-12)
		return MEAN_ATOM_MIDDLE;
	place = floor((share - M_SQRT2 * 1e-7) * MEAN_CELLS);
	return (int) fmax(0, fmin(MEAN_CELLS - 1, place));
}

static inline double
mean_share(double a, double b)
{
	if (a + b <= 0)
		return 0.5;
	return fmin(fmax(a / (a + b), 0), 1);
}

/* The masses of -reach .. reach; to be freed. */
static inline double *
mean_masses(double inverse, int reach)
{
	double	   *mass = malloc(sizeof(double) * (size_t) (2 * reach + 1));
	int			x;

	if (mass == NULL)
		exit(2);
	for (x = -reach; x <= reach; x++)
		mass[x + reach] = tanh(inverse / 2) * exp(-abs(x) * inverse);
	return mass;
}

/* Fills law[MEAN_ALL] with the probabilities of the cells. */
static inline void
mean_law_exact(double a, double b, double inverse, double *law)
{
	int			reach = (int) ceil(MEAN_REACH / inverse);
	double	   *mass = mean_masses(inverse, reach);
	int			x;
	int			y;

	for (x = 0; x < MEAN_ALL; x++)
		law[x] = 0;
	for (x = -reach; x <= reach; x++)
		for (y = -reach; y <= reach; y++)
			law[mean_cell(mean_share(a + x, b + y))] +=
				mass[x + reach] * mass[y + reach];
	free(mass);
}

/* Chi-square of observed[MEAN_ALL] against the exact law; 0: impossible. */
static inline double
mean_law_p(const double *observed, const double *law)
{
	double		expected[MEAN_ALL];
	double		n = 0;
	int			i;

	for (i = 0; i < MEAN_ALL; i++)
		n += observed[i];
	for (i = 0; i < MEAN_ALL; i++)
		expected[i] = n * law[i];
	return dp_chisq_test(observed, expected, MEAN_ALL).p;
}

/* P[|share - truth| > error]. */
static inline double
mean_tail_exact(double a, double b, double inverse, double error)
{
	int			reach = (int) ceil(MEAN_REACH / inverse);
	double	   *mass = mean_masses(inverse, reach);
	double		truth = a / (a + b);
	double		tail = 0;
	int			x;
	int			y;

	for (x = -reach; x <= reach; x++)
		for (y = -reach; y <= reach; y++)
			if (fabs(mean_share(a + x, b + y) - truth) > error)
				tail += mass[x + reach] * mass[y + reach];
	free(mass);
	return tail;
}

#endif							/* STAT_MEAN_LAW_H */
