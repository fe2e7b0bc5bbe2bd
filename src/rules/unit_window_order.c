/*
 * unit_window_order.c
 *	  Give windows over private rows a unique order.
 *
 * If functions depend on single rows (unit_window.c), all columns that the
 * level reads are appended to their ORDER BY, so that only rows that are
 * identical byte by byte are peers.  If any order will do, hashes of these
 * columns come first.  A window with functions of both kinds becomes two.
 *
 * Texts are compared by bytes there.  In the whole level they are NULL if they
 * are too long for dp_pg.sortable_value.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "parser/parse_oper.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "allow_list.h"

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
short_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && get_typlen(exprType(node)) == -1 &&
		getBaseType(exprType(node)) != NUMERICOID)
		return call(dp_rules_sortable_value(), exprType(node),
					copyObject(node));
	if (IsA(node, WindowFunc))
	{
		WindowFunc *copy = (WindowFunc *)
		expression_tree_mutator(node, short_mutator, context);

		return dp_rules_settle_window_aggregate(copy);
	}
	return expression_tree_mutator(node, short_mutator, context);
}

/* A text relabelled to be compared by bytes; other values unchanged. */
static Node *
by_bytes(Node *value)
{
	return !dp_rules_is_text(exprType(value)) ? value :
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

		settled = lappend(settled, dp_rules_is_text(exprType(key)) ?
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

		(void) dp_rules_can_sort(exprType(column), &twins);
		clauses = lappend(clauses,
						  sort_by(level, by_bytes(short_mutator(column,
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

	dp_bridge_check_status(dp_mech_random_bytes(dp_bridge_source(), &seed,
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
									hash_of(by_bytes(short_mutator(lfirst(lc),
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
			dp_rules_looks_at_rows(function, window) == rows)
			own = lappend(own, function);
	}
	return own;
}

static bool
in_any_order(const WindowClause *window)
{
	return window->name != NULL &&
		strcmp(window->name, DP_RULES_ANY_ORDER) == 0;
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
 * dp_rules_settle_windows
 *	  Make the windows of a level depend only on the unit's rows: their
 *	  functions, and their order, which becomes unique.
 */
void
dp_rules_settle_windows(Query *level)
{
	List	   *columns = dp_rules_window_columns(level);
	List	   *windows = level->windowClause;
	List	   *of_windows = NIL;	/* of List * of WindowFunc *: by number */
	List	   *apart;
	List	   *functions;
	ListCell   *lc;
	ListCell   *lc2;
	int			rows;

	level->targetList = (List *) short_mutator((Node *) level->targetList,
											   NULL);
	functions = dp_rules_window_functions(level);
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
