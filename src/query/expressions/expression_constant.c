/*
 * expression_constant.c
 *	  What must be constant in an expression over private rows, checked before
 *	  planning: field names, time zones, LIKE patterns, escapes, precisions,
 *	  and collations, which are constants of a call, too.
 *
 * A built-in checks these only when it is called for a row, so the error of an
 * invalid one would reveal whether such a row exists.
 *
 * Expressions over constants are constants.  So are parameters and expressions
 * over them: their values are known when the query is planned in the
 * connection, before the charge.  The query is then checked again, `settled`,
 * and what is still not constant is refused.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

#define refuse_parameter(location, detail, hint, ...) \
	dp_base_refuse(ERRCODE_INVALID_PARAMETER_VALUE, location, detail, hint, \
				   __VA_ARGS__)
#define refuse_shape(location, detail, hint, ...) \
	dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, location, detail, hint, \
				   __VA_ARGS__)

/* The constant that an expression is, perhaps relabelled, or NULL. */
static Const *
plain_constant(Node *node)
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

/* Whether it is an immutable built-in without arguments to be checked. */
static bool
may_run_early(Oid function)
{
	const dp_expression_rule *rule = dp_expressions_find(function);

	return function < FirstGenbkiObjectId &&
		func_volatile(function) == PROVOLATILE_IMMUTABLE &&
		(rule == NULL || rule->condition == DP_CONDITION_NONE);
}

/*
 * True if computing an expression could run anything else.  It is computed
 * during the check, so nothing in it has been checked before, and the current
 * user may be the owner of a function that was passed another role's view.
 */
static bool
runs_foreign(Node *node, const dp_walk *walk)
{
	Oid			function = InvalidOid;

	switch (nodeTag(node))
	{
		case T_List:
		case T_Const:
		case T_RelabelType:
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_NullTest:
			break;
		case T_FuncExpr:
			function = ((FuncExpr *) node)->funcid;
			break;
		case T_OpExpr:
			function = get_opcode(((OpExpr *) node)->opno);
			break;
		case T_CoerceViaIO:
			if (getBaseType(exprType(node)) != exprType(node) ||
				exprType(node) >= FirstGenbkiObjectId ||
				exprType((Node *) ((CoerceViaIO *) node)->arg) >=
				FirstGenbkiObjectId)
				return true;
			break;
		default:
			return true;
	}
	return OidIsValid(function) && !may_run_early(function);
}

/* The constant that an expression is or can be evaluated to, or NULL. */
static Const *
constant_of(Node *node)
{
	Const	   *constant = plain_constant(node);

	if (constant != NULL || !dp_expressions_is_public_scalar(node) ||
		dp_base_contains(node, runs_foreign, NULL, DP_WALK_ONE_LEVEL))
		return constant;
	node = dp_expressions_make_total(copyObject(node));
	return plain_constant(eval_const_expressions(NULL, node));
}

/* An argument is not constant: refuse it, unless it will be. */
static dp_refusal *
refuse_variable(Node *argument, int location, const char *what, bool settled)
{
	int			here = exprLocation(argument);

	if (!settled && dp_expressions_is_public_scalar(argument))
		return NULL;
	return refuse_shape(here >= 0 ? here : location,
						psprintf("An invalid %s would raise an error only if "
								 "a row reached it.", what),
						psprintf("Write the %s as a constant or a parameter "
								 "in the query.", what),
						"the %s must be a constant on private rows", what);
}

static dp_refusal *
check_field(Oid function, List *args, int location, bool settled)
{
	Const	   *field = constant_of(linitial(args));
	Oid			type = exprType(lsecond(args));
	char	   *name = get_func_name(function);
	bool		trunc = name != NULL && strcmp(name, "date_trunc") == 0;

	if (field == NULL)
		return refuse_variable(linitial(args), location, "field name",
							   settled);
	/* date_part(text, date) is that of a timestamp. */
	if (function == F_DATE_PART_TEXT_DATE)
		type = TIMESTAMPOID;
	if (field->constisnull ||
		dp_expressions_field_is_known(DatumGetTextPP(field->constvalue), type,
									  trunc))
		return NULL;
	return refuse_parameter(field->location >= 0 ? field->location : location,
							NULL, NULL,
							"unknown field \"%s\" for type %s",
							TextDatumGetCString(field->constvalue),
							format_type_be(type));
}

static dp_refusal *
check_zone(List *args, int location, bool settled)
{
	Const	   *zone = constant_of(linitial(args));

	if (zone == NULL)
		return refuse_variable(linitial(args), location, "time zone",
							   settled);
	if (zone->constisnull ||
		dp_expressions_zone_is_known(DatumGetTextPP(zone->constvalue)))
		return NULL;
	return refuse_parameter(zone->location >= 0 ? zone->location : location,
							NULL, NULL, "time zone \"%s\" is not known",
							TextDatumGetCString(zone->constvalue));
}

/* Check a pattern, text or bytea: both are varlenas with the bytes. */
static dp_refusal *
check_pattern_value(Datum value, int location)
{
	bytea	   *pattern = DatumGetByteaPP(value);

	switch (dp_expressions_pattern_check(VARDATA_ANY(pattern),
										 VARSIZE_ANY_EXHDR(pattern)))
	{
		case DP_PATTERN_OK:
			return NULL;
		case DP_PATTERN_ESCAPE:
			return refuse_parameter(location,
									"A backslash makes the next character "
									"literal.",
									"Write \\\\ for a backslash.",
									"pattern ends in its escape character");
		case DP_PATTERN_WILDCARDS:
			return refuse_shape(location, NULL, NULL,
								"pattern has more than %d wildcards",
								DP_TOTAL_WILDCARDS);
	}
	return NULL;
}

/*
 * LIKE .. ESCAPE: both arguments must be constant, and the escape one
 * character.  The escape cannot be a parameter, since the planner evaluates
 * it.
 */
static dp_refusal *
check_escape(List *args, int location, bool settled)
{
	Const	   *pattern = constant_of(linitial(args));
	Const	   *escape = constant_of(lsecond(args));
	bytea	   *value;
	int			length;

	if (escape == NULL)
		return refuse_variable(lsecond(args), location, "escape character",
							   true);
	if (escape->constisnull)
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
	if (pattern == NULL)
		return refuse_variable(linitial(args), location, "pattern", settled);
	return NULL;
}

static dp_refusal *
check_pattern(List *args, int location, bool settled)
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
		return refuse_variable(argument, location, "pattern", settled);

	/* LIKE .. ESCAPE: the pattern is the value of this call. */
	refusal = check_escape(call->args, location, settled);
	if (refusal != NULL)
		return refusal;
	pattern = constant_of(linitial(call->args));
	escape = constant_of(lsecond(call->args));
	if (pattern == NULL || pattern->constisnull || escape->constisnull)
		return NULL;
	escaped = OidFunctionCall2Coll(call->funcid, call->inputcollid,
								   pattern->constvalue, escape->constvalue);
	return check_pattern_value(escaped, pattern->location >= 0 ?
							   pattern->location : location);
}

/*
 * dp_expressions_check_pattern_array
 *	  The patterns of LIKE ANY and LIKE ALL: a constant array, or ARRAY[...]
 *	  of constants.
 */
dp_refusal *
dp_expressions_check_pattern_array(Node *array, int location, bool settled)
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
		return refuse_variable(array, location, "pattern", settled);
	foreach(cell, ((ArrayExpr *) array)->elements)
	{
		constant = constant_of(lfirst(cell));
		if (constant == NULL)
			refusal = refuse_variable(lfirst(cell), location, "pattern",
									  settled);
		else
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
	if (!OidIsValid(collation) || dp_expressions_fold_is_safe(collation))
		return NULL;
	return refuse_shape(location,
						"In the encoding of this database, folding some "
						"characters raises an error.",
						"Use COLLATE \"C\".",
						"case cannot be folded on private rows in this "
						"database");
}

/*
 * A cast to varchar(n) or character(n).  The grammar allows lengths up to
 * MaxAttrSize; a call by name could request a gigabyte of padding.
 */
static dp_refusal *
check_length_cast(Oid function, List *args, int location)
{
	Const	   *typmod = constant_of(lsecond(args));
	Const	   *explicit = constant_of(lthird(args));

	if (typmod == NULL)
		return refuse_variable(lsecond(args), location, "length", true);
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
 * dp_expressions_check_condition
 *	  Checks that a call satisfies the condition of its rule.  NULL if so, or
 *	  if that depends on values that are known later and `settled` is not set.
 */
dp_refusal *
dp_expressions_check_condition(const dp_expression_rule *rule, Oid function,
							   List *args, Oid collation, int location,
							   bool settled)
{
	Const	   *constant;
	dp_refusal *refusal;

	switch (rule->condition)
	{
		case DP_CONDITION_NONE:
			return NULL;
		case DP_CONDITION_FIELD:
			return check_field(rule->function, args, location, settled);
		case DP_CONDITION_ZONE:
			return check_zone(args, location, settled);
		case DP_CONDITION_PATTERN:
			return check_pattern(args, location, settled);
		case DP_CONDITION_PATTERN_FOLD:
			refusal = check_fold(collation, location);
			return refusal != NULL ? refusal :
				check_pattern(args, location, settled);
		case DP_CONDITION_FOLD:
			return check_fold(collation, location);
		case DP_CONDITION_ESCAPE:
			return check_escape(args, location, settled);
		case DP_CONDITION_EXPLICIT:
			return check_length_cast(function, args, location);
		case DP_CONDITION_PRECISION:
			constant = constant_of(lsecond(args));
			if (constant == NULL)
				return refuse_variable(lsecond(args), location, "precision",
									   true);
			if (constant->constisnull ||
				(DatumGetInt32(constant->constvalue) >= 0 &&
				 DatumGetInt32(constant->constvalue) <= 6))
				return NULL;
			return refuse_parameter(location, NULL, NULL,
									"precision must be between 0 and 6");
	}
	return NULL;
}

/* ---- when all values are known ---- */

/* Whether it depends only on its arguments and settings. */
static bool
is_computable(Oid function)
{
	return function < FirstGenbkiObjectId &&
		(func_volatile(function) == PROVOLATILE_IMMUTABLE ||
		 function == F_TO_TIMESTAMP_TEXT_TEXT ||
		 function == F_TO_DATE);
}

/* Whether it uses the value that CASE compares, which is one of the row's. */
static bool
is_case_value(Node *node, const dp_walk *walk)
{
	return IsA(node, CaseTestExpr);
}

/*
 * dp_expressions_is_later
 *	  Whether it is a call without columns of a built-in that is not allowed on
 *	  private rows.  The connection computes it first.  Arguments are not
 *	  checked here.
 */
bool
dp_expressions_is_later(Node *node)
{
	Oid			function = InvalidOid;

	if (IsA(node, FuncExpr) && !((FuncExpr *) node)->funcretset)
		function = ((FuncExpr *) node)->funcid;
	else if (IsA(node, OpExpr) && !((OpExpr *) node)->opretset)
		function = get_opcode(((OpExpr *) node)->opno);
	else if (!IsA(node, CoerceViaIO) ||
			 exprType(node) >= FirstGenbkiObjectId ||
			 exprType((Node *) ((CoerceViaIO *) node)->arg) >=
			 FirstGenbkiObjectId)
		return false;
	if (!IsA(node, CoerceViaIO) &&
		(!is_computable(function) || dp_expressions_find(function) != NULL ||
		 dp_expressions_is_leakproof(function)))
		return false;
	return dp_expressions_is_public_scalar(node) &&
		!dp_base_contains(node, is_case_value, NULL, DP_WALK_ONE_LEVEL);
}

static dp_refusal *
check_settled_call(Oid function, List *args, Oid collation, int location)
{
	const dp_expression_rule *rule = dp_expressions_find_by_total(function);

	if (rule == NULL)
		rule = dp_expressions_find(function);
	return rule == NULL ? NULL :
		dp_expressions_check_condition(rule, function, args, collation,
									   location, true);
}

static dp_refusal *
check_settled_array(ScalarArrayOpExpr *expr)
{
	const dp_expression_rule *rule =
		dp_expressions_find(get_opcode(expr->opno));

	if (rule == NULL || rule->condition != DP_CONDITION_PATTERN)
		return NULL;
	return dp_expressions_check_pattern_array(lsecond(expr->args),
											  expr->location, true);
}

/* Whether a node is refused; *context then says why. */
static bool
may_not_settle(Node *node, const dp_walk *walk)
{
	dp_refusal **refusal = walk->context;

	if (IsA(node, Query))
		*refusal = dp_expressions_check_in_policies((Query *) node,
												dp_expressions_check_settled,
												dp_expressions_check_settled);
	else if (dp_expressions_is_later(node))
		*refusal = refuse_shape(exprLocation(node), NULL,
								"Compute it first and pass its value as a "
								"parameter.",
								"expression could not be computed before "
								"private rows are read");
	else if (IsA(node, FuncExpr))
	{
		FuncExpr   *call = (FuncExpr *) node;

		*refusal = check_settled_call(call->funcid, call->args,
									  call->inputcollid, call->location);
	}
	else if (IsA(node, OpExpr))
	{
		OpExpr	   *call = (OpExpr *) node;

		*refusal = check_settled_call(get_opcode(call->opno), call->args,
									  call->inputcollid, call->location);
	}
	else if (IsA(node, ScalarArrayOpExpr))
		*refusal = check_settled_array((ScalarArrayOpExpr *) node);
	return *refusal != NULL;
}

/* dp_expressions_check_settled: see dp_expressions.h. */
dp_refusal *
dp_expressions_check_settled(Node *query)
{
	dp_refusal *refusal = NULL;

	(void) dp_base_contains(query, may_not_settle, &refusal, 0);
	return refusal;
}

/*
 * dp_expressions_check_collation
 *	  Check that a collation can compare, sort and match every text.
 *
 * Undetermined and nondeterministic ones make some functions raise errors when
 * called for a row.  The locale is opened here, so that one missing in the
 * operating system is an error now.
 */
dp_refusal *
dp_expressions_check_collation(Oid collation, int location)
{
	pg_locale_t locale;

	if (!OidIsValid(collation))
		return dp_base_refuse(ERRCODE_INDETERMINATE_COLLATION, location,
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
							"The memory that ICU needs for a letter with "
							"custom rules is not known.",
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
