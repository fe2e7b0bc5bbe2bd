/*
 * measure_distinct.c
 *	  dp_sum(DISTINCT x) and dp_avg(DISTINCT x): each grid point with rows
 *	  counts once.
 *
 * Values are distinguished by their grid points, after clamping and rounding,
 * on the grid of a quantile, which has at most DP_COUNTS_CELLS points.  A
 * unit's m rows in a group add or remove at most m points, each of absolute
 * value at most B = max(|low|, |high|), or of w = high - low in both sums of a
 * mean (doc/theory.md T94).
 */
#include "postgres.h"

#include "dp_measure.h"

static dp_uint128
magnitude(int64 x)
{
	return x < 0 ? (dp_uint128) -(dp_int128) x : (dp_uint128) x;
}

static void
prepare_sum(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	most;

	dp_measure_set_rank_grid(measure);
	most = Max(magnitude(measure->grid.low), magnitude(measure->grid.high));
	most = dp_measure_product(Max(most, 1), (dp_uint128) c->rows);
	dp_measure_set_group_noise(measure, most);
}

static void
prepare_mean(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	most;

	dp_measure_set_rank_grid(measure);
	most = (dp_uint128) dp_measure_width(measure);
	most = dp_measure_product(most, (dp_uint128) c->rows);
	dp_measure_set_group_noise(measure, most);
}

/* The number of points with rows, and their sum. */
static void
add_points(const dp_measure *measure, const dp_cell *cells, dp_int128 *points,
		   dp_int128 *sum)
{
	dp_ranked_rows ranked;
	size_t		i;

	*points = 0;
	*sum = 0;
	dp_count_grid_rank(cells[0].state, measure->grid.low, &ranked);
	for (i = 0; i < ranked.n; i++)
	{
		uint64		rows = ranked.counts != NULL ? ranked.counts[i] :
			ranked.counts32[i];

		if (rows == 0 || (i > 0 && ranked.values != NULL &&
						  ranked.values[i] == ranked.values[i - 1]))
			continue;
		*points += 1;
		*sum += ranked.values != NULL ? ranked.values[i] :
			measure->grid.low + (int64) i;
	}
}

static Datum
release_sum(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			double *error)
{
	dp_int128	points;
	dp_int128	sum;

	add_points(measure, cells, &points, &sum);
	*error = dp_measure_error_of_sum(measure);
	return dp_measure_from_granules(measure,
									dp_measure_add_noise(measure, sum),
									measure->aggregate->aggtype);
}

static Datum
release_mean(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			 double *error)
{
	dp_int128	points;
	dp_int128	sum;

	add_points(measure, cells, &points, &sum);
	return dp_measure_release_mean(measure, points, sum, isnull, error);
}

static const char *const forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_measure_sum_distinct = {
	DP_AGG_SUM_DISTINCT, "sum", forms, prepare_sum, dp_measure_count_ranks,
	dp_measure_load_ranks, release_sum, NULL, dp_measure_row_granules,
	dp_measure_add_rank
};

const dp_measure_ops dp_measure_mean_distinct = {
	DP_AGG_AVG_DISTINCT, "avg", forms, prepare_mean, dp_measure_count_ranks,
	dp_measure_load_ranks, release_mean, " / distinct values",
	dp_measure_row_granules, dp_measure_add_rank
};
