/*
 * quantile_model.h
 *	  A choice by rank on a grid written a second time, from the specification
 *	  alone; the mechanism itself; and its law.  For quantile.c, extreme.c.
 *
 * The score of the grid value v for the level a/d over n rows is
 * -max(0, a n - d #(<= v), d #(< v) - a n), of sensitivity max(a, d - a); for
 * the least value at the rank a/d it is -max(0, a - d #(<= v), d #(< v) - a),
 * of sensitivity d, and for the greatest the same with >= and >.  Runs of grid
 * values of one score are levels with their lengths as multiplicities.
 */
#ifndef STAT_QUANTILE_MODEL_H
#define STAT_QUANTILE_MODEL_H

#include "csv.h"
#include "mech_choice.h"

#include "subject.h"

#define TOP 12					/* the grid is 0 .. TOP */
#define ROWS_MAX 16
#define INTERVALS_MAX (2 * ROWS_MAX + 1)
#define RUNS 200000				/* of an audit, on either input */

typedef enum quantile_defect
{
	SOUND = 0,
	MULTIPLICITY_IGNORED,		/* every interval weighs the same */
	ENDPOINT_RELEASED,			/* an interval is answered by its left end */
	DATA_RELEASED,				/* by the row at or below it */
	BOUNDS_OF_DATA,				/* the grid goes from least to largest row */
	SENSITIVITY_ONE,			/* whatever the level */
	WRONG_MONOTONE_FLAG,
	SCALE_HALVED,
	RANK_OFF_BY_ONE,			/* #(< v) where #(<= v) is due */
	EMPTY_WITHOUT_NOISE,		/* no rows: the lower bound */
	SHARE_OF_ROWS,				/* of extremes: T grows with the rows */
	NO_NOISE
} quantile_defect;

typedef struct quantile
{
	int			row[ROWS_MAX];	/* ascending */
	int			rows;
	int			a;				/* the level is a/d */
	int			d;
	int			end;			/* -1, 1: a/d rows are below, above */
	dp_rational epsilon;
	quantile_defect defect;
	dp_envelope law;
	dp_int128	score[INTERVALS_MAX];
	uint64_t	length[INTERVALS_MAX];
	int			left[INTERVALS_MAX];
	size_t		intervals;
} quantile;

/* -max(0, a - d #(beyond or equal), d #(beyond) - a) */
static inline int
extreme_score(const quantile *q, int beyond, int reached)
{
	int			worst = q->a - q->d * reached;

	if (q->defect == SHARE_OF_ROWS)
		worst = q->a * q->rows * 2 - q->d * reached;
	if (q->d * beyond - q->a > worst)
		worst = q->d * beyond - q->a;
	return worst > 0 ? -worst : 0;
}

static inline int
score_of(const quantile *q, int v)
{
	int			below = 0;
	int			upto = 0;
	int			i;
	int			worst;

	for (i = 0; i < q->rows; i++)
	{
		below += q->row[i] < v;
		upto += q->row[i] <= v;
	}
	if (q->defect == RANK_OFF_BY_ONE)
		upto = below;
	if (q->end != 0)
		return extreme_score(q, q->end < 0 ? below : q->rows - upto,
							 q->end < 0 ? upto : q->rows - below);
	worst = q->a * q->rows - q->d * upto;
	if (q->d * below - q->a * q->rows > worst)
		worst = q->d * below - q->a * q->rows;
	return worst > 0 ? -worst : 0;
}

/*
 * Rows such as "1 2 2"; prepares the levels.  end: of an extreme, whose
 * sensitivity is d; else 0.
 */
static inline quantile *
choice_of(const char *rows, int end, int a, int d, const char *epsilon,
		  quantile_defect defect)
{
	quantile   *q = calloc(1, sizeof(quantile));
	dp_rational rate;
	dp_uint128	sensitivity;
	int			first = 0;
	int			last = TOP;
	int			v;
	char	   *rest;

	if (q == NULL)
		exit(2);
	while (*rows != '\0')
	{
		q->row[q->rows++] = (int) strtol(rows, &rest, 10);
		rows = *rest == ' ' ? rest + 1 : rest;
	}
	q->a = a;
	q->d = d;
	q->end = end;
	q->epsilon = choice_rational(epsilon);
	q->defect = defect;
	if (defect == SCALE_HALVED)
		q->epsilon.num *= 2;
	sensitivity = (dp_uint128) d;
	if (end == 0)
		subject_check(dp_noise_quantile_sensitivity((dp_uint128) a,
													(dp_uint128) d, 1, false,
													&sensitivity));
	if (defect == SENSITIVITY_ONE)
		sensitivity = 1;
	subject_check(dp_noise_selection_rate(&q->epsilon, sensitivity,
										  defect == WRONG_MONOTONE_FLAG,
										  &rate));
	subject_check(dp_noise_envelope_make(&rate, 1, &q->law));
	if (defect == BOUNDS_OF_DATA && q->rows > 0)
	{
		first = q->row[0];
		last = q->row[q->rows - 1];
	}
	for (v = first; v <= last; v++)
	{
		size_t		i = q->intervals;

		if (v > first && score_of(q, v) == q->score[i - 1])
		{
			q->length[i - 1]++;
			continue;
		}
		q->left[i] = v;
		q->score[i] = score_of(q, v);
		q->length[i] = 1;
		q->intervals++;
	}
	return q;
}

static inline quantile *
quantile_of(const char *rows, int a, int d, const char *epsilon,
			quantile_defect defect)
{
	return choice_of(rows, 0, a, d, epsilon, defect);
}

/* The mechanism itself. */
static inline bool
draw_mechanism(void *state, double *out)
{
	const quantile *q = state;
	int64_t		value[ROWS_MAX];
	uint64_t	count[ROWS_MAX];
	int64_t		first = 0;
	int64_t		last = TOP;
	dp_ranked_rows ranked = {value, count, NULL, (size_t) q->rows};
	int64_t		v;
	int			i;

	for (i = 0; i < q->rows; i++)
	{
		value[i] = q->row[i];
		count[i] = 1;
	}
	if (q->defect == BOUNDS_OF_DATA && q->rows > 0)
	{
		first = value[0];
		last = value[q->rows - 1];
	}
	if (q->end == 0)
		subject_check(dp_noise_quantile(&source, &q->law, &ranked, first, last,
										(dp_uint128) q->a, (dp_uint128) q->d,
										&v));
	else
		subject_check(dp_noise_extreme(&source, &q->law, &ranked, first, last,
									   (dp_uint128) q->a, (dp_uint128) q->d,
									   q->end > 0, &v));
	out[0] = (double) v;
	return true;
}

static inline bool
draw_model(void *state, double *out)
{
	const quantile *q = state;
	uint64_t	length[INTERVALS_MAX];
	uint64_t	rank;
	size_t		i;

	if (q->rows == 0 && q->defect == EMPTY_WITHOUT_NOISE)
	{
		out[0] = 0;
		return true;
	}
	if (q->defect == NO_NOISE)
	{
		out[0] = q->row[(q->rows - 1) * q->a / q->d];
		return true;
	}
	for (i = 0; i < q->intervals; i++)
		length[i] = q->defect == MULTIPLICITY_IGNORED ? 1 : q->length[i];
	subject_check(dp_noise_envelope(&source, &q->law, q->score, length,
									q->intervals, &i, &rank));
	if (q->defect == MULTIPLICITY_IGNORED)
		subject_check(dp_noise_uniform_below(&source, q->length[i], &rank));
	if (q->defect == ENDPOINT_RELEASED || q->defect == DATA_RELEASED)
		rank = 0;
	out[0] = q->left[i] + (double) rank;
	if (q->defect == DATA_RELEASED)
	{
		int			row;

		for (row = q->rows; row > 0 && q->row[row - 1] > out[0]; row--)
			;
		out[0] = q->row[row > 0 ? row - 1 : 0];
	}
	return true;
}

/* ---- laws ---- */

static inline void
quantile_law(const quantile *sound, law *l)
{
	double		sum = 0;
	double		rate = (double) sound->law.rate.num /
		(double) sound->law.rate.den;
	int			v;

	law_begin(l, 0);
	for (v = 0; v <= TOP; v++)
	{
		law_add(l, 1, exp(rate * score_of(sound, v)));
		sum += l->probability[v];
	}
	for (v = 0; v <= TOP; v++)
		l->probability[v] /= sum;
}

#endif							/* STAT_QUANTILE_MODEL_H */
