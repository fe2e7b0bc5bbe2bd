/*
 * tally.c
 *	  Values as bytes that tell them apart, and looked up as buckets or
 *	  candidates, by constants that only a release makes.
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		Values of built-in types as integers or bytes, which are the same if
 *		and only if the values are equal.
 *
 * Equality is that of the type; for texts it is bytewise (callers refuse
 * nondeterministic collations).  PostgreSQL's hash functions cannot
 * distinguish values: some of them collide for many values under every seed.
 * ----------------
 */

static const struct
{
	Oid			type;
	dp_read_way way;
}			readable[] =
{
	{ANYENUMOID, DP_READ_INT4},	/* every enum */
	{BOOLOID, DP_READ_BYTE},
	{CHAROID, DP_READ_BYTE},
	{INT2OID, DP_READ_INT2},
	{INT4OID, DP_READ_INT4},
	{INT8OID, DP_READ_INT8},
	{OIDOID, DP_READ_INT4},
	{DATEOID, DP_READ_INT4},
	{TIMEOID, DP_READ_INT8},
	{TIMESTAMPOID, DP_READ_INT8},
	{TIMESTAMPTZOID, DP_READ_INT8},
	{CASHOID, DP_READ_INT8},
	{PG_LSNOID, DP_READ_INT8},
	{XID8OID, DP_READ_INT8},
	{FLOAT4OID, DP_READ_FLOAT4},
	{FLOAT8OID, DP_READ_FLOAT8},
	{TEXTOID, DP_READ_TEXT},
	{VARCHAROID, DP_READ_TEXT},
	{BYTEAOID, DP_READ_TEXT},
	{BITOID, DP_READ_TEXT},		/* unused bits are 0 */
	{VARBITOID, DP_READ_TEXT},
	{INETOID, DP_READ_TEXT},	/* family, bits of the network, address */
	{CIDROID, DP_READ_TEXT},
	{OIDVECTOROID, DP_READ_TEXT},
	{BPCHAROID, DP_READ_BLANKED},
	{NAMEOID, DP_READ_NAME},
	{UUIDOID, DP_READ_UUID},
	{TIDOID, DP_READ_TID},
	{MACADDROID, DP_READ_MAC},
	{MACADDR8OID, DP_READ_MAC8},
	{NUMERICOID, DP_READ_NUMERIC},
	{INTERVALOID, DP_READ_INTERVAL},
	{TIMETZOID, DP_READ_TIMETZ}
};

/* dp_domains_read_way: DP_READ_NONE for a type without built-in equality. */
dp_read_way
dp_domains_read_way(Oid type)
{
	int			i;

	if (type_is_enum(type))
		type = ANYENUMOID;
	for (i = 0; i < lengthof(readable); i++)
		if (readable[i].type == type)
			return readable[i].way;
	return DP_READ_NONE;
}

static void
read_varlena(Datum value, bool blanked, dp_value_bytes *out)
{
	struct varlena *text = pg_detoast_datum_packed(
		(struct varlena *) DatumGetPointer(value));

	if ((Pointer) text != DatumGetPointer(value))
		out->copy = text;
	out->bytes = VARDATA_ANY(text);
	out->length = VARSIZE_ANY_EXHDR(text);
	if (blanked)
		out->length = bpchartruelen(VARDATA_ANY(text), (int) out->length);
}

/*
 * The output of numeric_send (number of digits, weight, sign, scale, digits)
 * with a scale of 0, since only the scale differs between equal numbers.
 */
static void
tally_read_numeric(Datum value, dp_value_bytes *out)
{
	Numeric		number = DatumGetNumeric(value);
	bytea	   *sent = DatumGetByteaPP(
		DirectFunctionCall1(numeric_send, NumericGetDatum(number)));

	/* one in a row is mostly short, and a copy; rows may share a context */
	if ((Pointer) number != DatumGetPointer(value))
		pfree(number);
	memset(VARDATA_ANY(sent) + 3 * sizeof(int16), 0, sizeof(int16));
	out->bytes = VARDATA_ANY(sent);
	out->length = VARSIZE_ANY_EXHDR(sent);
	out->copy = sent;
}

/* In comparisons of intervals a month has 30 days and a day 24 hours. */
static void
read_interval(const Interval *value, dp_value_bytes *out)
{
	__int128	days = (__int128) value->month * DAYS_PER_MONTH + value->day;
	__int128	span = days * USECS_PER_DAY + value->time;

	memcpy(out->room, &span, sizeof(span));
	out->bytes = out->room;
	out->length = sizeof(span);
}

static void
read_timetz(const TimeTzADT *value, dp_value_bytes *out)
{
	memcpy(out->room, &value->time, sizeof(value->time));
	memcpy(out->room + sizeof(value->time), &value->zone,
		   sizeof(value->zone));
	out->bytes = out->room;
	out->length = sizeof(value->time) + sizeof(value->zone);
}

static void
tally_read_fixed(Datum value, int64 length, dp_value_bytes *out)
{
	out->bytes = (const char *) DatumGetPointer(value);
	out->length = length;
}

/* dp_domains_fetch_bytes: see dp_domains.h. */
void
dp_domains_fetch_bytes(dp_read_way way, Datum value, dp_value_bytes *out)
{
	out->copy = NULL;
	switch (way)
	{
		case DP_READ_TEXT:
		case DP_READ_BLANKED:
			read_varlena(value, way == DP_READ_BLANKED, out);
			break;
		case DP_READ_NAME:
			out->bytes = NameStr(*DatumGetName(value));
			out->length = strnlen(out->bytes, NAMEDATALEN);
			break;
		case DP_READ_UUID:
			tally_read_fixed(value, UUID_LEN, out);
			break;
		case DP_READ_TID:
			tally_read_fixed(value, sizeof(ItemPointerData), out);
			break;
		case DP_READ_MAC:
			tally_read_fixed(value, 6, out);
			break;
		case DP_READ_MAC8:
			tally_read_fixed(value, 8, out);
			break;
		case DP_READ_NUMERIC:
			tally_read_numeric(value, out);
			break;
		case DP_READ_INTERVAL:
			read_interval(DatumGetIntervalP(value), out);
			break;
		case DP_READ_TIMETZ:
			read_timetz(DatumGetTimeTzADTP(value), out);
			break;
		default:
			elog(ERROR, "values of way %d are integers", (int) way);
	}
}

/* ----------------
 *		Constants of inner queries that tell how rows are looked up or counted;
 *		only a release makes them.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_tally_spec_in);
PG_FUNCTION_INFO_V1(dp_tally_spec_out);

/* dp_tally_spec_in: raises 0A000; only a release makes specs. */
Datum
dp_tally_spec_in(PG_FUNCTION_ARGS)
{
	dp_base_forbid_input("dp_pg.tally_spec");
}

/* dp_tally_spec_out: a placeholder, in case a plan is printed. */
Datum
dp_tally_spec_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(pstrdup("(cells)"));
}

/*
 * dp_domains_tally_spec_const: a flat spec as a constant of the inner query.
 */
Const *
dp_domains_tally_spec_const(void *spec, Size size)
{
	SET_VARSIZE(spec, size);
	return makeConst(dp_catalog_type("tally_spec"), -1, InvalidOid, -1,
					 PointerGetDatum(spec), false, false);
}

/* ----------------
 *		The place of a value among n public candidates.
 *
 * A value has the place of the candidate with the same bytes, or none.
 *
 * The spec is one flat constant.  Values that are read as integers (most
 * fixed-length types, floats by their bits) are looked up in a table by
 * distance from the first if the candidates are close together; everything
 * else, by open addressing.  Slots hold place + 1; 0 is empty.
 * ----------------
 */

/* Candidates in a smaller range are looked up directly. */
#define DIRECT_SLOTS(n) (8 * (uint64) (n) + 1024)

/* A candidate that is bytes, aligned. */
typedef struct dp_entry
{
	int64		length;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} dp_entry;

/*
 * dp_domains_tally_can_read: whether rows of the type can be counted by value.
 */
bool
dp_domains_tally_can_read(Oid type)
{
	return dp_domains_read_way(type) != DP_READ_NONE;
}

/*
 * Whether a text is longer than any candidate.  Decided without detoasting it.
 */
static inline bool
is_too_long(const dp_value_spec *spec, Datum value)
{
	return spec->reading == DP_READ_TEXT && dp_domains_is_packed(value) &&
		(int64) toast_raw_datum_size(value) - VARHDRSZ > spec->longest;
}

/* ---- looking up ---- */

static inline const dp_entry *
entry_of(const dp_value_spec *spec, int64 place)
{
	return (const dp_entry *)
		((const char *) spec + dp_domains_keys(spec)[place]);
}

static inline int64
find_bytes(const dp_value_spec *spec, const char *bytes, int64 length,
		   uint64 *slot)
{
	uint64		mask = spec->nslots - 1;

	*slot = dp_domains_scatter(hash_bytes((const unsigned char *) bytes,
										  (int) length));
	for (*slot &= mask;; *slot = (*slot + 1) & mask)
	{
		int64		place = spec->slots[*slot] - 1;
		const dp_entry *entry;

		if (place < 0)
			return place;
		entry = entry_of(spec, place);
		if (entry->length == length &&
			memcmp(entry->bytes, bytes, length) == 0)
			return place;
	}
}

static inline int64
tally_find_value(const dp_value_spec *spec, Datum value, uint64 *slot)
{
	dp_value_bytes read;
	int64		place;
	int64		x;

	if (dp_domains_read_integer(spec->reading, value, &x))
		return dp_domains_find_integer(spec, x, slot);
	if (is_too_long(spec, value))
		return -1;
	dp_domains_read_bytes(spec->reading, value, &read);
	place = find_bytes(spec, read.bytes, read.length, slot);
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
	return place;
}

/* dp_domains_tally_find_bytes: see dp_domains.h. */
int64
dp_domains_tally_find_bytes(const dp_value_spec *spec, Datum value)
{
	uint64		slot;

	return tally_find_value(spec, value, &slot);
}

/* ---- the spec ---- */

/* Number of slots of a hash table. */
static uint64
hash_slots(int64 n)
{
	uint64		slots = 16;

	while (slots < 2 * (uint64) n)
		slots *= 2;
	return slots;
}

static dp_value_spec *
tally_make_spec(dp_read_way way, int64 n, uint64 nslots, Size entries,
				Size *size)
{
	Size		keys = MAXALIGN(offsetof(dp_value_spec, slots) +
								sizeof(int32) * nslots);
	dp_value_spec *spec;

	*size = keys + sizeof(int64) * n + entries;
	spec = palloc0(*size);
	spec->reading = way;
	spec->n = n;
	spec->nslots = nslots;
	spec->keys = (int64) keys;
	spec->longest = PG_INT32_MAX;
	return spec;
}

/* Put the candidates into the table; false if two are equal. */
static bool
tally_fill_slots(dp_value_spec *spec, const Datum *values, int64 *twice)
{
	int64		i;

	for (i = 0; i < spec->n; i++)
	{
		uint64		slot = 0;

		if (tally_find_value(spec, values[i], &slot) >= 0)
		{
			*twice = i;
			return false;
		}
		spec->slots[slot] = (int32) (i + 1);
	}
	return true;
}

static dp_value_spec *
integer_spec(dp_read_way way, const Datum *values, int64 n, Size *size)
{
	int64	   *keys = palloc_extended(sizeof(int64) * n, MCXT_ALLOC_HUGE);
	int64		first = PG_INT64_MAX;
	int64		last = PG_INT64_MIN;
	uint64		range;
	bool		direct;
	dp_value_spec *spec;
	int64		i;

	for (i = 0; i < n; i++)
	{
		(void) dp_domains_read_integer(way, values[i], &keys[i]);
		first = Min(first, keys[i]);
		last = Max(last, keys[i]);
	}
	range = (uint64) last - (uint64) first;
	direct = range < DIRECT_SLOTS(n);
	spec = tally_make_spec(way, n, direct ? range + 1 : hash_slots(n), 0,
						   size);
	spec->direct = direct;
	spec->first = first;
	memcpy((char *) spec + spec->keys, keys, sizeof(int64) * n);
	pfree(keys);
	return spec;
}

/* Store a candidate's bytes in an entry, unless NULL; returns its size. */
static Size
fill_entry(dp_read_way way, Datum value, dp_entry *entry)
{
	dp_value_bytes read;

	dp_domains_read_bytes(way, value, &read);
	if (entry != NULL)
	{
		entry->length = read.length;
		memcpy(entry->bytes, read.bytes, read.length);
	}
	if (read.copy != NULL)
		pfree(read.copy);
	return MAXALIGN(offsetof(dp_entry, bytes) + read.length);
}

/* Entries follow the keys, each aligned. */
static dp_value_spec *
entry_spec(dp_read_way way, const Datum *values, int64 n, Size *size)
{
	dp_value_spec *spec;
	Size		entries = 0;
	Size		end;
	int64		i;

	for (i = 0; i < n; i++)
		entries += fill_entry(way, values[i], NULL);
	spec = tally_make_spec(way, n, hash_slots(n), entries, size);
	end = *size - entries;
	for (i = 0; i < n; i++)
	{
		((int64 *) dp_domains_keys(spec))[i] = (int64) end;
		end += fill_entry(way, values[i], (dp_entry *) ((char *) spec + end));
	}
	return spec;
}

static int64
longest_entry(const dp_value_spec *spec)
{
	int64		longest = 0;
	int64		i;

	for (i = 0; i < spec->n; i++)
		longest = Max(longest, entry_of(spec, i)->length);
	return longest;
}

/*
 * dp_domains_tally_value_spec
 *	  n >= 1 candidates as a constant of the inner query; see dp_domains.h.
 *
 * Requires: dp_domains_tally_can_read(type).
 */
Const *
dp_domains_tally_value_spec(Oid type, const Datum *values, int64 n,
							int64 *twice)
{
	dp_read_way way = dp_domains_read_way(type);
	int64		ignored;
	bool		integers = dp_domains_read_integer(way, values[0], &ignored);
	Size		size;
	dp_value_spec *spec;

	spec = integers ? integer_spec(way, values, n, &size) :
		entry_spec(way, values, n, &size);
	if (!tally_fill_slots(spec, values, twice))
		return NULL;
	if (!integers)
		spec->longest = longest_entry(spec);
	return dp_domains_tally_spec_const(spec, size);
}

/* ----------------
 *		The place of a value among n intervals of equal width.
 *
 * Bucket i (from 0) of [lower, upper] holds x with edge(i) <= x < edge(i+1),
 * edge(i) = lower + i (upper - lower) / n, and the last one also upper.
 * Values outside, NaN and infinities are in none.
 *
 * The spec has the edges in a form in which comparisons are exact:
 *
 *		integers, dates, times	the least integer >= edge(i)
 *		numeric					n edge(i), which is a finite decimal, to be
 *								compared with n x
 *		floats					the float of the column's type nearest to
 *								edge(i), so that an edge with few decimals
 *								equals the same decimal in a row
 *
 * A multiplication estimates the bucket, and the edges decide.
 * ----------------
 */

/* Edges of floats: decimal digits after the point before rounding. */
#define EDGE_DIGITS "1e40"
#define EDGE_UNIT "1e-40"

typedef union dp_edge
{
	int64		integer;
	float8		number;
	int64		offset;			/* of a numeric, from the spec's start */
} dp_edge;

typedef struct dp_bucket_spec
{
	int32		vl_len_;
	Oid			type;			/* of the argument */
	int64		n;
	int64		reach;			/* edges within the range of values, <= n */
	float8		factor;			/* buckets per unit */
	dp_edge		lower;			/* numeric only: the bounds themselves */
	dp_edge		upper;			/* inclusive */
	dp_edge		edges[FLEXIBLE_ARRAY_MEMBER];	/* n of them, ascending */
} dp_bucket_spec;

/* ---- finding a bucket ---- */

/* The last edge <= x by bisection; x is at least the first. */
#define BISECT(spec, is_at_least) \
	int64		low = 0; \
	int64		high = (spec)->reach - 1; \
	while (low < high) \
	{ \
		int64		middle = low + (high - low + 1) / 2; \
		if (is_at_least(middle)) \
			low = middle; \
		else \
			high = middle - 1; \
	} \
	return low

static pg_noinline int64
bisect_integer(const dp_bucket_spec *spec, int64 x)
{
#define AT_LEAST(i) (x >= spec->edges[i].integer)
	BISECT(spec, AT_LEAST);
#undef AT_LEAST
}

static pg_noinline int64
bisect_float(const dp_bucket_spec *spec, float8 x)
{
#define AT_LEAST(i) (x >= spec->edges[i].number)
	BISECT(spec, AT_LEAST);
#undef AT_LEAST
}

static inline int64
bucket_of_integer(const dp_bucket_spec *spec, int64 x)
{
	uint64		above = (uint64) x - (uint64) spec->edges[0].integer;
	int64		guess;

	if (spec->reach == 0 || x < spec->edges[0].integer ||
		x > spec->upper.integer)
		return -1;
	guess = (int64) ((double) above * spec->factor);
	if (guess >= spec->reach)
		guess = spec->reach - 1;
	if (likely(x >= spec->edges[guess].integer &&
			   (guess + 1 == spec->reach ||
				x < spec->edges[guess + 1].integer)))
		return guess;
	return bisect_integer(spec, x);
}

static inline int64
bucket_of_float(const dp_bucket_spec *spec, float8 x)
{
	double		place;
	int64		guess;

	/* also false for NaN */
	if (!(x >= spec->edges[0].number && x <= spec->upper.number))
		return -1;
	place = (x - spec->edges[0].number) * spec->factor;
	guess = place < (double) spec->n ? (int64) place : spec->n - 1;
	if (likely(x >= spec->edges[guess].number &&
			   (guess + 1 == spec->n ||
				x < spec->edges[guess + 1].number)))
		return guess;
	return bisect_float(spec, x);
}

static inline Datum
numeric_edge(const dp_bucket_spec *spec, dp_edge edge)
{
	return PointerGetDatum((const char *) spec + edge.offset);
}

static bool
numeric_at_least(Datum x, Datum y)
{
	return DatumGetInt32(DirectFunctionCall2(numeric_cmp, x, y)) >= 0;
}

static int64
bisect_numeric(const dp_bucket_spec *spec, Datum scaled)
{
#define AT_LEAST(i) \
	numeric_at_least(scaled, numeric_edge(spec, spec->edges[i]))
	BISECT(spec, AT_LEAST);
#undef AT_LEAST
}

/*
 * The bounds are compared first, so that there is no arithmetic on huge
 * values; values between them can be multiplied by n, as the bounds could.
 */
static int64
bucket_of_numeric(const dp_bucket_spec *spec, Datum value)
{
	Numeric		number = DatumGetNumeric(value);
	Datum		x = NumericGetDatum(number);

	if (numeric_is_nan(number) ||
		!numeric_at_least(x, numeric_edge(spec, spec->lower)) ||
		!numeric_at_least(numeric_edge(spec, spec->upper), x))
		return -1;
	return bisect_numeric(spec, DirectFunctionCall2(
							  numeric_mul, x,
							  NumericGetDatum(int64_to_numeric(spec->n))));
}

static inline int64
tally_bucket_of(const dp_bucket_spec *spec, Datum x)
{
	switch (spec->type)
	{
		case INT4OID:
		case DATEOID:
			return bucket_of_integer(spec, DatumGetInt32(x));
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return bucket_of_integer(spec, DatumGetInt64(x));
		case FLOAT8OID:
			return bucket_of_float(spec, DatumGetFloat8(x));
		case FLOAT4OID:
			return bucket_of_float(spec, DatumGetFloat4(x));
		case INT2OID:
			return bucket_of_integer(spec, DatumGetInt16(x));
		default:
			return bucket_of_numeric(spec, x);
	}
}

/* Whether a value that is in no bucket is above all buckets. */
static bool
tally_is_above(const dp_bucket_spec *spec, Datum x)
{
	switch (spec->type)
	{
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(x) > spec->upper.integer;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return DatumGetInt64(x) > spec->upper.integer;
		case INT2OID:
			return DatumGetInt16(x) > spec->upper.integer;
		case FLOAT8OID:
			return DatumGetFloat8(x) > spec->upper.number;
		case FLOAT4OID:
			return DatumGetFloat4(x) > spec->upper.number;
		default:
			return numeric_at_least(x, numeric_edge(spec, spec->upper));
	}
}

static bool
is_nan(const dp_bucket_spec *spec, Datum x)
{
	switch (spec->type)
	{
		case FLOAT8OID:
			return isnan(DatumGetFloat8(x));
		case FLOAT4OID:
			return isnan(DatumGetFloat4(x));
		case NUMERICOID:
			return numeric_is_nan(DatumGetNumeric(x));
		default:
			return false;
	}
}

/*
 * dp_domains_tally_bucket
 *	  The bucket of a value, or -1.
 */
int64
dp_domains_tally_bucket(const void *spec, Datum value)
{
	return tally_bucket_of(spec, value);
}

/*
 * dp_domains_tally_find_bucket
 *	  The bucket of a value clamped to the bounds; -1 for NaN.
 */
int64
dp_domains_tally_find_bucket(const void *spec, Datum value)
{
	const dp_bucket_spec *buckets = spec;
	int64		bucket = tally_bucket_of(buckets, value);

	if (likely(bucket >= 0))
		return bucket;
	if (is_nan(buckets, value))
		return -1;
	return tally_is_above(buckets, value) ? buckets->n - 1 : 0;
}

/*
 * dp_domains_tally_bucket_limits
 *	  The least and the greatest integer, day or microsecond of a bucket; first
 *	  > last if it is empty.
 */
void
dp_domains_tally_bucket_limits(const void *spec, int64 bucket, int64 *first,
							   int64 *last)
{
	const dp_bucket_spec *buckets = spec;

	*first = buckets->edges[bucket].integer;
	*last = bucket + 1 == buckets->n ? buckets->upper.integer :
		buckets->edges[bucket + 1].integer - 1;
}

/* ---- the spec ---- */

static Datum
tally_multiply(Datum a, Datum b)
{
	return DirectFunctionCall2(numeric_mul, a, b);
}

static Datum
from_integer(int64 x)
{
	return NumericGetDatum(int64_to_numeric(x));
}

/* n edge(i) = n lower + i (upper - lower), exactly. */
static Datum
scaled_edge(Numeric lower, Numeric upper, int64 n, int64 i)
{
	Datum		width = DirectFunctionCall2(numeric_sub,
											NumericGetDatum(upper),
											NumericGetDatum(lower));

	return DirectFunctionCall2(numeric_add,
							   tally_multiply(NumericGetDatum(lower),
											  from_integer(n)),
							   tally_multiply(width, from_integer(i)));
}

/* floor(x / n), n > 0, exactly. */
static Datum
tally_floor_quotient(Datum x, int64 n)
{
	Datum		divisor = from_integer(n);
	Datum		quotient = DirectFunctionCall2(numeric_div_trunc, x, divisor);

	if (!numeric_at_least(x, tally_multiply(quotient, divisor)))
		quotient = DirectFunctionCall2(numeric_sub, quotient,
									   from_integer(1));
	return quotient;
}

/* The least integer >= x / n in *out; returns 1 if it is above 64 bits. */
static int
integer_edge(Datum x, int64 n, int64 *out)
{
	Datum		minus = DirectFunctionCall1(numeric_uminus, x);
	Datum		edge = DirectFunctionCall1(numeric_uminus,
										   tally_floor_quotient(minus, n));
	dp_int128	value;

	if (numeric_at_least(from_integer(PG_INT64_MIN), edge))
		*out = PG_INT64_MIN;
	else if (!numeric_at_least(from_integer(PG_INT64_MAX), edge))
		return 1;
	else if (dp_base_numeric_to_int128(DatumGetNumeric(edge), &value))
		*out = (int64) value;
	return 0;
}

static void
fill_integers(dp_bucket_spec *spec, Numeric lower, Numeric upper)
{
	int64		beyond;
	int64		i;

	for (i = 0; i < spec->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (integer_edge(scaled_edge(lower, upper, spec->n, i), spec->n,
						 &spec->edges[i].integer) != 0)
			break;
	}
	spec->reach = i;

	/* floor(upper) = the least integer >= -upper, negated */
	if (!numeric_at_least(NumericGetDatum(upper),
						  from_integer(PG_INT64_MIN)))
		spec->reach = 0;
	else if (integer_edge(DirectFunctionCall1(numeric_uminus,
											  NumericGetDatum(upper)),
						  1, &beyond) == 0)
		spec->upper.integer = beyond == PG_INT64_MIN ? PG_INT64_MAX : -beyond;
	else
		spec->upper.integer = PG_INT64_MIN; /* upper is -2^63 */
}

/* The float of the type nearest to x / n. */
static float8
float_edge(Oid type, Datum x, int64 n)
{
	Datum		quotient;
	float8		edge;

	quotient = DirectFunctionCall2(numeric_div,
								   tally_multiply(x, NumericGetDatum(
									   dp_base_text_to_numeric(
										   EDGE_DIGITS))),
								   from_integer(n));
	quotient = tally_multiply(quotient, NumericGetDatum(
							dp_base_text_to_numeric(EDGE_UNIT)));
	edge = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  quotient));
	if (type == FLOAT4OID)
		edge = (float8) (float4) edge;
	return edge;
}

static void
fill_floats(dp_bucket_spec *spec, Numeric lower, Numeric upper)
{
	int64		i;

	for (i = 0; i < spec->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		spec->edges[i].number =
			float_edge(spec->type, scaled_edge(lower, upper, spec->n, i),
					   spec->n);
		if (i > 0 && spec->edges[i].number < spec->edges[i - 1].number)
			spec->edges[i].number = spec->edges[i - 1].number;
	}
	spec->upper.number = float_edge(spec->type, NumericGetDatum(upper), 1);
	spec->reach = spec->n;
	if (isinf(spec->upper.number) || isinf(spec->edges[0].number) ||
		spec->upper.number <= spec->edges[0].number)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds are out of range for the type of the "
						"column"),
				 errhint("Use bounds further apart and within its range.")));
}

/* Store a numeric at *end of the spec and advance *end. */
static dp_edge
place_numeric(dp_bucket_spec *spec, Size *end, Numeric number)
{
	dp_edge		edge;

	edge.offset = (int64) *end;
	memcpy((char *) spec + *end, number, VARSIZE(number));
	*end += MAXALIGN(VARSIZE(number));
	return edge;
}

/* Make the spec for numerics, which follow the edges. */
static dp_bucket_spec *
fill_numerics(dp_bucket_spec *spec, Size *size, Numeric lower, Numeric upper)
{
	int64		n = spec->n;
	Numeric    *edges = palloc(sizeof(Numeric) * (n + 1));
	Size		end = MAXALIGN(*size);
	int64		i;

	/* the last one only checks that upper can be multiplied by n */
	for (i = 0; i <= n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		edges[i] = DatumGetNumeric(scaled_edge(lower, upper, n, i));
	}
	*size = end + MAXALIGN(VARSIZE(lower)) + MAXALIGN(VARSIZE(upper));
	for (i = 0; i < n; i++)
		*size += MAXALIGN(VARSIZE(edges[i]));
	spec = repalloc(spec, *size);
	memset((char *) spec + end, 0, *size - end);
	spec->lower = place_numeric(spec, &end, lower);
	spec->upper = place_numeric(spec, &end, upper);
	for (i = 0; i < n; i++)
		spec->edges[i] = place_numeric(spec, &end, edges[i]);
	spec->reach = n;
	return spec;
}

/*
 * dp_domains_tally_bucket_spec
 *	  The spec of n buckets with finite bounds lower < upper for values of the
 *	  type; bounds of dates and times are in days and microseconds.
 *
 * Errors: 22023 if the column's type cannot distinguish the bounds.
 */
Const *
dp_domains_tally_bucket_spec(Oid type, Numeric lower, Numeric upper, int64 n)
{
	Size		size = offsetof(dp_bucket_spec, edges) + sizeof(dp_edge) * n;
	dp_bucket_spec *spec = palloc0(size);
	Datum		width = DirectFunctionCall2(numeric_sub,
											NumericGetDatum(upper),
											NumericGetDatum(lower));

	spec->type = type;
	spec->n = n;
	spec->factor = (double) n /
		DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
										   width));
	if (!isfinite(spec->factor))
		spec->factor = 0;
	if (type == FLOAT4OID || type == FLOAT8OID)
		fill_floats(spec, lower, upper);
	else if (type == NUMERICOID)
		spec = fill_numerics(spec, &size, lower, upper);
	else
		fill_integers(spec, lower, upper);
	return dp_domains_tally_spec_const(spec, size);
}
