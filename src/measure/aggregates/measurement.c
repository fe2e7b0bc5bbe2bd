/*
 * measurement.c
 *	  Steps that measurements share: the bounds in force (written, declared or
 *	  inferred), the errors where there are none, the grid between them, and
 *	  released granules as values.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../exact/dp_exact.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/*
 * A declared bound of a column as numeric: days or microseconds for dates and
 * times, in the type that the aggregate sees.
 */
static Numeric
declared_bound(const dp_measure *measure, const char *text)
{
	Oid			column = getBaseType(get_atttype(measure->relid,
												 measure->base_attnum));
	Oid			type = measure->argument_type;
	Datum		value;

	if (!dp_domains_is_time(column))
		return DatumGetNumeric(dp_domains_read_declared(text, NUMERICOID, -1));
	value = dp_domains_read_declared(text, column, -1);
	if (column == DATEOID && type == TIMESTAMPOID)
		value = DirectFunctionCall1(date_timestamp, value);
	else if (column == DATEOID && type == TIMESTAMPTZOID)
		value = DirectFunctionCall1(date_timestamptz, value);
	else if (column != type)
		return NULL;
	return dp_domains_time_numeric(value, type);
}

static bool
find_interval(const dp_measure *measure, dp_interval *interval)
{
	const dp_known known = {measure->relids, measure->publics,
	measure->conditions, measure->value->filters};

	return dp_domains_find_interval(measure->base, &known, interval);
}

/* To a multiple of what the grid's points are multiples of, if it is given. */
static Numeric
outwards(Numeric x, Numeric step, PGFunction to_integer)
{
	Numeric		n;

	if (step == NULL)
		return x;
	n = dp_numeric_call1(to_integer, dp_numeric_call2(numeric_div, x, step));
	return dp_numeric_call2(numeric_mul, n, step);
}

/*
 * Narrow the bounds of a column, which are multiples of step or of anything,
 * by conditions that all its rows fulfil.  They still contain a point of the
 * grid, if they did before.
 */
static void
narrow_bounds(dp_measure *measure, Numeric step)
{
	Oid			type = measure->argument_type;
	dp_interval interval;
	Numeric		lower;
	Numeric		upper;

	if (measure->base == NULL || measure->lower == NULL ||
		(measure->conditions == NIL && measure->value->filters == NIL) ||
		!find_interval(measure, &interval))
		return;
	if (step == NULL && (dp_domains_is_integer(type) ||
						 dp_domains_is_time(type)))
		step = int64_to_numeric(1);
	lower = outwards(interval.low, step, numeric_floor);
	upper = outwards(interval.high, step, numeric_ceil);
	if (dp_numeric_compare(lower, measure->lower) < 0)
		lower = measure->lower;
	if (dp_numeric_compare(upper, measure->upper) > 0)
		upper = measure->upper;
	if (dp_numeric_compare(lower, upper) > 0)
		return;
	measure->lower = lower;
	measure->upper = upper;
}

/*
 * Take the bounds of a column that a profile has: for a sum or a mean, those
 * that promise the least error; in GROUPING SETS those that are the same in
 * each, so that they add up (doc/theory.md T170).
 */
static void
profile_bounds(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_outlook	outlook = {
		.noise = measure->unit_noise * (c->replace ? 2 : 1),
		.groups = Max(measure->groups, 1),
		.total = Min(c->kappa * c->rows, c->total)
	};
	bool		sum = measure->ops->kind == DP_AGG_SUM;
	char	   *lower;
	char	   *upper;

	if (!dp_protect_profile_values(measure->relid, measure->base_attnum,
								   !measure->sets &&
								   (sum || measure->ops->kind == DP_AGG_AVG) ?
								   &outlook : NULL, !sum, &lower, &upper))
		return;
	measure->profiled = true;
	measure->lower = declared_bound(measure, lower);
	measure->upper = declared_bound(measure, upper);
	narrow_bounds(measure, NULL);
}

/*
 * Infer the bounds of an expression from declarations of its columns and from
 * conditions.
 */
static void
infer_bounds(dp_measure *measure)
{
	dp_interval interval;

	if (!find_interval(measure, &interval))
		return;
	measure->inferred = true;
	measure->lower = interval.low;
	measure->upper = interval.high;
}

/*
 * An example call, such as "dp_corr(y, x, 0, 100, 0, 100)"; conditions in
 * transparent mode.
 */
static char *
bounds_example(const dp_measure *measure)
{
	bool		pair = dp_catalog_row_arguments(measure->ops->kind) == 2;
	bool		times = dp_domains_is_time(measure->argument_type);
	const char *low = times ? "'2026-01-01'" : "0";
	const char *high = times ? "'2026-12-31'" : "100";
	const char *const *longest = measure->ops->forms;

	if (dp_setting_transparent)
		return times ? psprintf("WHERE x BETWEEN %s AND %s", low, high) :
			psprintf("%sGREATEST(LEAST(x, 100), 0)",
					 pair ? "GREATEST(LEAST(y, 100), 0) and " : "");
	while (longest[1] != NULL)
		longest++;
	return psprintf("dp_%s(%s, %s%s, %s%s%s)", measure->ops->name,
					pair ? "y, x" : "x",
					strchr(measure->form, 'f') ? "0.5, " : "", low, high,
					strchr(*longest, 'l') && strchr(*longest, 'L') ?
					", 0, 100" : "",
					strchr(measure->form, 'n') ? ", 10" : "");
}

/*
 * dp_aggregates_find_bounds
 *	  Set measure->lower and upper to the bounds in force: those given in the
 *	  query, or those that the owner declared for the column or his profile
 *	  has, narrowed by conditions, or those inferred for an expression.
 *	  Returns the declaration of the column, or NULL.
 *
 * Errors: 22023 if there are none.
 */
dp_attribute *
dp_aggregates_find_bounds(dp_measure *measure)
{
	dp_attribute *declared = NULL;

	if (measure->base_attnum != 0)
		declared = dp_protect_attribute(measure->relid, measure->base_attnum);
	if (measure->lower == NULL && declared != NULL && declared->lower != NULL)
	{
		measure->lower = declared_bound(measure, declared->lower);
		measure->upper = declared_bound(measure, declared->upper);
		narrow_bounds(measure, declared->granule);
	}
	if (measure->lower == NULL && measure->base_attnum != 0)
		profile_bounds(measure);
	if (measure->lower == NULL && measure->base != NULL)
		infer_bounds(measure);
	if (measure->lower == NULL || measure->upper == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds of %s are missing",
						dp_catalog_shown_name
						(get_func_name(measure->aggregate->aggfnoid))),
				 errdetail("The value of every row is clamped between a lower "
						   "and an upper bound, so that one row cannot show."),
				 errhint("Write them in the query, as in %s, or ask the owner "
						 "to run dp_declare for every column in it, or "
						 "dp_profile.",
						 bounds_example(measure))));
	return declared;
}

/*
 * dp_aggregates_set_bounds
 *	  Set the grid from the bounds in force.
 *
 * Errors: as dp_aggregates_find_bounds and dp_exact_grid.
 */
void
dp_aggregates_set_bounds(dp_measure *measure)
{
	dp_attribute *declared = dp_aggregates_find_bounds(measure);
	Oid			type = measure->argument_type;
	bool		integers = dp_domains_is_integer(type) ||
	dp_domains_is_time(type);

	measure->grid = dp_exact_grid(measure->lower, measure->upper,
								  declared ? declared->granule : NULL,
								  integers, measure->inferred);
	measure->on_grid = true;
}

/*
 * dp_aggregates_width
 *	  Granules between the bounds in force, at least one of the rows' grid.
 *	  With equal bounds every row counts as that far away from an end.
 */
dp_int128
dp_aggregates_width(const dp_measure *measure)
{
	return Max((dp_int128) measure->grid.high - measure->grid.low,
			   (dp_int128) 1 << measure->bound.fine);
}

/*
 * dp_aggregates_coarsen
 *	  Double the granule until the grid's width is at most `width` >= 2.  The
 *	  bounds stay within the old ones; only public numbers decide.
 */
void
dp_aggregates_coarsen(dp_measure *measure, int64 width)
{
	dp_grid    *grid = &measure->grid;

	while ((dp_int128) grid->high - grid->low > width)
		dp_grid_double(grid);
}

/*
 * dp_aggregates_product
 *	  a * b of sensitivities, or of squares of them; an error on overflow.
 */
dp_uint128
dp_aggregates_product(dp_uint128 a, dp_uint128 b)
{
	dp_uint128	product;

	if (__builtin_mul_overflow(a, b, &product))
		dp_base_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	return product;
}

/*
 * dp_aggregates_bounded_sum: dp_pg.bounded_sum(argument, grid), and no other.
 */
List *
dp_aggregates_bounded_sum(const dp_measure *measure)
{
	return dp_exact_bounded_sum(measure->aggregate, measure->argument_type,
								&measure->grid);
}

/* dp_aggregates_granule: 2^exponent, for display. */
double
dp_aggregates_granule(const dp_measure *measure)
{
	return ldexp(1.0, measure->grid.exponent);
}

static int64
saturate(dp_int128 x)
{
	if (x > PG_INT64_MAX)
		return PG_INT64_MAX;
	if (x < PG_INT64_MIN)
		return PG_INT64_MIN;
	return (int64) x;
}

/* granules * 2^exponent, which may exceed 128 bits, likewise saturated. */
static int64
saturate_scaled(dp_int128 granules, int exponent)
{
	long double x = ldexpl((long double) granules, exponent);

	if (x >= 0x1p63L)
		return PG_INT64_MAX;
	if (x <= -0x1p63L)
		return PG_INT64_MIN;
	return (int64) x;
}

/*
 * dp_aggregates_from_granules
 *	  A released number of granules as a value of the result type: bigint
 *	  saturates, numeric is exact to the grid's digits, floats round.  If it is
 *	  finer than the rows' grid (dp_aggregates_refine), it is rounded to that.
 */
Datum
dp_aggregates_from_granules(const dp_measure *measure, dp_int128 granules,
							Oid type)
{
	dp_grid		grid = measure->grid;
	int			fine = measure->bound.fine;
	int			exponent;

	if (fine > 0)
		granules = (granules >> fine) + (granules >> (fine - 1) & 1);
	exponent = grid.exponent += fine;

	switch (type)
	{
		case INT8OID:
			if (exponent == 0)
				return Int64GetDatum(saturate(granules));
			return Int64GetDatum(saturate_scaled(granules, exponent));
		case FLOAT8OID:
			return Float8GetDatum(ldexp((double) granules, exponent));
		case FLOAT4OID:
			return Float4GetDatum((float4) ldexp((double) granules,
												 exponent));
		case NUMERICOID:
			return NumericGetDatum(dp_exact_grid_value(&grid, granules));
		default:
			elog(ERROR, "unexpected result type %u", type);
	}
	return (Datum) 0;
}

/*
 * dp_aggregates_column_spec
 *	  The spec of a table of the measurement's argument over n public places;
 *	  `lookup` finds the places.  Values without a place are not counted.
 */
Const *
dp_aggregates_column_spec(const dp_measure *measure, dp_axis_kind kind,
						  int64 n, const Const *lookup)
{
	const dp_places places = {kind, measure->argument_type, 0, n, -1, -1};

	return dp_exact_column_spec(&places, lookup);
}

/*
 * dp_aggregates_count_column: the aggregate that counts rows at each of these
 * places.
 */
List *
dp_aggregates_count_column(const dp_measure *measure, const Const *spec)
{
	TargetEntry *argument = linitial(measure->aggregate->args);

	return list_make1(dp_exact_tables_native(measure->aggregate, spec,
											 list_make1(argument->expr)));
}

/*
 * dp_aggregates_load_tally
 *	  Add an inner state to the group's cells, one for each count; NULL if no
 *	  row of the group passed FILTER.
 */
void
dp_aggregates_load_tally(const dp_measure *measure, const Datum *values,
						 const bool *nulls, dp_cell *cells, MemoryContext keep)
{
	const dp_tally_state *state;
	int			i;

	if (nulls[0])
		return;
	state = (const dp_tally_state *) DatumGetPointer(values[0]);
	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += state->counts[i];
}
