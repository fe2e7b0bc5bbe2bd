/*
 * block.c
 *	  The node form of a block, which plans carry and copy.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/value.h"

#include "dp_block.h"

enum
{
	BLOCK_INNER,
	BLOCK_KEYS,
	BLOCK_KINDS,
	BLOCK_BASE_ATTNUMS,
	BLOCK_ARGUMENT_KEYS,
	BLOCK_RELID,
	BLOCK_DATASET,
	BLOCK_FINGERPRINT,
	BLOCK_SUBQUERIES,
	BLOCK_SHARE,
	BLOCK_PART_ATTNUM,
	BLOCK_PART_VALUE
};

/* dp_block_to_list: made of copyable nodes only. */
List *
dp_block_to_list(const dp_block *block)
{
	List	   *list = NIL;
	List	   *keys = NIL;
	List	   *arguments = NIL;
	ListCell   *lc;

	foreach(lc, block->keys)
		keys = lappend(keys, dp_key_to_list(lfirst(lc)));
	foreach(lc, block->argument_keys)
		arguments = lappend(arguments, lfirst(lc) == NULL ? NIL :
							dp_key_to_list(lfirst(lc)));
	list = lappend(list, block->inner);
	list = lappend(list, keys);
	list = lappend(list, block->kinds);
	list = lappend(list, block->base_attnums);
	list = lappend(list, arguments);
	list = lappend(list, makeInteger((int) block->relid));
	list = lappend(list, makeString(block->dataset));
	list = lappend(list, makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
								   Int64GetDatum(block->fingerprint), false,
								   FLOAT8PASSBYVAL));
	list = lappend(list, block->subqueries);
	list = lappend(list, makeInteger(block->share));
	list = lappend(list, makeInteger(block->part_attnum));
	list = lappend(list, block->part_value);
	return list;
}

/* dp_block_from_list: palloc'd; shares nodes with the list. */
dp_block *
dp_block_from_list(const List *list)
{
	dp_block   *block = palloc0(sizeof(dp_block));
	ListCell   *lc;

	block->inner = list_nth(list, BLOCK_INNER);
	foreach(lc, (List *) list_nth(list, BLOCK_KEYS))
		block->keys = lappend(block->keys,
							  dp_key_from_list(lfirst(lc)));
	block->kinds = list_nth(list, BLOCK_KINDS);
	block->base_attnums = list_nth(list, BLOCK_BASE_ATTNUMS);
	foreach(lc, (List *) list_nth(list, BLOCK_ARGUMENT_KEYS))
		block->argument_keys = lappend(block->argument_keys,
									   lfirst(lc) == NULL ? NULL :
									   dp_key_from_list(lfirst(lc)));
	block->relid = (Oid) intVal(list_nth(list, BLOCK_RELID));
	block->dataset = strVal(list_nth(list, BLOCK_DATASET));
	block->fingerprint =
		DatumGetInt64(((Const *) list_nth(list,
										  BLOCK_FINGERPRINT))->constvalue);
	block->subqueries = list_nth(list, BLOCK_SUBQUERIES);
	block->share = intVal(list_nth(list, BLOCK_SHARE));
	block->part_attnum = (AttrNumber) intVal(list_nth(list,
													  BLOCK_PART_ATTNUM));
	block->part_value = list_nth(list, BLOCK_PART_VALUE);
	return block;
}
