/*
 * united.c
 *	  Levels that combine rows of several queries: set operations.
 *
 *	  SELECT dp_count(*) FROM (SELECT person, day FROM visits UNION ALL
 *							   SELECT person, day FROM calls) AS s
 *
 * A row of such a level is a row of one of its arms, so it has that row's
 * unit, if all arms have units and return them in the same column
 * (doc/theory.md T151).  UNION is GROUP BY of all columns above it.
 *
 * So are INTERSECT and EXCEPT (T154), with a column for the side of a row:
 *
 *	  SELECT person, day FROM visits EXCEPT SELECT person, day FROM calls
 *
 *	  SELECT person, day FROM (SELECT person, day, true FROM visits UNION ALL
 *							   SELECT person, day, false FROM calls)
 *		  AS s (person, day, side)
 *	  GROUP BY person, day HAVING bool_and(side)
 *
 * A group has rows of one unit (unit_levels.c), and its condition is a
 * function of them.  INTERSECT ALL and EXCEPT ALL would repeat a row according
 * to counts, and are refused.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "../../base/dp_base.h"
#include "../expressions/dp_expressions.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* dp_rowsets_is_united: is the level a UNION ALL and nothing else? */
bool
dp_rowsets_is_united(const Query *level)
{
	return level->setOperations != NULL &&
		dp_expressions_unites_all(level->setOperations);
}

static List *
add_arms(List *arms, Node *operation)
{
	if (IsA(operation, RangeTblRef))
		return lappend(arms, operation);
	arms = add_arms(arms, ((SetOperationStmt *) operation)->larg);
	return add_arms(arms, ((SetOperationStmt *) operation)->rarg);
}

/*
 * dp_rowsets_from
 *	  The items of a level's FROM, or its arms, as RangeTblRefs.
 */
List *
dp_rowsets_from(const Query *level)
{
	return level->setOperations != NULL ?
		add_arms(NIL, level->setOperations) : level->jointree->fromlist;
}

/* ---- levels made of arms ---- */

/* Targets that are the columns of an item of the level, to match `targets`. */
static List *
columns_of(int item, const List *targets)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, targets)
		(void) dp_rowsets_add_target(&columns, (Node *)
									 makeVarFromTargetEntry(item, lfirst(lc)),
									 "column");
	return columns;
}

static Node *
make_operation(SetOperation op, bool all, Node *left, Node *right,
			   const List *targets)
{
	SetOperationStmt *operation = makeNode(SetOperationStmt);
	ListCell   *lc;

	operation->op = op;
	operation->all = all;
	operation->larg = left;
	operation->rarg = right;
	foreach(lc, targets)
	{
		Node	   *column = (Node *) ((TargetEntry *) lfirst(lc))->expr;

		operation->colTypes = lappend_oid(operation->colTypes,
										  exprType(column));
		operation->colTypmods = lappend_int(operation->colTypmods,
											exprTypmod(column));
		operation->colCollations = lappend_oid(operation->colCollations,
											   exprCollation(column));
	}
	return (Node *) operation;
}

/*
 * dp_rowsets_unite
 *	  Make a level the UNION ALL of some entries, and nothing else, with
 *	  columns like its targets.
 */
void
dp_rowsets_unite(Query *level, List *entries)
{
	Node	   *united = dp_rowsets_make_item(1);
	int			n;

	level->rtable = entries;
	level->targetList = columns_of(1, level->targetList);
	for (n = 2; n <= list_length(entries); n++)
		united = make_operation(SETOP_UNION, true, united,
								dp_rowsets_make_item(n), level->targetList);
	if (IsA(united, RangeTblRef))
		level->jointree->fromlist = list_make1(united);
	else
		level->setOperations = united;
}

/* ---- operations as levels ---- */

/*
 * An operand as an entry that moves `down` levels further in, with references
 * to outer levels adjusted.
 */
static RangeTblEntry *
move_operand(Node *operand, const Query *level, int down)
{
	RangeTblEntry *entry;
	Query	   *moved;
	const SetOperationStmt *operation = (const SetOperationStmt *) operand;

	if (IsA(operand, RangeTblRef))
		entry = copyObject(rt_fetch(((RangeTblRef *) operand)->rtindex,
									level->rtable));
	else
	{
		RangeTblEntry *left = move_operand(operation->larg, level, 1);

		moved = dp_rowsets_make_level(list_make2(left,
												 move_operand(operation->rarg,
															  level, 1)));
		moved->targetList = columns_of(1, level->targetList);
		moved->setOperations =
			make_operation(operation->op, operation->all,
						   dp_rowsets_make_item(1), dp_rowsets_make_item(2),
						   moved->targetList);
		entry = dp_rowsets_subquery_entry(moved);
	}
	IncrementVarSublevelsUp((Node *) entry->subquery, down, 1);
	return entry;
}

/*
 * Collect what UNION ALL combines: operands, and those of nested UNION ALL, or
 * of UNION if duplicates do not matter.
 */
static List *
add_united(List *entries, Node *operand, const Query *level, bool all,
		   int down)
{
	SetOperationStmt *operation = (SetOperationStmt *) operand;

	if (IsA(operand, RangeTblRef) || operation->op != SETOP_UNION ||
		(all && !operation->all))
		return lappend(entries, move_operand(operand, level, down));
	entries = add_united(entries, operation->larg, level, all, down);
	return add_united(entries, operation->rarg, level, all, down);
}

/* SELECT *, side FROM operand */
static RangeTblEntry *
mark_side(Node *operand, const Query *level, bool side)
{
	RangeTblEntry *entry = move_operand(operand, level, 2);
	Query	   *marked = dp_rowsets_make_level(list_make1(entry));

	marked->jointree->fromlist = list_make1(dp_rowsets_make_item(1));
	marked->targetList = columns_of(1, entry->subquery->targetList);
	(void) dp_rowsets_add_target(&marked->targetList,
								 makeBoolConst(side, false), "side");
	return dp_rowsets_subquery_entry(marked);
}

/* Keep the groups that occur on both sides, or only on the left one. */
static void
keep_groups(Query *level, SetOperation op)
{
	Var		   *side = makeVar(1, list_length(level->targetList) + 1, BOOLOID,
							   -1, InvalidOid, 0);
	Node	   *left_alone = dp_rowsets_of_all(F_BOOL_AND, (Node *) side);
	Node	   *left = dp_rowsets_of_all(F_BOOL_OR, copyObject((Node *) side));

	level->hasAggs = true;
	level->havingQual = op == SETOP_EXCEPT ? left_alone :
		(Node *) make_andclause(list_make2(left, make_notclause((Expr *)
																left_alone)));
}

/* Make a level group the UNION ALL of one below it. */
static void
group_united(Query *level, SetOperationStmt *root)
{
	Query	   *united = dp_rowsets_make_level(NIL);

	if (root->op == SETOP_UNION)
	{
		united->targetList = level->targetList;
		dp_rowsets_unite(united,
						 add_united(NIL, (Node *) root, level, false, 1));
	}
	else
	{
		List	   *sides = list_make2(mark_side(root->larg, level, true),
									   mark_side(root->rarg, level, false));
		RangeTblEntry *left = linitial(sides);
		TargetEntry *side = llast(left->subquery->targetList);

		united->targetList = lappend(list_copy(level->targetList), side);
		dp_rowsets_unite(united, sides);
	}
	level->rtable = list_make1(dp_rowsets_subquery_entry(united));
	level->jointree = makeFromExpr(list_make1(dp_rowsets_make_item(1)), NULL);
	level->targetList = columns_of(1, level->targetList);
	level->setOperations = NULL;
	dp_rowsets_group_by_all(level);
	if (root->op != SETOP_UNION)
		keep_groups(level, root->op);
}

/*
 * dp_rowsets_group_operation
 *	  Turn a level of set operations into a UNION ALL, or into one that groups
 *	  such a level, in place; nested operations become levels below, to be
 *	  treated likewise.  INTERSECT ALL and EXCEPT ALL are left unchanged.
 */
void
dp_rowsets_group_operation(Query *level)
{
	SetOperationStmt *root = (SetOperationStmt *) level->setOperations;

	if (root == NULL || dp_expressions_unites_all((Node *) root) ||
		(root->all && root->op != SETOP_UNION))
		return;
	level->sortClause = NIL;
	dp_compat_forget_rights(level);
	if (root->all)
		dp_rowsets_unite(level,
						 add_united(NIL, (Node *) root, level, true, 0));
	else
		group_united(level, root);
}

/* ---- what arms give ---- */

/*
 * dp_rowsets_check_arm
 *	  Refuses an arm whose types differ from the level's: the planner would
 *	  cast its columns, unchecked.
 */
dp_refusal *
dp_rowsets_check_arm(const Query *united, const Query *arm)
{
	ListCell   *lc;

	foreach(lc, united->targetList)
	{
		const TargetEntry *target = lfirst(lc);
		const TargetEntry *own = get_tle_by_resno(arm->targetList,
												  target->resno);

		if (target->resjunk || (own != NULL &&
								exprType((Node *) own->expr) ==
								exprType((Node *) target->expr)))
			continue;
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							  own == NULL ? -1 :
							  exprLocation((Node *) own->expr), NULL,
							  "Cast them to one type; but columns that name "
							  "privacy units must have one.",
							  "parts of UNION, INTERSECT or EXCEPT give "
							  "values of different types");
	}
	return NULL;
}
