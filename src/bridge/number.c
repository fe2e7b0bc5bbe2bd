/*
 * number.c
 *	  Conversions between SQL numeric and the exact numbers of the pure parts.
 *
 * All conversions go through decimal text, which numeric produces exactly;
 * none goes through a double.
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "dp_bridge.h"

/* Whole digits a parameter may have: 10^12 is beyond any sensible epsilon. */
#define WHOLE_DIGITS 12

/*
 * A parsed non-negative decimal: value = digits / 10^scale.
 */
typedef struct dp_decimal
{
	dp_uint128	digits;
	int			scale;
	bool		inexact;		/* digits were cut after the 24th */
} dp_decimal;

/*
 * Read a numeric's text.  The whole part is limited to WHOLE_DIGITS digits,
 * the fraction is cut after DP_FIXED_DIGITS digits, so digits < 10^36 fits.
 */
static dp_number_fault
read_decimal(Numeric x, dp_decimal *out)
{
	char	   *text;
	char	   *p;
	int			whole = 0;
	bool		point = false;

	if (x == NULL)
		return DP_NUMBER_NULL;
	if (numeric_is_nan(x))
		return DP_NUMBER_NAN;
	if (numeric_is_inf(x))
		return DP_NUMBER_INFINITE;
	text = DatumGetCString(DirectFunctionCall1(numeric_out,
											   NumericGetDatum(x)));
	out->digits = 0;
	out->scale = 0;
	out->inexact = false;
	p = text;
	if (*p == '-')				/* numeric has no negative zero */
	{
		pfree(text);
		return DP_NUMBER_NEGATIVE;
	}
	for (; *p; p++)
	{
		if (*p == '.')
		{
			point = true;
			continue;
		}
		if (point && out->scale == DP_FIXED_DIGITS)
		{
			out->inexact = out->inexact || *p != '0';
			continue;
		}
		if (point)
			out->scale++;
		else if (out->digits != 0 || *p != '0')
			if (++whole > WHOLE_DIGITS)
			{
				pfree(text);
				return DP_NUMBER_TOO_LARGE;
			}
		out->digits = out->digits * 10 + (unsigned) (*p - '0');
	}
	pfree(text);
	return DP_NUMBER_OK;
}

static dp_uint128
power_of_ten(int n)
{
	dp_uint128	p = 1;

	while (n-- > 0)
		p *= 10;
	return p;
}

/*
 * dp_bridge_numeric_to_fixed
 *	  Put a numeric on the grid of 10^-24, rounding as told.
 *
 * NULL pointer, NaN, infinity, negative values and values of 10^12 or more
 * are faults; the output is untouched then.
 */
dp_number_fault
dp_bridge_numeric_to_fixed(Numeric x, dp_rounding rounding, dp_fixed *out)
{
	dp_decimal	d;
	dp_number_fault fault = read_decimal(x, &d);

	if (fault != DP_NUMBER_OK)
		return fault;
	*out = d.digits * power_of_ten(DP_FIXED_DIGITS - d.scale);
	if (d.inexact && rounding == DP_ROUND_UP)
		*out += 1;
	return DP_NUMBER_OK;
}

/*
 * dp_bridge_numeric_to_rational
 *	  The exact value; more than 24 digits after the point is a fault.
 */
dp_number_fault
dp_bridge_numeric_to_rational(Numeric x, dp_rational *out)
{
	dp_decimal	d;
	dp_number_fault fault = read_decimal(x, &d);

	if (fault != DP_NUMBER_OK)
		return fault;
	if (d.inexact)
		return DP_NUMBER_TOO_FINE;
	dp_bridge_check_status(dp_mech_rational_make(d.digits,
												 power_of_ten(d.scale), out),
						   "read a number");
	return DP_NUMBER_OK;
}

/* Decimal text of an unsigned 128-bit integer into buf[40]; answers start. */
static char *
uint128_text(dp_uint128 x, char *buf)
{
	char	   *p = buf + 39;

	*p = '\0';
	do
	{
		*--p = '0' + (int) (x % 10);
		x /= 10;
	} while (x != 0);
	return p;
}

/*
 * dp_bridge_fixed_to_cstring
 *	  Exact decimal text without trailing zeros; "Infinity" when infinite.
 */
char *
dp_bridge_fixed_to_cstring(dp_fixed x)
{
	char		whole[40];
	char		fraction[DP_FIXED_DIGITS + 1];
	dp_uint128	rest = x % DP_FIXED_ONE;
	int			i;

	if (x == DP_FIXED_INFINITE)
		return pstrdup("Infinity");
	for (i = DP_FIXED_DIGITS - 1; i >= 0; i--)
	{
		fraction[i] = '0' + (int) (rest % 10);
		rest /= 10;
	}
	i = DP_FIXED_DIGITS;
	while (i > 0 && fraction[i - 1] == '0')
		i--;
	fraction[i] = '\0';
	return psprintf("%s%s%s", uint128_text(x / DP_FIXED_ONE, whole),
					i > 0 ? "." : "", fraction);
}

/* dp_bridge_text_to_numeric: what numeric's input function reads. */
Numeric
dp_bridge_text_to_numeric(const char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in,
											   CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

/* dp_bridge_fixed_to_numeric: exact; infinite becomes 'Infinity'. */
Numeric
dp_bridge_fixed_to_numeric(dp_fixed x)
{
	return dp_bridge_text_to_numeric(dp_bridge_fixed_to_cstring(x));
}

/* dp_bridge_int128_to_numeric: exact. */
Numeric
dp_bridge_int128_to_numeric(dp_int128 x)
{
	char		buf[40];
	dp_uint128	magnitude = x < 0 ? -(dp_uint128) x : (dp_uint128) x;
	char	   *text = uint128_text(magnitude, buf);

	return dp_bridge_text_to_numeric(psprintf("%s%s", x < 0 ? "-" : "", text));
}

/*
 * dp_bridge_numeric_to_int128
 *	  False when x is NaN, infinite, not an integer or beyond 10^37.
 */
bool
dp_bridge_numeric_to_int128(Numeric x, dp_int128 *out)
{
	char	   *text;
	char	   *p;
	dp_int128	value = 0;
	int			digits = 0;
	bool		negative;

	if (numeric_is_nan(x) || numeric_is_inf(x))
		return false;
	text = DatumGetCString(DirectFunctionCall1(numeric_out,
											   NumericGetDatum(x)));
	p = text;
	negative = *p == '-';
	if (negative)
		p++;
	for (; *p && *p != '.'; p++)
	{
		if (value != 0 || *p != '0')
			if (++digits > 37)
				return false;
		value = value * 10 + (*p - '0');
	}
	if (*p == '.')
		for (p++; *p; p++)
			if (*p != '0')
				return false;
	pfree(text);
	*out = negative ? -value : value;
	return true;
}

/*
 * dp_bridge_float8_to_numeric
 *	  The number a person means who binds the double x: its shortest decimal,
 *	  whatever the session's settings.
 */
Numeric
dp_bridge_float8_to_numeric(double x)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(x, text);
	return dp_bridge_text_to_numeric(text);
}

/* dp_bridge_float4_to_numeric: the same for real. */
Numeric
dp_bridge_float4_to_numeric(float x)
{
	char		text[FLOAT_SHORTEST_DECIMAL_LEN];

	float_to_shortest_decimal_buf(x, text);
	return dp_bridge_text_to_numeric(text);
}

/* dp_bridge_number_fault_text: completes "It is ...". */
const char *
dp_bridge_number_fault_text(dp_number_fault fault)
{
	switch (fault)
	{
		case DP_NUMBER_OK:
			return "valid";
		case DP_NUMBER_NULL:
			return "NULL";
		case DP_NUMBER_NAN:
			return "not a number";
		case DP_NUMBER_INFINITE:
			return "infinite";
		case DP_NUMBER_NEGATIVE:
			return "negative";
		case DP_NUMBER_TOO_LARGE:
			return "not below 10^12";
		case DP_NUMBER_TOO_FINE:
			return "given with more than 24 digits after the point";
	}
	return "not valid";
}

static void
check_range(const dp_rational *x, const char *setting, const char *name,
			bool floor, const char *what)
{
	dp_rational limit;
	int			order;

	if (setting == NULL || setting[0] == '\0')
		return;
	if (dp_bridge_numeric_to_rational(dp_bridge_text_to_numeric(setting),
									  &limit) != DP_NUMBER_OK)
		elog(ERROR, "setting %s is not a number", name);
	order = dp_mech_rational_compare(x, &limit);
	if (floor ? order < 0 : order > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is %s what this server allows", what,
						floor ? "below" : "above"),
				 errdetail("Setting %s is %s.", name, setting),
				 errhint("Ask with a %s epsilon.",
						 floor ? "larger" : "smaller")));
}

/*
 * dp_bridge_check_epsilon
 *	  An epsilon given by a user as an exact positive rational, or 22023.
 */
dp_rational
dp_bridge_check_epsilon(Numeric x, bool isnull, const char *what)
{
	dp_rational epsilon;
	dp_number_fault fault;

	fault = dp_bridge_numeric_to_rational(isnull ? NULL : x, &epsilon);
	if (fault != DP_NUMBER_OK || epsilon.num == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a positive number", what),
				 errdetail("It is %s.", fault == DP_NUMBER_OK ? "zero" :
						   dp_bridge_number_fault_text(fault)),
				 errhint("Typical values lie between 0.01 and 1; smaller is "
						 "more private and less accurate.")));
	check_range(&epsilon, dp_setting_epsilon_floor, "dp_pg.epsilon_floor",
				true, what);
	check_range(&epsilon, dp_setting_epsilon_ceiling, "dp_pg.epsilon_ceiling",
				false, what);
	return epsilon;
}
