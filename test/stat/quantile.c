/*
 * quantile.c
 *	  Quantiles by the exponential mechanism on a grid, and the envelope
 *	  sampler they stand on: exact laws, audits, and the variants that these
 *	  must reject.
 *
 * Most variants are made of the model of quantile_model.h.  Rates: as
 * subject.h says.
 */
#include "quantile_model.h"

static void
test_oracle(void)
{
	csv_file	csv;
	law			l;
	law			computed;
	quantile   *q = NULL;
	subject		s = {NULL, {NULL, NULL}, 1, {0, 0}, 1, 0, 0, 0};
	char		label[128];
	double		worst = 0;
	int			wrong = 0;
	int			laws = 0;
	int			i;

	law_begin(&l, 0);
	csv_open(&csv, "quantile_em.csv");
	while (csv_next(&csv))
	{
		unsigned long long a;
		unsigned long long d;

		if (q == NULL)
		{
			csv_fraction(&csv, "q", &a, &d);
			q = quantile_of(csv_text(&csv, "data"), (int) a, (int) d,
							csv_text(&csv, "eps"), SOUND);
		}
		wrong += score_of(q, l.cells) != (int) csv_number(&csv, "score") ||
			strcmp(csv_text(&csv, "grid"), "0..12") != 0 ||
			(int) csv_number(&csv, "value") != l.cells;
		law_add(&l, 1, (double) csv_number(&csv, "probability"));
		if (l.cells <= TOP)
			continue;
		quantile_law(q, &computed);
		for (i = 0; i <= TOP; i++)
			worst = fmax(worst, fabs(l.probability[i] -
									 computed.probability[i]));
		snprintf(label, sizeof(label), "quantile_em.csv, level %s, "
				 "epsilon %s", csv_text(&csv, "q"), csv_text(&csv, "eps"));
		s.input[0] = s.input[1] = q;
		s.draw = draw_mechanism;
		accept_law(label, &s, &l);
		strcat(label, ", the model");
		s.draw = draw_model;
		accept_law(label, &s, &l);
		law_begin(&l, 0);
		free(q);
		q = NULL;
		laws++;
	}
	tap_ok(csv.records == 78 && laws == 6 && wrong == 0 && worst < 1e-14,
		   "quantile_em.csv: 6 laws, scores agree, probabilities to %.2g",
		   worst);
}

/* ---- the envelope sampler by itself ---- */

typedef struct levels
{
	dp_envelope law;
	size_t		n;
	dp_int128	score[8];
	uint64_t	count[8];
	int			defect;			/* 1 counts ignored, 2 weights rounded up,
								 * 3 rank always 0 */
} levels;

/* Releases 100 * level + the third of the level where the rank lies. */
static bool
draw_levels(void *state, double *out)
{
	const levels *c = state;
	uint64_t	one[8] = {1, 1, 1, 1, 1, 1, 1, 1};
	uint64_t	rank;
	uint64_t	place;
	size_t		i;

	if (c->defect == 2)
	{
		/* exp(-gap rate) in units of 1/16, rounded up */
		double		weight[8];
		double		sum = 0;

		for (i = 0; i < c->n; i++)
			sum += weight[i] = (double) c->count[i] *
				ceil(16 * exp((double) (c->score[i] - c->score[0]) *
							  (double) c->law.rate.num /
							  (double) c->law.rate.den));
		subject_check(dp_noise_uniform_below(&source, (uint64_t) sum,
											 &place));
		for (i = 0; (double) place >= weight[i]; i++)
			place -= (uint64_t) weight[i];
		subject_check(dp_noise_uniform_below(&source, c->count[i], &rank));
	}
	else
		subject_check(dp_noise_envelope(&source, &c->law, c->score,
										c->defect == 1 ? one : c->count, c->n,
										&i, &rank));
	if (c->defect == 3)
		rank = 0;
	out[0] = 100 * (double) i + floor(3 * (double) rank /
									  (double) c->count[i]);
	return true;
}

static levels
levels_of(const dp_rational *rate, int defect)
{
	static const int score[] = {0, -1, -3, -7, -8};
	static const uint64_t count[] = {3, 6, 30, 3000, 9};
	levels		c;

	c.defect = defect;
	subject_check(dp_noise_envelope_make(rate, 1, &c.law));
	for (c.n = 0; c.n < sizeof(score) / sizeof(score[0]); c.n++)
	{
		c.score[c.n] = score[c.n];
		c.count[c.n] = count[c.n];
	}
	return c;
}

static void
levels_law(const levels *c, law *l)
{
	double		rate = (double) c->law.rate.num / (double) c->law.rate.den;
	double		sum = 0;
	size_t		i;
	int			third;

	for (i = 0; i < c->n; i++)
		sum += (double) c->count[i] * exp(rate * (double) c->score[i]);
	law_begin(l, 0);
	for (i = 0; i < c->n; i++)
		for (third = 0; third < 3; third++)
			law_add(l, third == 2 ? 98 : 1, (double) c->count[i] / 3 *
					exp(rate * (double) c->score[i]) / sum);
}

static void
test_envelope(void)
{
	const dp_rational rate = {5, 7};
	levels		c = levels_of(&rate, 0);
	subject		s = {draw_levels, {&c, &c}, 1, {0, 0}, 1, 0, 0, 0};
	law			l;

	levels_law(&c, &l);
	accept_law("envelope sampler, five levels and ranks", &s, &l);
	c.defect = 1;
	reject("envelope sampler", "multiplicities ignored", BY_LAW, &s, &l);
	c.defect = 2;
	reject("envelope sampler", "bounds taken for weights", BY_LAW, &s, &l);
	c.defect = 3;
	reject("envelope sampler", "rank always the first", BY_LAW, &s, &l);
}

/* ---- audits ---- */

typedef struct neighbours
{
	const char *rows[2];
	int			a;
	int			d;
	const char *epsilon;
} neighbours;

static double
audit_inputs(const neighbours *n, quantile_defect defect, subject *s)
{
	const dp_rational epsilon = choice_rational(n->epsilon);
	int			i;

	*s = (subject) {draw_mechanism, {NULL, NULL}, 1, {0, 0}, 1, 0, 0, RUNS};
	for (i = 0; i < 2; i++)
		s->input[i] = quantile_of(n->rows[i], n->a, n->d, n->epsilon, defect);
	s->epsilon = (double) epsilon.num / (double) epsilon.den;
	return s->epsilon;
}

static void
free_inputs(subject *s)
{
	free(s->input[0]);
	free(s->input[1]);
}

static void
test_sound(void)
{
	static const struct
	{
		neighbours	n;
		double		tight;
	}			c[] = {
		{{{"11 11", "11 11 12"}, 1, 2, "1/2"}, 0.4},
		{{{"", "12"}, 1, 2, "1"}, 0},
		{{{"1 2 2 4 7 7 7 9", "1 2 2 4 7 7 7"}, 1, 2, "2"}, 0},
		{{{"1 2 2 4 7 7 7 9", "2 2 4 7 7 7 9"}, 1, 4, "2"}, 0},
		{{{"0 12", "0 6 12"}, 9, 10, "3"}, 0},
		{{{"11", "11 12"}, 9, 10, "3"}, 0.2}
	};
	subject		s;
	char		label[128];
	size_t		i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		audit_inputs(&c[i].n, SOUND, &s);
		snprintf(label, sizeof(label), "quantile %d/%d of {%s} and {%s}",
				 c[i].n.a, c[i].n.d, c[i].n.rows[0], c[i].n.rows[1]);
		accept_audit(label, &s, c[i].tight);
		free_inputs(&s);
	}
}

static void
test_broken(void)
{
	static const struct
	{
		const char *variant;
		quantile_defect defect;
		int			by;
		subject_draw draw;
		neighbours	n;
	}			c[] = {
		{"scale halved", SCALE_HALVED,
		BY_LAW | BY_AUDIT, draw_mechanism,
		{{"11 11", "11 11 12"}, 1, 2, "1/2"}},
		{"wrong monotone flag", WRONG_MONOTONE_FLAG,
		BY_LAW | BY_AUDIT, draw_mechanism,
		{{"11 11", "11 11 12"}, 1, 2, "1/2"}},
		{"sensitivity 1 at level 9/10", SENSITIVITY_ONE,
		BY_LAW | BY_AUDIT, draw_mechanism,
		{{"11", "11 12"}, 9, 10, "1"}},
		{"lengths of intervals ignored", MULTIPLICITY_IGNORED,
		BY_LAW | BY_AUDIT, draw_model,
		{{"0 6 12", "0 12"}, 1, 2, "1/2"}},
		{"endpoints leaked", ENDPOINT_RELEASED,
		BY_LAW | BY_AUDIT, draw_model,
		{{"0 12", "0 6 12"}, 1, 2, "1/2"}},
		{"a row's value released", DATA_RELEASED,
		BY_LAW | BY_AUDIT, draw_model,
		{{"0 12", "0 6 12"}, 1, 2, "1/2"}},
		{"bounds of the data for the grid", BOUNDS_OF_DATA,
		BY_LAW | BY_AUDIT, draw_mechanism,
		{{"3 5", "3 5 9"}, 1, 2, "1"}},
		{"rank off by one", RANK_OFF_BY_ONE,
		BY_LAW, draw_model,
		{{"5 5 5", "5 5 5 6"}, 1, 2, "1"}},
		{"no rows, no noise", EMPTY_WITHOUT_NOISE,
		BY_LAW | BY_AUDIT, draw_model,
		{{"", "12"}, 1, 2, "1"}},
		{"noise left out", NO_NOISE,
		BY_LAW | BY_AUDIT, draw_model,
		{{"3 5", "3 5 9"}, 3, 4, "1"}}
	};
	quantile   *sound;
	subject		s;
	law			l;
	size_t		i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		audit_inputs(&c[i].n, c[i].defect, &s);
		s.draw = c[i].draw;
		sound = quantile_of(c[i].n.rows[0], c[i].n.a, c[i].n.d,
							c[i].n.epsilon, SOUND);
		quantile_law(sound, &l);
		reject("quantile", c[i].variant, c[i].by, &s, &l);
		free(sound);
		free_inputs(&s);
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_oracle();
	test_envelope();
	test_sound();
	test_broken();
	return table_done();
}
