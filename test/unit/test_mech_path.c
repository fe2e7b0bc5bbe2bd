/*
 * test_mech_path.c
 *	  The samplers on reproducible streams: the 128-bit path against the
 *	  BIGNUM path draw by draw, failure of the source after every byte,
 *	  exact probabilities by exhaustion, the edges of int128.
 *
 * Nothing here is statistical: every stream is fixed.
 */
#include <math.h>

#include "dp_noise.h"
#include "dp_numbers.h"
#include "mech_draws.h"
#include "mech_fake.h"
#include "tap.h"

#define MAX (~(dp_uint128) 0)
#define BIT(n) ((dp_uint128) 1 << (n))
#define SENTINEL ((dp_int128) -424242)

/*
 * The same sampler with the narrow path handing every draw with V >= 1 to
 * BIGNUM, as it does in earnest from V = 2^31 on.
 */
extern dp_status geometric_early_bignum(dp_source *source,
										const dp_scale *scale,
										dp_int128 *out);
#define NARROW_SUCCESSES 1
#define dp_noise_geometric geometric_early_bignum
#include "../../src/math/noise/geometric.c"
#undef dp_noise_geometric

static dp_source first;
static dp_source second;

static dp_scale
scale_of(dp_uint128 sensitivity, dp_uint128 num, dp_uint128 den)
{
	const dp_rational epsilon = {num, den};
	dp_scale	scale;

	if (dp_noise_scale_make(sensitivity, &epsilon, &scale) != DP_OK)
		abort();
	return scale;
}

static bool
wiped(const dp_source *source)
{
	size_t		i;

	for (i = 0; i < source->next; i++)
		if (source->buffer[i] != 0)
			return false;
	return true;
}

/* ---- one path against the other ---- */

static void
test_paths(void)
{
	const struct
	{
		const char *label;
		dp_uint128	sensitivity;
		dp_uint128	num;
		dp_uint128	den;
	}			c[] =
	{
		{"1", 1, 1, 1},
		{"1/10", 1, 10, 1},
		{"10/3", 1, 3, 10},
		{"1000/7", 1, 7, 1000},
		{"256", 256, 1, 1},
		{"257", 257, 1, 1},
		{"2^40", BIT(40), 1, 1},
		{"2^63 + 1", BIT(63) + 1, 1, 1},
		{"2^64 - 1", UINT64_MAX, 1, 1},
		{"2^64", BIT(64), 1, 1},
		{"(2^64 + 1) / 2", BIT(64) + 1, 2, 1},
		{"2^64 / (2^64 - 1)", BIT(64), UINT64_MAX, 1},
		{"10^12 2^21 / (10^11 + 3)", BIT(21), 100000000003, 1000000000000},
		{"2^95 + 5", BIT(95) + 5, 1, 1},
		{"2^96 - 1", BIT(96) - 1, 1, 1},
		{"(2^96 - 1) / (2^127 - 1)", BIT(96) - 1, BIT(127) - 1, 1},
		{"1 / (2^128 - 1)", 1, MAX, 1},
	};
	const int	draws = 20000;
	dp_scale	narrow;
	dp_scale	wide;
	dp_int128	x;
	dp_int128	y;
	uint64_t	seed_a;
	uint64_t	seed_b;
	bool		same;
	bool		clean;
	size_t		i;
	int			j;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		narrow = scale_of(c[i].sensitivity, c[i].num, c[i].den);
		wide = narrow;
		wide.narrow = false;
		seed_a = seed_b = 1000 + i;
		dp_noise_source_init(&first, fake_fill, &seed_a);
		dp_noise_source_init(&second, fake_fill, &seed_b);
		same = narrow.narrow;
		clean = true;
		for (j = 0; same && j < draws; j++)
		{
			same = dp_noise_discrete_laplace(&first, &narrow, &x) == DP_OK &&
				dp_noise_discrete_laplace(&second, &wide, &y) == DP_OK &&
				x == y && seed_a == seed_b && first.next == second.next;
			clean = clean && (j % 100 != 0 || (wiped(&first) &&
											   wiped(&second)));
		}
		tap_ok(same, "scale %s: 128-bit path = BIGNUM path, %d draws",
			   c[i].label, draws);
		tap_ok(clean, "scale %s: consumed bytes are zero", c[i].label);

		same = true;
		for (j = 0; same && j < draws; j++)
			same = dp_noise_geometric(&first, &narrow, &x) == DP_OK &&
				geometric_early_bignum(&second, &narrow, &y) == DP_OK &&
				x == y && seed_a == seed_b && first.next == second.next;
		tap_ok(same, "scale %s: BIGNUM finish of the narrow path agrees",
			   c[i].label);
	}
}

/* ---- failure after every byte ---- */

enum sampler
{
	UNIFORM, UNIFORM_WIDE, BERNOULLI, BERNOULLI_WIDE, EXP_SMALL, EXP_LARGE,
	EXP_WIDE, GEOMETRIC, GEOMETRIC_128, GEOMETRIC_BIGNUM, LAPLACE,
	LAPLACE_128, LAPLACE_BIGNUM, SAMPLERS
};

static const char *const sampler_name[SAMPLERS] = {
	"uniform", "wide uniform", "bernoulli", "wide bernoulli",
	"bernoulli_exp(1/3)", "bernoulli_exp(7/3)", "wide bernoulli_exp",
	"geometric", "geometric of 128 bits", "geometric on BIGNUM",
	"discrete Laplace", "discrete Laplace of 128 bits",
	"discrete Laplace on BIGNUM"
};

/* Draws once; *out keeps its value where the sampler leaves its output. */
static dp_status
draw_any(enum sampler sampler, dp_source *source, dp_int128 *out)
{
	const dp_rational coin_small = {3, 10};
	const dp_rational coin_wide = {BIT(126) + 1, MAX};
	const dp_rational third = {1, 3};
	const dp_rational seven_thirds = {7, 3};
	const dp_rational gamma_wide = {BIT(101) + 1, BIT(100) + 1};
	dp_scale	scale = scale_of(1, 3, 1000);
	uint64_t	small = 77;
	dp_uint128	wide = 77;
	char		coin = 77;
	dp_status	status = DP_E_RANGE;
	bool		touched = false;

	switch (sampler)
	{
		case UNIFORM:
			status = dp_noise_uniform_below(source, 70000, &small);
			touched = small != 77;
			break;
		case UNIFORM_WIDE:
			status = uniform_below_wide(source, BIT(99) + 1, &wide);
			touched = wide != 77;
			break;
		case BERNOULLI:
			status = bernoulli_rational(source, &coin_small, (bool *) &coin);
			break;
		case BERNOULLI_WIDE:
			status = bernoulli_rational(source, &coin_wide, (bool *) &coin);
			break;
		case EXP_SMALL:
			status = dp_noise_bernoulli_exp(source, &third, (bool *) &coin);
			break;
		case EXP_LARGE:
			status = dp_noise_bernoulli_exp(source, &seven_thirds,
											(bool *) &coin);
			break;
		case EXP_WIDE:
			status = dp_noise_bernoulli_exp(source, &gamma_wide,
											(bool *) &coin);
			break;
		case GEOMETRIC_128:
		case LAPLACE_128:
			scale = scale_of(BIT(90) + 1, 1, 1);
			break;
		case GEOMETRIC_BIGNUM:
		case LAPLACE_BIGNUM:
			scale = scale_of(BIT(110) + 1, 1, 1);
			break;
		default:
			break;
	}
	if (sampler >= LAPLACE)
		return dp_noise_discrete_laplace(source, &scale, out);
	if (sampler >= GEOMETRIC)
		return dp_noise_geometric(source, &scale, out);
	if (status == DP_OK)
		*out = sampler == UNIFORM ? (dp_int128) small :
			sampler == UNIFORM_WIDE ? (dp_int128) wide : coin;
	else if (touched || coin != 77)
		*out = 0;
	return status;
}

static void
test_failure(void)
{
	unsigned char bytes[1024];
	uint64_t	seed;
	dp_int128	full;
	dp_int128	x;
	size_t		used;
	size_t		n;
	size_t		i;
	size_t		points;
	size_t		most;
	bool		good;
	enum sampler sampler;
	int			stream;

	for (sampler = UNIFORM; sampler < SAMPLERS; sampler++)
	{
		good = true;
		points = most = 0;
		for (stream = 0; good && stream < 300; stream++)
		{
			seed = (uint64_t) stream;
			fake_fill(&seed, bytes, sizeof(bytes));
			scripted_source(&first, bytes, sizeof(bytes));
			good = draw_any(sampler, &first, &full) == DP_OK;
			used = first.next - (DP_SOURCE_BUFFER - sizeof(bytes));
			most = used > most ? used : most;
			for (n = 0; good && n < used; n++)
			{
				scripted_source(&first, bytes, n);
				x = SENTINEL;
				good = draw_any(sampler, &first, &x) == DP_E_RANDOM &&
					x == SENTINEL && first.next == DP_SOURCE_BUFFER;
				for (i = 0; good && i < DP_SOURCE_BUFFER; i++)
					good = first.buffer[i] == 0;
				points++;
			}
			scripted_source(&first, bytes, used);
			good = good && draw_any(sampler, &first, &x) == DP_OK &&
				x == full && wiped(&first);
		}
		tap_ok(good && most > 1,
			   "%s: failure at each of %zu points (up to %zu bytes) is "
			   "DP_E_RANDOM, output untouched", sampler_name[sampler], points,
			   most);
	}
}

/* ---- exact probabilities by exhaustion ---- */

/*
 * Over all strings of two bytes the sampler answers, or asks for more.  The
 * shares of the answers bracket the true probabilities: no tolerance.
 */
static void
test_exhaustion(void)
{
	static const dp_rational gamma[] = {{1, 3}, {1, 2}, {1, 1}, {3, 2},
	{2, 1}};
	const dp_scale scale = scale_of(1, 1, 1);
	const double strings = 65536;
	double		yes;
	double		no;
	double		count[9];
	double		decided;
	double		p;
	double		exact;
	bool		coin;
	bool		good;
	dp_int128	x;
	dp_status	status;
	size_t		i;
	int			s;

	dp_noise_source_init(&first, failing_fill, NULL);
	for (i = 0; i < sizeof(gamma) / sizeof(gamma[0]); i++)
	{
		yes = no = 0;
		for (s = 0; s < 65536; s++)
		{
			first.next = DP_SOURCE_BUFFER - 2;
			first.buffer[DP_SOURCE_BUFFER - 2] = (unsigned char) s;
			first.buffer[DP_SOURCE_BUFFER - 1] = (unsigned char) (s >> 8);
			status = dp_noise_bernoulli_exp(&first, &gamma[i], &coin);
			if (status == DP_OK)
				*(coin ? &yes : &no) += 1;
		}
		exact = exp(-(double) gamma[i].num / (double) gamma[i].den);
		tap_ok(yes / strings <= exact && no / strings <= 1 - exact &&
			   yes + no > strings / 4,
			   "bernoulli_exp(%d/%d): %.5f <= %.5f <= %.5f",
			   (int) gamma[i].num, (int) gamma[i].den, yes / strings, exact,
			   1 - no / strings);
	}

	memset(count, 0, sizeof(count));
	decided = 0;
	good = true;
	for (s = 0; s < 65536; s++)
	{
		first.next = DP_SOURCE_BUFFER - 2;
		first.buffer[DP_SOURCE_BUFFER - 2] = (unsigned char) s;
		first.buffer[DP_SOURCE_BUFFER - 1] = (unsigned char) (s >> 8);
		if (dp_noise_discrete_laplace(&first, &scale, &x) == DP_OK)
		{
			decided++;
			if (x >= -4 && x <= 4)
				count[(int) x + 4]++;
			else
				good = false;
		}
	}
	p = exp(-1);
	for (s = 0; s < 9; s++)
	{
		exact = (1 - p) / (1 + p) * exp(-abs(s - 4));
		good = good && count[s] / strings <= exact &&
			exact <= (count[s] + strings - decided) / strings &&
			count[s] == count[8 - s];
	}
	tap_ok(good && decided > strings / 8,
		   "discrete Laplace at scale 1: bracketed and symmetric, %.3f of "
		   "the strings decide", decided / strings);
}

/* ---- edges of int128 ---- */

static void
test_edges(void)
{
	const dp_int128 most = (dp_int128) (MAX >> 1);
	unsigned char bytes[64];
	dp_scale	scale;
	dp_int128	x = SENTINEL;
	uint64_t	seed = 5;
	int			overflows;
	int			i;

	/* all ones: U = t - 1, kept at once, V = 0, negative */
	memset(bytes, 0xff, sizeof(bytes));
	scale = scale_of(BIT(127), 1, 1);
	scripted_source(&first, bytes, sizeof(bytes));
	tap_ok(dp_noise_discrete_laplace(&first, &scale, &x) == DP_OK &&
		   x == -most, "the least draw is -(2^127 - 1)");
	scale = scale_of(BIT(64), 1, BIT(64));
	x = SENTINEL;
	scripted_source(&first, bytes, sizeof(bytes));
	tap_ok(dp_noise_discrete_laplace(&first, &scale, &x) == DP_E_OVERFLOW &&
		   x == SENTINEL, "2^128 - 1 overflows, output untouched");

	/* scale 2^128: U = 2^127 - 1 fits, U = 2^127 does not */
	bytes[15] = 0x7f;
	bytes[sizeof(bytes) - 1] = 0;
	scripted_source(&first, bytes, 34);
	tap_ok(dp_noise_discrete_laplace(&first, &scale, &x) == DP_OK &&
		   x == -most, "2^127 - 1 fits");
	bytes[33] = 0;
	scripted_source(&first, bytes, 34);
	tap_ok(dp_noise_discrete_laplace(&first, &scale, &x) == DP_OK &&
		   x == most, "with either sign");
	memset(bytes, 0, 15);
	bytes[15] = 0x80;
	x = SENTINEL;
	scripted_source(&first, bytes, 34);
	tap_ok(dp_noise_geometric(&first, &scale, &x) == DP_E_OVERFLOW &&
		   x == SENTINEL, "2^127 does not");

	/* a quotient that fits although U + t V does not */
	scale = scale_of(BIT(64), 15, BIT(64));
	scripted_source(&first, bytes, 34);
	tap_ok(dp_noise_geometric(&first, &scale, &x) == DP_OK &&
		   x == (dp_int128) (BIT(127) / 15),
		   "the quotient decides, not the dividend");

	/* far beyond: 2^200 and the largest scale there is */
	dp_noise_source_init(&first, fake_fill, &seed);
	scale = scale_of(BIT(100), 1, BIT(100));
	for (i = overflows = 0; i < 1000; i++)
		overflows += dp_noise_discrete_laplace(&first, &scale, &x) ==
			DP_E_OVERFLOW;
	tap_ok(overflows == 1000, "scale 2^200 overflows");
	scale = scale_of(MAX, 1, MAX);
	for (i = overflows = 0; i < 1000; i++)
		overflows += dp_noise_discrete_laplace(&first, &scale, &x) ==
			DP_E_OVERFLOW;
	tap_ok(overflows == 1000, "scale (2^128 - 1)^2 overflows");
	scale = scale_of(BIT(100), MAX, BIT(100));
	for (i = overflows = 0; i < 1000; i++)
		overflows += dp_noise_discrete_laplace(&first, &scale, &x) != DP_OK;
	tap_ok(overflows == 0 && !scale.narrow,
		   "scale 2^200 / (2^128 - 1) never does");

	memset(&scale, 0, sizeof(scale));
	x = SENTINEL;
	tap_ok(dp_noise_geometric(&first, &scale, &x) == DP_E_RANGE &&
		   dp_noise_discrete_laplace(&first, &scale, &x) == DP_E_RANGE &&
		   x == SENTINEL, "a scale nobody made is refused");
}

static void
test_arguments(void)
{
	const dp_rational above = {4, 3};
	const dp_rational broken = {1, 0};
	const dp_rational sure = {1, 1};
	const dp_rational never = {0, 1};
	const dp_rational huge = {MAX, 1};
	char		kept = 77;
	bool		coin = false;
	bool		good = true;
	uint64_t	seed = 3;
	int			i;

	dp_noise_source_init(&first, failing_fill, NULL);
	tap_ok(bernoulli_rational(&first, &above, (bool *) &kept) == DP_E_RANGE &&
		   bernoulli_rational(&first, &broken, (bool *) &kept) == DP_E_RANGE &&
		   dp_noise_bernoulli_exp(&first, &broken,
								  (bool *) &kept) == DP_E_RANGE && kept == 77,
		   "no probability: refused, untouched");
	good = bernoulli_rational(&first, &sure, &coin) == DP_OK && coin;
	good = good && bernoulli_rational(&first, &never, &coin) == DP_OK && !coin;
	good = good && dp_noise_bernoulli_exp(&first, &never, &coin) == DP_OK &&
		coin;
	tap_ok(good, "certain outcomes need no source");
	dp_noise_source_init(&first, fake_fill, &seed);
	for (i = 0; i < 10000; i++)
		good = good && dp_noise_bernoulli_exp(&first, &huge, &coin) == DP_OK &&
			!coin;
	tap_ok(good, "bernoulli_exp(2^128 - 1) ends quickly, and false");
}

int
main(void)
{
	test_paths();
	test_failure();
	test_exhaustion();
	test_edges();
	test_arguments();
	return tap_done();
}
