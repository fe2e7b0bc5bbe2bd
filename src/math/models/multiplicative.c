/*
 * multiplicative.c
 *	  One step of multiplicative weights on a public distribution: sessions,
 *	  the iterative construction, dp_weights_step.
 *
 * A cell's probability is multiplied by a factor that grows or shrinks
 * exponentially with the query's weight there; then all are divided by their
 * sum.  Factors matter only relative to each other.  Everything in it is
 * public, so floating point is harmless.
 */
#include <math.h>

#include "dp_models.h"
#include "models_internal.h"

/*
 * dp_models_weights_normalise
 *	  Divide numbers by their sum.
 *
 * Requires: n >= 0 numbers from 0, with a positive finite sum.
 * Gives:	 p, which adds up to 1.
 * Source:	 doc/theory.md T121 (book, Algorithm 5).
 */
void
dp_models_weights_normalise(double *p, int64_t n)
{
	long double sum = 0;
	int64_t		i;

	for (i = 0; i < n; i++)
		sum += p[i];
	for (i = 0; i < n; i++)
		p[i] = (double) (p[i] / sum);
}

/*
 * dp_models_weights_step
 *	  The next distribution; cell i has factor[place[i]], or factor[i] where
 *	  place is NULL.  Where `least` is positive, no probability becomes 0, so
 *	  that each can rise again.
 *
 * Requires: p a distribution over n cells; factors positive; least >= 0.
 * Gives:	 p, which adds up to 1.
 * Source:	 doc/theory.md T121 (book, Algorithm 5).
 */
void
dp_models_weights_step(double *p, int64_t n, const double *factor,
					   const int32_t *place, double least)
{
	int64_t		i;

	for (i = 0; i < n; i++)
		p[i] = fmax(p[i] * factor[place ? place[i] : i], least);
	dp_models_weights_normalise(p, n);
}
