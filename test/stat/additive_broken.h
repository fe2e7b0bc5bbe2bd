/*
 * additive_broken.h
 *	  Additive noise and key decisions, sound and the way implementations are
 *	  known to get them wrong.
 *
 * Values are in granules.  Each draw releases one value, or two cells.
 */
#ifndef STAT_ADDITIVE_BROKEN_H
#define STAT_ADDITIVE_BROKEN_H

#include "subject.h"

typedef struct additive
{
	double		value[2];		/* true values; the second one of two cells */
	dp_scale	scale;			/* Laplace */
	dp_gaussian gaussian;		/* Gaussian */
	dp_int128	bound;			/* of truncated noise: told iff above it */
} additive;

static inline dp_rational
rational_of(uint64_t num, uint64_t den)
{
	dp_rational r;

	subject_check(dp_numbers_rational_make(num, den, &r));
	return r;
}

/* A value under noise of that scale or, if Gaussian, variance. */
static inline additive
additive_of(double value, bool gaussian, dp_rational width)
{
	additive	a = {.value = {value, 0}};
	dp_rational inverse = {width.den, width.num};

	if (gaussian)
		subject_check(dp_noise_gaussian_make(&width, &a.gaussian));
	else
		subject_check(dp_noise_scale_make(1, &inverse, &a.scale));
	return a;
}

static inline additive
laplace_of(double value, uint64_t num, uint64_t den)
{
	return additive_of(value, false, rational_of(num, den));
}

static inline additive
gaussian_of(double value, uint64_t num, uint64_t den)
{
	return additive_of(value, true, rational_of(num, den));
}

static inline double
laplace_noise(const additive *a)
{
	dp_int128	x;

	subject_check(dp_noise_discrete_laplace(&source, &a->scale, &x));
	return (double) x;
}

static inline double
gaussian_noise(const additive *a)
{
	dp_int128	x;

	subject_check(dp_noise_discrete_gaussian(&source, &a->gaussian, &x));
	return (double) x;
}

/* In (0, 1). */
static inline double
uniform_open(void)
{
	uint64_t	value;

	subject_check(dp_noise_uniform_below(&source, UINT64_C(1) << 52, &value));
	return ((double) value + 0.5) * 0x1p-52;
}

static inline double
float_laplace_noise(const additive *a)
{
	double		x = -log(uniform_open()) * dp_noise_scale_approx(&a->scale);

	return uniform_open() < 0.5 ? -x : x;
}

/* Box and Muller. */
static inline double
float_gaussian_noise(const additive *a)
{
	double		sigma = sqrt((double) a->gaussian.variance.num /
							 (double) a->gaussian.variance.den);

	return sigma * sqrt(-2 * log(uniform_open())) *
		cos(2 * M_PI * uniform_open());
}

/* ---- sound ---- */

static inline bool
draw_laplace(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + laplace_noise(a);
	return true;
}

static inline bool
draw_gaussian(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + gaussian_noise(a);
	return true;
}

static inline bool
draw_gaussian_cells(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + gaussian_noise(a);
	out[1] = a->value[1] + gaussian_noise(a);
	return true;
}

#define NOT_TOLD 0.0
#define TOLD 1.0

/* Is a key of n units told? */
static inline bool
draw_key(void *state, double *out)
{
	const additive *a = state;
	dp_key_law	rule = {a->scale, (uint64_t) a->bound, 0};
	bool		told;

	subject_check(dp_noise_key_is_released(&source, &rule,
										   (uint64_t) a->value[0], &told));
	out[0] = told ? TOLD : NOT_TOLD;
	return true;
}

/* And, if it is, how many units it has, with noise of the same scale. */
static inline bool
draw_key_count(void *state, double *out)
{
	const additive *a = state;

	draw_key(state, out);
	out[1] = out[0] == TOLD ? a->value[0] + laplace_noise(a) : 0;
	return true;
}

/* ---- Laplace ---- */

/* The coin of the sign is not tossed again for -0. */
static inline bool
broken_minus_zero(void *state, double *out)
{
	const additive *a = state;
	dp_int128	x;
	uint64_t	sign;

	subject_check(dp_noise_geometric(&source, &a->scale, &x));
	subject_check(dp_noise_uniform_below(&source, 2, &sign));
	out[0] = a->value[0] + (double) (sign ? -x : x);
	return true;
}

static inline bool
broken_one_sided_noise(void *state, double *out)
{
	const additive *a = state;
	dp_int128	x;

	subject_check(dp_noise_geometric(&source, &a->scale, &x));
	out[0] = a->value[0] + (double) x;
	return true;
}

static inline bool
broken_laplace_float(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + float_laplace_noise(a);
	return true;
}

static inline bool
broken_laplace_rounded(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + rint(float_laplace_noise(a));
	return true;
}

/* Noise beyond what is likely is cut. */
static inline bool
broken_laplace_clamped(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + fmax(-4, fmin(4, laplace_noise(a)));
	return true;
}

/* One noise, kept for the next time the same query comes. */
static inline bool
broken_laplace_cells_share(void *state, double *out)
{
	const additive *a = state;
	double		noise = laplace_noise(a);

	out[0] = a->value[0] + noise;
	out[1] = a->value[1] + noise;
	return true;
}

/* ---- Gaussian ---- */

static inline bool
broken_gaussian_float(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + float_gaussian_noise(a);
	return true;
}

static inline bool
broken_gaussian_rounded(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] + rint(float_gaussian_noise(a));
	return true;
}

/* Few uniforms are not normal in the tails. */
static inline bool
broken_gaussian_uniforms(void *state, double *out)
{
	const additive *a = state;
	double		sum = -1.5;
	int			i;

	for (i = 0; i < 3; i++)
		sum += uniform_open();
	out[0] = a->value[0] +
		rint(sum * sqrt(4 * (double) a->gaussian.variance.num /
						(double) a->gaussian.variance.den));
	return true;
}

static inline bool
broken_gaussian_cells_share(void *state, double *out)
{
	const additive *a = state;
	double		noise = gaussian_noise(a);

	out[0] = a->value[0] + noise;
	out[1] = a->value[1] + noise;
	return true;
}

/* The discrete Laplace proposal is returned whatever the coin says. */
static inline bool
broken_gaussian_proposal(void *state, double *out)
{
	const additive *a = state;
	dp_int128	x;

	subject_check(dp_noise_discrete_laplace(&source, &a->gaussian.proposal,
											&x));
	out[0] = a->value[0] + (double) x;
	return true;
}

/* ---- keys that nobody declared ---- */

/* Told iff n + x is above k, and there is a unit. */
static inline bool
tell(const additive *a, double x, double *out)
{
	out[0] = a->value[0] >= 1 && a->value[0] + x > (double) a->bound ?
		TOLD : NOT_TOLD;
	return true;
}

/* The noise of a key's decision. */
static inline double
truncated_noise(const additive *a)
{
	dp_int128	x;

	subject_check(dp_noise_truncated_laplace(&source, &a->scale, a->bound,
											 &x));
	return (double) x;
}

/* From k on, not above it. */
static inline bool
broken_key_threshold(void *state, double *out)
{
	const additive *a = state;

	return tell(a, truncated_noise(a) + 1, out);
}

static inline bool
broken_key_untruncated(void *state, double *out)
{
	const additive *a = state;

	return tell(a, laplace_noise(a), out);
}

static inline bool
broken_key_clamped(void *state, double *out)
{
	const additive *a = state;
	double		bound = (double) a->bound;

	return tell(a, fmax(-bound, fmin(bound, laplace_noise(a))), out);
}

/* The decision looks at the true number of units. */
static inline bool
broken_key_exact(void *state, double *out)
{
	const additive *a = state;

	out[0] = a->value[0] >= (double) a->bound ? TOLD : NOT_TOLD;
	return true;
}

/* A key that is not told is still listed, without a value. */
static inline bool
broken_key_listed(void *state, double *out)
{
	const additive *a = state;

	draw_key(state, out);
	if (out[0] == NOT_TOLD && a->value[0] >= 1)
		out[0] = TOLD + 1;
	return true;
}

/* The number of units has noise whether or not the key is told. */
static inline bool
broken_key_counted(void *state, double *out)
{
	const additive *a = state;

	draw_key(state, out);
	out[1] = a->value[0] >= 1 ? a->value[0] + laplace_noise(a) : 0;
	return true;
}

#endif							/* STAT_ADDITIVE_BROKEN_H */
