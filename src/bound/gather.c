/*
 * gather.c
 *	  Rows of several relations, some units at a time.
 *
 * A join of private relations on their units is the union, over units, of the
 * joins of each unit's rows.  So rows are kept in partitions by the unit's
 * key, in bounded memory and the scratch file, and are given back in parts,
 * each of which has all rows of its units: what a join then does with them in
 * memory is bounded too, and so is what it makes of them (gather_unit.c).
 *
 * A partition that memory can hold is sorted by unit, and parts are made of
 * its units, and of those of the next ones.  A larger one is divided by
 * further bits of its keys; where that cannot be, it is mostly one unit, and
 * each of its units is a part.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "gathered.h"

#define STORED ((Size) 16 * 1024 * 1024)
#define STORED_BELOW ((Size) 3 * 1024 * 1024)
#define PIECE DP_GATHER_ROW
#define LOADED (1024 * 1024)	/* bytes of a partition that is sorted */
#define PART ((Size) 512 * 1024)	/* bytes of a part, or made of one: about
									 * what a processor caches */
#define MOST_PART DP_GATHER_UNIT
#define PUBLIC_SHARE 8			/* a part is this many times what is read anew
								 * for each */
#define AHEAD 24				/* entries whose record is fetched ahead */
#define LEVELS (64 / DP_BOUND_PARTITION_BITS)

/* A store, and the partition of it that comes next. */
typedef struct level
{
	dp_bound_store *store;
	int			next;
} level;

/* A partition in memory, sorted by unit. */
typedef struct loaded
{
	dp_bound_sorted sorted;		/* no entries: nothing is loaded */
	int64		n;
	int64		at;				/* where the next unit begins */
} loaded;

struct dp_gather
{
	dp_bound_layout layout;		/* named once a unit has bytes */
	uint64		seeds[2];		/* of units and of rows */
	level		levels[LEVELS];
	int			depth;			/* of the levels */
	dp_gather_limits limits;
	loaded		loaded;
	List	   *done;			/* units of a large partition, copies */
	dp_unit_share share;		/* of the current unit */
	Size		part;			/* bytes of one, unless it is one unit's */
	Size		kept;			/* of the current part */
	Size		joined;
	char	   *name;			/* room for a unit's */
	MemoryContext context;
};

/*
 * dp_bound_gather_create
 *	  A gather without rows, of sources 1 to limits->sources.
 */
dp_gather *
dp_bound_gather_create(const dp_gather_limits *limits)
{
	dp_gather  *gather = palloc0(sizeof(dp_gather));

	gather->layout.sized = true;
	gather->context = CurrentMemoryContext;
	gather->limits = *limits;
	gather->part = Min(Max(PART, limits->public * PUBLIC_SHARE), MOST_PART);
	gather->share.sources = limits->sources;
	gather->share.counts = palloc0(sizeof(int64) * (limits->sources + 1));
	gather->share.bytes = palloc0(sizeof(Size) * (limits->sources + 1));
	gather->name = palloc(DP_BOUND_UNIT_BYTES);
	dp_bridge_check_status(dp_mech_random_bytes(dp_bridge_source(),
												gather->seeds,
												sizeof(gather->seeds)),
						   "draw seeds");
	gather->levels[0].store = dp_bound_store_create(&gather->layout, 0,
													STORED, PIECE);
	gather->depth = 1;
	return gather;
}

/*
 * dp_bound_gather_add
 *	  One row of a source, and its unit, which is not NULL.  packed: by how
 *	  many bytes its values are longer than in the tuple.  A row of more than
 *	  DP_GATHER_ROW bytes would be left out.
 */
void
dp_bound_gather_add(dp_gather *gather, int source, const dp_gather_unit *how,
					Datum unit, MinimalTuple tuple, Size packed)
{
	dp_bound_record *record;
	uint64		key;
	Size		length;
	Size		size;

	if (!dp_bound_read_unit(how->way, how->varlena, unit, gather->seeds[0],
							&key, gather->name, &length))
		return;
	size = offsetof(dp_bound_record, words) + sizeof(uint64) +
		MAXALIGN(length) + MAXALIGN(tuple->t_len);
	/* no row is larger (block/long_row.c), and an error would reveal it */
	if (size > PIECE)
		return;
	record = dp_bound_store_add(gather->levels[0].store, key, size);
	record->key = key;
	record->group = source;
	record->present = (uint32) size;
	record->words[0] = dp_bound_gather_word(length, packed);
	if (length > 0)
	{
		gather->layout.named = true;
		memcpy(record->words + 1, gather->name, length);
	}
	memcpy(dp_bound_gather_tuple(record), tuple, tuple->t_len);
}

/* ---- partitions ---- */

/* Make the records of a partition a level of their own. */
static void
divide(dp_gather *gather, dp_bound_store *store, int n)
{
	level	   *below = &gather->levels[gather->depth++];

	below->store = dp_bound_store_divide(store, n, STORED_BELOW, PIECE);
	below->next = 0;
}

static void
load(dp_gather *gather, dp_bound_store *store, int n)
{
	loaded	   *l = &gather->loaded;

	l->n = dp_bound_sorted_load(&l->sorted, &gather->layout, store, n);
	l->at = 0;
}

/* ---- parts ---- */

static void
begin_part(dp_gather *gather)
{
	gather->kept = 0;
	gather->joined = 0;
}

static bool
has_begun(const dp_gather *gather)
{
	return gather->kept > 0;
}

/* Give the rows of the unit that was weighed to the current part. */
static void
take_unit(dp_gather *gather, dp_unit_rows *rows, dp_gather_sink sink,
		  void *context)
{
	gather->kept += gather->share.kept;
	gather->joined += gather->share.joined;
	if (gather->limits.begin != NULL)
		gather->limits.begin(context);
	dp_bound_unit_give(rows, &gather->layout, &gather->share,
					   gather->seeds[1], sink, context);
}

/*
 * The number of rows of the next unit; prefetches records of the units after
 * it.
 */
static int64
count_unit(const dp_gather *gather)
{
	const dp_bound_layout *layout = &gather->layout;
	const loaded *l = &gather->loaded;
	const dp_bound_entry *first = &l->sorted.entries[l->at];
	int64		left = l->n - l->at;
	int64		n;

	for (n = 1; n < left && first[n].key == first->key &&
		 (!layout->named ||
		  dp_bound_compare_units(layout, first->record,
								 first[n].record) == 0); n++)
		if (n + AHEAD < left)
			__builtin_prefetch(first[n + AHEAD].record);
	return n;
}

/* Take units of the partition in memory; true: the part is full. */
static bool
take_loaded(dp_gather *gather, dp_gather_sink sink, void *context)
{
	loaded	   *l = &gather->loaded;

	while (l->at < l->n)
	{
		dp_bound_entry *first = &l->sorted.entries[l->at];
		dp_unit_rows rows = {first->record, first, count_unit(gather)};

		CHECK_FOR_INTERRUPTS();
		dp_bound_unit_weigh(&rows, &gather->layout, &gather->limits,
							&gather->share);
		if (has_begun(gather) &&
			(gather->kept + gather->share.kept > gather->part ||
			 gather->joined + gather->share.joined > gather->part))
			return true;
		take_unit(gather, &rows, sink, context);
		l->at += rows.n;
	}
	return false;
}

/* A unit that has rows in the partition and is not done, as a copy. */
static dp_bound_record *
find_unit(const dp_gather *gather, dp_bound_store *store, int n)
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

		foreach(lc, gather->done)
			known = known ||
				dp_bound_compare_units(&gather->layout, lfirst(lc),
									   record) == 0;
		if (!known)
		{
			found = palloc(PIECE);
			memcpy(found, record, (char *) dp_bound_gather_tuple(record) -
				   (const char *) record);
		}
	}
	dp_bound_cursor_close(&cursor);
	return found;
}

/*
 * Take the next unit of a partition that cannot be divided; false: none is
 * left.
 */
static bool
take_large(dp_gather *gather, dp_bound_store *store, int n,
		   dp_gather_sink sink, void *context)
{
	dp_unit_rows rows = {find_unit(gather, store, n)};

	if (rows.unit == NULL)
	{
		list_free_deep(gather->done);
		gather->done = NIL;
		return false;
	}
	rows.cursor.store = store;
	rows.cursor.partition = n;
	dp_bound_unit_weigh(&rows, &gather->layout, &gather->limits,
						&gather->share);
	take_unit(gather, &rows, sink, context);
	dp_bound_cursor_close(&rows.cursor);
	gather->done = lappend(gather->done, (void *) rows.unit);
	return true;
}

/* Drop the partition that was loaded, or taken unit by unit. */
static void
leave_partition(dp_gather *gather)
{
	level	   *top = &gather->levels[gather->depth - 1];

	if (gather->loaded.sorted.entries != NULL)
		dp_bound_sorted_free(&gather->loaded.sorted);
	dp_bound_store_empty(top->store, top->next++);
}

/* Fill a part further; true: it is full. */
static bool
fill_part(dp_gather *gather, dp_gather_sink sink, void *context)
{
	level	   *top = &gather->levels[gather->depth - 1];
	int			n = top->next;

	if (gather->loaded.sorted.entries != NULL)
	{
		if (take_loaded(gather, sink, context))
			return true;
		leave_partition(gather);
		return false;
	}
	if (n == DP_BOUND_PARTITIONS)
	{
		dp_bound_store_drop(top->store);
		gather->depth--;
	}
	else if (dp_bound_store_count(top->store, n) == 0)
		top->next++;
	else if (dp_bound_store_bytes(top->store, n) <= LOADED)
		load(gather, top->store, n);
	else if (gather->depth < LEVELS &&
			 !dp_bound_store_has_one_key(top->store, n))
	{
		top->next++;
		divide(gather, top->store, n);
	}
	else
	{
		if (has_begun(gather) ||
			take_large(gather, top->store, n, sink, context))
			return true;
		leave_partition(gather);
	}
	return false;
}

/*
 * dp_bound_gather_next
 *	  Give the sink the rows of the next units, one unit after the other and
 *	  each by source; false: there are no more.  To be called when all rows
 *	  were added.
 */
bool
dp_bound_gather_next(dp_gather *gather, dp_gather_sink sink, void *context)
{
	MemoryContext old = MemoryContextSwitchTo(gather->context);

	begin_part(gather);
	while (gather->depth > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (fill_part(gather, sink, context))
			break;
	}
	MemoryContextSwitchTo(old);
	return has_begun(gather);
}
