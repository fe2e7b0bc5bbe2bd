/*
 * unit_levels.c
 *	  The size of a unit's rows at each level of a block that groups.
 *
 * Memory holds the groups of some units at a time, and the rows made from them
 * above.  Their largest number follows from the numbers of the unit's rows
 * (units/gather.c): at each level from those sources that are not below a
 * level that makes one row of each unit, and whose row is not determined by
 * another source's row, as an order is by its line, or a group is if an outer
 * join matches at most one.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"
#include "../expressions/dp_expressions.h"
#include "../domains/dp_domains.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

static dp_refusal *block_check_windows(Query *level,
									   const dp_rowset *rowset);

/* ----------------
 *		Levels that group rows by unit.
 *
 *		SELECT dp_avg(n) FROM (SELECT person, count(*) AS n FROM visits
 *							 GROUP BY person) AS s
 *
 * Each group belongs to one unit, so what is computed from it is a function of
 * this unit's rows, and the level's rows are unit-local like those from which
 * they are made (doc/theory.md T98).  DISTINCT is a GROUP BY of all columns.
 *
 * This requires that the result does not depend on the order of rows, which
 * other units' rows decide: a group shows one of several equal spellings by
 * that order.  So keys must be of types whose equal values are identical; and
 * a column that is no key, which PostgreSQL allows together with a primary
 * key, is refused.
 * ----------------
 */

static Node *
key_of(const Query *level, const SortGroupClause *clause)
{
	return (Node *) get_sortgroupclause_tle((SortGroupClause *) clause,
											level->targetList)->expr;
}

static Node *
bounds_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && dp_expressions_is_between((Aggref *) node))
	{
		TargetEntry *argument = linitial(((Aggref *) node)->args);

		return copyObject((Node *) argument->expr);
	}
	return expression_tree_mutator(node, bounds_mutator, context);
}

/*
 * dp_rowsets_bounds_of_groups
 *	  A base in which minimum, maximum and average of a group are replaced by
 *	  their argument, whose range contains them: for bounds only.
 */
Node *
dp_rowsets_bounds_of_groups(Node *base)
{
	return bounds_mutator(base, NULL);
}

/* ---- what is refused ---- */

static dp_refusal *
refuse_unit(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "There, rows of one privacy unit would depend on "
						  "rows of another.",
						  "Group by the column that names the privacy "
						  "unit, too; or aggregate privately at that level, "
						  "or leave it to the outer query.",
						  "an aggregate or GROUP BY without the privacy "
						  "unit is not supported below a private aggregate");
}

static dp_refusal *
unit_levels_refuse_key(Node *key)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, exprLocation(key),
						  "Values of its type have no hash, or equal ones "
						  "can be spelled differently.",
						  "Cast it to text or to a whole number, under a "
						  "deterministic collation.",
						  "type %s cannot be grouped by below a private "
						  "aggregate", format_type_be(exprType(key)));
}

static bool
is_same_when_equal(Node *key)
{
	Oid			type = getBaseType(exprType(key));
	Oid			collation = exprCollation(key);

	return type < FirstNormalObjectId && !dp_domains_has_twins(type) &&
		OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc) &&
		!OidIsValid(get_element_type(type)) && !type_is_rowtype(type) &&
		(!OidIsValid(collation) || get_collation_isdeterministic(collation));
}

/* ---- what is only asked for ---- */

static bool
can_group(const Query *level)
{
	ListCell   *lc;

	foreach(lc, level->targetList)
		if (!is_same_when_equal((Node *)
								((const TargetEntry *) lfirst(lc))->expr))
			return false;
	return true;
}

/*
 * Make the rows of a right side that is a join distinct; their unit is a
 * column.
 */
static void
group_right(const JoinExpr *join, Query *query, dp_rowset *rowset)
{
	RangeTblEntry *entry =
	rt_fetch(((const RangeTblRef *) join->rarg)->rtindex, query->rtable);
	Query	   *level = entry->subquery;

	if (dp_rowsets_leaf_of(rowset, entry) != NULL ||
		dp_rowsets_is_whole(level) || level->setOperations != NULL ||
		list_length(dp_rowsets_list_items(level)) < 2 ||
		dp_rowsets_unit_outputs(level, rowset) == NIL ||
		!can_group(level))
		return;
	dp_rowsets_group_by_all(level);
	rowset->grouped++;
}

/*
 * Semijoins and antijoins are around all other joins of their level
 * (exists.c).
 */
static void
group_asked(const Node *item, Query *query, dp_rowset *rowset)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef) || !dp_rowsets_only_asks(join))
		return;
	group_right(join, query, rowset);
	group_asked(join->larg, query, rowset);
}

/*
 * dp_rowsets_group_asked
 *	  Make joined rows on the right of semijoins and antijoins distinct.
 *	  Groups have a known size, so that they may be hashed; otherwise each row
 *	  would be compared with each.
 */
void
dp_rowsets_group_asked(Query *query, dp_rowset *rowset)
{
	ListCell   *lc;

	foreach(lc, dp_rowsets_from(query))
		group_asked(lfirst(lc), query, rowset);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY && entry->subquery != NULL &&
			dp_rowsets_leaf_of(rowset, entry) == NULL)
			dp_rowsets_group_asked(entry->subquery, rowset);
	}
}

/* ---- what is refused, of columns ---- */

typedef struct loose_walk
{
	List	   *keys;
	Node	   *found;			/* a column that is no key */
} loose_walk;

static bool
loose_walker(Node *node, void *context)
{
	loose_walk *walk = context;

	if (node == NULL || IsA(node, Aggref) || list_member(walk->keys, node))
		return false;
	if (IsA(node, Var))
	{
		walk->found = node;
		return true;
	}
	return expression_tree_walker(node, loose_walker, context);
}

/* Refuses a grouped level that shows a column that is no key. */
static dp_refusal *
check_loose(Query *level)
{
	loose_walk	walk = {get_sortgrouplist_exprs(level->groupClause,
												level->targetList)};

	if (!loose_walker((Node *) level->targetList, &walk) &&
		!loose_walker(level->havingQual, &walk))
		return NULL;
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(walk.found), NULL,
						  "Add it to GROUP BY.",
						  "a column that is not grouped by is not supported "
						  "below a private aggregate");
}

static dp_refusal *
unit_levels_check_level(Query *level, const dp_rowset *rowset)
{
	ListCell   *lc;

	if (dp_rowsets_group_unit(level, rowset) == NULL)
		return refuse_unit();
	foreach(lc, level->groupClause)
	{
		Node	   *key = key_of(level, lfirst(lc));

		if (!is_same_when_equal(key))
			return unit_levels_refuse_key(key);
	}
	return check_loose(level);
}

/*
 * dp_rowsets_check_groups
 *	  Refuses levels below a verified query that group rows of several units.
 */
dp_refusal *
dp_rowsets_check_groups(Query *query, const dp_rowset *rowset)
{
	dp_refusal *refusal = NULL;
	ListCell   *lc;

	if (rowset->grouped == 0)
		return NULL;
	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);

		if (refusal != NULL || entry->rtekind != RTE_SUBQUERY ||
			entry->subquery == NULL ||
			dp_rowsets_leaf_of(rowset, entry) != NULL)
			continue;
		/*
		 * from the inside out: the unit of a level is a key of the level below
		 */
		refusal = dp_rowsets_check_groups(entry->subquery, rowset);
		if (refusal == NULL && dp_rowsets_is_grouped(entry->subquery))
		{
			dp_rowsets_add_unit_key(entry, rowset);
			refusal = unit_levels_check_level(entry->subquery, rowset);
		}
		if (refusal == NULL && entry->subquery->hasWindowFuncs)
			refusal = block_check_windows(entry->subquery, rowset);
	}
	return refusal;
}

/* ----------------
 *		Levels with windows whose partitions each belong to one unit.
 *
 *		SELECT dp_avg(cost) FROM (SELECT person, cost, row_number() OVER
 *								(PARTITION BY person ORDER BY day) AS n
 *								FROM visits) AS s WHERE n = 1
 *
 * Rows of a partition share the unit, so a window function's results are
 * functions of this unit's rows, unless they depend on the order in which rows
 * arrive (expressions/unit_window.c), and the level's rows are unit-local like
 * those from which they are made (doc/theory.md T153).  The level has as many
 * rows as without windows.
 *
 * Windows over groups are treated as those of a level above.
 * ----------------
 */

/*
 * The range of window numbers of a level; those of different levels are
 * disjoint.
 */
#define MOST_WINDOWS 1000

/* ---- which is which ---- */

static bool
unit_levels_number_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
		((WindowFunc *) node)->winref += *(const Index *) context;
	return expression_tree_walker(node, unit_levels_number_walker, context);
}

/*
 * dp_rowsets_number_windows
 *	  Number the windows of a level differently from those of other levels, in
 *	  place, so that equal-looking window functions differ.  `level`: its
 *	  number, from 1.
 */
void
dp_rowsets_number_windows(Query *query, int level)
{
	Index		first = level * MOST_WINDOWS;
	ListCell   *lc;

	(void) unit_levels_number_walker((Node *) query->targetList, &first);
	foreach(lc, query->windowClause)
		lfirst_node(WindowClause, lc)->winref += first;
}

/* ---- any order ---- */

static bool
is_random(const Node *node)
{
	const FuncExpr *call = (const FuncExpr *) node;

	return IsA(node, FuncExpr) && call->args == NIL &&
		call->funcid < FirstGenbkiObjectId &&
		strcmp(get_func_name(call->funcid), "random") == 0;
}

/* The sort clauses before random(); *target: that of random(), or NULL. */
static List *
before_random(const WindowClause *window, const Query *level,
			  TargetEntry **target)
{
	List	   *before = NIL;
	ListCell   *lc;

	*target = NULL;
	foreach(lc, window->orderClause)
	{
		TargetEntry *key = get_sortgroupclause_tle(lfirst(lc),
												   level->targetList);

		if (is_random((Node *) key->expr))
		{
			*target = key;
			break;
		}
		before = lappend(before, lfirst(lc));
	}
	return before;
}

/*
 * dp_rowsets_order_by_chance
 *	  ORDER BY random() in a window over single rows asks for a random order:
 *	  mark the window accordingly (expressions/unit_window.c), in place, since
 *	  volatile functions are not allowed on private rows.
 */
void
dp_rowsets_order_by_chance(Query *level)
{
	ListCell   *lc;

	foreach(lc, level->windowClause)
	{
		WindowClause *window = lfirst(lc);
		TargetEntry *target;
		List	   *before = before_random(window, level, &target);

		if (target == NULL || !target->resjunk ||
			dp_expressions_looks_at_peers(level, window))
			continue;
		window->orderClause = before;
		window->name = pstrdup(DP_EXPRESSIONS_ANY_ORDER);
		target->expr = (Expr *) makeNullConst(FLOAT8OID, -1, InvalidOid);
	}
}

/* ---- partitions ---- */

static dp_refusal *
refuse_partition(const Query *level, const WindowClause *window)
{
	Node	   *first = window->partitionClause == NIL ? NULL :
	get_sortgroupclause_expr(linitial(window->partitionClause),
							 level->targetList);

	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
						  exprLocation(first),
						  "There, rows of one privacy unit would depend on "
						  "rows of another.",
						  "Add the column that names the privacy unit to "
						  "PARTITION BY; or use the window over released "
						  "values, in an outer query.",
						  "a window without the privacy unit in PARTITION "
						  "BY is not supported below a private aggregate");
}

/* Does each partition of a window have the rows of one unit? */
static bool
parts_units(const WindowClause *window, Query *level, const dp_rowset *rowset)
{
	List	   *numbers = NIL;
	ListCell   *lc;

	foreach(lc, window->partitionClause)
	{
		const TargetEntry *target =
		get_sortgroupclause_tle(lfirst(lc), level->targetList);

		numbers = lappend_int(numbers, target->resno);
	}
	return dp_rowsets_names_step(level, numbers, rowset) ||
		list_intersection_int(numbers,
							  dp_rowsets_unit_outputs(level, rowset)) != NIL;
}

/* Is an expression over base columns a stored value? */
static bool
is_stored(const Node *base)
{
	const CaseExpr *choice = (const CaseExpr *) base;
	ListCell   *lc;

	if (IsA(base, RelabelType))
		return is_stored((const Node *) ((const RelabelType *) base)->arg);
	if (IsA(base, Const))
		return ((const Const *) base)->constisnull;
	if (!IsA(base, CaseExpr))
		return IsA(base, Var) || IsA(base, Aggref);
	foreach(lc, choice->args)
		if (!is_stored((Node *) lfirst_node(CaseWhen, lc)->result))
			return false;
	return is_stored((Node *) choice->defresult);
}

/*
 * Windows keep rows with their texts, so the length of these must be bounded.
 */
static dp_refusal *
check_texts(Query *level)
{
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) level->targetList,
								PVC_RECURSE_WINDOWFUNCS))
	{
		Node	   *column = lfirst(lc);

		if (get_typlen(exprType(column)) == -1 &&
			getBaseType(exprType(column)) != NUMERICOID &&
			!is_stored(dp_rowsets_base(level, column)))
			return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
								  exprLocation(column),
								  "Windows keep rows in memory, and nothing "
								  "says how long it may be.",
								  "Compute it above the window.",
								  "a text that is computed below a window "
								  "is not supported below a private "
								  "aggregate");
	}
	return NULL;
}

/*
 * block_check_windows
 *	  Refuses a verified level unless each partition of its windows belongs to
 *	  one unit, because of a column that is the unit or the columns of the
 *	  first step of a path to it, and the length of rows is bounded.
 */
static dp_refusal *
block_check_windows(Query *level, const dp_rowset *rowset)
{
	ListCell   *lc;

	foreach(lc, level->windowClause)
		if (!parts_units(lfirst(lc), level, rowset))
			return refuse_partition(level, lfirst(lc));
	return check_texts(level);
}

/* ---- sizes ---- */

/*
 * Memory for a row that a window keeps: one copy to be sorted and one in its
 * partition, and pointers to them, in arrays of at most twice the number.
 */
#define ROW_BYTES 256
#define COPIES 3				/* of a value and of keys made from it, per
								 * row */
#define LONGEST_COLUMN ((Size) BLCKSZ)	/* in a row of a table */
#define LONGEST_SUM ((Size) 1024)

/*
 * How many times rows are kept: twice by each window, which counts as two if
 * it has functions of both kinds, and once above.
 */
static int
count_copies(const Query *level)
{
	int			copies = 1;
	ListCell   *lc;

	foreach(lc, level->windowClause)
		copies += dp_expressions_looks_at_peers(level, lfirst(lc)) ? 4 : 2;
	return copies;
}

static void
add_bytes(dp_unit_level *sizes, Node *value, Size most)
{
	int			length = get_typlen(exprType(value));

	sizes->group += MAXALIGN(length > 0 ? length : most);
}

/*
 * Add a column that the level reads.  `apart`: the unit's rows are repeated
 * only as often as public rows are joined with them, so that their own size
 * bounds it.
 */
static void
unit_levels_add_column(dp_unit_level *sizes, Query *level,
					   const dp_block *block, Node *column, bool apart)
{
	const Node *base =
		dp_base_unlabelled(dp_rowsets_base(level, column));

	if (get_typlen(exprType(column)) > 0)
		add_bytes(sizes, column, 0);
	else if (!IsA(base, Var))
		add_bytes(sizes, column, dp_expressions_kept_bytes(column, level));
	else if (!OidIsValid(list_nth_oid(block->relids,
									  ((const Var *) base)->varno - 1)))
		sizes->public++;
	else if (apart)
		sizes->private++;
	else
		sizes->group += LONGEST_COLUMN;
}

typedef struct result_walk
{
	Query	   *level;
	const dp_block *block;
	bool		apart;			/* as for add_column */
	dp_unit_level *sizes;
} result_walk;

/* Is it a column of another row, which is used for no third row? */
static bool
is_of_another(const WindowFunc *function)
{
	switch (function->winfnoid)
	{
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
			return IsA(linitial(function->args), Var);
		default:
			return false;
	}
}

/* Is it a column of some row, as stored? */
static bool
is_column_of(const WindowFunc *function)
{
	switch (function->winfnoid)
	{
		case F_FIRST_VALUE:
		case F_LAST_VALUE:
		case F_NTH_VALUE:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return IsA(linitial(function->args), Var);
		default:
			return false;
	}
}

/* Most bytes of a result of variable length. */
static Size
result_bytes(const WindowFunc *function, const Query *level)
{
	const char *name = get_func_name(function->winfnoid);

	if (is_column_of(function))
		return LONGEST_COLUMN;
	return strcmp(name, "sum") == 0 || strcmp(name, "avg") == 0 ?
		LONGEST_SUM : dp_expressions_kept_bytes(linitial(function->args),
												level);
}

/* Add the results of windows: numbers, or values of rows. */
static bool
result_walker(Node *node, void *context)
{
	result_walk *walk = context;
	WindowFunc *function = (WindowFunc *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, WindowFunc))
		return expression_tree_walker(node, result_walker, context);
	if (is_of_another(function))
		unit_levels_add_column(walk->sizes, walk->level, walk->block,
							   linitial(function->args), walk->apart);
	else
		add_bytes(walk->sizes, node, get_typlen(exprType(node)) > 0 ? 0 :
				  result_bytes(function, walk->level));
	return false;
}

/*
 * block_measure_windows
 *	  Add the memory of a level's row in its windows; `sources`: the number of
 *	  private items from which its rows are chosen.
 */
static void
block_measure_windows(Query *level, const dp_block *block, int sources,
					  dp_unit_level *sizes)
{
	int			copies = count_copies(level);
	bool		apart = sources <= 1;
	result_walk walk = {level, block, apart, sizes};
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) level->targetList,
								PVC_RECURSE_WINDOWFUNCS))
		columns = list_append_unique(columns, lfirst(lc));
	foreach(lc, columns)
		unit_levels_add_column(sizes, level, block, lfirst(lc), apart);
	sizes->group *= COPIES;
	sizes->private *= COPIES;
	sizes->public *= COPIES;
	(void) result_walker((Node *) level->targetList, &walk);
	sizes->group = copies * (ROW_BYTES + sizes->group);
	sizes->private *= copies;
	sizes->public *= copies;
	sizes->spread = true;
}

#define GROUP_BYTES 256			/* of a hash table, per group */

/* ---- what rows are made of ---- */

/* Is a column of an item equated with something that does not use the item? */
static bool
unit_levels_is_given(int item, AttrNumber column, const List *conditions)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const OpExpr *equality = lfirst(lc);
		int			i;

		for (i = 0; IsA(equality, OpExpr) &&
			 dp_rowsets_is_equality(equality) && i < 2; i++)
		{
			const Var  *var = (const Var *)
			dp_rowsets_uncast(list_nth(equality->args, i));

			if (var != NULL && IsA(var, Var) && (int) var->varno == item &&
				var->varattno == column &&
				!bms_is_member(item, pull_varnos(NULL, list_nth(equality->args,
																1 - i))))
				return true;
		}
	}
	return false;
}

/*
 * Does each row on the left of an outer join match at most one row, since all
 * keys of a group are given?
 */
static bool
finds_one(const Query *level, const JoinExpr *join)
{
	const RangeTblRef *item = (const RangeTblRef *) join->rarg;
	const Query *groups;
	List	   *conditions;
	ListCell   *lc;

	if (join->jointype != JOIN_LEFT || !IsA(item, RangeTblRef))
		return false;
	groups = rt_fetch(item->rtindex, level->rtable)->subquery;
	if (groups == NULL || !dp_rowsets_is_grouped(groups))
		return false;
	conditions = dp_rowsets_add_conjuncts(NIL, join->quals);
	foreach(lc, groups->groupClause)
	{
		const TargetEntry *key = get_sortgroupclause_tle(lfirst(lc),
														 groups->targetList);

		if (!unit_levels_is_given(item->rtindex, key->resno, conditions))
			return false;
	}
	return true;
}

static List *
add_entries(List *entries, const Query *level, const Node *item)
{
	const JoinExpr *join = (const JoinExpr *) item;

	if (IsA(item, RangeTblRef))
		return lappend(entries, rt_fetch(((const RangeTblRef *)
										  item)->rtindex, level->rtable));
	entries = add_entries(entries, level, join->larg);
	return dp_rowsets_only_asks(join) || finds_one(level, join) ? entries :
		add_entries(entries, level, join->rarg);
}

/* The items, or arms, of which a level makes its rows. */
static List *
level_entries(const Query *level)
{
	List	   *entries = NIL;
	ListCell   *lc;

	foreach(lc, dp_rowsets_from(level))
		entries = add_entries(entries, level, lfirst(lc));
	return entries;
}

/*
 * Does the level group by the unit only?  Then each unit has at most one row.
 */
static bool
groups_by_unit_alone(const Query *level)
{
	return list_length(level->groupClause) == 1;
}

static bool has_unit_rows(const Query *level, const dp_block *block);

/* Whether an outer join may leave out private rows. */
static bool
leaves_out_private(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (OidIsValid(source->relid) && source->nullable)
			return true;
	}
	return false;
}

/*
 * Whether a leaf adds at most one row to those of a unit: its relation has one
 * row of each unit, or it is public and looked up (join.c).  Which public row
 * matches may depend on whether an outer join leaves out a private one, and
 * then there may be one for either (doc/theory.md T159).
 */
static bool
leaf_adds_one(int number, const dp_block *block)
{
	Oid			relid = list_nth_oid(block->relids, number - 1);
	ListCell   *lc;

	if (OidIsValid(relid))
	{
		/* NULL: another session has just unprotected it */
		const dp_relation *relation = dp_protect_lookup(relid);

		return relation != NULL && dp_protect_prove_one_row(relation, NULL);
	}
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (source->number == number)
			return !leaves_out_private(block) && dp_rowsets_looks_up(source);
	}
	return false;
}

/*
 * Whether the level provably reads at most one row of each unit.  `block`:
 * leaves count, as the catalog has them; NULL: only what groups.
 */
static bool
reads_unit_rows(const Query *level, const dp_block *block)
{
	ListCell   *lc;

	if (!dp_rowsets_full_once(level))
		return false;
	foreach(lc, level_entries(level))
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY ?
			!has_unit_rows(entry->subquery, block) :
			block == NULL ||
			!leaf_adds_one(dp_rowsets_leaf_number(entry), block))
			return false;
	}
	return true;
}

/*
 * Whether a verified level, other than a block's own, provably has at most one
 * row of each unit.
 */
static bool
has_unit_rows(const Query *level, const dp_block *block)
{
	if (level->setOperations != NULL)
		return false;
	return dp_rowsets_is_grouped(level) ? groups_by_unit_alone(level) :
		reads_unit_rows(level, block);
}

/*
 * dp_rowsets_reads_once
 *	  Whether a block, which is complete, provably reads at most one row of
 *	  each unit.  Rows are bounded all the same, so that a proof that no longer
 *	  holds costs accuracy alone.
 */
bool
dp_rowsets_reads_once(const dp_block *block)
{
	return reads_unit_rows(block->inner, block);
}

/* ---- sizes ---- */

/* Is a leaf private, and its row not determined by another's? */
static bool
unit_levels_is_chosen(int number, const dp_block *block)
{
	ListCell   *lc;

	if (!OidIsValid(list_nth_oid(block->relids, number - 1)))
		return false;
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (source->number == number)
			return source->given == 0;
	}
	return true;
}

/*
 * The sets of leaves from which rows of a level are made: one, or several if
 * arms of UNION ALL return rows of different ones.  `chosen`: only the private
 * leaves from which a row is chosen.
 */
static List *list_choices(const Query *level, const dp_block *block,
						  bool chosen);

static List *
entry_choices(const RangeTblEntry *entry, const dp_block *block, bool chosen)
{
	int			number;

	if (entry->rtekind == RTE_SUBQUERY)
		return chosen && has_unit_rows(entry->subquery, NULL) ?
			list_make1(NULL) : list_choices(entry->subquery, block, chosen);
	number = dp_rowsets_leaf_number(entry);
	return list_make1(chosen && !unit_levels_is_chosen(number, block) ? NULL :
					  bms_make_singleton(number));
}

/* The union of each set of one list with each of the other. */
static List *
unit_levels_multiply(const List *some, const List *others)
{
	List	   *product = NIL;
	ListCell   *lc;
	ListCell   *lc2;

	foreach(lc, some)
		foreach(lc2, others)
			product = lappend(product, bms_union(lfirst(lc), lfirst(lc2)));
	return product;
}

static List *
list_choices(const Query *level, const dp_block *block, bool chosen)
{
	List	   *choices = list_make1(NULL);
	List	   *sum = NIL;
	ListCell   *lc;

	foreach(lc, level_entries(level))
	{
		List	   *own = entry_choices(lfirst(lc), block, chosen);

		sum = list_concat(sum, own);
		if (level->setOperations == NULL)
			choices = unit_levels_multiply(choices, own);
	}
	return level->setOperations != NULL ? sum : choices;
}

/*
 * dp_rowsets_row_leaves
 *	  List of Bitmapset *: the sets of leaves from which a block's rows are
 *	  made, each row from one of the sets.  Leaves of semijoins and antijoins
 *	  are not included.
 */
List *
dp_rowsets_row_leaves(const dp_block *block)
{
	return list_choices(block->inner, block, false);
}

/*
 * dp_rowsets_adds_one
 *	  Whether each unit has at most one row made from these leaves, as the
 *	  catalog has them now.
 */
bool
dp_rowsets_adds_one(const dp_block *block, const Bitmapset *leaves)
{
	int			n = -1;

	while ((n = bms_next_member(leaves, n)) >= 0)
		if (!leaf_adds_one(n, block))
			return false;
	return true;
}

static bool
is_public_column(Node *node, const dp_walk *walk)
{
	const dp_block *block = walk->context;

	return IsA(node, Var) &&
		!OidIsValid(list_nth_oid(block->relids, ((Var *) node)->varno - 1));
}

static bool
follows_from_public(Query *level, Node *expression, const dp_block *block)
{
	return dp_base_contains(dp_rowsets_base(level, expression),
							is_public_column, (void *) block,
							DP_WALK_ONE_LEVEL);
}

static bool
spreads_column(Node *node, const dp_walk *walk)
{
	const dp_block *block = walk->context;
	ListCell   *lc;

	if (!IsA(node, Var))
		return false;
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);
		ListCell   *lc2;

		if (source->number != ((Var *) node)->varno ||
			OidIsValid(source->relid))
			continue;
		foreach(lc2, source->keys)
			if (lfirst_node(Var, lc2)->varattno == ((Var *) node)->varattno)
				return false;
		return true;
	}
	return false;
}

/*
 * dp_rowsets_joins_plainly
 *	  Is a row of a block made from at most one row of each source, since no
 *	  level below groups rows or combines them?
 */
bool
dp_rowsets_joins_plainly(const Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY &&
			(entry->subquery->setOperations != NULL ||
			 dp_rowsets_is_whole(entry->subquery) ||
			 !dp_rowsets_joins_plainly(entry->subquery)))
			return false;
	}
	return true;
}

/*
 * dp_rowsets_key_spreads
 *	  May a private row be in several groups because of the n-th group key,
 *	  from 0: does that belong to public rows, of which several may be joined
 *	  with it?
 */
bool
dp_rowsets_key_spreads(const dp_block *block, int n)
{
	const TargetEntry *key = list_nth(block->inner->targetList, n);

	return dp_base_contains(dp_rowsets_base(block->inner,
											(Node *) key->expr),
							spreads_column, (void *) block,
							DP_WALK_ONE_LEVEL);
}

static bool
unit_levels_is_column(Query *level, Node *value)
{
	return IsA(dp_base_unlabelled(dp_rowsets_base(level, value)), Var);
}

/*
 * Add a value that a group holds: a column of a private or public row, or the
 * value of an expression, which may be longer than its inputs.
 */
static void
unit_levels_add_value(Query *level, Node *value, const dp_block *block,
					  dp_unit_level *sizes)
{
	if (get_typlen(exprType(value)) > 0)
		sizes->group += MAXALIGN(get_typlen(exprType(value)));
	else if (!unit_levels_is_column(level, value))
		sizes->group += MAXALIGN(dp_expressions_kept_bytes(value, level));
	else if (follows_from_public(level, value, block))
		sizes->public++;
	else
		sizes->private++;
}

typedef struct aggregate_walk
{
	Query	   *level;
	const dp_block *block;
	dp_unit_level *sizes;
} aggregate_walk;

static bool
unit_levels_aggregate_walker(Node *node, void *context)
{
	aggregate_walk *walk = context;
	Aggref	   *aggregate = (Aggref *) node;
	bool		value;

	if (node == NULL)
		return false;
	if (!IsA(node, Aggref))
		return expression_tree_walker(node, unit_levels_aggregate_walker,
									  context);
	walk->sizes->group += dp_expressions_aggregate_keeps(aggregate, &value);
	if (value)
		unit_levels_add_value(walk->level, (Node *)
							  linitial_node(TargetEntry,
											aggregate->args)->expr,
							  walk->block, walk->sizes);
	return false;
}

/*
 * Add one level for each set of leaves from which rows are chosen: a row of
 * the unit belongs to one of the sets, and so do the copies of its values.
 */
static List *
add_choices(List *levels, const dp_unit_level *sizes, const List *choices)
{
	ListCell   *lc;

	foreach(lc, choices)
	{
		dp_unit_level *one = palloc(sizeof(dp_unit_level));

		*one = *sizes;
		one->leaves = lfirst(lc);
		if (foreach_current_index(lc) > 0)
			one->private = 0;
		levels = lappend(levels, one);
	}
	return levels;
}

static List *
measure_groups(List *levels, Query *level, const dp_block *block)
{
	dp_unit_level *sizes = palloc0(sizeof(dp_unit_level));
	aggregate_walk walk = {level, block, sizes};
	ListCell   *lc;

	sizes->group = GROUP_BYTES;
	foreach(lc, get_sortgrouplist_exprs(level->groupClause,
										level->targetList))
	{
		sizes->spread = sizes->spread ||
			follows_from_public(level, lfirst(lc), block);
		unit_levels_add_value(level, lfirst(lc), block, sizes);
	}
	(void) unit_levels_aggregate_walker((Node *) level->targetList, &walk);
	(void) unit_levels_aggregate_walker(level->havingQual, &walk);
	return add_choices(levels, sizes, groups_by_unit_alone(level) ?
					   list_make1(NULL) : list_choices(level, block, true));
}

static List *
measure_windows(List *levels, Query *level, const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, list_choices(level, block, true))
	{
		dp_unit_level *sizes = palloc0(sizeof(dp_unit_level));

		block_measure_windows(level, block, bms_num_members(lfirst(lc)),
							  sizes);
		levels = add_choices(levels, sizes, list_make1(lfirst(lc)));
	}
	return levels;
}

/* Measure all levels below, including those of semijoins and antijoins. */
static List *
measure_below(const Query *level, const dp_block *block, List *levels)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind != RTE_SUBQUERY)
			continue;
		levels = measure_below(entry->subquery, block, levels);
		if (dp_rowsets_is_grouped(entry->subquery))
			levels = measure_groups(levels, entry->subquery, block);
		if (entry->subquery->hasWindowFuncs)
			levels = measure_windows(levels, entry->subquery, block);
	}
	return levels;
}

/*
 * dp_rowsets_unit_levels
 *	  List of dp_unit_level *: for the rows that the block aggregates, and then
 *	  for the groups, or the rows that windows keep, of each level below.
 */
List *
dp_rowsets_unit_levels(const dp_block *block)
{
	const dp_unit_level rows = {0};

	return measure_below(block->inner, block,
						 add_choices(NIL, &rows,
									 list_choices(block->inner, block, true)));
}
