/*
 * tally_value.c
 *	  The place of a value among n public candidates.
 *
 * A value has the place of the candidate that equals it, or none.  Equality
 * is that of the type for the built-in types listed here, and bytewise for
 * texts (collations that are not deterministic are refused before).  Nothing
 * but code of this file and of PostgreSQL itself sees a row.
 *
 * The spec is one flat constant.  Values that are integers inside (most fixed
 * types, floats by their bits) are looked up in a table by value - first when
 * the candidates lie close together; everything else by open addressing.
 * Slots hold place + 1, and 0 is empty.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "dp_places.h"

/* How a Datum of the type is read. */
typedef enum dp_read_way
{
	DP_READ_INT4,
	DP_READ_INT8,
	DP_READ_INT2,
	DP_READ_BYTE,				/* boolean, "char" */
	DP_READ_FLOAT4,
	DP_READ_FLOAT8,
	DP_READ_TEXT,				/* a varlena by its bytes */
	DP_READ_BLANKED,			/* the same without trailing blanks */
	DP_READ_NAME,
	DP_READ_FIXED,				/* by its bytes, by reference */
	DP_READ_FUNCTION			/* by the type's hash and equality */
} dp_read_way;

typedef struct dp_readable
{
	Oid			type;
	dp_read_way reading;
	int			length;			/* DP_READ_FIXED */
	PGFunction	hash;			/* DP_READ_FUNCTION */
	PGFunction	equal;
} dp_readable;

static const dp_readable readable[] =
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
	{FLOAT4OID, DP_READ_FLOAT4},
	{FLOAT8OID, DP_READ_FLOAT8},
	{TEXTOID, DP_READ_TEXT},
	{VARCHAROID, DP_READ_TEXT},
	{BYTEAOID, DP_READ_TEXT},
	{BITOID, DP_READ_TEXT},		/* unused bits are 0 */
	{VARBITOID, DP_READ_TEXT},
	{BPCHAROID, DP_READ_BLANKED},
	{NAMEOID, DP_READ_NAME},
	{UUIDOID, DP_READ_FIXED, 16},
	{MACADDROID, DP_READ_FIXED, 6},
	{MACADDR8OID, DP_READ_FIXED, 8},
	{NUMERICOID, DP_READ_FUNCTION, 0, hash_numeric, numeric_eq},
	{INTERVALOID, DP_READ_FUNCTION, 0, interval_hash, interval_eq},
	{TIMETZOID, DP_READ_FUNCTION, 0, timetz_hash, timetz_eq},
	{INETOID, DP_READ_FUNCTION, 0, hashinet, network_eq},
	{CIDROID, DP_READ_FUNCTION, 0, hashinet, network_eq}
};

/* Closer together than this, candidates are looked up directly. */
#define DIRECT_SLOTS(n) (8 * (uint64) (n) + 1024)

typedef struct dp_value_spec
{
	int32		vl_len_;
	int32		reading;
	int32		function;		/* index in readable */
	int32		direct;			/* slots[value - first] */
	int64		n;
	int64		first;
	uint64		nslots;			/* a power of two unless direct */
	int64		longest;		/* bytes of a candidate; texts only */
	int64		keys;			/* offset of n int64: values, or offsets of
								 * entries */
	int32		slots[FLEXIBLE_ARRAY_MEMBER];
} dp_value_spec;

/* A candidate that is bytes; a Datum's content stands aligned. */
typedef struct dp_entry
{
	int64		length;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} dp_entry;

static const dp_readable *
find_readable(Oid type)
{
	int			i;

	if (type_is_enum(type))
		type = ANYENUMOID;
	for (i = 0; i < lengthof(readable); i++)
		if (readable[i].type == type)
			return &readable[i];
	return NULL;
}

/* dp_places_tally_can_read: may rows of the type be counted by value? */
bool
dp_places_tally_can_read(Oid type)
{
	return find_readable(type) != NULL;
}

/* ---- reading values ---- */

/* Bits that are equal exactly for floats that are equal in PostgreSQL. */
static inline int64
float_bits(float8 x)
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

static inline bool
read_integer(int reading, Datum value, int64 *out)
{
	switch (reading)
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
			*out = float_bits(DatumGetFloat4(value));
			return true;
		case DP_READ_FLOAT8:
			*out = float_bits(DatumGetFloat8(value));
			return true;
		default:
			return false;
	}
}

/*
 * The bytes of a text, or false when it is longer than any candidate, which
 * is known without fetching it.
 */
static inline bool
read_text(Datum value, int64 longest, const char **bytes, int64 *length)
{
	struct varlena *text = (struct varlena *) DatumGetPointer(value);

	if (unlikely(VARATT_IS_EXTERNAL(text) || VARATT_IS_COMPRESSED(text)))
	{
		if ((int64) toast_raw_datum_size(value) - VARHDRSZ > longest)
			return false;
		text = pg_detoast_datum_packed(text);
	}
	*bytes = VARDATA_ANY(text);
	*length = VARSIZE_ANY_EXHDR(text);
	return *length <= longest;
}

static bool
read_bytes(const dp_value_spec *spec, Datum value, const char **bytes,
		   int64 *length)
{
	struct varlena *text;

	switch (spec->reading)
	{
		case DP_READ_TEXT:
			return read_text(value, spec->longest, bytes, length);
		case DP_READ_BLANKED:
			text = PG_DETOAST_DATUM_PACKED(value);
			*bytes = VARDATA_ANY(text);
			*length = bpchartruelen(VARDATA_ANY(text),
									VARSIZE_ANY_EXHDR(text));
			return true;
		case DP_READ_NAME:
			*bytes = NameStr(*DatumGetName(value));
			*length = strnlen(*bytes, NAMEDATALEN);
			return true;
		default:
			*bytes = (const char *) DatumGetPointer(value);
			*length = readable[spec->function].length;
			return true;
	}
}

/* ---- looking up ---- */

static inline uint64
scatter(uint64 x)
{
	x *= UINT64CONST(0x9E3779B97F4A7C15);
	return x ^ (x >> 32);
}

static inline const int64 *
keys_of(const dp_value_spec *spec)
{
	return (const int64 *) ((const char *) spec + spec->keys);
}

static inline const dp_entry *
entry_of(const dp_value_spec *spec, int64 place)
{
	return (const dp_entry *) ((const char *) spec + keys_of(spec)[place]);
}

/* Each finder answers a place, or -1; *slot is the slot it ended at. */
static inline int64
find_integer(const dp_value_spec *spec, int64 x, uint64 *slot)
{
	uint64		mask = spec->nslots - 1;

	if (likely(spec->direct))
	{
		*slot = (uint64) x - (uint64) spec->first;
		return *slot < spec->nslots ? spec->slots[*slot] - 1 : -1;
	}
	for (*slot = scatter((uint64) x) & mask;; *slot = (*slot + 1) & mask)
	{
		int64		place = spec->slots[*slot] - 1;

		if (place < 0 || keys_of(spec)[place] == x)
			return place;
	}
}

static inline int64
find_bytes(const dp_value_spec *spec, const char *bytes, int64 length,
		   uint64 *slot)
{
	uint64		mask = spec->nslots - 1;

	*slot = scatter(hash_bytes((const unsigned char *) bytes, (int) length));
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

static int64
find_function(const dp_value_spec *spec, Datum value, uint64 *slot)
{
	const dp_readable *type = &readable[spec->function];
	uint64		mask = spec->nslots - 1;

	*slot = scatter(DatumGetUInt32(DirectFunctionCall1(type->hash, value)));
	for (*slot &= mask;; *slot = (*slot + 1) & mask)
	{
		int64		place = spec->slots[*slot] - 1;

		if (place < 0 ||
			DatumGetBool(DirectFunctionCall2(
							 type->equal, value,
							 PointerGetDatum(entry_of(spec, place)->bytes))))
			return place;
	}
}

static inline int64
find_value(const dp_value_spec *spec, Datum value, uint64 *slot)
{
	const char *bytes;
	int64		length;
	int64		x;

	if (read_integer(spec->reading, value, &x))
		return find_integer(spec, x, slot);
	if (spec->reading == DP_READ_FUNCTION)
		return find_function(spec, value, slot);
	if (!read_bytes(spec, value, &bytes, &length))
		return -1;
	return find_bytes(spec, bytes, length, slot);
}

/*
 * dp_places_tally_find_value
 *	  The place of the candidate of a spec that a value equals, or -1.
 */
int64
dp_places_tally_find_value(const void *spec, Datum value)
{
	uint64		slot;

	return find_value(spec, value, &slot);
}

/* ---- the spec ---- */

/* Slots before the candidates are known to fit a direct table. */
static uint64
hash_slots(int64 n)
{
	uint64		slots = 16;

	while (slots < 2 * (uint64) n)
		slots *= 2;
	return slots;
}

static dp_value_spec *
make_spec(const dp_readable *type, int64 n, uint64 nslots, Size entries,
		  Size *size)
{
	Size		keys = MAXALIGN(offsetof(dp_value_spec, slots) +
								sizeof(int32) * nslots);
	dp_value_spec *spec;

	*size = keys + sizeof(int64) * n + entries;
	spec = palloc0(*size);
	spec->reading = type->reading;
	spec->function = (int32) (type - readable);
	spec->n = n;
	spec->nslots = nslots;
	spec->keys = (int64) keys;
	spec->longest = PG_INT32_MAX;
	return spec;
}

/* Put the candidates into the table; false when two are equal. */
static bool
fill_slots(dp_value_spec *spec, const Datum *values, int64 *twice)
{
	int64		i;

	for (i = 0; i < spec->n; i++)
	{
		uint64		slot = 0;

		if (find_value(spec, values[i], &slot) >= 0)
		{
			*twice = i;
			return false;
		}
		spec->slots[slot] = (int32) (i + 1);
	}
	return true;
}

static dp_value_spec *
integer_spec(const dp_readable *type, const Datum *values, int64 n,
			 Size *size)
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
		(void) read_integer(type->reading, values[i], &keys[i]);
		first = Min(first, keys[i]);
		last = Max(last, keys[i]);
	}
	range = (uint64) last - (uint64) first;
	direct = range < DIRECT_SLOTS(n);
	spec = make_spec(type, n, direct ? range + 1 : hash_slots(n), 0, size);
	spec->direct = direct;
	spec->first = first;
	memcpy((char *) spec + spec->keys, keys, sizeof(int64) * n);
	pfree(keys);
	return spec;
}

/* The bytes by which a candidate is kept. */
static int64
kept_bytes(const dp_value_spec *like, Datum value, const char **bytes)
{
	Oid			type = readable[like->function].type;
	int64		length;

	if (like->reading != DP_READ_FUNCTION)
	{
		(void) read_bytes(like, value, bytes, &length);
		return length;
	}
	if (get_typlen(type) == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM(value));
	*bytes = DatumGetPointer(value);
	return (int64) datumGetSize(value, false, get_typlen(type));
}

/* Entries stand behind the keys, each aligned. */
static dp_value_spec *
entry_spec(const dp_readable *type, const Datum *values, int64 n, Size *size)
{
	Size		unused;
	dp_value_spec *like = make_spec(type, 0, 0, 0, &unused);
	dp_value_spec *spec;
	const char *bytes;
	Size		entries = 0;
	Size		end;
	int64		i;

	for (i = 0; i < n; i++)
		entries += MAXALIGN(offsetof(dp_entry, bytes) +
							kept_bytes(like, values[i], &bytes));
	spec = make_spec(type, n, hash_slots(n), entries, size);
	end = *size - entries;
	for (i = 0; i < n; i++)
	{
		dp_entry   *entry = (dp_entry *) ((char *) spec + end);

		((int64 *) keys_of(spec))[i] = (int64) end;
		entry->length = kept_bytes(like, values[i], &bytes);
		memcpy(entry->bytes, bytes, entry->length);
		end += MAXALIGN(offsetof(dp_entry, bytes) + entry->length);
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
 * dp_places_tally_value_spec
 *	  n >= 1 candidates as a constant of the inner query; see dp_places.h.
 *
 * Requires: dp_places_tally_can_read(type).
 */
Const *
dp_places_tally_value_spec(Oid type, const Datum *values, int64 n,
						   int64 *twice)
{
	const dp_readable *how = find_readable(type);
	int64		ignored;
	bool		integers = read_integer(how->reading, values[0], &ignored);
	Size		size;
	dp_value_spec *spec;

	spec = integers ? integer_spec(how, values, n, &size) :
		entry_spec(how, values, n, &size);
	if (!fill_slots(spec, values, twice))
		return NULL;
	if (!integers)
		spec->longest = longest_entry(spec);
	return dp_places_tally_spec_const(spec, size);
}
