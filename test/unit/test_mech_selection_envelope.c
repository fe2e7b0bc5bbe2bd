/*
 * test_mech_selection_envelope.c
 *	  The envelope sampler: conformity with the oracle's quantile law,
 *	  multiplicities that differ by many powers of two, refinement at a
 *	  precision lowered on purpose, the bounds it rests on, failure of the
 *	  source, and variants broken on purpose.
 *
 * False alarms: 20 chi-squares of 1e-12 each: below 1e-10.
 */
#include <math.h>

#include "dp_numbers.h"
#include "dp_noise.h"

/*
 * The same sampler with bounds of 64 bits for counts of 64 bits: a count of
 * 2^60 is then undecided in about every tenth draw, one of 2^64 - 1 oftener.
 */
extern dp_status envelope_coarse_make(const dp_rational *rate, size_t width,
									  dp_envelope *out);
extern dp_status envelope_coarse(dp_source *s, const dp_envelope *law,
								 const dp_int128 *scores,
								 const uint64_t *counts, size_t n,
								 size_t *out, uint64_t *rank);
#define EXTRA_LIMBS 0
#define dp_noise_envelope envelope_coarse
#define dp_noise_envelope_make envelope_coarse_make
#include "../../src/math/noise/envelope.c"
#undef dp_noise_envelope
#undef dp_noise_envelope_make

#include "chisq.h"
#include "csv.h"
#include "mech_choice.h"
#include "tap.h"

#define DRAWS 100000			/* against the oracle */
#define OWN_DRAWS 20000
#define N_MAX 32
#define W_MAX 16
#define BIT(n) ((dp_uint128) 1 << (n))

typedef struct problem
{
	bool		coarse;
	dp_int128	scores[N_MAX];
	uint64_t	counts[N_MAX * W_MAX];
	size_t		width;
	size_t		n;
	dp_rational rate;
} problem;

static dp_source random_source;

/* One draw; what was prepared for the rate before is kept. */
static dp_status
choose(dp_source *s, const problem *c, size_t *out, uint64_t *rank)
{
	static dp_envelope law;
	static problem last;

	if (c->width != last.width || c->coarse != last.coarse ||
		c->rate.num != last.rate.num || c->rate.den != last.rate.den)
	{
		dp_status	status = c->coarse ?
			envelope_coarse_make(&c->rate, c->width, &law) :
			dp_noise_envelope_make(&c->rate, c->width, &law);

		last.width = 0;
		if (status != DP_OK)
			return status;
		last = *c;
	}
	return c->coarse ?
		envelope_coarse(s, &law, c->scores, c->counts, c->n, out, rank) :
		dp_noise_envelope(s, &law, c->scores, c->counts, c->n, out, rank);
}

static bool
draw_level(void *state, double *out)
{
	const problem *c = state;
	size_t		i;

	if (choose(&random_source, c, &i, NULL) != DP_OK)
		return false;
	*out = (double) i;
	return true;
}

/* The law by its definition: ln N_i + rate score_i, normalised. */
static void
law(const problem *c, double *probability)
{
	double		rate = (double) c->rate.num / (double) c->rate.den;
	double		top = -INFINITY;
	double		sum = 0;
	double		count;
	size_t		i;
	size_t		j;

	for (i = 0; i < c->n; i++)
	{
		count = 0;
		for (j = c->width; j-- > 0;)
			count = count * 0x1p64 + (double) c->counts[i * c->width + j];
		probability[i] = log(count) + rate * (double) c->scores[i];
		top = fmax(top, probability[i]);
	}
	for (i = 0; i < c->n; i++)
		sum += exp(probability[i] - top);
	for (i = 0; i < c->n; i++)
		probability[i] = exp(probability[i] - top) / sum;
}

/* ---- the oracle ---- */

/* Runs of equal score become one level whose rank is the place in it. */
static bool
draw_value(void *state, double *out)
{
	const problem *c = state;
	uint64_t	rank;
	size_t		level;
	size_t		i;

	if (choose(&random_source, c, &level, &rank) != DP_OK)
		return false;
	*out = (double) rank;
	for (i = 0; i < level; i++)
		*out += (double) c->counts[i];
	return true;
}

static void
test_quantile(void)
{
	csv_file	csv;
	problem		c;
	char		group[64] = "";
	char		now[64];
	double		probability[CHOICES];
	double		p;
	double		worst = 0;
	double		exact[N_MAX];
	dp_rational epsilon;
	int			rows = 0;
	int			laws = 0;
	bool		more;
	size_t		i;
	int			row;

	csv_open(&csv, "quantile_em.csv");
	for (;;)
	{
		more = csv_next(&csv);
		if (more)
			snprintf(now, sizeof(now), "q %s, eps %s", csv_text(&csv, "q"),
					 csv_text(&csv, "eps"));
		if (rows > 0 && (!more || strcmp(now, group) != 0))
		{
			law(&c, exact);
			for (i = 0, row = 0; i < c.n; row += (int) c.counts[i++])
				worst = fmax(worst, fabs(exact[i] / (double) c.counts[i] /
										 probability[row] - 1));
			p = choice_p(draw_value, &c, probability, rows, DRAWS);
			tap_ok(p >= DP_CHISQ_ALPHA, "quantile_em.csv, %s: p = %.3g",
				   group, p);
			laws++;
			rows = 0;
		}
		if (!more)
			break;
		strcpy(group, now);
		if (rows == 0)
		{
			/* the score's sensitivity is that of the column */
			memset(&c, 0, sizeof(c));
			c.width = 1;
			epsilon = choice_rational(csv_text(&csv, "eps"));
			if (dp_noise_selection_rate(&epsilon, (dp_uint128)
										csv_number(&csv, "score_sensitivity"),
										false, &c.rate) != DP_OK)
				exit(2);
		}
		if (rows == 0 ||
			c.scores[c.n - 1] != (dp_int128) csv_number(&csv, "score"))
		{
			c.scores[c.n] = (dp_int128) csv_number(&csv, "score");
			c.counts[c.n++] = 0;
		}
		c.counts[c.n - 1]++;
		probability[rows++] = (double) csv_number(&csv, "probability");
	}
	tap_ok(csv.records == 78 && laws == 6 && worst < 1e-12,
		   "quantile_em.csv has 78 records, 6 laws; the law used below "
		   "agrees: %.2g", worst);
}

/* ---- laws of our own ---- */

typedef struct example
{
	const char *label;
	size_t		n;
	int			num;
	int			den;
	long		gap[6];
	int			bits[6];		/* N_i = 2^bits + less */
	unsigned	less;
	size_t		width;
	bool		coarse;
} example;

static const example examples[] = {
	{"1, 10^6, 2^63, 5 at 0, 13.5, 44, 1.5", 4, 1, 2, {0, 27, 88, 3},
	{0, 20, 63, 2}, 0, 1, false},
	{"equal weights", 5, 1, 1, {0, 1, 2, 3, 4}, {10, 10, 10, 10, 10}, 7, 1,
	false},
	{"2^60 against 1", 3, 69, 100, {0, 60, 30}, {0, 60, 30}, 0, 1, false},
	{"the same, bounds of 64 bits", 3, 69, 100, {0, 60, 30}, {0, 60, 30}, 0,
	1, true},
	{"2^63 far off, bounds of 64 bits", 2, 1, 1, {0, 45}, {0, 63}, 5, 1,
	true},
	{"2^62 far off, rate 1/1000", 4, 1, 1000, {0, 43000, 44000, 43500},
	{0, 62, 62, 61}, 0, 1, true},
	{"2^120", 3, 7, 10, {0, 119, 60}, {0, 120, 60}, 3, 2, false},
	{"2^120, bounds of 128 bits", 3, 7, 10, {0, 119, 60}, {0, 120, 60}, 3, 2,
	true},
	{"2^1000", 3, 7, 1, {0, 99, 50}, {0, 1000, 505}, 1, 16, false},
	{"2^1000, bounds of 1024 bits", 3, 7, 1, {0, 99, 50}, {0, 1000, 505}, 1,
	16, true},
	{"rate 10^-6", 3, 1, 1000000, {0, 1000000, 3000000}, {3, 3, 3}, 0, 1,
	false},
};

static problem
example_problem(const example *x)
{
	problem		c;
	size_t		i;

	memset(&c, 0, sizeof(c));
	c.coarse = x->coarse;
	c.n = x->n;
	c.width = x->width;
	c.rate.num = (dp_uint128) x->num;
	c.rate.den = (dp_uint128) x->den;
	for (i = 0; i < x->n; i++)
	{
		c.scores[i] = 17 - (dp_int128) x->gap[i];
		c.counts[i * x->width + (size_t) x->bits[i] / 64] =
			UINT64_C(1) << x->bits[i] % 64;
		c.counts[i * x->width] += x->less;
	}
	return c;
}

static void
test_laws(void)
{
	double		probability[N_MAX];
	problem		c;
	double		p;
	size_t		i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
	{
		c = example_problem(&examples[i]);
		law(&c, probability);
		p = choice_p(draw_level, &c, probability, (int) c.n,
					 examples[i].coarse || examples[i].width == 16 ?
					 OWN_DRAWS / 5 : OWN_DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "%s: p = %.3g", examples[i].label, p);
	}
}

static bool
draw_rank(void *state, double *out)
{
	const problem *c = state;
	uint64_t	rank[W_MAX];
	size_t		i;

	if (choose(&random_source, c, &i, rank) != DP_OK)
		return false;
	*out = (double) (rank[1] >> 36);
	return true;
}

static void
test_extremes(void)
{
	problem		c = example_problem(&examples[7]);
	double		probability[CHOICES];
	double		p;
	int			i;

	/* a count of 3 2^104: the upper 5 bits of the rank */
	c.n = 1;
	c.counts[0] = 0;
	c.counts[1] = UINT64_C(3) << 40;
	for (i = 0; i < 48; i++)
		probability[i] = 1 / 48.0;
	p = choice_p(draw_rank, &c, probability, 48, OWN_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "rank below 3 2^104: p = %.3g", p);

	/* the widest gap there is, whatever stands there; the best is empty */
	c = example_problem(&examples[0]);
	c.n = 4;
	c.scores[0] = (dp_int128) BIT(127);
	c.counts[0] = UINT64_MAX;
	c.scores[1] = (dp_int128) (BIT(127) - 1);
	c.counts[1] = 0;
	c.scores[2] = (dp_int128) (BIT(127) - 2);
	c.counts[2] = 1;
	c.scores[3] = (dp_int128) (BIT(127) - 3);
	c.counts[3] = 1;
	memset(probability, 0, sizeof(probability));
	probability[2] = 1 / (1 + exp(-0.5));
	probability[3] = 1 - probability[2];
	p = choice_p(draw_level, &c, probability, 4, OWN_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "scores at either end of 128 bits, the best "
		   "one empty: p = %.3g", p);

	/* a rate of 2^-127: all gaps are near */
	c.rate.num = 1;
	c.rate.den = BIT(127);
	c.counts[0] = 1;
	probability[0] = exp(-2) / (2 + exp(-2));
	probability[2] = probability[3] = 1 / (2 + exp(-2));
	p = choice_p(draw_level, &c, probability, 4, OWN_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "the same at rate 2^-127: p = %.3g", p);
}

/* ---- the bounds ---- */

/* Against themselves at 200 more bits, and against exp(). */
static void
test_bounds(void)
{
	static const dp_rational rate[] = {{1, 1}, {1, 2}, {7, 3}, {1, 1000},
	{999983, 1000003}, {1, BIT(100)}, {BIT(100), 3}, {BIT(127), BIT(126) - 1}};
	static const dp_uint128 gap[] = {0, 1, 2, 3, 27, 88, 255, 1000, 123457,
	BIT(40) + 1, BIT(101), BIT(127) + 1};
	dp_big		b;
	BIGNUM	   *low;
	BIGNUM	   *high;
	BIGNUM	   *fine_low;
	BIGNUM	   *fine_high;
	double		exact;
	size_t		i;
	size_t		j;
	bool		good = true;
	int			checked = 0;
	char	   *digits;

	for (i = 0; i < sizeof(rate) / sizeof(rate[0]); i++)
		for (j = 0; j < sizeof(gap) / sizeof(gap[0]); j++)
		{
			dp_numbers_big_begin(&b);
			low = weight_bound(&b, gap[j], &rate[i], 192, DP_ROUND_DOWN);
			high = weight_bound(&b, gap[j], &rate[i], 192, DP_ROUND_UP);
			fine_low = weight_bound(&b, gap[j], &rate[i], 392, DP_ROUND_DOWN);
			fine_high = weight_bound(&b, gap[j], &rate[i], 392, DP_ROUND_UP);
			if (b.status != DP_OK)
				exit(2);
			digits = BN_bn2dec(low);
			exact = exp(-(double) gap[j] * (double) rate[i].num /
						(double) rate[i].den);
			good = good && fabs(strtod(digits, NULL) - 0x1p192 * exact) <=
				1e-9 * exact * 0x1p192 + 3;
			OPENSSL_free(digits);

			/* low 2^200 <= fine_high, fine_low <= high 2^200, high <= low+2 */
			good = good && dp_numbers_big_get(&b,
											  big_subtract(&b, high,
														   low)) <= 2;
			low = big_shift(&b, low, 200);
			high = big_shift(&b, high, 200);
			good = good && big_compare(&b, low, fine_high) <= 0 &&
				big_compare(&b, fine_low, high) <= 0;
			good = dp_numbers_big_end(&b) == DP_OK && good;
			checked++;
		}
	tap_ok(good, "%d bounds of exp contain it and are at most 2 units apart",
		   checked);
}

/*
 * What the sampler takes for bounds of a level, against the proved ones at a
 * higher precision: every gap of a range, near and far.
 */
static void
test_level_bounds(void)
{
	static const dp_rational rate[] = {{1, 3}, {1, 100000}, {5, 1}};
	static dp_envelope e;
	dp_big		b;
	BIGNUM	   *low;
	BIGNUM	   *high;
	BIGNUM	   *bound;
	uint64_t	limbs[LIMBS_MAX + 1];
	uint64_t	error;
	uint64_t	widest = 0;
	dp_uint128	gap;
	size_t		i;
	bool		good = true;
	int			near = 0;
	int			far = 0;

	for (i = 0; i < sizeof(rate) / sizeof(rate[0]); i++)
	{
		memset(&e, 0, sizeof(e));
		e.limbs = 3;
		e.rate = rate[i];
		dp_numbers_big_begin(&b);
		make_table(&e, &b);
		if (dp_numbers_big_end(&b) != DP_OK)
			exit(2);
		for (gap = 0; gap < BIT(28); gap = gap * 5 / 4 + 1)
		{
			if (level_bounds(&e, gap, limbs, &error))
				near++;
			else
			{
				memset(limbs, 0, sizeof(limbs));
				error = 1;
				far++;
			}
			widest = error > widest ? error : widest;

			/* limbs <= exact <= limbs + error */
			dp_numbers_big_begin(&b);
			low = weight_bound(&b, gap, &rate[i], 192 + 60, DP_ROUND_DOWN);
			high = weight_bound(&b, gap, &rate[i], 192 + 60, DP_ROUND_UP);
			bound = dp_numbers_big_of_limbs(&b, limbs, e.limbs + 1);
			good = good &&
				big_compare(&b, big_shift(&b, bound, 60), high) <= 0;
			bound = big_add_word(&b, bound, error);
			good = good && big_compare(&b, low, big_shift(&b, bound, 60)) <= 0;
			good = dp_numbers_big_end(&b) == DP_OK && good;
		}
	}
	tap_ok(good && near > 50 && far > 50 && widest < 200,
		   "bounds of %d near and %d far levels hold, at most %d units wide",
		   near, far, (int) widest);
}

/* ---- failures ---- */

static dp_status
sample_level(dp_source *s, const void *state, unsigned char *out)
{
	const problem *c = state;
	size_t		level;
	uint64_t	rank[W_MAX];
	dp_status	status;

	memcpy(&level, out, sizeof(level));
	memcpy(rank, out + 8, 8);
	status = choose(s, c, &level, rank);
	memcpy(out, &level, sizeof(level));
	memcpy(out + 8, rank, 8);
	return status;
}

static void
test_failure(void)
{
	static const int which[] = {0, 4, 7};
	problem		c;
	size_t		points;
	size_t		i;
	size_t		level = 77;
	uint64_t	rank = 77;
	bool		fails;

	for (i = 0; i < 3; i++)
	{
		c = example_problem(&examples[which[i]]);
		fails = choice_fails_well(sample_level, &c, 8, &points);
		tap_ok(fails, "%s: failure at each of %zu points is DP_E_RANDOM, "
			   "output untouched", examples[which[i]].label, points);
	}
	c = example_problem(&examples[0]);
	c.n = 0;
	fails = choose(&random_source, &c, &level, &rank) == DP_E_RANGE;
	c.n = 4;
	memset(c.counts, 0, sizeof(c.counts));
	fails = fails && choose(&random_source, &c, &level,
							&rank) == DP_E_RANGE;
	c.width = 0;
	fails = fails && choose(&random_source, &c, &level,
							&rank) == DP_E_RANGE;
	c.width = DP_ENVELOPE_WIDTH + 1;
	fails = fails && choose(&random_source, &c, &level,
							&rank) == DP_E_RANGE;
	c.width = 1;
	c.rate.num = 0;
	tap_ok(fails && choose(&random_source, &c, &level,
						   &rank) == DP_E_RANGE && level == 77 && rank == 77,
		   "no levels, no candidates, no width, no rate: refused, output "
		   "untouched");
}

/* ---- broken on purpose ---- */

static bool
bad_half_scale(void *state, double *out)
{
	problem		c = *(problem *) state;

	c.rate.num *= 2;
	return draw_level(&c, out);
}

/* Far levels taken for impossible: weights floored to 2^-32 of the best. */
static bool
bad_floored(void *state, double *out)
{
	problem		c = *(problem *) state;
	double		rate = (double) c.rate.num / (double) c.rate.den;
	size_t		i;

	for (i = 0; i < c.n; i++)
		if (exp(-rate * (double) (17 - c.scores[i])) < 0x1p-32)
			c.counts[i] = 0;
	return draw_level(&c, out);
}

/* Undecided draws taken as hits: the law of the upper bounds, 64 bits. */
static bool
bad_undecided(void *state, double *out)
{
	const problem *c = state;
	double		rate = (double) c->rate.num / (double) c->rate.den;
	double		upper[N_MAX];
	double		sum = 0;
	double		at;
	uint64_t	value;
	size_t		i;

	for (i = 0; i < c->n; i++)
		sum += upper[i] = (double) c->counts[i] *
			ceil(exp(-rate * (double) (17 - c->scores[i])) * 0x1p64);
	if (dp_noise_uniform_below(&random_source, UINT64_C(1) << 53,
							   &value) != DP_OK)
		return false;
	at = ((double) value + 0.5) * 0x1p-53 * sum;
	for (i = 0; i + 1 < c->n && at >= upper[i]; i++)
		at -= upper[i];
	*out = (double) i;
	return true;
}

static void
test_broken(void)
{
	static const struct
	{
		const char *label;
		choice_draw draw;
		int			example;
	}			bad[] = {
		{"scale halved", bad_half_scale, 1},
		{"far levels dropped", bad_floored, 4},
		{"undecided draws taken", bad_undecided, 4},
	};
	double		probability[N_MAX];
	problem		c;
	double		p;
	size_t		i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		c = example_problem(&examples[bad[i].example]);
		c.coarse = false;
		law(&c, probability);
		p = choice_p(bad[i].draw, &c, probability, (int) c.n, OWN_DRAWS);
		tap_ok(p < DP_CHISQ_ALPHA, "broken on purpose is caught: %s "
			   "(p = %.3g)", bad[i].label, p);
	}
}

int
main(void)
{
	dp_noise_source_init(&random_source, dp_noise_fill_openssl, NULL);
	test_bounds();
	test_level_bounds();
	test_quantile();
	test_laws();
	test_extremes();
	test_failure();
	test_broken();
	return tap_done();
}
