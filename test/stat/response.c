/*
 * response.c
 *	  Randomized response, of booleans, of k candidates and by the book's two
 *	  coins: exact laws, audits, and the variants these must reject.
 *
 * A row's neighbour is the row with any other answer.  Rates: as subject.h
 * says.
 */
#include "csv.h"
#include "mech_choice.h"

#include "subject.h"

#define LOG_3 1.0986122886681098

typedef struct response
{
	dp_rational epsilon;
	uint64_t	truth;
	uint64_t	candidates;
	uint64_t	second;			/* another row's truth */
} response;

static bool
coin_exp(const response *c)
{
	bool		success;

	subject_check(dp_noise_bernoulli_exp(&source, &c->epsilon, &success));
	return success;
}

static double
below(uint64_t n)
{
	uint64_t	value;

	subject_check(dp_noise_uniform_below(&source, n, &value));
	return (double) value;
}

static bool
draw_boolean(void *state, double *out)
{
	const response *c = state;
	bool		answer;

	subject_check(dp_noise_randomized_response(&source, &c->epsilon,
											   c->truth == 1, &answer));
	out[0] = answer;
	return true;
}

static bool
draw_coins(void *state, double *out)
{
	const response *c = state;
	bool		answer;

	subject_check(dp_noise_two_coins(&source, c->truth == 1, &answer));
	out[0] = answer;
	return true;
}

static bool
draw_among(void *state, double *out)
{
	const response *c = state;
	uint64_t	answer;

	subject_check(dp_noise_randomized_response_among(&source, &c->epsilon,
													 c->truth, c->candidates,
													 &answer));
	out[0] = (double) answer;
	return true;
}

/* ---- broken ---- */

/* A fair coin decides: private, but nobody learns anything. */
static bool
broken_fair(void *state, double *out)
{
	(void) state;
	out[0] = below(2);
	return true;
}

/* Flipped with probability exp(-epsilon). */
static bool
broken_flip(void *state, double *out)
{
	const response *c = state;

	out[0] = (double) (coin_exp(c) ? 1 - c->truth : c->truth);
	return true;
}

/* Tails answer no: the second coin is forgotten. */
static bool
broken_one_coin(void *state, double *out)
{
	const response *c = state;

	out[0] = below(2) == 1 ? (double) c->truth : 0;
	return true;
}

/* The second coin is the first one again: tails answer tails. */
static bool
broken_same_coin(void *state, double *out)
{
	const response *c = state;
	double		coin = below(2);

	out[0] = coin == 1 ? (double) c->truth : coin;
	return true;
}

/* Two rows share their coins. */
static bool
broken_coins_reused(void *state, double *out)
{
	const response *c = state;
	bool		kept;

	subject_check(dp_noise_randomized_response(&source, &c->epsilon, true,
											   &kept));
	out[0] = (double) (kept ? c->truth : 1 - c->truth);
	out[1] = (double) (kept ? c->second : 1 - c->second);
	return true;
}

/* One row is asked twice, each time at the whole epsilon. */
static bool
broken_asked_twice(void *state, double *out)
{
	return draw_boolean(state, out) && draw_boolean(state, out + 1);
}

/* The probability rounded up to a tenth. */
static bool
broken_tenths(void *state, double *out)
{
	const response *c = state;
	double		e = (double) c->epsilon.num / (double) c->epsilon.den;

	out[0] = (double) (below(10) < ceil(10 / (1 + exp(-e))) ? c->truth :
					   1 - c->truth);
	return true;
}

/* Keeps with that probability; else one of all, or of the others. */
static bool
among_by_hand(const response *c, double kept, bool others, double *out)
{
	double		pick = below(others ? c->candidates - 1 : c->candidates);

	if (below(UINT64_C(1) << 40) < kept * 0x1p40)
		out[0] = (double) c->truth;
	else
		out[0] = others && pick >= (double) c->truth ? pick + 1 : pick;
	return true;
}

static double
exp_epsilon(const response *c)
{
	return exp((double) c->epsilon.num / (double) c->epsilon.den);
}

/* e^eps / (e^eps + k - 2). */
static bool
broken_normaliser(void *state, double *out)
{
	const response *c = state;
	double		e = exp_epsilon(c);

	return among_by_hand(c, e / (e + (double) c->candidates - 2), true, out);
}

/* The coin for two candidates, used for k of them. */
static bool
broken_binary_coin(void *state, double *out)
{
	const response *c = state;
	double		e = exp_epsilon(c);

	return among_by_hand(c, e / (e + 1), true, out);
}

/* The lie is drawn among all, the truth included. */
static bool
broken_lie_may_be_true(void *state, double *out)
{
	const response *c = state;
	double		e = exp_epsilon(c);

	return among_by_hand(c, e / (e + (double) c->candidates - 1), false, out);
}

/* The lie is the truth's neighbour in the list. */
static bool
broken_lie_next(void *state, double *out)
{
	const response *c = state;
	double		e = exp_epsilon(c);

	out[0] = (double) c->truth;
	if (below(UINT64_C(1) << 40) >=
		e / (e + (double) c->candidates - 1) * 0x1p40)
		out[0] = (double) ((c->truth + 1) % c->candidates);
	return true;
}

/* An answer that is no candidate is passed on as it is. */
static bool
broken_stranger_passed(void *state, double *out)
{
	const response *c = state;

	if (c->truth < c->candidates)
		return draw_among(state, out);
	out[0] = (double) c->truth;
	return true;
}

/* ---- laws ---- */

static response
response_of(const char *epsilon, uint64_t truth, uint64_t candidates)
{
	response	c = {choice_rational(epsilon), truth, candidates, 0};

	return c;
}

static void
response_law(const response *c, law *l)
{
	double		e = exp_epsilon(c);
	uint64_t	i;

	law_begin(l, 0);
	for (i = 0; i < c->candidates; i++)
		law_add(l, 1, (i == c->truth ? e : 1) /
				(e + (double) c->candidates - 1));
}

static void
test_laws(void)
{
	static const struct
	{
		const char *epsilon;
		uint64_t	candidates;
	}			k[] = {{"1", 2}, {"1", 3}, {"1/2", 5}, {"3", 7}, {"1/10", 20}};
	csv_file	csv;
	response	c;
	subject		s = {draw_boolean, {&c, &c}, 1, {0, 0}, 1, 0, 0, 0};
	law			l;
	char		label[128];
	uint64_t	truth;
	size_t		i;

	csv_open(&csv, "randomized_response.csv");
	while (csv_next(&csv))
		for (truth = 0; truth < 2; truth++)
		{
			double		kept = (double) csv_number(&csv, "p_truth");

			c = response_of(csv_text(&csv, "eps"), truth, 2);
			law_begin(&l, 0);
			law_add(&l, 1, truth == 0 ? kept : 1 - kept);
			law_add(&l, 1, truth == 1 ? kept : 1 - kept);
			snprintf(label, sizeof(label), "randomized_response.csv, "
					 "epsilon %s, truth %d", csv_text(&csv, "eps"),
					 (int) truth);
			s.draw = draw_boolean;
			accept_law(label, &s, &l);
			if (fabs(kept - 0.75) > 1e-15)
				continue;
			snprintf(label, sizeof(label), "two coins, truth %d",
					 (int) truth);
			s.draw = draw_coins;
			accept_law(label, &s, &l);
		}
	tap_ok(csv.records == 5, "randomized_response.csv has 5 records");
	s.draw = draw_among;
	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
		for (truth = 0; truth < k[i].candidates;
			 truth += k[i].candidates - 1)
		{
			c = response_of(k[i].epsilon, truth, k[i].candidates);
			response_law(&c, &l);
			snprintf(label, sizeof(label), "%d candidates, epsilon %s, "
					 "truth %d", (int) k[i].candidates, k[i].epsilon,
					 (int) truth);
			accept_law(label, &s, &l);
		}
}

/* ---- audits ---- */

static void
test_sound(void)
{
	static const char *const epsilon[] = {"1/10", "1", "3"};
	response	pair[2];
	subject		s = {draw_boolean, {&pair[0], &pair[1]}, 1, {0, 0}, 1, 0,
	0, 0};
	char		label[128];
	size_t		i;

	for (i = 0; i < sizeof(epsilon) / sizeof(epsilon[0]); i++)
	{
		uint64_t	k;

		for (k = 2; k < 20; k += 5)
		{
			pair[0] = response_of(epsilon[i], 0, k);
			pair[1] = response_of(epsilon[i], k - 1, k);
			s.draw = k == 2 ? draw_boolean : draw_among;
			s.epsilon = log(exp_epsilon(&pair[0]));
			snprintf(label, sizeof(label), "randomized response of %d "
					 "candidates, epsilon %s", (int) k, epsilon[i]);
			accept_audit(label, &s, k == 2 || i > 0 ? SUBJECT_TIGHT : 0);
		}
	}
	s.draw = draw_coins;
	s.epsilon = LOG_3;
	pair[0] = response_of("1", 0, 2);
	pair[1] = response_of("1", 1, 2);
	accept_audit("two coins", &s, SUBJECT_TIGHT);
}

/* ---- variants ---- */

static void
test_broken_booleans(void)
{
	static const char mechanism[] = "randomized response";
	response	pair[2] = {response_of("1", 1, 2), response_of("1", 0, 2)};
	subject		s = {NULL, {&pair[0], &pair[1]}, 1, {0, 0}, 1, 1, 0, 0};
	law			l;

	response_law(&pair[0], &l);
	s.draw = broken_fair;
	reject(mechanism, "kept with probability 1/2", BY_LAW, &s, &l);
	s.draw = broken_tenths;
	reject(mechanism, "probability rounded to a tenth", BY_LAW | BY_AUDIT,
		   &s, &l);
	s.draw = draw_boolean;
	pair[0] = response_of("2", 1, 2);
	pair[1] = response_of("2", 0, 2);
	reject(mechanism, "scale halved", BY_LAW | BY_AUDIT, &s, &l);
	pair[0] = response_of("1/10", 1, 2);
	pair[1] = response_of("1/10", 0, 2);
	response_law(&pair[0], &l);
	s.epsilon = 0.1;
	s.draw = broken_flip;
	reject(mechanism, "flipped with probability exp(-epsilon)",
		   BY_LAW | BY_AUDIT, &s, &l);
	s.epsilon = 1;
	s.numbers = 2;
	pair[0] = response_of("1", 1, 2);
	pair[1] = response_of("1", 0, 2);
	s.draw = broken_asked_twice;
	reject(mechanism, "one row asked twice", BY_AUDIT, &s, NULL);
	s.draw = broken_coins_reused;
	reject(mechanism, "noise reused across rows", BY_AUDIT, &s, NULL);

	s.numbers = 1;
	s.epsilon = LOG_3;
	law_begin(&l, 0);
	law_add(&l, 1, 0.25);
	law_add(&l, 1, 0.75);
	s.draw = broken_one_coin;
	reject("two coins", "second coin forgotten", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = broken_same_coin;
	reject("two coins", "first coin read twice", BY_LAW | BY_AUDIT, &s, &l);
}

static void
test_broken_candidates(void)
{
	static const struct
	{
		const char *variant;
		int			by;
		subject_draw draw;
	}			broken[] = {
		{"normaliser k - 2 for k - 1", BY_LAW | BY_AUDIT, broken_normaliser},
		{"coin of two candidates for k", BY_LAW | BY_AUDIT,
		broken_binary_coin},
		{"lie may be the truth", BY_LAW | BY_AUDIT, broken_lie_may_be_true},
		{"lie is the next candidate", BY_LAW | BY_AUDIT, broken_lie_next}
	};
	static const char mechanism[] = "randomized response, k candidates";
	response	pair[2] = {response_of("1", 0, 4), response_of("1", 3, 4)};
	subject		s = {NULL, {&pair[0], &pair[1]}, 1, {0, 0}, 1, 1, 0, 0};
	law			l;
	size_t		i;

	response_law(&pair[0], &l);
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
	{
		s.draw = broken[i].draw;
		reject(mechanism, broken[i].variant, broken[i].by, &s, &l);
	}
	s.draw = draw_among;
	pair[0] = response_of("2", 0, 4);
	pair[1] = response_of("2", 3, 4);
	reject(mechanism, "scale halved", BY_LAW | BY_AUDIT, &s, &l);
	s.draw = broken_stranger_passed;
	pair[0] = response_of("1", 0, 4);
	pair[1] = response_of("1", 9, 4);
	reject(mechanism, "value that is no candidate passed on", BY_AUDIT, &s,
		   NULL);
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_laws();
	test_sound();
	test_broken_booleans();
	test_broken_candidates();
	return table_done();
}
