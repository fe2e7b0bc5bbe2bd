/*
 * weights_step.c
 *	  dp_weights_step: the update of multiplicative weights as the book has it
 *	  (Algorithm 5), on a distribution that the caller holds.
 *
 * Everything in it is public, so floating point is harmless.  Sessions take
 * their own steps (hypothesis.c), which may be larger.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "../bridge/dp_bridge.h"

#define SUM_TOLERANCE 1e-6

/* The numbers of an array of one dimension, each from 0 to 1. */
static float8 *
read_fractions(ArrayType *array, const char *name, int *n)
{
	Datum	   *values;
	bool	   *nulls;
	float8	   *x;
	int			i;

	if (ARR_NDIM(array) != 1)
		dp_bridge_raise_parameter(psprintf("%s must be an array of one "
										   "dimension", name),
								  "Give one number for each cell.");
	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, n);
	x = palloc(sizeof(float8) * *n);
	for (i = 0; i < *n; i++)
	{
		if (nulls[i])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("element %d of %s is NULL", i + 1, name),
					 errhint("Give one number for each cell.")));
		x[i] = DatumGetFloat8(values[i]);
		if (!(x[i] >= 0 && x[i] <= 1))
			dp_bridge_raise_parameter(psprintf("element %d of %s is not from "
											   "0 to 1", i + 1, name),
									  "Probabilities and the values of a "
									  "query are.");
	}
	return x;
}

static void
check_numbers(float8 answer, float8 eta, int n, int other)
{
	if (n != other)
		dp_bridge_raise_parameter("distribution and query must have the same "
								  "length",
								  "Give one number for each cell in both.");
	if (!(answer >= 0 && answer <= 1))
		dp_bridge_raise_parameter("answer must be from 0 to 1",
								  "Divide the released number of rows by n, "
								  "and clamp it.");
	if (!(eta > 0 && eta <= 1))
		dp_bridge_raise_parameter("eta must be above 0 and at most 1",
								  "The book takes alpha/2, half of the error "
								  "that is aimed at.");
}

/* x.f, once x is known to add up to 1. */
static long double
expectation(const float8 *x, const float8 *f, int n)
{
	long double sum = 0;
	long double all = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		all += x[i];
		sum += (long double) x[i] * f[i];
	}
	if (fabsl(all - 1) > SUM_TOLERANCE)
		dp_bridge_raise_parameter("distribution does not add up to 1",
								  "Divide each element by their sum.");
	return sum / all;
}

static void
step(float8 *x, const float8 *f, int n, bool lower, float8 eta)
{
	long double sum = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		x[i] *= exp(-eta * (lower ? f[i] : 1 - f[i]));
		sum += x[i];
	}
	for (i = 0; i < n; i++)
		x[i] = (float8) (x[i] / sum);
}

PG_FUNCTION_INFO_V1(dp_session_sql_weights_step);

/*
 * dp_session_sql_weights_step
 *	  dp_weights_step(distribution, query, answer, eta): the next distribution.
 *
 * Errors: 22004 a NULL element, 22023 otherwise.
 * Source: doc/theory.md T121 (book, Algorithm 5).
 */
Datum
dp_session_sql_weights_step(PG_FUNCTION_ARGS)
{
	int			n;
	int			other;
	float8	   *x = read_fractions(PG_GETARG_ARRAYTYPE_P(0), "distribution",
								   &n);
	float8	   *f = read_fractions(PG_GETARG_ARRAYTYPE_P(1), "query", &other);
	float8		answer = PG_GETARG_FLOAT8(2);
	float8		eta = PG_GETARG_FLOAT8(3);
	Datum	   *out;
	int			i;

	check_numbers(answer, eta, n, other);
	step(x, f, n, answer < expectation(x, f, n), eta);
	out = palloc(sizeof(Datum) * n);
	for (i = 0; i < n; i++)
		out[i] = Float8GetDatum(x[i]);
	PG_RETURN_ARRAYTYPE_P(construct_array(out, n, FLOAT8OID, sizeof(float8),
										  FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
