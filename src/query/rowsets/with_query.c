/*
 * with_query.c
 *	  WITH queries in what a block reads.
 *
 * A WITH query belongs to the outer query, and a block runs separately, so
 * each reference becomes a copy.  That changes nothing if the copies return
 * the same rows.  If they would not, because values are drawn or a function is
 * volatile, there may be only one reference, or several that are joined as
 * they are and share the same rows (named_rows.c).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "rewrite/rewriteManip.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* The WITH queries visible in a level, its own first: a copy of the stack. */
static List *
enter(List *cte_stack, Query *level)
{
	return lcons(level->cteList, list_copy(cte_stack));
}

static CommonTableExpr *
find_with(List *cte_stack, const RangeTblEntry *entry)
{
	ListCell   *lc;

	if ((int) entry->ctelevelsup >= list_length(cte_stack))
		return NULL;
	foreach(lc, (List *) list_nth(cte_stack, entry->ctelevelsup))
	{
		CommonTableExpr *cte = lfirst(lc);

		if (strcmp(cte->ctename, entry->ctename) == 0)
			return cte;
	}
	return NULL;
}

/* ---- how many references there are ---- */

typedef struct outward_walk
{
	List	   *stack;
	int			depth;			/* levels inside the WITH query */
	int			change;
} outward_walk;

static void count_outward(Node *query, List *stack, int change);

static bool
outward_walker(Node *node, void *context)
{
	outward_walk *walk = context;

	check_stack_depth();
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (const RangeTblEntry *) node;
		CommonTableExpr *cte;

		if (entry->rtekind != RTE_CTE || entry->self_reference ||
			(int) entry->ctelevelsup < walk->depth)
			return false;
		cte = find_with(walk->stack, entry);
		if (cte == NULL)
			return false;
		cte->cterefcount += walk->change;
		if (cte->cterefcount == (walk->change > 0 ? 1 : 0))
			count_outward(cte->ctequery,
						  list_copy_tail(walk->stack, entry->ctelevelsup),
						  walk->change);
		return false;
	}
	if (IsA(node, Query))
	{
		outward_walk below = *walk;

		below.stack = enter(walk->stack, (Query *) node);
		below.depth++;
		return query_tree_walker((Query *) node, outward_walker, &below,
								 QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, outward_walker, context);
}

/*
 * There is one more copy of a WITH query, or one less: adjust the references
 * to what it uses outside of itself, recursively if that was the first or the
 * last one.  `stack` is that of its level.
 */
static void
count_outward(Node *query, List *stack, int change)
{
	outward_walk walk = {stack, 0, change};

	(void) outward_walker(query, &walk);
}

static bool
recount_walker(Node *node, void *context)
{
	List	   *stack = *(List **) context;
	ListCell   *lc;

	check_stack_depth();
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (const RangeTblEntry *) node;
		CommonTableExpr *cte;

		if (entry->rtekind != RTE_CTE || entry->self_reference)
			return false;
		cte = find_with(stack, entry);
		if (cte == NULL || cte->cterefcount++ > 0)
			return false;
		stack = list_copy_tail(stack, entry->ctelevelsup);
		return recount_walker(cte->ctequery, &stack);
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		stack = enter(stack, query);
		foreach(lc, query->cteList)
			lfirst_node(CommonTableExpr, lc)->cterefcount = 0;
		(void) query_tree_walker(query, recount_walker, &stack,
								 QTW_EXAMINE_RTES_BEFORE |
								 QTW_IGNORE_CTE_SUBQUERIES);
		foreach(lc, query->cteList)
		{
			CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

			/* it runs without references, too */
			if (cte->cterefcount == 0 &&
				castNode(Query, cte->ctequery)->commandType != CMD_SELECT)
				(void) recount_walker(cte->ctequery, &stack);
		}
		return false;
	}
	return expression_tree_walker(node, recount_walker, context);
}

/*
 * dp_rowsets_recount_with
 *	  Count the references to each WITH query of a statement, after some were
 *	  moved or dropped: the planner plans those with references, and rights are
 *	  checked for these.
 */
void
dp_rowsets_recount_with(Query *query)
{
	List	   *stack = NIL;

	(void) recount_walker((Node *) query, &stack);
}

/* ---- copies ---- */

/*
 * dp_rowsets_expand_with
 *	  Replace a reference to a WITH query by a copy of its query; *found
 *	  receives the WITH query.
 *
 * The query was in the cteList of the level ctelevelsup above; it moves that
 * many levels further in.
 */
dp_refusal *
dp_rowsets_expand_with(RangeTblEntry *entry, List *cte_stack,
					   const CommonTableExpr **found)
{
	CommonTableExpr *cte = find_with(cte_stack, entry);
	List	   *own_stack;
	Query	   *query;

	if (cte == NULL || cte->cterecursive || entry->self_reference ||
		!IsA(cte->ctequery, Query) ||
		((Query *) cte->ctequery)->commandType != CMD_SELECT)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "A recursive or data-modifying WITH query "
							  "mixes rows of different privacy units.",
							  "Use a plain WITH query or a subquery.",
							  "WITH query \"%s\" cannot be aggregated "
							  "privately", entry->ctename);
	query = copyObject((Query *) cte->ctequery);
	own_stack = list_copy_tail(cte_stack, entry->ctelevelsup);
	count_outward(cte->ctequery, own_stack, 1);
	if (--cte->cterefcount == 0)
		count_outward(cte->ctequery, own_stack, -1);
	if (entry->ctelevelsup > 0)
		IncrementVarSublevelsUp((Node *) query, entry->ctelevelsup, 1);
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = query;
	entry->security_barrier = false;
	entry->ctename = NULL;
	entry->ctelevelsup = 0;
	entry->coltypes = entry->coltypmods = entry->colcollations = NIL;
	*found = cte;
	return NULL;
}

/* Most copies in one block. */
#define EXPANDED_MAX 256

/*
 * dp_rowsets_note_expanded
 *	  Record a copy of a WITH query in a level of the rowset.  Queries that
 *	  each use another one twice make exponentially many copies.
 */
dp_refusal *
dp_rowsets_note_expanded(dp_rowset *rowset, const CommonTableExpr *cte)
{
	CHECK_FOR_INTERRUPTS();
	rowset->expanded = lappend(rowset->expanded, (void *) cte);
	if (list_length(rowset->expanded) <= EXPANDED_MAX)
		return NULL;
	return dp_base_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED, -1,
						  psprintf("At most %d are possible.", EXPANDED_MAX),
						  "Store what several of them use in a temporary "
						  "table, or ask in several queries.",
						  "too many uses of WITH queries below a private "
						  "aggregate");
}

/* ---- what reads private rows ---- */

typedef struct reads_walk
{
	List	   *stack;
	bool		any;			/* any relation, not only protected ones */
} reads_walk;

static bool
reads_walker(Node *node, void *context)
{
	reads_walk	walk = *(const reads_walk *) context;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (const RangeTblEntry *) node;
		const CommonTableExpr *cte;

		if (entry->rtekind == RTE_RELATION)
			return walk.any || OidIsValid(dp_protect_root(entry->relid));
		if (entry->rtekind != RTE_CTE || entry->self_reference)
			return false;
		cte = find_with(walk.stack, entry);
		if (cte == NULL)
			return true;
		walk.stack = list_copy_tail(walk.stack, entry->ctelevelsup);
		return reads_walker(cte->ctequery, &walk);
	}
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		walk.stack = enter(walk.stack, query);
		return (walk.any || !dp_catalog_has_own_aggregate(query)) &&
			query_tree_walker(query, reads_walker, &walk,
							  QTW_EXAMINE_RTES_BEFORE);
	}
	return expression_tree_walker(node, reads_walker, context);
}

/*
 * dp_rowsets_reads_private
 *	  Does a query read private rows other than through private aggregates?
 */
bool
dp_rowsets_reads_private(Query *query, List *cte_stack)
{
	reads_walk	walk = {cte_stack, false};

	return reads_walker((Node *) query, &walk);
}

/* dp_rowsets_reads_relation: does it read any relation, in any way? */
bool
dp_rowsets_reads_relation(Query *query, List *cte_stack)
{
	reads_walk	walk = {cte_stack, true};

	return reads_walker((Node *) query, &walk);
}

/* ---- references inside what is joined ---- */

typedef struct inside_walk
{
	List	   *stack;
	int			depth;			/* depth inside the item */
	dp_rowset  *rowset;
	dp_refusal *refusal;
} inside_walk;

static bool
inside_walker(Node *node, void *context)
{
	inside_walk *walk = context;
	const CommonTableExpr *cte;

	check_stack_depth();
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *entry = (RangeTblEntry *) node;

		if (entry->rtekind != RTE_CTE ||
			(int) entry->ctelevelsup < walk->depth)
			return false;
		walk->refusal = dp_rowsets_expand_with(entry, walk->stack, &cte);
		if (walk->refusal == NULL)
			walk->refusal = dp_rowsets_note_expanded(walk->rowset, cte);
		return walk->refusal != NULL;	/* its subquery is walked next */
	}
	if (IsA(node, Query))
	{
		inside_walk below = *walk;
		bool		stop;

		below.stack = enter(walk->stack, (Query *) node);
		below.depth++;
		stop = query_tree_walker((Query *) node, inside_walker, &below,
								 QTW_EXAMINE_RTES_BEFORE);
		walk->refusal = below.refusal;
		return stop;
	}
	return expression_tree_walker(node, inside_walker, context);
}

/*
 * dp_rowsets_expand_with_inside
 *	  Replace references of a joined item to outer WITH queries by copies.
 */
dp_refusal *
dp_rowsets_expand_with_inside(RangeTblEntry *entry, List *cte_stack,
							  dp_rowset *rowset)
{
	inside_walk walk = {cte_stack, 0, rowset, NULL};

	(void) range_table_walker(list_make1(entry), inside_walker, &walk,
							  QTW_EXAMINE_RTES_BEFORE);
	return walk.refusal;
}

/* ---- how often ---- */

static bool
differs_each_time(const CommonTableExpr *cte)
{
	return dp_catalog_has_aggregate(cte->ctequery) ||
		contain_volatile_functions(cte->ctequery);
}

static dp_refusal *
check_uses(const CommonTableExpr *cte, const dp_rowset *rowset)
{
	int			uses = Max(cte->cterefcount, 0);
	bool		joined = false;
	ListCell   *lc;

	foreach(lc, rowset->expanded)
		uses += lfirst(lc) == cte;
	foreach(lc, rowset->leaves)
		joined = joined || ((const dp_leaf *) lfirst(lc))->cte == cte;
	if (uses + joined <= 1 || !differs_each_time(cte))
		return NULL;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "Its values would be released again, or differ, "
						  "for each use.",
						  "Use it once, or store its rows in a temporary "
						  "table.",
						  "WITH query \"%s\" is used below a private "
						  "aggregate and elsewhere", cte->ctename);
}

/*
 * dp_rowsets_check_with
 *	  Refuses a verified rowset unless all uses of a WITH query see the same
 *	  rows.
 */
dp_refusal *
dp_rowsets_check_with(const dp_rowset *rowset)
{
	dp_refusal *refusal = NULL;
	ListCell   *lc;

	foreach(lc, rowset->expanded)
		if (refusal == NULL)
			refusal = check_uses(lfirst(lc), rowset);
	foreach(lc, rowset->leaves)
	{
		const CommonTableExpr *cte = ((const dp_leaf *) lfirst(lc))->cte;

		if (refusal == NULL && cte != NULL)
			refusal = check_uses(cte, rowset);
	}
	return refusal;
}
