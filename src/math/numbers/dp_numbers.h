/*
 * dp_numbers.h
 *	  Public interface of numbers: integers of any size, exact rationals,
 *	  statuses, and threads that compute with them.
 */
#ifndef DP_NUMBERS_H
#define DP_NUMBERS_H

#include <openssl/bn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 dp_uint128 __attribute__((aligned(8)));

typedef enum dp_status
{
	DP_OK = 0,
	DP_E_RANGE,					/* an argument lies outside the domain */
	DP_E_OVERFLOW,				/* the exact result does not fit its type */
	DP_E_RANDOM,				/* the random source failed */
	DP_E_MEMORY					/* OpenSSL could not allocate */
} dp_status;

typedef enum dp_rounding
{
	DP_ROUND_DOWN,
	DP_ROUND_UP
} dp_rounding;

/* ---- exact rationals (rational.c) ---- */

/* A non-negative rational in lowest terms; den > 0; zero is 0/1. */
typedef struct dp_rational
{
	dp_uint128	num;
	dp_uint128	den;
} dp_rational;

extern dp_status dp_numbers_rational_make(dp_uint128 num, dp_uint128 den,
										  dp_rational *out);
extern int	dp_numbers_rational_compare(const dp_rational *a,
										const dp_rational *b);
extern dp_status dp_numbers_rational_multiply(const dp_rational *a,
											  const dp_rational *b,
											  dp_rational *out);
extern dp_status dp_numbers_rational_divide(const dp_rational *a,
											const dp_rational *b,
											dp_rational *out);

#define DP_BIG_NUMBERS 64

typedef struct dp_big
{
	dp_status	status;			/* the first failure */
	unsigned	used;			/* of number[] */
	unsigned	made;			/* of number[], used or given back */
	BN_CTX	   *context;
	BIGNUM	   *number[DP_BIG_NUMBERS];
} dp_big;

/* ---- the context, and conversions (big.c) ---- */

extern void dp_numbers_big_begin(dp_big *b);
extern dp_status dp_numbers_big_end(dp_big *b);
extern bool dp_numbers_big_check(dp_big *b, dp_status status);
extern BIGNUM *dp_numbers_big_new(dp_big *b);
extern BIGNUM *dp_numbers_big_of_limbs(dp_big *b, const uint64_t *limbs,
									   unsigned n);
extern dp_uint128 dp_numbers_big_get(dp_big *b, const BIGNUM *x);
extern void dp_numbers_big_get_limbs(dp_big *b, const BIGNUM *x,
									 uint64_t *limbs, unsigned n);

static inline BIGNUM *
big_of(dp_big *b, dp_uint128 x)
{
	const uint64_t limbs[2] = {(uint64_t) x, (uint64_t) (x >> 64)};

	return dp_numbers_big_of_limbs(b, limbs, 2);
}

/* ---- proved bounds (big.c) ---- */

extern BIGNUM *dp_numbers_big_shrink(dp_big *b, const BIGNUM *x, unsigned bits,
									 dp_rounding rounding);
extern BIGNUM *dp_numbers_big_product(dp_big *b, const BIGNUM *x,
									  const BIGNUM *y,
									  unsigned bits, dp_rounding rounding);
extern BIGNUM *dp_numbers_big_ratio(dp_big *b, const BIGNUM *num,
									const BIGNUM *den, unsigned bits,
									dp_rounding rounding);
extern BIGNUM *dp_numbers_big_root(dp_big *b, const BIGNUM *x,
								   dp_rounding rounding);
extern BIGNUM *dp_numbers_big_exp(dp_big *b, const BIGNUM *num,
								  const BIGNUM *den,
								  unsigned bits, dp_rounding rounding);
extern BIGNUM *dp_numbers_big_log(dp_big *b, const BIGNUM *num,
								  const BIGNUM *den,
								  unsigned bits, dp_rounding rounding);
extern BIGNUM *dp_numbers_big_over_sinh(dp_big *b, const BIGNUM *num,
										const BIGNUM *den, unsigned bits);

/* ---- exact arithmetic ---- */

/* Notes a failure of OpenSSL to compute x. */
static inline BIGNUM *
big_made(dp_big *b, BIGNUM *x, bool good)
{
	if (!good)
		(void) dp_numbers_big_check(b, DP_E_MEMORY);
	return x;
}

static inline BIGNUM *
big_add(dp_big *b, const BIGNUM *x, const BIGNUM *y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_add(r, x, y));
}

static inline BIGNUM *
big_subtract(dp_big *b, const BIGNUM *x, const BIGNUM *y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_sub(r, x, y));
}

static inline BIGNUM *
big_multiply(dp_big *b, const BIGNUM *x, const BIGNUM *y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_mul(r, x, y, b->context));
}

static inline BIGNUM *
big_square(dp_big *b, const BIGNUM *x)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_sqr(r, x, b->context));
}

/* x/y, truncated towards 0. */
static inline BIGNUM *
big_divide(dp_big *b, const BIGNUM *x, const BIGNUM *y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_div(r, NULL, x, y, b->context));
}

/* x/y, truncated towards 0, and the remainder. */
static inline BIGNUM *
big_divide_rest(dp_big *b, const BIGNUM *x, const BIGNUM *y, BIGNUM **rest)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	*rest = dp_numbers_big_new(b);
	return big_made(b, r, *rest != NULL &&
					BN_div(r, *rest, x, y, b->context));
}

static inline BIGNUM *
big_add_word(dp_big *b, const BIGNUM *x, uint64_t y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_copy(r, x) && BN_add_word(r, y));
}

static inline BIGNUM *
big_subtract_word(dp_big *b, const BIGNUM *x, uint64_t y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_copy(r, x) && BN_sub_word(r, y));
}

static inline BIGNUM *
big_multiply_word(dp_big *b, const BIGNUM *x, uint64_t y)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_copy(r, x) && BN_mul_word(r, y));
}

/* x 2^bits; the floor for bits < 0 and x >= 0. */
static inline BIGNUM *
big_shift(dp_big *b, const BIGNUM *x, int bits)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && (bits >= 0 ? BN_lshift(r, x, bits) :
										BN_rshift(r, x, -bits)));
}

/* 2^bits. */
static inline BIGNUM *
big_power(dp_big *b, unsigned bits)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_set_word(r, 1) &&
					BN_lshift(r, r, (int) bits));
}

/* ---- comparisons ---- */

static inline bool
big_is_zero(const dp_big *b, const BIGNUM *x)
{
	return b->status != DP_OK || BN_is_zero(x);
}

static inline bool
big_is_negative(const dp_big *b, const BIGNUM *x)
{
	return b->status == DP_OK && BN_is_negative(x);
}

/* The sign of x - y. */
static inline int
big_compare(const dp_big *b, const BIGNUM *x, const BIGNUM *y)
{
	return b->status == DP_OK ? BN_cmp(x, y) : 0;
}

/* The length of |x| in bits. */
static inline int
big_bits(const dp_big *b, const BIGNUM *x)
{
	return b->status == DP_OK ? BN_num_bits(x) : 0;
}

/* ---- the stack of numbers ---- */

/* Gives back what was made since the mark. */
static inline void
big_release(dp_big *b, unsigned mark)
{
	b->used = mark;
}

/* Gives back what was made since the mark, except x, which is returned. */
static inline BIGNUM *
big_keep(dp_big *b, unsigned mark, BIGNUM *x)
{
	unsigned	i;

	for (i = mark; i < b->used; i++)
		if (b->number[i] == x)
		{
			b->number[i] = b->number[mark];
			b->number[mark++] = x;
			break;
		}
	b->used = mark;
	return x;
}

/* Moves a value to x; `value` is lost.  For loops. */
static inline void
big_assign(const dp_big *b, BIGNUM *x, BIGNUM *value)
{
	if (b->status == DP_OK)
		BN_swap(x, value);
}

#define DP_THREADS 16			/* most at once */
#define DP_THREADS_OF_ROWS 3	/* most that process private rows */

typedef struct dp_threads
{
	int			count;			/* of running ones */
	pthread_t	threads[DP_THREADS];
} dp_threads;

extern void dp_numbers_threads_start(dp_threads *threads,
									 void *(*run) (void *worker),
									 void *workers, size_t size, int count);
extern void dp_numbers_threads_join(dp_threads *threads);

/*
 * Wide integer arithmetic that rationals and scales share.
 */

/* Greatest common divisor; that of a and 0 is a. */
static inline dp_uint128
gcd128(dp_uint128 a, dp_uint128 b)
{
	dp_uint128	rest;

	while (b != 0)
	{
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* a b = high 2^128 + low. */
static inline void
multiply_wide(dp_uint128 a, dp_uint128 b, dp_uint128 *high, dp_uint128 *low)
{
	uint64_t	a0 = (uint64_t) a;
	uint64_t	a1 = (uint64_t) (a >> 64);
	uint64_t	b0 = (uint64_t) b;
	uint64_t	b1 = (uint64_t) (b >> 64);
	dp_uint128	bottom = (dp_uint128) a0 * b0;

	/* each sum is at most (2^64-1)^2 + 2^64 - 1 < 2^128 */
	dp_uint128	cross = (dp_uint128) a1 * b0 + (uint64_t) (bottom >> 64);
	dp_uint128	middle = (dp_uint128) a0 * b1 + (uint64_t) cross;

	*low = middle << 64 | (uint64_t) bottom;
	*high = (dp_uint128) a1 * b1 + (uint64_t) (cross >> 64) +
		(uint64_t) (middle >> 64);
}

#endif							/* DP_NUMBERS_H */
