/*
 * profile_bounds.c
 *	  Bounds that follow from a profile, for one query.
 *
 * Where an owner has a profile and declared nothing, each query gets the
 * bounds that promise it the least error: what they leave out, by the noisy
 * histograms of the profile, and the noise that they cost.  That is a function
 * of released numbers and of public ones, so it costs no privacy, also if rows
 * are newer than the profile (doc/theory.md T161).  Floating point decides
 * between bounds only; noise follows exactly from those that are chosen.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"

#include "../base/dp_base.h"
#include "../catalog/dp_table.h"
#include "dp_protect.h"
#include "protect_internal.h"

/* ---- reading a profile ---- */

/*
 * Present buckets of a histogram, in order.  Of rows and groups, if there are
 * units beyond the last one, FARTHER more share them: so heavy tails go on.
 */
#define FARTHER 4				/* buckets, up to 4 times the last end */

typedef struct histogram
{
	int			n;
	char	  **end;			/* upper ends */
	double	   *upper;			/* as numbers, */
	double	   *middle;			/* and about the mean of the bucket */
	double	   *units;			/* noisy number of units, at least 0 */
} histogram;

/* The value of a key of an object as text; NULL: none, or null. */
static char *
get_text(JsonbContainer *object, const char *key)
{
	JsonbValue *v = getKeyJsonValueFromContainer(object, key, strlen(key),
												 NULL);

	if (v != NULL && v->type == jbvString)
		return pnstrdup(v->val.string.val, v->val.string.len);
	if (v != NULL && v->type == jbvNumeric)
		return DatumGetCString(DirectFunctionCall1(numeric_out,
									NumericGetDatum(v->val.numeric)));
	return NULL;
}

/*
 * The object of the array that is about an attribute (NULL: none), and says
 * this of it; NULL if there is none.
 */
static JsonbContainer *
find_object(Jsonb *array, const char *attribute, const char *what)
{
	int			n = JsonContainerSize(&array->root);
	int			i;

	for (i = 0; i < n; i++)
	{
		JsonbValue *v = getIthJsonbValueFromContainer(&array->root, i);
		char	   *named;
		char	   *says;

		if (v->type != jbvBinary)
			continue;
		named = get_text(v->val.binary.data, "attribute");
		says = get_text(v->val.binary.data, "what");
		if (says != NULL && strcmp(says, what) == 0 &&
			(named == NULL || attribute == NULL ? named == attribute :
			 strcmp(named, attribute) == 0))
			return v->val.binary.data;
	}
	return NULL;
}

static double
to_double(const char *text)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
		NumericGetDatum(dp_base_text_to_numeric(text))));
}

/*
 * Where the bucket before the one that ends with this number of rows or
 * groups ends: ends are 1, 2, 3, 4, 6, 8, 12, ...
 */
static double
count_before(double end)
{
	int			exponent;

	if (end <= 3)
		return end - 1;
	return frexp(end, &exponent) == 0.5 ? end * 3 / 4 : end * 2 / 3;
}

/* Where the next one ends. */
static double
count_after(double end)
{
	int			exponent;

	if (end < 3)
		return end + 1;
	return frexp(end, &exponent) == 0.5 ? end * 3 / 2 : end * 4 / 3;
}

/* Add the buckets that share what the line says is beyond the last one. */
static void
add_farther(histogram *h, JsonbContainer *line)
{
	char	   *units = line == NULL ? NULL : get_text(line, "beyond");
	double		more = units == NULL ? 0 : to_double(units);
	int			last = h->n + FARTHER;

	for (; more > 0 && h->n < last; h->n++)
	{
		h->upper[h->n] = count_after(h->upper[h->n - 1]);
		h->middle[h->n] = (h->upper[h->n - 1] + 1 + h->upper[h->n]) / 2;
		h->units[h->n] = more / FARTHER;
	}
}

/*
 * Read a histogram of numbers; `lines` if it is one of rows or groups, else
 * NULL.  False: there is none, or it is one of times.
 */
static bool
read_histogram(Jsonb *bars, const char *attribute, const char *what,
			   Jsonb *lines, histogram *h)
{
	JsonbContainer *object = find_object(bars, attribute, what);
	JsonbValue *list = object == NULL ? NULL :
		getKeyJsonValueFromContainer(object, "bars", strlen("bars"), NULL);
	int			i;

	if (list == NULL || list->type != jbvBinary)
		return false;
	h->n = JsonContainerSize(list->val.binary.data);
	h->end = palloc0(sizeof(char *) * (h->n + FARTHER));
	h->upper = palloc(sizeof(double) * (h->n + FARTHER));
	h->middle = palloc(sizeof(double) * (h->n + FARTHER));
	h->units = palloc(sizeof(double) * (h->n + FARTHER));
	for (i = 0; i < h->n; i++)
	{
		JsonbValue *pair = getIthJsonbValueFromContainer(list->val.binary.data,
														 i);
		JsonbValue *end =
			getIthJsonbValueFromContainer(pair->val.binary.data, 0);
		JsonbValue *units =
			getIthJsonbValueFromContainer(pair->val.binary.data, 1);

		h->end[i] = pnstrdup(end->val.string.val, end->val.string.len);
		if (strchr(h->end[i] + 1, '-') != NULL)
			return false;
		h->upper[i] = to_double(h->end[i]);
		h->middle[i] = (h->upper[i] +
						(lines != NULL ? count_before(h->upper[i]) + 1 :
						 h->upper[Max(i - 1, 0)])) / 2;
		h->units[i] = Max(0, DatumGetFloat8(DirectFunctionCall1(
									numeric_float8_no_overflow,
									NumericGetDatum(units->val.numeric))));
	}
	if (lines != NULL && h->n > 0)
		add_farther(h, find_object(lines, attribute, what));
	return h->n > 0;
}

/* What units have beyond a bound, all together; h may be empty. */
static double
beyond(const histogram *h, double bound)
{
	double		sum = 0;
	int			i;

	for (i = 0; i < h->n; i++)
		if (h->middle[i] > bound)
			sum += h->units[i] * (h->middle[i] - bound);
	return sum;
}

/* ---- rows of a unit ---- */

/* The histograms of rows; those of a key are empty if it has none. */
typedef struct row_histograms
{
	histogram	total;
	histogram	keys;
	histogram	rows;
} row_histograms;

static bool
read_rows(Oid relid, const char *key, row_histograms *h)
{
	Jsonb	   *lines;
	Jsonb	   *bars;

	memset(h, 0, sizeof(*h));
	if (!dp_catalog_find_profile(relid, &lines, &bars) ||
		!read_histogram(bars, NULL, "rows", lines, &h->total))
		return false;
	if (key != NULL &&
		(!read_histogram(bars, key, "groups", lines, &h->keys) ||
		 !read_histogram(bars, key, "rows in a group", lines,
						&h->rows)))
		h->keys.n = h->rows.n = 0;
	return true;
}

/* The n-th candidate for a bound: an end of a bucket, at most `most`. */
static int64
candidate(const histogram *h, int n, int64 most)
{
	return n >= h->n || h->upper[n] >= (double) most ? most :
		(int64) h->upper[n];
}

/* Is it `most` like the last one, which is no end of a bucket? */
static bool
is_repeated(const histogram *h, int n, int64 most)
{
	return n < h->n && h->upper[n] >= (double) most;
}

/* Rows that bounds leave out, about and at least. */
static double
rows_left_out(const row_histograms *h, const dp_unit_bounds *b)
{
	return Max(beyond(&h->total, b->total),
			   beyond(&h->rows, b->rows) + beyond(&h->keys, b->keys));
}

/* Root mean square of the error of a number of rows of a group. */
static double
expected_error(double left_out, const dp_unit_bounds *b, const dp_outlook *o)
{
	double		sum = Min((double) b->keys * b->rows, b->total);
	double		rest = fmod(sum, b->rows);
	double		noise = !o->gaussian ? sum :
		sqrt((sum - rest) * b->rows + rest * rest);

	if (o->counts_units)
		noise = hypot(noise, o->gaussian ? sqrt(b->keys) : b->keys);
	return hypot(left_out / o->groups, o->noise * noise);
}

/*
 * dp_protect_profile_rows
 *	  Choose total, rows and keys where bounds has 0; false, with nothing
 *	  changed: there is no profile with numbers of rows.
 */
bool
dp_protect_profile_rows(Oid relid, const dp_outlook *outlook,
						dp_unit_bounds *bounds)
{
	row_histograms h;
	dp_unit_bounds best = *bounds;
	double		least = -1;
	int			t;
	int			k;
	int			m;

	if (!read_rows(relid, outlook->key, &h))
		return false;
	for (t = h.total.n - 1; t >= 0; t--)
	{
		dp_unit_bounds b = *bounds;
		double		by_total;

		b.total = candidate(&h.total, t, PG_INT32_MAX);
		by_total = beyond(&h.total, b.total);
		for (k = h.keys.n; k >= (bounds->keys > 0 ? h.keys.n : 0); k--)
		{
			double		by_keys;

			if (is_repeated(&h.keys, k, b.total))
				continue;
			b.keys = bounds->keys > 0 ? bounds->keys :
				candidate(&h.keys, k, b.total);
			by_keys = beyond(&h.keys, b.keys);
			for (m = h.rows.n; m >= 0; m--)
			{
				double		error;

				if (is_repeated(&h.rows, m, b.total))
					continue;
				b.rows = candidate(&h.rows, m, b.total);
				error = expected_error(Max(by_total,
										   beyond(&h.rows, b.rows) + by_keys),
									   &b, outlook);
				if (least >= 0 && error >= least)
					continue;
				least = error;
				best = b;
			}
		}
	}
	best.total_from = DP_BOUND_PROFILE;
	best.rows_from = best.rows < best.total ? DP_BOUND_PROFILE :
		DP_BOUND_IMPLIED;
	if (bounds->keys == 0)
		best.keys_from = best.keys < best.total ? DP_BOUND_PROFILE :
			DP_BOUND_IMPLIED;
	best.declared = relid;
	best.missing = InvalidOid;
	*bounds = best;
	return true;
}

/*
 * dp_protect_profile_left_out
 *	  How many rows of the relation, of *all, the bounds leave out: about and
 *	  at least, by its profile.  key: the column that groups, or NULL.  False:
 *	  no profile says.
 */
bool
dp_protect_profile_left_out(Oid relid, const char *key,
							const dp_unit_bounds *bounds, double *left,
							double *all)
{
	row_histograms h;

	if (!read_rows(relid, key, &h))
		return false;
	*all = beyond(&h.total, 0);
	*left = rows_left_out(&h, bounds);
	return *all > 0;
}

/* ---- values ---- */

/* Read a pair of bounds as its lines have it. */
static bool
read_lines(Jsonb *lines, const char *name, Oid type, char **lower,
		   char **upper)
{
	JsonbContainer *low = find_object(lines, name, "lower");
	JsonbContainer *high = find_object(lines, name, "upper");

	*lower = low == NULL ? NULL : get_text(low, "value");
	*upper = high == NULL ? NULL : get_text(high, "value");
	if (*lower == NULL || *upper == NULL)
		return false;
	if (type == TIMESTAMPTZOID)
		*lower = psprintf("%s 00:00:00+00", *lower);
	if (type == TIMESTAMPOID || type == TIMESTAMPTZOID)
		*upper = psprintf("%s 23:59:59.999999%s", *upper,
						  type == TIMESTAMPTZOID ? "+00" : "");
	return true;
}

/* Rows that count of a unit, on the average; 1 where each has one. */
static double
mean_rows(Jsonb *bars, const dp_outlook *o)
{
	histogram	h;
	double		units = 0;
	int			i;

	if (!read_histogram(bars, NULL, "rows", NULL, &h))
		return 1;
	for (i = 0; i < h.n; i++)
		units += h.units[i];
	return Max(1, (beyond(&h, 0) - beyond(&h, o->total)) / Max(units, 1) / 2);
}

/*
 * Replace bounds by those between them for which what is cut off and the
 * noise promise a sum the least error.  A profile knows the ends of the
 * values of a unit that has many; all are taken to be there.
 */
static void
choose_values(Jsonb *bars, const char *name, const dp_outlook *o, bool width,
			  char **lower, char **upper)
{
	histogram	low;
	histogram	high;
	double		rows = mean_rows(bars, o) / o->groups;
	double		least = -1;
	char	   *ends[2] = {*lower, *upper};
	int			i;
	int			j;

	if (!read_histogram(bars, name, "values", NULL, &high) &&
		!read_histogram(bars, name, "greatest", NULL, &high))
		return;
	if (!read_histogram(bars, name, "values", NULL, &low) &&
		!read_histogram(bars, name, "least", NULL, &low))
		return;
	for (i = -1; i < low.n; i++)
	{
		double		l = i < 0 ? to_double(*lower) : low.upper[i];
		double		cut = 0;
		int			n;

		for (n = 0; n < low.n; n++)
			cut += low.units[n] * Max(0, l - low.middle[n]);
		for (j = high.n - 1; j >= 0 && high.upper[j] > l; j--)
		{
			double		u = high.upper[j];
			double		size = width ? u - l : Max(fabs(l), fabs(u));
			double		error = hypot((cut + beyond(&high, u)) * rows,
									  o->noise * o->total * size);

			if (least >= 0 && error >= least)
				continue;
			least = error;
			ends[0] = i < 0 ? *lower : low.end[i];
			ends[1] = high.end[j];
		}
	}
	*lower = ends[0];
	*upper = ends[1];
}

/*
 * dp_protect_profile_values
 *	  The bounds of a column by the profile of its relation, as texts like
 *	  declared ones; false: there are none.  With an outlook those of least
 *	  error for a sum, or with `width` for a mean; else those of nearly all
 *	  values.
 */
bool
dp_protect_profile_values(Oid relid, AttrNumber attnum,
						  const dp_outlook *outlook, bool width,
						  char **lower, char **upper)
{
	Jsonb	   *lines;
	Jsonb	   *bars;
	char	   *name = attnum > 0 ? get_attname(relid, attnum, true) : NULL;
	Oid			type;

	if (name == NULL || !dp_catalog_find_profile(relid, &lines, &bars))
		return false;
	type = getBaseType(get_atttype(relid, attnum));
	if (!read_lines(lines, name, type, lower, upper))
		return false;
	if (type == DATEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID)
		return true;
	if (outlook != NULL)
		choose_values(bars, name, outlook, width, lower, upper);
	/* a width of zero would make every sum zero */
	if (strcmp(*lower, *upper) == 0)
		*(to_double(*lower) > 0 ? lower : upper) = "0";
	return true;
}
