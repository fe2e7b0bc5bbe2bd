/*
 * fit.c
 *	  Fit a distribution to all noisy marginals at once.
 *
 * The loss is the sum of squared differences between expected and noisy
 * counts, each divided by its variance: a convex function of the marginals.
 * Entropic mirror descent minimises it over all distributions of the tree:
 * each step subtracts a multiple of the loss's gradient from the potentials,
 * and is taken back and halved unless the loss falls by at least half of what
 * the gradient promises for the move.
 */
#include <math.h>
#include <string.h>

#include "dp_distribution.h"

#define FARTHEST 30.0			/* that one step may move a potential */
#define HALVINGS 40				/* before a fit is taken to be at rest */

/*
 * dp_model_distribution_loss
 *	  Half of the weighted sum of squared differences.
 *
 * Requires: marginals up to date (dp_model_distribution_infer).
 * Gives:	 as said; 0 with nothing measured.
 * Source:	 doc/theory.md T70.
 */
double
dp_model_distribution_loss(const dp_distribution *d)
{
	double		loss = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];
		double		sum = 0;

		for (k = 0; k < f->cells; k++)
		{
			double		gap = f->marginal[k] - f->value[k];

			sum += gap * gap;
		}
		loss += f->weight * sum / 2;
	}
	return loss;
}

/* Gradients at the current marginals, which are copied to `before`. */
static void
take_gradient(dp_distribution *d, double *before)
{
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		dp_factor  *f = &d->factor[i];

		memcpy(before, f->marginal, sizeof(double) * (size_t) f->cells);
		before += f->cells;
		for (k = 0; k < f->cells; k++)
			f->gradient[k] = f->weight * (f->marginal[k] - f->value[k]);
	}
}

static void
move(dp_distribution *d, double step)
{
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			d->factor[i].potential[k] -= step * d->factor[i].gradient[k];
	dp_model_distribution_infer(d);
}

/* The fall of the loss that the gradient promises for the move made. */
static double
promised(const dp_distribution *d, const double *before)
{
	double		sum = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];

		for (k = 0; k < f->cells; k++)
			sum += f->gradient[k] * (before[k] - f->marginal[k]);
		before += f->cells;
	}
	return sum;
}

/* A step that moves no potential by more than 1. */
static double
unit_step(const dp_distribution *d)
{
	double		most = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
		for (k = 0; k < d->factor[i].cells; k++)
			most = fmax(most, fabs(d->factor[i].gradient[k]));
	return most > 0 ? 1 / most : 1;
}

/*
 * A loss that is low enough.  The true distribution has one half for each
 * cell, from noise alone.  A fit follows the noise of counts that stand out of
 * it and so falls below that: by half of these cells, as tables with columns
 * in common do not leave all of them free.
 */
static double
enough_loss(const dp_distribution *d)
{
	double		cells = 0;
	double		clear = 0;
	int			i;
	int64_t		k;

	for (i = 0; i < d->nfactors; i++)
	{
		const dp_factor *f = &d->factor[i];
		double		noise = 1 / sqrt(f->weight);

		cells += (double) f->cells;
		for (k = 0; k < f->cells; k++)
			clear += f->marginal[k] > 2 * noise;
	}
	return (cells - clear / 2) / 2;
}

/*
 * dp_model_distribution_fit
 *	  At most `iterations` steps from the distribution as it is; fewer when
 *	  the loss falls by less than `tolerance` of itself ten times in a row, or
 *	  is at most `enough` times what suffices: a better fit would be a fit to
 *	  noise.
 *
 * Requires: iterations >= 0; tolerance >= 0; enough >= 0.
 * Gives:	 the loss never larger than before; everything inferred.
 * Source:	 doc/theory.md T70.
 */
void
dp_model_distribution_fit(dp_distribution *d, int iterations, double tolerance,
						  double enough)
{
	const dp_host *host = d->host;
	size_t		cells = 0;
	double	   *before;
	double		loss;
	int			calm = 0;
	int			i;

	for (i = 0; i < d->nfactors; i++)
		cells += (size_t) d->factor[i].cells;
	before = host->allocate(host->state, sizeof(double) * (cells + 1));
	dp_model_distribution_infer(d);
	loss = dp_model_distribution_loss(d);
	d->step = 0;
	for (i = 0; i < iterations && calm < 10 && loss > enough * enough_loss(d);
		 i++)
	{
		double		unit;
		double		now;
		int			halved;

		take_gradient(d, before);
		unit = unit_step(d);
		d->step = d->step > 0 ? fmin(2 * d->step, FARTHEST * unit) : unit;
		move(d, d->step);
		now = dp_model_distribution_loss(d);
		for (halved = 0; loss - now < promised(d, before) / 2 &&
			 halved < HALVINGS; halved++)
		{
			move(d, -d->step / 2);
			d->step /= 2;
			now = dp_model_distribution_loss(d);
		}
		calm = loss - now <= tolerance * loss ? calm + 1 : 0;
		loss = now;
	}
	host->release(host->state, before);
}
