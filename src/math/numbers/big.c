/*
 * big.c
 *	  The context of integers of any size, conversions, and rounded products,
 *	  quotients and roots.
 *
 * "Up" is floor + 1 throughout: not the ceiling, but never below it.
 */
#include <openssl/crypto.h>

#include "dp_numbers.h"

/*
 * dp_numbers_big_begin
 *	  Begin a context.
 *
 * Requires: dp_numbers_big_end at the end, whatever fails; nothing in between
 *			 leaves by longjmp.
 * Gives:	 a context without numbers; one that has failed with DP_E_MEMORY
 *			 when OpenSSL cannot allocate.
 * Source:	 doc/theory.md T20 (exact).
 */
void
dp_numbers_big_begin(dp_big *b)
{
	b->used = 0;
	b->made = 0;
	b->context = BN_CTX_new();
	b->status = b->context != NULL ? DP_OK : DP_E_MEMORY;
	if (b->context != NULL)
		BN_CTX_start(b->context);
}

/*
 * dp_numbers_big_end
 *	  End a context.
 *
 * Requires: b from dp_numbers_big_begin.
 * Gives:	 DP_OK, or the first failure; all numbers are cleansed and freed.
 * Source:	 doc/theory.md T20 (exact).
 */
dp_status
dp_numbers_big_end(dp_big *b)
{
	if (b->context != NULL)
		BN_CTX_end(b->context);
	BN_CTX_free(b->context);	/* cleanses what it frees */
	return b->status;
}

/*
 * dp_numbers_big_check
 *	  Note a status in a context, which fails with the first failure.
 *
 * Requires: nothing.
 * Gives:	 whether the context has not failed yet.
 * Source:	 doc/theory.md T20 (exact).
 */
bool
dp_numbers_big_check(dp_big *b, dp_status status)
{
	if (b->status == DP_OK)
		b->status = status;
	return b->status == DP_OK;
}

/*
 * dp_numbers_big_new
 *	  One more number of a context.
 *
 * Requires: at most DP_BIG_NUMBERS at a time.
 * Gives:	 a number of no particular value; NULL when the context has failed,
 *			 with DP_E_MEMORY when OpenSSL cannot allocate or there are too
 *			 many.
 * Source:	 doc/theory.md T20 (exact).
 */
BIGNUM *
dp_numbers_big_new(dp_big *b)
{
	BIGNUM	   *x = NULL;

	if (b->status != DP_OK)
		return NULL;
	if (b->used < b->made)
		return b->number[b->used++];
	if (b->made < DP_BIG_NUMBERS)
		x = BN_CTX_get(b->context);
	if (x == NULL)
	{
		(void) dp_numbers_big_check(b, DP_E_MEMORY);
		return NULL;
	}
	b->number[b->made++] = x;
	b->used++;
	return x;
}

/*
 * dp_numbers_big_of_limbs
 *	  The integer of n limbs, least significant first.
 *
 * Requires: n >= 1.
 * Gives:	 the number.
 * Source:	 doc/theory.md T20 (exact).
 */
BIGNUM *
dp_numbers_big_of_limbs(dp_big *b, const uint64_t *limbs, unsigned n)
{
	BIGNUM	   *x = dp_numbers_big_new(b);
	bool		good;

	while (n > 1 && limbs[n - 1] == 0)
		n--;
	good = x != NULL && BN_set_word(x, limbs[--n]);
	while (good && n-- > 0)
		good = BN_lshift(x, x, 64) && BN_add_word(x, limbs[n]);
	return big_made(b, x, good);
}

/*
 * dp_numbers_big_get_limbs
 *	  The n limbs of an integer, least significant first.
 *
 * Requires: 0 <= x < 2^(64 n).
 * Gives:	 limbs set; a context that has failed with DP_E_OVERFLOW, limbs
 *			 untouched, when x is out of range.
 * Source:	 doc/theory.md T20 (exact).
 */
void
dp_numbers_big_get_limbs(dp_big *b, const BIGNUM *x, uint64_t *limbs,
						 unsigned n)
{
	int			size = (int) (8 * n);

	if (b->status != DP_OK)
		return;
	if (BN_is_negative(x) ||
		BN_bn2lebinpad(x, (unsigned char *) limbs, size) != size)
	{
		(void) dp_numbers_big_check(b, DP_E_OVERFLOW);
		return;
	}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (; n > 0; n--)
		limbs[n - 1] = __builtin_bswap64(limbs[n - 1]);
#endif
}

/*
 * dp_numbers_big_get
 *	  An integer of 128 bits.
 *
 * Requires: x >= 0.
 * Gives:	 x, or 2^128 - 1 for anything larger; 0 when the context has
 *			 failed.
 * Source:	 doc/theory.md T20 (exact).
 */
dp_uint128
dp_numbers_big_get(dp_big *b, const BIGNUM *x)
{
	uint64_t	limbs[2] = {0, 0};
	dp_uint128	value;

	if (big_bits(b, x) > 128)
		return ~(dp_uint128) 0;
	dp_numbers_big_get_limbs(b, x, limbs, 2);
	value = (dp_uint128) limbs[1] << 64 | limbs[0];
	OPENSSL_cleanse(limbs, sizeof(limbs));
	return value;
}

/*
 * dp_numbers_big_shrink
 *	  Bound on x 2^-bits.
 *
 * Requires: x >= 0.
 * Gives:	 the floor, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_numbers_big_shrink(dp_big *b, const BIGNUM *x, unsigned bits,
					  dp_rounding rounding)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_rshift(r, x, (int) bits) &&
					(rounding == DP_ROUND_DOWN || BN_add_word(r, 1)));
}

/*
 * dp_numbers_big_product
 *	  Bound on a product, all three in units of 2^-bits.
 *
 * Requires: x, y >= 0.
 * Gives:	 the floor of x y 2^-bits, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_numbers_big_product(dp_big *b, const BIGNUM *x, const BIGNUM *y,
					   unsigned bits, dp_rounding rounding)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_mul(r, x, y, b->context) &&
					BN_rshift(r, r, (int) bits) &&
					(rounding == DP_ROUND_DOWN || BN_add_word(r, 1)));
}

/*
 * dp_numbers_big_ratio
 *	  Bound on num/den in units of 2^-bits.
 *
 * Requires: num >= 0, den > 0.
 * Gives:	 the floor of num 2^bits / den, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_numbers_big_ratio(dp_big *b, const BIGNUM *num, const BIGNUM *den,
					 unsigned bits, dp_rounding rounding)
{
	BIGNUM	   *r = dp_numbers_big_new(b);

	return big_made(b, r, r != NULL && BN_lshift(r, num, (int) bits) &&
					BN_div(r, NULL, r, den, b->context) &&
					(rounding == DP_ROUND_DOWN || BN_add_word(r, 1)));
}

/*
 * dp_numbers_big_root
 *	  Bound on the square root of an integer.
 *
 * Newton's iteration from above: r >= sqrt(x) falls until it is the floor.
 *
 * Requires: x >= 0.
 * Gives:	 the floor, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_numbers_big_root(dp_big *b, const BIGNUM *x, dp_rounding rounding)
{
	unsigned	mark = b->used;
	BIGNUM	   *r = big_power(b, (unsigned) (big_bits(b, x) + 1) / 2);
	BIGNUM	   *next;

	while (!big_is_zero(b, r))
	{
		next = big_shift(b, big_add(b, big_divide(b, x, r), r), -1);
		if (big_compare(b, next, r) >= 0)
			break;
		r = big_keep(b, mark, next);
	}
	if (rounding == DP_ROUND_UP)
		r = big_add_word(b, r, 1);
	return big_keep(b, mark, r);
}

/* ----------------
 *		Proved bounds on logarithms and exponentials, over integers.
 *
 * All numbers here are non-negative integers in units of 2^-bits.  Each
 * function computes one bound, and every step on its way (a quotient, a
 * product, a term of a series, the tail that is cut off) is rounded in that
 * bound's direction; directions flip where a decreasing function is applied.
 * The only series are of positive terms, so truncating gives a lower bound,
 * and the tail is bounded by a geometric series: doc/theory.md T24.
 *
 * Neither bound is the nearest; both are within 2^16 units while bits are
 * below 256.
 * ----------------
 */

/* e^y is summed for y <= 2^-REDUCED_BITS only. */
#define REDUCED_BITS 8

/* 1/x; x > 0. */
static BIGNUM *
reciprocal(dp_big *b, const BIGNUM *x, unsigned bits, dp_rounding rounding)
{
	return dp_numbers_big_ratio(b, big_power(b, bits), x, bits, rounding);
}

/*
 * Divides a term and adds it to a sum, both in place.  False for the last one,
 * which is below one unit; rounding up, that is added as one.
 */
static bool
add_term(dp_big *b, BIGNUM *sum, BIGNUM *term, uint64_t divisor,
		 dp_rounding rounding)
{
	bool		good = b->status == DP_OK &&
		BN_div_word(term, divisor) != (BN_ULONG) -1;
	bool		last = !good || BN_is_zero(term);

	(void) big_made(b, sum, good &&
					(rounding == DP_ROUND_DOWN || BN_add_word(term, 1)) &&
					BN_add(sum, sum, term));
	return !last;
}

/*
 * Bound on 1 + sum over j >= 1 of y^j / (d_1 * ... * d_j), where d_j = j
 * (`odd` false: e^y, for y <= 1/2) or d_j = 2j(2j+1) (`odd` true:
 * sinh(x)/x with y = x^2, for y <= 1).
 *
 * Rounding up, the loop ends with a last term below one unit, added as one;
 * what follows it is below half, a quarter, ... of that, hence one more unit.
 */
static BIGNUM *
factorial_series(dp_big *b, const BIGNUM *y, bool odd, unsigned bits,
				 dp_rounding rounding)
{
	BIGNUM	   *sum = big_power(b, bits);
	BIGNUM	   *term = big_power(b, bits);
	unsigned	mark = b->used;
	uint64_t	j = 0;

	do
	{
		big_assign(b, term,
				   dp_numbers_big_product(b, term, y, bits, rounding));
		big_release(b, mark);
		j++;
	} while (add_term(b, sum, term, odd ? 2 * j * (2 * j + 1) : j, rounding));
	return rounding == DP_ROUND_DOWN ? sum : big_add_word(b, sum, 1);
}

/*
 * Bound on 2 artanh(num/den) = 2 sum over j >= 0 of t^(2j+1) / (2j+1), for
 * t = num/den <= 1/3.  The tail as in factorial_series, with ratio t^2.
 */
static BIGNUM *
twice_artanh(dp_big *b, const BIGNUM *num, const BIGNUM *den, unsigned bits,
			 dp_rounding rounding)
{
	BIGNUM	   *power = dp_numbers_big_ratio(b, num, den, bits, rounding);
	BIGNUM	   *square = dp_numbers_big_product(b, power, power, bits,
												rounding);
	BIGNUM	   *sum = big_of(b, 0);
	unsigned	mark = b->used;
	uint64_t	j = 1;

	while (add_term(b, sum, big_add_word(b, power, 0), j, rounding))
	{
		big_assign(b, power, dp_numbers_big_product(b, power, square, bits,
													rounding));
		big_release(b, mark);
		j += 2;
	}
	if (rounding == DP_ROUND_UP)
		sum = big_add_word(b, sum, 1);
	return big_shift(b, sum, 1);
}

/*
 * dp_numbers_big_log
 *	  Bound on ln(num / den).
 *
 * Requires: num >= den > 0.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T24: num/den = 2^k w with 1 <= w < 2, and ln w =
 *			 2 artanh((w-1)/(w+1)), ln 2 = 2 artanh(1/3).
 */
BIGNUM *
dp_numbers_big_log(dp_big *b, const BIGNUM *num, const BIGNUM *den,
				   unsigned bits, dp_rounding rounding)
{
	unsigned	mark = b->used;
	int			k = big_bits(b, num) - big_bits(b, den);
	BIGNUM	   *scaled = big_shift(b, den, k);
	BIGNUM	   *whole;
	BIGNUM	   *rest;

	if (big_compare(b, scaled, num) > 0)	/* then k >= 1 */
		scaled = big_shift(b, den, --k);
	rest = twice_artanh(b, big_subtract(b, num, scaled),
						big_add(b, num, scaled), bits, rounding);
	if (k == 0)
		return big_keep(b, mark, rest);
	whole = twice_artanh(b, big_of(b, 1), big_of(b, 3), bits, rounding);
	whole = big_multiply_word(b, whole, (uint64_t) k);
	return big_keep(b, mark, big_add(b, whole, rest));
}

/*
 * dp_numbers_big_exp
 *	  Bound on exp(-num / den).
 *
 * Requires: num >= 0, den > 0, bits >= 16.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T24: e^-x = (1 / e^y)^(2^k), y = x / 2^k < 2^-8.
 */
BIGNUM *
dp_numbers_big_exp(dp_big *b, const BIGNUM *num, const BIGNUM *den,
				   unsigned bits, dp_rounding rounding)
{
	const dp_rounding inverse = rounding == DP_ROUND_UP ? DP_ROUND_DOWN :
		DP_ROUND_UP;
	unsigned	mark = b->used;
	BIGNUM	   *x = dp_numbers_big_ratio(b, num, den, bits, inverse);
	int			size = big_bits(b, x) - (int) bits; /* x < 2^size */
	int			halvings = size + REDUCED_BITS;

	/* from 2^(size - 1) > bits on the value lies below one unit */
	if (size > 31 || (size > 0 && bits >> (size - 1) == 0))
		return big_keep(b, mark, big_of(b, rounding == DP_ROUND_UP ? 1 : 0));
	if (halvings < 0)
		halvings = 0;
	x = dp_numbers_big_shrink(b, x, (unsigned) halvings, inverse);
	x = factorial_series(b, x, false, bits, inverse);
	for (x = reciprocal(b, x, bits, rounding); halvings > 0; halvings--)
		x = big_keep(b, mark, dp_numbers_big_product(b, x, x, bits, rounding));
	return big_keep(b, mark, x);
}

/*
 * dp_numbers_big_over_sinh
 *	  Lower bound on x / sinh(x), x = num / den.
 *
 * Requires: num > 0, den > 0.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T24: up to x = 1 the series of sinh(x)/x; beyond,
 *			 2x e^-x / (1 - e^-2x), which increases in e^-x.
 */
BIGNUM *
dp_numbers_big_over_sinh(dp_big *b, const BIGNUM *num, const BIGNUM *den,
						 unsigned bits)
{
	unsigned	mark = b->used;
	BIGNUM	   *x;
	BIGNUM	   *y;

	if (big_compare(b, num, den) < 0)
	{
		x = dp_numbers_big_ratio(b, num, den, bits, DP_ROUND_UP);
		x = dp_numbers_big_product(b, x, x, bits, DP_ROUND_UP);
		x = factorial_series(b, x, true, bits, DP_ROUND_UP);
		return big_keep(b, mark, reciprocal(b, x, bits, DP_ROUND_DOWN));
	}
	y = dp_numbers_big_exp(b, num, den, bits, DP_ROUND_DOWN);
	x = dp_numbers_big_ratio(b, num, den, bits, DP_ROUND_DOWN);
	x = big_shift(b, big_multiply(b, x, y), 1);
	y = dp_numbers_big_product(b, y, y, bits, DP_ROUND_DOWN);
	y = big_subtract(b, big_power(b, bits), y);
	return big_keep(b, mark, big_divide(b, x, y));
}
