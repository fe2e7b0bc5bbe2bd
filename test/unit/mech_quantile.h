/*
 * mech_quantile.h
 *	  What the tests of the quantile share: problems, the law by its
 *	  definition, counted row by row, and the blocks of quantile.c.
 */
#ifndef MECH_QUANTILE_H
#define MECH_QUANTILE_H

#define dp_noise_quantile quantile_seen
#define dp_noise_quantile_sensitivity quantile_seen_sensitivity
#define dp_noise_extreme extreme_seen
#include "dp_numbers.h"
#include "dp_noise.h"
#include "../../src/math/noise/quantile.c"
#undef dp_noise_quantile
#undef dp_noise_quantile_sensitivity
#undef dp_noise_extreme

extern dp_status dp_noise_quantile_sensitivity(dp_uint128 a, dp_uint128 d,
											   uint64_t rows_of_unit,
											   bool replace, dp_uint128 *out);
extern dp_status dp_noise_quantile(dp_source *source, const dp_envelope *law,
								   const dp_ranked_rows *ranked,
								   int64_t low, int64_t high,
								   dp_uint128 a, dp_uint128 d, int64_t *out);
extern dp_status dp_noise_extreme(dp_source *source, const dp_envelope *law,
								  const dp_ranked_rows *ranked,
								  int64_t low, int64_t high, dp_uint128 rank,
								  dp_uint128 d, bool greatest, int64_t *out);

#include "mech_choice.h"
#include "tap.h"

#define N_MAX 64
#define BIT(n) ((dp_uint128) 1 << (n))

typedef struct problem
{
	int64_t		values[N_MAX];
	uint64_t	counts[N_MAX];
	size_t		n;
	bool		dense;			/* hand over counts only */
	int64_t		low;
	int64_t		high;
	dp_uint128	a;
	dp_uint128	d;
	dp_rational rate;
} problem;

static dp_source random_source;

/* Reproducible numbers for examples; no draw of the mechanism uses them. */
static uint64_t seed = 20261121;

static inline uint64_t
below(uint64_t n)
{
	uint64_t	x;

	fake_fill(&seed, &x, sizeof(x));
	return x % n;
}

/* What was prepared for the rate before is kept. */
static inline const dp_envelope *
envelope_of(const problem *c)
{
	static dp_envelope law;
	static dp_rational last = {0, 1};

	if (c->rate.num != last.num || c->rate.den != last.den)
	{
		if (dp_noise_envelope_make(&c->rate, 1, &law) != DP_OK)
			exit(2);
		last = c->rate;
	}
	return &law;
}

static inline dp_status
choose(dp_source *source, const problem *c, int64_t *out)
{
	static bool narrow = false;
	uint32_t	counts32[N_MAX];
	dp_ranked_rows ranked = {c->dense ? NULL : c->values, c->counts, counts32,
	c->n};
	bool		fits = true;
	size_t		j;

	for (j = 0; j < c->n; j++)
	{
		counts32[j] = (uint32_t) c->counts[j];
		fits = fits && counts32[j] == c->counts[j];
	}
	narrow = !narrow;			/* every other time, where it can be */
	if (narrow && fits)
		ranked.counts = NULL;
	return dp_noise_quantile(source, envelope_of(c), &ranked, c->low, c->high,
							 c->a, c->d, out);
}

static inline bool
draw_value(void *state, double *out)
{
	const problem *c = state;
	int64_t		value;

	if (choose(&random_source, c, &value) != DP_OK)
		return false;
	*out = (double) value - (double) c->low;
	return true;
}

/* ---- the definition ---- */

static inline dp_uint128
penalty_of(const problem *c, int64_t v)
{
	dp_int128	less = 0;
	dp_int128	equal = 0;
	dp_int128	all = 0;
	dp_int128	x;
	dp_int128	y;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		int64_t		value = c->dense ? c->low + (int64_t) i : c->values[i];

		all += c->counts[i];
		less += value < v ? c->counts[i] : 0;
		equal += value == v ? c->counts[i] : 0;
	}
	x = (dp_int128) c->a * all - (dp_int128) c->d * (less + equal);
	y = (dp_int128) c->d * less - (dp_int128) c->a * all;
	x = x > y ? x : y;
	return (dp_uint128) (x > 0 ? x : 0);
}

static inline int
law_of(const problem *c, double *probability)
{
	double		rate = (double) c->rate.num / (double) c->rate.den;
	double		sum = 0;
	int			n = (int) (c->high - c->low + 1);
	int			i;

	for (i = 0; i < n; i++)
		sum += probability[i] = exp(-rate *
									(double) penalty_of(c, c->low + i));
	for (i = 0; i < n; i++)
		probability[i] /= sum;
	return n;
}

static inline void
set_rate(problem *c, const dp_rational *epsilon, uint64_t rows_of_unit,
		 bool replace)
{
	dp_uint128	sensitivity;

	if (dp_noise_quantile_sensitivity(c->a, c->d, rows_of_unit, replace,
									  &sensitivity) != DP_OK ||
		dp_noise_selection_rate(epsilon, sensitivity, false,
								&c->rate) != DP_OK)
		exit(2);
}

/* A problem on at most `points` grid points. */
static inline problem
random_problem(uint64_t points)
{
	static const uint64_t fractions[][2] = {{1, 2}, {0, 1}, {1, 1}, {1, 4},
	{9, 10}, {1, 3}, {999, 1000}};
	problem		c;
	size_t		f = below(7);
	uint64_t	width = 1 + below(points);
	size_t		i;
	size_t		j;

	memset(&c, 0, sizeof(c));
	c.a = fractions[f][0];
	c.d = fractions[f][1];
	c.low = (int64_t) below(200) - 100;
	c.high = c.low + (int64_t) width - 1;
	c.dense = width <= N_MAX && below(3) == 0;
	c.n = c.dense ? 1 + below(width) : below(N_MAX / 2);
	for (i = 0; i < c.n; i++)
	{
		int64_t		value = c.low + (int64_t) below(width);

		c.counts[i] = below(4) == 0 ? 0 : 1 + below(below(2) ? 3 : 1000);
		for (j = i; j > 0 && c.values[j - 1] > value; j--)
			c.values[j] = c.values[j - 1];
		c.values[j] = value;
	}
	c.rate.num = 1 + below(20);
	c.rate.den = below(2) ? 1 + below(50) : 1 + below(100000);
	return c;
}

/* ---- blocks ---- */

/* The partition that dp_noise_quantile works with. */
static inline void
make_partition(const problem *c, rows *r, partition *p)
{
	uint64_t	total;
	uint64_t	before = 0;
	size_t		centre;

	*r = (rows) {{c->dense ? NULL : c->values, c->counts, NULL, c->n}, c->low,
		c->high, c->a, c->d, 0};
	if (count_rows(r, &total) != DP_OK)
		exit(2);
	prepare_partition(r, &c->rate, total, p);
	for (centre = 0; centre < p->blocks[0].segment; centre++)
		before += c->counts[centre];
	if (p->blocks[0].below != before)
		exit(2);
}

#endif							/* MECH_QUANTILE_H */
