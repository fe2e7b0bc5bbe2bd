/*
 * rowset.c
 *	  Verify the rows that a block reads, before any of them is read.
 *
 * A private rowset must be unit-local: its rows are the union, over units, of
 * rows computed from that unit's rows and public data alone.  Accepted so far
 * is a chain of select-project-filter levels (subqueries, views, CTEs) over
 * one protected relation; such a chain keeps that property because each level
 * maps every row to at most one row, by itself.  So it also keeps "one row per
 * unit", where that is proved of the relation (unit.c); else a unit's rows are
 * bounded where they are counted.
 *
 * What is rewritten on the way, in place: a CTE becomes a subquery, because
 * a CTE belongs to the outer query and its rows would leave unprotected; an
 * uncorrelated scalar subquery becomes a parameter, because it is run before
 * the charge of this block, by itself and with a charge of its own; ORDER BY
 * of a subquery is dropped, as it cannot matter.
 *
 * Known gap, refused and not merely unhandled: joins of any kind.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "rowset.h"

#define JOIN_HINT \
	"Aggregate the private rows in a subquery and join its result."
#define FROM_HINT \
	"Name the protected relation in FROM.  In dp_argmax(relation, " \
	"predicates) write the relation as a literal or cast it to regclass."

static dp_refusal *verify_level(Query *query, bool top, List *cte_stack,
								dp_rowset *rowset);

/* ---- references to enclosing levels ---- */

static bool
refers_outside_walker(Node *node, void *context)
{
	int		   *level = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return (int) ((Var *) node)->varlevelsup > *level;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup > *level)
		return true;
	if (IsA(node, GroupingFunc) &&
		(int) ((GroupingFunc *) node)->agglevelsup > *level)
		return true;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE &&
			(int) ((RangeTblEntry *) node)->ctelevelsup > *level;
	if (IsA(node, Query))
	{
		bool		found;

		(*level)++;
		found = query_tree_walker((Query *) node, refers_outside_walker,
								  context, QTW_EXAMINE_RTES_BEFORE);
		(*level)--;
		return found;
	}
	return expression_tree_walker(node, refers_outside_walker, context);
}

/*
 * dp_block_refers_outside
 *	  Does the tree, standing at `level` levels below the one of interest,
 *	  refer to a query level above that?
 */
bool
dp_block_refers_outside(Node *node, int level)
{
	return refers_outside_walker(node, &level);
}

/* ---- scalar subqueries ---- */

static Node *
hoist_mutator(Node *node, void *context)
{
	dp_rowset  *rowset = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, SubLink))
	{
		SubLink    *link = (SubLink *) node;
		Query	   *query = (Query *) link->subselect;

		if (link->subLinkType == EXPR_SUBLINK && IsA(query, Query) &&
			!dp_block_refers_outside((Node *) query, -1))
		{
			Param	   *param = makeNode(Param);

			param->paramkind = PARAM_EXTERN;
			param->paramid = DP_HOISTED_PARAM(list_length(rowset->hoisted));
			param->paramtype = exprType(node);
			param->paramtypmod = exprTypmod(node);
			param->paramcollid = exprCollation(node);
			param->location = link->location;
			rowset->hoisted = lappend(rowset->hoisted, query);
			return (Node *) param;
		}
		return node;			/* refused by the expression rules */
	}
	if (IsA(node, Query))
		return node;
	return expression_tree_mutator(node, hoist_mutator, context);
}

/* ---- FROM ---- */

static CommonTableExpr *
find_cte(List *cte_stack, RangeTblEntry *entry)
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

/*
 * Put a copy of the CTE's query in place of the reference.  The query sat in
 * the cteList of the level ctelevelsup above; it moves that much further in.
 */
static dp_refusal *
expand_cte(RangeTblEntry *entry, List *cte_stack, dp_rowset *rowset)
{
	CommonTableExpr *cte = find_cte(cte_stack, entry);
	Query	   *query;

	if (cte == NULL || cte->cterecursive || entry->self_reference ||
		!IsA(cte->ctequery, Query) ||
		((Query *) cte->ctequery)->commandType != CMD_SELECT)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"A recursive or data-modifying WITH query "
								"mixes rows of different privacy units.",
								"Use a plain WITH query or a subquery.",
								"WITH query \"%s\" cannot be aggregated "
								"privately", entry->ctename);
	query = copyObject((Query *) cte->ctequery);
	cte->cterefcount--;
	if (entry->ctelevelsup > 0)
		IncrementVarSublevelsUp((Node *) query, entry->ctelevelsup, 1);
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = query;
	entry->security_barrier = false;
	entry->ctename = NULL;
	entry->ctelevelsup = 0;
	entry->coltypes = entry->coltypmods = entry->colcollations = NIL;
	return verify_level(query, false, cte_stack, rowset);
}

static dp_refusal *
verify_relation(RangeTblEntry *entry, dp_rowset *rowset)
{
	char	   *name = get_rel_name(entry->relid);
	Oid			root;

	if (entry->tablesample != NULL)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"Which rows a sample holds depends on where "
								"other rows are stored.",
								"Leave TABLESAMPLE out.",
								"TABLESAMPLE of a private relation is not "
								"supported");
	rowset->relation = dp_protect_lookup(entry->relid);
	if (rowset->relation != NULL)
	{
		rowset->many = !dp_block_has_one_row(rowset->relation, NULL);
		return NULL;
	}
	root = dp_protect_root(entry->relid);
	if (OidIsValid(root))
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"It is a part of a protected relation.",
								psprintf("Query \"%s\" instead.",
										 get_rel_name(root)),
								"relation \"%s\" cannot be queried by itself",
								name);
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"Private queries read protected relations only.",
							"If its rows are public, query it without dp_pg; "
							"else ask the owner to run dp_protect on it.",
							"relation \"%s\" is not protected", name);
}

static dp_refusal *
verify_entry(RangeTblEntry *entry, List *cte_stack, dp_rowset *rowset)
{
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			return verify_relation(entry, rowset);
		case RTE_CTE:
			return expand_cte(entry, cte_stack, rowset);
		case RTE_SUBQUERY:
			if (!entry->lateral)
				return verify_level(entry->subquery, false, cte_stack, rowset);
			break;
		default:
			break;
	}
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"Private aggregates read one protected relation, "
							"or a view or subquery of one.",
							"Name the protected relation in FROM.",
							"FROM item \"%s\" cannot be aggregated privately",
							entry->eref ? entry->eref->aliasname : "?");
}

/* Why a level other than the block itself is not select-project-filter. */
static const char *
forbidden_clause(Query *query)
{
	if (query->commandType != CMD_SELECT)
		return "a data-modifying statement";
	if (query->setOperations != NULL)
		return "a set operation";
	if (query->rowMarks != NIL)
		return "FOR UPDATE or FOR SHARE";
	if (query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL || query->havingQual != NULL)
		return "an aggregate or GROUP BY";
	if (query->hasWindowFuncs)
		return "a window function";
	if (query->distinctClause != NIL)
		return "DISTINCT";
	if (query->limitCount != NULL || query->limitOffset != NULL)
		return "LIMIT or OFFSET";
	if (query->hasTargetSRFs)
		return "a set-returning function";
	if (query->hasModifyingCTE)
		return "a data-modifying WITH query";
	return NULL;
}

static dp_refusal *
verify_level(Query *query, bool top, List *cte_stack, dp_rowset *rowset)
{
	List	   *stack = top ? cte_stack : lcons(query->cteList,
												list_copy(cte_stack));
	FromExpr   *from = query->jointree;
	const char *forbidden = top ? NULL : forbidden_clause(query);
	dp_refusal *refusal;
	RangeTblEntry *entry;

	check_stack_depth();
	if (forbidden != NULL)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"There, rows of one privacy unit would depend "
								"on rows of another.",
								"Aggregate privately at that level, or leave "
								"it to the outer query.",
								"%s is not supported below a private "
								"aggregate", forbidden);
	if (top && (query->setOperations != NULL || query->rowMarks != NIL))
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL, NULL,
								"this kind of query is not supported with "
								"private aggregates");
	if (from == NULL || list_length(from->fromlist) != 1 ||
		!IsA(linitial(from->fromlist), RangeTblRef))
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"A private aggregate reads one protected "
								"relation, or a view or subquery of one.",
								from == NULL || from->fromlist == NIL ?
								FROM_HINT : JOIN_HINT,
								from == NULL || from->fromlist == NIL ?
								"private aggregate without FROM" :
								"joins below a private aggregate are not "
								"supported");
	entry = rt_fetch(((RangeTblRef *) linitial(from->fromlist))->rtindex,
					 query->rtable);
	refusal = verify_entry(entry, stack, rowset);
	if (refusal != NULL)
		return refusal;

	from->quals = hoist_mutator(from->quals, rowset);
	refusal = dp_rules_check(from->quals);
	if (refusal != NULL || top)
		return refusal;

	query->targetList = (List *) hoist_mutator((Node *) query->targetList,
											   rowset);
	refusal = dp_rules_check((Node *) query->targetList);
	query->hasSubLinks = false;
	query->sortClause = NIL;
	query->cteList = NIL;		/* expanded where used */
	return refusal;
}

/*
 * dp_block_rowset_verify
 *	  Verify and normalise everything below a block: FROM and WHERE of its
 *	  level, and all of the levels below.
 *
 * cte_stack holds the cteLists in reach, the block's own first.  On success
 * rowset->relation is the one protected relation.  Scalar subqueries in the
 * block's own targets are not touched: see dp_block_rowset_hoist.
 */
dp_refusal *
dp_block_rowset_verify(Query *query, List *cte_stack, dp_rowset *rowset)
{
	return verify_level(query, true, cte_stack, rowset);
}

/*
 * dp_block_rowset_hoist
 *	  Copy of an expression over private rows with its uncorrelated scalar
 *	  subqueries replaced by parameters and added to the rowset.
 */
Node *
dp_block_rowset_hoist(Node *expression, dp_rowset *rowset)
{
	return hoist_mutator(expression, rowset);
}

/* ---- expressions over base columns ---- */

static Node *
base_mutator(Node *node, void *context)
{
	Query	   *query = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *entry = rt_fetch(var->varno, query->rtable);
		TargetEntry *target;

		if (entry->rtekind != RTE_SUBQUERY)
		{
			var = copyObject(var);
			var->varno = 1;
			return (Node *) var;
		}
		target = get_tle_by_resno(entry->subquery->targetList, var->varattno);
		if (target == NULL)
			elog(ERROR, "subquery column %d not found", var->varattno);
		return dp_block_rowset_base(entry->subquery, (Node *) target->expr);
	}
	return expression_tree_mutator(node, base_mutator, context);
}

/*
 * dp_block_rowset_base
 *	  The expression over the columns of the protected relation (Vars of
 *	  varno 1) that an expression of a verified level comes down to.
 */
Node *
dp_block_rowset_base(Query *query, Node *expression)
{
	return base_mutator(expression, query);
}
