/*
 * dp_domains.h
 *	  Public interface of domains: public values as places 0 .. size - 1, and
 *	  the place of a value.
 *
 * Include postgres.h first.
 */
#ifndef DP_DOMAINS_H
#define DP_DOMAINS_H

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/extensible.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "utils/float.h"
#include "utils/numeric.h"

#include "../../base/dp_compat.h"

/* How a Datum of a type is read. */
typedef enum dp_read_way
{
	DP_READ_NONE,
	DP_READ_INT4,
	DP_READ_INT8,
	DP_READ_INT2,
	DP_READ_BYTE,				/* boolean, "char" */
	DP_READ_FLOAT4,
	DP_READ_FLOAT8,
	DP_READ_TEXT,				/* bytes of a varlena; the first that gives
								 * bytes */
	DP_READ_BLANKED,			/* the same without trailing blanks */
	DP_READ_NAME,
	DP_READ_UUID,
	DP_READ_TID,
	DP_READ_MAC,
	DP_READ_MAC8,
	DP_READ_NUMERIC,
	DP_READ_INTERVAL,
	DP_READ_TIMETZ
} dp_read_way;

typedef struct dp_value_bytes
{
	const char *bytes;
	int64		length;
	void	   *copy;			/* to be freed; NULL: none */
	char		room[16];
} dp_value_bytes;

extern dp_read_way dp_domains_read_way(Oid type);

/* dp_domains_read_bytes for values other than plain texts. */
extern void dp_domains_fetch_bytes(dp_read_way way, Datum value,
								   dp_value_bytes *out);

/* Bits that are equal if and only if PostgreSQL considers the floats equal. */
static inline int64
dp_domains_float_bits(float8 x)
{
	union
	{
		float8		number;
		int64		bits;
	}			u;

	u.number = x;
	if (unlikely(x == 0))
		u.number = 0;
	else if (unlikely(isnan(x)))
		u.number = get_float8_nan();
	return u.bits;
}

/* False if this way gives bytes instead. */
static inline bool
dp_domains_read_integer(dp_read_way way, Datum value, int64 *out)
{
	switch (way)
	{
		case DP_READ_INT4:
			*out = DatumGetInt32(value);
			return true;
		case DP_READ_INT8:
			*out = DatumGetInt64(value);
			return true;
		case DP_READ_INT2:
			*out = DatumGetInt16(value);
			return true;
		case DP_READ_BYTE:
			*out = DatumGetUInt8(value);
			return true;
		case DP_READ_FLOAT4:
			*out = dp_domains_float_bits(DatumGetFloat4(value));
			return true;
		case DP_READ_FLOAT8:
			*out = dp_domains_float_bits(DatumGetFloat8(value));
			return true;
		default:
			return false;
	}
}

/* Whether a varlena must be detoasted before its bytes can be read. */
static inline bool
dp_domains_is_packed(Datum value)
{
	const struct varlena *text = (const struct varlena *)
	DatumGetPointer(value);

	return VARATT_IS_EXTERNAL(text) || VARATT_IS_COMPRESSED(text);
}

/*
 * Values of a way that gives bytes.  `copy` can be freed when the bytes are no
 * longer needed.
 */
static inline void
dp_domains_read_bytes(dp_read_way way, Datum value, dp_value_bytes *out)
{
	if (way != DP_READ_TEXT || unlikely(dp_domains_is_packed(value)))
	{
		dp_domains_fetch_bytes(way, value, out);
		return;
	}
	out->bytes = VARDATA_ANY(DatumGetPointer(value));
	out->length = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	out->copy = NULL;
}

typedef struct dp_value_spec
{
	int32		vl_len_;
	int32		reading;		/* dp_read_way */
	int32		direct;			/* use slots[value - first] */
	int64		n;
	int64		first;
	uint64		nslots;			/* a power of two unless direct */
	int64		longest;		/* length of the longest candidate; texts
								 * only */
	int64		keys;			/* offset of n int64: values, or entries'
								 * offsets */
	int32		slots[FLEXIBLE_ARRAY_MEMBER];
} dp_value_spec;

static inline uint64
dp_domains_scatter(uint64 x)
{
	x *= UINT64CONST(0x9E3779B97F4A7C15);
	return x ^ (x >> 32);
}

static inline const int64 *
dp_domains_keys(const dp_value_spec *spec)
{
	return (const int64 *) ((const char *) spec + spec->keys);
}

/* A place, or -1; *slot is the last slot examined. */
static inline int64
dp_domains_find_integer(const dp_value_spec *spec, int64 x, uint64 *slot)
{
	uint64		mask = spec->nslots - 1;

	if (likely(spec->direct))
	{
		*slot = (uint64) x - (uint64) spec->first;
		return *slot < spec->nslots ? spec->slots[*slot] - 1 : -1;
	}
	*slot = dp_domains_scatter((uint64) x);
	for (*slot &= mask;; *slot = (*slot + 1) & mask)
	{
		int64		place = spec->slots[*slot] - 1;

		if (place < 0 || dp_domains_keys(spec)[place] == x)
			return place;
	}
}

/* The same for values that are bytes. */
extern int64 dp_domains_tally_find_bytes(const dp_value_spec *spec,
										 Datum value);

/* The place of the candidate that equals a value, or -1. */
static inline int64
dp_domains_tally_find_value(const void *candidates, Datum value)
{
	const dp_value_spec *spec = candidates;
	uint64		slot;
	int64		x;

	if (dp_domains_read_integer((dp_read_way) spec->reading, value, &x))
		return dp_domains_find_integer(spec, x, &slot);
	return dp_domains_tally_find_bytes(spec, value);
}

/* ---- group keys (domain.c) ---- */

typedef enum dp_key_kind
{
	DP_KEY_CONSTANT,			/* a literal: one value */
	DP_KEY_BOOLEAN,
	DP_KEY_ENUM,
	DP_KEY_DECLARED,			/* keys => ... of a column */
	DP_KEY_RANGE,				/* bounds of an integer or date column */
	DP_KEY_TRUNC,				/* date_trunc over a bounded column */
	DP_KEY_EXTRACT,				/* extract over a bounded column */
	DP_KEY_LISTED,				/* the key's conditions name its values */
	DP_KEY_CASES,				/* one of constants, whatever rows hold */
	DP_KEY_IMAGE,				/* computed from a column with public values */
	DP_KEY_UNDECLARED			/* not public: released by threshold */
} dp_key_kind;

/*
 * Conditions of a key are expressions over two Vars of varno 1: the column
 * that the key is computed from, and the key.  If the key is a column, the
 * first stands for both.
 */
#define DP_KEY_COLUMN 1
#define DP_KEY_VALUE 2

/*
 * Where the public values of a group key come from: only catalog facts and the
 * query's text.  The values are made when the query runs.  It is a node,
 * because plans carry it (split/block.c).
 */
typedef struct dp_key
{
	ExtensibleNode node;
	dp_key_kind kind;
	Oid			type;			/* of the key's values */
	int32		typmod;
	Oid			collation;
	Oid			relid;			/* the protected relation */
	AttrNumber	attnum;			/* base column, or 0 */
	Oid			base_type;		/* argument type of date_trunc or extract */
	char	   *field;			/* of date_trunc and extract, lower case */
	bool		nullable;		/* NULL is also a key */
	Const	   *constant;		/* DP_KEY_CONSTANT only */
	List	   *conditions;		/* of Node *: conditions that all rows
								 * satisfy */
	Node	   *values;			/* DP_KEY_LISTED: the asker's query that
								 * returns them; NULL: conditions name them */
	Node	   *image;			/* the key over DP_KEY_COLUMN; NULL if it is a
								 * column, or uses none or several */
	List	   *cases;			/* of Node *: DP_KEY_CASES only */
	struct dp_key *base;		/* DP_KEY_IMAGE: the column, by which rows are
								 * looked up; NULL: a timestamp, looked up by
								 * the key */
} dp_key;

/* Fields that can be keys, and their values (domain.c). */
extern bool dp_domains_key_trunc_step(const char *field, Interval *step);
extern bool dp_domains_key_extract_range(const char *field, bool *monotone,
										  int *first, int *last);

/* ---- values of a group key (domain.c) ---- */

typedef struct dp_domain dp_domain;

extern dp_domain *dp_domains_make(const dp_key *key);

/* ---- decide_time.c ---- */

/* Whether the key depends on its timestamp only through fields of time. */
extern bool dp_domains_key_has_cells(const dp_key *key);

/* ---- decide_list.c ---- */

/*
 * Whether the key's conditions name all values that it can have
 * (decide_list.c).
 */
extern bool dp_domains_key_is_named(const dp_key *key);
extern bool dp_domains_key_can_be_named(const dp_key *key);

/* The Var that conditions naming values are about. */
static inline AttrNumber
dp_domains_named_input(const dp_key *key)
{
	return key->image == NULL && key->attnum != 0 ? DP_KEY_COLUMN :
		DP_KEY_VALUE;
}

/* ---- decide_key.c ---- */

/*
 * The values of the key that its conditions do not exclude (decide_key.c), any
 * number of them; parameters must have become constants.
 */
extern dp_domain *dp_domains_decide(const dp_key *key);

/* ---- domain.c ---- */

/* As nodes, which are sent to readers. */
extern List *dp_domains_to_list(const dp_domain *domain);
extern dp_domain *dp_domains_from_list(const List *list);
extern int64 dp_domains_size(const dp_domain *domain);
/* Number of values without other and NULL, which have the last places. */
extern int64 dp_domains_known(const dp_domain *domain);
/* The place of all undeclared values, or -1. */
extern int64 dp_domains_other(const dp_domain *domain);
extern Datum dp_domains_domain_value(const dp_domain *domain, int64 place,
									 bool *isnull);
extern int64 dp_domains_most_values(Oid type, Oid relid, AttrNumber attnum);
/* Estimate of dp_domains_size from the catalog alone, for planners. */
extern double dp_domains_estimate(const dp_key *key);

/* ---- declared texts and types (axis.c) ---- */
extern Datum dp_domains_read_declared(const char *text, Oid type,
									  int32 typmod);
extern int64 dp_domains_declared_integer(const char *text, Oid type);
extern bool dp_domains_is_integer(Oid type);
extern bool dp_domains_is_time(Oid type);
extern Numeric dp_domains_time_numeric(Datum value, Oid type);

/*
 * ---- values that an expression can have (expression_interval.c,
 * public_parts.c) ----
 */

/* Numbers from low to high, which may be infinite; empty: always NULL. */
typedef struct dp_interval
{
	bool		empty;
	Numeric		low;
	Numeric		high;
} dp_interval;

/*
 * What intervals follow from.  Conditions and filters are from
 * dp_domains_cut_public, and true of every row, or else all that they compare
 * is NULL; conditions also of the rows that aggregates and windows of levels
 * below are made from.
 */
typedef struct dp_known
{
	const List *relids;			/* OIDs of relations by varno */
	const List *publics;		/* of Const *: values of the parameters */
	const List *conditions;		/* of Node * */
	const List *filters;		/* of Node * */
} dp_known;

extern Node *dp_domains_cut_public(Node *expression, List **publics);

/* ---- narrow.c ---- */

extern bool dp_domains_narrows(Node *condition);

/* ---- expression_interval.c ---- */

extern bool dp_domains_find_interval(Node *expression, const dp_known *known,
									 dp_interval *interval);
extern bool dp_domains_lies_outside(const Var *column, const dp_known *known);

/* ---- from a value to its place and back (key_value.c) ---- */

typedef enum dp_axis_kind
{
	DP_AXIS_DENSE,
	DP_AXIS_LISTED,
	DP_AXIS_BINS,				/* values outside are in the end bins */
	DP_AXIS_BUCKETS				/* values outside have no place */
} dp_axis_kind;

/*
 * The places of the public values of a column or key: `known` ones, among
 * which rows are looked up, then those of all other values and of NULL.
 */
typedef struct dp_places
{
	int32		kind;			/* dp_axis_kind */
	Oid			type;			/* base type of the column */
	int64		first;			/* value at place 0; DP_AXIS_DENSE only */
	int64		known;
	int64		other;			/* place, or -1 */
	int64		null;			/* place, or -1 */
} dp_places;

/* Places in the flat form for looking up rows. */
typedef struct dp_axis_finder
{
	dp_places	places;
	char		spec[FLEXIBLE_ARRAY_MEMBER];	/* of a tally; not dense */
} dp_axis_finder;

static inline int64
dp_domains_integer(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		case INT8OID:
			return DatumGetInt64(value);
		default:
			return DatumGetBool(value) ? 1 : 0;
	}
}

/* ---- values of undeclared keys as bytes and back (key_value.c) ---- */
/* How values of a type are written as bytes. */
typedef struct dp_key_encoding
{
	Oid			type;			/* base type */
	int32		typmod;
	dp_read_way way;
	bool		varlena;
} dp_key_encoding;

extern bool dp_domains_is_ordering(Oid operator, Oid type);
extern bool dp_domains_has_twins(Oid type);
extern bool dp_domains_can_be_released(Oid type);
extern dp_key_encoding dp_domains_key_encoding(Oid type, int32 typmod);
extern Size dp_domains_key_write(const dp_key_encoding *how, Datum value,
								 bool isnull, char *to, Size room);
extern const char *dp_domains_key_read(const dp_key_encoding *how,
									   const char *from, Datum *value,
									   bool *isnull);

/* ---- axes: the public values of a column (axis.c) ---- */

/*
 * A column of a protected relation as places 0 .. size - 1: one for each
 * declared key, label of its enum, boolean, integer or date within declared
 * bounds; or `bins` equal half-open bins between the declared bounds, the last
 * one closed, whose values are representatives inside the bins.  `other` and
 * NULL, if the column has them, are the last places.
 */
typedef struct dp_axis
{
	AttrNumber	attnum;
	NameData	name;
	Oid			type;			/* of the column */
	int32		typmod;
	Oid			collation;
	int32		bins;			/* 0: none */
	int64		size;
	struct dp_axis_values *values;	/* defined below */
} dp_axis;

extern Datum dp_domains_axis_value(const dp_axis *axis, int64 place,
								   bool *isnull);
/* Whether every row has a place, as far as is publicly known. */
extern bool dp_domains_axis_is_complete(const dp_axis *axis);
/* A copyable form with all values as texts, which outlives declarations. */
extern List *dp_domains_axis_to_list(const dp_axis *axis);
extern dp_axis *dp_domains_axis_from_list(const List *list);

struct dp_axis_values
{
	dp_axis_finder *finder;
	Size		size;			/* of the finder */
	Datum	   *values;			/* by place; unused when dense */
	Numeric		lower;			/* DP_AXIS_BINS only; for dates and times */
	Numeric		upper;			/* days or microseconds */
	bool		complete;		/* see dp_domains_axis_is_complete */
};

/* ---- domain.c ---- */

/*
 * Public values of a group key in flat form, of *length bytes, owned by the
 * domain. 0A000 for a type without built-in equality.
 */
extern const dp_axis_finder *dp_domains_finder(dp_domain *domain,
											   Size *length);

/*
 * If the flat form finds places of the column that the key is computed from:
 * the key's place for each of these *n places, or -1.  NULL if it finds places
 * of the key.
 */
extern const int32 *dp_domains_map(const dp_domain *domain, int64 *n);

/* Make an axis of a column, with the values that it would have as a key. */
extern void dp_domains_make_axis(const dp_key *key, dp_axis *axis);

/* ---- axis.c ---- */
pg_noreturn extern void dp_domains_axis_raise(const dp_axis *axis,
											  const char *detail,
											  const char *hint);
extern dp_axis_finder *dp_domains_axis_make_finder(const dp_places *places,
												   const Const *spec,
												   Size *length);
extern void dp_domains_axis_set_finder(dp_axis *axis, dp_axis_kind kind,
									   Oid type, const Const *spec);
extern void dp_domains_axis_set_last_places(dp_axis *axis, int64 known,
											bool other, bool null);
extern void dp_domains_axis_make_listed(dp_axis *axis, Oid type, Datum *values,
										int64 known);
extern bool dp_domains_axis_can_have_bins(const dp_axis *axis, Oid relid,
										  AttrNumber attnum);
extern void dp_domains_axis_make_declared_bins(dp_axis *axis, Oid relid,
											   AttrNumber attnum,
											   bool nullable);

/* ---- tally.c ---- */
extern Const *dp_domains_tally_spec_const(void *spec, Size size);
extern Const *dp_domains_tally_bucket_spec(Oid type, Numeric lower,
										   Numeric upper, int64 n);
extern int64 dp_domains_tally_bucket(const void *spec, Datum value);
extern int64 dp_domains_tally_find_bucket(const void *spec, Datum value);
extern bool dp_domains_tally_can_read(Oid type);

/* NULL if two of the n values are equal; *twice is then the place of one. */
extern Const *dp_domains_tally_value_spec(Oid type, const Datum *values,
										  int64 n, int64 *twice);

/*
 * ---- from a value to its place ----
 *
 * The place, or -1: none.  Group keys, axes and tables of counts look up rows
 * here.  Equality is that of tally.c, intervals are those of
 * tally.c.  Never fails.
 */
static pg_attribute_always_inline int64
dp_domains_axis_find_flat(const dp_axis_finder *finder, Datum value,
						  bool isnull)
{
	const dp_places *places = &finder->places;
	int64		place;

	if (isnull)
		return places->null;
	switch ((dp_axis_kind) places->kind)
	{
		case DP_AXIS_DENSE:
			if (__builtin_sub_overflow(dp_domains_integer(places->type, value),
									   places->first, &place) ||
				place < 0 || place >= places->known)
				return places->other;
			return place;
		case DP_AXIS_LISTED:
			place = dp_domains_tally_find_value(finder->spec, value);
			return place < 0 ? places->other : place;
		case DP_AXIS_BINS:
			return dp_domains_tally_find_bucket(finder->spec, value);
		case DP_AXIS_BUCKETS:
			return dp_domains_tally_bucket(finder->spec, value);
	}
	return -1;
}

struct dp_domain
{
	int64		size;			/* all values, other and NULL included */
	dp_places	places;			/* dense or listed */
	Datum	   *values;			/* by place; unused when dense */
	dp_axis_finder *finder;		/* flat form; NULL until needed */
	Size		length;			/* of finder */
	dp_domain  *base;			/* of the column by which rows are looked up */
	int32	   *map;			/* by place of `base`; NULL without base */
	const dp_key *undecided;	/* the key of which these are all values; or
								 * NULL */
	double		part;			/* of the column's bounds, that comparisons
								 * leave; 0: unknown */
};

#endif							/* DP_DOMAINS_H */
