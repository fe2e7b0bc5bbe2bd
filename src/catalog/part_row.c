/*
 * part_row.c
 *	  Rows of dp_pg.part: what was spent on each part of a partition.
 *
 * Only the worker writes them.  They are not dumped: after a restore the sums
 * of all parts are zero while the totals stay, which costs more, never less.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/sequence.h"

#include "table_access.h"

/* Columns in the order of sql/20_ledger.sql. */
enum
{
	PART_DATASET = 1,
	PART_PAYER_OID,
	PART_PARTITION,
	PART_KEY,
	PART_PERIOD,
	PART_SPENT,					/* first of DP_SUM_COLUMNS */
	PART_END = PART_SPENT + DP_SUM_COLUMNS
};

static const dp_table parts = {"part", PART_END - 1};

/* dp_catalog_new_partition: see dp_catalog.h. */
int64
dp_catalog_new_partition(void)
{
	return nextval_internal(dp_catalog_sequence("partition_seq"), false);
}

/* dp_catalog_last_partition: the last number assigned; 0: none yet. */
int64
dp_catalog_last_partition(void)
{
	dp_owner_sql saved;
	int64		last = 0;

	dp_bridge_owner_begin(&saved);
	if (dp_catalog_run("SELECT last_value FROM dp_pg.partition_seq"
					   " WHERE is_called", 0, NULL, NULL, NULL) == 1)
		last = DatumGetInt64(dp_catalog_result(0, 1));
	dp_bridge_owner_end(&saved);
	return last;
}

/*
 * dp_catalog_read_part
 *	  Read the sums of the dataset, payer, partition and key in *row, locked as
 *	  `lock` says; zero if they are missing or of another period.
 */
dp_found
dp_catalog_read_part(dp_part_row *row, dp_row_lock lock)
{
	ScanKeyData keys[4];
	dp_values	values;
	dp_found	found;

	dp_catalog_key(&keys[0], PART_DATASET, NAMEOID,
				   NameGetDatum(&row->dataset));
	dp_catalog_key(&keys[1], PART_PAYER_OID, OIDOID,
				   ObjectIdGetDatum(row->payer));
	dp_catalog_key(&keys[2], PART_PARTITION, INT8OID,
				   Int64GetDatum(row->partition));
	dp_catalog_key(&keys[3], PART_KEY, NAMEOID, NameGetDatum(&row->key));
	MemSet(&row->spent, 0, sizeof(row->spent));
	row->tuple = NULL;
	found = dp_catalog_find_row(&parts, NULL, keys, 4, NULL, lock,
								&row->tuple, &values);
	if (found == DP_FOUND &&
		dp_catalog_get_int64(&values, PART_PERIOD) == row->period)
		dp_catalog_get_sums(&values, PART_SPENT, &row->spent);
	return found;
}

/* dp_catalog_write_part: update a row that was read, or insert it. */
void
dp_catalog_write_part(const dp_part_row *row)
{
	dp_values	values;

	dp_catalog_start_row(&parts, &values);
	dp_catalog_set_int64(&values, PART_PERIOD, row->period);
	dp_catalog_set_sums(&values, PART_SPENT, &row->spent);
	if (row->tuple != NULL)
	{
		dp_catalog_update_row(&parts, row->tuple, &values);
		return;
	}
	dp_catalog_set_name(&values, PART_DATASET, &row->dataset);
	dp_catalog_set_oid(&values, PART_PAYER_OID, row->payer);
	dp_catalog_set_int64(&values, PART_PARTITION, row->partition);
	dp_catalog_set_name(&values, PART_KEY, &row->key);
	dp_catalog_append_rows(&parts, &values, 1);
}
