/*
 * entry.c
 *	  Lines of dp_pg.ledger, appended by the worker and by nobody else.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "catalog.h"

/* "char" of a type's alignment for construct_array */
#define NAME_ARRAY(values, nulls, n) \
	make_array(values, nulls, n, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR)
#define INT8_ARRAY(values, n) \
	make_array(values, NULL, n, INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE)
#define INT4_ARRAY(values, type, n) \
	make_array(values, NULL, n, type, 4, true, TYPALIGN_INT)
#define VARLENA_ARRAY(values, type, n) \
	make_array(values, NULL, n, type, -1, false, TYPALIGN_INT)

static dp_statement append =
{
	"INSERT INTO dp_pg.ledger (at, role, role_oid, cluster, login_role, payer,"
	" dataset, mechanism, epsilon, delta, rho, releases, fingerprint)"
	" SELECT clock_timestamp(), u.role, u.role_oid, $12, u.login, u.payer,"
	" u.dataset, u.mechanism, u.epsilon, u.delta, u.rho, u.releases,"
	" u.fingerprint"
	" FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
	" AS u (role, role_oid, login, payer, dataset, mechanism, epsilon, delta,"
	" rho, releases, fingerprint) RETURNING id",
	12, {NAMEARRAYOID, OIDARRAYOID, NAMEARRAYOID, NAMEARRAYOID, NAMEARRAYOID,
		TEXTARRAYOID, NUMERICARRAYOID, NUMERICARRAYOID, NUMERICARRAYOID,
	INT4ARRAYOID, INT8ARRAYOID, INT8OID}
};

static Datum
make_array(Datum *values, bool *nulls, int n, Oid type, int length,
		   bool by_value, char align)
{
	int			dims[1];
	int			lower[1] = {1};

	dims[0] = n;
	return PointerGetDatum(construct_md_array(values, nulls, 1, dims, lower,
											  type, length, by_value, align));
}

/*
 * dp_catalog_append
 *	  Append lines in one statement and learn their ids.
 */
void
dp_catalog_append(dp_ledger_line *lines, int n)
{
	Datum	   *column[11];
	bool	   *exempt = palloc(sizeof(bool) * n);
	dp_args		args;
	int			i;

	for (i = 0; i < lengthof(column); i++)
		column[i] = palloc(sizeof(Datum) * n);
	for (i = 0; i < n; i++)
	{
		const dp_ledger_request *request = &lines[i].slot->request;
		const dp_charge *charge = &request->charge;

		column[0][i] = NameGetDatum(&lines[i].role);
		column[1][i] = ObjectIdGetDatum(lines[i].role_oid);
		column[2][i] = NameGetDatum(&lines[i].login);
		column[3][i] = NameGetDatum(&lines[i].payer);
		exempt[i] = lines[i].exempt;
		column[4][i] = NameGetDatum(&request->dataset);
		column[5][i] = CStringGetTextDatum(request->mechanism);
		column[6][i] =
			NumericGetDatum(dp_bridge_fixed_to_numeric(charge->epsilon));
		column[7][i] =
			NumericGetDatum(dp_bridge_fixed_to_numeric(charge->delta));
		column[8][i] =
			NumericGetDatum(dp_bridge_fixed_to_numeric(charge->rho));
		column[9][i] = Int32GetDatum(request->releases);
		column[10][i] = Int64GetDatum(request->fingerprint);
	}
	dp_args_start(&args);
	dp_args_add(&args, NAME_ARRAY(column[0], NULL, n));
	dp_args_add(&args, INT4_ARRAY(column[1], OIDOID, n));
	dp_args_add(&args, NAME_ARRAY(column[2], NULL, n));
	dp_args_add(&args, NAME_ARRAY(column[3], exempt, n));
	dp_args_add(&args, NAME_ARRAY(column[4], NULL, n));
	dp_args_add(&args, VARLENA_ARRAY(column[5], TEXTOID, n));
	dp_args_add(&args, VARLENA_ARRAY(column[6], NUMERICOID, n));
	dp_args_add(&args, VARLENA_ARRAY(column[7], NUMERICOID, n));
	dp_args_add(&args, VARLENA_ARRAY(column[8], NUMERICOID, n));
	dp_args_add(&args, INT4_ARRAY(column[9], INT4OID, n));
	dp_args_add(&args, INT8_ARRAY(column[10], n));
	dp_args_add(&args, Int64GetDatum(dp_bridge_cluster_id()));
	if (dp_statement_run(&append, &args, SPI_OK_INSERT_RETURNING) !=
		(uint64) n)
		elog(ERROR, "the ledger did not take every line");
	/* unnest keeps the order, and so does INSERT ... SELECT of one scan. */
	for (i = 0; i < n; i++)
		lines[i].id = DatumGetInt64(dp_column(i, 1, NULL));
}
