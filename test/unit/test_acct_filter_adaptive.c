/*
 * test_acct_filter_adaptive.c
 *	  Random adaptive sequences of charges, each decision judged by exact
 *	  integers of any size; broken filters must be caught by the same judge.
 *
 * A request is a rational n/Q, with a Q that shares no factor with 10 except
 * a power of 2, plus a number of grid units; its cost is exact in units of
 * 1/(Q 10^24).  The judge keeps two kinds of exact sums: of the requests as
 * they are (a filter must never admit beyond its limit: soundness) and of
 * the requests each rounded up to the grid (the filter must decide exactly
 * so: equality).  Requests depend on earlier decisions: many probe the limit
 * with exactly what remains, or one unit more.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_support.h"

#define STEPS 40
#define PARTS 3					/* epsilon, rho, delta */

/* The functions under test. */
typedef struct subject
{
	const char *name;
	dp_status	(*convert) (const dp_rational *x, dp_rounding rounding,
							dp_fixed *out);
	bool		(*admits) (const dp_limit *limit, const dp_spent *spent,
						   const dp_charge *charge);
	dp_status	(*add) (dp_spent *spent, const dp_charge *charge);
	int64_t		(*calls) (const dp_limit *limit, const dp_spent *spent,
						  const dp_charge *charge);
} subject;

typedef struct verdict
{
	int			unsound;		/* admitted beyond the exact limit */
	int			different;		/* not the exact rounded decision */
	int			miscounted;		/* dp_accounting_limit_calls against a loop */
	int			admitted;
	int			refused;
} verdict;

typedef struct request
{
	bool		infinite;		/* no pure epsilon */
	uint64_t	n[PARTS];		/* numerators over Q */
	dp_fixed	grid[PARTS];	/* added grid units */
} request;

/* One exact sum: in units of 1/(Q 10^24), and rounded per charge on a grid. */
typedef struct tally
{
	bool		infinite;
	BIGNUM	   *exact[PARTS];
	BIGNUM	   *rounded[PARTS];
} tally;

static uint64_t
common_denominator(void)
{
	uint64_t	q = UINT64_C(1) << 12;
	int			i;

	for (i = 0; i < 12; i++)
		q *= 3;
	for (i = 0; i < 8; i++)
		q *= 7;
	return q * 11;
}

static void
tally_init(tally *t)
{
	int			i;

	t->infinite = false;
	for (i = 0; i < PARTS; i++)
	{
		t->exact[i] = big(0);
		t->rounded[i] = big(0);
	}
}

static void
tally_free(tally *t)
{
	int			i;

	for (i = 0; i < PARTS; i++)
	{
		BN_free(t->exact[i]);
		BN_free(t->rounded[i]);
	}
}

/* Adds (sign 1) or takes back (sign -1) a request. */
static void
tally_move(tally *t, const request *r, uint64_t q, int sign)
{
	int			i;

	for (i = 0; i < PARTS; i++)
	{
		BIGNUM	   *x = big(r->n[i]);
		BIGNUM	   *y = big(r->n[i]);
		BN_CTX	   *ctx = BN_CTX_new();
		BIGNUM	   *rest = BN_new();
		BIGNUM	   *den = big(q);

		big_times(x, DP_FIXED_ONE);
		need(BN_copy(y, x) && BN_div(y, rest, y, den, ctx));
		if (!BN_is_zero(rest))
			big_plus(y, 1);
		big_plus(y, r->grid[i]);
		BN_free(den);
		den = big(r->grid[i]);
		big_times(den, q);
		need(BN_add(x, x, den));
		need(sign > 0 ? BN_add(t->exact[i], t->exact[i], x)
			 : BN_sub(t->exact[i], t->exact[i], x));
		need(sign > 0 ? BN_add(t->rounded[i], t->rounded[i], y)
			 : BN_sub(t->rounded[i], t->rounded[i], y));
		BN_free(x);
		BN_free(y);
		BN_free(den);
		BN_free(rest);
		BN_CTX_free(ctx);
	}
}

/* Whether sums satisfy limits, both times `scale`. */
static bool
holds(const dp_limit *limit, BIGNUM *const sum[PARTS], bool infinite,
	  uint64_t scale)
{
	dp_fixed	bound[PARTS] = {limit->epsilon, limit->rho, limit->delta_sum};
	bool		ok[PARTS];
	int			i;

	for (i = 0; i < PARTS; i++)
	{
		BIGNUM	   *b = big(bound[i]);

		big_times(b, scale);
		ok[i] = BN_cmp(sum[i], b) <= 0;
		BN_free(b);
	}
	ok[0] = ok[0] && !infinite;
	if (limit->filter == DP_FILTER_BASIC)
		return ok[2] && ok[0];
	if (limit->filter == DP_FILTER_ZCDP)
		return ok[2] && ok[1];
	return ok[2] && (ok[0] || (ok[1] && limit->rho > 0));
}

/* ceil(n/Q) by the subject, plus grid units. */
static dp_fixed
part_cost(const subject *s, const request *r, int part, uint64_t q)
{
	dp_rational x = ratio(r->n[part], q);
	dp_fixed	cost = 0;

	if (s->convert(&x, DP_ROUND_UP, &cost) != DP_OK)
		exit(2);
	return dp_accounting_fixed_add(cost, r->grid[part]);
}

/* What remains of a part, plus 0 or 1 units: an adaptive probe. */
static dp_fixed
remaining(dp_fixed limit, dp_fixed spent, stream *s)
{
	if (spent >= limit)
		return stream_below(s, 2);
	return limit - spent + stream_below(s, 2);
}

static void
next_request(const dp_limit *limit, const dp_spent *spent,
			 const request *base, stream *s, request *out)
{
	dp_uint128	x;
	int			i;

	*out = *base;
	switch (stream_below(s, 12))
	{
		case 0:
			for (i = 0; i < PARTS; i++)
			{
				out->n[i] = stream_next(s);
				out->n[i] >>= 8 + stream_below(s, 40);
			}
			break;
		case 1:
			out->infinite = true;
			break;
		case 2:
			memset(out, 0, sizeof(*out));
			out->grid[0] = remaining(limit->epsilon, spent->epsilon, s);
			break;
		case 3:
			memset(out, 0, sizeof(*out));
			out->grid[1] = remaining(limit->rho, spent->rho, s);
			out->infinite = stream_below(s, 2) == 0;
			break;
		case 4:
			memset(out, 0, sizeof(*out));
			out->grid[2] = remaining(limit->delta_sum, spent->delta, s);
			break;
		case 5:
			/* so large that a sum which wraps around would look small */
			x = stream_wide(s, 100);
			out->grid[stream_below(s, PARTS)] = DP_FIXED_INFINITE - 1 - x;
			break;
	}
}

/* The loop that dp_accounting_limit_calls must agree with. */
static int
loop_calls(const subject *s, const dp_limit *limit, dp_spent spent,
		   const dp_charge *charge, int most)
{
	int			n;

	for (n = 0; n < most && s->admits(limit, &spent, charge); n++)
		if (s->add(&spent, charge) != DP_OK)
			exit(2);
	return n;
}

/* Plays `rounds` sequences against a subject. */
static verdict
judge(const subject *s, int rounds, uint64_t seed)
{
	const uint64_t q = common_denominator();
	stream		random = {seed};
	verdict		v = {0, 0, 0, 0, 0};
	int			round;

	for (round = 0; round < rounds; round++)
	{
		dp_limit	limit;
		dp_spent	spent = {0};
		request		base;
		tally		t;
		dp_fixed   *bound[PARTS];
		int			i;
		int			step;

		memset(&limit, 0, sizeof(limit));
		memset(&base, 0, sizeof(base));
		limit.filter = (dp_filter) (round % 3);
		bound[0] = &limit.epsilon;
		bound[1] = &limit.rho;
		bound[2] = &limit.delta_sum;
		/* limits: so many equal charges, rounded down to the grid */
		for (i = 0; i < PARTS; i++)
		{
			uint64_t	k = stream_below(&random, STEPS);
			dp_rational x;

			base.n[i] = stream_next(&random);
			base.n[i] >>= 12 + stream_below(&random, 40);
			if (stream_below(&random, 8) == 0)
				base.n[i] = 0;
			x = ratio((dp_uint128) base.n[i] * k, q);
			if (dp_accounting_fixed_from_rational(&x, DP_ROUND_DOWN,
												  bound[i]) !=
				DP_OK)
				exit(2);
		}
		if (limit.filter == DP_FILTER_BEST && round % 2 == 0)
			limit.rho = 0;
		tally_init(&t);

		for (step = 0; step < STEPS; step++)
		{
			request		r;
			dp_charge	charge;
			bool		before = t.infinite;
			bool		admit;
			int			loop;
			int64_t		calls;

			next_request(&limit, &spent, &base, &random, &r);
			charge.epsilon = r.infinite ? DP_FIXED_INFINITE :
				part_cost(s, &r, 0, q);
			charge.rho = part_cost(s, &r, 1, q);
			charge.delta = part_cost(s, &r, 2, q);

			loop = loop_calls(s, &limit, spent, &charge, 50);
			calls = s->calls(&limit, &spent, &charge);
			v.miscounted += loop < 50 ? calls != loop : calls < 50;

			admit = s->admits(&limit, &spent, &charge);
			tally_move(&t, &r, q, 1);
			t.infinite = t.infinite || r.infinite;
			v.unsound += admit && !holds(&limit, t.exact, t.infinite, q);
			v.different += admit != holds(&limit, t.rounded, t.infinite, 1);
			if (admit)
			{
				v.admitted++;
				if (s->add(&spent, &charge) != DP_OK)
					exit(2);
			}
			else
			{
				v.refused++;
				tally_move(&t, &r, q, -1);
				t.infinite = before;
			}
		}
		tally_free(&t);
	}
	return v;
}

/* Large counts: n more are admitted, n + 1 are not. */
static int
wrong_large_counts(int rounds)
{
	stream		s = {2718281828};
	int			wrong = 0;
	int			i;

	for (i = 0; i < rounds; i++)
	{
		dp_limit	limit;
		dp_spent	spent;
		dp_charge	charge;
		int64_t		n;
		int			more;

		memset(&limit, 0, sizeof(limit));
		limit.filter = (dp_filter) (i % 3);
		limit.epsilon = stream_wide(&s, 128);
		limit.rho = stream_wide(&s, 128);
		limit.delta_sum = stream_wide(&s, 128);
		memset(&spent, 0, sizeof(spent));
		spent.epsilon = stream_wide(&s, 110);
		spent.rho = stream_wide(&s, 110);
		spent.delta = stream_wide(&s, 110);
		charge.epsilon = stream_wide(&s, 100);
		charge.rho = stream_wide(&s, 100);
		charge.delta = i % 2 ? 0 : stream_wide(&s, 100);
		n = dp_accounting_limit_calls(&limit, &spent, &charge);
		if (n == INT64_MAX)
			continue;
		/* after n - 1 the n-th is admitted, after n the next is not */
		for (more = 0; more < 2; more++)
		{
			dp_spent	later = spent;
			dp_fixed   *sum[PARTS];
			dp_fixed	each[PARTS];
			int			k;

			if (n == 0 && more == 0)
				continue;
			sum[0] = &later.epsilon;
			sum[1] = &later.rho;
			sum[2] = &later.delta;
			each[0] = charge.epsilon;
			each[1] = charge.rho;
			each[2] = charge.delta;
			for (k = 0; k < PARTS; k++)
			{
				dp_uint128	times = (dp_uint128) (n - 1 + more);

				if (each[k] != 0 &&
					times > (DP_FIXED_INFINITE - 1 - *sum[k]) / each[k])
					*sum[k] = DP_FIXED_INFINITE;
				else
					*sum[k] += times * each[k];
			}
			wrong += dp_accounting_limit_admits(&limit, &later, &charge) !=
				(more == 0);
		}
	}
	return wrong;
}

/* ---- broken filters ---- */

static dp_status
convert_down(const dp_rational *x, dp_rounding rounding, dp_fixed *out)
{
	(void) rounding;
	return dp_accounting_fixed_from_rational(x, DP_ROUND_DOWN, out);
}

/* Looks at what was spent, not at what will be. */
static bool
admits_after(const dp_limit *limit, const dp_spent *spent,
			 const dp_charge *charge)
{
	dp_charge	nothing = {0, 0, 0};

	(void) charge;
	return dp_accounting_limit_admits(limit, spent, &nothing);
}

static bool
admits_any_delta(const dp_limit *limit, const dp_spent *spent,
				 const dp_charge *charge)
{
	dp_charge	c = *charge;
	dp_spent	s = *spent;

	c.delta = 0;
	s.delta = 0;
	return dp_accounting_limit_admits(limit, &s, &c);
}

/* Takes "not pure" for "costs no epsilon". */
static bool
admits_impure(const dp_limit *limit, const dp_spent *spent,
			  const dp_charge *charge)
{
	dp_charge	c = *charge;
	dp_spent	s = *spent;

	if (c.epsilon == DP_FIXED_INFINITE)
		c.epsilon = 0;
	if (s.epsilon == DP_FIXED_INFINITE)
		s.epsilon = 0;
	return dp_accounting_limit_admits(limit, &s, &c);
}

/* Sums that wrap around. */
static bool
admits_wrapped(const dp_limit *limit, const dp_spent *spent,
			   const dp_charge *charge)
{
	dp_spent	s = {0};
	dp_charge	c;

	c.epsilon = charge->epsilon == DP_FIXED_INFINITE ? DP_FIXED_INFINITE :
		spent->epsilon + charge->epsilon;
	c.rho = spent->rho + charge->rho;
	c.delta = spent->delta + charge->delta;
	return dp_accounting_limit_admits(limit, &s, &c);
}

/* Lets each charge choose the clause it still fits: forgets the sums' "or". */
static bool
admits_per_charge(const dp_limit *limit, const dp_spent *spent,
				  const dp_charge *charge)
{
	dp_limit	l = *limit;
	dp_charge	c = *charge;

	if (dp_accounting_limit_admits(limit, spent, charge))
		return true;
	if (limit->filter != DP_FILTER_BEST)
		return false;
	l.filter = DP_FILTER_BASIC;
	c.delta = 0;
	return spent->epsilon <= limit->epsilon &&
		dp_accounting_limit_admits(&l, &(dp_spent) {0}, &c);
}

static int64_t
calls_rounded(const dp_limit *limit, const dp_spent *spent,
			  const dp_charge *charge)
{
	int64_t		n = dp_accounting_limit_calls(limit, spent, charge);

	return n == 7 ? 8 : n;
}

int
main(void)
{
	const subject real = {"real", dp_accounting_fixed_from_rational,
		dp_accounting_limit_admits, dp_accounting_spent_add,
		dp_accounting_limit_calls};
	subject		broken[] = {
		{"charges rounded down", 0, 0, 0, 0},
		{"checked after instead of before", 0, 0, 0, 0},
		{"delta ignored", 0, 0, 0, 0},
		{"missing epsilon taken for 0", 0, 0, 0, 0},
		{"sums that wrap around", 0, 0, 0, 0},
		{"epsilon of each charge instead of the sum", 0, 0, 0, 0}
	};
	subject		miscounting;
	verdict		v = judge(&real, 600, 161803398);
	size_t		i;
	int			wrong;

	tap_diag("%d admitted, %d refused", v.admitted, v.refused);
	tap_ok(v.unsound == 0, "never beyond the exact limit (%d)", v.unsound);
	tap_ok(v.different == 0, "always the exact decision (%d)", v.different);
	tap_ok(v.miscounted == 0, "calls left agree with a loop (%d)",
		   v.miscounted);
	tap_ok(v.admitted > 5000 && v.refused > 5000,
		   "both decisions occur often");
	wrong = wrong_large_counts(20000);
	tap_ok(wrong == 0, "large counts are exact (%d)", wrong);

	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		const char *name = broken[i].name;

		broken[i] = real;
		broken[i].name = name;
	}
	broken[0].convert = convert_down;
	broken[1].admits = admits_after;
	broken[2].admits = admits_any_delta;
	broken[3].admits = admits_impure;
	broken[4].admits = admits_wrapped;
	broken[5].admits = admits_per_charge;
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		v = judge(&broken[i], 60, 161803398);
		tap_ok(v.unsound > 0, "caught: %s (%d unsound, %d different)",
			   broken[i].name, v.unsound, v.different);
	}
	miscounting = real;
	miscounting.calls = calls_rounded;
	v = judge(&miscounting, 60, 161803398);
	tap_ok(v.miscounted > 0 && v.unsound == 0,
		   "caught: a count wrong by one (%d)", v.miscounted);
	return tap_done();
}
