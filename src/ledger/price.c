/*
 * price.c
 *	  Checks of a query's epsilon and delta against budget, cap and the owner's
 *	  bounds.
 */
#include "postgres.h"

#include "ledger.h"

static void
raise_limit(const char *dataset, dp_fixed limit, bool floor)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("epsilon is %s what dataset \"%s\" allows",
					floor ? "below" : "above", dataset),
			 errdetail("Its owner set the %s epsilon to %s.",
					   floor ? "floor of a query's" : "ceiling of a value's",
					   dp_bridge_fixed_to_cstring(limit)),
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
	dp_bridge_check_floor(charged, "epsilon");
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
	dp_fixed	server = dp_bridge_epsilon_floor();

	return standing->floored ? Max(server, standing->epsilon_floor) : server;
}

/* dp_ledger_charge_filter: see dp_ledger.h. */
dp_filter
dp_ledger_charge_filter(const dp_ledger_standing *standing)
{
	return dp_acct_charge_filter(standing->found && !standing->exempt ?
								 &standing->limit : NULL,
								 standing->capped ? &standing->cap : NULL);
}

static void
raise_delta(const char *dataset, dp_fixed limit, const char *whose)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("delta is above that of the %s", whose),
			 errdetail("The %s of dataset \"%s\" has delta %s in "
					   "total.", whose,
					   dataset, dp_bridge_fixed_to_cstring(limit)),
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
