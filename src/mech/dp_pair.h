/*
 * dp_pair.h
 *	  Pairs of bounded integers: their sums, and the cells that covariances and
 *	  regressions measure from these (pair.c).
 *
 * Pure C; what runs for every row is inline and cannot fail.
 */
#ifndef DP_PAIR_H
#define DP_PAIR_H

#include <stdbool.h>

#include "dp_mech.h"

/* Greatest width of either number's bounds, in granules. */
#define DP_PAIR_WIDTH ((INT64_C(1) << 22) - 1)
/* A pair k, l as one number: k << DP_PAIR_SHIFT | l. */
#define DP_PAIR_SHIFT 32

/* Sums over rows with granules k and l, counted from the lower bounds. */
typedef struct dp_pair_sums
{
	int64_t		rows;
	dp_int128	first;			/* of k */
	dp_int128	second;			/* of l */
	dp_int128	first_squares;	/* of k^2 */
	dp_int128	second_squares; /* of l^2 */
	dp_int128	products;		/* of k l */
} dp_pair_sums;

/* What is measured from them; G and H are the widths of the grids. */
typedef enum dp_pair_kind
{
	DP_PAIR_ROWS,				/* their number */
	DP_PAIR_MEAN,				/* f k and f (G - k) */
	DP_PAIR_SQUARES,			/* f (G - k)^2, 2 f k (G - k) and f k^2 */
	DP_PAIR_PRODUCTS			/* f k l, f k (H - l), f (G - k) l and f (G -
								 * k) (H - l); then w k (G - k) and v l (H -
								 * l), where the weights w and v are not 0 */
} dp_pair_kind;

#define DP_PAIR_CELLS 6

typedef struct dp_pair_shape
{
	dp_pair_kind kind;
	int			ncells;
	int64_t		width;			/* G >= 1 */
	int64_t		second_width;	/* H >= 1 */
	int64_t		factor;			/* f */
	int64_t		weight;			/* w */
	int64_t		second_weight;	/* v */
	int64_t		row;			/* what a row adds to the cells without w, v */
} dp_pair_shape;

static inline void
dp_pair_add(dp_pair_sums *sums, int64_t k, int64_t l)
{
	sums->rows++;
	sums->first += k;
	sums->second += l;
	sums->first_squares += k * k;
	sums->second_squares += l * l;
	sums->products += k * l;
}

static inline void
dp_pair_merge(dp_pair_sums *sums, const dp_pair_sums *other)
{
	sums->rows += other->rows;
	sums->first += other->first;
	sums->second += other->second;
	sums->first_squares += other->first_squares;
	sums->second_squares += other->second_squares;
	sums->products += other->products;
}

extern void dp_mech_pair_make(dp_pair_kind kind, int64_t width,
							  int64_t second_width, int spread,
							  int second_spread, dp_pair_shape *out);
extern dp_uint128 dp_mech_pair_l1(const dp_pair_shape *shape);
extern void dp_mech_pair_cells(const dp_pair_shape *shape,
							   const dp_pair_sums *sums, dp_int128 *cells);

#endif							/* DP_PAIR_H */
