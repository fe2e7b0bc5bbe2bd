/*
 * iterate_law.h
 *	  Two rounds of the iterative construction over two cells and three
 *	  queries, sound or broken on purpose; the law of the second round and how
 *	  likely a whole run is, by definition.
 */
#ifndef STAT_ITERATE_LAW_H
#define STAT_ITERATE_LAW_H

#include "dp_models.h"
#include "dp_noise.h"
#include "dp_numbers.h"
#include "model_host.h"
#include "subject.h"

#define CELLS 2
#define QUERIES 3
#define ROWS 20
#define REACH 60				/* of noise; beyond it are exp(-30) */
#define WIDTH 128				/* between the numbers of two queries */

typedef enum variant
{
	SOUND,
	UNDIVIDED,					/* each choice and count has all of epsilon */
	FIRST_ROUND_PAID,			/* the price is shared by one round's two */
	COUNT_REUSED,				/* the second count has the first's noise */
	CHOICE_EXACT,				/* the worst query, always */
	CHOICE_MONOTONE,			/* as if scores moved one way only */
	COUNT_HALVED				/* a count of half its noise */
} variant;

typedef struct database
{
	variant		defect;
	dp_iterate_terms terms;
	double		part;			/* of epsilon; of DP_ITERATE_GAUSSIAN: */
	double		choice;			/* the choice's, and */
	double		variance;		/* the count's */
	bool		own;			/* an adversary's updates, round by round */
	int64_t		counts[QUERIES];
	int64_t		other[2][QUERIES];	/* both of the pair */
} database;

/* Granules of 4: everything, the first cell, and 3/4 of it with 1/2. */
static const int32_t weights[QUERIES * CELLS] = {4, 4, 4, 0, 3, 2};

static const int64_t neighbours[2][QUERIES] = {{15, 12, 13}, {14, 11, 12}};

/* The first guesses are 20, 10, 13: one score goes up where two go down. */
static const int64_t crossing[2][QUERIES] = {{19, 13, 16}, {18, 12, 15}};

/* One query moves alone, and with it which is the worst. */
static const int64_t alone[2][QUERIES] = {{17, 12, 15}, {18, 12, 15}};

/* ---- draws ---- */

static inline void
spoil(const database *d, dp_iterate_step *steps, int taken)
{
	if (d->defect == COUNT_REUSED && taken == 2)
		steps[1].answer = d->counts[steps[1].query] + steps[0].answer -
			d->counts[steps[0].query];
}

/* An adversary's: out of what was released. */
static inline void
own_guesses(const dp_iterate_step *before, int64_t *guesses)
{
	static const int64_t first[QUERIES] = {20, 10, 13};
	int			q;

	for (q = 0; q < QUERIES; q++)
	{
		guesses[q] = first[q];
		if (before != NULL && before->query == q)
			guesses[q] = before->answer < 0 ? 0 : before->answer > ROWS ?
				ROWS : (int64_t) before->answer;
		else if (before != NULL)
			guesses[q] += before->answer > before->guess ? 1 : 0;
	}
}

static inline int
run_own(const database *d, dp_iterate_step *steps)
{
	int64_t		guesses[QUERIES];
	int			i;

	for (i = 0; i < 2; i++)
	{
		own_guesses(i == 0 ? NULL : &steps[0], guesses);
		subject_check(dp_models_iterate_round(&test_host, &source, &d->terms,
											  guesses, d->counts, &steps[i]));
	}
	return 2;
}

static inline int
run(database *d, dp_iterate_step *steps)
{
	double		probability[CELLS];
	int			taken;

	if (d->own)
		return run_own(d, steps);
	subject_check(dp_models_iterate(&test_host, &source, &d->terms, weights,
									d->counts, probability, steps, &taken));
	spoil(d, steps, taken);
	return taken;
}

/* Query and answer of the second round in one number; -1: there was none. */
static inline bool
draw_second(void *input, double *out)
{
	dp_iterate_step steps[2];

	out[0] = -1;
	if (run(input, steps) == 2)
		out[0] = WIDTH * (double) steps[1].query + WIDTH / 2 +
			(double) (steps[1].answer - neighbours[0][steps[1].query]);
	return true;
}

/* Which query the first round found. */
static inline bool
draw_choice(void *input, double *out)
{
	dp_iterate_step steps[2];

	(void) run(input, steps);
	out[0] = (double) steps[0].query;
	return true;
}

/* By how much two answers about other queries differ. */
static inline bool
draw_difference(void *input, double *out)
{
	dp_iterate_step steps[2];

	out[0] = NAN;
	if (run(input, steps) == 2 && steps[0].query < steps[1].query)
		out[0] = (double) (steps[1].answer - steps[0].answer);
	return true;
}

/* Both answers. */
static inline bool
draw_answers(void *input, double *out)
{
	dp_iterate_step steps[2];
	int			taken = run(input, steps);

	out[0] = (double) steps[0].answer;
	out[1] = taken == 2 ? (double) steps[1].answer : NAN;
	return true;
}

/* ---- one database ---- */

static inline void
open_database(database *d, const int64_t pair[2][QUERIES], int input,
			  dp_iterate_distinguisher how, int epsilon_times_4,
			  variant defect)
{
	dp_uint128	parts = defect == UNDIVIDED ? 1 :
		defect == FIRST_ROUND_PAID ? 2 : 4;
	dp_rational part;
	dp_rational variance = {8, 1};

	memset(d, 0, sizeof(*d));
	d->defect = defect;
	memcpy(d->counts, pair[input], sizeof(d->counts));
	memcpy(d->other, pair, sizeof(d->other));
	d->terms.distinguisher = how;
	d->terms.cells = CELLS;
	d->terms.queries = QUERIES;
	d->terms.one = 4;
	d->terms.n = ROWS;
	d->terms.rounds = 2;
	d->terms.near = 1;
	d->terms.eta = .75;
	subject_check(dp_numbers_rational_make((dp_uint128) epsilon_times_4,
										   4 * parts, &part));
	d->part = d->choice = (double) part.num / (double) part.den;
	d->variance = 8;
	subject_check(dp_noise_selection_rate(&part, 1, defect == CHOICE_MONOTONE,
										  &d->terms.rate));
	if (defect == CHOICE_EXACT)
		d->terms.rate.num *= 1000;
	if (defect == COUNT_HALVED)
		part.num *= 2;
	subject_check(dp_noise_scale_make(1, &part, &d->terms.scale));
	subject_check(dp_noise_gaussian_make(&variance, &d->terms.noise));
}

/* ---- the law, by definition ---- */

static inline double
noise_mass(const database *d, int x)
{
	double		p = exp(-d->part);
	double		sum = 0;
	int			y;

	if (d->terms.distinguisher != DP_ITERATE_GAUSSIAN)
		return (1 - p) / (1 + p) * pow(p, abs(x));
	for (y = -200; y <= 200; y++)
		sum += exp(-y * y / (2 * d->variance));
	return exp(-x * x / (2 * d->variance)) / sum;
}

/* What two cells of which the first has probability x say. */
static inline void
say(double x, double *guess)
{
	int			q;

	for (q = 0; q < QUERIES; q++)
	{
		double		mean = (x * weights[q * CELLS] +
							(1 - x) * weights[q * CELLS + 1]) / 4;

		guess[q] = floor(ROWS * mean + .5);
	}
}

/* And how much it misses by. */
static inline void
miss(const int64_t *counts, const double *guess, double *score)
{
	int			q;

	for (q = 0; q < QUERIES; q++)
		score[q] = fabs((double) counts[q] - guess[q]);
}

/* Flips in every order of three; the largest score's coin is certain. */
static inline void
flip(const double *coin, double *chosen)
{
	static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	{1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	int			i;
	int			k;

	memset(chosen, 0, sizeof(double) * QUERIES);
	for (i = 0; i < 6; i++)
	{
		double		left = 1.0 / 6;

		for (k = 0; k < 3; k++)
		{
			chosen[orders[i][k]] += left * coin[orders[i][k]];
			left *= 1 - coin[orders[i][k]];
		}
	}
}

static inline void
choose(const database *d, const double *score, double *chosen)
{
	double		most = fmax(score[0], fmax(score[1], score[2]));
	double		coin[QUERIES];
	double		sum = 0;
	int			q;

	for (q = 0; q < QUERIES; q++)
		sum += coin[q] = exp(d->choice / 2 * (score[q] - most));
	if (d->terms.distinguisher == DP_ITERATE_PERMUTE_AND_FLIP)
	{
		flip(coin, chosen);
		return;
	}
	for (q = 0; q < QUERIES; q++)
		chosen[q] = coin[q] / sum;
}

/* The first cell's probability after a step from one half. */
static inline double
learn(const database *d, int q, bool lower)
{
	double		f = weights[q * CELLS] / 4.0;
	double		g = weights[q * CELLS + 1] / 4.0;
	double		a = exp(-d->terms.eta * (lower ? f : 1 - f));
	double		b = exp(-d->terms.eta * (lower ? g : 1 - g));

	return a / (a + b);
}

/* Guesses after a step: of the book's update, or of an adversary's. */
static inline void
guess_next(const database *d, const dp_iterate_step *step, double *guess)
{
	int64_t		own[QUERIES];
	int			q;

	if (d->own)
	{
		own_guesses(step, own);
		for (q = 0; q < QUERIES; q++)
			guess[q] = (double) own[q];
	}
	else
		say(step == NULL ? .5 : learn(d, (int) step->query,
									  step->answer < step->guess), guess);
}

/* Adds the second round's law from guesses, times a probability. */
static inline void
add_round(const database *d, const double *guess, double times, law *l)
{
	double		score[QUERIES];
	double		chosen[QUERIES];
	int			q;
	int			z;

	miss(d->counts, guess, score);
	choose(d, score, chosen);
	for (q = 0; q < QUERIES; q++)
		for (z = -REACH; z <= REACH; z++)
			l->probability[q * WIDTH + WIDTH / 2 + z] +=
				times * chosen[q] * noise_mass(d, z);
}

/* Adds what follows from one step of the first round. */
static inline void
add_step(const database *d, dp_iterate_step *step, double times, law *l)
{
	double		guess[QUERIES];

	if (!d->own && step->answer == step->guess)
		return;					/* it is near: there is no second round */
	guess_next(d, step, guess);
	add_round(d, guess, times, l);
}

static inline void
law_of(const database *d, law *l)
{
	double		guess[QUERIES];
	double		score[QUERIES];
	double		chosen[QUERIES];
	int			q;
	int			z;

	law_begin(l, 0);
	for (q = 0; q < QUERIES * WIDTH; q++)
		law_add(l, 1, 0);
	guess_next(d, NULL, guess);
	miss(d->counts, guess, score);
	choose(d, score, chosen);
	for (q = 0; q < QUERIES; q++)
		for (z = -2 * REACH; z <= 2 * REACH; z++)
		{
			dp_iterate_step step = {q, (int64_t) guess[q],
			d->counts[q] + z};

			add_step(d, &step, chosen[q] * noise_mass(d, z), l);
		}
}

/* ---- what a run tells of its database ---- */

/* Log of the density of noise, up to a constant. */
static inline double
log_noise(const database *d, double x)
{
	return d->terms.distinguisher == DP_ITERATE_GAUSSIAN ?
		-x * x / (2 * d->variance) : -fabs(x) * d->part;
}

/* Log of a run's probability with these counts, up to a constant. */
static inline double
log_probability(const database *d, const int64_t *counts,
				const dp_iterate_step *steps, int rounds)
{
	double		sum = 0;
	double		guess[QUERIES];
	double		score[QUERIES];
	double		chosen[QUERIES];
	int			i;

	for (i = 0; i < rounds; i++)
	{
		guess_next(d, i == 0 ? NULL : &steps[0], guess);
		miss(counts, guess, score);
		choose(d, score, chosen);
		sum += log(chosen[steps[i].query]) +
			log_noise(d, (double) (steps[i].answer -
								   counts[steps[i].query]));
	}
	return sum;
}

/* How much likelier a run, or its first round, is on the first database. */
static inline bool
draw_ratio(void *input, double *out)
{
	const database *d = input;
	dp_iterate_step steps[2];
	int			taken = run(input, steps);

	out[0] = log_probability(d, d->other[0], steps, taken) -
		log_probability(d, d->other[1], steps, taken);
	return true;
}

static inline bool
draw_first_ratio(void *input, double *out)
{
	const database *d = input;
	dp_iterate_step steps[2];

	(void) run(input, steps);
	out[0] = log_probability(d, d->other[0], steps, 1) -
		log_probability(d, d->other[1], steps, 1);
	return true;
}

#endif							/* STAT_ITERATE_LAW_H */
