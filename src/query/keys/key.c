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
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../expressions/dp_expressions.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_keys.h"
#include "keys_internal.h"

/* ----------------
 *		Keys without public values: released by threshold.
 *
 * A value of such a key is released if enough units have it; the decision is
 * noisy and is charged with an epsilon and a delta (doc/theory.md T104, T105).
 * This happens only if dp_pg.delta is set; otherwise such a key is refused.
 *
 * A value is released in one spelling for all that are equal, since the
 * spelling would otherwise be a row's: so the key's type must be one that
 * domains/key_value.c can spell, and its collation deterministic.
 * ----------------
 */

static const char *const threshold_hint =
"Or SET dp_pg.delta, as in '1e-9': keys that enough units have are then "
"released by threshold, for one more epsilon and the delta.";

/* Extend the refusal of a key that could be released, with both ways out. */
static dp_refusal *
add_hint(dp_refusal *refusal)
{
	refusal->hint = refusal->hint == NULL ? pstrdup(threshold_hint) :
		psprintf("%s  %s", refusal->hint, threshold_hint);
	return refusal;
}

static bool
key_can_be_released(const dp_key *key)
{
	return dp_domains_can_be_released(getBaseType(key->type)) &&
		(!OidIsValid(key->collation) ||
		 get_collation_isdeterministic(key->collation));
}

static dp_refusal *
key_refuse_type(Node *expression, const dp_key *key, const dp_refusal *public)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(expression),
						  "Setting dp_pg.delta is set, but values that are "
						  "equal have no single spelling that could be "
						  "released.",
						  public->hint != NULL ?
						  psprintf("Cast the key to text or to a number, "
								   "under a deterministic collation.  %s",
								   public->hint) :
						  "Cast the key to text or to a number, under a "
						  "deterministic collation.",
						  "group key of type %s cannot be released by "
						  "threshold",
						  format_type_be(key->type));
}

/*
 * dp_keys_classify_undeclared
 *	  Classify a verified grouping expression; `refusal` says why it is not
 *	  public, or NULL.  Returns the refusal that remains; NULL if its values
 *	  are released by threshold.
 */
dp_refusal *
dp_keys_classify_undeclared(Node *expression, dp_key *key,
							dp_refusal *refusal)
{
	if (refusal == NULL)
		return NULL;
	if (dp_setting_delta[0] == '\0')
		return key_can_be_released(key) ? add_hint(refusal) : refusal;
	if (!key_can_be_released(key))
		return key_refuse_type(expression, key, refusal);
	key->kind = DP_KEY_UNDECLARED;
	key->attnum = 0;
	key->nullable = true;		/* its single place among public values */
	key->constant = NULL;
	key->conditions = NIL;
	key->image = NULL;
	key->cases = NIL;
	key->base = NULL;
	return NULL;
}

/*
 * dp_keys_refuse_undeclared: refuse an aggregate that is not supported with
 * them.
 */
dp_refusal *
dp_keys_refuse_undeclared(const Aggref *aggregate)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  aggregate->location, NULL,
						  "Declare the keys, name them in WHERE, or ask for "
						  "one condition at a time.",
						  "%s is not supported with undeclared group keys",
						  get_func_name(aggregate->aggfnoid));
}

/* dp_keys_has_undeclared: see dp_keys.h. */
bool
dp_keys_has_undeclared(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->keys)
		if (((const dp_key *) lfirst(lc))->kind == DP_KEY_UNDECLARED)
			return true;
	return false;
}

/* dp_keys_no_unit: the unit of rows that are units themselves. */
Expr *
dp_keys_no_unit(void)
{
	return (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(0), false, true);
}

/* dp_keys_release_keys: see dp_keys.h. */
dp_block *
dp_keys_release_keys(dp_block *block)
{
	dp_block   *told;
	Expr	   *unit;
	ListCell   *lc;

	if (block->many)
		return block;
	told = copyObject(block);
	unit = dp_keys_no_unit();
	told->many = true;
	told->single = true;
	told->unit_type = exprType((Node *) unit);
	told->inner->targetList =
		list_insert_nth(told->inner->targetList, list_length(told->keys),
						makeTargetEntry(unit, 0, pstrdup("unit"), false));
	foreach(lc, told->inner->targetList)
		((TargetEntry *) lfirst(lc))->resno = foreach_current_index(lc) + 1;
	return told;
}

/* ----------------
 *		Keys computed from a column whose values are public, and keys that can
 *		only be constants.
 *
 *	- CASE with constant results, COALESCE of those: the constants are the
 *		public values, whatever the conditions test.
 *	- An allowed expression over one column with public values: these are
 *		evaluated before the charge, and rows are looked up
 *		by the column, so that what equals a public value is in its group; the
 *		inner query then computes the column and not the key.
 *	- An allowed expression over one bounded timestamp, through fields of
 *		time only: its values are those of all cells of time between the bounds
 *		(domains/decide_time.c), and rows are looked up by the key.
 * ----------------
 */

/* ---- constants ---- */

static bool
key_is_unknown(Node *node, const dp_walk *walk)
{
	return IsA(node, Var) || IsA(node, Aggref) || IsA(node, SubLink) ||
		(IsA(node, Param) && (((Param *) node)->paramkind != PARAM_EXTERN ||
							  ((Param *) node)->paramid <= 0));
}

/* Add the values that an expression can have; false when not all are known. */
static bool
add_cases(Node *node, List **cases)
{
	ListCell   *lc;

	if (!dp_base_contains(node, key_is_unknown, NULL, DP_WALK_ONE_LEVEL))
	{
		*cases = lappend(*cases, node);
		return true;
	}
	switch (nodeTag(node))
	{
		case T_CaseExpr:
			foreach(lc, ((CaseExpr *) node)->args)
				if (!add_cases((Node *) lfirst_node(CaseWhen, lc)->result,
							   cases))
					return false;
			return add_cases((Node *) ((CaseExpr *) node)->defresult, cases);
		case T_CoalesceExpr:
			foreach(lc, ((CoalesceExpr *) node)->args)
				if (!add_cases(lfirst(lc), cases))
					return false;
			return true;
		default:
			return false;
	}
}

/* ---- the column ---- */

static bool
key_is_column(Node *node, const dp_walk *walk)
{
	if (!IsA(node, Var))
		return false;
	*(Var **) walk->context = (Var *) node;
	return true;
}

/* The first column of the expression that a key is an image of, or NULL. */
static Var *
image_column(Node *base, const dp_key *key)
{
	Var		   *found = NULL;

	if (key->image != NULL)
		(void) dp_base_contains(base, key_is_column, &found,
								DP_WALK_ONE_LEVEL);
	return found;
}

/*
 * Add the column to the subquery's targets; NULL if the subquery groups by
 * something else: a group's rows have several values, and their order, which
 * depends on other rows, would choose one.
 */
static Var *
key_add_target(RangeTblEntry *entry, Index index, Var *column)
{
	Query	   *query = entry->subquery;
	TargetEntry *target = NULL;
	ListCell   *lc;

	foreach(lc, query->targetList)
		if (!((TargetEntry *) lfirst(lc))->resjunk &&
			equal(((TargetEntry *) lfirst(lc))->expr, column))
			target = lfirst(lc);
	if (target == NULL && dp_rowsets_is_grouped(query))
		return NULL;
	if (target == NULL)
	{
		target = dp_rowsets_add_target(&query->targetList, (Node *) column,
									   "column");
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup("column")));
	}
	return makeVar(index, target->resno, column->vartype, column->vartypmod,
				   column->varcollid, 0);
}

/*
 * A column of a leaf (leaf.c) at a level of the verified query, passed up
 * through the levels below.  NULL: the leaf is not below this level, or below
 * one that groups by something else or does UNION ALL.
 */
static Var *
reach_column(Query *query, const Var *column)
{
	ListCell   *lc;

	if (query->setOperations != NULL)
		return NULL;
	foreach(lc, dp_rowsets_list_items(query))
	{
		int			index = lfirst_int(lc);
		RangeTblEntry *entry = rt_fetch(index, query->rtable);
		Var		   *below;

		if (entry->rtekind == RTE_SUBQUERY)
		{
			below = reach_column(entry->subquery, column);
			below = below == NULL ? NULL : key_add_target(entry, index, below);
			if (below != NULL)
				return dp_rowsets_above_joins(query, below);
		}
		else if (dp_rowsets_leaf_number(entry) == (int) column->varno)
			return dp_rowsets_above_joins(query,
										  makeVar(index, column->varattno,
												  column->vartype,
												  column->vartypmod,
												  column->varcollid, 0));
	}
	return NULL;
}

/* ---- classes ---- */

static bool
classify_time(const Var *column, Oid relid, dp_key *key)
{
	dp_attribute *declared = dp_protect_attribute(relid, column->varattno);

	if (declared == NULL || declared->lower == NULL ||
		!dp_domains_is_time(getBaseType(column->vartype)))
		return false;
	key->attnum = column->varattno;
	key->nullable = !declared->no_nulls &&
		!dp_protect_proved_not_null(relid, column->varattno, NULL);
	return dp_domains_key_has_cells(key);
}

/*
 * Record what is known about the one column of a key that is looked up by it.
 */
static void
note_column(Node *base, dp_key *key)
{
	Var		   *found = image_column(base, key);

	if (found == NULL)
		return;
	key->base = dp_make_node(dp_key);
	/* finds out whether it can be NULL, even if it is no key */
	(void) dp_keys_classify((Node *) found, (Node *) found, key->relid,
							key->base);
	/* even if the declaration excludes NULL as a key */
	key->base->nullable = !dp_protect_proved_not_null(key->relid,
													  found->varattno, NULL);
}

/*
 * dp_keys_classify_image
 *	  Classify a key that is not public otherwise, or was refused; `refusal`
 *	  says why.  Returns the refusal that remains; *column is set if the inner
 *	  query must compute the column instead of the key.
 */
dp_refusal *
dp_keys_classify_image(Query *query, Node *base, dp_key *key,
					   dp_refusal *refusal, Expr **column)
{
	List	   *cases = NIL;
	Var		   *found;

	if (refusal == NULL && (key->kind == DP_KEY_BOOLEAN ||
							key->kind == DP_KEY_ENUM))
		note_column(base, key);
	if (refusal == NULL || !dp_domains_key_can_be_named(key))
		return refusal;
	if (add_cases(base, &cases))
	{
		key->kind = DP_KEY_CASES;
		key->cases = cases;
		key->nullable = true;	/* they decide */
		note_column(base, key);
		return NULL;
	}
	if (IsA(base, Var) && OidIsValid(key->relid))
		refusal->hint = psprintf("Name its values in WHERE, with IN or =.  %s",
								 refusal->hint);
	found = image_column(base, key);
	if (found == NULL)
		return refusal;
	key->base = dp_make_node(dp_key);
	if (dp_keys_classify((Node *) found, (Node *) found, key->relid,
						 key->base) == NULL)
	{
		Var		   *reached = reach_column(query, found);

		if (reached == NULL)
		{
			key->base = NULL;
			return refusal;
		}
		*column = (Expr *) reached;
		key->kind = DP_KEY_IMAGE;
		return NULL;
	}
	key->base = NULL;
	if (!classify_time(found, key->relid, key))
		return refusal;
	key->kind = DP_KEY_IMAGE;
	return NULL;
}

/* The column that an expression is, ignoring relabelling; else NULL. */
static Var *
plain_column(Node *node)
{
	node = dp_base_unlabelled(node);
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

	node = dp_base_unlabelled(node);
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
		!dp_protect_proved_not_null(relid, attnum, NULL);
}

/* Is it a built-in comparison, which accepts all values that are not NULL? */
static bool
key_is_comparison(Oid operator)
{
	Oid			left;
	Oid			right;

	if (operator >= FirstNormalObjectId || !op_strict(operator))
		return false;
	if (get_func_leakproof(get_opcode(operator)))
		return true;
	op_input_types(operator, &left, &right);
	return OidIsValid(left) && dp_domains_is_ordering(operator, left);
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
			return dp_protect_proved_not_null(relid,
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
			if (!key_is_comparison(((OpExpr *) node)->opno))
				return false;
			arguments = ((OpExpr *) node)->args;
			break;
		case T_ScalarArrayOpExpr:
			if (!key_is_comparison(((ScalarArrayOpExpr *) node)->opno))
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
key_refuse_key(Node *expression, const char *what, const char *hint)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(expression),
						  undeclared_detail, hint, "%s", what);
}

/* Refuse a column of public rows, for which nothing is declared. */
static dp_refusal *
refuse_joined(Node *expression)
{
	return key_refuse_key(expression, "values of this group key are not named",
						  "It is a column of a joined public relation: name "
						  "its values in WHERE, as in key IN (1, 2), or group "
						  "by the column of the protected relation.");
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
		return key_refuse_key(original,
							  "group key is not a public function of a "
							  "declared column",
							  "Use a constant field and a column with "
							  "declared bounds, as in date_trunc('month', "
							  "day).");
	key->kind = is_trunc_function(call->funcid) ? DP_KEY_TRUNC :
		DP_KEY_EXTRACT;
	if (!(key->kind == DP_KEY_TRUNC ? dp_domains_key_trunc_step(field, &step) :
		  dp_domains_key_extract_range(field, &monotone, &first, &last)))
		return key_refuse_key(original,
							  psprintf("field \"%s\" cannot be used in a "
									   "group key", field),
							  "Use year, quarter, month, week, day, hour or "
							  "minute, or a field of extract that repeats, "
							  "such as dow.");
	if (!OidIsValid(relid))
		return refuse_joined(original);
	declared = dp_protect_attribute(relid, column->varattno);
	if (declared == NULL || declared->lower == NULL)
		return key_refuse_key(original,
							  psprintf("group key over column \"%s\" needs "
									   "declared bounds",
									   get_attname(relid, column->varattno,
												   true)),
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
		return key_refuse_key(original,
							  psprintf("values of group key \"%s\" are not "
									   "public",
									   get_attname(relid, column->varattno,
												   true)),
							  is_range_type(type) ?
							  "Ask the data owner to run dp_declare(relation, "
							  "column, lower => ..., upper => ...) or "
							  "dp_declare(relation, column, keys => ...)." :
							  "Ask the data owner to run dp_declare(relation, "
							  "column, keys => ...).");
	return NULL;
}

/*
 * dp_keys_column_of_extreme
 *	  The column of which the expression is the minimum or maximum in a group,
 *	  hence one of its values or NULL; NULL for other expressions.
 */
Var *
dp_keys_column_of_extreme(Node *node)
{
	const Aggref *aggregate = (const Aggref *) node;

	if (!IsA(node, Aggref) || aggregate->aggfilter != NULL ||
		!dp_expressions_is_extreme(aggregate))
		return NULL;
	return plain_column((Node *) linitial_node(TargetEntry,
											   aggregate->args)->expr);
}

/*
 * dp_keys_classify
 *	  Decide where the public values of a grouping expression come from.
 *
 * `expression` is what the outer query shows, `base` the same over the columns
 * of the relation `relid`, which is InvalidOid if they belong to public rows
 * or several relations.  Returns a refusal, or NULL with *key, an empty node,
 * filled.
 */
dp_refusal *
dp_keys_classify(Node *expression, Node *base, Oid relid, dp_key *key)
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
		column = dp_keys_column_of_extreme(base);
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
	return key_refuse_key(expression,
						  "values of this group key are not public",
						  "Group by an expression over one column with "
						  "declared keys or bounds, a condition, or CASE with "
						  "constant results; or name its values, as in WHERE "
						  "key IN (1, 2).");
}
