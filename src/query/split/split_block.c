/*
 * split_block.c
 *	  Split a block in two, and find which part of a partition it reads.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../protect/dp_protect.h"
#include "../expressions/dp_expressions.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"
#include "../keys/dp_keys.h"
#include "dp_split.h"
#include "split_internal.h"

/* ----------------
 *		Checks that the columns of a block have the types they had when it was
 *		analysed.
 *
 * A function in FROM is inlined each time that a query is planned, and
 * PostgreSQL's dependencies of a prepared query do not include what the
 * function reads.  A column whose type has changed would be read as the old
 * one, for example a number as the address of a text.
 * ----------------
 */

/* The present type of a column; InvalidOid if there is no such column. */
static Oid
current_type(const RangeTblEntry *entry, AttrNumber column)
{
	const TargetEntry *target;

	switch (entry->rtekind)
	{
		case RTE_RELATION:
			return get_atttype(entry->relid, column);
		case RTE_SUBQUERY:
			target = get_tle_by_resno(entry->subquery->targetList, column);
			return target == NULL || target->resjunk ? InvalidOid :
				exprType((Node *) target->expr);
		case RTE_NAMEDTUPLESTORE:
			return column > list_length(entry->coltypes) ? InvalidOid :
				list_nth_oid(entry->coltypes, column - 1);
		default:
			return InvalidOid;
	}
}

static bool
has_changed(Node *node, const dp_walk *walk)
{
	const Var  *var = (const Var *) node;

	return IsA(node, Var) && var->varlevelsup == 0 && var->varattno > 0 &&
		current_type(rt_fetch(var->varno, walk->level->rtable),
					 var->varattno) != var->vartype;
}

/*
 * check_column_types
 *	  Check a verified inner query, whose joins are flattened.
 */
static dp_refusal *
check_column_types(Query *inner)
{
	if (!dp_base_contains((Node *) inner, has_changed, NULL,
						  QTW_IGNORE_JOINALIASES))
		return NULL;
	return dp_base_refuse(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, -1,
						  "A relation or function changed since.  Nothing "
						  "was charged.",
						  "Run the query again; a prepared one must be "
						  "prepared again.",
						  "what a private query reads has other columns "
						  "than when it was analysed");
}

/* ----------------
 *		Virtual generated columns (PostgreSQL 18) of private relations.
 *
 * The planner would replace them by their expressions after all our checks.
 * So they are replaced here first: the expressions, although the table's owner
 * wrote them, are judged like the analyst's and get total versions, since an
 * error in one would reveal something about a row.
 * ----------------
 */

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
	Node	   *expression = dp_base_virtual_expression(rel, var->varattno);

	table_close(rel, NoLock);
	if (expression != NULL)
		ChangeVarNodes(expression, 1, var->varno, 0);
	return expression;
}

static dp_refusal *
split_block_refuse_column(const RangeTblEntry *entry, const Var *var)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, var->location,
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
	if (c->refusal == NULL && dp_expressions_check(expression) != NULL)
		c->refusal = split_block_refuse_column(entry, (Var *) node);
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
 * make_total
 *	  In all queries of a verified block that read private rows, replace
 *	  virtual generated columns by their expressions, and make all expressions
 *	  total.
 */
static dp_refusal *
make_total(dp_block *block)
{
	dp_refusal *refusal = expand_generated(&block->inner);
	ListCell   *lc;
	ListCell   *lc2;

	block->inner = (Query *) dp_expressions_make_total((Node *) block->inner);
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		if (!OidIsValid(source->relid))
			continue;
		if (refusal == NULL)
			refusal = expand_generated(&source->query);
		source->query = (Query *)
			dp_expressions_make_total((Node *) source->query);
		foreach(lc2, source->steps)
			if (refusal == NULL)
				refusal = expand_generated((Query **) &lfirst(lc2));
		source->steps =
			(List *) dp_expressions_make_total((Node *) source->steps);
	}
	return refusal;
}

/* ----------------
 *		Recognizes that a block reads only one part of its relation.
 *
 * A conjunct "column = value" at the top of WHERE, over a column that the
 * owner declared immutable, keeps the block within the part of the rows that
 * have this value: the ledger may then charge the part (doc/theory.md T50).
 * Otherwise the release is charged in full.
 *
 * The value is computed once, before the charge, and a second conjunct
 * requires that value of the rows: whatever the expression would return when
 * rows are read, they belong to the charged part.
 * ----------------
 */

/*
 * Is the compared type the column's own? varchar compares as text; other
 * binary-coercible casts, as to char(n), have another equality.
 */
static bool
same_kind(Oid column, Oid compared)
{
	column = getBaseType(column);
	compared = getBaseType(compared);
	return column == compared ||
		(column == VARCHAROID && compared == TEXTOID);
}

/* Which of `columns` the expression is, or 0. */
static AttrNumber
partition_column(dp_splitter *s, const Bitmapset *columns, Node *expression)
{
	Node	   *base =
		dp_base_unlabelled(dp_rowsets_base(s->query, expression));
	Var		   *column;

	if (!IsA(base, Var) || ((Var *) base)->varlevelsup != 0)
		return 0;
	column = (Var *) base;
	if (column->varattno <= 0 || !bms_is_member(column->varattno, columns) ||
		!same_kind(column->vartype, exprType(expression)) ||
		!dp_protect_declare_is_guarded(s->rowset.relation->relid,
									   column->varattno, NULL))
		return 0;
	return column->varattno;
}

static bool
is_hoisted(Node *node, const dp_walk *walk)
{
	return IsA(node, SubLink) ||
		(IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		 ((Param *) node)->paramid < 0);
}

/* Is it known before the query runs, and the same at each evaluation? */
static bool
is_plain_value(Node *node)
{
	return dp_expressions_is_public_scalar(node) &&
		!contain_mutable_functions(node) &&
		!dp_base_contains(node, is_hoisted, NULL, DP_WALK_ONE_LEVEL);
}

static bool
split_block_is_equality(OpExpr *comparison)
{
	Oid			type = exprType(linitial(comparison->args));
	TypeCacheEntry *cache;

	if (exprType(lsecond(comparison->args)) != type)
		return false;
	if (OidIsValid(comparison->inputcollid) &&
		!get_collation_isdeterministic(comparison->inputcollid))
		return false;
	cache = lookup_type_cache(type, TYPECACHE_EQ_OPR);
	return cache->eq_opr == comparison->opno;
}

static bool
take_part(dp_splitter *s, dp_block *block, const Bitmapset *columns,
		  Node *column, Node *value)
{
	AttrNumber	attnum = partition_column(s, columns, column);

	if (attnum == 0)
		return false;
	block->part_attnum = attnum;
	block->part_value = (Expr *) copyObject(value);
	return true;
}

/* The comparison with the charged value in place of the expression. */
static Node *
hold_to_part(OpExpr *comparison, const Node *column)
{
	OpExpr	   *copy = (OpExpr *) copyObject(comparison);
	bool		left = linitial(comparison->args) == column;
	Node	   *value = left ? lsecond(comparison->args) :
	linitial(comparison->args);
	Param	   *param = makeNode(Param);

	param->paramkind = PARAM_EXTERN;
	param->paramid = DP_PART_PARAM;
	param->paramtype = exprType(value);
	param->paramtypmod = exprTypmod(value);
	param->paramcollid = exprCollation(value);
	param->location = -1;
	if (left)
		lsecond(copy->args) = param;
	else
		linitial(copy->args) = param;
	return (Node *) copy;
}

/* Add the conjunct that restricts rows to the part to *held. */
static bool
match_comparison(dp_splitter *s, dp_block *block, const Bitmapset *columns,
				 OpExpr *comparison, Node **held)
{
	Node	   *left;
	Node	   *right;

	if (list_length(comparison->args) != 2 ||
		!split_block_is_equality(comparison))
		return false;
	left = linitial(comparison->args);
	right = lsecond(comparison->args);
	if (is_plain_value(right) && take_part(s, block, columns, left, right))
		*held = hold_to_part(comparison, left);
	else if (is_plain_value(left) &&
			 take_part(s, block, columns, right, left))
		*held = hold_to_part(comparison, right);
	else
		return false;
	return true;
}

static bool
match_conjunct(dp_splitter *s, dp_block *block, const Bitmapset *columns,
			   Node *conjunct, Node **held)
{
	Node	   *inverted;

	if (IsA(conjunct, OpExpr))
		return match_comparison(s, block, columns, (OpExpr *) conjunct, held);
	if (is_notclause(conjunct))
	{
		inverted = (Node *) get_notclausearg((Expr *) conjunct);
		return IsA(inverted, Var) &&
			take_part(s, block, columns, inverted,
					  makeBoolConst(false, false));
	}
	return IsA(conjunct, Var) &&
		take_part(s, block, columns, conjunct, makeBoolConst(true, false));
}

/*
 * find_part
 *	  Set the block's part, or leave it empty.  Called while the query's
 *	  conditions are as written; may add a condition.
 */
static void
find_part(dp_splitter *s, dp_block *block)
{
	Bitmapset  *columns =
	dp_protect_attribute_partitions(s->rowset.relation->relid);
	Node	   *held = NULL;
	ListCell   *lc;

	if (columns == NULL)
		return;
	foreach(lc, make_ands_implicit((Expr *) s->query->jointree->quals))
	{
		if (!match_conjunct(s, block, columns, lfirst(lc), &held))
			continue;
		if (held != NULL)
			s->query->jointree->quals =
				make_and_qual(s->query->jointree->quals, held);
		return;
	}
}

/* ----------------
 *		Split a DP block in two.
 *
 *		SELECT ward, dp_count(*) FROM patients WHERE age >= 18
 *		GROUP BY ward HAVING dp_count(*) > 20
 *
 * becomes an inner query over private rows,
 *
 *		SELECT ward, dp_count(*) FROM patients WHERE age >= 18 GROUP BY ward
 *
 * whose dp_ aggregates the release replaces by exact ones when it runs, and an
 * outer query over the released rows with everything else:
 *
 *		SELECT ward, n FROM release (ward, n) WHERE n > 20
 *
 * The release is one range table entry; its columns are the group keys, then
 * the distinct aggregates, in order of appearance, then the 95% error of each.
 * Equal aggregates of one block are one released value, drawn and paid for
 * once.
 * ----------------
 */

/* ---- collecting ---- */

/* The hint for an aggregate that is not private. */
static char *
advice(Oid aggregate)
{
	return psprintf("%s Over released values, in an outer query, %s may be "
					"used as it is.", dp_catalog_private_advice(aggregate),
					get_func_name(aggregate));
}

static bool
split_block_collect_walker(Node *node, void *context)
{
	dp_splitter *s = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == s->level)
	{
		Aggref	   *aggregate = dp_split_lift_aggregate((Aggref *) node,
														s->level);

		if (dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_NONE)
		{
			s->refusal = dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
										aggregate->location,
										"It would show an exact value of "
										"private rows.",
										advice(aggregate->aggfnoid),
										"aggregate %s is not private",
										get_func_name(aggregate->aggfnoid));
			return true;
		}
		s->aggregates = list_append_unique(s->aggregates, aggregate);
		return false;
	}
	if (IsA(node, GroupingFunc) &&
		(int) ((GroupingFunc *) node)->agglevelsup == s->level)
	{
		s->refusal = dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
									((GroupingFunc *) node)->location,
									NULL, "Use plain GROUP BY.",
									"GROUPING is not supported with private "
									"aggregates");
		return true;
	}
	if (IsA(node, Query))
	{
		bool		stop;

		s->level++;
		stop = query_tree_walker((Query *) node, split_block_collect_walker,
								 context, 0);
		s->level--;
		return stop;
	}
	return expression_tree_walker(node, split_block_collect_walker, context);
}

static bool
split_block_is_grouped(Query *query, TargetEntry *target)
{
	ListCell   *lc;

	if (target->ressortgroupref == 0)
		return false;
	foreach(lc, query->groupClause)
		if (((SortGroupClause *) lfirst(lc))->tleSortGroupRef ==
			target->ressortgroupref)
			return true;
	return false;
}

static void
split_block_add_column(dp_splitter *s, const char *name, Node *like)
{
	s->names = lappend(s->names, makeString(pstrdup(name)));
	s->types = lappend_oid(s->types, exprType(like));
	s->typmods = lappend_int(s->typmods, exprTypmod(like));
	s->collations = lappend_oid(s->collations, exprCollation(like));
}

/* ---- the inner query ---- */

/* An outer join may make a key NULL, unless the key is a test for NULL. */
static void
set_nullable(dp_key *key, bool test)
{
	key->nullable = key->nullable || !test;
	if (key->base != NULL)
		key->base->nullable = true;
}

/* The expression, if it has the type of the key; or NULL. */
static Node *
same_type(Node *base, Expr *key)
{
	return base != NULL && exprType(base) == exprType((Node *) key) &&
		exprCollation(base) == exprCollation((Node *) key) ? base : NULL;
}

/*
 * The same, if the values of rows equal that of their group: not if an image
 * of `other` represents undeclared ones.
 */
static Node *
split_block_value_of(const dp_key *key, Node *base, Expr *target)
{
	bool		declared = key->kind == DP_KEY_IMAGE && key->base != NULL &&
		key->base->kind == DP_KEY_DECLARED;

	return declared ? NULL : same_type(base, target);
}

/* What a grouping expression is, beside a key. */
typedef struct split_key
{
	Node	   *base;			/* what it follows from, over base columns */
	Node	   *values;			/* a column of joined rows that equals it */
	Expr	   *computed;		/* what the inner query computes */
} split_key;

/* Classify a target as a key of the block. */
static dp_refusal *
make_key(dp_splitter *s, const dp_block *block, const TargetEntry *target,
		 dp_key *key, split_key *out)
{
	List	   *conjuncts = dp_keys_conjuncts(s->query);
	Node	   *expression = dp_rowsets_hoist((Node *) target->expr,
											  &s->rowset);
	dp_refusal *refusal = dp_expressions_check(expression);
	bool		nullable;

	if (refusal != NULL)
		return refusal;
	out->base = dp_rowsets_base(s->query, expression);
	refusal = dp_keys_classify((Node *) target->expr, out->base,
							   dp_rowsets_relation_of(&s->rowset, out->base,
													  &nullable),
							   key);
	refusal = dp_keys_find_key_conditions(conjuncts, out->base, key, refusal);
	out->computed = (Expr *) expression;
	refusal = dp_keys_classify_image(s->query, out->base, key, refusal,
									 &out->computed);
	refusal = dp_keys_classify_joined(block, out->base, conjuncts,
									  s->conditions, key, &out->values,
									  refusal);
	refusal = dp_keys_classify_undeclared((Node *) target->expr, key,
										  refusal);
	if (refusal == NULL && nullable && key->values == NULL)
		set_nullable(key, IsA(out->base, NullTest));
	return refusal;
}

static dp_refusal *
split_block_add_keys(dp_splitter *s, Query *inner, dp_block *block)
{
	List	   *bases = NIL;
	List	   *joined = NIL;
	ListCell   *lc;

	foreach(lc, s->query->targetList)
	{
		TargetEntry *target = lfirst(lc);
		TargetEntry *copy;
		dp_refusal *refusal;
		dp_key	   *key;
		split_key	found;

		if (!split_block_is_grouped(s->query, target))
			continue;
		key = dp_make_node(dp_key);
		refusal = make_key(s, block, target, key, &found);
		if (refusal != NULL)
			return refusal;
		block->keys = lappend(block->keys, key);
		s->keys = lappend(s->keys, target->expr);
		bases = lappend(bases, split_block_value_of(key, found.base,
													target->expr));
		joined = lappend(joined, same_type(found.values, target->expr));
		split_block_add_column(s, target->resname ? target->resname : "key",
							   (Node *) target->expr);
		copy = dp_rowsets_add_target(&inner->targetList,
									 copyObject((Node *) found.computed),
									 target->resname ?
									 target->resname : "key");
		copy->ressortgroupref = target->ressortgroupref;
	}
	block->key_conditions = dp_keys_conditions(bases,
											   dp_keys_conjuncts(s->query));
	s->combined = dp_keys_join(block, joined, s->conditions);
	return NULL;
}

/* Add a key of another set; returns its number, or -1 for a constant. */
static int
add_other_key(dp_splitter *s, dp_block *block, const TargetEntry *target)
{
	dp_key	   *key = dp_make_node(dp_key);
	split_key	found;

	s->refusal = make_key(s, block, target, key, &found);
	if (s->refusal != NULL || key->kind == DP_KEY_CONSTANT)
		return -1;
	block->others = lappend(block->others, key);
	s->others = lappend(s->others, found.computed);
	return list_length(block->keys) + list_length(block->others) - 1;
}

/*
 * If the block is one of GROUPING SETS, find the keys of all sets among its
 * last targets (dp_transparent_split_sets), which are taken off: of its own
 * keys the numbers, and others, which become keys that only bound rows.
 */
static dp_refusal *
add_crossing(dp_splitter *s, dp_block *block)
{
	List	   *own = NIL;
	ListCell   *lc;

	foreach(lc, s->query->targetList)
	{
		TargetEntry *target = lfirst(lc);
		int			n;

		if (!target->resjunk || target->ressortgroupref != 0)
		{
			own = lappend(own, target);
			continue;
		}
		n = IsA(target->expr, Const) ?
			DatumGetInt32(((Const *) target->expr)->constvalue) :
			add_other_key(s, block, target);
		if (s->refusal != NULL)
			return s->refusal;
		if (n >= 0 && dp_rowsets_key(block, n)->kind != DP_KEY_CONSTANT)
			block->crossing = lappend_int(block->crossing, n);
	}
	s->query->targetList = own;
	return NULL;
}

/* One row of a unit, and lists of conditions, need no crossing. */
static void
end_crossing(dp_splitter *s, dp_block *block)
{
	bool		bounded = s->rowset.many;
	ListCell   *lc;

	foreach(lc, block->values)
		if (((const dp_value *) lfirst(lc))->kind == DP_AGG_CONDITIONS)
			bounded = false;
	if (!bounded)
		block->others = block->crossing = s->others = NIL;
	foreach(lc, s->others)
		(void) dp_rowsets_add_target(&block->inner->targetList, lfirst(lc),
									 "key");
}

/*
 * If units have many rows, the unit of each row follows the keys.  If keys are
 * released by threshold and every row is a unit, rows need no unit.
 */
static dp_refusal *
split_block_add_unit(dp_splitter *s, Query *inner, dp_block *block)
{
	dp_refusal *refusal;
	Expr	   *unit;

	block->single = !s->rowset.many && dp_keys_has_undeclared(block);
	if (!s->rowset.many && !block->single)
		return NULL;
	refusal = s->rowset.many ?
		dp_rowsets_check_unit_type(s->rowset.relation) : NULL;
	if (refusal != NULL)
		return refusal;
	unit = s->rowset.many ? dp_rowsets_unit(s->query, &s->rowset) :
		dp_keys_no_unit();
	block->many = true;
	block->unit_type = exprType((Node *) unit);
	(void) dp_rowsets_add_target(&inner->targetList, (Node *) unit, "unit");
	return NULL;
}

/* Does the aggregate have bounds: written, declared or to be inferred? */
static bool
has_bounds(int kind)
{
	return kind == DP_AGG_SUM || kind == DP_AGG_AVG ||
		kind == DP_AGG_VARIANCE || kind == DP_AGG_STDDEV ||
		kind == DP_AGG_VAR_POP || kind == DP_AGG_STDDEV_POP ||
		kind == DP_AGG_QUANTILE || kind == DP_AGG_MEDIAN ||
		kind == DP_AGG_MIN || kind == DP_AGG_MAX ||
		kind == DP_AGG_SUM_DISTINCT || kind == DP_AGG_AVG_DISTINCT ||
		dp_catalog_row_arguments(kind) == 2;
}

/* Is one of the conditions a weight, whose values must be from 0 to 1? */
static bool
has_weights(int kind, Node *base)
{
	ListCell   *lc;

	if (kind != DP_AGG_CONDITIONS)
		return false;
	foreach(lc, castNode(ArrayExpr, base)->elements)
		if (dp_split_is_weight(lfirst(lc)))
			return true;
	return false;
}

/*
 * Cut what is known about the values of an aggregate's arguments.  An average
 * has the bounds of what is averaged, but other values.
 */
static void
cut_bases(dp_value *value, List **publics)
{
	Node	   *base = value->kind == DP_AGG_COUNT ? value->base :
	dp_rowsets_bounds_of_groups(value->base);
	Node	   *plain = base == NULL ? NULL : strip_implicit_coercions(base);

	if (plain != NULL && IsA(plain, Var))
	{
		value->base_leaf = (int) ((Var *) plain)->varno;
		value->base_attnum = ((Var *) plain)->varattno;
	}
	if (base != NULL &&
		(has_bounds(value->kind) || has_weights(value->kind, base)))
		value->base = dp_domains_cut_public(value->base, publics);
	else
		value->base = NULL;
	if (value->second != NULL)
		value->second = dp_domains_cut_public(value->second, publics);
}

/* ---- conditions that narrow bounds ---- */

/* Whether all columns of a condition are among those bounds depend on. */
static bool
concerns(Node *condition, const List *columns)
{
	return pull_var_clause(condition, PVC_INCLUDE_AGGREGATES) != NIL &&
		list_difference(pull_var_clause(condition, PVC_RECURSE_AGGREGATES),
						columns) == NIL;
}

/* What bounds of the block's values depend on. */
static List *
bases_of(const dp_block *block)
{
	List	   *bases = NIL;
	ListCell   *lc;

	foreach(lc, block->values)
	{
		const dp_value *value = lfirst(lc);

		if (value->base != NULL)
			bases = lappend(bases, value->base);
		if (value->second != NULL)
			bases = lappend(bases, value->second);
	}
	return bases;
}

/* Add the conjuncts that may narrow bounds over the columns, cut. */
static List *
cut_conjuncts(List *conditions, Node *base, const List *columns,
			  dp_block *block)
{
	ListCell   *lc;

	foreach(lc, dp_rowsets_add_conjuncts(NIL, base))
	{
		Node	   *conjunct = lfirst(lc);

		if (dp_domains_narrows(conjunct) && concerns(conjunct, columns))
			conditions = list_append_unique(conditions,
											dp_domains_cut_public(
														conjunct,
														&block->publics));
	}
	return conditions;
}

/*
 * Whether a condition holds wherever what it compares is not NULL.  It does
 * where one of the leaves has a row, and without the row a strict one is NULL.
 */
static bool
holds_if_compared(const dp_join_condition *condition, Node *cut)
{
	return !contain_nonstrict_functions(cut) &&
		(condition->usable == NULL ||
		 bms_overlap(pull_varnos(NULL, cut), condition->usable));
}

/*
 * Record the conditions that narrow bounds: for the block those that also hold
 * for rows that levels below put together, and for each value FILTER and what
 * else WHERE of the block's own level says.
 */
static void
add_narrowing(dp_splitter *s, dp_block *block)
{
	List	   *bases = bases_of(block);
	List	   *columns = pull_var_clause((Node *) bases,
										  PVC_RECURSE_AGGREGATES);
	List	   *own;
	ListCell   *lc;
	ListCell   *lc2;

	if (bases == NIL)
		return;
	foreach(lc, s->conditions)
	{
		const dp_join_condition *condition = lfirst(lc);

		foreach(lc2, cut_conjuncts(NIL, condition->base, columns, block))
			if (holds_if_compared(condition, lfirst(lc2)))
				block->conditions = list_append_unique(block->conditions,
													   lfirst(lc2));
	}
	own = list_difference(cut_conjuncts(NIL,
										dp_rowsets_base(
												  s->query,
												  s->query->jointree->quals),
										columns, block), block->conditions);
	foreach(lc, block->values)
	{
		dp_value   *value = lfirst(lc);
		Aggref	   *aggregate = dp_rowsets_aggregate(block,
												 foreach_current_index(lc));

		if (value->base != NULL)
			value->filters =
				cut_conjuncts(list_copy(own),
							  dp_rowsets_base(s->query, (Node *)
											  aggregate->aggfilter),
							  columns, block);
	}
}

static dp_refusal *
add_aggregates(dp_splitter *s, Query *inner, dp_block *block)
{
	ListCell   *lc;

	foreach(lc, s->aggregates)
	{
		Aggref	   *original = lfirst(lc);
		Aggref	   *aggregate = copyObject(original);
		const char *name = get_func_name(original->aggfnoid);
		dp_value   *value = dp_make_node(dp_value);
		dp_refusal *refusal = dp_split_check_aggregate(s, aggregate, value);

		if (refusal == NULL && value->kind == DP_AGG_CONDITIONS &&
			block->single)
			refusal = dp_keys_refuse_undeclared(original);
		if (refusal != NULL)
			return refusal;
		cut_bases(value, &block->publics);
		if (s->sizes != NIL)
			value->size = list_nth_int(s->sizes, foreach_current_index(lc));
		if (s->units == foreach_current_index(lc) + 1)
			value->of_units = true;
		block->values = lappend(block->values, value);
		split_block_add_column(s, name, (Node *) original);
		(void) dp_rowsets_add_target(&inner->targetList, (Node *) aggregate,
									 name);
	}
	return NULL;
}

/*
 * Add a column for each aggregate, the 95% error of its value, if a row has
 * room for all.
 */
static void
add_errors(dp_splitter *s)
{
	int			n = list_length(s->aggregates);
	int			i;

	s->errors = list_length(s->names) + n <= MaxTupleAttributeNumber;
	for (i = 0; s->errors && i < n; i++)
	{
		s->names = lappend(s->names, makeString(pstrdup("error")));
		s->types = lappend_oid(s->types, FLOAT8OID);
		s->typmods = lappend_int(s->typmods, -1);
		s->collations = lappend_oid(s->collations, InvalidOid);
	}
}

/* A row with too many columns would be an error after the charge. */
static dp_refusal *
refuse_columns(const dp_splitter *s)
{
	if (list_length(s->names) <= MaxTupleAttributeNumber)
		return NULL;
	return dp_base_refuse(ERRCODE_PROGRAM_LIMIT_EXCEEDED, -1,
						  psprintf("It would release rows of %d columns; at "
								   "most %d are possible.",
								   list_length(s->names),
								   MaxTupleAttributeNumber),
						  "Ask in several queries.",
						  "query has too many private values");
}

/* ---- the split ---- */

static Query *
make_inner(Query *query)
{
	Query	   *inner = dp_rowsets_make_level(NIL);

	inner->hasAggs = query->hasAggs;
	inner->hasRowSecurity = query->hasRowSecurity;
	dp_compat_take_entries(inner, query);
	inner->jointree = query->jointree;
	inner->groupClause = query->groupClause;
	return inner;
}

static dp_refusal *
refuse_clause(Query *query)
{
	if (query->groupingSets != NIL)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							  "Each grouping set would be a release of its "
							  "own.",
							  "Use one query with plain GROUP BY for each "
							  "grouping set.",
							  "grouping sets are not supported with private "
							  "aggregates");
	if (query->hasModifyingCTE)
		return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
							  "Run the data-modifying statement separately.",
							  "data-modifying WITH queries are not "
							  "supported together with private aggregates");
	return NULL;
}

/* Set the block's relation and, if something is joined, the rest of FROM. */
static void
set_relations(dp_splitter *s, dp_block *block)
{
	block->relid = s->rowset.relation->relid;
	block->dataset = s->rowset.relation->dataset;
	dp_rowsets_name_rows(&s->rowset, block);
}

static dp_refusal *
refuse_correlated(Node *node)
{
	if (!dp_rowsets_refers_outside(node, 0))
		return NULL;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "It would be released again for every outer row.",
						  "Compare columns of private rows with the outer "
						  "query by = in WHERE, in conditions that AND "
						  "connects; or group by them, and join the "
						  "result.",
						  "the private part of a query refers to an outer "
						  "query");
}

/*
 * dp_split_one
 *	  Verify the block and split it in place.
 *
 * On success the query has become the outer query, *entry is its release entry
 * (without a function expression yet), and *block describes the inner one.
 * After a refusal the query is not usable.
 */
dp_refusal *
dp_split_one(Query *query, List *cte_stack, dp_block **block,
			 RangeTblEntry **entry)
{
	dp_splitter s;
	dp_block   *b = dp_make_node(dp_block);
	dp_refusal *refusal = refuse_clause(query);
	List	   *written;
	ListCell   *lc;

	dp_base_ungroup(query);
	if (refusal == NULL)
		refusal = refuse_correlated(query->jointree->quals);
	if (refusal != NULL)
		return refusal;
	memset(&s, 0, sizeof(s));
	s.query = query;
	s.error = dp_catalog_error_function();
	refusal = dp_rowsets_verify(query, cte_stack, &s.rowset);
	if (refusal == NULL)
		refusal = dp_rowsets_check_join(query, &s.rowset);
	if (refusal == NULL)
		dp_rowsets_group_asked(query, &s.rowset);
	if (refusal == NULL)
		refusal = dp_rowsets_check_groups(query, &s.rowset);
	if (refusal != NULL)
		return refusal;
	if (split_block_collect_walker((Node *) query->targetList, &s) ||
		split_block_collect_walker(query->havingQual, &s))
		return s.refusal;
	written = list_copy(s.aggregates);

	/* A unit with many rows may have rows in many parts. */
	if (!s.rowset.many && !dp_rowsets_has_join(&s.rowset))
		find_part(&s, b);
	set_relations(&s, b);
	refusal = dp_rowsets_check_lists(query, &s.rowset);
	if (refusal != NULL)
		return refusal;
	s.conditions = dp_rowsets_join_conditions(query);
	dp_rowsets_find_join_keys(query, s.conditions, &s.rowset, b);
	b->inner = make_inner(query);
	refusal = split_block_add_keys(&s, b->inner, b);
	if (refusal == NULL)
		refusal = add_crossing(&s, b);
	if (refusal == NULL)
		refusal = split_block_add_unit(&s, b->inner, b);
	if (refusal == NULL)
		dp_split_add_sizes(&s, b);
	if (refusal == NULL)
		refusal = add_aggregates(&s, b->inner, b);
	if (refusal == NULL)
		add_narrowing(&s, b);
	end_crossing(&s, b);
	if (refusal == NULL)
		refusal = dp_rowsets_check_naming(query, &s.rowset, s.keys, written);
	if (refusal == NULL)
		refusal = refuse_columns(&s);
	if (refusal != NULL)
		return refusal;
	add_errors(&s);
	s.nullable = b->least > 0 && b->keys == NIL;
	refusal = dp_split_make_outer(&s, entry);
	b->error_alone = bms_nonempty_difference(s.asked, s.shown);
	if (refusal == NULL)
		refusal = refuse_correlated((Node *) b->inner);
	foreach(lc, b->sources)
		if (refusal == NULL)
			refusal = refuse_correlated((Node *)
										((dp_joined *) lfirst(lc))->query);
	if (refusal == NULL)
		refusal = check_column_types(b->inner);
	if (refusal == NULL)
		refusal = dp_rowsets_select_rows(b);
	if (refusal != NULL)
		return refusal;

	b->once = s.rowset.many && dp_rowsets_reads_once(b);
	b->subqueries = s.rowset.hoisted;
	b->fingerprint = dp_split_fingerprint(b);
	refusal = make_total(b);
	if (refusal != NULL)
		return refusal;
	dp_rowsets_keep_full(b->inner);
	dp_rowsets_forget_naming(b->inner);
	*block = b;
	return NULL;
}
