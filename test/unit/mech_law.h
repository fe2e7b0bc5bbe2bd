/*
 * mech_law.h
 *	  The law of each sampler as a test: give it a function that draws, get
 *	  a p-value; 0 when a value lies outside the support.
 *
 * The same functions judge the samplers of src/math/noise and the samplers
 * broken on purpose, so what is caught there is caught here.  Draws arrive as
 * doubles, which hold every integer these tests meet and also what a broken,
 * off-grid sampler would answer.
 */
#ifndef MECH_LAW_H
#define MECH_LAW_H

#include <stdlib.h>

#include "chisq.h"
#include "dp_numbers.h"
#include "dp_noise.h"

#define LAW_CELLS 1024
#define LAW_RESIDUES 256

/* From this scale on the low byte of a draw is tested, too. */
#define LAW_RESIDUE_SCALE 4096

typedef bool (*law_draw) (void *state, double *out);
typedef bool (*law_flip) (void *state, bool *out);

/*
 * Left ends of magnitude cells for the scale: 64 cells of equal mass, the
 * first cut at distances 1, 2, 4, ... from its left end (off-by-one errors
 * show there), the last at each halving of the tail.
 */
static inline int
law_edges(double scale, double first, double *edge)
{
	double		m;
	int			n = 0;
	int			i;

	edge[n++] = first;
	for (m = 1; m < scale / 64; m *= 2)
		edge[n++] = first + m;
	for (i = 1; i < 72; i++)
	{
		m = first + floor(scale * (i < 64 ? -log1p(-i / 64.0)
								   : (i - 58) * M_LN2));
		if (m > edge[n - 1])
			edge[n++] = m;
	}
	edge[n] = INFINITY;
	return n;
}

static inline int
law_cell(const double *edge, int n, double m)
{
	int			low = 0;
	int			high = n;

	while (high - low > 1)
	{
		int			middle = (low + high) / 2;

		if (m >= edge[middle])
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* exp(-a/b) - exp(-c/b), for c = infinity too. */
static inline double
law_mass(double inverse, double a, double c)
{
	return exp(-a * inverse) * -expm1(-(c - a) * inverse);
}

/* The law of the low byte of a geometric draw, and its test. */
static inline double
law_residue_p(const double *observed, double inverse)
{
	double		expected[LAW_RESIDUES];
	double		total = 0;
	int			i;

	for (i = 0; i < LAW_RESIDUES; i++)
		total += observed[i];
	for (i = 0; i < LAW_RESIDUES; i++)
		expected[i] = total * exp(-i * inverse) * expm1(-inverse) /
			expm1(-LAW_RESIDUES * inverse);
	return dp_chisq_test(observed, expected, LAW_RESIDUES).p;
}

/*
 * One-sided geometric law P[G >= m] = exp(-m/b), inverse = 1/b.  Up to two
 * chi-squares (magnitude, low byte); the smaller p.
 */
static inline double
law_geometric(law_draw draw, void *state, double inverse, int draws)
{
	double		edge[LAW_CELLS];
	double		observed[LAW_CELLS] = {0};
	double		expected[LAW_CELLS] = {0};
	double		residue[LAW_RESIDUES] = {0};
	int			cells = law_edges(1 / inverse, 0, edge);
	double		x;
	double		p;
	int			i;

	for (i = 0; i < draws; i++)
	{
		if (!draw(state, &x) || !(x >= 0) || x != floor(x))
			return 0;
		observed[law_cell(edge, cells, x)]++;
		residue[(int) fmod(x, LAW_RESIDUES)]++;
	}
	for (i = 0; i < cells; i++)
		expected[i] = draws * law_mass(inverse, edge[i], edge[i + 1]);
	p = dp_chisq_test(observed, expected, cells).p;
	if (1 / inverse >= LAW_RESIDUE_SCALE)
		p = fmin(p, law_residue_p(residue, inverse));
	return p;
}

/*
 * Discrete Laplace law around a public integer centre.  Up to four
 * chi-squares (signed magnitude, pairs of successive draws, low bytes of
 * either sign); the smallest p.
 */
static inline double
law_laplace(law_draw draw, void *state, double centre, double inverse,
			int draws)
{
	double		edge[LAW_CELLS];
	double		observed[2 * LAW_CELLS] = {0};
	double		expected[2 * LAW_CELLS] = {0};
	double		residue[2][LAW_RESIDUES] = {{0}};
	double		pair[16] = {0};
	double		pair_expected[16];
	double		class_mass[4];
	int			cells = law_edges(1 / inverse, 1, edge);
	double		half = ceil(M_LN2 / inverse);
	double		both = 1 + exp(-inverse);
	double		x;
	double		p;
	int			class;
	int			before = 0;
	int			cell;
	int			i;

	/* cells left to right: negative far to near, zero, positive */
	for (i = 0; i < draws; i++)
	{
		if (!draw(state, &x) || x != floor(x))
			return 0;
		x -= centre;
		if (x == 0)
			cell = cells;
		else if (x < 0)
			cell = cells - 1 - law_cell(edge, cells, -x);
		else
			cell = cells + 1 + law_cell(edge, cells, x);
		observed[cell]++;
		if (x != 0)
			residue[x < 0][(int) fmod(fabs(x) - 1, LAW_RESIDUES)]++;
		class = (x < 0 ? 2 : 0) + (fabs(x) >= half ? 1 : 0);
		if (i % 2 == 1)
			pair[4 * before + class]++;
		before = class;
	}
	expected[cells] = draws * tanh(inverse / 2);
	for (i = 0; i < cells; i++)
		expected[cells + 1 + i] = expected[cells - 1 - i] =
			draws * law_mass(inverse, edge[i], edge[i + 1]) / both;
	p = dp_chisq_test(observed, expected, 2 * cells + 1).p;

	class_mass[1] = class_mass[3] = exp(-half * inverse) / both;
	class_mass[2] = law_mass(inverse, 1, half) / both;
	class_mass[0] = class_mass[2] + tanh(inverse / 2);
	for (i = 0; i < 16; i++)
		pair_expected[i] = draws / 2 * class_mass[i / 4] * class_mass[i % 4];
	p = fmin(p, dp_chisq_test(pair, pair_expected, 16).p);

	if (1 / inverse >= LAW_RESIDUE_SCALE)
	{
		p = fmin(p, law_residue_p(residue[0], inverse));
		p = fmin(p, law_residue_p(residue[1], inverse));
	}
	return p;
}

/*
 * Uniform law on [0, n), n < 2^53.  Two chi-squares: 256 blocks (each value
 * by itself when n <= 256), residues modulo 256; the smaller p.
 */
static inline double
law_uniform(law_draw draw, void *state, double n, int draws)
{
	double		observed[LAW_RESIDUES] = {0};
	double		expected[LAW_RESIDUES] = {0};
	double		residue[LAW_RESIDUES] = {0};
	double		residue_expected[LAW_RESIDUES] = {0};
	int			cells = n < LAW_RESIDUES ? (int) n : LAW_RESIDUES;
	double		width = ceil(n / cells);
	double		x;
	int			i;

	for (i = 0; i < draws; i++)
	{
		if (!draw(state, &x) || !(x >= 0 && x < n) || x != floor(x))
			return 0;
		observed[(int) floor(x / width)]++;
		residue[(int) fmod(x, LAW_RESIDUES)]++;
	}
	for (i = 0; i < cells; i++)
	{
		/* values v with i width <= v < (i + 1) width, and v = i mod 256 */
		expected[i] = draws *
			fmax(0, fmin(n, (i + 1) * width) - i * width) / n;
		residue_expected[i] = draws *
			(floor((n - 1 - i) / LAW_RESIDUES) + 1) / n;
	}
	return fmin(dp_chisq_test(observed, expected, cells).p,
				dp_chisq_test(residue, residue_expected, cells).p);
}

/*
 * A coin of probability p.  A chi-square of one degree of freedom; for an
 * outcome that expects fewer than DP_CHISQ_MINIMUM a Poisson upper tail.
 */
static inline double
law_coin(law_flip flip, void *state, double p, int draws)
{
	double		observed[2] = {0};
	double		expected[2];
	bool		coin;
	int			rare;
	int			i;

	for (i = 0; i < draws; i++)
	{
		if (!flip(state, &coin))
			return 0;
		observed[coin ? 1 : 0]++;
	}
	expected[1] = draws * p;
	expected[0] = draws - expected[1];
	rare = expected[1] < expected[0] ? 1 : 0;
	if (expected[rare] <= 0)
		return observed[rare] > 0 ? 0 : 1;
	if (expected[rare] < DP_CHISQ_MINIMUM)
		return dp_poisson_p(expected[rare], observed[rare]);
	return dp_chisq_test(observed, expected, 2).p;
}

#endif							/* MECH_LAW_H */
