/*
 * key_together.c
 *	  Which combinations of values of several group keys occur.
 *
 * The values of each key are public, and so are all their combinations; but a
 * combination that no row can have is no group: one that a condition over
 * several keys in WHERE excludes, and one that does not occur among the public
 * rows from which the keys follow, joined as every row of the block is.  Both
 * follow from public facts (T100).  The former are left out when the release
 * is read (run/key_conditions.c), since only then the value is known that
 * stands for undeclared ones; the latter by a condition of the outer query.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "split.h"

static Var *
key_column(int column, Node *like)
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
is_told_by_key(Node *base, Node *node)
{
	return base != NULL && equal(base, node) &&
		(IsA(base, Var) || !dp_block_key_tells_twins(base));
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

		if (IsA(node, Const) || !is_told_by_key(lfirst(lc), node))
			continue;
		c->met = bms_add_member(c->met, column);
		return (Node *) key_column(column, node);
	}
	c->foreign = IsA(node, Var) || IsA(node, Aggref) || IsA(node, SubLink) ||
		(IsA(node, Param) && (((Param *) node)->paramkind != PARAM_EXTERN ||
							  ((Param *) node)->paramid <= 0));
	return c->foreign ? node :
		expression_tree_mutator(node, keys_mutator, context);
}

/*
 * dp_block_key_conditions
 *	  The conditions in WHERE that use several keys and nothing else, over Vars
 *	  of varno 1 whose varattno is the position of a key, from 1: of Node *.
 *
 * `bases`: of Node *, the keys over base columns, NULL if a group's value may
 * differ from those of its rows; `conjuncts`: what every row fulfils.
 */
List *
dp_block_key_conditions(List *bases, const List *conjuncts)
{
	List	   *conditions = NIL;
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		keys_context c = {bases};
		Node	   *condition = keys_mutator(lfirst(lc), &c);

		if (!c.foreign && bms_membership(c.met) == BMS_MULTIPLE &&
			!contain_volatile_functions(condition) &&
			!dp_block_key_tells_twins(condition))
			conditions = lappend(conditions,
								 dp_rules_make_total(copyObject(condition)));
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
		dp_block_is_repeatable(source) &&
		(bms_is_member(number, t->keyed) || !source->nullable);
}

/* Does it hold whenever the joined sources have rows? */
static bool
is_usable(const together *t, const dp_join_condition *condition)
{
	return (condition->usable == NULL ||
			bms_overlap(condition->usable, t->joined)) &&
		!condition->matches && dp_block_is_known(condition->base);
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

		if (!is_usable(t, condition) || !IsA(condition->base, OpExpr) ||
			!dp_block_is_equality((OpExpr *) condition->base))
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
		target = makeTargetEntry((Expr *) column,
								 list_length(rows->targetList) + 1,
								 pstrdup("column"), false);
		rows->targetList = lappend(rows->targetList, target);
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
	return columns_mutator(dp_rules_make_total(copyObject(expression)), c);
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
										   dp_block_make_item(n));
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
	columns_context c = {makeNode(Query)};
	List	   *quals = NIL;
	int			number = -1;
	ListCell   *lc;

	c.query->commandType = CMD_SELECT;
	c.query->querySource = QSRC_ORIGINAL;
	c.query->canSetTag = true;
	c.query->stmt_location = -1;
	c.query->jointree = makeFromExpr(NIL, NULL);
	c.index = palloc0(sizeof(int) * (list_length(t->block->relids) + 1));
	while ((number = bms_next_member(t->joined, number)) >= 0)
		add_rows(&c, source_of(t->block, number));
	foreach(lc, t->bases)
	{
		Node	   *base = lfirst(lc);

		if (is_joined(t, base))
			dp_block_add_distinct(c.query, over_rows(base, &c));
	}
	foreach(lc, t->conditions)
	{
		const dp_join_condition *condition = lfirst(lc);
		Relids		leaves = pull_varnos(NULL, condition->base);

		if (!bms_is_empty(leaves) && bms_is_subset(leaves, t->joined) &&
			is_usable(t, condition))
			quals = lappend(quals, over_rows(condition->base, &c));
	}
	c.query->jointree->quals = dp_block_and(quals);
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
		key = key_column(foreach_current_index(lc) + 1, base);
		equal = lappend(equal, make_equality(key, list_length(equal) + 1));
		choices = lappend(choices, dp_block_null_test((Node *) copyObject(key),
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
 * dp_block_join_keys
 *	  Conditions of the outer query that all combinations of keys fulfil that
 *	  occur among the public rows from which they follow.
 *
 * `bases`: of Node *, such keys over base columns, and NULL for the other
 * keys; `conditions`: of dp_join_condition *.
 */
List *
dp_block_join_keys(const dp_block *block, const List *bases,
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
