/*
 * noise_memo.c
 *	  What noise on one number takes, remembered: the least variance of
 *	  Gaussian noise, what noise of a variance does not exceed, and the zCDP of
 *	  Laplace noise.  All of it follows from public numbers.
 */
#include "postgres.h"

#include "dp_bridge.h"

#define KEPT 32					/* of each, what a process remembers */

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

/*
 * dp_bridge_gaussian_error
 *	  dp_acct_gaussian_error for probability 1/20; false where it has none.  It
 *	  may take milliseconds, and a release asks it for every group.
 */
bool
dp_bridge_gaussian_error(const dp_rational *variance, int k, double *out)
{
	static struct
	{
		dp_rational variance;
		int			k;			/* 0: no entry */
		double		error;
	}			kept[KEPT];
	static int	next = 0;
	dp_uint128	error;
	int			i;

	for (i = 0; i < KEPT; i++)
		if (kept[i].k == k && kept[i].variance.num == variance->num &&
			kept[i].variance.den == variance->den)
		{
			*out = kept[i].error;
			return true;
		}
	if (dp_acct_gaussian_error(variance, k, DP_FIXED_ONE / 20, &error) !=
		DP_OK)
		return false;
	kept[next].variance = *variance;
	kept[next].k = k;
	kept[next].error = *out = (double) error;
	next = (next + 1) % KEPT;
	return true;
}

/*
 * dp_bridge_laplace_rho
 *	  dp_acct_rho_from_laplace, which takes a third of the time that preparing
 *	  a small query does.
 */
dp_status
dp_bridge_laplace_rho(dp_uint128 sensitivity, const dp_rational *epsilon,
					  dp_fixed *rho)
{
	static struct
	{
		dp_uint128	sensitivity;	/* 0: no entry */
		dp_rational epsilon;
		dp_fixed	rho;
	}			kept[KEPT];
	static int	next = 0;
	dp_status	status;
	int			i;

	for (i = 0; i < KEPT && sensitivity != 0; i++)
		if (kept[i].sensitivity == sensitivity &&
			kept[i].epsilon.num == epsilon->num &&
			kept[i].epsilon.den == epsilon->den)
		{
			*rho = kept[i].rho;
			return DP_OK;
		}
	status = dp_acct_rho_from_laplace(sensitivity, epsilon, rho);
	if (status != DP_OK)
		return status;
	kept[next].sensitivity = sensitivity;
	kept[next].epsilon = *epsilon;
	kept[next].rho = *rho;
	next = (next + 1) % KEPT;
	return DP_OK;
}
