/*
 * answer_rows.c
 *	  The rows of an answer as bytes, and back: minimal tuples, each aligned.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"

#include "answers.h"

/*
 * dp_reuse_pack
 *	  All rows of a store, which is rescanned; NULL if they take more than
 *	  `most` bytes.
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

/* The column of a stored answer that is the n-th of the result. */
static int
column_of(const dp_reuse_answer *answer, int asked, int nkeys, int n)
{
	int			value = n - nkeys;

	if (value < 0)
		return n;
	return nkeys + answer->places[value % asked] +
		(value >= asked ? answer->layout.n : 0);
}

/* How the columns of a stored answer are mapped to those of a result. */
typedef struct picking
{
	const dp_reuse_answer *answer;
	int			asked;			/* values */
	int			nkeys;
	TupleDesc	result;
} picking;

static void
put_row(const picking *p, TupleTableSlot *slot, Tuplestorestate *store)
{
	int			n = p->result->natts;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));
	int			i;

	slot_getallattrs(slot);
	for (i = 0; i < n; i++)
	{
		int			column = column_of(p->answer, p->asked, p->nkeys, i);

		values[i] = slot->tts_values[column];
		nulls[i] = slot->tts_isnull[column];
	}
	tuplestore_putvalues(store, p->result, values, nulls);
	pfree(values);
	pfree(nulls);
}

/*
 * Whether the requested values are exactly the stored ones, in the same order.
 */
static bool
is_whole(const dp_reuse_answer *answer, int asked)
{
	int			i;

	for (i = 0; i < asked && answer->places[i] == i; i++)
		;
	return i == asked && i == answer->layout.n;
}

/* Put rows with these columns into a store; if `pick` is NULL, unchanged. */
static void
put_rows(const bytea *content, TupleDesc columns, const picking *pick,
		 Tuplestorestate *store)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns,
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
		if (pick == NULL)
			tuplestore_puttupleslot(store, slot);
		else
			put_row(pick, slot, store);
		at += MAXALIGN(tuple->t_len);
	}
	ExecDropSingleTupleTableSlot(slot);
	pfree(data);
}

/* dp_reuse_put_rows: put what dp_reuse_pack returned into a store. */
void
dp_reuse_put_rows(const bytea *content, TupleDesc result,
				  Tuplestorestate *store)
{
	put_rows(content, result, NULL, store);
}

/*
 * dp_reuse_unpack
 *	  Put the rows of an answer into a store, with nkeys columns of the group
 *	  and the values of the key.
 */
void
dp_reuse_unpack(const dp_reuse_answer *answer, const dp_reuse_key *key,
				TupleDesc result, int nkeys, Tuplestorestate *store)
{
	int			asked = key->layout.n;
	const picking pick = {answer, asked, nkeys, result};

	if (is_whole(answer, asked))
		put_rows(answer->content, result, NULL, store);
	else
		put_rows(answer->content,
				 dp_reuse_stored_columns(&answer->layout, result, nkeys,
										 result->natts > nkeys + asked),
				 &pick, store);
}
