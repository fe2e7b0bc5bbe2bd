/*
 * estimate.c
 *	  dp_randomized_response_estimate: what randomized answers say about the
 *	  values they hide.
 *
 * An ordinary aggregate over answers, which are public: floating point is
 * allowed.  With k candidates, the truth is answered with probability p and
 * each other candidate with q, which are proportional to
 *
 *		1 and exp(-epsilon), or 3 and 1 for the two coins
 *
 * (k = 2 for booleans).  If n answers hold a candidate c times,
 * (c - n q)/(p - q) estimates without bias how many values do.  Given the
 * values, m of them this candidate, its variance is
 *
 *		(m p(1-p) + (n-m) q(1-q)) / (p - q)^2
 *
 * exactly, which for k = 2 does not depend on m; else the estimate, clamped
 * to [0, n], stands for m.
 *
 * The state is one flat varlena in the aggregate's memory context: a header,
 * a counter per candidate, and a copy of the candidates' array (none for
 * booleans).  Its serial form is the state itself; counters add up, so every
 * plan ends with the same state.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "local.h"

#define ESTIMATE_COLUMNS 5		/* n, count, its error, fraction, its error */

typedef struct dp_answers
{
	int32		header;			/* varlena length */
	int32		n;				/* candidates; 2 for booleans */
	float8		epsilon;		/* 0: the two coins */
	int64		counts[FLEXIBLE_ARRAY_MEMBER];	/* then the array, if any */
} dp_answers;

PG_FUNCTION_INFO_V1(dp_response_add_coins);
PG_FUNCTION_INFO_V1(dp_response_add_numeric);
PG_FUNCTION_INFO_V1(dp_response_add_float);
PG_FUNCTION_INFO_V1(dp_response_add_among_numeric);
PG_FUNCTION_INFO_V1(dp_response_add_among_float);
PG_FUNCTION_INFO_V1(dp_response_combine);
PG_FUNCTION_INFO_V1(dp_response_serialize);
PG_FUNCTION_INFO_V1(dp_response_deserialize);
PG_FUNCTION_INFO_V1(dp_response_final);
PG_FUNCTION_INFO_V1(dp_response_final_among);

/* Offset of the candidates' array; a multiple of 8. */
static inline Size
counters_end(int n)
{
	return offsetof(dp_answers, counts) + sizeof(int64) * n;
}

static inline ArrayType *
answers_array(dp_answers *answers)
{
	Size		end = counters_end(answers->n);

	return VARSIZE(answers) > end ?
		(ArrayType *) ((char *) answers + end) : NULL;
}

static MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	dp_bridge_require_aggregate(fcinfo, &context);
	return context;
}

static dp_answers *
make_answers(MemoryContext context, int n, float8 epsilon, ArrayType *array)
{
	Size		size = counters_end(n) + (array ? VARSIZE(array) : 0);
	dp_answers *made = MemoryContextAllocZero(context, size);

	SET_VARSIZE(made, size);
	made->n = n;
	made->epsilon = epsilon;
	if (array != NULL)
		memcpy((char *) made + counters_end(n), array, VARSIZE(array));
	return made;
}

/* Check that two states, or a state and its next row, are of one mechanism. */
static void
check_same(dp_answers *answers, float8 epsilon, ArrayType *array)
{
	ArrayType  *own = answers_array(answers);

	if (answers->epsilon != epsilon || (own == NULL) != (array == NULL) ||
		(own != NULL && (VARSIZE(own) != VARSIZE(array) ||
						 memcmp(own, array, VARSIZE(own)) != 0)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("epsilon and candidates must be the same for all "
						"answers of one estimate"),
				 errhint("Group by them, or estimate each kind of answers by "
						 "itself.")));
}

static float8
approximate(const dp_rational *x)
{
	return (float8) ((long double) x->num / (long double) x->den);
}

/* Add an answer, by the index of its candidate. */
static Datum
add_answer(FunctionCallInfo fcinfo, int n, float8 epsilon, ArrayType *array,
		   int index)
{
	MemoryContext context = aggregate_context(fcinfo);
	dp_answers *answers;

	if (PG_ARGISNULL(0))
		answers = make_answers(context, n, epsilon, array);
	else
	{
		answers = (dp_answers *) PG_GETARG_POINTER(0);
		check_same(answers, epsilon, array);
	}
	answers->counts[index]++;
	PG_RETURN_POINTER(answers);
}

/* The state as it is: what a NULL answer leaves. */
static Datum
same_state(FunctionCallInfo fcinfo)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(PG_GETARG_POINTER(0));
}

static Datum
add_boolean(FunctionCallInfo fcinfo, float8 epsilon)
{
	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	return add_answer(fcinfo, 2, epsilon, NULL, PG_GETARG_BOOL(1) ? 1 : 0);
}

static Datum
add_among(FunctionCallInfo fcinfo, float8 epsilon)
{
	const dp_candidates *candidates = dp_local_read_candidates(fcinfo, 2);
	int			index;

	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	index = dp_local_find_candidate(candidates, PG_GETARG_DATUM(1));
	if (index < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an answer is not one of the candidates"),
				 errhint("Give the candidates from which the answers were "
						 "drawn.")));
	return add_answer(fcinfo, candidates->n, epsilon, candidates->array,
					  index);
}

/*
 * dp_response_add_coins
 *	  Transition: an answer of the two coins; NULL answers are skipped, here
 *	  and in all the others.
 */
Datum
dp_response_add_coins(PG_FUNCTION_ARGS)
{
	return add_boolean(fcinfo, 0);
}

/*
 * dp_response_add_numeric
 *	  Transition: a boolean answer drawn with this epsilon.
 */
Datum
dp_response_add_numeric(PG_FUNCTION_ARGS)
{
	return add_boolean(fcinfo,
					   approximate(dp_local_read_numeric(fcinfo, 2, false)));
}

/*
 * dp_response_add_float
 *	  The same.
 */
Datum
dp_response_add_float(PG_FUNCTION_ARGS)
{
	return add_boolean(fcinfo,
					   approximate(dp_local_read_float(fcinfo, 2, false)));
}

/*
 * dp_response_add_among_numeric
 *	  Transition: an answer drawn among candidates with this epsilon.
 */
Datum
dp_response_add_among_numeric(PG_FUNCTION_ARGS)
{
	return add_among(fcinfo,
					 approximate(dp_local_read_numeric(fcinfo, 3, false)));
}

/*
 * dp_response_add_among_float
 *	  The same.
 */
Datum
dp_response_add_among_float(PG_FUNCTION_ARGS)
{
	return add_among(fcinfo,
					 approximate(dp_local_read_float(fcinfo, 3, false)));
}

/*
 * dp_response_combine
 *	  Adds two states; the first is updated in place.
 */
Datum
dp_response_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	dp_answers *answers;
	dp_answers *more;
	int			i;

	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	more = (dp_answers *) PG_GETARG_POINTER(1);
	if (PG_ARGISNULL(0))
		answers = make_answers(context, more->n, more->epsilon,
							   answers_array(more));
	else
	{
		answers = (dp_answers *) PG_GETARG_POINTER(0);
		check_same(answers, more->epsilon, answers_array(more));
	}
	for (i = 0; i < answers->n; i++)
		answers->counts[i] += more->counts[i];
	PG_RETURN_POINTER(answers);
}

/*
 * dp_response_serialize
 *	  The state itself.
 */
Datum
dp_response_serialize(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	PG_RETURN_BYTEA_P(PG_GETARG_POINTER(0));
}

/*
 * dp_response_deserialize
 *	  An aligned copy of what another process serialized.
 */
Datum
dp_response_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *sent;
	char	   *copy;

	aggregate_context(fcinfo);
	sent = PG_GETARG_BYTEA_P(0);
	copy = palloc(VARSIZE(sent));
	memcpy(copy, sent, VARSIZE(sent));
	PG_RETURN_POINTER(copy);
}

/* The columns of one candidate's estimate. */
static void
estimate(const dp_answers *answers, int index, Datum *values)
{
	bool		coins = answers->epsilon == 0;
	float8		truth = coins ? 3 : 1;
	float8		other = coins ? 1 : exp(-answers->epsilon);
	float8		gap = coins ? 2 : -expm1(-answers->epsilon);
	float8		k = answers->n;
	int64		rows = 0;
	float8		n;
	float8		count;
	float8		held;
	float8		deviation;
	int			i;

	for (i = 0; i < answers->n; i++)
		rows += answers->counts[i];
	n = (float8) rows;
	count = (answers->counts[index] * (truth + (k - 1) * other) - n * other) /
		gap;
	held = Max(0, Min(n, count));
	deviation = sqrt(other * (held * (k - 1) * truth +
							  (n - held) * (truth + (k - 2) * other))) / gap;
	values[0] = Int64GetDatum(rows);
	values[1] = Float8GetDatum(count);
	values[2] = Float8GetDatum(deviation);
	values[3] = Float8GetDatum(count / n);
	values[4] = Float8GetDatum(deviation / n);
}

/* A row of the composite type. */
static Datum
make_row(Oid type, Datum *values)
{
	TupleDesc	columns = lookup_rowtype_tupdesc(type, -1);
	bool		nulls[ESTIMATE_COLUMNS + 1] = {0};
	Datum		row;

	row = HeapTupleGetDatum(heap_form_tuple(columns, values, nulls));
	ReleaseTupleDesc(columns);
	return row;
}

/*
 * dp_response_final
 *	  Final function of booleans: a dp_pg.response_estimate of the true ones;
 *	  NULL without answers.
 */
Datum
dp_response_final(PG_FUNCTION_ARGS)
{
	Datum		values[ESTIMATE_COLUMNS];

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	estimate((dp_answers *) PG_GETARG_POINTER(0), 1, values);
	return make_row(get_func_rettype(fcinfo->flinfo->fn_oid), values);
}

/*
 * dp_response_final_among
 *	  Final function of candidates: an array of dp_pg.candidate_estimate in
 *	  the caller's order; NULL without answers.
 */
Datum
dp_response_final_among(PG_FUNCTION_ARGS)
{
	Oid			type =
		get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	dp_answers *answers;
	ArrayType  *array;
	Datum	   *candidates;
	Datum	   *rows;
	Oid			output;
	bool		varlena;
	bool		byval;
	char		align;
	int16		length;
	int			n;
	int			i;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	answers = (dp_answers *) PG_GETARG_POINTER(0);
	array = answers_array(answers);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &byval, &align);
	getTypeOutputInfo(ARR_ELEMTYPE(array), &output, &varlena);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, byval, align,
					  &candidates, NULL, &n);
	rows = palloc(sizeof(Datum) * n);
	for (i = 0; i < n; i++)
	{
		Datum		values[ESTIMATE_COLUMNS + 1];

		values[0] = CStringGetTextDatum(OidOutputFunctionCall(output,
															  candidates[i]));
		estimate(answers, i, values + 1);
		rows[i] = make_row(type, values);
	}
	PG_RETURN_ARRAYTYPE_P(construct_array(rows, n, type, -1, false,
										  TYPALIGN_DOUBLE));
}
