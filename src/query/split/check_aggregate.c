/*
 * check_aggregate.c
 *	  Verify one private aggregate of a block.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../expressions/dp_expressions.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "../keys/dp_keys.h"
#include "dp_split.h"
#include "split_internal.h"

static dp_refusal *
check_parameters(Aggref *aggregate, const char *name)
{
	ListCell   *lc;

	for_each_from(lc, aggregate->args,
				  dp_catalog_row_arguments(dp_catalog_kind_of(aggregate)))
	{
		Node	   *argument = (Node *) ((TargetEntry *) lfirst(lc))->expr;

		if (!dp_expressions_is_public_scalar(argument))
			return dp_base_refuse(ERRCODE_INVALID_PARAMETER_VALUE,
								  exprLocation(argument),
								  "Epsilon and bounds that depend on rows "
								  "would reveal something about the rows.",
								  "Use constants, parameters, or "
								  "computations over them.",
								  "parameters of %s must not depend on rows",
								  name);
	}
	return NULL;
}

/* Parameters that are not written out could be any number of them. */
static dp_refusal *
check_variadic(Aggref *aggregate, const char *name)
{
	if (!aggregate->aggvariadic)
		return NULL;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(llast(aggregate->args)), NULL,
						  "Write each of them, without VARIADIC.",
						  "parameters of %s must not be an array", name);
}

/* dp_count(0.5) is a forgotten first argument, not a count of a constant. */
static dp_refusal *
check_lone_constant(Aggref *aggregate, const char *name)
{
	Node	   *argument;
	Oid			type;

	if (list_length(aggregate->args) != 1 ||
		dp_catalog_aggregate_kind(aggregate->aggfnoid) != DP_AGG_COUNT)
		return NULL;
	argument = (Node *) ((TargetEntry *) linitial(aggregate->args))->expr;
	type = exprType(argument);
	if ((type != NUMERICOID && type != FLOAT8OID && type != FLOAT4OID) ||
		!dp_expressions_is_public_scalar(argument))
		return NULL;
	return dp_base_refuse(ERRCODE_INVALID_PARAMETER_VALUE,
						  exprLocation(argument),
						  "The only argument is what to count.",
						  "To give an epsilon, write dp_count(1, 0.5).",
						  "%s of a constant that is not an integer", name);
}

static dp_refusal *
check_operator(Oid operator, Expr *argument, Aggref *aggregate)
{
	OpExpr	   *comparison = (OpExpr *)
	make_opclause(operator, BOOLOID, false, argument, argument, InvalidOid,
				  aggregate->inputcollid);

	set_opfuncid(comparison);
	comparison->location = aggregate->location;
	return dp_expressions_check((Node *) comparison);
}

static dp_refusal *
aggregate_check_distinct(Aggref *aggregate, const char *name)
{
	SortGroupClause *clause;
	Expr	   *argument;
	dp_refusal *refusal;

	if (aggregate->aggdistinct == NIL ||
		dp_catalog_kind_of(aggregate) == DP_AGG_SUM_DISTINCT ||
		dp_catalog_kind_of(aggregate) == DP_AGG_AVG_DISTINCT)
		return NULL;
	if (dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_COUNT &&
		list_length(aggregate->args) == 1)
	{
		/* DISTINCT compares values like x = x and x < x. */
		clause = linitial(aggregate->aggdistinct);
		argument = ((TargetEntry *) linitial(aggregate->args))->expr;
		refusal = check_operator(clause->eqop, argument, aggregate);
		if (refusal == NULL && OidIsValid(clause->sortop))
			refusal = check_operator(clause->sortop, argument, aggregate);
		return refusal;
	}
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  aggregate->location, NULL,
						  dp_setting_transparent ?
						  "DISTINCT is supported in sum, avg and count, over "
						  "built-in types." :
						  "DISTINCT is supported in dp_sum, dp_avg, and "
						  "dp_count(DISTINCT x) without an epsilon, over "
						  "built-in types.",
						  "DISTINCT is not supported here in %s", name);
}

/* Does the aggregate choose among public values of its argument? */
static bool
needs_public_values(const Aggref *aggregate)
{
	int			kind = dp_catalog_aggregate_kind(aggregate->aggfnoid);

	return kind == DP_AGG_ARGMAX || kind == DP_AGG_TOPK ||
		(kind == DP_AGG_COUNT && aggregate->aggdistinct != NIL);
}

/*
 * The public values of the argument; NULL if there are none, so that the
 * candidates of a selection must be given.
 */
static dp_key *
argument_key(dp_splitter *s, Node *argument, Node *base)
{
	dp_key	   *key = dp_make_node(dp_key);
	bool		nullable;

	if (dp_keys_classify(argument, base,
						 dp_rowsets_relation_of(&s->rowset, base,
												&nullable), key) != NULL)
		return NULL;
	key->nullable = false;
	return key;
}

/*
 * Check an aggregate's argument: one expression, or an array of conditions
 * whose elements the inner query computes separately.
 */
static dp_refusal *
check_argument(Node *argument, int kind, const char *name)
{
	ArrayExpr  *array = (ArrayExpr *) argument;

	if (kind != DP_AGG_CONDITIONS)
		return dp_expressions_check(argument);
	if (!IsA(argument, ArrayExpr) || array->multidims ||
		array->elements == NIL)
		return dp_base_refuse(ERRCODE_INVALID_PARAMETER_VALUE,
							  exprLocation(argument), NULL,
							  "Write them out, as in ARRAY[a > 1, b = 2].",
							  "%s needs an array of conditions", name);
	return dp_expressions_check((Node *) array->elements);
}

static bool is_unit(const dp_splitter *s, Node *base);

/* Whether each of the expressions is the unit or NULL. */
static bool
aggregate_are_units(const dp_splitter *s, const List *bases)
{
	ListCell   *lc;

	foreach(lc, bases)
	{
		const Const *constant = lfirst(lc);

		if (!(IsA(constant, Const) && constant->constisnull) &&
			!is_unit(s, lfirst(lc)))
			return false;
	}
	return true;
}

/* The results of CASE; NULL without ELSE. */
static List *
aggregate_results(const CaseExpr *choice)
{
	List	   *results = choice->defresult == NULL ? NIL :
	list_make1(choice->defresult);
	ListCell   *lc;

	foreach(lc, choice->args)
		results = lappend(results, lfirst_node(CaseWhen, lc)->result);
	return results;
}

/*
 * The leaf whose unit a column is, given over base columns; or NULL.  A
 * varchar equals the same text; a char(n) has another equality.
 */
static const dp_leaf *
leaf_of_unit(const dp_splitter *s, Node *base)
{
	const dp_leaf *leaf;
	Oid			type;

	base = dp_rowsets_widened(base);
	type = getBaseType(exprType(base));
	base = dp_base_unlabelled(base);
	if (!IsA(base, Var))
		return NULL;
	leaf = dp_rowsets_leaf(&s->rowset, ((Var *) base)->varno);
	if (leaf->relation == NULL ||
		((Var *) base)->varattno != leaf->relation->unit_attnum ||
		(type != getBaseType(exprType(base)) &&
		 !(type == TEXTOID && getBaseType(exprType(base)) == VARCHAROID)))
		return NULL;
	return leaf;
}

/*
 * Whether the expression, over base columns, is the unit itself, or NULL.  All
 * private parts of a row have the same unit, so it may be that of any part
 * that is there.
 */
static bool
is_unit(const dp_splitter *s, Node *base)
{
	if (IsA(base, CoalesceExpr))
		return aggregate_are_units(s, ((CoalesceExpr *) base)->args);
	if (IsA(base, CaseExpr))
		return aggregate_are_units(s, aggregate_results((CaseExpr *) base));
	if (IsA(base, NullIfExpr))
		return is_unit(s, linitial(((NullIfExpr *) base)->args));
	return s->rowset.many && leaf_of_unit(s, base) != NULL;
}

/*
 * dp_split_counts_units
 *	  Whether an aggregate of a block, whose unit is known, counts each unit
 *	  that has a row, whatever the row: dp_count(DISTINCT unit).
 */
bool
dp_split_counts_units(const dp_splitter *s, const dp_block *block,
					  const Aggref *aggregate)
{
	const dp_leaf *leaf;
	Node	   *argument;

	if (dp_catalog_aggregate_kind(aggregate->aggfnoid) != DP_AGG_COUNT ||
		aggregate->aggdistinct == NIL || aggregate->aggfilter != NULL)
		return false;
	argument = (Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	if (!IsA(dp_base_unlabelled(argument), Var))
		return false;
	if (s->rowset.many && !block->single &&
		equal(argument, list_nth_node(TargetEntry, block->inner->targetList,
									  list_length(block->keys))->expr))
		return true;
	leaf = leaf_of_unit(s, dp_rowsets_base(s->query, argument));
	return leaf != NULL && !leaf->nullable;
}

/* Check the second argument of a pair as the first is checked. */
static dp_refusal *
check_second(dp_splitter *s, Aggref *aggregate, Node **base)
{
	TargetEntry *given = lsecond(aggregate->args);
	Node	   *argument = dp_rowsets_hoist((Node *) given->expr,
											&s->rowset);
	dp_refusal *refusal = dp_expressions_check(argument);

	given->expr = (Expr *) argument;
	if (refusal == NULL)
		*base = dp_rowsets_base(s->query, argument);
	return refusal;
}

/*
 * dp_split_check_aggregate
 *	  Verify a private aggregate of the block being split, hoist its subqueries
 *	  in place, and fill in the fields of *value about its arguments: base and
 *	  second over base columns, or NULL.
 */
dp_refusal *
dp_split_check_aggregate(dp_splitter *s, Aggref *aggregate,
						 dp_value *value)
{
	const char *name =
	dp_catalog_shown_name(get_func_name(aggregate->aggfnoid));
	dp_refusal *refusal;
	TargetEntry *given;
	Node	   *argument;

	value->kind = dp_catalog_kind_of(aggregate);
	if (aggregate->aggorder != NIL || aggregate->aggdirectargs != NIL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							  aggregate->location, NULL,
							  "Leave ORDER BY out; order does not matter "
							  "here.",
							  "ORDER BY inside %s is not supported", name);
	aggregate->aggfilter = (Expr *)
		dp_rowsets_hoist((Node *) aggregate->aggfilter, &s->rowset);
	refusal = dp_expressions_check((Node *) aggregate->aggfilter);
	if (refusal != NULL || aggregate->args == NIL)
		return refusal;

	refusal = check_variadic(aggregate, name);
	if (refusal == NULL)
		refusal = check_parameters(aggregate, name);
	if (refusal == NULL)
		refusal = check_lone_constant(aggregate, name);
	if (refusal != NULL)
		return refusal;
	given = linitial(aggregate->args);
	argument = dp_rowsets_hoist((Node *) given->expr, &s->rowset);
	given->expr = (Expr *) argument;
	refusal = check_argument(argument,
							 dp_catalog_aggregate_kind(aggregate->aggfnoid),
							 name);
	if (refusal == NULL)
		refusal = aggregate_check_distinct(aggregate, name);
	if (refusal != NULL)
		return refusal;
	value->base = dp_rowsets_base(s->query, argument);
	if (needs_public_values(aggregate))
		value->key = argument_key(s, argument, value->base);
	value->of_units = is_unit(s, value->base);
	if (dp_catalog_row_arguments(value->kind) == 2)
		return check_second(s, aggregate, &value->second);
	return NULL;
}
