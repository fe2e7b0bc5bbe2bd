/*
 * aggregate.c
 *	  Histograms and the three sums of a variance: laws, audits, and the
 *	  variants that these must reject.  Counts, sums and means are in audit.c
 *	  and power.c.
 *
 * The models write the recipes a second time, from the specification: a
 * histogram is a count per half-open bin, the last one closed, with noise on
 * every cell; a variance of values k in 0 .. G is had from the sums of
 * (G - k)^2, 2 k (G - k) and k^2, which one row moves by G^2 together.
 * Rates: as subject.h says.
 */
#include "additive_broken.h"
#include "subject.h"

#define ROWS_MAX 8

typedef enum aggregate_defect
{
	SOUND = 0,
	SCALE_HALVED,
	NOISE_SHARED,				/* one draw for all cells */
	NOISE_ON_SOME,				/* none on cells without rows */
	EMPTY_DROPPED,				/* cells without rows are not there */
	SMALL_SUPPRESSED,			/* cells of fewer than 5 rows are not shown */
	EDGES_OF_DATA,				/* bins between the least and the largest */
	EDGE_TWICE,					/* a row on an edge is in both bins */
	NOISE_FLOAT,				/* noise from a double */
	SENSITIVITY_OF_WIDTH,		/* a square moves by G, not by G^2 */
	EPSILON_THRICE,				/* n, sum and squares at epsilon each */
	ROWS_DIVIDE,				/* squares divided by the true n */
	NO_CLAMP					/* rows are not clamped */
} aggregate_defect;

typedef struct aggregate
{
	aggregate_defect defect;
	int			row[ROWS_MAX];
	int			rows;
	int			top;			/* values 0 .. top; histogram: two bins */
	double		epsilon;		/* 1/integer or an integer */
	int			which[2];		/* of a variance's sums are released */
} aggregate;

static double
noise_of(const aggregate *g, double sensitivity)
{
	additive	a;
	uint64_t	num = (uint64_t) rint(sensitivity * 1000);
	uint64_t	den = (uint64_t) rint(g->epsilon * 1000);

	a = laplace_of(0, num, g->defect == SCALE_HALVED ? 2 * den : den);
	return g->defect == NOISE_FLOAT ? float_laplace_noise(&a) :
		laplace_noise(&a);
}

/* ---- histograms ---- */

static void
count_bins(const aggregate *g, double *count)
{
	double		least = 0;
	double		largest = g->top;
	double		middle;
	int			i;

	if (g->defect == EDGES_OF_DATA && g->rows > 0)
	{
		least = largest = g->row[0];
		for (i = 1; i < g->rows; i++)
		{
			least = fmin(least, g->row[i]);
			largest = fmax(largest, g->row[i]);
		}
	}
	middle = (least + largest) / 2;
	count[0] = count[1] = 0;
	for (i = 0; i < g->rows; i++)
	{
		if (g->row[i] < least || g->row[i] > largest)
			continue;
		count[0] += g->row[i] < middle ||
			(g->defect == EDGE_TWICE && g->row[i] == middle);
		count[1] += g->row[i] >= middle;
	}
}

static bool
draw_histogram(void *state, double *out)
{
	const aggregate *g = state;
	double		count[2];
	double		noise = noise_of(g, 1);
	int			i;

	count_bins(g, count);
	for (i = 0; i < 2; i++)
	{
		if (i > 0 && g->defect != NOISE_SHARED)
			noise = noise_of(g, 1);
		out[i] = count[i] + noise;
		if (count[i] == 0 && g->defect == NOISE_ON_SOME)
			out[i] = 0;
		if (count[i] == 0 && g->defect == EMPTY_DROPPED)
			out[i] = NAN;
		if (count[i] < 5 && g->defect == SMALL_SUPPRESSED)
			out[i] = NAN;
	}
	return true;
}

/* ---- variances ---- */

static double
clamped(const aggregate *g, int row)
{
	return g->defect == NO_CLAMP ? row : fmax(0, fmin(g->top, row));
}

static bool
draw_variance(void *state, double *out)
{
	const aggregate *g = state;
	double		sum[3] = {0, 0, 0};
	double		moves[3];
	double		top = g->top;
	int			i;

	for (i = 0; i < 3; i++)
		moves[i] = top * top;
	if (g->defect == SENSITIVITY_OF_WIDTH)
		moves[0] = moves[1] = moves[2] = top;
	for (i = 0; i < g->rows; i++)
	{
		double		k = clamped(g, g->row[i]);

		if (g->defect == EPSILON_THRICE)
		{
			/* n in units of the sums' scales: all move by top^2 */
			sum[0] += top * top;
			sum[1] += k * top;
			sum[2] += k * k;
			continue;
		}
		sum[0] += (top - k) * (top - k);
		sum[1] += 2 * k * (top - k);
		sum[2] += k * k;
	}
	for (i = 0; i < 2; i++)
	{
		int			w = g->which[i];

		if (i == 0 || g->defect != NOISE_SHARED)
			out[i] = noise_of(g, moves[w]);
		else
			out[i] = out[0] - sum[g->which[0]];
		out[i] += sum[w];
	}
	if (g->defect == ROWS_DIVIDE)
	{
		out[0] = rint(1000 * out[0] / g->rows);
		out[1] = 0;
	}
	return true;
}

/* ---- cases ---- */

typedef struct aggregate_case
{
	const char *mechanism;
	const char *variant;
	int			by;
	subject_draw draw;
	aggregate	g;				/* the first input; */
	int			added;			/* the second one has this row more, */
	bool		replaced;		/* or instead of its last one */
	double		claim;			/* 0: epsilon */
} aggregate_case;

#define HISTOGRAM "histogram", NULL, 0, draw_histogram
#define VARIANCE "variance", NULL, 0, draw_variance

static const aggregate_case sound_cases[] = {
	{HISTOGRAM, {SOUND, {0}, 0, 10, 1, {0, 0}}, 3, false, 0},
	{HISTOGRAM, {SOUND, {1, 2, 7}, 3, 10, 1, {0, 0}}, 5, false, 0},
	{HISTOGRAM, {SOUND, {1, 2, 7}, 3, 10, 2, {0, 0}}, 10, false, 0},
	{"histogram, one replaced", NULL, 0, draw_histogram,
	{SOUND, {1, 2, 7}, 3, 10, 0.5, {0, 0}}, 1, true, 1},
	{VARIANCE, {SOUND, {1}, 1, 2, 1, {0, 2}}, 0, false, 0},
	{VARIANCE, {SOUND, {0}, 0, 2, 1, {0, 2}}, 2, false, 0},
	{VARIANCE, {SOUND, {2, 1}, 2, 2, 1, {1, 2}}, 9, false, 0},
	{"variance, a row in the middle", NULL, 0, draw_variance,
	{SOUND, {2}, 1, 2, 2, {0, 1}}, 1, false, 0}
};

static const aggregate_case broken_cases[] = {
	{"histogram", "scale halved", BY_LAW | BY_AUDIT, draw_histogram,
	{SCALE_HALVED, {1}, 1, 10, 1, {0, 0}}, 2, false, 0},
	{"histogram", "noise only on cells with rows", BY_LAW | BY_AUDIT,
	draw_histogram, {NOISE_ON_SOME, {7}, 1, 10, 1, {0, 0}}, 2, false, 0},
	{"histogram", "empty cells left out", BY_LAW | BY_AUDIT, draw_histogram,
	{EMPTY_DROPPED, {7}, 1, 10, 1, {0, 0}}, 2, false, 0},
	{"histogram", "small cells not shown, by their true count",
	BY_LAW | BY_AUDIT, draw_histogram,
	{SMALL_SUPPRESSED, {1, 1, 1, 1}, 4, 10, 1, {0, 0}}, 2, false, 0},
	{"histogram", "noise reused across cells", BY_AUDIT, draw_histogram,
	{NOISE_SHARED, {1}, 1, 10, 1, {0, 0}}, 2, false, 0},
	{"histogram", "edges taken from the data", BY_AUDIT, draw_histogram,
	{EDGES_OF_DATA, {0, 6, 7, 8}, 4, 10, 1, {0, 0}}, 20, false, 0},
	{"histogram", "row on an edge in both cells", BY_AUDIT, draw_histogram,
	{EDGE_TWICE, {1}, 1, 10, 1, {0, 0}}, 5, false, 0},
	{"histogram", "one replaced, noise for one added", BY_AUDIT,
	draw_histogram, {SOUND, {1, 7}, 2, 10, 1, {0, 0}}, 1, true, 0},
	{"histogram", "noise in floating point", BY_LAW | BY_SUPPORT,
	draw_histogram, {NOISE_FLOAT, {1}, 1, 10, 1, {0, 0}}, 2, false, 0},
	{"variance", "scale halved", BY_AUDIT, draw_variance,
	{SCALE_HALVED, {1}, 1, 2, 1, {0, 2}}, 0, false, 0},
	{"variance", "noise of the width, not of its square", BY_AUDIT,
	draw_variance, {SENSITIVITY_OF_WIDTH, {1}, 1, 2, 1, {0, 2}}, 0, false, 0},
	{"variance", "n, sum and squares at epsilon each", BY_AUDIT,
	draw_variance, {EPSILON_THRICE, {1}, 1, 2, 1, {0, 2}}, 2, false, 0},
	{"variance", "noise reused between the sums", BY_AUDIT, draw_variance,
	{NOISE_SHARED, {1}, 1, 2, 1, {0, 2}}, 0, false, 0},
	{"variance", "true number of rows as divisor", BY_AUDIT, draw_variance,
	{ROWS_DIVIDE, {1}, 1, 2, 1, {0, 2}}, 0, false, 0},
	{"variance", "no clamp", BY_AUDIT, draw_variance,
	{NO_CLAMP, {1}, 1, 2, 1, {0, 2}}, 9, false, 0}
};

static subject
subject_of(const aggregate_case *c, aggregate *pair)
{
	subject		s = {c->draw, {&pair[0], &pair[1]}, 2, {0, 0}, 1, 0, 0, 0};
	double		x[2];
	int			i;

	pair[0] = pair[1] = c->g;
	if (c->replaced)
		pair[1].rows--;
	pair[1].row[pair[1].rows++] = c->added;
	s.epsilon = c->claim > 0 ? c->claim : c->g.epsilon;

	/* centres: the first input's sums, of which the noise is symmetric */
	if (c->draw == draw_histogram)
		count_bins(&pair[0], s.centre);
	else
	{
		for (i = 0; i < 2000; i++)
		{
			draw_variance(&pair[0], x);
			s.centre[0] += x[0] / 2000;
			s.centre[1] += x[1] / 2000;
		}
		s.centre[0] = rint(s.centre[0]);
		s.centre[1] = rint(s.centre[1]);
		s.step = c->g.defect == ROWS_DIVIDE ? 500 : 1;
	}
	return s;
}

/* The law of the first cell. */
static void
histogram_law(const aggregate_case *c, law *l)
{
	aggregate	sound = c->g;
	double		count[2];
	int			i;

	sound.defect = SOUND;
	count_bins(&sound, count);
	law_begin(l, count[0] - 100);
	for (i = -100; i <= 100; i++)
		law_add(l, 1, tanh(c->g.epsilon / 2) *
				exp(-abs(i) * c->g.epsilon));
}

int
main(void)
{
	aggregate	pair[2];
	subject		s;
	law			l;
	char		label[128];
	size_t		i;

	dp_noise_source_init(&source, dp_noise_fill_openssl, NULL);
	for (i = 0; i < sizeof(sound_cases) / sizeof(sound_cases[0]); i++)
	{
		const aggregate_case *c = &sound_cases[i];

		snprintf(label, sizeof(label), "%s %zu", c->mechanism, i);
		s = subject_of(c, pair);
		accept_audit(label, &s, SUBJECT_TIGHT);
		if (c->draw != draw_histogram)
			continue;
		histogram_law(c, &l);
		accept_law(label, &s, &l);
	}
	for (i = 0; i < sizeof(broken_cases) / sizeof(broken_cases[0]); i++)
	{
		const aggregate_case *c = &broken_cases[i];

		s = subject_of(c, pair);
		histogram_law(c, &l);
		reject(c->mechanism, c->variant, c->by, &s, &l);
	}
	return table_done();
}
