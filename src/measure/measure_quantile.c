/*
 * measure_quantile.c
 *	  dp_quantile and dp_median: a grid point chosen by its rank.
 *
 * Cells are the rows of a group by grid point.  The exponential mechanism
 * chooses a point v of the public grid, scored by the distance in rank from
 * a/d of the rows: one row changes a score by at most max(a, d - a), and a
 * unit has m rows per group (doc/quantile.md Q1).  A replaced unit changes a
 * group's scores by at most m d, or leaves one group and enters another.  With
 * kappa groups per unit each group's choice has epsilon / kappa, which is the
 * same as kappa times the sensitivity.  Ties and groups without rows need no
 * special treatment.
 *
 * The grid has at most DP_COUNTS_CELLS points, fewer if many groups or
 * aggregates keep counts; a finer granule is doubled until that holds.  The
 * answer is a point of the grid, as a value of the argument's type.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "dp_measure.h"

#define BLOCK_CELLS (INT64CONST(64) * 1024 * 1024)
#define LEAST_CELLS 256

typedef struct quantile_plan
{
	dp_envelope law;
	dp_rational fraction;
} quantile_plan;

/*
 * Points of a group's grid: all grids of the block together have at most
 * BLOCK_CELLS, of 4 bytes each whatever the rows, unless more than 2^32 of
 * these meet at one point.
 */
static int64
most_points(const dp_measure *measure)
{
	int64		grids = Max(measure->groups, 1) * measure->collections;

	return Max(Min(DP_COUNTS_CELLS, BLOCK_CELLS / grids), LEAST_CELLS);
}

/*
 * dp_measure_set_rank_grid
 *	  Set the grid on which rows are counted: coarse enough; whole points for
 *	  integers.
 *
 * Errors: as dp_measure_set_bounds.
 */
void
dp_measure_set_rank_grid(dp_measure *measure)
{
	dp_grid    *grid = &measure->grid;
	bool		whole = dp_places_is_integer(measure->argument_type) ||
	dp_places_is_time(measure->argument_type);

	dp_measure_set_bounds(measure);
	dp_measure_coarsen(measure, most_points(measure) - 1);
	while (whole && grid->exponent < 0 && grid->low < grid->high)
		dp_grid_double(grid);
	if (grid->low > grid->high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no grid point lies between the bounds"),
				 errhint("Use wider bounds.")));
	dp_measure_set_bound(measure, DP_BOUND_VALUES);
	measure->choices = grid->high - grid->low + 1;
	measure->state_size = (int64) dp_count_grid_bytes(measure->choices);
}

/* The fraction as a/d in lowest terms; 22023 outside [0, 1]. */
static dp_rational
read_fraction(const dp_measure *measure)
{
	dp_rational fraction = {1, 2};
	dp_number_fault fault;

	if (measure->ops->kind == DP_AGG_MEDIAN)
		return fraction;
	fault = dp_bridge_numeric_to_rational(measure->fraction, &fraction);
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fraction of dp_quantile must be a number from 0 to "
						"1"),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault)),
				 errhint("The median is 0.5; round(x, 9) shortens a number "
						 "with many digits.")));
	if (fraction.num > fraction.den)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fraction of dp_quantile must be a number from 0 to "
						"1"),
				 errdetail("It is above 1."),
				 errhint("Percentile 95 is the fraction 0.95.")));
	return fraction;
}

/*
 * How much a unit changes the scores of all groups, each by its largest change
 * (doc/quantile.md Q1).
 */
static dp_uint128
sensitivity_of(const dp_contribution *c, const dp_rational *fraction)
{
	bool		moves = c->replace && c->grouped;
	dp_uint128	sensitivity;

	dp_bridge_check_status(
		dp_mech_quantile_sensitivity(fraction->num, fraction->den,
									 (uint64) c->rows, c->replace && !moves,
									 &sensitivity),
		"compute a sensitivity");
	if (moves)
		sensitivity = dp_measure_product(sensitivity, 2);
	return dp_measure_product(sensitivity, (dp_uint128) c->kappa);
}

static void
prepare(dp_measure *measure)
{
	quantile_plan *plan = palloc(sizeof(quantile_plan));

	dp_measure_set_rank_grid(measure);
	plan->fraction = read_fraction(measure);
	measure->score_unit = plan->fraction.den;
	dp_measure_set_exponential(measure,
							   sensitivity_of(&measure->contribution,
											  &plan->fraction), false);
	dp_bridge_check_status(dp_mech_envelope_make(&measure->rate, 1,
												 &plan->law),
						   "prepare a selection");
	measure->plan = plan;
}

/* dp_measure_load_ranks: add the counts of an inner row. */
void
dp_measure_load_ranks(const dp_measure *measure, const Datum *values,
					  const bool *nulls, dp_cell *cells, MemoryContext keep)
{
	if (!nulls[0])
		cells[0].state = dp_count_grid_merge(cells[0].state, values[0], keep);
}

/* dp_measure_add_rank: add a part that is one value. */
void
dp_measure_add_rank(const dp_measure *measure, const dp_bound_part *part,
					dp_cell *cells, MemoryContext keep)
{
	cells[0].state = dp_count_grid_add(cells[0].state, measure->choices,
									   (int64) part->numbers[0] -
									   measure->grid.low, keep);
}

/* granules * 2^exponent, exponent >= 0, kept within [least, most]. */
static int64
whole_value(const dp_grid *grid, int64 granules, int64 least, int64 most)
{
	dp_int128	value = granules;
	int			i;

	for (i = 0; i < grid->exponent && value > least && value < most; i++)
		value *= 2;
	return (int64) Min(Max(value, least), most);
}

/*
 * dp_measure_grid_point: a point of the grid as a value of the argument's
 * type.
 */
Datum
dp_measure_grid_point(const dp_measure *measure, int64 point)
{
	const dp_grid *grid = &measure->grid;

	switch (measure->aggregate->aggtype)
	{
		case INT2OID:
			return Int16GetDatum(whole_value(grid, point, PG_INT16_MIN,
											 PG_INT16_MAX));
		case INT4OID:
			return Int32GetDatum(whole_value(grid, point, PG_INT32_MIN,
											 PG_INT32_MAX));
		case INT8OID:
			return Int64GetDatum(whole_value(grid, point, PG_INT64_MIN,
											 PG_INT64_MAX));
		case DATEOID:
			return DateADTGetDatum(whole_value(grid, point, PG_INT32_MIN + 1,
											   PG_INT32_MAX - 1));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TimestampGetDatum(whole_value(grid, point,
												 PG_INT64_MIN + 1,
												 PG_INT64_MAX - 1));
		default:
			return dp_measure_from_granules(measure, point,
											measure->aggregate->aggtype);
	}
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	const quantile_plan *plan = measure->plan;
	const dp_grid *grid = &measure->grid;
	dp_ranked_rows ranked;
	int64		point;

	dp_count_grid_rank(cells[0].state, grid->low, &ranked);
	dp_bridge_check_status(
		dp_mech_quantile(dp_bridge_source(), &plan->law, &ranked, grid->low,
						 grid->high, plan->fraction.num, plan->fraction.den,
						 (int64_t *) &point),
		"draw a quantile");
	return dp_measure_grid_point(measure, point);
}

/*
 * dp_measure_count_ranks: the aggregate that counts rows at each point of the
 * grid.
 */
List *
dp_measure_count_ranks(const dp_measure *measure)
{
	return dp_count_grid_inner(measure->aggregate, measure->argument_type,
							   &measure->grid);
}

static const char *const quantile_forms[] = {"f", "fe", "flu", "flue", NULL};
static const char *const median_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_quantile = {
	DP_AGG_QUANTILE, "quantile", quantile_forms, prepare,
	dp_measure_count_ranks, dp_measure_load_ranks, release, NULL,
	dp_measure_row_granules, dp_measure_add_rank
};

const dp_measure_ops dp_measure_median = {
	DP_AGG_MEDIAN, "median", median_forms, prepare,
	dp_measure_count_ranks, dp_measure_load_ranks, release, NULL,
	dp_measure_row_granules, dp_measure_add_rank
};
