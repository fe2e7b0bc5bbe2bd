/*
 * test_mech_quantile.c
 *	  The exponential mechanism on a grid, scored by rank: its blocks, its
 *	  sensitivity and its failures.
 *
 * The blocks must hold every grid point once, and what is known of a point
 * must be the penalty of its definition.  With that, the law is exact if the
 * envelope sampler's and bernoulli_exp's are, which have tests of their own.
 * Draws are compared with laws in test_mech_quantile_law.c.
 */
#include "mech_quantile.h"

/* ---- blocks ---- */

/* Every point once, its penalty right, blocks few and near ones narrow. */
static bool
partition_is_good(const problem *c, size_t *blocks, size_t *joined)
{
	static bool seen[4096];
	rows		r;
	partition	p;
	dp_uint128	penalty;
	int64_t		point;
	uint64_t	rank;
	uint64_t	points = (uint64_t) (c->high - c->low) + 1;
	uint64_t	count = 0;
	size_t		i;

	make_partition(c, &r, &p);
	memset(seen, 0, sizeof(seen));
	for (i = 0; i < p.n; i++)
		for (rank = 0; rank < p.blocks[i].size; rank++)
		{
			if (i == 0)
			{
				point = p.blocks[0].edge;
				penalty = 0;
			}
			else
				penalty = locate(&r, &p.blocks[i], rank, &point);
			if (point < c->low || point > c->high || seen[point - c->low] ||
				penalty != penalty_of(c, point) ||
				penalty < p.blocks[i].least ||
				(p.blocks[i].least <= p.far &&
				 penalty - p.blocks[i].least > p.step))
				return false;
			seen[point - c->low] = true;
			*joined += penalty > p.blocks[i].least;
			count++;
		}
	*blocks = p.n > *blocks ? p.n : *blocks;
	return count == points && p.n <= 2 * 67 + 1 &&
		p.blocks[0].least == 0;
}

static void
test_blocks(void)
{
	problem		c;
	size_t		blocks = 0;
	size_t		joined = 0;
	int			cases;
	int			good = 0;

	for (cases = 0; cases < 20000; cases++)
	{
		do
			c = random_problem(cases % 4 == 0 ? 2000 : 60);
		while (c.n == 0);
		good += partition_is_good(&c, &blocks, &joined);
	}
	tap_ok(good == cases && blocks > 15 && joined > 1000,
		   "%d of %d partitions hold every point once with its penalty; at "
		   "most %zu blocks; %zu points above their block's least penalty",
		   good, cases, blocks, joined);
}

/* Many values: the blocks stay few, at every rate. */
static void
test_many(void)
{
	static const dp_uint128 den[] = {1, 7, 1000, 20000, BIT(20), BIT(100)};
	size_t		n = 1 << 17;
	uint64_t   *counts = malloc(n * sizeof(*counts));
	rows		r;
	partition	p;
	dp_rational rate = {1, 1};
	uint64_t	total;
	uint64_t	points;
	size_t		most = 0;
	size_t		i;
	size_t		j;
	bool		good = true;

	for (i = 0; i < n; i++)
		counts[i] = below(3);
	for (i = 0; i < sizeof(den) / sizeof(den[0]); i++)
	{
		rate.den = den[i];
		r = (rows) {{NULL, counts, NULL, n}, -5, (int64_t) n + 10, 1, 2, 0};
		if (count_rows(&r, &total) != DP_OK)
			exit(2);
		prepare_partition(&r, &rate, total, &p);
		points = 0;
		for (j = 0; j < p.n; j++)
			points += p.blocks[j].size;
		good = good && points == n + 16;
		most = p.n > most ? p.n : most;
	}
	tap_ok(good && most > 100 && most <= 135,
		   "%zu values: at most %zu blocks, all points in them", n, most);
	free(counts);
}

/* ---- sensitivity and privacy loss ---- */

/* One more row at `value` of a dense problem. */
static problem
with_row(const problem *c, int64_t value)
{
	problem		more = *c;

	more.counts[value - c->low]++;
	return more;
}

/*
 * All neighbours of random small tables: no score moves further than the
 * sensitivity, some do so far; no probability by more than exp(epsilon).
 */
static void
test_privacy(void)
{
	const dp_rational epsilon = {3, 4};
	double		one[CHOICES];
	double		other[CHOICES];
	problem		c;
	problem		left;
	problem		right;
	dp_uint128	sensitivity;
	dp_int128	move;
	double		loss = 0;
	int64_t		x;
	int64_t		y;
	int			replace;
	int			i;
	int			j;
	int			n;
	int			reached = 0;
	bool		good = true;

	for (i = 0; i < 400; i++)
	{
		replace = i % 2;
		do
			c = random_problem(7);
		while (!c.dense);
		c.n = (size_t) (c.high - c.low) + 1;
		if (dp_noise_quantile_sensitivity(c.a, c.d, 1, replace,
										  &sensitivity) != DP_OK)
			exit(2);
		set_rate(&c, &epsilon, 1, replace);
		for (x = c.low; x <= c.high; x++)
			for (y = c.low; y <= (replace ? c.high : c.low); y++)
			{
				left = replace ? with_row(&c, y) : c;
				right = with_row(&c, x);
				n = law_of(&left, one);
				law_of(&right, other);
				for (j = 0; j < n; j++)
				{
					move = (dp_int128) penalty_of(&left, c.low + j) -
						(dp_int128) penalty_of(&right, c.low + j);
					move = move < 0 ? -move : move;
					good = good && move <= (dp_int128) sensitivity;
					reached += move == (dp_int128) sensitivity;
					loss = fmax(loss, fabs(log(one[j] / other[j])));
				}
			}
	}
	tap_ok(good && reached > 100, "no neighbour moves a score further than "
		   "the sensitivity; %d move one as far", reached);
	tap_ok(loss <= 0.75 + 1e-12 && loss > 0.6,
		   "loss of the exact law at epsilon 0.75: at most %.4f", loss);
}

/* ---- failures ---- */

static dp_status
sample_value(dp_source *source, const void *state, unsigned char *out)
{
	const problem *c = state;
	int64_t		value;
	dp_status	status;

	memcpy(&value, out, sizeof(value));
	status = choose(source, c, &value);
	memcpy(out, &value, sizeof(value));
	return status;
}

static void
test_failure(void)
{
	problem		c;
	problem		bad;
	size_t		points;
	dp_uint128	sensitivity = 77;
	int64_t		value = 77;
	bool		fails;
	dp_envelope wide;

	memset(&c, 0, sizeof(c));
	c.n = 3;
	c.high = 40;
	c.values[0] = 5;
	c.values[1] = c.values[2] = 20;
	c.counts[0] = 7;
	c.counts[1] = 2;
	c.counts[2] = 30;
	c.a = 1;
	c.d = 2;
	c.rate.num = 1;
	c.rate.den = 30;
	fails = choice_fails_well(sample_value, &c, 20, &points);
	tap_ok(fails, "failure at each of %zu points is DP_E_RANDOM, output "
		   "untouched", points);
	bad = c;
	bad.n = 0;
	fails = choice_fails_well(sample_value, &bad, 4, &points);
	tap_ok(fails, "the same without rows, %zu points", points);

#define REFUSED(change, status) \
	(bad = c, change, fails = fails && \
	 choose(&random_source, &bad, &value) == (status) && value == 77)

	fails = true;
	REFUSED(bad.d = 0, DP_E_RANGE);
	REFUSED(bad.a = 3, DP_E_RANGE);
	REFUSED(bad.high = -1, DP_E_RANGE);
	REFUSED(bad.high = 19, DP_E_RANGE);
	REFUSED(bad.low = 6, DP_E_RANGE);
	REFUSED(bad.values[0] = 21, DP_E_RANGE);
	REFUSED((bad.dense = true, bad.high = 1), DP_E_RANGE);
	REFUSED((bad.low = INT64_MIN, bad.high = INT64_MAX), DP_E_RANGE);
	REFUSED((bad.n = 0, bad.low = INT64_MIN, bad.high = INT64_MAX),
			DP_E_RANGE);
	REFUSED(bad.counts[0] = UINT64_MAX, DP_E_OVERFLOW);
	REFUSED((bad.a = bad.d = BIT(121)), DP_E_OVERFLOW);
	if (dp_noise_envelope_make(&c.rate, 2, &wide) != DP_OK)
		exit(2);
	fails = fails && dp_noise_quantile(&random_source, &wide,
									   &(dp_ranked_rows) {c.values, c.counts,
									   NULL, c.n}, c.low, c.high, c.a, c.d,
									   &value) == DP_E_RANGE && value == 77;
	tap_ok(fails, "bad arguments are refused, output untouched");

	fails = dp_noise_quantile_sensitivity(2, 1, 1, false,
										  &sensitivity) == DP_E_RANGE &&
		dp_noise_quantile_sensitivity(0, 0, 1, false,
									  &sensitivity) == DP_E_RANGE &&
		dp_noise_quantile_sensitivity(0, 1, 0, false,
									  &sensitivity) == DP_E_RANGE &&
		dp_noise_quantile_sensitivity(1, BIT(127), 4, true,
									  &sensitivity) == DP_E_OVERFLOW &&
		sensitivity == 77;
	fails = fails &&
		dp_noise_quantile_sensitivity(1, 4, 5, false, &sensitivity) == DP_OK &&
		sensitivity == 15 &&
		dp_noise_quantile_sensitivity(1, 4, 5, true, &sensitivity) == DP_OK &&
		sensitivity == 20;
	tap_ok(fails, "sensitivity: m max(a, d - a), m d; refused beyond");
}

int
main(void)
{
	dp_noise_source_init(&random_source, dp_noise_fill_openssl, NULL);
	test_blocks();
	test_many();
	test_privacy();
	test_failure();
	return tap_done();
}
