/*
 * named_groups.c
 *	  Lists that name the groups of a block, by an outer join that keeps them.
 *
 *	  SELECT band, dp_count(p.id) FROM (VALUES (20), (40)) AS v (band)
 *	  LEFT JOIN patients p ON p.age >= band GROUP BY band
 *
 * The row of a value that nobody has would be of nobody.  It is not made: the
 * join becomes an inner one with the list's rows, each once, and the groups
 * are the list's, as public groups are there without rows.  So the condition
 * of the join says which private rows a value has, and not which values there
 * are.  Whatever else stands at the level must say the same whether or not
 * that row is there (doc/theory.md T157): an aggregate counts a value that is
 * NULL in it, and WHERE does not ask private columns for NULL.
 *
 * A list is whatever reads no relation: VALUES, the rows of functions, and
 * what is computed of these.  An entry of FROM keeps what the join was; that
 * tells joins that name groups from others until the block is split.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "split.h"

/* ---- finding them ---- */

/*
 * dp_block_naming_lists
 *	  The side of a join that names groups, or NULL: it is another join.
 */
Node *
dp_block_naming_lists(const JoinExpr *join, const Query *query)
{
	const RangeTblEntry *entry = join->rtindex == 0 ? NULL :
	rt_fetch(join->rtindex, query->rtable);

	if (join->jointype != JOIN_INNER || entry == NULL ||
		!IS_OUTER_JOIN(entry->jointype))
		return NULL;
	return entry->jointype == JOIN_LEFT ? join->larg : join->rarg;
}

/* Is there something in an item that is, or is not, a list? */
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
	/* as the only item of a level below, like its copy in list_distinct */
	entry = copyObject(rt_fetch(((const RangeTblRef *) item)->rtindex,
								query->rtable));
	IncrementVarSublevelsUp_rtable(list_make1(entry), 1, 0);
	return test(dp_block_make_level(list_make1(entry)), cte_stack);
}

static bool
is_no_list(Query *level, List *cte_stack)
{
	return linitial_node(RangeTblEntry, level->rtable)->lateral ||
		dp_block_reads_relation(level, cte_stack);
}

/* Lists, and nothing but inner joins of them. */
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

/* SELECT DISTINCT * FROM the entry, in its place */
static void
list_distinct(RangeTblEntry *entry, Query *query)
{
	Query	   *rows = dp_block_entry_query(query, entry);
	RangeTblEntry *distinct = makeNode(RangeTblEntry);
	ListCell   *lc;

	IncrementVarSublevelsUp_rtable(rows->rtable, 1, 0);
	foreach(lc, dp_compat_entry_columns(linitial(rows->rtable)))
		dp_block_add_distinct(rows, lfirst(lc));
	distinct->rtekind = RTE_SUBQUERY;
	distinct->subquery = rows;
	distinct->alias = entry->alias;
	distinct->eref = entry->eref;
	distinct->inFromCl = entry->inFromCl;
	*entry = *distinct;
}

static void
make_distinct(const Node *item, Query *query)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, JoinExpr))
	{
		make_distinct(join->larg, query);
		make_distinct(join->rarg, query);
		return;
	}
	list_distinct(rt_fetch(((const RangeTblRef *) item)->rtindex,
						   query->rtable), query);
}

/*
 * Make the joins that name groups among those whose rows no other outer join
 * leaves out; their numbers, added.
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
			 has_entry(left_out, query, cte_stack, dp_block_reads_private))
	{
		make_distinct(kept, query);
		join->jointype = JOIN_INNER;
		return bms_add_member(made, join->rtindex);
	}
	return make_naming(made, kept, query, cte_stack);
}

/*
 * dp_block_name_groups
 *	  Make inner joins of those of a block's own level that keep lists, in
 *	  place; before it is verified, its columns of joins those that they are.
 */
void
dp_block_name_groups(Query *query, List *cte_stack)
{
	Relids		made = NULL;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		made = make_naming(made, lfirst(lc), query, cte_stack);
	if (made != NULL)
		dp_bridge_remove_nulling(query, made);
}

static bool
names_groups(Node *item, const Query *query, bool forget)
{
	JoinExpr   *join = (JoinExpr *) item;
	bool		found;

	if (IsA(item, RangeTblRef))
		return false;
	found = dp_block_naming_lists(join, query) != NULL;
	if (found && forget)
		rt_fetch(join->rtindex, query->rtable)->jointype = JOIN_INNER;
	found = names_groups(join->larg, query, forget) || found;
	return names_groups(join->rarg, query, forget) || found;
}

/* Does some join of the level name groups?  And if so, forget it, or not. */
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
 * dp_block_forget_naming
 *	  The inner query of a block that is split has inner joins.
 */
void
dp_block_forget_naming(Query *inner)
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
		dp_block_is_private(rt_fetch(var->varno, row->query->rtable),
							row->rowset))
		return (Node *) makeNullConst(var->vartype, var->vartypmod,
									  var->varcollid);
	return expression_tree_mutator(node, unmade_mutator, context);
}

/* What an expression of the level is in the row that is not made. */
static Node *
in_unmade(Node *expression, const unmade_row *row)
{
	Node	   *total = dp_rules_make_total(copyObject(expression));

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
		if (dp_block_is_private(rt_fetch(n, row->query->rtable),
								row->rowset))
			return true;
	return false;
}

static dp_refusal *
refuse_test(Node *expression)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							exprLocation(expression),
							"It would show which values of the list no "
							"privacy unit has.",
							"Values without rows are answered anyway.  What "
							"private rows must fulfil can stand in the "
							"condition of the join.",
							"a list that an outer join keeps names groups, "
							"and private columns are asked whether they are "
							"NULL");
}

static dp_refusal *
refuse_count(const Aggref *aggregate)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							aggregate->location,
							"It would count a row of the list that has no "
							"private one.",
							"Count a column of the private side, which is "
							"NULL there, as in dp_count(p.id).",
							"%s does not count private rows of an outer join "
							"that keeps a list",
							get_func_name(aggregate->aggfnoid));
}

/* Does WHERE keep the row; *refusal: it asks private columns for NULL. */
static bool
is_kept(const unmade_row *row, dp_refusal **refusal)
{
	ListCell   *lc;

	foreach(lc, dp_block_add_conjuncts(NIL, row->query->jointree->quals))
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

/* Does an aggregate leave the row out? */
static bool
leaves_out(const Aggref *aggregate, const unmade_row *row)
{
	int			n = dp_catalog_row_arguments(dp_block_kind_of(aggregate));
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
 * dp_block_check_naming
 *	  Where lists name groups: would nothing that a verified block gives be
 *	  another if each row of a list were there, too, with private columns that
 *	  are NULL?  `keys`: of Node *, what it groups by; `aggregates`: of Aggref
 *	  *, those that were written.
 */
dp_refusal *
dp_block_check_naming(const Query *query, const dp_rowset *rowset,
					  const List *keys, const List *aggregates)
{
	unmade_row	row = {query, rowset};
	dp_refusal *refusal = NULL;
	ListCell   *lc;

	if (!level_names_groups(query, false) || !is_kept(&row, &refusal))
		return NULL;
	foreach(lc, keys)
		if (refusal == NULL && asks_private(lfirst(lc), &row) &&
			!is_null(lfirst(lc), &row))
			refusal = refuse_test(lfirst(lc));
	foreach(lc, aggregates)
		if (refusal == NULL && !leaves_out(lfirst(lc), &row))
			refusal = refuse_count(lfirst(lc));
	return refusal;
}
