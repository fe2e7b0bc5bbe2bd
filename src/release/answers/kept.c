/*
 * kept.c
 *	  What a process keeps for the next runs of plans: answers, and what a
 *	  release asks a reader and the ledger.
 */
#include "postgres.h"

#include "access/transam.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../inner/dp_inner.h"
#include "../prepare/dp_prepare.h"
#include "../explain/dp_explain.h"
#include "dp_answers.h"
#include "answers_internal.h"

/* ----------------
 *		What a process keeps for later runs of plans, found by the plan's nonce
 *		(planner.c) and the number of the release in it.  The oldest entry is
 *		evicted.
 * ----------------
 */

/* kept_find: the entry, or NULL. */
static void *
kept_find(const dp_kept_ring *ring, int64 nonce, int index)
{
	int			i;

	for (i = 0; i < DP_ANSWERS_KEPT; i++)
		if (ring->entry[i] != NULL && ring->entry[i]->nonce == nonce &&
			ring->entry[i]->index == index)
			return ring->entry[i];
	return NULL;
}

/* kept_forget: drop the entry and its memory context. */
static void
kept_forget(dp_kept_ring *ring, dp_kept *kept)
{
	int			i;

	for (i = 0; i < DP_ANSWERS_KEPT; i++)
		if (ring->entry[i] == kept)
			ring->entry[i] = NULL;
	MemoryContextDelete(kept->context);
}

/* kept_add: add an entry, evicting the oldest. */
static void
kept_add(dp_kept_ring *ring, dp_kept *kept)
{
	if (ring->entry[ring->next] != NULL)
		kept_forget(ring, ring->entry[ring->next]);
	MemoryContextSetParent(kept->context, TopMemoryContext);
	ring->entry[ring->next] = kept;
	ring->next = (ring->next + 1) % DP_ANSWERS_KEPT;
}

/* ----------------
 *		The noisy rows of a release, as a reader gives them.
 * ----------------
 */

/*
 * dp_answers_store_row: a dp_reader_sink that puts minimal tuples into
 * dp_kept_rows
 */
void
dp_answers_store_row(void *context, const void *data, Size size)
{
	dp_kept_rows *rows = context;

	ExecStoreMinimalTuple((MinimalTuple) data, rows->slot, false);
	if (rows->order != NULL)
		dp_prepare_order_add(rows->order, rows->slot);
	else
		tuplestore_puttupleslot(rows->store, rows->slot);
	ExecClearTuple(rows->slot);
}

/* ----------------
 *		A stored answer that was given to a plan, kept by this process for the
 *		plan's next run.
 *
 * A dashboard repeats its queries.  Whether the query is the same, whether the
 * role may ask it, who pays and which answer is stored depends on the plan,
 * the user, the settings sent to readers, clocks, and the contents of tables
 * and catalogs.  The plan is identified by its nonce (planner.c); a stamp
 * (base/stamp.c), the settings and the clock show that nothing else has
 * changed.  Then a look-up would find the same answer.  Rights are checked
 * again anyway when the plan begins (custom_scan.c).
 *
 * Only plans are taken that depend on nothing else: without parameters,
 * subqueries, joined rows, conditions over several keys, and functions that
 * are not immutable.  What is kept was released to this role; the oldest entry
 * is evicted.
 * ----------------
 */

#define ANSWER_MOST_BYTES (64 * 1024)

typedef struct kept_answer
{
	dp_kept		kept;			/* first, so that it can be cast */
	dp_stamp	stamp;
	char	   *settings;
	dp_ledger_standing standing;
	int64		id;				/* of the answer */
	TimestampTz at;
	bytea	   *content;		/* its rows, as requested */
	dp_past_release *past;		/* what dp_last_release() shows */
} kept_answer;

static dp_kept_ring answers;

static char *
all_settings(void)
{
	StringInfoData text;

	initStringInfo(&text);
	dp_reader_append_settings(&text);
	return text.data;
}

/*
 * dp_answers_kept_standing
 *	  Get what the asking role may spend, if a plan with this nonce was given
 *	  an answer and nothing has changed since; else return false, and
 *	  dp_ledger_require_budget decides.
 */
bool
dp_answers_kept_standing(int64 nonce, int index, dp_ledger_standing *out)
{
	const kept_answer *answer = kept_find(&answers, nonce, index);
	dp_stamp	now;

	if (answer == NULL || !dp_base_read_stamp(&now) ||
		!dp_base_same_stamp(&answer->stamp, &now) ||
		dp_ledger_is_renewed(&answer->standing, GetCurrentTimestamp()))
		return false;
	*out = answer->standing;
	return true;
}

/* Would a look-up find the same answer now? */
static bool
holds(const kept_answer *answer, const dp_stamp *stamp)
{
	TimestampTz now = GetCurrentTimestamp();
	char	   *settings;
	bool		same;

	if (!dp_base_same_stamp(&answer->stamp, stamp) || answer->at > now ||
		now - answer->at > dp_base_reuse_age() ||
		dp_ledger_is_renewed(&answer->standing, now))
		return false;
	settings = all_settings();
	same = strcmp(settings, answer->settings) == 0;
	pfree(settings);
	return same;
}

/*
 * dp_answers_give_kept
 *	  The rows of a kept answer, in a store of the current context, and when it
 *	  was stored.  If NULL, the release must look the answer up; *stamp, if
 *	  *stamped, was taken before.
 *
 * Errors: as dp_answers_give.
 */
Tuplestorestate *
dp_answers_give_kept(int64 nonce, int index, TupleDesc result, dp_stamp *stamp,
					 bool *stamped, TimestampTz *stored_at)
{
	const kept_answer *answer = kept_find(&answers, nonce, index);
	Tuplestorestate *store;

	*stamped = dp_base_read_stamp(stamp);
	if (answer == NULL || !*stamped || !holds(answer, stamp))
		return NULL;
	dp_inner_check_preconditions();
	dp_base_check_scope();
	store = tuplestore_begin_heap(true, false, work_mem);
	dp_answers_put_rows(answer->content, result, store);
	dp_answers_count_hit(answer->id);
	dp_explain_remember_past(answer->past, answer->id);
	*stored_at = answer->at;
	return store;
}

/*
 * Do the values of the key always follow from its declaration and conditions,
 * and does the key follow from its column?
 */
static bool
is_plain(const dp_key *key)
{
	return key->values == NULL && !contain_mutable_functions(key->image) &&
		!contain_mutable_functions((Node *) key->cases) &&
		(key->base == NULL || is_plain(key->base));
}

/*
 * dp_answers_follows_from_plan
 *	  Is what a release asks determined by its plan, as long as declarations,
 *	  settings and rights stay the same?
 */
bool
dp_answers_follows_from_plan(const dp_release_spec *spec,
							 const List *parameters, ParamListInfo values)
{
	const dp_block *block = spec->block;
	ListCell   *lc;

	if ((values != NULL && values->numParams > 0) ||
		block->subqueries != NIL || block->sources != NIL ||
		block->key_conditions != NIL ||
		contain_mutable_functions((Node *) block->inner) ||
		contain_mutable_functions((Node *) parameters))
		return false;
	foreach(lc, block->keys)
		if (!is_plain(lfirst(lc)))
			return false;
	foreach(lc, block->others)
		if (!is_plain(lfirst(lc)))
			return false;
	return true;
}

/*
 * dp_answers_keep
 *	  Keep the rows of the answer that dp_explain_remember has just noted, with
 *	  the stamp that was taken before it was looked up.
 */
void
dp_answers_keep(int64 nonce, int index, const dp_stamp *stamp,
				const dp_ledger_standing *standing, TupleDesc result,
				TimestampTz stored_at, Tuplestorestate *store)
{
	kept_answer *answer = kept_find(&answers, nonce, index);
	MemoryContext context;
	MemoryContext old;
	int64		rows;

	if (answer != NULL)
		kept_forget(&answers, &answer->kept);
	context = AllocSetContextCreate(CurrentMemoryContext,
									"dp_pg kept answer",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	answer = palloc0(sizeof(kept_answer));
	answer->content = dp_answers_pack(store, result, ANSWER_MOST_BYTES, &rows);
	answer->past = dp_explain_hold_past(context, &answer->id);
	answer->kept.context = context;
	answer->kept.nonce = nonce;
	answer->kept.index = index;
	answer->stamp = *stamp;
	answer->settings = all_settings();
	answer->standing = *standing;
	answer->at = stored_at;
	MemoryContextSwitchTo(old);
	if (answer->content == NULL)
	{
		MemoryContextDelete(context);
		return;
	}
	kept_add(&answers, &answer->kept);
}

/* ----------------
 *		The job that a release sent to a reader and the ledger, kept by this
 *		process for the next run of its plan.
 *
 * Preparing, planning and serializing a small query takes longer than reading
 * ten rows.  For plans that kept.c accepts, the result of these steps
 * depends on the plan, the user, settings, the clock, and the contents of
 * tables and catalogs.  That none of these has changed is checked as there,
 * except that charges may have been recorded since (ledger/queue.c).
 * They change only what remains of budgets, which the ledger checks at each
 * charge anyway.
 *
 * So rights are not looked up again: if they had changed, the job would not be
 * current.  Locks are taken as when the plan ran first.
 *
 * These checks describe the present; the query's snapshot may be older: a
 * STABLE function uses the snapshot of the statement that calls it, which for
 * a cursor may be hours old.  One row per unit is proved for the snapshot that
 * reads (rights.c).  So a job records the first transaction ID that was
 * unassigned when its stamp was read, and runs only with snapshots whose xmin
 * is not before it: these see everything that had been committed at that time.
 *
 * A job is kept when its plan runs the second time, and only with an exact
 * stamp.  None is kept if answers are stored, undeclared keys are released, a
 * part is charged separately, a predicate list releases its cost, or an
 * extension hooks the permission check of queries.  A job that failed is made
 * anew.
 * ----------------
 */

#define PLACES 64
#define JOB_MOST_BYTES ((Size) 128 * 1024)

/*
 * Settings that decide how many processes read, and which partitions, apart
 * from those that public_plan.c sets.  Others change only the form of a plan.
 */
typedef struct planner_settings
{
	int			workers;		/* max_parallel_workers_per_gather */
	int			exclusion;
	bool		leader;
} planner_settings;

/* Lives in a memory context of its own. */
struct dp_kept_job
{
	dp_kept		kept;			/* first, so that it can be cast */
	uint64		number;			/* of this job; unique in this process */
	bool		running;		/* true after an error, too */
	dp_stamp	stamp;			/* taken before anything was looked up */
	TransactionId first;		/* unassigned when the stamp was read */
	planner_settings settings;
	dp_ledger_standing standing;
	Oid			relid;
	List	   *named;			/* OIDs: relations to be open meanwhile */
	List	   *relations;		/* OIDs: to be locked */
	dp_ledger_request request;
	dp_ledger_receipt receipt;	/* of its last run */
	dp_past_release *past;		/* what dp_last_release() shows */
	dp_reader_sealed *sealed;
};

static dp_kept_ring jobs;
static int64 last_asked[PLACES];	/* nonce + index of the last runs */
static uint64 last_number = 0;

static void
kept_read_settings(planner_settings *out)
{
	memset(out, 0, sizeof(*out));
	out->workers = max_parallel_workers_per_gather;
	out->exclusion = constraint_exclusion;
	out->leader = parallel_leader_participation;
}

/* Have no transactions that wrote ended since, except charges? */
static bool
is_current(const dp_kept_job *job)
{
	dp_stamp	now;
	bool		exact;

	return dp_ledger_read_stamp(&now, &exact) &&
		dp_base_same_stamp(&job->stamp, &now) &&
		!dp_ledger_is_renewed(&job->standing, GetCurrentTimestamp());
}

/* Would the job be made the same way now? */
static bool
is_made_so(const dp_kept_job *job)
{
	planner_settings settings;

	kept_read_settings(&settings);
	return dp_base_reuse_age() == 0 &&
		memcmp(&job->settings, &settings, sizeof(settings)) == 0 &&
		dp_reader_has_settings(job->sealed);
}

/* Does the snapshot see everything committed when the job's stamp was read? */
static bool
is_young(const dp_kept_job *job, Snapshot snapshot)
{
	return IsMVCCSnapshot(snapshot) &&
		TransactionIdFollowsOrEquals(snapshot->xmin, job->first);
}

/*
 * dp_answers_find_job
 *	  The number of the plan's job, if there is one and tables and catalogs are
 *	  as they were; else 0.  Also returns the standing from which it was
 *	  prepared, with sums as of then, and the relations that must be open while
 *	  it runs; both are still valid.
 */
uint64
dp_answers_find_job(int64 nonce, int index,
					const dp_ledger_standing **standing, const List **named)
{
	dp_kept_job *job = kept_find(&jobs, nonce, index);

	if (job == NULL || ExecutorCheckPerms_hook != NULL || !is_current(job))
		return 0;
	if (job->running)
	{
		kept_forget(&jobs, &job->kept);
		return 0;
	}
	*standing = &job->standing;
	*named = job->named;
	return job->number;
}

/* The job was charged (dp_reader_charge): remember its release. */
static void
remember_again(void *context)
{
	const dp_kept_job *job = context;

	dp_explain_remember_past(job->past, job->receipt.ledger_id);
}

/*
 * dp_answers_do_kept_job
 *	  Run the job that dp_answers_find_job found, if it is still current, and
 *	  return its noisy rows in a store of the current context; else NULL, and
 *	  nothing was done.
 *
 * Errors: as dp_run_release.
 */
Tuplestorestate *
dp_answers_do_kept_job(uint64 number, int64 nonce, int index, EState *estate,
					   TupleDesc result)
{
	dp_kept_job *job = kept_find(&jobs, nonce, index);
	dp_reader_job again = {.kind = DP_READER_RELEASE};
	dp_kept_rows rows = {NULL};
	ListCell   *lc;

	if (job == NULL || job->number != number || job->running ||
		!is_young(job, estate->es_snapshot))
		return NULL;
	if (!is_made_so(job))
	{
		/* make place for another job */
		kept_forget(&jobs, &job->kept);
		return NULL;
	}
	foreach(lc, job->relations)
		LockRelationOid(lfirst_oid(lc), AccessShareLock);
	if (!is_current(job))
		return NULL;
	dp_inner_check_preconditions();
	rows.store = tuplestore_begin_heap(true, false, work_mem);
	rows.slot = MakeSingleTupleTableSlot(result, &TTSOpsMinimalTuple);
	again.sealed = job->sealed;
	again.request = &job->request;
	again.receipt = &job->receipt;
	PushActiveSnapshot(estate->es_snapshot);
	dp_base_progress_begin(DP_WORK_QUERY, job->relid, 0);
	dp_base_progress(DP_PHASE_READING, 0);
	job->running = true;
	dp_reader_run(&again, remember_again, job, dp_answers_store_row, &rows);
	job->running = false;
	dp_base_progress_end();
	PopActiveSnapshot();
	ExecDropSingleTupleTableSlot(rows.slot);
	return rows.store;
}

static bool
kept_may_keep(const dp_release_spec *spec, const dp_ledger_standing *standing)
{
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		if (spec->measures[i].ops->kind == DP_AGG_CONDITIONS)
			return false;
	return !standing->exempt && dp_base_reuse_age() == 0 &&
		!spec->undeclared && spec->block->part_attnum == 0 &&
		!dp_prepare_is_free(spec);
}

/*
 * dp_answers_want_job
 *	  Called before a release runs that follows from its plan: returns what its
 *	  job is kept with, or NULL if it is not kept. stamp: exact, taken before
 *	  the standing was read; named: OIDs of the relations that are open.
 */
dp_kept_job *
dp_answers_want_job(int64 nonce, int index, const dp_stamp *stamp,
					const dp_ledger_standing *standing, const List *named,
					const dp_release_spec *spec)
{
	int64		asked = (int64) ((uint64) nonce + (uint64) index);
	int64	   *last = &last_asked[(uint64) asked % PLACES];
	dp_kept_job *job = kept_find(&jobs, nonce, index);
	MemoryContext context;
	MemoryContext old;

	if (job != NULL)
		kept_forget(&jobs, &job->kept);
	if (!kept_may_keep(spec, standing))
		return NULL;
	if (*last != asked)
	{
		*last = asked;
		return NULL;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "dp_pg kept job",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	job = palloc0(sizeof(dp_kept_job));
	job->kept.context = context;
	job->kept.nonce = nonce;
	job->kept.index = index;
	job->number = ++last_number;
	job->stamp = *stamp;
	job->first = ReadNextTransactionId();
	kept_read_settings(&job->settings);
	job->standing = *standing;
	job->relid = spec->block->relid;
	job->named = list_copy(named);
	MemoryContextSwitchTo(old);
	return job;
}

/*
 * dp_answers_seal_job
 *	  Called when the job is about to run: seal what is kept of it, and run it
 *	  from that.  False if nothing is kept.
 */
bool
dp_answers_seal_job(dp_kept_job *wanted, dp_reader_job *job)
{
	MemoryContext old;

	if (job->source != NULL || job->local)
	{
		MemoryContextDelete(wanted->kept.context);
		return false;
	}
	old = MemoryContextSwitchTo(wanted->kept.context);
	wanted->request = *job->request;
	wanted->relations = list_copy(job->relations);
	wanted->sealed = dp_reader_seal(job);
	job->sealed = wanted->sealed;
	MemoryContextSwitchTo(old);
	return true;
}

/*
 * dp_answers_keep_job
 *	  Keep the job that was just run and remembered, unless it is too large.
 */
void
dp_answers_keep_job(dp_kept_job *wanted)
{
	int64		id;

	wanted->past = dp_explain_hold_past(wanted->kept.context, &id);
	if (MemoryContextMemAllocated(wanted->kept.context, true) > JOB_MOST_BYTES)
	{
		MemoryContextDelete(wanted->kept.context);
		return;
	}
	kept_add(&jobs, &wanted->kept);
}
