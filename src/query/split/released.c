/*
 * released.c
 *	  What follows released values is NULL where noise would make it an error.
 *
 * Noise can make a divisor 0, a count negative, a number too large for a cast:
 * an error of the whole query, after its charge, that the plain query cannot
 * have.  So in a statement whose blocks have been split, built-in functions
 * and operators of what depends on released values are called through
 * dp_pg.null_on_error (expressions/null_on_error.c), at every level: that of
 * the block, and those above that read it as a subquery, WITH query or in an
 * expression.  LIMIT, window frames and the like, which fail for negative
 * numbers, 0 or NULL, get the nearest value that they take.  The casts to the
 * columns that INSERT, UPDATE and MERGE write stay as they are: a value that
 * does not fit is an error, not a NULL that is stored.
 *
 * All that is looked at has been released, so this tells nothing; private rows
 * are in other trees by now.
 *
 * A value depends on released ones if it is, or is computed from,
 *
 *	- a column of a release, or of a subquery, WITH query or function in FROM
 *	  that contains or uses one;
 *	- what a subquery in an expression returns that contains or uses one;
 *	- an aggregate or window function over rows of such.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../expressions/dp_expressions.h"
#include "dp_split.h"

/* A query level on the way down. */
typedef struct released_level
{
	struct released_level *outer;
	const Query *query;
	Oid			marker;			/* the function that stands for a release */
	Bitmapset  *withs;			/* of its WITH queries, from 0 */
	Bitmapset  *entries;		/* of its range table, from 1 */
	List	   *written;		/* its lists of values for columns */
	bool		rows;			/* which rows it has depends on them */
	bool		element;		/* inside a cast of the elements of one */
	bool		found;			/* what the mutator has met depends on them */
} released_level;

/* A search in a level below that of `level`. */
typedef struct below_search
{
	const released_level *level;
	int			depth;			/* of the levels between */
} below_search;

static bool depends(const Node *node, const released_level *level);

static const released_level *
level_up(const released_level *level, int n)
{
	while (n-- > 0 && level != NULL)
		level = level->outer;
	return level;
}

/* ---- what depends ---- */

static bool
is_release(const RangeTblEntry *entry, Oid marker)
{
	const RangeTblFunction *function;

	if (entry->rtekind != RTE_FUNCTION || list_length(entry->functions) != 1)
		return false;
	function = linitial(entry->functions);
	return IsA(function->funcexpr, FuncExpr) &&
		((FuncExpr *) function->funcexpr)->funcid == marker;
}

static bool
with_depends(const char *name, const released_level *level)
{
	ListCell   *lc;

	if (level == NULL)
		return false;
	foreach(lc, level->query->cteList)
		if (strcmp(((CommonTableExpr *) lfirst(lc))->ctename, name) == 0)
			return bms_is_member(foreach_current_index(lc), level->withs);
	return false;
}

static bool
column_depends(List *expressions, int attnum, const released_level *level)
{
	if (attnum <= 0 || attnum > list_length(expressions))
		return depends((Node *) expressions, level);
	return depends(list_nth(expressions, attnum - 1), level);
}

static bool
var_depends(const Var *var, const released_level *level)
{
	List	   *expressions;

	if (level == NULL || var->varno < 1 ||
		(int) var->varno > list_length(level->query->rtable))
		return false;
	expressions = dp_base_stands_for(rt_fetch(var->varno,
											  level->query->rtable));
	return expressions != NIL ?
		column_depends(expressions, var->varattno, level) :
		bms_is_member(var->varno, level->entries);
}

/* Whether a query below a level contains a release, or uses one above. */
static bool
below_walker(Node *node, void *context)
{
	below_search *search = context;
	bool		found;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (RangeTblEntry *) node;

		if (entry->rtekind == RTE_CTE &&
			(int) entry->ctelevelsup > search->depth)
			return with_depends(entry->ctename,
								level_up(search->level,
										 entry->ctelevelsup - search->depth -
										 1));
		return is_release(entry, search->level->marker);
	}
	if (IsA(node, Var))
		return (int) ((Var *) node)->varlevelsup > search->depth &&
			var_depends((Var *) node,
						level_up(search->level, ((Var *) node)->varlevelsup -
								 search->depth - 1));
	if (IsA(node, Query))
	{
		search->depth++;
		found = query_tree_walker((Query *) node, below_walker, search,
								  QTW_EXAMINE_RTES_BEFORE);
		search->depth--;
		return found;
	}
	return expression_tree_walker(node, below_walker, context);
}

static bool
query_depends(const Query *query, const released_level *level)
{
	below_search search = {level, 0};

	return query_tree_walker((Query *) query, below_walker, &search,
							 QTW_EXAMINE_RTES_BEFORE);
}

/* Whether a node depends, whatever its arguments do. */
static bool
node_depends(const Node *node, const released_level *level)
{
	const released_level *rows = NULL;

	if (IsA(node, Var))
		return var_depends((const Var *) node,
						   level_up(level,
									((const Var *) node)->varlevelsup));
	if (IsA(node, CaseTestExpr))
		return level->element;
	if (IsA(node, SubLink))
		return query_depends((Query *) ((const SubLink *) node)->subselect,
							 level);
	if (IsA(node, Aggref))
		rows = level_up(level, ((const Aggref *) node)->agglevelsup);
	else if (IsA(node, WindowFunc))
		rows = level;
	return rows != NULL && rows->rows;
}

static bool
depends_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))	/* of a SubLink */
		return false;
	return node_depends(node, context) ||
		expression_tree_walker(node, depends_walker, context);
}

static bool
depends(const Node *node, const released_level *level)
{
	return depends_walker((Node *) node, (void *) level);
}

static bool
entry_depends(const RangeTblEntry *entry, const released_level *level)
{
	switch (entry->rtekind)
	{
		case RTE_SUBQUERY:
			return query_depends(entry->subquery, level);
		case RTE_CTE:
			return with_depends(entry->ctename,
								level_up(level, entry->ctelevelsup));
		case RTE_FUNCTION:
			return is_release(entry, level->marker) ||
				depends((Node *) entry->functions, level);
		case RTE_VALUES:
			return depends((Node *) entry->values_lists, level);
		case RTE_TABLEFUNC:
			return depends((Node *) entry->tablefunc, level);
		default:
			return false;
	}
}

/* The lists whose values a query writes to columns; VALUES may have many. */
static List *
written_lists(const Query *query)
{
	List	   *lists = list_make1(query->targetList);
	ListCell   *lc;

	if (query->commandType == CMD_SELECT)
		return NIL;
	if (query->onConflict != NULL)
		lists = lappend(lists, query->onConflict->onConflictSet);
	foreach(lc, query->mergeActionList)
		lists = lappend(lists, lfirst_node(MergeAction, lc)->targetList);
	foreach(lc, query->rtable)
	{
		List	   *values = lfirst_node(RangeTblEntry, lc)->values_lists;

		if (values != NIL)
			lists = lappend(lists, values);
	}
	return lists;
}

static void
enter_level(released_level *level)
{
	const Query *query = level->query;
	ListCell   *lc;

	level->written = written_lists(query);
	foreach(lc, query->cteList)
	{
		CommonTableExpr *with = lfirst(lc);

		if (query_depends((Query *) with->ctequery, level))
			level->withs = bms_add_member(level->withs,
										  foreach_current_index(lc));
	}
	foreach(lc, query->rtable)
		if (entry_depends(lfirst(lc), level))
			level->entries = bms_add_member(level->entries,
											foreach_current_index(lc) + 1);
	level->rows = !bms_is_empty(level->entries) ||
		depends((Node *) query->jointree, level);
}

/* ---- what is made of it ---- */

static Const *
make_zero(Oid type)
{
	int16		length;
	bool		by_value;
	Oid			input;
	Oid			parameter;

	getTypeInputInfo(type, &input, &parameter);
	get_typlenbyval(type, &length, &by_value);
	return makeConst(type, -1, InvalidOid, length,
					 OidInputFunctionCall(input, "0", parameter, -1), false,
					 by_value);
}

/* int8larger(number, 0): NULL, which is no limit, stays. */
static Node *
guard_limit(Node *number, const released_level *level)
{
	if (!depends(number, level))
		return number;
	return (Node *) makeFuncExpr(F_INT8LARGER, INT8OID,
								 list_make2(number, make_zero(INT8OID)),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* GREATEST(number, 0): 0 also for NULL. */
static Node *
at_least_zero(Node *number)
{
	MinMaxExpr *greatest = makeNode(MinMaxExpr);

	greatest->minmaxtype = exprType(number);
	greatest->op = IS_GREATEST;
	greatest->args = list_make2(number, make_zero(exprType(number)));
	greatest->location = -1;
	return (Node *) greatest;
}

/* NULLIF(number, 0) */
static Node *
null_if_zero(Node *number)
{
	NullIfExpr *tested = makeNode(NullIfExpr);
	Oid			type = exprType(number);

	tested->opno = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	set_opfuncid((OpExpr *) tested);
	tested->opresulttype = type;
	tested->args = list_make2(number, make_zero(type));
	tested->location = -1;
	return (Node *) tested;
}

static Node *
guard_frame(Node *number, const released_level *level)
{
	return depends(number, level) ? at_least_zero(number) : number;
}

/* ntile and nth_value fail for numbers below 1. */
static void
guard_window(WindowFunc *call, const released_level *level)
{
	Node	   *number;

	if (call->winfnoid != F_NTILE && call->winfnoid != F_NTH_VALUE)
		return;
	number = llast(call->args);
	if (depends(number, level))
		llast(call->args) = null_if_zero(at_least_zero(number));
}

/* generate_series fails for steps of 0. */
static void
guard_series(FuncExpr *call, const released_level *level)
{
	ListCell   *step;

	switch (call->funcid)
	{
		case F_GENERATE_SERIES_INT4_INT4_INT4:
		case F_GENERATE_SERIES_INT8_INT8_INT8:
		case F_GENERATE_SERIES_NUMERIC_NUMERIC_NUMERIC:
		case F_GENERATE_SERIES_TIMESTAMP_TIMESTAMP_INTERVAL:
		case F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL:
#ifdef F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_TEXT
		case F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_TEXT:
#endif
			step = list_nth_cell(call->args, 2);
			if (depends(lfirst(step), level))
				lfirst(step) = null_if_zero(lfirst(step));
	}
}

static void
guard_level(Query *query, const released_level *level)
{
	ListCell   *lc;

	query->limitCount = guard_limit(query->limitCount, level);
	query->limitOffset = guard_limit(query->limitOffset, level);
	foreach(lc, query->windowClause)
	{
		WindowClause *window = lfirst_node(WindowClause, lc);

		window->startOffset = guard_frame(window->startOffset, level);
		window->endOffset = guard_frame(window->endOffset, level);
	}
}

static Node *released_mutator(Node *node, void *context);

/* Whether the node is a cast that nobody wrote. */
static bool
is_implicit_cast(const Node *node)
{
	if (IsA(node, FuncExpr))
		return ((const FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST;
	if (IsA(node, RelabelType))
		return ((const RelabelType *) node)->relabelformat ==
			COERCE_IMPLICIT_CAST;
	if (IsA(node, ArrayCoerceExpr))
		return ((const ArrayCoerceExpr *) node)->coerceformat ==
			COERCE_IMPLICIT_CAST;
	return IsA(node, CoerceToDomain) &&
		((const CoerceToDomain *) node)->coercionformat ==
		COERCE_IMPLICIT_CAST;
}

/* Values for columns: at their top the casts to the columns' types stay. */
static Node *
written_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, List) || IsA(node, TargetEntry) || IsA(node, FieldStore) ||
		(IsA(node, SubscriptingRef) &&
		 ((SubscriptingRef *) node)->refassgnexpr != NULL) ||
		is_implicit_cast(node))
		return expression_tree_mutator(node, written_mutator, context);
	return released_mutator(node, context);
}

static Node *
guard_call(Node *call, released_level *level)
{
	Node	   *inlined = dp_expressions_inline_builtin(call);

	return inlined != call ? released_mutator(inlined, level) :
		dp_expressions_null_on_error(call);
}

/* The guarded node, of which something inside depends or not. */
static Node *
guard_node(Node *node, bool inside, released_level *level)
{
	if (IsA(node, WindowFunc))
		guard_window((WindowFunc *) node, level);
	if (!inside)
		return node;
	if (IsA(node, OpExpr))
		return guard_call(node, level);
	if (IsA(node, FuncExpr))
	{
		guard_series((FuncExpr *) node, level);
		return guard_call(node, level);
	}
	if (IsA(node, ArrayCoerceExpr) && !level->element)
	{
		ArrayCoerceExpr *cast = (ArrayCoerceExpr *) node;

		level->element = true;
		cast->elemexpr = (Expr *) released_mutator((Node *) cast->elemexpr,
												   level);
		level->element = false;
	}
	return node;
}

static Node *
released_mutator(Node *node, void *context)
{
	released_level *level = context;
	Node	   *copy;
	bool		before;
	bool		inside;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		released_level below = {level, (Query *) node, level->marker};

		enter_level(&below);
		copy = (Node *) query_tree_mutator((Query *) node, released_mutator,
										   &below, 0);
		guard_level((Query *) copy, &below);
		return copy;
	}
	if (IsA(node, List) && list_member_ptr(level->written, node))
		return written_mutator(node, level);
	before = level->found;
	level->found = false;
	copy = expression_tree_mutator(node, released_mutator, context);
	inside = level->found;
	level->found |= before || node_depends(node, level);
	return guard_node(copy, inside, level);
}

/* dp_split_guard_released: see dp_split.h. */
void
dp_split_guard_released(Query *query, Oid marker)
{
	released_level outside = {NULL, makeNode(Query), marker};
	Query	   *guarded = (Query *) released_mutator((Node *) query, &outside);

	*query = *guarded;
}
