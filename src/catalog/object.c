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
 * dp_catalog_shown_name
 *	  The name of a private aggregate, in transparent mode that of the built-in
 *	  one that it answers for.
 */
const char *
dp_catalog_shown_name(const char *name)
{
	if (!dp_setting_transparent || strncmp(name, "dp_", 3) != 0)
		return name;
	return strcmp(name, "dp_quantile") == 0 ? "percentile_cont" :
		strcmp(name, "dp_argmax") == 0 ? "mode" : name + 3;
}

static bool
is_among(const char *name, const char *const *names, int n)
{
	while (n > 0 && strcmp(name, names[n - 1]) != 0)
		n--;
	return n > 0;
}

/*
 * dp_catalog_private_advice
 *	  A hint about what to write instead of a built-in aggregate, in the words
 *	  of the present mode; palloc'd.
 */
char *
dp_catalog_private_advice(Oid aggregate)
{
	static const char *const tests[] = {"bool_and", "bool_or", "every"};
	static const char *const lists[] = {
		"any_value", "array_agg", "json_agg", "jsonb_agg", "string_agg"
	};
	bool		plainly = dp_setting_transparent;
	const char *plain = get_func_name(aggregate);
	const char *name = plain == NULL ? NULL : object_private_name(plain);
	bool		extreme = name != NULL && (strcmp(name, "dp_min") == 0 ||
										   strcmp(name, "dp_max") == 0);
	const char *count = plainly ? "count" : "dp_count";
	Oid		   *types = NULL;
	int			n = 0;

	if (plain != NULL)
		(void) get_func_signature(aggregate, &types, &n);
	if (name != NULL && n > 0 && types[n - 1] == INTERVALOID)
		return pstrdup("Write extract(epoch FROM x), a number of seconds, "
					   "instead of x.");
	if (plain != NULL && is_among(plain, tests, lengthof(tests)))
		return psprintf("Count the rows for which it holds: %s(*) FILTER "
						"(WHERE x).", count);
	if ((plain != NULL && is_among(plain, lists, lengthof(lists))) ||
		(extreme && !OidIsValid(dp_catalog_aggregate(name, n, types))))
		return psprintf("GROUP BY x lists the public values of a column, with "
						"%s(*) beside them; %s is the most frequent one.",
						count, plainly ? "mode() WITHIN GROUP (ORDER BY x)" :
						"dp_argmax(x)");
	if (name != NULL && strcmp(name, "dp_quantile") == 0)
		return psprintf("Write %s instead of %s%s.", plainly ?
						"percentile_cont(fraction) WITHIN GROUP (ORDER BY "
						"column)" : "dp_quantile(column, fraction)", plain,
						types[0] != FLOAT8ARRAYOID ? "" :
						" of an array, once for each fraction");
	if (name != NULL && !plainly)
		return psprintf("Write %s instead of %s.", name, plain);
	if (plainly)
		return pstrdup("There are count, and over numbers sum, avg, min, max, "
					   "stddev, variance, corr, covar_pop, covar_samp, "
					   "regr_slope and its like, percentile_cont and "
					   "percentile_disc; min, max and percentiles also over "
					   "dates and timestamps.");
	return pstrdup("No private aggregate answers the same; there are "
				   "dp_count, dp_sum, dp_avg, dp_min, dp_max, dp_median, "
				   "dp_quantile, dp_stddev, dp_variance, dp_argmax and "
				   "dp_histogram.");
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
