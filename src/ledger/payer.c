/*
 * payer.c
 *	  The asking role, the role whose budget pays, and when its spending starts
 *	  again; the error of each outcome of a charge that was refused; and who
 *	  pays for REFRESH MATERIALIZED VIEW.
 */
#include "postgres.h"

#include "access/xact.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

static bool refreshes_own(void);

/* ----------------
 *		What an error says about charges when it comes before one.
 *
 * A statement may hold several private queries.  If one fails before its
 * charge, earlier charges of the statement stand.
 * ----------------
 */

/* The statement that was charged last. */
static TimestampTz charged_statement = 0;

/* dp_ledger_note_charged: the statement was charged. */
void
dp_ledger_note_charged(void)
{
	charged_statement = GetCurrentStatementStartTimestamp();
}

/* dp_ledger_uncharged_text: see dp_ledger.h. */
const char *
dp_ledger_uncharged_text(void)
{
	return charged_statement == GetCurrentStatementStartTimestamp() ?
		"Nothing more was charged; earlier charges of this statement stand." :
		"Nothing was charged.";
}

/* ----------------
 *		Renewal of budgets: when spending starts again from zero.
 * ----------------
 */

/* Days and months are those of UTC, whatever the connection's time zone. */
static TimestampTz
add_interval(TimestampTz start, const Interval *step)
{
	return DatumGetTimestamp(DirectFunctionCall2(timestamp_pl_interval,
												 TimestampGetDatum(start),
												 IntervalPGetDatum(step)));
}

/* dp_ledger_renewal: end of the current period; the row must renew. */
TimestampTz
dp_ledger_renewal(const dp_budget_row *row)
{
	return add_interval(row->period_start, &row->renew);
}

/*
 * dp_ledger_roll
 *	  If the row's period is over, begin the one that `now` lies in: whole
 *	  intervals are added to its start, its number grows by one, and its
 *	  spending is zero.  Totals are kept.
 */
void
dp_ledger_roll(dp_budget_row *row, TimestampTz now)
{
	int64		usec = row->renew.time + row->renew.day * USECS_PER_DAY;

	if (!row->renews || dp_ledger_renewal(row) > now)
		return;
	if (row->renew.month == 0)
	{
		if (usec <= 0)
			elog(ERROR, "renewal interval is not positive");
		row->period_start += (now - row->period_start) / usec * usec;
	}
	else
	{
		if (row->renew.month < 0 || usec < 0)
			elog(ERROR, "renewal interval is not positive");
		while (dp_ledger_renewal(row) <= now)
			row->period_start = dp_ledger_renewal(row);
	}
	row->period++;
	MemSet(&row->spent, 0, sizeof(row->spent));
}

/* ----------------
 *		The asking role, and the role whose budget pays.
 *
 * The asking role is the outer user (login role or SET ROLE), so a SECURITY
 * DEFINER procedure of the data owner spends its caller's budget.  The
 * dataset's owner and superusers are exempt if the current user is exempt as
 * well: when a superuser runs an analyst's SECURITY DEFINER function, the
 * analyst pays.
 * ----------------
 */

/*
 * dp_ledger_payer_owns
 *	  Whether the role acts for the dataset's owner: it is the owner, a role
 *	  that inherits its rights, or a superuser.
 */
bool
dp_ledger_payer_owns(Oid role, const dp_dataset_row *dataset)
{
	if (superuser_arg(role))
		return true;
	return OidIsValid(dataset->owner) &&
		has_privs_of_role(role, dataset->owner);
}

/*
 * dp_ledger_payer_find
 *	  Find who pays for a query of this outer and current user, by the latest
 *	  committed rows.
 *
 * A role with an active budget of its own spends from it; otherwise, from the
 * one budget among the roles whose rights it inherits.  If there are two of
 * those, the caller raises an error, and the role has to choose with SET ROLE.
 * The paying budget is locked as `lock` says; the role's own may be locked,
 * too.
 */
void
dp_ledger_payer_find(const dp_dataset_row *dataset, Oid outer, Oid current,
					 dp_row_lock lock, dp_payer *out)
{
	NameData	name;
	Oid		   *roles;
	int			n;
	int			i;

	MemSet(out, 0, sizeof(*out));
	out->asking = outer;
	if (dp_ledger_payer_owns(outer, dataset))
	{
		out->asking = current;
		out->exempt = dp_ledger_payer_owns(current, dataset);
		if (out->exempt)
		{
			out->asking = outer;
			return;
		}
	}
	out->outcome = DP_OUTCOME_NO_BUDGET;
	dp_catalog_name_role(out->asking, &name);
	if (NameStr(name)[0] == '\0')
		return;					/* dropped while connected */
	out->found = dp_catalog_read_budget(NameStr(dataset->name), out->asking,
										NameStr(name), lock, &out->budget);
	if (out->found != DP_MISSING && out->budget.active)
	{
		out->outcome = DP_OUTCOME_ADMITTED;
		out->role = out->asking;
		out->name = name;
		return;
	}
	n = dp_catalog_list_roles(NameStr(dataset->name), &roles);
	for (i = 0; i < n; i++)
	{
		if (!has_privs_of_role(out->asking, roles[i]))
			continue;
		if (out->outcome == DP_OUTCOME_ADMITTED)
		{
			out->outcome = DP_OUTCOME_TWO_BUDGETS;
			dp_catalog_name_role(roles[i], &out->other);
			return;
		}
		out->outcome = DP_OUTCOME_ADMITTED;
		out->role = roles[i];
		dp_catalog_name_role(roles[i], &out->name);
	}
	if (out->outcome == DP_OUTCOME_ADMITTED)
		out->found = dp_catalog_read_budget(NameStr(dataset->name), out->role,
											NameStr(out->name), lock,
											&out->budget);
}

/*
 * dp_ledger_batch_is_alive
 *	  Whether a batch pays for queries of this payer now.  It ends when the
 *	  budget that paid for it renews, and is suspended while another budget
 *	  pays.  `budget` is the payer's, rolled to the current period; NULL if
 *	  exempt.
 */
bool
dp_ledger_batch_is_alive(const dp_batch_row *row, const dp_payer *payer,
						 const dp_budget_row *budget)
{
	if (row->closed)
		return false;
	if (budget == NULL)
		return !OidIsValid(row->payer);
	return OidIsValid(row->payer) && row->period == budget->period &&
		(dp_catalog_in_lineage(row->cluster) ?
		 row->payer == payer->role :
		 strcmp(NameStr(row->payer_name), NameStr(payer->name)) == 0);
}

/* dp_ledger_batch_covers: whether the batch has paid for such a charge. */
bool
dp_ledger_batch_covers(const dp_batch_row *row, const dp_charge *charge)
{
	return charge->epsilon != DP_FIXED_INFINITE &&
		charge->epsilon <= row->epsilon && charge->delta == 0;
}

/*
 * dp_ledger_payer_forbid_place
 *	  Raise an error where code runs that the session user did not choose to
 *	  run.
 *
 * Errors: 0A000 in an autovacuum worker, in a security-restricted operation
 * (index expressions under ANALYZE, ...) other than REFRESH MATERIALIZED VIEW
 * by its owner; 25000 in a parallel operation.
 */
void
dp_ledger_payer_forbid_place(void)
{
	dp_base_forbid_parallel();
	if (AmAutoVacuumWorkerProcess() ||
		(InSecurityRestrictedOperation() && !refreshes_own()))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("private queries are not allowed within a "
						"security-restricted operation"),
				 errdetail("Autovacuum, ANALYZE, REINDEX and REFRESH "
						   "MATERIALIZED VIEW run functions on somebody "
						   "else's behalf."),
				 errhint("Refresh a materialized view as its owner, or store "
						 "released values with CREATE TABLE AS or INSERT .. "
						 "SELECT.")));
}

/*
 * dp_ledger_payer_raise
 *	  Raise the error of a refused charge.  Every number shown is public.
 *
 * Errors: 42704, 42501, 53400, 55P03, 55000 other neighbours or batch open,
 * 08007 unknown outcome, and the worker's when it failed.
 */
void
dp_ledger_payer_raise(const dp_answer *answer, const char *dataset)
{
	const char *asking = NameStr(answer->asking);

	switch (answer->outcome)
	{
		case DP_OUTCOME_NO_DATASET:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("dataset \"%s\" does not exist", dataset),
					 errhint("A dataset that the current transaction created "
							 "can be charged after COMMIT.")));
			break;
		case DP_OUTCOME_NO_BUDGET:
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("role \"%s\" has no budget on dataset \"%s\"",
							asking, dataset),
					 errhint("The owner of the dataset can give one with "
							 "dp_grant; it takes effect at COMMIT.")));
			break;
		case DP_OUTCOME_TWO_BUDGETS:
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("role \"%s\" has more than one budget on "
							"dataset \"%s\"", asking, dataset),
					 errdetail("It is a member of \"%s\" and of \"%s\".",
							   NameStr(answer->receipt.payer),
							   NameStr(answer->other)),
					 errhint("Choose one with SET ROLE.")));
			break;
		case DP_OUTCOME_NEIGHBOURS:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("the charge was not computed for the neighbouring "
							"relation of dataset \"%s\"",
							dataset),
					 errdetail("%s", dp_ledger_uncharged_text()),
					 errhint("Try again.  A mechanism that fails again does "
							 "not support the neighbouring relation that the "
							 "owner chose.")));
			break;
		case DP_OUTCOME_BATCH_USED:
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("batch " INT64_FORMAT " of role \"%s\" on dataset "
							"\"%s\" is used up", answer->receipt.batch,
							asking, dataset),
					 answer->receipt.batch_used <
					 answer->receipt.batch_queries ?
					 errdetail("One of its %d queries is left, and one that "
							   "measures its bound (dp_pg.bounds) is two.  "
							   "%s", answer->receipt.batch_queries,
							   dp_ledger_uncharged_text()) :
					 errdetail("All of its %d queries have been asked.  %s",
							   answer->receipt.batch_queries,
							   dp_ledger_uncharged_text()),
					 errhint("Open another one with dp_batch_open, or go on "
							 "with the budget after dp_batch_close("
							 INT64_FORMAT ").", answer->receipt.batch)));
			break;
		case DP_OUTCOME_BATCH_OPEN:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("role \"%s\" has an open batch on dataset "
							"\"%s\"", asking, dataset),
					 errdetail("In batch " INT64_FORMAT ", %d of %d queries "
							   "have been asked.  %s",
							   answer->receipt.batch,
							   answer->receipt.batch_used,
							   answer->receipt.batch_queries,
							   dp_ledger_uncharged_text()),
					 errhint("Use it up, or give up what is left with "
							 "dp_batch_close(" INT64_FORMAT ").",
							 answer->receipt.batch)));
			break;
		case DP_OUTCOME_NO_BATCH:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("there is no such open batch"),
					 errhint("dp_pg.my_batches lists yours.")));
			break;
		case DP_OUTCOME_LOCKED:
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("the ledger of dataset \"%s\" is locked",
							dataset),
					 errdetail("A lock that is needed to record the charge is "
							   "held by another transaction, or by the "
							   "current one.  %s", dp_ledger_uncharged_text()),
					 errhint("Commit the transaction that changes the "
							 "budget and try again.")));
			break;
		case DP_OUTCOME_UNKNOWN:
			ereport(ERROR,
					(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
					 errmsg("the ledger worker ended before it answered"),
					 errdetail("The charge may have been recorded and "
							   "counts as made; nothing was released."),
					 errhint("Check dp_pg.my_budget before you ask again.")));
			break;
		case DP_OUTCOME_FAILED:
			ereport(ERROR,
					(errcode(answer->sqlstate),
					 errmsg("the ledger could not record the charge"),
					 errdetail("%s  Nothing was released.",
							   dp_ledger_uncharged_text()),
					 errhint("See the server log for the reason.")));
			break;
		default:
			break;
	}
	elog(ERROR, "unrecognized outcome %d", (int) answer->outcome);
}

/* ----------------
 *		Materialized views filled with released values.
 *
 * PostgreSQL fills a materialized view with its owner's rights, in a
 * security-restricted operation, whoever issues the command.  Private queries
 * are allowed there if it is the owner: their budget pays, as for the same
 * query in INSERT .. SELECT.  If another role refreshes it, a superuser or a
 * member of its owner, the owner did not choose to pay.
 *
 * The innermost statement counts: an ANALYZE, with an index expression that
 * asks a private query, is no REFRESH even if it runs within one.
 * ----------------
 */

static ProcessUtility_hook_type next_process_utility = NULL;

/* Whether the innermost utility statement fills a materialized view. */
static bool refreshing = false;

static bool
fills_view(const Node *statement)
{
	if (IsA(statement, CreateTableAsStmt))
		return ((const CreateTableAsStmt *) statement)->objtype ==
			OBJECT_MATVIEW;
	return IsA(statement, RefreshMatViewStmt);
}

static void
note_refresh(PlannedStmt *statement, const char *text, bool read_only_tree,
			 ProcessUtilityContext context, ParamListInfo params,
			 QueryEnvironment *environment, DestReceiver *dest,
			 QueryCompletion *completion)
{
	bool		outer = refreshing;

	refreshing = fills_view(statement->utilityStmt);
	PG_TRY();
	{
		(next_process_utility ? next_process_utility : standard_ProcessUtility)
			(statement, text, read_only_tree, context, params, environment,
			 dest, completion);
	}
	PG_FINALLY();
	{
		refreshing = outer;
	}
	PG_END_TRY();
}

/*
 * refreshes_own
 *	  Whether a materialized view is being filled by its owner.
 */
static bool
refreshes_own(void)
{
	return refreshing && GetUserId() == GetOuterUserId();
}

/* dp_ledger_refresh_init: from _PG_init, preloading. */
void
dp_ledger_refresh_init(void)
{
	dp_base_add_hook(&ProcessUtility_hook, note_refresh,
					 &next_process_utility);
}
