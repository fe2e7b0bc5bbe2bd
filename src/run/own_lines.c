/*
 * own_lines.c
 *	  Reads the ledger lines of the asking role by their index.
 *
 * Indexes of tables with policies are not used, since conditions of a query
 * would choose which rows the policy sees (row_security.c).  But the ledger
 * may have millions of lines.  So it can be read in two parts:
 *
 *	- the role's own lines, by the index ledger_asker, whose first columns are
 *	  what the policy compares: cluster = this one AND role_oid = the role.
 *	  Nothing else is met, so conditions on the third column, the id, may
 *	  follow in the index.
 *	- all other lines, which the policy is asked about one by one, behind
 *	  dp_pg.sees_more(): nobody meets them who has no dataset, unless there
 *	  are lines from before a restore, which belong to roles by their names.
 *
 * Both are read in the order of ids if that helps: a query for the last lines
 * reads only these.  Both keep the whole policy as a condition.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "run.h"

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
 * dp_run_add_own_lines
 *	  Add the paths that read a table in two parts, if it is the ledger.
 *
 * Whether the role sees more lines is looked up here only for sizes and costs;
 * cached plans look it up again.
 */
void
dp_run_add_own_lines(PlannerInfo *root, RelOptInfo *rel, List *indexes)
{
	Oid			namespace = dp_bridge_catalog_namespace();
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
					  Int64GetDatum(dp_bridge_cluster_id())),
		column_equals(root, asker, ASKER_ROLE,
					  ObjectIdGetDatum(GetUserId())));
	sees_more = dp_ledger_sees_more(GetUserId());
	if (!sees_more)
		rel->rows = clamp_row_est(rel->rows *
			clauselist_selectivity(root, own, 0, JOIN_INNER, NULL));
	add_parts(root, rel, asker, ids, own, sees_more, ForwardScanDirection);
	add_parts(root, rel, asker, ids, own, sees_more, BackwardScanDirection);
}
