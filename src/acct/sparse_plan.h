/*
 * sparse_plan.h
 *	  What the plans of sparse vector mechanisms share.  Private to src/acct.
 */
#ifndef DP_ACCT_SPARSE_PLAN_H
#define DP_ACCT_SPARSE_PLAN_H

#include "value.h"

/* The shape that a method gives a session. */
typedef struct sparse_shape
{
	int64_t		spread;			/* "above"s that share one query noise */
	int64_t		rounds;			/* thresholds drawn */
	dp_fixed	each;			/* epsilon of one round */
	dp_fixed	delta;			/* what composing the rounds costs */
} sparse_shape;

/* The share of beta for numeric answers. */
static inline dp_fixed
answer_beta(const dp_sparse_request *q)
{
	return q->beta / 2;
}

/* The share of beta for the threshold, and that for the queries. */
static inline dp_fixed
side_beta(const dp_sparse_request *q)
{
	return q->numeric ? q->beta / 4 : q->beta / 2;
}

static inline bool
multiply_sensitivity(uint64_t sensitivity, uint64_t by, uint64_t *out)
{
	return !__builtin_mul_overflow(sensitivity, by, out);
}

/* floor(whole part / (part + other)); part, other > 0. */
static inline dp_fixed
sparse_share(dp_big *b, dp_fixed whole, const BIGNUM *part,
			 const BIGNUM *other)
{
	BIGNUM	   *x = big_multiply(b, big_of(b, whole), part);

	return dp_mech_big_get(b, big_divide(b, x, big_add(b, part, other)));
}

extern dp_status dp_acct_sparse_answers(const dp_sparse_request *q,
										dp_sparse_plan *plan);
extern dp_status dp_acct_sparse_price(const dp_sparse_request *q,
									  const sparse_shape *s,
									  dp_sparse_plan *plan);
extern dp_status dp_acct_sparse_book(const dp_sparse_request *q,
									 dp_sparse_plan *out);

#endif							/* DP_ACCT_SPARSE_PLAN_H */
