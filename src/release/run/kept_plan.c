/*
 * kept_plan.c
 *	  Plans of private statements that this process is sent repeatedly as text,
 *	  by clients that do not prepare.
 *
 * A plan is kept when a statement is asked the second time.  From the third
 * time on a copy is used, as of a prepared statement: the text, its analysed
 * query, the user and the settings that planning uses are the same, and no
 * message that resets a cache has been processed since, so no relation,
 * declaration, right or role has changed.  Rights are checked when the plan
 * begins, as for prepared statements (custom_scan.c).
 *
 * Only plans that consist of one release are kept: no setting of the planner
 * changes them, and no other library has added a step.  A statement that calls
 * a user's function in SQL is planned every time, since its body may become
 * part of the plan and depends on search_path, DateStyle and row_security.
 * Planner hooks of libraries loaded before are not called again, as for a
 * prepared statement.  The process keeps a few plans, at places given by
 * hashes of the texts.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "common/hashfn.h"
#include "jit/jit.h"
#include "nodes/nodeFuncs.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "run_internal.h"

#define PLACES 64
#define MOST_TEXT 4096			/* bytes */
#define MOST_BYTES ((Size) 64 * 1024)	/* of a plan */

/* Settings that planning a release uses. */
typedef struct plan_settings
{
	bool		suppresses;
	bool		splits;
	int			max_groups;
	int			max_keys;
	int			max_rows;
	int			max_total;
	int			mechanism;
} plan_settings;

/* Lives in a memory context of its own. */
struct dp_kept_plan
{
	MemoryContext context;
	uint32		hash;
	char	   *text;
	int			options;
	Query	   *query;			/* before planning */
	PlannedStmt *plan;
	plan_settings settings;
	char	   *delta;
	dp_caches	caches;			/* taken before planning */
};

/* Hashes of the last text at each place, also before its plan is kept. */
static uint32 last_hash[PLACES];
static dp_kept_plan *kept[PLACES];
static bool any_kept = false;

static void
kept_plan_read_settings(plan_settings *out)
{
	memset(out, 0, sizeof(*out));
	out->suppresses = dp_base_suppresses();
	out->splits = dp_base_splits();
	out->max_groups = dp_setting_max_groups;
	out->max_keys = dp_setting_max_keys;
	out->max_rows = dp_setting_max_rows;
	out->max_total = dp_setting_max_total;
	out->mechanism = dp_setting_mechanism;
}

/*
 * Is the plan determined by the statement's text, and is it this statement's?
 */
static bool
kept_plan_may_keep(const char *text, ParamListInfo params)
{
	return text != NULL && strnlen(text, MOST_TEXT) < MOST_TEXT &&
		(params == NULL || params->numParams == 0) &&
		!dp_setting_transparent;
}

static bool
is_in_sql(Oid function, void *context)
{
	HeapTuple	tuple;
	bool		answer;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return true;
	answer = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == SQLlanguageId;
	ReleaseSysCache(tuple);
	return answer;
}

/* Does it call a function whose body the planner may inline? */
static bool
calls_sql(Node *node, const dp_walk *walk)
{
	return check_functions_in_node(node, is_in_sql, NULL);
}

static uint32
hash_text(const char *text)
{
	return DatumGetUInt32(hash_any((const unsigned char *) text,
								   strlen(text)));
}

static bool
is_same(const dp_kept_plan *plan, const Query *query, const char *text,
		int options)
{
	plan_settings settings;

	kept_plan_read_settings(&settings);
	return plan->options == options && strcmp(plan->text, text) == 0 &&
		plan->query->stmt_location == query->stmt_location &&
		plan->query->stmt_len == query->stmt_len &&
		memcmp(&plan->settings, &settings, sizeof(settings)) == 0 &&
		strcmp(plan->delta, dp_setting_delta) == 0 &&
		equal(plan->query, query);
}

static bool
is_same_to_caches(const dp_kept_plan *plan)
{
	dp_caches	now;

	return dp_base_read_caches(&now) &&
		dp_base_same_caches(&plan->caches, &now);
}

static void
kept_plan_forget(int place)
{
	if (kept[place] != NULL)
		MemoryContextDelete(kept[place]->context);
	kept[place] = NULL;
}

/* Lock the relations, as for a prepared statement. */
static void
kept_plan_lock_relations(const dp_kept_plan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->plan->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (entry->rtekind == RTE_RELATION)
			LockRelationOid(entry->relid, entry->rellockmode);
	}
}

/*
 * dp_run_find_plan
 *	  A copy of the plan kept for the statement, or NULL.
 */
PlannedStmt *
dp_run_find_plan(const Query *query, const char *text, int options,
				 ParamListInfo params)
{
	dp_kept_plan *plan;
	PlannedStmt *copy;
	uint32		hash;

	if (!any_kept || !kept_plan_may_keep(text, params))
		return NULL;
	hash = hash_text(text);
	plan = kept[hash % PLACES];
	if (plan == NULL || plan->hash != hash)
		return NULL;
	if (!is_same_to_caches(plan) || !is_same(plan, query, text, options))
		return NULL;
	kept_plan_lock_relations(plan);
	if (!is_same_to_caches(plan))
		return NULL;
	copy = copyObject(plan->plan);
	copy->queryId = query->queryId;
	return copy;
}

/*
 * dp_run_want_plan
 *	  Called before a private statement is planned: returns what its plan is
 *	  kept with, in the current context, or NULL if it is not kept.
 */
dp_kept_plan *
dp_run_want_plan(Query *query, const char *text, int options,
				 ParamListInfo params)
{
	dp_kept_plan *plan;
	dp_caches	caches;
	MemoryContext context;
	MemoryContext old;
	uint32		hash;

	if (!kept_plan_may_keep(text, params) || !dp_base_read_caches(&caches))
		return NULL;
	hash = hash_text(text);
	if (last_hash[hash % PLACES] != hash)
	{
		last_hash[hash % PLACES] = hash;
		return NULL;
	}
	if (dp_base_contains((Node *) query, calls_sql, NULL, 0))
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext, "dp_pg kept plan",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	plan = palloc0(sizeof(*plan));
	plan->context = context;
	plan->hash = hash;
	plan->text = pstrdup(text);
	plan->options = options;
	plan->query = copyObject(query);
	kept_plan_read_settings(&plan->settings);
	plan->delta = pstrdup(dp_setting_delta);
	plan->caches = caches;
	MemoryContextSwitchTo(old);
	return plan;
}

/* Is the plan one release, which no setting of the planner decides? */
static bool
is_release_alone(const PlannedStmt *plan)
{
	return plan->commandType == CMD_SELECT && !plan->hasModifyingCTE &&
		!plan->transientPlan && plan->subplans == NIL &&
		plan->rowMarks == NIL && plan->utilityStmt == NULL &&
		plan->jitFlags == PGJIT_NONE &&
		dp_run_is_release(plan->planTree) &&
		plan->planTree->initPlan == NIL;
}

/*
 * dp_run_keep_plan
 *	  Keep a plan that has not been executed yet, if it is of that kind.
 */
void
dp_run_keep_plan(dp_kept_plan *wanted, PlannedStmt *plan)
{
	int			place = wanted->hash % PLACES;
	MemoryContext old;

	if (!is_release_alone(plan))
	{
		last_hash[place] = 0;	/* do not try each time */
		MemoryContextDelete(wanted->context);
		return;
	}
	old = MemoryContextSwitchTo(wanted->context);
	wanted->plan = copyObject(plan);
	MemoryContextSwitchTo(old);
	kept_plan_forget(place);
	if (MemoryContextMemAllocated(wanted->context, true) > MOST_BYTES)
	{
		MemoryContextDelete(wanted->context);
		return;
	}
	MemoryContextSetParent(wanted->context, TopMemoryContext);
	kept[place] = wanted;
	any_kept = true;
}
