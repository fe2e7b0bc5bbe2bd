/*
 * loss.h
 *	  An audit: a lower bound on the privacy loss that runs on two
 *	  neighbouring inputs show.
 *
 * A release is one or two numbers (a, b).  Each input is run N times.  The
 * family of events is fixed before any run: for each functional a, b, a + b,
 * a - b (a only when there is one number) its interval bins and half-lines on
 * a grid around a public centre, and for pairs the quadrants at a grid of
 * corners.  For each event and each direction
 *
 *	  loss >= ln(lower bound of P[event | one] / upper bound of P[.. | other])
 *
 * with Clopper and Pearson's bounds, each at AUDIT_ALPHA divided by the number
 * of bounds taken.  So the largest of them exceeds the true loss, and a sound
 * mechanism is accused, with probability at most AUDIT_ALPHA.
 *
 * A mechanism that claims (epsilon, delta) has P[event | one] <= e^epsilon
 * P[event | other] + delta for every event.  For it the lower bound is first
 * reduced by delta; the result exceeds epsilon, and a sound mechanism is
 * accused, with probability at most AUDIT_ALPHA again.
 *
 * What is not a number, or missing, is an outcome, too: the top bin's.
 */
#ifndef STAT_LOSS_H
#define STAT_LOSS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interval.h"

#define AUDIT_ALPHA 1e-10

#define LOSS_REACH 48			/* bins on either side of the centre */
#define LOSS_BINS (2 * LOSS_REACH + 2)	/* the last one: no number at all */
#define LOSS_CORNERS 7
#define LOSS_FUNCTIONALS 4

typedef struct loss_audit
{
	int			numbers;		/* of one release: 1 or 2 */
	double		centre[2];		/* public; of a and of b */
	double		step;			/* width of a bin */
	double		runs[2];		/* on the first and on the second input */
	double		bin[2][LOSS_FUNCTIONALS][LOSS_BINS];
	double		quadrant[2][4][LOSS_CORNERS][LOSS_CORNERS];
} loss_audit;

static inline loss_audit *
loss_begin(int numbers, double centre_a, double centre_b, double step)
{
	loss_audit *audit = calloc(1, sizeof(loss_audit));

	if (audit == NULL)
		exit(2);
	audit->numbers = numbers;
	audit->centre[0] = centre_a;
	audit->centre[1] = centre_b;
	audit->step = step;
	return audit;
}

static inline int
loss_bin(double distance, double step)
{
	double		place = floor(distance / step);

	if (isnan(place))
		return LOSS_BINS - 1;
	return (int) fmax(-LOSS_REACH, fmin(LOSS_REACH, place)) + LOSS_REACH;
}

/* One release (x[0], x[1]) on the first (0) or second (1) input. */
static inline void
loss_record(loss_audit *audit, int input, const double *x)
{
	double		a = x[0] - audit->centre[0];
	double		b = audit->numbers == 2 ? x[1] - audit->centre[1] : 0;
	int			i;
	int			j;

	audit->runs[input]++;
	audit->bin[input][0][loss_bin(a, audit->step)]++;
	if (audit->numbers == 1)
		return;
	audit->bin[input][1][loss_bin(b, audit->step)]++;
	audit->bin[input][2][loss_bin(a + b, audit->step)]++;
	audit->bin[input][3][loss_bin(a - b, audit->step)]++;
	for (i = 0; i < LOSS_CORNERS; i++)
		for (j = 0; j < LOSS_CORNERS; j++)
		{
			int			which;

			which = (a >= (i - LOSS_CORNERS / 2) * 2 * audit->step ? 2 : 0) +
				(b >= (j - LOSS_CORNERS / 2) * 2 * audit->step ? 1 : 0);
			audit->quadrant[input][which][i][j]++;
		}
}

/* Number of confidence bounds that loss_bound takes at most. */
static inline double
loss_bounds(const loss_audit *audit)
{
	double		functionals = audit->numbers == 1 ? 1 : LOSS_FUNCTIONALS;
	double		events = functionals * 3 * LOSS_BINS;

	if (audit->numbers == 2)
		events += 4 * LOSS_CORNERS * LOSS_CORNERS;
	return 4 * events;
}

/* The bound at delta of one event that occurred k0 and k1 times. */
static inline double
loss_event(const loss_audit *audit, double delta, double k0, double k1)
{
	double		alpha = AUDIT_ALPHA / loss_bounds(audit);
	double		low;
	double		more = k0 / audit->runs[0] > k1 / audit->runs[1] ? 0 : 1;
	double		k[2] = {k0, k1};
	int			x = (int) more;

	if (k[x] / audit->runs[x] <= delta)
		return 0;
	low = binomial_p_lower(audit->runs[x], k[x], alpha) - delta;
	if (low <= 0)
		return 0;
	return log(low / binomial_p_upper(audit->runs[1 - x], k[1 - x], alpha));
}

/* The largest bound at delta over the family. */
static inline double
loss_bound_at(const loss_audit *audit, double delta)
{
	int			functionals = audit->numbers == 1 ? 1 : LOSS_FUNCTIONALS;
	double		best = 0;
	int			f;
	int			i;
	int			j;

	for (f = 0; f < functionals; f++)
	{
		const double *one = audit->bin[0][f];
		const double *other = audit->bin[1][f];
		double		below[2] = {0, 0};

		for (i = 0; i < LOSS_BINS; i++)
		{
			best = fmax(best, loss_event(audit, delta, one[i], other[i]));
			below[0] += one[i];
			below[1] += other[i];
			best = fmax(best, loss_event(audit, delta, below[0], below[1]));
			best = fmax(best, loss_event(audit, delta,
										 audit->runs[0] - below[0],
										 audit->runs[1] - below[1]));
		}
	}
	if (audit->numbers == 2)
		for (f = 0; f < 4; f++)
			for (i = 0; i < LOSS_CORNERS; i++)
				for (j = 0; j < LOSS_CORNERS; j++)
					best = fmax(best,
								loss_event(audit, delta,
										   audit->quadrant[0][f][i][j],
										   audit->quadrant[1][f][i][j]));
	return best;
}

/* The largest bound on a loss that is never exceeded. */
static inline double
loss_bound(const loss_audit *audit)
{
	return loss_bound_at(audit, 0);
}

#endif							/* STAT_LOSS_H */
