/*
 * transparent.c
 *	  Transparent mode: find the levels of a query whose plain aggregates
 *	  become private.
 *
 * The query is analyzed and rewritten: views are expanded, names and types of
 * its columns are fixed.  A relation is private if it is protected and the
 * user whose rights are checked may not read what the query reads of it.  So
 * owners, and functions and views with their rights, still get exact results;
 * for others the query would fail without this mode.
 *
 * Levels are visited from the inside out.  Rows of a private relation remain
 * private rows through levels that neither group nor aggregate, and through
 * those whose keys contain the unit.  The lowest level above that aggregates
 * becomes private; its results are released values, over which everything is
 * plain SQL.
 *
 * Privacy does not depend on this code: its result is a query that an analyst
 * could have written, and is verified, split, checked and charged like one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "dp_transparent.h"
#include "transparent_internal.h"

/* ----------------
 *		Replace a plain aggregate by the private one with the same meaning and
 *		type.
 *
 * If there is none, the query is refused: a value with another meaning than
 * the user expects would be worse than none.
 * ----------------
 */

typedef struct replacement
{
	int			level;			/* depth of the walk below the level */
	dp_refusal *refusal;
} replacement;

static const struct
{
	const char *plain;
	const char *private;
}			names[] =
{
	{"avg", "dp_avg"},
	{"corr", "dp_corr"},
	{"count", "dp_count"},
	{"covar_pop", "dp_covar_pop"},
	{"covar_samp", "dp_covar_samp"},
	{"max", "dp_max"},
	{"min", "dp_min"},
	{"mode", "dp_argmax"},
	{"percentile_cont", "dp_quantile"},
	{"percentile_disc", "dp_quantile"},
	{"regr_avgx", "dp_regr_avgx"},
	{"regr_avgy", "dp_regr_avgy"},
	{"regr_count", "dp_regr_count"},
	{"regr_intercept", "dp_regr_intercept"},
	{"regr_r2", "dp_regr_r2"},
	{"regr_slope", "dp_regr_slope"},
	{"regr_sxx", "dp_regr_sxx"},
	{"regr_sxy", "dp_regr_sxy"},
	{"regr_syy", "dp_regr_syy"},
	{"stddev", "dp_stddev"},
	{"stddev_pop", "dp_stddev_pop"},
	{"stddev_samp", "dp_stddev"},
	{"sum", "dp_sum"},
	{"var_pop", "dp_var_pop"},
	{"var_samp", "dp_variance"},
	{"variance", "dp_variance"}
};

/* The name of the private aggregate; NULL: there is none. */
static const char *
rewrite_private_name(const Aggref *aggregate, const char *plain)
{
	int			i;

	if (get_func_namespace(aggregate->aggfnoid) != PG_CATALOG_NAMESPACE)
		return NULL;
	for (i = 0; i < lengthof(names); i++)
		if (strcmp(names[i].plain, plain) == 0)
			return names[i].private;
	return NULL;
}

static dp_refusal *
refuse(const Aggref *aggregate, const char *plain)
{
	Oid			type = aggregate->aggargtypes == NIL ? InvalidOid :
		linitial_oid(aggregate->aggargtypes);

	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  aggregate->location,
						  "It would show an exact value of private rows, "
						  "and no private aggregate answers the same.",
						  dp_catalog_private_advice(aggregate->aggfnoid),
						  "aggregate %s(%s) is not available over protected "
						  "relations", plain,
						  OidIsValid(type) ? format_type_be(type) : "*");
}

/* ---- arguments ---- */

/* Aggregated arguments, without those that only order the input. */
static List *
own_arguments(const Aggref *aggregate)
{
	List	   *arguments = NIL;
	ListCell   *lc;

	foreach(lc, aggregate->args)
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			arguments = lappend(arguments, copyObject(lfirst(lc)));
	return arguments;
}

static bool
rewrite_is_constant(const List *arguments, bool one)
{
	Const	   *constant;

	if (list_length(arguments) != 1)
		return false;
	constant = (Const *) linitial_node(TargetEntry, arguments)->expr;
	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	if (!one)
		return true;
	switch (constant->consttype)
	{
		case INT2OID:
			return DatumGetInt16(constant->constvalue) == 1;
		case INT4OID:
			return DatumGetInt32(constant->constvalue) == 1;
		default:
			return false;
	}
}

/* The integer below a lossless cast to another numeric type. */
static Expr *
without_cast(Expr *expression)
{
	FuncExpr   *cast = (FuncExpr *) expression;

	if (!IsA(expression, FuncExpr) || list_length(cast->args) != 1)
		return expression;
	switch (cast->funcid)
	{
		case F_INT4_INT2:
		case F_INT8_INT2:
		case F_INT8_INT4:
		case F_FLOAT8_INT2:
		case F_FLOAT8_INT4:
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
			return linitial(cast->args);
		default:
			return expression;
	}
}

/*
 * Remove such a cast: the result then has the grid of the column, and is cast
 * to its type afterwards.
 */
static void
drop_cast(Aggref *private)
{
	TargetEntry *value = linitial(private->args);

	if (private->aggdistinct != NIL || list_length(private->args) > 1)
		return;
	value->expr = without_cast(value->expr);
	linitial_oid(private->aggargtypes) =
		getBaseType(exprType((Node *) value->expr));
}

/* ---- counts ---- */

/* greatest(count, 0): noise must not make a count negative. */
static Expr *
not_negative(Aggref *count)
{
	MinMaxExpr *greatest = makeNode(MinMaxExpr);

	greatest->minmaxtype = INT8OID;
	greatest->op = IS_GREATEST;
	greatest->args = list_make2(count,
								makeConst(INT8OID, -1, InvalidOid,
										  sizeof(int64), Int64GetDatum(0),
										  false, FLOAT8PASSBYVAL));
	greatest->location = -1;
	return (Expr *) greatest;
}

/* Count all rows that the filter leaves. */
static void
count_rows(Aggref *private)
{
	private->aggstar = true;
	private->args = NIL;
	private->aggargtypes = NIL;
	private->aggdistinct = NIL;
	private->aggtype = INT8OID;
}

/* ---- quantiles ---- */

/* The fraction, or 1 - fraction if the order is descending. */
static Expr *
fraction_of(const Aggref *aggregate)
{
	Expr	   *fraction = copyObject(linitial(aggregate->aggdirectargs));
	SortGroupClause *order = linitial_node(SortGroupClause,
										   aggregate->aggorder);
	bool		descending = false;

	(void) get_equality_op_for_ordering_op(order->sortop, &descending);
	if (!descending)
		return fraction;
	return (Expr *) makeFuncExpr(F_FLOAT8MI, FLOAT8OID,
								 list_make2(makeConst(FLOAT8OID, -1,
													  InvalidOid,
													  sizeof(float8),
													  Float8GetDatum(1), false,
													  FLOAT8PASSBYVAL),
											fraction),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * Set the arguments of dp_quantile.  Casts that only convert to double
 * precision are removed, so that the result is on the column's grid.
 */
static bool
set_quantile(const Aggref *aggregate, Aggref *private)
{
	TargetEntry *value = linitial(own_arguments(aggregate));

	if (list_length(aggregate->aggdirectargs) != 1 ||
		exprType(linitial(aggregate->aggdirectargs)) != FLOAT8OID)
		return false;			/* several fractions */
	value->expr = without_cast((Expr *)
							   strip_implicit_coercions((Node *) value->expr));
	value->ressortgroupref = 0;
	private->args = list_make2(value, makeTargetEntry(fraction_of(aggregate),
													  2, NULL, false));
	private->aggargtypes =
		list_make2_oid(getBaseType(exprType((Node *) value->expr)),
					   FLOAT8OID);
	return true;
}

/* ---- one aggregate ---- */

static Oid
find_private(const char *name, const Aggref *private)
{
	Oid			types[FUNC_MAX_ARGS];
	Oid			found;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, private->aggargtypes)
		types[n++] = lfirst_oid(lc);
	if (strcmp(name, "dp_count") == 0 && n == 1)
		types[0] = ANYOID;
	else if (strcmp(name, "dp_argmax") == 0)
		types[0] = ANYCOMPATIBLEOID;
	found = dp_catalog_aggregate(name, n, types);
	if (OidIsValid(found) || strcmp(name, "dp_quantile") != 0)
		return found;
	types[n - 1] = FLOAT8ARRAYOID;	/* of numbers: all parameters */
	return dp_catalog_aggregate(name, n, types);
}

static Expr *
with_type(Aggref *private, Oid type)
{
	Node	   *cast;

	if (private->aggtype == type)
		return (Expr *) private;
	cast = coerce_to_target_type(NULL, (Node *) private, private->aggtype,
								 type, -1, COERCION_EXPLICIT,
								 COERCE_EXPLICIT_CAST, -1);
	if (cast == NULL)
		elog(ERROR, "private aggregate cannot be cast to type %u", type);
	return (Expr *) cast;
}

/* The replacement of a plain aggregate, or NULL and a refusal. */
static Expr *
replace(const Aggref *aggregate, dp_refusal **refusal)
{
	const char *plain = get_func_name(aggregate->aggfnoid);
	const char *name = rewrite_private_name(aggregate, plain);
	Aggref	   *private = copyObject((Aggref *) aggregate);
	bool		count = name != NULL && strcmp(name, "dp_count") == 0;
	bool		known = name != NULL && !aggregate->aggvariadic;

	private->args = own_arguments(aggregate);
	private->aggorder = NIL;
	private->aggdirectargs = NIL;
	private->aggkind = AGGKIND_NORMAL;
	if (count && aggregate->aggdistinct == NIL &&
		rewrite_is_constant(private->args, false))
		count_rows(private);
	else if (known && strcmp(name, "dp_sum") == 0 &&
			 aggregate->aggdistinct == NIL &&
			 rewrite_is_constant(private->args, true))
	{
		count = true;
		name = "dp_count";
		count_rows(private);
	}
	else if (known && strcmp(name, "dp_quantile") == 0)
		known = set_quantile(aggregate, private);
	else if (known && (strcmp(plain, "min") == 0 || strcmp(plain, "max") == 0))
		private->aggdistinct = NIL;
	if (known && !count && strcmp(name, "dp_quantile") != 0 &&
		strcmp(plain, "mode") != 0)
		drop_cast(private);
	private->aggfnoid = known ? find_private(name, private) : InvalidOid;
	if (!OidIsValid(private->aggfnoid))
	{
		*refusal = refuse(aggregate, plain);
		return NULL;
	}
	if (count || strcmp(plain, "regr_count") == 0)
		return not_negative(private);
	if (strcmp(plain, "mode") != 0)
		private->aggtype = get_func_rettype(private->aggfnoid);
	return with_type(private, aggregate->aggtype);
}

static Node *
rewrite_replace_mutator(Node *node, void *context)
{
	replacement *r = context;

	if (node == NULL || r->refusal != NULL)
		return node;
	if (IsA(node, Aggref) &&
		(int) ((Aggref *) node)->agglevelsup == r->level &&
		dp_catalog_aggregate_kind(((Aggref *) node)->aggfnoid) == DP_AGG_NONE)
	{
		Expr	   *private = replace((Aggref *) node, &r->refusal);

		return private == NULL ? node : (Node *) private;
	}
	if (IsA(node, Query))
	{
		Query	   *copy;

		r->level++;
		copy = query_tree_mutator((Query *) node, rewrite_replace_mutator,
								  context, 0);
		r->level--;
		return (Node *) copy;
	}
	return expression_tree_mutator(node, rewrite_replace_mutator, context);
}

/*
 * replace_aggregates
 *	  Replace the plain aggregates of a level, in place, but not those of
 *	  levels below it.  Returns a refusal, or NULL.
 */
static dp_refusal *
replace_aggregates(Query *query)
{
	replacement r = {0, NULL};

	query->targetList = (List *)
		rewrite_replace_mutator((Node *) query->targetList, &r);
	query->havingQual = rewrite_replace_mutator(query->havingQual, &r);
	return r.refusal;
}

typedef struct rewriting
{
	dp_level   *level;			/* the level being walked */
	const char *text;			/* of the query */
	bool		met;			/* private rows were found */
	bool		private;		/* a level became private */
	dp_refusal *refusal;
} rewriting;

static bool rewrite_level(Query *query, rewriting *r);

/* ---- what a level reads ---- */

static bool
reads_raw_rows(dp_level *level, RangeTblEntry *entry, rewriting *r)
{
	bool		raw = false;

	switch (entry->rtekind)
	{
		case RTE_RELATION:
			/* the cheaper test first: most relations may be read */
			if (entry->relid < FirstNormalObjectId ||
				dp_compat_has_right(level->query, entry) ||
				!dp_transparent_is_protected(entry))
				return false;
			r->met = true;
			return true;
		case RTE_SUBQUERY:
			return rewrite_level(entry->subquery, r);
		case RTE_CTE:
			(void) dp_transparent_find_cte(level, entry, &raw);
			return raw;
		default:
			return false;
	}
}

static bool
rewrite_subquery(Node *node, const dp_walk *walk)
{
	rewriting  *r = walk->context;

	if (IsA(node, Query))
		(void) rewrite_level((Query *) node, r);
	return r->refusal != NULL;
}

/* Rewrite everything below the level; true if rows of FROM are private. */
static bool
rewrite_below(dp_level *level, rewriting *r)
{
	bool		raw = false;
	ListCell   *lc;

	foreach(lc, level->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (rewrite_level(castNode(Query, cte->ctequery), r))
			level->raw_ctes = lappend(level->raw_ctes, cte);
	}
	foreach(lc, level->query->rtable)
		if (reads_raw_rows(level, lfirst_node(RangeTblEntry, lc), r))
			raw = true;
	if (r->refusal == NULL)
		(void) dp_base_contains((Node *) level->query, rewrite_subquery, r,
								DP_WALK_INSIDE | DP_WALK_ONE_LEVEL |
								QTW_IGNORE_RC_SUBQUERIES);
	return raw;
}

/* ---- levels over private rows ---- */

/*
 * Whether the level groups or aggregates, so that its rows are not those it
 * reads.
 */
static bool
groups_rows(const Query *query)
{
	return query->hasAggs || query->groupClause != NIL ||
		query->groupingSets != NIL ||
		(query->distinctClause != NIL && !query->hasDistinctOn);
}

/* Rewrite a SELECT over private rows; true if it returns private rows, too. */
static bool
rewrite_raw(dp_level *level, rewriting *r)
{
	Query	   *query = level->query;
	List	   *sets;
	ListCell   *lc;

	if (query->setOperations != NULL)
		return true;
	dp_base_ungroup(query);
	if (dp_transparent_answer_probe(query))
		return false;
	if (!groups_rows(query))
		return !(level->parent == NULL &&
				 dp_transparent_answer_preview(query, r->text));
	if (dp_transparent_has_unit_key(level))
		return true;
	r->private = true;
	if (query->groupingSets != NIL && dp_transparent_split_sets(query, &sets))
	{
		foreach(lc, sets)
			if (r->refusal == NULL)
				r->refusal = replace_aggregates(lfirst(lc));
	}
	else if (query->hasAggs)
		r->refusal = replace_aggregates(query);
	return false;
}

/* Rewrite one level and all below; true if it returns private rows. */
static bool
rewrite_level(Query *query, rewriting *r)
{
	dp_level	level = {query, r->level, NIL};
	bool		raw;

	check_stack_depth();
	if (r->refusal != NULL || query->commandType == CMD_UTILITY)
		return false;
	r->level = &level;
	raw = rewrite_below(&level, r);
	r->level = level.parent;
	if (!raw || query->commandType != CMD_SELECT || r->refusal != NULL)
		return false;
	return rewrite_raw(&level, r);
}

/* ---- the query ---- */

/* Tell the user, once per connection, that answers are not exact. */
static void
notice_private(void)
{
	static bool told = false;

	if (told)
		return;
	told = true;
	ereport(NOTICE,
			(errmsg("answers about protected relations are private"),
			 errdetail("Counts, sums and averages have random noise, values "
					   "count up to the declared bounds, of each person at "
					   "most a bounded number of rows, groups that may be "
					   "empty are left out, and a minimum or maximum leaves "
					   "some rows beyond it."),
			 errhint("EXPLAIN shows the noise and the price of a query; SET "
					 "dp_pg.transparent = off ends this mode.")));
}

/*
 * dp_transparent_query
 *	  See dp_transparent.h.
 */
dp_refusal *
dp_transparent_query(Query *query, const char *text, bool *changed)
{
	rewriting	r;

	memset(&r, 0, sizeof(r));
	r.text = text;
	(void) rewrite_level(query, &r);
	*changed = r.met;
	if (r.private && r.refusal == NULL)
		notice_private();
	return r.refusal;
}
