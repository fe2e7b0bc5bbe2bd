/*
 * hooks.c
 *	  Where private rows are executed no other library's hook runs.
 *
 * Other libraries count rows in hooks of the executor, and show what they
 * counted to everybody: pg_qualstats tells how many rows each condition left
 * out.  So a reader, the parallel workers that it starts, and whoever runs an
 * owner's shielded procedure (ledger/shield.c) are alone: each hook of the
 * server is what dp_pg has put there, or nothing, and our hooks hand on to no
 * other library's.  So is the variable by which PL/pgSQL finds a debugger or
 * profiler.
 *
 * Hooks of ours are installed by dp_bridge_add_hook while the library is
 * preloaded, one after the other, so that between two of ours for one variable
 * there is no other's.  Being alone means: the variable is our last one, and
 * our first one hands on to nothing.
 *
 * A parallel worker is a new process, in which other libraries have installed
 * their hooks.  It takes the settings of the process that starts it before it
 * begins to execute, dp_pg.alone among them, whose assign hook takes their
 * hooks away there, and does nothing anywhere else.  Nobody can set it:
 * superusers could evade an audit by it.
 *
 * What other libraries registered elsewhere stays: callbacks of transactions,
 * of caches and of the end of a process (doc/threat_model.md).  A library that
 * is loaded while a procedure runs stands in front of ours until it ends, and
 * its hooks are gone then: only superusers load such.
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

#include "dp_bridge.h"
#include "dp_compat.h"

#define HOOK(name) ((dp_bridge_hook *) &(name))

/*
 * Every hook that the server's headers declare, but for those of starting up
 * and logging in (t/hooks.pl compares).
 */
static dp_bridge_hook *const variables[] = {
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
	/* FIRST_OF_RULES and what follows */
	HOOK(check_password_hook),
	HOOK(needs_fmgr_hook),
	HOOK(object_access_hook),
	HOOK(object_access_hook_str),
	HOOK(row_security_policy_hook_permissive),
	HOOK(row_security_policy_hook_restrictive)
};

/*
 * These are asked about objects and are given no rows; what they refuse or
 * restrict they do in a procedure, too.
 */
#define FIRST_OF_RULES (lengthof(variables) - 6)

StaticAssertDecl(lengthof(variables) < DP_BRIDGE_HOOKS,
				 "there is room for all hooks");

/* A hook of ours: where it stands, and where it finds whom it hands on to. */
typedef struct own_hook
{
	dp_bridge_hook *variable;
	dp_bridge_hook *next;
	dp_bridge_hook ours;
} own_hook;

#define MOST_OWN 32

static own_hook own[MOST_OWN];
static int	nown = 0;
static bool setting_alone = false;
static bool becoming = false;

/* dp_bridge_note_hook: see dp_bridge_add_hook in dp_bridge.h. */
void
dp_bridge_note_hook(dp_bridge_hook *variable, dp_bridge_hook *next)
{
	if (nown == MOST_OWN)
		elog(FATAL, "too many hooks");
	own[nown++] = (own_hook) {variable, next, *variable};
}

/* Our last one for a variable, or NULL; *first gets our first one. */
static own_hook *
find_own(dp_bridge_hook *variable, own_hook **first)
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

/* PL/pgSQL's, which need not be loaded. */
static void **
plugin(void)
{
	return find_rendezvous_variable("PLpgSQL_plugin");
}

/*
 * dp_bridge_clear_hooks
 *	  Take other libraries' hooks away from this process; again, where one of
 *	  them was loaded since.  *aside, if not NULL, gets what there was, and
 *	  hooks that are given no rows stay.
 */
void
dp_bridge_clear_hooks(dp_bridge_hooks *aside)
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
 * dp_bridge_restore_hooks
 *	  Put back what dp_bridge_clear_hooks put aside.
 */
void
dp_bridge_restore_hooks(const dp_bridge_hooks *aside)
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
 * dp_bridge_be_alone
 *	  Take other libraries' hooks away from this process, and from parallel
 *	  workers that it starts, for the rest of it.
 */
void
dp_bridge_be_alone(void)
{
	becoming = true;
	SetConfigOption("dp_pg.alone", "on", PGC_SUSET, PGC_S_OVERRIDE);
	becoming = false;
	dp_bridge_clear_hooks(NULL);
}

/*
 * dp_bridge_start_alone
 *	  Until the current level of settings ends, parallel workers that this
 *	  process starts are alone, and so is it, until dp_bridge_restore_hooks.
 *	  *aside gets what there was.
 */
void
dp_bridge_start_alone(dp_bridge_hooks *aside)
{
	dp_bridge_clear_hooks(aside);
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

/* Where a level of settings ends, or is undone, nothing may happen. */
static void
assign_alone(bool newval, void *extra)
{
	if (newval && InitializingParallelWorker)
		dp_bridge_clear_hooks(NULL);
}

/* dp_bridge_hooks_init: called once, while the library is preloaded. */
void
dp_bridge_hooks_init(void)
{
	DefineCustomBoolVariable("dp_pg.alone",
							 "Whether other libraries' hooks are taken away.",
							 "Processes that read private rows set it.",
							 &setting_alone, false, PGC_SUSET,
							 GUC_NO_SHOW_ALL | GUC_NO_RESET_ALL |
							 GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							 check_alone, assign_alone, NULL);
}
