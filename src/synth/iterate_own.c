/*
 * iterate_own.c
 *	  dp_iterate with an update algorithm of the caller's own: a function of
 *	  public numbers, called in the caller's connection and with the caller's
 *	  rights, between rounds that are charged and read one by one.
 *
 * While the function runs nothing private is held anywhere: the round before
 * has released its step, durably, and the next one has not begun.  So it may
 * do what the caller may do, fail, or never return; all it decides are the
 * guesses of the next round, which is verified and charged anew with the
 * relation, the rights and the role as they are then (T129).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "iterate.h"

#define NARGUMENTS 6
#define SIGNATURE "(hypothesis double precision[], query double " \
	"precision[], guess bigint, answer bigint, n bigint, round integer) " \
	"RETURNS double precision[]"
#define SUM_TOLERANCE 1e-6

/* ---- the function ---- */

static Oid
find_function(const char *name)
{
	Oid			arguments[NARGUMENTS] = {FLOAT8ARRAYOID, FLOAT8ARRAYOID,
	INT8OID, INT8OID, INT8OID, INT4OID};
	List	   *names = textToQualifiedNameList(cstring_to_text(name));
	Oid			function = LookupFuncName(names, NARGUMENTS, arguments, true);

	if (!OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown update \"%s\"", name),
				 errdetail("It is multiplicative, median, or the name of a "
						   "function of yours."),
				 errhint("Such a function has this form: %s" SIGNATURE ".",
						 name)));
	return function;
}

static void
check_result(Oid function, const char *name)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	bool		right;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	right = form->prokind == PROKIND_FUNCTION && !form->proretset &&
		form->prorettype == FLOAT8ARRAYOID;
	ReleaseSysCache(tuple);
	if (!right)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("update function %s does not return one array of "
						"double precision", name),
				 errhint("Write %s" SIGNATURE ".", name)));
}

static char *
qualified_name(Oid function)
{
	char	   *schema = get_namespace_name(get_func_namespace(function));

	return quote_qualified_identifier(schema, get_func_name(function));
}

static void
take_function(dp_own_update *own, Oid function)
{
	AclResult	right = object_aclcheck(ProcedureRelationId, function,
										GetUserId(), ACL_EXECUTE);

	if (right != ACLCHECK_OK)
		aclcheck_error(right, OBJECT_FUNCTION, own->name);
	InvokeFunctionExecuteHook(function);
	check_result(function, own->name);
	fmgr_info(function, &own->function);
}

/*
 * dp_synth_own_find
 *	  The update function of that name, with the caller's right to execute it.
 *
 * Errors: 42601, 42602 not a name; 22023 no such function; 42804 it returns
 * something else; 42501.
 */
dp_own_update *
dp_synth_own_find(const char *name)
{
	dp_own_update *own = palloc0(sizeof(dp_own_update));
	Oid			function = find_function(name);

	own->name = qualified_name(function);
	take_function(own, function);
	return own;
}

/*
 * Look the function up again, before a round is charged: meanwhile it may have
 * been dropped or replaced, or the right to it revoked.
 */
static void
find_again(dp_own_update *own)
{
	Oid			function = own->function.fn_oid;

	if (!SearchSysCacheExists1(PROCOID, ObjectIdGetDatum(function)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("update function %s does not exist any more",
						own->name),
				 errdetail("Rounds before round %d stay charged.",
						   own->round),
				 errhint("The steps so far are in dp_pg.releases.")));
	take_function(own, function);
}

/*
 * dp_synth_own_begin
 *	  Keep the price of all updates, and plan one round at a time.
 */
void
dp_synth_own_begin(dp_iteration *s)
{
	s->own->epsilon = s->epsilon_fixed;
	s->own->delta = s->delta;
	s->own->updates = s->terms.rounds;
	s->terms.rounds = 1;
}

/* ---- its arguments ---- */

static Datum
array_of(const double *x, int64 n)
{
	Datum	   *elements = palloc_extended(sizeof(Datum) * n,
										   MCXT_ALLOC_HUGE);
	int64		i;

	for (i = 0; i < n; i++)
		elements[i] = Float8GetDatum(x[i]);
	return PointerGetDatum(construct_array(elements, (int) n, FLOAT8OID,
										   sizeof(float8), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

/* The weights of the cells by a query. */
static Datum
query_array(const dp_iteration *s, int64 query)
{
	const int32 *weights = s->weights + query * s->terms.cells;
	double	   *x = palloc_extended(sizeof(double) * s->terms.cells,
									MCXT_ALLOC_HUGE);
	int64		i;

	for (i = 0; i < s->terms.cells; i++)
		x[i] = (double) weights[i] / (double) s->terms.one;
	return array_of(x, s->terms.cells);
}

/* A noisy answer, which is public, clamped to bigint. */
static int64
clamped(dp_int128 answer)
{
	return answer > PG_INT64_MAX ? PG_INT64_MAX :
		answer < PG_INT64_MIN ? PG_INT64_MIN : (int64) answer;
}

/* ---- its result ---- */

static void
raise_result(const dp_own_update *own, int sqlstate, const char *what,
			 const char *hint)
{
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("update function %s returned %s", own->name, what),
			 errdetail("In round %d. What was charged stays charged, and the "
					   "steps so far are in dp_pg.releases.", own->round),
			 errhint("%s", hint)));
}

static void
take_element(dp_iteration *s, int i, Datum value, bool isnull)
{
	double		x = isnull ? 0 : DatumGetFloat8(value);

	if (isnull)
		raise_result(s->own, ERRCODE_NULL_VALUE_NOT_ALLOWED,
					 psprintf("NULL for cell %d", i + 1),
					 "Return a probability for each cell.");
	if (!(x >= 0 && x <= 1 + SUM_TOLERANCE))
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 psprintf("no probability for cell %d", i + 1),
					 "Each element must be from 0 to 1.");
	s->probability[i] = x;
}

/* Check and take the next hypothesis. */
static void
take_hypothesis(dp_iteration *s, ArrayType *array)
{
	const char *hint = "Return one probability for each cell, in the order of "
		"the hypothesis that is given.";
	Datum	   *values;
	bool	   *nulls;
	long double sum = 0;
	int			n;
	int			i;

	if (ARR_NDIM(array) != 1)
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 "no array of one dimension", hint);
	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
					  TYPALIGN_DOUBLE, &values, &nulls, &n);
	if (n != s->terms.cells)
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 psprintf("%d elements for " INT64_FORMAT " cells", n,
							  s->terms.cells), hint);
	for (i = 0; i < n; i++)
	{
		take_element(s, i, values[i], nulls[i]);
		sum += s->probability[i];
	}
	if (fabsl(sum - 1) > SUM_TOLERANCE)
		raise_result(s->own, ERRCODE_INVALID_PARAMETER_VALUE,
					 psprintf("probabilities that add up to %.6g",
							  (double) sum), "Divide each by their sum.");
}

static void
update(dp_iteration *s)
{
	LOCAL_FCINFO(call, NARGUMENTS);
	const dp_iterate_step *step = &s->steps[0];
	Datum		result;
	int			i;

	InitFunctionCallInfoData(*call, &s->own->function, NARGUMENTS, InvalidOid,
							 NULL, NULL);
	call->args[0].value = array_of(s->probability, s->terms.cells);
	call->args[1].value = query_array(s, step->query);
	call->args[2].value = Int64GetDatum(step->guess);
	call->args[3].value = Int64GetDatum(clamped(step->answer));
	call->args[4].value = Int64GetDatum(s->terms.n);
	call->args[5].value = Int32GetDatum(s->own->round);
	for (i = 0; i < NARGUMENTS; i++)
		call->args[i].isnull = false;
	result = FunctionCallInvoke(call);
	if (call->isnull)
		raise_result(s->own, ERRCODE_NULL_VALUE_NOT_ALLOWED, "NULL",
					 "Return the given hypothesis to leave it as "
					 "it is.");
	take_hypothesis(s, DatumGetArrayTypeP(result));
}

/* ---- rounds ---- */

static bool
is_near(const dp_iteration *s)
{
	const dp_iterate_step *step = &s->steps[0];

	return fabs((double) (step->answer - step->guess)) < s->terms.near;
}

/* Settings of how many rows of a unit count may have changed meanwhile. */
static void
prepare_again(dp_iteration *s)
{
	find_again(s->own);
	dp_synth_iterate_prepare(s);
	if (s->reading->sensitivity == s->own->sensitivity)
		return;
	s->own->sensitivity = s->reading->sensitivity;
	ereport(NOTICE,
			(errmsg("from round %d on other settings hold", s->own->round),
			 errdetail("%s", dp_synth_iterate_bounds_text(s))));
}

/* Run a round; false: it is the last. */
static bool
run_round(dp_iteration *s)
{
	if (s->own->round > 1)
		prepare_again(s);
	dp_model_iterate_guess(&s->terms, s->weights, s->probability,
						   (int64 *) ((char *) s->weights +
									  dp_synth_iterate_weights(&s->terms)));
	dp_synth_iterate_release(s);
	if (is_near(s))
		return false;
	update(s);
	return true;
}

/*
 * dp_synth_own_run
 *	  All rounds, from the uniform distribution; the last hypothesis is
 *	  s->probability.  The first round has been prepared.
 *
 * Errors: those of the function, and of what it returned; in each round those
 * of a reading and of a charge.  The rounds before stay charged.
 * Source: doc/theory.md T129.
 */
void
dp_synth_own_run(dp_iteration *s)
{
	MemoryContext each = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg update",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(each);
	bool		more = true;
	int64		i;

	s->own->sensitivity = s->reading->sensitivity;
	for (i = 0; i < s->terms.cells; i++)
		s->probability[i] = 1 / (double) s->terms.cells;
	for (s->own->round = 1; more && s->own->round <= s->own->updates;
		 s->own->round++)
	{
		CHECK_FOR_INTERRUPTS();
		more = run_round(s);
		MemoryContextReset(each);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(each);
}
