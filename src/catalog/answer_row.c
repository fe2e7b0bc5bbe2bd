/*
 * answer_row.c
 *	  Rows of dp_pg.answer: released values that can be given again.
 *
 * Only the ledger's worker inserts.  Rows are read for any asking role, which
 * has no rights on the table.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "table_access.h"

/* Columns in the order of sql/28_answer.sql. */
enum
{
	ANSWER_ID = 1,
	ANSWER_DATASET,
	ANSWER_PAYER,
	ANSWER_PAYER_OID,
	ANSWER_CLUSTER,
	ANSWER_DATABASE,
	ANSWER_ROLE,
	ANSWER_AT,
	ANSWER_ROWS,
	ANSWER_BYTES,
	ANSWER_HITS,
	ANSWER_LAST_HIT,
	ANSWER_HASH,
	ANSWER_DIGEST,
	ANSWER_KEY,
	ANSWER_CONTENT,
	ANSWER_END
};

static const dp_table answers = {"answer", ANSWER_END - 1};
static const char hash_index[] = "answer_hash_idx";
static const char dataset_index[] = "answer_dataset_idx";
static const char payer_index[] = "answer_payer_idx";

/*
 * dp_catalog_lock_answers
 *	  Lock the table for writing, without waiting, since the worker serves
 *	  others, too; false: it is locked.
 */
bool
dp_catalog_lock_answers(void)
{
	Oid			relid = get_relname_relid(answers.name,
										  dp_bridge_catalog_namespace());

	return OidIsValid(relid) &&
		ConditionalLockRelationOid(relid, RowExclusiveLock);
}

/* Everything except key and content, which are large. */
static void
answer_row_fetch(const dp_values *row, dp_answer_row *out)
{
	out->id = dp_catalog_get_int64(row, ANSWER_ID);
	out->dataset = dp_catalog_get_name(row, ANSWER_DATASET);
	out->payer_name = dp_catalog_get_name(row, ANSWER_PAYER);
	out->payer = dp_catalog_get_oid(row, ANSWER_PAYER_OID);
	out->cluster = dp_catalog_get_int64(row, ANSWER_CLUSTER);
	out->database = dp_catalog_get_oid(row, ANSWER_DATABASE);
	out->role_name = dp_catalog_get_name(row, ANSWER_ROLE);
	out->at = dp_catalog_get_time(row, ANSWER_AT);
	out->rows = dp_catalog_get_int64(row, ANSWER_ROWS);
	out->bytes = dp_catalog_get_int64(row, ANSWER_BYTES);
	out->hits = dp_catalog_get_int64(row, ANSWER_HITS);
	if (!dp_catalog_is_null(row, ANSWER_LAST_HIT))
		out->last_hit = dp_catalog_get_time(row, ANSWER_LAST_HIT);
	out->hash = dp_catalog_get_int64(row, ANSWER_HASH);
	out->digest = DatumGetByteaPP(dp_catalog_get(row, ANSWER_DIGEST));
}

static List *
fetch_all(List *rows)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, rows)
	{
		const dp_values *row = lfirst(lc);
		dp_answer_row *out = palloc0(sizeof(dp_answer_row));

		answer_row_fetch(row, out);
		result = lappend(result, out);
	}
	return result;
}

/*
 * dp_catalog_find_answer
 *	  The content, palloc'd, of the last answer with this hash that `wanted`
 *	  accepts, among those committed by now; NULL: none.
 */
bytea *
dp_catalog_find_answer(int64 hash, dp_answer_wanted wanted, void *context)
{
	ScanKeyData key;
	const dp_values *found = NULL;
	List	   *rows;
	ListCell   *lc;

	dp_catalog_key(&key, ANSWER_HASH, INT8OID, Int64GetDatum(hash));
	rows = dp_catalog_list_rows(&answers, hash_index, &key, 1, NULL);
	foreach(lc, rows)
	{
		const dp_values *row = lfirst(lc);
		dp_answer_row answer = {0};

		answer_row_fetch(row, &answer);
		answer.key = DatumGetByteaP(dp_catalog_get(row, ANSWER_KEY));
		if (wanted(&answer, context))
			found = row;
	}
	return found == NULL ? NULL :
		DatumGetByteaP(dp_catalog_get(found, ANSWER_CONTENT));
}

/*
 * dp_catalog_list_answers
 *	  The answers of a dataset, without key and content, committed by now.
 */
List *
dp_catalog_list_answers(const char *dataset)
{
	ScanKeyData key;
	NameData	name;

	namestrcpy(&name, dataset);
	dp_catalog_key(&key, ANSWER_DATASET, NAMEOID, NameGetDatum(&name));
	return fetch_all(dp_catalog_list_rows(&answers, dataset_index, &key, 1,
										  NULL));
}

/*
 * dp_catalog_list_answers_of
 *	  The same for answers that a role has paid for, of all datasets.
 */
List *
dp_catalog_list_answers_of(Oid payer)
{
	ScanKeyData key;

	dp_catalog_key(&key, ANSWER_PAYER_OID, OIDOID, ObjectIdGetDatum(payer));
	return fetch_all(dp_catalog_list_rows(&answers, payer_index, &key, 1,
										  NULL));
}

/*
 * dp_catalog_next_answers
 *	  The same for the next `n` after an id, in order.
 */
List *
dp_catalog_next_answers(int64 after, int n)
{
	Relation	rel = dp_catalog_open_table(&answers, AccessShareLock);
	Snapshot	snapshot = RegisterSnapshot(GetLatestSnapshot());
	List	   *rows = NIL;
	ScanKeyData key;
	dp_scan		scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, ANSWER_ID, BTGreaterStrategyNumber, F_INT8GT,
				Int64GetDatum(after));
	dp_catalog_start_scan(&scan, rel, NULL, snapshot, &key, 1);
	while (list_length(rows) < n &&
		   HeapTupleIsValid(tuple = dp_catalog_next(&scan)))
	{
		dp_values  *row = palloc(sizeof(dp_values));

		dp_catalog_read_row(&answers, rel, heap_copytuple(tuple), row);
		rows = lappend(rows, row);
	}
	dp_catalog_end_scan(&scan);
	UnregisterSnapshot(snapshot);
	table_close(rel, NoLock);
	return fetch_all(rows);
}

/* Find the row of an answer and lock it. */
static dp_found
lock_answer(int64 id, dp_row_lock lock, HeapTuple *tuple, dp_values *row)
{
	ScanKeyData key;

	dp_catalog_key(&key, ANSWER_ID, INT8OID, Int64GetDatum(id));
	return dp_catalog_find_row(&answers, NULL, &key, 1, NULL, lock, tuple,
							   row);
}

/*
 * dp_catalog_delete_answer
 *	  Delete an answer.  With DP_ROW_SKIP_LOCKED, DP_LOCKED if it is locked.
 */
dp_found
dp_catalog_delete_answer(int64 id, dp_row_lock lock)
{
	HeapTuple	tuple;
	dp_values	row;
	dp_found	found = lock_answer(id, lock, &tuple, &row);

	if (found == DP_FOUND)
		dp_catalog_delete_row(&answers, tuple);
	return found;
}

/*
 * dp_catalog_add_hits: count hits; does nothing if the row is gone or locked.
 */
void
dp_catalog_add_hits(int64 id, int64 hits, TimestampTz last)
{
	HeapTuple	tuple;
	dp_values	row;
	dp_values	values;

	if (lock_answer(id, DP_ROW_SKIP_LOCKED, &tuple, &row) != DP_FOUND)
		return;
	dp_catalog_start_row(&answers, &values);
	dp_catalog_set_int64(&values, ANSWER_HITS,
						 dp_catalog_get_int64(&row, ANSWER_HITS) + hits);
	dp_catalog_set_time(&values, ANSWER_LAST_HIT, last);
	dp_catalog_update_row(&answers, tuple, &values);
}

/* dp_catalog_insert_answer: insert a new answer, without hits. */
void
dp_catalog_insert_answer(const dp_answer_row *new)
{
	dp_values	row;

	dp_catalog_start_row(&answers, &row);
	dp_catalog_set_int64(&row, ANSWER_ID, new->id);
	dp_catalog_set_name(&row, ANSWER_DATASET, &new->dataset);
	dp_catalog_set_name(&row, ANSWER_PAYER, &new->payer_name);
	dp_catalog_set_oid(&row, ANSWER_PAYER_OID, new->payer);
	dp_catalog_set_int64(&row, ANSWER_CLUSTER, dp_bridge_cluster_id());
	dp_catalog_set_oid(&row, ANSWER_DATABASE, MyDatabaseId);
	dp_catalog_set_name(&row, ANSWER_ROLE, &new->role_name);
	dp_catalog_set_time(&row, ANSWER_AT, new->at);
	dp_catalog_set_int64(&row, ANSWER_ROWS, new->rows);
	dp_catalog_set_int64(&row, ANSWER_BYTES, new->bytes);
	dp_catalog_set_int64(&row, ANSWER_HITS, 0);
	dp_catalog_set_int64(&row, ANSWER_HASH, new->hash);
	dp_catalog_set(&row, ANSWER_DIGEST, PointerGetDatum(new->digest));
	dp_catalog_set(&row, ANSWER_KEY, PointerGetDatum(new->key));
	dp_catalog_set(&row, ANSWER_CONTENT, PointerGetDatum(new->content));
	dp_catalog_append_rows(&answers, &row, 1);
}

/*
 * dp_catalog_forget_answers
 *	  Delete those that a role has paid for, in the current transaction; waits
 *	  for row locks.
 */
void
dp_catalog_forget_answers(const char *dataset, Oid payer)
{
	ListCell   *lc;

	foreach(lc, dp_catalog_list_answers(dataset))
	{
		const dp_answer_row *row = lfirst(lc);

		if (row->payer == payer)
			(void) dp_catalog_delete_answer(row->id, DP_ROW_WAIT);
	}
}
