/*
 * test_acct_spent.c
 *	  Sums over the parts of a partition: what is added to the total is
 *	  exactly the rise of the largest part, in each component.
 *
 * No check is statistical: the false-alarm rate is 0.
 */
#include "acct_support.h"

#define PARTS 4
#define COMPONENTS 4

static uint64_t state = 99;

static uint64_t
draw(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) +
		UINT64_C(1442695040888963407);
	return (state >> 33) % n;
}

static dp_fixed
component(const dp_spent *s, int i)
{
	const dp_fixed all[COMPONENTS] = {
		s->epsilon, s->rho, s->delta, s->squares
	};

	return all[i];
}

/* Random charges to parts and to no part, against sums made from scratch. */
static void
test_random(void)
{
	bool		total_good = true;
	bool		maximum_good = true;
	bool		order_good = true;
	int			round;

	for (round = 0; round < 500; round++)
	{
		dp_spent	total = {0};
		dp_spent	sequential = {0};
		dp_spent	maximum = {0};
		dp_spent	part[PARTS];
		int			step;

		memset(part, 0, sizeof(part));
		for (step = 0; step < 30; step++)
		{
			dp_charge	charge = {draw(100), draw(100), draw(10)};
			int			p = (int) draw(PARTS + 1);
			int			i;

			if (draw(200) == 0)
				charge.epsilon = DP_FIXED_INFINITE;
			charge.epsilon = charge.epsilon == DP_FIXED_INFINITE ?
				charge.epsilon : charge.epsilon * (DP_FIXED_ONE / 1000);
			if (p == PARTS)
			{
				if (dp_accounting_spent_add(&total, &charge) != DP_OK ||
					dp_accounting_spent_add(&sequential, &charge) != DP_OK)
					exit(2);
				continue;
			}
			if (dp_accounting_spent_add(&part[p], &charge) != DP_OK ||
				dp_accounting_spent_rise(&total, &maximum, &part[p]) != DP_OK)
				exit(2);
			dp_accounting_spent_maximum(&maximum, &part[p]);
			for (i = 0; i < COMPONENTS; i++)
			{
				dp_fixed	most = 0;
				int			q;

				for (q = 0; q < PARTS; q++)
				{
					dp_fixed	mine = component(&part[q], i);
					dp_fixed	own = dp_accounting_fixed_add(
						component(&sequential, i), mine);

					most = mine > most ? mine : most;
					order_good = order_good && own <= component(&total, i);
				}
				maximum_good = maximum_good &&
					component(&maximum, i) == most;
				total_good = total_good && component(&total, i) ==
					dp_accounting_fixed_add(component(&sequential, i), most);
			}
			total_good = total_good && total.charges == step + 1;
		}
	}
	tap_ok(maximum_good, "the maximum is the largest part");
	tap_ok(total_good, "the total is the sequential sum plus the maximum");
	tap_ok(order_good, "no unit's own sums exceed the total");
}

static void
test_corners(void)
{
	const dp_fixed top = DP_FIXED_INFINITE - 1;
	dp_spent	total = {top, top, top, 1, top};
	dp_spent	maximum = {0};
	dp_spent	part = {1, 1, 1, 1, 1};
	dp_spent	kept;

	tap_ok(dp_accounting_spent_rise(&total, &maximum, &part) == DP_OK &&
		   total.epsilon == DP_FIXED_INFINITE &&
		   total.rho == DP_FIXED_INFINITE &&
		   total.delta == DP_FIXED_INFINITE &&
		   total.squares == DP_FIXED_INFINITE && total.charges == 2,
		   "a total that does not fit is infinite");
	maximum = (dp_spent) {5, 5, 5, 1, 5};
	total = maximum;
	tap_ok(dp_accounting_spent_rise(&total, &maximum, &part) == DP_OK &&
		   total.epsilon == 5 && total.rho == 5 && total.delta == 5 &&
		   total.squares == 5 && total.charges == 2,
		   "below the maximum nothing is added but the count");
	total = (dp_spent) {0};
	part.epsilon = DP_FIXED_INFINITE;
	tap_ok(dp_accounting_spent_rise(&total, &maximum, &part) == DP_OK &&
		   total.epsilon == DP_FIXED_INFINITE && total.rho == 0,
		   "a part without epsilon rises to infinity from any maximum");
	total = maximum;
	part.epsilon = 1;
	total.charges = INT64_MAX;
	memcpy(&kept, &total, sizeof(kept));
	tap_ok(dp_accounting_spent_rise(&total, &maximum,
									&part) == DP_E_OVERFLOW &&
		   dp_accounting_spent_sum(&total, &part) == DP_E_OVERFLOW &&
		   memcmp(&total, &kept, sizeof(kept)) == 0,
		   "too many charges: untouched");
	total.charges = -1;
	tap_ok(dp_accounting_spent_sum(&total, &part) == DP_E_RANGE &&
		   total.charges == -1, "a negative number of charges");
	total = (dp_spent) {1, 2, 3, 4, 5};
	tap_ok(dp_accounting_spent_sum(&total, &maximum) == DP_OK &&
		   total.epsilon == 6 && total.rho == 7 && total.delta == 8 &&
		   total.charges == 5 && total.squares == 10, "sums of sums");
}

int
main(void)
{
	test_random();
	test_corners();
	return tap_done();
}
