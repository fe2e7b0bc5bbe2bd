/*
 * interval.c
 *	  Proved bounds on logarithms and exponentials, over integers.
 *
 * All numbers here are non-negative integers in units of 2^-DP_BOUND_BITS.
 * Each function computes one bound, and every step on its way (a quotient, a
 * product, a term of a series, the tail that is cut off) is rounded in that
 * bound's direction; directions flip where a decreasing function is applied.
 * The only series are of positive terms, so truncating gives a lower bound,
 * and the tail is bounded by a geometric series: doc/theory.md T24.
 *
 * "Up" is floor + 1 throughout: not the ceiling, but never below it.
 */
#include "interval.h"

/* e^y is summed for y <= 2^-REDUCED_BITS only. */
#define REDUCED_BITS 8

/*
 * dp_acct_integer_set
 *	  A 128-bit integer as BIGNUM.
 *
 * Requires: out non-NULL.
 * Gives:	 true with *out = x; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T20 (exact).
 */
bool
dp_acct_integer_set(BIGNUM *out, dp_uint128 x)
{
	unsigned char bytes[16];
	int			i;

	for (i = 15; i >= 0; i--)
	{
		bytes[i] = (unsigned char) x;
		x >>= 8;
	}
	return BN_bin2bn(bytes, sizeof(bytes), out) != NULL;
}

/*
 * dp_acct_integer_get
 *	  A BIGNUM as 128-bit integer.
 *
 * Requires: x >= 0.
 * Gives:	 true with *out = x; false when x does not fit.
 * Source:	 doc/theory.md T20 (exact).
 */
bool
dp_acct_integer_get(const BIGNUM *x, dp_uint128 *out)
{
	unsigned char bytes[16];
	dp_uint128	value = 0;
	int			i;

	if (BN_is_negative(x) ||
		BN_bn2binpad(x, bytes, sizeof(bytes)) != (int) sizeof(bytes))
		return false;
	for (i = 0; i < 16; i++)
		value = value << 8 | bytes[i];
	*out = value;
	return true;
}

/* r = a * b, rounded. */
static bool
multiply(BIGNUM *r, const BIGNUM *a, const BIGNUM *b, dp_rounding rounding,
		 BN_CTX *ctx)
{
	return BN_mul(r, a, b, ctx) &&
		BN_rshift(r, r, DP_BOUND_BITS) &&
		(rounding == DP_ROUND_DOWN || BN_add_word(r, 1));
}

/* r = 1 / a, rounded; a > 0. */
static bool
reciprocal(BIGNUM *r, const BIGNUM *a, dp_rounding rounding, BN_CTX *ctx)
{
	BIGNUM	   *one;
	bool		ok = false;

	BN_CTX_start(ctx);
	one = BN_CTX_get(ctx);
	if (one != NULL &&
		BN_set_word(one, 1) &&
		BN_lshift(one, one, 2 * DP_BOUND_BITS) &&
		BN_div(r, NULL, one, a, ctx))
		ok = rounding == DP_ROUND_DOWN || BN_add_word(r, 1);
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_bound_ratio
 *	  Bound on num / den.
 *
 * Requires: num >= 0, den > 0.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24.
 */
bool
dp_acct_bound_ratio(BIGNUM *out, const BIGNUM *num, const BIGNUM *den,
					dp_rounding rounding, BN_CTX *ctx)
{
	BIGNUM	   *shifted;
	bool		ok = false;

	BN_CTX_start(ctx);
	shifted = BN_CTX_get(ctx);
	if (shifted != NULL &&
		BN_lshift(shifted, num, DP_BOUND_BITS) &&
		BN_div(out, NULL, shifted, den, ctx))
		ok = rounding == DP_ROUND_DOWN || BN_add_word(out, 1);
	BN_CTX_end(ctx);
	return ok;
}

/*
 * Bound on 1 + sum over j >= 1 of y^j / (d_1 * ... * d_j), where d_j = j
 * (`odd` false: e^y, for y <= 1/2) or d_j = 2j(2j+1) (`odd` true:
 * sinh(x)/x with y = x^2, for y <= 1).
 *
 * Rounding up, the loop ends with a last term below one unit, added as one;
 * what follows it is below half, a quarter, ... of that, hence one more unit.
 */
static bool
factorial_series(BIGNUM *sum, const BIGNUM *y, bool odd, dp_rounding rounding,
				 BN_CTX *ctx)
{
	BIGNUM	   *term;
	BN_ULONG	j;
	bool		ok = false;

	BN_CTX_start(ctx);
	term = BN_CTX_get(ctx);
	if (term == NULL || !BN_set_word(term, 1) ||
		!BN_lshift(term, term, DP_BOUND_BITS) || BN_copy(sum, term) == NULL)
		goto done;
	for (j = 1;; j++)
	{
		bool		last;

		if (!multiply(term, term, y, rounding, ctx) ||
			BN_div_word(term, odd ? 2 * j * (2 * j + 1) : j) ==
			(BN_ULONG) -1)
			goto done;
		last = BN_is_zero(term);
		if (rounding == DP_ROUND_UP && !BN_add_word(term, 1))
			goto done;
		if (!BN_add(sum, sum, term))
			goto done;
		if (last)
			break;
	}
	ok = rounding == DP_ROUND_DOWN || BN_add_word(sum, 1);
done:
	BN_CTX_end(ctx);
	return ok;
}

/*
 * Bound on 2 artanh(num/den) = 2 sum over j >= 0 of t^(2j+1) / (2j+1), for
 * t = num/den <= 1/3.  The tail as in factorial_series, with ratio t^2.
 */
static bool
twice_artanh(BIGNUM *sum, const BIGNUM *num, const BIGNUM *den,
			 dp_rounding rounding, BN_CTX *ctx)
{
	BIGNUM	   *power;
	BIGNUM	   *square;
	BIGNUM	   *term;
	BN_ULONG	j;
	bool		ok = false;

	BN_CTX_start(ctx);
	power = BN_CTX_get(ctx);
	square = BN_CTX_get(ctx);
	term = BN_CTX_get(ctx);
	if (term == NULL ||
		!dp_acct_bound_ratio(power, num, den, rounding, ctx) ||
		!multiply(square, power, power, rounding, ctx))
		goto done;
	BN_zero(sum);
	for (j = 1;; j += 2)
	{
		bool		last;

		if (BN_copy(term, power) == NULL ||
			BN_div_word(term, j) == (BN_ULONG) -1)
			goto done;
		last = BN_is_zero(term);
		if (rounding == DP_ROUND_UP && !BN_add_word(term, 1))
			goto done;
		if (!BN_add(sum, sum, term))
			goto done;
		if (last)
			break;
		if (!multiply(power, power, square, rounding, ctx))
			goto done;
	}
	ok = (rounding == DP_ROUND_DOWN || BN_add_word(sum, 1)) &&
		BN_lshift1(sum, sum);
done:
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_bound_log
 *	  Bound on ln(num / den).
 *
 * Requires: num >= den > 0.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24: num/den = 2^k w with 1 <= w < 2, and ln w =
 *			 2 artanh((w-1)/(w+1)), ln 2 = 2 artanh(1/3).
 */
bool
dp_acct_bound_log(BIGNUM *out, const BIGNUM *num, const BIGNUM *den,
				  dp_rounding rounding, BN_CTX *ctx)
{
	BIGNUM	   *scaled;
	BIGNUM	   *difference;
	BIGNUM	   *total;
	BIGNUM	   *part;
	int			k = BN_num_bits(num) - BN_num_bits(den);
	bool		ok = false;

	BN_CTX_start(ctx);
	scaled = BN_CTX_get(ctx);
	difference = BN_CTX_get(ctx);
	total = BN_CTX_get(ctx);
	part = BN_CTX_get(ctx);
	if (part == NULL || !BN_lshift(scaled, den, k))
		goto done;
	if (BN_cmp(scaled, num) > 0)	/* then k >= 1, since num >= den */
	{
		k--;
		if (!BN_rshift1(scaled, scaled))
			goto done;
	}
	if (!BN_sub(difference, num, scaled) ||
		!BN_add(total, num, scaled) ||
		!twice_artanh(part, difference, total, rounding, ctx))
		goto done;
	if (k > 0)
	{
		if (!BN_set_word(difference, 1) ||
			!BN_set_word(total, 3) ||
			!twice_artanh(scaled, difference, total, rounding, ctx) ||
			!BN_mul_word(scaled, (BN_ULONG) k))
			goto done;
	}
	else
		BN_zero(scaled);
	ok = BN_add(out, part, scaled);
done:
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_bound_exp
 *	  Bound on exp(-num / den).
 *
 * Requires: num >= 0, den > 0.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24: e^-x = (1 / e^y)^(2^k), y = x / 2^k < 2^-8.
 */
bool
dp_acct_bound_exp(BIGNUM *out, const BIGNUM *num, const BIGNUM *den,
				  dp_rounding rounding, BN_CTX *ctx)
{
	dp_rounding inverse = rounding == DP_ROUND_UP ? DP_ROUND_DOWN :
		DP_ROUND_UP;
	BIGNUM	   *x;
	BIGNUM	   *sum;
	int			halvings;
	bool		ok = false;

	BN_CTX_start(ctx);
	x = BN_CTX_get(ctx);
	sum = BN_CTX_get(ctx);
	if (sum == NULL || !dp_acct_bound_ratio(x, num, den, inverse, ctx))
		goto done;

	/* Beyond 2^8 > DP_BOUND_BITS ln 2 the value lies below one unit. */
	if (BN_num_bits(x) > DP_BOUND_BITS + 8)
	{
		ok = BN_set_word(out, rounding == DP_ROUND_UP ? 1 : 0);
		goto done;
	}
	halvings = BN_num_bits(x) - (DP_BOUND_BITS - REDUCED_BITS);
	if (halvings < 0)
		halvings = 0;
	if (!BN_rshift(x, x, halvings) ||
		(inverse == DP_ROUND_UP && !BN_add_word(x, 1)) ||
		!factorial_series(sum, x, false, inverse, ctx) ||
		!reciprocal(out, sum, rounding, ctx))
		goto done;
	for (; halvings > 0; halvings--)
		if (!multiply(out, out, out, rounding, ctx))
			goto done;
	ok = true;
done:
	BN_CTX_end(ctx);
	return ok;
}

/*
 * dp_acct_bound_sinh
 *	  Lower bound on x / sinh(x), x = num / den.
 *
 * Requires: num > 0, den > 0.
 * Gives:	 the bound; false when OpenSSL could not allocate.
 * Source:	 doc/theory.md T24: up to x = 1 the series of sinh(x)/x; beyond,
 *			 2x e^-x / (1 - e^-2x), which increases in e^-x.
 */
bool
dp_acct_bound_sinh(BIGNUM *out, const BIGNUM *num, const BIGNUM *den,
				   BN_CTX *ctx)
{
	BIGNUM	   *x;
	BIGNUM	   *sum;
	BIGNUM	   *one;
	bool		ok = false;

	BN_CTX_start(ctx);
	x = BN_CTX_get(ctx);
	sum = BN_CTX_get(ctx);
	one = BN_CTX_get(ctx);
	if (one == NULL || !BN_set_word(one, 1) ||
		!BN_lshift(one, one, DP_BOUND_BITS))
		goto done;
	if (BN_cmp(num, den) < 0)
	{
		ok = dp_acct_bound_ratio(x, num, den, DP_ROUND_UP, ctx) &&
			multiply(x, x, x, DP_ROUND_UP, ctx) &&
			factorial_series(sum, x, true, DP_ROUND_UP, ctx) &&
			reciprocal(out, sum, DP_ROUND_DOWN, ctx);
		goto done;
	}
	if (!dp_acct_bound_exp(sum, num, den, DP_ROUND_DOWN, ctx) ||
		!dp_acct_bound_ratio(x, num, den, DP_ROUND_DOWN, ctx) ||
		!BN_mul(x, x, sum, ctx) || !BN_lshift1(x, x) ||
		!multiply(sum, sum, sum, DP_ROUND_DOWN, ctx) ||
		!BN_sub(one, one, sum))
		goto done;
	ok = BN_div(out, NULL, x, one, ctx);
done:
	BN_CTX_end(ctx);
	return ok;
}
