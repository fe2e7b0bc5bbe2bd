/*
 * synthesize.c
 *	  dp_synthesize: rows whose marginals are close to those of private rows.
 *
 * Order: universe, workload and sizes are found and shown; the reading is
 * verified; charge and record are made durable; one pass over the private
 * rows; the mechanism on what it counted; rows.  The last three happen in the
 * process that reads (synthesize_run.c).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "synthesize.h"

/* The range of rho in which all laws of the schedule can be made. */
#define LEAST_RHO 1e-12
#define MOST_RHO 1e4
#define MOST_ROWS (INT64CONST(1) << 50)	/* exact in floating point */
#define GUESSED_ROWS 10000		/* for mwem's rounds, when n is not public */

/* Places of the arguments. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_WORKLOAD,
	ARG_EPSILON,
	ARG_N,
	ARG_BINS,
	ARG_DELTA,
	ARG_METHOD,
	ARG_ROWS
};

/* ---- arguments ---- */

static void
read_method(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	char	   *name;

	dp_bridge_require_argument(fcinfo, ARG_METHOD, "method of dp_synthesize",
							   "It is aim or mwem.");
	name = text_to_cstring(PG_GETARG_TEXT_PP(ARG_METHOD));
	s->weights = strcmp(name, "mwem") == 0;
	if (!s->weights && strcmp(name, "aim") != 0)
		dp_bridge_raise_parameter(psprintf("unknown method \"%s\"", name),
								  "It is aim (adaptive marginals, Gaussian "
								  "noise) or mwem (multiplicative weights, "
								  "pure epsilon).");
	if (s->weights && s->universe->size > DP_UNIVERSE_CELLS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("universe has too many cells for method mwem"),
				 errdetail("It has %.10g cells; at most %d can be held.",
						   dp_model_shape_cells(&s->terms.shape,
												~(dp_columns) 0),
						   DP_UNIVERSE_CELLS),
				 errhint("Use fewer columns or bins, or method aim.%s",
						 dp_workload_null_hint(s->universe))));
}

static void
read_workload(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	if (dp_bridge_declared_type(fcinfo, ARG_WORKLOAD) == INT4OID)
	{
		dp_synth_synthesis_marginals(s, PG_ARGISNULL(ARG_WORKLOAD) ?
									 Min(2, s->universe->naxes) :
									 PG_GETARG_INT32(ARG_WORKLOAD));
		return;
	}
	dp_bridge_require_argument(fcinfo, ARG_WORKLOAD,
							   "marginals of dp_synthesize",
							   "Give a list, or leave it out.");
	dp_synth_synthesis_sets(s, PG_GETARG_ARRAYTYPE_P(ARG_WORKLOAD));
}

/* Refuse to draw more rows than memory may hold; negative: not given. */
static void
check_rows(const dp_synthesis *s, double rows, const char *hint)
{
	int64		most = DP_SYNTHESIZE_PLACES / s->universe->naxes;

	if (rows > (double) most)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many rows to draw"),
				 errdetail("At most " INT64_FORMAT " rows of %d columns are "
						   "allowed.", most, s->universe->naxes),
				 errhint("%s", hint)));
}

/* An axis on which some rows may have no place, NULL: none. */
static const dp_axis *
find_incomplete(const dp_synthesis *s)
{
	int			i;

	for (i = 0; i < s->universe->naxes; i++)
		if (!dp_places_axis_is_complete(s->universe->axes[i]))
			return s->universe->axes[i];
	return NULL;
}

static void
read_sizes(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	s->rows = PG_ARGISNULL(ARG_ROWS) ? -1 : PG_GETARG_INT64(ARG_ROWS);
	if (!PG_ARGISNULL(ARG_ROWS) && s->rows < 1)
		dp_bridge_raise_parameter("rows must be at least 1",
								  "Leave it out for about as many rows as "
								  "there are.");
	check_rows(s, (double) s->rows,
			   "Ask for fewer, and scale up what you count.");
	s->n = PG_ARGISNULL(ARG_N) ? -1 : PG_GETARG_INT64(ARG_N);
	if (!PG_ARGISNULL(ARG_N) && (s->n < 1 || s->n > MOST_ROWS))
		dp_bridge_raise_parameter("n must be at least 1 and at most 2^50",
								  "It is the number of rows, if that is "
								  "public; without it the number is "
								  "estimated.");
	if (s->rows < 0)
		check_rows(s, (double) s->n,
				   "Use rows => 1000000, and scale up what you count.");
	/* n counts all rows, the tables those with a place on every axis */
	s->terms.total = find_incomplete(s) == NULL ? s->n : -1;
}

/* ---- its price ---- */

/* The argument, else dp_pg.delta. */
static dp_fixed
read_delta(FunctionCallInfo fcinfo)
{
	Numeric		number = dp_bridge_number(fcinfo, ARG_DELTA);

	if (number == NULL && dp_setting_delta[0] != '\0')
		number = dp_bridge_text_to_numeric(dp_setting_delta);
	if (number == NULL)
		dp_bridge_raise_parameter("method aim needs a delta",
								  "Give delta => 1e-9, well below one over "
								  "the number of people, SET dp_pg.delta, or "
								  "use method mwem.");
	return dp_bridge_check_number(number, "delta", DP_RANGE_INNER,
								  DP_ROUND_DOWN, "It is a probability, well "
								  "below one over the number of people; "
								  "method mwem needs none.");
}

/*
 * One rho for all rounds, from (epsilon, delta), or rounds of pure epsilon.
 * Source: doc/theory.md T73, T75.
 */
static void
plan_price(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	const dp_ledger_standing *standing = &s->reading->standing;
	double		rho;

	s->epsilon = dp_bridge_epsilon(fcinfo, ARG_EPSILON, &s->epsilon_fixed);
	dp_ledger_check_price(standing, s->reading->dataset, s->epsilon_fixed);
	if (s->weights)
	{
		if (!PG_ARGISNULL(ARG_DELTA))
			dp_bridge_raise_parameter("method mwem takes no delta",
									  "It is epsilon-differentially "
									  "private.");
		s->charge.epsilon = s->epsilon_fixed;
		dp_bridge_check_status(dp_acct_rho_from_pure(&s->epsilon,
													 &s->charge.rho),
							   "compute a charge");
		s->rounds =
			dp_model_mwem_rounds(&s->terms,
								 dp_acct_fixed_approx(s->epsilon_fixed) /
								 (double) s->terms.sensitivity,
								 s->n > 0 ? (double) s->n : GUESSED_ROWS);
		return;
	}
	s->delta = read_delta(fcinfo);
	dp_ledger_check_delta(standing, s->reading->dataset, s->delta);
	dp_bridge_check_status(dp_acct_zcdp_rho(s->epsilon_fixed, s->delta,
											&s->rho), "compute a charge");
	rho = dp_acct_fixed_approx(s->rho);
	if (!(rho >= LEAST_RHO && rho <= MOST_RHO))
		dp_bridge_raise_parameter(rho < LEAST_RHO ?
								  "epsilon is too small for dp_synthesize" :
								  "epsilon is too large for dp_synthesize",
								  "Use an epsilon between 0.001 and 100.");
	dp_acct_charge_gaussian(dp_ledger_charge_filter(standing),
							s->epsilon_fixed, s->delta, s->rho, &s->charge);
}

static void
read_request(FunctionCallInfo fcinfo, dp_synthesis *s)
{
	dp_synth_check_place(fcinfo, "dp_synthesize");
	dp_bridge_require_argument(fcinfo, ARG_RELATION,
							   "relation of dp_synthesize",
							   "Write its name.");
	dp_bridge_require_argument(fcinfo, ARG_COLUMNS, "columns of dp_synthesize",
							   "Write columns => ARRAY['smoker', 'ward'].");
	s->universe = dp_workload_make_universe(PG_GETARG_OID(ARG_RELATION),
											PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
											PG_ARGISNULL(ARG_BINS) ? NULL :
											PG_GETARG_ARRAYTYPE_P(ARG_BINS),
											PG_INT64_MAX);
	dp_synth_synthesis_order(s);
	read_method(fcinfo, s);
	read_workload(fcinfo, s);
	read_sizes(fcinfo, s);
	s->reading = dp_synth_synthesis_reading(s);
	s->terms.sensitivity = s->reading->sensitivity;
	s->terms.replace_one = s->reading->standing.replace_one;
	plan_price(fcinfo, s);
}

/* Sizes, before anything is charged. */
static void
show_plan(const dp_synthesis *s)
{
	double		cells = dp_model_shape_cells(&s->terms.shape, ~(dp_columns) 0);
	double		sigma = (double) s->terms.sensitivity *
	sqrt(s->nwanted * (s->terms.replace_one ? 2 : 1) /
		 (2 * dp_acct_fixed_approx(s->rho)));

	ereport(NOTICE,
			(errmsg("universe of %.10g cells, %s, %s with %s that may be "
					"measured", cells,
					dp_synth_counted(s->nwanted, "marginal", "marginals"),
					dp_synth_counted(s->terms.ntables, "table of counts",
									 "tables of counts"),
					dp_synth_counted(s->cells, "cell", "cells")),
			 s->weights ?
			 errdetail("%s of multiplicative weights.%s",
					   dp_synth_counted(s->rounds, "round", "rounds"),
					   dp_reading_rows_text(s->reading)) :
			 errdetail("Gaussian noise on every marginal would need a sigma "
					   "of %.4g for the same price.%s", sigma,
					   dp_reading_rows_text(s->reading))));
	if (s->n > 0 && s->terms.total < 0)
		ereport(NOTICE,
				(errmsg("the number of rows is estimated although n is given"),
				 errdetail("Rows whose \"%s\" is not one of its public values "
						   "are left out.",
						   NameStr(find_incomplete(s)->name)),
				 errhint("Where keys are declared, the data owner can "
						 "declare other => ... for all others.")));
}

/* ---- charge ---- */

/* dp_reader_charge: for dp_synth_synthesis_run */
static void
pay(void *context)
{
	dp_synthesis *s = context;
	dp_ledger_request request;
	dp_synth_record record;

	dp_synth_request(&request, s->reading->dataset, &s->reading->standing,
					 s->reading->fingerprint, &s->charge, s->weights ?
					 "synthesize: multiplicative weights" :
					 "synthesize: adaptive marginals");
	dp_synth_record_begin(&record, "synthesize", s->reading);
	dp_synth_record_universe(&record, s->universe);
	dp_synth_record_number(&record, "epsilon",
						   dp_bridge_fixed_to_cstring(s->epsilon_fixed));
	if (!s->weights)
		dp_synth_record_number(&record, "delta",
							   dp_bridge_fixed_to_cstring(s->delta));
	dp_synth_record_number(&record, "method",
						   s->weights ? "\"mwem\"" : "\"aim\"");
	if (s->sets == NIL)
		dp_synth_record_integer(&record, "marginals", s->marginals);
	else
		dp_synth_record_texts(&record, "sets", s->sets);
	dp_synth_record_integer(&record, "tables", s->terms.ntables);
	s->id = dp_synth_charge(&request, &record);
	dp_bridge_progress(DP_PHASE_READING, 0);
}

/* ---- the result ---- */

/* The public values of an axis, so that rows are quick to make. */
typedef struct spelled
{
	Datum	   *values;
	bool	   *nulls;
} spelled;

static spelled
spell(const dp_axis *axis)
{
	spelled		out;
	int64		i;

	out.values = palloc_extended(sizeof(Datum) * axis->size,
								 MCXT_ALLOC_HUGE);
	out.nulls = palloc_extended(axis->size, MCXT_ALLOC_HUGE);
	for (i = 0; i < axis->size; i++)
		out.values[i] = dp_places_axis_value(axis, i, &out.nulls[i]);
	return out;
}

typedef struct row_maker
{
	const dp_synthesis *synthesis;
	ReturnSetInfo *result;
	spelled		column[DP_UNIVERSE_AXES];	/* the engine's */
} row_maker;

static void
prepare_rows(row_maker *maker, const dp_synthesis *s, ReturnSetInfo *result)
{
	int			k;

	maker->synthesis = s;
	maker->result = result;
	for (k = 0; k < s->universe->naxes; k++)
		maker->column[k] = spell(s->axes[k]);
}

/* dp_synthesis_rows */
static void
put_rows(void *context, const int32 *places, int64 nrows)
{
	const row_maker *maker = context;
	const dp_synthesis *s = maker->synthesis;
	int			n = s->universe->naxes;
	Datum		values[DP_UNIVERSE_AXES];
	bool		nulls[DP_UNIVERSE_AXES];
	int64		i;
	int			k;

	for (i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (k = 0; k < n; k++)
		{
			int32		place = places[i * n + k];

			values[s->order[k]] = maker->column[k].values[place];
			nulls[s->order[k]] = maker->column[k].nulls[place];
		}
		tuplestore_putvalues(maker->result->setResult,
							 maker->result->setDesc, values, nulls);
	}
}

/* Released numbers for dp_pg.releases. */
static char *
results_of(const dp_synthesis *s, int64 nrows)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "\"n\": %.0f, \"rows\": " INT64_FORMAT
					 ", \"rounds\": %d", s->report.total, nrows,
					 s->report.rounds);
	if (!isnan(s->report.mean_error))
		appendStringInfo(&out, ", \"mean_table_error\": %.6g, "
						 "\"max_table_error\": %.6g", s->report.mean_error,
						 s->report.max_error);
	if (s->report.unbounded > 0)
		appendStringInfo(&out, ", \"without_bound\": %d",
						 s->report.unbounded);
	return out.data;
}

/* Show the bounds on the errors of the rows. */
static void
show_errors(const dp_synthesis *s, int64 nrows)
{
	const dp_generator_report *report = &s->report;
	char	   *stands = "";
	char	   *rest = "";

	if (report->unbounded > 0)
		rest = psprintf("  Nothing is promised about %d of the %d marginals.",
						report->unbounded, s->nwanted);
	if (nrows > 0 && fabs(report->total / (double) nrows - 1) > 1e-3)
		stands = psprintf(" when each row counts as %.6g",
						  report->total / (double) nrows);
	if (isnan(report->cell_error))
		ereport(NOTICE,
				(errmsg("the universe has about %.0f rows; nothing is "
						"promised about the marginals", report->total),
				 errhint("Bins, or fewer of them (bins => ...), fewer "
						 "columns, smaller marginals or a larger epsilon "
						 "allow a promise.")));
	else
		ereport(NOTICE,
				(errmsg("the universe has about %.0f rows; no cell of the "
						"marginals should be off by more than %.0f%s",
						report->total, ceil(report->cell_error), stands),
				 isnan(report->mean_error) ?
				 errdetail("This holds with probability 0.95.") :
				 errdetail("This holds with probability 0.95.  The errors of "
						   "all cells of one marginal add up to at most %.3g "
						   "of the rows, and to %.3g on average over the "
						   "marginals.%s", report->max_error,
						   report->mean_error, rest),
				 report->cell_error > report->total / 10 ?
				 errhint("Bins, or fewer of them (bins => ...), fewer "
						 "columns, smaller marginals or a larger epsilon make "
						 "it smaller.") : 0));
}

PG_FUNCTION_INFO_V1(dp_synth_sql_synthesize);

/*
 * dp_synth_sql_synthesize
 *	  dp_synthesize(relation, columns, marginals, epsilon, n, bins, delta,
 *	  method, rows): synthetic rows.  See sql/86_synthesize.sql.
 */
Datum
dp_synth_sql_synthesize(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	dp_synthesis s;
	row_maker	maker;
	int64		nrows;

	MemSet(&s, 0, sizeof(s));
	read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	dp_workload_check_columns(s.universe, result->setDesc, NULL);
	show_plan(&s);
	prepare_rows(&maker, &s, result);
	nrows = dp_synth_synthesis_run(&s, pay, put_rows, &maker);
	show_errors(&s, nrows);
	dp_synth_finish(s.reading->dataset, s.id, s.report.cell_error,
					results_of(&s, nrows));
	return (Datum) 0;
}
