/*
 * hypothesis.c
 *	  The hypothesis of online multiplicative weights: a distribution over the
 *	  cells of a universe.
 *
 * It starts uniform.  Each "above" of the session moves it: cells that the
 * query weighs w (a predicate: 1 or 0) are multiplied by exp(s w), s negative
 * where the noisy answer lay below the guess, then all are divided by their
 * sum.  |s| is the plan's step at least; it is larger where a larger step
 * surely stops short of the true mean: the answer is off by at most `slack`
 * rows, except with probability beta (doc/theory.md T63, T124).
 *
 * All of this is computed from what the session has released, so anybody who
 * may see the session may see the hypothesis, and floating point is harmless
 * (doc/weights.md).
 *
 * The last hypothesis is kept in a memory context of its own and brought up to
 * date by the "above"s that are new.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "weights.h"

#define MOST_STEP 600			/* so that its exponential is finite */
#define STEP_HALVINGS 40

static MemoryContext kept_context = NULL;
static dp_hypothesis *kept = NULL;

/* ---- making ---- */

static void
forget(void)
{
	MemoryContext old = kept_context;

	kept = NULL;
	kept_context = NULL;
	if (old != NULL)
		MemoryContextDelete(old);
}

static dp_hypothesis *
make_uniform(const dp_session *session)
{
	dp_hypothesis *hypothesis = palloc0(sizeof(dp_hypothesis));
	int64		size;
	int64		cell;

	hypothesis->session = session->id;
	hypothesis->text = pstrdup(session->details);
	dp_session_read_weights(session->details, &hypothesis->details);
	size = hypothesis->details.universe->size;
	hypothesis->slack = (double) session->terms.plan.alpha;
	hypothesis->probability = palloc(sizeof(double) * size);
	for (cell = 0; cell < size; cell++)
		hypothesis->probability[cell] = 1.0 / size;
	return hypothesis;
}

/* The kept one if it is of this session, else a uniform one, which is kept. */
static dp_hypothesis *
begin(const dp_session *session)
{
	MemoryContext context;
	MemoryContext old;
	dp_hypothesis *hypothesis;

	if (kept != NULL && kept->session == session->id &&
		kept->updates <= session->above &&
		strcmp(kept->text, session->details) == 0)
		return kept;
	forget();
	context = AllocSetContextCreate(CurrentMemoryContext,
									"dp_pg hypothesis",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	hypothesis = make_uniform(session);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, TopMemoryContext);
	kept_context = context;
	kept = hypothesis;
	return hypothesis;
}

/* ---- learning ---- */

/* An update: the mass of each cell of the query's own table. */
typedef struct update
{
	const dp_linear_query *query;
	int32	   *cells;			/* of the table, by cell of the universe */
	double	   *mass;			/* of each cell of the table */
	double		least;			/* weight of a cell, and the largest one */
	double		most;
} update;

static double
weight_of(const dp_linear_query *query, int64 cell)
{
	return (double) query->weights[cell] / (double) DP_WEIGHT_ONE;
}

static void
weigh(update *of, const dp_hypothesis *hypothesis)
{
	const dp_universe *universe = hypothesis->details.universe;
	int64		cell;

	of->cells = palloc(sizeof(int32) * universe->size);
	of->mass = palloc0(sizeof(double) * of->query->size);
	dp_workload_map(universe, of->query, of->cells);
	for (cell = 0; cell < universe->size; cell++)
		of->mass[of->cells[cell]] += hypothesis->probability[cell];
	of->least = of->most = weight_of(of->query, 0);
	for (cell = 1; cell < of->query->size; cell++)
	{
		of->least = Min(of->least, weight_of(of->query, cell));
		of->most = Max(of->most, weight_of(of->query, cell));
	}
}

/* The mean weight after a step s. */
static double
mean_after(const update *of, double s)
{
	long double sum = 0;
	long double all = 0;
	int64		cell;

	for (cell = 0; cell < of->query->size; cell++)
	{
		double		weight = weight_of(of->query, cell);
		long double mass = (long double) of->mass[cell] * exp(s * weight);

		sum += mass * weight;
		all += mass;
	}
	return (double) (sum / all);
}

/* The s after which the mean is p, or lies a little short of it. */
static double
step_to_mean(const update *of, double p)
{
	double		near = 0;
	double		far = mean_after(of, 0) < p ? MOST_STEP : -MOST_STEP;
	int			i;

	for (i = 0; i < STEP_HALVINGS; i++)
	{
		double		s = (near + far) / 2;

		CHECK_FOR_INTERRUPTS();
		if ((mean_after(of, s) < p) == (far > 0))
			near = s;
		else
			far = s;
	}
	return near;
}

/*
 * The same for a predicate, from both masses: a fraction may be 1 in floating
 * point although some mass is outside.
 */
static double
step_to_fraction(const update *of, double p)
{
	double		mass[2] = {0, 0};
	double		s;
	int64		cell;

	for (cell = 0; cell < of->query->size; cell++)
		mass[of->query->weights[cell] > 0] += of->mass[cell];
	s = log(p / (1 - p)) - log(mass[true] / mass[false]);
	return Min(Max(s, -MOST_STEP), MOST_STEP);
}

/*
 * The s that brings the mean weight of a query to where the answer lies, less
 * the slack; at least the plan's step.
 */
static double
choose_step(const dp_hypothesis *hypothesis, const dp_session_above *above,
			const update *of)
{
	double		n = (double) hypothesis->details.n;
	double		step = dp_acct_fixed_approx(hypothesis->details.step);
	double		slack = hypothesis->slack;
	double		margin = (of->most - of->least) * 0.5 / n;
	bool		down = above->answer < above->guess;
	double		p = (double) above->answer;
	double		s;

	if (of->most <= of->least)
		return 0;
	if (!of->query->predicate)
		slack += 0.5;			/* its number of rows has been rounded */
	p = (down ? p + slack : p - slack) / n;
	p = Min(Max(p, of->least + margin), of->most - margin);
	s = of->query->predicate ? step_to_fraction(of, p) : step_to_mean(of, p);
	return down ? Min(s, -step) : Max(s, step);
}

/* Probabilities stay above 0, so that each can rise again. */
static void
multiply(dp_hypothesis *hypothesis, const update *of, double s)
{
	int64		size = hypothesis->details.universe->size;
	double	   *factor = palloc(sizeof(double) * of->query->size);
	long double sum = 0;
	int64		cell;

	for (cell = 0; cell < of->query->size; cell++)
		factor[cell] = exp(s * weight_of(of->query, cell));
	for (cell = 0; cell < size; cell++)
	{
		double		p = hypothesis->probability[cell];

		p = Max(p * factor[of->cells[cell]], DBL_MIN);
		hypothesis->probability[cell] = p;
		sum += p;
	}
	for (cell = 0; cell < size; cell++)
		hypothesis->probability[cell] =
			(double) (hypothesis->probability[cell] / sum);
}

static void
learn(dp_hypothesis *hypothesis, const dp_session_above *above)
{
	update		of = {dp_workload_read_query(hypothesis->details.universe,
											 above->predicate)};

	weigh(&of, hypothesis);
	multiply(hypothesis, &of, choose_step(hypothesis, above, &of));
	hypothesis->updates = above->number;
	hypothesis->asked_at = above->asked_at;
}

static void
learn_all(dp_hypothesis *hypothesis, List *aboves)
{
	MemoryContext each = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg update",
											   ALLOCSET_DEFAULT_SIZES);
	ListCell   *lc;

	foreach(lc, aboves)
	{
		MemoryContext old = MemoryContextSwitchTo(each);

		CHECK_FOR_INTERRUPTS();
		learn(hypothesis, lfirst(lc));
		MemoryContextSwitchTo(old);
		MemoryContextReset(each);
	}
	MemoryContextDelete(each);
}

/*
 * dp_session_hypothesis_of
 *	  The hypothesis after the session's "above"s, `updates` of them; at least
 *	  those that the session had when it was found.  It stays valid until the
 *	  next call.
 *
 * Errors: what reading the universe and the predicates again raises.
 */
dp_hypothesis *
dp_session_hypothesis_of(const dp_session *session)
{
	dp_hypothesis *hypothesis = begin(session);

	if (hypothesis->updates < session->above)
	{
		PG_TRY();
		{
			learn_all(hypothesis,
					  dp_catalog_list_aboves(session->id,
											 hypothesis->asked_at));
		}
		PG_CATCH();
		{
			forget();			/* it may have learned half of one */
			PG_RE_THROW();
		}
		PG_END_TRY();
	}
	return hypothesis;
}

/* ---- answers ---- */

/* dp_session_hypothesis_fraction: its mean weight, in [0, 1]. */
double
dp_session_hypothesis_fraction(const dp_hypothesis *hypothesis,
							   const dp_linear_query *query)
{
	const dp_universe *universe = hypothesis->details.universe;
	int32	   *weights = palloc(sizeof(int32) * universe->size);
	long double inside = 0;
	long double outside = 0;
	int64		cell;

	dp_workload_expand(universe, query, weights);
	for (cell = 0; cell < universe->size; cell++)
	{
		long double p = hypothesis->probability[cell];

		inside += p * weights[cell];
		outside += p * (DP_WEIGHT_ONE - weights[cell]);
	}
	pfree(weights);
	return (double) (inside / (inside + outside));
}

/* dp_session_hypothesis_count: that fraction of n rows, rounded. */
int64
dp_session_hypothesis_count(const dp_hypothesis *hypothesis, double fraction)
{
	return (int64) rint(fraction * (double) hypothesis->details.n);
}
