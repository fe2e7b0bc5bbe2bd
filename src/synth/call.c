/*
 * call.c
 *	  What calls of this room's functions have in common.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "synth.h"

/* dp_synth_counted: see synth.h. */
char *
dp_synth_counted(int64 n, const char *one, const char *many)
{
	return psprintf(INT64_FORMAT " %s", n, n == 1 ? one : many);
}

/* dp_synth_failure: see synth.h. */
double
dp_synth_failure(FunctionCallInfo fcinfo, int place)
{
	return dp_acct_fixed_approx(
		dp_bridge_failure(fcinfo, place, "errors are no larger"));
}

/* dp_synth_rows: see synth.h. */
double
dp_synth_rows(FunctionCallInfo fcinfo, int place)
{
	int64		rows = PG_GETARG_INT64(place);

	if (rows < 1 || rows > PG_INT32_MAX)
		dp_bridge_raise_parameter("max_rows must be from 1 to 2147483647",
								  "It is the number of rows of a privacy "
								  "unit that count.");
	return (double) rows;
}

/*
 * The result's columns must be known: in a SELECT list those of a record
 * are not.
 */
static void
check_form(FunctionCallInfo fcinfo, const char *function)
{
	const ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	if (result == NULL || !IsA(result, ReturnSetInfo) ||
		!(result->allowedModes & SFRM_Materialize) ||
		result->expectedDesc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s must be called in FROM", function),
				 errdetail("It returns rows whose columns the query must "
						   "name."),
				 errhint("Write SELECT * FROM %s(...) AS t(...).",
						 function)));
}

/* dp_synth_check_place: see synth.h. */
void
dp_synth_check_place(FunctionCallInfo fcinfo, const char *function)
{
	dp_bridge_require_preload();
	dp_bridge_forbid_serializable();
	dp_bridge_forbid_parallel();
	check_form(fcinfo, function);
}

/* dp_synth_request: see synth.h. */
void
dp_synth_request(dp_ledger_request *out, const char *dataset,
				 const dp_ledger_standing *standing, int64 fingerprint,
				 const dp_charge *charge, const char *mechanism)
{
	MemSet(out, 0, sizeof(*out));
	namestrcpy(&out->dataset, dataset);
	strlcpy(out->mechanism, mechanism, DP_MECHANISM_LENGTH);
	out->charge = *charge;
	out->releases = 1;
	out->fingerprint = fingerprint;
	out->replace_one = standing->replace_one;
}
