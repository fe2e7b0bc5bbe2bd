/*
 * grid_counts.c
 *	  The exact aggregate behind quantiles: rows counted by grid point.
 *
 * Cell i of a group is its number of rows at the granule low + i of the public
 * grid.  Counts add, so every plan (parallel, hashed, reordered) gives the
 * same cells, and one row changes one cell by one.
 *
 * Representation.  A state begins as a hash table of (cell, rows) with open
 * addressing and becomes an array of all cells as soon as the table would take
 * a sixteenth of that; the array has 32 bits per cell until some cell needs
 * 64.  So all tables that a group ever had take less than an eighth of its
 * array, and a group with few rows takes little.  Saved, for another process
 * or for the release, a state is a header and either the occupied entries or
 * the array, which is then freed: the next copy of the saved state has its
 * size and reuses that memory.  A state that is read back is used in place.
 *
 * Memory.  A state and its table live in the context in which the state was
 * made: the aggregate's or the release's.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "port/pg_bitutils.h"
#include "utils/date.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"
#include "transitions.h"

typedef enum dp_counts_form
{
	DP_COUNTS_HASH,
	DP_COUNTS_DENSE,			/* 32 bits per cell */
	DP_COUNTS_WIDE,				/* 64 */
	DP_COUNTS_LIST,				/* like HASH without gaps, read only */
	DP_COUNTS_SAVED				/* an array that was freed */
} dp_counts_form;

typedef struct dp_counts_entry
{
	uint32		cell;
	uint32		rows;			/* 0: free */
} dp_counts_entry;

struct dp_grid_counts
{
	dp_counts_form form;
	uint32		cells;			/* of the grid */
	uint32		used;			/* entries with rows; HASH and LIST */
	uint32		capacity;		/* a power of two; HASH */
	int			shift;			/* 32 - log2(capacity); HASH */
	dp_counts_entry *entries;	/* HASH and LIST */
	uint32	   *dense;			/* DENSE */
	bool		owned;			/* dense is a chunk of its own */
	uint64	   *wide;			/* WIDE */
};

#define FIRST_CAPACITY 8
#define TABLE_PART 32			/* entries of a table: fewer, in cells */

/* A saved state; the entries, or all cells, follow. */
typedef struct saved_counts
{
	int32		vl_len_;
	uint32		cells;
	uint32		used;
	uint32		form;			/* not DP_COUNTS_HASH */
} saved_counts;

/* dp_exact_grid_bytes: see dp_exact.h. */
Size
dp_exact_grid_bytes(int64 points)
{
	return sizeof(saved_counts) + sizeof(uint32) * (Size) points;
}

/* ---- counting ---- */

static void
grid_counts_set_capacity(dp_grid_counts *state, uint32 capacity)
{
	state->capacity = capacity;
	state->shift = 32 - pg_leftmost_one_pos32(capacity);
	state->entries =
		MemoryContextAllocZero(GetMemoryChunkContext(state),
							   sizeof(dp_counts_entry) * capacity);
}

/* Make an array as large as its saved form. */
static void
set_dense(dp_grid_counts *state)
{
	state->form = DP_COUNTS_DENSE;
	state->dense =
		MemoryContextAllocZero(GetMemoryChunkContext(state),
							   dp_exact_grid_bytes(state->cells));
	state->owned = true;
}

/* grid_new: a state without rows, on a grid of `cells` cells. */
static dp_grid_counts *
grid_new(MemoryContext context, uint32 cells)
{
	dp_grid_counts *state = MemoryContextAllocZero(context,
												   sizeof(dp_grid_counts));

	state->cells = cells;
	if (cells <= FIRST_CAPACITY)
		set_dense(state);
	else
	{
		state->form = DP_COUNTS_HASH;
		grid_counts_set_capacity(state, FIRST_CAPACITY);
	}
	return state;
}

/* The entry of the cell, or a free one for it. */
static inline dp_counts_entry *
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
	uint32		i;

	set_dense(state);
	for (i = 0; i < state->capacity; i++)
		if (state->entries[i].rows != 0)
			state->dense[state->entries[i].cell] = state->entries[i].rows;
	pfree(state->entries);
	state->entries = NULL;
}

static void
make_wide(dp_grid_counts *state)
{
	uint32		i;

	if (state->form == DP_COUNTS_HASH)
		make_dense(state);
	if (state->form == DP_COUNTS_WIDE)
		return;
	state->wide = MemoryContextAlloc(GetMemoryChunkContext(state),
									 sizeof(uint64) * (Size) state->cells);
	for (i = 0; i < state->cells; i++)
		state->wide[i] = state->dense[i];
	state->form = DP_COUNTS_WIDE;
	if (state->owned)
		pfree(state->dense);
	state->dense = NULL;
}

/*
 * Make room for `used` entries: a table that they fill to at most three
 * quarters, or all cells.
 */
static pg_noinline void
reserve(dp_grid_counts *state, uint64 used)
{
	dp_counts_entry *entries = state->entries;
	uint32		n = state->capacity;
	uint64		capacity = n;
	uint32		i;

	while (used > capacity / 4 * 3)
		capacity *= 2;
	if (capacity >= state->cells / TABLE_PART)
		make_dense(state);
	else if (capacity > n)
	{
		grid_counts_set_capacity(state, (uint32) capacity);
		for (i = 0; i < n; i++)
			if (entries[i].rows != 0)
				*find_entry(state, entries[i].cell) = entries[i];
		pfree(entries);
	}
}

/* grid_add_rows: add `rows` rows at a cell of the grid. */
static void
grid_add_rows(dp_grid_counts *state, uint32 cell, uint64 rows)
{
	dp_counts_entry *place;

	if (cell >= state->cells)
		elog(ERROR, "row outside its grid");
	if (state->form == DP_COUNTS_HASH)
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
				reserve(state, state->used);
			return;
		}
	}
	if (state->form == DP_COUNTS_DENSE &&
		rows <= PG_UINT32_MAX - state->dense[cell])
	{
		state->dense[cell] += (uint32) rows;
		return;
	}
	make_wide(state);
	state->wide[cell] += rows;
}

/*
 * The number of entries of a HASH or LIST, including free ones; of cells
 * otherwise.
 */
static uint32
places(const dp_grid_counts *state)
{
	switch (state->form)
	{
		case DP_COUNTS_HASH:
			return state->capacity;
		case DP_COUNTS_LIST:
			return state->used;
		default:
			return state->cells;
	}
}

/* The rows at a place, and their cell. */
static inline uint64
rows_at(const dp_grid_counts *state, uint32 place, uint32 *cell)
{
	*cell = place;
	switch (state->form)
	{
		case DP_COUNTS_DENSE:
			return state->dense[place];
		case DP_COUNTS_WIDE:
			return state->wide[place];
		default:
			*cell = state->entries[place].cell;
			return state->entries[place].rows;
	}
}

/* grid_add_all: add the other state's rows; it may be read only. */
static void
grid_add_all(dp_grid_counts *state, const dp_grid_counts *other)
{
	uint32		n = places(other);
	uint64		rows;
	uint32		cell;
	uint32		i;

	if (state->cells != other->cells)
		elog(ERROR, "counts of different grids");

	/*
	 * Entries arrive in the order of their hashes; inserted into a table that
	 * is too small, they would crowd at its front.
	 */
	if (state->form == DP_COUNTS_HASH)
		reserve(state, (uint64) state->used + n);
	for (i = 0; i < n; i++)
	{
		rows = rows_at(other, i, &cell);
		if (rows != 0)
			grid_add_rows(state, cell, rows);
	}
}

/* ---- saved states ---- */

/*
 * grid_save_state
 *	  The state as bytea, in the current context.  An array of 32 bits is
 *	  freed, and the state must not be used afterwards.
 */
static bytea *
grid_save_state(dp_grid_counts *state)
{
	Size		size;
	saved_counts *saved;
	dp_counts_entry *next;
	uint32		i;

	if (state->form == DP_COUNTS_SAVED)
		elog(ERROR, "counts of a grid are saved twice");
	if (state->form == DP_COUNTS_WIDE)
		size = sizeof(uint64) * (Size) state->cells;
	else if (state->form == DP_COUNTS_DENSE)
		size = sizeof(uint32) * (Size) state->cells;
	else
		size = sizeof(dp_counts_entry) * (Size) state->used;
	saved = palloc(sizeof(saved_counts) + size);
	SET_VARSIZE(saved, sizeof(saved_counts) + size);
	saved->cells = state->cells;
	saved->used = state->used;
	saved->form = state->form;
	next = (dp_counts_entry *) (saved + 1);
	if (state->form == DP_COUNTS_WIDE)
		memcpy(next, state->wide, size);
	else if (state->form == DP_COUNTS_DENSE)
		memcpy(next, state->dense, size);
	else
	{
		saved->form = DP_COUNTS_LIST;
		for (i = 0; i < places(state); i++)
			if (state->entries[i].rows != 0)
				*next++ = state->entries[i];
	}
	if (state->form == DP_COUNTS_DENSE && state->owned)
	{
		pfree(state->dense);
		state->dense = NULL;
		state->form = DP_COUNTS_SAVED;
	}
	return (bytea *) saved;
}

/*
 * grid_load_state
 *	  A state on top of a copy of the saved one, in the current context.
 */
static dp_grid_counts *
grid_load_state(Datum datum)
{
	saved_counts *saved = (saved_counts *) PG_DETOAST_DATUM_COPY(datum);
	dp_grid_counts *state = palloc0(sizeof(dp_grid_counts));

	state->form = saved->form;
	state->cells = saved->cells;
	state->used = saved->used;
	if (state->form == DP_COUNTS_WIDE)
		state->wide = (uint64 *) (saved + 1);
	else if (state->form == DP_COUNTS_DENSE)
		state->dense = (uint32 *) (saved + 1);
	else
		state->entries = (dp_counts_entry *) (saved + 1);
	return state;
}

/* ---- for the release ---- */

/* dp_exact_grid_add: see dp_exact.h. */
dp_grid_counts *
dp_exact_grid_add(dp_grid_counts *state, int64 points, int64 point,
				  MemoryContext keep)
{
	if (state == NULL)
		state = grid_new(keep, (uint32) points);
	grid_add_rows(state, (uint32) point, 1);
	return state;
}

/* dp_exact_grid_merge: see dp_exact.h. */
dp_grid_counts *
dp_exact_grid_merge(dp_grid_counts *state, Datum saved, MemoryContext keep)
{
	MemoryContext old;
	dp_grid_counts *other;
	dp_grid_counts *sum;

	if (state != NULL && state->form == DP_COUNTS_LIST)
	{
		sum = grid_new(keep, state->cells);
		grid_add_all(sum, state);
		state = sum;
	}
	if (state != NULL)
	{
		other = grid_load_state(saved);
		grid_add_all(state, other);
		return state;
	}
	old = MemoryContextSwitchTo(keep);
	state = grid_load_state(saved);
	MemoryContextSwitchTo(old);
	return state;
}

static int
grid_counts_compare_entries(const void *a, const void *b)
{
	uint32		x = ((const dp_counts_entry *) a)->cell;
	uint32		y = ((const dp_counts_entry *) b)->cell;

	return x < y ? -1 : x > y;
}

/* The used entries of a HASH or LIST, in ascending order. */
static dp_counts_entry *
sorted_entries(const dp_grid_counts *state)
{
	dp_counts_entry *entries = palloc(sizeof(dp_counts_entry) *
									  Max(state->used, 1));
	uint32		n = 0;
	uint32		i;

	for (i = 0; i < places(state); i++)
		if (state->entries[i].rows != 0)
			entries[n++] = state->entries[i];
	qsort(entries, n, sizeof(dp_counts_entry), grid_counts_compare_entries);
	return entries;
}

/* dp_exact_grid_rank: see dp_exact.h; NULL for a group without rows. */
void
dp_exact_grid_rank(const dp_grid_counts *state, int64 low,
				   dp_ranked_rows *out)
{
	dp_counts_entry *entries;
	int64	   *values;
	uint32	   *counts;
	uint32		i;

	memset(out, 0, sizeof(*out));
	if (state == NULL)
		return;
	if (state->wide != NULL || state->dense != NULL)
	{
		out->counts = state->wide;
		out->counts32 = state->dense;
		out->n = state->cells;
		return;
	}
	out->n = state->used;
	values = palloc(sizeof(int64) * (Size) Max(out->n, 1));
	counts = palloc(sizeof(uint32) * (Size) Max(out->n, 1));
	entries = sorted_entries(state);
	for (i = 0; i < out->n; i++)
	{
		values[i] = low + entries[i].cell;
		counts[i] = entries[i].rows;
	}
	pfree(entries);
	out->values = (const int64_t *) values;
	out->counts32 = counts;
}

/* ----------------
 *		dp_pg.grid_counts(x, spec) as PostgreSQL calls it: one transition for
 *		each type, and the steps of parallel plans.
 *
 * A row counts at clamp(floor(x / granule + 1/2)).
 * ----------------
 */

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	dp_base_check_call_site(fcinfo, !PG_ARGISNULL(2), "dp_pg.grid_counts",
							"Use dp_quantile, dp_median, dp_min or "
							"dp_max.");
}

static pg_noinline dp_grid_counts *
first_state(FunctionCallInfo fcinfo, const dp_sum_spec *spec)
{
	MemoryContext context;

	dp_base_require_aggregate(fcinfo, &context);
	return grid_new(context, (uint32) (spec->high - spec->low + 1));
}

static inline Datum
count_row(FunctionCallInfo fcinfo, const dp_sum_spec *spec, int64 granules)
{
	uint32		cell = (uint32) (granules - spec->low);
	dp_grid_counts *state;

	if (unlikely(PG_ARGISNULL(0)))
		state = first_state(fcinfo, spec);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	if (likely(state->form == DP_COUNTS_DENSE && cell < state->cells &&
			   state->dense[cell] != PG_UINT32_MAX))
		state->dense[cell]++;
	else
		grid_add_rows(state, cell, 1);
	PG_RETURN_POINTER(state);
}

static inline Datum
skip_row(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return PG_GETARG_DATUM(0);
}

/*
 * dp_counts_add_*: transition functions (state, x, spec) -> state, in place.
 * Infinite dates and timestamps are the smallest and largest integers, and so
 * are clamped.
 */
DP_NUMBER_TRANSITIONS(dp_counts_add)
DP_INTEGER_TRANSITION(dp_counts_add_date, PG_GETARG_DATEADT)
DP_INTEGER_TRANSITION(dp_counts_add_timestamp, PG_GETARG_TIMESTAMP)

PG_FUNCTION_INFO_V1(dp_counts_combine);
PG_FUNCTION_INFO_V1(dp_counts_save);
PG_FUNCTION_INFO_V1(dp_counts_load);

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

	dp_base_require_aggregate(fcinfo, &context);
	if (PG_ARGISNULL(1))
		return skip_row(fcinfo);
	other = (dp_grid_counts *) PG_GETARG_POINTER(1);
	if (PG_ARGISNULL(0))
		state = grid_new(context, other->cells);
	else
		state = (dp_grid_counts *) PG_GETARG_POINTER(0);
	grid_add_all(state, other);
	PG_RETURN_POINTER(state);
}

/* dp_counts_save: a state as bytea, for another process or the release. */
Datum
dp_counts_save(PG_FUNCTION_ARGS)
{
	PG_RETURN_BYTEA_P(grid_save_state((dp_grid_counts *)
									  PG_GETARG_POINTER(0)));
}

/* dp_counts_load: the inverse of dp_counts_save. */
Datum
dp_counts_load(PG_FUNCTION_ARGS)
{
	dp_base_require_aggregate(fcinfo, NULL);
	PG_RETURN_POINTER(grid_load_state(PG_GETARG_DATUM(0)));
}

/*
 * dp_exact_grid_inner: the single aggregate dp_pg.grid_counts(argument, grid).
 */
List *
dp_exact_grid_inner(const Aggref *asked, Oid type, const dp_grid *grid)
{
	return dp_exact_exact(asked, "grid_counts", type, dp_exact_sum_spec(grid),
						  BYTEAOID);
}
