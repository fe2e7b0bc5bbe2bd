/*
 * bench_mech.c
 *	  Cost of a draw: nanoseconds of processor time and random bytes, on
 *	  OpenSSL's source.  A bench, not a test: it prints and judges nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dp_numbers.h"
#include "dp_noise.h"

#define REPEATS 7

static size_t bytes_filled;

static bool
counting_fill(void *state, void *out, size_t n)
{
	bytes_filled += n;
	return dp_noise_fill_openssl(state, out, n);
}

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double) ts.tv_sec * 1e9 + (double) ts.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
bench_laplace(dp_source *source, const char *label, dp_uint128 sensitivity,
			  dp_uint128 num, dp_uint128 den, bool wide, int draws)
{
	const dp_rational epsilon = {num, den};
	double		cost[REPEATS];
	dp_scale	scale;
	dp_int128	x;
	double		start;
	size_t		bytes;
	int			r;
	int			i;

	if (dp_noise_scale_make(sensitivity, &epsilon, &scale) != DP_OK)
		exit(2);
	if (wide)
		scale.narrow = false;
	bytes = bytes_filled;
	for (r = 0; r < REPEATS; r++)
	{
		start = now();
		for (i = 0; i < draws; i++)
			if (dp_noise_discrete_laplace(source, &scale, &x) != DP_OK)
				exit(2);
		cost[r] = (now() - start) / draws;
	}
	bytes = bytes_filled - bytes;
	qsort(cost, REPEATS, sizeof(cost[0]), compare);
	printf("discrete_laplace  scale %-10s %-6s %8.1f ns (%.1f .. %.1f), "
		   "%.1f bytes\n", label, scale.narrow ? "128" : "bignum",
		   cost[REPEATS / 2], cost[0], cost[REPEATS - 1],
		   (double) bytes / ((double) draws * REPEATS));
}

int
main(void)
{
	const dp_rational third = {1, 3};
	static dp_source source;
	double		start;
	uint64_t	u;
	bool		coin;
	int			i;

	dp_noise_source_init(&source, counting_fill, NULL);
	bench_laplace(&source, "1", 1, 1, 1, false, 500000);
	bench_laplace(&source, "10/3", 1, 3, 10, false, 500000);
	bench_laplace(&source, "10", 1, 1, 10, false, 500000);
	bench_laplace(&source, "1000", 1, 1, 1000, false, 500000);
	bench_laplace(&source, "2^40", (dp_uint128) 1 << 40, 1, 1, false, 500000);
	bench_laplace(&source, "2^80", (dp_uint128) 1 << 80, 1, 1, false, 200000);
	bench_laplace(&source, "10", 1, 1, 10, true, 50000);
	bench_laplace(&source, "2^110", (dp_uint128) 1 << 110, 1, 1, false, 50000);
	start = now();
	for (i = 0; i < 2000000; i++)
		if (dp_noise_uniform_below(&source, 1000, &u) != DP_OK)
			exit(2);
	printf("uniform_below     n 1000                  %8.1f ns\n",
		   (now() - start) / 2000000);
	start = now();
	for (i = 0; i < 2000000; i++)
		if (dp_noise_bernoulli_exp(&source, &third, &coin) != DP_OK)
			exit(2);
	printf("bernoulli_exp     gamma 1/3               %8.1f ns\n",
		   (now() - start) / 2000000);
	return 0;
}
