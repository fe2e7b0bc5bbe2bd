/*
 * prepare_internal.h
 *	  Private to prepare: prices, and the values of keys.
 */
#ifndef PREPARE_INTERNAL_H
#define PREPARE_INTERNAL_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../../math/accounting/dp_accounting.h"
#include "../../measure/aggregates/dp_aggregates.h"

/* ---- quarters.c ---- */
extern int	dp_prepare_quarters(const dp_block *block,
								const dp_unit_bounds *bounds);

/* ---- price.c ---- */
extern void dp_prepare_find_disjoint(dp_release_spec *spec);
extern void dp_prepare_add_values(const dp_release_spec *spec,
								  const dp_charge *charges, dp_charge *sum);
extern void dp_prepare_set_part(dp_release_spec *spec, Const *value,
								Snapshot snapshot);

/* ---- group_keys.c ---- */
extern void dp_prepare_find_large_keys(dp_release_spec *spec);
extern int	dp_prepare_share(const dp_release_spec *spec);

#endif							/* PREPARE_INTERNAL_H */
