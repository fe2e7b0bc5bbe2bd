/*
 * plan_scans.c
 *	  Plans that read private rows into partitions (named_stores.c).
 *
 * If rows are gathered by unit, each relation is read by a plan of its own,
 * and so are the relations that lead to units behind keys; the plan of the
 * inner query runs over the result.
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "run.h"

#define STEPS 16				/* most steps of one query: each takes
								 * memory */

/*
 * dp_run_add_workers
 *	  Set what each parallel worker may take, for a job with plan, memory and
 *	  row (many: workers hand over rows of units), and what joined rows take in
 *	  every process and in the copy that workers share; joined may be NULL.
 */
void
dp_run_add_workers(dp_reader_job *job, bool many, const dp_inner *run,
				   const dp_joined_rows *joined)
{
	Size		held = dp_run_joined_memory(joined);

	if (many)
		dp_reader_expect_packs(job, job->plan, run->memory, run->row);
	else
		job->worker = dp_reader_process_memory(job->memory, job->row);
	job->memory += held;
	job->worker += held;
	job->shared = run->facts.copied ? dp_run_joined_bytes(joined) : 0;
}

/* Plan the scan of one of several relations. */
static void
plan_scan(Query *scan, Oid relid, const dp_block *block,
		  const dp_ledger_standing *standing, const dp_inner *inner,
		  dp_reader_job *job)
{
	dp_inner	run = {inner->params, inner->environment, inner->context};
	Query	   *query = copyObject(scan);
	dp_refusal *refusal;
	PlannedStmt *plan;

	dp_rules_settle_policies(query);
	refusal = dp_rules_check_query(query);
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	run.local = standing->exempt;
	run.relations = dp_run_take_rights(block, relid, standing, query,
									   &run.facts);
	plan = dp_run_plan_inner(&run, query, DP_WORKERS_ROWS);
	job->scans = lappend(job->scans, plan);
	job->relations = list_concat_unique_oid(job->relations, run.relations);
	job->needs.toast = list_concat_unique_oid(job->needs.toast,
											  run.needs.toast);
	job->needs.enums = list_concat_unique_oid(job->needs.enums,
											  run.needs.enums);
	job->needs.collations = list_concat_unique_oid(job->needs.collations,
												   run.needs.collations);
	job->memory += run.memory;
	dp_reader_expect_packs(job, plan, run.memory, run.row);
}

/*
 * A key identifies the one row that has its unit; prove it for the reading
 * snapshot.
 */
static void
check_key(Oid relid, const List *key)
{
	if (dp_block_is_key(relid, key, GetActiveSnapshot()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the privacy unit of a relation cannot be found"),
			 errdetail("It is behind the primary key of relation \"%s\", "
					   "which is not proved unique for this snapshot.  %s",
					   get_rel_name(relid), dp_ledger_told_uncharged()),
			 errhint("Its owner should look at the primary key; a new "
					 "transaction may see it.")));
}

/* Plan the scans that lead from keys to units. */
static void
plan_steps(const dp_joined *source, const dp_block *block,
		   const dp_ledger_standing *standing, const dp_inner *inner,
		   dp_reader_job *job)
{
	ListCell   *query;
	ListCell   *relid;
	ListCell   *key;

	forthree(query, source->steps, relid, source->step_relids,
			 key, source->step_keys)
	{
		plan_scan(lfirst(query), lfirst_oid(relid), block, standing, inner,
				  job);
		check_key(lfirst_oid(relid), lfirst(key));
		job->memory += DP_GATHER_MEMORY;
	}
}

/* A reader reserves memory for fewer steps than a query may have relations. */
static void
check_steps(const dp_block *block)
{
	int			steps = 0;
	ListCell   *lc;

	foreach(lc, block->sources)
		steps += list_length(((const dp_joined *) lfirst(lc))->steps);
	if (steps > STEPS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("private query follows too many keys"),
				 errdetail("Units of its relations are %d keys away in all; "
						   "at most %d are possible, since each takes "
						   "memory.  %s", steps, STEPS,
						   dp_ledger_told_uncharged()),
				 errhint("Join fewer relations whose units are behind "
						 "keys.")));
}

/*
 * dp_run_plan_scans
 *	  Plan the scans of the block's private rows, if these are read by plans of
 *	  their own, and add them to the job.  `inner`: how the block's own query
 *	  is planned.
 *
 * Errors: those of dp_rules_settle_policies, of dp_run_take_rights and of
 * planning; 54000 too many keys lead to units; 55000 a unit is behind columns
 * that are no key.
 */
void
dp_run_plan_scans(const dp_block *block,
				  const dp_ledger_standing *standing, const dp_inner *inner,
				  dp_reader_job *job)
{
	ListCell   *lc;

	check_steps(block);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (!OidIsValid(source->relid))
			continue;
		plan_scan(source->query, source->relid, block, standing, inner, job);
		plan_steps(source, block, standing, inner, job);
	}
	if (job->scans != NIL)
		job->memory += DP_GATHER_MEMORY;
}

static void
check_scan(Query *scan, Oid relid, const dp_block *block,
		   const dp_ledger_standing *standing)
{
	Query	   *query = copyObject(scan);
	dp_refusal *refusal = dp_rules_check_policies(query);

	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	(void) dp_run_take_rights(block, relid, standing, query, NULL);
}

/*
 * dp_run_check_scans
 *	  Raise what making the block's queries ready would raise about rights, row
 *	  security, units and steps; plans nothing.  Requires an active snapshot.
 */
void
dp_run_check_scans(const dp_block *block, const dp_ledger_standing *standing)
{
	ListCell   *lc;

	check_scan(block->inner, block->relid, block, standing);
	check_steps(block);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		ListCell   *query;
		ListCell   *relid;
		ListCell   *key;

		if (!OidIsValid(source->relid))
			continue;
		check_scan(source->query, source->relid, block, standing);
		forthree(query, source->steps, relid, source->step_relids,
				 key, source->step_keys)
		{
			check_scan(lfirst(query), lfirst_oid(relid), block, standing);
			check_key(lfirst_oid(relid), lfirst(key));
		}
	}
}
