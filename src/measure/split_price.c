/*
 * split_price.c
 *	  The price of a released value without one of its own; dp_pg.split divides
 *	  it.
 */
#include "postgres.h"

#include "dp_measure.h"

/*
 * dp_measure_default_price
 *	  The default price of one of `share` values: dp_pg.epsilon, or with
 *	  dp_pg.split an equal part of it, rounded down so that the parts never
 *	  exceed the whole.
 */
dp_rational
dp_measure_default_price(int share)
{
	dp_rational whole =
	dp_bridge_check_price(dp_bridge_text_to_numeric(dp_setting_epsilon), false,
						  "epsilon");
	dp_fixed	part;

	if (!dp_bridge_splits() || share <= 1)
		return whole;
	dp_bridge_check_status(dp_acct_fixed_from_rational(&whole, DP_ROUND_DOWN,
													   &part),
						   "split epsilon");
	part /= (dp_fixed) share;
	return dp_bridge_check_price(dp_bridge_fixed_to_numeric(part), false,
								 "a part of dp_pg.epsilon");
}
