/*
 * unit_sizes.c
 *	  What joined and grouped rows of a unit take in memory.
 *
 * It follows from the query and from what is joined with private rows, so the
 * session knows it before anything is charged, and whoever reads keeps it
 * (bound/gather_unit.c).
 */
#include "postgres.h"

#include "run.h"

#define MOST_COPIES (1024 * 1024)

/*
 * dp_run_set_levels
 *	  Fill in the levels of the limits.  row: bytes of a row that the block
 *	  aggregates; public: most bytes of a public row that it joins.
 */
void
dp_run_set_levels(const dp_block *block, Size row, Size public,
				  dp_gather_limits *limits)
{
	List	   *levels = dp_block_unit_levels(block);
	ListCell   *lc;

	limits->nlevels = list_length(levels);
	limits->levels = palloc0(sizeof(dp_gather_level) * limits->nlevels);
	limits->copies = 0;
	foreach(lc, levels)
	{
		const dp_unit_level *level = lfirst(lc);
		dp_gather_level *to = &limits->levels[foreach_current_index(lc)];

		to->sources = level->leaves;
		to->record = level->group == 0 ? row :
			level->group + level->public * public;
		limits->copies += level->private *
			(level->spread ? limits->fanout : 1);
	}
	limits->copies = Min(limits->copies, MOST_COPIES);
}

/* dp_run_level_bytes: of one row at all levels. */
Size
dp_run_level_bytes(const dp_gather_limits *limits)
{
	Size		total = 0;
	int			i;

	for (i = 0; i < limits->nlevels; i++)
		total += limits->levels[i].record;
	return total;
}
