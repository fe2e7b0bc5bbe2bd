/*
 * votes.c
 *	  Groups whose names are not public: those that enough units keep are
 *	  released, with what their units add to them.
 *
 * A unit casts one vote for each group that it keeps, whether or not its rows
 * count in any column, and adds its parts.  Votes and parts are records again,
 * in partitions by a secret hash of the group's number and name, so memory
 * does not grow with the number of groups; which of them are released is drawn
 * group by group (doc/theory.md T104).  Names are compared as bytes: two
 * groups with one hash stay two.
 *
 * Only released groups leave this file, in the order of their hashes.  If a
 * unit may keep several, all are decided first, and the released ones wait in
 * a store of their own, since the noise of values depends on how many there
 * are (T105).
 */
#include "postgres.h"

#include "miscadmin.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "dp_units.h"
#include "units_internal.h"

#define STORED ((Size) 16 * 1024 * 1024)
#define PIECE (64 * 1024)
#define VOTE 0					/* what a record is; columns count from 1 */

struct dp_units_votes
{
	const dp_units_spec *spec;
	dp_units_layout layout;		/* names take the place of units */
	uint64		seed;
	dp_units_store *store;
	dp_units_record *record;	/* room for one, with the current name */
	bool		has_name;
	const dp_units_releaser *teller;
	void	   *context;
	dp_units_store *waiting;	/* released groups, while others are decided */
	int64		told;			/* groups in it */
	bool		decided;		/* every group that is visited is released */
};

/* ---- parts as words ---- */

static int
votes_words_of(dp_units_kind kind)
{
	switch (kind)
	{
		case DP_UNITS_PRESENT:
		case DP_UNITS_COUNT:
		case DP_UNITS_SUM:
		case DP_UNITS_VALUES:
		case DP_UNITS_DISTINCT:
			return 2;
		case DP_UNITS_MEAN:
			return 4;
		case DP_UNITS_SQUARES:
			return 6;
		case DP_UNITS_PAIRS:
			return 2 * DP_PAIR_CELLS;
		case DP_UNITS_ROWS:
		case DP_UNITS_TOTALS:
		case DP_UNITS_SIZE:
			break;				/* not of groups with names (bounder.c) */
	}
	return 0;
}

/* What the words of a part are. */
static void *
votes_bytes_of(dp_units_kind kind, dp_units_part *part)
{
	return kind == DP_UNITS_DISTINCT ? (void *) part->digest : part->numbers;
}

/* ---- casting ---- */

/*
 * dp_units_votes_create
 *	  An empty set of votes, in the current context.
 */
dp_units_votes *
dp_units_votes_create(const dp_units_spec *spec)
{
	dp_units_votes *votes = palloc0(sizeof(dp_units_votes));
	int			words = 0;
	int			i;

	for (i = 0; i < spec->ncolumns; i++)
		words = Max(words, votes_words_of(spec->columns[i].kind));
	votes->spec = spec;
	votes->layout.named = true;
	votes->layout.words = 1 + words;
	votes->record = palloc0(dp_units_record_most(&votes->layout));
	dp_base_check_status(dp_noise_random_bytes(dp_base_source(),
											   &votes->seed,
											   sizeof(votes->seed)),
						 "draw seeds");
	votes->store = dp_units_store_create(&votes->layout, 0, STORED, PIECE);
	return votes;
}

/* dp_units_votes_begin: of another unit and group, whose name is to come. */
void
dp_units_votes_begin(dp_units_votes *votes)
{
	votes->has_name = false;
}

/* Order of public numbers and names; a name is its length and its bytes. */
static int
votes_compare_names(int32 a_group, const uint64 *a, int32 b_group,
					const uint64 *b)
{
	if (a_group != b_group)
		return a_group < b_group ? -1 : 1;
	if (a[0] != b[0])
		return a[0] < b[0] ? -1 : 1;
	return memcmp(a + 1, b + 1, a[0]);
}

/*
 * dp_units_votes_name
 *	  The group's public number and name; of several the least counts.
 */
void
dp_units_votes_name(dp_units_votes *votes, int32 group, const uint64 *name)
{
	dp_units_record *record = votes->record;
	uint64	   *own = record->words + votes->layout.words;

	if (votes->has_name &&
		votes_compare_names(group, name, record->group, own) >= 0)
		return;
	record->group = group;
	own[0] = name[0];
	memcpy(own + 1, name + 1, name[0]);
	votes->has_name = true;
}

static void
put(dp_units_votes *votes, uint64 what)
{
	votes->record->words[0] = what;
	dp_units_store_put(votes->store, votes->record,
					   dp_units_record_size(&votes->layout, votes->record));
}

/*
 * dp_units_votes_end_names
 *	  All names of the group are known: return a hash of the least.
 */
uint64
dp_units_votes_end_names(dp_units_votes *votes)
{
	dp_units_record *record = votes->record;
	const uint64 *name = record->words + votes->layout.words;
	dp_value_bytes bytes;

	Assert(votes->has_name);
	bytes.bytes = (const char *) (name + 1);
	bytes.length = (int64) name[0];
	record->key = dp_units_rank(dp_units_hash(&bytes, votes->seed),
								(uint64) (uint32) record->group);
	return record->key;
}

/* dp_units_votes_cast: the unit keeps the group that was named. */
void
dp_units_votes_cast(dp_units_votes *votes)
{
	put(votes, VOTE);
}

/* dp_units_votes_put: a part of the unit in that group (dp_units_sink). */
void
dp_units_votes_put(void *context, int64 group, int column,
				   const dp_units_part *part)
{
	dp_units_votes *votes = context;
	dp_units_kind kind = votes->spec->columns[column].kind;

	memcpy(votes->record->words + 1,
		   votes_bytes_of(kind, unconstify(dp_units_part *, part)),
		   sizeof(uint64) * votes_words_of(kind));
	put(votes, (uint64) column + 1);
}

/* ---- releasing ---- */

static bool
is_told(const dp_units_votes *votes, int64 units)
{
	bool		told = false;

	if (votes->decided)
		return true;
	dp_base_check_status(dp_noise_key_is_released(dp_base_source(),
												  votes->spec->law,
												  (uint64) units, &told),
						 "decide about a group key");
	return told;
}

static void
begin_group(dp_units_votes *votes, const dp_units_record *record)
{
	const uint64 *name = record->words + votes->layout.words;

	CHECK_FOR_INTERRUPTS();
	votes->told++;
	if (votes->waiting == NULL)
		votes->teller->begin(votes->context, record->group,
						 (const char *) (name + 1), (Size) name[0]);
}

static void
give_part(const dp_units_votes *votes, const dp_units_record *record)
{
	int			column = (int) record->words[0] - 1;
	dp_units_part part = {0};
	dp_units_kind kind;

	if (votes->waiting != NULL)
	{
		dp_units_store_put(votes->waiting, record,
						   dp_units_record_size(&votes->layout, record));
		return;
	}
	if (record->words[0] == VOTE)
		return;
	kind = votes->spec->columns[column].kind;
	memcpy(votes_bytes_of(kind, &part), record->words + 1,
		   sizeof(uint64) * votes_words_of(kind));
	votes->teller->sink(votes->context, record->group, column, &part);
}

static void
end_group(const dp_units_votes *votes, const dp_units_record *record)
{
	if (votes->waiting == NULL)
		votes->teller->end(votes->context, record->group);
}

static int
votes_compare_groups(const dp_units_votes *votes, const dp_units_record *a,
					 const dp_units_record *b)
{
	int			names = dp_units_compare(&votes->layout, a, b);

	if (names != 0)
		return names;
	return a->group < b->group ? -1 : a->group > b->group;
}

/* dp_units_visitor: groups side by side */
static void
release_loaded(void *context, const dp_units_entry *entries, int64 n)
{
	dp_units_votes *votes = context;
	int64		start;
	int64		end;
	int64		i;

	for (start = 0; start < n; start = end)
	{
		const dp_units_record *first = entries[start].record;
		int64		units = 0;

		for (end = start; end < n &&
			 votes_compare_groups(votes, entries[end].record,
								  first) == 0; end++)
			units += entries[end].record->words[0] == VOTE ? 1 : 0;
		if (!is_told(votes, units))
			continue;
		begin_group(votes, first);
		for (i = start; i < end; i++)
			give_part(votes, entries[i].record);
		end_group(votes, first);
	}
}

/*
 * The group that comes after another one (NULL: the first), as a copy of a
 * record of it, with its votes; NULL when there is none.  There is hardly ever
 * a second.
 */
static dp_units_record *
votes_next_group(const dp_units_votes *votes, dp_units_store *store, int n,
				 const dp_units_record *after, int64 *units)
{
	dp_units_cursor cursor = {NULL};
	const dp_units_record *record;
	dp_units_record *least = NULL;

	*units = 0;
	dp_units_cursor_open(&cursor, store, n);
	while ((record = dp_units_cursor_fetch(&cursor)) != NULL)
	{
		int			order;

		if (after != NULL && votes_compare_groups(votes, record, after) <= 0)
			continue;
		order = least == NULL ? -1 : votes_compare_groups(votes, record,
														  least);
		if (order < 0)
		{
			Size		size = dp_units_record_size(&votes->layout, record);

			least = memcpy(palloc(size), record, size);
			*units = 0;
		}
		if (order <= 0)
			*units += record->words[0] == VOTE ? 1 : 0;
	}
	dp_units_cursor_close(&cursor);
	return least;
}

/* dp_units_visitor: groups with one hash, too large for memory */
static void
tell_large(void *context, dp_units_store *store, int n)
{
	dp_units_votes *votes = context;
	dp_units_record *group = NULL;
	int64		units;

	while ((group = votes_next_group(votes, store, n, group, &units)) != NULL)
	{
		dp_units_cursor cursor = {NULL};
		const dp_units_record *record;

		if (!is_told(votes, units))
			continue;
		begin_group(votes, group);
		dp_units_cursor_open(&cursor, store, n);
		while ((record = dp_units_cursor_fetch(&cursor)) != NULL)
			if (votes_compare_groups(votes, record, group) == 0)
				give_part(votes, record);
		dp_units_cursor_close(&cursor);
		end_group(votes, group);
	}
}

/*
 * dp_units_votes_release
 *	  After all votes: draw which groups are released, and give them to the
 *	  teller.
 */
void
dp_units_votes_release(dp_units_votes *votes, const dp_units_releaser *teller,
					   void *context)
{
	const dp_units_visitor visitor = {&votes->layout, release_loaded,
	tell_large, votes};
	dp_units_store *waiting;

	votes->teller = teller;
	votes->context = context;
	votes->told = 0;
	if (votes->spec->kappa > 1)
		votes->waiting = dp_units_store_create(&votes->layout, 0, STORED,
											   PIECE);
	dp_units_visit(&visitor, votes->store);
	votes->store = NULL;
	waiting = votes->waiting;
	if (waiting == NULL)
		return;
	votes->waiting = NULL;
	votes->decided = true;
	teller->count(context, votes->told);
	dp_units_visit(&visitor, waiting);
}
