/*
 * unit_sizes.c
 *	  Memory for joined and grouped rows of a unit.
 *
 * It follows from the query and from the joined public rows, so the connection
 * knows it before anything is charged, and the process that reads enforces it
 * (bound/gather_unit.c).
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "run.h"

#define MOST_COPIES (1024 * 1024)

/* Bytes assumed for the name of a unit. */
#define USUAL_UNIT 64

/* The private relations that a joined row may lack. */
static Bitmapset *
left_out(const dp_block *block)
{
	Bitmapset  *sources = NULL;
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *joined = lfirst(lc);

		if (OidIsValid(joined->relid) && joined->nullable)
			sources = bms_add_member(sources, joined->number);
	}
	return sources;
}

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
	limits->nullable = left_out(block);
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

/*
 * Rows of a level from one row of each source, where nullable sources may be
 * left out.
 */
static Size
choices_of(const dp_gather_level *level, const dp_gather_limits *limits)
{
	int			n = bms_num_members(bms_intersect(level->sources,
												  limits->nullable));

	return (Size) 1 << Min(n, pg_leftmost_one_pos64(DP_GATHER_UNIT) + 1);
}

/*
 * dp_run_least_bytes
 *	  Bytes at all levels of a unit with one row of each source, for each row
 *	  that joins these; more than DP_GATHER_UNIT if it does not fit.
 */
Size
dp_run_least_bytes(const dp_gather_limits *limits)
{
	Size		total = 0;
	int			i;

	for (i = 0; i < limits->nlevels; i++)
		total += (limits->levels[i].record + USUAL_UNIT) *
			choices_of(&limits->levels[i], limits);
	return total;
}
