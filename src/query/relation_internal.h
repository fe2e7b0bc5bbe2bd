/*
 * relation_internal.h
 *	  What relation*.c, protect.c and declare.c share; private to this folder.
 */
#ifndef DP_RELATION_INTERNAL_H
#define DP_RELATION_INTERNAL_H

#include "dp_relation.h"

#include "storage/lockdefs.h"
#include "utils/acl.h"

/* Columns of dp_pg.relation and dp_pg.attribute (sql/30_relation.sql). */
#define ANUM_RELATION_RELID 1
#define ANUM_RELATION_ORIGIN 2
#define ANUM_RELATION_DATASET 3
#define ANUM_RELATION_UNIT 4
#define ANUM_RELATION_UNIT_ATTNUM 5
#define ANUM_RELATION_PUBLISHED 6

#define ANUM_ATTRIBUTE_RELID 1
#define ANUM_ATTRIBUTE_ORIGIN 2
#define ANUM_ATTRIBUTE_NAME 3
#define ANUM_ATTRIBUTE_ATTNUM 4
#define ANUM_ATTRIBUTE_LOWER 5
#define ANUM_ATTRIBUTE_UPPER 6
#define ANUM_ATTRIBUTE_GRANULE 7
#define ANUM_ATTRIBUTE_KEYS 8
#define ANUM_ATTRIBUTE_OTHER 9

/*
 * One privilege granted directly on a part of a protected tree to a role that
 * is neither its owner nor a superuser, and through which rows can be learnt.
 * privileges == 0: the part itself belongs to another role (grantee).
 */
typedef struct dp_exposure
{
	Oid			relid;
	AttrNumber	attnum;			/* 0: the whole table */
	Oid			grantee;		/* ACL_ID_PUBLIC: everybody */
	AclMode		privileges;
	Oid			wanted_owner;	/* of the part, when privileges == 0 */
} dp_exposure;

/* relation.c */
extern List *dp_relation_list_protected(void);
extern List *dp_relation_list_parents(Oid relid);
extern Oid	dp_relation_published_view(Oid relid);
extern char *dp_relation_dataset(Oid relid);
extern char *dp_relation_declared_unit(Oid relid);
extern char *dp_relation_qualified_name(Oid relid);

/* relation_exposure.c */
extern List *dp_relation_list_exposures(Oid relid);
extern List *dp_relation_list_tree(Oid relid, LOCKMODE lockmode);
extern List *dp_relation_list_tree_exposures(Oid relid, LOCKMODE lockmode);
extern char *dp_exposure_describe(const dp_exposure *exposure);
extern char *dp_exposure_remedy(const dp_exposure *exposure);

/* publish.c */
extern void dp_relation_run_command(const char *command);
extern Oid	dp_publish_view(Oid relid, char *publish);
extern void dp_publish_grant(Oid view, const char *dataset);

/* relation_watch.c */
extern void dp_relation_watch_init(void);

/* protect.c */
extern void dp_relation_require_owner(Oid relid);
extern char *dp_relation_require_protected(Oid relid);
extern void dp_relation_require_dataset(const char *dataset);
extern void dp_relation_invalidate_tree(Oid relid);

#endif							/* DP_RELATION_INTERNAL_H */
