/*
 * own_query.c
 *	  Queries of the asker's that run before a release, by themselves: planned
 *	  and executed as any other of his, with charges of their own.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

#include "run.h"

/*
 * dp_run_plan_subquery
 *	  Plan a query that the block runs before as the analyst's own.
 */
PlannedStmt *
dp_run_plan_subquery(const dp_block *block, Query *subquery,
						 ParamListInfo params)
{
	Query	   *query = copyObject(subquery);
	PlannedStmt *plan;
	int			outer = dp_measure_enter_share(block->share);

	PG_TRY();
	{
		AcquireRewriteLocks(query, true, false);
		plan = pg_plan_query(query, DP_PRIVATE_QUERY_TEXT, 0, params);
	}
	PG_FINALLY();
	{
		(void) dp_measure_enter_share(outer);
	}
	PG_END_TRY();
	return plan;
}

/*
 * dp_run_execute
 *	  Run the asker's own plan under the active snapshot.
 */
void
dp_run_execute(PlannedStmt *plan, const char *text,
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
 * dp_run_check_columns
 *	  55000 unless rows have the types that the block was made for.
 *
 * A query is planned when it runs, and a function of the asker's that is
 * inlined then may give other columns than when the query was analysed.  What
 * is made of its rows by the old types would be read from anywhere.
 */
void
dp_run_check_columns(TupleDesc columns, const List *targets)
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
				 errmsg("a query within a private one gives other columns "
						"than when it was analysed"),
				 errdetail("A relation or function changed since.  Nothing "
						   "was charged for it."),
				 errhint("Run the query again; a prepared one must be "
						 "prepared again.")));
	FreeTupleDesc(expected);
}

/*
 * dp_run_open_only
 *	  Check the rights of the asker's own plan and whatever else its start
 *	  checks; nothing is read.
 */
void
dp_run_open_only(PlannedStmt *plan, ParamListInfo params,
				 QueryEnvironment *environment)
{
	QueryDesc  *desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT,
									   GetActiveSnapshot(), InvalidSnapshot,
									   None_Receiver, params, environment, 0);

	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}
