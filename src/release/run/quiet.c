/*
 * quiet.c
 *	  Messages that the server logs inside a function with another role's
 *	  rights go to the log only.
 *
 * A caller may set client_min_messages = log and debug_print_plan.  Then the
 * client is sent the plans of statements in PL/pgSQL, with the values of
 * variables as constants: among them exact values that an owner's procedure
 * computed to add noise to (doc/procedures.md).  Output of auto_explain and
 * log_statement_stats goes the same way.
 *
 * The server calls the hook for messages that it logs.  If log_min_messages
 * keeps such messages out of the log, the hook is not called; so such
 * functions are refused when they begin, and when they send such messages
 * later (a cached plan is not planned again, and trees are printed before
 * planning).
 *
 * Settings of PL/pgSQL that put variables into messages are the caller's, too.
 * If one of them is on, such functions are refused.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/guc.h"

#include "../../base/dp_base.h"
#include "run_internal.h"

static emit_log_hook_type next_emit_log = NULL;
static fmgr_hook_type next_fmgr = NULL;

static void
keep_from_client(ErrorData *edata)
{
	if (edata->elevel == LOG && edata->output_to_client &&
		dp_base_has_others_rights())
		edata->output_to_client = false;
	if (next_emit_log)
		next_emit_log(edata);
}

/*
 * dp_run_forbid_loud
 *	  Refuse to run with another role's rights where plans could be printed
 *	  without calling the hook.
 *
 * Errors: 55000.
 */
void
dp_run_forbid_loud(void)
{
	if (client_min_messages > LOG || log_min_messages == LOG ||
		log_min_messages <= ERROR || !dp_base_has_others_rights())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("messages of level LOG cannot be sent to this connection"),
			 errdetail("The function runs with another role's rights, and "
					   "its plans could show what the caller may not see."),
			 errhint("SET client_min_messages = notice; or let the server's "
					 "log_min_messages be error or lower.")));
}

/* Is a setting of PL/pgSQL on? The library may not be loaded yet. */
static bool
is_on(const char *setting)
{
	const char *value = GetConfigOption(setting, true, false);
	bool		on = false;

	return value != NULL && parse_bool(value, &on) && on;
}

static bool
warns_of_many_rows(const char *setting)
{
	const char *value = GetConfigOption(setting, true, false);
	char	   *lower;
	bool		tells;

	if (value == NULL)
		return false;
	lower = asc_tolower(value, strlen(value));
	tells = strstr(lower, "too_many_rows") != NULL ||
		strstr(lower, "all") != NULL;
	pfree(lower);
	return tells;
}

/*
 * A caller must not make a PL/pgSQL function reveal its variables or numbers
 * of rows if its author did not.
 */
static void
forbid_talkative(void)
{
	const char *setting;

	if (!dp_base_has_others_rights())
		return;
	if (is_on("plpgsql.print_strict_params"))
		setting = "plpgsql.print_strict_params";
	else if (warns_of_many_rows("plpgsql.extra_errors"))
		setting = "plpgsql.extra_errors";
	else if (warns_of_many_rows("plpgsql.extra_warnings"))
		setting = "plpgsql.extra_warnings";
	else
		return;
	if (!OidIsValid(dp_base_extension_oid()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s is set where a function runs with another role's "
					"rights", setting),
			 errdetail("Its messages could show what the caller may not "
					   "see."),
			 errhint("RESET %s; or set it in the function's header.",
					 setting)));
}

/* Called for every SECURITY DEFINER function, with its rights and settings. */
static void
enter_function(FmgrHookEventType event, FmgrInfo *flinfo, Datum *arg)
{
	if (event == FHET_START)
	{
		dp_run_forbid_loud();
		forbid_talkative();
	}
	if (next_fmgr)
		next_fmgr(event, flinfo, arg);
}

/* dp_run_quiet_init: install the hooks; called once, while preloading. */
void
dp_run_quiet_init(void)
{
	dp_base_add_hook(&emit_log_hook, keep_from_client, &next_emit_log);
	dp_base_add_hook(&fmgr_hook, enter_function, &next_fmgr);
}
