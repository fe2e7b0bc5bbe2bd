/*
 * test_model_polish.c
 *	  Rows that are brought nearer to what a distribution expects of them: the
 *	  tables of many cells, those of few rows, wide columns; cancel, failures.
 *
 * All choices have a fixed seed, so every check is the same in each run.
 */
#include <math.h>

#include "model_host.h"
#include "tap.h"

static dp_source source;
static long pulses;

static void
count_pulse(void *state)
{
	(void) state;
	pulses++;
}

static const dp_host counting_host = {host_allocate, host_release,
	count_pulse, NULL};

/* How far rows are from what is expected of the terms' tables and nodes. */
typedef struct distance
{
	double		squares;
	double		worst;			/* of the terms' tables, in rows drawn */
} distance;

static double
add_squares(const dp_distribution *d, dp_columns set, const int32_t *places,
			int64_t rows, distance *out)
{
	int64_t		cells = (int64_t) dp_models_shape_cells(&d->shape, set);
	int64_t    *counts = count_rows(&d->shape, set, places, rows);
	double	   *expected = malloc((size_t) cells * sizeof(double));
	double		worst = 0;
	int64_t		k;

	if (dp_models_distribution_marginal(d, set, 1e9, expected) != DP_OK)
		abort();
	for (k = 0; k < cells; k++)
	{
		double		gap = (double) counts[k] -
			expected[k] * (double) rows / d->total;

		out->squares += gap * gap;
		worst = fmax(worst, fabs(gap));
	}
	free(counts);
	free(expected);
	return worst;
}

static distance
distance_of(const dp_distribution *d, const dp_generator_terms *t,
			const int32_t *places, int64_t rows)
{
	distance	out = {0, 0};
	int			i;
	int			k;

	for (i = 0; i < t->ntables; i++)
		out.worst = fmax(out.worst, add_squares(d, t->table[i].set, places,
												rows, &out));
	for (i = 0; i < d->tree.nodes; i++)
	{
		for (k = 0; k < t->ntables; k++)
			if (t->table[k].set == d->tree.node[i].set)
				break;
		if (k == t->ntables)
			add_squares(d, d->tree.node[i].set, places, rows, &out);
	}
	return out;
}

/* A distribution over sets of columns that leans one way. */
static dp_distribution *
leaning(const dp_host *host, const dp_shape *shape, const dp_columns *sets,
		int nsets)
{
	dp_distribution *d = dp_models_distribution_make(host, shape, 1000);
	int			i;
	int64_t		k;

	for (i = 0; i < nsets; i++)
	{
		double	   *zeros = calloc((size_t) dp_models_shape_cells(shape,
																  sets[i]),
								   sizeof(double));

		dp_models_distribution_measure(d, sets[i], zeros, 1);
		free(zeros);
	}
	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			d->factor[i].potential[k] = 4 * any_number(&source);
	dp_models_distribution_infer(d);
	return d;
}

/* All tables of up to k columns; nothing of them is counted. */
static dp_generator_table *
terms_make(dp_generator_terms *t, const dp_shape *shape, int k)
{
	int32_t		none[DP_SHAPE_COLUMNS] = {0};
	dp_generator_table *tables;

	memset(t, 0, sizeof(*t));
	t->shape = *shape;
	tables = all_tables(shape, k, none, 0, &t->ntables);
	t->table = tables;
	return tables;
}

static void
check(const char *what, const dp_shape *shape, const dp_columns *sets,
	  int nsets, int k, int64_t rows, double limit, double part)
{
	size_t		places = (size_t) (rows * shape->columns);
	int32_t    *drawn = malloc((places + 1) * sizeof(int32_t));
	int32_t    *kept = malloc((places + 1) * sizeof(int32_t));
	dp_distribution *d = leaning(&test_host, shape, sets, nsets);
	dp_generator_terms t;
	dp_generator_table *tables = terms_make(&t, shape, k);
	distance	before;
	distance	after;
	dp_status	status;
	bool		inside = true;
	double		changed = 0;
	size_t		i;

	status = dp_models_distribution_sample(d, &source, rows, drawn);
	memcpy(kept, drawn, places * sizeof(int32_t));
	before = distance_of(d, &t, drawn, rows);
	if (status == DP_OK)
		status = dp_models_generator_polish(d, &t, &source, rows, drawn);
	after = distance_of(d, &t, drawn, rows);
	for (i = 0; i < places; i++)
	{
		inside = inside && drawn[i] >= 0 &&
			drawn[i] < shape->size[i % (size_t) shape->columns];
		changed += drawn[i] != kept[i];
	}
	tap_ok(status == DP_OK && inside && after.worst < limit &&
		   after.squares <= before.squares * part,
		   "%s: the largest difference of a table's cell is %.2f, not %.2f, "
		   "squares %.0f, not %.0f", what, after.worst, before.worst,
		   after.squares, before.squares);
	tap_ok(changed <= .4 * (double) places,
		   "and %.1f%% of the places were changed",
		   100 * changed / (double) (places + (places == 0)));
	dp_models_distribution_free(d);
	free_tables(tables, t.ntables);
	free(drawn);
	free(kept);
}

static void
test_distances(void)
{
	static const dp_shape six = {6, {2, 2, 3, 4, 5, 6}};
	static const dp_shape wide = {3, {2, 3, 1000}};
	static const dp_columns all[] = {63};
	static const dp_columns chain[] = {3, 6, 12, 24, 48};
	static const dp_columns pairs[] = {5, 6};

	check("one node", &six, all, 1, 3, 5000, 4, .5);
	check("a chain", &six, chain, 5, 3, 20000, 8, .2);
	check("few rows", &six, chain, 5, 3, 100, 5, .7);
	check("one row", &six, chain, 5, 3, 1, 1.01, 1);
	check("no rows", &six, chain, 5, 3, 0, 1, 1);
	check("a wide column", &wide, pairs, 2, 2, 5000, 5, .9);
}

/* The host is called among the looks, and a failing source is told. */
static void
test_host_calls(void)
{
	static const dp_shape wide = {3, {2, 3, 1000}};
	static const dp_columns pairs[] = {5, 6};
	dp_distribution *d = leaning(&counting_host, &wide, pairs, 2);
	dp_generator_terms t;
	dp_generator_table *tables = terms_make(&t, &wide, 2);
	int32_t    *drawn = malloc(3 * 50000 * sizeof(int32_t));
	dp_source	failing;
	dp_status	status;

	status = dp_models_distribution_sample(d, &source, 50000, drawn);
	pulses = 0;
	if (status == DP_OK)
		status = dp_models_generator_polish(d, &t, &source, 50000, drawn);
	/* 3 tables have a column, 128 places at most */
	tap_ok(status == DP_OK && pulses > 50000. * 3 * 133 / 1e5,
		   "the host is called %ld times for 50000 rows", pulses);
	dp_noise_source_init(&failing, failing_fill, NULL);
	tap_ok(dp_models_generator_polish(d, &t, &failing, 50000,
									  drawn) == DP_E_RANDOM,
		   "a source that fails is told");
	dp_models_distribution_free(d);
	free_tables(tables, t.ntables);
	free(drawn);
}

int
main(void)
{
	uint64_t	seed = 20261121;

	dp_noise_source_init(&source, fake_fill, &seed);
	test_distances();
	test_host_calls();
	tap_ok(host_allocations == 0, "all memory is given back");
	return tap_done();
}
