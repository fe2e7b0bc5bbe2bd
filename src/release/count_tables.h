/*
 * count_tables.h
 *	  Private to the release folder: dp_pg.count_tables, which counts rows in
 *	  tables over axes, and the counting of conditions by it.
 */
#ifndef DP_RELEASE_COUNT_TABLES_H
#define DP_RELEASE_COUNT_TABLES_H

#include "../places/dp_places.h"

/* Columns of one dp_pg.count_tables: its state and spec are arguments too. */
#define DP_COUNTED_AXES_MAX (FUNC_MAX_ARGS - 2)

/*
 * A table over axes.  The number of a cell is sum of p[i] * product of later
 * sizes, for the places p of a row.  Either all cells are counted, in this
 * order, or those listed, each number once, in the order of the list.
 */
typedef struct dp_counted_table
{
	int			naxes;
	const int  *axes;			/* indexes into the axes given */
	int64		nlisted;
	const uint64 *listed;		/* NULL: all cells */
} dp_counted_table;

/* ---- count_tables.c ---- */
extern Const *dp_counted_spec(int naxes, dp_axis *const *axes, int ntables,
							  const dp_counted_table *tables, bool whole);
extern Aggref *dp_counted_native(const Aggref *asked, const Const *spec,
								 List *columns);

/* ---- condition_match.c ---- */

/* A column that conditions compare with constants. */
typedef struct dp_matched_column
{
	Var		   *var;
	Oid			type;			/* that comparisons are of; InvalidOid: none */
	int			known;			/* constants, ascending and distinct */
	Datum	   *constants;
} dp_matched_column;

/*
 * Classes of a column's values: 0 .. known - 1 equal to a constant, then any
 * other value, then NULL.
 */
#define DP_CLASS_OTHER(column) ((column)->known)
#define DP_CLASS_NULL(column) ((column)->known + 1)
#define DP_CLASSES(column) ((column)->known + 2)

/* A condition that holds where each of its columns is in some classes. */
typedef struct dp_matched_condition
{
	bool		matched;		/* else the rest is not set */
	bool		never;			/* holds for no row */
	Bitmapset  *columns;
	Bitmapset **classes;		/* of each column, by index; NULL: all */
} dp_matched_condition;

typedef struct dp_matches
{
	int			ncolumns;
	dp_matched_column *columns;
	int			nconditions;
	dp_matched_condition *conditions;
} dp_matches;

extern dp_matches *dp_conditions_match(List *conditions, int most_columns);

/* ---- condition_counts.c ---- */
typedef struct dp_condition_counting dp_condition_counting;
extern dp_condition_counting *dp_conditions_plan(List *conditions);
/* How many of them no table counts, so that each row evaluates them. */
extern int	dp_conditions_evaluated(const dp_condition_counting *counting);
extern List *dp_conditions_natives(const dp_condition_counting *counting,
								   const Aggref *asked);
extern void dp_conditions_load(const dp_condition_counting *counting,
							   const Datum *values, const bool *nulls,
							   int64 *counts);

/* ---- count_conditions.c ---- */
extern List *dp_conditions_evaluate(const Aggref *asked, List *all);
extern int64 dp_conditions_load_one(const Datum *values, const bool *nulls,
									int i);

#endif							/* DP_RELEASE_COUNT_TABLES_H */
