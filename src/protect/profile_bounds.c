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

/* Buckets that may follow the last present one: up to 8 times its end. */
#define FARTHER 6

/* More buckets than a profile has: choosing takes the cube of them. */
#define COUNTS_MOST 64			/* of rows or groups */
#define VALUES_MOST 1024

/* Present buckets of a histogram, in order, and those that follow. */
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

/* An element of an array; NULL: it has none there, or is no array. */
static JsonbValue *
get_element(JsonbContainer *array, int i)
{
	return JsonContainerIsArray(array) ?
		getIthJsonbValueFromContainer(array, (uint32) i) : NULL;
}

/*
 * The object of the array that is about an attribute (NULL: none), and says
 * this of it; NULL if there is none.  An owner may have written a profile
 * himself (dp_pg.profile_keep), so it may be anything.
 */
static JsonbContainer *
find_object(Jsonb *array, const char *attribute, const char *what)
{
	int			n = JsonContainerSize(&array->root);
	int			i;

	for (i = 0; i < n; i++)
	{
		JsonbValue *v = get_element(&array->root, i);
		char	   *named;
		char	   *says;

		if (v == NULL || v->type != jbvBinary ||
			!JsonContainerIsObject(v->val.binary.data))
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

/* A number of an array. */
static double
number(const JsonbValue *v)
{
	Datum		x = NumericGetDatum(v->val.numeric);

	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, x));
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

	if (end <= 3)
		return end + 1;
	return frexp(end, &exponent) == 0.5 ? end * 3 / 2 : end * 4 / 3;
}

/* For n buckets, and those that may follow. */
static void
make_room(histogram *h, int n)
{
	h->end = palloc0(sizeof(char *) * (n + FARTHER));
	h->upper = palloc(sizeof(double) * (n + FARTHER));
	h->middle = palloc(sizeof(double) * (n + FARTHER));
	h->units = palloc(sizeof(double) * (n + FARTHER));
}

/* Add a bucket of rows or groups after the last one. */
static void
add_bucket(histogram *h, double units)
{
	double		before = h->n > 0 ? h->upper[h->n - 1] : 0;

	h->upper[h->n] = count_after(before);
	h->middle[h->n] = (before + 1 + h->upper[h->n]) / 2;
	h->units[h->n++] = Max(units, 0);
}

/*
 * Add buckets beyond the last one that noise does not explain.  In these units
 * become fewer as they did before, two buckets (twice the rows) at a time, but
 * are no more than their noisy counts make likely: long tails go on where a
 * single bucket has too few to be seen, others end there.
 */
static void
add_farther(histogram *h, const double *counts, int n, double scale)
{
	double	   *units = h->units + h->n;
	double		pair;
	double		before;
	double		falls;
	int			i;

	if (h->n < 4)
		return;
	pair = units[-1] + units[-2];
	before = units[-3] + units[-4];
	falls = before > pair ? pair / before : 1;
	for (i = 0; i + 1 < Min(n, FARTHER); i += 2)
	{
		double		counted = counts[i] + counts[i + 1];

		pair *= falls;
		if (pair / 3 > counted + 3 * scale)
			break;
		pair = Min(pair, counted + scale / 4);
		add_bucket(h, pair / 2);
		add_bucket(h, pair / 2);
		pair = Max(pair, 0);
	}
}

/* Those that the line about the histogram has. */
static void
add_line(histogram *h, JsonbContainer *line)
{
	JsonbValue *v = line == NULL ? NULL :
		getKeyJsonValueFromContainer(line, "beyond", strlen("beyond"), NULL);
	char	   *scale = line == NULL ? NULL : get_text(line, "scale");
	double		counts[FARTHER];
	int			n;

	if (scale == NULL || v == NULL || v->type != jbvBinary)
		return;
	for (n = 0; n < FARTHER; n++)
	{
		JsonbValue *count = get_element(v->val.binary.data, n);

		if (count == NULL || count->type != jbvNumeric)
			break;
		counts[n] = number(count);
	}
	add_farther(h, counts, n, to_double(scale));
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

	if (list == NULL || list->type != jbvBinary ||
		!JsonContainerIsArray(list->val.binary.data))
		return false;
	h->n = JsonContainerSize(list->val.binary.data);
	if (h->n > (lines != NULL ? COUNTS_MOST : VALUES_MOST))
		return false;
	make_room(h, h->n);
	for (i = 0; i < h->n; i++)
	{
		JsonbValue *pair = get_element(list->val.binary.data, i);
		bool		nested = pair != NULL && pair->type == jbvBinary;
		JsonbValue *end = nested ? get_element(pair->val.binary.data, 0) :
			NULL;
		JsonbValue *units = nested ? get_element(pair->val.binary.data, 1) :
			NULL;

		if (end == NULL || end->type != jbvString ||
			end->val.string.len == 0 || units == NULL ||
			units->type != jbvNumeric)
			return false;
		h->end[i] = pnstrdup(end->val.string.val, end->val.string.len);
		if (strchr(h->end[i] + 1, '-') != NULL)
			return false;
		h->upper[i] = to_double(h->end[i]);
		if (isnan(h->upper[i]))
			return false;
		h->middle[i] = (h->upper[i] +
						(lines != NULL ? count_before(h->upper[i]) + 1 :
						 h->upper[Max(i - 1, 0)])) / 2;
		h->units[i] = Max(0, number(units));
	}
	if (lines != NULL && h->n > 0)
		add_line(h, find_object(lines, attribute, what));
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
	double		more;			/* units, at most, with more rows than */
	double		last;			/* the last bucket of `total` has */
} row_histograms;

static bool
read_rows(Oid relid, const char *key, row_histograms *h)
{
	Jsonb	   *lines;
	Jsonb	   *bars;
	JsonbContainer *line;
	char	   *more;
	char	   *last;

	memset(h, 0, sizeof(*h));
	if (!dp_catalog_find_profile(relid, &lines, &bars) ||
		!read_histogram(bars, NULL, "rows", lines, &h->total))
		return false;
	line = find_object(lines, NULL, "rows");
	more = line == NULL ? NULL : get_text(line, "error");
	last = line == NULL ? NULL : get_text(line, "value");
	if (more != NULL && last != NULL)
	{
		h->more = to_double(more);
		h->last = to_double(last);
	}
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

/* Whether it is `most`, as the last one is, which is no end of a bucket. */
static bool
is_repeated(const histogram *h, int n, int64 most)
{
	return n < h->n && h->upper[n] >= (double) most;
}

/* What one leaves out by itself: nothing, if it is no less than the total. */
static double
beyond_less(const histogram *h, int64 bound, int64 total)
{
	return bound < total ? beyond(h, (double) bound) : 0;
}

/* Rows that bounds leave out, about and at least. */
static double
rows_left_out(const row_histograms *h, const dp_unit_bounds *b)
{
	return Max(beyond(&h->total, b->total),
			   beyond_less(&h->rows, b->rows, b->total) +
			   beyond_less(&h->keys, b->keys, b->total));
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

/* Choose total, rows and keys where bounds has 0. */
static dp_unit_bounds
choose_rows(const row_histograms *h, const dp_outlook *outlook,
			const dp_unit_bounds *bounds)
{
	dp_unit_bounds best = *bounds;
	double		least = -1;
	int			t;
	int			k;
	int			m;

	for (t = h->total.n - 1; t >= 0; t--)
	{
		dp_unit_bounds b = *bounds;
		double		by_total;

		b.total = candidate(&h->total, t, PG_INT32_MAX);
		by_total = beyond(&h->total, b.total);
		for (k = h->keys.n; k >= (bounds->keys > 0 ? h->keys.n : 0); k--)
		{
			double		by_keys;

			if (is_repeated(&h->keys, k, b.total))
				continue;
			b.keys = bounds->keys > 0 ? bounds->keys :
				candidate(&h->keys, k, b.total);
			by_keys = beyond_less(&h->keys, b.keys, b.total);
			for (m = h->rows.n; m >= 0; m--)
			{
				double		error;

				if (is_repeated(&h->rows, m, b.total))
					continue;
				b.rows = candidate(&h->rows, m, b.total);
				error = expected_error(Max(by_total, by_keys +
										   beyond_less(&h->rows, b.rows,
													   b.total)),
									   &b, outlook);
				if (least >= 0 && error >= least)
					continue;
				least = error;
				best = b;
			}
		}
	}
	return best;
}

/*
 * dp_protect_choose_total
 *	  The total of least error, by noisy numbers of units with 1, 2, 3, 4, 6,
 *	  8, 12, .. rows at most, of which noise of the scale does not explain
 *	  those up to `last`, -1: any.
 */
int64
dp_protect_choose_total(const int64 *counts, int n, int last, double scale,
						const dp_outlook *outlook)
{
	const dp_unit_bounds none = {0};
	row_histograms h = {0};
	double		beyond[FARTHER];
	int			i;

	if (last < 0)
		return 1;
	make_room(&h.total, n);
	for (i = 0; i <= last; i++)
		add_bucket(&h.total, (double) counts[i]);
	for (i = 0; i < Min(n - last - 1, FARTHER); i++)
		beyond[i] = (double) counts[last + 1 + i];
	add_farther(&h.total, beyond, i, scale);
	return choose_rows(&h, outlook, &none).total;
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
	dp_unit_bounds best;

	if (!read_rows(relid, outlook->key, &h))
		return false;
	best = choose_rows(&h, outlook, bounds);
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
 *	  How many rows of the relation the bounds leave out: about and at least,
 *	  by its profile.  key: the column that groups, or NULL.  False: no profile
 *	  says.
 */
bool
dp_protect_profile_left_out(Oid relid, const char *key,
							const dp_unit_bounds *bounds, dp_left_out *left)
{
	row_histograms h;

	if (!read_rows(relid, key, &h))
		return false;
	left->all = beyond(&h.total, 0);
	left->rows = rows_left_out(&h, bounds);
	left->units = h.more;
	left->known = h.last;
	return left->all > 0;
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

/*
 * About how many rows have values beyond a bound, if so many units have one:
 * as if it was as likely for each row.  rows: of units; empty: each has one.
 */
static double
rows_beyond(const histogram *rows, double units, double total)
{
	double		all = 0;
	double		counted = 0;
	double		low = 0;
	double		high = 1;
	int			i;

	for (i = 0; i < rows->n; i++)
	{
		all += rows->units[i];
		counted += rows->units[i] * Min(rows->middle[i], total);
	}
	if (rows->n == 0 || units >= all)
		return rows->n == 0 ? units : counted;
	while (high - low > 0.01 * high && high > 1e-9)
	{
		double		likely = (low + high) / 2;
		double		with = 0;

		for (i = 0; i < rows->n; i++)
			with += rows->units[i] * (1 - pow(1 - likely, rows->middle[i]));
		if (with < units)
			low = likely;
		else
			high = likely;
	}
	return high * counted;
}

/*
 * What is cut off of a group's values at a bound, above it or below: of those
 * rows, as much as of the units' greatest (least) values.
 */
static double
cut_off(const histogram *h, const histogram *rows, double bound, bool above,
		const dp_outlook *o)
{
	double		units = 0;
	double		sum = 0;
	int			i;

	for (i = 0; i < h->n; i++)
	{
		double		more = above ? h->middle[i] - bound : bound - h->middle[i];

		units += more > 0 ? h->units[i] : 0;
		sum += Max(more, 0) * h->units[i];
	}
	return units == 0 ? 0 :
		rows_beyond(rows, units, o->total) * sum / units / o->groups;
}

/*
 * Replace bounds by those between them for which what is cut off and the
 * noise promise a sum the least error.
 */
static void
choose_values(Jsonb *bars, const char *name, const dp_outlook *o, bool width,
			  char **lower, char **upper)
{
	histogram	low;
	histogram	high;
	histogram	rows = {0};
	double		first = to_double(*lower);
	double	   *cut;
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
	if (!read_histogram(bars, NULL, "rows", NULL, &rows))
		rows.n = 0;
	cut = palloc(sizeof(double) * high.n);
	for (j = 0; j < high.n; j++)
		cut[j] = cut_off(&high, &rows, high.upper[j], true, o);
	for (i = -1; i < low.n; i++)
	{
		double		l = i < 0 ? first : low.upper[i];
		double		below = cut_off(&low, &rows, l, false, o);

		for (j = high.n - 1; j >= 0 && high.upper[j] > l; j--)
		{
			double		u = high.upper[j];
			double		size = width ? u - l : Max(fabs(l), fabs(u));
			double		error = hypot(below + cut[j],
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
