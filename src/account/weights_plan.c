/*
 * weights_plan.c
 *	  The plan of online multiplicative weights, for opening a session and for
 *	  asking beforehand what it would promise: both are refused alike.
 */
#include "postgres.h"

#include "dp_account.h"

#define MOST_ALPHA (DP_FIXED_ONE / 3)	/* 3 alpha above 1 says nothing */

/*
 * dp_account_weights_alpha
 *	  The alpha of a request; NULL: 0, the least that can be reached.
 *
 * Errors: 22023.
 */
dp_fixed
dp_account_weights_alpha(Numeric x)
{
	dp_fixed	alpha = 0;

	if (x == NULL)
		return 0;
	if (dp_bridge_numeric_to_fixed(x, DP_ROUND_DOWN, &alpha) !=
		DP_NUMBER_OK || alpha == 0 || alpha > MOST_ALPHA)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("alpha must be above 0 and at most 1/3"),
				 errdetail("It is a fraction of n, and answers are within 3 "
						   "alpha of the true fraction."),
				 errhint("Leave alpha out to get the smallest that can be "
						 "reached.")));
	return alpha;
}

/* Nothing up to 1/3 can be reached; `least` is above it, or 0: unknown. */
static void
raise_useless(dp_fixed least, const char *told)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("no useful accuracy can be reached"),
			 errdetail("%s %s", told,
					   least == 0 ? "The noise is larger than n." :
					   psprintf("The least alpha is %.4g, and answers within "
								"3 alpha would say nothing.",
								dp_acct_fixed_approx(least))),
			 errhint("Use a larger epsilon, a delta, fewer cells or fewer "
					 "questions, on more rows.")));
}

static void
raise_alpha(dp_fixed asked, dp_fixed least, const char *told)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("alpha %s cannot be reached",
					dp_bridge_fixed_to_cstring(asked)),
			 errdetail("%s The least alpha is %s.", told,
					   dp_bridge_fixed_to_cstring(least)),
			 errhint("Ask for that alpha or leave it out; or use a larger "
					 "epsilon, fewer cells or fewer questions.")));
}

/*
 * dp_account_weights_plan
 *	  dp_acct_weights_plan, for an alpha of at most 1/3; `noisy`: whether n is,
 *	  for a message.
 *
 * Errors: 22023 the alpha asked for cannot be reached, or none can; 22003.
 */
void
dp_account_weights_plan(const dp_weights_request *request, bool noisy,
					   dp_weights_plan *out)
{
	dp_status	status;
	char	   *told;

	MemSet(out, 0, sizeof(*out));
	status = dp_acct_weights_plan(request, out);
	if (status == DP_OK && out->alpha <= MOST_ALPHA)
		return;
	if (status != DP_E_RANGE)
		dp_bridge_check_status(status, "plan multiplicative weights");
	told = psprintf("n is " INT64_FORMAT "%s, the universe has " INT64_FORMAT
					" cells, and there are " INT64_FORMAT " questions.",
					request->n,
					noisy ? " (noisy, its epsilon was charged)" : "",
					request->cells, request->questions);
	if (request->alpha != 0 && out->alpha > 0 && out->alpha <= MOST_ALPHA)
		raise_alpha(request->alpha, out->alpha, told);
	raise_useless(out->alpha, told);
}
