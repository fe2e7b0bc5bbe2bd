/*
 * generated.c
 *	  Virtual generated columns (PostgreSQL 18) of private relations.
 *
 * The planner would replace them by their expressions after all our checks.
 * So they are replaced here first: the expressions, although the table's owner
 * wrote them, are judged like the analyst's and get total versions, since an
 * error in one would reveal something about a row.
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "split.h"

typedef struct generated_context
{
	Query	   *level;
	dp_refusal *refusal;
} generated_context;

/* A copy of the expression of a virtual generated column, or NULL. */
static Node *
expression_of(const RangeTblEntry *entry, const Var *var)
{
	Relation	rel = table_open(entry->relid, NoLock);
	Node	   *expression = dp_bridge_virtual_expression(rel, var->varattno);

	table_close(rel, NoLock);
	if (expression != NULL)
		ChangeVarNodes(expression, 1, var->varno, 0);
	return expression;
}

static dp_refusal *
refuse_column(const RangeTblEntry *entry, const Var *var)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, var->location,
							"It is computed each time it is read, by an "
							"expression that is not allowed on private rows.",
							"Leave the column out, or let its owner make it "
							"STORED.",
							"virtual generated column \"%s\" cannot be used "
							"on private rows",
							get_attname(entry->relid, var->varattno, false));
}

static Node *
generated_mutator(Node *node, void *context)
{
	generated_context *c = context;
	RangeTblEntry *entry;
	Node	   *expression;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		generated_context inner = {(Query *) node, c->refusal};

		node = (Node *) query_tree_mutator((Query *) node, generated_mutator,
										   &inner, 0);
		c->refusal = inner.refusal;
		return node;
	}
	if (!IsA(node, Var) || ((Var *) node)->varlevelsup > 0)
		return expression_tree_mutator(node, generated_mutator, context);
	entry = rt_fetch(((Var *) node)->varno, c->level->rtable);
	if (entry->rtekind != RTE_RELATION)
		return copyObject(node);
	expression = expression_of(entry, (Var *) node);
	if (expression == NULL)
		return copyObject(node);
	if (c->refusal == NULL && dp_rules_check(expression) != NULL)
		c->refusal = refuse_column(entry, (Var *) node);
	return expression;
}

/*
 * Replace virtual generated columns by their expressions, at all levels of a
 * verified query.  Returns a refusal, or NULL with the new query in *query.
 */
static dp_refusal *
expand_generated(Query **query)
{
	generated_context context = {*query, NULL};

	*query = (Query *) generated_mutator((Node *) *query, &context);
	return context.refusal;
}

/*
 * dp_block_make_total
 *	  In all queries of a verified block that read private rows, replace
 *	  virtual generated columns by their expressions, and make all expressions
 *	  total.
 */
dp_refusal *
dp_block_make_total(dp_block *block)
{
	dp_refusal *refusal = expand_generated(&block->inner);
	ListCell   *lc;
	ListCell   *lc2;

	block->inner = (Query *) dp_rules_make_total((Node *) block->inner);
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		if (!OidIsValid(source->relid))
			continue;
		if (refusal == NULL)
			refusal = expand_generated(&source->query);
		source->query = (Query *)
			dp_rules_make_total((Node *) source->query);
		foreach(lc2, source->steps)
			if (refusal == NULL)
				refusal = expand_generated((Query **) &lfirst(lc2));
		source->steps = (List *) dp_rules_make_total((Node *) source->steps);
	}
	return refusal;
}
