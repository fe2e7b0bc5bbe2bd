/*
 * dp_catalog.h
 *	  Public interface of the catalog folder: what the extension has in the
 *	  catalogs of the database, its types, functions and aggregates.
 *
 * Include postgres.h first.
 */
#ifndef DP_CATALOG_H
#define DP_CATALOG_H

#include "access/htup.h"
#include "nodes/nodes.h"
#include "utils/snapshot.h"

#include "../bridge/dp_bridge.h"

/* ---- aggregates (aggregate.c) ---- */

/* What a dp_ aggregate asks for. */
typedef enum dp_aggregate_kind
{
	DP_AGG_NONE = 0,
	DP_AGG_COUNT,
	DP_AGG_SUM,
	DP_AGG_AVG,
	DP_AGG_VARIANCE,
	DP_AGG_STDDEV,
	DP_AGG_QUANTILE,
	DP_AGG_MEDIAN,
	DP_AGG_HISTOGRAM,
	DP_AGG_ARGMAX,
	DP_AGG_TOPK,
	DP_AGG_CONDITIONS
} dp_aggregate_kind;

extern dp_aggregate_kind dp_catalog_aggregate_kind(Oid function);
extern bool dp_catalog_has_aggregate(Node *node);

/* ---- objects (object.c) ---- */
extern Oid	dp_catalog_type(const char *name);
extern Oid	dp_catalog_function(const char *name, int nargs,
								const Oid *types);
extern bool dp_catalog_visible_to(HeapTuple tuple, Snapshot snapshot);

#endif							/* DP_CATALOG_H */
