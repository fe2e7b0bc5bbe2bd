/*
 * big.c
 *	  The context of integers of any size, conversions, and rounded products,
 *	  quotients and roots.
 *
 * "Up" is floor + 1 throughout: not the ceiling, but never below it.
 */
#include "dp_big.h"

#include <openssl/crypto.h>

/*
 * dp_mech_big_begin
 *	  Begin a context.
 *
 * Requires: dp_mech_big_end at the end, whatever fails; nothing in between
 *			 leaves by longjmp.
 * Gives:	 a context without numbers; one that has failed with DP_E_MEMORY
 *			 when OpenSSL cannot allocate.
 * Source:	 doc/theory.md T20 (exact).
 */
void
dp_mech_big_begin(dp_big *b)
{
	b->used = 0;
	b->made = 0;
	b->context = BN_CTX_new();
	b->status = b->context != NULL ? DP_OK : DP_E_MEMORY;
	if (b->context != NULL)
		BN_CTX_start(b->context);
}

/*
 * dp_mech_big_end
 *	  End a context.
 *
 * Requires: b from dp_mech_big_begin.
 * Gives:	 DP_OK, or the first failure; all numbers are cleansed and freed.
 * Source:	 doc/theory.md T20 (exact).
 */
dp_status
dp_mech_big_end(dp_big *b)
{
	if (b->context != NULL)
		BN_CTX_end(b->context);
	BN_CTX_free(b->context);	/* cleanses what it frees */
	return b->status;
}

/*
 * dp_mech_big_check
 *	  Note a status in a context, which fails with the first failure.
 *
 * Requires: nothing.
 * Gives:	 whether the context has not failed yet.
 * Source:	 doc/theory.md T20 (exact).
 */
bool
dp_mech_big_check(dp_big *b, dp_status status)
{
	if (b->status == DP_OK)
		b->status = status;
	return b->status == DP_OK;
}

/*
 * dp_mech_big_new
 *	  One more number of a context.
 *
 * Requires: at most DP_BIG_NUMBERS at a time.
 * Gives:	 a number of no particular value; NULL when the context has failed,
 *			 with DP_E_MEMORY when OpenSSL cannot allocate or there are too
 *			 many.
 * Source:	 doc/theory.md T20 (exact).
 */
BIGNUM *
dp_mech_big_new(dp_big *b)
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
		(void) dp_mech_big_check(b, DP_E_MEMORY);
		return NULL;
	}
	b->number[b->made++] = x;
	b->used++;
	return x;
}

/*
 * dp_mech_big_of_limbs
 *	  The integer of n limbs, least significant first.
 *
 * Requires: n >= 1.
 * Gives:	 the number.
 * Source:	 doc/theory.md T20 (exact).
 */
BIGNUM *
dp_mech_big_of_limbs(dp_big *b, const uint64_t *limbs, unsigned n)
{
	BIGNUM	   *x = dp_mech_big_new(b);
	bool		good;

	while (n > 1 && limbs[n - 1] == 0)
		n--;
	good = x != NULL && BN_set_word(x, limbs[--n]);
	while (good && n-- > 0)
		good = BN_lshift(x, x, 64) && BN_add_word(x, limbs[n]);
	return big_made(b, x, good);
}

/*
 * dp_mech_big_get_limbs
 *	  The n limbs of an integer, least significant first.
 *
 * Requires: 0 <= x < 2^(64 n).
 * Gives:	 limbs set; a context that has failed with DP_E_OVERFLOW, limbs
 *			 untouched, when x is out of range.
 * Source:	 doc/theory.md T20 (exact).
 */
void
dp_mech_big_get_limbs(dp_big *b, const BIGNUM *x, uint64_t *limbs, unsigned n)
{
	int			size = (int) (8 * n);

	if (b->status != DP_OK)
		return;
	if (BN_is_negative(x) ||
		BN_bn2lebinpad(x, (unsigned char *) limbs, size) != size)
	{
		(void) dp_mech_big_check(b, DP_E_OVERFLOW);
		return;
	}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	for (; n > 0; n--)
		limbs[n - 1] = __builtin_bswap64(limbs[n - 1]);
#endif
}

/*
 * dp_mech_big_get
 *	  An integer of 128 bits.
 *
 * Requires: x >= 0.
 * Gives:	 x, or 2^128 - 1 for anything larger; 0 when the context has
 *			 failed.
 * Source:	 doc/theory.md T20 (exact).
 */
dp_uint128
dp_mech_big_get(dp_big *b, const BIGNUM *x)
{
	uint64_t	limbs[2] = {0, 0};
	dp_uint128	value;

	if (big_bits(b, x) > 128)
		return ~(dp_uint128) 0;
	dp_mech_big_get_limbs(b, x, limbs, 2);
	value = (dp_uint128) limbs[1] << 64 | limbs[0];
	OPENSSL_cleanse(limbs, sizeof(limbs));
	return value;
}

/*
 * dp_mech_big_shrink
 *	  Bound on x 2^-bits.
 *
 * Requires: x >= 0.
 * Gives:	 the floor, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_mech_big_shrink(dp_big *b, const BIGNUM *x, unsigned bits,
				   dp_rounding rounding)
{
	BIGNUM	   *r = dp_mech_big_new(b);

	return big_made(b, r, r != NULL && BN_rshift(r, x, (int) bits) &&
					(rounding == DP_ROUND_DOWN || BN_add_word(r, 1)));
}

/*
 * dp_mech_big_product
 *	  Bound on a product, all three in units of 2^-bits.
 *
 * Requires: x, y >= 0.
 * Gives:	 the floor of x y 2^-bits, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_mech_big_product(dp_big *b, const BIGNUM *x, const BIGNUM *y, unsigned bits,
					dp_rounding rounding)
{
	BIGNUM	   *r = dp_mech_big_new(b);

	return big_made(b, r, r != NULL && BN_mul(r, x, y, b->context) &&
					BN_rshift(r, r, (int) bits) &&
					(rounding == DP_ROUND_DOWN || BN_add_word(r, 1)));
}

/*
 * dp_mech_big_ratio
 *	  Bound on num/den in units of 2^-bits.
 *
 * Requires: num >= 0, den > 0.
 * Gives:	 the floor of num 2^bits / den, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_mech_big_ratio(dp_big *b, const BIGNUM *num, const BIGNUM *den,
				  unsigned bits, dp_rounding rounding)
{
	BIGNUM	   *r = dp_mech_big_new(b);

	return big_made(b, r, r != NULL && BN_lshift(r, num, (int) bits) &&
					BN_div(r, NULL, r, den, b->context) &&
					(rounding == DP_ROUND_DOWN || BN_add_word(r, 1)));
}

/*
 * dp_mech_big_root
 *	  Bound on the square root of an integer.
 *
 * Newton's iteration from above: r >= sqrt(x) falls until it is the floor.
 *
 * Requires: x >= 0.
 * Gives:	 the floor, or one more for DP_ROUND_UP.
 * Source:	 doc/theory.md T24.
 */
BIGNUM *
dp_mech_big_root(dp_big *b, const BIGNUM *x, dp_rounding rounding)
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
