/*
 * mwem.c
 *	  MWEM (Hardt, Ligett and McSherry 2012): the book's iterative construction
 *	  with the exponential mechanism as distinguisher and multiplicative
 *	  weights, over an explicit universe.
 *
 * The queries are the cells of the tables.  Each round chooses a query that
 * the weights answer badly, releases its count with Laplace noise, and moves
 * the weights towards all released counts, repeatedly.  Epsilon is shared out
 * in equal parts: two for each round, and one for the number of rows when that
 * is not public.
 */
#include <math.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "dp_models.h"
#include "models_internal.h"

#define MOST_ROUNDS 400
#define PASSES 20				/* over all released counts, per round */
#define ROWS_A_PULSE (1 << 16)

/* A released count. */
typedef struct answer
{
	int			table;
	int64_t		cell;
	double		value;
} answer;

typedef struct state
{
	dp_source  *source;
	const dp_generator_terms *t;
	dp_mwem    *w;
	dp_rational part;			/* of epsilon */
	dp_rational rate;
	dp_scale	scale;
	int64_t		queries;
	dp_int128  *score;			/* private */
	double	   *marginal;		/* of the largest table */
	int			answers;
	answer	   *answer;
	double	   *before;			/* weights before the last update */
	double		off;			/* the last answer's distance from them */
} state;

/*
 * dp_models_mwem_rounds
 *	  The number of rounds that minimises MWEM's error bound, 2 n sqrt(ln |X| /
 *	  T) + 10 T ln |Q| / epsilon.
 *
 * Requires: terms complete; epsilon > 0; total a guess of the number of rows.
 * Gives:	 1 to 400.
 * Source:	 doc/theory.md T75.
 */
int
dp_models_mwem_rounds(const dp_generator_terms *t, double epsilon,
					  double total)
{
	double		universe = dp_models_shape_cells(&t->shape, ~(dp_columns) 0);
	double		queries = 2;
	double		rounds;
	int			i;

	for (i = 0; i < t->ntables; i++)
		queries += dp_models_shape_cells(&t->shape, t->table[i].set);
	rounds = pow(total * epsilon * sqrt(log(universe + 1)) /
				 (10 * log(queries)), 2.0 / 3);
	return rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS :
		(int) (rounds + .5);
}

/*
 * dp_models_mwem_theorem_alpha
 *	  The error, as a fraction of n, that the book's Theorem 5.6 promises with
 *	  probability 1 - beta: the alpha that is 32 T ln(2 T |Q| / beta) / (n
 *	  epsilon) at its own T = 4 ln|X| / (alpha / 2)^2.
 *
 * Requires: universe > 1; queries, n, epsilon > 0; 0 < beta < 1.
 * Gives:	 alpha, which says nothing above 1.
 * Source:	 doc/theory.md T75 (book, Theorem 5.6).
 */
double
dp_models_mwem_theorem_alpha(double universe, double queries, double n,
							 double epsilon, double beta)
{
	double		low = -60;
	double		high = 60;
	int			i;

	for (i = 0; i < 200; i++)
	{
		double		middle = (low + high) / 2;
		double		alpha = exp(middle);
		double		rounds = 16 * log(universe) / alpha / alpha;
		double		reached = 32 * rounds *
			log(fmax(2, 2 * rounds * queries / beta)) / n / epsilon;

		if (reached > alpha)
			low = middle;
		else
			high = middle;
	}
	return exp(high);
}

/*
 * dp_models_mwem_marginal
 *	  The counts that the weights expect in the cells of a set.
 *
 * Requires: set within the shape; out of its cells.
 * Gives:	 out.
 * Source:	 doc/theory.md T75.
 */
void
dp_models_mwem_marginal(const dp_mwem *w, dp_columns set, double *out)
{
	int64_t		cells = (int64_t) dp_models_shape_cells(&w->shape, set);
	int64_t		k;

	dp_models_table_sum(&w->shape, w->shape.columns == 64 ? ~(dp_columns) 0 :
						DP_COLUMN(w->shape.columns) - 1, w->p, set, out);
	for (k = 0; k < cells; k++)
		out[k] *= w->total;
}

/*
 * dp_models_mwem_free
 *	  Free the weights.
 *
 * Requires: w of dp_models_mwem_run.
 * Gives:	 nothing.
 * Source:	 doc/theory.md T75.
 */
void
dp_models_mwem_free(dp_mwem *w)
{
	w->host->release(w->host->state, w->p);
	w->p = NULL;
}

/* |count - expected| of every query, expected on the integers. */
static void
score_all(state *s)
{
	dp_int128  *to = s->score;
	int			i;
	int64_t		k;

	for (i = 0; i < s->t->ntables; i++)
	{
		const dp_generator_table *r = &s->t->table[i];
		int64_t		cells = (int64_t) dp_models_shape_cells(&s->t->shape,
															r->set);

		if (s->w->host->pulse != NULL)
			s->w->host->pulse(s->w->host->state);
		dp_models_mwem_marginal(s->w, r->set, s->marginal);
		for (k = 0; k < cells; k++)
		{
			int64_t		gap = r->counts[k] -
				(int64_t) floor(s->marginal[k] + .5);

			*to++ = gap < 0 ? -gap : gap;
		}
	}
}

/* Find the table and cell of a query. */
static void
locate(const state *s, int64_t query, answer *out)
{
	int			i;

	for (i = 0; i < s->t->ntables; i++)
	{
		int64_t		cells = (int64_t) dp_models_shape_cells(&s->t->shape,
														s->t->table[i].set);

		if (query < cells)
			break;
		query -= cells;
	}
	out->table = i;
	out->cell = query;
}

/*
 * The weights of the cells where a query holds: their sum, after they were
 * multiplied by `factor`.
 */
static double
visit(state *s, const answer *a, double factor)
{
	const dp_shape *shape = &s->t->shape;
	dp_columns	set = s->t->table[a->table].set;
	int64_t		stride[DP_SHAPE_COLUMNS];
	int64_t		at[DP_SHAPE_COLUMNS] = {0};
	int64_t		cell = a->cell;
	int64_t		base = 0;
	int64_t		step = 1;
	double		sum = 0;
	int			i;

	for (i = shape->columns - 1; i >= 0; i--)
	{
		stride[i] = step;
		if (set & DP_COLUMN(i))
		{
			base += cell % shape->size[i] * step;
			cell /= shape->size[i];
		}
		step *= shape->size[i];
	}
	for (;;)
	{
		sum += s->w->p[base] *= factor;
		for (i = shape->columns - 1; i >= 0; i--)
		{
			if (set & DP_COLUMN(i))
				continue;
			base += stride[i];
			if (++at[i] < shape->size[i])
				break;
			base -= stride[i] * shape->size[i];
			at[i] = 0;
		}
		if (i < 0)
			return sum;
	}
}

/*
 * Multiplicative weights for all released counts in turn.  A step scales only
 * the cells of its query; `mass` follows the sum of all, by which they are
 * divided at the end of a pass, or before `mass` moves so far that its
 * rounding errors grow.
 */
static void
update(state *s)
{
	dp_mwem *w = s->w;
	int			pass;
	int			i;

	for (pass = 0; pass < PASSES; pass++)
	{
		double		mass = 1;

		if (w->host->pulse != NULL)
			w->host->pulse(w->host->state);
		for (i = s->answers - 1; i >= 0; i--)
		{
			const answer *a = &s->answer[i];
			double		share = visit(s, a, 1);
			double		gap = a->value / w->total - share / mass;
			double		factor = exp(fmax(-.5, fmin(.5, gap / 2)));

			visit(s, a, factor);
			mass += share * (factor - 1);
			if (mass < .5 || mass > 2)
			{
				dp_models_weights_normalise(w->p, w->cells);
				mass = 1;
			}
		}
		dp_models_weights_normalise(w->p, w->cells);
	}
}

/* Release one count. */
static dp_status
release(state *s, int64_t count, double *out)
{
	dp_int128	noise;
	dp_status	status = dp_noise_discrete_laplace(s->source, &s->scale,
												   &noise);

	if (status == DP_OK)
		*out = (double) (count + noise);
	return status;
}

/* Release the number of rows, from the first table. */
static dp_status
release_total(state *s)
{
	int64_t		cells = s->t->shape.size[0];
	int64_t		sum = 0;
	double		total = 1;
	int64_t		k;
	dp_status	status;

	for (k = 0; k < cells; k++)
		sum += s->t->table[0].counts[k];
	status = release(s, sum, &total);
	if (status == DP_OK)
		s->w->total = total > 1 ? total : 1;
	return status;
}

static dp_status
mwem_one_round(state *s)
{
	answer	   *a = &s->answer[s->answers];
	size_t		chosen;
	dp_status	status;

	score_all(s);
	status = dp_noise_exponential(s->source, s->score, (size_t) s->queries,
								  &s->rate, &chosen);
	if (status != DP_OK)
		return status;
	locate(s, (int64_t) chosen, a);
	status = release(s, s->t->table[a->table].counts[a->cell], &a->value);
	if (status != DP_OK)
		return status;
	s->answers++;
	memcpy(s->before, s->w->p, sizeof(double) * (size_t) s->w->cells);
	s->off = fabs(a->value - visit(s, a, 1) * s->w->total);
	update(s);
	return DP_OK;
}

/*
 * A bound on every query's error, with probability 0.95: that of the last
 * choice is known up to its answer's noise, no other exceeded it by more than
 * the exponential mechanism may miss, and then the weights moved.
 */
static double
error_bound(const state *s)
{
	const double beta = 0.05;
	double		noise = dp_noise_scale_approx(&s->scale) * log(2 / beta);
	double		miss = log(2 * (double) s->queries / beta) *
		(double) s->rate.den / (double) s->rate.num;
	double		moved = 0;
	int64_t		k;

	for (k = 0; k < s->w->cells; k++)
		moved += fabs(s->w->p[k] - s->before[k]) / 2;
	moved = s->off + noise + miss + 1 + moved * s->w->total;
	return s->t->total > 0 ? fmin(s->w->total, moved) : moved;
}

/* Parts of epsilon, memory, uniform weights. */
static dp_status
begin(state *s, const dp_host *host, const dp_rational *epsilon, int rounds)
{
	const dp_generator_terms *t = s->t;
	dp_rational parts = {(dp_uint128) (2 * rounds + (t->total < 0)), 1};
	double		most = 1;
	int64_t		k;
	int			i;
	dp_status	status;

	status = dp_numbers_rational_divide(epsilon, &parts, &s->part);
	if (status == DP_OK)
		status = dp_noise_selection_rate(&s->part, t->sensitivity, false,
										 &s->rate);
	if (status == DP_OK)
		status = dp_noise_scale_make(t->sensitivity, &s->part, &s->scale);
	if (status != DP_OK)
		return status;
	for (i = 0; i < t->ntables; i++)
	{
		double		cells = dp_models_shape_cells(&t->shape, t->table[i].set);

		s->queries += (int64_t) cells;
		most = fmax(most, cells);
	}
	s->score = host->allocate(host->state,
							  sizeof(dp_int128) * (size_t) s->queries);
	s->marginal = host->allocate(host->state, sizeof(double) * (size_t) most);
	s->answer = host->allocate(host->state,
							   sizeof(answer) * (size_t) rounds);
	s->before = host->allocate(host->state, sizeof(double) * (size_t)
							   dp_models_shape_cells(&t->shape,
													 ~(dp_columns) 0));
	s->w->host = host;
	s->w->shape = t->shape;
	s->w->cells = (int64_t) dp_models_shape_cells(&t->shape, ~(dp_columns) 0);
	s->w->total = t->total > 1 ? (double) t->total : 1;
	s->w->p = host->allocate(host->state,
							 sizeof(double) * (size_t) s->w->cells);
	for (k = 0; k < s->w->cells; k++)
		s->w->p[k] = 1 / (double) s->w->cells;
	return DP_OK;
}

/*
 * dp_models_mwem_run
 *	  The whole mechanism, epsilon-DP.
 *
 * Requires: terms complete; a universe of at most 2^24 cells; epsilon > 0
 *			 and charged; 1 <= rounds.
 * Gives:	 DP_OK with *out, that dp_models_mwem_free frees, and *report
 *			 (whose mean_error and max_error are NAN); the statuses of
 *			 dp_noise_exponential and dp_noise_discrete_laplace.
 * Source:	 doc/theory.md T75.
 */
dp_status
dp_models_mwem_run(const dp_host *host, dp_source *source,
				   const dp_generator_terms *t, const dp_rational *epsilon,
				   int rounds, dp_mwem *out, dp_generator_report *report)
{
	state		s;
	dp_status	status;
	int			i;

	memset(&s, 0, sizeof(s));
	memset(report, 0, sizeof(*report));
	s.source = source;
	s.t = t;
	s.w = out;
	status = begin(&s, host, epsilon, rounds);
	if (status != DP_OK)
		return status;
	if (t->total < 0)
		status = release_total(&s);
	report->sigma = dp_noise_scale_approx(&s.scale);
	for (i = 0; i < rounds && status == DP_OK; i++)
	{
		status = mwem_one_round(&s);
		report->rounds = i + 1;
	}
	report->total = out->total;
	report->cell_error = error_bound(&s);
	report->mean_error = report->max_error = NAN;
	memset(s.score, 0, sizeof(dp_int128) * (size_t) s.queries);
	host->release(host->state, s.score);
	host->release(host->state, s.marginal);
	host->release(host->state, s.answer);
	host->release(host->state, s.before);
	if (status != DP_OK)
		dp_models_mwem_free(out);
	return status;
}

/*
 * dp_models_mwem_sample
 *	  Draw rows; the place of row i in column k is places[i * columns + k].
 *
 * Requires: w of dp_models_mwem_run; rows >= 0; places of rows * columns.
 * Gives:	 DP_OK with every place set; DP_E_RANDOM.
 * Source:	 doc/theory.md T75 (post-processing).
 */
dp_status
dp_models_mwem_sample(const dp_mwem *w, dp_source *source, int64_t rows,
					  int32_t *places)
{
	const dp_host *host = w->host;
	int64_t    *counts = host->allocate(host->state,
										sizeof(int64_t) * (size_t) w->cells);
	dp_status	status;
	int64_t		row = 0;
	int64_t		k;
	int			i;

	status = dp_models_sample_share(source, w->p, w->cells, 1, rows, counts);
	for (k = 0; k < w->cells && status == DP_OK; k++)
		for (; counts[k] > 0; counts[k]--)
		{
			int64_t		cell = k;

			if (++row % ROWS_A_PULSE == 0 && host->pulse != NULL)
				host->pulse(host->state);
			for (i = w->shape.columns - 1; i >= 0; i--)
			{
				places[i] = (int32_t) (cell % w->shape.size[i]);
				cell /= w->shape.size[i];
			}
			places += w->shape.columns;
		}
	host->release(host->state, counts);
	return status;
}
