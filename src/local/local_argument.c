/*
 * local_argument.c
 *	  Epsilon and candidates of the local model, parsed once per call site.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "local.h"

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
		dp_bridge_numeric_to_rational(x, &epsilon) == DP_NUMBER_OK &&
		epsilon.num != 0)
		return epsilon;
	return dp_bridge_check_price(x, x == NULL, "epsilon");
}

/*
 * dp_local_read_numeric
 *	  A numeric argument as an exact positive epsilon; 22023 when it is NULL,
 *	  not a positive number, finer than 10^-24 or, if limited, outside what
 *	  the server allows.
 */
const dp_rational *
dp_local_read_numeric(FunctionCallInfo fcinfo, int argument, bool limited)
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
 * dp_local_read_float
 *	  The same for a double precision argument, read by its shortest decimal
 *	  text.
 */
const dp_rational *
dp_local_read_float(FunctionCallInfo fcinfo, int argument, bool limited)
{
	dp_local_site *site = call_site(fcinfo);
	float8		x;

	if (PG_ARGISNULL(argument))
		read_epsilon(NULL, limited);
	x = PG_GETARG_FLOAT8(argument);
	if (!site->ready || x != site->number)
	{
		site->ready = false;
		site->epsilon = read_epsilon(dp_bridge_float8_to_numeric(x), limited);
		site->number = x;
		site->ready = true;
	}
	return &site->epsilon;
}

static int
compare_values(Datum a, Datum b, const dp_candidates *candidates)
{
	return DatumGetInt32(FunctionCall2Coll(&candidates->type->cmp_proc_finfo,
										   candidates->collation, a, b));
}

static bool
equal_values(Datum a, Datum b, const dp_candidates *candidates)
{
	return DatumGetBool(FunctionCall2Coll(&candidates->type->eq_opr_finfo,
										  candidates->collation, a, b));
}

/* qsort_arg comparator of indexes. */
static int
compare_indexes(const void *a, const void *b, void *arg)
{
	const dp_candidates *candidates = arg;

	return compare_values(candidates->values[*(const int *) a],
						  candidates->values[*(const int *) b], candidates);
}

static void
raise_candidates(const char *detail)
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
				raise_candidates("Two of them are equal.");
		return;
	}
	for (i = 1; i < candidates->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < i; j++)
			if (equal_values(candidates->values[i], candidates->values[j],
							 candidates))
				raise_candidates("Two of them are equal.");
	}
}

static dp_candidates *
make_candidates(ArrayType *array, Oid collation)
{
	dp_candidates *made = palloc0(sizeof(dp_candidates));

	if (ARR_NDIM(array) > 1)
		raise_candidates("The array has several dimensions.");
	if (array_contains_nulls(array))
		raise_candidates("One of them is NULL.");
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
		raise_candidates("There are fewer than two.");
	sort_candidates(made);
	return made;
}

/*
 * dp_local_read_candidates
 *	  An array argument as candidates: 22023 when it is NULL, has several
 *	  dimensions, fewer than two elements, a NULL or two equal elements; 42883
 *	  when the type has no equality.
 */
const dp_candidates *
dp_local_read_candidates(FunctionCallInfo fcinfo, int argument)
{
	dp_local_site *site = call_site(fcinfo);
	MemoryContext before;
	ArrayType  *array;

	if (PG_ARGISNULL(argument))
		raise_candidates("The array is NULL.");
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
 * dp_local_find_candidate
 *	  Which candidate equals the value, by its type's default equality: its
 *	  place in the caller's order, -1 for none.
 */
int
dp_local_find_candidate(const dp_candidates *candidates, Datum value)
{
	int			low = 0;
	int			high = candidates->n;
	int			i;

	if (candidates->sorted == NULL)
	{
		for (i = 0; i < candidates->n; i++)
			if (equal_values(value, candidates->values[i], candidates))
				return i;
		return -1;
	}
	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int			order;

		i = candidates->sorted[middle];
		order = compare_values(value, candidates->values[i], candidates);
		if (order == 0)
			return i;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return -1;
}
