/*
 * quantile.c
 *	  The exponential mechanism on a grid of integers, scored by rank.
 *
 * Of N rows c(v-) lie below the grid point v and c(v) below or at it.  For
 * the fraction a/d its penalty, the negated score, is
 *
 *	  max(0, a N - d c(v), d c(v-) - a N)
 *
 * (for extremes, with another target in place of a N), which falls to 0 at the
 * first entry with d c(v) >= a N, the centre, and rises after it.  Left of the
 * centre a point's penalty is a N - d c(v), right of it d c(v-) - a N, so it
 * is constant on segments [value, next value) to the left and (value, next
 * value] to the right.
 *
 * A draw has two steps.  Adjacent segments are joined into blocks, of which
 * only the size and the least penalty are used; a new block starts when the
 * penalty has grown by more than 1/rate, and from 64/rate on everything left
 * on that side is one block.  So there are at most BLOCKS of them, however
 * many values there are.  The envelope sampler draws a block with probability
 * proportional to size exp(-rate least) and a point uniform in it; the point
 * is kept with probability exp(-rate (penalty - least)), or else the draw
 * starts anew.  So v is drawn with probability proportional to exp(-rate
 * penalty(v)), whatever the blocks are (doc/quantile.md): they only move the
 * running time.  A point of a near block is kept with probability at least
 * 1/e; those of the last blocks are drawn with probability below 2^65 e^-64.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"
#include "noise_internal.h"

#define BLOCKS_SIDE 70			/* 67 are enough: starts differ by > 1/rate */
#define BLOCKS (2 * BLOCKS_SIDE + 1)
#define FAR 64					/* in units of 1/rate */
#define PRODUCT_BITS 126		/* of d N */

/* The caller's rows, and the rank that is aimed at. */
typedef struct rows
{
	dp_ranked_rows given;
	int64_t		low;
	int64_t		high;
	dp_uint128	a;
	dp_uint128	d;
	dp_uint128	target;			/* a N */
} rows;

static inline uint64_t
count_at(const rows *r, size_t j)
{
	return r->given.counts != NULL ? r->given.counts[j] : r->given.counts32[j];
}

/* Adjacent segments on one side, from the inside out. */
typedef struct block
{
	size_t		segment;		/* the innermost: see left and right */
	uint64_t	below;			/* rows in the entries before it */
	int64_t		edge;			/* grid point before the first one */
	uint64_t	size;			/* in grid points */
	dp_uint128	least;			/* penalty */
	bool		right;
} block;

typedef struct partition
{
	block		blocks[BLOCKS];
	size_t		n;
	dp_uint128	step;			/* floor(1/rate) */
	dp_uint128	far;			/* at least FAR/rate */
} partition;

static inline int64_t
value_at(const rows *r, size_t j)
{
	return r->given.values == NULL ? (int64_t) ((uint64_t) r->low + j) :
		r->given.values[j];
}

/*
 * Left segment j, 0 <= j <= centre: the points from value j - 1 (or low) to
 * before value j.  Right segment j, centre < j <= n: the points after value
 * j - 1 up to value j (or high).  `below` is c at the end of entry j - 1.
 */
static inline dp_uint128
left_penalty(const rows *r, uint64_t below)
{
	return r->target - r->d * below;
}

static inline dp_uint128
right_penalty(const rows *r, uint64_t below)
{
	return r->d * below - r->target;
}

/* Checks the entries and adds up their rows. */
static dp_status
count_rows(const rows *r, uint64_t *out)
{
	uint64_t	sum = 0;
	int64_t		before = r->low;
	size_t		j;

	if (r->given.values == NULL && r->given.n > 0 &&
		(uint64_t) r->high - (uint64_t) r->low < r->given.n - 1)
		return DP_E_RANGE;
	for (j = 0; r->given.values != NULL && j < r->given.n; j++)
	{
		if (r->given.values[j] < before || r->given.values[j] > r->high)
			return DP_E_RANGE;
		before = r->given.values[j];
	}
	for (j = 0; j < r->given.n; j++)
		if (__builtin_add_overflow(sum, count_at(r, j), &sum))
			return DP_E_OVERFLOW;
	*out = sum;
	return DP_OK;
}

/*
 * Adds a segment to a side's current block, or starts one.  Returns false
 * when the block is to take everything left on this side.
 */
static bool
add_segment(partition *p, size_t first, const block *segment)
{
	block	   *current = p->n > first ? &p->blocks[p->n - 1] : NULL;

	if (segment->size == 0)
		return true;
	if (current != NULL && segment->least - current->least <= p->step)
	{
		current->size += segment->size;
		return true;
	}
	p->blocks[p->n++] = *segment;
	return segment->least <= p->far && p->n - first < BLOCKS_SIDE;
}

static void
add_left(partition *p, const rows *r, size_t centre, uint64_t below)
{
	block		segment = {.right = false};
	size_t		first = p->n;
	size_t		j;
	int64_t		start;

	for (j = centre;; j--)
	{
		start = j == 0 ? r->low : value_at(r, j - 1);
		segment.segment = j;
		segment.below = below;
		segment.edge = value_at(r, j);
		segment.size = (uint64_t) segment.edge - (uint64_t) start;
		segment.least = left_penalty(r, below);
		if (!add_segment(p, first, &segment))
		{
			p->blocks[p->n - 1].size =
				(uint64_t) segment.edge - (uint64_t) r->low;
			return;
		}
		if (j == 0)
			return;
		below -= count_at(r, j - 1);
	}
}

static void
add_right(partition *p, const rows *r, size_t centre, uint64_t below)
{
	block		segment = {.right = true};
	size_t		first = p->n;
	size_t		j;
	int64_t		end;

	for (j = centre + 1;; j++)
	{
		end = j == r->given.n ? r->high : value_at(r, j);
		below += count_at(r, j - 1);
		segment.segment = j;
		segment.below = below;
		segment.edge = value_at(r, j - 1);
		segment.size = (uint64_t) end - (uint64_t) segment.edge;
		segment.least = right_penalty(r, below);
		if (!add_segment(p, first, &segment))
		{
			p->blocks[p->n - 1].size =
				(uint64_t) r->high - (uint64_t) segment.edge;
			return;
		}
		if (j == r->given.n)
			return;
	}
}

/* All blocks of n >= 1 entries around r->target, at most d times the rows. */
static void
fill_partition(const rows *r, const dp_rational *rate, partition *p)
{
	uint64_t	below = 0;
	size_t		centre;

	for (centre = 0; r->d * (below + count_at(r, centre)) < r->target;
		 centre++)
		below += count_at(r, centre);
	p->step = rate->den / rate->num;
	p->far = rate->den > ~(dp_uint128) 0 / FAR ? ~(dp_uint128) 0 :
		rate->den * FAR / rate->num + 1;
	p->blocks[0] = (block) {centre, below, value_at(r, centre), 1, 0, false};
	p->n = 1;
	add_left(p, r, centre, below);
	add_right(p, r, centre, below);
}

/* The same around the fraction of `total` rows, which becomes the target. */
static void
prepare_partition(rows *r, const dp_rational *rate, uint64_t total,
				  partition *p)
{
	r->target = r->a * total;
	fill_partition(r, rate, p);
}

/* The point of this rank in the block, and its penalty. */
static dp_uint128
locate(const rows *r, const block *b, uint64_t rank, int64_t *point)
{
	size_t		j = b->segment;
	uint64_t	below = b->below;

	if (b->right)
	{
		*point = (int64_t) ((uint64_t) b->edge + 1 + rank);
		for (; j < r->given.n && *point > value_at(r, j); j++)
			below += count_at(r, j);
		return right_penalty(r, below);
	}
	*point = (int64_t) ((uint64_t) b->edge - 1 - rank);
	for (; j > 0 && *point < value_at(r, j - 1); j--)
		below -= count_at(r, j - 1);
	return left_penalty(r, below);
}

/* Draws until a point is kept; blocks[0] is the centre. */
static dp_status
draw_point(dp_source *source, const dp_envelope *law, const rows *r,
		   const partition *p, int64_t *out)
{
	dp_int128	scores[BLOCKS];
	uint64_t	sizes[BLOCKS];
	uint64_t	rank;
	dp_uint128	penalty;
	int64_t		point;
	size_t		i;
	bool		kept;
	dp_status	status;

	for (i = 0; i < p->n; i++)
	{
		scores[i] = -(dp_int128) p->blocks[i].least;
		sizes[i] = p->blocks[i].size;
	}
	do
	{
		status = dp_noise_envelope(source, law, scores, sizes, p->n, &i,
								   &rank);
		if (status != DP_OK)
			return status;
		if (i == 0)
		{
			point = p->blocks[0].edge;
			break;
		}
		penalty = locate(r, &p->blocks[i], rank, &point);
		status = dp_noise_bernoulli_exp_product(source, penalty -
												p->blocks[i].least, &law->rate,
												&kept);
		if (status != DP_OK)
			return status;
	} while (!kept);
	*out = point;
	return DP_OK;
}

/* A uniformly random point of [low, high]. */
static dp_status
draw_uniform(dp_source *source, int64_t low, int64_t high, int64_t *out)
{
	uint64_t	rank;
	dp_status	status;

	status = dp_noise_uniform_below(source, (uint64_t) high -
									(uint64_t) low + 1, &rank);
	if (status == DP_OK)
		*out = (int64_t) ((uint64_t) low + rank);
	return status;
}

/*
 * dp_noise_quantile_sensitivity
 *	  How far one unit of at most `rows` rows moves the score of any point.
 *
 * Requires: d >= 1, a <= d, rows >= 1.
 * Gives:	 DP_OK with *out = rows max(a, d - a), or rows d when neighbours
 *			 replace a unit; DP_E_RANGE, DP_E_OVERFLOW; *out is then
 *			 untouched.
 * Source:	 doc/quantile.md Q1; used for doc/theory.md T16.
 */
dp_status
dp_noise_quantile_sensitivity(dp_uint128 a, dp_uint128 d,
							  uint64_t rows_of_unit,
							  bool replace, dp_uint128 *out)
{
	dp_uint128	one = replace ? d : a > d - a ? a : d - a;
	dp_uint128	product;

	if (d == 0 || a > d || rows_of_unit == 0)
		return DP_E_RANGE;
	if (__builtin_mul_overflow(one, rows_of_unit, &product))
		return DP_E_OVERFLOW;
	*out = product;
	return DP_OK;
}

/*
 * dp_noise_quantile
 *	  Draw the point v of [low, high] with probability proportional to
 *	  exp(-rate penalty(v)), penalty as above for the fraction a/d of the rows;
 *	  uniformly if there are no rows.
 *
 * Requires: law of width 1 from dp_noise_envelope_make for the rate of
 *			 dp_noise_selection_rate, of dp_noise_quantile_sensitivity and not
 *			 monotone; low <= high; d >= 1, a <= d.
 * Gives:	 DP_OK with *out set; DP_E_RANGE when an argument is out of range
 *			 or [low, high] has 2^64 points, DP_E_OVERFLOW when d times the
 *			 number of rows reaches 2^126, DP_E_RANDOM, DP_E_MEMORY; *out is
 *			 then untouched.  Takes O(n) steps, and memory that does not depend
 *			 on n.
 * Source:	 doc/quantile.md Q1, Q2; doc/theory.md T16, T18.
 */
dp_status
dp_noise_quantile(dp_source *source, const dp_envelope *law,
				  const dp_ranked_rows *ranked, int64_t low, int64_t high,
				  dp_uint128 a, dp_uint128 d, int64_t *out)
{
	rows		r = {*ranked, low, high, a, d, 0};
	partition	p;
	uint64_t	total;
	dp_status	status;

	if (law->width != 1 || low > high || d == 0 || a > d ||
		(uint64_t) high - (uint64_t) low == UINT64_MAX)
		return DP_E_RANGE;
	status = count_rows(&r, &total);
	if (status != DP_OK)
		return status;
	if (ranked->n == 0)
		return draw_uniform(source, low, high, out);
	if (total > ((dp_uint128) 1 << PRODUCT_BITS) / d)
		return DP_E_OVERFLOW;
	prepare_partition(&r, &law->rate, total, &p);
	return draw_point(source, law, &r, &p, out);
}

/*
 * dp_noise_extreme
 *	  Draw the point v of [low, high] with probability proportional to
 *	  exp(-rate penalty(v)), where v aims at having `rank`/d rows beyond it:
 *
 *	  max(0, rank - d #(rows <= v), d #(rows < v) - rank)
 *
 *	  or, for the greatest value, the same with >= and >; uniformly if there
 *	  are no rows.
 *
 * Requires: law of width 1 from dp_noise_envelope_make for the rate of
 *			 dp_noise_selection_rate, of d times the rows of a unit and not
 *			 monotone; low <= high; d >= 1.
 * Gives:	 as dp_noise_quantile.
 * Source:	 doc/theory.md T92, T16, T18; doc/quantile.md Q2.
 *
 * With N rows, #(rows >= v) = N - #(rows < v): the greatest value is the
 * same with d N - rank for the rank.  A rank above d N or below 0 adds only a
 * constant to all penalties, so it is clamped.
 */
dp_status
dp_noise_extreme(dp_source *source, const dp_envelope *law,
				 const dp_ranked_rows *ranked, int64_t low, int64_t high,
				 dp_uint128 rank, dp_uint128 d, bool greatest, int64_t *out)
{
	rows		r = {*ranked, low, high, 0, d, 0};
	partition	p;
	uint64_t	total;
	dp_status	status;

	if (law->width != 1 || low > high || d == 0 ||
		(uint64_t) high - (uint64_t) low == UINT64_MAX)
		return DP_E_RANGE;
	status = count_rows(&r, &total);
	if (status != DP_OK)
		return status;
	if (ranked->n == 0)
		return draw_uniform(source, low, high, out);
	if (total > ((dp_uint128) 1 << PRODUCT_BITS) / d)
		return DP_E_OVERFLOW;
	r.target = rank < d * total ? rank : d * total;
	if (greatest)
		r.target = d * total - r.target;
	fill_partition(&r, &law->rate, &p);
	return draw_point(source, law, &r, &p, out);
}
