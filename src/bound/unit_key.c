/*
 * unit_key.c
 *	  Keys of units: for integers a bijection under a secret seed, for other
 *	  values a hash; their bytes tell units apart.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "common/hashfn.h"

#include "records.h"

/* dp_bound_is_integer: whether its key alone identifies a unit. */
bool
dp_bound_is_integer(dp_read_way way)
{
	return way < DP_READ_TEXT;
}

/* dp_bound_hash: of bytes that were read. */
uint64
dp_bound_hash(const dp_value_bytes *read, uint64 seed)
{
	return hash_bytes_extended((const unsigned char *) read->bytes,
							   (int) read->length, seed);
}

/* dp_bound_is_long: whether the value is longer than `most` bytes. */
bool
dp_bound_is_long(bool varlena, Datum value, Size most)
{
	return varlena && toast_raw_datum_size(value) - VARHDRSZ > most;
}

/*
 * dp_bound_read_unit
 *	  Key of a unit and, unless it is an integer, its bytes, at most
 *	  DP_BOUND_UNIT_BYTES; false: it is longer, and has no rows that count.
 */
bool
dp_bound_read_unit(dp_read_way way, bool varlena, Datum unit, uint64 seed,
				   uint64 *key, char *bytes, Size *length)
{
	dp_value_bytes read;
	bool		fits;
	int64		x;

	*length = 0;
	if (dp_places_read_integer(way, unit, &x))
	{
		*key = dp_bound_integer_key(x, seed);
		return true;
	}
	if (dp_bound_is_long(varlena, unit, DP_BOUND_UNIT_BYTES))
		return false;
	dp_places_read_bytes(way, unit, &read);
	fits = read.length <= DP_BOUND_UNIT_BYTES;
	if (fits)
	{
		*key = dp_bound_hash(&read, seed);
		*length = read.length;
		memcpy(bytes, read.bytes, read.length);
	}
	if (unlikely(read.copy != NULL))
		pfree(read.copy);
	return fits;
}
