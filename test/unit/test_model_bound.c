/*
 * test_model_bound.c
 *	  What the adaptive generator says about its errors holds at the rate that
 *	  it promises, in runs of several kinds, and is not much too large.
 *
 * A run is wrong at a rate of at most 0.05, hence 41 of 300 at one below 1e-6
 * with fresh seeds (here the seed is fixed).
 */
#include <math.h>

#include "model_host.h"
#include "tap.h"

#define RUNS 300
#define MOST_WRONG 41

static dp_source source;

/* The largest of error / bound, over cells and over sums of cells. */
typedef struct ratios
{
	double		cell;
	double		table;
} ratios;

static ratios
ratios_of(const dp_distribution *d, const dp_generator_terms *t)
{
	ratios		out = {0, 0};
	int			i;
	int64_t		k;

	for (i = 0; i < t->ntables; i++)
	{
		int64_t		cells = (int64_t) dp_models_shape_cells(&t->shape,
															t->table[i].set);
		double	   *expected = malloc((size_t) cells * sizeof(double));
		double		sum = 0;

		if (t->table[i].wanted &&
			dp_models_distribution_marginal(d, t->table[i].set, 1e9,
											expected) == DP_OK)
		{
			for (k = 0; k < cells; k++)
			{
				double		off = fabs(expected[k] -
									   (double) t->table[i].counts[k]);

				sum += off;
				out.cell = fmax(out.cell, off / t->bound[i].cell);
			}
			out.table = fmax(out.table, sum / t->bound[i].table);
		}
		free(expected);
	}
	return out;
}

static int32_t *
leaning_rows(const dp_shape *shape, int64_t rows)
{
	int32_t    *places = malloc(sizeof(int32_t) *
								(size_t) (rows * shape->columns));
	int64_t		i;
	int			k;

	for (i = 0; i < rows; i++)
	{
		double		lean = any_number(&source);

		for (k = 0; k < shape->columns; k++)
			places[i * shape->columns + k] =
				(int32_t) ((double) shape->size[k] * lean *
						   any_number(&source));
	}
	return places;
}

/*
 * Runs on one set of rows; also_parts: parts of the wanted tables are wanted,
 * too.  A bound that was `loose` times smaller would be noticed.
 */
static void
check(const char *what, const dp_shape *shape, int columns, bool also_parts,
	  double most_cells, double rho, double loose)
{
	int32_t    *rows = leaning_rows(shape, 1000);
	dp_generator_terms t;
	dp_generator_table *tables;
	int			wrong = 0;
	int			noticed = 0;
	double		cell = 0;
	double		table = 0;
	int			run;
	int			i;

	memset(&t, 0, sizeof(t));
	t.shape = *shape;
	tables = all_tables(shape, columns, rows, 1000, &t.ntables);
	t.table = tables;
	t.sensitivity = 1;
	t.total = -1;
	t.most_cells = most_cells;
	t.bound = calloc((size_t) t.ntables, sizeof(dp_bound));
	for (i = 0; i < t.ntables; i++)
		tables[i].wanted = tables[i].wanted || also_parts;
	for (run = 0; run < RUNS; run++)
	{
		dp_generator_report report;
		dp_distribution *d;
		ratios		found = {2, 2};

		if (dp_models_generator_run(&test_host, &source, &t, (dp_fixed)
									(rho * 1e6) * (DP_FIXED_ONE / 1000000), &d,
									&report) == DP_OK)
		{
			found = ratios_of(d, &t);
			dp_models_distribution_free(d);
		}
		wrong += found.cell > 1 || found.table > 1;
		noticed += found.cell > 1 / loose;
		cell += found.cell / RUNS;
		table += found.table / RUNS;
	}
	tap_ok(wrong < MOST_WRONG, "%s: wrong in %d of %d runs; errors are %.2f "
		   "of what is said of cells, %.2f of sums, in the mean", what, wrong,
		   RUNS, cell, table);
	tap_ok(noticed >= MOST_WRONG, "cells' bounds that were %.1f times smaller "
		   "would be noticed: %d runs", loose, noticed);
	free(t.bound);
	free_tables(tables, t.ntables);
	free(rows);
}

int
main(void)
{
	static const dp_shape pair = {2, {2, 2}};
	static const dp_shape three = {3, {2, 3, 4}};
	static const dp_shape four = {4, {2, 2, 3, 6}};
	static const dp_shape empty = {3, {5, 6, 7}};
	uint64_t	seed = 20261121;

	dp_noise_source_init(&source, fake_fill, &seed);
	check("one table of few cells", &pair, 2, true, 100, .1, 3);
	check("three pairs", &three, 2, false, 100, .05, 3);
	check("pairs and columns", &three, 2, true, 100, .05, 3);
	check("triples", &four, 3, true, 100, .1, 3);
	check("a table of many empty cells", &empty, 3, false, 1000, .1, 4);
	check("a tree that holds no pair of large columns", &four, 2, true, 22,
		  .1, 4);
	tap_ok(host_allocations == 0, "all memory is given back");
	return tap_done();
}
