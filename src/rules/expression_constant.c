/*
 * expression_constant.c
 *	  What must be a constant in an expression over private rows, checked
 *	  before planning: field names, time zones, LIKE patterns, escapes,
 *	  precisions; and collations, which are constants of a call too.
 *
 * A built-in looks at these only when a row reaches it, so that a bad one
 * would be an error that tells whether such a row exists.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "allow_list.h"
#include "total_functions.h"

#define refuse_parameter(location, detail, hint, ...) \
	dp_bridge_refuse(ERRCODE_INVALID_PARAMETER_VALUE, location, detail, hint, \
					 __VA_ARGS__)
#define refuse_shape(location, detail, hint, ...) \
	dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location, detail, hint, \
					 __VA_ARGS__)

/* The constant an expression is, relabelled perhaps, or NULL. */
static Const *
constant_of(Node *node)
{
	while (node != NULL)
	{
		if (IsA(node, Const))
			return (Const *) node;
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, CollateExpr))
			node = (Node *) ((CollateExpr *) node)->arg;
		else
			return NULL;
	}
	return NULL;
}

static dp_refusal *
refuse_variable(Node *argument, int location, const char *what)
{
	int			here = exprLocation(argument);

	return refuse_shape(here >= 0 ? here : location,
						psprintf("A bad %s would raise an error only if a row "
								 "reached it.", what),
						psprintf("Write the %s as a constant in the query.",
								 what),
						"the %s must be a constant on private rows", what);
}

static dp_refusal *
check_field(Oid function, List *args, int location)
{
	Const	   *field = constant_of(linitial(args));
	Oid			type = exprType(lsecond(args));
	char	   *name = get_func_name(function);
	bool		trunc = name != NULL && strcmp(name, "date_trunc") == 0;

	if (field == NULL)
		return refuse_variable(linitial(args), location, "field name");
	/* date_part(text, date) is that of a timestamp. */
	if (function == F_DATE_PART_TEXT_DATE)
		type = TIMESTAMPOID;
	if (field->constisnull ||
		dp_rules_field_is_known(DatumGetTextPP(field->constvalue), type,
								trunc))
		return NULL;
	return refuse_parameter(field->location >= 0 ? field->location : location,
							NULL, NULL,
							"unknown field \"%s\" for type %s",
							TextDatumGetCString(field->constvalue),
							format_type_be(type));
}

static dp_refusal *
check_zone(List *args, int location)
{
	Const	   *zone = constant_of(linitial(args));

	if (zone == NULL)
		return refuse_variable(linitial(args), location, "time zone");
	if (zone->constisnull ||
		dp_rules_zone_is_known(DatumGetTextPP(zone->constvalue)))
		return NULL;
	return refuse_parameter(zone->location >= 0 ? zone->location : location,
							NULL, NULL, "time zone \"%s\" is not known",
							TextDatumGetCString(zone->constvalue));
}

/* One pattern, text or bytea: both are varlena that hold the bytes. */
static dp_refusal *
check_pattern_value(Datum value, int location)
{
	bytea	   *pattern = DatumGetByteaPP(value);

	switch (dp_rules_pattern_check(VARDATA_ANY(pattern),
								   VARSIZE_ANY_EXHDR(pattern)))
	{
		case DP_PATTERN_OK:
			return NULL;
		case DP_PATTERN_ESCAPE:
			return refuse_parameter(location,
									"A backslash makes the next character "
									"stand for itself.",
									"Write \\\\ for a backslash.",
									"pattern ends in its escape character");
		case DP_PATTERN_WILDCARDS:
			return refuse_shape(location, NULL, NULL,
								"pattern has more than %d wildcards",
								DP_TOTAL_WILDCARDS);
	}
	return NULL;
}

/* LIKE .. ESCAPE: both arguments constant, the escape one character? */
static dp_refusal *
check_escape(List *args, int location)
{
	Const	   *pattern = constant_of(linitial(args));
	Const	   *escape = constant_of(lsecond(args));
	bytea	   *value;
	int			length;

	if (pattern == NULL)
		return refuse_variable(linitial(args), location, "pattern");
	if (escape == NULL)
		return refuse_variable(lsecond(args), location, "escape character");
	if (pattern->constisnull || escape->constisnull)
		return NULL;
	value = DatumGetByteaPP(escape->constvalue);
	length = VARSIZE_ANY_EXHDR(value);
	if (escape->consttype != BYTEAOID)
		length = pg_mbstrlen_with_len(VARDATA_ANY(value), length);
	if (length > 1)
		return refuse_parameter(escape->location >= 0 ? escape->location :
								location, NULL, NULL,
								"the escape of a pattern must be empty or one "
								"character");
	return NULL;
}

static dp_refusal *
check_pattern(List *args, int location)
{
	Node	   *argument = lsecond(args);
	Const	   *pattern = constant_of(argument);
	Const	   *escape;
	FuncExpr   *call = (FuncExpr *) argument;
	dp_refusal *refusal;
	Datum		escaped;

	if (pattern != NULL)
		return pattern->constisnull ? NULL :
			check_pattern_value(pattern->constvalue,
								pattern->location >= 0 ? pattern->location :
								location);
	if (!IsA(argument, FuncExpr) ||
		(call->funcid != F_LIKE_ESCAPE_TEXT_TEXT &&
		 call->funcid != F_LIKE_ESCAPE_BYTEA_BYTEA))
		return refuse_variable(argument, location, "pattern");

	/* LIKE .. ESCAPE: the pattern is the value of this call. */
	refusal = check_escape(call->args, location);
	if (refusal != NULL)
		return refusal;
	pattern = constant_of(linitial(call->args));
	escape = constant_of(lsecond(call->args));
	if (pattern->constisnull || escape->constisnull)
		return NULL;
	escaped = OidFunctionCall2Coll(call->funcid, call->inputcollid,
								   pattern->constvalue, escape->constvalue);
	return check_pattern_value(escaped, pattern->location >= 0 ?
							   pattern->location : location);
}

/*
 * dp_rules_check_pattern_array
 *	  The patterns of LIKE ANY and LIKE ALL: a constant array, or ARRAY[...]
 *	  of constants.
 */
dp_refusal *
dp_rules_check_pattern_array(Node *array, int location)
{
	Const	   *constant = constant_of(array);
	dp_refusal *refusal;
	ListCell   *cell;

	if (constant != NULL && !constant->constisnull)
	{
		ArrayType  *values = DatumGetArrayTypeP(constant->constvalue);
		Datum	   *elements;
		bool	   *nulls;
		int			count;
		int			i;

		deconstruct_array(values, ARR_ELEMTYPE(values), -1, false,
						  TYPALIGN_INT, &elements, &nulls, &count);
		for (i = 0; i < count; i++)
		{
			refusal = nulls[i] ? NULL :
				check_pattern_value(elements[i], location);
			if (refusal != NULL)
				return refusal;
		}
		return NULL;
	}
	if (constant != NULL)
		return NULL;
	if (!IsA(array, ArrayExpr))
		return refuse_variable(array, location, "pattern");
	foreach(cell, ((ArrayExpr *) array)->elements)
	{
		constant = constant_of(lfirst(cell));
		if (constant == NULL)
			return refuse_variable(lfirst(cell), location, "pattern");
		refusal = constant->constisnull ? NULL :
			check_pattern_value(constant->constvalue, location);
		if (refusal != NULL)
			return refusal;
	}
	return NULL;
}

static dp_refusal *
check_fold(Oid collation, int location)
{
	if (!OidIsValid(collation) || dp_rules_fold_is_safe(collation))
		return NULL;
	return refuse_shape(location,
						"In the encoding of this database some characters "
						"cannot be folded, which raises an error.",
						"Use COLLATE \"C\".",
						"letters cannot be folded on private rows here");
}

/*
 * A cast to varchar(n) or character(n).  The grammar admits lengths up to
 * MaxAttrSize; a call by name could ask for a gigabyte of padding.
 */
static dp_refusal *
check_length_cast(Oid function, List *args, int location)
{
	Const	   *typmod = constant_of(lsecond(args));
	Const	   *explicit = constant_of(lthird(args));

	if (typmod == NULL)
		return refuse_variable(lsecond(args), location, "length");
	if (!typmod->constisnull &&
		DatumGetInt32(typmod->constvalue) > VARHDRSZ + MaxAttrSize)
		return refuse_parameter(location, NULL, NULL, "length is too large");
	if (function == F_BPCHAR_BPCHAR_INT4_BOOL && !typmod->constisnull &&
		DatumGetInt32(typmod->constvalue) > VARHDRSZ + DP_TOTAL_CHAR_LIMIT)
		return refuse_parameter(location,
								"Every value is padded to that length.",
								"Cast to varchar(n) or text.",
								"character(n) may have at most 1000 "
								"characters on private rows");
	if (explicit != NULL && !explicit->constisnull &&
		DatumGetBool(explicit->constvalue))
		return NULL;
	return refuse_shape(location,
						"An implicit cast to a length raises an error for "
						"longer values.",
						"Write an explicit cast, which truncates them.",
						"implicit cast to a length cannot be used on private "
						"rows");
}

/*
 * dp_rules_check_condition
 *	  Does a call fulfil the condition of its rule?  NULL if so.
 */
dp_refusal *
dp_rules_check_condition(const dp_expression_rule *rule, Oid function,
						 List *args, Oid collation, int location)
{
	Const	   *constant;
	dp_refusal *refusal;

	switch (rule->condition)
	{
		case DP_CONDITION_NONE:
			return NULL;
		case DP_CONDITION_FIELD:
			return check_field(rule->function, args, location);
		case DP_CONDITION_ZONE:
			return check_zone(args, location);
		case DP_CONDITION_PATTERN:
			return check_pattern(args, location);
		case DP_CONDITION_PATTERN_FOLD:
			refusal = check_fold(collation, location);
			return refusal != NULL ? refusal : check_pattern(args, location);
		case DP_CONDITION_FOLD:
			return check_fold(collation, location);
		case DP_CONDITION_ESCAPE:
			return check_escape(args, location);
		case DP_CONDITION_EXPLICIT:
			return check_length_cast(function, args, location);
		case DP_CONDITION_PRECISION:
			constant = constant_of(lsecond(args));
			if (constant == NULL)
				return refuse_variable(lsecond(args), location, "precision");
			if (constant->constisnull ||
				(DatumGetInt32(constant->constvalue) >= 0 &&
				 DatumGetInt32(constant->constvalue) <= 6))
				return NULL;
			return refuse_parameter(location, NULL, NULL,
									"precision must be between 0 and 6");
	}
	return NULL;
}

/*
 * dp_rules_check_collation
 *	  Can a collation compare, sort and match every text?
 *
 * Undetermined and nondeterministic ones are errors of some functions, raised
 * where a row reaches them.  The locale is opened here, so that one that the
 * operating system lost is an error now.
 */
dp_refusal *
dp_rules_check_collation(Oid collation, int location)
{
	pg_locale_t locale;

	if (!OidIsValid(collation))
		return dp_bridge_refuse(ERRCODE_INDETERMINATE_COLLATION, location,
								NULL, "Add a COLLATE clause.",
								"could not determine which collation to use");
	if (dp_compat_collate_is_c(collation) &&
		dp_compat_ctype_is_c(collation))
		return NULL;
	locale = pg_newlocale_from_collation(collation);
	if (locale == NULL)
		return NULL;
	if (!locale->deterministic)
		return refuse_shape(location,
							"Its comparisons can raise errors.",
							"Use COLLATE with a deterministic collation.",
							"nondeterministic collation \"%s\" cannot be used "
							"on private rows", get_collation_name(collation));
	if (dp_compat_collation_has_rules(collation))
		return refuse_shape(location,
							"What ICU makes of a letter by rules of its own "
							"has no known size.",
							"Use COLLATE with a collation without rules.",
							"collation \"%s\" has rules and cannot be used on "
							"private rows", get_collation_name(collation));
	if (locale->provider == COLLPROVIDER_ICU &&
		GetDatabaseEncoding() != PG_UTF8)
		return refuse_shape(location,
							"ICU converts text of this encoding, which can "
							"raise errors.",
							"Use COLLATE \"C\".",
							"ICU collation \"%s\" cannot be used on private "
							"rows", get_collation_name(collation));
	return NULL;
}
