/*
 * outer.c
 *	  The outer query of a split block: the query as written, over the released
 *	  columns instead of private rows.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../rowsets/dp_rowsets.h"
#include "../keys/dp_keys.h"
#include "dp_split.h"
#include "split_internal.h"

/* ----------------
 *		Counts among the released values, by which the release decides what it
 *		returns: dp_pg.suppress, and an owner's min_units.
 *
 * A plain query has no row for an empty group, a private one a row for every
 * public group; and a plain minimum of no rows is NULL, a private one any
 * value.  Groups whose released count cannot be told from none are left out of
 * the answer, and selections (minimum, quantile, most frequent value) among
 * values whose count cannot be told from none are NULL.  This follows from
 * released values only, so it costs nothing but the counts themselves, which
 * are added if the query does not release them anyway.
 *
 * Groups whose released number of units is below what an owner declared are
 * left out, too; without keys all values are NULL (doc/theory.md T106).  That
 * number then also decides which groups look empty.  It is dp_count(*) where
 * each row is a unit, or a dp_count(DISTINCT unit) that the query has; else a
 * count is added of which each unit adds one.  Undeclared keys are released by
 * the number of units anyway (key_decision.c), so none is added.
 * ----------------
 */

/* ---- the aggregates of a level ---- */

static bool
add_own_aggregate(Node *node, const dp_walk *walk)
{
	List	  **found = walk->context;

	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup ==
		walk->depth)
		*found = list_append_unique(*found,
									dp_split_lift_aggregate((Aggref *) node,
															walk->depth));
	return false;
}

/* Aggregates of the level of an expression: of Aggref *, distinct, level 0. */
static List *
aggregates_in(Node *expression)
{
	List	   *found = NIL;

	(void) dp_base_contains(expression, add_own_aggregate, &found, 0);
	return found;
}

/* ---- numbers of rows ---- */

/* Is it the number of rows, dp_count(*)? */
static bool
is_size(const Aggref *aggregate)
{
	return aggregate->aggstar && aggregate->aggfilter == NULL &&
		dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_COUNT;
}

static Aggref *
split_outer_make_count(int nargs)
{
	const Oid	any = ANYOID;
	Aggref	   *size = makeNode(Aggref);

	size->aggfnoid = dp_catalog_aggregate("dp_count", nargs, &any);
	if (!OidIsValid(size->aggfnoid))
		elog(ERROR, "aggregate dp_count not found");
	size->aggtype = INT8OID;
	size->aggkind = AGGKIND_NORMAL;
	size->aggsplit = AGGSPLIT_SIMPLE;
	size->aggno = -1;
	size->aggtransno = -1;
	size->location = -1;
	return size;
}

/* The position of an aggregate, from 1; it is added if missing. */
static int
split_outer_place_of(List **aggregates, Aggref *wanted)
{
	ListCell   *lc;

	foreach(lc, *aggregates)
		if (equal(lfirst(lc), wanted))
			return foreach_current_index(lc) + 1;
	*aggregates = lappend(*aggregates, wanted);
	return list_length(*aggregates);
}

/* The position of the number of rows, dp_count(*). */
static int
size_place(List **aggregates)
{
	Aggref	   *size;
	ListCell   *lc;

	foreach(lc, *aggregates)
		if (is_size(lfirst(lc)))
			return foreach_current_index(lc) + 1;
	size = split_outer_make_count(0);
	size->aggstar = true;
	return split_outer_place_of(aggregates, size);
}

/*
 * The position of the number of values among which an aggregate selects,
 * dp_count(x).
 */
static int
values_place(List **aggregates, const Aggref *selection)
{
	TargetEntry *first = linitial(selection->args);
	Aggref	   *size = split_outer_make_count(1);

	size->args = list_make1(makeTargetEntry(copyObject(first->expr), 1, NULL,
											false));
	size->aggargtypes = list_make1_oid(exprType((Node *) first->expr));
	size->inputcollid = exprCollation((Node *) first->expr);
	size->aggfilter = copyObject(selection->aggfilter);
	return split_outer_place_of(aggregates, size);
}

/* Does it return some value whether or not there is a row? */
static bool
selects(const Aggref *aggregate)
{
	switch (dp_catalog_aggregate_kind(aggregate->aggfnoid))
	{
		case DP_AGG_QUANTILE:
		case DP_AGG_MEDIAN:
		case DP_AGG_MIN:
		case DP_AGG_MAX:
		case DP_AGG_ARGMAX:
			return true;
		default:
			return false;
	}
}

/*
 * Add the counts that decide.  *group: that of the whole group, or 0 if there
 * are no keys; the list has for each aggregate the position of its own, or 0.
 */
static List *
add_sizes(List **aggregates, bool grouped, int *group)
{
	List	   *own = NIL;
	int			n = list_length(*aggregates);
	int			i;

	*group = grouped && n > 0 ? size_place(aggregates) : 0;
	for (i = 0; i < n; i++)
	{
		const Aggref *aggregate = list_nth(*aggregates, i);

		own = lappend_int(own, !selects(aggregate) ? 0 :
						  values_place(aggregates, aggregate));
	}
	while (list_length(own) < list_length(*aggregates))
		own = lappend_int(own, 0);
	return own;
}

/* ---- what splitting asks for ---- */

/* dp_split_holds_size: does an expression of a level use such a count? */
bool
dp_split_holds_size(Node *expression)
{
	ListCell   *lc;

	foreach(lc, aggregates_in(expression))
		if (is_size(lfirst(lc)))
			return true;
	return false;
}

/*
 * dp_split_added_sizes
 *	  How many counts a level with private aggregates that is not yet split
 *	  will release at most in addition to what it asks for, min_units aside.
 */
int
dp_split_added_sizes(const Query *query)
{
	List	   *aggregates;
	int			group;
	int			asked;

	if (!dp_base_suppresses())
		return 0;
	aggregates = aggregates_in((Node *) list_make2(query->targetList,
												   query->havingQual));
	asked = list_length(aggregates);
	(void) add_sizes(&aggregates, query->groupClause != NIL, &group);
	return list_length(aggregates) - asked;
}

/*
 * The largest min_units of the relations that are read; 0: none, or the level
 * is only a list of conditions over all rows, as readings and dp_argmax make.
 */
static int64
largest_least(const dp_splitter *s)
{
	int64		least = 0;
	ListCell   *lc;

	if (s->query->groupClause == NIL && list_length(s->aggregates) == 1 &&
		dp_catalog_aggregate_kind(linitial_node(Aggref,
												s->aggregates)->aggfnoid) ==
		DP_AGG_CONDITIONS)
		return 0;
	foreach(lc, s->rowset.leaves)
	{
		const dp_relation *relation = ((const dp_leaf *) lfirst(lc))->relation;

		if (relation != NULL)
			least = Max(least, relation->min_units);
	}
	return least;
}

/*
 * The position of the number of units of a group, which is added if missing,
 * unless keys are released by that number; or 0.
 */
static int
units_place(dp_splitter *s, const dp_block *block)
{
	bool		once = !s->rowset.many || dp_rowsets_reads_once(block);
	ListCell   *lc;

	foreach(lc, s->aggregates)
		if ((once && is_size(lfirst(lc))) ||
			dp_split_counts_units(s, block, lfirst(lc)))
			return foreach_current_index(lc) + 1;
	if (dp_keys_has_undeclared(block))
		return 0;
	if (once)
		return size_place(&s->aggregates);
	/* another dp_count(*) of the query's own, before it, counts rows */
	s->aggregates = lappend(s->aggregates, split_outer_make_count(0));
	((Aggref *) llast(s->aggregates))->aggstar = true;
	s->units = list_length(s->aggregates);
	return s->units;
}

/*
 * dp_split_add_sizes
 *	  Find the counts that decide among the collected aggregates, or add them,
 *	  and record them in the block, whose keys and unit are known.
 */
void
dp_split_add_sizes(dp_splitter *s, dp_block *block)
{
	bool		grouped = s->query->groupClause != NIL;
	int			units = 0;

	block->least = largest_least(s);
	if (block->least > 0 && s->aggregates != NIL)
		units = units_place(s, block);
	block->omits_empty = grouped && dp_base_suppresses();
	if (dp_base_suppresses())
		s->sizes = add_sizes(&s->aggregates, grouped && block->least == 0,
							 &block->size);
	if (units > 0)
		block->size = units;
}

static Var *
release_column(dp_splitter *s, int column, Node *like)
{
	return makeVar(1, column, exprType(like), exprTypmod(like),
				   exprCollation(like), s->level);
}

/* The release column of a key that equals the node, or 0. */
static int
split_outer_key_column(dp_splitter *s, Node *node)
{
	ListCell   *lc;
	int			column = 0;

	if (IsA(node, Const) || IsA(node, Param) || IsA(node, Query) ||
		IsA(node, List) || IsA(node, TargetEntry))
		return 0;
	foreach(lc, s->keys)
	{
		Node	   *key = lfirst(lc);

		column++;
		if (nodeTag(key) != nodeTag(node))
			continue;
		if (s->level > 0)
		{
			key = copyObject(key);
			IncrementVarSublevelsUp(key, s->level, 0);
		}
		if (equal(key, node))
			return column;
	}
	return 0;
}

/*
 * Bounds and price of an aggregate reach it as one array; write them as
 * parameters of their own.  An array that is not written out stays.
 */
static void
spread_parameters(Aggref *aggregate)
{
	TargetEntry *last = aggregate->args == NIL ? NULL : llast(aggregate->args);
	ArrayExpr  *array = last == NULL ? NULL : (ArrayExpr *) last->expr;
	ListCell   *lc;

	if (!aggregate->aggvariadic || array == NULL || !IsA(array, ArrayExpr) ||
		array->multidims)
		return;
	aggregate->aggvariadic = false;
	aggregate->args = list_delete_last(aggregate->args);
	aggregate->aggargtypes = list_delete_last(aggregate->aggargtypes);
	foreach(lc, array->elements)
	{
		(void) dp_rowsets_add_target(&aggregate->args, lfirst(lc), NULL);
		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes,
											 array->element_typeid);
	}
}

/* The number that a cast makes a double precision, or NULL. */
static Expr *
below_cast(Expr *expression)
{
	FuncExpr   *cast = (FuncExpr *) expression;

	if (!IsA(expression, FuncExpr))
		return NULL;
	switch (cast->funcid)
	{
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_FLOAT8_INT8:
		case F_FLOAT8_FLOAT4:
		case F_FLOAT8_NUMERIC:
			return linitial(cast->args);
		default:
			return NULL;
	}
}

/*
 * A parameter as it was written: the parser casts numbers to double precision,
 * which would round.  The definition of a view shows that cast as if it had
 * been written, so constants are read without any.
 */
static Expr *
written_parameter(Expr *parameter)
{
	Expr	   *number = below_cast(parameter);

	if (number == NULL ||
		(((FuncExpr *) parameter)->funcformat != COERCE_IMPLICIT_CAST &&
		 !IsA(number, Const)))
		return parameter;
	return (Expr *) strip_implicit_coercions((Node *) number);
}

/* The number that was cast, of its base type. */
static Expr *
written_number(Expr *argument)
{
	Expr	   *number = below_cast(argument);
	Oid			type;

	if (number == NULL)
		return argument;
	type = getBaseType(exprType((Node *) number));
	if (type == exprType((Node *) number))
		return number;
	return (Expr *) makeRelabelType(number, type, -1, InvalidOid,
									COERCE_IMPLICIT_CAST);
}

/*
 * Where the result does not depend on its type, an aggregate takes every
 * number as double precision; what it looks at is the number itself.
 */
static bool
takes_any_number(const Aggref *aggregate)
{
	int			kind = dp_catalog_aggregate_kind(aggregate->aggfnoid);

	return kind == DP_AGG_HISTOGRAM || kind == DP_AGG_BOUNDS;
}

static void
read_uncast(Aggref *aggregate)
{
	int			rows = dp_catalog_row_arguments(
		dp_catalog_aggregate_kind(aggregate->aggfnoid));
	ListCell   *lc;
	ListCell   *type;

	forboth(lc, aggregate->args, type, aggregate->aggargtypes)
	{
		TargetEntry *argument = lfirst_node(TargetEntry, lc);

		if (foreach_current_index(lc) >= rows)
			argument->expr = written_parameter(argument->expr);
		else if (takes_any_number(aggregate))
			argument->expr = written_number(argument->expr);
		lfirst_oid(type) = exprType((Node *) argument->expr);
	}
}

/*
 * dp_split_lift_aggregate
 *	  A copy of an aggregate of the block, found `level` levels below it, as if
 *	  it were at the block's own level, with one argument for each parameter
 *	  and without casts that only resolved the call.
 */
Aggref *
dp_split_lift_aggregate(Aggref *aggregate, int level)
{
	Aggref	   *copy = copyObject(aggregate);

	if (level > 0)
		IncrementVarSublevelsUp((Node *) copy, -level, 0);
	copy->agglevelsup = 0;
	spread_parameters(copy);
	read_uncast(copy);
	return copy;
}

static int
aggregate_column(dp_splitter *s, Aggref *aggregate)
{
	ListCell   *lc;
	int			column = list_length(s->keys);
	Aggref	   *wanted = dp_split_lift_aggregate(aggregate, s->level);

	foreach(lc, s->aggregates)
	{
		column++;
		if (equal(lfirst(lc), wanted))
			return column;
	}
	elog(ERROR, "private aggregate was not collected");
	return 0;
}

/* The column of an aggregate's error; 0, with a refusal, if there is none. */
static int
error_column(dp_splitter *s, Aggref *aggregate)
{
	int			column = aggregate_column(s, aggregate);

	s->asked = bms_add_member(s->asked, column);
	if (s->errors)
		return column + list_length(s->aggregates);
	if (s->refusal == NULL)
		s->refusal = dp_base_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED,
									aggregate->location,
									"A row has no room for an error for "
									"each value.",
									"Ask in several queries.",
									"query has too many private values for "
									"dp_error");
	return 0;
}

/* The aggregate of the block whose error a node asks for, or NULL. */
static Aggref *
asks_error(const dp_splitter *s, Node *node)
{
	Aggref	   *aggregate;

	if (!IsA(node, FuncExpr) || ((FuncExpr *) node)->funcid != s->error)
		return NULL;
	aggregate = (Aggref *) dp_split_error_of((FuncExpr *) node);
	return IsA(aggregate, Aggref) &&
		(int) aggregate->agglevelsup == s->level ? aggregate : NULL;
}

static dp_refusal *
split_outer_refuse_column(dp_splitter *s, const Var *var)
{
	RangeTblEntry *entry;

	/* in 18, a grouping key of a subquery with grouping sets */
	if (var->varno > list_length(s->query->rtable))
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "It groups by a key of the private query.",
							  "Select from the released values in a "
							  "subquery, and use that.",
							  "grouping sets are not supported in a "
							  "subquery together with private aggregates");
	entry = rt_fetch(var->varno, s->query->rtable);
	return dp_base_refuse(ERRCODE_GROUPING_ERROR, var->location,
						  "Outside aggregates only group keys are released.",
						  "Add the column to GROUP BY or use a private "
						  "aggregate of it.",
						  "column \"%s\" of private rows is used outside "
						  "the group keys",
						  get_rte_attribute_name(entry, var->varattno));
}

/*
 * dp_split_larger_count
 *	  int8larger(count, least), which is NULL for NULL, as GREATEST is not.
 */
Node *
dp_split_larger_count(Node *count, Node *least)
{
	return (Node *) makeFuncExpr(F_INT8LARGER, INT8OID,
								 list_make2(count, least), InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

static Node *
release_mutator(Node *node, void *context)
{
	dp_splitter *s = context;
	Node	   *copy;
	int			column;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == s->level)
	{
		column = aggregate_column(s, (Aggref *) node);
		s->shown = bms_add_member(s->shown, column);
		return (Node *) release_column(s, column, node);
	}
	if (s->nullable && dp_split_kept_count(node) != NULL)
		return dp_split_larger_count(release_mutator(dp_split_kept_count(node),
													 s),
									 lsecond(((MinMaxExpr *) node)->args));
	if (asks_error(s, node) != NULL)
		return (Node *)
			release_column(s, error_column(s, asks_error(s, node)), node);
	column = split_outer_key_column(s, node);
	if (column > 0)
		return (Node *) release_column(s, column, node);
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == s->level)
	{
		if (s->refusal == NULL)
			s->refusal = split_outer_refuse_column(s, (Var *) node);
		return copyObject(node);
	}
	if (IsA(node, Query))
	{
		s->level++;
		copy = (Node *) query_tree_mutator((Query *) node, release_mutator,
										   context, 0);
		s->level--;
		return copy;
	}
	return expression_tree_mutator(node, release_mutator, context);
}

/*
 * The outer targets.  A grouped target is always the release column itself,
 * constants included: the release decides which keys appear.
 */
static List *
split_outer_outer_targets(dp_splitter *s)
{
	List	   *targets = (List *) release_mutator((Node *)
												   s->query->targetList, s);
	ListCell   *old_cell;
	ListCell   *new_cell;

	forboth(old_cell, s->query->targetList, new_cell, targets)
	{
		TargetEntry *old = lfirst(old_cell);
		int			column = 0;
		ListCell   *lc;

		foreach(lc, s->keys)
		{
			column++;
			if (lfirst(lc) == (void *) old->expr)
				((TargetEntry *) lfirst(new_cell))->expr = (Expr *)
					release_column(s, column, (Node *) old->expr);
		}
	}
	return targets;
}

static RangeTblEntry *
release_entry(dp_splitter *s)
{
	RangeTblFunction *function = makeNode(RangeTblFunction);
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	function->funccolcount = list_length(s->names);
	function->funccolnames = s->names;
	function->funccoltypes = s->types;
	function->funccoltypmods = s->typmods;
	function->funccolcollations = s->collations;
	entry->rtekind = RTE_FUNCTION;
	entry->functions = list_make1(function);
	entry->eref = makeAlias("release", copyObject(s->names));
	entry->inFromCl = true;
	return entry;
}

static void
rebuild_query(dp_splitter *s, List *targets, Node *having,
			  RangeTblEntry *entry)
{
	Query	   *query = s->query;
	List	   *kept = NIL;
	ListCell   *lc;

	dp_compat_replace_entries(query, entry);
	query->jointree = makeFromExpr(list_make1(dp_rowsets_make_item(1)),
								   having);
	query->targetList = targets;
	query->groupClause = NIL;
	query->groupDistinct = false;
	query->havingQual = NULL;
	query->hasAggs = false;
	query->hasRowSecurity = false;
	query->constraintDeps = NIL;
	query->hasSubLinks = checkExprHasSubLink((Node *) query);
	foreach(lc, query->cteList)
		if (((CommonTableExpr *) lfirst(lc))->cterefcount > 0)
			kept = lappend(kept, lfirst(lc));
	query->cteList = kept;
}

/*
 * dp_split_make_outer
 *	  Turn the block's query, whose keys and aggregates have been collected,
 *	  into the outer query over the released columns; *entry is its only range
 *	  table entry.  Returns a refusal, or NULL.
 */
dp_refusal *
dp_split_make_outer(dp_splitter *s, RangeTblEntry **entry)
{
	List	   *targets = split_outer_outer_targets(s);
	Node	   *having = release_mutator(s->query->havingQual, s);

	if (s->refusal != NULL)
		return s->refusal;
	*entry = release_entry(s);
	rebuild_query(s, targets,
				  make_and_qual(dp_rowsets_and(s->combined), having), *entry);
	return NULL;
}
