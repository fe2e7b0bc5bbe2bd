/*
 * held_memory.c
 *	  For memory_peak.pl: what reserve.c, which is compiled in here, does to
 *	  the heap of a process whose rows leave something behind.
 */
#define dp_bridge_reserve_init own_reserve_init /* dp_pg has them, too */
#define dp_bridge_reserve own_reserve
#define dp_bridge_hold own_hold
#define dp_bridge_give_back own_give_back
#define dp_bridge_try_shared own_try_shared
#include "bridge/reserve.c"

#include <unistd.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

#define RESERVED ((Size) 32 * 1024 * 1024)
#define BLOCK 65536
#define BLOCKS 440				/* less than what is reserved */
#define PIECES (64 * 14)

PG_FUNCTION_INFO_V1(held_growth);

/*
 * held_growth(at int, contexts bool) returns bigint: the bytes that the heap
 * has grown by when as much is reserved again, after rows that took BLOCKS
 * blocks and, when at of these were there, made small pieces and, if contexts,
 * a context; all is freed.  To be called once in a process.
 */
Datum
held_growth(PG_FUNCTION_ARGS)
{
	int32		at = PG_GETARG_INT32(0);
	static void *block[BLOCKS];
	static void *piece[PIECES];
	MemoryContext context = NULL;
	char	   *end;
	int			i;
	int			j;

	dp_bridge_reserve_init(BLOCK);
	dp_bridge_hold();
	dp_bridge_reserve(RESERVED);
	end = sbrk(0);
	for (i = 0; i < BLOCKS; i++)
	{
		block[i] = malloc(BLOCK);
		for (j = 0; i == at && j < PIECES; j++)
			piece[j] = malloc(CACHED_FIRST + j / 14 * CACHED_STEP);
		if (i == at && PG_GETARG_BOOL(1))
			context = AllocSetContextCreate(CurrentMemoryContext, "of rows",
											ALLOCSET_DEFAULT_SIZES);
	}
	if (context != NULL)
		MemoryContextDelete(context);
	for (j = 0; j < PIECES; j++)
		free(piece[j]);
	for (i = 0; i < BLOCKS; i++)
		free(block[i]);
	dp_bridge_hold();
	dp_bridge_reserve(RESERVED);
	PG_RETURN_INT64((char *) sbrk(0) - end);
}
