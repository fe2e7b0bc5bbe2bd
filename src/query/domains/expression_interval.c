/*
 * expression_interval.c
 *	  The interval of an expression's values, by declarations of columns, by
 *	  the query's constants and by conditions that the rows fulfil.
 *
 * It gives the bounds of an aggregate that has none: of dp_sum(1), of CASE
 * WHEN .. THEN 1 ELSE 0 END, of a * b, of x WHERE x BETWEEN 0 AND 50.  The
 * expression is over columns of the protected relation; parts without columns
 * have been evaluated (public_parts.c).  Values are numbers, days and
 * microseconds; a value outside of declared bounds is clamped like any other.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/scansup.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../expressions/dp_expressions.h"
#include "dp_domains.h"
#include "domains_internal.h"

/* ----------------
 *		How functions map the intervals of their arguments, as data.
 *
 * Functions that are not listed have no interval.  Casts and operations whose
 * results are out of a type's range return NULL.
 * ----------------
 */

static const struct
{
	Oid			function;
	dp_interval_rule rule;
}			rules[] =
{
	{F_INT2PL, RULE_ADD}, {F_INT4PL, RULE_ADD}, {F_INT8PL, RULE_ADD},
	{F_INT24PL, RULE_ADD}, {F_INT42PL, RULE_ADD}, {F_INT28PL, RULE_ADD},
	{F_INT82PL, RULE_ADD}, {F_INT48PL, RULE_ADD}, {F_INT84PL, RULE_ADD},
	{F_FLOAT4PL, RULE_ADD}, {F_FLOAT8PL, RULE_ADD}, {F_FLOAT48PL, RULE_ADD},
	{F_FLOAT84PL, RULE_ADD}, {F_NUMERIC_ADD, RULE_ADD},
	{F_INT2MI, RULE_SUBTRACT}, {F_INT4MI, RULE_SUBTRACT},
	{F_INT8MI, RULE_SUBTRACT}, {F_INT24MI, RULE_SUBTRACT},
	{F_INT42MI, RULE_SUBTRACT}, {F_INT28MI, RULE_SUBTRACT},
	{F_INT82MI, RULE_SUBTRACT}, {F_INT48MI, RULE_SUBTRACT},
	{F_INT84MI, RULE_SUBTRACT}, {F_FLOAT4MI, RULE_SUBTRACT},
	{F_FLOAT8MI, RULE_SUBTRACT}, {F_FLOAT48MI, RULE_SUBTRACT},
	{F_FLOAT84MI, RULE_SUBTRACT}, {F_NUMERIC_SUB, RULE_SUBTRACT},
	{F_INT2MUL, RULE_MULTIPLY}, {F_INT4MUL, RULE_MULTIPLY},
	{F_INT8MUL, RULE_MULTIPLY}, {F_INT24MUL, RULE_MULTIPLY},
	{F_INT42MUL, RULE_MULTIPLY}, {F_INT28MUL, RULE_MULTIPLY},
	{F_INT82MUL, RULE_MULTIPLY}, {F_INT48MUL, RULE_MULTIPLY},
	{F_INT84MUL, RULE_MULTIPLY}, {F_FLOAT4MUL, RULE_MULTIPLY},
	{F_FLOAT8MUL, RULE_MULTIPLY}, {F_FLOAT48MUL, RULE_MULTIPLY},
	{F_FLOAT84MUL, RULE_MULTIPLY}, {F_NUMERIC_MUL, RULE_MULTIPLY},
	{F_INT2DIV, RULE_DIVIDE}, {F_INT4DIV, RULE_DIVIDE},
	{F_INT8DIV, RULE_DIVIDE}, {F_INT24DIV, RULE_DIVIDE},
	{F_INT42DIV, RULE_DIVIDE}, {F_INT28DIV, RULE_DIVIDE},
	{F_INT82DIV, RULE_DIVIDE}, {F_INT48DIV, RULE_DIVIDE},
	{F_INT84DIV, RULE_DIVIDE}, {F_FLOAT4DIV, RULE_DIVIDE},
	{F_FLOAT8DIV, RULE_DIVIDE}, {F_FLOAT48DIV, RULE_DIVIDE},
	{F_FLOAT84DIV, RULE_DIVIDE}, {F_NUMERIC_DIV, RULE_DIVIDE},
	{F_INT2MOD, RULE_REMAINDER}, {F_INT4MOD, RULE_REMAINDER},
	{F_INT8MOD, RULE_REMAINDER}, {F_MOD_INT2_INT2, RULE_REMAINDER},
	{F_MOD_INT4_INT4, RULE_REMAINDER}, {F_MOD_INT8_INT8, RULE_REMAINDER},
	{F_NUMERIC_MOD, RULE_REMAINDER}, {F_MOD_NUMERIC_NUMERIC, RULE_REMAINDER},
	{F_INT2UM, RULE_NEGATE}, {F_INT4UM, RULE_NEGATE}, {F_INT8UM, RULE_NEGATE},
	{F_FLOAT4UM, RULE_NEGATE}, {F_FLOAT8UM, RULE_NEGATE},
	{F_NUMERIC_UMINUS, RULE_NEGATE},
	{F_INT2UP, RULE_SAME}, {F_INT4UP, RULE_SAME}, {F_INT8UP, RULE_SAME},
	{F_FLOAT4UP, RULE_SAME}, {F_FLOAT8UP, RULE_SAME},
	{F_NUMERIC_UPLUS, RULE_SAME},
	{F_INT2ABS, RULE_ABSOLUTE}, {F_INT4ABS, RULE_ABSOLUTE},
	{F_INT8ABS, RULE_ABSOLUTE}, {F_ABS_INT2, RULE_ABSOLUTE},
	{F_ABS_INT4, RULE_ABSOLUTE}, {F_ABS_INT8, RULE_ABSOLUTE},
	{F_FLOAT4ABS, RULE_ABSOLUTE}, {F_FLOAT8ABS, RULE_ABSOLUTE},
	{F_ABS_FLOAT4, RULE_ABSOLUTE}, {F_ABS_FLOAT8, RULE_ABSOLUTE},
	{F_NUMERIC_ABS, RULE_ABSOLUTE}, {F_ABS_NUMERIC, RULE_ABSOLUTE},

	{F_INT4_BOOL, RULE_SAME}, {F_INT4_INT2, RULE_SAME},
	{F_INT8_INT2, RULE_SAME}, {F_INT8_INT4, RULE_SAME},
	{F_INT2_INT4, RULE_SAME}, {F_INT2_INT8, RULE_SAME},
	{F_INT4_INT8, RULE_SAME}, {F_FLOAT4_INT2, RULE_SAME},
	{F_FLOAT4_INT4, RULE_SAME}, {F_FLOAT4_INT8, RULE_SAME},
	{F_FLOAT8_INT2, RULE_SAME}, {F_FLOAT8_INT4, RULE_SAME},
	{F_FLOAT8_INT8, RULE_SAME}, {F_FLOAT8_FLOAT4, RULE_SAME},
	{F_FLOAT4_FLOAT8, RULE_SAME}, {F_FLOAT4_NUMERIC, RULE_SAME},
	{F_FLOAT8_NUMERIC, RULE_SAME}, {F_NUMERIC_INT2, RULE_SAME},
	{F_NUMERIC_INT4, RULE_SAME}, {F_NUMERIC_INT8, RULE_SAME},
	{F_INT2_FLOAT4, RULE_NEAREST}, {F_INT4_FLOAT4, RULE_NEAREST},
	{F_INT8_FLOAT4, RULE_NEAREST}, {F_INT2_FLOAT8, RULE_NEAREST},
	{F_INT4_FLOAT8, RULE_NEAREST}, {F_INT8_FLOAT8, RULE_NEAREST},
	{F_INT2_NUMERIC, RULE_NEAREST}, {F_INT4_NUMERIC, RULE_NEAREST},
	{F_INT8_NUMERIC, RULE_NEAREST}, {F_NUMERIC_FLOAT4, RULE_DIGITS},
	{F_NUMERIC_FLOAT8, RULE_DIGITS}, {F_NUMERIC_NUMERIC_INT4, RULE_SCALE},

	{F_DROUND, RULE_NEAREST}, {F_ROUND_FLOAT8, RULE_NEAREST},
	{F_ROUND_NUMERIC, RULE_NEAREST}, {F_ROUND_NUMERIC_INT4, RULE_ROUND},
	{F_DTRUNC, RULE_CUT}, {F_TRUNC_FLOAT8, RULE_CUT},
	{F_TRUNC_NUMERIC, RULE_CUT}, {F_TRUNC_NUMERIC_INT4, RULE_CUT},
	{F_FLOOR_FLOAT8, RULE_FLOOR}, {F_FLOOR_NUMERIC, RULE_FLOOR},
	{F_CEIL_FLOAT8, RULE_CEILING}, {F_CEILING_FLOAT8, RULE_CEILING},
	{F_CEIL_NUMERIC, RULE_CEILING}, {F_CEILING_NUMERIC, RULE_CEILING},
	{F_SIGN_FLOAT8, RULE_SIGN}, {F_SIGN_NUMERIC, RULE_SIGN},
	{F_DSQRT, RULE_ROOT}, {F_SQRT_FLOAT8, RULE_ROOT},
	{F_NUMERIC_LARGER, RULE_GREATER}, {F_NUMERIC_SMALLER, RULE_SMALLER},
	{F_FLOAT4LARGER, RULE_GREATER}, {F_FLOAT4SMALLER, RULE_SMALLER},
	{F_FLOAT8LARGER, RULE_GREATER}, {F_FLOAT8SMALLER, RULE_SMALLER},
	{F_DATE_LARGER, RULE_GREATER}, {F_DATE_SMALLER, RULE_SMALLER},
	{F_INT2AND, RULE_AND}, {F_INT4AND, RULE_AND}, {F_INT8AND, RULE_AND},
	{F_LENGTH_TEXT, RULE_NATURAL}, {F_TEXTLEN, RULE_NATURAL},
	{F_CHAR_LENGTH_TEXT, RULE_NATURAL},
	{F_CHARACTER_LENGTH_TEXT, RULE_NATURAL},
	{F_OCTET_LENGTH_TEXT, RULE_NATURAL}, {F_LENGTH_BPCHAR, RULE_NATURAL},
	{F_CHAR_LENGTH_BPCHAR, RULE_NATURAL},
	{F_CHARACTER_LENGTH_BPCHAR, RULE_NATURAL},
	{F_OCTET_LENGTH_BPCHAR, RULE_NATURAL}, {F_LENGTH_BYTEA, RULE_NATURAL},
	{F_OCTET_LENGTH_BYTEA, RULE_NATURAL}, {F_STRPOS, RULE_NATURAL},
	{F_POSITION_TEXT_TEXT, RULE_NATURAL}, {F_CARDINALITY, RULE_NATURAL},
	{F_COUNT_, RULE_NATURAL}, {F_COUNT_ANY, RULE_NATURAL},
	{F_SUM_INT2, RULE_SUM}, {F_SUM_INT4, RULE_SUM}, {F_SUM_INT8, RULE_SUM},
	{F_SUM_FLOAT4, RULE_SUM}, {F_SUM_FLOAT8, RULE_SUM},
	{F_SUM_NUMERIC, RULE_SUM},
	{F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, RULE_BUCKET},
	{F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, RULE_BUCKET},

	{F_DATE_MI, RULE_SUBTRACT}, {F_DATE_PLI, RULE_ADD},
	{F_DATE_MII, RULE_SUBTRACT}, {F_INTEGER_PL_DATE, RULE_ADD},
	{F_TIMESTAMP_MI, RULE_SUBTRACT}, {F_TIMESTAMPTZ_MI, RULE_SUBTRACT},
	{F_TIMESTAMP_PL_INTERVAL, RULE_ADD},
	{F_TIMESTAMP_MI_INTERVAL, RULE_SUBTRACT},
	{F_TIMESTAMP_DATE, RULE_MIDNIGHT}, {F_TIMESTAMPTZ_DATE, RULE_MIDNIGHT},
	{F_DATE_TIMESTAMP, RULE_DAY}, {F_DATE_TIMESTAMPTZ, RULE_DAY},
	{F_TIMESTAMP_TIMESTAMPTZ, RULE_ZONE}, {F_TIMESTAMPTZ_TIMESTAMP, RULE_ZONE},
	{F_TIMEZONE_TEXT_TIMESTAMP, RULE_ZONE},
	{F_TIMEZONE_TEXT_TIMESTAMPTZ, RULE_ZONE},
	{F_DATE_PART_TEXT_TIMESTAMP, RULE_EXTRACT},
	{F_DATE_PART_TEXT_TIMESTAMPTZ, RULE_EXTRACT},
	{F_DATE_PART_TEXT_DATE, RULE_EXTRACT},
	{F_DATE_PART_TEXT_TIME, RULE_EXTRACT},
	{F_DATE_PART_TEXT_INTERVAL, RULE_EXTRACT},
	{F_EXTRACT_TEXT_TIMESTAMP, RULE_EXTRACT},
	{F_EXTRACT_TEXT_TIMESTAMPTZ, RULE_EXTRACT},
	{F_EXTRACT_TEXT_DATE, RULE_EXTRACT},
	{F_EXTRACT_TEXT_TIME, RULE_EXTRACT},
	{F_EXTRACT_TEXT_INTERVAL, RULE_EXTRACT}
};

/* interval_rule: false if the function has none. */
static bool
interval_rule(Oid function, dp_interval_rule *rule)
{
	int			i;

	for (i = 0; i < lengthof(rules); i++)
		if (rules[i].function == function)
		{
			*rule = rules[i].rule;
			return true;
		}
	return false;
}

/* ----------------
 *		The numbers that extract and date_part can return.
 *
 * Dates count days since 2000, timestamps and intervals microseconds;
 * intervals here are differences of timestamps: days and less than one more,
 * without months.
 * ----------------
 */

/* From the Unix epoch to PostgreSQL's. */
#define EPOCH_SECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * INT64CONST(86400))

/* Fields of a timestamp or time of day that are not integers or not keys. */
static const struct
{
	const char *field;
	int64		last;
}			fractions[] =
{
	{"second", 60},
	{"milliseconds", 60 * 1000},
	{"microseconds", 60 * 1000 * 1000}
};

static bool
find_fraction(const char *field, int64 *last)
{
	int			i;

	for (i = 0; i < lengthof(fractions); i++)
		if (strcmp(fractions[i].field, field) == 0)
		{
			*last = fractions[i].last;
			return true;
		}
	return false;
}

static dp_interval
by_million(dp_interval a)
{
	const dp_interval million = dp_domains_interval_between(USECS_PER_SEC,
															USECS_PER_SEC);

	return dp_domains_interval_divide(a, million);
}

static dp_interval
epoch(Oid type, dp_interval a)
{
	dp_interval seconds;

	switch (type)
	{
		case DATEOID:
			seconds = dp_domains_interval_multiply(
				a, dp_domains_interval_between(SECS_PER_DAY, SECS_PER_DAY));
			break;
		case TIMEOID:
			return dp_domains_interval_between(0, SECS_PER_DAY);
		default:
			seconds = by_million(a);
	}
	return type == INTERVALOID ? seconds :
		dp_domains_interval_add(seconds,
								dp_domains_interval_between(EPOCH_SECONDS,
															EPOCH_SECONDS));
}

/* The field of an end; false if it is unknown or not a valid timestamp. */
static bool
field_of_end(const char *field, Oid type, Numeric end, Numeric *value)
{
	PGFunction	extract = extract_timestamp;
	Timestamp	time;
	dp_int128	number;

	if (!dp_base_numeric_to_int128(dp_numeric_call1(numeric_floor, end),
								   &number))
		return false;
	if (type == DATEOID)
		number *= USECS_PER_DAY;
	if (number < MIN_TIMESTAMP || number >= END_TIMESTAMP)
		return false;
	time = (Timestamp) number;
	*value = DatumGetNumeric(DirectFunctionCall2(extract,
												 CStringGetTextDatum(field),
												 TimestampGetDatum(time)));
	return true;
}

/*
 * Fields that are monotone, such as years; local time is within a day of UTC.
 */
static dp_interval
rising(const char *field, Oid type, dp_interval a)
{
	dp_interval result = dp_domains_interval_everything();

	if (type == TIMESTAMPTZOID)
		a = dp_domains_interval_widen(a, USECS_PER_DAY);
	if (!dp_domains_interval_is_bounded(a) ||
		!field_of_end(field, type, a.low, &result.low) ||
		!field_of_end(field, type, a.high, &result.high))
		return dp_domains_interval_everything();
	return result;
}

static dp_interval
of_moment(const char *field, Oid type, dp_interval a)
{
	bool		monotone;
	int			first;
	int			last;

	if (!dp_domains_key_extract_range(field, &monotone, &first, &last))
		return dp_domains_interval_everything();
	if (monotone)
		return rising(field, type, a);
	return dp_domains_interval_between(first, last);
}

static dp_interval
of_span(const char *field, dp_interval a)
{
	dp_interval day = dp_domains_interval_between(USECS_PER_DAY,
												  USECS_PER_DAY);

	if (!dp_domains_interval_is_bounded(a))
		return dp_domains_interval_everything();
	if (strcmp(field, "day") == 0)
		return dp_domains_interval_map_to(dp_domains_interval_divide(a, day),
										  numeric_trunc, 0);
	if (strcmp(field, "hour") == 0)
		return dp_domains_interval_between(-23, 23);
	if (strcmp(field, "minute") == 0)
		return dp_domains_interval_between(-59, 59);
	return dp_domains_interval_everything();
}

/*
 * interval_extract
 *	  extract(field from x) for x of the type and in the interval; everything,
 *	  if the field is not known to be bounded.
 */
static dp_interval
interval_extract(const Const *field, Oid type, dp_interval a)
{
	text	   *given;
	char	   *name;
	int64		last;

	if (a.empty || field->constisnull)
		return dp_domains_interval_nothing();
	given = DatumGetTextPP(field->constvalue);
	name = downcase_truncate_identifier(VARDATA_ANY(given),
										VARSIZE_ANY_EXHDR(given), false);
	if (strcmp(name, "epoch") == 0)
		return epoch(type, a);
	if (find_fraction(name, &last))
		return dp_domains_interval_between(type == INTERVALOID ? -last : 0,
										   last);
	switch (type)
	{
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return of_moment(name, type, a);
		case INTERVALOID:
			return of_span(name, a);
		case TIMEOID:
			if (strcmp(name, "hour") == 0)
				return dp_domains_interval_between(0, 24);
			if (strcmp(name, "minute") == 0)
				return dp_domains_interval_between(0, 59);
	}
	return dp_domains_interval_everything();
}

typedef dp_known interval_walk;

static dp_interval find(Node *node, const interval_walk *walk);

/* ---- leaves ---- */

/*
 * Convert to a type: values out of its range become NULL, floats are rounded.
 */
static dp_interval
bounds_as_type(dp_interval a, Oid type)
{
	switch (type)
	{
		case INT2OID:
			return dp_domains_interval_clip(a, PG_INT16_MIN, PG_INT16_MAX);
		case INT4OID:
			return dp_domains_interval_clip(a, PG_INT32_MIN, PG_INT32_MAX);
		case INT8OID:
			return dp_domains_interval_clip(a, PG_INT64_MIN, PG_INT64_MAX);
		case FLOAT4OID:
			return dp_domains_interval_float(a, true);
		case FLOAT8OID:
			return dp_domains_interval_float(a, false);
	}
	return a;
}

static dp_interval
bounds_find_column(const Var *var, const interval_walk *walk)
{
	Oid			type = getBaseType(var->vartype);
	Oid			relid = list_nth_oid(walk->relids, var->varno - 1);
	dp_attribute *declared = dp_protect_attribute(relid, var->varattno);
	char	   *lower = declared == NULL ? NULL : declared->lower;
	char	   *upper = declared == NULL ? NULL : declared->upper;

	if (lower == NULL &&
		!dp_protect_profile_values(relid, var->varattno, NULL, false, &lower,
								   &upper))
		return dp_domains_interval_everything();
	/* the nearest float may be beyond a declared bound */
	return bounds_as_type(dp_domains_interval_hull(
		dp_domains_interval_point(dp_domains_read_bound(lower, type)),
		dp_domains_interval_point(dp_domains_read_bound(upper, type))), type);
}

/* ---- calls ---- */

/* The value of a constant integer argument; false if it is none. */
static bool
constant_integer(Node *node, const interval_walk *known, int *value)
{
	const Const *constant = dp_domains_public_value(node, known);

	if (constant == NULL || constant->constisnull ||
		constant->consttype != INT4OID)
		return false;
	*value = DatumGetInt32(constant->constvalue);
	return true;
}

static dp_interval
bounds_to_digits(PGFunction function, List *args, dp_interval a,
				 const interval_walk *walk)
{
	int			digits = 0;

	if (list_length(args) > 1 &&
		!constant_integer(lsecond(args), walk, &digits))
		return dp_domains_interval_everything();
	return dp_domains_interval_map_to(a, function, digits);
}

static dp_interval
to_scale(List *args, dp_interval a, const interval_walk *walk)
{
	int			typmod;

	if (!constant_integer(lsecond(args), walk, &typmod))
		return dp_domains_interval_everything();
	if (typmod < VARHDRSZ)
		return a;
	return dp_domains_interval_map_to(a, numeric_round,
									  dp_domains_typmod_digits(typmod));
}

static dp_interval
natural_numbers(void)
{
	dp_interval a = dp_domains_interval_everything();

	a.low = int64_to_numeric(0);
	return a;
}

/* A sum of any number of values. */
static dp_interval
sum_of(dp_interval a)
{
	dp_interval sum = dp_domains_interval_everything();
	Numeric		zero = int64_to_numeric(0);

	if (a.empty)
		return a;
	if (dp_numeric_compare(a.low, zero) >= 0)
		sum.low = zero;
	if (dp_numeric_compare(a.high, zero) <= 0)
		sum.high = zero;
	return sum;
}

/* Bitwise AND: at most the smaller of two natural numbers. */
static dp_interval
and_bits(dp_interval a, dp_interval b)
{
	const dp_interval natural = natural_numbers();
	bool		first;
	bool		second;

	if (a.empty || b.empty)
		return dp_domains_interval_nothing();
	first = dp_numeric_compare(a.low, natural.low) >= 0;
	second = dp_numeric_compare(b.low, natural.low) >= 0;
	if (!first && !second)
		return dp_domains_interval_everything();
	if (!first || !second)
		return dp_domains_interval_hull(
			dp_domains_interval_point(natural.low), first ? a : b);
	if (dp_numeric_compare(b.high, a.high) < 0)
		a = b;
	return dp_domains_interval_hull(dp_domains_interval_point(natural.low), a);
}

static dp_interval
smaller(dp_interval a, dp_interval b)
{
	a = dp_domains_interval_negate(a);
	b = dp_domains_interval_negate(b);
	return dp_domains_interval_negate(dp_domains_interval_greatest(a, b,
																   true));
}

static Datum
fifteen_digits(PG_FUNCTION_ARGS)
{
	Datum		x = DirectFunctionCall1(numeric_float8_no_overflow,
										PG_GETARG_DATUM(0));

	return DirectFunctionCall1(float8_numeric, x);
}

/* Include the ends as rounded by casts from float to numeric. */
static dp_interval
cut_digits(dp_interval a, Oid from)
{
	if (from == FLOAT4OID)
	{
		/* six of seven digits are kept */
		if (!dp_domains_interval_is_bounded(a))
			return a;
		return dp_domains_interval_multiply(
			a, dp_domains_interval_hull(
				dp_domains_interval_point(dp_base_text_to_numeric("0.99999")),
				dp_domains_interval_point(
					dp_base_text_to_numeric("1.00001"))));
	}
	return dp_domains_interval_hull(a, dp_domains_interval_map(a,
														   fifteen_digits));
}

static dp_interval
root_of(Numeric x)
{
	Datum		y = DirectFunctionCall1(numeric_float8_no_overflow,
										NumericGetDatum(x));

	return dp_domains_interval_of_double(sqrt(DatumGetFloat8(y)));
}

/* Negative numbers have no root; a correctly rounded root is monotone. */
static dp_interval
find_root(dp_interval a)
{
	const Numeric zero = int64_to_numeric(0);

	if (a.empty || dp_numeric_compare(a.high, zero) < 0)
		return dp_domains_interval_nothing();
	if (dp_numeric_compare(a.low, zero) < 0)
		a.low = zero;
	return dp_domains_interval_hull(root_of(a.low), root_of(a.high));
}

static dp_interval
to_day(dp_interval a, bool zoned)
{
	const dp_interval day = dp_domains_interval_between(USECS_PER_DAY,
														USECS_PER_DAY);

	if (zoned)
		a = dp_domains_interval_widen(a, USECS_PER_DAY);
	return dp_domains_interval_map(dp_domains_interval_divide(a, day),
								   numeric_floor);
}

static dp_interval
to_midnight(dp_interval a, bool zoned)
{
	const dp_interval day = dp_domains_interval_between(USECS_PER_DAY,
														USECS_PER_DAY);

	a = dp_domains_interval_multiply(a, day);
	return zoned ? dp_domains_interval_widen(a, USECS_PER_DAY) : a;
}

static dp_interval
find_extract(List *args, dp_interval a, const interval_walk *walk)
{
	const Const *field = dp_domains_public_value(linitial(args), walk);

	if (field == NULL)
		return dp_domains_interval_everything();
	return interval_extract(field, exprType(lsecond(args)), a);
}

static dp_interval
find_quotient(dp_interval a, dp_interval b, Oid type)
{
	dp_interval q = dp_domains_interval_divide(a, b);

	return dp_domains_is_integer(type) ?
		dp_domains_interval_map_to(q, numeric_trunc, 0) : q;
}

static dp_interval
bounds_apply(dp_interval_rule rule, Oid function, Oid type, List *args,
			 const interval_walk *walk)
{
	dp_interval a;
	dp_interval b;

	if (rule == RULE_NATURAL)
		return natural_numbers();
	a = find(linitial(args), walk);
	b = list_length(args) > 1 ? find(lsecond(args), walk) : a;
	switch (rule)
	{
		case RULE_SAME:
			return a;
		case RULE_ADD:
			return dp_domains_interval_add(a, b);
		case RULE_SUBTRACT:
			return dp_domains_interval_add(a, dp_domains_interval_negate(b));
		case RULE_MULTIPLY:
			return dp_domains_interval_multiply(a, b);
		case RULE_DIVIDE:
			return find_quotient(a, b, type);
		case RULE_REMAINDER:
			return dp_domains_interval_remainder(a, b,
												 dp_domains_is_integer(type));
		case RULE_NEGATE:
			return dp_domains_interval_negate(a);
		case RULE_ABSOLUTE:
			return dp_domains_interval_absolute(a);
		case RULE_NEAREST:
			return dp_domains_interval_nearest(a);
		case RULE_ROUND:
			return bounds_to_digits(numeric_round, args, a, walk);
		case RULE_CUT:
			return bounds_to_digits(numeric_trunc, args, a, walk);
		case RULE_SCALE:
			return to_scale(args, a, walk);
		case RULE_FLOOR:
			return dp_domains_interval_map(a, numeric_floor);
		case RULE_CEILING:
			return dp_domains_interval_map(a, numeric_ceil);
		case RULE_SIGN:
			return dp_domains_interval_map(a, numeric_sign);
		case RULE_ROOT:
			return find_root(a);
		case RULE_GREATER:
			return dp_domains_interval_greatest(a, b, true);
		case RULE_SMALLER:
			return smaller(a, b);
		case RULE_AND:
			return and_bits(a, b);
		case RULE_BUCKET:
			return dp_domains_interval_hull(
				dp_domains_interval_between(0, 0),
				dp_domains_interval_add(find(lfourth(args), walk),
										dp_domains_interval_between(1, 1)));
		case RULE_DIGITS:
			return cut_digits(a, exprType(linitial(args)));
		case RULE_MIDNIGHT:
			return to_midnight(a, type == TIMESTAMPTZOID);
		case RULE_DAY:
			return to_day(a, function == F_DATE_TIMESTAMPTZ);
		case RULE_ZONE:
			return dp_domains_interval_widen(list_length(args) > 1 ? b : a,
											 USECS_PER_DAY);
		case RULE_EXTRACT:
			return find_extract(args, b, walk);
		case RULE_SUM:
			return sum_of(a);
		case RULE_NATURAL:
			break;
	}
	return dp_domains_interval_everything();
}

static dp_interval
find_call(Oid function, Oid type, List *args, const interval_walk *walk)
{
	dp_interval_rule rule;

	if (!interval_rule(function, &rule))
		return dp_domains_interval_everything();
	return bounds_as_type(bounds_apply(rule, function, type, args, walk),
						  type);
}

/* ---- the other nodes ---- */

static dp_interval
find_hull(List *nodes, const interval_walk *walk)
{
	dp_interval hull = dp_domains_interval_nothing();
	ListCell   *lc;

	foreach(lc, nodes)
		hull = dp_domains_interval_hull(hull, find(lfirst(lc), walk));
	return hull;
}

/* A result is there if its condition is true, and none before it is. */
static dp_interval
find_case(const CaseExpr *expression, const interval_walk *walk)
{
	dp_interval hull = dp_domains_interval_nothing();
	List	   *filters = list_copy(walk->filters);
	interval_walk arm = *walk;
	ListCell   *lc;

	foreach(lc, expression->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, lc);

		arm.filters = filters = lappend(filters, when->expr);
		hull = dp_domains_interval_hull(hull, find((Node *) when->result,
												   &arm));
		llast(filters) = makeBoolExpr(NOT_EXPR, list_make1(when->expr),
										  -1);
	}
	if (expression->defresult == NULL)
		return hull;
	return dp_domains_interval_hull(hull,
									find((Node *) expression->defresult,
										 &arm));
}

/*
 * An aggregate or window function of a level below: of other rows than the one
 * for which it is, so that only conditions of its own level hold.
 */
static dp_interval
find_aggregate(const Aggref *aggregate, const interval_walk *walk)
{
	List	   *args = get_tlist_exprs(aggregate->args, true);
	interval_walk below = *walk;

	below.filters = aggregate->aggfilter == NULL ? NIL :
		list_make1(aggregate->aggfilter);
	return dp_expressions_is_between(aggregate) ? find(linitial(args),
													   &below) :
		find_call(aggregate->aggfnoid, aggregate->aggtype, args, &below);
}

/*
 * GREATEST ignores NULLs, so only a constant bounds the result from below;
 * without one, the least of all lower ends does.
 */
static dp_interval
find_greatest(List *args, bool negated, const interval_walk *walk)
{
	dp_interval constants = dp_domains_interval_nothing();
	dp_interval others = dp_domains_interval_nothing();
	dp_interval all;
	ListCell   *lc;

	foreach(lc, args)
	{
		dp_interval one = find(lfirst(lc), walk);

		if (negated)
			one = dp_domains_interval_negate(one);
		if (dp_domains_public_value(lfirst(lc), walk) != NULL)
			constants = dp_domains_interval_greatest(constants, one, true);
		else
			others = dp_domains_interval_greatest(others, one, false);
	}
	all = dp_domains_interval_greatest(constants, others, true);
	if (!constants.empty)
		all.low = constants.low;
	return all;
}

static dp_interval
find_extreme(const MinMaxExpr *expression, const interval_walk *walk)
{
	if (expression->op == IS_GREATEST)
		return find_greatest(expression->args, false, walk);
	return dp_domains_interval_negate(find_greatest(expression->args, true,
													walk));
}

/* NULLIF(x, end of x's interval) excludes that end, for integers. */
static dp_interval
find_nullif(const NullIfExpr *expression, const interval_walk *walk)
{
	dp_interval a = find(linitial(expression->args), walk);
	dp_interval b = find(lsecond(expression->args), walk);
	Numeric		one = int64_to_numeric(1);

	if (!dp_domains_is_integer(exprType(linitial(expression->args))) ||
		!dp_domains_interval_is_bounded(a) ||
		!dp_domains_interval_is_bounded(b) ||
		dp_numeric_compare(b.low, b.high) != 0)
		return a;
	if (dp_numeric_compare(a.low, b.low) == 0)
		a.low = dp_numeric_call2(numeric_add, a.low, one);
	if (dp_numeric_compare(a.high, b.low) == 0)
		a.high = dp_numeric_call2(numeric_sub, a.high, one);
	return dp_numeric_compare(a.low, a.high) > 0 ?
		dp_domains_interval_nothing() : a;
}

static dp_interval
find_unnarrowed(Node *node, const interval_walk *walk)
{
	switch (nodeTag(node))
	{
		case T_Var:
			return bounds_find_column((Var *) node, walk);
		case T_FuncExpr:
			return find_call(((FuncExpr *) node)->funcid,
							 ((FuncExpr *) node)->funcresulttype,
							 ((FuncExpr *) node)->args, walk);
		case T_OpExpr:
			return find_call(get_opcode(((OpExpr *) node)->opno),
							 ((OpExpr *) node)->opresulttype,
							 ((OpExpr *) node)->args, walk);
		case T_NullIfExpr:
			return find_nullif((NullIfExpr *) node, walk);
		case T_CaseExpr:
			return find_case((CaseExpr *) node, walk);
		case T_CoalesceExpr:
			return find_hull(((CoalesceExpr *) node)->args, walk);
		case T_MinMaxExpr:
			return find_extreme((MinMaxExpr *) node, walk);
		case T_RelabelType:
			return find((Node *) ((RelabelType *) node)->arg, walk);
		case T_Aggref:
			return find_aggregate((Aggref *) node, walk);
		default:
			return dp_domains_interval_everything();
	}
}

static dp_interval
find(Node *node, const interval_walk *walk)
{
	const Const *constant = dp_domains_public_value(node, walk);
	dp_interval a;
	ListCell   *lc;

	check_stack_depth();
	if (constant != NULL)
		return dp_domains_interval_of_constant(constant);
	if (exprType(node) == BOOLOID)
		return dp_domains_interval_between(0, 1);
	a = find_unnarrowed(node, walk);
	foreach(lc, walk->conditions)
		a = dp_domains_interval_meet_condition(a, node, lfirst(lc), walk);
	foreach(lc, walk->filters)
		a = dp_domains_interval_meet_condition(a, node, lfirst(lc), walk);
	return a;
}

/*
 * dp_domains_find_interval
 *	  The interval of an expression from dp_domains_cut_public.  False if an
 *	  end is unknown, or the expression is always NULL.
 */
bool
dp_domains_find_interval(Node *expression, const dp_known *known,
						 dp_interval *interval)
{
	*interval = find(expression, known);
	return dp_domains_interval_is_bounded(*interval);
}

/*
 * dp_domains_lies_outside
 *	  Whether conditions leave a column no values within its declared bounds
 *	  but an end.
 */
bool
dp_domains_lies_outside(const Var *column, const dp_known *known)
{
	dp_interval declared = bounds_find_column(column, known);
	dp_interval asked = dp_domains_interval_everything();
	ListCell   *lc;

	foreach(lc, known->conditions)
		asked = dp_domains_interval_meet_condition(asked, (Node *) column,
												   lfirst(lc), known);
	foreach(lc, known->filters)
		asked = dp_domains_interval_meet_condition(asked, (Node *) column,
												   lfirst(lc), known);
	if (asked.empty || !dp_domains_interval_is_bounded(declared))
		return false;
	return (dp_numeric_compare(asked.low, declared.high) >= 0 &&
			dp_numeric_compare(asked.high, declared.high) > 0) ||
		(dp_numeric_compare(asked.high, declared.low) <= 0 &&
		 dp_numeric_compare(asked.low, declared.low) < 0);
}
