/*
 * take_rights.c
 *	  The owner's right to read, for one query of a block.
 *
 * No function gains the owner's rights: the entry of the protected relation,
 * and nothing else in the query, is checked as its owner (checkAsUser).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "run.h"

typedef struct rights_context
{
	const dp_relation *relation;
	List	   *relids;			/* the query's relations, views included */
} rights_context;

/*
 * A subquery in a policy is refused by the name of the policy, not because the
 * asking role may not read the subquery's relations.
 */
static void
forbid_subqueries(Query *level)
{
	dp_refusal *refusal = NULL;
	ListCell   *lc;

	foreach(lc, level->rtable)
		if (checkExprHasSubLink((Node *) lfirst_node(RangeTblEntry,
													 lc)->securityQuals))
			break;
	if (lc != NULL)
		refusal = dp_rules_check_policies(level);
	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
}

/*
 * Check the rights of every level; on the protected relation, those of its
 * owner.
 */
static bool
rights_walker(Node *node, void *context)
{
	rights_context *rights = context;
	Query	   *level;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rights_walker, context);
	level = (Query *) node;
	level->queryId = 0;
	forbid_subqueries(level);
	dp_compat_read_as(level, rights->relation->relid,
					  rights->relation->owner);
	dp_bridge_check_rights(level);
	foreach(lc, level->rtable)
	{
		Oid			relid = lfirst_node(RangeTblEntry, lc)->relid;

		if (OidIsValid(relid))
			rights->relids = list_append_unique_oid(rights->relids, relid);
	}
	return query_tree_walker(level, rights_walker, context, 0);
}

/*
 * A dataset serves only tables for which its owner has the rights of the
 * table's owner, since the dataset's owner grants budgets on them and asks
 * without limit.  After ALTER TABLE OWNER this may no longer hold.
 */
static void
check_owners(const dp_relation *relation, const dp_ledger_standing *standing)
{
	if (!dp_ledger_owner_serves(standing->owner, relation->owner))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("relation \"%s\" does not belong to the owner of its "
						"dataset", get_rel_name(relation->relid)),
				 errdetail("The owner of dataset \"%s\" no longer has the "
						   "rights of the relation's owner.",
						   relation->dataset),
				 errhint("Its owner must protect it in another dataset: "
						 "dp_unprotect(), then dp_protect().")));
	if (!standing->exempt || has_privs_of_role(standing->asking,
											   relation->owner))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("relation \"%s\" does not belong to the owner of its "
					"dataset", get_rel_name(relation->relid)),
			 errdetail("Role \"%s\" owns dataset \"%s\" and asks without "
					   "limit, but does not own the relation.",
					   GetUserNameFromId(standing->asking, false),
					   relation->dataset),
			 errhint("Unprotect the relation and protect it in a dataset of "
					 "its owner.")));
}

static bool
others_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, others_walker, context);
	dp_bridge_ask_others((Query *) node);
	return query_tree_walker((Query *) node, others_walker, context, 0);
}

/*
 * dp_run_ask_others
 *	  Call other libraries' permission hook for a query of the block that was
 *	  given the owner's right.  An executor has begun; the reader, which
 *	  executes the query, does not call it.
 *
 * Errors: 42501, or what the hook raises.
 */
void
dp_run_ask_others(Query *query)
{
	if (ExecutorCheckPerms_hook != NULL)
		(void) others_walker((Node *) query, NULL);
}

/*
 * dp_run_take_rights
 *	  Give a query of the block the owner's right to read one of its protected
 *	  relations.  Returns the OIDs of the relations it names, after checking
 *	  its rights on them; *facts, if not NULL, receives the public facts of the
 *	  relation.
 *
 * The caller has made sure that the asking role holds a budget on the dataset,
 * or the charge will before anything is read.
 *
 * Errors: 42501 no right on something else in the query; 0A000 a policy has a
 * subquery; 55000 the relation is no longer protected.
 */
List *
dp_run_take_rights(const dp_block *block, Oid relid,
				   const dp_ledger_standing *standing, Query *query,
				   dp_public_facts *facts)
{
	rights_context rights;
	dp_relation *relation = dp_protect_lookup(relid);

	if (relation == NULL || strcmp(relation->dataset, block->dataset) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("protection of a relation changed since the query was "
						"planned"),
				 errhint("Run the query again.")));
	if ((!block->many || block->single) &&
		!dp_block_has_one_row(relation, GetActiveSnapshot()))
		dp_bridge_raise_refusal(dp_block_refuse_many(relation), NULL);
	if (block->many && !block->single && relation->unit == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("privacy unit of a relation changed since the query "
						"was planned"),
				 errhint("Run the query again.")));
	check_owners(relation, standing);
	if (facts != NULL)
	{
		facts->relid = relation->relid;
		facts->rows = relation->rows;
	}
	rights.relation = relation;
	rights.relids = NIL;
	(void) rights_walker((Node *) query, &rights);
	return rights.relids;
}
