/*
 * audit.c
 *	  Privacy audits of counts, sums and means on neighbouring inputs, without
 *	  a server, and what an audit must reject.
 *
 * Every audit runs each of the two neighbours RUNS times and bounds the loss
 * from below (loss.h).  A sound mechanism is accused with probability at most
 * AUDIT_ALPHA = 1e-10; fewer than 40 sound audits make less than 4e-9 per run.
 *
 * An audit must also be worth something.  A sound mechanism has to show at
 * least 3/4 of the epsilon it claims wherever the neighbours differ as much as
 * they can; and every defect that an audit can see has to be accused, with a
 * bound above what was claimed.  At these epsilons and defects the bounds lie
 * tens of standard errors beyond both thresholds, so a miss has a probability
 * below 1e-12 each.
 */
#include "loss.h"
#include "model.h"
#include "table.h"

#define RUNS 500000
#define TIGHT 0.75

static dp_source source;

typedef enum release_kind
{
	COUNT,						/* of one group */
	COUNTS,						/* of two groups, the first one's rows move */
	SUM,
	PAIR,						/* the two sums of a mean */
	MEAN						/* the mean, twice, so that halves are whole */
} release_kind;

typedef struct neighbours
{
	const char *name;
	release_kind kind;
	dp_uint128	num;			/* epsilon as claimed */
	dp_uint128	den;
	double		low;			/* bounds */
	double		high;
	int			rows;			/* common rows */
	double		common[4];
	double		added;			/* the row that one neighbour has more */
	bool		worst;			/* no neighbours are farther apart */
} neighbours;

static void
release(const model *m, release_kind kind, const model_group *group,
		double *out)
{
	out[1] = 0;
	switch (kind)
	{
		case COUNT:
			model_count(m, group, 1, out);
			break;
		case COUNTS:
			model_count(m, group, 2, out);
			break;
		case SUM:
			out[0] = model_sum(m, group);
			break;
		case PAIR:
			model_pair(m, group, out);
			break;
		case MEAN:
			out[0] = model_mean(m, group, 2);
			break;
	}
}

/* The bound on the loss that RUNS runs on each neighbour show. */
static double
audit(const neighbours *c, model_defect defect)
{
	model		m = {&source, defect, {c->num, c->den}, c->low, c->high};
	model_group group[2] = {{0, {0}}, {0, {0}}};
	double		scale = (double) c->den / (double) c->num;
	double		centre[2] = {0, 0};
	double		x[2];
	double		bound;
	loss_audit *runs;
	int			input;
	int			i;

	/* the model without noise tells where to look */
	for (i = 0; i < c->rows; i++)
	{
		group[0].x[i] = c->common[i];
		centre[0] += fmin(fmax(c->common[i], c->low), c->high);
	}
	group[0].rows = c->rows;
	group[0].x[c->rows] = c->added;
	if (c->kind == SUM)
		scale *= fmax(fabs(c->low), fabs(c->high));
	if (c->kind == PAIR)
	{
		centre[1] = c->rows * c->high - centre[0];
		centre[0] -= c->rows * c->low;
		scale *= c->high - c->low;
	}
	if (c->kind == COUNT || c->kind == COUNTS)
		centre[0] = c->rows;
	if (c->kind == MEAN)
	{
		centre[0] = c->low + c->high;
		scale = (c->high - c->low) / LOSS_REACH;
	}

	runs = loss_begin(c->kind == PAIR || c->kind == COUNTS ? 2 : 1,
					  centre[0], centre[1], fmax(1, ceil(scale / 8)));
	for (input = 0; input < 2; input++)
	{
		group[0].rows = c->rows + input;
		for (i = 0; i < RUNS; i++)
		{
			release(&m, c->kind, group, x);
			loss_record(runs, input, x);
		}
	}
	bound = loss_bound(runs);
	free(runs);
	return bound;
}

/* ---- sound mechanisms ---- */

static const neighbours sound_cases[] = {
	{"count, nobody and somebody", COUNT, 1, 1, 0, 0, 0, {0}, 1, true},
	{"count, epsilon 1/4", COUNT, 1, 4, 0, 0, 3, {1, 1, 1}, 1, true},
	{"count, epsilon 2.5", COUNT, 5, 2, 0, 0, 3, {1, 1, 1}, 1, true},
	{"counts by group", COUNTS, 1, 1, 0, 0, 0, {0}, 1, true},
	{"sum, row at the far bound", SUM, 1, 1, -7, 10, 2, {3, -7}, 10, true},
	{"sum, row at the near bound", SUM, 1, 1, -7, 10, 2, {3, -7}, -7, false},
	{"sum, row far outside", SUM, 1, 1, -7, 10, 1, {3}, 1e9, true},
	{"sum, negative bounds", SUM, 1, 1, -12, -10, 0, {0}, -12, true},
	{"sum, infinite row", SUM, 1, 2, 0, 5, 1, {2}, INFINITY, true},
	{"sum, row that is no number", SUM, 1, 1, -7, 10, 1, {3}, NAN, false},
	{"sum, halves round to even", SUM, 1, 1, 0, 1, 1, {.5}, 1, true},
	{"mean's pair, row at the upper bound", PAIR, 1, 1, 10, 14, 2, {10, 13},
	14, true},
	{"mean's pair, row at the lower bound", PAIR, 1, 1, 10, 14, 0, {0}, 10,
	true},
	{"mean's pair, row in the middle", PAIR, 1, 1, 10, 14, 1, {11}, 12,
	true},
	{"mean's pair, row far outside", PAIR, 1, 1, -2, 1, 1, {0}, -1e9, true},
	{"mean's pair, epsilon 1/5", PAIR, 1, 5, 0, 1, 3, {0, 1, 1}, 1, true},
	{"mean, row at the upper bound", MEAN, 1, 1, 0, 4, 1, {0}, 4, false},
	{"mean, nobody and somebody", MEAN, 1, 1, 0, 4, 0, {0}, 4, false}
};

static void
test_sound(void)
{
	size_t		i;

	for (i = 0; i < sizeof(sound_cases) / sizeof(sound_cases[0]); i++)
	{
		const neighbours *c = &sound_cases[i];
		double		epsilon = (double) c->num / (double) c->den;
		double		bound = audit(c, SOUND);

		tap_ok(bound <= epsilon &&
			   (!c->worst || bound >= TIGHT * epsilon),
			   "%s: loss of at least %.4f is seen, at most %.4f claimed",
			   c->name, bound, epsilon);
	}
}

/* ---- defects ---- */

static const struct
{
	const char *defect_name;
	model_defect defect;
	neighbours	c;
}			broken_cases[] = {
	{"scale halved", SCALE_HALVED,
	{"count", COUNT, 1, 1, 0, 0, 0, {0}, 1, true}},
	{"scale halved", SCALE_HALVED,
	{"sum", SUM, 1, 1, -7, 10, 1, {3}, 10, true}},
	{"scale halved", SCALE_HALVED,
	{"mean's pair", PAIR, 1, 1, 10, 14, 1, {12}, 14, true}},
	{"noise reused between the two sums", NOISE_SHARED_BY_PAIR,
	{"mean's pair", PAIR, 1, 1, 10, 14, 1, {12}, 14, true}},
	{"noise reused across groups", NOISE_SHARED_BY_GROUPS,
	{"counts", COUNTS, 1, 1, 0, 0, 2, {1, 1}, 1, true}},
	{"total rounded half-even, sensitivity 2", TOTAL_ROUNDED,
	{"sum", SUM, 1, 1, 0, 1, 1, {.5}, 1, true}},
	{"true number of rows as divisor", COUNT_DIVIDES,
	{"mean", MEAN, 1, 1, 0, 4, 1, {2}, 2, true}},
	{"true number of rows, none of them, as divisor", COUNT_DIVIDES,
	{"mean", MEAN, 1, 1, 0, 4, 0, {0}, 2, true}},
	{"no clamp", NO_CLAMP,
	{"sum", SUM, 1, 1, -7, 10, 1, {3}, 100, true}},
	{"no clamp", NO_CLAMP,
	{"mean's pair", PAIR, 1, 1, 10, 14, 1, {12}, 30, true}},
	{"width instead of magnitude as sensitivity", WIDTH_FOR_MAGNITUDE,
	{"sum", SUM, 1, 1, 10, 12, 1, {11}, 12, true}},
	{"epsilon rounded up", EPSILON_ROUNDED_UP,
	{"count", COUNT, 21, 100, 0, 0, 1, {1}, 1, true}},
	{"no noise on empty groups", EMPTY_WITHOUT_NOISE,
	{"counts", COUNTS, 1, 1, 0, 0, 0, {0}, 1, true}},
	{"empty groups dropped", EMPTY_DROPPED,
	{"counts", COUNTS, 1, 1, 0, 0, 0, {0}, 1, true}}
};

static void
test_broken(void)
{
	size_t		i;

	for (i = 0; i < sizeof(broken_cases) / sizeof(broken_cases[0]); i++)
	{
		const neighbours *c = &broken_cases[i].c;
		double		epsilon = (double) c->num / (double) c->den;
		double		bound = audit(c, broken_cases[i].defect);

		table_reject(bound > epsilon, c->name, broken_cases[i].defect_name,
					 "audit", "loss > %.3f, claim %.3f", bound, epsilon);
	}
}

int
main(void)
{
	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	test_sound();
	test_broken();
	return table_done();
}
