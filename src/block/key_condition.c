/*
 * key_condition.c
 *	  Conditions on a group key in WHERE, at every level of a block.
 *
 * A condition that all rows of the block fulfil and that uses only one group
 * key, or only the one column from which the key is computed, is kept with the
 * key; when the query runs, it decides which public groups there are
 * (places/decide_key.c).
 *
 * A public value stands for all values that equal it.  In most types equal
 * values are identical; numeric 1.0 and 1.00 are not, so for such types only
 * comparisons by the type's own order are used, which cannot distinguish them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "split.h"

/* ---- collecting ---- */

static List *
add_condition(List *conjuncts, Query *query, Node *condition)
{
	if (condition == NULL)
		return conjuncts;
	return dp_block_add_conjuncts(conjuncts,
								  dp_block_rowset_base(query, condition));
}

static List *add_item(List *conjuncts, Query *query, Node *item);

/*
 * Add what a join fulfils whose lists name groups (named_groups.c): all rows
 * of a list stay, whatever the condition says about them alone.
 */
static List *
add_naming(List *conjuncts, Query *query, JoinExpr *join, Node *lists)
{
	Relids		named = get_relids_in_jointree(lists, false, false);
	ListCell   *lc;

	foreach(lc, dp_block_add_conjuncts(NIL, join->quals))
		if (!bms_is_subset(pull_varnos(NULL, lfirst(lc)), named))
			conjuncts = add_condition(conjuncts, query, lfirst(lc));
	foreach(lc, add_item(NIL, query, lists == join->larg ? join->rarg :
						 join->larg))
		if (!bms_is_empty(pull_varnos(NULL, lfirst(lc))))
			conjuncts = lappend(conjuncts, lfirst(lc));
	return add_item(conjuncts, query, lists);
}

/*
 * Add what an item of FROM fulfils; an outer join adds nothing about its
 * nullable side.
 */
static List *
add_item(List *conjuncts, Query *query, Node *item)
{
	JoinExpr   *join = (JoinExpr *) item;
	RangeTblEntry *entry;
	Node	   *lists;

	if (IsA(item, RangeTblRef))
	{
		entry = rt_fetch(((RangeTblRef *) item)->rtindex, query->rtable);
		return entry->rtekind != RTE_SUBQUERY ? conjuncts :
			list_concat(conjuncts, dp_block_key_conjuncts(entry->subquery));
	}
	lists = dp_block_naming_lists(join, query);
	if (lists != NULL)
		return add_naming(conjuncts, query, join, lists);
	if (join->jointype == JOIN_INNER)
		conjuncts = add_condition(conjuncts, query, join->quals);
	if (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT ||
		dp_block_only_asks(join))
		conjuncts = add_item(conjuncts, query, join->larg);
	if (join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT)
		conjuncts = add_item(conjuncts, query, join->rarg);
	return conjuncts;
}

/*
 * dp_block_key_conjuncts
 *	  The conditions, of all levels of a verified query, that every row
 *	  fulfils, over the columns of leaves (dp_block_rowset_base).
 */
List *
dp_block_key_conjuncts(Query *query)
{
	List	   *conjuncts = add_condition(NIL, query, query->jointree->quals);
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		conjuncts = add_item(conjuncts, query, lfirst(lc));
	return conjuncts;
}

/* ---- what a condition speaks of ---- */

typedef struct key_context
{
	Node	   *key;			/* over the columns of the relation */
	Index		leaf;			/* of the one column in it */
	AttrNumber	attnum;			/* its number, or 0 */
	bool		foreign;		/* something else was found */
} key_context;

static Var *
make_input(int which, Node *like)
{
	return makeVar(1, which, exprType(like), exprTypmod(like),
				   exprCollation(like), 0);
}

/* Replace what equals the key, or its column, by the key's value. */
static Node *
input_mutator(Node *node, void *context)
{
	key_context *c = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		if (((Var *) node)->varattno == c->attnum && c->attnum != 0 &&
			(Index) ((Var *) node)->varno == c->leaf)
			return (Node *) make_input(DP_KEY_COLUMN, node);
		c->foreign = true;
		return node;
	}
	if (!IsA(node, Const) && equal(node, c->key))
		return (Node *) make_input(DP_KEY_VALUE, node);
	/* what is computed from groups depends on many rows */
	if (IsA(node, Aggref))
	{
		c->foreign = true;
		return node;
	}
	/* a subquery's result is unknown before its charge */
	if (IsA(node, Param) && (((Param *) node)->paramkind != PARAM_EXTERN ||
							 ((Param *) node)->paramid <= 0))
		c->foreign = true;
	return expression_tree_mutator(node, input_mutator, context);
}

/* The one column in an expression, and its leaf; or 0. */
static AttrNumber
only_column(Node *expression, Index *leaf)
{
	Relids		leaves = pull_varnos(NULL, expression);
	Bitmapset  *columns = NULL;
	int			column;

	*leaf = 0;
	if (bms_membership(leaves) != BMS_SINGLETON)
		return 0;
	*leaf = bms_singleton_member(leaves);
	pull_varattnos(expression, *leaf, &columns);
	if (bms_membership(columns) != BMS_SINGLETON)
		return 0;
	column = bms_singleton_member(columns);
	column += FirstLowInvalidHeapAttributeNumber;
	return column > 0 ? (AttrNumber) column : 0;
}

/* ---- equal values that are not the same ---- */

static bool
is_input(const Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var);
}

static bool tells_twins_walker(Node *node, void *context);

/*
 * Could a comparison's operands, other than the inputs themselves, distinguish
 * twins: equal values that are not identical?
 */
static bool
operands_tell_twins(List *args, Oid operator)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		Node	   *operand = lfirst(lc);
		Oid			type = exprType(operand);

		if (is_input(operand) ? !dp_places_is_ordering(operator, type) &&
			dp_places_has_twins(type) : tells_twins_walker(operand, NULL))
			return true;
	}
	return false;
}

/* True if an input with twins is used other than in a comparison. */
static bool
tells_twins_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return dp_places_has_twins(((Var *) node)->vartype);
		case T_OpExpr:
		case T_DistinctExpr:
			return operands_tell_twins(((OpExpr *) node)->args,
									   ((OpExpr *) node)->opno);
		case T_ScalarArrayOpExpr:
			return operands_tell_twins(((ScalarArrayOpExpr *) node)->args,
									   ((ScalarArrayOpExpr *) node)->opno);
		case T_NullTest:
			return !is_input((Node *) ((NullTest *) node)->arg) &&
				expression_tree_walker(node, tells_twins_walker, context);
		default:
			return expression_tree_walker(node, tells_twins_walker, context);
	}
}

/*
 * dp_block_key_tells_twins
 *	  Could an expression over a key's inputs differ for equal values?
 */
bool
dp_block_key_tells_twins(Node *expression)
{
	return tells_twins_walker(expression, NULL);
}

/*
 * dp_block_find_key_conditions
 *	  Give the key those of the block's conditions that are about it, and its
 *	  image; `base` is the key over the columns of the relation.
 *
 * `refusal` is that of classifying the key; conditions that name its values
 * make them public, whatever is declared.  Returns the refusal that remains,
 * or NULL.
 */
dp_refusal *
dp_block_find_key_conditions(const List *conjuncts, Node *base, dp_key *key,
							 dp_refusal *refusal)
{
	key_context c = {base};
	bool		is_column = is_input(base);
	ListCell   *lc;

	if (!contain_agg_clause(base) || dp_block_column_of_extreme(base) != NULL)
		c.attnum = only_column(base, &c.leaf);
	if (is_column)
		c.key = NULL;
	else if (c.attnum != 0)
	{
		key_context image = {NULL, c.leaf, c.attnum};

		key->image = input_mutator(base, &image);
		if (image.foreign)
			key->image = NULL;
		/* then the key of a row may differ from that of its value */
		if (key->image != NULL && dp_block_key_tells_twins(key->image))
			c.key = NULL;
	}
	foreach(lc, conjuncts)
	{
		Node	   *condition;

		c.foreign = false;
		condition = input_mutator(lfirst(lc), &c);
		if (!c.foreign && !contain_volatile_functions(condition) &&
			!dp_block_key_tells_twins(condition))
			key->conditions = lappend(key->conditions, condition);
	}
	/* settling turns "b = true" into b, which names no value */
	if (key->constant != NULL || getBaseType(key->type) == BOOLOID ||
		key->kind == DP_KEY_ENUM || !dp_places_key_is_named(key))
		return refusal;
	key->kind = DP_KEY_LISTED;
	if (!is_column)
		key->nullable = true;	/* its conditions decide */
	return NULL;
}
