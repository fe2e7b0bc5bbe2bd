/*
 * key_domains.c
 *	  The public values of a block's group keys, once parameters are known.
 *
 * They are computed in the connection, with its settings, and sent to the
 * reader (work.c).
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"

#include "run.h"

static bool
has_param_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return true;
	return expression_tree_walker(node, has_param_walker, context);
}

/*
 * Make an expression of constants total, as where rows are read: it must raise
 * no error here that it does not raise there.
 */
static Node *
total_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (!IsA(node, List) && !IsA(node, CaseWhen) && !contain_var_clause(node))
		return dp_rules_make_total(node);
	return expression_tree_mutator(node, total_mutator, context);
}

/*
 * The condition with constants for parameters and for what is computed from
 * them; NULL if a parameter has no value, so that it decides nothing.
 */
static Node *
settle(PlannerInfo *root, Node *condition)
{
	Node	   *settled = total_mutator(condition, NULL);

	settled = estimate_expression_value(root, settled);
	fix_opfuncids(settled);		/* for operators that NOT was pushed into */
	return has_param_walker(settled, NULL) ? NULL : settled;
}

/* A copy of the key with settled conditions. */
static dp_key *
settle_key(const dp_key *key, ParamListInfo params)
{
	PlannerGlobal *glob = makeNode(PlannerGlobal);
	PlannerInfo *root = makeNode(PlannerInfo);
	dp_key	   *copy = copyObject((dp_key *) key);
	List	   *conditions = NIL;
	ListCell   *lc;

	glob->boundParams = params;
	root->glob = glob;
	foreach(lc, copy->conditions)
	{
		Node	   *settled = settle(root, lfirst(lc));

		if (settled != NULL)
			conditions = lappend(conditions, settled);
	}
	copy->conditions = conditions;
	if (copy->image != NULL)
		copy->image = settle(root, copy->image);
	foreach(lc, copy->cases)
		lfirst(lc) = settle(root, lfirst(lc));
	return copy;
}

/*
 * dp_run_decide_keys
 *	  A dp_domain * for each key of the block.  Errors: 54000 too many values;
 *	  55000 a declaration is gone; those of reading the values of joined keys.
 *
 * *settled: list of dp_key *, the keys with constants for parameters, clocks
 * and users, by which rows are assigned to keys.
 */
List *
dp_run_decide_keys(const dp_block *block, EState *estate, List **settled)
{
	List	   *domains = NIL;
	ListCell   *lc;

	*settled = NIL;
	foreach(lc, block->keys)
	{
		dp_key	   *key = settle_key(lfirst(lc), estate->es_param_list_info);

		if (key->values != NULL)
			key->conditions = lcons(dp_run_key_values(block, key, estate),
									key->conditions);
		domains = lappend(domains, dp_places_domain_decide(key));
		*settled = lappend(*settled, key);
	}
	return domains;
}
