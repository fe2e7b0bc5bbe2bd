/*
 * entry.c
 *	  Lines of dp_pg.ledger, appended by the worker and by nobody else.
 */
#include "postgres.h"

#include "commands/sequence.h"
#include "utils/builtins.h"

#include "catalog.h"

/*
 * dp_catalog_append
 *	  Append lines and learn their ids.
 */
void
dp_catalog_append(dp_ledger_line *lines, int n)
{
	Oid			sequence = dp_table_sequence();
	TimestampTz now = GetCurrentTimestamp();
	dp_values  *rows = palloc(sizeof(dp_values) * n);
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_ledger_request *request = &lines[i].slot->request;
		dp_values  *row = &rows[i];

		lines[i].id = nextval_internal(sequence, false);
		dp_row_start(DP_TABLE_LEDGER, row);
		dp_set(row, LEDGER_ID, Int64GetDatum(lines[i].id));
		dp_set(row, LEDGER_AT, TimestampTzGetDatum(now));
		dp_set(row, LEDGER_ROLE, NameGetDatum(&lines[i].role));
		dp_set(row, LEDGER_ROLE_OID, ObjectIdGetDatum(lines[i].role_oid));
		dp_set(row, LEDGER_CLUSTER, Int64GetDatum(dp_bridge_cluster_id()));
		dp_set(row, LEDGER_LOGIN, NameGetDatum(&lines[i].login));
		if (!lines[i].exempt)
			dp_set(row, LEDGER_PAYER, NameGetDatum(&lines[i].payer));
		dp_set(row, LEDGER_DATASET, NameGetDatum(&request->dataset));
		dp_set(row, LEDGER_MECHANISM, CStringGetTextDatum(request->mechanism));
		dp_set_fixed(row, LEDGER_EPSILON, request->charge.epsilon);
		dp_set_fixed(row, LEDGER_DELTA, request->charge.delta);
		dp_set_fixed(row, LEDGER_RHO, request->charge.rho);
		dp_set(row, LEDGER_RELEASES, Int32GetDatum(request->releases));
		dp_set(row, LEDGER_FINGERPRINT, Int64GetDatum(request->fingerprint));
	}
	dp_row_append(DP_TABLE_LEDGER, rows, n);
}
