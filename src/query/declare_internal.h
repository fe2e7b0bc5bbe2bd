/*
 * declare_internal.h
 *	  What declare.c and declare_number.c share; private to this folder.
 */
#ifndef DP_DECLARE_INTERNAL_H
#define DP_DECLARE_INTERNAL_H

#include "fmgr.h"

#include "relation_internal.h"

/* The built-in order of a column's type. */
typedef struct dp_key_order
{
	FmgrInfo   *compare;
	Oid			collation;
} dp_key_order;

/* declare_number.c */
extern int	dp_declare_compare(Numeric a, Numeric b);
extern Numeric dp_declare_trim(Numeric x);
extern char *dp_declare_number_text(Numeric x);
extern void dp_declare_check_grid(Oid type, Numeric lower, Numeric upper,
								  Numeric granule);

#endif							/* DP_DECLARE_INTERNAL_H */
