/*
 * declare_number.c
 *	  Bounds and granule of a column of numbers: exact checks.
 *
 * Values become whole multiples of the granule when they are summed
 * (doc/theory.md, mechanisms 0), so both bounds must stay within 2^63
 * granules.  All arithmetic is numeric and exact: only sums, products by
 * powers of two and comparisons.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

#include "../bridge/dp_numeric.h"
#include "declare_internal.h"

/* Granules lie between 2^-GRANULE_EXPONENT and 2^GRANULE_EXPONENT. */
#define GRANULE_EXPONENT 100

/* Bounds lie within 2^63 granules of zero. */
#define GRID_BITS 63

/* Without a declared granule, the range has at least this many granules. */
#define DEFAULT_GRANULE_BITS 20

/*
 * The exponent of the largest power of two that is not above x > 0, within
 * -limit .. limit; false when it lies outside.
 */
static bool
floor_exponent(Numeric x, int limit, int *exponent)
{
	return dp_bridge_floor_log2(x, exponent) && abs(*exponent) <= limit;
}

/* Exponent of a granule; 22023 unless it is an allowed power of two. */
static int
granule_exponent(Numeric granule)
{
	int			exponent = 0;

	if (numeric_is_nan(granule) || numeric_is_inf(granule) ||
		dp_numeric_compare(granule, int64_to_numeric(0)) <= 0 ||
		!floor_exponent(granule, GRANULE_EXPONENT, &exponent) ||
		dp_numeric_compare(granule, dp_bridge_power_of_two(exponent)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("granule %s is not a power of two",
						dp_numeric_text(granule)),
				 errdetail("It must be 2^j for a whole j between %d and %d.",
						   -GRANULE_EXPONENT, GRANULE_EXPONENT),
				 errhint("For example 1, 8, 0.5 or 0.0009765625.")));
	return exponent;
}

static bool
is_whole(Numeric x)
{
	Numeric		whole = DatumGetNumeric(DirectFunctionCall2(numeric_trunc,
															NumericGetDatum(x),
															Int32GetDatum(0)));

	return dp_numeric_compare(whole, x) == 0;
}

static void
check_integer_bound(Oid type, Numeric bound)
{
	int			bits = type == INT2OID ? 15 : type == INT4OID ? 31 : 63;
	Numeric		limit = dp_bridge_power_of_two(bits);
	Numeric		zero = int64_to_numeric(0);
	Numeric		size = dp_numeric_call1(numeric_abs, bound);
	int			beyond = dp_numeric_compare(size, limit);

	if (!is_whole(bound))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bound %s of a column of integers must be an integer",
						dp_numeric_text(bound)),
				 errhint("Round it outwards.")));
	if (beyond > 0 ||
		(beyond == 0 && dp_numeric_compare(bound, zero) > 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bound %s is outside the range of type %s",
						dp_numeric_text(bound),
						format_type_be(type)),
				 errhint("No value of the column can reach it; give a bound "
						 "that the type can hold.")));
}

/*
 * dp_protect_declare_check_grid
 *	  lower < upper, both finite, can be bounds of a column of the given type
 *	  with this granule (NULL: the default one: 1 for integers, else the
 *	  largest power of two not above (upper - lower) / 2^20).
 *
 * Errors: 22023.
 */
void
dp_protect_declare_check_grid(Oid type, Numeric lower, Numeric upper,
							  Numeric granule)
{
	bool		integer = type == INT2OID || type == INT4OID ||
		type == INT8OID;
	int			exponent = 0;
	Numeric		limit;
	Numeric		used;

	if (integer)
	{
		check_integer_bound(type, lower);
		check_integer_bound(type, upper);
	}
	if (granule != NULL)
	{
		exponent = granule_exponent(granule);
		if (integer && exponent < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("granule %s of a column of integers must be an "
							"integer", dp_numeric_text(granule)),
					 errhint("Use 1, 2, 4 and so on, or leave it out.")));
	}
	else if (!integer)
	{
		Numeric		width = dp_numeric_call2(numeric_sub, upper, lower);

		if (!floor_exponent(width, GRANULE_EXPONENT - DEFAULT_GRANULE_BITS,
							&exponent))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("bounds %s and %s are too far apart or too close",
							dp_numeric_text(lower),
							dp_numeric_text(upper)),
					 errhint("Give the range that values of the column are "
							 "known to have.")));
		exponent -= DEFAULT_GRANULE_BITS;
	}
	used = dp_bridge_power_of_two(exponent);
	limit = dp_bridge_power_of_two(exponent + GRID_BITS);
	if (dp_numeric_compare(dp_numeric_call1(numeric_abs, lower), limit) > 0 ||
		dp_numeric_compare(upper, limit) >= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bounds %s and %s are too large for their granule",
						dp_numeric_text(lower),
						dp_numeric_text(upper)),
				 errdetail("They must lie within 2^%d granules of zero; the "
						   "granule is %s.", GRID_BITS,
						   dp_numeric_text(used)),
				 errhint("Declare a coarser granule or narrower bounds.")));
}
