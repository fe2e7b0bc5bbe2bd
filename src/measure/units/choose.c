/*
 * choose.c
 *	  The groups that each unit keeps: the kappa of least rank.
 *
 * A rank is a secret hash of unit and group, fresh for each run, so which
 * groups a unit keeps depends on the groups that it has rows in and on nothing
 * else (doc/theory.md T79).  If the groups that a unit keeps may have more
 * than T rows together, their rows are counted first, and then weighted or
 * chosen (T160).
 *
 * Where the sets of GROUPING SETS share weights, all of this is about the
 * crossings of rows, which are finer than groups.  Each gives its parts to its
 * group, in the order of ranks (T170).
 *
 * All rows of a unit are in one partition (partition.c), by unit and group
 * where memory can hold it.  A partition with one key is a unit with very many
 * rows: the ranks it keeps are found first, and then its rows are stored anew
 * by unit and group; where even those are too many, they are added up from the
 * disk.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "../../math/noise/dp_noise.h"
#include "dp_units.h"
#include "units_internal.h"

/* ----------------
 *		Sums of parts, of a thread's own: what its units add to each kept group
 *		and column.
 *
 * If the parts of a column are only added up, the sink may be given the sum of
 * several units' parts as one.  So a thread adds up what it chooses, and the
 * sums are handed over when all threads have ended.
 * ----------------
 */

/* Most numbers of a part. */
#define NUMBERS 3

/* Most bytes of the sums of all threads. */
#define SUMS ((Size) 2 * 1024 * 1024)

/* The sum for one group and column. */
typedef struct part_sum
{
	bool		any;			/* some unit has added one */
	dp_int128	numbers[NUMBERS];
} part_sum;

struct dp_units_sums
{
	const dp_units_spec *spec;
	part_sum   *sums;			/* columns of a group side by side */
};

/* Numbers of a column's part; -1: parts are not added up. */
static int
choose_numbers_of(dp_units_kind kind)
{
	switch (kind)
	{
		case DP_UNITS_PRESENT:
		case DP_UNITS_COUNT:
		case DP_UNITS_SUM:
			return 1;
		case DP_UNITS_MEAN:
			return 2;
		case DP_UNITS_SQUARES:
			return 3;
		default:
			return -1;
	}
}

static Size
sums_bytes(const dp_units_spec *spec)
{
	return sizeof(part_sum) * spec->groups * spec->ncolumns;
}

/*
 * sums_most
 *	  How many threads may have sums of their own: 0 if parts of some column
 *	  are not added up, or there are too many groups.
 */
static int
sums_most(const dp_units_spec *spec)
{
	int			i;

	for (i = 0; i < spec->ncolumns; i++)
		if (choose_numbers_of(spec->columns[i].kind) < 0)
			return 0;
	if (spec->law != NULL || spec->ncolumns == 0 || spec->groups == 0 ||
		spec->groups > (int64) (SUMS / sizeof(part_sum)))
		return 0;
	return (int) Min(SUMS / sums_bytes(spec), DP_UNITS_HELPERS);
}

/*
 * sums_create
 *	  Sums of no parts, in the current context; sums_most must be
 *	  above 0.
 */
static dp_units_sums *
sums_create(const dp_units_spec *spec)
{
	dp_units_sums *sums = palloc(sizeof(dp_units_sums));

	sums->spec = spec;
	sums->sums = palloc0(sums_bytes(spec));
	return sums;
}

/* sums_put: a dp_units_sink that threads may call. */
static void
sums_put(void *context, int64 group, int column,
		 const dp_units_part *part)
{
	const dp_units_sums *sums = context;
	int			n = choose_numbers_of(sums->spec->columns[column].kind);
	part_sum   *sum = &sums->sums[group * sums->spec->ncolumns + column];
	int			i;

	sum->any = true;
	for (i = 0; i < n; i++)
		sum->numbers[i] += part->numbers[i];
}

/* sums_give: to the sink of a job, each as a part; they are freed. */
static void
sums_give(dp_units_sums *sums, const dp_units_job *job)
{
	const part_sum *sum = sums->sums;
	dp_units_part part = {0};
	int64		group;
	int			column;

	for (group = 0; group < sums->spec->groups; group++)
		for (column = 0; column < sums->spec->ncolumns; column++, sum++)
		{
			if (!sum->any)
				continue;
			memcpy(part.numbers, sum->numbers, sizeof(sum->numbers));
			job->sink(job->context, group, column, &part);
		}
	pfree(sums->sums);
	pfree(sums);
}

#define AHEAD 24				/* entries whose record is fetched ahead */
#define FEW 24					/* groups that are kept in order */

/* One of the groups of a unit; its rows are entries start .. end - 1. */
typedef struct kept_group
{
	uint64		rank;
	uint64		group;
	int64		start;
	int64		end;
} kept_group;

typedef struct chooser
{
	const dp_units_job *job;
	kept_group *groups;			/* of the current unit */
	int64		room;			/* of groups */
	uint64	   *ranks;			/* of a unit with very many rows */
	int64		ranks_room;
	dp_units_share share;		/* of the current unit, if it may have more
								 * than T rows */
	bool		sharing;		/* it may */
	bool		counting;		/* its rows are not added up yet */
	dp_units_given given;		/* of the current unit, if it is asked */
	int			once;			/* crossed: what is given once in a group */
	bool		asked;
} chooser;

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
compare_ranks(const uint64 *a, const uint64 *b)
{
	return *a < *b ? -1 : *a > *b;
}

#define ST_SORT sort_ranks
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) compare_ranks(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static inline uint64
choose_rank_of(const chooser *c, const dp_units_record *record)
{
	return dp_units_rank(record->key, dp_units_group_of(c->job->layout,
														record));
}

/* ---- in memory ---- */

/* The rows of one of the unit's groups. */
static void
choose_use(chooser *c, dp_units_rows *rows)
{
	rows->share = c->sharing ? &c->share : NULL;
	rows->given = c->asked ? &c->given : NULL;
	if (c->counting)
		dp_units_rows_count(c->job, rows);
	else
		dp_units_rows_add_up(c->job, rows);
}

static void
choose_add_up(chooser *c, const dp_units_entry *entries, int64 n, bool ranked)
{
	dp_units_rows rows = {c->job->layout, entries, n};

	rows.group = entries[0].group;
	rows.ranked = ranked;
	choose_use(c, &rows);
}

/*
 * Whether the kept groups of a unit may have more than T rows together, which
 * choose_use then counts before they are added up.
 */
static bool
choose_begin_counting(chooser *c, int64 ngroups)
{
	const dp_units_spec *spec = c->job->spec;

	c->sharing = c->counting = ngroups * spec->rows > spec->total;
	if (!c->sharing)
		return false;
	c->share.kept = 0;
	if (c->share.left != NULL)
		memset(c->share.left, 0, sizeof(int64) * spec->ncolumns);
	return true;
}

static void
choose_end_counting(chooser *c)
{
	c->counting = false;
	dp_units_share_begin(c->job, &c->share);
}

/* How many things a unit is given once in a group, whatever its crossings. */
static int
choose_count_once(const dp_units_spec *spec)
{
	int			once = spec->crossed && spec->law != NULL ? 1 : 0;
	int			i;

	for (i = 0; i < spec->ncolumns && spec->crossed; i++)
		once += spec->columns[i].kind == DP_UNITS_PRESENT ? 1 : 0;
	return once;
}

/* A power of two, at least twice what a unit with so many groups is given. */
static uint64
choose_slots(int64 ngroups, int once)
{
	return pg_nextpower2_64(2 * (uint64) (ngroups * Max(once, 1)));
}

/*
 * dp_units_given_bytes
 *	  Most bytes of what a unit is given once.
 */
Size
dp_units_given_bytes(const dp_units_spec *spec)
{
	int			once = choose_count_once(spec);

	return once == 0 ? 0 : sizeof(uint64) * choose_slots(spec->kappa, once);
}

/* The unit keeps so many groups or crossings, at most kappa: empty the set. */
static void
choose_begin_giving(chooser *c, int64 ngroups)
{
	uint64		slots = choose_slots(ngroups, c->once);

	c->asked = c->once > 0;
	if (!c->asked)
		return;
	c->given.mask = slots - 1;
	memset(c->given.slots, 0, sizeof(uint64) * slots);
}

static kept_group *
choose_next_group(chooser *c, int64 n)
{
	if (n == c->room)
	{
		c->room *= 2;
		c->groups = repalloc_huge(c->groups, sizeof(kept_group) * c->room);
	}
	return &c->groups[n];
}

/*
 * Add one of the unit's groups to n that are kept, and return how many are
 * kept then.  If kappa is small these are the ones of least rank so far, in
 * order.
 */
static int64
keep_group(chooser *c, int64 n, const kept_group *group)
{
	int64		kappa = c->job->spec->kappa;
	int64		at = n;

	if (kappa > FEW)
	{
		*choose_next_group(c, n) = *group;
		return n + 1;
	}
	if (n == kappa && compare_kept(group, &c->groups[--at]) > 0)
		return n;
	for (; at > 0 && compare_kept(&c->groups[at - 1], group) > 0; at--)
		c->groups[at] = c->groups[at - 1];
	c->groups[at] = *group;
	return Min(n + 1, kappa);
}

static void
choose_add_groups(chooser *c, const dp_units_entry *entries, int64 ngroups)
{
	int64		i;

	for (i = 0; i < ngroups; i++)
		choose_add_up(c, entries + c->groups[i].start,
					  c->groups[i].end - c->groups[i].start, false);
}

/* Choose groups of one unit, from entries by group; a single one is kept. */
static void
choose_unit(chooser *c, const dp_units_entry *entries, int64 n)
{
	int64		kappa = c->job->spec->kappa;
	int64		ngroups = 0;
	kept_group	group;

	if (entries[0].group == entries[n - 1].group)
	{
		choose_add_up(c, entries, n, false);
		return;
	}
	for (group.start = 0; group.start < n; group.start = group.end)
	{
		group.group = entries[group.start].group;
		for (group.end = group.start + 1; group.end < n &&
			 entries[group.end].group == group.group; group.end++)
			;
		group.rank = dp_units_rank(entries[group.start].key, group.group);
		ngroups = keep_group(c, ngroups, &group);
	}
	if (ngroups > kappa || (kappa > FEW && c->job->layout->crossed))
		sort_kept(c->groups, ngroups);
	ngroups = Min(ngroups, kappa);
	choose_begin_giving(c, ngroups);
	if (choose_begin_counting(c, ngroups))
	{
		choose_add_groups(c, entries, ngroups);
		choose_end_counting(c);
	}
	choose_add_groups(c, entries, ngroups);
	c->sharing = c->asked = false;
}

/* Add up entries by unit and group; chosen: every group is kept. */
static void
choose_sorted(chooser *c, const dp_units_entry *entries, int64 n, bool chosen)
{
	const dp_units_layout *layout = c->job->layout;
	int64		start;
	int64		end;

	for (start = 0; start < n; start = end)
	{
		const dp_units_entry *first = &entries[start];

		for (end = start + 1; end < n && entries[end].key == first->key &&
			 (!layout->named ||
			  dp_units_compare(layout, entries[end].record,
							   first->record) == 0) &&
			 (!chosen || entries[end].group == first->group); end++)
			if (end + AHEAD < n)
				__builtin_prefetch(entries[end + AHEAD].record);
		if (chosen)
			choose_add_up(c, entries + start, end - start, true);
		else
			choose_unit(c, entries + start, end - start);
	}
}

/* dp_units_visitor: rows of units */
static void
choose_loaded(void *context, const dp_units_entry *entries, int64 n)
{
	choose_sorted(context, entries, n, false);
}

/* dp_units_visitor: rows of kept groups */
static void
add_loaded(void *context, const dp_units_entry *entries, int64 n)
{
	choose_sorted(context, entries, n, true);
}

/* ---- on disk ---- */

/*
 * The unit that comes after another one in a partition (NULL: the first), as
 * a copy of a record of it; NULL when there is none.  Different units hardly
 * ever share a key.
 */
static dp_units_record *
next_unit(const chooser *c, dp_units_store *store, int n,
		  const dp_units_record *after)
{
	const dp_units_layout *layout = c->job->layout;
	dp_units_cursor cursor = {NULL};
	const dp_units_record *record;
	dp_units_record *least = NULL;

	dp_units_cursor_open(&cursor, store, n);
	while ((record = dp_units_cursor_fetch(&cursor)) != NULL)
	{
		Size		size;

		if (after != NULL &&
			dp_units_compare(layout, record, after) <= 0)
			continue;
		if (least != NULL &&
			dp_units_compare(layout, record, least) >= 0)
			continue;
		size = dp_units_record_size(layout, record);
		least = memcpy(palloc(size), record, size);
	}
	dp_units_cursor_close(&cursor);
	return least;
}

/* Sort ranks, keep the kappa least distinct ones, and return how many. */
static int64
keep_least(chooser *c, int64 n)
{
	int64		kappa = c->job->spec->kappa;
	int64		distinct = 0;
	int64		i;

	sort_ranks(c->ranks, n);
	for (i = 0; i < n && distinct < kappa; i++)
		if (distinct == 0 || c->ranks[i] != c->ranks[distinct - 1])
			c->ranks[distinct++] = c->ranks[i];
	return distinct;
}

/*
 * Make room for one more rank after n, of at most 2 kappa + 64, and return how
 * many there are then.  *last: larger ones are not kept.
 */
static int64
choose_make_room(chooser *c, int64 n, uint64 *last)
{
	int64		kappa = c->job->spec->kappa;
	int64		most = 2 * kappa + 64;

	if (n == most)
	{
		n = keep_least(c, n);
		if (n == kappa)
			*last = c->ranks[kappa - 1];
		return n;
	}
	c->ranks_room = Min(Max(2 * c->ranks_room, 64), most);
	c->ranks = c->ranks == NULL ?
		palloc(sizeof(uint64) * c->ranks_room) :
		repalloc_huge(c->ranks, sizeof(uint64) * c->ranks_room);
	return n;
}

/*
 * The largest rank that the unit keeps, and how many it keeps.  Ranks of its
 * groups differ, as the rank is a bijection of the group, so at most kappa
 * groups are up to it.
 */
static uint64
last_rank(chooser *c, dp_units_store *store, int n,
		  const dp_units_record *unit, int64 *kept)
{
	dp_units_cursor cursor = {NULL};
	const dp_units_record *record;
	uint64		last = PG_UINT64_MAX;	/* larger ones are not kept */
	int64		ngroups = 0;

	dp_units_cursor_open(&cursor, store, n);
	while ((record = dp_units_cursor_fetch(&cursor)) != NULL)
	{
		uint64		rank = choose_rank_of(c, record);

		if (rank > last ||
			dp_units_compare(c->job->layout, record, unit) != 0)
			continue;
		if (ngroups == c->ranks_room)
			ngroups = choose_make_room(c, ngroups, &last);
		c->ranks[ngroups++] = rank;
	}
	dp_units_cursor_close(&cursor);
	*kept = keep_least(c, ngroups);
	return *kept > 0 ? c->ranks[*kept - 1] : 0;
}

/*
 * Add up rows of one unit, too many for memory: of one group, rarely of more.
 */
static void
add_up_large(void *context, dp_units_store *store, int n)
{
	chooser    *c = context;
	const dp_units_layout *layout = c->job->layout;
	uint64		after = 0;
	bool		first = true;
	bool		more = true;

	while (more)
	{
		dp_units_rows rows = {layout};
		const dp_units_record *record;

		more = false;
		rows.ranked = true;
		dp_units_cursor_open(&rows.cursor, store, n);
		while ((record = dp_units_cursor_fetch(&rows.cursor)) != NULL)
		{
			uint64		group = dp_units_group_of(layout, record);

			if ((first || group > after) && (!more || group < rows.group))
			{
				rows.group = group;
				more = true;
			}
		}
		if (more)
			choose_use(c, &rows);
		after = rows.group;
		first = false;
		dp_units_cursor_close(&rows.cursor);
	}
}

/* Add up the rows of a unit with ranks up to `last`, stored anew by group. */
static void
choose_add_kept(chooser *c, dp_units_store *store, int n,
				const dp_units_record *unit, uint64 last)
{
	const dp_units_layout *layout = c->job->layout;
	const dp_units_visitor visitor = {layout, add_loaded, add_up_large, c};
	dp_units_store *groups = dp_units_store_create(layout, 0,
												   DP_UNITS_DIVIDED,
												   DP_UNITS_DIVIDED_PIECE);
	dp_units_record *copy = palloc(dp_units_record_most(layout));
	dp_units_cursor cursor = {NULL};
	const dp_units_record *record;

	dp_units_cursor_open(&cursor, store, n);
	while ((record = dp_units_cursor_fetch(&cursor)) != NULL)
	{
		Size		size = dp_units_record_size(layout, record);
		uint64		rank = choose_rank_of(c, record);

		if (rank > last || dp_units_compare(layout, record, unit) != 0)
			continue;
		memcpy(copy, record, size);
		copy->key = rank;
		dp_units_store_put(groups, copy, size);
	}
	dp_units_cursor_close(&cursor);
	pfree(copy);
	dp_units_visit(&visitor, groups);
}

/* Choose for one unit with very many rows. */
static void
choose_large_unit(chooser *c, dp_units_store *store, int n,
				  const dp_units_record *unit)
{
	int64		ngroups;
	uint64		last = last_rank(c, store, n, unit, &ngroups);

	choose_begin_giving(c, ngroups);
	if (choose_begin_counting(c, ngroups))
	{
		choose_add_kept(c, store, n, unit, last);
		choose_end_counting(c);
	}
	choose_add_kept(c, store, n, unit, last);
	c->sharing = c->asked = false;
}

/* dp_units_visitor: rows of units */
static void
choose_large(void *context, dp_units_store *store, int n)
{
	dp_units_record *unit = NULL;

	while ((unit = next_unit(context, store, n, unit)) != NULL)
		choose_large_unit(context, store, n, unit);
}

/* ---- threads ---- */

/* A chooser for a thread. */
typedef struct helper
{
	chooser		chooser;
	dp_units_job job;			/* the sink: sums of its own */
} helper;

/* Room for units that keep up to FEW groups; for what is given once, all. */
static void
choose_make_groups(chooser *c)
{
	const dp_units_spec *spec = c->job->spec;

	c->room = 64;
	c->groups = palloc(sizeof(kept_group) * c->room);
	c->once = choose_count_once(spec);
	c->given.slots = palloc_extended(Max(dp_units_given_bytes(spec), 1),
									 MCXT_ALLOC_HUGE);
}

static void
choose_free_groups(chooser *c)
{
	pfree(c->groups);
	pfree(c->given.slots);
}

/*
 * Make choosers for threads, and return how many: none if choosing may
 * allocate (keep_group) or units are bytes.
 */
static int
make_helpers(const dp_units_job *job, helper *helpers, void **contexts)
{
	int			n = Min(job->spec->helpers, sums_most(job->spec));
	int			i;

	if (job->layout->named || job->spec->kappa > FEW)
		return 0;
	for (i = 0; i < n; i++)
	{
		memset(&helpers[i], 0, sizeof(helper));
		helpers[i].job = *job;
		helpers[i].job.sink = sums_put;
		helpers[i].job.context = sums_create(job->spec);
		helpers[i].chooser.job = &helpers[i].job;
		choose_make_groups(&helpers[i].chooser);
		contexts[i] = &helpers[i].chooser;
	}
	return n;
}

/* Give the sink what they have added up. */
static void
end_helpers(const dp_units_job *job, helper *helpers, int n)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		sums_give(helpers[i].job.context, job);
		choose_free_groups(&helpers[i].chooser);
	}
}

/* ---- entry point ---- */

/*
 * dp_units_choose
 *	  Give the sink what every unit adds; the store is dropped.
 */
void
dp_units_choose(const dp_units_job *job, dp_units_store *store)
{
	helper		helpers[DP_UNITS_HELPERS];
	void	   *contexts[DP_UNITS_HELPERS];
	chooser		c = {job};
	dp_units_visitor visitor = {job->layout, choose_loaded, choose_large, &c,
	contexts};

	choose_make_groups(&c);
	c.share.left = palloc(sizeof(int64) * Max(job->spec->ncolumns, 1));
	c.share.wanted = palloc(sizeof(int64) * Max(job->spec->ncolumns, 1));
	visitor.nhelpers = make_helpers(job, helpers, contexts);
	dp_units_visit(&visitor, store);
	end_helpers(job, helpers, visitor.nhelpers);
	choose_free_groups(&c);
	pfree(c.share.left);
	pfree(c.share.wanted);
	if (c.ranks != NULL)
		pfree(c.ranks);
}
