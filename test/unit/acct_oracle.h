/*
 * acct_oracle.h
 *	  Comparisons of accounting results with the oracle's decimals, which
 *	  carry 17 digits and exponents that no floating-point type holds.
 */
#ifndef ACCT_ORACLE_H
#define ACCT_ORACLE_H

#include "acct_support.h"

#include <math.h>

/* What agreement means: 10^-12, and the last of 17 digits for rounding. */
#define ORACLE_AGREE 1e-12L
#define ORACLE_DIGIT 1e-16L

static inline long double
wide_of(dp_fixed x)
{
	return (long double) x / 1e24L;
}

/* ln of a positive decimal text such as 9.7498434902203810e-6952. */
static inline long double
log_of_text(const char *text)
{
	char		mantissa[64];
	const char *e = strchr(text, 'e');
	size_t		n = e == NULL ? strlen(text) : (size_t) (e - text);

	memcpy(mantissa, text, n);
	mantissa[n] = '\0';
	return logl(strtold(mantissa, NULL)) +
		(e == NULL ? 0 : (long double) atoi(e + 1) * logl(10.0L));
}

static inline long double
log_of_decimal(const dp_decimal *x)
{
	return logl((long double) x->digits) +
		(long double) x->exponent * logl(10.0L);
}

/* A cost: within 10^-12 above the oracle, never below it. */
static inline bool
agrees_above(long double have, long double want)
{
	return have >= want * (1 - ORACLE_DIGIT) &&
		have <= want * (1 + ORACLE_AGREE);
}

/* An allowance: within 10^-12 below the oracle, never above it. */
static inline bool
agrees_below(long double have, long double want)
{
	return have <= want * (1 + ORACLE_DIGIT) &&
		have >= want * (1 - ORACLE_AGREE);
}

/* A cost that is compared by its logarithm, of size up to 10^5. */
static inline bool
agrees_log(const dp_decimal *have, const char *want)
{
	long double difference = log_of_decimal(have) - log_of_text(want);

	return difference >= -2e-14L && difference <= ORACLE_AGREE;
}

#endif							/* ACCT_ORACLE_H */
