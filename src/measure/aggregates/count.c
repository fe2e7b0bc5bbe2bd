/*
 * count.c
 *	  Aggregates of counts: dp_count, of conditions and of distinct values,
 *	  dp_histogram, rows of units, and dp_bounds.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* ----------------
 *		dp_pg.conditions: which of several conditions holds for the most rows.
 *
 * A row may satisfy many of the conditions, so the counts as a vector can
 * change a lot; but only the position of one condition is released, for which
 * it suffices that each count changes by at most m, the rows of a unit in a
 * group, when a unit is added or removed (book, section 3.3, the most common
 * medical condition).  All of them then change in the same direction, so the
 * rate is epsilon/m, and epsilon/(2 m) if a unit is replaced (doc/theory.md
 * T48).  A unit has rows in at most kappa groups, and each group's selection
 * gets an equal part of the price.  A weight from 0 to 1, which only
 * dp_argmax(relation, predicates) can put into the array, counts as a
 * condition does (T123).
 *
 * Conditions that compare columns with constants are counted by tables
 * (condition_counts.c); the others, and all if there are group keys, by
 * dp_pg.count_conditions (condition_counts.c).  If units have many rows, all
 * are evaluated for every row (condition_match.c), and for each condition
 * min(c, m) of the c rows of a unit count for which it holds (T135).
 * ----------------
 */

/* The conditions, each a boolean expression over a row, or a weight. */
static List *
conditions(const dp_measure *measure)
{
	TargetEntry *argument = linitial(measure->aggregate->args);

	return castNode(ArrayExpr, argument->expr)->elements;
}

/* For units with many rows the plan is for words, not for tables. */
static void
prepare_bounded(dp_measure *measure)
{
	dp_condition_words *words = dp_exact_words_plan(conditions(measure));
	dp_units_column *bound = &measure->bound;

	dp_aggregates_set_bound(measure, DP_UNITS_TOTALS);
	bound->bits = dp_exact_words_bits(words);
	bound->weights = dp_exact_words_weights(words);
	bound->words = dp_units_total_words(bound->bits, bound->weights);
	bound->high = DP_WEIGHT_ONE;
	measure->plan = words;
}

static void
conditions_prepare(dp_measure *measure)
{
	measure->ncells = list_length(conditions(measure));
	measure->choices = measure->ncells;
	/* the memory of tables for each private group would depend on the data */
	measure->evaluated = measure->ncells;
	if (measure->contribution.many)
		prepare_bounded(measure);
	else if (!measure->contribution.grouped)
	{
		measure->plan = dp_exact_conditions_plan(conditions(measure));
		measure->evaluated = dp_exact_conditions_evaluated(measure->plan);
		measure->state_size =
			(int64) dp_exact_conditions_memory(measure->plan);
	}
	/* conditions are cut in each group, T binds in none */
	measure->contribution.total = measure->contribution.kappa *
		measure->contribution.rows;
	dp_aggregates_set_votes(measure, 1);
}

static List *
conditions_inner(const dp_measure *measure)
{
	if (measure->plan != NULL && !measure->contribution.many)
		return dp_exact_conditions_natives(measure->plan, measure->aggregate);
	return dp_exact_conditions_evaluate(measure->aggregate,
										conditions(measure));
}

static void
conditions_load(const dp_measure *measure, const Datum *values,
				const bool *nulls, dp_cell *cells, MemoryContext keep)
{
	int64	   *counts;
	int			i;

	if (measure->plan == NULL)
	{
		for (i = 0; i < measure->ncells; i++)
			cells[i].integer +=
				dp_exact_conditions_load_one(values, nulls,
											 conditions(measure), i);
		return;
	}
	counts = palloc0(sizeof(int64) * measure->ncells);
	dp_exact_conditions_load(measure->plan, values, nulls, counts);
	for (i = 0; i < measure->ncells; i++)
		cells[i].integer += counts[i];
}

/* Add a part of the totals of a unit: rows, or granules of weights. */
static void
conditions_add(const dp_measure *measure, const dp_units_part *part,
			   dp_cell *cells, MemoryContext keep)
{
	int			i;

	for (i = 0; i < measure->ncells; i++)
		cells[i].integer +=
			part->totals[dp_exact_words_total(measure->plan, i)];
}

static dp_int128
count_rows_of(const dp_measure *measure, const dp_cell *cells, int i)
{
	return measure->contribution.many &&
		dp_split_is_weight(list_nth(conditions(measure), i)) ?
		dp_weight_rows(cells[i].integer) : cells[i].integer;
}

/* The position of the chosen condition, from 1. */
static Datum
conditions_release(const dp_measure *measure, const dp_cell *cells,
				   bool *isnull, double *error)
{
	dp_int128  *scores = palloc(sizeof(dp_int128) * measure->ncells);
	int			i;

	for (i = 0; i < measure->ncells; i++)
		scores[i] = count_rows_of(measure, cells, i);
	return Int32GetDatum(1 + (int32) dp_aggregates_select(measure, scores,
														  measure->ncells));
}

static const char *const conditions_forms[] = {"", "e", NULL};

const dp_measure_ops dp_aggregates_conditions = {
	DP_AGG_CONDITIONS, "conditions", conditions_forms, conditions_prepare,
	conditions_inner, conditions_load, conditions_release,
	NULL, NULL, conditions_add
};

/* ----------------
 *		dp_count: the number of rows, of non-NULL values, or of distinct
 *		values.
 *
 * Sensitivity (doc/theory.md T41, T160): a unit has at most m rows in each of
 * at most kappa keys, and S = min(kappa m, T) in all of them, so counts change
 * by S in L1 and by the root of dp_aggregates_unit_squares in L2; by twice and
 * sqrt(2) times that if a unit is replaced, which may change its groups.  A
 * row adds at most one distinct value, so DISTINCT is no worse; distinct units
 * are counted once in each key, whatever their rows are, also by the
 * dp_count(*) that is added for an owner's min_units (T106).
 *
 * Of boolean, of an enum and of a column with declared keys only so many
 * values V are possible, which is public.  The exact number is cut to V, since
 * rows may hold others, so a unit changes it by min(m, V) in a group; and so
 * is the noisy number, to 0 .. V.
 * ----------------
 */

/* Set what the rows of a unit become, and how many of them count at most. */
static void
set_bound(dp_measure *measure)
{
	dp_contribution *c = &measure->contribution;
	bool		distinct = measure->aggregate->aggdistinct != NIL;
	bool		units = measure->value->of_units &&
		(distinct || measure->aggregate->aggstar);

	if (distinct)
		dp_exact_check_distinct(measure->argument_type, measure->collections);
	if (units)
	{
		c->rows = 1;
		c->total = c->kappa;
		dp_aggregates_set_bound(measure, DP_UNITS_PRESENT);
	}
	else if (distinct)
		dp_aggregates_set_bound(measure, DP_UNITS_DISTINCT);
	else
		dp_aggregates_refine(measure, DP_UNITS_COUNT, 1);
}

/* ---- as presence of public values ---- */

/*
 * dp_count(DISTINCT x) of few public values can be measured as these values'
 * presence: each has the number of its units in the group, with noise, and
 * the answer is how many of these numbers are above a threshold t, which no
 * noise exceeds with probability 19/20.  A unit adds 1 to at most min(m, V)
 * numbers of a group and to S in all groups, so L1 and the square of L2 are S
 * (doc/theory.md T162).  A value of 2 t + 1 units or more is counted, one of
 * fewer may not be.
 *
 * It is used where it errs less by public numbers: a value would have 16 t
 * units if all had as many, so that a half of that is enough though the size
 * class is three times the rows; and the count's error is at least half of V,
 * so that some of the values may have few units.
 */
#define PRESENCE_UNITS 16		/* times t, of a value in a group */
#define PRESENCE_VALUES 2		/* times the count's error at most */
#define PRESENCE_CELLS 131072	/* of all groups */

typedef struct presence_plan
{
	Const	   *lookup;			/* of a value among the public ones */
	Const	   *spec;			/* of the table that counts them */
	int64		threshold;		/* t */
} presence_plan;

/* Set how a value's place is found; false: that is not possible. */
static bool
presence_find_places(dp_measure *measure)
{
	const dp_key *key = measure->value->key;
	Oid			collation = measure->aggregate->inputcollid;
	presence_plan *plan = palloc0(sizeof(presence_plan));
	Datum	   *values;
	int64		n;
	int64		twice;

	if (getBaseType(key->type) != measure->argument_type ||
		!dp_domains_tally_can_read(measure->argument_type) ||
		(OidIsValid(collation) && !get_collation_isdeterministic(collation)))
		return false;
	n = dp_aggregates_public_values(measure, &values);
	if (n < 1 || n > measure->most)
		return false;
	plan->lookup = dp_domains_tally_value_spec(measure->argument_type, values,
											   n, &twice);
	if (plan->lookup == NULL)
		return false;
	plan->spec = dp_aggregates_column_spec(measure, DP_AXIS_LISTED, n,
										   plan->lookup);
	measure->ncells = (int) n;
	measure->plan = plan;
	return true;
}

static void
presence_set_noise(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	changes =
	dp_aggregates_product(dp_aggregates_unit_rows(c), c->replace ? 2 : 1);
	presence_plan *plan = measure->plan;

	measure->bound.way = dp_domains_read_way(INT8OID);	/* places */
	measure->bound.varlena = false;
	dp_aggregates_set_noise(measure, changes, changes, false);
	plan->threshold = dp_aggregates_highest_noise(measure, measure->ncells);
}

/* Use presence in place of a count, which is prepared, if it errs less. */
static void
presence_prepare(dp_measure *measure)
{
	double		error = PRESENCE_VALUES * dp_aggregates_error_of_sum(measure);
	dp_measure	presence = *measure;
	dp_int128	cells;

	if (measure->most > Min(error, PRESENCE_CELLS / Max(measure->groups, 1)) ||
		measure->units == 0 || measure->value->key == NULL ||
		measure->value->of_units || !presence_find_places(&presence))
		return;
	presence_set_noise(&presence);
	cells = (dp_int128) presence.ncells * presence.groups;
	if (cells * PRESENCE_UNITS *
		((const presence_plan *) presence.plan)->threshold <= measure->units)
		*measure = presence;
}

/*
 * dp_aggregates_present_units
 *	  With how many units a value is counted with probability 19/20, if
 *	  presence of values is measured; else 0.
 */
int64
dp_aggregates_present_units(const dp_measure *measure)
{
	const presence_plan *plan = measure->plan;

	return measure->ops->kind != DP_AGG_COUNT || plan == NULL ? 0 :
		2 * plan->threshold + 1;
}

/*
 * How many of the values are present.  None that is counted has no unit, and
 * there are ncells at most, so the answer may be that much too small.
 */
static Datum
presence_release(const dp_measure *measure, const dp_cell *cells,
				 double *error)
{
	const presence_plan *plan = measure->plan;
	int64		present = 0;
	int			i;

	for (i = 0; i < measure->ncells; i++)
		if (dp_aggregates_add_noise(measure, cells[i].integer) >
			plan->threshold)
			present++;
	*error = (double) (measure->ncells - present);
	return Int64GetDatum(present);
}

/* ---- dp_count ---- */

/* Set the number of values that there can be, of which a unit has no more. */
static void
set_most(dp_measure *measure)
{
	dp_contribution *c = &measure->contribution;

	measure->most = measure->aggregate->aggdistinct == NIL ? -1 :
		dp_domains_most_values(measure->argument_type, measure->relid,
							   measure->base_attnum);
	if (measure->most >= 0)
		c->rows = Min(c->rows, Max(measure->most, 1));
}

static void
count_prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	int			times = c->replace && c->grouped ? 2 : 1;
	int			fine;
	dp_uint128	l1;
	dp_uint128	l2 = 0;			/* squared; may not fit into 128 bits */

	measure->grid.exponent = 0;
	if (c->many)
		set_bound(measure);
	set_most(measure);
	fine = measure->bound.fine;
	l1 = dp_aggregates_product(dp_aggregates_unit_rows(c),
							   (dp_uint128) times << fine);
	if (measure->gaussian)
		l2 = dp_aggregates_product(dp_aggregates_unit_squares(c),
								   (dp_uint128) times << 2 * fine);
	dp_aggregates_set_noise(measure, l1, l2, !c->grouped);
	if (measure->most >= 0)
		presence_prepare(measure);
}

static List *
count_inner(const dp_measure *measure)
{
	const presence_plan *plan = measure->plan;
	TargetEntry *argument;

	if (plan != NULL)
		return dp_aggregates_count_column(measure, plan->spec);
	if (measure->aggregate->args == NIL)
		return list_make1(dp_exact_native(measure->aggregate, F_COUNT_,
										  INT8OID, NIL));
	if (measure->aggregate->aggdistinct != NIL)
		return list_make1(dp_exact_distinct(measure->aggregate,
											measure->argument_type,
											measure->collections));
	argument = linitial(measure->aggregate->args);
	return list_make1(dp_exact_native(measure->aggregate, F_COUNT_ANY,
									  INT8OID, list_make1(argument->expr)));
}

static void
count_load(const dp_measure *measure, const Datum *values, const bool *nulls,
		   dp_cell *cells, MemoryContext keep)
{
	if (measure->plan != NULL)
		dp_aggregates_load_tally(measure, values, nulls, cells, keep);
	else if (!nulls[0])
		cells[0].integer += DatumGetInt64(values[0]);
}

/* A number if the row counts; for DISTINCT the value, or its place. */
static Expr *
count_row(const dp_measure *measure, Expr *argument)
{
	Expr	   *one = (Expr *) makeConst(INT8OID, -1, InvalidOid,
										 sizeof(int64), Int64GetDatum(1),
										 false, FLOAT8PASSBYVAL);

	if (argument == NULL)
		return one;
	if (measure->plan != NULL)
		return dp_aggregates_row_place(measure, argument, DP_AXIS_LISTED,
									   ((const presence_plan *)
										measure->plan)->lookup);
	if (measure->bound.kind == DP_UNITS_DISTINCT)
		return argument;
	return dp_aggregates_row_case((Expr *)
								  dp_rowsets_null_test((Node *) argument,
													   IS_NOT_NULL), one);
}

static void
count_add(const dp_measure *measure, const dp_units_part *part, dp_cell *cells,
		  MemoryContext keep)
{
	if (measure->plan != NULL)
		cells[part->digest[1]].integer++;
	else
		cells[0].integer += part->numbers[0];
}

static Datum
count_release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			  double *error)
{
	dp_int128	count = cells[0].integer;

	if (measure->plan != NULL)
		return presence_release(measure, cells, error);
	if (measure->most >= 0)
		count = Min(count, measure->most);	/* before noise: T41 */
	count = dp_aggregates_add_noise(measure, count);
	*error = dp_aggregates_error_of_sum(measure);
	if (measure->most >= 0)
	{
		count = Min(Max(count, 0), measure->most);
		*error = Min(*error, (double) Max(count, measure->most - count));
	}
	return dp_aggregates_from_granules(measure, count, INT8OID);
}

static const char *const count_forms[] = {"", "e", NULL};

const dp_measure_ops dp_aggregates_count = {
	DP_AGG_COUNT, "count", count_forms, count_prepare, count_inner, count_load,
	count_release, NULL, count_row, count_add
};

/* ----------------
 *		dp_sum(DISTINCT x) and dp_avg(DISTINCT x): each grid point with rows
 *		counts once.
 *
 * Values are distinguished by their grid points, after clamping and rounding,
 * on the grid of a quantile, which has at most DP_COUNTS_CELLS points.  A
 * unit's m rows in a group add or remove at most m points, each of absolute
 * value at most B = max(|low|, |high|), or of w = high - low in both sums of a
 * mean (doc/theory.md T94).
 * ----------------
 */

static dp_uint128
magnitude(int64 x)
{
	return x < 0 ? (dp_uint128) -(dp_int128) x : (dp_uint128) x;
}

static void
prepare_sum(dp_measure *measure)
{
	dp_uint128	most;

	dp_aggregates_set_rank_grid(measure);
	most = Max(magnitude(measure->grid.low), magnitude(measure->grid.high));
	dp_aggregates_set_group_noise(measure, Max(most, 1), false);
}

static void
prepare_mean(dp_measure *measure)
{
	dp_aggregates_set_rank_grid(measure);
	dp_aggregates_set_group_noise(measure,
								  (dp_uint128) dp_aggregates_width(measure),
								  true);
}

/* The number of points with rows, and their sum. */
static void
add_points(const dp_measure *measure, const dp_cell *cells, dp_int128 *points,
		   dp_int128 *sum)
{
	dp_ranked_rows ranked;
	size_t		i;

	*points = 0;
	*sum = 0;
	dp_exact_grid_rank(cells[0].state, measure->grid.low, &ranked);
	for (i = 0; i < ranked.n; i++)
	{
		uint64		rows = ranked.counts != NULL ? ranked.counts[i] :
			ranked.counts32[i];

		if (rows == 0 || (i > 0 && ranked.values != NULL &&
						  ranked.values[i] == ranked.values[i - 1]))
			continue;
		*points += 1;
		*sum += ranked.values != NULL ? ranked.values[i] :
			measure->grid.low + (int64) i;
	}
}

static Datum
release_sum(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			double *error)
{
	dp_int128	points;
	dp_int128	sum;

	add_points(measure, cells, &points, &sum);
	*error = dp_aggregates_error_of_sum(measure);
	return dp_aggregates_from_granules(measure,
									   dp_aggregates_add_noise(measure, sum),
									   measure->aggregate->aggtype);
}

static Datum
release_mean(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			 double *error)
{
	dp_int128	points;
	dp_int128	sum;

	add_points(measure, cells, &points, &sum);
	return dp_aggregates_release_mean(measure,
									  sum - points * measure->grid.low,
									  points * dp_aggregates_width(measure),
									  isnull, error);
}

static const char *const distinct_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_aggregates_sum_distinct = {
	DP_AGG_SUM_DISTINCT, "sum", distinct_forms, prepare_sum,
	dp_aggregates_count_ranks,
	dp_aggregates_load_ranks, release_sum, NULL, dp_aggregates_row_granules,
	dp_aggregates_add_rank
};

const dp_measure_ops dp_aggregates_mean_distinct = {
	DP_AGG_AVG_DISTINCT, "avg", distinct_forms, prepare_mean,
	dp_aggregates_count_ranks,
	dp_aggregates_load_ranks, release_mean, " / distinct values",
	dp_aggregates_row_granules, dp_aggregates_add_rank
};

/* ----------------
 *		dp_histogram: the number of rows in each of n buckets of equal width.
 *
 * Every bucket gets noise, including empty ones.  A row is in at most one
 * bucket, so a unit changes the counts as it changes those of groups; if a
 * unit is replaced its rows may be in other buckets: twice that in L1, sqrt(2)
 * times in L2 (doc/theory.md T41, T160).
 * ----------------
 */

/* Most buckets of one histogram. */
#define MAX_BUCKETS 10000

/* More digits are not useful, and every bucket stores an edge of that size. */
#define MAX_BOUND_BYTES 1024

static void
check_bounds(Numeric lower, Numeric upper)
{
	if (VARSIZE(lower) > MAX_BOUND_BYTES || VARSIZE(upper) > MAX_BOUND_BYTES)
		dp_base_raise_parameter(
			"bounds of dp_histogram have too many digits",
			"Round them.");
	if (numeric_is_nan(lower) || numeric_is_nan(upper) ||
		numeric_is_inf(lower) || numeric_is_inf(upper))
		dp_base_raise_parameter(
			"bounds of dp_histogram must be finite",
			"Give the lower end of the first bucket and the upper "
			"end of the last one.");
	if (dp_numeric_compare(lower, upper) >= 0)
		dp_base_raise_parameter(
			"lower bound must be less than upper bound",
			"Give the smaller bound first.");
}

static Const *
count_make_buckets(const dp_measure *measure)
{
	return dp_domains_tally_bucket_spec(measure->argument_type, measure->lower,
										measure->upper, measure->ncells);
}

static void
histogram_prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	int			times = c->replace ? 2 : 1;

	(void) dp_aggregates_find_bounds(measure);
	check_bounds(measure->lower, measure->upper);
	measure->ncells = (int) dp_aggregates_number(measure, 1, MAX_BUCKETS,
												 "number of buckets");
	dp_aggregates_set_bound(measure, DP_UNITS_VALUES);
	measure->plan = count_make_buckets(measure);
	measure->grid.exponent = 0;
	dp_aggregates_set_noise(measure, dp_aggregates_unit_rows(c) * times,
							dp_aggregates_unit_squares(c) * times, false);
}

static List *
histogram_inner(const dp_measure *measure)
{
	return dp_aggregates_count_column(measure,
									  dp_aggregates_column_spec(measure,
															DP_AXIS_BUCKETS,
															measure->ncells,
															measure->plan));
}

static Expr *
histogram_row(const dp_measure *measure, Expr *argument)
{
	return dp_aggregates_row_place(measure, argument, DP_AXIS_BUCKETS,
								   measure->plan);
}

static Datum
histogram_release(const dp_measure *measure, const dp_cell *cells,
				  bool *isnull, double *error)
{
	Datum	   *counts = palloc(sizeof(Datum) * measure->ncells);
	int			i;

	*error = dp_aggregates_error_of_sum(measure);
	for (i = 0; i < measure->ncells; i++)
		counts[i] =
			dp_aggregates_from_granules(measure,
										dp_aggregates_add_noise(measure,
															cells[i].integer),
										INT8OID);
	return PointerGetDatum(construct_array(counts, measure->ncells, INT8OID,
										   sizeof(int64), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

static const char *const histogram_forms[] = {"n", "ne", "lun", "lune", NULL};

const dp_measure_ops dp_aggregates_histogram = {
	DP_AGG_HISTOGRAM, "histogram", histogram_forms, histogram_prepare,
	histogram_inner,
	dp_aggregates_load_tally, histogram_release, NULL, histogram_row,
	dp_aggregates_add_value
};

/* ----------------
 *		How many rows units have (prepare/measured_bound.c): the number of
 *		units in each of DP_UNITS_SIZES places.
 *
 * A unit is in one place, whatever its rows are, and in at most two places if
 * it is replaced (doc/theory.md T163).
 * ----------------
 */

static void
sizes_prepare(dp_measure *measure)
{
	dp_contribution *c = &measure->contribution;

	c->kappa = c->rows = c->total = 1;
	measure->ncells = DP_UNITS_SIZES;
	measure->grid.exponent = 0;
	dp_aggregates_set_bound(measure, DP_UNITS_SIZE);
	dp_aggregates_set_group_noise(measure, 1, true);
}

static const char *const sizes_forms[] = {"e", NULL};

const dp_measure_ops dp_aggregates_sizes = {
	DP_AGG_UNIT_ROWS, "rows of a unit", sizes_forms, sizes_prepare,
	count_inner, count_load, histogram_release, NULL, count_row,
	dp_aggregates_add_value
};

/* ----------------
 *		dp_bounds: bounds that leave few rows out, if none are known.
 *
 * Rows are counted in public ranges of powers of two (exact/group_sums.c),
 * each count has noise, and the answer is the smallest and the largest end of
 * the ranges whose noisy count is above a threshold: one that noise alone
 * exceeds in any of them with probability at most RANGES_BETA (Wilson et al.
 * 2019).  A unit's m rows in a group change the counts together by at most m
 * (doc/theory.md T112).
 * ----------------
 */

#define RANGES_BETA 1e-6

static void
bounds_prepare(dp_measure *measure)
{
	dp_aggregates_set_bound(measure, DP_UNITS_VALUES);
	measure->ncells = dp_exact_ranges(measure->argument_type).n;
	measure->grid.exponent = 0;
	dp_aggregates_set_group_noise(measure, 1, true);
}

static List *
bounds_inner(const dp_measure *measure)
{
	return dp_exact_range_counts(measure->aggregate, measure->argument_type);
}

static Expr *
bounds_row(const dp_measure *measure, Expr *argument)
{
	return dp_exact_row_range(argument);
}

/*
 * dp_aggregates_ranges_threshold
 *	  A range counts if its noisy number of rows is above this.
 */
int64
dp_aggregates_ranges_threshold(const dp_measure *measure)
{
	double		error = dp_aggregates_noise_error(measure, RANGES_BETA /
												  measure->ncells);

	return error < 1e18 ? (int64) error : INT64CONST(1000000000000000000);
}

static Numeric
count_negate(Numeric x)
{
	return dp_numeric_call1(numeric_uminus, x);
}

/*
 * The end of a range that is nearer to 0, or the other one, both within the
 * type; for integers a range begins with the one after 2^(e-1).
 */
static Numeric
end_of(const dp_measure *measure, int place, bool nearer)
{
	Oid			type = measure->argument_type;
	const dp_ranges ranges = dp_exact_ranges(type);
	int			exponent = ranges.least + abs(place - ranges.zero) - 1;
	Numeric		one = int64_to_numeric(1);
	Numeric		end;
	int64		most = type == INT2OID ? PG_INT16_MAX :
		type == INT4OID ? PG_INT32_MAX : PG_INT64_MAX;

	if (place == ranges.zero)
		return int64_to_numeric(0);
	if (!nearer)
		end = dp_base_power_of_two(exponent);
	else if (dp_domains_is_integer(type))
		end = exponent == 0 ? one :
			dp_numeric_call2(numeric_add,
							 dp_base_power_of_two(exponent - 1), one);
	else
		end = exponent == ranges.least ? int64_to_numeric(0) :
			dp_base_power_of_two(exponent - 1);
	if (dp_domains_is_integer(type) && place > ranges.zero &&
		dp_numeric_compare(end, int64_to_numeric(most)) > 0)
		end = int64_to_numeric(most);
	return place < ranges.zero ? count_negate(end) : end;
}

static Datum
bounds_release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			   double *error)
{
	int			zero = dp_exact_ranges(measure->argument_type).zero;
	int64		threshold = dp_aggregates_ranges_threshold(measure);
	int			first = -1;
	int			last = -1;
	Datum		ends[2];
	int			i;

	for (i = 0; i < measure->ncells; i++)
	{
		if (dp_aggregates_add_noise(measure, cells[i].integer) <= threshold)
			continue;
		if (first < 0)
			first = i;
		last = i;
	}
	*isnull = first < 0;
	if (*isnull)
		return (Datum) 0;
	ends[0] = NumericGetDatum(end_of(measure, first, first > zero));
	ends[1] = NumericGetDatum(end_of(measure, last, last < zero));
	return PointerGetDatum(construct_array(ends, 2, NUMERICOID, -1, false,
										   TYPALIGN_INT));
}

static const char *const bounds_forms[] = {"", "e", NULL};

const dp_measure_ops dp_aggregates_bounds = {
	DP_AGG_BOUNDS, "bounds", bounds_forms, bounds_prepare, bounds_inner,
	dp_aggregates_load_tally, bounds_release, " rows in each range",
	bounds_row, dp_aggregates_add_value
};
