/*
 * session_store.c
 *	  Sessions as the asking side sees them: open, find, whether one may be
 *	  asked, one question, close.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../readings/dp_readings.h"
#include "sessions_internal.h"

/* ----------------
 *		Sessions as the asking side sees them: open, find, ask, close.
 *
 * Nothing here writes a row.  sessions_internal.h has the protocol and
 * doc/ledger.md, "Sessions", the argument.
 * ----------------
 */

static void
raise_over(int64 id, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("session " INT64_FORMAT " is over", id),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* raise_closed: it is over, for the reason in the detail. */
static void
raise_closed(int64 id, const char *detail)
{
	raise_over(id, detail, "What was paid is not refunded; open another one.");
}

/* Why the session was closed, as far as the row that was read says. */
static char *
closing_reason(const dp_session_row *row)
{
	if (row->reason == NULL)
		return pstrdup("It was closed; dp_pg.sessions says why.");
	return psprintf("Reason: %s.", row->reason);
}

static void
raise_used_up(int64 id, dp_session_kind kind, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("session " INT64_FORMAT " is used up", id),
			 errdetail("%s", detail),
			 kind == DP_SESSION_WEIGHTS ?
			 errhint("dp_weights_estimate and dp_weights_hypothesis still "
					 "work, from what was learned; to ask more, open another "
					 "session, which is charged anew.") :
			 errhint("Open another one; it is charged anew.")));
}

/*
 * raise_too_long
 *	  Raise that the texts of its questions leave no room for this one.
 */
static void
raise_too_long(int64 id, int64 bytes_left, const char *predicate)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("session " INT64_FORMAT " has no room for this question",
					id),
			 errdetail("The texts of its questions, which are kept, may take "
					   INT64_FORMAT " bytes more; this one has %zu.",
					   bytes_left, strlen(predicate)),
			 errhint("Shorten the predicate, or open another session, which "
					 "is charged anew.")));
}

/*
 * raise_fate
 *	  Raise why a session cannot be asked, if it cannot; every number is
 *	  public.
 */
static void
raise_fate(dp_session_fate fate, int64 id,
		   const dp_session_terms *terms)
{
	switch (fate)
	{
		case DP_SESSION_WELL:
		case DP_SESSION_STALE:
		case DP_SESSION_TOO_LONG:	/* raise_too_long */
			return;
		case DP_SESSION_MISSING:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("there is no session " INT64_FORMAT " of yours",
							id),
					 errhint("dp_pg.sessions lists yours.")));
			break;
		case DP_SESSION_ELSEWHERE:
			raise_closed(id, "It was opened in another database or "
						 "cluster, and its noisy threshold is not "
						 "part of a dump.");
			break;
		case DP_SESSION_CLOSED:
			raise_closed(id, "It was closed; dp_pg.sessions says "
						 "why.");
			break;
		case DP_SESSION_NO_ABOVES:
			raise_used_up(id, terms->kind,
						  psprintf(terms->kind == DP_SESSION_WEIGHTS ?
								   "It has made as many updates as were paid "
								   "for: %d." :
								   "It has said \"above\" as often as was "
								   "paid for: %d.", terms->cutoff));
			break;
		case DP_SESSION_NO_QUESTIONS:
			raise_used_up(id, terms->kind,
						  psprintf("Its " INT64_FORMAT " questions have been "
								   "asked.", terms->questions));
			break;
		case DP_SESSION_NO_BYTES:
			raise_used_up(id, terms->kind,
						  psprintf("The texts of its questions take all the "
								   INT64_FORMAT " bytes that are allowed; "
								   "dp_pg keeps them.", DP_SESSION_TEXTS));
			break;
		case DP_SESSION_ENDED:
			raise_closed(id, "The budget that paid for it began a "
						 "new period, or another budget pays "
						 "now.");
			break;
		case DP_SESSION_NEIGHBOURS:
			raise_closed(id, "The dataset now has another "
						 "neighbouring relation.");
			break;
	}
}

/*
 * check_fate
 *	  Raises unless the session, as it was read, may still be asked.
 */
static void
check_fate(const dp_session_row *row)
{
	const dp_session *session = &row->session;
	dp_session_fate fate = dp_sessions_judge(row);

	if (fate == DP_SESSION_CLOSED)
		raise_closed(session->id, closing_reason(row));
	raise_fate(fate, session->id, &session->terms);
}

/* A session that the asking role may see must be of the function's kind. */
static void
store_check_kind(const dp_session *session, dp_session_kind kind)
{
	bool		weights = session->terms.kind == DP_SESSION_WEIGHTS;

	if (session->terms.kind == kind)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("session " INT64_FORMAT " is of kind %s", session->id,
					weights ? "weights" : "sparse_vector"),
			 errhint("%s", weights ? "Use dp_weights_ask, "
					 "dp_weights_estimate, dp_weights_hypothesis or "
					 "dp_weights_close." :
					 "Use dp_sparse_vector_ask or "
					 "dp_sparse_vector_close.")));
}

/* start_task: for a session of this dataset; charges nothing. */
static dp_session_task *
start_task(dp_ledger_request *request, const NameData *dataset,
		   dp_session_act act)
{
	dp_session_task *task = (dp_session_task *) request->task.data;

	MemSet(request, 0, sizeof(*request));
	request->dataset = *dataset;
	request->action = DP_LEDGER_TASK;
	request->task.kind = DP_TASK_SESSION;
	task->act = act;
	return task;
}

/*
 * dp_sessions_open
 *	  Charge and open in one transaction of the worker; returns the session's
 *	  id.
 *
 * Errors: those of dp_ledger_charge.
 */
int64
dp_sessions_open(const dp_session_terms *terms, const char *details,
				 int32 releases, int64 fingerprint, const char *mechanism)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_task_reply reply;
	dp_session_task *task;

	task = start_task(&request, &terms->dataset, DP_SESSION_OPEN);
	request.action = DP_LEDGER_CHARGE;
	request.charge = terms->plan.charge;
	request.releases = releases;
	request.fingerprint = fingerprint;
	request.replace_one = terms->replace_one;
	strlcpy(request.mechanism, mechanism, DP_MECHANISM_LENGTH);
	task->kind = terms->kind;
	task->terms = *terms;
	dp_ledger_run_task(&request, details, &receipt, &reply);
	return receipt.ledger_id;
}

/* Whether it is a session of the asking role. */
static bool
is_mine(const dp_session_row *row)
{
	const char *dataset = NameStr(row->session.terms.dataset);
	Oid			asking = dp_ledger_asking_role_on(dataset);

	if (dp_catalog_in_lineage(row->cluster))
		return row->role == asking;
	return strcmp(NameStr(row->role_name),
				  GetUserNameFromId(asking, false)) == 0;
}

/* Whether the asking role owns the dataset. */
static bool
is_owner(const dp_session_row *row)
{
	const char *dataset = NameStr(row->session.terms.dataset);

	return dp_ledger_owns_dataset(dp_ledger_asking_role_on(dataset), dataset);
}

static dp_session *
take_session(dp_session_row *row)
{
	dp_session *session = palloc(sizeof(dp_session));

	row->session.details = text_to_cstring(row->details);
	memcpy(session, &row->session, sizeof(dp_session));
	return session;
}

/* Refuse a parallel operation; a standby can read what was released, too. */
static void
check_readable(void)
{
	dp_base_require_preload();
	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("a session cannot be read in a parallel operation"),
				 errhint("Label the function that reads it PARALLEL "
						 "UNSAFE.")));
}

/*
 * dp_sessions_find
 *	  A session of the asking role as it is now, palloc'd.
 *
 * Errors: 42704 no such session of this role, 42809 it is of another kind;
 * unless only its "above"s and details are wanted, 55000 over, 53400 used up,
 * 42P01 its relation is gone.
 */
dp_session *
dp_sessions_find(int64 id, dp_session_kind kind, bool reading_only)
{
	dp_session_row row;

	if (reading_only)
		check_readable();
	else
		dp_ledger_check_place();
	if (dp_sessions_read(id, DP_ROW_READ, &row) != DP_FOUND ||
		!is_mine(&row))
		raise_fate(DP_SESSION_MISSING, id, NULL);
	store_check_kind(&row.session, kind);
	if (reading_only)
		return take_session(&row);
	check_fate(&row);
	if (get_rel_name(row.session.terms.relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the relation of session " INT64_FORMAT " no longer "
						"exists", id),
				 errdetail("It was %s.", text_to_cstring(row.relation)),
				 errhint("Close the session; what was paid is not "
						 "refunded.")));
	return take_session(&row);
}

/*
 * dp_sessions_close
 *	  Close a session of the asking role, or of a dataset that it owns.
 *
 * Errors: 42704, 42809 of another kind, 55000 closed already, those of
 * dp_ledger_charge.
 */
void
dp_sessions_close(int64 id, dp_session_kind kind)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_task_reply answer;
	const dp_session_verdict *verdict =
	(const dp_session_verdict *) &answer;
	dp_session_row row;
	dp_session_task *task;

	dp_ledger_check_place();
	if (dp_sessions_read(id, DP_ROW_READ, &row) != DP_FOUND)
		raise_fate(DP_SESSION_MISSING, id, NULL);
	if (is_mine(&row) || is_owner(&row))
		store_check_kind(&row.session, kind);
	task = start_task(&request, &row.session.terms.dataset,
					  DP_SESSION_CLOSE);
	task->id = id;
	task->kind = kind;
	dp_ledger_run_task(&request, NULL, &receipt, &answer);
	if (verdict->fate == DP_SESSION_CLOSED)
		raise_over(id, closing_reason(&row),
				   "There is nothing left to close.");
	raise_fate(verdict->fate, id, &row.session.terms);
}

/* ----------------
 *		One question to a session, whatever its kind.
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
 * ----------------
 */

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
store_weigh(const question_work *work, const int64 *counts)
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

	task.value = store_weigh(work, counts);
	task.score = task.value;
	if (data->distance)
		task.score = task.value > task.guess ? task.value - task.guess :
			task.guess - task.value;
	(void) dp_ledger_hand_over(&data->ticket, &task, sizeof(task));
	explicit_bzero(&task, sizeof(task));
}

static const dp_use_methods methods = {begin, finish};

/* dp_sessions_question_init: from _PG_init, in every process. */
void
dp_sessions_question_init(void)
{
	dp_readings_register(DP_USE_QUESTION, &methods);
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
		raise_closed(session->id, "Its relation now "
					 "belongs to another dataset.");
	if (reading->standing.replace_one != terms->replace_one)
		raise_fate(DP_SESSION_NEIGHBOURS, session->id, terms);
	if (dp_readings_rows(reading) > terms->sensitivity)
		raise_closed(session->id, "One unit can change a count by "
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
closing_context(void *arg)
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

	if (dp_sessions_read(session->id, DP_ROW_READ, &row) != DP_FOUND)
		raise_fate(DP_SESSION_MISSING, session->id, NULL);
	check_fate(&row);
	if (!dp_sessions_fits(&row.session, predicate))
		raise_too_long(session->id, row.session.bytes_left,
					   predicate);
}

/* The request, and what the process that reads must know. */
static question_data *
make_data(const dp_session *session, const dp_session_question *question,
		  int64 ncounts, dp_ledger_request *request, Size *size)
{
	dp_session_task *task = start_task(request,
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
store_ask(read_guard *guard, const dp_session *session, dp_reading *reading,
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
	guard->closing.callback = closing_context;
	guard->closing.arg = (void *) &session->id;
	guard->closing.previous = error_context_stack;
	dp_readings_run(reading, &use);
	error_context_stack = guard->closing.previous;
	reading_question = false;
	dp_ledger_await(&guard->place, &request, answer);
}

/*
 * dp_sessions_ask
 *	  Ask a question, for which `reading` reads; the answer is on disk.  If
 *	  this ends after rows began to be read and before all were, the session is
 *	  closed.
 *
 * The place in the queue is taken before the first private row is read, so
 * that closing cannot fail; it is served before whatever is asked later.
 * Setting up the cleanup can fail, so that it comes first.
 *
 * Errors: 42704, 55000 and 53400 as dp_sessions_find, 53400 the text no longer
 * fits, before rows are read; 42501 without a budget; those of dp_readings_run
 * and dp_ledger_charge.
 */
void
dp_sessions_ask(const dp_session *session, dp_reading *reading,
				const dp_session_question *question, dp_session_reply *reply)
{
	read_guard	guard;
	dp_task_reply answer;
	const dp_session_verdict *verdict =
	(const dp_session_verdict *) &answer;
	dp_session_task *task;

	forbid_nested();
	dp_readings_set_rows(reading, session->terms.sensitivity);
	check_reading(session, reading);
	MemSet(&guard, 0, sizeof(guard));
	task = start_task(&guard.request, &session->terms.dataset,
					  DP_SESSION_FAIL);
	task->id = session->id;
	task->kind = session->terms.kind;
	PG_ENSURE_ERROR_CLEANUP(fail_session, PointerGetDatum(&guard));
	{
		reading_question = true;
		store_ask(&guard, session, reading, question, &answer);
	}
	PG_END_ENSURE_ERROR_CLEANUP(fail_session, PointerGetDatum(&guard));
	if (verdict->fate == DP_SESSION_TOO_LONG)
		raise_too_long(session->id, verdict->bytes_left,
					   question->predicate);
	raise_fate(verdict->fate, session->id, &session->terms);
	*reply = verdict->reply;
	reply->stale = verdict->fate == DP_SESSION_STALE;
}

/*
 * dp_sessions_check_predicate
 *	  Raise 54000 for a text that is too long to be kept; to be called before
 *	  anything is read.
 */
void
dp_sessions_check_predicate(const char *predicate)
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
