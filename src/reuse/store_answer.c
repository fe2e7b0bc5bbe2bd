/*
 * store_answer.c
 *	  Storing, on the connection's side: the request to the worker.
 *
 * Values are stored after they have been paid for and released, and before the
 * client gets the first row.  The worker does this in a second transaction, so
 * after a crash between the two there is a charge without a stored answer.
 * Failures only raise a warning, because the values have been paid for.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "answers.h"

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
task_text(const dp_reuse_key *key, const bytea *content)
{
	Size		size = VARSIZE(content);
	char	   *text = palloc(key->length + 2 * size + 1);

	memcpy(text, key->text, key->length);
	(void) hex_encode((const char *) content, size, text + key->length);
	text[key->length + 2 * size] = '\0';
	return text;
}

/*
 * dp_reuse_store
 *	  Store the rows of a release that was paid for.  The tuplestore is not
 *	  modified.  Rows that take too much space are not stored.
 */
void
dp_reuse_store(const dp_reuse_key *key, const dp_ledger_standing *standing,
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
	content = dp_reuse_pack(store, result,
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
