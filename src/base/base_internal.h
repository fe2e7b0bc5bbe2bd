/*
 * base_internal.h
 *	  Private to base: what its files share.
 *
 * Include postgres.h first.
 */
#ifndef BASE_INTERNAL_H
#define BASE_INTERNAL_H

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "nodes/nodes.h"
#include "nodes/plannodes.h"
#include "storage/lwlock.h"
#include "utils/numeric.h"

#include "dp_compat.h"

/* ---- settings (settings.c) ---- */
extern int	dp_setting_workers;	/* dp_pg.workers */
extern char *dp_setting_epsilon_floor;	/* dp_pg.epsilon_floor, superuser */
extern char *dp_setting_epsilon_ceiling;	/* dp_pg.epsilon_ceiling */

/* ---- the pool of processes (workers.c) ---- */
extern PGDLLEXPORT void dp_base_worker_main(Datum arg);

/* ---- numbers (number.c) ---- */

/*
 * Raise 22023 if the scale of Laplace noise is above 2^100, since the noise
 * might not fit in 128 bits (doc/theory.md T9).
 */
#define DP_SCALE_LOG2 100

/* ---- pages made resident before rows are read (resident.c) ---- */
extern bool dp_base_populate(char *memory, Size bytes);
extern bool dp_base_populate_heap(char *but, Size bytes);

#endif							/* BASE_INTERNAL_H */
