/*
 * task.c
 *	  Tasks: what other rooms have the worker do, in the transaction of a
 *	  charge or in one without a charge.
 *
 * A room above the ledger registers the methods of its kind of tasks when
 * the library is loaded, that is, in every process.  A request carries a
 * struct of the kind's own and perhaps a text.  Struct, answer and short texts
 * are in the slot; a longer text is in a segment of dynamic shared memory,
 * which the connection keeps until it has its answer.
 *
 * The struct may hold exact numbers, which the reader hands over instead of
 * the connection.  They are wiped in the slot when the answer is ready or the
 * slot is freed, whatever becomes of the connection.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/resowner.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* Most bytes of a text: others wait while the worker writes it. */
#define MOST_TEXT (16 * 1024 * 1024)

static const dp_task_methods *methods[DP_TASK_KINDS];

/* Segments of the current group; released with its transaction. */
static dsm_segment *segments[DP_LEDGER_BATCH];
static bool begun[DP_TASK_KINDS];

/* dp_ledger_register_task: from _PG_init, in every process. */
void
dp_ledger_register_task(dp_task_kind kind, const dp_task_methods *table)
{
	Assert(kind > DP_TASK_NONE && kind < DP_TASK_KINDS);
	methods[kind] = table;
}

/* ---- the worker's side ---- */

/* dp_ledger_task_begin: a transaction begins; forget the last one. */
void
dp_ledger_task_begin(void)
{
	MemSet(segments, 0, sizeof(segments));
	MemSet(begun, 0, sizeof(begun));
}

/*
 * dp_ledger_task_fetch
 *	  Attach the text of a request's task.  False if it has vanished together
 *	  with its connection: then the answer says that nothing was done.
 */
bool
dp_ledger_task_fetch(dp_slot *slot, int number)
{
	const dp_ledger_task *task = &slot->request.task;

	if (task->kind == DP_TASK_NONE || task->text_size <= DP_TASK_TEXT)
		return true;
	segments[number] = dsm_attach(task->segment);
	if (segments[number] != NULL)
		return true;
	slot->answer.outcome = DP_OUTCOME_FAILED;
	slot->answer.sqlstate = ERRCODE_CONNECTION_FAILURE;
	return false;
}

/* Run a task; fills in the fields of *call that come from its request. */
static void
run(dp_slot *slot, int number, dp_task_call *call, dp_outcome refused)
{
	const dp_ledger_task *task = &slot->request.task;
	dp_task_result result;

	if (task->kind >= DP_TASK_KINDS || methods[task->kind] == NULL)
		elog(ERROR, "task of unknown kind %d", (int) task->kind);
	if (!begun[task->kind])
		methods[task->kind]->begin();
	begun[task->kind] = true;
	call->data = task->data;
	call->text = task->text_size == 0 ? NULL :
		segments[number] ? dsm_segment_address(segments[number]) : task->text;
	call->dataset = slot->request.dataset;
	call->urgent = slot->unattended;
	result = methods[task->kind]->run(call, &slot->answer.reply);
	slot->answer.outcome = result == DP_TASK_DONE ? DP_OUTCOME_ADMITTED :
		result == DP_TASK_LOCKED ? DP_OUTCOME_LOCKED : refused;
}

/* dp_ledger_task_run: run the task of an admitted charge. */
void
dp_ledger_task_run(dp_slot *slot, int number, const dp_payer *payer,
				   int64 period, bool replace_one, TimestampTz now)
{
	dp_task_call call;

	MemSet(&call, 0, sizeof(call));
	call.ledger_id = slot->answer.receipt.ledger_id;
	call.now = now;
	call.asking = payer->asking;
	call.asking_name = slot->answer.asking;
	call.entitled = true;
	call.exempt = payer->exempt;
	call.payer = payer->role;
	call.payer_name = payer->name;
	call.period = period;
	call.replace_one = replace_one;
	run(slot, number, &call, DP_OUTCOME_FAILED);
	if (slot->answer.outcome != DP_OUTCOME_ADMITTED)
		elog(ERROR, "a task refused to follow its charge");
}

/*
 * dp_ledger_task_decide
 *	  Run a task without a charge, for any asking role.  Rows of datasets and
 *	  budgets are read as committed, and not locked.
 */
void
dp_ledger_task_decide(dp_slot *slot, int number, TimestampTz now)
{
	dp_answer  *answer = &slot->answer;
	dp_task_call call;
	dp_dataset_row dataset;
	dp_payer	payer;

	MemSet(&call, 0, sizeof(call));
	call.now = now;
	if (slot->unattended)
	{
		run(slot, number, &call, DP_OUTCOME_FAILED);
		return;
	}
	answer->outcome = DP_OUTCOME_NO_DATASET;
	if (dp_catalog_read_dataset(NameStr(slot->request.dataset), DP_ROW_READ,
								&dataset) != DP_FOUND)
		return;
	dp_ledger_payer_find(&dataset, slot->outer, slot->current, DP_ROW_READ,
						 &payer);
	if (payer.outcome == DP_OUTCOME_ADMITTED && !payer.exempt &&
		(payer.found != DP_FOUND || !payer.budget.active))
		payer.outcome = DP_OUTCOME_NO_BUDGET;
	dp_catalog_name_role(payer.asking, &answer->asking);
	answer->receipt.payer = payer.name;
	answer->receipt.exempt = payer.exempt;
	answer->other = payer.other;
	call.asking = payer.asking;
	call.asking_name = answer->asking;
	call.entitled = payer.outcome == DP_OUTCOME_ADMITTED;
	call.exempt = payer.exempt;
	call.payer = payer.role;
	call.payer_name = payer.name;
	if (call.entitled && !payer.exempt)
	{
		dp_ledger_roll(&payer.budget, now);
		call.period = payer.budget.period;
	}
	call.replace_one = dataset.replace_one;
	run(slot, number, &call, payer.outcome);
}

/* dp_ledger_task_finish: all is decided; write what the tasks changed. */
void
dp_ledger_task_finish(void)
{
	int			i;

	for (i = 0; i < DP_TASK_KINDS; i++)
		if (begun[i])
			methods[i]->finish();
	for (i = 0; i < DP_LEDGER_BATCH; i++)
		if (segments[i])
		{
			dsm_detach(segments[i]);
			segments[i] = NULL;
		}
}

/* ---- the connection's side ---- */

/*
 * Put a text where the worker finds it; returns the segment to detach, or
 * NULL.
 */
static dsm_segment *
put_text(dp_ledger_task *task, const char *text)
{
	dsm_segment *segment;

	task->text_size = text ? strlen(text) + 1 : 0;
	if (task->text_size > MOST_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("description of the request is too long"),
				 errdetail("It has " UINT64_FORMAT " bytes, at most %d are "
						   "kept.  %s", task->text_size,
						   MOST_TEXT, dp_ledger_uncharged_text()),
				 errhint("Use fewer or shorter texts, columns or keys.")));
	if (task->text_size <= DP_TASK_TEXT)
	{
		if (text)
			memcpy(task->text, text, task->text_size);
		return NULL;
	}
	segment = dsm_create(task->text_size, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("too many dynamic shared memory segments"),
				 errdetail("%s", dp_ledger_uncharged_text()),
				 errhint("Try again.")));
	memcpy(dsm_segment_address(segment), text, task->text_size);
	task->segment = dsm_segment_handle(segment);
	return segment;
}

/* Raise the error of a task without a charge that was not done. */
static void
raise_task(const dp_answer *answer, const char *dataset)
{
	switch (answer->outcome)
	{
		case DP_OUTCOME_LOCKED:
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("the ledger of dataset \"%s\" is locked",
							dataset),
					 errdetail("Another transaction holds a lock on rows or "
							   "tables of the extension's catalog.  Nothing "
							   "was done."),
					 errhint("Try again.")));
			break;
		case DP_OUTCOME_UNKNOWN:
			ereport(ERROR,
					(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
					 errmsg("the ledger worker ended before it answered"),
					 errdetail("The request may have been recorded; nothing "
							   "was released."),
					 errhint("Check dp_pg.sessions and dp_pg.releases before "
							 "you ask again.")));
			break;
		case DP_OUTCOME_FAILED:
			ereport(ERROR,
					(errcode(answer->sqlstate),
					 errmsg("the ledger could not record the request"),
					 errdetail("Nothing was recorded and nothing was "
							   "released."),
					 errhint("See the server log for the reason.")));
			break;
		default:
			dp_ledger_payer_raise(answer, dataset);
	}
}

/*
 * dp_ledger_run_task
 *	  See dp_ledger.h.  On return charge and task are on disk.
 */
void
dp_ledger_run_task(dp_ledger_request *request, const char *text,
				   dp_ledger_receipt *receipt, dp_task_reply *reply)
{
	dsm_segment *segment;
	dp_slot		content;
	dp_answer	answer;

	dp_ledger_check_place();
	segment = put_text(&request->task, text);
	MemSet(&content, 0, sizeof(content));
	content.request = *request;
	explicit_bzero(&request->task, sizeof(request->task));
	dp_ledger_ask(&content, &answer);
	if (segment)
		dsm_detach(segment);
	if (request->action == DP_LEDGER_TASK &&
		answer.outcome != DP_OUTCOME_ADMITTED)
		raise_task(&answer, NameStr(request->dataset));
	dp_ledger_accept(request, &answer, receipt);
	*reply = answer.reply;
}

/* dp_ledger_try_task: see dp_ledger.h. */
ErrorData *
dp_ledger_try_task(dp_ledger_request *request, const char *text,
				   dp_task_reply *reply)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile failure = NULL;
	dp_ledger_receipt receipt;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		dp_ledger_run_task(request, text, &receipt, reply);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		failure = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		if (failure->sqlerrcode == ERRCODE_QUERY_CANCELED)
			ReThrowError(failure);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return failure;
}

/* ---- tasks whose data another process hands over ---- */

/*
 * dp_ledger_reserve
 *	  Reserve a place in the queue, and have a worker started if none runs.
 *
 * Errors: 55000, 25006, 0A000, 25000, 53000, 55P03.
 */
void
dp_ledger_reserve(dp_ledger_place *place)
{
	TimestampTz deadline =
	TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
								dp_setting_worker_lock_timeout + 1000);
	bool		busy;

	place->segment = NULL;
	dp_ledger_check_place();
	for (;;)
	{
		dp_ledger_start_worker();
		place->slot = dp_ledger_reserve_slot(&busy);
		if (place->slot)
			return;
		if (GetCurrentTimestamp() >= deadline)
			break;
		dp_base_wait(busy ? 1 : 10);
	}
	ereport(ERROR,
			(errcode(busy ? ERRCODE_LOCK_NOT_AVAILABLE :
					 ERRCODE_INSUFFICIENT_RESOURCES),
			 busy ? errmsg("the privacy ledger is locked") :
			 errmsg("the queue of the privacy ledger is full"),
			 errhint("Try again.")));
}

/*
 * dp_ledger_prepare
 *	  Fill in the request of a reserved place: a task without a charge, and
 *	  still without data.  The asking role is fixed now.
 *
 * Errors: 54000 the text is too long, 53000 no memory for it.
 */
void
dp_ledger_prepare(dp_ledger_place *place, dp_ledger_request *request,
				  const char *text, dp_ledger_ticket *ticket)
{
	Assert(request->action == DP_LEDGER_TASK);
	place->segment = put_text(&request->task, text);
	dp_ledger_fill_reserved(place->slot, request, ticket);
}

/*
 * dp_ledger_await
 *	  Wait for the answer to a task that was handed over.  Gives the place
 *	  back, also if it raises an error.
 */
void
dp_ledger_await(dp_ledger_place *place, const dp_ledger_request *request,
				dp_task_reply *reply)
{
	dp_answer	answer;

	dp_ledger_wait(&place->slot, &answer);
	place->slot = NULL;
	if (place->segment)
		dsm_detach(place->segment);
	if (answer.outcome != DP_OUTCOME_ADMITTED)
		raise_task(&answer, NameStr(request->dataset));
	*reply = answer.reply;
}
