/*
 * allow_list.c
 *	  The functions that may be called on private rows, as data.
 *
 * A function is allowed on private rows for one of three reasons:
 *
 *	leakproof		built in, and LEAKPROOF in pg_proc: its authors promise
 *					that nothing but its result depends on its arguments
 *	total as is		SAFE below: for every argument it gives a value or NULL,
 *					has no side effect, and its result is bounded in size by
 *					its arguments' sizes
 *	total version	TOTAL below: the built-in raises an error for some
 *					arguments, and this extension has a version of it that
 *					gives NULL there (total_functions_*.c); the query is
 *					rewritten to it
 *
 * A condition (..._IF) names what must be constant, and is checked before
 * planning.  SAFE needs a proof: the comment of its group.
 * test/sql/total_functions.sql tries all of them on extreme arguments.
 *
 * Operators and casts are judged by their functions; relabelling casts have no
 * function and need no rule.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "expressions_internal.h"

#define SAFE(function) {function, NULL, DP_CONDITION_NONE}
#define SAFE_IF(function, condition) \
	{function, NULL, DP_CONDITION_##condition}
#define TOTAL(function, name) \
	{function, "dp_total_" name, DP_CONDITION_NONE}
#define TOTAL_IF(function, name, condition) \
	{function, "dp_total_" name, DP_CONDITION_##condition}

const dp_expression_rule dp_expression_rules[] = {
	/*
	 * Comparisons of numeric: digits are compared, NaN and the infinities
	 * have their fixed places.
	 */
	SAFE(F_NUMERIC_EQ),
	SAFE(F_NUMERIC_NE),
	SAFE(F_NUMERIC_LT),
	SAFE(F_NUMERIC_LE),
	SAFE(F_NUMERIC_GT),
	SAFE(F_NUMERIC_GE),

	/*
	 * Enum: equality compares OIDs; order reads the type's labels, which
	 * PostgreSQL never removes.
	 */
	SAFE(F_ENUM_EQ),
	SAFE(F_ENUM_NE),
	SAFE(F_ENUM_LT),
	SAFE(F_ENUM_LE),
	SAFE(F_ENUM_GT),
	SAFE(F_ENUM_GE),

	/*
	 * Dates and timestamps across types: a date or local time out of the
	 * other type's range compares as beyond every finite value (the
	 * _opt_overflow conversions).
	 */
	SAFE(F_DATE_EQ_TIMESTAMP),
	SAFE(F_DATE_NE_TIMESTAMP),
	SAFE(F_DATE_LT_TIMESTAMP),
	SAFE(F_DATE_LE_TIMESTAMP),
	SAFE(F_DATE_GT_TIMESTAMP),
	SAFE(F_DATE_GE_TIMESTAMP),
	SAFE(F_DATE_EQ_TIMESTAMPTZ),
	SAFE(F_DATE_NE_TIMESTAMPTZ),
	SAFE(F_DATE_LT_TIMESTAMPTZ),
	SAFE(F_DATE_LE_TIMESTAMPTZ),
	SAFE(F_DATE_GT_TIMESTAMPTZ),
	SAFE(F_DATE_GE_TIMESTAMPTZ),
	SAFE(F_TIMESTAMP_EQ_DATE),
	SAFE(F_TIMESTAMP_NE_DATE),
	SAFE(F_TIMESTAMP_LT_DATE),
	SAFE(F_TIMESTAMP_LE_DATE),
	SAFE(F_TIMESTAMP_GT_DATE),
	SAFE(F_TIMESTAMP_GE_DATE),
	SAFE(F_TIMESTAMP_EQ_TIMESTAMPTZ),
	SAFE(F_TIMESTAMP_NE_TIMESTAMPTZ),
	SAFE(F_TIMESTAMP_LT_TIMESTAMPTZ),
	SAFE(F_TIMESTAMP_LE_TIMESTAMPTZ),
	SAFE(F_TIMESTAMP_GT_TIMESTAMPTZ),
	SAFE(F_TIMESTAMP_GE_TIMESTAMPTZ),
	SAFE(F_TIMESTAMPTZ_EQ_DATE),
	SAFE(F_TIMESTAMPTZ_NE_DATE),
	SAFE(F_TIMESTAMPTZ_LT_DATE),
	SAFE(F_TIMESTAMPTZ_LE_DATE),
	SAFE(F_TIMESTAMPTZ_GT_DATE),
	SAFE(F_TIMESTAMPTZ_GE_DATE),
	SAFE(F_TIMESTAMPTZ_EQ_TIMESTAMP),
	SAFE(F_TIMESTAMPTZ_NE_TIMESTAMP),
	SAFE(F_TIMESTAMPTZ_LT_TIMESTAMP),
	SAFE(F_TIMESTAMPTZ_LE_TIMESTAMP),
	SAFE(F_TIMESTAMPTZ_GT_TIMESTAMP),
	SAFE(F_TIMESTAMPTZ_GE_TIMESTAMP),

	/* Booleans, "char", character: casts that copy bytes. */
	SAFE(F_TEXT_BOOL),
	SAFE(F_TEXT_CHAR),
	SAFE(F_INT4_CHAR),
	SAFE(F_BPCHAR_NAME),

	/*
	 * Explicit casts to a length truncate; implicit ones would raise errors.
	 */
	SAFE_IF(F_VARCHAR_VARCHAR_INT4_BOOL, EXPLICIT),
	SAFE_IF(F_BPCHAR_BPCHAR_INT4_BOOL, EXPLICIT),

	/* Lengths and positions: integers, computed byte by byte. */
	SAFE(F_LENGTH_TEXT),
	SAFE(F_TEXTLEN),
	SAFE(F_CHAR_LENGTH_TEXT),
	SAFE(F_CHARACTER_LENGTH_TEXT),
	SAFE(F_OCTET_LENGTH_TEXT),
	SAFE(F_LENGTH_BPCHAR),
	SAFE(F_CHAR_LENGTH_BPCHAR),
	SAFE(F_CHARACTER_LENGTH_BPCHAR),
	SAFE(F_OCTET_LENGTH_BPCHAR),
	SAFE(F_LENGTH_BYTEA),
	SAFE(F_OCTET_LENGTH_BYTEA),
	TOTAL(F_STRPOS, "textpos"),
	TOTAL(F_POSITION_TEXT_TEXT, "textpos"),

	/* Lists in a text, and the number of elements, read from a header. */
	TOTAL(F_SPLIT_PART, "split_part"),
	TOTAL(F_STRING_TO_ARRAY_TEXT_TEXT, "text_to_array"),
	SAFE(F_CARDINALITY),

	/* Pieces: never longer than the argument. */
	SAFE(F_LEFT),
	SAFE(F_RIGHT),
	SAFE(F_SUBSTR_TEXT_INT4),
	SAFE(F_SUBSTRING_TEXT_INT4),
	TOTAL(F_SUBSTR_TEXT_INT4_INT4, "text_substr"),
	TOTAL(F_SUBSTRING_TEXT_INT4_INT4, "text_substr"),

	/*
	 * Functions that copy text into arrays eight times as wide, or to wide
	 * characters: the length is limited first.
	 */
	TOTAL(F_TEXT_BPCHAR, "rtrim1"),
	TOTAL(F_BTRIM_TEXT, "btrim1"),
	TOTAL(F_LTRIM_TEXT, "ltrim1"),
	TOTAL(F_RTRIM_TEXT, "rtrim1"),
	TOTAL(F_BTRIM_TEXT_TEXT, "btrim"),
	TOTAL(F_LTRIM_TEXT_TEXT, "ltrim"),
	TOTAL(F_RTRIM_TEXT_TEXT, "rtrim"),
	TOTAL(F_TEXTCAT, "textcat"),
	TOTAL_IF(F_LOWER_TEXT, "lower", FOLD),
	TOTAL_IF(F_UPPER_TEXT, "upper", FOLD),
	TOTAL_IF(F_INITCAP, "initcap", FOLD),

	/* LIKE: total if the pattern does not end in its escape character. */
	SAFE_IF(F_TEXTLIKE, PATTERN),
	SAFE_IF(F_LIKE_TEXT_TEXT, PATTERN),
	SAFE_IF(F_BPCHARLIKE, PATTERN),
	SAFE_IF(F_NAMELIKE, PATTERN),
	SAFE_IF(F_LIKE_NAME_TEXT, PATTERN),
	SAFE_IF(F_BYTEALIKE, PATTERN),
	SAFE_IF(F_LIKE_BYTEA_BYTEA, PATTERN),
	SAFE_IF(F_TEXTNLIKE, PATTERN),
	SAFE_IF(F_NOTLIKE_TEXT_TEXT, PATTERN),
	SAFE_IF(F_BPCHARNLIKE, PATTERN),
	SAFE_IF(F_NAMENLIKE, PATTERN),
	SAFE_IF(F_NOTLIKE_NAME_TEXT, PATTERN),
	SAFE_IF(F_BYTEANLIKE, PATTERN),
	SAFE_IF(F_NOTLIKE_BYTEA_BYTEA, PATTERN),
	TOTAL_IF(F_TEXTICLIKE, "texticlike", PATTERN_FOLD),
	TOTAL_IF(F_TEXTICNLIKE, "texticnlike", PATTERN_FOLD),
	TOTAL_IF(F_BPCHARICLIKE, "texticlike", PATTERN_FOLD),
	TOTAL_IF(F_BPCHARICNLIKE, "texticnlike", PATTERN_FOLD),
	TOTAL_IF(F_NAMEICLIKE, "nameiclike", PATTERN_FOLD),
	TOTAL_IF(F_NAMEICNLIKE, "nameicnlike", PATTERN_FOLD),
	SAFE_IF(F_LIKE_ESCAPE_TEXT_TEXT, ESCAPE),
	SAFE_IF(F_LIKE_ESCAPE_BYTEA_BYTEA, ESCAPE),

	/* Integers: bit operations and unary plus. */
	SAFE(F_INT2AND),
	SAFE(F_INT2OR),
	SAFE(F_INT2XOR),
	SAFE(F_INT2NOT),
	SAFE(F_INT2UP),
	SAFE(F_INT4AND),
	SAFE(F_INT4OR),
	SAFE(F_INT4XOR),
	SAFE(F_INT4NOT),
	SAFE(F_INT4UP),
	SAFE(F_INT8AND),
	SAFE(F_INT8OR),
	SAFE(F_INT8XOR),
	SAFE(F_INT8NOT),
	SAFE(F_INT8UP),

	/* Integer arithmetic. */
	TOTAL(F_INT2PL, "int2pl"),
	TOTAL(F_INT2MI, "int2mi"),
	TOTAL(F_INT2MUL, "int2mul"),
	TOTAL(F_INT2DIV, "int2div"),
	TOTAL(F_INT2MOD, "int2mod"),
	TOTAL(F_INT2UM, "int2um"),
	TOTAL(F_INT2ABS, "int2abs"),
	TOTAL(F_ABS_INT2, "int2abs"),
	TOTAL(F_MOD_INT2_INT2, "int2mod"),
	TOTAL(F_INT4PL, "int4pl"),
	TOTAL(F_INT4MI, "int4mi"),
	TOTAL(F_INT4MUL, "int4mul"),
	TOTAL(F_INT4DIV, "int4div"),
	TOTAL(F_INT4MOD, "int4mod"),
	TOTAL(F_INT4UM, "int4um"),
	TOTAL(F_INT4ABS, "int4abs"),
	TOTAL(F_ABS_INT4, "int4abs"),
	TOTAL(F_MOD_INT4_INT4, "int4mod"),
	TOTAL(F_INT8PL, "int8pl"),
	TOTAL(F_INT8MI, "int8mi"),
	TOTAL(F_INT8MUL, "int8mul"),
	TOTAL(F_INT8DIV, "int8div"),
	TOTAL(F_INT8MOD, "int8mod"),
	TOTAL(F_INT8UM, "int8um"),
	TOTAL(F_INT8ABS, "int8abs"),
	TOTAL(F_ABS_INT8, "int8abs"),
	TOTAL(F_MOD_INT8_INT8, "int8mod"),
	TOTAL(F_INT24PL, "int24pl"),
	TOTAL(F_INT24MI, "int24mi"),
	TOTAL(F_INT24MUL, "int24mul"),
	TOTAL(F_INT24DIV, "int24div"),
	TOTAL(F_INT42PL, "int42pl"),
	TOTAL(F_INT42MI, "int42mi"),
	TOTAL(F_INT42MUL, "int42mul"),
	TOTAL(F_INT42DIV, "int42div"),
	TOTAL(F_INT28PL, "int28pl"),
	TOTAL(F_INT28MI, "int28mi"),
	TOTAL(F_INT28MUL, "int28mul"),
	TOTAL(F_INT28DIV, "int28div"),
	TOTAL(F_INT82PL, "int82pl"),
	TOTAL(F_INT82MI, "int82mi"),
	TOTAL(F_INT82MUL, "int82mul"),
	TOTAL(F_INT82DIV, "int82div"),
	TOTAL(F_INT48PL, "int48pl"),
	TOTAL(F_INT48MI, "int48mi"),
	TOTAL(F_INT48MUL, "int48mul"),
	TOTAL(F_INT48DIV, "int48div"),
	TOTAL(F_INT84PL, "int84pl"),
	TOTAL(F_INT84MI, "int84mi"),
	TOTAL(F_INT84MUL, "int84mul"),
	TOTAL(F_INT84DIV, "int84div"),

	/* Narrowing casts. */
	TOTAL(F_INT2_INT4, "i4toi2"),
	TOTAL(F_INT2_INT8, "int82"),
	TOTAL(F_INT4_INT8, "int84"),
	TOTAL(F_INT2_FLOAT4, "ftoi2"),
	TOTAL(F_INT4_FLOAT4, "ftoi4"),
	TOTAL(F_INT8_FLOAT4, "ftoi8"),
	TOTAL(F_INT2_FLOAT8, "dtoi2"),
	TOTAL(F_INT4_FLOAT8, "dtoi4"),
	TOTAL(F_INT8_FLOAT8, "dtoi8"),
	TOTAL(F_FLOAT4_FLOAT8, "dtof"),
	TOTAL(F_INT2_NUMERIC, "numeric_int2"),
	TOTAL(F_INT4_NUMERIC, "numeric_int4"),
	TOTAL(F_INT8_NUMERIC, "numeric_int8"),
	TOTAL(F_FLOAT4_NUMERIC, "numeric_float4"),
	TOTAL(F_FLOAT8_NUMERIC, "numeric_float8"),
	TOTAL(F_NUMERIC_NUMERIC_INT4, "numeric"),

	/*
	 * Floating point: sign and rounding to integral values map finite values
	 * to finite ones.
	 */
	SAFE(F_FLOAT4ABS),
	SAFE(F_ABS_FLOAT4),
	SAFE(F_FLOAT4UM),
	SAFE(F_FLOAT4UP),
	SAFE(F_FLOAT8ABS),
	SAFE(F_ABS_FLOAT8),
	SAFE(F_FLOAT8UM),
	SAFE(F_FLOAT8UP),
	SAFE(F_DROUND),
	SAFE(F_ROUND_FLOAT8),
	SAFE(F_CEIL_FLOAT8),
	SAFE(F_CEILING_FLOAT8),
	SAFE(F_FLOOR_FLOAT8),
	SAFE(F_DTRUNC),
	SAFE(F_TRUNC_FLOAT8),
	SAFE(F_SIGN_FLOAT8),
	SAFE(F_FLOAT4LARGER),
	SAFE(F_FLOAT4SMALLER),
	SAFE(F_FLOAT8LARGER),
	SAFE(F_FLOAT8SMALLER),

	/* Floating-point arithmetic. */
	TOTAL(F_FLOAT4PL, "float4pl"),
	TOTAL(F_FLOAT4MI, "float4mi"),
	TOTAL(F_FLOAT4MUL, "float4mul"),
	TOTAL(F_FLOAT4DIV, "float4div"),
	TOTAL(F_FLOAT8PL, "float8pl"),
	TOTAL(F_FLOAT8MI, "float8mi"),
	TOTAL(F_FLOAT8MUL, "float8mul"),
	TOTAL(F_FLOAT8DIV, "float8div"),
	TOTAL(F_FLOAT48PL, "float48pl"),
	TOTAL(F_FLOAT48MI, "float48mi"),
	TOTAL(F_FLOAT48MUL, "float48mul"),
	TOTAL(F_FLOAT48DIV, "float48div"),
	TOTAL(F_FLOAT84PL, "float84pl"),
	TOTAL(F_FLOAT84MI, "float84mi"),
	TOTAL(F_FLOAT84MUL, "float84mul"),
	TOTAL(F_FLOAT84DIV, "float84div"),
	TOTAL(F_DSQRT, "dsqrt"),
	TOTAL(F_SQRT_FLOAT8, "dsqrt"),
	TOTAL(F_DEXP, "dexp"),
	TOTAL(F_EXP_FLOAT8, "dexp"),
	TOTAL(F_DLOG1, "dlog1"),
	TOTAL(F_LN_FLOAT8, "dlog1"),
	TOTAL(F_DLOG10, "dlog10"),
	TOTAL(F_LOG_FLOAT8, "dlog10"),
	TOTAL(F_LOG10_FLOAT8, "dlog10"),
	TOTAL(F_WIDTH_BUCKET_FLOAT8_FLOAT8_FLOAT8_INT4, "width_bucket_float8"),

	/* Numeric: sign and truncation never add a digit. */
	SAFE(F_NUMERIC_ABS),
	SAFE(F_ABS_NUMERIC),
	SAFE(F_NUMERIC_UMINUS),
	SAFE(F_NUMERIC_UPLUS),
	SAFE(F_SIGN_NUMERIC),
	SAFE(F_TRUNC_NUMERIC_INT4),
	SAFE(F_NUMERIC_LARGER),
	SAFE(F_NUMERIC_SMALLER),

	/* Numeric arithmetic. */
	TOTAL(F_NUMERIC_ADD, "numeric_add"),
	TOTAL(F_NUMERIC_SUB, "numeric_sub"),
	TOTAL(F_NUMERIC_MUL, "numeric_mul"),
	TOTAL(F_NUMERIC_DIV, "numeric_div"),
	TOTAL(F_NUMERIC_MOD, "numeric_mod"),
	TOTAL(F_MOD_NUMERIC_NUMERIC, "numeric_mod"),
	TOTAL(F_CEIL_NUMERIC, "numeric_ceil"),
	TOTAL(F_CEILING_NUMERIC, "numeric_ceil"),
	TOTAL(F_FLOOR_NUMERIC, "numeric_floor"),
	TOTAL(F_ROUND_NUMERIC, "numeric_round_integral"),
	TOTAL(F_ROUND_NUMERIC_INT4, "numeric_round"),
	TOTAL(F_TRUNC_NUMERIC, "numeric_trunc_integral"),
	TOTAL(F_WIDTH_BUCKET_NUMERIC_NUMERIC_NUMERIC_INT4, "width_bucket_numeric"),

	/* Time of day, finiteness, and conversions that only truncate. */
	SAFE(F_ISFINITE_DATE),
	SAFE(F_ISFINITE_TIMESTAMP),
	SAFE(F_ISFINITE_TIMESTAMPTZ),
	SAFE(F_ISFINITE_INTERVAL),
	SAFE(F_DATE_TIMESTAMP),
	SAFE(F_TIME_TIMESTAMP),
	SAFE(F_TIME_TIMESTAMPTZ),
	SAFE(F_TIME_TIMETZ),
	SAFE(F_TIMETZ_TIME),
	SAFE(F_TIMETZ_TIMESTAMPTZ),
	SAFE(F_TIME_MI_TIME),
	SAFE(F_DATE_LARGER),
	SAFE(F_DATE_SMALLER),
	SAFE(F_NOW),
	SAFE(F_TRANSACTION_TIMESTAMP),
	SAFE(F_STATEMENT_TIMESTAMP),
	SAFE_IF(F_TIMESTAMP_TIMESTAMP_INT4, PRECISION),
	SAFE_IF(F_TIMESTAMPTZ_TIMESTAMPTZ_INT4, PRECISION),

	/* Dates and times: total versions check range or field first. */
	TOTAL(F_TIMESTAMP_DATE, "date_timestamp"),
	TOTAL(F_TIMESTAMPTZ_DATE, "date_timestamptz"),
	TOTAL(F_TIMESTAMPTZ_TIMESTAMP, "timestamp_timestamptz"),
	TOTAL(F_TIMESTAMP_TIMESTAMPTZ, "timestamptz_timestamp"),
	TOTAL(F_DATE_TIMESTAMPTZ, "timestamptz_date"),
	TOTAL_IF(F_DATE_TRUNC_TEXT_TIMESTAMP, "timestamp_trunc", FIELD),
	TOTAL_IF(F_DATE_TRUNC_TEXT_TIMESTAMPTZ, "timestamptz_trunc", FIELD),
	TOTAL_IF(F_DATE_TRUNC_TEXT_INTERVAL, "interval_trunc", FIELD),
	TOTAL_IF(F_DATE_PART_TEXT_TIMESTAMP, "timestamp_part", FIELD),
	TOTAL_IF(F_DATE_PART_TEXT_TIMESTAMPTZ, "timestamptz_part", FIELD),
	TOTAL_IF(F_DATE_PART_TEXT_DATE, "date_part_date", FIELD),
	TOTAL_IF(F_DATE_PART_TEXT_TIME, "time_part", FIELD),
	TOTAL_IF(F_DATE_PART_TEXT_TIMETZ, "timetz_part", FIELD),
	TOTAL_IF(F_DATE_PART_TEXT_INTERVAL, "interval_part", FIELD),
	TOTAL_IF(F_EXTRACT_TEXT_TIMESTAMP, "extract_timestamp", FIELD),
	TOTAL_IF(F_EXTRACT_TEXT_TIMESTAMPTZ, "extract_timestamptz", FIELD),
	TOTAL_IF(F_EXTRACT_TEXT_DATE, "extract_date", FIELD),
	TOTAL_IF(F_EXTRACT_TEXT_TIME, "extract_time", FIELD),
	TOTAL_IF(F_EXTRACT_TEXT_TIMETZ, "extract_timetz", FIELD),
	TOTAL_IF(F_EXTRACT_TEXT_INTERVAL, "extract_interval", FIELD),
	TOTAL_IF(F_TIMEZONE_TEXT_TIMESTAMP, "timestamp_zone", ZONE),
	TOTAL_IF(F_TIMEZONE_TEXT_TIMESTAMPTZ, "timestamptz_zone", ZONE),
	TOTAL(F_DATE_PLI, "date_pli"),
	TOTAL(F_DATE_MII, "date_mii"),
	TOTAL(F_INTEGER_PL_DATE, "integer_pl_date"),
	TOTAL(F_DATE_MI, "date_mi"),
	TOTAL(F_DATE_PL_INTERVAL, "date_pl_interval"),
	TOTAL(F_DATE_MI_INTERVAL, "date_mi_interval"),
	TOTAL(F_TIMESTAMP_PL_INTERVAL, "timestamp_pl_interval"),
	TOTAL(F_TIMESTAMP_MI_INTERVAL, "timestamp_mi_interval"),
	TOTAL(F_TIMESTAMPTZ_PL_INTERVAL, "timestamptz_pl_interval"),
	TOTAL(F_TIMESTAMPTZ_MI_INTERVAL, "timestamptz_mi_interval"),
	TOTAL(F_TIMESTAMP_MI, "timestamp_mi"),
	TOTAL(F_TIMESTAMPTZ_MI, "timestamp_mi"),
	TOTAL(F_AGE_TIMESTAMP_TIMESTAMP, "timestamp_age"),
	TOTAL(F_AGE_TIMESTAMPTZ_TIMESTAMPTZ, "timestamptz_age"),
	TOTAL(F_TIME_INTERVAL, "interval_time"),
	TOTAL(F_INTERVAL_UM, "interval_um"),
	TOTAL(F_INTERVAL_PL, "interval_pl"),
	TOTAL(F_INTERVAL_MI, "interval_mi"),

	/* Network addresses: containment compares bits. */
	SAFE(F_NETWORK_SUB),
	SAFE(F_NETWORK_SUBEQ),
	SAFE(F_NETWORK_SUP),
	SAFE(F_NETWORK_SUPEQ),
	SAFE(F_NETWORK_OVERLAP),
};

const int	dp_expression_rule_count = lengthof(dp_expression_rules);

#define GEOMETRY \
	"It can raise an overflow error, although it is marked LEAKPROOF."
#define DIGEST \
	"OpenSSL can forbid it at run time (FIPS), which is an error only when " \
	"it is called."
#define USE_LIKE \
	"Use LIKE with a constant pattern, starts_with, or strpos."
#define USE_TRUNC \
	"Use date_trunc or extract, and format the released value outside the " \
	"private aggregate."
#define USE_FILTER \
	"Write the condition with comparisons, IN or LIKE, and text pieces with " \
	"substring, left or right."

/*
 * LEAKPROOF built-ins that are refused nevertheless, and partial ones for
 * which there is a better hint than the common one.
 */
static const dp_expression_advice advices[] = {
	{F_CIRCLE_EQ, GEOMETRY, NULL},
	{F_CIRCLE_NE, GEOMETRY, NULL},
	{F_CIRCLE_LT, GEOMETRY, NULL},
	{F_CIRCLE_GT, GEOMETRY, NULL},
	{F_CIRCLE_LE, GEOMETRY, NULL},
	{F_CIRCLE_GE, GEOMETRY, NULL},
	{F_LSEG_EQ, GEOMETRY, NULL},
	{F_LSEG_NE, GEOMETRY, NULL},
	{F_LSEG_LT, GEOMETRY, NULL},
	{F_LSEG_GT, GEOMETRY, NULL},
	{F_LSEG_LE, GEOMETRY, NULL},
	{F_LSEG_GE, GEOMETRY, NULL},
	{F_MD5_TEXT, DIGEST, "Use sha256."},
	{F_MD5_BYTEA, DIGEST, "Use sha256."},

	{F_TEXTREGEXEQ, NULL, USE_LIKE},
	{F_TEXTREGEXNE, NULL, USE_LIKE},
	{F_TEXTICREGEXEQ, NULL, USE_LIKE},
	{F_TEXTICREGEXNE, NULL, USE_LIKE},
	{F_BPCHARREGEXEQ, NULL, USE_LIKE},
	{F_BPCHARREGEXNE, NULL, USE_LIKE},
	{F_BPCHARICREGEXEQ, NULL, USE_LIKE},
	{F_BPCHARICREGEXNE, NULL, USE_LIKE},
	{F_NAMEREGEXEQ, NULL, USE_LIKE},
	{F_NAMEREGEXNE, NULL, USE_LIKE},
	{F_REGEXP_LIKE_TEXT_TEXT, NULL, USE_LIKE},
	{F_REGEXP_LIKE_TEXT_TEXT_TEXT, NULL, USE_LIKE},
	{F_SUBSTRING_TEXT_TEXT, NULL, USE_FILTER},
	{F_SUBSTRING_TEXT_TEXT_TEXT, NULL, USE_FILTER},
	{F_REGEXP_REPLACE_TEXT_TEXT_TEXT, NULL, USE_FILTER},
	{F_REGEXP_REPLACE_TEXT_TEXT_TEXT_TEXT, NULL, USE_FILTER},
	{F_REPLACE, NULL, USE_FILTER},
	{F_TO_CHAR_TIMESTAMP_TEXT, NULL, USE_TRUNC},
	{F_TO_CHAR_TIMESTAMPTZ_TEXT, NULL, USE_TRUNC},
	{F_TO_CHAR_INTERVAL_TEXT, NULL, USE_TRUNC},
	{F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, NULL,
	"Write date_trunc(field, value AT TIME ZONE zone)."},
	{F_AGE_TIMESTAMP, NULL, "Write age(current_date, value)."},
	{F_AGE_TIMESTAMPTZ, NULL, "Write age(current_date, value)."},
	{F_POW_FLOAT8_FLOAT8, NULL, "Write products: x * x."},
	{F_POWER_FLOAT8_FLOAT8, NULL, "Write products: x * x."},
	{F_DPOW, NULL, "Write products: x * x."},
	{F_NUMERIC_POWER, NULL, "Write products: x * x."},
	{F_POW_NUMERIC_NUMERIC, NULL, "Write products: x * x."},
	{F_POWER_NUMERIC_NUMERIC, NULL, "Write products: x * x."}
};

/*
 * dp_expressions_find
 *	  The rule for a built-in function, or NULL.
 */
const dp_expression_rule *
dp_expressions_find(Oid function)
{
	int			i;

	for (i = 0; i < dp_expression_rule_count; i++)
		if (dp_expression_rules[i].function == function)
			return &dp_expression_rules[i];
	return NULL;
}

/*
 * dp_expressions_find_advice
 *	  Detail and hint for refusing a built-in function, or NULL.
 */
const dp_expression_advice *
dp_expressions_find_advice(Oid function)
{
	int			i;

	for (i = 0; i < lengthof(advices); i++)
		if (advices[i].function == function)
			return &advices[i];
	return NULL;
}

/* Whether it has the form of a btree comparison support function. */
static bool
compares(Form_pg_proc form)
{
	return form->prorettype == INT4OID && form->pronargs == 2 &&
		strstr(NameStr(form->proname), "cmp") != NULL;
}

/*
 * dp_expressions_is_leakproof
 *	  Whether the function may be used because PostgreSQL marks it LEAKPROOF.
 *
 * Only internal functions that initdb creates with a fixed OID: on others the
 * mark is not PostgreSQL's claim.  Three-way comparisons promise only a sign:
 * their magnitude is an accident (of memcmp, of the compiler), so that results
 * could depend on how the plan is executed.
 */
bool
dp_expressions_is_leakproof(Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	const dp_expression_advice *advice;
	bool		answer;

	if (function >= FirstGenbkiObjectId)
		return false;
	advice = dp_expressions_find_advice(function);
	if (advice != NULL && advice->detail != NULL)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	answer = form->proleakproof && form->prolang == INTERNALlanguageId &&
		form->prokind == PROKIND_FUNCTION && !form->proretset &&
		form->provolatile != PROVOLATILE_VOLATILE && !compares(form);
	ReleaseSysCache(tuple);
	return answer;
}

/*
 * dp_expressions_is_comparison
 *	  Whether it is a built-in three-way comparison that raises no errors.
 *	  GREATEST and LEAST use its sign.
 */
bool
dp_expressions_is_comparison(Oid function)
{
	HeapTuple	tuple;
	bool		answer;

	if (function == F_NUMERIC_CMP || function == F_ENUM_CMP)
		return true;
	if (function >= FirstGenbkiObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	answer = compares((Form_pg_proc) GETSTRUCT(tuple)) &&
		((Form_pg_proc) GETSTRUCT(tuple))->proleakproof;
	ReleaseSysCache(tuple);
	return answer;
}
