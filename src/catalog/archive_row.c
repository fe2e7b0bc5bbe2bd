/*
 * archive_row.c
 *	  Lines that leave dp_pg.ledger, and what remains of them: a row of
 *	  dp_pg.archive for each call that took some, and their sums in
 *	  dp_pg.archive_sum.
 *
 * This is done by SQL, since it is rare and concerns many lines.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "table_access.h"

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
