/*
 * bench_model_smalldb.c
 *	  SmallDB with 17.4 million candidates (|X| = 16, m = 12, 100 queries):
 *	  candidates times queries per second, beside a plain loop that only
 *	  reads the same incremental sums, and on two threads.
 *
 * The plain loop maintains the same sums in the same order and, for each
 * candidate, adds up the numbers it would have to look at.  Best of REPEATS,
 * by the clock, since threads are measured.  With the argument "judge" it
 * exits with 1 when scoring reaches less than a third of reading, or two
 * threads less than 1.7 times one.
 */
#include <time.h>
#include <unistd.h>

#include "model_smalldb.h"

#define CELLS 16
#define SIZE 12
#define QUERIES 100
#define LANES 112				/* QUERIES, rounded up */
#define REPEATS 7
#define LEAST_SHARE (1 / 3.0)
#define LEAST_SCALING 1.7

static volatile int sink;

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static inline int
read_sums(const int16_t *restrict sums)
{
	int16_t		total = 0;
	int			i;

	for (i = 0; i < LANES; i++)
		total = (int16_t) (total + sums[i]);
	return total;
}

/* Every multiset from the cell on, with `left` places to fill. */
static int
visit(const int16_t (*steps)[LANES], int16_t (*sums)[LANES], int place,
	  int cell)
{
	int			total = 0;
	int			i;

	for (; cell < CELLS; cell++)
	{
		if (place == SIZE - 1)
		{
			total += read_sums(sums[place]);
			continue;
		}
		for (i = 0; i < LANES; i++)
			sums[place + 1][i] = (int16_t) (sums[place][i] - steps[cell][i]);
		total += visit(steps, sums, place + 1, cell);
	}
	return total;
}

/* Seconds of the plain loop. */
static double
plain(const selection *s)
{
	static int16_t steps[CELLS][LANES];
	static int16_t sums[SIZE][LANES];
	double		best = 1e9;
	double		start;
	int			i;
	int			f;

	for (i = 0; i < CELLS; i++)
		for (f = 0; f < QUERIES; f++)
			steps[i][f] = s->weights[f * CELLS + i] ? 201 : 0;
	for (f = 0; f < QUERIES; f++)
		sums[0][f] = (int16_t) (f * 24);
	for (i = 0; i < REPEATS; i++)
	{
		start = now();
		sink = visit(steps, sums, 0, 0);
		start = now() - start;
		best = start < best ? start : best;
	}
	return best;
}

/* Seconds of the first scan. */
static double
scored(selection *s, int workers)
{
	double		best = 1e9;
	double		start;
	int			i;

	s->nworkers = workers;
	for (i = 0; i < REPEATS; i++)
	{
		selection_make(s);
		start = now();
		selection_scan(s, DP_SMALLDB_HISTOGRAM, 0);
		start = now() - start;
		best = start < best ? start : best;
	}
	return best;
}

int
main(int argc, char **argv)
{
	const dp_rational rate = {1, 24};
	static dp_source source;
	selection	s;
	double		work;
	double		read;
	double		one;
	double		two;
	double		start;
	uint64_t	place;

	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	selection_open(&s, CELLS, QUERIES, SIZE, 48842, 1);
	work = (double) s.shape.candidates * QUERIES;
	read = plain(&s);
	one = scored(&s, 1);
	two = scored(&s, 2);
	start = now();
	if (!selection_run(&s, &source, &rate, &place))
		return 2;
	start = now() - start;
	printf("smalldb  %.0f candidates, %d queries, per second:\n",
		   (double) s.shape.candidates, QUERIES);
	printf("  sums only read    %6.2f 10^9\n", work / read * 1e-9);
	printf("  scored            %6.2f 10^9  (%.2f of reading)\n",
		   work / one * 1e-9, read / one);
	printf("  on two threads    %6.2f 10^9  (%.2f times one)\n",
		   work / two * 1e-9, one / two);
	printf("  a whole selection %6.2f s on two threads\n", start);
	selection_close(&s);
	if (argc < 2 || strcmp(argv[1], "judge") != 0)
		return 0;
	return read / one < LEAST_SHARE ||
		(sysconf(_SC_NPROCESSORS_ONLN) > 1 && one / two < LEAST_SCALING);
}
