/*
 * record_store.c
 *	  Records in 64 partitions by their keys, in bounded memory.
 *
 * A partition is a list of pieces, each as much as is read or written at once.
 * Pieces are in memory while there is some, and then in the process's scratch
 * file (base/scratch.c), which has no name.  A store that has few records
 * takes little: pieces begin small and double.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "../../base/dp_base.h"
#include "units_internal.h"

#define FIRST_PIECE 1024
/*
 * Bytes to prefetch.  Keys are random, so a processor cannot foresee which
 * partition takes the next record.
 */
#define AHEAD 64

/* A part of a partition, in memory or on disk. */
typedef struct piece
{
	char	   *memory;			/* NULL: on disk */
	off_t		place;
	uint32		bytes;			/* of records */
	uint32		size;			/* of the memory */
} piece;

typedef struct partition
{
	char	   *next;			/* in the last piece, which takes records */
	char	   *end;
	int64		bytes;			/* of records in all pieces but the last */
	int64		records;
	int			npieces;
	int			room;
	piece	   *pieces;
} partition;

struct dp_units_store
{
	const dp_units_layout *layout;
	MemoryContext context;
	int			used;			/* bits of keys used so far, own ones too */
	Size		memory;			/* left for pieces */
	uint32		piece;			/* bytes of a large one; a record fits */
	bool		writes;			/* some are on disk */
	partition	partitions[DP_UNITS_PARTITIONS];
};

/* Give up what is on disk. */
static void
record_store_leave_file(void *arg)
{
	dp_units_store *store = arg;

	if (store->writes)
		dp_base_scratch_leave();
	store->writes = false;
}

/*
 * dp_units_store_create
 *	  An empty store in a context of its own below the current one, which
 *	  dp_units_store_drop deletes.  `used`: bits of keys that are the same in
 *	  all records.  It takes `memory` bytes, plus twice a piece for each
 *	  partition, plus some 32 bytes for each piece on disk.
 */
dp_units_store *
dp_units_store_create(const dp_units_layout *layout, int used, Size memory,
					  uint32 piece_bytes)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dp_pg rows of units",
												  ALLOCSET_DEFAULT_SIZES);
	dp_units_store *store = MemoryContextAllocZero(context,
												   sizeof(dp_units_store));
	MemoryContextCallback *callback =
		MemoryContextAllocZero(context, sizeof(MemoryContextCallback));

	store->layout = layout;
	store->context = context;
	store->used = used + DP_UNITS_PARTITION_BITS;
	store->memory = memory;
	store->piece = piece_bytes;
	callback->func = record_store_leave_file;
	callback->arg = store;
	MemoryContextRegisterResetCallback(context, callback);
	return store;
}

static piece *
new_piece(dp_units_store *store, partition *p)
{
	piece	   *added;

	if (p->npieces == p->room)
	{
		p->room = Max(2 * p->room, 4);
		if (p->pieces == NULL)
			p->pieces = MemoryContextAlloc(store->context,
										   sizeof(piece) * p->room);
		else
			p->pieces = repalloc_huge(p->pieces, sizeof(piece) * p->room);
	}
	added = &p->pieces[p->npieces++];
	memset(added, 0, sizeof(piece));
	return added;
}

/* Bytes of records in the last piece. */
static uint32
bytes_of_last(const partition *p)
{
	const piece *last;

	if (p->npieces == 0)
		return 0;
	last = &p->pieces[p->npieces - 1];
	return (uint32) (p->next - last->memory);
}

/* Close the last piece, which is full. */
static void
close_piece(partition *p)
{
	uint32		bytes = bytes_of_last(p);

	if (p->npieces > 0)
		p->pieces[p->npieces - 1].bytes = bytes;
	p->bytes += bytes;
}

static void
open_piece(partition *p, piece *last)
{
	p->next = last->memory;
	p->end = last->memory + last->size;
}

/* Write a full piece, and use its memory for the next records. */
static void
write_piece(dp_units_store *store, partition *p)
{
	piece	   *full = &p->pieces[p->npieces - 1];
	char	   *memory = full->memory;
	uint32		size = full->size;
	piece	   *next;

	if (!store->writes)
	{
		dp_base_scratch_use();
		store->writes = true;
	}
	full->place = dp_base_scratch_append(memory, full->bytes);
	full->memory = NULL;
	next = new_piece(store, p);
	next->memory = memory;
	next->size = size;
	open_piece(p, next);
}

static pg_noinline void
record_store_make_room(dp_units_store *store, partition *p, Size size)
{
	piece	   *last = p->npieces > 0 ? &p->pieces[p->npieces - 1] : NULL;
	uint32		wanted = FIRST_PIECE;

	CHECK_FOR_INTERRUPTS();
	close_piece(p);
	if (last != NULL)
		wanted = Min(last->size * 2, store->piece);
	while (wanted < size)
		wanted *= 2;
	if (last != NULL && last->size >= store->piece && store->memory < wanted)
	{
		write_piece(store, p);
		return;
	}
	last = new_piece(store, p);
	last->memory = MemoryContextAlloc(store->context, wanted);
	last->size = wanted;
	store->memory -= Min(store->memory, wanted);
	open_piece(p, last);
}

/* Room for a record with the key. */
static inline dp_units_record *
add_record(dp_units_store *store, uint64 key, Size size)
{
	int			n = (int) ((key << (store->used - DP_UNITS_PARTITION_BITS)) >>
						   (64 - DP_UNITS_PARTITION_BITS));
	partition  *p = &store->partitions[n];
	dp_units_record *record;

	if (unlikely(p->end - p->next < (ptrdiff_t) size))
		record_store_make_room(store, p, size);
	record = (dp_units_record *) p->next;
	p->next += size;
	p->records++;
	__builtin_prefetch(p->next + AHEAD, 1);
	return record;
}

/*
 * dp_units_store_add
 *	  Room for a record with the key, of `size` bytes: a multiple of 8, at most
 *	  a piece.  The caller fills it, all of it, before anything else.
 */
dp_units_record *
dp_units_store_add(dp_units_store *store, uint64 key, Size size)
{
	return add_record(store, key, size);
}

/*
 * dp_units_store_put
 *	  Add a copy of a record of `size` bytes.
 */
void
dp_units_store_put(dp_units_store *store, const dp_units_record *record,
				   Size size)
{
	uint64	   *to = (uint64 *) add_record(store, record->key, size);
	Size		i;

	for (i = 0; i < size / sizeof(uint64); i++)
		to[i] = ((const uint64 *) record)[i];
}

/* dp_units_store_bytes: of all records of a partition. */
int64
dp_units_store_bytes(const dp_units_store *store, int n)
{
	return store->partitions[n].bytes + bytes_of_last(&store->partitions[n]);
}

/* dp_units_store_count: how many records a partition has. */
int64
dp_units_store_count(const dp_units_store *store, int n)
{
	return store->partitions[n].records;
}

/* dp_units_store_used: bits of keys that are the same within a partition. */
int
dp_units_store_used(const dp_units_store *store)
{
	return store->used;
}

/* dp_units_store_empty: drop the records of a partition. */
void
dp_units_store_empty(dp_units_store *store, int n)
{
	partition  *p = &store->partitions[n];
	int			i;

	for (i = 0; i < p->npieces; i++)
		if (p->pieces[i].memory != NULL)
			pfree(p->pieces[i].memory);
	if (p->pieces != NULL)
		pfree(p->pieces);
	memset(p, 0, sizeof(*p));
}

/* dp_units_store_drop: with all records. */
void
dp_units_store_drop(dp_units_store *store)
{
	MemoryContextDelete(store->context);
}

/* ---- reading ---- */

/* Bytes of records in a piece. */
static uint32
records_bytes(const partition *p, int i)
{
	return i == p->npieces - 1 ? bytes_of_last(p) : p->pieces[i].bytes;
}

/*
 * dp_units_store_pieces
 *	  How many pieces a partition has; *stored: bytes of those on disk.
 */
int
dp_units_store_pieces(const dp_units_store *store, int n, Size *stored)
{
	const partition *p = &store->partitions[n];
	int			i;

	*stored = 0;
	for (i = 0; i < p->npieces; i++)
		*stored += p->pieces[i].memory == NULL ? p->pieces[i].bytes : 0;
	return p->npieces;
}

/*
 * dp_units_store_fill
 *	  All records of a partition in memory: chunks, one for each piece; those
 *	  from the disk are put into `stored`.  They stay until the partition is
 *	  emptied.  False, with errno: the disk cannot be read.  A thread may call
 *	  it.
 */
bool
dp_units_store_fill(const dp_units_store *store, int n,
					dp_units_chunk *chunks, char *stored)
{
	const partition *p = &store->partitions[n];
	int			i;

	for (i = 0; i < p->npieces; i++)
	{
		const piece *from = &p->pieces[i];

		chunks[i].records = from->memory;
		chunks[i].bytes = records_bytes(p, i);
		if (from->memory != NULL)
			continue;
		if (!dp_base_scratch_try(stored, from->bytes, from->place))
			return false;
		chunks[i].records = stored;
		stored += from->bytes;
	}
	return true;
}

/* dp_units_cursor_open: before the first record of a partition. */
void
dp_units_cursor_open(dp_units_cursor *cursor, dp_units_store *store, int n)
{
	cursor->store = store;
	cursor->partition = n;
	cursor->piece = -1;
	cursor->next = cursor->end = NULL;
}

static bool
fetch_piece(dp_units_cursor *cursor)
{
	const partition *p = &cursor->store->partitions[cursor->partition];
	const piece *at;
	uint32		bytes;

	if (++cursor->piece >= p->npieces)
		return false;
	at = &p->pieces[cursor->piece];
	bytes = records_bytes(p, cursor->piece);
	CHECK_FOR_INTERRUPTS();
	if (at->memory == NULL)
	{
		if (cursor->room == NULL)
			cursor->room = palloc(cursor->store->piece);
		dp_base_scratch_read(cursor->room, bytes, at->place);
	}
	cursor->next = at->memory != NULL ? at->memory : cursor->room;
	cursor->end = cursor->next + bytes;
	return true;
}

/*
 * dp_units_cursor_fetch
 *	  The next record, NULL after the last; valid until the next call.
 */
const dp_units_record *
dp_units_cursor_fetch(dp_units_cursor *cursor)
{
	const dp_units_record *record;

	while (cursor->next == cursor->end)
		if (!fetch_piece(cursor))
			return NULL;
	record = (const dp_units_record *) cursor->next;
	cursor->next += dp_units_record_size(cursor->store->layout, record);
	return record;
}

/* dp_units_cursor_close: of a cursor that began as zeroes. */
void
dp_units_cursor_close(dp_units_cursor *cursor)
{
	if (cursor->room != NULL)
		pfree(cursor->room);
	cursor->room = NULL;
}

/* ---- what memory cannot hold ---- */

/*
 * dp_units_store_has_one_key: whether all records of a partition share a key.
 */
bool
dp_units_store_has_one_key(dp_units_store *store, int n)
{
	dp_units_cursor cursor = {NULL};
	const dp_units_record *record;
	uint64		key = 0;
	bool		first = true;
	bool		one = true;

	dp_units_cursor_open(&cursor, store, n);
	while (one && (record = dp_units_cursor_fetch(&cursor)) != NULL)
	{
		one = first || record->key == key;
		key = record->key;
		first = false;
	}
	dp_units_cursor_close(&cursor);
	return one;
}

/*
 * dp_units_store_divide
 *	  Make a store, as dp_units_store_create does, of the records of a
 *	  partition, by further bits of their keys; the partition is emptied.
 */
dp_units_store *
dp_units_store_divide(dp_units_store *store, int n, Size memory,
					  uint32 piece_bytes)
{
	dp_units_store *below = dp_units_store_create(store->layout, store->used,
												  memory, piece_bytes);
	dp_units_cursor cursor = {NULL};
	const dp_units_record *record;

	dp_units_cursor_open(&cursor, store, n);
	while ((record = dp_units_cursor_fetch(&cursor)) != NULL)
		dp_units_store_put(below, record,
						   dp_units_record_size(store->layout, record));
	dp_units_cursor_close(&cursor);
	dp_units_store_empty(store, n);
	return below;
}
