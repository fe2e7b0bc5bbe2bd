/*
 * accounting.c
 *	  Arguments and results of the accounting's SQL functions.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "../bridge/dp_numeric.h"
#include "accounting.h"

/* The longest fraction that numeric can hold. */
#define NUMERIC_DIGITS_MOST 16383

/*
 * dp_account_number
 *	  Argument i, numeric or double precision, which must not be NULL.
 *
 * Errors: as dp_bridge_check_number.
 */
dp_fixed
dp_account_number(FunctionCallInfo fcinfo, int i, const char *name,
				  dp_number_range range, dp_rounding rounding)
{
	return dp_bridge_check_number(dp_bridge_number(fcinfo, i), name, range,
								  rounding, NULL);
}

/*
 * dp_account_failure
 *	  The confidence given as argument i, as the probability of failure.
 *
 * Errors: as dp_bridge_check_number.
 */
dp_fixed
dp_account_failure(FunctionCallInfo fcinfo, int i)
{
	return DP_FIXED_ONE - dp_account_number(fcinfo, i, "confidence",
											DP_RANGE_INNER,
											DP_ROUND_UP);
}

/*
 * dp_account_count
 *	  Argument i, a bigint from least to most.
 *
 * Errors: 22023.
 */
int64
dp_account_count(FunctionCallInfo fcinfo, int i, const char *name,
				 int64 least, int64 most)
{
	int64		n = PG_GETARG_INT64(i);

	if (n < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least " INT64_FORMAT, name, least),
				 errdetail("It is " INT64_FORMAT ".", n),
				 errhint("Give a whole number of at least " INT64_FORMAT ".",
						 least)));
	if (n > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at most " INT64_FORMAT, name, most),
				 errdetail("It is " INT64_FORMAT ", and the computation would "
						   "take too long.", n),
				 errhint("Use dp_compose_advanced or the conversions of "
						 "zCDP instead.")));
	return n;
}

/*
 * dp_account_done
 *	  Raise unless status is DP_OK.  Arguments that are each in their domain
 *	  but have no result together are 22023 with `detail` and `hint`; `what`
 *	  completes "could not ...".
 */
void
dp_account_done(dp_status status, const char *what, const char *detail,
				const char *hint)
{
	if (status == DP_E_RANGE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not %s", what),
				 errdetail("%s", detail),
				 errhint("%s", hint)));
	if (status == DP_E_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("could not %s: the result is too large", what),
				 errdetail("Results must be below 3.4 * 10^14."),
				 errhint("Give smaller numbers.")));
	dp_bridge_check_status(status, what);
}

/*
 * dp_account_decimal
 *	  A decimal as numeric, without trailing zeros; exact, but rounded up to
 *	  the 16383 digits after the point that numeric can hold.
 */
Numeric
dp_account_decimal(const dp_decimal *x)
{
	uint64		digits = x->digits;
	int32		exponent = x->exponent;
	Numeric		number;

	for (; exponent < -NUMERIC_DIGITS_MOST; exponent++)
		digits = digits / 10 + (digits % 10 != 0);
	number = dp_bridge_text_to_numeric(psprintf(UINT64_FORMAT "e%d", digits,
												digits == 0 ? 0 : exponent));
	return dp_numeric_call1(numeric_trim_scale, number);
}

/* dp_account_pair: the row (epsilon, delta). */
Datum
dp_account_pair(FunctionCallInfo fcinfo, dp_fixed epsilon, dp_fixed delta)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};

	values[0] = NumericGetDatum(dp_bridge_fixed_to_numeric(epsilon));
	values[1] = NumericGetDatum(dp_bridge_fixed_to_numeric(delta));
	return dp_bridge_make_row(fcinfo, values, nulls);
}
