/*
 * answer_layout.c
 *	  The parts of a key's text: what all values of a release have in common,
 *	  then each value.
 *
 * The first line names the format; the second has the length of the common
 * part, the number of values, and for each value the length of its part and
 * how its type is stored.  The parts follow in that order.  So an answer with
 * more values than requested can be found, and read without knowing what the
 * others are (doc/theory.md T132).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "answers.h"

/* If this changes, no stored answer matches any more. */
#define FORMAT "dp_pg answer 2\n"

/* Set how a column of the result is stored. */
static void
set_storage(dp_reuse_value *value, Form_pg_attribute column)
{
	value->typlen = column->attlen;
	value->byval = column->attbyval;
	value->align = column->attalign;
}

/*
 * dp_reuse_join_key
 *	  Make the key from the common part and n values, whose columns in the
 *	  result follow nkeys columns of the group.
 */
dp_reuse_key *
dp_reuse_join_key(const StringInfoData *common, const StringInfoData *values,
				  int n, TupleDesc result, int nkeys)
{
	dp_reuse_key *key = palloc0(sizeof(dp_reuse_key));
	dp_reuse_layout *layout = &key->layout;
	uint8		digest[DP_SHA256_BYTES];
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	appendStringInfo(&text, FORMAT "%d %d", common->len, n);
	layout->values = palloc(sizeof(dp_reuse_value) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		dp_reuse_value *value = &layout->values[i];

		value->length = values[i].len;
		set_storage(value, TupleDescAttr(result, nkeys + i));
		appendStringInfo(&text, " %d %d %d %d", values[i].len, value->typlen,
						 value->byval, value->align);
	}
	appendStringInfoChar(&text, '\n');
	layout->common_at = text.len;
	layout->common = common->len;
	layout->n = n;
	appendBinaryStringInfo(&text, common->data, common->len);
	for (i = 0; i < n; i++)
	{
		layout->values[i].at = text.len;
		appendBinaryStringInfo(&text, values[i].data, values[i].len);
	}
	key->text = text.data;
	key->length = text.len;
	dp_bridge_sha256(text.data, text.len, key->digest);
	dp_bridge_sha256(common->data, common->len, digest);
	memcpy(&key->hash, digest, sizeof(key->hash));
	return key;
}

/*
 * Read the next number of the second line; false if there is none up to
 * `most`.
 */
static bool
read_number(char **from, int64 most, int64 *out)
{
	char	   *end;

	*out = strtoi64(*from, &end, 10);
	if (end == *from)
		return false;
	*from = end;
	return *out >= -2 && *out <= most;
}

static bool
read_value(char **from, Size length, dp_reuse_value *out)
{
	int64		numbers[4];
	int			i;

	for (i = 0; i < lengthof(numbers); i++)
		if (!read_number(from, Max(length, PG_INT16_MAX), &numbers[i]))
			return false;
	out->length = (Size) Max(numbers[0], 0);
	out->typlen = (int16) numbers[1];
	out->byval = numbers[2] != 0;
	out->align = (char) numbers[3];
	return true;
}

/* Find the parts of a text; false if it has another format. */
static bool
read_layout(const char *text, Size length, dp_reuse_layout *out)
{
	const Size	format = strlen(FORMAT);
	const char *end = length < format || memcmp(text, FORMAT, format) != 0 ?
	NULL : memchr(text + format, '\n', length - format);
	char	   *line;
	int64		common;
	int64		n;
	Size		at;
	int			i;

	if (end == NULL)
		return false;
	line = pnstrdup(text + format, end - text - format);
	if (!read_number(&line, length, &common) || common < 0 ||
		!read_number(&line, MaxTupleAttributeNumber, &n) || n < 0)
		return false;
	out->common_at = end + 1 - text;
	out->common = common;
	out->n = (int) n;
	out->values = palloc(sizeof(dp_reuse_value) * Max(n, 1));
	at = out->common_at + common;
	for (i = 0; i < n; i++)
	{
		if (!read_value(&line, length, &out->values[i]))
			return false;
		out->values[i].at = at;
		at += out->values[i].length;
	}
	return at == length;
}

static bool
same_value(const char *a, const dp_reuse_value *x, const char *b,
		   const dp_reuse_value *y)
{
	return x->length == y->length &&
		memcmp(a + x->at, b + y->at, x->length) == 0;
}

/*
 * dp_reuse_match
 *	  Whether an answer with this text has all values of the key.  If so, *out
 *	  is its layout, and places[i] the number of its value that is the key's
 *	  i-th.
 */
bool
dp_reuse_match(const dp_reuse_key *key, const char *text, Size length,
			   dp_reuse_layout *out, int *places)
{
	const dp_reuse_layout *asked = &key->layout;
	int			i;
	int			j;

	if (!read_layout(text, length, out) || out->common != asked->common ||
		memcmp(text + out->common_at, key->text + asked->common_at,
			   asked->common) != 0)
		return false;
	for (i = 0; i < asked->n; i++)
	{
		for (j = 0; j < out->n; j++)
			if (same_value(key->text, &asked->values[i], text,
						   &out->values[j]))
				break;
		if (j == out->n)
			return false;
		places[i] = j;
	}
	return true;
}

/* Add a column for a value whose type may no longer exist. */
static void
add_value(TupleDesc columns, int n, const dp_reuse_value *value)
{
	Form_pg_attribute column = TupleDescAttr(columns, n - 1);

	TupleDescInitEntry(columns, n, NULL, BYTEAOID, -1, 0);
	column->attlen = value->typlen;
	column->attbyval = value->byval;
	column->attalign = value->align;
	populate_compact_attribute(columns, n - 1);
}

/*
 * dp_reuse_stored_columns
 *	  The columns of a stored answer: those of the group, as in the requested
 *	  result, then all values, then, if `errors`, their errors.
 */
TupleDesc
dp_reuse_stored_columns(const dp_reuse_layout *stored, TupleDesc result,
						int nkeys, bool errors)
{
	TupleDesc	columns = CreateTemplateTupleDesc(nkeys + stored->n *
												  (errors ? 2 : 1));
	int			i;

	for (i = 1; i <= nkeys; i++)
		TupleDescCopyEntry(columns, i, result, i);
	for (i = 0; i < stored->n; i++)
		add_value(columns, nkeys + i + 1, &stored->values[i]);
	for (i = 0; errors && i < stored->n; i++)
		TupleDescInitEntry(columns, nkeys + stored->n + i + 1, NULL,
						   FLOAT8OID, -1, 0);
	return columns;
}
