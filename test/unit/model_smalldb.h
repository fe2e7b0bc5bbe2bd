/*
 * model_smalldb.h
 *	  What the SmallDB tests share: a problem with its memory, scores by the
 *	  definition, and a whole selection.
 */
#ifndef MODEL_SMALLDB_H
#define MODEL_SMALLDB_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dp_models.h"
#include "dp_noise.h"
#include "dp_numbers.h"
#include "mech_fake.h"

typedef struct selection
{
	dp_smalldb_shape shape;
	uint8_t    *weights;		/* in granules */
	int64_t    *counts;
	int64_t		n;
	int			nworkers;		/* threads, the caller's included */
	void	   *memory;
	void	   *draw_memory;
	void	   *worker_memory[DP_SMALLDB_THREADS];
	dp_smalldb	problem;
	dp_smalldb_worker workers[DP_SMALLDB_THREADS];
} selection;

static inline void *
checked_malloc(size_t n)
{
	void	   *p = malloc(n > 0 ? n : 1);

	if (p == NULL)
		exit(2);
	return p;
}

/* A selection of random weights and counts. */
static inline void
selection_open_weights(selection *s, uint64_t cells, uint64_t queries,
					   uint64_t size, int64_t n, uint64_t one, uint64_t seed)
{
	uint64_t	i;
	uint64_t	x;

	if (dp_models_smalldb_shape_make(cells, queries, size, &s->shape) != DP_OK)
		exit(2);
	s->shape.one = one;
	s->n = n;
	s->nworkers = 1;
	s->weights = checked_malloc(cells * queries);
	s->counts = checked_malloc(queries * sizeof(int64_t));
	for (i = 0; i < cells * queries; i++)
	{
		fake_fill(&seed, &x, sizeof(x));
		s->weights[i] = (uint8_t) (x % (one + 1));
	}
	for (i = 0; i < queries; i++)
	{
		fake_fill(&seed, &x, sizeof(x));
		s->counts[i] = (int64_t) (x % (one * ((uint64_t) n + n / 8) + 2));
	}
	s->memory = checked_malloc(dp_models_smalldb_memory(&s->shape));
	s->draw_memory = NULL;
	memset(s->worker_memory, 0, sizeof(s->worker_memory));
}

/* The same of predicates. */
static inline void
selection_open(selection *s, uint64_t cells, uint64_t queries, uint64_t size,
			   int64_t n, uint64_t seed)
{
	selection_open_weights(s, cells, queries, size, n, 1, seed);
}

static inline void
selection_make(selection *s)
{
	int			i;

	if (dp_models_smalldb_make(&s->shape, s->weights, s->counts, s->n,
							   s->memory, &s->problem) != DP_OK)
		exit(2);
	if (s->draw_memory == NULL)
		s->draw_memory =
			checked_malloc(dp_models_smalldb_draw_memory(&s->problem));
	for (i = 0; i < s->nworkers; i++)
	{
		if (s->worker_memory[i] == NULL)
			s->worker_memory[i] =
				checked_malloc(dp_models_smalldb_worker_memory(&s->problem));
		dp_models_smalldb_worker_make(&s->problem, s->worker_memory[i],
									  &s->workers[i]);
	}
}

static inline void
selection_scan(selection *s, dp_smalldb_scan scan, uint64_t level)
{
	dp_threads threads;

	dp_models_smalldb_begin(&s->problem, scan, level);
	dp_models_smalldb_threads_start(&threads, s->workers + 1, s->nworkers - 1);
	while (dp_models_smalldb_step(&s->workers[0]))
		continue;
	dp_numbers_threads_join(&threads);
}

static inline void
selection_close(selection *s)
{
	int			i;

	free(s->weights);
	free(s->counts);
	free(s->memory);
	free(s->draw_memory);
	for (i = 0; i < DP_SMALLDB_THREADS; i++)
		free(s->worker_memory[i]);
}

/* The score of a candidate by the definition. */
static inline dp_int128
selection_score(const selection *s, const uint32_t *cells)
{
	dp_int128	worst = 0;
	dp_int128	x;
	uint64_t	f;
	uint64_t	i;

	for (f = 0; f < s->shape.queries; f++)
	{
		x = (dp_int128) s->n * s->shape.one;
		x = s->counts[f] > x ? x : s->counts[f];
		x *= s->shape.size;
		for (i = 0; i < s->shape.size; i++)
			x -= (dp_int128) s->n *
				s->weights[f * s->shape.cells + cells[i]];
		if (x < 0)
			x = -x;
		if (x > worst)
			worst = x;
	}
	return -worst;
}

/* A whole selection: the place of the chosen candidate; false on failure. */
static inline bool
selection_run(selection *s, dp_source *source, const dp_rational *rate,
			  uint64_t *place)
{
	uint64_t	level;
	uint64_t	rank;

	selection_make(s);
	selection_scan(s, DP_SMALLDB_HISTOGRAM, 0);
	if (dp_models_smalldb_draw(source, &s->problem, rate, s->workers,
							   s->nworkers, s->draw_memory, &level,
							   &rank) != DP_OK)
		return false;
	selection_scan(s, DP_SMALLDB_LEVEL, level);
	*place = dp_models_smalldb_candidate(&s->workers[0], rank);
	return *place < s->shape.candidates;
}

#endif							/* MODEL_SMALLDB_H */
