/*
 * key.c
 *	  Group keys: which expressions have public values.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "split.h"

/* The column that an expression is, ignoring relabelling; else NULL. */
static Var *
plain_column(Node *node)
{
	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node != NULL && IsA(node, Var) ? (Var *) node : NULL;
}

/*
 * The column under a cast from date to timestamp or timestamptz, which
 * date_trunc and extract add to dates; otherwise the column itself.
 */
static Var *
column_under_date_cast(Node *node)
{
	if (node != NULL && IsA(node, FuncExpr))
	{
		FuncExpr   *cast = (FuncExpr *) node;

		if ((cast->funcid == F_TIMESTAMP_DATE ||
			 cast->funcid == F_TIMESTAMPTZ_DATE) &&
			list_length(cast->args) == 1)
			node = linitial(cast->args);
	}
	return plain_column(node);
}

/* The constant text of a field argument, lower case; else NULL. */
static char *
constant_field(Node *node)
{
	char	   *field;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	if (node == NULL || !IsA(node, Const) || ((Const *) node)->constisnull ||
		((Const *) node)->consttype != TEXTOID)
		return NULL;
	field = TextDatumGetCString(((Const *) node)->constvalue);
	return str_tolower(field, strlen(field), C_COLLATION_OID);
}

/*
 * Does the column have a group for NULL?  Not if it is never NULL, or if the
 * owner declared that NULL is no key.
 */
static bool
has_null_group(Oid relid, AttrNumber attnum, const dp_attribute *declared)
{
	return (declared == NULL || !declared->no_nulls) &&
		!dp_block_proved_not_null(relid, attnum, NULL);
}

/* Is it a built-in comparison, which accepts all values that are not NULL? */
static bool
is_comparison(Oid operator)
{
	Oid			left;
	Oid			right;

	if (operator >= FirstNormalObjectId || !op_strict(operator))
		return false;
	if (get_func_leakproof(get_opcode(operator)))
		return true;
	op_input_types(operator, &left, &right);
	return OidIsValid(left) && dp_places_is_ordering(operator, left);
}

/* Is it a cast from a numeric type to another, for a comparison? */
static bool
is_number_cast(const FuncExpr *cast)
{
	return cast->funcid < FirstNormalObjectId && func_strict(cast->funcid) &&
		cast->funcformat != COERCE_EXPLICIT_CALL &&
		TypeCategory(cast->funcresulttype) == TYPCATEGORY_NUMERIC &&
		TypeCategory(exprType(linitial(cast->args))) == TYPCATEGORY_NUMERIC;
}

static bool never_null(Node *node, Oid relid);

/* Is the array of IN or ANY free of NULLs? */
static bool
no_element_null(Node *node, Oid relid)
{
	ListCell   *lc;

	if (IsA(node, Const))
	{
		const Const *list = (const Const *) node;

		return !list->constisnull &&
			!array_contains_nulls(DatumGetArrayTypeP(list->constvalue));
	}
	if (!IsA(node, ArrayExpr) || ((ArrayExpr *) node)->multidims)
		return false;
	foreach(lc, ((ArrayExpr *) node)->elements)
		if (!never_null(lfirst(lc), relid))
			return false;
	return true;
}

/* Is every value of the expression provably not NULL? */
static bool
never_null(Node *node, Oid relid)
{
	ListCell   *lc;
	List	   *arguments;

	switch (nodeTag(node))
	{
		case T_NullTest:
		case T_BooleanTest:
		case T_DistinctExpr:
			return true;
		case T_Const:
			return !((Const *) node)->constisnull;
		case T_Aggref:
			return ((Aggref *) node)->aggfnoid == F_COUNT_ ||
				((Aggref *) node)->aggfnoid == F_COUNT_ANY;
		case T_Var:
			return dp_block_proved_not_null(relid,
											((Var *) node)->varattno,
											NULL);
		case T_RelabelType:
			return never_null((Node *) ((RelabelType *) node)->arg, relid);
		case T_FuncExpr:
			if (!is_number_cast((FuncExpr *) node))
				return false;
			arguments = ((FuncExpr *) node)->args;
			break;
		case T_BoolExpr:
			arguments = ((BoolExpr *) node)->args;
			break;
		case T_CoalesceExpr:
			foreach(lc, ((CoalesceExpr *) node)->args)
				if (never_null(lfirst(lc), relid))
					return true;
			return false;
		case T_OpExpr:
			if (!is_comparison(((OpExpr *) node)->opno))
				return false;
			arguments = ((OpExpr *) node)->args;
			break;
		case T_ScalarArrayOpExpr:
			if (!is_comparison(((ScalarArrayOpExpr *) node)->opno))
				return false;
			arguments = ((ScalarArrayOpExpr *) node)->args;
			return never_null(linitial(arguments), relid) &&
				no_element_null(lsecond(arguments), relid);
		default:
			return false;
	}
	foreach(lc, arguments)
		if (!never_null(lfirst(lc), relid))
			return false;
	return true;
}

static bool
is_trunc_function(Oid function)
{
	return function == F_DATE_TRUNC_TEXT_TIMESTAMP ||
		function == F_DATE_TRUNC_TEXT_TIMESTAMPTZ;
}

static bool
is_extract_function(Oid function)
{
	switch (function)
	{
		case F_EXTRACT_TEXT_DATE:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_DATE:
		case F_DATE_PART_TEXT_TIMESTAMP:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			return true;
		default:
			return false;
	}
}

static bool
is_range_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID ||
		type == DATEOID;
}

static const char *const undeclared_detail =
"The values of a group key must be public, because a key that appears shows "
"that somebody has it.";

static dp_refusal *
refuse_key(Node *expression, const char *what, const char *hint)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							exprLocation(expression),
							undeclared_detail, hint, "%s", what);
}

/* Refuse a column of public rows, for which nothing is declared. */
static dp_refusal *
refuse_joined(Node *expression)
{
	return refuse_key(expression, "values of this group key are not named",
					  "It is a column of a joined public relation: name its "
					  "values in WHERE, as in key IN (1, 2), or group by the "
					  "column of the protected relation.");
}

/* Classify date_trunc(field, column) and extract(field from column). */
static dp_refusal *
classify_function(FuncExpr *call, Node *original, Oid relid, dp_key *key)
{
	char	   *field = constant_field(linitial(call->args));
	Var		   *column = column_under_date_cast(lsecond(call->args));
	dp_attribute *declared;
	Interval	step;
	bool		monotone;
	int			first;
	int			last;

	if (field == NULL || column == NULL)
		return refuse_key(original, "group key is not a public function of a "
						  "declared column",
						  "Use a constant field and a column with declared "
						  "bounds, as in date_trunc('month', day).");
	key->kind = is_trunc_function(call->funcid) ? DP_KEY_TRUNC :
		DP_KEY_EXTRACT;
	if (!(key->kind == DP_KEY_TRUNC ? dp_places_key_trunc_step(field, &step) :
		  dp_places_key_extract_range(field, &monotone, &first, &last)))
		return refuse_key(original,
						  psprintf("field \"%s\" cannot be used in a group "
								   "key", field),
						  "Use year, quarter, month, week, day, hour or "
						  "minute, or a field of extract that repeats, such "
						  "as dow.");
	if (!OidIsValid(relid))
		return refuse_joined(original);
	declared = dp_protect_attribute(relid, column->varattno);
	if (declared == NULL || declared->lower == NULL)
		return refuse_key(original,
						  psprintf("group key over column \"%s\" needs "
								   "declared bounds",
								   get_attname(relid, column->varattno, true)),
						  "Ask the data owner to run dp_declare(relation, "
						  "column, lower => ..., upper => ...).");
	key->attnum = column->varattno;
	key->base_type = exprType(lsecond(call->args));
	key->field = field;
	key->nullable = has_null_group(relid, column->varattno, declared);
	return NULL;
}

static dp_refusal *
classify_column(Var *column, Node *original, Oid relid, dp_key *key)
{
	dp_attribute *declared = dp_protect_attribute(relid, column->varattno);
	Oid			type = getBaseType(key->type);

	key->attnum = column->varattno;
	key->nullable = has_null_group(relid, column->varattno, declared);
	if (declared != NULL && declared->keys != NIL)
		key->kind = DP_KEY_DECLARED;
	else if (type == BOOLOID)
		key->kind = DP_KEY_BOOLEAN;
	else if (type_is_enum(type))
		key->kind = DP_KEY_ENUM;
	else if (is_range_type(type) && declared != NULL &&
			 declared->lower != NULL)
		key->kind = DP_KEY_RANGE;
	else if (!OidIsValid(relid))
		return refuse_joined(original);
	else
		return refuse_key(original,
						  psprintf("values of group key \"%s\" are not public",
								   get_attname(relid, column->varattno, true)),
						  is_range_type(type) ?
						  "Ask the data owner to run dp_declare(relation, "
						  "column, lower => ..., upper => ...) or "
						  "dp_declare(relation, column, keys => ...)." :
						  "Ask the data owner to run dp_declare(relation, "
						  "column, keys => ...).");
	return NULL;
}

/*
 * dp_block_column_of_extreme
 *	  The column of which the expression is the minimum or maximum in a group,
 *	  hence one of its values or NULL; NULL for other expressions.
 */
Var *
dp_block_column_of_extreme(Node *node)
{
	const Aggref *aggregate = (const Aggref *) node;

	if (!IsA(node, Aggref) || aggregate->aggfilter != NULL ||
		!dp_rules_is_extreme(aggregate))
		return NULL;
	return plain_column((Node *) linitial_node(TargetEntry,
											   aggregate->args)->expr);
}

/*
 * dp_block_classify_key
 *	  Decide where the public values of a grouping expression come from.
 *
 * `expression` is what the outer query shows, `base` the same over the columns
 * of the relation `relid`, which is InvalidOid if they belong to public rows
 * or several relations.  Returns a refusal, or NULL with *key, an empty node,
 * filled.
 */
dp_refusal *
dp_block_classify_key(Node *expression, Node *base, Oid relid, dp_key *key)
{
	Var		   *column;
	Oid			type;

	key->type = exprType(expression);
	key->typmod = exprTypmod(expression);
	key->collation = exprCollation(expression);
	key->relid = relid;
	type = getBaseType(key->type);

	if (IsA(base, Const))
	{
		key->kind = DP_KEY_CONSTANT;
		key->constant = (Const *) base;
		return NULL;
	}
	column = plain_column(base);
	if (column == NULL)
		column = dp_block_column_of_extreme(base);
	if (column != NULL)
		return classify_column(column, expression, relid, key);
	if (IsA(base, FuncExpr) &&
		(is_trunc_function(((FuncExpr *) base)->funcid) ||
		 is_extract_function(((FuncExpr *) base)->funcid)))
		return classify_function((FuncExpr *) base, expression, relid, key);
	if (type == BOOLOID || type_is_enum(type))
	{
		key->kind = type == BOOLOID ? DP_KEY_BOOLEAN : DP_KEY_ENUM;
		key->nullable = !never_null(base, relid);
		return NULL;
	}
	return refuse_key(expression, "values of this group key are not public",
					  "Group by an expression over one column with declared "
					  "keys or bounds, a condition, or CASE with constant "
					  "results; or name its values, as in WHERE key IN (1, "
					  "2).");
}
