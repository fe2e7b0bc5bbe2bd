/*
 * partition.c
 *	  Records of a store, partition by partition, in bounded memory.
 *
 * All records with one key are in one partition.  A partition that memory can
 * hold is sorted by key, name and group.  A larger one is divided by further
 * bits of its keys.  Where all keys are the same it is left to the visitor,
 * which reads it from the disk.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/atomics.h"

#include "../../math/numbers/dp_numbers.h"
#include "units_internal.h"

/* ----------------
 *		Partitions of a store, shared by the caller and threads: each takes the
 *		next one as soon as it is free.
 *
 * PostgreSQL's functions are not thread-safe.  So threads load, sort and
 * choose in memory that was allocated before they started, and each adds up
 * what it finds (choose.c); they allocate nothing, raise nothing and check for
 * no interrupts, which lint verifies by the call graph (test/lint/threads.pl).
 * Neither does the caller while they run: its sink only adds numbers up.  It
 * waits for all threads, and so do interrupts: no longer than a store takes,
 * which is bounded.  Partitions that do not fit into memory here are left in
 * the store: how many threads there are does not depend on rows.
 * ----------------
 */

/* Bytes of the partitions in memory, of all threads. */
#define MEMORY ((Size) 12 * 1024 * 1024)

typedef struct together
{
	const dp_units_visitor *visitor;
	dp_units_store *store;
	pg_atomic_uint32 next;		/* partition to take next */
	bool		fits[DP_UNITS_PARTITIONS];	/* into the memory of a thread */
	bool		shown[DP_UNITS_PARTITIONS]; /* set by the one that took it */
} together;

/* A thread, or the caller. */
typedef struct helper
{
	together   *all;
	void	   *context;		/* for visitor->loaded */
	dp_units_sorted sorted;		/* the current partition */
} helper;

/* The body of a thread; a partition that cannot be read is not shown. */
static void *
help(void *worker)
{
	helper	   *self = worker;
	together   *all = self->all;
	uint32		n;

	while ((n = pg_atomic_fetch_add_u32(&all->next, 1)) < DP_UNITS_PARTITIONS)
	{
		int64		count;

		if (!all->fits[n])
			continue;
		count = dp_units_sorted_fill(&self->sorted, all->visitor->layout,
									 all->store, n);
		if (count < 0)
			continue;
		all->visitor->loaded(self->context, self->sorted.entries, count);
		all->shown[n] = true;
	}
	return NULL;
}

/* A size that suffices for each partition that needs no more than `most`. */
static dp_units_need
find_need(together *all, Size most)
{
	dp_units_need largest = {0};
	int			n;

	for (n = 0; n < DP_UNITS_PARTITIONS; n++)
	{
		dp_units_need need = dp_units_sorted_need(all->store, n);

		all->fits[n] = need.entries > 0 &&
			dp_units_sorted_bytes(&need) <= most;
		if (all->fits[n])
			dp_units_sorted_widen(&largest, &need);
	}
	return largest;
}

/* The first of the helpers is the caller. */
static void
help_together(helper *helpers, int n)
{
	dp_threads	threads;

	HOLD_INTERRUPTS();
	dp_numbers_threads_start(&threads, help, helpers + 1, sizeof(helper),
							 n - 1);
	(void) help(helpers);
	dp_numbers_threads_join(&threads);
	RESUME_INTERRUPTS();
}

/*
 * visit_together
 *	  Show records of partitions to the visitor's context and its helpers, and
 *	  empty these partitions; what is left is the caller's.  visitor->loaded
 *	  must be safe in threads, each with a context of its own.
 */
static void
visit_together(const dp_units_visitor *visitor,
			   dp_units_store *store)
{
	helper		helpers[DP_UNITS_HELPERS + 1];
	together	all = {visitor, store};
	dp_units_need need;
	int			n;				/* with the caller */
	int			i;

	Assert(visitor->nhelpers <= DP_UNITS_HELPERS);
	pg_atomic_init_u32(&all.next, 0);
	n = 1 + visitor->nhelpers;
	need = find_need(&all, MEMORY / n);
	for (i = 0; i < n; i++)
	{
		helpers[i].all = &all;
		helpers[i].context = i == 0 ? visitor->context :
			visitor->helpers[i - 1];
		dp_units_sorted_make(&helpers[i].sorted, &need);
	}
	help_together(helpers, n);
	for (i = 0; i < n; i++)
		dp_units_sorted_free(&helpers[i].sorted);
	for (i = 0; i < DP_UNITS_PARTITIONS; i++)
		if (all.shown[i])
			dp_units_store_empty(store, i);
}

#define LOADED ((Size) 4 * 1024 * 1024) /* bytes of records */

static void
visit_loaded(const dp_units_visitor *visitor, dp_units_store *store, int n)
{
	dp_units_sorted sorted;
	int64		count = dp_units_sorted_load(&sorted, visitor->layout, store,
											 n);

	visitor->loaded(visitor->context, sorted.entries, count);
	dp_units_sorted_free(&sorted);
	dp_units_store_empty(store, n);
}

/*
 * dp_units_visit
 *	  Show a visitor all records of a store, which is dropped: those with one
 *	  key together and, without helpers, the keys in order.
 */
void
dp_units_visit(const dp_units_visitor *visitor, dp_units_store *store)
{
	int			n;

	if (visitor->nhelpers > 0)
		visit_together(visitor, store);
	for (n = 0; n < DP_UNITS_PARTITIONS; n++)
	{
		int64		bytes = dp_units_store_bytes(store, n);

		CHECK_FOR_INTERRUPTS();
		if (bytes == 0)
			continue;
		if (bytes <= LOADED)
			visit_loaded(visitor, store, n);
		else if (dp_units_store_has_one_key(store, n))
		{
			visitor->large(visitor->context, store, n);
			dp_units_store_empty(store, n);
		}
		else
			dp_units_visit(visitor,
						   dp_units_store_divide(store, n, DP_UNITS_DIVIDED,
												 DP_UNITS_DIVIDED_PIECE));
	}
	dp_units_store_drop(store);
}
