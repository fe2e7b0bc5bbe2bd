/*
 * subject.h
 *	  A mechanism under test, sound or broken on purpose, and the three tests
 *	  that judge it: its exact law, an audit, its support.
 *
 * A subject draws one or two numbers from one of two neighbouring inputs;
 * indices of candidates are numbers, too.
 *
 * Rates.  A sound mechanism fails a law test with probability
 * DP_CHISQ_ALPHA = 1e-12 and an audit with AUDIT_ALPHA = 1e-10; the support
 * test never accuses it.  The mechanisms of all programs that include this
 * file take fewer than 200 law tests and 100 audits, which is below 1.1e-8 a
 * run.  A variant is missed with a probability below 1e-12: each is chosen
 * such that the statistic lies tens of standard errors beyond the threshold.
 */
#ifndef STAT_SUBJECT_H
#define STAT_SUBJECT_H

#include <stdio.h>
#include <stdlib.h>

#include "chisq.h"
#include "dp_numbers.h"
#include "dp_noise.h"
#include "loss.h"
#include "table.h"

#define SUBJECT_DRAWS 100000	/* of a law or support test */
#define SUBJECT_RUNS 500000		/* of an audit, on either input */
#define SUBJECT_TIGHT 0.6		/* share of a claim that an audit can see */
#define LAW_MAX 512

/* What rejects a variant. */
#define BY_LAW 1
#define BY_AUDIT 2
#define BY_SUPPORT 4

/* False when the mechanism failed. */
typedef bool (*subject_draw) (void *input, double *out);

typedef struct subject
{
	subject_draw draw;
	void	   *input[2];		/* neighbours */
	int			numbers;		/* of one release; 0 stands for 1 */
	double		centre[2];		/* where an audit looks, and */
	double		step;			/* how finely; 0 stands for 1 */
	double		epsilon;		/* claimed */
	double		delta;
	int			runs;			/* of an audit; 0 stands for SUBJECT_RUNS */
} subject;

/*
 * The law of a draw's first number on input[0]: the probabilities of integers
 * in [left[i], left[i + 1]).  What lies outside all of them is one more cell.
 */
typedef struct law
{
	int			cells;
	double		left[LAW_MAX + 1];
	double		probability[LAW_MAX];
} law;

static dp_source source;

static inline void
subject_check(dp_status status)
{
	if (status != DP_OK)
	{
		fprintf(stderr, "mechanism failed with status %d\n", (int) status);
		exit(2);
	}
}

static inline void
subject_run(const subject *s, int input, double *x)
{
	x[0] = x[1] = 0;
	if (!s->draw(s->input[input], x))
	{
		fprintf(stderr, "a mechanism failed\n");
		exit(2);
	}
}

/* An empty law that starts at `first`, */
static inline void
law_begin(law *l, double first)
{
	l->cells = 0;
	l->left[0] = first;
}

/* and the next `width` integers of it. */
static inline void
law_add(law *l, double width, double probability)
{
	if (l->cells == LAW_MAX)
		exit(2);
	l->probability[l->cells] = probability;
	l->left[l->cells + 1] = l->left[l->cells] + width;
	l->cells++;
}

/* Which cell; l->cells outside all of them. */
static inline int
law_find(const law *l, double x)
{
	int			low = 0;
	int			high = l->cells;

	if (!(x >= l->left[0] && x < l->left[l->cells]))
		return l->cells;
	while (high - low > 1)
	{
		int			middle = (low + high) / 2;

		if (x >= l->left[middle])
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* p-value of `draws` draws against a law; 0 outside the integers. */
static inline double
subject_law_p(const subject *s, const law *l, int draws)
{
	double		observed[LAW_MAX + 1] = {0};
	double		expected[LAW_MAX + 1] = {0};
	double		rest = 1;
	double		x[2];
	int			i;

	for (i = 0; i < draws; i++)
	{
		subject_run(s, 0, x);
		if (!(x[0] == floor(x[0])))
			return 0;
		observed[law_find(l, x[0])]++;
	}
	for (i = 0; i < l->cells; i++)
	{
		expected[i] = draws * l->probability[i];
		rest -= l->probability[i];
	}

	/* 1 minus a sum of probabilities of 17 digits is off by less */
	expected[l->cells] = rest > 1e-13 ? draws * rest : 0;
	return dp_chisq_test(observed, expected, l->cells + 1).p;
}

/* The bound on the loss at s->delta that the runs show. */
static inline double
subject_loss(const subject *s)
{
	int			runs = s->runs > 0 ? s->runs : SUBJECT_RUNS;
	loss_audit *audit = loss_begin(s->numbers == 2 ? 2 : 1, s->centre[0],
								   s->centre[1], s->step > 0 ? s->step : 1);
	double		x[2];
	double		bound;
	int			input;
	int			i;

	for (input = 0; input < 2; input++)
		for (i = 0; i < runs; i++)
		{
			subject_run(s, input, x);
			loss_record(audit, input, x);
		}
	bound = loss_bound_at(audit, s->delta);
	free(audit);
	return bound;
}

static inline int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y ? 1 : 0;
}

/*
 * The support test: on both inputs every number released is a multiple of
 * the granule.  Returns how many of 2 * draws are not.
 */
static inline int
subject_off_grid(const subject *s, double granule, int draws)
{
	double		x[2];
	int			off = 0;
	int			input;
	int			i;

	for (input = 0; input < 2; input++)
		for (i = 0; i < draws; i++)
		{
			subject_run(s, input, x);
			if (x[0] / granule != rint(x[0] / granule) ||
				x[1] / granule != rint(x[1] / granule))
				off++;
		}
	return off;
}

/*
 * How many of the numbers released on the second input were never seen on
 * the first one: all of them when the supports are apart, as those of
 * floating-point noise around different values are.
 */
static inline int
subject_strangers(const subject *s, int draws)
{
	double	   *seen = malloc(sizeof(double) * (size_t) draws);
	double		x[2];
	int			strangers = 0;
	int			i;

	if (seen == NULL)
		exit(2);
	for (i = 0; i < draws; i++)
	{
		subject_run(s, 0, x);
		seen[i] = x[0];
	}
	qsort(seen, (size_t) draws, sizeof(double), compare_doubles);
	for (i = 0; i < draws; i++)
	{
		subject_run(s, 1, x);
		if (bsearch(&x[0], seen, (size_t) draws, sizeof(double),
					compare_doubles) == NULL)
			strangers++;
	}
	free(seen);
	return strangers;
}

/* ---- checks ---- */

/* A sound mechanism follows its law. */
static inline void
accept_law(const char *name, const subject *s, const law *l)
{
	double		p = subject_law_p(s, l, SUBJECT_DRAWS);

	tap_ok(p >= DP_CHISQ_ALPHA, "law: %s: p = %.3g", name, p);
}

/*
 * A sound mechanism is not accused; that share of the claim at least has to
 * be seen, SUBJECT_TIGHT where inputs are as far apart as neighbours can be.
 */
static inline void
accept_audit(const char *name, const subject *s, double tight)
{
	double		bound = subject_loss(s);

	tap_ok(bound <= s->epsilon && bound >= tight * s->epsilon,
		   "audit: %s: loss of at least %.4f is seen, %.4f claimed%s", name,
		   bound, s->epsilon, s->delta > 0 ? " at its delta" : "");
}

static inline void
accept_support(const char *name, const subject *s, double granule)
{
	int			off = subject_off_grid(s, granule, SUBJECT_DRAWS);

	tap_ok(off == 0, "support: %s: %d of %d outputs on two neighbours are "
		   "off the grid", name, off, 2 * SUBJECT_DRAWS);
}

/* A broken variant is rejected by every test that `by` names. */
static inline void
reject(const char *mechanism, const char *variant, int by, const subject *s,
	   const law *l)
{
	double		x;

	if (by & BY_LAW)
	{
		x = subject_law_p(s, l, SUBJECT_DRAWS);
		table_reject(x < DP_CHISQ_ALPHA, mechanism, variant, "exact law",
					 "p = %.2g", x);
	}
	if (by & BY_AUDIT)
	{
		x = subject_loss(s);
		table_reject(x > s->epsilon, mechanism, variant, "audit",
					 "loss > %.3f, claim %.3f", x, s->epsilon);
	}
	if (by & BY_SUPPORT)
	{
		x = subject_off_grid(s, 1, SUBJECT_DRAWS);
		table_reject(x > 0, mechanism, variant, "support test",
					 "%.0f of %d off the grid", x, 2 * SUBJECT_DRAWS);
	}
}

#endif							/* STAT_SUBJECT_H */
