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

#include "records.h"

#define LOADED ((Size) 4 * 1024 * 1024) /* bytes of records */

static void
visit_loaded(const dp_bound_visitor *visitor, dp_bound_store *store, int n)
{
	dp_bound_sorted sorted;
	int64		count = dp_bound_sorted_load(&sorted, visitor->layout, store,
											 n);

	visitor->loaded(visitor->context, sorted.entries, count);
	dp_bound_sorted_free(&sorted);
	dp_bound_store_empty(store, n);
}

/*
 * dp_bound_visit
 *	  Show a visitor all records of a store, which is dropped: those with one
 *	  key together and, without helpers, the keys in order.
 */
void
dp_bound_visit(const dp_bound_visitor *visitor, dp_bound_store *store)
{
	int			n;

	if (visitor->nhelpers > 0)
		dp_bound_visit_together(visitor, store);
	for (n = 0; n < DP_BOUND_PARTITIONS; n++)
	{
		int64		bytes = dp_bound_store_bytes(store, n);

		CHECK_FOR_INTERRUPTS();
		if (bytes == 0)
			continue;
		if (bytes <= LOADED)
			visit_loaded(visitor, store, n);
		else if (dp_bound_store_has_one_key(store, n))
		{
			visitor->large(visitor->context, store, n);
			dp_bound_store_empty(store, n);
		}
		else
			dp_bound_visit(visitor,
						   dp_bound_store_divide(store, n, DP_BOUND_DIVIDED,
												 DP_BOUND_DIVIDED_PIECE));
	}
	dp_bound_store_drop(store);
}
