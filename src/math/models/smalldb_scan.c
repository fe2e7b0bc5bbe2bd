/*
 * smalldb_scan.c
 *	  Walking through the candidates in lexical order, in one of two ways.
 *
 * By cells, for few cells in a candidate: it is a prefix of m - h cells and a
 * suffix of h, none smaller than the prefix's last cell.  The sums of every
 * prefix of the prefix are kept, so that the next one costs about one
 * subtraction per query; the suffixes that fit a prefix are the end of one
 * table, made beforehand.
 *
 * By counts, for few cells in the universe: a candidate says how often each
 * cell occurs, and of two candidates the first has more of the first cell in
 * which they differ.  The sums over the first cells are kept; candidates that
 * differ in the last two cells only are a run, along which the sums change by
 * the same difference each time.
 */
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "dp_models.h"
#include "smalldb_lanes.h"

#define RUN 256					/* candidates scored together */

/* The purpose of a walk. */
typedef enum purpose
{
	COUNT_LEVELS,				/* into the worker's histogram */
	COUNT_LEVEL,				/* how many are of problem->level */
	FIND						/* the place of the rank-th of that level */
} purpose;

static uint64_t
chunk_start(const dp_smalldb *p, uint64_t chunk)
{
	return (uint64_t) ((dp_uint128) p->shape.candidates * chunk / p->chunks);
}

/* The suffixes before the first one without a cell below `cell`. */
static inline uint64_t
suffix_start(const dp_smalldb *p, uint64_t cell)
{
	return p->suffixes - ways_of(p, p->suffix, p->shape.cells - cell);
}

/* The rank of the suffix that the worker's candidate ends in. */
static uint64_t
suffix_of(const dp_smalldb_worker *w)
{
	const dp_smalldb *p = w->problem;
	const uint32_t *cell = w->cells + p->shape.size - p->suffix;
	uint64_t	before = 0;
	uint64_t	rank = 0;
	unsigned	i;

	for (i = 0; i < p->suffix; i++)
	{
		rank += ways_of(p, p->suffix - i, p->shape.cells - before) -
			ways_of(p, p->suffix - i, p->shape.cells - cell[i]);
		before = cell[i];
	}
	return rank;
}

/* Sums of the prefixes that contain place `from` or a later one. */
static void
smalldb_scan_add_up(dp_smalldb_worker *w, uint64_t from)
{
	dp_smalldb *p = w->problem;
	uint64_t	i;

	for (i = from; i < p->shape.size - p->suffix; i++)
		dp_models_smalldb_subtract(p->wide, lane_row(p, w->sums, i),
								   lane_row(p, p->steps, w->cells[i]),
								   p->lanes, lane_row(p, w->sums, i + 1));
}

/* Advance to the next prefix, which must exist. */
static void
advance(dp_smalldb_worker *w)
{
	const dp_smalldb *p = w->problem;
	uint64_t	length = p->shape.size - p->suffix;
	uint64_t	i = length - 1;
	uint64_t	j;

	while (w->cells[i] == p->shape.cells - 1)
		i--;
	w->cells[i]++;
	for (j = i + 1; j < length; j++)
		w->cells[j] = w->cells[i];
	smalldb_scan_add_up(w, i);
}

/*
 * Process a run of levels.  Returns how many of them are the wanted level; for
 * FIND the place of the rank-th, or n.
 */
static uint64_t
use_run(dp_smalldb_worker *w, purpose what, const uint32_t *levels,
		unsigned n, uint64_t *rank)
{
	uint64_t	level = w->problem->level;
	uint64_t	count = 0;
	unsigned	i;

	switch (what)
	{
		case COUNT_LEVELS:
			for (i = 0; i < n; i++)
				w->histogram[levels[i]]++;
			break;
		case COUNT_LEVEL:
			for (i = 0; i < n; i++)
				count += levels[i] == level;
			break;
		case FIND:
			for (i = 0; i < n; i++)
				if (levels[i] == level && (*rank)-- == 0)
					break;
			count = i;
			break;
	}
	return count;
}

/* A walk: where it is, what it is for, and what it has found. */
typedef struct passage
{
	uint64_t	at;
	uint64_t	last;
	purpose		what;
	uint64_t	rank;			/* FIND: how many are still to be passed */
	uint64_t	count;			/* of the wanted level */
	bool		found;			/* FIND: at is the place */
} passage;

/* The next n candidates have these levels. */
static inline void
pass(dp_smalldb_worker *w, passage *walk, const uint32_t *levels, unsigned n)
{
	uint64_t	met = use_run(w, walk->what, levels, n, &walk->rank);

	if (walk->what == FIND)
	{
		walk->found = met < n;
		walk->at += met;
		return;
	}
	walk->count += met;
	walk->at += n;
}

/* How many of the `rest` of the run can be scored together. */
static inline unsigned
portion(const passage *walk, uint64_t rest)
{
	uint64_t	n = RUN;

	if (n > rest)
		n = rest;
	if (n > walk->last - walk->at)
		n = walk->last - walk->at;
	return (unsigned) n;
}

static void
walk_by_cells(dp_smalldb_worker *w, passage *walk)
{
	dp_smalldb *p = w->problem;
	uint64_t	length = p->shape.size - p->suffix;
	uint32_t	levels[RUN];
	uint64_t	suffix;
	unsigned	n;

	memcpy(w->sums, p->start, lane_bytes(p));
	smalldb_scan_add_up(w, 0);
	suffix = suffix_of(w);
	while (walk->at < walk->last && !walk->found)
	{
		if (suffix == p->suffixes)
		{
			advance(w);
			suffix = suffix_start(p, w->cells[length - 1]);
		}
		n = portion(walk, p->suffixes - suffix);
		dp_models_smalldb_levels(p->wide, lane_row(p, w->sums, length),
								 lane_row(p, p->tails, suffix), p->lanes, n,
								 levels);
		pass(w, walk, levels, n);
		suffix += n;
	}
}

/* ---- by counts ---- */

/* Count how often each cell occurs in the worker's candidate. */
static void
count_cells(dp_smalldb_worker *w)
{
	const dp_smalldb *p = w->problem;
	uint32_t   *counts = w->cells + p->shape.size;
	uint64_t	i;

	memset(counts, 0, p->shape.cells * sizeof(uint32_t));
	for (i = 0; i < p->shape.size; i++)
		counts[w->cells[i]]++;
}

/* Sums over the cells before i + 1, from those before i. */
static void
add_cell(dp_smalldb_worker *w, uint64_t i)
{
	dp_smalldb *p = w->problem;
	uint32_t   *counts = w->cells + p->shape.size;

	dp_models_smalldb_subtract_times(p->wide, lane_row(p, w->sums, i),
									 lane_row(p, p->steps, i), counts[i],
									 p->lanes, lane_row(p, w->sums, i + 1));
}

/*
 * Advance to the next counts of all cells but the last two, which must exist.
 * Returns how many are left for the last two.
 */
static uint64_t
advance_counts(dp_smalldb_worker *w, uint64_t left)
{
	const dp_smalldb *p = w->problem;
	uint32_t   *counts = w->cells + p->shape.size;
	uint64_t	tail = p->shape.cells - 2;
	uint64_t	i = tail - 1;
	uint64_t	j;

	while (counts[i] == 0)
		i--;
	counts[i]--;
	left++;
	for (j = i + 1; j < tail; j++)
	{
		counts[j] = (uint32_t) left;
		left = 0;
	}
	for (j = i; j < tail; j++)
		add_cell(w, j);
	return left;
}

static void
walk_by_counts(dp_smalldb_worker *w, passage *walk)
{
	dp_smalldb *p = w->problem;
	uint32_t   *counts = w->cells + p->shape.size;
	uint64_t	tail = p->shape.cells - 2;
	void	   *sums = lane_row(p, w->sums, tail + 1);
	void	   *change = lane_row(p, w->sums, tail + 2);
	uint32_t	levels[RUN];
	uint64_t	left;
	uint64_t	rest;
	uint64_t	i;
	unsigned	n;

	count_cells(w);
	memcpy(w->sums, p->start, lane_bytes(p));
	for (i = 0; i < tail; i++)
		add_cell(w, i);
	dp_models_smalldb_subtract(p->wide, lane_row(p, p->steps, tail),
							   lane_row(p, p->steps, tail + 1), p->lanes,
							   change);
	left = counts[tail] + counts[tail + 1];
	rest = counts[tail];		/* candidates of the run after this one */
	for (;;)
	{
		/*
		 * a step along the run exchanges one of cell `tail` for the last cell
		 */
		dp_models_smalldb_subtract_times(p->wide, lane_row(p, w->sums, tail),
										 lane_row(p, p->steps, tail),
										 (unsigned) rest, p->lanes, sums);
		dp_models_smalldb_subtract_times(p->wide, sums,
										 lane_row(p, p->steps, tail + 1),
										 (unsigned) (left - rest), p->lanes,
										 sums);
		for (rest++; rest > 0 && walk->at < walk->last && !walk->found;
			 rest -= n)
		{
			n = portion(walk, rest);
			dp_models_smalldb_levels_along(p->wide, sums, change, p->lanes, n,
										   levels);
			pass(w, walk, levels, n);
		}
		if (walk->at >= walk->last || walk->found)
			return;
		left = rest = advance_counts(w, left);
	}
}

/*
 * Walks through candidates first .. last - 1.  Returns how many are of the
 * wanted level, or for FIND the place of the rank-th of them, or `last`.
 */
static uint64_t
walk_through(dp_smalldb_worker *w, uint64_t first, uint64_t last,
			 purpose what, uint64_t rank)
{
	passage		walk = {first, last, what, rank, 0, false};

	dp_models_smalldb_unrank(w->problem, first, w->cells);
	if (w->problem->by_counts)
		walk_by_counts(w, &walk);
	else
		walk_by_cells(w, &walk);
	return what == FIND ? walk.at : walk.count;
}

/*
 * dp_models_smalldb_begin
 *	  Hand the chunks out from the first again, for a scan; `level` is for
 *	  the second.
 *
 * Requires: no worker is at a step.
 * Gives:	 the problem ready for steps.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_begin(dp_smalldb *problem, dp_smalldb_scan scan,
						uint64_t level)
{
	problem->scan = scan;
	problem->level = level;
	atomic_store(&problem->next, 0);
}

/*
 * dp_models_smalldb_step
 *	  Take one chunk and scan it.
 *
 * Requires: worker of this thread alone, between dp_models_smalldb_begin and
 *			 the end of all steps.
 * Gives:	 false when no chunk is left or `cancel` is set, without scanning.
 * Source:	 doc/theory.md T66.
 */
bool
dp_models_smalldb_step(dp_smalldb_worker *worker)
{
	dp_smalldb *p = worker->problem;
	uint64_t	chunk;
	uint64_t	first;
	uint64_t	last;

	if (atomic_load_explicit(&p->cancel, memory_order_relaxed))
		return false;
	chunk = atomic_fetch_add(&p->next, 1);
	if (chunk >= p->chunks)
		return false;
	first = chunk_start(p, chunk);
	last = chunk_start(p, chunk + 1);
	if (p->scan == DP_SMALLDB_HISTOGRAM)
		walk_through(worker, first, last, COUNT_LEVELS, 0);
	else
		p->found[chunk] = walk_through(worker, first, last, COUNT_LEVEL, 0);
	atomic_fetch_add_explicit(&p->done, last - first, memory_order_relaxed);
	return true;
}

/*
 * dp_models_smalldb_candidate
 *	  The rank-th candidate of the level of the second scan, from 0.
 *
 * Requires: the second scan is complete and no worker at a step.
 * Gives:	 its place among all candidates, for dp_models_smalldb_unrank;
 *			 shape.candidates when the level has too few.
 * Source:	 doc/theory.md T66.
 */
uint64_t
dp_models_smalldb_candidate(dp_smalldb_worker *worker, uint64_t rank)
{
	dp_smalldb *p = worker->problem;
	uint64_t	chunk;

	for (chunk = 0; chunk < p->chunks; chunk++)
	{
		if (rank < p->found[chunk])
			return walk_through(worker, chunk_start(p, chunk),
								chunk_start(p, chunk + 1), FIND, rank);
		rank -= p->found[chunk];
	}
	return p->shape.candidates;
}

/* ----------------
 *		Threads that scan alongside the caller: they run dp_models_smalldb_step
 *		and nothing else.
 * ----------------
 */

static void *
scan(void *worker)
{
	while (dp_models_smalldb_step(worker))
		continue;
	return NULL;
}

/*
 * dp_models_smalldb_threads_start
 *	  One thread for each of `count` workers, at most DP_SMALLDB_THREADS; as
 *	  many as the system gives.
 *
 * Requires: dp_models_smalldb_begin was called; nothing else touches the
 *			 workers.
 * Gives:	 threads->count, possibly 0, to be joined; they end when the chunks
 *			 are used up or problem->cancel is set.  The caller itself must
 *			 step with another worker until no chunk is left, so that the scan
 *			 ends in any case.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_threads_start(dp_threads *threads,
								dp_smalldb_worker *workers, int count)
{
	dp_numbers_threads_start(threads, scan, workers, sizeof(dp_smalldb_worker),
							 count);
}
