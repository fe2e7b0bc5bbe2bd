/*
 * batch.c
 *	  dp_batch_open, dp_batch_close: queries that are paid for together.
 *
 * A batch fixes before its first query how many there will be and what each
 * may cost, so the theorems for k-fold adaptive composition of equal
 * mechanisms apply to it.  The whole batch is one charge, made when it is
 * opened; the worker counts the queries.  It belongs to a role and a dataset,
 * not to a connection or a setting, so other roles cannot use it.  Both
 * functions act at once, even if the transaction is rolled back.
 * doc/ledger.md has the argument.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "ledger.h"
#include "owner.h"

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
read_method(FunctionCallInfo fcinfo, int argument, dp_fixed slack)
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
		return dp_acct_compose_basic(epsilon, 0, k, &out->epsilon,
									 &out->delta);
	if (method == BATCH_ADVANCED)
		return dp_acct_compose_advanced(epsilon, 0, k, slack, &out->epsilon,
										&out->delta);
	return dp_acct_compose_optimal(epsilon, 0, k, slack, &out->epsilon,
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

	dp_bridge_check_status(compose(best, epsilon, k, slack, out),
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
	dp_bridge_check_status(dp_acct_fixed_to_rational(epsilon, &exact),
						   "read epsilon");
	dp_bridge_check_status(dp_acct_rho_from_pure(&exact, &rho),
						   "convert epsilon");
	dp_bridge_check_status(dp_acct_compose_basic(rho, 0, k, &out->rho,
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
open_batch(FunctionCallInfo fcinfo, Numeric epsilon, Datum slack)
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
	exact = dp_bridge_check_epsilon(epsilon, PG_ARGISNULL(1), "epsilon");
	dp_bridge_check_status(dp_acct_fixed_from_rational(&exact, DP_ROUND_UP,
													   &batch->epsilon),
						   "read epsilon");
	batch->queries = read_queries(fcinfo, 2);
	delta = dp_ledger_read_delta(slack, PG_ARGISNULL(3));
	method = read_method(fcinfo, 4, delta);
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
			 batch->queries, dp_bridge_fixed_to_cstring(batch->epsilon),
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
	return open_batch(fcinfo, PG_ARGISNULL(1) ? NULL : PG_GETARG_NUMERIC(1),
					  PG_GETARG_DATUM(3));
}

/* dp_ledger_sql_batch_open_float: the same with double precision numbers. */
Datum
dp_ledger_sql_batch_open_float(PG_FUNCTION_ARGS)
{
	return open_batch(fcinfo, PG_ARGISNULL(1) ? NULL :
					  DatumGetNumeric(dp_ledger_owner_decimal(fcinfo, 1)),
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
