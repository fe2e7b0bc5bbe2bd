/*
 * test_acct_memory.c
 *	  Every allocation of OpenSSL fails once: the accounting answers with
 *	  DP_E_MEMORY (the checker with false), leaves its outputs alone and keeps
 *	  nothing allocated.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_support.h"

#include <openssl/crypto.h>

static long fail_at;			/* allocations until one fails; 0: never */
static long allocations;
static long live;				/* blocks not yet freed */

static bool
next_fails(void)
{
	allocations++;
	return fail_at > 0 && --fail_at == 0;
}

static void *
test_malloc(size_t n, const char *file, int line)
{
	void	   *p;

	(void) file;
	(void) line;
	if (n == 0 || next_fails())
		return NULL;
	p = malloc(n);
	live += p != NULL;
	return p;
}

static void *
test_realloc(void *p, size_t n, const char *file, int line)
{
	(void) file;
	(void) line;
	if (p == NULL)
		return test_malloc(n, file, line);
	if (next_fails())
		return NULL;
	return realloc(p, n);
}

static void
test_free(void *p, const char *file, int line)
{
	(void) file;
	(void) line;
	live -= p != NULL;
	free(p);
}

static const dp_rational third = {1, 3};
static const dp_rational large = {40, 3};
static dp_fixed rho;
static uint64_t alpha;

static dp_status
call_pure(void)
{
	return dp_accounting_rho_from_pure(&third, &rho);
}

static dp_status
call_laplace(void)
{
	return dp_accounting_rho_from_laplace(5, &third, &rho);
}

static dp_status
call_laplace_large(void)
{
	return dp_accounting_rho_from_laplace(1, &large, &rho);
}

static dp_status
call_certificate(void)
{
	return dp_accounting_rho_certificate(DP_FIXED_ONE, DP_FIXED_ONE / 1000,
										 &rho, &alpha);
}

static dp_status
call_certified(void)
{
	return dp_accounting_rho_certified(DP_FIXED_ONE, DP_FIXED_ONE / 1000, 1,
									   UINT64_C(8) << 20) ?
									   DP_OK : DP_E_MEMORY;
}

static dp_status
call_limit(void)
{
	dp_limit	limit;
	dp_limit	same;
	dp_status	status;

	memset(&limit, 0x33, sizeof(limit));
	memcpy(&same, &limit, sizeof(limit));
	status = dp_accounting_limit_make(DP_FILTER_BEST, DP_FIXED_ONE,
									  DP_FIXED_ONE / 1000, &limit);
	if (status != DP_OK && memcmp(&limit, &same, sizeof(limit)) != 0)
		return DP_E_RANGE;		/* touched: reported as wrong below */
	return status;
}

static dp_status
call_sigma(void)
{
	return dp_accounting_sigma_from_variance(DP_FIXED_ONE, &third, &rho);
}

static dp_status
call_variance(void)
{
	dp_rational variance = {12345, 678};
	dp_status	status;

	/* three is not a power of two: the way with BIGNUM */
	status = dp_accounting_variance_from_sigma(DP_FIXED_ONE + 1,
											   DP_FIXED_ONE * 3, &variance);
	if (status != DP_OK && variance.num != 12345)
		rho = 0;				/* touched: reported as wrong below */
	return status;
}

static dp_status
call_response(void)
{
	return dp_accounting_error_of_response(100, 3, DP_FIXED_ONE, &rho);
}

/* All of a plan, or nothing of it, is written. */
static dp_status
call_sparse(dp_sparse_method method)
{
	dp_sparse_request q = {0};
	dp_sparse_plan plan;
	dp_sparse_plan same;
	dp_status	status;

	q.method = method;
	q.sensitivity = 1;
	q.numeric = true;
	q.questions = 20;
	q.cutoff = 3;
	q.epsilon = DP_FIXED_ONE;
	q.delta = DP_FIXED_ONE / 1000;
	q.beta = DP_FIXED_ONE / 20;
	memset(&plan, 0x33, sizeof(plan));
	memcpy(&same, &plan, sizeof(plan));
	status = dp_accounting_sparse_plan(&q, &plan);
	if (status != DP_OK && memcmp(&plan, &same, sizeof(plan)) != 0)
		return DP_E_RANGE;		/* touched: reported as wrong below */
	return status;
}

static dp_status
call_sparse_best(void)
{
	return call_sparse(DP_SPARSE_BEST);
}

static dp_status
call_sparse_book(void)
{
	return call_sparse(DP_SPARSE_BOOK);
}

static dp_status
call_weights(void)
{
	dp_weights_request q = {0};
	dp_weights_plan plan;
	dp_weights_plan same;
	dp_status	status;

	q.cells = 64;
	q.questions = 10;
	q.n = 100000;
	q.sensitivity = 1;
	q.epsilon = DP_FIXED_ONE;
	q.beta = DP_FIXED_ONE / 20;
	q.alpha = DP_FIXED_ONE / 5;
	memset(&plan, 0x33, sizeof(plan));
	memcpy(&same, &plan, sizeof(plan));
	status = dp_accounting_weights_plan(&q, &plan);
	if (status != DP_OK && memcmp(&plan, &same, sizeof(plan)) != 0)
		return DP_E_RANGE;		/* touched: reported as wrong below */
	return status;
}

static const struct
{
	const char *name;
	dp_status	(*call) (void);
}			calls[] = {
	{"rho_from_pure", call_pure},
	{"rho_from_laplace, series", call_laplace},
	{"rho_from_laplace, exponential", call_laplace_large},
	{"rho_certificate", call_certificate},
	{"rho_certified", call_certified},
	{"limit_make", call_limit},
	{"sigma_from_variance", call_sigma},
	{"variance_from_sigma", call_variance},
	{"response_error", call_response},
	{"sparse_plan, best", call_sparse_best},
	{"sparse_plan, book", call_sparse_book},
	{"weights_plan", call_weights}
};

int
main(void)
{
	size_t		i;

	if (CRYPTO_set_mem_functions(test_malloc, test_realloc, test_free) != 1)
	{
		fprintf(stderr, "cannot replace OpenSSL's allocator\n");
		return 2;
	}
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
	{
		long		before;
		long		total;
		long		k;
		int			bad = 0;

		/* the first call may set up what OpenSSL keeps for the process */
		fail_at = 0;
		if (calls[i].call() != DP_OK)
			return 2;
		allocations = 0;
		before = live;
		tap_ok(calls[i].call() == DP_OK && live == before,
			   "%s keeps nothing allocated", calls[i].name);
		total = allocations;
		for (k = 1; k <= total; k++)
		{
			rho = 12345;
			alpha = 678;
			fail_at = k;
			bad += calls[i].call() != DP_E_MEMORY || rho != 12345 ||
				alpha != 678;
			fail_at = 0;
		}
		/* once more, now that OpenSSL's ring of error records is filled */
		before = live;
		for (k = 1; k <= total; k++)
		{
			fail_at = k;
			(void) calls[i].call();
			fail_at = 0;
		}
		tap_ok(bad == 0 && total > 5 && live == before,
			   "%s: each of %ld allocations failed once (%d bad)",
			   calls[i].name, total, bad);
	}
	return tap_done();
}
