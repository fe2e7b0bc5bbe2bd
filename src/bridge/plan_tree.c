/*
 * plan_tree.c
 *	  Traversal of plans.
 */
#include "postgres.h"

#include "dp_bridge.h"

/*
 * dp_bridge_plans_below
 *	  The child plans of a node, of the kinds that plans of private queries
 *	  have; the list is palloc'd.
 */
List *
dp_bridge_plans_below(const Plan *plan)
{
	List	   *below = NIL;

	if (IsA(plan, Append))
		below = list_copy(((const Append *) plan)->appendplans);
	if (IsA(plan, SubqueryScan))
		below = lappend(below, ((const SubqueryScan *) plan)->subplan);
	if (plan->lefttree != NULL)
		below = lappend(below, plan->lefttree);
	if (plan->righttree != NULL)
		below = lappend(below, plan->righttree);
	return below;
}
