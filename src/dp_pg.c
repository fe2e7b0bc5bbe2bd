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

#include "base/dp_base.h"
#include "ledger/dp_ledger.h"
#include "protect/dp_protect.h"
#include "query/split/dp_split.h"
#include "reader/dp_reader.h"
#include "release/answers/dp_answers.h"
#include "release/run/dp_run.h"
#include "mechanisms/readings/dp_readings.h"
#include "mechanisms/workload/dp_workload.h"
#include "mechanisms/sessions/dp_sessions.h"
#include "mechanisms/tables/dp_tables.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		return;
	dp_base_settings_init();
	dp_base_hooks_init();
	dp_base_workers_init();
	dp_ledger_init();
	dp_reader_init();
	dp_protect_init();
	dp_split_init();
	dp_answers_init();
	dp_run_init();
	dp_readings_init();
	dp_workload_init();
	dp_sessions_init();
	dp_tables_init();
}
