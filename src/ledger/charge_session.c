/*
 * charge_session.c
 *	  The connection's side of a charge: submit it, wait, interpret the answer.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "ledger.h"

/* ms; a safety net only, since every event sets the latch */
#define POLL_INTERVAL 1000

static bool in_hurry = false;

/* dp_ledger_hurry: see dp_ledger.h. */
void
dp_ledger_hurry(bool hurry)
{
	in_hurry = hurry;
}

static void
abandon_slot(int code, Datum arg)
{
	dp_slot   **slot = (dp_slot **) DatumGetPointer(arg);

	if (*slot != NULL)
		dp_ledger_abandon(*slot);
}

/*
 * dp_ledger_is_late: whether an answer came too late for spinning to pay off.
 */
bool
dp_ledger_is_late(TimestampTz start)
{
	return GetCurrentTimestamp() - start > DP_LEDGER_SPIN_SESSION;
}

/*
 * Wait for the answer; the request is in the slot.  A connection that waits
 * alone spins before it sleeps, unless the last answer was late.
 */
static void
wait_for_answer(dp_slot **slot, bool alone, dp_answer *answer)
{
	static bool late = false;
	dp_ledger_rousing rousing = {NULL};
	TimestampTz start = GetCurrentTimestamp();

	for (;;)
	{
		rousing.poll = POLL_INTERVAL;
		if (dp_ledger_poll(*slot, answer))
		{
			late = dp_ledger_is_late(start);
			return;
		}
		if (dp_ledger_slot_state(*slot, NULL) == DP_SLOT_PENDING)
			dp_ledger_rouse_worker(&rousing, slot);
		dp_bridge_watch(alone && !late ? DP_LEDGER_SPIN_SESSION : 0,
						rousing.poll);
	}
}

/*
 * dp_ledger_wait
 *	  Wait for the answer to a request that was handed over. *slot is set to
 *	  NULL if an error withdraws it.
 */
void
dp_ledger_wait(dp_slot **slot, dp_answer *answer)
{
	bool		alone;

	if (dp_ledger_slot_state(*slot, &alone) == DP_SLOT_RESERVED)
		elog(ERROR, "nobody has handed over what the ledger waits for");
	wait_for_answer(slot, alone, answer);
}

/*
 * dp_ledger_start_worker
 *	  Have a worker started if none runs and a process is free.  A caller that
 *	  needs the worker calls this again.
 */
void
dp_ledger_start_worker(void)
{
	dp_ledger_rousing rousing = {NULL};
	dp_worker  *worker;
	bool		runs;

	LWLockAcquire(dp_ledger_shared->lock, LW_SHARED);
	worker = dp_ledger_find_worker(MyDatabaseId);
	runs = worker && worker->state == DP_WORKER_RUNNING;
	LWLockRelease(dp_ledger_shared->lock);
	if (!runs)
		dp_ledger_rouse_worker(&rousing, NULL);
}

/* dp_ledger_patience: ms to wait for a row that somebody else has locked. */
int
dp_ledger_patience(void)
{
	return in_hurry ? dp_setting_worker_lock_timeout :
		Max(LockTimeout, dp_setting_worker_lock_timeout);
}

/* Record the user IDs that decide who asks. */
static void
fill_asker(dp_slot *slot)
{
	slot->login = GetAuthenticatedUserId();
	if (!OidIsValid(slot->login))
		slot->login = GetSessionUserId();
	slot->outer = GetOuterUserId();
	slot->current = GetUserId();
}

/*
 * dp_ledger_fill_reserved
 *	  Fill in the request of a reserved slot, with the present user IDs, and
 *	  the ticket that submits it.
 */
void
dp_ledger_fill_reserved(dp_slot *slot, const dp_ledger_request *request,
						dp_ledger_ticket *ticket)
{
	slot->request = *request;
	slot->proc = MyProc;
	slot->database = MyDatabaseId;
	fill_asker(slot);
	ticket->number = slot->ticket;
	ticket->slot = slot - dp_ledger_shared->slot;
	ticket->patience = dp_ledger_patience();
}

/*
 * dp_ledger_get_slot
 *	  A slot with the request queued, and whether nobody else waits for an
 *	  answer; a reserved slot if content is NULL.  Waits up to a second for a
 *	  free one.
 *
 * Errors: 53000.
 */
dp_slot *
dp_ledger_get_slot(const dp_slot *content, bool *alone)
{
	dp_slot    *slot;
	int			tries;

	for (tries = 0; tries < 100; tries++)
	{
		slot = content == NULL ? dp_ledger_reserve_slot(NULL) :
			dp_ledger_submit(content, alone);
		if (slot)
			return slot;
		dp_ledger_start_worker();
		dp_bridge_wait(10);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("the queue of the privacy ledger is full"),
			 errdetail("%s", dp_ledger_told_uncharged()),
			 errhint("Try again.")));
	return NULL;
}

/*
 * The hint for a filter that adds up epsilons, or their squares, and a charge
 * without a pure epsilon; NULL if that is not the reason.
 */
static const char *
pure_hint(const dp_limit *limit, const dp_spent *spent,
		  const dp_charge *charge)
{
	if (limit->filter != DP_FILTER_BASIC &&
		limit->filter != DP_FILTER_ADVANCED)
		return NULL;
	if (charge->epsilon == DP_FIXED_INFINITE)
		return psprintf("Filter %s admits only mechanisms with a pure "
						"epsilon, such as discrete Laplace; others need a "
						"grant with filter zcdp or best.",
						dp_acct_filter_name(limit->filter));
	if (limit->filter == DP_FILTER_ADVANCED ?
		spent->squares == DP_FIXED_INFINITE :
		spent->epsilon == DP_FIXED_INFINITE)
		return psprintf("A mechanism without a pure epsilon was charged "
						"before; filter %s cannot go on from there, but zcdp "
						"and best can.", dp_acct_filter_name(limit->filter));
	return NULL;
}

/* Whether the charge would be admitted if it needed no delta. */
static bool
lacks_delta_only(const dp_limit *limit, const dp_spent *spent,
				 const dp_charge *charge)
{
	dp_charge	without = *charge;
	dp_spent	after = *spent;

	without.delta = 0;
	return charge->delta > 0 &&
		dp_acct_spent_add(&after, &without) == DP_OK &&
		dp_acct_limit_holds(limit, &after);
}

/* What is needed and what remains, in the quantities that decide. */
static char *
shortage_text(const dp_charge *charge, const dp_limit *limit,
			  const dp_spent *spent)
{
	char	   *asked = dp_bridge_delta_text(charge->delta, DP_ROUND_UP);
	char	   *left =
	dp_bridge_delta_text(dp_acct_fixed_left(limit->delta_sum, spent->delta),
						 DP_ROUND_DOWN);

	if (spent->delta > limit->delta_sum)
		return psprintf("Delta %s has already been spent, and the limit is "
						"%s: no query is admitted.",
						dp_bridge_delta_text(spent->delta, DP_ROUND_UP),
						dp_bridge_delta_text(limit->delta_sum,
											 DP_ROUND_DOWN));
	if (lacks_delta_only(limit, spent, charge))
		return psprintf("The query needs delta %s, but delta %s remains.",
						asked, left);
	if (limit->rho > 0 && (charge->epsilon == DP_FIXED_INFINITE ||
						   limit->filter == DP_FILTER_ZCDP))
		return psprintf("%s rho %s and delta %s, but rho %s and delta %s "
						"remain.", charge->epsilon == DP_FIXED_INFINITE ?
						"The query has no pure epsilon; it needs" :
						"The query needs",
						dp_bridge_epsilon_text(charge->rho, DP_ROUND_UP),
						asked,
						dp_bridge_epsilon_text(dp_acct_fixed_left(limit->rho,
																  spent->rho),
											   DP_ROUND_DOWN), left);
	return psprintf("The query needs epsilon %s and delta %s, but epsilon %s "
					"and delta %s remain.",
					dp_bridge_epsilon_text(charge->epsilon, DP_ROUND_UP),
					asked,
					dp_bridge_epsilon_text(dp_ledger_remaining(limit, spent),
										   DP_ROUND_DOWN), left);
}

/* What is wrong with the budget or cap, to follow its name in a message. */
static const char *
shortage_word(const dp_charge *charge, const dp_limit *limit,
			  const dp_spent *spent)
{
	if (dp_acct_fixed_add(spent->delta, charge->delta) <= limit->delta_sum)
		return "is exhausted";
	if (spent->delta > limit->delta_sum ||
		lacks_delta_only(limit, spent, charge))
		return "lacks delta";
	return charge->epsilon == DP_FIXED_INFINITE ? "lacks rho and delta" :
		"lacks epsilon and delta";
}

static void
raise_exhausted(const dp_ledger_request *request, const dp_answer *answer)
{
	bool		cap = answer->outcome == DP_OUTCOME_CAP_EXHAUSTED;
	const dp_limit *limit = cap ? &answer->cap : &answer->receipt.limit;
	const dp_spent *spent = cap ? &answer->cap_spent :
	&answer->receipt.spent;
	const dp_charge *charge = &request->charge;
	const char *hint = pure_hint(limit, spent, charge);
	const char *word = shortage_word(charge, limit, spent);

	if (hint == NULL && lacks_delta_only(limit, spent, charge))
		hint = spent->delta < limit->delta_sum ?
			"Use a smaller delta, or ask the owner of the dataset for more." :
			"Use a mechanism that needs none, such as Laplace noise over "
			"public keys or method => 'mwem' of dp_synthesize, or ask the "
			"owner of the dataset for one.";
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 cap ?
			 errmsg("privacy cap of dataset \"%s\" %s",
					NameStr(request->dataset), word) :
			 errmsg("privacy budget of role \"%s\" on dataset \"%s\" %s",
					NameStr(answer->receipt.payer),
					NameStr(request->dataset), word),
			 errdetail("%s", shortage_text(charge, limit, spent)),
			 hint ? errhint("%s", hint) :
			 cap ?
			 errhint("A cap never renews; the owner of the dataset can "
					 "change it with dp_limit.") :
			 answer->renews ?
			 errhint("Ask with a smaller epsilon, or after %s.",
					 timestamptz_to_str(answer->renewal)) :
			 errhint("Ask with a smaller epsilon, or ask the owner of the "
					 "dataset for a larger budget.")));
}

/*
 * dp_ledger_check_place
 *	  Raise an error where nothing can be charged; see dp_ledger.h.
 *
 * Errors: 55000, 25006, 0A000, 25000.
 */
void
dp_ledger_check_place(void)
{
	dp_bridge_require_preload();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("private queries cannot be answered during recovery"),
				 errdetail("A standby cannot record the charge."),
				 errhint("Run the query on the primary server.")));
	dp_ledger_payer_forbid_place();
	dp_bridge_check_scope();
}

/*
 * dp_ledger_tell_canceled
 *	  For an error context callback: if the statement is canceled while the
 *	  ledger has its request, add to the error what becomes of the charge.  A
 *	  request that no worker has taken is withdrawn.
 */
void
dp_ledger_tell_canceled(dp_slot **slot)
{
	if (geterrcode() != ERRCODE_QUERY_CANCELED || *slot == NULL)
		return;
	if (dp_ledger_withdraw(*slot))
	{
		*slot = NULL;
		errdetail("%s", dp_ledger_told_uncharged());
	}
	else
	{
		dp_ledger_note_charged();
		errdetail("The %s may stand: the ledger was recording it, or waited "
				  "for a synchronous standby.",
				  (*slot)->request.action == DP_LEDGER_CHARGE ? "charge" :
				  "change");
	}
}

/* ErrorContextCallback */
static void
tell_canceled(void *arg)
{
	dp_ledger_tell_canceled(arg);
}

/*
 * dp_ledger_ask
 *	  Hand the request in *content to the worker and wait for the answer.  The
 *	  task in *content is wiped.
 */
void
dp_ledger_ask(dp_slot *content, dp_answer *answer)
{
	dp_slot    *slot = NULL;
	ErrorContextCallback callback = {error_context_stack, tell_canceled,
	&slot};
	bool		alone;

	fill_asker(content);
	content->deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									dp_ledger_patience());

	/* Setting up the cleanup can fail, so no slot is taken before it. */
	PG_ENSURE_ERROR_CLEANUP(abandon_slot, PointerGetDatum(&slot));
	{
		slot = dp_ledger_get_slot(content, &alone);
		error_context_stack = &callback;
		if (content->request.task.kind != DP_TASK_NONE)
			explicit_bzero(&content->request.task,
						   sizeof(content->request.task));
		wait_for_answer(&slot, alone, answer);
		error_context_stack = callback.previous;
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon_slot, PointerGetDatum(&slot));
}

/*
 * dp_ledger_accept: give the receipt of a charge, or raise why it was refused.
 */
void
dp_ledger_accept(const dp_ledger_request *request, const dp_answer *answer,
				 dp_ledger_receipt *receipt)
{
	if (answer->outcome == DP_OUTCOME_BUDGET_EXHAUSTED ||
		answer->outcome == DP_OUTCOME_CAP_EXHAUSTED)
		raise_exhausted(request, answer);
	if (answer->outcome == DP_OUTCOME_UNKNOWN)
		dp_ledger_note_charged();	/* it may be */
	if (answer->outcome != DP_OUTCOME_ADMITTED)
		dp_ledger_payer_raise(answer, NameStr(request->dataset));
	if (request->action != DP_LEDGER_TASK && !answer->receipt.exempt)
		dp_ledger_note_charged();
	*receipt = answer->receipt;
}

/*
 * dp_ledger_charge
 *	  Charge durably, or raise.
 *
 * When this returns, the charge is committed and flushed; no rollback, cancel
 * or crash undoes it.  When it is canceled or raises 08007, the charge may
 * have been made; after any other error nothing was charged.
 */
void
dp_ledger_charge(const dp_ledger_request *request, dp_ledger_receipt *receipt)
{
	dp_slot		content;
	dp_answer	answer;

	dp_ledger_check_place();
	MemSet(&content, 0, sizeof(content));
	content.request = *request;
	dp_ledger_ask(&content, &answer);
	dp_ledger_accept(request, &answer, receipt);
}
