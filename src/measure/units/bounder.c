/*
 * bounder.c
 *	  Collects rows of units that may have many, and bounds what each unit
 *	  adds.
 *
 * A row becomes a record with a key for its unit: for integers a bijection
 * under a secret seed, for other values a hash of their bytes, which the
 * record holds too, so that two units are never taken for one.  Memory does
 * not grow with the number of rows or units: record_store.c, choose.c.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "dp_units.h"
#include "units_internal.h"

#define STORED ((Size) 16 * 1024 * 1024)
#define PIECE (64 * 1024)
#define LONG_VALUE (1024 * 1024)	/* as dp_pg.short_value */

struct dp_bounder
{
	dp_units_spec spec;
	dp_units_layout layout;
	uint64		seeds[4];		/* of units, two of values, of names */
	dp_units_store *store;
	dp_units_record *record;	/* room for one */
	const char *name;			/* of the next row's group */
	Size		name_length;
	uint64		crossing;		/* of the next row */
	dp_units_votes *votes;		/* groups have names */
	MemoryContext context;
};

static int
bounder_words_of(const dp_units_column *column)
{
	switch (column->kind)
	{
		case DP_UNITS_PRESENT:
		case DP_UNITS_COUNT:
		case DP_UNITS_SIZE:
			return 0;
		case DP_UNITS_DISTINCT:
			return 2;
		case DP_UNITS_ROWS:
		case DP_UNITS_TOTALS:
			return column->words;
		default:
			return 1;
	}
}

/*
 * dp_units_create
 *	  A bounder without rows, in the current context; the spec's columns are
 *	  not copied.
 */
dp_bounder *
dp_units_create(const dp_units_spec *spec)
{
	dp_bounder *bounder = palloc0(sizeof(dp_bounder));
	dp_units_layout *layout = &bounder->layout;
	int			i;

	if (spec->ncolumns > DP_UNITS_COLUMNS || spec->groups > PG_INT32_MAX)
		elog(ERROR, "rows of units have too many columns or groups");
	Assert(!spec->single || spec->law != NULL); /* add_short */
	bounder->spec = *spec;
	bounder->context = CurrentMemoryContext;
	layout->named = !spec->single && !dp_units_is_integer(spec->unit);
	layout->keyed = spec->law != NULL;
	for (i = 0; i < spec->ncolumns; i++)
	{
		int			words = bounder_words_of(&spec->columns[i]);

		if (layout->keyed && (spec->columns[i].kind == DP_UNITS_ROWS ||
							  spec->columns[i].kind == DP_UNITS_TOTALS))
			elog(ERROR, "rows of groups with names cannot be words");
		layout->word[i] = words > 0 ? layout->words : -1;
		layout->words += words;
		if (spec->columns[i].kind == DP_UNITS_PRESENT)
			continue;
		if (i < DP_UNITS_FIRST_COLUMNS)
			layout->used |= (uint32) 1 << i;
		else
			layout->used_marks[(i - DP_UNITS_FIRST_COLUMNS) / 64] |=
				(uint64) 1 << (i - DP_UNITS_FIRST_COLUMNS) % 64;
	}
	if (layout->words > DP_UNITS_WORDS)
		elog(ERROR, "rows of units have too many words");
	layout->marks = layout->words;
	layout->words += dp_units_marks(spec->ncolumns);
	if (layout->keyed)
		layout->hash = layout->words++;
	layout->crossed = spec->crossed;
	if (layout->crossed)
		layout->crossing = layout->words++;
	bounder->record = palloc0(dp_units_record_most(layout));
	dp_base_check_status(dp_noise_random_bytes(dp_base_source(),
											   bounder->seeds,
											   sizeof(bounder->seeds)),
						 "draw seeds");
	if (layout->crossed)
	{
		bounder->seeds[0] = dp_units_scatter((uint64) spec->seed);
		bounder->seeds[3] = dp_units_scatter((uint64) spec->seed + 1);
	}
	bounder->store = dp_units_store_create(layout, 0, STORED, PIECE);
	if (layout->keyed)
		bounder->votes = dp_units_votes_create(&bounder->spec);
	return bounder;
}

/* Set the key and bytes of the unit; false: it is too long to count. */
static inline bool
set_unit(dp_bounder *bounder, Datum unit)
{
	dp_units_record *record = bounder->record;
	uint64	   *words = record->words + bounder->layout.words;
	Size		length;

	if (bounder->spec.single)
		return true;
	if (!dp_units_read(bounder->spec.unit, bounder->spec.varlena, unit,
					   bounder->seeds[0], &record->key,
					   (char *) (words + 1), &length))
		return false;
	if (bounder->layout.named)
		words[0] = length;
	return true;
}

static void
set_digest(const dp_bounder *bounder, dp_read_way way, Datum value,
		   uint64 *words)
{
	dp_value_bytes read;
	int64		x;

	if (dp_domains_read_integer(way, value, &x))
	{
		words[0] = dp_units_scatter((uint64) x ^ bounder->seeds[1]);
		words[1] = (uint64) x;
		return;
	}
	dp_domains_read_bytes(way, value, &read);
	words[0] = dp_units_hash(&read, bounder->seeds[1]);
	words[1] = dp_units_hash(&read, bounder->seeds[2]);
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
}

/* Set what a row has in a column, nothing for NULL. */
static inline void
set_column(const dp_bounder *bounder, dp_units_record *record, int i,
		   Datum value, bool isnull)
{
	const dp_units_column *column = &bounder->spec.columns[i];
	int			n = bounder_words_of(column);
	uint64	   *words = record->words + Max(bounder->layout.word[i], 0);

	if (isnull || (column->kind == DP_UNITS_DISTINCT &&
				   dp_units_is_long(column->varlena, value, LONG_VALUE)))
	{
		if (n > 0)
			memset(words, 0, sizeof(uint64) * n);
		return;
	}
	dp_units_set_column(&bounder->layout, record, i);
	if (column->kind == DP_UNITS_DISTINCT)
		set_digest(bounder, column->way, value, words);
	else if (column->kind == DP_UNITS_ROWS || column->kind == DP_UNITS_TOTALS)
		memcpy(words, DatumGetPointer(value), sizeof(uint64) * n);
	else if (n > 0)
		words[0] = (uint64) DatumGetInt64(value);
}

/*
 * dp_units_set_name
 *	  The name of the next row's group, at most DP_UNITS_NAME_BYTES, to be
 *	  kept by the caller until the row is added.
 */
void
dp_units_set_name(dp_bounder *bounder, const char *name, Size length)
{
	bounder->name = name;
	bounder->name_length = length;
}

/*
 * dp_units_set_crossing
 *	  The values of all keys in the next row, by which ranks and weights are
 *	  found, whatever its group.
 */
void
dp_units_set_crossing(dp_bounder *bounder, const char *crossing, Size length)
{
	dp_value_bytes bytes = {.bytes = crossing,.length = (int64) length};

	bounder->crossing = dp_units_hash(&bytes, bounder->seeds[3]);
}

/* Set the hash and the name of the row's group. */
static void
add_name(dp_bounder *bounder)
{
	dp_units_record *record = bounder->record;
	uint64	   *words = record->words + bounder->layout.words;
	dp_value_bytes bytes;

	if (bounder->layout.named)
		words += 1 + MAXALIGN(words[0]) / sizeof(uint64);
	bytes.bytes = bounder->name;
	bytes.length = (int64) bounder->name_length;
	record->words[bounder->layout.hash] =
		dp_units_rank(dp_units_hash(&bytes, bounder->seeds[3]),
					  (uint64) (uint32) record->group);
	words[0] = bounder->name_length;
	memcpy(words + 1, bounder->name, bounder->name_length);
}

/* Add a row that is a unit, which keeps its group. */
static void
add_single(dp_bounder *bounder)
{
	dp_units_job job = {&bounder->spec, &bounder->layout, dp_units_votes_put,
	bounder->votes, bounder->votes};
	dp_units_entry entry = {0, 0, bounder->record};
	dp_units_rows rows = {&bounder->layout, &entry, 1};

	dp_units_rows_add_up(&job, &rows);
}

/* Set the group of a row, and what it has in its columns. */
static inline void
set_row(const dp_bounder *bounder, dp_units_record *record, int64 group,
		const Datum *values, const bool *nulls)
{
	int			i;

	record->group = (int32) group;
	record->present = 0;
	for (i = 0; i < dp_units_marks(bounder->spec.ncolumns); i++)
		record->words[bounder->layout.marks + i] = 0;
	if (bounder->layout.crossed)
		record->words[bounder->layout.crossing] = bounder->crossing;
	for (i = 0; i < bounder->spec.ncolumns; i++)
		set_column(bounder, record, i, values[i], nulls[i]);
}

/*
 * Add a row whose unit is an integer and whose group has no name; false: it is
 * not such a row.
 */
static inline bool
add_short(dp_bounder *bounder, int64 group, Datum unit, const Datum *values,
		  const bool *nulls)
{
	const dp_units_layout *layout = &bounder->layout;
	dp_units_record *record;
	uint64		key;
	int64		x;

	if (layout->named || layout->keyed ||
		!dp_domains_read_integer(bounder->spec.unit, unit, &x))
		return false;
	key = dp_units_integer_key(x, bounder->seeds[0]);
	record = dp_units_store_add(bounder->store, key,
								offsetof(dp_units_record, words) +
								sizeof(uint64) * layout->words);
	record->key = key;
	set_row(bounder, record, group, values, nulls);
	return true;
}

/*
 * dp_units_add
 *	  One row: its group (-1: crossed, and in none), its unit, which is not
 *	  NULL, and for each column a bigint (any value: COUNT; the value itself:
 *	  DISTINCT; a pointer to uint64 words: ROWS, TOTALS) or NULL.
 */
void
dp_units_add(dp_bounder *bounder, int64 group, Datum unit,
			 const Datum *values, const bool *nulls)
{
	dp_units_record *record = bounder->record;

	if (add_short(bounder, group, unit, values, nulls) ||
		!set_unit(bounder, unit))
		return;
	set_row(bounder, record, group, values, nulls);
	if (bounder->layout.keyed)
		add_name(bounder);
	if (bounder->spec.single)
		add_single(bounder);
	else
		dp_units_store_put(bounder->store, record,
						   dp_units_record_size(&bounder->layout, record));
}

/* Give the sink what the units add; where groups have names it takes votes. */
static void
choose(dp_bounder *bounder, dp_units_sink sink, void *context)
{
	dp_units_job job = {&bounder->spec, &bounder->layout, sink, context,
	bounder->votes};
	MemoryContext old = MemoryContextSwitchTo(bounder->context);

	dp_units_choose(&job, bounder->store);
	bounder->store = dp_units_store_create(&bounder->layout, 0, STORED, PIECE);
	MemoryContextSwitchTo(old);
}

/*
 * dp_units_finish
 *	  Give the sink the parts of all units that have rows; where groups have
 *	  names, only cast votes.  More rows may follow, of other units, and then
 *	  this is called again.
 */
void
dp_units_finish(dp_bounder *bounder, dp_units_sink sink, void *context)
{
	if (bounder->votes != NULL)
		choose(bounder, dp_units_votes_put, bounder->votes);
	else
		choose(bounder, sink, context);
}

/*
 * dp_units_release
 *	  The same where groups have names, after all rows: draw which of them are
 *	  released, and give them to the teller.  To be called once.
 */
void
dp_units_release(dp_bounder *bounder, const dp_units_releaser *teller,
				 void *context)
{
	MemoryContext old = MemoryContextSwitchTo(bounder->context);

	choose(bounder, dp_units_votes_put, bounder->votes);
	dp_units_votes_release(bounder->votes, teller, context);
	MemoryContextSwitchTo(old);
}

/*
 * dp_units_record_bytes
 *	  Most bytes of a row, without those of its unit.
 */
Size
dp_units_record_bytes(const dp_units_spec *spec)
{
	Size		words = (dp_units_is_integer(spec->unit) ? 0 : 1) +
	dp_units_marks(spec->ncolumns);
	int			i;

	for (i = 0; i < spec->ncolumns; i++)
		words += bounder_words_of(&spec->columns[i]);
	if (spec->crossed)
		words++;
	if (spec->law != NULL)
		words += 2 + MAXALIGN(spec->name) / sizeof(uint64);
	return offsetof(dp_units_record, words) + sizeof(uint64) * words;
}
