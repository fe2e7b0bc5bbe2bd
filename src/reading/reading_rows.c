/*
 * reading_rows.c
 *	  Counts of a relation whose units have many rows: what the rows of each
 *	  unit add to them is bounded where they are read.
 *
 * The inner query gives, for each row, its unit and then the conditions, or
 * the columns that tables are over.  src/bound takes them, unit by unit and in
 * memory that does not grow with their number.  c rows of a unit for which a
 * predicate holds count as min(c, m), and weights add up to m at most: nothing
 * is drawn, and asking twice gives the same.  Tables must agree with each
 * other and with sums of their cells, so in them m rows of each unit count,
 * chosen at random from all of its rows that have a place in some table, and
 * the same rows in all tables (doc/theory.md T135, T136).
 *
 * Where rows are gathered by unit (T158), they come part by part, and a part
 * has all rows of its units.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "../bound/dp_bound.h"
#include "reading.h"

enum
{
	COLUMN_UNIT,
	COLUMN_FIRST				/* conditions, or columns */
};

struct dp_reading_rows
{
	dp_bound_column column;
	dp_bounder *bounder;
	const Const *spec;			/* of tables; else NULL and */
	List	   *conditions;
	dp_condition_words *packing;
	uint64	   *words;			/* room for a row's */
	int64	   *counts;			/* to be added to */
	MemoryContext scratch;		/* reset for every row */
};

/* ---- the connection's side ---- */

/*
 * dp_reading_rows_targets
 *	  The targets of an inner query that gives rows.
 */
List *
dp_reading_rows_targets(const struct dp_reading_plan *plan)
{
	const dp_block *block = plan->block;
	TargetEntry *unit = list_nth(block->inner->targetList,
								 dp_block_first_aggregate(block) - 1);
	List	   *targets = list_make1(makeTargetEntry(copyObject(unit->expr), 1,
													 pstrdup("unit"), false));
	ListCell   *lc;

	foreach(lc, plan->spec != NULL ? plan->columns : plan->conditions)
		targets = lappend(targets,
						  makeTargetEntry(copyObject(lfirst(lc)),
										  list_length(targets) + 1,
										  pstrdup("row"), false));
	return targets;
}

/* ---- where the rows are read ---- */

/* A row is its places on axes, two to a word. */
static void
begin_tables(dp_reading_rows *rows)
{
	rows->column.kind = DP_BOUND_ROWS;
	rows->column.words = (dp_count_tables_axes(rows->spec) + 1) / 2;
}

static void
begin_conditions(dp_reading_rows *rows)
{
	dp_bound_column *column = &rows->column;

	rows->packing = dp_count_words_plan(rows->conditions);
	column->kind = DP_BOUND_TOTALS;
	column->high = DP_WEIGHT_ONE;
	column->bits = dp_count_words_bits(rows->packing);
	column->weights = dp_count_words_weights(rows->packing);
	column->words = dp_bound_total_words(column->bits, column->weights);
}

/* How rows are bounded, without m. */
static dp_bound_spec
begin_rows(dp_reading_rows *rows, Node *of, Oid unit)
{
	Oid			type = getBaseType(unit);
	dp_bound_spec bound = {.kappa = 1, .groups = 1, .ncolumns = 1};

	if (IsA(of, Const))
		rows->spec = (const Const *) of;
	else
		rows->conditions = castNode(List, of);
	if (rows->spec != NULL)
		begin_tables(rows);
	else
		begin_conditions(rows);
	bound.unit = dp_places_read_way(type);
	bound.varlena = get_typlen(type) == -1;
	bound.columns = &rows->column;
	return bound;
}

/*
 * dp_reading_rows_bytes
 *	  Bytes of a row in memory, without those of its unit; arguments as of
 *	  dp_reading_rows_create.
 */
Size
dp_reading_rows_bytes(Node *of, Oid unit)
{
	dp_reading_rows rows = {.column.rows = 1};
	dp_bound_spec bound = begin_rows(&rows, of, unit);

	return dp_bound_record_bytes(&bound);
}

/*
 * dp_reading_rows_create
 *	  An empty collection, in the current context.  of: the spec of tables
 *	  (Const), or a list of conditions; unit: the type of the column that names
 *	  units; m: how many rows of each count.
 */
dp_reading_rows *
dp_reading_rows_create(Node *of, Oid unit, int64 m)
{
	dp_reading_rows *rows = palloc0(sizeof(dp_reading_rows));
	dp_bound_spec bound = begin_rows(rows, of, unit);

	rows->column.rows = m;
	rows->words = palloc0(sizeof(uint64) * Max(rows->column.words, 1));
	rows->bounder = dp_bound_create(&bound);
	rows->scratch = AllocSetContextCreate(CurrentMemoryContext,
										  "dp_pg row of a unit",
										  ALLOCSET_SMALL_SIZES);
	return rows;
}

/* Pack a row into rows->words; false: it is counted nowhere. */
static bool
pack(dp_reading_rows *rows, const Datum *values, const bool *nulls)
{
	if (rows->spec != NULL)
		return dp_count_tables_find(rows->spec, values, nulls,
									(int32 *) rows->words);
	dp_count_words_pack(rows->packing, values, nulls, rows->words);
	return true;
}

/* dp_reading_rows_add: a row of the inner query. */
void
dp_reading_rows_add(dp_reading_rows *rows, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(rows->scratch);
	Datum		words = PointerGetDatum(rows->words);
	bool		none = false;

	if (!slot->tts_isnull[COLUMN_UNIT] &&
		pack(rows, slot->tts_values + COLUMN_FIRST,
			 slot->tts_isnull + COLUMN_FIRST))
		dp_bound_add(rows->bounder, 0, slot->tts_values[COLUMN_UNIT], &words,
					 &none);
	MemoryContextSwitchTo(old);
	MemoryContextReset(rows->scratch);
}

/* dp_bound_sink */
static void
add_part(void *context, int64 group, int column, const dp_bound_part *part)
{
	dp_reading_rows *rows = context;
	int			i;

	if (rows->spec != NULL)
		dp_count_tables_add(rows->spec, (const int32 *) part->words,
							rows->counts);
	else
		for (i = 0; i < list_length(rows->conditions); i++)
			rows->counts[i] +=
				part->totals[dp_count_words_total(rows->packing, i)];
}

/*
 * dp_reading_rows_end_part
 *	  After all rows of the units that have any so far: add what they
 *	  contribute to the counts, of weights in granules.
 */
void
dp_reading_rows_end_part(dp_reading_rows *rows, int64 *counts)
{
	rows->counts = counts;
	dp_bound_finish(rows->bounder, add_part, rows);
}

/* dp_reading_rows_finish: end the last part, and give counts in whole rows. */
void
dp_reading_rows_finish(dp_reading_rows *rows, int64 *counts)
{
	ListCell   *lc;

	dp_reading_rows_end_part(rows, counts);
	foreach(lc, rows->conditions)
	{
		int64	   *count = &counts[foreach_current_index(lc)];

		if (dp_block_is_weight(lfirst(lc)))
			*count = dp_weight_rows(*count);
	}
}
