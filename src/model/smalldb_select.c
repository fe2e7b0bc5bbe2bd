/*
 * smalldb_select.c
 *	  The draw between the two scans.
 */
#include "dp_smalldb.h"

#include <openssl/crypto.h>
#include <string.h>

/* The levels that have candidates. */
typedef struct levels
{
	dp_int128  *scores;
	uint64_t   *counts;
	uint64_t   *numbers;
	size_t		n;
} levels;

static size_t
level_bytes(void)
{
	return sizeof(dp_int128) + 2 * sizeof(uint64_t);
}

/*
 * dp_model_smalldb_draw_memory
 *	  Bytes that dp_model_smalldb_draw needs.
 *
 * Requires: problem from dp_model_smalldb_make.
 * Gives:	 the size, a function of the shape alone.
 * Source:	 doc/theory.md T66.
 */
size_t
dp_model_smalldb_draw_memory(const dp_smalldb *problem)
{
	return problem->levels * level_bytes();
}

/* Add up the workers' histograms, level by level. */
static levels
collect(const dp_smalldb *problem, const dp_smalldb_worker *workers,
		int count, void *memory)
{
	levels		l;
	uint64_t	level;
	uint64_t	candidates;
	int			i;

	l.scores = memory;
	l.counts = (uint64_t *) (l.scores + problem->levels);
	l.numbers = l.counts + problem->levels;
	l.n = 0;
	for (level = 0; level < problem->levels; level++)
	{
		candidates = 0;
		for (i = 0; i < count; i++)
			candidates += workers[i].histogram[level];
		if (candidates == 0)
			continue;
		l.scores[l.n] = dp_model_smalldb_score(problem, level);
		l.counts[l.n] = candidates;
		l.numbers[l.n++] = level;
	}
	return l;
}

/*
 * dp_model_smalldb_draw
 *	  Draw a level with probability proportional to N_i exp(rate score_i),
 *	  N_i its number of candidates, and a rank uniform in [0, N_i).
 *
 * Requires: the first scan is complete and no worker at a step; all `count`
 *			 workers that took part; rate from dp_mech_selection_rate;
 *			 memory of dp_model_smalldb_draw_memory bytes, 16-byte aligned or
 *			 as palloc aligns, which is wiped.
 * Gives:	 DP_OK with *level and *rank set for the second scan; DP_E_RANGE,
 *			 DP_E_RANDOM, DP_E_MEMORY as dp_mech_envelope, and both are then
 *			 untouched.
 * Source:	 doc/theory.md T16, T18, T66.
 */
dp_status
dp_model_smalldb_draw(dp_source *source, dp_smalldb *problem,
					  const dp_rational *rate, dp_smalldb_worker *workers,
					  int count, void *memory, uint64_t *level, uint64_t *rank)
{
	levels		l = collect(problem, workers, count, memory);
	dp_envelope law;
	size_t		chosen;
	dp_status	status;

	status = dp_mech_envelope_make(rate, 1, &law);
	if (status == DP_OK)
		status = dp_mech_envelope(source, &law, l.scores, l.counts, l.n,
								  &chosen, rank);
	if (status == DP_OK)
		*level = l.numbers[chosen];
	OPENSSL_cleanse(memory, dp_model_smalldb_draw_memory(problem));
	return status;
}
