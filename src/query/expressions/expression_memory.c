/*
 * expression_memory.c
 *	  Limit the memory for evaluating expressions on one private row before any
 *	  row is read.
 *
 * If memory ran out only where a private condition holds, the error, or the
 * system's out-of-memory killer, would reveal a row.  So the largest result of
 * every node is inferred from the query's text and declared types, all public,
 * and a query that may take too much is refused before it is charged.
 *
 *	- A column is as long as its type allows: char(n), varchar(n), numeric.
 *	  One without a length counts as NULL in expressions if it is longer than
 *	  DP_TOTAL_TEXT_LIMIT: dp_pg.short_value is put where it is read.  Where no
 *	  value is fetched (IS NULL, a group key, equality with one or a few
 *	  constants, which compares lengths first) it is used as it is.
 *	- A function's result is bounded by its arguments (allow_list.c);
 *	  exceptions are listed here.
 *	- What a call fetches (out-of-line values) and returns is kept until the
 *	  row is done, except in comparisons, which free it.  A pattern under ANY
 *	  or ALL is a call for each of its elements.
 *	- A list of constants that is hashed is hashed when a row first reaches it.
 *	- A call may temporarily take several times its arguments' size: 12 bytes
 *	  for a character in btrim(), wide characters and their conversions in
 *	  upper() and initcap(), copies in comparisons.
 *
 * Limits apply to what a row keeps and to what one call uses temporarily.
 * More is reserved, since palloc rounds sizes up, a total function may fetch
 * an argument twice, and freed memory can only be reused for requests that are
 * no larger.
 *
 * Columns of subqueries count as their expressions wherever they are used,
 * because the planner may pull them up.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../../catalog/dp_catalog.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

/* ----------------
 *		Columns without a declared length, in expressions over private rows.
 *
 * Their values may have any length, so dp_pg.short_value is put where one is
 * read, which makes longer ones NULL.
 * ----------------
 */

/* rules_short_value: OID of dp_pg.short_value(anyelement). */
static Oid
rules_short_value(void)
{
	Oid			type = ANYELEMENTOID;

	return dp_catalog_function("short_value", 1, &type);
}

/*
 * type_bytes
 *	  Size of the largest value of a type, or 0 if it has no known limit.
 */
static Size
type_bytes(Oid type, int32 typmod)
{
	int			length = get_typlen(getBaseType(type));
	int32		most;

	if (length > 0)
		return (Size) length;
	switch (getBaseType(type))
	{
		case NUMERICOID:
			return DP_EXPRESSION_NUMERIC;
		case INETOID:
		case CIDROID:
			return DP_EXPRESSION_SHORT;
	}
	most = type_maximum_size(type, typmod);
	return most > 0 && most <= DP_TOTAL_TEXT_LIMIT ? (Size) most : 0;
}

/* A column of UNION ALL: any of those of its arms, which are its entries. */
static Node *
any_column(const Query *united, const Var *var)
{
	CoalesceExpr *any = makeNode(CoalesceExpr);
	int			arm;

	any->coalescetype = var->vartype;
	any->coalescecollid = var->varcollid;
	any->location = -1;
	for (arm = 1; arm <= list_length(united->rtable); arm++)
		any->args = lappend(any->args,
							makeVar(arm, var->varattno, var->vartype,
									var->vartypmod, var->varcollid, 0));
	return (Node *) any;
}

/*
 * rules_column
 *	  The expression behind a column of a subquery of the level, or NULL.
 */
static Node *
rules_column(const Query *level, const Var *var, const Query **below)
{
	const RangeTblEntry *entry;

	if (var->varlevelsup > 0 || var->varno > list_length(level->rtable))
		return NULL;
	entry = list_nth_node(RangeTblEntry, level->rtable, var->varno - 1);
	if (entry->rtekind != RTE_SUBQUERY || var->varattno < 1 ||
		var->varattno > list_length(entry->subquery->targetList))
		return NULL;
	*below = entry->subquery;
	if (entry->subquery->setOperations != NULL)
		return any_column(entry->subquery, var);
	return (Node *) list_nth_node(TargetEntry, entry->subquery->targetList,
								  var->varattno - 1)->expr;
}

/*
 * count_elements
 *	  Number of elements of a list of constants; too many for anything else.
 */
static Size
count_elements(Node *list)
{
	ArrayType  *array;
	Size		n = 0;
	ListCell   *lc;

	/* casts of elements to another type, which the planner folds */
	while (IsA(list, ArrayCoerceExpr) || IsA(list, RelabelType))
		list = IsA(list, RelabelType) ?
			(Node *) ((RelabelType *) list)->arg :
			(Node *) ((ArrayCoerceExpr *) list)->arg;
	if (IsA(list, ArrayExpr))
	{
		if (!((ArrayExpr *) list)->multidims)
			return list_length(((ArrayExpr *) list)->elements);
		foreach(lc, ((ArrayExpr *) list)->elements)
			n += count_elements(lfirst(lc));
		return Min(n, DP_EXPRESSION_MEMORY + 1);
	}
	if (!IsA(list, Const))
		return DP_EXPRESSION_MEMORY + 1;
	if (((Const *) list)->constisnull)
		return 0;
	array = DatumGetArrayTypeP(((Const *) list)->constvalue);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

static bool memory_is_long(Node *node, const Query *level);

static bool
has_long(List *args, const Query *level)
{
	ListCell   *lc;

	foreach(lc, args)
		if (memory_is_long(lfirst(lc), level))
			return true;
	return false;
}

/*
 * Whether the value may be that of a column without a known length, perhaps
 * through subqueries and CASE.  Unlisted nodes are judged by their type.
 */
static bool
memory_is_long(Node *node, const Query *level)
{
	const Query *below;
	Node	   *column;
	ListCell   *lc;

	if (node == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_RelabelType:
			return memory_is_long((Node *) ((RelabelType *) node)->arg, level);
		case T_CollateExpr:
			return memory_is_long((Node *) ((CollateExpr *) node)->arg, level);
		case T_ArrayCoerceExpr:
			return memory_is_long((Node *) ((ArrayCoerceExpr *) node)->arg,
								  level);
		case T_NullIfExpr:
			return memory_is_long(linitial(((NullIfExpr *) node)->args),
								  level);
		case T_CoalesceExpr:
			return has_long(((CoalesceExpr *) node)->args, level);
		case T_CaseExpr:
			foreach(lc, ((CaseExpr *) node)->args)
				if (memory_is_long((Node *) ((CaseWhen *) lfirst(lc))->result,
								   level))
					return true;
			return memory_is_long((Node *) ((CaseExpr *) node)->defresult,
								  level);
		case T_Var:
			column = rules_column(level, (Var *) node, &below);
			if (column != NULL)
				return memory_is_long(column, below);
			return type_bytes(((Var *) node)->vartype,
							  ((Var *) node)->vartypmod) == 0;
		case T_Const:
		case T_ArrayExpr:		/* of constants */
		case T_FuncExpr:		/* limited by arguments */
		case T_OpExpr:
		case T_MinMaxExpr:		/* of shortened values */
		case T_CaseTestExpr:
			return false;
		default:
			return type_bytes(exprType(node),
							  exprTypmod(node)) == 0;
	}
}

/* A call of a function whose result has the type of its argument. */
static Node *
wrap(Oid function, Node *node)
{
	FuncExpr   *call = makeFuncExpr(function, exprType(node),
									list_make1(node), exprCollation(node),
									exprCollation(node),
									COERCE_EXPLICIT_CALL);

	call->location = exprLocation(node);
	return (Node *) call;
}

/*
 * Whether the value is known to be short enough for a linguistic comparison.
 */
static bool
is_sortable(Node *node)
{
	Oid			type = getBaseType(exprType(node));
	Size		most;

	if (get_typlen(type) != -1 || type_is_array(type))
		return true;
	if (IsA(node, Const))
	{
		const Const *constant = (Const *) node;

		return constant->constisnull ||
			datumGetSize(constant->constvalue, constant->constbyval,
						 constant->constlen) <= DP_TOTAL_COLLATED_LIMIT;
	}
	most = type_bytes(type, exprTypmod(node));
	return most > 0 && most <= DP_TOTAL_COLLATED_LIMIT;
}

/*
 * The value, or NULL if it is too long, for linguistic comparison or at all.
 */
static Node *
shorten(Node *node, const Query *level, bool collated)
{
	if (collated)
		return is_sortable(node) ? node :
			wrap(dp_expressions_sortable_value(), node);
	return memory_is_long(node, level) ? wrap(rules_short_value(),
											  node) : node;
}

/*
 * compares_bytes
 *	  Whether the function compares lengths, then bytes, and takes no memory.
 */
static bool
compares_bytes(Oid function)
{
	switch (function)
	{
		case F_TEXTEQ:
		case F_TEXTNE:
		case F_BYTEAEQ:
		case F_BYTEANE:
			return true;
		default:
			return false;
	}
}

/* Equality of a column with a constant, which compares lengths first. */
static bool
compares_lengths(const OpExpr *operator)
{
	return compares_bytes(get_opcode(operator->opno)) &&
		(IsA(linitial(operator->args), Const) ||
		 IsA(lsecond(operator->args), Const));
}

/* IN with so few constants that they are compared and not hashed. */
static bool
compares_few(const ScalarArrayOpExpr *operator)
{
	return get_opcode(operator->opno) == F_TEXTEQ &&
		count_elements(lsecond(operator->args)) <
		DP_EXPRESSION_HASHED;
}

/*
 * Built-ins and total versions.  (Functions of the release handle long
 * values.)
 */
static bool
reads_values(Oid function)
{
	return function < FirstGenbkiObjectId ||
		dp_expressions_find_by_total(function) != NULL;
}

/* The arguments of a node that reads their values, or NULL. */
static List **
arguments_of(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return reads_values(((FuncExpr *) node)->funcid) ?
				&((FuncExpr *) node)->args : NULL;
		case T_OpExpr:
		case T_DistinctExpr:
			return compares_lengths((OpExpr *) node) ? NULL :
				&((OpExpr *) node)->args;
		case T_NullIfExpr:		/* returns the value */
			return &((NullIfExpr *) node)->args;
		case T_ScalarArrayOpExpr:
			return compares_few((ScalarArrayOpExpr *) node) ? NULL :
				&((ScalarArrayOpExpr *) node)->args;
		case T_MinMaxExpr:
			return &((MinMaxExpr *) node)->args;
		default:
			return NULL;
	}
}

/* Whether the node compares its arguments linguistically. */
static bool
is_collated(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return dp_expressions_collates(((FuncExpr *) node)->funcid,
										   ((FuncExpr *) node)->inputcollid);
		case T_OpExpr:
			return dp_expressions_collates(get_opcode(((OpExpr *) node)->opno),
										   ((OpExpr *) node)->inputcollid);
		case T_ScalarArrayOpExpr:
			return dp_expressions_collates(get_opcode(((ScalarArrayOpExpr *)
													   node)->opno),
										   ((ScalarArrayOpExpr *)
											node)->inputcollid);
		case T_MinMaxExpr:
			return dp_expressions_linguistic(
					((MinMaxExpr *) node)->inputcollid);
		default:
			return false;
	}
}

static void
shorten_all(List *args, const Query *level, bool collated)
{
	ListCell   *lc;

	foreach(lc, args)
		lfirst(lc) = shorten(lfirst(lc), level, collated);
}

/* Each pair has its own collation. */
static void
shorten_rows(RowCompareExpr *rows, const Query *level)
{
	ListCell   *left;
	ListCell   *right;
	ListCell   *collation;

	forthree(left, rows->largs, right, rows->rargs,
			 collation, rows->inputcollids)
	{
		bool		collated =
			dp_expressions_linguistic(lfirst_oid(collation));

		lfirst(left) = shorten(lfirst(left), level, collated);
		lfirst(right) = shorten(lfirst(right), level, collated);
	}
}

static Node *
memory_short_mutator(Node *node, void *context)
{
	const Query **level = context;
	const Query *before = *level;
	List	  **args;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		*level = (Query *) node;
		node = (Node *) query_tree_mutator((Query *) node,
										   memory_short_mutator, context, 0);
		*level = before;
		return node;
	}
	node = expression_tree_mutator(node, memory_short_mutator, context);
	args = arguments_of(node);
	if (args != NULL)
		shorten_all(*args, *level, is_collated(node));
	else if (IsA(node, RowCompareExpr))
		shorten_rows((RowCompareExpr *) node, *level);
	else if (IsA(node, CaseExpr))	/* CASE x WHEN: x is compared */
		((CaseExpr *) node)->arg =
			(Expr *) shorten((Node *) ((CaseExpr *) node)->arg, *level,
							 false);
	return node;
}

/*
 * rules_shorten
 *	  Put dp_pg.short_value or sortable_value around values that may be long.
 */
static Query *
rules_shorten(Query *query)
{
	const Query *level = NULL;

	return (Query *) memory_short_mutator((Node *) query, &level);
}

#define HASHED_BYTES ((Size) 48)	/* a constant's share of a hash table */
#define FOLD_FACTOR 3			/* full case mappings in UTF-8 */
#define LIST_FACTOR 8			/* of lengths and padding */
#define WORK_FACTOR 16			/* times a call's arguments */
#define COMPARE_FACTOR 4		/* copies of both sides, of wide characters */
#define COLLATE_FACTOR 150		/* for ICU, expression_public.c */
#define KEPT_FACTOR 3
#define PASSING_FACTOR 2
#define CALL_BYTES 65536		/* any call */
#define MOST_WORKING (4 * DP_EXPRESSION_MEMORY)

/* ---- lengths ---- */

typedef struct memory_walk
{
	const Query *level;
	Size		kept;			/* until the row is done */
	Size		passing;		/* the most that a comparison fetches */
	Size		working;		/* the most that a call uses temporarily */
} memory_walk;

static Size value_bytes(Node *node, const Query *level);

static Size
column_bytes(const Var *var, const Query *level)
{
	const Query *below;
	Node	   *expression = rules_column(level, var, &below);
	Size		most;

	if (expression != NULL)
		return value_bytes(expression, below);
	most = type_bytes(var->vartype, var->vartypmod);
	return most > 0 ? most : DP_TOTAL_TEXT_LIMIT;
}

static Size
sum_bytes(List *args, const Query *level)
{
	Size		sum = 0;
	ListCell   *lc;

	foreach(lc, args)
		sum += value_bytes(lfirst(lc), level);
	return sum;
}

static Size
largest_bytes(List *args, const Query *level)
{
	Size		largest = 0;
	ListCell   *lc;

	foreach(lc, args)
	{
		Size		bytes = value_bytes(lfirst(lc), level);

		largest = Max(largest, bytes);
	}
	return largest;
}

/* The built-in function of a call, or of the total version that it calls. */
static Oid
built_in(Oid function)
{
	const dp_expression_rule *rule = dp_expressions_find_by_total(function);

	return rule == NULL ? function : rule->function;
}

static Size
call_bytes(Oid function, Oid type, List *args, const Query *level)
{
	int			length = get_typlen(getBaseType(type));
	Size		sum;

	if (length > 0)
		return (Size) length;
	sum = sum_bytes(args, level);
	if (function == dp_expressions_sortable_value())
		return Min(sum, DP_TOTAL_COLLATED_LIMIT);
	switch (built_in(function))
	{
		case F_LOWER_TEXT:
		case F_UPPER_TEXT:
		case F_INITCAP:
			return FOLD_FACTOR * sum;
		case F_STRING_TO_ARRAY_TEXT_TEXT:
			/*
			 * an empty element has a header; there is one element more than
			 * bytes
			 */
			return Min(LIST_FACTOR * sum, LIST_FACTOR * DP_TOTAL_LIST_LIMIT) +
				DP_EXPRESSION_SHORT;
		case F_BPCHAR_BPCHAR_INT4_BOOL:
			/* its length was checked, expression_constant.c */
			return sum + DP_TOTAL_CHAR_LIMIT *
				pg_database_encoding_max_length();
	}
	if (getBaseType(type) == NUMERICOID && sum > DP_EXPRESSION_SHORT)
		return DP_EXPRESSION_NUMERIC;
	return sum + DP_EXPRESSION_SHORT;
}

static Size
case_bytes(const CaseExpr *expression, const Query *level)
{
	Size		largest = value_bytes((Node *) expression->defresult, level);
	ListCell   *lc;

	foreach(lc, expression->args)
	{
		Size		bytes =
		value_bytes((Node *) ((CaseWhen *) lfirst(lc))->result, level);

		largest = Max(largest, bytes);
	}
	return largest;
}

/* Largest size by type, for a node about which nothing else is known. */
static Size
node_bytes(Node *node)
{
	Size		most = type_bytes(exprType(node),
								  exprTypmod(node));

	return most > 0 ? most : DP_TOTAL_TEXT_LIMIT;
}

/* Size of the largest value that an expression may have. */
static Size
value_bytes(Node *node, const Query *level)
{
	Const	   *constant;

	if (node == NULL)
		return 0;
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (nodeTag(node))
	{
		case T_Const:
			constant = (Const *) node;
			return constant->constisnull ? 0 :
				datumGetSize(constant->constvalue, constant->constbyval,
							 constant->constlen);
		case T_Var:
			return column_bytes((Var *) node, level);
		case T_RelabelType:
			return value_bytes((Node *) ((RelabelType *) node)->arg, level);
		case T_CollateExpr:
			return value_bytes((Node *) ((CollateExpr *) node)->arg, level);
		case T_FuncExpr:
			return call_bytes(((FuncExpr *) node)->funcid, exprType(node),
							  ((FuncExpr *) node)->args, level);
		case T_OpExpr:
			return call_bytes(get_opcode(((OpExpr *) node)->opno),
							  exprType(node), ((OpExpr *) node)->args, level);
		case T_NullIfExpr:
			return value_bytes(linitial(((NullIfExpr *) node)->args), level);
		case T_CaseExpr:
			return case_bytes((CaseExpr *) node, level);
		case T_CoalesceExpr:
			return largest_bytes(((CoalesceExpr *) node)->args, level);
		case T_MinMaxExpr:
			return largest_bytes(((MinMaxExpr *) node)->args, level);
		default:
			return node_bytes(node);
	}
}

/* Whether it returns its argument. */
static bool
passes_on(Oid function)
{
	return function == rules_short_value() ||
		function == dp_expressions_sortable_value();
}

/*
 * The expression below functions that return their argument, or a shorter
 * spelling of it.
 */
static const Node *
peel(const Node *value, const Query *level)
{
	const Query *below;
	Node	   *expression;

	check_stack_depth();
	if (IsA(value, RelabelType))
		return peel((Node *) ((const RelabelType *) value)->arg, level);
	if (IsA(value, Var))
	{
		expression = rules_column(level, (const Var *) value, &below);
		return expression == NULL ? value : peel(expression, below);
	}
	if (IsA(value, FuncExpr) &&
		(passes_on(((const FuncExpr *) value)->funcid) ||
		 built_in(((const FuncExpr *) value)->funcid) == F_TRIM_SCALE))
		return peel(linitial(((const FuncExpr *) value)->args), level);
	return value;
}

/*
 * Largest size of the type that a value was cast to: varchar(n), char(n),
 * numeric(p, s).  Zero or less if that has no length.
 */
static int32
cast_bytes(const Node *value, const Query *level)
{
	const FuncExpr *call = (const FuncExpr *) peel(value, level);
	const Const *modifier;

	if (!IsA(call, FuncExpr))
		return -1;
	switch (built_in(call->funcid))
	{
		case F_VARCHAR_VARCHAR_INT4_BOOL:
		case F_BPCHAR_BPCHAR_INT4_BOOL:
		case F_NUMERIC_NUMERIC_INT4:
			modifier = lsecond(call->args);
			if (!IsA(modifier, Const) || modifier->constisnull)
				return -1;
			return type_maximum_size(call->funcresulttype,
									 DatumGetInt32(modifier->constvalue));
		default:
			return -1;
	}
}

/* dp_expressions_kept_bytes: see dp_expressions.h. */
Size
dp_expressions_kept_bytes(Node *value, const Query *level)
{
	Size		bytes = value_bytes(value, level);
	int32		cast = cast_bytes(value, level);

	if (cast > 0)
		bytes = Min(bytes, cast);
	return exprType(value) == NUMERICOID ? bytes :
		Min(bytes, DP_TOTAL_COLLATED_LIMIT);
}

/* ---- size of result rows ---- */

/*
 * A column of a public row, and expressions that return their argument, pass
 * on values of any length.
 */
static Size
target_bytes(Node *node, const Query *level, Size widest)
{
	int			length = get_typlen(getBaseType(exprType(node)));
	const Query *below;
	const RangeTblEntry *entry;
	Node	   *column;

	if (length > 0)
		return MAXALIGN(length);
	check_stack_depth();
	if (IsA(node, RelabelType))
		return target_bytes((Node *) ((RelabelType *) node)->arg, level,
							widest);
	if (IsA(node, Var))
	{
		column = rules_column(level, (Var *) node, &below);
		if (column != NULL)
			return target_bytes(column, below, widest);
		entry = rt_fetch(((Var *) node)->varno, level->rtable);
		if (entry->rtekind == RTE_NAMEDTUPLESTORE)
			return widest;
	}
	return value_bytes(node, level) + widest;
}

/* dp_expressions_row_bytes: see dp_expressions.h. */
Size
dp_expressions_row_bytes(const Query *query, Size widest)
{
	Size		sum = 0;
	ListCell   *lc;

	foreach(lc, query->targetList)
		sum += Min(target_bytes((Node *) lfirst_node(TargetEntry, lc)->expr,
								query, widest), MaxAllocSize);
	return sum;
}

/* ---- memory for a row ---- */

/* Whether the value may be out of line, so that reading it makes a copy. */
static bool
may_be_fetched(Node *node)
{
	if (IsA(node, Const) || IsA(node, OpExpr))
		return false;
	if (IsA(node, FuncExpr) && !passes_on(((FuncExpr *) node)->funcid))
		return false;
	return get_typlen(getBaseType(exprType(node))) == -1;
}

static Size
fetched_bytes(List *args, const Query *level)
{
	Size		sum = 0;
	ListCell   *lc;

	foreach(lc, args)
		if (may_be_fetched(lfirst(lc)))
			sum += value_bytes(lfirst(lc), level);
	return sum;
}

/*
 * PostgreSQL's comparisons free what they fetched; pattern matching does not.
 */
static bool
gives_back(Oid function)
{
	const dp_expression_rule *rule =
	dp_expressions_find(built_in(function));

	return get_func_rettype(function) == BOOLOID &&
		function != F_STARTS_WITH &&
		(rule == NULL || (rule->condition != DP_CONDITION_PATTERN &&
						  rule->condition != DP_CONDITION_PATTERN_FOLD));
}

/* ILIKE makes lower-case copies of both sides. */
static bool
folds(Oid function)
{
	const dp_expression_rule *rule =
	dp_expressions_find(built_in(function));

	return rule != NULL && rule->condition == DP_CONDITION_PATTERN_FOLD;
}

/* A comparison takes this, and frees it. */
static void
pass(memory_walk *walk, Size bytes)
{
	walk->passing = Max(walk->passing, bytes);
}

/*
 * A call has arguments of this size, and takes a multiple of it temporarily.
 */
static void
work(memory_walk *walk, Size given, Size factor)
{
	walk->working = Max(walk->working, factor * given);
}

/* Add to what is kept; sizes above the limit are capped against overflow. */
static void
keep(memory_walk *walk, Size bytes, Size times)
{
	walk->kept += Min(bytes, DP_EXPRESSION_MEMORY + 1) *
		Min(times, DP_EXPRESSION_MEMORY + 1);
	walk->kept = Min(walk->kept, 2 * DP_EXPRESSION_MEMORY);
}

/* Count `times` calls of a function with these arguments. */
static void
add_call(Oid function, Oid collation, Node *call, List *args, Size times,
		 memory_walk *walk)
{
	Size		fetched = fetched_bytes(args, walk->level);
	Size		given = sum_bytes(args, walk->level);

	if (passes_on(function))
		return;
	if (dp_expressions_collates(function, collation))
		work(walk, given, COLLATE_FACTOR);
	if (gives_back(function))
	{
		pass(walk, fetched);
		work(walk, given, compares_bytes(function) ? 0 :
			 COMPARE_FACTOR);
	}
	else
	{
		keep(walk, fetched, times);
		work(walk, given, WORK_FACTOR);
	}
	if (folds(function))
		keep(walk, FOLD_FACTOR * given, times);
	if (!get_typbyval(exprType(call)))
		keep(walk, value_bytes(call, walk->level), times);
}

/*
 * An exact aggregate may fetch its arguments.  It frees those that it looks up
 * by their bytes (domains/tally.c), but not numerics.
 */
static void
add_aggregate(const Aggref *aggregate, memory_walk *walk)
{
	ListCell   *lc;

	foreach(lc, aggregate->args)
	{
		Node	   *arg = (Node *) ((TargetEntry *) lfirst(lc))->expr;
		Size		bytes = value_bytes(arg, walk->level);

		pass(walk, bytes);
		if (getBaseType(exprType(arg)) == NUMERICOID)
			keep(walk, bytes, 1);
	}
}

/*
 * x operator ANY or ALL (list).  Both sides are folded for every element,
 * which is no longer than the list.
 */
static void
add_list(const ScalarArrayOpExpr *call, memory_walk *walk)
{
	Size		n = count_elements(lsecond(call->args));
	Oid			function = get_opcode(call->opno);

	add_call(function, call->inputcollid, (Node *) call,
			 folds(function) || dp_expressions_collates(function,
														call->inputcollid) ?
			 call->args : list_make1(linitial(call->args)), n, walk);
	if (n >= DP_EXPRESSION_HASHED)
		keep(walk, HASHED_BYTES, n);
}

static bool
is_any_linguistic(const List *collations)
{
	ListCell   *lc;

	foreach(lc, collations)
		if (dp_expressions_linguistic(lfirst_oid(lc)))
			return true;
	return false;
}

static bool
memory_walker(Node *node, void *context)
{
	memory_walk *walk = context;
	const Query *below;
	const Query *level = walk->level;
	Node	   *column;

	if (node == NULL || walk->kept > DP_EXPRESSION_MEMORY)
		return false;
	CHECK_FOR_INTERRUPTS();
	switch (nodeTag(node))
	{
		case T_Query:
			walk->level = (Query *) node;
			(void) query_tree_walker((Query *) node, memory_walker, context,
									 0);
			walk->level = level;
			return false;
		case T_Var:
			column = rules_column(level, (Var *) node, &below);
			if (column == NULL)
				return false;
			walk->level = below;
			(void) memory_walker(column, context);
			walk->level = level;
			return false;
		case T_FuncExpr:
			add_call(((FuncExpr *) node)->funcid,
					 ((FuncExpr *) node)->inputcollid, node,
					 ((FuncExpr *) node)->args, 1, walk);
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			add_call(get_opcode(((OpExpr *) node)->opno),
					 ((OpExpr *) node)->inputcollid, node,
					 ((OpExpr *) node)->args, 1, walk);
			break;
		case T_ScalarArrayOpExpr:
			add_list((ScalarArrayOpExpr *) node, walk);
			break;
		case T_Aggref:
			add_aggregate((Aggref *) node, walk);
			break;
		case T_MinMaxExpr:
			work(walk, sum_bytes(((MinMaxExpr *) node)->args, level),
			 dp_expressions_linguistic(((MinMaxExpr *) node)->inputcollid) ?
			 COLLATE_FACTOR : COMPARE_FACTOR);
			pass(walk, fetched_bytes(((MinMaxExpr *) node)->args, level));
			break;
		case T_RowCompareExpr:
			work(walk, sum_bytes(((RowCompareExpr *) node)->largs, level) +
				 sum_bytes(((RowCompareExpr *) node)->rargs, level),
				 is_any_linguistic(((RowCompareExpr *) node)->inputcollids) ?
				 COLLATE_FACTOR : COMPARE_FACTOR);
			pass(walk,
				 fetched_bytes(((RowCompareExpr *) node)->largs, level) +
				 fetched_bytes(((RowCompareExpr *) node)->rargs, level));
			break;
		default:
			break;
	}
	return expression_tree_walker(node, memory_walker, context);
}

/*
 * dp_expressions_limit_memory
 *	  See dp_expressions.h.
 */
Query *
dp_expressions_limit_memory(Query *query, Size *bytes)
{
	memory_walk walk = {0};

	query = rules_shorten(query);
	(void) memory_walker((Node *) query, &walk);
	if (walk.kept + walk.passing > DP_EXPRESSION_MEMORY ||
		walk.working > MOST_WORKING)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("private query may need too much memory for one row"),
				 errdetail("Together its expressions could take more than %zu "
						   "MB; a column without a declared length counts as "
						   "%d kB each time it is used.%s",
						   DP_EXPRESSION_MEMORY / (1024 * 1024),
						   DP_TOTAL_TEXT_LIMIT / 1024,
						   dp_expressions_policies_text(query)),
				 errhint("Use fewer functions of long columns, or ask the "
						 "data owner to give them a length: varchar(n).")));
	*bytes = KEPT_FACTOR * walk.kept +
		PASSING_FACTOR * Max(walk.passing, walk.working) + CALL_BYTES;
	return query;
}
