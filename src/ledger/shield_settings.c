/*
 * shield_settings.c
 *	  Settings that must not be a caller's while an owner's procedure runs.
 */
#include "postgres.h"

#include "ledger.h"
#include "shield.h"

/*
 * The first three count; only a superuser can write them into a header.  The
 * others steer how rows are read, and are the owner's to write there.
 */
const dp_shield_setting dp_shield_settings[DP_SHIELD_SETTINGS] = {
	{"track_counts", "off"},
	{"track_functions", "none"},
	{"pg_stat_statements.track", "none"},
	{"gin_fuzzy_search_limit", "0"},
	{"hash_mem_multiplier", "2"},
	{"jit", "off"},
	{"max_parallel_workers_per_gather", "0"},
	{"work_mem", "64MB"},
};
