/*
 * kept_job.c
 *	  The job that a release sent to a reader and the ledger, kept by this
 *	  process for the next run of its plan.
 *
 * Preparing, planning and serializing a small query takes longer than reading
 * ten rows.  For plans that kept_answer.c accepts, the result of these steps
 * depends on the plan, the user, settings, the clock, and the contents of
 * tables and catalogs.  That none of these has changed is checked as there,
 * except that charges may have been recorded since (ledger/charge_stamp.c).
 * They change only what remains of budgets, which the ledger checks at each
 * charge anyway.
 *
 * So rights are not looked up again: if they had changed, the job would not be
 * current.  Locks are taken as when the plan ran first.
 *
 * These checks describe the present; the query's snapshot may be older: a
 * STABLE function uses the snapshot of the statement that calls it, which for
 * a cursor may be hours old.  One row per unit is proved for the snapshot that
 * reads (take_rights.c).  So a job records the first transaction ID that was
 * unassigned when its stamp was read, and runs only with snapshots whose xmin
 * is not before it: these see everything that had been committed at that time.
 *
 * A job is kept when its plan runs the second time, and only with an exact
 * stamp.  None is kept if answers are stored, undeclared keys are released, a
 * part is charged separately, a predicate list releases its cost, or an
 * extension hooks the permission check of queries.  A job that failed is made
 * anew.
 */
#include "postgres.h"

#include "access/transam.h"
#include "executor/executor.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "storage/lmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "run.h"

#define PLACES 64
#define MOST_BYTES ((Size) 128 * 1024)

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
read_settings(planner_settings *out)
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
		dp_bridge_same_stamp(&job->stamp, &now) &&
		!dp_ledger_is_renewed(&job->standing, GetCurrentTimestamp());
}

/* Would the job be made the same way now? */
static bool
is_made_so(const dp_kept_job *job)
{
	planner_settings settings;

	read_settings(&settings);
	return dp_bridge_reuse_age() == 0 &&
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
 * dp_run_find_job
 *	  The number of the plan's job, if there is one and tables and catalogs are
 *	  as they were; else 0.  Also returns the standing from which it was
 *	  prepared, with sums as of then, and the relations that must be open while
 *	  it runs; both are still valid.
 */
uint64
dp_run_find_job(int64 nonce, int index, const dp_ledger_standing **standing,
				const List **named)
{
	dp_kept_job *job = dp_run_kept_find(&jobs, nonce, index);

	if (job == NULL || ExecutorCheckPerms_hook != NULL || !is_current(job))
		return 0;
	if (job->running)
	{
		dp_run_kept_forget(&jobs, &job->kept);
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

	dp_run_remember_past(job->past, job->receipt.ledger_id);
}

static void
lock_relations(const dp_kept_job *job)
{
	ListCell   *lc;

	foreach(lc, job->relations)
		LockRelationOid(lfirst_oid(lc), AccessShareLock);
}

/*
 * dp_run_do_kept_job
 *	  Run the job that dp_run_find_job found, if it is still current, and
 *	  return its noisy rows in a store of the current context; else NULL, and
 *	  nothing was done.
 *
 * Errors: as dp_run_release.
 */
Tuplestorestate *
dp_run_do_kept_job(uint64 number, int64 nonce, int index, EState *estate,
				   TupleDesc result)
{
	dp_kept_job *job = dp_run_kept_find(&jobs, nonce, index);
	dp_reader_job again = {.kind = DP_READER_RELEASE};
	dp_run_rows rows = {NULL};

	if (job == NULL || job->number != number || job->running ||
		!is_young(job, estate->es_snapshot))
		return NULL;
	if (!is_made_so(job))
	{
		/* make place for another job */
		dp_run_kept_forget(&jobs, &job->kept);
		return NULL;
	}
	lock_relations(job);
	if (!is_current(job))
		return NULL;
	dp_run_check_preconditions();
	rows.store = tuplestore_begin_heap(true, false, work_mem);
	rows.slot = MakeSingleTupleTableSlot(result, &TTSOpsMinimalTuple);
	again.sealed = job->sealed;
	again.request = &job->request;
	again.receipt = &job->receipt;
	PushActiveSnapshot(estate->es_snapshot);
	dp_bridge_progress_begin(DP_WORK_QUERY, job->relid, 0);
	dp_bridge_progress(DP_PHASE_READING, 0);
	job->running = true;
	dp_reader_run(&again, remember_again, job, dp_run_store_row, &rows);
	job->running = false;
	dp_bridge_progress_end();
	PopActiveSnapshot();
	ExecDropSingleTupleTableSlot(rows.slot);
	return rows.store;
}

static bool
has_predicates(const dp_release_spec *spec)
{
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		if (spec->measures[i].ops->kind == DP_AGG_CONDITIONS)
			return true;
	return false;
}

static bool
may_keep(const dp_release_spec *spec, const dp_ledger_standing *standing)
{
	return !standing->exempt && dp_bridge_reuse_age() == 0 &&
		!spec->undeclared && spec->block->part_attnum == 0 &&
		!dp_run_is_free(spec) && !has_predicates(spec);
}

/*
 * dp_run_want_job
 *	  Called before a release runs that follows from its plan: returns what its
 *	  job is kept with, or NULL if it is not kept. stamp: exact, taken before
 *	  the standing was read; named: OIDs of the relations that are open.
 */
dp_kept_job *
dp_run_want_job(int64 nonce, int index, const dp_stamp *stamp,
				const dp_ledger_standing *standing, const List *named,
				const dp_release_spec *spec)
{
	int64		asked = (int64) ((uint64) nonce + (uint64) index);
	int64	   *last = &last_asked[(uint64) asked % PLACES];
	dp_kept_job *job = dp_run_kept_find(&jobs, nonce, index);
	MemoryContext context;
	MemoryContext old;

	if (job != NULL)
		dp_run_kept_forget(&jobs, &job->kept);
	if (!may_keep(spec, standing))
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
	read_settings(&job->settings);
	job->standing = *standing;
	job->relid = spec->block->relid;
	job->named = list_copy(named);
	MemoryContextSwitchTo(old);
	return job;
}

/*
 * dp_run_seal_job
 *	  Called when the job is about to run: seal what is kept of it, and run it
 *	  from that.  False if nothing is kept.
 */
bool
dp_run_seal_job(dp_kept_job *wanted, dp_reader_job *job)
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
 * dp_run_keep_job
 *	  Keep the job that was just run and remembered, unless it is too large.
 */
void
dp_run_keep_job(dp_kept_job *wanted)
{
	MemoryContext old = MemoryContextSwitchTo(wanted->kept.context);
	int64		id;

	wanted->past = dp_run_copy_past(&id);
	MemoryContextSwitchTo(old);
	if (MemoryContextMemAllocated(wanted->kept.context, true) > MOST_BYTES)
	{
		MemoryContextDelete(wanted->kept.context);
		return;
	}
	dp_run_kept_add(&jobs, &wanted->kept);
}
