/*
 * group_sums.c
 *	  The public group of a row; counts and bounded sums of all public groups,
 *	  in one state; rows counted in ranges.
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

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"

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
 * dp_exact_check_call_site
 *	  0A000 unless called as a transition of an aggregate with a spec; marks
 *	  the call site as good.  A direct call of the aggregate can only pass NULL
 *	  as spec.
 */
void
dp_exact_check_call_site(FunctionCallInfo fcinfo)
{
	dp_base_check_call_site(fcinfo, !PG_ARGISNULL(PG_NARGS() - 1),
							"aggregate",
							"Use dp_histogram, dp_argmax or dp_topk.");
}

/* dp_exact_tally_new: n counts of zero, in the current context. */
dp_tally_state *
dp_exact_tally_new(int64 n)
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
		dp_exact_check_call_site(fcinfo);
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
	dp_base_forbid_input("dp_pg.tally_state");
}

/* dp_tally_state_out: refuses with 0A000; a state is exact private counts. */
Datum
dp_tally_state_out(PG_FUNCTION_ARGS)
{
	dp_base_forbid_output("dp_pg.tally_state");
}

/* ----------------
 *		The public group of a row.
 *
 * A place among the public groups is computed key by key, the first key
 * varying slowest, as
 *
 *		group_place(group_place(0, k1, keys of k1), k2, keys of k2)
 *
 * where the public values of a key are a constant without pointers, looked up
 * like an axis (axis.c).  A literal key has one value and needs no call.  A
 * key computed from a column with public values is looked up by the column,
 * whose places are mapped to the key's.
 *
 * A key that is released by threshold because of its many values
 * (prepare/group_keys.c) is looked up separately, by dp_pg.key_place, and its
 * place becomes part of the name of the row's group.
 * ----------------
 */

/* The public values of one key, flat. */
typedef struct group_keys
{
	int32		vl_len_;
	int32		size;			/* number of values, with other and NULL */
	int64		map;			/* offset of the map from places that are found
								 * to places of the key; or 0 */
	dp_axis_finder finder;		/* last, since its length varies */
} group_keys;

PG_FUNCTION_INFO_V1(dp_group_place);
PG_FUNCTION_INFO_V1(dp_key_place);

/*
 * The public values that a release puts into its calls; no other caller has
 * any.
 */
static const group_keys *
require_keys(FunctionCallInfo fcinfo, int argument, const char *function)
{
	if (unlikely(PG_ARGISNULL(argument)))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s can be used only inside private queries",
						function),
				 errhint("Group by the key itself.")));
	return (const group_keys *) PG_GETARG_POINTER(argument);
}

/* The place of a key's value, or -1. */
static pg_noinline int64
group_find_place(const group_keys *keys, Datum value, bool isnull)
{
	int64		place = dp_domains_axis_find_flat(&keys->finder, value,
												  isnull);

	if (place >= 0 && keys->map != 0)
		place = ((const int32 *) ((const char *) keys + keys->map))[place];
	return place;
}

/*
 * dp_group_place
 *	  SQL: dp_pg.group_place(place by the keys before, key, its public values)
 *	  -> place, or NULL if the row is in no public group.
 */
Datum
dp_group_place(PG_FUNCTION_ARGS)
{
	const group_keys *keys = require_keys(fcinfo, 2, "dp_pg.group_place");
	int64		place;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	place = group_find_place(keys, PG_GETARG_DATUM(1), PG_ARGISNULL(1));
	if (place < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(PG_GETARG_INT32(0) * keys->size + (int32) place);
}

/*
 * dp_key_place
 *	  SQL: dp_pg.key_place(key, its public values) -> place among them, or NULL
 *	  if it is none of them.
 */
Datum
dp_key_place(PG_FUNCTION_ARGS)
{
	const group_keys *keys = require_keys(fcinfo, 1, "dp_pg.key_place");
	int64		place = group_find_place(keys, PG_GETARG_DATUM(0),
										 PG_ARGISNULL(0));

	if (place < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(place);
}

/*
 * dp_exact_group_keys
 *	  The constant for these functions: public values for the look-up, and the
 *	  place for each of n values found (NULL: its own).
 */
Const *
dp_exact_group_keys(const dp_axis_finder *finder, Size length,
					const int32 *map, int64 n, int32 places)
{
	Size		size = MAXALIGN(offsetof(group_keys, finder) + length);
	Size		mapped = map == NULL ? 0 : sizeof(int32) * n;
	group_keys *keys = palloc0(size + mapped);

	memcpy(&keys->finder, finder, length);
	if (map != NULL)
	{
		memcpy((char *) keys + size, map, mapped);
		keys->map = (int64) size;
	}
	keys->size = places;
	return dp_domains_tally_spec_const(keys, size + mapped);
}

/* ----------------
 *		Counts and sums of all public groups, in one state.
 *
 * dp_pg.group_sums(spec, arguments) finds the group of a row once, from the
 * arguments that are its keys, and adds each value of the row to the numbers
 * of that group: those of sums (dp_sum_state), then counts, a word each.  A
 * row in no public group is not counted.
 * ----------------
 */

typedef struct group_key
{
	int64		argument;		/* of the function */
	int64		keys;			/* offset of its group_keys */
} group_key;

typedef struct group_value
{
	Oid			type;			/* base type of the argument; see
								 * dp_group_value */
	int32		argument;
	dp_sum_spec grid;			/* of a sum */
} group_value;

typedef struct group_spec
{
	int32		vl_len_;
	int32		groups;
	int32		arguments;		/* number of the function's */
	int32		nkeys;
	int32		sums;			/* the first of the values */
	int32		nvalues;
	int64		words;			/* of a group */
	int64		keys;			/* offset of a group_key for each key */
	group_value values[FLEXIBLE_ARRAY_MEMBER];
} group_spec;

typedef struct group_state
{
	int32		vl_len_;
	int32		groups;
	int32		sums;			/* in each group, before the counts */
	int32		counts;
	int64		words[FLEXIBLE_ARRAY_MEMBER];
} group_state;

PG_FUNCTION_INFO_V1(dp_group_sum_add);
PG_FUNCTION_INFO_V1(dp_group_sum_combine);

static int64
group_words(int sums, int counts)
{
	return (int64) DP_SUM_WORDS * sums + counts;
}

/* Also keeps the bounds of numeric sums, by value, in fn_extra. */
static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	const group_spec *spec;
	dp_numeric_bounds *bounds;
	MemoryContext old;
	int			i;

	dp_base_check_call_site(fcinfo, PG_NARGS() >= 2 && !PG_ARGISNULL(1) &&
							!get_fn_expr_variadic(fcinfo->flinfo),
							"dp_pg.group_sums", "Use dp_count or dp_sum.");
	spec = (const group_spec *) PG_GETARG_POINTER(1);
	if (PG_NARGS() != spec->arguments)
		elog(ERROR, "dp_pg.group_sums got %d arguments", PG_NARGS());
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	bounds = palloc0(sizeof(dp_numeric_bounds) * Max(spec->sums, 1));
	for (i = 0; i < spec->sums; i++)
		if (spec->values[i].type == NUMERICOID)
			bounds[i] = numeric_bounds(&spec->values[i].grid);
	fcinfo->flinfo->fn_extra = bounds;
	MemoryContextSwitchTo(old);
}

static pg_noinline group_state *
group_state_new(const group_spec *spec)
{
	Size		size = offsetof(group_state, words) +
	sizeof(int64) * spec->words * spec->groups;
	group_state *state = palloc0(size);

	SET_VARSIZE(state, size);
	state->groups = spec->groups;
	state->sums = spec->sums;
	state->counts = spec->nvalues - spec->sums;
	return state;
}

/* The place of the row's group, or -1. */
static pg_attribute_always_inline int64
group_of_row(FunctionCallInfo fcinfo, const group_spec *spec)
{
	const group_key *key =
	(const group_key *) ((const char *) spec + spec->keys);
	int64		place = 0;
	int			i;

	for (i = 0; i < spec->nkeys; i++, key++)
	{
		const group_keys *keys =
		(const group_keys *) ((const char *) spec + key->keys);
		int64		found = group_find_place(keys,
											 PG_GETARG_DATUM(key->argument),
											 PG_ARGISNULL(key->argument));

		if (found < 0)
			return -1;
		place = place * keys->size + found;
	}
	return place;
}

/*
 * dp_group_sum_add
 *	  Transition function (state, spec, arguments) -> state, in place.
 */
Datum
dp_group_sum_add(PG_FUNCTION_ARGS)
{
	const group_spec *spec;
	const group_value *value;
	const group_value *end;
	group_state *state;
	int64	   *word;
	int64		place;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	spec = (const group_spec *) PG_GETARG_POINTER(1);
	state = unlikely(PG_ARGISNULL(0)) ? group_state_new(spec) :
		(group_state *) PG_GETARG_POINTER(0);
	place = group_of_row(fcinfo, spec);
	if (place < 0)
		PG_RETURN_POINTER(state);
	word = state->words + place * spec->words;
	value = spec->values;
	for (end = value + spec->sums; value < end; value++)
	{
		const dp_numeric_bounds *bounds =
		(const dp_numeric_bounds *) fcinfo->flinfo->fn_extra +
		(value - spec->values);
		int64		granules;

		if (!PG_ARGISNULL(value->argument) &&
			dp_find_granules(&value->grid, bounds, value->type,
							 PG_GETARG_DATUM(value->argument), &granules))
			dp_sum_state_add((dp_sum_state *) word, granules);
		word += DP_SUM_WORDS;
	}
	for (end = spec->values + spec->nvalues; value < end; value++, word++)
		if (!OidIsValid(value->type) || !PG_ARGISNULL(value->argument))
			(*word)++;
	PG_RETURN_POINTER(state);
}

/* dp_group_sum_combine: numbers add, group by group. */
Datum
dp_group_sum_combine(PG_FUNCTION_ARGS)
{
	group_state *a;
	const group_state *b;
	int64	   *to;
	const int64 *from;
	int			group;
	int			i;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		dp_exact_check_call_site(fcinfo);
	a = (group_state *) PG_GETARG_POINTER(0);
	b = (const group_state *) PG_GETARG_POINTER(1);
	if (a->groups != b->groups || a->sums != b->sums || a->counts != b->counts)
		elog(ERROR, "sums of different groups");
	to = a->words;
	from = b->words;
	for (group = 0; group < a->groups; group++)
	{
		for (i = 0; i < a->sums; i++)
		{
			dp_sum_state_merge((dp_sum_state *) to,
							   (const dp_sum_state *) from);
			to += DP_SUM_WORDS;
			from += DP_SUM_WORDS;
		}
		for (i = 0; i < a->counts; i++)
			*to++ += *from++;
	}
	PG_RETURN_POINTER(a);
}

/* ---- for the release ---- */

/*
 * dp_exact_group_spec
 *	  The constant for dp_pg.group_sums with so many further arguments; sums
 *	  come before counts in `values`.
 */
Const *
dp_exact_group_spec(int64 groups, int arguments, int nkeys,
					const dp_group_key *keys, int nvalues,
					const dp_group_value *values)
{
	Size		size = offsetof(group_spec, values) +
	sizeof(group_value) * nvalues;
	Size		at = size + sizeof(group_key) * nkeys;
	group_spec *spec;
	group_key  *key;
	int			i;

	for (i = 0; i < nkeys; i++)
		at += MAXALIGN(VARSIZE(DatumGetPointer(keys[i].keys->constvalue)));
	spec = palloc0(at);
	spec->groups = (int32) groups;
	spec->arguments = arguments + 2;
	spec->nkeys = nkeys;
	spec->nvalues = nvalues;
	spec->keys = (int64) size;
	for (i = 0; i < nvalues; i++)
	{
		spec->values[i].type = values[i].type;
		spec->values[i].argument = values[i].argument + 2;
		if (values[i].grid == NULL)
			continue;
		dp_exact_fill_spec(values[i].grid, &spec->values[i].grid);
		spec->sums++;
	}
	spec->words = group_words(spec->sums, nvalues - spec->sums);
	key = (group_key *) ((char *) spec + size);
	size += sizeof(group_key) * nkeys;
	for (i = 0; i < nkeys; i++, key++)
	{
		const void *flat = DatumGetPointer(keys[i].keys->constvalue);

		key->argument = keys[i].argument + 2;
		key->keys = (int64) size;
		memcpy((char *) spec + size, flat, VARSIZE(flat));
		size += MAXALIGN(VARSIZE(flat));
	}
	return dp_domains_tally_spec_const(spec, at);
}

/* dp_exact_group_sums: dp_pg.group_sums(spec, arguments). */
Aggref *
dp_exact_group_sums(const Aggref *asked, const Const *spec, List *arguments)
{
	Oid			types[2] = {spec->consttype, ANYOID};

	return dp_exact_native(asked, dp_catalog_function("group_sums", 2, types),
						   dp_catalog_type("tally_state"),
						   lcons((void *) spec, arguments));
}

/*
 * dp_exact_group_number: a value's number in a group: an int64, or a
 * dp_sum_state.
 */
void *
dp_exact_group_number(Datum of, int64 group, int value)
{
	group_state *state = (group_state *) DatumGetPointer(of);
	int			sums = Min(value, state->sums);

	return state->words + group * group_words(state->sums, state->counts) +
		group_words(sums, value - sums);
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

/* dp_exact_ranges: the ranges of a numeric type. */
dp_ranges
dp_exact_ranges(Oid type)
{
	bool		integers = dp_domains_is_integer(type);
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
	const dp_ranges ranges = dp_exact_ranges(INT8OID);
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
	const dp_ranges ranges = dp_exact_ranges(FLOAT8OID);
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
	dp_tally_state *state = dp_tally_state_of(fcinfo, dp_exact_ranges(type).n);

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
			dp_exact_check_call_site(fcinfo); \
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
 * dp_exact_range_counts
 *	  dp_pg.range_counts of the argument, which is of this base type.
 */
List *
dp_exact_range_counts(const Aggref *asked, Oid type)
{
	TargetEntry *given = linitial(asked->args);
	Expr	   *argument = widen(copyObject(given->expr), type);
	Const	   *spec = dp_domains_tally_spec_const(palloc0(sizeof(int64)),
												 sizeof(int64));
	Oid			types[2] = {getBaseType(exprType((Node *) argument)),
	spec->consttype};

	return list_make1(dp_exact_native(asked,
									  dp_catalog_function("range_counts", 2,
														  types),
									  dp_catalog_type("tally_state"),
									  list_make2(argument, spec)));
}

/*
 * dp_exact_row_range
 *	  The place of such an aggregate's argument, as bigint; NULL for NULL and
 *	  NaN.
 */
Expr *
dp_exact_row_range(Expr *argument)
{
	Oid			type = getBaseType(exprType((Node *) argument));

	return call(F_INT8_INT4, INT8OID,
				call(dp_catalog_function("magnitude", 1, &type), INT4OID,
					 copyObject(argument)));
}
