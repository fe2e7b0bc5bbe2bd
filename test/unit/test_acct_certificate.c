/*
 * test_acct_certificate.c
 *	  The certificate search and its checker: against the oracle, against
 *	  exact thresholds, on random budgets; and that wrong inequalities are
 *	  caught by the same checks.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_support.h"
#include "epsilon_from_rho.h"

#include <math.h>

typedef struct prover
{
	dp_status	(*find) (dp_fixed epsilon, dp_fixed delta, dp_fixed *rho,
						 uint64_t *alpha);
	bool		(*check) (dp_fixed epsilon, dp_fixed delta, dp_fixed rho,
						  uint64_t alpha);
} prover;

/* What a prover got wrong, check by check. */
typedef struct faults
{
	int			oracle_refused; /* a certificate of the oracle */
	int			perturbed_taken;	/* the same with rho (1 + 1e-6) */
	int			suboptimal;		/* more than 1e-9 short of the optimum */
	int			above;			/* above the optimum */
	int			unproved;		/* find's answer not accepted by the checker */
	int			records;
} faults;

/* floor(x 10^24 / 2^64) for decimal digits x. */
static dp_fixed
from_binary(const char *digits)
{
	dp_rational r = ratio(wide(digits), (dp_uint128) 1 << 64);
	dp_fixed	f = 0;

	if (dp_accounting_fixed_from_rational(&r, DP_ROUND_DOWN, &f) != DP_OK)
		exit(2);
	return f;
}

static faults
examine(const prover *p)
{
	faults		f = {0, 0, 0, 0, 0, 0};
	csv_file	csv;

	for (csv_open(&csv, "filter_certificates.csv"); csv_next(&csv);)
	{
		dp_fixed	e = fixed(csv_text(&csv, "eps"));
		dp_fixed	d = fixed(csv_text(&csv, "delta_conv"));
		dp_fixed	rho = from_binary(csv_text(&csv, "rhoB_times_2^64"));
		uint64_t	alpha = strtoull(csv_text(&csv, "alpha_times_2^20"), NULL,
									 10);

		f.oracle_refused += !p->check(e, d, rho, alpha);
		f.perturbed_taken += p->check(e, d, rho + rho / 1000000, alpha);
		f.records++;
	}
	for (csv_open(&csv, "eps_to_rho_budget.csv"); csv_next(&csv);)
	{
		dp_fixed	e = fixed(csv_text(&csv, "eps"));
		dp_fixed	d = fixed(csv_text(&csv, "delta"));
		dp_fixed	ulp;
		dp_fixed	best = fixed_text(csv_text(&csv, "rho_max_tight"), &ulp);
		dp_fixed	rho = 0;
		uint64_t	alpha = 0;

		if (p->find(e, d, &rho, &alpha) != DP_OK)
			exit(2);
		f.above += rho > best + ulp;
		f.suboptimal += rho < best - best / 1000000000 - ulp;
		f.unproved += !dp_accounting_rho_certified(e, d, rho, alpha);
		f.records++;
	}
	return f;
}

/* ---- wrong inequalities: `weight` times ln alpha instead of once ---- */

static double
wrong_rho(dp_fixed epsilon, dp_fixed delta, uint64_t alpha, double weight)
{
	double		a = ldexp((double) alpha, -20);

	return (dp_accounting_fixed_approx(epsilon) -
			(-log(dp_accounting_fixed_approx(delta)) +
			 (a - 1) * log1p(-1 / a) - weight * log(a)) / (a - 1)) / a;
}

static bool
wrong_check(dp_fixed epsilon, dp_fixed delta, dp_fixed rho, uint64_t alpha,
			double weight)
{
	return dp_accounting_fixed_approx(rho) <=
		wrong_rho(epsilon, delta, alpha, weight) * (1 + 1e-12);
}

static dp_status
wrong_find(dp_fixed epsilon, dp_fixed delta, dp_fixed *rho, uint64_t *alpha,
		   double weight)
{
	double		best = 0;
	double		x;

	for (x = 0; x < 12; x += 1e-4)
	{
		uint64_t	a = (UINT64_C(1) << 20) + (uint64_t) (exp(x) * 1e4);
		double		r = wrong_rho(epsilon, delta, a, weight);

		if (r > best)
		{
			best = r;
			*alpha = a;
		}
	}
	*rho = (dp_fixed) (best * 1e18) * 1000000;
	return DP_OK;
}

static bool
check_without(dp_fixed e, dp_fixed d, dp_fixed rho, uint64_t alpha)
{
	return wrong_check(e, d, rho, alpha, 0);
}

static bool
check_twice(dp_fixed e, dp_fixed d, dp_fixed rho, uint64_t alpha)
{
	return wrong_check(e, d, rho, alpha, 2);
}

static dp_status
find_without(dp_fixed e, dp_fixed d, dp_fixed *rho, uint64_t *alpha)
{
	return wrong_find(e, d, rho, alpha, 0);
}

static dp_status
find_twice(dp_fixed e, dp_fixed d, dp_fixed *rho, uint64_t *alpha)
{
	return wrong_find(e, d, rho, alpha, 2);
}

static bool
check_all(dp_fixed e, dp_fixed d, dp_fixed rho, uint64_t alpha)
{
	(void) e;
	(void) d;
	(void) rho;
	(void) alpha;
	return true;
}

static void
test_oracle(void)
{
	const prover real = {dp_accounting_rho_certificate,
	dp_accounting_rho_certified};
	const prover without = {find_without, check_without};
	const prover twice = {find_twice, check_twice};
	const prover blind = {dp_accounting_rho_certificate, check_all};
	faults		f = examine(&real);

	tap_ok(f.records == 36, "filter_certificates and eps_to_rho_budget: 36");
	tap_ok(f.oracle_refused == 0, "every oracle certificate is proved");
	tap_ok(f.perturbed_taken == 0, "rho (1 + 1e-6) is always refused");
	tap_ok(f.above == 0, "found rho is never above the tight one");
	tap_ok(f.suboptimal == 0, "found rho is within 1e-9 of the tight one");
	tap_ok(f.unproved == 0, "found certificates are proved");

	f = examine(&without);
	tap_ok(f.oracle_refused > 0 && f.suboptimal > 0,
		   "without ln alpha: caught by check (%d) and by search (%d)",
		   f.oracle_refused, f.suboptimal);
	f = examine(&twice);
	tap_ok(f.perturbed_taken > 0 && f.above > 0 && f.unproved > 0,
		   "with ln alpha twice: caught (%d, %d, %d)", f.perturbed_taken,
		   f.above, f.unproved);
	f = examine(&blind);
	tap_ok(f.perturbed_taken > 0, "a checker that says yes is caught");
}

/*
 * For given epsilon, delta (units of 10^-24) and alpha (2^-20): the largest
 * rho that satisfies the inequality, and the optimum over all alpha; computed
 * with 120 digits (mpmath), rounded down.
 */
static const struct
{
	const char *epsilon;
	const char *delta;
	uint64_t	alpha;
	const char *largest;
	const char *optimum;
}			thresholds[] = {
	{"1000000000000000000", "500000000000000000000000",
	UINT64_C(1757841),
	"385756490331525025777828", "385756490331589364430389"},
	{"1000000000000000000", "500000000000000000000000",
	UINT64_C(2020269),
	"358981646466531902516653", "385756490331589364430389"},
	{"1000000000000000000", "10000000000000000000",
	UINT64_C(61754427505),
	"152648706414218", "152648706414218"},
	{"1000000000000000000", "10000000000000000000",
	UINT64_C(84603177708),
	"133037002704588", "152648706414218"},
	{"1000000000000000000", "500000000000000000",
	UINT64_C(848663397199),
	"1381088552938", "1381088552938"},
	{"1000000000000000000", "500000000000000000",
	UINT64_C(1162668466190),
	"1235463576509", "1381088552938"},
	{"1000000000000000000", "1",
	UINT64_C(76864646179939),
	"6913975260", "6913975260"},
	{"1000000000000000000", "1",
	UINT64_C(105304564878543),
	"6404201735", "6913975260"},
	{"100000000000000000000000", "500000000000000000000000",
	UINT64_C(1733694),
	"445828743569777814632235", "445828743569952623921277"},
	{"100000000000000000000000", "500000000000000000000000",
	UINT64_C(1987188),
	"416807268494625840438040", "445828743569952623921277"},
	{"100000000000000000000000", "10000000000000000000",
	UINT64_C(131316267),
	"432993729401809500011", "432993729401809519397"},
	{"100000000000000000000000", "10000000000000000000",
	UINT64_C(179515312),
	"399715527752716929176", "432993729401809519397"},
	{"100000000000000000000000", "500000000000000000",
	UINT64_C(186733521),
	"297413626106145851506", "297413626106145852628"},
	{"100000000000000000000000", "500000000000000000",
	UINT64_C(255436951),
	"274880406721311436573", "297413626106145852628"},
	{"100000000000000000000000", "1",
	UINT64_C(1006029337),
	"52685509729797209859", "52685509729797209893"},
	{"100000000000000000000000", "1",
	UINT64_C(1377872218),
	"48813627233052983548", "52685509729797209893"},
	{"300000000000000000000000", "500000000000000000000000",
	UINT64_C(1692549),
	"568301613275412336902137", "568301613275972278327033"},
	{"300000000000000000000000", "500000000000000000000000",
	UINT64_C(1930818),
	"534936164924745607255709", "568301613275972278327033"},
	{"300000000000000000000000", "10000000000000000000",
	UINT64_C(51414466),
	"3302986550793591348329", "3302986550793592397759"},
	{"300000000000000000000000", "10000000000000000000",
	UINT64_C(70049845),
	"3053352894485713194489", "3302986550793592397759"},
	{"300000000000000000000000", "500000000000000000",
	UINT64_C(70164896),
	"2371902526347187510256", "2371902526347187518921"},
	{"300000000000000000000000", "500000000000000000",
	UINT64_C(95737935),
	"2194189110640168390633", "2371902526347187518921"},
	{"300000000000000000000000", "1",
	UINT64_C(343901683),
	"462719529441194209169", "462719529441194211176"},
	{"300000000000000000000000", "1",
	UINT64_C(470757332),
	"428770540778565815959", "462719529441194211176"},
	{"1000000000000000000000000", "500000000000000000000000",
	UINT64_C(1593599),
	"1016364342036689407614317", "1016364342037874875890176"},
	{"1000000000000000000000000", "500000000000000000000000",
	UINT64_C(1795257),
	"968984832825814668332298", "1016364342037874875890176"},
	{"1000000000000000000000000", "10000000000000000000",
	UINT64_C(18673786),
	"30556595197639530056840", "30556595197639565612646"},
	{"1000000000000000000000000", "10000000000000000000",
	UINT64_C(25195113),
	"28325925777270308427386", "30556595197639565612646"},
	{"1000000000000000000000000", "500000000000000000",
	UINT64_C(24386176),
	"22937446688722182774207", "22937446688722182839169"},
	{"1000000000000000000000000", "500000000000000000",
	UINT64_C(33021088),
	"21262299793751696686913", "22937446688722182839169"},
	{"1000000000000000000000000", "1",
	UINT64_C(106730061),
	"4985269235689914731864", "4985269235689914973963"},
	{"1000000000000000000000000", "1",
	UINT64_C(145832210),
	"4621412746770464657955", "4985269235689914973963"},
	{"2500000000000000000000000", "500000000000000000000000",
	UINT64_C(1481076),
	"2044433769378850623565566", "2044433769380370728213719"},
	{"2500000000000000000000000", "500000000000000000000000",
	UINT64_C(1641101),
	"1971011633807985591058329", "2044433769380370728213719"},
	{"2500000000000000000000000", "10000000000000000000",
	UINT64_C(9023000),
	"161846803014637621492150", "161846803014639799194515"},
	{"2500000000000000000000000", "10000000000000000000",
	UINT64_C(11973536),
	"150661042314831876966604", "161846803014639799194515"},
	{"2500000000000000000000000", "500000000000000000",
	UINT64_C(11340835),
	"125879859722839079865901", "125879859722839936941073"},
	{"2500000000000000000000000", "500000000000000000",
	UINT64_C(15148970),
	"117073683155951975723617", "125879859722839936941073"},
	{"2500000000000000000000000", "1",
	UINT64_C(44372585),
	"30178100079270874936878", "30178100079270881744632"},
	{"2500000000000000000000000", "1",
	UINT64_C(60402468),
	"27998575805256341050192", "30178100079270881744632"},
	{"8000000000000000000000000", "500000000000000000000000",
	UINT64_C(1332348),
	"6194013623831518610275749", "6194013623840555631843439"},
	{"8000000000000000000000000", "500000000000000000000000",
	UINT64_C(1437343),
	"6046744974459292782862389", "6194013623840555631843439"},
	{"8000000000000000000000000", "10000000000000000000",
	UINT64_C(4062377),
	"1229714525761393994797577", "1229714525761431222233761"},
	{"8000000000000000000000000", "10000000000000000000",
	UINT64_C(5177483),
	"1156026047603045675137862", "1229714525761431222233761"},
	{"8000000000000000000000000", "500000000000000000",
	UINT64_C(4811240),
	"1008452914775453030790459", "1008452914775484022649368"},
	{"8000000000000000000000000", "500000000000000000",
	UINT64_C(6203425),
	"945814589318215877843787", "1008452914775484022649368"},
	{"8000000000000000000000000", "1",
	UINT64_C(15217593),
	"288004335917895901253309", "288004335917896999788185"},
	{"8000000000000000000000000", "1",
	UINT64_C(20460129),
	"267930861203030468854141", "288004335917896999788185"},
	{"100000000000000000000000000", "500000000000000000000000",
	UINT64_C(1136146),
	"87884060142403620654800804", "87884060142549433880100691"},
	{"100000000000000000000000000", "500000000000000000000000",
	UINT64_C(1168547),
	"87189202450327332679546384", "87884060142549433880100691"},
	{"100000000000000000000000000", "10000000000000000000",
	UINT64_C(1530539),
	"52705184759750217025001102", "52705184759767293314266500"},
	{"100000000000000000000000000", "10000000000000000000",
	UINT64_C(1708865),
	"51201633493737062782309257", "52705184759767293314266500"},
	{"100000000000000000000000000", "500000000000000000",
	UINT64_C(1612426),
	"48688410313953460504416329", "48688410313983032307264162"},
	{"100000000000000000000000000", "500000000000000000",
	UINT64_C(1821050),
	"47165863728519975139286940", "48688410313983032307264162"},
	{"100000000000000000000000000", "1",
	UINT64_C(2572852),
	"25726939671671985920268413", "25726939671675948576486764"},
	{"100000000000000000000000000", "1",
	UINT64_C(3136834),
	"24471991869735783927931540", "25726939671675948576486764"},
	{"1000000000000000000000000000000", "500000000000000000000000",
	UINT64_C(1049450),
	"998344359954143735430524064271", "998344360658882343520858196049"},
	{"1000000000000000000000000000000", "500000000000000000000000",
	UINT64_C(1049773),
	"998261013673907699754664336790", "998344360658882343520858196049"},
	{"1000000000000000000000000000000", "10000000000000000000",
	UINT64_C(1052146),
	"993243508005172666076756366453", "993243508086413561354613324914"},
	{"1000000000000000000000000000000", "10000000000000000000",
	UINT64_C(1053467),
	"992906791581958087194333172221", "993243508086413561354613324914"},
	{"1000000000000000000000000000000", "500000000000000000",
	UINT64_C(1052585),
	"992417459169538824421729395907", "992417459183976598872640740683"},
	{"1000000000000000000000000000000", "500000000000000000",
	UINT64_C(1054068),
	"992040257464436671497865474936", "992417459183976598872640740683"},
	{"1000000000000000000000000000000", "1",
	UINT64_C(1056429),
	"985248278708621368817654011154", "985248278731702248945850553298"},
	{"1000000000000000000000000000000", "1",
	UINT64_C(1059335),
	"984517998471833708974509593943", "985248278731702248945850553298"}
};

static void
test_thresholds(void)
{
	size_t		i;

	for (i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++)
	{
		dp_fixed	e = wide(thresholds[i].epsilon);
		dp_fixed	d = wide(thresholds[i].delta);
		dp_fixed	largest = wide(thresholds[i].largest);
		dp_fixed	optimum = wide(thresholds[i].optimum);
		dp_fixed	rho = 0;
		uint64_t	alpha = 0;
		bool		exact;

		exact = dp_accounting_rho_certified(e, d, largest,
											thresholds[i].alpha) &&
			!dp_accounting_rho_certified(e, d, largest + 1,
										 thresholds[i].alpha);
		tap_ok(exact, "proved up to the last unit: eps %s delta %s alpha %llu",
			   thresholds[i].epsilon, thresholds[i].delta,
			   (unsigned long long) thresholds[i].alpha);
		if (dp_accounting_rho_certificate(e, d, &rho, &alpha) != DP_OK)
			exit(2);
		if (!tap_ok(rho <= optimum &&
					rho + optimum / 1000000000 + 1 >= optimum &&
					dp_accounting_rho_certified(e, d, rho, alpha) &&
					!dp_accounting_rho_certified(e, d, rho + 1, alpha),
					"found: eps %s delta %s", thresholds[i].epsilon,
					thresholds[i].delta))
			tap_diag("rho %s optimum %s alpha %llu", wide_text(rho),
					 wide_text(optimum), (unsigned long long) alpha);
	}
}

/* Sound and near the optimum, judged by the floating-point conversion. */
static void
test_random(void)
{
	stream		s = {31337};
	int			bad = 0;
	int			i;

	for (i = 0; i < 300; i++)
	{
		dp_fixed	e = (dp_fixed) (exp((double) stream_below(&s, 25000) / 1000
										- 12) * 1e12) * 1000000000000;
		dp_fixed	d = stream_wide(&s, 79) + 1;
		dp_fixed	rho = 0;
		uint64_t	alpha = 0;
		double		epsilon = dp_accounting_fixed_approx(e);
		double		delta = dp_accounting_fixed_approx(d);
		double		r;

		if (d >= DP_FIXED_ONE)
			continue;
		if (dp_accounting_rho_certificate(e, d, &rho, &alpha) != DP_OK ||
			!dp_accounting_rho_certified(e, d, rho, alpha) ||
			dp_accounting_rho_certified(e, d, rho + rho / 1000000 + 2, alpha))
		{
			bad++;
			continue;
		}
		r = dp_accounting_fixed_approx(rho);
		if (epsilon_from_rho(r, delta) >
			epsilon * (1 + 1e-11) + 1e-12 ||
			epsilon_from_rho(r * (1 + 4e-9) + 2e-24, delta) <
			epsilon * (1 - 1e-11))
		{
			if (bad++ < 5)
				tap_diag("eps %g delta %g rho %g", epsilon, delta, r);
		}
	}
	tap_ok(bad == 0, "300 random budgets: sound and optimal (%d bad)", bad);
}

static void
test_edges(void)
{
	const dp_fixed one = DP_FIXED_ONE;
	const uint64_t two = UINT64_C(2) << 20;
	const dp_fixed epsilons[] = {0, 1, 1000, one, DP_FIXED_INFINITE - 1};
	const dp_fixed deltas[] = {1, one / 2, one - 1};
	dp_fixed	rho = 5;
	uint64_t	alpha = 6;
	int			bad = 0;
	size_t		i;
	size_t		j;

	tap_ok(dp_accounting_rho_certificate(one, 0, &rho, &alpha) == DP_E_RANGE &&
		   dp_accounting_rho_certificate(one, one, &rho,
										 &alpha) == DP_E_RANGE &&
		   dp_accounting_rho_certificate(DP_FIXED_INFINITE, 1, &rho, &alpha) ==
		   DP_E_RANGE && rho == 5 && alpha == 6,
		   "search: delta 0, delta 1, infinite epsilon refused, untouched");
	tap_ok(!dp_accounting_rho_certified(one, 0, 1, two) &&
		   !dp_accounting_rho_certified(one, one, 1, two) &&
		   !dp_accounting_rho_certified(DP_FIXED_INFINITE, 1, 1, two) &&
		   !dp_accounting_rho_certified(one, one / 2, DP_FIXED_INFINITE,
										two) &&
		   !dp_accounting_rho_certified(one, one / 2, 1, 0) &&
		   !dp_accounting_rho_certified(one, one / 2, 1, two / 2),
		   "check: arguments outside the domain are refused");
	tap_ok(dp_accounting_rho_certified(one, one / 2, 1, two) &&
		   dp_accounting_rho_certified(0, 0, 0, 0),
		   "check: a tiny rho is proved, rho 0 always");
	tap_ok(!dp_accounting_rho_certified(one, 1, one, two / 2 + 1) &&
		   !dp_accounting_rho_certified(one, one / 2, one * 1000,
										UINT64_MAX) &&
		   !dp_accounting_rho_certified(one, 1, DP_FIXED_INFINITE - 1,
										UINT64_MAX),
		   "check: extreme alpha");

	for (i = 0; i < sizeof(epsilons) / sizeof(epsilons[0]); i++)
	{
		for (j = 0; j < sizeof(deltas) / sizeof(deltas[0]); j++)
		{
			rho = DP_FIXED_INFINITE;
			bad += dp_accounting_rho_certificate(epsilons[i], deltas[j], &rho,
												 &alpha) != DP_OK ||
				!dp_accounting_rho_certified(epsilons[i], deltas[j], rho,
											 alpha);
		}
	}
	tap_ok(bad == 0, "search: the corners of the domain give valid answers");
}

int
main(void)
{
	test_oracle();
	test_thresholds();
	test_random();
	test_edges();
	return tap_done();
}
