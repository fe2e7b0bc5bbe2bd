/*
 * procedure.c
 *	  Building blocks for values that an owner computed: the charge, noise,
 *	  selection and thresholds.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/noise/dp_round.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"

/* The price of a call and the standing of the role that is asked to pay it. */
typedef struct dp_procedure_price
{
	NameData	dataset;
	dp_rational epsilon;
	dp_fixed	epsilon_fixed;	/* the same */
	Numeric		sensitivity;	/* positive, of moderate size */
	dp_ledger_standing standing;
} dp_procedure_price;

/* Places of the parameters among the arguments of a function. */
typedef struct dp_procedure_places
{
	int			sensitivity;
	int			epsilon;
	int			dataset;
} dp_procedure_places;

/* A value or an array of values, unread. */
typedef struct dp_procedure_input
{
	Oid			type;			/* of one value */
	ArrayType  *array;			/* NULL: one value */
	int			n;
	Datum	   *values;
	bool	   *nulls;
} dp_procedure_input;

/* The multiples of 2^exponent, and how a type's values lie among them. */
typedef struct dp_lattice
{
	Oid			type;
	bool		exact;			/* every value of the type lies on it */
	dp_binary_grid grid;
} dp_lattice;

/* ----------------
 *		The public side of a building block: its parameters, its price, its
 *		charge.
 * ----------------
 */

/* Sensitivities between 2^-960 and 2^960: any granule is a normal double. */
#define SENSITIVITY_LOG2 960

static void
check_sensitivity(Numeric x)
{
	int			size;

	if (dp_base_floor_log2(x, &size) && abs(size) <= SENSITIVITY_LOG2)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("sensitivity must be a positive number"),
			 errdetail("It must lie between 1e-289 and 1e289."),
			 errhint("Give the most by which one person can change the "
					 "value.")));
}

/*
 * procedure_open
 *	  Read the parameters that every building block has; nothing is charged.
 *
 * Errors: 22004 NULL; 22023 bad parameter; 55000 not preloaded, or a function
 * that is not known to call one; 25000 in a parallel operation; 0A000 in a
 * serializable transaction or security-restricted operation; 42704 no such
 * dataset; 42501 the asking role has no budget.
 */
static void
procedure_open(FunctionCallInfo fcinfo, dp_procedure_places places,
			   dp_procedure_price *out)
{
	dp_base_require_preload();
	dp_base_forbid_serializable();
	dp_base_forbid_parallel();
	dp_ledger_require_shield();
	MemSet(out, 0, sizeof(*out));
	dp_base_require_argument(fcinfo, places.dataset, "dataset",
							 "Name the dataset that the value was computed "
							 "from.");
	dp_base_require_argument(fcinfo, places.epsilon, "epsilon",
							 "Give the price of the call.");
	dp_base_require_argument(fcinfo, places.sensitivity, "sensitivity",
							 "Give the most by which one person can change "
							 "the value.");
	out->dataset = *PG_GETARG_NAME(places.dataset);
	out->epsilon = dp_base_epsilon(fcinfo, places.epsilon,
								   &out->epsilon_fixed);
	out->sensitivity = dp_base_number(fcinfo, places.sensitivity);
	check_sensitivity(out->sensitivity);
	dp_ledger_require_budget(NameStr(out->dataset), &out->standing);
	dp_ledger_check_price(&out->standing, NameStr(out->dataset),
						  out->epsilon_fixed);
}

/*
 * procedure_charge
 *	  Charge the asking role, durably; errors as dp_ledger_charge.
 */
static void
procedure_charge(const dp_procedure_price *price, const dp_charge *charge,
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

/* ----------------
 *		The public lattice on which values that an owner computed are read and
 *		noisy ones released.
 *
 * The granule g = 2^e comes from public numbers only.  For integer types it is
 * 1.  For others e is the largest with 2^e <= sensitivity, less 20, less the
 * least j with 2^j >= epsilon, less the least j with 2^j >= n: granules are
 * far below the noise, and roundings of n values are small even together.
 * A value x is read as floor(x/g + 1/2) granules, which turns a distance of d
 * into at most ceil(d/g) granules (doc/procedures.md has the proofs).
 * ----------------
 */

#define RESOLUTION 20			/* a granule is sensitivity / 2^20 or less */
/* 2^e and its multiples are doubles, the largest finite one among them */
#define MIN_EXPONENT (-1070)
#define MAX_EXPONENT 960
#define LIMIT ((dp_int128) 1 << DP_GRID_RANGE)
#define INT128_MAX ((dp_int128) (~(dp_uint128) 0 >> 1))

static bool
is_integer_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_number_type(Oid type)
{
	return is_integer_type(type) || type == NUMERICOID ||
		type == FLOAT4OID || type == FLOAT8OID;
}

static void
raise_type(const char *what, Oid type)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("%s cannot be of type %s", what, format_type_be(type)),
			 errhint("Cast to bigint, numeric or double precision, or to an "
					 "array of these.")));
}

/* Type of an argument; the call must come from a query. */
static Oid
argument_type(FunctionCallInfo fcinfo, int place)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, place);

	if (!OidIsValid(type))
		elog(ERROR, "could not determine the type of an argument");
	return type;
}

/*
 * procedure_read_array
 *	  An array argument, deconstructed; its elements are not read.
 *
 * Errors: 22004 NULL, 22023 no elements: how many there are is public, so
 * noise cannot hide it.
 */
static void
procedure_read_array(FunctionCallInfo fcinfo, int place, const char *what,
					 dp_procedure_input *out)
{
	int16		length;
	bool		by_value;
	char		align;

	dp_base_require_argument(fcinfo, place, psprintf("array of %s", what),
							 "The number of elements must not depend on "
							 "data; single elements may be NULL.");
	out->array = PG_GETARG_ARRAYTYPE_P(place);
	out->type = ARR_ELEMTYPE(out->array);
	get_typlenbyvalalign(out->type, &length, &by_value, &align);
	deconstruct_array(out->array, out->type, length, by_value, align,
					  &out->values, &out->nulls, &out->n);
	if (out->n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("array of %s has no elements", what),
				 errhint("The number of elements must not depend on data.")));
}

/*
 * procedure_read_value
 *	  The argument that noise is added to: a number or an array of numbers.
 *
 * Errors: 42804 another type; 22004 and 22023 as procedure_read_array.
 */
static void
procedure_read_value(FunctionCallInfo fcinfo, int place, const char *what,
					 dp_procedure_input *out)
{
	Oid			type = argument_type(fcinfo, place);
	Oid			element = get_element_type(type);

	MemSet(out, 0, sizeof(*out));
	if (OidIsValid(element))
	{
		if (!is_number_type(element))
			raise_type(what, type);
		procedure_read_array(fcinfo, place, what, out);
		return;
	}
	if (!is_number_type(type))
		raise_type(what, type);
	out->type = type;
	out->n = 1;
	out->values = palloc(sizeof(Datum));
	out->nulls = palloc(sizeof(bool));
	out->nulls[0] = PG_ARGISNULL(place);
	out->values[0] = out->nulls[0] ? (Datum) 0 : PG_GETARG_DATUM(place);
}

/* The least j >= 0 with 2^j >= x. */
static int
ceil_log2(const dp_rational *x)
{
	int			j = 0;

	while (j < 40 && (x->den << j) < x->num)
		j++;
	return j;
}

static int
given_exponent(Numeric granule, bool integers)
{
	int			exponent;

	if (!dp_base_floor_log2(granule, &exponent) ||
		dp_numeric_compare(granule, dp_base_power_of_two(exponent)) != 0 ||
		exponent < (integers ? 0 : MIN_EXPONENT) || exponent > MAX_EXPONENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("granule must be a power of two"),
				 errdetail("It must be 2^j for a whole j between %d and %d.",
						   integers ? 0 : MIN_EXPONENT, MAX_EXPONENT),
				 errhint("Leave it out to have one chosen.")));
	return exponent;
}

/*
 * procedure_lattice
 *	  The lattice for values of which `together` may move at once; granule
 *	  NULL: chosen as the head of this file says.
 *
 * Errors: 22023 granule not a power of two, or too small.
 */
static dp_lattice
procedure_lattice(const dp_procedure_price *price,
				  const dp_procedure_input *input, int together,
				  Numeric granule)
{
	dp_rational count = {(dp_uint128) together, 1};
	bool		integers = is_integer_type(input->type);
	dp_lattice	lattice;
	int			exponent = 0;

	if (!is_number_type(input->type))
		raise_type("value", input->type);
	if (granule != NULL)
		exponent = given_exponent(granule, integers);
	else if (!integers)
	{
		if (!dp_base_floor_log2(price->sensitivity, &exponent))
			elog(ERROR, "sensitivity is out of range");
		exponent -= RESOLUTION + ceil_log2(&price->epsilon) +
			ceil_log2(&count);
	}
	if (exponent < MIN_EXPONENT)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sensitivity is too small"),
				 errhint("Change the unit of the value.")));
	lattice.type = input->type;
	lattice.exact = integers && exponent == 0;
	lattice.grid = dp_base_make_grid(exponent);
	return lattice;
}

static dp_int128
clamp(dp_int128 x)
{
	return x > LIMIT ? LIMIT : x < -LIMIT ? -LIMIT : x;
}

/*
 * procedure_granules
 *	  floor(x/g + 1/2), at most 2^100 in size; 0 for NULL and NaN, so that an
 *	  empty set is answered like any other.  Never fails.
 */
static dp_int128
procedure_granules(const dp_lattice *lattice, Datum value, bool isnull)
{
	const dp_binary_grid *grid = &lattice->grid;

	if (isnull)
		return 0;
	switch (lattice->type)
	{
		case INT2OID:
			return clamp(dp_round_integer(DatumGetInt16(value),
										  grid->exponent));
		case INT4OID:
			return clamp(dp_round_integer(DatumGetInt32(value),
										  grid->exponent));
		case INT8OID:
			return clamp(dp_round_integer(DatumGetInt64(value),
										  grid->exponent));
		case FLOAT4OID:
			return dp_base_grid_double(grid, DatumGetFloat4(value));
		case FLOAT8OID:
			return dp_base_grid_double(grid, DatumGetFloat8(value));
		case NUMERICOID:
			return dp_base_grid_numeric(grid, DatumGetNumeric(value));
		default:
			elog(ERROR, "unexpected type %u", lattice->type);
	}
	return 0;
}

/* procedure_add: value + noise, clamped to 128 bits. */
static dp_int128
procedure_add(dp_int128 value, dp_int128 noise)
{
	dp_int128	sum;

	if (__builtin_add_overflow(value, noise, &sum))
		return noise > 0 ? INT128_MAX : -INT128_MAX;
	return sum;
}

/* granules * 2^exponent, clamped to the bounds of an integer type. */
static int64
saturate(dp_int128 granules, int exponent, int64 lower, int64 upper)
{
	dp_int128	bound = (dp_int128) 1 << 64;

	if (exponent >= 64)
		exponent = 64;
	if (granules > bound)
		granules = bound;
	if (granules < -bound)
		granules = -bound;

	/* below 2^64 in size, so at most 2^(64 + 62) after the shift */
	if (exponent > 62)
	{
		granules *= (dp_int128) 1 << 62;
		if (granules > bound)
			granules = bound;
		if (granules < -bound)
			granules = -bound;
		exponent -= 62;
	}
	granules *= (dp_int128) 1 << exponent;
	return granules > upper ? upper : granules < lower ? lower :
		(int64) granules;
}

/* The nearest double, which is a multiple of the granule as well. */
static double
finite_double(dp_int128 granules, int exponent, double largest)
{
	double		x = ldexp((double) granules, exponent);

	return x > largest ? largest : x < -largest ? -largest : x;
}

/*
 * procedure_value
 *	  A released number of granules as a value of the lattice's type: numeric
 *	  is exact; integers and floats end at their largest finite value.
 */
static Datum
procedure_value(const dp_lattice *lattice, dp_int128 granules)
{
	int			exponent = lattice->grid.exponent;

	switch (lattice->type)
	{
		case INT2OID:
			return Int16GetDatum((int16) saturate(granules, exponent,
												  PG_INT16_MIN,
												  PG_INT16_MAX));
		case INT4OID:
			return Int32GetDatum((int32) saturate(granules, exponent,
												  PG_INT32_MIN,
												  PG_INT32_MAX));
		case INT8OID:
			return Int64GetDatum(saturate(granules, exponent, PG_INT64_MIN,
										  PG_INT64_MAX));
		case FLOAT4OID:
			return Float4GetDatum((float4) finite_double(granules, exponent,
														 FLT_MAX));
		case FLOAT8OID:
			return Float8GetDatum(finite_double(granules, exponent,
												DBL_MAX));
		case NUMERICOID:
			return NumericGetDatum(
				dp_numeric_call2(numeric_mul,
								 dp_base_int128_to_numeric(granules),
								 lattice->grid.granule));
		default:
			elog(ERROR, "unexpected type %u", lattice->type);
	}
	return (Datum) 0;
}

/*
 * procedure_answer
 *	  Released values in the form of the input.
 */
static Datum
procedure_answer(const dp_procedure_input *input, Datum *values)
{
	int16		length;
	bool		by_value;
	char		align;

	if (input->array == NULL)
		return values[0];
	get_typlenbyvalalign(input->type, &length, &by_value, &align);
	return PointerGetDatum(construct_md_array(values, NULL,
											  ARR_NDIM(input->array),
											  ARR_DIMS(input->array),
											  ARR_LBOUND(input->array),
											  input->type, length, by_value,
											  align));
}

/* ----------------
 *		dp_laplace and dp_gaussian: a value that the data owner computed, with
 *		noise.
 *
 * How far values move on their lattice (doc/procedures.md): one value, or
 * values that lie on it, by the sensitivity divided by the granule, rounded
 * up; n values that are rounded to it, by n - 1 granules more in L1 and by
 * the root of n, rounded up, more in L2.
 * ----------------
 */

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
		dp_int128	exact = procedure_granules(lattice, input->values[i],
											   input->nulls[i]);
		dp_status	status;

		CHECK_FOR_INTERRUPTS();
		if (law->gaussian)
			status = dp_noise_discrete_gaussian(dp_base_source(),
												&law->normal, &noise);
		else
			status = dp_noise_discrete_laplace(dp_base_source(),
											   &law->scale, &noise);
		dp_base_check_status(status, "draw noise");
		values[i] = procedure_value(lattice,
									procedure_add(exact, noise));
	}
	return procedure_answer(input, values);
}

/*
 * dp_procedure_sql_laplace
 *	  dp_laplace(value, sensitivity, epsilon, dataset, granule): each number
 *	  plus discrete Laplace noise of scale sensitivity / epsilon; sensitivity
 *	  of an array is that in L1.
 *
 * Errors: 22004 NULL, 22023 bad parameter, 42804 type, 22003 scale, and those
 * of procedure_open and dp_ledger_charge.
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

	procedure_open(fcinfo, places, &price);
	procedure_read_value(fcinfo, 0, "value", &input);
	lattice = procedure_lattice(&price, &input, input.n,
								dp_base_number(fcinfo, 4));
	sensitivity = dp_base_grid_distance(&lattice.grid, price.sensitivity) +
		(lattice.exact ? 0 : (dp_uint128) (input.n - 1));
	law.gaussian = false;
	dp_base_check_status(dp_noise_scale_make(sensitivity, &price.epsilon,
											 &law.scale),
						 "compute a noise scale");
	dp_base_check_scale(&law.scale);
	charge.epsilon = price.epsilon_fixed;
	dp_base_check_status(dp_accounting_rho_from_laplace(sensitivity,
														&price.epsilon,
														&charge.rho),
						 "compute a charge");
	procedure_charge(&price, &charge, input.n, "discrete Laplace");
	return release(&input, &lattice, &law);
}

static dp_fixed
procedure_read_delta(FunctionCallInfo fcinfo, int place)
{
	static const char *const hint =
	"Use a number far below one over the number of people.";

	dp_base_require_argument(fcinfo, place, "delta", hint);
	return dp_base_check_number(dp_base_number(fcinfo, place), "delta",
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

	(void) dp_base_floor_log2(price->sensitivity, &size);
	*parts = lattice->exact && n > 1 && size < 60 - SUBGRANULE ? SUBGRANULE :
		0;
	grid = dp_base_make_grid(lattice->grid.exponent - *parts);
	sensitivity = dp_base_grid_distance(&grid, price->sensitivity);
	if (!lattice->exact && n > 1)
		sensitivity += ceil_root(n);
	if (sensitivity >= MAX_SENSITIVITY)
		dp_base_check_status(DP_E_OVERFLOW, "compute a variance");
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
			status = dp_base_gaussian_variance(sensitivity, epsilon, delta,
											   &variance);
			break;
		case RULE_ZCDP:
			status = dp_accounting_variance_zcdp(sensitivity, epsilon,
												 delta, &variance);
			break;
		case RULE_CLASSICAL:
			status = dp_accounting_variance_classical(sensitivity,
													  epsilon, delta,
													  &variance);
			break;
	}
	if (status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no variance is proved for this epsilon and delta"),
				 errhint("Use a larger epsilon or delta.")));
	dp_base_check_status(status, "compute a variance");
	return variance;
}

/* The law of variance / 4^parts, in granules. */
static void
make_normal(const dp_rational *variance, int parts, dp_gaussian *out)
{
	dp_rational divisor = {1, (dp_uint128) 1 << (2 * parts)};
	dp_rational granules;

	dp_base_check_status(dp_numbers_rational_multiply(variance, &divisor,
													  &granules),
						 "compute a variance");
	if (granules.num / granules.den >> 120 != 0)
		dp_base_check_status(DP_E_OVERFLOW, "compute a variance");
	dp_base_check_status(dp_noise_gaussian_make(&granules, out),
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

	procedure_open(fcinfo, places, &price);
	delta = procedure_read_delta(fcinfo, 3);
	dp_ledger_check_delta(&price.standing, NameStr(price.dataset), delta);
	procedure_read_value(fcinfo, 0, "value", &input);
	rule = read_rule(fcinfo, 5, input.n, price.epsilon_fixed);
	lattice = procedure_lattice(&price, &input, input.n,
								dp_base_number(fcinfo, 6));
	sensitivity = gaussian_sensitivity(&price, input.n, &lattice, &parts);
	variance = find_variance(rule, sensitivity, price.epsilon_fixed, delta);
	law.gaussian = true;
	make_normal(&variance, parts, &law.normal);
	dp_base_check_status(dp_accounting_rho_from_gaussian(sensitivity,
														 &variance, &rho),
						 "compute a charge");
	dp_accounting_charge_gaussian(dp_ledger_charge_filter(&price.standing),
								  price.epsilon_fixed, delta, rho, &charge);
	procedure_charge(&price, &charge, input.n,
					 psprintf("discrete Gaussian, %s", rule_names[rule]));
	return release(&input, &lattice, &law);
}

/* ----------------
 *		dp_exponential and dp_noisy_max: one of the candidates, by utilities
 *		that the data owner computed.
 *
 * Utilities are read on a lattice like values; each moves by at most the
 * sensitivity divided by the granule, rounded up, and reading keeps their
 * order, so utilities that all move in one direction still do.
 * ----------------
 */

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

	dp_base_require_argument(fcinfo, place, "noise",
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
	dp_base_require_argument(fcinfo, place, "monotone",
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
prepare_selection(selection *s, const dp_procedure_price *price,
				  dp_uint128 sensitivity, bool monotone)
{
	dp_status	status;

	if (sensitivity >> 120 != 0)
		dp_base_check_status(DP_E_OVERFLOW, "compute a rate");
	dp_base_check_status(dp_noise_selection_rate(&price->epsilon,
												 sensitivity, monotone,
												 &s->rate),
						 "compute a rate");
	dp_base_check_status(dp_noise_scale_make(monotone ? sensitivity :
											 2 * sensitivity,
											 &price->epsilon, &s->scale),
						 "compute a noise scale");
	dp_base_check_scale(&s->scale);
	s->charge.epsilon = price->epsilon_fixed;
	s->charge.delta = 0;
	if (s->kind == CHOICE_GUMBEL)
		status = dp_accounting_rho_from_exponential(&price->epsilon,
													&s->charge.rho);
	else
		status = dp_accounting_rho_from_pure(&price->epsilon, &s->charge.rho);
	dp_base_check_status(status, "compute a charge");
}

/* The index that the mechanism draws; called after the charge. */
static size_t
draw(const selection *s, const dp_int128 *scores, size_t n, size_t *order)
{
	dp_source  *source = dp_base_source();
	size_t		index = 0;
	dp_status	status = DP_E_RANGE;

	switch (s->kind)
	{
		case CHOICE_LAPLACE:
			status = dp_noise_noisy_max(source, scores, n, &s->scale,
										DP_NOISE_LAPLACE, &index);
			break;
		case CHOICE_ONE_SIDED:
			status = dp_noise_noisy_max(source, scores, n, &s->scale,
										DP_NOISE_GEOMETRIC, &index);
			break;
		case CHOICE_GUMBEL:
			status = dp_noise_exponential(source, scores, n, &s->rate, &index);
			break;
		case CHOICE_PERMUTE_AND_FLIP:
			status = dp_noise_permute_and_flip(source, scores, n, &s->rate,
											   order, &index);
			break;
	}
	dp_base_check_status(status, "select a candidate");
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

	procedure_open(fcinfo, places, &price);
	if (monotone && price.standing.replace_one)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("utilities cannot be monotone"),
				 errdetail("Neighbours of dataset \"%s\" differ by replacing "
						   "one unit, which moves some utilities up and "
						   "others down.", NameStr(price.dataset)),
				 errhint("Leave monotone out.")));
	procedure_read_array(fcinfo, 0, "candidates", &candidates);
	procedure_read_array(fcinfo, 1, "utilities", &utilities);
	if (candidates.n != utilities.n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("candidates and utilities differ in number"),
				 errhint("Give one utility for each candidate.")));
	lattice = procedure_lattice(&price, &utilities, 1, NULL);
	s.kind = kind;
	prepare_selection(&s, &price,
					  dp_base_grid_distance(&lattice.grid,
											price.sensitivity),
					  monotone);
	scores = palloc(sizeof(dp_int128) * utilities.n);
	order = palloc(sizeof(size_t) * utilities.n);

	procedure_charge(&price, &s.charge, 1, choice_texts[kind]);

	for (i = 0; i < utilities.n; i++)
		scores[i] = procedure_granules(&lattice, utilities.values[i],
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
 * of procedure_open and dp_ledger_charge.
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

/* ----------------
 *		dp_above_threshold: the first of the values that the data owner
 *		computed that is at or above a threshold.
 *
 * Values are read on a lattice like those of dp_noisy_max: each moves by at
 * most the sensitivity divided by the granule, rounded up, and reading keeps
 * their order, so values that all move in one direction still do.  The
 * threshold is public; where values are integers it is the next integer.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_procedure_sql_threshold);


static bool
monotone_values(FunctionCallInfo fcinfo, int place,
				const dp_procedure_price *price)
{
	dp_base_require_argument(fcinfo, place, "monotone",
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
procedure_read_threshold(FunctionCallInfo fcinfo, int place,
						 const dp_lattice *lattice, int64 offset)
{
	Numeric		threshold = dp_base_number(fcinfo, place);

	dp_base_require_argument(fcinfo, place, "threshold",
							 "Give one in the unit of the values.");
	if (numeric_is_nan(threshold))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold must be a number"),
				 errhint("Give one in the unit of the values.")));
	if (lattice->exact)
		threshold = dp_numeric_call1(numeric_ceil, threshold);
	return dp_base_grid_numeric(&lattice->grid, threshold) + offset;
}

/*
 * Scales, offset and charge; every number is public.  With a cutoff of 1 and
 * no delta, methods best, geometric and rounds have the same noise and charge.
 */
static void
prepare_threshold(const dp_procedure_price *price, dp_uint128 sensitivity,
				  int n,
				  bool monotone, dp_sparse_method method, dp_sparse_plan *plan,
				  dp_threshold_law *law)
{
	dp_sparse_request request;

	if (sensitivity >= MAX_SENSITIVITY)
		dp_base_check_status(DP_E_OVERFLOW, "compute a noise scale");
	MemSet(&request, 0, sizeof(request));
	request.method = method;
	request.sensitivity = (uint64) sensitivity;
	request.monotone = monotone;
	request.questions = n;
	request.cutoff = 1;
	request.epsilon = price->epsilon_fixed;
	request.beta = DP_FIXED_ONE / 20;
	dp_base_check_status(dp_accounting_sparse_plan(&request, plan),
						 "compute a noise scale");
	dp_base_check_status(dp_accounting_sparse_law(plan, law),
						 "compute a noise scale");
	dp_base_check_scale(&law->threshold);
	dp_base_check_scale(&law->query);
}

/* The place (from 1) of the first above, 0: none.  Called after the charge. */
static int
first_above(const dp_procedure_input *input, const dp_lattice *lattice,
			const dp_threshold_law *law, dp_int128 threshold)
{
	dp_source  *source = dp_base_source();
	dp_int128	armed;
	int			i;

	dp_base_check_status(dp_noise_threshold_arm(source, law, threshold,
												&armed),
						 "arm a threshold");
	for (i = 0; i < input->n; i++)
	{
		dp_int128	value = procedure_granules(lattice, input->values[i],
											   input->nulls[i]);
		bool		above;

		dp_base_check_status(dp_noise_threshold_test(source, law, armed,
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
 * of procedure_open and dp_ledger_charge.
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

	procedure_open(fcinfo, places, &price);
	monotone = monotone_values(fcinfo, 5, &price);
	procedure_read_array(fcinfo, 0, "values", &input);
	lattice = procedure_lattice(&price, &input, 1, NULL);
	prepare_threshold(&price,
					  dp_base_grid_distance(&lattice.grid,
											price.sensitivity),
					  input.n, monotone, dp_base_sparse_method(fcinfo, 6),
					  &plan, &law);
	threshold = procedure_read_threshold(fcinfo, 1, &lattice, plan.offset);

	procedure_charge(&price, &plan.charge, 1,
					 plan.two_sided ? "above threshold, discrete Laplace" :
					 "above threshold, geometric");
	place = first_above(&input, &lattice, &law, threshold);
	if (place == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(place);
}
