/*
 * number.c
 *	  Conversions between SQL numeric and the exact numbers of the pure parts.
 *
 * Conversions go through groups of decimal digits or through decimal text,
 * both of which numeric produces exactly; none goes through a double.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "../math/numbers/dp_numbers.h"
#include "../math/noise/dp_noise.h"
#include "../math/noise/dp_round.h"
#include "../math/accounting/dp_accounting.h"
#include "dp_base.h"
#include "base_internal.h"

/* ----------------
 *		Powers of two as numeric, and grids whose granule is a power of two.
 *
 * Everything is exact: 2^-n is 5^n / 10^n, a decimal of n digits.
 * ----------------
 */

/* Largest exponent whose power every numeric operation keeps exact. */
#define MAX_EXPONENT 1100

/*
 * dp_base_power_of_two
 *	  2^exponent, exactly.
 */
Numeric
dp_base_power_of_two(int exponent)
{
	Numeric		result = int64_to_numeric(1);
	Numeric		base = exponent < 0 ? dp_base_text_to_numeric("0.5") :
	int64_to_numeric(2);
	int			n;

	for (n = abs(exponent); n > 0; n >>= 1)
	{
		if (n & 1)
			result = numeric_mul_opt_error(result, base, NULL);
		if (n > 1)
			base = numeric_mul_opt_error(base, base, NULL);
	}
	return result;
}

/*
 * dp_base_floor_log2
 *	  The largest e with 2^e <= x; false when x <= 0, NaN or infinite, or e is
 *	  not in -1100 .. 1100.
 */
bool
dp_base_floor_log2(Numeric x, int *exponent)
{
	Datum		value = NumericGetDatum(x);
	Datum		limit;
	double		size;
	int			e;

	limit = NumericGetDatum(dp_base_power_of_two(-MAX_EXPONENT));
	if (numeric_is_nan(x) || numeric_is_inf(x) ||
		!DatumGetBool(DirectFunctionCall2(numeric_ge, value, limit)))
		return false;
	limit = NumericGetDatum(dp_base_power_of_two(MAX_EXPONENT + 1));
	if (!DatumGetBool(DirectFunctionCall2(numeric_lt, value, limit)))
		return false;

	/* an estimate, corrected by exact comparisons */
	size = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  value));
	e = size > 0 && !isinf(size) ? (int) floor(log2(size)) :
		size > 0 ? 1023 : -1074;
	for (;; e--)
	{
		limit = NumericGetDatum(dp_base_power_of_two(e));
		if (DatumGetBool(DirectFunctionCall2(numeric_le, limit, value)))
			break;
	}
	for (;; e++)
	{
		limit = NumericGetDatum(dp_base_power_of_two(e + 1));
		if (DatumGetBool(DirectFunctionCall2(numeric_gt, limit, value)))
			break;
	}
	*exponent = e;
	return true;
}

/* dp_base_make_grid: multiples of 2^exponent, |exponent| <= 1100. */
dp_binary_grid
dp_base_make_grid(int exponent)
{
	dp_binary_grid grid;

	grid.exponent = exponent;
	grid.granule = dp_base_power_of_two(exponent);
	grid.half = dp_base_power_of_two(exponent - 1);
	grid.end = dp_base_power_of_two(exponent + DP_GRID_RANGE);
	return grid;
}

/* floor(x / granule), and whether that is exact; 22003 from 10^37 on. */
static dp_int128
number_floor_quotient(const dp_binary_grid *grid, Numeric x, bool *exact)
{
	Numeric		quotient = dp_numeric_call2(numeric_div_trunc, x,
											grid->granule);
	Numeric		product = dp_numeric_call2(numeric_mul, quotient,
										   grid->granule);
	int			order = dp_numeric_compare(product, x);
	dp_int128	result = 0;

	if (!dp_base_numeric_to_int128(quotient, &result))
		dp_base_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	*exact = order == 0;
	return order > 0 ? result - 1 : result;
}

/*
 * dp_base_grid_numeric
 *	  floor(x / 2^exponent + 1/2) (noise/dp_round.h), clamped to +-2^100; 0 for
 *	  NaN.  Never fails.
 */
dp_int128
dp_base_grid_numeric(const dp_binary_grid *grid, Numeric x)
{
	const dp_int128 end = (dp_int128) 1 << DP_GRID_RANGE;
	bool		exact;

	if (numeric_is_nan(x))
		return 0;
	if (dp_numeric_compare(x, grid->end) >= 0)
		return end;
	if (dp_numeric_compare(dp_numeric_call1(numeric_uminus, x),
						   grid->end) >= 0)
		return -end;
	return number_floor_quotient(grid,
								 dp_numeric_call2(numeric_add, x, grid->half),
								 &exact);
}

/*
 * dp_base_grid_double
 *	  The same for a double, without rounding to decimal digits first.
 */
dp_int128
dp_base_grid_double(const dp_binary_grid *grid, double x)
{
	return dp_round_double(x, grid->exponent, DP_GRID_RANGE);
}

/*
 * dp_base_grid_distance
 *	  ceil(x / 2^exponent), x > 0: the largest distance, in granules, of values
 *	  x apart.
 *
 * Errors: 22003 from 10^37 on.
 */
dp_uint128
dp_base_grid_distance(const dp_binary_grid *grid, Numeric x)
{
	bool		exact;
	dp_int128	floor = number_floor_quotient(grid, x, &exact);

	return (dp_uint128) floor + (exact ? 0 : 1);
}

/*
 * The binary format of numeric_send and numeric_recv: 16-bit fields in network
 * order: the number of groups of four digits, the weight of the first, the
 * sign, the digits shown after the point, then the groups.
 */
#define SENT_FIELDS 4
#define SENT_NEGATIVE 0x4000

/*
 * Round a numeric to the grid; *exact says that nothing was cut off.  The
 * groups come from the binary format, which is exact.
 */
static dp_number_fault
number_read_fixed(Numeric x, dp_rounding rounding, dp_fixed *out, bool *exact)
{
	StringInfoData sent;
	bytea	   *bytes;
	uint16	   *groups;
	dp_status	status;
	bool		negative;
	int			weight;
	int			n;
	int			i;

	if (x == NULL)
		return DP_NUMBER_NULL;
	if (numeric_is_nan(x))
		return DP_NUMBER_NAN;
	if (numeric_is_inf(x))
		return DP_NUMBER_INFINITE;
	bytes = DatumGetByteaP(DirectFunctionCall1(numeric_send,
											   NumericGetDatum(x)));
	sent.data = VARDATA(bytes);
	sent.len = sent.maxlen = VARSIZE(bytes) - VARHDRSZ;
	sent.cursor = 0;
	n = pq_getmsgint(&sent, 2);
	weight = (int16) pq_getmsgint(&sent, 2);
	negative = pq_getmsgint(&sent, 2) == SENT_NEGATIVE;
	(void) pq_getmsgint(&sent, 2);
	if (negative && n > 0)
		return DP_NUMBER_NEGATIVE;
	groups = palloc(sizeof(uint16) * (n + 1));
	for (i = 0; i < n; i++)
		groups[i] = (uint16) pq_getmsgint(&sent, 2);
	status = dp_accounting_fixed_from_groups(groups, n, weight, rounding, out,
											 exact);
	pfree(groups);
	pfree(bytes);
	if (status == DP_E_OVERFLOW)
		return DP_NUMBER_TOO_LARGE;
	dp_base_check_status(status, "read a number");
	return DP_NUMBER_OK;
}

/*
 * dp_base_numeric_to_fixed
 *	  Round a numeric to the grid of 10^-24.
 *
 * A NULL pointer, NaN, infinity, negative values and values of 10^12 or more
 * are faults, which leave the output untouched.
 */
dp_number_fault
dp_base_numeric_to_fixed(Numeric x, dp_rounding rounding, dp_fixed *out)
{
	bool		exact;

	return number_read_fixed(x, rounding, out, &exact);
}

/*
 * dp_base_numeric_to_rational
 *	  The exact value; more than 24 digits after the point is a fault.
 */
dp_number_fault
dp_base_numeric_to_rational(Numeric x, dp_rational *out)
{
	dp_number_fault fault;
	dp_fixed	fixed;
	bool		exact;

	fault = number_read_fixed(x, DP_ROUND_DOWN, &fixed, &exact);
	if (fault != DP_NUMBER_OK)
		return fault;
	if (!exact)
		return DP_NUMBER_TOO_FINE;
	dp_base_check_status(dp_accounting_fixed_to_rational(fixed, out),
						 "read a number");
	return DP_NUMBER_OK;
}

/* Decimal text of an unsigned 128-bit integer into buf[40]; returns start. */
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
 * dp_base_fixed_to_cstring
 *	  Exact decimal text without trailing zeros; "Infinity" when infinite.
 */
char *
dp_base_fixed_to_cstring(dp_fixed x)
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

/* Text of a number on the grid of 1 / steps, rounded as told. */
static char *
rounded_text(dp_fixed x, dp_uint128 steps, dp_rounding rounding)
{
	dp_fixed	step = DP_FIXED_ONE / steps;
	dp_fixed	rest = x % step;

	if (x == DP_FIXED_INFINITE || rest == 0)
		return dp_base_fixed_to_cstring(x);
	return dp_base_fixed_to_cstring(
		rounding == DP_ROUND_DOWN ? x - rest :
		dp_accounting_fixed_add(x - rest, step));
}

/*
 * dp_base_epsilon_text
 *	  An epsilon or rho for display, with nine digits after the point;
 *	  palloc'd.  What remains is rounded down, what is spent or requested is
 *	  rounded up, so that no more budget is shown than there is.
 */
char *
dp_base_epsilon_text(dp_fixed x, dp_rounding rounding)
{
	return rounded_text(x, 1000000000, rounding);
}

/* dp_base_delta_text: the same for a delta, with eighteen digits. */
char *
dp_base_delta_text(dp_fixed x, dp_rounding rounding)
{
	return rounded_text(x, (dp_uint128) 1000000000 * 1000000000, rounding);
}

/* dp_base_text_to_numeric: numeric's input function. */
Numeric
dp_base_text_to_numeric(const char *text)
{
	return DatumGetNumeric(DirectFunctionCall3(numeric_in,
											   CStringGetDatum(text),
											   ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

/* dp_base_fixed_to_numeric: exact; infinite becomes 'Infinity'. */
Numeric
dp_base_fixed_to_numeric(dp_fixed x)
{
	uint16		fields[SENT_FIELDS + DP_FIXED_GROUPS];
	uint16_t	groups[DP_FIXED_GROUPS];
	StringInfoData sent;
	int			weight;
	int			scale;
	int			n;
	int			i;

	if (x == DP_FIXED_INFINITE)
		return dp_base_text_to_numeric("Infinity");
	n = dp_accounting_fixed_to_groups(x, groups, &weight, &scale);
	fields[0] = pg_hton16(n);
	fields[1] = pg_hton16((uint16) weight);
	fields[2] = 0;
	fields[3] = pg_hton16(scale);
	for (i = 0; i < n; i++)
		fields[SENT_FIELDS + i] = pg_hton16(groups[i]);
	sent.data = (char *) fields;
	sent.len = sent.maxlen = sizeof(uint16) * (SENT_FIELDS + n);
	sent.cursor = 0;
	return DatumGetNumeric(DirectFunctionCall3(numeric_recv,
											   PointerGetDatum(&sent),
											   ObjectIdGetDatum(InvalidOid),
											   Int32GetDatum(-1)));
}

/* dp_base_int128_to_numeric: exact. */
Numeric
dp_base_int128_to_numeric(dp_int128 x)
{
	char		buf[40];
	dp_uint128	magnitude = x < 0 ? -(dp_uint128) x : (dp_uint128) x;
	char	   *text = uint128_text(magnitude, buf);

	return dp_base_text_to_numeric(psprintf("%s%s", x < 0 ? "-" : "", text));
}

/*
 * dp_base_numeric_to_int128
 *	  False if x is NaN, infinite, not an integer, or 10^37 or more in size.
 */
bool
dp_base_numeric_to_int128(Numeric x, dp_int128 *out)
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
 * dp_base_float8_to_numeric
 *	  The shortest decimal that denotes the double x, whatever the settings
 *	  are.
 */
Numeric
dp_base_float8_to_numeric(double x)
{
	char		text[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(x, text);
	return dp_base_text_to_numeric(text);
}

/* dp_base_float4_to_numeric: the same for real. */
Numeric
dp_base_float4_to_numeric(float x)
{
	char		text[FLOAT_SHORTEST_DECIMAL_LEN];

	float_to_shortest_decimal_buf(x, text);
	return dp_base_text_to_numeric(text);
}

/* dp_base_number_fault_text: completes "It is ...". */
const char *
dp_base_number_fault_text(dp_number_fault fault)
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

/*
 * Read a setting that bounds epsilon; false: it is empty, so there is no
 * bound.
 */
static bool
read_limit(const char *setting, const char *name, dp_rational *limit)
{
	if (setting == NULL || setting[0] == '\0')
		return false;
	if (dp_base_numeric_to_rational(dp_base_text_to_numeric(setting),
									limit) != DP_NUMBER_OK)
		elog(ERROR, "setting %s is not a number", name);
	return true;
}

static void
check_ceiling(const dp_rational *x, const char *what)
{
	dp_rational limit;

	if (read_limit(dp_setting_epsilon_ceiling, "dp_pg.epsilon_ceiling",
				   &limit) && dp_numbers_rational_compare(x, &limit) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is above what this server allows", what),
				 errdetail("Setting dp_pg.epsilon_ceiling is %s.",
						   dp_setting_epsilon_ceiling),
				 errhint("Ask with a smaller epsilon.")));
}

/*
 * dp_base_epsilon_floor
 *	  The setting dp_pg.epsilon_floor; 0: no floor.
 */
dp_fixed
dp_base_epsilon_floor(void)
{
	dp_rational limit;
	dp_fixed	floor;

	if (!read_limit(dp_setting_epsilon_floor, "dp_pg.epsilon_floor", &limit))
		return 0;
	dp_base_check_status(dp_accounting_fixed_from_rational(&limit, DP_ROUND_UP,
														   &floor),
						 "read setting dp_pg.epsilon_floor");
	return floor;
}

/*
 * dp_base_check_floor
 *	  Raise 22023 if the epsilon of a whole charge is below the server's floor.
 */
void
dp_base_check_floor(dp_fixed charged, const char *what)
{
	if (charged >= dp_base_epsilon_floor())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s is below what this server allows", what),
			 errdetail("It is %s, and setting dp_pg.epsilon_floor is %s.",
					   dp_base_fixed_to_cstring(charged),
					   dp_setting_epsilon_floor),
			 errhint("Ask with a larger epsilon.")));
}

/*
 * dp_base_check_price
 *	  The epsilon of one released value, given by a user, as an exact positive
 *	  rational; raises 22023.  The floor applies to whole charges only.
 */
dp_rational
dp_base_check_price(Numeric x, bool isnull, const char *what)
{
	dp_rational epsilon;
	dp_number_fault fault;

	fault = dp_base_numeric_to_rational(isnull ? NULL : x, &epsilon);
	if (fault != DP_NUMBER_OK || epsilon.num == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a positive number", what),
				 errdetail("It is %s.", fault == DP_NUMBER_OK ? "zero" :
						   dp_base_number_fault_text(fault)),
				 errhint("Typical values lie between 0.01 and 1; smaller is "
						 "more private and less accurate.")));
	check_ceiling(&epsilon, what);
	return epsilon;
}

/*
 * dp_base_check_epsilon
 *	  The same for the epsilon of a whole charge, which must not be below the
 *	  floor.
 */
dp_rational
dp_base_check_epsilon(Numeric x, bool isnull, const char *what)
{
	dp_rational epsilon = dp_base_check_price(x, isnull, what);
	dp_fixed	charged;

	dp_base_check_status(dp_accounting_fixed_from_rational(&epsilon,
														   DP_ROUND_UP,
														   &charged),
						 "read epsilon");
	dp_base_check_floor(charged, what);
	return epsilon;
}

/* dp_base_check_scale: see dp_base.h. */
void
dp_base_check_scale(const dp_scale *scale)
{
	if (dp_noise_scale_approx(scale) <= ldexp(1, DP_SCALE_LOG2))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("noise would be too large"),
			 errdetail("Its scale is above 2^%d granules.", DP_SCALE_LOG2),
			 errhint("Use a larger epsilon or a smaller sensitivity.")));
}

/* ----------------
 *		Cache of parameters of noise: the least variance of Gaussian noise, the
 *		error bound of noise of a variance, and the rho of Laplace noise.  All
 *		of them follow from public numbers.
 * ----------------
 */

#define KEPT 256				/* results of each kind per process */
#define NUMBERS 3				/* inputs of a result */

/* The last results; integers have denominator 1. */
typedef struct memo
{
	int			used;
	int			next;			/* to be overwritten */
	dp_uint128	from[KEPT][NUMBERS];
	dp_rational result[KEPT];
} memo;

static bool
recall(const memo *kept, const dp_uint128 *from, dp_rational *out)
{
	int			i;

	for (i = 0; i < kept->used; i++)
		if (memcmp(kept->from[i], from, sizeof(kept->from[i])) == 0)
		{
			*out = kept->result[i];
			return true;
		}
	return false;
}

static void
remember(memo *kept, const dp_uint128 *from, const dp_rational *result)
{
	memcpy(kept->from[kept->next], from, sizeof(kept->from[0]));
	kept->result[kept->next] = *result;
	kept->used = Max(kept->used, kept->next + 1);
	kept->next = (kept->next + 1) % KEPT;
}

/*
 * dp_base_gaussian_variance
 *	  dp_accounting_variance_exact or, out of its range, the variance by
 *	  zCDP.  The search may take ten milliseconds.
 */
dp_status
dp_base_gaussian_variance(uint64 sensitivity, dp_fixed epsilon,
						  dp_fixed delta, dp_rational *out)
{
	static memo kept;
	const dp_uint128 from[NUMBERS] = {sensitivity, epsilon, delta};
	dp_status	status;

	if (recall(&kept, from, out))
		return DP_OK;
	status = dp_accounting_variance_exact(sensitivity, epsilon, delta,
										  out);
	if (status == DP_E_RANGE)
		status = dp_accounting_variance_zcdp(sensitivity, epsilon, delta,
											 out);
	if (status == DP_OK)
		remember(&kept, from, out);
	return status;
}

/*
 * dp_base_gaussian_error
 *	  dp_accounting_error_of_gaussian for probability 1/20; false if it fails.
 *	  It may take milliseconds, and a release needs it for every group.
 */
bool
dp_base_gaussian_error(const dp_rational *variance, int k, double *out)
{
	static memo kept;
	const dp_uint128 from[NUMBERS] = {variance->num, variance->den, k};
	dp_rational error = {0, 1};

	if (!recall(&kept, from, &error))
	{
		if (dp_accounting_error_of_gaussian(variance, k, DP_FIXED_ONE / 20,
											&error.num) != DP_OK)
			return false;
		remember(&kept, from, &error);
	}
	*out = (double) error.num;
	return true;
}

/*
 * dp_base_laplace_rho
 *	  dp_accounting_rho_from_laplace, which takes a third of the time of
 *	  preparing a small query.
 */
dp_status
dp_base_laplace_rho(dp_uint128 sensitivity, const dp_rational *epsilon,
					dp_fixed *rho)
{
	static memo kept;
	const dp_uint128 from[NUMBERS] = {sensitivity, epsilon->num, epsilon->den};
	dp_rational cost = {0, 1};

	if (!recall(&kept, from, &cost))
	{
		dp_status	status = dp_accounting_rho_from_laplace(sensitivity,
															epsilon,
															&cost.num);

		if (status != DP_OK)
			return status;
		remember(&kept, from, &cost);
	}
	*rho = cost.num;
	return DP_OK;
}
