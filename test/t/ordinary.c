/*
 * ordinary.c
 *	  Stands in hooks of the server on both sides of dp_pg: behind it from the
 *	  start, being preloaded before it, and in front of it in sessions that
 *	  call ordinary_watch().  What comes in front enters an empty memory
 *	  context, and what is behind looks whether that is empty still.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

PG_MODULE_MAGIC;

extern void _PG_init(void);

static planner_hook_type dp_planner;
static ExecutorStart_hook_type dp_start;
static ProcessUtility_hook_type dp_utility;

static MemoryContext before = NULL; /* NULL: dp_pg is not being called */
static int	calls = 0;
static int	taken = 0;

static void
enter(void)
{
	before = CurrentMemoryContext;
	MemoryContextSwitchTo(AllocSetContextCreate(before, "ordinary",
												ALLOCSET_SMALL_SIZES));
}

static void
leave(void)
{
	if (before == NULL)
		return;
	calls++;
	if (!CurrentMemoryContext->isReset)
		taken++;
	MemoryContextSwitchTo(before);
	before = NULL;
}

static PlannedStmt *
plan_before(Query *query, const char *text, int options,
			ParamListInfo parameters)
{
	PlannedStmt *plan;

	enter();
	plan = dp_planner(query, text, options, parameters);
	leave();
	return plan;
}

static PlannedStmt *
plan_behind(Query *query, const char *text, int options,
			ParamListInfo parameters)
{
	leave();
	return standard_planner(query, text, options, parameters);
}

static void
start_before(QueryDesc *desc, int flags)
{
	enter();
	dp_start(desc, flags);
}

static void
start_behind(QueryDesc *desc, int flags)
{
	leave();
	standard_ExecutorStart(desc, flags);
}

static void
utility_before(PlannedStmt *statement, const char *text, bool read_only,
			   ProcessUtilityContext context, ParamListInfo parameters,
			   QueryEnvironment *environment, DestReceiver *receiver,
			   QueryCompletion *completion)
{
	enter();
	dp_utility(statement, text, read_only, context, parameters, environment,
			   receiver, completion);
}

static void
utility_behind(PlannedStmt *statement, const char *text, bool read_only,
			   ProcessUtilityContext context, ParamListInfo parameters,
			   QueryEnvironment *environment, DestReceiver *receiver,
			   QueryCompletion *completion)
{
	leave();
	standard_ProcessUtility(statement, text, read_only, context, parameters,
							environment, receiver, completion);
}

PG_FUNCTION_INFO_V1(ordinary_watch);

Datum
ordinary_watch(PG_FUNCTION_ARGS)
{
	dp_planner = planner_hook;
	planner_hook = plan_before;
	dp_start = ExecutorStart_hook;
	ExecutorStart_hook = start_before;
	dp_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility_before;
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(ordinary_told);

/* "how often memory was taken / calls", but for this statement's own. */
Datum
ordinary_told(PG_FUNCTION_ARGS)
{
	char	   *told = psprintf("%d/%d", taken, calls - 2);

	taken = calls = 0;
	PG_RETURN_TEXT_P(cstring_to_text(told));
}

PG_FUNCTION_INFO_V1(ordinary_hooks);

/* Hooks that planning comes to for each column or pair of relations. */
Datum
ordinary_hooks(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((get_relation_stats_hook != NULL) +
					(get_index_stats_hook != NULL) +
					(get_attavgwidth_hook != NULL) +
					(set_join_pathlist_hook != NULL) +
					(create_upper_paths_hook != NULL));
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	planner_hook = plan_behind;
	ExecutorStart_hook = start_behind;
	ProcessUtility_hook = utility_behind;
}
