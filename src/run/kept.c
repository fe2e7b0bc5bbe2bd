/*
 * kept.c
 *	  What a process keeps for later runs of plans, found by the plan's nonce
 *	  (planner.c) and the number of the release in it.  The oldest entry is
 *	  evicted.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "run.h"

/* dp_run_kept_find: the entry, or NULL. */
void *
dp_run_kept_find(const dp_kept_ring *ring, int64 nonce, int index)
{
	int			i;

	for (i = 0; i < DP_RUN_KEPT; i++)
		if (ring->entry[i] != NULL && ring->entry[i]->nonce == nonce &&
			ring->entry[i]->index == index)
			return ring->entry[i];
	return NULL;
}

/* dp_run_kept_forget: drop the entry and its memory context. */
void
dp_run_kept_forget(dp_kept_ring *ring, dp_kept *kept)
{
	int			i;

	for (i = 0; i < DP_RUN_KEPT; i++)
		if (ring->entry[i] == kept)
			ring->entry[i] = NULL;
	MemoryContextDelete(kept->context);
}

/* dp_run_kept_add: add an entry, evicting the oldest. */
void
dp_run_kept_add(dp_kept_ring *ring, dp_kept *kept)
{
	if (ring->entry[ring->next] != NULL)
		dp_run_kept_forget(ring, ring->entry[ring->next]);
	MemoryContextSetParent(kept->context, TopMemoryContext);
	ring->entry[ring->next] = kept;
	ring->next = (ring->next + 1) % DP_RUN_KEPT;
}
