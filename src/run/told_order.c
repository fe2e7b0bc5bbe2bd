/*
 * told_order.c
 *	  Answers with undeclared keys, in the order of their keys.
 *
 * A reader returns groups in the order of a secret hash.  They are sorted in
 * the connection, where everything is released: texts by their bytes, NULL
 * last.  No two rows have the same keys, so the order is a function of what is
 * released.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "run.h"

struct dp_told_order
{
	Tuplesortstate *sort;
};

/*
 * dp_run_order_begin: sort the rows of an answer, whose first columns are the
 * keys.
 */
dp_told_order *
dp_run_order_begin(const dp_release_spec *spec, TupleDesc result)
{
	dp_told_order *order = palloc(sizeof(dp_told_order));
	int			n = Max(spec->nkeys, 1);
	AttrNumber *columns = palloc(sizeof(AttrNumber) * n);
	Oid		   *operators = palloc(sizeof(Oid) * n);
	Oid		   *collations = palloc(sizeof(Oid) * n);
	bool	   *nulls_first = palloc0(sizeof(bool) * n);
	int			sorted = 0;
	ListCell   *lc;

	foreach(lc, spec->block->keys)
	{
		const dp_key *key = lfirst(lc);
		TypeCacheEntry *type = lookup_type_cache(getBaseType(key->type),
												 TYPECACHE_LT_OPR);

		/* a constant's type may have no order */
		if (!OidIsValid(type->lt_opr))
			continue;
		columns[sorted] = foreach_current_index(lc) + 1;
		operators[sorted] = type->lt_opr;
		collations[sorted++] = OidIsValid(key->collation) ?
			C_COLLATION_OID : InvalidOid;
	}
	order->sort = tuplesort_begin_heap(result, sorted, columns, operators,
									   collations, nulls_first, work_mem,
									   NULL, TUPLESORT_NONE);
	return order;
}

/* dp_run_order_add: add one row. */
void
dp_run_order_add(dp_told_order *order, TupleTableSlot *slot)
{
	tuplesort_puttupleslot(order->sort, slot);
}

/* dp_run_order_end: put all rows into the store, in order; slot: for them. */
void
dp_run_order_end(dp_told_order *order, TupleTableSlot *slot,
				 Tuplestorestate *store)
{
	tuplesort_performsort(order->sort);
	while (tuplesort_gettupleslot(order->sort, true, false, slot, NULL))
		tuplestore_puttupleslot(store, slot);
	tuplesort_end(order->sort);
}
