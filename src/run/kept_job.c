/*
 * kept_job.c
 *	  What a release asks a reader and the ledger, kept by this process for the
 *	  next run of its plan.
 *
 * A client that asks the same small query all day has it prepared, planned and
 * written for a reader each time, which takes longer than reading ten rows.
 * What these three make follows from the plan, the user, settings, the clock
 * and what tables and catalogs say, where the plan is one of those that
 * kept_answer.c takes.  That nothing of this has changed is asked likewise,
 * but that charges may have been recorded since (ledger/charge_stamp.c), which
 * change what is left of budgets and nothing else: whether that is enough the
 * ledger decides at each charge, as ever.
 *
 * So rights need no look of their own: they are what they were, or the job is
 * none.  Locks are taken as the plan of the first time took them.
 *
 * All this is true of now, and rows may be read as of before: a STABLE
 * function sees what the statement sees that calls it, for hours where that is
 * a cursor's.  That a unit has one row is proven for the snapshot that reads
 * (take_rights.c).  So a job has a first transaction that it knows nothing of,
 * and runs with snapshots only to which all before that one have ended: they
 * see whatever had been committed when its stamp was read.
 *
 * A job is kept when its plan runs the second time, and only with a stamp that
 * is exact.  Where answers are stored, where keys are told that nobody has
 * declared, where a part is charged by itself and where a list of predicates
 * tells its cost, none is; nor where an extension has a hook for the rights of
 * queries.  One that has failed is made anew.
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
 * What decides how many processes read, and which partitions, besides what
 * public_plan.c sets.  Other settings change no more than a plan's form.
 */
typedef struct planner_settings
{
	int			workers;		/* of a Gather */
	int			exclusion;
	bool		leader;
} planner_settings;

/* All in a memory context of its own. */
struct dp_kept_job
{
	dp_kept		kept;			/* first, so that it can be cast */
	uint64		number;			/* of this job, in this process */
	bool		running;		/* or it has failed */
	dp_stamp	stamp;			/* of before anything was looked at */
	TransactionId first;		/* that had not begun when it was read */
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
static int64 last_asked[PLACES];	/* nonce + index of what has run */
static uint64 last_number = 0;

static void
read_settings(planner_settings *out)
{
	memset(out, 0, sizeof(*out));
	out->workers = max_parallel_workers_per_gather;
	out->exclusion = constraint_exclusion;
	out->leader = parallel_leader_participation;
}

/* Has no transaction that wrote ended since, but charges? */
static bool
is_current(const dp_kept_job *job)
{
	dp_stamp	now;
	bool		exact;

	return dp_ledger_read_stamp(&now, &exact) &&
		dp_bridge_same_stamp(&job->stamp, &now) &&
		!dp_ledger_is_renewed(&job->standing, GetCurrentTimestamp());
}

/* Would it be made the same way now? */
static bool
is_made_so(const dp_kept_job *job)
{
	planner_settings settings;

	read_settings(&settings);
	return dp_bridge_reuse_age() == 0 &&
		memcmp(&job->settings, &settings, sizeof(settings)) == 0 &&
		dp_reader_has_settings(job->sealed);
}

/* Does the snapshot see all that was true when the job's stamp was read? */
static bool
is_young(const dp_kept_job *job, Snapshot snapshot)
{
	return IsMVCCSnapshot(snapshot) &&
		TransactionIdFollowsOrEquals(snapshot->xmin, job->first);
}

/*
 * dp_run_find_job
 *	  Is there a job of the plan, and do tables and catalogs say what they
 *	  said?  Then its number, the standing that it was prepared from, with sums
 *	  as they were, and the relations that are to be open while it runs, both
 *	  valid for now; else 0.
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

/* dp_reader_charge */
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
 *	  Run the job of the plan that dp_run_find_job has found, if it holds: its
 *	  noisy rows, in a store of the current context; else NULL, and nothing was
 *	  done.
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
		/* so that another one may be kept */
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
 *	  Called before a release runs that follows from its plan: what its job is
 *	  to be kept with, or NULL: it is not.  stamp: exact, of before the
 *	  standing was read; named: OIDs of the relations that are open.
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
 *	  The job is about to run: what is kept of it, which it is then run by.
 *	  False: none is.
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
 *	  Keep the job that was just run and remembered, or not, if it is too
 *	  large.
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
