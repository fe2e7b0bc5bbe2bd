/*
 * rows.c
 *	  What the rows of one unit in one group add to an answer.
 *
 * In counts, sums, means, squares and pairs each row has a weight, the same in
 * all of them, so that they speak of the same rows; sums are exact, and a part
 * is within its bound whatever the rows are (doc/theory.md T160, T135).  Of
 * columns whose single values or rows count, m rows are chosen, every set of m
 * with the same probability, and of these T in all groups; of distinct values,
 * those of least rank, which is a secret hash of unit, group and value.
 * Either looks at the unit's own rows only.
 *
 * The rows may be too many for memory: then they are read again for every
 * column, and once for every window of ranks.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "dp_units.h"
#include "units_internal.h"

/* Distinct values that are held at once. */
#define WINDOW (128 * 1024)

static inline int64
rows_number_of(const dp_units_job *job, const dp_units_record *record,
			   int column)
{
	return (int64) record->words[job->layout->word[column]];
}

/*
 * A column may have no words, as an empty list of conditions; none is read
 * then.
 */
static inline const uint64 *
words_in(const dp_units_job *job, const dp_units_record *record, int column)
{
	return &record->words[Max(job->layout->word[column], 0)];
}

/* Of crossings that are in no group nothing is given. */
static inline void
give(const dp_units_job *job, int32 group, int column,
	 const dp_units_part *part)
{
	if (group >= 0)
		job->sink(job->context, group, column, part);
}

/*
 * Whether what a unit has once in a group, a vote or the number of a column,
 * has not been given for another crossing.  If two things share a hash, the
 * one in the crossing of least rank is given.
 */
static bool
is_first(const dp_units_rows *rows, int what)
{
	uint64		element = dp_units_rank(rows->cell, (uint64) what) | 1;
	uint64		at;

	if (rows->given == NULL)
		return true;
	for (at = element >> 1; rows->given->slots[at & rows->given->mask] != 0;
		 at++)
		if (rows->given->slots[at & rows->given->mask] == element)
			return false;
	rows->given->slots[at & rows->given->mask] = element;
	return true;
}

/*
 * floor(x m / c), for 0 <= x <= c w and m <= c: at most m w.  Quotient and
 * remainder apart, so that nothing overflows while c and m are below 2^62 and
 * m w below 2^126.
 */
static dp_int128
scale(dp_int128 x, int64 m, int64 c)
{
	return m == c ? x : x / c * m + x % c * m / c;
}

/*
 * The weight of a row: (c / C) min(1, T / t), for the C rows of the group that
 * count in some column, c = min(C, m), and t, the sum of the c of all groups
 * that the unit keeps.
 */
typedef struct rows_weight
{
	int64		kept;			/* c */
	int64		rows;			/* C */
	int64		counted;		/* min(t, T) */
	int64		all;			/* t */
} rows_weight;

/*
 * The weight times x, rounded twice, each time towards zero: never more than
 * the product, and for x, y >= 0 the sum of weighted ones is at most the
 * weighted sum (doc/theory.md T160).
 */
static dp_int128
weigh(const rows_weight *w, dp_int128 x)
{
	dp_int128	y = scale(scale(x < 0 ? -x : x, w->kept, w->rows), w->counted,
						  w->all);

	return x < 0 ? -y : y;
}

static int64
count_rows(dp_units_rows *rows, int column)
{
	const dp_units_record *record;
	int64		c = 0;

	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
		c += dp_units_has_column(rows->layout, record, column) ? 1 : 0;
	return c;
}

/* The number of rows, and the sum of x - from over them. */
static int64
sum_rows(const dp_units_job *job, dp_units_rows *rows, int column, int64 from,
		 dp_int128 *sum)
{
	const dp_units_record *record;
	int64		c = 0;

	*sum = 0;
	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
		if (dp_units_has_column(rows->layout, record, column))
		{
			*sum += (dp_int128) rows_number_of(job, record, column) - from;
			c++;
		}
	return c;
}

/* The rows that count in some column. */
static int64
used_rows(const dp_units_job *job, dp_units_rows *rows)
{
	const dp_units_record *record;
	int64		used = 0;

	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
		used += dp_units_is_used(rows->layout, record,
								 job->spec->ncolumns) ? 1 : 0;
	return used;
}

static rows_weight
find_weight(const dp_units_job *job, dp_units_rows *rows)
{
	const dp_units_spec *spec = job->spec;
	rows_weight w = {1, 1, 1, 1};

	if (rows->entries == NULL || rows->n > spec->rows)
	{
		w.rows = Max(used_rows(job, rows), 1);
		w.kept = Min(w.rows, spec->rows);
	}
	if (rows->share != NULL)
	{
		w.all = Max(rows->share->kept, 1);
		w.counted = Min(w.all, spec->total);
	}
	return w;
}

static void
add_present(const dp_units_job *job, dp_units_rows *rows, int32 group,
			int column)
{
	dp_units_part part;

	part.numbers[0] = 1;
	if (count_rows(rows, column) > 0 && is_first(rows, column))
		give(job, group, column, &part);
}

static void
add_place(const dp_units_job *job, dp_units_rows *rows, int32 group,
		  int column)
{
	dp_units_part part;
	int64		c = count_rows(rows, column);

	part.numbers[0] = dp_units_size_place(c);
	if (c > 0)
		give(job, group, column, &part);
}

static void
add_count(const dp_units_job *job, dp_units_rows *rows, const rows_weight *w,
		  int32 group, int column)
{
	dp_units_part part;
	int64		c = count_rows(rows, column);

	part.numbers[0] = weigh(w, (dp_int128) c <<
							job->spec->columns[column].fine);
	if (c > 0)
		give(job, group, column, &part);
}

static void
add_sum(const dp_units_job *job, dp_units_rows *rows, const rows_weight *w,
		int32 group, int column)
{
	dp_units_part part;
	dp_int128	sum;

	if (sum_rows(job, rows, column, 0, &sum) == 0)
		return;
	part.numbers[0] =
		weigh(w, sum * ((dp_int128) 1 << job->spec->columns[column].fine));
	give(job, group, column, &part);
}

/* The second number is what x - low and high - x of all rows add up to. */
static void
add_mean(const dp_units_job *job, dp_units_rows *rows, const rows_weight *w,
		 int32 group, int column)
{
	const dp_units_column *how = &job->spec->columns[column];
	dp_int128	width = Max((dp_int128) how->high - how->low, 1);
	dp_units_part part;
	dp_int128	sum;
	int64		c = sum_rows(job, rows, column, how->low, &sum);

	if (c == 0)
		return;
	part.numbers[0] = weigh(w, sum << how->fine);
	part.numbers[1] = weigh(w, c * width << how->fine);
	give(job, group, column, &part);
}

/*
 * The three parts of a row add up to G^2.  Two of them and the total are
 * weighted, the middle one is what is left: none is negative.
 */
static void
add_squares(const dp_units_job *job, dp_units_rows *rows, const rows_weight *w,
			int32 group, int column)
{
	const dp_units_column *how = &job->spec->columns[column];
	dp_int128	width = Max((dp_int128) how->high - how->low, 1);
	const dp_units_record *record;
	dp_units_part part;
	dp_int128	below = 0;
	dp_int128	squares = 0;
	int64		c = 0;

	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
	{
		dp_int128	k;

		if (!dp_units_has_column(rows->layout, record, column))
			continue;
		k = (dp_int128) rows_number_of(job, record, column) - how->low;
		below += (width - k) * (width - k);
		squares += k * k;
		c++;
	}
	if (c == 0)
		return;
	part.numbers[0] = weigh(w, below << 2 * how->fine);
	part.numbers[2] = weigh(w, squares << 2 * how->fine);
	part.numbers[1] = weigh(w, c * width * width << 2 * how->fine) -
		part.numbers[0] - part.numbers[2];
	give(job, group, column, &part);
}

static void
add_pairs(const dp_units_job *job, dp_units_rows *rows, const rows_weight *w,
		  int32 group, int column)
{
	const dp_units_column *how = &job->spec->columns[column];
	const dp_units_record *record;
	dp_pair_sums sums = {0};
	dp_units_part part = {0};
	int			i;

	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
		if (dp_units_has_column(rows->layout, record, column))
		{
			int64		pair = rows_number_of(job, record, column);

			dp_pair_add(&sums, pair >> DP_PAIR_SHIFT,
						pair & PG_UINT32_MAX);
		}
	if (sums.rows == 0)
		return;
	dp_noise_pair_cells(&how->pairs, &sums, part.numbers);
	for (i = 0; i < how->pairs.ncells; i++)
		part.numbers[i] = weigh(w, part.numbers[i]);
	give(job, group, column, &part);
}

static uint64
uniform_below(uint64 n)
{
	uint64		drawn;

	dp_base_check_status(dp_noise_uniform_below(dp_base_source(), n,
												(uint64_t *) &drawn),
						 "choose rows of a unit");
	return drawn;
}

/*
 * Of n rows or values of a column in this group how many are among the T that
 * are chosen of all groups: each is, with probability wanted / left.
 */
static int64
take_share(const dp_units_rows *rows, int column, int64 n)
{
	int64	   *left;
	int64	   *wanted;
	int64		taken = 0;

	if (rows->share == NULL)
		return n;
	left = &rows->share->left[column];
	wanted = &rows->share->wanted[column];
	for (; n > 0; n--, (*left)--)
	{
		CHECK_FOR_INTERRUPTS();
		if (*wanted < *left &&
			uniform_below((uint64) *left) >= (uint64) *wanted)
			continue;
		(*wanted)--;
		taken++;
	}
	return taken;
}

/* Selection sampling: a row is taken with probability wanted / left. */
static void
add_values(const dp_units_job *job, dp_units_rows *rows, int32 group,
		   int column)
{
	uint64		left = (uint64) count_rows(rows, column);
	uint64		wanted = (uint64) take_share(rows, column,
											 Min((int64) left,
												 job->spec->rows));
	const dp_units_record *record;
	dp_units_part part;

	dp_units_rows_rewind(rows);
	while (wanted > 0 && (record = dp_units_rows_next(rows)) != NULL)
	{
		if (!dp_units_has_column(rows->layout, record, column))
			continue;
		if (wanted == left || uniform_below(left) < wanted)
		{
			if (job->spec->columns[column].kind == DP_UNITS_ROWS)
				part.words = words_in(job, record, column);
			else
				part.numbers[0] = rows_number_of(job, record, column);
			give(job, group, column, &part);
			wanted--;
		}
		left--;
	}
}

/* ---- totals ---- */

static void
rows_add_row(const dp_units_column *how, const uint64 *words, int64 *totals)
{
	const uint32 *weights;
	int			i;

	for (i = 0; i < how->bits; i += 64)
	{
		uint64		bits = words[i / 64];

		for (; bits != 0; bits &= bits - 1)
			totals[i + pg_rightmost_one_pos64(bits)]++;
	}
	weights = (const uint32 *) (words + dp_units_bit_words(how->bits));
	for (i = 0; i < how->weights; i++)
		totals[how->bits + i] += weights[i];
}

/*
 * Each total is cut at its own bound: a unit's rows only add to it
 * (doc/theory.md T135).
 */
static void
add_totals(const dp_units_job *job, dp_units_rows *rows, int32 group,
		   int column)
{
	const dp_units_column *how = &job->spec->columns[column];
	int			n = how->bits + how->weights;
	int64	   *totals = palloc0(sizeof(int64) * n);
	const dp_units_record *record;
	dp_units_part part;
	int			i;

	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
		if (dp_units_has_column(rows->layout, record, column))
			rows_add_row(how, words_in(job, record, column), totals);
	for (i = 0; i < n; i++)
		totals[i] = Min(totals[i], job->spec->rows *
						(i < how->bits ? 1 : how->high));
	part.totals = totals;
	give(job, group, column, &part);
	pfree(totals);
}

/* ---- distinct values ---- */

typedef struct digest
{
	uint64		rank;
	uint64		high;
	uint64		low;
} digest;

static inline int
rows_compare_digests(const digest *a, const digest *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	return a->low < b->low ? -1 : a->low > b->low;
}

#define ST_SORT sort_digests
#define ST_ELEMENT_TYPE digest
#define ST_COMPARE(a, b) rows_compare_digests(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* Sort digests, drop duplicates, and return how many are left. */
static int64
rows_make_distinct(digest *digests, int64 n)
{
	int64		distinct = 0;
	int64		i;

	sort_digests(digests, n);
	for (i = 0; i < n; i++)
		if (distinct == 0 ||
			rows_compare_digests(&digests[i], &digests[distinct - 1]) != 0)
			digests[distinct++] = digests[i];
	return distinct;
}

/* The rank of a unit and group, whether or not rows were stored by it. */
static inline uint64
rows_rank_of(const dp_units_rows *rows, const dp_units_record *record)
{
	return rows->ranked ? record->key :
		dp_units_rank(record->key, dp_units_group_of(rows->layout, record));
}

/*
 * The distinct digests of the rows with ranks from `first` to `last`, in
 * order; -1: there may be more than room / 2, after which sorting would repeat
 * too often.
 */
static int64
rows_collect(const dp_units_job *job, dp_units_rows *rows, int column,
			 uint64 first, uint64 last, digest *digests, int64 room)
{
	const dp_units_record *record;
	int64		n = 0;

	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
	{
		const uint64 *words = words_in(job, record, column);
		digest		d;

		if (!dp_units_has_column(rows->layout, record, column))
			continue;
		d.high = words[0];
		d.low = words[1];
		d.rank = dp_units_scatter(rows_rank_of(rows, record) ^ d.high);
		if (d.rank < first || d.rank > last)
			continue;
		if (n == room && (n = rows_make_distinct(digests, n)) > room / 2)
			return -1;
		digests[n++] = d;
	}
	return rows_make_distinct(digests, n);
}

static void
give_digests(const dp_units_job *job, int32 group, int column,
			 const digest *digests, int64 n)
{
	dp_units_part part;
	int64		i;

	for (i = 0; i < n; i++)
	{
		part.digest[0] = digests[i].high;
		part.digest[1] = digests[i].low;
		give(job, group, column, &part);
	}
}

/*
 * Give the sink `wanted` of the distinct values, or all, and return how many;
 * if give_them is false only count them.
 *
 * Windows of ranks one after the other, each small enough for memory; how many
 * there are follows from the number of distinct values.
 */
static int64
rows_list_distinct(const dp_units_job *job, dp_units_rows *rows, int32 group,
				   int column, int64 wanted, bool give_them)
{
	int64		c = count_rows(rows, column);
	int64		given = 0;
	int64		room = Min(c, WINDOW);
	uint64		width = PG_UINT64_MAX;
	uint64		first = 0;
	digest	   *digests;

	if (c == 0 || wanted == 0)
		return 0;
	digests = palloc(sizeof(digest) * room);
	while (wanted > 0)
	{
		uint64		last = first + Min(width, PG_UINT64_MAX - first);
		int64		n = rows_collect(job, rows, column, first, last, digests,
									 room);

		if (n < 0 && width > 0)
		{
			width /= 2;
			continue;
		}
		if (n >= 0 && n < room / 8)
			width += Min(width, PG_UINT64_MAX - width);
		n = Min(n < 0 ? room / 2 : n, wanted);
		if (give_them)
			give_digests(job, group, column, digests, n);
		wanted -= n;
		given += n;
		if (last == PG_UINT64_MAX)
			break;
		first = last + 1;
	}
	pfree(digests);
	return given;
}

static void
rows_add_distinct(const dp_units_job *job, dp_units_rows *rows, int32 group,
				  int column)
{
	int64		wanted = job->spec->rows;

	if (rows->share != NULL)
		wanted = take_share(rows, column,
							rows_list_distinct(job, rows, group, column,
											   wanted, false));
	(void) rows_list_distinct(job, rows, group, column, wanted, true);
}

/* ---- all groups of a unit ---- */

/*
 * dp_units_rows_count
 *	  Add what the rows, all of one unit and group, have to its share.
 */
void
dp_units_rows_count(const dp_units_job *job, dp_units_rows *rows)
{
	const dp_units_spec *spec = job->spec;
	int			i;

	rows->share->kept += Min(used_rows(job, rows), spec->rows);
	for (i = 0; i < spec->ncolumns; i++)
		switch (spec->columns[i].kind)
		{
			case DP_UNITS_VALUES:
			case DP_UNITS_ROWS:
				rows->share->left[i] += Min(count_rows(rows, i), spec->rows);
				break;
			case DP_UNITS_DISTINCT:
				rows->share->left[i] += rows_list_distinct(job, rows, 0, i,
														   spec->rows, false);
				break;
			default:
				break;
		}
}

/*
 * dp_units_share_begin
 *	  All groups that the unit keeps have been counted: at most T of what is
 *	  chosen in a column will be.
 */
void
dp_units_share_begin(const dp_units_job *job, dp_units_share *share)
{
	int			i;

	for (i = 0; share->left != NULL && i < job->spec->ncolumns; i++)
		share->wanted[i] = Min(share->left[i], job->spec->total);
}

#define VOTE (-1)				/* as columns, something given once */

/*
 * Return the group's public number.  If it has a name, the unit casts its
 * vote.  If names or crossings share a hash, all rows count under the least
 * group.
 */
static int32
open_group(const dp_units_job *job, dp_units_rows *rows)
{
	const dp_units_record *record;
	int32		group = PG_INT32_MAX;

	if (job->votes != NULL)
		dp_units_votes_begin(job->votes);
	dp_units_rows_rewind(rows);
	while ((record = dp_units_rows_next(rows)) != NULL)
	{
		group = Min(group, record->group);
		if (job->votes == NULL && !rows->layout->crossed)
			break;
		if (job->votes != NULL)
			dp_units_votes_name(job->votes, record->group,
								dp_units_record_name(rows->layout, record));
	}
	rows->cell = (uint64) (uint32) group;
	if (job->votes == NULL || group < 0)
		return group;
	rows->cell = dp_units_votes_end_names(job->votes);
	if (is_first(rows, VOTE))
		dp_units_votes_cast(job->votes);
	return group;
}

/*
 * dp_units_rows_add_up
 *	  Give the sink what the rows, all of one unit and group, add to it.
 */
void
dp_units_rows_add_up(const dp_units_job *job, dp_units_rows *rows)
{
	int32		group = open_group(job, rows);
	rows_weight w = find_weight(job, rows);
	int			i;

	for (i = 0; i < job->spec->ncolumns; i++)
		switch (job->spec->columns[i].kind)
		{
			case DP_UNITS_PRESENT:
				add_present(job, rows, group, i);
				break;
			case DP_UNITS_COUNT:
				add_count(job, rows, &w, group, i);
				break;
			case DP_UNITS_SUM:
				add_sum(job, rows, &w, group, i);
				break;
			case DP_UNITS_MEAN:
				add_mean(job, rows, &w, group, i);
				break;
			case DP_UNITS_SQUARES:
				add_squares(job, rows, &w, group, i);
				break;
			case DP_UNITS_PAIRS:
				add_pairs(job, rows, &w, group, i);
				break;
			case DP_UNITS_VALUES:
			case DP_UNITS_ROWS:
				add_values(job, rows, group, i);
				break;
			case DP_UNITS_TOTALS:
				add_totals(job, rows, group, i);
				break;
			case DP_UNITS_DISTINCT:
				rows_add_distinct(job, rows, group, i);
				break;
			case DP_UNITS_SIZE:
				add_place(job, rows, group, i);
				break;
		}
}
