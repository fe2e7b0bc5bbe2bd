/*
 * choose_value.c
 *	  dp_argmax, dp_quantile, dp_min and dp_max: aggregates that select a
 *	  value.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/domains/dp_domains.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"
#include "dp_aggregates.h"
#include "aggregates_internal.h"

/* ----------------
 *		One candidate chosen by integer scores.
 *
 * Only dp_pg.mechanism decides how: laplace means permute-and-flip, the best
 * for a pure price; gaussian means the exponential mechanism, whose rho is
 * epsilon^2/8 and which needs no delta.  Only the chosen candidate is
 * released, no score and no gap.
 * ----------------
 */

/*
 * Set rate and price of `rounds` selections that share the measurement's
 * epsilon.
 */
static void
set_rounds(dp_measure *measure, dp_uint128 sensitivity, bool monotone,
		   int rounds)
{
	const dp_rational parts = {(dp_uint128) rounds, 1};
	dp_charge  *charge = &measure->charge;
	dp_rational epsilon;
	dp_fixed	rho;
	dp_status	status;

	status = dp_numbers_rational_divide(&measure->epsilon, &parts, &epsilon);
	if (status == DP_OK)
		status = dp_noise_selection_rate(&epsilon, sensitivity, monotone,
										 &measure->rate);
	dp_base_check_status(status, "compute a selection's rate");
	status = measure->mechanism == DP_MECHANISM_EXPONENTIAL ?
		dp_accounting_rho_from_exponential(&epsilon, &rho) :
		dp_accounting_rho_from_pure(&epsilon, &rho);
	if (status == DP_OK)
		status = dp_accounting_fixed_from_rational(&measure->epsilon,
												   DP_ROUND_UP,
												   &charge->epsilon);
	dp_base_check_status(status, "compute a charge");
	if (dp_accounting_sum_basic(rho, 0, rounds, &charge->rho,
								&charge->delta) != DP_OK)
		charge->rho = DP_FIXED_INFINITE;
	charge->delta = 0;
}

/*
 * set_exponential
 *	  Set law and charge of one exponential mechanism at the measurement's
 *	  epsilon, for scores that each differ between neighbours by at most
 *	  `sensitivity`, all in one direction if `monotone`.
 *
 * Source: doc/theory.md T16 (book, Theorem 3.10).
 */
static void
set_exponential(dp_measure *measure, dp_uint128 sensitivity,
				bool monotone)
{
	measure->mechanism = DP_MECHANISM_EXPONENTIAL;
	measure->sensitivity = sensitivity;
	set_rounds(measure, sensitivity, monotone, 1);
}

/*
 * The same for `rounds` consecutive selections, each with an equal part of the
 * epsilon, by the mechanism that dp_pg.mechanism selects.
 *
 * Source: doc/theory.md T16, T17; basic composition of the rounds.
 */
static void
set_selection(dp_measure *measure, dp_uint128 sensitivity, bool monotone,
			  int rounds)
{
	measure->mechanism = measure->gaussian ? DP_MECHANISM_EXPONENTIAL :
		DP_MECHANISM_PERMUTE_AND_FLIP;
	measure->sensitivity = sensitivity;
	set_rounds(measure, sensitivity, monotone, rounds);
}

/*
 * dp_aggregates_set_votes
 *	  The same for candidates whose scores are numbers of rows: `rounds`
 *	  selections in each group, counts being monotone unless units are
 *	  replaced.  A unit with at most S rows in all its groups changes what
 *	  these lose together by no more than m rows in ceil(S / m) groups do.
 *
 * Source: doc/theory.md T48, T160.
 */
void
dp_aggregates_set_votes(dp_measure *measure, int rounds)
{
	const dp_contribution *c = &measure->contribution;
	int64		groups = (int64) ((dp_aggregates_unit_rows(c) + c->rows - 1) /
								  c->rows);

	if (groups > PG_INT32_MAX / rounds)
		dp_base_check_status(DP_E_OVERFLOW, "compute a sensitivity");
	set_selection(measure, (dp_uint128) c->rows, !c->replace,
				  rounds * (int) groups);
}

/*
 * dp_aggregates_select
 *	  Index of the selected one of n >= 1 scores, by one round.
 */
int64
dp_aggregates_select(const dp_measure *measure, const dp_int128 *scores,
					 int64 n)
{
	size_t		chosen;
	size_t	   *order;
	dp_status	status;

	if (measure->mechanism == DP_MECHANISM_EXPONENTIAL)
		status = dp_noise_exponential(dp_base_source(), scores, n,
									  &measure->rate, &chosen);
	else
	{
		order = palloc_extended(sizeof(size_t) * n, MCXT_ALLOC_HUGE);
		status = dp_noise_permute_and_flip(dp_base_source(), scores, n,
										   &measure->rate, order, &chosen);
		pfree(order);
	}
	dp_base_check_status(status, "select a candidate");
	return (int64) chosen;
}

/* ----------------
 *		dp_quantile and dp_median: a grid point chosen by its rank.
 *
 * Cells are the rows of a group by grid point.  The exponential mechanism
 * chooses a point v of the public grid, scored by the distance in rank from
 * a/d of the rows: one row changes a score by at most max(a, d - a), and a
 * unit has m rows per group (doc/quantile.md Q1).  A replaced unit changes a
 * group's scores by at most m d, or leaves one group and enters another.  With
 * kappa groups per unit each group's choice has epsilon / kappa, which is the
 * same as kappa times the sensitivity.  Ties and groups without rows need no
 * special treatment.
 *
 * The grid has at most DP_COUNTS_CELLS points, fewer if many groups or
 * aggregates keep counts; a finer granule is doubled until that holds.  The
 * answer is a point of the grid, as a value of the argument's type.
 * ----------------
 */

#define BLOCK_CELLS (INT64CONST(64) * 1024 * 1024)
#define LEAST_CELLS 256

typedef struct quantile_plan
{
	dp_envelope law;
	dp_rational fraction;
} quantile_plan;

/*
 * Points of a group's grid: all grids of the block together have at most
 * BLOCK_CELLS, of 4 bytes each whatever the rows, unless more than 2^32 of
 * these meet at one point.
 */
static int64
most_points(const dp_measure *measure)
{
	int64		grids = Max(measure->groups, 1) * measure->collections;

	return Max(Min(DP_COUNTS_CELLS, BLOCK_CELLS / grids), LEAST_CELLS);
}

/*
 * dp_aggregates_set_rank_grid
 *	  Set the grid on which rows are counted: coarse enough; whole points for
 *	  integers.
 *
 * Errors: as dp_aggregates_set_bounds.
 */
void
dp_aggregates_set_rank_grid(dp_measure *measure)
{
	dp_grid    *grid = &measure->grid;
	bool		whole = dp_domains_is_integer(measure->argument_type) ||
	dp_domains_is_time(measure->argument_type);

	dp_aggregates_set_bounds(measure);
	dp_aggregates_coarsen(measure, most_points(measure) - 1);
	while (whole && grid->exponent < 0 && grid->low < grid->high)
		dp_grid_double(grid);
	if (grid->low > grid->high)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no grid point lies between the bounds"),
				 errhint("Use wider bounds.")));
	dp_aggregates_set_bound(measure, DP_UNITS_VALUES);
	measure->choices = grid->high - grid->low + 1;
	measure->state_size = (int64) dp_exact_grid_bytes(measure->choices);
}

/* The fraction as a/d in lowest terms; 22023 outside [0, 1]. */
static dp_rational
read_fraction(const dp_measure *measure)
{
	dp_rational fraction = {1, 2};
	dp_number_fault fault;

	if (measure->ops->kind == DP_AGG_MEDIAN)
		return fraction;
	fault = dp_base_numeric_to_rational(measure->fraction, &fraction);
	if (fault != DP_NUMBER_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fraction of %s must be a number from 0 to 1",
						dp_catalog_shown_name("dp_quantile")),
				 errdetail("It is %s.", dp_base_number_fault_text(fault)),
				 errhint("The median is 0.5; round(x, 9) shortens a number "
						 "with many digits.")));
	if (fraction.num > fraction.den)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fraction of %s must be a number from 0 to 1",
						dp_catalog_shown_name("dp_quantile")),
				 errdetail("It is above 1."),
				 errhint("Percentile 95 is the fraction 0.95.")));
	return fraction;
}

/*
 * How much a unit changes the scores of all groups, each by its largest change
 * (doc/quantile.md Q1).
 */
static dp_uint128
quantile_sensitivity(const dp_contribution *c, const dp_rational *fraction)
{
	bool		moves = c->replace && c->grouped;
	dp_uint128	sensitivity;

	dp_base_check_status(
		dp_noise_quantile_sensitivity(fraction->num, fraction->den,
									  (uint64) dp_aggregates_unit_rows(c),
									  c->replace && !moves, &sensitivity),
		"compute a sensitivity");
	return moves ? dp_aggregates_product(sensitivity, 2) : sensitivity;
}

static void
quantile_prepare(dp_measure *measure)
{
	quantile_plan *plan = palloc(sizeof(quantile_plan));

	dp_aggregates_set_rank_grid(measure);
	plan->fraction = read_fraction(measure);
	measure->score_unit = plan->fraction.den;
	set_exponential(measure,
					quantile_sensitivity(&measure->contribution,
										 &plan->fraction), false);
	dp_base_check_status(dp_noise_envelope_make(&measure->rate, 1,
												&plan->law),
						 "prepare a selection");
	measure->plan = plan;
}

/* dp_aggregates_load_ranks: add the counts of an inner row. */
void
dp_aggregates_load_ranks(const dp_measure *measure, const Datum *values,
						 const bool *nulls, dp_cell *cells, MemoryContext keep)
{
	if (!nulls[0])
		cells[0].state = dp_exact_grid_merge(cells[0].state, values[0], keep);
}

/* dp_aggregates_add_rank: add a part that is one value. */
void
dp_aggregates_add_rank(const dp_measure *measure, const dp_units_part *part,
					   dp_cell *cells, MemoryContext keep)
{
	cells[0].state = dp_exact_grid_add(cells[0].state, measure->choices,
									   (int64) part->numbers[0] -
									   measure->grid.low, keep);
}

/* granules * 2^exponent, exponent >= 0, kept within [least, most]. */
static int64
whole_value(const dp_grid *grid, int64 granules, int64 least, int64 most)
{
	dp_int128	value = granules;
	int			i;

	for (i = 0; i < grid->exponent && value > least && value < most; i++)
		value *= 2;
	return (int64) Min(Max(value, least), most);
}

/*
 * grid_point: a point of the grid as a value of the argument's
 * type.
 */
static Datum
grid_point(const dp_measure *measure, int64 point)
{
	const dp_grid *grid = &measure->grid;

	switch (measure->aggregate->aggtype)
	{
		case INT2OID:
			return Int16GetDatum(whole_value(grid, point, PG_INT16_MIN,
											 PG_INT16_MAX));
		case INT4OID:
			return Int32GetDatum(whole_value(grid, point, PG_INT32_MIN,
											 PG_INT32_MAX));
		case INT8OID:
			return Int64GetDatum(whole_value(grid, point, PG_INT64_MIN,
											 PG_INT64_MAX));
		case DATEOID:
			return DateADTGetDatum(whole_value(grid, point, PG_INT32_MIN + 1,
											   PG_INT32_MAX - 1));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TimestampGetDatum(whole_value(grid, point,
												 PG_INT64_MIN + 1,
												 PG_INT64_MAX - 1));
		default:
			return dp_aggregates_from_granules(measure, point,
											   measure->aggregate->aggtype);
	}
}

static Datum
quantile_release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
				 double *error)
{
	const quantile_plan *plan = measure->plan;
	const dp_grid *grid = &measure->grid;
	dp_ranked_rows ranked;
	int64		point;

	dp_exact_grid_rank(cells[0].state, grid->low, &ranked);
	dp_base_check_status(
		dp_noise_quantile(dp_base_source(), &plan->law, &ranked, grid->low,
						  grid->high, plan->fraction.num, plan->fraction.den,
						  (int64_t *) &point),
		"draw a quantile");
	return grid_point(measure, point);
}

/*
 * dp_aggregates_count_ranks: the aggregate that counts rows at each point of
 * the grid.
 */
List *
dp_aggregates_count_ranks(const dp_measure *measure)
{
	return dp_exact_grid_inner(measure->aggregate, measure->argument_type,
							   &measure->grid);
}

static const char *const quantile_forms[] = {"f", "fe", "flu", "flue", NULL};
static const char *const median_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_aggregates_quantile = {
	DP_AGG_QUANTILE, "quantile", quantile_forms, quantile_prepare,
	dp_aggregates_count_ranks, dp_aggregates_load_ranks, quantile_release,
	NULL, dp_aggregates_row_granules, dp_aggregates_add_rank
};

const dp_measure_ops dp_aggregates_median = {
	DP_AGG_MEDIAN, "median", median_forms, quantile_prepare,
	dp_aggregates_count_ranks, dp_aggregates_load_ranks, quantile_release,
	NULL, dp_aggregates_row_granules, dp_aggregates_add_rank
};

/* ----------------
 *		dp_min and dp_max: a grid point with few rows beyond it.
 *
 * The exponential mechanism chooses a point of the public grid by how far the
 * number of rows beyond it is from T (noise/quantile.c, doc/theory.md T92).  T
 * is public: large enough that the points beyond all rows, at most all points
 * of the grid, are together chosen with probability at most 1/20; and 1/2 if
 * the price is so high that less would suffice, since then the smallest or
 * largest row itself is the best point.  T depends on grid and price only.
 *
 * Adding, removing or exchanging a row changes a penalty by at most one: m
 * rows of a unit change those of a group by m, for either kind of neighbours.
 * Penalties are counted in half rows.
 * ----------------
 */

#define HALVES 2				/* penalties per row */
/* Millionths, rounded up: ln 2 for each doubling of the points, and ln 20. */
#define MILLION 1000000
#define LN_TWO 693148
#define LN_TWENTY 2995733

typedef struct extreme_plan
{
	dp_envelope law;
	dp_uint128	rank;			/* T, in half rows */
} extreme_plan;

/* (ln points + ln 20) / rate, rounded up. */
static dp_uint128
selection_rank_of(int64 points, const dp_rational *rate)
{
	dp_uint128	exponent = pg_ceil_log2_64((uint64) points) *
		(uint64) LN_TWO + LN_TWENTY;
	dp_uint128	num = dp_aggregates_product(exponent, rate->den);
	dp_uint128	den = dp_aggregates_product(MILLION, rate->num);

	return Max(num / den + (num % den != 0), 1);
}

/*
 * How much a unit changes the scores of all groups.  A replaced unit may leave
 * kappa groups and enter as many others.
 */
static dp_uint128
extreme_sensitivity(const dp_contribution *c)
{
	dp_uint128	sensitivity =
	dp_aggregates_product(HALVES, dp_aggregates_unit_rows(c));

	return c->replace && c->grouped ? dp_aggregates_product(sensitivity, 2) :
		sensitivity;
}

static void
extreme_prepare(dp_measure *measure)
{
	extreme_plan *plan = palloc(sizeof(extreme_plan));

	dp_aggregates_set_rank_grid(measure);
	measure->score_unit = HALVES;
	set_exponential(measure,
					extreme_sensitivity(&measure->contribution), false);
	dp_base_check_status(dp_noise_envelope_make(&measure->rate, 1,
												&plan->law),
						 "prepare a selection");
	plan->rank = selection_rank_of(measure->choices, &measure->rate);
	measure->plan = plan;
}

static Datum
extreme_release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
				double *error)
{
	const extreme_plan *plan = measure->plan;
	const dp_grid *grid = &measure->grid;
	dp_ranked_rows ranked;
	int64		point;

	dp_exact_grid_rank(cells[0].state, grid->low, &ranked);
	dp_base_check_status(
		dp_noise_extreme(dp_base_source(), &plan->law, &ranked, grid->low,
						 grid->high, plan->rank, HALVES,
						 measure->ops->kind == DP_AGG_MAX, (int64_t *) &point),
		"draw an extreme");
	return grid_point(measure, point);
}

static const char *const extreme_forms[] = {"", "e", "lu", "lue", NULL};

const dp_measure_ops dp_aggregates_min = {
	DP_AGG_MIN, "min", extreme_forms, extreme_prepare,
	dp_aggregates_count_ranks,
	dp_aggregates_load_ranks, extreme_release, NULL,
	dp_aggregates_row_granules, dp_aggregates_add_rank
};

const dp_measure_ops dp_aggregates_max = {
	DP_AGG_MAX, "max", extreme_forms, extreme_prepare,
	dp_aggregates_count_ranks,
	dp_aggregates_load_ranks, extreme_release, NULL,
	dp_aggregates_row_granules, dp_aggregates_add_rank
};

/* ----------------
 *		dp_argmax and dp_topk: the most frequent values among public
 *		candidates.
 *
 * The score of a candidate is the number of rows that hold it.  One row
 * changes one score by one, and under add/remove all scores that change move
 * in the same direction, so selection works at rate epsilon / m for m rows of
 * a unit (doc/theory.md T16, T17, T48).  A unit in kappa groups changes the
 * scores of all of them: epsilon / kappa in each.
 *
 * dp_topk selects k times, each time without those already chosen, for epsilon
 * / k each; or it adds noise to the counts of all candidates at the full
 * epsilon and takes the k largest, since m rows change all counts together by
 * m (T111).  The choice depends on public numbers.
 *
 * Candidates are given in the query, or they are the argument's public values:
 * declared keys, labels of an enum, both booleans, the range of bounded
 * integers and dates, in their order.  NULL is no candidate, nor is the key
 * that collects undeclared values.
 * ----------------
 */

/* What prepare computes: public candidates, by place. */
typedef struct dp_candidates
{
	int64		n;
	Datum	   *values;
	Const	   *lookup;			/* of a value among them */
	Const	   *spec;			/* of the table that counts them */
} dp_candidates;

static void
selection_raise_candidates(const dp_measure *measure, const char *what,
						   const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("candidates of %s %s", dp_catalog_shown_name
					(psprintf("dp_%s", measure->ops->name)), what),
			 errhint("%s", hint)));
}

static void
take_given(const dp_measure *measure, dp_candidates *candidates)
{
	Oid			type = ARR_ELEMTYPE(measure->candidates);
	int16		length;
	bool		by_value;
	char		align;
	bool	   *nulls;
	int			n;
	int			i;

	if (getBaseType(type) != measure->argument_type)
		elog(ERROR, "candidates are not of the argument's type");
	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(measure->candidates, type, length, by_value, align,
					  &candidates->values, &nulls, &n);
	for (i = 0; i < n; i++)
		if (nulls[i])
			selection_raise_candidates(measure, "must not be NULL",
									   "Leave NULL elements out of the array; "
									   "rows with NULL count for no "
									   "candidate.");
	candidates->n = n;
}

/*
 * dp_aggregates_public_values
 *	  The public values of the argument, which has some, and their number.
 */
int64
dp_aggregates_public_values(const dp_measure *measure, Datum **values)
{
	dp_domain  *domain = dp_domains_make(measure->value->key);
	int64		n = dp_domains_known(domain);
	int64		i;
	bool		isnull;

	*values = palloc_extended(sizeof(Datum) * Max(n, 1), MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
		(*values)[i] = dp_domains_domain_value(domain, i, &isnull);
	return n;
}

static void
check_type(const dp_measure *measure)
{
	Oid			collation = measure->aggregate->inputcollid;

	if (!dp_domains_tally_can_read(measure->argument_type))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_%s does not support type %s",
						measure->ops->name,
						format_type_be(measure->argument_type)),
				 errhint("Use an expression of another type, such as a cast "
						 "to text.")));
	if (OidIsValid(collation) && !get_collation_isdeterministic(collation))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_%s does not support collations that are not "
						"deterministic", measure->ops->name),
				 errhint("Write COLLATE \"C\" after the expression.")));
}

static dp_candidates *
selection_find_candidates(const dp_measure *measure)
{
	dp_candidates *candidates = palloc0(sizeof(dp_candidates));
	Const	   *lookup;
	int64		twice;

	check_type(measure);
	if (measure->candidates != NULL)
		take_given(measure, candidates);
	else if (measure->value->key != NULL)
		candidates->n = dp_aggregates_public_values(measure,
													&candidates->values);
	else
		selection_raise_candidates(measure, "are missing",
								   dp_setting_transparent ?
								   "Count them, with WHERE x IN ('a', 'b') "
								   "GROUP BY x, or ask the owner to run "
								   "dp_declare(relation, column, keys => "
								   "...)." :
								   "Give them as an array, or ask the owner "
								   "to run dp_declare(relation, column, keys "
								   "=> ...).");
	if (candidates->n == 0)
		selection_raise_candidates(measure, "must not be empty",
								   "Give an array with the values to choose "
								   "from.");
	if (candidates->n > dp_setting_max_groups)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("dp_%s has too many candidates",
						measure->ops->name),
				 errdetail("Setting dp_pg.max_groups is %d.",
						   dp_setting_max_groups),
				 errhint("Choose among fewer values.")));
	lookup = dp_domains_tally_value_spec(measure->argument_type,
										 candidates->values, candidates->n,
										 &twice);
	if (lookup == NULL)
		selection_raise_candidates(measure, "must be distinct",
								   "Write every value once.");
	candidates->lookup = lookup;
	candidates->spec = dp_aggregates_column_spec(measure, DP_AXIS_LISTED,
												 candidates->n, lookup);
	return candidates;
}

static void
prepare_candidates(dp_measure *measure)
{
	dp_candidates *candidates = selection_find_candidates(measure);

	dp_aggregates_set_bound(measure, DP_UNITS_VALUES);
	measure->plan = candidates;
	measure->choices = candidates->n;
	measure->ncells = (int) candidates->n;
	measure->grid.exponent = 0;
}

static void
prepare_argmax(dp_measure *measure)
{
	prepare_candidates(measure);
	dp_aggregates_set_votes(measure, 1);
}

/* The probability with which errors are compared. */
#define BETA 0.05

/*
 * By how many rows one of k selected values may fall short of a value that was
 * left out: k times the bound of one selection, at BETA / k.
 */
static double
selection_loss(const dp_measure *measure, int k)
{
	const dp_rational *rate = &measure->rate;

	return (double) rate->den / (double) rate->num *
		(log((double) measure->choices) + log(k / BETA));
}

/*
 * The same for noisy counts, where two of the noises decide, at the scale at
 * which they would cost what the selections cost in the budget's accounting:
 * larger if that is rho, which is proportional to the inverse square of the
 * scale.
 */
static double
count_loss(const dp_measure *counts, const dp_measure *selections)
{
	double		loss = 2 * dp_aggregates_noise_error(counts, BETA /
													 counts->choices);
	double		rho = dp_accounting_fixed_approx(counts->charge.rho);
	double		least = dp_accounting_fixed_approx(selections->charge.rho);

	if (counts->filter == DP_FILTER_BASIC || rho <= least)
		return loss;
	return loss * sqrt(rho / least);
}

/* Use noisy counts if they are better; Gaussian ones need a delta. */
static void
prepare_topk(dp_measure *measure)
{
	dp_measure	counts;
	dp_fixed	delta;
	int			k;

	prepare_candidates(measure);
	k = (int) dp_aggregates_number(measure, 1, measure->choices,
								   "number of values");
	counts = *measure;
	dp_aggregates_set_votes(measure, k);
	if (measure->gaussian && !dp_aggregates_read_delta(0, &delta))
		return;
	dp_aggregates_set_group_noise(&counts, 1, true);
	if (count_loss(&counts, measure) < selection_loss(measure, k))
		*measure = counts;
}

static List *
argmax_inner(const dp_measure *measure)
{
	const dp_candidates *candidates = measure->plan;

	return dp_aggregates_count_column(measure, candidates->spec);
}

static Expr *
row(const dp_measure *measure, Expr *argument)
{
	const dp_candidates *candidates = measure->plan;

	return dp_aggregates_row_place(measure, argument, DP_AXIS_LISTED,
								   candidates->lookup);
}

static dp_int128 *
scores_of(const dp_measure *measure, const dp_cell *cells)
{
	dp_int128  *scores = palloc_extended(sizeof(dp_int128) * measure->ncells,
										 MCXT_ALLOC_HUGE);
	int			i;

	for (i = 0; i < measure->ncells; i++)
		scores[i] = cells[i].integer;
	return scores;
}

static Datum
release_argmax(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			   double *error)
{
	const dp_candidates *candidates = measure->plan;
	dp_int128  *scores = scores_of(measure, cells);

	return candidates->values[dp_aggregates_select(measure, scores,
												   measure->ncells)];
}

/*
 * Peeling: the last of the remaining ones takes the place of the chosen one.
 */
static void
select_values(const dp_measure *measure, dp_int128 *scores, int64 k,
			  Datum *chosen)
{
	const dp_candidates *candidates = measure->plan;
	Datum	   *left = palloc_extended(sizeof(Datum) * candidates->n,
									   MCXT_ALLOC_HUGE);
	int64		i;

	memcpy(left, candidates->values, sizeof(Datum) * candidates->n);
	for (i = 0; i < k; i++)
	{
		int64		last = candidates->n - 1 - i;
		int64		place = dp_aggregates_select(measure, scores, last + 1);

		CHECK_FOR_INTERRUPTS();
		chosen[i] = left[place];
		left[place] = left[last];
		scores[place] = scores[last];
	}
}

typedef struct noisy_count
{
	dp_int128	count;
	int64		place;
} noisy_count;

/* Largest first; ties by the lowest place. */
static int
compare_counts(const void *a, const void *b)
{
	const noisy_count *x = a;
	const noisy_count *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

/* Fresh noise on every count; only the order of the largest k is released. */
static void
sort_values(const dp_measure *measure, const dp_int128 *scores, int64 k,
			Datum *chosen)
{
	const dp_candidates *candidates = measure->plan;
	noisy_count *counts = palloc_extended(sizeof(noisy_count) * candidates->n,
										  MCXT_ALLOC_HUGE);
	int64		i;

	for (i = 0; i < candidates->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		counts[i].count = dp_aggregates_add_noise(measure, scores[i]);
		counts[i].place = i;
	}
	qsort(counts, candidates->n, sizeof(noisy_count), compare_counts);
	for (i = 0; i < k; i++)
		chosen[i] = candidates->values[counts[i].place];
}

static Datum
release_topk(const dp_measure *measure, const dp_cell *cells, bool *isnull,
			 double *error)
{
	dp_int128  *scores = scores_of(measure, cells);
	int64		k = dp_aggregates_number(measure, 1, measure->choices,
										 "number of values");
	Datum	   *chosen = palloc(sizeof(Datum) * k);
	Oid			type = get_element_type(measure->aggregate->aggtype);
	int16		length;
	bool		by_value;
	char		align;

	if (measure->mechanism == DP_MECHANISM_LAPLACE ||
		measure->mechanism == DP_MECHANISM_GAUSSIAN)
		sort_values(measure, scores, k, chosen);
	else
		select_values(measure, scores, k, chosen);
	get_typlenbyvalalign(type, &length, &by_value, &align);
	return PointerGetDatum(construct_array(chosen, (int) k, type, length,
										   by_value, align));
}

static const char *const argmax_forms[] = {"", "c", "ce", NULL};

const dp_measure_ops dp_aggregates_argmax = {
	DP_AGG_ARGMAX, "argmax", argmax_forms, prepare_argmax, argmax_inner,
	dp_aggregates_load_tally, release_argmax, NULL, row,
	dp_aggregates_add_value
};

static const char *const topk_forms[] = {"n", "nc", "nce", NULL};

const dp_measure_ops dp_aggregates_topk = {
	DP_AGG_TOPK, "topk", topk_forms, prepare_topk, argmax_inner,
	dp_aggregates_load_tally, release_topk, NULL, row, dp_aggregates_add_value
};
