/*
 * test_mech_pair.c
 *	  What is measured of pairs, by all rows of small grids and by random ones
 *	  of large grids: never negative, linear in the rows, moved by a row by no
 *	  more than is stated and by as much as is stated, in L1 and in L2, also
 *	  where a unit's rows are scaled and rounded down; and that too small a
 *	  bound and too large a weight are caught.
 *
 * Every check is exact: the false-alarm rate is 0.
 */
#include "tap.h"

#include <math.h>
#include <string.h>

#include "dp_noise.h"

#define ROUNDS 200000

static uint64_t state = 20261125;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* A number of 0 .. most, often an end or the middle. */
static int64_t
pick(int64_t most)
{
	switch (next() % 6)
	{
		case 0:
			return 0;
		case 1:
			return most;
		case 2:
			return most / 2;
		default:
			return (int64_t) (next() % ((uint64_t) most + 1));
	}
}

static dp_pair_shape
make(dp_pair_kind kind, int64_t g, int64_t h, int spread, int second)
{
	dp_pair_shape shape;

	dp_noise_pair_make(kind, g, h, spread, second, &shape);
	return shape;
}

/* What a row adds, in L1, and whether that is more than `row` in L2. */
static dp_int128
norm_of(const dp_pair_shape *shape, const dp_int128 *cells, bool *beyond)
{
	dp_int128	l1 = 0;
	long double l2 = 0;
	int			i;

	for (i = 0; i < shape->ncells; i++)
	{
		if (cells[i] < 0)
			return -1;
		l1 += cells[i];
		l2 += (long double) cells[i] * (long double) cells[i];
	}
	*beyond = l2 > (long double) shape->row * (long double) shape->row *
		(1 + 1e-15L);
	return l1;
}

typedef struct worst
{
	dp_int128	l1;
	int			negative;
	int			beyond;			/* in L2 */
} worst;

static void
see(worst *w, const dp_pair_shape *shape, const dp_int128 *cells)
{
	bool		beyond = false;
	dp_int128	l1 = norm_of(shape, cells, &beyond);

	w->negative += l1 < 0;
	w->beyond += beyond;
	if (l1 > w->l1)
		w->l1 = l1;
}

/* Every row of the grids. */
static worst
all_rows(const dp_pair_shape *shape)
{
	worst		w = {0, 0, 0};
	int64_t		k;
	int64_t		l;

	for (k = 0; k <= shape->width; k++)
		for (l = 0; l <= shape->second_width; l++)
		{
			dp_pair_sums sums = {0};
			dp_int128	cells[DP_PAIR_CELLS];

			dp_pair_add(&sums, k, l);
			dp_noise_pair_cells(shape, &sums, cells);
			see(&w, shape, cells);
		}
	return w;
}

/* The grids of widths up to 9; in how many something is not as stated. */
static int
small_grids(dp_pair_kind kind, int spread, int second, bool gaussian)
{
	int			bad = 0;
	int64_t		g;
	int64_t		h;

	for (g = 1; g <= 9; g++)
		for (h = 1; h <= 9; h++)
		{
			dp_pair_shape shape = make(kind, g, h, spread, second);
			worst		w = all_rows(&shape);

			bad += w.negative > 0 || (gaussian && w.beyond > 0) ||
				w.l1 != (dp_int128) dp_noise_pair_l1(&shape);
		}
	return bad;
}

/*
 * Units of up to 40 rows on large grids, of which m count: each number scaled
 * and rounded down, as src/measure/units does.  In how many a part is beyond m
 * times the bound of a row, and in how many the cells are not the sum of the
 * rows'.
 */
static int
units(int spread, int second, bool *linear)
{
	int			bad = 0;
	int			i;

	*linear = true;
	for (i = 0; i < ROUNDS; i++)
	{
		dp_pair_shape shape = make(DP_PAIR_PRODUCTS,
								   1 + pick(DP_PAIR_WIDTH - 1),
								   1 + pick(DP_PAIR_WIDTH - 1), spread,
								   second);
		int			c = 1 + (int) (next() % 40);
		int			m = 1 + (int) (next() % 5);
		dp_pair_sums sums = {0};
		dp_pair_sums half = {0};
		dp_int128	added[DP_PAIR_CELLS] = {0};
		dp_int128	cells[DP_PAIR_CELLS];
		dp_int128	l1 = 0;
		long double l2 = 0;
		int			j;
		int			n;

		for (j = 0; j < c; j++)
		{
			dp_pair_sums row = {0};
			int64_t		k = pick(shape.width);
			int64_t		l = pick(shape.second_width);

			dp_pair_add(&row, k, l);
			dp_pair_add(j % 2 ? &sums : &half, k, l);
			dp_noise_pair_cells(&shape, &row, cells);
			for (n = 0; n < shape.ncells; n++)
				added[n] += cells[n];
		}
		dp_pair_merge(&sums, &half);
		dp_noise_pair_cells(&shape, &sums, cells);
		for (n = 0; n < shape.ncells; n++)
		{
			*linear = *linear && cells[n] == added[n];
			if (c > m)
				cells[n] = cells[n] * m / c;
			l1 += cells[n];
			l2 += (long double) cells[n] * (long double) cells[n];
		}
		bad += l1 > (dp_int128) dp_noise_pair_l1(&shape) * m ||
			sqrtl(l2) > (long double) shape.row * m * (1 + 1e-15L);
	}
	return bad;
}

/* How far weights are from c row / G^2, at most; as a share. */
static double
lost_weight(void)
{
	double		most = 0;
	int			i;

	for (i = 0; i < ROUNDS; i++)
	{
		dp_pair_shape shape = make(DP_PAIR_PRODUCTS,
								   1 + pick(DP_PAIR_WIDTH - 1),
								   1 + pick(DP_PAIR_WIDTH - 1), 1, 1);
		double		whole = (double) shape.row / (double) shape.width /
			(double) shape.width;

		most = fmax(most, 1 - (double) shape.weight / whole);
		if (shape.row > INT64_C(1) << 48 || shape.row <= INT64_C(1) << 47 ||
			shape.weight < 7)
			return 1;
	}
	return most;
}

int
main(void)
{
	dp_pair_shape shape = make(DP_PAIR_PRODUCTS, 8, 6, 1, 1);
	bool		linear;
	bool		other;
	int			n;

	tap_ok(small_grids(DP_PAIR_ROWS, 0, 0, true) == 0, "rows");
	tap_ok(small_grids(DP_PAIR_MEAN, 0, 0, true) == 0, "means");
	tap_ok(small_grids(DP_PAIR_SQUARES, 0, 0, true) == 0, "squares");
	tap_ok(small_grids(DP_PAIR_PRODUCTS, 0, 0, true) == 0, "products");
	tap_ok(small_grids(DP_PAIR_PRODUCTS, 1, 0, true) == 0, "with one spread");
	tap_ok(small_grids(DP_PAIR_PRODUCTS, 1, 1, true) == 0, "with both");
	tap_ok(small_grids(DP_PAIR_PRODUCTS, 2, 0, true) == 0, "one, doubled");
	tap_ok(small_grids(DP_PAIR_PRODUCTS, 2, 2, true) == 0, "both, doubled");
	n = units(1, 1, &linear);
	tap_ok(n == 0, "%d units of many rows: %d beyond", ROUNDS, n);
	n = units(2, 2, &other);
	tap_ok(n == 0, "with doubled spreads: %d beyond", n);
	tap_ok(linear && other, "cells add up, row by row");
	tap_ok(lost_weight() < 0.13, "weights lose %.3f at most", lost_weight());

	/* spreads that nobody counted, and weights above sqrt(6) */
	tap_ok(all_rows(&shape).l1 > shape.row, "spreads are not free in L1");
	shape.weight *= 3;
	shape.second_weight *= 3;
	tap_ok(all_rows(&shape).beyond > 0, "a weight of 3 is seen in L2");
	return tap_done();
}
