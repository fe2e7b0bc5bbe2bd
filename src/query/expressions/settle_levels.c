/*
 * settle_levels.c
 *	  Levels of a verified query whose rows are computed from several of a
 *	  unit.
 */
#include "postgres.h"

#include "dp_expressions.h"
#include "expressions_internal.h"

/* dp_expressions_settle_levels: see dp_expressions.h. */
void
dp_expressions_settle_levels(Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (entry->rtekind != RTE_SUBQUERY)
			continue;
		dp_expressions_settle_levels(entry->subquery);
		if (entry->subquery->groupClause != NIL)
			dp_expressions_settle_groups(entry->subquery);
		if (entry->subquery->hasWindowFuncs)
			dp_expressions_settle_windows(entry->subquery);
	}
}
