/*
 * archive.c
 *	  dp_ledger_archive: lines of past periods leave the ledger.
 *
 * What was spent is in the rows of budgets, datasets and parts, which nothing
 * here changes; no role can spend more because lines are gone.  Their sums
 * stay in dp_pg.archive_sum, and a digest in dp_pg.archive:
 *
 *		d(0) = empty, d(i) = SHA-256(d(i - 1) || line i)
 *
 * over all lines of a dataset that ever left, in the order in which they left,
 * so that an owner who keeps the lines can show that they are complete and
 * unchanged.
 *
 * A line is written for the digest as its columns in the ledger's order, each
 * with the length of its text in 4 bytes, most significant first, and the
 * text; NULL as four bytes 255; the time as microseconds since 2000.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/cryptohash.h"
#include "common/sha2.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "ledger.h"
#include "owner.h"

PG_FUNCTION_INFO_V1(dp_ledger_sql_archive);
PG_FUNCTION_INFO_V1(dp_ledger_sql_verify);

#define LINE_COLUMNS 21
#define LINE_ID 1
#define LINE_ARCHIVE 22			/* only in a table of archived lines */
#define IS_NULL PG_UINT32_MAX

/*
 * State while lines are read, for a digest and perhaps for a result.  A line
 * has the ledger's columns first; others may follow.
 */
typedef struct reading
{
	dp_archive_row row;			/* lines, ids and digest as read so far */
	FmgrInfo	output[LINE_COLUMNS];
	Oid			type[LINE_COLUMNS]; /* InvalidOid: not looked up yet */
	StringInfoData text;
	MemoryContext scratch;
	Tuplestorestate *store;		/* NULL: none wanted */
} reading;

static void
start_reading(reading *r)
{
	MemSet(r, 0, sizeof(*r));
	initStringInfo(&r->text);
	r->scratch = AllocSetContextCreate(CurrentMemoryContext,
									   "dp_pg ledger line",
									   ALLOCSET_SMALL_SIZES);
}

/*
 * The text of a value, with its length.  Output functions are looked up once.
 */
static void
archive_append_value(reading *r, int column, Datum value, Oid type)
{
	char	   *text;
	uint32		length;

	if (type == TIMESTAMPTZOID)
		text = psprintf(INT64_FORMAT, DatumGetTimestampTz(value));
	else
	{
		if (r->type[column] != type)
		{
			Oid			function;
			bool		varlena;

			getTypeOutputInfo(type, &function, &varlena);
			fmgr_info_cxt(function, &r->output[column],
						  GetMemoryChunkContext(r->text.data));
			r->type[column] = type;
		}
		text = OutputFunctionCall(&r->output[column], value);
	}
	length = pg_hton32((uint32) strlen(text));
	appendBinaryStringInfo(&r->text, (char *) &length, sizeof(length));
	appendStringInfoString(&r->text, text);
}

static void
digest_text(reading *r)
{
	pg_cryptohash_ctx *context = pg_cryptohash_create(PG_SHA256);

	if (context == NULL || pg_cryptohash_init(context) < 0 ||
		pg_cryptohash_update(context, r->row.digest,
							 r->row.digest_length) < 0 ||
		pg_cryptohash_update(context, (uint8 *) r->text.data,
							 r->text.len) < 0 ||
		pg_cryptohash_final(context, r->row.digest,
							PG_SHA256_DIGEST_LENGTH) < 0)
		elog(ERROR, "could not compute a digest");
	pg_cryptohash_free(context);
	r->row.digest_length = PG_SHA256_DIGEST_LENGTH;
}

/* dp_line_sink */
static void
read_line(void *context, HeapTuple line, TupleDesc desc)
{
	reading    *r = context;
	MemoryContext old = MemoryContextSwitchTo(r->scratch);
	const uint32 null = IS_NULL;
	int			i;

	if (desc->natts < LINE_COLUMNS)
		elog(ERROR, "a line of the ledger lacks columns");
	resetStringInfo(&r->text);
	for (i = 0; i < LINE_COLUMNS; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(line, i + 1, desc, &isnull);

		if (isnull)
			appendBinaryStringInfo(&r->text, (const char *) &null,
								   sizeof(null));
		else
			archive_append_value(r, i, value,
								 TupleDescAttr(desc, i)->atttypid);
		if (i + 1 == LINE_ID)
			r->row.last = DatumGetInt64(value);
	}
	if (r->row.lines++ == 0)
		r->row.first = r->row.last;
	digest_text(r);
	MemoryContextSwitchTo(old);
	MemoryContextReset(r->scratch);
	if (r->store)
		tuplestore_puttuple(r->store, line);
}

/*
 * dp_ledger_sql_archive
 *	  dp_ledger_archive(before, dataset, first, last): take lines that were
 *	  charged before a time and belong to no current period out of the ledger,
 *	  and return them.  Ids are from first to last; NULL means no limit.
 *
 * Errors: 22004 no time, 42704, 42501, 25006.
 */
Datum
dp_ledger_sql_archive(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *dataset;
	Oid			caller;
	reading		r;
	dp_owner_sql saved;

	dp_ledger_check_writable("dp_ledger_archive");
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the time before which lines are archived must not "
						"be NULL"),
				 errhint("Give a time; lines of current periods stay in any "
						 "case.")));
	dataset = dp_ledger_owner_dataset_argument(fcinfo, 1);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	start_reading(&r);
	r.store = result->setResult;
	caller = GetUserId();
	dp_bridge_owner_begin(&saved);
	dp_catalog_start_archive(dataset, PG_GETARG_TIMESTAMPTZ(0), &r.row);
	dp_catalog_move_lines(&r.row,
						  PG_ARGISNULL(2) ? PG_INT64_MIN : PG_GETARG_INT64(2),
						  PG_ARGISNULL(3) ? PG_INT64_MAX : PG_GETARG_INT64(3),
						  read_line, &r);
	if (r.row.lines > 0)
	{
		dp_catalog_name_role(caller, &r.row.by);
		dp_catalog_write_archive(&r.row);
	}
	dp_bridge_owner_end(&saved);
	return (Datum) 0;
}

/* Raises 42P01 if the table has been dropped. */
static const char *
name_table(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *schema = get_namespace_name(get_rel_namespace(relid));

	if (name == NULL || schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(schema, name);
}

/* Comparison of a table of archived lines with what was archived. */
typedef struct comparison
{
	reading		r;				/* of lines of the current archive */
	const dp_archive_row *rows; /* all archives, in order */
	int			n;
	int			now;			/* index of the current one */
	ReturnSetInfo *result;
} comparison;

/* All lines of the current archive were read: give its row of the result. */
static void
end_archive(comparison *c)
{
	const dp_archive_row *wanted = &c->rows[c->now++];
	dp_archive_row *row = &c->r.row;
	const char *problem = NULL;
	Datum		values[3];
	bool		nulls[3] = {false, false, false};

	if (row->lines != wanted->lines)
		problem = row->lines < wanted->lines ? "lines are missing" :
			"there are more lines";
	else if (row->digest_length != wanted->digest_length ||
			 memcmp(row->digest, wanted->digest, row->digest_length) != 0)
		problem = "lines were changed";
	values[0] = Int64GetDatum(wanted->id);
	values[1] = Int64GetDatum(wanted->lines);
	nulls[2] = problem == NULL;
	values[2] = problem ? CStringGetTextDatum(problem) : (Datum) 0;
	tuplestore_putvalues(c->result->setResult, c->result->setDesc, values,
						 nulls);
	*row = *wanted;				/* the next begins with its digest */
	row->lines = 0;
}

/* dp_line_sink; lines come in the order of archive, id. */
static void
compare_line(void *context, HeapTuple line, TupleDesc desc)
{
	comparison *c = context;
	bool		isnull;
	int64		archive = DatumGetInt64(heap_getattr(line, LINE_ARCHIVE, desc,
													 &isnull));

	while (!isnull && c->now < c->n && c->rows[c->now].id < archive)
		end_archive(c);
	if (!isnull && c->now < c->n && c->rows[c->now].id == archive)
		read_line(&c->r, line, desc);
}

/*
 * dp_ledger_sql_verify
 *	  dp_ledger_verify(lines, dataset): compare a table with what left the
 *	  ledger; one row for each archive of the dataset.
 *
 * The table is read with the caller's rights.
 *
 * Errors: 22004 no table, 42704, 42501, 42703 the table has other columns.
 */
Datum
dp_ledger_sql_verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const char *dataset;
	const char *table;
	comparison	c;
	dp_archive_row *rows;
	dp_owner_sql saved;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the table of archived lines must not be NULL"),
				 errhint("Name the table that holds what dp_ledger_archive "
						 "returned.")));
	dataset = dp_ledger_owner_dataset_argument(fcinfo, 1);
	table = name_table(PG_GETARG_OID(0));
	InitMaterializedSRF(fcinfo, 0);
	dp_bridge_owner_begin(&saved);
	c.n = dp_catalog_list_archives(dataset, &rows);
	dp_bridge_owner_end(&saved);
	c.rows = rows;
	c.now = 0;
	c.result = result;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	start_reading(&c.r);
	dp_catalog_read_lines(table, dataset, compare_line, &c);
	while (c.now < c.n)
		end_archive(&c);
	SPI_finish();
	return (Datum) 0;
}
