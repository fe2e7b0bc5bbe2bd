/*
 * join_keys.c
 *	  By which of its columns a public item is joined.
 *
 * How many rows a private row makes must have a bound before it is read.  Take
 * the public items one after the other, after the private ones: of an item as
 * many rows at most match what is chosen so far as have the same values in
 * those columns that some condition says are equal to something known by then.
 * Counted they are when the rows are there (run/joined_rows.c).
 *
 * A condition that every row fulfils counts for all items, one of an outer
 * join for those that this may leave out.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "rowset.h"

/* A condition "column = .." on a leaf. */
typedef struct join_fact
{
	Var		   *column;			/* of what type and collation it is compared */
	Relids		known;			/* leaves that the other side needs */
} join_fact;

typedef struct facts_walk
{
	Query	   *query;			/* the level */
	List	   *facts;			/* of join_fact * */
} facts_walk;

static void find_level(Query *query, List **facts);

/* ---- conditions ---- */

/* Has every value of the operand's type a hash that equal ones share? */
static bool
can_hash(Oid operator, Oid type)
{
	TypeCacheEntry *cache = lookup_type_cache(type,
											  TYPECACHE_HASH_OPFAMILY |
											  TYPECACHE_HASH_EXTENDED_PROC);

	return OidIsValid(cache->hash_opf) &&
		OidIsValid(cache->hash_extended_proc) &&
		op_in_opfamily(operator, cache->hash_opf);
}

/* One side of an equality is a column of a leaf for which it counts. */
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

/* usable: leaves that a condition counts for; NULL: all of them. */
static void
add_conditions(Query *query, Node *condition, Relids usable, List **facts)
{
	ListCell   *lc;

	if (condition == NULL)
		return;
	foreach(lc, dp_block_add_conjuncts(NIL, dp_block_rowset_base(query,
																 condition)))
	{
		OpExpr	   *equality = lfirst(lc);

		if (!IsA(equality, OpExpr) || !dp_block_is_equality(equality))
			continue;
		add_fact(equality, linitial(equality->args), lsecond(equality->args),
				 usable, facts);
		add_fact(equality, lsecond(equality->args), linitial(equality->args),
				 usable, facts);
	}
}

/* The leaves of an item, and of the levels below. */
static Relids
add_leaves(Relids leaves, const Query *query, const Node *item)
{
	const RangeTblEntry *entry;
	ListCell   *lc;

	if (IsA(item, JoinExpr))
	{
		leaves = add_leaves(leaves, query, ((const JoinExpr *) item)->larg);
		return add_leaves(leaves, query, ((const JoinExpr *) item)->rarg);
	}
	entry = rt_fetch(((const RangeTblRef *) item)->rtindex, query->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
		return bms_add_member(leaves, dp_block_leaf_number(entry));
	foreach(lc, entry->subquery->jointree->fromlist)
		leaves = add_leaves(leaves, entry->subquery, lfirst(lc));
	return leaves;
}

static void
find_item(Query *query, Node *item, List **facts)
{
	JoinExpr   *join = (JoinExpr *) item;
	Relids		usable = NULL;

	if (IsA(item, RangeTblRef))
	{
		RangeTblEntry *entry = rt_fetch(((RangeTblRef *) item)->rtindex,
										query->rtable);

		if (entry->rtekind == RTE_SUBQUERY)
			find_level(entry->subquery, facts);
		return;
	}
	find_item(query, join->larg, facts);
	find_item(query, join->rarg, facts);
	if (join->jointype == JOIN_LEFT)
		usable = add_leaves(NULL, query, join->rarg);
	else if (join->jointype == JOIN_RIGHT)
		usable = add_leaves(NULL, query, join->larg);
	add_conditions(query, join->quals, usable, facts);
}

static void
find_level(Query *query, List **facts)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		find_item(query, lfirst(lc), facts);
	add_conditions(query, query->jointree->quals, NULL, facts);
}

/* ---- one item after the other ---- */

/* The columns of a leaf that are equal to something known. */
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
 * dp_block_find_join_keys
 *	  Note with each public source by which columns it is joined, and with all
 *	  of them whether an outer join may leave them out.
 */
void
dp_block_find_join_keys(Query *query, const dp_rowset *rowset,
						dp_block *block)
{
	List	   *facts = NIL;
	List	   *left = NIL;
	Relids		known = NULL;
	ListCell   *lc;

	find_level(query, &facts);
	foreach(lc, rowset->leaves)
		if (((const dp_leaf *) lfirst(lc))->relation != NULL)
			known = bms_add_member(known, foreach_current_index(lc) + 1);
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		source->nullable = dp_block_leaf(rowset, source->number)->nullable;
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
		known = bms_add_member(known, next->number);
	}
}
