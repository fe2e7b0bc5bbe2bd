/*
 * joined_rows.c
 *	  Rows that a block joins with private ones: how many one private row
 *	  makes, read in the session before the charge.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "../../base/dp_compat.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../rights/dp_rights.h"
#include "dp_joined.h"
#include "joined_internal.h"

/* ----------------
 *		How many joined rows one private row makes at most.
 *
 * Each public source contributes the largest number of its rows that agree in
 * the columns that the query equates with something known (rowsets/join.c;
 * doc/theory.md T97); these are multiplied.  So a lookup by a unique column
 * makes one row, which is known without looking at private rows, since public
 * rows are counted.  An outer join that may leave out rows, whatever the
 * choice of the others, adds one possibility.  Rows under EXISTS or NOT EXISTS
 * add none.
 * ----------------
 */

#define MOST PG_INT32_MAX		/* more counts as unbounded */

/*
 * fanout_begin
 *	  Count the rows of a source, in the current context.
 */
static dp_fanout_tally *
fanout_begin(const dp_joined *source)
{
	dp_fanout_tally *tally = palloc0(sizeof(dp_fanout_tally));

	tally->source = source;
	tally->room = 64;
	tally->hashes = palloc(sizeof(uint64) * tally->room);
	return tally;
}

static uint64
joined_rows_hash_value(const Var *column, Datum value)
{
	TypeCacheEntry *cache =
	lookup_type_cache(column->vartype, TYPECACHE_HASH_EXTENDED_PROC_FINFO);

	return DatumGetUInt64(FunctionCall2Coll(&cache->hash_extended_proc_finfo,
											column->varcollid, value,
											Int64GetDatum(0)));
}

/*
 * fanout_add
 *	  Add a row of the source.  One with a NULL in an equated column is joined
 *	  with nothing.
 */
static void
fanout_add(dp_fanout_tally *tally, const Datum *values,
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
		hash = hash_combine64(hash, joined_rows_hash_value(column, values[i]));
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
 * fanout_end
 *	  The largest number of matching rows, at least 1, plus one if none is a
 *	  choice; frees the hashes. tally->most is the number without that choice.
 */
static int64
fanout_end(dp_fanout_tally *tally)
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

/* dp_joined_fanout_multiply: the product, at most MOST. */
int64
dp_joined_fanout_multiply(int64 a, int64 b)
{
	return Min(a * b, MOST);
}

/*
 * dp_joined_check_fanout
 *	  54000 if `fanout` joined rows of `record` bytes each, of a unit with one
 *	  row of each relation, exceed what is kept of one unit.
 */
void
dp_joined_check_fanout(int64 fanout, Size record)
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
 * dp_joined_check_once
 *	  54000 if each row is a unit, so that it must make at most one joined row,
 *	  but may make several.
 */
void
dp_joined_check_once(const dp_block *block, int64 fanout)
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

/*
 * dp_joined_counts_rows
 *	  Whether some value depends on how many rows a unit has, as all do but
 *	  numbers of units.
 */
bool
dp_joined_counts_rows(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->values)
	{
		const dp_value *value = lfirst(lc);
		const Aggref *aggregate =
		dp_rowsets_aggregate(block, foreach_current_index(lc));

		/* dp_count(*) of units is added for an owner's min_units */
		if (value->kind != DP_AGG_COUNT || !value->of_units ||
			(aggregate->aggdistinct == NIL && !aggregate->aggstar))
			return true;
	}
	return false;
}

/* What lets all rows that are made of one private row count, as SETs. */
static char *
settings_text(int64 rows, int64 groups, const dp_unit_bounds *kept)
{
	StringInfoData text;

	initStringInfo(&text);
	if (rows > kept->total)
		appendStringInfo(&text, "SET dp_pg.max_total = " INT64_FORMAT "; ",
						 rows);
	if (groups > kept->keys)
		appendStringInfo(&text, "SET dp_pg.max_keys = " INT64_FORMAT "; ",
						 groups);
	if ((rows + groups - 1) / groups > kept->rows)
		appendStringInfo(&text, "SET dp_pg.max_rows = " INT64_FORMAT "; ",
						 (rows + groups - 1) / groups);
	return text.data;
}

/*
 * NOTICE, once in a connection for a query, if one private row makes more rows
 * or groups than count of a unit; rows 0: these do not matter.
 */
static void
notice_lost(const dp_block *block, int64 rows, int64 groups,
			const dp_unit_bounds *kept, bool grouped)
{
	const char *settings = settings_text(rows, groups, kept);

	if (settings[0] == '\0' || client_min_messages > NOTICE ||
		!dp_base_first_time(DP_FIRST_JOINED, block->fingerprint))
		return;
	ereport(NOTICE,
			(errmsg("a row of relation \"%s\" may be joined with "
					INT64_FORMAT " rows%s; %s",
					get_rel_name(block->relid), Max(rows, groups),
					grouped ? psprintf(" in " INT64_FORMAT " group%s", groups,
									   groups == 1 ? "" : "s") : "",
					dp_protect_bounds_text(kept, grouped)),
			 errdetail("What a unit has beyond that is left out; which groups "
					   "count is drawn at random."),
			 errhint("All that one row makes counts, with more noise, after "
					 "%s Or join with rows that are unique in the join "
					 "columns.", settings)));
}

/* How many groups the joined rows of one private row can be in. */
static int64
spread_groups(const dp_release_spec *spec, int64 matched)
{
	int64		groups = 1;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		if (dp_rowsets_key_spreads(spec->block, i))
			groups = dp_joined_fanout_multiply(groups,
											   dp_domains_size(
														spec->domains[i]));
	return Max(Min(matched, groups), 1);
}

/*
 * NOTICE, once in a connection for a query, if declared bounds allow more
 * joined rows of a unit than count: several private sources may have many rows
 * of it, of which none determines another's.
 */
static void
notice_multiplied(const dp_block *block, const dp_unit_bounds *kept,
				  bool grouped)
{
	StringInfoData names;
	const char *settings;
	int64		rows = 1;
	int			n = 0;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		const dp_relation *relation;
		int64		own;

		if (!OidIsValid(source->relid) || source->asked || source->given > 0)
			continue;
		relation = dp_rights_look_up(block, source->relid);
		if (dp_protect_prove_one_row(relation, NULL))
			continue;
		own = relation->max_total > 0 ? relation->max_total :
			relation->max_rows * Max(relation->max_keys, 1);
		if (own == 0)
			return;
		rows = dp_joined_fanout_multiply(rows, own);
		appendStringInfo(&names, "%s" INT64_FORMAT " of \"%s\"",
						 n++ == 0 ? "" : " with each of ", own,
						 get_rel_name(source->relid));
	}
	settings = settings_text(rows, kept->keys, kept);
	if (n < 2 || rows > PG_INT32_MAX || settings[0] == '\0' ||
		!dp_base_first_time(DP_FIRST_JOINED, block->fingerprint))
		return;
	ereport(NOTICE,
			(errmsg("a unit may have " INT64_FORMAT " joined rows; %s", rows,
					dp_protect_bounds_text(kept, grouped)),
			 errdetail("As declared, it has each of %s.  The larger bound "
					   "holds for the joined rows, and what a unit has beyond "
					   "is left out.", names.data),
			 errhint("All rows count, with more noise, after %s Or group the "
					 "rows of one relation by the unit before they are "
					 "joined.", settings)));
}

/*
 * dp_joined_notice_lost
 *	  Raise a NOTICE if one private row may be joined with more public rows
 *	  than count of a unit, or private rows with each other.  `matched`: the
 *	  most rows it is joined with, at least 1.
 *
 * Levels that group and arms of UNION ALL are not considered.  The text
 * follows from public rows, the query, settings and declarations.
 */
void
dp_joined_notice_lost(const dp_release_spec *spec, int64 matched)
{
	const dp_unit_bounds kept = {
		.rows = spec->max_rows,.keys = spec->max_keys,.total = spec->max_total
	};

	if (!spec->many || spec->block->single ||
		!dp_rowsets_joins_plainly(spec->block->inner))
		return;
	notice_lost(spec->block,
				dp_joined_counts_rows(spec->block) ? matched : 0,
				spread_groups(spec, matched), &kept, spec->nkeys > 0);
	if (client_min_messages <= NOTICE && dp_joined_counts_rows(spec->block))
		notice_multiplied(spec->block, &kept, spec->nkeys > 0);
}

/*
 * dp_joined_notice_rows_lost
 *	  The same for rows without groups: `kept` rows of a unit count.
 */
void
dp_joined_notice_rows_lost(const dp_block *block, int64 matched, int64 kept)
{
	const dp_unit_bounds bounds = {
		.rows = PG_INT64_MAX,.keys = 1,.total = kept
	};

	if (dp_rowsets_joins_plainly(block->inner))
		notice_lost(block, matched, 1, &bounds, false);
}

/* Expected rows of a unit in levels that group them. */
#define ROWS_EXPECTED 100

/*
 * dp_joined_notice_room
 *	  Raise a NOTICE, once in a connection and then at DEBUG1, if memory has
 *	  room for fewer rows of a unit than may count, or than are expected in
 *	  `levels` that group them. record: bytes of a row at all levels; fanout:
 *	  rows made of it by joining public ones.
 */
void
dp_joined_notice_room(int64 fanout, Size record, int64 counted, bool levels)
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
					 "dp_pg.max_total.")));
}

/* ----------------
 *		Memory for joined and grouped rows of a unit.
 *
 * It follows from the query and from the joined public rows, so the connection
 * knows it before anything is charged, and the process that reads enforces it
 * (units/gather.c).
 * ----------------
 */

#define MOST_COPIES (1024 * 1024)

/* Bytes assumed for the name of a unit. */
#define USUAL_UNIT 64

/* The private relations that a joined row may lack. */
static Bitmapset *
left_out(const dp_block *block)
{
	Bitmapset  *sources = NULL;
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *joined = lfirst(lc);

		if (OidIsValid(joined->relid) && joined->nullable)
			sources = bms_add_member(sources, joined->number);
	}
	return sources;
}

/*
 * dp_joined_set_levels
 *	  Fill in the levels of the limits.  row: bytes of a row that the block
 *	  aggregates; public: most bytes of a public row that it joins.
 */
void
dp_joined_set_levels(const dp_block *block, Size row, Size public,
					 dp_gather_limits *limits)
{
	List	   *levels = dp_rowsets_unit_levels(block);
	ListCell   *lc;

	limits->nlevels = list_length(levels);
	limits->levels = palloc0(sizeof(dp_gather_level) * limits->nlevels);
	limits->nullable = left_out(block);
	limits->copies = 0;
	foreach(lc, levels)
	{
		const dp_unit_level *level = lfirst(lc);
		dp_gather_level *to = &limits->levels[foreach_current_index(lc)];

		to->sources = level->leaves;
		to->record = level->group == 0 ? row :
			level->group + level->public * public;
		limits->copies += level->private *
			(level->spread ? limits->fanout : 1);
	}
	limits->copies = Min(limits->copies, MOST_COPIES);
}

/*
 * Rows of a level from one row of each source, where nullable sources may be
 * left out.
 */
static Size
choices_of(const dp_gather_level *level, const dp_gather_limits *limits)
{
	int			n = bms_num_members(bms_intersect(level->sources,
												  limits->nullable));

	return (Size) 1 << Min(n, pg_leftmost_one_pos64(DP_GATHER_UNIT) + 1);
}

/*
 * dp_joined_least_bytes
 *	  Bytes at all levels of a unit with one row of each source, for each row
 *	  that joins these; more than DP_GATHER_UNIT if it does not fit.
 */
Size
dp_joined_least_bytes(const dp_gather_limits *limits)
{
	Size		total = 0;
	int			i;

	for (i = 0; i < limits->nlevels; i++)
		total += (limits->levels[i].record + USUAL_UNIT) *
			choices_of(&limits->levels[i], limits);
	return total;
}

/* ----------------
 *		Rows that a block joins with private ones: read in the connection,
 *		completely and before the charge, and handed to the process that reads
 *		private rows.
 *
 * They are read by queries of their own (rowsets/named_rows.c), with the
 * asking role's rights and whatever these run or reveal, since no private row
 * has been read.  A reader gets them in pieces after the message
 * (named_stores.c).  Their number is as public as they are, and so is the
 * largest number that is joined with one private row.
 * ----------------
 */

#define PIECE (32 * 1024)
#define MOST_BYTES ((Size) 256 * 1024 * 1024)

/* Memory for a row in a tuplestore and a hash table, given its size. */
#define HELD_FACTOR 4
#define HELD_ROW 128

/* Limit for them, also in each parallel worker. */
#define MOST_SHARED ((Size) 32 * 1024 * 1024)

struct dp_joined_rows
{
	List	   *pieces;			/* of StringInfo */
	int			next;			/* the next to be handed over */
	Size		bytes;
	Size		held;			/* memory that they take in a reader */
	dp_joined_sizes sizes;
};

/* ---- the connection's side ---- */

typedef struct row_receiver
{
	DestReceiver receiver;
	dp_joined_rows *rows;
	List	   *tallies;		/* of dp_fanout_tally *: one for each source
								 * with these rows */
	MemoryContext keep;			/* of pieces */
	MemoryContext work;			/* reset for each row */
} row_receiver;

static void
check_bytes(const dp_joined_rows *rows)
{
	if (rows->bytes <= MOST_BYTES)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("too much is joined with private rows"),
			 errdetail("What a private query joins is read before, and may "
					   "take %zu MB.  Nothing was charged for it.",
					   MOST_BYTES / (1024 * 1024)),
			 errhint("Filter it in a subquery that reads the public relation "
					 "only.")));
}

static StringInfo
piece_with_room(row_receiver *to, Size size)
{
	StringInfo	last = to->rows->pieces == NIL ? NULL :
	llast(to->rows->pieces);
	MemoryContext old;

	if (last != NULL && last->len + size <= PIECE)
		return last;
	old = MemoryContextSwitchTo(to->keep);
	last = makeStringInfo();
	to->rows->pieces = lappend(to->rows->pieces, last);
	MemoryContextSwitchTo(old);
	return last;
}

static void
joined_rows_add_row(row_receiver *to, int number, MinimalTuple tuple)
{
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	const dp_piece_row head = {number, tuple->t_len};
	Size		size = MAXALIGN(sizeof(head)) + MAXALIGN(tuple->t_len);
	StringInfo	piece;

	to->rows->bytes += size;
	to->rows->sizes.widest = Max(to->rows->sizes.widest, size);
	to->rows->held += HELD_FACTOR * size + HELD_ROW;
	check_bytes(to->rows);
	piece = piece_with_room(to, size);
	appendBinaryStringInfo(piece, (const char *) &head, sizeof(head));
	appendBinaryStringInfo(piece, padding,
						   MAXALIGN(sizeof(head)) - sizeof(head));
	appendBinaryStringInfo(piece, (const char *) tuple, tuple->t_len);
	appendBinaryStringInfo(piece, padding,
						   MAXALIGN(tuple->t_len) - tuple->t_len);
}

/* Add a row; nothing of it stays out of line. */
static bool
joined_rows_receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	row_receiver *to = (row_receiver *) self;
	MemoryContext old = MemoryContextSwitchTo(to->work);
	TupleDesc	desc = slot->tts_tupleDescriptor;
	Datum	   *values = palloc(sizeof(Datum) * Max(desc->natts, 1));
	MinimalTuple tuple;
	ListCell   *lc;
	int			i;

	slot_getallattrs(slot);
	for (i = 0; i < desc->natts; i++)
	{
		values[i] = slot->tts_values[i];
		if (!slot->tts_isnull[i] && TupleDescAttr(desc, i)->attlen == -1 &&
			VARATT_IS_EXTERNAL(DatumGetPointer(values[i])))
			values[i] = PointerGetDatum(detoast_external_attr(
											(struct varlena *)
											DatumGetPointer(values[i])));
	}
	tuple = heap_form_minimal_tuple(desc, values, slot->tts_isnull, 0);
	foreach(lc, to->tallies)
	{
		dp_fanout_tally *tally = lfirst(lc);

		joined_rows_add_row(to, tally->source->number, tuple);
		fanout_add(tally, values, slot->tts_isnull);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(to->work);
	return true;
}

static void
joined_rows_receiver_startup(DestReceiver *self, int operation,
							 TupleDesc typeinfo)
{
	const dp_fanout_tally *first = linitial(((row_receiver *) self)->tallies);

	dp_joined_check_columns(typeinfo, first->source->query->targetList);
}

/* A tally for the source, and for each source with the same rows. */
static List *
make_tallies(const dp_block *block, const dp_joined *source)
{
	List	   *tallies = list_make1(fanout_begin(source));
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *other = lfirst(lc);

		if (other->twin == source->number)
			tallies = lappend(tallies, fanout_begin(other));
	}
	return tallies;
}

/*
 * Read a source with the rights of the current user.  But a view that an
 * argument names may belong to the asking role, and is read with its rights,
 * as its subqueries are (run.c).
 */
static void
read_source(row_receiver *to, const dp_block *block, const dp_joined *source,
			const dp_inner *run)
{
	dp_acting	acting;
	ListCell   *lc;

	to->tallies = make_tallies(block, source);
	if (run->named)
		dp_ledger_act_as_asker(&acting, false);
	dp_joined_execute(dp_joined_plan_subquery(block, source->query,
											  run->params),
					  DP_PRIVATE_QUERY_TEXT, &to->receiver, run->params,
					  run->environment);
	if (run->named)
		dp_ledger_act_as_before(&acting);
	foreach(lc, to->tallies)
	{
		dp_fanout_tally *tally = lfirst(lc);
		dp_joined_sizes *sizes = &to->rows->sizes;

		sizes->fanout = dp_joined_fanout_multiply(sizes->fanout,
												  fanout_end(tally));
		sizes->matched = dp_joined_fanout_multiply(sizes->matched,
												   tally->most);
	}
}

/*
 * dp_joined_read
 *	  Read all that the block joins, under the active snapshot, into the
 *	  current context; NULL when it joins nothing.  Uses params, environment
 *	  and named of `run`, and sets the facts that plans need about them.
 *
 * Errors: those of reading it; 54000 if it is too large.
 */
dp_joined_rows *
dp_joined_read(const dp_block *block, dp_inner *run)
{
	dp_joined_rows *rows;
	row_receiver to = {0};
	ListCell   *lc;

	run->facts.shares_rows = true;
	if (block->sources == NIL)
		return NULL;
	rows = palloc0(sizeof(dp_joined_rows));
	rows->sizes.fanout = rows->sizes.matched = 1;
	to.receiver = *None_Receiver;
	to.receiver.receiveSlot = joined_rows_receive_row;
	to.receiver.rStartup = joined_rows_receiver_startup;
	to.rows = rows;
	to.keep = CurrentMemoryContext;
	to.work = AllocSetContextCreate(CurrentMemoryContext, "dp_pg joined row",
									ALLOCSET_DEFAULT_SIZES);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (!OidIsValid(source->relid) && source->twin == 0)
			read_source(&to, block, source, run);
	}
	MemoryContextDelete(to.work);
	run->facts.shares_rows = rows->held <= MOST_SHARED;
	run->facts.widest = rows->sizes.widest;
	return rows;
}

/*
 * dp_joined_check
 *	  Raise 42501 unless the asking role may read all that the block joins;
 *	  reads nothing.  Requires an active snapshot.
 */
void
dp_joined_check(const dp_block *block, const dp_inner *run)
{
	dp_acting	acting;
	ListCell   *lc;

	if (run->named)
		dp_ledger_act_as_asker(&acting, false);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (!OidIsValid(source->relid))
			dp_joined_open_only(dp_joined_plan_subquery(block, source->query,
														run->params),
								run->params, run->environment);
	}
	if (run->named)
		dp_ledger_act_as_before(&acting);
}

/* dp_joined_memory: memory that they take in a reader; 0 for NULL. */
Size
dp_joined_memory(const dp_joined_rows *rows)
{
	return rows == NULL ? 0 : rows->held;
}

/* dp_joined_bytes: most bytes of a copy of them; 0 for NULL. */
Size
dp_joined_bytes(const dp_joined_rows *rows)
{
	return rows == NULL ? 0 : rows->bytes;
}

/* dp_joined_get_sizes: rows is NULL if nothing is joined. */
dp_joined_sizes
dp_joined_get_sizes(const dp_joined_rows *rows)
{
	static const dp_joined_sizes alone = {1, 1, 0};

	return rows == NULL ? alone : rows->sizes;
}

/* dp_joined_pieces: how many there are; rows may be NULL. */
int
dp_joined_pieces(const dp_joined_rows *rows)
{
	return rows == NULL ? 0 : list_length(rows->pieces);
}

/* dp_joined_piece: the n-th piece of rows, from 0, or NULL. */
const char *
dp_joined_piece(const dp_joined_rows *rows, int n, Size *size)
{
	StringInfo	piece;

	if (n >= list_length(rows->pieces))
		return NULL;
	piece = list_nth(rows->pieces, n);
	*size = piece->len;
	return piece->data;
}

/* dp_joined_next: a dp_reader_source of dp_joined_rows. */
const void *
dp_joined_next(void *context, Size *size)
{
	dp_joined_rows *rows = context;

	return dp_joined_piece(rows, rows->next++, size);
}
