/*
 * needs.c
 *	  What an inner query may look up while it is executed: out-of-line values,
 *	  labels of enum types, collations.
 *
 * Everything that could be dropped is locked until the transaction ends.  A
 * reader looks it up beforehand (src/reader/warm.c).  Parallel workers are new
 * processes, which would look it up when a row requires it, and pg_locks shows
 * that; so a query with such needs has no workers.  Which relations have
 * out-of-line values is found when the query is planned (public_size.c).
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/xlog.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "run.h"

typedef struct needs_context
{
	const Query *level;
	bool		toastable;		/* a column may have out-of-line values */
	dp_reader_needs *needs;
} needs_context;

/*
 * May a column of a relation or of its children be out of line? A value no
 * larger than a TOAST pointer never is.
 */
static bool
is_toastable(Oid relid, AttrNumber attnum)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										Int16GetDatum(attnum));
	Form_pg_attribute attribute;
	bool		toastable = true;
	int32		most;

	if (HeapTupleIsValid(tuple))
	{
		attribute = (Form_pg_attribute) GETSTRUCT(tuple);
		most = type_maximum_size(attribute->atttypid, attribute->atttypmod);
		toastable = attribute->attlen == -1 &&
			(most <= 0 || most > MAXALIGN(TOAST_POINTER_SIZE));
		ReleaseSysCache(tuple);
	}
	return toastable;
}

static void
look_at_var(const Var *var, needs_context *context)
{
	const RangeTblEntry *entry;

	if (var->varlevelsup > 0 ||
		var->varno > list_length(context->level->rtable))
	{
		context->toastable = true;
		return;
	}
	entry = list_nth_node(RangeTblEntry, context->level->rtable,
						  var->varno - 1);
	if (entry->rtekind == RTE_RELATION &&
		is_toastable(entry->relid, var->varattno))
		context->toastable = true;
}

/*
 * The base type or domain directly below a domain; InvalidOid for other types.
 * *own: it belongs to the extension, which cannot lose it.
 */
static Oid
domain_over(Oid type, bool *own)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid			base = InvalidOid;

	*own = false;
	if (HeapTupleIsValid(tuple))
	{
		base = ((Form_pg_type) GETSTRUCT(tuple))->typbasetype;
		*own = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace ==
			dp_bridge_catalog_namespace();
		ReleaseSysCache(tuple);
	}
	return base;
}

/*
 * Lock a type or a collation against being dropped or changed until the
 * transaction ends: rows that need it would fail where others do not.
 */
static void
hold(Oid class, Oid object, int cache)
{
	/* during recovery stronger locks are not allowed */
	LockDatabaseObject(class, object, 0,
					   RecoveryInProgress() ? AccessShareLock : ShareLock);
	if (!SearchSysCacheExists1(cache, ObjectIdGetDatum(object)))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("a %s that the private query uses does not exist any "
						"more", class == TypeRelationId ? "type" :
						"collation"),
				 errdetail("%s", dp_ledger_told_uncharged()),
				 errhint("Prepare the query again.")));
}

/*
 * Look at a type, what it is a domain over, and the elements of both.  A type
 * that cannot be dropped is neither an enum nor made of one.
 */
static void
look_at_type(Oid type, dp_reader_needs *needs)
{
	Oid			element;
	Oid			domain;
	bool		own;

	while (type >= FirstUnpinnedObjectId)
	{
		domain = domain_over(type, &own);
		if (own)
			return;
		hold(TypeRelationId, type, TYPEOID);
		if (type_is_enum(type))
			needs->enums = list_append_unique_oid(needs->enums, type);
		element = get_element_type(type);
		type = OidIsValid(element) ? element : domain;
	}
}

static void
look_at_collation(Oid collation, dp_reader_needs *needs)
{
	if (!OidIsValid(collation) || collation == DEFAULT_COLLATION_OID ||
		collation == C_COLLATION_OID)
		return;
	if (collation >= FirstUnpinnedObjectId)
		hold(CollationRelationId, collation, COLLOID);
	needs->collations = list_append_unique_oid(needs->collations, collation);
}

static bool
needs_walker(Node *node, void *data)
{
	needs_context *context = data;
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		const Query *before = context->level;

		context->level = (Query *) node;
		(void) query_tree_walker((Query *) node, needs_walker, data, 0);
		context->level = before;
		return false;
	}
	if (IsA(node, Var))
		look_at_var((Var *) node, context);
	look_at_type(dp_reader_value_type(node), context->needs);
	look_at_collation(exprInputCollation(node), context->needs);
	if (IsA(node, RowCompareExpr))
		foreach(lc, ((RowCompareExpr *) node)->inputcollids)
			look_at_collation(lfirst_oid(lc), context->needs);
	return expression_tree_walker(node, needs_walker, data);
}

/*
 * dp_run_find_needs
 *	  Find the needs of a query, except needs->toast; *toast: it may need
 *	  out-of-line values of the relations that it reads.  Returns whether it
 *	  needs nothing else.
 */
bool
dp_run_find_needs(Query *inner, dp_reader_needs *needs, bool *toast)
{
	needs_context context = {NULL, false, needs};

	memset(needs, 0, sizeof(*needs));
	(void) needs_walker((Node *) inner, &context);
	*toast = context.toastable;
	return needs->enums == NIL && needs->collations == NIL;
}
