/*
 * list_rows.c
 *	  Lists in texts of private rows, as rows.
 *
 *	  SELECT genre, dp_count(*)
 *	  FROM members, unnest(string_to_array(genres, ',')) AS genre
 *	  GROUP BY genre
 *
 * A function in FROM that makes rows from a private row becomes a join with
 * public rows (c, n), for every number of elements c up to LIST_MOST and every
 * n from 1 to c:
 *
 *	  FROM members JOIN (SELECT c, n ..) AS genre
 *	  ON c = number of elements of genres
 *
 * and the element is split_part(genres, ',', n).  So the rows of a unit are
 * bounded, and all that holds for joins holds for them (doc/theory.md T134).
 * Only the first LIST_MOST elements of a longer list become rows.
 *
 * A join condition on an element then refers to the text, too.  So if the
 * text's items are outside of the join, they are moved into it, or the
 * condition of an inner join is moved up.
 *
 * Rewritten are unnest(string_to_array(text, separator)) and
 * string_to_table(text, separator) with a constant separator, WITH ORDINALITY
 * too, among other items of FROM or on the right side of a LEFT JOIN.  The
 * text is copied into the element and the condition, so it must have no
 * subquery, which would be run and charged for each copy.
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"

#include "../../base/dp_base.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

#define LIST_MOST 100

/* Columns of the public rows that replace element and ordinality. */
enum
{
	COLUMN_COUNT = 1,
	COLUMN_NUMBER
};

static const char numbers_text[] =
"SELECT c, n FROM pg_catalog.generate_series(1, " CppAsString2(LIST_MOST)
") AS c, pg_catalog.generate_series(1, c) AS n";

typedef struct list_item
{
	int			varno;
	int			level;			/* depth of the current node below the query */
	Node	   *text;			/* over columns of the query's other items */
	Relids		needed;			/* those items */
	Const	   *separator;
	Oid			collation;		/* that decides where the separator matches */
} list_item;

/* ---- finding lists ---- */

/* The call that splits a text, or NULL. */
static FuncExpr *
splitting_call(const RangeTblEntry *entry)
{
	FuncExpr   *call;

	if (entry->rtekind != RTE_FUNCTION || !entry->lateral ||
		list_length(entry->functions) != 1)
		return NULL;
	call = (FuncExpr *)
		linitial_node(RangeTblFunction, entry->functions)->funcexpr;
	if (IsA(call, FuncExpr) && call->funcid == F_UNNEST_ANYARRAY)
	{
		call = linitial(call->args);
		return IsA(call, FuncExpr) &&
			call->funcid == F_STRING_TO_ARRAY_TEXT_TEXT ? call : NULL;
	}
	return IsA(call, FuncExpr) &&
		call->funcid == F_STRING_TO_TABLE_TEXT_TEXT ? call : NULL;
}

static bool
find_list(const Query *query, int varno, list_item *item)
{
	const FuncExpr *call = splitting_call(rt_fetch(varno, query->rtable));
	const Const *separator;

	if (call == NULL)
		return false;
	separator = lsecond(call->args);
	if (!IsA(separator, Const) || separator->constisnull ||
		checkExprHasSubLink(linitial(call->args)) ||
		contain_vars_of_level(linitial(call->args), 1) ||
		!contain_vars_of_level(linitial(call->args), 0))
		return false;
	item->varno = varno;
	item->level = 0;
	item->text = linitial(call->args);
	item->needed = pull_varnos(NULL, item->text);
	item->separator = (Const *) separator;
	item->collation = call->inputcollid;
	return true;
}

static bool
list_rows_is_list(Node *item, int varno)
{
	return IsA(item, RangeTblRef) && ((RangeTblRef *) item)->rtindex == varno;
}

/*
 * Does the item occur for every row of the others?  Or is it alone on the
 * nullable side of a LEFT JOIN, which is *join then?
 */
static bool
list_rows_find_place(Node *item, int varno, JoinExpr **join)
{
	JoinExpr   *j = (JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return list_rows_is_list(item, varno);
	if (j->jointype == JOIN_INNER)
		return list_rows_find_place(j->larg, varno, join) ||
			list_rows_find_place(j->rarg, varno, join);
	if (j->jointype != JOIN_LEFT)
		return false;
	if (!list_rows_is_list(j->rarg, varno))
		return list_rows_find_place(j->larg, varno, join);
	*join = j;
	return true;
}

/* ---- where texts and their lists meet ---- */

static Relids
relids_of(Node *item)
{
	return get_relids_in_jointree(item, true, true);
}

/* The side of a join that contains the list. */
static Node **
side_of(JoinExpr *join, int varno)
{
	return bms_is_member(varno, relids_of(join->larg)) ? &join->larg :
		&join->rarg;
}

/* Is the list alone on the nullable side of a LEFT JOIN? */
static bool
list_rows_leaves_out(const JoinExpr *join, int varno)
{
	return join->jointype == JOIN_LEFT && list_rows_is_list(join->rarg, varno);
}

/*
 * Would a join's condition refer to items that are not below it? moved: items
 * that will be moved below it.
 */
static bool
reaches_out(JoinExpr *join, int varno, Relids needed, Relids moved)
{
	return (list_rows_leaves_out(join, varno) ||
			bms_is_member(varno, pull_varnos(NULL, join->quals))) &&
		!bms_is_subset(needed, bms_union(relids_of((Node *) join), moved));
}

/*
 * Do lists on the other side of the join name groups (named_groups.c)?  It was
 * an outer join: a group without rows is returned as well.
 */
static bool
list_rows_is_named(const JoinExpr *join, const Query *query, int varno)
{
	Node	   *names = dp_rowsets_naming_lists(join, query);

	return names != NULL && !bms_is_member(varno, relids_of(names));
}

/* Can conditions of joins on the list be moved to where they are valid? */
static bool
can_meet(const Query *query, Node *item, int varno, Relids needed,
		 Relids moved)
{
	JoinExpr   *join = (JoinExpr *) item;
	Node	   *side;

	if (IsA(item, RangeTblRef))
		return true;
	if (join->jointype != JOIN_INNER &&
		reaches_out(join, varno, needed, moved))
		return false;
	side = *side_of(join, varno);
	if (list_rows_is_named(join, query, varno) &&
		!bms_is_subset(needed, relids_of(side)))
		return false;
	return can_meet(query, side, varno, needed, moved);
}

/* The place of conditions that hold for all rows with the list. */
static Node **
list_rows_conditions_of(Query *query, Node *item, int varno)
{
	Node	  **conditions = &query->jointree->quals;

	while (IsA(item, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) item;

		if (list_rows_is_named(join, query, varno))
			conditions = &join->quals;
		item = *side_of(join, varno);
	}
	return conditions;
}

/* The items of the text in FROM, apart from the item with the list. */
static List *
find_others(const FromExpr *from, const Node *item, Relids needed)
{
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, from->fromlist)
		if (lfirst(lc) != item &&
			bms_overlap(relids_of(lfirst(lc)), needed))
			others = lappend(others, lfirst(lc));
	return others;
}

static Relids
relids_of_all(const List *items)
{
	Relids		relids = NULL;
	ListCell   *lc;

	foreach(lc, items)
		relids = bms_add_members(relids, relids_of(lfirst(lc)));
	return relids;
}

/* Join an item to the list, or to the other side of the list's LEFT JOIN. */
static void
bring_beside(Node **place, int varno, Node *other)
{
	while (IsA(*place, JoinExpr) &&
		   !list_rows_leaves_out((JoinExpr *) *place, varno))
		place = side_of((JoinExpr *) *place, varno);
	if (IsA(*place, JoinExpr))
		place = &((JoinExpr *) *place)->larg;
	*place = dp_rowsets_join_items(other, *place);
}

static bool
any_reaches_out(Node *item, int varno, Relids needed)
{
	JoinExpr   *join = (JoinExpr *) item;

	return IsA(item, JoinExpr) &&
		(reaches_out(join, varno, needed, NULL) ||
		 any_reaches_out(*side_of(join, varno), varno, needed));
}

/* Move conditions of inner joins on an element up where that is needed. */
static void
lift_conditions(Query *query, Node *item, int varno, Relids needed)
{
	Node	  **conditions = list_rows_conditions_of(query, item, varno);

	while (IsA(item, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) item;

		if (join->jointype == JOIN_INNER && join->quals != NULL &&
			reaches_out(join, varno, needed, NULL))
		{
			*conditions = make_and_qual(*conditions, join->quals);
			join->quals = NULL;
		}
		item = *side_of(join, varno);
	}
}

/*
 * Rearrange a level so that its joins may refer to the text instead of its
 * elements.  The result is the same: the text's items can be joined inside
 * instead of outside.
 */
static void
let_meet(Query *query, ListCell *item, const list_item *list)
{
	FromExpr   *from = query->jointree;
	List	   *others;
	ListCell   *lc;

	if (!any_reaches_out(lfirst(item), list->varno, list->needed))
		return;
	others = find_others(from, lfirst(item), list->needed);
	foreach(lc, others)
		bring_beside((Node **) &lfirst(item), list->varno, lfirst(lc));
	lift_conditions(query, lfirst(item), list->varno, list->needed);
	from->fromlist = list_difference_ptr(from->fromlist, others);
}

/* ---- what stands for them ---- */

static Query *
make_numbers(void)
{
	List	   *parsed = raw_parser(numbers_text, RAW_PARSE_DEFAULT);

	return parse_analyze_fixedparams(linitial_node(RawStmt, parsed),
									 numbers_text, NULL, 0, NULL);
}

/* CASE WHEN elements > LIST_MOST THEN LIST_MOST ELSE elements END */
static Node *
list_rows_make_count(const list_item *item)
{
	Expr	   *list = (Expr *)
	makeFuncExpr(F_STRING_TO_ARRAY_TEXT_TEXT, TEXTARRAYOID,
				 list_make2(item->text, item->separator), item->collation,
				 item->collation, COERCE_EXPLICIT_CALL);
	Expr	   *elements = (Expr *)
	makeFuncExpr(F_CARDINALITY, INT4OID, list_make1(list), InvalidOid,
				 item->collation, COERCE_EXPLICIT_CALL);
	Const	   *most = makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								 Int32GetDatum(LIST_MOST), false, true);
	CaseExpr   *count = makeNode(CaseExpr);
	CaseWhen   *when = makeNode(CaseWhen);

	when->expr = make_opclause(Int4LessOperator, BOOLOID, false,
							   (Expr *) most, elements, InvalidOid,
							   InvalidOid);
	set_opfuncid((OpExpr *) when->expr);
	when->result = copyObject((Expr *) most);
	when->location = -1;
	count->casetype = INT4OID;
	count->args = list_make1(when);
	count->defresult = copyObject(elements);
	count->location = -1;
	return (Node *) count;
}

static Node *
list_rows_make_condition(const list_item *item)
{
	Var		   *count = makeVar(item->varno, COLUMN_COUNT, INT4OID, -1,
								InvalidOid, 0);
	Expr	   *equal = make_opclause(Int4EqualOperator, BOOLOID, false,
									  (Expr *) count,
									  (Expr *) list_rows_make_count(item),
									  InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) equal);
	return (Node *) equal;
}

/* The expression for a column of the function's rows. */
static Node *
make_column(const list_item *item, const Var *var)
{
	Var		   *number = copyObject((Var *) var);
	Node	   *text = copyObject(item->text);
	FuncExpr   *column;

	number->varattno = COLUMN_NUMBER;
	number->vartype = INT4OID;
	number->vartypmod = -1;
	number->varcollid = InvalidOid;
	if (var->varattno == COLUMN_NUMBER)
		return (Node *) makeFuncExpr(F_INT8_INT4, INT8OID,
									 list_make1(number), InvalidOid,
									 InvalidOid, COERCE_EXPLICIT_CAST);
	IncrementVarSublevelsUp(text, item->level, 0);
	column = makeFuncExpr(F_SPLIT_PART, TEXTOID,
						  list_make3(text, copyObject(item->separator),
									 number), var->varcollid,
						  item->collation, COERCE_EXPLICIT_CALL);
	column->location = var->location;
	return (Node *) column;
}

static Node *
list_rows_replace_mutator(Node *node, void *context)
{
	list_item  *item = context;
	const Var  *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varno == item->varno &&
		(int) var->varlevelsup == item->level && var->varattno > 0)
		return make_column(item, var);
	if (IsA(node, Query))
	{
		Query	   *copy;

		item->level++;
		copy = query_tree_mutator((Query *) node, list_rows_replace_mutator,
								  context, 0);
		item->level--;
		return (Node *) copy;
	}
	return expression_tree_mutator(node, list_rows_replace_mutator, context);
}

static void
replace_columns(Query *query, list_item *item)
{
	ListCell   *lc;

	query->targetList = (List *)
		list_rows_replace_mutator((Node *) query->targetList, item);
	query->havingQual = list_rows_replace_mutator(query->havingQual, item);
	query->jointree = (FromExpr *)
		list_rows_replace_mutator((Node *) query->jointree, item);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_FUNCTION)
			entry->functions = (List *)
				list_rows_replace_mutator((Node *) entry->functions, item);
	}
}

static void
replace_entry(RangeTblEntry *entry)
{
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = make_numbers();
	entry->functions = NIL;
	entry->funcordinality = false;
	entry->lateral = false;
	entry->alias = makeAlias(entry->eref->aliasname, NIL);
	entry->eref = makeAlias(entry->eref->aliasname,
							list_make2(makeString(pstrdup("c")),
									   makeString(pstrdup("n"))));
}

/* The item of FROM with the list, if that can be expanded; else NULL. */
static ListCell *
find_item(const Query *query, const list_item *list, JoinExpr **join)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
	{
		*join = NULL;
		if (list_rows_find_place(lfirst(lc), list->varno, join))
			return lc;
	}
	return NULL;
}

static bool
may_meet(const Query *query, Node *item, const list_item *list)
{
	List	   *others = find_others(query->jointree, item, list->needed);

	return can_meet(query, item, list->varno, list->needed,
					relids_of_all(others));
}

static bool
expand_list(Query *query, list_item *list)
{
	JoinExpr   *join;
	ListCell   *item = find_item(query, list, &join);
	Node	  **conditions;

	if (item == NULL || !may_meet(query, lfirst(item), list))
		return false;
	let_meet(query, item, list);
	replace_columns(query, list);
	replace_entry(rt_fetch(list->varno, query->rtable));

	item = find_item(query, list, &join);	/* a copy contains what has been
											 * replaced */
	conditions = join != NULL ? &join->quals :
		list_rows_conditions_of(query, lfirst(item), list->varno);
	*conditions = make_and_qual(*conditions, list_rows_make_condition(list));
	return true;
}

/*
 * dp_rowsets_expand_lists
 *	  Replace functions in FROM that make rows from texts of other items by
 *	  joins with public rows, in place, before the level is verified.  Noted in
 *	  the rowset.
 */
void
dp_rowsets_expand_lists(Query *query, dp_rowset *rowset)
{
	int			varno;

	for (varno = 1; varno <= list_length(query->rtable); varno++)
	{
		list_item	list;

		if (find_list(query, varno, &list) && expand_list(query, &list))
			rowset->lists = true;
	}
}

/*
 * dp_rowsets_check_lists
 *	  If rows are grouped by unit, combined by set operations or used in
 *	  semijoins, a unit keeps only the rows that fit into its memory
 *	  (doc/theory.md T97).  The length of an element, a computed text, is known
 *	  only as a limit; so of LIST_MOST elements per row only two rows of a unit
 *	  would be kept.  Called when the joined rows have names (named_rows.c).
 */
dp_refusal *
dp_rowsets_check_lists(const Query *query, const dp_rowset *rowset)
{
	if (!rowset->lists || dp_rowsets_joins_plainly(query))
		return NULL;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "Most rows of a unit would be left out.",
						  "Count the elements of a table, a view, or a join "
						  "of these; test whether a text has an element by "
						  "LIKE.",
						  "a list in a text cannot become rows where rows "
						  "are grouped, combined or tested for existence "
						  "below a private aggregate");
}
