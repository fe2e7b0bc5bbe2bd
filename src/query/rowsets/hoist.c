/*
 * hoist.c
 *	  Subqueries in expressions over private rows.
 *
 * An uncorrelated one is run before the charge as the asking role's own query,
 * with a charge of its own, and becomes a parameter: the value of a scalar
 * subquery, whether EXISTS found a row, an array of all values for IN and
 * ARRAY.  Others are refused by the expression rules.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "dp_rowsets.h"

/* *context: levels around the tree up to the one of interest. */
static bool
refers_outside(Node *node, const dp_walk *walk)
{
	int			depth = walk->depth + *(int *) walk->context;

	switch (nodeTag(node))
	{
		case T_Var:
			return (int) ((Var *) node)->varlevelsup > depth;
		case T_Aggref:
			return (int) ((Aggref *) node)->agglevelsup > depth;
		case T_GroupingFunc:
			return (int) ((GroupingFunc *) node)->agglevelsup > depth;
		case T_RangeTblEntry:
			return ((RangeTblEntry *) node)->rtekind == RTE_CTE &&
				(int) ((RangeTblEntry *) node)->ctelevelsup > depth;
		default:
			return false;
	}
}

/*
 * dp_rowsets_refers_outside
 *	  Whether a query, or an expression, refers to a query level above its
 *	  own, or above the one `level` levels further out.
 */
bool
dp_rowsets_refers_outside(Node *node, int level)
{
	return dp_base_contains(node, refers_outside, &level,
							QTW_EXAMINE_RTES_BEFORE);
}

/* ---- what becomes a parameter ---- */

static Param *
make_parameter(Query *query, Node *like, dp_rowset *rowset)
{
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = DP_HOISTED_PARAM(list_length(rowset->hoisted));
	param->paramtype = exprType(like);
	param->paramtypmod = exprTypmod(like);
	param->paramcollid = exprCollation(like);
	param->location = exprLocation(like);
	rowset->hoisted = lappend(rowset->hoisted, query);
	return param;
}

/* SELECT link */
static Query *
select_link(SubLink *link)
{
	Query	   *query = dp_rowsets_make_level(NIL);

	query->hasSubLinks = true;
	(void) dp_rowsets_add_target(&query->targetList, (Node *) link, "found");
	return query;
}

/* The values of the subquery of IN, as an array. */
static SubLink *
hoist_array_of(const SubLink *in)
{
	SubLink    *link = makeNode(SubLink);

	link->subLinkType = ARRAY_SUBLINK;
	link->subselect = in->subselect;
	link->location = in->location;
	return link;
}

/* The values of the array as another type with the same bytes. */
static Expr *
relabel(Param *array, Oid element)
{
	Oid			type = get_array_type(element);

	return type == array->paramtype ? (Expr *) array :
		(Expr *) makeRelabelType((Expr *) array, type, -1,
								 array->paramcollid, COERCE_IMPLICIT_CAST);
}

/* x IN (SELECT ..) as x = ANY (array); NULL if it is not that simple. */
static Node *
search_array(const SubLink *in, dp_rowset *rowset)
{
	const OpExpr *test = (const OpExpr *) in->testexpr;
	SubLink    *link = hoist_array_of(in);
	ScalarArrayOpExpr *search;
	Node	   *value;

	if (!IsA(test, OpExpr) || list_length(test->args) != 2)
		return NULL;
	value = lsecond(test->args);
	if (IsA(value, RelabelType))
		value = (Node *) ((RelabelType *) value)->arg;
	if (!IsA(value, Param) || ((Param *) value)->paramkind != PARAM_SUBLINK ||
		!OidIsValid(get_array_type(exprType(lsecond(test->args)))))
		return NULL;
	search = makeNode(ScalarArrayOpExpr);
	search->opno = test->opno;
	search->opfuncid = test->opfuncid;
	search->useOr = true;
	search->inputcollid = test->inputcollid;
	search->location = in->location;
	search->args =
		list_make2(dp_rowsets_hoist(linitial(test->args), rowset),
				   relabel(make_parameter(select_link(link), (Node *) link,
										  rowset),
						   exprType(lsecond(test->args))));
	return (Node *) search;
}

static Node *
hoist_link(SubLink *link, dp_rowset *rowset)
{
	Query	   *query = (Query *) link->subselect;
	Node	   *search;

	if (!IsA(query, Query) || dp_rowsets_refers_outside((Node *) query, 0))
		return (Node *) link;
	switch (link->subLinkType)
	{
		case EXPR_SUBLINK:
			return (Node *) make_parameter(query, (Node *) link, rowset);
		case EXISTS_SUBLINK:
		case ARRAY_SUBLINK:
			return (Node *) make_parameter(select_link(link), (Node *) link,
										   rowset);
		case ANY_SUBLINK:
			search = search_array(link, rowset);
			return search != NULL ? search : (Node *) link;
		default:
			return (Node *) link;
	}
}

static Node *
hoist_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, SubLink))
		return hoist_link((SubLink *) node, context);
	if (IsA(node, Query))
		return node;
	return expression_tree_mutator(node, hoist_mutator, context);
}

/*
 * dp_rowsets_hoist
 *	  Copy an expression over private rows, with its uncorrelated subqueries
 *	  replaced by parameters and added to the rowset.
 */
Node *
dp_rowsets_hoist(Node *expression, dp_rowset *rowset)
{
	return hoist_mutator(expression, rowset);
}
