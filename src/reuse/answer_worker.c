/*
 * answer_worker.c
 *	  The part of the ledger's worker: insert, delete and count stored answers.
 *
 * The worker itself finds out who asks.  It trusts a connection only in that
 * the rows were released to the asking role, which therefore cannot add
 * answers to another role's budget.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "answers.h"

#define SWEPT 16				/* answers checked for dead ones at a time */

static void
begin(void)
{
}

/* Whether the answer is of another database or a dropped role. */
static bool
is_dead(const dp_answer_row *row)
{
	NameData	name;

	dp_catalog_name_role(row->payer, &name);
	return !dp_reuse_is_of_here(row) || NameStr(name)[0] == '\0';
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
		if (is_dead(lfirst(lc)))
			(void) dp_catalog_delete_answer(((dp_answer_row *)
											 lfirst(lc))->id,
											DP_ROW_SKIP_LOCKED);
}

static bool
has_digest(const dp_answer_row *row, const dp_answer_row *new)
{
	return row->hash == new->hash &&
		VARSIZE_ANY(row->digest) == VARSIZE_ANY(new->digest) &&
		memcmp(VARDATA_ANY(row->digest), VARDATA_ANY(new->digest),
			   VARSIZE_ANY_EXHDR(row->digest)) == 0;
}

/*
 * Make room for an answer among those of its budget: delete one with the same
 * digest, and the oldest ones.  False if there is a younger one with the same
 * digest.
 */
static bool
make_room(const dp_answer_row *new)
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
			!dp_reuse_is_of_here(row))
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
		dp_reuse_was_refreshed(&call->dataset, task->payer, task->at))
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
	if (make_room(&row))
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
	dp_reuse_mark_refresh(&call->dataset, call->payer, call->now);
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
	static dp_hit hits[DP_REUSE_HITS];
	int			n;
	int			i;

	if (!dp_catalog_lock_answers())
		return;
	n = dp_reuse_copy_hits(hits);
	for (i = 0; i < n; i++)
		dp_catalog_add_hits(hits[i].id, hits[i].hits, hits[i].last);
	dp_reuse_take_hits(hits, n);
}

const dp_task_methods dp_reuse_tasks = {begin, run, write_hits};
