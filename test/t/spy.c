/*
 * spy.c
 *	  Stands in hooks of the server as other extensions do, and writes to the
 *	  server's log each time that it is called: "spy HOOK: TYPE: TEXT", where
 *	  TYPE is what kind of process it is.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "postmaster/bgworker.h"
#include "tcop/tcopprot.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

PG_MODULE_MAGIC;

extern void _PG_init(void);

static ExecutorStart_hook_type next_start;
static ExecutorRun_hook_type next_run;
static ExecutorFinish_hook_type next_finish;
static ExecutorEnd_hook_type next_end;
static ExecutorCheckPerms_hook_type next_check;
static planner_hook_type next_planner;
static ProcessUtility_hook_type next_utility;
static post_parse_analyze_hook_type next_analyze;
static set_rel_pathlist_hook_type next_pathlist;
static fmgr_hook_type next_fmgr;
static needs_fmgr_hook_type next_needs;

static void
tell(const char *hook, const char *text)
{
	const char *type = IsParallelWorker() ? "worker" :
		MyBgworkerEntry != NULL ? MyBgworkerEntry->bgw_type : "session";

	fprintf(stderr, "spy %s: %s: %.200s\n", hook, type, text ? text : "-");
	fflush(stderr);
}

static void
start(QueryDesc *desc, int flags)
{
	tell("start", desc->sourceText);
	if (next_start)
		next_start(desc, flags);
	else
		standard_ExecutorStart(desc, flags);
}

#if PG_VERSION_NUM >= 180000
static void
run(QueryDesc *desc, ScanDirection direction, uint64 count)
{
	tell("run", desc->sourceText);
	if (next_run)
		next_run(desc, direction, count);
	else
		standard_ExecutorRun(desc, direction, count);
}
#else
static void
run(QueryDesc *desc, ScanDirection direction, uint64 count, bool once)
{
	tell("run", desc->sourceText);
	if (next_run)
		next_run(desc, direction, count, once);
	else
		standard_ExecutorRun(desc, direction, count, once);
}
#endif

static void
finish(QueryDesc *desc)
{
	tell("finish", desc->sourceText);
	if (next_finish)
		next_finish(desc);
	else
		standard_ExecutorFinish(desc);
}

static void
end(QueryDesc *desc)
{
	tell("end", desc->sourceText);
	if (next_end)
		next_end(desc);
	else
		standard_ExecutorEnd(desc);
}

/* A relation that nobody may read, by its name. */
static char *refused = NULL;

static bool
is_refused(List *entries)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (entry->rtekind == RTE_RELATION && refused[0] != '\0' &&
			strcmp(get_rel_name(entry->relid), refused) == 0)
			return true;
	}
	return false;
}

#if PG_VERSION_NUM >= 160000
static bool
check(List *entries, List *infos, bool raise)
{
	tell("check", debug_query_string);
	return !is_refused(entries) &&
		(next_check == NULL || next_check(entries, infos, raise));
}
#else
static bool
check(List *entries, bool raise)
{
	tell("check", debug_query_string);
	return !is_refused(entries) &&
		(next_check == NULL || next_check(entries, raise));
}
#endif

/*
 * What the planner hook does before it hands a statement on: 'q' and 't' make
 * a copy of the query and of its text, 'p' has a private query answered.
 */
static char *before = NULL;

static void
ask_privately(void)
{
	static bool asking = false;

	if (asking)
		return;
	asking = true;
	SPI_connect();
	SPI_execute("SELECT dp_count(*) FROM patients WHERE age < 50", true, 0);
	SPI_finish();
	asking = false;
}

static PlannedStmt *
plan(Query *query, const char *text, int options, ParamListInfo parameters)
{
	tell("planner", text);
	if (strchr(before, 'q') != NULL)
		query = copyObject(query);
	if (strchr(before, 't') != NULL)
		text = pstrdup(text);
	if (strchr(before, 'p') != NULL &&
		strcmp(text, "<private query>") == 0)
		ask_privately();
	return next_planner ? next_planner(query, text, options, parameters) :
		standard_planner(query, text, options, parameters);
}

static void
utility(PlannedStmt *statement, const char *text, bool read_only,
		ProcessUtilityContext context, ParamListInfo parameters,
		QueryEnvironment *environment, DestReceiver *receiver,
		QueryCompletion *completion)
{
	tell("utility", text);
	if (next_utility)
		next_utility(statement, text, read_only, context, parameters,
					 environment, receiver, completion);
	else
		standard_ProcessUtility(statement, text, read_only, context,
								parameters, environment, receiver, completion);
}

static void
analyze(ParseState *state, Query *query, JumbleState *jumble)
{
	tell("analyze", state->p_sourcetext);
	if (next_analyze)
		next_analyze(state, query, jumble);
}

static void
pathlist(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *entry)
{
	tell("pathlist", debug_query_string);
	if (next_pathlist)
		next_pathlist(root, rel, rti, entry);
}

static bool
needs(Oid function)
{
	return next_needs != NULL && next_needs(function);
}

static void
call(FmgrHookEventType event, FmgrInfo *info, Datum *private)
{
	tell(event == FHET_START ? "call" : event == FHET_END ? "return" : "abort",
		 debug_query_string);
	if (next_fmgr)
		next_fmgr(event, info, private);
}

/* The beginning of what PL/pgSQL's header declares as its plugin. */
typedef struct plugin
{
	void		(*setup) (void *estate, void *function);
	void		(*function_begins) (void *estate, void *function);
	void		(*function_ends) (void *estate, void *function);
	void		(*statement_begins) (void *estate, void *statement);
	void		(*statement_ends) (void *estate, void *statement);
	void	   *given[5];
} plugin;

static void
statement_begins(void *estate, void *statement)
{
	tell("plugin", debug_query_string);
}

static plugin spy_plugin = {.statement_begins = statement_begins};

void
_PG_init(void)
{
	DefineCustomStringVariable("spy.refused", "A relation nobody may read.",
							   NULL, &refused, "", PGC_SUSET, 0, NULL, NULL,
							   NULL);
	DefineCustomStringVariable("spy.before", "What comes before planning.",
							   NULL, &before, "", PGC_SUSET, 0, NULL, NULL,
							   NULL);
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = start;
	next_run = ExecutorRun_hook;
	ExecutorRun_hook = run;
	next_finish = ExecutorFinish_hook;
	ExecutorFinish_hook = finish;
	next_end = ExecutorEnd_hook;
	ExecutorEnd_hook = end;
	next_check = ExecutorCheckPerms_hook;
	ExecutorCheckPerms_hook = check;
	next_planner = planner_hook;
	planner_hook = plan;
	next_utility = ProcessUtility_hook;
	ProcessUtility_hook = utility;
	next_analyze = post_parse_analyze_hook;
	post_parse_analyze_hook = analyze;
	next_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = pathlist;
	next_fmgr = fmgr_hook;
	fmgr_hook = call;
	next_needs = needs_fmgr_hook;
	needs_fmgr_hook = needs;
	*find_rendezvous_variable("PLpgSQL_plugin") = &spy_plugin;
}
