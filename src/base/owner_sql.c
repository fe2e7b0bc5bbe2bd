/*
 * owner_sql.c
 *	  SQL on the extension's own catalog.
 *
 * The catalog is written as the owner of the extension, in a
 * security-restricted operation with a fixed search_path, so that the caller's
 * rights, settings and objects have no influence.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "dp_base.h"

/*
 * OID and schema of the extension, cached because every query needs them.  The
 * extension cannot be created, dropped or moved without changes to schemas or
 * functions, which send cache invalidations.
 */
static Oid	extension_cache = InvalidOid;
static Oid	namespace_cache = InvalidOid;
static bool extension_callback = false;

static void
forget_extension(Datum arg, int cacheid, uint32 hashvalue)
{
	extension_cache = InvalidOid;
	namespace_cache = InvalidOid;
}

static void
watch_extension(void)
{
	if (extension_callback)
		return;
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_extension, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, forget_extension, (Datum) 0);
	extension_callback = true;
}

/* dp_base_extension_oid: InvalidOid if not installed in this database. */
Oid
dp_base_extension_oid(void)
{
	watch_extension();
	if (!OidIsValid(extension_cache))
		extension_cache = get_extension_oid("dp_pg", true);
	return extension_cache;
}

/* Read its row of pg_extension; false if not installed in this database. */
static bool
find_extension(FormData_pg_extension *row)
{
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("dp_pg"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		memcpy(row, GETSTRUCT(tuple), sizeof(FormData_pg_extension));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/* dp_base_extension_owner: InvalidOid if not installed in this database. */
Oid
dp_base_extension_owner(void)
{
	FormData_pg_extension row;

	return find_extension(&row) ? row.extowner : InvalidOid;
}

/* dp_base_extension_namespace: the schema of its public objects. */
Oid
dp_base_extension_namespace(void)
{
	FormData_pg_extension row;

	watch_extension();
	if (!OidIsValid(namespace_cache) && find_extension(&row))
		namespace_cache = row.extnamespace;
	return namespace_cache;
}

/* dp_base_catalog_namespace: schema dp_pg, or InvalidOid. */
Oid
dp_base_catalog_namespace(void)
{
	return get_namespace_oid("dp_pg", true);
}

/*
 * dp_base_cluster_id
 *	  The system identifier, which differs in a cluster that a dump of this one
 *	  was restored into.
 */
int64
dp_base_cluster_id(void)
{
	return (int64) GetSystemIdentifier();
}

/*
 * dp_base_owner_begin
 *	  Become the owner of the extension and connect to SPI.
 *
 * Errors: 55000 when the extension is not installed in this database.
 */
void
dp_base_owner_begin(dp_owner_sql *saved)
{
	Oid			owner = dp_base_extension_owner();

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension dp_pg is not installed in this database"),
				 errhint("Run CREATE EXTENSION dp_pg.")));
	GetUserIdAndSecContext(&saved->user, &saved->security);
	saved->nest = NewGUCNestLevel();
	dp_base_set_local("search_path", "pg_catalog, pg_temp");
	dp_base_set_local("row_security", "off");
	dp_base_set_local("DateStyle", "ISO, YMD");
	dp_base_set_local("extra_float_digits", "1");
	dp_base_set_local("check_function_bodies", "on");
	SetUserIdAndSecContext(owner, saved->security |
						   SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION |
						   SECURITY_NOFORCE_RLS);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

/*
 * dp_base_owner_end
 *	  Undo dp_base_owner_begin.
 */
void
dp_base_owner_end(dp_owner_sql *saved)
{
	SPI_finish();
	SetUserIdAndSecContext(saved->user, saved->security);
	AtEOXact_GUC(false, saved->nest);
}
