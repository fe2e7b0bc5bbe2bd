/*
 * synth.c
 *	  What loading the library does for the synth room.
 */
#include "postgres.h"

#include "dp_synth.h"
#include "iterate.h"
#include "net.h"
#include "smalldb.h"
#include "synth.h"
#include "synthesize.h"

/* dp_synth_init: see dp_synth.h. */
void
dp_synth_init(void)
{
	dp_synth_releases_init();
	dp_synth_smalldb_init();
	dp_synth_net_init();
	dp_synth_synthesis_init();
	dp_synth_iterate_init();
}
