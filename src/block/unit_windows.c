/*
 * unit_windows.c
 *	  Levels with windows whose partitions each belong to one unit.
 *
 *	  SELECT dp_avg(cost) FROM (SELECT person, cost, row_number() OVER
 *								(PARTITION BY person ORDER BY day) AS n
 *								FROM visits) AS s WHERE n = 1
 *
 * Rows of a partition share the unit, so a window function's results are
 * functions of this unit's rows, unless they depend on the order in which rows
 * arrive (rules/unit_window.c), and the level's rows are unit-local like those
 * from which they are made (doc/theory.md T153).  The level has as many rows
 * as without windows.
 *
 * Windows over groups are treated as those of a level above.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

/*
 * The range of window numbers of a level; those of different levels are
 * disjoint.
 */
#define MOST_WINDOWS 1000

/* ---- which is which ---- */

static bool
number_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
		((WindowFunc *) node)->winref += *(const Index *) context;
	return expression_tree_walker(node, number_walker, context);
}

/*
 * dp_block_number_windows
 *	  Number the windows of a level differently from those of other levels, in
 *	  place, so that equal-looking window functions differ.  `level`: its
 *	  number, from 1.
 */
void
dp_block_number_windows(Query *query, int level)
{
	Index		first = level * MOST_WINDOWS;
	ListCell   *lc;

	(void) number_walker((Node *) query->targetList, &first);
	foreach(lc, query->windowClause)
		lfirst_node(WindowClause, lc)->winref += first;
}

/* ---- any order ---- */

static bool
is_random(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	return IsA(node, FuncExpr) && call->args == NIL &&
		call->funcid < FirstGenbkiObjectId &&
		strcmp(get_func_name(call->funcid), "random") == 0;
}

/* The sort clauses before random(); *target: that of random(), or NULL. */
static List *
before_random(const WindowClause *window, const Query *level,
			  TargetEntry **target)
{
	List	   *before = NIL;
	ListCell   *lc;

	*target = NULL;
	foreach(lc, window->orderClause)
	{
		TargetEntry *key = get_sortgroupclause_tle(lfirst(lc),
												   level->targetList);

		if (is_random((Node *) key->expr))
		{
			*target = key;
			break;
		}
		before = lappend(before, lfirst(lc));
	}
	return before;
}

/*
 * dp_block_order_by_chance
 *	  ORDER BY random() in a window over single rows asks for a random order:
 *	  mark the window accordingly (rules/unit_window.c), in place, since
 *	  volatile functions are not allowed on private rows.
 */
void
dp_block_order_by_chance(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->windowClause)
	{
		WindowClause *window = lfirst(lc);
		TargetEntry *target;
		List	   *before = before_random(window, level, &target);

		if (target == NULL || !target->resjunk ||
			dp_rules_looks_at_peers(level, window))
			continue;
		window->orderClause = before;
		window->name = pstrdup(DP_RULES_ANY_ORDER);
		target->expr = (Expr *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	}
}

/* ---- partitions ---- */

static dp_refusal *
refuse_partition(const Query *level, const WindowClause *window)
{
	Node	   *first = window->partitionClause == NIL ? NULL :
	get_sortgroupclause_expr(linitial(window->partitionClause),
							 level->targetList);

	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							exprLocation(first),
							"There, rows of one privacy unit would depend on "
							"rows of another.",
							"Add the column that names the privacy unit to "
							"PARTITION BY; or use the window over released "
							"values, in an outer query.",
							"a window without the privacy unit in PARTITION "
							"BY is not supported below a private aggregate");
}

/* Does each partition of a window have the rows of one unit? */
static bool
parts_units(const WindowClause *window, Query *level, const dp_rowset *rowset)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, window->partitionClause)
	{
		const TargetEntry *target =
		get_sortgroupclause_tle(lfirst(lc), level->targetList);

		numbers = lappend_int(numbers, target->resno);
	}
	return dp_block_names_step(level, numbers, rowset) ||
		list_intersection_int(numbers,
							  dp_block_unit_outputs(level, rowset)) != NIL;
}

/* Is an expression over base columns a stored value? */
static bool
is_stored(const Node *base)
{
	const CaseExpr *choice = (const CaseExpr *) base;
	ListCell   *lc;

	if (IsA(base, RelabelType))
		return is_stored((const Node *) ((const RelabelType *) base)->arg);
	if (IsA(base, Const))
		return ((const Const *) base)->constisnull;
	if (!IsA(base, CaseExpr))
		return IsA(base, Var) || IsA(base, Aggref);
	foreach(lc, choice->args)
		if (!is_stored((Node *) lfirst_node(CaseWhen, lc)->result))
			return false;
	return is_stored((Node *) choice->defresult);
}

/*
 * Windows keep rows with their texts, so the length of these must be bounded.
 */
static dp_refusal *
check_texts(Query *level)
{
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) level->targetList,
								PVC_RECURSE_WINDOWFUNCS))
	{
		Node	   *column = lfirst(lc);

		if (get_typlen(exprType(column)) == -1 &&
			getBaseType(exprType(column)) != NUMERICOID &&
			!is_stored(dp_block_rowset_base(level, column)))
			return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
									exprLocation(column),
									"Windows keep rows in memory, and nothing "
									"says how long it may be.",
									"Compute it above the window.",
									"a text that is computed below a window "
									"is not supported below a private "
									"aggregate");
	}
	return NULL;
}

/*
 * dp_block_check_windows
 *	  Refuses a verified level unless each partition of its windows belongs to
 *	  one unit, because of a column that is the unit or the columns of the
 *	  first step of a path to it, and the length of rows is bounded.
 */
dp_refusal *
dp_block_check_windows(Query *level, const dp_rowset *rowset)
{
	ListCell   *lc;

	foreach(lc, level->windowClause)
		if (!parts_units(lfirst(lc), level, rowset))
			return refuse_partition(level, lfirst(lc));
	return check_texts(level);
}

/* ---- sizes ---- */

/*
 * Memory for a row that a window keeps: one copy to be sorted and one in its
 * partition, and pointers to them, in arrays of at most twice the number.
 */
#define ROW_BYTES 256
#define COPIES 3				/* of a value and of keys made from it, per
								 * row */
#define LONGEST_COLUMN ((Size) BLCKSZ)	/* in a row of a table */
#define LONGEST_SUM ((Size) 1024)

/*
 * How many times rows are kept: twice by each window, which counts as two if
 * it has functions of both kinds, and once above.
 */
static int
count_copies(const Query *level)
{
	int			copies = 1;
	ListCell   *lc;

	foreach(lc, level->windowClause)
		copies += dp_rules_looks_at_peers(level, lfirst(lc)) ? 4 : 2;
	return copies;
}

static void
add_bytes(dp_unit_level *sizes, Node *value, Size most)
{
	int			length = get_typlen(exprType(value));

	sizes->group += MAXALIGN(length > 0 ? length : most);
}

/*
 * Add a column that the level reads.  `apart`: the unit's rows are repeated
 * only as often as public rows are joined with them, so that their own size
 * bounds it.
 */
static void
add_column(dp_unit_level *sizes, Query *level, const dp_block *block,
		   Node *column, bool apart)
{
	const Node *base = dp_block_rowset_base(level, column);

	while (IsA(base, RelabelType))
		base = (const Node *) ((const RelabelType *) base)->arg;
	if (get_typlen(exprType(column)) > 0)
		add_bytes(sizes, column, 0);
	else if (!IsA(base, Var))
		add_bytes(sizes, column, dp_rules_kept_bytes(column, level));
	else if (!OidIsValid(list_nth_oid(block->relids,
									  ((const Var *) base)->varno - 1)))
		sizes->public++;
	else if (apart)
		sizes->private++;
	else
		sizes->group += LONGEST_COLUMN;
}

typedef struct result_walk
{
	Query	   *level;
	const dp_block *block;
	bool		apart;			/* as for add_column */
	dp_unit_level *sizes;
} result_walk;

/* Is it a column of another row, which is used for no third row? */
static bool
is_of_another(const WindowFunc *function)
{
	switch (function->winfnoid)
	{
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
			return IsA(linitial(function->args), Var);
		default:
			return false;
	}
}

/* Is it a column of some row, as stored? */
static bool
is_column_of(const WindowFunc *function)
{
	switch (function->winfnoid)
	{
		case F_FIRST_VALUE:
		case F_LAST_VALUE:
		case F_NTH_VALUE:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return IsA(linitial(function->args), Var);
		default:
			return false;
	}
}

/* Most bytes of a result of variable length. */
static Size
result_bytes(const WindowFunc *function, const Query *level)
{
	const char *name = get_func_name(function->winfnoid);

	if (is_column_of(function))
		return LONGEST_COLUMN;
	return strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0 ?
		LONGEST_SUM : dp_rules_kept_bytes(linitial(function->args), level);
}

/* Add the results of windows: numbers, or values of rows. */
static bool
result_walker(Node *node, void *context)
{
	result_walk *walk = context;
	WindowFunc *function = (WindowFunc *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, WindowFunc))
		return expression_tree_walker(node, result_walker, context);
	if (is_of_another(function))
		add_column(walk->sizes, walk->level, walk->block,
				   linitial(function->args), walk->apart);
	else
		add_bytes(walk->sizes, node, get_typlen(exprType(node)) > 0 ? 0 :
				  result_bytes(function, walk->level));
	return false;
}

/*
 * dp_block_measure_windows
 *	  Add the memory of a level's row in its windows; `sources`: the number of
 *	  private items from which its rows are chosen.
 */
void
dp_block_measure_windows(Query *level, const dp_block *block, int sources,
						 dp_unit_level *sizes)
{
	int			copies = count_copies(level);
	bool		apart = sources <= 1;
	result_walk walk = {level, block, apart, sizes};
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) level->targetList,
								PVC_RECURSE_WINDOWFUNCS))
		columns = list_append_unique(columns, lfirst(lc));
	foreach(lc, columns)
		add_column(sizes, level, block, lfirst(lc), apart);
	sizes->group *= COPIES;
	sizes->private *= COPIES;
	sizes->public *= COPIES;
	(void) result_walker((Node *) level->targetList, &walk);
	sizes->group = copies * (ROW_BYTES + sizes->group);
	sizes->private *= copies;
	sizes->public *= copies;
	sizes->spread = true;
}
