/*
 * dp_split.h
 *	  Public interface of split: private blocks are found, and each becomes an
 *	  inner query and an outer one.
 *
 * Include postgres.h first.
 */
#ifndef DP_SPLIT_H
#define DP_SPLIT_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/snapshot.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"

/* ---- a private aggregate of a block (split_block.c) ---- */

/* A dp_ aggregate of a block, whose call is a target of inner: a node. */
typedef struct dp_value
{
	ExtensibleNode node;
	dp_aggregate_kind kind;
	int			base_leaf;		/* leaf of the argument, if it is a column, or
								 * 0 */
	AttrNumber	base_attnum;	/* that column */
	Node	   *base;			/* what the argument's values follow from, over
								 * base columns (dp_domains_cut_public), if
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

/* ---- blocks as nodes (block.c) ---- */
extern void dp_split_init(void);

/* ---- blocks as text (canonical.c) ---- */

extern char *dp_split_write_tree(Node *tree);
extern char *dp_split_write_key(const dp_key *key);

/* ---- finding and splitting blocks (find_blocks.c) ---- */

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
extern dp_refusal *dp_split_all(Query *query, dp_block_consumer consumer,
								void *context, List **inval_items);

/* ---- released.c ---- */

/*
 * To be called after dp_split_all, when entries of releases are calls of a
 * marker function: in all that follows released values, NULL takes the place
 * of errors that noise can cause.
 */
extern void dp_split_guard_released(Query *query, Oid marker);

/* ---- outer.c ---- */

/*
 * How many additional counts a level with private aggregates that is not yet
 * split will release, min_units aside.
 */
extern int	dp_split_added_sizes(const Query *query);
extern Aggref *dp_split_lift_aggregate(Aggref *aggregate, int level);

/* ---- predicates given as texts (predicates.c) ---- */
#define DP_PREDICATE_LENGTH (1 << 16)	/* most bytes of one */
#define DP_PREDICATES_LENGTH (1 << 22)	/* and of all together */

extern List *dp_split_predicate_texts(ArrayType *array);
extern bool dp_split_is_weight(Node *expression);
extern Query *dp_split_read_predicates(Oid relid, List *texts);
extern Node *dp_split_read_public_predicate(Oid relid, TupleDesc columns,
											const char *text, bool *total);

#endif							/* DP_SPLIT_H */
