/*
 * tell.c
 *	  What a call says of its accuracy and of what it was charged, in NOTICEs.
 *
 * All of it is public: parameters, plans and the budget of the asking role.
 */
#include "postgres.h"

#include "session_sparse.h"

/* The rest of the payer's budget after the charge, in words. */
static char *
tell_budget(const char *dataset)
{
	dp_ledger_standing standing;
	dp_fixed	left;

	dp_ledger_read_standing(dataset, &standing);
	if (!standing.found || standing.exempt)
		return pstrdup("The asking role is not limited.");
	left = dp_ledger_remaining(&standing.limit, &standing.spent);
	if (standing.capped)
		left = Min(left, dp_ledger_remaining(&standing.cap,
											 &standing.cap_spent));
	return psprintf("Budget of %s: epsilon %s remains.",
					NameStr(standing.payer),
					dp_bridge_epsilon_text(left, DP_ROUND_DOWN));
}

static char *
tell_epsilon(dp_fixed epsilon)
{
	return epsilon == DP_FIXED_INFINITE ? "infinite" :
		dp_bridge_epsilon_text(epsilon, DP_ROUND_UP);
}

/*
 * dp_session_tell_charge
 *	  A charge that was made, and what remains, as sentences; `for_n` was
 *	  charged in addition for a number of rows; 0: nothing was.
 */
char *
dp_session_tell_charge(const dp_charge *charge, dp_fixed for_n,
					   const char *dataset)
{
	return psprintf("Charged: epsilon %s, delta %s, rho %s%s%s.  %s",
					tell_epsilon(charge->epsilon),
					dp_bridge_delta_text(charge->delta, DP_ROUND_UP),
					dp_bridge_epsilon_text(charge->rho, DP_ROUND_UP),
					for_n == 0 ? "" : ", and for n epsilon ",
					for_n == 0 ? "" : dp_bridge_epsilon_text(for_n,
															 DP_ROUND_UP),
					tell_budget(dataset));
}

/* dp_session_tell_number: "1 update", "2 updates". */
char *
dp_session_tell_number(int64 n, const char *what)
{
	return psprintf(INT64_FORMAT " %s%s", n, what, n == 1 ? "" : "s");
}

/* With such an alpha a count of 0 may be called "above". */
static bool
is_vague(const dp_session_terms *terms)
{
	return terms->threshold > 0 &&
		terms->plan.alpha >= (dp_uint128) terms->threshold;
}

/*
 * dp_session_tell_sparse
 *	  The accuracy and the charge of a sparse vector; `id` is its session's, 0
 *	  for a call without one.
 */
void
dp_session_tell_sparse(int64 id, const dp_sparse_call *call)
{
	const dp_session_terms *terms = &call->terms;

	ereport(NOTICE,
			(errmsg("%swith probability %s every answer is right within "
					"alpha %s rows",
					id == 0 ? "" : psprintf("session " INT64_FORMAT ": ", id),
					dp_bridge_fixed_to_cstring(DP_FIXED_ONE -
											   call->request.beta),
					dp_session_integer_text(terms->plan.alpha)),
			 errdetail("Method %s; at most %s, \"above\" at most %s.%s  %s",
					   dp_acct_sparse_name(terms->plan.method),
					   dp_session_tell_number(terms->questions, "question"),
					   terms->cutoff == 1 ? "once" :
					   dp_session_tell_number(terms->cutoff, "time"),
					   call->rows,
					   dp_session_tell_charge(&terms->plan.charge, 0,
											  NameStr(terms->dataset))),
			 is_vague(terms) ?
			 errhint("Alpha is not below the threshold, so a count of 0 may "
					 "be \"above\". Use a larger epsilon, a smaller cutoff, "
					 "fewer questions or a higher threshold; "
					 "dp_sparse_vector_error shows what they achieve.") : 0));
}
