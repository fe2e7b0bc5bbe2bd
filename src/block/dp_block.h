/*
 * dp_block.h
 *	  Public interface of the block room: what a private query may be.
 *
 * A query level with dp_ aggregates is a DP block.  The functions here
 * recognise blocks, verify that their rows are unit-local, and split a block
 * into an inner query (private rows, aggregates) and an outer one (everything
 * else, over released values).  Analysis returns refusals as values.
 *
 * Include postgres.h first.
 */
#ifndef DP_BLOCK_H
#define DP_BLOCK_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/snapshot.h"

#include "../bridge/dp_node.h"
#include "../catalog/dp_catalog.h"
#include "../places/dp_places.h"
#include "../protect/dp_protect.h"
#include "../rules/dp_rules.h"

/* ---- group keys (key.c) ---- */

extern dp_refusal *dp_block_classify_key(Node *expression, Node *base,
										 Oid relid, dp_key *key);

/* ---- the split (split_block.c) ---- */

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

/* A dp_ aggregate of a block, whose call is a target of inner: a node. */
typedef struct dp_value
{
	ExtensibleNode node;
	dp_aggregate_kind kind;
	int			base_leaf;		/* leaf of the argument, if it is a column, or
								 * 0 */
	AttrNumber	base_attnum;	/* that column */
	Node	   *base;			/* what the argument's values follow from, over
								 * base columns (dp_places_cut_public), if
								 * bounds need it; or NULL */
	Node	   *second;			/* the same for a second argument per row */
	List	   *filters;		/* of Node *: conditions that its rows fulfil
								 * (dp_known), if bounds need them */
	dp_key	   *key;			/* public values of the argument, if needed; or
								 * NULL */
	int			size;			/* number, from 1, of the aggregate whose
								 * released count decides whether the value is
								 * returned, or 0 */
	bool		of_units;		/* the argument is the unit */
} dp_value;

/* One verified block: a node (block.c), so that plans can carry it. */
typedef struct dp_block
{
	ExtensibleNode node;
	Query	   *inner;			/* targets: keys, then the unit if `many`,
								 * then the dp_ aggregates */
	List	   *keys;			/* of dp_key * */
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
								 * returned; 0: all are (split_outer.c) */
	List	   *relids;			/* OIDs by numbers of leaves, which are the
								 * varno of Vars over base columns; InvalidOid:
								 * public rows */
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
extern Node *dp_block_widened(Node *node);
extern Query *dp_block_make_level(List *entries);
extern Node *dp_block_make_item(int n);
extern RangeTblEntry *dp_block_subquery_entry(Query *subquery);
extern TargetEntry *dp_block_add_target(List **targets, Node *expression,
										const char *name);
extern void dp_block_unite(Query *level, List *entries);
extern RangeTblEntry *dp_block_join_entry(JoinType type);
extern Query *dp_block_distinct_columns(Query *query, const List *columns);
extern Node *dp_block_null_test(Node *value, NullTestType type);

/*
 * Does the block have keys that are released by threshold (key.c)?
 */
extern bool dp_block_has_undeclared(const dp_block *block);

/*
 * The block in a form in which any of its keys can be released by threshold;
 * if every row is a unit, a copy with many = true.
 */
extern dp_block *dp_block_tell_keys(dp_block *block);

/* The position of the first aggregate among the inner query's targets. */
static inline int
dp_block_first_aggregate(const dp_block *block)
{
	return list_length(block->keys) + (block->many ? 1 : 0);
}

/* The call of the n-th dp_ aggregate. */
static inline Aggref *
dp_block_aggregate(const dp_block *block, int n)
{
	return castNode(Aggref, ((TargetEntry *)
							 list_nth(block->inner->targetList,
									  dp_block_first_aggregate(block) +
									  n))->expr);
}

/* The size of a unit's rows at a level of a block (unit_levels.c). */
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

extern List *dp_block_unit_levels(const dp_block *block);
extern List *dp_block_row_leaves(const dp_block *block);

/*
 * Is each row made of one row of each source?  May a row be in several groups
 * because of a key?
 */
extern bool dp_block_joins_plainly(const Query *level);
extern bool dp_block_key_spreads(const dp_block *block, int n);

/* Does each unit have at most one row among those that a block reads? */
static inline bool
dp_block_groups_once(const dp_block *block)
{
	return block->once;
}

/* Is each row a unit, so that it may be joined with at most one row? */
static inline bool
dp_block_joins_once(const dp_block *block)
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

/* ---- blocks as nodes (block.c) ---- */
extern void dp_block_init(void);

/* ---- blocks as text (canonical.c) ---- */
typedef enum dp_constants
{
	DP_CONSTANTS_BLANKED,
	DP_CONSTANTS_KEPT
} dp_constants;

extern char *dp_block_write_tree(Node *tree);
extern char *dp_block_write_key(const dp_key *key);

/* ---- all private rows by name (named_rows.c) ---- */

/* Most bytes of a named row outside of its page (named_rows.c). */
#define DP_ROW_DEFAULTS ((Size) 16 * 1024)

extern dp_block *dp_block_name_private(const dp_block *block);

extern PGDLLEXPORT char *dp_block_write_canonical(const dp_block *block,
												  dp_constants constants);

/*
 * Called for each block found, with the block and the range table entry that
 * represents it in the outer query; fills in the entry's marker.
 */
typedef void (*dp_block_consumer) (dp_block *block, RangeTblEntry *entry,
								   void *context);

/*
 * Find every block of the query, at every level, verify it and split it in
 * place.  Returns the first refusal, or NULL; *inval_items receives the
 * dependencies of inlined functions.
 */
extern dp_refusal *dp_block_split_all(Query *query, dp_block_consumer consumer,
									  void *context, List **inval_items);

/*
 * To be called after that, when entries of releases are calls of a marker
 * function: in all that follows released values, NULL takes the place of
 * errors that noise can cause (released.c).
 */
extern void dp_block_guard_released(Query *query, Oid marker);

/*
 * To be called after that: count the references to each WITH query
 * (with_query.c).
 */
extern void dp_block_recount_with(Query *query);

/*
 * An expression of a verified level over the columns of leaves (leaf.c): the
 * varno of Vars is the leaf's number, 1 for the protected relation.
 */
extern Node *dp_block_rowset_base(Query *query, Node *expression);

extern bool dp_block_proved_not_null(Oid relid, AttrNumber attnum,
									 Snapshot snapshot);

/*
 * Does the relation provably have one row per unit?  And the refusal if not.
 */
extern bool dp_block_has_one_row(const dp_relation *relation,
								 Snapshot snapshot);
extern dp_refusal *dp_block_refuse_many(const dp_relation *relation);
extern bool dp_block_is_key(Oid relid, const List *columns,
							Snapshot snapshot);

/* How many additional counts a level that is not yet split will release. */
extern int	dp_block_added_sizes(const Query *query);
extern Aggref *dp_block_lift_aggregate(Aggref *aggregate, int level);

/* ---- predicates given as texts (predicates.c) ---- */

#define DP_PREDICATES_MAX 10000
#define DP_PREDICATE_LENGTH (1 << 16)	/* most bytes of one */
#define DP_PREDICATES_LENGTH (1 << 22)	/* and of all together */

extern List *dp_block_predicate_texts(ArrayType *array);
extern bool dp_block_is_weight(Node *expression);
extern Query *dp_block_read_predicates(Oid relid, List *texts);
extern Node *dp_block_read_public_predicate(Oid relid, TupleDesc columns,
											const char *text, bool *total);

#endif							/* DP_BLOCK_H */
