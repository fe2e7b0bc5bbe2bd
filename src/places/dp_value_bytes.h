/*
 * dp_value_bytes.h
 *	  Values of built-in types as integers or bytes (value_bytes.c).
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
	DP_READ_TEXT,				/* a varlena by its bytes; first of bytes */
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
	void	   *copy;			/* NULL: bytes are the value's or in room */
	char		room[16];
} dp_value_bytes;

extern dp_read_way dp_places_read_way(Oid type);

/*
 * Values of a way that are no integers; copy may be freed when the bytes are
 * not used any more.
 */
extern void dp_places_read_bytes(dp_read_way way, Datum value,
								 dp_value_bytes *out);

/* Bits that are equal exactly for floats that are equal in PostgreSQL. */
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

/* False: a value of this way is bytes. */
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

/* A text as it stands in a row; false: dp_places_read_bytes must read it. */
static inline bool
dp_places_read_text(dp_read_way way, Datum value, const char **bytes,
					int64 *length)
{
	const struct varlena *text;

	if (way != DP_READ_TEXT)
		return false;
	text = (const struct varlena *) DatumGetPointer(value);
	if (VARATT_IS_EXTERNAL(text) || VARATT_IS_COMPRESSED(text))
		return false;
	*bytes = VARDATA_ANY(text);
	*length = VARSIZE_ANY_EXHDR(text);
	return true;
}

#endif							/* DP_VALUE_BYTES_H */
