/*
 * unit_window.c
 *	  PostgreSQL's window functions over rows of a unit: which ones, and in
 *	  what order they see rows.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

/* ----------------
 *		PostgreSQL's window functions, below a private aggregate.
 *
 * If each partition has rows of only one unit (rowsets/unit_levels.c), results
 * of windows must depend only on these rows, not on the order in which equal
 * rows are sorted, which other units' rows influence, and must not raise
 * errors.  There are two kinds of functions:
 *
 *	- some depend on peers, the rows that ORDER BY does not distinguish, such
 *		as rank(), and aggregates whose frames consist of peers.  Their results
 *		do not depend on the order of peers;
 *	- others depend on single rows, such as row_number(), lag(), and frames of
 *		rows.  Their order is made unique (below).
 *
 * Distances of rows and offsets of frames must be valid constants.
 * ----------------
 */

/*
 * Each keeps memory while a partition is read: see
 * dp_expressions_window_memory.
 */
#define MOST_FUNCTIONS 16
#define FUNCTION_BYTES ((Size) 32 * 1024)
#define MOST_OFFSET (1 << 30)

typedef enum window_kind
{
	LOOKS_AT_ROWS,
	LOOKS_AT_PEERS,
	LOOKS_AT_FRAME,				/* depends on its frame */
	IS_AGGREGATE
} window_kind;

typedef struct window_rule
{
	Oid			function;
	window_kind kind;
	int			offset;			/* argument, from 1, that must be a constant */
	int			least;			/* least valid value of that argument */
} window_rule;

static const window_rule window_rules[] = {
	{F_ROW_NUMBER, LOOKS_AT_ROWS},
	{F_NTILE, LOOKS_AT_ROWS, 1, 1},
	{F_LAG_ANYELEMENT, LOOKS_AT_ROWS},
	{F_LAG_ANYELEMENT_INT4, LOOKS_AT_ROWS, 2, -MOST_OFFSET},
	{F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, LOOKS_AT_ROWS, 2, -MOST_OFFSET},
	{F_LEAD_ANYELEMENT, LOOKS_AT_ROWS},
	{F_LEAD_ANYELEMENT_INT4, LOOKS_AT_ROWS, 2, -MOST_OFFSET},
	{F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, LOOKS_AT_ROWS, 2, -MOST_OFFSET},
	{F_RANK_, LOOKS_AT_PEERS},
	{F_DENSE_RANK_, LOOKS_AT_PEERS},
	{F_PERCENT_RANK_, LOOKS_AT_PEERS},
	{F_CUME_DIST_, LOOKS_AT_PEERS},
	{F_FIRST_VALUE, LOOKS_AT_FRAME},
	{F_LAST_VALUE, LOOKS_AT_FRAME},
	{F_NTH_VALUE, LOOKS_AT_FRAME, 2, 1},
};

static const window_rule aggregate_rule = {InvalidOid, IS_AGGREGATE};

/* The rule of a function; NULL: it is not allowed. */
static const window_rule *
find_rule(Oid function)
{
	int			i;

	for (i = 0; i < lengthof(window_rules); i++)
		if (window_rules[i].function == function)
			return &window_rules[i];
	return dp_expressions_is_unit_aggregate(function) ? &aggregate_rule : NULL;
}

static bool
functions_walker(Node *node, void *context)
{
	List	  **functions = context;

	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
	{
		*functions = lappend(*functions, node);
		return false;			/* there are none in its arguments */
	}
	return expression_tree_walker(node, functions_walker, context);
}

/* window_functions: those of a level (WindowFunc *). */
static List *
window_functions(const Query *level)
{
	List	   *functions = NIL;

	(void) functions_walker((Node *) level->targetList, &functions);
	return functions;
}

static WindowClause *
window_of(const Query *level, const WindowFunc *function)
{
	ListCell   *lc;

	foreach(lc, level->windowClause)
		if (lfirst_node(WindowClause, lc)->winref == function->winref)
			return lfirst(lc);
	elog(ERROR, "window %u not found", function->winref);
}

/* ---- frames ---- */

#define FRAME_OFFSETS (FRAMEOPTION_START_OFFSET | FRAMEOPTION_END_OFFSET)

/* Whether all frames of the window begin, or end, with the partition. */
static bool
begins_with_all(const WindowClause *window)
{
	return (window->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING) != 0;
}

static bool
ends_with_all(const WindowClause *window)
{
	return (window->frameOptions & FRAMEOPTION_END_UNBOUNDED_FOLLOWING) != 0;
}

/*
 * Whether a function of the frame depends on single rows in a defined way.  If
 * the frame begins with the partition, first_value does, and so do the others
 * if it also ends with the partition.
 */
static bool
frame_of_rows(const WindowFunc *function, const WindowClause *window)
{
	return (window->frameOptions & FRAMEOPTION_ROWS) != 0 ||
		(begins_with_all(window) &&
		 (function->winfnoid == F_FIRST_VALUE || ends_with_all(window)));
}

/*
 * looks_at_rows
 *	  Whether an allowed function depends on single rows, not only on peers.
 */
static bool
looks_at_rows(const WindowFunc *function, const WindowClause *window)
{
	switch (find_rule(function->winfnoid)->kind)
	{
		case LOOKS_AT_ROWS:
		case LOOKS_AT_FRAME:
			return true;
		case LOOKS_AT_PEERS:
			return false;
		default:
			return (window->frameOptions & FRAMEOPTION_ROWS) != 0 &&
				!(begins_with_all(window) && ends_with_all(window));
	}
}

/* dp_expressions_looks_at_peers: see dp_expressions.h. */
bool
dp_expressions_looks_at_peers(const Query *level, const WindowClause *window)
{
	ListCell   *lc;

	foreach(lc, window_functions(level))
	{
		const WindowFunc *function = lfirst(lc);

		if (function->winref == window->winref &&
			(find_rule(function->winfnoid) == NULL ||
			 !looks_at_rows(function, window)))
			return true;
	}
	return false;
}

/* ---- what is allowed ---- */

static dp_refusal *
refuse(const WindowFunc *function, const char *detail, const char *hint,
	   const char *message)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  function->location, detail, hint, "%s", message);
}

/*
 * Whether it is a constant of at least `least`.  Its functions have been
 * checked.
 */
static bool
window_is_number(Node *node, int64 least)
{
	const Const *number = (const Const *)
	eval_const_expressions(NULL, copyObject(node));
	int64		value;

	if (!IsA(number, Const) || number->constisnull ||
		(number->consttype != INT4OID && number->consttype != INT8OID))
		return false;
	value = number->consttype == INT4OID ?
		DatumGetInt32(number->constvalue) : DatumGetInt64(number->constvalue);
	return value >= least && value <= MOST_OFFSET;
}

/* Whether an offset of a frame is missing, or a literal number. */
static bool
is_offset(const Node *offset)
{
	bool		isnull;
	int64		value;

	return offset == NULL ||
		(dp_expressions_written_number(offset, &isnull, &value) && !isnull &&
		 value >= 0 && value <= MOST_OFFSET);
}

/* Check offsets also of unused windows, since they are evaluated, too. */
static dp_refusal *
check_offsets(const WindowClause *window)
{
	Node	   *wrong = !is_offset(window->startOffset) ? window->startOffset :
	!is_offset(window->endOffset) ? window->endOffset : NULL;

	return wrong == NULL ? NULL :
		dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
					   exprLocation(wrong),
					   "An offset that is NULL or negative is an error.",
					   "Write a number from 0 to 2^30.",
					   "offset of a frame is not a constant");
}

static dp_refusal *
check_frame(const WindowFunc *function, const WindowClause *window)
{
	int			options = window->frameOptions;

	if ((options & FRAME_OFFSETS) != 0 && (options & FRAMEOPTION_ROWS) == 0)
		return refuse(function, "Computing which rows are near enough could "
					  "raise an error.",
					  "Use ROWS with a number of rows, or join a subquery.",
					  "RANGE and GROUPS with an offset cannot be used on "
					  "private rows");
	if ((options & FRAMEOPTION_EXCLUSION) != 0)
		return refuse(function, NULL, "Leave EXCLUDE out.",
					  "EXCLUDE cannot be used on private rows");
	if (find_rule(function->winfnoid)->kind == LOOKS_AT_FRAME &&
		!frame_of_rows(function, window))
		return refuse(function, "Its result would depend on the order of "
					  "equal rows.", "Give the window a frame of ROWS, as in "
					  "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW.",
					  "a frame of RANGE or GROUPS would distinguish equal "
					  "rows");
	return NULL;
}

/*
 * Whether a key of variable length is computed.  A computed text or number
 * could be long, and would be kept.
 */
static bool
is_computed(const Node *key)
{
	while (IsA(key, RelabelType) || IsA(key, CollateExpr))
		key = (const Node *) (IsA(key, RelabelType) ?
							  ((const RelabelType *) key)->arg :
							  ((const CollateExpr *) key)->arg);
	return !IsA(key, Var) && get_typlen(exprType(key)) == -1;
}

/*
 * Whether the value that a function returns is a computed text, or its default
 * is long.
 */
static bool
gives_computed(const WindowFunc *function)
{
	Node	   *first = linitial(function->args);
	Node	   *given = list_length(function->args) < 3 ? NULL :
	lthird(function->args);

	if (is_computed(first) && getBaseType(exprType(first)) != NUMERICOID)
		return true;
	if (given == NULL || !IsA(given, Const))
		return given != NULL && is_computed(given);
	return !((const Const *) given)->constisnull &&
		datumGetSize(((const Const *) given)->constvalue,
					 ((const Const *) given)->constbyval,
					 ((const Const *) given)->constlen) > BLCKSZ;
}

/* Check a function and its constant argument. */
static dp_refusal *
check_function(const WindowFunc *function)
{
	const window_rule *rule = find_rule(function->winfnoid);

	if (rule == NULL)
		return refuse(function, "It could raise an error, or hold any amount "
					  "of memory.", "Below a private aggregate use "
					  "row_number, rank, dense_rank, percent_rank, cume_dist, "
					  "ntile, lag, lead, first_value, last_value, nth_value, "
					  "count, sum, avg, min, max, bool_and and bool_or.",
					  psprintf("window function %s cannot be used on private "
							   "rows", get_func_name(function->winfnoid)));
	if (rule->offset > 0 &&
		!window_is_number(list_nth(function->args, rule->offset - 1),
						  rule->least))
		return refuse(function, "Other numbers could raise an error.",
					  rule->least > 0 ? "Write a number from 1 to 2^30." :
					  "Write a number from -2^30 to 2^30.",
					  psprintf("number of rows for %s is not a constant",
							   get_func_name(function->winfnoid)));
	if (rule->kind != IS_AGGREGATE && function->args != NIL &&
		gives_computed(function))
		return refuse(function, "Windows keep rows in memory, and its length "
					  "has no known limit.", "Compute it above the window.",
					  "a window over private rows cannot return a computed "
					  "text");
	return rule->kind != IS_AGGREGATE ? NULL :
		dp_expressions_check_unit_collation(function->winfnoid,
											function->inputcollid,
											function->location);
}

/*
 * can_sort
 *	  Whether all values of the type can be sorted by PostgreSQL's own code and
 *	  in bounded memory. *twins: whether equal values can be spelled
 *	  differently.
 */
static bool
can_sort(Oid type, bool *twins)
{
	*twins = false;
	switch (getBaseType(type))
	{
		case NUMERICOID:
		case FLOAT4OID:
		case FLOAT8OID:
			*twins = true;
			return true;
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
			return true;
		default:
			return false;
	}
}

/* is_text: text or varchar, or a domain over one. */
static bool
is_text(Oid type)
{
	type = getBaseType(type);
	return type == TEXTOID || type == VARCHAROID;
}

static dp_refusal *
window_refuse_type(Node *value)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(value),
						  "Rows of a window are distinguished by all of "
						  "their columns.",
						  "Cast it to a number or a time, in a subquery "
						  "below the window; compute texts above it.",
						  "%s of type %s cannot be used with a window below "
						  "a private aggregate",
						  IsA(value, Var) ? "column" : "expression",
						  format_type_be(exprType(value)));
}

/* Check keys of PARTITION BY or ORDER BY. */
static dp_refusal *
check_keys(const List *clauses, const Query *level, bool order)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *key = get_sortgroupclause_expr(lfirst(lc),
												   level->targetList);
		bool		twins;

		if (!can_sort(exprType(key), &twins) || is_computed(key))
			return window_refuse_type(key);
		if (order && is_text(exprType(key)) &&
			dp_expressions_linguistic(exprCollation(key)))
			return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
								  exprLocation(key),
								  "Sorting texts by a linguistic collation "
								  "takes memory that depends on them.",
								  "Add COLLATE \"C\", or order by a number "
								  "or a time.",
								  "a window cannot order private texts by "
								  "this collation");
	}
	return NULL;
}

/*
 * window_columns: distinct columns that a level with windows reads.
 */
static List *
window_columns(const Query *level)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) level->targetList,
								PVC_RECURSE_WINDOWFUNCS))
		columns = list_append_unique(columns, lfirst(lc));
	return columns;
}

static dp_refusal *
window_check_columns(const Query *level)
{
	ListCell   *lc;

	foreach(lc, window_columns(level))
	{
		bool		twins;

		if (!can_sort(exprType(lfirst(lc)), &twins))
			return window_refuse_type(lfirst(lc));
	}
	return NULL;
}

static dp_refusal *
refuse_number(List *functions)
{
	return dp_base_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
						  exprLocation((Node *) functions),
						  psprintf("At most %d are allowed at one level.",
								   MOST_FUNCTIONS),
						  "Ask in several queries.",
						  "too many windows below a private aggregate");
}

/*
 * dp_expressions_check_windows
 *	  See dp_expressions.h.  Arguments are checked as expressions.
 */
dp_refusal *
dp_expressions_check_windows(const Query *level)
{
	List	   *functions = window_functions(level);
	dp_refusal *refusal = window_check_columns(level);
	ListCell   *lc;

	if (refusal == NULL && Max(list_length(functions),
							   list_length(level->windowClause)) >
		MOST_FUNCTIONS)
		refusal = refuse_number(functions);
	foreach(lc, level->windowClause)
		if (refusal == NULL)
			refusal = check_offsets(lfirst(lc));
	foreach(lc, functions)
	{
		if (refusal == NULL)
			refusal = check_function(lfirst(lc));
		if (refusal == NULL)
			refusal = check_frame(lfirst(lc), window_of(level, lfirst(lc)));
	}
	foreach(lc, level->windowClause)
	{
		const WindowClause *window = lfirst(lc);

		if (refusal == NULL)
			refusal = check_keys(window->partitionClause, level, false);
		if (refusal == NULL)
			refusal = check_keys(window->orderClause, level, true);
	}
	return refusal;
}

/* dp_expressions_window_memory: see dp_expressions.h. */
Size
dp_expressions_window_memory(const Query *query)
{
	int			functions = list_length(window_functions(query));
	Size		bytes = FUNCTION_BYTES * functions;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY)
			bytes += dp_expressions_window_memory(entry->subquery);
	}
	return bytes;
}

/* ----------------
 *		Give windows over private rows a unique order.
 *
 * If functions depend on single rows, all columns that the level reads are
 * appended to their ORDER BY, so that only rows that are identical byte by
 * byte are peers.  If any order will do, hashes of these columns come first.
 * A window with functions of both kinds becomes two.
 *
 * Texts are compared by bytes there.  In the whole level they are NULL if they
 * are too long for dp_pg.sortable_value.
 * ----------------
 */

/* ---- values ---- */

static Node *
call(Oid function, Oid type, Node *argument)
{
	return (Node *) makeFuncExpr(function, type, list_make1(argument),
								 exprCollation(argument),
								 exprCollation(argument),
								 COERCE_EXPLICIT_CALL);
}

/* Make texts NULL that are too long, and settle aggregates. */
static Node *
window_short_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && get_typlen(exprType(node)) == -1 &&
		getBaseType(exprType(node)) != NUMERICOID)
		return call(dp_expressions_sortable_value(), exprType(node),
					copyObject(node));
	if (IsA(node, WindowFunc))
	{
		WindowFunc *copy = (WindowFunc *)
		expression_tree_mutator(node, window_short_mutator, context);

		return dp_expressions_settle_window_aggregate(copy);
	}
	return expression_tree_mutator(node, window_short_mutator, context);
}

/* A text relabelled to be compared by bytes; other values unchanged. */
static Node *
by_bytes(Node *value)
{
	return !is_text(exprType(value)) ? value :
		(Node *) makeRelabelType((Expr *) value, TEXTOID, -1, C_COLLATION_OID,
								 COERCE_IMPLICIT_CAST);
}

/* ---- sort keys ---- */

/* A resjunk target of a level for an expression, perhaps a new one. */
static TargetEntry *
hidden_target(Query *level, Node *value)
{
	TargetEntry *target;
	ListCell   *lc;

	foreach(lc, level->targetList)
	{
		target = lfirst(lc);
		if (target->resjunk && equal(target->expr, value))
			return target;
	}
	target = makeTargetEntry((Expr *) value,
							 list_length(level->targetList) + 1,
							 pstrdup("window"), true);
	level->targetList = lappend(level->targetList, target);
	return target;
}

/* A clause that sorts by an expression, with a target for it. */
static SortGroupClause *
sort_by(Query *level, Node *value)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *target = hidden_target(level, value);

	get_sort_group_operators(exprType(value), true, true, false,
							 &clause->sortop, &clause->eqop, NULL,
							 &clause->hashable);
	clause->tleSortGroupRef = assignSortGroupRef(target, level->targetList);
	return clause;
}

/* Partitions by bytes are the same, since collations are deterministic. */
static List *
partition_by(Query *level, const List *clauses)
{
	List	   *settled = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		Node	   *key = get_sortgroupclause_expr(lfirst(lc),
												   level->targetList);

		settled = lappend(settled, is_text(exprType(key)) ?
						  sort_by(level, by_bytes(copyObject(key))) :
						  lfirst(lc));
	}
	return settled;
}

/* Clauses that sort by columns, and distinguish rows to the last byte. */
static List *
sort_by_columns(Query *level, const List *columns)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, columns)
	{
		Node	   *column = lfirst(lc);
		bool		twins;

		(void) can_sort(exprType(column), &twins);
		clauses = lappend(clauses,
						  sort_by(level,
								  by_bytes(window_short_mutator(column,
																NULL))));
		if (!twins)
			continue;
		switch (getBaseType(exprType(column)))
		{
			case NUMERICOID:
				column = call(F_SCALE, INT4OID, copyObject(column));
				break;
			case FLOAT4OID:
				column = call(F_FLOAT4SEND, BYTEAOID, copyObject(column));
				break;
			default:
				column = call(F_FLOAT8SEND, BYTEAOID, copyObject(column));
		}
		clauses = lappend(clauses, sort_by(level, column));
	}
	return clauses;
}

static Node *
draw_seed(void)
{
	int64		seed;

	dp_base_check_status(dp_noise_random_bytes(dp_base_source(), &seed,
											   sizeof(seed)), "draw a seed");
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
							  Int64GetDatum(seed), false, FLOAT8PASSBYVAL);
}

/* The hash of a value with its own seed; also a number for NULL. */
static Node *
hash_of(Node *value)
{
	TypeCacheEntry *type = lookup_type_cache(exprType(value),
											 TYPECACHE_HASH_EXTENDED_PROC);
	CoalesceExpr *hash = makeNode(CoalesceExpr);
	FuncExpr   *own = makeFuncExpr(type->hash_extended_proc, INT8OID,
								   list_make2(value, draw_seed()), InvalidOid,
								   exprCollation(value),
								   COERCE_EXPLICIT_CALL);

	hash->coalescetype = INT8OID;
	hash->args = list_make2(own, draw_seed());
	hash->location = -1;
	return (Node *) hash;
}

/*
 * A row's key in a random order, the same for equal rows.  A plan runs once,
 * so seeds are drawn for each answer.
 */
static Node *
chance_of(const List *columns)
{
	Node	   *chance = draw_seed();
	ListCell   *lc;

	foreach(lc, columns)
		chance = (Node *)
			makeFuncExpr(F_INT8XOR, INT8OID,
						 list_make2(chance,
									hash_of(by_bytes(
											window_short_mutator(lfirst(lc),
																 NULL)))),
						 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	return chance;
}

/* ---- windows ---- */

/* The functions of a window that depend on single rows, or on peers. */
static List *
functions_of(const WindowClause *window, const List *functions, bool rows)
{
	List	   *own = NIL;
	ListCell   *lc;

	foreach(lc, functions)
	{
		WindowFunc *function = lfirst(lc);

		if (function->winref == window->winref &&
			looks_at_rows(function, window) == rows)
			own = lappend(own, function);
	}
	return own;
}

static bool
in_any_order(const WindowClause *window)
{
	return window->name != NULL &&
		strcmp(window->name, DP_EXPRESSIONS_ANY_ORDER) == 0;
}

/* Add a window for some functions, ordered also by `apart`. */
static void
add_window(Query *level, const WindowClause *window, List *apart)
{
	WindowClause *added = copyObject(unconstify(WindowClause *, window));

	added->winref = list_length(level->windowClause) + 1;
	added->partitionClause = partition_by(level, added->partitionClause);
	added->orderClause = list_concat(added->orderClause,
									 copyObject(apart));
	level->windowClause = lappend(level->windowClause, added);
}

/*
 * dp_expressions_settle_windows
 *	  Make the windows of a level depend only on the unit's rows: their
 *	  functions, and their order, which becomes unique.
 */
void
dp_expressions_settle_windows(Query *level)
{
	List	   *columns = window_columns(level);
	List	   *windows = level->windowClause;
	List	   *of_windows = NIL;	/* of List * of WindowFunc *: by number */
	List	   *apart;
	List	   *functions;
	ListCell   *lc;
	ListCell   *lc2;
	int			rows;

	level->targetList =
		(List *) window_short_mutator((Node *) level->targetList,
													  NULL);
	functions = window_functions(level);
	apart = sort_by_columns(level, columns);
	level->windowClause = NIL;
	foreach(lc, windows)
		for (rows = 0; rows < 2; rows++)
		{
			List	   *own = functions_of(lfirst(lc), functions, rows);

			if (own == NIL)
				continue;
			add_window(level, lfirst(lc), !rows ? NIL :
					   !in_any_order(lfirst(lc)) ? apart :
					   lcons(sort_by(level, chance_of(columns)),
							 list_copy(apart)));
			of_windows = lappend(of_windows, own);
		}
	foreach(lc, of_windows)
		foreach(lc2, (List *) lfirst(lc))
			lfirst_node(WindowFunc, lc2)->winref =
				foreach_current_index(lc) + 1;
}
