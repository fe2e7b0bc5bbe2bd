/*
 * charge_sql.c
 *	  dp_pg.charge, an explicit charge, and what a charge would leave.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/accounting/dp_accounting.h"
#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ----------------
 *		What a request would be charged, by the latest committed rows.
 *
 * Decides as decide.c does, without locks or effects.  The caller compares the
 * charge with the limits.
 * ----------------
 */

/* What the maximum over the parts would grow by. */
static void
preview_part(const dp_ledger_request *request, const dp_budget_row *budget,
			 dp_charge *out)
{
	dp_part_row part;
	dp_part_row top;
	dp_spent	rise = {0};

	MemSet(&part, 0, sizeof(part));
	part.dataset = request->dataset;
	part.partition = request->part.partition;
	if (budget)
	{
		part.payer = budget->role;
		part.period = budget->period;
	}
	top = part;
	part.key = request->part.key;
	(void) dp_catalog_read_part(&part, DP_ROW_READ);
	(void) dp_catalog_read_part(&top, DP_ROW_READ);
	if (dp_accounting_spent_add(&part.spent, &request->charge) != DP_OK ||
		dp_accounting_spent_rise(&rise, &top.spent, &part.spent) != DP_OK)
		return;
	out->epsilon = rise.epsilon;
	out->rho = rise.rho;
	out->delta = rise.delta;
}

/* Whether the asker's batch has paid for the request. */
static bool
preview_batch(const dp_ledger_request *request, const dp_payer *payer,
			  const dp_budget_row *budget, dp_ledger_preview *out)
{
	dp_batch_row row;
	NameData	asking;

	dp_catalog_name_role(payer->asking, &asking);
	if (dp_catalog_read_batch(NameStr(request->dataset), payer->asking,
							  NameStr(asking), DP_ROW_READ,
							  &row) != DP_FOUND ||
		!dp_ledger_batch_is_alive(&row, payer, budget) ||
		!dp_ledger_batch_covers(&row, &request->charge))
		return false;
	out->batch = row.id;
	out->batch_queries = row.queries;
	out->batch_used = row.used;
	return true;
}

/*
 * dp_ledger_read_preview
 *	  What a plain request would be charged; see dp_ledger.h.
 */
void
dp_ledger_read_preview(const dp_ledger_request *request,
					   dp_ledger_preview *out)
{
	dp_dataset_row dataset;
	dp_payer	payer;
	dp_budget_row *budget = NULL;

	MemSet(out, 0, sizeof(*out));
	out->charged = request->charge;
	if (dp_catalog_read_dataset(NameStr(request->dataset), DP_ROW_READ,
								&dataset) != DP_FOUND)
		return;
	dp_ledger_payer_find(&dataset, GetOuterUserId(), GetUserId(), DP_ROW_READ,
						 &payer);
	out->found = payer.outcome == DP_OUTCOME_ADMITTED &&
		(payer.exempt || payer.found == DP_FOUND);
	if (!out->found)
		return;
	if (!payer.exempt)
	{
		budget = &payer.budget;
		budget->role = payer.role;
		dp_ledger_roll(budget, GetCurrentTimestamp());
	}
	if (preview_batch(request, &payer, budget, out))
		MemSet(&out->charged, 0, sizeof(out->charged));
	else if (request->part.partition != 0 && !dataset.replace_one)
		preview_part(request, budget, &out->charged);
}

/* ----------------
 *		dp_pg.charge: an explicit charge, for procedures that release something
 *		themselves.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_ledger_sql_charge);
PG_FUNCTION_INFO_V1(dp_ledger_sql_preview);
PG_FUNCTION_INFO_V1(dp_ledger_sql_new_partition);

/*
 * Whether an argument was given, and not NULL.  A declaration may have fewer
 * arguments.
 */
static bool
charge_sql_is_given(FunctionCallInfo fcinfo, int argument)
{
	return argument < PG_NARGS() && !PG_ARGISNULL(argument);
}

static void
read_names(FunctionCallInfo fcinfo, dp_ledger_request *request)
{
	char	   *mechanism;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dataset and mechanism must not be NULL"),
				 errhint("Name the dataset to charge and the mechanism to "
						 "charge it for.")));
	request->dataset = *PG_GETARG_NAME(0);
	mechanism = text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (strlen(mechanism) >= DP_MECHANISM_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("mechanism is too long"),
				 errdetail("It has %zu bytes; at most %d are allowed.",
						   strlen(mechanism), DP_MECHANISM_LENGTH - 1),
				 errhint("Describe the mechanism briefly.")));
	strlcpy(request->mechanism, mechanism, DP_MECHANISM_LENGTH);
}

/* Read rho or delta, rounded up to the grid; raises 22023. */
static dp_fixed
charge_sql_read_number(FunctionCallInfo fcinfo, int argument, const char *what,
					   dp_number_range range, const char *hint)
{
	return dp_base_check_number(PG_ARGISNULL(argument) ? NULL :
								PG_GETARG_NUMERIC(argument), what, range,
								DP_ROUND_UP, hint);
}

/* Read (epsilon, delta, rho) from arguments 2 to 4. */
static void
read_charge(FunctionCallInfo fcinfo, dp_charge *charge)
{
	static const char *const delta_hint =
	"Use 0, or a number far below one divided by the number of people.";

	if (PG_ARGISNULL(2) && charge_sql_is_given(fcinfo, 4))
		charge->epsilon = DP_FIXED_INFINITE;
	else
	{
		dp_rational epsilon;

		epsilon = dp_base_check_epsilon(PG_ARGISNULL(2) ? NULL :
										PG_GETARG_NUMERIC(2),
										PG_ARGISNULL(2), "epsilon");
		dp_base_check_status(dp_accounting_fixed_from_rational(&epsilon,
														   DP_ROUND_UP,
														   &charge->epsilon),
							 "charge epsilon");
		dp_base_check_status(dp_accounting_rho_from_pure(&epsilon,
														 &charge->rho),
							 "convert epsilon");
	}
	if (charge_sql_is_given(fcinfo, 4))
		charge->rho = charge_sql_read_number(fcinfo, 4, "rho", DP_RANGE_ANY,
											 "Give what the mechanism costs "
											 "in zCDP, or NULL for what "
											 "epsilon implies.");
	charge->delta = charge_sql_read_number(fcinfo, 3, "delta", DP_RANGE_DELTA,
										   delta_hint);
}

/* Read (partition, part) from arguments 5 and 6: both or neither. */
static void
charge_sql_read_part(FunctionCallInfo fcinfo, dp_ledger_part *part)
{
	if (!charge_sql_is_given(fcinfo, 5) && !charge_sql_is_given(fcinfo, 6))
		return;
	if (!charge_sql_is_given(fcinfo, 5) || !charge_sql_is_given(fcinfo, 6) ||
		PG_GETARG_INT64(5) <= 0 ||
		NameStr(*PG_GETARG_NAME(6))[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a part needs a partition and a key"),
				 errhint("Give both the number that dp_pg.new_partition "
						 "returned and the name of the part, or neither.")));
	if (PG_GETARG_INT64(5) > dp_catalog_last_partition())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("partition " INT64_FORMAT " was never assigned",
						PG_GETARG_INT64(5)),
				 errdetail("A later declaration could be assigned the same "
						   "number."),
				 errhint("Get one from dp_pg.new_partition().")));
	part->partition = PG_GETARG_INT64(5);
	part->key = *PG_GETARG_NAME(6);
}

static void
charge_sql_read_request(FunctionCallInfo fcinfo, dp_ledger_request *request)
{
	dp_dataset_row dataset;

	MemSet(request, 0, sizeof(*request));
	read_names(fcinfo, request);
	read_charge(fcinfo, &request->charge);
	charge_sql_read_part(fcinfo, &request->part);
	request->releases = 1;
	request->replace_one =
		dp_catalog_read_dataset(NameStr(request->dataset), DP_ROW_READ,
								&dataset) == DP_FOUND && dataset.replace_one;
}

/*
 * dp_ledger_sql_charge
 *	  dp_pg.charge(dataset, mechanism, epsilon, delta, rho, partition, part)
 *	  returns bigint: charge the asking role, and return the id of the line in
 *	  the ledger.
 *
 * If rho is NULL, it is what epsilon implies; if epsilon is NULL, the
 * mechanism has no pure epsilon.  The caller vouches that these numbers hold
 * for the dataset's neighbouring relation.
 *
 * Errors: 22023 bad parameter, 55000 in a function that is not known to charge
 * (dp_ledger_require_shield), and those of dp_ledger_charge.
 */
Datum
dp_ledger_sql_charge(PG_FUNCTION_ARGS)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;

	dp_ledger_payer_forbid_place();
	dp_ledger_require_shield();
	charge_sql_read_request(fcinfo, &request);
	dp_ledger_charge(&request, &receipt);
	PG_RETURN_INT64(receipt.ledger_id);
}

static Datum
charge_sql_fixed_datum(dp_fixed x)
{
	return NumericGetDatum(dp_base_fixed_to_numeric(x));
}

/*
 * dp_ledger_sql_preview
 *	  dp_pg.preview(arguments of dp_pg.charge) returns (epsilon, delta, rho,
 *	  batch, batch_left): what the charge would add to the payer's sums, NULL
 *	  without a budget, and the batch that has paid for it, NULL if none has.
 *
 * Errors: 22023.
 */
Datum
dp_ledger_sql_preview(PG_FUNCTION_ARGS)
{
	dp_ledger_request request;
	dp_ledger_preview preview;
	Datum		values[5];
	bool		nulls[5];
	TupleDesc	result;

	if (get_call_result_type(fcinfo, NULL, &result) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	charge_sql_read_request(fcinfo, &request);
	dp_ledger_read_preview(&request, &preview);
	values[0] = charge_sql_fixed_datum(preview.charged.epsilon);
	values[1] = charge_sql_fixed_datum(preview.charged.delta);
	values[2] = charge_sql_fixed_datum(preview.charged.rho);
	values[3] = Int64GetDatum(preview.batch);
	values[4] = Int32GetDatum(preview.batch_queries - preview.batch_used);
	nulls[0] = nulls[1] = nulls[2] = !preview.found;
	nulls[3] = nulls[4] = preview.batch == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(result),
													  values, nulls)));
}

/* dp_ledger_sql_new_partition: dp_pg.new_partition() returns bigint. */
Datum
dp_ledger_sql_new_partition(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(dp_catalog_new_partition());
}
