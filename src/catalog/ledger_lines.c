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

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_ledger_line
static const dp_column ledger_columns[] = {
	DP_COL("id", VALUE, id, 0),
	DP_COL("at", VALUE, at, 0),
	DP_COL("role", BYTES, role, 0),
	DP_COL("role_oid", VALUE, role_oid, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("login_role", BYTES, login, 0),
	DP_COL_IF("payer", BYTES, payer, 0, paid),
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("mechanism", TEXT, mechanism, 0),
	DP_COL("epsilon", FIXED, charged.epsilon, 0),
	DP_COL("delta", FIXED, charged.delta, 0),
	DP_COL("rho", FIXED, charged.rho, 0),
	DP_COL("releases", VALUE, releases, 0),
	DP_COL("fingerprint", VALUE, fingerprint, 0),
	DP_COL_IF("price_epsilon", FIXED, price.epsilon, 0, priced),
	DP_COL_IF("price_delta", FIXED, price.delta, 0, priced),
	DP_COL_IF("price_rho", FIXED, price.rho, 0, priced),
	DP_COL_OR_NULL("batch", VALUE, batch, 0),
	DP_COL_OR_NULL("partition", VALUE, partition, 0),
	DP_COL_IF("part", BYTES, part, 0, partition),
	DP_COL_IF("period", VALUE, period, 0, paid)
};
#undef DP_ROW

static const dp_table ledger = DP_TABLE("ledger", dp_ledger_line,
										ledger_columns);

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
	AttrNumber	cluster = dp_catalog_column(&ledger, "cluster");
	bool		found = false;
	int			i;

	ScanKeyInit(&keys[0], cluster, BTLessStrategyNumber, F_INT8LT, here);
	ScanKeyInit(&keys[1], cluster, BTGreaterStrategyNumber, F_INT8GT, here);
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

/*
 * dp_catalog_append_lines
 *	  Append lines, whose ids are already set.
 */
void
dp_catalog_append_lines(dp_ledger_line *lines, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_charge *price = &lines[i].price;
		const dp_charge *charged = &lines[i].charged;

		lines[i].at = now;
		lines[i].cluster = dp_bridge_cluster_id();
		lines[i].priced = price->epsilon != charged->epsilon ||
			price->delta != charged->delta || price->rho != charged->rho;
	}
	dp_catalog_insert_rows(&ledger, lines, n);
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

#define BATCH_USE 1				/* what an update writes */

/* In the order of sql/20_ledger.sql. */
#define DP_ROW dp_batch_row
static const dp_column batch_columns[] = {
	DP_COL("id", VALUE, id, 0),
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("role", BYTES, role_name, 0),
	DP_COL("role_oid", VALUE, role, BATCH_USE),
	DP_COL("cluster", VALUE, cluster, BATCH_USE),
	DP_COL_IF("payer", BYTES, payer_name, BATCH_USE, payer),
	DP_COL_OR_NULL("payer_oid", VALUE, payer, BATCH_USE),
	DP_COL("period", VALUE, period, 0),
	DP_COL("epsilon", FIXED, epsilon, 0),
	DP_COL("queries", VALUE, queries, 0),
	DP_COL("used", VALUE, used, BATCH_USE),
	DP_COL("method", CHARS, method, 0),
	DP_COL("opened", VALUE, opened, 0),
	DP_COL_IF("closed", VALUE, closed_at, BATCH_USE, closed)
};
#undef DP_ROW

/* on (dataset, role), without closed rows */
#define OPEN_INDEX "batch_open"

static const dp_table batches = DP_TABLE("batch", dp_batch_row,
										 batch_columns);

static dp_found
find(int64 id, dp_row_lock lock, dp_batch_row *out)
{
	ScanKeyData key;

	dp_catalog_key(&key, &batches, "id", Int64GetDatum(id));
	return dp_catalog_find_row(&batches, NULL, &key, 1, NULL, lock, out);
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
	dp_catalog_key(&keys[0], &batches, "dataset", NameGetDatum(&key));
	dp_catalog_key(&keys[1], &batches, "role", NameGetDatum(&name));
	foreach(lc, dp_catalog_list_rows(&batches, OPEN_INDEX, keys, 2, NULL, 0))
	{
		const dp_batch_row *row = lfirst(lc);

		if (!row->closed && (row->role == role ||
							 !dp_catalog_in_lineage(row->cluster)))
			return find(row->id, lock, out);
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
	if (row->tuple != NULL)
		dp_catalog_update_row(&batches, row, BATCH_USE);
	else
		dp_catalog_insert_rows(&batches, row, 1);
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
	NameData	name;
	dp_argument args[] = {DP_ARG_NAME(&name)};
	int			n;
	int			i;

	namestrcpy(&name, dataset);
	n = (int) dp_catalog_run(LIST_ARCHIVES, args, 1);
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
