/*
 * judge.c
 *	  Judges released values that a test feeds to standard input.
 *
 *	judge laplace INVERSE EXPONENT
 *		lines "released true": (released - true) / 2^EXPONENT follows the
 *		discrete Laplace law of scale 1/INVERSE; prints n, p and `off`, how
 *		many are no multiples of the granule
 *	judge exact EXPONENT SLACK
 *		the same lines; prints n and `worst`, the largest |released - true| in
 *		granules, above SLACK: `bad`, how many
 *	judge mean LOWER UPPER A B INVERSE
 *		lines of means with true sums A and B: the exact law, see mean_law.h
 *	judge simulated LOWER UPPER A B INVERSE
 *		the same on grids too fine for that: against 10^6 simulated means;
 *		an INVERSE of g12.5 stands for Gaussian noise with sigma 12.5
 *	judge gaussian, judge choice, judge variance, judge pair
 *		see judge_mechanism.h
 *	judge lags INVERSE LAG ...
 *		lines of noises: smallest p of independence over these lags
 *	judge dependence INVERSE INVERSE
 *		lines of two noises
 *	judge collide INVERSE
 *		lines of integer noises: prints n, `twice`, and the rate
 *	judge maxima INVERSE EPSILON K BETA
 *		lines of noises in blocks of K: how many blocks have a noise of at
 *		least ln(K / BETA) / EPSILON (T3.8), against the exact probability
 *	judge exceed INVERSE ERROR
 *		lines of noises: how many exceed ERROR, against the exact probability
 *	judge exceedmean LOWER UPPER A B INVERSE ERROR
 *		the same for lines of means
 *	judge loss NUMBERS CENTRE_A CENTRE_B STEP [DELTA]
 *		lines "input a [b]", input 0 or 1: prints the `bound` of loss.h
 *
 * INVERSE is a fraction such as 1/20.  The answer is one line of
 * "name=value" pairs.  Malformed input ends with status 2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "independent.h"
#include "interval.h"
#include "judge_mechanism.h"
#include "lines.h"
#include "loss.h"
#include "mean_law.h"
#include "mech_law.h"

/* ---- noise against its law ---- */

typedef struct noise_list
{
	double	   *noise;
	int			next;
} noise_list;

static bool
next_noise(void *state, double *out)
{
	noise_list *list = state;

	*out = list->noise[list->next++];
	return true;
}

static int
judge_laplace(char **argument)
{
	double		inverse = fraction(argument[0]);
	int			exponent = atoi(argument[1]);
	size_t		capacity = 1024;
	double	   *noise = malloc(capacity * sizeof(double));
	noise_list	list;
	char		line[1024];
	char	   *field[2];
	double		released;
	double		granules;
	char	   *end;
	int			off = 0;
	int			n = 0;

	while (noise != NULL && next_line(line, sizeof(line), field, 2))
	{
		/* the server prints the shortest text that reads as its double */
		released = strtod(field[0], &end);
		if (*end != '\0')
			fail("not a number");
		granules = ldexp(released, -exponent);
		if ((size_t) n == capacity)
			noise = realloc(noise, (capacity *= 2) * sizeof(double));
		if (noise == NULL)
			break;
		if (granules != rint(granules))
			off++;
		noise[n++] = granules -
			(double) ldexpl(number(field[1]), -exponent);
	}
	if (noise == NULL)
		fail("out of memory");
	list.noise = noise;
	list.next = 0;
	printf("n=%d off=%d p=%.3g\n", n, off,
		   law_laplace(next_noise, &list, 0, inverse, n));
	return 0;
}

static int
judge_exact(char **argument)
{
	int			exponent = atoi(argument[0]);
	long double slack = number(argument[1]);
	long double worst = 0;
	long double distance;
	long double x[2];
	int			bad = 0;
	int			n = 0;

	while (next_numbers(x, 2))
	{
		distance = fabsl(ldexpl(x[0] - x[1], -exponent));
		if (!(distance <= slack))
			bad++;
		if (!(distance <= worst))
			worst = distance;
		n++;
	}
	printf("n=%d bad=%d worst=%.6Lg\n", n, bad, worst);
	return 0;
}

static int
judge_exceed(char **argument)
{
	double		inverse = fraction(argument[0]);
	double		error = (double) number(argument[1]);
	int			n;
	double	   *noise = read_all(1, &n);
	double		exact;
	int			beyond = 0;
	int			i;

	for (i = 0; i < n; i++)
		beyond += fabs(noise[i]) > error;
	exact = 2 * exp(-(floor(error) + 1) * inverse) / (1 + exp(-inverse));
	printf("n=%d beyond=%d exact=%.6g p=%.3g\n", n, beyond, exact,
		   binomial_p(n, exact, beyond));
	return 0;
}

static int
judge_maxima(char **argument)
{
	double		inverse = fraction(argument[0]);
	double		epsilon = fraction(argument[1]);
	int			k = atoi(argument[2]);
	double		beta = fraction(argument[3]);
	double		bound = log(k / beta) / epsilon;
	double		exact = 2 * exp(-ceil(bound) * inverse) / (1 + exp(-inverse));
	int			n;
	double	   *noise = read_all(1, &n);
	int			blocks = n / k;
	int			beyond = 0;
	int			i;
	int			j;

	for (i = 0; i < blocks; i++)
	{
		for (j = 0; j < k; j++)
			if (fabs(noise[i * k + j]) >= bound)
				break;
		beyond += j < k;
	}
	exact = -expm1(k * log1p(-exact));
	printf("n=%d blocks=%d beyond=%d exact=%.6g beta=%.6g p=%.3g\n", n,
		   blocks, beyond, exact, beta, binomial_p(blocks, exact, beyond));
	return 0;
}

/* ---- means ---- */

typedef struct mean_case
{
	double		lower;
	double		upper;
	double		a;
	double		b;
	double		inverse;
} mean_case;

static mean_case
read_mean_case(char **argument)
{
	mean_case	c;

	c.lower = (double) number(argument[0]);
	c.upper = (double) number(argument[1]);
	c.a = (double) number(argument[2]);
	c.b = (double) number(argument[3]);
	c.inverse = noise_width(argument[4]);
	return c;
}

static int
read_means(const mean_case *c, double *observed, int *outside)
{
	long double x;
	int			n = 0;

	memset(observed, 0, MEAN_ALL * sizeof(double));
	*outside = 0;
	while (next_numbers(&x, 1))
	{
		if (!(x >= c->lower && x <= c->upper))
			(*outside)++;
		observed[mean_cell((double) ((x - c->lower) /
									 (c->upper - c->lower)))]++;
		n++;
	}
	return n;
}

static int
judge_mean(char **argument)
{
	mean_case	c = read_mean_case(argument);
	double		observed[MEAN_ALL];
	double		law[MEAN_ALL];
	int			outside;
	int			n = read_means(&c, observed, &outside);

	mean_law_exact(c.a, c.b, c.inverse, law);
	printf("n=%d outside=%d p=%.3g\n", n, outside,
		   mean_law_p(observed, law));
	return 0;
}

static int
judge_simulated(char **argument)
{
	mean_case	c = read_mean_case(argument);
	double		observed[MEAN_ALL];
	double		simulated[MEAN_ALL] = {0};
	int			outside;
	int			n = read_means(&c, observed, &outside);
	int			i;

	simulation_begin();
	for (i = 0; i < SIMULATIONS; i++)
	{
		double		a = c.a;
		double		b = c.b;

		a += simulated_noise(c.inverse);
		b += simulated_noise(c.inverse);
		simulated[mean_cell(mean_share(a, b))]++;
	}
	printf("n=%d outside=%d p=%.3g\n", n, outside,
		   homogeneity_p(observed, n, simulated, SIMULATIONS, MEAN_ALL));
	return 0;
}

static int
judge_exceedmean(char **argument)
{
	mean_case	c = read_mean_case(argument);
	double		error = (double) number(argument[5]);
	double		width = c.upper - c.lower;
	double		truth = c.lower + width * c.a / (c.a + c.b);
	double		exact = mean_tail_exact(c.a, c.b, c.inverse, error / width);
	double		squares = 0;
	long double x;
	int			beyond = 0;
	int			n = 0;

	while (next_numbers(&x, 1))
	{
		beyond += fabs((double) x - truth) > error;
		squares += ((double) x - truth) * ((double) x - truth);
		n++;
	}
	printf("n=%d beyond=%d exact=%.6g p=%.3g rmse=%.6g\n", n, beyond, exact,
		   binomial_p(n, exact, beyond), sqrt(squares / n));
	return 0;
}

/* ---- independence ---- */

static int
judge_lags(char **argument, int arguments)
{
	double		inverse = fraction(argument[0]);
	int			n;
	double	   *noise = read_all(1, &n);
	double		p = 1;
	int			i;

	for (i = 1; i < arguments; i++)
	{
		int			lag = atoi(argument[i]);

		if (lag < 1 || lag >= n)
			fail("no such lag");
		p = fmin(p, dependence_p(noise, inverse, noise + lag, inverse,
								 n - lag));
	}
	printf("n=%d p=%.3g\n", n, p);
	return 0;
}

static int
judge_dependence(char **argument)
{
	int			n;
	double	   *pair = read_all(2, &n);
	double	   *x = malloc(sizeof(double) * (size_t) (n + 1));
	double	   *y = malloc(sizeof(double) * (size_t) (n + 1));
	int			i;

	if (x == NULL || y == NULL)
		fail("out of memory");
	for (i = 0; i < n; i++)
	{
		x[i] = pair[2 * i];
		y[i] = pair[2 * i + 1];
	}
	printf("n=%d p=%.3g\n", n,
		   dependence_p(x, fraction(argument[0]), y, fraction(argument[1]),
						n));
	return 0;
}

static dp_uint128
magnitude_of(const char *text)
{
	dp_uint128	value = 0;

	text += *text == '-';
	if (*text == '\0')
		fail("not an integer");
	for (; *text; text++)
	{
		if (*text < '0' || *text > '9' || value > ~(dp_uint128) 0 / 10 - 1)
			fail("not an integer");
		value = value * 10 + (dp_uint128) (*text - '0');
	}
	return value;
}

static int
judge_collide(char **argument)
{
	size_t		capacity = 1024;
	dp_uint128 *magnitude = malloc(capacity * sizeof(*magnitude));
	char		line[1024];
	char	   *field[1];
	int			n = 0;

	while (magnitude != NULL && next_line(line, sizeof(line), field, 1))
	{
		if ((size_t) n == capacity)
			magnitude = realloc(magnitude,
								(capacity *= 2) * sizeof(*magnitude));
		if (magnitude != NULL)
			magnitude[n++] = magnitude_of(field[0]);
	}
	if (magnitude == NULL)
		fail("out of memory");
	printf("n=%d twice=%d rate=%.3g\n", n, count_collisions(magnitude, n),
		   collision_rate(n, fraction(argument[0])));
	return 0;
}

static int
judge_loss(char **argument, int arguments)
{
	double		delta = arguments > 4 ? fraction(argument[4]) : 0;
	int			numbers = atoi(argument[0]);
	loss_audit *audit;
	long double x[3];

	if (numbers != 1 && numbers != 2)
		fail("one or two numbers");
	audit = loss_begin(numbers, (double) number(argument[1]),
					   (double) number(argument[2]),
					   (double) number(argument[3]));
	while (next_numbers(x, numbers + 1))
	{
		double		released[2] = {(double) x[1], 0};

		if (x[0] != 0 && x[0] != 1)
			fail("input is 0 or 1");
		if (numbers == 2)
			released[1] = (double) x[2];
		loss_record(audit, (int) x[0], released);
	}
	if (audit->runs[0] == 0 || audit->runs[1] == 0)
		fail("an input without runs");
	printf("n=%.0f m=%.0f bound=%.6g\n", audit->runs[0], audit->runs[1],
		   loss_bound_at(audit, delta));
	return 0;
}

int
main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";
	char	  **argument = argv + 2;
	int			n = argc - 2;

	if (strcmp(command, "laplace") == 0 && n == 2)
		return judge_laplace(argument);
	if (strcmp(command, "exact") == 0 && n == 2)
		return judge_exact(argument);
	if (strcmp(command, "mean") == 0 && n == 5)
		return judge_mean(argument);
	if (strcmp(command, "simulated") == 0 && n == 5)
		return judge_simulated(argument);
	if (strcmp(command, "gaussian") == 0 && n == 2)
		return judge_gaussian(argument);
	if (strcmp(command, "choice") == 0 && n == 1)
		return judge_choice(argument);
	if (strcmp(command, "variance") == 0 && n == 6)
		return judge_variance(argument);
	if (strcmp(command, "pair") == 0 && n == 9)
		return judge_pair(argument);
	if (strcmp(command, "lags") == 0 && n >= 2)
		return judge_lags(argument, n);
	if (strcmp(command, "dependence") == 0 && n == 2)
		return judge_dependence(argument);
	if (strcmp(command, "collide") == 0 && n == 1)
		return judge_collide(argument);
	if (strcmp(command, "maxima") == 0 && n == 4)
		return judge_maxima(argument);
	if (strcmp(command, "exceed") == 0 && n == 2)
		return judge_exceed(argument);
	if (strcmp(command, "exceedmean") == 0 && n == 6)
		return judge_exceedmean(argument);
	if (strcmp(command, "loss") == 0 && (n == 4 || n == 5))
		return judge_loss(argument, n);
	fail("no such command, or a wrong number of arguments");
	return 2;
}
