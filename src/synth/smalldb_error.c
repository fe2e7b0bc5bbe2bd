/*
 * smalldb_error.c
 *	  dp_smalldb_error: what dp_smalldb would have to search and how well it
 *	  would answer.  Reads no data and charges nothing.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "utils/fmgrprotos.h"

#include "smalldb.h"

/* Sizes that are tried one by one; beyond, in steps of a hundredth. */
#define EVERY_SIZE 4096

/* Places of the arguments. */
enum
{
	ARG_UNIVERSE,
	ARG_QUERIES,
	ARG_N,
	ARG_EPSILON,
	ARG_ALPHA,
	ARG_SIZE,
	ARG_DIMENSION,
	ARG_BETA
};

typedef struct question
{
	uint64		universe;
	uint64		queries;		/* 0: any number, of a VC dimension */
	uint64		dimension;		/* 0: not given */
	double		n;
	double		epsilon;
	double		beta;
} question;

static void
refuse(const char *message, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s", message),
			 errhint("%s", hint)));
}

/* A whole number from `least` to 2^40; 0 for NULL. */
static uint64
read_count(FunctionCallInfo fcinfo, int place, const char *name, int64 least)
{
	int64		x;

	if (PG_ARGISNULL(place))
		return 0;
	x = PG_GETARG_INT64(place);
	if (x < least || x > INT64CONST(1) << 40)
		refuse(psprintf("%s must be from " INT64_FORMAT " to 2^40", name,
						least), "Give a whole number.");
	return (uint64) x;
}

/* A number in (0, most]; -1 for NULL. */
static double
read_number(FunctionCallInfo fcinfo, int place, const char *name, double most)
{
	Numeric		number = dp_synth_number(fcinfo, place);
	double		x;

	if (number == NULL)
		return -1;
	x = DatumGetFloat8(DirectFunctionCall1(numeric_float8,
										   NumericGetDatum(number)));
	if (!(x > 0 && x <= most))
		refuse(psprintf("%s must be above 0 and at most %g", name, most),
			   "See the comment of dp_smalldb_error.");
	return x;
}

static double
error_of(const question *q, uint64 size)
{
	double		error = q->queries > 0 ?
	dp_smalldb_size_error((double) q->queries, size) : 1;

	if (q->dimension > 0)
		error = fmin(error,
					 dp_smalldb_size_error_for_dimension(q->universe,
														 q->dimension,
														 size));
	return error +
		dp_smalldb_net_error(dp_smalldb_log_candidates(q->universe, size),
							 q->n, q->epsilon, q->beta);
}

static bool
is_feasible(const question *q, uint64 size, dp_smalldb_shape *shape)
{
	return dp_smalldb_shape_make(q->universe, Max(q->queries, 1), size,
								 shape) == DP_OK &&
		dp_smalldb_memory(shape) > 0;
}

/* The size with the least error that can be searched; 1 when none can. */
static uint64
best_size(const question *q)
{
	dp_smalldb_shape shape;
	double		least = error_of(q, 1);
	uint64		best = 1;
	uint64		size;

	for (size = 1; is_feasible(q, size, &shape);
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

/* The size that the arguments ask for. */
static uint64
size_of(const question *q, double alpha, uint64 size)
{
	dp_status	status;
	uint64		other;

	if (size > 0)
		return size;
	if (alpha < 0)
		return best_size(q);
	status = DP_E_RANGE;
	if (q->queries > 0)
		status = dp_smalldb_size((double) q->queries, alpha, &size);
	if (q->dimension > 0 &&
		dp_smalldb_size_for_dimension(q->universe, q->dimension, alpha,
									  &other) == DP_OK)
	{
		size = status == DP_OK ? Min(size, other) : other;
		status = DP_OK;
	}
	if (status != DP_OK)
		refuse("there is no size for this alpha",
			   "At least 3 queries are needed, and an alpha that is not "
			   "tiny.");
	return size;
}

static void
read_question(FunctionCallInfo fcinfo, question *q)
{
	q->universe = read_count(fcinfo, ARG_UNIVERSE, "universe", 1);
	q->queries = read_count(fcinfo, ARG_QUERIES, "queries", 1);
	q->dimension = read_count(fcinfo, ARG_DIMENSION, "vc_dimension", 1);
	q->n = (double) read_count(fcinfo, ARG_N, "n", 1);
	q->epsilon = read_number(fcinfo, ARG_EPSILON, "epsilon", 1e12);
	q->beta = read_number(fcinfo, ARG_BETA, "beta", 1);
	if (q->dimension > 100000)
		refuse("vc_dimension must be at most 100000",
			   "A larger one promises nothing.");
	if (q->universe > 0 && q->queries == 0 && q->dimension == 0)
		refuse("queries and vc_dimension must not both be NULL",
			   "Give the number of queries, or a bound of what they can "
			   "tell apart.");
}

PG_FUNCTION_INFO_V1(dp_synth_sql_smalldb_error);

/*
 * dp_synth_sql_smalldb_error
 *	  dp_smalldb_error(universe, queries, n, epsilon, alpha, size,
 *	  vc_dimension, beta): (size, alpha, candidates, feasible, error,
 *	  theorem_alpha); NULL when universe, n, epsilon or beta is.
 *
 * Errors: 22023.
 */
Datum
dp_synth_sql_smalldb_error(PG_FUNCTION_ARGS)
{
	question	q;
	dp_smalldb_shape shape;
	TupleDesc	desc;
	Datum		values[6];
	bool		nulls[6] = {false};
	double		alpha;
	uint64		size;

	read_question(fcinfo, &q);
	alpha = read_number(fcinfo, ARG_ALPHA, "alpha", 1);
	size = read_count(fcinfo, ARG_SIZE, "size", 1);
	if (q.universe == 0 || q.n == 0 || q.epsilon < 0 || q.beta < 0)
		PG_RETURN_NULL();
	size = size_of(&q, alpha, size);

	/* any number whose ceil is the size; see dp_smalldb_size */
	alpha = q.queries > 2 ?
		sqrt(log((double) q.queries) / ((double) size - .5)) : 2;
	values[0] = Int64GetDatum((int64) size);
	nulls[1] = alpha > 1;
	values[1] = Float8GetDatum(alpha);
	values[2] = Float8GetDatum(rint(exp(
						dp_smalldb_log_candidates(q.universe, size))));
	nulls[3] = q.queries == 0;
	values[3] = BoolGetDatum(is_feasible(&q, size, &shape));
	values[4] = Float8GetDatum(error_of(&q, size));
	nulls[5] = q.queries == 0;
	values[5] = Float8GetDatum(nulls[5] ? 0 :
							   dp_smalldb_theorem_alpha(q.universe,
														(double) q.queries,
														q.n, q.epsilon,
														q.beta));
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "function must return a row");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
													  values, nulls)));
}
