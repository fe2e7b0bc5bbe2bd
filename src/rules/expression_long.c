/*
 * expression_long.c
 *	  Columns without a declared length, in expressions over private rows.
 *
 * Their values may have any length, so dp_pg.short_value is put where one is
 * read, which makes longer ones NULL (expression_memory.c).
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../catalog/dp_catalog.h"
#include "allow_list.h"
#include "total_functions.h"

/* dp_rules_short_value: OID of dp_pg.short_value(anyelement). */
Oid
dp_rules_short_value(void)
{
	Oid			type = ANYELEMENTOID;

	return dp_catalog_function("short_value", 1, &type);
}

/*
 * dp_rules_type_bytes
 *	  Size of the largest value of a type, or 0 if it has no known limit.
 */
Size
dp_rules_type_bytes(Oid type, int32 typmod)
{
	int			length = get_typlen(getBaseType(type));
	int32		most;

	if (length > 0)
		return (Size) length;
	switch (getBaseType(type))
	{
		case NUMERICOID:
			return DP_EXPRESSION_NUMERIC;
		case INETOID:
		case CIDROID:
			return DP_EXPRESSION_SHORT;
	}
	most = type_maximum_size(type, typmod);
	return most > 0 && most <= DP_TOTAL_TEXT_LIMIT ? (Size) most : 0;
}

/* A column of UNION ALL: any of those of its arms, which are its entries. */
static Node *
any_column(const Query *united, const Var *var)
{
	CoalesceExpr *any = makeNode(CoalesceExpr);
	int			arm;

	any->coalescetype = var->vartype;
	any->coalescecollid = var->varcollid;
	any->location = -1;
	for (arm = 1; arm <= list_length(united->rtable); arm++)
		any->args = lappend(any->args,
							makeVar(arm, var->varattno, var->vartype,
									var->vartypmod, var->varcollid, 0));
	return (Node *) any;
}

/*
 * dp_rules_column
 *	  The expression behind a column of a subquery of the level, or NULL.
 */
Node *
dp_rules_column(const Query *level, const Var *var, const Query **below)
{
	const RangeTblEntry *entry;

	if (var->varlevelsup > 0 || var->varno > list_length(level->rtable))
		return NULL;
	entry = list_nth_node(RangeTblEntry, level->rtable, var->varno - 1);
	if (entry->rtekind != RTE_SUBQUERY || var->varattno < 1 ||
		var->varattno > list_length(entry->subquery->targetList))
		return NULL;
	*below = entry->subquery;
	if (entry->subquery->setOperations != NULL)
		return any_column(entry->subquery, var);
	return (Node *) list_nth_node(TargetEntry, entry->subquery->targetList,
								  var->varattno - 1)->expr;
}

/*
 * dp_rules_count_elements
 *	  Number of elements of a list of constants; too many for anything else.
 */
Size
dp_rules_count_elements(Node *list)
{
	ArrayType  *array;
	Size		n = 0;
	ListCell   *lc;

	/* casts of elements to another type, which the planner folds */
	while (IsA(list, ArrayCoerceExpr) || IsA(list, RelabelType))
		list = IsA(list, RelabelType) ?
			(Node *) ((RelabelType *) list)->arg :
			(Node *) ((ArrayCoerceExpr *) list)->arg;
	if (IsA(list, ArrayExpr))
	{
		if (!((ArrayExpr *) list)->multidims)
			return list_length(((ArrayExpr *) list)->elements);
		foreach(lc, ((ArrayExpr *) list)->elements)
			n += dp_rules_count_elements(lfirst(lc));
		return Min(n, DP_EXPRESSION_MEMORY + 1);
	}
	if (!IsA(list, Const))
		return DP_EXPRESSION_MEMORY + 1;
	if (((Const *) list)->constisnull)
		return 0;
	array = DatumGetArrayTypeP(((Const *) list)->constvalue);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

static bool is_long(Node *node, const Query *level);

static bool
has_long(List *args, const Query *level)
{
	ListCell   *lc;

	foreach(lc, args)
		if (is_long(lfirst(lc), level))
			return true;
	return false;
}

/*
 * Whether the value may be that of a column without a known length, perhaps
 * through subqueries and CASE.  Unlisted nodes are judged by their type.
 */
static bool
is_long(Node *node, const Query *level)
{
	const Query *below;
	Node	   *column;
	ListCell   *lc;

	if (node == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_RelabelType:
			return is_long((Node *) ((RelabelType *) node)->arg, level);
		case T_CollateExpr:
			return is_long((Node *) ((CollateExpr *) node)->arg, level);
		case T_ArrayCoerceExpr:
			return is_long((Node *) ((ArrayCoerceExpr *) node)->arg, level);
		case T_NullIfExpr:
			return is_long(linitial(((NullIfExpr *) node)->args), level);
		case T_CoalesceExpr:
			return has_long(((CoalesceExpr *) node)->args, level);
		case T_CaseExpr:
			foreach(lc, ((CaseExpr *) node)->args)
				if (is_long((Node *) ((CaseWhen *) lfirst(lc))->result,
							level))
					return true;
			return is_long((Node *) ((CaseExpr *) node)->defresult, level);
		case T_Var:
			column = dp_rules_column(level, (Var *) node, &below);
			if (column != NULL)
				return is_long(column, below);
			return dp_rules_type_bytes(((Var *) node)->vartype,
							  ((Var *) node)->vartypmod) == 0;
		case T_Const:
		case T_ArrayExpr:		/* of constants */
		case T_FuncExpr:		/* limited by arguments */
		case T_OpExpr:
		case T_MinMaxExpr:		/* of shortened values */
		case T_CaseTestExpr:
			return false;
		default:
			return dp_rules_type_bytes(exprType(node),
									   exprTypmod(node)) == 0;
	}
}

/* A call of a function whose result has the type of its argument. */
static Node *
wrap(Oid function, Node *node)
{
	FuncExpr   *call = makeFuncExpr(function, exprType(node),
									list_make1(node), exprCollation(node),
									exprCollation(node),
									COERCE_EXPLICIT_CALL);

	call->location = exprLocation(node);
	return (Node *) call;
}

/*
 * Whether the value is known to be short enough for a linguistic comparison.
 */
static bool
is_sortable(Node *node)
{
	Oid			type = getBaseType(exprType(node));
	Size		most;

	if (get_typlen(type) != -1 || type_is_array(type))
		return true;
	if (IsA(node, Const))
	{
		const Const *constant = (Const *) node;

		return constant->constisnull ||
			datumGetSize(constant->constvalue, constant->constbyval,
						 constant->constlen) <= DP_TOTAL_COLLATED_LIMIT;
	}
	most = dp_rules_type_bytes(type, exprTypmod(node));
	return most > 0 && most <= DP_TOTAL_COLLATED_LIMIT;
}

/*
 * The value, or NULL if it is too long, for linguistic comparison or at all.
 */
static Node *
shorten(Node *node, const Query *level, bool collated)
{
	if (collated)
		return is_sortable(node) ? node :
			wrap(dp_rules_sortable_value(), node);
	return is_long(node, level) ? wrap(dp_rules_short_value(), node) : node;
}

/*
 * dp_rules_compares_bytes
 *	  Whether the function compares lengths, then bytes, and takes no memory.
 */
bool
dp_rules_compares_bytes(Oid function)
{
	switch (function)
	{
		case F_TEXTEQ:
		case F_TEXTNE:
		case F_BYTEAEQ:
		case F_BYTEANE:
			return true;
		default:
			return false;
	}
}

/* Equality of a column with a constant, which compares lengths first. */
static bool
compares_lengths(const OpExpr *operator)
{
	return dp_rules_compares_bytes(get_opcode(operator->opno)) &&
		(IsA(linitial(operator->args), Const) ||
		 IsA(lsecond(operator->args), Const));
}

/* IN with so few constants that they are compared and not hashed. */
static bool
compares_few(const ScalarArrayOpExpr *operator)
{
	return get_opcode(operator->opno) == F_TEXTEQ &&
		dp_rules_count_elements(lsecond(operator->args)) <
		DP_EXPRESSION_HASHED;
}

/*
 * Built-ins and total versions.  (Functions of the release handle long
 * values.)
 */
static bool
reads_values(Oid function)
{
	return function < FirstGenbkiObjectId ||
		dp_rules_find_by_total(function) != NULL;
}

/* The arguments of a node that reads their values, or NULL. */
static List **
arguments_of(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return reads_values(((FuncExpr *) node)->funcid) ?
				&((FuncExpr *) node)->args : NULL;
		case T_OpExpr:
		case T_DistinctExpr:
			return compares_lengths((OpExpr *) node) ? NULL :
				&((OpExpr *) node)->args;
		case T_NullIfExpr:		/* returns the value */
			return &((NullIfExpr *) node)->args;
		case T_ScalarArrayOpExpr:
			return compares_few((ScalarArrayOpExpr *) node) ? NULL :
				&((ScalarArrayOpExpr *) node)->args;
		case T_MinMaxExpr:
			return &((MinMaxExpr *) node)->args;
		default:
			return NULL;
	}
}

/* Whether the node compares its arguments linguistically. */
static bool
is_collated(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return dp_rules_collates(((FuncExpr *) node)->funcid,
									 ((FuncExpr *) node)->inputcollid);
		case T_OpExpr:
			return dp_rules_collates(get_opcode(((OpExpr *) node)->opno),
									 ((OpExpr *) node)->inputcollid);
		case T_ScalarArrayOpExpr:
			return dp_rules_collates(get_opcode(((ScalarArrayOpExpr *)
												 node)->opno),
									 ((ScalarArrayOpExpr *)
									  node)->inputcollid);
		case T_MinMaxExpr:
			return dp_rules_is_linguistic(((MinMaxExpr *) node)->inputcollid);
		default:
			return false;
	}
}

static void
shorten_all(List *args, const Query *level, bool collated)
{
	ListCell   *lc;

	foreach(lc, args)
		lfirst(lc) = shorten(lfirst(lc), level, collated);
}

/* Each pair has its own collation. */
static void
shorten_rows(RowCompareExpr *rows, const Query *level)
{
	ListCell   *left;
	ListCell   *right;
	ListCell   *collation;

	forthree(left, rows->largs, right, rows->rargs,
			 collation, rows->inputcollids)
	{
		bool		collated = dp_rules_is_linguistic(lfirst_oid(collation));

		lfirst(left) = shorten(lfirst(left), level, collated);
		lfirst(right) = shorten(lfirst(right), level, collated);
	}
}

static Node *
short_mutator(Node *node, void *context)
{
	const Query **level = context;
	const Query *before = *level;
	List	  **args;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		*level = (Query *) node;
		node = (Node *) query_tree_mutator((Query *) node, short_mutator,
										   context, 0);
		*level = before;
		return node;
	}
	node = expression_tree_mutator(node, short_mutator, context);
	args = arguments_of(node);
	if (args != NULL)
		shorten_all(*args, *level, is_collated(node));
	else if (IsA(node, RowCompareExpr))
		shorten_rows((RowCompareExpr *) node, *level);
	else if (IsA(node, CaseExpr))	/* CASE x WHEN: x is compared */
		((CaseExpr *) node)->arg =
			(Expr *) shorten((Node *) ((CaseExpr *) node)->arg, *level,
							 false);
	return node;
}

/* dp_rules_shorten: see allow_list.h. */
Query *
dp_rules_shorten(Query *query)
{
	const Query *level = NULL;

	return (Query *) short_mutator((Node *) query, &level);
}
