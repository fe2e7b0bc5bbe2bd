/*
 * bench_acct.c
 *	  What the accounting costs: nanoseconds of processor time per
 *	  call, median of 9 runs.  A bench, not a test: it judges nothing.
 */
#include "acct_support.h"
#include "epsilon_from_rho.h"

#include <time.h>

static dp_limit limit;
static dp_spent spent;
static dp_charge charge;
static volatile uint64_t sink;	/* keeps the calls alive */

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

static void
run_admits(long n)
{
	for (; n > 0; n--)
	{
		spent.rho = (dp_fixed) n;
		sink += dp_accounting_limit_admits(&limit, &spent, &charge);
	}
}

static void
run_add(long n)
{
	spent = (dp_spent) {0};
	for (; n > 0; n--)
		sink += (uint64_t) dp_accounting_spent_add(&spent, &charge);
}

static void
run_calls(long n)
{
	for (; n > 0; n--)
	{
		spent.rho = (dp_fixed) n;
		sink += (uint64_t) dp_accounting_limit_calls(&limit, &spent, &charge);
	}
}

static void
run_fixed(long n)
{
	dp_rational x = {1, 0};
	dp_fixed	f = 0;

	for (; n > 0; n--)
	{
		x.den = (dp_uint128) (n + 3);
		(void) dp_accounting_fixed_from_rational(&x, DP_ROUND_UP, &f);
		sink += (uint64_t) f;
	}
}

static void
run_pure(long n)
{
	dp_rational x = {1, 10};
	dp_fixed	f = 0;

	for (; n > 0; n--)
	{
		(void) dp_accounting_rho_from_pure(&x, &f);
		sink += (uint64_t) f;
	}
}

static void
run_laplace(long n)
{
	dp_rational x = {1, 10};
	dp_fixed	f = 0;

	for (; n > 0; n--)
	{
		(void) dp_accounting_rho_from_laplace(120, &x, &f);
		sink += (uint64_t) f;
	}
}

static void
run_laplace_wide(long n)
{
	dp_rational x = ratio(20 * DP_FIXED_ONE + 1, DP_FIXED_ONE);
	dp_fixed	f = 0;

	for (; n > 0; n--)
	{
		(void) dp_accounting_rho_from_laplace(2, &x, &f);
		sink += (uint64_t) f;
	}
}

static void
run_make(long n)
{
	dp_limit	out;

	for (; n > 0; n--)
		sink += (uint64_t) dp_accounting_limit_make(DP_FILTER_BEST,
													DP_FIXED_ONE,
													fixed("1e-6"), &out);
}

static void
run_check(long n)
{
	for (; n > 0; n--)
		sink += dp_accounting_rho_certified(limit.epsilon,
											limit.delta_conversion,
											limit.rho, limit.alpha);
}

static void
run_epsilon(long n)
{
	for (; n > 0; n--)
		sink += (uint64_t) epsilon_from_rho(0.01, 1e-6);
}

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
report(const char *name, void (*run) (long), long n)
{
	double		t[9];
	int			i;

	for (i = 0; i < 9; i++)
	{
		double		start = seconds();

		run(n);
		t[i] = (seconds() - start) / (double) n * 1e9;
	}
	qsort(t, 9, sizeof(t[0]), by_value);
	printf("%-32s %10.1f ns\n", name, t[4]);
}

int
main(void)
{
	if (dp_accounting_limit_make(DP_FILTER_BEST, DP_FIXED_ONE, fixed("1e-6"),
								 &limit) != DP_OK)
		return 2;
	charge.epsilon = fixed("0.1");
	charge.rho = fixed("0.005");
	report("limit_admits", run_admits, 5000000);
	report("spent_add", run_add, 5000000);
	report("limit_calls", run_calls, 1000000);
	report("fixed_from_rational", run_fixed, 200000);
	report("rho_from_pure", run_pure, 20000);
	report("rho_from_laplace", run_laplace, 5000);
	report("rho_from_laplace, wide", run_laplace_wide, 5000);
	report("limit_make (best)", run_make, 1000);
	report("rho_certified", run_check, 1000);
	report("epsilon_from_rho", run_epsilon, 20000);
	return 0;
}
