/*
 * reading.c
 *	  Exact counts for mechanisms whose charge is made elsewhere.
 *
 * A reading takes the way of a private query up to the noise.  Its conditions
 * or columns become the array of one dp_pg.conditions over the relation; that
 * query is rewritten (views, row security), verified and split as any other.
 * The inner query that counts is made of the block's verified expressions, and
 * runs as that of a release does (reading_use.c, run.c), without a charge.
 *
 * Where one unit has one row (the block's verification says so) it moves a
 * count by 1 at most, and the sum of its weight as a number of rows too.
 * Where it may have many the inner query gives rows, which are bounded where
 * they are read (reading_rows.c), so that it moves a count by m at most.
 * What the relation joins, and rows that are gathered by unit, are read as
 * those of a release are.
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "reading.h"

#define MOST_CELLS (INT64CONST(1) << 24)	/* of a reading's tables */

/* A release inside the relation would be charged whenever it is read. */
static void
forbid_releases(const dp_block *block)
{
	bool		any = dp_catalog_has_aggregate((Node *) block->subqueries);
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		any = any || dp_catalog_has_aggregate((Node *) source->query);
	}
	if (!any)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("relation \"%s\" is read through a subquery that releases "
					"values", get_rel_name(block->relid)),
			 errdetail("They would be released again whenever it is read."),
			 errhint("Write the values into the view.")));
}

/*
 * Refuse what would be refused when the reading runs, before anything is
 * charged for it.
 */
static void
check_rights(const dp_reading *reading)
{
	const dp_block *block = reading->plan->block;
	const dp_inner run = {.named = true};

	PushActiveSnapshot(GetTransactionSnapshot());
	dp_run_check_scans(block, &reading->standing);
	dp_run_check_joined(block, &run);
	PopActiveSnapshot();
}

static dp_reading *
make_reading(Oid relid, Query *query)
{
	dp_reading *reading = palloc0(sizeof(dp_reading));
	dp_block   *block;

	dp_bridge_require_preload();
	dp_run_check_preconditions();
	query = dp_reading_rewrite_conditions(query, NULL);
	block = dp_reading_verify_conditions(query);
	forbid_releases(block);
	reading->relid = relid;
	reading->base = block->relid;
	reading->dataset = block->dataset;
	reading->many = block->many && !block->single;
	reading->sensitivity = reading->many ?
		(uint64) Max(dp_run_unit_bounds(block).rows, 1) : 1;
	reading->fingerprint = block->fingerprint;
	reading->plan = palloc0(sizeof(struct dp_reading_plan));
	reading->plan->block = block;
	dp_ledger_require_budget(block->dataset, &reading->standing);
	check_rights(reading);
	return reading;
}

static dp_reading *
read_predicates(Oid relid, List *texts)
{
	dp_reading *reading = make_reading(relid,
									   dp_block_read_predicates(relid,
																texts));
	List	   *conditions;

	dp_reading_check_weights(reading->plan->block, texts);
	reading->ncounts = list_length(texts);
	reading->weighted = ((const dp_value *)
						 linitial(reading->plan->block->values))->base != NULL;
	conditions = dp_reading_block_conditions(reading->plan->block);
	if (reading->many)
		reading->plan->conditions = conditions;
	else
		reading->plan->counting = dp_count_conditions_plan(conditions);
	return reading;
}

/* The number of its predicates that are evaluated for every row. */
static int
evaluated(const dp_reading *reading)
{
	return reading->many ? list_length(reading->plan->conditions) :
		dp_count_conditions_evaluated(reading->plan->counting);
}

/*
 * dp_reading_of_predicates
 *	  See dp_reading.h.
 *
 * Errors: those of dp_block_read_predicates, with the predicate in their
 * context; 22023 a weight that is not from 0 to 1; 0A000 what is not allowed
 * on private rows; 42501 no budget; 54000 too many predicates to evaluate for
 * every row.
 */
dp_reading *
dp_reading_of_predicates(Oid relid, List *texts)
{
	dp_reading *reading = read_predicates(relid, texts);

	dp_measure_check_predicates(evaluated(reading), list_length(texts), true);
	if (reading->many)
		dp_count_words_check(list_length(reading->plan->conditions));
	return reading;
}

/* dp_reading_set_rows: see dp_reading.h. */
void
dp_reading_set_rows(dp_reading *reading, uint64 rows)
{
	if (reading->many)
		reading->sensitivity = rows;
}

/* dp_reading_rows_text: see dp_reading.h. */
const char *
dp_reading_rows_text(const dp_reading *reading)
{
	if (!reading->many)
		return "";
	return psprintf("  Of each privacy unit at most " UINT64_FORMAT " row%s "
					"count%s.", reading->sensitivity,
					reading->sensitivity == 1 ? "" : "s",
					reading->sensitivity == 1 ? "s" : "");
}

/*
 * dp_reading_evaluated
 *	  How many of the predicates would be evaluated for every row.
 *
 * Errors: those of dp_reading_of_predicates but 54000.
 */
int
dp_reading_evaluated(Oid relid, List *texts)
{
	return evaluated(read_predicates(relid, texts));
}

static int64
table_cells(const dp_reading_table *table, dp_axis *const *axes)
{
	int64		cells = 1;
	int			i;

	for (i = 0; i < table->naxes; i++)
		if (__builtin_mul_overflow(cells, axes[table->axes[i]]->size, &cells))
			return PG_INT64_MAX;
	return cells;
}

static int64
all_cells(dp_axis *const *axes, int ntables, const dp_reading_table *tables)
{
	int64		cells = 0;
	int			i;

	for (i = 0; i < ntables; i++)
		if (__builtin_add_overflow(cells, table_cells(&tables[i], axes),
								   &cells) || cells > MOST_CELLS)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("there are too many cells to count"),
					 errdetail("At most " INT64_FORMAT " are counted in one "
							   "reading.", MOST_CELLS),
					 errhint("Use fewer columns together, or coarser bins.")));
	return cells;
}

/*
 * The axes that some table has; place[i]: where axis i is among them, or -1.
 */
static dp_axis **
used_axes(int naxes, dp_axis *const *axes, int ntables,
		  const dp_reading_table *tables, int *place, int *nused)
{
	dp_axis   **used = palloc(sizeof(dp_axis *) * Max(naxes, 1));
	int			i;
	int			j;

	for (i = 0; i < naxes; i++)
		place[i] = -1;
	for (i = 0; i < ntables; i++)
		for (j = 0; j < tables[i].naxes; j++)
			place[tables[i].axes[j]] = 0;
	*nused = 0;
	for (i = 0; i < naxes; i++)
		if (place[i] == 0)
		{
			used[*nused] = axes[i];
			place[i] = (*nused)++;
		}
	if (*nused > DP_COUNTED_AXES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many columns to count by"),
				 errdetail("At most %d are counted in one reading.",
						   DP_COUNTED_AXES_MAX),
				 errhint("Use fewer columns.")));
	return used;
}

static dp_counted_table *
counted_tables(int ntables, const dp_reading_table *tables, const int *place)
{
	dp_counted_table *counted = palloc0(sizeof(dp_counted_table) *
										Max(ntables, 1));
	int			i;
	int			j;

	for (i = 0; i < ntables; i++)
	{
		int		   *axes = palloc(sizeof(int) * Max(tables[i].naxes, 1));

		for (j = 0; j < tables[i].naxes; j++)
			axes[j] = place[tables[i].axes[j]];
		counted[i].naxes = tables[i].naxes;
		counted[i].axes = axes;
	}
	return counted;
}

static void
check_axis(Oid relid, const dp_axis *axis)
{
	AttrNumber	attnum = get_attnum(relid, NameStr(axis->name));

	if (attnum > 0 && attnum == axis->attnum &&
		get_atttype(relid, attnum) == axis->type)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("column \"%s\" has changed", NameStr(axis->name)),
			 errhint("Start again with the relation as it is now.")));
}

static dp_reading *
read_tables(Oid relid, int naxes, dp_axis *const *axes, int ntables,
			const dp_reading_table *tables, bool whole)
{
	int64		cells = all_cells(axes, ntables, tables);
	int		   *place = palloc(sizeof(int) * Max(naxes, 1));
	AttrNumber *columns = palloc(sizeof(AttrNumber) * Max(naxes, 1));
	dp_axis   **used;
	dp_reading *reading;
	Query	   *query;
	ListCell   *lc;
	int			nused;
	int			i;

	used = used_axes(naxes, axes, ntables, tables, place, &nused);
	for (i = 0; i < nused; i++)
		columns[i] = used[i]->attnum;
	query = dp_reading_select_columns(relid, columns, nused);
	for (i = 0; i < nused; i++)
		check_axis(relid, used[i]);
	reading = make_reading(relid, query);
	reading->ncounts = cells;
	reading->plan->spec = dp_count_tables_spec(nused, used, ntables,
											   counted_tables(ntables, tables,
															  place), whole);
	for_each_from(lc, dp_reading_block_conditions(reading->plan->block), 1)
		reading->plan->columns = lappend(reading->plan->columns,
										 lfirst_node(NullTest, lc)->arg);
	return reading;
}

/*
 * dp_reading_of_tables
 *	  See dp_reading.h.  Axes and tables may go away afterwards.
 *
 * Errors: 54000 too many cells or columns; 55000 a column has changed since
 * the axis was made; others as dp_reading_of_predicates.
 */
dp_reading *
dp_reading_of_tables(Oid relid, int naxes, dp_axis *const *axes, int ntables,
					 const dp_reading_table *tables)
{
	return read_tables(relid, naxes, axes, ntables, tables, false);
}

/* dp_reading_of_whole_tables: see dp_reading.h; else the same. */
dp_reading *
dp_reading_of_whole_tables(Oid relid, int naxes, dp_axis *const *axes,
						   int ntables, const dp_reading_table *tables)
{
	return read_tables(relid, naxes, axes, ntables, tables, true);
}
