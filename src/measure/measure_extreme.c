/*
 * measure_extreme.c
 *	  dp_min and dp_max: a grid point with few rows beyond it.
 *
 * The exponential mechanism chooses a point of the public grid by how far the
 * number of rows beyond it is from T (mech/quantile.c, doc/theory.md T92).  T
 * is public: large enough that the points beyond all rows, at most all points
 * of the grid, are together chosen with probability at most 1/20; and 1/2 if
 * the price is so high that less would suffice, since then the smallest or
 * largest row itself is the best point.  T depends on grid and price only.
 *
 * Adding, removing or exchanging a row changes a penalty by at most one: m
 * rows of a unit change those of a group by m, for either kind of neighbours.
 * Penalties are counted in half rows.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "dp_measure.h"

#define HALVES 2				/* penalties per row */
/* Millionths, rounded up: ln 2 for each doubling of the points, and ln 20. */
#define MILLION 1000000
#define LN_TWO 693148
#define LN_TWENTY 2995733

typedef struct extreme_plan
{
	dp_envelope law;
	dp_uint128	rank;			/* T, in half rows */
} extreme_plan;

/* (ln points + ln 20) / rate, rounded up. */
static dp_uint128
rank_of(int64 points, const dp_rational *rate)
{
	dp_uint128	exponent = pg_ceil_log2_64((uint64) points) *
		(uint64) LN_TWO + LN_TWENTY;
	dp_uint128	num = dp_measure_product(exponent, rate->den);
	dp_uint128	den = dp_measure_product(MILLION, rate->num);

	return Max(num / den + (num % den != 0), 1);
}

/*
 * How much a unit changes the scores of all groups.  A replaced unit may leave
 * kappa groups and enter as many others.
 */
static dp_uint128
sensitivity_of(const dp_contribution *c)
{
	dp_uint128	sensitivity = dp_measure_product(HALVES, c->rows);

	if (c->replace && c->grouped)
		sensitivity = dp_measure_product(sensitivity, 2);
	return dp_measure_product(sensitivity, (dp_uint128) c->kappa);
}

static void
prepare(dp_measure *measure)
{
	extreme_plan *plan = palloc(sizeof(extreme_plan));

	dp_measure_set_rank_grid(measure);
	measure->score_unit = HALVES;
	dp_measure_set_exponential(measure,
							   sensitivity_of(&measure->contribution), false);
	dp_bridge_check_status(dp_mech_envelope_make(&measure->rate, 1,
												 &plan->law),
						   "prepare a selection");
	plan->rank = rank_of(measure->choices, &measure->rate);
	measure->plan = plan;
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	const extreme_plan *plan = measure->plan;
	const dp_grid *grid = &measure->grid;
	dp_ranked_rows ranked;
	int64		point;

	dp_count_grid_rank(cells[0].state, grid->low, &ranked);
	dp_bridge_check_status(
		dp_mech_extreme(dp_bridge_source(), &plan->law, &ranked, grid->low,
						grid->high, plan->rank, HALVES,
						measure->ops->kind == DP_AGG_MAX, (int64_t *) &point),
		"draw an extreme");
	return dp_measure_grid_point(measure, point);
}

static const char *const forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_min = {
	DP_AGG_MIN, "min", forms, prepare, dp_measure_count_ranks,
	dp_measure_load_ranks, release, NULL, dp_measure_row_granules,
	dp_measure_add_rank
};

const dp_measure_ops dp_measure_max = {
	DP_AGG_MAX, "max", forms, prepare, dp_measure_count_ranks,
	dp_measure_load_ranks, release, NULL, dp_measure_row_granules,
	dp_measure_add_rank
};
