/*
 * dp_rowsets.h
 *	  Public interface of rowsets: the rows that a private block reads, its
 *	  levels, joins and units.
 *
 * Include postgres.h first.
 */
#ifndef DP_ROWSETS_H
#define DP_ROWSETS_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/snapshot.h"

#include "../../base/dp_base.h"
#include "../../protect/dp_protect.h"

struct dp_key;

/* ---- a private block, which split/split_block.c makes ---- */

/* Rows with a name in the inner query: a node (named_rows.c). */
typedef struct dp_joined
{
	ExtensibleNode node;
	Query	   *query;			/* returns them; the asking role's own if
								 * public */
	int			number;			/* their name, as text */
	Oid			relid;			/* the protected relation, or InvalidOid */
	AttrNumber	unit;			/* the rows' column with the unit */
	List	   *follow;			/* of int: columns from whose values the unit
								 * is found by the steps; a step's result
								 * follows the columns before; or NIL */
	List	   *steps;			/* of Query *: the key and either the columns
								 * of the next step or the unit */
	List	   *step_relids;	/* OIDs of the relations they read */
	List	   *step_keys;		/* of lists of int: the columns of their
								 * keys */
	int			twin;			/* number of a source with the same rows, the
								 * only one of the two that is run, or 0 */
	bool		nullable;		/* an outer join may leave out its rows */
	bool		absent;			/* so having no row is an additional choice */
	bool		asked;			/* a semijoin or antijoin, which adds no
								 * rows */
	int			given;			/* private: number of the source whose row
								 * determines this one's row, or 0 */
	List	   *keys;			/* of Var *: columns of public rows that are
								 * equated with something known
								 * (join.c) */
} dp_joined;

/* One verified block: a node (block.c), so that plans can carry it. */
typedef struct dp_block
{
	ExtensibleNode node;
	Query	   *inner;			/* targets: keys, then the unit if `many`,
								 * then the dp_ aggregates, then other keys */
	List	   *keys;			/* of dp_key * */
	List	   *others;			/* of dp_key *: if the block is one of GROUPING
								 * SETS, the keys that others have */
	List	   *crossing;		/* of int: then all keys, in an order that the
								 * sets share; those of `others` follow those
								 * of `keys`; else NIL */
	int64		seed;			/* then: of ranks, the same for all sets */
	List	   *key_conditions; /* of Node *: over several keys, as columns of
								 * the release; a group for which one is not
								 * true has no rows */
	List	   *values;			/* of dp_value *, one for each aggregate */
	List	   *publics;		/* of Expr *: the public parts of their bases
								 * and of conditions */
	List	   *conditions;		/* of Node *: conditions at all levels
								 * (dp_known), if bounds need them */
	int			size;			/* number, from 1, of the aggregate whose
								 * released count decides whether a group is
								 * returned; 0: none does (outer.c) */
	bool		omits_empty;	/* not if it cannot be told from none */
	int64		least;			/* not if it is below, unless the role is
								 * exempt; without keys all values are NULL;
								 * 0: no limit */
	List	   *relids;			/* OIDs by numbers of leaves, which are the
								 * varno of Vars over base columns; InvalidOid:
								 * public rows */
	List	   *units;			/* of String, by these numbers: the units that
								 * the query was verified with; "": public
								 * rows (dp_protect_unit_mark) */
	List	   *sources;		/* of dp_joined *: the joined sources */
	Oid			relid;			/* the protected relation */
	bool		many;			/* a unit may have many rows, or keys are
								 * released by threshold */
	bool		single;			/* if so: each unit provably has one row */
	bool		once;			/* if so: at most one row of each unit, as
								 * proved when planned (unit_levels.c); only
								 * how many rows count depends on it */
	Oid			unit_type;		/* if many: type of the unit */
	char	   *dataset;
	int64		fingerprint;	/* of its shape: canonical.c */
	List	   *subqueries;		/* of Query *, run before; Params in inner */
	int			share;			/* releases that divide the default epsilon */
	bool		error_alone;	/* an error is used whose value is not; set and
								 * used while planning */
	AttrNumber	part_attnum;	/* partition column that WHERE fixes, or 0 */
	Expr	   *part_value;		/* its public value */
} dp_block;

/* ---- levels as trees (make_level.c, united.c) ---- */
extern Node *dp_rowsets_widened(Node *node);
extern Query *dp_rowsets_make_level(List *entries);
extern Node *dp_rowsets_make_item(int n);
extern RangeTblEntry *dp_rowsets_subquery_entry(Query *subquery);
extern TargetEntry *dp_rowsets_add_target(List **targets, Node *expression,
										  const char *name);
extern void dp_rowsets_unite(Query *level, List *entries);
extern RangeTblEntry *dp_rowsets_join_entry(JoinType type);
extern Query *dp_rowsets_distinct_columns(Query *query, const List *columns);
extern Node *dp_rowsets_null_test(Node *value, NullTestType type);

/* The position of the first aggregate among the inner query's targets. */
static inline int
dp_rowsets_first_aggregate(const dp_block *block)
{
	return list_length(block->keys) + (block->many ? 1 : 0);
}

/* The n-th key of the block, or of other sets. */
static inline const struct dp_key *
dp_rowsets_key(const dp_block *block, int n)
{
	int			own = list_length(block->keys);

	return n < own ? list_nth(block->keys, n) :
		list_nth(block->others, n - own);
}

/* The keys of other sets, as targets of an inner query of the block. */
static inline List *
dp_rowsets_other_targets(const dp_block *block, const Query *inner)
{
	return list_copy_tail(inner->targetList, list_length(inner->targetList) -
						  list_length(block->others));
}

/* The call of the n-th dp_ aggregate. */
static inline Aggref *
dp_rowsets_aggregate(const dp_block *block, int n)
{
	return castNode(Aggref, ((TargetEntry *)
							 list_nth(block->inner->targetList,
									  dp_rowsets_first_aggregate(block) +
									  n))->expr);
}

/* ---- how much of a unit a block reads (unit_levels.c) ---- */

/* The size of a unit's rows at a level of a block. */
typedef struct dp_unit_level
{
	Bitmapset  *leaves;			/* private ones; at most one row for each
								 * choice of a row of each */
	Size		group;			/* bytes of a group, without its longer values;
								 * 0: for the rows that are aggregated */
	int			private;		/* number of values per group that come from
								 * the unit's rows */
	int			public;			/* and of those that come from public rows */
	bool		spread;			/* a row may be in as many groups as rows are
								 * joined with it */
} dp_unit_level;

extern List *dp_rowsets_unit_levels(const dp_block *block);
extern List *dp_rowsets_row_leaves(const dp_block *block);
extern bool dp_rowsets_adds_one(const dp_block *block,
								const Bitmapset *leaves);

/*
 * Whether each row is made of one row of each source; whether a row may be in
 * several groups because of a key.
 */
extern bool dp_rowsets_joins_plainly(const Query *level);
extern bool dp_rowsets_key_spreads(const dp_block *block, int n);

/* Whether each unit has at most one row among those that a block reads. */
static inline bool
dp_rowsets_groups_once(const dp_block *block)
{
	return block->once;
}

/* Whether each row is a unit, so that it may be joined with one row only. */
static inline bool
dp_rowsets_joins_once(const dp_block *block)
{
	return block->sources != NIL && (!block->many || block->single);
}

/*
 * The n-th of block->subqueries is the external parameter of this number in
 * inner.  No user can write it: users' parameters count from 1.
 */
#define DP_HOISTED_PARAM(n) (-1 - (n))

/* Likewise for the value of part_value for which the release is charged. */
#define DP_PART_PARAM PG_INT32_MIN

/* ---- all private rows by name (named_rows.c) ---- */

/* Most bytes of a named row outside of its page (named_rows.c). */
#define DP_ROW_DEFAULTS ((Size) 16 * 1024)

extern dp_block *dp_rowsets_name_private(const dp_block *block);

/* ---- with_query.c ---- */

/* Count the references to each WITH query anew, after a rewrite. */
extern void dp_rowsets_recount_with(Query *query);

/* ---- leaf.c ---- */

/*
 * An expression of a verified level over the columns of leaves: the
 * varno of Vars is the leaf's number, 1 for the protected relation.
 */
extern Node *dp_rowsets_base(Query *query, Node *expression);

/* ---- unit.c ---- */
extern dp_refusal *dp_rowsets_refuse_many(const dp_relation *relation);

/* ---- the rows a block reads (rowset.c) ---- */

/* An item of FROM that provides rows, at any level of a block. */
typedef struct dp_leaf
{
	Query	   *level;			/* the level that contains it */
	RangeTblEntry *entry;
	dp_relation *relation;		/* protected; NULL: its rows are public */
	bool		nullable;		/* an outer join may leave out its rows */
	const CommonTableExpr *cte; /* the WITH query whose rows it has, if public,
								 * or NULL */
} dp_leaf;

typedef struct dp_rowset
{
	dp_relation *relation;		/* whose units the rows have */
	bool		many;			/* a unit may have many rows */
	int			grouped;		/* levels that group rows by unit, or have
								 * windows over rows of one unit */
	int			arms;			/* of UNION ALL, also where others are
								 * rewritten to it, at all levels */
	bool		lists;			/* it has lists in texts (list_rows.c) */
	List	   *leaves;			/* of dp_leaf *, protected ones first */
	List	   *hoisted;		/* of Query *: uncorrelated subqueries */
	List	   *expanded;		/* of CommonTableExpr *: copied into levels,
								 * one entry for each copy */
} dp_rowset;

/* Whether a level below a block's own groups its rows, by unit. */
static inline bool
dp_rowsets_is_grouped(const Query *level)
{
	return level->groupClause != NIL;
}

/* Whether the join is a semijoin or antijoin. */
static inline bool
dp_rowsets_only_asks(const JoinExpr *join)
{
	return join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI;
}

extern dp_refusal *dp_rowsets_verify(Query *query, List *cte_stack,
									 dp_rowset *rowset);

/* ---- make_level.c ---- */
extern List *dp_rowsets_add_conjuncts(List *conjuncts, Node *condition);
extern Node *dp_rowsets_and(List *conjuncts);
extern bool dp_rowsets_is_equality(const OpExpr *comparison);
extern void dp_rowsets_name_columns(RangeTblEntry *entry, int n,
									const char *name);
extern void dp_rowsets_group_by_all(Query *level);
extern void dp_rowsets_add_distinct(Query *query, Node *value);

/* ---- hoist.c ---- */
extern Node *dp_rowsets_hoist(Node *expression, dp_rowset *rowset);
extern bool dp_rowsets_refers_outside(Node *node, int level);

/* ---- list_rows.c ---- */
extern dp_refusal *dp_rowsets_check_lists(const Query *query,
										  const dp_rowset *rowset);

/* ---- named_groups.c ---- */
extern Node *dp_rowsets_naming_lists(const JoinExpr *join, const Query *query);
extern void dp_rowsets_forget_naming(Query *inner);
extern dp_refusal *dp_rowsets_check_naming(const Query *query,
										   const dp_rowset *rowset,
										   const List *keys,
										   const List *aggregates);

/* ---- leaf.c ---- */
extern List *dp_rowsets_list_items(const Query *level);
extern int	dp_rowsets_leaf_number(const RangeTblEntry *entry);
extern dp_leaf *dp_rowsets_leaf(const dp_rowset *rowset, int number);
extern bool dp_rowsets_has_join(const dp_rowset *rowset);
extern Oid	dp_rowsets_relation_of(const dp_rowset *rowset, Node *base,
								   bool *nullable);
extern Var *dp_rowsets_above_joins(const Query *query, Var *column);
extern void dp_rowsets_keep_full(Query *inner);

/* ---- unit_levels.c ---- */
extern Node *dp_rowsets_bounds_of_groups(Node *base);
extern void dp_rowsets_group_asked(Query *query, dp_rowset *rowset);
extern dp_refusal *dp_rowsets_check_groups(Query *query,
										   const dp_rowset *rowset);
extern bool dp_rowsets_reads_once(const dp_block *block);

/* ---- join.c ---- */
extern dp_refusal *dp_rowsets_check_join(Query *query,
										 const dp_rowset *rowset);
/* A condition over base columns. */
typedef struct dp_join_condition
{
	Node	   *base;
	Relids		usable;			/* it holds for rows in which one of these
								 * leaves has a row; NULL: for all rows */
	bool		matches;		/* it decides which private rows belong to a
								 * group that a list names, not which groups
								 * there are (named_groups.c) */
} dp_join_condition;

extern List *dp_rowsets_join_conditions(Query *query);
extern void dp_rowsets_find_join_keys(const Query *query,
									  const List *conditions,
									  const dp_rowset *rowset,
									  dp_block *block);

/* ---- named_rows.c ---- */
extern Query *dp_rowsets_entry_query(Query *level, RangeTblEntry *joined);
extern void dp_rowsets_name_rows(dp_rowset *rowset, dp_block *block);
extern dp_refusal *dp_rowsets_select_rows(dp_block *block);

/* ---- unit.c ---- */
extern dp_refusal *dp_rowsets_check_unit_type(const dp_relation *relation);
extern Expr *dp_rowsets_unit(Query *query, const dp_rowset *rowset);

/* ---- inline_function.c ---- */
extern List *dp_rowsets_inline_functions(Query *query, List **inval_items);

#endif							/* DP_ROWSETS_H */
