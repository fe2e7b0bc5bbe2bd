/*
 * test_acct_convert.c
 *	  Costs of mechanisms in zCDP, and epsilon from rho: against the oracle,
 *	  against exact ceilings, on random arguments.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_support.h"
#include "epsilon_from_rho.h"

#include <float.h>
#include <math.h>

/*
 * Ceilings in units of 10^-24 of min(e, Pade, e - (1-e^-e) x / sinh x),
 * x = e / sensitivity, e = num/den, computed with 120 digits (mpmath).
 */
static const struct
{
	const char *sensitivity;
	const char *num;
	const char *den;
	const char *rho;
}			exact_laplace[] = {
	{"1", "1", "1",
	"462117157260009758502319"},
	{"1", "1", "2",
	"122459331201854564638901"},
	{"1", "3", "10",
	"44665510086995392291243"},
	{"1", "1", "10",
	"4995837495787997219839"},
	{"2", "1", "1",
	"393469340287366576396201"},
	{"7", "22", "7",
	"2217423246469075242662918"},
	{"1", "10", "1",
	"9999092042625951312109905"},
	{"3", "40", "1",
	"39999956810752204883758274"},
	{"1", "1", "1000000",
	"500000000000"},
	{"120", "1", "10",
	"4837429050146408130636"},
	{"1000", "1", "1",
	"367879546524856501790012"},
	{"1099511627776", "1", "10",
	"4837418035959573164250"},
	{"18446744073709551615", "1", "3",
	"49864643907122583758938"},
	{"170141183460469231731687303715884105733", "7", "10",
	"196585303791409514704801"},
	{"1", "133", "1",
	"133000000000000000000000000"},
	{"1", "255", "1",
	"255000000000000000000000000"},
	{"1", "256", "1",
	"256000000000000000000000000"},
	{"1", "257", "1",
	"257000000000000000000000000"},
	{"2", "512", "1",
	"512000000000000000000000000"},
	{"5", "1000", "1",
	"1000000000000000000000000000"},
	{"1", "100000000000000", "1",
	"100000000000000000000000000000000000000"},
	{"1", "1", "1000000000000",
	"1"},
	{"3", "1", "1000000000000",
	"1"},
	{"1000000", "1", "100000000000",
	"50"},
	{"1", "1267650600228229401496703205377", "1267650600228229401496703205376",
	"462117157260009758502319"},
	{"1", "1", "1208925819614629174706176",
	"1"},
	{"4", "999999999", "1000000000",
	"374416331444886325248688"},
	{"1", "1", "170141183460469231731687303715884105728",
	"1"},
	{"665496014309", "21841737", "1",
	"21841736000000000179527994210526"},
	{"338787163211036157970", "15", "922121677",
	"132304940"},
	{"1777", "9375837", "5945",
	"1576216356239857754157401766"},
	{"1937998524099880372775", "129380744228", "20665",
	"6260862500024195499637067505444"},
	{"36", "5217135715147607", "9680795",
	"538916041001550699090312314226260"},
	{"361019636182759743937", "46454908976", "423",
	"109822478848699763593380614657211"},
	{"7095335597557692396394", "1634614", "7353459747",
	"24704997510189614"},
	{"1948326839328910214581", "2922295637", "27606298751",
	"5410186472205058002790"},
	{"1286194966289", "388246103", "260495",
	"1489416718171174110827686895"},
	{"11727181", "46079080828414", "35004518443",
	"1315375224630525843773120210"},
	{"6336008107541988040", "40524944165947", "42864524601",
	"944419190884986061623438930"}
};

/* Sign of r den - num 10^24 for the Pade bound num/den of e = p/q. */
static int
compare_pade(dp_uint128 r, dp_uint128 p, dp_uint128 q)
{
	BN_CTX	   *ctx = BN_CTX_new();
	BIGNUM	   *num = big(q);	/* p^2 (60 q^2 + p^2) 10^24 */
	BIGNUM	   *den = big(q);	/* 2 q^2 (60 q^2 + 6 p^2) r */
	BIGNUM	   *t = big(p);
	int			sign;

	big_times(num, q);
	big_times(num, 60);
	big_times(t, p);
	need(BN_add(num, num, t));
	big_times(num, p);
	big_times(num, p);
	big_times(num, DP_FIXED_ONE);

	big_times(den, q);
	big_times(den, 60);
	need(BN_mul_word(t, 6) && BN_add(den, den, t));
	big_times(den, q);
	big_times(den, q);
	big_times(den, 2);
	big_times(den, r);
	sign = BN_cmp(den, num);
	BN_free(num);
	BN_free(den);
	BN_free(t);
	BN_CTX_free(ctx);
	return sign;
}

/* Whether r is exactly the ceiling of min(e, Pade). */
static bool
is_pure_ceiling(dp_uint128 r, dp_uint128 p, dp_uint128 q)
{
	bool		above_pade = compare_pade(r, p, q) >= 0;
	bool		above_e = compare_products(r, q, p, DP_FIXED_ONE) >= 0;
	bool		tight = r == 0 ||
		(compare_pade(r - 1, p, q) < 0 &&
		 compare_products(r - 1, q, p, DP_FIXED_ONE) < 0);

	return (above_pade || above_e) && tight;
}

/* Within the oracle's printed precision, and not below it. */
static bool
agrees(dp_fixed rho, const char *text)
{
	dp_fixed	ulp;
	dp_fixed	value = fixed_text(text, &ulp);

	return rho + ulp > value && rho <= value + ulp + 1;
}

static void
test_pure(void)
{
	csv_file	csv;
	stream		s = {77};
	int			bad = 0;
	int			i;

	for (csv_open(&csv, "pure_to_rho.csv"); csv_next(&csv);)
	{
		unsigned long long p;
		unsigned long long q;
		unsigned long long num;
		unsigned long long den;
		dp_rational e;
		dp_rational pade;
		dp_fixed	rho = 0;
		dp_fixed	want;
		dp_fixed	ceiling;
		dp_fixed	ulp;

		csv_fraction(&csv, "eps", &p, &q);
		csv_fraction(&csv, "rational_upper_exact", &num, &den);
		e = ratio(p, q);
		pade = ratio(num, den);
		if (dp_accounting_fixed_from_rational(&pade, DP_ROUND_UP,
											  &want) != DP_OK ||
			dp_accounting_fixed_from_rational(&e, DP_ROUND_UP,
											  &ceiling) != DP_OK)
			exit(2);
		if (ceiling < want)
			want = ceiling;
		tap_ok(dp_accounting_rho_from_pure(&e, &rho) == DP_OK && rho == want &&
			   rho + 1 > fixed_text(csv_text(&csv, "tight_eps_tanh"), &ulp),
			   "pure_to_rho eps=%s", csv_text(&csv, "eps"));
		/* sensitivity 1: the discrete law costs e tanh(e/2) */
		tap_ok(dp_accounting_rho_from_laplace(1, &e, &rho) == DP_OK &&
			   agrees(rho, csv_text(&csv, "tight_eps_tanh")),
			   "pure_to_rho tanh eps=%s", csv_text(&csv, "eps"));
	}
	tap_ok(csv.records == 10, "pure_to_rho.csv has 10 records");

	for (i = 0; i < 4000; i++)
	{
		dp_uint128	p = stream_wide(&s, i % 2 ? 128 : 40);
		dp_uint128	q = stream_wide(&s, i % 2 ? 128 : 40) + 1;
		dp_rational e;
		dp_fixed	rho = 5;
		dp_status	status;

		if (q == 0)
			q = 1;
		e = ratio(p, q);
		status = dp_accounting_rho_from_pure(&e, &rho);
		if (status == DP_E_OVERFLOW)
			bad += rho != 5 || compare_products(p, DP_FIXED_ONE,
												DP_FIXED_INFINITE - 1, q) <= 0;
		else
			bad += status != DP_OK || !is_pure_ceiling(rho, e.num, e.den);
	}
	tap_ok(bad == 0, "4000 random epsilons: exact ceilings (%d bad)", bad);
	tap_ok(!is_pure_ceiling(wide("462121212121212121212121"), 1, 1) &&
		   is_pure_ceiling(wide("462121212121212121212122"), 1, 1) &&
		   !is_pure_ceiling(wide("462121212121212121212123"), 1, 1),
		   "a unit too little and a unit too much are caught");
}

static void
test_laplace(void)
{
	csv_file	csv;
	int			continuous_caught = 0;
	size_t		i;

	for (csv_open(&csv, "discrete_laplace_rho.csv"); csv_next(&csv);)
	{
		unsigned long long t;
		unsigned long long u;
		unsigned long long d;
		unsigned long long one;
		dp_rational e;
		dp_fixed	rho = 0;
		dp_fixed	ulp;

		csv_fraction(&csv, "scale", &t, &u);
		csv_fraction(&csv, "Delta", &d, &one);
		e = ratio(d * u, t);
		tap_ok(dp_accounting_rho_from_laplace(d, &e, &rho) == DP_OK &&
			   agrees(rho, csv_text(&csv, "KL")) &&
			   agrees(rho, csv_text(&csv, "sup_renyi_over_alpha_grid")),
			   "discrete_laplace_rho b=%s Delta=%llu",
			   csv_text(&csv, "scale"), d);
		/* the continuous law's cost is no bound for the discrete one */
		if (!agrees(fixed_text(csv_text(&csv, "continuous_laplace_rho"),
							   &ulp), csv_text(&csv, "KL")))
			continuous_caught++;
	}
	tap_ok(csv.records == 24, "discrete_laplace_rho.csv has 24 records");
	tap_ok(continuous_caught == 24,
		   "the continuous formula is caught on every record");

	for (csv_open(&csv, "discrete_laplace_rho_closed.csv"); csv_next(&csv);)
	{
		unsigned long long t;
		unsigned long long u;
		unsigned long long d;
		unsigned long long one;
		dp_rational e;
		dp_fixed	rho = 0;

		csv_fraction(&csv, "scale", &t, &u);
		csv_fraction(&csv, "Delta", &d, &one);
		e = ratio(d * u, t);
		tap_ok(dp_accounting_rho_from_laplace(d, &e, &rho) == DP_OK &&
			   agrees(rho, csv_text(&csv, "closed_form")) &&
			   agrees(rho, csv_text(&csv, "summed_KL")),
			   "discrete_laplace_rho_closed b=%s Delta=%llu",
			   csv_text(&csv, "scale"), d);
	}
	tap_ok(csv.records == 24, "discrete_laplace_rho_closed.csv: 24 records");

	for (i = 0; i < sizeof(exact_laplace) / sizeof(exact_laplace[0]); i++)
	{
		dp_rational e = ratio(wide(exact_laplace[i].num),
							  wide(exact_laplace[i].den));
		dp_fixed	rho = 0;

		tap_ok(dp_accounting_rho_from_laplace(
				wide(exact_laplace[i].sensitivity),
											  &e, &rho) == DP_OK &&
			   rho == wide(exact_laplace[i].rho),
			   "Laplace, 24 digits: sensitivity %s, epsilon %s/%s",
			   exact_laplace[i].sensitivity, exact_laplace[i].num,
			   exact_laplace[i].den);
	}
}

/*
 * e - 1 + e^-e <= cost <= e tanh(e/2): the continuous law below, sensitivity
 * 1 above; in long double, with its rounding as slack.
 */
static void
test_laplace_random(void)
{
	stream		s = {4711};
	int			bad = 0;
	int			i;

	for (i = 0; i < 3000; i++)
	{
		dp_uint128	d = stream_wide(&s, 128);
		dp_uint128	n;
		dp_rational e;
		dp_fixed	rho = 0;
		dp_fixed	pure = 0;
		long double x;
		long double r;
		long double low;
		long double high;

		if (d == 0)
			d = 1;
		n = stream_wide(&s, 64) + 1;
		e = ratio(n, stream_wide(&s, i % 2 ? 100 : 60) + 1);
		x = (long double) e.num / (long double) e.den;
		if (x > 1e14L)
			continue;
		if (dp_accounting_rho_from_laplace(d, &e, &rho) != DP_OK ||
			dp_accounting_rho_from_pure(&e, &pure) != DP_OK)
		{
			bad++;
			continue;
		}
		r = (long double) rho / 1e24L;
		low = x < 1e-6L ? x * x / 2 * (1 - x / 3) : x + expm1l(-x);
		high = x * tanhl(x / 2);
		bad += rho > pure || rho == 0 ||
			r < low * (1 - 1e-12L) || r > high * (1 + 1e-17L) + 2e-24L;
	}
	tap_ok(bad == 0, "3000 random Laplace costs within their bounds (%d bad)",
		   bad);
}

static void
test_errors(void)
{
	dp_rational e = {1, 1};
	dp_rational zero = {0, 1};
	dp_rational huge = {~(dp_uint128) 0, 1};
	dp_rational broken = {1, 0};
	dp_fixed	rho = 9;

	tap_ok(dp_accounting_rho_from_laplace(0, &e,
										  &rho) == DP_E_RANGE && rho == 9,
		   "sensitivity 0");
	tap_ok(dp_accounting_rho_from_laplace(1, &zero,
										  &rho) == DP_E_RANGE && rho == 9,
		   "Laplace with epsilon 0");
	tap_ok(dp_accounting_rho_from_laplace(1, &huge, &rho) == DP_E_OVERFLOW &&
		   dp_accounting_rho_from_pure(&huge,
									   &rho) == DP_E_OVERFLOW && rho == 9,
		   "epsilon too large, untouched");
	tap_ok(dp_accounting_rho_from_laplace(1, &broken, &rho) == DP_E_RANGE &&
		   dp_accounting_rho_from_pure(&broken,
									   &rho) == DP_E_RANGE && rho == 9,
		   "denominator 0");
	tap_ok(dp_accounting_rho_from_pure(&zero, &rho) == DP_OK && rho == 0,
		   "pure epsilon 0 costs nothing");
}

/* Relative 1e-9, and not below the tight value. */
static bool
epsilon_good(double epsilon, long double tight)
{
	return epsilon <= tight * (1 + 1e-9L) && epsilon >= tight - 1e-12L;
}

static void
test_epsilon(void)
{
	csv_file	csv;
	int			underflows = 0;

	for (csv_open(&csv, "rho_to_eps.csv"); csv_next(&csv);)
	{
		double		rho = (double) csv_number(&csv, "rho");
		double		delta = (double) csv_number(&csv, "delta");
		double		epsilon = epsilon_from_rho(rho, delta);

		tap_ok(epsilon_good(epsilon, csv_number(&csv, "eps_tight")),
			   "rho_to_eps rho=%g delta=%g", rho, delta);
		if (csv.records == 1)
			tap_ok(!epsilon_good((double) csv_number(&csv, "eps_loose_BS16"),
								 csv_number(&csv, "eps_tight")) &&
				   !epsilon_good(epsilon * (1 - 1e-10),
								 csv_number(&csv, "eps_tight")),
				   "the loose conversion and too small a value are caught");
	}
	tap_ok(csv.records == 28, "rho_to_eps.csv has 28 records");

	for (csv_open(&csv, "rho_to_delta.csv"); csv_next(&csv);)
	{
		double		rho = (double) csv_number(&csv, "rho");
		double		delta = (double) csv_number(&csv, "delta_tight");
		double		epsilon = epsilon_from_rho(rho, delta);

		if (delta == 0)
		{
			underflows++;		/* below the range of double */
			tap_ok(isinf(epsilon), "rho_to_delta rho=%g: delta 0", rho);
		}
		else
			tap_ok(epsilon_good(epsilon, csv_number(&csv, "eps")),
				   "rho_to_delta rho=%g delta=%g", rho, delta);
	}
	tap_ok(csv.records == 25 && underflows == 3,
		   "rho_to_delta.csv: 25 records, 3 deltas below double");

	/* rho of filters.csv is a sum with 17 digits */
	for (csv_open(&csv, "filters.csv"); csv_next(&csv);)
	{
		double		delta = (double) csv_number(&csv, "delta_prime");

		tap_ok(epsilon_good(epsilon_from_rho
							((double) csv_number(&csv, "sum_half_eps2"),
							 delta),
							csv_number(&csv, "zcdp_eps_from_half_eps2")) &&
			   epsilon_good(epsilon_from_rho
							((double) csv_number(&csv, "sum_eps_tanh"),
							 delta), csv_number(&csv, "zcdp_eps_from_tanh")),
			   "filters %s delta=%g n=%s", csv_text(&csv, "sequence"), delta,
			   csv_text(&csv, "n"));
	}
	tap_ok(csv.records == 90, "filters.csv has 90 records");

	tap_ok(epsilon_from_rho(0, 1e-6) == 0 &&
		   epsilon_from_rho(1, 1) == 0 &&
		   isinf(epsilon_from_rho(1, 0)) &&
		   epsilon_from_rho(0, 0) == 0 &&
		   isinf(epsilon_from_rho((double) INFINITY, 0.5)),
		   "epsilon at the ends of the domain");
	tap_ok(isnan(epsilon_from_rho(-1, 0.5)) &&
		   isnan(epsilon_from_rho(1, -0.5)) &&
		   isnan(epsilon_from_rho((double) NAN, 0.5)) &&
		   isnan(epsilon_from_rho(1, (double) NAN)),
		   "epsilon outside the domain is NaN");
}

/* Against a golden-section search over ln(alpha - 1) in long double. */
static long double
searched_epsilon(long double rho, long double delta)
{
	const long double g = 0.61803398874989484820L;
	long double low = -60;
	long double high = 800;
	int			i;
	long double b;

	for (i = 0; i < 400; i++)
	{
		long double x[2];
		long double f[2];
		int			k;

		x[0] = high - g * (high - low);
		x[1] = low + g * (high - low);
		for (k = 0; k < 2; k++)
		{
			b = expl(x[k]);
			f[k] = rho * (1 + b) + (-logl(delta) - log1pl(b)) / b -
				log1pl(1 / b);
		}
		if (f[0] < f[1])
			high = x[1];
		else
			low = x[0];
	}
	b = expl((low + high) / 2);
	b = rho * (1 + b) + (-logl(delta) - log1pl(b)) / b - log1pl(1 / b);
	return b > 0 ? b : 0;
}

static void
test_epsilon_random(void)
{
	stream		s = {99};
	int			bad = 0;
	int			i;

	for (i = 0; i < 2000; i++)
	{
		double		rho = exp((double) stream_below(&s, 60000) / 1000 - 40);
		double		delta = exp(-(double) stream_below(&s, 700000) / 1000 -
								1e-3);
		double		epsilon = epsilon_from_rho(rho, delta);
		long double tight = searched_epsilon(rho, delta);

		if (!(epsilon >= tight * (1 - 1e-17L) &&
			  epsilon <= tight + 1e-9L * tight + 1e-15L))
		{
			if (bad++ < 5)
				tap_diag("rho %g delta %g: %.20g, searched %.20Lg", rho,
						 delta, epsilon, tight);
		}
	}
	tap_ok(bad == 0, "2000 random rho, delta against a search (%d bad)", bad);
}

int
main(void)
{
	test_pure();
	test_laplace();
	test_laplace_random();
	test_errors();
	test_epsilon();
	test_epsilon_random();
	return tap_done();
}
