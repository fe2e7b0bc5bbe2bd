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

#include "../base/dp_base.h"
#include "dp_catalog.h"
#include "dp_table.h"

#define ANSWER_HITS 1			/* what an update writes */

/* In the order of sql/28_answer.sql. */
#define DP_ROW dp_answer_row
static const dp_column answer_columns[] = {
	DP_COL("id", VALUE, id, 0),
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("payer", BYTES, payer_name, 0),
	DP_COL("payer_oid", VALUE, payer, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("database", VALUE, database, 0),
	DP_COL("role", BYTES, role_name, 0),
	DP_COL("at", VALUE, at, 0),
	DP_COL("rows", VALUE, rows, 0),
	DP_COL("bytes", VALUE, bytes, 0),
	DP_COL("hits", VALUE, hits, ANSWER_HITS),
	DP_COL_OR_NULL("last_hit", VALUE, last_hit, ANSWER_HITS),
	DP_COL("hash", VALUE, hash, 0),
	DP_COL("digest", LONG, digest, 0),
	DP_COL("key", LONG, key, 0),
	DP_COL("content", LONG, content, 0)
};
#undef DP_ROW

static const dp_table answers = DP_TABLE("answer", dp_answer_row,
										 answer_columns);
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
										  dp_base_catalog_namespace());

	return OidIsValid(relid) &&
		ConditionalLockRelationOid(relid, RowExclusiveLock);
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
	const dp_answer_row *found = NULL;
	ListCell   *lc;

	dp_catalog_key(&key, &answers, "hash", Int64GetDatum(hash));
	foreach(lc, dp_catalog_list_rows(&answers, hash_index, &key, 1, NULL, 0))
	{
		dp_answer_row *row = lfirst(lc);

		row->key = DatumGetByteaP(PointerGetDatum(row->key));
		if (wanted(row, context))
			found = row;
	}
	return found == NULL ? NULL :
		DatumGetByteaP(PointerGetDatum(found->content));
}

/*
 * dp_catalog_list_answers
 *	  The answers of a dataset, committed by now.
 */
List *
dp_catalog_list_answers(const char *dataset)
{
	ScanKeyData key;
	NameData	name;

	namestrcpy(&name, dataset);
	dp_catalog_key(&key, &answers, "dataset", NameGetDatum(&name));
	return dp_catalog_list_rows(&answers, dataset_index, &key, 1, NULL, 0);
}

/*
 * dp_catalog_list_answers_of
 *	  The same for answers that a role has paid for, of all datasets.
 */
List *
dp_catalog_list_answers_of(Oid payer)
{
	ScanKeyData key;

	dp_catalog_key(&key, &answers, "payer_oid", ObjectIdGetDatum(payer));
	return dp_catalog_list_rows(&answers, payer_index, &key, 1, NULL, 0);
}

/*
 * dp_catalog_next_answers
 *	  The same for the next `n` after an id, in order.
 */
List *
dp_catalog_next_answers(int64 after, int n)
{
	ScanKeyData key;

	ScanKeyInit(&key, dp_catalog_column(&answers, "id"),
				BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(after));
	return dp_catalog_list_rows(&answers, NULL, &key, 1, NULL, n);
}

/* Find the row of an answer and lock it. */
static dp_found
lock_answer(int64 id, dp_row_lock lock, dp_answer_row *out)
{
	ScanKeyData key;

	dp_catalog_key(&key, &answers, "id", Int64GetDatum(id));
	return dp_catalog_find_row(&answers, NULL, &key, 1, NULL, lock, out);
}

/*
 * dp_catalog_delete_answer
 *	  Delete an answer.  With DP_ROW_SKIP_LOCKED, DP_LOCKED if it is locked.
 */
dp_found
dp_catalog_delete_answer(int64 id, dp_row_lock lock)
{
	dp_answer_row row;
	dp_found	found = lock_answer(id, lock, &row);

	if (found == DP_FOUND)
		dp_catalog_delete_row(&answers, row.tuple);
	return found;
}

/*
 * dp_catalog_add_hits: count hits; does nothing if the row is gone or locked.
 */
void
dp_catalog_add_hits(int64 id, int64 hits, TimestampTz last)
{
	dp_answer_row row;

	if (lock_answer(id, DP_ROW_SKIP_LOCKED, &row) != DP_FOUND)
		return;
	row.hits += hits;
	row.last_hit = last;
	dp_catalog_update_row(&answers, &row, ANSWER_HITS);
}

/* dp_catalog_insert_answer: insert a new answer, without hits. */
void
dp_catalog_insert_answer(const dp_answer_row *new)
{
	dp_answer_row row = *new;

	row.cluster = dp_base_cluster_id();
	row.database = MyDatabaseId;
	dp_catalog_insert_rows(&answers, &row, 1);
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
