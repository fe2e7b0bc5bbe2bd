/*
 * choose.c
 *	  The groups that each unit keeps: the kappa of least rank.
 *
 * A rank is a secret hash of unit and group, fresh for each run, so which
 * groups a unit keeps depends on the groups that it has rows in and on nothing
 * else (doc/theory.md T79).
 *
 * All rows of a unit are in one partition.  A partition that memory can hold
 * is sorted by unit and group.  A larger one is divided by further bits of its
 * keys.  Where all keys are the same it is a unit with very many rows: the
 * groups it keeps are found first, and then its rows are stored anew by unit
 * and group; where even those are too many, they are added up from the disk.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "records.h"

#define LOADED ((Size) 4 * 1024 * 1024) /* bytes of records */
#define BUCKET 4				/* entries, about */
#define KEY_BITS 64
#define DIVIDED ((Size) 1024 * 1024)	/* memory of what is divided */
#define PIECE (16 * 1024)

/* One of the groups of a unit; its rows are entries start .. end - 1. */
typedef struct kept_group
{
	uint64		rank;
	int32		group;
	int64		start;
	int64		end;
} kept_group;

typedef struct chooser
{
	const dp_bound_job *job;
	kept_group *groups;			/* of the unit at hand */
	int64		room;			/* for so many */
} chooser;

static void choose_partition(chooser *c, dp_bound_store *store, int n,
							 bool chosen);

static inline int
compare_kept(const kept_group *a, const kept_group *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->group < b->group ? -1 : a->group > b->group;
}

#define ST_SORT sort_kept
#define ST_ELEMENT_TYPE kept_group
#define ST_COMPARE(a, b) compare_kept(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static inline int
compare_entries(const dp_bound_entry *a, const dp_bound_entry *b,
				const dp_bound_layout *layout)
{
	int			units;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	units = dp_bound_compare_units(layout, a->record, b->record);
	if (units != 0)
		return units;
	return a->record->group < b->record->group ? -1 :
		a->record->group > b->record->group;
}

#define ST_SORT sort_entries
#define ST_ELEMENT_TYPE dp_bound_entry
#define ST_COMPARE_ARG_TYPE const dp_bound_layout
#define ST_COMPARE(a, b, layout) compare_entries(a, b, layout)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* ---- in memory ---- */

static void
add_up(const chooser *c, const dp_bound_entry *entries, int64 n, bool ranked)
{
	dp_bound_rows rows = {entries, n};

	rows.ranked = ranked;
	dp_bound_rows_add_up(c->job, &rows, entries[0].record->group);
}

static kept_group *
next_group(chooser *c, int64 n)
{
	if (n == c->room)
	{
		c->room *= 2;
		c->groups = repalloc_huge(c->groups, sizeof(kept_group) * c->room);
	}
	return &c->groups[n];
}

/* Entries of one unit, by group. */
static void
choose_unit(chooser *c, const dp_bound_entry *entries, int64 n)
{
	int64		kappa = c->job->spec->kappa;
	int64		ngroups = 0;
	int64		start;
	int64		end;
	int64		i;

	for (start = 0; start < n; start = end)
	{
		int32		group = entries[start].record->group;
		kept_group *kept = next_group(c, ngroups++);

		for (end = start + 1; end < n && entries[end].record->group == group;
			 end++)
			;
		kept->rank = dp_bound_rank(entries[start].key, (uint64) group);
		kept->group = group;
		kept->start = start;
		kept->end = end;
	}
	if (ngroups > kappa)
		sort_kept(c->groups, ngroups);
	for (i = 0; i < Min(ngroups, kappa); i++)
		add_up(c, entries + c->groups[i].start,
			   c->groups[i].end - c->groups[i].start, false);
}

/* Entries by unit and group; chosen: every group is kept. */
static void
choose_sorted(chooser *c, const dp_bound_entry *entries, int64 n, bool chosen)
{
	const dp_bound_layout *layout = c->job->layout;
	int64		start;
	int64		end;

	for (start = 0; start < n; start = end)
	{
		const dp_bound_record *first = entries[start].record;

		for (end = start + 1; end < n &&
			 entries[end].key == entries[start].key &&
			 dp_bound_compare_units(layout, entries[end].record,
									first) == 0 &&
			 (!chosen || entries[end].record->group == first->group); end++)
			;
		if (chosen)
			add_up(c, entries + start, end - start, true);
		else
			choose_unit(c, entries + start, end - start);
	}
}

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

/* Entries of all records in the chunks, by unit and group. */
static dp_bound_entry *
sort_records(const chooser *c, const dp_bound_chunk *chunks, int nchunks,
			 int64 n, int used)
{
	const dp_bound_layout *layout = c->job->layout;
	dp_bound_entry *entries = palloc(sizeof(dp_bound_entry) * Max(n, 1));
	dp_bound_entry *met = palloc(sizeof(dp_bound_entry) * Max(n, 1));
	buckets		b = make_buckets(n, used);
	int64		at = 0;
	int64		i;
	int			chunk;

	for (chunk = 0; chunk < nchunks; chunk++)
	{
		const char *from = chunks[chunk].records;
		const char *end = from + chunks[chunk].bytes;

		while (from < end)
		{
			const dp_bound_record *record = (const dp_bound_record *) from;

			met[at].key = record->key;
			met[at++].record = record;
			b.starts[bucket_of(&b, record) + 1]++;
			from += dp_bound_record_size(layout, record);
		}
	}
	Assert(at == n);
	for (i = 0; i <= b.mask; i++)
		b.starts[i + 1] += b.starts[i];
	for (i = 0; i < n; i++)
		entries[b.starts[(met[i].key >> b.shift) & b.mask]++] = met[i];
	/* Now starts[i] is where bucket i ends. */
	for (i = 0; i <= b.mask; i++)
	{
		uint32		start = i > 0 ? b.starts[i - 1] : 0;

		if (b.starts[i] - start > 1)
			sort_entries(entries + start, b.starts[i] - start, layout);
	}
	pfree(b.starts);
	pfree(met);
	return entries;
}

static void
choose_loaded(chooser *c, dp_bound_store *store, int n, bool chosen)
{
	int64		count = dp_bound_store_count(store, n);
	int			nchunks;
	char	   *room;
	dp_bound_chunk *chunks = dp_bound_store_load(store, n, &nchunks, &room);
	dp_bound_entry *entries = sort_records(c, chunks, nchunks, count,
										   dp_bound_store_used(store));

	choose_sorted(c, entries, count, chosen);
	pfree(entries);
	pfree(room);
	pfree(chunks);
	dp_bound_store_empty(store, n);
}

/* ---- on disk ---- */

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

/* Choose in every partition of a store, and drop it. */
static void
choose_all(chooser *c, dp_bound_store *store, bool chosen)
{
	int			i;

	for (i = 0; i < DP_BOUND_PARTITIONS; i++)
		choose_partition(c, store, i, chosen);
	dp_bound_store_drop(store);
}

static void
divide(chooser *c, dp_bound_store *store, int n, bool chosen)
{
	dp_bound_store *parts = dp_bound_store_create(c->job->layout,
												  dp_bound_store_used(store),
												  DIVIDED, PIECE);
	dp_bound_cursor cursor = {NULL};
	const dp_bound_record *record;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		dp_bound_store_put(parts, record,
						   dp_bound_record_size(c->job->layout, record));
	dp_bound_cursor_close(&cursor);
	dp_bound_store_empty(store, n);
	choose_all(c, parts, chosen);
}

/*
 * The unit that comes after another one in a partition (NULL: the first), as
 * a copy of a record of it; NULL when there is none.  Units with one key are
 * nearly always the same.
 */
static dp_bound_record *
next_unit(const chooser *c, dp_bound_store *store, int n,
		  const dp_bound_record *after)
{
	const dp_bound_layout *layout = c->job->layout;
	dp_bound_cursor cursor = {NULL};
	const dp_bound_record *record;
	dp_bound_record *least = NULL;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
	{
		Size		size;

		if (after != NULL &&
			dp_bound_compare_units(layout, record, after) <= 0)
			continue;
		if (least != NULL &&
			dp_bound_compare_units(layout, record, least) >= 0)
			continue;
		size = dp_bound_record_size(layout, record);
		least = memcpy(palloc(size), record, size);
	}
	dp_bound_cursor_close(&cursor);
	return least;
}

/* Mark the groups that the unit keeps. */
static void
mark_kept(chooser *c, dp_bound_store *store, int n,
		  const dp_bound_record *unit, bool *kept)
{
	const dp_bound_spec *spec = c->job->spec;
	dp_bound_cursor cursor = {NULL};
	const dp_bound_record *record;
	int64		ngroups = 0;
	int64		i;

	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
		if (!kept[record->group] &&
			dp_bound_compare_units(c->job->layout, record, unit) == 0)
		{
			kept_group *group = next_group(c, ngroups++);

			group->rank = dp_bound_rank(record->key, (uint64) record->group);
			group->group = record->group;
			kept[record->group] = true;
		}
	dp_bound_cursor_close(&cursor);
	sort_kept(c->groups, ngroups);
	for (i = spec->kappa; i < ngroups; i++)
		kept[c->groups[i].group] = false;
}

/* One unit with very many rows. */
static void
choose_large_unit(chooser *c, dp_bound_store *store, int n,
				  const dp_bound_record *unit)
{
	const dp_bound_layout *layout = c->job->layout;
	bool	   *kept = palloc0(sizeof(bool) * c->job->spec->groups);
	dp_bound_store *groups = dp_bound_store_create(layout, 0, DIVIDED, PIECE);
	dp_bound_record *copy = palloc(offsetof(dp_bound_record, words) +
								   sizeof(uint64) * (layout->words + 1) +
								   DP_BOUND_UNIT_BYTES);
	dp_bound_cursor cursor = {NULL};
	const dp_bound_record *record;

	mark_kept(c, store, n, unit, kept);
	dp_bound_cursor_open(&cursor, store, n);
	while ((record = dp_bound_cursor_fetch(&cursor)) != NULL)
	{
		Size		size = dp_bound_record_size(layout, record);

		if (!kept[record->group] ||
			dp_bound_compare_units(layout, record, unit) != 0)
			continue;
		memcpy(copy, record, size);
		copy->key = dp_bound_rank(record->key, (uint64) record->group);
		dp_bound_store_put(groups, copy, size);
	}
	dp_bound_cursor_close(&cursor);
	pfree(copy);
	pfree(kept);
	choose_all(c, groups, true);
}

/* Rows of one unit, too many for memory, of one group or, hardly, of more. */
static void
add_up_large(chooser *c, dp_bound_store *store, int n)
{
	int64		after = -1;
	bool		more = true;

	while (more)
	{
		dp_bound_rows rows = {NULL};
		const dp_bound_record *record;

		more = false;
		rows.ranked = true;
		dp_bound_cursor_open(&rows.cursor, store, n);
		while ((record = dp_bound_cursor_fetch(&rows.cursor)) != NULL)
			if (record->group > after && (!more || record->group < rows.group))
			{
				rows.group = record->group;
				more = true;
			}
		if (more)
			dp_bound_rows_add_up(c->job, &rows, rows.group);
		after = rows.group;
		dp_bound_cursor_close(&rows.cursor);
	}
}

static void
choose_large(chooser *c, dp_bound_store *store, int n, bool chosen)
{
	dp_bound_record *unit = NULL;

	if (chosen)
		add_up_large(c, store, n);
	else
		while ((unit = next_unit(c, store, n, unit)) != NULL)
			choose_large_unit(c, store, n, unit);
	dp_bound_store_empty(store, n);
}

static void
choose_partition(chooser *c, dp_bound_store *store, int n, bool chosen)
{
	int64		bytes = dp_bound_store_bytes(store, n);

	CHECK_FOR_INTERRUPTS();
	if (bytes == 0)
		return;
	if (bytes <= LOADED)
		choose_loaded(c, store, n, chosen);
	else if (has_one_key(store, n))
		choose_large(c, store, n, chosen);
	else
		divide(c, store, n, chosen);
}

/*
 * dp_bound_choose
 *	  Give the sink what every unit adds; the store is dropped.
 */
void
dp_bound_choose(const dp_bound_job *job, dp_bound_store *store)
{
	chooser		c = {job, NULL, 64};

	c.groups = palloc(sizeof(kept_group) * c.room);
	choose_all(&c, store, false);
	pfree(c.groups);
}
