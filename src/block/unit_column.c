/*
 * unit_column.c
 *	  The unit of each row, as an expression of a verified block's level.
 *
 * A chain of subqueries need not select the column that names the unit; each
 * gets one more target then.  Nobody but the inner query sees it.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "../places/dp_value_bytes.h"
#include "rowset.h"

static const char column_name[] = "unit";

/*
 * dp_block_check_unit_type
 *	  Can units be told apart by their bytes?  They could when the relation was
 *	  protected; the column's type may have changed.
 */
dp_refusal *
dp_block_check_unit_type(const dp_relation *relation)
{
	Oid			type;
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(relation->relid, relation->unit_attnum, &type,
						  &typmod, &collation);
	if (dp_places_read_way(getBaseType(type)) != DP_READ_NONE &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation)))
		return NULL;
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							psprintf("Units of column \"%s\" cannot be told "
									 "apart by their bytes; its type is %s.",
									 relation->unit, format_type_be(type)),
							"The owner should number the people, or give the "
							"column a built-in type and a deterministic "
							"collation.",
							"rows of a unit in relation \"%s\" cannot be "
							"bounded", get_rel_name(relation->relid));
}

/*
 * dp_block_rowset_unit
 *	  The column of the one entry that the level reads, through which the unit
 *	  of a row is known.  Subqueries below get a column more.
 */
Expr *
dp_block_rowset_unit(Query *query, const dp_relation *relation)
{
	int			varno =
	((RangeTblRef *) linitial(query->jointree->fromlist))->rtindex;
	RangeTblEntry *entry = rt_fetch(varno, query->rtable);
	TargetEntry *target;
	Expr	   *inside;

	if (entry->rtekind != RTE_SUBQUERY)
	{
		Oid			type;
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(relation->relid, relation->unit_attnum, &type,
							  &typmod, &collation);
		return (Expr *) makeVar(varno, relation->unit_attnum, type, typmod,
								collation, 0);
	}
	inside = dp_block_rowset_unit(entry->subquery, relation);
	target = makeTargetEntry(inside,
							 list_length(entry->subquery->targetList) + 1,
							 pstrdup(column_name), false);
	entry->subquery->targetList = lappend(entry->subquery->targetList, target);
	entry->eref->colnames = lappend(entry->eref->colnames,
									makeString(pstrdup(column_name)));
	return (Expr *) makeVarFromTargetEntry(varno, target);
}
