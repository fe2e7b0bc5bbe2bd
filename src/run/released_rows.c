/*
 * released_rows.c
 *	  The noisy rows of a release, as a reader gives them.
 */
#include "postgres.h"

#include "executor/tuptable.h"

#include "run.h"

/*
 * dp_run_store_row: a dp_reader_sink that puts minimal tuples into dp_run_rows
 */
void
dp_run_store_row(void *context, const void *data, Size size)
{
	dp_run_rows *rows = context;

	ExecStoreMinimalTuple((MinimalTuple) data, rows->slot, false);
	if (rows->order != NULL)
		dp_run_order_add(rows->order, rows->slot);
	else
		tuplestore_puttupleslot(rows->store, rows->slot);
	ExecClearTuple(rows->slot);
}
