/*
 * count_tables.c
 *	  dp_pg.count_tables: rows in every cell of several tables, in one pass.
 *
 * Each row gets a place on every axis, once, and adds one to a cell of each
 * table; without a place on an axis it is not counted in the tables over that
 * axis, or, with `whole`, in none.  The state is the flat array of counts of
 * dp_domains.h, its size follows from the spec, and no value can raise an
 * error.
 *
 * The spec is one flat constant that only the release makes: the axes' flat
 * forms, and for each table its axes with their strides in the number of a
 * cell.  A table of listed cells has a hash table from numbers to counts, by
 * open addressing; 0 is empty.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "dp_exact.h"
#include "dp_to_grid.h"
#include "exact_internal.h"

/* ----------------
 *		Weights of rows: linear queries with values from 0 to 1.
 *
 * A weight f(x) of a row x is the whole number clamp(round(G f(x))) of
 * granules, G = DP_WEIGHT_ONE, and 0 where f is NULL or NaN.  The granules of
 * all rows are added exactly; divided by G and rounded they are the query's
 * number of rows, which a row changes by at most 1, like that of a predicate
 * (doc/theory.md T123).  Rows and the cells of a universe use the same
 * function.
 * ----------------
 */

struct dp_weight_scale
{
	dp_sum_spec spec;
	dp_numeric_bounds bounds;
};

/*
 * dp_exact_weight_scale
 *	  The conversion of values to granules, in the current context; clamped to
 *	  `beyond` granules below 0 and above 1, so that with 1 values outside are
 *	  recognized.
 */
dp_weight_scale *
dp_exact_weight_scale(int64 beyond)
{
	const dp_grid grid = {-DP_WEIGHT_BITS, -beyond, DP_WEIGHT_ONE + beyond};
	dp_weight_scale *scale = palloc(sizeof(dp_weight_scale));

	dp_exact_fill_spec(&grid, &scale->spec);
	scale->bounds = numeric_bounds(&scale->spec);
	return scale;
}

/* dp_exact_weigh: the granules of a value of a numeric base type; 0A000. */
int64
dp_exact_weigh(const dp_weight_scale *scale, Datum value, Oid type)
{
	int64		granules;

	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return dp_find_granules(&scale->spec, &scale->bounds, type, value,
									&granules) ? granules : 0;
	}
	/* a direct call of dp_pg.count_conditions may pass anything */
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a weight cannot be of type %s", format_type_be(type)),
			 errhint("Use dp_argmax.")));
	return 0;
}

typedef struct flat_step
{
	int64		axis;
	uint64		step;
} flat_step;

typedef struct flat_slot
{
	uint64		number;			/* of a cell, + 1 */
	int64		count;			/* index */
} flat_slot;

typedef struct flat_table
{
	int64		naxes;
	int64		first;			/* count of cell 0 */
	int64		slots;			/* offset in the spec; 0: all cells */
	uint64		mask;			/* number of slots - 1 */
	flat_step	steps[FLEXIBLE_ARRAY_MEMBER];
} flat_table;

typedef struct flat_spec
{
	int32		vl_len_;
	int32		naxes;
	int64		ntables;
	int64		ncounts;
	int64		tables;			/* offset of the first table */
	bool		whole;			/* only rows with a place on every axis */
	bool		column;			/* one table with all cells of one axis */
	int64		axes[FLEXIBLE_ARRAY_MEMBER];	/* offsets */
} flat_spec;

/* ---- counting ---- */

PG_FUNCTION_INFO_V1(dp_tables_add);

static pg_noinline void
check_call_site(FunctionCallInfo fcinfo)
{
	const flat_spec *spec;

	dp_base_check_call_site(fcinfo, PG_NARGS() >= 2 && !PG_ARGISNULL(1) &&
							!get_fn_expr_variadic(fcinfo->flinfo),
							"dp_pg.count_tables",
							"Use dp_argmax, dp_sparse_vector and the "
							"like.");
	spec = (const flat_spec *) PG_GETARG_POINTER(1);
	if (PG_NARGS() != spec->naxes + 2)
		elog(ERROR, "dp_pg.count_tables got %d columns", PG_NARGS() - 2);
}

static inline void
add_listed(const flat_spec *spec, const flat_table *table, uint64 number,
		   int64 *counts)
{
	const flat_slot *slots =
	(const flat_slot *) ((const char *) spec + table->slots);
	uint64		slot = dp_domains_scatter(number) & table->mask;

	for (; slots[slot].number != 0; slot = (slot + 1) & table->mask)
		if (slots[slot].number == number + 1)
		{
			counts[slots[slot].count]++;
			return;
		}
}

/* Get the number of a row's cell; false if it has none. */
static inline bool
cell_number(const flat_table *table, const int64 *places, uint64 *number)
{
	int			i;

	*number = 0;
	for (i = 0; i < table->naxes; i++)
	{
		int64		place = places[table->steps[i].axis];

		if (unlikely(place < 0))
			return false;
		*number += (uint64) place * table->steps[i].step;
	}
	return true;
}

static inline void
count_tables_add_row(const flat_spec *spec, const int64 *places, int64 *counts)
{
	const char *next = (const char *) spec + spec->tables;
	int64		i;

	for (i = 0; i < spec->ntables; i++)
	{
		const flat_table *table = (const flat_table *) next;
		uint64		number;

		next += offsetof(flat_table, steps) +
			sizeof(flat_step) * table->naxes;
		if (!cell_number(table, places, &number))
			continue;
		if (table->slots == 0)
			counts[table->first + (int64) number]++;
		else
			add_listed(spec, table, number, counts);
	}
}

static pg_attribute_always_inline int64
place_on(FunctionCallInfo fcinfo, const flat_spec *spec, int axis)
{
	const dp_axis_finder *finder =
	(const dp_axis_finder *) ((const char *) spec + spec->axes[axis]);

	return dp_domains_axis_find_flat(finder, PG_GETARG_DATUM(axis + 2),
									 PG_ARGISNULL(axis + 2));
}

static inline Datum
add_place(dp_tally_state *state, int64 place)
{
	if (place >= 0)
		state->counts[place]++;
	PG_RETURN_POINTER(state);
}

/*
 * Separate from the counting of one column, which needs no array on the stack.
 */
static pg_noinline Datum
add_places(FunctionCallInfo fcinfo, const flat_spec *spec,
		   dp_tally_state *state)
{
	int64		places[FUNC_MAX_ARGS];
	bool		outside = false;
	int			i;

	for (i = 0; i < spec->naxes; i++)
	{
		places[i] = place_on(fcinfo, spec, i);
		outside |= places[i] < 0;
	}
	if (!(spec->whole && outside))
		count_tables_add_row(spec, places, state->counts);
	PG_RETURN_POINTER(state);
}

/*
 * dp_tables_add
 *	  Transition function (state, spec, columns) -> state, in place.
 */
Datum
dp_tables_add(PG_FUNCTION_ARGS)
{
	const flat_spec *spec;
	dp_tally_state *state;

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
		check_call_site(fcinfo);
	spec = (const flat_spec *) PG_GETARG_POINTER(1);
	state = dp_tally_state_of(fcinfo, spec->ncounts);
	if (spec->column)
		return add_place(state, place_on(fcinfo, spec, 0));
	return add_places(fcinfo, spec, state);
}

/* ---- single rows ---- */

static const flat_spec *
spec_of(const Const *spec)
{
	return (const flat_spec *) DatumGetPointer(spec->constvalue);
}

/* dp_exact_tables_axes: the number of columns of a row. */
int
dp_exact_tables_axes(const Const *spec)
{
	return spec_of(spec)->naxes;
}

/* Is a row with these places counted in a table? */
static bool
is_counted(const flat_spec *spec, const int64 *places)
{
	const char *next = (const char *) spec + spec->tables;
	int64		i;

	for (i = 0; i < spec->ntables; i++)
	{
		const flat_table *table = (const flat_table *) next;
		uint64		number;

		if (cell_number(table, places, &number))
			return true;
		next += offsetof(flat_table, steps) +
			sizeof(flat_step) * table->naxes;
	}
	return false;
}

/*
 * dp_exact_tables_find
 *	  Get the place of a row on each axis, -1 if it has none; false if it is
 *	  not counted in any table.  Axes have fewer than 2^31 places, and all
 *	  cells of the tables are counted.
 */
bool
dp_exact_tables_find(const Const *of, const Datum *values, const bool *nulls,
					 int32 *places)
{
	const flat_spec *spec = spec_of(of);
	int64		wide[FUNC_MAX_ARGS];
	int			i;

	for (i = 0; i < spec->naxes; i++)
	{
		const dp_axis_finder *finder =
		(const dp_axis_finder *) ((const char *) spec + spec->axes[i]);

		wide[i] = dp_domains_axis_find_flat(finder, values[i], nulls[i]);
		places[i] = (int32) wide[i];
		if (spec->whole && wide[i] < 0)
			return false;
	}
	return is_counted(spec, wide);
}

/* dp_exact_tables_add: count a row by its places, as dp_tables_add does. */
void
dp_exact_tables_add(const Const *of, const int32 *places, int64 *counts)
{
	const flat_spec *spec = spec_of(of);
	int64		wide[FUNC_MAX_ARGS];
	int			i;

	for (i = 0; i < spec->naxes; i++)
		wide[i] = places[i];
	count_tables_add_row(spec, wide, counts);
}

/* ---- the spec ---- */

static uint64
slots_of(const dp_counted_table *table)
{
	uint64		slots = 16;

	while (slots < 2 * (uint64) table->nlisted)
		slots *= 2;
	return table->listed == NULL ? 0 : slots;
}

/* Parts of a spec: header, tables, slots, axes. */
static Size
header_size(int naxes)
{
	return MAXALIGN(offsetof(flat_spec, axes) + sizeof(int64) * naxes);
}

static Size
table_size(const dp_counted_table *table)
{
	return offsetof(flat_table, steps) + sizeof(flat_step) * table->naxes;
}

static int64
count_tables_fill_slots(flat_slot *slots, const dp_counted_table *table,
						int64 first)
{
	uint64		mask = slots_of(table) - 1;
	int64		i;

	for (i = 0; i < table->nlisted; i++)
	{
		uint64		slot = dp_domains_scatter(table->listed[i]) & mask;

		while (slots[slot].number != 0)
			slot = (slot + 1) & mask;
		slots[slot].number = table->listed[i] + 1;
		slots[slot].count = first + i;
	}
	return table->nlisted;
}

/* Set the strides; returns the number of all cells of the table. */
static int64
fill_steps(flat_table *flat, const dp_counted_table *table,
		   dp_axis *const *axes)
{
	uint64		step = 1;
	int			i;

	flat->naxes = table->naxes;
	for (i = table->naxes - 1; i >= 0; i--)
	{
		flat->steps[i].axis = table->axes[i];
		flat->steps[i].step = step;
		step *= (uint64) axes[table->axes[i]]->size;
	}
	return (int64) step;
}

static void
fill_tables(flat_spec *spec, dp_axis *const *axes, int ntables,
			const dp_counted_table *tables, Size slots)
{
	char	   *next = (char *) spec + spec->tables;
	int			i;

	for (i = 0; i < ntables; i++)
	{
		flat_table *flat = (flat_table *) next;
		int64		cells = fill_steps(flat, &tables[i], axes);

		flat->first = spec->ncounts;
		if (tables[i].listed != NULL)
		{
			flat->slots = (int64) slots;
			flat->mask = slots_of(&tables[i]) - 1;
			cells = count_tables_fill_slots((flat_slot *) ((char *) spec +
														   slots),
											&tables[i], flat->first);
			slots += sizeof(flat_slot) * slots_of(&tables[i]);
		}
		spec->ncounts += cells;
		next += table_size(&tables[i]);
	}
}

/*
 * dp_exact_tables_spec
 *	  Tables over at most DP_COUNTED_AXES_MAX axes, as a constant of the inner
 *	  query; counts come one table after the other.  Numbers of cells must fit
 *	  into 63 bits, and the caller ensures that the counts fit into memory.
 *	  `whole`: a row without a place on some axis is in no table.
 */
Const *
dp_exact_tables_spec(int naxes, dp_axis *const *axes, int ntables,
					 const dp_counted_table *tables, bool whole)
{
	Size		slots = header_size(naxes);
	Size		size;
	int64	   *offsets;
	flat_spec  *spec;
	int			i;

	for (i = 0; i < ntables; i++)
		slots += table_size(&tables[i]);
	size = slots;
	for (i = 0; i < ntables; i++)
		size += sizeof(flat_slot) * slots_of(&tables[i]);
	offsets = palloc(sizeof(int64) * Max(naxes, 1));
	for (i = 0; i < naxes; i++)
	{
		offsets[i] = (int64) size;
		size += MAXALIGN(axes[i]->values->size);
	}
	spec = palloc0(size);
	spec->naxes = naxes;
	spec->ntables = ntables;
	spec->whole = whole;
	spec->column = naxes == 1 && ntables == 1 && tables->listed == NULL;
	spec->tables = (int64) header_size(naxes);
	fill_tables(spec, axes, ntables, tables, slots);
	for (i = 0; i < naxes; i++)
	{
		spec->axes[i] = offsets[i];
		memcpy((char *) spec + offsets[i], axes[i]->values->finder,
			   axes[i]->values->size);
	}
	return dp_domains_tally_spec_const(spec, size);
}

/*
 * dp_exact_column_spec
 *	  The spec for one column: rows at each of places->known places; `lookup`
 *	  finds them (dp_domains_tally_*_spec).
 */
Const *
dp_exact_column_spec(const dp_places *places, const Const *lookup)
{
	const int	first = 0;
	const dp_counted_table table = {1, &first, 0, NULL};
	struct dp_axis_values values = {0};
	dp_axis		axis = {0};
	dp_axis    *axes = &axis;

	values.finder = dp_domains_axis_make_finder(places, lookup, &values.size);
	axis.size = places->known;
	axis.values = &values;
	return dp_exact_tables_spec(1, &axes, 1, &table, false);
}

/*
 * dp_exact_tables_native
 *	  dp_pg.count_tables(spec, columns), one column for each axis; its result
 *	  is a dp_tally_state, NULL without rows.
 */
Aggref *
dp_exact_tables_native(const Aggref *asked, const Const *spec, List *columns)
{
	Oid			types[2];
	Oid			function;

	types[0] = spec->consttype;
	types[1] = ANYOID;
	function = dp_catalog_function("count_tables", 2, types);
	return dp_exact_native(asked, function, dp_catalog_type("tally_state"),
						   lcons((void *) spec, list_copy(columns)));
}
