/*
 * dp_compat.h
 *	  What differs between PostgreSQL 15, 16, 17 and 18.
 *
 * The code is written for PostgreSQL 18; this header adapts older versions.
 * Version tests are only here and in compat.c.  Include postgres.h first.
 */
#ifndef DP_COMPAT_H
#define DP_COMPAT_H

/*
 * New built-in functions, plan nodes and statistics views of a new version
 * must be reviewed first (allow_list.c, dp_audit, quiet.c).
 */
#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "dp_pg knows PostgreSQL 15 to 18"
#endif

#include "access/htup_details.h"
#include "access/tableam.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parse_relation.h"
#include "postmaster/autovacuum.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM >= 180000
#include "access/cmptype.h"
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#else
#include "commands/explain.h"
#endif

/* For hooks.c: hooks that version 15 does not have. */
#if PG_VERSION_NUM >= 180000
#define DP_COMPAT_HOOKS \
	HOOK(explain_per_node_hook), HOOK(explain_per_plan_hook), \
	HOOK(explain_validate_options_hook),
#else
#define DP_COMPAT_HOOKS
#endif

/* ---- rights on relations ---- */

/*
 * From 16 on, required rights are nodes of their own, one list per level.
 * dp_base_has_rights tells whether the rights that a level requires are
 * granted; dp_base_check_rights raises 42501 if not; dp_compat_read_as has a
 * level's entries of a relation checked as another role.  These call no hooks;
 * dp_base_ask_others does, when an executor has started (before, pgaudit's
 * would end the process).
 */
extern bool dp_base_check_entries(List *entries, List *infos, bool raise);
extern bool dp_base_has_table_rights(Oid relid, Oid role, AclMode rights);
extern bool dp_base_has_rights(Query *level);
extern void dp_base_check_rights(Query *level);
extern void dp_base_ask_others(Query *level);

#if PG_VERSION_NUM >= 160000

static inline void
dp_compat_read_as(Query *level, Oid relid, Oid role)
{
	ListCell   *cell;

	foreach(cell, level->rteperminfos)
	{
		RTEPermissionInfo *info = lfirst_node(RTEPermissionInfo, cell);

		if (info->relid == relid)
			info->checkAsUser = role;
	}
}

/* Whether the rights that the level requires on an entry are granted. */
static inline bool
dp_compat_has_right(Query *level, const RangeTblEntry *entry)
{
	RangeTblEntry copy = *entry;

	if (entry->perminfoindex == 0)
		return true;
	copy.perminfoindex = 1;
	return dp_base_check_entries(list_make1(&copy),
								 list_make1(getRTEPermissionInfo(
								   level->rteperminfos,
								   unconstify(RangeTblEntry *, entry))),
								 false);
}

/* Whether SELECT is granted as far as the level requires it on an entry. */
static inline bool
dp_compat_may_read(Query *level, const RangeTblEntry *entry)
{
	RangeTblEntry copy = *entry;
	RTEPermissionInfo info;

	if (entry->perminfoindex == 0)
		return true;
	info = *getRTEPermissionInfo(level->rteperminfos,
								 unconstify(RangeTblEntry *, entry));
	info.requiredPerms &= ACL_SELECT;
	copy.perminfoindex = 1;
	return dp_base_check_entries(list_make1(&copy), list_make1(&info),
								 false);
}

/*
 * Whether SELECT is required on an entry, but not granted on the whole table;
 * dp_compat_may_read then looks at columns.
 */
static inline bool
dp_compat_lacks_table(Query *level, const RangeTblEntry *entry)
{
	RTEPermissionInfo *info;

	if (entry->perminfoindex == 0)
		return false;
	info = getRTEPermissionInfo(level->rteperminfos,
								unconstify(RangeTblEntry *, entry));
	return !dp_base_has_table_rights(entry->relid, info->checkAsUser,
									 info->requiredPerms & ACL_SELECT);
}

/* A level with the entries of a plan and the rights that it requires. */
static inline void
dp_compat_plan_level(const PlannedStmt *plan, Query *level)
{
	level->type = T_Query;
	level->rtable = plan->rtable;
	level->rteperminfos = plan->permInfos;
}

/* The role whose rights on the entry are checked; InvalidOid: current user. */
static inline Oid
dp_compat_reads_as(Query *level, RangeTblEntry *entry)
{
	if (entry->perminfoindex == 0)
		return InvalidOid;
	return getRTEPermissionInfo(level->rteperminfos, entry)->checkAsUser;
}

/* The level takes the entries of another one, with their rights. */
static inline void
dp_compat_take_entries(Query *level, const Query *from)
{
	level->rtable = from->rtable;
	level->rteperminfos = from->rteperminfos;
}

/* The level no longer requires rights on one entry. */
static inline void
dp_compat_forget_right(Query *level, RangeTblEntry *entry)
{
	ListCell   *cell;

	if (entry->perminfoindex == 0)
		return;
	level->rteperminfos = list_delete_nth_cell(list_copy(level->rteperminfos),
											   entry->perminfoindex - 1);
	foreach(cell, level->rtable)
		if (lfirst_node(RangeTblEntry, cell)->perminfoindex >
			entry->perminfoindex)
			lfirst_node(RangeTblEntry, cell)->perminfoindex--;
	entry->perminfoindex = 0;
}

/* A copy of another level's entry, with its rights, becomes the only one. */
static inline void
dp_compat_take_entry(Query *level, Query *from, RangeTblEntry *entry)
{
	RangeTblEntry *copy = copyObject(entry);

	level->rtable = list_make1(copy);
	level->rteperminfos = NIL;
	if (entry->perminfoindex == 0)
		return;
	level->rteperminfos =
		list_make1(copyObject(getRTEPermissionInfo(from->rteperminfos,
												   entry)));
	copy->perminfoindex = 1;
	dp_compat_forget_right(from, entry);
}

/* The level no longer requires any rights. */
static inline void
dp_compat_forget_rights(Query *level)
{
	ListCell   *cell;

	foreach(cell, level->rtable)
		lfirst_node(RangeTblEntry, cell)->perminfoindex = 0;
	level->rteperminfos = NIL;
}

static inline void
dp_compat_parsed_entries(Query *level, const ParseState *state)
{
	level->rtable = state->p_rtable;
	level->rteperminfos = state->p_rteperminfos;
}

/* An entry that requires no rights becomes the only one. */
static inline void
dp_compat_replace_entries(Query *level, RangeTblEntry *entry)
{
	level->rtable = list_make1(entry);
	level->rteperminfos = NIL;
}

/* The level has no entries any more. */
static inline void
dp_compat_drop_entries(Query *level)
{
	level->rtable = NIL;
	level->rteperminfos = NIL;
}

#else

static inline void
dp_compat_read_as(Query *level, Oid relid, Oid role)
{
	ListCell   *cell;

	foreach(cell, level->rtable)
	{
		RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_RELATION && entry->relid == relid)
			entry->checkAsUser = role;
	}
}

static inline bool
dp_compat_has_right(Query *level, const RangeTblEntry *entry)
{
	return dp_base_check_entries(list_make1(unconstify(RangeTblEntry *,
													   entry)), NIL, false);
}

static inline bool
dp_compat_may_read(Query *level, const RangeTblEntry *entry)
{
	RangeTblEntry copy = *entry;

	copy.requiredPerms &= ACL_SELECT;
	return dp_base_check_entries(list_make1(&copy), NIL, false);
}

static inline bool
dp_compat_lacks_table(Query *level, const RangeTblEntry *entry)
{
	return !dp_base_has_table_rights(entry->relid, entry->checkAsUser,
									 entry->requiredPerms & ACL_SELECT);
}

static inline void
dp_compat_plan_level(const PlannedStmt *plan, Query *level)
{
	level->type = T_Query;
	level->rtable = plan->rtable;
}

static inline Oid
dp_compat_reads_as(Query *level, RangeTblEntry *entry)
{
	return entry->checkAsUser;
}

static inline void
dp_compat_take_entries(Query *level, const Query *from)
{
	level->rtable = from->rtable;
}

static inline void
dp_compat_take_entry(Query *level, Query *from, RangeTblEntry *entry)
{
	level->rtable = list_make1(copyObject(entry));
}

static inline void
dp_compat_forget_right(Query *level, RangeTblEntry *entry)
{
	entry->requiredPerms = 0;
	entry->checkAsUser = InvalidOid;
	entry->selectedCols = NULL;
	entry->insertedCols = NULL;
	entry->updatedCols = NULL;
	entry->extraUpdatedCols = NULL;
}

static inline void
dp_compat_forget_rights(Query *level)
{
	ListCell   *cell;

	foreach(cell, level->rtable)
		dp_compat_forget_right(level, lfirst_node(RangeTblEntry, cell));
}

static inline void
dp_compat_parsed_entries(Query *level, const ParseState *state)
{
	level->rtable = state->p_rtable;
}

static inline void
dp_compat_replace_entries(Query *level, RangeTblEntry *entry)
{
	level->rtable = list_make1(entry);
}

static inline void
dp_compat_drop_entries(Query *level)
{
	level->rtable = NIL;
}

static inline bool
object_ownercheck(Oid class, Oid object, Oid role)
{
	Assert(class == RelationRelationId);
	return pg_class_ownercheck(object, role);
}

static inline AclResult
object_aclcheck(Oid class, Oid object, Oid role, AclMode mode)
{
	if (class == ProcedureRelationId)
		return pg_proc_aclcheck(object, role, mode);
	Assert(class == NamespaceRelationId);
	return pg_namespace_aclcheck(object, role, mode);
}

#endif

/* A privilege of its own since 17. */
#ifndef ACL_MAINTAIN
#define ACL_MAINTAIN ((AclMode) 0)
#endif

/* ---- query trees ---- */

/* Turn the entry of a relation into one of a subquery. */
static inline void
dp_compat_become_subquery(Query *level, RangeTblEntry *entry, Query *subquery)
{
	dp_compat_forget_right(level, entry);
	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = subquery;
	entry->relid = InvalidOid;
	entry->relkind = 0;
	entry->rellockmode = NoLock;
	entry->inh = false;
}

/* The columns of an entry, the first of its level; NULL for a dropped one. */
static inline List *
dp_compat_entry_columns(RangeTblEntry *entry)
{
	List	   *columns;

#if PG_VERSION_NUM >= 180000
	expandRTE(entry, 1, 0, VAR_RETURNING_DEFAULT, -1, true, NULL, &columns);
#else
	expandRTE(entry, 1, 0, -1, true, NULL, &columns);
#endif
	return columns;
}

/* Replace columns of a level's joins in a tree by those of the relations. */
static inline Node *
dp_compat_flatten_joins(Query *level, Node *node)
{
#if PG_VERSION_NUM >= 160000
	return flatten_join_alias_vars(NULL, level, node);
#else
	return flatten_join_alias_vars(level, node);
#endif
}

#if PG_VERSION_NUM < 160000
#define get_relids_in_jointree(node, outer_joins, inner_joins) \
	get_relids_in_jointree(node, outer_joins)
#endif

/*
 * From 18 on, the grouped expressions of a level are in a range table entry of
 * their own, to which targets and HAVING refer.  This gives the level, and
 * those in its expressions, the form of older versions; levels with grouping
 * sets are left as they are.
 */
extern void dp_base_ungroup(Query *level);

/* A qualified name as a list of String nodes; an error if it is invalid. */
#if PG_VERSION_NUM >= 160000
#define dp_compat_qualified_names(text) stringToQualifiedNameList(text, NULL)
#else
#define dp_compat_qualified_names(text) stringToQualifiedNameList(text)
#endif

/* Type of a btree comparison, such as less than. */
#if PG_VERSION_NUM >= 180000
typedef CompareType dp_order;
#else
typedef int16 dp_order;
#endif

/* Outer joins that can make a column NULL. */
extern void dp_base_forget_nulling(Var *var);
extern Node *dp_base_add_nulling(Node *node, int join);
extern void dp_base_remove_nulling(Query *level, const Bitmapset *joins);

/*
 * A copy of the expression, over Vars of varno 1, of a virtual generated
 * column (from 18 on); NULL for any other column.
 */
extern Node *dp_base_virtual_expression(Relation rel, AttrNumber attnum);

/*
 * A copy of the catalog row that proves a column to be NOT NULL; or NULL.
 * From 18 on it may be not valid, or not apply to children.  (Up to 17,
 * children can be altered without a trace in the parent.)
 */
static inline HeapTuple
dp_compat_not_null_proof(Oid relid, AttrNumber attnum)
{
#if PG_VERSION_NUM >= 180000
	HeapTuple	tuple = findNotNullConstraintAttnum(relid, attnum);

	if (HeapTupleIsValid(tuple) &&
		(!((Form_pg_constraint) GETSTRUCT(tuple))->convalidated ||
		 ((Form_pg_constraint) GETSTRUCT(tuple))->connoinherit))
		return NULL;
	return tuple;
#else
	HeapTuple	tuple = SearchSysCacheCopy2(ATTNUM, ObjectIdGetDatum(relid),
											Int16GetDatum(attnum));

	if (HeapTupleIsValid(tuple) &&
		!((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull)
		return NULL;
	return tuple;
#endif
}

/* ---- execution ---- */

#if PG_VERSION_NUM < 180000
#define ExecutorRun(desc, direction, count) \
	ExecutorRun(desc, direction, count, true)
#define RelationGetPrimaryKeyIndex(rel, deferrable_too) \
	RelationGetPrimaryKeyIndex(rel)
#define populate_compact_attribute(columns, n) ((void) 0)
#define heap_form_minimal_tuple(desc, values, isnull, extra) \
	heap_form_minimal_tuple(desc, values, isnull)
#define pg_noreturn __attribute__((noreturn))
#define dp_compat_forbid_path(path, times) ((void) 0)
#else
#define dp_compat_forbid_path(path, times) ((path)->disabled_nodes += (times))
#endif

/*
 * For a table of costs: that of disabled steps; from 18 on they are counted.
 */
#if PG_VERSION_NUM < 180000
#define DP_COMPAT_DISABLE_COST(cost) {&disable_cost, (cost)},
#else
#define DP_COMPAT_DISABLE_COST(cost)
#endif

/*
 * EXPLAIN of a plan whose parameters have no values.  Index updates of the
 * tables in schema dp_pg, which have no summarizing index.
 */
#if PG_VERSION_NUM >= 160000
#define DP_COMPAT_NO_VALUES EXEC_FLAG_EXPLAIN_GENERIC
typedef TU_UpdateIndexes dp_index_update;
#define DP_INDEX_UPDATE_NONE TU_None
#else
#define DP_COMPAT_NO_VALUES 0
typedef bool dp_index_update;
#define DP_INDEX_UPDATE_NONE false
#define ExecInsertIndexTuples(result, slot, estate, update, no_dup_error, \
							  conflict, arbiters, summarizing) \
	ExecInsertIndexTuples(result, slot, estate, update, no_dup_error, \
						  conflict, arbiters)
#endif

/* ---- the server ---- */

/* The server's record of a setting that exists. */
extern struct config_generic *dp_base_find_setting(const char *name);

#if PG_VERSION_NUM < 160000
#define pgstat_get_local_beentry_by_index(n) \
	pgstat_fetch_stat_local_beentry(n)
#endif
#if PG_VERSION_NUM < 170000
#define AmAutoVacuumWorkerProcess() IsAutoVacuumWorkerProcess()
#endif

/* Intervals may be infinite. */
#if PG_VERSION_NUM < 170000
#define INTERVAL_NOT_FINITE(interval) false
#endif

/* A developer setting that gives every plan a parallel worker. */
#if PG_VERSION_NUM >= 160000
#define DP_SETTING_FORCED_PARALLEL "debug_parallel_query"
#define dp_compat_forced_parallel debug_parallel_query
#else
#define DP_SETTING_FORCED_PARALLEL "force_parallel_mode"
#define dp_compat_forced_parallel force_parallel_mode
#endif

/* ---- words and dates ---- */

/* Whether the collation classifies only ASCII characters as letters. */
static inline bool
dp_compat_ctype_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->ctype_is_c;
#else
	return lc_ctype_is_c(collation);
#endif
}

static inline bool
dp_compat_collate_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

/* Whether the collation has ICU rules of its own. */
static inline bool
dp_compat_collation_has_rules(Oid collation)
{
#if PG_VERSION_NUM >= 160000
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	bool		isnull = true;

	if (HeapTupleIsValid(tuple))
	{
		(void) SysCacheGetAttr(COLLOID, tuple, Anum_pg_collation_collicurules,
							   &isnull);
		ReleaseSysCache(tuple);
	}
	return !isnull;
#else
	return false;
#endif
}

/* The kind of a time zone abbreviation, given in lower case. */
static inline int
dp_compat_zone_kind(const char *word)
{
	int			offset;
	pg_tz	   *zone;
#if PG_VERSION_NUM >= 160000
	DateTimeErrorExtra extra;
	int			kind;

	if (DecodeTimezoneAbbrev(0, word, &kind, &offset, &zone, &extra) != 0)
		return UNKNOWN_FIELD;
	return kind;
#else
	return DecodeTimezoneAbbrev(0, unconstify(char *, word), &offset, &zone);
#endif
}
#endif							/* DP_COMPAT_H */
