/*
 * geometric.c
 *	  The geometric law of an exactly rational scale.
 *
 * A draw at scale t/s is floor((U + t V) / s): U uniform on [0, t), kept with
 * probability exp(-U/t); V the number of successes of exp(-1) coins before
 * the first failure.  U is drawn in 64, 128 or 256 bits.  The last step is
 * done in 128 bits when it provably fits and by OpenSSL's BIGNUM otherwise:
 * a narrow scale has t < 2^96 and s < 2^128, so for V < 2^31
 *
 *		U + t V < t (V + 1) <= 2^96 2^31 = 2^127.
 *
 * The three widths consume the same bytes for the same scale
 * (noise_internal.h).
 */
#include <openssl/crypto.h>

#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

#define LIMBS 4

/*
 * Any lower value only moves draws to BIGNUM; a unit test does so to reach
 * that branch of the narrow path, whose odds are exp(-2^31) here.
 */
#ifndef NARROW_SUCCESSES
#define NARROW_SUCCESSES (UINT64_C(1) << 31)
#endif

static inline bool
geometric_limbs_below(const uint64_t *a, const uint64_t *b)
{
	int			i;

	for (i = LIMBS - 1; i > 0; i--)
		if (a[i] != b[i])
			break;
	return a[i] < b[i];
}

static inline bool
geometric_limbs_zero(const uint64_t *a)
{
	return (a[0] | a[1] | a[2] | a[3]) == 0;
}

/* Uniform on [0, n), n >= 1, in 256 bits; the law of uniform64. */
static dp_status
uniform256(dp_source *source, const uint64_t *n, uint64_t *out)
{
	uint64_t	top[LIMBS];
	uint64_t	value[LIMBS];
	unsigned	bits;
	unsigned	bytes;
	unsigned	i;
	unsigned char *p;
	dp_status	status;

	/* top = n - 1 */
	for (i = 0; i < LIMBS; i++)
		top[i] = n[i];
	for (i = 0; top[i]-- == 0; i++)
		;
	if (geometric_limbs_zero(top))
	{
		for (i = 0; i < LIMBS; i++)
			out[i] = 0;
		return DP_OK;
	}
	for (i = LIMBS - 1; top[i] == 0; i--)
		;
	bits = 64 * i + bits64(top[i]);
	bytes = (bits + 7) / 8;
	do
	{
		status = source_reserve(source, bytes);
		if (status != DP_OK)
			return status;
		p = source->buffer + source->next;
		value[0] = value[1] = value[2] = value[3] = 0;
		for (i = 0; i < bytes; i++)
			value[i / 8] |= (uint64_t) p[i] << (8 * (i % 8));
		OPENSSL_cleanse(p, bytes);
		source->next += bytes;
		if (bits % 64 != 0)
			value[bits / 64] &= ~UINT64_C(0) >> (64 - bits % 64);
	} while (geometric_limbs_below(top, value));
	for (i = 0; i < LIMBS; i++)
		out[i] = value[i];
	OPENSSL_cleanse(value, sizeof(value));
	return DP_OK;
}

static dp_status
bernoulli_exp256(dp_source *source, const uint64_t *n, const uint64_t *d,
				 bool *out)
{
	uint64_t	value[LIMBS];

	BERNOULLI_EXP_BODY(uniform256(source, d, value),
					   !geometric_limbs_below(value, n));
}

/* floor((u + t v) / s) on BIGNUM. */
static dp_status
finish_wide(const dp_scale *scale, const uint64_t *u, uint64_t v,
			dp_int128 *out)
{
	dp_big		b;
	BIGNUM	   *x;
	dp_uint128	value;
	dp_status	status;

	dp_numbers_big_begin(&b);
	x = big_multiply(&b, dp_numbers_big_of_limbs(&b, scale->t, LIMBS),
					 big_of(&b, v));
	x = big_add(&b, x, dp_numbers_big_of_limbs(&b, u, LIMBS));
	x = big_divide(&b, x, dp_numbers_big_of_limbs(&b, scale->s, LIMBS));
	value = dp_numbers_big_get(&b, x);
	if (value >> 127 != 0)
		(void) dp_numbers_big_check(&b, DP_E_OVERFLOW);
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		*out = (dp_int128) value;
	return status;
}

/* The number of successes of exp(-1) coins before the first failure. */
static inline dp_status
count_successes(dp_source *source, uint64_t *out)
{
	uint64_t	v = 0;
	bool		success;
	dp_status	status;

	for (;;)
	{
		status = bernoulli_exp_one(source, &success);
		if (status != DP_OK)
			return status;
		if (!success)
			break;
		v++;
	}
	*out = v;
	return DP_OK;
}

/* U of the header comment for t < 2^64. */
static inline dp_status
draw_u64(dp_source *source, uint64_t t, uint64_t *out)
{
	uint64_t	u;
	bool		keep;
	dp_status	status;

	do
	{
		status = uniform64(source, t, &u);
		if (status != DP_OK)
			return status;
		status = bernoulli_exp64(source, u, t, &keep);
		if (status != DP_OK)
			return status;
	} while (!keep);
	*out = u;
	return DP_OK;
}

static dp_status
draw_u128(dp_source *source, dp_uint128 t, dp_uint128 *out)
{
	dp_uint128	u;
	bool		keep;
	dp_status	status;

	do
	{
		status = uniform128(source, t, &u);
		if (status != DP_OK)
			return status;
		status = bernoulli_exp128(source, u, t, &keep);
		if (status != DP_OK)
			return status;
	} while (!keep);
	*out = u;
	return DP_OK;
}

static dp_status
draw_u256(dp_source *source, const uint64_t *t, uint64_t *out)
{
	uint64_t	u[LIMBS];
	bool		keep;
	unsigned	i;
	dp_status	status;

	do
	{
		status = uniform256(source, t, u);
		if (status != DP_OK)
			return status;
		status = bernoulli_exp256(source, u, t, &keep);
		if (status != DP_OK)
			return status;
	} while (!keep);
	for (i = 0; i < LIMBS; i++)
		out[i] = u[i];
	return DP_OK;
}

static dp_status
geometric_wide(dp_source *source, const dp_scale *scale, dp_int128 *out)
{
	uint64_t	u[LIMBS];
	uint64_t	v;
	dp_status	status;

	status = draw_u256(source, scale->t, u);
	if (status != DP_OK)
		return status;
	status = count_successes(source, &v);
	if (status == DP_OK)
		status = finish_wide(scale, u, v, out);
	OPENSSL_cleanse(u, sizeof(u));
	return status;
}

static inline dp_status
geometric_narrow(dp_source *source, const dp_scale *scale, dp_int128 *out)
{
	dp_uint128	t = (dp_uint128) scale->t[1] << 64 | scale->t[0];
	dp_uint128	s = (dp_uint128) scale->s[1] << 64 | scale->s[0];
	dp_uint128	u;
	dp_uint128	x;
	uint64_t	u_small;
	uint64_t	v;
	dp_status	status;

	if (DP_LIKELY(scale->t[1] == 0))
	{
		status = draw_u64(source, scale->t[0], &u_small);
		if (status != DP_OK)
			return status;
		u = u_small;
	}
	else
	{
		status = draw_u128(source, t, &u);
		if (status != DP_OK)
			return status;
	}
	status = count_successes(source, &v);
	if (status != DP_OK)
		return status;
	if (!DP_LIKELY(v < NARROW_SUCCESSES))
	{
		const uint64_t u_limbs[LIMBS] =
		{(uint64_t) u, (uint64_t) (u >> 64), 0, 0};

		return finish_wide(scale, u_limbs, v, out);
	}
	x = u + t * v;
	if (s == 1)
		*out = (dp_int128) x;
	else if ((uint64_t) (x >> 64) == 0 && scale->s[1] == 0)
		*out = (dp_int128) ((uint64_t) x / scale->s[0]);
	else
		*out = (dp_int128) (x / s);
	return DP_OK;
}

/*
 * dp_noise_geometric
 *	  Draw G >= 0 with P[G >= m] = exp(-m s/t) for every integer m >= 0.
 *
 * Requires: scale from dp_noise_scale_make (clearing `narrow` is allowed and
 *			 changes neither the law nor the bytes consumed).
 * Gives:	 DP_OK with *out set; DP_E_OVERFLOW when the exact draw is 2^127
 *			 or more, DP_E_RANGE when t or s is 0, DP_E_RANDOM, DP_E_MEMORY;
 *			 *out is then untouched.
 * Source:	 doc/theory.md T4 (Canonne, Kamath, Steinke 2020), T8 (bounds).
 */
dp_status
dp_noise_geometric(dp_source *source, const dp_scale *scale, dp_int128 *out)
{
	if (geometric_limbs_zero(scale->t) || geometric_limbs_zero(scale->s))
		return DP_E_RANGE;
	if (DP_LIKELY(scale->narrow))
		return geometric_narrow(source, scale, out);
	return geometric_wide(source, scale, out);
}
