/*
 * test_mech_selection.c
 *	  Permute-and-flip, the exponential mechanism and noisy max: conformity
 *	  with the oracle by sampling on OpenSSL's source, 128 bits against
 *	  BIGNUM, failure of the source.
 *
 * False alarms: 49 chi-squares of 1e-12 each: below 1e-10.
 */
#include <math.h>

#include "dp_noise.h"
#include "dp_numbers.h"

/*
 * The same samplers with every product on BIGNUM, as it is in earnest when
 * gap times the numerator of the rate does not fit 128 bits.
 */
extern dp_status wide_uniform_again(dp_big *b, dp_source *s, const BIGNUM *n,
									BIGNUM *out);
extern void wide_exp_again(dp_big *b, dp_source *s, const BIGNUM *num,
						   const BIGNUM *den, bool *out);
extern dp_status product_bignum(dp_source *s, dp_uint128 gap,
								const dp_rational *rate, bool *out);
extern dp_status rate_again(const dp_rational *epsilon,
							dp_uint128 sensitivity, bool monotone,
							dp_rational *out);
extern dp_status exponential_bignum(dp_source *s, const dp_int128 *scores,
									size_t n, const dp_rational *rate,
									size_t *out);
extern dp_status permute_bignum(dp_source *s, const dp_int128 *scores,
								size_t n, const dp_rational *rate,
								size_t *order, size_t *out);
extern dp_status noisy_max_again(dp_source *s, const dp_int128 *scores,
								 size_t n, const dp_scale *scale,
								 dp_noise noise, size_t *out);
#define NARROW_PRODUCT 0
#define dp_noise_wide_uniform wide_uniform_again
#define dp_noise_wide_bernoulli_exp wide_exp_again
#define dp_noise_bernoulli_exp_product product_bignum
#define dp_noise_selection_rate rate_again
#define dp_noise_exponential exponential_bignum
#define dp_noise_permute_and_flip permute_bignum
#define dp_noise_noisy_max noisy_max_again
#include "../../src/math/noise/wide.c"
#include "../../src/math/noise/selection.c"
#undef dp_noise_wide_uniform
#undef dp_noise_wide_bernoulli_exp
#undef dp_noise_bernoulli_exp_product
#undef dp_noise_selection_rate
#undef dp_noise_exponential
#undef dp_noise_permute_and_flip
#undef dp_noise_noisy_max

#include "chisq.h"
#include "csv.h"
#include "mech_problem.h"
#include "noise_internal.h"
#include "tap.h"

#define DRAWS 100000
#define BIT(n) ((dp_uint128) 1 << (n))

static dp_source first;
static dp_source second;

/* ---- the oracle ---- */

static void
test_selection_file(const char *file, choice_draw draw)
{
	csv_file	csv;
	problem		c;
	char		label[96];
	double		probability[N_MAX];
	double		p;
	size_t		rows = 0;
	int			laws = 0;

	csv_open(&csv, file);
	while (csv_next(&csv))
	{
		if (rows == 0)
			c = problem_of(csv_text(&csv, "scores"), csv_text(&csv, "eps"),
						   strcmp(csv_text(&csv, "monotone"), "yes") == 0);
		if (strcmp(csv_text(&csv, "sensitivity"), "1") != 0)
			exit(2);
		probability[rows++] = (double) csv_number(&csv, "probability");
		if (rows < c.n)
			continue;
		snprintf(label, sizeof(label), "%s, eps %s, monotone %s",
				 csv_text(&csv, "scores"), csv_text(&csv, "eps"),
				 csv_text(&csv, "monotone"));
		p = choice_p(draw, &c, probability, (int) c.n, DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "%s: %s: p = %.3g", file, label, p);
		rows = 0;
		laws++;
	}
	tap_ok(csv.records == 96 && laws >= 18 && rows == 0,
		   "%s has 96 records, %d laws", file, laws);
}

static void
test_noisy_file(void)
{
	csv_file	csv;
	problem		c;
	double		probability[N_MAX];
	double		exact[N_MAX];
	double		worst = 0;
	double		p;
	size_t		rows = 0;
	size_t		i;

	csv_open(&csv, "rnm_discrete_laplace.csv");
	while (csv_next(&csv))
	{
		if (rows == 0)
			c = problem_of(csv_text(&csv, "scores"), csv_text(&csv, "eps"),
						   false);
		probability[rows++] =
			(double) csv_number(&csv, "probability_ties_low_index");
		if (rows < c.n)
			continue;
		rows = 0;
		c.noise = DP_NOISE_LAPLACE;
		if (fabs((double) csv_number(&csv, "noise_scale") -
				 dp_noise_scale_approx(&c.scale)) > 1e-9)
			exit(2);
		noisy_law(&c, exact);
		for (i = 0; i < c.n; i++)
			worst = fmax(worst, fabs(exact[i] / probability[i] - 1));
		p = choice_p(draw_noisy, &c, probability, (int) c.n, DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "rnm_discrete_laplace.csv: %s, eps %s: "
			   "p = %.3g", csv_text(&csv, "scores"), csv_text(&csv, "eps"),
			   p);
		c.noise = DP_NOISE_GEOMETRIC;
		noisy_law(&c, exact);
		p = choice_p(draw_noisy, &c, exact, (int) c.n, DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "noisy max, geometric: %s, eps %s: "
			   "p = %.3g", csv_text(&csv, "scores"), csv_text(&csv, "eps"),
			   p);
	}
	tap_ok(csv.records == 24 && rows == 0 && worst < 1e-12,
		   "the computed law of noisy max agrees with the oracle: %.2g",
		   worst);
}

/* ---- paths, extremes, failures ---- */

static void
test_paths(void)
{
	problem		c = problem_of("10 9 9 7 7 7 2 0", "10/37", false);
	size_t		order[N_MAX];
	size_t		x;
	size_t		y;
	uint64_t	seed_a = 3;
	uint64_t	seed_b = 3;
	bool		same = true;
	int			i;

	dp_noise_source_init(&first, fake_fill, &seed_a);
	dp_noise_source_init(&second, fake_fill, &seed_b);
	for (i = 0; same && i < 10000; i++)
		same = dp_noise_exponential(&first, c.scores, c.n, &c.rate,
									&x) == DP_OK &&
			exponential_bignum(&second, c.scores, c.n, &c.rate,
							   &y) == DP_OK &&
			x == y && seed_a == seed_b && first.next == second.next;
	tap_ok(same, "exponential: 128-bit path = BIGNUM path, 10000 draws");
	for (i = 0; same && i < 10000; i++)
		same = dp_noise_permute_and_flip(&first, c.scores, c.n, &c.rate,
										 order, &x) == DP_OK &&
			permute_bignum(&second, c.scores, c.n, &c.rate, order,
						   &y) == DP_OK &&
			x == y && seed_a == seed_b && first.next == second.next;
	tap_ok(same, "permute-and-flip: 128-bit path = BIGNUM path, 10000 draws");
}

/* The widest gap there is, at rates that make it matter and not. */
static void
test_extremes(void)
{
	const dp_int128 least = (dp_int128) BIT(127);
	const dp_int128 most = (dp_int128) (BIT(127) - 1);
	problem		c = problem_of("0 0", "1", false);
	const double fair = 1 / (1 + exp(-1));
	double		probability[2] = {1 - fair, fair};
	double		p;

	c.scores[0] = least;
	c.scores[1] = most;
	c.rate.num = 1;				/* gap 2^128 - 1 times this is 1 */
	c.rate.den = ~(dp_uint128) 0;
	p = choice_p(draw_exponential, &c, probability, 2, DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "gap 2^128 - 1, exponential: p = %.3g", p);

	/* times 2^127/(2^128 - 1) it is 2^127, on BIGNUM */
	c.rate.num = BIT(127);
	probability[0] = 0;
	probability[1] = 1;
	p = choice_p(draw_exponential, &c, probability, 2, 10000);
	tap_ok(p == 1, "gap 2^128 - 1 at rate 1/2 is never taken");
	p = choice_p(draw_permute, &c, probability, 2, 10000);
	tap_ok(p == 1, "the same by permute-and-flip");
	c.noise = DP_NOISE_LAPLACE;
	p = choice_p(draw_noisy, &c, probability, 2, 10000);
	tap_ok(p == 1, "the same by noisy max");
	c.scores[0] = most;
	c.scores[1] = least;
	probability[0] = 1;
	probability[1] = 0;
	p = choice_p(draw_noisy, &c, probability, 2, 10000);
	tap_ok(p == 1, "the same by noisy max, other order");
}

static dp_status
sample_exponential(dp_source *s, const void *state, unsigned char *out)
{
	const problem *c = state;

	return dp_noise_exponential(s, c->scores, c->n, &c->rate,
								(size_t *) (void *) out);
}

static dp_status
sample_exponential_bignum(dp_source *s, const void *state, unsigned char *out)
{
	const problem *c = state;

	return exponential_bignum(s, c->scores, c->n, &c->rate,
							  (size_t *) (void *) out);
}

static dp_status
sample_permute(dp_source *s, const void *state, unsigned char *out)
{
	const problem *c = state;
	size_t		order[N_MAX];

	return dp_noise_permute_and_flip(s, c->scores, c->n, &c->rate, order,
									 (size_t *) (void *) out);
}

static dp_status
sample_noisy(dp_source *s, const void *state, unsigned char *out)
{
	const problem *c = state;

	return dp_noise_noisy_max(s, c->scores, c->n, &c->scale, c->noise,
							  (size_t *) (void *) out);
}

static void
test_failure(void)
{
	static const struct
	{
		const char *label;
		choice_sampler sampler;
		dp_noise	noise;
	}			c[] = {
		{"exponential", sample_exponential, DP_NOISE_LAPLACE},
		{"exponential on BIGNUM", sample_exponential_bignum,
		DP_NOISE_LAPLACE},
		{"permute-and-flip", sample_permute, DP_NOISE_LAPLACE},
		{"noisy max, Laplace", sample_noisy, DP_NOISE_LAPLACE},
		{"noisy max, geometric", sample_noisy, DP_NOISE_GEOMETRIC},
	};
	problem		p = problem_of("5 5 4 0 -2", "1/3", false);
	const dp_rational zero = {0, 1};
	const dp_rational epsilon = {1, 3};
	const dp_rational huge = {1, ~(dp_uint128) 0};
	dp_rational rate = {7, 9};
	size_t		order[N_MAX];
	size_t		out = 42;
	size_t		points;
	size_t		i;
	bool		fails;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		p.noise = c[i].noise;
		fails = choice_fails_well(c[i].sampler, &p, 100, &points);
		tap_ok(fails, "%s: failure at each of %zu points is DP_E_RANDOM, "
			   "output untouched", c[i].label, points);
	}
	tap_ok(dp_noise_exponential(&source, p.scores, 0, &p.rate, &out) ==
		   DP_E_RANGE &&
		   dp_noise_exponential(&source, p.scores, 2, &zero, &out) ==
		   DP_E_RANGE &&
		   dp_noise_permute_and_flip(&source, p.scores, 0, &p.rate, order,
									 &out) == DP_E_RANGE &&
		   dp_noise_permute_and_flip(&source, p.scores, 2, &zero, order,
									 &out) == DP_E_RANGE &&
		   dp_noise_noisy_max(&source, p.scores, 0, &p.scale,
							  DP_NOISE_LAPLACE, &out) == DP_E_RANGE &&
		   dp_noise_noisy_max(&source, p.scores, 2, &p.scale, (dp_noise) 7,
							  &out) == DP_E_RANGE && out == 42,
		   "no candidates, no rate, no noise: refused, output untouched");
	tap_ok(dp_noise_selection_rate(&zero, 1, false, &rate) == DP_E_RANGE &&
		   dp_noise_selection_rate(&epsilon, 0, false, &rate) == DP_E_RANGE &&
		   dp_noise_selection_rate(&huge, 1, false, &rate) == DP_E_OVERFLOW &&
		   rate.num == 7 && rate.den == 9,
		   "rates of nothing and rates that do not fit are refused");
	tap_ok(dp_noise_selection_rate(&epsilon, 2, false, &rate) == DP_OK &&
		   rate.num == 1 && rate.den == 12 &&
		   dp_noise_selection_rate(&epsilon, 2, true, &rate) == DP_OK &&
		   rate.num == 1 && rate.den == 6 &&
		   dp_noise_selection_rate(&huge, 1, true, &rate) == DP_OK,
		   "the rate is epsilon/(2D), for monotone scores epsilon/D");
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_selection_file("permute_and_flip.csv", draw_permute);
	test_selection_file("exponential_mechanism.csv", draw_exponential);
	test_noisy_file();
	test_paths();
	test_extremes();
	test_failure();
	return tap_done();
}
