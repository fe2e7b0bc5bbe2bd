/*
 * measure_histogram.c
 *	  dp_histogram: the number of rows in each of n buckets of equal width.
 *
 * Every bucket gets noise, including empty ones.  A row is in at most one
 * bucket, so a unit with at most m rows in each of kappa groups changes the
 * counts by kappa m in L1 and by sqrt(kappa) m in L2; if a unit is replaced
 * its rows may be in other buckets: twice that in L1, sqrt(2) times in L2
 * (doc/theory.md T41).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "../bridge/dp_numeric.h"
#include "dp_measure.h"

/* Most buckets of one histogram. */
#define MAX_BUCKETS 10000

/* More digits are not useful, and every bucket stores an edge of that size. */
#define MAX_BOUND_BYTES 1024

static void
check_bounds(Numeric lower, Numeric upper)
{
	if (VARSIZE(lower) > MAX_BOUND_BYTES || VARSIZE(upper) > MAX_BOUND_BYTES)
		dp_bridge_raise_parameter(
			"bounds of dp_histogram have too many digits",
			"Round them.");
	if (numeric_is_nan(lower) || numeric_is_nan(upper) ||
		numeric_is_inf(lower) || numeric_is_inf(upper))
		dp_bridge_raise_parameter(
			"bounds of dp_histogram must be finite",
			"Give the lower end of the first bucket and the upper "
			"end of the last one.");
	if (dp_numeric_compare(lower, upper) >= 0)
		dp_bridge_raise_parameter(
			"lower bound must be less than upper bound",
			"Give the smaller bound first.");
}

static Const *
make_buckets(const dp_measure *measure)
{
	return dp_places_tally_bucket_spec(measure->argument_type, measure->lower,
									   measure->upper, measure->ncells);
}

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	rows = (dp_uint128) c->rows;
	dp_uint128	l1 = dp_measure_product(rows, (dp_uint128) c->kappa);
	dp_uint128	l2 = dp_measure_product(l1, rows);	/* squared */

	(void) dp_measure_find_bounds(measure);
	check_bounds(measure->lower, measure->upper);
	measure->ncells = (int) dp_measure_number(measure, 1, MAX_BUCKETS,
											  "number of buckets");
	dp_measure_set_bound(measure, DP_BOUND_VALUES);
	measure->plan = make_buckets(measure);
	if (c->replace)
	{
		l1 = dp_measure_product(l1, 2);
		l2 = dp_measure_product(l2, 2);
	}
	measure->grid.exponent = 0;
	dp_measure_set_noise(measure, l1, l2, false);
}

static List *
inner(const dp_measure *measure)
{
	return dp_measure_count_column(measure,
								   dp_measure_column_spec(measure,
														  DP_AXIS_BUCKETS,
														  measure->ncells,
														  measure->plan));
}

static Expr *
row(const dp_measure *measure, Expr *argument)
{
	return dp_measure_row_place(measure, argument, DP_AXIS_BUCKETS,
								measure->plan);
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	Datum	   *counts = palloc(sizeof(Datum) * measure->ncells);
	int			i;

	*error = dp_measure_error_of_sum(measure);
	for (i = 0; i < measure->ncells; i++)
		counts[i] =
			dp_measure_from_granules(measure,
									 dp_measure_add_noise(measure,
														  cells[i].integer),
									 INT8OID);
	return PointerGetDatum(construct_array(counts, measure->ncells, INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

static const char *const forms[] = {"n", "ne", "lun", "lune", NULL};

const dp_measure_ops dp_measure_histogram = {
	DP_AGG_HISTOGRAM, "histogram", forms, prepare, inner,
	dp_measure_load_tally, release, NULL, row, dp_measure_add_value
};
