/*
 * local.c
 *	  Randomized response, and what is estimated from it.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../base/dp_base.h"

/* Public candidates: at least two, none NULL, no two equal. */
typedef struct dp_candidates
{
	ArrayType  *array;			/* copy of what the caller gave */
	TypeCacheEntry *type;
	Oid			collation;
	int			n;
	Datum	   *values;			/* in the caller's order, within array */
	int		   *sorted;			/* indexes in btree order; NULL: no btree */
} dp_candidates;

/*
 * Hangs in fn_extra of a call site and lives as long as its FmgrInfo.  An
 * argument is parsed again only when its bytes differ from those seen last:
 * an argument that is constant within a query may still change between two
 * evaluations of one PL/pgSQL expression.
 */
typedef struct dp_local_site
{
	MemoryContext context;		/* of the FmgrInfo */
	MemoryContext choice;		/* of candidates */
	bool		ready;			/* epsilon is parsed */
	Numeric		text;			/* epsilon as given, if numeric */
	float8		number;			/* epsilon as given, if double precision */
	dp_rational epsilon;
	dp_candidates *candidates;
} dp_local_site;

/* ----------------
 *		Epsilon and candidates of the local model, parsed once per call site.
 * ----------------
 */

/* The memory of this call site; never NULL. */
static dp_local_site *
call_site(FunctionCallInfo fcinfo)
{
	dp_local_site *site = fcinfo->flinfo->fn_extra;

	if (site == NULL)
	{
		site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
									  sizeof(dp_local_site));
		site->context = fcinfo->flinfo->fn_mcxt;
		fcinfo->flinfo->fn_extra = site;
	}
	return site;
}

/*
 * An exact positive epsilon, or 22023.  Only drawing is bound by the server's
 * ceiling, not an estimate from answers drawn before.  The floor is about
 * charges, and nothing is charged here.
 */
static dp_rational
read_epsilon(Numeric x, bool limited)
{
	dp_rational epsilon;

	if (!limited &&
		dp_base_numeric_to_rational(x, &epsilon) == DP_NUMBER_OK &&
		epsilon.num != 0)
		return epsilon;
	return dp_base_check_price(x, x == NULL, "epsilon");
}

/*
 * local_read_numeric
 *	  A numeric argument as an exact positive epsilon; 22023 when it is NULL,
 *	  not a positive number, finer than 10^-24 or, if limited, outside what
 *	  the server allows.
 */
static const dp_rational *
local_read_numeric(FunctionCallInfo fcinfo, int argument, bool limited)
{
	dp_local_site *site = call_site(fcinfo);
	Numeric		x;

	if (PG_ARGISNULL(argument))
		read_epsilon(NULL, limited);
	x = PG_GETARG_NUMERIC(argument);
	if (!site->ready || VARSIZE(x) != VARSIZE(site->text) ||
		memcmp(x, site->text, VARSIZE(x)) != 0)
	{
		Numeric		old = site->text;

		site->ready = false;
		site->epsilon = read_epsilon(x, limited);
		site->text = MemoryContextAlloc(site->context, VARSIZE(x));
		memcpy(site->text, x, VARSIZE(x));
		site->ready = true;
		if (old != NULL)
			pfree(old);
	}
	PG_FREE_IF_COPY(x, argument);
	return &site->epsilon;
}

/*
 * read_float
 *	  The same for a double precision argument, read by its shortest decimal
 *	  text.
 */
static const dp_rational *
read_float(FunctionCallInfo fcinfo, int argument, bool limited)
{
	dp_local_site *site = call_site(fcinfo);
	float8		x;

	if (PG_ARGISNULL(argument))
		read_epsilon(NULL, limited);
	x = PG_GETARG_FLOAT8(argument);
	if (!site->ready || x != site->number)
	{
		site->ready = false;
		site->epsilon = read_epsilon(dp_base_float8_to_numeric(x), limited);
		site->number = x;
		site->ready = true;
	}
	return &site->epsilon;
}

static int
local_compare_values(Datum a, Datum b, const dp_candidates *candidates)
{
	return DatumGetInt32(FunctionCall2Coll(&candidates->type->cmp_proc_finfo,
										   candidates->collation, a, b));
}

static bool
local_equal_values(Datum a, Datum b, const dp_candidates *candidates)
{
	return DatumGetBool(FunctionCall2Coll(&candidates->type->eq_opr_finfo,
										  candidates->collation, a, b));
}

/* qsort_arg comparator of indexes. */
static int
compare_indexes(const void *a, const void *b, void *arg)
{
	const dp_candidates *candidates = arg;

	return local_compare_values(candidates->values[*(const int *) a],
								candidates->values[*(const int *) b],
								candidates);
}

static void
local_raise_candidates(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("candidates must be all possible values, each once"),
			 errdetail("%s", detail),
			 errhidestmt(true),
			 errhint("Give a one-dimensional array of two or more different "
					 "values.")));
}

/* Sorts the candidates, if their type has an order, and refuses equal ones. */
static void
sort_candidates(dp_candidates *candidates)
{
	int			i;
	int			j;

	if (OidIsValid(candidates->type->cmp_proc_finfo.fn_oid))
	{
		candidates->sorted = palloc(sizeof(int) * candidates->n);
		for (i = 0; i < candidates->n; i++)
			candidates->sorted[i] = i;
		qsort_arg(candidates->sorted, candidates->n, sizeof(int),
				  compare_indexes, candidates);
		for (i = 1; i < candidates->n; i++)
			if (compare_indexes(&candidates->sorted[i - 1],
								&candidates->sorted[i], candidates) == 0)
				local_raise_candidates("Two of them are equal.");
		return;
	}
	for (i = 1; i < candidates->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < i; j++)
			if (local_equal_values(candidates->values[i],
								   candidates->values[j], candidates))
				local_raise_candidates("Two of them are equal.");
	}
}

static dp_candidates *
make_candidates(ArrayType *array, Oid collation)
{
	dp_candidates *made = palloc0(sizeof(dp_candidates));

	if (ARR_NDIM(array) > 1)
		local_raise_candidates("The array has several dimensions.");
	if (array_contains_nulls(array))
		local_raise_candidates("One of them is NULL.");
	made->type = lookup_type_cache(ARR_ELEMTYPE(array),
								   TYPECACHE_CMP_PROC_FINFO |
								   TYPECACHE_EQ_OPR_FINFO);
	if (!OidIsValid(made->type->eq_opr_finfo.fn_oid))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an equality operator for type %s",
						format_type_be(ARR_ELEMTYPE(array)))));
	made->collation = collation;
	made->array = palloc(VARSIZE(array));
	memcpy(made->array, array, VARSIZE(array));
	deconstruct_array(made->array, ARR_ELEMTYPE(array), made->type->typlen,
					  made->type->typbyval, made->type->typalign,
					  &made->values, NULL, &made->n);
	if (made->n < 2)
		local_raise_candidates("There are fewer than two.");
	sort_candidates(made);
	return made;
}

/*
 * local_read_candidates
 *	  An array argument as candidates: 22023 when it is NULL, has several
 *	  dimensions, fewer than two elements, a NULL or two equal elements; 42883
 *	  when the type has no equality.
 */
static const dp_candidates *
local_read_candidates(FunctionCallInfo fcinfo, int argument)
{
	dp_local_site *site = call_site(fcinfo);
	MemoryContext before;
	ArrayType  *array;

	if (PG_ARGISNULL(argument))
		local_raise_candidates("The array is NULL.");
	array = PG_GETARG_ARRAYTYPE_P(argument);
	if (site->candidates == NULL ||
		VARSIZE(array) != VARSIZE(site->candidates->array) ||
		memcmp(array, site->candidates->array, VARSIZE(array)) != 0)
	{
		if (site->choice == NULL)
			site->choice = AllocSetContextCreate(site->context,
												 "dp_pg candidates",
												 ALLOCSET_SMALL_SIZES);
		site->candidates = NULL;
		MemoryContextReset(site->choice);
		before = MemoryContextSwitchTo(site->choice);
		site->candidates = make_candidates(array, PG_GET_COLLATION());
		MemoryContextSwitchTo(before);
	}
	PG_FREE_IF_COPY(array, argument);
	return site->candidates;
}

/*
 * find_candidate
 *	  Which candidate equals the value, by its type's default equality: its
 *	  place in the caller's order, -1 for none.
 */
static int
find_candidate(const dp_candidates *candidates, Datum value)
{
	int			low = 0;
	int			high = candidates->n;
	int			i;

	if (candidates->sorted == NULL)
	{
		for (i = 0; i < candidates->n; i++)
			if (local_equal_values(value, candidates->values[i], candidates))
				return i;
		return -1;
	}
	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int			order;

		i = candidates->sorted[middle];
		order = local_compare_values(value, candidates->values[i], candidates);
		if (order == 0)
			return i;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}

/* ----------------
 *		Randomized response: the local model of differential privacy.
 *
 * The owner of a value draws a random answer and stores the answer, not the
 * value: whoever reads the table later, the database administrator included,
 * sees only answers, each of which is epsilon-differentially private by
 * itself (doc/theory.md T14).  So nothing is charged: no ledger, no budget,
 * no protected relation takes part.  Inside a private query these functions
 * are refused like every function that is not on the list.
 *
 * The answer is always one of the public candidates, byte for byte as the
 * caller spelled it in the list, never the bytes of the value: 1.0 and 1.00
 * are one candidate.  A NULL or a value that is no candidate is an error
 * without the value, and without the statement, in which a value may stand, in
 * the server's log.
 * ----------------
 */

PG_FUNCTION_INFO_V1(dp_randomized_response_coins);
PG_FUNCTION_INFO_V1(dp_randomized_response_numeric);
PG_FUNCTION_INFO_V1(dp_randomized_response_float);
PG_FUNCTION_INFO_V1(dp_randomized_response_among_numeric);
PG_FUNCTION_INFO_V1(dp_randomized_response_among_float);

/* Raises 22023 for a NULL value. */
static void
local_check_value(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the value of a randomized response must not be "
						"NULL"),
				 errdetail("A NULL answer would show that the value is "
						   "missing."),
				 errhint("Use coalesce(), or a candidate that stands for "
						 "missing values."),
				 errhidestmt(true), errhidecontext(true)));
}

static Datum
respond(FunctionCallInfo fcinfo, const dp_rational *epsilon)
{
	bool		answer;
	dp_status	status =
		dp_noise_randomized_response(dp_base_source(), epsilon,
									 PG_GETARG_BOOL(0), &answer);

	dp_base_check_status(status, "draw a random answer");
	PG_RETURN_BOOL(answer);
}

static Datum
respond_among(FunctionCallInfo fcinfo, const dp_rational *epsilon)
{
	const dp_candidates *candidates = local_read_candidates(fcinfo, 1);
	dp_status	status;
	uint64		answer;
	int			truth;

	local_check_value(fcinfo);
	truth = find_candidate(candidates, PG_GETARG_DATUM(0));
	if (truth < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the value of a randomized response is not one of the "
						"candidates"),
				 errdetail("The candidates must be all possible values.  The "
						   "value is not shown."),
				 errhint("Map rare values to one candidate that stands for "
						 "all others."),
				 errhidestmt(true), errhidecontext(true)));
	status = dp_noise_randomized_response_among(dp_base_source(), epsilon,
												truth, candidates->n, &answer);
	dp_base_check_status(status, "draw a random answer");
	/* a copy, since the next call may have other candidates */
	return datumCopy(candidates->values[answer], candidates->type->typbyval,
					 candidates->type->typlen);
}

/*
 * dp_randomized_response(boolean)
 *	  The book's two coins: the truth with probability exactly 3/4.
 */
Datum
dp_randomized_response_coins(PG_FUNCTION_ARGS)
{
	bool		answer;

	local_check_value(fcinfo);
	dp_base_check_status(dp_noise_two_coins(dp_base_source(),
											PG_GETARG_BOOL(0), &answer),
						 "draw a random answer");
	PG_RETURN_BOOL(answer);
}

/*
 * dp_randomized_response(boolean, numeric)
 *	  The truth with probability 1/(1 + exp(-epsilon)).
 */
Datum
dp_randomized_response_numeric(PG_FUNCTION_ARGS)
{
	const dp_rational *epsilon = local_read_numeric(fcinfo, 1, true);

	local_check_value(fcinfo);
	return respond(fcinfo, epsilon);
}

/*
 * dp_randomized_response(boolean, double precision)
 *	  The same.
 */
Datum
dp_randomized_response_float(PG_FUNCTION_ARGS)
{
	const dp_rational *epsilon = read_float(fcinfo, 1, true);

	local_check_value(fcinfo);
	return respond(fcinfo, epsilon);
}

/*
 * dp_randomized_response(anycompatible, anycompatiblearray, numeric)
 *	  The truth with exp(epsilon) times the probability of each other
 *	  candidate.
 */
Datum
dp_randomized_response_among_numeric(PG_FUNCTION_ARGS)
{
	return respond_among(fcinfo, local_read_numeric(fcinfo, 2, true));
}

/*
 * dp_randomized_response(anycompatible, anycompatiblearray, double precision)
 *	  The same.
 */
Datum
dp_randomized_response_among_float(PG_FUNCTION_ARGS)
{
	return respond_among(fcinfo, read_float(fcinfo, 2, true));
}

/* ----------------
 *		dp_randomized_response_estimate: what randomized answers say about the
 *		values they hide.
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
 * ----------------
 */

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

	dp_base_require_aggregate(fcinfo, &context);
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
	const dp_candidates *candidates = local_read_candidates(fcinfo, 2);
	int			index;

	if (PG_ARGISNULL(1))
		return same_state(fcinfo);
	index = find_candidate(candidates, PG_GETARG_DATUM(1));
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
					   approximate(local_read_numeric(fcinfo, 2, false)));
}

/*
 * dp_response_add_float
 *	  The same.
 */
Datum
dp_response_add_float(PG_FUNCTION_ARGS)
{
	return add_boolean(fcinfo,
					   approximate(read_float(fcinfo, 2, false)));
}

/*
 * dp_response_add_among_numeric
 *	  Transition: an answer drawn among candidates with this epsilon.
 */
Datum
dp_response_add_among_numeric(PG_FUNCTION_ARGS)
{
	return add_among(fcinfo,
					 approximate(local_read_numeric(fcinfo, 3, false)));
}

/*
 * dp_response_add_among_float
 *	  The same.
 */
Datum
dp_response_add_among_float(PG_FUNCTION_ARGS)
{
	return add_among(fcinfo,
					 approximate(read_float(fcinfo, 3, false)));
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
