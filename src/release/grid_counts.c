/*
 * grid_counts.c
 *	  The exact aggregate behind quantiles: rows counted by grid point.
 *
 * Cell i of a group is its number of rows at the granule low + i of the
 * public grid.  Counts add, so every plan (parallel, hashed, reordered) ends
 * with the same cells, and one row moves one cell by one.
 *
 * Representation.  A state begins as a hash table of (cell, rows) with open
 * addressing and becomes an array of all cells as soon as that takes no more
 * memory, or when 32 bits do not hold a cell's rows.  So a group takes at
 * most 8 bytes per point of the grid, whatever the rows, and a group of few
 * rows little.  Saved, for another process or for the release, it is a
 * header and either the occupied entries or the array; read back, it is
 * used where it lies (LIST and DENSE).
 *
 * Memory.  A state and its table live in the context the state was made in:
 * that of the aggregate, or the release's.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "utils/date.h"
#include "utils/memutils.h"

#include "granule.h"
#include "grid_counts.h"

#define FIRST_CAPACITY 8

typedef enum form
{
	FORM_HASH,
	FORM_DENSE,
	FORM_LIST					/* read only */
} form;

typedef struct entry
{
	uint32		cell;
	uint32		rows;			/* 0: free */
} entry;

struct dp_grid_counts
{
	form		form;
	uint32		cells;			/* of the grid */
	uint32		used;			/* entries with rows; HASH and LIST */
	uint32		capacity;		/* a power of two; HASH */
	int			shift;			/* 32 - log2(capacity); HASH */
	entry	   *entries;		/* HASH and LIST */
	uint64	   *dense;			/* DENSE */
};

/* A saved state; then come the entries, or all cells as uint64. */
typedef struct saved_counts
{
	int32		vl_len_;
	uint32		cells;
	uint32		used;
	uint32		form;			/* FORM_LIST or FORM_DENSE */
} saved_counts;

/* ---- counting ---- */

static void
set_capacity(dp_grid_counts *state, uint32 capacity)
{
	state->capacity = capacity;
	state->shift = 32 - pg_leftmost_one_pos32(capacity);
	state->entries = MemoryContextAllocZero(GetMemoryChunkContext(state),
											sizeof(entry) * capacity);
}

static void
set_dense(dp_grid_counts *state)
{
	state->form = FORM_DENSE;
	state->dense =
		MemoryContextAllocZero(GetMemoryChunkContext(state),
							   sizeof(uint64) * (Size) state->cells);
}

static dp_grid_counts *
new_counts(MemoryContext context, uint32 cells)
{
	dp_grid_counts *state = MemoryContextAllocZero(context,
												   sizeof(dp_grid_counts));

	state->cells = cells;
	if (cells <= FIRST_CAPACITY)
		set_dense(state);
	else
	{
		state->form = FORM_HASH;
		set_capacity(state, FIRST_CAPACITY);
	}
	return state;
}

/* Where the cell is, or the free place for it. */
static inline entry *
find_entry(const dp_grid_counts *state, uint32 cell)
{
	uint32		i = (cell * UINT32_C(2654435769)) >> state->shift;

	while (state->entries[i].rows != 0 && state->entries[i].cell != cell)
		i = (i + 1) & (state->capacity - 1);
	return &state->entries[i];
}

static void
make_dense(dp_grid_counts *state)
{
	entry	   *entries = state->entries;
	uint32		n = state->form == FORM_HASH ? state->capacity : state->used;
	uint32		i;

	set_dense(state);
	for (i = 0; i < n; i++)
		if (entries[i].rows != 0)
			state->dense[entries[i].cell] = entries[i].rows;
	if (n > 0)
		pfree(entries);
	state->entries = NULL;
}

/* More room: twice the entries, or all cells when those take no more. */
static pg_noinline void
grow(dp_grid_counts *state)
{
	entry	   *entries = state->entries;
	uint32		n = state->capacity;
	uint32		i;

	if (n >= state->cells / 2)
	{
		make_dense(state);
		return;
	}
	set_capacity(state, n * 2);
	for (i = 0; i < n; i++)
		if (entries[i].rows != 0)
			*find_entry(state, entries[i].cell) = entries[i];
	pfree(entries);
}

static void
add_rows(dp_grid_counts *state, uint32 cell, uint64 rows)
{
	entry	   *place;

	if (cell >= state->cells)
		elog(ERROR, "row outside its grid");
	if (state->form == FORM_HASH)
	{
		place = find_entry(state, cell);
		if (rows <= PG_UINT32_MAX - place->rows)
		{
			if (place->rows == 0)
			{
				state->used++;
				place->cell = cell;
			}
			place->rows += (uint32) rows;
			if (unlikely(state->used > state->capacity / 4 * 3))
				grow(state);
			return;
		}
		make_dense(state);
	}
	state->dense[cell] += rows;
}

static void
add_counts(dp_grid_counts *state, const dp_grid_counts *other)
{
	uint32		n = other->form == FORM_HASH ? other->capacity :
	other->form == FORM_LIST ? other->used : other->cells;
	uint32		i;

	if (state->cells != other->cells)
		elog(ERROR, "counts of different grids");
	if (other->form == FORM_DENSE && state->form != FORM_DENSE)
		make_dense(state);
	for (i = 0; i < n; i++)
	{
		if (other->form == FORM_DENSE)
			state->dense[i] += other->dense[i];
		else if (other->entries[i].rows != 0)
			add_rows(state, other->entries[i].cell, other->entries[i].rows);
	}
}

/* ---- the aggregate ---- */

/*
 * Once per call site: the state may be updated in place only in an Agg, and
 * whoever calls the aggregate by hand has no spec but NULL to give.
 */
static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(2))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_pg.grid_counts is used inside private queries "
						"only"),
				 errhint("Use dp_quantile or dp_median.")));
	if (!AggCheckCallContext(fcinfo, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function may only be called as part of an "
						"aggregate")));
	fcinfo->flinfo->fn_extra = fcinfo->flinfo;
}

static inline const dp_sum_spec *
spec_argument(FunctionCallInfo fcinfo)
{
	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	return (const dp_sum_spec *) PG_GETARG_POINTER(2);
}

static pg_noinline dp_grid_counts *
first_state(FunctionCallInfo fcinfo, const dp_sum_spec *spec)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "counting outside an aggregate");
	return new_counts(context, (uint32) (spec->high - spec->low + 1));
}

/* Counts one row; answers the state. */
static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *spec, int64 granules)
{
	uint32		cell = (uint32) (granules - spec->low);
	dp_grid_counts *state;

	if (unlikely(PG_ARGISNULL(0)))
		state = first_state(fcinfo, spec);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	if (likely(state->form == FORM_DENSE && cell < state->cells))
		state->dense[cell]++;
	else
		add_rows(state, cell, 1);
	PG_RETURN_POINTER(state);
}

/* The state as it is: the row counts nowhere. */
static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return PG_GETARG_DATUM(0);
}

/*
 * As granules_of_integer, but a coarse grid is met exactly, ties upwards:
 * microseconds need more than the 53 bits of a double.
 */
static inline int64
granules_of_long(const dp_sum_spec *spec, int64 x)
{
	dp_int128	y;

	if (likely(spec->exponent == 0))
		return Min(Max(x, spec->low), spec->high);
	y = (x + ((dp_int128) 1 << (spec->exponent - 1))) >> spec->exponent;
	return (int64) Min(Max(y, spec->low), spec->high);
}

PG_FUNCTION_INFO_V1(dp_counts_add_int2);
PG_FUNCTION_INFO_V1(dp_counts_add_int4);
PG_FUNCTION_INFO_V1(dp_counts_add_int8);
PG_FUNCTION_INFO_V1(dp_counts_add_float4);
PG_FUNCTION_INFO_V1(dp_counts_add_float8);
PG_FUNCTION_INFO_V1(dp_counts_add_numeric);
PG_FUNCTION_INFO_V1(dp_counts_add_date);
PG_FUNCTION_INFO_V1(dp_counts_add_timestamp);
PG_FUNCTION_INFO_V1(dp_counts_combine);
PG_FUNCTION_INFO_V1(dp_counts_save);
PG_FUNCTION_INFO_V1(dp_counts_load);

/*
 * dp_counts_add_*: transition functions (state, x, spec) -> state, in place.
 * Infinite dates and timestamps are the least and greatest integers, and so
 * clamp.
 */
#define ADD_INTEGER(name, get) \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const dp_sum_spec *spec = spec_argument(fcinfo); \
		\
		if (PG_ARGISNULL(1)) \
			return skip_row(fcinfo); \
		return count_row(fcinfo, spec, granules_of_long(spec, get(1))); \
	}

#define ADD_FLOAT(name, get) \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		const dp_sum_spec *spec = spec_argument(fcinfo); \
		\
		if (PG_ARGISNULL(1) || isnan(get(1))) \
			return skip_row(fcinfo); \
		return count_row(fcinfo, spec, granules_of_float(spec, get(1))); \
	}

ADD_INTEGER(dp_counts_add_int2, PG_GETARG_INT16)
ADD_INTEGER(dp_counts_add_int4, PG_GETARG_INT32)
ADD_INTEGER(dp_counts_add_int8, PG_GETARG_INT64)
ADD_INTEGER(dp_counts_add_date, PG_GETARG_DATEADT)
ADD_INTEGER(dp_counts_add_timestamp, PG_GETARG_TIMESTAMP)
ADD_FLOAT(dp_counts_add_float4, PG_GETARG_FLOAT4)
ADD_FLOAT(dp_counts_add_float8, PG_GETARG_FLOAT8)

static const dp_numeric_bounds *
bounds_of(FunctionCallInfo fcinfo)
{
	dp_numeric_bounds *cached = fcinfo->flinfo->fn_extra;
	MemoryContext old;

	if (likely(cached != NULL))
		return cached;
	check_call_site(fcinfo);
	fcinfo->flinfo->fn_extra = NULL;
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	cached = palloc(sizeof(dp_numeric_bounds));
	*cached = numeric_bounds((dp_sum_spec *) PG_GETARG_POINTER(2));
	fcinfo->flinfo->fn_extra = cached;
	MemoryContextSwitchTo(old);
	return cached;
}

/* dp_counts_add_numeric: the same for numeric. */
Datum
dp_counts_add_numeric(PG_FUNCTION_ARGS)
{
	const dp_numeric_bounds *bounds = bounds_of(fcinfo);
	const dp_sum_spec *spec = (const dp_sum_spec *) PG_GETARG_POINTER(2);
	Numeric		x;

	if (PG_ARGISNULL(1))
		return skip_row(fcinfo);
	x = PG_GETARG_NUMERIC(1);
	if (numeric_is_nan(x))
		return skip_row(fcinfo);
	return count_row(fcinfo, spec, granules_of_numeric(spec, bounds, x));
}

/*
 * dp_counts_combine: counts add; used by parallel and partitionwise plans.
 * The second state may be read only and short-lived.
 */
Datum
dp_counts_combine(PG_FUNCTION_ARGS)
{
	dp_grid_counts *state;
	dp_grid_counts *other;
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function may only be called as part of an "
						"aggregate")));
	if (PG_ARGISNULL(1))
		return skip_row(fcinfo);
	other = (dp_grid_counts *) PG_GETARG_POINTER(1);
	if (PG_ARGISNULL(0))
		state = new_counts(context, other->cells);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	add_counts(state, other);
	PG_RETURN_POINTER(state);
}

/* dp_counts_save: a state as bytea, for another process or for the release. */
Datum
dp_counts_save(PG_FUNCTION_ARGS)
{
	const dp_grid_counts *state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	bool		dense = state->form == FORM_DENSE;
	Size		size;
	saved_counts *saved;
	entry	   *next;
	uint32		i;

	size = sizeof(saved_counts) +
		(dense ? sizeof(uint64) * (Size) state->cells :
		 sizeof(entry) * (Size) state->used);
	saved = palloc(size);
	SET_VARSIZE(saved, size);
	saved->cells = state->cells;
	saved->used = state->used;
	saved->form = dense ? FORM_DENSE : FORM_LIST;
	next = (entry *) (saved + 1);
	if (dense)
		memcpy(next, state->dense, sizeof(uint64) * (Size) state->cells);
	else
		for (i = 0; i < state->capacity; i++)
			if (state->entries[i].rows != 0)
				*next++ = state->entries[i];
	PG_RETURN_BYTEA_P(saved);
}

/* A state that uses a copy of the saved one, in the current context. */
static dp_grid_counts *
load_counts(Datum datum)
{
	saved_counts *saved = (saved_counts *) PG_DETOAST_DATUM_COPY(datum);
	dp_grid_counts *state = palloc0(sizeof(dp_grid_counts));

	state->form = saved->form;
	state->cells = saved->cells;
	state->used = saved->used;
	if (state->form == FORM_DENSE)
		state->dense = (uint64 *) (saved + 1);
	else
		state->entries = (entry *) (saved + 1);
	return state;
}

/* dp_counts_load: the inverse of dp_counts_save. */
Datum
dp_counts_load(PG_FUNCTION_ARGS)
{
	if (!AggCheckCallContext(fcinfo, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("function may only be called as part of an "
						"aggregate")));
	PG_RETURN_POINTER(load_counts(PG_GETARG_DATUM(0)));
}

/* ---- for the release ---- */

/* dp_counts_merge: see grid_counts.h. */
dp_grid_counts *
dp_counts_merge(dp_grid_counts *state, Datum saved, MemoryContext keep)
{
	MemoryContext old;
	dp_grid_counts *other;
	dp_grid_counts *sum;

	if (state != NULL && state->form == FORM_LIST)
	{
		sum = new_counts(keep, state->cells);
		add_counts(sum, state);
		state = sum;
	}
	if (state != NULL)
	{
		other = load_counts(saved);
		add_counts(state, other);
		return state;
	}
	old = MemoryContextSwitchTo(keep);
	state = load_counts(saved);
	MemoryContextSwitchTo(old);
	return state;
}

static int
compare_entries(const void *a, const void *b)
{
	uint32		x = ((const entry *) a)->cell;
	uint32		y = ((const entry *) b)->cell;

	return x < y ? -1 : x > y;
}

/* dp_counts_list: see grid_counts.h; NULL is a group without rows. */
size_t
dp_counts_list(const dp_grid_counts *state, int64 low, int64 **values,
			   uint64 **counts)
{
	entry	   *entries;
	uint32		n = 0;
	uint32		capacity;
	uint32		i;

	*values = NULL;
	*counts = NULL;
	if (state == NULL)
		return 0;
	if (state->form == FORM_DENSE)
	{
		*counts = state->dense;
		return state->cells;
	}
	entries = palloc(sizeof(entry) * Max(state->used, 1));
	capacity = state->form == FORM_HASH ? state->capacity : state->used;
	for (i = 0; i < capacity; i++)
		if (state->entries[i].rows != 0)
			entries[n++] = state->entries[i];
	qsort(entries, n, sizeof(entry), compare_entries);
	*values = palloc(sizeof(int64) * Max(n, 1));
	*counts = palloc(sizeof(uint64) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		(*values)[i] = low + entries[i].cell;
		(*counts)[i] = entries[i].rows;
	}
	pfree(entries);
	return n;
}

/* dp_counts_inner: dp_pg.grid_counts(argument, grid), and no other. */
List *
dp_counts_inner(const dp_measure *measure)
{
	TargetEntry *argument = linitial(measure->aggregate->args);
	Const	   *spec = dp_release_sum_spec(&measure->grid);
	Oid			types[2];
	Oid			function;

	types[0] = measure->argument_type;
	types[1] = spec->consttype;
	function = LookupFuncName(list_make2(makeString("dp_pg"),
										 makeString("grid_counts")),
							  2, types, false);
	return list_make1(dp_measure_native(measure, function, BYTEAOID,
										list_make2(argument->expr, spec)));
}
