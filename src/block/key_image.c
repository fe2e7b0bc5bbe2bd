/*
 * key_image.c
 *	  Keys computed from a column whose values are public, and keys that can
 *	  only be constants.
 *
 *	- CASE with constant results, COALESCE of those: the constants are the
 *	  public values, whatever the conditions test.
 *	- An allowed expression over one column with public values: these are
 *	  evaluated before the charge, and rows are looked up
 *	  by the column, so that what equals a public value is in its group; the
 *	  inner query then computes the column and not the key.
 *	- An allowed expression over one bounded timestamp, through fields of
 *	  time only: its values are those of all cells of time between the bounds
 *	  (places/time_cells.c), and rows are looked up by the key.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "split.h"

/* ---- constants ---- */

static bool
has_unknown_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, Aggref) || IsA(node, SubLink))
		return true;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN ||
			((Param *) node)->paramid <= 0;
	return expression_tree_walker(node, has_unknown_walker, context);
}

/* Add the values that an expression can have; false when not all are known. */
static bool
add_cases(Node *node, List **cases)
{
	ListCell   *lc;

	if (!has_unknown_walker(node, NULL))
	{
		*cases = lappend(*cases, node);
		return true;
	}
	switch (nodeTag(node))
	{
		case T_CaseExpr:
			foreach(lc, ((CaseExpr *) node)->args)
				if (!add_cases((Node *) lfirst_node(CaseWhen, lc)->result,
							   cases))
					return false;
			return add_cases((Node *) ((CaseExpr *) node)->defresult, cases);
		case T_CoalesceExpr:
			foreach(lc, ((CoalesceExpr *) node)->args)
				if (!add_cases(lfirst(lc), cases))
					return false;
			return true;
		default:
			return false;
	}
}

/* ---- the column ---- */

static bool
find_column_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		*(Var **) context = (Var *) node;
		return true;
	}
	return expression_tree_walker(node, find_column_walker, context);
}

/*
 * Add the column to the subquery's targets; NULL if the subquery groups by
 * something else: a group's rows have several values, and their order, which
 * depends on other rows, would choose one.
 */
static Var *
add_target(RangeTblEntry *entry, Index index, Var *column)
{
	Query	   *query = entry->subquery;
	TargetEntry *target = NULL;
	ListCell   *lc;

	foreach(lc, query->targetList)
		if (!((TargetEntry *) lfirst(lc))->resjunk &&
			equal(((TargetEntry *) lfirst(lc))->expr, column))
			target = lfirst(lc);
	if (target == NULL && dp_block_is_grouped(query))
		return NULL;
	if (target == NULL)
	{
		target = makeTargetEntry((Expr *) column,
								 list_length(query->targetList) + 1,
								 pstrdup("column"), false);
		query->targetList = lappend(query->targetList, target);
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup("column")));
	}
	return makeVar(index, target->resno, column->vartype, column->vartypmod,
				   column->varcollid, 0);
}

/*
 * A column of a leaf (leaf.c) at a level of the verified query, passed up
 * through the levels below.  NULL: the leaf is not below this level, or below
 * one that groups by something else or does UNION ALL.
 */
static Var *
reach_column(Query *query, const Var *column)
{
	ListCell   *lc;

	if (query->setOperations != NULL)
		return NULL;
	foreach(lc, dp_block_list_items(query))
	{
		int			index = lfirst_int(lc);
		RangeTblEntry *entry = rt_fetch(index, query->rtable);
		Var		   *below;

		if (entry->rtekind == RTE_SUBQUERY)
		{
			below = reach_column(entry->subquery, column);
			below = below == NULL ? NULL : add_target(entry, index, below);
			if (below != NULL)
				return dp_block_above_joins(query, below);
		}
		else if (dp_block_leaf_number(entry) == (int) column->varno)
			return dp_block_above_joins(query,
										makeVar(index, column->varattno,
												column->vartype,
												column->vartypmod,
												column->varcollid, 0));
	}
	return NULL;
}

/* ---- classes ---- */

static bool
classify_time(const Var *column, Oid relid, dp_key *key)
{
	dp_attribute *declared = dp_protect_attribute(relid, column->varattno);

	if (declared == NULL || declared->lower == NULL ||
		!dp_places_is_time(getBaseType(column->vartype)))
		return false;
	key->attnum = column->varattno;
	key->nullable = !declared->no_nulls &&
		!dp_block_proved_not_null(relid, column->varattno, NULL);
	return dp_places_key_has_cells(key);
}

/*
 * Record what is known about the one column of a key that is looked up by it.
 */
static void
note_column(Node *base, dp_key *key)
{
	Var		   *found = NULL;

	if (key->image == NULL || !find_column_walker(base, &found))
		return;
	key->base = dp_make_node(dp_key);
	/* finds out whether it can be NULL, even if it is no key */
	(void) dp_block_classify_key((Node *) found, (Node *) found, key->relid,
								 key->base);
	/* even if the declaration excludes NULL as a key */
	key->base->nullable = !dp_block_proved_not_null(key->relid,
													found->varattno, NULL);
}

/*
 * dp_block_classify_image
 *	  Classify a key that is not public otherwise, or was refused; `refusal`
 *	  says why.  Returns the refusal that remains; *column is set if the inner
 *	  query must compute the column instead of the key.
 */
dp_refusal *
dp_block_classify_image(Query *query, Node *base, dp_key *key,
						dp_refusal *refusal, Expr **column)
{
	List	   *cases = NIL;
	Var		   *found = NULL;

	if (refusal == NULL && (key->kind == DP_KEY_BOOLEAN ||
							key->kind == DP_KEY_ENUM))
		note_column(base, key);
	if (refusal == NULL || !dp_places_key_can_be_named(key))
		return refusal;
	if (add_cases(base, &cases))
	{
		key->kind = DP_KEY_CASES;
		key->cases = cases;
		key->nullable = true;	/* they decide */
		note_column(base, key);
		return NULL;
	}
	if (IsA(base, Var) && OidIsValid(key->relid))
		refusal->hint = psprintf("Name its values in WHERE, with IN or =.  %s",
								 refusal->hint);
	if (key->image == NULL || !find_column_walker(base, &found))
		return refusal;
	key->base = dp_make_node(dp_key);
	if (dp_block_classify_key((Node *) found, (Node *) found, key->relid,
							  key->base) == NULL)
	{
		Var		   *reached = reach_column(query, found);

		if (reached == NULL)
		{
			key->base = NULL;
			return refusal;
		}
		*column = (Expr *) reached;
		key->kind = DP_KEY_IMAGE;
		return NULL;
	}
	key->base = NULL;
	if (!classify_time(found, key->relid, key))
		return refusal;
	key->kind = DP_KEY_IMAGE;
	return NULL;
}
