/*
 * prepare.c
 *	  From a block and its evaluated parameters to a release whose every
 *	  public quantity is known.  Nothing here reads a private row.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "dp_prepare.h"
#include "prepare_internal.h"

#define MAX_CELLS (64 * 1024 * 1024)	/* 1 GB */

/*
 * dp_prepare_parameter_exprs
 *	  In order: what bounds may follow from (block->publics); every parameter
 *	  (bounds, epsilon) of every aggregate; the value of the block's partition
 *	  column.
 */
List *
dp_prepare_parameter_exprs(const dp_block *block)
{
	List	   *parameters = copyObject(block->publics);
	ListCell   *lc;

	foreach(lc, block->values)
	{
		Aggref	   *aggregate = dp_rowsets_aggregate(block,
												 foreach_current_index(lc));
		const dp_measure_ops *ops =
		dp_aggregates_find(((const dp_value *) lfirst(lc))->kind);
		int			n = strlen(dp_aggregates_form(ops, aggregate));
		int			j;

		for (j = 0; j < n; j++)
			parameters = lappend(parameters,
								 copyObject(dp_aggregates_parameter(ops,
																	aggregate,
																	j)));
	}
	if (block->part_attnum != 0)
		parameters = lappend(parameters, copyObject(block->part_value));
	return parameters;
}

/* Prepare the second argument of a pair: a column, or what it follows from. */
static void
prepare_second(const dp_block *block, Node *base, dp_second *second)
{
	Node	   *plain = base == NULL ? NULL : strip_implicit_coercions(base);

	second->relid = block->relid;
	second->base = base;
	if (plain == NULL || !IsA(plain, Var))
		return;
	second->relid = list_nth_oid(block->relids, ((Var *) plain)->varno - 1);
	second->base_attnum = OidIsValid(second->relid) ?
		((Var *) plain)->varattno : 0;
}

/* Whether a level has every row of one relation, as far as its text says. */
static bool
prepare_has_all_rows(const Query *level)
{
	const FromExpr *from = level->jointree;
	const RangeTblEntry *entry;
	const Query *below;

	if (from->quals != NULL || list_length(from->fromlist) != 1 ||
		!IsA(linitial(from->fromlist), RangeTblRef))
		return false;
	entry = rt_fetch(linitial_node(RangeTblRef, from->fromlist)->rtindex,
					 level->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
		return entry->rtekind == RTE_RELATION;
	below = entry->subquery;
	return !below->hasAggs && !below->hasTargetSRFs &&
		below->groupClause == NIL && below->groupingSets == NIL &&
		below->distinctClause == NIL && below->setOperations == NULL &&
		below->havingQual == NULL && below->limitCount == NULL &&
		below->limitOffset == NULL && prepare_has_all_rows(below);
}

/*
 * About how many units an aggregate counts, or 0, by the declared size class
 * and by what a unit may have.  0 also in a set that lacks some keys, where a
 * unit would have a value once in each of its crossings of a group, and not
 * once in the group, as T162 takes it.
 */
static int64
prepare_estimate_units(const dp_release_spec *spec, const Aggref *aggregate)
{
	const dp_block *block = spec->block;

	if (spec->undeclared || aggregate->aggfilter != NULL ||
		block->others != NIL || list_length(block->relids) != 1 ||
		!OidIsValid(block->relid) || !prepare_has_all_rows(block->inner))
		return 0;
	return dp_rights_look_up(block, block->relid)->rows /
		Max(spec->max_total, 1);
}

/*
 * Set how much of a unit counts in a value's groups.  A group of a set that
 * lacks some keys may have several crossings (doc/theory.md T170).
 */
static void
set_contribution(const dp_release_spec *spec, dp_measure *measure)
{
	const dp_block *block = spec->block;
	dp_contribution *c = &measure->contribution;

	if (spec->many && measure->ops->add == NULL)
		elog(ERROR, "rows of units cannot be bounded for dp_%s",
			 measure->ops->name);
	c->many = spec->many;
	c->once = !spec->many || block->single || dp_rowsets_groups_once(block);
	c->kappa = !spec->many ? 1 : spec->undeclared ? spec->max_keys :
		Max(Min(spec->max_keys, spec->groups), 1);
	c->total = spec->many ? spec->max_total : 1;
	c->rows = !spec->many ? 1 : block->others != NIL ? c->total :
		spec->max_rows;
	c->grouped = block->keys != NIL;
	c->replace = spec->replace_one;
	measure->quarters = spec->quarters;
	measure->sets = block->crossing != NIL;
	measure->units = prepare_estimate_units(spec, measure->aggregate);
}

static void
prepare_measure(const dp_release_spec *spec, int n, const List *publics,
				const dp_ledger_standing *standing, dp_measure *measure)
{
	const dp_block *block = spec->block;
	const dp_value *value = list_nth(block->values, n);
	Aggref	   *aggregate = dp_rowsets_aggregate(block, n);

	measure->ops = dp_aggregates_find(value->kind);
	measure->value = value;
	measure->aggregate = aggregate;
	measure->form = dp_aggregates_form(measure->ops, aggregate);
	measure->relids = block->relids;
	measure->relid = value->base_leaf == 0 ? block->relid :
		list_nth_oid(block->relids, value->base_leaf - 1);
	measure->base_attnum = OidIsValid(measure->relid) ? value->base_attnum : 0;
	measure->base = value->base;
	measure->publics = publics;
	measure->conditions = block->conditions;
	prepare_second(block, value->second, &measure->second);
	if (spec->undeclared && measure->ops->kind == DP_AGG_CONDITIONS)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_pg.%s does not support undeclared keys",
						measure->ops->name),
				 errhint("Declare the keys, or count with dp_count and "
						 "FILTER.")));
	measure->gaussian = dp_setting_mechanism == DP_SETTING_GAUSSIAN;
	measure->filter = dp_ledger_charge_filter(standing);
	measure->ncells = 1;
	measure->power = 1;
	if (aggregate->args != NIL)
	{
		TargetEntry *argument = linitial(aggregate->args);

		measure->argument_type = getBaseType(exprType((Node *)
													  argument->expr));
	}
}

/*
 * How many aggregates of the block collect values of rows rather than a
 * number.
 */
static int
count_collections(const dp_block *block)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, block->values)
	{
		dp_aggregate_kind kind = ((const dp_value *) lfirst(lc))->kind;

		if (kind == DP_AGG_QUANTILE || kind == DP_AGG_MEDIAN ||
			kind == DP_AGG_MIN || kind == DP_AGG_MAX ||
			dp_rowsets_aggregate(block,
								 foreach_current_index(lc))->aggdistinct)
			n++;
	}
	return n;
}

/* Check that all groups fit into memory at once. */
static void
check_cells(int64 groups, int64 width)
{
	if (groups > 0 && width > MAX_CELLS / groups)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query has too many groups for what it releases in "
						"each"),
				 errdetail("There are " INT64_FORMAT " public groups with "
						   INT64_FORMAT " numbers each; at most %d numbers "
						   "are kept.", groups, width, MAX_CELLS),
				 errhint("Use fewer group keys, buckets or candidates.")));
}

/* ---- how much of a unit counts ---- */

static void
take_larger(int64 *bound, dp_bound_origin *from, int64 other,
			dp_bound_origin other_from)
{
	if (other > *bound || (other == *bound && other_from > *from))
		*from = other_from;
	*bound = Max(*bound, other);
}

static void
add_bound(int64 *bound, dp_bound_origin *from, int64 other,
		  dp_bound_origin other_from)
{
	*bound = Min(*bound + other, PG_INT32_MAX);
	*from = Max(*from, other_from);
}

/* Let `combine` put each number of b together with that of a. */
static void
combine_bounds(dp_unit_bounds *a, const dp_unit_bounds *b,
			   void (*combine) (int64 *, dp_bound_origin *, int64,
								dp_bound_origin))
{
	combine(&a->rows, &a->rows_from, b->rows, b->rows_from);
	combine(&a->keys, &a->keys_from, b->keys, b->keys_from);
	combine(&a->total, &a->total_from, b->total, b->total_from);
}

/*
 * The larger bounds of the relations in `leaves`, from which some rows are
 * made; `missing` if none has any and a unit may have many.  *declared: those
 * that have some.
 */
static dp_unit_bounds
larger_bounds(const dp_block *block, const Bitmapset *leaves,
			  const dp_outlook *outlook, List **declared)
{
	dp_unit_bounds bounds = {0};
	bool		missing = false;	/* of one whose units may have many rows */
	bool		many = false;	/* one of those has bounds */
	int			n = -1;

	while ((n = bms_next_member(leaves, n)) >= 0)
	{
		Oid			relid = list_nth_oid(block->relids, n - 1);
		const dp_relation *relation;
		dp_unit_bounds own;

		if (!OidIsValid(relid))
			continue;
		relation = dp_rights_look_up(block, relid);
		own = dp_protect_contribution(relation);
		if (OidIsValid(own.missing) && dp_setting_bounds == DP_SETTING_AUTO)
			(void) dp_protect_profile_rows(relid, outlook, &own);
		combine_bounds(&bounds, &own, take_larger);
		if (OidIsValid(own.declared))
			*declared = list_append_unique_oid(*declared, own.declared);
		if (OidIsValid(own.missing) ? missing : many)
			continue;
		if (OidIsValid(own.missing))
		{
			missing = !dp_protect_prove_one_row(relation, NULL);
			bounds.missing = relid;
		}
		else
			many = !dp_protect_prove_one_row(relation, NULL);
	}
	if ((bounds.total == 0 || missing) && dp_rowsets_adds_one(block, leaves))
	{
		missing = false;
		if (bounds.total == 0)
			bounds.rows = bounds.keys = bounds.total = 1;
	}
	if (bounds.total > 0 && (!missing || many))
		bounds.missing = InvalidOid;
	return bounds;
}

/* What is set holds for the query as a whole. */
static void
apply_setting(int setting, int64 *bound, dp_bound_origin *from)
{
	if (setting == 0)
		return;
	*bound = setting;
	*from = DP_BOUND_SET;
}

/* Of one number at dp_pg.epsilon, allowed or not: the query may not use it. */
static dp_outlook
usual_outlook(void)
{
	Numeric		epsilon = dp_base_text_to_numeric(dp_setting_epsilon);
	dp_rational price;

	if (dp_base_numeric_to_rational(epsilon, &price) != DP_NUMBER_OK ||
		price.num == 0)
		price = (dp_rational) {1, 1};
	return (dp_outlook) {
		.noise = dp_aggregates_unit_noise(&price),.groups = 1
	};
}

/*
 * dp_prepare_unit_bounds
 *	  How much of a unit counts, by the current settings and declarations, or
 *	  where nothing is declared by the profile, for what `outlook` says of the
 *	  query (NULL: it is one number at the usual price): the larger numbers of
 *	  the relations that a row is made from, and the sum over arms of UNION
 *	  ALL.  All 0 if a unit has one row, as it has if rows are grouped by unit;
 *	  and with `missing` set if nobody says.
 */
dp_unit_bounds
dp_prepare_unit_bounds(const dp_block *block, const dp_outlook *outlook)
{
	dp_unit_bounds sum = {0};
	dp_outlook	usual;
	List	   *declared = NIL;
	int64		other;
	ListCell   *lc;

	if (!block->many || block->single || dp_rowsets_groups_once(block))
		return sum;
	if (outlook == NULL)
	{
		usual = usual_outlook();
		outlook = &usual;
	}
	foreach(lc, dp_rowsets_row_leaves(block))
	{
		dp_unit_bounds bounds = larger_bounds(block, lfirst(lc), outlook,
											  &declared);

		combine_bounds(&sum, &bounds, add_bound);
		if (OidIsValid(bounds.missing))
			sum.missing = bounds.missing;
	}
	if (list_length(declared) == 1)
		sum.declared = linitial_oid(declared);
	if (dp_setting_bounds == DP_SETTING_MEASURE)
		sum.measured = 1;
	apply_setting(dp_setting_max_rows, &sum.rows, &sum.rows_from);
	apply_setting(dp_setting_max_keys, &sum.keys, &sum.keys_from);
	apply_setting(dp_setting_max_total, &sum.total, &sum.total_from);
	other = sum.total_from == DP_BOUND_SET ? sum.total :
		sum.total_from == DP_BOUND_IMPLIED &&
		sum.rows_from == DP_BOUND_SET ? 1 : 0;
	if (other > 0 && sum.rows_from == DP_BOUND_IMPLIED)
		sum.rows = other;
	if (other > 0 && sum.keys_from == DP_BOUND_IMPLIED)
		sum.keys = other;
	/* arms with one row each have a total that is no product */
	if (sum.total_from == DP_BOUND_IMPLIED &&
		sum.rows_from != DP_BOUND_IMPLIED &&
		(sum.rows_from == DP_BOUND_SET || sum.keys_from == DP_BOUND_SET))
		sum.total = Min(sum.rows * sum.keys, PG_INT32_MAX);
	return sum;
}

/*
 * dp_prepare_raise_unbounded
 *	  22023: nobody says how much of a unit of relation relid counts; spec:
 *	  what asked, or NULL for a reading.  Each way out in the hint works as it
 *	  stands.
 */
void
dp_prepare_raise_unbounded(const dp_block *block, Oid relid,
						   const dp_release_spec *spec)
{
	const dp_relation *relation = dp_rights_look_up(block, relid);
	char	   *name = dp_protect_qualified_name(relid);
	const char *without = "";

	if (spec != NULL && relation->unit_steps == NIL)
		without = psprintf("  Without one you can ask: SELECT %s(DISTINCT %s) "
						   "FROM %s;", dp_setting_transparent ? "count" :
						   "dp_count",
						   quote_identifier(get_attname(relid,
														relation->unit_attnum,
														false)), name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("no bound says how many rows of one unit of relation "
					"\"%s\" count", get_rel_name(relid)),
			 errdetail("A unit (%s) may have many rows.  The noise must hide "
					   "all that count, and rows beyond the bound are left "
					   "out, so that there is no default.  Nothing was "
					   "charged for it.", relation->unit),
			 errhint("To count at most 50 rows of a unit, say, and leave out "
					 "what it has beyond, its owner runs: SELECT "
					 "dp_declare(%s, max_total => 50);  Or the owner has a "
					 "bound measured with noise, for a price: SELECT * FROM "
					 "dp_profile(%s, apply => true);  For your own queries: "
					 "SET dp_pg.max_total = 50;%s%s",
					 quote_literal_cstr(name), quote_literal_cstr(name),
					 spec == NULL ? "" : "  Or let a quarter of their price "
					 "measure one: SET dp_pg.bounds = measure;", without)));
}

/*
 * Whether the release needs a bound: on rows, if some value depends on how
 * many there are, or on groups.
 */
static bool
needs_bound(const dp_release_spec *spec, const dp_unit_bounds *bounds)
{
	return !dp_prepare_is_free(spec) &&
		(dp_joined_counts_rows(spec->block) ||
		 ((spec->undeclared || spec->groups > 1 ||
		   spec->block->crossing != NIL) && bounds->keys == 0));
}

/* Most groups, or crossings, that a unit may have rows in and that count. */
static int64
most_groups(const dp_release_spec *spec)
{
	int64		most = spec->undeclared ? DP_RELEASED_KEYS_MAX : spec->groups;
	ListCell   *lc;

	if (spec->block->crossing != NIL)
		most = 1;
	foreach(lc, spec->block->crossing)
	{
		int			i = lfirst_int(lc);
		int64		size = dp_domains_size(spec->domains[i]);

		if (dp_rowsets_key(spec->block, i)->kind == DP_KEY_UNDECLARED ||
			size >= DP_RELEASED_KEYS_MAX)
			return DP_RELEASED_KEYS_MAX;
		most = Min(most * (size + 1), DP_RELEASED_KEYS_MAX);
	}
	return most;
}

/*
 * Limit the groups of a unit to those that exist; if some keys are not public,
 * their number is unknown.  Predicates that are compared count in one group.
 */
static void
set_unit_bounds(dp_release_spec *spec)
{
	const dp_block *block = spec->block;
	const dp_unit_bounds *bounds = &spec->bounds;
	dp_unit_bounds measured;
	bool		predicates = block->values != NIL &&
		((const dp_value *) linitial(block->values))->kind ==
		DP_AGG_CONDITIONS;

	if (!block->many)
		return;
	if (spec->nmeasures > DP_UNITS_COLUMNS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query has too many private aggregates"),
				 errdetail("Where a unit may have many rows, at most %d are "
						   "possible.", DP_UNITS_COLUMNS),
				 errhint("Ask in several queries.")));
	if (OidIsValid(bounds->missing) && needs_bound(spec, bounds))
	{
		if (bounds->measured == 0)
			dp_prepare_raise_unbounded(block, bounds->missing, spec);
		measured = dp_prepare_use_measured(bounds);
		bounds = &measured;
	}
	spec->quarters = dp_prepare_quarters(block, bounds);
	spec->many = true;
	spec->max_total = Max(bounds->total > 0 ? bounds->total : bounds->keys, 1);
	spec->max_rows = predicates ? spec->max_total :
		Min(Max(bounds->rows, 1), spec->max_total);
	spec->max_keys = Max(Min(bounds->keys, most_groups(spec)), 1);
	/* units are counted in no more groups than they may have rows (T106) */
	if (block->least > 0)
		spec->max_keys = Min(spec->max_keys, spec->max_total);
	spec->max_total = Min(spec->max_total, spec->max_rows * spec->max_keys);
}

/* The column of a protected relation that alone groups; NULL: other keys. */
static char *
key_column(const dp_block *block)
{
	const dp_key *key = list_length(block->keys) == 1 &&
		block->crossing == NIL ? linitial(block->keys) : NULL;

	return key == NULL || key->attnum <= 0 || key->relid != block->relid ?
		NULL : get_attname(key->relid, key->attnum, true);
}

/*
 * What the noise of the release will be, in prices and numbers of groups: the
 * same for all of GROUPING SETS, so that they have the same bounds.
 */
static dp_outlook
look_out(const dp_release_spec *spec)
{
	dp_outlook	o = {.counts_units = spec->undeclared};
	bool		sets = spec->block->crossing != NIL;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];

		o.noise = Max(o.noise, measure->unit_noise);
		o.counts_units |= measure->value->of_units;
	}
	if (spec->nmeasures == 0 || sets)
		o = usual_outlook();
	o.gaussian = dp_setting_mechanism == DP_SETTING_GAUSSIAN;
	if (spec->replace_one)
		o.noise *= o.gaussian ? sqrt(2) : 2;
	o.groups = sets ? most_groups(spec) : Max(spec->held, 1);
	/* rows that comparisons exclude would be in other groups */
	for (i = 0; i < spec->nkeys && !sets; i++)
		if (spec->domains[i]->part > 0)
			o.groups /= spec->domains[i]->part;
	o.key = key_column(spec->block);
	return o;
}

/*
 * Set how many rows the bounds leave out by the relation's profile, which
 * knows nothing of WHERE, nor of the rows that joins make (all: -1).
 */
static void
set_left_out(dp_release_spec *spec)
{
	const dp_block *block = spec->block;
	const dp_unit_bounds bounds = {
		.rows = spec->max_rows,.keys = spec->max_keys,.total = spec->max_total
	};

	if (spec->many && !block->single && dp_joined_counts_rows(block) &&
		dp_protect_profile_left_out(block->relid, key_column(block), &bounds,
									&spec->left_out) &&
		(block->sources != NIL || list_length(block->relids) != 1))
		spec->left_out.all = -1;
}

/* The location of the first bound that the call gives, or of the call. */
static int
bounds_location(const dp_measure *measure)
{
	const char *lower = strchr(measure->form, 'l');
	int			location = lower == NULL ? -1 :
		exprLocation((Node *) dp_aggregates_parameter(measure->ops,
													  measure->aggregate,
													  (int) (lower -
														 measure->form)));

	return location < 0 ? measure->aggregate->location : location;
}

/*
 * Give the number that decides by an owner's min_units the largest price of
 * all values: noise that says nothing must not show what they say of a few
 * (doc/theory.md T106).
 */
static void
raise_deciding_price(dp_release_spec *spec)
{
	dp_measure *decides = spec->block->size == 0 ? NULL :
		&spec->measures[spec->block->size - 1];
	int			i;

	if (spec->block->least == 0 || decides == NULL)
		return;
	for (i = 0; i < spec->nmeasures; i++)
		if (dp_numbers_rational_compare(&spec->measures[i].epsilon,
										&decides->epsilon) > 0)
			decides->epsilon = spec->measures[i].epsilon;
}

/* Set what all values cost, apart from the decision about keys. */
static void
set_charge(dp_release_spec *spec)
{
	dp_charge  *charges = palloc(sizeof(dp_charge) * Max(spec->nmeasures, 1));
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		charges[i] = spec->measures[i].charge;
	dp_prepare_find_disjoint(spec);
	dp_prepare_add_values(spec, charges, &spec->charge);
	pfree(charges);
}

/*
 * dp_prepare_release
 *	  See dp_prepare.h; *location receives the query position of what is
 *	  checked.  bounds: those in force, or NULL: by dp_prepare_unit_bounds.
 *
 * Errors: 22023 for bad parameters, 54000 for too many groups; nothing has
 * been charged then.
 */
dp_release_spec *
dp_prepare_release(dp_block *block, const dp_ledger_standing *standing,
				   List *arguments, List *domains,
				   const dp_unit_bounds *bounds, Snapshot snapshot,
				   int *location)
{
	dp_release_spec *spec = palloc0(sizeof(dp_release_spec));
	int			collections = count_collections(block);
	int64		width = 0;
	int			next = list_length(block->publics);
	List	   *publics = list_copy_head(arguments, next);
	int			share;
	int			first;
	int			column;
	int			i;

	spec->block = block;
	spec->arguments = arguments;
	spec->replace_one = standing->replace_one;
	spec->least = standing->exempt ? 0 : block->least;
	spec->nmeasures = list_length(block->values);
	spec->measures = palloc0(sizeof(dp_measure) * Max(spec->nmeasures, 1));
	spec->nkeys = list_length(block->keys);
	spec->domains = palloc0(sizeof(dp_domain *) *
							Max(list_length(domains), 1));
	for (i = 0; i < list_length(domains); i++)
		spec->domains[i] = list_nth(domains, i);
	dp_prepare_find_large_keys(spec);
	block = spec->block;
	share = dp_prepare_share(spec);
	spec->held = spec->undeclared ? 1 : spec->groups;
	first = column = block->keys == NIL ? 0 : 1;	/* after the place */
	for (i = 0; i < spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i];

		CHECK_FOR_INTERRUPTS();
		prepare_measure(spec, i, publics, standing, measure);
		measure->groups = spec->held;
		measure->collections = collections;
		measure->arguments = list_copy_head(list_copy_tail(arguments, next),
											strlen(measure->form));
		next += list_length(measure->arguments);
		dp_aggregates_set_parameters(measure, share, location);
		measure->unit_noise = dp_aggregates_unit_noise(&measure->epsilon);
	}
	*location = -1;
	if (bounds != NULL)
		spec->bounds = *bounds;
	else
	{
		dp_outlook	outlook = look_out(spec);

		spec->bounds = dp_prepare_unit_bounds(block, &outlook);
	}
	set_unit_bounds(spec);
	for (i = 0; i < spec->nmeasures; i++)
		if (spec->quarters == DP_QUARTERS_MEASURED)
			dp_aggregates_take_quarters(spec->quarters,
										&spec->measures[i].epsilon);
	if (bounds == NULL)
		set_left_out(spec);
	if (spec->undeclared)
		dp_aggregates_set_decision(spec, share);
	raise_deciding_price(spec);
	for (i = 0; i < spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i];
		List	   *exact;

		*location = bounds_location(measure);
		set_contribution(spec, measure);
		if (spec->undeclared && spec->max_keys > 1)
			dp_aggregates_keep_unprepared(measure);
		measure->ops->prepare(measure);
		if (measure->unprepared != NULL)
			dp_aggregates_allow_fewer(measure);
		width += measure->ncells;
		measure->first_column = column;
		measure->first_exact = column - first;
		exact = measure->ops->inner(measure);
		measure->columns = list_length(exact);
		column += measure->columns;
		spec->exact = list_concat(spec->exact, exact);
	}
	*location = -1;
	set_charge(spec);
	if (block->part_attnum != 0)
		dp_prepare_set_part(spec, list_nth_node(Const, arguments, next),
							snapshot);
	check_cells(spec->held, width);
	dp_aggregates_set_states(spec);
	spec->memory = dp_aggregates_memory(spec);
	spec->row = dp_aggregates_row_memory(spec);
	return spec;
}

/* ---- what declared bounds leave out though WHERE asks for it ---- */

/* NOTICE, once in a connection for the column. */
static void
notice_clamped(const dp_measure *measure, const Var *column)
{
	const dp_known known = {measure->relids, measure->publics,
	measure->conditions, measure->value->filters};
	Oid			relid = list_nth_oid(measure->relids, column->varno - 1);
	dp_attribute *declared;
	char	   *name;
	char	   *lower = NULL;
	char	   *upper = NULL;

	if (!OidIsValid(relid) || !dp_domains_lies_outside(column, &known) ||
		!dp_base_first_time(DP_FIRST_OUTSIDE,
							(int64) relid << 16 | column->varattno))
		return;
	declared = dp_protect_attribute(relid, column->varattno);
	if (declared != NULL && declared->lower != NULL)
	{
		lower = declared->lower;
		upper = declared->upper;
	}
	else if (!dp_protect_profile_values(relid, column->varattno, NULL, false,
										&lower, &upper))
		return;
	name = get_attname(relid, column->varattno, false);
	ereport(NOTICE,
			(errmsg("WHERE asks for values of column \"%s\" of relation "
					"\"%s\" beyond %s", name, get_rel_name(relid),
					declared != NULL && declared->lower != NULL ?
					"its declared bounds" : "the bounds of its profile"),
			 errdetail("These are %s and %s.  What is beyond counts as the "
					   "nearer bound, so that %s says nothing of it.",
					   lower, upper,
					   get_func_name(measure->aggregate->aggfnoid)),
			 errhint("Write bounds of your own after the argument, or ask the "
					 "owner to declare wider ones.")));
}

/* Likewise, if a number of few values is hardly more than noise. */
static void
notice_few_values(const dp_release_spec *spec, const dp_measure *measure)
{
	double		error;

	if (measure->ops->kind != DP_AGG_COUNT || measure->most < 0 ||
		dp_aggregates_present_units(measure) > 0)
		return;
	error = dp_aggregates_noise_error(measure, 0.05);
	if (error < (double) measure->most ||
		!dp_base_first_time(DP_FIRST_FEW, spec->block->relid))
		return;
	ereport(NOTICE,
			(errmsg("the number of distinct values says little: from 0 to "
					INT64_FORMAT ", with noise of %.0f", measure->most,
					ceil(error)),
			 errdetail("The noise is at most that in 95%% of answers."),
			 errhint("Ask for the number of rows or units of each value, with "
					 "GROUP BY.  Where the owner has declared about how many "
					 "rows there are, values that enough units have are "
					 "counted without that noise: SELECT dp_declare(%s, "
					 "rows => 100000);",
					 quote_literal_cstr(dp_protect_qualified_name
										(spec->block->relid)))));
}

/* Likewise, if no declared value of a group key fulfils WHERE. */
static void
notice_no_groups(const dp_release_spec *spec)
{
	Oid			relid = spec->block->relid;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		const TargetEntry *key = list_nth(spec->block->inner->targetList, i);

		if (dp_domains_size(spec->domains[i]) > 0 ||
			!dp_base_first_time(DP_FIRST_OUTSIDE, relid))
			continue;
		ereport(NOTICE,
				(errmsg("no public value of group key \"%s\" fulfils WHERE",
						key->resname),
				 errdetail("Rows of other values are left out, so that there "
						   "is no group."),
				 errhint("Ask for what dp_describe(%s) shows, or ask the "
						 "owner to declare more.",
						 quote_literal_cstr(dp_protect_qualified_name
											(relid)))));
	}
}

/*
 * dp_prepare_notice_outside
 *	  NOTICEs where WHERE asks for what declarations leave out.  All follows
 *	  from the query and from declarations.
 */
void
dp_prepare_notice_outside(const dp_release_spec *spec)
{
	int			i;

	if (client_min_messages > NOTICE)
		return;
	if (spec->groups == 0)
		notice_no_groups(spec);
	for (i = 0; i < spec->nmeasures; i++)
	{
		const dp_measure *measure = &spec->measures[i];
		ListCell   *lc;

		notice_few_values(spec, measure);
		if (measure->base == NULL || measure->lower == NULL ||
			strchr(measure->form, 'l') != NULL)
			continue;
		foreach(lc, pull_var_clause(measure->base,
									PVC_RECURSE_AGGREGATES |
									PVC_RECURSE_WINDOWFUNCS |
									PVC_RECURSE_PLACEHOLDERS))
			notice_clamped(measure, lfirst_node(Var, lc));
	}
}

/*
 * dp_prepare_is_free
 *	  Does the release return public values only: public keys without
 *	  aggregates, or no group at all? Then no row is read and nothing charged.
 */
bool
dp_prepare_is_free(const dp_release_spec *spec)
{
	return (spec->nmeasures == 0 && !spec->undeclared) || spec->groups == 0;
}

/*
 * dp_prepare_count_values
 *	  How many values the release charges for: its measurements, and the
 *	  decision which undeclared keys are released.
 */
int
dp_prepare_count_values(const dp_release_spec *spec)
{
	return spec->nmeasures + (spec->undeclared ? 1 : 0);
}

/*
 * The epsilon of one value.  All that is asked for it is checked against the
 * ceiling, also where a quarter of that measures a bound.
 */
static dp_fixed
prepare_check_price(const dp_release_spec *spec, const dp_rational *epsilon,
					const dp_ledger_standing *standing)
{
	const dp_rational whole = {4, spec->quarters > 0 ? spec->quarters : 4};
	dp_rational asked;
	dp_fixed	price;

	dp_base_check_status(dp_numbers_rational_multiply(epsilon, &whole, &asked),
						 "compare epsilon with what the dataset allows");
	dp_base_check_status(dp_accounting_fixed_from_rational(&asked,
														   DP_ROUND_UP,
														   &price),
						 "compare epsilon with what the dataset allows");
	dp_ledger_check_ceiling(standing, spec->block->dataset, price);
	dp_base_check_status(dp_accounting_fixed_from_rational(epsilon,
														   DP_ROUND_UP,
														   &price),
						 "compare epsilon with what the dataset allows");
	return price;
}

/*
 * dp_prepare_check_prices
 *	  Check every price against the ceiling of the dataset and against delta,
 *	  and the sum of the requested epsilons against the floors of server and
 *	  dataset.  Nothing has been charged yet.
 *
 * dp_pg.split rounds each part down, so the sum may fall short by less than
 * one unit for each.
 */
void
dp_prepare_check_prices(const dp_release_spec *spec,
						const dp_ledger_standing *standing)
{
	dp_charge	asked = {0};
	dp_charge  *prices;
	dp_fixed	lost = dp_base_splits() ?
	(dp_fixed) dp_prepare_count_values(spec) : 0;
	int			i;

	if (dp_prepare_is_free(spec))
		return;
	if (spec->undeclared)
	{
		asked.epsilon = prepare_check_price(spec, &spec->decision.epsilon,
											standing);
		dp_ledger_check_delta(standing, spec->block->dataset,
							  spec->decision.delta);
	}
	prices = palloc0(sizeof(dp_charge) * Max(spec->nmeasures, 1));
	for (i = 0; i < spec->nmeasures; i++)
	{
		prices[i].epsilon = prepare_check_price(spec,
												&spec->measures[i].epsilon,
												standing);
		if (spec->measures[i].mechanism == DP_MECHANISM_GAUSSIAN)
			dp_ledger_check_delta(standing, spec->block->dataset,
								  spec->measures[i].delta);
	}
	dp_prepare_add_values(spec, prices, &asked);
	dp_prepare_add_measuring(spec, &asked);
	if (dp_accounting_fixed_add(asked.epsilon,
								lost) < dp_ledger_floor(standing))
		dp_ledger_check_floor(standing, spec->block->dataset, asked.epsilon);
}

/* The mechanism's name, for the ledger and EXPLAIN. */
const char *
dp_prepare_mechanism_name(const dp_measure *measure)
{
	switch (measure->mechanism)
	{
		case DP_MECHANISM_LAPLACE:
			return "discrete Laplace";
		case DP_MECHANISM_GAUSSIAN:
			return "discrete Gaussian";
		case DP_MECHANISM_PERMUTE_AND_FLIP:
			return "permute-and-flip";
		case DP_MECHANISM_EXPONENTIAL:
			return "exponential mechanism";
	}
	return "unknown";
}

const char	dp_prepare_decision_name[] = "truncated Laplace";

/*
 * mechanism_text
 *	  For the ledger: "discrete Laplace: count, sum; permute-and-flip:
 *	  argmax", cut to its column.
 */
static char *
mechanism_text(const dp_release_spec *spec)
{
	StringInfoData text;
	dp_mechanism mechanism;
	int			i;

	initStringInfo(&text);
	if (spec->undeclared)
		appendStringInfo(&text, "%s: keys", dp_prepare_decision_name);
	for (mechanism = 0; mechanism < DP_MECHANISMS; mechanism++)
	{
		bool		first = true;

		for (i = 0; i < spec->nmeasures; i++)
		{
			const dp_measure *measure = &spec->measures[i];

			if (measure->mechanism != mechanism)
				continue;
			if (first)
				appendStringInfo(&text, "%s%s: ", text.len > 0 ? "; " : "",
								 dp_prepare_mechanism_name(measure));
			appendStringInfo(&text, "%s%s", first ? "" : ", ",
							 measure->ops->name);
			first = false;
		}
	}
	if (text.len >= DP_MECHANISM_LENGTH)
		strcpy(text.data + DP_MECHANISM_LENGTH - 4, "...");
	return text.data;
}

/* dp_prepare_request: fill in what the release asks the ledger for. */
void
dp_prepare_request(const dp_release_spec *spec, dp_ledger_request *request)
{
	memset(request, 0, sizeof(*request));
	namestrcpy(&request->dataset, spec->block->dataset);
	strlcpy(request->mechanism, mechanism_text(spec),
			DP_MECHANISM_LENGTH);
	request->charge = spec->charge;
	request->also = spec->also;
	request->releases = dp_prepare_count_values(spec);
	request->fingerprint = spec->block->fingerprint;
	request->replace_one = spec->replace_one;
	request->part = spec->part;
}
