/*
 * grouping_sets.c
 *	  ROLLUP, CUBE and GROUPING SETS over private rows.
 *
 *	  SELECT ward, count(*) FROM patients GROUP BY ROLLUP (ward) ORDER BY 1
 *
 * becomes a private level for each set, with the rest above them:
 *
 *	  SELECT k, n FROM (SELECT ward, count(*) FROM patients GROUP BY ward
 *						UNION ALL SELECT NULL, count(*) FROM patients)
 *	  AS sets (k, n) ORDER BY 1
 *
 * Each set is a release with its own price.  But how many rows of a unit count
 * is decided once, by the combination of all keys, so that what is counted in
 * a set adds up to what is counted in a coarser one (doc/theory.md T170): each
 * level has the keys of all sets as further targets, which splitting a block
 * finds.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parse_agg.h"
#include "rewrite/rewriteManip.h"

#include "../../base/dp_compat.h"
#include "../rowsets/dp_rowsets.h"
#include "transparent_internal.h"

#define SETS_MAX 64

/* Depth of a set's level below the original level. */
#define SET_DEPTH 2

/* State of splitting a level.  Columns: keys, aggregates, GROUPINGs. */
typedef struct set_split
{
	int			level;			/* depth of the walk below it */
	List	   *keys;			/* of Node * */
	List	   *references;		/* of int: tleSortGroupRef of each key */
	List	   *aggregates;		/* of Aggref *: distinct, level 0 */
	List	   *groupings;		/* of GroupingFunc *: likewise */
	bool		failed;
} set_split;

/* ---- parts of the level ---- */

/* A copy of a node from `level` levels below, moved up to the level. */
static Node *
lift(Node *node, int level)
{
	Node	   *copy = copyObject(node);

	if (level > 0)
		IncrementVarSublevelsUp(copy, -level, 0);
	if (IsA(copy, Aggref))
		((Aggref *) copy)->agglevelsup = 0;
	else if (IsA(copy, GroupingFunc))
		((GroupingFunc *) copy)->agglevelsup = 0;
	return copy;
}

static bool
grouping_sets_collect_walker(Node *node, void *context)
{
	set_split  *s = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == s->level)
	{
		s->aggregates = list_append_unique(s->aggregates,
										   lift(node, s->level));
		return false;
	}
	if (IsA(node, GroupingFunc) &&
		(int) ((GroupingFunc *) node)->agglevelsup == s->level)
	{
		s->groupings = list_append_unique(s->groupings,
										  lift(node, s->level));
		return false;
	}
	if (IsA(node, Query))
	{
		s->level++;
		(void) query_tree_walker((Query *) node, grouping_sets_collect_walker,
								 context, 0);
		s->level--;
		return false;
	}
	return expression_tree_walker(node, grouping_sets_collect_walker, context);
}

static void
grouping_sets_collect(Query *query, set_split *s)
{
	ListCell   *lc;

	foreach(lc, query->groupClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		s->keys = lappend(s->keys,
						  get_sortgroupclause_expr(clause, query->targetList));
		s->references = lappend_int(s->references, clause->tleSortGroupRef);
	}
	(void) grouping_sets_collect_walker((Node *) query->targetList, s);
	(void) grouping_sets_collect_walker(query->havingQual, s);
}

/* ---- one set ---- */

/* GROUPING: a bit for each argument, set if it is not among the set's keys. */
static Const *
grouping_value(const GroupingFunc *grouping, const List *set)
{
	int32		value = 0;
	ListCell   *lc;

	foreach(lc, grouping->refs)
		value = value << 1 | !list_member_int(set, lfirst_int(lc));
	return makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
					 Int32GetDatum(value), false, true);
}

static Query *
make_set(const Query *query, const set_split *s, const List *set)
{
	Query	   *level = copyObject((Query *) query);
	ListCell   *lc;
	ListCell   *reference;

	level->targetList = NIL;
	level->groupClause = NIL;
	level->groupingSets = NIL;
	level->groupDistinct = false;
	level->havingQual = NULL;
	level->windowClause = NIL;
	level->hasWindowFuncs = false;
	level->distinctClause = NIL;
	level->sortClause = NIL;
	level->limitCount = NULL;
	level->limitOffset = NULL;
	level->limitOption = LIMIT_OPTION_COUNT;
	forboth(lc, s->keys, reference, s->references)
	{
		Node	   *key = lfirst(lc);
		bool		grouped = list_member_int(set, lfirst_int(reference));
		Expr	   *shown = grouped ? copyObject((Expr *) key) :
		(Expr *) makeNullConst(exprType(key), exprTypmod(key),
							   exprCollation(key));
		TargetEntry *target = dp_rowsets_add_target(&level->targetList,
													(Node *) shown, "column");

		if (!grouped)
			continue;
		target->ressortgroupref = lfirst_int(reference);
		level->groupClause =
			lappend(level->groupClause,
					copyObject(list_nth(query->groupClause,
										foreach_current_index(lc))));
	}
	foreach(lc, s->aggregates)
		(void) dp_rowsets_add_target(&level->targetList,
									 copyObject(lfirst(lc)), "column");
	foreach(lc, s->groupings)
		(void) dp_rowsets_add_target(&level->targetList, (Node *)
									 grouping_value(lfirst(lc), set),
									 "column");
	IncrementVarSublevelsUp((Node *) level, SET_DEPTH, 1);
	return level;
}

/* ---- all of them ---- */

/*
 * Add the keys of all sets to a level, in their order: for its own ones their
 * numbers.  No other target is resjunk and of no clause.
 */
static void
add_all_keys(Query *level, const set_split *s, const List *set)
{
	int			n = 0;
	ListCell   *lc;
	ListCell   *reference;

	forboth(lc, s->keys, reference, s->references)
	{
		bool		own = list_member_int(set, lfirst_int(reference));
		Node	   *key = copyObject(lfirst(lc));

		IncrementVarSublevelsUp(key, SET_DEPTH, 1);
		if (own)
			key = (Node *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
									 Int32GetDatum(n++), false, true);
		if (!IsA(lfirst(lc), Const))
			dp_rowsets_add_target(&level->targetList, key,
								  "key")->resjunk = true;
	}
}

static Query *
make_union(const List *levels)
{
	Query	   *all = dp_rowsets_make_level(NIL);
	List	   *entries = NIL;
	ListCell   *lc;

	foreach(lc, levels)
		entries = lappend(entries, dp_rowsets_subquery_entry(lfirst(lc)));
	all->targetList = linitial_node(Query, levels)->targetList;
	dp_rowsets_unite(all, entries);
	return all;
}

/* ---- the rest, over the columns of the sets ---- */

static Var *
column(const set_split *s, int n, Node *like)
{
	return makeVar(1, n, exprType(like), exprTypmod(like),
				   exprCollation(like), s->level);
}

static int
grouping_sets_place_of(List *list, Node *node, int level)
{
	ListCell   *lc;

	foreach(lc, list)
		if (nodeTag(lfirst(lc)) == nodeTag(node) &&
			equal(lfirst(lc), lift(node, level)))
			return foreach_current_index(lc) + 1;
	return 0;
}

static Node *
column_mutator(Node *node, void *context)
{
	set_split  *s = context;
	int			keys = list_length(s->keys);
	Node	   *copy;
	int			n;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == s->level)
		return (Node *) column(s, keys +
							   grouping_sets_place_of(s->aggregates, node,
													  s->level), node);
	if (IsA(node, GroupingFunc) &&
		(int) ((GroupingFunc *) node)->agglevelsup == s->level)
		return (Node *) column(s, keys + list_length(s->aggregates) +
							   grouping_sets_place_of(s->groupings, node,
													  s->level), node);
	if (IsA(node, Query))
	{
		s->level++;
		copy = (Node *) query_tree_mutator((Query *) node, column_mutator,
										   context, 0);
		s->level--;
		return copy;
	}
	if (!IsA(node, Const) && !IsA(node, Param) && !IsA(node, List) &&
		!IsA(node, TargetEntry))
	{
		n = grouping_sets_place_of(s->keys, node, s->level);
		if (n > 0)
			return (Node *) column(s, n, node);
	}
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == s->level)
		s->failed = true;
	return expression_tree_mutator(node, column_mutator, context);
}

/* A target that is a key, even a constant, becomes the key's column. */
static List *
grouping_sets_outer_targets(const Query *query, set_split *s)
{
	List	   *targets = (List *)
	column_mutator((Node *) query->targetList, s);
	ListCell   *lc;

	foreach(lc, targets)
	{
		TargetEntry *target = lfirst_node(TargetEntry, lc);
		ListCell   *reference;

		foreach(reference, s->references)
			if (target->ressortgroupref != 0 &&
				target->ressortgroupref == lfirst_int(reference))
				target->expr = (Expr *)
					column(s, foreach_current_index(reference) + 1,
						   list_nth(s->keys,
									foreach_current_index(reference)));
	}
	return targets;
}

/*
 * dp_transparent_split_sets
 *	  Split a level with grouping sets and aggregates, in place; *levels gets
 *	  the new private levels.  False, without any change, if its form does not
 *	  allow that.
 */
bool
dp_transparent_split_sets(Query *query, List **levels)
{
	set_split	s;
	List	   *sets;
	List	   *targets;
	Node	   *having;
	Query	   *copy;
	ListCell   *lc;
	ListCell   *level;

	*levels = NIL;
	if (!query->hasAggs || query->setOperations != NULL ||
		query->hasTargetSRFs || query->rowMarks != NIL ||
		(query->cteList != NIL && query->hasSubLinks))
		return false;
	sets = expand_grouping_sets(query->groupingSets, query->groupDistinct,
								SETS_MAX);
	if (sets == NIL)
		return false;
	copy = copyObject(query);
	copy->groupingSets = NIL;
	dp_base_ungroup(copy);
	memset(&s, 0, sizeof(s));
	grouping_sets_collect(copy, &s);
	if (s.aggregates == NIL)
		return false;
	targets = grouping_sets_outer_targets(copy, &s);
	having = column_mutator(copy->havingQual, &s);
	if (s.failed)
		return false;
	foreach(lc, sets)
		*levels = lappend(*levels, make_set(copy, &s, lfirst(lc)));

	*query = *copy;
	dp_compat_replace_entries(query,
							  dp_rowsets_subquery_entry(make_union(*levels)));
	forboth(lc, sets, level, *levels)
		add_all_keys(lfirst(level), &s, lfirst(lc));
	query->jointree = makeFromExpr(list_make1(dp_rowsets_make_item(1)),
								   having);
	query->targetList = targets;
	query->groupClause = NIL;
	query->groupDistinct = false;
	query->havingQual = NULL;
	query->cteList = NIL;
	query->hasAggs = false;
	query->hasRowSecurity = false;
	query->constraintDeps = NIL;
	return true;
}
