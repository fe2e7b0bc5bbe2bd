/*
 * fanout.c
 *	  How many joined rows one private row makes at most.
 *
 * Each public source contributes the largest number of its rows that agree in
 * the columns that the query equates with something known (block/join_keys.c;
 * doc/theory.md T97); these are multiplied.  So a lookup by a unique column
 * makes one row, which is known without looking at private rows, since public
 * rows are counted.  An outer join that may leave out rows, whatever the
 * choice of the others, adds one possibility.  Rows under EXISTS or NOT EXISTS
 * add none.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "run.h"

#define MOST PG_INT32_MAX		/* more counts as unbounded */

/*
 * dp_run_fanout_begin
 *	  Count the rows of a source, in the current context.
 */
dp_fanout_tally *
dp_run_fanout_begin(const dp_joined *source)
{
	dp_fanout_tally *tally = palloc0(sizeof(dp_fanout_tally));

	tally->source = source;
	tally->room = 64;
	tally->hashes = palloc(sizeof(uint64) * tally->room);
	return tally;
}

static uint64
hash_value(const Var *column, Datum value)
{
	TypeCacheEntry *cache =
	lookup_type_cache(column->vartype, TYPECACHE_HASH_EXTENDED_PROC_FINFO);

	return DatumGetUInt64(FunctionCall2Coll(&cache->hash_extended_proc_finfo,
											column->varcollid, value,
											Int64GetDatum(0)));
}

/*
 * dp_run_fanout_add
 *	  Add a row of the source.  One with a NULL in an equated column is joined
 *	  with nothing.
 */
void
dp_run_fanout_add(dp_fanout_tally *tally, const Datum *values,
				  const bool *nulls)
{
	uint64		hash = 0;
	ListCell   *lc;

	foreach(lc, tally->source->keys)
	{
		const Var  *column = lfirst_node(Var, lc);
		int			i = column->varattno - 1;

		if (nulls[i])
			return;
		hash = hash_combine64(hash, hash_value(column, values[i]));
	}
	if (tally->rows == tally->room)
	{
		tally->room *= 2;
		tally->hashes = repalloc_huge(tally->hashes,
									  sizeof(uint64) * tally->room);
	}
	tally->hashes[tally->rows++] = hash;
}

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * dp_run_fanout_end
 *	  The largest number of matching rows, at least 1, plus one if none is a
 *	  choice; frees the hashes. tally->most is the number without that choice.
 */
int64
dp_run_fanout_end(dp_fanout_tally *tally)
{
	int64		most = 1;
	int64		start = 0;
	int64		i;

	sort_hashes(tally->hashes, tally->rows);
	for (i = 0; i < tally->rows; i++)
	{
		if (tally->hashes[i] != tally->hashes[start])
			start = i;
		most = Max(most, i - start + 1);
	}
	pfree(tally->hashes);
	tally->most = tally->source->asked ? 1 : most;
	return tally->most + (tally->source->absent && !tally->source->asked);
}

/* dp_run_fanout_multiply: the product, at most MOST. */
int64
dp_run_fanout_multiply(int64 a, int64 b)
{
	return Min(a * b, MOST);
}

/*
 * dp_run_check_fanout
 *	  54000 if `fanout` joined rows of `record` bytes each, of a unit with one
 *	  row of each relation, exceed what is kept of one unit.
 */
void
dp_run_check_fanout(int64 fanout, Size record)
{
	int64		most = DP_GATHER_UNIT / record;

	if (fanout <= most)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too many rows may be joined with one private row"),
			 most == 0 ?
			 errdetail("An outer join may leave each of several relations "
					   "out: one row of each makes too many.  Nothing was "
					   "charged for it.") :
			 fanout == MOST ?
			 errdetail("At most " INT64_FORMAT " are possible.  Nothing was "
					   "charged for it.", most) :
			 errdetail("There may be " INT64_FORMAT ", by the numbers of "
					   "public rows and what they are joined by, and at most "
					   INT64_FORMAT " are possible.  Nothing was charged for "
					   "it.", fanout, most),
			 most == 0 ?
			 errhint("Join fewer relations by outer joins.") :
			 errhint("Join by more columns, with =, or filter the public "
					 "relations in subqueries of their own.")));
}

/*
 * dp_run_check_once
 *	  54000 if each row is a unit, so that it must make at most one joined row,
 *	  but may make several.
 */
void
dp_run_check_once(const dp_block *block, int64 fanout)
{
	if (fanout <= 1)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("a row of relation \"%s\" may be joined with several "
					"rows", get_rel_name(block->relid)),
			 errdetail("Each of its rows is a privacy unit, and no column "
					   "tells which.  Nothing was charged for it."),
			 errhint("Join by columns that are unique in what is joined, "
					 "with =; or ask its owner to protect it with a unit "
					 "column.")));
}

/* ---- what is lost ---- */

static bool
counts_rows(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->values)
		if (!((const dp_value *) lfirst(lc))->of_units)
			return true;
	return block->values == NIL;
}

static void
tell_keys_lost(int64 groups, int64 kept)
{
	static bool told = false;

	if (told || client_min_messages > NOTICE)
		return;
	told = true;
	ereport(NOTICE,
			(errmsg("a joined row may be in " INT64_FORMAT " groups, and a "
					"privacy unit counts in " INT64_FORMAT, groups, kept),
			 errdetail("The group key is a column of what is joined; in which "
					   "groups a unit counts is drawn at random."),
			 errhint("SET dp_pg.max_keys = " INT64_FORMAT " lets one row "
					 "count in all of them, with more noise.", groups)));
}

static void
tell_rows_lost(int64 rows, int64 kept, bool grouped)
{
	static bool told = false;

	if (told || client_min_messages > NOTICE)
		return;
	told = true;
	ereport(NOTICE,
			(errmsg("a row may be joined with " INT64_FORMAT " rows, and of a "
					"privacy unit " INT64_FORMAT " count%s", rows, kept,
					grouped ? " in each group" : ""),
			 grouped ? errdetail("Which of them count is drawn at random.") :
			 errdetail("What a unit has beyond that counts nowhere."),
			 errhint("SET dp_pg.max_rows = " INT64_FORMAT " lets all that "
					 "one row makes count, with more noise; or join with "
					 "rows that are unique in the join columns.",
					 rows)));
}

/* How many groups the joined rows of one private row can be in. */
static int64
spread_groups(const dp_release_spec *spec, int64 matched)
{
	int64		groups = 1;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		if (dp_block_key_spreads(spec->block, i))
			groups = dp_run_fanout_multiply(groups,
											dp_places_domain_size(
														spec->domains[i]));
	return Max(Min(matched, groups), 1);
}

/*
 * dp_run_tell_lost
 *	  Raise a NOTICE, once in a connection for each bound, if one private row
 *	  may be joined with more public rows than count of a unit.  `matched`: the
 *	  most rows it is joined with, at least 1.
 *
 * Levels that group and arms of UNION ALL are not considered.  The text
 * follows from public rows, the query, settings and declarations.
 */
void
dp_run_tell_lost(const dp_release_spec *spec, int64 matched)
{
	int64		groups;

	if (!spec->many || spec->block->single ||
		!dp_block_joins_plainly(spec->block->inner))
		return;
	groups = spread_groups(spec, matched);
	if (groups > spec->max_keys)
		tell_keys_lost(groups, spec->max_keys);
	if (counts_rows(spec->block) &&
		(matched + groups - 1) / groups > spec->max_rows)
		tell_rows_lost(matched, spec->max_rows, true);
}

/*
 * dp_run_tell_rows_lost
 *	  The same for rows without groups: `kept` rows of a unit count.
 */
void
dp_run_tell_rows_lost(const dp_block *block, int64 matched, int64 kept)
{
	if (dp_block_joins_plainly(block->inner) && matched > kept)
		tell_rows_lost(matched, kept, false);
}

/* Expected rows of a unit in levels that group them. */
#define ROWS_EXPECTED 100

/*
 * dp_run_tell_room
 *	  Raise a NOTICE, once in a connection and then at DEBUG1, if memory has
 *	  room for fewer rows of a unit than may count, or than are expected in
 *	  `levels` that group them. record: bytes of a row at all levels; fanout:
 *	  rows made of it by joining public ones.
 */
void
dp_run_tell_room(int64 fanout, Size record, int64 counted, bool levels)
{
	static bool told = false;
	int64		room = DP_GATHER_UNIT / record / fanout;
	int			level = told ? DEBUG1 : NOTICE;

	if ((room >= counted && !(levels && room < ROWS_EXPECTED)) ||
		client_min_messages > level)
		return;
	told = true;
	ereport(level,
			(errcode(ERRCODE_SUCCESSFUL_COMPLETION),
			 room >= counted ?
			 errmsg("there is room for " INT64_FORMAT " rows of a privacy "
					"unit", room) :
			 errmsg("there is room for " INT64_FORMAT " rows of a privacy "
					"unit, and " INT64_FORMAT " may count", room, counted),
			 errdetail("What is made of one unit's rows may take %d MB, "
					   "by the types of what is kept of each.  Of a unit with "
					   "more, rows are drawn at random.",
					   (int) (DP_GATHER_UNIT / (1024 * 1024))),
			 room >= counted ?
			 errhint("Cast computed texts and numerics to types with a length "
					 "or a precision, or leave columns out.") :
			 errhint("Cast computed texts and numerics to types with a length "
					 "or a precision, leave columns out, or lower "
					 "dp_pg.max_rows.")));
}
