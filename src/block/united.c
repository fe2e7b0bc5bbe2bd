/*
 * united.c
 *	  Levels that put rows of several queries together.
 *
 *	  SELECT dp_count(*) FROM (SELECT person, day FROM visits UNION ALL
 *							   SELECT person, day FROM calls) AS s
 *
 * A row of such a level is a row of one of its arms, so its unit is that
 * row's, if all arms have units and give them in the same column
 * (doc/theory.md T151).  UNION is GROUP BY of all columns above it.  The other
 * operations compare rows of an arm with those of another.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_oper.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"

#include "rowset.h"

/* dp_block_is_united: does the level do nothing but UNION ALL? */
bool
dp_block_is_united(const Query *level)
{
	return level->setOperations != NULL &&
		dp_rules_unites_all(level->setOperations);
}

static List *
add_arms(List *arms, Node *operation)
{
	if (IsA(operation, RangeTblRef))
		return lappend(arms, operation);
	arms = add_arms(arms, ((SetOperationStmt *) operation)->larg);
	return add_arms(arms, ((SetOperationStmt *) operation)->rarg);
}

/*
 * dp_block_from
 *	  What a level's rows come from: the items of FROM, or the arms, as
 *	  RangeTblRefs.
 */
List *
dp_block_from(const Query *level)
{
	return level->setOperations != NULL ?
		add_arms(NIL, level->setOperations) : level->jointree->fromlist;
}

/* ---- UNION ---- */

/* Nothing but UNION, with ALL or without? */
static bool
unites(const Node *operation)
{
	const SetOperationStmt *united = (const SetOperationStmt *) operation;

	return IsA(operation, RangeTblRef) ||
		(united->op == SETOP_UNION && unites(united->larg) &&
		 unites(united->rarg));
}

static void
keep_all(Node *operation)
{
	SetOperationStmt *united = (SetOperationStmt *) operation;

	if (IsA(operation, RangeTblRef))
		return;
	united->all = true;
	united->groupClauses = NIL;
	keep_all(united->larg);
	keep_all(united->rarg);
}

/* The level with the arms; what they refer to outside is one level more. */
static RangeTblEntry *
move_arms(const Query *level)
{
	Query	   *united = makeNode(Query);
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	List	   *names = NIL;
	ListCell   *lc;

	united->commandType = CMD_SELECT;
	united->querySource = QSRC_ORIGINAL;
	united->canSetTag = true;
	united->stmt_location = -1;
	dp_compat_take_entries(united, level);
	united->cteList = level->cteList;
	united->jointree = makeFromExpr(NIL, NULL);
	united->setOperations = level->setOperations;
	keep_all(united->setOperations);
	foreach(lc, level->targetList)
	{
		TargetEntry *target = lfirst(lc);

		if (target->resjunk)
			continue;
		united->targetList = lappend(united->targetList, copyObject(target));
		names = lappend(names, makeString(pstrdup("column")));
	}
	IncrementVarSublevelsUp((Node *) united, 1, 1);
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = united;
	entry->eref = makeAlias("united", names);
	return entry;
}

/*
 * dp_block_group_by_all
 *	  Have a level that does not group do so by all of its columns.
 */
void
dp_block_group_by_all(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->targetList)
	{
		TargetEntry *target = lfirst(lc);
		SortGroupClause *clause = makeNode(SortGroupClause);

		target->ressortgroupref = clause->tleSortGroupRef = target->resno;
		get_sort_group_operators(exprType((Node *) target->expr), false, true,
								 false, NULL, &clause->eqop, NULL,
								 &clause->hashable);
		level->groupClause = lappend(level->groupClause, clause);
	}
}

/*
 * dp_block_group_union
 *	  Make a level of UNION one that groups a level of UNION ALL, in place.
 */
void
dp_block_group_union(Query *level)
{
	RangeTblRef *item = makeNode(RangeTblRef);
	ListCell   *lc;

	if (level->setOperations == NULL || !unites(level->setOperations) ||
		((SetOperationStmt *) level->setOperations)->all)
		return;
	level->rtable = list_make1(move_arms(level));
	dp_compat_forget_rights(level);
	level->setOperations = NULL;
	level->cteList = NIL;
	level->sortClause = NIL;
	item->rtindex = 1;
	level->jointree = makeFromExpr(list_make1(item), NULL);
	foreach(lc, level->targetList)
	{
		TargetEntry *target = lfirst(lc);

		target->expr = (Expr *) makeVarFromTargetEntry(1, target);
	}
	dp_block_group_by_all(level);
}

/* ---- what arms give ---- */

/*
 * dp_block_check_arm
 *	  Has an arm the types of the level?  Where it has not, the planner casts
 *	  what it gives, and nobody would look at that.
 */
dp_refusal *
dp_block_check_arm(const Query *united, const Query *arm)
{
	ListCell   *lc;

	foreach(lc, united->targetList)
	{
		const TargetEntry *target = lfirst(lc);
		const TargetEntry *own = get_tle_by_resno(arm->targetList,
												  target->resno);

		if (target->resjunk || (own != NULL &&
								exprType((Node *) own->expr) ==
								exprType((Node *) target->expr)))
			continue;
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
								own == NULL ? -1 :
								exprLocation((Node *) own->expr), NULL,
								"Cast them to one type; but columns that name "
								"privacy units must have one.",
								"parts of UNION ALL give values of different "
								"types");
	}
	return NULL;
}
