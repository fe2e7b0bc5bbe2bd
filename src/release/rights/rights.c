/*
 * rights.c
 *	  Rights on protected relations: checked before a planner sees a statement,
 *	  what is said where they lack, and the owners' right that queries of
 *	  blocks get, with a proof of what these rely on.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "rewrite/rewriteManip.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/expressions/dp_expressions.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "dp_rights.h"

/* ----------------
 *		Says why rows cannot be read, by the name that the user wrote, and what
 *		can be asked instead.
 *
 * PostgreSQL's own message names a table that the user of a view never named,
 * and does not say what is allowed.  This text follows from the catalog and
 * from the budget of the asking role, which it may see anyway.  Nothing is
 * refused here that PostgreSQL would not refuse.
 * ----------------
 */

typedef struct row_search
{
	Oid			view;			/* the outermost view around it, or none */
	Oid			named;			/* result: what the user wrote */
	Oid			relid;			/* result: the protected relation, or
								 * InvalidOid */
} row_search;

/* ---- searching ---- */

/* Does it read rows of a protected relation without the right to? */
static bool
reads_protected(Query *level, const RangeTblEntry *entry)
{
	return entry->rtekind == RTE_RELATION &&
		entry->relkind != RELKIND_VIEW &&
		entry->relid >= FirstNormalObjectId &&
		dp_compat_lacks_table(level, entry) &&
		OidIsValid(dp_protect_root(entry->relid)) &&
		!dp_compat_may_read(level, entry);
}

/* The view for which a subquery in FROM stands, or InvalidOid. */
static Oid
view_of(const RangeTblEntry *entry)
{
	const RangeTblEntry *first;

	if (OidIsValid(entry->relid))
		return entry->relid;	/* from 16 on */
	if (entry->subquery->rtable == NIL)
		return InvalidOid;
	first = linitial_node(RangeTblEntry, entry->subquery->rtable);
	return first->rtekind == RTE_RELATION &&
		first->relkind == RELKIND_VIEW ? first->relid : InvalidOid;
}

static bool
row_walker(Node *node, void *context)
{
	row_search *search = context;
	Query	   *level = (Query *) node;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, row_walker, context);
	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);
		Oid			around = search->view;

		if (reads_protected(level, entry))
		{
			search->relid = entry->relid;
			search->named = OidIsValid(around) ? around : entry->relid;
			return true;
		}
		if (entry->rtekind != RTE_SUBQUERY)
			continue;
		if (!OidIsValid(around))
			search->view = view_of(entry);
		if (row_walker((Node *) entry->subquery, context))
			return true;
		search->view = around;
	}
	foreach(lc, level->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		/* a CTE that is no longer referenced is not planned */
		if (cte->cterefcount != 0 && row_walker(cte->ctequery, context))
			return true;
	}
	return query_tree_walker(level, row_walker, context,
							 QTW_IGNORE_RT_SUBQUERIES |
							 QTW_IGNORE_CTE_SUBQUERIES);
}

/* Is there an aggregate that is not private? *context receives its OID. */
static bool
is_plain_aggregate(Node *node, const dp_walk *walk)
{
	if (!IsA(node, Aggref) ||
		dp_catalog_aggregate_kind(((Aggref *) node)->aggfnoid) != DP_AGG_NONE)
		return false;
	*(Oid *) walk->context = ((Aggref *) node)->aggfnoid;
	return true;
}

/* ---- texts ---- */

/*
 * The name by which the user finds the relation; of what a function with
 * another role's rights reads, only what PostgreSQL's message shows.
 */
static char *
visible_name(Oid relid)
{
	return RelationIsVisible(relid) || dp_base_has_others_rights() ?
		get_rel_name(relid) : dp_protect_qualified_name(relid);
}

static const char *
rights_kind_of(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_VIEW ? "view" : "table";
}

/* What the asking role may still spend, the cap included. */
static dp_fixed
remaining(const dp_ledger_standing *standing)
{
	dp_fixed	own = dp_ledger_remaining(&standing->limit, &standing->spent);

	return !standing->capped ? own :
		Min(own, dp_ledger_remaining(&standing->cap, &standing->cap_spent));
}

/*
 * That it is protected; for roles that may ask, also in which dataset, and how
 * much remains.
 */
static char *
detail_text(Oid named, const char *dataset, const dp_ledger_standing *standing)
{
	char	   *text = psprintf("Rows of %s \"%s\" are protected by "
								"differential privacy", rights_kind_of(named),
								visible_name(named));

	if (!standing->found)
		return psprintf("%s.", text);
	if (standing->exempt)
		return psprintf("%s, in dataset \"%s\".", text, dataset);
	return psprintf("%s, in dataset \"%s\", where epsilon %s remains to you.",
					text, dataset,
					dp_base_epsilon_text(remaining(standing),
										 DP_ROUND_DOWN));
}

/* What to write instead. */
static char *
hint_text(Query *query, const dp_ledger_standing *standing)
{
	Oid			plain = InvalidOid;

	if (!standing->found)
		return psprintf("Aggregates such as %s(*) answer roles that have a "
						"budget; ask the owner of the table for one.",
						dp_catalog_shown_name("dp_count"));
	if (dp_setting_transparent)
		return pstrdup("Ask for aggregates, such as count(*) or avg, over all "
					   "rows or grouped by columns with public values.");
	if (dp_base_contains((Node *) query, is_plain_aggregate, &plain, 0))
		return dp_catalog_private_advice(plain);
	return pstrdup("Ask for aggregates, such as dp_count(*) or dp_avg, over "
				   "all rows or grouped by columns with public values.");
}

/*
 * dp_rights_make_refusal
 *	  The refusal to show rows of a protected relation, or of a part of one,
 *	  which the user named `named`; `query` may be NULL; `hint`, if given, is
 *	  for roles that may ask.
 */
dp_refusal *
dp_rights_make_refusal(Oid named, Oid relid, Query *query, const char *hint)
{
	const char *dataset = dp_protect_dataset(dp_protect_root(relid));
	dp_ledger_standing standing;

	MemSet(&standing, 0, sizeof(standing));
	if (dataset != NULL)
		dp_ledger_read_standing(dataset, &standing);
	return dp_base_refuse(ERRCODE_INSUFFICIENT_PRIVILEGE, -1,
						  detail_text(named, dataset, &standing),
						  hint != NULL && standing.found ? hint :
						  hint_text(query, &standing),
						  "permission denied for %s %s",
						  rights_kind_of(named), get_rel_name(named));
}

/* ---- statements ---- */

/*
 * refuse_rows
 *	  The refusal of a statement that would read rows of a protected relation
 *	  without the right to; NULL if there is none.
 */
static dp_refusal *
refuse_rows(Query *query)
{
	row_search	search = {InvalidOid, InvalidOid, InvalidOid};

	if (!row_walker((Node *) query, &search))
		return NULL;
	return dp_rights_make_refusal(search.named, search.relid, query, NULL);
}

/*
 * The first view among the entries that reads the relation, or the relation.
 */
static Oid
find_named(const List *entries, Oid relid)
{
	ListCell   *lc;

	foreach(lc, entries)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (OidIsValid(entry->relid) && entry->relkind == RELKIND_VIEW &&
			list_member_oid(dp_protect_view_reads(entry->relid, false), relid))
			return entry->relid;
	}
	return relid;
}

/*
 * dp_rights_refuse_entries
 *	  The same for one level that the planner has changed, or the entries of a
 *	  plan, where views are entries among others.
 */
dp_refusal *
dp_rights_refuse_entries(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (reads_protected(level, entry))
			return dp_rights_make_refusal(find_named(level->rtable,
													 entry->relid),
										  entry->relid, NULL, NULL);
	}
	return NULL;
}

/* ----------------
 *		Checks rights on protected relations before a planner sees the
 *		statement.
 *
 * PostgreSQL checks rights when a plan is executed.  By then the planner has
 * read statistics, and the extreme values of indexes, for a role that may read
 * none of them: the counters of pg_prepared_statements, which depend on costs
 * of plans that were then refused, revealed exact numbers of rows.
 * ----------------
 */

/*
 * Walk over everything of a level that the planner will see: not over SELECTs
 * in WITH that are not referenced, or no longer, because a block took them.
 */
static bool
rights_walk_level(Query *level, bool (*walker) (Node *node, void *context),
				  void *context, int flags)
{
	ListCell   *lc;

	foreach(lc, level->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if ((cte->cterefcount != 0 ||
			 castNode(Query, cte->ctequery)->commandType != CMD_SELECT) &&
			walker(cte->ctequery, context))
			return true;
	}
	return query_tree_walker(level, walker, context,
							 flags | QTW_IGNORE_CTE_SUBQUERIES);
}

/* Is a right missing at any level? Raises nothing. */
static bool
rights_lacks_right_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return !dp_base_has_rights((Query *) node) ||
			rights_walk_level((Query *) node, rights_lacks_right_walker,
							  context, 0);
	return expression_tree_walker(node, rights_lacks_right_walker, context);
}

/* Is it a protected relation, or does it contain rows of one? */
static bool
holds_protected(Oid relid)
{
	ListCell   *lc;

	if (OidIsValid(dp_protect_root(relid)))
		return true;
	foreach(lc, find_all_inheritors(relid, NoLock, NULL))
		if (OidIsValid(dp_protect_root(lfirst_oid(lc))))
			return true;
	return false;
}

static bool
reaches_protected_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		Oid			relid = ((RangeTblEntry *) node)->relid;

		return OidIsValid(relid) && holds_protected(relid);
	}
	if (IsA(node, Query))
		return rights_walk_level((Query *) node, reaches_protected_walker,
								 context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, reaches_protected_walker, context);
}

/* Raise 42501 at the first level where a right is missing. */
static bool
check_rights_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		dp_base_check_rights((Query *) node);
		return rights_walk_level((Query *) node, check_rights_walker, context,
								 0);
	}
	return expression_tree_walker(node, check_rights_walker, context);
}

/* dp_rights_lacks_right: is a right missing on any relation of a statement? */
bool
dp_rights_lacks_right(Query *query)
{
	return rights_lacks_right_walker((Node *) query, NULL);
}

/* dp_rights_reaches_protected: does it reach a protected relation? */
bool
dp_rights_reaches_protected(Query *query)
{
	return reaches_protected_walker((Node *) query, NULL);
}

/*
 * dp_rights_check_first
 *	  Raise 42501 when a right is missing for a statement that reaches a
 *	  protected relation: directly, through a part of it or a view, at any
 *	  level.  Everything else is left to execution.
 *
 * A right on any relation of such a statement counts, since its plan uses
 * statistics of all of them, even if planning would have dropped the relation.
 * A statement that has all rights costs one more check.
 */
void
dp_rights_check_first(Query *query)
{
	dp_refusal *refusal;

	if (!dp_rights_lacks_right(query) || !dp_rights_reaches_protected(query))
		return;
	refusal = refuse_rows(query);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, NULL);
	(void) check_rights_walker((Node *) query, NULL);
}

/*
 * dp_rights_check_met
 *	  The same for a relation that the planner looks up, in any statement: the
 *	  bodies of SQL functions that it inlines into FROM were not part of the
 *	  statement above.  They cannot be known in advance, since planning may
 *	  call functions that replace others.  Called before statistics of the
 *	  relation are read.
 */
void
dp_rights_check_met(PlannerInfo *root, Oid relid)
{
	PlannerInfo *level;
	dp_refusal *refusal;

	if (relid < FirstNormalObjectId)
		return;
	for (level = root; level != NULL; level = level->parent_root)
		if (!dp_base_has_rights(level->parse) && holds_protected(relid))
		{
			refusal = dp_rights_refuse_entries(level->parse);
			if (refusal != NULL)
				dp_base_raise_refusal(refusal, NULL);
			dp_base_check_rights(level->parse);
		}
}

/* ----------------
 *		The queries of a block that read protected relations, with the owners'
 *		right to read.
 *
 * No function gains the owner's rights: the entry of the protected relation,
 * and nothing else in the query, is checked as its owner (checkAsUser).
 * ----------------
 */

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
		refusal = dp_expressions_check_policies(level);
	if (refusal != NULL)
		dp_base_raise_refusal(refusal, NULL);
}

/*
 * Check the rights of every level; on the protected relation, those of its
 * owner.
 */
static bool
rights_walker(Node *node, void *context)
{
	dp_ready   *ready = context;
	Query	   *level;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rights_walker, context);
	level = (Query *) node;
	level->queryId = 0;
	forbid_subqueries(level);
	dp_compat_read_as(level, ready->relation->relid, ready->relation->owner);
	dp_base_check_rights(level);
	foreach(lc, level->rtable)
	{
		Oid			relid = lfirst_node(RangeTblEntry, lc)->relid;

		if (OidIsValid(relid))
			ready->relids = list_append_unique_oid(ready->relids, relid);
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
ask_others_of_level(Node *node, const dp_walk *walk)
{
	if (IsA(node, Query))
		dp_base_ask_others((Query *) node);
	return false;
}

/*
 * dp_rights_ask_others
 *	  Call other libraries' permission hook for queries that were given their
 *	  owners' right.  An executor has begun; the reader, which executes the
 *	  queries, does not call it.
 *
 * Errors: 42501, or what the hook raises.
 */
void
dp_rights_ask_others(const List *all)
{
	ListCell   *lc;

	foreach(lc, ExecutorCheckPerms_hook != NULL ? all : NIL)
		(void) dp_base_contains((Node *) ((dp_ready *) lfirst(lc))->query,
								ask_others_of_level, NULL, 0);
}

/*
 * dp_rights_look_up
 *	  What is declared about a relation that the block reads.
 *
 * Errors: 55000 it is no longer protected in the block's dataset.
 */
const dp_relation *
dp_rights_look_up(const dp_block *block, Oid relid)
{
	const dp_relation *relation = dp_protect_lookup(relid);

	if (relation == NULL || strcmp(relation->dataset, block->dataset) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("protection of a relation changed since the query was "
						"planned"),
				 errhint("Run the query again.")));
	return relation;
}

static List *
add_ready(List *all, Query *query, Oid relid, List *key)
{
	dp_ready   *ready = palloc0(sizeof(dp_ready));

	ready->query = query;
	ready->relid = relid;
	ready->key = key;
	return lappend(all, ready);
}

/*
 * dp_rights_list_private
 *	  The queries of a block that read protected relations, a list of
 *	  dp_ready *: `inner`, its own, then copies of those of its private
 *	  sources, each followed by the steps that lead from its keys to units.
 */
List *
dp_rights_list_private(const dp_block *block, Query *inner)
{
	List	   *all = add_ready(NIL, inner, block->relid, NIL);
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		ListCell   *step;
		ListCell   *relid;
		ListCell   *key;

		if (!OidIsValid(source->relid))
			continue;
		all = add_ready(all, copyObject(source->query), source->relid, NIL);
		forthree(step, source->steps, relid, source->step_relids,
				 key, source->step_keys)
			all = add_ready(all, copyObject(lfirst(step)), lfirst_oid(relid),
							lfirst(key));
	}
	return all;
}

/*
 * Whether the unit of the relation is the one that the block was split for.  A
 * plan can outlive it: that of a cursor is not made again.
 */
static bool
has_unit(const dp_block *block, const dp_relation *relation)
{
	ListCell   *relid;
	ListCell   *unit;

	forboth(relid, block->relids, unit, block->units)
		if (lfirst_oid(relid) == relation->relid)
			return strcmp(strVal(lfirst(unit)),
						  dp_protect_unit_mark(relation)) == 0;
	return true;				/* on the way to a unit */
}

/*
 * dp_rights_take
 *	  Give each of the queries, which are changed, the owner's right to read
 *	  its protected relation, after checking its rights on everything else.
 *
 * The caller has made sure that the asking role holds a budget on the dataset,
 * or the charge will before anything is read.
 *
 * Errors: 42501 no right on something else in a query; 0A000 a policy has a
 * subquery; 55000 a relation is no longer protected in the dataset, or has
 * another unit than the block was split for.
 */
void
dp_rights_take(const dp_block *block, const dp_ledger_standing *standing,
			   const List *all)
{
	ListCell   *lc;

	foreach(lc, all)
	{
		dp_ready   *ready = lfirst(lc);
		const dp_relation *relation = dp_rights_look_up(block, ready->relid);

		if (block->many && !block->single && !has_unit(block, relation))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("privacy unit of a relation changed since the "
							"query was planned"),
					 errhint("Run the query again.")));
		check_owners(relation, standing);
		ready->relation = relation;
		(void) rights_walker((Node *) ready->query, ready);
	}
}

/*
 * dp_rights_prove
 *	  Prove what the block relies on for the active snapshot, which will read
 *	  the rows, after rights were taken: one row per unit, and that the key of
 *	  each step identifies the one row that has its unit.
 *
 * Errors: 0A000 a unit may have many rows; 55000 a unit is behind columns that
 * are no key.
 */
void
dp_rights_prove(const dp_block *block, const List *all)
{
	ListCell   *lc;

	foreach(lc, all)
	{
		const dp_ready *ready = lfirst(lc);

		if ((!block->many || block->single) &&
			!dp_protect_prove_one_row(ready->relation, GetActiveSnapshot()))
			dp_base_raise_refusal(dp_rowsets_refuse_many(ready->relation),
								  NULL);
		if (ready->key == NIL ||
			dp_protect_is_key(ready->relid, ready->key, GetActiveSnapshot()))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the privacy unit of a relation cannot be found"),
				 errdetail("It is behind the primary key of relation \"%s\", "
						   "which is not proved unique for this snapshot.  %s",
						   get_rel_name(ready->relid),
						   dp_ledger_uncharged_text()),
				 errhint("Its owner should look at the primary key; a new "
						 "transaction may see it.")));
	}
}
