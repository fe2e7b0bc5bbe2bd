/*
 * warm.c
 *	  Looks up beforehand what executing a plan would look up only when a
 *	  private row requires it.
 *
 * An out-of-line value is fetched when an expression needs it, which evicts
 * other pages from the buffers, prunes the pages that hold it and writes that
 * to the WAL. Labels of an enum type and properties of a collation are read
 * from the catalog at their first comparison; argument and element types are
 * looked up, under locks, when the first row reaches the expression; a time
 * zone is read from its file and cached, as is GMT, in which times are counted
 * from 1970 on.  All of that is observable.  So every page that could be
 * fetched is fetched before anything is charged: what can be observed then
 * depends only on how many pages there are.
 *
 * Parallel workers are new processes.  They look up types and time zones and
 * reserve memory when they start; plans that need the rest have no workers
 * (inner/inner_plan.c).
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "pgtime.h"
#include "storage/bufmgr.h"
#include "storage/sinval.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#include "utils/sortsupport.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "../query/expressions/dp_expressions.h"
#include "dp_reader.h"
#include "reader_internal.h"

/*
 * Growth of a worker's stack while it runs a plan: LIKE is deepest, with a
 * level for each wildcard (expressions_internal.h), and each node calls the
 * node below.
 */
#define WORKER_STACK ((Size) 256 * 1024)
#define NODE_STACK ((Size) 1024)

/*
 * Memory contexts that rows may create: those of sorts and of tables of
 * groups.
 */
#define NODE_CONTEXTS 3

#define MEMORY_PAGE 4096

/* Map the pinned page into the process's page table. */
static void
map_page(Buffer buffer)
{
	const volatile char *page = BufferGetPage(buffer);
	int			i;

	for (i = 0; i < BLCKSZ; i += MEMORY_PAGE)
		(void) page[i];
}

static void
touch(Relation rel, bool prune)
{
	BlockNumber blocks = RelationGetNumberOfBlocks(rel);
	BlockNumber block;

	for (block = 0; block < blocks; block++)
	{
		Buffer		buffer = ReadBuffer(rel, block);

		if (prune)
			heap_page_prune_opt(rel, buffer);
		map_page(buffer);
		ReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Look up a value that is not there, as the values of rows are looked up. */
static void
look_up_value(Relation toast, Relation index)
{
	ScanKeyData key;
	SysScanDesc scan;

	ScanKeyInit(&key, 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(InvalidOid));
	scan = systable_beginscan_ordered(toast, index, SnapshotSelf, 1, &key);
	(void) systable_getnext_ordered(scan, ForwardScanDirection);
	systable_endscan_ordered(scan);
}

/* Bring all pages of a TOAST relation, which is locked, into the buffers. */
static void
touch_toast(Oid relid)
{
	Relation	rel = relation_open(relid, NoLock);
	ListCell   *lc;

	touch(rel, true);
	foreach(lc, RelationGetIndexList(rel))
	{
		Relation	index = relation_open(lfirst_oid(lc), NoLock);

		touch(index, false);
		/* values are found by this index; another may be invalid (REINDEX) */
		if (index->rd_index->indisvalid)
			look_up_value(rel, index);
		relation_close(index, NoLock);
	}
	relation_close(rel, NoLock);
}

/*
 * Read all labels of a type and their order.  A comparison looks each label
 * up, unless both have even OIDs, which are ordered by value.
 */
static void
warm_enum(Oid type)
{
	CatCList   *labels = SearchSysCacheList1(ENUMTYPOIDNAME,
											 ObjectIdGetDatum(type));
	Oid			odd = InvalidOid;
	Oid			other = InvalidOid;
	FmgrInfo	compare;
	int			i;

	for (i = 0; i < labels->n_members; i++)
	{
		Oid			label = ((Form_pg_enum)
							 GETSTRUCT(&labels->members[i]->tuple))->oid;
		HeapTuple	tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(label));

		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
		if (label % 2 == 1 && !OidIsValid(odd))
			odd = label;
		else
			other = label;
	}
	fmgr_info(F_ENUM_CMP, &compare);
	if (OidIsValid(odd) && OidIsValid(other))
		(void) FunctionCall2(&compare, ObjectIdGetDatum(odd),
							 ObjectIdGetDatum(other));
	ReleaseSysCacheList(labels);
}

static const Oid *
find_oids(const dp_message *message, dp_message_part part, int *n)
{
	*n = message->size[part] / sizeof(Oid);
	return (const Oid *) dp_reader_find_part(message, part);
}

/* ---- types ---- */

static ExecutorStart_hook_type next_start = NULL;

static void
warm_type(Oid type)
{
	Oid			element = get_element_type(type);	/* looks the type up */

	if (OidIsValid(element))
		(void) get_typlen(element);
}

/* dp_reader_value_type: see dp_reader.h. */
Oid
dp_reader_value_type(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_Param:
		case T_FuncExpr:
		case T_OpExpr:
		case T_NullIfExpr:
		case T_RelabelType:
		case T_CollateExpr:
		case T_CoerceViaIO:
		case T_CaseExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_ArrayExpr:
		case T_Aggref:
		case T_WindowFunc:
			return exprType(node);
		default:
			return InvalidOid;
	}
}

static bool
warm_walker(Node *node, void *context)
{
	Oid			type;

	if (node == NULL)
		return false;
	type = dp_reader_value_type(node);
	if (OidIsValid(type))
		warm_type(type);
	if (IsA(node, FuncExpr))
		dp_expressions_warm((FuncExpr *) node);
	return expression_tree_walker(node, warm_walker, context);
}

/* Look up whatever comparing rows in a sort needs. */
static void
warm_sort(const Sort *sort)
{
	int			i;

	for (i = 0; i < sort->numCols; i++)
	{
		SortSupportData support = {0};

		support.ssup_cxt = CurrentMemoryContext;
		support.ssup_collation = sort->collations[i];
		support.ssup_attno = sort->sortColIdx[i];
		PrepareSortSupportFromOrderingOp(sort->sortOperators[i], &support);
	}
}

/* What a plan has: nodes, and aggregates that may sort. */
typedef struct dp_plan_size
{
	int			nodes;
	int			aggregates;
} dp_plan_size;

/* context: a dp_plan_size, to which this adds. */
static bool
warm_plan(PlanState *state, void *context)
{
	Plan	   *plan = state->plan;
	dp_plan_size *size = context;

	size->nodes++;
	if (IsA(state, AggState))
		size->aggregates += list_length(((AggState *) state)->aggs);
	if (IsA(state, WindowAggState))
		size->aggregates += list_length(((WindowAggState *) state)->funcs);
	(void) warm_walker((Node *) plan->targetlist, NULL);
	(void) warm_walker((Node *) plan->qual, NULL);
	if (IsA(plan, IndexScan))
		(void) warm_walker((Node *) ((IndexScan *) plan)->indexqualorig,
						   NULL);
	if (IsA(plan, BitmapHeapScan))
		(void) warm_walker((Node *) ((BitmapHeapScan *) plan)->bitmapqualorig,
						   NULL);
	if (IsA(plan, HashJoin))
		(void) warm_walker((Node *) ((HashJoin *) plan)->hashclauses, NULL);
	if (IsA(plan, Hash))
		(void) warm_walker((Node *) ((Hash *) plan)->hashkeys, NULL);
	if (IsA(plan, HashJoin) || IsA(plan, NestLoop))
		(void) warm_walker((Node *) ((Join *) plan)->joinqual, NULL);
	if (IsA(plan, Sort))
		warm_sort((Sort *) plan);
	if (IsA(plan, Result))
		(void) warm_walker(((Result *) plan)->resconstantqual, NULL);
	return planstate_tree_walker(state, warm_plan, context);
}

static void
warm_gmt(void)
{
	const pg_time_t epoch = 0;

	(void) pg_gmtime(&epoch);
}

/* ---- collations ---- */

/*
 * Has this process used the collation before, so that nothing new is mapped?
 */
static bool
is_known(Oid collation)
{
	static List *known = NIL;
	MemoryContext old;

	if (list_member_oid(known, collation))
		return true;
	old = MemoryContextSwitchTo(TopMemoryContext);
	known = lappend_oid(known, collation);
	MemoryContextSwitchTo(old);
	return false;
}

/* Warm a collation; returns whether it was new to this process. */
static bool
warm_collation(Oid collation)
{
	(void) get_collation_isdeterministic(collation);
	(void) pg_newlocale_from_collation(collation);
	(void) dp_compat_collate_is_c(collation);
	(void) dp_compat_ctype_is_c(collation);
	return !is_known(collation);
}

/* ---- all of it ---- */

static void
warm_needs(const dp_message *message)
{
	const Oid  *oids;
	bool		mapped = false; /* the C library may map files */
	int			n;
	int			i;

	oids = find_oids(message, DP_PART_ENUMS, &n);
	for (i = 0; i < n; i++)
		warm_enum(oids[i]);
	oids = find_oids(message, DP_PART_COLLATIONS, &n);
	for (i = 0; i < n; i++)
		mapped |= warm_collation(oids[i]);
	if (mapped)
		dp_base_populate_mappings();
}

/*
 * dp_reader_warm
 *	  Look up all that a job may need, for plans that are open; everything is
 *	  locked.  Invalidations that arrive meanwhile may reset caches, so this
 *	  repeats until none has.  Returns how many memory contexts rows may need.
 */
int
dp_reader_warm(const dp_message *message, const dp_opened *opened)
{
	const Oid  *oids;
	uint64		heard;
	dp_plan_size size;
	int			n;
	int			i;
	ListCell   *lc;

	oids = find_oids(message, DP_PART_TOAST, &n);
	for (i = 0; i < n; i++)
		touch_toast(oids[i]);
	warm_gmt();
	do
	{
		CHECK_FOR_INTERRUPTS();
		AcceptInvalidationMessages();
		heard = SharedInvalidMessageCounter;
		warm_needs(message);
		size = (dp_plan_size) {0};
		(void) warm_plan(opened->main->planstate, &size);
		foreach(lc, opened->scans)
			(void) warm_plan(((QueryDesc *) lfirst(lc))->planstate, &size);
	} while (heard != SharedInvalidMessageCounter);
	return NODE_CONTEXTS * (size.nodes + size.aggregates);
}

/* Warm a parallel worker of a reader when it begins. */
static void
warm_start_executor(QueryDesc *desc, int flags)
{
	if (next_start != NULL)
		next_start(desc, flags);
	else
		standard_ExecutorStart(desc, flags);
	if (IsParallelWorker() && desc->sourceText != NULL &&
		strcmp(desc->sourceText, DP_PRIVATE_QUERY_TEXT) == 0)
	{
		dp_plan_size size = {0};

		warm_gmt();
		(void) warm_plan(desc->planstate, &size);
		dp_base_reserve_init(WORKER_STACK + size.nodes * NODE_STACK);
		dp_base_reserve(dp_reader_leader_memory(), 0);
	}
}

/* dp_reader_warm_init: called once, while the library is preloaded. */
void
dp_reader_warm_init(void)
{
	dp_base_add_hook(&ExecutorStart_hook, warm_start_executor, &next_start);
}
