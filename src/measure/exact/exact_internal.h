/*
 * exact_internal.h
 *	  Private to exact aggregates: comparisons of a column with constants, the
 *	  atoms of conditions.
 *
 * Include postgres.h first.
 */
#ifndef EXACT_INTERNAL_H
#define EXACT_INTERNAL_H

#include "nodes/bitmapset.h"
#include "nodes/primnodes.h"
#include "utils/numeric.h"

#include "dp_exact.h"

/* ---- native.c ---- */
extern List *dp_exact_exact(const Aggref *asked, const char *aggregate,
							Oid type, const Const *spec, Oid result_type);

/* ---- sum_state.c ---- */
extern Const *dp_exact_sum_spec(const dp_grid *grid);

/* ---- group_sums.c: counts of public cells ---- */

extern void dp_exact_check_call_site(FunctionCallInfo fcinfo);
extern dp_tally_state *dp_exact_tally_new(int64 n);

/*
 * The state of a transition: checked once per call site, made at a group's
 * first row.  The executor copies a new state into the aggregate's memory.
 */
static inline dp_tally_state *
dp_tally_state_of(FunctionCallInfo fcinfo, int64 n)
{
	if (unlikely(PG_ARGISNULL(0)))
		return dp_exact_tally_new(n);
	return (dp_tally_state *) PG_GETARG_POINTER(0);
}

/* ---- condition_match.c: single rows, for units with many ---- */

/* Most conditions of a list: they fit into a row of an inner query. */
#define DP_CONDITION_WORDS_MOST 1600

/* A column that conditions compare with constants. */
typedef struct dp_matched_column
{
	Var		   *var;
	Oid			type;			/* of the comparisons; InvalidOid: none */
	int			known;			/* number of constants, ascending and
								 * distinct */
	Datum	   *constants;
} dp_matched_column;

/* ---- condition_match.c ---- */

/*
 * Classes of a column's values: 0 .. known - 1 equal to a constant, then any
 * other value, then NULL.
 */
#define DP_CLASS_OTHER(column) ((column)->known)
#define DP_CLASS_NULL(column) ((column)->known + 1)
#define DP_CLASSES(column) ((column)->known + 2)

/* A condition that holds if each of its columns is in certain classes. */
typedef struct dp_matched_condition
{
	bool		matched;		/* if false, the rest is not set */
	bool		never;			/* holds for no row */
	Bitmapset  *columns;
	Bitmapset **classes;		/* for each column by index; NULL: all */
} dp_matched_condition;

typedef struct dp_matches
{
	int			ncolumns;
	dp_matched_column *columns;
	int			nconditions;
	dp_matched_condition *conditions;
} dp_matches;

extern dp_matches *dp_exact_conditions_match(List *conditions,
											 int most_columns);

typedef enum dp_atom_kind
{
	DP_ATOM_EQUAL,				/* NULL if the column is */
	DP_ATOM_SAME,				/* false if the column is NULL */
	DP_ATOM_NULL
} dp_atom_kind;

typedef struct dp_atom
{
	dp_atom_kind kind;
	bool		negated;
	Var		   *var;
	Oid			type;			/* InvalidOid: DP_ATOM_NULL */
	int			nvalues;
	Datum	   *values;
	bool		has_null;		/* one of the values is NULL */
} dp_atom;

#endif							/* EXACT_INTERNAL_H */
