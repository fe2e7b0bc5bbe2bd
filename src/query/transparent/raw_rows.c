/*
 * raw_rows.c
 *	  Where the rows that a level reads come from.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"
#include "../rowsets/dp_rowsets.h"
#include "transparent_internal.h"

/*
 * dp_transparent_is_protected: whether it is a protected relation or a child
 * of one.
 */
bool
dp_transparent_is_protected(const RangeTblEntry *entry)
{
	return entry->rtekind == RTE_RELATION &&
		(entry->relkind == RELKIND_RELATION ||
		 entry->relkind == RELKIND_PARTITIONED_TABLE ||
		 entry->relkind == RELKIND_FOREIGN_TABLE) &&
		OidIsValid(dp_protect_root(entry->relid));
}

/* The level whose WITH query an entry names, or NULL. */
static const dp_level *
level_of_cte(const dp_level *level, const RangeTblEntry *entry)
{
	Index		up;

	for (up = entry->ctelevelsup; up > 0 && level != NULL; up--)
		level = level->parent;
	return level;
}

/*
 * dp_transparent_find_cte
 *	  The WITH query that an entry of the level names, or NULL; *raw: it
 *	  returns private rows.
 */
CommonTableExpr *
dp_transparent_find_cte(const dp_level *level, const RangeTblEntry *entry,
						bool *raw)
{
	ListCell   *lc;

	*raw = false;
	level = level_of_cte(level, entry);
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

/* Most steps of a search, which may visit the same query many times. */
#define MOST_LOOKS 1000

typedef struct unit_search
{
	bool		steps;			/* also accept the first step to the unit */
	int			looks;			/* so far */
	Oid			relid;			/* relation of a step of several columns */
	List	   *columns;		/* of int: those that were found */
} unit_search;

/*
 * Whether it is the column with which the relation's path to its unit begins,
 * or the last one missing of several.  Whether these are of the same row is
 * checked when the block is verified.
 */
static bool
is_step(const dp_relation *relation, AttrNumber column, unit_search *search)
{
	const dp_unit_step *step;

	if (relation->unit_steps == NIL)
		return false;
	step = linitial(relation->unit_steps);
	if (!list_member_int(step->from, column))
		return false;
	if (search->relid != relation->relid)
		search->columns = NIL;
	search->relid = relation->relid;
	search->columns = list_append_unique_int(search->columns, column);
	return list_length(search->columns) == list_length(step->from);
}

static bool is_unit(const dp_level *level, Node *node, unit_search *search);
static bool is_unit_below(const dp_level *parent, Query *query,
						  AttrNumber column, unit_search *search);

/*
 * The expression below casts to binary-compatible types and larger integers.
 */
static Node *
uncast(Node *node)
{
	return node == NULL ? NULL : dp_base_unlabelled(dp_rowsets_widened(node));
}

/* Whether all of them are the unit. */
static bool
raw_rows_are_units(const dp_level *level, const List *nodes,
				   unit_search *search)
{
	ListCell   *lc;

	foreach(lc, nodes)
		if (!is_unit(level, lfirst(lc), search))
			return false;
	return nodes != NIL;
}

/* Whether the column is the unit in all queries of a set operation. */
static bool
is_unit_of_all(const dp_level *level, Node *operation, AttrNumber column,
			   unit_search *search)
{
	const SetOperationStmt *both = (const SetOperationStmt *) operation;
	RangeTblEntry *entry;

	if (IsA(operation, SetOperationStmt))
		return is_unit_of_all(level, both->larg, column, search) &&
			is_unit_of_all(level, both->rarg, column, search);
	entry = rt_fetch(castNode(RangeTblRef, operation)->rtindex,
					 level->query->rtable);
	return entry->rtekind == RTE_SUBQUERY &&
		is_unit_below(level, entry->subquery, column, search);
}

/* Whether the column of a query below `parent` is the unit. */
static bool
is_unit_below(const dp_level *parent, Query *query, AttrNumber column,
			  unit_search *search)
{
	dp_level	level = {query, (dp_level *) parent};
	TargetEntry *target = get_tle_by_resno(query->targetList, column);

	check_stack_depth();
	if (query->setOperations != NULL)
		return is_unit_of_all(&level, query->setOperations, column, search);
	return target != NULL && is_unit(&level, (Node *) target->expr, search);
}

/*
 * The same for a WITH query, whose outer levels are those of its definition.
 */
static bool
is_unit_of_cte(const dp_level *level, const RangeTblEntry *entry,
			   AttrNumber column, unit_search *search)
{
	bool		raw;
	CommonTableExpr *cte = dp_transparent_find_cte(level, entry, &raw);

	if (cte == NULL || cte->cterecursive || !IsA(cte->ctequery, Query))
		return false;
	return is_unit_below(level_of_cte(level, entry), (Query *) cte->ctequery,
						 column, search);
}

/*
 * Whether the expression of the level is just the unit column of a protected
 * relation.  In a FULL JOIN by the unit, either side's will do.  If `steps`,
 * also the first column of the path to the unit, each value of which belongs
 * to one unit, too.
 */
static bool
is_unit(const dp_level *level, Node *node, unit_search *search)
{
	const List *rtable = level->query->rtable;
	RangeTblEntry *entry;
	const dp_relation *relation;
	Var		   *var;

	CHECK_FOR_INTERRUPTS();
	if (++search->looks > MOST_LOOKS)
		return false;
	node = uncast(node);
	if (node != NULL && IsA(node, CoalesceExpr))
		return raw_rows_are_units(level, ((CoalesceExpr *) node)->args,
								  search);
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
				 (search->steps &&
				  is_step(relation, var->varattno, search)));
		case RTE_JOIN:
			return is_unit(level, list_nth(entry->joinaliasvars,
										   var->varattno - 1), search);
		case RTE_SUBQUERY:
			return is_unit_below(level, entry->subquery, var->varattno,
								 search);
		case RTE_CTE:
			return is_unit_of_cte(level, entry, var->varattno, search);
		default:
			return false;
	}
}

/*
 * dp_transparent_has_unit_key
 *	  Whether a level that groups rows has the unit among its keys, so that
 *	  each of its rows is about one unit.  Below another level, the first
 *	  column of a path to the unit will do; at the top, where no level above
 *	  makes the rows private, it is an undeclared key like any other.
 */
bool
dp_transparent_has_unit_key(const dp_level *level)
{
	Query	   *query = level->query;
	List	   *keys = query->hasAggs || query->groupClause != NIL ?
		query->groupClause : query->distinctClause;
	unit_search search = {level->parent != NULL};
	ListCell   *lc;

	foreach(lc, keys)
	{
		TargetEntry *target =
		get_sortgroupref_tle(lfirst_node(SortGroupClause, lc)->tleSortGroupRef,
							 query->targetList);

		if (is_unit(level, (Node *) target->expr, &search))
			return true;
	}
	return false;
}
