/*
 * kept.c
 *	  What a process keeps for the next runs of plans, found by the plan's
 *	  nonce (planner.c) and which of its releases it is.  The oldest is
 *	  forgotten.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "run.h"

/* dp_run_kept_find: or NULL. */
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

/* dp_run_kept_forget: with all that lies in its context. */
void
dp_run_kept_forget(dp_kept_ring *ring, dp_kept *kept)
{
	int			i;

	for (i = 0; i < DP_RUN_KEPT; i++)
		if (ring->entry[i] == kept)
			ring->entry[i] = NULL;
	MemoryContextDelete(kept->context);
}

/* dp_run_kept_add: it stays, in the oldest one's place. */
void
dp_run_kept_add(dp_kept_ring *ring, dp_kept *kept)
{
	if (ring->entry[ring->next] != NULL)
		dp_run_kept_forget(ring, ring->entry[ring->next]);
	MemoryContextSetParent(kept->context, TopMemoryContext);
	ring->entry[ring->next] = kept;
	ring->next = (ring->next + 1) % DP_RUN_KEPT;
}
