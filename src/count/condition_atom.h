/*
 * condition_atom.h
 *	  Private to the condition files: comparisons of a column with constants,
 *	  the atoms of conditions, and conditions made from them.
 */
#ifndef DP_COUNT_CONDITION_ATOM_H
#define DP_COUNT_CONDITION_ATOM_H

#include "dp_count.h"

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

/* ---- condition_match.c ---- */

/* A column that conditions compare with constants. */
typedef struct dp_matched_column
{
	Var		   *var;
	Oid			type;			/* of the comparisons; InvalidOid: none */
	int			known;			/* number of constants, ascending and
								 * distinct */
	Datum	   *constants;
} dp_matched_column;

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

extern dp_matches *dp_count_conditions_match(List *conditions,
											 int most_columns);

#endif							/* DP_COUNT_CONDITION_ATOM_H */
