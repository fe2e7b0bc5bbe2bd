/*
 * lattice.c
 *	  The public lattice on which values that an owner computed are read and
 *	  noisy ones released.
 *
 * The granule g = 2^e comes from public numbers only.  For integer types it is
 * 1.  For others e is the largest with 2^e <= sensitivity, less 20, less the
 * least j with 2^j >= epsilon, less the least j with 2^j >= n: granules are
 * far below the noise, and roundings of n values are small even together.
 * A value x is read as floor(x/g + 1/2) granules, which turns a distance of d
 * into at most ceil(d/g) granules (doc/procedures.md has the proofs).
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../bridge/dp_numeric.h"
#include "../mech/dp_round.h"
#include "procedure.h"

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
 * dp_procedure_read_array
 *	  An array argument, deconstructed; its elements are not read.
 *
 * Errors: 22004 NULL, 22023 no elements: how many there are is public, so
 * noise cannot hide it.
 */
void
dp_procedure_read_array(FunctionCallInfo fcinfo, int place, const char *what,
						dp_procedure_input *out)
{
	int16		length;
	bool		by_value;
	char		align;

	dp_bridge_require_argument(fcinfo, place, psprintf("array of %s", what),
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
 * dp_procedure_read_value
 *	  The argument that noise is added to: a number or an array of numbers.
 *
 * Errors: 42804 another type; 22004 and 22023 as dp_procedure_read_array.
 */
void
dp_procedure_read_value(FunctionCallInfo fcinfo, int place, const char *what,
						dp_procedure_input *out)
{
	Oid			type = argument_type(fcinfo, place);
	Oid			element = get_element_type(type);

	MemSet(out, 0, sizeof(*out));
	if (OidIsValid(element))
	{
		if (!is_number_type(element))
			raise_type(what, type);
		dp_procedure_read_array(fcinfo, place, what, out);
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

	if (!dp_bridge_floor_log2(granule, &exponent) ||
		dp_numeric_compare(granule, dp_bridge_power_of_two(exponent)) != 0 ||
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
 * dp_procedure_lattice
 *	  The lattice for values of which `together` may move at once; granule
 *	  NULL: chosen as the head of this file says.
 *
 * Errors: 22023 granule not a power of two, or too small.
 */
dp_lattice
dp_procedure_lattice(const dp_procedure_price *price,
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
		if (!dp_bridge_floor_log2(price->sensitivity, &exponent))
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
	lattice.grid = dp_bridge_make_grid(exponent);
	return lattice;
}

static dp_int128
clamp(dp_int128 x)
{
	return x > LIMIT ? LIMIT : x < -LIMIT ? -LIMIT : x;
}

/*
 * dp_procedure_granules
 *	  floor(x/g + 1/2), at most 2^100 in size; 0 for NULL and NaN, so that an
 *	  empty set is answered like any other.  Never fails.
 */
dp_int128
dp_procedure_granules(const dp_lattice *lattice, Datum value, bool isnull)
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
			return dp_bridge_grid_double(grid, DatumGetFloat4(value));
		case FLOAT8OID:
			return dp_bridge_grid_double(grid, DatumGetFloat8(value));
		case NUMERICOID:
			return dp_bridge_grid_numeric(grid, DatumGetNumeric(value));
		default:
			elog(ERROR, "unexpected type %u", lattice->type);
	}
	return 0;
}

/* dp_procedure_add: value + noise, clamped to 128 bits. */
dp_int128
dp_procedure_add(dp_int128 value, dp_int128 noise)
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
 * dp_procedure_value
 *	  A released number of granules as a value of the lattice's type: numeric
 *	  is exact; integers and floats end at their largest finite value.
 */
Datum
dp_procedure_value(const dp_lattice *lattice, dp_int128 granules)
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
								 dp_bridge_int128_to_numeric(granules),
								 lattice->grid.granule));
		default:
			elog(ERROR, "unexpected type %u", lattice->type);
	}
	return (Datum) 0;
}

/*
 * dp_procedure_answer
 *	  Released values in the form of the input.
 */
Datum
dp_procedure_answer(const dp_procedure_input *input, Datum *values)
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
