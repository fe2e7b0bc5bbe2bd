/*
 * concentrated.c
 *	  Conversions between rho-zCDP and (epsilon, delta), both ways, and the
 *	  odometer: for people who plan and for statements about what was spent.
 *
 * As in certificate.c, floating point proposes the order alpha = 1 + b and
 * nothing else; the answer is a proved bound for that order.  b is a dyadic
 * number of 53 bits here, so the answer is optimal to far below 10^-12.
 */
#include "value.h"

#include <math.h>

/* pi^2 / 6 rounded up, in units of 10^-24 */
#define BASEL_HIGH UINT64_C(1644934066848)
#define BASEL_LOW UINT64_C(226436472416)

/* An order: a/c = alpha, m/c = alpha - 1, and bounds of its logarithms. */
typedef struct order
{
	BIGNUM	   *a;
	BIGNUM	   *c;
	BIGNUM	   *m;
	BIGNUM	   *log_alpha;		/* <= ln alpha */
	BIGNUM	   *log_step;		/* <= ln(alpha / (alpha - 1)) */
} order;

/* alpha = 1 + b for a b > 0, within a BN_CTX frame of the caller's. */
static bool
order_make(order *o, double b, BN_CTX *ctx)
{
	int			exponent;
	double		fraction;

	if (!(b >= 1e-25))
		b = 1e-25;
	if (b > 1e25)
		b = 1e25;
	fraction = frexp(b, &exponent);
	exponent -= 53;

	o->a = BN_CTX_get(ctx);
	o->c = BN_CTX_get(ctx);
	o->m = BN_CTX_get(ctx);
	o->log_alpha = BN_CTX_get(ctx);
	o->log_step = BN_CTX_get(ctx);
	return o->log_step != NULL &&
		dp_acct_integer_set(o->m, (dp_uint128) ldexp(fraction, 53)) &&
		BN_set_word(o->c, 1) &&
		BN_lshift(o->m, o->m, exponent > 0 ? exponent : 0) &&
		BN_lshift(o->c, o->c, exponent < 0 ? -exponent : 0) &&
		BN_add(o->a, o->m, o->c) &&
		dp_acct_bound_log(o->log_alpha, o->a, o->c, DP_ROUND_DOWN, ctx) &&
		dp_acct_bound_log(o->log_step, o->a, o->m, DP_ROUND_DOWN, ctx);
}

/* Upper bound on (x - ln alpha) c/m - ln(alpha/(alpha-1)), any sign. */
static bool
overhead(BIGNUM *out, const order *o, const BIGNUM *x, BN_CTX *ctx)
{
	/* division truncates towards 0; one more is above in either case */
	return BN_sub(out, x, o->log_alpha) &&
		BN_mul(out, out, o->c, ctx) &&
		BN_div(out, NULL, out, o->m, ctx) &&
		BN_add_word(out, 1) &&
		BN_sub(out, out, o->log_step);
}

/* x num / den for a fixed-point x, as value. */
static bool
scaled(BIGNUM *out, dp_fixed x, const BIGNUM *num, const BIGNUM *den,
	   dp_rounding rounding, BN_CTX *ctx)
{
	BIGNUM	   *p;
	BIGNUM	   *q;
	bool		ok;

	BN_CTX_start(ctx);
	p = BN_CTX_get(ctx);
	q = BN_CTX_get(ctx);
	ok = q != NULL && dp_acct_integer_set(p, x) &&
		dp_acct_integer_set(q, DP_FIXED_ONE) &&
		BN_mul(p, p, num, ctx) && BN_mul(q, q, den, ctx) &&
		dp_acct_bound_ratio(out, p, q, rounding, ctx);
	BN_CTX_end(ctx);
	return ok;
}

static bool
is_delta(dp_fixed delta)
{
	return delta > 0 && delta < DP_FIXED_ONE;
}

/* b solves rho b^2 + ln(1 + b) = l (T26); the left side increases. */
static double
order_of_rho(double rho, double l)
{
	double		low = 1e-25;
	double		high = 1e25;
	int			i;

	for (i = 0; i < 200; i++)
	{
		double		b = sqrt(low * high);

		if (rho * b * b + log1p(b) < l)
			low = b;
		else
			high = b;
	}
	return high;
}

/* b at which the optimal pair of T26 has the given epsilon; E falls in b. */
static double
order_of_epsilon(double epsilon, double l)
{
	double		low = 1e-25;
	double		high = fmin(expm1(l), 1e25);
	int			i;

	for (i = 0; i < 200 && low < high; i++)
	{
		double		b = sqrt(low * high);
		double		rho = (l - log1p(b)) / b / b;

		if (rho * (1 + 2 * b) - log1p(1 / b) > epsilon)
			low = b;
		else
			high = b;
	}
	return sqrt(low * high);
}

/* b solves (1 + 2b) rho - epsilon = ln(1 + 1/b). */
static double
order_of_pair(double rho, double epsilon)
{
	double		low = 1e-25;
	double		high = 1e25;
	int			i;

	for (i = 0; i < 200; i++)
	{
		double		b = sqrt(low * high);

		if ((1 + 2 * b) * rho - epsilon < log1p(1 / b))
			low = b;
		else
			high = b;
	}
	return high;
}

/*
 * dp_acct_zcdp_epsilon
 *	  What rho-zCDP means as epsilon at a given delta.
 *
 * Requires: epsilon non-NULL.
 * Gives:	 DP_OK and a proved epsilon, the optimum of T23 to 10^-12 of it and
 *			 one unit; 0 for rho = 0.  DP_E_RANGE when rho is infinite or
 *			 delta not in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T34 (T23, T24, T26).
 */
dp_status
dp_acct_zcdp_epsilon(dp_fixed rho, dp_fixed delta, dp_fixed *epsilon)
{
	BN_CTX	   *ctx;
	BIGNUM	   *l;
	BIGNUM	   *x;
	order		o;
	double		log_delta;
	dp_status	status = DP_E_MEMORY;

	if (rho == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	if (rho == 0)
	{
		*epsilon = 0;
		return DP_OK;
	}
	log_delta = -log(dp_acct_fixed_approx(delta));
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	l = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);
	if (x != NULL &&
		order_make(&o, order_of_rho(dp_acct_fixed_approx(rho), log_delta),
				   ctx) &&
		dp_acct_value_log_inverse(l, delta, DP_ROUND_UP, ctx) &&
		overhead(x, &o, l, ctx) &&
		scaled(l, rho, o.a, o.c, DP_ROUND_UP, ctx) &&
		BN_add(x, x, l))
		status = dp_acct_value_to_fixed(x, DP_ROUND_UP, epsilon, ctx);
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/*
 * dp_acct_zcdp_rho
 *	  The largest rho whose zCDP is proved to imply (epsilon, delta)-DP.
 *
 * Requires: rho non-NULL.
 * Gives:	 DP_OK and a proved rho, the optimum of T23 but for 10^-12 of it
 *			 and one unit.  DP_E_RANGE when epsilon is infinite or delta not
 *			 in (0, 1); DP_E_OVERFLOW; DP_E_MEMORY.
 * Source:	 doc/theory.md T34 (T23, T24, T26).
 */
dp_status
dp_acct_zcdp_rho(dp_fixed epsilon, dp_fixed delta, dp_fixed *rho)
{
	BN_CTX	   *ctx;
	BIGNUM	   *l;
	BIGNUM	   *x;
	order		o;
	double		log_delta;
	dp_status	status = DP_E_MEMORY;

	if (epsilon == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	log_delta = -log(dp_acct_fixed_approx(delta));
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	l = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);
	if (x == NULL ||
		!order_make(&o, order_of_epsilon(dp_acct_fixed_approx(epsilon),
										 log_delta), ctx) ||
		!dp_acct_value_log_inverse(l, delta, DP_ROUND_UP, ctx) ||
		!overhead(x, &o, l, ctx) ||
		!dp_acct_value_from_fixed(l, epsilon, DP_ROUND_DOWN, ctx) ||
		!BN_sub(x, l, x))
		goto done;
	if (BN_is_negative(x))
		BN_zero(x);
	if (!BN_mul(x, x, o.c, ctx) || !BN_div(x, NULL, x, o.a, ctx))
		goto done;
	status = dp_acct_value_to_fixed(x, DP_ROUND_DOWN, rho, ctx);
done:
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/*
 * dp_acct_zcdp_delta
 *	  What rho-zCDP means as delta at a given epsilon.
 *
 * Requires: delta non-NULL.
 * Gives:	 DP_OK and a proved delta of 18 digits, at most 1, the optimum of
 *			 T23 to a relative 10^-12; 0 for rho = 0.  DP_E_RANGE when an
 *			 argument is infinite; DP_E_MEMORY.
 * Source:	 doc/theory.md T34 (T23, T24).
 */
dp_status
dp_acct_zcdp_delta(dp_fixed rho, dp_fixed epsilon, dp_decimal *delta)
{
	static const dp_decimal none = {0, 0};
	BN_CTX	   *ctx;
	BIGNUM	   *loss;
	BIGNUM	   *x;
	order		o;
	dp_status	status = DP_E_MEMORY;

	if (rho == DP_FIXED_INFINITE || epsilon == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	if (rho == 0)
	{
		*delta = none;
		return DP_OK;
	}
	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	loss = BN_CTX_get(ctx);
	x = BN_CTX_get(ctx);

	/*
	 * ln(1/delta) >= b (epsilon + ln(alpha/b) - alpha rho) + ln alpha, where
	 * dividing rounds towards 0: one less is below in either case
	 */
	if (x != NULL &&
		order_make(&o, order_of_pair(dp_acct_fixed_approx(rho),
									 dp_acct_fixed_approx(epsilon)), ctx) &&
		dp_acct_value_from_fixed(loss, epsilon, DP_ROUND_DOWN, ctx) &&
		BN_add(loss, loss, o.log_step) &&
		scaled(x, rho, o.a, o.c, DP_ROUND_UP, ctx) &&
		BN_sub(loss, loss, x) &&
		BN_mul(loss, loss, o.m, ctx) &&
		BN_div(loss, NULL, loss, o.c, ctx) &&
		BN_sub_word(loss, 1) &&
		BN_add(loss, loss, o.log_alpha))
		status = dp_acct_decimal_from_loss(loss, delta, ctx);
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}

/*
 * dp_acct_odometer
 *	  An epsilon that holds at every moment at once, for the sum of rho that
 *	  was spent so far, however the stopping time was chosen.
 *
 * Requires: epsilon non-NULL.
 * Gives:	 DP_OK and R_j + 2 sqrt(R_j ln(1/d_j)) rounded up, for the least
 *			 R_j = 2^(j-10) >= rho and d_j = 6 delta / (pi (j+1))^2; 0 for
 *			 rho = 0.  The charges' own deltas are to be added to delta.
 *			 DP_E_RANGE when rho is infinite or delta not in (0, 1);
 *			 DP_E_MEMORY.
 * Source:	 doc/theory.md T38.
 */
dp_status
dp_acct_odometer(dp_fixed rho, dp_fixed delta, dp_fixed *epsilon)
{
	BN_CTX	   *ctx;
	BIGNUM	   *num;
	BIGNUM	   *den;
	BIGNUM	   *level;
	int			j = 0;
	dp_status	status = DP_E_MEMORY;

	if (rho == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	if (rho == 0)
	{
		*epsilon = 0;
		return DP_OK;
	}
	/* 2^(j-10) >= rho; 2^-10 is a multiple of the grid's unit */
	while (j < 10 ? rho > (DP_FIXED_ONE >> (10 - j)) :
		   (rho + (((dp_uint128) 1 << (j - 10)) - 1)) >> (j - 10) >
		   DP_FIXED_ONE)
		j++;

	ctx = BN_CTX_new();
	if (ctx == NULL)
		return DP_E_MEMORY;
	BN_CTX_start(ctx);
	num = BN_CTX_get(ctx);
	den = BN_CTX_get(ctx);
	level = BN_CTX_get(ctx);
	if (level != NULL &&
		dp_acct_integer_set(num, (dp_uint128) BASEL_HIGH *
							UINT64_C(1000000000000) + BASEL_LOW) &&
		BN_mul_word(num, (BN_ULONG) (j + 1) * (BN_ULONG) (j + 1)) &&
		dp_acct_integer_set(den, delta) &&
		dp_acct_bound_log(num, num, den, DP_ROUND_UP, ctx) &&
		BN_set_word(level, 1) &&
		BN_lshift(level, level, DP_BOUND_BITS + j - 10) &&
		dp_acct_value_multiply(num, num, level, DP_ROUND_UP, ctx) &&
		dp_acct_value_sqrt(num, num, DP_ROUND_UP, ctx) &&
		BN_lshift1(num, num) && BN_add(num, num, level))
		status = dp_acct_value_to_fixed(num, DP_ROUND_UP, epsilon, ctx);
	BN_CTX_end(ctx);
	BN_CTX_free(ctx);
	return status;
}
