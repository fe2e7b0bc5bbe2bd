/*
 * dp_protect.h
 *	  Public interface of protect: what owners declare of their relations.
 *
 *
 *
 *
 * Include postgres.h first.
 */
#ifndef DP_PROTECT_H
#define DP_PROTECT_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/numeric.h"
#include "utils/snapshot.h"

#include "../catalog/dp_catalog.h"

/* A step from a row to the one whose primary key its columns hold. */
typedef struct dp_unit_step
{
	Oid			relid;			/* of the row referred to; protected */
	List	   *from;			/* of int: the columns */
	List	   *key;			/* of int: the primary key of relid */
	List	   *next;			/* of int: columns of relid for the next step,
								 * at last the unit */
} dp_unit_step;

/* One protected relation, palloc'd in the current context. */
typedef struct dp_relation
{
	Oid			relid;
	Oid			owner;			/* of the table */
	char	   *dataset;
	char	   *unit;			/* column name, or a path of keys; NULL: each
								 * row is one unit */
	AttrNumber	unit_attnum;	/* 0 if unit is NULL; for a path, past all
								 * columns, where rows are given its value */
	Oid			unit_type;
	int32		unit_typmod;
	Oid			unit_collation;
	List	   *unit_steps;		/* of dp_unit_step *; NIL: a column */
	int64		rows;			/* size class; 0: not declared */
	int64		max_rows;		/* of a unit in a group; 0: not declared */
	int64		max_keys;		/* groups of a unit; 0: not declared */
	int64		min_units;		/* of a group that is shown; 0: not declared */
	int64		max_total;		/* rows of a unit in all; 0: not declared */
} dp_relation;

/* NULL when relid itself is not protected (children of one are not). */
extern dp_relation *dp_protect_lookup(Oid relid);
extern char *dp_protect_unit_mark(const dp_relation *relation);

/* ---- unit_bounds.c ---- */

/* Where a bound comes from, by rank; implied: by the other two. */
typedef enum dp_bound_origin
{
	DP_BOUND_IMPLIED,
	DP_BOUND_PROFILE,
	DP_BOUND_DECLARED,
	DP_BOUND_MEASURED,			/* by the query itself */
	DP_BOUND_SET
} dp_bound_origin;

/*
 * How many rows of a unit in one group count, in how many groups, and how many
 * in all of these; rows and total are 0: nobody says.
 */
typedef struct dp_unit_bounds
{
	int64		rows;
	int64		keys;
	int64		total;
	dp_bound_origin rows_from;
	dp_bound_origin keys_from;
	dp_bound_origin total_from;
	Oid			declared;		/* the relation for which those that are were,
								 * or whose profile they follow from;
								 * InvalidOid: none, or several */
	Oid			missing;		/* one for which a bound should be declared */
	int64		measured;		/* the total to use if one is; 0: none */
} dp_unit_bounds;

extern dp_unit_bounds dp_protect_contribution(const dp_relation *relation);
extern char *dp_protect_bounds_text(const dp_unit_bounds *b, bool grouped);

/* ---- profile_bounds.c ---- */

/* The noise of a query, as far as the best bounds depend on it. */
typedef struct dp_outlook
{
	double		noise;			/* root mean square, for sensitivity 1 */
	double		groups;			/* that share the rows of a unit */
	double		total;			/* rows of a unit that count; of values only */
	bool		gaussian;		/* noise grows with the L2 sensitivity */
	bool		counts_units;	/* noise grows with max_keys, whatever the
								 * total */
	char	   *key;			/* the column that groups; NULL: another key */
} dp_outlook;

extern bool dp_protect_profile_rows(Oid relid, const dp_outlook *outlook,
									dp_unit_bounds *bounds);
extern int64 dp_protect_choose_total(const int64 *counts, int n, int last,
									 double scale, const dp_outlook *outlook);
extern bool dp_protect_profile_values(Oid relid, AttrNumber attnum,
									  const dp_outlook *outlook, bool width,
									  char **lower, char **upper);
extern bool dp_protect_profile_left_out(Oid relid, const char *key,
										const dp_unit_bounds *bounds,
										double *left, double *all);

/* ---- proof.c ---- */
extern bool dp_protect_proved_not_null(Oid relid, AttrNumber attnum,
									   Snapshot snapshot);
extern bool dp_protect_prove_one_row(const dp_relation *relation,
									 Snapshot snapshot);
extern bool dp_protect_is_key(Oid relid, const List *columns,
							  Snapshot snapshot);

/* ---- relation.c and others ---- */
/* NULL when nothing was declared about the column. */
extern dp_attribute *dp_protect_attribute(Oid relid, AttrNumber attnum);
/* Columns declared immutable; dp_protect_attribute says more about one. */
extern Bitmapset *dp_protect_attribute_partitions(Oid relid);
/*
 * Whether a trigger keeps the column immutable, and did when the snapshot
 * (NULL: now) was taken.
 */
extern bool dp_protect_declare_is_guarded(Oid relid, AttrNumber attnum,
										  Snapshot snapshot);
/* The view that was published for it, or InvalidOid. */
extern Oid	dp_protect_published_view(Oid relid);
/* Its dataset, NULL when relid itself is not protected; raises nothing. */
extern char *dp_protect_dataset(Oid relid);
/*
 * The tables that a view reads; with invoker, only with its reader's rights.
 */
extern List *dp_protect_view_reads(Oid view, bool invoker);
/* The protected ancestor (or the relation itself), InvalidOid when none. */
extern Oid	dp_protect_root(Oid relid);
/* Its table of synthetic rows, made by dp_publish_twin; InvalidOid: none. */
extern Oid	dp_protect_twin(Oid relid);
extern char *dp_protect_qualified_name(Oid relid);
extern void dp_protect_init(void);	/* hooks; from _PG_init */

#endif							/* DP_PROTECT_H */
