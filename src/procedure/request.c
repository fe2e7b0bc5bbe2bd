/*
 * request.c
 *	  The public side of a building block: its parameters, its price, its
 *	  charge.
 */
#include "postgres.h"

#include "procedure.h"

/* Sensitivities between 2^-960 and 2^960: any granule is a normal double. */
#define SENSITIVITY_LOG2 960

static void
check_sensitivity(Numeric x)
{
	int			size;

	if (dp_bridge_floor_log2(x, &size) && abs(size) <= SENSITIVITY_LOG2)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("sensitivity must be a positive number"),
			 errdetail("It must lie between 1e-289 and 1e289."),
			 errhint("Give the most by which one person can change the "
					 "value.")));
}

/*
 * dp_procedure_open
 *	  Read the parameters that every building block has; nothing is charged.
 *
 * Errors: 22004 NULL; 22023 bad parameter; 55000 not preloaded, or a function
 * that is not known to call one; 25000 in a parallel operation; 0A000 in a
 * serializable transaction or security-restricted operation; 42704 no such
 * dataset; 42501 the asking role has no budget.
 */
void
dp_procedure_open(FunctionCallInfo fcinfo, dp_procedure_places places,
				  dp_procedure_price *out)
{
	dp_bridge_require_preload();
	dp_bridge_forbid_serializable();
	dp_bridge_forbid_parallel();
	dp_ledger_require_shield();
	MemSet(out, 0, sizeof(*out));
	dp_bridge_require_argument(fcinfo, places.dataset, "dataset",
							   "Name the dataset that the value was computed "
							   "from.");
	dp_bridge_require_argument(fcinfo, places.epsilon, "epsilon",
							   "Give the price of the call.");
	dp_bridge_require_argument(fcinfo, places.sensitivity, "sensitivity",
							   "Give the most by which one person can change "
							   "the value.");
	out->dataset = *PG_GETARG_NAME(places.dataset);
	out->epsilon = dp_bridge_epsilon(fcinfo, places.epsilon,
									 &out->epsilon_fixed);
	out->sensitivity = dp_bridge_number(fcinfo, places.sensitivity);
	check_sensitivity(out->sensitivity);
	dp_ledger_require_budget(NameStr(out->dataset), &out->standing);
	dp_ledger_check_price(&out->standing, NameStr(out->dataset),
						  out->epsilon_fixed);
}

/*
 * dp_procedure_charge
 *	  Charge the asking role, durably; errors as dp_ledger_charge.
 */
void
dp_procedure_charge(const dp_procedure_price *price, const dp_charge *charge,
					int releases, const char *mechanism)
{
	dp_ledger_request request;
	dp_ledger_receipt receipt;

	MemSet(&request, 0, sizeof(request));
	request.dataset = price->dataset;
	snprintf(request.mechanism, DP_MECHANISM_LENGTH, "procedure: %s",
			 mechanism);
	request.charge = *charge;
	request.releases = releases;
	request.replace_one = price->standing.replace_one;
	dp_ledger_charge(&request, &receipt);
}
