/*
 * synthetic_rows.c
 *	  Show rows of the twin in previews of a protected relation, and answer
 *	  levels that read no rows, such as those by which tools learn names and
 *	  types.
 *
 * The relation's entry is replaced by a subquery over the twin that has the
 * relation's columns, with their numbers, names and types.  Columns that the
 * twin lacks, or has with another type, are NULL, since the relation may have
 * been altered.  The rows were released, and are read with the rights of the
 * user.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/portal.h"
#include "utils/rel.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../rowsets/dp_rowsets.h"
#include "transparent_internal.h"

/* Number of the same column in the twin, or 0 if there is none. */
static AttrNumber
synthetic_find_column(TupleDesc twin, Form_pg_attribute wanted)
{
	int			i;

	for (i = 0; i < twin->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(twin, i);

		if (!column->attisdropped &&
			strcmp(NameStr(column->attname), NameStr(wanted->attname)) == 0)
			return column->atttypid == wanted->atttypid &&
				column->atttypmod == wanted->atttypmod &&
				column->attcollation == wanted->attcollation ?
				column->attnum : 0;
	}
	return 0;
}

static Expr *
synthetic_find_value(ParseState *state, TupleDesc twin,
					 Form_pg_attribute wanted)
{
	AttrNumber	attnum = wanted->attisdropped ? 0 :
		synthetic_find_column(twin, wanted);

	if (wanted->attisdropped)
		return (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
	if (attnum == 0)
		return (Expr *) makeNullConst(wanted->atttypid, wanted->atttypmod,
									  wanted->attcollation);
	return dp_transparent_read_column(state, wanted, attnum);
}

/* A column like the wanted one, of the only entry of FROM. */
Expr *
dp_transparent_read_column(ParseState *state, Form_pg_attribute wanted,
						   AttrNumber attnum)
{
	Var		   *column = makeVar(1, attnum, wanted->atttypid,
								 wanted->atttypmod, wanted->attcollation, 0);

	markVarForSelectPriv(state, column);
	return (Expr *) column;
}

/*
 * dp_transparent_select_from
 *	  SELECT the columns of a relation, by their numbers, names and types, each
 *	  as `find` gives it, FROM ONLY a table: children of a twin, if any, have
 *	  rows that were not released.
 */
Query *
dp_transparent_select_from(Relation table, Relation relation,
						   dp_value_finder find)
{
	ParseState *state = make_parsestate(NULL);
	TupleDesc	columns = RelationGetDescr(relation);
	Query	   *query = dp_rowsets_make_level(NIL);
	int			i;

	(void) addRangeTableEntryForRelation(state, table, AccessShareLock, NULL,
										 false, true);
	for (i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute wanted = TupleDescAttr(columns, i);
		Expr	   *value = find(state, RelationGetDescr(table), wanted);

		(void) dp_rowsets_add_target(&query->targetList, (Node *) value,
									 NameStr(wanted->attname));
	}
	query->jointree->fromlist = list_make1(dp_rowsets_make_item(1));
	dp_compat_parsed_entries(query, state);
	free_parsestate(state);
	return query;
}

/* Whether the level uses whole rows or system columns of the relation. */
static bool
uses_more_than_columns(Query *level, int rtindex)
{
	Bitmapset  *used = NULL;
	int			first;

	pull_varattnos((Node *) level->targetList, rtindex, &used);
	pull_varattnos((Node *) level->jointree, rtindex, &used);
	first = bms_next_member(used, -1);
	return first >= 0 && first + FirstLowInvalidHeapAttributeNumber <= 0;
}

/*
 * show_twin
 *	  Make a level that shows rows of a protected relation show those of its
 *	  twin instead; false if the relation has no twin that the user may read,
 *	  or if the twin cannot replace it.
 */
static bool
show_twin(Query *level, int rtindex)
{
	RangeTblEntry *entry = rt_fetch(rtindex, level->rtable);
	Oid			relid = dp_protect_twin(entry->relid);
	Relation	twin;
	Relation	relation;

	if (!OidIsValid(relid) || entry->securityQuals != NIL ||
		entry->tablesample != NULL || uses_more_than_columns(level, rtindex))
		return false;
	twin = try_table_open(relid, AccessShareLock);
	if (twin == NULL)
		return false;
	if (twin->rd_rel->relrowsecurity ||
		pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
	{
		table_close(twin, AccessShareLock);
		return false;
	}
	relation = table_open(entry->relid, NoLock);
	dp_compat_become_subquery(level, entry,
							  dp_transparent_select_from(twin, relation,
													 synthetic_find_value));
	table_close(relation, NoLock);
	ereport(NOTICE,
			(errmsg("rows of a protected relation are synthetic"),
			 errdetail("A preview shows rows of %s, which were released and "
					   "are not real.", dp_protect_qualified_name(relid)),
			 errhint("Ask for aggregates, such as count or avg, to learn "
					 "about the protected rows.")));
	table_close(twin, NoLock);
	return true;
}

/* ----------------
 *		Levels whose result is known without reading rows, such as those by
 *		which tools learn names and types.
 *
 * FROM is removed from such a level, and with it all required rights: only
 * constants remain.
 * ----------------
 */

/* ---- recognition ---- */

static bool
is_never_true(Node *condition)
{
	Const	   *constant;

	if (condition == NULL)
		return false;
	constant = (Const *) eval_const_expressions(NULL, copyObject(condition));
	return IsA(constant, Const) &&
		(constant->constisnull || !DatumGetBool(constant->constvalue));
}

/* A constant LIMIT, or -1. */
static int64
constant_limit(const Query *query)
{
	Const	   *constant;

	if (query->limitCount == NULL)
		return -1;
	constant = (Const *)
		eval_const_expressions(NULL, copyObject(query->limitCount));
	if (!IsA(constant, Const) || constant->constisnull ||
		constant->consttype != INT8OID)
		return -1;
	return DatumGetInt64(constant->constvalue);
}

static bool
synthetic_lacks_right(Node *node, const dp_walk *walk)
{
	ListCell   *lc;

	if (!IsA(node, Query))
		return false;
	foreach(lc, ((Query *) node)->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, lc);

		if (OidIsValid(entry->relid) && !dp_transparent_is_protected(entry) &&
			!dp_compat_has_right((Query *) node, entry))
			return true;
	}
	return false;
}

/*
 * Whether the user has the required rights on everything else, such as views.
 */
static bool
may_ask(Node *query)
{
	return !dp_base_contains(query, synthetic_lacks_right, NULL, 0);
}

/* ---- the result ---- */

/* The value of an aggregate over no rows. */
static Node *
of_no_rows(const Aggref *aggregate)
{
	if (dp_catalog_is_count(aggregate->aggfnoid))
		return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
								  Int64GetDatum(0), false, FLOAT8PASSBYVAL);
	return (Node *) makeNullConst(aggregate->aggtype, -1,
								  aggregate->aggcollid);
}

static Node *
constant_mutator(Node *node, void *context)
{
	int		   *level = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == *level)
		return of_no_rows((Aggref *) node);
	if (*level == 0 && IsA(node, FuncExpr) &&
		((FuncExpr *) node)->funcid >= FirstNormalObjectId &&
		((FuncExpr *) node)->funcid == dp_catalog_error_function())
		return (Node *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	/* without grouping sets, which were excluded, GROUPING is 0 */
	if (IsA(node, GroupingFunc) &&
		(int) ((GroupingFunc *) node)->agglevelsup == *level)
		return (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								  Int32GetDatum(0), false, true);
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == *level)
		return (Node *) makeNullConst(exprType(node), exprTypmod(node),
									  exprCollation(node));
	if (IsA(node, Query))
	{
		Query	   *copy;

		(*level)++;
		copy = query_tree_mutator((Query *) node, constant_mutator, context,
								  0);
		(*level)--;
		return (Node *) copy;
	}
	return expression_tree_mutator(node, constant_mutator, context);
}

/* Turn the level into one over no rows. */
static void
set_no_rows(Query *query)
{
	bool		one_row = (query->hasAggs || query->havingQual != NULL) &&
	query->groupClause == NIL;
	int			depth = 0;
	Node	   *having;

	query->targetList = (List *)
		constant_mutator((Node *) query->targetList, &depth);
	having = constant_mutator(query->havingQual, &depth);
	query->jointree = makeFromExpr(NIL, one_row ? having :
								   makeBoolConst(false, false));
	query->havingQual = NULL;
	query->groupClause = NIL;
	query->groupDistinct = false;
	query->hasAggs = false;
	query->rowMarks = NIL;
	query->constraintDeps = NIL;
	dp_compat_drop_entries(query);
}

/*
 * dp_transparent_answer_probe
 *	  Answer a level over private rows for which WHERE, or LIMIT 0, excludes
 *	  all rows; false if it is not such a level.
 */
bool
dp_transparent_answer_probe(Query *query)
{
	if (query->groupingSets != NIL || query->jointree == NULL)
		return false;
	if (!is_never_true(query->jointree->quals) &&
		(constant_limit(query) != 0 || query->hasAggs ||
		 query->hasModifyingCTE))
		return false;
	if (!may_ask((Node *) query))
		return false;
	set_no_rows(query);
	return true;
}

/* ---- previews ---- */

/*
 * Whether the client itself will see the rows of the planned statement.  A
 * function's statement has another text.  CREATE TABLE AS and COPY have the
 * client's text, as have the queries of cursors and EXPLAIN.
 */
static bool
is_clients(const char *text)
{
	Node	   *utility;

	if (text == NULL || text != debug_query_string)
		return false;
	if (ActivePortal == NULL)
		return true;
	if (list_length(ActivePortal->stmts) != 1)
		return false;
	utility = linitial_node(PlannedStmt, ActivePortal->stmts)->utilityStmt;
	if (utility != NULL && IsA(utility, ExplainStmt))
	{
		Query	   *explained = (Query *) ((ExplainStmt *) utility)->query;

		return IsA(explained, Query) && explained->commandType == CMD_SELECT;
	}
	return utility != NULL && IsA(utility, DeclareCursorStmt);
}

/*
 * If the level shows single rows of a protected relation, the level, it or one
 * below, that reads the relation; otherwise NULL. *limited: a constant number
 * of rows; *rtindex: the relation's entry.
 */
static Query *
shows_rows(Query *query, bool *limited, int *rtindex)
{
	RangeTblEntry *entry;

	*limited = *limited || constant_limit(query) >= 0;
	if (query->commandType != CMD_SELECT || query->setOperations != NULL ||
		query->hasAggs || query->groupClause != NIL ||
		query->distinctClause != NIL || query->hasWindowFuncs ||
		query->hasTargetSRFs || query->hasSubLinks || query->rowMarks != NIL ||
		query->hasModifyingCTE || query->cteList != NIL ||
		list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return NULL;
	*rtindex = linitial_node(RangeTblRef, query->jointree->fromlist)->rtindex;
	entry = rt_fetch(*rtindex, query->rtable);
	if (entry->rtekind == RTE_SUBQUERY)
		return shows_rows(entry->subquery, limited, rtindex);
	return dp_transparent_is_protected(entry) ? query : NULL;
}

/*
 * dp_transparent_answer_preview
 *	  Answer a statement that asks for the first rows of a protected relation,
 *	  as tools do for previews, with rows of its twin or without rows; false if
 *	  it is not such a statement.
 *
 * In a function or a statement that writes, no rows would be mistaken for a
 * result; so there it is refused.
 */
bool
dp_transparent_answer_preview(Query *query, const char *text)
{
	bool		limited = false;
	Query	   *level;
	int			rtindex;

	if (!is_clients(text))
		return false;
	level = shows_rows(query, &limited, &rtindex);
	if (level == NULL || !limited || !may_ask((Node *) query))
		return false;
	if (show_twin(level, rtindex))
		return true;
	set_no_rows(query);
	ereport(NOTICE,
			(errmsg("rows of a protected relation are not shown"),
			 errdetail("A preview has its columns and no row."),
			 errhint("Ask for aggregates, such as count or avg.")));
	return true;
}
