/*
 * key_value.c
 *	  Values of undeclared group keys as bytes, and back.
 *
 * Rows may spell equal values differently (numeric 1.0 and 1.00, 0 and -0,
 * char(n) with more or fewer blanks), and a row's spelling must not be
 * released.  So equal values have equal bytes, and different values different
 * ones.  Not supported are intervals (a month or 30 days), times with time
 * zone, tid, oidvector and types without built-in equality.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		From a place among public values to its value.  The opposite, which is
 *		done for every row, is in dp_domains.h.
 * ----------------
 */

/* dp_domains_integer_datum: see domains_internal.h. */
Datum
dp_domains_integer_datum(Oid type, int64 value)
{
	switch (type)
	{
		case INT2OID:
			return Int16GetDatum((int16) value);
		case INT4OID:
			return Int32GetDatum((int32) value);
		case DATEOID:
			return DateADTGetDatum((DateADT) value);
		case INT8OID:
			return Int64GetDatum(value);
		default:
			return BoolGetDatum(value != 0);
	}
}

/*
 * dp_domains_value
 *	  The value at a place; `values` are by place, unused if places are dense.
 */
Datum
dp_domains_value(const dp_places *places, const Datum *values, int64 place,
				 bool *isnull)
{
	*isnull = place == places->null;
	if (*isnull)
		return (Datum) 0;
	if (places->kind == DP_AXIS_DENSE)
		return dp_domains_integer_datum(places->type, places->first + place);
	return values[place];
}

#define IS_VALUE 1

/*
 * dp_domains_is_ordering
 *	  Whether the operator compares by the default order of the type.
 */
bool
dp_domains_is_ordering(Oid operator, Oid type)
{
	TypeCacheEntry *cache = lookup_type_cache(getBaseType(type),
											  TYPECACHE_BTREE_OPFAMILY);
	Oid			family = cache->btree_opf;
	Oid			negator = get_negator(operator);

	return op_in_opfamily(operator, family) ||
		(OidIsValid(negator) && op_in_opfamily(negator, family));
}

/*
 * dp_domains_has_twins
 *	  Whether a type has values that are equal but not identical.
 */
bool
dp_domains_has_twins(Oid type)
{
	switch (getBaseType(type))
	{
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case BPCHAROID:
		case INTERVALOID:
			return true;
		default:
			return false;
	}
}

/*
 * dp_domains_can_be_released: whether values of this base type can be released
 * as keys.
 */
bool
dp_domains_can_be_released(Oid type)
{
	switch (dp_domains_read_way(type))
	{
		case DP_READ_NONE:
		case DP_READ_TID:
		case DP_READ_INTERVAL:
		case DP_READ_TIMETZ:
			return false;
		case DP_READ_TEXT:
			return type != OIDVECTOROID;
		default:
			return true;
	}
}

/* dp_domains_key_encoding: how values of such a type are written. */
dp_key_encoding
dp_domains_key_encoding(Oid type, int32 typmod)
{
	dp_key_encoding how;

	how.type = getBaseType(type);
	how.typmod = typmod;
	how.way = dp_domains_read_way(how.type);
	how.varlena = get_typlen(how.type) == -1;
	return how;
}

/* ---- to bytes ---- */

/* The shortest spelling, which is the same for equal numbers. */
static void
key_value_read_numeric(Datum value, dp_value_bytes *read)
{
	struct varlena *trimmed = (struct varlena *)
	DatumGetPointer(DirectFunctionCall1(numeric_trim_scale, value));

	read->copy = trimmed;
	read->bytes = VARDATA_ANY(trimmed);
	read->length = VARSIZE_ANY_EXHDR(trimmed);
}

/*
 * dp_domains_key_write
 *	  Write a value as bytes; returns their number, or 0 if there is not enough
 *	  room, which depends only on this value.
 */
Size
dp_domains_key_write(const dp_key_encoding *how, Datum value, bool isnull,
					 char *to, Size room)
{
	Size		size = 1;
	dp_value_bytes read;
	uint32		length;
	int64		x;

	if (room < 1 + sizeof(int64))
		return 0;
	*to = isnull ? 0 : IS_VALUE;
	if (isnull)
		return size;
	if (dp_domains_read_integer(how->way, value, &x))
	{
		memcpy(to + size, &x, sizeof(x));
		return size + sizeof(x);
	}
	if (how->varlena && toast_raw_datum_size(value) > room)
		return 0;
	if (how->way == DP_READ_NUMERIC)
		key_value_read_numeric(value, &read);
	else
		dp_domains_read_bytes(how->way, value, &read);
	length = (uint32) read.length;
	if (size + sizeof(length) + length <= room)
	{
		memcpy(to + size, &length, sizeof(length));
		size += sizeof(length);
		memcpy(to + size, read.bytes, length);
		size += length;
	}
	else
		size = 0;
	if (read.copy != NULL)
		pfree(read.copy);
	return size;
}

/* ---- and back ---- */

static Datum
integer_value(dp_read_way way, int64 x)
{
	union
	{
		int64		bits;
		float8		number;
	}			u;

	u.bits = x;
	switch (way)
	{
		case DP_READ_INT2:
			return Int16GetDatum((int16) x);
		case DP_READ_INT4:
			return Int32GetDatum((int32) x);
		case DP_READ_BYTE:
			return UInt8GetDatum((uint8) x);
		case DP_READ_FLOAT4:
			return Float4GetDatum((float4) u.number);
		case DP_READ_FLOAT8:
			return Float8GetDatum(u.number);
		default:
			return Int64GetDatum(x);
	}
}

static Datum
make_varlena(const char *bytes, Size length)
{
	struct varlena *made = palloc(VARHDRSZ + length);

	SET_VARSIZE(made, VARHDRSZ + length);
	memcpy(VARDATA(made), bytes, length);
	return PointerGetDatum(made);
}

static Datum
bytes_value(const dp_key_encoding *how, const char *bytes, Size length)
{
	char	   *made;

	switch (how->way)
	{
		case DP_READ_NAME:
			made = palloc0(NAMEDATALEN);
			break;
		case DP_READ_UUID:
		case DP_READ_MAC:
		case DP_READ_MAC8:
			made = palloc0(length);
			break;
		case DP_READ_BLANKED:
			return DirectFunctionCall3(bpchar, make_varlena(bytes, length),
									   Int32GetDatum(how->typmod),
									   BoolGetDatum(true));
		default:
			return make_varlena(bytes, length);
	}
	memcpy(made, bytes, length);
	return PointerGetDatum(made);
}

/*
 * dp_domains_key_read
 *	  Read a value that dp_domains_key_write wrote, palloc'd if by reference;
 *	  returns the position after it.
 */
const char *
dp_domains_key_read(const dp_key_encoding *how, const char *from, Datum *value,
					bool *isnull)
{
	uint32		length;
	int64		x;

	*isnull = *from++ != IS_VALUE;
	*value = (Datum) 0;
	if (*isnull)
		return from;
	if (how->way < DP_READ_TEXT)
	{
		memcpy(&x, from, sizeof(x));
		*value = integer_value(how->way, x);
		return from + sizeof(x);
	}
	memcpy(&length, from, sizeof(length));
	from += sizeof(length);
	*value = bytes_value(how, from, length);
	return from + length;
}
