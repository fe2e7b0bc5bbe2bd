/*
 * units_internal.h
 *	  Private to units: rows of units as records, in memory and on disk, and
 *	  their processing.
 *
 * Include postgres.h first.
 */
#ifndef UNITS_INTERNAL_H
#define UNITS_INTERNAL_H

#include "access/htup_details.h"
#include "nodes/bitmapset.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../query/domains/dp_domains.h"
#include "dp_units.h"

/* Most words of all columns of a row: a record must fit into a piece. */
#define DP_UNITS_WORDS 1000

/*
 * Rows of units as records, in memory and on
 * disk, and their processing.  Include postgres.h first.
 */

/*
 * One row: the words of its columns, and, if units are not integers, the
 * length of the unit in bytes and its bytes; if groups have names, the same of
 * the name.
 */
typedef struct dp_units_record
{
	uint64		key;			/* of the unit, or of unit and group */
	int32		group;			/* its public number; -1: crossed, and the row
								 * is in none */
	uint32		present;		/* bit i: the row counts in column i < 32; or
								 * see dp_units_layout.sized */
	uint64		words[FLEXIBLE_ARRAY_MEMBER];
} dp_units_record;

/* How records are laid out. */
typedef struct dp_units_layout
{
	bool		sized;			/* `present` is a record's size in bytes */
	bool		named;			/* units are bytes */
	bool		keyed;			/* groups have names */
	bool		crossed;		/* rows have crossings */
	int			hash;			/* keyed: word that stands for the group */
	int			crossing;		/* crossed: word that stands for it */
	int			marks;			/* word whose bit i stands for column 32 + i;
								 * the next words go on */
	int			words;			/* of all columns, with marks, hash and
								 * crossing */
	int			word[DP_UNITS_COLUMNS]; /* first of a column; -1: none */
	uint32		used;			/* bits of the columns whose rows have weights
								 * or are chosen: all but PRESENT */
	uint64		used_marks[DP_UNITS_COLUMNS / 64];
} dp_units_layout;

/* The first columns have their bits in `present`. */
#define DP_UNITS_FIRST_COLUMNS 32

/* Words of bits for the others. */
static inline int
dp_units_marks(int ncolumns)
{
	return dp_units_bit_words(Max(ncolumns - DP_UNITS_FIRST_COLUMNS, 0));
}

static inline bool
dp_units_has_column(const dp_units_layout *layout,
					const dp_units_record *record, int column)
{
	int			bit = column - DP_UNITS_FIRST_COLUMNS;

	if (likely(bit < 0))
		return (record->present & ((uint32) 1 << column)) != 0;
	return (record->words[layout->marks + bit / 64] &
			((uint64) 1 << bit % 64)) != 0;
}

static inline void
dp_units_set_column(const dp_units_layout *layout, dp_units_record *record,
					int column)
{
	int			bit = column - DP_UNITS_FIRST_COLUMNS;

	if (likely(bit < 0))
		record->present |= (uint32) 1 << column;
	else
		record->words[layout->marks + bit / 64] |= (uint64) 1 << bit % 64;
}

/*
 * Whether the row counts in some column, other than as its unit.  Of crossed
 * rows all do: in one of several sets of groups a number of rows may be asked.
 */
static inline bool
dp_units_is_used(const dp_units_layout *layout, const dp_units_record *record,
				 int ncolumns)
{
	bool		used = layout->crossed ||
	(record->present & layout->used) != 0;
	int			i;

	for (i = 0; i < dp_units_marks(ncolumns) && !used; i++)
		used = (record->words[layout->marks + i] &
				layout->used_marks[i]) != 0;
	return used;
}

static inline Size
dp_units_record_size(const dp_units_layout *layout,
					 const dp_units_record *record)
{
	Size		size = offsetof(dp_units_record, words) +
		sizeof(uint64) * layout->words;

	if (layout->sized)
		return record->present;
	if (layout->named)
		size += sizeof(uint64) + MAXALIGN(record->words[layout->words]);
	if (layout->keyed)
		size += sizeof(uint64) +
			MAXALIGN(*(const uint64 *) ((const char *) record + size));
	return size;
}

/* Most bytes of a record. */
static inline Size
dp_units_record_most(const dp_units_layout *layout)
{
	return offsetof(dp_units_record, words) +
		sizeof(uint64) * (layout->words + 2) + DP_UNITS_UNIT_BYTES +
		DP_UNITS_NAME_BYTES;
}

/* The length of the group's name, which follows it; keyed. */
static inline const uint64 *
dp_units_record_name(const dp_units_layout *layout,
					 const dp_units_record *record)
{
	const uint64 *words = record->words + layout->words;

	if (layout->named)
		words += 1 + MAXALIGN(words[0]) / sizeof(uint64);
	return words;
}

/* Identifies a unit's group, or crossing: with the same value they are one. */
static inline uint64
dp_units_group_of(const dp_units_layout *layout,
				  const dp_units_record *record)
{
	if (layout->crossed)
		return record->words[layout->crossing];
	return layout->keyed ? record->words[layout->hash] :
		(uint64) (uint32) record->group;
}

/*
 * The word before a unit's bytes: its lowest bits are their number, the others
 * are free for other uses.
 */
#define DP_UNITS_LENGTH_BITS 16
StaticAssertDecl(DP_UNITS_UNIT_BYTES < 1 << DP_UNITS_LENGTH_BITS,
				 "the length of a unit has too few bits");

static inline Size
dp_units_length(uint64 word)
{
	return (Size) (word & ((1 << DP_UNITS_LENGTH_BITS) - 1));
}

/* Order of units: 0 for the same one.  Keys are equal for the same unit. */
static inline int
dp_units_compare(const dp_units_layout *layout,
				 const dp_units_record *a, const dp_units_record *b)
{
	Size		length;
	Size		other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (!layout->named)
		return 0;
	length = dp_units_length(a->words[layout->words]);
	other = dp_units_length(b->words[layout->words]);
	if (length != other)
		return length < other ? -1 : 1;
	return length == 0 ? 0 :
		memcmp(&a->words[layout->words + 1], &b->words[layout->words + 1],
			   length);
}

/* ---- record_store.c: records by the highest bits of their keys ---- */

#define DP_UNITS_PARTITIONS 64
#define DP_UNITS_PARTITION_BITS 6

typedef struct dp_units_store dp_units_store;

extern dp_units_store *dp_units_store_create(const dp_units_layout *layout,
											 int used, Size memory,
											 uint32 piece_bytes);
extern dp_units_record *dp_units_store_add(dp_units_store *store, uint64 key,
										   Size size);
extern void dp_units_store_put(dp_units_store *store,
							   const dp_units_record *record, Size size);
extern int64 dp_units_store_bytes(const dp_units_store *store, int partition);
extern int64 dp_units_store_count(const dp_units_store *store, int partition);
extern int	dp_units_store_used(const dp_units_store *store);
extern bool dp_units_store_has_one_key(dp_units_store *store, int partition);
extern dp_units_store *dp_units_store_divide(dp_units_store *store,
											 int partition, Size memory,
											 uint32 piece_bytes);
extern void dp_units_store_empty(dp_units_store *store, int partition);
extern void dp_units_store_drop(dp_units_store *store);

/* Some records of a partition that memory can hold. */
typedef struct dp_units_chunk
{
	const char *records;
	Size		bytes;
} dp_units_chunk;

extern int	dp_units_store_pieces(const dp_units_store *store, int partition,
								  Size *stored);
extern bool dp_units_store_fill(const dp_units_store *store, int partition,
								dp_units_chunk *chunks, char *stored);

/* Takes the first record off a chunk; NULL if it is empty. */
static inline const dp_units_record *
dp_units_chunk_take(const dp_units_layout *layout, dp_units_chunk *rest)
{
	const dp_units_record *record = (const dp_units_record *) rest->records;
	Size		size;

	if (rest->bytes == 0)
		return NULL;
	size = dp_units_record_size(layout, record);
	rest->records += size;
	rest->bytes -= size;
	return record;
}

/* Records of a partition, one after the other. */
typedef struct dp_units_cursor
{
	dp_units_store *store;
	int			partition;
	int			piece;			/* of the partition, -1 before the first */
	const char *next;
	const char *end;
	char	   *room;			/* for what is on disk */
} dp_units_cursor;

extern void dp_units_cursor_open(dp_units_cursor *cursor,
								 dp_units_store *store, int partition);
extern const dp_units_record *dp_units_cursor_fetch(dp_units_cursor *cursor);
extern void dp_units_cursor_close(dp_units_cursor *cursor);

/* ---- partition.c ---- */

/* Memory and pieces of stores that divide a partition. */
#define DP_UNITS_DIVIDED ((Size) 1024 * 1024)
#define DP_UNITS_DIVIDED_PIECE (16 * 1024)

/* All words of columns, marks, two hashes; and dp_units_record_most. */
StaticAssertDecl(offsetof(dp_units_record, words) +
				 sizeof(uint64) * (DP_UNITS_WORDS +
								   DP_UNITS_COLUMNS / 64 + 4) +
				 DP_UNITS_UNIT_BYTES + DP_UNITS_NAME_BYTES <=
				 DP_UNITS_DIVIDED_PIECE,
				 "a row of all words does not fit into a piece");
StaticAssertDecl(2 * DP_UNITS_COLUMNS <= DP_UNITS_WORDS,
				 "all columns have two words, and these are too many");

/* A record in memory, and what it is sorted by. */
typedef struct dp_units_entry
{
	uint64		key;
	uint64		group;			/* dp_units_group_of */
	const dp_units_record *record;
} dp_units_entry;

/*
 * Receives entries by key, name and group, or a large partition with one key.
 */
typedef struct dp_units_visitor
{
	const dp_units_layout *layout;
	void		(*loaded) (void *context, const dp_units_entry *entries,
						   int64 n);
	void		(*large) (void *context, dp_units_store *store, int n);
	void	   *context;
	void	  **helpers;		/* contexts for `loaded` in threads, one for
								 * each */
	int			nhelpers;
} dp_units_visitor;

extern void dp_units_visit(const dp_units_visitor *visitor,
						   dp_units_store *store);

/* ---- partition.c: several partitions at once ---- */

#define DP_UNITS_HELPERS DP_THREADS_OF_ROWS

/* ---- sorted.c: the records of one partition in memory ---- */

/* The sizes of what they need. */
typedef struct dp_units_need
{
	Size		stored;			/* bytes */
	int			chunks;
	int64		entries;
	int64		starts;
} dp_units_need;

typedef struct dp_units_sorted
{
	char	   *stored;			/* copies of records on disk */
	dp_units_chunk *chunks;		/* all records: these, and the store's own */
	dp_units_entry *entries;	/* by key, name and group */
	uint32	   *starts;			/* of buckets, while they are sorted */
} dp_units_sorted;

extern dp_units_need dp_units_sorted_need(const dp_units_store *store, int n);
extern void dp_units_sorted_widen(dp_units_need *need,
								  const dp_units_need *other);
extern Size dp_units_sorted_bytes(const dp_units_need *need);
extern void dp_units_sorted_make(dp_units_sorted *sorted,
								 const dp_units_need *need);
extern int64 dp_units_sorted_fill(dp_units_sorted *sorted,
								  const dp_units_layout *layout,
								  const dp_units_store *store, int n);
extern int64 dp_units_sorted_load(dp_units_sorted *sorted,
								  const dp_units_layout *layout,
								  const dp_units_store *store, int n);
extern void dp_units_sorted_free(dp_units_sorted *sorted);

/* ---- votes.c: groups with names, released if enough units vote ---- */

typedef struct dp_units_votes dp_units_votes;

extern dp_units_votes *dp_units_votes_create(const dp_units_spec *spec);
extern void dp_units_votes_begin(dp_units_votes *votes);
extern void dp_units_votes_name(dp_units_votes *votes, int32 group,
								const uint64 *name);
extern void dp_units_votes_put(void *votes, int64 group, int column,
							   const dp_units_part *part);
extern uint64 dp_units_votes_end_names(dp_units_votes *votes);
extern void dp_units_votes_cast(dp_units_votes *votes);
extern void dp_units_votes_release(dp_units_votes *votes,
								   const dp_units_releaser *teller,
								   void *context);

/* A spec and layout, and the sink of parts. */
typedef struct dp_units_job
{
	const dp_units_spec *spec;
	const dp_units_layout *layout;
	dp_units_sink sink;
	void	   *context;
	dp_units_votes *votes;		/* keyed: the context, too */
} dp_units_job;

/* ---- choose.c: parts of many units, added up ---- */

typedef struct dp_units_sums dp_units_sums;

/* ---- choose.c: the groups that each unit keeps ---- */

extern void dp_units_choose(const dp_units_job *job, dp_units_store *store);

/* ---- gather.c ---- */

extern bool dp_units_is_integer(dp_read_way way);
extern uint64 dp_units_hash(const dp_value_bytes *read, uint64 seed);
extern bool dp_units_is_long(bool varlena, Datum value, Size most);
extern bool dp_units_read(dp_read_way way, bool varlena, Datum unit,
						  uint64 seed, uint64 *key, char *bytes,
						  Size *length);

/* ---- keys ---- */

/* A bijection: each step is one (the finalizer of SplitMix64). */
static inline uint64
dp_units_scatter(uint64 x)
{
	x = (x ^ (x >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The key of a unit that is an integer, under a secret seed. */
static inline uint64
dp_units_integer_key(int64 unit, uint64 seed)
{
	return dp_units_scatter((uint64) unit ^ seed);
}

/* A rank of the group among those of the unit; secret, as keys are. */
static inline uint64
dp_units_rank(uint64 key, uint64 of)
{
	return dp_units_scatter(key + (of + 1) * UINT64CONST(0x9e3779b97f4a7c15));
}

/*
 * The rows of one unit in one group, one after
 * the other (rows.c).
 */

/*
 * What a unit has in all the groups that it keeps, if that may be more than T:
 * first counted, then shared out.  Arrays have a number for each column of
 * which rows or values are chosen.
 */
typedef struct dp_units_share
{
	int64		kept;			/* t: sum of min(C, m), C rows of a group that
								 * count in some column */
	int64	   *left;			/* sum of min(c, m), c of this column; when
								 * sharing, what is still to be considered */
	int64	   *wanted;			/* how many of these are still to be chosen */
} dp_units_share;

/*
 * What the unit has in groups of which it may keep several crossings, and is
 * given once: numbers of units, votes.  A set, in slots of 0 or an element.
 */
typedef struct dp_units_given
{
	uint64	   *slots;
	uint64		mask;			/* their number, a power of two, less 1 */
} dp_units_given;

/* Entries in memory, or the records of a partition that have the group. */
typedef struct dp_units_rows
{
	const dp_units_layout *layout;
	const dp_units_entry *entries;
	int64		n;
	int64		at;
	dp_units_cursor cursor;		/* entries is NULL */
	uint64		group;			/* dp_units_group_of */
	bool		ranked;			/* keys are ranks of unit and group */
	dp_units_share *share;		/* NULL: all groups together have at most T */
	dp_units_given *given;		/* NULL: no other crossing is in the group */
	uint64		cell;			/* stands for the group, in it */
} dp_units_rows;

static inline void
dp_units_rows_rewind(dp_units_rows *rows)
{
	rows->at = 0;
	if (rows->entries == NULL)
		dp_units_cursor_open(&rows->cursor, rows->cursor.store,
							 rows->cursor.partition);
}

static inline const dp_units_record *
dp_units_rows_next(dp_units_rows *rows)
{
	const dp_units_record *record;

	if (rows->entries != NULL)
		return rows->at < rows->n ? rows->entries[rows->at++].record : NULL;
	while ((record = dp_units_cursor_fetch(&rows->cursor)) != NULL)
		if (dp_units_group_of(rows->layout, record) == rows->group)
			return record;
	return NULL;
}

extern void dp_units_rows_count(const dp_units_job *job,
								dp_units_rows *rows);
extern void dp_units_share_begin(const dp_units_job *job,
								 dp_units_share *share);
extern void dp_units_rows_add_up(const dp_units_job *job,
								 dp_units_rows *rows);

#endif							/* UNITS_INTERNAL_H */
