/*
 * measure_pair.c
 *	  Covariance, correlation and regression of pairs of numbers clamped to
 *	  bounds: the measurements.
 *
 * The sums are those of mech/pair.c: the number of rows as one number, a mean
 * as in measure_mean.c, a sum of squares as in measure_variance.c, and for
 * what needs both numbers four products, with an additional spread for each
 * variance needed.  Gaussian noise takes the spreads with twice the weight,
 * which costs nothing in L2 (doc/theory.md T110).
 */
#include "postgres.h"

#include "dp_measure.h"
#include "pair.h"

/* Bounds further from 1 than this many powers of two are refused. */
#define MAX_EXPONENT 200

/* What an aggregate needs. */
static dp_pair_kind
kind_of(dp_aggregate_kind kind)
{
	switch (kind)
	{
		case DP_AGG_REGR_COUNT:
			return DP_PAIR_ROWS;
		case DP_AGG_REGR_AVGX:
		case DP_AGG_REGR_AVGY:
			return DP_PAIR_MEAN;
		case DP_AGG_REGR_SXX:
		case DP_AGG_REGR_SYY:
			return DP_PAIR_SQUARES;
		default:
			return DP_PAIR_PRODUCTS;
	}
}

static int64
width_of(const dp_grid *grid)
{
	return Max(grid->high - grid->low, 1);
}

/*
 * Bounds so large or so small that results might not be double precision
 * numbers are refused before anything is charged.
 */
static void
check_exponent(const dp_measure *measure, const dp_grid *grid)
{
	if (abs(grid->exponent) > MAX_EXPONENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds of dp_%s are too far apart or too close",
						measure->ops->name),
				 errdetail("Products of such numbers do not fit in double "
						   "precision."),
				 errhint("Use bounds nearer to 1, or another unit.")));
}

static void
set_grid_y(dp_measure *measure)
{
	dp_measure_set_bounds(measure);
	dp_measure_coarsen(measure, DP_PAIR_WIDTH);
	check_exponent(measure, &measure->grid);
}

/* The same, with x as the argument. */
static void
set_grid_x(dp_measure *measure)
{
	dp_measure	x = *measure;

	x.relid = measure->second.relid;
	x.base_attnum = measure->second.base_attnum;
	x.base = measure->second.base;
	x.lower = measure->second.lower;
	x.upper = measure->second.upper;
	set_grid_y(&x);
	measure->second.lower = x.lower;
	measure->second.upper = x.upper;
	measure->second.grid = x.grid;
	measure->on_grid = true;
}

/* Set noise and price for m rows in each of kappa groups (T110). */
static void
set_noise(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	const dp_pair_shape *shape = &measure->bound.pairs;
	dp_uint128	groups = (dp_uint128) c->kappa * (c->replace ? 2 : 1);
	dp_uint128	l1 = dp_measure_product(dp_mech_pair_l1(shape),
										(dp_uint128) c->rows);
	dp_uint128	l2 = 0;			/* squared; may not fit into 128 bits */

	if (measure->gaussian)
	{
		l2 = dp_measure_product((dp_uint128) shape->row,
								(dp_uint128) c->rows);
		l2 = dp_measure_product(dp_measure_product(l2, l2), groups);
	}
	dp_measure_set_noise(measure, dp_measure_product(l1, groups), l2,
						 shape->kind == DP_PAIR_ROWS && !c->grouped);
}

/*
 * x comes first, unless only y is used.  A variance is measured with c = 1,
 * with Gaussian noise with 2.
 */
static void
prepare(dp_measure *measure, bool needs_x, bool needs_y, bool spread_x,
		bool spread_y)
{
	const dp_grid *x = pair_grid_x(measure);
	const dp_grid *y = pair_grid_y(measure);
	int			c = measure->gaussian ? 2 : 1;

	if (needs_y)
		set_grid_y(measure);
	if (needs_x)
		set_grid_x(measure);
	dp_measure_set_bound(measure, DP_BOUND_PAIRS);
	dp_mech_pair_make(kind_of(measure->ops->kind),
					  width_of(pair_is_of_y(measure) ? y : x), width_of(y),
					  spread_x ? c : 0, spread_y ? c : 0,
					  &measure->bound.pairs);
	measure->score_unit = (dp_uint128) measure->bound.pairs.row;
	measure->ncells = measure->bound.pairs.ncells;
	measure->state_size = sizeof(dp_pair_sums);
	set_noise(measure);
}

static void
prepare_rows(dp_measure *measure)
{
	prepare(measure, false, false, false, false);
}

static void
prepare_x(dp_measure *measure)
{
	prepare(measure, true, false, false, false);
}

static void
prepare_y(dp_measure *measure)
{
	prepare(measure, false, true, false, false);
}

static void
prepare_products(dp_measure *measure)
{
	prepare(measure, true, true, false, false);
}

static void
prepare_line(dp_measure *measure)
{
	prepare(measure, true, true, true, false);
}

static void
prepare_all(dp_measure *measure)
{
	prepare(measure, true, true, true, true);
}

static List *
inner(const dp_measure *measure)
{
	List	   *arguments = measure->aggregate->args;
	Expr	   *y = linitial_node(TargetEntry, arguments)->expr;
	Expr	   *x = lsecond_node(TargetEntry, arguments)->expr;
	const dp_grid *grid_x = pair_grid_x(measure);
	const dp_grid *grid_y = pair_grid_y(measure);

	if (pair_is_of_y(measure))
		return dp_count_bounded_pairs(measure->aggregate, y, grid_y, x,
									  grid_x);
	return dp_count_bounded_pairs(measure->aggregate, x, grid_x, y, grid_y);
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	dp_pair_sums sums = dp_count_read_pairs(values, nulls);
	dp_int128	numbers[DP_PAIR_CELLS];
	int			i;

	dp_mech_pair_cells(&measure->bound.pairs, &sums, numbers);
	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += numbers[i];
}

static void
add(const dp_measure *measure, const dp_bound_part *part, dp_cell *cells,
	MemoryContext keep)
{
	int			i;

	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += part->numbers[i];
}

static const char *const none[] = {"", "e", NULL};
static const char *const of_x[] = {"", "e", "LU", "LUe", NULL};
static const char *const of_y[] = {"", "e", "lu", "lue", NULL};
static const char *const of_both[] = {"", "e", "luLU", "luLUe", NULL};

#define SUFFIX " rows in each sum"

#define MEASURE(KIND, name, forms, prepare, release) \
const dp_measure_ops dp_measure_##name = { \
	KIND, #name, forms, prepare, inner, load, release, SUFFIX, NULL, add \
}

MEASURE(DP_AGG_CORR, corr, of_both, prepare_all, dp_measure_release_corr);
MEASURE(DP_AGG_COVAR_POP, covar_pop, of_both, prepare_products,
		dp_measure_release_covariance);
MEASURE(DP_AGG_COVAR_SAMP, covar_samp, of_both, prepare_products,
		dp_measure_release_covariance);
MEASURE(DP_AGG_REGR_AVGX, regr_avgx, of_x, prepare_x,
		dp_measure_release_pair_mean);
MEASURE(DP_AGG_REGR_AVGY, regr_avgy, of_y, prepare_y,
		dp_measure_release_pair_mean);
MEASURE(DP_AGG_REGR_COUNT, regr_count, none, prepare_rows,
		dp_measure_release_pair_rows);
MEASURE(DP_AGG_REGR_INTERCEPT, regr_intercept, of_both, prepare_line,
		dp_measure_release_line);
MEASURE(DP_AGG_REGR_R2, regr_r2, of_both, prepare_all,
		dp_measure_release_corr);
MEASURE(DP_AGG_REGR_SLOPE, regr_slope, of_both, prepare_line,
		dp_measure_release_line);
MEASURE(DP_AGG_REGR_SXX, regr_sxx, of_x, prepare_x,
		dp_measure_release_pair_squares);
MEASURE(DP_AGG_REGR_SXY, regr_sxy, of_both, prepare_products,
		dp_measure_release_covariance);
MEASURE(DP_AGG_REGR_SYY, regr_syy, of_y, prepare_y,
		dp_measure_release_pair_squares);
