/*
 * iterate_alpha.c
 *	  Whether an iterative construction that aims at alpha is sure to end
 *	  within it.
 *
 * Everything here is public: terms and price.  Nothing depends on rows.
 */
#include "postgres.h"

#include <math.h>

#include "iterate.h"

#define BETA 0.05				/* probability that it ends otherwise */

/* Least alpha n: below it roundings to whole rows matter (T126, T127). */
#define MULTIPLICATIVE_ROWS 27
#define MEDIAN_ROWS 21

/* The probability that a round's count is off by more than `rows`: T6, T12. */
static double
count_tail(const dp_iterate_terms *terms, double rows)
{
	double		variance;

	if (terms->distinguisher != DP_ITERATE_GAUSSIAN)
		return exp(-rows / dp_mech_scale_approx(&terms->scale));
	variance = (double) terms->noise.variance.num /
		(double) terms->noise.variance.den;
	return 2 * exp(-rows * rows / (2 * variance));
}

/* The probability that a choice or a count of any round is off by `rows`. */
static double
failure(const dp_iterate_terms *terms, double rows)
{
	double		rate = (double) terms->rate.num / (double) terms->rate.den;

	return terms->rounds * ((double) terms->queries * exp(-rate * rows) +
							count_tail(terms, rows));
}

/*
 * dp_synth_iterate_needed
 *	  The number of rounds in which the run must end; alpha must be above 0,
 *	  except for the median, which does not use it.
 *
 * Source: doc/theory.md T126, T127.
 */
double
dp_synth_iterate_needed(const dp_iterate_terms *terms, double alpha)
{
	if (terms->update == DP_ITERATE_MEDIAN)
		return 1 + floor(log2((double) terms->candidates));
	return 1 + floor(5 * log((double) terms->cells) / (alpha * alpha));
}

/* Why T126 or T127 does not hold with probability 0.95; NULL: it does. */
static char *
doubt(const dp_iterate_terms *terms, double alpha)
{
	double		rows = alpha * (double) terms->n;
	double		needed = dp_synth_iterate_needed(terms, alpha);

	if (rows < (terms->update == DP_ITERATE_MEDIAN ? MEDIAN_ROWS :
				MULTIPLICATIVE_ROWS))
		return psprintf("It is %.4g rows, too few for counts that are rounded "
						"to whole rows.", rows);
	if (terms->rounds < needed)
		return psprintf("It may take %.0f rounds, and there are %d.", needed,
						terms->rounds);
	if (failure(terms, rows / 4) > BETA)
		return psprintf("It is %.4g rows, and noise of a fourth of that in "
						"one of %d rounds is likely at this price.", rows,
						terms->rounds);
	return NULL;
}

/*
 * dp_synth_iterate_tell_alpha
 *	  Raise a NOTICE if alpha, which is above 0, is not assured, before
 *	  anything is charged; the call goes on, since the bounds are worst-case.
 */
void
dp_synth_iterate_tell_alpha(const dp_iterate_terms *terms, double alpha)
{
	char	   *why = doubt(terms, alpha);
	double		needed = dp_synth_iterate_needed(terms, alpha);

	if (why != NULL)
		ereport(NOTICE,
				(errmsg("alpha %.4g is not assured", alpha),
				 errdetail("%s", why),
				 terms->rounds < needed && needed <= DP_ITERATE_ROUNDS ?
				 errhint("Leave rounds out, or use a larger alpha.") :
				 errhint("Use a larger alpha or epsilon, or fewer cells or "
						 "queries.  Without alpha, rounds end where noise "
						 "begins.")));
}
