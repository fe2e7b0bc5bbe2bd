/*
 * harden.c
 *	  What dp_harden and dp_unharden (sql/32_harden.sql) leave to C: who may
 *	  call them and where, and who writes down what they changed.
 *
 * dp_unharden grants what dp_pg.hardened says, as a superuser.  So nobody else
 * may write there, not even with pg_write_all_data.
 */
#include "postgres.h"

#include "access/htup.h"
#include "access/xact.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "relation_internal.h"

PG_FUNCTION_INFO_V1(dp_harden_check);
PG_FUNCTION_INFO_V1(dp_harden_guard);

/*
 * dp_harden_check
 *	  SQL: dp_pg.check_harden(function text): may the function run here?
 *
 * Errors: 42501 no superuser, 25006 read-only, 55000 no superuser owns the
 * extension any more, 0A000 a snapshot that does not see what others commit.
 */
Datum
dp_harden_check(PG_FUNCTION_ARGS)
{
	char	   *function = text_to_cstring(PG_GETARG_TEXT_PP(0));

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to call %s", function),
				 errdetail("It changes privileges on system catalogs and on "
						   "objects of all owners."),
				 errhint("Ask a superuser; you can run the remedies of "
						 "dp_audit() on your own objects yourself.")));
	dp_protect_require_writable(function);
	if (!superuser_arg(dp_bridge_extension_owner()))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("extension dp_pg does not belong to a superuser"),
				 errdetail("Its owner could have changed what %s does.",
						   function),
				 errhint("Give it back to a superuser with REASSIGN OWNED.")));
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s cannot run in a transaction with one snapshot",
						function),
				 errdetail("It would not see privileges that others have "
						   "changed since, and would take those changes for "
						   "its own."),
				 errhint("Use isolation level READ COMMITTED.")));
	PG_RETURN_VOID();
}

/*
 * dp_harden_guard
 *	  BEFORE row trigger of dp_pg.hardened: 42501 for all but superusers.
 */
Datum
dp_harden_guard(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	if (!CALLED_AS_TRIGGER(fcinfo) ||
		!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function must be called by a trigger before each "
						"row")));
	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("must be superuser to change what dp_harden recorded"),
				 errdetail("dp_unharden() grants what is recorded there."),
				 errhint("Ask a superuser to run dp_unharden().")));
	return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ?
						   trigger->tg_newtuple : trigger->tg_trigtuple);
}
