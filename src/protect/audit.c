/*
 * audit.c
 *	  What dp_audit (sql/31_audit.sql) cannot learn by SQL.
 */
#include "postgres.h"

#include "fmgr.h"

#include "relation_internal.h"

PG_FUNCTION_INFO_V1(dp_relation_is_preloaded);
PG_FUNCTION_INFO_V1(dp_relation_has_left_dataset);

/*
 * dp_relation_is_preloaded
 *	  SQL: dp_pg.is_preloaded() returns boolean, without the error of
 *	  dp_pg.check_preload().
 */
Datum
dp_relation_is_preloaded(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_bridge_preloaded());
}

/*
 * dp_relation_has_left_dataset
 *	  SQL: dp_pg.has_left_dataset(relation oid) returns boolean.
 */
Datum
dp_relation_has_left_dataset(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_protect_left_dataset(PG_GETARG_OID(0)));
}
