/*
 * raw_rows.c
 *	  Where the rows that a level reads come from.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"

#include "level.h"

/* dp_rewrite_is_protected: is it a protected relation, or a part of one? */
bool
dp_rewrite_is_protected(const RangeTblEntry *entry)
{
	return entry->rtekind == RTE_RELATION &&
		(entry->relkind == RELKIND_RELATION ||
		 entry->relkind == RELKIND_PARTITIONED_TABLE ||
		 entry->relkind == RELKIND_FOREIGN_TABLE) &&
		OidIsValid(dp_protect_root(entry->relid));
}

/*
 * dp_rewrite_find_cte
 *	  The WITH query that an entry of the level names, or NULL; *raw: it gives
 *	  private rows.
 */
CommonTableExpr *
dp_rewrite_find_cte(const dp_level *level, const RangeTblEntry *entry,
					bool *raw)
{
	Index		up;
	ListCell   *lc;

	*raw = false;
	for (up = entry->ctelevelsup; up > 0 && level != NULL; up--)
		level = level->parent;
	if (level == NULL)
		return NULL;
	foreach(lc, level->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, entry->ctename) != 0)
			continue;
		*raw = list_member_ptr(level->raw_ctes, cte);
		return cte;
	}
	return NULL;
}

/* The first column of the relation's path to its unit. */
static bool
is_step(const dp_relation *relation, AttrNumber column)
{
	return relation->unit_steps != NIL && column ==
		((const dp_unit_step *) linitial(relation->unit_steps))->from;
}

/*
 * Is the expression the unit's column of a protected relation, and nothing
 * but?  Of a WITH query one step is followed.  `steps`: or the first column of
 * its path to the unit, each value of which is of one unit, too.
 */
static bool
is_unit(Query *query, const dp_level *level, Node *node, bool steps)
{
	RangeTblEntry *entry;
	TargetEntry *target = NULL;
	Var		   *var;
	bool		raw;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Var) || ((Var *) node)->varlevelsup > 0)
		return false;
	var = (Var *) node;
	if (var->varno < 1 || var->varno > list_length(query->rtable) ||
		var->varattno < 1)
		return false;
	entry = rt_fetch(var->varno, query->rtable);
	if (entry->rtekind == RTE_RELATION)
	{
		const dp_relation *relation = dp_protect_lookup(entry->relid);

		return relation != NULL &&
			(relation->unit_attnum == var->varattno ||
			 (steps && is_step(relation, var->varattno)));
	}
	if (entry->rtekind == RTE_JOIN)
		return is_unit(query, level,
					   list_nth(entry->joinaliasvars, var->varattno - 1),
					   steps);
	if (entry->rtekind == RTE_SUBQUERY)
		target = get_tle_by_resno(entry->subquery->targetList, var->varattno);
	if (target != NULL)
		return is_unit(entry->subquery, NULL, (Node *) target->expr, steps);
	if (entry->rtekind == RTE_CTE && level != NULL)
	{
		CommonTableExpr *cte = dp_rewrite_find_cte(level, entry, &raw);

		if (cte == NULL)
			return false;
		target = get_tle_by_resno(((Query *) cte->ctequery)->targetList,
								  var->varattno);
		return target != NULL && is_unit((Query *) cte->ctequery, NULL,
										 (Node *) target->expr, steps);
	}
	return false;
}

/*
 * dp_rewrite_has_unit_key
 *	  Does a level that groups rows have the unit among its keys?  Then each of
 *	  its rows is about one unit.  Below another level the first column of a
 *	  path to the unit will do; on top, where nothing makes the rows private,
 *	  it is an undeclared key like any other.
 */
bool
dp_rewrite_has_unit_key(const dp_level *level)
{
	Query	   *query = level->query;
	List	   *keys = query->hasAggs || query->groupClause != NIL ?
		query->groupClause : query->distinctClause;
	ListCell   *lc;

	foreach(lc, keys)
	{
		TargetEntry *target =
		get_sortgroupref_tle(lfirst_node(SortGroupClause, lc)->tleSortGroupRef,
							 query->targetList);

		if (is_unit(query, level, (Node *) target->expr,
					level->parent != NULL))
			return true;
	}
	return false;
}
