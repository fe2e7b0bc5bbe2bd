/*
 * dataset.c
 *	  Rows of dp_pg.dataset: owner, cap, and the sums over all roles.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/acl.h"
#include "utils/builtins.h"

#include "catalog.h"

#define COLUMNS \
	"SELECT name, owner_oid, owner_name, cluster," \
	" cap_filter, cap_epsilon, cap_delta, cap_delta_conversion," \
	" cap_delta_sum, cap_rho, cap_alpha," \
	" spent_epsilon, spent_rho, spent_delta, charges," \
	" epsilon_floor, epsilon_ceiling" \
	" FROM dp_pg.dataset WHERE name = $1"

static dp_statement read_plain = {COLUMNS, 1, {NAMEOID}};
static dp_statement read_skip =
{COLUMNS " FOR NO KEY UPDATE SKIP LOCKED", 1, {NAMEOID}};
static dp_statement read_wait =
{COLUMNS " FOR NO KEY UPDATE", 1, {NAMEOID}};

static dp_statement insert_row =
{
	"INSERT INTO dp_pg.dataset (name, owner_oid, owner_name, cluster)"
	" VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
	4, {NAMEOID, OIDOID, NAMEOID, INT8OID}
};

static dp_statement update_owner =
{
	"UPDATE dp_pg.dataset SET owner_oid = $2, owner_name = $3, cluster = $4"
	" WHERE name = $1",
	4, {NAMEOID, OIDOID, NAMEOID, INT8OID}
};

static dp_statement update_sums =
{
	"UPDATE dp_pg.dataset SET spent_epsilon = $2, spent_rho = $3,"
	" spent_delta = $4, charges = $5 WHERE name = $1",
	5, {NAMEOID, NUMERICOID, NUMERICOID, NUMERICOID, INT8OID}
};

static dp_statement update_cap =
{
	"UPDATE dp_pg.dataset SET cap_filter = $2, cap_epsilon = $3,"
	" cap_delta = $4, cap_delta_conversion = $5, cap_delta_sum = $6,"
	" cap_rho = $7, cap_alpha = $8,"
	" epsilon_floor = $9, epsilon_ceiling = $10 WHERE name = $1",
	10, {NAMEOID, TEXTOID, NUMERICOID, NUMERICOID, NUMERICOID, NUMERICOID,
	NUMERICOID, INT8OID, NUMERICOID, NUMERICOID}
};

/*
 * Who owns the dataset now.  In the cluster that wrote the row the OID
 * decides: a role created anew under the old name owns nothing.  In another
 * cluster, after a restore, the name decides.
 */
static void
resolve_owner(dp_dataset_row *out)
{
	Oid			stored = DatumGetObjectId(dp_column(0, 2, NULL));
	Name		stored_name = DatumGetName(dp_column(0, 3, NULL));
	NameData	name;

	if (DatumGetInt64(dp_column(0, 4, NULL)) != dp_bridge_cluster_id())
	{
		out->owner = get_role_oid(NameStr(*stored_name), true);
		out->stale = OidIsValid(out->owner);
		return;
	}
	dp_catalog_name_role(stored, &name);
	out->owner = NameStr(name)[0] ? stored : InvalidOid;
	out->stale = OidIsValid(out->owner) &&
		strcmp(NameStr(name), NameStr(*stored_name)) != 0;
}

/*
 * dp_catalog_read_dataset
 *	  The row of a dataset, locked as told.
 */
dp_found
dp_catalog_read_dataset(const char *name, dp_row_lock lock,
						dp_dataset_row *out)
{
	dp_statement *statement = lock == DP_ROW_READ ? &read_plain :
	lock == DP_ROW_WAIT ? &read_wait : &read_skip;
	NameData	key;
	dp_args		args;
	bool		isnull;

	namestrcpy(&key, name);
	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&key));
	if (dp_statement_run(statement, &args, SPI_OK_SELECT) == 0)
	{
		/* SKIP LOCKED hides a locked row like a missing one. */
		if (lock == DP_ROW_SKIP_LOCKED &&
			dp_statement_run(&read_plain, &args, SPI_OK_SELECT) > 0)
			return DP_LOCKED;
		return DP_MISSING;
	}
	MemSet(out, 0, sizeof(*out));
	out->name = *DatumGetName(dp_column(0, 1, NULL));
	resolve_owner(out);
	(void) dp_column(0, 5, &isnull);
	out->capped = !isnull;
	if (out->capped)
		dp_column_limit(0, 5, &out->cap);
	dp_column_sums(0, 12, &out->spent);
	out->floor = dp_column_fixed(0, 16, &isnull);
	out->floored = !isnull;
	out->ceiling = dp_column_fixed(0, 17, &isnull);
	out->ceiled = !isnull;
	return DP_FOUND;
}

static void
add_owner(dp_args *args, const NameData *dataset, Oid owner, NameData *name)
{
	dp_catalog_name_role(owner, name);
	dp_args_start(args);
	dp_args_add(args, NameGetDatum(dataset));
	dp_args_add(args, ObjectIdGetDatum(owner));
	dp_args_add(args, NameGetDatum(name));
	dp_args_add(args, Int64GetDatum(dp_bridge_cluster_id()));
}

/*
 * dp_catalog_insert_dataset
 *	  False when the name is taken, perhaps just now by somebody else.
 */
bool
dp_catalog_insert_dataset(const char *name, Oid owner)
{
	NameData	key;
	NameData	owner_name;
	dp_args		args;

	namestrcpy(&key, name);
	add_owner(&args, &key, owner, &owner_name);
	return dp_statement_run(&insert_row, &args, SPI_OK_INSERT) == 1;
}

/*
 * dp_catalog_adopt_dataset
 *	  Write down who the owner is here and now: after a restore in another
 *	  cluster, or after the role was renamed.
 */
void
dp_catalog_adopt_dataset(const dp_dataset_row *row)
{
	NameData	owner_name;
	dp_args		args;

	if (!row->stale)
		return;
	add_owner(&args, &row->name, row->owner, &owner_name);
	(void) dp_statement_run(&update_owner, &args, SPI_OK_UPDATE);
}

/* dp_catalog_write_dataset: the sums, after a charge; the row is locked. */
void
dp_catalog_write_dataset(const dp_dataset_row *row)
{
	dp_args		args;

	dp_catalog_adopt_dataset(row);
	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&row->name));
	dp_args_add_sums(&args, &row->spent);
	if (dp_statement_run(&update_sums, &args, SPI_OK_UPDATE) != 1)
		elog(ERROR, "dataset row is gone");
}

/* dp_catalog_write_cap: cap, floor and ceiling as the owner set them. */
void
dp_catalog_write_cap(const dp_dataset_row *row)
{
	dp_args		args;

	dp_args_start(&args);
	dp_args_add(&args, NameGetDatum(&row->name));
	dp_args_add_limit(&args, &row->cap);
	if (row->floored)
		dp_args_add_fixed(&args, row->floor);
	else
		dp_args_add_null(&args);
	if (row->ceiled)
		dp_args_add_fixed(&args, row->ceiling);
	else
		dp_args_add_null(&args);
	if (dp_statement_run(&update_cap, &args, SPI_OK_UPDATE) != 1)
		elog(ERROR, "dataset row is gone");
}
