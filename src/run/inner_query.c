/*
 * inner_query.c
 *	  The inner query as it will run: the block's, with every dp_ aggregate
 *	  replaced by the exact aggregates its measurement needs.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "run.h"

/*
 * dp_run_inner_query
 *	  A fresh Query: keys first, then the unit where units have many rows,
 *	  then each measure's exact aggregates.
 */
Query *
dp_run_inner_query(dp_release_spec *spec)
{
	Query	   *inner = copyObject(spec->block->inner);
	List	   *targets =
	list_copy_head(inner->targetList, dp_block_first_aggregate(spec->block));
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		ListCell   *lc;

		foreach(lc, spec->measures[i].ops->inner(&spec->measures[i]))
			targets = lappend(targets,
							  makeTargetEntry(lfirst(lc),
											  list_length(targets) + 1,
											  pstrdup("exact"), false));
	}
	inner->targetList = targets;
	return inner;
}
