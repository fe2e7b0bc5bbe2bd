/*
 * smalldb_error.c
 *	  dp_smalldb_error: what dp_smalldb would have to search and how well it
 *	  would answer.  Reads no data and charges nothing.
 */
#include "postgres.h"

#include <math.h>

#include "../bridge/dp_numeric.h"
#include "smalldb.h"

/* Sizes are tried one by one up to this, then in steps of a hundredth. */
#define EVERY_SIZE 4096

/* Places of the arguments. */
enum
{
	ARG_UNIVERSE,
	ARG_QUERIES,
	ARG_EPSILON,
	ARG_N,
	ARG_ALPHA,
	ARG_CONFIDENCE,
	ARG_SIZE,
	ARG_DIMENSION,
	ARG_ROWS
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
		dp_bridge_raise_parameter(psprintf("%s must be from " INT64_FORMAT
										   " to 2^40", name, least),
								   "Give a whole number.");
	return (uint64) x;
}

/* A number in (0, most]; -1 for NULL. */
static double
read_number(FunctionCallInfo fcinfo, int place, const char *name, double most)
{
	Numeric		number = dp_bridge_number(fcinfo, place);
	double		x;

	if (number == NULL)
		return -1;
	x = dp_numeric_to_double(number);
	if (!(x > 0 && x <= most))
		dp_bridge_raise_parameter(psprintf("%s must be above 0 and at most "
										   "%g", name, most),
								   "See the comment of dp_smalldb_error.");
	return x;
}

static double
error_of(const dp_synth_smalldb_terms *q, uint64 size)
{
	double		error = q->queries > 0 ?
	dp_model_smalldb_size_error((double) q->queries, size) : 1;

	if (q->dimension > 0)
		error = fmin(error,
					 dp_model_smalldb_size_error_for_dimension(q->universe,
															   q->dimension,
															   size));
	return error +
		dp_model_smalldb_net_error(dp_model_smalldb_log_candidates(q->universe,
																   size),
								   q->n, q->epsilon, q->beta);
}

static bool
is_feasible(const dp_synth_smalldb_terms *q, uint64 size,
			dp_smalldb_shape *shape)
{
	return dp_model_smalldb_shape_make(q->universe, Max(q->queries, 1), size,
									   shape) == DP_OK &&
		dp_model_smalldb_memory(shape) > 0;
}

/*
 * dp_synth_smalldb_best_size
 *	  The size with the least error that can be searched; 1 when none can.
 */
uint64
dp_synth_smalldb_best_size(const dp_synth_smalldb_terms *q)
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

/*
 * dp_synth_smalldb_alpha
 *	  An alpha that asks for the size; above 1: none does.
 */
double
dp_synth_smalldb_alpha(uint64 queries, uint64 size)
{
	/* any number whose ceil is the size; see dp_model_smalldb_size */
	return queries > 2 ?
		sqrt(log((double) queries) / ((double) size - .5)) : 2;
}

/* The size that the arguments ask for. */
static uint64
size_of(const dp_synth_smalldb_terms *q, double alpha, uint64 size)
{
	dp_status	status;
	uint64		other;

	if (size > 0)
		return size;
	if (alpha < 0)
		return dp_synth_smalldb_best_size(q);
	status = DP_E_RANGE;
	if (q->queries > 0)
		status = dp_model_smalldb_size((double) q->queries, alpha, &size);
	if (q->dimension > 0 &&
		dp_model_smalldb_size_for_dimension(q->universe, q->dimension, alpha,
											&other) == DP_OK)
	{
		size = status == DP_OK ? Min(size, other) : other;
		status = DP_OK;
	}
	if (status != DP_OK)
		dp_bridge_raise_parameter("there is no size for this alpha",
								  "At least 3 queries are needed, and an "
								  "alpha that is not tiny.");
	return size;
}

static void
read_question(FunctionCallInfo fcinfo, dp_synth_smalldb_terms *q)
{
	q->universe = read_count(fcinfo, ARG_UNIVERSE, "universe", 1);
	q->queries = read_count(fcinfo, ARG_QUERIES, "queries", 1);
	q->dimension = read_count(fcinfo, ARG_DIMENSION, "vc_dimension", 1);
	q->n = (double) read_count(fcinfo, ARG_N, "n", 1);
	q->epsilon = read_number(fcinfo, ARG_EPSILON, "epsilon", 1e12) /
		dp_synth_rows(fcinfo, ARG_ROWS);
	q->beta = dp_synth_failure(fcinfo, ARG_CONFIDENCE);
	if (q->dimension > 100000)
		dp_bridge_raise_parameter("vc_dimension must be at most 100000",
								  "A larger one promises nothing.");
	if (q->universe > 0 && q->queries == 0 && q->dimension == 0)
		dp_bridge_raise_parameter("queries and vc_dimension must not both "
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
	dp_synth_smalldb_terms q;
	dp_smalldb_shape shape;
	Datum		values[6];
	bool		nulls[6] = {false};
	double		alpha;
	uint64		size;

	if (PG_ARGISNULL(ARG_CONFIDENCE) || PG_ARGISNULL(ARG_ROWS))
		PG_RETURN_NULL();
	read_question(fcinfo, &q);
	alpha = read_number(fcinfo, ARG_ALPHA, "alpha", 1);
	size = read_count(fcinfo, ARG_SIZE, "size", 1);
	if (q.universe == 0 || q.n == 0 || q.epsilon < 0)
		PG_RETURN_NULL();
	size = size_of(&q, alpha, size);

	alpha = dp_synth_smalldb_alpha(q.queries, size);
	values[0] = Int64GetDatum((int64) size);
	nulls[1] = alpha > 1;
	values[1] = Float8GetDatum(alpha);
	values[2] = Float8GetDatum(rint(exp(
						dp_model_smalldb_log_candidates(q.universe, size))));
	nulls[3] = q.queries == 0;
	values[3] = BoolGetDatum(is_feasible(&q, size, &shape));
	values[4] = Float8GetDatum(error_of(&q, size));
	nulls[5] = q.queries == 0;
	values[5] = Float8GetDatum(nulls[5] ? 0 :
							   dp_model_smalldb_theorem_alpha(
								q.universe, (double) q.queries, q.n,
								q.epsilon, q.beta));
	PG_RETURN_DATUM(dp_bridge_make_row(fcinfo, values, nulls));
}
