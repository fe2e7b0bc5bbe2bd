/*
 * condition_atom.h
 *	  Private to the condition files: one comparison of a column with
 *	  constants, an atom of a condition.
 */
#ifndef DP_RELEASE_CONDITION_ATOM_H
#define DP_RELEASE_CONDITION_ATOM_H

#include "count_tables.h"

typedef enum dp_atom_kind
{
	DP_ATOM_EQUAL,				/* NULL where the column is */
	DP_ATOM_SAME,				/* false where the column is NULL */
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

extern bool dp_condition_read_atom(Node *node, dp_atom *a);

#endif							/* DP_RELEASE_CONDITION_ATOM_H */
