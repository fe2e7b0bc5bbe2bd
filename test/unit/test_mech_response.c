/*
 * test_mech_response.c
 *	  Randomized response and truncated Laplace noise: conformity with the
 *	  oracle by sampling on OpenSSL's source, exhaustion of the two coins,
 *	  failure of the source, and variants broken on purpose.
 *
 * False alarms: 10 coins, 4 k-ary laws, 14 truncated laws and 270 rows of
 * partition_selection.csv at 1e-12 each: below 1e-9.
 */
#include <math.h>

#include "chisq.h"
#include "csv.h"
#include "mech_choice.h"
#include "tap.h"

#define DRAWS 100000
#define REACH 2048
#define BIT(n) ((dp_uint128) 1 << (n))

static dp_source source;

typedef struct response
{
	dp_rational epsilon;
	uint64_t	truth;
	uint64_t	candidates;
} response;

typedef struct truncated
{
	dp_scale	scale;
	dp_int128	bound;
} truncated;

static truncated
truncated_of(dp_uint128 sensitivity, const dp_rational *epsilon,
			 dp_int128 bound)
{
	truncated	c;

	c.bound = bound;
	if (dp_noise_scale_make(sensitivity, epsilon, &c.scale) != DP_OK)
		exit(2);
	return c;
}

/* ---- randomized response ---- */

static bool
draw_boolean(void *state, double *out)
{
	const response *c = state;
	bool		answer;

	if (dp_noise_randomized_response(&source, &c->epsilon, c->truth == 1,
									 &answer) != DP_OK)
		return false;
	*out = answer;
	return true;
}

static bool
draw_among(void *state, double *out)
{
	const response *c = state;
	uint64_t	answer;

	if (dp_noise_randomized_response_among(&source, &c->epsilon, c->truth,
										   c->candidates, &answer) != DP_OK)
		return false;
	*out = (double) answer;
	return true;
}

static void
test_response(void)
{
	static const struct
	{
		const char *epsilon;
		int			truth;
		int			candidates;
	}			k[] = {{"1", 0, 3}, {"1/2", 4, 5}, {"3", 2, 7}, {"2/7", 0, 1}};
	csv_file	csv;
	response	c;
	double		probability[CHOICES];
	double		p;
	double		e;
	size_t		i;
	int			j;

	csv_open(&csv, "randomized_response.csv");
	while (csv_next(&csv))
		for (j = 0; j < 2; j++)
		{
			c.epsilon = choice_rational(csv_text(&csv, "eps"));
			c.truth = (uint64_t) j;
			probability[j] = (double) csv_number(&csv, "p_truth");
			probability[1 - j] = 1 - probability[j];
			p = choice_p(draw_boolean, &c, probability, 2, DRAWS);
			tap_ok(p >= DP_CHISQ_ALPHA,
				   "randomized response of %s, eps %s: p = %.3g",
				   j ? "true" : "false", csv_text(&csv, "eps"), p);
		}
	tap_ok(csv.records == 5, "randomized_response.csv has 5 records");
	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
	{
		c.epsilon = choice_rational(k[i].epsilon);
		c.truth = (uint64_t) k[i].truth;
		c.candidates = (uint64_t) k[i].candidates;
		e = exp((double) c.epsilon.num / (double) c.epsilon.den);
		for (j = 0; j < k[i].candidates; j++)
			probability[j] = (j == k[i].truth ? e : 1) /
				(e + k[i].candidates - 1);
		p = choice_p(draw_among, &c, probability, k[i].candidates, DRAWS);
		tap_ok(p >= DP_CHISQ_ALPHA, "randomized response among %d, eps %s: "
			   "p = %.3g", k[i].candidates, k[i].epsilon, p);
	}
}

/* Over all bytes: no tolerance. */
static void
test_two_coins(void)
{
	unsigned char byte;
	bool		answer;
	int			truth;
	int			kept;
	int			i;

	for (truth = 0; truth < 2; truth++)
	{
		kept = 0;
		for (i = 0; i < 256; i++)
		{
			byte = (unsigned char) i;
			scripted_source(&source, &byte, 1);
			if (dp_noise_two_coins(&source, truth == 1, &answer) != DP_OK)
				exit(2);
			kept += answer == (truth == 1);
		}
		tap_ok(kept == 192, "two coins keep %s for exactly 3/4 of all bytes",
			   truth ? "true" : "false");
	}
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
}

/* ---- truncated Laplace ---- */

static bool
draw_truncated(void *state, double *out)
{
	const truncated *c = state;
	dp_int128	x;

	if (dp_noise_truncated_laplace(&source, &c->scale, c->bound,
								   &x) != DP_OK)
		return false;
	*out = (double) x;
	return true;
}

/*
 * Law on [-bound, bound], in cells of `width` values by distance from the
 * left end; bound <= REACH width.
 */
static double
truncated_p(choice_draw draw, void *state, double bound, double inverse,
			double width, int draws)
{
	static double observed[2 * REACH + 2];
	static double expected[2 * REACH + 2];
	double		total = 0;
	double		x;
	double		middle;
	int			cells = (int) floor(2 * bound / width) + 1;
	int			i;

	memset(observed, 0, sizeof(observed));
	for (i = 0; i < draws; i++)
	{
		if (!draw(state, &x) || !(fabs(x) <= bound) || x != floor(x))
			return 0;
		observed[(int) floor((x + bound) / width)]++;
	}
	for (i = 0; i < cells; i++)
	{
		/* for width > 1 the mass of a cell is taken at its middle */
		middle = (i + 0.5) * width - 0.5 - bound;
		expected[i] = exp(-fabs(middle) * inverse);
		total += expected[i];
	}
	for (i = 0; i < cells; i++)
		expected[i] *= draws / total;
	return dp_chisq_test(observed, expected, cells).p;
}

static void
test_truncated(void)
{
	static const struct
	{
		int			sensitivity;
		int			num;
		int			den;
		int			bound;
	}			c[] = {{1, 1, 1, 0}, {1, 1, 1, 1}, {1, 1, 2, 6}, {1, 1, 10, 4},
	{1, 3, 10, 3}, {1, 3, 10, 4}, {1, 3, 1, 20}, {1000, 1, 1, 50}, {7, 2, 3,
	10}, {7, 2, 3, 11}};
	const dp_rational one = {1, 1};
	truncated	t;
	double		p;
	double		inverse;
	size_t		i;
	int			wide;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		for (wide = 0; wide < (i == 3 ? 2 : 1); wide++)
		{
			const dp_rational epsilon = {(dp_uint128) c[i].num,
			(dp_uint128) c[i].den};

			t = truncated_of((dp_uint128) c[i].sensitivity, &epsilon,
							 c[i].bound);
			t.scale.narrow = !wide;
			inverse = 1 / dp_noise_scale_approx(&t.scale);
			p = truncated_p(draw_truncated, &t, c[i].bound, inverse, 1,
							DRAWS);
			tap_ok(p >= DP_CHISQ_ALPHA, "truncated Laplace, scale %.4g, "
				   "bound %d, %s: p = %.3g", 1 / inverse, c[i].bound,
				   wide ? "BIGNUM" : "128 bits", p);
		}

	/*
	 * Bounds of 2^126 beside scales around them: 4096 cells, whose masses at
	 * the middle are off by less than 1e-7 relative, far below what shows.
	 */
	for (i = 0; i < 2; i++)
	{
		t = truncated_of(i == 0 ? BIT(127) + 1 : BIT(125) + 1, &one,
						 (dp_int128) (BIT(126) - 1));
		p = truncated_p(draw_truncated, &t, 0x1p126, i == 0 ? 0x1p-127 :
						0x1p-125, 0x1p115, DRAWS / 10);
		tap_ok(p >= DP_CHISQ_ALPHA, "truncated Laplace of 126 bits, bound "
			   "%s the scale: p = %.3g", i == 0 ? "below" : "above", p);
	}

	/* a bound that hardly cuts, on a scale that overflows now and then */
	t = truncated_of(BIT(125), &one, (dp_int128) (BIT(127) - 1));
	p = truncated_p(draw_truncated, &t, 0x1p127, 0x1p-125, 0x1p116,
					DRAWS / 10);
	tap_ok(p >= DP_CHISQ_ALPHA, "truncated Laplace where the plain one "
		   "overflows: p = %.3g", p);
}

/* The keep probability of a group of n units: n + X > k. */
static void
test_partition(void)
{
	csv_file	csv;
	char		group[64] = "";
	char		now[64];
	truncated	t = {{{0}, {0}, false}, 0};
	dp_rational epsilon;
	double	   *sample = malloc(DRAWS * sizeof(double));
	double		observed[2];
	double		expected[2];
	double		p;
	double		worst = 1;
	double		n;
	double		k = 0;
	int			rare;
	int			i;

	if (sample == NULL)
		exit(2);
	csv_open(&csv, "partition_selection.csv");
	while (csv_next(&csv))
	{
		snprintf(now, sizeof(now), "%s/%s", csv_text(&csv, "eps"),
				 csv_text(&csv, "k_tsgd"));
		if (strcmp(now, group) != 0)
		{
			strcpy(group, now);
			k = (double) csv_number(&csv, "k_tsgd");
			epsilon = choice_rational(csv_text(&csv, "eps"));
			t = truncated_of(1, &epsilon, (dp_int128) k);
			for (i = 0; i < DRAWS; i++)
				if (!draw_truncated(&t, &sample[i]))
					exit(2);
		}
		n = (double) csv_number(&csv, "n");
		observed[0] = observed[1] = 0;
		for (i = 0; i < DRAWS; i++)
			observed[n + sample[i] > k]++;
		expected[1] = DRAWS * (double) csv_number(&csv, "keep_tsgd");
		expected[0] = DRAWS - expected[1];
		rare = expected[1] < expected[0] ? 1 : 0;
		if (expected[rare] <= 0)
			p = observed[rare] > 0 ? 0 : 1;
		else if (expected[rare] < DP_CHISQ_MINIMUM)
			p = dp_poisson_p(expected[rare], observed[rare]);
		else
			p = dp_chisq_test(observed, expected, 2).p;
		if (p < DP_CHISQ_ALPHA)
			tap_diag("eps %s, n %g: kept %g, expected %g",
					 csv_text(&csv, "eps"), n, observed[1], expected[1]);
		worst = fmin(worst, p);
	}
	free(sample);
	tap_ok(worst >= DP_CHISQ_ALPHA && csv.records == 270,
		   "partition_selection.csv: 270 keep probabilities, least p = %.3g",
		   worst);
}

/* ---- failures ---- */

static dp_status
sample_boolean(dp_source *s, const void *state, unsigned char *out)
{
	const response *c = state;

	return dp_noise_randomized_response(s, &c->epsilon, true, (bool *) out);
}

static dp_status
sample_coins(dp_source *s, const void *state, unsigned char *out)
{
	(void) state;
	return dp_noise_two_coins(s, true, (bool *) out);
}

static dp_status
sample_among(dp_source *s, const void *state, unsigned char *out)
{
	const response *c = state;

	return dp_noise_randomized_response_among(s, &c->epsilon, c->truth,
											  c->candidates,
											  (uint64_t *) (void *) out);
}

static dp_status
sample_truncated(dp_source *s, const void *state, unsigned char *out)
{
	const truncated *c = state;

	return dp_noise_truncated_laplace(s, &c->scale, c->bound,
									  (dp_int128 *) (void *) out);
}

static void
test_failure(void)
{
	const response r = {{7, 3}, 3, 300};
	const dp_rational third = {1, 3};
	const dp_rational zero = {0, 1};
	const dp_rational none = {1, 0};
	truncated	below = truncated_of(1000, &third, 1500);
	truncated	above = truncated_of(1000, &third, 4000);
	truncated	wide = truncated_of(BIT(100), &third, 1500);
	const struct
	{
		const char *label;
		choice_sampler sampler;
		const void *state;
	}			c[] = {
		{"randomized response", sample_boolean, &r},
		{"two coins", sample_coins, &r},
		{"randomized response among 300", sample_among, &r},
		{"truncated Laplace, bound below the scale", sample_truncated, &below},
		{"truncated Laplace, bound above the scale", sample_truncated, &above},
		{"truncated Laplace on BIGNUM", sample_truncated, &wide},
	};
	size_t		points;
	size_t		i;
	bool		fails;
	char		answer = 77;
	uint64_t	choice = 77;
	dp_int128	x = 77;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		fails = choice_fails_well(c[i].sampler, c[i].state, 40, &points);
		tap_ok(fails, "%s: failure at each of %zu points is DP_E_RANDOM, "
			   "output untouched", c[i].label, points);
	}
	tap_ok(dp_noise_randomized_response(&source, &zero, true,
										(bool *) &answer) == DP_E_RANGE &&
		   dp_noise_randomized_response(&source, &none, true,
										(bool *) &answer) == DP_E_RANGE &&
		   dp_noise_randomized_response_among(&source, &zero, 0, 3,
											  &choice) == DP_E_RANGE &&
		   dp_noise_randomized_response_among(&source, &third, 3, 3,
											  &choice) == DP_E_RANGE &&
		   dp_noise_randomized_response_among(&source, &third, 0, 0,
											  &choice) == DP_E_RANGE &&
		   answer == 77 && choice == 77,
		   "responses of no epsilon or no candidate are refused");
	below.bound = -1;
	above.scale.t[0] = 0;
	tap_ok(dp_noise_truncated_laplace(&source, &below.scale, -1,
									  &x) == DP_E_RANGE &&
		   dp_noise_truncated_laplace(&source, &above.scale, 5,
									  &x) == DP_E_RANGE && x == 77,
		   "a negative bound and a scale of 0 are refused");
}

/* ---- broken on purpose ---- */

/* The flip is drawn with exp(-epsilon), not with 1/(1 + exp(epsilon)). */
static bool
bad_flip(void *state, double *out)
{
	const response *c = state;
	bool		flip;

	if (dp_noise_bernoulli_exp(&source, &c->epsilon, &flip) != DP_OK)
		return false;
	*out = flip ? 1 - (double) c->truth : (double) c->truth;
	return true;
}

static bool
bad_boolean_half(void *state, double *out)
{
	response	c = *(response *) state;

	c.epsilon.num *= 2;
	return draw_boolean(&c, out);
}

/* A uniform candidate, the truth included, where another one is due. */
static bool
bad_among_twice(void *state, double *out)
{
	const response *c = state;
	double		kept;
	uint64_t	any;

	if (!draw_among(state, &kept) ||
		dp_noise_uniform_below(&source, c->candidates, &any) != DP_OK)
		return false;
	*out = kept == (double) c->truth ? kept : (double) any;
	return true;
}

static bool
bad_among_half(void *state, double *out)
{
	response	c = *(response *) state;

	c.epsilon.num *= 2;
	return draw_among(&c, out);
}

/* Clamped to the bound instead of conditioned on it. */
static bool
bad_clamped(void *state, double *out)
{
	const truncated *c = state;
	dp_int128	x;

	if (dp_noise_discrete_laplace(&source, &c->scale, &x) != DP_OK)
		return false;
	*out = x > c->bound ? (double) c->bound : x < -c->bound ?
		-(double) c->bound : (double) x;
	return true;
}

static bool
bad_untruncated(void *state, double *out)
{
	const truncated *c = state;
	dp_int128	x;

	if (dp_noise_discrete_laplace(&source, &c->scale, &x) != DP_OK)
		return false;
	*out = (double) x;
	return true;
}

/* Bound off by one, either way. */
static bool
bad_bound_more(void *state, double *out)
{
	truncated	c = *(truncated *) state;

	c.bound++;
	return draw_truncated(&c, out);
}

static bool
bad_bound_less(void *state, double *out)
{
	truncated	c = *(truncated *) state;

	c.bound--;
	return draw_truncated(&c, out);
}

static bool
bad_truncated_half(void *state, double *out)
{
	truncated	c = *(truncated *) state;

	c.scale.s[0] *= 2;
	return draw_truncated(&c, out);
}

static bool
bad_truncated_float(void *state, double *out)
{
	if (!draw_truncated(state, out))
		return false;
	*out *= 1 - 0x1p-40;
	return true;
}

static void
test_broken(void)
{
	static const struct
	{
		const char *label;
		choice_draw draw;
	}			bad[] = {
		{"response, exp(-eps) flips", bad_flip},
		{"response, scale halved", bad_boolean_half},
		{"response among, truth twice", bad_among_twice},
		{"response among, scale halved", bad_among_half},
		{"truncated, clamped", bad_clamped},
		{"truncated, not", bad_untruncated},
		{"truncated, threshold one more", bad_bound_more},
		{"truncated, threshold one less", bad_bound_less},
		{"truncated, scale halved", bad_truncated_half},
		{"truncated, float noise", bad_truncated_float},
	};
	const dp_rational half = {1, 2};
	response	r = {{1, 1}, 1, 4};
	truncated	t = truncated_of(1, &half, 6);
	double		e = exp(1);
	const double two[2] = {1 / (1 + e), e / (1 + e)};
	const double four[4] = {1 / (3 + e), e / (3 + e), 1 / (3 + e),
	1 / (3 + e)};
	double		p;
	size_t		i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		if (i < 2)
			p = choice_p(bad[i].draw, &r, two, 2, DRAWS);
		else if (i < 4)
			p = choice_p(bad[i].draw, &r, four, 4, DRAWS);
		else
			p = truncated_p(bad[i].draw, &t, 6, 0.5, 1, DRAWS);
		tap_ok(p < DP_CHISQ_ALPHA, "broken on purpose is caught: %s "
			   "(p = %.3g)", bad[i].label, p);
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_response();
	test_two_coins();
	test_truncated();
	test_partition();
	test_failure();
	test_broken();
	return tap_done();
}
