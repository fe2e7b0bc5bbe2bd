/*
 * sorted.c
 *	  The records of one partition in memory, sorted.
 *
 * How much memory that takes is known beforehand: dp_units_sorted_need.
 * Filling it allocates nothing, raises nothing and checks for no interrupts,
 * so that threads may do it (partition.c).  Entries point at records where
 * these lie, so the partition must not be emptied while they are used.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "../../base/dp_base.h"
#include "units_internal.h"

#define BUCKET 4				/* entries, about */
#define FEW 24					/* entries that are sorted by insertion */
#define KEY_BITS 64

static inline int
sorted_compare_entries(const dp_units_entry *a, const dp_units_entry *b,
					   const dp_units_layout *layout)
{
	int			names;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	names = layout->named ?
		dp_units_compare(layout, a->record, b->record) : 0;
	if (names != 0)
		return names;
	return a->group < b->group ? -1 : a->group > b->group;
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE dp_units_entry
#define ST_COMPARE_ARG_TYPE const dp_units_layout
#define ST_COMPARE(a, b, layout) sorted_compare_entries(a, b, layout)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/* Records by the next bits of their keys, which are as good as random. */
typedef struct buckets
{
	int			shift;
	uint64		mask;
	uint32	   *starts;			/* of each; and the end of the last */
} buckets;

static int
bucket_bits(int64 n, int used)
{
	return Min((int) pg_ceil_log2_64(Max(n / BUCKET, 1)),
			   Max(KEY_BITS - used, 0));
}

static buckets
sorted_make_buckets(int64 n, int used, uint32 *starts)
{
	int			bits = bucket_bits(n, used);
	buckets		b;

	b.mask = (UINT64CONST(1) << bits) - 1;
	b.shift = Min(Max(KEY_BITS - used - bits, 0), KEY_BITS - 1);
	b.starts = memset(starts, 0, sizeof(uint32) * (b.mask + 2));
	return b;
}

static inline uint64
sorted_bucket_of(const buckets *b, const dp_units_record *record)
{
	return (record->key >> b->shift) & b->mask;
}

/* starts[i + 1]: how many records are in bucket i. */
static void
count_records(const dp_units_layout *layout, dp_units_chunk rest, buckets *b)
{
	const dp_units_record *record;

	while ((record = dp_units_chunk_take(layout, &rest)) != NULL)
		b->starts[sorted_bucket_of(b, record) + 1]++;
}

/* starts[i] becomes where bucket i ends. */
static void
place_records(const dp_units_layout *layout, dp_units_chunk rest, buckets *b,
			  dp_units_entry *entries)
{
	const dp_units_record *record;

	while ((record = dp_units_chunk_take(layout, &rest)) != NULL)
	{
		int			bucket = sorted_bucket_of(b, record);
		dp_units_entry *entry = &entries[b->starts[bucket]++];

		entry->key = record->key;
		entry->group = dp_units_group_of(layout, record);
		entry->record = record;
	}
}

/* Insertion sort, quicker than sort_entries for few entries. */
static void
sort_few(dp_units_entry *entries, int n, const dp_units_layout *layout)
{
	int			i;

	for (i = 1; i < n; i++)
	{
		dp_units_entry entry = entries[i];
		int			at = i;

		for (; at > 0 && sorted_compare_entries(&entries[at - 1], &entry,
												layout) > 0; at--)
			entries[at] = entries[at - 1];
		entries[at] = entry;
	}
}

/* Entries of all records in the chunks, by key, name and group. */
static void
sort_records(const dp_units_layout *layout, dp_units_sorted *sorted,
			 int nchunks, int64 n, int used)
{
	dp_units_entry *entries = sorted->entries;
	buckets		b = sorted_make_buckets(n, used, sorted->starts);
	int64		i;
	int			chunk;

	for (chunk = 0; chunk < nchunks; chunk++)
		count_records(layout, sorted->chunks[chunk], &b);
	for (i = 0; i <= b.mask; i++)
		b.starts[i + 1] += b.starts[i];
	Assert(b.starts[b.mask + 1] == n);
	for (chunk = 0; chunk < nchunks; chunk++)
		place_records(layout, sorted->chunks[chunk], &b, entries);
	for (i = 0; i <= b.mask; i++)
	{
		uint32		start = i > 0 ? b.starts[i - 1] : 0;
		uint32		number = b.starts[i] - start;

		if (number <= FEW)
			sort_few(entries + start, number, layout);
		else
			sort_entries(entries + start, number, layout);
	}
}

/* ---- memory ---- */

/* dp_units_sorted_need: what the records of a partition take. */
dp_units_need
dp_units_sorted_need(const dp_units_store *store, int n)
{
	dp_units_need need;

	need.entries = dp_units_store_count(store, n);
	need.chunks = dp_units_store_pieces(store, n, &need.stored);
	need.starts = (INT64CONST(1) << bucket_bits(need.entries,
												dp_units_store_used(store))) +
		1;
	return need;
}

/* dp_units_sorted_widen: to what suffices for either of two. */
void
dp_units_sorted_widen(dp_units_need *need, const dp_units_need *other)
{
	need->stored = Max(need->stored, other->stored);
	need->chunks = Max(need->chunks, other->chunks);
	need->entries = Max(need->entries, other->entries);
	need->starts = Max(need->starts, other->starts);
}

/* dp_units_sorted_bytes: the sum of what is needed. */
Size
dp_units_sorted_bytes(const dp_units_need *need)
{
	return need->stored + sizeof(dp_units_chunk) * need->chunks +
		sizeof(dp_units_entry) * need->entries + sizeof(uint32) * need->starts;
}

/* dp_units_sorted_make: memory for what is needed, in the current context. */
void
dp_units_sorted_make(dp_units_sorted *sorted, const dp_units_need *need)
{
	sorted->stored = palloc(need->stored);
	sorted->chunks = palloc(sizeof(dp_units_chunk) * need->chunks);
	sorted->entries = palloc(sizeof(dp_units_entry) * need->entries);
	sorted->starts = palloc(sizeof(uint32) * need->starts);
}

/*
 * dp_units_sorted_fill
 *	  Load the records of a partition, for which there is enough memory, sort
 *	  them, and return how many there are.  -1, with errno: the disk cannot be
 *	  read.  A thread may call it.
 */
int64
dp_units_sorted_fill(dp_units_sorted *sorted, const dp_units_layout *layout,
					 const dp_units_store *store, int n)
{
	int64		count = dp_units_store_count(store, n);
	Size		stored;
	int			nchunks = dp_units_store_pieces(store, n, &stored);

	if (!dp_units_store_fill(store, n, sorted->chunks, sorted->stored))
		return -1;
	sort_records(layout, sorted, nchunks, count, dp_units_store_used(store));
	return count;
}

/*
 * dp_units_sorted_load
 *	  The same with memory allocated for the partition.
 */
int64
dp_units_sorted_load(dp_units_sorted *sorted, const dp_units_layout *layout,
					 const dp_units_store *store, int n)
{
	dp_units_need need = dp_units_sorted_need(store, n);
	int64		count;

	dp_units_sorted_make(sorted, &need);
	count = dp_units_sorted_fill(sorted, layout, store, n);
	if (count < 0)
		dp_base_scratch_raise_read();
	return count;
}

/* dp_units_sorted_free: its memory; it has no entries then. */
void
dp_units_sorted_free(dp_units_sorted *sorted)
{
	pfree(sorted->stored);
	pfree(sorted->chunks);
	pfree(sorted->entries);
	pfree(sorted->starts);
	sorted->entries = NULL;
}
