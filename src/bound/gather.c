/*
 * gather.c
 *	  Rows of several relations, some units at a time.
 *
 * A join of private relations on their units is the union, over units, of the
 * joins of each unit's rows.  So rows are kept in partitions by the unit's
 * key, in bounded memory and the nameless file, and are given back partition
 * by partition: what a join then does with them in memory is bounded too.  A
 * partition that is too large is divided by further bits of its keys.
 *
 * A unit that alone has more than memory can hold loses rows, where it has too
 * many: those whose digests, under a fresh seed, are above a threshold that
 * follows from its own rows in the source.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "records.h"

#define STORED ((Size) 16 * 1024 * 1024)
#define STORED_BELOW ((Size) 3 * 1024 * 1024)
#define PIECE (64 * 1024)
#define LOADED (4 * 1024 * 1024)	/* bytes of a part, unless one unit's */
#define MOST (8 * 1024 * 1024)	/* bytes of one unit */
#define LEVELS (64 / DP_BOUND_PARTITION_BITS)

/* A store, and the partition of it that comes next. */
typedef struct level
{
	dp_bound_store *store;
	int			next;
} level;

struct dp_gather
{
	dp_bound_layout layout;
	uint64		seeds[2];		/* of units and of rows */
	level		levels[LEVELS];
	int			depth;			/* of the levels */
	int			sources;
	dp_bound_record *record;	/* room for one */
	MemoryContext context;
};

/* What follows a record's head: the unit's bytes, then its tuple. */
typedef struct row_head
{
	uint64		unit;			/* bytes */
} row_head;

/* dp_bound_gather_create: without rows, of sources 1 to n. */
dp_gather *
dp_bound_gather_create(int n)
{
	dp_gather  *gather = palloc0(sizeof(dp_gather));

	gather->layout.named = true;
	gather->context = CurrentMemoryContext;
	gather->sources = n;
	gather->record = palloc0(PIECE);
	dp_bridge_check_status(dp_mech_random_bytes(dp_bridge_source(),
												gather->seeds,
												sizeof(gather->seeds)),
						   "draw seeds");
	gather->levels[0].store = dp_bound_store_create(&gather->layout, 0,
													STORED, PIECE);
	gather->depth = 1;
	return gather;
}

static inline row_head *
head_of(const dp_bound_record *record)
{
	return (row_head *) (record->words + 1);
}

static inline char *
unit_of(const dp_bound_record *record)
{
	return (char *) (head_of(record) + 1);
}

static inline MinimalTuple
tuple_of(const dp_bound_record *record)
{
	return (MinimalTuple) (unit_of(record) + MAXALIGN(head_of(record)->unit));
}

/*
 * dp_bound_gather_add
 *	  One row of a source, and its unit, which is not NULL.
 */
void
dp_bound_gather_add(dp_gather *gather, int source, const dp_gather_unit *how,
			  Datum unit, MinimalTuple tuple)
{
	dp_bound_record *record = gather->record;
	Size		length;
	Size		size;

	if (!dp_bound_read_unit(how->way, how->varlena, unit, gather->seeds[0],
							&record->key, unit_of(record), &length))
		return;
	size = sizeof(row_head) + MAXALIGN(length) + tuple->t_len;
	if (offsetof(dp_bound_record, words) + sizeof(uint64) + MAXALIGN(size) >
		PIECE)
		return;					/* of a row of a page there is no such */
	record->group = source;
	record->present = 0;
	record->words[0] = size;
	head_of(record)->unit = length;
	memcpy(tuple_of(record), tuple, tuple->t_len);
	dp_bound_store_put(gather->levels[0].store, record,
					   dp_bound_record_size(&gather->layout, record));
}

/* ---- giving back ---- */

static bool
has_one_key(dp_bound_store *store, int n)
{
	dp_bound_cursor cursor = {0};
	const dp_bound_record *record;
	uint64		first = 0;
	bool		any = false;
	bool		one = true;

	dp_bound_cursor_open(&cursor, store, n);
	while (one && (record = dp_bound_cursor_fetch(&cursor)) != NULL)
	{
		one = !any || record->key == first;
		first = record->key;
		any = true;
	}
	dp_bound_cursor_close(&cursor);
	return one;
}

/* The records of a partition become a level of their own. */
static void
divide(dp_gather *gather, dp_bound_store *store, int n)
{
	dp_bound_store *below =
	dp_bound_store_create(&gather->layout, dp_bound_store_used(store),
						  STORED_BELOW, PIECE);
	dp_bound_cursor cursor = {0};
	const dp_bound_record *record;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		dp_bound_store_put(below, record,
						   dp_bound_record_size(&gather->layout, record));
	dp_bound_cursor_close(&cursor);
	dp_bound_store_empty(store, n);
	gather->levels[gather->depth].store = below;
	gather->levels[gather->depth].next = 0;
	gather->depth++;
}

static bool
same_unit(const dp_bound_record *a, const dp_bound_record *b)
{
	Size		length = head_of(a)->unit;

	return a->key == b->key && length == head_of(b)->unit &&
		memcmp(unit_of(a), unit_of(b), length) == 0;
}

/* The unit that has rows in the partition and is not among those done. */
static dp_bound_record *
find_unit(dp_bound_store *store, int n, const List *done)
{
	dp_bound_cursor cursor = {0};
	const dp_bound_record *record;
	dp_bound_record *found = NULL;

	dp_bound_cursor_open(&cursor, store, n);
	while (found == NULL &&
		   (record = dp_bound_cursor_fetch(&cursor)) != NULL)
	{
		ListCell   *lc;
		bool		known = false;

		foreach(lc, done)
			known = known || same_unit(lfirst(lc), record);
		if (!known)
		{
			found = palloc(PIECE);
			memcpy(found, record, (char *) tuple_of(record) -
				   (const char *) record);
		}
	}
	dp_bound_cursor_close(&cursor);
	return found;
}

/* By the number of bits of its digest a row is kept or not: 0 to 64. */
static int
digest_bits(const dp_gather *gather, const dp_bound_record *record)
{
	uint64		digest =
	hash_bytes_extended((const unsigned char *) tuple_of(record),
						(int) tuple_of(record)->t_len, gather->seeds[1]);

	return digest == 0 ? 0 : pg_leftmost_one_pos64(digest) + 1;
}

/*
 * Rows of one unit in one source, with digests below a power of two: the
 * largest that keeps them within the source's share of what memory can hold.
 */
static void
give_source(dp_gather *gather, dp_bound_store *store, int n,
			const dp_bound_record *unit, int source, dp_gather_sink sink,
			void *context)
{
	Size		most = MOST / gather->sources;
	Size		bytes[65] = {0};
	dp_bound_cursor cursor = {0};
	const dp_bound_record *record;
	Size		kept = 0;
	int			bits = 0;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		if (record->group == source && same_unit(unit, record))
			bytes[digest_bits(gather, record)] +=
				dp_bound_record_size(&gather->layout, record);
	while (bits < lengthof(bytes) && kept + bytes[bits] <= most)
		kept += bytes[bits++];
	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		if (record->group == source && same_unit(unit, record) &&
			digest_bits(gather, record) < bits)
			sink(context, source, tuple_of(record));
	dp_bound_cursor_close(&cursor);
}

static void
give_all(dp_bound_store *store, int n, dp_gather_sink sink, void *context)
{
	dp_bound_cursor cursor = {0};
	const dp_bound_record *record;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		sink(context, record->group, tuple_of(record));
	dp_bound_cursor_close(&cursor);
}

/* A partition that cannot be divided: mostly one unit. */
static void
give_units(dp_gather *gather, dp_bound_store *store, int n,
		   dp_gather_sink sink, void *context)
{
	List	   *done = NIL;
	dp_bound_record *unit;
	int			source;

	while ((unit = find_unit(store, n, done)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		for (source = 1; source <= gather->sources; source++)
			give_source(gather, store, n, unit, source, sink, context);
		done = lappend(done, unit);
	}
	list_free_deep(done);
}

/*
 * dp_bound_gather_next
 *	  Give the sink the rows of the next units; false: there are no more.  To
 *	  be called when all rows were added.
 */
bool
dp_bound_gather_next(dp_gather *gather, dp_gather_sink sink, void *context)
{
	MemoryContext old = MemoryContextSwitchTo(gather->context);
	bool		given = false;

	while (!given && gather->depth > 0)
	{
		level	   *top = &gather->levels[gather->depth - 1];
		int			n = top->next++;

		CHECK_FOR_INTERRUPTS();
		if (n == DP_BOUND_PARTITIONS)
		{
			dp_bound_store_drop(top->store);
			gather->depth--;
			continue;
		}
		if (dp_bound_store_count(top->store, n) == 0)
			continue;
		if (dp_bound_store_bytes(top->store, n) <= LOADED)
			give_all(top->store, n, sink, context);
		else if (gather->depth < LEVELS && !has_one_key(top->store, n))
		{
			divide(gather, top->store, n);
			continue;
		}
		else
			give_units(gather, top->store, n, sink, context);
		dp_bound_store_empty(top->store, n);
		given = true;
	}
	MemoryContextSwitchTo(old);
	return given;
}
