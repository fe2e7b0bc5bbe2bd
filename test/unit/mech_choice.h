/*
 * mech_choice.h
 *	  What the tests of selections and responses share: the law of a choice
 *	  as a test, failure of the source after every byte, and a lower bound on
 *	  the privacy loss between two neighbours.
 *
 * The same functions judge src/math/noise and the variants broken on purpose.
 */
#ifndef MECH_CHOICE_H
#define MECH_CHOICE_H

#include <stdlib.h>

#include "chisq.h"
#include "dp_numbers.h"
#include "dp_noise.h"
#include "mech_fake.h"

#define CHOICES 64

/* Draws one of 0 .. n - 1; any other value is outside the support. */
typedef bool (*choice_draw) (void *state, double *out);

/* p-value of draws against n probabilities; 0 outside the support. */
static inline double
choice_p(choice_draw draw, void *state, const double *probability, int n,
		 int draws)
{
	double		observed[CHOICES] = {0};
	double		expected[CHOICES];
	double		x;
	int			i;

	for (i = 0; i < draws; i++)
	{
		if (!draw(state, &x) || !(x >= 0 && x < n) || x != floor(x))
			return 0;
		observed[(int) x]++;
	}
	for (i = 0; i < n; i++)
		expected[i] = draws * probability[i];
	return dp_chisq_test(observed, expected, n).p;
}

/* Kullback-Leibler divergence of coins. */
static inline double
choice_divergence(double a, double b)
{
	double		sum = 0;

	if (a > 0)
		sum += a * log(a / b);
	if (a < 1)
		sum += (1 - a) * log((1 - a) / (1 - b));
	return sum;
}

/*
 * The end of Chernoff's confidence interval for a coin seen `count` times in
 * n; it misses on that side with probability at most exp(-limit).
 */
static inline double
choice_end(double count, double n, double limit, bool upper)
{
	double		seen = count / n;
	double		inside = seen;
	double		outside = upper ? 1 : 0;
	double		middle;
	int			i;

	for (i = 0; i < 200; i++)
	{
		middle = (inside + outside) / 2;
		if (n * choice_divergence(seen, middle) <= limit)
			inside = middle;
		else
			outside = middle;
	}
	return outside;
}

/*
 * A lower bound on the privacy loss between two neighbours' choices, over
 * every single outcome in both directions.  A claim that holds is exceeded
 * with probability at most 4 n 1e-14, n outcomes.
 */
static inline double
choice_loss(choice_draw draw, void *one, void *other, int n, int draws)
{
	double		count[2][CHOICES] = {{0}};
	double		limit = 14 * log(10);
	double		worst = 0;
	double		x;
	int			i;
	int			side;

	for (side = 0; side < 2; side++)
		for (i = 0; i < draws; i++)
		{
			if (!draw(side == 0 ? one : other, &x) || !(x >= 0 && x < n))
				exit(2);
			count[side][(int) x]++;
		}
	for (i = 0; i < n; i++)
		for (side = 0; side < 2; side++)
			if (count[side][i] > 0)
				worst = fmax(worst,
							 log(choice_end(count[side][i], draws, limit,
											false) /
								 choice_end(count[1 - side][i], draws, limit,
											true)));
	return worst;
}

/*
 * Runs the sampler on `streams` streams and, for each, on every proper prefix
 * of what it consumed: must be DP_E_RANDOM with the output untouched and the
 * buffer wiped.  `draw` writes 16 bytes of output at most.
 */
typedef dp_status (*choice_sampler) (dp_source *source, const void *state,
									 unsigned char *out);

static inline bool
choice_fails_well(choice_sampler sampler, const void *state, int streams,
				  size_t *points)
{
	static dp_source source;
	unsigned char bytes[2048];
	unsigned char full[16];
	unsigned char out[16];
	uint64_t	seed;
	size_t		used;
	size_t		n;
	size_t		i;
	int			stream;

	*points = 0;
	for (stream = 0; stream < streams; stream++)
	{
		seed = (uint64_t) stream + 5;
		fake_fill(&seed, bytes, sizeof(bytes));
		scripted_source(&source, bytes, sizeof(bytes));
		memset(full, 0x4d, sizeof(full));
		if (sampler(&source, state, full) != DP_OK)
			return false;
		used = source.next - (DP_SOURCE_BUFFER - sizeof(bytes));
		for (n = 0; n < used; n++, ++*points)
		{
			scripted_source(&source, bytes, n);
			memset(out, 0x4d, sizeof(out));
			if (sampler(&source, state, out) != DP_E_RANDOM ||
				source.next != DP_SOURCE_BUFFER)
				return false;
			for (i = 0; i < sizeof(out); i++)
				if (out[i] != 0x4d)
					return false;
			for (i = 0; i < DP_SOURCE_BUFFER; i++)
				if (source.buffer[i] != 0)
					return false;
		}
		scripted_source(&source, bytes, used);
		memset(out, 0x4d, sizeof(out));
		if (sampler(&source, state, out) != DP_OK ||
			memcmp(out, full, sizeof(out)) != 0)
			return false;
	}
	return *points > 0;
}

/* A decimal such as "0.05" or "1e-5", or a fraction "1/2", as a rational. */
static inline dp_rational
choice_rational(const char *text)
{
	dp_uint128	num = 0;
	dp_uint128	den = 1;
	bool		point = false;
	dp_rational result = {0, 1};
	char	   *end;
	long		exponent;

	for (; (*text >= '0' && *text <= '9') || *text == '.'; text++)
	{
		if (*text == '.')
			point = true;
		else
		{
			num = num * 10 + (dp_uint128) (*text - '0');
			den *= point ? 10 : 1;
		}
	}
	if (*text == '/')
		den = (dp_uint128) strtoull(text + 1, NULL, 10);
	else if (*text == 'e')
	{
		exponent = strtol(text + 1, &end, 10);
		if (*end != '\0')
			exit(2);
		for (; exponent < 0; exponent++)
			den *= 10;
		for (; exponent > 0; exponent--)
			num *= 10;
	}
	else if (*text != '\0')
		exit(2);
	if (dp_numbers_rational_make(num, den, &result) != DP_OK)
		exit(2);
	return result;
}

#endif							/* MECH_CHOICE_H */
