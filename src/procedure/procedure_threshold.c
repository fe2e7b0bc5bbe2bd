/*
 * procedure_threshold.c
 *	  dp_above_threshold: the first of the values that the data owner computed
 *	  that is at or above a threshold.
 *
 * Values are read on a lattice like those of dp_noisy_max: each moves by at
 * most the sensitivity divided by the granule, rounded up, and reading keeps
 * their order, so values that all move in one direction still do.  The
 * threshold is public; where values are integers it is the next integer.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "../bridge/dp_numeric.h"
#include "procedure.h"

PG_FUNCTION_INFO_V1(dp_procedure_sql_threshold);

/* The accounting takes sensitivities below 2^60. */
#define MAX_SENSITIVITY ((dp_uint128) 1 << 60)

static bool
read_monotone(FunctionCallInfo fcinfo, int place,
			  const dp_procedure_price *price)
{
	dp_bridge_require_argument(fcinfo, place, "monotone",
							   "Give true only if one person more moves all "
							   "values up, or all of them down.");
	if (PG_GETARG_BOOL(place) && price->standing.replace_one)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("values cannot be monotone"),
				 errdetail("Neighbours of dataset \"%s\" differ by replacing "
						   "one unit, which moves some values up and others "
						   "down.", NameStr(price->dataset)),
				 errhint("Leave monotone out.")));
	return PG_GETARG_BOOL(place);
}

/* The threshold on the lattice, with the plan's public offset. */
static dp_int128
read_threshold(FunctionCallInfo fcinfo, int place, const dp_lattice *lattice,
			   int64 offset)
{
	Numeric		threshold = dp_bridge_number(fcinfo, place);

	dp_bridge_require_argument(fcinfo, place, "threshold",
							   "Give one in the unit of the values.");
	if (numeric_is_nan(threshold))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold must be a number"),
				 errhint("Give one in the unit of the values.")));
	if (lattice->exact)
		threshold = dp_numeric_call1(numeric_ceil, threshold);
	return dp_bridge_grid_numeric(&lattice->grid, threshold) + offset;
}

/*
 * Scales, offset and charge; every number is public.  With a cutoff of 1 and
 * no delta, methods best, geometric and rounds have the same noise and charge.
 */
static void
prepare(const dp_procedure_price *price, dp_uint128 sensitivity, int n,
		bool monotone, dp_sparse_method method, dp_sparse_plan *plan,
		dp_threshold_law *law)
{
	dp_sparse_request request;

	if (sensitivity >= MAX_SENSITIVITY)
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a noise scale");
	MemSet(&request, 0, sizeof(request));
	request.method = method;
	request.sensitivity = (uint64) sensitivity;
	request.monotone = monotone;
	request.questions = n;
	request.cutoff = 1;
	request.epsilon = price->epsilon_fixed;
	request.beta = DP_FIXED_ONE / 20;
	dp_bridge_check_status(dp_acct_sparse_plan(&request, plan),
						   "compute a noise scale");
	dp_bridge_check_status(dp_acct_sparse_law(plan, law),
						   "compute a noise scale");
	dp_bridge_check_scale(&law->threshold);
	dp_bridge_check_scale(&law->query);
}

/* The place (from 1) of the first above, 0: none.  Called after the charge. */
static int
first_above(const dp_procedure_input *input, const dp_lattice *lattice,
			const dp_threshold_law *law, dp_int128 threshold)
{
	dp_source  *source = dp_bridge_source();
	dp_int128	armed;
	int			i;

	dp_bridge_check_status(dp_mech_threshold_arm(source, law, threshold,
												 &armed),
						   "arm a threshold");
	for (i = 0; i < input->n; i++)
	{
		dp_int128	value = dp_procedure_granules(lattice, input->values[i],
												  input->nulls[i]);
		bool		above;

		dp_bridge_check_status(dp_mech_threshold_test(source, law, armed,
													  value, &above),
							   "compare with a threshold");
		if (above)
			return i + 1;
	}
	return 0;
}

/*
 * dp_procedure_sql_threshold
 *	  dp_above_threshold(value, threshold, sensitivity, epsilon, dataset,
 *	  monotone, method): the place of the first value at or above the
 *	  threshold, NULL when there is none.
 *
 * Errors: 22004 NULL, 22023 bad parameter, 42804 type, 22003 scale, and those
 * of dp_procedure_open and dp_ledger_charge.
 */
Datum
dp_procedure_sql_threshold(PG_FUNCTION_ARGS)
{
	const dp_procedure_places places = {2, 3, 4};
	dp_procedure_price price;
	dp_procedure_input input;
	dp_lattice	lattice;
	dp_sparse_plan plan;
	dp_threshold_law law;
	dp_int128	threshold;
	bool		monotone;
	int			place;

	dp_procedure_open(fcinfo, places, &price);
	monotone = read_monotone(fcinfo, 5, &price);
	dp_procedure_read_array(fcinfo, 0, "values", &input);
	lattice = dp_procedure_lattice(&price, &input, 1, NULL);
	prepare(&price, dp_bridge_grid_distance(&lattice.grid, price.sensitivity),
			input.n, monotone, dp_bridge_sparse_method(fcinfo, 6), &plan,
			&law);
	threshold = read_threshold(fcinfo, 1, &lattice, plan.offset);

	dp_procedure_charge(&price, &plan.charge, 1,
						plan.two_sided ? "above threshold, discrete Laplace" :
						"above threshold, geometric");
	place = first_above(&input, &lattice, &law, threshold);
	if (place == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(place);
}
