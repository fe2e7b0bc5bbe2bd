/*
 * sparse_broken.h
 *	  Sparse vector sessions as a plan makes them, and the way they are known
 *	  to be got wrong (Lyu, Su, Li 2017, and others).
 *
 * A session over at most six fixed values releases a number whose bits say
 * which values were "above", and for numeric ones the first "above"'s answer.
 */
#ifndef STAT_SPARSE_BROKEN_H
#define STAT_SPARSE_BROKEN_H

#include "dp_accounting.h"
#include "dp_noise.h"
#include "mech_session.h"
#include "subject.h"

typedef enum sparse_defect
{
	SPARSE_SOUND,
	SPARSE_NO_CUTOFF,			/* goes on after the cutoff's "above" */
	SPARSE_NO_QUERY_NOISE,		/* compares the value itself */
	SPARSE_NOISE_WITHOUT_C,		/* query noise as if the cutoff were 1 */
	SPARSE_NOISY_VALUE,			/* answers with the noise that was compared */
	SPARSE_ONE_MORE,			/* halts one "above" too late */
	SPARSE_NO_THRESHOLD_NOISE,
	SPARSE_HALVED,				/* noise of half the scale */
	SPARSE_TRUE_ANSWER,			/* answers with the value */
	SPARSE_REUSED				/* a round begins with the threshold of the
								 * one before */
} sparse_defect;

typedef struct sparse_input
{
	session		s;
	sparse_defect defect;
	int64_t		cutoff;			/* the plan's */
} sparse_input;

/* One variate of a scale, as the law has it. */
static inline dp_int128
sparse_noise(const dp_threshold_law *l, const dp_scale *scale)
{
	dp_int128	x;

	subject_check(l->two_sided ?
				  dp_noise_discrete_laplace(&source, scale, &x) :
				  dp_noise_geometric(&source, scale, &x));
	return x;
}

/* The armed threshold of one round. */
static inline dp_int128
sparse_arm(const sparse_input *in)
{
	dp_int128	armed;

	if (in->defect == SPARSE_NO_THRESHOLD_NOISE)
		return in->s.threshold;
	subject_check(dp_noise_threshold_arm(&source, &in->s.law,
										 in->s.threshold, &armed));
	return armed;
}

/* Is the i-th value "above"?  *answer is what would be released with it. */
static inline bool
sparse_ask(const sparse_input *in, dp_int128 armed, int i, double *answer)
{
	const session *s = &in->s;
	dp_int128	x = s->values[i];
	bool		above;

	if (in->defect == SPARSE_NO_QUERY_NOISE)
		return x >= armed;
	if (in->defect == SPARSE_NOISY_VALUE)
	{
		x += sparse_noise(&s->law, &s->law.query);
		*answer = (double) x;
		return x >= armed;
	}
	subject_check(dp_noise_threshold_test(&source, &s->law, armed, x,
										  &above));
	if (above && s->law.numeric && in->defect != SPARSE_TRUE_ANSWER)
		subject_check(dp_noise_threshold_answer(&source, &s->law, x, &x));
	*answer = (double) x;
	return above;
}

/* A subject_draw. */
static inline bool
sparse_play(void *input, double *out)
{
	const sparse_input *in = input;
	const session *s = &in->s;
	dp_int128	armed = sparse_arm(in);
	double		answer = 0;
	int			above = 0;
	int			i;

	for (i = 0; i < s->n && above < s->cutoff; i++)
		if (sparse_ask(in, armed, i, &answer))
		{
			if (above++ == 0)
				out[1] = answer;
			out[0] += 1 << i;
			if (s->fresh)
				armed = sparse_arm(in);
		}
	return true;
}

static inline void
sparse_halve(dp_scale *scale)
{
	/* t/s with s < 2^127 */
	scale->s[1] = scale->s[1] << 1 | scale->s[0] >> 63;
	scale->s[0] <<= 1;
}

/* A plan's session; its defect, where that lies in the numbers. */
static inline void
sparse_prepare(const dp_sparse_plan *plan, int64_t cutoff,
			   sparse_defect defect, sparse_input *in)
{
	dp_sparse_plan wrong = *plan;

	if (defect == SPARSE_NOISE_WITHOUT_C)
		wrong.query_sensitivity /= (uint64_t) cutoff;
	subject_check(dp_accounting_sparse_law(&wrong, &in->s.law));
	in->defect = defect;
	in->cutoff = cutoff;
	in->s.source = &source;
	in->s.fresh = plan->fresh && defect != SPARSE_REUSED;
	in->s.cutoff = defect == SPARSE_NO_CUTOFF ? SESSION_VALUES :
		defect == SPARSE_ONE_MORE ? (int) cutoff + 1 : (int) cutoff;
	if (defect == SPARSE_HALVED)
	{
		sparse_halve(&in->s.law.threshold);
		sparse_halve(&in->s.law.query);
	}
}

#endif							/* STAT_SPARSE_BROKEN_H */
