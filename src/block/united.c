/*
 * united.c
 *	  Levels that put rows of several queries together.
 *
 *	  SELECT dp_count(*) FROM (SELECT person, day FROM visits UNION ALL
 *							   SELECT person, day FROM calls) AS s
 *
 * A row of such a level is a row of one of its arms, so its unit is that
 * row's, if all arms have units and give them in the same column
 * (doc/theory.md T151).  Only UNION ALL is so: the other operations compare
 * rows of an arm with those of another, or with one another.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"

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
