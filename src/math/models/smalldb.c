/*
 * smalldb.c
 *	  SmallDB over all multisets of a size: its plan, the scores of its
 *	  candidates made ready, and the draw of one.
 */
#include <math.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "../numbers/dp_numbers.h"
#include "../noise/dp_noise.h"
#include "dp_models.h"
#include "models_internal.h"
#include "smalldb_lanes.h"

/* ----------------
 *		The number of candidates and the expected error, from the universe, the
 *		queries and alpha.
 *
 * Everything here is about public numbers and may use floating point: a size
 * or bound that is off in its last digit costs accuracy, never privacy.
 * ----------------
 */

/* Base 2 logarithm of the largest useful size. */
#define SIZE_MAX_LOG 40

/* ceil(x) as a size, at least 1. */
static dp_status
ceil_size(double x, uint64_t *size)
{
	if (!(x >= 0) || x > (double) (UINT64_C(1) << SIZE_MAX_LOG))
		return DP_E_OVERFLOW;
	*size = x <= 1 ? 1 : (uint64_t) ceil(x);
	return DP_OK;
}

/*
 * dp_models_smalldb_size
 *	  The number of cells m = ceil(ln |Q| / alpha^2) with which some multiset
 *	  is within alpha of every database on every query.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *size set; DP_E_RANGE unless queries > 2 and 0 < alpha
 *			 <= 1, DP_E_OVERFLOW above 2^40; *size is then untouched.
 * Source:	 doc/theory.md T67 (book, Lemma 4.3, which needs |Q| > 2).
 */
dp_status
dp_models_smalldb_size(double queries, double alpha, uint64_t *size)
{
	if (!(queries > 2) || !(alpha > 0) || !(alpha <= 1))
		return DP_E_RANGE;
	return ceil_size(log(queries) / (alpha * alpha), size);
}

/* ln of the number of sets that d or fewer of n can form; n >= 1. */
static double
log_sauer(double n, double d)
{
	double		term = 0;
	double		sum = 0;
	double		i;

	if (d >= n)
		return n * M_LN2;
	for (i = 1; i <= d && i <= 100000; i++)
	{
		term += log((n - i + 1) / i);
		sum = sum > term ? sum + log1p(exp(term - sum)) :
			term + log1p(exp(sum - term));
	}
	return sum;
}

/*
 * dp_models_smalldb_size_for_dimension
 *	  The same for any number of queries of a VC dimension: the smaller of
 *	  ln(S(|X|)) / alpha^2, S(n) = sum over i <= d of C(n, i), and the least m
 *	  with m > 8 ln(4 S(2m)) / alpha^2, which does not depend on |X|.
 *
 * Requires: nothing.
 * Gives:	 as dp_models_smalldb_size; DP_E_RANGE also when dimension or cells
 *			 is 0 or dimension is above 100000.
 * Source:	 doc/theory.md T68 (book, Theorem 4.9; Sauer's lemma; Vapnik and
 *			 Chervonenkis 1971).
 */
dp_status
dp_models_smalldb_size_for_dimension(uint64_t cells, uint64_t dimension,
									 double alpha, uint64_t *size)
{
	double		d = (double) dimension;
	double		queries;
	double		m = 1;
	double		next;
	int			i;

	if (cells == 0 || dimension == 0 || dimension > 100000 || !(alpha > 0) ||
		!(alpha <= 1))
		return DP_E_RANGE;
	queries = fmax(log_sauer((double) cells, d), log(3));

	/* the right-hand side grows slower than m: iterating goes up to it */
	for (i = 0; i < 200; i++)
	{
		next = floor(8 / (alpha * alpha) *
					 (log(4) + log_sauer(2 * m, d))) + 1;
		if (next <= m)
			break;
		m = next;
	}
	next = ceil(queries / (alpha * alpha));
	return ceil_size(i < 200 ? fmin(next, m) : next, size);
}

/*
 * dp_models_smalldb_log_candidates
 *	  ln C(|X| + m - 1, m): the natural logarithm of the number of multisets.
 *
 * Requires: cells >= 1.
 * Gives:	 the logarithm, within a few units of the last place.
 * Source:	 doc/theory.md T66.
 */
double
dp_models_smalldb_log_candidates(uint64_t cells, uint64_t size)
{
	double		n = (double) cells - 1;
	double		m = (double) size;
	double		few = fmin(n, m);
	double		many = fmax(n, m);
	double		sum = 0;
	double		i;

	/* the difference of large lgamma values would lose digits */
	if (few <= 100000)
	{
		for (i = 1; i <= few; i++)
			sum += log1p(many / i);
		return sum;
	}
	return lgamma(n + m + 1) - lgamma(n + 1) - lgamma(m + 1);
}

/*
 * dp_models_smalldb_net_error
 *	  By how much the chosen candidate's largest error may exceed the best
 *	  candidate's, as a fraction of n, except with probability beta:
 *	  2 (ln |R| + ln(1/beta)) / (epsilon n).
 *
 * Requires: positive n, epsilon, beta < 1.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T67 (book, Theorem 3.11, Proposition 4.4).
 */
double
dp_models_smalldb_net_error(double log_candidates, double n, double epsilon,
							double beta)
{
	return 2 * (log_candidates - log(beta)) / (epsilon * n);
}

/*
 * dp_models_smalldb_size_error
 *	  The largest error, as a fraction, that the best multiset of m cells can
 *	  have: sqrt(ln(2 |Q|) / (2 m)).
 *
 * Requires: queries >= 1, size >= 1.
 * Gives:	 the bound.
 * Source:	 doc/theory.md T67 (Hoeffding, as in the book's Lemma 4.3).
 */
double
dp_models_smalldb_size_error(double queries, uint64_t size)
{
	return sqrt(log(2 * queries) / (2 * (double) size));
}

/*
 * dp_models_smalldb_size_error_for_dimension
 *	  The same for all queries of a VC dimension together.
 *
 * Requires: cells >= 1, dimension 1 .. 100000, size >= 1.
 * Gives:	 the smaller of the two bounds of T68, solved for alpha.
 * Source:	 doc/theory.md T68.
 */
double
dp_models_smalldb_size_error_for_dimension(uint64_t cells, uint64_t dimension,
										   uint64_t size)
{
	double		d = (double) dimension;
	double		m = (double) size;
	double		finite = fmax(log_sauer((double) cells, d), log(3));
	double		any = 8 * (log(4) + log_sauer(2 * m, d));

	return sqrt(fmin(finite, any) / m);
}

/*
 * dp_models_smalldb_theorem_alpha
 *	  The alpha of the book's Theorem 4.5: ((16 ln |X| ln |Q| + 4 ln(1/beta))
 *	  / (epsilon n))^(1/3).
 *
 * Requires: cells >= 1, queries >= 1, positive n, epsilon, beta < 1.
 * Gives:	 alpha, which may be above 1 and then says nothing.
 * Source:	 doc/theory.md T67 (book, Theorem 4.5).
 */
double
dp_models_smalldb_theorem_alpha(uint64_t cells, double queries, double n,
								double epsilon, double beta)
{
	return cbrt((16 * log((double) cells) * log(queries) - 4 * log(beta)) /
				(epsilon * n));
}

/* C(n, k), saturating at UINT64_MAX. */
static uint64_t
choose(uint64_t n, uint64_t k)
{
	dp_uint128	c = 1;
	uint64_t	i;

	if (k > n - k)
		k = n - k;
	for (i = 1; i <= k; i++)
	{
		c = c * (n - k + i) / i;
		if (c >= UINT64_MAX)
			return UINT64_MAX;
	}
	return (uint64_t) c;
}

/*
 * dp_models_smalldb_shape_make
 *	  Count the candidates; the caller compares them with the limits in
 *	  dp_models.h.
 *
 * Requires: nothing.
 * Gives:	 DP_OK with *out set, for predicates (one = 1); DP_E_RANGE when a
 *			 number is 0 or above 2^40; *out is then untouched.
 * Source:	 doc/theory.md T66.
 */
dp_status
dp_models_smalldb_shape_make(uint64_t cells, uint64_t queries, uint64_t size,
							 dp_smalldb_shape *out)
{
	const uint64_t most = UINT64_C(1) << SIZE_MAX_LOG;

	if (cells == 0 || queries == 0 || size == 0 || cells > most ||
		queries > most || size > most)
		return DP_E_RANGE;
	out->cells = cells;
	out->queries = queries;
	out->size = size;
	out->one = 1;
	out->candidates = choose(cells + size - 1, size);
	return DP_OK;
}

/* ----------------
 *		Prepare a SmallDB selection: small numbers in place of distances, and
 *		multisets in lexical order.
 *
 * Small numbers (doc/theory.md T66).  With F = min(F_f, n one) and m F = q n
 * + r, 0 <= r < n, a candidate whose m cells weigh j granules in f is at the
 * distance |n (q - j) + r|.  Let v_0 <= ... <= v_K be 0, n, all r and all
 * n - r in order, so that K = 2 |Q| + 1 and v_K-k = n - v_k, and let v_k = r.
 * Then x = K (q - j) + k is linear in j, and with l = |x| the distance is
 * n (l div K) + v_(l mod K), which grows with l.  So the largest l of a
 * candidate stands for its largest distance: that is its level.
 *
 * Since K is public, so is the amount of work; only which counter a candidate
 * is counted in depends on data.
 * ----------------
 */

/* A table of suffixes should fit the first cache. */
#define SUFFIX_BYTES 32768
#define SUFFIX_MOST 64
#define ALIGNMENT 64

/* Offsets of the pieces of the memory. */
typedef struct layout
{
	size_t		values;
	size_t		ways;
	size_t		start;
	size_t		steps;
	size_t		tails;
	size_t		found;
	size_t		end;
} layout;

static size_t
aligned(size_t x)
{
	return (x + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void *
aligned_pointer(void *memory)
{
	return (void *) aligned((size_t) memory);
}

/* C(cells + size - 1, size) for a result that is known to be small. */
static uint64_t
multisets(uint64_t cells, unsigned size)
{
	dp_uint128	c = 1;
	unsigned	i;

	for (i = 1; i <= size; i++)
		c = c * (cells + i - 1) / i;
	return (uint64_t) c;
}

/* Set the public fields, all that do not depend on counts. */
static void
plan_public(const dp_smalldb_shape *shape, dp_smalldb *out)
{
	memset(out, 0, sizeof(*out));
	out->shape = *shape;
	out->modulus = 2 * shape->queries + 1;
	out->levels = out->modulus * shape->size * shape->one + 1;
	out->wide = out->levels > INT16_MAX;
	out->lanes = (unsigned) ((shape->queries + SMALLDB_LANES - 1) /
							 SMALLDB_LANES * SMALLDB_LANES);
	out->by_counts = shape->cells > 1 && shape->size > 2 * shape->cells;
	out->suffix = 1;
	while (out->suffix < shape->size && out->suffix < SUFFIX_MOST &&
		   multisets(shape->cells, out->suffix + 1) * lane_bytes(out) <=
		   SUFFIX_BYTES)
		out->suffix++;
	out->suffixes = multisets(shape->cells, out->suffix);
	out->chunks = shape->candidates < DP_SMALLDB_CHUNKS ?
		shape->candidates : DP_SMALLDB_CHUNKS;
	out->total = 2 * shape->candidates;
}

static layout
lay_out(const dp_smalldb *p)
{
	const dp_smalldb_shape *shape = &p->shape;
	layout		l;

	l.values = 0;
	l.ways = l.values + aligned((p->modulus + 1) * sizeof(int64_t));
	l.start = l.ways + aligned((shape->size + 1) * (shape->cells + 1) *
							   sizeof(uint64_t));
	l.steps = l.start + aligned(lane_bytes(p));
	l.tails = l.steps + aligned(shape->cells * lane_bytes(p));
	l.found = l.tails + aligned(p->suffixes * lane_bytes(p));
	l.end = l.found + aligned(p->chunks * sizeof(uint64_t));
	return l;
}

static bool
feasible(const dp_smalldb_shape *shape)
{
	return shape->cells > 0 && shape->queries > 0 && shape->size > 0 &&
		shape->queries <= DP_SMALLDB_LEVELS &&
		shape->size <= DP_SMALLDB_LEVELS &&
		shape->candidates <= DP_SMALLDB_CANDIDATES &&
		shape->candidates <= DP_SMALLDB_WORK / shape->queries &&
		shape->one > 0 && shape->one <= DP_SMALLDB_ONE &&
		shape->size * shape->queries * shape->one <= DP_SMALLDB_LEVELS;
}

/*
 * dp_models_smalldb_memory
 *	  Bytes that dp_models_smalldb_make needs; 0 for a shape beyond the limits.
 *
 * Requires: shape from dp_models_smalldb_shape_make.
 * Gives:	 the size, a function of the shape alone.
 * Source:	 doc/theory.md T66.
 */
size_t
dp_models_smalldb_memory(const dp_smalldb_shape *shape)
{
	dp_smalldb	p;

	if (!feasible(shape))
		return 0;
	plan_public(shape, &p);
	return lay_out(&p).end + ALIGNMENT;
}

static int
smalldb_compare_values(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

/* The first k with v_k = x; there is one. */
static uint64_t
smalldb_place_of(const dp_smalldb *p, int64_t x)
{
	uint64_t	low = 0;
	uint64_t	high = p->modulus;

	while (low < high)
	{
		uint64_t	middle = (low + high) / 2;

		if (p->values[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
set_lane(const dp_smalldb *p, void *row, uint64_t lane, int64_t x)
{
	if (p->wide)
		((int32_t *) row)[lane] = (int32_t) x;
	else
		((int16_t *) row)[lane] = (int16_t) x;
}

/* m min(F, n one) = quotient n + remainder. */
static void
smalldb_divide(const dp_smalldb *p, int64_t count, uint64_t *quotient,
			   int64_t *remainder)
{
	dp_uint128	all = (dp_uint128) p->n * p->shape.one;
	dp_uint128	product = count <= 0 ? 0 : (dp_uint128) count;

	product = (product > all ? all : product) * p->shape.size;
	*quotient = (uint64_t) (product / (dp_uint128) p->n);
	*remainder = (int64_t) (product % (dp_uint128) p->n);
}

static void
make_start(dp_smalldb *p, const int64_t *counts)
{
	uint64_t	queries = p->shape.queries;
	uint64_t	quotient;
	int64_t		remainder;
	uint64_t	i;

	for (i = 0; i < queries; i++)
	{
		smalldb_divide(p, counts[i], &quotient, &remainder);
		p->values[2 * i] = remainder;
		p->values[2 * i + 1] = p->n - remainder;
	}
	p->values[2 * queries] = 0;
	p->values[2 * queries + 1] = p->n;
	qsort(p->values, 2 * queries + 2, sizeof(int64_t), smalldb_compare_values);
	memset(p->start, 0, lane_bytes(p));
	for (i = 0; i < queries; i++)
	{
		smalldb_divide(p, counts[i], &quotient, &remainder);
		set_lane(p, p->start, i,
				 (int64_t) (p->modulus * quotient +
							smalldb_place_of(p, remainder)));
	}
}

static void
make_steps(dp_smalldb *p, const uint8_t *weights)
{
	uint64_t	cell;
	uint64_t	query;

	memset(p->steps, 0, p->shape.cells * lane_bytes(p));
	for (cell = 0; cell < p->shape.cells; cell++)
		for (query = 0; query < p->shape.queries; query++)
			set_lane(p, lane_row(p, p->steps, cell), query,
					 (int64_t) (p->modulus *
								weights[query * p->shape.cells + cell]));
}

static void
make_ways(dp_smalldb *p)
{
	uint64_t	width = p->shape.cells + 1;
	uint64_t	size;
	uint64_t	cells;

	for (cells = 0; cells < width; cells++)
		p->ways[cells] = 1;
	for (size = 1; size <= p->shape.size; size++)
	{
		p->ways[size * width] = 0;
		for (cells = 1; cells < width; cells++)
			p->ways[size * width + cells] =
				p->ways[size * width + cells - 1] +
				p->ways[(size - 1) * width + cells];
	}
}

/* The sums of steps over every multiset of `suffix` cells, in order. */
static void
make_tails(dp_smalldb *p)
{
	uint64_t	query;
	uint64_t	i;
	uint64_t	rank;
	uint64_t	c;
	unsigned	k;
	char	   *tail;

	memset(p->tails, 0, p->suffixes * lane_bytes(p));
	for (i = 0; i < p->suffixes; i++)
	{
		tail = lane_row(p, p->tails, i);
		rank = i;
		c = 0;
		for (k = p->suffix; k > 0; k--)
		{
			while (rank >= ways_of(p, k - 1, p->shape.cells - c))
				rank -= ways_of(p, k - 1, p->shape.cells - c++);
			for (query = 0; query < p->lanes; query++)
				if (p->wide)
					((int32_t *) tail)[query] +=
						((int32_t *) lane_row(p, p->steps, c))[query];
				else
					((int16_t *) tail)[query] +=
						((int16_t *) lane_row(p, p->steps, c))[query];
		}
	}
}

/*
 * dp_models_smalldb_make
 *	  Prepare a selection.
 *
 * Requires: weights[query * cells + cell], from 0 to shape->one; one count
 *			 for each query, its granules, and below 0 counts as 0; memory of
 *			 dp_models_smalldb_memory bytes, which stays in use.  Afterwards
 *			 the memory holds private numbers.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when the shape is beyond the
 *			 limits or n < 1; *out is then untouched.
 * Source:	 doc/theory.md T65, T66.
 */
dp_status
dp_models_smalldb_make(const dp_smalldb_shape *shape, const uint8_t *weights,
					   const int64_t *counts, int64_t n, void *memory,
					   dp_smalldb *out)
{
	char	   *base = aligned_pointer(memory);
	layout		l;

	if (!feasible(shape) || n < 1)
		return DP_E_RANGE;
	plan_public(shape, out);
	l = lay_out(out);
	out->n = n;
	out->values = (int64_t *) (base + l.values);
	out->ways = (uint64_t *) (base + l.ways);
	out->start = base + l.start;
	out->steps = base + l.steps;
	out->tails = base + l.tails;
	out->found = (uint64_t *) (base + l.found);
	atomic_init(&out->next, 0);
	atomic_init(&out->done, 0);
	atomic_init(&out->cancel, false);
	make_ways(out);
	make_start(out, counts);
	make_steps(out, weights);
	make_tails(out);
	return DP_OK;
}

/* Sizes of a worker's pieces. */
static size_t
worker_cells(const dp_smalldb *p)
{
	return aligned((p->shape.size + p->shape.cells) * sizeof(uint32_t));
}

static size_t
worker_sums(const dp_smalldb *p)
{
	uint64_t	rows = p->by_counts ? p->shape.cells + 1 :
		p->shape.size - p->suffix + 1;

	return aligned(rows * lane_bytes(p));
}

/*
 * dp_models_smalldb_worker_memory
 *	  Bytes that dp_models_smalldb_worker_make needs.
 *
 * Requires: problem from dp_models_smalldb_make.
 * Gives:	 the size, a function of the shape alone.
 * Source:	 doc/theory.md T66.
 */
size_t
dp_models_smalldb_worker_memory(const dp_smalldb *problem)
{
	return worker_cells(problem) + worker_sums(problem) +
		problem->levels * sizeof(uint64_t) + ALIGNMENT;
}

/*
 * dp_models_smalldb_worker_make
 *	  One thread's memory, its histogram empty.
 *
 * Requires: memory of dp_models_smalldb_worker_memory bytes, which stays in
 *			 use and will hold private numbers.
 * Gives:	 *out set.
 * Source:	 doc/theory.md T66.
 */
void
dp_models_smalldb_worker_make(dp_smalldb *problem, void *memory,
							  dp_smalldb_worker *out)
{
	char	   *base = aligned_pointer(memory);

	out->problem = problem;
	out->cells = (uint32_t *) base;
	out->sums = base + worker_cells(problem);
	out->histogram = (uint64_t *) (base + worker_cells(problem) +
								   worker_sums(problem));
	memset(out->histogram, 0, problem->levels * sizeof(uint64_t));
}

/*
 * dp_models_smalldb_score
 *	  The score of all candidates of a level: minus their largest distance.
 *
 * Requires: level below problem->levels.
 * Gives:	 the exact score; it never rises with the level.
 * Source:	 doc/theory.md T66.
 */
dp_int128
dp_models_smalldb_score(const dp_smalldb *problem, uint64_t level)
{
	return -((dp_int128) problem->n * (level / problem->modulus) +
			 problem->values[level % problem->modulus]);
}

/*
 * dp_models_smalldb_unrank
 *	  The candidate of a rank in lexical order.
 *
 * Requires: rank below shape.candidates; room for shape.size cells.
 * Gives:	 the cells, none smaller than the one before.
 * Source:	 doc/theory.md T66 (the combinatorial number system).
 */
void
dp_models_smalldb_unrank(const dp_smalldb *problem, uint64_t rank,
						 uint32_t *cells)
{
	uint64_t	c = 0;
	uint64_t	i;

	for (i = 0; i < problem->shape.size; i++)
	{
		uint64_t	rest = problem->shape.size - 1 - i;

		while (rank >= ways_of(problem, rest, problem->shape.cells - c))
			rank -= ways_of(problem, rest, problem->shape.cells - c++);
		cells[i] = (uint32_t) c;
	}
}

/* ----------------
 *		The draw between the two scans.
 * ----------------
 */

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
 * dp_models_smalldb_draw_memory
 *	  Bytes that dp_models_smalldb_draw needs.
 *
 * Requires: problem from dp_models_smalldb_make.
 * Gives:	 the size, a function of the shape alone.
 * Source:	 doc/theory.md T66.
 */
size_t
dp_models_smalldb_draw_memory(const dp_smalldb *problem)
{
	return problem->levels * level_bytes();
}

/* Add up the workers' histograms, level by level. */
static levels
smalldb_collect(const dp_smalldb *problem, const dp_smalldb_worker *workers,
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
		l.scores[l.n] = dp_models_smalldb_score(problem, level);
		l.counts[l.n] = candidates;
		l.numbers[l.n++] = level;
	}
	return l;
}

/*
 * dp_models_smalldb_draw
 *	  Draw a level with probability proportional to N_i exp(rate score_i),
 *	  N_i its number of candidates, and a rank uniform in [0, N_i).
 *
 * Requires: the first scan is complete and no worker at a step; all `count`
 *			 workers that took part; rate from dp_noise_selection_rate;
 *			 memory of dp_models_smalldb_draw_memory bytes, 16-byte aligned or
 *			 as palloc aligns, which is wiped.
 * Gives:	 DP_OK with *level and *rank set for the second scan; DP_E_RANGE,
 *			 DP_E_RANDOM, DP_E_MEMORY as dp_noise_envelope, and both are then
 *			 untouched.
 * Source:	 doc/theory.md T16, T18, T66.
 */
dp_status
dp_models_smalldb_draw(dp_source *source, dp_smalldb *problem,
					   const dp_rational *rate, dp_smalldb_worker *workers,
					   int count, void *memory, uint64_t *level,
					   uint64_t *rank)
{
	levels		l = smalldb_collect(problem, workers, count, memory);
	dp_envelope law;
	size_t		chosen;
	dp_status	status;

	status = dp_noise_envelope_make(rate, 1, &law);
	if (status == DP_OK)
		status = dp_noise_envelope(source, &law, l.scores, l.counts, l.n,
								   &chosen, rank);
	if (status == DP_OK)
		*level = l.numbers[chosen];
	OPENSSL_cleanse(memory, dp_models_smalldb_draw_memory(problem));
	return status;
}
