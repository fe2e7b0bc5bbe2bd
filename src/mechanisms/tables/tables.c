/*
 * tables.c
 *	  What loading the library does for the synth room.
 */
#include "postgres.h"

#include "dp_tables.h"
#include "tables_internal.h"

/* dp_synth_init: see dp_tables.h. */
void
dp_synth_init(void)
{
	dp_synth_releases_init();
	dp_synth_smalldb_init();
	dp_synth_net_init();
	dp_synth_synthesis_init();
	dp_synth_iterate_init();
}
