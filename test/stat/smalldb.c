/*
 * smalldb.c
 *	  SmallDB: its law, audits on neighbouring databases, and the variants
 *	  that these tests must reject.
 *
 * A release is the place of the chosen multiset in lexical order.  The first
 * scan of an input is made once, since it draws nothing.
 *
 * Rates: as subject.h says; 2 law tests and 4 audits of sound mechanisms.
 * Variants take fewer draws, and still lie tens of standard errors beyond.
 */
#include "model_smalldb.h"
#include "subject.h"

#define FEW 20000
#define RUNS 50000				/* of an audit, on either input */
#define FEW_RUNS 20000
#define STEPS 5
#define MOST 32

typedef enum variant
{
	SOUND,
	SENSITIVITY_ONE,			/* forgets that scores are scaled by m */
	GRANULE_FOR_ROW,			/* sensitivity of one granule */
	MONOTONE,					/* rate epsilon / m */
	LEVELS_ALIKE,				/* without the number of candidates */
	FIRST_OF_LEVEL,
	MARKOV_CHAIN				/* of STEPS steps */
} variant;

typedef struct database
{
	variant		defect;
	selection	s;
	dp_rational rate;
	uint64_t   *counts;			/* of the levels, as scanned */
} database;

/* ---- draws ---- */

/* A Metropolis chain that starts at candidate 0. */
static uint64_t
walk(const database *d)
{
	double		rate = (double) d->rate.num / (double) d->rate.den;
	uint32_t	cells[MOST];
	uint64_t	at = 0;
	uint64_t	next;
	uint64_t	coin;
	dp_int128	now;
	dp_int128	then;
	int			i;

	for (i = 0; i < STEPS; i++)
	{
		subject_check(dp_noise_uniform_below(&source,
											 d->s.shape.candidates, &next));
		subject_check(dp_noise_uniform_below(&source, UINT64_C(1) << 53,
											 &coin));
		dp_models_smalldb_unrank(&d->s.problem, at, cells);
		now = selection_score(&d->s, cells);
		dp_models_smalldb_unrank(&d->s.problem, next, cells);
		then = selection_score(&d->s, cells);
		if (ldexp((double) coin, -53) < exp(rate * (double) (then - now)))
			at = next;
	}
	return at;
}

static bool
draw_place(void *state, double *out)
{
	database   *d = state;
	uint64_t	level;
	uint64_t	rank;
	uint64_t	i;

	if (d->defect == MARKOV_CHAIN)
	{
		out[0] = (double) walk(d);
		return true;
	}
	for (i = 0; i < d->s.problem.levels; i++)
		d->s.workers[0].histogram[i] = d->defect == LEVELS_ALIKE ?
			d->counts[i] > 0 : d->counts[i];
	subject_check(dp_models_smalldb_draw(&source, &d->s.problem, &d->rate,
										 d->s.workers, 1, d->s.draw_memory,
										 &level, &rank));
	if (d->defect == LEVELS_ALIKE)
		subject_check(dp_noise_uniform_below(&source, d->counts[level],
											 &rank));
	if (d->defect == FIRST_OF_LEVEL)
		rank = 0;
	selection_scan(&d->s, DP_SMALLDB_LEVEL, level);
	out[0] = (double) dp_models_smalldb_candidate(&d->s.workers[0], rank);
	return true;
}

/* ---- databases ---- */

/* Two cells or four, their queries, and the counts of the first input. */
typedef struct setting
{
	uint64_t	cells;
	uint64_t	queries;
	uint64_t	size;
	uint8_t		holds[16];
	int64_t		counts[2][4];	/* of two neighbours, n = 20 or 10 */
	int64_t		n;
	dp_rational epsilon;
	uint64_t	one;			/* granules of the weight 1 */
} setting;

static const setting four = {4, 3, 3,
	{1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1, 1},
{{11, 7, 15}, {10, 6, 15}}, 20, {4, 5}, 1};

/* One candidate has nearly everything, so both effects of a row add up. */
static const setting tight = {2, 1, 2, {1, 0}, {{10}, {9}}, 10, {2, 1},
1};
static const setting broad = {2, 1, 4, {1, 0}, {{10}, {9}}, 10, {1, 2},
1};
/* Weights of quarters; a row is worth four of them. */
static const setting weighed = {4, 3, 3,
	{4, 2, 0, 1, 3, 0, 4, 1, 0, 2, 3, 4},
{{44, 30, 61}, {40, 27, 57}}, 20, {4, 5}, 4};
static const setting weighed_tight = {2, 1, 2, {4, 0}, {{40}, {36}}, 10,
{2, 1}, 4};
static const setting weighed_broad = {2, 1, 4, {4, 0}, {{40}, {36}}, 10,
{1, 2}, 4};

/* One row replaced: from the first query into the third. */
static const setting replaced = {4, 3, 3,
	{1, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1},
{{11, 7, 4}, {10, 7, 5}}, 20, {2, 1}, 1};

static void
open_database(database *d, const setting *c, int input, variant defect)
{
	dp_uint128	sensitivity = defect == SENSITIVITY_ONE ? 1 :
		defect == GRANULE_FOR_ROW ? c->size : c->size * c->one;

	d->defect = defect;
	selection_open_weights(&d->s, c->cells, c->queries, c->size, c->n,
						   c->one, 1);
	memcpy(d->s.weights, c->holds, c->cells * c->queries);
	memcpy(d->s.counts, c->counts[input], c->queries * sizeof(int64_t));
	subject_check(dp_noise_selection_rate(&c->epsilon, sensitivity,
										  defect == MONOTONE, &d->rate));
	selection_make(&d->s);
	selection_scan(&d->s, DP_SMALLDB_HISTOGRAM, 0);
	d->counts = checked_malloc(d->s.problem.levels * sizeof(uint64_t));
	memcpy(d->counts, d->s.workers[0].histogram,
		   d->s.problem.levels * sizeof(uint64_t));
}

static void
close_database(database *d)
{
	free(d->counts);
	selection_close(&d->s);
}

static double
epsilon_of(const setting *c)
{
	return (double) c->epsilon.num / (double) c->epsilon.den;
}

/* exp(epsilon score / (2 m)), normalised, by the definition of the score. */
static void
law_of(const database *d, const setting *c, law *l)
{
	double		rate = epsilon_of(c) / (2 * (double) (c->size * c->one));
	double		sum = 0;
	uint32_t	cells[MOST];
	uint64_t	i;

	law_begin(l, 0);
	for (i = 0; i < d->s.shape.candidates; i++)
	{
		dp_models_smalldb_unrank(&d->s.problem, i, cells);
		law_add(l, 1, exp(rate * (double) selection_score(&d->s, cells)));
		sum += l->probability[i];
	}
	for (i = 0; i < d->s.shape.candidates; i++)
		l->probability[i] /= sum;
}

/* ---- tests ---- */

static subject
subject_of(const setting *c, database *pair, variant defect, int runs)
{
	subject		s = {draw_place, {&pair[0], &pair[1]}, 1, {0, 0}, 1,
	epsilon_of(c), 0, runs};

	open_database(&pair[0], c, 0, defect);
	open_database(&pair[1], c, 1, defect);
	return s;
}

static void
test_law(const char *name, const setting *c)
{
	database	pair[2];
	subject		s = subject_of(c, pair, SOUND, 0);
	law			l;

	law_of(&pair[0], c, &l);
	accept_law(name, &s, &l);
	close_database(&pair[0]);
	close_database(&pair[1]);
}

static void
test_audit(const char *name, const setting *c, double share)
{
	database	pair[2];
	subject		s = subject_of(c, pair, SOUND,
								share > 0 ? RUNS : FEW_RUNS);

	accept_audit(name, &s, share);
	close_database(&pair[0]);
	close_database(&pair[1]);
}

static void
test_broken(const char *name, variant defect, const setting *c, int by,
			int runs)
{
	database	pair[2];
	subject		s = subject_of(c, pair, defect, runs);
	law			l;
	double		x;

	law_of(&pair[0], c, &l);
	if (by & BY_LAW)
	{
		x = subject_law_p(&s, &l, FEW);
		table_reject(x < DP_CHISQ_ALPHA, "SmallDB", name, "exact law",
					 "p = %.2g", x);
	}
	if (by & BY_AUDIT)
	{
		x = subject_loss(&s);
		table_reject(x > s.epsilon, "SmallDB", name, "audit",
					 "loss > %.3f, claim %.3f", x, s.epsilon);
	}
	close_database(&pair[0]);
	close_database(&pair[1]);
}

int
main(void)
{
	setting		one = tight;

	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_law("SmallDB, |X| = 4, m = 3", &four);
	test_law("SmallDB by weights", &weighed);
	test_audit("SmallDB by weights, a row added", &weighed_tight, .5);
	test_audit("SmallDB, a row added", &tight, .5);
	test_audit("SmallDB, a row added, m = 4", &broad, 0);
	test_audit("SmallDB, a row replaced", &replaced, 0);
	test_broken("sensitivity 1 in place of m", SENSITIVITY_ONE, &broad,
				BY_LAW | BY_AUDIT, FEW_RUNS);
	test_broken("a granule in place of a row", GRANULE_FOR_ROW, &weighed,
				BY_LAW, 0);
	test_broken("a granule in place of a row, all weights 1", GRANULE_FOR_ROW,
				&weighed_broad, BY_LAW | BY_AUDIT, FEW_RUNS);
	one.epsilon.num = 1;
	test_broken("scores taken for monotone", MONOTONE, &one,
				BY_LAW | BY_AUDIT, RUNS);
	test_broken("levels without their numbers of candidates", LEVELS_ALIKE,
				&four, BY_LAW, 0);
	test_broken("first candidate of the level", FIRST_OF_LEVEL, &four,
				BY_LAW, 0);
	test_broken("Markov chain of 5 steps", MARKOV_CHAIN, &four, BY_LAW, 0);
	return table_done();
}
