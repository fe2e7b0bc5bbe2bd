/*
 * noise_memo.c
 *	  Cache of parameters of noise: the least variance of Gaussian noise, the
 *	  error bound of noise of a variance, and the rho of Laplace noise.  All of
 *	  them follow from public numbers.
 */
#include "postgres.h"

#include "dp_bridge.h"

#define KEPT 32					/* results of each kind per process */
#define NUMBERS 3				/* inputs of a result */

/* The last results; integers have denominator 1. */
typedef struct memo
{
	int			used;
	int			next;			/* to be overwritten */
	dp_uint128	from[KEPT][NUMBERS];
	dp_rational result[KEPT];
} memo;

static bool
recall(const memo *kept, const dp_uint128 *from, dp_rational *out)
{
	int			i;

	for (i = 0; i < kept->used; i++)
		if (memcmp(kept->from[i], from, sizeof(kept->from[i])) == 0)
		{
			*out = kept->result[i];
			return true;
		}
	return false;
}

static void
remember(memo *kept, const dp_uint128 *from, const dp_rational *result)
{
	memcpy(kept->from[kept->next], from, sizeof(kept->from[0]));
	kept->result[kept->next] = *result;
	kept->used = Max(kept->used, kept->next + 1);
	kept->next = (kept->next + 1) % KEPT;
}

/*
 * dp_bridge_gaussian_variance
 *	  dp_acct_gaussian_variance_exact or, out of its range, the variance by
 *	  zCDP.  The search may take tenths of a second.
 */
dp_status
dp_bridge_gaussian_variance(uint64 sensitivity, dp_fixed epsilon,
							dp_fixed delta, dp_rational *out)
{
	static memo kept;
	const dp_uint128 from[NUMBERS] = {sensitivity, epsilon, delta};
	dp_status	status;

	if (recall(&kept, from, out))
		return DP_OK;
	status = dp_acct_gaussian_variance_exact(sensitivity, epsilon, delta,
											 out);
	if (status == DP_E_RANGE)
		status = dp_acct_gaussian_variance_zcdp(sensitivity, epsilon, delta,
												out);
	if (status == DP_OK)
		remember(&kept, from, out);
	return status;
}

/*
 * dp_bridge_gaussian_error
 *	  dp_acct_gaussian_error for probability 1/20; false if it fails.  It may
 *	  take milliseconds, and a release needs it for every group.
 */
bool
dp_bridge_gaussian_error(const dp_rational *variance, int k, double *out)
{
	static memo kept;
	const dp_uint128 from[NUMBERS] = {variance->num, variance->den, k};
	dp_rational error = {0, 1};

	if (!recall(&kept, from, &error))
	{
		if (dp_acct_gaussian_error(variance, k, DP_FIXED_ONE / 20,
								   &error.num) != DP_OK)
			return false;
		remember(&kept, from, &error);
	}
	*out = (double) error.num;
	return true;
}

/*
 * dp_bridge_laplace_rho
 *	  dp_acct_rho_from_laplace, which takes a third of the time of preparing a
 *	  small query.
 */
dp_status
dp_bridge_laplace_rho(dp_uint128 sensitivity, const dp_rational *epsilon,
					  dp_fixed *rho)
{
	static memo kept;
	const dp_uint128 from[NUMBERS] = {sensitivity, epsilon->num, epsilon->den};
	dp_rational cost = {0, 1};

	if (!recall(&kept, from, &cost))
	{
		dp_status	status = dp_acct_rho_from_laplace(sensitivity, epsilon,
													  &cost.num);

		if (status != DP_OK)
			return status;
		remember(&kept, from, &cost);
	}
	*rho = cost.num;
	return DP_OK;
}
