/*
 * measure.c
 *	  Steps that measurements share.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "measure.h"

/* dp_measure_is_integer_type: int2, int4 or int8. */
bool
dp_measure_is_integer_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

/* dp_measure_is_time_type: a type whose values count days or microseconds. */
bool
dp_measure_is_time_type(Oid type)
{
	return type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

/*
 * dp_measure_time_numeric
 *	  A date in days, a timestamp in microseconds since 2000; infinite ones
 *	  become infinite numbers.
 */
Numeric
dp_measure_time_numeric(Datum value, Oid type)
{
	if (type == DATEOID)
	{
		DateADT		date = DatumGetDateADT(value);

		if (DATE_NOT_FINITE(date))
			return dp_bridge_text_to_numeric(DATE_IS_NOBEGIN(date) ?
											 "-Infinity" : "Infinity");
		return int64_to_numeric(date);
	}
	if (TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value)))
		return dp_bridge_text_to_numeric(
			TIMESTAMP_IS_NOBEGIN(DatumGetTimestamp(value)) ?
			"-Infinity" : "Infinity");
	return int64_to_numeric(DatumGetTimestamp(value));
}

/*
 * dp_release_read_declared
 *	  A declared text as a value of the type; 55000 when the type no longer
 *	  reads it, as after ALTER COLUMN TYPE.
 */
Datum
dp_release_read_declared(const char *text, Oid type, int32 typmod)
{
	MemoryContext context = CurrentMemoryContext;
	Oid			input;
	Oid			param;
	volatile Datum value = (Datum) 0;

	getTypeInputInfo(type, &input, &param);
	PG_TRY();
	{
		value = OidInputFunctionCall(input, pstrdup(text), param, typmod);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_DATA_EXCEPTION)
			PG_RE_THROW();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("declaration of a column no longer fits its type"),
				 errhint("Ask the data owner to run dp_declare again.")));
	}
	PG_END_TRY();
	return value;
}

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

	if (!dp_measure_is_time_type(column))
		return DatumGetNumeric(dp_release_read_declared(text, NUMERICOID, -1));
	value = dp_release_read_declared(text, column, -1);
	if (column == DATEOID && type == TIMESTAMPOID)
		value = DirectFunctionCall1(date_timestamp, value);
	else if (column == DATEOID && type == TIMESTAMPTZOID)
		value = DirectFunctionCall1(date_timestamptz, value);
	else if (column != type)
		return NULL;
	return dp_measure_time_numeric(value, type);
}

/*
 * dp_measure_find_bounds
 *	  Put the bounds that count into measure->lower and upper: those given in
 *	  the query, or else those the owner declared for the column; answers what
 *	  was declared about it, or NULL.
 *
 * Errors: 22023 when there are none.
 */
dp_attribute *
dp_measure_find_bounds(dp_measure *measure)
{
	dp_attribute *declared = NULL;
	const char *form = dp_measure_form(measure->ops, measure->aggregate);

	if (measure->base_attnum != 0)
		declared = dp_attribute_lookup(measure->relid, measure->base_attnum);
	if (strchr(form, 'l') == NULL && declared != NULL &&
		declared->lower != NULL)
	{
		measure->lower = declared_bound(measure, declared->lower);
		measure->upper = declared_bound(measure, declared->upper);
	}
	if (measure->lower == NULL || measure->upper == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds of %s are missing",
						get_func_name(measure->aggregate->aggfnoid)),
				 errdetail("The value of every row is clamped between a lower "
						   "and an upper bound, so that one row cannot show."),
				 errhint("Write them in the query, as in "
						 "dp_%s(x, %s0, 100%s), or ask the owner to run "
						 "dp_declare.",
						 measure->ops->name,
						 strchr(form, 'f') ? "0.5, " : "",
						 strchr(form, 'n') ? ", 10" : "")));
	return declared;
}

/*
 * dp_measure_set_bounds
 *	  Fill the grid from the bounds that count.
 *
 * Errors: as dp_measure_find_bounds and dp_release_grid.
 */
void
dp_measure_set_bounds(dp_measure *measure)
{
	dp_attribute *declared = dp_measure_find_bounds(measure);
	Oid			type = measure->argument_type;
	bool		integers = dp_measure_is_integer_type(type) ||
	dp_measure_is_time_type(type);

	measure->grid = dp_release_grid(measure->lower, measure->upper,
									declared ? declared->granule : NULL,
									integers);
}

/*
 * dp_measure_coarsen
 *	  Double the granule until the grid's width is at most `width` >= 2.  The
 *	  bounds stay within the old ones; only public numbers decide.
 */
void
dp_measure_coarsen(dp_measure *measure, int64 width)
{
	dp_grid    *grid = &measure->grid;

	while ((dp_int128) grid->high - grid->low > width)
		dp_grid_double(grid);
}

/*
 * dp_measure_product
 *	  a * b of sensitivities, or of squares of them; an error on overflow.
 */
dp_uint128
dp_measure_product(dp_uint128 a, dp_uint128 b)
{
	dp_uint128	product;

	if (__builtin_mul_overflow(a, b, &product))
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	return product;
}

/*
 * dp_measure_native
 *	  An exact aggregate of the inner query with the measure's FILTER.
 *	  `arguments` are expressions; NIL means count(*).
 */
Aggref *
dp_measure_native(const dp_measure *measure, Oid function, Oid result_type,
				  List *arguments)
{
	Aggref	   *native = makeNode(Aggref);
	ListCell   *lc;

	native->aggfnoid = function;
	native->aggtype = result_type;
	native->inputcollid = measure->aggregate->inputcollid;
	native->aggfilter = copyObject(measure->aggregate->aggfilter);
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

/* dp_measure_bounded_sum: dp_pg.bounded_sum(argument, grid), and no other. */
List *
dp_measure_bounded_sum(const dp_measure *measure)
{
	TargetEntry *argument = linitial(measure->aggregate->args);
	Const	   *spec = dp_release_sum_spec(&measure->grid);
	Oid			function = dp_release_sum_function(measure->argument_type);

	return list_make1(dp_measure_native(measure, function,
										dp_release_sum_type(),
										list_make2(argument->expr, spec)));
}

/* dp_measure_granule: 2^exponent, for people's eyes. */
double
dp_measure_granule(const dp_measure *measure)
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

/* The same of granules * 2^exponent, which may exceed 128 bits. */
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
 * dp_measure_from_granules
 *	  A released number of granules as a value of the result type: bigint
 *	  saturates, numeric is exact up to the grid's digits, floats round.
 */
Datum
dp_measure_from_granules(const dp_measure *measure, dp_int128 granules,
						 Oid type)
{
	int			exponent = measure->grid.exponent;

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
			return NumericGetDatum(dp_release_grid_value(&measure->grid,
														 granules));
		default:
			elog(ERROR, "unexpected result type %u", type);
	}
	return (Datum) 0;
}
