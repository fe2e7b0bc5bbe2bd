/*
 * entropy.c
 *	  The random source of this process.
 *
 * A library preloaded by the postmaster is inherited by every child, so the
 * source records the process that it was set up for, and is set up anew, with
 * an empty buffer, in any other.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "dp_bridge.h"

static dp_source source;
static pid_t source_pid = 0;

static void
look_for_interrupts(void)
{
	CHECK_FOR_INTERRUPTS();
}

/*
 * dp_bridge_source
 *	  The process's source, from OpenSSL; never NULL.  Long draws can be
 *	  canceled.
 */
dp_source *
dp_bridge_source(void)
{
	pid_t		pid = getpid();

	if (source_pid != pid)
	{
		dp_mech_source_init(&source, dp_mech_fill_openssl, NULL);
		dp_mech_source_pulse(&source, look_for_interrupts);
		source_pid = pid;
	}
	return &source;
}
