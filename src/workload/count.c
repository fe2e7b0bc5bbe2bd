/*
 * count.c
 *	  The noisy number of rows, where that is not public.
 */
#include "postgres.h"

#include "dp_workload.h"

/* dp_workload_count_scale: the noise; errors as dp_bridge_check_status. */
dp_scale
dp_workload_count_scale(uint64 sensitivity, const dp_rational *epsilon)
{
	dp_scale	scale;

	dp_bridge_check_status(dp_mech_scale_make(sensitivity, epsilon, &scale),
						   "compute a noise scale");
	return scale;
}

/*
 * dp_workload_noisy_count
 *	  An exact number of rows with discrete Laplace noise, moved into least
 *	  .. most afterwards.  What it costs has been charged.
 */
int64
dp_workload_noisy_count(const dp_scale *scale, dp_int128 exact, int64 least,
						int64 most)
{
	dp_int128	noise = 0;
	dp_int128	noisy;
	int64		count;

	dp_bridge_check_status(dp_mech_discrete_laplace(dp_bridge_source(), scale,
													&noise), "draw noise");
	if (__builtin_add_overflow(exact, noise, &noisy))
		noisy = noise;
	count = (int64) Max(Min(noisy, most), least);
	explicit_bzero(&noise, sizeof(noise));
	explicit_bzero(&noisy, sizeof(noisy));
	return count;
}
