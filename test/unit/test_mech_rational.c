/*
 * test_mech_rational.c
 *	  Exact rationals and scales, up to the edges of 128 and 256 bits.
 *	  Nothing here is statistical.
 */
#include <math.h>
#include <string.h>

#include "mech_fake.h"
#include "tap.h"

#define MAX (~(dp_uint128) 0)
#define BIT(n) ((dp_uint128) 1 << (n))

static bool
is(const dp_rational *x, dp_uint128 num, dp_uint128 den)
{
	return x->num == num && x->den == den;
}

static void
test_make(void)
{
	dp_rational x = {5, 7};

	tap_ok(dp_numbers_rational_make(6, 4, &x) == DP_OK && is(&x, 3, 2),
		   "6/4 = 3/2");
	tap_ok(dp_numbers_rational_make(0, MAX, &x) == DP_OK && is(&x, 0, 1),
		   "zero is 0/1");
	tap_ok(dp_numbers_rational_make(MAX, MAX, &x) == DP_OK && is(&x, 1, 1),
		   "(2^128-1)/(2^128-1) = 1");
	tap_ok(dp_numbers_rational_make(MAX, 3, &x) == DP_OK && is(&x, MAX / 3, 1),
		   "(2^128-1)/3 is an integer");
	x.num = 5;
	tap_ok(dp_numbers_rational_make(1, 0, &x) == DP_E_RANGE && x.num == 5,
		   "denominator 0 is refused, output untouched");
}

static void
test_compare(void)
{
	const dp_rational a = {MAX, MAX - 1};
	const dp_rational b = {MAX - 1, MAX - 2};
	const dp_rational c = {1, 3};
	const dp_rational d = {2, 6};
	const dp_rational tiny = {1, MAX};
	const dp_rational huge = {MAX, 1};
	const dp_rational zero = {0, 1};

	tap_ok(dp_numbers_rational_compare(&a, &b) == -1 &&
		   dp_numbers_rational_compare(&b, &a) == 1,
		   "neighbours that differ by 2^-256 are told apart");
	tap_ok(dp_numbers_rational_compare(&c, &d) == 0, "1/3 = 2/6");
	tap_ok(dp_numbers_rational_compare(&tiny, &huge) == -1 &&
		   dp_numbers_rational_compare(&zero, &tiny) == -1, "0 < tiny < huge");
}

static void
test_multiply(void)
{
	dp_rational a = {MAX, 7};
	dp_rational b = {7, MAX};
	dp_rational out = {5, 7};

	tap_ok(dp_numbers_rational_multiply(&a, &b, &out) == DP_OK &&
		   is(&out, 1, 1), "cross factors cancel before they overflow");
	a = (dp_rational) {BIT(64), 3};
	b = (dp_rational) {BIT(63), 5};
	tap_ok(dp_numbers_rational_multiply(&a, &b, &out) == DP_OK &&
		   is(&out, BIT(127), 15), "2^64/3 2^63/5");
	b.num = BIT(64);
	out = (dp_rational) {5, 7};
	tap_ok(dp_numbers_rational_multiply(&a, &b, &out) == DP_E_OVERFLOW &&
		   is(&out, 5, 7), "2^128 overflows, output untouched");
	b = (dp_rational) {0, 1};
	tap_ok(dp_numbers_rational_multiply(&a, &b, &out) == DP_OK &&
		   is(&out, 0, 1), "times 0");
	tap_ok(dp_numbers_rational_divide(&a, &b, &out) == DP_E_RANGE,
		   "division by 0 is refused");
	b = (dp_rational) {BIT(64), 9};
	tap_ok(dp_numbers_rational_divide(&a, &b, &out) == DP_OK && is(&out, 3, 1),
		   "(2^64/3)/(2^64/9) = 3");
}

/* Field laws on random operands: exact arithmetic obeys them exactly. */
static void
test_laws(void)
{
	uint64_t	seed = 11;
	uint64_t	r[6];
	dp_rational x[3];
	dp_rational left;
	dp_rational right;
	dp_rational part;
	uint64_t	num;
	uint64_t	den;
	int			bad = 0;
	int			done = 0;
	int			i;
	int			j;

	for (i = 0; i < 20000; i++)
	{
		fake_fill(&seed, r, sizeof(r));
		for (j = 0; j < 3; j++)
		{
			num = r[2 * j] >> (24 + r[2 * j] % 32);
			den = (r[2 * j + 1] >> (24 + r[2 * j] % 29)) | 1;
			if (dp_numbers_rational_make(num, den, &x[j]) != DP_OK)
				bad++;
		}

		/* (x y) z = x (y z), and (x y) / y = x */
		if (dp_numbers_rational_multiply(&x[0], &x[1], &left) != DP_OK ||
			dp_numbers_rational_multiply(&left, &x[2], &left) != DP_OK ||
			dp_numbers_rational_multiply(&x[1], &x[2], &part) != DP_OK ||
			dp_numbers_rational_multiply(&x[0], &part, &right) != DP_OK)
			continue;
		done++;
		if (!is(&left, right.num, right.den) ||
			dp_numbers_rational_compare(&left, &right) != 0)
			bad++;
		if (x[1].num != 0 &&
			(dp_numbers_rational_multiply(&x[0], &x[1], &left) != DP_OK ||
			 dp_numbers_rational_divide(&left, &x[1], &left) != DP_OK ||
			 !is(&left, x[0].num, x[0].den)))
			bad++;
	}
	tap_ok(bad == 0 && done > 15000, "associative law, %d cases, %d bad",
		   done, bad);
}

static void
test_scale(void)
{
	const dp_rational zero = {0, 1};
	const dp_rational broken = {1, 0};
	const dp_rational one = {1, 1};
	const dp_rational tiny = {1, MAX};
	const dp_rational huge = {MAX, 1};
	dp_rational epsilon = {3, 10};
	dp_scale	scale;
	dp_scale	before;

	memset(&scale, 0x5a, sizeof(scale));
	before = scale;
	tap_ok(dp_noise_scale_make(1, &zero, &scale) == DP_E_RANGE &&
		   dp_noise_scale_make(0, &one, &scale) == DP_E_RANGE &&
		   dp_noise_scale_make(1, &broken, &scale) == DP_E_RANGE &&
		   memcmp(&scale, &before, sizeof(scale)) == 0,
		   "epsilon 0, sensitivity 0, denominator 0: refused, untouched");
	tap_ok(dp_noise_scale_make(1, &epsilon, &scale) == DP_OK &&
		   scale.t[0] == 10 && scale.s[0] == 3 && scale.narrow &&
		   (scale.t[1] | scale.t[2] | scale.t[3]) == 0 &&
		   (scale.s[1] | scale.s[2] | scale.s[3]) == 0, "1 / 0.3 = 10/3");
	tap_ok(dp_noise_scale_make(6, &epsilon, &scale) == DP_OK &&
		   scale.t[0] == 20 && scale.s[0] == 1, "6 / 0.3 = 20");
	epsilon = (dp_rational) {2, 4};
	tap_ok(dp_noise_scale_make(1, &epsilon, &scale) == DP_OK &&
		   scale.t[0] == 2 && scale.s[0] == 1, "an unreduced epsilon");
	tap_ok(dp_noise_scale_make(MAX, &tiny, &scale) == DP_OK &&
		   scale.t[0] == 1 && scale.t[1] == 0 &&
		   scale.t[2] == UINT64_MAX - 1 && scale.t[3] == UINT64_MAX &&
		   scale.s[0] == 1 && !scale.narrow,
		   "(2^128-1)^2 is exact in 256 bits");
	tap_ok(dp_noise_scale_make(1, &huge, &scale) == DP_OK &&
		   scale.t[0] == 1 && scale.s[0] == UINT64_MAX &&
		   scale.s[1] == UINT64_MAX && scale.narrow, "1/(2^128-1)");
	tap_ok(dp_noise_scale_make(BIT(96) - 1, &one, &scale) == DP_OK &&
		   scale.narrow, "2^96 - 1 is narrow");
	tap_ok(dp_noise_scale_make(BIT(96), &one, &scale) == DP_OK &&
		   !scale.narrow, "2^96 is not");

	epsilon = (dp_rational) {1, BIT(100)};
	tap_ok(dp_noise_scale_make(BIT(100), &epsilon, &scale) == DP_OK &&
		   dp_noise_scale_approx(&scale) == 0x1p200, "2^200 approximately");
	tap_ok(dp_noise_scale_make(MAX, &tiny, &scale) == DP_OK &&
		   dp_noise_scale_approx(&scale) == 0x1p256, "2^256 approximately");
	epsilon = (dp_rational) {3, 10};
	tap_ok(dp_noise_scale_make(1, &epsilon, &scale) == DP_OK &&
		   dp_noise_scale_approx(&scale) == 10.0 / 3, "10/3 approximately");
	tap_ok(isnan(dp_noise_laplace_error(&scale, NAN)) &&
		   isinf(dp_noise_laplace_error(&scale, 0)) &&
		   isinf(dp_noise_laplace_error(&scale, -1)) &&
		   dp_noise_laplace_error(&scale, 1) == 0,
		   "error bound at beta NaN, 0, -1, 1");
}

int
main(void)
{
	test_make();
	test_compare();
	test_multiply();
	test_laws();
	test_scale();
	return tap_done();
}
