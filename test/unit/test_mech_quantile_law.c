/*
 * test_mech_quantile_law.c
 *	  The exponential mechanism on a grid, scored by rank: draws against the
 *	  oracle's laws, laws by definition, and variants broken on purpose.
 *
 * False alarms: every chi-square below DP_CHISQ_ALPHA (chisq.h).
 */
#include "mech_quantile.h"

#include "csv.h"

#define DRAWS 100000
#define OWN_DRAWS 30000

/* ---- laws ---- */

static void
test_oracle(void)
{
	static const int64_t data[] = {1, 2, 4, 7, 9};
	static const uint64_t counts[] = {1, 2, 1, 3, 1};
	csv_file	csv;
	problem		c;
	char		group[64] = "";
	char		now[64];
	double		probability[CHOICES];
	double		exact[CHOICES];
	double		p;
	double		worst = 0;
	dp_rational fraction;
	dp_rational epsilon;
	int			rows_read = 0;
	int			laws = 0;
	int			i;
	bool		more;

	memset(&c, 0, sizeof(c));
	csv_open(&csv, "quantile_em.csv");
	for (;;)
	{
		more = csv_next(&csv);
		if (more)
			snprintf(now, sizeof(now), "q %s, eps %s", csv_text(&csv, "q"),
					 csv_text(&csv, "eps"));
		if (rows_read > 0 && (!more || strcmp(now, group) != 0))
		{
			law_of(&c, exact);
			for (i = 0; i < rows_read; i++)
				worst = fmax(worst, fabs(exact[i] / probability[i] - 1));
			p = choice_p(draw_value, &c, probability, rows_read, DRAWS);
			tap_ok(p >= DP_CHISQ_ALPHA, "quantile_em.csv, %s: p = %.3g",
				   group, p);
			laws++;
			rows_read = 0;
		}
		if (!more)
			break;
		strcpy(group, now);
		if (rows_read == 0)
		{
			memcpy(c.values, data, sizeof(data));
			memcpy(c.counts, counts, sizeof(counts));
			c.n = 5;
			c.high = 12;
			fraction = choice_rational(csv_text(&csv, "q"));
			epsilon = choice_rational(csv_text(&csv, "eps"));
			c.a = fraction.num;
			c.d = fraction.den;
			set_rate(&c, &epsilon, 1, false);
		}
		if (strcmp(csv_text(&csv, "data"), "1 2 2 4 7 7 7 9") != 0 ||
			strcmp(csv_text(&csv, "grid"), "0..12") != 0)
			exit(2);
		probability[rows_read++] = (double) csv_number(&csv, "probability");
	}
	tap_ok(csv.records == 78 && laws == 6 && worst < 1e-12,
		   "quantile_em.csv has 78 records, 6 laws; the law used below "
		   "agrees: %.2g", worst);
}

static void
test_laws(void)
{
	double		probability[CHOICES];
	problem		c;
	double		p;
	double		lowest = 1;
	int			n;
	int			i;
	int			good = 0;

	for (i = 0; i < 40; i++)
	{
		c = random_problem(CHOICES);
		if (i % 3 == 0)
			c.rate.den += 2000; /* all in few blocks */
		n = law_of(&c, probability);
		p = choice_p(draw_value, &c, probability, n, OWN_DRAWS);
		lowest = fmin(lowest, p);
		good += p >= DP_CHISQ_ALPHA;
	}
	tap_ok(good == i, "%d of %d random laws, lowest p = %.3g", good, i,
		   lowest);
}

/* Whole range of 64 bits, huge counts and fractions. */
static void
test_extremes(void)
{
	problem		c;
	double		probability[CHOICES] = {0};
	double		observed[3] = {0};
	int64_t		value;
	double		p;
	int			i;
	bool		good = true;

	/* two ends far apart: 2^62 uniform points between the middle rows */
	memset(&c, 0, sizeof(c));
	c.n = 2;
	c.low = INT64_MIN + 1;
	c.high = INT64_MAX;
	c.values[0] = -(INT64_C(1) << 61);
	c.values[1] = INT64_C(1) << 61;
	c.counts[0] = c.counts[1] = 1;
	c.a = 1;
	c.d = 2;
	c.rate.num = 1;
	c.rate.den = 2;
	for (i = 0; i < OWN_DRAWS; i++)
	{
		if (choose(&random_source, &c, &value) != DP_OK)
			exit(2);
		observed[value < c.values[0] ? 0 : value <= c.values[1] ? 1 : 2]++;
	}
	/* weights 3/8 exp(-1), 1/4, 3/8 exp(-1), to 2^-60 */
	probability[1] = 0.25 / (0.25 + 0.75 * exp(-1));
	probability[0] = probability[2] = (1 - probability[1]) / 2;
	for (i = 0; i < 3; i++)
		probability[i] *= OWN_DRAWS;
	p = dp_chisq_test(observed, probability, 3).p;
	tap_ok(p >= DP_CHISQ_ALPHA, "grid of 2^64 - 1 points: p = %.3g", p);

	/* 2^45 rows and a denominator of 2^80: the centre but for e^-2^34 */
	c.low = -3;
	c.high = 3;
	c.values[0] = -3;
	c.values[1] = 2;
	c.counts[0] = c.counts[1] = UINT64_C(1) << 44;
	c.d = BIT(80);
	c.a = BIT(79) + BIT(70);
	c.rate.num = 1;
	c.rate.den = BIT(81);
	for (i = 0; i < 100; i++)
		good = good && choose(&random_source, &c, &value) == DP_OK &&
			value == 2;
	/* at one half all between the two rows is as good */
	c.a = BIT(79);
	memset(probability, 0, sizeof(probability));
	for (i = 0; i < 6; i++)
		probability[i] = 1 / 6.0;
	p = choice_p(draw_value, &c, probability, 7, OWN_DRAWS);
	tap_ok(good && p >= DP_CHISQ_ALPHA, "2^45 rows, denominator 2^80: "
		   "p = %.3g", p);

	/* no rows, with and without entries */
	for (i = 0; i < 7; i++)
		probability[i] = 1 / 7.0;
	c.n = 0;
	p = choice_p(draw_value, &c, probability, 7, OWN_DRAWS);
	c.n = 2;
	c.counts[0] = c.counts[1] = 0;
	p = fmin(p, choice_p(draw_value, &c, probability, 7, OWN_DRAWS));
	tap_ok(p >= DP_CHISQ_ALPHA, "no rows: uniform, p = %.3g", p);
}

/* ---- broken on purpose ---- */

static bool
bad_half_scale(void *state, double *out)
{
	problem		c = *(problem *) state;

	c.rate.num *= 2;
	return draw_value(&c, out);
}

/* Gaps between values forgotten: only values that occur are answered. */
static bool
bad_values_only(void *state, double *out)
{
	const problem *c = state;
	dp_int128	scores[N_MAX];
	uint64_t	ones[N_MAX];
	size_t		i;

	for (i = 0; i < c->n; i++)
	{
		scores[i] = -(dp_int128) penalty_of(c, c->values[i]);
		ones[i] = 1;
	}
	if (dp_noise_envelope(&random_source, envelope_of(c), scores, ones, c->n,
						  &i, NULL) != DP_OK)
		return false;
	*out = (double) (c->values[i] - c->low);
	return true;
}

/* Ties split: rows at v all count as below it. */
static bool
bad_ties(void *state, double *out)
{
	const problem *c = state;
	problem		d = *c;
	size_t		i;

	/* as if every row stood one grid point lower */
	for (i = 0; i < d.n; i++)
		d.values[i] -= d.values[i] > d.low ? 1 : 0;
	return draw_value(&d, out);
}

/* A block's points all taken for its best one: no second step. */
static bool
bad_no_keeping(void *state, double *out)
{
	const problem *c = state;
	rows		r;
	partition	p;
	dp_int128	scores[BLOCKS];
	uint64_t	sizes[BLOCKS];
	uint64_t	rank;
	int64_t		point;
	size_t		i;

	make_partition(c, &r, &p);
	for (i = 0; i < p.n; i++)
	{
		scores[i] = -(dp_int128) p.blocks[i].least;
		sizes[i] = p.blocks[i].size;
	}
	if (dp_noise_envelope(&random_source, envelope_of(c), scores, sizes, p.n,
						  &i, &rank) != DP_OK)
		return false;
	point = p.blocks[0].edge;
	if (i > 0)
		locate(&r, &p.blocks[i], rank, &point);
	*out = (double) (point - c->low);
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
		{"scale halved", bad_half_scale},
		{"gaps without multiplicity", bad_values_only},
		{"ties counted below", bad_ties},
		{"blocks taken whole", bad_no_keeping},
	};
	double		probability[CHOICES];
	problem		c;
	double		p;
	size_t		i;
	int			n;

	memset(&c, 0, sizeof(c));
	c.n = 6;
	c.high = 30;
	for (i = 0; i < c.n; i++)
	{
		c.values[i] = 3 + 4 * (int64_t) i;
		c.counts[i] = 5;
	}
	c.a = 1;
	c.d = 2;
	c.rate.num = 1;
	c.rate.den = 25;
	n = law_of(&c, probability);
	p = choice_p(draw_value, &c, probability, n, OWN_DRAWS);
	tap_ok(p >= DP_CHISQ_ALPHA, "the law that the broken ones miss: p = %.3g",
		   p);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		p = choice_p(bad[i].draw, &c, probability, n, OWN_DRAWS);
		tap_ok(p < DP_CHISQ_ALPHA, "broken on purpose is caught: %s "
			   "(p = %.3g)", bad[i].label, p);
	}
}

int
main(void)
{
	dp_noise_source_init(&random_source, dp_noise_fill_openssl, NULL);
	test_oracle();
	test_laws();
	test_extremes();
	test_broken();
	return tap_done();
}
