/*
 * aggregate.c
 *	  Recognize the dp_ aggregates.
 *
 * An aggregate is ours if its final function is one of this library's
 * placeholders.  Names, schemas and search paths do not matter: only the
 * extension's owner may execute those functions, so nobody else can build an
 * aggregate on them, and only a superuser can declare a C function.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "dp_catalog.h"

/* ----------------
 *		Division by a released count.
 *
 * Noise may make a small count 0; then sum(x) / count(*) would be an error,
 * after the charge, for the whole query.  So if the divisor is a private count
 * of the same level, casts aside, a 0 becomes NULL, and so does the quotient,
 * just as an average is NULL if its own count is not positive.  This is
 * applied to released values only.  Any other divisor has its usual meaning.
 * ----------------
 */

static bool
divides(Oid function)
{
	switch (function)
	{
		case F_INT2DIV:
		case F_INT24DIV:
		case F_INT28DIV:
		case F_INT4DIV:
		case F_INT42DIV:
		case F_INT48DIV:
		case F_INT8DIV:
		case F_INT82DIV:
		case F_INT84DIV:
		case F_FLOAT4DIV:
		case F_FLOAT48DIV:
		case F_FLOAT8DIV:
		case F_FLOAT84DIV:
		case F_NUMERIC_DIV:
		case F_NUMERIC_DIV_TRUNC:
		case F_DIV:
		case F_INTERVAL_DIV:
		case F_CASH_DIV_FLT4:
		case F_CASH_DIV_FLT8:
		case F_CASH_DIV_INT2:
		case F_CASH_DIV_INT4:
		case F_CASH_DIV_INT8:
		case F_INT2MOD:
		case F_INT4MOD:
		case F_INT8MOD:
		case F_NUMERIC_MOD:
		case F_MOD_INT2_INT2:
		case F_MOD_INT4_INT4:
		case F_MOD_INT8_INT8:
		case F_MOD_NUMERIC_NUMERIC:
			return true;
		default:
			return false;
	}
}

/* The arguments of a division; NIL for other nodes. */
static List *
division_arguments(Node *node)
{
	if (IsA(node, OpExpr) && divides(get_opcode(((OpExpr *) node)->opno)))
		return ((OpExpr *) node)->args;
	if (IsA(node, FuncExpr) && divides(((FuncExpr *) node)->funcid))
		return ((FuncExpr *) node)->args;
	return NIL;
}

/* The node below casts. */
static Node *
without_casts(Node *node)
{
	for (;;)
	{
		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, FuncExpr) &&
				 (((FuncExpr *) node)->funcformat == COERCE_EXPLICIT_CAST ||
				  ((FuncExpr *) node)->funcformat == COERCE_IMPLICIT_CAST))
			node = linitial(((FuncExpr *) node)->args);
		else
			return node;
	}
}

/* Also below GREATEST(x, 0), in which transparent mode wraps counts. */
static Node *
innermost(Node *node)
{
	const MinMaxExpr *greatest = (const MinMaxExpr *) without_casts(node);

	if (!IsA(greatest, MinMaxExpr) || greatest->op != IS_GREATEST ||
		list_length(greatest->args) != 2 ||
		!IsA(without_casts(lsecond(greatest->args)), Const))
		return (Node *) greatest;
	return without_casts(linitial(greatest->args));
}

static bool
is_count(Node *node, int level)
{
	const Aggref *aggregate = (const Aggref *) innermost(node);

	return IsA(aggregate, Aggref) && (int) aggregate->agglevelsup == level &&
		dp_catalog_is_count(aggregate->aggfnoid);
}

/* NULLIF(divisor, 0) */
static Node *
null_if_zero(Node *divisor)
{
	NullIfExpr *tested = makeNode(NullIfExpr);
	Oid			type = exprType(divisor);
	int16		length;
	bool		by_value;
	Oid			input;
	Oid			parameter;
	Const	   *zero;

	getTypeInputInfo(type, &input, &parameter);
	get_typlenbyval(type, &length, &by_value);
	zero = makeConst(type, -1, InvalidOid, length,
					 OidInputFunctionCall(input, "0", parameter, -1), false,
					 by_value);
	tested->opno = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	set_opfuncid((OpExpr *) tested);
	tested->opresulttype = type;
	tested->args = list_make2(divisor, zero);
	tested->location = -1;
	return (Node *) tested;
}

/*
 * dp_catalog_guard_division
 *	  If a node, `level` levels below that of the aggregates, divides by a
 *	  count that is or becomes private, make `copy`, the same node over
 *	  released values, return NULL if the count is 0.
 */
void
dp_catalog_guard_division(Node *node, int level, Node *copy)
{
	List	   *arguments = division_arguments(node);

	if (list_length(arguments) == 2 && is_count(lsecond(arguments), level))
	{
		ListCell   *divisor = list_nth_cell(division_arguments(copy), 1);

		lfirst(divisor) = null_if_zero(lfirst(divisor));
	}
}

/* C symbols of the final functions, one per kind. */
static const struct
{
	const char *symbol;
	dp_aggregate_kind kind;
}			final_symbols[] =
{
	{"dp_aggregate_count", DP_AGG_COUNT},
	{"dp_aggregate_sum", DP_AGG_SUM},
	{"dp_aggregate_avg", DP_AGG_AVG},
	{"dp_aggregate_variance", DP_AGG_VARIANCE},
	{"dp_aggregate_stddev", DP_AGG_STDDEV},
	{"dp_aggregate_var_pop", DP_AGG_VAR_POP},
	{"dp_aggregate_stddev_pop", DP_AGG_STDDEV_POP},
	{"dp_aggregate_quantile", DP_AGG_QUANTILE},
	{"dp_aggregate_median", DP_AGG_MEDIAN},
	{"dp_aggregate_min", DP_AGG_MIN},
	{"dp_aggregate_max", DP_AGG_MAX},
	{"dp_aggregate_histogram", DP_AGG_HISTOGRAM},
	{"dp_aggregate_argmax", DP_AGG_ARGMAX},
	{"dp_aggregate_topk", DP_AGG_TOPK},
	{"dp_aggregate_conditions", DP_AGG_CONDITIONS},
	{"dp_aggregate_bounds", DP_AGG_BOUNDS},
	{"dp_aggregate_corr", DP_AGG_CORR},
	{"dp_aggregate_covar_pop", DP_AGG_COVAR_POP},
	{"dp_aggregate_covar_samp", DP_AGG_COVAR_SAMP},
	{"dp_aggregate_regr_avgx", DP_AGG_REGR_AVGX},
	{"dp_aggregate_regr_avgy", DP_AGG_REGR_AVGY},
	{"dp_aggregate_regr_count", DP_AGG_REGR_COUNT},
	{"dp_aggregate_regr_intercept", DP_AGG_REGR_INTERCEPT},
	{"dp_aggregate_regr_r2", DP_AGG_REGR_R2},
	{"dp_aggregate_regr_slope", DP_AGG_REGR_SLOPE},
	{"dp_aggregate_regr_sxx", DP_AGG_REGR_SXX},
	{"dp_aggregate_regr_sxy", DP_AGG_REGR_SXY},
	{"dp_aggregate_regr_syy", DP_AGG_REGR_SYY}
};

typedef struct kind_entry
{
	Oid			function;		/* hash key */
	dp_aggregate_kind kind;
} kind_entry;

/* Cache of this process; emptied when pg_proc or pg_aggregate changes. */
static HTAB *kinds = NULL;
static bool callbacks_registered = false;

static void
forget_kinds(Datum arg, int cacheid, uint32 hashvalue)
{
	if (kinds != NULL)
		hash_destroy(kinds);
	kinds = NULL;
}

static dp_aggregate_kind
kind_of_symbol(Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc proc;
	Datum		source;
	Datum		library;
	bool		isnull;
	char	   *symbol;
	dp_aggregate_kind kind = DP_AGG_NONE;
	int			i;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return DP_AGG_NONE;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	library = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_probin, &isnull);
	if (proc->prolang == ClanguageId && !isnull &&
		strcmp(TextDatumGetCString(library), "$libdir/dp_pg") == 0)
	{
		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
		symbol = isnull ? "" : TextDatumGetCString(source);
		for (i = 0; i < lengthof(final_symbols); i++)
			if (strcmp(symbol, final_symbols[i].symbol) == 0)
				kind = final_symbols[i].kind;
	}
	ReleaseSysCache(tuple);
	return kind;
}

static dp_aggregate_kind
look_up_kind(Oid function)
{
	HeapTuple	tuple;
	Oid			final = InvalidOid;

	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return DP_AGG_NONE;
	final = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggfinalfn;
	ReleaseSysCache(tuple);
	return OidIsValid(final) ? kind_of_symbol(final) : DP_AGG_NONE;
}

/*
 * dp_catalog_aggregate_kind
 *	  Which dp_ aggregate the function is; DP_AGG_NONE if none.
 */
dp_aggregate_kind
dp_catalog_aggregate_kind(Oid function)
{
	kind_entry *entry;
	dp_aggregate_kind kind;
	bool		found;

	if (function < FirstNormalObjectId)
		return DP_AGG_NONE;
	if (!callbacks_registered)
	{
		CacheRegisterSyscacheCallback(PROCOID, forget_kinds, (Datum) 0);
		CacheRegisterSyscacheCallback(AGGFNOID, forget_kinds, (Datum) 0);
		callbacks_registered = true;
	}
	if (kinds != NULL)
	{
		entry = hash_search(kinds, &function, HASH_FIND, NULL);
		if (entry != NULL)
			return entry->kind;
	}
	kind = look_up_kind(function);	/* may empty the cache */
	if (kinds == NULL)
	{
		HASHCTL		control;

		memset(&control, 0, sizeof(control));
		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(kind_entry);
		kinds = hash_create("dp_pg aggregate kinds", 64, &control,
							HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(kinds, &function, HASH_ENTER, &found);
	entry->kind = kind;
	return kind;
}

/*
 * dp_catalog_is_count
 *	  Whether an aggregate counts rows: a private one, or one of PostgreSQL's
 *	  that transparent mode makes private.
 */
bool
dp_catalog_is_count(Oid aggregate)
{
	switch (aggregate)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
		case F_REGR_COUNT:
			return true;
		default:
			return dp_catalog_counts_rows(
				dp_catalog_aggregate_kind(aggregate));
	}
}

static bool
is_aggregate(Node *node, const dp_walk *walk)
{
	return (IsA(node, Aggref) &&
			dp_catalog_aggregate_kind(((Aggref *) node)->aggfnoid) !=
			DP_AGG_NONE) ||
		(IsA(node, WindowFunc) &&
		 dp_catalog_aggregate_kind(((WindowFunc *) node)->winfnoid) !=
		 DP_AGG_NONE);
}

/* dp_catalog_has_aggregate: whether the tree contains a dp_ aggregate. */
bool
dp_catalog_has_aggregate(Node *node)
{
	return dp_bridge_contains(node, is_aggregate, NULL, 0);
}

static bool
is_own_aggregate(Node *node, const dp_walk *walk)
{
	const Aggref *aggregate = (Aggref *) node;

	return IsA(node, Aggref) &&
		(int) aggregate->agglevelsup == walk->depth &&
		dp_catalog_aggregate_kind(aggregate->aggfnoid) != DP_AGG_NONE;
}

/*
 * dp_catalog_has_own_aggregate
 *	  Whether the level itself has a dp_ aggregate, in its targets or HAVING.
 */
bool
dp_catalog_has_own_aggregate(const Query *query)
{
	return dp_bridge_contains((Node *) query->targetList, is_own_aggregate,
							  NULL, 0) ||
		dp_bridge_contains(query->havingQual, is_own_aggregate, NULL, 0);
}
