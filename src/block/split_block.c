/*
 * split_block.c
 *	  Split a DP block in two.
 *
 *	  SELECT ward, dp_count(*) FROM patients WHERE age >= 18
 *	  GROUP BY ward HAVING dp_count(*) > 20
 *
 * becomes an inner query over private rows,
 *
 *	  SELECT ward, dp_count(*) FROM patients WHERE age >= 18 GROUP BY ward
 *
 * whose dp_ aggregates the release replaces by exact ones when it runs, and
 * an outer query over the released rows, which is whatever the analyst wrote:
 *
 *	  SELECT ward, n FROM release (ward, n) WHERE n > 20
 *
 * The release is one range table entry; its columns are the group keys and
 * then the distinct aggregates, in order of appearance.  Textually equal
 * aggregates of one block are one released value, drawn and paid for once.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "split.h"

/* ---- collecting ---- */

static bool
collect_walker(Node *node, void *context)
{
	dp_splitter *s = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == s->level)
	{
		Aggref	   *aggregate = dp_block_lift_aggregate((Aggref *) node,
														s->level);

		if (dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_NONE)
		{
			s->refusal = dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
										  aggregate->location,
										  "It would show an exact value of "
										  "private rows.",
										  "Use the dp_ aggregate, or move it "
										  "to an outer query over released "
										  "values.",
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
		s->refusal = dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
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
		stop = query_tree_walker((Query *) node, collect_walker, context, 0);
		s->level--;
		return stop;
	}
	return expression_tree_walker(node, collect_walker, context);
}

static bool
is_grouped(Query *query, TargetEntry *target)
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
add_column(dp_splitter *s, const char *name, Node *like)
{
	s->names = lappend(s->names, makeString(pstrdup(name)));
	s->types = lappend_oid(s->types, exprType(like));
	s->typmods = lappend_int(s->typmods, exprTypmod(like));
	s->collations = lappend_oid(s->collations, exprCollation(like));
}

/* ---- the inner query ---- */

/* What an outer join leaves out is NULL. */
static void
set_nullable(dp_key *key)
{
	key->nullable = true;
	if (key->base != NULL)
		key->base->nullable = true;
}

static dp_refusal *
add_keys(dp_splitter *s, Query *inner, dp_block *block)
{
	List	   *conjuncts = dp_block_key_conjuncts(s->query);
	ListCell   *lc;

	foreach(lc, s->query->targetList)
	{
		TargetEntry *target = lfirst(lc);
		TargetEntry *copy;
		dp_refusal *refusal;
		dp_key	   *key;
		Node	   *expression;
		Node	   *base;
		Expr	   *computed;
		bool		nullable;

		if (!is_grouped(s->query, target))
			continue;
		expression = dp_block_rowset_hoist((Node *) target->expr, &s->rowset);
		refusal = dp_rules_check(expression);
		if (refusal != NULL)
			return refusal;
		key = palloc(sizeof(dp_key));
		base = dp_block_rowset_base(s->query, expression);
		refusal = dp_block_classify_key((Node *) target->expr, base,
										dp_block_relation_of(&s->rowset, base,
															 &nullable),
										key);
		refusal = dp_block_find_key_conditions(conjuncts, base, key, refusal);
		computed = (Expr *) expression;
		refusal = dp_block_classify_image(s->query, base, key, refusal,
										  &computed);
		if (refusal != NULL)
			return refusal;
		if (nullable)
			set_nullable(key);
		block->keys = lappend(block->keys, key);
		s->keys = lappend(s->keys, target->expr);
		add_column(s, target->resname ? target->resname : "key",
				   (Node *) target->expr);
		copy = makeTargetEntry(copyObject(computed),
							   list_length(inner->targetList) + 1,
							   pstrdup(target->resname ? target->resname :
									   "key"), false);
		copy->ressortgroupref = target->ressortgroupref;
		inner->targetList = lappend(inner->targetList, copy);
	}
	return NULL;
}

/* Where units have many rows, the unit of each row follows the keys. */
static dp_refusal *
add_unit(dp_splitter *s, Query *inner, dp_block *block)
{
	const dp_relation *relation = s->rowset.relation;
	dp_refusal *refusal;
	Expr	   *unit;

	if (!s->rowset.many)
		return NULL;
	refusal = dp_block_check_unit_type(relation);
	if (refusal != NULL)
		return refusal;
	unit = dp_block_rowset_unit(s->query, &s->rowset);
	block->many = true;
	block->unit_type = exprType((Node *) unit);
	inner->targetList =
		lappend(inner->targetList,
				makeTargetEntry(unit, list_length(inner->targetList) + 1,
								pstrdup("unit"), false));
	return NULL;
}

static dp_refusal *
check_parameters(Aggref *aggregate, const char *name)
{
	ListCell   *lc;

	for_each_from(lc, aggregate->args, 1)
	{
		Node	   *argument = (Node *) ((TargetEntry *) lfirst(lc))->expr;

		if (!dp_rules_is_public_scalar(argument))
			return dp_bridge_refuse(ERRCODE_INVALID_PARAMETER_VALUE,
									exprLocation(argument),
									"Epsilon and bounds that depend on rows "
									"would reveal something about the rows.",
									"Use constants, parameters, or "
									"computations over them.",
									"parameters of %s must not depend on rows",
									name);
	}
	return NULL;
}

/* dp_count(0.5) is a forgotten first argument, not a count of a constant. */
static dp_refusal *
check_lone_constant(Aggref *aggregate, const char *name)
{
	Node	   *argument;
	Oid			type;

	if (list_length(aggregate->args) != 1 ||
		dp_catalog_aggregate_kind(aggregate->aggfnoid) != DP_AGG_COUNT)
		return NULL;
	argument = (Node *) ((TargetEntry *) linitial(aggregate->args))->expr;
	type = exprType(argument);
	if ((type != NUMERICOID && type != FLOAT8OID && type != FLOAT4OID) ||
		!dp_rules_is_public_scalar(argument))
		return NULL;
	return dp_bridge_refuse(ERRCODE_INVALID_PARAMETER_VALUE,
							exprLocation(argument),
							"The only argument is what to count.",
							"To give an epsilon, write dp_count(1, 0.5).",
							"%s of a constant that is not an integer", name);
}

static dp_refusal *
check_operator(Oid operator, Expr *argument, Aggref *aggregate)
{
	OpExpr	   *comparison = (OpExpr *)
	make_opclause(operator, BOOLOID, false, argument, argument, InvalidOid,
				  aggregate->inputcollid);

	set_opfuncid(comparison);
	comparison->location = aggregate->location;
	return dp_rules_check((Node *) comparison);
}

/* The kind of its measurement; with DISTINCT some have one of their own. */
static dp_aggregate_kind
kind_of(const Aggref *aggregate)
{
	dp_aggregate_kind kind = dp_catalog_aggregate_kind(aggregate->aggfnoid);

	if (aggregate->aggdistinct != NIL && kind == DP_AGG_SUM)
		return DP_AGG_SUM_DISTINCT;
	if (aggregate->aggdistinct != NIL && kind == DP_AGG_AVG)
		return DP_AGG_AVG_DISTINCT;
	return kind;
}

static dp_refusal *
check_distinct(Aggref *aggregate, const char *name)
{
	SortGroupClause *clause;
	Expr	   *argument;
	dp_refusal *refusal;

	if (aggregate->aggdistinct == NIL ||
		kind_of(aggregate) == DP_AGG_SUM_DISTINCT ||
		kind_of(aggregate) == DP_AGG_AVG_DISTINCT)
		return NULL;
	if (dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_COUNT &&
		list_length(aggregate->args) == 1)
	{
		/* Telling values apart is as good as writing x = x and x < x. */
		clause = linitial(aggregate->aggdistinct);
		argument = ((TargetEntry *) linitial(aggregate->args))->expr;
		refusal = check_operator(clause->eqop, argument, aggregate);
		if (refusal == NULL && OidIsValid(clause->sortop))
			refusal = check_operator(clause->sortop, argument, aggregate);
		return refusal;
	}
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							aggregate->location, NULL,
							"DISTINCT is supported in dp_sum, dp_avg, and "
							"dp_count(DISTINCT x) without an epsilon, over "
							"built-in types.",
							"DISTINCT is not supported here in %s", name);
}

/* Does the aggregate choose among public values of its argument? */
static bool
chooses_value(int kind)
{
	return kind == DP_AGG_ARGMAX || kind == DP_AGG_TOPK;
}

/*
 * The public values of an argument that is chosen among; NULL when there are
 * none, so that candidates must be given.
 */
static dp_key *
argument_key(dp_splitter *s, Node *argument, Node *base)
{
	dp_key	   *key = palloc(sizeof(dp_key));
	bool		nullable;

	if (dp_block_classify_key(argument, base,
							  dp_block_relation_of(&s->rowset, base,
												   &nullable), key) != NULL)
		return NULL;
	key->nullable = false;
	return key;
}

/*
 * What the aggregate looks at: one expression, or an array of conditions,
 * whose elements the inner query computes one by one.
 */
static dp_refusal *
check_argument(Node *argument, int kind, const char *name)
{
	ArrayExpr  *array = (ArrayExpr *) argument;

	if (kind != DP_AGG_CONDITIONS)
		return dp_rules_check(argument);
	if (!IsA(argument, ArrayExpr) || array->multidims ||
		array->elements == NIL)
		return dp_bridge_refuse(ERRCODE_INVALID_PARAMETER_VALUE,
								exprLocation(argument), NULL,
								"Write them out, as in ARRAY[a > 1, b = 2].",
								"%s needs an array of conditions", name);
	return dp_rules_check((Node *) array->elements);
}

/*
 * Is the expression, over base columns, the unit and nothing but?  As text a
 * varchar is the same; as char(n) it has another equality.
 */
static bool
is_unit(const dp_splitter *s, Node *base)
{
	Oid			type = getBaseType(exprType(base));
	const dp_relation *relation;

	while (IsA(base, RelabelType))
		base = (Node *) ((RelabelType *) base)->arg;
	if (!s->rowset.many || !IsA(base, Var))
		return false;
	relation = dp_block_leaf(&s->rowset, ((Var *) base)->varno)->relation;
	return relation != NULL &&
		((Var *) base)->varattno == relation->unit_attnum &&
		(type == getBaseType(exprType(base)) ||
		 (type == TEXTOID && getBaseType(exprType(base)) == VARCHAROID));
}

/* Has the aggregate bounds, written or declared or to be found? */
static bool
has_bounds(int kind)
{
	return kind == DP_AGG_SUM || kind == DP_AGG_AVG ||
		kind == DP_AGG_VARIANCE || kind == DP_AGG_STDDEV ||
		kind == DP_AGG_VAR_POP || kind == DP_AGG_STDDEV_POP ||
		kind == DP_AGG_QUANTILE || kind == DP_AGG_MEDIAN ||
		kind == DP_AGG_MIN || kind == DP_AGG_MAX ||
		kind == DP_AGG_SUM_DISTINCT || kind == DP_AGG_AVG_DISTINCT;
}

static dp_refusal *
check_aggregate(dp_splitter *s, Aggref *aggregate, Node **base_expression,
				bool *of_unit, dp_key **key)
{
	const char *name = get_func_name(aggregate->aggfnoid);
	dp_refusal *refusal;
	TargetEntry *given;
	Node	   *argument;
	Node	   *base;

	*base_expression = NULL;
	*of_unit = false;
	*key = NULL;
	if (s->rowset.many &&
		dp_catalog_aggregate_kind(aggregate->aggfnoid) == DP_AGG_CONDITIONS)
		return dp_block_refuse_many(s->rowset.relation);
	if (aggregate->aggorder != NIL || aggregate->aggdirectargs != NIL)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
								aggregate->location, NULL,
								"Leave ORDER BY out; order does not matter "
								"here.",
								"ORDER BY inside %s is not supported", name);
	aggregate->aggfilter = (Expr *)
		dp_block_rowset_hoist((Node *) aggregate->aggfilter, &s->rowset);
	refusal = dp_rules_check((Node *) aggregate->aggfilter);
	if (refusal != NULL || aggregate->args == NIL)
		return refusal;

	refusal = check_parameters(aggregate, name);
	if (refusal == NULL)
		refusal = check_lone_constant(aggregate, name);
	if (refusal != NULL)
		return refusal;
	given = linitial(aggregate->args);
	argument = dp_block_rowset_hoist((Node *) given->expr, &s->rowset);
	given->expr = (Expr *) argument;
	refusal = check_argument(argument,
							 dp_catalog_aggregate_kind(aggregate->aggfnoid),
							 name);
	if (refusal == NULL)
		refusal = check_distinct(aggregate, name);
	if (refusal != NULL)
		return refusal;
	base = dp_block_rowset_base(s->query, argument);
	if (chooses_value(dp_catalog_aggregate_kind(aggregate->aggfnoid)))
		*key = argument_key(s, argument, base);
	*of_unit = is_unit(s, base);
	*base_expression = base;
	return NULL;
}

/* What is known of the values of an aggregate's argument. */
static void
add_base(dp_block *block, int kind, Node *base)
{
	Node	   *plain = base == NULL ? NULL : strip_implicit_coercions(base);
	bool		column = plain != NULL && IsA(plain, Var);

	block->base_attnums = lappend_int(block->base_attnums, column ?
									  ((Var *) plain)->varattno : 0);
	block->base_leaves = lappend_int(block->base_leaves, column ?
									 (int) ((Var *) plain)->varno : 0);
	if (base != NULL && !column && has_bounds(kind))
		base = dp_places_cut_public(base, &block->publics);
	else
		base = NULL;
	block->bases = lappend(block->bases, base);
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
		int			kind = kind_of(original);
		Node	   *base;
		bool		of_unit;
		dp_key	   *key;
		dp_refusal *refusal = check_aggregate(s, aggregate, &base, &of_unit,
											  &key);

		if (refusal != NULL)
			return refusal;
		block->kinds = lappend_int(block->kinds, kind);
		add_base(block, kind, base);
		block->of_units = lappend_int(block->of_units, of_unit);
		block->argument_keys = lappend(block->argument_keys, key);
		add_column(s, name, (Node *) original);
		inner->targetList =
			lappend(inner->targetList,
					makeTargetEntry((Expr *) aggregate,
									list_length(inner->targetList) + 1,
									pstrdup(name), false));
	}
	return NULL;
}

/* ---- the split ---- */

static Query *
make_inner(Query *query)
{
	Query	   *inner = makeNode(Query);

	inner->commandType = CMD_SELECT;
	inner->querySource = QSRC_ORIGINAL;
	inner->canSetTag = true;
	inner->hasAggs = query->hasAggs;
	inner->hasRowSecurity = query->hasRowSecurity;
	dp_compat_take_entries(inner, query);
	inner->jointree = query->jointree;
	inner->groupClause = query->groupClause;
	inner->stmt_location = -1;
	return inner;
}

static dp_refusal *
refuse_clause(Query *query)
{
	if (query->groupingSets != NIL)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
								"Each grouping set would be a release of its "
								"own.",
								"Use one query with plain GROUP BY for each "
								"grouping set.",
								"grouping sets are not supported with private "
								"aggregates");
	if (query->hasModifyingCTE)
		return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
								"Run the data-modifying statement by itself.",
								"data-modifying WITH queries are not "
								"supported beside private aggregates");
	return NULL;
}

/* The block's relation and, where something is joined, the rest of FROM. */
static void
set_relations(dp_splitter *s, dp_block *block)
{
	block->relid = s->rowset.relation->relid;
	block->dataset = s->rowset.relation->dataset;
	dp_block_name_rows(&s->rowset, block);
}

static dp_refusal *
refuse_correlated(Node *node, int level)
{
	if (!dp_block_refers_outside(node, level))
		return NULL;
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
							"It would be released again for every outer row.",
							"Group by the column that is compared with the "
							"outer query, and join the result.",
							"the private part of a query refers to an outer "
							"query");
}

/*
 * dp_block_split_one
 *	  Verify the block and split it in place.
 *
 * On success the query has become the outer query, *entry is its release
 * entry (without a function expression yet), *block describes the inner one.
 * On a refusal the query is in no usable state.
 */
dp_refusal *
dp_block_split_one(Query *query, List *cte_stack, dp_block **block,
					 RangeTblEntry **entry)
{
	dp_splitter s;
	dp_block   *b = dp_block_create();
	dp_refusal *refusal = refuse_clause(query);

	dp_bridge_ungroup(query);
	if (refusal == NULL)
		refusal = refuse_correlated(query->jointree->quals, 0);
	if (refusal != NULL)
		return refusal;
	memset(&s, 0, sizeof(s));
	s.query = query;
	refusal = dp_block_rowset_verify(query, cte_stack, &s.rowset);
	if (refusal == NULL)
		refusal = dp_block_check_join(query, &s.rowset);
	if (refusal != NULL)
		return refusal;
	if (collect_walker((Node *) query->targetList, &s) ||
		collect_walker(query->havingQual, &s))
		return s.refusal;
	dp_block_add_sizes(&s, b);

	/* A unit with many rows may have some in many parts. */
	if (!s.rowset.many)
		dp_block_find_part(&s, b);
	set_relations(&s, b);
	b->inner = make_inner(query);
	refusal = add_keys(&s, b->inner, b);
	if (refusal == NULL)
		refusal = add_unit(&s, b->inner, b);
	if (refusal == NULL)
		refusal = add_aggregates(&s, b->inner, b);
	if (refusal != NULL)
		return refusal;
	refusal = dp_block_make_outer(&s, entry);
	if (refusal == NULL)
		refusal = refuse_correlated((Node *) b->inner, -1);
	if (refusal == NULL)
		refusal = dp_block_select_rows(b);
	if (refusal != NULL)
		return refusal;

	b->subqueries = s.rowset.hoisted;
	b->fingerprint = dp_block_fingerprint(b);
	refusal = dp_block_expand_generated(&b->inner);
	if (refusal != NULL)
		return refusal;
	b->inner = (Query *) dp_rules_make_total((Node *) b->inner);
	*block = b;
	return NULL;
}
