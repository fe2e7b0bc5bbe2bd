/*
 * declare_internal.h
 *	  What the declare*.c files share; private to this folder.
 */
#ifndef DP_DECLARE_INTERNAL_H
#define DP_DECLARE_INTERNAL_H

#include "fmgr.h"

#include "relation_internal.h"

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

/* declare_immutable.c */
extern bool dp_protect_declare_forget_partitions(Oid relid);

/* declare.c */
extern void dp_protect_declare_require_value(bool isnull, const char *what);
extern void dp_protect_declare_read_column(FunctionCallInfo fcinfo,
										   dp_target *column);
extern int64 dp_protect_declare_size_class(int64 rows);
extern void dp_protect_declare_suggest_size(Oid relid);

#endif							/* DP_DECLARE_INTERNAL_H */
