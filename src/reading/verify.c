/*
 * verify.c
 *	  Conditions over a relation, verified as those of a private query are.
 *
 * They become the array of one dp_pg.conditions over the relation; that query
 * is rewritten (views, row security), verified and split as any other, and of
 * its block the conditions are taken.  Weights stand in the array unconverted,
 * as no written query could have them: the array is never built.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "reading.h"

static Aggref *
make_aggregate(List *predicates, Const *epsilon)
{
	Aggref	   *aggregate = makeNode(Aggref);
	ArrayExpr  *array = makeNode(ArrayExpr);
	Oid			types[2] = {BOOLARRAYOID, NUMERICOID};
	ListCell   *lc;

	array->array_typeid = BOOLARRAYOID;
	array->element_typeid = BOOLOID;
	array->location = -1;
	foreach(lc, predicates)
		array->elements = lappend(array->elements,
								  ((TargetEntry *) lfirst(lc))->expr);
	aggregate->aggfnoid =
		dp_catalog_function("conditions", epsilon == NULL ? 1 : 2, types);
	aggregate->aggtype = INT4OID;
	aggregate->aggkind = AGGKIND_NORMAL;
	aggregate->aggsplit = AGGSPLIT_SIMPLE;
	aggregate->aggno = -1;
	aggregate->aggtransno = -1;
	aggregate->location = -1;
	aggregate->aggargtypes = list_make1_oid(BOOLARRAYOID);
	aggregate->args = list_make1(makeTargetEntry((Expr *) array, 1, NULL,
												 false));
	if (epsilon != NULL)
	{
		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes,
											 NUMERICOID);
		aggregate->args = lappend(aggregate->args,
								  makeTargetEntry((Expr *) epsilon, 2, NULL,
												  false));
	}
	return aggregate;
}

/*
 * dp_reading_forget_position
 *	  An error context for what stands in texts of predicates: parse positions
 *	  count in them, not in any query's.
 */
void
dp_reading_forget_position(void *arg)
{
	if (geterrposition() > 0)
		errposition(0);
}

/* A public relation with policies for the current user, or InvalidOid. */
static Oid
find_policies(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_RELATION &&
			!OidIsValid(dp_protect_root(entry->relid)) &&
			!OidIsValid(dp_compat_reads_as(level, entry)) &&
			check_enable_rls(entry->relid, InvalidOid, true) != RLS_NONE)
			return entry->relid;
	}
	return InvalidOid;
}

static bool
policies_walker(Node *node, void *context)
{
	Oid		   *found = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		*found = find_policies((Query *) node);
		return OidIsValid(*found) ||
			query_tree_walker((Query *) node, policies_walker, context, 0);
	}
	return expression_tree_walker(node, policies_walker, context);
}

/*
 * Policies were chosen for the current user.  Inside a SECURITY DEFINER
 * function that is not the asking role, whose view may name public relations
 * that are read as the asking role.
 */
static void
forbid_policies(Query *query)
{
	Oid			found = InvalidOid;

	if (GetUserId() == dp_ledger_asking_role() ||
		!policies_walker((Node *) query, &found))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("relation \"%s\" has row security that depends on the "
					"current user", get_rel_name(found)),
			 errdetail("The current user is not the asking role."),
			 errhint("Name a view that reads it with the right of its owner, "
					 "without security_invoker; or ask outside of the "
					 "function.")));
}

/*
 * dp_reading_rewrite_conditions
 *	  Replace the query's targets, which are conditions, by
 *	  dp_pg.conditions(ARRAY[targets] [, epsilon]), and rewrite.
 *
 * Errors: those of rewriting; 0A000 policies that depend on another role than
 * the asking one.
 */
Query *
dp_reading_rewrite_conditions(Query *query, Const *epsilon)
{
	Aggref	   *aggregate = make_aggregate(query->targetList, epsilon);
	ErrorContextCallback callback;

	query->targetList = list_make1(makeTargetEntry((Expr *) aggregate, 1,
												   pstrdup("place"), false));
	query->hasAggs = true;
	callback.callback = dp_reading_forget_position;
	callback.arg = NULL;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	query = linitial_node(Query, pg_rewrite_query(query));
	error_context_stack = callback.previous;
	forbid_policies(query);
	return query;
}

/*
 * dp_reading_select_columns
 *	  SELECT true, column IS NULL, ... FROM relation, as the parser would give
 *	  it; the relation stays locked.
 *
 * Errors: 42P01 no such relation, 42501 no right to use its schema.
 */
Query *
dp_reading_select_columns(Oid relid, const AttrNumber *columns, int n)
{
	Query	   *query = dp_block_read_predicates(relid,
												 list_make1("true"));
	int			i;

	for (i = 0; i < n; i++)
	{
		Node	   *test;
		Oid			type;
		Oid			collation;
		int32		typmod;

		get_atttypetypmodcoll(relid, columns[i], &type, &typmod, &collation);
		test = dp_block_null_test((Node *)
								  makeVar(1, columns[i], type, typmod,
										  collation, 0), IS_NULL);
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) test, i + 2,
													"column", false));
	}
	return query;
}

static void
take_block(dp_block *block, RangeTblEntry *entry, void *context)
{
	List	  **blocks = context;

	*blocks = lappend(*blocks, block);
}

/*
 * dp_reading_verify_conditions
 *	  The block of a query of dp_reading_rewrite_conditions; raises what is
 *	  wrong with it.
 */
dp_block *
dp_reading_verify_conditions(Query *query)
{
	List	   *blocks = NIL;
	List	   *inval_items = NIL;
	dp_refusal *refusal = dp_block_split_all(query, take_block, &blocks,
											 &inval_items);

	if (refusal != NULL)
		dp_bridge_raise_refusal(refusal, NULL);
	if (list_length(blocks) != 1)
		elog(ERROR, "reading has %d blocks", list_length(blocks));
	return linitial(blocks);
}

/* dp_reading_block_conditions: its conditions, verified and total. */
List *
dp_reading_block_conditions(const dp_block *block)
{
	TargetEntry *target = list_nth(block->inner->targetList,
								   dp_block_first_aggregate(block));
	Aggref	   *aggregate = castNode(Aggref, target->expr);

	target = linitial(aggregate->args);
	return castNode(ArrayExpr, target->expr)->elements;
}
