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

#include "../base/dp_base.h"
#include "dp_catalog.h"

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
 * dp_catalog_kind_of
 *	  The kind of an aggregate's measurement, which may differ for DISTINCT.
 */
dp_aggregate_kind
dp_catalog_kind_of(const Aggref *aggregate)
{
	dp_aggregate_kind kind = dp_catalog_aggregate_kind(aggregate->aggfnoid);

	if (aggregate->aggdistinct != NIL && kind == DP_AGG_SUM)
		return DP_AGG_SUM_DISTINCT;
	if (aggregate->aggdistinct != NIL && kind == DP_AGG_AVG)
		return DP_AGG_AVG_DISTINCT;
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
	return dp_base_contains(node, is_aggregate, NULL, 0);
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
	return dp_base_contains((Node *) query->targetList, is_own_aggregate,
							NULL, 0) ||
		dp_base_contains(query->havingQual, is_own_aggregate, NULL, 0);
}
