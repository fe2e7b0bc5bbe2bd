/*
 * dp_units.h
 *	  Public interface of units: how much one privacy unit with many rows adds
 *	  to an answer.
 *
 * Rows are added in any order, each with its unit, its public group and, for
 * each column, a number or NULL.  At the end every unit keeps at most kappa
 * of its groups, and for each of these and each column the sink is given what
 * the unit's rows add to the group: a part that is bounded whatever the rows
 * are (doc/theory.md T78, T79).  A part is a function of the unit's own rows
 * and of fresh randomness, so parts of different units are independent.  Parts
 * of counts, sums, means and squares it may be given added up over several
 * units.
 *
 * Include postgres.h first.
 */
#ifndef DP_UNITS_H
#define DP_UNITS_H

#include "access/htup_details.h"
#include "nodes/bitmapset.h"

#include "../../math/noise/dp_noise.h"
#include "../../query/domains/dp_domains.h"

/*
 * What the rows of a unit become in a group.  Of the first five kinds each row
 * adds its weight times its numbers, and all columns have the same weights
 * (rows.c); of the others rows or values are chosen, at most m in a group and
 * T in all groups.
 */
typedef enum dp_units_kind
{
	DP_UNITS_PRESENT,			/* 1, if there is a row: no weight */
	DP_UNITS_COUNT,				/* rows */
	DP_UNITS_SUM,				/* sum of x */
	DP_UNITS_MEAN,				/* sum of x - low, and of w = high - low or 1
								 * for each row */
	DP_UNITS_SQUARES,			/* sums of (G - k)^2, of 2 k (G - k) and of
								 * k^2; k is x - low, G is w */
	DP_UNITS_PAIRS,				/* cells of pairs (dp_noise.h) */
	DP_UNITS_VALUES,			/* rows chosen at random: x of each */
	DP_UNITS_ROWS,				/* rows chosen at random: words of each */
	DP_UNITS_TOTALS,			/* of each of several numbers min(sum, m high);
								 * a row's are 0 or 1, or 0 .. high */
	DP_UNITS_DISTINCT,			/* distinct values: the digest of each */
	DP_UNITS_SIZE				/* the place of the number of rows, below */
} dp_units_kind;

/* One column; its numbers lie within low .. high. */
typedef struct dp_units_column
{
	dp_units_kind kind;
	int64		low;
	int64		high;
	int			fine;			/* COUNT to SQUARES: sums of rows are in units
								 * 2^fine times as fine, squares 4^fine */
	dp_read_way way;			/* of values whose digests count */
	bool		varlena;		/* these may be long */
	dp_pair_shape pairs;		/* PAIRS */
	int			words;			/* ROWS, TOTALS: of a row, of 8 bytes */
	int			bits;			/* TOTALS: numbers that are 0 or 1 */
	int			weights;		/* TOTALS: numbers that are 0 .. high */
} dp_units_column;

/*
 * Numbers of rows in DP_UNITS_SIZES places, which end with 1, 2, 3, 4, 6, 8,
 * 12, .., 2^16; the last has no end.
 */
#define DP_UNITS_SIZES 33

static inline int64
dp_units_size_end(int place)
{
	return place % 2 == 1 ? INT64CONST(1) << (place + 1) / 2 :
		place == 0 ? 1 : INT64CONST(3) << (place / 2 - 1);
}

static inline int
dp_units_size_place(int64 n)
{
	int			place = 0;

	while (place < DP_UNITS_SIZES - 1 && n > dp_units_size_end(place))
		place++;
	return place;
}

/* Words that hold this many bits. */
static inline int
dp_units_bit_words(int bits)
{
	return (bits + 63) / 64;
}

/*
 * The words of a row's numbers, for TOTALS: first the bits, then the weights,
 * two to a word, each as an unsigned number of 32 bits.
 */
static inline int
dp_units_total_words(int bits, int weights)
{
	return dp_units_bit_words(bits) + (weights + 1) / 2;
}

/* Most columns: a row must fit into a piece (units_internal.h). */
#define DP_UNITS_COLUMNS 256

/* Most bytes of a unit's value; rows of longer ones do not count. */
#define DP_UNITS_UNIT_BYTES 4096

/*
 * Most bytes of a group's name.  Groups may have names in addition to their
 * public numbers: bytes that are not public (votes.c).  Rows of groups with
 * longer names do not count.
 */
#define DP_UNITS_NAME_BYTES 4096

typedef struct dp_units_spec
{
	int64		kappa;			/* groups of a unit, >= 1 */
	int64		rows;			/* m >= 1: of a unit in a group */
	int64		total;			/* T >= m: in all its groups */
	int64		groups;			/* their public numbers are 0 .. groups - 1 */
	const dp_key_law *law;		/* groups have names, released by this law;
								 * NULL: they have none */
	bool		single;			/* then: every row is a unit */
	Size		name;			/* then: most bytes of a name */
	bool		crossed;		/* kappa and m are about finer groups, the
								 * crossings of rows (dp_units_set_crossing) */
	int64		seed;			/* then: of their ranks */
	dp_read_way unit;			/* how units are read */
	bool		varlena;		/* of the unit */
	int			ncolumns;
	dp_units_column *columns;
	int			helpers;		/* threads that may choose with the caller */
} dp_units_spec;

/* What one unit adds to one group of one column. */
typedef struct dp_units_part
{
	dp_int128	numbers[DP_PAIR_CELLS]; /* MEAN: 2, SQUARES: 3, PAIRS: all,
										 * DISTINCT to TOTALS: none; else 1 */
	uint64		digest[2];		/* DISTINCT; of an integer: its hash, which no
								 * other one has, and itself */
	const uint64 *words;		/* ROWS */
	const int64 *totals;		/* TOTALS: of bits, then of weights */
} dp_units_part;

typedef void (*dp_units_sink) (void *context, int64 group, int column,
							   const dp_units_part *part);

typedef struct dp_bounder dp_bounder;

/*
 * Receives the groups with names that enough units keep, in the order of a
 * secret hash.  First their number, if a unit can keep more than one; then for
 * each its number and name, its parts, and its end.
 */
typedef struct dp_units_releaser
{
	void		(*count) (void *context, int64 told);
	void		(*begin) (void *context, int64 group, const char *name,
						  Size length);
	dp_units_sink sink;
	void		(*end) (void *context, int64 group);
} dp_units_releaser;

/* Most bytes that votes take in addition. */
#define DP_UNITS_VOTES_MEMORY ((Size) 64 * 1024 * 1024)

/*
 * Most bytes that a bounder takes, whatever the rows, while it has below some
 * 10 GB on disk: 16 MB and 8 of pieces; 3 MB for each of five stores made of
 * parts of it; 4 MB of records at a time, with an entry of 24 bytes for each,
 * or the 14 MB of threads (partition.c, choose.c); and 24 bytes for a piece on
 * disk.
 */
#define DP_UNITS_MEMORY ((Size) 64 * 1024 * 1024)

extern dp_bounder *dp_units_create(const dp_units_spec *spec);
extern void dp_units_add(dp_bounder *bounder, int64 group, Datum unit,
						 const Datum *values, const bool *nulls);
extern void dp_units_set_name(dp_bounder *bounder, const char *name,
							  Size length);
extern void dp_units_set_crossing(dp_bounder *bounder, const char *crossing,
								  Size length);
extern void dp_units_finish(dp_bounder *bounder, dp_units_sink sink,
							void *context);
extern Size dp_units_record_bytes(const dp_units_spec *spec);
extern Size dp_units_given_bytes(const dp_units_spec *spec);
extern void dp_units_release(dp_bounder *bounder,
							 const dp_units_releaser *teller, void *context);

/*
 * Rows of sources, gathered by unit (gather.c): they are added in any order
 * and given back in parts, each with all rows of its units that take part in a
 * join.
 */
typedef struct dp_gather dp_gather;

/* How a source names units. */
typedef struct dp_gather_unit
{
	dp_read_way way;
	bool		varlena;
} dp_gather_unit;

/* Rows that a level of a query makes, in memory, of those of a unit. */
typedef struct dp_gather_level
{
	Bitmapset  *sources;		/* one for each choice of a row of each */
	Size		record;			/* bytes of one, without its unit's */
} dp_gather_level;

/* Bounds on what is made of rows when they are joined and grouped. */
typedef struct dp_gather_limits
{
	int			sources;
	Bitmapset  *nullable;		/* those that may be left out of a row */
	int64		fanout;			/* most joined rows for each choice of a row
								 * of each source */
	int			nlevels;
	dp_gather_level *levels;
	int64		copies;			/* how often a row's bytes may be kept */
	Size		public;			/* bytes that are read anew for each part */
	void		(*begin) (void *context);	/* another unit's rows follow, by
											 * source; or NULL */
} dp_gather_limits;

typedef void (*dp_gather_sink) (void *context, int source,
								MinimalTuple tuple);

/*
 * Most bytes of joined rows of one unit, so that the rows of a part stay in
 * the memory of a bounder (choose.c sorts them at once).
 */
#define DP_GATHER_UNIT ((Size) 4 * 1024 * 1024)

/* Most bytes that a gather takes, including the rows of the current part. */
#define DP_GATHER_MEMORY ((Size) 128 * 1024 * 1024)

/* Most bytes of a row, with its unit and its head. */
#define DP_GATHER_ROW (64 * 1024)

extern dp_gather *dp_units_gather_create(const dp_gather_limits *limits);
extern void dp_units_gather_add(dp_gather *gather, int source,
								const dp_gather_unit *how, Datum unit,
								MinimalTuple tuple, Size packed);
extern bool dp_units_gather_next(dp_gather *gather, dp_gather_sink sink,
								 void *context);

#endif							/* DP_UNITS_H */
