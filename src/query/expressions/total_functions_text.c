/*
 * total_functions_text.c
 *	  Text functions that return NULL instead of raising errors: substrings,
 *	  trimming, concatenation, case folding, ILIKE; and short values.
 *
 * Why they cannot raise errors.  Text in a database is valid in its encoding,
 * so stepping through characters cannot fail.  The remaining causes are
 * allocations above the limit, which DP_TOTAL_TEXT_LIMIT prevents; negative
 * lengths, tested here; and characters without an equivalent in the C
 * library's wide characters, which dp_expressions_fold_is_safe rules out.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "../../base/dp_compat.h"
#include "expressions_internal.h"

/* Length in bytes, without detoasting. */
static Size
text_size(Datum text)
{
	return toast_raw_datum_size(text) - VARHDRSZ;
}

#define FITS(argument) \
	(text_size(PG_GETARG_DATUM(argument)) <= DP_TOTAL_TEXT_LIMIT)

/*
 * dp_expressions_pattern_check
 *	  What is wrong with a LIKE pattern, for text and bytea.
 *
 * In server encodings backslash and percent are never part of a longer
 * character, so bytes are examined.
 */
dp_pattern_fault
dp_expressions_pattern_check(const char *pattern, int length)
{
	int			wildcards = 0;
	int			i;

	for (i = 0; i < length; i++)
	{
		if (pattern[i] == '\\')
		{
			i++;
			if (i == length)
				return DP_PATTERN_ESCAPE;
		}
		else if (pattern[i] == '%')
			wildcards++;
	}
	return wildcards > DP_TOTAL_WILDCARDS ? DP_PATTERN_WILDCARDS :
		DP_PATTERN_OK;
}

/*
 * dp_expressions_fold_is_safe
 *	  Whether lower, upper and ILIKE can fold every valid text under the
 *	  collation.
 *
 * Bytes are folded one by one in the C locale and in single-byte encodings.
 * Otherwise text is converted to wide characters and back, which succeeds for
 * all of UTF-8, but in other encodings fails for characters that the C library
 * lacks.
 */
bool
dp_expressions_fold_is_safe(Oid collation)
{
	pg_locale_t locale;

	if (!OidIsValid(collation))
		return false;
	if (dp_compat_ctype_is_c(collation))
		return true;
	if (GetDatabaseEncoding() == PG_UTF8)
		return true;
	locale = pg_newlocale_from_collation(collation);
	return pg_database_encoding_max_length() == 1 &&
		(locale == NULL || locale->provider == COLLPROVIDER_LIBC);
}

/* The same, and the collation can match patterns; cached in the call. */
static bool
can_fold(FunctionCallInfo fcinfo, bool match)
{
	bool	   *known = fcinfo->flinfo->fn_extra;
	Oid			collation = PG_GET_COLLATION();
	pg_locale_t locale;

	if (known == NULL)
	{
		bool		answer = dp_expressions_fold_is_safe(collation);

		if (answer && match && !dp_compat_ctype_is_c(collation))
		{
			locale = pg_newlocale_from_collation(collation);
			answer = locale == NULL || locale->deterministic;
		}
		known = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(bool));
		*known = answer;
		fcinfo->flinfo->fn_extra = known;
	}
	return *known;
}

DP_TOTAL_FUNCTION(text_substr)
{
	if (PG_GETARG_INT32(2) < 0)
		PG_RETURN_NULL();
	return text_substr(fcinfo);
}

DP_TOTAL_FUNCTION(textcat)
{
	if (text_size(PG_GETARG_DATUM(0)) + text_size(PG_GETARG_DATUM(1)) >
		DP_TOTAL_TEXT_LIMIT)
		PG_RETURN_NULL();
	return textcat(fcinfo);
}

#define DP_BOUNDED(name, condition) \
DP_TOTAL_FUNCTION(name) \
{ \
	if (!(condition)) \
		PG_RETURN_NULL(); \
	return name(fcinfo); \
}

DP_BOUNDED(btrim1, FITS(0))
DP_BOUNDED(ltrim1, FITS(0))
DP_BOUNDED(rtrim1, FITS(0))
DP_BOUNDED(btrim, FITS(0) && FITS(1))
DP_BOUNDED(ltrim, FITS(0) && FITS(1))
DP_BOUNDED(rtrim, FITS(0) && FITS(1))
DP_BOUNDED(lower, FITS(0) && can_fold(fcinfo, false))
DP_BOUNDED(upper, FITS(0) && can_fold(fcinfo, false))
DP_BOUNDED(initcap, FITS(0) && can_fold(fcinfo, false))

/*
 * Most pairs of bytes that a search may compare, since it cannot be
 * interrupted: a quarter of a second.
 */
#define SEARCHED ((uint64) 1 << 28)

/* Whether the first argument can be searched for the second one in time. */
static bool
can_search(FunctionCallInfo fcinfo)
{
	return (uint64) text_size(PG_GETARG_DATUM(0)) *
		text_size(PG_GETARG_DATUM(1)) <= SEARCHED;
}

DP_BOUNDED(textpos, can_search(fcinfo))
DP_BOUNDED(split_part, PG_GETARG_INT32(2) != 0 && FITS(0) &&
		   can_search(fcinfo))
DP_BOUNDED(text_to_array, text_size(PG_GETARG_DATUM(0)) <=
		   DP_TOTAL_LIST_LIMIT && can_search(fcinfo))

/*
 * Whether the second argument is a pattern that ILIKE accepts without an
 * error.
 */
static bool
can_match(FunctionCallInfo fcinfo)
{
	text	   *pattern;

	if (!FITS(1) || !can_fold(fcinfo, true))
		return false;
	pattern = PG_GETARG_TEXT_PP(1);
	return dp_expressions_pattern_check(VARDATA_ANY(pattern),
										VARSIZE_ANY_EXHDR(pattern)) ==
		DP_PATTERN_OK;
}

DP_BOUNDED(texticlike, FITS(0) && can_match(fcinfo))
DP_BOUNDED(texticnlike, FITS(0) && can_match(fcinfo))
DP_BOUNDED(nameiclike, can_match(fcinfo))
DP_BOUNDED(nameicnlike, can_match(fcinfo))

PG_FUNCTION_INFO_V1(dp_short_value);
PG_FUNCTION_INFO_V1(dp_sortable_value);

/* The argument, or NULL if it is too long; it is not detoasted. */
static Datum
limit_value(FunctionCallInfo fcinfo, Size most, const char *name)
{
	Datum		value = PG_GETARG_DATUM(0);

	if (unlikely(fcinfo->flinfo->fn_extra == NULL))
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 0);

		if (!OidIsValid(type) || get_typlen(type) != -1)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("dp_pg.%s needs a type of variable length", name),
					 errhint("It is meant for private queries only.")));
		fcinfo->flinfo->fn_extra = fcinfo->flinfo;
	}
	if (text_size(value) > most)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(value);
}

/*
 * dp_short_value
 *	  SQL: dp_pg.short_value(anyelement): its argument, or NULL if that is
 *	  longer than DP_TOTAL_TEXT_LIMIT.
 */
Datum
dp_short_value(PG_FUNCTION_ARGS)
{
	return limit_value(fcinfo, DP_TOTAL_TEXT_LIMIT, "short_value");
}

/*
 * dp_sortable_value
 *	  SQL: dp_pg.sortable_value(anyelement): its argument, or NULL if that is
 *	  longer than DP_TOTAL_COLLATED_LIMIT.
 */
Datum
dp_sortable_value(PG_FUNCTION_ARGS)
{
	return limit_value(fcinfo, DP_TOTAL_COLLATED_LIMIT, "sortable_value");
}
