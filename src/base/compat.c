/*
 * compat.c
 *	  Functions of dp_compat.h that are too long for a header.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"

#include "dp_base.h"

/* ---- rights ---- */

/*
 * dp_base_check_entries
 *	  Check rights on entries as PostgreSQL does, but without hooks; infos
 *	  exist from 16 on.
 */
bool
dp_base_check_entries(List *entries, List *infos, bool raise)
{
	ExecutorCheckPerms_hook_type hook = ExecutorCheckPerms_hook;
	bool		passed = false;

	ExecutorCheckPerms_hook = NULL;
	PG_TRY();
	{
#if PG_VERSION_NUM >= 160000
		passed = ExecCheckPermissions(entries, infos, raise);
#else
		passed = ExecCheckRTPerms(entries, raise);
#endif
	}
	PG_FINALLY();
	{
		ExecutorCheckPerms_hook = hook;
	}
	PG_END_TRY();
	return passed;
}

static bool
compat_check_level(Query *level, bool raise)
{
#if PG_VERSION_NUM >= 160000
	return dp_base_check_entries(level->rtable, level->rteperminfos, raise);
#else
	return dp_base_check_entries(level->rtable, NIL, raise);
#endif
}

/* Whether the role has all the rights on whole tables. */
static bool
has_table_rights(const Query *level)
{
	ListCell   *lc;

#if PG_VERSION_NUM >= 160000
	foreach(lc, level->rteperminfos)
	{
		const RTEPermissionInfo *entry = lfirst_node(RTEPermissionInfo, lc);
#else
	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

#endif
		/* partitions added to a plan ask for no rights */
		if (entry->requiredPerms != 0 &&
			!dp_base_has_table_rights(entry->relid, entry->checkAsUser,
									  entry->requiredPerms))
			return false;
	}
	return true;
}

/* dp_base_has_rights: see dp_compat.h. */
bool
dp_base_has_rights(Query *level)
{
	return has_table_rights(level) || compat_check_level(level, false);
}

/* dp_base_check_rights: likewise. */
void
dp_base_check_rights(Query *level)
{
	(void) compat_check_level(level, true);
}

/*
 * dp_base_ask_others
 *	  Call other libraries' ExecutorCheckPerms_hook, which must be set, for a
 *	  level, as PostgreSQL does when an executor starts.
 *
 * Errors: 42501, or what the hook raises.
 */
void
dp_base_ask_others(Query *level)
{
	bool		passed;

#if PG_VERSION_NUM >= 160000
	passed = ExecutorCheckPerms_hook(level->rtable, level->rteperminfos,
									 true);
#else
	passed = ExecutorCheckPerms_hook(level->rtable, true);
#endif
	if (!passed)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied by another library")));
}

/*
 * dp_base_reads_system_column
 *	  Does a level ask to read what only a table's own rows have, such as ctid,
 *	  of one of its entries?
 */
bool
dp_base_reads_system_column(Query *level, RangeTblEntry *entry)
{
	Bitmapset  *columns;
	int			first;

#if PG_VERSION_NUM >= 160000
	if (entry->perminfoindex == 0)
		return false;
	columns = getRTEPermissionInfo(level->rteperminfos, entry)->selectedCols;
#else
	columns = entry->selectedCols;
#endif
	first = bms_next_member(columns, -1);
	return first >= 0 && first + FirstLowInvalidHeapAttributeNumber < 0;
}

/* ---- levels that group ---- */

#if PG_VERSION_NUM >= 180000

/*
 * Subqueries in expressions come first: their grouped expressions may refer to
 * those of the outer level, and flattening that reaches them only once they
 * are in a target list.
 */
static bool
ungroup_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		dp_base_ungroup((Query *) node);
		return false;
	}
	return expression_tree_walker(node, ungroup_walker, context);
}

/*
 * Errors about a key point at it; the Var that replaces it may have no
 * location.
 */
static void
place_keys(Query *level)
{
	const RangeTblEntry *entry = llast_node(RangeTblEntry, level->rtable);
	ListCell   *lc;

	foreach(lc, level->targetList)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;

		if (IsA(var, Var) && var->varno == list_length(level->rtable) &&
			var->varlevelsup == 0 && var->location < 0)
			var->location = exprLocation(list_nth(entry->groupexprs,
												  var->varattno - 1));
	}
}

/* dp_base_ungroup: see dp_compat.h. */
void
dp_base_ungroup(Query *level)
{
	(void) ungroup_walker((Node *) level->targetList, NULL);
	(void) ungroup_walker(level->havingQual, NULL);
	if (!level->hasGroupRTE || level->groupingSets != NIL)
		return;
	place_keys(level);
	level->targetList = (List *)
		flatten_group_exprs(NULL, level, (Node *) level->targetList);
	level->havingQual = flatten_group_exprs(NULL, level, level->havingQual);
	level->hasGroupRTE = false;
	if (llast_node(RangeTblEntry, level->rtable)->rtekind != RTE_GROUP)
		elog(ERROR, "entry of grouped expressions is not the last one");
	level->rtable = list_delete_last(level->rtable);
}

#else

/* dp_base_ungroup: see dp_compat.h. */
void
dp_base_ungroup(Query *level)
{
}

#endif

/*
 * dp_base_stands_for
 *	  What the columns of a range table entry stand for, if they are only names
 *	  of expressions of the level; otherwise NIL.
 */
List *
dp_base_stands_for(const RangeTblEntry *entry)
{
#if PG_VERSION_NUM >= 180000
	if (entry->rtekind == RTE_GROUP)
		return entry->groupexprs;
#endif
	return entry->rtekind == RTE_JOIN ? entry->joinaliasvars : NIL;
}

/* ---- joins ---- */

/*
 * dp_base_forget_nulling
 *	  Drop the record of the outer joins that can make a column NULL.
 */
void
dp_base_forget_nulling(Var *var)
{
#if PG_VERSION_NUM >= 160000
	var->varnullingrels = NULL;
#endif
}

/*
 * dp_base_add_nulling
 *	  Record in the columns of an expression, from 16 on, that an outer join,
 *	  given by its number, can make them NULL; returns the expression or a
 *	  copy.
 */
Node *
dp_base_add_nulling(Node *node, int join)
{
#if PG_VERSION_NUM >= 160000
	return add_nulling_relids(node, pull_varnos(NULL, node),
							  bms_make_singleton(join));
#else
	return node;
#endif
}

/*
 * dp_base_remove_nulling
 *	  Joins of a level, given by their numbers, are no longer outer joins:
 *	  remove them from its expressions and its functions in FROM.
 */
void
dp_base_remove_nulling(Query *level, const Bitmapset *joins)
{
#if PG_VERSION_NUM >= 160000
	ListCell   *lc;

	level->targetList = (List *)
		remove_nulling_relids((Node *) level->targetList, joins, NULL);
	level->havingQual = remove_nulling_relids(level->havingQual, joins, NULL);
	level->jointree = (FromExpr *)
		remove_nulling_relids((Node *) level->jointree, joins, NULL);
	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		entry->functions = (List *)
			remove_nulling_relids((Node *) entry->functions, joins, NULL);
	}
#endif
}

/* ---- settings ---- */

/* dp_base_find_setting: see dp_compat.h. */
struct config_generic *
dp_base_find_setting(const char *name)
{
#if PG_VERSION_NUM >= 160000
	return find_option(name, false, false, ERROR);
#else
	struct config_generic **all = get_guc_variables();
	int			n = GetNumConfigOptions();
	int			i;

	for (i = 0; i < n; i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	elog(ERROR, "setting \"%s\" does not exist", name);
	return NULL;
#endif
}

/* ---- generated columns ---- */

/* dp_base_virtual_expression: see dp_compat.h. */
Node *
dp_base_virtual_expression(Relation rel, AttrNumber attnum)
{
#if PG_VERSION_NUM >= 180000
	TupleDesc	desc = RelationGetDescr(rel);

	if (attnum > 0 && desc->constr != NULL &&
		desc->constr->has_generated_virtual &&
		TupleDescAttr(desc, attnum - 1)->attgenerated ==
		ATTRIBUTE_GENERATED_VIRTUAL)
		return build_generation_expression(rel, attnum);
#endif
	return NULL;
}
