/*
 * together.c
 *	  Partitions of a store that the caller and threads beside it take, whoever
 *	  is free the next one.
 *
 * PostgreSQL's functions are not made for threads.  So what runs in these
 * loads, sorts and chooses in memory that was allocated before they started,
 * and adds up what it finds by itself (sums.c); it allocates nothing, raises
 * nothing and looks for no interrupts, which lint checks by the graph of calls
 * (test/lint/threads.pl).  Nor does the caller while they run:
 * its sink is given numbers, and adds them to others.  It waits for all
 * threads, and so do interrupts: no longer than a store takes, which is
 * bounded.  Partitions that do not fit into memory here are left in the store:
 * how many threads there are does not depend on rows.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "../mech/dp_threads.h"
#include "records.h"

/* Bytes that partitions in memory take, of all threads. */
#define MEMORY ((Size) 12 * 1024 * 1024)

typedef struct together
{
	const dp_bound_visitor *visitor;
	dp_bound_store *store;
	pg_atomic_uint32 next;		/* partition that nobody has taken */
	bool		fits[DP_BOUND_PARTITIONS];	/* into the memory of a thread */
	bool		shown[DP_BOUND_PARTITIONS];	/* each by who took it */
} together;

/* A thread, or the caller. */
typedef struct helper
{
	together   *all;
	void	   *context;		/* for visitor->loaded */
	dp_bound_sorted sorted;		/* the partition at hand */
} helper;

/* What a thread runs: a partition that cannot be read is not shown. */
static void *
help(void *worker)
{
	helper	   *self = worker;
	together   *all = self->all;
	uint32		n;

	while ((n = pg_atomic_fetch_add_u32(&all->next, 1)) < DP_BOUND_PARTITIONS)
	{
		int64		count;

		if (!all->fits[n])
			continue;
		count = dp_bound_sorted_fill(&self->sorted, all->visitor->layout,
									 all->store, n);
		if (count < 0)
			continue;
		all->visitor->loaded(self->context, self->sorted.entries, count);
		all->shown[n] = true;
	}
	return NULL;
}

/* What is enough for each of the partitions that need no more than `most`. */
static dp_bound_need
find_need(together *all, Size most)
{
	dp_bound_need largest = {0};
	int			n;

	for (n = 0; n < DP_BOUND_PARTITIONS; n++)
	{
		dp_bound_need need = dp_bound_sorted_need(all->store, n);

		all->fits[n] = need.entries > 0 &&
			dp_bound_sorted_bytes(&need) <= most;
		if (all->fits[n])
			dp_bound_sorted_widen(&largest, &need);
	}
	return largest;
}

/* The first of the helpers is the caller. */
static void
help_together(helper *helpers, int n)
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
 *	  Show records of partitions to the visitor's context and its helpers, and
 *	  empty these partitions; what is left is the caller's.  visitor->loaded
 *	  must be what threads may call, each with a context of its own.
 */
void
dp_bound_visit_together(const dp_bound_visitor *visitor,
						dp_bound_store *store)
{
	helper		helpers[DP_BOUND_HELPERS + 1];
	together	all = {visitor, store};
	dp_bound_need need;
	int			n;				/* with the caller */
	int			i;

	Assert(visitor->nhelpers <= DP_BOUND_HELPERS);
	pg_atomic_init_u32(&all.next, 0);
	n = 1 + visitor->nhelpers;
	need = find_need(&all, MEMORY / n);
	for (i = 0; i < n; i++)
	{
		helpers[i].all = &all;
		helpers[i].context = i == 0 ? visitor->context :
			visitor->helpers[i - 1];
		dp_bound_sorted_make(&helpers[i].sorted, &need);
	}
	help_together(helpers, n);
	for (i = 0; i < n; i++)
		dp_bound_sorted_free(&helpers[i].sorted);
	for (i = 0; i < DP_BOUND_PARTITIONS; i++)
		if (all.shown[i])
			dp_bound_store_empty(store, i);
}
