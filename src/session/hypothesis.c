/*
 * hypothesis.c
 *	  The hypothesis of online multiplicative weights: a distribution over the
 *	  cells of a universe.
 *
 * It starts uniform.  Each "above" of the session moves it: cells where the
 * predicate holds are multiplied by exp(s), s negative where the noisy answer
 * lay below the guess, then all are divided by their sum.  |s| is the plan's
 * step at least; it is larger when so large an s still stops short of the true
 * fraction for sure: the answer is off by at most `slack` rows, but for the
 * session's beta (doc/theory.md T63).
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

/* The kept one if it is of this session, else a uniform one, then kept. */
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

/*
 * The s that brings the fraction of a predicate to where the answer lies, less
 * the slack; the plan's step at least.  From both masses: a fraction may be 1
 * in floating point though something is outside.
 */
static double
choose_step(const dp_hypothesis *hypothesis, const dp_session_above *above,
			double inside, double outside)
{
	double		n = (double) hypothesis->details.n;
	double		step = dp_acct_fixed_approx(hypothesis->details.step);
	bool		down = above->answer < above->guess;
	double		p = (double) above->answer;
	double		s;

	p = (down ? p + hypothesis->slack : p - hypothesis->slack) / n;
	p = Min(Max(p, 0.5 / n), 1 - 0.5 / n);
	if (inside <= 0 || outside <= 0)
		return 0;
	s = log(p / (1 - p)) - log(inside / outside);
	s = Min(Max(s, -MOST_STEP), MOST_STEP);
	return down ? Min(s, -step) : Max(s, step);
}

/* Probabilities stay above 0, so that each can rise again. */
static void
multiply(dp_hypothesis *hypothesis, const bool *holds, double s)
{
	int64		size = hypothesis->details.universe->size;
	double		factor = exp(s);
	long double sum = 0;
	int64		cell;

	for (cell = 0; cell < size; cell++)
	{
		double		p = hypothesis->probability[cell];

		p = Max(holds[cell] ? p * factor : p, DBL_MIN);
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
	const dp_universe *universe = hypothesis->details.universe;
	dp_linear_query *query = dp_workload_read_query(universe,
													above->predicate);
	bool	   *holds = palloc(universe->size);
	double		mass[2] = {0, 0};
	int64		cell;

	dp_workload_expand(universe, query, holds);
	for (cell = 0; cell < universe->size; cell++)
		mass[holds[cell]] += hypothesis->probability[cell];
	multiply(hypothesis, holds,
			 choose_step(hypothesis, above, mass[true], mass[false]));
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

/* dp_session_hypothesis_fraction: how probable the query is, in [0, 1]. */
double
dp_session_hypothesis_fraction(const dp_hypothesis *hypothesis,
							   const dp_linear_query *query)
{
	const dp_universe *universe = hypothesis->details.universe;
	bool	   *holds = palloc(universe->size);
	long double inside = 0;
	long double outside = 0;
	int64		cell;

	dp_workload_expand(universe, query, holds);
	for (cell = 0; cell < universe->size; cell++)
	{
		if (holds[cell])
			inside += hypothesis->probability[cell];
		else
			outside += hypothesis->probability[cell];
	}
	pfree(holds);
	return (double) (inside / (inside + outside));
}

/* dp_session_hypothesis_count: that fraction of n rows, rounded. */
int64
dp_session_hypothesis_count(const dp_hypothesis *hypothesis, double fraction)
{
	return (int64) rint(fraction * (double) hypothesis->details.n);
}
