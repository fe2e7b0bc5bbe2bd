/*
 * judge_mechanism.h
 *	  Judges released values of Gaussian noise, of selections and of
 *	  variances, for `judge`.
 *
 *	judge gaussian SIGMA EXPONENT
 *		lines "released true": (released - true) / 2^EXPONENT follows the
 *		discrete Gaussian law of variance SIGMA^2; prints n, p and `off`
 *	judge choice FILE
 *		lines of names: chi-square against FILE's lines "name probability";
 *		p = 0 for a name that is not there
 *	judge variance WIDTH ROWS SUM SQUARES INVERSE ROOT
 *		lines of sample variances (ROOT 1: of their roots) of ROWS integers
 *		from 0 to WIDTH with this sum and sum of squares, by three sums with
 *		noise of scale 1/INVERSE: against 10^6 simulated ones; an INVERSE of
 *		g12.5 stands for Gaussian noise with sigma 12.5
 *	judge pair WHAT INVERSE WEIGHT SUM ...
 *		lines of what dp_WHAT makes of six sums, in shares of the bounds, with
 *		noise of scale 1/INVERSE rows in each, in the last two divided by
 *		WEIGHT: against 10^6 simulated ones; NULL is -9
 */
#ifndef STAT_JUDGE_MECHANISM_H
#define STAT_JUDGE_MECHANISM_H

#include <math.h>

#include "chisq.h"
#include "lines.h"

#define SIMULATIONS 1000000
#define GAUSSIAN_CELLS 128
#define SUMMED 4096				/* sigma below which masses are summed up */
#define CHOICES_MAX 256
#define VARIANCE_CELLS 64

/* ---- Gaussian noise ---- */

/* P[left <= X < right] up to a factor, integers. */
static inline double
gaussian_mass(double left, double right, double sigma)
{
	double		mass = 0;
	double		x;

	left = fmax(left, -40 * sigma - 2);
	right = fmin(right, 40 * sigma + 2);
	if (sigma >= SUMMED)
	{
		/* midpoints: off by less than 1/(24 sigma^2), 3e-9 */
		left = (left - 0.5) / sigma * M_SQRT1_2;
		right = (right - 0.5) / sigma * M_SQRT1_2;
		return left > 0 ? (erfc(left) - erfc(right)) / 2 :
			(erfc(-right) - erfc(-left)) / 2;
	}
	for (x = ceil(left); x < right; x++)
		mass += exp(-x * x / (2 * sigma * sigma));
	return mass;
}

/* p-value of integer noises, some of which may be off the grid. */
static inline double
gaussian_p(const double *noise, int n, double sigma)
{
	double		edge[GAUSSIAN_CELLS + 1];
	double		observed[GAUSSIAN_CELLS] = {0};
	double		expected[GAUSSIAN_CELLS];
	double		total = 0;
	int			cells = GAUSSIAN_CELLS;
	int			i;
	int			k;

	/* cells of equal width from -4 sigma to 4 sigma, of whole numbers */
	while (8 * sigma / (cells - 2) < 1)
		cells--;
	for (i = 1; i < cells; i++)
		edge[i] = ceil(sigma * (-4 + 8. * (i - 1) / (cells - 2)));
	edge[0] = -INFINITY;
	edge[cells] = INFINITY;
	for (i = 0; i < n; i++)
	{
		if (noise[i] != rint(noise[i]))
			return 0;
		for (k = 0; noise[i] >= edge[k + 1]; k++)
			;
		observed[k]++;
	}
	for (i = 0; i < cells; i++)
		total += expected[i] = gaussian_mass(edge[i], edge[i + 1], sigma);
	for (i = 0; i < cells; i++)
		expected[i] *= n / total;
	return dp_chisq_test(observed, expected, cells).p;
}

static inline int
judge_gaussian(char **argument)
{
	double		sigma = fraction(argument[0]);
	int			exponent = atoi(argument[1]);
	double	   *pair;
	double	   *noise;
	int			off = 0;
	int			n;
	int			i;

	pair = read_all(2, &n);
	noise = malloc(sizeof(double) * (size_t) (n + 1));
	if (noise == NULL)
		fail("out of memory");
	for (i = 0; i < n; i++)
	{
		noise[i] = ldexp(pair[2 * i], -exponent);
		off += noise[i] != rint(noise[i]);
		noise[i] -= ldexp(pair[2 * i + 1], -exponent);
	}
	printf("n=%d off=%d p=%.3g\n", n, off, gaussian_p(noise, n, sigma));
	return 0;
}

/* ---- selections ---- */

static inline int
judge_choice(char **argument)
{
	static char name[CHOICES_MAX][64];
	double		observed[CHOICES_MAX] = {0};
	double		expected[CHOICES_MAX];
	FILE	   *file = fopen(argument[0], "r");
	char		line[1024];
	int			names = 0;
	int			strangers = 0;
	int			n = 0;
	int			i;

	if (file == NULL)
		fail("cannot read the law");
	while (names < CHOICES_MAX &&
		   fscanf(file, "%63s %lf", name[names], &expected[names]) == 2)
		names++;
	fclose(file);
	while (fgets(line, (int) sizeof(line), stdin) != NULL)
	{
		line[strcspn(line, "\n")] = '\0';
		for (i = 0; i < names && strcmp(line, name[i]) != 0; i++)
			;
		if (i < names)
			observed[i]++;
		else
			strangers++;
		n++;
	}
	for (i = 0; i < names; i++)
		expected[i] *= n;
	printf("n=%d strangers=%d p=%.3g\n", n, strangers,
		   strangers > 0 ? 0 : dp_chisq_test(observed, expected, names).p);
	return 0;
}

/* ---- simulation ---- */

/* A geometric variable by inversion, from the C library, no code of ours. */
static inline double
simulated_geometric(double inverse)
{
	return floor(-log1p(-drand48()) / inverse);
}

/* Two samples of sizes n and m in cells: chi-square of one common law. */
static inline double
homogeneity_p(const double *x, double n, const double *y, double m, int cells)
{
	double		statistic = 0;
	double		seen_x = 0;
	double		seen_y = 0;
	int			freedom = -1;
	int			i;

	for (i = 0; i < cells; i++)
	{
		seen_x += x[i];
		seen_y += y[i];
		if (seen_x + seen_y < DP_CHISQ_MINIMUM * (n + m) / fmin(n, m) &&
			i < cells - 1)
			continue;
		if (seen_x + seen_y > 0)
		{
			double		difference = m * seen_x - n * seen_y;

			statistic += difference * difference / (n * m * (seen_x + seen_y));
			freedom++;
		}
		seen_x = seen_y = 0;
	}
	return dp_chisq_p(statistic, freedom);
}

/* Seeds drand48. */
static inline void
simulation_begin(void)
{
	unsigned short seed[3];
	dp_source	random;

	dp_noise_source_init(&random, dp_noise_fill_openssl, NULL);
	if (dp_noise_random_bytes(&random, seed, sizeof(seed)) != DP_OK)
		fail("no randomness");
	seed48(seed);
}

/* 1/20 for Laplace noise of scale 20; g20, -20 here, for Gaussian noise. */
static inline double
noise_width(const char *text)
{
	return *text == 'g' ? -fraction(text + 1) : fraction(text);
}

/*
 * The difference of two geometric variables is discrete Laplace; a normal
 * variable of sigma >= 8, rounded, is discrete Gaussian to 2e-3 / sigma^2.
 */
static inline double
simulated_noise(double width)
{
	if (width > 0)
		return simulated_geometric(width) - simulated_geometric(width);
	return rint(-width * sqrt(-2 * log1p(-drand48())) *
				cos(2 * M_PI * drand48()));
}

static inline int
compare_numbers(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y ? 1 : 0;
}

/*
 * The sample variance that three noisy sums tell: below of (G - k)^2, middle
 * of 2 k (G - k), squares of k^2.  The factor n/(n - 1) is left out for
 * n <= 1.  Clamped to [0, G^2/2], the most that two or more values of 0 .. G
 * can have; G^2/12 for n <= 0.
 */
static inline double
variance_of_sums(double width, double below, double middle, double squares)
{
	double		n = (below + middle + squares) / (width * width);
	double		mean;
	double		variance;

	if (n <= 0)
		return width * width / 12;	/* for NULL */
	mean = (middle / 2 + squares) / width / n;
	variance = fmax(squares / n - mean * mean, 0);
	if (n > 1)
		variance *= n / (n - 1);
	return fmin(variance, width * width / 2);
}

/* A little more than x: beyond what is x but for rounding. */
static inline double
after(double x)
{
	return x + fabs(x) * 1e-8 + 1e-11;
}

/*
 * Lines of released numbers (root: of roots of numbers, positive: none is
 * negative) against simulated ones.
 */
static inline int
judge_alike(double *simulated, bool root, bool positive)
{
	double		count[2][VARIANCE_CELLS] = {{0}};
	double		edge[VARIANCE_CELLS];
	double	   *released;
	int			negative = 0;
	int			n;
	int			i;
	int			k;

	qsort(simulated, SIMULATIONS, sizeof(double), compare_numbers);

	/* right ends of cells; equal values, but for rounding, share a cell */
	for (k = 0; k < VARIANCE_CELLS; k++)
		edge[k] = k == VARIANCE_CELLS - 1 ? INFINITY :
			after(simulated[(k + 1) * (SIMULATIONS / VARIANCE_CELLS)]);
	released = read_all(1, &n);
	for (i = 0; i < n; i++)
	{
		double		x = root ? released[i] * released[i] : released[i];

		negative += positive && !(released[i] >= 0);
		for (k = 0; !(x <= edge[k]) && k < VARIANCE_CELLS - 1; k++)
			;
		count[0][k]++;
	}
	for (i = 0; i < SIMULATIONS; i++)
	{
		for (k = 0; !(simulated[i] <= edge[k]); k++)
			;
		count[1][k]++;
	}
	printf("n=%d negative=%d p=%.3g\n", n, negative,
		   negative > 0 ? 0 :
		   homogeneity_p(count[0], n, count[1], SIMULATIONS, VARIANCE_CELLS));
	return 0;
}

static inline int
judge_variance(char **argument)
{
	double		width = (double) number(argument[0]);
	double		rows = (double) number(argument[1]);
	double		sum = (double) number(argument[2]);
	double		squares = (double) number(argument[3]);
	double		noise = noise_width(argument[4]);
	bool		root = atoi(argument[5]) == 1;
	double	   *simulated = malloc(sizeof(double) * SIMULATIONS);
	int			i;

	if (simulated == NULL)
		fail("out of memory");
	simulation_begin();
	for (i = 0; i < SIMULATIONS; i++)
	{
		double		below = rows * width * width - 2 * width * sum + squares;
		double		middle = 2 * (width * sum - squares);

		below += simulated_noise(noise);
		middle += simulated_noise(noise);
		simulated[i] = variance_of_sums(width, below, middle, squares +
										simulated_noise(noise));
	}
	return judge_alike(simulated, root, true);
}

/*
 * What dp_covar_pop and the like make of noisy sums, in shares of the bounds:
 * products of p and q, p and 1 - q, 1 - p and q, 1 - p and 1 - q, then p (1 -
 * p) and q (1 - q); -9 for NULL.
 */
static inline double
pair_of_sums(const char *what, const double *s)
{
	double		n = s[0] + s[1] + s[2] + s[3];
	double		p = (s[0] + s[1]) / n;
	double		q = (s[0] + s[2]) / n;
	double		covariance = (s[0] * s[3] - s[1] * s[2]) / n / n;
	double		x = p * (1 - p) - s[4] / n;
	double		y = q * (1 - q) - s[5] / n;

	if (n <= 0)
		return -9;
	if (strcmp(what, "covar_pop") == 0)
		return fmax(fmin(covariance, 0.25), -0.25);
	if (strcmp(what, "regr_sxy") == 0)
		return fmax(fmin(covariance, 0.25), -0.25) * n;
	if (strcmp(what, "corr") == 0)
		return x <= 0 || y <= 0 ? -9 :
			fmax(fmin(covariance / sqrt(x * y), 1), -1);
	if (strcmp(what, "regr_slope") == 0)
		return x <= 0 ? -9 : covariance / x;
	if (strcmp(what, "regr_intercept") == 0)
		return x <= 0 ? -9 : fmax(fmin(q, 1), 0) -
			covariance / x * fmax(fmin(p, 1), 0);
	fail("no such value of pairs");
	return 0;
}

/* Parts of a row that noise is a multiple of, in simulations. */
#define FINE 1048576

static inline int
judge_pair(char **argument)
{
	double	   *simulated = malloc(sizeof(double) * SIMULATIONS);
	double		noise = noise_width(argument[1]) / FINE;
	double		weight = fraction(argument[2]);
	int			i;
	int			k;

	if (simulated == NULL)
		fail("out of memory");
	if (noise < 0)
		noise *= (double) FINE * FINE;
	simulation_begin();
	for (i = 0; i < SIMULATIONS; i++)
	{
		double		sums[6];

		for (k = 0; k < 6; k++)
			sums[k] = fraction(argument[3 + k]) +
				simulated_noise(noise) / FINE / (k < 4 ? 1 : weight);
		simulated[i] = pair_of_sums(argument[0], sums);
	}
	return judge_alike(simulated, false, false);
}

#endif							/* STAT_JUDGE_MECHANISM_H */
