/*
 * power.c
 *	  The exact-law, support, empty-group and independence tests that judge
 *	  the server's answers, tried on the models of this folder: sound ones
 *	  pass, and every defect that such a test is there for is rejected.
 *
 * A sound model fails a law or dependence test when a p-value is below
 * DP_CHISQ_ALPHA = 1e-12; fewer than 40 p-values are taken (up to four by one
 * law_laplace), so a run raises a false alarm with probability below 4e-11,
 * plus the collision test's stated rate, below 2e-12.  A defect must come out
 * below 1e-12, and all of them come out below 1e-30.
 */
#include <string.h>

#include "independent.h"
#include "mean_law.h"
#include "mech_law.h"
#include "model.h"
#include "table.h"

#define GROUPS 1000000
#define MEANS 400000
#define NOISES 100000

static dp_source source;

/* ---- counts over groups: their law, empty groups included ---- */

typedef struct grouped_counts
{
	model		m;
	int			next;
	int			kept;
	double		answer[2];
} grouped_counts;

/* Groups of no and of three rows in turn; two are released at a time. */
static bool
next_count(void *state, double *out)
{
	static const model_group group[2] = {{0, {0}}, {3, {1, 1, 1}}};
	grouped_counts *c = state;

	if (c->kept == 0)
	{
		model_count(&c->m, group, 2, c->answer);
		c->kept = 2;
	}
	*out = c->answer[2 - c->kept] - group[2 - c->kept].rows;
	c->kept--;
	return !isnan(*out);
}

static double
counts_p(model_defect defect, uint64_t num, uint64_t den)
{
	grouped_counts c;

	memset(&c, 0, sizeof(c));
	c.m.source = &source;
	c.m.defect = defect;
	c.m.epsilon.num = num;
	c.m.epsilon.den = den;
	return law_laplace(next_count, &c, 0, (double) num / (double) den,
					   GROUPS);
}

static void
test_counts(void)
{
	static const struct
	{
		const char *name;
		model_defect defect;
		uint64_t	num;
		uint64_t	den;
	}			broken[] = {
		{"scale halved", SCALE_HALVED, 1, 2},
		{"epsilon rounded up", EPSILON_ROUNDED_UP, 21, 100},
		{"biased uniform", UNIFORM_BIASED, 1, 1000},
		{"float noise", NOISE_FLOAT, 1, 2},
		{"noise reused across groups", NOISE_SHARED_BY_GROUPS, 1, 2},
		{"no noise on empty groups", EMPTY_WITHOUT_NOISE, 1, 2},
		{"empty groups dropped", EMPTY_DROPPED, 1, 2}
	};
	double		p;
	size_t		i;

	p = counts_p(SOUND, 1, 2);
	tap_ok(p >= DP_CHISQ_ALPHA, "counts, epsilon 1/2: p = %.3g", p);
	p = counts_p(SOUND, 21, 100);
	tap_ok(p >= DP_CHISQ_ALPHA, "counts, epsilon 21/100: p = %.3g", p);
	p = counts_p(SOUND, 1, 1000);
	tap_ok(p >= DP_CHISQ_ALPHA, "counts, epsilon 1/1000: p = %.3g", p);
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		p = counts_p(broken[i].defect, broken[i].num, broken[i].den);
		table_reject(p < DP_CHISQ_ALPHA, "counts", broken[i].name,
					 "exact law", "p = %.2g", p);
	}
}

/* ---- sums on their grid ---- */

/* How many of 10^5 sums on a grid of 1/8 lie off it. */
static int
off_grid(model_defect defect)
{
	static const model_group group = {2, {3, 4}};
	model		m = {&source, defect, {1, 2}, -7, 10};
	int			off = 0;
	int			i;

	for (i = 0; i < NOISES; i++)
	{
		double		released = ldexp(model_sum(&m, &group), -3);

		if (ldexp(released, 3) != rint(ldexp(released, 3)))
			off++;
	}
	return off;
}

static void
test_support(void)
{
	int			off;

	tap_ok(off_grid(SOUND) == 0, "sums are multiples of the granule");
	off = off_grid(NOISE_FLOAT);
	table_reject(off > 0, "sums", "float noise", "support test",
				 "%d of %d off the grid", off, NOISES);
}

/* ---- means ---- */

static double
mean_p(model_defect defect, const model_group *group, double low,
	   double high, uint64_t den)
{
	model		m = {&source, defect, {1, den}, low, high};
	double		observed[MEAN_ALL] = {0};
	double		law[MEAN_ALL];
	double		rows;
	double		total = model_total(&m, group, &rows);
	double		mean;
	int			i;

	for (i = 0; i < MEANS; i++)
	{
		mean = model_mean(&m, group, 1);
		observed[mean_cell((mean - low) / (high - low))]++;
	}
	mean_law_exact(total - rows * low, rows * high - total,
				   1 / (den * (high - low)), law);
	return mean_law_p(observed, law);
}

static void
test_means(void)
{
	static const model_group empty = {0, {0}};
	static const model_group some = {5, {10, 11, 13, 14, 14}};
	double		p;

	p = mean_p(SOUND, &empty, 10, 14, 2);
	tap_ok(p >= DP_CHISQ_ALPHA, "mean of no rows: p = %.3g", p);
	p = mean_p(SOUND, &some, 10, 14, 2);
	tap_ok(p >= DP_CHISQ_ALPHA, "mean of five rows: p = %.3g", p);
	p = mean_p(NOISE_SHARED_BY_PAIR, &empty, 10, 14, 2);
	table_reject(p < DP_CHISQ_ALPHA, "mean of no rows",
				 "noise reused between the two sums", "exact law",
				 "p = %.2g", p);
	p = mean_p(NOISE_SHARED_BY_PAIR, &some, 10, 14, 2);
	table_reject(p < DP_CHISQ_ALPHA, "mean of five rows",
				 "noise reused between the two sums", "exact law",
				 "p = %.2g", p);
	p = mean_p(COUNT_DIVIDES, &some, 10, 14, 2);
	table_reject(p < DP_CHISQ_ALPHA, "mean of five rows",
				 "true number of rows as divisor", "exact law", "p = %.2g", p);
	p = mean_p(SCALE_HALVED, &some, 10, 14, 2);
	table_reject(p < DP_CHISQ_ALPHA, "mean of five rows",
				 "scale halved", "exact law", "p = %.2g", p);
}

/* ---- noise used twice ---- */

static void
draw(double sensitivity, double *value, dp_uint128 *magnitude)
{
	const dp_rational epsilon = {1, 1000};
	dp_scale	scale;
	dp_int128	noise;
	int			i;

	model_check(dp_noise_scale_make((dp_uint128) sensitivity, &epsilon,
									&scale));
	for (i = 0; i < NOISES; i++)
	{
		model_check(dp_noise_discrete_laplace(&source, &scale, &noise));
		value[i] = (double) noise;
		magnitude[i] = (dp_uint128) (noise < 0 ? -noise : noise);
	}
}

static void
test_independence(void)
{
	static double x[NOISES];
	static double y[NOISES];
	static double z[NOISES];
	static dp_uint128 magnitude[NOISES];
	const double inverse_x = 1 / (1000 * 0x1p62);
	const double inverse_y = 1 / 1000.;
	double		p;
	int			i;

	draw(1, y, magnitude);
	draw(0x1p62, x, magnitude);
	p = dependence_p(x, inverse_x, y, inverse_y, NOISES);
	tap_ok(p >= DP_CHISQ_ALPHA, "two columns are independent: p = %.3g", p);
	for (i = 0; i < NOISES; i++)
		z[i] = -rint(x[i] * inverse_x / inverse_y);
	p = dependence_p(x, inverse_x, z, inverse_y, NOISES);
	table_reject(p < DP_CHISQ_ALPHA, "two columns",
				 "noise rescaled and mirrored", "independence test",
				 "p = %.2g", p);
	for (i = 0; i < NOISES; i++)
		z[i] = i % 10 == 0 ? rint(x[i] * inverse_x / inverse_y) : y[i];
	p = dependence_p(x, inverse_x, z, inverse_y, NOISES);
	table_reject(p < DP_CHISQ_ALPHA, "two columns",
				 "a tenth of the noise reused", "independence test",
				 "p = %.2g", p);

	i = count_collisions(magnitude, NOISES);
	tap_ok(i == 0, "no noise twice (false alarm %.1g)",
		   collision_rate(NOISES, inverse_x));
	magnitude[17] = magnitude[4711];
	i = count_collisions(magnitude, NOISES);
	table_reject(i == 1, "groups", "one noise used twice", "collision test",
				 "%d of %d seen again", i, NOISES);
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_counts();
	test_support();
	test_means();
	test_independence();
	return table_done();
}
