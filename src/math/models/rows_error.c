/*
 * rows_error.c
 *	  How far rows are from the distribution that they were drawn from, table
 *	  by table: an exact and public difference, which is added to the bounds on
 *	  the distribution's errors.
 */
#include <math.h>
#include <string.h>

#include "dp_models.h"
#include "models_internal.h"

/* Drawn rows, and their counts in nodes of the tree, made on demand. */
typedef struct drawn
{
	const dp_host *host;
	const dp_shape *shape;
	int64_t		rows;
	const int32_t *places;
	double		scale;			/* rows of the relation for each */
	double	   *node[DP_SHAPE_COLUMNS];
} drawn;

/* The largest and the summed difference of two tables. */
typedef struct distance
{
	double		sum;
	double		most;
} distance;

/* The rows' scaled counts in the cells of a set. */
static void
count_rows(const drawn *a, dp_columns set, double *out)
{
	int			column[DP_SHAPE_COLUMNS];
	int			n = 0;
	int64_t		i;
	int			k;

	memset(out, 0,
		   sizeof(double) * (size_t) dp_models_shape_cells(a->shape, set));
	for (k = 0; k < a->shape->columns; k++)
		if (set & DP_COLUMN(k))
			column[n++] = k;
	for (i = 0; i < a->rows; i++)
	{
		const int32_t *row = a->places + i * a->shape->columns;
		int64_t		cell = 0;

		if (i % 65536 == 0 && a->host->pulse != NULL)
			a->host->pulse(a->host->state);
		for (k = 0; k < n; k++)
			cell = cell * a->shape->size[column[k]] + row[column[k]];
		out[cell] += a->scale;
	}
}

static distance
distance_of(const double *a, const double *b, int64_t cells)
{
	distance	out = {0, 0};
	int64_t		k;

	for (k = 0; k < cells; k++)
	{
		out.sum += fabs(a[k] - b[k]);
		out.most = fmax(out.most, fabs(a[k] - b[k]));
	}
	return out;
}

static double *
rows_error_table_for(const dp_host *host, const dp_shape *shape,
					 dp_columns set)
{
	return host->allocate(host->state, sizeof(double) *
						  (size_t) dp_models_shape_cells(shape, set));
}

/*
 * dp_models_generator_summarize
 *	  The report's errors, from bounds of all wanted tables.  A bound of all
 *	  rows or more says nothing: its table counts as unbounded.
 *
 * Requires: report's total; a bound of each table.
 * Gives:	 mean, largest, and a cell's error, and how many have no bound.
 * Source:	 doc/theory.md T74.
 */
void
dp_models_generator_summarize(const dp_generator_terms *t,
							  const dp_bound *bound,
							  dp_generator_report *report)
{
	double		sum = 0;
	int			n = 0;
	int			i;

	report->max_error = report->cell_error = 0;
	report->unbounded = 0;
	for (i = 0; i < t->ntables; i++)
	{
		if (!t->table[i].wanted)
			continue;
		if (!(bound[i].table < report->total))
		{
			report->unbounded++;
			continue;
		}
		sum += bound[i].table;
		n++;
		report->max_error = fmax(report->max_error,
								 bound[i].table / report->total);
		report->cell_error = fmax(report->cell_error, bound[i].cell);
	}
	if (n == 0)
		report->max_error = report->cell_error = NAN;
	report->mean_error = n > 0 ? sum / n / report->total : NAN;
}

/* The rows' scaled counts of a table, summed from its node's if it has one. */
static void
tell(const dp_distribution *d, drawn *a, dp_columns set, double *out)
{
	int			at = dp_models_tree_find(&d->tree, a->shape, set);

	if (at < 0)
	{
		count_rows(a, set, out);
		return;
	}
	if (a->node[at] == NULL)
	{
		a->node[at] = rows_error_table_for(a->host, a->shape,
										   d->tree.node[at].set);
		count_rows(a, d->tree.node[at].set, a->node[at]);
	}
	dp_models_table_sum(a->shape, d->tree.node[at].set, a->node[at], set, out);
}

/*
 * dp_models_generator_rows_error
 *	  Make the terms' bounds and the report's errors hold for rows, each of
 *	  which stands for total/rows of the relation's.
 *
 * Requires: d, the terms with room for bounds, and the report of one
 *			 dp_models_generator_run; places of dp_models_distribution_sample.
 * Gives:	 bounds of every wanted table with what rounding to rows added.
 * Source:	 doc/theory.md T74 (the triangle inequality).
 */
void
dp_models_generator_rows_error(const dp_distribution *d,
							   const dp_generator_terms *t, int64_t rows,
							   const int32_t *places,
							   dp_generator_report *report)
{
	const dp_host *host = d->host;
	drawn		a = {host, &t->shape, rows, places, 0, {NULL}};
	int			i;

	a.scale = rows > 0 ? report->total / (double) rows : 0;
	for (i = 0; i < t->ntables; i++)
	{
		dp_columns	set = t->table[i].set;
		dp_bound   *b = &t->bound[i];
		double	   *expected;
		double	   *told;
		distance	off;

		if (!t->table[i].wanted || !(b->table < report->total))
			continue;
		if (host->pulse != NULL)
			host->pulse(host->state);
		expected = rows_error_table_for(host, &t->shape, set);
		told = rows_error_table_for(host, &t->shape, set);
		/* a table with a bound has a marginal */
		(void) dp_models_distribution_marginal(d, set, MOST_PRODUCT, expected);
		tell(d, &a, set, told);
		off = distance_of(expected, told,
						  (int64_t) dp_models_shape_cells(&t->shape, set));
		b->table = rows > 0 ? b->table + off.sum : INFINITY;
		b->cell = fmin(b->table, b->cell + off.most);
		host->release(host->state, expected);
		host->release(host->state, told);
	}
	for (i = 0; i < d->tree.nodes; i++)
		if (a.node[i] != NULL)
			host->release(host->state, a.node[i]);
	dp_models_generator_summarize(t, t->bound, report);
}

/*
 * dp_models_mwem_rows_error
 *	  Make the report's error hold for rows, each of which stands for
 *	  total/rows of the relation's.
 *
 * Requires: w, terms and report of one dp_models_mwem_run; places of
 *			 dp_models_mwem_sample.
 * Gives:	 cell_error with what rounding to rows added; NAN without rows.
 * Source:	 doc/theory.md T74.
 */
void
dp_models_mwem_rows_error(const dp_mwem *w, const dp_generator_terms *t,
						  int64_t rows, const int32_t *places,
						  dp_generator_report *report)
{
	const dp_host *host = w->host;
	drawn		a = {host, &t->shape, rows, places, 0, {NULL}};
	double		most = 0;
	int			i;

	a.scale = rows > 0 ? w->total / (double) rows : 0;
	for (i = 0; i < t->ntables; i++)
	{
		dp_columns	set = t->table[i].set;
		double	   *expected;
		double	   *told;

		if (!t->table[i].wanted)
			continue;
		expected = rows_error_table_for(host, &t->shape, set);
		told = rows_error_table_for(host, &t->shape, set);
		dp_models_mwem_marginal(w, set, expected);
		count_rows(&a, set, told);
		most = fmax(most, distance_of(expected, told, (int64_t)
									  dp_models_shape_cells(&t->shape,
															set)).most);
		host->release(host->state, expected);
		host->release(host->state, told);
	}
	report->cell_error = rows > 0 ? report->cell_error + most : NAN;
	if (t->total > 0 && report->cell_error > (double) t->total)
		report->cell_error = (double) t->total; /* n is public */
}
