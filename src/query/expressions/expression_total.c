/*
 * expression_total.c
 *	  Replace partial built-ins by this extension's total versions.
 *
 * The total version of a built-in f is the C function total_f in schema dp_pg
 * with the same argument types and the symbol in the rule.  All this is
 * checked, so that no other function can take its place.
 *
 * OIDs are cached in TopMemoryContext, until a function or schema changes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "../../base/dp_base.h"
#include "dp_expressions.h"
#include "expressions_internal.h"

/* By rule: the total version, InvalidOid if not looked up yet. */
static Oid *total_oids = NULL;

static void
forget_oids(Datum argument, int cache, uint32 hash)
{
	memset(total_oids, 0, dp_expression_rule_count * sizeof(Oid));
}

static void
prepare_oids(void)
{
	if (total_oids != NULL)
		return;
	total_oids = MemoryContextAllocZero(TopMemoryContext, sizeof(Oid) *
										dp_expression_rule_count);
	CacheRegisterSyscacheCallback(PROCOID, forget_oids, (Datum) 0);
	CacheRegisterSyscacheCallback(NAMESPACEOID, forget_oids, (Datum) 0);
}

/* The symbol of a C function in schema dp_pg, NULL for any other function. */
static char *
symbol_of(HeapTuple tuple)
{
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(tuple);
	Datum		source;
	bool		isnull;

	if (form->prolang != ClanguageId ||
		form->pronamespace != dp_base_catalog_namespace())
		return NULL;
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	return isnull ? NULL : TextDatumGetCString(source);
}

/*
 * dp_expressions_total_oid
 *	  The total version that a rule names.
 *
 * Raises 55000 if the installed extension does not have it.
 */
Oid
dp_expressions_total_oid(const dp_expression_rule *rule)
{
	int			index = rule - dp_expression_rules;
	HeapTuple	original;
	HeapTuple	total;
	Form_pg_proc form;
	char	   *name;
	char	   *symbol;
	Oid			found = InvalidOid;

	prepare_oids();
	if (OidIsValid(total_oids[index]))
		return total_oids[index];

	original = SearchSysCache1(PROCOID, ObjectIdGetDatum(rule->function));
	if (!HeapTupleIsValid(original))
		elog(ERROR, "cache lookup failed for function %u", rule->function);
	form = (Form_pg_proc) GETSTRUCT(original);
	name = psprintf("total_%s", NameStr(form->proname));
	total = SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum(name),
							PointerGetDatum(&form->proargtypes),
							ObjectIdGetDatum(dp_base_catalog_namespace()));
	if (HeapTupleIsValid(total))
	{
		symbol = symbol_of(total);
		if (symbol != NULL && strcmp(symbol, rule->symbol) == 0 &&
			((Form_pg_proc) GETSTRUCT(total))->prorettype == form->prorettype)
			found = ((Form_pg_proc) GETSTRUCT(total))->oid;
		ReleaseSysCache(total);
	}
	ReleaseSysCache(original);
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("function dp_pg.%s is missing or is not the one of "
						"this library", name),
				 errhint("Run ALTER EXTENSION dp_pg UPDATE, or create the "
						 "extension again.")));
	pfree(name);
	total_oids[index] = found;
	return found;
}

/*
 * dp_expressions_find_by_total
 *	  The rule whose total version a function is, or NULL.
 */
const dp_expression_rule *
dp_expressions_find_by_total(Oid function)
{
	HeapTuple	tuple;
	char	   *symbol;
	int			i;

	if (function < FirstNormalObjectId)
		return NULL;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return NULL;
	symbol = symbol_of(tuple);
	ReleaseSysCache(tuple);
	if (symbol == NULL)
		return NULL;
	for (i = 0; i < dp_expression_rule_count; i++)
	{
		const dp_expression_rule *rule = &dp_expression_rules[i];

		if (rule->symbol != NULL && strcmp(symbol, rule->symbol) == 0 &&
			dp_expressions_total_oid(rule) == function)
			return rule;
	}
	return NULL;
}

/*
 * dp_expressions_is_magnitude
 *	  Whether it is dp_pg.magnitude, which is total: it gives NULL for NULL and
 *	  NaN, and an integer for everything else.  Profiles are made with it.
 */
bool
dp_expressions_is_magnitude(Oid function)
{
	HeapTuple	tuple;
	char	   *symbol;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	symbol = symbol_of(tuple);
	ReleaseSysCache(tuple);
	return symbol != NULL &&
		strncmp(symbol, "dp_magnitude_", strlen("dp_magnitude_")) == 0;
}

/*
 * initcap with ICU loads dictionaries of languages without spaces when a text
 * first needs one: Thai, Lao, Burmese, Khmer, Chinese and Japanese.
 */
static void
warm_initcap(Oid collation)
{
	static const char sample[] = "\u0e01\u0e02 \u0e81\u0e82 "
		"\u1000\u1001 \u1780\u1781 \u6f22\u5b57 \u304b\u306a";

	if (GetDatabaseEncoding() == PG_UTF8)
		(void) DirectFunctionCall1Coll(initcap, collation,
									   CStringGetTextDatum(sample));
}

/* OpenSSL looks up a digest when it is first used. */
static void
warm_digest(Oid function)
{
	switch (function)
	{
		case F_SHA224:
		case F_SHA256:
		case F_SHA384:
		case F_SHA512:
			(void) OidFunctionCall1(function, CStringGetTextDatum(""));
	}
}

static void
warm_zone(const Node *zone)
{
	const Const *name = (const Const *) zone;

	if (IsA(zone, Const) && !name->constisnull)
		(void) dp_expressions_zone_is_known(DatumGetTextPP(name->constvalue));
}

/* dp_expressions_warm: see dp_expressions.h. */
void
dp_expressions_warm(const FuncExpr *call)
{
	const dp_expression_rule *rule =
		dp_expressions_find_by_total(call->funcid);

	warm_digest(call->funcid);
	if (rule == NULL)
		return;
	if (rule->function == F_INITCAP)
		warm_initcap(call->inputcollid);
	if (rule->function == F_STRING_TO_ARRAY_TEXT_TEXT)
		(void) get_typlen(TEXTOID);
	if (rule->condition == DP_CONDITION_ZONE)
		warm_zone(linitial(call->args));
}

static FuncExpr *
call_total(const dp_expression_rule *rule, Oid type, Oid collation,
		   Oid input_collation, List *args, int location)
{
	FuncExpr   *call = makeFuncExpr(dp_expressions_total_oid(rule), type, args,
									collation, input_collation,
									COERCE_EXPLICIT_CALL);

	call->location = location;
	return call;
}

static Node *
total_mutator(Node *node, void *context)
{
	const dp_expression_rule *rule;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, total_mutator,
										   context, 0);
	node = expression_tree_mutator(node, total_mutator, context);
	if (IsA(node, FuncExpr))
	{
		FuncExpr   *call = (FuncExpr *) node;

		rule = dp_expressions_find(call->funcid);
		if (rule != NULL && rule->symbol != NULL)
			return (Node *) call_total(rule, call->funcresulttype,
									   call->funccollid, call->inputcollid,
									   call->args, call->location);
	}
	else if (IsA(node, OpExpr))
	{
		OpExpr	   *call = (OpExpr *) node;

		rule = dp_expressions_find(get_opcode(call->opno));
		if (rule != NULL && rule->symbol != NULL)
			return (Node *) call_total(rule, call->opresulttype,
									   call->opcollid, call->inputcollid,
									   call->args, call->location);
	}
	return node;
}

/* See dp_expressions.h. */
Node *
dp_expressions_make_total(Node *expression)
{
	return total_mutator(expression, NULL);
}

PG_FUNCTION_INFO_V1(dp_expression_list_rules);

/*
 * dp_expression_list_rules
 *	  SQL: dp_pg.expression_rules(), the rules as a table.
 */
Datum
dp_expression_list_rules(PG_FUNCTION_ARGS)
{
	static const char *const conditions[] = {
		NULL,
		"the field is a constant",
		"the time zone is a constant",
		"the pattern is a constant",
		"the pattern is a constant",
		NULL,
		"pattern and escape are constants",
		"the cast is explicit",
		"the precision is a constant"
	};
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 0; i < dp_expression_rule_count; i++)
	{
		const dp_expression_rule *rule = &dp_expression_rules[i];
		const char *condition = conditions[rule->condition];
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		values[0] = ObjectIdGetDatum(rule->function);
		nulls[1] = rule->symbol == NULL;
		if (rule->symbol != NULL)
			values[1] = ObjectIdGetDatum(dp_expressions_total_oid(rule));
		nulls[2] = condition == NULL;
		if (condition != NULL)
			values[2] = CStringGetTextDatum(condition);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(dp_expression_leakproof);

/*
 * dp_expression_leakproof
 *	  SQL: dp_pg.is_leakproof(regprocedure), the rule about LEAKPROOF.
 */
Datum
dp_expression_leakproof(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(dp_expressions_is_leakproof(PG_GETARG_OID(0)));
}
