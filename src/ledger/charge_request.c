/*
 * charge_request.c
 *	  The connection's side of a charge: run code with the asking role's
 *	  rights, check epsilon and delta against limits, submit the request, wait
 *	  for the answer and raise its error; open and close batches; and a charge
 *	  that the reader of the connection submits.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ----------------
 *		Run code of the asking role (its views, candidates and domains) with
 *		its own rights, inside a function that has another role's.
 * ----------------
 */

/* dp_ledger_act_as_asker: see dp_ledger.h. */
void
dp_ledger_act_as_asker(dp_acting *out, bool restricted)
{
	Oid			asker = dp_ledger_asking_role();

	GetUserIdAndSecContext(&out->user, &out->security);
	out->acting = restricted || out->user != asker;
	if (!out->acting)
		return;
	SetUserIdAndSecContext(asker, out->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	out->nest = NewGUCNestLevel();
}

/* dp_ledger_act_as_before: see dp_ledger.h. */
void
dp_ledger_act_as_before(const dp_acting *acting)
{
	if (!acting->acting)
		return;
	AtEOXact_GUC(false, acting->nest);
	SetUserIdAndSecContext(acting->user, acting->security);
}

/* ----------------
 *		Checks of a query's epsilon and delta against budget, cap and the
 *		owner's bounds.
 * ----------------
 */

static void
raise_limit(const char *dataset, dp_fixed limit, bool floor)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("epsilon is %s what dataset \"%s\" allows",
					floor ? "below" : "above", dataset),
			 errdetail("Its owner set the %s epsilon to %s.",
					   floor ? "floor of a query's" : "ceiling of a value's",
					   dp_base_fixed_to_cstring(limit)),
			 errhint("Ask with a %s epsilon.", floor ? "larger" :
					 "smaller")));
}

/*
 * dp_ledger_check_floor
 *	  See dp_ledger.h.  Nothing has been charged when it raises.
 */
void
dp_ledger_check_floor(const dp_ledger_standing *standing,
					  const char *dataset, dp_fixed charged)
{
	dp_base_check_floor(charged, "epsilon");
	if (standing->floored && charged < standing->epsilon_floor)
		raise_limit(dataset, standing->epsilon_floor, true);
}

/* dp_ledger_check_ceiling: see dp_ledger.h. */
void
dp_ledger_check_ceiling(const dp_ledger_standing *standing,
						const char *dataset, dp_fixed price)
{
	if (standing->ceiled && price > standing->epsilon_ceiling)
		raise_limit(dataset, standing->epsilon_ceiling, false);
}

/* dp_ledger_check_price: see dp_ledger.h. */
void
dp_ledger_check_price(const dp_ledger_standing *standing,
					  const char *dataset, dp_fixed epsilon)
{
	dp_ledger_check_floor(standing, dataset, epsilon);
	dp_ledger_check_ceiling(standing, dataset, epsilon);
}

/* dp_ledger_floor: see dp_ledger.h. */
dp_fixed
dp_ledger_floor(const dp_ledger_standing *standing)
{
	dp_fixed	server = dp_base_epsilon_floor();

	return standing->floored ? Max(server, standing->epsilon_floor) : server;
}

/* dp_ledger_charge_filter: see dp_ledger.h. */
dp_filter
dp_ledger_charge_filter(const dp_ledger_standing *standing)
{
	return dp_accounting_charge_filter(standing->found && !standing->exempt ?
									   &standing->limit : NULL,
									   standing->capped ?
									   &standing->cap : NULL);
}

static void
raise_delta(const char *dataset, dp_fixed limit, const char *whose)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("delta is above that of the %s", whose),
			 errdetail("The %s of dataset \"%s\" has delta %s in "
					   "total.", whose,
					   dataset, dp_base_fixed_to_cstring(limit)),
			 errhint("Ask with that delta or a smaller one.")));
}

/*
 * dp_ledger_check_delta
 *	  See dp_ledger.h.  A limit without any delta is not compared: either the
 *	  charge needs none, or it will be refused.
 */
void
dp_ledger_check_delta(const dp_ledger_standing *standing,
					  const char *dataset, dp_fixed delta)
{
	if (standing->found && !standing->exempt && standing->limit.delta > 0 &&
		delta > standing->limit.delta)
		raise_delta(dataset, standing->limit.delta, "budget");
	if (standing->capped && standing->cap.delta > 0 &&
		delta > standing->cap.delta)
		raise_delta(dataset, standing->cap.delta, "cap");
}

/* ----------------
 *		The connection's side of a charge: submit it, wait, interpret the
 *		answer.
 * ----------------
 */

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
 * is_late: whether an answer came too late for spinning to pay off.
 */
static bool
is_late(TimestampTz start)
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
			late = is_late(start);
			return;
		}
		if (dp_ledger_slot_state(*slot, NULL) == DP_SLOT_PENDING)
			dp_ledger_rouse_worker(&rousing, slot);
		dp_base_watch(alone && !late ? DP_LEDGER_SPIN_SESSION : 0,
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

/*
 * ledger_patience: ms to wait for a row that another transaction has locked.
 */
static int
ledger_patience(void)
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
	ticket->patience = ledger_patience();
}

/*
 * get_slot
 *	  A slot with the request queued, and whether nobody else waits for an
 *	  answer; a reserved slot if content is NULL.  Waits up to a second for a
 *	  free one.
 *
 * Errors: 53000.
 */
static dp_slot *
get_slot(const dp_slot *content, bool *alone)
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
		dp_base_wait(10);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
			 errmsg("the queue of the privacy ledger is full"),
			 errdetail("%s", dp_ledger_uncharged_text()),
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
						dp_accounting_filter_name(limit->filter));
	if (limit->filter == DP_FILTER_ADVANCED ?
		spent->squares == DP_FIXED_INFINITE :
		spent->epsilon == DP_FIXED_INFINITE)
		return psprintf("A mechanism without a pure epsilon was charged "
						"before; filter %s cannot go on from there, but zcdp "
						"and best can.",
						dp_accounting_filter_name(limit->filter));
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
		dp_accounting_spent_add(&after, &without) == DP_OK &&
		dp_accounting_limit_holds(limit, &after);
}

/* What is needed and what remains, in the quantities that decide. */
static char *
shortage_text(const dp_charge *charge, const dp_limit *limit,
			  const dp_spent *spent)
{
	char	   *asked = dp_base_delta_text(charge->delta, DP_ROUND_UP);
	char	   *left =
	dp_base_delta_text(dp_accounting_fixed_left(limit->delta_sum,
												spent->delta),
					   DP_ROUND_DOWN);

	if (spent->delta > limit->delta_sum)
		return psprintf("Delta %s has already been spent, and the limit is "
						"%s: no query is admitted.",
						dp_base_delta_text(spent->delta, DP_ROUND_UP),
						dp_base_delta_text(limit->delta_sum,
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
					dp_base_epsilon_text(charge->rho, DP_ROUND_UP),
					asked,
					dp_base_epsilon_text(dp_accounting_fixed_left(limit->rho,
																  spent->rho),
										 DP_ROUND_DOWN), left);
	return psprintf("The query needs epsilon %s and delta %s, but epsilon %s "
					"and delta %s remain.",
					dp_base_epsilon_text(charge->epsilon, DP_ROUND_UP),
					asked,
					dp_base_epsilon_text(dp_ledger_remaining(limit, spent),
										 DP_ROUND_DOWN), left);
}

/* What is wrong with the budget or cap, to follow its name in a message. */
static const char *
shortage_word(const dp_charge *charge, const dp_limit *limit,
			  const dp_spent *spent)
{
	if (dp_accounting_fixed_add(spent->delta,
								charge->delta) <= limit->delta_sum)
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
	dp_charge	both = request->charge;
	const dp_charge *charge = &both;
	const char *hint;
	const char *word;

	dp_base_check_status(dp_accounting_charge_add(&both, &request->also),
						 "add up the charge of a query");
	hint = pure_hint(limit, spent, charge);
	word = shortage_word(charge, limit, spent);
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
	dp_base_require_preload();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("private queries cannot be answered during recovery"),
				 errdetail("A standby cannot record the charge."),
				 errhint("Run the query on the primary server.")));
	dp_ledger_payer_forbid_place();
	dp_base_check_scope();
}

/*
 * canceled_context
 *	  For an error context callback: if the statement is canceled while the
 *	  ledger has its request, add to the error what becomes of the charge.  A
 *	  request that no worker has taken is withdrawn.
 */
static void
canceled_context(dp_slot **slot)
{
	if (geterrcode() != ERRCODE_QUERY_CANCELED || *slot == NULL)
		return;
	if (dp_ledger_withdraw(*slot))
	{
		*slot = NULL;
		errdetail("%s", dp_ledger_uncharged_text());
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
charge_canceled_context(void *arg)
{
	canceled_context(arg);
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
	ErrorContextCallback callback = {error_context_stack,
	charge_canceled_context, &slot};
	bool		alone;

	fill_asker(content);
	content->deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
									ledger_patience());

	/* Setting up the cleanup can fail, so no slot is taken before it. */
	PG_ENSURE_ERROR_CLEANUP(abandon_slot, PointerGetDatum(&slot));
	{
		slot = get_slot(content, &alone);
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

/* ----------------
 *		dp_batch_open, dp_batch_close: queries that are paid for together.
 *
 * A batch fixes before its first query how many there will be and what each
 * may cost, so the theorems for k-fold adaptive composition of equal
 * mechanisms apply to it.  The whole batch is one charge, made when it is
 * opened; the worker counts the queries.  It belongs to a role and a dataset,
 * not to a connection or a setting, so other roles cannot use it.  Both
 * functions act at once, even if the transaction is rolled back.
 * doc/ledger.md has the argument.
 * ----------------
 */

/* The largest k for which the optimal bound is computed. */
#define MOST_QUERIES (1 << 20)

PG_FUNCTION_INFO_V1(dp_ledger_sql_batch_open);
PG_FUNCTION_INFO_V1(dp_ledger_sql_batch_open_float);
PG_FUNCTION_INFO_V1(dp_ledger_sql_batch_close);

/* How the price of a batch is computed; BATCH_CHEAPEST chooses. */
typedef enum batch_method
{
	BATCH_BASIC,
	BATCH_ADVANCED,
	BATCH_OPTIMAL,
	BATCH_CHEAPEST
} batch_method;

static const char *const method_name[] = {
	"basic", "advanced", "optimal", "cheapest"
};

static batch_method
charge_read_method(FunctionCallInfo fcinfo, int argument, dp_fixed slack)
{
	char	   *name = PG_ARGISNULL(argument) ? NULL :
	text_to_cstring(PG_GETARG_TEXT_PP(argument));
	int			i;

	for (i = 0; name && i < lengthof(method_name); i++)
		if (strcmp(name, method_name[i]) == 0)
			break;
	if (name == NULL || i == lengthof(method_name))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 name ? errmsg("method \"%s\" does not exist", name) :
				 errmsg("method must not be NULL"),
				 errhint("Methods are basic, advanced, optimal and "
						 "cheapest.")));
	if (slack == 0 && (i == BATCH_ADVANCED || i == BATCH_OPTIMAL))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method %s needs a positive delta_slack", name),
				 errdetail("Without it the method is no cheaper than the sum "
						   "of the epsilons."),
				 errhint("Give a delta_slack, for example 1e-9, or use "
						 "method basic.")));
	return (batch_method) i;
}

static int32
read_queries(FunctionCallInfo fcinfo, int argument)
{
	int32		k = PG_ARGISNULL(argument) ? 0 : PG_GETARG_INT32(argument);

	if (k < 1 || k > MOST_QUERIES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be between 1 and %d", MOST_QUERIES),
				 errhint("It is the number of queries that the batch pays "
						 "for.")));
	return k;
}

/* (epsilon, delta) of k queries by one method. */
static dp_status
compose(batch_method method, dp_fixed epsilon, int32 k, dp_fixed slack,
		dp_charge *out)
{
	if (method == BATCH_BASIC)
		return dp_accounting_sum_basic(epsilon, 0, k, &out->epsilon,
									   &out->delta);
	if (method == BATCH_ADVANCED)
		return dp_accounting_sum_advanced(epsilon, 0, k, slack, &out->epsilon,
										  &out->delta);
	return dp_accounting_sum_optimal(epsilon, 0, k, slack, &out->epsilon,
									 &out->delta);
}

/*
 * The charge of a batch, and the method that gave it: (epsilon, slack) by the
 * composition theorem, and k times the rho of one query, which is valid
 * without the theorem.  Of several methods the one with the least epsilon is
 * taken; without slack, only the sum is possible.
 */
static batch_method
price(batch_method method, dp_fixed epsilon, int32 k, dp_fixed slack,
	  dp_charge *out)
{
	batch_method best = method == BATCH_CHEAPEST ? BATCH_BASIC : method;
	batch_method i;
	dp_rational exact;
	dp_fixed	rho;
	dp_fixed	nothing;

	dp_base_check_status(compose(best, epsilon, k, slack, out),
						 "compute the price of the batch");
	if (method == BATCH_CHEAPEST && slack > 0)
		for (i = BATCH_ADVANCED; i <= BATCH_OPTIMAL; i++)
		{
			dp_charge	other;

			if (compose(i, epsilon, k, slack, &other) == DP_OK &&
				other.epsilon < out->epsilon)
			{
				*out = other;
				best = i;
			}
		}
	dp_base_check_status(dp_accounting_fixed_to_rational(epsilon, &exact),
						 "read epsilon");
	dp_base_check_status(dp_accounting_rho_from_pure(&exact, &rho),
						 "convert epsilon");
	dp_base_check_status(dp_accounting_sum_basic(rho, 0, k, &out->rho,
												 &nothing),
						 "compute the price of the batch");
	return best;
}

/* Whether a limit counts the epsilon of a batch. */
static bool
counts_epsilon(const dp_limit *limit)
{
	return limit->filter == DP_FILTER_BASIC ||
		limit->filter == DP_FILTER_BEST;
}

/*
 * Whether a smaller epsilon is worth a delta: not if only rho or squares are
 * counted, which are the same for every method.
 */
static bool
wants_slack(const dp_ledger_standing *standing)
{
	if (standing->exempt && !standing->capped)
		return true;
	return (!standing->exempt && counts_epsilon(&standing->limit)) ||
		(standing->capped && counts_epsilon(&standing->cap));
}

/* (dataset, epsilon, k, delta_slack, method), numbers as numeric */
static Datum
charge_open_batch(FunctionCallInfo fcinfo, Numeric epsilon, Datum slack)
{
	dp_ledger_standing standing;
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_ledger_batch *batch = &request.batch;
	dp_rational exact;
	batch_method method;
	dp_fixed	delta;

	MemSet(&request, 0, sizeof(request));
	request.action = DP_LEDGER_OPEN_BATCH;
	if (PG_ARGISNULL(0))
		dp_catalog_name_role(dp_ledger_asking_role(), &request.dataset);
	else
		request.dataset = *PG_GETARG_NAME(0);
	exact = dp_base_check_epsilon(epsilon, PG_ARGISNULL(1), "epsilon");
	dp_base_check_status(dp_accounting_fixed_from_rational(&exact, DP_ROUND_UP,
														   &batch->epsilon),
						 "read epsilon");
	batch->queries = read_queries(fcinfo, 2);
	delta = dp_ledger_read_delta(slack, PG_ARGISNULL(3));
	method = charge_read_method(fcinfo, 4, delta);
	dp_ledger_require_budget(NameStr(request.dataset), &standing);
	dp_ledger_check_price(&standing, NameStr(request.dataset),
						  batch->epsilon);
	request.replace_one = standing.replace_one;
	if (method == BATCH_CHEAPEST && !wants_slack(&standing))
		delta = 0;
	method = price(method, batch->epsilon, batch->queries, delta,
				   &request.charge);
	strlcpy(batch->method, method_name[method], DP_METHOD_LENGTH);
	request.releases = batch->queries;
	snprintf(request.mechanism, DP_MECHANISM_LENGTH,
			 "batch of %d queries of epsilon %s, %s composition",
			 batch->queries, dp_base_fixed_to_cstring(batch->epsilon),
			 batch->method);
	dp_ledger_charge(&request, &receipt);
	PG_RETURN_INT64(receipt.batch);
}

/*
 * dp_ledger_sql_batch_open
 *	  dp_batch_open(dataset, epsilon, k, delta_slack, method) returns bigint:
 *	  pay for k queries of at most epsilon each; the batch's id.
 *
 * Errors: 22023, 55000 a batch is open, and those of dp_ledger_charge.
 * Source: doc/theory.md T32, T33; doc/ledger.md, "Batches".
 */
Datum
dp_ledger_sql_batch_open(PG_FUNCTION_ARGS)
{
	return charge_open_batch(fcinfo,
							 PG_ARGISNULL(1) ? NULL : PG_GETARG_NUMERIC(1),
							 PG_GETARG_DATUM(3));
}

/* dp_ledger_sql_batch_open_float: the same with double precision numbers. */
Datum
dp_ledger_sql_batch_open_float(PG_FUNCTION_ARGS)
{
	return charge_open_batch(fcinfo, PG_ARGISNULL(1) ? NULL :
							 DatumGetNumeric(dp_ledger_owner_decimal(fcinfo,
																	 1)),
							 dp_ledger_owner_decimal(fcinfo, 3));
}

/*
 * dp_ledger_sql_batch_close
 *	  dp_batch_close(id) returns integer: give up the queries that are left,
 *	  and return their number.  Allowed to the role of the batch and to the
 *	  dataset's owner.
 *
 * Errors: 42704 the caller has no such open batch; those of dp_ledger_charge.
 */
Datum
dp_ledger_sql_batch_close(PG_FUNCTION_ARGS)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;
	dp_batch_row row;

	dp_ledger_payer_forbid_place();
	if (PG_ARGISNULL(0) || !dp_catalog_find_batch(PG_GETARG_INT64(0), &row))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no such open batch"),
				 errhint("dp_pg.my_batches lists yours.")));
	MemSet(&request, 0, sizeof(request));
	request.action = DP_LEDGER_CLOSE_BATCH;
	request.dataset = row.dataset;
	request.batch.id = row.id;
	request.batch.role_name = row.role_name;
	request.batch.role = dp_catalog_in_lineage(row.cluster) ? row.role :
		get_role_oid(NameStr(row.role_name), true);
	dp_ledger_charge(&request, &receipt);
	PG_RETURN_INT32(receipt.batch_queries - receipt.batch_used);
}

/* ----------------
 *		A charge that another process submits and waits for: the reader that
 *		works for a connection has the charge made when everything is ready,
 *		and reads rows when it is on disk.  The connection need not wake up in
 *		between.
 *
 * The connection fills in the request, including who asks.  The reader is
 * given the ticket, submits the request and learns only whether it was
 * admitted.  The connection does the rest: it sees to it that a worker runs,
 * is told why a charge was refused, and takes the answer, which stays in the
 * slot until then.
 *
 * If the connection gives up before the worker has taken the request, nothing
 * is charged and the ticket is void.
 * ----------------
 */

/*
 * dp_ledger_defer
 *	  See dp_ledger.h.  Errors: those of dp_ledger_check_place, 53000.
 */
void
dp_ledger_defer(const dp_ledger_request *request, dp_ledger_deferred *out)
{
	dp_ledger_check_place();
	MemSet(out, 0, sizeof(*out));
	out->request = request;
	out->slot = get_slot(NULL, NULL);
	dp_ledger_fill_reserved(out->slot, request, &out->ticket);
}

/* dp_ledger_look: see dp_ledger.h. */
bool
dp_ledger_look(dp_ledger_deferred *deferred, dp_ledger_receipt *receipt)
{
	switch (dp_ledger_slot_state(deferred->slot, NULL))
	{
		case DP_SLOT_DONE:
			dp_ledger_accept(deferred->request, &deferred->slot->answer,
							 receipt);
			return true;
		case DP_SLOT_PENDING:
			dp_ledger_rouse_worker(&deferred->rousing, &deferred->slot);
			break;
		default:
			break;
	}
	return false;
}

/* dp_ledger_settle: see dp_ledger.h. */
bool
dp_ledger_settle(dp_ledger_deferred *deferred, dp_ledger_receipt *receipt)
{
	while (!dp_ledger_withdraw(deferred->slot))
	{
		if (dp_ledger_look(deferred, receipt))
			return true;
		dp_base_wait(deferred->rousing.poll > 0 ?
					 deferred->rousing.poll : POLL_INTERVAL);
	}
	deferred->slot = NULL;
	return false;
}

/* dp_ledger_drop: see dp_ledger.h. */
void
dp_ledger_drop(dp_ledger_deferred *deferred)
{
	if (deferred->slot == NULL)
		return;
	dp_ledger_abandon(deferred->slot);
	deferred->slot = NULL;
}

/* dp_ledger_explain_deferred: canceled_context for its request. */
void
dp_ledger_explain_deferred(dp_ledger_deferred *deferred)
{
	canceled_context(&deferred->slot);
}

/* dp_ledger_submit_and_wait: see dp_ledger.h. */
bool
dp_ledger_submit_and_wait(const dp_ledger_ticket *ticket)
{
	static bool late = false;
	TimestampTz start = GetCurrentTimestamp();
	bool		alone;

	if (!dp_ledger_submit_reserved(ticket, NULL, 0, MyProc))
		return false;
	for (;;)
	{
		switch (dp_ledger_look_up(ticket, &alone))
		{
			case DP_TICKET_ADMITTED:
				late = is_late(start);
				return true;
			case DP_TICKET_VOID:
				return false;
			case DP_TICKET_WAITING:
				break;
		}
		dp_base_watch(alone && !late ? DP_LEDGER_SPIN_SESSION : 0,
					  POLL_INTERVAL);
	}
}
