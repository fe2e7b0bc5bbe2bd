/*
 * noise_variance.c
 *	  The least variance of Gaussian noise on one number, remembered.
 */
#include "postgres.h"

#include "dp_bridge.h"

#define KEPT 32					/* variances a process remembers */

/*
 * dp_bridge_gaussian_variance
 *	  dp_acct_gaussian_variance_exact, or zCDP's variance where that is out of
 *	  reach.  The search takes up to some tenths of a second, so the last ones
 *	  are kept: public numbers all.
 */
dp_status
dp_bridge_gaussian_variance(uint64 sensitivity, dp_fixed epsilon,
							dp_fixed delta, dp_rational *out)
{
	static struct
	{
		uint64		sensitivity;	/* 0: no entry */
		dp_fixed	epsilon;
		dp_fixed	delta;
		dp_rational variance;
	}			kept[KEPT];
	static int	next = 0;
	dp_status	status;
	int			i;

	for (i = 0; i < KEPT && sensitivity != 0; i++)
		if (kept[i].sensitivity == sensitivity &&
			kept[i].epsilon == epsilon && kept[i].delta == delta)
		{
			*out = kept[i].variance;
			return DP_OK;
		}
	status = dp_acct_gaussian_variance_exact(sensitivity, epsilon, delta,
											 out);
	if (status == DP_E_RANGE)
		status = dp_acct_gaussian_variance_zcdp(sensitivity, epsilon, delta,
												out);
	if (status != DP_OK)
		return status;
	kept[next].sensitivity = sensitivity;
	kept[next].epsilon = epsilon;
	kept[next].delta = delta;
	kept[next].variance = *out;
	next = (next + 1) % KEPT;
	return DP_OK;
}
