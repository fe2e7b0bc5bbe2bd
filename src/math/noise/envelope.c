/*
 * envelope.c
 *	  The exponential mechanism over levels of equal score, each standing for
 *	  a huge number of candidates.
 *
 * Level i has the weight w_i = 2^p N_i exp(-rate gap_i).  Integers L_i <= w_i
 * <= U_i are cheap; r is drawn uniformly below the sum of all U_i and falls
 * into the block of one level i at a place r' < U_i.  For r' + 1 <= L_i it is
 * level i.  Otherwise, which is rare, r' + u < w_i is decided, u uniform in
 * [0, 1), by revealing u 64 bits at a time and bounding w_i that much more
 * closely; if not, the trial is repeated.  So a trial ends in level i with
 * probability w_i / sum U, whatever the bounds are (theory T18): they only
 * move the running time.
 *
 * Bounds.  exp(-rate 2^j) is bounded for every j by squaring, in units of
 * 2^-p, up to the J at which it is at most one unit.  A gap below 2^J is the
 * product of the entries of its bits; a larger one has 0 <= exp <= 1 unit.
 * An entry T and the truth differ by at most s units, T <= truth <= T + s.
 * If a <= A <= a + e then floor(a T / 2^p) <= A truth / 2^p and exceeds it by
 * at most e + s + 2 units as long as e s < 2^p.
 */
#include <openssl/crypto.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

/* p is 64 (width + EXTRA_LIMBS); a unit test lowers it. */
#ifndef EXTRA_LIMBS
#define EXTRA_LIMBS 2
#endif
#define LIMBS_MAX (DP_ENVELOPE_WIDTH + 2)	/* of a number below 2^p */
#define TOTAL_MAX (2 * DP_ENVELOPE_WIDTH + 4)	/* of a sum of weights */
#define BITS DP_ENVELOPE_BITS
#define GUARD_BITS 160			/* 128 squarings cost less than 2^130 units */
#define SLACK_MAX 65535
#define EXP_BITS 64				/* by which exp is bounded more closely */

typedef struct envelope
{
	const dp_int128 *scores;
	const uint64_t *counts;
	size_t		width;
	const dp_envelope *law;
	dp_int128	best;			/* of the levels that have candidates */
	unsigned	limbs;			/* p / 64 */
	unsigned	total_limbs;
} envelope;

/* ---- integers of few limbs, least significant first ---- */

static inline void
limbs_add(uint64_t *sum, unsigned size, const uint64_t *x, unsigned x_size)
{
	unsigned char carry = 0;
	unsigned	i;
	uint64_t	y;

	for (i = 0; i < size && (i < x_size || carry); i++)
	{
		y = i < x_size ? x[i] : 0;
		sum[i] += carry;
		carry = sum[i] < carry;
		sum[i] += y;
		carry |= sum[i] < y;
	}
}

static inline void
limbs_subtract(uint64_t *from, unsigned size, const uint64_t *x,
			   unsigned x_size)
{
	uint64_t	borrow = 0;
	uint64_t	before;
	uint64_t	y;
	unsigned	i;

	for (i = 0; i < size && (i < x_size || borrow); i++)
	{
		y = i < x_size ? x[i] : 0;
		before = from[i];
		from[i] = before - y - borrow;
		borrow = before < y || (before == y && borrow);
	}
}

/* x < y for x_size >= y_size. */
static inline bool
envelope_limbs_below(const uint64_t *x, unsigned x_size, const uint64_t *y,
					 unsigned y_size)
{
	unsigned	i;

	for (i = x_size; i > y_size; i--)
		if (x[i - 1] != 0)
			return false;
	for (i = y_size; i > 0; i--)
		if (x[i - 1] != y[i - 1])
			return x[i - 1] < y[i - 1];
	return false;
}

/* out = x y, of x_size + y_size limbs. */
static inline void
limbs_multiply(const uint64_t *x, unsigned x_size, const uint64_t *y,
			   unsigned y_size, uint64_t *out)
{
	dp_uint128	step;
	uint64_t	carry;
	unsigned	i;
	unsigned	j;

	memset(out, 0, (x_size + y_size) * sizeof(uint64_t));
	for (i = 0; i < x_size; i++)
	{
		carry = 0;
		for (j = 0; j < y_size; j++)
		{
			step = (dp_uint128) x[i] * y[j] + out[i + j] + carry;
			out[i + j] = (uint64_t) step;
			carry = (uint64_t) (step >> 64);
		}
		out[i + y_size] = carry;
	}
}

static inline bool
envelope_limbs_zero(const uint64_t *x, size_t size)
{
	while (size > 0)
		if (x[--size] != 0)
			return false;
	return true;
}

/* ---- the envelope ---- */

/* Bound on exp(-rate gap) in units of 2^-p; both are at most 2 units apart. */
static BIGNUM *
weight_bound(dp_big *b, dp_uint128 gap, const dp_rational *rate, unsigned p,
			 dp_rounding rounding)
{
	unsigned	mark = b->used;
	BIGNUM	   *x = big_multiply(b, big_of(b, gap), big_of(b, rate->num));

	x = dp_numbers_big_exp(b, x, big_of(b, rate->den), p + EXP_BITS, rounding);
	return big_keep(b, mark, dp_numbers_big_shrink(b, x, EXP_BITS, rounding));
}

/* Fills table, entries and slack. */
static void
make_table(dp_envelope *e, dp_big *b)
{
	unsigned	w = 64 * e->limbs + GUARD_BITS;
	BIGNUM	   *low = weight_bound(b, 1, &e->rate, w, DP_ROUND_DOWN);
	BIGNUM	   *high = weight_bound(b, 1, &e->rate, w, DP_ROUND_UP);
	BIGNUM	   *bottom;
	BIGNUM	   *top;
	uint64_t	width;
	unsigned	mark = b->used;

	e->slack = 0;
	for (e->entries = 0; e->entries < BITS; e->entries++)
	{
		bottom = dp_numbers_big_shrink(b, low, GUARD_BITS, DP_ROUND_DOWN);
		top = dp_numbers_big_shrink(b, high, GUARD_BITS, DP_ROUND_UP);
		if (big_bits(b, top) <= 1)
			break;				/* at most one unit */
		dp_numbers_big_get_limbs(b, bottom, e->table[e->entries], e->limbs);
		width = (uint64_t) dp_numbers_big_get(b, big_subtract(b, top, bottom));
		if (width > SLACK_MAX)	/* GUARD_BITS forbids it */
			(void) dp_numbers_big_check(b, DP_E_OVERFLOW);
		if (width > e->slack)
			e->slack = width;
		big_assign(b, low,
				   dp_numbers_big_product(b, low, low, w, DP_ROUND_DOWN));
		big_assign(b, high, dp_numbers_big_product(b, high, high, w,
												   DP_ROUND_UP));
		big_release(b, mark);
	}
}

static inline dp_uint128
envelope_gap_of(const envelope *e, size_t i)
{
	return (dp_uint128) e->best - (dp_uint128) e->scores[i];
}

/*
 * Bounds of exp(-rate gap) in units of 2^-p: low of e->limbs + 1 limbs, high =
 * low + *error.  Returns false for a gap whose bounds are 0 and 1.
 */
static bool
level_bounds(const dp_envelope *e, dp_uint128 gap, uint64_t *low,
			 uint64_t *error)
{
	uint64_t	product[2 * LIMBS_MAX];
	unsigned	j;
	bool		first = true;

	if (e->entries < BITS && gap >> e->entries != 0)
		return false;
	*error = 0;
	low[e->limbs] = 0;
	for (j = 0; gap != 0; j++, gap >>= 1)
	{
		if ((gap & 1) == 0)
			continue;
		if (first)
			memcpy(low, e->table[j], e->limbs * sizeof(uint64_t));
		else
		{
			limbs_multiply(low, e->limbs, e->table[j], e->limbs, product);
			memcpy(low, product + e->limbs, e->limbs * sizeof(uint64_t));
		}
		first = false;
		*error += e->slack + 2;
	}
	if (first)
	{
		memset(low, 0, e->limbs * sizeof(uint64_t));
		low[e->limbs] = 1;
	}
	return true;
}

/* U_i and, unless NULL, L_i, of e->total_limbs limbs each. */
static void
level_weight(const envelope *e, size_t i, uint64_t *upper, uint64_t *lower)
{
	const uint64_t *count = e->counts + i * e->width;
	uint64_t	bound[LIMBS_MAX + 1];
	uint64_t	error;
	unsigned	width = (unsigned) e->width;

	memset(upper, 0, e->total_limbs * sizeof(uint64_t));
	if (lower != NULL)
		memset(lower, 0, e->total_limbs * sizeof(uint64_t));
	if (!level_bounds(e->law, envelope_gap_of(e, i), bound, &error))
	{
		memcpy(upper, count, e->width * sizeof(uint64_t));
		return;
	}
	if (lower != NULL)
		limbs_multiply(count, width, bound, e->limbs + 1, lower);
	limbs_add(bound, e->limbs + 1, &error, 1);
	limbs_multiply(count, width, bound, e->limbs + 1, upper);
}

/* Whether place + u < w_i for u uniform in [0, 1). */
static bool
refine(dp_big *b, dp_source *source, const envelope *e, size_t i,
	   const uint64_t *place)
{
	unsigned	shift = 64 * (unsigned) e->width + 8;
	unsigned	p = 64 * e->limbs;
	BIGNUM	   *x = dp_numbers_big_of_limbs(b, place, e->total_limbs);
	BIGNUM	   *count = dp_numbers_big_of_limbs(b, e->counts + i * e->width,
												(unsigned) e->width);
	BIGNUM	   *bound;
	unsigned	mark = b->used;
	uint64_t	word = 0;

	while (dp_numbers_big_check(b, source_word(source, 8, &word)))
	{
		p += 64;
		big_assign(b, x, big_add(b, big_shift(b, x, 64), big_of(b, word)));
		bound = weight_bound(b, envelope_gap_of(e, i), &e->law->rate,
							 p + shift, DP_ROUND_DOWN);
		bound = dp_numbers_big_shrink(b, big_multiply(b, bound, count), shift,
									  DP_ROUND_DOWN);
		if (big_compare(b, x, bound) < 0)
			return true;
		bound = weight_bound(b, envelope_gap_of(e, i), &e->law->rate,
							 p + shift, DP_ROUND_UP);
		bound = dp_numbers_big_shrink(b, big_multiply(b, bound, count), shift,
									  DP_ROUND_UP);
		if (big_compare(b, x, bound) >= 0)
			return false;
		big_release(b, mark);
	}
	return false;
}

/* One trial: whether it ended in a level, and in which. */
static bool
trial(dp_big *b, dp_source *source, const envelope *e, const BIGNUM *total,
	  size_t *level)
{
	unsigned	mark = b->used;
	uint64_t	place[TOTAL_MAX] = {0};
	uint64_t	upper[TOTAL_MAX];
	uint64_t	lower[TOTAL_MAX];
	BIGNUM	   *draw = dp_numbers_big_new(b);
	size_t		i;
	bool		found;

	if (dp_noise_wide_uniform(b, source, total, draw) != DP_OK)
		return false;
	dp_numbers_big_get_limbs(b, draw, place, e->total_limbs);
	for (i = 0;; i++)
	{
		level_weight(e, i, upper, NULL);
		if (envelope_limbs_below(place, e->total_limbs, upper, e->total_limbs))
			break;
		limbs_subtract(place, e->total_limbs, upper, e->total_limbs);
	}
	level_weight(e, i, upper, lower);
	found = envelope_limbs_below(place, e->total_limbs, lower,
								 e->total_limbs) ||
		refine(b, source, e, i, place);
	*level = i;
	OPENSSL_cleanse(place, sizeof(place));
	big_release(b, mark);
	return found;
}

/* A rank uniform below the multiplicity of a level. */
static void
rank_below(dp_big *b, dp_source *source, const envelope *e, size_t level,
		  uint64_t *rank)
{
	BIGNUM	   *count = dp_numbers_big_of_limbs(b,
												e->counts + level * e->width,
												(unsigned) e->width);
	BIGNUM	   *draw = dp_numbers_big_new(b);

	if (dp_noise_wide_uniform(b, source, count, draw) == DP_OK)
		dp_numbers_big_get_limbs(b, draw, rank, (unsigned) e->width);
}

/*
 * dp_noise_envelope_make
 *	  Prepare draws at a rate over multiplicities of `width` limbs.
 *
 * Requires: rate from dp_noise_selection_rate.
 * Gives:	 DP_OK with *out set, to be used for any number of draws;
 *			 DP_E_RANGE when the rate is 0 or width is not in
 *			 1 .. DP_ENVELOPE_WIDTH, DP_E_MEMORY; *out may hold anything
 *			 then.
 * Source:	 doc/theory.md T18.
 */
dp_status
dp_noise_envelope_make(const dp_rational *rate, size_t width,
					   dp_envelope *out)
{
	dp_big		b;

	if (rate->den == 0 || rate->num == 0 || width == 0 ||
		width > DP_ENVELOPE_WIDTH)
		return DP_E_RANGE;
	out->rate = *rate;
	out->width = width;
	out->limbs = (unsigned) width + EXTRA_LIMBS;
	dp_numbers_big_begin(&b);
	make_table(out, &b);
	return dp_numbers_big_end(&b);
}

/*
 * dp_noise_envelope
 *	  Draw level i with probability proportional to N_i exp(rate scores[i]),
 *	  then, unless rank is NULL, a rank uniform in [0, N_i).
 *
 * Requires: law from dp_noise_envelope_make; n >= 1 levels; N_i is the integer
 *			 of law->width limbs, least significant first, at counts + i
 *			 width; some N_i > 0; rank of width limbs.
 * Gives:	 DP_OK with *out and rank set; DP_E_RANGE when n or all N_i are 0,
 *			 DP_E_RANDOM, DP_E_MEMORY; the outputs are then untouched.  Takes
 *			 time in proportion to n, and no memory that depends on n.
 * Source:	 doc/theory.md T18.
 */
dp_status
dp_noise_envelope(dp_source *source, const dp_envelope *law,
				  const dp_int128 *scores, const uint64_t *counts, size_t n,
				  size_t *out, uint64_t *rank)
{
	dp_big		b;
	envelope	e;
	uint64_t	sum[TOTAL_MAX] = {0};
	uint64_t	upper[TOTAL_MAX];
	BIGNUM	   *total;
	size_t		level = 0;
	size_t		i;
	bool		any = false;
	dp_status	status;

	for (i = 0; i < n; i++)
		if (!envelope_limbs_zero(counts + i * law->width, law->width) &&
			(!any || scores[i] > e.best))
		{
			any = true;
			e.best = scores[i];
		}
	if (!any)
		return DP_E_RANGE;
	e.scores = scores;
	e.counts = counts;
	e.width = law->width;
	e.law = law;
	e.limbs = law->limbs;

	/* N_i < 2^(64 width), a bound < 2^(p + 64), n < 2^64 */
	e.total_limbs = (unsigned) law->width + e.limbs + 2;
	for (i = 0; i < n; i++)
	{
		level_weight(&e, i, upper, NULL);
		limbs_add(sum, e.total_limbs, upper, e.total_limbs);
	}

	dp_numbers_big_begin(&b);
	total = dp_numbers_big_of_limbs(&b, sum, e.total_limbs);
	while (!trial(&b, source, &e, total, &level) && b.status == DP_OK)
		;
	if (rank != NULL)
		rank_below(&b, source, &e, level, rank);
	status = dp_numbers_big_end(&b);
	if (status == DP_OK)
		*out = level;
	return status;
}
