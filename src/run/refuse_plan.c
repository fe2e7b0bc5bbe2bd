/*
 * refuse_plan.c
 *	  The refusals of refuse_rows.c where no planner call comes first: plans
 *	  made for another role, COPY of a table, and LOCK.
 *
 * PostgreSQL's own checks follow and decide: nothing that they would allow is
 * refused here, and nothing else is allowed.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "run.h"

static ExecutorStart_hook_type next_start = NULL;
static ProcessUtility_hook_type next_utility = NULL;

static void
raise_refusal(const dp_refusal *refusal)
{
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
}

/* A plan whose rights are held costs one more check of rights on tables. */
static void
start_executor(QueryDesc *desc, int flags)
{
	Query		level;

	if (!IsParallelWorker())
	{
		dp_compat_plan_level(desc->plannedstmt, &level);
		raise_refusal(dp_run_refuse_entries(&level));
	}
	if (next_start != NULL)
		next_start(desc, flags);
	else
		standard_ExecutorStart(desc, flags);
}

/* Does the user have no right at all on the table or its columns? */
static bool
has_no_right(Oid relid)
{
	const AclMode any = ACL_SELECT | ACL_INSERT | ACL_UPDATE | ACL_DELETE |
		ACL_TRUNCATE | ACL_MAINTAIN;

	return pg_class_aclmask(relid, GetUserId(), any, ACLMASK_ANY) == 0 &&
		pg_attribute_aclcheck_all(relid, GetUserId(), ACL_SELECT,
								  ACLMASK_ANY) != ACLCHECK_OK;
}

/*
 * The protected relation without a right that a table is, or that a view reads
 * with its reader's rights; or InvalidOid.
 */
static Oid
find_unreadable(Oid relid)
{
	List	   *read = get_rel_relkind(relid) == RELKIND_VIEW ?
		dp_protect_view_reads(relid, true) : list_make1_oid(relid);
	ListCell   *lc;

	foreach(lc, read)
		if (has_no_right(lfirst_oid(lc)) &&
			OidIsValid(dp_protect_root(lfirst_oid(lc))))
			return lfirst_oid(lc);
	return InvalidOid;
}

/*
 * Raise the refusal if a command names something that shows rows of a
 * protected relation.
 */
static void
forbid_named(const RangeVar *name, const char *hint)
{
	Oid			named = RangeVarGetRelid(name, NoLock, true);
	Oid			relid;

	if (named < FirstNormalObjectId)
		return;
	relid = find_unreadable(named);
	if (OidIsValid(relid))
		raise_refusal(dp_run_make_refusal(named, relid, NULL, hint));
}

static void
forbid_reading(Node *statement)
{
	ListCell   *lc;

	if (IsA(statement, CopyStmt))
	{
		const CopyStmt *copy = (CopyStmt *) statement;

		if (copy->relation != NULL && !copy->is_from)
			forbid_named(copy->relation,
						 "Copy the answer of a query, as in COPY (SELECT "
						 "dp_count(*) FROM ..) TO ..");
	}
	else if (IsA(statement, LockStmt))
		foreach(lc, ((LockStmt *) statement)->relations)
			forbid_named(lfirst_node(RangeVar, lc),
						 "Private queries need no lock; pg_dump leaves the "
						 "relation out with --exclude-table.");
}

static void
process_utility(PlannedStmt *statement, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *receiver,
				QueryCompletion *completion)
{
	forbid_reading(statement->utilityStmt);
	if (next_utility != NULL)
		next_utility(statement, query, read_only_tree, context, params,
					 environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								params, environment, receiver, completion);
}

/* dp_run_denial_init: called once, while the library is preloaded. */
void
dp_run_denial_init(void)
{
	dp_bridge_add_hook(&ExecutorStart_hook, start_executor, &next_start);
	dp_bridge_add_hook(&ProcessUtility_hook, process_utility, &next_utility);
}
