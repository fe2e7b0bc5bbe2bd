/*
 * null_on_error.c
 *	  dp_pg.null_on_error: call a built-in function on released values, and
 *	  return NULL where their magnitude makes it fail.
 *
 * Noise can make a divisor 0, a count negative, a sum too large for a cast.
 * What follows released values (split/released.c) is therefore called through
 * this function.  It never meets private rows: expressions over these take the
 * total versions (expression_total.c), which do not start what may fail.
 *
 * An error is caught without a subtransaction, so only functions whose
 * arguments are values with nothing behind them are called: built in, in C,
 * not volatile, parallel safe, returning one value, of numbers, dates, times,
 * texts, bits and addresses.  The errors that are caught say that a number,
 * date or time is out of a range; such a function raises them with nothing
 * held but memory.  All others are raised, as those of a field or format that
 * was written wrongly are: an invalid parameter is out of a range only if no
 * argument is a text, or it is split_part's.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "../../base/dp_compat.h"
#include "../../catalog/dp_catalog.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

/* Arguments before those of the called function. */
#define OWN_ARGUMENTS 2

/* ---- which functions ---- */

/* A number, date, time or interval, which noise can move. */
static bool
is_quantity(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case MONEYOID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case INTERVALOID:
			return true;
		default:
			return false;
	}
}

/* A text, or bits or an address, which functions take beside a number. */
static bool
is_beside_quantity(Oid type, char volatility)
{
	switch (type)
	{
		case TEXTOID:
		case BOOLOID:
			return true;
		case BITOID:
		case VARBITOID:
		case BYTEAOID:
		case INETOID:
		case CIDROID:
			return volatility == PROVOLATILE_IMMUTABLE;
		default:
			return false;
	}
}

/* Whether it takes a quantity, and otherwise only what may be beside one. */
static bool
takes_values(Form_pg_proc form)
{
	bool		found = false;
	int			i;

	for (i = 0; i < form->pronargs; i++)
	{
		Oid			type = form->proargtypes.values[i];

		if (is_quantity(type))
			found = true;
		else if (!is_beside_quantity(type, form->provolatile))
			return false;
	}
	return found && get_typtype(form->prorettype) != TYPTYPE_PSEUDO;
}

/*
 * Built-in, and possibly out of range.  LEAKPROOF ones do not fail, nor those
 * that are total as they are, nor comparisons, which would no longer be known
 * as operators.
 */
static bool
form_may_fail(Form_pg_proc form)
{
	const dp_expression_rule *rule = dp_expressions_find(form->oid);

	if (rule != NULL && rule->symbol == NULL &&
		rule->condition == DP_CONDITION_NONE)
		return false;
	return form->oid < FirstGenbkiObjectId &&
		form->prolang == INTERNALlanguageId &&
		form->prokind == PROKIND_FUNCTION && !form->proretset &&
		form->provolatile != PROVOLATILE_VOLATILE &&
		form->proparallel == PROPARALLEL_SAFE && !form->proleakproof &&
		form->prorettype != BOOLOID && !OidIsValid(form->provariadic) &&
		form->pronargs + OWN_ARGUMENTS <= FUNC_MAX_ARGS && takes_values(form);
}

/* Whether a function has this result type and these argument types. */
static bool
has_types(Form_pg_proc form, Oid result, int nargs, const Oid *types)
{
	return form->prorettype == result && form->pronargs == nargs &&
		memcmp(form->proargtypes.values, types, nargs * sizeof(Oid)) == 0;
}

/* ---- the call in an expression ---- */

static Node *
make_guarded(Node *call, Oid function, List *args, Oid input_collation)
{
	Oid			types[] = {ANYELEMENTOID, REGPROCEDUREOID, ANYOID};
	Oid			type = exprType(call);
	Const	   *result = makeNullConst(type, -1, exprCollation(call));
	Const	   *name = makeConst(REGPROCEDUREOID, -1, InvalidOid, sizeof(Oid),
								 ObjectIdGetDatum(function), false, true);
	FuncExpr   *guarded =
		makeFuncExpr(dp_catalog_function("null_on_error", 3, types), type,
					 lcons(result, lcons(name, list_copy(args))),
					 exprCollation(call), input_collation,
					 COERCE_EXPLICIT_CALL);

	/* not exprLocation, which looks for the leftmost argument below */
	guarded->location = IsA(call, OpExpr) ? ((OpExpr *) call)->location :
		((FuncExpr *) call)->location;
	if (exprTypmod(call) < 0)
		return (Node *) guarded;
	return (Node *) makeRelabelType((Expr *) guarded, type, exprTypmod(call),
									exprCollation(call),
									COERCE_IMPLICIT_CAST);
}

/* The function that a function call or operator calls, or InvalidOid. */
static Oid
function_of(Node *call)
{
	if (IsA(call, OpExpr))
		return get_opcode(((OpExpr *) call)->opno);
	return IsA(call, FuncExpr) ? ((FuncExpr *) call)->funcid : InvalidOid;
}

/* dp_expressions_inline_builtin: see dp_expressions.h. */
Node *
dp_expressions_inline_builtin(Node *call)
{
	Oid			function = function_of(call);
	HeapTuple	tuple;
	Node	   *inlined = call;
	bool		inlines;

	if (function >= FirstGenbkiObjectId)
		return call;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	inlines = HeapTupleIsValid(tuple) &&
		((Form_pg_proc) GETSTRUCT(tuple))->prolang == SQLlanguageId &&
		!((Form_pg_proc) GETSTRUCT(tuple))->proretset;
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	if (inlines)
		inlined = eval_const_expressions(NULL, call);
	return function_of(inlined) == function ? call : inlined;
}

/*
 * Resolve names and defaults of the arguments; false if they are then not of
 * the function's types.
 */
static bool
resolve_arguments(Node *call, HeapTuple tuple, List **args)
{
	Oid			types[FUNC_MAX_ARGS];
	int			n = 0;
	ListCell   *lc;

	*args = expand_function_arguments(*args, false, exprType(call), tuple);
	if (list_length(*args) > FUNC_MAX_ARGS)
		return false;
	foreach(lc, *args)
		types[n++] = exprType(lfirst(lc));
	return has_types((Form_pg_proc) GETSTRUCT(tuple), exprType(call), n,
					 types);
}

/* dp_expressions_null_on_error: see dp_expressions.h. */
Node *
dp_expressions_null_on_error(Node *call)
{
	Oid			function = function_of(call);
	List	   *args = IsA(call, OpExpr) ? ((OpExpr *) call)->args :
		((FuncExpr *) call)->args;
	HeapTuple	tuple;
	bool		guards;

	if (function >= FirstGenbkiObjectId)
		return call;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return call;
	guards = form_may_fail((Form_pg_proc) GETSTRUCT(tuple)) &&
		resolve_arguments(call, tuple, &args);
	ReleaseSysCache(tuple);
	return guards ? make_guarded(call, function, args,
								 exprInputCollation(call)) : call;
}

/* ---- the function ---- */

typedef struct guarded_call
{
	FmgrInfo	function;
	MemoryContext context;		/* of what it keeps, if it is not the first */
	int			nargs;
	bool		texts;			/* an argument is a text, such as a field */
} guarded_call;

static void
forbid_function(Oid function, Form_pg_proc form, FunctionCallInfo fcinfo)
{
	Oid			types[FUNC_MAX_ARGS];
	int			n = PG_NARGS() - OWN_ARGUMENTS;
	int			i;

	if (!form_may_fail(form))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("dp_pg.null_on_error cannot call %s",
						format_procedure(function)),
				 errdetail("It calls built-in functions of numbers, dates and "
						   "times, beside texts, booleans, bits and "
						   "addresses, that are parallel safe, not volatile "
						   "and not LEAKPROOF and do not return boolean or a "
						   "set."),
				 errhint("Call the function itself.")));
	for (i = 0; i < n; i++)
		types[i] = get_fn_expr_argtype(fcinfo->flinfo, i + OWN_ARGUMENTS);
	if (get_fn_expr_variadic(fcinfo->flinfo) ||
		!has_types(form, get_fn_expr_rettype(fcinfo->flinfo), n, types))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("types of dp_pg.null_on_error are not those of %s",
						format_procedure(function)),
				 errhint("Cast the first argument to the function's result "
						 "type, and the others to the types of its "
						 "arguments.")));
}

/* The call's own expression: constructors of ranges look at its type. */
static Node *
own_expression(Oid function, FunctionCallInfo fcinfo)
{
	const FuncExpr *call = (FuncExpr *) fcinfo->flinfo->fn_expr;

	return (Node *) makeFuncExpr(function, call->funcresulttype,
								 list_copy_tail(call->args, OWN_ARGUMENTS),
								 call->funccollid, call->inputcollid,
								 COERCE_EXPLICIT_CALL);
}

/* Forget the function before; what the next one keeps goes here. */
static MemoryContext
next_context(guarded_call *call, MemoryContext parent)
{
	call->function.fn_oid = InvalidOid;
	if (call->context == NULL)
		call->context = AllocSetContextCreate(parent, "dp_pg guarded call",
											  ALLOCSET_SMALL_SIZES);
	else
		MemoryContextReset(call->context);
	return call->context;
}

static guarded_call *
prepare_call(Oid function, FunctionCallInfo fcinfo)
{
	FmgrInfo   *own = fcinfo->flinfo;
	guarded_call *call = own->fn_extra;
	MemoryContext context = own->fn_mcxt;
	MemoryContext old;
	HeapTuple	tuple;
	Node	   *expression;
	int			i;

	if (call != NULL && OidIsValid(function) &&
		call->function.fn_oid == function)
		return call;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple) || own->fn_expr == NULL ||
		!IsA(own->fn_expr, FuncExpr))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("dp_pg.null_on_error has no function to call")));
	forbid_function(function, (Form_pg_proc) GETSTRUCT(tuple), fcinfo);
	ReleaseSysCache(tuple);
	if (object_aclcheck(ProcedureRelationId, function, GetUserId(),
						ACL_EXECUTE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION,
					   get_func_name(function));
	if (call == NULL)
		own->fn_extra = call = MemoryContextAllocZero(context,
													  sizeof(guarded_call));
	else
		context = next_context(call, context);
	old = MemoryContextSwitchTo(context);
	expression = own_expression(function, fcinfo);
	call->nargs = PG_NARGS() - OWN_ARGUMENTS;
	call->texts = false;
	for (i = 0; i < call->nargs && function != F_SPLIT_PART; i++)
		call->texts |= get_fn_expr_argtype(own, i + OWN_ARGUMENTS) == TEXTOID;
	fmgr_info(function, &call->function);
	fmgr_info_set_expr(expression, &call->function);
	MemoryContextSwitchTo(old);
	return call;
}

/* Whether an error says that a value is out of a range. */
static bool
is_out_of_range(int code, bool texts)
{
	switch (code)
	{
		case ERRCODE_INVALID_PARAMETER_VALUE:
		case ERRCODE_FEATURE_NOT_SUPPORTED:
			return !texts;
		case ERRCODE_DATA_EXCEPTION:
		case ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE:
		case ERRCODE_DATETIME_VALUE_OUT_OF_RANGE:
		case ERRCODE_INTERVAL_FIELD_OVERFLOW:
		case ERRCODE_DIVISION_BY_ZERO:
		case ERRCODE_INVALID_ARGUMENT_FOR_LOG:
		case ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION:
		case ERRCODE_INVALID_ARGUMENT_FOR_WIDTH_BUCKET_FUNCTION:
		case ERRCODE_SUBSTRING_ERROR:
		case ERRCODE_ARRAY_SUBSCRIPT_ERROR:
		case ERRCODE_PROGRAM_LIMIT_EXCEEDED:
			return true;
		default:
			return false;
	}
}

static Datum
call_guarded(FunctionCallInfo call, bool texts, bool *isnull)
{
	MemoryContext context = CurrentMemoryContext;
	volatile Datum result = (Datum) 0;
	volatile bool failed = false;

	PG_TRY();
	{
		result = FunctionCallInvoke(call);
	}
	PG_CATCH();
	{
		if (!is_out_of_range(geterrcode(), texts))
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		failed = true;
	}
	PG_END_TRY();
	*isnull = failed || call->isnull;
	return result;
}

PG_FUNCTION_INFO_V1(dp_null_on_error);

/*
 * dp_null_on_error
 *	  SQL: dp_pg.null_on_error(result anyelement, function regprocedure,
 *	  VARIADIC "any"): what the function returns for the other arguments, or
 *	  NULL where these are out of a range.
 */
Datum
dp_null_on_error(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(inner, FUNC_MAX_ARGS);
	guarded_call *call;
	bool		isnull = false;
	Datum		result;
	int			i;

	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	call = prepare_call(PG_GETARG_OID(1), fcinfo);
	InitFunctionCallInfoData(*inner, &call->function, call->nargs,
							 PG_GET_COLLATION(), NULL, NULL);
	for (i = 0; i < call->nargs; i++)
	{
		inner->args[i] = fcinfo->args[i + OWN_ARGUMENTS];
		if (call->function.fn_strict && inner->args[i].isnull)
			PG_RETURN_NULL();
	}
	result = call_guarded(inner, call->texts, &isnull);
	if (isnull)
		PG_RETURN_NULL();
	return result;
}
