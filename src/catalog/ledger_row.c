/*
 * ledger_row.c
 *	  Lines of dp_pg.ledger, which only the worker appends.
 */
#include "postgres.h"

#include "access/table.h"
#include "commands/sequence.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"

#include "table_access.h"

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
