/*
 * local.h
 *	  What the functions of the local model share: the arguments that rarely
 *	  change between rows, parsed once per call site.
 *
 * Include postgres.h first.
 */
#ifndef LOCAL_H
#define LOCAL_H

#include "fmgr.h"
#include "utils/array.h"
#include "utils/typcache.h"

#include "../bridge/dp_bridge.h"

/* Public candidates: at least two, none NULL, no two equal. */
typedef struct dp_candidates
{
	ArrayType  *array;			/* copy of what the caller gave */
	TypeCacheEntry *type;
	Oid			collation;
	int			n;
	Datum	   *values;			/* in the caller's order, within array */
	int		   *sorted;			/* indexes in btree order; NULL: no btree */
} dp_candidates;

/*
 * Hangs in fn_extra of a call site and lives as long as its FmgrInfo.  An
 * argument is parsed again only when its bytes differ from those seen last:
 * an argument that is constant within a query may still change between two
 * evaluations of one PL/pgSQL expression.
 */
typedef struct dp_local_site
{
	MemoryContext context;		/* of the FmgrInfo */
	MemoryContext choice;		/* of candidates */
	bool		ready;			/* epsilon is parsed */
	Numeric		text;			/* epsilon as given, if numeric */
	float8		number;			/* epsilon as given, if double precision */
	dp_rational epsilon;
	dp_candidates *candidates;
} dp_local_site;

extern const dp_rational *dp_local_read_numeric(FunctionCallInfo fcinfo,
												int argument, bool limited);
extern const dp_rational *dp_local_read_float(FunctionCallInfo fcinfo,
											  int argument, bool limited);
extern const dp_candidates *dp_local_read_candidates(FunctionCallInfo fcinfo,
													 int argument);
extern int	dp_local_find_candidate(const dp_candidates *candidates,
									Datum value);

#endif							/* LOCAL_H */
