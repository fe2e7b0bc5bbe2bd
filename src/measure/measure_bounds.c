/*
 * measure_bounds.c
 *	  dp_bounds: bounds that leave few rows out, if none are known.
 *
 * Rows are counted in public ranges of powers of two (count/magnitude.c), each
 * count has noise, and the answer is the smallest and the largest end of the
 * ranges whose noisy count is above a threshold: one that noise alone exceeds
 * in any of them with probability at most RANGES_BETA (Wilson et al. 2019).  A
 * unit's m rows in a group change the counts together by at most m
 * (doc/theory.md T112).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "../bridge/dp_numeric.h"
#include "dp_measure.h"

#define RANGES_BETA 1e-6

static void
prepare(dp_measure *measure)
{
	dp_measure_set_bound(measure, DP_BOUND_VALUES);
	measure->ncells = dp_count_ranges(measure->argument_type).n;
	measure->grid.exponent = 0;
	dp_measure_set_group_noise(measure,
							   (dp_uint128) measure->contribution.rows);
}

static List *
inner(const dp_measure *measure)
{
	return dp_count_range_counts(measure->aggregate, measure->argument_type);
}

static Expr *
row(const dp_measure *measure, Expr *argument)
{
	return dp_count_row_range(argument);
}

/*
 * dp_measure_ranges_threshold
 *	  A range counts if its noisy number of rows is above this.
 */
int64
dp_measure_ranges_threshold(const dp_measure *measure)
{
	double		error = dp_measure_noise_error(measure, RANGES_BETA /
											   measure->ncells);

	return error < 1e18 ? (int64) error : INT64CONST(1000000000000000000);
}

static Numeric
negate(Numeric x)
{
	return dp_numeric_call1(numeric_uminus, x);
}

/*
 * The end of a range that is nearer to 0, or the other one, both within the
 * type; for integers a range begins with the one after 2^(e-1).
 */
static Numeric
end_of(const dp_measure *measure, int place, bool nearer)
{
	Oid			type = measure->argument_type;
	const dp_ranges ranges = dp_count_ranges(type);
	int			exponent = ranges.least + abs(place - ranges.zero) - 1;
	Numeric		one = int64_to_numeric(1);
	Numeric		end;
	int64		most = type == INT2OID ? PG_INT16_MAX :
		type == INT4OID ? PG_INT32_MAX : PG_INT64_MAX;

	if (place == ranges.zero)
		return int64_to_numeric(0);
	if (!nearer)
		end = dp_bridge_power_of_two(exponent);
	else if (dp_places_is_integer(type))
		end = exponent == 0 ? one :
			dp_numeric_call2(numeric_add,
							 dp_bridge_power_of_two(exponent - 1), one);
	else
		end = exponent == ranges.least ? int64_to_numeric(0) :
			dp_bridge_power_of_two(exponent - 1);
	if (dp_places_is_integer(type) && place > ranges.zero &&
		dp_numeric_compare(end, int64_to_numeric(most)) > 0)
		end = int64_to_numeric(most);
	return place < ranges.zero ? negate(end) : end;
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	int			zero = dp_count_ranges(measure->argument_type).zero;
	int64		threshold = dp_measure_ranges_threshold(measure);
	int			first = -1;
	int			last = -1;
	Datum		ends[2];
	int			i;

	for (i = 0; i < measure->ncells; i++)
	{
		if (dp_measure_add_noise(measure, cells[i].integer) <= threshold)
			continue;
		if (first < 0)
			first = i;
		last = i;
	}
	*isnull = first < 0;
	if (*isnull)
		return (Datum) 0;
	ends[0] = NumericGetDatum(end_of(measure, first, first > zero));
	ends[1] = NumericGetDatum(end_of(measure, last, last < zero));
	return PointerGetDatum(construct_array(ends, 2, NUMERICOID, -1, false,
										   TYPALIGN_INT));
}

static const char *const forms[] = {"", "e", NULL};

const dp_measure_ops dp_measure_bounds = {
	DP_AGG_BOUNDS, "bounds", forms, prepare, inner,
	dp_measure_load_tally, release, " rows in each range", row,
	dp_measure_add_value
};
