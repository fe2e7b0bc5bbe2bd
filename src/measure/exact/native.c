/*
 * native.c
 *	  Exact aggregates of the inner query, in the place of one that was asked,
 *	  and bounds on the grid.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_exact.h"
#include "exact_internal.h"

/* ----------------
 *		Exact aggregates of the inner query, which replace those of the query.
 * ----------------
 */

/*
 * dp_exact_native
 *	  An exact aggregate of the inner query with the FILTER of the aggregate
 *	  `asked`.  `arguments` are expressions; NIL means count(*).
 */
Aggref *
dp_exact_native(const Aggref *asked, Oid function, Oid result_type,
				List *arguments)
{
	Aggref	   *native = makeNode(Aggref);
	ListCell   *lc;

	native->aggfnoid = function;
	native->aggtype = result_type;
	native->inputcollid = asked->inputcollid;
	native->aggfilter = copyObject(asked->aggfilter);
	native->aggstar = arguments == NIL;
	native->aggkind = AGGKIND_NORMAL;
	native->aggsplit = AGGSPLIT_SIMPLE;
	native->aggno = -1;
	native->aggtransno = -1;
	native->location = -1;
	foreach(lc, arguments)
	{
		Expr	   *argument = lfirst(lc);

		native->aggargtypes = lappend_oid(native->aggargtypes,
										  exprType((Node *) argument));
		native->args = lappend(native->args,
							   makeTargetEntry(copyObject(argument),
											   foreach_current_index(lc) + 1,
											   NULL, false));
	}
	return native;
}

/*
 * dp_exact_exact
 *	  dp_pg.<aggregate>(argument, spec) as declared for `type`, with this
 *	  result type.
 */
List *
dp_exact_exact(const Aggref *asked, const char *aggregate, Oid type,
			   const Const *spec, Oid result_type)
{
	TargetEntry *argument = linitial(asked->args);
	Oid			types[2] = {type, spec->consttype};

	return list_make1(dp_exact_native(asked,
									  dp_catalog_function(aggregate, 2, types),
									  result_type,
									  list_make2(argument->expr,
												 (void *) spec)));
}

/* ----------------
 *		The public grid on which bounded values are added.
 *
 * A column with bounds [L, U] is read in granules g = 2^e, by default the
 * largest power of two that is at most (U - L) / 2^20, and 1 for integers.
 * Only the bounds decide, never data.  The arithmetic is that of numeric,
 * which is exact here: multiplication by a power of two or by its finite
 * decimal inverse.
 * ----------------
 */

#define DEFAULT_BITS 20			/* log2 of the least number of granules in the
								 * width */
#define FLOAT_BITS 52			/* of a double, after the first */
#define MAX_EXPONENT 1010		/* of a granule: 2^-e stays a normal double */

/*
 * dp_exact_scale_numeric
 *	  x * 2^exponent, exactly; never fails for x in the range of double.
 */
Numeric
dp_exact_scale_numeric(Numeric x, int exponent)
{
	return dp_numeric_call2(numeric_mul, x, dp_base_power_of_two(exponent));
}

static int64
to_granules(Numeric x, PGFunction round)
{
	dp_int128	value;

	if (!dp_base_numeric_to_int128(dp_numeric_call1(round, x), &value) ||
		value > PG_INT64_MAX || value < PG_INT64_MIN)
		dp_base_raise_parameter(
			"bounds are too far from zero for their distance",
			"Use bounds further apart, or declare a coarser "
			"granule.");
	return (int64) value;
}

static Numeric
greatest_size(Numeric lower, Numeric upper)
{
	return dp_numeric_call2(numeric_larger,
							dp_numeric_call1(numeric_abs, lower),
							dp_numeric_call1(numeric_abs, upper));
}

/*
 * The default granule: from the width, or from the magnitude if the width is
 * 0.  Bounds of an expression can be as close as rounding errors; their grid
 * is no finer than double precision.
 */
static bool
default_exponent(Numeric lower, Numeric upper, bool outward, int *exponent)
{
	Numeric		width = dp_numeric_call2(numeric_sub, upper, lower);
	int			size;

	if (dp_numeric_compare(lower, upper) == 0)
		width = dp_numeric_call1(numeric_abs, lower);
	if (dp_numeric_compare(width, int64_to_numeric(0)) == 0)
	{
		*exponent = 0;
		return true;
	}
	if (!dp_base_floor_log2(width, exponent))
		return false;
	*exponent -= DEFAULT_BITS;
	if (outward && dp_base_floor_log2(greatest_size(lower, upper), &size))
		*exponent = Max(*exponent, size - FLOAT_BITS);
	return true;
}

/*
 * dp_exact_grid
 *	  The grid of bounds lower <= upper; granule NULL means the default.  Its
 *	  ends are within the bounds, but outside if `outward`, or if no grid point
 *	  lies between bounds without a given granule.
 *
 * Errors: 22023 if the bounds are not finite or not ordered, or the grid does
 * not fit into 64 bits.
 */
dp_grid
dp_exact_grid(Numeric lower, Numeric upper, Numeric granule, bool integers,
			  bool outward)
{
	dp_grid		grid;
	Numeric		low;
	Numeric		high;
	Numeric		scale;
	bool		fits = true;

	if (numeric_is_nan(lower) || numeric_is_nan(upper) ||
		numeric_is_inf(lower) || numeric_is_inf(upper))
		dp_base_raise_parameter(
			"bounds must be finite numbers",
			"Give the smallest and the largest value that a row may "
			"contribute.");
	if (dp_numeric_compare(lower, upper) > 0)
		dp_base_raise_parameter(
			"lower bound must not be above upper bound",
			"Give the smaller bound first.");
	grid.exponent = 0;
	if (granule != NULL)
		fits = dp_base_floor_log2(granule, &grid.exponent);
	else if (!integers)
		fits = default_exponent(lower, upper, outward, &grid.exponent);
	if (!fits || abs(grid.exponent) > MAX_EXPONENT)
		dp_base_raise_parameter(
			"bounds are out of range",
			"Use bounds between 1e-290 and 1e308 in size.");
	scale = dp_base_power_of_two(-grid.exponent);
	low = dp_numeric_call2(numeric_mul, lower, scale);
	high = dp_numeric_call2(numeric_mul, upper, scale);
	grid.low = to_granules(low, outward ? numeric_floor : numeric_ceil);
	grid.high = to_granules(high, outward ? numeric_ceil : numeric_floor);
	if (grid.low <= grid.high)
		return grid;
	if (integers || granule != NULL)
		dp_base_raise_parameter(
			"no grid point lies between the bounds",
			integers ? "Bounds of an integer column must enclose an "
			"integer." : "Use wider bounds or a finer granule.");
	grid.low = to_granules(low, numeric_floor);
	grid.high = to_granules(high, numeric_ceil);
	return grid;
}

/*
 * dp_exact_grid_value
 *	  granules * 2^exponent as numeric, exactly: with -exponent digits after
 *	  the point if exponent is negative.  Fewer digits would be another value,
 *	  perhaps outside the bounds.
 */
Numeric
dp_exact_grid_value(const dp_grid *grid, dp_int128 granules)
{
	return dp_exact_scale_numeric(dp_base_int128_to_numeric(granules),
									grid->exponent);
}
