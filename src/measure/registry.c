/*
 * registry.c
 *	  The list of measurements.
 */
#include "postgres.h"

#include "dp_measure.h"

static const dp_measure_ops *const measures[] =
{
	&dp_measure_count,
	&dp_measure_sum,
	&dp_measure_mean,
	&dp_measure_quantile,
	&dp_measure_median,
	&dp_measure_min,
	&dp_measure_max,
	&dp_measure_variance,
	&dp_measure_stddev,
	&dp_measure_var_pop,
	&dp_measure_stddev_pop,
	&dp_measure_histogram,
	&dp_measure_argmax,
	&dp_measure_topk,
	&dp_measure_conditions,
	&dp_measure_bounds,
	&dp_measure_sum_distinct,
	&dp_measure_mean_distinct,
	&dp_measure_corr,
	&dp_measure_covar_pop,
	&dp_measure_covar_samp,
	&dp_measure_regr_avgx,
	&dp_measure_regr_avgy,
	&dp_measure_regr_count,
	&dp_measure_regr_intercept,
	&dp_measure_regr_r2,
	&dp_measure_regr_slope,
	&dp_measure_regr_sxx,
	&dp_measure_regr_sxy,
	&dp_measure_regr_syy
};

/*
 * dp_measure_find: the measurement of a kind; raises for one that
 * split_block.c does not accept.
 */
const dp_measure_ops *
dp_measure_find(dp_aggregate_kind kind)
{
	int			i;

	for (i = 0; i < lengthof(measures); i++)
		if (measures[i]->kind == kind)
			return measures[i];
	elog(ERROR, "no measurement for aggregate kind %d", (int) kind);
	return NULL;
}
