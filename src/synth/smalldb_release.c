/*
 * smalldb_release.c
 *	  dp_smalldb: a small synthetic table, chosen among all of its size by the
 *	  exponential mechanism (book, Algorithm 4).
 *
 * Order: the universe, the workload and the candidates are found and shown;
 * the reading is verified; charge and record are made durable; one pass over
 * the private rows counts the cells of the universe, from which every query's
 * count follows; the selection draws.  The last two happen in the process that
 * reads (smalldb_run.c).
 *
 * With n NULL a twentieth of epsilon buys a noisy count of the rows that lie
 * in the universe, and the rest the selection.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../bridge/dp_numeric.h"
#include "smalldb.h"

#define BETA .05				/* of the error that is shown */
#define LEAST_ONE 8				/* coarser weights are of no use */

/* Places of the arguments; the third is queries or marginals. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_WORKLOAD,
	ARG_EPSILON,
	ARG_N,
	ARG_BINS,
	ARG_ALPHA
};

typedef struct smalldb
{
	Oid			relid;
	bool		whole_rows;		/* of the relation's type */
	bool		weighted;		/* a last column tells n / m */
	dp_universe *universe;
	dp_synth_queries queries;
	uint8	   *weights;
	dp_reading *reading;
	double		alpha;
	char	   *alpha_digits;	/* NULL: none gives this size */
	dp_smalldb_shape shape;
	int64		n;				/* 0: to be counted */
	dp_rational epsilon;		/* of the selection */
	dp_rational count_epsilon;	/* of the count, when there is one */
	dp_charge	charge;
	dp_rational rate;
	int64		id;				/* of the charge */
	Size		sent;			/* bytes of weights */
	dp_synth_selected *selected;
} smalldb;

static double
epsilon_of(const smalldb *s)
{
	return (double) s->epsilon.num / (double) s->epsilon.den;
}

/* ---- arguments ---- */

/* The relation itself, or the one of a row type: NULL::patients. */
static Oid
read_relation(FunctionCallInfo fcinfo, bool *whole_rows)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, ARG_RELATION);
	Oid			relid = typeidTypeRelid(type);

	*whole_rows = OidIsValid(relid);
	if (*whole_rows)
		return relid;
	if (dp_bridge_declared_type(fcinfo, ARG_RELATION) == ANYELEMENTOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("relation must be a name or a row of a table, not of "
						"type %s", format_type_be(type)),
				 errhint("Write 'patients' or NULL::patients.")));
	dp_bridge_require_argument(fcinfo, ARG_RELATION, "relation of dp_smalldb",
							   "Write its name.");
	return PG_GETARG_OID(ARG_RELATION);
}

static void
read_workload(FunctionCallInfo fcinfo, smalldb *s)
{
	bool		marginals =
	dp_bridge_declared_type(fcinfo, ARG_WORKLOAD) == INT4OID;

	dp_bridge_require_argument(fcinfo, ARG_WORKLOAD,
							   marginals ? "marginals of dp_smalldb" :
							   "queries of dp_smalldb",
							   "Give predicates, or how many columns a "
							   "marginal has.");
	if (marginals)
		dp_synth_queries_marginals(&s->queries, s->universe,
								   PG_GETARG_INT32(ARG_WORKLOAD));
	else
		dp_synth_queries_read(&s->queries, s->universe,
							  PG_GETARG_ARRAYTYPE_P(ARG_WORKLOAD));
}

/* The size that alpha asks for. */
static uint64
size_for_alpha(smalldb *s, Numeric alpha)
{
	uint64		size;

	s->alpha = dp_numeric_to_double(alpha);
	if (!(s->alpha > 0 && s->alpha <= 1))
		dp_bridge_raise_parameter("alpha must be above 0 and at most 1",
								  "It is an error, as a fraction of the "
								  "rows.");
	s->alpha_digits = dp_numeric_text(alpha);
	dp_bridge_check_status(dp_model_smalldb_size((double) s->queries.n,
												 s->alpha, &size),
						   "find the number of candidates");
	return size;
}

/* The size with the least error, when everything it depends on is public. */
static uint64
best_size(FunctionCallInfo fcinfo, smalldb *s)
{
	dp_synth_smalldb_terms terms = {0};
	uint64		size;

	if (s->n == 0)
		dp_bridge_require_argument(fcinfo, ARG_ALPHA,
								   "alpha of dp_smalldb without n",
								   "Give alpha => 0.3, an error as a fraction "
								   "of the rows, or n, if it is public; "
								   "dp_smalldb_error shows what an alpha "
								   "means.");
	terms.universe = (uint64) s->universe->size;
	terms.queries = (uint64) s->queries.n;
	terms.n = (double) s->n;
	terms.epsilon = epsilon_of(s) / (double) s->reading->sensitivity;
	terms.beta = BETA;
	size = dp_synth_smalldb_best_size(&terms);
	s->alpha = dp_synth_smalldb_alpha(terms.queries, size);
	if (s->alpha > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("no useful accuracy can be reached"),
				 errdetail("The least error is that of tables of "
						   UINT64_FORMAT " rows, which promise nothing.",
						   size),
				 errhint("Use a larger epsilon, or fewer cells or queries, on "
						 "more rows.")));
	s->alpha_digits = psprintf("%.17g", s->alpha);
	return size;
}

/* Find the size of a table, and so the number of candidates. */
static void
read_alpha(FunctionCallInfo fcinfo, smalldb *s)
{
	Numeric		alpha = dp_bridge_number(fcinfo, ARG_ALPHA);

	if (s->queries.n <= 2)
		dp_bridge_raise_parameter("dp_smalldb needs at least 3 queries",
								  "For fewer, dp_count with FILTER is more "
								  "accurate.");
	dp_bridge_check_status(
		dp_model_smalldb_shape_make((uint64) s->universe->size,
									(uint64) s->queries.n,
									alpha == NULL ? best_size(fcinfo, s) :
									size_for_alpha(s, alpha), &s->shape),
		"find the number of candidates");
}

/* Refuse too many candidates, with an alpha and an |X| that would do. */
static void
check_feasible(const smalldb *s)
{
	const dp_smalldb_shape *shape = &s->shape;
	dp_smalldb_shape other;
	char	   *universes;
	double		alpha;
	uint64		size = shape->size;
	uint64		cells = shape->cells;

	if (dp_model_smalldb_memory(shape) > 0)
		return;
	while (size > 1 &&
		   (dp_model_smalldb_shape_make(shape->cells, shape->queries, size,
										&other) != DP_OK ||
			dp_model_smalldb_memory(&other) == 0))
		size = size > 64 ? size / 2 : size - 1;
	alpha = sqrt(log((double) shape->queries) / (double) size);
	while (cells > 1 &&
		   (dp_model_smalldb_shape_make(cells, shape->queries, shape->size,
										&other) != DP_OK ||
			dp_model_smalldb_memory(&other) == 0))
		cells = cells > 64 ? cells / 2 : cells - 1;
	universes = psprintf("universe of at most %llu cells (fewer columns or "
						 "bins)", (unsigned long long) cells);
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("there are too many candidates for dp_smalldb"),
			 errdetail("A universe of %llu cells and tables of %llu rows, for "
					   "alpha %g and %llu queries, give 10^%.1f candidates; "
					   "at most 10^%.1f can be searched, and 10^%.1f "
					   "candidates times queries.",
					   (unsigned long long) shape->cells,
					   (unsigned long long) shape->size, s->alpha,
					   (unsigned long long) shape->queries,
					   dp_model_smalldb_log_candidates(shape->cells,
													   shape->size) /
					   M_LN10, log10((double) DP_SMALLDB_CANDIDATES),
					   log10((double) DP_SMALLDB_WORK)),
			 errhint("%s; dp_synthesize has no such limit.%s", alpha <= 1 ?
					 psprintf("An alpha of at least %.3f, a %s, or fewer "
							  "queries would do",
							  ceil(alpha * 1000) / 1000, universes) :
					 psprintf("A %s, or fewer queries would do, but no alpha",
							  universes),
					 dp_workload_null_hint(s->universe))));
}

/* Round weights to the finest granules that can be searched. */
static void
choose_granules(smalldb *s)
{
	dp_smalldb_shape finer = s->shape;

	while (s->queries.weighted && finer.one < DP_SMALLDB_ONE)
	{
		finer.one *= 2;
		if (dp_model_smalldb_memory(&finer) == 0)
			break;
		s->shape.one = finer.one;
	}
	if (s->queries.weighted && s->shape.one < LEAST_ONE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many queries with weights for "
						"dp_smalldb"),
				 errdetail("Rows of a table, times queries, times the %d "
						   "steps between the weights 0 and 1 may be at most "
						   UINT64_FORMAT ".", LEAST_ONE, DP_SMALLDB_LEVELS),
				 errhint("Use fewer queries, a larger alpha, or "
						 "predicates.")));
}

/* The error of the best table of this size, and of rounding weights. */
static double
table_error(const smalldb *s)
{
	return dp_model_smalldb_size_error((double) s->shape.queries,
									   s->shape.size) +
		(s->queries.weighted ? 1 / (double) s->shape.one : 0);
}

static void
read_n(FunctionCallInfo fcinfo, smalldb *s)
{
	if (PG_ARGISNULL(ARG_N))
		return;
	s->n = PG_GETARG_INT64(ARG_N);
	if (s->n < 1)
		dp_bridge_raise_parameter("n must be at least 1",
								  "It is the number of rows, if that is "
								  "public; without it a part of epsilon is "
								  "spent on a noisy count.");
}

/* ---- its price ---- */

static void
plan_price(smalldb *s)
{
	const dp_rational share = {1, DP_WORKLOAD_COUNT_SHARE};
	const dp_rational rest = {DP_WORKLOAD_COUNT_SHARE - 1,
	DP_WORKLOAD_COUNT_SHARE};
	dp_rational whole = s->epsilon;
	dp_fixed	rho = 0;
	dp_status	status = DP_OK;

	if (s->n == 0)
	{
		status = dp_mech_rational_multiply(&whole, &share, &s->count_epsilon);
		if (status == DP_OK)
			status = dp_mech_rational_multiply(&whole, &rest, &s->epsilon);
		if (status == DP_OK)
			status = dp_acct_rho_from_laplace(s->reading->sensitivity,
											  &s->count_epsilon, &rho);
	}
	if (status == DP_OK)
		status = dp_acct_rho_from_exponential(&s->epsilon, &s->charge.rho);
	if (status == DP_OK)
		status = dp_mech_selection_rate(&s->epsilon, s->shape.size *
										s->shape.one *
										s->reading->sensitivity, false,
										&s->rate);
	dp_bridge_check_status(status, "compute a charge");
	s->charge.rho = dp_acct_fixed_add(s->charge.rho, rho);
	dp_ledger_check_price(&s->reading->standing, s->reading->dataset,
						  s->charge.epsilon);
}

/*
 * The error of a query beyond table_error, except with probability BETA: that
 * of the choice and, twice, that of a noisy n.
 */
static double
choice_error(const smalldb *s)
{
	double		rest = dp_model_smalldb_log_candidates(s->shape.cells,
													   s->shape.size);
	double		rows = (double) s->reading->sensitivity;
	dp_scale	scale;

	if (s->count_epsilon.num == 0)
		return 2 * rows * (rest - log(BETA)) / epsilon_of(s);
	scale = dp_workload_count_scale(s->reading->sensitivity,
									&s->count_epsilon);
	return 2 * rows * (rest - log(BETA / 2)) / epsilon_of(s) +
		2 * dp_mech_laplace_error(&scale, BETA / 2);
}

/* Sizes and the error they promise; before anything is charged. */
static void
show_plan(const smalldb *s)
{
	ereport(NOTICE,
			(errmsg("universe of %s, %s, %s of %s each",
					dp_synth_counted(s->shape.cells, "cell", "cells"),
					dp_synth_counted(s->shape.queries, "query", "queries"),
					dp_synth_counted(s->shape.candidates, "candidate",
									 "candidates"),
					dp_synth_counted(s->shape.size, "row", "rows")),
			 errdetail("With probability %g no query is off by more than %.3g "
					   "of the rows plus %.4g rows.%s", 1 - BETA,
					   table_error(s), choice_error(s),
					   dp_reading_rows_text(s->reading))));
}

/* The reading of all columns together; what it says of units is public. */
static dp_reading *
read_all_cells(const smalldb *s)
{
	dp_reading_table table = {s->universe->naxes};
	int		   *axes = palloc(sizeof(int) * table.naxes);
	int			i;

	for (i = 0; i < table.naxes; i++)
		axes[i] = i;
	table.axes = axes;
	return dp_reading_of_tables(s->relid, s->universe->naxes,
								s->universe->axes, 1, &table);
}

static void
read_request(FunctionCallInfo fcinfo, smalldb *s)
{
	dp_synth_check_place(fcinfo, "dp_smalldb");
	s->relid = read_relation(fcinfo, &s->whole_rows);
	dp_bridge_require_argument(fcinfo, ARG_COLUMNS, "columns of dp_smalldb",
							   "Write columns => ARRAY['smoker', 'ward'].");
	s->universe = dp_workload_make_universe(s->relid,
											PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
											PG_ARGISNULL(ARG_BINS) ? NULL :
											PG_GETARG_ARRAYTYPE_P(ARG_BINS),
											DP_UNIVERSE_CELLS);
	read_workload(fcinfo, s);
	s->epsilon = dp_bridge_epsilon(fcinfo, ARG_EPSILON, &s->charge.epsilon);
	read_n(fcinfo, s);
	s->reading = read_all_cells(s);
	read_alpha(fcinfo, s);
	check_feasible(s);
	choose_granules(s);
	s->weights = dp_synth_queries_expand(&s->queries, s->shape.one);
	plan_price(s);
}

/* ---- the result's form ---- */

/* Check the columns, which may end with one of our own. */
static void
check_columns(smalldb *s, TupleDesc wanted)
{
	int			naxes = s->universe->naxes;

	if (wanted->natts == naxes + 1)
	{
		Form_pg_attribute last = TupleDescAttr(wanted, naxes);

		s->weighted = last->atttypid == FLOAT8OID &&
			strcmp(NameStr(last->attname), "weight") == 0;
	}
	dp_workload_check_columns(s->universe, wanted,
							  s->weighted ? "weight double precision" : NULL);
}

/* One row of the synopsis, in the form that was asked for. */
static void
put_row(const smalldb *s, ReturnSetInfo *result, int64 cell)
{
	TupleDesc	desc = result->setDesc;
	Datum	   *values = palloc0(sizeof(Datum) *
								 (desc->natts + s->universe->naxes));
	bool	   *nulls = palloc(desc->natts + s->universe->naxes);
	Datum	   *own = values + desc->natts;
	bool	   *own_nulls = nulls + desc->natts;
	int			i;

	memset(nulls, true, desc->natts);
	dp_workload_values(s->universe, cell, own, own_nulls);
	for (i = 0; i < s->universe->naxes; i++)
	{
		int			place = s->whole_rows ?
		s->universe->axes[i]->attnum - 1 : i;

		values[place] = own[i];
		nulls[place] = own_nulls[i];
	}
	if (s->weighted)
	{
		values[desc->natts - 1] = Float8GetDatum((double) s->selected->n /
												 (double) s->shape.size);
		nulls[desc->natts - 1] = false;
	}
	tuplestore_putvalues(result->setResult, desc, values, nulls);
	pfree(values);
	pfree(nulls);
}

/* ---- charge and draw ---- */

/* dp_reader_charge */
static void
pay(void *context)
{
	smalldb    *s = context;
	dp_ledger_request request;
	dp_synth_record record;

	dp_synth_request(&request, s->reading->dataset, &s->reading->standing,
					 s->reading->fingerprint, &s->charge, s->n == 0 ?
					 "smalldb: count, exponential mechanism" :
					 "smalldb: exponential mechanism");
	if (s->n == 0)
		request.releases = 2;
	dp_synth_record_begin(&record, "smalldb", s->reading);
	dp_synth_record_universe(&record, s->universe);
	dp_synth_record_integer(&record, "queries", s->queries.n);
	if (s->queries.ntables > 0)
		dp_synth_record_integer(&record, "marginals",
								s->queries.tables[0].naxes);
	else
		dp_synth_record_texts(&record, "predicates", s->queries.texts);
	dp_synth_record_number(&record, "alpha", s->alpha_digits);
	if (s->queries.weighted)
		dp_synth_record_integer(&record, "granules", (int64) s->shape.one);
	dp_synth_record_integer(&record, "rows", (int64) s->shape.size);
	dp_synth_record_integer(&record, "candidates",
							(int64) s->shape.candidates);
	s->id = dp_synth_charge(&request, &record);
	dp_bridge_progress(DP_PHASE_READING, 0);
}

#define PIECE 16384				/* bytes of the source's pieces */

/* dp_reader_source: weights of cells by queries */
static const void *
next_piece(void *context, Size *size)
{
	smalldb    *s = context;
	Size		rest = (Size) s->queries.n * s->universe->size - s->sent;
	const uint8 *piece = s->weights + s->sent;

	*size = Min(rest, PIECE);
	s->sent += *size;
	return rest > 0 ? piece : NULL;
}

/* dp_reader_sink: of progress, and then of the result */
static void
take_piece(void *context, const void *data, Size size)
{
	smalldb    *s = context;

	if (!dp_synth_hear_progress(data))
		memcpy(s->selected, data, size);
}

/* Choose a candidate. */
static void
draw(smalldb *s)
{
	dp_synth_selection selection;
	dp_reading_use use = {DP_USE_SMALLDB, &selection, sizeof(selection),
	next_piece, pay, take_piece, s};

	MemSet(&selection, 0, sizeof(selection));
	selection.shape = s->shape;
	selection.rate = s->rate;
	selection.n = s->n;
	if (s->n == 0)
		selection.count = dp_workload_count_scale(s->reading->sensitivity,
												  &s->count_epsilon);
	selection.workers = dp_synth_smalldb_workers();
	s->selected = palloc(offsetof(dp_synth_selected, cells) +
						 sizeof(uint32) * s->shape.size);
	dp_bridge_progress_begin(DP_WORK_SMALLDB, s->relid,
							 2 * (int64) s->shape.candidates);
	dp_reading_run(s->reading, &use);
	dp_bridge_progress_end();
}

PG_FUNCTION_INFO_V1(dp_synth_sql_smalldb);

/*
 * dp_synth_sql_smalldb
 *	  dp_smalldb(relation, columns, queries or marginals, epsilon, n, bins,
 *	  alpha): the chosen table's rows.  See sql/84_smalldb.sql.
 */
Datum
dp_synth_sql_smalldb(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	smalldb		s;
	double		error;
	uint64		i;

	MemSet(&s, 0, sizeof(s));
	read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, s.whole_rows ? 0 : MAT_SRF_USE_EXPECTED_DESC);
	if (s.whole_rows)
		dp_workload_check_rows(s.universe, result->setDesc);
	else
		check_columns(&s, result->setDesc);
	show_plan(&s);
	draw(&s);
	for (i = 0; i < s.shape.size; i++)
		put_row(&s, result, s.selected->cells[i]);
	error = table_error(&s) * (double) s.selected->n + choice_error(&s);
	dp_synth_finish(s.reading->dataset, s.id, error,
					psprintf("\"n\": " INT64_FORMAT, s.selected->n));
	return (Datum) 0;
}
