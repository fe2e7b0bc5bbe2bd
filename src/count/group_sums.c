/*
 * group_sums.c
 *	  Counts and bounded sums of all public groups, in one state.
 *
 *	  dp_pg.group_counts(place, spec)		rows: a word for each group
 *	  dp_pg.group_sums(place, x, spec)		as dp_pg.bounded_sum: three words,
 *											sum_state.c
 *
 * The state is that of a tally: flat, updated in place.  A row whose place is
 * NULL is not counted.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "dp_count.h"
#include "dp_to_grid.h"

/* ----------------
 *		The state of aggregates that count rows by public cells.
 *
 * It is a flat type that is updated in place.  Its size depends only on the
 * spec and it has only counts of public cells; counts add, so every plan
 * (parallel, hashed, reordered) gives the same state.  What a row adds depends
 * only on the row, and no value can raise an error.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_tally_combine);
PG_FUNCTION_INFO_V1(dp_tally_state_in);
PG_FUNCTION_INFO_V1(dp_tally_state_out);

/*
 * dp_count_check_call_site
 *	  0A000 unless called as a transition of an aggregate with a spec; marks
 *	  the call site as good.  A direct call of the aggregate can only pass NULL
 *	  as spec.
 */
void
dp_count_check_call_site(FunctionCallInfo fcinfo)
{
	dp_bridge_check_call_site(fcinfo, !PG_ARGISNULL(PG_NARGS() - 1),
							  "aggregate",
							  "Use dp_histogram, dp_argmax or dp_topk.");
}

/* dp_count_tally_new: n counts of zero, in the current context. */
dp_tally_state *
dp_count_tally_new(int64 n)
{
	Size		size = offsetof(dp_tally_state, counts) + sizeof(int64) * n;
	dp_tally_state *state = palloc0(size);

	SET_VARSIZE(state, size);
	state->n = (int32) n;
	return state;
}

/* dp_tally_combine: counts add; used by parallel and partitionwise plans. */
Datum
dp_tally_combine(PG_FUNCTION_ARGS)
{
	dp_tally_state *a;
	dp_tally_state *b;
	int			i;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		dp_count_check_call_site(fcinfo);
	a = (dp_tally_state *) PG_GETARG_POINTER(0);
	b = (dp_tally_state *) PG_GETARG_POINTER(1);
	if (a->n != b->n)
		elog(ERROR, "tallies of different sizes");
	for (i = 0; i < a->n; i++)
		a->counts[i] += b->counts[i];
	PG_RETURN_POINTER(a);
}

/* dp_tally_state_in: refuses with 0A000; a state begins as NULL. */
Datum
dp_tally_state_in(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_input("dp_pg.tally_state");
}

/* dp_tally_state_out: refuses with 0A000; a state is exact private counts. */
Datum
dp_tally_state_out(PG_FUNCTION_ARGS)
{
	dp_bridge_forbid_output("dp_pg.tally_state");
}

typedef struct group_spec
{
	int32		vl_len_;
	int64		words;			/* of the state */
	dp_sum_spec grid;			/* for sums */
} group_spec;

#define VALUE_ARGUMENT 2
#define GRID_OF(spec) (&((const group_spec *) (spec))->grid)
#include "transitions.h"

static void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_count_check_call_site(fcinfo);
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	const group_spec *spec = (const group_spec *) PG_GETARG_POINTER(3);

	PG_RETURN_POINTER(dp_tally_state_of(fcinfo, spec->words));
}

static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *grid, int64 granules)
{
	const group_spec *spec = (const group_spec *) PG_GETARG_POINTER(3);
	dp_tally_state *state = dp_tally_state_of(fcinfo, spec->words);

	if (!PG_ARGISNULL(1))
		dp_sum_state_add((dp_sum_state *) state->counts + PG_GETARG_INT32(1),
						 granules);
	PG_RETURN_POINTER(state);
}

/* dp_group_sum_add_*: transition functions (state, place, x, spec). */
DP_NUMBER_TRANSITIONS(dp_group_sum_add)

PG_FUNCTION_INFO_V1(dp_group_count_add);
PG_FUNCTION_INFO_V1(dp_group_sum_combine);

/* dp_group_count_add: transition function (state, place, spec) -> state. */
Datum
dp_group_count_add(PG_FUNCTION_ARGS)
{
	const group_spec *spec;
	dp_tally_state *state;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	spec = (const group_spec *) PG_GETARG_POINTER(2);
	state = dp_tally_state_of(fcinfo, spec->words);
	if (!PG_ARGISNULL(1))
		state->counts[PG_GETARG_INT32(1)]++;
	PG_RETURN_POINTER(state);
}

/* dp_group_sum_combine: sums add, group by group. */
Datum
dp_group_sum_combine(PG_FUNCTION_ARGS)
{
	dp_tally_state *a;
	const dp_tally_state *b;
	int			i;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	a = (dp_tally_state *) PG_GETARG_POINTER(0);
	b = (const dp_tally_state *) PG_GETARG_POINTER(1);
	if (a->n != b->n)
		elog(ERROR, "sums of different groups");
	for (i = 0; i < a->n / DP_SUM_WORDS; i++)
		dp_sum_state_merge((dp_sum_state *) a->counts + i,
						   (const dp_sum_state *) b->counts + i);
	PG_RETURN_POINTER(a);
}

/*
 * dp_count_group_spec
 *	  The constant for either aggregate: words of the state, and the grid of
 *	  sums (NULL: rows are counted).
 */
Const *
dp_count_group_spec(int64 words, const dp_grid *grid)
{
	group_spec *spec = palloc0(sizeof(group_spec));

	spec->words = words;
	if (grid != NULL)
		dp_count_fill_spec(grid, &spec->grid);
	return dp_places_tally_spec_const(spec, sizeof(group_spec));
}

/* ----------------
 *		Rows counted in public ranges of powers of two, for dp_bounds.
 *
 * The ranges are 0 and, on either side of it, the numbers whose absolute value
 * is above 2^(e-1) and at most 2^e, for e from 0 to 63 for integers and from
 * -40 to 80 for other numbers; the first of them begins at 0, and the last has
 * no end.  The place depends only on the number, and no number raises an
 * error.
 *
 * dp_pg.range_counts(x, spec) counts rows by place, and skips NULL and NaN;
 * dp_pg.magnitude(x) is the place, for rows that are counted by unit.
 * ----------------
 */

#define LEAST_INTEGER 0
#define MOST_INTEGER 63
#define LEAST_OTHER (-40)
#define MOST_OTHER 80

/* dp_count_ranges: the ranges of a numeric type. */
dp_ranges
dp_count_ranges(Oid type)
{
	bool		integers = dp_places_is_integer(type);
	dp_ranges	ranges;

	ranges.least = integers ? LEAST_INTEGER : LEAST_OTHER;
	ranges.most = integers ? MOST_INTEGER : MOST_OTHER;
	ranges.zero = ranges.most - ranges.least + 1;
	ranges.n = 2 * ranges.zero + 1;
	return ranges;
}

static int
place_of_integer(int64 x)
{
	const dp_ranges ranges = dp_count_ranges(INT8OID);
	uint64		size = x < 0 ? -(uint64) x : (uint64) x;
	int			place;

	if (x == 0)
		return ranges.zero;
	place = size == 1 ? 1 : pg_leftmost_one_pos64(size - 1) + 2;
	return ranges.zero + (x < 0 ? -place : place);
}

/* The place of a double; -1 for NaN. */
static int
place_of_double(double x)
{
	const dp_ranges ranges = dp_count_ranges(FLOAT8OID);
	int			exponent;
	int			place;

	if (isnan(x))
		return -1;
	if (x == 0)
		return ranges.zero;
	if (isinf(x))
		exponent = ranges.most;
	else if (frexp(fabs(x), &exponent) == 0.5)
		exponent--;				/* 2^e itself */
	place = Max(Min(exponent, ranges.most), ranges.least) - ranges.least + 1;
	return ranges.zero + (x < 0 ? -place : place);
}

/* The place of the nearest double. */
static int
place_of_numeric(Numeric x)
{
	if (numeric_is_nan(x))
		return -1;
	return place_of_double(DatumGetFloat8(
							   DirectFunctionCall1(numeric_float8_no_overflow,
												   NumericGetDatum(x))));
}

static Datum
count_place(FunctionCallInfo fcinfo, Oid type, int place)
{
	dp_tally_state *state = dp_tally_state_of(fcinfo, dp_count_ranges(type).n);

	if (place >= 0)
		state->counts[place]++;
	PG_RETURN_POINTER(state);
}

/* Functions (state, x, spec) -> state, and x -> integer. */
#define RANGE_FUNCTIONS(type, oid, get, place_of) \
	PG_FUNCTION_INFO_V1(dp_range_add_##type); \
	Datum \
	dp_range_add_##type(PG_FUNCTION_ARGS) \
	{ \
		if (unlikely(fcinfo->flinfo->fn_extra == NULL)) \
			dp_count_check_call_site(fcinfo); \
		return count_place(fcinfo, oid, \
						   PG_ARGISNULL(1) ? -1 : place_of(get(1))); \
	} \
	PG_FUNCTION_INFO_V1(dp_magnitude_##type); \
	Datum \
	dp_magnitude_##type(PG_FUNCTION_ARGS) \
	{ \
		int			place = place_of(get(0)); \
		\
		if (place < 0) \
			PG_RETURN_NULL(); \
		PG_RETURN_INT32(place); \
	}

RANGE_FUNCTIONS(int8, INT8OID, PG_GETARG_INT64, place_of_integer)
RANGE_FUNCTIONS(float8, FLOAT8OID, PG_GETARG_FLOAT8, place_of_double)
RANGE_FUNCTIONS(numeric, NUMERICOID, PG_GETARG_NUMERIC, place_of_numeric)

static Expr *
call(Oid function, Oid type, Expr *argument)
{
	return (Expr *) makeFuncExpr(function, type, list_make1(argument),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* Cast the argument to one of the three types with functions. */
static Expr *
widen(Expr *argument, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return call(F_INT8_INT2, INT8OID, argument);
		case INT4OID:
			return call(F_INT8_INT4, INT8OID, argument);
		case FLOAT4OID:
			return call(F_FLOAT8_FLOAT4, FLOAT8OID, argument);
		default:
			return argument;
	}
}

/*
 * dp_count_range_counts
 *	  dp_pg.range_counts of the argument, which is of this base type.
 */
List *
dp_count_range_counts(const Aggref *asked, Oid type)
{
	TargetEntry *given = linitial(asked->args);
	Expr	   *argument = widen(copyObject(given->expr), type);
	Const	   *spec = dp_count_group_spec(dp_count_ranges(type).n, NULL);
	Oid			types[2] = {getBaseType(exprType((Node *) argument)),
	spec->consttype};

	return list_make1(dp_count_native(asked,
									  dp_catalog_function("range_counts", 2,
														  types),
									  dp_catalog_type("tally_state"),
									  list_make2(argument, spec)));
}

/*
 * dp_count_row_range
 *	  The place of such an aggregate's argument, as bigint; NULL for NULL and
 *	  NaN.
 */
Expr *
dp_count_row_range(Expr *argument)
{
	Oid			type = getBaseType(exprType((Node *) argument));

	return call(F_INT8_INT4, INT8OID,
				call(dp_catalog_function("magnitude", 1, &type), INT4OID,
					 copyObject(argument)));
}
