/*
 * store_worker.c
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

#include "miscadmin.h"
#include "utils/builtins.h"

#include "../protect/dp_protect.h"
#include "store.h"

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
	dp_catalog_lock_sessions(RowExclusiveLock);
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
	s->found = dp_catalog_read_session(id, DP_ROW_SKIP_LOCKED, &s->row);
	return s;
}

/* The threshold with fresh noise. */
static dp_int128
arm(const dp_session_terms *terms, const dp_threshold_law *law)
{
	dp_int128	armed = 0;

	dp_bridge_check_status(dp_mech_threshold_arm(dp_bridge_source(), law,
												 (dp_int128) terms->threshold +
												 terms->plan.offset, &armed),
						   "draw a noisy threshold");
	return armed;
}

static void
make_law(const dp_sparse_plan *plan, dp_threshold_law *law)
{
	dp_bridge_check_status(dp_acct_sparse_law(plan, law),
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
	row.cluster = dp_bridge_cluster_id();
	row.database = MyDatabaseId;
	row.payer_name = call->payer_name;
	row.payer = call->payer;
	row.period = call->period;
	row.relation =
		cstring_to_text(dp_protect_qualified_name(task->terms.relid));
	row.opened = call->now;
	make_law(&task->terms.plan, &law);
	dp_catalog_insert_session(&row);
	dp_catalog_write_secret(row.session.id, arm(&task->terms, &law), NULL);
	verdict->fate = DP_SESSION_WELL;
}

/* Whether nothing more will be compared with the session's threshold. */
static bool
is_over(const group_session *s)
{
	return dp_session_judge(&s->row) != DP_SESSION_WELL;
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
	fate = dp_session_judge(&s->row);
	if (fate != DP_SESSION_WELL)
		return fate;
	if (!dp_session_fits(&s->row.session, store_worker_text_of(call)))
		return DP_SESSION_TOO_LONG;
	if (!is_paid(&s->row, call))
		return DP_SESSION_ENDED;
	if (s->row.session.terms.replace_one != call->replace_one)
		return DP_SESSION_NEIGHBOURS;
	if (!s->armed_known)
		s->armed_known = dp_catalog_read_secret(s->id, &s->armed, &s->secret);
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
		dp_bridge_check_status(dp_mech_threshold_answer(dp_bridge_source(),
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
	dp_bridge_check_status(dp_mech_threshold_test(dp_bridge_source(), &law,
												  s->armed, task->score,
												  &reply->above),
						   "compare with a noisy threshold");
	session->asked++;
	dp_session_count_text(session, store_worker_text_of(call));
	s->changed = true;
	if (reply->above)
		exceed(s, task, &law, reply);
	dp_catalog_append_question(s->id, session->asked,
							   store_worker_text_of(call),
							   reply->above ? session->above : 0,
							   reply->answer, reply->above ? task->guess : 0);
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
	s->row.cluster == dp_bridge_cluster_id();

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
		dp_catalog_write_secret(s->id, is_over(s) ? 0 : s->armed, s->secret);
	else if (is_over(s))
	{
		if (!s->armed_known)
			s->armed_known = dp_catalog_read_secret(s->id, &s->armed,
													&s->secret);
		if (s->armed_known)
			dp_catalog_delete_secret(s->secret);
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
		dp_catalog_write_session(&s->row);
		write_secret(s);
	}
	store_worker_forget();
}

const dp_task_methods dp_session_tasks = {begin, run, finish};
