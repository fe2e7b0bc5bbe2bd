/*
 * measure_argmax.c
 *	  dp_argmax and dp_topk: the most frequent values among public candidates.
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
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "dp_measure.h"

/* What prepare computes: public candidates, by place. */
typedef struct dp_candidates
{
	int64		n;
	Datum	   *values;
	Const	   *lookup;			/* of a value among them */
	Const	   *spec;			/* of the table that counts them */
} dp_candidates;

static void
raise_candidates(const dp_measure *measure, const char *what,
				 const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("candidates of dp_%s %s", measure->ops->name, what),
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
			raise_candidates(measure, "must not be NULL",
							 "Leave NULL elements out of the array; rows "
							 "with NULL count for no candidate.");
	candidates->n = n;
}

static void
take_declared(const dp_measure *measure, dp_candidates *candidates)
{
	dp_domain  *domain = dp_places_domain_make(measure->value->key);
	int64		i;
	bool		isnull;

	candidates->n = dp_places_domain_known(domain);
	candidates->values = palloc_extended(sizeof(Datum) *
										 Max(candidates->n, 1),
										 MCXT_ALLOC_HUGE);
	for (i = 0; i < candidates->n; i++)
		candidates->values[i] = dp_places_domain_value(domain, i, &isnull);
}

static void
check_type(const dp_measure *measure)
{
	Oid			collation = measure->aggregate->inputcollid;

	if (!dp_places_tally_can_read(measure->argument_type))
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
find_candidates(const dp_measure *measure)
{
	dp_candidates *candidates = palloc0(sizeof(dp_candidates));
	Const	   *lookup;
	int64		twice;

	check_type(measure);
	if (measure->candidates != NULL)
		take_given(measure, candidates);
	else if (measure->value->key != NULL)
		take_declared(measure, candidates);
	else
		raise_candidates(measure, "are missing",
						 "Give them as an array, or ask the owner to run "
						 "dp_declare(relation, column, keys => ...).");
	if (candidates->n == 0)
		raise_candidates(measure, "must not be empty",
						 "Give an array with the values to choose from.");
	if (candidates->n > dp_setting_max_groups)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("dp_%s has too many candidates",
						measure->ops->name),
				 errdetail("Setting dp_pg.max_groups is %d.",
						   dp_setting_max_groups),
				 errhint("Choose among fewer values.")));
	lookup = dp_places_tally_value_spec(measure->argument_type,
										candidates->values, candidates->n,
										&twice);
	if (lookup == NULL)
		raise_candidates(measure, "must be distinct",
						 "Write every value once.");
	candidates->lookup = lookup;
	candidates->spec = dp_measure_column_spec(measure, DP_AXIS_LISTED,
											  candidates->n, lookup);
	return candidates;
}

static void
prepare_candidates(dp_measure *measure)
{
	dp_candidates *candidates = find_candidates(measure);

	dp_measure_set_bound(measure, DP_BOUND_VALUES);
	measure->plan = candidates;
	measure->choices = candidates->n;
	measure->ncells = (int) candidates->n;
	measure->grid.exponent = 0;
}

static void
prepare_argmax(dp_measure *measure)
{
	prepare_candidates(measure);
	dp_measure_set_votes(measure, 1);
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
	double		loss = 2 * dp_measure_noise_error(counts, BETA /
												  counts->choices);
	double		rho = dp_acct_fixed_approx(counts->charge.rho);
	double		least = dp_acct_fixed_approx(selections->charge.rho);

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
	k = (int) dp_measure_number(measure, 1, measure->choices,
								"number of values");
	counts = *measure;
	dp_measure_set_votes(measure, k);
	if (measure->gaussian && !dp_measure_read_delta(&delta))
		return;
	dp_measure_set_group_noise(&counts,
							   (dp_uint128) measure->contribution.rows);
	if (count_loss(&counts, measure) < selection_loss(measure, k))
		*measure = counts;
}

static List *
inner(const dp_measure *measure)
{
	const dp_candidates *candidates = measure->plan;

	return dp_measure_count_column(measure, candidates->spec);
}

static Expr *
row(const dp_measure *measure, Expr *argument)
{
	const dp_candidates *candidates = measure->plan;

	return dp_measure_row_place(measure, argument, DP_AXIS_LISTED,
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

	return candidates->values[dp_measure_select(measure, scores,
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
		int64		place = dp_measure_select(measure, scores, last + 1);

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
		counts[i].count = dp_measure_add_noise(measure, scores[i]);
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
	int64		k = dp_measure_number(measure, 1, measure->choices,
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

const dp_measure_ops dp_measure_argmax = {
	DP_AGG_ARGMAX, "argmax", argmax_forms, prepare_argmax, inner,
	dp_measure_load_tally, release_argmax, NULL, row, dp_measure_add_value
};

static const char *const topk_forms[] = {"n", "nc", "nce", NULL};

const dp_measure_ops dp_measure_topk = {
	DP_AGG_TOPK, "topk", topk_forms, prepare_topk, inner,
	dp_measure_load_tally, release_topk, NULL, row, dp_measure_add_value
};
