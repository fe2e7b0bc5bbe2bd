/*
 * concentrated.c
 *	  Conversions between rho-zCDP and (epsilon, delta), both ways, and the
 *	  odometer: for planning, and for stating what was spent.
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

/* alpha = 1 + beta for a beta > 0. */
static order
order_make(dp_big *b, double beta)
{
	order		o;
	int			exponent;
	double		fraction;

	if (!(beta >= 1e-25))
		beta = 1e-25;
	if (beta > 1e25)
		beta = 1e25;
	fraction = frexp(beta, &exponent);
	exponent -= 53;
	o.m = big_shift(b, big_of(b, (dp_uint128) ldexp(fraction, 53)),
					exponent > 0 ? exponent : 0);
	o.c = big_power(b, exponent < 0 ? (unsigned) -exponent : 0);
	o.a = big_add(b, o.m, o.c);
	o.log_alpha = value_log(b, o.a, o.c, DP_ROUND_DOWN);
	o.log_step = value_log(b, o.a, o.m, DP_ROUND_DOWN);
	return o;
}

/* Upper bound on (x - ln alpha) c/m - ln(alpha/(alpha-1)), any sign. */
static BIGNUM *
overhead(dp_big *b, const order *o, const BIGNUM *x)
{
	BIGNUM	   *r = big_multiply(b, big_subtract(b, x, o->log_alpha), o->c);

	/* division truncates towards 0; one more is above in either case */
	r = big_add_word(b, big_divide(b, r, o->m), 1);
	return big_subtract(b, r, o->log_step);
}

/* alpha rho from above, as value. */
static BIGNUM *
scaled(dp_big *b, const order *o, dp_fixed rho)
{
	return value_ratio(b, big_multiply(b, big_of(b, rho), o->a),
					   big_multiply(b, big_of(b, DP_FIXED_ONE), o->c),
					   DP_ROUND_UP);
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
	dp_big		b;
	BIGNUM	   *x;
	order		o;
	double		log_delta;

	if (rho == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	if (rho == 0)
	{
		*epsilon = 0;
		return DP_OK;
	}
	log_delta = -log(dp_acct_fixed_approx(delta));
	dp_mech_big_begin(&b);
	o = order_make(&b, order_of_rho(dp_acct_fixed_approx(rho), log_delta));
	x = overhead(&b, &o, value_log_over(&b, 1, delta, DP_ROUND_UP));
	x = big_add(&b, x, scaled(&b, &o, rho));
	return dp_acct_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_UP), epsilon);
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
	dp_big		b;
	BIGNUM	   *x;
	order		o;
	double		log_delta;

	if (epsilon == DP_FIXED_INFINITE || !is_delta(delta))
		return DP_E_RANGE;
	log_delta = -log(dp_acct_fixed_approx(delta));
	dp_mech_big_begin(&b);
	o = order_make(&b, order_of_epsilon(dp_acct_fixed_approx(epsilon),
										log_delta));
	x = overhead(&b, &o, value_log_over(&b, 1, delta, DP_ROUND_UP));
	x = big_subtract(&b, value_from_fixed(&b, epsilon, DP_ROUND_DOWN), x);
	x = big_divide(&b, big_multiply(&b, x, o.c), o.a);
	return dp_acct_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_DOWN), rho);
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
	dp_big		b;
	BIGNUM	   *loss;
	order		o;
	dp_decimal	answer;
	dp_status	status;

	if (rho == DP_FIXED_INFINITE || epsilon == DP_FIXED_INFINITE)
		return DP_E_RANGE;
	if (rho == 0)
	{
		*delta = none;
		return DP_OK;
	}

	/*
	 * ln(1/delta) >= b (epsilon + ln(alpha/b) - alpha rho) + ln alpha, where
	 * dividing rounds towards 0: one less is below in either case
	 */
	dp_mech_big_begin(&b);
	o = order_make(&b, order_of_pair(dp_acct_fixed_approx(rho),
									 dp_acct_fixed_approx(epsilon)));
	loss = big_add(&b, value_from_fixed(&b, epsilon, DP_ROUND_DOWN),
				   o.log_step);
	loss = big_subtract(&b, loss, scaled(&b, &o, rho));
	loss = big_divide(&b, big_multiply(&b, loss, o.m), o.c);
	loss = big_add(&b, big_subtract_word(&b, loss, 1), o.log_alpha);
	answer = dp_acct_decimal_from_loss(&b, loss);
	status = dp_mech_big_end(&b);
	if (status == DP_OK)
		*delta = answer;
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
	dp_big		b;
	BIGNUM	   *x;
	BIGNUM	   *level;
	int			j = 0;

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

	dp_mech_big_begin(&b);
	x = big_of(&b, (dp_uint128) BASEL_HIGH * UINT64_C(1000000000000) +
			   BASEL_LOW);
	x = big_multiply_word(&b, x, (uint64_t) (j + 1) * (uint64_t) (j + 1));
	x = value_log(&b, x, big_of(&b, delta), DP_ROUND_UP);
	level = big_power(&b, (unsigned) (DP_VALUE_BITS + j - 10));
	x = value_root(&b, value_product(&b, x, level, DP_ROUND_UP), DP_ROUND_UP);
	x = big_add(&b, big_shift(&b, x, 1), level);
	return dp_acct_end_fixed(&b, value_to_fixed(&b, x, DP_ROUND_UP), epsilon);
}
