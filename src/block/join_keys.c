/*
 * join_keys.c
 *	  The columns by which a public item is joined.
 *
 * The number of rows that one private row makes must be bounded before it is
 * read.  Take the public items one after another, after the private ones: at
 * most as many rows of an item match the choice so far as agree in the columns
 * that some condition equates with something known by then.  They are counted
 * when the rows have been read (run/joined_rows.c).
 *
 * A condition that every row fulfils counts for all items, one of an outer
 * join for the items of its nullable side, and one of a semijoin or antijoin
 * for the items of its right side.  One of a full join counts for none, and no
 * condition counts for items below a level that groups rows, since it applies
 * to groups, or that has windows, which see rows before it applies.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "read_rows.h"

/* A condition "column = .." on a leaf. */
typedef struct join_fact
{
	Var		   *column;			/* with the type and collation of the
								 * comparison */
	Relids		known;			/* leaves that the other side uses */
} join_fact;

static List *level_conditions(Query *query, List *conditions);

/* ---- conditions ---- */

/*
 * Do all values of the operand's type have hashes that are equal for equal
 * values?  Not for ranges and other types that contain values of a user's
 * type, whose equality the user defines.
 */
static bool
can_hash(Oid operator, Oid type)
{
	TypeCacheEntry *cache = lookup_type_cache(type,
											  TYPECACHE_HASH_OPFAMILY |
											  TYPECACHE_HASH_EXTENDED_PROC);

	return !type_is_range(getBaseType(type)) &&
		!type_is_multirange(getBaseType(type)) &&
		!type_is_array(getBaseType(type)) && !type_is_rowtype(type) &&
		OidIsValid(cache->hash_opf) &&
		OidIsValid(cache->hash_extended_proc) &&
		op_in_opfamily(operator, cache->hash_opf);
}

/*
 * Add the fact if one side of an equality is a column of a leaf for which it
 * counts.
 */
static void
add_fact(const OpExpr *equality, Node *side, Node *other, Relids usable,
		 List **facts)
{
	Node	   *plain = side;
	Relids		known = pull_varnos(NULL, other);
	join_fact  *fact;

	while (IsA(plain, RelabelType))
		plain = (Node *) ((RelabelType *) plain)->arg;
	if (!IsA(plain, Var) || ((Var *) plain)->varattno <= 0 ||
		bms_is_member(((Var *) plain)->varno, known) ||
		(usable != NULL && !bms_is_member(((Var *) plain)->varno, usable)) ||
		!can_hash(equality->opno, exprType(side)))
		return;
	fact = palloc(sizeof(join_fact));
	fact->column = makeVar(((Var *) plain)->varno, ((Var *) plain)->varattno,
						   exprType(side), -1, equality->inputcollid, 0);
	fact->known = known;
	*facts = lappend(*facts, fact);
}

static List *
find_facts(const List *conditions)
{
	List	   *facts = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const dp_join_condition *condition = lfirst(lc);
		OpExpr	   *equality = (OpExpr *) condition->base;

		if (!IsA(equality, OpExpr) || !dp_block_is_equality(equality))
			continue;
		add_fact(equality, linitial(equality->args), lsecond(equality->args),
				 condition->usable, &facts);
		add_fact(equality, lsecond(equality->args), linitial(equality->args),
				 condition->usable, &facts);
	}
	return facts;
}

/* ---- where they stand ---- */

static List *
add_conditions(List *conditions, Query *query, Node *quals, Relids usable)
{
	ListCell   *lc;

	if (quals == NULL)
		return conditions;
	foreach(lc, dp_block_add_conjuncts(NIL, dp_block_rowset_base(query,
																 quals)))
	{
		dp_join_condition *condition = palloc0(sizeof(dp_join_condition));

		condition->base = lfirst(lc);
		condition->usable = usable;
		conditions = lappend(conditions, condition);
	}
	return conditions;
}

/*
 * Add the leaves of an item and of the levels below it, with or without those
 * below groups.
 */
static Relids
add_leaves(Relids leaves, const Query *query, const Node *item, bool groups)
{
	const RangeTblEntry *entry;
	ListCell   *lc;

	if (IsA(item, JoinExpr))
	{
		leaves = add_leaves(leaves, query, ((const JoinExpr *) item)->larg,
							groups);
		return add_leaves(leaves, query, ((const JoinExpr *) item)->rarg,
						  groups);
	}
	entry = rt_fetch(((const RangeTblRef *) item)->rtindex, query->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
		return bms_add_member(leaves, dp_block_leaf_number(entry));
	if (!groups && dp_block_is_whole(entry->subquery))
		return leaves;
	foreach(lc, dp_block_from(entry->subquery))
		leaves = add_leaves(leaves, entry->subquery, lfirst(lc), groups);
	return leaves;
}

/* Stands for no leaf: makes a set that is not NULL but has no leaf. */
#define NO_LEAF 0

static bool
reads_groups(const Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY &&
			(dp_block_is_whole(entry->subquery) ||
			 reads_groups(entry->subquery)))
			return true;
	}
	return false;
}

/*
 * The leaves for which conditions of a level count, among those below an item.
 */
static Relids
usable_leaves(const Query *query, const Node *item)
{
	return add_leaves(bms_make_singleton(NO_LEAF), query, item, false);
}

/* The same for conditions that every row of the level fulfils; NULL: all. */
static Relids
level_leaves(const Query *query)
{
	Relids		leaves = bms_make_singleton(NO_LEAF);
	ListCell   *lc;

	if (!reads_groups(query))
		return NULL;
	foreach(lc, dp_block_from(query))
		leaves = add_leaves(leaves, query, lfirst(lc), false);
	return leaves;
}

static List *
item_conditions(Query *query, Node *item, List *conditions)
{
	JoinExpr   *join = (JoinExpr *) item;
	Relids		usable = level_leaves(query);
	int			before;
	ListCell   *lc;

	if (IsA(item, RangeTblRef))
	{
		RangeTblEntry *entry = rt_fetch(((RangeTblRef *) item)->rtindex,
										query->rtable);

		return entry->rtekind != RTE_SUBQUERY ? conditions :
			level_conditions(entry->subquery, conditions);
	}
	conditions = item_conditions(query, join->larg, conditions);
	conditions = item_conditions(query, join->rarg, conditions);
	before = list_length(conditions);
	if (join->jointype == JOIN_LEFT || dp_block_only_asks(join))
		usable = usable_leaves(query, join->rarg);
	else if (join->jointype == JOIN_RIGHT)
		usable = usable_leaves(query, join->larg);
	else if (join->jointype == JOIN_FULL)
		usable = bms_make_singleton(NO_LEAF);
	conditions = add_conditions(conditions, query, join->quals, usable);
	for_each_from(lc, conditions, before)
		((dp_join_condition *) lfirst(lc))->matches =
			dp_block_naming_lists(join, query) != NULL;
	return conditions;
}

static List *
level_conditions(Query *query, List *conditions)
{
	ListCell   *lc;

	foreach(lc, dp_block_from(query))
		conditions = item_conditions(query, lfirst(lc), conditions);
	return add_conditions(conditions, query, query->jointree->quals,
						  level_leaves(query));
}

/*
 * dp_block_join_conditions
 *	  The conditions that rows of a verified query fulfil, at all its levels.
 */
List *
dp_block_join_conditions(Query *query)
{
	return level_conditions(query, NIL);
}

/* ---- one item after the other ---- */

/* The columns of a leaf that are equated with something known. */
static List *
known_columns(int leaf, Relids known, const List *facts)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, facts)
	{
		const join_fact *fact = lfirst(lc);

		if (fact->column->varno == leaf && bms_is_subset(fact->known, known))
			columns = list_append_unique(columns, fact->column);
	}
	return columns;
}

/*
 * The leaves of the preserved side of an outer join that may leave out a leaf,
 * if the leaf is its whole nullable side, at a level that always has rows;
 * else NULL.
 */
static Relids
other_side(const Query *query, const Node *item, int leaf)
{
	const JoinExpr *join = (const JoinExpr *) item;
	const Node *left_out;
	const Node *other;
	Relids		found;

	if (IsA(item, RangeTblRef) || join->jointype == JOIN_FULL)
		return NULL;
	left_out = join->jointype == JOIN_RIGHT ? join->larg : join->rarg;
	other = join->jointype == JOIN_RIGHT ? join->rarg : join->larg;
	if (join->jointype != JOIN_INNER && IsA(left_out, RangeTblRef) &&
		bms_is_member(leaf, add_leaves(NULL, query, left_out, true)))
	{
		const RangeTblEntry *entry =
		rt_fetch(((const RangeTblRef *) left_out)->rtindex, query->rtable);

		return entry->rtekind == RTE_SUBQUERY ? NULL :
			add_leaves(NULL, query, other, true);
	}
	found = other_side(query, other, leaf);
	return found != NULL || join->jointype != JOIN_INNER ? found :
		other_side(query, left_out, leaf);
}

/* The same for a level, and those below it that always have rows. */
static Relids
level_other_side(const Query *query, int leaf)
{
	Relids		found = NULL;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (found == NULL)
			found = other_side(query, lfirst(lc), leaf);
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (found == NULL && entry->rtekind == RTE_SUBQUERY &&
			!dp_block_is_nullable(query, foreach_current_index(lc) + 1))
			found = level_other_side(entry->subquery, leaf);
	}
	return found;
}

/*
 * May some choice of rows leave the source with a row, and another one
 * without, although both agree in what is known?
 */
static bool
may_be_absent(const Query *query, const dp_joined *source, Relids known)
{
	Relids		other;

	if (!source->nullable)
		return false;
	other = level_other_side(query, source->number);
	return other == NULL || !bms_is_subset(other, known);
}

/* Is a leaf alone the right side of a semijoin or antijoin? */
static bool
is_asked(const Query *query, const Node *item, int leaf)
{
	const JoinExpr *join = (const JoinExpr *) item;
	const RangeTblEntry *entry;

	if (IsA(item, RangeTblRef))
		return false;
	if (is_asked(query, join->larg, leaf) ||
		is_asked(query, join->rarg, leaf))
		return true;
	if (!dp_block_only_asks(join))
		return false;
	entry = rt_fetch(((const RangeTblRef *) join->rarg)->rtindex,
					 query->rtable);
	return entry->rtekind != RTE_SUBQUERY &&
		dp_block_leaf_number(entry) == leaf;
}

/* The same at any level. */
static bool
is_asked_anywhere(const Query *query, int leaf)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (is_asked(query, lfirst(lc), leaf))
			return true;
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY &&
			is_asked_anywhere(entry->subquery, leaf))
			return true;
	}
	return false;
}

/* ---- private items ---- */

static const dp_relation *
relation_of(const Node *column, const dp_rowset *rowset)
{
	return dp_block_leaf(rowset, ((const Var *) column)->varno)->relation;
}

/* The first step to the unit of a column's row, or NULL. */
static const dp_unit_step *
first_step(const Node *column, const dp_rowset *rowset)
{
	const dp_relation *relation = relation_of(column, rowset);

	return relation == NULL || relation->unit_steps == NIL ? NULL :
		linitial(relation->unit_steps);
}

/*
 * Is one column the n-th of the first step to its row's unit, and the other
 * the matching column of the key?  NULL is no column.
 */
static bool
leads_to(const Node *from, const Node *to, int n, const dp_rowset *rowset)
{
	const dp_relation *relation;
	const dp_unit_step *step;

	if (from == NULL || to == NULL || !IsA(from, Var) || !IsA(to, Var))
		return false;
	step = first_step(from, rowset);
	relation = relation_of(to, rowset);
	return step != NULL && n < list_length(step->from) &&
		((const Var *) from)->varattno == list_nth_int(step->from, n) &&
		relation != NULL && relation->relid == step->relid &&
		((const Var *) to)->varattno == list_nth_int(step->key, n);
}

/*
 * The column that a condition equates with the n-th key column of the leaf, as
 * the first step of its row's unit; or NULL.
 */
static const Var *
referring_column(int leaf, const dp_join_condition *condition, int n,
				 const dp_rowset *rowset)
{
	const OpExpr *equality = (const OpExpr *) condition->base;
	const Node *from;
	const Node *to;

	if (!IsA(equality, OpExpr) || !dp_block_is_equality(equality) ||
		(condition->usable != NULL && !bms_is_member(leaf, condition->usable)))
		return NULL;
	from = dp_block_uncast(linitial(equality->args));
	to = dp_block_uncast(lsecond(equality->args));
	if (leads_to(to, from, n, rowset))
	{
		const Node *other = from;

		from = to;
		to = other;
	}
	return leads_to(from, to, n, rowset) &&
		(int) ((const Var *) to)->varno == leaf ? (const Var *) from : NULL;
}

/* Do conditions equate all columns of the key, given that for the first? */
static bool
refers_by_all(int leaf, const Var *first, const List *conditions,
			  const dp_rowset *rowset)
{
	int			n = list_length(first_step((const Node *) first,
										   rowset)->from);
	int			i;

	for (i = 1; i < n; i++)
	{
		bool		found = false;
		ListCell   *lc;

		foreach(lc, conditions)
		{
			const Var  *column = referring_column(leaf, lfirst(lc), i, rowset);

			found = found || (column != NULL && column->varno == first->varno);
		}
		if (!found)
			return false;
	}
	return true;
}

/*
 * The leaf whose row refers to this leaf's row by its key, so that there is at
 * most one, or none if an outer join leaves it out.
 */
static int
find_referring(int leaf, const List *conditions, const dp_rowset *rowset)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const Var  *from = referring_column(leaf, lfirst(lc), 0, rowset);

		if (from != NULL && !dp_block_leaf(rowset, from->varno)->nullable &&
			refers_by_all(leaf, from, conditions, rowset))
			return from->varno;
	}
	return 0;
}

/*
 * dp_block_find_join_keys
 *	  Record for each public source the columns by which it is joined, and
 *	  whether having no row is an additional choice; for each private one,
 *	  whether another source's row determines its row; and for all, whether an
 *	  outer join may leave them out, and whether they are only in semijoins and
 *	  antijoins.
 */
void
dp_block_find_join_keys(const Query *query, const List *conditions,
						const dp_rowset *rowset, dp_block *block)
{
	List	   *facts = find_facts(conditions);
	List	   *left = NIL;
	Relids		known = NULL;
	ListCell   *lc;

	foreach(lc, rowset->leaves)
		if (((const dp_leaf *) lfirst(lc))->relation != NULL)
			known = bms_add_member(known, foreach_current_index(lc) + 1);
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		source->nullable = dp_block_leaf(rowset, source->number)->nullable;
		source->asked = is_asked_anywhere(query, source->number);
		if (OidIsValid(source->relid))
			source->given = find_referring(source->number, conditions,
										   rowset);
		if (!OidIsValid(source->relid))
			left = lappend(left, source);
	}
	while (left != NIL)
	{
		dp_joined  *next = linitial(left);

		foreach(lc, left)
		{
			dp_joined  *source = lfirst(lc);

			source->keys = known_columns(source->number, known, facts);
			if (list_length(source->keys) > list_length(next->keys))
				next = source;
		}
		left = list_delete_ptr(left, next);
		next->absent = may_be_absent(query, next, known);
		known = bms_add_member(known, next->number);
	}
}
