/*
 * answer_probe.c
 *	  Levels whose result is known without reading rows, such as those by which
 *	  tools learn names and types.
 *
 * FROM is removed from such a level, and with it all required rights: only
 * constants remain.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/portal.h"

#include "level.h"

/* ---- recognition ---- */

static bool
is_never_true(Node *condition)
{
	Const	   *constant;

	if (condition == NULL)
		return false;
	constant = (Const *) eval_const_expressions(NULL, copyObject(condition));
	return IsA(constant, Const) &&
		(constant->constisnull || !DatumGetBool(constant->constvalue));
}

/* A constant LIMIT, or -1. */
static int64
constant_limit(const Query *query)
{
	Const	   *constant;

	if (query->limitCount == NULL)
		return -1;
	constant = (Const *)
		eval_const_expressions(NULL, copyObject(query->limitCount));
	if (!IsA(constant, Const) || constant->constisnull ||
		constant->consttype != INT8OID)
		return -1;
	return DatumGetInt64(constant->constvalue);
}

static bool
lacks_right_walker(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, lacks_right_walker, context);
	foreach(lc, ((Query *) node)->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (OidIsValid(entry->relid) && !dp_rewrite_is_protected(entry) &&
			!dp_compat_has_right((Query *) node, entry))
			return true;
	}
	return query_tree_walker((Query *) node, lacks_right_walker, context, 0);
}

/*
 * Whether the user has the required rights on everything else, such as views.
 */
static bool
may_ask(Node *query)
{
	return !lacks_right_walker(query, NULL);
}

/* ---- the result ---- */

/* The value of an aggregate over no rows. */
static Node *
of_no_rows(const Aggref *aggregate)
{
	if (dp_catalog_is_count(aggregate->aggfnoid))
		return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
								  Int64GetDatum(0), false, FLOAT8PASSBYVAL);
	return (Node *) makeNullConst(aggregate->aggtype, -1,
								  aggregate->aggcollid);
}

static Node *
constant_mutator(Node *node, void *context)
{
	int		   *level = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == *level)
		return of_no_rows((Aggref *) node);
	if (*level == 0 && IsA(node, FuncExpr) &&
		((FuncExpr *) node)->funcid >= FirstNormalObjectId &&
		((FuncExpr *) node)->funcid == dp_catalog_error_function())
		return (Node *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	/* without grouping sets, which were excluded, GROUPING is 0 */
	if (IsA(node, GroupingFunc) &&
		(int) ((GroupingFunc *) node)->agglevelsup == *level)
		return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								  Int32GetDatum(0), false, true);
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == *level)
		return (Node *) makeNullConst(exprType(node), exprTypmod(node),
									  exprCollation(node));
	if (IsA(node, Query))
	{
		Query	   *copy;

		(*level)++;
		copy = query_tree_mutator((Query *) node, constant_mutator, context,
								  0);
		(*level)--;
		return (Node *) copy;
	}
	return expression_tree_mutator(node, constant_mutator, context);
}

/* Turn the level into one over no rows. */
static void
set_no_rows(Query *query)
{
	bool		one_row = (query->hasAggs || query->havingQual != NULL) &&
	query->groupClause == NIL;
	int			depth = 0;
	Node	   *having;

	query->targetList = (List *)
		constant_mutator((Node *) query->targetList, &depth);
	having = constant_mutator(query->havingQual, &depth);
	query->jointree = makeFromExpr(NIL, one_row ? having :
								   makeBoolConst(false, false));
	query->havingQual = NULL;
	query->groupClause = NIL;
	query->groupDistinct = false;
	query->hasAggs = false;
	query->rowMarks = NIL;
	query->constraintDeps = NIL;
	dp_compat_drop_entries(query);
}

/*
 * dp_rewrite_answer_probe
 *	  Answer a level over private rows for which WHERE, or LIMIT 0, excludes
 *	  all rows; false if it is not such a level.
 */
bool
dp_rewrite_answer_probe(Query *query)
{
	if (query->groupingSets != NIL || query->jointree == NULL)
		return false;
	if (!is_never_true(query->jointree->quals) &&
		(constant_limit(query) != 0 || query->hasAggs ||
		 query->hasModifyingCTE))
		return false;
	if (!may_ask((Node *) query))
		return false;
	set_no_rows(query);
	return true;
}

/* ---- previews ---- */

/*
 * Whether the client itself will see the rows of the planned statement.  A
 * function's statement has another text.  CREATE TABLE AS and COPY have the
 * client's text, as have the queries of cursors and EXPLAIN.
 */
static bool
is_clients(const char *text)
{
	Node	   *utility;

	if (text == NULL || text != debug_query_string)
		return false;
	if (ActivePortal == NULL)
		return true;
	if (list_length(ActivePortal->stmts) != 1)
		return false;
	utility = linitial_node(PlannedStmt, ActivePortal->stmts)->utilityStmt;
	if (utility != NULL && IsA(utility, ExplainStmt))
	{
		Query	   *explained = (Query *) ((ExplainStmt *) utility)->query;

		return IsA(explained, Query) && explained->commandType == CMD_SELECT;
	}
	return utility != NULL && IsA(utility, DeclareCursorStmt);
}

/*
 * If the level shows single rows of a protected relation, the level, it or one
 * below, that reads the relation; otherwise NULL. *limited: a constant number
 * of rows; *rtindex: the relation's entry.
 */
static Query *
shows_rows(Query *query, bool *limited, int *rtindex)
{
	RangeTblEntry *entry;

	*limited = *limited || constant_limit(query) >= 0;
	if (query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->hasAggs || query->groupClause != NIL ||
		query->distinctClause != NIL || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->hasSubLinks || query->rowMarks != NIL ||
		query->hasModifyingCTE || query->cteList != NIL ||
		list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return NULL;
	*rtindex = linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex;
	entry = rt_fetch(*rtindex, query->rtable);
	if (entry->rtekind == RTE_SUBQUERY)
		return shows_rows(entry->subquery, limited, rtindex);
	return dp_rewrite_is_protected(entry) ? query : NULL;
}

/*
 * dp_rewrite_answer_preview
 *	  Answer a statement that asks for the first rows of a protected relation,
 *	  as tools do for previews, with rows of its twin or without rows; false if
 *	  it is not such a statement.
 *
 * In a function or a statement that writes, no rows would be mistaken for a
 * result; so there it is refused.
 */
bool
dp_rewrite_answer_preview(Query *query, const char *text)
{
	bool		limited = false;
	Query	   *level;
	int			rtindex;

	if (!is_clients(text))
		return false;
	level = shows_rows(query, &limited, &rtindex);
	if (level == NULL || !limited || !may_ask((Node *) query))
		return false;
	if (dp_rewrite_show_twin(level, rtindex))
		return true;
	set_no_rows(query);
	ereport(NOTICE,
			(errmsg("rows of a protected relation are not shown"),
			 errdetail("A preview has its columns and no row."),
			 errhint("Ask for aggregates, such as count or avg.")));
	return true;
}
