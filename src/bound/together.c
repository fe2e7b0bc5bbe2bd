/*
 * together.c
 *	  Partitions of a store that several threads take one after the other.
 *
 * PostgreSQL is not made for threads.  These load, sort and choose, in memory
 * that was allocated before they started, and what they find they add up by
 * themselves (sums.c); none of it allocates, raises or looks for interrupts.
 * The caller does the same beside them and waits for them, and interrupts wait
 * for all: no longer than the records of a store take, which is bounded.  What
 * has no room here is left in the store.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "../mech/dp_threads.h"
#include "records.h"

/* Bytes of all rooms. */
#define ROOMS ((Size) 12 * 1024 * 1024)

typedef struct together
{
	const dp_bound_visitor *visitor;
	dp_bound_store *store;
	pg_atomic_uint32 next;		/* partition */
	bool		fits[DP_BOUND_PARTITIONS];
	bool		shown[DP_BOUND_PARTITIONS];
} together;

typedef struct helper
{
	together   *all;
	void	   *context;
	dp_bound_room room;
} helper;

/* All partitions that nobody else takes.  In threads, too. */
static void *
help(void *worker)
{
	helper	   *self = worker;
	together   *all = self->all;
	uint32		n;

	while ((n = pg_atomic_fetch_add_u32(&all->next, 1)) < DP_BOUND_PARTITIONS)
	{
		int64		count = !all->fits[n] ? -1 :
		dp_bound_room_fill(&self->room, all->visitor->layout, all->store, n);

		if (count < 0)
			continue;
		all->visitor->loaded(self->context, self->room.entries, count);
		all->shown[n] = true;
	}
	return NULL;
}

/* What the largest of the partitions takes that need no more than a room. */
static dp_bound_need
find_need(together *all, Size most)
{
	dp_bound_need largest = {0};
	int			n;

	for (n = 0; n < DP_BOUND_PARTITIONS; n++)
	{
		dp_bound_need need = dp_bound_room_need(all->store, n);

		all->fits[n] = need.entries > 0 && dp_bound_room_bytes(&need) <= most;
		if (all->fits[n])
			dp_bound_room_widen(&largest, &need);
	}
	return largest;
}

/* Threads that have room for every partition, or one. */
static int
count_helpers(together *all)
{
	dp_bound_need largest = find_need(all, ROOMS);
	int			n = all->visitor->nhelpers;

	while (n > 1 && dp_bound_room_bytes(&largest) > ROOMS / (n + 1))
		n--;
	return n;
}

/* This thread's is the first. */
static void
run(helper *helpers, int n)
{
	dp_threads	threads;

	HOLD_INTERRUPTS();
	dp_mech_threads_start(&threads, help, helpers + 1, sizeof(helper), n - 1);
	(void) help(helpers);
	dp_mech_threads_join(&threads);
	RESUME_INTERRUPTS();
}

/*
 * dp_bound_visit_together
 *	  Show the visitor's context and its helpers the records of partitions,
 *	  and empty these; what is left is the caller's.  visitor->loaded must be
 *	  what threads may do, each with a context of its own.
 */
void
dp_bound_visit_together(const dp_bound_visitor *visitor,
						dp_bound_store *store)
{
	helper		helpers[DP_BOUND_HELPERS + 1];
	together	all = {visitor, store};
	dp_bound_need need;
	int			nhelpers;		/* and the caller */
	int			i;

	Assert(visitor->nhelpers <= DP_BOUND_HELPERS);
	pg_atomic_init_u32(&all.next, 0);
	nhelpers = 1 + count_helpers(&all);
	need = find_need(&all, ROOMS / nhelpers);
	for (i = 0; i < nhelpers; i++)
	{
		helpers[i].all = &all;
		helpers[i].context = i == 0 ? visitor->context :
			visitor->helpers[i - 1];
		dp_bound_room_make(&helpers[i].room, &need);
	}
	run(helpers, nhelpers);
	for (i = 0; i < nhelpers; i++)
		dp_bound_room_free(&helpers[i].room);
	for (i = 0; i < DP_BOUND_PARTITIONS; i++)
		if (all.shown[i])
			dp_bound_store_empty(store, i);
}
