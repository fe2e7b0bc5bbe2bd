/*
 * noise.c
 *	  dp_laplace and dp_gaussian: a value that the data owner computed, with
 *	  noise.
 *
 * How far values move on their lattice (doc/procedures.md): one value, or
 * values that lie on it, by the sensitivity divided by the granule, rounded
 * up; n values that are rounded to it, by n - 1 granules more in L1 and by
 * the root of n, rounded up, more in L2.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "procedure.h"

/* Finer bits of an L2 sensitivity, where values lie on their lattice. */
#define SUBGRANULE 20
/* The accounting takes sensitivities below 2^60. */
#define MAX_SENSITIVITY ((dp_uint128) 1 << 60)

PG_FUNCTION_INFO_V1(dp_procedure_sql_laplace);
PG_FUNCTION_INFO_V1(dp_procedure_sql_gaussian);

/* How the variance of a Gaussian is found. */
typedef enum variance_rule
{
	RULE_EXACT,					/* least with the exact delta, one value */
	RULE_ZCDP,					/* by zCDP */
	RULE_CLASSICAL				/* Theorem 3.22 */
} variance_rule;

static const char *const rule_names[] = {"exact", "zcdp", "classical"};

/* One of the two laws of noise. */
typedef struct noise_law
{
	bool		gaussian;
	dp_scale	scale;
	dp_gaussian normal;
} noise_law;

/* The values with a fresh draw added to each; called after the charge. */
static Datum
release(const dp_procedure_input *input, const dp_lattice *lattice,
		const noise_law *law)
{
	Datum	   *values = palloc(sizeof(Datum) * input->n);
	dp_int128	noise;
	int			i;

	for (i = 0; i < input->n; i++)
	{
		dp_int128	exact = dp_procedure_granules(lattice, input->values[i],
												  input->nulls[i]);
		dp_status	status;

		CHECK_FOR_INTERRUPTS();
		if (law->gaussian)
			status = dp_mech_discrete_gaussian(dp_bridge_source(),
											   &law->normal, &noise);
		else
			status = dp_mech_discrete_laplace(dp_bridge_source(),
											  &law->scale, &noise);
		dp_bridge_check_status(status, "draw noise");
		values[i] = dp_procedure_value(lattice,
									   dp_procedure_add(exact, noise));
	}
	return dp_procedure_answer(input, values);
}

/*
 * dp_procedure_sql_laplace
 *	  dp_laplace(value, sensitivity, epsilon, dataset, granule): each number
 *	  plus discrete Laplace noise of scale sensitivity / epsilon; sensitivity
 *	  of an array is that in L1.
 *
 * Errors: 22004 NULL, 22023 bad parameter, 42804 type, 22003 scale, and those
 * of dp_procedure_open and dp_ledger_charge.
 */
Datum
dp_procedure_sql_laplace(PG_FUNCTION_ARGS)
{
	const dp_procedure_places places = {1, 2, 3};
	dp_procedure_price price;
	dp_procedure_input input;
	dp_lattice	lattice;
	dp_uint128	sensitivity;
	dp_charge	charge = {0, 0, 0};
	noise_law	law;

	dp_procedure_open(fcinfo, places, &price);
	dp_procedure_read_value(fcinfo, 0, "value", &input);
	lattice = dp_procedure_lattice(&price, &input, input.n,
								   dp_bridge_number(fcinfo, 4));
	sensitivity = dp_bridge_grid_distance(&lattice.grid, price.sensitivity) +
		(lattice.exact ? 0 : (dp_uint128) (input.n - 1));
	law.gaussian = false;
	dp_bridge_check_status(dp_mech_scale_make(sensitivity, &price.epsilon,
											  &law.scale),
						   "compute a noise scale");
	dp_bridge_check_scale(&law.scale);
	charge.epsilon = price.epsilon_fixed;
	dp_bridge_check_status(dp_acct_rho_from_laplace(sensitivity,
													&price.epsilon,
													&charge.rho),
						   "compute a charge");
	dp_procedure_charge(&price, &charge, input.n, "discrete Laplace");
	return release(&input, &lattice, &law);
}

static dp_fixed
read_delta(FunctionCallInfo fcinfo, int place)
{
	static const char *const hint =
	"Use a number far below one over the number of people.";

	dp_bridge_require_argument(fcinfo, place, "delta", hint);
	return dp_bridge_check_number(dp_bridge_number(fcinfo, place), "delta",
								  DP_RANGE_INNER, DP_ROUND_DOWN, hint);
}

static variance_rule
read_rule(FunctionCallInfo fcinfo, int place, int n, dp_fixed epsilon)
{
	char	   *name;
	int			rule;

	if (PG_ARGISNULL(place))
		return n == 1 ? RULE_EXACT : RULE_ZCDP;
	name = text_to_cstring(PG_GETARG_TEXT_PP(place));
	for (rule = 0; rule < lengthof(rule_names); rule++)
		if (strcmp(name, rule_names[rule]) == 0)
			break;
	if (rule == lengthof(rule_names))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown method \"%s\"", name),
				 errhint("Methods are exact, zcdp and classical.")));
	if (rule == RULE_EXACT && n != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method exact is for one value"),
				 errhint("Use method zcdp for several values together.")));
	if (rule == RULE_CLASSICAL && epsilon > DP_FIXED_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("method classical needs an epsilon up to 1"),
				 errdetail("Its theorem holds only up to 1."),
				 errhint("Use method exact or zcdp.")));
	return (variance_rule) rule;
}

/* The least integer whose square is at least n. */
static dp_uint128
ceil_root(int n)
{
	dp_uint128	root = 0;

	while (root * root < (dp_uint128) n)
		root++;
	return root;
}

/*
 * L2 sensitivity in units of the granule divided by 2^*parts: values that lie
 * on the lattice may have one that is no integer, such as the root of 2.
 */
static uint64
gaussian_sensitivity(const dp_procedure_price *price, int n,
					 const dp_lattice *lattice, int *parts)
{
	dp_binary_grid grid;
	dp_uint128	sensitivity;
	int			size = 0;

	(void) dp_bridge_floor_log2(price->sensitivity, &size);
	*parts = lattice->exact && n > 1 && size < 60 - SUBGRANULE ? SUBGRANULE :
		0;
	grid = dp_bridge_make_grid(lattice->grid.exponent - *parts);
	sensitivity = dp_bridge_grid_distance(&grid, price->sensitivity);
	if (!lattice->exact && n > 1)
		sensitivity += ceil_root(n);
	if (sensitivity >= MAX_SENSITIVITY)
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a variance");
	return (uint64) sensitivity;
}

static dp_rational
find_variance(variance_rule rule, uint64 sensitivity, dp_fixed epsilon,
			  dp_fixed delta)
{
	dp_rational variance = {0, 1};
	dp_status	status = DP_E_RANGE;

	switch (rule)
	{
		case RULE_EXACT:
			status = dp_bridge_gaussian_variance(sensitivity, epsilon, delta,
												 &variance);
			break;
		case RULE_ZCDP:
			status = dp_acct_gaussian_variance_zcdp(sensitivity, epsilon,
													delta, &variance);
			break;
		case RULE_CLASSICAL:
			status = dp_acct_gaussian_variance_classical(sensitivity,
														 epsilon, delta,
														 &variance);
			break;
	}
	if (status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no variance is proved for this epsilon and delta"),
				 errhint("Use a larger epsilon or delta.")));
	dp_bridge_check_status(status, "compute a variance");
	return variance;
}

/* The law of variance / 4^parts, in granules. */
static void
make_normal(const dp_rational *variance, int parts, dp_gaussian *out)
{
	dp_rational divisor = {1, (dp_uint128) 1 << (2 * parts)};
	dp_rational granules;

	dp_bridge_check_status(dp_mech_rational_multiply(variance, &divisor,
													 &granules),
						   "compute a variance");
	if (granules.num / granules.den >> 120 != 0)
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a variance");
	dp_bridge_check_status(dp_mech_gaussian_make(&granules, out),
						   "compute a variance");
}

/*
 * dp_procedure_sql_gaussian
 *	  dp_gaussian(value, sensitivity, epsilon, delta, dataset, method,
 *	  granule): each number plus discrete Gaussian noise; sensitivity of an
 *	  array is that in L2.
 *
 * Errors: as dp_procedure_sql_laplace.
 */
Datum
dp_procedure_sql_gaussian(PG_FUNCTION_ARGS)
{
	const dp_procedure_places places = {1, 2, 4};
	dp_procedure_price price;
	dp_procedure_input input;
	dp_lattice	lattice;
	dp_rational variance;
	dp_charge	charge;
	dp_fixed	delta;
	dp_fixed	rho;
	noise_law	law;
	variance_rule rule;
	uint64		sensitivity;
	int			parts;

	dp_procedure_open(fcinfo, places, &price);
	delta = read_delta(fcinfo, 3);
	dp_ledger_check_delta(&price.standing, NameStr(price.dataset), delta);
	dp_procedure_read_value(fcinfo, 0, "value", &input);
	rule = read_rule(fcinfo, 5, input.n, price.epsilon_fixed);
	lattice = dp_procedure_lattice(&price, &input, input.n,
								   dp_bridge_number(fcinfo, 6));
	sensitivity = gaussian_sensitivity(&price, input.n, &lattice, &parts);
	variance = find_variance(rule, sensitivity, price.epsilon_fixed, delta);
	law.gaussian = true;
	make_normal(&variance, parts, &law.normal);
	dp_bridge_check_status(dp_acct_rho_from_gaussian(sensitivity, &variance,
													 &rho),
						   "compute a charge");
	dp_acct_charge_gaussian(dp_ledger_charge_filter(&price.standing),
							price.epsilon_fixed, delta, rho, &charge);
	dp_procedure_charge(&price, &charge, input.n,
						psprintf("discrete Gaussian, %s", rule_names[rule]));
	return release(&input, &lattice, &law);
}
