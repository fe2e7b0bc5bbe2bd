/*
 * raw_rows.c
 *	  Where the rows that a level reads come from.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
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

static bool is_unit(const dp_level *level, Node *node, bool steps);

/* Are all of them the unit? */
static bool
are_units(const dp_level *level, const List *nodes, bool steps)
{
	ListCell   *lc;

	foreach(lc, nodes)
		if (!is_unit(level, lfirst(lc), steps))
			return false;
	return nodes != NIL;
}

/* The column of each query that a set operation puts together. */
static bool
is_unit_of_all(const dp_level *level, Node *operation, AttrNumber column,
			   bool steps)
{
	const SetOperationStmt *both = (const SetOperationStmt *) operation;
	RangeTblEntry *entry;
	dp_level	below = {NULL, (dp_level *) level};
	TargetEntry *target;

	if (IsA(operation, SetOperationStmt))
		return is_unit_of_all(level, both->larg, column, steps) &&
			is_unit_of_all(level, both->rarg, column, steps);
	entry = rt_fetch(castNode(RangeTblRef, operation)->rtindex,
					 level->query->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
		return false;
	below.query = entry->subquery;
	if (below.query->setOperations != NULL)
		return is_unit_of_all(&below, below.query->setOperations, column,
							  steps);
	target = get_tle_by_resno(below.query->targetList, column);
	return target != NULL && is_unit(&below, (Node *) target->expr, steps);
}

/* The column of a query below `parent`. */
static bool
is_unit_below(const dp_level *parent, Query *query, AttrNumber column,
			  bool steps)
{
	dp_level	level = {query, (dp_level *) parent};
	TargetEntry *target = get_tle_by_resno(query->targetList, column);

	check_stack_depth();
	if (query->setOperations != NULL)
		return is_unit_of_all(&level, query->setOperations, column, steps);
	return target != NULL && is_unit(&level, (Node *) target->expr, steps);
}

/* The column of a WITH query, whose queries around it are those around it. */
static bool
is_unit_of_cte(const dp_level *level, const RangeTblEntry *entry,
			   AttrNumber column, bool steps)
{
	bool		raw;
	CommonTableExpr *cte = dp_rewrite_find_cte(level, entry, &raw);
	Index		up;

	if (cte == NULL || cte->cterecursive || !IsA(cte->ctequery, Query))
		return false;
	for (up = entry->ctelevelsup; up > 0; up--)
		level = level->parent;
	return is_unit_below(level, (Query *) cte->ctequery, column, steps);
}

/*
 * Is the expression, of the level, the unit's column of a protected relation,
 * and nothing but?  Of a FULL JOIN by the unit either side's is.  `steps`:
 * or the first column of its path to the unit, each value of which is of one
 * unit, too.
 */
static bool
is_unit(const dp_level *level, Node *node, bool steps)
{
	const List *rtable = level->query->rtable;
	RangeTblEntry *entry;
	const dp_relation *relation;
	Var		   *var;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node != NULL && IsA(node, CoalesceExpr))
		return are_units(level, ((CoalesceExpr *) node)->args, steps);
	if (node == NULL || !IsA(node, Var) || ((Var *) node)->varlevelsup > 0)
		return false;
	var = (Var *) node;
	if (var->varno < 1 || var->varno > list_length(rtable) ||
		var->varattno < 1)
		return false;
	entry = rt_fetch(var->varno, rtable);
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			relation = dp_protect_lookup(entry->relid);
			return relation != NULL &&
				(relation->unit_attnum == var->varattno ||
				 (steps && is_step(relation, var->varattno)));
		case RTE_JOIN:
			return is_unit(level, list_nth(entry->joinaliasvars,
										   var->varattno - 1), steps);
		case RTE_SUBQUERY:
			return is_unit_below(level, entry->subquery, var->varattno,
								 steps);
		case RTE_CTE:
			return is_unit_of_cte(level, entry, var->varattno, steps);
		default:
			return false;
	}
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

		if (is_unit(level, (Node *) target->expr, level->parent != NULL))
			return true;
	}
	return false;
}
