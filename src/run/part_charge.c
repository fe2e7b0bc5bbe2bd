/*
 * part_charge.c
 *	  The part of a partition that a release reads, for the ledger.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/datum.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

#include "run.h"

/* The largest number of parts of a range of integers or dates. */
#define MAX_PARTS 1000000

/* With fewer parts, reading the whole relation is about as fast. */
#define INDEXED_PARTS 10

static bool
is_whole_type(Oid type)
{
	return dp_places_is_integer(type) || type == DATEOID;
}

/* Write the value as bytes, which are equal exactly if values are. */
static void
value_bytes(Oid type, Datum value, StringInfo bytes)
{
	switch (type)
	{
		case BOOLOID:
			appendStringInfoString(bytes, DatumGetBool(value) ? "t" : "f");
			break;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
			appendStringInfo(bytes, INT64_FORMAT,
							 dp_places_integer(type, value));
			break;
		case TEXTOID:
		case VARCHAROID:
			appendStringInfoString(bytes, TextDatumGetCString(value));
			break;
		case UUIDOID:
			appendBinaryStringInfo(bytes,
								   (char *) DatumGetUUIDP(value)->data,
								   UUID_LEN);
			break;
		default:
			elog(ERROR, "unexpected type %u of a partition column", type);
	}
}

/* The hexadecimal SHA-256 of the value, truncated to the length of a name. */
static void
hash_value(Oid type, Datum value, NameData *out)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);
	StringInfoData bytes;
	uint8		digest[PG_SHA256_DIGEST_LENGTH];
	int			i;

	initStringInfo(&bytes);
	value_bytes(type, value, &bytes);
	if (context == NULL || pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, (uint8 *) bytes.data, bytes.len) < 0 ||
		pg_cryptohash_final(context, digest, sizeof(digest)) < 0)
		elog(ERROR, "could not hash the value of a partition column");
	pg_cryptohash_free(context);
	for (i = 0; 2 * i + 2 < NAMEDATALEN && i < sizeof(digest); i++)
		snprintf(NameStr(*out) + 2 * i, 3, "%02x", digest[i]);
}

/* The value, in the type in which it is compared with rows. */
static Const *
make_value(const dp_block *block, Datum value, bool isnull)
{
	Node	   *expression = (Node *) block->part_value;
	Oid			type = exprType(expression);
	int16		length;
	bool		by_value;

	get_typlenbyval(type, &length, &by_value);
	if (!isnull)
		value = datumCopy(value, by_value, length);
	return makeConst(type, exprTypmod(expression), exprCollation(expression),
					 length, isnull ? (Datum) 0 : value, isnull, by_value);
}

/*
 * The value as declared keys are written: dates in ISO style, whatever
 * DateStyle is.
 */
static char *
canonical_text(const Const *value)
{
	char		buffer[MAXDATELEN + 1];
	struct pg_tm tm;
	DateADT		date;
	Oid			output;
	bool		varlena;

	if (value->consttype != DATEOID)
	{
		getTypeOutputInfo(value->consttype, &output, &varlena);
		return OidOutputFunctionCall(output, value->constvalue);
	}
	date = DatumGetDateADT(value->constvalue);
	if (DATE_NOT_FINITE(date))
		EncodeSpecialDate(date, buffer);
	else
	{
		j2date(date + POSTGRES_EPOCH_JDATE, &tm.tm_year, &tm.tm_mon,
			   &tm.tm_mday);
		EncodeDateOnly(&tm, USE_ISO_DATES, buffer);
	}
	return pstrdup(buffer);
}

/* The number of declared parts; 0 if there are too many. */
static int64
count_parts(const dp_attribute *declared, Oid type)
{
	dp_int128	parts;

	if (declared->keys != NIL)
		return list_length(declared->keys);
	if (type == BOOLOID)
		return 2;
	parts = (dp_int128) dp_places_declared_integer(declared->upper, type) -
		dp_places_declared_integer(declared->lower, type) + 1;
	return parts <= MAX_PARTS ? (int64) parts : 0;
}

static bool
is_within(const dp_attribute *declared, const Const *value)
{
	Oid			type = value->consttype;
	Datum		lower = dp_places_read_declared(declared->lower, type, -1);
	Datum		upper = dp_places_read_declared(declared->upper, type, -1);
	int64		number = dp_places_integer(type, value->constvalue);

	return count_parts(declared, type) > 0 &&
		number >= dp_places_integer(type, lower) &&
		number <= dp_places_integer(type, upper);
}

/*
 * Has the owner made the value public? Decided by the declaration alone, so
 * that a value does not change its part while the partition lasts.
 */
static bool
is_declared(const dp_attribute *declared, const Const *value)
{
	char	   *text;
	ListCell   *lc;

	if (declared->keys != NIL)
	{
		text = canonical_text(value);
		foreach(lc, declared->keys)
			if (strcmp(lfirst(lc), text) == 0)
				return true;
		return false;
	}
	if (value->consttype == BOOLOID)
		return true;
	return declared->lower != NULL && is_whole_type(value->consttype) &&
		is_within(declared, value);
}

/*
 * dp_run_set_part
 *	  Set the part to which the block's condition restricts it, and the value
 *	  that its rows must have.  There is none for NULL, if the column is no
 *	  longer immutable, or if neighbours may move between parts.
 *
 * Each declared value is a part; all others together are one more, so that the
 * number of parts is bounded.
 */
void
dp_run_set_part(dp_release_spec *spec, bool replace, Datum value,
					bool isnull)
{
	dp_block   *block = spec->block;
	dp_attribute *declared;

	spec->part_value = make_value(block, value, isnull);
	declared = dp_protect_attribute(block->relid, block->part_attnum);
	if (isnull || replace || declared == NULL || declared->partition == 0)
		return;
	spec->part.partition = declared->partition;
	if (!is_declared(declared, spec->part_value))
	{
		namestrcpy(&spec->part.key, "other");
		return;
	}
	hash_value(getBaseType(spec->part_value->consttype),
			   spec->part_value->constvalue, &spec->part.key);
	spec->part_indexed = declared->public_sizes &&
		count_parts(declared, spec->part_value->consttype) >= INDEXED_PARTS;
}

/*
 * dp_run_check_part
 *	  Drop the part if rows that the snapshot sees may have changed theirs
 *	  since: the trigger that keeps the column immutable is newer than the
 *	  snapshot, or gone.
 */
void
dp_run_check_part(dp_release_spec *spec, Snapshot snapshot)
{
	if (spec->part.partition != 0 &&
		!dp_protect_declare_is_guarded(spec->block->relid,
									   spec->block->part_attnum, snapshot))
	{
		memset(&spec->part, 0, sizeof(spec->part));
		spec->part_indexed = false;
	}
}
