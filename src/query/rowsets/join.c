/*
 * join.c
 *	  Joins whose rows each belong to one unit.
 *
 * Private rows may be joined with public ones in any way: a row has the unit
 * of the private row that it is made from.  If private is joined with private,
 * a condition that holds for every row of the result must equate the units, so
 * that a row is made from rows of one unit.  An outer join has rows of its
 * nullable side only if its condition holds, so that condition itself must
 * equate the units; and the other side must be the private one, or rows
 * without a partner would belong to no unit, and would show which values no
 * unit has.  The same holds for the right side of a semijoin or antijoin
 * (exists.c).  A full join may leave out either side, and has
 * private rows on both (leaf.c).
 *
 * unit.c: what names units, and when two names are equal.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"
#include "dp_rowsets.h"
#include "rowsets_internal.h"

/* Items of FROM whose units are equal in every row, by range table index. */
typedef struct join_side
{
	List	   *classes;		/* of Relids; private items only */
} join_side;

typedef struct join_walk
{
	Query	   *query;			/* the level */
	const dp_rowset *rowset;
	dp_refusal *refusal;
} join_walk;

/* ---- conditions ---- */

/* Does a condition, together with others, equate the units of items? */
static bool
equates_units(const Node *condition, const List *conditions,
			  const join_walk *walk, Relids *a, Relids *b)
{
	return dp_rowsets_equates_units(condition, conditions, walk->query,
									walk->rowset, a, b);
}

/* The class that contains all of the items, or NULL. */
static ListCell *
join_class_of(List *classes, Relids items)
{
	ListCell   *lc;

	foreach(lc, classes)
		if (bms_is_subset(items, lfirst(lc)))
			return lc;
	return NULL;
}

/* Merge two classes, whose items are of one unit from here on. */
static List *
join_unite(List *classes, Relids a, Relids b)
{
	ListCell   *one = join_class_of(classes, a);
	ListCell   *other = join_class_of(classes, b);
	Relids		merged;

	if (one == NULL || other == NULL || one == other)
		return classes;
	merged = bms_union(lfirst(one), lfirst(other));
	lfirst(one) = merged;
	return list_delete_cell(classes, other);
}

static void
join_apply(join_side *side, Node *condition, const join_walk *walk)
{
	List	   *conditions = dp_rowsets_add_conjuncts(NIL, condition);
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, conditions)
		if (equates_units(lfirst(lc), conditions, walk, &a, &b))
			side->classes = join_unite(side->classes, a, b);
}

/* ---- joins ---- */

static dp_refusal *
refuse_left_over(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "Rows without a partner would belong to no "
						  "privacy unit, and would show which values no "
						  "unit has.",
						  "Use an inner join; public groups without rows "
						  "are returned anyway.",
						  "an outer join that keeps rows without private "
						  "ones is not supported below a private aggregate");
}

static dp_refusal *
refuse_mixture(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "A row of the result would be made from rows of "
						  "two privacy units.",
						  "Join them on the columns that name their units, "
						  "or on all columns of a key that leads to them; "
						  "for an outer join, in its own condition.",
						  "private relations are joined other than on "
						  "their privacy units");
}

static dp_refusal *
refuse_subquery(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1,
						  "Whether a row counts would depend on the rows of "
						  "other privacy units.",
						  "Compare the columns that name their units with "
						  "=: for EXISTS in its own WHERE; for IN they may "
						  "be the compared columns.",
						  "a subquery over private rows is not compared on "
						  "privacy units");
}

/* An outer join: items of `left_out` have rows only if its condition holds. */
static void
join_outer(join_side *kept, join_side *left_out, Node *condition,
		   join_walk *walk, dp_refusal *(*refuse_others) (void))
{
	List	   *conditions = dp_rowsets_add_conjuncts(NIL, condition);
	ListCell   *lc;
	ListCell   *lc2;

	join_apply(left_out, condition, walk);
	if (left_out->classes != NIL && kept->classes == NIL &&
		walk->refusal == NULL)
		walk->refusal = refuse_left_over();
	foreach(lc, left_out->classes)
	{
		ListCell   *with = NULL;
		Relids		a;
		Relids		b;

		foreach(lc2, conditions)
		{
			if (with != NULL ||
				!equates_units(lfirst(lc2), conditions, walk, &a, &b))
				continue;
			if (bms_is_subset(b, lfirst(lc)))
				with = join_class_of(kept->classes, a);
			else if (bms_is_subset(a, lfirst(lc)))
				with = join_class_of(kept->classes, b);
		}
		if (with != NULL)
			lfirst(with) = bms_union(lfirst(with), lfirst(lc));
		else if (walk->refusal == NULL)
			walk->refusal = refuse_others();
	}
}

/*
 * NOT IN keeps rows for which the comparison is false.  An equality of units
 * that are there is never NULL.
 */
static Node *
settle_units(Node *condition, const join_walk *walk)
{
	List	   *conjuncts = NIL;
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, dp_rowsets_add_conjuncts(NIL, condition))
	{
		const BooleanTest *test = lfirst(lc);

		if (IsA(test, BooleanTest) && test->booltesttype == IS_NOT_FALSE &&
			equates_units((Node *) test->arg, list_make1(test->arg), walk, &a,
						  &b) &&
			dp_rowsets_is_present(walk->query, a) &&
			dp_rowsets_is_present(walk->query, b))
			conjuncts = lappend(conjuncts, test->arg);
		else
			conjuncts = lappend(conjuncts, lfirst(lc));
	}
	return dp_rowsets_and(conjuncts);
}

/*
 * A semijoin or antijoin with `asked`.  If that has private rows, the kept
 * side must have some, or the result would belong to no unit.
 */
static void
join_asked(join_side *kept, join_side *asked, JoinExpr *join,
		   join_walk *walk)
{
	join->quals = settle_units(join->quals, walk);
	if (asked->classes != NIL && kept->classes == NIL &&
		walk->refusal == NULL)
		walk->refusal = refuse_subquery();
	join_outer(kept, asked, join->quals, walk, refuse_subquery);
}

/* Was it made from a subquery, whose groups are joined (exists.c)? */
static bool
is_mark(const JoinExpr *join, const Query *query)
{
	const RangeTblRef *right = (const RangeTblRef *) join->rarg;

	return IsA(right, RangeTblRef) &&
		!rt_fetch(right->rtindex, query->rtable)->inFromCl;
}

/* Does a condition equate the units of both sides? */
static bool
equates_sides(Node *condition, const join_side *left, const join_side *right,
			  const join_walk *walk)
{
	List	   *conditions = dp_rowsets_add_conjuncts(NIL, condition);
	ListCell   *lc;
	Relids		a;
	Relids		b;

	foreach(lc, conditions)
		if (equates_units(lfirst(lc), conditions, walk, &a, &b) &&
			((join_class_of(left->classes, a) && join_class_of(right->classes,
															   b)) ||
			 (join_class_of(left->classes, b) && join_class_of(right->classes,
															   a))))
			return true;
	return false;
}

/* A full join: each side has rows of one unit, and so has the result. */
static join_side
join_full(const join_side *left, const join_side *right, JoinExpr *join,
		  join_walk *walk)
{
	join_side	joined = {NIL};

	if (walk->refusal != NULL)
		return *left;
	if (left->classes == NIL || right->classes == NIL)
		walk->refusal = refuse_left_over();
	else if (list_length(left->classes) > 1 ||
			 list_length(right->classes) > 1 ||
			 !equates_sides(join->quals, left, right, walk))
		walk->refusal = refuse_mixture();
	else
		walk->refusal = dp_rowsets_check_full(join, walk->query);
	if (walk->refusal != NULL)
		return *left;
	joined.classes = list_make1(bms_union(linitial(left->classes),
										  linitial(right->classes)));
	return joined;
}

static join_side
join_item(Node *item, join_walk *walk)
{
	join_side	left = {NIL};
	join_side	right;
	JoinExpr   *join = (JoinExpr *) item;

	if (IsA(item, RangeTblRef))
	{
		int			n = ((RangeTblRef *) item)->rtindex;

		if (dp_rowsets_is_private(rt_fetch(n, walk->query->rtable),
								  walk->rowset))
			left.classes = list_make1(bms_make_singleton(n));
		return left;
	}
	left = join_item(join->larg, walk);
	right = join_item(join->rarg, walk);
	switch (join->jointype)
	{
		case JOIN_INNER:
			left.classes = list_concat(left.classes, right.classes);
			join_apply(&left, join->quals, walk);
			return left;
		case JOIN_LEFT:
			if (is_mark(join, walk->query))
			{
				join_asked(&left, &right, join, walk);
				return left;
			}
			join_outer(&left, &right, join->quals, walk, refuse_mixture);
			return left;
		case JOIN_RIGHT:
			join_outer(&right, &left, join->quals, walk, refuse_mixture);
			return right;
		case JOIN_SEMI:
		case JOIN_ANTI:
			join_asked(&left, &right, join, walk);
			return left;
		default:
			return join_full(&left, &right, join, walk);
	}
}

static dp_refusal *
refuse_arms(void)
{
	return dp_base_refuse(ERRCODE_FEATURE_NOT_SUPPORTED, -1, NULL,
						  "Select the column that names the privacy unit as "
						  "it is, of one type, at the same position in all "
						  "parts.",
						  "UNION, INTERSECT or EXCEPT does not pass on the "
						  "privacy unit of its rows");
}

static dp_refusal *
join_check_level(Query *query, const dp_rowset *rowset)
{
	join_walk	walk = {query, rowset, NULL};
	join_side	all = {NIL};
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *entry = lfirst(lc);
		dp_refusal *refusal = NULL;

		if (entry->rtekind == RTE_SUBQUERY &&
			dp_rowsets_leaf_of(rowset,
							   entry) == NULL && entry->subquery != NULL)
			refusal = join_check_level(entry->subquery, rowset);
		if (refusal != NULL)
			return refusal;
	}
	if (query->setOperations != NULL)
		return dp_rowsets_unit_outputs(query, rowset) == NIL ?
			refuse_arms() : NULL;
	foreach(lc, query->jointree->fromlist)
		all.classes = list_concat(all.classes,
								  join_item(lfirst(lc), &walk).classes);
	join_apply(&all, query->jointree->quals, &walk);
	if (walk.refusal == NULL && list_length(all.classes) > 1)
		walk.refusal = refuse_mixture();
	return walk.refusal;
}

/*
 * dp_rowsets_check_join
 *	  Refuses a verified block unless each of its rows is made from rows of one
 *	  unit.
 */
dp_refusal *
dp_rowsets_check_join(Query *query, const dp_rowset *rowset)
{
	ListCell   *lc;

	if (!dp_rowsets_has_join(rowset))
		return NULL;
	foreach(lc, rowset->leaves)
	{
		const dp_leaf *leaf = lfirst(lc);
		dp_refusal *refusal = leaf->relation == NULL || !rowset->many ? NULL :
		dp_rowsets_check_units(leaf->relation, rowset->relation);

		if (refusal != NULL)
			return refusal;
	}
	return join_check_level(query, rowset);
}

/* ----------------
 *		The columns by which a public item is joined.
 *
 * The number of rows that one private row makes must be bounded before it is
 * read.  Take the public items one after another, after the private ones: at
 * most as many rows of an item match the choice so far as agree in the columns
 * that some condition equates with something known by then.  They are counted
 * when the rows have been read (joined/joined_rows.c).
 *
 * A condition that every row fulfils counts for all items, one of an outer
 * join for the items of its nullable side, and one of a semijoin or antijoin
 * for the items of its right side.  One of a full join counts for none, and no
 * condition counts for items below a level that groups rows, since it applies
 * to groups, or that has windows, which see rows before it applies.
 * ----------------
 */

/* A condition "column = .." on a leaf. */
typedef struct join_fact
{
	Var		   *column;			/* with the type and collation of the
								 * comparison */
	Relids		known;			/* leaves that the other side uses */
} join_fact;

static List *level_conditions(Query *query, List *conditions);

/* ---- conditions ---- */

/*
 * Do all values of the operand's type have hashes that are equal for equal
 * values?  Not for ranges and other types that contain values of a user's
 * type, whose equality the user defines.
 */
static bool
can_hash(Oid operator, Oid type)
{
	TypeCacheEntry *cache = lookup_type_cache(type,
											  TYPECACHE_HASH_OPFAMILY |
											  TYPECACHE_HASH_EXTENDED_PROC);

	return !type_is_range(getBaseType(type)) &&
		!type_is_multirange(getBaseType(type)) &&
		!type_is_array(getBaseType(type)) && !type_is_rowtype(type) &&
		OidIsValid(cache->hash_opf) &&
		OidIsValid(cache->hash_extended_proc) &&
		op_in_opfamily(operator, cache->hash_opf);
}

/*
 * Add the fact if one side of an equality is a column of a leaf for which it
 * counts.
 */
static void
add_fact(const OpExpr *equality, Node *side, Node *other, Relids usable,
		 List **facts)
{
	Node	   *plain = dp_base_unlabelled(side);
	Relids		known = pull_varnos(NULL, other);
	join_fact  *fact;

	if (!IsA(plain, Var) || ((Var *) plain)->varattno <= 0 ||
		bms_is_member(((Var *) plain)->varno, known) ||
		(usable != NULL && !bms_is_member(((Var *) plain)->varno, usable)) ||
		!can_hash(equality->opno, exprType(side)))
		return;
	fact = palloc(sizeof(join_fact));
	fact->column = makeVar(((Var *) plain)->varno, ((Var *) plain)->varattno,
						   exprType(side), -1, equality->inputcollid, 0);
	fact->known = known;
	*facts = lappend(*facts, fact);
}

static List *
find_facts(const List *conditions)
{
	List	   *facts = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const dp_join_condition *condition = lfirst(lc);
		OpExpr	   *equality = (OpExpr *) condition->base;

		if (!IsA(equality, OpExpr) || !dp_rowsets_is_equality(equality))
			continue;
		add_fact(equality, linitial(equality->args), lsecond(equality->args),
				 condition->usable, &facts);
		add_fact(equality, lsecond(equality->args), linitial(equality->args),
				 condition->usable, &facts);
	}
	return facts;
}

/* ---- where they stand ---- */

static List *
add_conditions(List *conditions, Query *query, Node *quals, Relids usable)
{
	ListCell   *lc;

	if (quals == NULL)
		return conditions;
	foreach(lc, dp_rowsets_add_conjuncts(NIL, dp_rowsets_base(query,
															  quals)))
	{
		dp_join_condition *condition = palloc0(sizeof(dp_join_condition));

		condition->base = lfirst(lc);
		condition->usable = usable;
		conditions = lappend(conditions, condition);
	}
	return conditions;
}

/*
 * Add the leaves of an item and of the levels below it, with or without those
 * below groups.
 */
static Relids
add_leaves(Relids leaves, const Query *query, const Node *item, bool groups)
{
	const RangeTblEntry *entry;
	ListCell   *lc;

	if (IsA(item, JoinExpr))
	{
		leaves = add_leaves(leaves, query, ((const JoinExpr *) item)->larg,
							groups);
		return add_leaves(leaves, query, ((const JoinExpr *) item)->rarg,
						  groups);
	}
	entry = rt_fetch(((const RangeTblRef *) item)->rtindex, query->rtable);
	if (entry->rtekind != RTE_SUBQUERY)
		return bms_add_member(leaves, dp_rowsets_leaf_number(entry));
	if (!groups && dp_rowsets_is_whole(entry->subquery))
		return leaves;
	foreach(lc, dp_rowsets_from(entry->subquery))
		leaves = add_leaves(leaves, entry->subquery, lfirst(lc), groups);
	return leaves;
}

/* Stands for no leaf: makes a set that is not NULL but has no leaf. */
#define NO_LEAF 0

static bool
reads_groups(const Query *level)
{
	ListCell   *lc;

	foreach(lc, level->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY &&
			(dp_rowsets_is_whole(entry->subquery) ||
			 reads_groups(entry->subquery)))
			return true;
	}
	return false;
}

/*
 * The leaves for which conditions of a level count, among those below an item.
 */
static Relids
usable_leaves(const Query *query, const Node *item)
{
	return add_leaves(bms_make_singleton(NO_LEAF), query, item, false);
}

/* The same for conditions that every row of the level fulfils; NULL: all. */
static Relids
level_leaves(const Query *query)
{
	Relids		leaves = bms_make_singleton(NO_LEAF);
	ListCell   *lc;

	if (!reads_groups(query))
		return NULL;
	foreach(lc, dp_rowsets_from(query))
		leaves = add_leaves(leaves, query, lfirst(lc), false);
	return leaves;
}

static List *
item_conditions(Query *query, Node *item, List *conditions)
{
	JoinExpr   *join = (JoinExpr *) item;
	Relids		usable = level_leaves(query);
	int			before;
	ListCell   *lc;

	if (IsA(item, RangeTblRef))
	{
		RangeTblEntry *entry = rt_fetch(((RangeTblRef *) item)->rtindex,
										query->rtable);

		return entry->rtekind != RTE_SUBQUERY ? conditions :
			level_conditions(entry->subquery, conditions);
	}
	conditions = item_conditions(query, join->larg, conditions);
	conditions = item_conditions(query, join->rarg, conditions);
	before = list_length(conditions);
	if (join->jointype == JOIN_LEFT || dp_rowsets_only_asks(join))
		usable = usable_leaves(query, join->rarg);
	else if (join->jointype == JOIN_RIGHT)
		usable = usable_leaves(query, join->larg);
	else if (join->jointype == JOIN_FULL)
		usable = bms_make_singleton(NO_LEAF);
	conditions = add_conditions(conditions, query, join->quals, usable);
	for_each_from(lc, conditions, before)
		((dp_join_condition *) lfirst(lc))->matches =
			dp_rowsets_naming_lists(join, query) != NULL;
	return conditions;
}

static List *
level_conditions(Query *query, List *conditions)
{
	ListCell   *lc;

	foreach(lc, dp_rowsets_from(query))
		conditions = item_conditions(query, lfirst(lc), conditions);
	return add_conditions(conditions, query, query->jointree->quals,
						  level_leaves(query));
}

/*
 * dp_rowsets_join_conditions
 *	  The conditions that rows of a verified query fulfil, at all its levels.
 */
List *
dp_rowsets_join_conditions(Query *query)
{
	return level_conditions(query, NIL);
}

/* ---- one item after the other ---- */

/* The columns of a leaf that are equated with something known. */
static List *
known_columns(int leaf, Relids known, const List *facts)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, facts)
	{
		const join_fact *fact = lfirst(lc);

		if (fact->column->varno == leaf && bms_is_subset(fact->known, known))
			columns = list_append_unique(columns, fact->column);
	}
	return columns;
}

/*
 * The leaves of the preserved side of an outer join that may leave out a leaf,
 * if the leaf is its whole nullable side, at a level that always has rows;
 * else NULL.
 */
static Relids
other_side(const Query *query, const Node *item, int leaf)
{
	const JoinExpr *join = (const JoinExpr *) item;
	const Node *left_out;
	const Node *other;
	Relids		found;

	if (IsA(item, RangeTblRef) || join->jointype == JOIN_FULL)
		return NULL;
	left_out = join->jointype == JOIN_RIGHT ? join->larg : join->rarg;
	other = join->jointype == JOIN_RIGHT ? join->rarg : join->larg;
	if (join->jointype != JOIN_INNER && IsA(left_out, RangeTblRef) &&
		bms_is_member(leaf, add_leaves(NULL, query, left_out, true)))
	{
		const RangeTblEntry *entry =
		rt_fetch(((const RangeTblRef *) left_out)->rtindex, query->rtable);

		return entry->rtekind == RTE_SUBQUERY ? NULL :
			add_leaves(NULL, query, other, true);
	}
	found = other_side(query, other, leaf);
	return found != NULL || join->jointype != JOIN_INNER ? found :
		other_side(query, left_out, leaf);
}

/* The same for a level, and those below it that always have rows. */
static Relids
level_other_side(const Query *query, int leaf)
{
	Relids		found = NULL;
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (found == NULL)
			found = other_side(query, lfirst(lc), leaf);
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (found == NULL && entry->rtekind == RTE_SUBQUERY &&
			!dp_rowsets_is_nullable(query, foreach_current_index(lc) + 1))
			found = level_other_side(entry->subquery, leaf);
	}
	return found;
}

/*
 * May some choice of rows leave the source with a row, and another one
 * without, although both agree in what is known?
 */
static bool
may_be_absent(const Query *query, const dp_joined *source, Relids known)
{
	Relids		other;

	if (!source->nullable)
		return false;
	other = level_other_side(query, source->number);
	return other == NULL || !bms_is_subset(other, known);
}

/* Is a leaf alone the right side of a semijoin or antijoin? */
static bool
is_asked(const Query *query, const Node *item, int leaf)
{
	const JoinExpr *join = (const JoinExpr *) item;
	const RangeTblEntry *entry;

	if (IsA(item, RangeTblRef))
		return false;
	if (is_asked(query, join->larg, leaf) ||
		is_asked(query, join->rarg, leaf))
		return true;
	if (!dp_rowsets_only_asks(join))
		return false;
	entry = rt_fetch(((const RangeTblRef *) join->rarg)->rtindex,
					 query->rtable);
	return entry->rtekind != RTE_SUBQUERY &&
		dp_rowsets_leaf_number(entry) == leaf;
}

/* The same at any level. */
static bool
is_asked_anywhere(const Query *query, int leaf)
{
	ListCell   *lc;

	foreach(lc, query->jointree->fromlist)
		if (is_asked(query, lfirst(lc), leaf))
			return true;
	foreach(lc, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(lc);

		if (entry->rtekind == RTE_SUBQUERY &&
			is_asked_anywhere(entry->subquery, leaf))
			return true;
	}
	return false;
}

/* ---- private items ---- */

static const dp_relation *
join_relation_of(const Node *column, const dp_rowset *rowset)
{
	return dp_rowsets_leaf(rowset, ((const Var *) column)->varno)->relation;
}

/* The first step to the unit of a column's row, or NULL. */
static const dp_unit_step *
first_step(const Node *column, const dp_rowset *rowset)
{
	const dp_relation *relation = join_relation_of(column, rowset);

	return relation == NULL || relation->unit_steps == NIL ? NULL :
		linitial(relation->unit_steps);
}

/*
 * Is one column the n-th of the first step to its row's unit, and the other
 * the matching column of the key?  NULL is no column.
 */
static bool
leads_to(const Node *from, const Node *to, int n, const dp_rowset *rowset)
{
	const dp_relation *relation;
	const dp_unit_step *step;

	if (from == NULL || to == NULL || !IsA(from, Var) || !IsA(to, Var))
		return false;
	step = first_step(from, rowset);
	relation = join_relation_of(to, rowset);
	return step != NULL && n < list_length(step->from) &&
		((const Var *) from)->varattno == list_nth_int(step->from, n) &&
		relation != NULL && relation->relid == step->relid &&
		((const Var *) to)->varattno == list_nth_int(step->key, n);
}

/*
 * The column that a condition equates with the n-th key column of the leaf, as
 * the first step of its row's unit; or NULL.
 */
static const Var *
referring_column(int leaf, const dp_join_condition *condition, int n,
				 const dp_rowset *rowset)
{
	const OpExpr *equality = (const OpExpr *) condition->base;
	const Node *from;
	const Node *to;

	if (!IsA(equality, OpExpr) || !dp_rowsets_is_equality(equality) ||
		(condition->usable != NULL && !bms_is_member(leaf, condition->usable)))
		return NULL;
	from = dp_rowsets_uncast(linitial(equality->args));
	to = dp_rowsets_uncast(lsecond(equality->args));
	if (leads_to(to, from, n, rowset))
	{
		const Node *other = from;

		from = to;
		to = other;
	}
	return leads_to(from, to, n, rowset) &&
		(int) ((const Var *) to)->varno == leaf ? (const Var *) from : NULL;
}

/* Do conditions equate all columns of the key, given that for the first? */
static bool
refers_by_all(int leaf, const Var *first, const List *conditions,
			  const dp_rowset *rowset)
{
	int			n = list_length(first_step((const Node *) first,
										   rowset)->from);
	int			i;

	for (i = 1; i < n; i++)
	{
		bool		found = false;
		ListCell   *lc;

		foreach(lc, conditions)
		{
			const Var  *column = referring_column(leaf, lfirst(lc), i, rowset);

			found = found || (column != NULL && column->varno == first->varno);
		}
		if (!found)
			return false;
	}
	return true;
}

/*
 * The leaf whose row refers to this leaf's row by its key, so that there is at
 * most one, or none if an outer join leaves it out.
 */
static int
find_referring(int leaf, const List *conditions, const dp_rowset *rowset)
{
	ListCell   *lc;

	foreach(lc, conditions)
	{
		const Var  *from = referring_column(leaf, lfirst(lc), 0, rowset);

		if (from != NULL && !dp_rowsets_leaf(rowset, from->varno)->nullable &&
			refers_by_all(leaf, from, conditions, rowset))
			return from->varno;
	}
	return 0;
}

/*
 * dp_rowsets_find_join_keys
 *	  Record for each public source the columns by which it is joined, and
 *	  whether having no row is an additional choice; for each private one,
 *	  whether another source's row determines its row; and for all, whether an
 *	  outer join may leave them out, and whether they are only in semijoins and
 *	  antijoins.
 */
void
dp_rowsets_find_join_keys(const Query *query, const List *conditions,
						  const dp_rowset *rowset, dp_block *block)
{
	List	   *facts = find_facts(conditions);
	List	   *left = NIL;
	Relids		known = NULL;
	ListCell   *lc;

	foreach(lc, rowset->leaves)
		if (((const dp_leaf *) lfirst(lc))->relation != NULL)
			known = bms_add_member(known, foreach_current_index(lc) + 1);
	foreach(lc, block->sources)
	{
		dp_joined  *source = lfirst(lc);

		source->nullable = dp_rowsets_leaf(rowset, source->number)->nullable;
		source->asked = is_asked_anywhere(query, source->number);
		if (OidIsValid(source->relid))
			source->given = find_referring(source->number, conditions,
										   rowset);
		if (!OidIsValid(source->relid))
			left = lappend(left, source);
	}
	while (left != NIL)
	{
		dp_joined  *next = linitial(left);

		foreach(lc, left)
		{
			dp_joined  *source = lfirst(lc);

			source->keys = known_columns(source->number, known, facts);
			if (list_length(source->keys) > list_length(next->keys))
				next = source;
		}
		left = list_delete_ptr(left, next);
		next->absent = may_be_absent(query, next, known);
		known = bms_add_member(known, next->number);
	}
}

/* ----------------
 *		Public rows that are looked up: at most one matches.
 *
 * A unique index or GROUP BY says so of a source whose columns are equated
 * with something known, or the source has one row whatever they are.  Two rows
 * that equal one value equal each other under the default equality of the
 * compared type, so the index or GROUP BY must use that.
 * ----------------
 */

static Oid
equality_of(const Var *column)
{
	return lookup_type_cache(column->vartype, TYPECACHE_EQ_OPR)->eq_opr;
}

/* Whether the column is among those that are equated, by this equality. */
static bool
is_equated(AttrNumber column, Oid equality, const List *equated)
{
	ListCell   *lc;

	foreach(lc, equated)
	{
		const Var  *one = lfirst_node(Var, lc);

		if (one->varattno == column && OidIsValid(equality) &&
			equality_of(one) == equality)
			return true;
	}
	return false;
}

/* Whether the index's n-th column is equated, by the index's equality. */
static bool
column_looks_up(Relation index, int n, const List *equated)
{
	ListCell   *lc;

	foreach(lc, equated)
	{
		const Var  *one = lfirst_node(Var, lc);

		if (one->varattno == index->rd_index->indkey.values[n] &&
			get_op_opfamily_strategy(equality_of(one),
									 index->rd_opfamily[n]) ==
			BTEqualStrategyNumber)
			return true;
	}
	return false;
}

/* Whether the index proves that rows differ in an equated column. */
static bool
index_looks_up(Oid number, const List *equated)
{
	Relation	index = index_open(number, AccessShareLock);
	Form_pg_index form = index->rd_index;
	bool		proves = form->indisunique && form->indisvalid &&
	form->indimmediate && form->indislive && !form->indisexclusion &&
	heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
	heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL);
	int			i;

	for (i = 0; i < form->indnkeyatts; i++)
		proves = proves && column_looks_up(index, i, equated);
	index_close(index, NoLock);
	return proves;
}

static bool
relation_looks_up(const RangeTblEntry *entry, const List *equated)
{
	Relation	rel;
	List	   *indexes;
	ListCell   *lc;
	bool		proved = false;

	if (entry->inh && entry->relkind != RELKIND_PARTITIONED_TABLE &&
		has_subclass(entry->relid))
		return false;
	rel = table_open(entry->relid, AccessShareLock);
	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
		proved = proved || index_looks_up(lfirst_oid(lc), equated);
	table_close(rel, NoLock);
	return proved;
}

/* Whether the query returns one row at most, whatever it reads. */
static bool
returns_one(const Query *query)
{
	const Const *limit = query->limitCount == NULL ? NULL :
	(const Const *) eval_const_expressions(NULL, query->limitCount);

	if (query->groupingSets != NIL)
		return false;
	return query->jointree->fromlist == NIL ||
		(query->groupClause == NIL &&
		 (query->hasAggs || query->havingQual != NULL)) ||
		(limit != NULL && query->limitOption == LIMIT_OPTION_COUNT &&
		 IsA(limit, Const) && !limit->constisnull &&
		 DatumGetInt64(limit->constvalue) <= 1);
}

/* Whether all columns of DISTINCT or GROUP BY are equated. */
static bool
clauses_look_up(const Query *query, const List *clauses, const List *equated)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const SortGroupClause *clause = lfirst(lc);
		const TargetEntry *target = get_sortgroupclause_tle((SortGroupClause *)
															clause,
															query->targetList);

		if (!is_equated(target->resno, clause->eqop, equated))
			return false;
	}
	return true;
}

/* The columns of a query's only item that are its equated columns. */
static List *
equated_below(const Query *query, const List *equated)
{
	List	   *below = NIL;
	ListCell   *lc;

	foreach(lc, equated)
	{
		Var		   *one = copyObject(lfirst_node(Var, lc));
		const TargetEntry *target = get_tle_by_resno(query->targetList,
													 one->varattno);
		const Node *column = target == NULL ? NULL :
		(const Node *) target->expr;

		while (column != NULL && IsA(column, RelabelType))
			column = (const Node *) ((const RelabelType *) column)->arg;
		if (column == NULL || !IsA(column, Var) ||
			((const Var *) column)->varlevelsup != 0)
			continue;
		one->varattno = ((const Var *) column)->varattno;
		below = lappend(below, one);
	}
	return below;
}

static bool
query_looks_up(const Query *query, const List *equated)
{
	const RangeTblRef *item;
	const RangeTblEntry *entry;
	const List *clauses = query->distinctClause != NIL ?
	query->distinctClause : query->groupClause;

	check_stack_depth();
	if (query->setOperations != NULL || query->hasTargetSRFs)
		return false;
	if (returns_one(query))
		return true;
	if (clauses != NIL || query->groupingSets != NIL)
		return query->groupingSets == NIL &&
			clauses_look_up(query, clauses, equated);
	item = linitial(query->jointree->fromlist);
	if (list_length(query->jointree->fromlist) != 1 ||
		!IsA(item, RangeTblRef))
		return false;
	entry = rt_fetch(item->rtindex, query->rtable);
	equated = equated_below(query, equated);
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			return relation_looks_up(entry, equated);
		case RTE_SUBQUERY:
			return query_looks_up(entry->subquery, equated);
		case RTE_VALUES:
			return list_length(entry->values_lists) == 1;
		default:
			return false;
	}
}

/*
 * dp_rowsets_looks_up
 *	  Whether at most one row of a public source of a complete block provably
 *	  matches what is known before it.
 */
bool
dp_rowsets_looks_up(const dp_joined *source)
{
	return source->asked ||
		(!source->absent && query_looks_up(source->query, source->keys));
}
