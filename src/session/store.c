/*
 * store.c
 *	  Sessions as the asking side sees them: open, find, close.  question.c
 *	  asks.
 *
 * Nothing here writes a row.  session.h has the protocol and
 * doc/ledger.md, "Sessions", the argument.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "session_sparse.h"
#include "store.h"

static void
raise_over(int64 id, const char *detail, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("session " INT64_FORMAT " is over", id),
			 errdetail("%s", detail),
			 errhint("%s", hint)));
}

/* dp_session_raise_closed: it is over, for the reason in the detail. */
void
dp_session_raise_closed(int64 id, const char *detail)
{
	raise_over(id, detail, "What was paid is not refunded; open another one.");
}

/* Why the session was closed, as far as the row that was read says. */
static char *
tell_reason(const dp_session_row *row)
{
	char	   *reason = dp_catalog_session_reason(row);

	if (reason == NULL)
		return pstrdup("It was closed; dp_pg.sessions says why.");
	return psprintf("Reason: %s.", reason);
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
 * dp_session_raise_too_long
 *	  Raise that the texts of its questions leave no room for this one.
 */
void
dp_session_raise_too_long(int64 id, int64 bytes_left, const char *predicate)
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
 * dp_session_raise_fate
 *	  Raise why a session cannot be asked, if it cannot; every number is
 *	  public.
 */
void
dp_session_raise_fate(dp_session_fate fate, int64 id,
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
			dp_session_raise_closed(id, "It was opened in another database or "
									"cluster, and its noisy threshold is not "
									"part of a dump.");
			break;
		case DP_SESSION_CLOSED:
			dp_session_raise_closed(id, "It was closed; dp_pg.sessions says "
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
			dp_session_raise_closed(id, "The budget that paid for it began a "
									"new period, or another budget pays "
									"now.");
			break;
		case DP_SESSION_NEIGHBOURS:
			dp_session_raise_closed(id, "The dataset now has another "
									"neighbouring relation.");
			break;
	}
}

/*
 * dp_session_check_fate
 *	  Raises unless the session, as it was read, may still be asked.
 */
void
dp_session_check_fate(const dp_session_row *row)
{
	const dp_session *session = &row->session;
	dp_session_fate fate = dp_session_judge(row);

	if (fate == DP_SESSION_CLOSED)
		dp_session_raise_closed(session->id, tell_reason(row));
	dp_session_raise_fate(fate, session->id, &session->terms);
}

/* A session that the asking role may see must be of the function's kind. */
static void
check_kind(const dp_session *session, dp_session_kind kind)
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

/* dp_session_start_task: for a session of this dataset; charges nothing. */
dp_session_task *
dp_session_start_task(dp_ledger_request *request, const NameData *dataset,
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
 * dp_session_open
 *	  Charge and open in one transaction of the worker; returns the session's
 *	  id.
 *
 * Errors: those of dp_ledger_charge.
 */
int64
dp_session_open(const dp_session_terms *terms, const char *details,
				int32 releases, int64 fingerprint, const char *mechanism)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_task_reply reply;
	dp_session_task *task;

	task = dp_session_start_task(&request, &terms->dataset, DP_SESSION_OPEN);
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

	row->session.details = dp_catalog_session_details(row);
	memcpy(session, &row->session, sizeof(dp_session));
	return session;
}

/* Refuse a parallel operation; a standby can read what was released, too. */
static void
check_readable(void)
{
	dp_bridge_require_preload();
	if (IsInParallelMode())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("a session cannot be read in a parallel operation"),
				 errhint("Label the function that reads it PARALLEL "
						 "UNSAFE.")));
}

/*
 * dp_session_find
 *	  A session of the asking role as it is now, palloc'd.
 *
 * Errors: 42704 no such session of this role, 42809 it is of another kind;
 * unless only its "above"s and details are wanted, 55000 over, 53400 used up,
 * 42P01 its relation is gone.
 */
dp_session *
dp_session_find(int64 id, dp_session_kind kind, bool reading_only)
{
	dp_session_row row;

	if (reading_only)
		check_readable();
	else
		dp_ledger_check_place();
	if (dp_catalog_read_session(id, DP_ROW_READ, &row) != DP_FOUND ||
		!is_mine(&row))
		dp_session_raise_fate(DP_SESSION_MISSING, id, NULL);
	check_kind(&row.session, kind);
	if (reading_only)
		return take_session(&row);
	dp_session_check_fate(&row);
	if (get_rel_name(row.session.terms.relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the relation of session " INT64_FORMAT " no longer "
						"exists", id),
				 errdetail("It was %s.", dp_catalog_session_relation(&row)),
				 errhint("Close the session; what was paid is not "
						 "refunded.")));
	return take_session(&row);
}

/*
 * dp_session_close
 *	  Close a session of the asking role, or of a dataset that it owns.
 *
 * Errors: 42704, 42809 of another kind, 55000 closed already, those of
 * dp_ledger_charge.
 */
void
dp_session_close(int64 id, dp_session_kind kind)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_task_reply answer;
	const dp_session_verdict *verdict =
	(const dp_session_verdict *) &answer;
	dp_session_row row;
	dp_session_task *task;

	dp_ledger_check_place();
	if (dp_catalog_read_session(id, DP_ROW_READ, &row) != DP_FOUND)
		dp_session_raise_fate(DP_SESSION_MISSING, id, NULL);
	if (is_mine(&row) || is_owner(&row))
		check_kind(&row.session, kind);
	task = dp_session_start_task(&request, &row.session.terms.dataset,
					  DP_SESSION_CLOSE);
	task->id = id;
	task->kind = kind;
	dp_ledger_run_task(&request, NULL, &receipt, &answer);
	if (verdict->fate == DP_SESSION_CLOSED)
		raise_over(id, tell_reason(&row), "There is nothing left to close.");
	dp_session_raise_fate(verdict->fate, id, &row.session.terms);
}
