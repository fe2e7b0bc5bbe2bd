/*
 * smalldb_release.c
 *	  dp_smalldb: a small synthetic table, chosen among all of its size by the
 *	  exponential mechanism (book, Algorithm 4).
 *
 * Order: the universe, the workload and the candidates are found and shown;
 * the reading is verified; charge and record are made durable; one pass over
 * the private rows counts the cells of the universe, from which every query's
 * count follows; the selection draws.  The last two happen in the process that
 * reads.
 *
 * With n NULL a twentieth of epsilon buys a noisy count of the rows that lie
 * in the universe, and the rest the selection.
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "parser/parse_type.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../math/models/dp_models.h"
#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"
#include "tables_internal.h"

/* ----------------
 *		dp_smalldb_error: what dp_smalldb would have to search and how well it
 *		would answer.  Reads no data and charges nothing.
 * ----------------
 */

/* Sizes are tried one by one up to this, then in steps of a hundredth. */
#define EVERY_SIZE 4096

/* Places of the arguments. */
enum
{
	ARG_UNIVERSE,
	ARG_QUERIES,
	ERROR_EPSILON,
	ERROR_N,
	ERROR_ALPHA,
	ARG_CONFIDENCE,
	ARG_SIZE,
	ARG_DIMENSION,
	ERROR_ROWS
};

/* A whole number from `least` to 2^40; 0 for NULL. */
static uint64
read_count(FunctionCallInfo fcinfo, int place, const char *name, int64 least)
{
	int64		x;

	if (PG_ARGISNULL(place))
		return 0;
	x = PG_GETARG_INT64(place);
	if (x < least || x > INT64CONST(1) << 40)
		dp_base_raise_parameter(psprintf("%s must be from " INT64_FORMAT
										 " to 2^40", name, least),
								   "Give a whole number.");
	return (uint64) x;
}

/* A number in (0, most]; -1 for NULL. */
static double
smalldb_read_number(FunctionCallInfo fcinfo, int place, const char *name,
					double most)
{
	Numeric		number = dp_base_number(fcinfo, place);
	double		x;

	if (number == NULL)
		return -1;
	x = dp_numeric_to_double(number);
	if (!(x > 0 && x <= most))
		dp_base_raise_parameter(psprintf("%s must be above 0 and at most "
										 "%g", name, most),
								   "See the comment of dp_smalldb_error.");
	return x;
}

static double
error_of(const dp_tables_smalldb_terms *q, uint64 size)
{
	double		error = q->queries > 0 ?
	dp_models_smalldb_size_error((double) q->queries, size) : 1;

	if (q->dimension > 0)
		error = fmin(error,
					 dp_models_smalldb_size_error_for_dimension(q->universe,
																q->dimension,
																size));
	return error +
		dp_models_smalldb_net_error(
				dp_models_smalldb_log_candidates(q->universe,
																	 size),
									q->n, q->epsilon, q->beta);
}

static bool
smalldb_is_feasible(const dp_tables_smalldb_terms *q, uint64 size,
					dp_smalldb_shape *shape)
{
	return dp_models_smalldb_shape_make(q->universe, Max(q->queries, 1), size,
										shape) == DP_OK &&
		dp_models_smalldb_memory(shape) > 0;
}

/*
 * smalldb_best_size
 *	  The size with the least error that can be searched; 1 when none can.
 */
static uint64
smalldb_best_size(const dp_tables_smalldb_terms *q)
{
	dp_smalldb_shape shape;
	double		least = error_of(q, 1);
	uint64		best = 1;
	uint64		size;

	for (size = 1; smalldb_is_feasible(q, size, &shape);
		 size += size < EVERY_SIZE ? 1 : size / 100)
	{
		double		error = error_of(q, size);

		if (error < least)
		{
			least = error;
			best = size;
		}
	}
	return best;
}

/*
 * smalldb_alpha
 *	  An alpha that asks for the size; above 1: none does.
 */
static double
smalldb_alpha(uint64 queries, uint64 size)
{
	/* any number whose ceil is the size; see dp_models_smalldb_size */
	return queries > 2 ?
		sqrt(log((double) queries) / ((double) size - .5)) : 2;
}

/* The size that the arguments ask for. */
static uint64
size_of(const dp_tables_smalldb_terms *q, double alpha, uint64 size)
{
	dp_status	status;
	uint64		other;

	if (size > 0)
		return size;
	if (alpha < 0)
		return smalldb_best_size(q);
	status = DP_E_RANGE;
	if (q->queries > 0)
		status = dp_models_smalldb_size((double) q->queries, alpha, &size);
	if (q->dimension > 0 &&
		dp_models_smalldb_size_for_dimension(q->universe, q->dimension, alpha,
											 &other) == DP_OK)
	{
		size = status == DP_OK ? Min(size, other) : other;
		status = DP_OK;
	}
	if (status != DP_OK)
		dp_base_raise_parameter("there is no size for this alpha",
								"At least 3 queries are needed, and an "
								"alpha that is not tiny.");
	return size;
}

static void
read_question(FunctionCallInfo fcinfo, dp_tables_smalldb_terms *q)
{
	q->universe = read_count(fcinfo, ARG_UNIVERSE, "universe", 1);
	q->queries = read_count(fcinfo, ARG_QUERIES, "queries", 1);
	q->dimension = read_count(fcinfo, ARG_DIMENSION, "vc_dimension", 1);
	q->n = (double) read_count(fcinfo, ERROR_N, "n", 1);
	q->epsilon = smalldb_read_number(fcinfo, ERROR_EPSILON, "epsilon", 1e12) /
		dp_tables_rows(fcinfo, ERROR_ROWS);
	q->beta = dp_tables_failure(fcinfo, ARG_CONFIDENCE);
	if (q->dimension > 100000)
		dp_base_raise_parameter("vc_dimension must be at most 100000",
								"A larger one promises nothing.");
	if (q->universe > 0 && q->queries == 0 && q->dimension == 0)
		dp_base_raise_parameter("queries and vc_dimension must not both "
								"be NULL",
								"Give the number of queries, or a bound on "
								"what they can tell apart.");
}

PG_FUNCTION_INFO_V1(dp_synth_sql_smalldb_error);

/*
 * dp_synth_sql_smalldb_error
 *	  dp_smalldb_error(universe, queries, epsilon, n, alpha, confidence,
 *	  size, vc_dimension, max_rows): (size, alpha, candidates, feasible,
 *	  error, theorem_alpha); NULL when universe, epsilon, n, confidence or
 *	  max_rows is.
 *
 * A unit with m rows moves scores m times as far, so what is promised is what
 * a single row has at an epsilon of epsilon/m (doc/theory.md T136).
 *
 * Errors: 22023.
 */
Datum
dp_synth_sql_smalldb_error(PG_FUNCTION_ARGS)
{
	dp_tables_smalldb_terms q;
	dp_smalldb_shape shape;
	Datum		values[6];
	bool		nulls[6] = {false};
	double		alpha;
	uint64		size;

	if (PG_ARGISNULL(ARG_CONFIDENCE) || PG_ARGISNULL(ERROR_ROWS))
		PG_RETURN_NULL();
	read_question(fcinfo, &q);
	alpha = smalldb_read_number(fcinfo, ERROR_ALPHA, "alpha", 1);
	size = read_count(fcinfo, ARG_SIZE, "size", 1);
	if (q.universe == 0 || q.n == 0 || q.epsilon < 0)
		PG_RETURN_NULL();
	size = size_of(&q, alpha, size);

	alpha = smalldb_alpha(q.queries, size);
	values[0] = Int64GetDatum((int64) size);
	nulls[1] = alpha > 1;
	values[1] = Float8GetDatum(alpha);
	values[2] = Float8GetDatum(rint(exp(
						dp_models_smalldb_log_candidates(q.universe, size))));
	nulls[3] = q.queries == 0;
	values[3] = BoolGetDatum(smalldb_is_feasible(&q, size, &shape));
	values[4] = Float8GetDatum(error_of(&q, size));
	nulls[5] = q.queries == 0;
	values[5] = Float8GetDatum(nulls[5] ? 0 :
							   dp_models_smalldb_theorem_alpha(
								q.universe, (double) q.queries, q.n,
								q.epsilon, q.beta));
	PG_RETURN_DATUM(dp_base_make_row(fcinfo, values, nulls));
}

/* ----------------
 *		SmallDB's workload: predicates and weights, or every cell of all k-way
 *		marginals.
 * ----------------
 */

/* queries_read: queries given as texts; not NULL. */
static void
queries_read(dp_tables_queries *out, const dp_universe *universe,
			 ArrayType *texts)
{
	ListCell   *lc;

	MemSet(out, 0, sizeof(*out));
	out->universe = universe;
	out->texts = dp_split_predicate_texts(texts);
	out->n = list_length(out->texts);
	foreach(lc, out->texts)
	{
		CHECK_FOR_INTERRUPTS();
		if (!dp_workload_read_query(universe, lfirst(lc))->predicate)
			out->weighted = true;
	}
}

/* queries_marginals: one query for each cell of each table. */
static void
queries_marginals(dp_tables_queries *out, const dp_universe *universe,
				  int k)
{
	int			i;

	MemSet(out, 0, sizeof(*out));
	out->universe = universe;
	out->ntables = dp_workload_marginals(universe, k, &out->tables);
	for (i = 0; i < out->ntables; i++)
		out->n += dp_workload_cells(universe, out->tables[i].naxes,
									out->tables[i].axes);
}

/* The place of a cell of the universe in a table over some of its axes. */
static int64
cell_of_table(const dp_universe *universe, const dp_reading_table *table,
			  const int64 *places)
{
	int64		cell = 0;
	int			i;

	for (i = 0; i < table->naxes; i++)
		cell = cell * universe->axes[table->axes[i]]->size +
			places[table->axes[i]];
	return cell;
}

static void
expand_table(const dp_universe *universe, const dp_reading_table *table,
			 uint64 one, uint8 *weights)
{
	int64		places[DP_UNIVERSE_AXES];
	int64		cell;

	for (cell = 0; cell < universe->size; cell++)
	{
		dp_workload_places(universe, cell, places);
		weights[cell_of_table(universe, table, places) * universe->size +
				cell] = (uint8) one;
	}
}

/* A weight in granules of 1/one, rounded to the nearest. */
static uint8
coarse(int32 weight, uint64 one)
{
	return (uint8) (((int64) weight * (int64) one + DP_WEIGHT_ONE / 2) >>
					DP_WEIGHT_BITS);
}

/*
 * queries_expand
 *	  For each query and cell what it weighs, of `one` granules; errors in
 *	  queries are raised here at the latest.  The caller has checked that they
 *	  fit into memory.
 */
static uint8 *
queries_expand(const dp_tables_queries *queries, uint64 one)
{
	const dp_universe *universe = queries->universe;
	uint8	   *weights = MemoryContextAllocExtended(
		CurrentMemoryContext, queries->n * universe->size,
		MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	uint8	   *next = weights;
	int32	   *fine = palloc(sizeof(int32) * universe->size);
	ListCell   *lc;
	int64		cell;
	int			i;

	foreach(lc, queries->texts)
	{
		CHECK_FOR_INTERRUPTS();
		dp_workload_expand(universe,
						   dp_workload_read_query(universe, lfirst(lc)),
						   fine);
		for (cell = 0; cell < universe->size; cell++)
			*next++ = coarse(fine[cell], one);
	}
	for (i = 0; i < queries->ntables; i++)
	{
		const dp_reading_table *table = &queries->tables[i];

		CHECK_FOR_INTERRUPTS();
		expand_table(universe, table, one, next);
		next += dp_workload_cells(universe, table->naxes, table->axes) *
			universe->size;
	}
	pfree(fine);
	return weights;
}

/* ----------------
 *		The selection of one SmallDB candidate, where the rows are read: two
 *		scans on all processors that the connection may use.
 *
 * Threads.  PostgreSQL is not thread-safe, so those here run
 * dp_models_smalldb_step and nothing else: they call no function of the
 * server, have every signal blocked, and touch only the memory of the
 * selection, which was allocated before they started.  This process's own
 * thread scans with them, chunk by chunk, and checks for interrupts and shows
 * progress in between.  Whatever ends the scan, an error or the end of the
 * process, the threads are told and waited for before the memory can go: hence
 * the cleanup that runs for FATAL too.
 * ----------------
 */

typedef struct selection
{
	dp_tables_selection terms;
	uint8	   *weights;
	void	   *memory;			/* of dp_models_smalldb_memory */
	dp_smalldb	problem;
	int			count;			/* of workers, our own the first */
	dp_smalldb_worker workers[DP_SMALLDB_THREADS + 1];
	dp_threads threads;
	dp_tables_reporter teller;
} selection;

/*
 * smalldb_workers
 *	  As many as a parallel query would use, but no more than processors.
 */
static int
smalldb_workers(void)
{
	long		processors = sysconf(_SC_NPROCESSORS_ONLN);
	int			count = 1 + max_parallel_workers_per_gather;

	count = Min(count, (int) Max(processors, 1));
	return Min(count, DP_SMALLDB_THREADS + 1);
}

static void
stop_threads(int code, Datum arg)
{
	selection  *s = (selection *) DatumGetPointer(arg);

	atomic_store(&s->problem.cancel, true);
	dp_numbers_threads_join(&s->threads);
}

static void
scan(selection *s, dp_smalldb_scan kind, uint64 level)
{
	dp_phase phase = kind == DP_SMALLDB_HISTOGRAM ?
	DP_PHASE_SCANNING : DP_PHASE_FINDING;

	dp_models_smalldb_begin(&s->problem, kind, level);
	s->threads.count = 0;
	PG_ENSURE_ERROR_CLEANUP(stop_threads, PointerGetDatum(s));
	{
		dp_models_smalldb_threads_start(&s->threads, s->workers + 1,
										s->count - 1);
		while (dp_models_smalldb_step(&s->workers[0]))
		{
			CHECK_FOR_INTERRUPTS();
			dp_tables_report_progress(&s->teller, phase,
									  (int64) atomic_load(&s->problem.done));
		}
		dp_numbers_threads_join(&s->threads);
	}
	PG_END_ENSURE_ERROR_CLEANUP(stop_threads, PointerGetDatum(s));
}

static void *
allocate(Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

static Size
weights_size(const dp_smalldb_shape *shape)
{
	return (Size) shape->queries * shape->cells;
}

/* Allocates the weights and the selection before anything is charged. */
static void *
begin(const void *data, Size size, int64 ncounts, dp_reader_source source,
	  void *context)
{
	selection  *s = palloc0(sizeof(selection));
	const void *piece;
	Size		filled = 0;
	Size		n;

	s->terms = *(const dp_tables_selection *) data;
	if (ncounts != (int64) s->terms.shape.cells)
		elog(ERROR, "selection counts other cells than it is of");
	s->weights = allocate(weights_size(&s->terms.shape));
	s->memory = allocate(dp_models_smalldb_memory(&s->terms.shape));
	while ((piece = source(context, &n)) != NULL)
	{
		if (n > weights_size(&s->terms.shape) - filled)
			elog(ERROR, "selection has more queries than were planned");
		memcpy(s->weights + filled, piece, n);
		filled += n;
	}
	if (filled != weights_size(&s->terms.shape))
		elog(ERROR, "selection has fewer queries than were planned");
	return s;
}

/* The rows of the universe's cells, with noise, at least 1. */
static int64
smalldb_noisy_count(const selection *s, const int64 *cells)
{
	dp_int128	sum = 0;
	uint64		i;

	for (i = 0; i < s->terms.shape.cells; i++)
		sum += cells[i];
	return dp_workload_noisy_count(&s->terms.count, sum, 1,
								   PG_INT64_MAX / 2);
}

/* The queries' counts in granules; one row adds at most shape->one. */
static int64 *
query_counts(const selection *s, const int64 *cells)
{
	const dp_smalldb_shape *shape = &s->terms.shape;
	int64	   *counts = palloc0(sizeof(int64) * shape->queries);
	const uint8 *weights = s->weights;
	uint64		query;
	uint64		cell;

	for (query = 0; query < shape->queries; query++)
	{
		CHECK_FOR_INTERRUPTS();
		for (cell = 0; cell < shape->cells; cell++)
			counts[query] += weights[cell] * cells[cell];
		weights += shape->cells;
	}
	return counts;
}

/* Draw one candidate: its cells, ascending. */
static void
choose(selection *s, const int64 *counts, int64 n, uint32 *cells)
{
	const dp_smalldb_shape *shape = &s->terms.shape;
	char	   *worker_memory;
	Size		worker_size;
	uint64		level = 0;
	uint64		rank = 0;
	int			i;

	dp_base_check_status(dp_models_smalldb_make(shape, s->weights, counts, n,
												s->memory, &s->problem),
						 "score candidates");
	worker_size = dp_models_smalldb_worker_memory(&s->problem);
	s->count = s->terms.workers;
	worker_memory = allocate(worker_size * s->count);
	for (i = 0; i < s->count; i++)
		dp_models_smalldb_worker_make(&s->problem,
									  worker_memory + worker_size * i,
									  &s->workers[i]);
	scan(s, DP_SMALLDB_HISTOGRAM, 0);
	dp_base_check_status(
		dp_models_smalldb_draw(dp_base_source(), &s->problem, &s->terms.rate,
							   s->workers, s->count,
							   allocate(
								dp_models_smalldb_draw_memory(&s->problem)),
							   &level, &rank), "select a candidate");
	scan(s, DP_SMALLDB_LEVEL, level);
	dp_models_smalldb_unrank(&s->problem,
							 dp_models_smalldb_candidate(&s->workers[0], rank),
							 cells);
	explicit_bzero(s->memory, dp_models_smalldb_memory(shape));
	explicit_bzero(worker_memory, worker_size * s->count);
}

/* Nothing here fails for a reason that lies in the data. */
static void
finish(void *state, const int64 *counts, dp_reader_sink sink, void *context)
{
	selection  *s = state;
	Size		size = offsetof(dp_tables_selected, cells) +
	sizeof(uint32) * s->terms.shape.size;
	dp_tables_selected *selected = palloc0(size);
	int64	   *truths = query_counts(s, counts);

	s->teller.sink = sink;
	s->teller.context = context;
	selected->n = s->terms.n == 0 ? smalldb_noisy_count(s,
														counts) : s->terms.n;
	choose(s, truths, selected->n, selected->cells);
	explicit_bzero(truths, sizeof(int64) * s->terms.shape.queries);
	sink(context, selected, size);
}

static const dp_use_methods methods = {begin, finish};

/* dp_tables_smalldb_init: from _PG_init, in every process. */
void
dp_tables_smalldb_init(void)
{
	dp_readings_register(DP_USE_SMALLDB, &methods);
}

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
	dp_tables_queries queries;
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
	dp_tables_selected *selected;
} smalldb;

static double
epsilon_of(const smalldb *s)
{
	return (double) s->epsilon.num / (double) s->epsilon.den;
}

/* ---- arguments ---- */

/* The relation itself, or the one of a row type: NULL::patients. */
static Oid
smalldb_read_relation(FunctionCallInfo fcinfo, bool *whole_rows)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, ARG_RELATION);
	Oid			relid = typeidTypeRelid(type);

	*whole_rows = OidIsValid(relid);
	if (*whole_rows)
		return relid;
	if (dp_base_declared_type(fcinfo, ARG_RELATION) == ANYELEMENTOID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("relation must be a name or a row of a table, not of "
						"type %s", format_type_be(type)),
				 errhint("Write 'patients' or NULL::patients.")));
	dp_base_require_argument(fcinfo, ARG_RELATION, "relation of dp_smalldb",
							 "Write its name.");
	return PG_GETARG_OID(ARG_RELATION);
}

static void
smalldb_read_workload(FunctionCallInfo fcinfo, smalldb *s)
{
	bool		marginals =
	dp_base_declared_type(fcinfo, ARG_WORKLOAD) == INT4OID;

	dp_base_require_argument(fcinfo, ARG_WORKLOAD,
							 marginals ? "marginals of dp_smalldb" :
							 "queries of dp_smalldb",
							 "Give predicates, or how many columns a "
							 "marginal has.");
	if (marginals)
		queries_marginals(&s->queries, s->universe,
						  PG_GETARG_INT32(ARG_WORKLOAD));
	else
		queries_read(&s->queries, s->universe,
					 PG_GETARG_ARRAYTYPE_P(ARG_WORKLOAD));
}

/* The size that alpha asks for. */
static uint64
size_for_alpha(smalldb *s, Numeric alpha)
{
	uint64		size;

	s->alpha = dp_numeric_to_double(alpha);
	if (!(s->alpha > 0 && s->alpha <= 1))
		dp_base_raise_parameter("alpha must be above 0 and at most 1",
								"It is an error, as a fraction of the "
								"rows.");
	s->alpha_digits = dp_numeric_text(alpha);
	dp_base_check_status(dp_models_smalldb_size((double) s->queries.n,
												s->alpha, &size),
						 "find the number of candidates");
	return size;
}

/* The size with the least error, when everything it depends on is public. */
static uint64
best_size(FunctionCallInfo fcinfo, smalldb *s)
{
	dp_tables_smalldb_terms terms = {0};
	uint64		size;

	if (s->n == 0)
		dp_base_require_argument(fcinfo, ARG_ALPHA,
								 "alpha of dp_smalldb without n",
								 "Give alpha => 0.3, an error as a fraction "
								 "of the rows, or n, if it is public; "
								 "dp_smalldb_error shows what an alpha "
								 "means.");
	terms.universe = (uint64) s->universe->size;
	terms.queries = (uint64) s->queries.n;
	terms.n = (double) s->n;
	terms.epsilon = epsilon_of(s) / (double) dp_readings_rows(s->reading);
	terms.beta = BETA;
	size = smalldb_best_size(&terms);
	s->alpha = smalldb_alpha(terms.queries, size);
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
	Numeric		alpha = dp_base_number(fcinfo, ARG_ALPHA);

	if (s->queries.n <= 2)
		dp_base_raise_parameter("dp_smalldb needs at least 3 queries",
								"For fewer, dp_count with FILTER is more "
								"accurate.");
	dp_base_check_status(
		dp_models_smalldb_shape_make((uint64) s->universe->size,
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

	if (dp_models_smalldb_memory(shape) > 0)
		return;
	while (size > 1 &&
		   (dp_models_smalldb_shape_make(shape->cells, shape->queries, size,
										 &other) != DP_OK ||
			dp_models_smalldb_memory(&other) == 0))
		size = size > 64 ? size / 2 : size - 1;
	alpha = sqrt(log((double) shape->queries) / (double) size);
	while (cells > 1 &&
		   (dp_models_smalldb_shape_make(cells, shape->queries, shape->size,
										 &other) != DP_OK ||
			dp_models_smalldb_memory(&other) == 0))
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
					   dp_models_smalldb_log_candidates(shape->cells,
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
		if (dp_models_smalldb_memory(&finer) == 0)
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
	return dp_models_smalldb_size_error((double) s->shape.queries,
										s->shape.size) +
		(s->queries.weighted ? 1 / (double) s->shape.one : 0);
}

static void
smalldb_read_n(FunctionCallInfo fcinfo, smalldb *s)
{
	if (PG_ARGISNULL(ARG_N))
		return;
	s->n = PG_GETARG_INT64(ARG_N);
	if (s->n < 1)
		dp_base_raise_parameter("n must be at least 1",
								"It is the number of rows, if that is "
								"public; without it a part of epsilon is "
								"spent on a noisy count.");
}

/* ---- its price ---- */

static void
smalldb_plan_price(smalldb *s)
{
	const dp_rational share = {1, DP_WORKLOAD_COUNT_SHARE};
	const dp_rational rest = {DP_WORKLOAD_COUNT_SHARE - 1,
	DP_WORKLOAD_COUNT_SHARE};
	dp_rational whole = s->epsilon;
	dp_fixed	rho = 0;
	dp_status	status = DP_OK;

	if (s->n == 0)
	{
		status = dp_numbers_rational_multiply(&whole, &share,
											  &s->count_epsilon);
		if (status == DP_OK)
			status = dp_numbers_rational_multiply(&whole, &rest, &s->epsilon);
		if (status == DP_OK)
			status = dp_accounting_rho_from_laplace(
				dp_readings_rows(s->reading), &s->count_epsilon, &rho);
	}
	if (status == DP_OK)
		status = dp_accounting_rho_from_exponential(&s->epsilon,
													&s->charge.rho);
	if (status == DP_OK)
		status = dp_noise_selection_rate(&s->epsilon, s->shape.size *
										 s->shape.one *
										 dp_readings_rows(s->reading), false,
										 &s->rate);
	dp_base_check_status(status, "compute a charge");
	s->charge.rho = dp_accounting_fixed_add(s->charge.rho, rho);
	dp_ledger_check_price(&s->reading->standing, s->reading->dataset,
						  s->charge.epsilon);
}

/*
 * The error of a query beyond table_error, except with probability BETA: that
 * of the choice and, twice, that of a noisy n.
 */
static double
smalldb_choice_error(const smalldb *s)
{
	double		rest = dp_models_smalldb_log_candidates(s->shape.cells,
														s->shape.size);
	double		rows = (double) dp_readings_rows(s->reading);
	dp_scale	scale;

	if (s->count_epsilon.num == 0)
		return 2 * rows * (rest - log(BETA)) / epsilon_of(s);
	scale = dp_workload_count_scale(dp_readings_rows(s->reading),
									&s->count_epsilon);
	return 2 * rows * (rest - log(BETA / 2)) / epsilon_of(s) +
		2 * dp_noise_laplace_error(&scale, BETA / 2);
}

/* Sizes and the error they promise; before anything is charged. */
static void
smalldb_show_plan(const smalldb *s)
{
	ereport(NOTICE,
			(errmsg("universe of %s, %s, %s of %s each",
					dp_tables_counted(s->shape.cells, "cell", "cells"),
					dp_tables_counted(s->shape.queries, "query", "queries"),
					dp_tables_counted(s->shape.candidates, "candidate",
									  "candidates"),
					dp_tables_counted(s->shape.size, "row", "rows")),
			 errdetail("With probability %g no query is off by more than %.3g "
					   "of the rows plus %.4g rows.%s", 1 - BETA,
					   table_error(s), smalldb_choice_error(s),
					   dp_readings_rows_text(s->reading))));
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
	return dp_readings_of_tables(s->relid, s->universe->naxes,
								 s->universe->axes, 1, &table);
}

static void
smalldb_read_request(FunctionCallInfo fcinfo, smalldb *s)
{
	dp_tables_check_place(fcinfo, "dp_smalldb");
	s->relid = smalldb_read_relation(fcinfo, &s->whole_rows);
	dp_base_require_argument(fcinfo, ARG_COLUMNS, "columns of dp_smalldb",
							 "Write columns => ARRAY['smoker', 'ward'].");
	s->universe = dp_workload_make_universe(s->relid,
											PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
											PG_ARGISNULL(ARG_BINS) ? NULL :
											PG_GETARG_ARRAYTYPE_P(ARG_BINS),
											DP_UNIVERSE_CELLS);
	smalldb_read_workload(fcinfo, s);
	s->epsilon = dp_base_epsilon(fcinfo, ARG_EPSILON, &s->charge.epsilon);
	smalldb_read_n(fcinfo, s);
	s->reading = read_all_cells(s);
	read_alpha(fcinfo, s);
	check_feasible(s);
	choose_granules(s);
	s->weights = queries_expand(&s->queries, s->shape.one);
	smalldb_plan_price(s);
}

/* ---- the result's form ---- */

/* Check the columns, which may end with one of our own. */
static void
smalldb_check_columns(smalldb *s, TupleDesc wanted)
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
smalldb_put_row(const smalldb *s, ReturnSetInfo *result, int64 cell)
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
	dp_tables_record record;

	dp_tables_request(&request, s->reading->dataset, &s->reading->standing,
					  s->reading->fingerprint, &s->charge, s->n == 0 ?
					  "smalldb: count, exponential mechanism" :
					  "smalldb: exponential mechanism");
	if (s->n == 0)
		request.releases = 2;
	dp_tables_record_begin(&record, "smalldb", s->reading);
	dp_tables_record_universe(&record, s->universe);
	dp_tables_record_integer(&record, "queries", s->queries.n);
	if (s->queries.ntables > 0)
		dp_tables_record_integer(&record, "marginals",
								 s->queries.tables[0].naxes);
	else
		dp_tables_record_texts(&record, "predicates", s->queries.texts);
	dp_tables_record_number(&record, "alpha", s->alpha_digits);
	if (s->queries.weighted)
		dp_tables_record_integer(&record, "granules", (int64) s->shape.one);
	dp_tables_record_integer(&record, "rows", (int64) s->shape.size);
	dp_tables_record_integer(&record, "candidates",
							 (int64) s->shape.candidates);
	s->id = dp_tables_charge(&request, &record);
	dp_base_progress(DP_PHASE_READING, 0);
}

#define PIECE 16384				/* bytes of the source's pieces */

/* dp_reader_source: weights of cells by queries */
static const void *
smalldb_next_piece(void *context, Size *size)
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

	if (!dp_tables_hear_progress(data))
		memcpy(s->selected, data, size);
}

/* Choose a candidate. */
static void
draw(smalldb *s)
{
	dp_tables_selection selection;
	dp_reading_use use = {DP_USE_SMALLDB, &selection, sizeof(selection),
	smalldb_next_piece, pay, take_piece, s};

	MemSet(&selection, 0, sizeof(selection));
	selection.shape = s->shape;
	selection.rate = s->rate;
	selection.n = s->n;
	if (s->n == 0)
		selection.count = dp_workload_count_scale(dp_readings_rows(s->reading),
												  &s->count_epsilon);
	selection.workers = smalldb_workers();
	s->selected = palloc(offsetof(dp_tables_selected, cells) +
						 sizeof(uint32) * s->shape.size);
	dp_base_progress_begin(DP_WORK_SMALLDB, s->relid,
						   2 * (int64) s->shape.candidates);
	dp_readings_run(s->reading, &use);
	dp_base_progress_end();
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
	smalldb_read_request(fcinfo, &s);
	InitMaterializedSRF(fcinfo, s.whole_rows ? 0 : MAT_SRF_USE_EXPECTED_DESC);
	if (s.whole_rows)
		dp_workload_check_rows(s.universe, result->setDesc);
	else
		smalldb_check_columns(&s, result->setDesc);
	smalldb_show_plan(&s);
	draw(&s);
	for (i = 0; i < s.shape.size; i++)
		smalldb_put_row(&s, result, s.selected->cells[i]);
	error = table_error(&s) * (double) s.selected->n +
	smalldb_choice_error(&s);
	dp_tables_finish(s.reading->dataset, s.id, error,
					 psprintf("\"n\": " INT64_FORMAT, s.selected->n));
	return (Datum) 0;
}
