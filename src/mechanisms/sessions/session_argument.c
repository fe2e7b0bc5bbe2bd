/*
 * session_argument.c
 *	  Arguments that this room's functions have in common.
 *
 * All of them are public.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "sessions_internal.h"

/*
 * dp_sessions_relation
 *	  The relation that a function was given.
 *
 * Errors: 55000 not preloaded, 22004 NULL.
 */
Oid
dp_sessions_relation(FunctionCallInfo fcinfo, int place, const char *function)
{
	dp_base_require_preload();
	dp_base_require_argument(fcinfo, place, psprintf("relation of %s",
													 function),
							 "Name the protected relation.");
	return PG_GETARG_OID(place);
}

/*
 * dp_sessions_id
 *	  The first argument as the number of a session.
 *
 * Errors: 55000 not preloaded, 22004 NULL.
 */
int64
dp_sessions_id(FunctionCallInfo fcinfo)
{
	dp_base_require_preload();
	dp_base_require_argument(fcinfo, 0, "session",
							 "dp_pg.sessions lists yours.");
	return PG_GETARG_INT64(0);
}

/* dp_sessions_predicate: the second argument as a text; 22004 for NULL. */
char *
dp_sessions_predicate(FunctionCallInfo fcinfo)
{
	dp_base_require_argument(fcinfo, 1, "predicate",
							 "Give an SQL condition.");
	return text_to_cstring(PG_GETARG_TEXT_PP(1));
}

/*
 * dp_sessions_delta
 *	  A delta in [0, 1).  NULL: 0, so that a session is pure; under
 *	  dp_pg.mechanism = gaussian it is dp_pg.delta, if that is set.
 *
 * Errors: 22023.
 */
dp_fixed
dp_sessions_delta(FunctionCallInfo fcinfo, int place)
{
	Numeric		x = dp_base_number(fcinfo, place);

	if (x == NULL && dp_setting_mechanism == DP_SETTING_GAUSSIAN &&
		dp_setting_delta[0] != '\0')
		x = dp_base_text_to_numeric(dp_setting_delta);
	if (x == NULL)
		return 0;
	return dp_base_check_number(x, "delta", DP_RANGE_DELTA, DP_ROUND_DOWN,
								"Leave it out for a guarantee without "
								"delta.");
}
