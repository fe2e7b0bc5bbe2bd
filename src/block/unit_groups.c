/*
 * unit_groups.c
 *	  Levels that group rows by unit.
 *
 *	  SELECT dp_avg(n) FROM (SELECT person, count(*) AS n FROM visits
 *							 GROUP BY person) AS s
 *
 * Each group belongs to one unit, so what is computed from it is a function of
 * this unit's rows, and the level's rows are unit-local like those from which
 * they are made (doc/theory.md T98).  DISTINCT is a GROUP BY of all columns.
 *
 * This requires that the result does not depend on the order of rows, which
 * other units' rows decide: a group shows one of several equal spellings by
 * that order.  So keys must be of types whose equal values are identical; and
 * a column that is no key, which PostgreSQL allows together with a primary
 * key, is refused.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "read_rows.h"
#include "split.h"

static Node *
key_of(const Query *level, const SortGroupClause *clause)
{
	return (Node *) get_sortgroupclause_tle((SortGroupClause *) clause,
											level->targetList)->expr;
}

static Node *
bounds_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && dp_rules_is_between((Aggref *) node))
	{
		TargetEntry *argument = linitial(((Aggref *) node)->args);

		return copyObject((Node *) argument->expr);
	}
	return expression_tree_mutator(node, bounds_mutator, context);
}

/*
 * dp_block_bounds_of_groups
 *	  A base in which minimum, maximum and average of a group are replaced by
 *	  their argument, whose range contains them: for bounds only.
 */
Node *
dp_block_bounds_of_groups(Node *base)
{
	return bounds_mutator(base, NULL);
}

/* ---- what is refused ---- */

static dp_refusal *
refuse_unit(void)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"There, rows of one privacy unit would depend on "
							"rows of another.",
							"Group by the column that names the privacy "
							"unit, too; or aggregate privately at that level, "
							"or leave it to the outer query.",
							"an aggregate or GROUP BY without the privacy "
							"unit is not supported below a private aggregate");
}

static dp_refusal *
refuse_key(Node *key)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, exprLocation(key),
							"Values of its type have no hash, or equal ones "
							"can be spelled differently.",
							"Cast it to text or to a whole number, under a "
							"deterministic collation.",
							"type %s cannot be grouped by below a private "
							"aggregate", format_type_be(exprType(key)));
}

static bool
is_same_when_equal(Node *key)
{
	Oid			type = getBaseType(exprType(key));
	Oid			collation = exprCollation(key);

	return type < FirstNormalObjectId && !dp_places_has_twins(type) &&
		OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc) &&
		!OidIsValid(get_element_type(type)) && !type_is_rowtype(type) &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

/* ---- what is only asked for ---- */

static bool
can_group(const Query *level)
{
	ListCell   *lc;

	foreach(lc, level->targetList)
		if (!is_same_when_equal((Node *)
								((const TargetEntry *) lfirst(lc))->expr))
			return false;
	return true;
}

/*
 * Make the rows of a right side that is a join distinct; their unit is a
 * column.
 */
static void
group_right(const JoinExpr *join, Query *query, dp_rowset *rowset)
{
	RangeTblEntry *entry =
	rt_fetch(((const RangeTblRef *) join->rarg)->rtindex, query->rtable);
	Query	   *level = entry->subquery;

	if (dp_block_leaf_of(rowset, entry) != NULL ||
		dp_block_is_whole(level) || level->setOperations != NULL ||
		list_length(dp_block_list_items(level)) < 2 ||
		dp_block_unit_outputs(level, rowset) == NIL ||
		!can_group(level))
		return;
	dp_block_group_by_all(level);
	rowset->grouped++;
}

/*
 * Semijoins and antijoins are around all other joins of their level
 * (semi_join.c).
 */
static void
group_asked(const Node *item, Query *query, dp_rowset *rowset)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef) || !dp_block_only_asks(join))
		return;
	group_right(join, query, rowset);
	group_asked(join->larg, query, rowset);
}

/*
 * dp_block_group_asked
 *	  Make joined rows on the right of semijoins and antijoins distinct.
 *	  Groups have a known size (unit_levels.c), so that they may be hashed;
 *	  otherwise each row would be compared with each.
 */
void
dp_block_group_asked(Query *query, dp_rowset *rowset)
{
	ListCell   *lc;

	foreach(lc, dp_block_from(query))
		group_asked(lfirst(lc), query, rowset);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY && entry->subquery != NULL &&
			dp_block_leaf_of(rowset, entry) == NULL)
			dp_block_group_asked(entry->subquery, rowset);
	}
}

/* ---- what is refused, of columns ---- */

typedef struct loose_walk
{
	List	   *keys;
	Node	   *found;			/* a column that is no key */
} loose_walk;

static bool
loose_walker(Node *node, void *context)
{
	loose_walk *walk = context;

	if (node == NULL || IsA(node, Aggref) || list_member(walk->keys, node))
		return false;
	if (IsA(node, Var))
	{
		walk->found = node;
		return true;
	}
	return expression_tree_walker(node, loose_walker, context);
}

/* Refuses a grouped level that shows a column that is no key. */
static dp_refusal *
check_loose(Query *level)
{
	loose_walk	walk = {get_sortgrouplist_exprs(level->groupClause,
												level->targetList)};

	if (!loose_walker((Node *) level->targetList, &walk) &&
		!loose_walker(level->havingQual, &walk))
		return NULL;
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							exprLocation(walk.found), NULL,
							"Add it to GROUP BY.",
							"a column that is not grouped by is not supported "
							"below a private aggregate");
}

static dp_refusal *
check_level(Query *level, const dp_rowset *rowset)
{
	ListCell   *lc;

	if (dp_block_group_unit(level, rowset) == NULL)
		return refuse_unit();
	foreach(lc, level->groupClause)
	{
		Node	   *key = key_of(level, lfirst(lc));

		if (!is_same_when_equal(key))
			return refuse_key(key);
	}
	return check_loose(level);
}

/*
 * dp_block_check_groups
 *	  Refuses levels below a verified query that group rows of several units.
 */
dp_refusal *
dp_block_check_groups(Query *query, const dp_rowset *rowset)
{
	dp_refusal *refusal = NULL;
	ListCell   *lc;

	if (rowset->grouped == 0)
		return NULL;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (refusal != NULL || entry->rtekind != RTE_SUBQUERY ||
			entry->subquery == NULL ||
			dp_block_leaf_of(rowset, entry) != NULL)
			continue;
		/*
		 * from the inside out: the unit of a level is a key of the level below
		 */
		refusal = dp_block_check_groups(entry->subquery, rowset);
		if (refusal == NULL && dp_block_is_grouped(entry->subquery))
		{
			dp_block_add_unit_key(entry, rowset);
			refusal = check_level(entry->subquery, rowset);
		}
		if (refusal == NULL && entry->subquery->hasWindowFuncs)
			refusal = dp_block_check_windows(entry->subquery, rowset);
	}
	return refusal;
}
