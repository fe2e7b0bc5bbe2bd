/*
 * stored_row.h
 *	  Private to the run room: how nodes show rows of a tuplestore.
 */
#ifndef DP_RUN_STORED_ROW_H
#define DP_RUN_STORED_ROW_H

#include "executor/executor.h"

/*
 * dp_run_show_stored
 *	  A row of a tuplestore in a virtual slot, which plans of scans expect;
 *	  valid while the other slot holds it.
 */
static inline TupleTableSlot *
dp_run_show_stored(TupleTableSlot *slot, TupleTableSlot *minimal)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	slot_getallattrs(minimal);
	memcpy(slot->tts_values, minimal->tts_values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, minimal->tts_isnull, sizeof(bool) * natts);
	return ExecStoreVirtualTuple(slot);
}

#endif							/* DP_RUN_STORED_ROW_H */
