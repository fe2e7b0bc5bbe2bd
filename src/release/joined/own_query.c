/*
 * own_query.c
 *	  Queries of the asking role that run before a release: planned and
 *	  executed like any other of its queries, with charges of their own.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

#include "../../base/dp_compat.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "dp_joined.h"
#include "joined_internal.h"

/*
 * dp_joined_plan_subquery
 *	  Plan a query that runs before the block, as the asking role's own.
 */
PlannedStmt *
dp_joined_plan_subquery(const dp_block *block, Query *subquery,
						 ParamListInfo params)
{
	Query	   *query = copyObject(subquery);
	PlannedStmt *plan;
	int			outer = dp_aggregates_enter_share(block->share);

	PG_TRY();
	{
		AcquireRewriteLocks(query, true, false);
		plan = pg_plan_query(query, DP_PRIVATE_QUERY_TEXT, 0, params);
	}
	PG_FINALLY();
	{
		(void) dp_aggregates_enter_share(outer);
	}
	PG_END_TRY();
	return plan;
}

/*
 * dp_joined_execute
 *	  Run such a plan under the active snapshot.
 */
void
dp_joined_execute(PlannedStmt *plan, const char *text,
				   DestReceiver *receiver, ParamListInfo params,
				   QueryEnvironment *environment)
{
	QueryDesc  *desc = CreateQueryDesc(plan, text, GetActiveSnapshot(),
									   InvalidSnapshot, receiver, params,
									   environment, 0);

	ExecutorStart(desc, 0);
	ExecutorRun(desc, ForwardScanDirection, 0);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

/*
 * dp_joined_check_columns
 *	  Raise 55000 unless rows have the types for which the block was made.
 *
 * A query is planned when it runs, and an inlined function may then return
 * other columns than when the query was analysed.  Reading its rows by the old
 * types could read arbitrary memory.
 */
void
dp_joined_check_columns(TupleDesc columns, const List *targets)
{
	TupleDesc	expected = ExecCleanTypeFromTL((List *) targets);
	bool		same = columns->natts == expected->natts;
	int			i;

	for (i = 0; same && i < columns->natts; i++)
		same = TupleDescAttr(columns, i)->atttypid ==
			TupleDescAttr(expected, i)->atttypid;
	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a query within a private one returns other columns "
						"than when it was analysed"),
				 errdetail("A relation or function changed since.  Nothing "
						   "was charged for it."),
				 errhint("Run the query again; a prepared one must be "
						 "prepared again.")));
	FreeTupleDesc(expected);
}

/*
 * dp_joined_open_only
 *	  Check rights and whatever else the start of such a plan checks; reads
 *	  nothing.
 */
void
dp_joined_open_only(PlannedStmt *plan, ParamListInfo params,
					QueryEnvironment *environment)
{
	QueryDesc  *desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT,
									   GetActiveSnapshot(), InvalidSnapshot,
									   None_Receiver, params, environment, 0);

	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}
