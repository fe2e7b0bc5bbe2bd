/*
 * error_place.c
 *	  dp_error(value): moves the call to the level of the aggregate.
 *
 *	  SELECT n, dp_error(n) FROM (SELECT dp_count(*) AS n FROM person) q
 *
 * becomes
 *
 *	  SELECT n, error FROM (SELECT dp_count(*) AS n,
 *						   dp_error(dp_count(*)) AS error FROM person) q
 *
 * so that each call is at the level of its aggregate, and splitting makes it a
 * column of the release (outer.c).  Calls are pushed down through
 * subqueries, views, WITH queries and UNION ALL, but not through levels that
 * merge rows, since an error belongs to one value.  A call that does not reach
 * an aggregate is refused.
 *
 * Privacy does not depend on this file: errors are as public as values
 * (doc/theory.md T131).
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../rowsets/dp_rowsets.h"
#include "split_internal.h"

/* ----------------
 *		Whole rows of subqueries: q in SELECT q FROM (..) AS q.
 * ----------------
 */

typedef struct whole_row_walk
{
	List	   *levels;			/* of Query *, the innermost first */
	const Var  *found;
} whole_row_walk;

static bool
whole_row_walker(Node *node, void *context)
{
	whole_row_walk *walk = context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		bool		stop;

		walk->levels = lcons(node, walk->levels);
		stop = query_tree_walker((Query *) node, whole_row_walker, context,
								 QTW_IGNORE_JOINALIASES);
		walk->levels = list_delete_first(walk->levels);
		return stop;
	}
	if (!IsA(node, Var))
		return expression_tree_walker(node, whole_row_walker, context);
	if (var->varattno == 0 && (int) var->varlevelsup <
		list_length(walk->levels))
	{
		const Query *level = list_nth(walk->levels, var->varlevelsup);
		RTEKind		kind = rt_fetch(var->varno, level->rtable)->rtekind;

		if (kind == RTE_SUBQUERY || kind == RTE_CTE)
			walk->found = var;
	}
	return walk->found != NULL;
}

/*
 * check_whole_rows
 *	  Refuse a query that uses a whole row of a subquery, since the row would
 *	  include the errors of its columns.
 */
static dp_refusal *
check_whole_rows(Query *query)
{
	whole_row_walk walk = {NIL};

	if (!whole_row_walker((Node *) query, &walk))
		return NULL;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  walk.found->location,
						  "The error would be one more column of that row.",
						  "Name the columns that are wanted.",
						  "dp_error is not supported together with a whole "
						  "row of a subquery");
}

typedef struct error_placing
{
	Oid			function;		/* dp_error */
	List	  **inval_items;
	List	   *levels;			/* of Query *: those in reach, innermost
								 * first */
	int			depth;			/* of a walk, below the innermost level */
	int			aggregates;		/* aggregates of that level around the current
								 * node */
	List	   *asked;			/* of Var *: columns whose errors it asks
								 * for */
	List	   *columns;		/* of int: the columns that return these */
	dp_refusal *refusal;
	bool		widened;		/* a subquery got an additional column */
} error_placing;

static void place_level(error_placing *p, Query *query);

/* ---- the value whose error is asked for ---- */

static bool
error_place_is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID ||
		type == FLOAT4OID || type == FLOAT8OID || type == NUMERICOID;
}

/*
 * Does a numeric type keep at least the digits of another that matter beside
 * the noise?
 */
static bool
has_digits_of(Oid type, Oid other)
{
	switch (type)
	{
		case NUMERICOID:
		case FLOAT8OID:
			return true;
		case INT8OID:
		case INT4OID:
		case INT2OID:
			return other == INT8OID || other == INT4OID || other == INT2OID;
		case FLOAT4OID:
			return other == FLOAT4OID || other == INT2OID;
		default:
			return false;
	}
}

/* A cast from a numeric type to another that does not lose digits. */
static bool
is_cast(const FuncExpr *call)
{
	return (call->funcformat == COERCE_EXPLICIT_CAST ||
			call->funcformat == COERCE_IMPLICIT_CAST) &&
		call->funcid < FirstNormalObjectId && list_length(call->args) == 1 &&
		error_place_is_number(exprType(linitial(call->args))) &&
		has_digits_of(call->funcresulttype, exprType(linitial(call->args)));
}

/*
 * dp_split_kept_count
 *	  The count of greatest(count, 0), a released count that is clamped at
 *	  zero; NULL if the node is another one.
 */
Node *
dp_split_kept_count(Node *node)
{
	const MinMaxExpr *expression = (const MinMaxExpr *) node;
	Node	   *count;
	Const	   *zero;
	dp_aggregate_kind kind;

	if (!IsA(node, MinMaxExpr) || expression->op != IS_GREATEST ||
		list_length(expression->args) != 2)
		return NULL;
	count = linitial(expression->args);
	if (!IsA(count, Aggref))
		return NULL;
	zero = (Const *) eval_const_expressions(NULL, lsecond(expression->args));
	if (!IsA(zero, Const) || zero->consttype != INT8OID || zero->constisnull ||
		DatumGetInt64(zero->constvalue) != 0)
		return NULL;
	kind = dp_catalog_aggregate_kind(((Aggref *) count)->aggfnoid);
	return dp_catalog_counts_rows(kind) ? count : NULL;
}

/*
 * dp_split_error_of
 *	  The aggregate or column whose error a call of dp_error asks for, under
 *	  expressions that do not change the error; or whatever else the argument
 *	  is.
 */
Node *
dp_split_error_of(const FuncExpr *call)
{
	Node	   *node = linitial(call->args);

	for (;;)
	{
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, FuncExpr) && is_cast((FuncExpr *) node))
			node = linitial(((FuncExpr *) node)->args);
		else if (dp_split_kept_count(node) != NULL)
			node = dp_split_kept_count(node);
		else
			return node;
	}
}

static bool
is_call(const Node *node, Oid function)
{
	return IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == function;
}

static dp_refusal *
refuse(const Node *call)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, exprLocation(call),
						  "Its argument is neither a private aggregate nor "
						  "the column of a subquery that is one, row by "
						  "row.",
						  "Write the aggregate itself, as in "
						  "dp_error(dp_count(*)), or the name of a "
						  "subquery's column that is one.",
						  "dp_error needs a private value");
}

/* ---- columns that are asked for ---- */

/* Does a row of the level represent several rows that it reads? */
static bool
merges_rows(const Query *query)
{
	return query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL;
}

static bool
error_place_is_grouped(const Query *query, const Node *call)
{
	ListCell   *lc;
	ListCell   *clause;

	foreach(lc, query->targetList)
	{
		const TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (target->ressortgroupref == 0 || !equal(target->expr, call))
			continue;
		foreach(clause, query->groupClause)
			if (lfirst_node(SortGroupClause, clause)->tleSortGroupRef ==
				target->ressortgroupref)
				return true;
	}
	return false;
}

/* The column of the innermost level whose error a call asks for, or NULL. */
static Var *
asked_column(const error_placing *p, const Node *node)
{
	Var		   *var;

	if (!is_call(node, p->function))
		return NULL;
	var = (Var *) dp_split_error_of((const FuncExpr *) node);
	return IsA(var, Var) && (int) var->varlevelsup == p->depth ? var : NULL;
}

static int
error_place_place_of(const error_placing *p, const Var *var)
{
	ListCell   *lc;

	foreach(lc, p->asked)
		if (((Var *) lfirst(lc))->varno == var->varno &&
			((Var *) lfirst(lc))->varattno == var->varattno)
			return foreach_current_index(lc);
	return -1;
}

static bool
ask_walker(Node *node, void *context)
{
	error_placing *p = context;
	const Query *query = linitial(p->levels);
	Var		   *var;
	bool		inside;

	if (node == NULL)
		return false;
	var = asked_column(p, node);
	if (var != NULL)
	{
		if (merges_rows(query) && p->aggregates == 0 &&
			!error_place_is_grouped(query, node))
			p->refusal = refuse(node);
		else if (error_place_place_of(p, var) < 0)
			p->asked = lappend(p->asked, var);
		return p->refusal != NULL;
	}
	if (IsA(node, Query))
	{
		p->depth++;
		(void) query_tree_walker((Query *) node, ask_walker, context, 0);
		p->depth--;
		return p->refusal != NULL;
	}
	inside = IsA(node, Aggref) &&
		(int) ((Aggref *) node)->agglevelsup == p->depth;
	p->aggregates += inside;
	(void) expression_tree_walker(node, ask_walker, context);
	p->aggregates -= inside;
	return p->refusal != NULL;
}

/* ---- one more column of a subquery ---- */

static int
error_place_count_columns(const Query *query)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, query->targetList)
		n += !lfirst_node(TargetEntry, lc)->resjunk;
	return n;
}

/* The column with this expression, which is added if there is none. */
static int
error_place_find_column(Query *query, Expr *expression)
{
	int			n = error_place_count_columns(query);
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);

		if (!target->resjunk && equal(target->expr, expression))
			return target->resno;
	}
	foreach(lc, query->targetList)
		if (lfirst_node(TargetEntry, lc)->resjunk)
			lfirst_node(TargetEntry, lc)->resno++;
	query->targetList =
		list_insert_nth(query->targetList, n,
						makeTargetEntry(expression, n + 1,
										pstrdup("error"), false));
	return n + 1;
}

static int	error_place_add_column(error_placing *p, Query *query,
								   AttrNumber of);

/* The same in all branches of UNION ALL, as column n of each; or false. */
static bool
add_to_branches(error_placing *p, Query *query, Node *tree, AttrNumber of,
				int n, bool new)
{
	SetOperationStmt *both = (SetOperationStmt *) tree;
	RangeTblEntry *entry;

	if (IsA(tree, RangeTblRef))
	{
		entry = rt_fetch(((RangeTblRef *) tree)->rtindex, query->rtable);
		if (error_place_add_column(p, entry->subquery, of) != n)
			return false;
		dp_rowsets_name_columns(entry, n, "error");
		return true;
	}
	if (both->op != SETOP_UNION || !both->all)
		return false;
	if (new)
	{
		both->colTypes = lappend_oid(both->colTypes, FLOAT8OID);
		both->colTypmods = lappend_int(both->colTypmods, -1);
		both->colCollations = lappend_oid(both->colCollations, InvalidOid);
	}
	return add_to_branches(p, query, both->larg, of, n, new) &&
		add_to_branches(p, query, both->rarg, of, n, new);
}

static int
add_to_union(error_placing *p, Query *query, AttrNumber of)
{
	Node	   *first = query->setOperations;
	int			n;

	while (IsA(first, SetOperationStmt))
		first = ((SetOperationStmt *) first)->larg;
	n = error_place_add_column(p, rt_fetch(((RangeTblRef *) first)->rtindex,
										   query->rtable)->subquery, of);
	if (n == 0 ||
		!add_to_branches(p, query, query->setOperations, of, n,
						 n > error_place_count_columns(query)))
		return 0;
	return error_place_find_column(query, (Expr *)
								   makeVar(((RangeTblRef *) first)->rtindex, n,
										   FLOAT8OID, -1, InvalidOid, 0));
}

/* The column of a query that is the error of another column; 0 if none. */
static int
error_place_add_column(error_placing *p, Query *query, AttrNumber of)
{
	TargetEntry *target = get_tle_by_resno(query->targetList, of);
	Expr	   *call;

	if (query->commandType != CMD_SELECT || query->distinctClause != NIL ||
		target == NULL || target->resjunk)
		return 0;
	if (query->setOperations != NULL)
		return add_to_union(p, query, of);
	call = (Expr *) makeFuncExpr(p->function, FLOAT8OID,
								 list_make1(copyObject(target->expr)),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
	((FuncExpr *) call)->location = exprLocation((Node *) target->expr);
	return error_place_find_column(query, call);
}

static CommonTableExpr *
find_with_query(const error_placing *p, const RangeTblEntry *entry)
{
	const Query *query = list_nth(p->levels, entry->ctelevelsup);
	ListCell   *lc;

	foreach(lc, query->cteList)
		if (strcmp(lfirst_node(CommonTableExpr, lc)->ctename,
				   entry->ctename) == 0)
			return lfirst(lc);
	elog(ERROR, "WITH query \"%s\" not found", entry->ctename);
	return NULL;
}

static void
extend_types(List **types, List **typmods, List **collations, int columns)
{
	while (list_length(*types) < columns)
	{
		*types = lappend_oid(*types, FLOAT8OID);
		*typmods = lappend_int(*typmods, -1);
		*collations = lappend_oid(*collations, InvalidOid);
	}
}

static int
add_to_with_query(error_placing *p, RangeTblEntry *entry, AttrNumber of)
{
	CommonTableExpr *cte = find_with_query(p, entry);
	int			n;

	if (cte->cterecursive)
		return 0;
	n = error_place_add_column(p, castNode(Query, cte->ctequery), of);
	while (list_length(cte->ctecolnames) < n)
		cte->ctecolnames = lappend(cte->ctecolnames,
								   makeString(pstrdup("error")));
	extend_types(&cte->ctecoltypes, &cte->ctecoltypmods,
				 &cte->ctecolcollations, n);
	extend_types(&entry->coltypes, &entry->coltypmods, &entry->colcollations,
				 n);
	return n;
}

/* The column of an entry of the innermost level that is the error of `of`. */
static int
add_to_entry(error_placing *p, RangeTblEntry *entry, AttrNumber of)
{
	int			n = 0;

	if (entry->rtekind == RTE_SUBQUERY)
		n = error_place_add_column(p, entry->subquery, of);
	else if (entry->rtekind == RTE_CTE)
		n = add_to_with_query(p, entry, of);
	dp_rowsets_name_columns(entry, n, "error");
	p->widened = true;
	return n;
}

/* ---- the levels ---- */

static Node *
place_mutator(Node *node, void *context)
{
	error_placing *p = context;
	Var		   *var;

	if (node == NULL)
		return NULL;
	var = asked_column(p, node);
	if (var != NULL)
	{
		int			n = list_nth_int(p->columns, error_place_place_of(p, var));

		if (n == 0 && p->refusal == NULL)
			p->refusal = refuse(node);
		var = copyObject(var);
		var->varattno = n;
		var->vartype = FLOAT8OID;
		var->vartypmod = -1;
		var->varcollid = InvalidOid;
		var->varnosyn = var->varno;
		var->varattnosyn = n;
		return (Node *) var;
	}
	if (IsA(node, Query))
	{
		p->depth++;
		node = (Node *) query_tree_mutator((Query *) node, place_mutator,
										   context, 0);
		p->depth--;
		return node;
	}
	return expression_tree_mutator(node, place_mutator, context);
}

/* Place the calls in the level, and below it, that ask for its own columns. */
static void
place_own(error_placing *p, Query *query)
{
	ListCell   *lc;

	p->asked = NIL;
	p->columns = NIL;
	(void) query_tree_walker(query, ask_walker, p, 0);
	if (p->refusal != NULL || p->asked == NIL)
		return;
	foreach(lc, p->asked)
	{
		const Var  *var = lfirst(lc);
		RangeTblEntry *entry = rt_fetch(var->varno, query->rtable);

		p->columns = lappend_int(p->columns,
								 add_to_entry(p, entry, var->varattno));
	}
	(void) query_tree_mutator(query, place_mutator, p, QTW_DONT_COPY_QUERY);
}

static bool
place_below(Node *node, const dp_walk *walk)
{
	error_placing *p = walk->context;

	if (IsA(node, Query))
		place_level(p, (Query *) node);
	return p->refusal != NULL;
}

/*
 * WITH queries come last, the later ones first, since they refer to earlier
 * ones.
 */
static void
place_level(error_placing *p, Query *query)
{
	List	   *levels = p->levels;
	ListCell   *lc;
	int			i;

	check_stack_depth();
	if (query->commandType == CMD_UTILITY || p->refusal != NULL)
		return;
	(void) dp_rowsets_inline_functions(query, p->inval_items);
	dp_base_ungroup(query);
	p->levels = lcons(query, list_copy(levels));
	place_own(p, query);
	foreach(lc, query->rtable)
		if (lfirst_node(RangeTblEntry, lc)->rtekind == RTE_SUBQUERY)
			place_level(p, lfirst_node(RangeTblEntry, lc)->subquery);
	(void) dp_base_contains((Node *) query, place_below, p,
							DP_WALK_INSIDE | DP_WALK_ONE_LEVEL |
							QTW_IGNORE_RC_SUBQUERIES);
	for (i = list_length(query->cteList) - 1; i >= 0; i--)
		place_level(p, (Query *)
					list_nth_node(CommonTableExpr, query->cteList,
								  i)->ctequery);
	p->levels = levels;
}

/* ---- all of them ---- */

static bool
is_error_call(Node *node, const dp_walk *walk)
{
	return is_call(node, *(Oid *) walk->context);
}

/* Refuses a call that does not ask for the error of an aggregate. */
static bool
check_walker(Node *node, void *context)
{
	error_placing *p = context;

	if (node == NULL)
		return false;
	if (is_call(node, p->function))
	{
		Node	   *value = dp_split_error_of((FuncExpr *) node);

		if (!IsA(value, Aggref) ||
			dp_catalog_aggregate_kind(((Aggref *) value)->aggfnoid) ==
			DP_AGG_NONE)
			p->refusal = refuse(node);
		return p->refusal != NULL;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, check_walker, context, 0);
	return expression_tree_walker(node, check_walker, context);
}

/*
 * dp_split_place_errors
 *	  Move each call of dp_error in a query, not yet split, to the level of the
 *	  aggregate whose error it asks for.  Returns a refusal, or NULL;
 *	  *inval_items as dp_split_all.
 */
dp_refusal *
dp_split_place_errors(Query *query, List **inval_items)
{
	error_placing p = {dp_catalog_error_function(), inval_items};

	if (!OidIsValid(p.function) ||
		!dp_base_contains((Node *) query, is_error_call, &p.function, 0))
		return NULL;
	place_level(&p, query);
	if (p.refusal == NULL && p.widened)
		p.refusal = check_whole_rows(query);
	if (p.refusal == NULL)
		(void) query_tree_walker(query, check_walker, &p, 0);
	return p.refusal;
}
