/*
 * relation_watch.c
 *	  Warnings when a later command opens a protected relation.
 *
 * The owner may do anything with the table; but a GRANT, an inherited child
 * with grants of its own, a parent that others may read, a view with
 * privileges of its own, a rule or trigger on a protected relation, or another
 * owner, is usually a mistake, so the command warns after it has succeeded; so
 * does a change of row security (policies.c).  dp_audit finds the same at any
 * time.
 *
 * The hook looks at the node tag first: other commands cost nothing more.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_catalog.h"
#include "../catalog/dp_names.h"
#include "dp_protect.h"
#include "protect_internal.h"

static ProcessUtility_hook_type previous_utility = NULL;

/* The protected relations before a command, and their owners then. */
typedef struct dp_owners
{
	List	   *relids;
	List	   *owners;
} dp_owners;

/* The exposures that are privileges on the relation, or its ownership. */
static List *
exposures_through(List *exposures, Oid relid)
{
	List	   *found = NIL;
	ListCell   *cell;

	foreach(cell, exposures)
		if (((dp_exposure *) lfirst(cell))->relid == relid)
			found = lappend(found, lfirst(cell));
	return found;
}

/*
 * Warn when a relation opens a protected one: it may be a part of it, a view
 * of it, or a table at the other end of a foreign key.
 */
static void
warn_of_exposure(Oid relid)
{
	List	   *roots;
	ListCell   *cell;

	if (!OidIsValid(relid))
		return;
	roots = dp_catalog_list_relations();
	foreach(cell, roots)
	{
		List	   *all = dp_protect_list_exposures(lfirst_oid(cell), NoLock);

		dp_protect_warn_of(lfirst_oid(cell), exposures_through(all, relid));
	}
}

/*
 * Warn if a view, made or changed, opens what it reads: no GRANT announces
 * default privileges, or those that a replaced view keeps.
 */
static void
warn_of_view(const RangeVar *view)
{
	Oid			relid = RangeVarGetRelid(view, NoLock, true);
	List	   *told = NIL;
	ListCell   *cell;

	foreach(cell, dp_protect_view_shows(relid))
	{
		Oid			root = dp_protect_root(lfirst_oid(cell));
		List	   *all;

		dp_protect_note_view(relid);
		if (!OidIsValid(root) || list_member_oid(told, root) ||
			!dp_protect_can_show(relid, root))
			continue;
		told = lappend_oid(told, root);
		all = dp_protect_list_exposures(root, NoLock);
		/* of followed relations all views are checked, else this one */
		dp_protect_warn_of(root, dp_catalog_is_followed(root) ?
				dp_protect_exposures_of_views(all, root) :
				exposures_through(all, relid));
	}
}

/* The protected relation that the table is a part of, or InvalidOid. */
static Oid
tree_root(const RangeVar *table)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);

	return OidIsValid(relid) ? dp_protect_root(relid) : InvalidOid;
}

/* Warn of everything that opens the tree the table is a part of. */
static void
warn_of_tree(const RangeVar *table)
{
	Oid			root = tree_root(table);

	if (OidIsValid(root))
		dp_protect_warn_of(root, dp_protect_list_exposures(root, NoLock));
}

static void
warn_of_owner(Oid relid)
{
	if (OidIsValid(relid) && dp_protect_left_dataset(relid))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("relation \"%s\" no longer belongs to the owner of "
						"its dataset", get_rel_name(relid)),
				 errdetail("Private queries on it are refused, for "
						   "everybody."),
				 errhint("As a superuser call dp_unprotect(), then as its "
						 "new owner dp_protect(), with a dataset of that "
						 "role.")));
}

/* Warn that `what` was attached to a part of a protected tree. */
static void
warn_of_object(const RangeVar *table, const char *what)
{
	Oid			root = tree_root(table);

	if (OidIsValid(root))
		ereport(WARNING,
				(errcode(ERRCODE_WARNING),
				 errmsg("a %s on protected relation \"%s\" can tell others "
						"about its rows", what, get_rel_name(root)),
				 errhint("SELECT * FROM dp_audit() tells what it can show, "
						 "if anything, and the command that removes it.")));
}

static void
warn_of_policies(RangeVar *table)
{
	dp_protect_warn_of_policies(RangeVarGetRelid(table, NoLock, true));
}

/* DROP POLICY: the table's name comes before the policy's. */
static void
warn_of_dropped(const DropStmt *stmt)
{
	ListCell   *cell;

	foreach(cell, stmt->objects)
	{
		List	   *names = list_copy(lfirst_node(List, cell));

		names = list_delete_last(names);
		warn_of_policies(makeRangeVarFromNameList(names));
	}
}

static bool
is_of_row_security(AlterTableType subtype)
{
	return subtype == AT_EnableRowSecurity ||
		subtype == AT_DisableRowSecurity ||
		subtype == AT_ForceRowSecurity || subtype == AT_NoForceRowSecurity;
}

/*
 * Whether it is the trigger of an immutable column, as a restore creates it.
 */
static bool
is_own_trigger(const CreateTrigStmt *stmt)
{
	return list_length(stmt->funcname) == 2 &&
		strcmp(strVal(linitial(stmt->funcname)), "dp_pg") == 0 &&
		strcmp(strVal(lsecond(stmt->funcname)), "refuse_change") == 0;
}

/* Warn about a table that a GRANT named. */
static void
warn_of_table(const RangeVar *table)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);

	warn_of_exposure(relid);
	dp_protect_note_open(relid);
}

/*
 * Warn if a table was put under a parent that others may read, and so read its
 * parts.  For a protected parent the warning came when it was opened.
 */
static void
warn_of_parent(const RangeVar *table)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);

	if (OidIsValid(relid) && !OidIsValid(dp_protect_root(relid)))
		warn_of_exposure(relid);
}

/* Whether the relation is in one of the schemas (String nodes). */
static bool
is_in_schemas(Oid relid, const List *schemas)
{
	char	   *schema = get_namespace_name(get_rel_namespace(relid));
	ListCell   *cell;

	if (schema == NULL)
		return false;
	foreach(cell, schemas)
		if (strcmp(strVal(lfirst(cell)), schema) == 0)
			return true;
	return false;
}

static void
warn_of_grant(const GrantStmt *stmt)
{
	List	   *roots;
	ListCell   *cell;

	if (!stmt->is_grant || stmt->objtype != OBJECT_TABLE)
		return;
	if (stmt->targtype == ACL_TARGET_OBJECT)
		foreach(cell, stmt->objects)
			warn_of_table(lfirst_node(RangeVar, cell));
	if (stmt->targtype != ACL_TARGET_ALL_IN_SCHEMA)
		return;
	foreach(cell, stmt->objects)
		dp_protect_note_open_all(get_namespace_oid(strVal(lfirst(cell)),
												   true));
	roots = dp_catalog_list_relations();
	foreach(cell, roots)
	{
		List	   *tree = dp_protect_list_tree(lfirst_oid(cell), NoLock);
		ListCell   *part;

		foreach(part, tree)
			if (is_in_schemas(lfirst_oid(part), stmt->objects))
				warn_of_exposure(lfirst_oid(part));
	}
}

/*
 * Columns of a table that has become a partition are no longer immutable: an
 * UPDATE of its parent can move rows out and back in without firing the
 * trigger.
 */
static void
forget_parts(const RangeVar *table)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);

	if (!OidIsValid(relid) || !dp_protect_declare_forget_partitions(relid))
		return;
	ereport(NOTICE,
			(errmsg("columns of table \"%s\" are no longer declared "
					"immutable", get_rel_name(relid)),
			 errdetail("The table is a partition now, and an UPDATE of its "
					   "parent can move rows between partitions without "
					   "firing the trigger.")));
}

/*
 * A table has become a part; other roles may not read a part of a followed
 * relation.
 */
static void
watch_part(const RangeVar *table)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);
	ListCell   *cell;

	if (!OidIsValid(relid))
		return;
	foreach(cell, dp_protect_list_parents(relid))
	{
		Oid			root = dp_protect_root(lfirst_oid(cell));

		if (!OidIsValid(root) || !dp_catalog_is_followed(root))
			continue;
		dp_protect_warn_of(root, dp_protect_close_part(relid, root));
		dp_protect_note_closed(root);
	}
	warn_of_exposure(relid);
}

/* A table was detached or is no longer a child. */
static void
keep_part(const RangeVar *part, const RangeVar *parent)
{
	Oid			relid = RangeVarGetRelid(parent, NoLock, true);

	if (OidIsValid(relid))
		dp_protect_keep_part(RangeVarGetRelid(part, NoLock, true),
							 dp_protect_root(relid));
}

static void
warn_of_alter(const AlterTableStmt *stmt)
{
	bool		secured = false;
	ListCell   *cell;

	warn_of_view(stmt->relation);
	foreach(cell, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, cell);

		if (cmd->subtype == AT_AttachPartition)
		{
			forget_parts(((PartitionCmd *) cmd->def)->name);
			watch_part(((PartitionCmd *) cmd->def)->name);
			warn_of_parent(stmt->relation);
		}
		else if (cmd->subtype == AT_AddInherit)
		{
			watch_part(stmt->relation);
			warn_of_parent((RangeVar *) cmd->def);
		}
		else if (cmd->subtype == AT_DetachPartition ||
				 cmd->subtype == AT_DetachPartitionFinalize)
			keep_part(((PartitionCmd *) cmd->def)->name, stmt->relation);
		else if (cmd->subtype == AT_DropInherit)
			keep_part(stmt->relation, (RangeVar *) cmd->def);
		else if (cmd->subtype == AT_AddConstraint)
			warn_of_tree(stmt->relation);
		else if (cmd->subtype == AT_ChangeOwner)
			warn_of_owner(RangeVarGetRelid(stmt->relation, NoLock, true));
		else if (is_of_row_security(cmd->subtype))
			secured = true;
	}
	if (secured)
		warn_of_policies(stmt->relation);
}

/* Owners of the relations, in their order. */
static List *
list_owners(const List *relids)
{
	List	   *owners = NIL;
	ListCell   *cell;

	foreach(cell, relids)
		owners = lappend_oid(owners, dp_catalog_owner(lfirst_oid(cell)));
	return owners;
}

/* REASSIGN OWNED names no table: check those whose owner changed. */
static void
warn_of_reassigned(const dp_owners *before)
{
	ListCell   *relid;
	ListCell   *owner;

	forboth(relid, before->relids, owner, before->owners)
		if (dp_catalog_owner(lfirst_oid(relid)) != lfirst_oid(owner))
			warn_of_owner(lfirst_oid(relid));
}

/* CREATE MATERIALIZED VIEW, which EXPLAIN ANALYZE executes, too; or NULL. */
static const CreateTableAsStmt *
made_copy(Node *parsetree)
{
	if (IsA(parsetree, ExplainStmt))
		parsetree = castNode(Query,
							 ((ExplainStmt *) parsetree)->query)->utilityStmt;
	return parsetree != NULL && IsA(parsetree, CreateTableAsStmt) &&
		((CreateTableAsStmt *) parsetree)->objtype == OBJECT_MATVIEW ?
		(CreateTableAsStmt *) parsetree : NULL;
}

/* The command has succeeded: warn about what it opened. */
static void
warn_after(Node *parsetree, const dp_owners *before)
{
	switch (nodeTag(parsetree))
	{
		case T_GrantStmt:
			warn_of_grant((GrantStmt *) parsetree);
			break;
		case T_AlterTableStmt:
			warn_of_alter((AlterTableStmt *) parsetree);
			break;
		case T_CreateStmt:
		case T_CreateForeignTableStmt:
			watch_part(((CreateStmt *) parsetree)->relation);
			break;
		case T_ViewStmt:
			warn_of_view(((ViewStmt *) parsetree)->view);
			break;
		case T_CreateTableAsStmt:
		case T_ExplainStmt:
			warn_of_view(made_copy(parsetree)->into->rel);
			break;
		case T_CreatePolicyStmt:
			warn_of_policies(((CreatePolicyStmt *) parsetree)->table);
			break;
		case T_AlterPolicyStmt:
			warn_of_policies(((AlterPolicyStmt *) parsetree)->table);
			break;
		case T_DropStmt:
			warn_of_dropped((DropStmt *) parsetree);
			break;
		case T_RuleStmt:
			warn_of_object(((RuleStmt *) parsetree)->relation, "rule");
			break;
		case T_CreateTrigStmt:
			if (!is_own_trigger((CreateTrigStmt *) parsetree))
				warn_of_object(((CreateTrigStmt *) parsetree)->relation,
							   "trigger");
			break;
		case T_ReassignOwnedStmt:
			warn_of_reassigned(before);
			break;
		case T_CommentStmt:
			dp_protect_comment_written((CommentStmt *) parsetree);
			break;
		default:
			break;
	}
}

/*
 * Whether it is a command of warn_after.  CreateForeignTableStmt begins with a
 * CreateStmt.
 */
static bool
is_watched(Node *parsetree)
{
	switch (nodeTag(parsetree))
	{
		case T_CreateStmt:
		case T_CreateForeignTableStmt:
			return ((CreateStmt *) parsetree)->inhRelations != NIL;
		case T_CreateTableAsStmt:
		case T_ExplainStmt:
			return made_copy(parsetree) != NULL;
		case T_DropStmt:
			return ((DropStmt *) parsetree)->removeType == OBJECT_POLICY;
		case T_ViewStmt:
		case T_GrantStmt:
		case T_AlterTableStmt:
		case T_CreatePolicyStmt:
		case T_AlterPolicyStmt:
		case T_RuleStmt:
		case T_CreateTrigStmt:
		case T_ReassignOwnedStmt:
		case T_CommentStmt:
			return true;
		default:
			return false;
	}
}

/*
 * Queries through a published view lock it before the relation, so a command
 * that replaces a followed table does the same; otherwise they could deadlock.
 */
static void
lock_view(const RangeVar *table)
{
	Oid			relid = RangeVarGetRelid(table, NoLock, true);
	Oid			view;

	if (!OidIsValid(relid) || !dp_catalog_is_followed(relid) ||
		!object_ownercheck(RelationRelationId, relid, GetUserId()))
		return;
	view = dp_protect_published_view(relid);
	if (OidIsValid(view))
		LockRelationOid(view, AccessExclusiveLock);
}

static void
lock_views(Node *parsetree)
{
	ListCell   *cell;

	if (IsA(parsetree, RenameStmt) &&
		((RenameStmt *) parsetree)->renameType == OBJECT_TABLE)
		lock_view(((RenameStmt *) parsetree)->relation);
	else if (IsA(parsetree, AlterObjectSchemaStmt) &&
			 ((AlterObjectSchemaStmt *) parsetree)->objectType == OBJECT_TABLE)
		lock_view(((AlterObjectSchemaStmt *) parsetree)->relation);
	else if (IsA(parsetree, DropStmt) &&
			 ((DropStmt *) parsetree)->removeType == OBJECT_TABLE)
		foreach(cell, ((DropStmt *) parsetree)->objects)
			lock_view(makeRangeVarFromNameList(lfirst_node(List, cell)));
}

/*
 * A rename gives a table a name, as CREATE TABLE does.  CREATE TABLE locks the
 * schema, so that a rename of the schema waits for it and sees the table; a
 * rename of a table must do the same.
 */
static void
lock_schema(const Node *parsetree)
{
	const RenameStmt *stmt = (const RenameStmt *) parsetree;
	Oid			relid;

	if (!IsA(parsetree, RenameStmt) || stmt->relation == NULL ||
		!OidIsValid(dp_base_extension_oid()))
		return;
	switch (stmt->renameType)
	{
		case OBJECT_TABLE:
		case OBJECT_VIEW:
		case OBJECT_MATVIEW:
		case OBJECT_FOREIGN_TABLE:
			relid = RangeVarGetRelid(stmt->relation, NoLock, true);
			if (OidIsValid(relid))
				LockDatabaseObject(NamespaceRelationId,
								   get_rel_namespace(relid), 0,
								   AccessShareLock);
			break;
		default:
			break;
	}
}

static void
watch_utility(PlannedStmt *pstmt, const char *query_string,
			  bool read_only_tree, ProcessUtilityContext context,
			  ParamListInfo params, QueryEnvironment *query_env,
			  DestReceiver *dest, QueryCompletion *qc)
{
	Node	   *watched = NULL;
	dp_owners	before = {NIL, NIL};

	/* a copy: execution may scribble on the tree */
	if (is_watched(pstmt->utilityStmt) &&
		OidIsValid(dp_base_extension_oid()))
		watched = copyObject(pstmt->utilityStmt);
	if (watched != NULL && IsA(watched, ReassignOwnedStmt))
	{
		before.relids = dp_catalog_list_relations();
		list_sort(before.relids, list_oid_cmp);
		before.owners = list_owners(before.relids);
	}
	lock_views(pstmt->utilityStmt);
	lock_schema(pstmt->utilityStmt);
	if (previous_utility)
		previous_utility(pstmt, query_string, read_only_tree, context, params,
						 query_env, dest, qc);
	else
		standard_ProcessUtility(pstmt, query_string, read_only_tree, context,
								params, query_env, dest, qc);
	if (watched != NULL)
	{
		warn_after(watched, &before);
		pfree(watched);
	}
}

/* dp_protect_init: install the hook in front of existing ones. */
void
dp_protect_init(void)
{
	dp_base_add_hook(&ProcessUtility_hook, watch_utility, &previous_utility);
	dp_protect_follow_init();
}
