/*
 * tally_value.c
 *	  The place of a value among n public candidates.
 *
 * A value has the place of the candidate with the same bytes (value_bytes.c),
 * or none.
 *
 * The spec is one flat constant.  Values that are read as integers (most
 * fixed-length types, floats by their bits) are looked up in a table by
 * distance from the first if the candidates are close together; everything
 * else, by open addressing.  Slots hold place + 1; 0 is empty.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/hashfn.h"

#include "dp_places.h"

/* Candidates in a smaller range are looked up directly. */
#define DIRECT_SLOTS(n) (8 * (uint64) (n) + 1024)

/* A candidate that is bytes, aligned. */
typedef struct dp_entry
{
	int64		length;
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} dp_entry;

/*
 * dp_places_tally_can_read: whether rows of the type can be counted by value.
 */
bool
dp_places_tally_can_read(Oid type)
{
	return dp_places_read_way(type) != DP_READ_NONE;
}

/*
 * Whether a text is longer than any candidate.  Decided without detoasting it.
 */
static inline bool
is_too_long(const dp_value_spec *spec, Datum value)
{
	return spec->reading == DP_READ_TEXT && dp_places_is_packed(value) &&
		(int64) toast_raw_datum_size(value) - VARHDRSZ > spec->longest;
}

/* ---- looking up ---- */

static inline const dp_entry *
entry_of(const dp_value_spec *spec, int64 place)
{
	return (const dp_entry *)
		((const char *) spec + dp_places_keys(spec)[place]);
}

static inline int64
find_bytes(const dp_value_spec *spec, const char *bytes, int64 length,
		   uint64 *slot)
{
	uint64		mask = spec->nslots - 1;

	*slot = dp_places_scatter(hash_bytes((const unsigned char *) bytes,
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
find_value(const dp_value_spec *spec, Datum value, uint64 *slot)
{
	dp_value_bytes read;
	int64		place;
	int64		x;

	if (dp_places_read_integer(spec->reading, value, &x))
		return dp_places_find_integer(spec, x, slot);
	if (is_too_long(spec, value))
		return -1;
	dp_places_read_bytes(spec->reading, value, &read);
	place = find_bytes(spec, read.bytes, read.length, slot);
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
	return place;
}

/* dp_places_tally_find_bytes: see dp_value_spec.h. */
int64
dp_places_tally_find_bytes(const dp_value_spec *spec, Datum value)
{
	uint64		slot;

	return find_value(spec, value, &slot);
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
make_spec(dp_read_way way, int64 n, uint64 nslots, Size entries, Size *size)
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
		(void) dp_places_read_integer(way, values[i], &keys[i]);
		first = Min(first, keys[i]);
		last = Max(last, keys[i]);
	}
	range = (uint64) last - (uint64) first;
	direct = range < DIRECT_SLOTS(n);
	spec = make_spec(way, n, direct ? range + 1 : hash_slots(n), 0, size);
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

	dp_places_read_bytes(way, value, &read);
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
	spec = make_spec(way, n, hash_slots(n), entries, size);
	end = *size - entries;
	for (i = 0; i < n; i++)
	{
		((int64 *) dp_places_keys(spec))[i] = (int64) end;
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
 * dp_places_tally_value_spec
 *	  n >= 1 candidates as a constant of the inner query; see dp_places.h.
 *
 * Requires: dp_places_tally_can_read(type).
 */
Const *
dp_places_tally_value_spec(Oid type, const Datum *values, int64 n,
						   int64 *twice)
{
	dp_read_way way = dp_places_read_way(type);
	int64		ignored;
	bool		integers = dp_places_read_integer(way, values[0], &ignored);
	Size		size;
	dp_value_spec *spec;

	spec = integers ? integer_spec(way, values, n, &size) :
		entry_spec(way, values, n, &size);
	if (!fill_slots(spec, values, twice))
		return NULL;
	if (!integers)
		spec->longest = longest_entry(spec);
	return dp_places_tally_spec_const(spec, size);
}
