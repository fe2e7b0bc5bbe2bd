/*
 * row_security.c
 *	  Row security filters rows before any other condition is evaluated.
 *
 * PostgreSQL evaluates cheap LEAKPROOF conditions before those of policies,
 * since they raise no error that could reveal a value.  But EXPLAIN (ANALYZE)
 * counts what passed them, and says "never executed" of a policy that nothing
 * reached.  That would reveal other roles' questions and answers in the tables
 * of dp_pg, and through pg_stats exact numbers about private columns.
 *
 * So nothing comes before the condition that hides rows: it is a condition of
 * the scan, all others follow it, and no index is used for them (own_lines.c
 * uses two of the ledger: one for the policy's condition, one for its order).
 *
 *	- Tables of dp_pg have their policies.
 *	- pg_statistic and pg_statistic_ext_data, if they are read with another
 *	  role's rights, which is through the views pg_stats,
 *	  pg_stats_ext and pg_stats_ext_exprs, get the conditions of those views
 *	  as policies. Planning of a function's body that
 *	  became part of FROM comes here, too.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_statistic_ext_data.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "run.h"

PG_FUNCTION_INFO_V1(dp_release_owns_statistics);

/* dp_release_owns_statistics: dp_pg.owns_statistics(oid), see its comment. */
Datum
dp_release_owns_statistics(PG_FUNCTION_ARGS)
{
	HeapTuple	statistics = SearchSysCache1(STATEXTOID, PG_GETARG_DATUM(0));
	HeapTuple	relation;
	bool		owns;

	if (!HeapTupleIsValid(statistics))
		PG_RETURN_BOOL(false);
	relation = SearchSysCache1(RELOID, ObjectIdGetDatum(
		((Form_pg_statistic_ext) GETSTRUCT(statistics))->stxrelid));
	owns = HeapTupleIsValid(relation) &&
		has_privs_of_role(GetUserId(),
						  ((Form_pg_class) GETSTRUCT(relation))->relowner);
	if (HeapTupleIsValid(relation))
		ReleaseSysCache(relation);
	ReleaseSysCache(statistics);
	PG_RETURN_BOOL(owns);
}

/* ---- conditions ---- */

static Expr *
call(Oid function, List *arguments)
{
	return (Expr *) makeFuncExpr(function, BOOLOID, arguments, InvalidOid,
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

/* May the role read this column, in all rows? */
static List *
column_conditions(Index rti)
{
	Var		   *relid = makeVar(rti, Anum_pg_statistic_starelid, OIDOID, -1,
								InvalidOid, 0);
	Var		   *attnum = makeVar(rti, Anum_pg_statistic_staattnum, INT2OID,
								 -1, InvalidOid, 0);
	Const	   *privilege = makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
									  CStringGetTextDatum("select"), false,
									  false);
	Expr	   *may_read = call(F_HAS_COLUMN_PRIVILEGE_OID_INT2_TEXT,
								list_make3(relid, attnum, privilege));
	Expr	   *has_policies = call(F_ROW_SECURITY_ACTIVE_OID,
									list_make1(copyObject(relid)));

	return list_make2(may_read,
					  makeBoolExpr(NOT_EXPR, list_make1(has_policies), -1));
}

/* Does the role own the relation that extended statistics are about? */
static List *
extended_conditions(Index rti)
{
	Oid			types[1] = {OIDOID};
	Oid			function = dp_catalog_function("owns_statistics", 1, types);

	return list_make1(call(function, list_make1(
		makeVar(rti, Anum_pg_statistic_ext_data_stxoid, OIDOID, -1,
				InvalidOid, 0))));
}

static bool
holds_statistics(Oid relid)
{
	return relid == StatisticRelationId ||
		relid == StatisticExtDataRelationId;
}

static bool
is_own_table(const RangeTblEntry *entry)
{
	return entry->securityQuals != NIL &&
		get_rel_namespace(entry->relid) == dp_bridge_catalog_namespace();
}

/* ---- hooks ---- */

/*
 * dp_run_hide_rows
 *	  Called when the planner looks up a relation of an ordinary statement: add
 *	  the conditions that hide rows, and hide its indexes.
 */
void
dp_run_hide_rows(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);

	if (entry->rtekind != RTE_RELATION)
		return;
	if (holds_statistics(entry->relid) &&
		OidIsValid(dp_bridge_catalog_namespace()) &&
		OidIsValid(dp_compat_reads_as(root->parse, entry)))
	{
		entry->securityQuals =
			lcons(entry->relid == StatisticRelationId ?
				  column_conditions(rel->relid) :
				  extended_conditions(rel->relid), entry->securityQuals);
		root->qual_security_level = Max(root->qual_security_level,
										list_length(entry->securityQuals));
		rel->indexlist = NIL;
	}
	else if (is_own_table(entry))
	{
		rel->fdw_private = rel->indexlist;	/* used by own_lines.c */
		rel->indexlist = NIL;
	}
}

/* Have conditions evaluated in their order. */
static void
keep_order(List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, lc);

		if (condition->security_level > 0)
			condition->leakproof = false;
	}
}

/*
 * dp_run_hide_rows_first
 *	  Called when the paths of the relation are known and conditions not yet
 *	  ordered: none may come before those that hide rows, not even one that a
 *	  join passes to the scan, and all rows are read, except of the ledger
 *	  (own_lines.c).
 */
void
dp_run_hide_rows_first(PlannerInfo *root, RelOptInfo *rel,
						   const RangeTblEntry *entry)
{
	ListCell   *lc;

	if (entry->securityQuals == NIL ||
		(!holds_statistics(entry->relid) && !is_own_table(entry)) ||
		IS_DUMMY_REL(rel))
		return;
	if (entry->tablesample == NULL)
	{
		rel->pathlist = NIL;
		if (is_own_table(entry))
			dp_run_add_own_lines(root, rel, rel->fdw_private);
		add_path(rel, create_seqscan_path(root, rel, rel->lateral_relids, 0));
	}
	keep_order(rel->baserestrictinfo);
	keep_order(rel->joininfo);
	foreach(lc, rel->ppilist)
		keep_order(lfirst_node(ParamPathInfo, lc)->ppi_clauses);
}
