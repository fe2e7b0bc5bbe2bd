/*
 * shared_store.c
 *	  The rows of a release, for all nodes of a plan that stand for it.
 *
 * Some plans hold the same node twice (EvalPlanQual, subqueries pulled up
 * twice): they share one store, found by (outermost executor state, planner
 * nonce, block).  So a release is charged and drawn at most once per execution
 * of a plan.
 *
 * The list shared_stores is local to this backend; entries live in the
 * outermost executor state's context and leave the list when that is reset,
 * also after errors.
 */
#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/memutils.h"

#include "run.h"

static List *shared_stores = NIL;

static EState *
outermost_state(EState *estate)
{
	while (estate->es_epq_active != NULL)
		estate = estate->es_epq_active->parentestate;
	return estate;
}

static void
forget_shared(void *arg)
{
	shared_stores = list_delete_ptr(shared_stores, arg);
}

static dp_shared_store *
find_shared(EState *root, int64 nonce, int index)
{
	ListCell   *lc;

	foreach(lc, shared_stores)
	{
		dp_shared_store *shared = lfirst(lc);

		if (shared->root == root && shared->nonce == nonce &&
			shared->index == index)
			return shared;
	}
	return NULL;
}

/*
 * dp_run_attach_shared
 *	  The store of a release, for one more node; released by
 *	  dp_run_detach_shared.
 */
dp_shared_store *
dp_run_attach_shared(EState *estate, int64 nonce, int index)
{
	EState	   *root = outermost_state(estate);
	dp_shared_store *shared = find_shared(root, nonce, index);
	MemoryContextCallback *callback;
	MemoryContext old;

	if (shared == NULL)
	{
		old = MemoryContextSwitchTo(root->es_query_cxt);
		shared = palloc0(sizeof(dp_shared_store));
		shared->root = root;
		shared->nonce = nonce;
		shared->index = index;
		callback = palloc0(sizeof(MemoryContextCallback));
		callback->func = forget_shared;
		callback->arg = shared;
		MemoryContextRegisterResetCallback(root->es_query_cxt, callback);
		MemoryContextSwitchTo(TopMemoryContext);
		shared_stores = lappend(shared_stores, shared);
		MemoryContextSwitchTo(old);
	}
	shared->references++;
	return shared;
}

/* dp_run_detach_shared: the last node frees the store. */
void
dp_run_detach_shared(dp_shared_store *shared)
{
	if (--shared->references > 0)
		return;
	if (shared->store != NULL)
		tuplestore_end(shared->store);
	shared->store = NULL;
	shared_stores = list_delete_ptr(shared_stores, shared);
}
