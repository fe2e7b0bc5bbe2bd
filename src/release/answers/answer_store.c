/*
 * answer_store.c
 *	  Stored answers: found, waited for, stored by the worker, and listed.
 *
 * This is the store: rows of dp_pg.answer by their keys, its shared memory and
 * the worker's part.  What a release asks of it is in stored_answer.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "dp_answers.h"
#include "answers_internal.h"

static const dp_task_methods tasks;

/* ----------------
 *		The rows of an answer as bytes, and back: minimal tuples, each aligned.
 * ----------------
 */

/*
 * dp_answers_pack
 *	  All rows of a store, which is rescanned; NULL if they take more than
 *	  `most` bytes.
 */
bytea *
dp_answers_pack(Tuplestorestate *store, TupleDesc result, Size most,
				int64 *rows)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(result,
													&TTSOpsMinimalTuple);
	static const char padding[MAXIMUM_ALIGNOF] = {0};
	StringInfoData bytes;

	initStringInfo(&bytes);
	appendBinaryStringInfo(&bytes, padding, VARHDRSZ);
	*rows = 0;
	tuplestore_rescan(store);
	while (bytes.len <= most &&
		   tuplestore_gettupleslot(store, true, false, slot))
	{
		MinimalTuple tuple = ExecFetchSlotMinimalTuple(slot, NULL);

		if (tuple->t_len > most)
			break;
		appendBinaryStringInfo(&bytes, (char *) tuple, tuple->t_len);
		appendBinaryStringInfo(&bytes, padding,
							   MAXALIGN(tuple->t_len) - tuple->t_len);
		(*rows)++;
	}
	if (!tuplestore_ateof(store))
		bytes.len = most + 1;
	ExecDropSingleTupleTableSlot(slot);
	if (bytes.len > most)
		return NULL;
	SET_VARSIZE(bytes.data, bytes.len);
	return (bytea *) bytes.data;
}

/* The column of a stored answer that is the n-th of the result. */
static int
answer_store_column_of(const dp_found_answer *answer, int asked, int nkeys,
					   int n)
{
	int			value = n - nkeys;

	if (value < 0)
		return n;
	return nkeys + answer->places[value % asked] +
		(value >= asked ? answer->layout.n : 0);
}

/* How the columns of a stored answer are mapped to those of a result. */
typedef struct picking
{
	const dp_found_answer *answer;
	int			asked;			/* values */
	int			nkeys;
	TupleDesc	result;
} picking;

static void
answer_store_put_row(const picking *p, TupleTableSlot *slot,
					 Tuplestorestate *store)
{
	int			n = p->result->natts;
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(sizeof(bool) * Max(n, 1));
	int			i;

	slot_getallattrs(slot);
	for (i = 0; i < n; i++)
	{
		int			column = answer_store_column_of(p->answer, p->asked,
													p->nkeys, i);

		values[i] = slot->tts_values[column];
		nulls[i] = slot->tts_isnull[column];
	}
	tuplestore_putvalues(store, p->result, values, nulls);
	pfree(values);
	pfree(nulls);
}

/*
 * Whether the requested values are exactly the stored ones, in the same order.
 */
static bool
answer_store_is_whole(const dp_found_answer *answer, int asked)
{
	int			i;

	for (i = 0; i < asked && answer->places[i] == i; i++)
		;
	return i == asked && i == answer->layout.n;
}

/* Put rows with these columns into a store; if `pick` is NULL, unchanged. */
static void
answer_store_put_rows(const bytea *content, TupleDesc columns,
					  const picking *pick, Tuplestorestate *store)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns,
													&TTSOpsMinimalTuple);
	Size		size = VARSIZE(content) - VARHDRSZ;
	char	   *data = palloc(Max(size, 1));
	Size		at = 0;

	memcpy(data, VARDATA(content), size);
	while (at < size)
	{
		MinimalTuple tuple = (MinimalTuple) (data + at);

		if (size - at < sizeof(tuple->t_len) || tuple->t_len > size - at ||
			tuple->t_len < SizeofMinimalTupleHeader)
			elog(ERROR, "a stored answer is damaged");
		ExecStoreMinimalTuple(tuple, slot, false);
		if (pick == NULL)
			tuplestore_puttupleslot(store, slot);
		else
			answer_store_put_row(pick, slot, store);
		at += MAXALIGN(tuple->t_len);
	}
	ExecDropSingleTupleTableSlot(slot);
	pfree(data);
}

/* dp_answers_put_rows: put what dp_answers_pack returned into a store. */
void
dp_answers_put_rows(const bytea *content, TupleDesc result,
					Tuplestorestate *store)
{
	answer_store_put_rows(content, result, NULL, store);
}

/*
 * dp_answers_unpack
 *	  Put the rows of an answer into a store, with nkeys columns of the group
 *	  and the values of the key.
 */
void
dp_answers_unpack(const dp_found_answer *answer, const dp_answer_key *key,
				  TupleDesc result, int nkeys, Tuplestorestate *store)
{
	int			asked = key->layout.n;
	const picking pick = {answer, asked, nkeys, result};

	if (answer_store_is_whole(answer, asked))
		answer_store_put_rows(answer->content, result, NULL, store);
	else
		answer_store_put_rows(answer->content,
							  dp_answers_stored_columns(&answer->layout,
														result, nkeys,
														result->natts > nkeys +
														asked),
							  &pick, store);
}

/* ----------------
 *		Shared memory about stored answers: hits that are not yet written, and
 *		when answers were discarded.
 *
 * A hit must be cheap, so it is counted here and written by the worker when it
 * next stores an answer.  Unwritten counts are lost when the server stops, or
 * when too many other answers have hits.
 *
 * An answer is not stored if its rows may have been read before answers of its
 * budget were discarded.  There is a mark for each budget, and for the owner
 * one for all budgets (payer InvalidOid).  If there are too few marks, the
 * oldest is removed, and its time then applies to all budgets.
 *
 * All of it is protected by one lock, which is never held while waiting.
 * ----------------
 */

#define MARKS 1024

typedef struct refresh_mark
{
	Oid			database;
	Oid			payer;
	NameData	dataset;
	TimestampTz at;				/* 0: not used */
} refresh_mark;

typedef struct shared_answers
{
	LWLock	   *lock;			/* immutable */
	uint8		secret[DP_ANSWERS_SECRET];	/* drawn at server start;
											 * immutable */
	int			nhits;
	dp_hit		hit[DP_ANSWERS_HITS];
	TimestampTz forgotten;		/* time of the latest removed mark */
	refresh_mark mark[MARKS];
} shared_answers;

static shared_answers *shared = NULL;

static Size
answer_store_shared_size(void)
{
	return sizeof(shared_answers);
}

static void
answer_store_start_shared(void *area, bool fresh, LWLock *lock)
{
	shared = area;
	if (!fresh)
		return;
	shared->lock = lock;
	if (!pg_strong_random(shared->secret, sizeof(shared->secret)))
		elog(ERROR, "could not draw a random number");
}

/* shared_init: ask for the memory; from _PG_init, preloading. */
static void
shared_init(void)
{
	dp_base_share("dp_pg_answers", answer_store_shared_size,
				  answer_store_start_shared);
}

/* copy_secret: the secret that is mixed into lock tags. */
static void
copy_secret(uint8 *out)
{
	memcpy(out, shared->secret, DP_ANSWERS_SECRET);
}

/* ---- hits ---- */

/* The count of an answer, or NULL; the caller holds the lock. */
static dp_hit *
find_hit(int64 id)
{
	int			i;

	for (i = 0; i < shared->nhits; i++)
		if (shared->hit[i].id == id && shared->hit[i].database == MyDatabaseId)
			return &shared->hit[i];
	return NULL;
}

/* An unused count, or the least recently used one. */
static dp_hit *
take_hit(void)
{
	dp_hit	   *oldest = &shared->hit[0];
	int			i;

	if (shared->nhits < DP_ANSWERS_HITS)
		return &shared->hit[shared->nhits++];
	for (i = 1; i < DP_ANSWERS_HITS; i++)
		if (shared->hit[i].last < oldest->last)
			oldest = &shared->hit[i];
	return oldest;
}

/* dp_answers_count_hit: an answer was given again. */
void
dp_answers_count_hit(int64 id)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_hit	   *hit;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	hit = find_hit(id);
	if (hit == NULL)
	{
		hit = take_hit();
		hit->database = MyDatabaseId;
		hit->id = id;
		hit->hits = 0;
	}
	hit->hits++;
	hit->last = now;
	LWLockRelease(shared->lock);
}

/* recent_hits: add unwritten hits to a row. */
static void
recent_hits(dp_answer_row *row)
{
	const dp_hit *hit;

	LWLockAcquire(shared->lock, LW_SHARED);
	hit = find_hit(row->id);
	if (hit != NULL)
	{
		row->hits += hit->hits;
		row->last_hit = hit->last;
	}
	LWLockRelease(shared->lock);
}

/* copy_hits: counts of this database, at most DP_ANSWERS_HITS. */
static int
copy_hits(dp_hit *hits)
{
	int			n = 0;
	int			i;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < shared->nhits; i++)
		if (shared->hit[i].database == MyDatabaseId)
			hits[n++] = shared->hit[i];
	LWLockRelease(shared->lock);
	return n;
}

/* take_hits: subtract written hits; there may be newer ones. */
static void
take_hits(const dp_hit *hits, int n)
{
	int			i;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < n; i++)
	{
		dp_hit	   *hit = find_hit(hits[i].id);

		if (hit == NULL)
			continue;
		hit->hits -= hits[i].hits;
		if (hit->hits <= 0)
			*hit = shared->hit[--shared->nhits];
	}
	LWLockRelease(shared->lock);
}

/* ---- discarded answers ---- */

static bool
is_mark_of(const refresh_mark *mark, const NameData *dataset, Oid payer)
{
	return mark->database == MyDatabaseId && mark->payer == payer &&
		strcmp(NameStr(mark->dataset), NameStr(*dataset)) == 0;
}

/* The mark of a budget; otherwise the oldest one, or an unused one. */
static refresh_mark *
find_mark(const NameData *dataset, Oid payer)
{
	refresh_mark *oldest = &shared->mark[0];
	int			i;

	for (i = 0; i < MARKS; i++)
	{
		refresh_mark *mark = &shared->mark[i];

		if (is_mark_of(mark, dataset, payer))
			return mark;
		if (mark->at < oldest->at)
			oldest = mark;
	}
	return oldest;
}

/* mark_refresh: the answers of a budget are discarded now. */
static void
mark_refresh(const NameData *dataset, Oid payer, TimestampTz at)
{
	refresh_mark *mark;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mark = find_mark(dataset, payer);
	if (!is_mark_of(mark, dataset, payer))
		shared->forgotten = Max(shared->forgotten, mark->at);
	mark->database = MyDatabaseId;
	mark->payer = payer;
	mark->dataset = *dataset;
	mark->at = at;
	LWLockRelease(shared->lock);
}

/*
 * was_refreshed
 *	  Whether answers of a budget may have been discarded at this time or
 *	  later.
 */
static bool
was_refreshed(const NameData *dataset, Oid payer, TimestampTz at)
{
	const Oid	payers[] = {payer, InvalidOid};
	bool		refreshed;
	int			i;

	LWLockAcquire(shared->lock, LW_SHARED);
	refreshed = shared->forgotten >= at;
	for (i = 0; i < lengthof(payers); i++)
	{
		const refresh_mark *mark = find_mark(dataset, payers[i]);

		if (is_mark_of(mark, dataset, payers[i]) && mark->at >= at)
			refreshed = true;
	}
	LWLockRelease(shared->lock);
	return refreshed;
}

/* ----------------
 *		Find a stored answer, or wait for one that is being made.
 *
 * If several connections ask the same query at once, the one that holds the
 * lock of the key pays and the others wait.  It is a PostgreSQL lock, so that
 * cancel, lock_timeout and the deadlock detector end a wait for it, and it is
 * released if its holder's transaction fails.  Then the next connection pays.
 * ----------------
 */

/* The fourth field of the lock's name; users' advisory locks have 1 or 2. */
#define LOCK_FIELD 0xDB50

/*
 * The tag is a digest with a secret: otherwise a user could look in pg_locks
 * for queries that others may ask.
 */
static void
set_tag(LOCKTAG *tag, const dp_answer_key *key)
{
	uint8		bytes[DP_ANSWERS_SECRET + DP_SHA256_BYTES];
	uint8		digest[DP_SHA256_BYTES];
	uint32		name[2];

	copy_secret(bytes);
	memcpy(bytes + DP_ANSWERS_SECRET, key->digest, DP_SHA256_BYTES);
	dp_base_sha256(bytes, sizeof(bytes), digest);
	memcpy(name, digest, sizeof(name));
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, name[0], name[1], LOCK_FIELD);
}

/*
 * dp_answers_lock
 *	  Acquire the right to make the answer of a key.  Returns whether that had
 *	  to wait for another process.
 *
 * Errors: 55P03, 57014, 40P01.
 */
bool
dp_answers_lock(const dp_answer_key *key)
{
	LOCKTAG		tag;

	set_tag(&tag, key);
	if (LockAcquire(&tag, ExclusiveLock, false, true) !=
		LOCKACQUIRE_NOT_AVAIL)
		return false;
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return true;
}

/* dp_answers_unlock: release the lock; errors release it, too. */
void
dp_answers_unlock(const dp_answer_key *key)
{
	LOCKTAG		tag;

	set_tag(&tag, key);
	(void) LockRelease(&tag, ExclusiveLock, false);
}

/*
 * is_of_here
 *	  Whether it was stored in this database of this cluster.
 */
static bool
is_of_here(const dp_answer_row *row)
{
	return row->cluster == dp_base_cluster_id() &&
		row->database == MyDatabaseId;
}

typedef struct answer_search
{
	const dp_answer_key *key;
	const dp_ledger_standing *standing;
	bool		found;
	dp_found_answer *out;		/* the youngest one so far */
} answer_search;

/*
 * dp_answer_wanted: whether it is younger than the one found so far, and
 * acceptable.
 */
static bool
answer_store_is_wanted(const dp_answer_row *row, void *context)
{
	answer_search *search = context;
	const dp_answer_key *key = search->key;
	TimestampTz now = GetCurrentTimestamp();
	dp_answer_layout layout;
	int		   *places;

	if (row->payer != search->standing->payer_role ||
		!is_of_here(row) || row->at > now ||
		now - row->at > dp_base_reuse_age() ||
		(search->found && row->at <= search->out->at))
		return false;
	places = palloc(sizeof(int) * Max(key->layout.n, 1));
	if (!dp_answers_match(key, VARDATA_ANY(row->key),
						  VARSIZE_ANY_EXHDR(row->key), &layout, places))
		return false;
	search->found = true;
	search->out->id = row->id;
	search->out->at = row->at;
	search->out->layout = layout;
	search->out->places = places;
	return true;
}

/*
 * dp_answers_find_stored
 *	  The youngest answer that has all values of the key and is not too old for
 *	  the asker; false: none.  The caller has checked the asker's rights.
 */
bool
dp_answers_find_stored(const dp_answer_key *key,
					   const dp_ledger_standing *standing,
					   dp_found_answer *out)
{
	answer_search search = {key, standing, false, out};

	out->content = dp_catalog_find_answer(key->hash, answer_store_is_wanted,
										  &search);
	return search.found;
}

/* ----------------
 *		Storing, on the connection's side: the request to the worker.
 *
 * Values are stored after they have been paid for and released, and before the
 * client gets the first row.  The worker does this in a second transaction, so
 * after a crash between the two there is a charge without a stored answer.
 * Failures only raise a warning, because the values have been paid for.
 * ----------------
 */

/* The hexadecimal digits of more would not fit in a task's text. */
#define MOST_BYTES (4 * 1024 * 1024)

/* Fill in a request to the worker that charges nothing. */
static void
fill_request(dp_ledger_request *request, const char *dataset,
			 const dp_answer_task *task)
{
	StaticAssertStmt(sizeof(dp_answer_task) <= DP_TASK_DATA,
					 "dp_answer_task must fit a task");
	MemSet(request, 0, sizeof(*request));
	namestrcpy(&request->dataset, dataset);
	request->action = DP_LEDGER_TASK;
	request->task.kind = DP_TASK_ANSWER;
	memcpy(request->task.data, task, sizeof(*task));
}

/* The key, then the rows in hexadecimal digits. */
static char *
task_text(const dp_answer_key *key, const bytea *content)
{
	Size		size = VARSIZE(content);
	char	   *text = palloc(key->length + 2 * size + 1);

	memcpy(text, key->text, key->length);
	(void) hex_encode((const char *) content, size, text + key->length);
	text[key->length + 2 * size] = '\0';
	return text;
}

/*
 * dp_answers_store
 *	  Store the rows of a release that was paid for.  The tuplestore is not
 *	  modified.  Rows that take too much space are not stored.
 */
void
dp_answers_store(const dp_answer_key *key, const dp_ledger_standing *standing,
				 const char *dataset, int64 ledger_id, TimestampTz at,
				 Tuplestorestate *store, TupleDesc result)
{
	dp_answer_task task;
	dp_ledger_request request;
	dp_task_reply reply;
	bytea	   *content;
	ErrorData  *failure;

	if (key->length > MOST_BYTES)
		return;
	MemSet(&task, 0, sizeof(task));
	content = dp_answers_pack(store, result,
							  Min((Size) dp_setting_reuse_limit * 1024,
								  MOST_BYTES), &task.rows);
	if (content == NULL)
		return;
	task.action = DP_ANSWER_STORE;
	task.payer = standing->payer_role;
	task.period = standing->period;
	task.ledger_id = ledger_id;
	task.at = at;
	task.key_length = key->length;
	memcpy(task.digest, key->digest, sizeof(task.digest));
	task.hash = key->hash;
	fill_request(&request, dataset, &task);
	failure = dp_ledger_try_task(&request, task_text(key, content), &reply);
	if (failure != NULL)
		ereport(WARNING,
				(errcode(failure->sqlerrcode),
				 errmsg("could not store a private answer for later queries"),
				 errdetail("%s", failure->message)));
}

PG_FUNCTION_INFO_V1(dp_reuse_refresh);

/*
 * dp_reuse_refresh
 *	  dp_refresh(dataset): discard stored answers: all of the dataset's, if its
 *	  owner asks, otherwise those that the asker's budget has paid for.
 *
 * Errors: 42704, 42501, 55P03.
 */
Datum
dp_reuse_refresh(PG_FUNCTION_ARGS)
{
	const char *dataset = NameStr(*PG_GETARG_NAME(0));
	dp_answer_task task;
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_task_reply reply;

	MemSet(&task, 0, sizeof(task));
	task.action = DP_ANSWER_REFRESH;
	fill_request(&request, dataset, &task);
	dp_ledger_run_task(&request, NULL, &receipt, &reply);
	PG_RETURN_INT64(((const dp_answer_reply *) &reply)->refreshed);
}

/* ----------------
 *		dp_pg.list_answers(): public facts about the stored answers that
 *		concern the current user.
 * ----------------
 */

#define COLUMNS 9

static void
answer_store_put_answer(ReturnSetInfo *result, dp_answer_row *row)
{
	Datum		values[COLUMNS];
	bool		nulls[COLUMNS] = {false};

	recent_hits(row);
	values[0] = Int64GetDatum(row->id);
	values[1] = NameGetDatum(&row->dataset);
	values[2] = NameGetDatum(&row->payer_name);
	values[3] = NameGetDatum(&row->role_name);
	values[4] = TimestampTzGetDatum(row->at);
	values[5] = Int64GetDatum(row->rows);
	values[6] = Int64GetDatum(row->bytes);
	values[7] = Int64GetDatum(row->hits);
	values[8] = TimestampTzGetDatum(row->last_hit);
	nulls[8] = row->last_hit == 0;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(dp_reuse_list_answers);

/*
 * dp_reuse_list_answers
 *	  SQL: setof (answer, dataset, payer, role, at, rows, bytes, hits,
 *	  last_hit) of answers paid for by roles whose rights the current user has,
 *	  and of datasets that the current user acts as owner of.
 */
Datum
dp_reuse_list_answers(PG_FUNCTION_ARGS)
{
	NameData   *names;
	int			n;
	int			i;

	dp_base_require_preload();
	InitMaterializedSRF(fcinfo, 0);
	n = dp_catalog_list_datasets(&names);
	for (i = 0; i < n; i++)
	{
		bool		owns = dp_ledger_owns_dataset(GetUserId(),
												  NameStr(names[i]));
		ListCell   *lc;

		foreach(lc, dp_catalog_list_answers(NameStr(names[i])))
		{
			dp_answer_row *row = lfirst(lc);

			if (is_of_here(row) &&
				(owns || has_privs_of_role(GetUserId(), row->payer)))
				answer_store_put_answer((ReturnSetInfo *) fcinfo->resultinfo,
										row);
		}
	}
	return (Datum) 0;
}

/* ----------------
 *		Whether the current transaction reads what others would read, and how
 *		old that is.
 *
 * A transaction that has written may read what is never committed, and one
 * that has imported a snapshot reads data older than itself.  Neither may
 * become an answer to other queries of the same budget.
 * ----------------
 */

static ProcessUtility_hook_type next_process_utility = NULL;

/* Start of the last transaction that imported a snapshot. */
static TimestampTz imported = 0;

/* Note SET TRANSACTION SNAPSHOT, whose snapshot can have any age. */
static void
note_import(PlannedStmt *statement, const char *text, bool read_only_tree,
			ProcessUtilityContext context, ParamListInfo params,
			QueryEnvironment *environment, DestReceiver *dest,
			QueryCompletion *completion)
{
	const VariableSetStmt *set = (VariableSetStmt *) statement->utilityStmt;

	if (IsA(set, VariableSetStmt) && set->kind == VAR_SET_MULTI &&
		set->name != NULL && strcmp(set->name, "TRANSACTION SNAPSHOT") == 0)
		imported = GetCurrentTransactionStartTimestamp();
	(next_process_utility ? next_process_utility : standard_ProcessUtility)
		(statement, text, read_only_tree, context, params, environment, dest,
		 completion);
}

/*
 * dp_answers_may_store: whether an answer of this transaction may be stored.
 */
bool
dp_answers_may_store(void)
{
	return !TransactionIdIsValid(GetTopTransactionIdIfAny()) &&
		imported != GetCurrentTransactionStartTimestamp();
}

/*
 * dp_answers_time_of_rows
 *	  A lower bound of the time of the current snapshot, valid if
 *	  dp_answers_may_store: an answer is as old as the rows that were read for
 *	  it.
 */
TimestampTz
dp_answers_time_of_rows(void)
{
	TimestampTz at = GetCurrentStatementStartTimestamp();

	if (IsolationUsesXactSnapshot())
		at = Min(at, GetCurrentTransactionStartTimestamp());
	if (ActivePortal != NULL)
		at = Min(at, ActivePortal->creation_time);
	return at;
}

/* dp_answers_init: once, while the library is preloaded. */
void
dp_answers_init(void)
{
	shared_init();
	dp_ledger_register_task(DP_TASK_ANSWER, &tasks);
	dp_base_add_hook(&ProcessUtility_hook, note_import,
					 &next_process_utility);
}

/* ----------------
 *		The part of the ledger's worker: insert, delete and count stored
 *		answers.
 *
 * The worker itself finds out who asks.  It trusts a connection only in that
 * the rows were released to the asking role, which therefore cannot add
 * answers to another role's budget.
 * ----------------
 */

#define SWEPT 16				/* answers checked for dead ones at a time */

static void
begin(void)
{
}

/* Whether the answer is of another database or a dropped role. */
static bool
answer_store_is_dead(const dp_answer_row *row)
{
	NameData	name;

	dp_catalog_name_role(row->payer, &name);
	return !is_of_here(row) || NameStr(name)[0] == '\0';
}

static int
compare_ages(const ListCell *a, const ListCell *b)
{
	const dp_answer_row *x = lfirst(a);
	const dp_answer_row *y = lfirst(b);

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Delete the oldest answers until the rest takes at most `limit`. */
static void
drop_oldest(List *answers, int64 taken, int64 limit)
{
	ListCell   *lc;

	list_sort(answers, compare_ages);
	foreach(lc, answers)
	{
		const dp_answer_row *row = lfirst(lc);

		if (taken <= limit)
			break;
		if (dp_catalog_delete_answer(row->id, DP_ROW_SKIP_LOCKED) == DP_FOUND)
			taken -= row->bytes;
	}
}

/*
 * Delete dead answers among the next few, of all budgets.  So all answers are
 * checked in turn.
 */
static void
drop_dead(void)
{
	static int64 last = 0;
	List	   *rows = dp_catalog_next_answers(last, SWEPT);
	ListCell   *lc;

	last = list_length(rows) < SWEPT ? 0 :
		((dp_answer_row *) llast(rows))->id;
	foreach(lc, rows)
		if (answer_store_is_dead(lfirst(lc)))
			(void) dp_catalog_delete_answer(((dp_answer_row *)
											 lfirst(lc))->id,
											DP_ROW_SKIP_LOCKED);
}

static bool
has_digest(const dp_answer_row *row, const dp_answer_row *new)
{
	return row->hash == new->hash &&
		VARSIZE_ANY_EXHDR(row->digest) == VARSIZE_ANY_EXHDR(new->digest) &&
		memcmp(VARDATA_ANY(row->digest), VARDATA_ANY(new->digest),
			   VARSIZE_ANY_EXHDR(row->digest)) == 0;
}

/*
 * Make room for an answer among those of its budget: delete one with the same
 * digest, and the oldest ones.  False if there is a younger one with the same
 * digest.
 */
static bool
answer_store_make_room(const dp_answer_row *new)
{
	int64		taken = new->bytes;
	List	   *own = NIL;
	ListCell   *lc;

	drop_dead();
	foreach(lc, dp_catalog_list_answers_of(new->payer))
	{
		dp_answer_row *row = lfirst(lc);
		bool		same = has_digest(row, new);

		if (strcmp(NameStr(row->dataset), NameStr(new->dataset)) != 0 ||
			!is_of_here(row))
			continue;
		if (same && row->at > new->at)
			return false;
		if (same)
			(void) dp_catalog_delete_answer(row->id, DP_ROW_SKIP_LOCKED);
		else
		{
			own = lappend(own, row);
			taken += row->bytes;
		}
	}
	drop_oldest(own, taken, (int64) dp_setting_reuse_limit * 1024);
	return true;
}

static bytea *
bytes_of(const void *data, Size size)
{
	bytea	   *bytes = palloc(VARHDRSZ + size);

	SET_VARSIZE(bytes, VARHDRSZ + size);
	memcpy(VARDATA(bytes), data, size);
	return bytes;
}

/* Decode the rows from hexadecimal digits. */
static bytea *
read_content(const char *digits)
{
	Size		length = strlen(digits);
	bytea	   *content = palloc(length / 2 + 1);
	uint64		size = hex_decode(digits, length, (char *) content);

	if (size < VARHDRSZ || VARSIZE(content) != size)
		elog(ERROR, "a stored answer was handed over incompletely");
	return content;
}

static void
store(const dp_task_call *call, const dp_answer_task *task)
{
	dp_answer_row row;
	Size		length;

	if (!call->entitled || call->exempt || call->payer != task->payer ||
		call->period != task->period || call->text == NULL ||
		was_refreshed(&call->dataset, task->payer, task->at))
		return;
	length = strlen(call->text);
	MemSet(&row, 0, sizeof(row));
	row.id = task->ledger_id;
	row.dataset = call->dataset;
	row.payer = call->payer;
	row.payer_name = call->payer_name;
	row.role_name = call->asking_name;
	row.at = task->at;
	row.rows = task->rows;
	row.digest = bytes_of(task->digest, sizeof(task->digest));
	row.hash = task->hash;
	row.key = bytes_of(call->text, task->key_length);
	row.content = read_content(call->text + task->key_length);
	row.bytes = task->key_length + (length - task->key_length) / 2;
	if (row.bytes > (int64) dp_setting_reuse_limit * 1024)
		return;
	if (answer_store_make_room(&row))
		dp_catalog_insert_answer(&row);
}

/*
 * Delete the answers of the dataset, if the owner asks, or of the budget.  If
 * one is locked, this is tried again; deletions so far stand.
 */
static dp_task_result
refresh(const dp_task_call *call, dp_answer_reply *reply)
{
	ListCell   *lc;

	if (!call->entitled)
		return DP_TASK_REFUSED;
	reply->refreshed = 0;
	mark_refresh(&call->dataset, call->payer, call->now);
	foreach(lc, dp_catalog_list_answers(NameStr(call->dataset)))
	{
		const dp_answer_row *row = lfirst(lc);

		if (!call->exempt && row->payer != call->payer)
			continue;
		switch (dp_catalog_delete_answer(row->id, DP_ROW_SKIP_LOCKED))
		{
			case DP_LOCKED:
				return DP_TASK_LOCKED;
			case DP_FOUND:
				reply->refreshed++;
				break;
			case DP_MISSING:
				break;
		}
	}
	return DP_TASK_DONE;
}

static dp_task_result
run(const dp_task_call *call, dp_task_reply *reply)
{
	const dp_answer_task *task = call->data;

	if (!dp_catalog_lock_answers())
		return DP_TASK_LOCKED;
	switch (task->action)
	{
		case DP_ANSWER_STORE:
			store(call, task);
			break;
		case DP_ANSWER_REFRESH:
			return refresh(call, (dp_answer_reply *) reply);
	}
	return DP_TASK_DONE;
}

/* Write new hits.  They are lost if the transaction fails afterwards. */
static void
write_hits(void)
{
	static dp_hit hits[DP_ANSWERS_HITS];
	int			n;
	int			i;

	if (!dp_catalog_lock_answers())
		return;
	n = copy_hits(hits);
	for (i = 0; i < n; i++)
		dp_catalog_add_hits(hits[i].id, hits[i].hits, hits[i].last);
	take_hits(hits, n);
}

static const dp_task_methods tasks = {begin, run, write_hits};
