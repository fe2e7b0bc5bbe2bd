/*
 * test_model_distribution.c
 *	  Factored distributions against enumeration: junction trees, marginals of
 *	  every set of columns, fits, rows.
 *
 * Random choices have a fixed seed, so every check but the chi-square ones is
 * the same in each run; those draw from the seed as well.
 */
#include <math.h>

#include "chisq.h"
#include "model_host.h"
#include "tap.h"

#define CASES 150
#define DRAWS 200000

static dp_source source;

/* A shape of few cells, some columns of one place. */
static dp_shape
any_shape(int columns)
{
	dp_shape	shape;
	int			i;

	memset(&shape, 0, sizeof(shape));
	shape.columns = columns;
	for (i = 0; i < columns; i++)
		shape.size[i] = 1 + any_below(&source, 4);
	return shape;
}

/* Is every set inside a node, and does every column hang together? */
static bool
tree_is_sound(const dp_distribution *d)
{
	const dp_tree *tree = &d->tree;
	double		cells = 0;
	int			i;
	int			k;

	for (i = 0; i < d->nfactors; i++)
		if ((d->factor[i].set & ~tree->node[d->factor[i].node].set) != 0)
			return false;
	for (k = 0; k < d->shape.columns; k++)
	{
		int			tops = 0;

		for (i = 0; i < tree->nodes; i++)
			if ((tree->node[i].set & DP_COLUMN(k)) &&
				!(tree->node[i].separator & DP_COLUMN(k)))
				tops++;
		if (tops != 1)
			return false;
	}
	for (i = 0; i < tree->nodes; i++)
	{
		const dp_tree_node *node = &tree->node[i];

		cells += dp_models_shape_cells(&d->shape, node->set);
		if ((i == 0) != (node->parent < 0) || node->parent >= i)
			return false;
		if (i > 0 && node->separator !=
			(node->set & tree->node[node->parent].set))
			return false;
	}
	return cells == d->cells;
}

/* The joint distribution, cell by cell. */
static double *
enumerate(const dp_distribution *d)
{
	dp_columns	all = DP_COLUMN(d->shape.columns) - 1;
	int64_t		cells = (int64_t) dp_models_shape_cells(&d->shape, all);
	double	   *joint = calloc((size_t) cells, sizeof(double));
	double		sum = 0;
	int64_t		cell;
	int			i;
	int			k;

	for (cell = 0; cell < cells; cell++)
	{
		int			place[DP_SHAPE_COLUMNS];
		int64_t		rest = cell;

		for (k = d->shape.columns - 1; k >= 0; k--)
		{
			place[k] = (int) (rest % d->shape.size[k]);
			rest /= d->shape.size[k];
		}
		for (i = 0; i < d->nfactors; i++)
		{
			int64_t		at = 0;

			for (k = 0; k < d->shape.columns; k++)
				if (d->factor[i].set & DP_COLUMN(k))
					at = at * d->shape.size[k] + place[k];
			joint[cell] += d->factor[i].potential[at];
		}
		sum += joint[cell] = exp(joint[cell]);
	}
	for (cell = 0; cell < cells; cell++)
		joint[cell] /= sum;
	return joint;
}

/* The largest difference of any marginal from enumeration's. */
static double
worst_marginal(const dp_distribution *d)
{
	dp_columns	all = DP_COLUMN(d->shape.columns) - 1;
	size_t		cells = (size_t) dp_models_shape_cells(&d->shape, all);
	double	   *joint = enumerate(d);
	double	   *wanted = malloc(cells * sizeof(double));
	double	   *got = malloc(cells * sizeof(double));
	double		worst = 0;
	dp_columns	set;
	int64_t		k;

	for (set = 1; set <= all; set++)
	{
		dp_models_table_sum(&d->shape, all, joint, set, wanted);
		if (dp_models_distribution_marginal(d, set, 1e9, got) != DP_OK)
			worst = INFINITY;
		for (k = 0; k < (int64_t) dp_models_shape_cells(&d->shape, set); k++)
			worst = fmax(worst, fabs(got[k] / d->total - wanted[k]));
	}
	free(joint);
	free(wanted);
	free(got);
	return worst;
}

/* A distribution over some random sets with random potentials. */
static dp_distribution *
any_distribution(const dp_shape *shape, int sets, double spread)
{
	dp_distribution *d = dp_models_distribution_make(&test_host, shape, 1000);
	double		zeros[4096] = {0};
	int			i;
	int64_t		k;

	for (i = 0; i < sets; i++)
	{
		dp_columns	set = 0;

		while (set == 0 || dp_models_shape_cells(shape, set) > 4096)
			set = DP_COLUMN(any_below(&source, shape->columns)) |
				DP_COLUMN(any_below(&source, shape->columns)) |
				DP_COLUMN(any_below(&source, shape->columns));
		dp_models_distribution_measure(d, set, zeros, 1);
	}
	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			d->factor[i].potential[k] =
				spread * (any_number(&source) - .5);
	dp_models_distribution_infer(d);
	return d;
}

static void
test_inference(void)
{
	double		worst = 0;
	bool		sound = true;
	int			i;

	for (i = 0; i < CASES; i++)
	{
		dp_shape	shape = any_shape(2 + any_below(&source, 5));
		dp_distribution *d = any_distribution(&shape,
											  any_below(&source, 8),
											  i % 3 == 0 ? 200 : 4);

		sound = sound && tree_is_sound(d);
		worst = fmax(worst, worst_marginal(d));
		dp_models_distribution_free(d);
	}
	tap_ok(sound, "junction trees of %d random workloads hang together",
		   CASES);
	tap_ok(worst < 1e-9, "all marginals of %d random distributions are those "
		   "of enumeration (off by %.1e)", CASES, worst);
}

/* A product that is too large is refused, not made. */
static void
test_limit(void)
{
	dp_shape	shape = {3, {4, 4, 4}};
	dp_distribution *d = dp_models_distribution_make(&test_host, &shape, -1);
	double		zeros[16] = {0};
	double		out[64];

	dp_models_distribution_measure(d, 3, zeros, 1);
	dp_models_distribution_measure(d, 6, zeros, 1);
	dp_models_distribution_infer(d);
	tap_ok(dp_models_distribution_marginal(d, 5, 63, out) == DP_E_RANGE &&
		   dp_models_distribution_marginal(d, 5, 64, out) == DP_OK,
		   "a marginal that takes 64 cells on the way is refused below that");
	tap_ok(dp_models_distribution_size(d, 5) == 64 && d->cells == 32,
		   "closing a triangle makes one clique of 64 cells");
	dp_models_distribution_free(d);
}

/* Exact marginals of a distribution are recovered from measurements of it. */
static void
test_fit(void)
{
	dp_shape	shape = {5, {2, 3, 4, 3, 2}};
	dp_columns	sets[] = {3, 6, 12, 24, 17, 10};
	dp_distribution *truth = any_distribution(&shape, 6, 3);
	dp_distribution *d = dp_models_distribution_make(&test_host, &shape, -1);
	double	   *joint = enumerate(truth);
	double		value[64];
	double		worst = 0;
	double		last;
	bool		falls = true;
	int			i;
	int64_t		k;

	for (i = 0; i < 6; i++)
	{
		dp_models_table_sum(&shape, 31, joint, sets[i], value);
		for (k = 0; k < (int64_t) dp_models_shape_cells(&shape, sets[i]); k++)
			value[k] *= 5000;
		dp_models_distribution_measure(d, sets[i], value, i + 1);
	}
	tap_ok(fabs(d->total - 5000) < 1e-6, "the number of rows is estimated");
	dp_models_distribution_infer(d);
	last = dp_models_distribution_loss(d);
	for (i = 0; i < 40; i++)
	{
		dp_models_distribution_fit(d, 100, 0, 0);
		falls = falls && dp_models_distribution_loss(d) <= last + 1e-12;
		last = dp_models_distribution_loss(d);
	}
	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			worst = fmax(worst, fabs(d->factor[i].marginal[k] -
									 d->factor[i].value[k]));
	tap_ok(falls, "no fit makes the loss larger");
	tap_ok(worst < .05, "consistent marginals are recovered (off by %.2g of "
		   "5000 rows)", worst);
	free(joint);
	dp_models_distribution_free(truth);
	dp_models_distribution_free(d);
}

/* Repeated measurements are averaged by their precision. */
static void
test_repeated(void)
{
	dp_shape	shape = {1, {2}};
	dp_distribution *d = dp_models_distribution_make(&test_host, &shape, -1);
	double		first[] = {10, 30};
	double		second[] = {20, 20};

	dp_models_distribution_measure(d, 1, first, 1);
	dp_models_distribution_measure(d, 1, second, 3);
	tap_ok(d->nfactors == 1 && fabs(d->factor[0].value[0] - 12.5) < 1e-12 &&
		   fabs(d->factor[0].value[1] - 27.5) < 1e-12 &&
		   fabs(d->factor[0].weight - 4.0 / 3) < 1e-12,
		   "two measurements of one table count by their precision");
	dp_models_distribution_free(d);
}

/* One row at a time follows the joint distribution. */
static void
test_rows(void)
{
	dp_shape	shape = {4, {2, 3, 2, 3}};
	dp_distribution *d = any_distribution(&shape, 4, 3);
	double	   *joint = enumerate(d);
	double		seen[36] = {0};
	double		expected[36];
	int32_t		row[4];
	dp_chisq	fit;
	int			i;

	for (i = 0; i < DRAWS; i++)
	{
		if (dp_models_distribution_sample(d, &source, 1, row) != DP_OK)
			break;
		seen[((row[0] * 3 + row[1]) * 2 + row[2]) * 3 + row[3]]++;
	}
	for (i = 0; i < 36; i++)
		expected[i] = DRAWS * joint[i];
	fit = dp_chisq_test(seen, expected, 36);
	tap_ok(fit.p >= DP_CHISQ_ALPHA, "single rows follow the joint "
		   "distribution: p = %.3g, false alarms below 1e-10", fit.p);
	free(joint);
	dp_models_distribution_free(d);
}

/* Many rows at once have every node's marginal but for rounding. */
static void
test_many_rows(void)
{
	dp_shape	shape = {6, {3, 2, 4, 2, 3, 2}};
	dp_distribution *d = any_distribution(&shape, 6, 3);
	int32_t    *places = malloc(sizeof(int32_t) * 6 * 100000);
	const dp_tree_node *root = &d->tree.node[0];
	int64_t    *counts;
	double		worst = 0;
	bool		inside = true;
	int64_t		k;
	int			i;

	tap_ok(dp_models_distribution_sample(d, &source, 100000, places) == DP_OK,
		   "100000 rows are drawn");
	for (k = 0; k < 600000; k++)
		inside = inside && places[k] >= 0 && places[k] < shape.size[k % 6];
	counts = count_rows(&shape, root->set, places, 100000);
	for (k = 0; k < (int64_t) dp_models_shape_cells(&shape, root->set); k++)
		worst = fmax(worst, fabs((double) counts[k] -
								 100000 * d->belief[0][k]));
	free(counts);
	tap_ok(inside && worst < 1.001,
		   "the root's cells are rounded up or down (off by %.3f)", worst);
	worst = 0;
	for (i = 1; i < d->tree.nodes; i++)
	{
		dp_columns	set = d->tree.node[i].set;

		counts = count_rows(&shape, set, places, 100000);
		for (k = 0; k < (int64_t) dp_models_shape_cells(&shape, set); k++)
			worst = fmax(worst, fabs((double) counts[k] -
									 100000 * d->belief[i][k]));
		free(counts);
	}
	tap_ok(worst < 50, "the other nodes' follow their separators' "
		   "(off by %.1f)", worst);
	free(places);
	dp_models_distribution_free(d);
}

static void
test_share(void)
{
	double		odds[] = {0, .5, .25, .125, .125};
	int64_t		counts[5];
	double		sum[5] = {0};
	bool		whole = true;
	int			i;
	int			k;

	for (i = 0; i < 40000; i++)
	{
		int64_t		total = 0;

		if (dp_models_sample_share(&source, odds, 5, 1, 7, counts) != DP_OK)
			break;
		for (k = 0; k < 5; k++)
		{
			total += counts[k];
			sum[k] += (double) counts[k];
			whole = whole && counts[k] >= (int64_t) (7 * odds[k]) &&
				counts[k] <= (int64_t) ceil(7 * odds[k]);
		}
		whole = whole && total == 7;
	}
	for (k = 0; k < 5; k++)
		whole = whole && fabs(sum[k] / 40000 - 7 * odds[k]) < .02;
	tap_ok(whole, "shares sum to the rows, are rounded up or down, and right "
		   "in the mean (8 standard errors)");
}

int
main(void)
{
	uint64_t	seed = 20261121;

	dp_noise_source_init(&source, fake_fill, &seed);
	test_inference();
	test_limit();
	test_fit();
	test_repeated();
	test_rows();
	test_many_rows();
	test_share();
	tap_ok(host_allocations == 0, "all memory is given back");
	return tap_done();
}
