/*
 * test_mech_threshold.c
 *	  Arming, testing, answering: exact laws of whole sessions against the
 *	  oracle and against the definition, exact comparison at the ends of the
 *	  type, failures.
 *
 * False-alarm rate: 7 chi-squares of 1e-12 each, 1e-11 in all with 100000
 * runs per case.  Everything else is exact.
 */
#include "csv.h"
#include "mech_session.h"
#include "tap.h"

#define RUNS 100000

static dp_source source;

static char outcome[SESSION_OUTCOMES][SESSION_VALUES + 1];
static double law[SESSION_OUTCOMES];

/* p-value of RUNS sessions against law[0..n). */
static double
session_p(const session *s, int n)
{
	double		observed[SESSION_OUTCOMES] = {0};
	double		expected[SESSION_OUTCOMES];
	char		text[SESSION_VALUES + 1];
	int			i;

	for (i = 0; i < RUNS; i++)
	{
		int			which = -1;

		if (session_run(s, text) == DP_OK)
			which = session_find(outcome, n, text);
		if (which < 0)
			return 0;
		observed[which]++;
	}
	for (i = 0; i < n; i++)
		expected[i] = RUNS * law[i];
	return dp_chisq_test(observed, expected, n).p;
}

static void
check_case(const session *s, const char *name, int n)
{
	session		wrong = *s;
	double		p = session_p(s, n);
	double		q;

	tap_ok(p >= DP_CHISQ_ALPHA, "session %s: law of %d outcomes, p = %.3g",
		   name, n, p);
	wrong.law.query = s->law.threshold;
	wrong.law.threshold = s->law.query;
	q = session_p(&wrong, n);
	tap_ok(q < DP_CHISQ_ALPHA, "session %s: noises exchanged are caught",
		   name);
}

static void
test_oracle(void)
{
	csv_file	csv;
	char		name[16] = "";
	session		s = {0};
	double		worst = 0;
	int			cases = 0;
	int			n = 0;
	bool		more;

	s.source = &source;
	csv_open(&csv, "svt_geometric.csv");
	do
	{
		more = csv_next(&csv);
		if (n > 0 && (!more || strcmp(name, csv_text(&csv, "case")) != 0))
		{
			check_case(&s, name, n);
			cases++;
			n = 0;
		}
		if (!more)
			break;
		snprintf(name, sizeof(name), "%s", csv_text(&csv, "case"));
		session_values(&s, csv_text(&csv, "queries"));
		s.threshold = (dp_int128) csv_number(&csv, "threshold");
		s.cutoff = (int) csv_number(&csv, "c");
		s.law.threshold = session_scale(csv_text(&csv, "b_rho"));
		s.law.query = session_scale(csv_text(&csv, "b_nu"));
		snprintf(outcome[n], sizeof(outcome[n]), "%s",
				 csv_text(&csv, "outcome"));
		law[n] = (double) csv_number(&csv, "probability");
		worst = fmax(worst, fabs(session_probability(&s, outcome[n]) -
								 law[n]));
		n++;
	} while (more);
	tap_ok(csv.records == 20 && cases == 3 && worst < 1e-13,
		   "svt_geometric.csv: 3 cases, 20 outcomes; the computed law agrees: "
		   "%.2g", worst);
}

/* Cases without an oracle: the definition, which the oracle confirmed. */
static void
test_definition(void)
{
	static const struct
	{
		const char *name;
		const char *values;
		int			cutoff;
		bool		fresh;
		bool		two_sided;
		const char *threshold;
		const char *query;
	}			c[] = {
		{"rounds", "0 3 1 4 2", 3, true, false, "3/2", "4"},
		{"book, one above", "0 1 3 2", 1, true, true, "2", "4"},
		{"book, afresh", "2 0 3 1", 2, true, true, "5/3", "10/3"},
		{"two-sided, kept", "2 0 3 1", 2, false, true, "5/3", "10/3"},
	};
	size_t		i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		session		s = {0};
		double		sum = 0;
		int			n;
		int			j;

		s.source = &source;
		session_values(&s, c[i].values);
		s.threshold = 2;
		s.cutoff = c[i].cutoff;
		s.fresh = c[i].fresh;
		s.law.two_sided = c[i].two_sided;
		s.law.threshold = session_scale(c[i].threshold);
		s.law.query = session_scale(c[i].query);
		n = session_outcomes(&s, outcome);
		for (j = 0; j < n; j++)
			sum += law[j] = session_probability(&s, outcome[j]);
		tap_ok(fabs(sum - 1) < 1e-12, "session %s: the law sums to 1",
			   c[i].name);
		check_case(&s, c[i].name, n);
	}
}

/* A law whose noise is 0 but with odds of e^-1000. */
static dp_threshold_law
silent(void)
{
	dp_threshold_law silence = {0};

	silence.numeric = true;
	silence.threshold = silence.query = silence.answer =
		session_scale("1/1000");
	return silence;
}

static void
test_ends(void)
{
	const dp_int128 most = (dp_int128) (~(dp_uint128) 0 >> 1);
	const dp_int128 least = -most - 1;
	const dp_int128 points[] = {least, least + 1, -1, 0, 1, most - 1, most};
	const dp_scale huge = session_scale("1/1000");
	dp_threshold_law quiet = silent();
	dp_threshold_law loud = quiet;
	dp_int128	out = 42;
	bool		above = false;
	bool		good = true;
	int			wrong = 0;
	int			i;
	int			j;

	for (i = 0; i < 7; i++)
		for (j = 0; j < 7; j++)
		{
			good = good &&
				dp_noise_threshold_test(&source, &quiet, points[i], points[j],
										&above) == DP_OK;
			wrong += above != (points[j] >= points[i]);
		}
	tap_ok(good && wrong == 0, "comparisons are exact at the type's ends");

	/* a noise of about 2^126 reaches across half of the type, up or down */
	loud.query = huge;
	loud.query.t[0] = 0;
	loud.query.t[1] = UINT64_C(1) << 62;
	loud.query.s[0] = 1;
	loud.query.narrow = false;
	loud.threshold = loud.query;
	for (i = 0, j = 0; i < 2000; i++)
		j += dp_noise_threshold_test(&source, &loud, most / 2, -1, &above) ==
			DP_OK && above;
	tap_ok(j > 0, "noise is compared in full width (%d)", j);
	loud.two_sided = true;
	for (i = 0, j = 0; i < 2000; i++)
		j += dp_noise_threshold_test(&source, &loud, least, 0, &above) ==
			DP_OK && !above;
	tap_ok(j == 0, "nothing lies below the least number");
	loud.two_sided = false;
	for (i = 0, j = 0; i < 200; i++)
	{
		dp_status	status = dp_noise_threshold_arm(&source, &loud, most - 1,
													&out);

		j += status == DP_E_OVERFLOW;
		good = good && (status == DP_E_OVERFLOW || status == DP_OK);
	}
	tap_ok(good && j == 200 && out == 42,
		   "an armed threshold that does not fit is refused (%d)", j);

	out = 42;
	tap_ok(dp_noise_threshold_arm(&source, &quiet, most, &out) == DP_OK &&
		   out == most &&
		   dp_noise_threshold_answer(&source, &quiet, least, &out) == DP_OK &&
		   out == least, "without noise the ends are answered");
}

static void
test_refusals(void)
{
	dp_threshold_law none = {0};
	dp_threshold_law quiet = silent();
	dp_int128	out = 42;
	bool		above = true;

	none.numeric = true;
	tap_ok(dp_noise_threshold_arm(&source, &none, 0, &out) == DP_E_RANGE &&
		   dp_noise_threshold_test(&source, &none, 5, 0, &above) ==
		   DP_E_RANGE &&
		   dp_noise_threshold_answer(&source, &none, 0, &out) == DP_E_RANGE &&
		   out == 42 && above, "a law without noise is refused");
	quiet.numeric = false;
	tap_ok(dp_noise_threshold_answer(&source, &quiet, 0, &out) ==
		   DP_E_RANGE && out == 42,
		   "a law that is not numeric answers with no number");
}

static dp_status
sample_arm(dp_source *s, const void *state, unsigned char *out)
{
	return dp_noise_threshold_arm(s, state, 7, (dp_int128 *) (void *) out);
}

static dp_status
sample_test(dp_source *s, const void *state, unsigned char *out)
{
	return dp_noise_threshold_test(s, state, 7, 5, (bool *) out);
}

static dp_status
sample_answer(dp_source *s, const void *state, unsigned char *out)
{
	return dp_noise_threshold_answer(s, state, 7, (dp_int128 *) (void *) out);
}

static void
test_failure(void)
{
	static const struct
	{
		const char *name;
		choice_sampler sampler;
	}			c[] = {
		{"arm", sample_arm},
		{"test", sample_test},
		{"answer", sample_answer},
	};
	dp_threshold_law l = silent();
	int			two;
	size_t		i;

	l.threshold = session_scale("7/3");
	l.query = session_scale("40/3");
	l.answer = session_scale("9");
	for (two = 0; two < 2; two++)
		for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
		{
			size_t		points;
			bool		fails;

			l.two_sided = two;
			fails = choice_fails_well(c[i].sampler, &l, 100, &points);
			tap_ok(fails, "%s, %s: failure at each of %zu points is "
				   "DP_E_RANDOM, output untouched", c[i].name,
				   two ? "two-sided" : "one-sided", points);
		}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_oracle();
	test_definition();
	test_ends();
	test_refusals();
	test_failure();
	return tap_done();
}
