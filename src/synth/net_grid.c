/*
 * net_grid.c
 *	  Numbers as integers: floor(x / 2^e + 1/2), which turns a distance of d
 *	  into at most ceil(d / 2^e) (theory T69).
 *
 * Counts lie on the integers.  For an owner's values 2^e is at most a
 * millionth of the sensitivity, and depends on nothing else.
 */
#include "postgres.h"

#include <math.h>

#include "../bridge/dp_numeric.h"
#include "../mech/dp_round.h"
#include "net.h"

#define RESOLUTION 20
#define SENSITIVITY_LOG2 100	/* sensitivities from 2^-100 to 2^100 */
#define RANGE 100				/* numbers are at most 2^100 granules */

/* dp_net_grid_make: multiples of 2^exponent, |exponent| <= 200. */
dp_net_grid
dp_net_grid_make(int exponent)
{
	dp_net_grid grid;

	grid.exponent = exponent;
	grid.inverse = dp_bridge_power_of_two(-exponent);
	grid.half = dp_bridge_power_of_two(-1);
	grid.end = dp_bridge_power_of_two(RANGE + exponent);
	return grid;
}

/*
 * dp_net_grid_for
 *	  The grid for values of a sensitivity, and that in granules, rounded up.
 *
 * Errors: 22023 sensitivity is not a positive number of moderate size.
 */
dp_net_grid
dp_net_grid_for(Numeric sensitivity, dp_uint128 *granules)
{
	dp_net_grid grid;
	dp_int128	rounded = 0;
	int			size;

	if (!dp_bridge_floor_log2(sensitivity, &size) ||
		abs(size) > SENSITIVITY_LOG2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sensitivity must be a positive number"),
				 errdetail("It must lie between 1e-30 and 1e30."),
				 errhint("Give the most by which one person can change one "
						 "value.")));
	grid = dp_net_grid_make(size - RESOLUTION);
	sensitivity = dp_numeric_call2(numeric_mul, sensitivity, grid.inverse);
	sensitivity = dp_numeric_call1(numeric_ceil, sensitivity);
	if (!dp_bridge_numeric_to_int128(sensitivity, &rounded))
		dp_bridge_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	*granules = (dp_uint128) rounded;
	return grid;
}

/*
 * dp_net_granules
 *	  A number on the grid; beyond its ends the end, 0 for NULL and NaN, so
 *	  that it never fails.
 */
dp_int128
dp_net_granules(const dp_net_grid *grid, Numeric x)
{
	const dp_int128 end = (dp_int128) 1 << RANGE;
	dp_int128	granules = 0;

	if (x == NULL || numeric_is_nan(x))
		return 0;
	if (dp_numeric_compare(x, grid->end) >= 0)
		return end;
	if (dp_numeric_compare(dp_numeric_call1(numeric_uminus, x),
						   grid->end) >= 0)
		return -end;
	x = dp_numeric_call2(numeric_mul, x, grid->inverse);
	x = dp_numeric_call2(numeric_add, x, grid->half);
	x = dp_numeric_call1(numeric_floor, x);
	if (!dp_bridge_numeric_to_int128(x, &granules))
		return 0;
	return granules;
}

/*
 * dp_net_granules_of_double
 *	  The same for a double, exactly: no detour through its decimal digits,
 *	  which are not quite the number.
 */
dp_int128
dp_net_granules_of_double(const dp_net_grid *grid, double x)
{
	return dp_round_double(x, grid->exponent, RANGE);
}
