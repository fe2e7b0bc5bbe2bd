/*
 * argument.c
 *	  Arguments that functions of this folder have in common.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "synth.h"

/* dp_synth_number: see synth.h. */
Numeric
dp_synth_number(FunctionCallInfo fcinfo, int place)
{
	return dp_bridge_number_argument(fcinfo, place,
									 dp_bridge_declared_type(fcinfo, place) ==
									 FLOAT8OID);
}

/* dp_synth_epsilon: see synth.h. */
dp_rational
dp_synth_epsilon(FunctionCallInfo fcinfo, int place, dp_fixed *fixed)
{
	Numeric		number = dp_synth_number(fcinfo, place);
	dp_rational epsilon;

	if (number == NULL)
		number = dp_bridge_text_to_numeric(dp_setting_epsilon);
	epsilon = dp_bridge_check_epsilon(number, false, "epsilon");
	dp_bridge_check_status(dp_acct_fixed_from_rational(&epsilon, DP_ROUND_UP,
													   fixed),
						   "charge epsilon");
	return epsilon;
}

/* dp_synth_check_place: see synth.h. */
void
dp_synth_check_place(void)
{
	dp_bridge_require_preload();
	dp_bridge_refuse_serializable();
	dp_bridge_refuse_parallel();
}
