/*
 * partition.c
 *	  Records of a store, partition by partition, in bounded memory.
 *
 * All records with one key are in one partition.  A partition that memory can
 * hold is sorted by key, name and group.  A larger one is divided by further
 * bits of its keys.  Where all keys are the same it is left to the visitor,
 * who reads it from the disk.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "records.h"

#define LOADED ((Size) 4 * 1024 * 1024) /* bytes of records */
#define BUCKET 4				/* entries, about */
#define FEW 24					/* entries that are sorted by insertion */
#define KEY_BITS 64

static inline int
compare_entries(const dp_bound_entry *a, const dp_bound_entry *b,
				const dp_bound_layout *layout)
{
	int			names;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	names = layout->named ?
		dp_bound_compare_units(layout, a->record, b->record) : 0;
	if (names != 0)
		return names;
	return a->group < b->group ? -1 : a->group > b->group;
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE dp_bound_entry
#define ST_COMPARE_ARG_TYPE const dp_bound_layout
#define ST_COMPARE(a, b, layout) compare_entries(a, b, layout)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Records by the next bits of their keys, which are as good as random. */
typedef struct buckets
{
	int			shift;
	uint64		mask;
	uint32	   *starts;			/* of each; and the end of the last */
} buckets;

static buckets
make_buckets(int64 n, int used)
{
	int			bits = Min((int) pg_ceil_log2_64(Max(n / BUCKET, 1)),
						   Max(KEY_BITS - used, 0));
	buckets		b;

	b.mask = (UINT64CONST(1) << bits) - 1;
	b.shift = Min(Max(KEY_BITS - used - bits, 0), KEY_BITS - 1);
	b.starts = palloc0(sizeof(uint32) * (b.mask + 2));
	return b;
}

static inline uint64
bucket_of(const buckets *b, const dp_bound_record *record)
{
	return (record->key >> b->shift) & b->mask;
}

/* starts[i + 1]: how many records are in bucket i. */
static void
count_records(const dp_bound_layout *layout, dp_bound_chunk rest, buckets *b)
{
	const dp_bound_record *record;

	while ((record = dp_bound_chunk_take(layout, &rest)) != NULL)
		b->starts[bucket_of(b, record) + 1]++;
}

/* starts[i] becomes where bucket i ends. */
static void
place_records(const dp_bound_layout *layout, dp_bound_chunk rest, buckets *b,
			  dp_bound_entry *entries)
{
	const dp_bound_record *record;

	while ((record = dp_bound_chunk_take(layout, &rest)) != NULL)
	{
		dp_bound_entry *entry = &entries[b->starts[bucket_of(b, record)]++];

		entry->key = record->key;
		entry->group = dp_bound_group_of(layout, record);
		entry->record = record;
	}
}

/* As sort_entries does; quicker where they are few. */
static void
sort_few(dp_bound_entry *entries, int n, const dp_bound_layout *layout)
{
	int			i;

	for (i = 1; i < n; i++)
	{
		dp_bound_entry entry = entries[i];
		int			at = i;

		for (; at > 0 && compare_entries(&entries[at - 1], &entry,
										 layout) > 0; at--)
			entries[at] = entries[at - 1];
		entries[at] = entry;
	}
}

/* Entries of all records in the chunks, by key, name and group. */
static dp_bound_entry *
sort_records(const dp_bound_layout *layout, const dp_bound_chunk *chunks,
			 int nchunks, int64 n, int used)
{
	dp_bound_entry *entries = palloc(sizeof(dp_bound_entry) * Max(n, 1));
	buckets		b = make_buckets(n, used);
	int64		i;
	int			chunk;

	for (chunk = 0; chunk < nchunks; chunk++)
		count_records(layout, chunks[chunk], &b);
	for (i = 0; i <= b.mask; i++)
		b.starts[i + 1] += b.starts[i];
	Assert(b.starts[b.mask + 1] == n);
	for (chunk = 0; chunk < nchunks; chunk++)
		place_records(layout, chunks[chunk], &b, entries);
	for (i = 0; i <= b.mask; i++)
	{
		uint32		start = i > 0 ? b.starts[i - 1] : 0;
		uint32		number = b.starts[i] - start;

		if (number <= FEW)
			sort_few(entries + start, number, layout);
		else
			sort_entries(entries + start, number, layout);
	}
	pfree(b.starts);
	return entries;
}

static void
visit_loaded(const dp_bound_visitor *visitor, dp_bound_store *store, int n)
{
	int64		count = dp_bound_store_count(store, n);
	int			nchunks;
	char	   *room;
	dp_bound_chunk *chunks = dp_bound_store_load(store, n, &nchunks, &room);
	dp_bound_entry *entries = sort_records(visitor->layout, chunks, nchunks,
										   count, dp_bound_store_used(store));

	visitor->loaded(visitor->context, entries, count);
	pfree(entries);
	pfree(room);
	pfree(chunks);
	dp_bound_store_empty(store, n);
}

/* Have all records of the partition one key? */
static bool
has_one_key(dp_bound_store *store, int n)
{
	dp_bound_cursor cursor = {NULL};
	const dp_bound_record *record;
	uint64		key = 0;
	bool		first = true;
	bool		one = true;

	dp_bound_cursor_open(&cursor, store, n);
	while (one && (record = dp_bound_cursor_fetch(&cursor)) != NULL)
	{
		one = first || record->key == key;
		key = record->key;
		first = false;
	}
	dp_bound_cursor_close(&cursor);
	return one;
}

static dp_bound_store *
divide(const dp_bound_visitor *visitor, dp_bound_store *store, int n)
{
	dp_bound_store *parts = dp_bound_store_create(visitor->layout,
												  dp_bound_store_used(store),
												  DP_BOUND_DIVIDED,
												  DP_BOUND_DIVIDED_PIECE);
	dp_bound_cursor cursor = {NULL};
	const dp_bound_record *record;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		dp_bound_store_put(parts, record,
						   dp_bound_record_size(visitor->layout, record));
	dp_bound_cursor_close(&cursor);
	dp_bound_store_empty(store, n);
	return parts;
}

/*
 * dp_bound_visit
 *	  Show a visitor all records of a store, which is dropped: those with one
 *	  key together, and the keys in order.
 */
void
dp_bound_visit(const dp_bound_visitor *visitor, dp_bound_store *store)
{
	int			n;

	for (n = 0; n < DP_BOUND_PARTITIONS; n++)
	{
		int64		bytes = dp_bound_store_bytes(store, n);

		CHECK_FOR_INTERRUPTS();
		if (bytes == 0)
			continue;
		if (bytes <= LOADED)
			visit_loaded(visitor, store, n);
		else if (has_one_key(store, n))
		{
			visitor->large(visitor->context, store, n);
			dp_bound_store_empty(store, n);
		}
		else
			dp_bound_visit(visitor, divide(visitor, store, n));
	}
	dp_bound_store_drop(store);
}
