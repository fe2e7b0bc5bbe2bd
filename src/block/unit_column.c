/*
 * unit_column.c
 *	  The unit of each row, as an expression of a verified block's level.
 *
 * Subqueries need not select the column that names the unit; each gets one
 * more target then.  Nobody but the inner query sees it.  One that groups has
 * the unit among its keys, and one of UNION ALL among its columns.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "parser/parsetree.h"

#include "rowset.h"

static const char column_name[] = "unit";

/* The target of a subquery that is the unit of its rows. */
static TargetEntry *
unit_target(Query *subquery, const dp_rowset *rowset)
{
	TargetEntry *target;
	Expr	   *inside;

	if (subquery->setOperations != NULL)
		return get_tle_by_resno(subquery->targetList,
								linitial_int(dp_block_unit_outputs(subquery,
																   rowset)));
	if (dp_block_is_grouped(subquery))
	{
		target = dp_block_group_unit(subquery, rowset);
		target->resjunk = false;
		return target;
	}
	inside = dp_block_rowset_unit(subquery, rowset);
	target = makeTargetEntry(inside, list_length(subquery->targetList) + 1,
							 pstrdup(column_name), false);
	subquery->targetList = lappend(subquery->targetList, target);
	return target;
}

/*
 * dp_block_rowset_unit
 *	  The column of the private item of the level (dp_block_unit_item) through
 *	  which the unit of a row is known.  Subqueries below get a column more.
 */
Expr *
dp_block_rowset_unit(Query *query, const dp_rowset *rowset)
{
	int			varno = dp_block_unit_item(query, rowset);
	RangeTblEntry *entry = rt_fetch(varno, query->rtable);
	TargetEntry *target;

	if (entry->rtekind != RTE_SUBQUERY)
	{
		const dp_relation *relation =
		dp_block_leaf(rowset, dp_block_leaf_number(entry))->relation;

		return (Expr *) makeVar(varno, relation->unit_attnum,
								relation->unit_type, relation->unit_typmod,
								relation->unit_collation, 0);
	}
	target = unit_target(entry->subquery, rowset);
	while (list_length(entry->eref->colnames) < target->resno)
		entry->eref->colnames = lappend(entry->eref->colnames,
										makeString(pstrdup(column_name)));
	return (Expr *) makeVarFromTargetEntry(varno, target);
}
