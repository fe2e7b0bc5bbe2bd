/*
 * named_groups.c
 *	  Lists that name the groups of a block, on the preserved side of an outer
 *	  join.
 *
 *	  SELECT band, dp_count(p.id) FROM (VALUES (20), (40)) AS v (band)
 *	  LEFT JOIN patients p ON p.age >= band GROUP BY band
 *
 * The row of a value that no unit has would belong to no unit.  It is not
 * made: the join becomes an inner one with the distinct rows of the list, and
 * the list's values are groups, since public groups are returned without rows,
 * too.  So the condition of the join decides which private rows a value has,
 * not which values there are.  Everything else at the level must give the same
 * whether or not that row exists (doc/theory.md T157): aggregates skip it,
 * since their argument is NULL in it, and WHERE must not test private columns
 * for NULL.
 *
 * A list is anything that reads no relation: VALUES, rows of functions, and
 * what is computed from these.  The join's range table entry keeps the
 * original join type, which identifies such joins until the block is split.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../expressions/dp_expressions.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* ---- finding them ---- */

/*
 * dp_rowsets_naming_lists
 *	  The side of a join that names groups; NULL if the join names none.
 */
Node *
dp_rowsets_naming_lists(const JoinExpr *join, const Query *query)
{
	const RangeTblEntry *entry = join->rtindex == 0 ? NULL :
	rt_fetch(join->rtindex, query->rtable);

	if (join->jointype != JOIN_INNER || entry == NULL ||
		!IS_OUTER_JOIN(entry->jointype))
		return NULL;
	return entry->jointype == JOIN_LEFT ? join->larg : join->rarg;
}

/* Tests whether an entry, or an entry inside it, is or is not a list. */
typedef bool (*entry_test) (Query *level, List *cte_stack);

static bool
has_entry(const Node *item, const Query *query, List *cte_stack,
		  entry_test test)
{
	const JoinExpr *join = (const JoinExpr *) item;
	RangeTblEntry *entry;

	if (IsA(item, JoinExpr))
		return has_entry(join->larg, query, cte_stack, test) ||
			has_entry(join->rarg, query, cte_stack, test);
	/*
	 * look at it as the only item of a level below, like its copy in
	 * list_distinct
	 */
	entry = copyObject(rt_fetch(((const RangeTblRef *) item)->rtindex,
								query->rtable));
	IncrementVarSublevelsUp_rtable(list_make1(entry), 1, 0);
	return test(dp_rowsets_make_level(list_make1(entry)), cte_stack);
}

static bool
is_no_list(Query *level, List *cte_stack)
{
	return linitial_node(RangeTblEntry, level->rtable)->lateral ||
		dp_rowsets_reads_relation(level, cte_stack);
}

/* Is the item a list, or inner joins of lists? */
static bool
are_lists(const Node *item, const Query *query, List *cte_stack)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return !has_entry(item, query, cte_stack, is_no_list);
	return join->jointype == JOIN_INNER &&
		are_lists(join->larg, query, cte_stack) &&
		are_lists(join->rarg, query, cte_stack);
}

/* ---- making them ---- */

/* Replace the entry by SELECT DISTINCT * FROM it. */
static void
list_distinct(RangeTblEntry *entry, Query *query)
{
	Query	   *rows = dp_rowsets_entry_query(query, entry);
	RangeTblEntry *distinct = makeNode(RangeTblEntry);
	ListCell   *lc;

	IncrementVarSublevelsUp_rtable(rows->rtable, 1, 0);
	foreach(lc, dp_compat_entry_columns(linitial(rows->rtable)))
		dp_rowsets_add_distinct(rows, lfirst(lc));
	distinct->rtekind = RTE_SUBQUERY;
	distinct->subquery = rows;
	distinct->alias = entry->alias;
	distinct->eref = entry->eref;
	distinct->inFromCl = entry->inFromCl;
	*entry = *distinct;
}

static void
named_groups_make_distinct(const Node *item, Query *query)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, JoinExpr))
	{
		named_groups_make_distinct(join->larg, query);
		named_groups_make_distinct(join->rarg, query);
		return;
	}
	list_distinct(rt_fetch(((const RangeTblRef *) item)->rtindex,
						   query->rtable), query);
}

/*
 * Make the joins that name groups inner ones, unless another outer join may
 * leave out their rows; returns their numbers added to `made`.
 */
static Relids
make_naming(Relids made, Node *item, Query *query, List *cte_stack)
{
	JoinExpr   *join = (JoinExpr *) item;
	Node	   *kept;
	Node	   *left_out;

	if (IsA(item, RangeTblRef) || join->jointype == JOIN_FULL)
		return made;
	kept = join->jointype == JOIN_RIGHT ? join->rarg : join->larg;
	left_out = join->jointype == JOIN_RIGHT ? join->larg : join->rarg;
	if (join->jointype == JOIN_INNER)
		made = make_naming(made, left_out, query, cte_stack);
	else if (are_lists(kept, query, cte_stack) &&
			 has_entry(left_out, query, cte_stack, dp_rowsets_reads_private))
	{
		named_groups_make_distinct(kept, query);
		join->jointype = JOIN_INNER;
		return bms_add_member(made, join->rtindex);
	}
	return make_naming(made, kept, query, cte_stack);
}

/*
 * dp_rowsets_name_groups
 *	  Turn outer joins of a block's own level that preserve lists into inner
 *	  joins, in place, before the level is verified.  Columns of joins are
 *	  flattened.
 */
void
dp_rowsets_name_groups(Query *query, List *cte_stack)
{
	Relids		made = NULL;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		made = make_naming(made, lfirst(lc), query, cte_stack);
	if (made != NULL)
		dp_base_remove_nulling(query, made);
}

static bool
names_groups(Node *item, const Query *query, bool forget)
{
	JoinExpr   *join = (JoinExpr *) item;
	bool		found;

	if (IsA(item, RangeTblRef))
		return false;
	found = dp_rowsets_naming_lists(join, query) != NULL;
	if (found && forget)
		rt_fetch(join->rtindex, query->rtable)->jointype = JOIN_INNER;
	found = names_groups(join->larg, query, forget) || found;
	return names_groups(join->rarg, query, forget) || found;
}

/*
 * Does a join of the level name groups?  `forget`: remove the mark if it does.
 */
static bool
level_names_groups(const Query *query, bool forget)
{
	bool		found = false;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		found = names_groups(lfirst(lc), query, forget) || found;
	return found;
}

/*
 * dp_rowsets_forget_naming
 *	  Remove the marks, so that the inner query of a split block has plain
 *	  inner joins.
 */
void
dp_rowsets_forget_naming(Query *inner)
{
	(void) level_names_groups(inner, true);
}

/* ---- what must not depend on the row that is not made ---- */

typedef struct unmade_row
{
	const Query *query;
	const dp_rowset *rowset;
} unmade_row;

static Node *
unmade_mutator(Node *node, void *context)
{
	const unmade_row *row = context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varlevelsup == 0 &&
		dp_rowsets_is_private(rt_fetch(var->varno, row->query->rtable),
							  row->rowset))
		return (Node *) makeNullConst(var->vartype, var->vartypmod,
									  var->varcollid);
	return expression_tree_mutator(node, unmade_mutator, context);
}

/* An expression of the level in the row that is not made. */
static Node *
in_unmade(Node *expression, const unmade_row *row)
{
	Node	   *total = dp_expressions_make_total(copyObject(expression));

	return eval_const_expressions(NULL, unmade_mutator(total, (void *) row));
}

static bool
is_null(Node *expression, const unmade_row *row)
{
	const Const *value = (const Const *) in_unmade(expression, row);

	return IsA(value, Const) && value->constisnull;
}

/* Is a condition, in which columns are replaced, never true? */
static bool
is_never(Node *condition)
{
	const Const *value = (const Const *) condition;
	bool		any = is_orclause(condition);
	ListCell   *lc;

	if (IsA(condition, Const))
		return value->constisnull || !DatumGetBool(value->constvalue);
	if (!any && !is_andclause(condition))
		return false;
	foreach(lc, ((BoolExpr *) condition)->args)
		if (is_never(lfirst(lc)) != any)
			return !any;
	return any;
}

static bool
asks_private(Node *expression, const unmade_row *row)
{
	Relids		items = pull_varnos(NULL, expression);
	int			n = -1;

	while ((n = bms_next_member(items, n)) >= 0)
		if (dp_rowsets_is_private(rt_fetch(n, row->query->rtable),
								  row->rowset))
			return true;
	return false;
}

static dp_refusal *
refuse_test(Node *expression)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(expression),
						  "It would show which values of the list no "
						  "privacy unit has.",
						  "Values without rows are returned anyway.  "
						  "Conditions on private rows can be part of the "
						  "join condition.",
						  "private columns are tested for NULL where a list "
						  "that an outer join keeps names the groups");
}

static dp_refusal *
refuse_count(const Aggref *aggregate)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  aggregate->location,
						  "It would count a row of the list that has no "
						  "private one.",
						  psprintf("Count a column of the private side, which "
								   "is NULL there, as in %s(p.id).",
								   dp_catalog_shown_name("dp_count")),
						  "%s does not count private rows of an outer join "
						  "that keeps a list",
						  dp_catalog_shown_name
						  (get_func_name(aggregate->aggfnoid)));
}

/* Does WHERE keep the row?  *refusal: it tests private columns for NULL. */
static bool
named_groups_is_kept(const unmade_row *row, dp_refusal **refusal)
{
	ListCell   *lc;

	foreach(lc, dp_rowsets_add_conjuncts(NIL, row->query->jointree->quals))
	{
		Node	   *condition = lfirst(lc);

		if (!asks_private(condition, row))
			continue;
		if (is_never(in_unmade(condition, row)))
			return false;
		*refusal = refuse_test(condition);
	}
	return true;
}

/* Does an aggregate skip the row? */
static bool
named_groups_leaves_out(const Aggref *aggregate, const unmade_row *row)
{
	int			n = dp_catalog_row_arguments(dp_catalog_kind_of(aggregate));
	ListCell   *lc;

	if (aggregate->aggfilter != NULL &&
		is_never(in_unmade((Node *) aggregate->aggfilter, row)))
		return true;
	foreach(lc, aggregate->args)
		if (foreach_current_index(lc) < n &&
			is_null((Node *) lfirst_node(TargetEntry, lc)->expr, row))
			return true;
	return false;
}

/*
 * dp_rowsets_check_naming
 *	  If lists name groups: refuse a verified block whose result could differ
 *	  if each row of a list also occurred with NULL in all private columns.
 *	  `keys`: of Node *, its group keys; `aggregates`: of Aggref *, those in
 *	  the query.
 */
dp_refusal *
dp_rowsets_check_naming(const Query *query, const dp_rowset *rowset,
						const List *keys, const List *aggregates)
{
	unmade_row	row = {query, rowset};
	dp_refusal *refusal = NULL;
	ListCell   *lc;

	if (!level_names_groups(query, false) || !named_groups_is_kept(&row,
																   &refusal))
		return NULL;
	foreach(lc, keys)
		if (refusal == NULL && asks_private(lfirst(lc), &row) &&
			!is_null(lfirst(lc), &row))
			refusal = refuse_test(lfirst(lc));
	foreach(lc, aggregates)
		if (refusal == NULL && !named_groups_leaves_out(lfirst(lc), &row))
			refusal = refuse_count(lfirst(lc));
	return refusal;
}
