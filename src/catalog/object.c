/*
 * object.c
 *	  Catalog objects: the extension's types and functions, and the age of a
 *	  row.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "dp_catalog.h"

/* dp_catalog_type: OID of a type in schema dp_pg. */
Oid
dp_catalog_type(const char *name)
{
	Oid			namespace = dp_base_catalog_namespace();
	Oid			type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
									   CStringGetDatum(name),
									   ObjectIdGetDatum(namespace));

	if (!OidIsValid(type))
		elog(ERROR, "type dp_pg.%s not found", name);
	return type;
}

/* dp_catalog_function: OID of a function or aggregate in schema dp_pg. */
Oid
dp_catalog_function(const char *name, int nargs, const Oid *types)
{
	return LookupFuncName(list_make2(makeString("dp_pg"),
									 makeString(pstrdup(name))),
						  nargs, types, false);
}

/*
 * dp_catalog_aggregate
 *	  OID of an aggregate of the extension, in the schema that it was created
 *	  in; InvalidOid if none has this name and these arguments.
 */
Oid
dp_catalog_aggregate(const char *name, int nargs, const Oid *types)
{
	Oid			namespace = dp_base_extension_namespace();
	Oid			found;

	if (!OidIsValid(namespace))
		return InvalidOid;
	found = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							CStringGetDatum(name),
							PointerGetDatum(buildoidvector(types, nargs)),
							ObjectIdGetDatum(namespace));
	return dp_catalog_aggregate_kind(found) == DP_AGG_NONE ? InvalidOid :
		found;
}

/* dp_catalog_error_function: OID of dp_error, or InvalidOid. */
Oid
dp_catalog_error_function(void)
{
	const Oid	any = ANYOID;
	Oid			namespace = dp_base_extension_namespace();

	if (!OidIsValid(namespace))
		return InvalidOid;
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum("dp_error"),
						   PointerGetDatum(buildoidvector(&any, 1)),
						   ObjectIdGetDatum(namespace));
}

/* Whether the extension has an aggregate of this name. */
static bool
has_aggregate(const char *name)
{
	CatCList   *list = SearchSysCacheList1(PROCNAMEARGSNSP,
										   CStringGetDatum(name));
	Oid			namespace = dp_base_extension_namespace();
	bool		found = false;
	int			i;

	for (i = 0; i < list->n_members && !found; i++)
	{
		Form_pg_proc proc =
		(Form_pg_proc) GETSTRUCT(&list->members[i]->tuple);

		found = proc->pronamespace == namespace &&
			dp_catalog_aggregate_kind(proc->oid) != DP_AGG_NONE;
	}
	ReleaseSysCacheList(list);
	return found;
}

/* The private aggregate that corresponds to a built-in one, or NULL. */
static char *
object_private_name(const char *plain)
{
	static const char *const others[][2] = {
		{"mode", "dp_argmax"},
		{"percentile_cont", "dp_quantile"},
		{"percentile_disc", "dp_quantile"},
		{"stddev_samp", "dp_stddev"},
		{"var_samp", "dp_variance"}
	};
	char	   *name = psprintf("dp_%s", plain);
	int			i;

	for (i = 0; i < (int) lengthof(others); i++)
		if (strcmp(others[i][0], plain) == 0)
			name = pstrdup(others[i][1]);
	return has_aggregate(name) ? name : NULL;
}

/*
 * dp_catalog_private_advice
 *	  A hint about what to write instead of a built-in aggregate; palloc'd.
 */
char *
dp_catalog_private_advice(Oid aggregate)
{
	const char *plain = get_func_name(aggregate);
	const char *name = plain == NULL ? NULL : object_private_name(plain);

	if (name == NULL)
		return pstrdup("No private aggregate answers the same; there are "
					   "dp_count, dp_sum, dp_avg, dp_min, dp_max, dp_median, "
					   "dp_quantile, dp_stddev, dp_variance, dp_argmax and "
					   "dp_histogram.");
	if (strcmp(name, "dp_quantile") == 0)
		return psprintf("Write dp_quantile(column, fraction) instead of %s.",
						plain);
	return psprintf("Write %s instead of %s.", name, plain);
}

/* dp_catalog_owner: owner of a relation, InvalidOid if it is gone. */
Oid
dp_catalog_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

/* dp_catalog_name_role: the role's name; empty if it is gone. */
void
dp_catalog_name_role(Oid role, NameData *out)
{
	char	   *name = OidIsValid(role) ? GetUserNameFromId(role, true) : NULL;

	MemSet(out, 0, sizeof(NameData));
	if (name)
		namestrcpy(out, name);
}

/*
 * dp_catalog_visible_to
 *	  Whether a catalog row is visible to the snapshot.  A newer constraint
 *	  proves nothing about rows that only the snapshot still sees.
 */
bool
dp_catalog_visible_to(HeapTuple tuple, Snapshot snapshot)
{
	TransactionId xmin = HeapTupleHeaderGetXmin(tuple->t_data);

	return snapshot == NULL || !TransactionIdIsNormal(xmin) ||
		TransactionIdIsCurrentTransactionId(xmin) ||
		!XidInMVCCSnapshot(xmin, snapshot);
}
