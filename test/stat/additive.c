/*
 * additive.c
 *	  Discrete Laplace and Gaussian noise and the choice of keys that nobody
 *	  declared: their exact laws against the oracle, audits, and the variants
 *	  that these tests must reject.
 *
 * Rates: as subject.h says; each row of thresholds.csv is a Poisson test at
 * DP_CHISQ_ALPHA, all rows of partition_selection.csv are, too: 300 of these
 * tests make less than 3e-10.
 */
#include "dp_noise.h"
#include "dp_numbers.h"
#include "mech_choice.h"

#include "additive_broken.h"
#include "csv.h"
#include "dp_accounting.h"
#include "subject.h"

/* ---- laws of the oracle ---- */

/*
 * Records of one law: consecutive integers with their probabilities, and then
 * integers k far apart with P[X >= k], which give the mass between them.
 */
static void
test_oracle_law(const char *file, const char *column, bool gaussian)
{
	csv_file	csv;
	char		now[64] = "";
	char		label[128];
	law			l = {0, {0}, {0}};
	additive	a = {.value = {0, 0}};
	subject		s = {gaussian ? draw_gaussian : draw_laplace, {&a, &a}, 1,
	{0, 0}, 1, 0, 0, 0};
	double		tail = 0;
	int			laws = 0;

	csv_open(&csv, file);
	for (;;)
	{
		bool		more = csv_next(&csv);
		double		k = more ? (double) csv_number(&csv, "k") : 0;

		if (!more || strcmp(now, csv_text(&csv, column)) != 0)
		{
			if (l.cells > 0)
			{
				snprintf(label, sizeof(label), "%s, %s %s", file, column,
						 now);
				accept_law(label, &s, &l);
				laws++;
			}
			if (!more)
				break;
			snprintf(now, sizeof(now), "%s", csv_text(&csv, column));
			a = additive_of(0, gaussian, choice_rational(now));
			law_begin(&l, k);
		}
		if (k == l.left[l.cells])
		{
			law_add(&l, 1, (double) csv_number(&csv, "pmf"));
			if (!gaussian)
				tail = (double) (csv_number(&csv, "sf_ge_k") -
								 csv_number(&csv, "pmf"));
		}
		else
		{
			law_add(&l, k - l.left[l.cells],
					tail - (double) csv_number(&csv, "sf_ge_k"));
			tail = (double) csv_number(&csv, "sf_ge_k");
		}
	}
	tap_ok(laws >= 5, "%s: %d laws of %d records", file, laws, csv.records);
}

/* How often a key of n units is told: every record of the oracle. */
static void
test_partition(void)
{
	csv_file	csv;
	additive	a = {.value = {0, 0}};
	dp_rational epsilon;
	dp_rational delta;
	dp_key_law	rule;
	double		worst = 1;
	double		told;
	double		chance;
	double		p;
	int			i;

	csv_open(&csv, "partition_selection.csv");
	while (csv_next(&csv))
	{
		epsilon = choice_rational(csv_text(&csv, "eps"));
		delta = choice_rational(csv_text(&csv, "delta"));
		subject_check(dp_noise_key_law_make(&epsilon, &delta, 1, &rule));
		a.value[0] = (double) csv_number(&csv, "n");
		a.scale = rule.scale;
		a.bound = (dp_int128) rule.threshold;
		chance = (double) csv_number(&csv, "keep_tsgd");
		told = 0;
		for (i = 0; i < SUBJECT_DRAWS; i++)
		{
			draw_key(&a, &p);
			told += p == TOLD;
		}
		p = chance >= 1 ? (told < SUBJECT_DRAWS ? 0 : 1) :
			binomial_p(SUBJECT_DRAWS, chance, told);
		worst = fmin(worst, p);
	}
	tap_ok(worst >= DP_CHISQ_ALPHA && csv.records == 270,
		   "law: partition_selection.csv: %d chances to be told, least "
		   "p = %.3g", csv.records, worst);
}

/* Chance that one unit's kappa keys, noisy count >= tau, show any of them. */
static void
test_thresholds(void)
{
	csv_file	csv;
	double		worst = 1;
	double		expected = 0;
	double		seen;
	double		delta;
	int			runs = 200000;
	int			kappa;
	int			i;
	int			j;

	csv_open(&csv, "thresholds.csv");
	while (csv_next(&csv))
	{
		uint64_t	width = (uint64_t) csv_number(&csv, "scale_or_sigma2");
		double		tau = (double) csv_number(&csv, "tau_keep_if_noisy_ge");
		bool		gaussian = strcmp(csv_text(&csv, "noise"), "gauss") == 0;
		additive	a = gaussian ? gaussian_of(1, width, 1) :
			laplace_of(1, width, 1);

		kappa = (int) csv_number(&csv, "kappa");
		delta = (double) csv_number(&csv, "delta_attained");

		/* below 1e-7 nothing can be seen */
		if (delta < 1e-7)
			continue;
		seen = 0;
		for (i = 0; i < runs; i++)
			for (j = 0; j < kappa; j++)
				if (1 + (gaussian ? gaussian_noise(&a) :
						 laplace_noise(&a)) >= tau)
				{
					seen++;
					break;
				}
		worst = fmin(worst, dp_poisson_p(runs * delta, seen));
		expected += runs * delta;
	}
	tap_ok(worst >= DP_CHISQ_ALPHA && csv.records == 36 && expected > 10,
		   "law: thresholds.csv: keys of one unit kept, least p = %.3g",
		   worst);
}

/* ---- audits ---- */

/* The exact delta of Gaussian noise at an epsilon. */
static double
delta_of(uint64_t sensitivity, uint64_t num, uint64_t den, double epsilon)
{
	dp_rational variance = rational_of(num, den);
	dp_rational e = rational_of((uint64_t) rint(epsilon * 1000), 1000);
	dp_fixed	fixed;
	dp_decimal	delta;

	subject_check(dp_accounting_fixed_from_rational(&e, DP_ROUND_DOWN,
													&fixed));
	subject_check(dp_accounting_delta_of_gaussian(sensitivity, &variance,
												  fixed, &delta));
	return (double) delta.digits * pow(10, delta.exponent);
}

static void
test_sound(void)
{
	static const struct
	{
		int			sensitivity;
		int			num;
		int			den;
		double		epsilon;
	}			g[] = {{1, 1, 4, 1}, {1, 1, 1, .5}, {1, 1, 1, 1}, {1, 1, 1, 2},
	{1, 4, 1, .5}, {5, 25, 1, 1}, {5, 100, 1, .25}};
	additive	pair[2];
	subject		s = {NULL, {&pair[0], &pair[1]}, 1, {0, 0}, 1, 0, 0, 0};
	char		label[128];
	size_t		i;

	/* Laplace: counts are in audit.c; sensitivities above 1, small scales */
	s.draw = draw_laplace;
	pair[0] = laplace_of(0, 7, 1);
	pair[1] = laplace_of(7, 7, 1);
	s.epsilon = 1;
	accept_audit("discrete Laplace, scale 7, sensitivity 7", &s,
				 SUBJECT_TIGHT);
	pair[0] = laplace_of(0, 1, 2);
	pair[1] = laplace_of(1, 1, 2);
	s.epsilon = 2;
	accept_audit("discrete Laplace, scale 1/2", &s, SUBJECT_TIGHT);
	accept_support("discrete Laplace, scale 1/2", &s, 1);

	s.draw = draw_gaussian;
	for (i = 0; i < sizeof(g) / sizeof(g[0]); i++)
	{
		pair[0] = gaussian_of(0, g[i].num, g[i].den);
		pair[1] = gaussian_of(g[i].sensitivity, g[i].num, g[i].den);
		s.epsilon = g[i].epsilon;
		s.delta = delta_of(g[i].sensitivity, g[i].num, g[i].den, s.epsilon);
		snprintf(label, sizeof(label), "discrete Gaussian, variance %d/%d, "
				 "sensitivity %d, delta %.5f", g[i].num, g[i].den,
				 g[i].sensitivity, s.delta);
		accept_audit(label, &s, SUBJECT_TIGHT);
	}
	accept_support("discrete Gaussian", &s, 1);

	/* two cells, each moves by 5: sensitivity sqrt(50), rho 1/4 */
	s.draw = draw_gaussian_cells;
	s.numbers = 2;
	s.step = 2;
	pair[0] = gaussian_of(0, 100, 1);
	pair[1] = gaussian_of(5, 100, 1);
	pair[1].value[1] = 5;
	s.epsilon = 1;
	s.delta = delta_of(71, 10000, 1, 1);
	accept_audit("discrete Gaussian, two cells, L2 sensitivity 5 sqrt(2)", &s,
				 0);

	/* keys: absent and of one unit, then of one more */
	s = (subject) {draw_key, {&pair[0], &pair[1]}, 1, {0, 0}, 1, .5,
	0.012671, 0};
	for (i = 0; i < 9; i++)
	{
		pair[0] = laplace_of((double) i, 2, 1);
		pair[1] = laplace_of((double) i + 1, 2, 1);
		pair[0].bound = pair[1].bound = 6;
		snprintf(label, sizeof(label), "key of %zu or %zu units, delta "
				 "%.5f", i, i + 1, s.delta);
		accept_audit(label, &s, 0);
	}

	/* the same with what is told of a key's units: epsilon twice */
	s.draw = draw_key_count;
	s.numbers = 2;
	s.epsilon = 1;
	for (i = 0; i < 9; i += 2)
	{
		pair[0] = laplace_of((double) i, 2, 1);
		pair[1] = laplace_of((double) i + 1, 2, 1);
		pair[0].bound = pair[1].bound = 6;
		snprintf(label, sizeof(label), "key of %zu or %zu units and their "
				 "number, delta %.5f", i, i + 1, s.delta);
		accept_audit(label, &s, 0);
	}
}

/* ---- variants ---- */

static void
laplace_law(double inverse, law *l)
{
	int			i;

	law_begin(l, -200);
	for (i = -200; i <= 200; i++)
		law_add(l, 1, tanh(inverse / 2) * exp(-abs(i) * inverse));
}

static void
gaussian_law(double variance, law *l)
{
	double		sum = 0;
	int			i;

	law_begin(l, -200);
	for (i = -200; i <= 200; i++)
		sum += exp(-(double) i * i / (2 * variance));
	for (i = -200; i <= 200; i++)
		law_add(l, 1, exp(-(double) i * i / (2 * variance)) / sum);
}

static void
test_broken_laplace(void)
{
	static const char mechanism[] = "discrete Laplace";
	additive	pair[2] = {laplace_of(0, 1, 1), laplace_of(1, 1, 1)};
	subject		s = {NULL, {&pair[0], &pair[1]}, 1, {0, 0}, 1, 1, 0, 0};
	law			l;
	int			strangers;

	laplace_law(1, &l);
	s.draw = broken_minus_zero;
	reject(mechanism, "minus zero counted", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = broken_one_sided_noise;
	reject(mechanism, "one-sided noise", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = broken_laplace_float;
	reject(mechanism, "noise in floating point", BY_LAW | BY_SUPPORT, &s, &l);
	s.draw = broken_laplace_rounded;
	reject(mechanism, "noise in floating point, rounded", BY_LAW, &s, &l);
	s.draw = broken_laplace_clamped;
	reject(mechanism, "noise clamped", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = draw_laplace;
	pair[0] = laplace_of(0, 1, 2);
	pair[1] = laplace_of(1, 1, 2);
	reject(mechanism, "scale halved", BY_LAW | BY_AUDIT, &s, &l);

	/* replace one: a row goes from one cell to another */
	s.draw = broken_laplace_cells_share;
	s.numbers = 2;
	pair[0] = pair[1] = laplace_of(3, 1, 1);
	pair[1].value[0] = 4;
	reject(mechanism, "noise reused across cells", BY_AUDIT, &s, NULL);

	/* floating point around 0.1 and 0.4, of which nothing is common */
	s = (subject) {broken_laplace_float, {&pair[0], &pair[1]}, 1, {0, 0}, 1, 1,
	0, 0};
	pair[0] = laplace_of(0.1, 1, 1);
	pair[1] = laplace_of(0.4, 1, 1);
	strangers = subject_strangers(&s, SUBJECT_DRAWS);
	table_reject(strangers > SUBJECT_DRAWS / 2, mechanism,
				 "noise in floating point on 0.1 and 0.4", "support test",
				 "%d of %d never seen on the neighbour", strangers,
				 SUBJECT_DRAWS);
}

/*
 * Claims: variance 4 for sensitivity 4 at epsilon 1/2, 1, 2 has the delta of
 * dp_accounting_delta_of_gaussian, so a variant with less noise exceeds it.
 */
static void
test_broken_gaussian(void)
{
	static const char mechanism[] = "discrete Gaussian";
	additive	pair[2];
	subject		s = {draw_gaussian, {&pair[0], &pair[1]}, 1, {0, 0}, 1,
	1, 0, 0};
	law			l;
	double		bound;

	gaussian_law(16, &l);
	s.delta = delta_of(4, 16, 1, 1);
	pair[0] = gaussian_of(0, 4, 1);
	pair[1] = gaussian_of(4, 4, 1);
	reject(mechanism, "scale halved", BY_LAW | BY_AUDIT, &s, &l);
	reject(mechanism, "variance for half the sensitivity", BY_LAW | BY_AUDIT,
		   &s, &l);
	pair[0] = gaussian_of(0, 8, 1);
	pair[1] = gaussian_of(4, 8, 1);
	reject(mechanism, "variance halved", BY_LAW | BY_AUDIT, &s, &l);
	pair[0] = gaussian_of(0, 4, 1);
	pair[1] = gaussian_of(4, 4, 1);
	reject(mechanism, "sigma taken for the variance", BY_LAW | BY_AUDIT, &s,
		   &l);
	pair[0] = gaussian_of(0, 16, 1);
	pair[1] = gaussian_of(4, 16, 1);
	s.draw = broken_gaussian_float;
	reject(mechanism, "noise in floating point", BY_LAW | BY_SUPPORT, &s, &l);
	s.draw = broken_gaussian_uniforms;
	reject(mechanism, "sum of three uniforms, rounded", BY_LAW, &s, &l);
	s.draw = broken_gaussian_proposal;
	reject(mechanism, "proposal never rejected", BY_LAW, &s, &l);

	/* rounding shows where sigma is small */
	gaussian_law(0.25, &l);
	pair[0] = gaussian_of(0, 1, 4);
	s.draw = broken_gaussian_rounded;
	reject(mechanism, "noise in floating point, rounded", BY_LAW, &s, &l);

	/* what the continuous formula promises for variance 1 at epsilon 1 */
	s.draw = draw_gaussian;
	pair[0] = gaussian_of(0, 1, 1);
	pair[1] = gaussian_of(1, 1, 1);
	s.delta = 0.12694;
	s.runs = 4 * SUBJECT_RUNS;
	bound = subject_loss(&s);
	s.runs = 0;
	table_reject(bound > 1, mechanism, "delta of the continuous formula",
				 "audit", "loss > %.3f, claim 1.000", bound);

	s.draw = broken_gaussian_cells_share;
	s.numbers = 2;
	pair[0] = pair[1] = gaussian_of(3, 16, 1);
	pair[1].value[0] = 7;
	s.epsilon = 1;
	s.delta = delta_of(4, 16, 1, 1);
	reject(mechanism, "noise reused across cells", BY_AUDIT, &s, NULL);
}

static void
test_broken_keys(void)
{
	static const char mechanism[] = "truncated Laplace, keys";
	additive	pair[2] = {laplace_of(0, 2, 1), laplace_of(1, 2, 1)};
	subject		s = {NULL, {&pair[1], &pair[0]}, 1, {0, 0}, 1, .5,
	0.012671, 0};
	law			l;

	pair[0].bound = pair[1].bound = 6;

	/* the law of a key of one unit */
	law_begin(&l, NOT_TOLD);
	law_add(&l, 1, 1 - 0.012670092606936161);
	law_add(&l, 1, 0.012670092606936161);
	s.draw = draw_key;
	accept_law("key of one unit", &s, &l);
	s.draw = broken_key_threshold;
	reject(mechanism, "threshold off by one", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = broken_key_untruncated;
	reject(mechanism, "noise not truncated", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = broken_key_clamped;
	reject(mechanism, "noise clamped, not conditioned", BY_LAW | BY_AUDIT, &s,
		   &l);
	s.draw = broken_key_listed;
	reject(mechanism, "key listed though not told", BY_LAW | BY_AUDIT, &s,
		   &l);

	s.draw = broken_key_counted;
	s.numbers = 2;
	s.epsilon = 1;
	reject(mechanism, "number told though the key is not", BY_AUDIT, &s,
		   NULL);
	s.numbers = 1;
	s.epsilon = .5;

	/* k for twice the epsilon: the same as noise of half the scale */
	s.draw = draw_key;
	pair[1] = laplace_of(1, 2, 1);
	pair[1].bound = 3;
	reject(mechanism, "threshold for twice the epsilon", BY_LAW | BY_AUDIT,
		   &s, &l);

	/* five and six units */
	pair[0] = laplace_of(5, 2, 1);
	pair[1] = laplace_of(6, 2, 1);
	pair[0].bound = pair[1].bound = 6;
	s.draw = broken_key_exact;
	reject(mechanism, "threshold on the true number", BY_AUDIT, &s, NULL);
	pair[0] = laplace_of(5, 1, 1);
	pair[1] = laplace_of(6, 1, 1);
	pair[0].bound = pair[1].bound = 6;
	s.draw = draw_key;
	reject(mechanism, "scale halved", BY_AUDIT, &s, NULL);
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_oracle_law("discrete_laplace.csv", "scale", false);
	test_oracle_law("discrete_gaussian_pmf.csv", "sigma2", true);
	test_partition();
	test_thresholds();
	test_sound();
	test_broken_laplace();
	test_broken_gaussian();
	test_broken_keys();
	return table_done();
}
