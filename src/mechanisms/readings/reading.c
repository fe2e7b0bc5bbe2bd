/*
 * reading.c
 *	  Conditions and weights of readings, verified: exact counts for mechanisms
 *	  whose charge is made elsewhere; axes of columns; SQL functions that tell
 *	  of predicates.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/keys/dp_keys.h"
#include "../../query/split/dp_split.h"
#include "../../measure/exact/dp_exact.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../../release/joined/dp_joined.h"
#include "../../release/inner/dp_inner.h"
#include "../../release/prepare/dp_prepare.h"
#include "../../release/run/dp_run.h"
#include "dp_readings.h"
#include "readings_internal.h"

/* ----------------
 *		Check that the weights of a list are from 0 to 1, by the declarations
 *		of columns and by their own constants.
 *
 * Privacy does not need it, because rows are clamped
 * (src/measure/exact/count_tables.c); but clamping would silently answer
 * another query. ----------------
 */

/*
 * Within [0, 1], or beyond by at most half a granule, which rounding corrects.
 */
static bool
reading_is_within(const dp_interval *values)
{
	const Numeric half = dp_base_power_of_two(-DP_WEIGHT_BITS - 1);
	const Numeric one = int64_to_numeric(1);

	return dp_numeric_compare(values->low,
							  dp_numeric_call1(numeric_uminus, half)) >= 0 &&
		dp_numeric_compare(values->high,
						   dp_numeric_call2(numeric_add, one, half)) <= 0;
}

/* For display; infinite beyond the largest double. */
static double
approximately(Numeric x)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  NumericGetDatum(x)));
}

static void
reading_forbid(int number, const char *text, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("weight %d is not known to be from 0 to 1", number),
			 errdetail("%s", detail),
			 errhint("Divide by the largest value, as in age / 120.0, or "
					 "write least(greatest(x, 0), 1); the owner declares "
					 "bounds with dp_declare."),
			 errcontext("predicate %d: %s", number, text)));
}

static void
check_weight(const dp_block *block, int number, const char *text, Node *base)
{
	const dp_known known = {block->relids};
	dp_interval values;

	base = eval_const_expressions(NULL, copyObject(base));
	if (dp_domains_find_interval(base, &known, &values))
	{
		if (!reading_is_within(&values))
			reading_forbid(number, text,
						   psprintf("By the declarations of its columns its "
									"values are from %.6g to %.6g.",
									approximately(values.low),
									approximately(values.high)));
	}
	else if (!values.empty)
		reading_forbid(number, text,
					   "Bounds of its values do not follow from what is "
					   "declared of its columns.");
}

/*
 * reading_check_weights
 *	  Check that weights given as texts, whose block it is, have values from 0
 *	  to 1 only.
 *
 * Errors: 22023, with the weight in their context.
 */
static void
reading_check_weights(const dp_block *block, List *texts)
{
	ArrayExpr  *array = (ArrayExpr *)
	((const dp_value *) linitial(block->values))->base;
	ListCell   *lc;

	if (array == NULL)
		return;
	foreach(lc, array->elements)
	{
		int			i = foreach_current_index(lc);

		if (dp_split_is_weight(lfirst(lc)))
			check_weight(block, i + 1, list_nth(texts, i), lfirst(lc));
	}
}

/* ----------------
 *		Conditions over a relation, verified as those of a private query are.
 *
 * They become the array of one dp_pg.conditions over the relation; that query
 * is rewritten (views, row security), verified and split as any other, and of
 * its block the conditions are taken.  Weights stand in the array unconverted,
 * as no written query could have them: the array is never built.
 * ----------------
 */

static Aggref *
reading_make_aggregate(List *predicates, Const *epsilon)
{
	Aggref	   *aggregate = makeNode(Aggref);
	ArrayExpr  *array = makeNode(ArrayExpr);
	Oid			types[2] = {BOOLARRAYOID, NUMERICOID};
	ListCell   *lc;

	array->array_typeid = BOOLARRAYOID;
	array->element_typeid = BOOLOID;
	array->location = -1;
	foreach(lc, predicates)
		array->elements = lappend(array->elements,
								  ((TargetEntry *) lfirst(lc))->expr);
	aggregate->aggfnoid =
		dp_catalog_function("conditions", epsilon == NULL ? 1 : 2, types);
	aggregate->aggtype = INT4OID;
	aggregate->aggkind = AGGKIND_NORMAL;
	aggregate->aggsplit = AGGSPLIT_SIMPLE;
	aggregate->aggno = -1;
	aggregate->aggtransno = -1;
	aggregate->location = -1;
	aggregate->aggargtypes = list_make1_oid(BOOLARRAYOID);
	aggregate->args = list_make1(makeTargetEntry((Expr *) array, 1, NULL,
												 false));
	if (epsilon != NULL)
	{
		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes,
											 NUMERICOID);
		aggregate->args = lappend(aggregate->args,
								  makeTargetEntry((Expr *) epsilon, 2, NULL,
												  false));
	}
	return aggregate;
}

/*
 * forget_position
 *	  An error context for what stands in texts of predicates: parse positions
 *	  count in them, not in any query's.
 */
static void
forget_position(void *arg)
{
	if (geterrposition() > 0)
		errposition(0);
}

/* A public relation with policies for the current user, or InvalidOid. */
static Oid
find_policies(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_RELATION &&
			!OidIsValid(dp_protect_root(entry->relid)) &&
			!OidIsValid(dp_compat_reads_as(level, entry)) &&
			check_enable_rls(entry->relid, InvalidOid, true) != RLS_NONE)
			return entry->relid;
	}
	return InvalidOid;
}

static bool
reading_has_policies(Node *node, const dp_walk *walk)
{
	Oid		   *found = walk->context;

	if (IsA(node, Query))
		*found = find_policies((Query *) node);
	return OidIsValid(*found);
}

/*
 * Policies were chosen for the current user.  Inside a SECURITY DEFINER
 * function that is not the asking role, whose view may name public relations
 * that are read as the asking role.
 */
static void
forbid_policies(Query *query)
{
	Oid			found = InvalidOid;

	if (GetUserId() == dp_ledger_asking_role() ||
		!dp_base_contains((Node *) query, reading_has_policies, &found, 0))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("relation \"%s\" has row security that depends on the "
					"current user", get_rel_name(found)),
			 errdetail("The current user is not the asking role."),
			 errhint("Name a view that reads it with the right of its owner, "
					 "without security_invoker; or ask outside of the "
					 "function.")));
}

/*
 * rewrite_conditions
 *	  Replace the query's targets, which are conditions, by
 *	  dp_pg.conditions(ARRAY[targets] [, epsilon]), and rewrite.
 *
 * Errors: those of rewriting; 0A000 policies that depend on another role than
 * the asking one.
 */
static Query *
rewrite_conditions(Query *query, Const *epsilon)
{
	Aggref	   *aggregate = reading_make_aggregate(query->targetList, epsilon);
	ErrorContextCallback callback;

	query->targetList = list_make1(makeTargetEntry((Expr *) aggregate, 1,
												   pstrdup("place"), false));
	query->hasAggs = true;
	callback.callback = forget_position;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	query = linitial_node(Query, pg_rewrite_query(query));
	error_context_stack = callback.previous;
	forbid_policies(query);
	return query;
}

/*
 * select_columns
 *	  SELECT true, column IS NULL, ... FROM relation, as the parser would give
 *	  it; the relation stays locked.
 *
 * Errors: 42P01 no such relation, 42501 no right to use its schema.
 */
static Query *
select_columns(Oid relid, const AttrNumber *columns, int n)
{
	Query	   *query = dp_split_read_predicates(relid,
												 list_make1("true"));
	int			i;

	for (i = 0; i < n; i++)
	{
		Node	   *test;
		Oid			type;
		Oid			collation;
		int32		typmod;

		get_atttypetypmodcoll(relid, columns[i], &type, &typmod, &collation);
		test = dp_rowsets_null_test((Node *)
									makeVar(1, columns[i], type, typmod,
											collation, 0), IS_NULL);
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) test, i + 2,
													"column", false));
	}
	return query;
}

static void
reading_take_block(dp_block *block, RangeTblEntry *entry, void *context)
{
	List	  **blocks = context;

	*blocks = lappend(*blocks, block);
}

/*
 * verify_conditions
 *	  The block of a query of rewrite_conditions; raises what is
 *	  wrong with it.
 */
static dp_block *
verify_conditions(Query *query)
{
	List	   *blocks = NIL;
	List	   *inval_items = NIL;
	dp_refusal *refusal = dp_split_all(query, reading_take_block,
									   &blocks, &inval_items);

	if (refusal != NULL)
		dp_base_raise_refusal(refusal, NULL);
	if (list_length(blocks) != 1)
		elog(ERROR, "reading has %d blocks", list_length(blocks));
	return linitial(blocks);
}

/* dp_readings_block_conditions: its conditions, verified and total. */
List *
dp_readings_block_conditions(const dp_block *block)
{
	TargetEntry *target = list_nth(block->inner->targetList,
								   dp_rowsets_first_aggregate(block));
	Aggref	   *aggregate = castNode(Aggref, target->expr);

	target = linitial(aggregate->args);
	return castNode(ArrayExpr, target->expr)->elements;
}

/* ----------------
 *		Exact counts for mechanisms whose charge is made elsewhere.
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
 * they are read (reading_use.c), so that it moves a count by T at most.
 * What the relation joins, and rows that are gathered by unit, are read as
 * those of a release are.
 * ----------------
 */

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
	dp_inner_check_ready(block, &reading->standing);
	dp_joined_check(block, &run);
	PopActiveSnapshot();
}

static dp_reading *
make_reading(Oid relid, Query *query)
{
	dp_reading *reading = palloc0(sizeof(dp_reading));
	dp_block   *block;

	dp_base_require_preload();
	dp_inner_check_preconditions();
	query = rewrite_conditions(query, NULL);
	block = verify_conditions(query);
	forbid_releases(block);
	reading->relid = relid;
	reading->base = block->relid;
	reading->dataset = block->dataset;
	reading->many = block->many && !block->single;
	reading->rows = 1;
	if (reading->many)
	{
		dp_unit_bounds bounds = dp_prepare_unit_bounds(block, NULL);

		reading->rows = OidIsValid(bounds.missing) ? 0 : Max(bounds.total, 1);
	}
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
									   dp_split_read_predicates(relid,
																texts));
	List	   *conditions;

	reading_check_weights(reading->plan->block, texts);
	reading->ncounts = list_length(texts);
	reading->weighted = ((const dp_value *)
						 linitial(reading->plan->block->values))->base != NULL;
	conditions = dp_readings_block_conditions(reading->plan->block);
	if (reading->many)
		reading->plan->conditions = conditions;
	else
		reading->plan->counting = dp_exact_conditions_plan(conditions);
	return reading;
}

/* The number of its predicates that are evaluated for every row. */
static int
evaluated(const dp_reading *reading)
{
	return reading->many ? list_length(reading->plan->conditions) :
		dp_exact_conditions_evaluated(reading->plan->counting);
}

/*
 * dp_readings_of_predicates
 *	  See dp_readings.h.
 *
 * Errors: those of dp_split_read_predicates, with the predicate in their
 * context; 22023 a weight that is not from 0 to 1; 0A000 what is not allowed
 * on private rows; 42501 no budget; 54000 too many predicates to evaluate for
 * every row.
 */
dp_reading *
dp_readings_of_predicates(Oid relid, List *texts)
{
	dp_reading *reading = read_predicates(relid, texts);

	dp_aggregates_check_predicates(evaluated(reading), list_length(texts),
								   true);
	if (reading->many)
		dp_exact_words_check(list_length(reading->plan->conditions));
	return reading;
}

/* dp_readings_set_rows: see dp_readings.h. */
void
dp_readings_set_rows(dp_reading *reading, uint64 rows)
{
	if (reading->many)
		reading->rows = rows;
}

/* dp_readings_rows: see dp_readings.h. */
uint64
dp_readings_rows(const dp_reading *reading)
{
	const dp_block *block = reading->plan->block;

	if (reading->rows == 0)
		dp_prepare_raise_unbounded(block, dp_prepare_unit_bounds(block,
																 NULL).missing,
								   NULL);
	return reading->rows;
}

/* dp_readings_rows_text: see dp_readings.h. */
const char *
dp_readings_rows_text(const dp_reading *reading)
{
	if (!reading->many)
		return "";
	return psprintf("  Of each privacy unit at most " UINT64_FORMAT " row%s "
					"count%s.", dp_readings_rows(reading),
					reading->rows == 1 ? "" : "s",
					reading->rows == 1 ? "s" : "");
}

/*
 * reading_evaluated
 *	  How many of the predicates would be evaluated for every row.
 *
 * Errors: those of dp_readings_of_predicates but 54000.
 */
static int
reading_evaluated(Oid relid, List *texts)
{
	return evaluated(read_predicates(relid, texts));
}

static int64
reading_table_cells(const dp_reading_table *table, dp_axis *const *axes)
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
		if (__builtin_add_overflow(cells,
								   reading_table_cells(&tables[i], axes),
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
	query = select_columns(relid, columns, nused);
	for (i = 0; i < nused; i++)
		check_axis(relid, used[i]);
	reading = make_reading(relid, query);
	reading->ncounts = cells;
	reading->plan->spec = dp_exact_tables_spec(nused, used, ntables,
											   counted_tables(ntables, tables,
															  place), whole);
	for_each_from(lc, dp_readings_block_conditions(reading->plan->block), 1)
		reading->plan->columns = lappend(reading->plan->columns,
										 lfirst_node(NullTest, lc)->arg);
	return reading;
}

/*
 * dp_readings_of_tables
 *	  See dp_readings.h.  Axes and tables may go away afterwards.
 *
 * Errors: 54000 too many cells or columns; 55000 a column has changed since
 * the axis was made; others as dp_readings_of_predicates.
 */
dp_reading *
dp_readings_of_tables(Oid relid, int naxes, dp_axis *const *axes, int ntables,
					  const dp_reading_table *tables)
{
	return read_tables(relid, naxes, axes, ntables, tables, false);
}

/* dp_readings_of_whole_tables: see dp_readings.h; else the same. */
dp_reading *
dp_readings_of_whole_tables(Oid relid, int naxes, dp_axis *const *axes,
							int ntables, const dp_reading_table *tables)
{
	return read_tables(relid, naxes, axes, ntables, tables, true);
}

/* ----------------
 *		The axis of a column, from what the catalog says about its values.
 *
 * A column of a view is followed to the protected relation that it comes from,
 * as in a reading of it.  One from several relations, or from public rows, has
 * the values of its type, if these are known.
 * ----------------
 */

/* The relation whose columns an expression over base columns is made of. */
static Oid
column_axis_relation_of(const dp_block *block, Node *base, bool *nullable)
{
	Relids		leaves = pull_varnos(NULL, base);
	ListCell   *lc;
	int			leaf;

	*nullable = false;
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		*nullable = *nullable ||
			(source->nullable && bms_is_member(source->number, leaves));
	}
	if (bms_is_empty(leaves))
		return block->relid;
	return bms_get_singleton_member(leaves, &leaf) ?
		list_nth_oid(block->relids, leaf - 1) : InvalidOid;
}

/*
 * A column of `relid` as an expression over base columns; the relation that
 * these are of, or InvalidOid; and whether an outer join may leave it out.
 */
static Node *
base_column(Oid relid, AttrNumber attnum, Oid *base_relid, bool *nullable)
{
	dp_block   *block;
	Query	   *query;
	NullTest   *test;
	Node	   *base;

	if (dp_protect_lookup(relid) != NULL)
	{
		query = select_columns(relid, &attnum, 1);
		*base_relid = relid;
		*nullable = false;
		test = (NullTest *) ((TargetEntry *) llast(query->targetList))->expr;
		return (Node *) castNode(NullTest, test)->arg;
	}
	query = select_columns(relid, &attnum, 1);
	block = verify_conditions(
		rewrite_conditions(query, NULL));
	test = llast_node(NullTest, dp_readings_block_conditions(block));
	base = dp_rowsets_base(block->inner, (Node *) test->arg);
	*base_relid = column_axis_relation_of(block, base, nullable);
	return base;
}

static void
column_axis_check_size(const dp_axis *axis, int64 size, int64 most)
{
	if (size > most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" has too many public values",
						NameStr(axis->name)),
				 errdetail("It has " INT64_FORMAT "; at most " INT64_FORMAT
						   " can be used.", size, most),
				 errhint("Cut it into bins, or leave it out.")));
}

static dp_axis *
begin_axis(Oid relid, const char *column, int32 bins)
{
	dp_axis    *axis = palloc0(sizeof(dp_axis));

	namestrcpy(&axis->name, column);
	axis->attnum = get_attnum(relid, column);
	if (axis->attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						column, get_rel_name(relid)),
				 errhint("Spell column names exactly, as in columns => "
						 "ARRAY['age', 'ward'].")));
	get_atttypetypmodcoll(relid, axis->attnum, &axis->type, &axis->typmod,
						  &axis->collation);
	axis->bins = bins;
	return axis;
}

/* Raise that a column's values are not public, and what would make them so. */
static void
raise_key(const dp_axis *axis, Oid base_relid, AttrNumber attnum,
		  const dp_refusal *refusal)
{
	dp_domains_axis_raise(axis,
						  "Its values must be public, because a value that "
						  "appears shows that somebody has it.",
				dp_domains_axis_can_have_bins(axis, base_relid, attnum) ?
				"Cut its bounds into bins, with a number for each column as "
				"in bins => ARRAY[0, 4]." :
				attnum == 0 ?
				"Choose a column with declared keys or bounds, a boolean or "
				"an enum." : refusal->hint);
}

/* dp_readings_make_axis: see dp_readings.h. */
dp_axis *
dp_readings_make_axis(Oid relid, const char *column, int32 bins, int64 most)
{
	dp_axis    *axis = begin_axis(relid, column, bins);
	Oid			base_relid;
	bool		nullable;
	Node	   *base = base_column(relid, axis->attnum, &base_relid,
								   &nullable);
	AttrNumber	attnum = IsA(base, Var) && OidIsValid(base_relid) ?
	((Var *) base)->varattno : 0;
	dp_refusal *refusal;
	dp_key		key;

	/* a refused one may say whether it can be NULL, too */
	MemSet(&key, 0, sizeof(key));
	key.nullable = true;
	refusal = dp_keys_classify(base, base, base_relid, &key);
	key.nullable = key.nullable || nullable;
	if (bins != 0)
	{
		if (attnum == 0 && refusal != NULL)
			raise_key(axis, base_relid, attnum, refusal);
		column_axis_check_size(axis, bins, most);
		dp_domains_axis_make_declared_bins(axis, base_relid, attnum,
										   key.nullable);
	}
	else
	{
		if (refusal != NULL)
			raise_key(axis, base_relid, attnum, refusal);
		dp_domains_make_axis(&key, axis);
	}
	column_axis_check_size(axis, axis->size, most);
	return axis;
}

/* ----------------
 *		dp_argmax over predicates and dp_predicate_cost; how many rows of a
 *		unit count.
 * ----------------
 */

/* ----------------
 *		dp_pg.rows_of_unit(relation): how many rows of a unit would count.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_reading_sql_rows_of_unit);

/* dp_reading_sql_rows_of_unit: see sql/84_smalldb.sql. */
Datum
dp_reading_sql_rows_of_unit(PG_FUNCTION_ARGS)
{
	const dp_reading *reading =
	dp_readings_of_predicates(PG_GETARG_OID(0), list_make1("true"));

	PG_RETURN_INT64((int64) dp_readings_rows(reading));
}

/* ----------------
 *		dp_predicate_cost(relation, predicates): how many of a list are
 *		evaluated for every row.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_release_sql_predicate_cost);

/*
 * dp_release_sql_predicate_cost
 *	  dp_predicate_cost(relation, predicates): (predicates, per_row, most).
 *	  See sql/56_conditions.sql.
 */
Datum
dp_release_sql_predicate_cost(PG_FUNCTION_ARGS)
{
	Datum		values[3];
	bool		nulls[3] = {false};
	List	   *texts;

	dp_base_require_preload();
	dp_base_require_argument(fcinfo, 0, "relation of dp_predicate_cost",
							 "Name the protected relation.");
	dp_base_require_argument(fcinfo, 1, "predicates of dp_predicate_cost",
							 "Give an array of SQL conditions.");
	texts = dp_split_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	values[0] = Int32GetDatum(list_length(texts));
	values[1] = Int32GetDatum(reading_evaluated(PG_GETARG_OID(0), texts));
	values[2] = Int32GetDatum(dp_setting_max_predicates_per_row);
	return dp_base_make_row(fcinfo, values, nulls);
}

/* ----------------
 *		dp_argmax(relation, predicates): which predicate holds for most rows,
 *		or which weight is heaviest.
 *
 * The predicates become the array of one dp_pg.conditions over the relation,
 * and that query takes the way of every private query: rewriting (views, row
 * security), the planner hook (verification, the split) and the executor
 * (rights, the charge, the noise).  So whatever holds for a dp_ aggregate that
 * the caller could have written holds here.
 * ----------------
 */

static PlannedStmt *
plan_query(Query *query, const char *text)
{
	ErrorContextCallback callback;
	PlannedStmt *plan;

	callback.callback = forget_position;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	plan = pg_plan_query(query, text, 0, NULL);
	error_context_stack = callback.previous;
	return plan;
}

/* ---- its one row ---- */

typedef struct integer_receiver
{
	DestReceiver receiver;
	int			rows;
	int32		value;
} integer_receiver;

static bool
receive_integer(TupleTableSlot *slot, DestReceiver *self)
{
	integer_receiver *integer = (integer_receiver *) self;
	bool		isnull;

	integer->rows++;
	integer->value = DatumGetInt32(slot_getattr(slot, 1, &isnull));
	if (isnull)
		elog(ERROR, "private query gave NULL");
	return true;
}

static int32
run_query(Query *query, const char *text)
{
	integer_receiver integer;

	memset(&integer, 0, sizeof(integer));
	integer.receiver = *None_Receiver;
	integer.receiver.receiveSlot = receive_integer;

	PushActiveSnapshot(GetTransactionSnapshot());
	dp_joined_execute(plan_query(query, text), text, &integer.receiver, NULL,
					   NULL);
	PopActiveSnapshot();
	if (integer.rows != 1)
		elog(ERROR, "private query gave %d rows", integer.rows);
	return integer.value;
}

/* ---- SQL ---- */

static void
raise_null(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s of dp_argmax must not be NULL", what)));
}

static Const *
numeric_const(bool isnull, Numeric value)
{
	return makeConst(NUMERICOID, -1, InvalidOid, -1,
					 isnull ? (Datum) 0 : NumericGetDatum(value), isnull,
					 false);
}

/* Refuse weights as a reading does: they must be from 0 to 1. */
static void
check_weights(Oid relid, List *texts, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!dp_split_is_weight((Node *) lfirst_node(TargetEntry, lc)->expr))
			continue;
		(void) reading_evaluated(relid, texts);
		break;
	}
}

/* epsilon NULL: dp_pg.epsilon counts. */
static Datum
most_common(FunctionCallInfo fcinfo, Const *epsilon)
{
	List	   *texts;
	Query	   *query;
	int32		chosen;

	dp_base_require_preload();
	if (PG_ARGISNULL(0))
		raise_null("relation");
	if (PG_ARGISNULL(1))
		raise_null("predicates");
	texts = dp_split_predicate_texts(PG_GETARG_ARRAYTYPE_P(1));
	query = dp_split_read_predicates(PG_GETARG_OID(0), texts);
	check_weights(PG_GETARG_OID(0), texts, query);
	query = rewrite_conditions(query, epsilon);
	chosen = run_query(query, dp_run_named_text);
	return CStringGetTextDatum(list_nth(texts, chosen - 1));
}

PG_FUNCTION_INFO_V1(dp_argmax_conditions);
PG_FUNCTION_INFO_V1(dp_argmax_conditions_numeric);
PG_FUNCTION_INFO_V1(dp_argmax_conditions_float8);

/* dp_argmax(regrelation, text[]): see sql/56_conditions.sql. */
Datum
dp_argmax_conditions(PG_FUNCTION_ARGS)
{
	return most_common(fcinfo, NULL);
}

/* dp_argmax(regrelation, text[], numeric). */
Datum
dp_argmax_conditions_numeric(PG_FUNCTION_ARGS)
{
	return most_common(fcinfo, numeric_const(PG_ARGISNULL(2),
											 PG_ARGISNULL(2) ? NULL :
											 PG_GETARG_NUMERIC(2)));
}

/* dp_argmax(regrelation, text[], double precision). */
Datum
dp_argmax_conditions_float8(PG_FUNCTION_ARGS)
{
	Numeric		epsilon = PG_ARGISNULL(2) ? NULL :
	dp_base_float8_to_numeric(PG_GETARG_FLOAT8(2));

	return most_common(fcinfo, numeric_const(epsilon == NULL, epsilon));
}
