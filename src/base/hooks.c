/*
 * hooks.c
 *	  Run no hooks of other libraries where private rows are processed.
 *
 * Other libraries count rows in executor hooks and show the counts to
 * everybody: pg_qualstats, how many rows each condition filtered out.  So a
 * reader, the parallel workers that it starts, and a process that runs an
 * owner's shielded procedure (ledger/shield.c) are "alone": each hook of the
 * server is dp_pg's or NULL, and dp_pg's hooks call no other library's.  The
 * variable by which PL/pgSQL finds a debugger or profiler is NULL.
 *
 * dp_base_add_hook installs all our hooks while the library is preloaded, so
 * no other library's hook is between two of ours for one variable.  To be
 * alone, the variable is set to our last hook, and our first hook calls
 * nothing.
 *
 * A parallel worker is a new process, in which other libraries have installed
 * their hooks.  Before it executes anything it gets the settings of its
 * leader, and the assign hook of dp_pg.alone removes those hooks there;
 * elsewhere it does nothing.  No user can set it, since superusers could evade
 * auditing with it.
 *
 * Other callbacks of other libraries stay: those of transactions, caches and
 * process exit (doc/threat_model.md).  The hooks of a library that is loaded
 * while a procedure runs come before ours until the procedure ends, and are
 * then lost; only superusers can load such a library.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/objectaccess.h"
#include "commands/explain.h"
#include "commands/user.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "parser/analyze.h"
#include "rewrite/rowsecurity.h"
#include "tcop/utility.h"
#include "utils/elog.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "dp_base.h"

#define HOOK(name) ((dp_base_hook *) &(name))

/*
 * Every hook in the server's headers except those of startup and login
 * (compared by t/hooks.pl).
 */
static dp_base_hook *const variables[] = {
	HOOK(ExecutorCheckPerms_hook),
	HOOK(ExecutorEnd_hook),
	HOOK(ExecutorFinish_hook),
	HOOK(ExecutorRun_hook),
	HOOK(ExecutorStart_hook),
	HOOK(ExplainOneQuery_hook),
	HOOK(ProcessUtility_hook),
	HOOK(create_upper_paths_hook),
	HOOK(emit_log_hook),
	HOOK(explain_get_index_name_hook),
	HOOK(fmgr_hook),
	HOOK(get_attavgwidth_hook),
	HOOK(get_index_stats_hook),
	HOOK(get_relation_info_hook),
	HOOK(get_relation_stats_hook),
	HOOK(join_search_hook),
	HOOK(planner_hook),
	HOOK(post_parse_analyze_hook),
	HOOK(set_join_pathlist_hook),
	HOOK(set_rel_pathlist_hook),
	DP_COMPAT_HOOKS
	/* from FIRST_OF_RULES on */
	HOOK(check_password_hook),
	HOOK(needs_fmgr_hook),
	HOOK(object_access_hook),
	HOOK(object_access_hook_str),
	HOOK(row_security_policy_hook_permissive),
	HOOK(row_security_policy_hook_restrictive)
};

/*
 * These hooks concern objects and see no rows; they stay active in a
 * procedure, so that they can refuse or restrict there, too.
 */
#define FIRST_OF_RULES (lengthof(variables) - 6)

StaticAssertDecl(lengthof(variables) < DP_BASE_HOOKS,
				 "there is room for all hooks");

/* A hook of ours: its variable, and where it finds the hook that it calls. */
typedef struct own_hook
{
	dp_base_hook *variable;
	dp_base_hook *next;
	dp_base_hook ours;
} own_hook;

#define MOST_OWN 32

static own_hook own[MOST_OWN];
static int	nown = 0;
static bool setting_alone = false;
static bool becoming = false;

/* dp_base_note_hook: see dp_base_add_hook in dp_base.h. */
void
dp_base_note_hook(dp_base_hook *variable, dp_base_hook *next)
{
	if (nown == MOST_OWN)
		elog(FATAL, "too many hooks");
	own[nown++] = (own_hook) {variable, next, *variable};
}

/* Our last hook for a variable, or NULL; *first gets our first one. */
static own_hook *
find_own(dp_base_hook *variable, own_hook **first)
{
	own_hook   *last = NULL;
	int			i;

	*first = NULL;
	for (i = 0; i < nown; i++)
	{
		if (own[i].variable != variable)
			continue;
		last = &own[i];
		if (*first == NULL)
			*first = last;
	}
	return last;
}

/* PL/pgSQL's plugin variable; PL/pgSQL need not be loaded. */
static void **
plugin(void)
{
	return find_rendezvous_variable("PLpgSQL_plugin");
}

/*
 * dp_base_clear_hooks
 *	  Remove other libraries' hooks from this process; called again, also those
 *	  of libraries loaded since.  If aside is not NULL, the hooks are saved in
 *	  it, and those that see no rows stay.
 */
void
dp_base_clear_hooks(dp_base_hooks *aside)
{
	int			n = aside == NULL ? lengthof(variables) : FIRST_OF_RULES;
	int			i;

	for (i = 0; i < n; i++)
	{
		own_hook   *first;
		own_hook   *last = find_own(variables[i], &first);

		if (aside != NULL)
		{
			aside->variable[i] = *variables[i];
			aside->next[i] = first == NULL ? NULL : *first->next;
		}
		*variables[i] = last == NULL ? NULL : last->ours;
		if (first != NULL)
			*first->next = NULL;
	}
	if (aside != NULL)
		aside->plugin = *plugin();
	*plugin() = NULL;
}

/*
 * dp_base_restore_hooks
 *	  Restore what dp_base_clear_hooks saved.
 */
void
dp_base_restore_hooks(const dp_base_hooks *aside)
{
	int			i;

	for (i = 0; i < FIRST_OF_RULES; i++)
	{
		own_hook   *first;

		*variables[i] = aside->variable[i];
		if (find_own(variables[i], &first) != NULL)
			*first->next = aside->next[i];
	}
	*plugin() = aside->plugin;
}

/*
 * dp_base_be_alone
 *	  Remove other libraries' hooks from this process, and from parallel
 *	  workers that it starts, until it exits.
 */
void
dp_base_be_alone(void)
{
	becoming = true;
	SetConfigOption("dp_pg.alone", "on", PGC_SUSET, PGC_S_OVERRIDE);
	becoming = false;
	dp_base_clear_hooks(NULL);
}

/*
 * dp_base_start_alone
 *	  Be alone until dp_base_restore_hooks, which needs *aside; parallel
 *	  workers started until the current level of settings ends are, too.
 */
void
dp_base_start_alone(dp_base_hooks *aside)
{
	dp_base_clear_hooks(aside);
	becoming = true;
	PG_TRY();
	{
		(void) set_config_option("dp_pg.alone", "on", PGC_SUSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	}
	PG_FINALLY();
	{
		becoming = false;
	}
	PG_END_TRY();
}

static bool
check_alone(bool *newval, void **extra, GucSource source)
{
	if (becoming || InitializingParallelWorker || (!*newval && !setting_alone))
		return true;
	GUC_check_errdetail("Processes that read private rows set it.");
	return false;
}

/* Nothing may happen here when a level of settings ends or is undone. */
static void
assign_alone(bool newval, void *extra)
{
	if (newval && InitializingParallelWorker)
		dp_base_clear_hooks(NULL);
}

/* dp_base_hooks_init: called once, while the library is preloaded. */
void
dp_base_hooks_init(void)
{
	DefineCustomBoolVariable("dp_pg.alone",
							 "Whether other libraries' hooks are taken away.",
							 "Processes that read private rows set it.",
							 &setting_alone, false, PGC_SUSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL |
							 GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							 check_alone, assign_alone, NULL);
}
