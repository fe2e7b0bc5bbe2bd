/*
 * gather_unit.c
 *	  The rows of one unit that take part in a join.
 *
 * The number of rows that a join makes of a unit's is bounded by the product
 * of its numbers of rows, times what public rows make of each.  Levels that
 * group rows have bounds of their own: where each unit is one group, what is
 * below does not matter (block/unit_levels.c).  Joined rows must fit into
 * memory and never go to disk: a query could make any number of them of a few
 * rows, and whether the disk holds them would reveal something of these rows.
 * So a unit with too many loses rows of the sources where it has most: those
 * with the largest digests under a fresh seed.  A digest is of the row and its
 * number among the unit's own, so that every choice of as many rows is equally
 * likely, whatever other units have.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"

#include "gathered.h"

#define MOST_BYTES ((Size) 8 * 1024 * 1024) /* of one unit's rows */
#define LEAST_BYTES (sizeof(dp_bound_record) + SizeofMinimalTupleHeader)

/* ---- fetching rows ---- */

#define ANY 0					/* any source */

/* Start over; if there are entries, the source's begin at `at`. */
static void
rewind_rows(dp_unit_rows *rows, int64 at)
{
	rows->at = at;
	if (rows->entries == NULL)
		dp_bound_cursor_open(&rows->cursor, rows->cursor.store,
							 rows->cursor.partition);
}

static const dp_bound_record *
fetch_row(dp_unit_rows *rows, const dp_bound_layout *layout, int source)
{
	const dp_bound_record *record;

	if (rows->entries != NULL)
	{
		const dp_bound_entry *entry = &rows->entries[rows->at];

		if (rows->at == rows->n ||
			(source != ANY && entry->group != (uint64) source))
			return NULL;
		rows->at++;
		return entry->record;
	}
	while ((record = dp_bound_cursor_fetch(&rows->cursor)) != NULL)
		if ((source == ANY || record->group == source) &&
			dp_bound_compare_units(layout, record, rows->unit) == 0)
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
 * dp_bound_unit_weigh
 *	  Weigh the rows of a unit, and find how many of each source are kept.
 */
void
dp_bound_unit_weigh(dp_unit_rows *rows, const dp_bound_layout *layout,
					const dp_gather_limits *limits, dp_unit_share *share)
{
	Size		unit = MAXALIGN(dp_bound_gather_unit(rows->unit));
	const dp_bound_record *record;
	int			i;

	for (i = 1; i <= share->sources; i++)
	{
		share->counts[i] = 0;
		share->bytes[i] = 0;
	}
	rewind_rows(rows, 0);
	while ((record = fetch_row(rows, layout, ANY)) != NULL)
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
digest_of(const dp_bound_record *record, int64 n, uint64 seed)
{
	const MinimalTuple tuple = dp_bound_gather_tuple(record);

	return dp_bound_rank(hash_bytes_extended((const unsigned char *) tuple,
											 (int) tuple->t_len, seed),
						 (uint64) n);
}

/*
 * Find the threshold that keeps at most `wanted` rows of a source and at most
 * `bytes` of them, which bounds memory where `wanted` does not.
 */
static threshold
find_threshold(dp_unit_rows *rows, const dp_bound_layout *layout, int source,
			   int64 at, int64 wanted, Size bytes, uint64 seed)
{
	threshold	found = {0, 0};
	int64		most = Min(wanted, (int64) (bytes / LEAST_BYTES));
	int64		room = 2 * most + 64;
	ranked_row *ranked = palloc(sizeof(ranked_row) * room);
	const dp_bound_record *record;
	int64		met = 0;
	int64		n = 0;
	int64		i;

	rewind_rows(rows, at);
	while ((record = fetch_row(rows, layout, source)) != NULL)
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
give_some(dp_unit_rows *rows, const dp_bound_layout *layout, int source,
		  int64 at, threshold kept, uint64 seed, dp_gather_sink sink,
		  void *context)
{
	const dp_bound_record *record;
	int64		met = 0;

	rewind_rows(rows, at);
	while ((record = fetch_row(rows, layout, source)) != NULL)
	{
		uint64		digest = digest_of(record, met++, seed);

		if (digest < kept.digest ||
			(digest == kept.digest && kept.ties-- > 0))
			sink(context, source, dp_bound_gather_tuple(record));
	}
}

static void
give_all(dp_unit_rows *rows, const dp_bound_layout *layout, int source,
		 int64 at, dp_gather_sink sink, void *context)
{
	const dp_bound_record *record;

	rewind_rows(rows, at);
	while ((record = fetch_row(rows, layout, source)) != NULL)
		sink(context, source, dp_bound_gather_tuple(record));
}

/*
 * dp_bound_unit_give
 *	  Give the sink the rows of a unit that are kept, by source.
 */
void
dp_bound_unit_give(dp_unit_rows *rows, const dp_bound_layout *layout,
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
