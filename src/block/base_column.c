/*
 * base_column.c
 *	  Expressions of a verified level over the columns of leaves.
 *
 * A column of a subquery is what the subquery computes.  If an outer join
 * leaves out the subquery's row it is NULL instead.  Most expressions are NULL
 * anyway if all their columns are; for others the base is CASE WHEN the leaf
 * has a row THEN .. END.  Likewise a column of UNION ALL is CASE WHEN the
 * second arm has a row THEN .. ELSE .. END.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "read_rows.h"

static Node *is_there(const RangeTblEntry *entry);

/*
 * An expression that is true if an item has a row: that of a leaf which is
 * left out only together with all others, or for a full join that of either
 * side.
 */
static Node *
item_is_there(const Node *item, const Query *level)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return is_there(rt_fetch(((const RangeTblRef *) item)->rtindex,
								 level->rtable));
	if (join->jointype == JOIN_FULL)
		return (Node *)
			makeBoolExpr(OR_EXPR, list_make2(item_is_there(join->larg, level),
											 item_is_there(join->rarg, level)),
						 -1);
	return item_is_there(join->jointype == JOIN_RIGHT ? join->rarg :
						 join->larg, level);
}

static Node *
is_there(const RangeTblEntry *entry)
{
	Var		   *row;

	if (entry->rtekind == RTE_SUBQUERY)
		return item_is_there(linitial(dp_block_from(entry->subquery)),
							 entry->subquery);
	row = makeVar(dp_block_leaf_number(entry), InvalidAttrNumber, RECORDOID,
				  -1, InvalidOid, 0);
	return dp_block_null_test((Node *) row, IS_NOT_NULL);
}

/* CASE WHEN the entry has a row THEN base ELSE other END */
static Node *
choose(const RangeTblEntry *entry, Node *base, Node *other)
{
	CaseExpr   *result = makeNode(CaseExpr);
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = (Expr *) is_there(entry);
	when->result = (Expr *) base;
	when->location = -1;
	result->casetype = exprType(base);
	result->casecollid = exprCollation(base);
	result->args = list_make1(when);
	result->defresult = (Expr *) other;
	result->location = -1;
	return (Node *) result;
}

/* The base of a column of a subquery that may be left out. */
static Node *
null_if_absent(Node *base, const RangeTblEntry *entry)
{
	if (!bms_is_empty(pull_varnos(NULL, base)) &&
		!contain_nonstrict_functions(base))
		return base;
	return choose(entry, base, (Node *) makeNullConst(exprType(base),
													  exprTypmod(base),
													  exprCollation(base)));
}

static Node *
base_of_column(Query *level, AttrNumber column)
{
	TargetEntry *target = get_tle_by_resno(level->targetList, column);
	Node	   *base = NULL;
	ListCell   *lc;

	if (target == NULL)
		elog(ERROR, "subquery column %d not found", column);
	if (level->setOperations == NULL)
		return dp_block_rowset_base(level, (Node *) target->expr);

	/* a column of UNION ALL is that of one of the arms */
	foreach(lc, dp_block_from(level))
	{
		RangeTblEntry *arm = rt_fetch(((RangeTblRef *) lfirst(lc))->rtindex,
									  level->rtable);
		Node	   *own = base_of_column(arm->subquery, column);

		base = base == NULL ? own : choose(arm, own, base);
	}
	return base;
}

/*
 * The base of a window function: an aggregate, since like an aggregate it
 * depends on many rows and is not a value of one of them.
 */
static Node *
base_of_window(const WindowFunc *function, Query *query)
{
	Aggref	   *base = makeNode(Aggref);
	Node	   *filter = dp_block_rowset_base(query,
											  (Node *) function->aggfilter);
	ListCell   *lc;

	base->aggfnoid = function->winfnoid;
	base->aggtype = function->wintype;
	base->aggcollid = function->wincollid;
	base->inputcollid = function->inputcollid;
	foreach(lc, function->args)
	{
		Node	   *arg = dp_block_rowset_base(query, lfirst(lc));

		base->aggargtypes = lappend_oid(base->aggargtypes, exprType(arg));
		base->args = lappend(base->args,
							 makeTargetEntry((Expr *) arg,
											 list_length(base->args) + 1,
											 NULL, false));
	}
	base->aggfilter = (Expr *)
		(filter != NULL ? filter : makeBoolConst(true, false));
	base->aggstar = function->winstar;
	base->aggkind = AGGKIND_NORMAL;
	base->aggsplit = AGGSPLIT_SIMPLE;
	base->aggno = function->winref;
	base->aggtransno = -1;
	base->location = function->location;
	return (Node *) base;
}

static Node *
base_mutator(Node *node, void *context)
{
	Query	   *query = context;
	RangeTblEntry *entry;
	Node	   *base;
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		return base_of_window((const WindowFunc *) node, query);
	if (!IsA(node, Var))
		return expression_tree_mutator(node, base_mutator, context);
	var = (Var *) node;
	entry = rt_fetch(var->varno, query->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
	{
		var = copyObject(var);
		var->varno = dp_block_leaf_number(entry);
		dp_bridge_forget_nulling(var);
		return (Node *) var;
	}
	base = base_of_column(entry->subquery, var->varattno);
	return dp_block_is_nullable(query, var->varno) ?
		null_if_absent(base, entry) : base;
}

/*
 * dp_block_rowset_base
 *	  The expression over the columns of leaves to which an expression of a
 *	  verified level reduces.  The varno of its Vars is a leaf's number.
 */
Node *
dp_block_rowset_base(Query *query, Node *expression)
{
	return base_mutator(expression, query);
}
