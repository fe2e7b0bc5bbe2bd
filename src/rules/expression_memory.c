/*
 * expression_memory.c
 *	  What evaluating expressions on one private row may take of memory, known
 *	  before any row is read.
 *
 * If memory ran out only where a private condition holds, the error would tell
 * of a row (or the whole machine would: nothing catches its out-of-memory
 * killer).  So every node's largest result is inferred from the query's text
 * and from declared types, all public, and a query that may take too much is
 * refused before it is charged.
 *
 *	- A column is as long as its type says: char(n), varchar(n), numeric.  One
 *	  without a length counts as NULL in expressions where it is longer than
 *	  DP_TOTAL_TEXT_LIMIT: dp_pg.short_value stands where it is read.  Where no
 *	  value is fetched (IS NULL, a group key, equality with a constant or a
 *	  few of them, which compares lengths first) it stays as it is.
 *	- A function's result is bounded by its arguments (expression_rules.c);
 *	  those that are longer are known here.
 *	- What a call fetches (out-of-line values) and answers is kept until the
 *	  row is done, except in comparisons, which give it back.
 *
 * Columns of subqueries count as their expressions do, wherever they are used:
 * the planner may put them there.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "expression_rules.h"
#include "total_functions.h"

#define MEMORY_LIMIT ((Size) 64 * 1024 * 1024)
#define NUMERIC_BYTES ((Size) 80 * 1024)	/* the longest there is */
#define SHORT_BYTES ((Size) 64)
#define HASHED_LEAST 9			/* MIN_ARRAY_SIZE_FOR_HASHED_SAOP */
#define FOLD_FACTOR 3			/* full case mappings in UTF-8 */

/* ---- lengths ---- */

/* OID of dp_pg.short_value(anyelement). */
static Oid
short_value_function(void)
{
	Oid			type = ANYELEMENTOID;

	return LookupFuncName(list_make2(makeString("dp_pg"),
									 makeString("short_value")), 1, &type,
						  false);
}

/* Largest value of a type, or 0: nothing says how long it may be. */
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
			return NUMERIC_BYTES;
		case INETOID:
		case CIDROID:
			return SHORT_BYTES;
	}
	most = type_maximum_size(type, typmod);
	return most > 0 && most <= DP_TOTAL_TEXT_LIMIT ? (Size) most : 0;
}

typedef struct memory_walk
{
	const Query *level;
	Size		kept;			/* until the row is done */
	Size		passing;		/* the most that one comparison takes */
} memory_walk;

/* The expression behind a column of a subquery of the level, or NULL. */
static Node *
column_of_subquery(const Query *level, const Var *var, const Query **below)
{
	const RangeTblEntry *entry;

	if (var->varlevelsup > 0 || var->varno > list_length(level->rtable))
		return NULL;
	entry = list_nth_node(RangeTblEntry, level->rtable, var->varno - 1);
	if (entry->rtekind != RTE_SUBQUERY || var->varattno < 1 ||
		var->varattno > list_length(entry->subquery->targetList))
		return NULL;
	*below = entry->subquery;
	return (Node *) list_nth_node(TargetEntry, entry->subquery->targetList,
								  var->varattno - 1)->expr;
}

static Size value_bytes(Node *node, const Query *level);

static Size
column_bytes(const Var *var, const Query *level)
{
	const Query *below;
	Node	   *expression = column_of_subquery(level, var, &below);
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

/* The built-in that a call is about, whose total version it may be. */
static Oid
built_in(Oid function)
{
	const dp_expression_rule *rule = dp_expression_rule_of_total(function);

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
	switch (built_in(function))
	{
		case F_LOWER_TEXT:
		case F_UPPER_TEXT:
		case F_INITCAP:
			return FOLD_FACTOR * sum;
		case F_BPCHAR_BPCHAR_INT4_BOOL:
			/* its length was checked, expression_constant.c */
			return sum + DP_TOTAL_CHAR_LIMIT *
				pg_database_encoding_max_length();
	}
	if (getBaseType(type) == NUMERICOID && sum > SHORT_BYTES)
		return NUMERIC_BYTES;
	return sum + SHORT_BYTES;
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

/* By its type, of a node about which nothing else is known. */
static Size
node_bytes(Node *node)
{
	Size		most = type_bytes(exprType(node), exprTypmod(node));

	return most > 0 ? most : DP_TOTAL_TEXT_LIMIT;
}

/* Bytes of the largest value that an expression may have. */
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

/* ---- what a row takes ---- */

/* May the value be out of line, so that whoever reads it makes a copy? */
static bool
may_be_fetched(Node *node)
{
	if (IsA(node, Const) || IsA(node, OpExpr))
		return false;
	if (IsA(node, FuncExpr) &&
		((FuncExpr *) node)->funcid != short_value_function())
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

/* Comparisons of PostgreSQL give back what they fetched; patterns do not. */
static bool
gives_back(Oid function)
{
	const dp_expression_rule *rule =
	dp_expression_rule_find(built_in(function));

	return get_func_rettype(function) == BOOLOID &&
		function != F_STARTS_WITH &&
		(rule == NULL || (rule->condition != DP_CONDITION_PATTERN &&
						  rule->condition != DP_CONDITION_PATTERN_FOLD));
}

/* A comparison takes this, and gives it back. */
static void
pass(memory_walk *walk, Size bytes)
{
	walk->passing = Max(walk->passing, bytes);
}

static void
add_call(Oid function, Node *call, List *args, memory_walk *walk)
{
	Size		fetched = fetched_bytes(args, walk->level);

	if (function == short_value_function())
		return;					/* answers what it is given */
	if (gives_back(function))
		pass(walk, fetched);
	else
		walk->kept += fetched;
	if (!get_typbyval(exprType(call)))
		walk->kept += value_bytes(call, walk->level);
}

static bool
memory_walker(Node *node, void *context)
{
	memory_walk *walk = context;
	const Query *below;
	const Query *level = walk->level;
	Node	   *column;

	if (node == NULL || walk->kept > MEMORY_LIMIT)
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
			column = column_of_subquery(level, (Var *) node, &below);
			if (column == NULL)
				return false;
			walk->level = below;
			(void) memory_walker(column, context);
			walk->level = level;
			return false;
		case T_FuncExpr:
			add_call(((FuncExpr *) node)->funcid, node,
					 ((FuncExpr *) node)->args, walk);
			break;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			add_call(get_opcode(((OpExpr *) node)->opno), node,
					 ((OpExpr *) node)->args, walk);
			break;
		case T_ScalarArrayOpExpr:
			add_call(get_opcode(((ScalarArrayOpExpr *) node)->opno), node,
					 list_make1(linitial(((ScalarArrayOpExpr *) node)->args)),
					 walk);
			break;
		case T_MinMaxExpr:
			pass(walk, fetched_bytes(((MinMaxExpr *) node)->args, level));
			break;
		case T_RowCompareExpr:
			pass(walk,
				 fetched_bytes(((RowCompareExpr *) node)->largs, level) +
				 fetched_bytes(((RowCompareExpr *) node)->rargs, level));
			break;
		default:
			break;
	}
	return expression_tree_walker(node, memory_walker, context);
}

/* ---- long columns ---- */

static bool is_long(Node *node, const Query *level);

static bool
has_long(List *args, const Query *level)
{
	ListCell   *lc;

	foreach(lc, args)
		if (is_long(lfirst(lc), level))
			return true;
	return false;
}

/*
 * May the value be a column's, perhaps through subqueries and CASE, of no
 * known length?  Of a node that is not listed everything may.
 */
static bool
is_long(Node *node, const Query *level)
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
			return is_long((Node *) ((RelabelType *) node)->arg, level);
		case T_CollateExpr:
			return is_long((Node *) ((CollateExpr *) node)->arg, level);
		case T_NullIfExpr:
			return is_long(linitial(((NullIfExpr *) node)->args), level);
		case T_CoalesceExpr:
			return has_long(((CoalesceExpr *) node)->args, level);
		case T_CaseExpr:
			foreach(lc, ((CaseExpr *) node)->args)
				if (is_long((Node *) ((CaseWhen *) lfirst(lc))->result,
							level))
					return true;
			return is_long((Node *) ((CaseExpr *) node)->defresult, level);
		case T_Var:
			column = column_of_subquery(level, (Var *) node, &below);
			if (column != NULL)
				return is_long(column, below);
			return type_bytes(((Var *) node)->vartype,
							  ((Var *) node)->vartypmod) == 0;
		case T_Const:
		case T_ArrayExpr:		/* of constants */
		case T_FuncExpr:		/* bounded by arguments */
		case T_OpExpr:
		case T_MinMaxExpr:		/* of what was shortened */
		case T_CaseTestExpr:
			return false;
		default:
			return type_bytes(exprType(node), exprTypmod(node)) == 0;
	}
}

static Node *
shorten(Node *node, const Query *level)
{
	FuncExpr   *call;

	if (!is_long(node, level))
		return node;
	call = makeFuncExpr(short_value_function(), exprType(node),
						list_make1(node), exprCollation(node),
						exprCollation(node), COERCE_EXPLICIT_CALL);
	call->location = exprLocation(node);
	return (Node *) call;
}

/* Equality of a column with a constant looks at the lengths first. */
static bool
compares_lengths(const OpExpr *operator)
{
	switch (get_opcode(operator->opno))
	{
		case F_TEXTEQ:
		case F_TEXTNE:
		case F_BYTEAEQ:
		case F_BYTEANE:
			return IsA(linitial(operator->args), Const) ||
				IsA(lsecond(operator->args), Const);
		default:
			return false;
	}
}

/* IN with so few constants that each is compared, and none is hashed. */
static bool
compares_few(const ScalarArrayOpExpr *operator)
{
	Node	   *list = lsecond(operator->args);
	ArrayType  *array;

	if (get_opcode(operator->opno) != F_TEXTEQ)
		return false;
	if (IsA(list, ArrayExpr))	/* of constants */
		return !((ArrayExpr *) list)->multidims &&
			list_length(((ArrayExpr *) list)->elements) < HASHED_LEAST;
	if (!IsA(list, Const))
		return false;
	if (((Const *) list)->constisnull)
		return true;
	array = DatumGetArrayTypeP(((Const *) list)->constvalue);
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) < HASHED_LEAST;
}

/* Functions of the release know themselves what is long. */
static bool
reads_values(Oid function)
{
	return function < FirstGenbkiObjectId ||
		dp_expression_rule_of_total(function) != NULL;
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
		case T_NullIfExpr:		/* gives the value on */
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

static void
shorten_all(List *args, const Query *level)
{
	ListCell   *lc;

	foreach(lc, args)
		lfirst(lc) = shorten(lfirst(lc), level);
}

static Node *
short_mutator(Node *node, void *context)
{
	const Query **level = context;
	const Query *before = *level;
	List	  **args;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		*level = (Query *) node;
		node = (Node *) query_tree_mutator((Query *) node, short_mutator,
										   context, 0);
		*level = before;
		return node;
	}
	node = expression_tree_mutator(node, short_mutator, context);
	args = arguments_of(node);
	if (args != NULL)
		shorten_all(*args, *level);
	else if (IsA(node, RowCompareExpr))
	{
		shorten_all(((RowCompareExpr *) node)->largs, *level);
		shorten_all(((RowCompareExpr *) node)->rargs, *level);
	}
	else if (IsA(node, CaseExpr))	/* CASE x WHEN: x is compared */
		((CaseExpr *) node)->arg =
			(Expr *) shorten((Node *) ((CaseExpr *) node)->arg, *level);
	return node;
}

/*
 * dp_expression_limit_memory
 *	  See dp_rules.h.
 */
Query *
dp_expression_limit_memory(Query *query)
{
	const Query *level = NULL;
	memory_walk walk = {0};

	query = (Query *) short_mutator((Node *) query, &level);
	(void) memory_walker((Node *) query, &walk);
	if (walk.kept + walk.passing > MEMORY_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("private query may need too much memory for one row"),
				 errdetail("Together its expressions could take more than %zu "
						   "MB; a column without a declared length counts as "
						   "%d kB each time it is used.",
						   MEMORY_LIMIT / (1024 * 1024),
						   DP_TOTAL_TEXT_LIMIT / 1024),
				 errhint("Use fewer functions of long columns, or ask the "
						 "data owner to give them a length: varchar(n).")));
	return query;
}
