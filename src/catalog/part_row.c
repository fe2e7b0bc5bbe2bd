/*
 * part_row.c
 *	  Rows of dp_pg.part: what was spent on each part of a partition.
 *
 * Nobody but the worker writes them.  They are not dumped: after a restore the
 * sums of all parts begin at zero while the totals stay, which costs more and
 * never less.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/sequence.h"

#include "dp_rows.h"

/* dp_catalog_new_partition: see dp_rows.h. */
int64
dp_catalog_new_partition(void)
{
	return nextval_internal(dp_table_sequence("partition_seq"), false);
}

/* dp_catalog_last_partition: the last number that was given; 0: none yet. */
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
 *	  The sums of dataset, payer, partition and key of *row in its period,
 *	  locked as told; zero when there are none.
 */
dp_found
dp_catalog_read_part(dp_part_row *row, dp_row_lock lock)
{
	ScanKeyData keys[4];
	dp_values	values;
	dp_found	found;

	dp_row_key(&keys[0], PART_DATASET, NAMEOID, NameGetDatum(&row->dataset));
	dp_row_key(&keys[1], PART_PAYER_OID, OIDOID,
			   ObjectIdGetDatum(row->payer));
	dp_row_key(&keys[2], PART_PARTITION, INT8OID,
			   Int64GetDatum(row->partition));
	dp_row_key(&keys[3], PART_KEY, NAMEOID, NameGetDatum(&row->key));
	MemSet(&row->spent, 0, sizeof(row->spent));
	row->tuple = NULL;
	found = dp_row_find(DP_TABLE_PART, NULL, keys, 4, NULL, lock,
						&row->tuple, &values);
	if (found == DP_FOUND &&
		DatumGetInt64(dp_get(&values, PART_PERIOD)) == row->period)
		dp_get_sums(&values, PART_SPENT, &row->spent);
	return found;
}

/* dp_catalog_write_part: the sums of a row that was read, or a new row. */
void
dp_catalog_write_part(const dp_part_row *row)
{
	dp_values	values;

	dp_row_start(DP_TABLE_PART, &values);
	dp_set(&values, PART_PERIOD, Int64GetDatum(row->period));
	dp_set_sums(&values, PART_SPENT, &row->spent);
	if (row->tuple != NULL)
	{
		dp_row_update(DP_TABLE_PART, row->tuple, &values);
		return;
	}
	dp_set(&values, PART_DATASET, NameGetDatum(&row->dataset));
	dp_set(&values, PART_PAYER_OID, ObjectIdGetDatum(row->payer));
	dp_set(&values, PART_PARTITION, Int64GetDatum(row->partition));
	dp_set(&values, PART_KEY, NameGetDatum(&row->key));
	dp_row_append(DP_TABLE_PART, &values, 1);
}
