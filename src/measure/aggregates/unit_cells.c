/*
 * unit_cells.c
 *	  Blocks whose units have many rows: what their inner query returns, and
 *	  what the rows of each unit add to the cells of groups.
 *
 * The inner query does not aggregate.  It returns, for each row that passes
 * WHERE, the place of its group, its unit, and for each measurement a number,
 * or NULL if the row does not count in it. src/measure/units takes these rows,
 * and what it returns for a unit is bounded whatever rows the unit has; the
 * sensitivities of measurements refer to that (doc/theory.md T78, T79).
 *
 * If the block is one of GROUPING SETS, what identifies a row's crossing, the
 * combination of all keys of all sets, follows the unit: rows are bounded by
 * that, and a row without a group takes part in it (T170).
 *
 * Values of undeclared keys follow, and become the name of the row's
 * group; so do the places of large keys.  Released groups of such keys are
 * processed one after another, each with the same cells (T105).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* Rows are rounded to 2^-FINE_BITS of what one of them may add. */
#define FINE_BITS 20

enum
{
	COLUMN_PLACE,
	COLUMN_UNIT,
	COLUMN_FIRST				/* crossing, undeclared keys, measures */
};

struct dp_measure_units
{
	const dp_release_spec *spec;
	dp_bounder *bounder;
	dp_distinct_groups **distinct;	/* by measurement; most are NULL */
	int		   *offsets;		/* of each measurement's cells in a group */
	bool		lists;			/* some measurements use several values of a
								 * row: lists of conditions */
	Datum		values[DP_UNITS_COLUMNS];	/* if so, those of each
											 * measurement */
	bool		nulls[DP_UNITS_COLUMNS];
	dp_cell    *cells;
	int			width;
	MemoryContext keep;

	/* one of several sets */
	int			ncrossing;
	dp_key_encoding *crossed;	/* of each of these columns */
	char	   *crossing;		/* room for all */

	/* undeclared keys */
	dp_key_names *names;		/* NULL if there are none */
	int			ntold;
	char	   *name;			/* room for one name */
	MemoryContext context;		/* of this struct and all below it */
	MemoryContext group;		/* of the group being released */
	const char *released_name;	/* its name */
	dp_aggregates_released told;
	void	   *released_context;
};

/*
 * dp_aggregates_set_bound
 *	  Set what the rows of a unit become in each group; called by prepare, when
 *	  the grid is known.
 */
void
dp_aggregates_set_bound(dp_measure *measure, dp_units_kind kind)
{
	dp_units_column *bound = &measure->bound;

	bound->kind = kind;
	bound->low = measure->grid.low;
	bound->high = measure->grid.high;
	bound->fine = 0;
	if (kind == DP_UNITS_DISTINCT)
	{
		bound->way = dp_domains_read_way(measure->argument_type);
		bound->varlena = get_typlen(measure->argument_type) == -1;
	}
}

/* Bounds stay below this power of two. */
#define FAR_BITS 62

/*
 * dp_aggregates_refine
 *	  The same for a column whose rows have weights, which are not whole
 *	  numbers: parts are rounded to granules so fine that `most` of the present
 *	  ones, or of their squares, are at least 2^FINE_BITS, or as fine as bounds
 *	  far from zero allow.  Rows stay on the grid as it was, and so does a
 *	  released number (dp_aggregates_from_granules).
 */
void
dp_aggregates_refine(dp_measure *measure, dp_units_kind kind, dp_uint128 most)
{
	const dp_contribution *c = &measure->contribution;
	dp_grid    *grid = &measure->grid;
	dp_int128	far = Max((dp_int128) grid->high, -(dp_int128) grid->low);
	int			fine = 0;

	dp_aggregates_set_bound(measure, kind);
	if (!c->many || c->once)
		return;
	most = Max(most, 1);
	while (most >> Max(FINE_BITS - fine * measure->power, 0) == 0 &&
		   far >> (FAR_BITS - 1 - fine) == 0)
		fine++;
	measure->bound.fine = fine;
	grid->low *= INT64CONST(1) << fine;
	grid->high *= INT64CONST(1) << fine;
	grid->exponent -= fine;
}

/* The grid of rows, whose bounds dp_aggregates_set_bound has kept. */
static dp_grid
row_grid(const dp_measure *measure)
{
	dp_grid		grid = measure->grid;

	grid.low = measure->bound.low;
	grid.high = measure->bound.high;
	grid.exponent += measure->bound.fine;
	return grid;
}

/* ---- the inner query ---- */

/* dp_aggregates_row_case: CASE WHEN condition THEN result END. */
Expr *
dp_aggregates_row_case(Expr *condition, Expr *result)
{
	CaseExpr   *choice = makeNode(CaseExpr);
	CaseWhen   *when = makeNode(CaseWhen);
	Oid			type = exprType((Node *) result);

	when->expr = condition;
	when->result = result;
	when->location = -1;
	choice->casetype = type;
	choice->casecollid = exprCollation((Node *) result);
	choice->args = list_make1(when);
	choice->defresult = (Expr *)
		makeNullConst(type, exprTypmod((Node *) result),
					  choice->casecollid);
	choice->location = -1;
	return (Expr *) choice;
}

/*
 * dp_aggregates_row_granules: the number of granules of a row for
 * dp_aggregates_bounded_sum.
 */
Expr *
dp_aggregates_row_granules(const dp_measure *measure, Expr *argument)
{
	dp_grid		grid = row_grid(measure);

	return dp_exact_row_granules(argument, measure->argument_type, &grid);
}

/*
 * The aggregate's argument without other constants: that of count_tables comes
 * second.
 */
static Expr *
argument_of(const dp_measure *measure, const Aggref *native)
{
	Oid			spec = dp_catalog_type("tally_spec");
	ListCell   *lc;

	foreach(lc, native->args)
	{
		Expr	   *argument = lfirst_node(TargetEntry, lc)->expr;

		if (!IsA(argument, Const) ||
			((const Const *) argument)->consttype != spec)
			return argument;
	}
	return NULL;
}

/* The number of a row in a measurement: NULL if the row does not count. */
static Expr *
row_of(const dp_measure *measure, const Aggref *native)
{
	Expr	   *number = dp_catalog_row_arguments(measure->ops->kind) == 2 ?
	dp_exact_row_pair(native) :
	measure->ops->row(measure, argument_of(measure, native));

	if (native->aggfilter == NULL)
		return number;
	return dp_aggregates_row_case(native->aggfilter, number);
}

/* Add a column to the rows. */
static List *
bounded_add_target(List *targets, Expr *expression)
{
	return lappend(targets, makeTargetEntry(expression,
											list_length(targets) + 1,
											pstrdup("row"), false));
}

/*
 * Add what a row has in a measurement: one number, or each condition of a
 * list.
 */
static List *
bounded_add_row(List *targets, const dp_measure *measure, const Aggref *exact)
{
	Expr	   *filter = exact->aggfilter;
	TargetEntry *argument;
	ListCell   *lc;

	if (measure->ops->kind != DP_AGG_CONDITIONS)
		return bounded_add_target(targets, row_of(measure, exact));
	argument = linitial(measure->aggregate->args);
	foreach(lc, castNode(ArrayExpr, argument->expr)->elements)
		targets = bounded_add_target(targets, filter == NULL ? lfirst(lc) :
									 dp_aggregates_row_case(filter,
															lfirst(lc)));
	return targets;
}

/*
 * dp_aggregates_list_rows
 *	  Make a verified inner query, whose targets are the keys, or the places of
 *	  large ones, the unit and exact aggregates, return rows of units instead.
 */
void
dp_aggregates_list_rows(const dp_release_spec *spec, Query *inner, Expr *place,
						List *crossing)
{
	TargetEntry *unit = list_nth(inner->targetList, spec->nkeys);
	List	   *targets = list_make2(makeTargetEntry(place, 1,
													 pstrdup("place"), false),
									 makeTargetEntry(unit->expr, 2,
													 pstrdup("unit"), false));
	ListCell   *lc;
	int			i;

	foreach(lc, crossing)
		targets = bounded_add_target(targets, lfirst(lc));
	for (i = 0; i < spec->nkeys; i++)
	{
		TargetEntry *key = list_nth(inner->targetList, i);

		if (dp_aggregates_is_by_threshold(spec, i))
			targets = lappend(targets,
							  makeTargetEntry(key->expr,
											  list_length(targets) + 1,
											  pstrdup("key"), false));
	}
	for (i = 0; i < spec->nmeasures; i++)
	{
		TargetEntry *exact = list_nth(inner->targetList, spec->nkeys + 1 +
									  spec->measures[i].first_exact);

		targets = bounded_add_row(targets, &spec->measures[i],
								  castNode(Aggref, exact->expr));
	}
	inner->targetList = targets;
	inner->groupClause = NIL;
	inner->hasAggs = false;
}

/* ---- rows and cells ---- */

static dp_units_spec
make_bound(const dp_release_spec *spec)
{
	Oid			type = getBaseType(spec->block->unit_type);
	dp_units_spec bound = {0};
	int			i;

	bound.kappa = spec->max_keys;
	bound.rows = spec->max_rows;
	bound.total = spec->max_total;
	bound.groups = spec->groups;
	bound.unit = dp_domains_read_way(type);
	bound.varlena = get_typlen(type) == -1;
	if (spec->undeclared)
	{
		bound.law = &spec->decision.law;
		bound.single = spec->block->single;
		bound.name = dp_aggregates_names_most(spec);
	}
	bound.crossed = spec->block->crossing != NIL;
	bound.seed = spec->block->seed;
	bound.ncolumns = spec->nmeasures;
	bound.columns = palloc0(sizeof(dp_units_column) * Max(spec->nmeasures, 1));
	for (i = 0; i < spec->nmeasures; i++)
		bound.columns[i] = spec->measures[i].bound;
	return bound;
}

/* The one byte of values that are too long for names: no value begins so. */
#define CROSSED_LONG 2

static void
make_crossing(dp_measure_units *units)
{
	const dp_block *block = units->spec->block;
	int			n = list_length(block->crossing);
	ListCell   *lc;

	units->crossed = palloc(sizeof(dp_key_encoding) * Max(n, 1));
	units->crossing = palloc(DP_UNITS_NAME_BYTES * Max(n, 1));
	foreach(lc, block->crossing)
	{
		const dp_key *key = dp_rowsets_key(block, lfirst_int(lc));

		units->crossed[units->ncrossing++] =
			key->kind == DP_KEY_UNDECLARED ?
			dp_domains_key_encoding(key->type, key->typmod) :
			dp_domains_key_encoding(INT8OID, -1);
	}
}

/*
 * dp_aggregates_units_make
 *	  Create it without rows, in the current context.
 */
dp_measure_units *
dp_aggregates_units_make(const dp_release_spec *spec, int helpers)
{
	dp_measure_units *units = palloc0(sizeof(dp_measure_units));
	dp_units_spec bound = make_bound(spec);
	int			offset = 0;
	int			i;

	bound.helpers = helpers;
	units->spec = spec;
	make_crossing(units);
	if (spec->undeclared)
	{
		units->context = CurrentMemoryContext;
		units->names = dp_aggregates_names_create(spec);
		units->ntold = dp_aggregates_names_number(units->names);
		units->name = palloc(DP_UNITS_NAME_BYTES);
		units->group = AllocSetContextCreate(CurrentMemoryContext,
											 "dp_pg told group",
											 ALLOCSET_DEFAULT_SIZES);
	}
	units->offsets = palloc0(sizeof(int) * Max(spec->nmeasures, 1));
	units->distinct = palloc0(sizeof(dp_distinct_groups *) *
							  Max(spec->nmeasures, 1));
	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];

		if (measure->bound.kind == DP_UNITS_DISTINCT && !spec->undeclared &&
			measure->plan == NULL)	/* of values, not of places */
			units->distinct[i] =
				dp_exact_distinct_create(spec->groups, measure->collections);
		if (measure->bound.kind == DP_UNITS_TOTALS)
		{
			units->lists = true;
			units->values[i] = PointerGetDatum(
				palloc(sizeof(uint64) * measure->bound.words));
		}
		units->offsets[i] = offset;
		offset += measure->ncells;
	}
	units->bounder = dp_units_create(&bound);
	return units;
}

/*
 * Set the name of a row's group; false if it is too long, so that the row is
 * in none.
 */
static bool
set_name(dp_measure_units *units, const Datum *values, const bool *nulls)
{
	Size		length;

	if (units->names == NULL)
		return true;
	length = dp_aggregates_names_write(units->names, values, nulls,
									   units->name);
	dp_units_set_name(units->bounder, units->name, length);
	return length > 0;
}

/* Set what a row's crossing is: a value that is in no place is one, too. */
static void
set_crossing(dp_measure_units *units, const Datum *values, const bool *nulls)
{
	char	   *to = units->crossing;
	int			i;

	for (i = 0; i < units->ncrossing; i++)
	{
		Size		written = dp_domains_key_write(&units->crossed[i],
												   values[i], nulls[i], to,
												   DP_UNITS_NAME_BYTES);

		if (written == 0)
			*to = CROSSED_LONG;
		to += Max(written, 1);
	}
	dp_units_set_crossing(units->bounder, units->crossing,
						  (Size) (to - units->crossing));
}

/*
 * dp_aggregates_row_bytes
 *	  Memory for a row of a unit, without the bytes of the unit's name.
 */
Size
dp_aggregates_row_bytes(const dp_release_spec *spec)
{
	dp_units_spec bound = make_bound(spec);

	return dp_units_record_bytes(&bound);
}

/*
 * dp_aggregates_units_memory
 *	  Most bytes for the rows of units, whatever they are.
 */
Size
dp_aggregates_units_memory(const dp_release_spec *spec)
{
	Size		bytes = spec->undeclared ? DP_UNITS_VOTES_MEMORY : 0;
	dp_units_spec bound;

	if (spec->many)
	{
		bound = make_bound(spec);
		bytes += DP_UNITS_MEMORY + dp_units_given_bytes(&bound);
	}
	return bytes;
}

/*
 * Turn the columns of a row, several for a list of conditions, into what
 * measurements take; a row for which no condition of a list holds does not
 * count in it.
 */
static void
gather_lists(dp_measure_units *units, const Datum *values, const bool *nulls)
{
	int			i;

	for (i = 0; i < units->spec->nmeasures; i++)
	{
		const dp_measure *measure = &units->spec->measures[i];

		if (measure->bound.kind == DP_UNITS_TOTALS)
		{
			dp_exact_words_pack(measure->plan, values, nulls,
								(uint64 *) DatumGetPointer(units->values[i]));
			values += measure->ncells;
			nulls += measure->ncells;
			continue;
		}
		units->values[i] = *values++;
		units->nulls[i] = *nulls++;
	}
}

/*
 * dp_aggregates_units_add
 *	  Add a row of dp_aggregates_list_rows.  Without a unit it does not count,
 *	  nor without a group, unless it is bounded by its crossing.
 */
void
dp_aggregates_units_add(dp_measure_units *units, TupleTableSlot *slot)
{
	const Datum *values = slot->tts_values + COLUMN_FIRST;
	const bool *nulls = slot->tts_isnull + COLUMN_FIRST;
	bool		grouped = !slot->tts_isnull[COLUMN_PLACE];

	if (slot->tts_isnull[COLUMN_UNIT])
		return;
	if (units->ncrossing > 0)
		set_crossing(units, values, nulls);
	values += units->ncrossing;
	nulls += units->ncrossing;
	grouped = set_name(units, values, nulls) && grouped;
	if (!grouped && units->ncrossing == 0)
		return;
	values += units->ntold;
	nulls += units->ntold;
	if (units->lists)
	{
		gather_lists(units, values, nulls);
		values = units->values;
		nulls = units->nulls;
	}
	dp_units_add(units->bounder, !grouped ? -1 :
				 DatumGetInt32(slot->tts_values[COLUMN_PLACE]),
				 slot->tts_values[COLUMN_UNIT], values, nulls);
}

/* dp_units_sink: adds a part */
static void
bounded_add_part(void *context, int64 group, int column,
				 const dp_units_part *part)
{
	dp_measure_units *units = context;
	const dp_measure *measure = &units->spec->measures[column];

	if (units->distinct[column] != NULL)
		dp_exact_distinct_put(units->distinct[column], group,
							  part->digest[0], part->digest[1]);
	else
		measure->ops->add(measure, part, units->cells + group * units->width +
						  units->offsets[column], units->keep);
}

static void
bounded_add_distinct(dp_measure_units *units, int measure)
{
	dp_distinct_groups *distinct = units->distinct[measure];
	dp_cell    *cell = units->cells + units->offsets[measure];
	int64		group;

	dp_exact_distinct_finish(distinct);
	for (group = 0; group < units->spec->held; group++)
	{
		cell->integer += dp_exact_distinct_of(distinct, group);
		cell += units->width;
	}
}

/*
 * dp_aggregates_units_end_part
 *	  All rows of the units so far have been added: add their parts to the
 *	  cells, `width` of them for each group.  States are made in `keep`.
 */
void
dp_aggregates_units_end_part(dp_measure_units *units, dp_cell *cells,
							 int width, MemoryContext keep)
{
	units->cells = cells;
	units->width = width;
	units->keep = keep;
	dp_units_finish(units->bounder, bounded_add_part, units);
}

/* dp_aggregates_units_finish: end the last part, and complete the cells. */
void
dp_aggregates_units_finish(dp_measure_units *units, dp_cell *cells, int width,
						   MemoryContext keep)
{
	int			i;

	dp_aggregates_units_end_part(units, cells, width, keep);
	for (i = 0; i < units->spec->nmeasures; i++)
		if (units->distinct[i] != NULL)
			bounded_add_distinct(units, i);
}

/* ---- undeclared keys ---- */

/* dp_units_releaser: gets the number of released groups */
static void
count_released(void *context, int64 told)
{
	dp_measure_units *units = context;
	MemoryContext old = MemoryContextSwitchTo(units->context);

	dp_aggregates_adapt(units->spec, told);
	MemoryContextSwitchTo(old);
}

/* dp_units_releaser: begins a released group */
static void
begin_released(void *context, int64 group, const char *name, Size length)
{
	dp_measure_units *units = context;
	const dp_release_spec *spec = units->spec;
	MemoryContext old;
	int			i;

	MemoryContextReset(units->group);
	old = MemoryContextSwitchTo(units->group);
	units->released_name = name;
	memset(units->cells, 0, sizeof(dp_cell) * units->width);
	for (i = 0; i < spec->nmeasures; i++)
		if (spec->measures[i].bound.kind == DP_UNITS_DISTINCT)
			units->distinct[i] =
				dp_exact_distinct_create(1, spec->measures[i].collections);
	MemoryContextSwitchTo(old);
}

/* dp_units_sink: all parts belong to one group */
static void
add_released(void *context, int64 group, int column, const dp_units_part *part)
{
	bounded_add_part(context, 0, column, part);
}

/* dp_units_releaser: ends a released group */
static void
end_released(void *context, int64 group)
{
	dp_measure_units *units = context;
	int			i;

	for (i = 0; i < units->spec->nmeasures; i++)
		if (units->distinct[i] != NULL)
			bounded_add_distinct(units, i);
	units->told(units->released_context, group);
}

/*
 * dp_aggregates_units_release
 *	  For undeclared keys, when all rows have been added: for each released
 *	  group in turn, fill its cells and call `told` with its place among the
 *	  public values of the other keys.
 */
void
dp_aggregates_units_release(dp_measure_units *units, dp_cell *cells, int width,
							dp_aggregates_released told, void *context)
{
	static const dp_units_releaser teller = {count_released, begin_released,
	add_released, end_released};

	units->cells = cells;
	units->width = width;
	units->keep = units->group;
	units->told = told;
	units->released_context = context;
	dp_units_release(units->bounder, &teller, units);
}

/*
 * dp_aggregates_units_released_keys
 *	  The undeclared keys of the group being released, at their positions among
 *	  all keys.
 */
void
dp_aggregates_units_released_keys(const dp_measure_units *units, Datum *values,
								  bool *nulls)
{
	dp_aggregates_names_read(units->names, units->released_name, values,
							 nulls);
}

/*
 * dp_aggregates_add_value
 *	  Add a part that is one value, the place of a cell.
 */
void
dp_aggregates_add_value(const dp_measure *measure, const dp_units_part *part,
						dp_cell *cells, MemoryContext keep)
{
	cells[part->numbers[0]].integer++;
}
