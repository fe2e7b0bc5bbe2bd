/*
 * answer_rows.c
 *	  The rows of an answer as bytes, and back: minimal tuples, each at an
 *	  aligned place.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"

#include "dp_reuse.h"

/*
 * dp_reuse_pack
 *	  All rows of a store, which is read from its beginning; NULL when they
 *	  take more than `most` bytes.
 */
bytea *
dp_reuse_pack(Tuplestorestate *store, TupleDesc result, Size most,
			  int64 *rows)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(result,
													&TTSOpsMinimalTuple);
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	StringInfoData bytes;

	initStringInfo(&bytes);
	appendBinaryStringInfo(&bytes, padding, VARHDRSZ);
	*rows = 0;
	tuplestore_rescan(store);
	while (bytes.len <= most &&
		   tuplestore_gettupleslot(store, true, false, slot))
	{
		MinimalTuple tuple = ExecFetchSlotMinimalTuple(slot, NULL);

		if (tuple->t_len > most)
			break;
		appendBinaryStringInfo(&bytes, (char *) tuple, tuple->t_len);
		appendBinaryStringInfo(&bytes, padding,
							   MAXALIGN(tuple->t_len) - tuple->t_len);
		(*rows)++;
	}
	if (!tuplestore_ateof(store))
		bytes.len = most + 1;
	ExecDropSingleTupleTableSlot(slot);
	if (bytes.len > most)
		return NULL;
	SET_VARSIZE(bytes.data, bytes.len);
	return (bytea *) bytes.data;
}

/* dp_reuse_unpack: put the rows of an answer into a store. */
void
dp_reuse_unpack(const bytea *content, TupleDesc result,
				Tuplestorestate *store)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(result,
													&TTSOpsMinimalTuple);
	Size		size = VARSIZE(content) - VARHDRSZ;
	char	   *data = palloc(Max(size, 1));
	Size		at = 0;

	memcpy(data, VARDATA(content), size);
	while (at < size)
	{
		MinimalTuple tuple = (MinimalTuple) (data + at);

		if (size - at < sizeof(tuple->t_len) || tuple->t_len > size - at ||
			tuple->t_len < SizeofMinimalTupleHeader)
			elog(ERROR, "a stored answer is damaged");
		ExecStoreMinimalTuple(tuple, slot, false);
		tuplestore_puttupleslot(store, slot);
		at += MAXALIGN(tuple->t_len);
	}
	ExecDropSingleTupleTableSlot(slot);
	pfree(data);
}
