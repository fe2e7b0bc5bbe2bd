/*
 * read_memory.c
 *	  For memory_peak.pl: what tally.c, which is compiled in here, leaves
 *	  in a memory context that many rows share.
 */
#include "query/domains/tally.c"

#include "fmgr.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

#define TIMES 100000

PG_FUNCTION_INFO_V1(read_growth);

/* Bytes that a context grows by while a value is read so many times. */
Datum
read_growth(PG_FUNCTION_ARGS)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	dp_read_way way = dp_domains_read_way(type);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "values that are read",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Size		first = 0;
	Size		last = 0;
	int			i;

	for (i = 0; i < TIMES; i++)
	{
		dp_value_bytes read;

		dp_domains_read_bytes(way, PG_GETARG_DATUM(0), &read);
		if (read.copy != NULL)
			pfree(read.copy);
		last = MemoryContextMemAllocated(context, false);
		if (i == 0)
			first = last;
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	PG_RETURN_INT64(last - first);
}
