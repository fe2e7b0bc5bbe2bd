/*
 * row_security.c
 *	  Row security filters rows before any other condition is evaluated: tables
 *	  of dp_pg and catalogs of statistics in ordinary statements.  Also the
 *	  locks of TOAST relations that a release takes in advance.
 *
 * PostgreSQL evaluates cheap LEAKPROOF conditions before those of policies,
 * since they raise no error that could reveal a value.  But EXPLAIN (ANALYZE)
 * counts what passed them, and says "never executed" of a policy that nothing
 * reached.  That would reveal other roles' questions and answers in the tables
 * of dp_pg, and through pg_stats exact numbers about private columns.
 *
 * So nothing comes before the condition that hides rows: it is a condition of
 * the scan, all others follow it, and no index is used for them.  Only of the
 * ledger two indexes are used: one for the policy's condition, one for its
 * order.
 *
 *	- Tables of dp_pg have their policies.
 *	- pg_statistic and pg_statistic_ext_data, if they are read with another
 *	  role's rights, which is through the views pg_stats, pg_stats_ext and
 *	  pg_stats_ext_exprs, get the conditions of those views as policies.
 *	  Planning of a function's body that became part of FROM comes here, too.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_statistic_ext.h"
#include "catalog/pg_statistic_ext_data.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "dp_rights.h"

/* ----------------
 *		Reads the ledger lines of the asking role by their index.
 *
 * Indexes of tables with policies are not used, since conditions of a query
 * would choose which rows the policy sees.  But the ledger may have millions
 * of lines.  So it can be read in two parts:
 *
 *	- the role's own lines, by the index ledger_asker, whose first columns are
 *		what the policy compares: cluster = this one AND role_oid = the role.
 *		Nothing else is met, so conditions on the third column, the id, may
 *		follow in the index.
 *	- all other lines, which the policy is asked about one by one, behind
 *		dp_pg.sees_more(): nobody meets them who has no dataset, unless there
 *		are lines from before a restore, which belong to roles by their names.
 *
 * Both are read in the order of ids if that helps: a query for the last lines
 * reads only these.  Both keep the whole policy as a condition.
 * ----------------
 */

/* Columns of ledger_asker. */
enum
{
	ASKER_CLUSTER,
	ASKER_ROLE,
	ASKER_ID
};

/* Make the condition that the column of an index equals a value. */
static RestrictInfo *
column_equals(PlannerInfo *root, const IndexOptInfo *index, int column,
			  Datum value)
{
	Oid			type = index->opcintype[column];
	Expr	   *is = make_opclause(
		get_opfamily_member(index->opfamily[column], type, type,
							BTEqualStrategyNumber),
		BOOLOID, false,
		(Expr *) makeVar(index->rel->relid, index->indexkeys[column], type,
						 -1, InvalidOid, 0),
		(Expr *) makeConst(type, -1, InvalidOid, get_typlen(type), value,
						   false, get_typbyval(type)),
		InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) is);
	return make_simple_restrictinfo(root, is);
}

/* Does a condition compare the id with something known before the scan? */
static bool
compares_id(const IndexOptInfo *index, const RestrictInfo *condition)
{
	OpExpr	   *is = (OpExpr *) condition->clause;
	Var		   *id;

	if (!IsA(is, OpExpr) || list_length(is->args) != 2 ||
		!op_in_opfamily(is->opno, index->opfamily[ASKER_ID]))
		return false;
	id = linitial(is->args);
	return IsA(id, Var) && id->varno == index->rel->relid &&
		id->varattno == index->indexkeys[ASKER_ID] &&
		bms_is_empty(condition->right_relids) &&
		!contain_volatile_functions(lsecond(is->args));
}

static List *
add_clause(List *clauses, RestrictInfo *condition, int column)
{
	IndexClause *clause = makeNode(IndexClause);

	clause->rinfo = condition;
	clause->indexquals = list_make1(condition);
	clause->indexcol = column;
	return lappend(clauses, clause);
}

/*
 * Index clauses for a role's own lines: `own`, and the query's conditions on
 * the id.
 */
static List *
own_clauses(const RelOptInfo *rel, const IndexOptInfo *asker, List *own)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	clauses = add_clause(clauses, linitial(own), ASKER_CLUSTER);
	clauses = add_clause(clauses, lsecond(own), ASKER_ROLE);
	foreach(lc, rel->baserestrictinfo)
		if (compares_id(asker, lfirst(lc)))
			clauses = add_clause(clauses, lfirst(lc), ASKER_ID);
	return clauses;
}

/* Conditions for the lines that `own` does not select. */
static List *
other_conditions(PlannerInfo *root, const RelOptInfo *rel, List *own)
{
	Expr	   *is_own = make_ands_explicit(get_actual_clauses(own));
	RestrictInfo *more = make_simple_restrictinfo(root, (Expr *)
		makeFuncExpr(dp_catalog_function("sees_more", 0, NULL), BOOLOID, NIL,
					 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL));

	more->pseudoconstant = true;
	root->hasPseudoConstantQuals = true;
	return lcons(more, lcons(make_simple_restrictinfo(root, makeBoolExpr(
		NOT_EXPR, list_make1(copyObject(is_own)), -1)),
		list_copy(rel->baserestrictinfo)));
}

static Path *
read_index(PlannerInfo *root, const IndexOptInfo *index, List *clauses,
		   List *conditions, List *pathkeys, ScanDirection direction)
{
	IndexOptInfo *copy = makeNode(IndexOptInfo);

	*copy = *index;
	copy->indrestrictinfo = conditions;
	return (Path *) create_index_path(root, copy, clauses, NIL, NIL, pathkeys,
									  direction, false, NULL, 1.0, false);
}

/* Add the path that reads both parts, ordered by id if that is of use. */
static void
add_parts(PlannerInfo *root, RelOptInfo *rel, const IndexOptInfo *asker,
		  IndexOptInfo *ids, List *own, bool sees_more,
		  ScanDirection direction)
{
	List	   *order = truncate_useless_pathkeys(root, rel,
		build_index_pathkeys(root, ids, direction));
	List	   *parts;
	Path	   *others;

	if (order == NIL && ScanDirectionIsBackward(direction))
		return;
	others = read_index(root, ids, NIL, other_conditions(root, rel, own),
						order, direction);
	if (!sees_more)
	{
		others->rows = 1;
		others->startup_cost = others->total_cost = 0;
	}
	parts = list_make2(read_index(root, asker, own_clauses(rel, asker, own),
								  rel->baserestrictinfo, order, direction),
					   others);
	add_path(rel, order == NIL ?
			 (Path *) create_append_path(root, rel, parts, NIL, NIL, NULL, 0,
										 false, -1) :
			 (Path *) create_merge_append_path(root, rel, parts, order, NULL));
}

/*
 * add_own_lines
 *	  Add the paths that read a table in two parts, if it is the ledger.
 *
 * Whether the role sees more lines is looked up here only for sizes and costs;
 * cached plans look it up again.
 */
static void
add_own_lines(PlannerInfo *root, RelOptInfo *rel, List *indexes)
{
	Oid			namespace = dp_base_catalog_namespace();
	Oid			asker_oid = get_relname_relid("ledger_asker", namespace);
	Oid			ids_oid = get_relname_relid("ledger_pkey", namespace);
	IndexOptInfo *asker = NULL;
	IndexOptInfo *ids = NULL;
	ListCell   *lc;
	List	   *own;
	bool		sees_more;

	foreach(lc, indexes)
	{
		IndexOptInfo *index = lfirst(lc);

		if (index->indexoid == asker_oid)
			asker = index;
		else if (index->indexoid == ids_oid)
			ids = index;
	}
	if (asker == NULL || ids == NULL || rel->lateral_relids != NULL ||
		root->rowMarks != NIL ||
		bms_is_member(rel->relid, root->all_result_relids))
		return;
	root->glob->dependsOnRole = true;
	own = list_make2(
		column_equals(root, asker, ASKER_CLUSTER,
					  Int64GetDatum(dp_base_cluster_id())),
		column_equals(root, asker, ASKER_ROLE,
					  ObjectIdGetDatum(GetUserId())));
	sees_more = dp_ledger_sees_more(GetUserId());
	if (!sees_more)
		rel->rows = clamp_row_est(rel->rows *
			clauselist_selectivity(root, own, 0, JOIN_INNER, NULL));
	add_parts(root, rel, asker, ids, own, sees_more, ForwardScanDirection);
	add_parts(root, rel, asker, ids, own, sees_more, BackwardScanDirection);
}

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
		get_rel_namespace(entry->relid) == dp_base_catalog_namespace();
}

/* ---- hooks ---- */

/*
 * dp_rights_hide_rows
 *	  Called when the planner looks up a relation of an ordinary statement: add
 *	  the conditions that hide rows, and hide its indexes.
 */
void
dp_rights_hide_rows(PlannerInfo *root, RelOptInfo *rel)
{
	RangeTblEntry *entry = planner_rt_fetch(rel->relid, root);

	if (entry->rtekind != RTE_RELATION)
		return;
	if (holds_statistics(entry->relid) &&
		OidIsValid(dp_base_catalog_namespace()) &&
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
		rel->fdw_private = rel->indexlist;	/* used by row_security.c */
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
 * dp_rights_hide_rows_first
 *	  Called when the paths of the relation are known and conditions not yet
 *	  ordered: none may come before those that hide rows, not even one that a
 *	  join passes to the scan, and all rows are read, except of the ledger.
 */
void
dp_rights_hide_rows_first(PlannerInfo *root, RelOptInfo *rel,
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
			add_own_lines(root, rel, rel->fdw_private);
		add_path(rel, create_seqscan_path(root, rel, rel->lateral_relids, 0));
	}
	keep_order(rel->baserestrictinfo);
	keep_order(rel->joininfo);
	foreach(lc, rel->ppilist)
		keep_order(lfirst_node(ParamPathInfo, lc)->ppi_clauses);
}

/* ----------------
 *		Takes locks in advance that would otherwise reveal what the inner query
 *		reads.
 *
 * A table's TOAST relation is locked only while an out-of-line value is being
 * fetched, which other sessions can watch in pg_locks.  So a release locks the
 * TOAST relations of every part that its plan reads beforehand, and keeps the
 * locks to the end of the transaction like those of the parts.
 * ----------------
 */

static Oid
toast_of(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			toast = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		toast = ((Form_pg_class) GETSTRUCT(tuple))->reltoastrelid;
		ReleaseSysCache(tuple);
	}
	return toast;
}

/*
 * Lock a TOAST relation and its indexes; returns the list with their OIDs
 * added.
 */
static List *
lock_toast(Oid toast, List *locked)
{
	Relation	toast_rel;
	ListCell   *lc;

	toast_rel = relation_open(toast, AccessShareLock);
	locked = lappend_oid(locked, toast);
	foreach(lc, RelationGetIndexList(toast_rel))
	{
		LockRelationOid(lfirst_oid(lc), AccessShareLock);
		locked = lappend_oid(locked, lfirst_oid(lc));
	}
	relation_close(toast_rel, NoLock);
	return locked;
}

/*
 * dp_rights_lock_toast
 *	  Lock the TOAST relations of locked relations, for reading.  Returns their
 *	  OIDs, and adds to *locked the OIDs of all that it locked.
 */
List *
dp_rights_lock_toast(const List *relids, List **locked)
{
	List	   *toasts = NIL;
	ListCell   *lc;

	foreach(lc, relids)
	{
		Oid			toast = toast_of(lfirst_oid(lc));

		if (!OidIsValid(toast))
			continue;
		toasts = lappend_oid(toasts, toast);
		*locked = lock_toast(toast, *locked);
	}
	return toasts;
}
