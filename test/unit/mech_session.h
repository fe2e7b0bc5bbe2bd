/*
 * mech_session.h
 *	  A sparse vector session over fixed values: what it answers, and the law
 *	  of its answers by summing over the threshold's noise.
 *
 * An outcome is a text of T ("above") and _ ("below"), which ends with the
 * cutoff's T or with the last value.  The law is computed from the definition,
 * with none of the code under test but the two scales.
 */
#ifndef MECH_SESSION_H
#define MECH_SESSION_H

#include <math.h>

#include "mech_choice.h"

#define SESSION_VALUES 8
#define SESSION_OUTCOMES 256

typedef struct session
{
	dp_int128	values[SESSION_VALUES];
	int			n;
	dp_int128	threshold;
	int			cutoff;
	bool		fresh;			/* arm again after each "above" */
	dp_threshold_law law;
	dp_source  *source;
} session;

/* t/s from "3/2" as a scale. */
static inline dp_scale
session_scale(const char *text)
{
	dp_rational b = choice_rational(text);
	dp_rational epsilon = {b.den, 1};
	dp_scale	scale;

	if (dp_noise_scale_make(b.num, &epsilon, &scale) != DP_OK)
		exit(2);
	return scale;
}

static inline void
session_values(session *s, const char *text)
{
	char	   *rest;

	s->n = 0;
	while (*text != '\0')
	{
		s->values[s->n++] = strtol(text, &rest, 10);
		text = *rest == ' ' ? rest + 1 : rest;
	}
}

/* One run: its outcome as text. */
static inline dp_status
session_run(const session *s, char *outcome)
{
	dp_int128	armed;
	dp_status	status;
	int			above = 0;
	int			i;

	status = dp_noise_threshold_arm(s->source, &s->law, s->threshold, &armed);
	for (i = 0; status == DP_OK && i < s->n && above < s->cutoff; i++)
	{
		bool		top;

		status = dp_noise_threshold_test(s->source, &s->law, armed,
										 s->values[i], &top);
		outcome[i] = top ? 'T' : '_';
		above += top;
		if (status == DP_OK && top && s->fresh && above < s->cutoff)
			status = dp_noise_threshold_arm(s->source, &s->law, s->threshold,
											&armed);
	}
	outcome[i] = '\0';
	return status;
}

/* P[X = z] and P[X >= z] for the noise of a law. */
static inline double
session_mass(bool two_sided, double inverse, long z)
{
	double		p = exp(-inverse);

	if (two_sided)
		return (1 - p) / (1 + p) * exp(-(double) labs(z) * inverse);
	return z < 0 ? 0 : (1 - p) * exp(-(double) z * inverse);
}

static inline double
session_tail(bool two_sided, double inverse, double z)
{
	double		p = exp(-inverse);

	if (two_sided)
		return z > 0 ? exp(-z * inverse) / (1 + p) :
			1 - exp((z - 1) * inverse) / (1 + p);
	return z <= 0 ? 1 : exp(-z * inverse);
}

/* P[outcome[from..to)] of one armed threshold. */
static inline double
session_stretch(const session *s, const char *outcome, int from, int to)
{
	double		inverse = 1 / dp_noise_scale_approx(&s->law.threshold);
	double		query = 1 / dp_noise_scale_approx(&s->law.query);
	bool		two = s->law.two_sided;
	long		reach = (long) (50 / inverse) + 50;
	double		sum = 0;
	long		z;
	int			i;

	for (z = two ? -reach : 0; z <= reach; z++)
	{
		double		term = session_mass(two, inverse, z);

		for (i = from; i < to; i++)
		{
			double		tail = session_tail(two, query,
											(double) (s->threshold -
													  s->values[i]) +
											(double) z);

			term *= outcome[i] == 'T' ? tail : 1 - tail;
		}
		sum += term;
	}
	return sum;
}

static inline double
session_probability(const session *s, const char *outcome)
{
	int			n = (int) strlen(outcome);
	int			from = 0;
	double		product = 1;
	int			i;

	if (!s->fresh)
		return session_stretch(s, outcome, 0, n);
	for (i = 0; i < n; i++)
		if (outcome[i] == 'T' || i == n - 1)
		{
			product *= session_stretch(s, outcome, from, i + 1);
			from = i + 1;
		}
	return product;
}

/* All outcomes that can end a run. */
static inline int
session_outcomes(const session *s,
				 char outcome[SESSION_OUTCOMES][SESSION_VALUES + 1])
{
	int			count = 0;
	int			bits;
	int			i;

	for (bits = 0; bits < 1 << s->n; bits++)
	{
		int			above = 0;
		bool		new_one = true;

		for (i = 0; i < s->n && above < s->cutoff; i++)
		{
			outcome[count][i] = bits >> i & 1 ? 'T' : '_';
			above += bits >> i & 1;
		}
		outcome[count][i] = '\0';
		/* what lies behind the last "above" must be 0 */
		for (; i < s->n; i++)
			new_one = new_one && (bits >> i & 1) == 0;
		count += new_one;
	}
	return count;
}

static inline int
session_find(char outcome[SESSION_OUTCOMES][SESSION_VALUES + 1], int n,
			 const char *text)
{
	int			i;

	for (i = 0; i < n; i++)
		if (strcmp(outcome[i], text) == 0)
			return i;
	return -1;
}

#endif							/* MECH_SESSION_H */
