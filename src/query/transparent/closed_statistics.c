/*
 * closed_statistics.c
 *	  Show tools unknown values for statistics that dp_harden() has closed.
 *
 * Tools list tables by c.* of pg_class, with sizes and counters, and would
 * show nothing at all if these were refused.  For a role that lacks the right,
 * planning replaces them by PostgreSQL's own values for unknown: the columns
 * of pg_class are -1 and 0, as for a table that was never analyzed, and sizes
 * and counters are NULL.
 *
 * pg_class as a whole becomes a subquery that has these constants in place of
 * the columns, so that nothing in the statement can refer to the columns
 * themselves.  Rights on everything that it reads are checked when it runs, as
 * usual: what is not replaced here is refused then.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "dp_transparent.h"
#include "transparent_internal.h"

static bool
may_call(Oid function)
{
	return object_aclcheck(ProcedureRelationId, function, GetUserId(),
						   ACL_EXECUTE) == ACLCHECK_OK;
}

/* The user whose rights were looked up last, and the result. */
static Oid	known_user = InvalidOid;
static bool known_lack;
static uint32 class_hash;		/* of pg_class among relations */

static void
forget_user(Datum argument, int cacheid, uint32 hash)
{
	if (cacheid != RELOID || hash == 0 || hash == class_hash)
		known_user = InvalidOid;
}

static void
watch_rights(void)
{
	static bool watching = false;

	if (watching)
		return;
	class_hash = GetSysCacheHashValue1(RELOID,
									   ObjectIdGetDatum(RelationRelationId));
	CacheRegisterSyscacheCallback(RELOID, forget_user, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, forget_user, (Datum) 0);
	/* as acl.c, for membership */
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, forget_user, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, forget_user, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, forget_user, (Datum) 0);
	watching = true;
}

/*
 * dp_transparent_may_lack_statistics
 *	  Whether statistics could be closed for the user, by the rights on one of
 *	  each kind that dp_harden() closes; cached until rights change.  False for
 *	  every role unless dp_harden() has run.
 */
bool
dp_transparent_may_lack_statistics(void)
{
	Oid			user = GetUserId();
	bool		lack;

	if (known_user == user)
		return known_lack;
	watch_rights();
	known_user = user;			/* the lookup may report a change of rights */
	lack = pg_class_aclcheck(RelationRelationId, user,
								   ACL_SELECT) != ACLCHECK_OK ||
		!may_call(F_PG_RELATION_SIZE_REGCLASS) ||
		!may_call(F_PG_STAT_GET_NUMSCANS) ||
		!may_call(F_PG_STAT_GET_DB_XACT_COMMIT);
	known_lack = lack;
	return lack;
}

/* ---- pg_class ---- */

/* The columns that dp_audit() (sql/31_audit.sql) reports. */
static bool
is_closed_column(const char *column)
{
	return strcmp(column, "reltuples") == 0 ||
		strcmp(column, "relpages") == 0 ||
		strcmp(column, "relallvisible") == 0 ||
		strcmp(column, "relallfrozen") == 0;
}

/* A column of pg_class, or its unknown value. */
static Expr *
closed_statistics_find_value(ParseState *state, TupleDesc table,
							 Form_pg_attribute wanted)
{
	if (!is_closed_column(NameStr(wanted->attname)))
		return dp_transparent_read_column(state, wanted, wanted->attnum);
	if (wanted->atttypid == FLOAT4OID)
		return (Expr *) makeConst(FLOAT4OID, -1, InvalidOid, sizeof(float4),
								  Float4GetDatum(-1), false, true);
	Assert(wanted->atttypid == INT4OID);
	return (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(0), false, true);
}

static bool
can_be_replaced(Query *level, int rtindex, RangeTblEntry *entry)
{
	return entry->rtekind == RTE_RELATION &&
		entry->relid == RelationRelationId &&
		rtindex != level->resultRelation &&
		get_parse_rowmark(level, rtindex) == NULL &&
		entry->tablesample == NULL && entry->securityQuals == NIL &&
		!dp_base_reads_system_column(level, entry) &&
		!dp_compat_may_read(level, entry);
}

static bool
replace_entries(Query *level)
{
	bool		changed = false;
	int			i;

	for (i = 1; i <= list_length(level->rtable); i++)
	{
		RangeTblEntry *entry = rt_fetch(i, level->rtable);
		Oid			role;
		Query	   *rows;
		Relation	relation;

		if (!can_be_replaced(level, i, entry))
			continue;
		role = dp_compat_reads_as(level, entry);
		relation = table_open(RelationRelationId, AccessShareLock);
		rows = dp_transparent_select_from(relation, relation,
										  closed_statistics_find_value);
		table_close(relation, NoLock);
		dp_compat_read_as(rows, RelationRelationId, role);
		dp_compat_become_subquery(level, entry, rows);
		changed = true;
	}
	return changed;
}

/* ---- sizes and counters ---- */

/*
 * Whether the call returns one size or counter, and the user may not execute
 * it.  With a set among its arguments a constant would change the number of
 * rows.  PostgreSQL itself closes no function of these names.
 */
static bool
is_closed(FuncExpr *call)
{
	char	   *name;

	if (call->funcid >= FirstNormalObjectId || call->funcretset ||
		type_is_rowtype(call->funcresulttype) ||
		expression_returns_set((Node *) call->args) || may_call(call->funcid))
		return false;
	switch (call->funcid)
	{
		case F_PG_RELATION_SIZE_REGCLASS:
		case F_PG_RELATION_SIZE_REGCLASS_TEXT:
		case F_PG_TABLE_SIZE:
		case F_PG_INDEXES_SIZE:
		case F_PG_TOTAL_RELATION_SIZE:
		case F_PG_DATABASE_SIZE_NAME:
		case F_PG_DATABASE_SIZE_OID:
		case F_PG_TABLESPACE_SIZE_NAME:
		case F_PG_TABLESPACE_SIZE_OID:
			return true;
		default:
			break;
	}
	name = get_func_name(call->funcid);
	return name != NULL && strncmp(name, "pg_stat_get_", 12) == 0;
}

static Node *
replace(Node *node, void *context)
{
	bool	   *changed = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		Query	   *level = query_tree_mutator((Query *) node, replace,
											   context, QTW_DONT_COPY_QUERY);

		*changed |= replace_entries(level);
		return (Node *) level;
	}
	if (IsA(node, FuncExpr) && is_closed((FuncExpr *) node))
	{
		*changed = true;
		return (Node *) makeNullConst(((FuncExpr *) node)->funcresulttype, -1,
									  ((FuncExpr *) node)->funccollid);
	}
	return expression_tree_mutator(node, replace, context);
}

/*
 * dp_transparent_close_statistics
 *	  Replace statistics that are closed for the user by unknown values, in a
 *	  query that reads system catalogs; true if there were any, so that the
 *	  plan depends on the role.
 */
bool
dp_transparent_close_statistics(Query *query)
{
	bool		changed = false;

	if (dp_transparent_may_lack_statistics() &&
		OidIsValid(dp_base_catalog_namespace()))
		(void) replace((Node *) query, &changed);
	return changed;
}
