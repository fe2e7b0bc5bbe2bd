/*
 * together.c
 *	  Partitions of a store, shared by the caller and threads: each takes the
 *	  next one as soon as it is free.
 *
 * PostgreSQL's functions are not thread-safe.  So threads load, sort and
 * choose in memory that was allocated before they started, and each adds up
 * what it finds (sums.c); they allocate nothing, raise nothing and check for
 * no interrupts, which lint verifies by the call graph (test/lint/threads.pl).
 * Neither does the caller while they run: its sink only adds numbers up.  It
 * waits for all threads, and so do interrupts: no longer than a store takes,
 * which is bounded.  Partitions that do not fit into memory here are left in
 * the store: how many threads there are does not depend on rows.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "../mech/dp_threads.h"
#include "records.h"

/* Bytes of the partitions in memory, of all threads. */
#define MEMORY ((Size) 12 * 1024 * 1024)

typedef struct together
{
	const dp_bound_visitor *visitor;
	dp_bound_store *store;
	pg_atomic_uint32 next;		/* partition to take next */
	bool		fits[DP_BOUND_PARTITIONS];	/* into the memory of a thread */
	bool		shown[DP_BOUND_PARTITIONS];	/* set by the one that took it */
} together;

/* A thread, or the caller. */
typedef struct helper
{
	together   *all;
	void	   *context;		/* for visitor->loaded */
	dp_bound_sorted sorted;		/* the current partition */
} helper;

/* The body of a thread; a partition that cannot be read is not shown. */
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

/* A size that suffices for each partition that needs no more than `most`. */
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
 *	  must be safe in threads, each with a context of its own.
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
