/*
 * key_joined.c
 *	  Group keys over the columns of public rows that are joined, and what
 *	  WHERE says of keys.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../expressions/dp_expressions.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_keys.h"
#include "keys_internal.h"

/* ----------------
 *		Conditions on a group key in WHERE, at every level of a block.
 *
 * A condition that all rows of the block fulfil and that uses only one group
 * key, or only the one column from which the key is computed, is kept with the
 * key; when the query runs, it decides which public groups there are
 * (domains/decide_key.c).
 *
 * A public value stands for all values that equal it.  In most types equal
 * values are identical; numeric 1.0 and 1.00 are not, so for such types only
 * comparisons by the type's own order are used, which cannot distinguish them.
 * ----------------
 */

/* ---- collecting ---- */

static List *
joined_add_condition(List *conjuncts, Query *query, Node *condition)
{
	if (condition == NULL)
		return conjuncts;
	return dp_rowsets_add_conjuncts(conjuncts,
									dp_rowsets_base(query, condition));
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

	foreach(lc, dp_rowsets_add_conjuncts(NIL, join->quals))
		if (!bms_is_subset(pull_varnos(NULL, lfirst(lc)), named))
			conjuncts = joined_add_condition(conjuncts, query, lfirst(lc));
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
			list_concat(conjuncts, dp_keys_conjuncts(entry->subquery));
	}
	lists = dp_rowsets_naming_lists(join, query);
	if (lists != NULL)
		return add_naming(conjuncts, query, join, lists);
	if (join->jointype == JOIN_INNER)
		conjuncts = joined_add_condition(conjuncts, query, join->quals);
	if (join->jointype == JOIN_INNER || join->jointype == JOIN_LEFT ||
		dp_rowsets_only_asks(join))
		conjuncts = add_item(conjuncts, query, join->larg);
	if (join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT)
		conjuncts = add_item(conjuncts, query, join->rarg);
	return conjuncts;
}

/*
 * dp_keys_conjuncts
 *	  The conditions, of all levels of a verified query, that every row
 *	  fulfils, over the columns of leaves (dp_rowsets_base).
 */
List *
dp_keys_conjuncts(Query *query)
{
	List	   *conjuncts = joined_add_condition(NIL, query,
												 query->jointree->quals);
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
joined_only_column(Node *expression, Index *leaf)
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
	node = dp_base_unlabelled(node);
	return node != NULL && IsA(node, Var);
}

static bool distinguishes_twins_walker(Node *node, void *context);

/*
 * Could a comparison's operands, other than the inputs themselves, distinguish
 * twins: equal values that are not identical?
 */
static bool
operands_distinguish_twins(List *args, Oid operator)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		Node	   *operand = lfirst(lc);
		Oid			type = exprType(operand);

		if (is_input(operand) ? !dp_domains_is_ordering(operator, type) &&
			dp_domains_has_twins(type) : distinguishes_twins_walker(operand,
																	NULL))
			return true;
	}
	return false;
}

/* True if an input with twins is used other than in a comparison. */
static bool
distinguishes_twins_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return dp_domains_has_twins(((Var *) node)->vartype);
		case T_OpExpr:
		case T_DistinctExpr:
			return operands_distinguish_twins(((OpExpr *) node)->args,
											  ((OpExpr *) node)->opno);
		case T_ScalarArrayOpExpr:
			return operands_distinguish_twins(
					((ScalarArrayOpExpr *) node)->args,
										  ((ScalarArrayOpExpr *) node)->opno);
		case T_NullTest:
			return !is_input((Node *) ((NullTest *) node)->arg) &&
				expression_tree_walker(node, distinguishes_twins_walker,
									   context);
		default:
			return expression_tree_walker(node, distinguishes_twins_walker,
										  context);
	}
}

/*
 * key_distinguishes_twins
 *	  Could an expression over a key's inputs differ for equal values?
 */
static bool
key_distinguishes_twins(Node *expression)
{
	return distinguishes_twins_walker(expression, NULL);
}

/*
 * dp_keys_find_key_conditions
 *	  Give the key those of the block's conditions that are about it, and its
 *	  image; `base` is the key over the columns of the relation.
 *
 * `refusal` is that of classifying the key; conditions that name its values
 * make them public, whatever is declared.  Returns the refusal that remains,
 * or NULL.
 */
dp_refusal *
dp_keys_find_key_conditions(const List *conjuncts, Node *base, dp_key *key,
							dp_refusal *refusal)
{
	key_context c = {base};
	bool		is_column = is_input(base);
	ListCell   *lc;

	if (!contain_agg_clause(base) || dp_keys_column_of_extreme(base) != NULL)
		c.attnum = joined_only_column(base, &c.leaf);
	if (is_column)
		c.key = NULL;
	else if (c.attnum != 0)
	{
		key_context image = {NULL, c.leaf, c.attnum};

		key->image = input_mutator(base, &image);
		if (image.foreign)
			key->image = NULL;
		/* then the key of a row may differ from that of its value */
		if (key->image != NULL && key_distinguishes_twins(key->image))
			c.key = NULL;
	}
	foreach(lc, conjuncts)
	{
		Node	   *condition;

		c.foreign = false;
		condition = input_mutator(lfirst(lc), &c);
		if (!c.foreign && !contain_volatile_functions(condition) &&
			!key_distinguishes_twins(condition))
			key->conditions = lappend(key->conditions, condition);
	}
	/* settling turns "b = true" into b, which names no value */
	if (key->constant != NULL || getBaseType(key->type) == BOOLOID ||
		key->kind == DP_KEY_ENUM || !dp_domains_key_is_named(key))
		return refusal;
	key->kind = DP_KEY_LISTED;
	if (!is_column)
		key->nullable = true;	/* its conditions decide */
	return NULL;
}

/* ----------------
 *		Group keys over the columns of joined public rows.
 *
 * Their values are as public as the rows: the distinct values of the key over
 * those public rows that fulfil the conditions on them alone.  A query of the
 * asking role reads them when the release begins; from then on they are part
 * of the key's conditions, as if the query had named them
 * (prepare/group_keys.c).
 *
 * A source whose rows may differ at each reading has no such values.
 * ----------------
 */

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
block_is_unknown(Node *node, const dp_walk *walk)
{
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN ||
			((Param *) node)->paramid <= 0;
	return IsA(node, Aggref) ||
		(IsA(node, Var) && ((Var *) node)->varattno <= 0);
}

/* block_is_known: does an expression depend only on values of rows? */
static bool
block_is_known(Node *expression)
{
	return !dp_base_contains(expression, block_is_unknown, NULL,
							 DP_WALK_ONE_LEVEL) &&
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
may_vary(Node *node, const dp_walk *walk)
{
	const Query *query = (const Query *) node;

	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->tablesample != NULL;
	/* its CHECK may call anything */
	if (IsA(node, CoerceToDomain) &&
		((CoerceToDomain *) node)->resulttype >= FirstNormalObjectId)
		return true;
	if (IsA(node, Query))
		return query->limitCount != NULL || query->limitOffset != NULL ||
			query->rowMarks != NIL || query->hasWindowFuncs ||
			query->hasDistinctOn || query->hasModifyingCTE;
	return check_functions_in_node(node, is_users, NULL);
}

/*
 * is_repeatable
 *	  May the public rows of a source be read several times?
 *
 * Key values and rows are read by separate queries, key values in EXPLAIN,
 * too; so no users' functions may be called, whatever their volatility.
 */
static bool
is_repeatable(const dp_joined *source)
{
	return !dp_catalog_has_aggregate((Node *) source->query) &&
		!contain_volatile_functions((Node *) source->query) &&
		!dp_base_contains((Node *) source->query, may_vary, NULL,
						  QTW_EXAMINE_RTES_BEFORE);
}

static Node *
over_source(Node *base, const dp_joined *source)
{
	Node	   *copy = dp_expressions_make_total(copyObject(base));

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
			!condition->matches && block_is_known(condition->base))
			own = lappend(own, over_source(condition->base, source));
	}
	return dp_rowsets_and(own);
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
							 dp_rowsets_null_test(over_source(base, source),
												  IS_NOT_NULL));
	}
	return quals;
}

static Query *
joined_make_values(const dp_joined *source, Node *base, const List *conjuncts,
				   const List *conditions)
{
	Query	   *query = copyObject(source->query);

	query->targetList = NIL;
	dp_rowsets_add_distinct(query, over_source(base, source));
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
joined_is_list(const dp_joined *source)
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

		if (!IsA(equality, OpExpr) || !dp_rowsets_is_equality(equality))
			continue;
		other = equal(linitial(equality->args), base) ?
			lsecond(equality->args) : equal(lsecond(equality->args), base) ?
			linitial(equality->args) : NULL;
		if (other != NULL && only_source(block, other) != NULL &&
			exprType(other) == exprType(base) &&
			exprCollation(other) == exprCollation(base) &&
			!key_distinguishes_twins(other))
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
	return source != NULL && block_is_known(base) &&
		(!source->nullable || !contain_nonstrict_functions(base)) &&
		is_repeatable(source);
}

/*
 * dp_keys_classify_joined
 *	  Classify a key over public rows, one that a list names, or one that is
 *	  not public otherwise; `refusal` says why.  Returns the refusal that
 *	  remains; if NULL, its values are named or will be read.
 *
 * *values: the key over the public rows that it follows from, or NULL.
 * `conjuncts`: what every row fulfils, over base columns; `conditions`: of
 * dp_join_condition *, also what holds for rows of some leaves.
 */
dp_refusal *
dp_keys_classify_joined(const dp_block *block, Node *base,
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
		if (source != NULL && refusal == NULL && !joined_is_list(source))
			return NULL;		/* there are fewer declared values */
	}
	if (!follows_from(source, base) || !dp_domains_key_can_be_named(key) ||
		!OidIsValid(get_array_type(getBaseType(key->type))))
		return refusal;
	key->kind = DP_KEY_LISTED;
	key->nullable = has_absent(source, conjuncts);
	key->base = NULL;
	key->values = (Node *) joined_make_values(source, base, conjuncts,
										conditions);
	*values = base;
	return NULL;
}

/* ----------------
 *		Which combinations of values of several group keys occur.
 *
 * The values of each key are public, and so are all their combinations; but a
 * combination that no row can have is no group: one that a condition over
 * several keys in WHERE excludes, and one that does not occur among the public
 * rows from which the keys follow, joined as every row of the block is.  Both
 * follow from public facts (T100).  The former are left out when the release
 * is read (prepare/group_keys.c), since only then the value is known that
 * stands for undeclared ones; the latter by a condition of the outer query.
 * ----------------
 */

static Var *
joined_key_column(int column, Node *like)
{
	return makeVar(1, column, exprType(like), exprTypmod(like),
				   exprCollation(like), 0);
}

/* ---- conditions over several keys ---- */

typedef struct keys_context
{
	List	   *bases;			/* of Node *: the keys, over base columns */
	Bitmapset  *met;			/* columns of those that were found */
	bool		foreign;		/* something else was found */
} keys_context;

/* Does a released key equal the expression in all rows of its group? */
static bool
is_given_by_key(Node *base, Node *node)
{
	return base != NULL && equal(base, node) &&
		(IsA(base, Var) || !key_distinguishes_twins(base));
}

/* Replace what equals a key by the released key. */
static Node *
keys_mutator(Node *node, void *context)
{
	keys_context *c = context;
	ListCell   *lc;

	if (node == NULL || c->foreign)
		return node;
	foreach(lc, c->bases)
	{
		int			column = foreach_current_index(lc) + 1;

		if (IsA(node, Const) || !is_given_by_key(lfirst(lc), node))
			continue;
		c->met = bms_add_member(c->met, column);
		return (Node *) joined_key_column(column, node);
	}
	c->foreign = IsA(node, Var) || IsA(node, Aggref) || IsA(node, SubLink) ||
		(IsA(node, Param) && (((Param *) node)->paramkind != PARAM_EXTERN ||
							  ((Param *) node)->paramid <= 0));
	return c->foreign ? node :
		expression_tree_mutator(node, keys_mutator, context);
}

/*
 * dp_keys_conditions
 *	  The conditions in WHERE that use several keys and nothing else, over Vars
 *	  of varno 1 whose varattno is the position of a key, from 1: of Node *.
 *
 * `bases`: of Node *, the keys over base columns, NULL if a group's value may
 * differ from those of its rows; `conjuncts`: what every row fulfils.
 */
List *
dp_keys_conditions(List *bases, const List *conjuncts)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		keys_context c = {bases};
		Node	   *condition = keys_mutator(lfirst(lc), &c);

		if (!c.foreign && bms_membership(c.met) == BMS_MULTIPLE &&
			!contain_volatile_functions(condition) &&
			!key_distinguishes_twins(condition))
			conditions = lappend(conditions,
							 dp_expressions_make_total(copyObject(condition)));
	}
	return conditions;
}

/* ---- public rows that are joined ---- */

typedef struct together
{
	const dp_block *block;
	const List *bases;			/* of Node * or NULL: keys over public rows */
	const List *conditions;		/* of dp_join_condition * */
	Relids		keyed;			/* sources of the keys' columns */
	Relids		joined;			/* sources joined here */
} together;

static const dp_joined *
source_of(const dp_block *block, int number)
{
	ListCell   *lc;

	foreach(lc, block->sources)
		if (((const dp_joined *) lfirst(lc))->number == number)
			return lfirst(lc);
	return NULL;
}

/*
 * Is the source public and repeatable, and does every row of the block have a
 * row of it?
 */
static bool
may_join(const together *t, int number)
{
	const dp_joined *source = source_of(t->block, number);

	return source != NULL && !OidIsValid(source->relid) &&
		is_repeatable(source) &&
		(bms_is_member(number, t->keyed) || !source->nullable);
}

/* Does it hold whenever the joined sources have rows? */
static bool
joined_is_usable(const together *t, const dp_join_condition *condition)
{
	return (condition->usable == NULL ||
			bms_overlap(condition->usable, t->joined)) &&
		!condition->matches && block_is_known(condition->base);
}

/* Add the sources that an equality joins with those already there. */
static bool
add_sources(together *t)
{
	bool		added = false;
	ListCell   *lc;

	foreach(lc, t->conditions)
	{
		const dp_join_condition *condition = lfirst(lc);
		Relids		leaves;
		int			number = -1;

		if (!joined_is_usable(t, condition) || !IsA(condition->base, OpExpr) ||
			!dp_rowsets_is_equality((OpExpr *) condition->base))
			continue;
		leaves = pull_varnos(NULL, condition->base);
		if (!bms_overlap(leaves, t->joined) ||
			bms_is_subset(leaves, t->joined))
			continue;
		while ((number = bms_next_member(leaves, number)) >= 0)
			if (!may_join(t, number))
				break;
		if (number >= 0)
			continue;
		t->joined = bms_add_members(t->joined, leaves);
		added = true;
	}
	return added;
}

typedef struct columns_context
{
	Query	   *query;
	int		   *index;			/* position of each source in it, by number */
} columns_context;

/* The column in the joined query; added to the targets of its source. */
static Node *
columns_mutator(Node *node, void *context)
{
	columns_context *c = context;
	Var		   *column;
	Query	   *rows;
	TargetEntry *target;
	RangeTblEntry *entry;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, columns_mutator, context);
	column = copyObject((Var *) node);
	column->varno = 1;
	entry = list_nth(c->query->rtable, c->index[((Var *) node)->varno] - 1);
	rows = entry->subquery;
	target = tlist_member((Expr *) column, rows->targetList);
	if (target == NULL)
	{
		target = dp_rowsets_add_target(&rows->targetList, (Node *) column,
									   "column");
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup("column")));
	}
	return (Node *) makeVar(c->index[((Var *) node)->varno], target->resno,
							column->vartype, column->vartypmod,
							column->varcollid, 0);
}

static Node *
over_rows(Node *expression, columns_context *c)
{
	return columns_mutator(dp_expressions_make_total(copyObject(expression)),
						   c);
}

/* Add the rows of a source to FROM. */
static void
add_rows(columns_context *c, const dp_joined *source)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	int			n;

	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = copyObject(source->query);
	entry->subquery->targetList = NIL;
	entry->eref = makeAlias("joined", NIL);
	entry->inFromCl = true;
	c->query->rtable = lappend(c->query->rtable, entry);
	n = list_length(c->query->rtable);
	c->index[source->number] = n;
	c->query->jointree->fromlist = lappend(c->query->jointree->fromlist,
										   dp_rowsets_make_item(n));
}

/* Does a key use only the joined sources?  NULL does not. */
static bool
is_joined(const together *t, Node *base)
{
	return base != NULL && bms_is_subset(pull_varnos(NULL, base), t->joined);
}

static Query *
make_rows(const together *t)
{
	columns_context c = {dp_rowsets_make_level(NIL)};
	List	   *quals = NIL;
	int			number = -1;
	ListCell   *lc;

	c.index = palloc0(sizeof(int) * (list_length(t->block->relids) + 1));
	while ((number = bms_next_member(t->joined, number)) >= 0)
		add_rows(&c, source_of(t->block, number));
	foreach(lc, t->bases)
	{
		Node	   *base = lfirst(lc);

		if (is_joined(t, base))
			dp_rowsets_add_distinct(c.query, over_rows(base, &c));
	}
	foreach(lc, t->conditions)
	{
		const dp_join_condition *condition = lfirst(lc);
		Relids		leaves = pull_varnos(NULL, condition->base);

		if (!bms_is_empty(leaves) && bms_is_subset(leaves, t->joined) &&
			joined_is_usable(t, condition))
			quals = lappend(quals, over_rows(condition->base, &c));
	}
	c.query->jointree->quals = dp_rowsets_and(quals);
	return c.query;
}

/* Make key = column of the query, for a key position. */
static Expr *
make_equality(Var *key, int place)
{
	TypeCacheEntry *cache = lookup_type_cache(getBaseType(key->vartype),
											  TYPECACHE_EQ_OPR);
	Param	   *given = makeNode(Param);
	Expr	   *equality;

	given->paramkind = PARAM_SUBLINK;
	given->paramid = place;
	given->paramtype = key->vartype;
	given->paramtypmod = key->vartypmod;
	given->paramcollid = key->varcollid;
	given->location = -1;
	equality = make_opclause(cache->eq_opr, BOOLOID, false, (Expr *) key,
							 (Expr *) given, InvalidOid, key->varcollid);
	set_opfuncid((OpExpr *) equality);
	return equality;
}

/*
 * The condition that the keys over the joined sources occur together, or that
 * one of them is NULL, as it may be under an outer join.
 */
static Node *
occur_together(const together *t)
{
	SubLink    *link = makeNode(SubLink);
	List	   *choices = NIL;
	List	   *equal = NIL;
	ListCell   *lc;

	foreach(lc, t->bases)
	{
		Node	   *base = lfirst(lc);
		Var		   *key;

		if (!is_joined(t, base))
			continue;
		key = joined_key_column(foreach_current_index(lc) + 1, base);
		equal = lappend(equal, make_equality(key, list_length(equal) + 1));
		choices = lappend(choices,
						  dp_rowsets_null_test((Node *) copyObject(key),
														  IS_NULL));
	}
	link->subLinkType = ANY_SUBLINK;
	link->testexpr = (Node *) make_ands_explicit(equal);
	link->subselect = (Node *) make_rows(t);
	link->location = -1;
	return (Node *) makeBoolExpr(OR_EXPR, lappend(choices, link), -1);
}

/* How many keys use the joined sources only? */
static int
count_keys(const together *t)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, t->bases)
		if (is_joined(t, lfirst(lc)))
			n++;
	return n;
}

/*
 * dp_keys_join
 *	  Conditions of the outer query that all combinations of keys fulfil that
 *	  occur among the public rows from which they follow.
 *
 * `bases`: of Node *, such keys over base columns, and NULL for the other
 * keys; `conditions`: of dp_join_condition *.
 */
List *
dp_keys_join(const dp_block *block, const List *bases,
			 const List *conditions)
{
	together	t = {block, bases, conditions};
	List	   *combined = NIL;
	Relids		done = NULL;
	int			number = -1;
	ListCell   *lc;

	foreach(lc, bases)
		if (lfirst(lc) != NULL)
			t.keyed = bms_add_members(t.keyed, pull_varnos(NULL, lfirst(lc)));
	while ((number = bms_next_member(t.keyed, number)) >= 0)
	{
		if (bms_is_member(number, done))
			continue;
		t.joined = bms_make_singleton(number);
		while (add_sources(&t))
			;
		done = bms_add_members(done, t.joined);
		if (count_keys(&t) > 1 || bms_num_members(t.joined) > 1)
			combined = lappend(combined, occur_together(&t));
	}
	return combined;
}
