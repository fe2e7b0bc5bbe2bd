/*
 * measured_bound.c
 *	  dp_pg.bounds = measure: a query over units with many rows, for which
 *	  nobody says how many count, measures a bound for a quarter of its price.
 *
 * A release of its own counts units by the number of rows that each has in
 * this rowset, after WHERE and joins: the same block with that one value and
 * no keys.  From its noisy counts the total T is chosen, which is
 * post-processing; then the query runs with T, for three quarters of the price
 * of each value.  Both charges are fixed, and admitted together, before the
 * first row is read: that of the query is the largest for any T that may be
 * chosen (doc/theory.md T163).
 *
 * Floating point only chooses T, from noisy numbers.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/memutils.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "dp_prepare.h"
#include "prepare_internal.h"

/* Groups to expect where keys are released by threshold. */
#define GROUPS_EXPECTED 10

/* ---- the release that measures ---- */

static bool
is_released(Query *query)
{
	return dp_catalog_has_aggregate((Node *) query);
}

/*
 * What is released inside would be released, and paid, for both; sets of
 * groups would have a bound each.
 */
static void
forbid_unmeasured(const dp_block *block)
{
	bool		released = false;
	ListCell   *lc;

	if (block->crossing != NIL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("no bound is measured for GROUPING SETS"),
				 errdetail("dp_pg.bounds is measure, and each set would have "
						   "a bound of its own, so that they would not add "
						   "up.  Nothing was charged."),
				 errhint("Give a bound, as in SET dp_pg.max_total = 50; or "
						 "ask for each set in a query of its own.")));
	foreach(lc, block->subqueries)
		released |= is_released(lfirst(lc));
	foreach(lc, block->sources)
		released |= !OidIsValid(((const dp_joined *) lfirst(lc))->relid) &&
			is_released(((const dp_joined *) lfirst(lc))->query);
	if (released)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("no bound is measured where released values are used "
						"inside a private query"),
				 errdetail("dp_pg.bounds is measure, so the rows would be "
						   "read twice.  Nothing was charged."),
				 errhint("Give a bound, as in SET dp_pg.max_total = 50; or "
						 "ask for the released values in a query before.")));
}

/* FILTERs of all values, by OR; NULL if some value has none. */
static Expr *
any_filter(const dp_block *block)
{
	List	   *filters = NIL;
	int			i;

	for (i = 0; i < list_length(block->values); i++)
	{
		Expr	   *filter = dp_rowsets_aggregate(block, i)->aggfilter;

		if (filter == NULL)
			return NULL;
		filters = list_append_unique(filters, filter);
	}
	return filters == NIL ? NULL : list_length(filters) == 1 ?
		linitial(filters) : makeBoolExpr(OR_EXPR, filters, -1);
}

/* The call dp_count(1, epsilon), whose value has another kind. */
static Aggref *
make_call(Const *epsilon, Expr *filter)
{
	Oid			any = ANYOID;
	Aggref	   *call = makeNode(Aggref);
	Const	   *one = makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
								Int64GetDatum(1), false, FLOAT8PASSBYVAL);

	call->aggfnoid = dp_catalog_aggregate("dp_count", 1, &any);
	call->aggtype = INT8OID;
	call->aggargtypes = list_make2_oid(INT8OID, NUMERICOID);
	call->args = list_make2(makeTargetEntry((Expr *) one, 1, NULL, false),
							makeTargetEntry((Expr *) epsilon, 2, NULL,
											false));
	call->aggfilter = filter;
	call->aggkind = AGGKIND_NORMAL;
	call->aggsplit = AGGSPLIT_SIMPLE;
	call->aggno = -1;
	call->aggtransno = -1;
	call->location = -1;
	return call;
}

/* The same rows, without keys, and with that one value. */
static dp_block *
make_rows_block(const dp_block *block, Const *epsilon)
{
	dp_block   *rows = copyObject((dp_block *) block);
	List	   *targets = rows->inner->targetList;
	TargetEntry *unit = list_nth(targets, list_length(block->keys));
	dp_value   *value = dp_make_node(dp_value);
	Expr	   *filter = any_filter(rows);

	value->kind = DP_AGG_UNIT_ROWS;
	rows->values = list_make1(value);
	rows->keys = NIL;
	rows->key_conditions = NIL;
	rows->publics = NIL;
	rows->conditions = NIL;
	rows->size = 0;
	rows->omits_empty = false;
	rows->least = 0;
	rows->inner->groupClause = NIL;
	rows->inner->targetList = NIL;
	(void) dp_rowsets_add_target(&rows->inner->targetList,
								 (Node *) unit->expr, "unit");
	(void) dp_rowsets_add_target(&rows->inner->targetList,
								 (Node *) make_call(epsilon, filter), "rows");
	rows->inner->hasAggs = true;
	rows->fingerprint = ~block->fingerprint;
	return rows;
}

static dp_fixed
fixed_price(const dp_rational *price, dp_rounding rounding)
{
	dp_fixed	fixed;

	dp_base_check_status(dp_accounting_fixed_from_rational(price, rounding,
														   &fixed),
						 "divide a price");
	return fixed;
}

/*
 * The price of measuring: what values leave of what they ask, a quarter, but
 * no more than the costliest asks, so that no ceiling and no rho that was
 * asked is exceeded.
 */
static dp_fixed
measuring_price(const dp_release_spec *spec)
{
	const dp_rational whole = {4, DP_QUARTERS_MEASURED};
	dp_fixed	left = 0;
	dp_fixed	most = 0;
	int			n = dp_prepare_count_values(spec);
	int			i;

	for (i = 0; i < n; i++)
	{
		const dp_rational *epsilon = i == spec->nmeasures ?
		&spec->decision.epsilon : &spec->measures[i].epsilon;
		dp_rational asked;
		dp_fixed	own = fixed_price(epsilon, DP_ROUND_UP);
		dp_fixed	all;

		dp_base_check_status(dp_numbers_rational_multiply(epsilon, &whole,
														  &asked),
							 "divide a price");
		all = fixed_price(&asked, DP_ROUND_DOWN);
		left = dp_accounting_fixed_add(left, all > own ? all - own : 0);
		most = Max(most, all);
	}
	return Min(left, most);
}

static Const *
price_constant(dp_fixed price)
{
	return makeConst(NUMERICOID, -1, InvalidOid, -1,
					 NumericGetDatum(dp_base_fixed_to_numeric(price)), false,
					 false);
}

/* ---- the query, for a total ---- */

static dp_release_spec *
prepare_total(const dp_measuring *measuring, int64 total, int *location)
{
	dp_unit_bounds bounds = measuring->bounds;

	bounds.measured = total;
	return dp_prepare_release(measuring->block, measuring->standing,
							  measuring->arguments, measuring->domains,
							  &bounds, measuring->snapshot, location);
}

static void
raise_charge(dp_charge *most, const dp_charge *charge)
{
	most->epsilon = Max(most->epsilon, charge->epsilon);
	most->rho = Max(most->rho, charge->rho);
	most->delta = Max(most->delta, charge->delta);
}

/*
 * Whether the charge hardly depends on the total.  That of Gaussian noise does
 * not (additive.c), and the rho of Laplace noise falls with it, computed to
 * within one unit of its ceiling.  Selections divide their price by it, and so
 * do undeclared keys.  Bounds from a profile are others for another total, and
 * so is what presence of values measures, where sensitivity may fall.
 */
static bool
is_additive(const dp_release_spec *spec)
{
	bool		additive = !spec->undeclared;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];

		additive &= measure->ops->kind != DP_AGG_TOPK &&
			!measure->profiled && dp_aggregates_present_units(measure) == 0 &&
			(measure->mechanism == DP_MECHANISM_LAPLACE ||
			 measure->mechanism == DP_MECHANISM_GAUSSIAN);
	}
	return additive;
}

/*
 * The largest charge for any total that may be chosen, where `spec` is the
 * query for the least.
 */
static dp_charge
largest_charge(const dp_measuring *measuring, const dp_release_spec *spec,
			   int *location)
{
	MemoryContext context;
	MemoryContext old;
	dp_charge	most = spec->charge;
	int			place;

	if (is_additive(spec))
	{
		/* whatever is chosen must be possible */
		(void) prepare_total(measuring,
							 dp_units_size_end(DP_UNITS_SIZES - 2), location);
		most.rho = dp_accounting_fixed_add(most.rho,
										   (dp_fixed) spec->nmeasures);
		return most;
	}
	context = AllocSetContextCreate(CurrentMemoryContext, "dp_pg totals",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	for (place = 1; place < DP_UNITS_SIZES - 1; place++)
	{
		raise_charge(&most,
					 &prepare_total(measuring, dp_units_size_end(place),
									location)->charge);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return most;
}

/*
 * dp_prepare_measured
 *	  Prepare a query whose total it measures, and the release that measures
 *	  it, measuring->rows.  Returns the query for a total of 1, with the charge
 *	  for any; or, if it needs no bound, as it is.
 *
 * Errors: as dp_prepare_release; 0A000 released values are used inside.
 */
dp_release_spec *
dp_prepare_measured(dp_measuring *measuring, int *location)
{
	dp_release_spec *spec = prepare_total(measuring, 1, location);
	const dp_unit_bounds all = {
		.rows = PG_INT32_MAX,.keys = 1,.total = PG_INT32_MAX
	};
	Const	   *epsilon;

	if (spec->quarters != DP_QUARTERS_MEASURED)
		return spec;
	forbid_unmeasured(measuring->block);
	epsilon = price_constant(measuring_price(spec));
	measuring->rows =
		dp_prepare_release(make_rows_block(measuring->block, epsilon),
						   measuring->standing, list_make1(epsilon), NIL,
						   &all, measuring->snapshot, location);
	spec->charge = largest_charge(measuring, spec, location);
	measuring->rows->also = spec->charge;
	spec->measuring = measuring;
	return spec;
}

/* ---- choosing the total ---- */

/* What the sum of n noises exceeds with probability at most exp(-log_beta). */
static double
noise_of_sum(const dp_measure *measure, int n, double log_beta)
{
	double		scale = dp_aggregates_noise_scale(measure);
	double		least = INFINITY;
	double		x;

	if (measure->mechanism == DP_MECHANISM_GAUSSIAN)
		return scale * sqrt(2 * n * log_beta);
	for (x = 0.01; x < 1; x += 0.01)
		least = Min(least, (log_beta - n * log(1 - x * x)) / x);
	return scale * least;
}

/*
 * The last place that begins a run of 1, 2, 4, 8 or 16 places with more units
 * than noise explains, in any of them with probability 1/100 (T161); -1: none
 * does.
 */
static int
last_place(const dp_measure *measure, const int64 *counts)
{
	int			last = -1;
	int			n;
	int			i;
	int			j;

	for (n = 1; n <= 16; n *= 2)
	{
		double		most = noise_of_sum(measure, n,
										log(100.0 * 5 * DP_UNITS_SIZES));

		for (i = 0; i < DP_UNITS_SIZES; i++)
		{
			double		sum = 0;

			for (j = i; j < Min(i + n, DP_UNITS_SIZES); j++)
				sum += (double) counts[j];
			if (sum > most)
				last = Max(last, i);
		}
	}
	return last;
}

static double
approximately(const dp_rational *x)
{
	return (double) x->num / (double) x->den;
}

/* About the noise of the query's values for a total of 1, in rows. */
static double
noise_of_row(const dp_release_spec *spec, const dp_measure *measure)
{
	double		sum = 0;
	int			n = dp_prepare_count_values(spec);
	int			i;

	for (i = 0; i < n; i++)
		sum += 1 / approximately(i == spec->nmeasures ?
								 &spec->decision.epsilon :
								 &spec->measures[i].epsilon);
	return sum / n * approximately(&measure->epsilon) *
		dp_aggregates_noise_scale(measure);
}

/* The total for which what is left out and the noise are least together. */
static int64
choose_total(const dp_release_spec *spec, const int64 *counts)
{
	const dp_measure *measure = spec->measuring->rows->measures;
	const dp_outlook outlook = {
		.noise = sqrt(2) * noise_of_row(spec, measure),
		.groups = spec->undeclared ? GROUPS_EXPECTED : (double) spec->groups
	};
	int64		total = dp_protect_choose_total(counts, DP_UNITS_SIZES,
												last_place(measure, counts),
								dp_aggregates_noise_scale(measure), &outlook);

	return Min(total, dp_units_size_end(DP_UNITS_SIZES - 2));
}

/*
 * dp_prepare_take_total
 *	  The query with the total that the noisy numbers of units in each place
 *	  choose, at the charge that was fixed before; `stored`: they were.
 */
dp_release_spec *
dp_prepare_take_total(const dp_release_spec *spec, const int64 *counts,
					  bool stored)
{
	dp_measuring *measuring = palloc(sizeof(dp_measuring));
	dp_release_spec *chosen;
	int			location;		/* unused: nothing new is checked */

	*measuring = *spec->measuring;
	measuring->total = choose_total(spec, counts);
	measuring->stored = stored;
	chosen = prepare_total(measuring, measuring->total, &location);
	chosen->charge = spec->charge;
	chosen->settled_keys = spec->settled_keys;
	chosen->measuring = measuring;
	return chosen;
}
