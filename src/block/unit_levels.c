/*
 * unit_levels.c
 *	  The size of a unit's rows at each level of a block that groups.
 *
 * Memory holds the groups of some units at a time, and the rows made from them
 * above.  Their largest number follows from the numbers of the unit's rows
 * (bound/gather_unit.c): at each level from those sources that are not below a
 * level that makes one row of each unit, and whose row is not determined by
 * another source's row, as an order is by its line, or a group is if an outer
 * join matches at most one.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

#define GROUP_BYTES 256			/* of a hash table, per group */

/* ---- what rows are made of ---- */

static const Node *
plain(const Node *node)
{
	while (IsA(node, RelabelType))
		node = (const Node *) ((const RelabelType *) node)->arg;
	return node;
}

/* Is a column of an item equated with something that does not use the item? */
static bool
is_given(int item, AttrNumber column, const List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const OpExpr *equality = lfirst(lc);
		int			i;

		for (i = 0; IsA(equality, OpExpr) &&
			 dp_block_is_equality(equality) && i < 2; i++)
		{
			const Var  *var = (const Var *)
			dp_block_uncast(list_nth(equality->args, i));

			if (var != NULL && IsA(var, Var) && (int) var->varno == item &&
				var->varattno == column &&
				!bms_is_member(item, pull_varnos(NULL, list_nth(equality->args,
																1 - i))))
				return true;
		}
	}
	return false;
}

/*
 * Does each row on the left of an outer join match at most one row, since all
 * keys of a group are given?
 */
static bool
finds_one(const Query *level, const JoinExpr *join)
{
	const RangeTblRef *item = (const RangeTblRef *) join->rarg;
	const Query *groups;
	List	   *conditions;
	ListCell   *lc;

	if (join->jointype != JOIN_LEFT || !IsA(item, RangeTblRef))
		return false;
	groups = rt_fetch(item->rtindex, level->rtable)->subquery;
	if (groups == NULL || !dp_block_is_grouped(groups))
		return false;
	conditions = dp_block_add_conjuncts(NIL, join->quals);
	foreach(lc, groups->groupClause)
	{
		const TargetEntry *key = get_sortgroupclause_tle(lfirst(lc),
														 groups->targetList);

		if (!is_given(item->rtindex, key->resno, conditions))
			return false;
	}
	return true;
}

static List *
add_entries(List *entries, const Query *level, const Node *item)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return lappend(entries, rt_fetch(((const RangeTblRef *)
										  item)->rtindex, level->rtable));
	entries = add_entries(entries, level, join->larg);
	return dp_block_only_asks(join) || finds_one(level, join) ? entries :
		add_entries(entries, level, join->rarg);
}

/* The items, or arms, of which a level makes its rows. */
static List *
level_entries(const Query *level)
{
	List	   *entries = NIL;
	ListCell   *lc;

	foreach(lc, dp_block_from(level))
		entries = add_entries(entries, level, lfirst(lc));
	return entries;
}

/*
 * Does the level group by the unit only?  Then each unit has at most one row.
 */
static bool
groups_by_unit_alone(const Query *level)
{
	return list_length(level->groupClause) == 1;
}

static bool has_unit_rows(const Query *level);

/* Does the level read provably at most one row of each unit? */
static bool
reads_unit_rows(const Query *level)
{
	ListCell   *lc;

	if (!dp_block_full_once(level))
		return false;
	foreach(lc, level_entries(level))
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind != RTE_SUBQUERY ||
			!has_unit_rows(entry->subquery))
			return false;
	}
	return true;
}

/*
 * Does a verified level, other than a block's own, provably have at most one
 * row of each unit, because it groups?
 */
static bool
has_unit_rows(const Query *level)
{
	if (level->setOperations != NULL)
		return false;
	return dp_block_is_grouped(level) ? groups_by_unit_alone(level) :
		reads_unit_rows(level);
}

/* dp_block_groups_once: the same for the rows that a block reads. */
bool
dp_block_groups_once(const dp_block *block)
{
	return reads_unit_rows(block->inner);
}

/* ---- sizes ---- */

/* Is a leaf private, and its row not determined by another's? */
static bool
is_chosen(int number, const dp_block *block)
{
	ListCell   *lc;

	if (!OidIsValid(list_nth_oid(block->relids, number - 1)))
		return false;
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (source->number == number)
			return source->given == 0;
	}
	return true;
}

/*
 * The sets of leaves from which rows of a level are made: one, or several if
 * arms of UNION ALL return rows of different ones.  `chosen`: only the private
 * leaves from which a row is chosen.
 */
static List *list_choices(const Query *level, const dp_block *block,
						  bool chosen);

static List *
entry_choices(const RangeTblEntry *entry, const dp_block *block, bool chosen)
{
	int			number;

	if (entry->rtekind == RTE_SUBQUERY)
		return chosen && has_unit_rows(entry->subquery) ? list_make1(NULL) :
			list_choices(entry->subquery, block, chosen);
	number = dp_block_leaf_number(entry);
	return list_make1(chosen && !is_chosen(number, block) ? NULL :
					  bms_make_singleton(number));
}

/* The union of each set of one list with each of the other. */
static List *
multiply(const List *some, const List *others)
{
	List	   *product = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, some)
		foreach(lc2, others)
			product = lappend(product, bms_union(lfirst(lc), lfirst(lc2)));
	return product;
}

static List *
list_choices(const Query *level, const dp_block *block, bool chosen)
{
	List	   *choices = list_make1(NULL);
	List	   *sum = NIL;
	ListCell   *lc;

	foreach(lc, level_entries(level))
	{
		List	   *own = entry_choices(lfirst(lc), block, chosen);

		sum = list_concat(sum, own);
		if (level->setOperations == NULL)
			choices = multiply(choices, own);
	}
	return level->setOperations != NULL ? sum : choices;
}

/*
 * dp_block_row_leaves
 *	  List of Bitmapset *: the sets of leaves from which a block's rows are
 *	  made, each row from one of the sets.  Leaves of semijoins and antijoins
 *	  are not included.
 */
List *
dp_block_row_leaves(const dp_block *block)
{
	return list_choices(block->inner, block, false);
}

static bool
is_public_walker(Node *node, void *context)
{
	const dp_block *block = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var) && !OidIsValid(list_nth_oid(block->relids,
												   ((Var *) node)->varno - 1)))
		return true;
	return expression_tree_walker(node, is_public_walker, context);
}

static bool
follows_from_public(Query *level, Node *expression, const dp_block *block)
{
	return is_public_walker(dp_block_rowset_base(level, expression),
							(void *) block);
}

static bool
spreads_walker(Node *node, void *context)
{
	const dp_block *block = context;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, spreads_walker, context);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		ListCell   *lc2;

		if (source->number != ((Var *) node)->varno ||
			OidIsValid(source->relid))
			continue;
		foreach(lc2, source->keys)
			if (lfirst_node(Var, lc2)->varattno == ((Var *) node)->varattno)
				return false;
		return true;
	}
	return false;
}

/*
 * dp_block_joins_plainly
 *	  Is a row of a block made from at most one row of each source, since no
 *	  level below groups rows or combines them?
 */
bool
dp_block_joins_plainly(const Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY &&
			(entry->subquery->setOperations != NULL ||
			 dp_block_is_whole(entry->subquery) ||
			 !dp_block_joins_plainly(entry->subquery)))
			return false;
	}
	return true;
}

/*
 * dp_block_key_spreads
 *	  May a private row be in several groups because of the n-th group key,
 *	  from 0: does that belong to public rows, of which several may be joined
 *	  with it?
 */
bool
dp_block_key_spreads(const dp_block *block, int n)
{
	const TargetEntry *key = list_nth(block->inner->targetList, n);

	return spreads_walker(dp_block_rowset_base(block->inner,
											   (Node *) key->expr),
						  (void *) block);
}

static bool
is_column(Query *level, Node *value)
{
	return IsA(plain(dp_block_rowset_base(level, value)), Var);
}

/*
 * Add a value that a group holds: a column of a private or public row, or the
 * value of an expression, which may be longer than its inputs.
 */
static void
add_value(Query *level, Node *value, const dp_block *block,
		  dp_unit_level *sizes)
{
	if (get_typlen(exprType(value)) > 0)
		sizes->group += MAXALIGN(get_typlen(exprType(value)));
	else if (!is_column(level, value))
		sizes->group += MAXALIGN(dp_rules_kept_bytes(value, level));
	else if (follows_from_public(level, value, block))
		sizes->public++;
	else
		sizes->private++;
}

typedef struct aggregate_walk
{
	Query	   *level;
	const dp_block *block;
	dp_unit_level *sizes;
} aggregate_walk;

static bool
aggregate_walker(Node *node, void *context)
{
	aggregate_walk *walk = context;
	Aggref	   *aggregate = (Aggref *) node;
	bool		value;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, aggregate_walker, context);
	walk->sizes->group += dp_rules_aggregate_keeps(aggregate, &value);
	if (value)
		add_value(walk->level, (Node *)
				  linitial_node(TargetEntry, aggregate->args)->expr,
				  walk->block, walk->sizes);
	return false;
}

/*
 * Add one level for each set of leaves from which rows are chosen: a row of
 * the unit belongs to one of the sets, and so do the copies of its values.
 */
static List *
add_choices(List *levels, const dp_unit_level *sizes, const List *choices)
{
	ListCell   *lc;

	foreach(lc, choices)
	{
		dp_unit_level *one = palloc(sizeof(dp_unit_level));

		*one = *sizes;
		one->leaves = lfirst(lc);
		if (foreach_current_index(lc) > 0)
			one->private = 0;
		levels = lappend(levels, one);
	}
	return levels;
}

static List *
measure_groups(List *levels, Query *level, const dp_block *block)
{
	dp_unit_level *sizes = palloc0(sizeof(dp_unit_level));
	aggregate_walk walk = {level, block, sizes};
	ListCell   *lc;

	sizes->group = GROUP_BYTES;
	foreach(lc, get_sortgrouplist_exprs(level->groupClause,
										level->targetList))
	{
		sizes->spread = sizes->spread ||
			follows_from_public(level, lfirst(lc), block);
		add_value(level, lfirst(lc), block, sizes);
	}
	(void) aggregate_walker((Node *) level->targetList, &walk);
	(void) aggregate_walker(level->havingQual, &walk);
	return add_choices(levels, sizes, groups_by_unit_alone(level) ?
					   list_make1(NULL) : list_choices(level, block, true));
}

static List *
measure_windows(List *levels, Query *level, const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, list_choices(level, block, true))
	{
		dp_unit_level *sizes = palloc0(sizeof(dp_unit_level));

		dp_block_measure_windows(level, block, bms_num_members(lfirst(lc)),
								 sizes);
		levels = add_choices(levels, sizes, list_make1(lfirst(lc)));
	}
	return levels;
}

/* Measure all levels below, including those of semijoins and antijoins. */
static List *
measure_below(const Query *level, const dp_block *block, List *levels)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind != RTE_SUBQUERY)
			continue;
		levels = measure_below(entry->subquery, block, levels);
		if (dp_block_is_grouped(entry->subquery))
			levels = measure_groups(levels, entry->subquery, block);
		if (entry->subquery->hasWindowFuncs)
			levels = measure_windows(levels, entry->subquery, block);
	}
	return levels;
}

/*
 * dp_block_unit_levels
 *	  List of dp_unit_level *: for the rows that the block aggregates, and then
 *	  for the groups, or the rows that windows keep, of each level below.
 */
List *
dp_block_unit_levels(const dp_block *block)
{
	const dp_unit_level rows = {0};

	return measure_below(block->inner, block,
						 add_choices(NIL, &rows,
									 list_choices(block->inner, block, true)));
}
