/*
 * dp_value_bytes.h
 *	  Values of built-in types as integers or bytes (tally.c).
 *
 * Include postgres.h first.
 */
#ifndef DP_VALUE_BYTES_H
#define DP_VALUE_BYTES_H

#include <math.h>

#include "access/htup_details.h"	/* for the macros of varlenas */
#include "fmgr.h"
#include "utils/float.h"

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

extern dp_read_way dp_places_read_way(Oid type);

/* dp_places_read_bytes for values other than plain texts. */
extern void dp_places_fetch_bytes(dp_read_way way, Datum value,
								  dp_value_bytes *out);

/* Bits that are equal if and only if PostgreSQL considers the floats equal. */
static inline int64
dp_places_float_bits(float8 x)
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
dp_places_read_integer(dp_read_way way, Datum value, int64 *out)
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
			*out = dp_places_float_bits(DatumGetFloat4(value));
			return true;
		case DP_READ_FLOAT8:
			*out = dp_places_float_bits(DatumGetFloat8(value));
			return true;
		default:
			return false;
	}
}

/* Whether a varlena must be detoasted before its bytes can be read. */
static inline bool
dp_places_is_packed(Datum value)
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
dp_places_read_bytes(dp_read_way way, Datum value, dp_value_bytes *out)
{
	if (way != DP_READ_TEXT || unlikely(dp_places_is_packed(value)))
	{
		dp_places_fetch_bytes(way, value, out);
		return;
	}
	out->bytes = VARDATA_ANY(DatumGetPointer(value));
	out->length = VARSIZE_ANY_EXHDR(DatumGetPointer(value));
	out->copy = NULL;
}

#endif							/* DP_VALUE_BYTES_H */
