/*
 * synthetic_rows.c
 *	  Show rows of the twin in previews of a protected relation.
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
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/rel.h"

#include "level.h"

/* Number of the same column in the twin, or 0 if there is none. */
static AttrNumber
find_column(TupleDesc twin, Form_pg_attribute wanted)
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
find_value(ParseState *state, TupleDesc twin, Form_pg_attribute wanted)
{
	AttrNumber	attnum = wanted->attisdropped ? 0 : find_column(twin, wanted);

	if (wanted->attisdropped)
		return (Expr *) makeNullConst(INT4OID, -1, InvalidOid);
	if (attnum == 0)
		return (Expr *) makeNullConst(wanted->atttypid, wanted->atttypmod,
									  wanted->attcollation);
	return dp_rewrite_read_column(state, wanted, attnum);
}

/* A column like the wanted one, of the only entry of FROM. */
Expr *
dp_rewrite_read_column(ParseState *state, Form_pg_attribute wanted,
					   AttrNumber attnum)
{
	Var		   *column = makeVar(1, attnum, wanted->atttypid,
								 wanted->atttypmod, wanted->attcollation, 0);

	markVarForSelectPriv(state, column);
	return (Expr *) column;
}

/*
 * dp_rewrite_select_from
 *	  SELECT the columns of a relation, by their numbers, names and types, each
 *	  as `find` gives it, FROM ONLY a table: children of a twin, if any, have
 *	  rows that were not released.
 */
Query *
dp_rewrite_select_from(Relation table, Relation relation,
					   dp_value_finder find)
{
	ParseState *state = make_parsestate(NULL);
	TupleDesc	columns = RelationGetDescr(relation);
	Query	   *query = makeNode(Query);
	RangeTblRef *from = makeNode(RangeTblRef);
	int			i;

	(void) addRangeTableEntryForRelation(state, table, AccessShareLock, NULL,
										 false, true);
	from->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	for (i = 0; i < columns->natts; i++)
	{
		Form_pg_attribute wanted = TupleDescAttr(columns, i);
		Expr	   *value = find(state, RelationGetDescr(table), wanted);

		query->targetList =
			lappend(query->targetList,
					makeTargetEntry(value, wanted->attnum,
									pstrdup(NameStr(wanted->attname)),
									false));
	}
	query->jointree = makeFromExpr(list_make1(from), NULL);
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
 * dp_rewrite_show_twin
 *	  Make a level that shows rows of a protected relation show those of its
 *	  twin instead; false if the relation has no twin that the user may read,
 *	  or if the twin cannot replace it.
 */
bool
dp_rewrite_show_twin(Query *level, int rtindex)
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
							  dp_rewrite_select_from(twin, relation,
													 find_value));
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
