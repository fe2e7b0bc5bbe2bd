/*
 * key_joined.c
 *	  Group keys over the columns of joined public rows.
 *
 * Their values are as public as the rows: the distinct values of the key over
 * those public rows that fulfil the conditions on them alone.  A query of the
 * asking role reads them when the release begins; from then on they are part
 * of the key's conditions, as if the query had named them (run/key_domains.c).
 *
 * A source whose rows may differ at each reading has no such values.
 */
#include "postgres.h"

#include "access/transam.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "split.h"

/*
 * The only public source that an expression over base columns uses, or NULL.
 */
static dp_joined *
only_source(const dp_block *block, Node *base)
{
	Relids		leaves = pull_varnos(NULL, base);
	ListCell   *lc;

	if (bms_membership(leaves) != BMS_SINGLETON)
		return NULL;
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		if (source->number == bms_singleton_member(leaves))
			return OidIsValid(source->relid) ? NULL : source;
	}
	return NULL;
}

/*
 * Not known in advance: results of subqueries, whether an outer join has a
 * row, and what is computed from groups.
 */
static bool
is_unknown_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN ||
			((Param *) node)->paramid <= 0;
	if (IsA(node, Var))
		return ((Var *) node)->varattno <= 0;
	if (IsA(node, Aggref))
		return true;
	return expression_tree_walker(node, is_unknown_walker, context);
}

/* dp_block_is_known: does an expression depend only on values of rows? */
bool
dp_block_is_known(Node *expression)
{
	return !is_unknown_walker(expression, NULL) &&
		!contain_volatile_functions(expression);
}

/* Is the function not built in? */
static bool
is_users(Oid function, void *context)
{
	return function >= FirstNormalObjectId;
}

/* Could the query return other rows when it is run again? */
static bool
may_vary_walker(Node *node, void *context)
{
	const Query *query = (const Query *) node;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->tablesample != NULL;
	/* its CHECK may call anything */
	if (IsA(node, CoerceToDomain) &&
		((CoerceToDomain *) node)->resulttype >= FirstNormalObjectId)
		return true;
	if (IsA(node, Query))
		return query->limitCount != NULL || query->limitOffset != NULL ||
			query->rowMarks != NIL || query->hasWindowFuncs ||
			query->hasDistinctOn || query->hasModifyingCTE ||
			query_tree_walker((Query *) node, may_vary_walker, context,
							  QTW_EXAMINE_RTES_BEFORE);
	if (check_functions_in_node(node, is_users, context))
		return true;
	return expression_tree_walker(node, may_vary_walker, context);
}

/*
 * dp_block_is_repeatable
 *	  May the public rows of a source be read several times?
 *
 * Key values and rows are read by separate queries, key values in EXPLAIN,
 * too; so no users' functions may be called, whatever their volatility.
 */
bool
dp_block_is_repeatable(const dp_joined *source)
{
	return !dp_catalog_has_aggregate((Node *) source->query) &&
		!contain_volatile_functions((Node *) source->query) &&
		!may_vary_walker((Node *) source->query, NULL);
}

static Node *
over_source(Node *base, const dp_joined *source)
{
	Node	   *copy = dp_rules_make_total(copyObject(base));

	ChangeVarNodes(copy, source->number, 1, 0);
	return copy;
}

/* The conditions on a source alone. */
static Node *
own_conditions(const dp_joined *source, const List *conditions)
{
	List	   *own = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const dp_join_condition *condition = lfirst(lc);
		int			leaf;

		if (bms_get_singleton_member(pull_varnos(NULL, condition->base),
									 &leaf) && leaf == source->number &&
			(condition->usable == NULL ||
			 bms_is_member(leaf, condition->usable)) &&
			!condition->matches && dp_block_is_known(condition->base))
			own = lappend(own, over_source(condition->base, source));
	}
	return dp_block_and(own);
}

/* Does a condition only decide which private rows a named group has? */
static bool
only_matches(Node *conjunct, const List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const dp_join_condition *condition = lfirst(lc);

		if (condition->matches && equal(condition->base, conjunct))
			return true;
	}
	return false;
}

/*
 * Add that the key is not NULL if a condition on it that all rows fulfil is
 * strict.
 */
static Node *
add_not_null(Node *quals, const dp_joined *source, Node *base,
			 const List *conjuncts, const List *conditions)
{
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		if (!IsA(base, Var) || contain_nonstrict_functions(lfirst(lc)) ||
			!list_member(pull_var_clause(lfirst(lc), 0), base) ||
			only_matches(lfirst(lc), conditions))
			continue;
		return make_and_qual(quals,
							 dp_block_null_test(over_source(base, source),
												IS_NOT_NULL));
	}
	return quals;
}

static Query *
make_values(const dp_joined *source, Node *base, const List *conjuncts,
			const List *conditions)
{
	Query	   *query = copyObject(source->query);

	query->targetList = NIL;
	dp_block_add_distinct(query, over_source(base, source));
	query->jointree->quals = add_not_null(own_conditions(source, conditions),
										  source, base, conjuncts,
										  conditions);
	return query;
}

/*
 * Does the key have a group for rows without a partner?  Not if a condition on
 * the source that all rows fulfil is NULL for those.
 */
static bool
has_absent(const dp_joined *source, const List *conjuncts)
{
	ListCell   *lc;

	if (!source->nullable)
		return false;
	foreach(lc, conjuncts)
		if (bms_is_member(source->number, pull_varnos(NULL, lfirst(lc))) &&
			!contain_nonstrict_functions(lfirst(lc)))
			return false;
	return true;
}

/* Is the source VALUES, or a function's rows? */
static bool
is_list(const dp_joined *source)
{
	const RangeTblEntry *entry = linitial(source->query->rtable);

	while (entry->rtekind == RTE_SUBQUERY &&
		   list_length(entry->subquery->rtable) == 1)
		entry = linitial(entry->subquery->rtable);
	return entry->rtekind == RTE_VALUES || entry->rtekind == RTE_FUNCTION;
}

/* A column of public rows with which every row equates the key, or NULL. */
static Node *
find_equal(const dp_block *block, Node *base, const List *conjuncts)
{
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		OpExpr	   *equality = lfirst(lc);
		Node	   *other;

		if (!IsA(equality, OpExpr) || !dp_block_is_equality(equality))
			continue;
		other = equal(linitial(equality->args), base) ?
			lsecond(equality->args) : equal(lsecond(equality->args), base) ?
			linitial(equality->args) : NULL;
		if (other != NULL && only_source(block, other) != NULL &&
			exprType(other) == exprType(base) &&
			exprCollation(other) == exprCollation(base) &&
			!dp_block_key_tells_twins(other))
			return other;
	}
	return NULL;
}

/*
 * Does the key follow from the rows of the source, which can be read
 * repeatedly?
 */
static bool
follows_from(const dp_joined *source, Node *base)
{
	return source != NULL && dp_block_is_known(base) &&
		(!source->nullable || !contain_nonstrict_functions(base)) &&
		dp_block_is_repeatable(source);
}

/*
 * dp_block_classify_joined
 *	  Classify a key over public rows, one that a list names, or one that is
 *	  not public otherwise; `refusal` says why.  Returns the refusal that
 *	  remains; if NULL, its values are named or will be read.
 *
 * *values: the key over the public rows that it follows from, or NULL.
 * `conjuncts`: what every row fulfils, over base columns; `conditions`: of
 * dp_join_condition *, also what holds for rows of some leaves.
 */
dp_refusal *
dp_block_classify_joined(const dp_block *block, Node *base,
						 const List *conjuncts, const List *conditions,
						 dp_key *key, Node **values, dp_refusal *refusal)
{
	dp_joined  *source = only_source(block, base);

	*values = follows_from(source, base) ? base : NULL;
	if (refusal == NULL && key->kind == DP_KEY_LISTED)
		return NULL;			/* its values are named */
	if (source == NULL)
	{
		base = find_equal(block, base, conjuncts);
		source = base == NULL ? NULL : only_source(block, base);
		if (source != NULL && refusal == NULL && !is_list(source))
			return NULL;		/* there are fewer declared values */
	}
	if (!follows_from(source, base) || !dp_places_key_can_be_named(key) ||
		!OidIsValid(get_array_type(getBaseType(key->type))))
		return refusal;
	key->kind = DP_KEY_LISTED;
	key->nullable = has_absent(source, conjuncts);
	key->base = NULL;
	key->values = (Node *) make_values(source, base, conjuncts,
										conditions);
	*values = base;
	return NULL;
}
