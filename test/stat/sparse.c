/*
 * sparse.c
 *	  Sparse vector sessions as dp_accounting_sparse_plan makes them: exact
 *	  laws, exact and measured losses on neighbouring values, measured errors,
 *	  and the variants that these tests must reject.
 *
 * Rates: laws and audits as subject.h says; an error test fails a sound plan
 * with probability at most ERROR_ALPHA, 12 of them with less than 2e-10.
 * Exact losses are sums without chance.
 */
#include "sparse_broken.h"

#include "acct_support.h"

#define ERROR_ALPHA 1e-11
#define ERROR_RUNS 1000
#define PAIRS 60				/* random neighbours of an exact audit */

typedef struct sparse_case
{
	const char *name;
	const char *variant;		/* NULL: sound */
	int			by;
	sparse_defect defect;
	dp_sparse_method method;
	bool		monotone;		/* the flag that is given */
	bool		numeric;
	const char *epsilon;
	const char *delta;
	int64_t		cutoff;
	dp_int128	threshold;		/* the offset included */
	const char *values[2];		/* of neighbours */
	double		step;			/* of the answer, for an audit; 0: 1 */
	double		tight;			/* of the claim, that an audit has to see */
	int			runs;			/* of an audit; 0: SUBJECT_RUNS */
	int64_t		paid;			/* "above"s that are paid for; 0: cutoff */
} sparse_case;

static dp_sparse_plan
plan_of(const sparse_case *c, int64_t questions)
{
	dp_sparse_request q = {0};
	dp_sparse_plan plan;

	q.method = c->method;
	q.sensitivity = 1;
	q.monotone = c->monotone;
	q.numeric = c->numeric;
	q.questions = questions;
	q.cutoff = c->paid > 0 ? c->paid : c->cutoff;
	q.epsilon = fixed(c->epsilon);
	q.delta = fixed(c->delta);
	q.beta = fixed("0.05");
	subject_check(dp_accounting_sparse_plan(&q, &plan));
	return plan;
}

static subject
subject_of(const sparse_case *c, sparse_input *pair)
{
	subject		s = {sparse_play, {&pair[0], &pair[1]},
		c->numeric || c->defect == SPARSE_NOISY_VALUE ? 2 : 1, {8, 0}, 1,
	0, 0, c->runs};
	dp_sparse_plan plan;
	int			i;

	memset(pair, 0, 2 * sizeof(*pair));
	for (i = 0; i < 2; i++)
	{
		session_values(&pair[i].s, c->values[i]);
		pair[i].s.threshold = c->threshold;
		plan = plan_of(c, pair[i].s.n);
		sparse_prepare(&plan, c->cutoff, c->defect, &pair[i]);
	}
	s.epsilon = dp_accounting_fixed_approx(plan.charge.epsilon);
	s.delta = dp_accounting_fixed_approx(plan.charge.delta);
	if (s.numbers == 2)
	{
		/* quadrants tell the last value's "above" from the others' */
		s.centre[0] = (1 << (pair[0].s.n - 1)) - 1;
		s.centre[1] = (double) pair[0].s.values[0];
		s.step = c->step > 0 ? c->step : 1;
	}
	else
		s.centre[0] = 32;
	return s;
}

/* The law of the number that a sound session of this input releases. */
static void
law_of(const sparse_case *c, const sparse_input *in, law *l)
{
	static char outcome[SESSION_OUTCOMES][SESSION_VALUES + 1];
	sparse_case sound = *c;
	sparse_input right = *in;
	dp_sparse_plan plan;
	double		p[SESSION_OUTCOMES] = {0};
	int			n;
	int			i;
	int			j;

	sound.defect = SPARSE_SOUND;
	plan = plan_of(&sound, in->s.n);
	sparse_prepare(&plan, c->cutoff, SPARSE_SOUND, &right);
	n = session_outcomes(&right.s, outcome);
	for (i = 0; i < n; i++)
	{
		int			bits = 0;

		for (j = 0; outcome[i][j] != '\0'; j++)
			bits += outcome[i][j] == 'T' ? 1 << j : 0;
		p[bits] = session_probability(&right.s, outcome[i]);
	}
	law_begin(l, 0);
	for (i = 0; i < 1 << right.s.n; i++)
		law_add(l, 1, p[i]);
}

/* ---- sound plans ---- */

#define GEOMETRIC DP_SPARSE_GEOMETRIC
#define ROUNDS DP_SPARSE_ROUNDS
#define BOOK DP_SPARSE_BOOK

static const sparse_case sound_cases[] = {
	{"geometric", NULL, 0, SPARSE_SOUND, GEOMETRIC, false, false, "2", "0",
	2, 6, {"0 0 0 0 4 4", "1 1 1 1 3 3"}, 0, .3, 0, 0},
	{"geometric, one above", NULL, 0, SPARSE_SOUND, GEOMETRIC, false, false,
	"1", "0", 1, 6, {"0 0 0 0 0 2", "1 1 1 1 1 1"}, 0, .3, 0, 0},
	{"geometric, monotone, up", NULL, 0, SPARSE_SOUND, GEOMETRIC, true,
	false, "2", "0", 2, 4, {"0 0 0 0 3 3", "1 1 1 1 3 3"}, 0, .2, 0, 0},
	{"geometric, monotone, down", NULL, 0, SPARSE_SOUND, GEOMETRIC, true,
	false, "2", "0", 3, 4, {"1 1 1 1 1", "0 0 0 0 0"}, 0, .3, 0, 0},
	{"geometric, numeric", NULL, 0, SPARSE_SOUND, GEOMETRIC, false, true,
	"3", "0", 1, 3, {"2 1 1", "1 0 0"}, 1, .25, 0, 0},
	{"rounds", NULL, 0, SPARSE_SOUND, ROUNDS, false, false, "2", "0", 2, 5,
	{"0 0 0 0 4 4", "1 1 1 1 3 3"}, 0, .2, 0, 0},
	{"rounds, delta", NULL, 0, SPARSE_SOUND, ROUNDS, false, false, "1",
	"0.05", 3, 4, {"0 0 3 0 3 3", "1 1 2 1 2 2"}, 0, 0, 0, 0},
	{"rounds, monotone, numeric", NULL, 0, SPARSE_SOUND, ROUNDS, true, true,
	"3", "0", 1, 3, {"2 1 1", "1 0 0"}, 1, .2, 0, 0},
	{"book, Algorithm 1", NULL, 0, SPARSE_SOUND, BOOK, false, false, "1",
	"0", 1, 3, {"0 0 0 0 0 3", "1 1 1 1 1 2"}, 0, .2, 0, 0},
	{"book, Algorithm 2", NULL, 0, SPARSE_SOUND, BOOK, false, false, "2",
	"0", 2, 3, {"0 0 0 0 3 3", "1 1 1 1 2 2"}, 0, .1, 0, 0},
	{"book, Algorithm 2, delta", NULL, 0, SPARSE_SOUND, BOOK, false, false,
	"1", "0.05", 3, 3, {"0 0 3 0 3 3", "1 1 2 1 2 2"}, 0, 0, 0, 0},
	{"book, Algorithm 3", NULL, 0, SPARSE_SOUND, BOOK, false, true, "3", "0",
	1, 1, {"2 1 1", "1 0 0"}, 4, .05, 0, 0},
};

static void
test_sound(void)
{
	sparse_input pair[2];
	size_t		i;

	for (i = 0; i < sizeof(sound_cases) / sizeof(sound_cases[0]); i++)
	{
		const sparse_case *c = &sound_cases[i];
		subject		s = subject_of(c, pair);
		law			l;

		law_of(c, &pair[0], &l);
		accept_law(c->name, &s, &l);
		accept_audit(c->name, &s, c->tight);
	}
}

/* ---- exact losses ---- */

/*
 * The delta that a loss of epsilon leaves between two laws, and the largest
 * loss of an outcome.
 */
static double
exact_loss(const law *one, const law *other, double epsilon, double *delta)
{
	double		worst = 0;
	double		sum = 0;
	int			i;

	for (i = 0; i < one->cells; i++)
	{
		double		p = one->probability[i];
		double		q = other->probability[i];

		/* below that, sums of 17 digits have no digit left */
		if (p > 1e-9)
			worst = fmax(worst, log(p / q));
		sum += fmax(0, p - exp(epsilon) * q);
	}
	*delta = sum;
	return worst;
}

/* Random values and random moves, all the same way when monotone. */
static void
random_pair(stream *random, const sparse_case *c, bool monotone,
			sparse_input *pair)
{
	int			n = 2 + (int) stream_below(random, 4);
	int			way = stream_below(random, 2) == 0 ? 1 : -1;
	int			i;

	if (n < c->cutoff)
		n = (int) c->cutoff;
	for (i = 0; i < n; i++)
	{
		int			x = (int) stream_below(random, 13) - 6;
		int			move = (int) stream_below(random, 3) - 1;

		pair[0].s.values[i] = x;
		pair[1].s.values[i] = x + (monotone ? way * abs(move) : move);
	}
	pair[0].s.n = pair[1].s.n = n;
	pair[0].s.threshold = pair[1].s.threshold =
		(dp_int128) stream_below(random, 9) - 2;
}

/* The worst of PAIRS pairs: its loss over the claim, its delta. */
static double
exact_audit(const sparse_case *c, bool monotone, double *delta)
{
	stream		random = {UINT64_C(0x5eed0f5ba45e)};
	double		worst = 0;
	int			i;

	*delta = 0;
	for (i = 0; i < PAIRS; i++)
	{
		sparse_input pair[2];
		dp_sparse_plan plan;
		double		claim;
		double		d;
		law			l[2];
		int			side;

		memset(pair, 0, sizeof(pair));
		random_pair(&random, c, monotone, pair);
		plan = plan_of(c, pair[0].s.n);
		claim = dp_accounting_fixed_approx(plan.charge.epsilon);
		for (side = 0; side < 2; side++)
			law_of(c, &pair[side], &l[side]);
		for (side = 0; side < 2; side++)
		{
			worst = fmax(worst, exact_loss(&l[side], &l[1 - side], claim,
										   &d) / claim);
			*delta = fmax(*delta, d);
		}
	}
	return worst;
}

/* Three rounds at the price of one: delta says so. */
static void
test_unpaid(void)
{
	sparse_case c = {"rounds, delta", NULL, 0, SPARSE_SOUND, ROUNDS, false,
	false, "1", "0.001", 3, 4, {"", ""}, 0, 0, 0, 0};
	double		delta;

	(void) exact_audit(&c, false, &delta);
	tap_ok(delta <= .001, "exact loss: rounds at delta 0.001: %.2g", delta);
	c.paid = 1;
	(void) exact_audit(&c, false, &delta);
	table_reject(delta > .002, c.name, "paid for one \"above\" of three",
				 "exact delta", "%.3g of 0.001", delta);
}

static void
test_exact(void)
{
	size_t		i;
	double		delta;
	double		worst;

	for (i = 0; i < sizeof(sound_cases) / sizeof(sound_cases[0]); i++)
	{
		const sparse_case *c = &sound_cases[i];
		double		claimed = strtod(c->delta, NULL);

		worst = exact_audit(c, c->monotone && c->method != BOOK, &delta);
		tap_ok(claimed > 0 ? delta <= claimed :
			   worst <= 1 + 1e-7 && delta <= 1e-9,
			   "exact loss: %s: %.3f of the claim, delta %.2g of %.2g",
			   c->name, worst, delta, claimed);
	}
	test_unpaid();
	for (i = 0; i < sizeof(sound_cases) / sizeof(sound_cases[0]); i++)
	{
		sparse_case c = sound_cases[i];

		if (c.method != GEOMETRIC || c.monotone || c.numeric)
			continue;
		c.monotone = true;
		worst = exact_audit(&c, false, &delta);
		table_reject(worst > 1.001, c.name, "wrong monotone flag",
					 "exact loss", "%.3f of the claim", worst);
	}
}

/* ---- variants ---- */

static const sparse_case broken_cases[] = {
	{"geometric", "no cutoff", BY_LAW | BY_AUDIT, SPARSE_NO_CUTOFF,
	GEOMETRIC, false, false, "1", "0", 1, 1,
	{"0 0 1 1 1 1", "1 1 0 0 0 0"}, 0, 0, 0, 0},
	{"geometric", "no noise at the queries", BY_LAW | BY_AUDIT,
	SPARSE_NO_QUERY_NOISE, GEOMETRIC, false, false, "1", "0", 1, -1,
	{"0 1 0", "1 0 0"}, 0, 0, 0, 0},
	{"geometric", "query noise without the cutoff", BY_LAW | BY_AUDIT,
	SPARSE_NOISE_WITHOUT_C, GEOMETRIC, false, false, "1", "0", 4, 1,
	{"0 0 1 1 1 1", "1 1 0 0 0 0"}, 0, 0, 0, 0},
	{"geometric", "the compared noisy value released", BY_AUDIT,
	SPARSE_NOISY_VALUE, GEOMETRIC, false, false, "1", "0", 2, 0,
	{"0 1", "1 0"}, 1, 0, 0, 0},
	{"rounds", "no cutoff", BY_LAW | BY_AUDIT, SPARSE_NO_CUTOFF, ROUNDS,
	false, false, "1", "0", 1, 1, {"0 0 1 1 1 1", "1 1 0 0 0 0"}, 0, 0, 0, 0},
	{"rounds", "the threshold kept", BY_LAW, SPARSE_REUSED, ROUNDS, false,
	false, "1", "0", 6, 1, {"0 0 0 1 1 1", "1 1 1 0 0 0"}, 0, 0, 0, 0},
	{"rounds", "scale halved", BY_LAW | BY_AUDIT, SPARSE_HALVED, ROUNDS,
	false, false, "1", "0", 1, 1, {"0 0 1 1 1 1", "1 1 0 0 0 0"}, 0, 0, 0, 0},
	{"rounds", "the compared noisy value released", BY_AUDIT,
	SPARSE_NOISY_VALUE, ROUNDS, false, false, "1", "0", 2, 0,
	{"0 1", "1 0"}, 1, 0, 0, 0},
	{"rounds, numeric", "the true value answered", BY_AUDIT,
	SPARSE_TRUE_ANSWER, ROUNDS, false, true, "3", "0", 1, 2,
	{"2 1 1", "1 0 0"}, 1, 0, 0, 0},
	{"book", "no cutoff", BY_LAW | BY_AUDIT, SPARSE_NO_CUTOFF, BOOK,
	false, false, "4", "0", 1, 1, {"0 0 1 1 1 1", "1 1 0 0 0 0"}, 0, 0, 0, 0},
	{"book", "no noise at the queries", BY_LAW | BY_AUDIT,
	SPARSE_NO_QUERY_NOISE, BOOK, false, false, "1", "0", 1, 0,
	{"0 1 0", "1 0 0"}, 0, 0, 0, 0},
	{"book", "the compared noisy value released", BY_AUDIT,
	SPARSE_NOISY_VALUE, BOOK, false, false, "3", "0", 1, 0,
	{"0 0 0 0 0 0 0 1", "1 1 1 1 1 1 1 0"}, 1, 0, 2000000, 0},
	{"geometric", "one \"above\" more", BY_LAW, SPARSE_ONE_MORE, GEOMETRIC,
	false, false, "2", "0", 1, 4, {"3 3 3 3", "2 2 2 2"}, 0, 0, 0, 0},
	{"geometric", "no noise at the threshold", BY_LAW | BY_AUDIT,
	SPARSE_NO_THRESHOLD_NOISE, GEOMETRIC, false, false, "1", "0", 1, 1,
	{"0 0 0 0 0 0", "1 1 1 1 1 1"}, 0, 0, 0, 0},
	{"geometric", "scale halved", BY_LAW | BY_AUDIT, SPARSE_HALVED,
	GEOMETRIC, false, false, "1", "0", 1, 1,
	{"0 0 1 1 1 1", "1 1 0 0 0 0"}, 0, 0, 0, 0},
	{"geometric, numeric", "the true value answered", BY_AUDIT,
	SPARSE_TRUE_ANSWER, GEOMETRIC, false, true, "3", "0", 1, 2,
	{"2 1 1", "1 0 0"}, 1, 0, 0, 0},
};

static void
test_broken(void)
{
	sparse_input pair[2];
	size_t		i;

	for (i = 0; i < sizeof(broken_cases) / sizeof(broken_cases[0]); i++)
	{
		const sparse_case *c = &broken_cases[i];
		subject		s = subject_of(c, pair);
		law			l;

		law_of(c, &pair[0], &l);
		reject(c->name, c->variant, c->by, &s, &l);
	}
}

/* ---- errors: k = 1000, c = 10 ---- */

/*
 * Does a session over the worst values of a plan break its promise?  "Below"
 * is due at threshold - alpha - 1, and at every hundredth question "above" at
 * threshold + alpha + 1.
 */
static bool
breaks(const dp_threshold_law *l, const dp_sparse_plan *plan, int64_t k,
	   int64_t c)
{
	const dp_int128 alpha = (dp_int128) plan->alpha;
	dp_int128	armed;
	int64_t		i;

	subject_check(dp_noise_threshold_arm(&source, l, plan->offset, &armed));
	for (i = 1; i <= k; i++)
	{
		bool		due = i % (k / c) == 0;
		dp_int128	value = due ? alpha + 1 : -alpha - 1;
		dp_int128	answer = value;
		bool		above;

		subject_check(dp_noise_threshold_test(&source, l, armed, value,
											  &above));
		if (above != due)
			return true;
		if (above && plan->numeric)
			subject_check(dp_noise_threshold_answer(&source, l, value,
													&answer));
		if (answer - value > alpha || value - answer > alpha)
			return true;
		if (above && plan->fresh)
			subject_check(dp_noise_threshold_arm(&source, l, plan->offset,
												 &armed));
	}
	return false;
}

static int
broken_promises(const dp_threshold_law *l, const dp_sparse_plan *plan)
{
	int			count = 0;
	int			i;

	for (i = 0; i < ERROR_RUNS; i++)
		count += breaks(l, plan, 1000, 10);
	return count;
}

static void
test_errors(void)
{
	static const struct
	{
		const char *name;
		dp_sparse_method method;
		bool		monotone;
		bool		numeric;
		const char *delta;
	}			c[] = {
		{"geometric", GEOMETRIC, false, false, "0"},
		{"geometric, monotone", GEOMETRIC, true, false, "0"},
		{"geometric, numeric", GEOMETRIC, false, true, "0"},
		{"rounds", ROUNDS, false, false, "0"},
		{"rounds, delta", ROUNDS, false, false, "0.01"},
		{"rounds, delta, numeric", ROUNDS, false, true, "0.01"},
		{"book", BOOK, false, false, "0"},
		{"book, numeric", BOOK, false, true, "0"},
	};
	size_t		i;

	for (i = 0; i < sizeof(c) / sizeof(c[0]); i++)
	{
		sparse_case x = {0};
		dp_sparse_plan plan;
		dp_threshold_law l;
		double		low;
		int			count;
		int			strong;

		x.method = c[i].method;
		x.monotone = c[i].monotone;
		x.numeric = c[i].numeric;
		x.epsilon = "1";
		x.delta = c[i].delta;
		x.cutoff = 10;
		plan = plan_of(&x, 1000);
		subject_check(dp_accounting_sparse_law(&plan, &l));
		count = broken_promises(&l, &plan);
		low = count == 0 ? 0 :
			binomial_p_lower(ERROR_RUNS, count, ERROR_ALPHA);
		tap_ok(low <= 0.05, "error, %s: alpha %lld broken by %d of %d "
			   "sessions, 5%% promised", c[i].name, (long long) plan.alpha,
			   count, ERROR_RUNS);

		/* a quarter of alpha is not kept; nor are less than 1000 needed */
		plan.alpha /= 4;
		plan.offset /= 4;
		strong = broken_promises(&l, &plan);
		low = binomial_p_lower(ERROR_RUNS, strong, ERROR_ALPHA);
		table_reject(low > 0.05, "sparse vector's error", c[i].name,
					 "error test", "a quarter of alpha: %d of %d", strong,
					 ERROR_RUNS);
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_sound();
	test_exact();
	test_broken();
	test_errors();
	return table_done();
}
