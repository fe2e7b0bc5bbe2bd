/*
 * noise_internal.h
 *	  Private to noise: the pieces every sampler is made of, inlined, and draws
 *	  on integers of any width.
 */
#ifndef NOISE_INTERNAL_H
#define NOISE_INTERNAL_H

#include <string.h>

#include "../numbers/dp_numbers.h"
#include "dp_noise.h"

/*
 * The pieces every sampler is made of, inlined.
 *
 * A draw costs a handful of random bytes, so the pieces are inlined and the
 * buffer of the source is read directly.  Each piece takes bytes in
 * reservations: a reservation of n bytes is served whole from one buffer, and
 * what is left of a buffer too short for it is discarded unread.  Whether
 * bytes are discarded depends on earlier draws only, never on the discarded
 * bytes, so the bytes served stay independent and uniform (theory T1).
 *
 * The 64-bit, 128-bit and 256-bit uniforms make the same reservations for the
 * same n and give the same value for the same bytes; hence the 128-bit path
 * and the BIGNUM path of a sampler agree draw by draw, which tests rely on.
 */

#define DP_LIKELY(x) __builtin_expect((x) != 0, 1)

/* Discards the rest of the buffer and fills it anew (random.c). */
extern dp_status dp_noise_source_refill(dp_source *source);

/* Makes at least n unread bytes available; n <= DP_SOURCE_BUFFER. */
static inline dp_status
source_reserve(dp_source *source, size_t n)
{
	if (DP_LIKELY(DP_SOURCE_BUFFER - source->next >= n))
		return DP_OK;
	return dp_noise_source_refill(source);
}

/* One random byte; wipes it in the buffer. */
static inline dp_status
source_byte(dp_source *source, unsigned *out)
{
	dp_status	status = source_reserve(source, 1);

	if (status != DP_OK)
		return status;
	*out = source->buffer[source->next];
	source->buffer[source->next++] = 0;
	return DP_OK;
}

/* Zeroes n bytes, 1 <= n <= 8, with at most two stores. */
static inline void
wipe_small(unsigned char *p, unsigned n)
{
	if (n == 1)
		*p = 0;
	else if (n < 4)
	{
		memset(p, 0, 2);
		memset(p + n - 2, 0, 2);
	}
	else if (n < 8)
	{
		memset(p, 0, 4);
		memset(p + n - 4, 0, 4);
	}
	else
		memset(p, 0, 8);
}

/*
 * A word whose low n bytes, 1 <= n <= 8, are random, read least significant
 * first; the bytes above may hold anything and are masked by the caller.
 */
static inline dp_status
source_word(dp_source *source, unsigned n, uint64_t *out)
{
	dp_status	status = source_reserve(source, n);
	unsigned char *p;
	uint64_t	word = 0;
	unsigned	i;

	if (status != DP_OK)
		return status;
	p = source->buffer + source->next;
	if (DP_LIKELY(DP_SOURCE_BUFFER - source->next >= sizeof(word)))
	{
		memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		word = __builtin_bswap64(word);
#endif
	}
	else
		for (i = 0; i < n; i++)
			word |= (uint64_t) p[i] << (8 * i);
	wipe_small(p, n);
	source->next += n;
	*out = word;
	return DP_OK;
}

/* Number of bits of x > 0. */
static inline unsigned
bits64(uint64_t x)
{
	return 64 - (unsigned) __builtin_clzll(x);
}

/*
 * Uniform on [0, n), n >= 1, by rejection from the next power of two, with
 * just enough bytes.  n = 1 takes none.
 */
static inline dp_status
uniform64(dp_source *source, uint64_t n, uint64_t *out)
{
	dp_status	status;
	unsigned	bits;
	unsigned	byte;
	uint64_t	word;
	uint64_t	mask;

	if (n == 1)
	{
		*out = 0;
		return DP_OK;
	}
	bits = bits64(n - 1);
	mask = ~UINT64_C(0) >> (64 - bits);
	if (bits <= 8)
	{
		do
		{
			status = source_byte(source, &byte);
			if (status != DP_OK)
				return status;
			word = byte & mask;
		} while (word >= n);
	}
	else
	{
		do
		{
			status = source_word(source, (bits + 7) / 8, &word);
			if (status != DP_OK)
				return status;
			word &= mask;
		} while (word >= n);
	}
	*out = word;
	return DP_OK;
}

/* The same in 128 bits. */
static inline dp_status
uniform128(dp_source *source, dp_uint128 n, dp_uint128 *out)
{
	dp_status	status;
	dp_uint128	top = n - 1;
	dp_uint128	value;
	unsigned	bits;
	unsigned	bytes;
	unsigned	i;
	unsigned char *p;
	uint64_t	word = 0;

	if ((uint64_t) (top >> 64) == 0)
	{
		/* n = 2^64 takes eight bytes and never rejects */
		if ((uint64_t) top == UINT64_MAX)
			status = source_word(source, 8, &word);
		else
			status = uniform64(source, (uint64_t) n, &word);
		if (status == DP_OK)
			*out = word;
		return status;
	}
	bits = 64 + bits64((uint64_t) (top >> 64));
	bytes = (bits + 7) / 8;
	do
	{
		status = source_reserve(source, bytes);
		if (status != DP_OK)
			return status;
		p = source->buffer + source->next;
		value = 0;
		for (i = bytes; i-- > 0;)
			value = value << 8 | p[i];
		memset(p, 0, bytes);
		source->next += bytes;
		value &= ~(dp_uint128) 0 >> (128 - bits);
	} while (value > top);
	*out = value;
	return DP_OK;
}

/* Success with probability 1/k, k >= 1. */
static inline dp_status
bernoulli_reciprocal(dp_source *source, uint64_t k, bool *out)
{
	uint64_t	value;
	dp_status	status = uniform64(source, k, &value);

	if (status == DP_OK)
		*out = value == 0;
	return status;
}

/* Success with probability exp(-1): K of CKS starts at 2, as 1/1 is sure. */
static inline dp_status
bernoulli_exp_one(dp_source *source, bool *out)
{
	uint64_t	k = 2;
	bool		more;
	dp_status	status;

	for (;;)
	{
		status = bernoulli_reciprocal(source, k, &more);
		if (status != DP_OK)
			return status;
		if (!more)
			break;
		k++;
	}
	*out = k % 2 == 1;
	return DP_OK;
}

/*
 * Success with probability exp(-n/d) for 0 <= n <= d, d >= 1.  Bernoulli of
 * n/(d k) is drawn as Bernoulli(1/k) and Bernoulli(n/d), which are
 * independent: the law is the same, and d k never has to be formed.  The
 * body serves every width; UNIFORM draws below d and returns a dp_status.
 */
#define BERNOULLI_EXP_BODY(UNIFORM, NOT_BELOW) \
	do \
	{ \
		uint64_t	k_ = 1; \
		bool		more_; \
		dp_status	status_; \
		\
		for (;;) \
		{ \
			if (k_ > 1) \
			{ \
				status_ = bernoulli_reciprocal(source, k_, &more_); \
				if (status_ != DP_OK) \
					return status_; \
				if (!more_) \
					break; \
			} \
			status_ = (UNIFORM); \
			if (status_ != DP_OK) \
				return status_; \
			if (NOT_BELOW) \
				break; \
			k_++; \
		} \
		*out = k_ % 2 == 1; \
		return DP_OK; \
	} while (0)

static inline dp_status
bernoulli_exp64(dp_source *source, uint64_t n, uint64_t d, bool *out)
{
	uint64_t	value;

	BERNOULLI_EXP_BODY(uniform64(source, d, &value), value >= n);
}

static inline dp_status
bernoulli_exp128(dp_source *source, dp_uint128 n, dp_uint128 d, bool *out)
{
	dp_uint128	value;

	BERNOULLI_EXP_BODY(uniform128(source, d, &value), value >= n);
}

/*
 * Draws on integers of any width (dp_numbers.h).
 *
 * Each draw makes the reservations that noise_internal.h makes for the same
 * numbers and gives the same value for the same bytes, so that a sampler may
 * leave its 128-bit path at any draw without changing its law or what it
 * consumes.
 */

extern dp_status dp_noise_wide_uniform(dp_big *b, dp_source *source,
									   const BIGNUM *n, BIGNUM *out);
extern void dp_noise_wide_bernoulli_exp(dp_big *b, dp_source *source,
										const BIGNUM *num, const BIGNUM *den,
										bool *out);
extern dp_status dp_noise_bernoulli_exp_product(dp_source *source,
												dp_uint128 gap,
												const dp_rational *rate,
												bool *out);

#endif							/* NOISE_INTERNAL_H */
