/*
 * column_type.c
 *	  Checks that the columns of a block have the types they had when it was
 *	  analysed.
 *
 * A function in FROM is inlined each time that a query is planned, and
 * PostgreSQL's dependencies of a prepared query do not include what the
 * function reads.  A column whose type has changed would be read as the old
 * one, for example a number as the address of a text.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "read_rows.h"

/* The present type of a column; InvalidOid if there is no such column. */
static Oid
current_type(const RangeTblEntry *entry, AttrNumber column)
{
	const TargetEntry *target;

	switch (entry->rtekind)
	{
		case RTE_RELATION:
			return get_atttype(entry->relid, column);
		case RTE_SUBQUERY:
			target = get_tle_by_resno(entry->subquery->targetList, column);
			return target == NULL || target->resjunk ? InvalidOid :
				exprType((Node *) target->expr);
		case RTE_NAMEDTUPLESTORE:
			return column > list_length(entry->coltypes) ? InvalidOid :
				list_nth_oid(entry->coltypes, column - 1);
		default:
			return InvalidOid;
	}
}

static bool
has_changed_walker(Node *node, void *context)
{
	const Query *level = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_changed_walker, node,
								 QTW_IGNORE_JOINALIASES);
	if (IsA(node, Var))
	{
		const Var  *var = (const Var *) node;

		return var->varlevelsup == 0 && var->varattno > 0 &&
			current_type(rt_fetch(var->varno, level->rtable),
						 var->varattno) != var->vartype;
	}
	return expression_tree_walker(node, has_changed_walker, context);
}

/*
 * dp_block_check_column_types
 *	  Check a verified inner query, whose joins are flattened.
 */
dp_refusal *
dp_block_check_column_types(Query *inner)
{
	if (!has_changed_walker((Node *) inner, NULL))
		return NULL;
	return dp_bridge_refuse(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, -1,
							"A relation or function changed since.  Nothing "
							"was charged.",
							"Run the query again; a prepared one must be "
							"prepared again.",
							"what a private query reads has other columns "
							"than when it was analysed");
}
