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
#include "catalog/pg_type.h"
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

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_table.h"
#include "ledger_internal.h"

PG_FUNCTION_INFO_V1(dp_ledger_sql_archive);
PG_FUNCTION_INFO_V1(dp_ledger_sql_verify);

#define DIGEST_LENGTH 32

/* One call that took lines out. */
typedef struct archive_row
{
	int64		id;
	NameData	dataset;
	TimestampTz before;			/* lines were charged before this */
	NameData	by;				/* the role that took them */
	int64		lines;
	int64		first;			/* ids */
	int64		last;
	uint8		digest[DIGEST_LENGTH];
	int			digest_length;	/* 0: no line so far */
} archive_row;

/* A line of the ledger, valid during the call. */
typedef void (*line_sink) (void *context, HeapTuple line, TupleDesc desc);

/* ----------------
 *		Lines that leave dp_pg.ledger, and what remains of them: a row of
 *		dp_pg.archive for each call that took some, and their sums in
 *		dp_pg.archive_sum.
 *
 * This is done by SQL, since it is rare and concerns many lines.
 * ----------------
 */

#define FETCHED 1000			/* lines at a time */

#define LOCK_ARCHIVE \
	"LOCK TABLE dp_pg.archive IN SHARE ROW EXCLUSIVE MODE"

#define LAST_ARCHIVE \
	"SELECT coalesce(max(id), 0) + 1," \
	" coalesce((SELECT digest FROM dp_pg.archive WHERE dataset = $1" \
	"  ORDER BY id DESC LIMIT 1), '') FROM dp_pg.archive"

/*
 * Lines charged before a time that belong to no current period and have not
 * paid for an open batch or session.  If no budget has the payer's name any
 * more, lines from before every current period; lines without a payer have no
 * period.  The payer's budgets are looked up by index for each line.
 */
#define MOVE_LINES \
	"WITH start AS (SELECT min(period_start) AS start" \
	"  FROM dp_pg.budget WHERE dataset = $1)," \
	" open AS (SELECT id FROM dp_pg.batch" \
	"   WHERE dataset = $1 AND closed IS NULL" \
	"  UNION ALL SELECT id FROM dp_pg.session" \
	"   WHERE dataset = $1 AND closed IS NULL)," \
	" gone AS (DELETE FROM dp_pg.ledger AS l" \
	"  WHERE dataset = $1 AND at < $2 AND id BETWEEN $4 AND $5" \
	"  AND (payer IS NULL OR coalesce(" \
	"   l.period < (SELECT min(b.period) FROM dp_pg.budget AS b" \
	"    WHERE b.dataset = $1 AND b.role_name = l.payer)," \
	"   l.at < (SELECT start FROM start)))" \
	"  AND l.id NOT IN (SELECT id FROM open)" \
	"  AND coalesce(l.batch, l.id) NOT IN (SELECT id FROM open)" \
	"  RETURNING l.*)," \
	" sums AS (INSERT INTO dp_pg.archive_sum (archive, role, payer, period," \
	"   partition, part, lines, epsilon, delta, rho)" \
	"  SELECT $3, role, payer, period, partition, part, count(*)," \
	"   sum(epsilon), sum(delta), sum(rho) FROM gone" \
	"  GROUP BY role, payer, period, partition, part)" \
	"SELECT gone.*, $3 AS archive FROM gone ORDER BY id"

#define WRITE_ARCHIVE \
	"INSERT INTO dp_pg.archive (id, dataset, before, at, by, lines, first," \
	" last, epsilon, delta, rho, digest)" \
	" SELECT $1, $2, $3, now(), $4, $5, $6, $7, sum(epsilon), sum(delta)," \
	" sum(rho), $8 FROM dp_pg.archive_sum WHERE archive = $1"

#define READ_LINES \
	"SELECT id, at, role, role_oid, cluster, login_role, payer, dataset," \
	" mechanism, epsilon, delta, rho, releases, fingerprint, price_epsilon," \
	" price_delta, price_rho, batch, partition, part, period," \
	" archive::pg_catalog.int8 FROM %s" \
	" WHERE dataset OPERATOR(pg_catalog.=) $1" \
	" ORDER BY archive::pg_catalog.int8 USING OPERATOR(pg_catalog.<)," \
	" id USING OPERATOR(pg_catalog.<)"

#define LIST_ARCHIVES \
	"SELECT id, lines, digest FROM dp_pg.archive" \
	" WHERE dataset = $1 ORDER BY id"

/* Pass the lines of an open portal to the sink, in order. */
static void
give_lines(Portal portal, line_sink sink, void *context)
{
	uint64		n;
	uint64		i;

	do
	{
		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, FETCHED);
		n = SPI_processed;
		for (i = 0; i < n; i++)
			sink(context, SPI_tuptable->vals[i], SPI_tuptable->tupdesc);
		SPI_freetuptable(SPI_tuptable);
	} while (n > 0);
	SPI_cursor_close(portal);
}

static void
get_digest(Datum value, archive_row *row)
{
	bytea	   *digest = DatumGetByteaPP(value);

	row->digest_length = VARSIZE_ANY_EXHDR(digest);
	if (row->digest_length > DIGEST_LENGTH)
		elog(ERROR, "digest of an archive is too long");
	memcpy(row->digest, VARDATA_ANY(digest), row->digest_length);
}

/*
 * start_archive
 *	  Begin the row of a new archive, and lock the table against others until
 *	  the end of the transaction.  The digest is that of the dataset's last
 *	  archive, or empty.
 */
static void
start_archive(const char *dataset, TimestampTz before, archive_row *row)
{
	dp_argument args[] = {DP_ARG_NAME(&row->dataset)};

	MemSet(row, 0, sizeof(*row));
	namestrcpy(&row->dataset, dataset);
	row->before = before;
	(void) dp_catalog_run(LOCK_ARCHIVE, NULL, 0);
	(void) dp_catalog_run(LAST_ARCHIVE, args, 1);
	row->id = DatumGetInt64(dp_catalog_result(0, 1));
	get_digest(dp_catalog_result(0, 2), row);
}

/*
 * move_lines
 *	  Take lines that may leave, with ids from `first` to `last`, out of the
 *	  ledger, write their sums, and pass them to `sink` in the order of ids.
 */
static void
move_lines(const archive_row *row, int64 first, int64 last,
		   line_sink sink, void *context)
{
	Oid			types[] = {NAMEOID, TIMESTAMPTZOID, INT8OID, INT8OID, INT8OID};
	Datum		values[5];

	values[0] = NameGetDatum(&row->dataset);
	values[1] = TimestampTzGetDatum(row->before);
	values[2] = Int64GetDatum(row->id);
	values[3] = Int64GetDatum(first);
	values[4] = Int64GetDatum(last);
	give_lines(SPI_cursor_open_with_args(NULL, MOVE_LINES, 5, types, values,
										 NULL, false, 0),
			   sink, context);
}

/* write_archive: insert the completed row. */
static void
write_archive(const archive_row *row)
{
	bytea	   *digest = palloc(VARHDRSZ + row->digest_length);
	dp_argument args[] = {
		DP_ARG_INT64(row->id), DP_ARG_NAME(&row->dataset),
		{TIMESTAMPTZOID, TimestampTzGetDatum(row->before)},
		DP_ARG_NAME(&row->by), DP_ARG_INT64(row->lines),
		DP_ARG_INT64(row->first), DP_ARG_INT64(row->last),
		{BYTEAOID, PointerGetDatum(digest)}
	};

	SET_VARSIZE(digest, VARHDRSZ + row->digest_length);
	memcpy(VARDATA(digest), row->digest, row->digest_length);
	(void) dp_catalog_run(WRITE_ARCHIVE, args, 8);
}

/*
 * read_lines
 *	  Read a dataset's archived lines from a table, in the order of archive and
 *	  id, as the current user.  The archive's id follows the other columns.
 */
static void
read_lines(const char *table, const char *dataset, line_sink sink,
		   void *context)
{
	Oid			type = NAMEOID;
	NameData	name;
	Datum		value = NameGetDatum(&name);

	namestrcpy(&name, dataset);
	give_lines(SPI_cursor_open_with_args(NULL, psprintf(READ_LINES, table), 1,
										 &type, &value, NULL, true, 0),
			   sink, context);
}

/*
 * list_archives
 *	  Rows of a dataset in order; returns their number.  They outlive
 *	  SPI_finish.
 */
static int
list_archives(const char *dataset, archive_row **rows)
{
	NameData	name;
	dp_argument args[] = {DP_ARG_NAME(&name)};
	int			n;
	int			i;

	namestrcpy(&name, dataset);
	n = (int) dp_catalog_run(LIST_ARCHIVES, args, 1);
	*rows = SPI_palloc(sizeof(archive_row) * Max(n, 1));
	memset(*rows, 0, sizeof(archive_row) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		archive_row *row = &(*rows)[i];

		row->dataset = name;
		row->id = DatumGetInt64(dp_catalog_result(i, 1));
		row->lines = DatumGetInt64(dp_catalog_result(i, 2));
		get_digest(dp_catalog_result(i, 3), row);
	}
	return n;
}

/* ----------------
 *		Reading lines: their digest, and the two functions.
 * ----------------
 */

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
	archive_row row;			/* lines, ids and digest as read so far */
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

/* line_sink */
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
	dp_base_owner_begin(&saved);
	start_archive(dataset, PG_GETARG_TIMESTAMPTZ(0), &r.row);
	move_lines(&r.row, PG_ARGISNULL(2) ? PG_INT64_MIN : PG_GETARG_INT64(2),
			   PG_ARGISNULL(3) ? PG_INT64_MAX : PG_GETARG_INT64(3),
			   read_line, &r);
	if (r.row.lines > 0)
	{
		dp_catalog_name_role(caller, &r.row.by);
		write_archive(&r.row);
	}
	dp_base_owner_end(&saved);
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
	const archive_row *rows; /* all archives, in order */
	int			n;
	int			now;			/* index of the current one */
	ReturnSetInfo *result;
} comparison;

/* All lines of the current archive were read: give its row of the result. */
static void
end_archive(comparison *c)
{
	const archive_row *wanted = &c->rows[c->now++];
	archive_row *row = &c->r.row;
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

/* line_sink; lines come in the order of archive, id. */
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
	archive_row *rows;
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
	dp_base_owner_begin(&saved);
	c.n = list_archives(dataset, &rows);
	dp_base_owner_end(&saved);
	c.rows = rows;
	c.now = 0;
	c.result = result;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	start_reading(&c.r);
	read_lines(table, dataset, compare_line, &c);
	while (c.now < c.n)
		end_archive(&c);
	SPI_finish();
	return (Datum) 0;
}
