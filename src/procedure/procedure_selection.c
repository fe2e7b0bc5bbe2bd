/*
 * procedure_selection.c
 *	  dp_exponential and dp_noisy_max: one of the candidates, by utilities that
 *	  the data owner computed.
 *
 * Utilities are read on a lattice like values; each moves by at most the
 * sensitivity divided by the granule, rounded up, and reading keeps their
 * order, so utilities that all move in one direction still do.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "procedure.h"

PG_FUNCTION_INFO_V1(dp_procedure_sql_exponential);
PG_FUNCTION_INFO_V1(dp_procedure_sql_noisy_max);

typedef enum choice
{
	CHOICE_LAPLACE,				/* the largest with two-sided noise */
	CHOICE_ONE_SIDED,			/* the largest with one-sided noise */
	CHOICE_GUMBEL,				/* the exponential mechanism */
	CHOICE_PERMUTE_AND_FLIP
} choice;

/* Their names in dp_noisy_max, and in the ledger. */
static const char *const choice_names[] = {
	"laplace", "exponential", "gumbel", "permute_and_flip"
};
static const char *const choice_texts[] = {
	"noisy max, discrete Laplace", "noisy max, geometric",
	"exponential mechanism", "permute-and-flip"
};

/* A prepared selection; every number is public. */
typedef struct selection
{
	choice		kind;
	dp_rational rate;
	dp_scale	scale;			/* of noise, 1/rate */
	dp_charge	charge;
} selection;

static choice
read_choice(FunctionCallInfo fcinfo, int place)
{
	char	   *name;
	int			i;

	dp_bridge_require_argument(fcinfo, place, "noise",
							   "Leave it out for laplace.");
	name = text_to_cstring(PG_GETARG_TEXT_PP(place));
	for (i = 0; i < lengthof(choice_names); i++)
		if (strcmp(name, choice_names[i]) == 0)
			return (choice) i;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown noise \"%s\"", name),
			 errhint("Noise is laplace, exponential, gumbel or "
					 "permute_and_flip.")));
	return CHOICE_LAPLACE;
}

static bool
read_monotone(FunctionCallInfo fcinfo, int place)
{
	dp_bridge_require_argument(fcinfo, place, "monotone",
							   "Give true only if one person more moves all "
							   "utilities up, or all of them down.");
	return PG_GETARG_BOOL(place);
}

/*
 * Rate, scale and charge.  The exponential mechanism has a loss within an
 * interval of length epsilon at both rates (doc/theory.md T16); the others
 * are charged what epsilon costs.
 */
static void
prepare(selection *s, const dp_procedure_price *price,
		dp_uint128 sensitivity, bool monotone)
{
	dp_status	status;

	if (sensitivity >> 120 != 0)
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a rate");
	dp_bridge_check_status(dp_mech_selection_rate(&price->epsilon,
												  sensitivity, monotone,
												  &s->rate),
						   "compute a rate");
	dp_bridge_check_status(dp_mech_scale_make(monotone ? sensitivity :
											  2 * sensitivity,
											  &price->epsilon, &s->scale),
						   "compute a noise scale");
	dp_bridge_check_scale(&s->scale);
	s->charge.epsilon = price->epsilon_fixed;
	s->charge.delta = 0;
	if (s->kind == CHOICE_GUMBEL)
		status = dp_acct_rho_from_exponential(&price->epsilon,
											  &s->charge.rho);
	else
		status = dp_acct_rho_from_pure(&price->epsilon, &s->charge.rho);
	dp_bridge_check_status(status, "compute a charge");
}

/* The index that the mechanism draws; called after the charge. */
static size_t
draw(const selection *s, const dp_int128 *scores, size_t n, size_t *order)
{
	dp_source  *source = dp_bridge_source();
	size_t		index = 0;
	dp_status	status = DP_E_RANGE;

	switch (s->kind)
	{
		case CHOICE_LAPLACE:
			status = dp_mech_noisy_max(source, scores, n, &s->scale,
									   DP_NOISE_LAPLACE, &index);
			break;
		case CHOICE_ONE_SIDED:
			status = dp_mech_noisy_max(source, scores, n, &s->scale,
									   DP_NOISE_GEOMETRIC, &index);
			break;
		case CHOICE_GUMBEL:
			status = dp_mech_exponential(source, scores, n, &s->rate, &index);
			break;
		case CHOICE_PERMUTE_AND_FLIP:
			status = dp_mech_permute_and_flip(source, scores, n, &s->rate,
											  order, &index);
			break;
	}
	dp_bridge_check_status(status, "select a candidate");
	return index;
}

/*
 * Shared body: arguments candidates, utilities, sensitivity, epsilon, dataset
 * come first.
 */
static Datum
choose(FunctionCallInfo fcinfo, choice kind, bool monotone)
{
	const dp_procedure_places places = {2, 3, 4};
	dp_procedure_price price;
	dp_procedure_input candidates;
	dp_procedure_input utilities;
	dp_lattice	lattice;
	selection	s;
	dp_int128  *scores;
	size_t	   *order;
	size_t		index;
	int			i;

	dp_procedure_open(fcinfo, places, &price);
	if (monotone && price.standing.replace_one)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("utilities cannot be monotone"),
				 errdetail("Neighbours of dataset \"%s\" differ by replacing "
						   "one unit, which moves some utilities up and "
						   "others down.", NameStr(price.dataset)),
				 errhint("Leave monotone out.")));
	dp_procedure_read_array(fcinfo, 0, "candidates", &candidates);
	dp_procedure_read_array(fcinfo, 1, "utilities", &utilities);
	if (candidates.n != utilities.n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("candidates and utilities differ in number"),
				 errhint("Give one utility for each candidate.")));
	lattice = dp_procedure_lattice(&price, &utilities, 1, NULL);
	s.kind = kind;
	prepare(&s, &price,
			dp_bridge_grid_distance(&lattice.grid, price.sensitivity),
			monotone);
	scores = palloc(sizeof(dp_int128) * utilities.n);
	order = palloc(sizeof(size_t) * utilities.n);

	dp_procedure_charge(&price, &s.charge, 1, choice_texts[kind]);

	for (i = 0; i < utilities.n; i++)
		scores[i] = dp_procedure_granules(&lattice, utilities.values[i],
										  utilities.nulls[i]);
	index = draw(&s, scores, (size_t) utilities.n, order);
	if (candidates.nulls[index])
		PG_RETURN_NULL();
	return candidates.values[index];
}

/*
 * dp_procedure_sql_exponential
 *	  dp_exponential(candidates, utilities, sensitivity, epsilon, dataset,
 *	  monotone): a candidate drawn with probability proportional to
 *	  exp(epsilon utility / (2 sensitivity)).
 *
 * Errors: 22004 NULL, 22023 bad parameter, 42804 type, 22003 scale, and those
 * of dp_procedure_open and dp_ledger_charge.
 */
Datum
dp_procedure_sql_exponential(PG_FUNCTION_ARGS)
{
	return choose(fcinfo, CHOICE_GUMBEL, read_monotone(fcinfo, 5));
}

/*
 * dp_procedure_sql_noisy_max
 *	  dp_noisy_max(candidates, utilities, sensitivity, epsilon, dataset,
 *	  noise, monotone): the candidate whose utility is largest after noise.
 *
 * Errors: as dp_procedure_sql_exponential.
 */
Datum
dp_procedure_sql_noisy_max(PG_FUNCTION_ARGS)
{
	return choose(fcinfo, read_choice(fcinfo, 5), read_monotone(fcinfo, 6));
}
