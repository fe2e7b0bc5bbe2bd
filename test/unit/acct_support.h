/*
 * acct_support.h
 *	  What the tests of the accounting share: exact decimal text, wide random
 *	  numbers, exact comparisons of products.
 *
 * Nothing here uses src/math/accounting: the tests recompute by other means,
 * decimal digit strings and BIGNUM products.
 */
#ifndef ACCT_SUPPORT_H
#define ACCT_SUPPORT_H

#include "dp_accounting.h"
#include "csv.h"
#include "dp_numbers.h"
#include "tap.h"

#include <openssl/bn.h>

/* An unsigned 128-bit integer from its decimal digits. */
static inline dp_uint128
wide(const char *digits)
{
	dp_uint128	x = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		x = x * 10 + (dp_uint128) (*digits - '0');
	return x;
}

/* Decimal text of x, in one of eight rotating buffers. */
static inline const char *
wide_text(dp_uint128 x)
{
	static char buffers[8][48];
	static int	turn;
	char	   *p = buffers[turn = (turn + 1) % 8] + 47;

	*p = '\0';
	do
	{
		*--p = (char) ('0' + (int) (x % 10));
		x /= 10;
	} while (x != 0);
	return p;
}

/*
 * Decimal text such as "4.9999583337499958e-5" in units of 10^-24, rounded
 * down; *ulp is one unit of the last printed digit, at least 1.  A value
 * that was rounded to the text lies within *ulp of the answer.
 */
static inline dp_fixed
fixed_text(const char *text, dp_fixed *ulp)
{
	dp_uint128	digits = 0;
	int			scale = 0;		/* digits after the point */
	bool		point = false;
	const char *p;

	for (p = text; (*p >= '0' && *p <= '9') || *p == '.'; p++)
	{
		if (*p == '.')
			point = true;
		else
		{
			digits = digits * 10 + (dp_uint128) (*p - '0');
			scale += point;
		}
	}
	if (*p == 'e')
		scale -= atoi(p + 1);
	*ulp = 1;
	for (; scale < DP_FIXED_DIGITS; scale++)
	{
		digits *= 10;
		*ulp *= 10;
	}
	for (; scale > DP_FIXED_DIGITS; scale--)
		digits /= 10;
	return digits;
}

/* Exact decimal text without rounding. */
static inline dp_fixed
fixed(const char *text)
{
	dp_fixed	ulp;

	return fixed_text(text, &ulp);
}

static inline dp_rational
ratio(dp_uint128 num, dp_uint128 den)
{
	dp_rational r = {0, 1};

	if (dp_numbers_rational_make(num, den, &r) != DP_OK)
	{
		fprintf(stderr, "no rational\n");
		exit(2);
	}
	return r;
}

/* A reproducible stream: xorshift64*, seeded by each test. */
typedef struct stream
{
	uint64_t	state;
} stream;

static inline uint64_t
stream_next(stream *s)
{
	s->state ^= s->state >> 12;
	s->state ^= s->state << 25;
	s->state ^= s->state >> 27;
	return s->state * UINT64_C(2685821657736338717);
}

/* Uniform-ish in [0, n). */
static inline uint64_t
stream_below(stream *s, uint64_t n)
{
	return stream_next(s) % n;
}

/* Up to `bits` bits, lengths uniform, so that small numbers are frequent. */
static inline dp_uint128
stream_wide(stream *s, int bits)
{
	dp_uint128	x = stream_next(s);

	x = x << 64 | stream_next(s);
	return x >> (128 - 1 - (int) stream_below(s, (uint64_t) bits));
}

/* ---- exact integers ---- */

static inline void
need(bool ok)
{
	if (!ok)
	{
		fprintf(stderr, "BIGNUM failed\n");
		exit(2);
	}
}

static inline BIGNUM *
big(dp_uint128 x)
{
	unsigned char bytes[16];
	BIGNUM	   *b;
	int			i;

	for (i = 15; i >= 0; i--, x >>= 8)
		bytes[i] = (unsigned char) x;
	b = BN_bin2bn(bytes, 16, NULL);
	need(b != NULL);
	return b;
}

/* x *= y, y an integer. */
static inline void
big_times(BIGNUM *x, dp_uint128 y)
{
	BN_CTX	   *ctx = BN_CTX_new();
	BIGNUM	   *b = big(y);

	need(ctx != NULL && BN_mul(x, x, b, ctx));
	BN_free(b);
	BN_CTX_free(ctx);
}

static inline void
big_plus(BIGNUM *x, dp_uint128 y)
{
	BIGNUM	   *b = big(y);

	need(BN_add(x, x, b));
	BN_free(b);
}

/* Sign of a * b - c * d. */
static inline int
compare_products(dp_uint128 a, dp_uint128 b, dp_uint128 c, dp_uint128 d)
{
	BIGNUM	   *x = big(a);
	BIGNUM	   *y = big(c);
	int			sign;

	big_times(x, b);
	big_times(y, d);
	sign = BN_cmp(x, y);
	BN_free(x);
	BN_free(y);
	return sign;
}

#endif							/* ACCT_SUPPORT_H */
