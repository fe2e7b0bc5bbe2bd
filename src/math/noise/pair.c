/*
 * pair.c
 *	  The cells that are measured from pairs of bounded integers.
 *
 * A row is k in [0, G] and l in [0, H].  The products k l, k (H - l), (G - k)
 * l and (G - k) (H - l) are never negative and sum to G H, so that one price
 * pays for all four, and the number of rows, both means and the covariance
 * follow from their sums.  A variance also needs the sum of k (G - k), which
 * is at most G^2 / 4; its weight makes that the fraction c / 4 of what a row
 * adds to the others.
 *
 * Products are scaled so that a row adds about 2^48: then little is lost when
 * weights are rounded to integers and the parts of units with many rows down.
 */
#include "../numbers/dp_numbers.h"
#include "dp_noise.h"

#define ROW_BITS 48

/* The weight of k (G - k) for a spread c: at least 15 c, since G^2 < 2^44. */
static int64_t
pair_weight_of(int64_t row, int64_t width, int spread)
{
	return spread * row / (width * width);
}

/*
 * dp_noise_pair_make
 *	  The shape of a measurement; spreads are the c of k (G - k) and of l (H -
 *	  l), 0 where it is not measured, and count for products only.
 *
 * Requires: 1 <= width, second_width <= DP_PAIR_WIDTH; spreads in [0, 2].
 * Gives:	 *out, with row <= 2^48, and row > 2^47 but for DP_PAIR_ROWS.
 * Source:	 doc/theory.md T110.
 */
void
dp_noise_pair_make(dp_pair_kind kind, int64_t width, int64_t second_width,
				   int spread, int second_spread, dp_pair_shape *out)
{
	bool		products = kind == DP_PAIR_PRODUCTS;
	int64_t		row = kind == DP_PAIR_ROWS ? 1 :
		kind == DP_PAIR_MEAN ? width :
		kind == DP_PAIR_SQUARES ? width * width : width * second_width;

	out->kind = kind;
	out->width = width;
	out->second_width = second_width;
	out->factor = kind == DP_PAIR_ROWS ? 1 : (INT64_C(1) << ROW_BITS) / row;
	out->row = row * out->factor;
	out->weight = products ? pair_weight_of(out->row, width, spread) : 0;
	out->second_weight = products ?
		pair_weight_of(out->row, second_width, second_spread) : 0;
	out->ncells = kind == DP_PAIR_ROWS ? 1 : kind == DP_PAIR_MEAN ? 2 :
		kind == DP_PAIR_SQUARES ? 3 :
		4 + (out->weight > 0) + (out->second_weight > 0);
}

/* The maximum of k (G - k). */
static int64_t
most_spread(int64_t width)
{
	return (width / 2) * (width - width / 2);
}

/*
 * dp_noise_pair_l1
 *	  The most that one row adds to all cells together.  In L2 it adds at most
 *	  shape->row.
 *
 * Requires: a shape of dp_noise_pair_make.
 * Gives:	 at most twice 2^48.
 * Source:	 doc/theory.md T110.
 */
dp_uint128
dp_noise_pair_l1(const dp_pair_shape *shape)
{
	return (dp_uint128) shape->row +
		(dp_uint128) shape->weight * most_spread(shape->width) +
		(dp_uint128) shape->second_weight * most_spread(shape->second_width);
}

/* The sum of weight k (G - k). */
static dp_int128
spread_of(int64_t weight, int64_t width, dp_int128 sum, dp_int128 squares)
{
	return weight * (width * sum - squares);
}

/*
 * dp_noise_pair_cells
 *	  The cells, shape->ncells numbers, from sums over rows.
 *
 * Requires: sums of fewer than 2^63 rows within the widths.
 * Gives:	 numbers in [0, 2^112]; linear in the sums.
 * Source:	 doc/theory.md T110.
 */
void
dp_noise_pair_cells(const dp_pair_shape *shape, const dp_pair_sums *s,
					dp_int128 *cells)
{
	dp_int128	f = shape->factor;
	dp_int128	g = shape->width;
	dp_int128	h = shape->second_width;
	int			next = 4;

	switch (shape->kind)
	{
		case DP_PAIR_ROWS:
			cells[0] = f * s->rows;
			break;
		case DP_PAIR_MEAN:
			cells[0] = f * s->first;
			cells[1] = f * (s->rows * g - s->first);
			break;
		case DP_PAIR_SQUARES:
			cells[1] = f * 2 * (g * s->first - s->first_squares);
			cells[2] = f * s->first_squares;
			cells[0] = f * s->rows * g * g - cells[1] - cells[2];
			break;
		case DP_PAIR_PRODUCTS:
			cells[0] = f * s->products;
			cells[1] = f * (h * s->first - s->products);
			cells[2] = f * (g * s->second - s->products);
			cells[3] = f * (s->rows * g * h - h * s->first - g * s->second +
							s->products);
			if (shape->weight > 0)
				cells[next++] = spread_of(shape->weight, shape->width,
										  s->first, s->first_squares);
			if (shape->second_weight > 0)
				cells[next++] = spread_of(shape->second_weight,
										  shape->second_width, s->second,
										  s->second_squares);
			break;
	}
}
