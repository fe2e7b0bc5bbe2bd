/*
 * synthesize.c
 *	  The adaptive generator and MWEM: laws of a choice and of a measurement,
 *	  audits of both and of whole runs on neighbouring databases, and the
 *	  variants that these tests must reject.
 *
 * Rates: as subject.h says; 2 law tests and 5 audits of sound mechanisms.
 * Whole runs take fewer draws; variants still lie tens of standard errors
 * beyond.
 */
#include "epsilon_from_rho.h"
#include "model_host.h"
#include "subject.h"

#define CHOICES 100000			/* draws of an audit, on either input */
#define MEASUREMENTS 100000
#define WHOLE 3000
#define DELTA 0.01				/* of audits of Gaussian noise */

typedef enum variant
{
	SOUND,
	WEIGHT_FORGOTTEN,			/* a choice as if scores moved by 1 */
	SIGMA_HALVED,
	NEIGHBOURS_FORGOTTEN,		/* noise for one moved count, two move */
	SPENT_TWICE,				/* each part of a run has the whole budget */
	CHOICES_FREE				/* epsilon is shared among measurements only */
} variant;

static dp_fixed
fixed_of(double x)
{
	return (dp_fixed) (x * 1e9 + .5) * (DP_FIXED_ONE / 1000000000);
}

/* ---- one choice: two columns, expected such that scores move apart ---- */

#define WEIGHT 3

typedef struct choice_input
{
	variant		defect;
	int64_t		counts[2][2];	/* of either column */
} choice_input;

/* A row more of places 0, 0: the first score rises, the second falls. */
static choice_input choice_inputs[2] = {
	{SOUND, {{11, 9}, {8, 12}}},
	{SOUND, {{12, 9}, {9, 12}}}
};
static int64_t choice_expected[2][2] = {{8, 9}, {9, 12}};

static void
choice_terms(const choice_input *in, dp_generator_table *tables,
			 dp_generator_terms *t, dp_generator_step *step)
{
	int			i;

	memset(t, 0, sizeof(*t));
	t->shape.columns = 2;
	t->shape.size[0] = t->shape.size[1] = 2;
	t->ntables = 2;
	t->table = tables;
	t->sensitivity = 1;
	for (i = 0; i < 2; i++)
	{
		tables[i].set = DP_COLUMN(i);
		tables[i].wanted = true;
		tables[i].weight = in->defect == WEIGHT_FORGOTTEN ? 1 : WEIGHT;
		tables[i].counts = in->counts[i];
	}
	subject_check(dp_models_generator_step_make(t, 1, .5, step));
	for (i = 0; i < 2; i++)		/* scores keep their weight */
		tables[i].weight = WEIGHT;
}

static bool
draw_choice(void *state, double *out)
{
	const choice_input *in = state;
	int64_t    *expected[] = {choice_expected[0], choice_expected[1]};
	const int	candidate[] = {0, 1};
	dp_generator_table tables[2];
	dp_generator_terms t;
	dp_generator_step step;
	dp_int128	score[2];
	int			chosen;

	choice_terms(in, tables, &t, &step);
	subject_check(dp_models_generator_choose(&source, &t, &step, candidate, 2,
											 expected, score, &chosen));
	out[0] = chosen;
	return true;
}

/* Scores of the first input: 3 (3 - 1) and 3 (1 - 1); D = 3, epsilon = 1. */
static void
choice_law(law *l)
{
	double		odds = exp(1.0 / 6 * 6);

	law_begin(l, 0);
	law_add(l, 1, odds / (1 + odds));
	law_add(l, 1, 1 / (1 + odds));
}

/* ---- one measurement of two cells ---- */

typedef struct measure_input
{
	variant		defect;
	bool		replace;
	int64_t		counts[2];
} measure_input;

static bool
draw_measurement(void *state, double *out)
{
	const measure_input *in = state;
	dp_generator_table only = {1, true, 1, in->counts};
	dp_generator_terms t;
	dp_generator_step step;

	memset(&t, 0, sizeof(t));
	t.shape.columns = 1;
	t.shape.size[0] = 2;
	t.ntables = 1;
	t.table = &only;
	t.sensitivity = 1;
	t.replace_one = in->replace && in->defect != NEIGHBOURS_FORGOTTEN;

	/* rho = 0.5 for the measurement */
	subject_check(dp_models_generator_step_make(&t, 1,
												(t.replace_one ? sqrt(2) : 1) /
												(in->defect == SIGMA_HALVED ?
												 2 : 1),
												&step));
	subject_check(dp_models_generator_measure(&source, NULL, &step, in->counts,
											  2, out));
	return true;
}

/* ---- whole runs ---- */

typedef struct run_input
{
	variant		defect;
	double		budget;			/* rho or epsilon */
	dp_generator_terms t;
	dp_generator_table *tables;
} run_input;

static void
run_make(run_input *in, variant defect, double budget, int rows)
{
	static const int32_t all[] = {0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0};
	dp_generator_terms *t = &in->t;
	int			n;

	memset(in, 0, sizeof(*in));
	in->defect = defect;
	in->budget = budget;
	t->shape.columns = 2;
	t->shape.size[0] = t->shape.size[1] = 2;
	in->tables = all_tables(&t->shape, 2, all, rows, &n);
	t->table = in->tables;
	t->ntables = n;
	t->sensitivity = 1;
	t->total = -1;
	t->most_cells = 100;
}

/* What leaves: the estimated rows and the first cell's share of them. */
static bool
draw_run(void *state, double *out)
{
	const run_input *in = state;
	dp_fixed	rho = fixed_of(in->budget *
							   (in->defect == SPENT_TWICE ? 32 : 1));
	dp_distribution *d;
	dp_generator_report report;
	double		cells[4];

	subject_check(dp_models_generator_run(&test_host, &source, &in->t, rho, &d,
										  &report));
	subject_check(dp_models_distribution_marginal(d, 3, 100, cells));
	out[0] = floor(d->total + .5);
	out[1] = floor(cells[0] + .5);
	dp_models_distribution_free(d);
	return true;
}

static bool
draw_weights(void *state, double *out)
{
	const run_input *in = state;
	dp_rational epsilon = {(dp_uint128) (in->budget * 1000), 1000};
	dp_mwem		w;
	dp_generator_report report;
	double		cells[4];

	if (in->defect == CHOICES_FREE) /* there are 3 parts */
		epsilon.num *= 6;
	subject_check(dp_numbers_rational_make(epsilon.num, epsilon.den,
										   &epsilon));
	subject_check(dp_models_mwem_run(&test_host, &source, &in->t, &epsilon, 1,
									 &w, &report));
	dp_models_mwem_marginal(&w, 3, cells);
	out[0] = floor(w.total + .5);
	out[1] = floor(cells[0] + .5);
	dp_models_mwem_free(&w);
	return true;
}

/* ---- tests ---- */

static void
test_choices(void)
{
	choice_input bad[2];
	subject		s = {draw_choice, {&choice_inputs[0], &choice_inputs[1]}, 1,
		{0, 0}, 1, 1, 0, CHOICES};
	law			l;

	choice_law(&l);
	accept_law("a choice among tables", &s, &l);
	accept_audit("a choice among tables", &s, .55);
	memcpy(bad, choice_inputs, sizeof(bad));
	bad[0].defect = bad[1].defect = WEIGHT_FORGOTTEN;
	s.input[0] = &bad[0];
	s.input[1] = &bad[1];
	reject("dp_synthesize", "choice without the weight in its sensitivity",
		   BY_LAW | BY_AUDIT, &s, &l);
}

/* The law of the first of two cells, sigma 1, around 5. */
static void
measurement_law(law *l)
{
	double		sum = 0;
	int			k;

	for (k = -12; k <= 12; k++)
		sum += exp(-k * k / 2.0);
	law_begin(l, -7);
	for (k = -12; k <= 12; k++)
		law_add(l, 1, exp(-k * k / 2.0) / sum);
}

/*
 * The epsilon at DELTA of normal noise around centres mu sigmas apart; the
 * discrete law of sigma 1 differs by far less than the twentieth added.
 */
static double
gaussian_claim(double mu)
{
	double		low = 0;
	double		high = 100;

	while (high - low > 1e-9)
	{
		double		e = (low + high) / 2;
		double		delta = erfc((e / mu - mu / 2) * M_SQRT1_2) / 2 -
			exp(e) * erfc((e / mu + mu / 2) * M_SQRT1_2) / 2;

		if (delta > DELTA)
			low = e;
		else
			high = e;
	}
	return 1.05 * high;
}

static void
test_measurements(void)
{
	measure_input in[2] = {{SOUND, false, {5, 5}}, {SOUND, false, {6, 5}}};
	measure_input other[2] = {{SOUND, true, {5, 5}}, {SOUND, true, {6, 4}}};
	subject		s = {draw_measurement, {&in[0], &in[1]}, 2, {5, 5}, 1,
		gaussian_claim(1), DELTA, MEASUREMENTS};
	law			l;

	measurement_law(&l);
	accept_law("a measured table", &s, &l);
	accept_audit("a measured table, one unit more", &s, SUBJECT_TIGHT);
	in[0].defect = in[1].defect = SIGMA_HALVED;
	reject("dp_synthesize", "half the sigma", BY_LAW | BY_AUDIT, &s, &l);

	s.input[0] = &other[0];
	s.input[1] = &other[1];
	accept_audit("a measured table, another unit", &s, SUBJECT_TIGHT);
	other[0].defect = other[1].defect = NEIGHBOURS_FORGOTTEN;
	reject("dp_synthesize", "noise for one count where two move", BY_AUDIT,
		   &s, &l);
}

static void
free_runs(run_input *in)
{
	free_tables(in[0].tables, in[0].t.ntables);
	free_tables(in[1].tables, in[1].t.ntables);
}

static void
test_runs(void)
{
	subject		s = {draw_run, {NULL, NULL}, 2, {6, 3}, 1, 0, DELTA, WHOLE};
	run_input	in[2];
	int			bad;

	s.input[0] = &in[0];
	s.input[1] = &in[1];
	s.epsilon = epsilon_from_rho(.5, DELTA);
	for (bad = 0; bad < 2; bad++)
	{
		run_make(&in[0], bad ? SPENT_TWICE : SOUND, .5, 6);
		run_make(&in[1], bad ? SPENT_TWICE : SOUND, .5, 7);
		if (!bad)
			accept_audit("a whole run", &s, .1);
		else
			reject("dp_synthesize", "a run that spends its rho 32 times",
				   BY_AUDIT, &s, NULL);
		free_runs(in);
	}
	s.draw = draw_weights;
	s.epsilon = 1;
	s.delta = 0;
	s.runs = 10 * WHOLE;
	for (bad = 0; bad < 2; bad++)
	{
		run_make(&in[0], bad ? CHOICES_FREE : SOUND, 1, 6);
		run_make(&in[1], bad ? CHOICES_FREE : SOUND, 1, 7);
		if (!bad)
			accept_audit("a whole run of mwem", &s, .1);
		else
			reject("dp_synthesize", "mwem with twice epsilon for each part",
				   BY_AUDIT, &s, NULL);
		free_runs(in);
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_choices();
	test_measurements();
	test_runs();
	return tap_done();
}
