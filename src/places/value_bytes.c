/*
 * value_bytes.c
 *	  Values of built-in types as integers or bytes, which are the same if and
 *	  only if the values are equal.
 *
 * Equality is that of the type; for texts it is bytewise (callers refuse
 * nondeterministic collations).  PostgreSQL's hash functions cannot
 * distinguish values: some of them collide for many values under every seed.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_type.h"
#include "storage/itemptr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "dp_value_bytes.h"

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

/* dp_places_read_way: DP_READ_NONE for a type without built-in equality. */
dp_read_way
dp_places_read_way(Oid type)
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
read_numeric(Datum value, dp_value_bytes *out)
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
read_fixed(Datum value, int64 length, dp_value_bytes *out)
{
	out->bytes = (const char *) DatumGetPointer(value);
	out->length = length;
}

/* dp_places_fetch_bytes: see dp_value_bytes.h. */
void
dp_places_fetch_bytes(dp_read_way way, Datum value, dp_value_bytes *out)
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
			read_fixed(value, UUID_LEN, out);
			break;
		case DP_READ_TID:
			read_fixed(value, sizeof(ItemPointerData), out);
			break;
		case DP_READ_MAC:
			read_fixed(value, 6, out);
			break;
		case DP_READ_MAC8:
			read_fixed(value, 8, out);
			break;
		case DP_READ_NUMERIC:
			read_numeric(value, out);
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
