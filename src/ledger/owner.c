/*
 * owner.c
 *	  Arguments of the functions that a dataset's owner calls: which dataset,
 *	  numbers, filters.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/varlena.h"

#include "ledger.h"
#include "owner.h"

/*
 * dp_ledger_check_writable
 *	  Raise 25006 where the catalog cannot be written.
 */
void
dp_ledger_check_writable(const char *what)
{
	if (RecoveryInProgress() || XactReadOnly)
		ereport(ERROR,
				(errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
				 errmsg("cannot execute %s in a read-only transaction",
						what),
				 errhint("Run it on the primary server, in a read-write "
						 "transaction.")));
}

/* The table or view that a text names in SQL, or InvalidOid. */
static Oid
find_named_relation(const char *text)
{
	List	   *names;
	Oid			namespace;

	if (!SplitIdentifierString(pstrdup(text), '.', &names) ||
		names == NIL || list_length(names) > 2)
		return InvalidOid;
	if (list_length(names) == 1)
		return RelnameGetRelid(linitial(names));
	namespace = get_namespace_oid(linitial(names), true);
	return OidIsValid(namespace) ?
		get_relname_relid(lsecond(names), namespace) : InvalidOid;
}

/*
 * Raise 42704.  If the name is that of a protected table or its published
 * view, name their dataset, which anyone can read in dp_pg.relation.
 */
static void
raise_no_dataset(const char *name)
{
	Oid			relid = find_named_relation(name);
	Oid			shown = OidIsValid(relid) ?
		dp_catalog_find_published(relid) : InvalidOid;
	dp_relation_row row;
	bool		is_relation = OidIsValid(relid) &&
		dp_catalog_find_relation(OidIsValid(shown) ? shown : relid, &row);

	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("dataset \"%s\" does not exist", name),
			 is_relation ?
			 errdetail("\"%s\" is a %s in dataset \"%s\".", name,
					   OidIsValid(shown) ? "view" : "table",
					   NameStr(row.dataset)) : 0,
			 is_relation ?
			 errhint("Name the dataset: budgets and caps are for all of its "
					 "tables together.") :
			 errhint("dp_protect creates a dataset when it protects the "
					 "first table.")));
}

/* dp_ledger_raise_not_owner: see dp_ledger.h. */
void
dp_ledger_raise_not_owner(const char *dataset, const char *detail,
						  const char *hint)
{
	dp_dataset_row row;
	bool		orphan;

	orphan = dp_catalog_read_dataset(dataset, DP_ROW_READ, &row) == DP_FOUND &&
		!OidIsValid(row.owner);
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("must be owner of dataset \"%s\"", dataset),
			 orphan ?
			 errdetail("Its owner was dropped, so only superusers own it; a "
					   "role created later with that name does not.") :
			 detail ? errdetail("%s", detail) : 0,
			 orphan ?
			 errhint("A superuser can give it to a role by setting owner_oid "
					 "and owner_name in dp_pg.dataset; or name another "
					 "dataset.") :
			 errhint("%s", hint)));
}

/*
 * dp_ledger_owner_dataset
 *	  See dp_ledger.h.  Errors: 22023, 42501, 42704.
 */
char *
dp_ledger_owner_dataset(const char *dataset, bool create)
{
	Oid			caller = GetUserId();
	char	   *name = dataset ? pstrdup(dataset) :
	GetUserNameFromId(caller, false);
	dp_dataset_row row;
	dp_owner_sql saved;
	dp_found	found;

	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the name of a dataset must not be empty"),
				 errhint("Leave the name out to get a dataset with the name "
						 "of your role.")));
	dp_bridge_owner_begin(&saved);
	found = dp_catalog_read_dataset(name, DP_ROW_READ, &row);
	if (found != DP_FOUND && create)
	{
		(void) dp_catalog_insert_dataset(name, caller);
		found = dp_catalog_read_dataset(name, DP_ROW_READ, &row);
	}
	if (found == DP_FOUND && row.stale && !XactReadOnly &&
		dp_ledger_payer_owns(caller, &row) &&
		dp_catalog_read_dataset(name, DP_ROW_WAIT, &row) == DP_FOUND)
		dp_catalog_adopt_dataset(&row);
	dp_bridge_owner_end(&saved);
	if (found != DP_FOUND)
		raise_no_dataset(name);
	if (!dp_ledger_payer_owns(caller, &row))
		dp_ledger_raise_not_owner(name, NULL,
								  "A dataset belongs to the role that first "
								  "named it; ask that role, or name another "
								  "dataset.");
	return name;
}

/* dp_ledger_owner_serves: see dp_ledger.h. */
bool
dp_ledger_owner_serves(Oid owner, Oid role)
{
	return OidIsValid(owner) && OidIsValid(role) &&
		is_member_of_role_nosuper(owner, role);
}

/* dp_ledger_dataset_serves: see dp_ledger.h. */
bool
dp_ledger_dataset_serves(const char *dataset, Oid role)
{
	dp_dataset_row row;

	return dp_catalog_read_dataset(dataset, DP_ROW_READ, &row) == DP_FOUND &&
		dp_ledger_owner_serves(row.owner, role);
}

/* Read a number, rounded down to the grid; raises 22023. */
static dp_fixed
read_number(Datum value, bool isnull, const char *what,
			dp_number_range range, const char *hint)
{
	Numeric		x = isnull ? NULL : DatumGetNumeric(value);
	dp_fixed	fixed = dp_bridge_check_number(x, what, range, DP_ROUND_DOWN,
											   hint);
	dp_rational exact;
	dp_number_fault fault = dp_bridge_numeric_to_rational(x, &exact);

	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s is not valid", what),
				 errdetail("It is %s.", dp_bridge_number_fault_text(fault)),
				 errhint("%s", hint)));
	return fixed;
}

/* dp_ledger_read_epsilon: a positive number, rounded down, or 22023. */
dp_fixed
dp_ledger_read_epsilon(Datum value, bool isnull, const char *what)
{
	return read_number(value, isnull, what, DP_RANGE_POSITIVE,
					   "Give a positive number; budgets usually lie between "
					   "0.1 and 10.");
}

/* dp_ledger_read_delta: a number in [0, 1), rounded down, or 22023. */
dp_fixed
dp_ledger_read_delta(Datum value, bool isnull)
{
	return read_number(value, isnull, "delta", DP_RANGE_DELTA,
					   "Give 0, or a number far below one divided by the "
					   "number of people.");
}

/* dp_ledger_read_filter: the filter that an argument names, or 22023. */
dp_filter
dp_ledger_read_filter(FunctionCallInfo fcinfo, int argument)
{
	char	   *name = PG_ARGISNULL(argument) ? NULL :
	text_to_cstring(PG_GETARG_TEXT_PP(argument));
	dp_filter	filter;

	if (name == NULL || !dp_acct_filter_parse(name, &filter))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 name ? errmsg("filter \"%s\" does not exist", name) :
				 errmsg("filter must not be NULL"),
				 errhint("Filters are basic, advanced, zcdp and best.")));
	return filter;
}

/*
 * dp_ledger_make_limit
 *	  The limit with which a filter guarantees (epsilon, delta); 22023 if there
 *	  is none.
 */
dp_limit
dp_ledger_make_limit(dp_filter filter, dp_fixed epsilon, dp_fixed delta)
{
	dp_limit	limit;
	dp_status	status;

	if ((filter == DP_FILTER_ZCDP || filter == DP_FILTER_ADVANCED) &&
		delta == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("filter %s needs a positive delta",
						dp_acct_filter_name(filter)),
				 errdetail("Without delta, a sum of %s promises no "
						   "epsilon.", filter == DP_FILTER_ZCDP ? "rho" :
						   "squared epsilons"),
				 errhint("Give a delta, or use filter basic.")));
	status = dp_acct_limit_make(filter, epsilon, delta, &limit);
	if (status == DP_E_RANGE || status == DP_E_OVERFLOW)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot make a budget of this epsilon and delta"),
				 errdetail("Filter %s cannot certify them.",
						   dp_acct_filter_name(filter)),
				 errhint("Use a larger delta, a smaller epsilon, or filter "
						 "basic.")));
	dp_bridge_check_status(status, "make a budget");
	return limit;
}

/*
 * dp_ledger_owner_dataset_argument
 *	  The dataset that an argument names (NULL: the default one), which the
 *	  caller must own.  Errors: 22023, 42704, 42501.
 */
char *
dp_ledger_owner_dataset_argument(FunctionCallInfo fcinfo, int argument)
{
	return dp_ledger_owner_dataset(PG_ARGISNULL(argument) ? NULL :
								   NameStr(*PG_GETARG_NAME(argument)),
								   false);
}

/*
 * dp_ledger_owner_decimal
 *	  A float8 argument as the shortest decimal that denotes it.
 */
Datum
dp_ledger_owner_decimal(FunctionCallInfo fcinfo, int argument)
{
	if (PG_ARGISNULL(argument))
		return (Datum) 0;
	return NumericGetDatum(
		dp_bridge_float8_to_numeric(PG_GETARG_FLOAT8(argument)));
}
