/*
 * predicates.c
 *	  Predicates and weights given as SQL texts, analysed over one relation.
 *
 * Each text is what could be written after WHERE, or a number.  It is parsed
 * separately, as exactly one expression, so that no quote, comment, semicolon
 * or clause in it has an effect outside; it is then analysed by PostgreSQL's
 * rules for WHERE (no aggregate, window function or set), over the columns of
 * the relation, with the rights of the caller but only built-in names, and
 * checked by the expression rules.
 *
 * A predicate counts a row or not; a number is the row's weight, from 0 to 1.
 * The caller must ensure that range.
 *
 * Nothing is read or charged here.  An error names its predicate in its
 * context, and its position is in the predicate's text.
 *
 * A group key is read by the same steps, and returned as text that is safe to
 * paste.
 *
 * A predicate over public values (the cells of a universe) is read by the same
 * steps, over columns that the caller lists instead of a relation's.  It is
 * never evaluated on private rows, so any immutable built-in function is
 * allowed.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "../../base/dp_base.h"
#include "../expressions/dp_expressions.h"
#include "../rowsets/dp_rowsets.h"
#include "dp_split.h"
#include "split_internal.h"

/* ----------------
 *		The texts of an SQL function's predicates, checked against limits.
 * ----------------
 */

/* Memory kept for a predicate grows with its text. */
static void
check_length(int number, Size length, Size *total)
{
	*total += length;
	if (length > DP_PREDICATE_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("predicate %d is too long", number),
				 errdetail("It may have %d bytes.", DP_PREDICATE_LENGTH),
				 errhint("Write a shorter predicate.")));
	if (*total > DP_PREDICATES_LENGTH)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("predicates are too long"),
				 errdetail("All together may have %d bytes.",
						   DP_PREDICATES_LENGTH),
				 errhint("Ask about fewer at a time.")));
}

/*
 * dp_split_predicate_texts
 *	  The elements of a text[] argument with predicates: a list of at least one
 *	  char *.
 *
 * Errors: 22004 a NULL element, 22023 no elements or several dimensions, 54000
 * more than DP_PREDICATES_MAX, or texts that are too long.
 */
List *
dp_split_predicate_texts(ArrayType *array)
{
	List	   *texts = NIL;
	Size		total = 0;
	char	   *predicate;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int			i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predicates must be an array of one dimension")));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values,
					  &nulls, &n);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are no predicates"),
				 errhint("Write them as ARRAY['cost > 1000', 'age < 18'].")));
	if (n > DP_PREDICATES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many predicates"),
				 errdetail("%d were given; at most %d are allowed.", n,
						   DP_PREDICATES_MAX),
				 errhint("Ask about fewer at a time.")));
	for (i = 0; i < n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("predicate %d is NULL", i + 1),
					 errhint("Leave it out, or write 'false'.")));
		predicate = TextDatumGetCString(values[i]);
		check_length(i + 1, strlen(predicate), &total);
		texts = lappend(texts, predicate);
	}
	return texts;
}

/* Argument of the error context callback: the predicate that raises. */
typedef struct predicate_place
{
	int			number;			/* from 1; 0 if there is only one */
	const char *text;
	bool		key;			/* not a predicate or a weight */
} predicate_place;

/*
 * The position of an error in a predicate is in its text, not in the query's.
 */
static void
place_context(void *arg)
{
	const predicate_place *place = arg;
	int			position = geterrposition();

	if (position > 0)
	{
		errposition(0);
		internalerrposition(position);
		internalerrquery(place->text);
	}
	if (place->number > 0)
		errcontext("predicate %d: %s", place->number, place->text);
	else
		errcontext("%s: %s", place->key ? "key" : "predicate", place->text);
}

/* ---- one predicate ---- */

static bool
is_whole_row(Node *expression)
{
	return IsA(expression, ColumnRef) &&
		IsA(llast(((ColumnRef *) expression)->fields), A_Star);
}

/* The text as one raw expression; NULL if it is anything else. */
static Node *
parse_expression(const char *text)
{
	List	   *statements = raw_parser(text, RAW_PARSE_PLPGSQL_EXPR);
	SelectStmt *select = castNode(SelectStmt,
								  linitial_node(RawStmt, statements)->stmt);
	ResTarget  *target;

	if (list_length(select->targetList) != 1 ||
		select->distinctClause != NIL || select->intoClause != NULL ||
		select->fromClause != NIL || select->whereClause != NULL ||
		select->groupClause != NIL || select->havingClause != NULL ||
		select->windowClause != NIL || select->valuesLists != NIL ||
		select->sortClause != NIL || select->limitOffset != NULL ||
		select->limitCount != NULL || select->lockingClause != NIL ||
		select->withClause != NULL || select->op != SETOP_NONE)
		return NULL;
	target = linitial_node(ResTarget, select->targetList);
	if (target->name != NULL || target->indirection != NIL ||
		target->val == NULL || is_whole_row(target->val))
		return NULL;
	return target->val;
}

/* ---- built-in names only ---- */

static bool
is_builtin_name(List *name)
{
	return list_length(name) == 1 ||
		(list_length(name) == 2 &&
		 strcmp(strVal(linitial(name)), "pg_catalog") == 0);
}

static bool
is_builtin_type(TypeName *name)
{
	Oid			type;

	if (name->pct_type ||
		(name->names != NIL && !is_builtin_name(name->names)))
		return false;
	type = LookupTypeNameOid(NULL, name, true);
	return OidIsValid(type) && type < FirstNormalObjectId;
}

/*
 * Does the raw expression name a function, operator or type that is not built
 * in?  Analysis would call input functions for literals, so this is checked
 * before: the text may come from someone other than the current user.
 */
static bool
foreign_name_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncCall:
			if (!is_builtin_name(((FuncCall *) node)->funcname))
				return true;
			break;
		case T_A_Expr:
			if (((A_Expr *) node)->name != NIL &&
				!is_builtin_name(((A_Expr *) node)->name))
				return true;
			break;
		case T_TypeName:
			if (!is_builtin_type((TypeName *) node))
				return true;
			break;
		case T_SubLink:
			return true;
		default:
			break;
	}
	return raw_expression_tree_walker(node, foreign_name_walker, context);
}

/*
 * Is a column of a type that is not built in?  Its own operators are not found
 * here, and others could be used in their place.
 */
static bool
is_foreign_column(Node *node, const dp_walk *walk)
{
	Oid			type;

	if (!IsA(node, Var))
		return false;
	type = getBaseType(((Var *) node)->vartype);
	return type >= FirstNormalObjectId && !type_is_enum(type);
}

static dp_refusal *
refuse_foreign(bool key)
{
	if (key)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Private queries group by expressions of "
							  "built-in functions, operators and types, "
							  "without subqueries.",
							  "Name a column, or use what is built in.",
							  "a key uses something that is not built in");
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "A predicate is text that may come from somebody "
						  "other than the role that runs it: subqueries, "
						  "and functions, operators and types made by "
						  "users, would run with that role's rights.",
						  "Use built-in functions and types; compute other "
						  "values first, and write them into the "
						  "predicate.",
						  "a predicate uses something that is not built in");
}

/*
 * dp_split_is_weight
 *	  Is a predicate's expression a weight?
 */
bool
dp_split_is_weight(Node *expression)
{
	switch (getBaseType(exprType(expression)))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
			return true;
		default:
			return false;
	}
}

static dp_refusal *
refuse_syntax(bool key)
{
	if (key)
		return dp_base_refuse(ERRCODE_SYNTAX_ERROR, -1,
							  "A key is the name of a column, or one "
							  "expression.",
							  "Write what would stand after GROUP BY, as in "
							  "'date_trunc(''month'', day)', and each key "
							  "as an element of the array.",
							  "key is not an expression");
	return dp_base_refuse(ERRCODE_SYNTAX_ERROR, -1,
						  "A predicate is one boolean expression, a weight "
						  "a numeric one.",
						  "Write what would stand after WHERE, as in "
						  "'cost > 1000'.",
						  "predicate is not an expression");
}

/* Analyse the text as a boolean or a number, or as a key of GROUP BY. */
static dp_refusal *
transform(ParseState *pstate, const char *text, bool key, Node **out)
{
	Node	   *expression = parse_expression(text);

	if (expression == NULL)
		return refuse_syntax(key);
	pstate->p_sourcetext = text;
	if (foreign_name_walker(expression, NULL))
		return refuse_foreign(key);
	expression = transformExpr(pstate, expression,
							   key ? EXPR_KIND_GROUP_BY : EXPR_KIND_WHERE);
	if (dp_base_contains(expression, is_foreign_column, NULL,
						 DP_WALK_ONE_LEVEL))
		return refuse_foreign(key);
	if (!key && !dp_split_is_weight(expression))
		expression = coerce_to_boolean(pstate, expression, "a predicate");
	assign_expr_collations(pstate, expression);
	if (key && !contain_var_clause(expression))
		return dp_base_refuse(ERRCODE_INVALID_PARAMETER_VALUE, -1,
							  "All rows would be in one group.",
							  "Leave it out.",
							  "key has no column");
	*out = expression;
	return NULL;
}

static dp_refusal *
analyse(ParseState *pstate, const predicate_place *place, Node **out)
{
	dp_refusal *refusal = transform(pstate, place->text, place->key, out);

	return refusal != NULL ? refusal : dp_expressions_check(*out);
}

/* Raises what is wrong with it. */
static Node *
read_predicate(ParseState *pstate, predicate_place *place)
{
	ErrorContextCallback callback;
	Node	   *expression = NULL;
	dp_refusal *refusal;

	callback.callback = place_context;
	callback.arg = place;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	refusal = analyse(pstate, place, &expression);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, place->text);
	error_context_stack = callback.previous;
	return expression;
}

/* ---- all of them ---- */

static Relation
open_relation(Oid relid)
{
	Relation	relation = try_table_open(relid, AccessShareLock);
	Oid			namespace;
	AclResult	right;

	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	/*
	 * A name in FROM could not have referred to a schema without this right.
	 */
	namespace = RelationGetNamespace(relation);
	right = object_aclcheck(NamespaceRelationId, namespace, GetUserId(),
							ACL_USAGE);
	if (right != ACLCHECK_OK)
		aclcheck_error(right, OBJECT_SCHEMA, get_namespace_name(namespace));
	return relation;
}

/* Make only columns of the relation and built-in names visible. */
static void
show_columns(ParseState *pstate, Relation relation)
{
	/* Temporary types are excluded by OID. */
	dp_base_set_local("search_path", "pg_catalog, pg_temp");
	addNSItemToQuery(pstate,
					 addRangeTableEntryForRelation(pstate, relation,
												   AccessShareLock, NULL,
												   true, true),
					 true, true, true);
}

/*
 * dp_split_read_predicates
 *	  SELECT predicate, ... FROM relation, as the parser would return it: one
 *	  target, boolean or a weight, for each text, in order.  It must still be
 *	  rewritten; the relation stays locked.
 *
 * Errors, with the predicate in their context: 42601 not an expression, 42804
 * neither boolean nor a number, 42703 and others of the parser, 0A000 not
 * allowed on private rows.  Also 42P01 no such relation, 42501 no right to use
 * its schema.
 */
Query *
dp_split_read_predicates(Oid relid, List *texts)
{
	ParseState *pstate = make_parsestate(NULL);
	Relation	relation = open_relation(relid);
	Query	   *query = dp_rowsets_make_level(NIL);
	int			nest = NewGUCNestLevel();
	ListCell   *lc;

	show_columns(pstate, relation);
	foreach(lc, texts)
	{
		predicate_place place;

		CHECK_FOR_INTERRUPTS();
		place.number = foreach_current_index(lc) + 1;
		place.text = lfirst(lc);
		place.key = false;
		(void) dp_rowsets_add_target(&query->targetList,
									 read_predicate(pstate, &place),
									 psprintf("p%d", place.number));
	}
	dp_compat_parsed_entries(query, pstate);
	query->jointree->fromlist = pstate->p_joinlist;
	table_close(relation, NoLock);
	free_parsestate(pstate);
	AtEOXact_GUC(true, nest);
	return query;
}

/* ---- one key ---- */

PG_FUNCTION_INFO_V1(dp_suggest_key);

/*
 * dp_suggest_key
 *	  SQL: dp_pg.suggest_key(relation regclass, key text) returns text: a
 *	  column by its name, or an expression of GROUP BY over the relation's
 *	  columns, as it must be written if the relation is "t" and search_path is
 *	  "pg_catalog, pg_temp".
 *
 * Errors, with the key in their context: 42601 not an expression, 42703 and
 * others of the parser, 0A000 not allowed in private queries, 22023 without a
 * column.  Also 42P01 no such relation, 42501 no right to use its schema.
 */
Datum
dp_suggest_key(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	predicate_place place = {0, text_to_cstring(PG_GETARG_TEXT_PP(1)), true};
	ParseState *pstate;
	int			nest;
	Relation	relation;
	Node	   *key;
	char	   *written;

	if (get_attnum(relid, place.text) > 0)
		PG_RETURN_TEXT_P(cstring_to_text(psprintf("t.%s",
									  quote_identifier(place.text))));
	pstate = make_parsestate(NULL);
	nest = NewGUCNestLevel();
	relation = open_relation(relid);
	show_columns(pstate, relation);
	key = read_predicate(pstate, &place);
	written = deparse_expression(key, deparse_context_for("t", relid), true,
								 false);
	table_close(relation, NoLock);
	free_parsestate(pstate);
	AtEOXact_GUC(true, nest);
	PG_RETURN_TEXT_P(cstring_to_text(written));
}

/* ---- one predicate over public values ---- */

typedef struct public_columns
{
	TupleDesc	columns;
	Oid			relid;
	List	   *missing;		/* names of the relation's other columns */
} public_columns;

/* The public column "name" or "relation.name", or NULL. */
static Node *
predicates_find_column(ParseState *pstate, ColumnRef *reference)
{
	public_columns *state = pstate->p_ref_hook_state;
	Node	   *last = llast(reference->fields);
	const char *name;
	AttrNumber	attnum;
	int			i;

	if (!IsA(last, String) || list_length(reference->fields) > 2)
		return NULL;
	name = strVal(last);
	if (list_length(reference->fields) == 2)
	{
		char	   *relation = get_rel_name(state->relid);

		if (relation == NULL ||
			strcmp(strVal(linitial(reference->fields)), relation) != 0)
			return NULL;
	}
	for (i = 0; i < state->columns->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(state->columns, i);

		if (strcmp(NameStr(column->attname), name) == 0)
			return (Node *) makeVar(1, i + 1, column->atttypid,
									column->atttypmod, column->attcollation,
									0);
	}
	attnum = get_attnum(state->relid, name);
	if (attnum <= 0)
		return NULL;
	state->missing = list_append_unique(state->missing,
										makeString(pstrdup(name)));
	return (Node *) makeNullConst(get_atttype(state->relid, attnum), -1,
								  InvalidOid);
}

static dp_refusal *
refuse_missing(const public_columns *state)
{
	StringInfoData names;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, state->missing)
		appendStringInfo(&names, "%s\"%s\"",
						 foreach_current_index(lc) > 0 ? ", " : "",
						 strVal(lfirst(lc)));
	return dp_base_refuse(ERRCODE_INVALID_PARAMETER_VALUE, -1,
						  psprintf("Not in the universe: %s.", names.data),
						  "Ask only about the columns of the universe.",
						  "predicate names columns outside the universe");
}

static dp_refusal *
analyse_public(ParseState *pstate, const char *text, Node **out)
{
	public_columns *state = pstate->p_ref_hook_state;
	dp_refusal *refusal = transform(pstate, text, false, out);

	if (refusal != NULL)
		return refusal;
	if (state->missing != NIL)
		return refuse_missing(state);
	if (contain_mutable_functions(*out))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Whether it holds for given values must never "
							  "change.",
							  "Write values into the predicate that no "
							  "setting and no clock can change.",
							  "predicate depends on more than its columns");
	return NULL;
}

/*
 * dp_split_read_public_predicate
 *	  A predicate or a weight over public values: Vars of range table entry 1
 *	  with the columns' positions from 1.  *total: its functions raise no
 *	  error.
 *
 * Columns are found by name; the relation is only used for error messages.
 * Errors, with the predicate in their context: 42601 not an expression, 42804
 * neither boolean nor a number, 42703 and others of the parser, 0A000 not
 * built in or not immutable, 22023 columns of the relation that are not among
 * those given.
 */
Node *
dp_split_read_public_predicate(Oid relid, TupleDesc columns,
							   const char *text, bool *total)
{
	ParseState *pstate = make_parsestate(NULL);
	int			nest = NewGUCNestLevel();
	public_columns state = {columns, relid, NIL};
	predicate_place place = {0, text};
	ErrorContextCallback callback;
	Node	   *expression = NULL;
	dp_refusal *refusal;

	dp_base_set_local("search_path", "pg_catalog, pg_temp");
	pstate->p_pre_columnref_hook = predicates_find_column;
	pstate->p_ref_hook_state = &state;
	callback.callback = place_context;
	callback.arg = &place;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	refusal = analyse_public(pstate, text, &expression);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, text);
	error_context_stack = callback.previous;
	*total = dp_expressions_check(expression) == NULL &&
		dp_expressions_check_settled(expression) == NULL;
	if (*total)
		expression = dp_expressions_make_total(expression);
	free_parsestate(pstate);
	AtEOXact_GUC(true, nest);
	return expression;
}
