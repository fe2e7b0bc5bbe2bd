/*
 * question.c
 *	  One question to a session, whatever its kind.
 *
 * The asking process reserves a place in the queue of the ledger's worker and
 * prepares the request in it; rows are read; and the process that read them
 * hands the exact number over to the worker, which decides.  The asking
 * process waits for the answer and never has the number (doc/ledger.md,
 * "Sessions").
 *
 * The one place serves whatever happens: until the number is handed over, an
 * error, a cancel or the end of the connection turns it into the task that
 * closes the session; afterwards the question has been asked, and its answer
 * is dropped.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/ipc.h"

#include "store.h"

/* A question is being read: what runs meanwhile may not ask another one. */
static bool reading_question = false;

/* ---- where the rows are read ---- */

/* A question as it is known before rows are read; public. */
typedef struct question_data
{
	dp_ledger_ticket ticket;
	dp_session_task task;		/* without score and value */
	bool		distance;		/* the score is how far value and guess are
								 * apart; else the value */
	int32		weights[FLEXIBLE_ARRAY_MEMBER]; /* of counts, in granules */
} question_data;

typedef struct question_work
{
	const question_data *data;
	int64		ncounts;
} question_work;

static Size
data_size(int64 ncounts)
{
	return offsetof(question_data, weights) + sizeof(int32) * ncounts;
}

static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	question_work *work = palloc(sizeof(question_work));

	if (size != data_size(ncounts))
		elog(ERROR, "question counts otherwise than was planned");
	work->data = data;
	work->ncounts = ncounts;
	return work;
}

/*
 * The count in rows, to which one row adds at most 1: doc/theory.md T123,
 * T136.
 */
static int64
weigh(const question_work *work, const int64 *counts)
{
	dp_int128	granules = 0;
	int64		i;

	for (i = 0; i < work->ncounts; i++)
		granules += (dp_int128) work->data->weights[i] * counts[i];
	return dp_weight_rows(granules);
}

/* The sink is given nothing: it is the worker that answers. */
static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	const question_work *work = state;
	const question_data *data = work->data;
	dp_session_task task = data->task;

	task.value = weigh(work, counts);
	task.score = task.value;
	if (data->distance)
		task.score = task.value > task.guess ? task.value - task.guess :
			task.guess - task.value;
	(void) dp_ledger_hand_over(&data->ticket, &task, sizeof(task));
	explicit_bzero(&task, sizeof(task));
}

static const dp_use_methods methods = {begin, finish};

/* dp_session_question_init: from _PG_init, in every process. */
void
dp_session_question_init(void)
{
	dp_reading_register(DP_USE_QUESTION, &methods);
}

/* ---- the connection's side ---- */

/* What an error needs to close the session. */
typedef struct read_guard
{
	dp_ledger_place place;
	bool		reading;		/* private rows may have been read */
	ErrorContextCallback closing;	/* says that an error closes */
	dp_ledger_request request;	/* that closes it */
} read_guard;

/* The reading must be what the session was paid for. */
static void
check_reading(const dp_session *session, const dp_reading *reading)
{
	const dp_session_terms *terms = &session->terms;

	if (reading->relid != terms->relid ||
		strcmp(reading->dataset, NameStr(terms->dataset)) != 0)
		dp_session_raise_closed(session->id, "Its relation now "
								"belongs to another dataset.");
	if (reading->standing.replace_one != terms->replace_one)
		dp_session_raise_fate(DP_SESSION_NEIGHBOURS, session->id, terms);
	if (reading->sensitivity > terms->sensitivity)
		dp_session_raise_closed(session->id, "One unit can change a count by "
								"more than when the session was opened.");
}

/* Cleanup where asking ends by ERROR or FATAL; raises nothing. */
static void
fail_session(int code, Datum arg)
{
	read_guard *guard = (read_guard *) DatumGetPointer(arg);

	reading_question = false;
	if (guard->place.slot == NULL)
		return;
	if (guard->reading)
		dp_ledger_fail(&guard->place, &guard->request);
	else
		dp_ledger_release(&guard->place);
}

/*
 * Subqueries of a view run while a question is read, and may call functions of
 * users; asking from there would hold one place in the queue for each level.
 */
static void
forbid_nested(void)
{
	if (reading_question)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a question cannot be asked while another one is "
						"being answered"),
				 errdetail("It was asked within the query that reads rows for "
						   "the other one."),
				 errhint("Ask it first, and use its answer.")));
}

static void
tell_closing(void *arg)
{
	errcontext("reading for session " INT64_FORMAT ", which an error closes",
			   *(const int64 *) arg);
}

/* dp_reader_charge: it was made when the session was opened */
static void
begin_reading(void *context)
{
	read_guard *guard = context;

	guard->reading = true;
	error_context_stack = &guard->closing;
}

/* dp_reader_sink */
static void
take_nothing(void *context, const void *data, Size size)
{
	elog(ERROR, "unexpected data from the reading of a question");
}

/* Check again: a question that failed before this one is on disk by now. */
static void
look_again(const dp_session *session, const char *predicate)
{
	dp_session_row row;

	if (dp_catalog_read_session(session->id, DP_ROW_READ, &row) != DP_FOUND)
		dp_session_raise_fate(DP_SESSION_MISSING, session->id, NULL);
	dp_session_check_fate(&row);
	if (!dp_session_fits(&row.session, predicate))
		dp_session_raise_too_long(session->id, row.session.bytes_left,
								  predicate);
}

/* The request, and what the process that reads must know. */
static question_data *
make_data(const dp_session *session, const dp_session_question *question,
		  int64 ncounts, dp_ledger_request *request, Size *size)
{
	dp_session_task *task = dp_session_start_task(request,
												  &session->terms.dataset,
												  DP_SESSION_ASK);
	question_data *data;
	int64		i;

	task->id = session->id;
	task->kind = session->terms.kind;
	task->seen = question->seen;
	task->guess = question->guess;
	*size = data_size(ncounts);
	data = palloc0(*size);
	data->task = *task;
	data->distance = question->distance;
	for (i = 0; i < ncounts; i++)
		data->weights[i] = question->weights == NULL ? DP_WEIGHT_ONE :
			question->weights[i];
	return data;
}

/* Read, and wait for the worker's answer. */
static void
ask(read_guard *guard, const dp_session *session, dp_reading *reading,
	const dp_session_question *question, dp_task_reply *answer)
{
	dp_reading_use use = {DP_USE_QUESTION, NULL, 0, NULL, begin_reading,
	take_nothing, guard};
	dp_ledger_request request;
	question_data *data = make_data(session, question, reading->ncounts,
									&request, &use.size);

	dp_ledger_reserve(&guard->place);
	look_again(session, question->predicate);
	dp_ledger_prepare(&guard->place, &request, question->predicate,
					  &data->ticket);
	use.data = data;
	guard->closing.callback = tell_closing;
	guard->closing.arg = (void *) &session->id;
	guard->closing.previous = error_context_stack;
	dp_reading_run(reading, &use);
	error_context_stack = guard->closing.previous;
	reading_question = false;
	dp_ledger_await(&guard->place, &request, answer);
}

/*
 * dp_session_ask
 *	  Ask a question, for which `reading` reads; the answer is on disk.  If
 *	  this ends after rows began to be read and before all were, the session is
 *	  closed.
 *
 * The place in the queue is taken before the first private row is read, so
 * that closing cannot fail; it is served before whatever is asked later.
 * Setting up the cleanup can fail, so that it comes first.
 *
 * Errors: 42704, 55000 and 53400 as dp_session_find, 53400 the text no longer
 * fits, before rows are read; 42501 without a budget; those of dp_reading_run
 * and dp_ledger_charge.
 */
void
dp_session_ask(const dp_session *session, dp_reading *reading,
			   const dp_session_question *question, dp_session_reply *reply)
{
	read_guard	guard;
	dp_task_reply answer;
	const dp_session_verdict *verdict =
	(const dp_session_verdict *) &answer;
	dp_session_task *task;

	forbid_nested();
	dp_reading_set_rows(reading, session->terms.sensitivity);
	check_reading(session, reading);
	MemSet(&guard, 0, sizeof(guard));
	task = dp_session_start_task(&guard.request, &session->terms.dataset,
								 DP_SESSION_FAIL);
	task->id = session->id;
	task->kind = session->terms.kind;
	PG_ENSURE_ERROR_CLEANUP(fail_session, PointerGetDatum(&guard));
	{
		reading_question = true;
		ask(&guard, session, reading, question, &answer);
	}
	PG_END_ENSURE_ERROR_CLEANUP(fail_session, PointerGetDatum(&guard));
	if (verdict->fate == DP_SESSION_TOO_LONG)
		dp_session_raise_too_long(session->id, verdict->bytes_left,
								  question->predicate);
	dp_session_raise_fate(verdict->fate, session->id, &session->terms);
	*reply = verdict->reply;
	reply->stale = verdict->fate == DP_SESSION_STALE;
}

/*
 * dp_session_check_predicate
 *	  Raise 54000 for a text that is too long to be kept; to be called before
 *	  anything is read.
 */
void
dp_session_check_predicate(const char *predicate)
{
	if (strlen(predicate) > DP_PREDICATE_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("predicate is too long"),
				 errdetail("A question of a session may have at most %d "
						   "bytes.",
						   DP_PREDICATE_LENGTH),
				 errhint("Write a shorter predicate.")));
}
