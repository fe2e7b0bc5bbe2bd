/*
 * shield_settings.c
 *	  Settings that the caller must not choose while an owner's procedure runs.
 */
#include "postgres.h"

#include "ledger.h"
#include "shield.h"

/*
 * The first three control statistics; only a superuser can set them, also in a
 * header.  The others steer how rows are read, and the owner may set them in a
 * header.
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
