/*
 * test_acct_sparse.c
 *	  Plans of sparse vector mechanisms: alphas against the oracle, exactness
 *	  of the split, validity of the charge, refusals.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_oracle.h"

/*
 * alpha before it is put on the integers, by the formulas of T53 and T54, to
 * about 15 digits.
 */
static double
sparse_approx(const dp_sparse_request *request, const dp_sparse_plan *plan)
{
	long double beta = wide_of(request->beta) /
		(request->numeric ? 2 : 1);
	long double k = (long double) request->questions;
	long double c = (long double) request->cutoff;
	long double b1 = (long double) plan->threshold_sensitivity /
		wide_of(plan->threshold_epsilon);
	long double b2 = (long double) plan->query_sensitivity /
		wide_of(plan->query_epsilon);
	long double alpha;
	long double answer;

	if (plan->two_sided)
		alpha = 2 * b2 * (logl(k) + logl(2 * c / beta));
	else
		alpha = (b1 * logl((plan->fresh ? 2 * c : 2) / beta) +
				 b2 * logl(2 * k / beta)) / 2;
	if (plan->numeric)
	{
		answer = (long double) plan->answer_sensitivity /
			wide_of(plan->answer_epsilon) * logl(c / beta);
		alpha = alpha > answer ? alpha : answer;
	}
	return (double) alpha;
}

static dp_sparse_request
request_of(dp_sparse_method method, int64_t k, int64_t c, const char *epsilon,
		   const char *delta, const char *beta)
{
	dp_sparse_request q = {0};

	q.method = method;
	q.sensitivity = 1;
	q.questions = k;
	q.cutoff = c;
	q.epsilon = fixed(epsilon);
	q.delta = fixed(delta);
	q.beta = fixed(beta);
	return q;
}

/* Within 10^-9 of the oracle. */
static bool
near(double have, long double want)
{
	return fabsl((long double) have - want) <= 1e-9L * want;
}

/* The integers cost less than one; a plan may also be better by two. */
static bool
integral(const dp_sparse_plan *plan, long double real)
{
	return (long double) plan->alpha < real + 1 &&
		(long double) plan->alpha > real - 2;
}

static bool
book_agrees(dp_sparse_request q, long double want, bool only_one)
{
	dp_sparse_plan plan;

	if (only_one && q.cutoff > 1)
		return true;
	return dp_accounting_sparse_plan(&q, &plan) == DP_OK && plan.two_sided &&
		plan.fresh && near(sparse_approx(&q, &plan), want) &&
		integral(&plan, want);
}

static void
test_oracle(void)
{
	csv_file	csv;

	for (csv_open(&csv, "svt_accuracy.csv"); csv_next(&csv);)
	{
		int64_t		k = strtoll(csv_text(&csv, "k"), NULL, 10);
		int64_t		c = strtoll(csv_text(&csv, "c"), NULL, 10);
		const char *epsilon = csv_text(&csv, "eps");
		const char *beta = csv_text(&csv, "beta");
		dp_sparse_request q = request_of(DP_SPARSE_GEOMETRIC, k, c > k ? k : c,
										 epsilon, "0", beta);
		dp_sparse_plan plan;
		long double want = csv_number(&csv, "geo_svt_general");
		bool		good;

		/* the oracle has cutoffs that no session of k questions can have */
		if (c > k)
			q.questions = c;
		good = dp_accounting_sparse_plan(&q, &plan) == DP_OK && !plan.fresh &&
			(c > k || (near(sparse_approx(&q, &plan), want) &&
					   integral(&plan, want)));
		q.monotone = true;
		want = csv_number(&csv, "geo_svt_monotone");
		good = good && dp_accounting_sparse_plan(&q, &plan) == DP_OK &&
			(c > k || (near(sparse_approx(&q, &plan), want) &&
					   integral(&plan, want)));
		if (c <= k)
		{
			long double numeric = csv_number(&csv, "thm3_28_pure");
			long double needed = csv_number(&csv, "numeric_needed_pure");

			q = request_of(DP_SPARSE_BOOK, k, c, epsilon, "0", beta);
			good = good && book_agrees(q, csv_number(&csv, "thm3_24"), true) &&
				book_agrees(q, csv_number(&csv, "thm3_26_pure"), false);
			q.numeric = true;
			good = good &&
				book_agrees(q, numeric > needed ? numeric : needed, false);
			q.delta = fixed("1e-6");
			numeric = csv_number(&csv, "thm3_28_delta1e-6");
			needed = csv_number(&csv, "numeric_needed_delta1e-6");
			good = good &&
				book_agrees(q, numeric > needed ? numeric : needed, false);
			q.numeric = false;
			good = good &&
				book_agrees(q, csv_number(&csv, "thm3_26_delta1e-6"), false);
		}
		tap_ok(good, "svt_accuracy k=%lld c=%lld eps=%s beta=%s",
			   (long long) k, (long long) c, epsilon, beta);
	}
	tap_ok(csv.records == 48, "svt_accuracy.csv has 48 records");
}

/* ceil(a/b) of fixed-point numbers by integers */
static dp_fixed
rho_of(dp_fixed epsilon)
{
	dp_rational e = ratio(epsilon, DP_FIXED_ONE);
	dp_fixed	rho;

	if (dp_accounting_rho_from_pure(&e, &rho) != DP_OK)
		exit(2);
	return rho;
}

/*
 * The charge of a plan from its noise alone: the epsilon of a round and the
 * way they compose.
 */
static bool
charge_valid(const dp_sparse_request *q, const dp_sparse_plan *p)
{
	dp_uint128	c = (dp_uint128) q->cutoff;
	dp_fixed	threshold = p->threshold_epsilon;
	dp_fixed	query = p->query_epsilon;
	dp_fixed	answer = p->answer_epsilon;
	dp_uint128	moves = q->monotone && !p->two_sided ? 1 : 2;
	dp_decimal	delta;
	dp_fixed	proved;
	dp_fixed	nothing;

	if (p->threshold_sensitivity != q->sensitivity ||
		(q->numeric ? answer == 0 : answer != 0))
		return false;
	if (!p->fresh)
		return p->query_sensitivity == moves * c * q->sensitivity &&
			(!q->numeric || p->answer_sensitivity == c * q->sensitivity) &&
			threshold + query + answer == q->epsilon &&
			p->charge.epsilon == q->epsilon && p->charge.delta == 0 &&
			p->charge.rho <= rho_of(q->epsilon) + c + 8 &&
			p->charge.rho >= rho_of(threshold + query);
	if (p->query_sensitivity != moves * q->sensitivity ||
		(q->numeric && p->answer_sensitivity != q->sensitivity) ||
		p->charge.rho != c * rho_of(threshold + query) +
		(q->numeric ? c * rho_of(answer) : 0) ||
		p->charge.epsilon > q->epsilon || p->charge.delta > q->delta)
		return false;
	if (p->charge.delta == 0)
		return c * (threshold + query + answer) <= p->charge.epsilon;
	if (p->two_sided)
	{
		dp_fixed	half = q->numeric ? q->delta / 2 : q->delta;
		dp_fixed	more = 0;

		return dp_accounting_sum_advanced(threshold + query, 0, q->cutoff,
										  half, &proved, &nothing) == DP_OK &&
			(!q->numeric ||
			 dp_accounting_sum_advanced(answer, 0, q->cutoff, half, &more,
										&nothing) == DP_OK) &&
			proved + more <= q->epsilon;
	}
	if (dp_accounting_optimal_delta(threshold + query + answer, q->cutoff,
									p->charge.epsilon, &delta) == DP_OK &&
		log_of_decimal(&delta) <= logl(wide_of(p->charge.delta)) + 1e-11L)
		return true;
	return dp_accounting_sum_advanced(threshold + query + answer, 0, q->cutoff,
									  q->delta, &proved, &nothing) == DP_OK &&
		proved <= q->epsilon;
}

/* The promise of the plan, from its noise alone, in long double. */
static bool
promise_kept(const dp_sparse_request *q, const dp_sparse_plan *p)
{
	long double b1 = (long double) p->threshold_sensitivity /
		wide_of(p->threshold_epsilon);
	long double b2 = (long double) p->query_sensitivity /
		wide_of(p->query_epsilon);
	long double alpha = (long double) p->alpha;
	long double rounds = p->fresh ? (long double) q->cutoff : 1;
	long double fails;

	if (p->two_sided)
	{
		/* |nu| <= x, |rho| <= y, x + y = alpha */
		long double x = floorl(alpha / 2);

		fails = (long double) q->questions * 2 * expl(-(x + 1) / b2) /
			(1 + expl(-1 / b2)) +
			rounds * 2 * expl(-(alpha - x + 1) / b1) / (1 + expl(-1 / b1));
	}
	else
		fails = (long double) q->questions *
			expl(-(alpha + 1 + (long double) p->offset) / b2) +
			rounds * expl(-(alpha + 2 - (long double) p->offset) / b1);
	if (q->numeric)
	{
		long double b3 = (long double) p->answer_sensitivity /
			wide_of(p->answer_epsilon);

		fails += (long double) q->cutoff * 2 * expl(-(alpha + 1) / b3) /
			(1 + expl(-1 / b3));
	}
	return fails <= wide_of(q->beta) * (1 + 1e-15L);
}

static dp_sparse_request
random_request(stream *s)
{
	static const char *const delta[] = {"0", "1e-6", "1e-12", "0.01"};
	dp_sparse_request q = {0};

	q.method = (dp_sparse_method) stream_below(s, 4);
	q.sensitivity = 1 + stream_below(s, 3) * stream_below(s, 1000);
	q.monotone = stream_below(s, 2);
	q.numeric = stream_below(s, 2);
	q.cutoff = 1 + (int64_t) (stream_wide(s, 9));
	q.questions = q.cutoff + (int64_t) stream_wide(s, 30);
	q.epsilon = (1 + stream_wide(s, 12)) * (DP_FIXED_ONE / 1000) +
		stream_below(s, 1000000007);
	q.delta = fixed(delta[stream_below(s, 4)]);
	q.beta = (1 + stream_below(s, 999)) * (DP_FIXED_ONE / 1000);
	return q;
}

static void
test_random(void)
{
	stream		s = {UINT64_C(0x5ba55e0fc0ffee11)};
	int			made[4] = {0};
	int			charge = 0;
	int			promise = 0;
	int			bound = 0;
	int			refused = 0;
	int			i;

	for (i = 0; i < 1500; i++)
	{
		dp_sparse_request q = random_request(&s);
		dp_sparse_plan p;
		dp_status	status = dp_accounting_sparse_plan(&q, &p);

		if (status == DP_E_RANGE && q.method == DP_SPARSE_BOOK && q.delta > 0)
		{
			refused++;			/* Corollary 3.21 is not confirmed */
			continue;
		}
		if (status != DP_OK)
		{
			tap_ok(false, "plan %d: status %d", i, status);
			return;
		}
		made[p.method]++;
		charge += !charge_valid(&q, &p);
		promise += !promise_kept(&q, &p);
		bound += (double) p.alpha >=
			sparse_approx(&q, &p) * (1 + 1e-12) + 1;
	}
	tap_ok(charge == 0, "1500 random plans: parts within epsilon, charges "
		   "valid (%d not)", charge);
	tap_ok(promise == 0, "they keep their promise (%d not)", promise);
	tap_ok(bound == 0 && refused < 300, "their alpha is the formula's and "
		   "less than one (%d not; %d refused)", bound, refused);
	tap_ok(made[DP_SPARSE_BEST] == 0 && made[DP_SPARSE_GEOMETRIC] > 300 &&
		   made[DP_SPARSE_ROUNDS] > 300 && made[DP_SPARSE_BOOK] > 100,
		   "all methods were planned: %d geometric, %d rounds, %d book",
		   made[DP_SPARSE_GEOMETRIC], made[DP_SPARSE_ROUNDS],
		   made[DP_SPARSE_BOOK]);
}

/* No alpha one less keeps the halves' promise: plans are not just valid. */
static void
test_least(void)
{
	stream		s = {UINT64_C(0x1ea57a1fa0000001)};
	int			loose = 0;
	int			i;

	for (i = 0; i < 300; i++)
	{
		dp_sparse_request q = random_request(&s);
		dp_sparse_plan p;
		long double b1;
		long double b2;
		long double half;
		long double a;

		q.method = i % 2 ? DP_SPARSE_GEOMETRIC : DP_SPARSE_ROUNDS;
		q.numeric = false;
		if (dp_accounting_sparse_plan(&q, &p) != DP_OK)
			exit(2);
		half = wide_of(q.beta) / 2;
		b1 = (long double) p.threshold_sensitivity /
			wide_of(p.threshold_epsilon);
		b2 = (long double) p.query_sensitivity / wide_of(p.query_epsilon);
		a = (long double) p.alpha - 1;
		/* with alpha - 1, no integer offset leaves half of beta to each */
		loose += a >= 0 &&
			ceill(b2 * logl((long double) q.questions / half)) - a - 1 <=
			a + 2 - ceill(b1 * logl((p.fresh ? (long double) q.cutoff : 1) /
									half));
	}
	tap_ok(loose == 0, "alpha is the least integer (%d not)", loose);
}

static void
test_best(void)
{
	stream		s = {UINT64_C(0xbe57be57be57be57)};
	int			wrong = 0;
	int			rounds = 0;
	int			i;

	for (i = 0; i < 300; i++)
	{
		dp_sparse_request q = random_request(&s);
		dp_sparse_plan p[4];
		int			m;

		for (m = DP_SPARSE_BEST; m <= DP_SPARSE_ROUNDS; m++)
		{
			q.method = (dp_sparse_method) m;
			if (dp_accounting_sparse_plan(&q, &p[m]) != DP_OK)
				exit(2);
		}
		m = p[DP_SPARSE_ROUNDS].alpha < p[DP_SPARSE_GEOMETRIC].alpha ?
			DP_SPARSE_ROUNDS : DP_SPARSE_GEOMETRIC;
		rounds += m == DP_SPARSE_ROUNDS;
		wrong += p[DP_SPARSE_BEST].method != (dp_sparse_method) m ||
			p[DP_SPARSE_BEST].alpha != p[m].alpha;
	}
	tap_ok(wrong == 0 && rounds > 20, "the best is the one of least alpha "
		   "(%d times rounds)", rounds);
}

static bool
same_scale(const dp_scale *a, const dp_scale *b)
{
	return memcmp(a->t, b->t, sizeof(a->t)) == 0 &&
		memcmp(a->s, b->s, sizeof(a->s)) == 0 && a->narrow == b->narrow;
}

static void
test_law(void)
{
	dp_sparse_request q = request_of(DP_SPARSE_GEOMETRIC, 100, 10, "1", "0",
									 "0.05");
	dp_sparse_plan plan;
	dp_threshold_law law = {0};
	dp_scale	scale;
	dp_rational e;

	q.numeric = true;
	q.sensitivity = 3;
	tap_ok(dp_accounting_sparse_plan(&q, &plan) == DP_OK &&
		   dp_accounting_sparse_law(&plan, &law) == DP_OK && law.numeric &&
		   !law.two_sided, "the law of a plan");
	e = ratio(plan.query_epsilon, DP_FIXED_ONE);
	tap_ok(dp_noise_scale_make(60, &e, &scale) == DP_OK &&
		   same_scale(&scale, &law.query),
		   "query noise has scale 2cD / e2");
	e = ratio(plan.threshold_epsilon, DP_FIXED_ONE);
	tap_ok(dp_noise_scale_make(3, &e, &scale) == DP_OK &&
		   same_scale(&scale, &law.threshold),
		   "threshold noise has scale D / e1");
	e = ratio(plan.answer_epsilon, DP_FIXED_ONE);
	tap_ok(dp_noise_scale_make(30, &e, &scale) == DP_OK &&
		   same_scale(&scale, &law.answer),
		   "answers' noise has scale cD / e3");
	plan.query_epsilon = 0;
	scale = law.query;
	tap_ok(dp_accounting_sparse_law(&plan, &law) == DP_E_RANGE &&
		   same_scale(&scale, &law.query),
		   "a plan without noise has no law; output untouched");
}

static bool
refuses(dp_sparse_request q, dp_status want)
{
	dp_sparse_plan plan;
	dp_sparse_plan before;

	memset(&plan, 0x5a, sizeof(plan));
	before = plan;
	return dp_accounting_sparse_plan(&q, &plan) == want &&
		memcmp(&plan, &before, sizeof(plan)) == 0;
}

static void
test_refusals(void)
{
	dp_sparse_request good = request_of(DP_SPARSE_BEST, 10, 3, "1", "1e-6",
										"0.05");
	dp_sparse_request q;
	dp_sparse_plan plan;
	dp_sparse_method method = DP_SPARSE_BOOK;
	bool		all = true;

#define REFUSES(change, status) \
	(q = good, change, all = refuses(q, status) && all)
	REFUSES(q.cutoff = 11, DP_E_RANGE);
	REFUSES(q.cutoff = 0, DP_E_RANGE);
	REFUSES(q.cutoff = -1, DP_E_RANGE);
	REFUSES((q.questions = 0, q.cutoff = 0), DP_E_RANGE);
	REFUSES(q.sensitivity = 0, DP_E_RANGE);
	REFUSES(q.epsilon = 0, DP_E_RANGE);
	REFUSES(q.epsilon = DP_FIXED_INFINITE, DP_E_RANGE);
	REFUSES((q.epsilon = 3, q.delta = 0), DP_E_RANGE);
	REFUSES(q.delta = DP_FIXED_ONE, DP_E_RANGE);
	REFUSES(q.beta = 0, DP_E_RANGE);
	REFUSES(q.beta = 1, DP_E_RANGE);
	REFUSES(q.beta = DP_FIXED_ONE, DP_E_RANGE);
	REFUSES(q.method = (dp_sparse_method) 4, DP_E_RANGE);
	REFUSES(q.method = (dp_sparse_method) -1, DP_E_RANGE);
	REFUSES(q.sensitivity = UINT64_MAX, DP_E_OVERFLOW);
	REFUSES((q.method = DP_SPARSE_GEOMETRIC,
			 q.sensitivity = UINT64_C(1) << 62), DP_E_OVERFLOW);
	REFUSES((q.method = DP_SPARSE_BOOK, q.delta = DP_FIXED_ONE / 10 * 9),
			DP_E_RANGE);
	tap_ok(all, "17 requests out of domain are refused, output untouched");
	tap_ok(dp_accounting_sparse_plan(&good, &plan) == DP_OK,
		   "a good one is not");
	tap_ok(dp_accounting_sparse_parse("rounds", &method) &&
		   method == DP_SPARSE_ROUNDS &&
		   !dp_accounting_sparse_parse("round", &method) &&
		   method == DP_SPARSE_ROUNDS &&
		   strcmp(dp_accounting_sparse_name(DP_SPARSE_BEST), "best") == 0 &&
		   dp_accounting_sparse_name((dp_sparse_method) 9) == NULL,
		   "methods have names");
}

int
main(void)
{
	test_oracle();
	test_random();
	test_least();
	test_best();
	test_law();
	test_refusals();
	return tap_done();
}
