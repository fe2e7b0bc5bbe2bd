/*
 * tables.c
 *	  What loading the library does for released tables: it registers their
 *	  task and the uses of their readings.
 */
#include "postgres.h"

#include "dp_tables.h"
#include "tables_internal.h"

/* dp_tables_init: see dp_tables.h. */
void
dp_tables_init(void)
{
	dp_tables_releases_init();
	dp_tables_smalldb_init();
	dp_tables_net_init();
	dp_tables_synthesis_init();
	dp_tables_iterate_init();
}
