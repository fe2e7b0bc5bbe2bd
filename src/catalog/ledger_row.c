/*
 * ledger_row.c
 *	  Lines of dp_pg.ledger, appended by the worker and by nobody else.
 */
#include "postgres.h"

#include "commands/sequence.h"
#include "utils/builtins.h"

#include "dp_rows.h"

/* dp_catalog_next_id: of the next line; a line that is not written leaves a
 * gap. */
int64
dp_catalog_next_id(void)
{
	return nextval_internal(dp_table_sequence("ledger_id_seq"), false);
}

/* What the release costs by itself, when that is not what was charged. */
static void
set_price(dp_values *row, const dp_charge *price, const dp_charge *charged)
{
	if (price->epsilon == charged->epsilon &&
		price->delta == charged->delta && price->rho == charged->rho)
		return;
	dp_set_fixed(row, LEDGER_PRICE, price->epsilon);
	dp_set_fixed(row, LEDGER_PRICE + 1, price->delta);
	dp_set_fixed(row, LEDGER_PRICE + 2, price->rho);
}

/*
 * dp_catalog_append
 *	  Append lines, whose ids are theirs already.
 */
void
dp_catalog_append(const dp_ledger_line *lines, int n)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_values  *rows = palloc(sizeof(dp_values) * n);
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_ledger_line *line = &lines[i];
		dp_values  *row = &rows[i];

		dp_row_start(DP_TABLE_LEDGER, row);
		dp_set(row, LEDGER_ID, Int64GetDatum(line->id));
		dp_set(row, LEDGER_AT, TimestampTzGetDatum(now));
		dp_set(row, LEDGER_ROLE, NameGetDatum(&line->role));
		dp_set(row, LEDGER_ROLE_OID, ObjectIdGetDatum(line->role_oid));
		dp_set(row, LEDGER_CLUSTER, Int64GetDatum(dp_bridge_cluster_id()));
		dp_set(row, LEDGER_LOGIN, NameGetDatum(&line->login));
		if (!line->exempt)
			dp_set(row, LEDGER_PAYER, NameGetDatum(&line->payer));
		dp_set(row, LEDGER_DATASET, NameGetDatum(&line->dataset));
		dp_set(row, LEDGER_MECHANISM, CStringGetTextDatum(line->mechanism));
		dp_set_fixed(row, LEDGER_EPSILON, line->charged.epsilon);
		dp_set_fixed(row, LEDGER_DELTA, line->charged.delta);
		dp_set_fixed(row, LEDGER_RHO, line->charged.rho);
		dp_set(row, LEDGER_RELEASES, Int32GetDatum(line->releases));
		dp_set(row, LEDGER_FINGERPRINT, Int64GetDatum(line->fingerprint));
		set_price(row, &line->price, &line->charged);
		if (line->batch != 0)
			dp_set(row, LEDGER_BATCH, Int64GetDatum(line->batch));
		if (line->partition != 0)
		{
			dp_set(row, LEDGER_PARTITION, Int64GetDatum(line->partition));
			dp_set(row, LEDGER_PART, NameGetDatum(&line->part));
		}
	}
	dp_row_append(DP_TABLE_LEDGER, rows, n);
}
