/*
 * progress.c
 *	  Progress of running releases, for dp_pg.progress.
 *
 * PostgreSQL keeps progress in every backend's entry of the activity array,
 * and clears it when a transaction is aborted.  Its views show only their own
 * kinds of command, so dp_pg can use a kind that none of them shows.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "dp_base.h"

/* Beyond any command of PostgreSQL's own. */
#define COMMAND ((ProgressCommandType) 0x6470)

enum
{
	PARAM_WORK,
	PARAM_PHASE,
	PARAM_DONE,
	PARAM_TOTAL
};

static const char *const works[] = {NULL, "smalldb", "net", "synthesize",
"iterate", "query"};
static const char *const phases[] = {
	NULL, "reading rows", "scoring candidates", "finding the chosen one",
	"fitting", "drawing rows", "reading what is joined"
};

/* dp_base_progress_begin: see dp_base.h. */
void
dp_base_progress_begin(dp_work work, Oid relid, int64 total)
{
	/* a COPY with a private query, for example, shows its own progress */
	if (MyBEEntry == NULL ||
		MyBEEntry->st_progress_command != PROGRESS_COMMAND_INVALID)
		return;
	pgstat_progress_start_command(COMMAND, relid);
	pgstat_progress_update_param(PARAM_WORK, work);
	pgstat_progress_update_param(PARAM_TOTAL, total);
}

static bool
is_shown(void)
{
	return MyBEEntry != NULL && MyBEEntry->st_progress_command == COMMAND;
}

/* dp_base_progress: see dp_base.h. */
void
dp_base_progress(dp_phase phase, int64 done)
{
	const int	places[] = {PARAM_PHASE, PARAM_DONE};
	const int64 values[] = {phase, done};

	if (is_shown())
		pgstat_progress_update_multi_param(2, places, values);
}

/* dp_base_progress_end: see dp_base.h. */
void
dp_base_progress_end(void)
{
	if (is_shown())
		pgstat_progress_end_command();
}

/* ---- the view ---- */

static Datum
name_of(const char *const *names, int n, int64 i, bool *isnull)
{
	*isnull = i <= 0 || i >= n;
	return *isnull ? (Datum) 0 : CStringGetTextDatum(names[i]);
}

PG_FUNCTION_INFO_V1(dp_bridge_sql_progress);

/*
 * dp_bridge_sql_progress
 *	  dp_pg.progress_rows(): (pid, database, role, relation, mechanism, phase,
 *	  done, total) of each running release in this database that the current
 *	  user may see, as in pg_stat_activity.
 */
Datum
dp_bridge_sql_progress(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n = pgstat_fetch_stat_numbackends();
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	for (i = 1; i <= n; i++)
	{
		LocalPgBackendStatus *local = pgstat_get_local_beentry_by_index(i);
		PgBackendStatus *entry = local ? &local->backendStatus : NULL;
		Datum		values[7];
		bool		nulls[7] = {false};

		if (entry == NULL || entry->st_progress_command != COMMAND ||
			entry->st_databaseid != MyDatabaseId ||
			!(has_privs_of_role(GetUserId(), entry->st_userid) ||
			  has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS)))
			continue;
		values[0] = Int32GetDatum(entry->st_procpid);
		values[1] = ObjectIdGetDatum(entry->st_userid);
		values[2] = ObjectIdGetDatum(entry->st_progress_command_target);
		values[3] = name_of(works, lengthof(works),
							entry->st_progress_param[PARAM_WORK], &nulls[3]);
		values[4] = name_of(phases, lengthof(phases),
							entry->st_progress_param[PARAM_PHASE], &nulls[4]);
		values[5] = Int64GetDatum(entry->st_progress_param[PARAM_DONE]);
		values[6] = Int64GetDatum(entry->st_progress_param[PARAM_TOTAL]);
		nulls[5] = nulls[6] = entry->st_progress_param[PARAM_TOTAL] == 0;
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
	}
	return (Datum) 0;
}
