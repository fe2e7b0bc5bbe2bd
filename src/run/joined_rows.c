/*
 * joined_rows.c
 *	  Rows that a block joins with private ones: read in the connection,
 *	  completely and before the charge, and handed to the process that reads
 *	  private rows.
 *
 * They are read by queries of their own (block/named_rows.c), with the asking
 * role's rights and whatever these run or reveal, since no private row has
 * been read.  A reader gets them in pieces after the message (named_stores.c).
 * Their number is as public as they are, and so is the largest number that is
 * joined with one private row (fanout.c).
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "run.h"

#define PIECE (32 * 1024)
#define MOST_BYTES ((Size) 256 * 1024 * 1024)

/* Memory for a row in a tuplestore and a hash table, given its size. */
#define HELD_FACTOR 4
#define HELD_ROW 128

/* Limit for them, also in each parallel worker. */
#define MOST_SHARED ((Size) 32 * 1024 * 1024)

struct dp_joined_rows
{
	List	   *pieces;			/* of StringInfo */
	int			next;			/* the next to be handed over */
	Size		bytes;
	Size		held;			/* memory that they take in a reader */
	dp_joined_sizes sizes;
};

/* ---- the session's side ---- */

typedef struct row_receiver
{
	DestReceiver receiver;
	dp_joined_rows *rows;
	List	   *tallies;		/* of dp_fanout_tally *: one for each source
								 * with these rows */
	MemoryContext keep;			/* of pieces */
	MemoryContext work;			/* reset for each row */
} row_receiver;

static void
check_bytes(const dp_joined_rows *rows)
{
	if (rows->bytes <= MOST_BYTES)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too much is joined with private rows"),
			 errdetail("What a private query joins is read before, and may "
					   "take %zu MB.  Nothing was charged for it.",
					   MOST_BYTES / (1024 * 1024)),
			 errhint("Filter it in a subquery that reads the public relation "
					 "only.")));
}

static StringInfo
piece_with_room(row_receiver *to, Size size)
{
	StringInfo	last = to->rows->pieces == NIL ? NULL :
	llast(to->rows->pieces);
	MemoryContext old;

	if (last != NULL && last->len + size <= PIECE)
		return last;
	old = MemoryContextSwitchTo(to->keep);
	last = makeStringInfo();
	to->rows->pieces = lappend(to->rows->pieces, last);
	MemoryContextSwitchTo(old);
	return last;
}

static void
add_row(row_receiver *to, int number, MinimalTuple tuple)
{
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	const dp_piece_row head = {number, tuple->t_len};
	Size		size = MAXALIGN(sizeof(head)) + MAXALIGN(tuple->t_len);
	StringInfo	piece;

	to->rows->bytes += size;
	to->rows->sizes.widest = Max(to->rows->sizes.widest, size);
	to->rows->held += HELD_FACTOR * size + HELD_ROW;
	check_bytes(to->rows);
	piece = piece_with_room(to, size);
	appendBinaryStringInfo(piece, (const char *) &head, sizeof(head));
	appendBinaryStringInfo(piece, padding,
						   MAXALIGN(sizeof(head)) - sizeof(head));
	appendBinaryStringInfo(piece, (const char *) tuple, tuple->t_len);
	appendBinaryStringInfo(piece, padding,
						   MAXALIGN(tuple->t_len) - tuple->t_len);
}

/* Add a row; nothing of it stays out of line. */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	row_receiver *to = (row_receiver *) self;
	MemoryContext old = MemoryContextSwitchTo(to->work);
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Datum	   *values = palloc(sizeof(Datum) * Max(desc->natts, 1));
	MinimalTuple tuple;
	ListCell   *lc;
	int			i;

	slot_getallattrs(slot);
	for (i = 0; i < desc->natts; i++)
	{
		values[i] = slot->tts_values[i];
		if (!slot->tts_isnull[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			values[i] = PointerGetDatum(detoast_external_attr(
											(struct varlena *)
											DatumGetPointer(values[i])));
	}
	tuple = heap_form_minimal_tuple(desc, values, slot->tts_isnull, 0);
	foreach(lc, to->tallies)
	{
		dp_fanout_tally *tally = lfirst(lc);

		add_row(to, tally->source->number, tuple);
		dp_run_fanout_add(tally, values, slot->tts_isnull);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(to->work);
	return true;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	const dp_fanout_tally *first = linitial(((row_receiver *) self)->tallies);

	dp_run_check_columns(typeinfo, first->source->query->targetList);
}

/* A tally for the source, and for each source with the same rows. */
static List *
make_tallies(const dp_block *block, const dp_joined *source)
{
	List	   *tallies = list_make1(dp_run_fanout_begin(source));
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *other = lfirst(lc);

		if (other->twin == source->number)
			tallies = lappend(tallies, dp_run_fanout_begin(other));
	}
	return tallies;
}

/*
 * Read a source with the rights of the current user.  But a view that an
 * argument names may belong to the asking role, and is read with its rights,
 * as its subqueries are (run.c).
 */
static void
read_source(row_receiver *to, const dp_block *block, const dp_joined *source,
			const dp_inner *run)
{
	dp_acting	acting;
	ListCell   *lc;

	to->tallies = make_tallies(block, source);
	if (run->named)
		dp_ledger_act_as_asker(&acting, false);
	dp_run_execute(dp_run_plan_subquery(block, source->query, run->params),
				   DP_PRIVATE_QUERY_TEXT, &to->receiver, run->params,
				   run->environment);
	if (run->named)
		dp_ledger_act_as_before(&acting);
	foreach(lc, to->tallies)
	{
		dp_fanout_tally *tally = lfirst(lc);
		dp_joined_sizes *sizes = &to->rows->sizes;

		sizes->fanout = dp_run_fanout_multiply(sizes->fanout,
											   dp_run_fanout_end(tally));
		sizes->matched = dp_run_fanout_multiply(sizes->matched, tally->most);
	}
}

/*
 * dp_run_read_joined
 *	  Read all that the block joins, under the active snapshot, into the
 *	  current context; NULL when it joins nothing.  Uses params, environment
 *	  and named of `run`.
 *
 * Errors: those of reading it; 54000 if it is too large.
 */
dp_joined_rows *
dp_run_read_joined(const dp_block *block, const dp_inner *run)
{
	dp_joined_rows *rows;
	row_receiver to = {0};
	ListCell   *lc;

	if (block->sources == NIL)
		return NULL;
	rows = palloc0(sizeof(dp_joined_rows));
	rows->sizes.fanout = rows->sizes.matched = 1;
	to.receiver = *None_Receiver;
	to.receiver.receiveSlot = receive_row;
	to.receiver.rStartup = receiver_startup;
	to.rows = rows;
	to.keep = CurrentMemoryContext;
	to.work = AllocSetContextCreate(CurrentMemoryContext, "dp_pg joined row",
									ALLOCSET_DEFAULT_SIZES);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (!OidIsValid(source->relid) && source->twin == 0)
			read_source(&to, block, source, run);
	}
	MemoryContextDelete(to.work);
	return rows;
}

/*
 * dp_run_check_joined
 *	  Raise 42501 unless the asking role may read all that the block joins;
 *	  reads nothing.  Requires an active snapshot.
 */
void
dp_run_check_joined(const dp_block *block, const dp_inner *run)
{
	dp_acting	acting;
	ListCell   *lc;

	if (run->named)
		dp_ledger_act_as_asker(&acting, false);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (!OidIsValid(source->relid))
			dp_run_open_only(dp_run_plan_subquery(block, source->query,
												  run->params),
							 run->params, run->environment);
	}
	if (run->named)
		dp_ledger_act_as_before(&acting);
}

/* dp_run_joined_memory: memory that they take in a reader; 0 for NULL. */
Size
dp_run_joined_memory(const dp_joined_rows *rows)
{
	return rows == NULL ? 0 : rows->held;
}

/* dp_run_joined_bytes: most bytes of a copy of them; 0 for NULL. */
Size
dp_run_joined_bytes(const dp_joined_rows *rows)
{
	return rows == NULL ? 0 : rows->bytes;
}

/* dp_run_get_joined_sizes: rows is NULL if nothing is joined. */
dp_joined_sizes
dp_run_get_joined_sizes(const dp_joined_rows *rows)
{
	static const dp_joined_sizes alone = {1, 1, 0};

	return rows == NULL ? alone : rows->sizes;
}

/*
 * dp_run_add_joined_facts: set the facts that plans need about joined rows, or
 * NULL.
 */
void
dp_run_add_joined_facts(const dp_joined_rows *rows, dp_public_facts *facts)
{
	facts->shares_rows = dp_run_joined_memory(rows) <= MOST_SHARED;
	facts->widest = dp_run_get_joined_sizes(rows).widest;
}

/* dp_run_joined_pieces: how many there are; rows may be NULL. */
int
dp_run_joined_pieces(const dp_joined_rows *rows)
{
	return rows == NULL ? 0 : list_length(rows->pieces);
}

/* dp_run_joined_piece: the n-th piece of rows, from 0, or NULL. */
const char *
dp_run_joined_piece(const dp_joined_rows *rows, int n, Size *size)
{
	StringInfo	piece;

	if (n >= list_length(rows->pieces))
		return NULL;
	piece = list_nth(rows->pieces, n);
	*size = piece->len;
	return piece->data;
}

/* dp_run_next_joined: a dp_reader_source of dp_joined_rows. */
const void *
dp_run_next_joined(void *context, Size *size)
{
	dp_joined_rows *rows = context;

	return dp_run_joined_piece(rows, rows->next++, size);
}
