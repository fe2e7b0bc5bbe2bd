/*
 * ledger_lines.c
 *	  Lines of the ledger: of charges, of batches, and of what was archived.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "commands/sequence.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "table_access.h"

/* ----------------
 *		Lines of dp_pg.ledger, which only the worker appends.
 * ----------------
 */

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	LEDGER_ID = 1,
	LEDGER_AT,
	LEDGER_ROLE,
	LEDGER_ROLE_OID,
	LEDGER_CLUSTER,
	LEDGER_LOGIN,
	LEDGER_PAYER,
	LEDGER_DATASET,
	LEDGER_MECHANISM,
	LEDGER_EPSILON,
	LEDGER_DELTA,
	LEDGER_RHO,
	LEDGER_RELEASES,
	LEDGER_FINGERPRINT,
	LEDGER_PRICE,				/* first of three: epsilon, delta, rho */
	LEDGER_BATCH = LEDGER_PRICE + 3,
	LEDGER_PARTITION,
	LEDGER_PART,
	LEDGER_PERIOD,
	LEDGER_END
};

static const dp_table ledger = {"ledger", LEDGER_END - 1};

/*
 * dp_catalog_lock_ledger
 *	  Lock the three tables until the end of the transaction, and check that
 *	  they are the extension's.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
void
dp_catalog_lock_ledger(LOCKMODE mode)
{
	table_close(dp_catalog_open_table(&dp_catalog_datasets, mode), NoLock);
	table_close(dp_catalog_open_table(&dp_catalog_budgets, mode), NoLock);
	table_close(dp_catalog_open_table(&ledger, mode), NoLock);
}

/*
 * dp_catalog_has_foreign_lines
 *	  Whether the active snapshot sees lines that another cluster wrote.
 */
bool
dp_catalog_has_foreign_lines(void)
{
	Relation	rel = dp_catalog_open_table(&ledger, AccessShareLock);
	Datum		here = Int64GetDatum(dp_bridge_cluster_id());
	ScanKeyData keys[2];
	bool		found = false;
	int			i;

	ScanKeyInit(&keys[0], LEDGER_CLUSTER, BTLessStrategyNumber, F_INT8LT,
				here);
	ScanKeyInit(&keys[1], LEDGER_CLUSTER, BTGreaterStrategyNumber, F_INT8GT,
				here);
	for (i = 0; i < lengthof(keys) && !found; i++)
	{
		dp_scan		scan;

		dp_catalog_start_scan(&scan, rel, "ledger_asker", GetActiveSnapshot(),
							  &keys[i], 1);
		found = HeapTupleIsValid(dp_catalog_next(&scan));
		dp_catalog_end_scan(&scan);
	}
	table_close(rel, NoLock);
	return found;
}

/*
 * dp_catalog_next_line
 *	  The id of the next line; ids of lines that are not written leave gaps.
 */
int64
dp_catalog_next_line(void)
{
	return nextval_internal(dp_catalog_sequence("ledger_id_seq"), false);
}

/* Set the price of the release alone, if it differs from what was charged. */
static void
set_price(dp_values *row, const dp_charge *price, const dp_charge *charged)
{
	if (price->epsilon == charged->epsilon &&
		price->delta == charged->delta && price->rho == charged->rho)
		return;
	dp_catalog_set_fixed(row, LEDGER_PRICE, price->epsilon);
	dp_catalog_set_fixed(row, LEDGER_PRICE + 1, price->delta);
	dp_catalog_set_fixed(row, LEDGER_PRICE + 2, price->rho);
}

/*
 * dp_catalog_append_lines
 *	  Append lines, whose ids are already set.
 */
void
dp_catalog_append_lines(const dp_ledger_line *lines, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_values  *rows = palloc(sizeof(dp_values) * n);
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_ledger_line *line = &lines[i];
		dp_values  *row = &rows[i];

		dp_catalog_start_row(&ledger, row);
		dp_catalog_set_int64(row, LEDGER_ID, line->id);
		dp_catalog_set_time(row, LEDGER_AT, now);
		dp_catalog_set_name(row, LEDGER_ROLE, &line->role);
		dp_catalog_set_oid(row, LEDGER_ROLE_OID, line->role_oid);
		dp_catalog_set_int64(row, LEDGER_CLUSTER, dp_bridge_cluster_id());
		dp_catalog_set_name(row, LEDGER_LOGIN, &line->login);
		if (!line->exempt)
		{
			dp_catalog_set_name(row, LEDGER_PAYER, &line->payer);
			dp_catalog_set_int64(row, LEDGER_PERIOD, line->period);
		}
		dp_catalog_set_name(row, LEDGER_DATASET, &line->dataset);
		dp_catalog_set_text(row, LEDGER_MECHANISM, line->mechanism);
		dp_catalog_set_fixed(row, LEDGER_EPSILON, line->charged.epsilon);
		dp_catalog_set_fixed(row, LEDGER_DELTA, line->charged.delta);
		dp_catalog_set_fixed(row, LEDGER_RHO, line->charged.rho);
		dp_catalog_set_int32(row, LEDGER_RELEASES, line->releases);
		dp_catalog_set_int64(row, LEDGER_FINGERPRINT, line->fingerprint);
		set_price(row, &line->price, &line->charged);
		if (line->batch != 0)
			dp_catalog_set_int64(row, LEDGER_BATCH, line->batch);
		if (line->partition != 0)
		{
			dp_catalog_set_int64(row, LEDGER_PARTITION, line->partition);
			dp_catalog_set_name(row, LEDGER_PART, &line->part);
		}
	}
	dp_catalog_append_rows(&ledger, rows, n);
}

/* ----------------
 *		Rows of dp_pg.batch: queries that were paid for together.
 *
 * Only the worker writes them.  Like a budget, a row belongs to a role by OID
 * in the cluster that wrote it, and by name in others (ledger_tables.c).  It
 * is looked up by the role's current name: a renamed role finds its batch
 * again when it is renamed back.
 * ----------------
 */

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	BATCH_ID = 1,
	BATCH_DATASET,
	BATCH_ROLE,
	BATCH_ROLE_OID,
	BATCH_CLUSTER,
	BATCH_PAYER,
	BATCH_PAYER_OID,
	BATCH_PERIOD,
	BATCH_EPSILON,
	BATCH_QUERIES,
	BATCH_USED,
	BATCH_METHOD,
	BATCH_OPENED,
	BATCH_CLOSED,
	BATCH_END
};

/* on (dataset, role), without closed rows */
#define OPEN_INDEX "batch_open"

static const dp_table batches = {"batch", BATCH_END - 1};

static void
line_fetch(const dp_values *row, dp_batch_row *out)
{
	out->id = dp_catalog_get_int64(row, BATCH_ID);
	out->dataset = dp_catalog_get_name(row, BATCH_DATASET);
	out->role = dp_catalog_get_oid(row, BATCH_ROLE_OID);
	out->role_name = dp_catalog_get_name(row, BATCH_ROLE);
	out->cluster = dp_catalog_get_int64(row, BATCH_CLUSTER);
	if (!dp_catalog_is_null(row, BATCH_PAYER))
	{
		out->payer = dp_catalog_get_oid(row, BATCH_PAYER_OID);
		out->payer_name = dp_catalog_get_name(row, BATCH_PAYER);
	}
	out->period = dp_catalog_get_int64(row, BATCH_PERIOD);
	out->epsilon = dp_catalog_get_fixed(row, BATCH_EPSILON);
	out->queries = dp_catalog_get_int32(row, BATCH_QUERIES);
	out->used = dp_catalog_get_int32(row, BATCH_USED);
	strlcpy(out->method, dp_catalog_get_text(row, BATCH_METHOD),
			DP_METHOD_LENGTH);
	out->opened = dp_catalog_get_time(row, BATCH_OPENED);
	out->closed = !dp_catalog_is_null(row, BATCH_CLOSED);
	if (out->closed)
		out->closed_at = dp_catalog_get_time(row, BATCH_CLOSED);
}

static dp_found
find(int64 id, dp_row_lock lock, dp_batch_row *out)
{
	ScanKeyData key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_catalog_key(&key, BATCH_ID, INT8OID, Int64GetDatum(id));
	found = dp_catalog_find_row(&batches, NULL, &key, 1, NULL, lock,
								&out->tuple, &row);
	if (found == DP_FOUND)
		line_fetch(&row, out);
	return found;
}

/* dp_catalog_find_batch: the latest committed row, not locked. */
bool
dp_catalog_find_batch(int64 id, dp_batch_row *out)
{
	return find(id, DP_ROW_READ, out) == DP_FOUND;
}

/*
 * dp_catalog_read_batch
 *	  The open batch of a role on a dataset, locked as `lock` says.
 */
dp_found
dp_catalog_read_batch(const char *dataset, Oid role, const char *role_name,
					  dp_row_lock lock, dp_batch_row *out)
{
	NameData	key;
	NameData	name;
	ScanKeyData keys[2];
	ListCell   *lc;

	MemSet(out, 0, sizeof(*out));
	namestrcpy(&key, dataset);
	namestrcpy(&name, role_name);
	dp_catalog_key(&keys[0], BATCH_DATASET, NAMEOID, NameGetDatum(&key));
	dp_catalog_key(&keys[1], BATCH_ROLE, NAMEOID, NameGetDatum(&name));
	foreach(lc, dp_catalog_list_rows(&batches, OPEN_INDEX, keys, 2, NULL))
	{
		const dp_values *row = lfirst(lc);

		if (!dp_catalog_is_null(row, BATCH_CLOSED) ||
			(dp_catalog_in_lineage(dp_catalog_get_int64(row,
													   BATCH_CLUSTER)) &&
			 dp_catalog_get_oid(row, BATCH_ROLE_OID) != role))
			continue;
		return find(dp_catalog_get_int64(row, BATCH_ID), lock, out);
	}
	return DP_MISSING;
}

/*
 * dp_catalog_write_batch
 *	  Insert a new row, or update one that was read and locked: identities,
 *	  number of used queries, end.
 */
void
dp_catalog_write_batch(const dp_batch_row *row)
{
	dp_values	values;

	dp_catalog_start_row(&batches, &values);
	dp_catalog_set_oid(&values, BATCH_ROLE_OID, row->role);
	dp_catalog_set_int64(&values, BATCH_CLUSTER, row->cluster);
	if (OidIsValid(row->payer))
	{
		dp_catalog_set_name(&values, BATCH_PAYER, &row->payer_name);
		dp_catalog_set_oid(&values, BATCH_PAYER_OID, row->payer);
	}
	dp_catalog_set_int32(&values, BATCH_USED, row->used);
	if (row->closed)
		dp_catalog_set_time(&values, BATCH_CLOSED, row->closed_at);
	if (row->tuple != NULL)
	{
		dp_catalog_update_row(&batches, row->tuple, &values);
		return;
	}
	dp_catalog_set_int64(&values, BATCH_ID, row->id);
	dp_catalog_set_name(&values, BATCH_DATASET, &row->dataset);
	dp_catalog_set_name(&values, BATCH_ROLE, &row->role_name);
	dp_catalog_set_int64(&values, BATCH_PERIOD, row->period);
	dp_catalog_set_fixed(&values, BATCH_EPSILON, row->epsilon);
	dp_catalog_set_int32(&values, BATCH_QUERIES, row->queries);
	dp_catalog_set_text(&values, BATCH_METHOD, row->method);
	dp_catalog_set_time(&values, BATCH_OPENED, row->opened);
	dp_catalog_append_rows(&batches, &values, 1);
}

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
give_lines(Portal portal, dp_line_sink sink, void *context)
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
get_digest(Datum value, dp_archive_row *row)
{
	bytea	   *digest = DatumGetByteaPP(value);

	row->digest_length = VARSIZE_ANY_EXHDR(digest);
	if (row->digest_length > DP_DIGEST_LENGTH)
		elog(ERROR, "digest of an archive is too long");
	memcpy(row->digest, VARDATA_ANY(digest), row->digest_length);
}

/*
 * dp_catalog_start_archive
 *	  Begin the row of a new archive, and lock the table against others until
 *	  the end of the transaction.  The digest is that of the dataset's last
 *	  archive, or empty.
 */
void
dp_catalog_start_archive(const char *dataset, TimestampTz before,
						 dp_archive_row *row)
{
	Oid			type = NAMEOID;
	Datum		value;

	MemSet(row, 0, sizeof(*row));
	namestrcpy(&row->dataset, dataset);
	row->before = before;
	value = NameGetDatum(&row->dataset);
	(void) dp_catalog_run(LOCK_ARCHIVE, 0, NULL, NULL, NULL);
	(void) dp_catalog_run(LAST_ARCHIVE, 1, &type, &value, NULL);
	row->id = DatumGetInt64(dp_catalog_result(0, 1));
	get_digest(dp_catalog_result(0, 2), row);
}

/*
 * dp_catalog_move_lines
 *	  Take lines that may leave, with ids from `first` to `last`, out of the
 *	  ledger, write their sums, and pass them to `sink` in the order of ids.
 */
void
dp_catalog_move_lines(const dp_archive_row *row, int64 first, int64 last,
					  dp_line_sink sink, void *context)
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

/* dp_catalog_write_archive: insert the completed row. */
void
dp_catalog_write_archive(const dp_archive_row *row)
{
	Oid			types[] = {INT8OID, NAMEOID, TIMESTAMPTZOID, NAMEOID, INT8OID,
	INT8OID, INT8OID, BYTEAOID};
	Datum		values[8];
	bytea	   *digest = palloc(VARHDRSZ + row->digest_length);

	SET_VARSIZE(digest, VARHDRSZ + row->digest_length);
	memcpy(VARDATA(digest), row->digest, row->digest_length);
	values[0] = Int64GetDatum(row->id);
	values[1] = NameGetDatum(&row->dataset);
	values[2] = TimestampTzGetDatum(row->before);
	values[3] = NameGetDatum(&row->by);
	values[4] = Int64GetDatum(row->lines);
	values[5] = Int64GetDatum(row->first);
	values[6] = Int64GetDatum(row->last);
	values[7] = PointerGetDatum(digest);
	(void) dp_catalog_run(WRITE_ARCHIVE, 8, types, values, NULL);
}

/*
 * dp_catalog_read_lines
 *	  Read a dataset's archived lines from a table, in the order of archive and
 *	  id, as the current user.  The archive's id follows the other columns.
 */
void
dp_catalog_read_lines(const char *table, const char *dataset,
					  dp_line_sink sink, void *context)
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
 * dp_catalog_list_archives
 *	  Rows of a dataset in order; returns their number.  They outlive
 *	  SPI_finish.
 */
int
dp_catalog_list_archives(const char *dataset, dp_archive_row **rows)
{
	Oid			type = NAMEOID;
	NameData	name;
	Datum		value = NameGetDatum(&name);
	int			n;
	int			i;

	namestrcpy(&name, dataset);
	n = (int) dp_catalog_run(LIST_ARCHIVES, 1, &type, &value, NULL);
	*rows = SPI_palloc(sizeof(dp_archive_row) * Max(n, 1));
	memset(*rows, 0, sizeof(dp_archive_row) * Max(n, 1));
	for (i = 0; i < n; i++)
	{
		dp_archive_row *row = &(*rows)[i];

		row->dataset = name;
		row->id = DatumGetInt64(dp_catalog_result(i, 1));
		row->lines = DatumGetInt64(dp_catalog_result(i, 2));
		get_digest(dp_catalog_result(i, 3), row);
	}
	return n;
}
