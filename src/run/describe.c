/*
 * describe.c
 *	  One released value described for people.
 *
 * Everything shown is public: it follows from the query's text, the catalog
 * and the asking role's own budget, never from rows.  Floating point is used
 * for display only.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "run.h"

#define ERROR_BETA 0.05

/*
 * A bound in the column's type: from the grid, or as given if there is none.
 */
static char *
bound_text(const dp_measure *measure, const dp_grid *grid, int64 granules,
		   Numeric given)
{
	Numeric		value = measure->on_grid ?
	dp_count_grid_value(grid, granules) : given;
	Oid			type = measure->argument_type;
	int64		moment;
	Oid			output;
	bool		varlena;

	if (!dp_places_is_time(type))
		return numeric_normalize(value);
	moment = DatumGetInt64(DirectFunctionCall1(numeric_int8,
											   NumericGetDatum(value)));
	getTypeOutputInfo(type, &output, &varlena);
	return OidOutputFunctionCall(output, type == DATEOID ?
								 DateADTGetDatum((DateADT) moment) :
								 TimestampGetDatum(moment));
}

/* The value in force of the parameter with this letter. */
static char *
parameter_text(const dp_measure *measure, char letter)
{
	switch (letter)
	{
		case 'l':
			return bound_text(measure, &measure->grid, measure->grid.low,
							  measure->lower);
		case 'u':
			return bound_text(measure, &measure->grid, measure->grid.high,
							  measure->upper);
		case 'L':
			return bound_text(measure, &measure->second.grid,
							  measure->second.grid.low,
							  measure->second.lower);
		case 'U':
			return bound_text(measure, &measure->second.grid,
							  measure->second.grid.high,
							  measure->second.upper);
		case 'f':
			return numeric_normalize(measure->fraction);
		case 'n':
			return numeric_normalize(measure->number);
		case 'c':
			return psprintf(INT64_FORMAT " candidates", measure->choices);
		default:
			elog(ERROR, "unexpected parameter letter %c", letter);
	}
	return NULL;
}

/* "dp_sum(age, 0, 100)": the longest form, declared bounds included. */
static char *
value_name(const dp_measure *measure)
{
	const Aggref *aggregate = measure->aggregate;
	const char *const *form = measure->ops->forms;
	StringInfoData text;
	const char *letter;

	initStringInfo(&text);
	appendStringInfo(&text, "%s(", get_func_name(aggregate->aggfnoid));
	if (aggregate->aggdistinct != NIL)
		appendStringInfoString(&text, "DISTINCT ");
	appendStringInfoString(&text, aggregate->args == NIL ? "*" :
						   measure->base_attnum == 0 ? "..." :
						   get_attname(measure->relid, measure->base_attnum,
									   false));
	if (dp_catalog_row_arguments(measure->ops->kind) == 2)
		appendStringInfo(&text, ", %s", measure->second.base_attnum == 0 ?
						 "..." : get_attname(measure->second.relid,
											 measure->second.base_attnum,
											 false));
	while (form[1] != NULL)
		form++;
	for (letter = *form; *letter != '\0'; letter++)
		if (*letter != 'e')
			appendStringInfo(&text, ", %s",
							 parameter_text(measure, *letter));
	appendStringInfoChar(&text, ')');
	return text.data;
}

/*
 * A number of granules in the units of the column; for pairs, whose sums have
 * several units, in rows.
 */
static char *
in_units(const dp_measure *measure, double granules)
{
	if (dp_catalog_row_arguments(measure->ops->kind) == 2)
		return psprintf("%.6g", granules / (double) measure->score_unit);
	return psprintf("%.6g", granules * pow(dp_measure_granule(measure),
										   measure->power));
}

static void
describe_noise(const dp_measure *measure, dp_description *d)
{
	d->sensitivity = in_units(measure, (double) measure->sensitivity);
	d->scale = in_units(measure, dp_measure_noise_scale(measure));
	d->error = in_units(measure, dp_measure_noise_error(measure, ERROR_BETA));
	if (measure->ops->kind == DP_AGG_TOPK)
		d->error = psprintf("%s rows in each count", d->error);
}

/* Scores of a selection, in rows: Theorem 3.11 with one best candidate. */
static void
describe_selection(const dp_measure *measure, dp_description *d)
{
	const dp_rational *rate = &measure->rate;
	double		unit = (double) Max(measure->score_unit, 1);
	double		scale = (double) rate->den / (double) rate->num / unit;

	d->sensitivity = psprintf("%.6g", (double) measure->sensitivity / unit);
	d->scale = psprintf("%.6g", scale);
	d->error = psprintf("%.6g rows", scale *
						(log((double) Max(measure->choices, 1)) -
						 log(ERROR_BETA)));
}

/*
 * The decision which undeclared keys are released; its numbers are of units.
 */
static dp_description
describe_decision(const dp_release_spec *spec)
{
	const dp_key_decision *decision = &spec->decision;
	dp_description d;

	d.name = pstrdup(dp_run_large_text(spec) != NULL ? "keys" :
					 "undeclared keys");
	d.mechanism = pstrdup(dp_run_decision_name);
	d.epsilon = dp_bridge_fixed_to_cstring(decision->charge.epsilon);
	d.delta = dp_bridge_fixed_to_cstring(decision->charge.delta);
	d.rho = psprintf("%.6g", dp_acct_fixed_approx(decision->charge.rho));
	d.sensitivity = psprintf(UINT64_FORMAT, decision->changes);
	d.scale = psprintf("%.6g", dp_mech_scale_approx(&decision->law.scale));
	d.error = psprintf("released from " UINT64_FORMAT " units",
					   dp_mech_key_units(&decision->law, 1 - ERROR_BETA));
	return d;
}

/*
 * dp_run_describe
 *	  The n-th released value as texts, in the current context; after the
 *	  measurements comes the decision about undeclared keys.
 */
dp_description
dp_run_describe(const dp_release_spec *spec, int n)
{
	const dp_measure *measure = &spec->measures[n];
	dp_description d;

	if (n == spec->nmeasures)
		return describe_decision(spec);
	d.name = value_name(measure);
	d.mechanism = pstrdup(dp_run_mechanism_name(measure));
	d.epsilon = measure->charge.epsilon == DP_FIXED_INFINITE ?
		pstrdup("Infinity") :
		dp_bridge_fixed_to_cstring(measure->charge.epsilon);
	d.delta = dp_bridge_fixed_to_cstring(measure->charge.delta);
	d.rho = psprintf("%.6g", dp_acct_fixed_approx(measure->charge.rho));
	if (measure->mechanism == DP_MECHANISM_LAPLACE ||
		measure->mechanism == DP_MECHANISM_GAUSSIAN)
		describe_noise(measure, &d);
	else
		describe_selection(measure, &d);
	if (measure->ops->error_suffix != NULL)
		d.error = psprintf("%s%s", d.error, measure->ops->error_suffix);
	if (measure->ops->kind == DP_AGG_BOUNDS)
		d.error = psprintf("%s, which counts above " INT64_FORMAT, d.error,
						   dp_measure_ranges_threshold(measure));
	return d;
}
