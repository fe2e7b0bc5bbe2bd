/*
 * explain.c
 *	  EXPLAIN and dp_last_release: what a release would give and cost, and what
 *	  the last one did.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../joined/dp_joined.h"
#include "../prepare/dp_prepare.h"
#include "dp_explain.h"

/* ----------------
 *		One released value described for people.
 *
 * Everything shown is public: it follows from the query's text, the catalog
 * and the asking role's own budget, never from rows.  Floating point is used
 * for display only.
 * ----------------
 */

#define ERROR_BETA 0.05

/* A released value as texts. */
typedef struct dp_description
{
	char	   *name;			/* "dp_sum(age)" or the aggregate's name */
	char	   *mechanism;
	char	   *epsilon;
	char	   *delta;
	char	   *rho;
	char	   *sensitivity;
	char	   *scale;
	char	   *error;			/* 95% error */
} dp_description;

/*
 * A bound in the column's type: from the grid, or as given if there is none.
 */
static char *
value_bound_text(const dp_measure *measure, const dp_grid *grid,
				 int64 granules, Numeric given)
{
	Numeric		value = measure->on_grid ?
	dp_exact_grid_value(grid, granules) : given;
	Oid			type = measure->argument_type;
	int64		moment;
	Oid			output;
	bool		varlena;

	if (!dp_domains_is_time(type))
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
			return value_bound_text(measure, &measure->grid, measure->grid.low,
									measure->lower);
		case 'u':
			return value_bound_text(measure, &measure->grid,
									measure->grid.high, measure->upper);
		case 'L':
			return value_bound_text(measure, &measure->second.grid,
									measure->second.grid.low,
									measure->second.lower);
		case 'U':
			return value_bound_text(measure, &measure->second.grid,
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

	if (measure->ops->kind == DP_AGG_UNIT_ROWS)
		return pstrdup(measure->ops->name);
	if (aggregate->args == NIL && measure->value->of_units)
		return psprintf("%s(DISTINCT unit)",
						get_func_name(aggregate->aggfnoid));
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
explain_in_units(const dp_measure *measure, double granules)
{
	if (dp_catalog_row_arguments(measure->ops->kind) == 2)
		return psprintf("%.6g", granules / (double) measure->score_unit);
	return psprintf("%.6g", granules * pow(dp_aggregates_granule(measure),
										   measure->power));
}

static void
describe_noise(const dp_measure *measure, dp_description *d)
{
	double		error;

	d->sensitivity = explain_in_units(measure, (double) measure->sensitivity);
	d->scale = explain_in_units(measure, dp_aggregates_noise_scale(measure));
	error = dp_aggregates_noise_error(measure, ERROR_BETA);
	d->error = explain_in_units(measure,
								dp_aggregates_rounded_error(measure, error));
	if (measure->ops->kind == DP_AGG_TOPK)
		d->error = psprintf("%s rows in each count", d->error);
}

/* A number of values that enough units have. */
static void
describe_presence(const dp_measure *measure, dp_description *d)
{
	d->mechanism = psprintf("%s, presence of %d values", d->mechanism,
							measure->ncells);
	d->error = psprintf("0 for values of at least " INT64_FORMAT " units, "
						"others may be left out, from 0 to %d",
						dp_aggregates_present_units(measure),
						measure->ncells);
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

	d.name = pstrdup(dp_prepare_large_text(spec) != NULL ? "keys" :
					 "undeclared keys");
	d.mechanism = pstrdup(dp_prepare_decision_name);
	d.epsilon = dp_base_fixed_to_cstring(decision->charge.epsilon);
	d.delta = dp_base_fixed_to_cstring(decision->charge.delta);
	d.rho = psprintf("%.6g", dp_accounting_fixed_approx(decision->charge.rho));
	d.sensitivity = psprintf(UINT64_FORMAT, decision->changes);
	d.scale = psprintf("%.6g", dp_noise_scale_approx(&decision->law.scale));
	d.error = psprintf("released from " UINT64_FORMAT " units",
					   dp_noise_key_units(&decision->law, 1 - ERROR_BETA));
	return d;
}

/*
 * run_describe
 *	  The n-th released value as texts, in the current context; after the
 *	  measurements comes the decision about undeclared keys.
 */
static dp_description
run_describe(const dp_release_spec *spec, int n)
{
	const dp_measure *measure = &spec->measures[n];
	dp_description d;

	if (n == spec->nmeasures)
		return describe_decision(spec);
	d.name = value_name(measure);
	d.mechanism = pstrdup(dp_prepare_mechanism_name(measure));
	d.epsilon = measure->charge.epsilon == DP_FIXED_INFINITE ?
		pstrdup("Infinity") :
		dp_base_fixed_to_cstring(measure->charge.epsilon);
	d.delta = dp_base_fixed_to_cstring(measure->charge.delta);
	d.rho = psprintf("%.6g", dp_accounting_fixed_approx(measure->charge.rho));
	if (measure->mechanism == DP_MECHANISM_LAPLACE ||
		measure->mechanism == DP_MECHANISM_GAUSSIAN)
		describe_noise(measure, &d);
	else
		describe_selection(measure, &d);
	if (measure->ops->error_suffix != NULL)
		d.error = psprintf("%s%s", d.error, measure->ops->error_suffix);
	if (dp_aggregates_present_units(measure) > 0)
		describe_presence(measure, &d);
	else if (measure->ops->kind == DP_AGG_COUNT && measure->most >= 0)
		d.error = psprintf("%s, from 0 to " INT64_FORMAT, d.error,
						   measure->most);
	if (measure->ops->kind == DP_AGG_BOUNDS)
		d.error = psprintf("%s, which counts above " INT64_FORMAT, d.error,
						   dp_aggregates_ranges_threshold(measure));
	return d;
}

/* ----------------
 *		dp_last_release(): what the last statement of the connection released.
 *
 * Every release of one statement that the client sent is remembered, at most
 * REMEMBERED of them, each in a context of its own under TopMemoryContext.
 * The record holds public quantities only.
 * ----------------
 */

#define COLUMNS 16
#define REMEMBERED 100

struct dp_past_release
{
	MemoryContext context;		/* holds this struct and all below */
	int			users;			/* entries below, and what is kept (kept.c) */
	Oid			user;			/* that asked; no other sees it */
	char	   *dataset;
	int			nrelations;
	Oid		   *relations;		/* that were read */
	int			n;
	dp_description *values;
	int64		bounds[3];		/* max_total, max_keys, max_rows; 0: a unit
								 * has one row */
	double		left_out;		/* rows; negative: not known */
};

/* Releases of the statement that began at last_statement, oldest first. */
static struct
{
	dp_past_release *past;
	int64		ledger_id;
	TimestampTz at;
}			remembered[REMEMBERED];
static int	nremembered = 0;
static TimestampTz last_statement = 0;

/* Also a MemoryContextCallbackFunction: one user less. */
static void
drop_past(void *arg)
{
	dp_past_release *past = arg;

	if (--past->users == 0)
		MemoryContextDelete(past->context);
}

static void
forget_oldest(int n)
{
	int			i;

	for (i = 0; i < n; i++)
		drop_past(remembered[i].past);
	nremembered -= n;
	memmove(remembered, remembered + n, sizeof(remembered[0]) * nremembered);
}

/*
 * dp_explain_remember_past
 *	  Add what was released before as a release of now, with the ID of its
 *	  charge; releases of earlier statements are forgotten.
 */
void
dp_explain_remember_past(dp_past_release *past, int64 ledger_id)
{
	past->users++;
	if (last_statement != GetCurrentStatementStartTimestamp())
		forget_oldest(nremembered);
	else if (nremembered == REMEMBERED)
		forget_oldest(1);
	last_statement = GetCurrentStatementStartTimestamp();
	remembered[nremembered].past = past;
	remembered[nremembered].ledger_id = ledger_id;
	remembered[nremembered++].at = GetCurrentTimestamp();
}

/* A copy of the texts in the current context. */
static dp_description
copy_description(const dp_description *d)
{
	return (dp_description) {
		.name = pstrdup(d->name),
		.mechanism = pstrdup(d->mechanism),
		.epsilon = pstrdup(d->epsilon),
		.delta = pstrdup(d->delta),
		.rho = pstrdup(d->rho),
		.sensitivity = pstrdup(d->sensitivity),
		.scale = pstrdup(d->scale),
		.error = pstrdup(d->error)
	};
}

/* dp_explain_remember: add a release to those of the current statement. */
void
dp_explain_remember(const dp_release_spec *spec,
					const dp_ledger_receipt *receipt)
{
	/* after an error deleted with its parent */
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "dp_pg past release",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	dp_past_release *past = palloc0(sizeof(dp_past_release));
	ListCell   *lc;
	int			i;

	past->context = context;
	past->user = GetUserId();
	past->dataset = pstrdup(spec->block->dataset);
	past->relations = palloc(sizeof(Oid) *
							 Max(list_length(spec->block->relids), 1));
	foreach(lc, list_union_oid(NIL, spec->block->relids))
		if (OidIsValid(lfirst_oid(lc)))
			past->relations[past->nrelations++] = lfirst_oid(lc);
	if (spec->many && !spec->block->single &&
		!dp_prepare_measures_rows(spec->block))
	{
		past->bounds[0] = spec->max_total;
		past->bounds[1] = spec->max_keys;
		past->bounds[2] = spec->max_rows;
	}
	past->left_out = spec->all_rows > 0 ? spec->left_out : -1;
	past->n = dp_prepare_count_values(spec);
	past->values = palloc(sizeof(dp_description) * Max(past->n, 1));
	MemoryContextSwitchTo(old);
	for (i = 0; i < past->n; i++)
	{
		dp_description d = run_describe(spec, i);

		MemoryContextSwitchTo(context);
		past->values[i] = copy_description(&d);
		MemoryContextSwitchTo(old);
	}
	MemoryContextSetParent(context, TopMemoryContext);
	dp_explain_remember_past(past, receipt->ledger_id);
}

/*
 * dp_explain_hold_past
 *	  The release remembered last, which stays until the context is reset, and
 *	  the ID of its charge.
 */
dp_past_release *
dp_explain_hold_past(MemoryContext context, int64 *ledger_id)
{
	MemoryContextCallback *callback =
	MemoryContextAlloc(context, sizeof(MemoryContextCallback));
	dp_past_release *last = remembered[nremembered - 1].past;

	*ledger_id = remembered[nremembered - 1].ledger_id;
	callback->func = drop_past;
	callback->arg = last;
	MemoryContextRegisterResetCallback(context, callback);
	last->users++;
	return last;
}

static Datum
numeric_text(const char *text)
{
	return NumericGetDatum(dp_base_text_to_numeric(text));
}

/* regclass[]: these relations, each with the view published of it. */
static Datum
show_relations(const dp_past_release *past)
{
	Datum	   *shown = palloc(sizeof(Datum) * (2 * past->nrelations + 1));
	int			n = 0;
	int			i;

	for (i = 0; i < past->nrelations; i++)
	{
		Oid			view = dp_protect_published_view(past->relations[i]);

		shown[n++] = ObjectIdGetDatum(past->relations[i]);
		if (OidIsValid(view))
			shown[n++] = ObjectIdGetDatum(view);
	}
	return PointerGetDatum(construct_array(shown, n, REGCLASSOID, sizeof(Oid),
										   true, TYPALIGN_INT));
}

static void
put_release(ReturnSetInfo *result, int entry)
{
	const dp_past_release *past = remembered[entry].past;
	Datum		relations = show_relations(past);
	int			i;
	int			j;

	for (i = 0; i < past->n; i++)
	{
		Datum		values[COLUMNS];
		bool		nulls[COLUMNS] = {false};
		const dp_description *d = &past->values[i];

		values[0] = Int64GetDatum(remembered[entry].ledger_id);
		values[1] = TimestampTzGetDatum(remembered[entry].at);
		values[2] = CStringGetTextDatum(past->dataset);
		values[3] = CStringGetTextDatum(d->name);
		values[4] = CStringGetTextDatum(d->mechanism);
		values[5] = numeric_text(d->epsilon);
		values[6] = numeric_text(d->delta);
		values[7] = numeric_text(d->rho);
		values[8] = CStringGetTextDatum(d->sensitivity);
		values[9] = CStringGetTextDatum(d->scale);
		values[10] = CStringGetTextDatum(d->error);
		values[11] = relations;
		for (j = 0; j < lengthof(past->bounds); j++)
		{
			values[12 + j] = Int64GetDatum(past->bounds[j]);
			nulls[12 + j] = past->bounds[j] == 0;
		}
		values[15] = Float8GetDatum(rint(past->left_out));
		nulls[15] = past->left_out < 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
}

PG_FUNCTION_INFO_V1(dp_last_release);

/*
 * dp_last_release
 *	  SQL: setof (ledger_id, at, dataset, value, mechanism, epsilon, delta,
 *	  rho, sensitivity, scale, error_95, relations, max_total, max_keys,
 *	  max_rows, left_out), in the order of the charges; no rows before the
 *	  first release.
 */
Datum
dp_last_release(PG_FUNCTION_ARGS)
{
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < nremembered; i++)
		if (remembered[i].past->user == GetUserId())
			put_release((ReturnSetInfo *) fcinfo->resultinfo, i);
	return (Datum) 0;
}

/* ----------------
 *		EXPLAIN: what a release would return and cost, before anything is
 *		spent.
 *
 * Everything shown is public: it follows from the query's text, the catalog
 * and the asking role's own budget, never from rows.  Floating point is used
 * for display only.
 * ----------------
 */

/*
 * An exact epsilon in short form; a share of a divided one keeps all digits.
 */
static char *
epsilon_text(const char *exact)
{
	dp_fixed	epsilon;

	if (dp_base_numeric_to_fixed(dp_base_text_to_numeric(exact),
								 DP_ROUND_UP, &epsilon) != DP_NUMBER_OK)
		return pstrdup(exact);
	return dp_base_epsilon_text(epsilon, DP_ROUND_UP);
}

static Numeric
declared_number(const char *text)
{
	return DatumGetNumeric(dp_domains_read_declared(text, NUMERICOID, -1));
}

/* Where the bounds of values come from; NULL: there are none. */
static const char *
value_bounds_origin(const dp_measure *measure)
{
	const dp_attribute *declared;
	Oid			type = measure->argument_type;

	if (measure->lower == NULL)
		return NULL;
	if (strchr(measure->form, 'l') != NULL)
		return "written";
	if (measure->inferred || measure->base_attnum == 0)
		return "inferred";
	if (measure->profiled)
		return "profile";
	declared = dp_protect_attribute(measure->relid, measure->base_attnum);
	if (declared == NULL || declared->lower == NULL ||
		dp_domains_is_time(type))
		return "declared";
	return dp_numeric_compare(measure->lower,
							  declared_number(declared->lower)) > 0 ||
		dp_numeric_compare(measure->upper,
						   declared_number(declared->upper)) < 0 ?
		"declared, narrowed by conditions" : "declared";
}

static void
explain_value(const dp_description *d, const char *bounds, ExplainState *es)
{
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText("Released",
							psprintf("%s: %s, epsilon %s, delta %s, rho %s, "
									 "sensitivity %s, scale %s, 95%% error "
									 "%s%s%s", d->name, d->mechanism,
									 epsilon_text(d->epsilon), d->delta,
									 d->rho, d->sensitivity, d->scale,
									 d->error, bounds == NULL ? "" :
									 ", bounds ", bounds == NULL ? "" :
									 bounds), es);
		return;
	}
	ExplainOpenGroup("Released Value", NULL, true, es);
	ExplainPropertyText("Value", d->name, es);
	ExplainPropertyText("Mechanism", d->mechanism, es);
	ExplainPropertyText("Epsilon", d->epsilon, es);
	ExplainPropertyText("Delta", d->delta, es);
	ExplainPropertyText("Rho", d->rho, es);
	ExplainPropertyText("Sensitivity", d->sensitivity, es);
	ExplainPropertyText("Scale", d->scale, es);
	ExplainPropertyText("Error 95%", d->error, es);
	if (bounds != NULL)
		ExplainPropertyText("Bounds", bounds, es);
	ExplainCloseGroup("Released Value", NULL, true, es);
}

static char *
charge_text(const dp_charge *charge)
{
	return psprintf("epsilon %s, delta %s, rho %.6g",
					dp_base_epsilon_text(charge->epsilon, DP_ROUND_UP),
					dp_base_delta_text(charge->delta, DP_ROUND_UP),
					dp_accounting_fixed_approx(charge->rho));
}

static char *
remaining_text(dp_fixed limit, dp_fixed spent, dp_fixed charge)
{
	dp_fixed	after = dp_accounting_fixed_add(spent, charge);

	return dp_base_delta_text(dp_accounting_fixed_left(limit, after),
							  DP_ROUND_DOWN);
}

/*
 * What remains of the limit after the charge: the largest epsilon of one more
 * query, or rho if the query has no pure epsilon.
 */
static char *
remainder_text(const dp_limit *limit, const dp_spent *spent,
			   const dp_charge *charge, bool pure)
{
	dp_fixed	rho = dp_accounting_fixed_add(spent->rho, charge->rho);
	dp_spent	after = *spent;

	if (!pure && limit->rho > 0)
		return psprintf("rho %s",
					dp_base_epsilon_text(dp_accounting_fixed_left(limit->rho,
																  rho),
										 DP_ROUND_DOWN));
	if (dp_accounting_spent_add(&after, charge) != DP_OK)
		return pstrdup("epsilon 0");
	return psprintf("epsilon %s",
					dp_base_epsilon_text(dp_ledger_remaining(limit, &after),
										 DP_ROUND_DOWN));
}

/* How often a query of this price would still be admitted after a charge. */
static int64
calls_after(const dp_limit *limit, const dp_spent *spent,
			const dp_charge *charge, const dp_charge *price)
{
	dp_spent	after = *spent;

	if (dp_accounting_spent_add(&after, charge) != DP_OK)
		return 0;
	return dp_accounting_limit_calls(limit, &after, price);
}

/* What remains where it does not suffice for the charge. */
static char *
lacking_text(const dp_limit *limit, const dp_spent *spent,
			 const dp_charge *charge, bool pure)
{
	const dp_charge none = {0};
	dp_charge	without = *charge;
	char	   *delta = remaining_text(limit->delta_sum, spent->delta, 0);
	char	   *other = remainder_text(limit, spent, &none, pure);

	if (dp_accounting_fixed_add(spent->delta,
								charge->delta) <= limit->delta_sum)
		return psprintf("%s remains", other);
	without.delta = 0;
	if (dp_accounting_limit_calls(limit, spent, &without) > 0)
		return psprintf("delta %s remains", delta);
	return psprintf("%s and delta %s remain", other, delta);
}

static char *
batch_text(const dp_ledger_preview *preview, int queries)
{
	if (preview->batch_used > preview->batch_queries - queries)
		return psprintf("batch " INT64_FORMAT " is used up, the query would "
						"be refused", preview->batch);
	return psprintf("batch " INT64_FORMAT " has paid for it; %d of %d "
					"queries remain", preview->batch,
					preview->batch_queries - preview->batch_used,
					preview->batch_queries);
}

/* What a release costs together with the one that measures its bound. */
static dp_charge
whole_charge(const dp_release_spec *spec)
{
	dp_charge	whole = spec->charge;

	dp_prepare_add_measuring(spec, &whole);
	return whole;
}

/* What remains of the budget: after this charge, or if `charged`, now. */
static char *
budget_text(const dp_release_spec *spec, dp_ledger_standing *standing,
			bool charged)
{
	const dp_charge none = {0};
	dp_charge	whole = whole_charge(spec);
	bool		pure = whole.epsilon != DP_FIXED_INFINITE;
	dp_ledger_request request;
	dp_ledger_preview preview;
	dp_limit   *limit = &standing->limit;
	dp_spent   *spent = &standing->spent;
	StringInfoData text;
	const dp_charge *charge = &preview.charged;
	int64		calls;

	dp_prepare_request(spec, &request);
	request.charge = whole;
	dp_ledger_read_preview(&request, &preview);
	if (!standing->found)
		return pstrdup("none");
	if (!charged && preview.batch != 0)
		return batch_text(&preview, spec->measuring != NULL ? 2 : 1);
	if (standing->exempt)
		return pstrdup("exempt from limits, recorded");
	initStringInfo(&text);
	calls = dp_accounting_limit_calls(limit, spent, charge);
	if (standing->capped &&
		dp_accounting_limit_calls(&standing->cap, &standing->cap_spent,
								  charge) <
		calls)
	{
		appendStringInfo(&text, "cap of the dataset: ");
		limit = &standing->cap;
		spent = &standing->cap_spent;
		standing->renews = false;
		calls = dp_accounting_limit_calls(limit, spent, charge);
	}
	else
		appendStringInfo(&text, "of %s: ", NameStr(standing->payer));
	if (!charged && calls == 0)
		appendStringInfo(&text, "not enough (%s)",
						 lacking_text(limit, spent, charge, pure));
	else
		appendStringInfo(&text, "%s %s, delta %s and %s" INT64_FORMAT
						 " queries like this remain",
						 charged ? "now" : "after it",
						 remainder_text(limit, spent,
										charged ? &none : charge, pure),
						 remaining_text(limit->delta_sum, spent->delta,
										charged ? 0 : charge->delta),
						 spec->part.partition != 0 ? "at least " : "",
						 calls_after(limit, spent, charged ? &none : charge,
									 &whole));
	if (standing->renews)
		appendStringInfo(&text, ", renews %s",
						 timestamptz_to_str(standing->renewal));
	return text.data;
}

/*
 * The plan of a query that runs before the release and is charged separately;
 * releases in it are described there.  It is not executed, except with
 * ANALYZE: PostgreSQL reads counters of some nodes (index-only scans, for one)
 * without checking that there are any.  Returns the estimated number of its
 * rows.
 */
static double
explain_before(const dp_block *block, Query *subquery, const char *label,
			   const char *text, EState *estate, ExplainState *es)
{
	ExplainState outer = *es;
	PlannedStmt *plan;
	QueryDesc  *desc;
	double		rows;

	plan = dp_joined_plan_subquery(block, subquery,
									estate->es_param_list_info);
	desc = CreateQueryDesc(plan, DP_PRIVATE_QUERY_TEXT, GetActiveSnapshot(),
						   InvalidSnapshot, None_Receiver,
						   estate->es_param_list_info, estate->es_queryEnv,
						   es->analyze ? INSTRUMENT_ROWS : 0);
	ExecutorStart(desc, EXEC_FLAG_EXPLAIN_ONLY |
				  (estate->es_top_eflags & DP_COMPAT_NO_VALUES));
	ExplainOpenGroup(label, label, true, es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyText(label, text, es);
		es->indent++;
	}
	ExplainPrintPlan(es, desc);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		es->indent--;
	ExplainCloseGroup(label, label, true, es);
	es->pstmt = outer.pstmt;
	es->rtable = outer.rtable;
	es->rtable_names = outer.rtable_names;
	es->deparse_cxt = outer.deparse_cxt;
	es->printed_subplans = outer.printed_subplans;
	rows = plan->planTree->plan_rows;
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	return rows;
}

/*
 * The planner's estimate of how many rows of a public source a private row is
 * joined with: all rows, divided by the number of distinct values of the
 * columns that are equated (joined_rows.c counts them when the query runs).
 */
static double
estimate_fanout(const dp_block *block, const dp_joined *source, double rows,
				EState *estate)
{
	Query	   *distinct;
	PlannedStmt *plan;

	if (source->asked)
		return 1;
	if (source->keys == NIL)
		return clamp_row_est(rows);
	distinct = dp_rowsets_distinct_columns(source->query, source->keys);
	plan = dp_joined_plan_subquery(block, distinct,
								   estate->es_param_list_info);
	return Max(1, rows / clamp_row_est(plan->planTree->plan_rows));
}

/* The queries that run before the release, each with its plan. */
static void
explain_all_before(const dp_block *block, EState *estate, ExplainState *es)
{
	double		fanout = 1;
	ListCell   *lc;

	foreach(lc, block->subqueries)
		explain_before(block, lfirst(lc), "Subquery Before",
					   dp_catalog_has_aggregate(lfirst(lc)) ?
					   "charged by itself" : "of public rows", estate, es);
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		bool		charged;
		double		rows;

		if (OidIsValid(source->relid) || source->twin != 0)
			continue;
		charged = dp_catalog_has_aggregate((Node *) source->query);
		rows = explain_before(block, source->query, "Joined",
							  charged ? "read before, charged by itself" :
							  "read before", estate, es);
		if (es->costs)
			fanout *= estimate_fanout(block, source, rows, estate);
	}
	if (es->costs && rint(fanout) > 1)
		ExplainPropertyText("Joined Rows",
							psprintf("about %.0f of each private row",
									 fanout), es);
}

/* ", max_keys": the names of the bounds from there; "" if none is. */
static char *
bounds_from(const dp_unit_bounds *b, dp_bound_origin from)
{
	return psprintf("%s%s%s", b->total_from == from ? ", max_total" : "",
					b->keys_from == from ? ", max_keys" : "",
					b->rows_from == from ? ", max_rows" : "");
}

/* " (max_total declared for orders; max_keys set)", or "". */
static char *
bounds_origin_text(const dp_unit_bounds *b)
{
	static const struct
	{
		dp_bound_origin from;
		const char *text;
		const char *of;			/* before the relation's name */
	}			origins[] = {
		{DP_BOUND_PROFILE, "from the profile", "of"},
		{DP_BOUND_DECLARED, "declared", "for"},
		{DP_BOUND_SET, "set"},
		{DP_BOUND_MEASURED, "measured"}
	};
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < lengthof(origins); i++)
	{
		const char *bounds = bounds_from(b, origins[i].from);

		if (bounds[0] == '\0')
			continue;
		appendStringInfo(&text, "%s%s %s", text.len > 0 ? "; " : "",
						 bounds + strlen(", "), origins[i].text);
		if (origins[i].of != NULL && OidIsValid(b->declared))
			appendStringInfo(&text, " %s %s", origins[i].of,
							 get_rel_name(b->declared));
	}
	return text.len > 0 ? psprintf(" (%s)", text.data) : "";
}

/* The bound on the contribution of a unit with many rows. */
static char *
unit_bound_text(const dp_release_spec *spec)
{
	dp_unit_bounds b = {0};
	bool		grouped = spec->nkeys > 0 || spec->block->crossing != NIL;
	char	   *text;

	if (!spec->block->single)
		b = spec->measuring == NULL ? spec->bounds :
			dp_prepare_use_measured(&spec->measuring->bounds);
	if (spec->measuring != NULL && spec->measuring->total == 0)
		return "max_total is measured when the query runs; errors are for "
			"one row of a unit, and as many times as large as rows count";
	if (!grouped)
		b.keys_from = DP_BOUND_IMPLIED;
	if (!grouped && b.rows_from != DP_BOUND_IMPLIED &&
		b.rows <= b.total)
		b.total_from = DP_BOUND_IMPLIED;
	else if (!grouped)
		b.rows_from = DP_BOUND_IMPLIED;
	b.rows = spec->max_rows;
	b.keys = spec->max_keys;
	b.total = spec->max_total;
	if (dp_joined_counts_rows(spec->block))
		text = dp_protect_bounds_text(&b, grouped);
	else if (spec->nkeys == 0)
		return "a unit counts once";
	else
		text = psprintf("a unit counts once in each of at most " INT64_FORMAT
						" group%s", b.keys, b.keys == 1 ? "" : "s");
	return psprintf("%s%s%s%s", text, spec->undeclared && spec->max_keys > 1 ?
					", and no more than are released" : "",
					spec->block->others != NIL ?
					", by the keys of all sets" : "",
					bounds_origin_text(&b));
}

/* Rounded to three digits, since it is an estimate. */
static double
about(double x)
{
	double		unit = pow(10, Max(0, floor(log10(Max(x, 1))) - 2));

	return rint(x / unit) * unit;
}

/* "about 900 of 4000 rows or more (23%)", of those that the profile knows. */
static char *
left_out_text(const dp_release_spec *spec)
{
	return psprintf("about %.0f of %.0f rows or more (%.0f%%)",
					about(spec->left_out), about(spec->all_rows),
					100 * spec->left_out / spec->all_rows);
}

/* The release that measures the bound, and its price. */
static char *
measured_text(const dp_release_spec *rows, bool stored)
{
	dp_description d = run_describe(rows, 0);

	return psprintf("units are counted by their rows before, %s noise, %s",
					d.mechanism, stored ? "stored, no charge" :
					charge_text(&rows->charge));
}

/* The protected relations that are read, each once. */
static char *
relations_text(const dp_block *block)
{
	List	   *named = NIL;
	StringInfoData text;
	ListCell   *lc;

	initStringInfo(&text);
	foreach(lc, block->relids)
	{
		Oid			relid = lfirst_oid(lc);

		if (!OidIsValid(relid) || list_member_oid(named, relid))
			continue;
		appendStringInfo(&text, "%s%s", named == NIL ? "" : ", ",
						 get_rel_name(relid));
		named = lappend_oid(named, relid);
	}
	return text.data;
}

/* From how many units on an undeclared key is likely to be released. */
static char *
decision_text(const dp_key_law *law)
{
	return psprintf("released with probability 5%% from " UINT64_FORMAT
					" units, 50%% from " UINT64_FORMAT ", 95%% from "
					UINT64_FORMAT ", certainly from " UINT64_FORMAT,
					dp_noise_key_units(law, 0.05),
					dp_noise_key_units(law, 0.5),
					dp_noise_key_units(law, 0.95), dp_noise_key_certain(law));
}

/* Whether an owner's min_units decides what is shown. */
static bool
has_least(const dp_release_spec *spec)
{
	return spec->least > 0 && (spec->block->size > 0 || spec->undeclared);
}

/* What an owner's min_units leaves out, and by which number. */
static char *
least_text(const dp_release_spec *spec)
{
	int			n = spec->block->size;
	const char *name = n == 0 ? "that decides about keys" :
	psprintf(spec->undeclared ? "%s or the one that decides about keys" : "%s",
			 value_name(&spec->measures[n - 1]));

	return spec->nkeys > 0 ?
		psprintf("groups with fewer than " INT64_FORMAT " units, by the noisy "
				 "number %s, are left out; how many is not said",
				 spec->least, name) :
		psprintf("with fewer than " INT64_FORMAT " units, by the noisy number "
				 "%s, all values are NULL", spec->least, name);
}

/*
 * Raise a NOTICE, once in a connection for each relation, if by its profile
 * the bounds leave out more than 5% of its rows.
 */
static void
notice_left_out(const dp_release_spec *spec)
{
	if (spec->left_out <= .05 * spec->all_rows ||
		dp_prepare_is_free(spec) || client_min_messages > NOTICE ||
		!dp_base_first_time(DP_FIRST_LEFT_OUT, spec->block->relid))
		return;
	ereport(NOTICE,
			(errmsg("%s of relation \"%s\" are left out", left_out_text(spec),
					get_rel_name(spec->block->relid)),
			 errdetail("By its profile, before WHERE: %s.  The error that is "
					   "said of values is that of the noise, and does not "
					   "cover it.", unit_bound_text(spec)),
			 errhint("To count more rows of a unit, with more noise: SET "
					 "dp_pg.max_total = " INT64_FORMAT ";  "
					 "Numbers of units leave out none.",
					 Min(2 * spec->max_total, PG_INT32_MAX))));
}

/* The same if an owner's min_units decides what is shown. */
static void
notice_least(const dp_release_spec *spec)
{
	const dp_block *block = spec->block;

	if (!has_least(spec) || dp_prepare_is_free(spec) ||
		client_min_messages > NOTICE ||
		!dp_base_first_time(DP_FIRST_LEAST, block->relid))
		return;
	ereport(NOTICE,
			(errmsg("groups with fewer than " INT64_FORMAT " units are not "
					"shown in answers about %s", spec->least,
					relations_text(block)),
			 errdetail("A noisy number of units decides, so groups of about "
					   "that size may be shown or not; how many are left out "
					   "is not said.  Without group keys, values are NULL.")));
}

/*
 * dp_explain_notices
 *	  Raise NOTICEs, once in a connection for each relation, if rows are left
 *	  out, or if an owner's min_units decides what is shown.
 */
void
dp_explain_notices(const dp_release_spec *spec)
{
	notice_left_out(spec);
	notice_least(spec);
}

/* The age of the stored answer that is returned. */
static char *
answer_text(TimestampTz stored_at)
{
	int64		age = (GetCurrentTimestamp() - stored_at) / USECS_PER_SEC;
	const char *unit = "second";

	if (age >= 2 * SECS_PER_HOUR)
	{
		age /= SECS_PER_HOUR;
		unit = "hour";
	}
	else if (age >= 2 * SECS_PER_MINUTE)
	{
		age /= SECS_PER_MINUTE;
		unit = "minute";
	}
	return psprintf("stored " INT64_FORMAT " %s%s ago, no charge", age, unit,
					age == 1 ? "" : "s");
}

/*
 * dp_explain_release
 *	  Add a release to EXPLAIN's output; stored_at 0: no stored answer is
 *	  known.  Charges nothing and reads no row.
 */
void
dp_explain_release(const dp_release_spec *spec, bool charged,
				   TimestampTz stored_at, EState *estate, ExplainState *es)
{
	char	   *large = dp_prepare_large_text(spec);
	dp_charge	whole = whole_charge(spec);
	dp_ledger_standing standing;
	int			i;

	ExplainPropertyText("Dataset", spec->block->dataset, es);
	ExplainPropertyText("Private Relation", relations_text(spec->block), es);
	ExplainOpenGroup("Released Values", "Released Values", false, es);
	for (i = 0; i < dp_prepare_count_values(spec); i++)
	{
		dp_description d = run_describe(spec, i);

		explain_value(&d, i < spec->nmeasures ?
					  value_bounds_origin(&spec->measures[i]) : NULL, es);
	}
	ExplainCloseGroup("Released Values", "Released Values", false, es);
	ExplainPropertyText("Public Groups", spec->undeclared ?
						psprintf(INT64_FORMAT " for each %s that is released",
								 spec->groups, large != NULL ? "key" :
								 "undeclared key") :
						psprintf(INT64_FORMAT, spec->groups), es);
	if (large != NULL)
		ExplainPropertyText("Large Keys", large, es);
	if (spec->undeclared)
		ExplainPropertyText(large != NULL ? "Keys" : "Undeclared Keys",
							decision_text(&spec->decision.law), es);
	if (spec->block->omits_empty && spec->block->size > 0)
		ExplainPropertyText("Groups Left Out",
							psprintf("where the noisy number of %s cannot be "
									 "told from none",
									 spec->block->least > 0 ? "units" :
									 "rows"), es);
	if (has_least(spec))
		ExplainPropertyText("Least Group", least_text(spec), es);
	if (spec->block->key_conditions != NIL)
		ExplainPropertyText("Combinations Left Out",
							"those that WHERE excludes", es);
	if (spec->many)
		ExplainPropertyText("Contribution Bound", unit_bound_text(spec), es);
	if (spec->all_rows > 0)
		ExplainPropertyText("Rows Left Out",
							psprintf("%s by the profile, before WHERE",
									 left_out_text(spec)), es);
	if (spec->measuring != NULL)
		ExplainPropertyText("Bound Measured",
							measured_text(spec->measuring->rows,
										  spec->measuring->stored), es);
	if (dp_prepare_disjoint_text(spec) != NULL)
		ExplainPropertyText("Disjoint", dp_prepare_disjoint_text(spec), es);
	if (dp_aggregates_cost_text(spec) != NULL)
		ExplainPropertyText("Evaluated for Every Row",
							dp_aggregates_cost_text(spec), es);
	if (dp_prepare_is_free(spec))
	{
		ExplainPropertyText("Charge", "none: no private row is read", es);
		return;
	}
	if (stored_at != 0)
		ExplainPropertyText("Answer", answer_text(stored_at), es);
	else
		ExplainPropertyText("Charge", charge_text(&whole), es);
	if (spec->part.partition != 0)
		ExplainPropertyText("Part",
							psprintf("one value of column %s; all of them "
									 "together cost what the costliest costs",
									 get_attname(spec->block->relid,
												 spec->block->part_attnum,
												 false)), es);
	/* auto_explain may call this after the query, without a snapshot */
	if (!ActiveSnapshotSet())
		return;
	dp_ledger_read_standing(spec->block->dataset, &standing);
	ExplainPropertyText("Budget", budget_text(spec, &standing,
											  charged || stored_at != 0), es);
	if (charged || (estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		explain_all_before(spec->block, estate, es);
}
