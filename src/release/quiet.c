/*
 * quiet.c
 *	  What the server logs inside a function that runs with another role's
 *	  rights goes to the log only.
 *
 * A caller may set client_min_messages = log and debug_print_plan.  Then the
 * plans of statements in PL/pgSQL are printed to him, with the values of its
 * variables as constants: among them exact values that an owner's procedure
 * computed to add noise to (doc/procedures.md).  What auto_explain and the
 * statistics of log_statement_stats say goes the same way.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "release.h"

static emit_log_hook_type next_emit_log = NULL;

static void
keep_from_client(ErrorData *edata)
{
	Oid			user;
	int			security;

	if (edata->elevel == LOG && edata->output_to_client)
	{
		GetUserIdAndSecContext(&user, &security);
		if ((security & SECURITY_LOCAL_USERID_CHANGE) != 0)
			edata->output_to_client = false;
	}
	if (next_emit_log)
		next_emit_log(edata);
}

/* dp_release_quiet_init: install the hook; called once, while preloading. */
void
dp_release_quiet_init(void)
{
	next_emit_log = emit_log_hook;
	emit_log_hook = keep_from_client;
}
