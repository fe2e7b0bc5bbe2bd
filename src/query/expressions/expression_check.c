/*
 * expression_check.c
 *	  The walk over an expression that will see private rows.
 *
 * It allows what is listed and refuses everything else:
 *
 *	- columns (of the level itself; no system column, no whole row), constants,
 *	  external parameters, current_date and its kin;
 *	- calls of functions, operators and casts that expressions_internal.h
 *	allows; those
 *	  with a total version only where the call can be replaced;
 *	- calls of other immutable built-ins without columns, which are computed
 *	  before rows are read (dp_expressions_is_later);
 *	- AND, OR, NOT, CASE, COALESCE, NULLIF, GREATEST, LEAST, IS [NOT] NULL, IS
 *	  [NOT] DISTINCT FROM, IS TRUE ..., row comparisons, relabelling casts,
 *	  COLLATE, and ANY, ALL and IN over arrays free of columns.
 *
 * Functions that such a node calls implicitly are checked as well: the
 * comparison of GREATEST, of a row comparison.  A domain's constraints, casts
 * through text, and users' operators or casts are never run.
 *
 * Memory is checked when the query is planned: expression_memory.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

#define HINT_OUTSIDE \
	"Write it with the functions listed in dp_pg.allowed_functions, or " \
	"apply it to released values, outside the private aggregate."
#define DETAIL_USER \
	"It is not part of PostgreSQL, and code made by a user must not run on " \
	"private rows."

/* Nodes that are refused, whatever they contain. */
static const struct
{
	NodeTag		tag;
	const char *name;
	const char *detail;
	const char *hint;
}			refused_nodes[] = {
	{T_SubLink, "subquery", NULL,
		"Write EXISTS or IN in WHERE, CASE, FILTER or a column of a subquery; "
		"otherwise join what it reads, or pass its value as a parameter."},
	{T_SubPlan, "subquery", NULL, NULL},
	{T_Aggref, "aggregate", "It would be computed before any noise is added.",
	"Use the private aggregates at the outer level."},
	{T_GroupingFunc, "GROUPING", NULL, NULL},
	{T_WindowFunc, "window function",
		"It would make one unit's row depend on rows of others.",
	"Use it in a subquery below, with the privacy unit in PARTITION BY; or "
	"over released values, outside the private aggregate."},
	{T_SubscriptingRef, "subscript", NULL, HINT_OUTSIDE},
	{T_ArrayExpr, "array", NULL,
	"Use arrays of constants, with ANY, ALL or IN."},
	{T_RowExpr, "row value", NULL, "Compare the columns one by one."},
	{T_RowCompareExpr, "row comparison", NULL,
	"Compare the columns one by one."},
	{T_NullTest, "IS NULL of a composite value", NULL,
	"Test the columns one by one."},
	{T_FieldSelect, "field of a composite value", NULL, HINT_OUTSIDE},
	{T_FieldStore, "field of a composite value", NULL, NULL},
	{T_ConvertRowtypeExpr, "row type conversion", NULL, NULL},
	{T_CoerceToDomain, "cast to a domain",
		"It runs the domain's CHECK constraints, which are code of its owner.",
	"Use the domain's base type."},
	{T_CoerceToDomainValue, "VALUE of a domain", NULL, NULL},
	{T_XmlExpr, "XML function", NULL, HINT_OUTSIDE},
	{T_NextValueExpr, "nextval", NULL, NULL},
	{T_CurrentOfExpr, "WHERE CURRENT OF", NULL, NULL},
	{T_NamedArgExpr, "named argument", NULL, "Give the arguments by position."}
};

/* Location of a node's own token, not of its first argument. */
static int
token_location(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return ((FuncExpr *) node)->location;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return ((OpExpr *) node)->location;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) node)->location;
		case T_CoerceViaIO:
			return ((CoerceViaIO *) node)->location >= 0 ?
				((CoerceViaIO *) node)->location : exprLocation(node);
		default:
			return exprLocation(node);
	}
}

static bool
check_is_volatile(Oid function, bool *set)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		answer;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	*set = form->proretset;
	answer = form->provolatile == PROVOLATILE_VOLATILE;
	ReleaseSysCache(tuple);
	return answer;
}

/* Refuse a function or an operator, with the reason and an alternative. */
static dp_refusal *
refuse_function(Oid function, Oid operator, int location,
				bool is_not_replaceable)
{
	const dp_expression_advice *advice = dp_expressions_find_advice(function);
	const char *detail = "It can raise an error, or return values of any "
						 "size, depending on private values.";
	const char *hint = HINT_OUTSIDE;
	bool		set = false;

	if (is_not_replaceable)
	{
		detail = "Its total version can only stand in a plain call.";
		hint = "Write the alternatives with AND and OR.";
	}
	else if (function >= FirstGenbkiObjectId ||
			 (OidIsValid(operator) && operator >= FirstGenbkiObjectId))
	{
		detail = DETAIL_USER;
		hint = HINT_OUTSIDE;
	}
	else if (check_is_volatile(function, &set))
		detail = "It is volatile: it can have side effects, or return another "
				 "value for each row.";
	else if (set)
		detail = "It returns a set.";
	if (advice != NULL && advice->detail != NULL)
		detail = advice->detail;
	if (dp_expressions_is_comparison(function) && !OidIsValid(operator))
	{
		detail = "Only the sign of its result has a meaning; its magnitude "
				 "can depend on how a query is executed.";
		hint = "Compare with the operators <, =, >.";
	}
	if (advice != NULL && advice->hint != NULL && !is_not_replaceable)
		hint = advice->hint;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location, detail,
						  hint, "%s %s cannot be used on private rows",
						  OidIsValid(operator) ? "operator" : "function",
						  OidIsValid(operator) ? format_operator(operator) :
						  format_procedure(function));
}

/* Refuse a node, by its name if it has one. */
static dp_refusal *
refuse_node(Node *node)
{
	int			location = token_location(node);
	Node	   *from;
	int			i;

	if (IsA(node, CoerceViaIO))
	{
		from = (Node *) ((CoerceViaIO *) node)->arg;
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location,
							  "It converts through text, which can raise an "
							  "error.",
							  "Compare the column in its own type, or cast "
							  "the released value.",
							  "cast from %s to %s cannot be used on private "
							  "rows", format_type_be(exprType(from)),
							  format_type_be(exprType(node)));
	}
	if (IsA(node, ArrayCoerceExpr))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location, NULL,
							  HINT_OUTSIDE,
							  "cast of an array cannot be used on private "
							  "rows");
	for (i = 0; i < lengthof(refused_nodes); i++)
		if (refused_nodes[i].tag == nodeTag(node))
			return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location,
								  refused_nodes[i].detail,
								  refused_nodes[i].hint,
								  "%s cannot be used on private rows",
								  refused_nodes[i].name);
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location, NULL,
						  HINT_OUTSIDE,
						  "this kind of expression cannot be used on "
						  "private rows");
}

static bool
has_collatable(List *args)
{
	ListCell   *cell;

	foreach(cell, args)
		if (type_is_collatable(exprType(lfirst(cell))))
			return true;
	return false;
}

/*
 * dp_expressions_check_function
 *	  Whether this call may be made on private rows.
 *
 * operator is InvalidOid for a plain call. replaceable: the node can be
 * replaced by a call of a total version; rewritten: it must have been.
 */
dp_refusal *
dp_expressions_check_function(Oid function, Oid operator, List *args,
							  Oid collation, int location, bool replaceable,
							  bool rewritten)
{
	const dp_expression_rule *rule = dp_expressions_find_by_total(function);

	if (OidIsValid(operator) && operator >= FirstGenbkiObjectId)
		return refuse_function(function, operator, location, false);
	if (rule == NULL)
	{
		rule = dp_expressions_find(function);
		if (rule != NULL && rule->symbol != NULL &&
			(!replaceable || rewritten))
			return refuse_function(function, operator, location, true);
		if (rule == NULL && !dp_expressions_is_leakproof(function) &&
			!dp_expressions_is_magnitude(function))
			return refuse_function(function, operator, location, false);
	}
	if (has_collatable(args))
	{
		dp_refusal *refusal = dp_expressions_check_collation(collation,
															 location);

		if (refusal != NULL)
			return refusal;
	}
	return rule == NULL ? NULL :
		dp_expressions_check_condition(rule, function, args, collation,
									   location, false);
}

/* The comparison that GREATEST and LEAST call: the type's btree support. */
static dp_refusal *
check_comparison(MinMaxExpr *minmax)
{
	TypeCacheEntry *type = lookup_type_cache(minmax->minmaxtype,
											 TYPECACHE_CMP_PROC);

	if (!OidIsValid(type->cmp_proc))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							  minmax->location, NULL, NULL,
							  "type %s has no order",
							  format_type_be(minmax->minmaxtype));
	if (!dp_expressions_is_comparison(type->cmp_proc))
		return refuse_function(type->cmp_proc, InvalidOid, minmax->location,
							   false);
	return has_collatable(minmax->args) ?
		dp_expressions_check_collation(minmax->inputcollid,
									   minmax->location) : NULL;
}

/* (a, b) < (c, d): each operator, and the support function run for it. */
static dp_refusal *
check_row_comparison(RowCompareExpr *row)
{
	ListCell   *left,
			   *right,
			   *operator,
			   *family,
			   *collation;

	forfive(left, row->largs, right, row->rargs, operator, row->opnos,
			family, row->opfamilies, collation, row->inputcollids)
	{
		List	   *args = list_make2(lfirst(left), lfirst(right));
		int			location = exprLocation((Node *) row);
		Oid			function = get_opcode(lfirst_oid(operator));
		Oid			support;
		dp_refusal *refusal;

		refusal = dp_expressions_check_function(function,
												lfirst_oid(operator), args,
												lfirst_oid(collation),
												location, false, false);
		if (refusal != NULL)
			return refusal;
		support = get_opfamily_proc(lfirst_oid(family),
									exprType(lfirst(left)),
									exprType(lfirst(right)), BTORDER_PROC);
		if (!OidIsValid(support) || support >= FirstGenbkiObjectId)
			return refuse_node((Node *) row);
	}
	return NULL;
}

/*
 * The array of ANY, ALL and IN must be made of constants, parameters and casts
 * of them, so that it does not depend on rows.
 */
static bool
array_walker(Node *node, dp_expression_walk *walk)
{
	if (node == NULL || IsA(node, Const))
		return false;
	if (IsA(node, Param))
		return dp_expressions_walker(node, walk);
	if (IsA(node, RelabelType))
		return array_walker((Node *) ((RelabelType *) node)->arg, walk);
	if (IsA(node, ArrayExpr))
		return dp_expressions_walker((Node *) ((ArrayExpr *) node)->elements,
									 walk);
	if (IsA(node, ArrayCoerceExpr))
	{
		ArrayCoerceExpr *cast = (ArrayCoerceExpr *) node;

		return dp_expressions_walker((Node *) cast->elemexpr, walk) ||
			array_walker((Node *) cast->arg, walk);
	}
	walk->refusal = dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
								   exprLocation(node), NULL,
								   "Use IN with constants, or = ANY with an "
								   "array given as a parameter.",
								   "computed array cannot be used on "
								   "private rows");
	return true;
}

static bool
check_array_operator(ScalarArrayOpExpr *expr, dp_expression_walk *walk)
{
	Oid			function = get_opcode(expr->opno);
	const dp_expression_rule *rule = dp_expressions_find(function);
	Node	   *value = linitial(expr->args);
	Node	   *array = lsecond(expr->args);

	if (!dp_expressions_is_public_scalar(array))
	{
		walk->refusal =
			dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, expr->location,
						   "The array depends on private values.",
						   "Use IN, ANY and ALL with constants or "
						   "parameters.",
						   "array of private values cannot be searched");
		return true;
	}
	if (rule != NULL && rule->condition == DP_CONDITION_PATTERN)
	{
		walk->refusal = dp_expressions_check_collation(expr->inputcollid,
													   expr->location);
		if (walk->refusal == NULL)
			walk->refusal = dp_expressions_check_pattern_array(array,
															   expr->location,
															   false);
	}
	else
		walk->refusal = dp_expressions_check_function(function, expr->opno,
													  list_make1(value),
													  expr->inputcollid,
													  expr->location, false,
													  false);
	return walk->refusal != NULL ||
		dp_expressions_walker(value, walk) ||
		array_walker(array, walk);
}

/* A column of this level, or a refusal. */
static dp_refusal *
check_column(Var *var)
{
	if (var->varlevelsup > 0)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, var->location,
							  "It would be evaluated again for every outer "
							  "row.", NULL,
							  "the private part of a query refers to an "
							  "outer query");
	if (var->varattno < 0)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, var->location,
							  "System columns show where and when a row was "
							  "stored.", "Use the columns of the table.",
							  "system column cannot be used on private "
							  "rows");
	if (var->varattno == 0)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, var->location,
							  NULL, "Name the columns.",
							  "whole row cannot be used on private rows");
	return NULL;
}

/*
 * dp_expressions_walker
 *	  Walk until the first refusal, which is left in the walk; returns true if
 *	  there is one.
 */
bool
dp_expressions_walker(Node *node, void *context)
{
	dp_expression_walk *walk = context;

	if (node == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_Const:
		case T_SQLValueFunction:
			break;
		case T_Var:
			walk->refusal = check_column((Var *) node);
			break;
		case T_Param:
			if (((Param *) node)->paramkind != PARAM_EXTERN)
				walk->refusal = refuse_node(node);
			break;
		case T_FuncExpr:
			{
				FuncExpr   *call = (FuncExpr *) node;

				walk->refusal =
					call->funcretset || call->funcvariadic ?
					refuse_function(call->funcid, InvalidOid, call->location,
									false) :
					dp_expressions_check_function(call->funcid, InvalidOid,
												  call->args,
												  call->inputcollid,
												  call->location, true,
												  walk->rewritten);
				break;
			}
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			{
				OpExpr	   *call = (OpExpr *) node;
				Oid			function = get_opcode(call->opno);

				walk->refusal = call->opretset ||
					(OidIsValid(call->opfuncid) &&
					 call->opfuncid != function) ?
					refuse_function(function, call->opno, call->location,
									false) :
					dp_expressions_check_function(function, call->opno,
												  call->args,
												  call->inputcollid,
												  call->location,
												  IsA(node, OpExpr),
												  walk->rewritten);
				break;
			}
		case T_ScalarArrayOpExpr:
			return check_array_operator((ScalarArrayOpExpr *) node, walk);
		case T_RowCompareExpr:
			walk->refusal = check_row_comparison((RowCompareExpr *) node);
			break;
		case T_MinMaxExpr:
			walk->refusal = check_comparison((MinMaxExpr *) node);
			break;
		case T_NullTest:
			if (((NullTest *) node)->argisrow)
				walk->refusal = refuse_node(node);
			break;
		case T_CollateExpr:
			{
				CollateExpr *collate = (CollateExpr *) node;

				walk->refusal =
					dp_expressions_check_collation(collate->collOid,
												   collate->location);
				break;
			}
		case T_Aggref:
			if (walk->groups)
				walk->refusal =
					dp_expressions_check_aggregate((Aggref *) node);
			if (walk->refusal != NULL)
				break;
			if (walk->aggregates || walk->groups)
			{
				Aggref	   *aggregate = (Aggref *) node;

				return dp_expressions_walker((Node *) aggregate->args, walk) ||
					dp_expressions_walker((Node *) aggregate->aggdirectargs,
										  walk) ||
					dp_expressions_walker((Node *) aggregate->aggfilter, walk);
			}
			walk->refusal = refuse_node(node);
			break;
		case T_WindowFunc:
			if (walk->windows)
				return dp_expressions_walker(
						(Node *) ((WindowFunc *) node)->args,
											 walk) ||
					dp_expressions_walker(
							(Node *) ((WindowFunc *) node)->aggfilter,
										  walk);
			walk->refusal = refuse_node(node);
			break;
		default:
			walk->refusal = refuse_node(node);
			break;
	}
	if (walk->refusal != NULL && dp_expressions_is_later(node))
		walk->refusal = NULL;
	return walk->refusal != NULL ||
		expression_tree_walker(node, dp_expressions_walker, walk);
}

/* `walk` tells what else is allowed in the expression. */
static dp_refusal *
check(Node *expression, dp_expression_walk walk)
{
	dp_expressions_walker(expression, &walk);
	return walk.refusal;
}

/* See dp_expressions.h. */
dp_refusal *
dp_expressions_check(Node *expression)
{
	return check(expression, (dp_expression_walk) {0});
}

/*
 * dp_expressions_check_groups
 *	  See dp_expressions.h.
 */
dp_refusal *
dp_expressions_check_groups(Node *expression)
{
	return check(expression, (dp_expression_walk) {.groups = true});
}

/* dp_expressions_check_window_targets: see dp_expressions.h. */
dp_refusal *
dp_expressions_check_window_targets(Node *expression)
{
	return check(expression, (dp_expression_walk) {.windows = true});
}
