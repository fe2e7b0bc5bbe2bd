/*
 * protect_internal.h
 *	  Private to protect: declarations, and who else can see the rows.
 *
 * Include postgres.h first.
 */
#ifndef PROTECT_INTERNAL_H
#define PROTECT_INTERNAL_H

#include "access/attnum.h"
#include "access/htup.h"
#include "fmgr.h"
#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/pg_list.h"
#include "nodes/primnodes.h"
#include "storage/lockdefs.h"
#include "utils/acl.h"
#include "utils/numeric.h"
#include "utils/snapshot.h"

#include "../catalog/dp_catalog.h"
#include "../catalog/dp_names.h"
#include "dp_protect.h"

extern List *dp_protect_view_shows(Oid view);
extern bool dp_protect_view_passes(Oid view, const List *views);

/*
 * What the files of this room share; private to it.
 */

/*
 * One way by which a role that is neither the owner of a protected relation
 * nor a superuser can learn its rows.  Usually a privilege, on a part of the
 * relation's tree or on something that leads to it (a view, a table at the
 * other end of a foreign key); otherwise ownership by another role, which
 * clause and command describe completely.
 */
typedef struct dp_exposure
{
	Oid			relid;			/* what the privilege is on */
	AttrNumber	attnum;			/* 0: the whole relation */
	Oid			grantee;		/* ACL_ID_PUBLIC: everybody */
	AclMode		privileges;		/* 0: not a privilege */
	const char *severity;		/* as dp_audit shows it */
	const char *clause;			/* how relid leads to the rows; may be NULL */
	const char *command;		/* closes it; with privileges, an alternative
								 * to REVOKE, or NULL */
} dp_exposure;

/* The search for the exposures of one protected relation. */
typedef struct dp_exposure_search
{
	Oid			owner;			/* of the protected relation */
	List	   *parts;			/* OIDs: itself and its descendants */
	List	   *found;			/* of dp_exposure * */
} dp_exposure_search;

/* ---- relation.c ---- */
extern bool dp_protect_is_distributed(Oid relid);
extern List *dp_protect_list_parents(Oid relid);
extern char *dp_protect_declared_unit(Oid relid);
extern bool dp_protect_left_dataset(Oid relid);
extern char *dp_protect_mutable_text(Oid relid);
#define DP_PROTECT_STEPS 8		/* most of one path to a unit */

extern List *dp_protect_constraint_columns(HeapTuple constraint,
										   AttrNumber which);
extern List *dp_protect_primary_key(Oid relid);
extern char *dp_protect_key_text(Oid relid);
extern bool dp_protect_same_columns(const List *a, const List *b);
extern List *dp_protect_unit_columns(const dp_relation_row *row);
extern char *dp_protect_columns_text(const dp_relation_row *row);
extern char *dp_protect_end_text(Oid relid, const dp_relation_row *row);
extern char *dp_protect_path_text(const List *names, Oid through,
								  const dp_relation_row *row);
extern bool dp_protect_keys_match(Oid a, Oid b);
extern char *dp_protect_unit_text(const dp_relation_row *row);
extern char *dp_protect_call_text(Oid relid);

/* ---- declare_unit.c ---- */
extern void dp_protect_read_unit(Oid relid, const char *unit,
								 const char *dataset, dp_relation_row *row);
extern void dp_protect_forbid_behind(Oid relid, const char *what);
extern void dp_protect_notice_unit(const dp_relation_row *unit,
								   const char *dataset);
extern void dp_protect_notice_bounds(Oid relid);

/* ---- exposure.c ---- */
extern List *dp_protect_list_tree(Oid relid, LOCKMODE lockmode);
extern void dp_protect_add_grants(dp_exposure_search *search, Oid relid,
								  AclMode mask, const List *columns,
								  const char *severity, const char *clause,
								  const char *command);
extern void dp_protect_add_other(dp_exposure_search *search, Oid relid,
								 const char *severity, const char *clause,
								 const char *command);
extern bool dp_protect_exposure_is_owner(Oid role, Oid owner);
extern const char *dp_protect_role_name(Oid role);
extern char *dp_protect_exposure_describe(const dp_exposure *exposure);
extern char *dp_protect_exposure_remedy(const dp_exposure *exposure);
extern char *dp_protect_exposure_explain(const List *exposures, char **hint);

/* ---- exposure_find.c ---- */
extern List *dp_protect_list_exposures(Oid relid, LOCKMODE lockmode);
extern bool dp_protect_can_read(Oid role, Oid owner);
extern bool dp_protect_is_security_invoker(Oid view);
extern List *dp_protect_rule_queries(HeapTuple rule);

/* ---- admit.c ---- */
extern void dp_protect_note_name(Oid relid, const bool *follow);
extern List *dp_protect_enter(Oid relid, bool revoke);
extern void dp_protect_place(Oid relid, const List *tree, const char *dataset,
							 const char *unit, dp_relation_row *row);
extern bool dp_protect_revoke(Oid relid, const List *exposures);

/* ---- follow.c ---- */
extern List *dp_protect_close_part(Oid part, Oid root);
extern void dp_protect_keep_part(Oid part, Oid root);
extern void dp_protect_follow_note(void);
extern void dp_protect_follow_init(void);
extern void dp_protect_keep_dropped(void);
extern void dp_protect_note_open(Oid relid);
extern void dp_protect_note_open_all(Oid schema);
extern void dp_protect_note_view(Oid view);
extern void dp_protect_note_closed(Oid relid);
extern bool dp_protect_can_show(Oid view, Oid root);
extern List *dp_protect_exposures_of_views(List *exposures, Oid root);
extern void dp_protect_warn_of(Oid root, List *exposures);

/* ---- policies.c ---- */
extern void dp_protect_warn_of_no_policy(Oid relid);
extern void dp_protect_warn_of_policies(Oid relid);

/* ---- publish.c ---- */
extern void dp_protect_run_command(const char *command);
extern char *dp_protect_publish_name(Oid relid);
extern Oid	dp_protect_publish_view(Oid relid, char *publish);
extern void dp_protect_publish_grant(Oid relid, Oid view, const char *dataset);
extern Oid	dp_protect_publish_again(Oid view, Oid before, Oid relid,
									 const char *name, List *columns);
extern void dp_protect_tie_twin(Oid relid, Oid twin);
extern Query *dp_protect_view_query(Oid view);
extern bool dp_protect_is_projection(const Query *query, Oid relid);

/* ---- comment.c ---- */
extern void dp_protect_comment(Oid relid);
extern void dp_protect_uncomment(Oid relid, Oid view);
extern void dp_protect_comment_written(const CommentStmt *stmt);

/* ---- require.c ---- */
extern void dp_protect_require_writable(const char *function);
extern void dp_protect_require_owner(Oid relid);
extern char *dp_protect_require_protected(Oid relid);
extern void dp_protect_require_dataset(const char *dataset);
extern void dp_protect_invalidate_tree(Oid relid);

/*
 * What the declare*.c files share; private to this folder.
 */

/* The built-in order of a column's type. */
typedef struct dp_key_order
{
	FmgrInfo   *compare;
	Oid			collation;
} dp_key_order;

/* The column that a declaration is about. */
typedef struct dp_target
{
	Oid			relid;
	AttrNumber	attnum;
	NameData	name;
	Oid			type;			/* base type, of a domain */
	int32		typmod;
	Oid			collation;
} dp_target;

/* ---- unit_bounds.c ---- */
extern dp_unit_bounds dp_protect_declared_bounds(const dp_relation_row *row);
extern bool dp_protect_lacks_bounds(Oid relid);

/* ---- declare_immutable.c ---- */
extern bool dp_protect_declare_forget_partitions(Oid relid);

/* ---- declare.c ---- */
extern void dp_protect_declare_require_value(bool isnull, const char *what);
extern void dp_protect_declare_read_column(FunctionCallInfo fcinfo,
										   dp_target *column);
extern int64 dp_protect_declare_size_class(int64 rows);
extern int64 dp_protect_declare_read_most(FunctionCallInfo fcinfo, int i,
										  const char *what);
extern void dp_protect_declare_suggest_size(Oid relid);

#endif							/* PROTECT_INTERNAL_H */
