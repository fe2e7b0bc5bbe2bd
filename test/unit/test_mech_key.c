/*
 * test_mech_key.c
 *	  Which keys are released by threshold: thresholds and chances equal the
 *	  oracle's, drawn decisions follow them, also with an owner's least number
 *	  of units, and a threshold that is too small by one is caught.
 *
 * False-alarm rate: 280 chi-squares of DP_CHISQ_ALPHA, below 1e-9 in all.
 */
#include "csv.h"
#include "mech_choice.h"
#include "tap.h"

#define RUNS 100000
#define CASES 16

static dp_source source;

/* Decisions about keys of n units. */
typedef struct decision
{
	const dp_key_law *law;
	uint64_t	n;
} decision;

/* choice_draw: 1 is told */
static bool
draw_told(void *state, double *out)
{
	const decision *d = state;
	bool		told;

	if (dp_noise_key_is_released(&source, d->law, d->n, &told) != DP_OK)
		return false;
	*out = told ? 1 : 0;
	return true;
}

/* p-value of decisions about keys of n units, told with this chance. */
static double
told_p(const dp_key_law *law, uint64_t n, double chance)
{
	decision	d = {law, n};
	const double probability[2] = {1 - chance, chance};

	return choice_p(draw_told, &d, probability, 2, RUNS);
}

/* ---- the oracle's table ---- */

typedef struct one_case
{
	char		epsilon[32];
	char		delta[32];
	dp_key_law	law;
	int			units;
	double		chance[256];
} one_case;

static one_case cases[CASES];
static int	ncases = 0;

static bool
read_record(csv_file *csv)
{
	const char *epsilon = csv_text(csv, "eps");
	const char *delta = csv_text(csv, "delta");
	int			n = (int) csv_number(csv, "n");
	one_case   *c;
	dp_rational e = choice_rational(epsilon);
	dp_rational d = choice_rational(delta);

	if (ncases == 0 || strcmp(cases[ncases - 1].epsilon, epsilon) != 0 ||
		strcmp(cases[ncases - 1].delta, delta) != 0)
	{
		c = &cases[ncases++];
		snprintf(c->epsilon, sizeof(c->epsilon), "%s", epsilon);
		snprintf(c->delta, sizeof(c->delta), "%s", delta);
		if (dp_noise_key_law_make(&e, &d, 1, &c->law) != DP_OK)
			return false;
	}
	c = &cases[ncases - 1];
	if (n > 255 || n != c->units + 1)
		return false;
	c->units = n;
	c->chance[n] = csv_number(csv, "keep_tsgd");
	return (double) c->law.threshold == csv_number(csv, "k_tsgd") &&
		fabs(dp_noise_key_chance(&c->law, (uint64_t) n) - c->chance[n]) <=
		1e-9 * c->chance[n] + 1e-15;
}

static void
test_oracle(void)
{
	csv_file	csv;
	bool		good = true;
	int			i;

	csv_open(&csv, "partition_selection.csv");
	while (csv_next(&csv))
		good &= read_record(&csv);
	tap_ok(good && ncases > 0, "thresholds and chances of %d laws", ncases);
	for (i = 0; i < ncases; i++)
	{
		one_case   *c = &cases[i];
		dp_key_law	broken = c->law;
		uint64_t	middle = c->law.threshold + 1;
		double		least = 1;
		double		p;
		int			n;

		for (n = 1; n <= c->units; n++)
		{
			p = told_p(&c->law, (uint64_t) n, c->chance[n]);
			least = p < least ? p : least;
		}
		tap_ok(least >= DP_CHISQ_ALPHA, "epsilon %s, delta %s: least p = %.3g",
			   c->epsilon, c->delta, least);
		broken.threshold--;
		p = told_p(&broken, middle, dp_noise_key_chance(&c->law, middle));
		tap_ok(p < DP_CHISQ_ALPHA, "epsilon %s, delta %s: one too small is "
			   "caught", c->epsilon, c->delta);
	}
}

/* ---- several changes ---- */

/* The least k by the definition, in floating point. */
static uint64_t
least_k(double epsilon, double delta)
{
	double		q = exp(-epsilon);
	uint64_t	k = 0;

	while (exp(-(double) k * epsilon) * (1 - q) /
		   (1 + q - 2 * exp(-(double) (k + 1) * epsilon)) > delta)
		k++;
	return k;
}

static void
check_changes(const char *epsilon, const char *delta, uint64_t changes)
{
	dp_rational e = choice_rational(epsilon);
	dp_rational d = choice_rational(delta);
	dp_key_law	law;
	bool		good = dp_noise_key_law_make(&e, &d, changes, &law) == DP_OK;
	double		wanted = (double) least_k(atof(epsilon) / (double) changes,
										  atof(delta) / (double) changes);

	tap_ok(good && (double) law.threshold == wanted,
		   "epsilon %s, delta %s, %d changes: threshold %.0f", epsilon, delta,
		   (int) changes, wanted);
}

static void
test_changes(void)
{
	check_changes("1", "1e-6", 2);
	check_changes("1", "1e-6", 10);
	check_changes("0.3", "1e-9", 7);
	check_changes("0.001", "0.01", 1);
	check_changes("10", "1e-9", 3);
	check_changes("100000", "1e-6", 1);
	check_changes("1e-12", "0.001", 1);
}

/* ---- an owner's least number of units ---- */

/* P[X >= x] of the noise, from its definition. */
static double
chance_from(double rate, int k, int x)
{
	double		all = 0;
	double		wanted = 0;
	int			i;

	for (i = -k; i <= k; i++)
	{
		double		weight = exp(-rate * abs(i));

		all += weight;
		wanted += i >= x ? weight : 0;
	}
	return wanted / all;
}

static void
test_least(int beyond)
{
	dp_rational e = {3, 10};
	dp_rational d = {1, 1000000};
	dp_key_law	law;
	bool		made = dp_noise_key_law_make(&e, &d, 1, &law) == DP_OK;
	int			k = (int) law.threshold;
	int			from = beyond > 0 ? k + 1 + beyond : k + 1;
	bool		close = made;
	double		least = 1;
	int			n;

	law.least = (uint64_t) (k + 1 + beyond);
	for (n = 1; n <= from + k + 2; n++)
	{
		double		chance = chance_from(0.3, k, from - n);

		close &= fabs(dp_noise_key_chance(&law, (uint64_t) n) - chance) <=
			1e-9 * chance + 1e-15;
		if (n == from || n == from - 3 || n == from + 5)
			least = fmin(least, told_p(&law, (uint64_t) n, chance));
	}
	tap_ok(close, "chances with at least %d units", from);
	tap_ok(least >= DP_CHISQ_ALPHA, "at least %d: p = %.3g", from, least);
	tap_ok(dp_noise_key_units(&law, 0.5) == (uint64_t) from &&
		   dp_noise_key_certain(&law) == (uint64_t) (from + k) &&
		   dp_noise_key_chance(&law, (uint64_t) (from + k)) == 1 &&
		   dp_noise_key_chance(&law, (uint64_t) (from + k - 1)) < 1,
		   "half of the keys with %d, all with %d", from, from + k);
}

static void
test_refusals(void)
{
	dp_rational e = {1, 1};
	dp_rational tiny = {1, (dp_uint128) 1 << 100};
	dp_rational zero = {0, 1};
	dp_rational d = {1, 1000};
	dp_key_law	law;
	dp_source	failing;
	bool		told = true;

	tap_ok(dp_noise_key_law_make(&zero, &d, 1, &law) == DP_E_RANGE &&
		   dp_noise_key_law_make(&e, &zero, 1, &law) == DP_E_RANGE &&
		   dp_noise_key_law_make(&e, &e, 1, &law) == DP_E_RANGE &&
		   dp_noise_key_law_make(&e, &d, 0, &law) == DP_E_RANGE,
		   "no law without epsilon, delta, changes");
	tap_ok(dp_noise_key_law_make(&tiny, &tiny, 1, &law) == DP_E_OVERFLOW,
		   "a threshold that is too large");
	tap_ok(dp_noise_key_law_make(&e, &d, 1, &law) == DP_OK &&
		   dp_noise_key_is_released(&source, &law, 0,
									&told) == DP_OK && !told &&
		   dp_noise_key_is_released(&source, &law, 2 * law.threshold + 1,
									&told) == DP_OK && told,
		   "nobody's key is never told, one of very many always");
	tap_ok(dp_noise_key_units(&law, 0.5) == law.threshold + 1,
		   "half of the keys with one more than the threshold");
	dp_noise_source_init(&failing, failing_fill, NULL);
	tap_ok(dp_noise_key_is_released(&failing, &law, 5, &told) == DP_E_RANDOM,
		   "no decision without randomness");
}

int
main(void)
{
	uint64_t	seed = 15;

	dp_noise_source_init(&source, fake_fill, &seed);
	test_oracle();
	test_changes();
	test_least(20);
	test_least(100);
	test_least(-5);
	test_refusals();
	return tap_done();
}
