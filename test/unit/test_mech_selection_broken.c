/*
 * test_mech_selection_broken.c
 *	  Selections broken on purpose, each caught by the test of the law or by
 *	  an audit of the privacy loss between two neighbours; the same audit
 *	  accepts the mechanisms of src/math/noise.
 *
 * False alarms: 8 audits of at most 4 n 1e-14, n = 3: below 1e-12.
 */
#include "chisq.h"
#include "csv.h"
#include "mech_problem.h"
#include "tap.h"

#define DRAWS 100000
#define AUDIT_DRAWS 200000

/* ---- broken on purpose ---- */

static bool
bad_half_scale(choice_draw draw, const problem *c, double *out)
{
	problem		half = *c;
	const dp_rational two = {2, 1};

	if (dp_numbers_rational_multiply(&c->rate, &two, &half.rate) != DP_OK ||
		dp_noise_scale_make(1, &half.rate, &half.scale) != DP_OK)
		exit(2);
	return draw(&half, out);
}

/* Noise of half the scale, which is also what a wrong monotone flag gives. */
static bool
bad_permute_half(void *state, double *out)
{
	return bad_half_scale(draw_permute, state, out);
}

static bool
bad_exponential_half(void *state, double *out)
{
	return bad_half_scale(draw_exponential, state, out);
}

static bool
bad_noisy_half(void *state, double *out)
{
	return bad_half_scale(draw_noisy, state, out);
}

static dp_status
flip(dp_int128 gap, const dp_rational *rate, bool *out)
{
	const dp_rational gamma = {(dp_uint128) gap * rate->num, rate->den};

	return dp_noise_bernoulli_exp(&source, &gamma, out);
}

/* Flips in the order of the candidates. */
static bool
bad_permute_in_order(void *state, double *out)
{
	const problem *c = state;
	bool		taken;
	size_t		i;
	dp_int128	best = c->scores[0];

	for (i = 1; i < c->n; i++)
		best = c->scores[i] > best ? c->scores[i] : best;
	for (i = 0; i < c->n; i++)
	{
		if (flip(best - c->scores[i], &c->rate, &taken) != DP_OK)
			return false;
		if (taken)
			break;
	}
	*out = (double) i;
	return true;
}

/* Forgets that a candidate was already flipped. */
static bool
bad_permute_with_return(void *state, double *out)
{
	return draw_exponential(state, out);
}

static bool
bad_exponential_without_return(void *state, double *out)
{
	return draw_permute(state, out);
}

/* The exact best one, always. */
static bool
bad_argmax(void *state, double *out)
{
	const problem *c = state;
	size_t		leader = 0;
	size_t		i;

	for (i = 1; i < c->n; i++)
		if (c->scores[i] > c->scores[leader])
			leader = i;
	*out = (double) leader;
	return true;
}

/* Noisy max with choices: 0 lowest, 1 highest, 2 random of equal ones. */
static bool
noisy_with_ties(const problem *c, dp_noise noise, int ties, double *out)
{
	dp_int128	top = 0;
	dp_int128	x;
	uint64_t	coin;
	size_t		leader = 0;
	size_t		i;
	uint64_t	equal = 0;

	for (i = 0; i < c->n; i++)
	{
		if ((noise == DP_NOISE_LAPLACE ?
			 dp_noise_discrete_laplace(&source, &c->scale, &x) :
			 dp_noise_geometric(&source, &c->scale, &x)) != DP_OK)
			return false;
		x += c->scores[i];
		if (i == 0 || x > top)
		{
			top = x;
			leader = i;
			equal = 1;
		}
		else if (x == top)
		{
			equal++;
			if (dp_noise_uniform_below(&source, equal, &coin) != DP_OK)
				return false;
			if (ties == 1 || (ties == 2 && coin == 0))
				leader = i;
		}
	}
	*out = (double) leader;
	return true;
}

static bool
bad_noisy_random_ties(void *state, double *out)
{
	const problem *c = state;

	return noisy_with_ties(c, c->noise, 2, out);
}

static bool
bad_noisy_high_ties(void *state, double *out)
{
	const problem *c = state;

	return noisy_with_ties(c, c->noise, 1, out);
}

/* The other noise than the one asked for. */
static bool
bad_noisy_other(void *state, double *out)
{
	const problem *c = state;

	return noisy_with_ties(c, c->noise == DP_NOISE_LAPLACE ?
						   DP_NOISE_GEOMETRIC : DP_NOISE_LAPLACE, 0, out);
}

static double
uniform_double(void)
{
	uint64_t	value;

	if (dp_noise_uniform_below(&source, UINT64_C(1) << 53, &value) != DP_OK)
		exit(2);
	return ((double) value + 0.5) * 0x1p-53;
}

/* Continuous noise in floating point. */
static bool
bad_noisy_float(void *state, double *out)
{
	const problem *c = state;
	double		b = dp_noise_scale_approx(&c->scale);
	double		top = -INFINITY;
	double		x;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		x = -log(uniform_double()) * b;
		if (c->noise == DP_NOISE_LAPLACE && uniform_double() < 0.5)
			x = -x;
		x += (double) c->scores[i];
		if (x > top)
		{
			top = x;
			*out = (double) i;
		}
	}
	return true;
}

/* One noise for all candidates. */
static bool
bad_noisy_reused(void *state, double *out)
{
	return bad_argmax(state, out);
}

/* Returns the noisy score, too; as a choice: whether it is above 1. */
static bool
bad_noisy_released(void *state, double *out)
{
	const problem *c = state;
	dp_int128	top = 0;
	dp_int128	x;
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		if (dp_noise_geometric(&source, &c->scale, &x) != DP_OK)
			return false;
		x += c->scores[i];
		if (i == 0 || x > top)
			top = x;
	}
	*out = top < 2 ? 0 : top < 3 ? 1 : 2;
	return true;
}

/* Returns the first candidate's true gap to the best: 0, 1, more. */
static bool
bad_noisy_gap(void *state, double *out)
{
	const problem *c = state;
	double		leader;
	double		gap;

	if (!bad_argmax(state, &leader))
		return false;
	gap = (double) (c->scores[(int) leader] - c->scores[0]);
	*out = gap < 2 ? gap : 2;
	return true;
}

static void
test_broken(void)
{
	enum law
	{
		PERMUTE, EXPONENTIAL, LAPLACE, GEOMETRIC
	};
	static const struct
	{
		const char *label;
		choice_draw draw;
		enum law	law;
	}			bad[] = {
		{"permute-and-flip, scale halved", bad_permute_half, PERMUTE},
		{"permute-and-flip in order", bad_permute_in_order, PERMUTE},
		{"permute-and-flip with returning", bad_permute_with_return, PERMUTE},
		{"permute-and-flip without noise", bad_argmax, PERMUTE},
		{"exponential, scale halved", bad_exponential_half, EXPONENTIAL},
		{"exponential without returning", bad_exponential_without_return,
		EXPONENTIAL},
		{"noisy max, Laplace, scale halved", bad_noisy_half, LAPLACE},
		{"noisy max, Laplace, random ties", bad_noisy_random_ties, LAPLACE},
		{"noisy max, Laplace, ties to the highest", bad_noisy_high_ties,
		LAPLACE},
		{"noisy max, geometric for Laplace", bad_noisy_other, LAPLACE},
		{"noisy max, float Laplace", bad_noisy_float, LAPLACE},
		{"noisy max, noise reused", bad_noisy_reused, LAPLACE},
		{"noisy max, geometric, scale halved", bad_noisy_half, GEOMETRIC},
		{"noisy max, geometric, random ties", bad_noisy_random_ties,
		GEOMETRIC},
		{"noisy max, Laplace for geometric", bad_noisy_other, GEOMETRIC},
		{"noisy max, float exponential", bad_noisy_float, GEOMETRIC},
	};
	problem		c = problem_of("5 5 4 0 -2", "1", false);
	double		probability[4][N_MAX] = {{0}};
	csv_file	csv;
	double		p;
	size_t		i;
	int			k;

	for (k = 0; k < 2; k++)
	{
		csv_open(&csv, k == 0 ? "permute_and_flip.csv" :
				 "exponential_mechanism.csv");
		while (csv_next(&csv))
			if (strcmp(csv_text(&csv, "vector"), "B") == 0 &&
				strcmp(csv_text(&csv, "eps"), "1") == 0 &&
				strcmp(csv_text(&csv, "monotone"), "no") == 0)
				probability[k][(int) csv_number(&csv, "index0")] =
					(double) csv_number(&csv, "probability");
	}
	c.noise = DP_NOISE_LAPLACE;
	noisy_law(&c, probability[LAPLACE]);
	c.noise = DP_NOISE_GEOMETRIC;
	noisy_law(&c, probability[GEOMETRIC]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		c.noise = bad[i].law == LAPLACE ? DP_NOISE_LAPLACE :
			DP_NOISE_GEOMETRIC;
		p = choice_p(bad[i].draw, &c, probability[bad[i].law], (int) c.n,
					 DRAWS);
		tap_ok(p < DP_CHISQ_ALPHA, "broken on purpose is caught: %s "
			   "(p = %.3g)", bad[i].label, p);
	}
}

/* ---- the loss between neighbours ---- */

static void
test_audit(void)
{
	static const struct
	{
		const char *label;
		choice_draw draw;
		dp_noise	noise;
		bool		holds;
		bool		monotone;	/* the flag that is given */
	}			c[] = {
		{"permute-and-flip", draw_permute, DP_NOISE_LAPLACE, true, false},
		{"exponential", draw_exponential, DP_NOISE_LAPLACE, true, false},
		{"noisy max, Laplace", draw_noisy, DP_NOISE_LAPLACE, true, false},
		{"noisy max, geometric", draw_noisy, DP_NOISE_GEOMETRIC, true, false},
		{"permute-and-flip, wrong monotone flag", draw_permute,
		DP_NOISE_LAPLACE, false, true},
		{"exponential, wrong monotone flag", draw_exponential,
		DP_NOISE_LAPLACE, false, true},
		{"noisy max, Laplace, wrong monotone flag", draw_noisy,
		DP_NOISE_LAPLACE, false, true},
		{"noisy max, geometric, wrong monotone flag", draw_noisy,
		DP_NOISE_GEOMETRIC, false, true},
		{"no noise", bad_argmax, DP_NOISE_LAPLACE, false, false},
		{"noisy score released", bad_noisy_released, DP_NOISE_GEOMETRIC,
		false, false},
		{"true gap released", bad_noisy_gap, DP_NOISE_GEOMETRIC, false,
		false},
	};
	problem		one;
	problem		other;
	double		loss;
	size_t		i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		/* one score rises by 1, the others fall by 1 */
		one = problem_of("1 1 1", "1", c[i].monotone);
		other = problem_of("0 0 2", "1", c[i].monotone);
		one.noise = other.noise = c[i].noise;
		loss = choice_loss(c[i].draw, &one, &other, 3, AUDIT_DRAWS);
		if (c[i].holds)
			tap_ok(loss <= 1 && loss > 0.3, "audit: %s loses at least %.3f, "
				   "claims 1", c[i].label, loss);
		else
			tap_ok(loss > 1, "audit catches: %s loses at least %.3f, "
				   "claims 1", c[i].label, loss);

		/* scores that move together may claim half the noise */
		if (c[i].holds)
		{
			one = problem_of("1 1 1", "1", true);
			other = problem_of("1 1 2", "1", true);
			one.noise = other.noise = c[i].noise;
			loss = choice_loss(c[i].draw, &one, &other, 3, AUDIT_DRAWS);
			tap_ok(loss <= 1 && loss > 0.3, "audit: %s, monotone, loses at "
				   "least %.3f, claims 1", c[i].label, loss);
		}
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_broken();
	test_audit();
	return tap_done();
}
