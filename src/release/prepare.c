/*
 * prepare.c
 *	  From a block and its evaluated parameters to a release whose every
 *	  public quantity is known.  Nothing here reads a private row.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "release.h"

/* The aggregates of a block's inner query: its targets after the keys. */
static Aggref *
nth_aggregate(const dp_block *block, int n)
{
	TargetEntry *target = list_nth(block->inner->targetList,
								   list_length(block->keys) + n);

	return castNode(Aggref, target->expr);
}

/*
 * The n-th parameter of an aggregate as the user gave it.  The parser casts
 * integers to double precision, which would round large bigint bounds; seen
 * without that cast they are exact.
 */
static Expr *
nth_parameter(const Aggref *aggregate, int n)
{
	TargetEntry *target = list_nth(aggregate->args, n + 1);

	return (Expr *) strip_implicit_coercions((Node *) target->expr);
}

/*
 * dp_release_parameter_exprs
 *	  Every parameter (bounds, epsilon) of every aggregate, in order.
 */
List *
dp_release_parameter_exprs(const dp_block *block)
{
	List	   *parameters = NIL;
	int			i;

	for (i = 0; i < list_length(block->kinds); i++)
	{
		Aggref	   *aggregate = nth_aggregate(block, i);
		int			j;

		for (j = 0; j < list_length(aggregate->args) - 1; j++)
			parameters = lappend(parameters,
								 copyObject(nth_parameter(aggregate, j)));
	}
	return parameters;
}

/* A parameter as numeric; NULL pointer for SQL NULL. */
static Numeric
parameter_value(Expr *expression, Datum value, bool isnull)
{
	if (isnull)
		return NULL;
	switch (getBaseType(exprType((Node *) expression)))
	{
		case NUMERICOID:
			return DatumGetNumeric(value);
		case INT2OID:
			return int64_to_numeric(DatumGetInt16(value));
		case INT4OID:
			return int64_to_numeric(DatumGetInt32(value));
		case INT8OID:
			return int64_to_numeric(DatumGetInt64(value));
		case FLOAT4OID:
			return dp_bridge_float4_to_numeric(DatumGetFloat4(value));
		case FLOAT8OID:
			return dp_bridge_float8_to_numeric(DatumGetFloat8(value));
		default:
			elog(ERROR, "unexpected parameter type %u",
				 exprType((Node *) expression));
	}
	return NULL;
}

static void
refuse_null_bounds(const dp_measure *measure)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("bounds of dp_%s must not be NULL", measure->ops->name),
			 errhint("Give numbers, or leave both bounds out to use declared "
					 "ones.")));
}

/*
 * Distribute the values of one aggregate's parameters: [lower, upper,]
 * [epsilon].  Answers how many were consumed.
 */
static int
set_parameters(dp_measure *measure, const Datum *values, const bool *nulls)
{
	int			n = Max(list_length(measure->aggregate->args) - 1, 0);
	Numeric		given[3] = {NULL, NULL, NULL};
	bool		priced = n == 1 || n == 3;
	int			i;

	for (i = 0; i < n; i++)
		given[i] = parameter_value(nth_parameter(measure->aggregate, i),
								   values[i], nulls[i]);
	if (n >= 2)
	{
		if (given[0] == NULL || given[1] == NULL)
			refuse_null_bounds(measure);
		measure->lower = given[0];
		measure->upper = given[1];
	}
	measure->price = priced ? given[n - 1] :
		dp_bridge_text_to_numeric(dp_setting_epsilon);
	measure->epsilon = dp_bridge_check_epsilon(measure->price,
											   measure->price == NULL,
											   "epsilon");
	return n;
}

static void
prepare_measure(const dp_block *block, int n, dp_measure *measure)
{
	Aggref	   *aggregate = nth_aggregate(block, n);

	measure->ops = dp_measure_find(list_nth_int(block->kinds, n));
	measure->aggregate = aggregate;
	measure->relid = block->relid;
	measure->base_attnum = list_nth_int(block->base_attnums, n);
	measure->contribution.kappa = 1;
	measure->contribution.rows = 1;
	measure->contribution.replace = false;
	measure->contribution.grouped = block->keys != NIL;
	if (aggregate->args != NIL)
	{
		TargetEntry *argument = linitial(aggregate->args);

		measure->argument_type = getBaseType(exprType((Node *)
													  argument->expr));
	}
}

/*
 * Distinct values of the groups that "other" stands for do not add up.
 */
static void
check_distinct(const dp_release_spec *spec)
{
	bool		other = false;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		other = other || dp_domain_has_other(spec->domains[i]);
	for (i = 0; other && i < spec->nmeasures; i++)
		if (spec->measures[i].aggregate->aggdistinct != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("DISTINCT is not supported beside a group key "
							"that collects undeclared values"),
					 errdetail("Distinct values of the collected groups do "
							   "not add up."),
					 errhint("Leave DISTINCT out, or group by another "
							 "key.")));
}

static void
prepare_keys(dp_release_spec *spec)
{
	ListCell   *lc;

	spec->nkeys = list_length(spec->block->keys);
	spec->domains = palloc0(sizeof(dp_domain *) * Max(spec->nkeys, 1));
	spec->groups = 1;
	foreach(lc, spec->block->keys)
	{
		dp_domain  *domain = dp_domain_make(lfirst(lc));

		spec->domains[foreach_current_index(lc)] = domain;
		if (__builtin_mul_overflow(spec->groups, dp_domain_size(domain),
								   &spec->groups) ||
			spec->groups > dp_setting_max_groups)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("query has too many public groups"),
					 errdetail("Every combination of public keys is answered, "
							   "and setting dp_pg.max_groups is %d.",
							   dp_setting_max_groups),
					 errhint("Group by fewer keys or narrower bounds.")));
	}
}

/*
 * dp_release_prepare
 *	  See release.h.  Errors: 22023 for bad parameters, 54000 for
 *	  too many groups; nothing has been charged then.
 */
dp_release_spec *
dp_release_prepare(dp_block *block, const Datum *values, const bool *nulls)
{
	dp_release_spec *spec = palloc0(sizeof(dp_release_spec));
	int			next = 0;
	int			column;
	int			i;

	spec->block = block;
	spec->nmeasures = list_length(block->kinds);
	spec->measures = palloc0(sizeof(dp_measure) * Max(spec->nmeasures, 1));
	column = list_length(block->keys);
	for (i = 0; i < spec->nmeasures; i++)
	{
		dp_measure *measure = &spec->measures[i];

		prepare_measure(block, i, measure);
		next += set_parameters(measure, values + next, nulls + next);
		measure->ops->prepare(measure);
		measure->first_column = column;
		column += list_length(measure->ops->inner(measure));
		dp_bridge_check_status(dp_acct_charge_add(&spec->charge,
												  &measure->charge),
							   "add up the charge of a query");
	}
	prepare_keys(spec);
	check_distinct(spec);
	return spec;
}

static void
refuse_price(const dp_release_spec *spec, dp_fixed limit, bool floor)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("epsilon is %s what dataset \"%s\" allows",
					floor ? "below" : "above", spec->block->dataset),
			 errdetail("Its owner set the %s of a query's epsilon to %s.",
					   floor ? "floor" : "ceiling",
					   dp_bridge_fixed_to_cstring(limit)),
			 errhint("Ask with a %s epsilon.", floor ? "larger" :
					 "smaller")));
}

/*
 * dp_release_check_prices
 *	  Hold every price against the floor and ceiling that the dataset's owner
 *	  set with dp_limit; nothing has been charged yet.
 */
void
dp_release_check_prices(const dp_release_spec *spec,
						const dp_ledger_standing *standing)
{
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
	{
		dp_fixed	price = spec->measures[i].charge.epsilon;

		if (standing->floored && price < standing->epsilon_floor)
			refuse_price(spec, standing->epsilon_floor, true);
		if (standing->ceiled && price > standing->epsilon_ceiling)
			refuse_price(spec, standing->epsilon_ceiling, false);
	}
}

/*
 * dp_release_mechanism_text
 *	  For the ledger: "discrete Laplace: count, sum", cut to its column.
 */
char *
dp_release_mechanism_text(const dp_release_spec *spec)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	appendStringInfoString(&text, "discrete Laplace:");
	for (i = 0; i < spec->nmeasures; i++)
		appendStringInfo(&text, "%s %s", i > 0 ? "," : "",
						 spec->measures[i].ops->name);
	if (text.len >= DP_MECHANISM_LENGTH)
		strcpy(text.data + DP_MECHANISM_LENGTH - 4, "...");
	return text.data;
}
