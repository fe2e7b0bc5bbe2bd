/*
 * dp_pg.c
 *	  Entry point of the library: only the order of initialization.
 *
 * Loaded by the postmaster, the library defines settings, requests shared
 * memory and installs hooks.  Loaded later, it does nothing, and every
 * function that needs these raises an error.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "block/dp_block.h"
#include "bridge/dp_bridge.h"
#include "ledger/dp_ledger.h"
#include "protect/dp_protect.h"
#include "reader/dp_reader.h"
#include "reading/dp_reading.h"
#include "reuse/dp_reuse.h"
#include "run/dp_run.h"
#include "session/dp_session.h"
#include "synth/dp_synth.h"
#include "workload/dp_workload.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	dp_bridge_settings_init();
	dp_bridge_hooks_init();
	dp_bridge_workers_init();
	dp_ledger_init();
	dp_reader_init();
	dp_protect_init();
	dp_block_init();
	dp_reuse_init();
	dp_run_init();
	dp_reading_init();
	dp_workload_init();
	dp_session_init();
	dp_synth_init();
}
