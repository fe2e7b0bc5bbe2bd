/*
 * net_grid.c
 *	  Numbers as integers: floor(x / 2^e + 1/2), which turns a distance of d
 *	  into at most ceil(d / 2^e) (theory T69).
 *
 * Counts lie on the integers.  For an owner's values 2^e is at most a
 * millionth of the sensitivity, and depends on nothing else.
 */
#include "postgres.h"

#include "net.h"

#define RESOLUTION 20
#define SENSITIVITY_LOG2 100	/* sensitivities from 2^-100 to 2^100 */

/*
 * dp_synth_net_grid_for
 *	  The grid for values of a sensitivity, and the sensitivity in granules,
 *	  rounded up.
 *
 * Errors: 22023 sensitivity is not a positive number of moderate size.
 */
dp_binary_grid
dp_synth_net_grid_for(Numeric sensitivity, dp_uint128 *granules)
{
	dp_binary_grid grid;
	int			size;

	if (!dp_bridge_floor_log2(sensitivity, &size) ||
		abs(size) > SENSITIVITY_LOG2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sensitivity must be a positive number"),
				 errdetail("It must lie between 1e-30 and 1e30."),
				 errhint("Give the most by which one person can change one "
						 "value.")));
	grid = dp_bridge_make_grid(size - RESOLUTION);
	*granules = dp_bridge_grid_distance(&grid, sensitivity);
	return grid;
}
