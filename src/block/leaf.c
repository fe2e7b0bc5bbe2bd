/*
 * leaf.c
 *	  The leaves of a verified block: the sources of its rows at all levels.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"

#include "read_rows.h"

/*
 * dp_block_leaf_number
 *	  The number, from 1, of an entry of a verified block that is no subquery.
 *	  It is the name of named rows (named_rows.c); a relation that is not named
 *	  is the only protected one.
 */
int
dp_block_leaf_number(const RangeTblEntry *entry)
{
	return entry->rtekind == RTE_NAMEDTUPLESTORE ? atoi(entry->enrname) : 1;
}

static List *
list_items(const Node *item, List *items)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return lappend_int(items, ((const RangeTblRef *) item)->rtindex);
	items = list_items(join->larg, items);
	return dp_block_only_asks(join) ? items : list_items(join->rarg, items);
}

/*
 * dp_block_list_items
 *	  Range table indexes of the entries from which a level's rows are made;
 *	  with UNION ALL each row is made from one of them.
 */
List *
dp_block_list_items(const Query *level)
{
	List	   *items = NIL;
	ListCell   *lc;

	foreach(lc, dp_block_from(level))
		items = list_items(lfirst(lc), items);
	return items;
}

/* dp_block_leaf_of: the leaf of an entry, or NULL. */
dp_leaf *
dp_block_leaf_of(const dp_rowset *rowset, const RangeTblEntry *entry)
{
	ListCell   *lc;

	foreach(lc, rowset->leaves)
		if (((dp_leaf *) lfirst(lc))->entry == entry)
			return lfirst(lc);
	return NULL;
}

/* dp_block_leaf: the leaf with a number. */
dp_leaf *
dp_block_leaf(const dp_rowset *rowset, int number)
{
	return list_nth(rowset->leaves, number - 1);
}

/* dp_block_has_join: is anything joined, at any level? */
bool
dp_block_has_join(const dp_rowset *rowset)
{
	return list_length(rowset->leaves) > 1;
}

/* dp_block_joins_private: are several protected relations joined? */
bool
dp_block_joins_private(const dp_rowset *rowset)
{
	return dp_block_has_join(rowset) &&
		((const dp_leaf *) lsecond(rowset->leaves))->relation != NULL;
}

/*
 * dp_block_relation_of
 *	  The relation to which all columns of an expression over base columns
 *	  belong; InvalidOid if they are public, or belong to several relations.
 *	  *nullable: an outer join may leave some of them out.
 */
Oid
dp_block_relation_of(const dp_rowset *rowset, Node *base, bool *nullable)
{
	Relids		numbers = pull_varnos(NULL, base);
	const dp_leaf *leaf = linitial(rowset->leaves);
	int			n = -1;

	*nullable = false;
	while ((n = bms_next_member(numbers, n)) >= 0)
	{
		leaf = dp_block_leaf(rowset, n);
		*nullable = *nullable || leaf->nullable;
	}
	if (bms_membership(numbers) == BMS_MULTIPLE || leaf->relation == NULL)
		return InvalidOid;
	return leaf->relation->relid;
}

/*
 * dp_block_is_private
 *	  Does an entry of a verified level have private rows?  A subquery that is
 *	  no leaf does.
 */
bool
dp_block_is_private(const RangeTblEntry *entry, const dp_rowset *rowset)
{
	const dp_leaf *leaf = dp_block_leaf_of(rowset, entry);

	return leaf == NULL ? entry->rtekind == RTE_SUBQUERY :
		leaf->relation != NULL;
}
