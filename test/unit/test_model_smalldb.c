/*
 * test_model_smalldb.c
 *	  SmallDB: every candidate is met once, its incremental score is the one
 *	  of the definition, threads change nothing, cancelling stops, and the
 *	  chosen candidate has the exponential mechanism's law.
 *
 * False alarms: 4 chi-squares of 1e-12.  A check that a broken variant is
 * caught fails with less than that.
 */
#include <math.h>

#include "chisq.h"
#include "csv.h"
#include "mech_choice.h"
#include "model_smalldb.h"
#include "tap.h"

/* The sanitizer's build is there for its own findings. */
#ifdef __SANITIZE_ADDRESS__
#define DRAWS 5000
#else
#define DRAWS 100000
#endif
#define FEW_DRAWS 5000

typedef struct shape
{
	uint64_t	cells;
	uint64_t	queries;
	uint64_t	size;
	int64_t		n;
} shape;

/* 16 and 32 bits, one chunk and many, all lengths of suffixes. */
static const shape shapes[] = {
	{1, 3, 1, 10}, {1, 3, 5, 10}, {2, 3, 9, 1}, {4, 3, 3, 1000},
	{5, 17, 6, 48842}, {16, 100, 5, 1000000007}, {40, 5, 3, 3},
	{64, 16, 3, 1000}, {7, 2000, 9, INT64_C(4000000000000000000)},
	{400, 40, 2, 12345}, {3000, 7, 1, 99}, {3, 4, 70, 71},
	{2, 900, 30, 1000}, {1, 5, 90, 10}, {4, 3, 40, 30000}, {6, 20, 13, 777}
};
#define NSHAPES ((int) (sizeof(shapes) / sizeof(shapes[0])))

static dp_source source;

static int
compare_scores(const void *a, const void *b)
{
	dp_int128	x = *(const dp_int128 *) a;
	dp_int128	y = *(const dp_int128 *) b;

	return (x > y) - (x < y);
}

/* Are all candidates nondecreasing, each after the one before? */
static bool
lexical(selection *s)
{
	uint32_t   *cells = checked_malloc(s->shape.size * sizeof(uint32_t));
	uint32_t   *last = checked_malloc(s->shape.size * sizeof(uint32_t));
	uint64_t	i;
	uint64_t	k;
	bool		good = true;

	for (i = 0; i < s->shape.candidates; i++)
	{
		dp_models_smalldb_unrank(&s->problem, i, cells);
		for (k = 0; k < s->shape.size; k++)
			good = good && cells[k] < s->shape.cells &&
				(k == 0 || cells[k] >= cells[k - 1]);
		if (i > 0)
		{
			for (k = 0; k < s->shape.size && cells[k] == last[k]; k++)
				continue;
			good = good && k < s->shape.size && cells[k] > last[k];
		}
		memcpy(last, cells, s->shape.size * sizeof(uint32_t));
	}
	free(cells);
	free(last);
	return good;
}

/* Does the histogram agree with all scores by the definition? */
static bool
histogram_right(selection *s)
{
	uint64_t	total = s->shape.candidates;
	dp_int128  *scores = checked_malloc(total * sizeof(dp_int128));
	uint32_t   *cells = checked_malloc(s->shape.size * sizeof(uint32_t));
	uint64_t	i;
	uint64_t	level;
	uint64_t	k;
	bool		good = true;

	for (i = 0; i < total; i++)
	{
		dp_models_smalldb_unrank(&s->problem, i, cells);
		scores[i] = selection_score(s, cells);
	}
	qsort(scores, total, sizeof(dp_int128), compare_scores);
	selection_scan(s, DP_SMALLDB_HISTOGRAM, 0);
	for (i = total, level = 0; level < s->problem.levels; level++)
		for (k = 0; k < s->workers[0].histogram[level]; k++)
		{
			if (i == 0 || scores[i - 1] != dp_models_smalldb_score(&s->problem,
																   level))
				good = false;
			if (i > 0)
				i--;
		}
	free(scores);
	free(cells);
	return good && i == 0;
}

/* Does the second scan find every candidate once, at its own score? */
static bool
found_right(selection *s, uint64_t most_levels)
{
	bool	   *met = checked_malloc(s->shape.candidates);
	uint32_t   *cells = checked_malloc(s->shape.size * sizeof(uint32_t));
	uint64_t	level;
	uint64_t	rank;
	uint64_t	place;
	bool		good = true;

	memset(met, 0, s->shape.candidates);
	for (level = 0; level < s->problem.levels && most_levels > 0; level++)
	{
		if (s->workers[0].histogram[level] == 0)
			continue;
		most_levels--;
		selection_scan(s, DP_SMALLDB_LEVEL, level);
		for (rank = 0; rank < s->workers[0].histogram[level] && good; rank++)
		{
			place = dp_models_smalldb_candidate(&s->workers[0], rank);
			good = place < s->shape.candidates && !met[place];
			if (!good)
				break;
			met[place] = true;
			dp_models_smalldb_unrank(&s->problem, place, cells);
			good = selection_score(s, cells) ==
				dp_models_smalldb_score(&s->problem, level);
			if (rank == 50)		/* the rest of a large level: its last */
				rank = s->workers[0].histogram[level] - 2 > rank ?
					s->workers[0].histogram[level] - 2 : rank;
		}
		good = good && dp_models_smalldb_candidate(&s->workers[0], rank) ==
			s->shape.candidates;
	}
	free(met);
	free(cells);
	return good;
}

/* Weights of up to 128 granules: the same by the definition. */
static void
test_weights(void)
{
	static const uint64_t ones[] = {2, 5, 8, 127, 128};
	selection	s;
	int			i;

	for (i = 0; i < 5; i++)
	{
		selection_open_weights(&s, 5, 3 + 12 * (uint64_t) i, 4, 1009 + i,
							   ones[i], 100 + (uint64_t) i);
		selection_make(&s);
		tap_ok(histogram_right(&s), "one = %d, %s: levels are those of the "
			   "definition", (int) ones[i],
			   s.problem.wide ? "32 bits" : "16 bits");
		tap_ok(found_right(&s, 12), "and their candidates are found");
		selection_close(&s);
	}
	selection_open_weights(&s, 3, 3, 3, 20, 1, 1);
	s.shape.one = 129;
	tap_ok(dp_models_smalldb_memory(&s.shape) == 0,
		   "129 granules are refused");
	selection_close(&s);
}

static void
test_shapes(void)
{
	const shape *c;
	selection	s;
	int			i;

	for (i = 0; i < NSHAPES; i++)
	{
		c = &shapes[i];
		selection_open(&s, c->cells, c->queries, c->size, c->n,
					   (uint64_t) i);
		selection_make(&s);
		tap_ok(lexical(&s), "|X| = %d, m = %d: %d candidates in order",
			   (int) c->cells, (int) c->size, (int) s.shape.candidates);
		tap_ok(histogram_right(&s), "|Q| = %d, n = %lld, %s: levels are "
			   "those of the definition", (int) c->queries,
			   (long long) c->n, s.problem.wide ? "32 bits" : "16 bits");
		tap_ok(found_right(&s, 12), "and their candidates are found");
		selection_close(&s);
	}
}

static void
test_limits(void)
{
	dp_smalldb_shape big;
	dp_smalldb	problem;
	uint8_t		holds = 1;
	int64_t		count = 1;
	char		memory[4096];

	tap_ok(dp_models_smalldb_shape_make(16, 100, 12, &big) == DP_OK &&
		   big.candidates == 17383860 && dp_models_smalldb_memory(&big) > 0,
		   "|X| = 16, m = 12: 17383860 candidates, feasible");
	tap_ok(dp_models_smalldb_shape_make(64, 100, 5, &big) == DP_OK &&
		   big.candidates == 10424128 && dp_models_smalldb_memory(&big) > 0,
		   "|X| = 64, m = 5: 10424128 candidates, feasible");
	tap_ok(dp_models_smalldb_shape_make(64, 100, 50, &big) == DP_OK &&
		   big.candidates == UINT64_MAX &&
		   dp_models_smalldb_memory(&big) == 0 &&
		   dp_models_smalldb_make(&big, &holds, &count, 1, memory,
								  &problem) == DP_E_RANGE,
		   "|X| = 64, m = 50: beyond the limit");
	tap_ok(dp_models_smalldb_shape_make(0, 1, 1, &big) == DP_E_RANGE &&
		   dp_models_smalldb_shape_make(1, 0, 1, &big) == DP_E_RANGE &&
		   dp_models_smalldb_shape_make(1, 1, 0, &big) == DP_E_RANGE,
		   "nothing may be empty");
	dp_models_smalldb_shape_make(1, 1, 1, &big);
	tap_ok(dp_models_smalldb_make(&big, &holds, &count, 0, memory, &problem) ==
		   DP_E_RANGE, "n must be positive");
}

static void
test_threads(void)
{
	selection	one;
	selection	three;
	uint64_t	i;
	uint64_t	level;
	uint64_t	sum;
	bool		same = true;

	selection_open(&one, 12, 60, 7, 10007, 99);
	selection_open(&three, 12, 60, 7, 10007, 99);
	three.nworkers = 3;
	selection_make(&one);
	selection_make(&three);
	selection_scan(&one, DP_SMALLDB_HISTOGRAM, 0);
	selection_scan(&three, DP_SMALLDB_HISTOGRAM, 0);
	for (level = 0; level < one.problem.levels; level++)
	{
		for (sum = 0, i = 0; i < 3; i++)
			sum += three.workers[i].histogram[level];
		same = same && sum == one.workers[0].histogram[level];
	}
	tap_ok(same, "three threads count as one does");
	for (level = 0; one.workers[0].histogram[level] == 0; level++)
		continue;
	selection_scan(&one, DP_SMALLDB_LEVEL, level);
	selection_scan(&three, DP_SMALLDB_LEVEL, level);
	same = true;
	for (i = 0; i < one.workers[0].histogram[level]; i++)
		same = same && dp_models_smalldb_candidate(&one.workers[0], i) ==
			dp_models_smalldb_candidate(&three.workers[0], i);
	tap_ok(same, "and find the same candidates");
	tap_ok(atomic_load(&three.problem.done) == three.problem.total,
		   "progress ends at its total");
	selection_close(&one);
	selection_close(&three);
}

static void
test_cancel(void)
{
	selection	s;
	dp_threads threads;
	int			i;

	selection_open(&s, 16, 100, 12, 48842, 5);
	s.nworkers = 2;
	selection_make(&s);
	dp_models_smalldb_begin(&s.problem, DP_SMALLDB_HISTOGRAM, 0);
	dp_models_smalldb_threads_start(&threads, s.workers + 1, 1);
	for (i = 0; i < 10; i++)
		dp_models_smalldb_step(&s.workers[0]);
	atomic_store(&s.problem.cancel, true);
	dp_numbers_threads_join(&threads);
	tap_ok(threads.count == 0 && atomic_load(&s.problem.done) > 0 &&
		   atomic_load(&s.problem.done) < s.shape.candidates &&
		   !dp_models_smalldb_step(&s.workers[0]),
		   "cancelled after %.1f%% of the candidates",
		   100.0 * (double) atomic_load(&s.problem.done) /
		   (double) s.shape.candidates);
	selection_close(&s);
}

/* ---- the law ---- */

typedef struct law_state
{
	selection  *s;
	dp_rational rate;
} law_state;

static bool
draw_candidate(void *state, double *out)
{
	law_state  *l = state;
	uint64_t	place;

	if (!selection_run(l->s, &source, &l->rate, &place))
		return false;
	*out = (double) place;
	return true;
}

/* The law by its definition, at a rate. */
static void
law_of(selection *s, double rate, double *probability)
{
	uint32_t	cells[16];
	double		sum = 0;
	uint64_t	i;

	selection_make(s);
	for (i = 0; i < s->shape.candidates; i++)
	{
		dp_models_smalldb_unrank(&s->problem, i, cells);
		probability[i] = exp(rate * (double) selection_score(s, cells));
		sum += probability[i];
	}
	for (i = 0; i < s->shape.candidates; i++)
		probability[i] /= sum;
}

static void
test_law(uint64_t size, dp_uint128 sensitivity, bool right, int workers,
		 int draws)
{
	const uint8_t holds[] = {
		true, true, false, false,
		true, false, true, false,
		false, true, true, true
	};
	const int64_t counts[] = {11, 7, 15};
	const dp_rational epsilon = {4, 5};
	double		probability[CHOICES];
	selection	s;
	law_state	l;
	double		p;

	selection_open(&s, 4, 3, size, 20, 1);
	memcpy(s.weights, holds, sizeof(holds));
	memcpy(s.counts, counts, sizeof(counts));
	s.nworkers = workers;
	law_of(&s, 0.8 / (2.0 * (double) size), probability);
	l.s = &s;
	if (dp_noise_selection_rate(&epsilon, sensitivity, false, &l.rate) !=
		DP_OK)
		exit(2);
	p = choice_p(draw_candidate, &l, probability, (int) s.shape.candidates,
				 draws);
	tap_ok(right ? p >= DP_CHISQ_ALPHA : p < DP_CHISQ_ALPHA,
		   "|X| = 4, m = %d, sensitivity %d, %d thread(s): p = %.3g",
		   (int) size, (int) sensitivity, workers, p);
	selection_close(&s);
}

static void
test_failure(void)
{
	const dp_rational rate = {1, 40};
	dp_source	broken;
	selection	s;
	uint64_t	place;

	selection_open(&s, 4, 3, 3, 20, 1);
	dp_noise_source_init(&broken, failing_fill, NULL);
	tap_ok(!selection_run(&s, &broken, &rate, &place),
		   "a failing source is an error");
	selection_close(&s);
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_shapes();
	test_weights();
	test_limits();
	test_threads();
	test_cancel();
	test_law(3, 3, true, 1, DRAWS);
	test_law(3, 3, true, 2, FEW_DRAWS);
	/* a rate that forgets that the score is scaled by m */
	test_law(3, 1, false, 1, FEW_DRAWS);
	test_law(2, 2, true, 1, FEW_DRAWS);
	test_law(2, 4, false, 1, FEW_DRAWS);
	test_failure();
	return tap_done();
}
