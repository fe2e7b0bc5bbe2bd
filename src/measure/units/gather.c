/*
 * gather.c
 *	  Rows of several relations, some units at a time.
 *
 * A join of private relations on their units is the union, over units, of the
 * joins of each unit's rows.  So rows are kept in partitions by the unit's
 * key, in bounded memory and the scratch file, and are given back in parts,
 * each of which has all rows of its units: what a join then does with them in
 * memory is bounded too, and so is what it makes of them.
 *
 * A partition that memory can hold is sorted by unit, and parts are made of
 * its units, and of those of the next ones.  A larger one is divided by
 * further bits of its keys; where that cannot be, it is mostly one unit, and
 * each of its units is a part.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "dp_units.h"
#include "units_internal.h"

/*
 * A record's group is its source.  Its first word has the length of the unit
 * and, in its upper bits, by how many bytes the row's values are longer where
 * they are used.  The unit's bytes, unless it is an integer, and the tuple
 * follow.
 */
static inline uint64
dp_bound_gather_word(Size unit, Size packed)
{
	return (uint64) packed << DP_UNITS_LENGTH_BITS | unit;
}

static inline Size
dp_bound_gather_unit(const dp_units_record *record)
{
	return dp_units_length(record->words[0]);
}

static inline MinimalTuple
dp_bound_gather_tuple(const dp_units_record *record)
{
	return (MinimalTuple) ((char *) (record->words + 1) +
						   MAXALIGN(dp_bound_gather_unit(record)));
}

/* Bytes of a row where its values are used. */
static inline Size
dp_bound_gather_size(const dp_units_layout *layout,
					 const dp_units_record *record)
{
	return dp_units_record_size(layout, record) +
		(record->words[0] >> DP_UNITS_LENGTH_BITS);
}

/* ---- gather.c ---- */

/* Rows of one unit: entries, or its records in a partition. */
typedef struct dp_unit_rows
{
	const dp_units_record *unit;
	const dp_units_entry *entries;	/* by source; NULL: in the partition */
	int64		n;
	int64		at;
	dp_units_cursor cursor;
} dp_unit_rows;

/* Their numbers and bytes, and what is kept of them. */
typedef struct dp_unit_share
{
	int			sources;		/* numbered from 1 */
	int64	   *counts;			/* of rows, by source */
	Size	   *bytes;
	int64		most;			/* rows that each source keeps */
	Size		most_bytes;		/* of all rows that are kept */
	Size		kept;			/* most bytes of rows */
	Size		joined;			/* most bytes of the rows made of them */
} dp_unit_share;

/* ----------------
 *		Keys of units: for integers a bijection under a secret seed, for other
 *		values a hash; their bytes tell units apart.
 * ----------------
 */

/* dp_units_is_integer: whether its key alone identifies a unit. */
bool
dp_units_is_integer(dp_read_way way)
{
	return way < DP_READ_TEXT;
}

/* dp_units_hash: of bytes that were read. */
uint64
dp_units_hash(const dp_value_bytes *read, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) read->bytes,
							   (int) read->length, seed);
}

/* dp_units_is_long: whether the value is longer than `most` bytes. */
bool
dp_units_is_long(bool varlena, Datum value, Size most)
{
	return varlena && toast_raw_datum_size(value) - VARHDRSZ > most;
}

/*
 * dp_units_read
 *	  Key of a unit and, unless it is an integer, its bytes, at most
 *	  DP_UNITS_UNIT_BYTES; false: it is longer, and has no rows that count.
 */
bool
dp_units_read(dp_read_way way, bool varlena, Datum unit, uint64 seed,
			  uint64 *key, char *bytes, Size *length)
{
	dp_value_bytes read;
	bool		fits;
	int64		x;

	*length = 0;
	if (dp_domains_read_integer(way, unit, &x))
	{
		*key = dp_units_integer_key(x, seed);
		return true;
	}
	if (dp_units_is_long(varlena, unit, DP_UNITS_UNIT_BYTES))
		return false;
	dp_domains_read_bytes(way, unit, &read);
	fits = read.length <= DP_UNITS_UNIT_BYTES;
	if (fits)
	{
		*key = dp_units_hash(&read, seed);
		*length = read.length;
		memcpy(bytes, read.bytes, read.length);
	}
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
	return fits;
}

/* ----------------
 *		The rows of one unit that take part in a join.
 *
 * The number of rows that a join makes of a unit's is bounded by the product
 * of its numbers of rows, times what public rows make of each.  Levels that
 * group rows have bounds of their own: where each unit is one group, what is
 * below does not matter (rowsets/unit_levels.c).  Joined rows must fit into
 * memory and never go to disk: a query could make any number of them of a few
 * rows, and whether the disk holds them would reveal something of these rows.
 * So a unit with too many loses rows of the sources where it has most: those
 * with the largest digests under a fresh seed.  A digest is of the row and its
 * number among the unit's own, so that every choice of as many rows is equally
 * likely, whatever other units have.
 * ----------------
 */

#define MOST_BYTES ((Size) 8 * 1024 * 1024) /* of one unit's rows */
#define LEAST_BYTES (sizeof(dp_units_record) + SizeofMinimalTupleHeader)

/* ---- fetching rows ---- */

#define ANY 0					/* any source */

/* Start over; if there are entries, the source's begin at `at`. */
static void
rewind_rows(dp_unit_rows *rows, int64 at)
{
	rows->at = at;
	if (rows->entries == NULL)
		dp_units_cursor_open(&rows->cursor, rows->cursor.store,
							 rows->cursor.partition);
}

static const dp_units_record *
gather_fetch_row(dp_unit_rows *rows, const dp_units_layout *layout, int source)
{
	const dp_units_record *record;

	if (rows->entries != NULL)
	{
		const dp_units_entry *entry = &rows->entries[rows->at];

		if (rows->at == rows->n ||
			(source != ANY && entry->group != (uint64) source))
			return NULL;
		rows->at++;
		return entry->record;
	}
	while ((record = dp_units_cursor_fetch(&rows->cursor)) != NULL)
		if ((source == ANY || record->group == source) &&
			dp_units_compare(layout, record, rows->unit) == 0)
			return record;
	return NULL;
}

/* ---- how many rows are kept ---- */

/* The product of what a level's sources keep, or limit + 1 if that is less. */
static int64
level_rows(const dp_unit_share *share, const dp_gather_limits *limits,
		   const Bitmapset *sources, int64 most, int64 limit)
{
	int64		product = 1;
	int			i = -1;

	while ((i = bms_next_member(sources, i)) >= 0)
	{
		int64		kept = Min(share->counts[i], most);
		int64		choices = bms_is_member(i, limits->nullable) ? kept + 1 :
		Max(kept, 1);

		if (__builtin_mul_overflow(product, choices, &product) ||
			product > limit)
			return limit + 1;
	}
	return product;
}

/*
 * Bytes that all levels make for a unit of `unit` bytes, or DP_GATHER_UNIT +
 * 1.
 */
static Size
joined_bytes(const dp_unit_share *share, const dp_gather_limits *limits,
			 Size unit, int64 most)
{
	Size		total = 0;
	int			i;

	for (i = 0; i < limits->nlevels; i++)
	{
		Size		each = (limits->levels[i].record + unit) * limits->fanout;
		int64		limit = DP_GATHER_UNIT / each;
		int64		rows = level_rows(share, limits, limits->levels[i].sources,
									  most, limit);

		if (rows > limit)
			return DP_GATHER_UNIT + 1;
		total += rows * each;
	}
	return total;
}

/* The most rows of a source with which joined_bytes is within its limit. */
static int64
find_most(const dp_unit_share *share, const dp_gather_limits *limits,
		  Size unit)
{
	int64		low = 0;
	int64		high = DP_GATHER_UNIT;

	while (high - low > 1)
	{
		int64		middle = low + (high - low) / 2;

		if (joined_bytes(share, limits, unit, middle) <= DP_GATHER_UNIT)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * unit_weigh
 *	  Weigh the rows of a unit, and find how many of each source are kept.
 */
static void
unit_weigh(dp_unit_rows *rows, const dp_units_layout *layout,
		   const dp_gather_limits *limits, dp_unit_share *share)
{
	Size		unit = MAXALIGN(dp_bound_gather_unit(rows->unit));
	const dp_units_record *record;
	int			i;

	for (i = 1; i <= share->sources; i++)
	{
		share->counts[i] = 0;
		share->bytes[i] = 0;
	}
	rewind_rows(rows, 0);
	while ((record = gather_fetch_row(rows, layout, ANY)) != NULL)
	{
		share->counts[record->group]++;
		share->bytes[record->group] += dp_bound_gather_size(layout, record);
	}
	share->most = PG_INT64_MAX;
	share->joined = joined_bytes(share, limits, unit, share->most);
	if (share->joined > DP_GATHER_UNIT)
	{
		share->most = find_most(share, limits, unit);
		share->joined = share->most == 0 ? 0 :
			joined_bytes(share, limits, unit, share->most);
	}
	share->most_bytes = MOST_BYTES / Max(limits->copies, 1);
	share->kept = 0;
	for (i = 1; i <= share->sources; i++)
		share->kept += share->bytes[i];
	share->kept = Min(share->kept, share->most_bytes);
	if (share->most > 0)
		share->joined += share->kept * limits->copies;
}

/* ---- which rows are kept ---- */

typedef struct ranked_row
{
	uint64		digest;
	Size		size;
} ranked_row;

#define ST_SORT sort_ranked
#define ST_ELEMENT_TYPE ranked_row
#define ST_COMPARE(a, b) \
	((a)->digest < (b)->digest ? -1 : (a)->digest > (b)->digest)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Kept rows have a digest below this one, or the same, for `ties` of them. */
typedef struct threshold
{
	uint64		digest;
	int64		ties;
} threshold;

/* The digest of a unit's n-th row in a source; equal rows differ in n. */
static uint64
digest_of(const dp_units_record *record, int64 n, uint64 seed)
{
	const MinimalTuple tuple = dp_bound_gather_tuple(record);

	return dp_units_rank(hash_bytes_extended((const unsigned char *) tuple,
											 (int) tuple->t_len, seed),
						 (uint64) n);
}

/*
 * Find the threshold that keeps at most `wanted` rows of a source and at most
 * `bytes` of them, which bounds memory where `wanted` does not.
 */
static threshold
find_threshold(dp_unit_rows *rows, const dp_units_layout *layout, int source,
			   int64 at, int64 wanted, Size bytes, uint64 seed)
{
	threshold	found = {0, 0};
	int64		most = Min(wanted, (int64) (bytes / LEAST_BYTES));
	int64		room = 2 * most + 64;
	ranked_row *ranked = palloc(sizeof(ranked_row) * room);
	const dp_units_record *record;
	int64		met = 0;
	int64		n = 0;
	int64		i;

	rewind_rows(rows, at);
	while ((record = gather_fetch_row(rows, layout, source)) != NULL)
	{
		if (n == room)
		{
			sort_ranked(ranked, n);
			n = most;
		}
		ranked[n].digest = digest_of(record, met++, seed);
		ranked[n++].size = dp_bound_gather_size(layout, record);
	}
	sort_ranked(ranked, n);
	for (i = 0; i < Min(n, most) && ranked[i].size <= bytes; i++)
	{
		bytes -= ranked[i].size;
		found.ties = i > 0 && ranked[i].digest == found.digest ?
			found.ties + 1 : 1;
		found.digest = ranked[i].digest;
	}
	pfree(ranked);
	return found;
}

static void
give_some(dp_unit_rows *rows, const dp_units_layout *layout, int source,
		  int64 at, threshold kept, uint64 seed, dp_gather_sink sink,
		  void *context)
{
	const dp_units_record *record;
	int64		met = 0;

	rewind_rows(rows, at);
	while ((record = gather_fetch_row(rows, layout, source)) != NULL)
	{
		uint64		digest = digest_of(record, met++, seed);

		if (digest < kept.digest ||
			(digest == kept.digest && kept.ties-- > 0))
			sink(context, source, dp_bound_gather_tuple(record));
	}
}

static void
give_all(dp_unit_rows *rows, const dp_units_layout *layout, int source,
		 int64 at, dp_gather_sink sink, void *context)
{
	const dp_units_record *record;

	rewind_rows(rows, at);
	while ((record = gather_fetch_row(rows, layout, source)) != NULL)
		sink(context, source, dp_bound_gather_tuple(record));
}

/*
 * unit_give
 *	  Give the sink the rows of a unit that are kept, by source.
 */
static void
unit_give(dp_unit_rows *rows, const dp_units_layout *layout,
		  const dp_unit_share *share, uint64 seed,
		  dp_gather_sink sink, void *context)
{
	Size		total = 0;
	Size		most;
	int64		at = 0;
	int			i;

	if (share->most == 0)
		return;
	for (i = 1; i <= share->sources; i++)
		total += share->bytes[i];
	most = total <= share->most_bytes ? share->most_bytes :
		share->most_bytes / share->sources;
	for (i = 1; i <= share->sources; at += share->counts[i++])
		if (share->counts[i] <= share->most && share->bytes[i] <= most)
			give_all(rows, layout, i, at, sink, context);
		else
			give_some(rows, layout, i, at,
					  find_threshold(rows, layout, i, at,
									 Min(share->counts[i], share->most), most,
									 seed),
					  seed, sink, context);
}

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
#define LEVELS (64 / DP_UNITS_PARTITION_BITS)

/* A store, and the partition of it that comes next. */
typedef struct level
{
	dp_units_store *store;
	int			next;
} level;

/* A partition in memory, sorted by unit. */
typedef struct loaded
{
	dp_units_sorted sorted;		/* no entries: nothing is loaded */
	int64		n;
	int64		at;				/* where the next unit begins */
} loaded;

struct dp_gather
{
	dp_units_layout layout;		/* named once a unit has bytes */
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
 * dp_units_gather_create
 *	  A gather without rows, of sources 1 to limits->sources.
 */
dp_gather *
dp_units_gather_create(const dp_gather_limits *limits)
{
	dp_gather  *gather = palloc0(sizeof(dp_gather));

	gather->layout.sized = true;
	gather->context = CurrentMemoryContext;
	gather->limits = *limits;
	gather->part = Min(Max(PART, limits->public * PUBLIC_SHARE), MOST_PART);
	gather->share.sources = limits->sources;
	gather->share.counts = palloc0(sizeof(int64) * (limits->sources + 1));
	gather->share.bytes = palloc0(sizeof(Size) * (limits->sources + 1));
	gather->name = palloc(DP_UNITS_UNIT_BYTES);
	dp_base_check_status(dp_noise_random_bytes(dp_base_source(),
											   gather->seeds,
											   sizeof(gather->seeds)),
						 "draw seeds");
	gather->levels[0].store = dp_units_store_create(&gather->layout, 0,
													STORED, PIECE);
	gather->depth = 1;
	return gather;
}

/*
 * dp_units_gather_add
 *	  One row of a source, and its unit, which is not NULL.  packed: by how
 *	  many bytes its values are longer than in the tuple.  A row of more than
 *	  DP_GATHER_ROW bytes would be left out.
 */
void
dp_units_gather_add(dp_gather *gather, int source, const dp_gather_unit *how,
					Datum unit, MinimalTuple tuple, Size packed)
{
	dp_units_record *record;
	uint64		key;
	Size		length;
	Size		size;

	if (!dp_units_read(how->way, how->varlena, unit, gather->seeds[0],
					   &key, gather->name, &length))
		return;
	size = offsetof(dp_units_record, words) + sizeof(uint64) +
		MAXALIGN(length) + MAXALIGN(tuple->t_len);
	/* no row is larger (rowsets/named_rows.c), and an error would reveal it */
	if (size > PIECE)
		return;
	record = dp_units_store_add(gather->levels[0].store, key, size);
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
gather_divide(dp_gather *gather, dp_units_store *store, int n)
{
	level	   *below = &gather->levels[gather->depth++];

	below->store = dp_units_store_divide(store, n, STORED_BELOW, PIECE);
	below->next = 0;
}

static void
load(dp_gather *gather, dp_units_store *store, int n)
{
	loaded	   *l = &gather->loaded;

	l->n = dp_units_sorted_load(&l->sorted, &gather->layout, store, n);
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
	unit_give(rows, &gather->layout, &gather->share,
			  gather->seeds[1], sink, context);
}

/*
 * The number of rows of the next unit; prefetches records of the units after
 * it.
 */
static int64
count_unit(const dp_gather *gather)
{
	const dp_units_layout *layout = &gather->layout;
	const loaded *l = &gather->loaded;
	const dp_units_entry *first = &l->sorted.entries[l->at];
	int64		left = l->n - l->at;
	int64		n;

	for (n = 1; n < left && first[n].key == first->key &&
		 (!layout->named ||
		  dp_units_compare(layout, first->record,
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
		dp_units_entry *first = &l->sorted.entries[l->at];
		dp_unit_rows rows = {first->record, first, count_unit(gather)};

		CHECK_FOR_INTERRUPTS();
		unit_weigh(&rows, &gather->layout, &gather->limits,
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
static dp_units_record *
gather_find_unit(const dp_gather *gather, dp_units_store *store, int n)
{
	dp_units_cursor cursor = {0};
	const dp_units_record *record;
	dp_units_record *found = NULL;

	dp_units_cursor_open(&cursor, store, n);
	while (found == NULL &&
		   (record = dp_units_cursor_fetch(&cursor)) != NULL)
	{
		ListCell   *lc;
		bool		known = false;

		foreach(lc, gather->done)
			known = known ||
				dp_units_compare(&gather->layout, lfirst(lc),
								 record) == 0;
		if (!known)
		{
			found = palloc(PIECE);
			memcpy(found, record, (char *) dp_bound_gather_tuple(record) -
				   (const char *) record);
		}
	}
	dp_units_cursor_close(&cursor);
	return found;
}

/*
 * Take the next unit of a partition that cannot be divided; false: none is
 * left.
 */
static bool
take_large(dp_gather *gather, dp_units_store *store, int n,
		   dp_gather_sink sink, void *context)
{
	dp_unit_rows rows = {gather_find_unit(gather, store, n)};

	if (rows.unit == NULL)
	{
		list_free_deep(gather->done);
		gather->done = NIL;
		return false;
	}
	rows.cursor.store = store;
	rows.cursor.partition = n;
	unit_weigh(&rows, &gather->layout, &gather->limits,
			   &gather->share);
	take_unit(gather, &rows, sink, context);
	dp_units_cursor_close(&rows.cursor);
	gather->done = lappend(gather->done, (void *) rows.unit);
	return true;
}

/* Drop the partition that was loaded, or taken unit by unit. */
static void
leave_partition(dp_gather *gather)
{
	level	   *top = &gather->levels[gather->depth - 1];

	if (gather->loaded.sorted.entries != NULL)
		dp_units_sorted_free(&gather->loaded.sorted);
	dp_units_store_empty(top->store, top->next++);
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
	if (n == DP_UNITS_PARTITIONS)
	{
		dp_units_store_drop(top->store);
		gather->depth--;
	}
	else if (dp_units_store_count(top->store, n) == 0)
		top->next++;
	else if (dp_units_store_bytes(top->store, n) <= LOADED)
		load(gather, top->store, n);
	else if (gather->depth < LEVELS &&
			 !dp_units_store_has_one_key(top->store, n))
	{
		top->next++;
		gather_divide(gather, top->store, n);
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
 * dp_units_gather_next
 *	  Give the sink the rows of the next units, one unit after the other and
 *	  each by source; false: there are no more.  To be called when all rows
 *	  were added.
 */
bool
dp_units_gather_next(dp_gather *gather, dp_gather_sink sink, void *context)
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
