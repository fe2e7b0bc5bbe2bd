/*
 * session_worker.c
 *	  What the ledger's worker does to sessions: open, ask, close.
 *
 * Everything here runs in the worker, in the transaction of a group of
 * requests.  Questions of one session are decided in their order against the
 * state in memory, which is written once at the end of the group.  What is
 * answered was drawn in the transaction that committed: when a group is begun
 * anew, all is read and drawn anew, and nobody has seen what was drawn before.
 *
 * Whether a transaction fails must not depend on what was drawn, or failures
 * would tell of "above"s that are not counted.  So locks come first, and what
 * an "above" keeps is short.
 *
 * One draw per question: the comparison takes fresh noise, the numeric answer
 * takes other fresh noise, and a threshold that is armed again takes noise of
 * its own.
 *
 * What a question writes takes the same space whatever it is answered: on a
 * full disk an answer must not show in what could be written.
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../catalog/dp_table.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "sessions_internal.h"

/* ----------------
 *		Rows of dp_pg.session, session_secret and session_question.
 * ----------------
 */

static const char *
kind_label(int i)
{
	static const char *const labels[] = {"sparse_vector", "weights"};

	return i < lengthof(labels) ? labels[i] : NULL;
}

static const char *
method_label(int i)
{
	return dp_accounting_sparse_name((dp_sparse_method) i);
}

/* What updates write. */
#define SESSION_COUNTS 1
#define SESSION_CLOSING 2

/* In the order of sql/25_session.sql. */
#define DP_ROW dp_session_row
static const dp_column session_columns[] = {
	DP_COL("id", VALUE, session.id, 0),
	DP_COL_LABELS("kind", session.terms.kind, 0, kind_label),
	DP_COL("role", BYTES, role_name, 0),
	DP_COL("role_oid", VALUE, role, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("database", VALUE, database, 0),
	DP_COL("dataset", BYTES, session.terms.dataset, 0),
	DP_COL_IF("payer", BYTES, payer_name, 0, payer),
	DP_COL_OR_NULL("payer_oid", VALUE, payer, 0),
	DP_COL("period", VALUE, period, 0),
	DP_COL("relation_oid", VALUE, session.terms.relid, 0),
	DP_COL("relation", LONG, relation, 0),
	DP_COL_NEIGHBOURS("neighbours", session.terms.replace_one, 0),
	DP_COL("sensitivity", INT128, session.terms.sensitivity, 0),
	DP_COL("threshold", VALUE, session.terms.threshold, 0),
	DP_COL("questions", VALUE, session.terms.questions, 0),
	DP_COL("cutoff", VALUE, session.terms.cutoff, 0),
	DP_COL("beta", VALUE, session.terms.beta, 0),
	DP_COL_LABELS("method", session.terms.plan.method, 0, method_label),
	DP_COL("two_sided", VALUE, session.terms.plan.two_sided, 0),
	DP_COL("numeric_answers", VALUE, session.terms.plan.numeric, 0),
	DP_COL("fresh", VALUE, session.terms.plan.fresh, 0),
	DP_COL("threshold_sensitivity", INT128,
			  session.terms.plan.threshold_sensitivity, 0),
	DP_COL("threshold_epsilon", FIXED,
			  session.terms.plan.threshold_epsilon, 0),
	DP_COL("query_sensitivity", INT128,
			  session.terms.plan.query_sensitivity, 0),
	DP_COL("query_epsilon", FIXED, session.terms.plan.query_epsilon, 0),
	DP_COL("answer_sensitivity", INT128,
			  session.terms.plan.answer_sensitivity, 0),
	DP_COL("answer_epsilon", FIXED, session.terms.plan.answer_epsilon, 0),
	DP_COL("threshold_offset", VALUE, session.terms.plan.offset, 0),
	DP_COL("alpha", INT128, session.terms.plan.alpha, 0),
	DP_COL("epsilon", FIXED, session.terms.plan.charge.epsilon, 0),
	DP_COL("rho", FIXED, session.terms.plan.charge.rho, 0),
	DP_COL("delta", FIXED, session.terms.plan.charge.delta, 0),
	DP_COL("asked", VALUE, session.asked, SESSION_COUNTS),
	DP_COL("above", VALUE, session.above, SESSION_COUNTS),
	DP_COL("bytes_left", VALUE, session.bytes_left, SESSION_COUNTS),
	DP_COL("opened", VALUE, opened, 0),
	DP_COL_IF("closed", VALUE, closed_at, SESSION_CLOSING, closed),
	DP_COL_OR_NULL("reason", TEXT, reason, SESSION_CLOSING),
	DP_COL("details", LONG, details, 0)
};
#undef DP_ROW

typedef struct secret_row
{
	HeapTuple	tuple;
	int64		session;
	bytea	   *armed;
} secret_row;

#define SECRET_ARM 1			/* what an update writes */

#define DP_ROW secret_row
static const dp_column secret_columns[] = {
	DP_COL("session", VALUE, session, 0),
	DP_COL("armed", LONG, armed, SECRET_ARM)
};
#undef DP_ROW

typedef struct question_row
{
	int64		session;
	dp_session_above asked;
	bool		above;
} question_row;

#define DP_ROW question_row
static const dp_column question_columns[] = {
	DP_COL("session", VALUE, session, 0),
	DP_COL("question", VALUE, asked.asked_at, 0),
	DP_COL("answer", VALUE, asked.answer, 0),
	DP_COL("guess", VALUE, asked.guess, 0),
	DP_COL("number", VALUE, asked.number, 0),
	DP_COL("above", VALUE, above, 0),
	DP_COL("predicate", TEXT, asked.predicate, 0)
};
#undef DP_ROW

static const dp_table sessions_table = DP_TABLE("session", dp_session_row,
												session_columns);
static const dp_table secrets = DP_TABLE("session_secret", secret_row,
										 secret_columns);
static const dp_table questions = DP_TABLE("session_question", question_row,
										   question_columns);

/*
 * lock_tables
 *	  Lock the three tables until the end of the transaction, and check that
 *	  they are the extension's.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
static void
lock_tables(LOCKMODE mode)
{
	table_close(dp_catalog_open_table(&sessions_table, mode), NoLock);
	table_close(dp_catalog_open_table(&secrets, mode), NoLock);
	table_close(dp_catalog_open_table(&questions, mode), NoLock);
}

/* dp_sessions_read: a session, locked as `lock` says. */
dp_found
dp_sessions_read(int64 id, dp_row_lock lock, dp_session_row *out)
{
	ScanKeyData key;

	dp_catalog_key(&key, &sessions_table, "id", Int64GetDatum(id));
	return dp_catalog_find_row(&sessions_table, NULL, &key, 1, NULL, lock,
							   out);
}

/*
 * read_secret
 *	  The armed threshold of a session; false if there is none, because the
 *	  session has ended or comes from a dump.
 */
static bool
read_secret(int64 id, dp_int128 *armed, HeapTuple *tuple)
{
	ScanKeyData key;
	secret_row	row;
	bytea	   *bytes;

	dp_catalog_key(&key, &secrets, "session", Int64GetDatum(id));
	if (dp_catalog_find_row(&secrets, NULL, &key, 1, NULL, DP_ROW_READ,
							&row) != DP_FOUND)
		return false;
	*tuple = row.tuple;
	bytes = DatumGetByteaPP(PointerGetDatum(row.armed));
	if (VARSIZE_ANY_EXHDR(bytes) != sizeof(dp_int128))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the threshold of a session is invalid")));
	memcpy(armed, VARDATA_ANY(bytes), sizeof(dp_int128));
	return true;
}

/*
 * arm_session
 *	  Arm a session: again if `tuple` was read, for the first time if NULL.
 */
static void
arm_session(int64 id, dp_int128 armed, HeapTuple tuple)
{
	int32		space[(VARHDRSZ + sizeof(dp_int128)) / sizeof(int32)];
	secret_row	row = {tuple, id, (bytea *) space};

	SET_VARSIZE(row.armed, sizeof(space));
	memcpy(VARDATA(row.armed), &armed, sizeof(armed));
	if (tuple)
		dp_catalog_update_row(&secrets, &row, SECRET_ARM);
	else
		dp_catalog_insert_rows(&secrets, &row, 1);
}

static int64
saturate(dp_int128 x)
{
	return x > PG_INT64_MAX ? PG_INT64_MAX :
		x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x;
}

/*
 * append_question
 *	  Insert an answered question; number is 0 unless it was "above".  The size
 *	  of the row depends only on the predicate.
 */
static void
append_question(int64 id, int64 question, const char *predicate, int32 number,
				dp_int128 answer, dp_int128 guess)
{
	question_row row = {0};

	row.session = id;
	row.asked.asked_at = question;
	row.asked.answer = saturate(answer);
	row.asked.guess = saturate(guess);
	row.asked.number = number;
	row.asked.predicate = unconstify(char *, predicate);
	row.above = number > 0;
	dp_catalog_insert_rows(&questions, &row, 1);
}

/* dp_wanted */
static bool
session_is_above(const void *row)
{
	return ((const question_row *) row)->above;
}

/*
 * dp_sessions_list_aboves
 *	  The "above"s (dp_session_above *) of a session with asked_at > after, in
 *	  order, palloc'd.
 *
 * There is no index on "above"s only, because its entries would show in what a
 * question writes (doc/theory.md T60).  So all questions after `after`, whose
 * number is bounded by the limit on their texts, are read.
 */
List *
dp_sessions_list_aboves(int64 id, int64 after)
{
	ScanKeyData keys[2];
	List	   *aboves = NIL;
	ListCell   *lc;

	dp_catalog_key(&keys[0], &questions, "session", Int64GetDatum(id));
	ScanKeyInit(&keys[1], dp_catalog_column(&questions, "question"),
				BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(after));
	foreach(lc, dp_catalog_list_rows(&questions, NULL, keys, 2,
									 session_is_above, 0))
		aboves = lappend(aboves, &((question_row *) lfirst(lc))->asked);
	return aboves;
}

/* ----------------
 *		Whether a session may still be asked, by its own row.
 * ----------------
 */

/*
 * dp_sessions_judge
 *	  Whether the session may still be asked, as far as its own row shows.
 */
dp_session_fate
dp_sessions_judge(const dp_session_row *row)
{
	const dp_session *session = &row->session;

	if (row->cluster != dp_base_cluster_id() ||
		row->database != MyDatabaseId)
		return DP_SESSION_ELSEWHERE;
	if (row->closed)
		return DP_SESSION_CLOSED;
	if (session->above >= session->terms.cutoff)
		return DP_SESSION_NO_ABOVES;
	if (session->asked >= session->terms.questions)
		return DP_SESSION_NO_QUESTIONS;
	if (session->bytes_left <= 0)
		return DP_SESSION_NO_BYTES;
	return DP_SESSION_WELL;
}

/* dp_sessions_fits: whether a question with this text can still be kept. */
bool
dp_sessions_fits(const dp_session *session, const char *predicate)
{
	return (int64) strlen(predicate) <= session->bytes_left;
}

/* Account for the text of a question that is kept. */
static void
count_text(dp_session *session, const char *predicate)
{
	int64		bytes = Max(strlen(predicate), DP_SESSION_TEXT_LEAST);

	session->bytes_left = Max(session->bytes_left - bytes, 0);
}

/* ----------------
 *		What a group of requests does to sessions.
 * ----------------
 */

typedef struct group_session
{
	int64		id;
	dp_found	found;
	dp_session_row row;
	bool		armed_known;
	dp_int128	armed;			/* private */
	HeapTuple	secret;
	bool		changed;
} group_session;

/*
 * As many as a group has requests.  Static, as 128-bit integers may need more
 * alignment than palloc gives.
 */
static group_session sessions[DP_LEDGER_BATCH];
static int	session_count;

/* Wipe what was read and drawn, above all the thresholds. */
static void
store_worker_forget(void)
{
	explicit_bzero(sessions, sizeof(group_session) * session_count);
	session_count = 0;
}

/*
 * A transaction begins.  Every lock is taken before anything is drawn: whether
 * a question fails must not depend on what it is answered.
 */
static void
begin(void)
{
	store_worker_forget();
	lock_tables(RowExclusiveLock);
}

static group_session *
load(int64 id)
{
	group_session *s;
	int			i;

	for (i = 0; i < session_count; i++)
		if (sessions[i].id == id)
			return &sessions[i];
	if (session_count == DP_LEDGER_BATCH)
		elog(ERROR, "too many sessions in a group of requests");
	s = &sessions[session_count++];
	s->id = id;
	s->found = dp_sessions_read(id, DP_ROW_SKIP_LOCKED, &s->row);
	return s;
}

/* The threshold with fresh noise. */
static dp_int128
arm(const dp_session_terms *terms, const dp_threshold_law *law)
{
	dp_int128	armed = 0;

	dp_base_check_status(dp_noise_threshold_arm(dp_base_source(), law,
												(dp_int128) terms->threshold +
												terms->plan.offset, &armed),
						 "draw a noisy threshold");
	return armed;
}

static void
make_law(const dp_sparse_plan *plan, dp_threshold_law *law)
{
	dp_base_check_status(dp_accounting_sparse_law(plan, law),
						 "prepare the noise of a session");
}

static void
open_session(const dp_task_call *call, const dp_session_task *task,
			 dp_session_verdict *verdict)
{
	dp_threshold_law law;
	dp_session_row row;

	MemSet(&row, 0, sizeof(row));
	row.session.id = call->ledger_id;
	row.session.terms = task->terms;
	row.session.terms.dataset = call->dataset;
	row.session.terms.replace_one = call->replace_one;
	row.session.bytes_left = DP_SESSION_TEXTS;
	row.details = cstring_to_text(call->text ? call->text : "");
	row.role_name = call->asking_name;
	row.role = call->asking;
	row.cluster = dp_base_cluster_id();
	row.database = MyDatabaseId;
	row.payer_name = call->payer_name;
	row.payer = call->payer;
	row.period = call->period;
	row.relation =
		cstring_to_text(dp_protect_qualified_name(task->terms.relid));
	row.opened = call->now;
	make_law(&task->terms.plan, &law);
	dp_catalog_insert_rows(&sessions_table, &row, 1);
	arm_session(row.session.id, arm(&task->terms, &law), NULL);
	verdict->fate = DP_SESSION_WELL;
}

/* Whether nothing more will be compared with the session's threshold. */
static bool
is_over(const group_session *s)
{
	return dp_sessions_judge(&s->row) != DP_SESSION_WELL;
}

/* Whether the budget that paid is still the payer, in the same period. */
static bool
is_paid(const dp_session_row *row, const dp_task_call *call)
{
	return call->exempt ? !OidIsValid(row->payer) :
		row->payer == call->payer && row->period == call->period;
}

/* The question, which every ask carries. */
static const char *
store_worker_text_of(const dp_task_call *call)
{
	return call->text ? call->text : "";
}

/* Whether this role may ask this question now. */
static dp_session_fate
judge_question(group_session *s, const dp_task_call *call,
			   const dp_session_task *task)
{
	dp_session_fate fate;

	if (s->found != DP_FOUND || s->row.role != call->asking ||
		s->row.session.terms.kind != task->kind ||
		strcmp(NameStr(s->row.session.terms.dataset),
			   NameStr(call->dataset)) != 0)
		return DP_SESSION_MISSING;
	fate = dp_sessions_judge(&s->row);
	if (fate != DP_SESSION_WELL)
		return fate;
	if (!dp_sessions_fits(&s->row.session, store_worker_text_of(call)))
		return DP_SESSION_TOO_LONG;
	if (!is_paid(&s->row, call))
		return DP_SESSION_ENDED;
	if (s->row.session.terms.replace_one != call->replace_one)
		return DP_SESSION_NEIGHBOURS;
	if (!s->armed_known)
		s->armed_known = read_secret(s->id, &s->armed, &s->secret);
	if (!s->armed_known)
		return DP_SESSION_ELSEWHERE;
	if (task->seen >= 0 && task->seen != s->row.session.above)
		return DP_SESSION_STALE;
	return DP_SESSION_WELL;
}

/* An "above": count, answer, and arm again if the plan says so. */
static void
exceed(group_session *s, const dp_session_task *task,
	   const dp_threshold_law *law, dp_session_reply *reply)
{
	dp_session *session = &s->row.session;

	session->above++;
	reply->numeric = session->terms.plan.numeric;
	if (reply->numeric)
		dp_base_check_status(dp_noise_threshold_answer(dp_base_source(),
													   law, task->value,
													   &reply->answer),
							 "draw a numeric answer");
	if (session->terms.plan.fresh)
		s->armed = arm(&session->terms, law);
}

static void
store_worker_ask(group_session *s, const dp_task_call *call,
				 const dp_session_task *task, dp_session_verdict *verdict)
{
	dp_session *session = &s->row.session;
	dp_session_reply *reply = &verdict->reply;
	dp_threshold_law law;

	verdict->fate = judge_question(s, call, task);
	if (verdict->fate == DP_SESSION_TOO_LONG)
		verdict->bytes_left = session->bytes_left;
	if (verdict->fate != DP_SESSION_WELL)
		return;
	make_law(&session->terms.plan, &law);
	dp_base_check_status(dp_noise_threshold_test(dp_base_source(), &law,
												 s->armed, task->score,
												 &reply->above),
						 "compare with a noisy threshold");
	session->asked++;
	count_text(session, store_worker_text_of(call));
	s->changed = true;
	if (reply->above)
		exceed(s, task, &law, reply);
	append_question(s->id, session->asked, store_worker_text_of(call),
					reply->above ? session->above : 0, reply->answer,
					reply->above ? task->guess : 0);
	reply->asked = session->asked;
	reply->above_count = session->above;
}

static void
end(group_session *s, const dp_task_call *call, const char *reason)
{
	s->row.closed = true;
	s->row.reason = unconstify(char *, reason);
	s->row.closed_at = call->now;
	s->changed = true;
}

/* Close for its role or the dataset's owner; neither needs a budget. */
static void
close_session(group_session *s, const dp_task_call *call,
			  const dp_session_task *task, dp_session_verdict *verdict)
{
	bool		mine = s->found == DP_FOUND && s->row.role == call->asking &&
	s->row.cluster == dp_base_cluster_id();

	if (s->found != DP_FOUND || (!mine && !call->exempt) ||
		s->row.session.terms.kind != task->kind ||
		strcmp(NameStr(s->row.session.terms.dataset),
			   NameStr(call->dataset)) != 0)
		verdict->fate = DP_SESSION_MISSING;
	else if (s->row.closed)
		verdict->fate = DP_SESSION_CLOSED;
	else
		end(s, call, mine ? "closed by its role" : "closed by the owner");
}

/* One task of a group; see dp_task_methods. */
static dp_task_result
run(const dp_task_call *call, dp_task_reply *reply)
{
	const dp_session_task *task = call->data;
	dp_session_verdict *verdict = (dp_session_verdict *) reply;
	group_session *s;

	MemSet(reply, 0, sizeof(*reply));
	if (task->act == DP_SESSION_OPEN)
	{
		open_session(call, task, verdict);
		return DP_TASK_DONE;
	}
	if (task->act == DP_SESSION_ASK && !call->entitled)
		return DP_TASK_REFUSED;
	s = load(task->id);
	if (s->found == DP_LOCKED)
		return DP_TASK_LOCKED;
	switch (task->act)
	{
		case DP_SESSION_ASK:
			store_worker_ask(s, call, task, verdict);
			break;
		case DP_SESSION_CLOSE:
			close_session(s, call, task, verdict);
			break;
		default:
			Assert(call->urgent);
			if (s->found == DP_FOUND && !s->row.closed)
				end(s, call, "a question failed while it read private rows");
			break;
	}
	return DP_TASK_DONE;
}

/*
 * Write or delete the threshold.  One that is armed afresh after each "above"
 * is written at every question, as 0 when the session is over; one that stays
 * is deleted then, which needs neither space nor a lock.
 */
static void
write_secret(group_session *s)
{
	if (s->armed_known && s->row.session.terms.plan.fresh)
		arm_session(s->id, is_over(s) ? 0 : s->armed, s->secret);
	else if (is_over(s))
	{
		if (!s->armed_known)
			s->armed_known = read_secret(s->id, &s->armed, &s->secret);
		if (s->armed_known)
			dp_catalog_delete_row(&secrets, s->secret);
	}
}

/*
 * The group is decided: write each changed session once.  What needs space or
 * a lock is written whatever was answered, and takes the same space: if it
 * cannot be written, that reveals nothing.
 */
static void
finish(void)
{
	int			i;

	for (i = 0; i < session_count; i++)
	{
		group_session *s = &sessions[i];

		if (!s->changed)
			continue;
		dp_catalog_update_row(&sessions_table, &s->row, s->row.closed ?
							  SESSION_COUNTS | SESSION_CLOSING :
							  SESSION_COUNTS);
		write_secret(s);
	}
	store_worker_forget();
}

const dp_task_methods dp_sessions_tasks = {begin, run, finish};
