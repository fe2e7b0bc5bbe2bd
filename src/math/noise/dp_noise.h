/*
 * dp_noise.h
 *	  Public interface of noise: the random source, and exact samplers of the
 *	  laws that are proved private.
 */
#ifndef DP_NOISE_H
#define DP_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../numbers/dp_numbers.h"

/*
 * Aligned to 8 bytes only, because PostgreSQL's allocator promises no more;
 * the compiler must not assume 16 for values in allocated memory.
 */
typedef __int128 dp_int128 __attribute__((aligned(8)));

/* ---- random source (random.c) ---- */

#define DP_SOURCE_BUFFER 4096

/* Fills out[0..n) with uniform random bytes; false means failure. */
typedef bool (*dp_source_fill) (void *state, void *out, size_t n);

/*
 * A buffered source of random bytes.  The owner decides where the struct
 * lives; all fields are private to random.c.  A source must not be shared
 * between processes: see dp_noise_source_init.
 */
typedef struct dp_source
{
	dp_source_fill fill;
	void	   *state;
	void		(*pulse) (void);	/* or NULL */
	size_t		next;			/* first unconsumed byte of buffer */
	unsigned char buffer[DP_SOURCE_BUFFER];
} dp_source;

extern void dp_noise_source_init(dp_source *source, dp_source_fill fill,
								 void *state);
extern void dp_noise_source_pulse(dp_source *source, void (*pulse) (void));
extern void dp_noise_source_wipe(dp_source *source);
extern bool dp_noise_fill_openssl(void *state, void *out, size_t n);
extern dp_status dp_noise_random_bytes(dp_source *source, void *out, size_t n);
extern dp_status dp_noise_uniform_below(dp_source *source, uint64_t n,
										uint64_t *out);

/* ----
 * Bernoulli, geometric, discrete Laplace (bernoulli.c, geometric.c, laplace.c;
 * approx.c)
 * ----
 */

/*
 * The scale t/s of a geometric or discrete Laplace law, in lowest terms.
 * Both halves are unsigned integers of up to 256 bits, least significant limb
 * first; `narrow` says that the 128-bit path provably cannot overflow.
 */
typedef struct dp_scale
{
	uint64_t	t[4];
	uint64_t	s[4];
	bool		narrow;
} dp_scale;

extern dp_status dp_noise_scale_make(dp_uint128 sensitivity,
									 const dp_rational *epsilon,
									 dp_scale *out);
extern dp_status dp_noise_bernoulli_exp(dp_source *source,
										const dp_rational *gamma, bool *out);
extern dp_status dp_noise_geometric(dp_source *source, const dp_scale *scale,
									dp_int128 *out);
extern dp_status dp_noise_discrete_laplace(dp_source *source,
										   const dp_scale *scale,
										   dp_int128 *out);

extern dp_status dp_noise_truncated_laplace(dp_source *source,
											const dp_scale *scale,
											dp_int128 bound, dp_int128 *out);

/*
 * For display and public limits: floating point, never on a sampled value's
 * path.
 */
extern double dp_noise_scale_approx(const dp_scale *scale);
extern double dp_noise_laplace_error(const dp_scale *scale, double beta);

/* ---- undeclared group keys (laplace.c, approx.c) ---- */

/*
 * A key with n units is released iff n >= 1, n + X > threshold and n + X >=
 * least.
 */
typedef struct dp_key_law
{
	dp_scale	scale;			/* of X; |X| <= threshold */
	uint64_t	threshold;
	uint64_t	least;			/* 0 unless the caller sets it, below 2^62 */
} dp_key_law;

extern dp_status dp_noise_key_law_make(const dp_rational *epsilon,
									   const dp_rational *delta,
									   uint64_t changes, dp_key_law *out);
extern dp_status dp_noise_key_is_released(dp_source *source,
										  const dp_key_law *law,
										  uint64_t n, bool *told);
extern double dp_noise_key_chance(const dp_key_law *law, uint64_t n);
extern uint64_t dp_noise_key_certain(const dp_key_law *law);
extern uint64_t dp_noise_key_units(const dp_key_law *law, double chance);

/* ---- discrete Gaussian (discrete_gaussian.c) ---- */

/*
 * The law of variance parameter sigma^2.  All fields are private to
 * discrete_gaussian.c but `narrow`: it says that the denominator of the
 * acceptance odds fits 128 bits.
 */
typedef struct dp_gaussian
{
	dp_rational variance;
	dp_scale	proposal;		/* t/1 */
	dp_uint128	t;
	dp_uint128	ct;				/* narrow only */
	dp_uint128	den;			/* 2 a c t^2, narrow only */
	bool		narrow;
} dp_gaussian;

extern dp_status dp_noise_gaussian_make(const dp_rational *variance,
										dp_gaussian *out);
extern dp_status dp_noise_discrete_gaussian(dp_source *source,
											const dp_gaussian *gaussian,
											dp_int128 *out);

/* ---- randomized response (randomized_response.c) ---- */

extern dp_status dp_noise_randomized_response(dp_source *source,
											  const dp_rational *epsilon,
											  bool truth, bool *out);
extern dp_status dp_noise_two_coins(dp_source *source, bool truth, bool *out);
extern dp_status dp_noise_randomized_response_among(dp_source *source,
													const dp_rational *epsilon,
													uint64_t truth,
													uint64_t candidates,
													uint64_t *out);

/* ---- selection (selection.c, envelope.c) ---- */

typedef enum dp_noise
{
	DP_NOISE_LAPLACE,			/* discrete Laplace */
	DP_NOISE_GEOMETRIC			/* one-sided geometric */
} dp_noise;

/* Most 64-bit limbs of one multiplicity in dp_noise_envelope. */
#define DP_ENVELOPE_WIDTH 16
#define DP_ENVELOPE_BITS 128	/* of a gap between scores */

/*
 * A rate prepared for dp_noise_envelope: bounds of exp(-rate 2^j).  All fields
 * are private to envelope.c.
 */
typedef struct dp_envelope
{
	dp_rational rate;
	size_t		width;
	unsigned	limbs;
	unsigned	entries;
	uint64_t	slack;
	uint64_t	table[DP_ENVELOPE_BITS][DP_ENVELOPE_WIDTH + 2];
} dp_envelope;

extern dp_status dp_noise_selection_rate(const dp_rational *epsilon,
										 dp_uint128 sensitivity, bool monotone,
										 dp_rational *out);
extern dp_status dp_noise_exponential(dp_source *source,
									  const dp_int128 *scores, size_t n,
									  const dp_rational *rate, size_t *out);
extern dp_status dp_noise_permute_and_flip(dp_source *source,
										   const dp_int128 *scores, size_t n,
										   const dp_rational *rate,
										   size_t *order, size_t *out);
extern dp_status dp_noise_noisy_max(dp_source *source,
									const dp_int128 *scores, size_t n,
									const dp_scale *scale, dp_noise noise,
									size_t *out);
extern dp_status dp_noise_envelope_make(const dp_rational *rate, size_t width,
										dp_envelope *out);
extern dp_status dp_noise_envelope(dp_source *source, const dp_envelope *law,
								   const dp_int128 *scores,
								   const uint64_t *counts, size_t n,
								   size_t *out, uint64_t *rank);

/* ---- quantiles (quantile.c) ---- */

/*
 * Rows by grid point: entry j of n is counts[j] rows at values[j], or, when
 * counts is NULL, counts32[j] of them.  Values ascend, equal ones may follow
 * each other, counts may be 0.
 */
typedef struct dp_ranked_rows
{
	const int64_t *values;		/* NULL: entry j is at low + j */
	const uint64_t *counts;
	const uint32_t *counts32;
	size_t		n;
} dp_ranked_rows;

extern dp_status dp_noise_quantile_sensitivity(dp_uint128 a, dp_uint128 d,
											   uint64_t rows_of_unit,
											   bool replace, dp_uint128 *out);
extern dp_status dp_noise_quantile(dp_source *source, const dp_envelope *law,
								   const dp_ranked_rows *ranked,
								   int64_t low, int64_t high,
								   dp_uint128 a, dp_uint128 d, int64_t *out);
extern dp_status dp_noise_extreme(dp_source *source, const dp_envelope *law,
								  const dp_ranked_rows *ranked,
								  int64_t low, int64_t high, dp_uint128 rank,
								  dp_uint128 d, bool greatest, int64_t *out);

/* ---- sparse vector (sparse_noise.c) ---- */

/*
 * Noise of one sparse vector mechanism.  One-sided geometric noise by default
 * (doc/theory.md), discrete Laplace in the book's algorithms.
 */
typedef struct dp_threshold_law
{
	bool		two_sided;		/* discrete Laplace for threshold and query */
	bool		numeric;		/* "above" comes with a noisy answer */
	dp_scale	threshold;
	dp_scale	query;
	dp_scale	answer;			/* discrete Laplace; numeric only */
} dp_threshold_law;

extern dp_status dp_noise_threshold_arm(dp_source *source,
										const dp_threshold_law *law,
										dp_int128 threshold, dp_int128 *armed);
extern dp_status dp_noise_threshold_test(dp_source *source,
										 const dp_threshold_law *law,
										 dp_int128 armed, dp_int128 value,
										 bool *above);
extern dp_status dp_noise_threshold_answer(dp_source *source,
										   const dp_threshold_law *law,
										   dp_int128 value, dp_int128 *answer);

/* ---- pairs of numbers (pair.c) ---- */

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

extern void dp_noise_pair_make(dp_pair_kind kind, int64_t width,
							   int64_t second_width, int spread,
							   int second_spread, dp_pair_shape *out);
extern dp_uint128 dp_noise_pair_l1(const dp_pair_shape *shape);
extern void dp_noise_pair_cells(const dp_pair_shape *shape,
								const dp_pair_sums *sums, dp_int128 *cells);

#endif							/* DP_NOISE_H */
