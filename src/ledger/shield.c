/*
 * shield.c
 *	  Hide from the caller of an owner's procedure, which computes exact
 *	  numbers in the caller's process, what this leaves behind, from the start
 *	  of the procedure to its end or abort.
 *
 * A function is shielded when it is known to call a building block
 * (shield_find.c) and runs with another role's rights.  Then
 *
 *	  - it does not begin in a serializable transaction: whoever catches the
 *		error of the building block would keep the predicate locks, which name
 *		the pages and rows that were read, until the transaction ends;
 *	  - counters of buffers and WAL are at its end or abort what they were at
 *		its start, and nothing is counted for tables, functions and statements;
 *	  - no message of level DEBUG or LOG is sent while it runs;
 *	  - settings of the caller that steer how rows are read do not reach it;
 *	  - half of the stack is left when it begins;
 *	  - no other library's hook that could see rows runs while it does
 *		(bridge/hooks.c), if its owner may call a building block.  Functions of
 *		other roles get no answer from one, and could evade auditing this way.
 *
 * Conversely, a building block answers a function that runs with another
 * role's rights only if that was shielded from its start, as was every
 * function of the same role that it was called from.  So a function that is
 * not recognized gets no answer.
 *
 * The functions that run are kept on a stack.  Each start is followed by an
 * end or an abort, unless another library's hook raises an error after ours;
 * so the end of a transaction, or the abort of a subtransaction, also removes
 * the functions that began in it.
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/elog.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/regproc.h"

#include "ledger.h"
#include "shield.h"

/* A SECURITY DEFINER function that runs, in TopTransactionContext. */
typedef struct running
{
	struct running *outer;
	const FmgrInfo *call;
	Oid			function;
	Oid			user;			/* whose rights it has */
	bool		shielded;
	int			nest;			/* level of its settings; 0: none */
	int			depth;			/* of transactions, when it began */
	dp_bridge_hooks *aside;		/* other libraries' hooks; NULL: none */
	BufferUsage buffers;		/* when it began */
	WalUsage	wal;
} running;

static fmgr_hook_type next_fmgr = NULL;
static running *innermost = NULL;
static bool telling = false;	/* in shield_function: restored hooks */

/* ---- start ---- */

/*
 * Reserve half of the stack: how deep LIKE recurses can depend on a row, so
 * the caller must not decide where the stack ends.
 *
 * Errors: 54001.
 */
static void
check_stack_reserve(void)
{
	int			nest = NewGUCNestLevel();
	char		half[16];

	snprintf(half, sizeof(half), "%d", Max(max_stack_depth / 2, 100));
	dp_bridge_set_local("max_stack_depth", half);
	check_stack_depth();
	AtEOXact_GUC(false, nest);
}

/* Set them; returns the nesting level whose end restores them. */
static int
take_settings(uint32 kept)
{
	int			nest = NewGUCNestLevel();
	int			i;

	for (i = 0; i < DP_SHIELD_SETTINGS; i++)
		if ((kept & (1U << i)) == 0 &&
			GetConfigOption(dp_shield_settings[i].name, true, false) != NULL)
			dp_bridge_set_local(dp_shield_settings[i].name,
								dp_shield_settings[i].value);
	if (client_min_messages < NOTICE)
		dp_bridge_set_local("client_min_messages", "notice");
	return nest;
}

/*
 * If the function has a header, the end of its level has already ended ours.
 */
static void
leave_settings(int nest)
{
	int			next = NewGUCNestLevel();

	AtEOXact_GUC(true, Min(next, nest));
}

static bool
is_shielded_already(void)
{
	return innermost != NULL && innermost->shielded &&
		innermost->user == GetUserId();
}

/*
 * Raise an error where no shielded function may begin: 0A000 in a serializable
 * transaction, 25000 in a parallel operation, 54001 if less than half of the
 * stack is left.
 */
static void
raise_place(void)
{
	dp_bridge_forbid_serializable();
	dp_bridge_forbid_parallel();
	check_stack_reserve();
}

static void
push(const FmgrInfo *call, const dp_shield_facts *facts,
	 const BufferUsage *buffers, const WalUsage *wal)
{
	bool		already = is_shielded_already();
	running    *self = MemoryContextAllocZero(TopTransactionContext,
											  sizeof(running));

	self->call = call;
	self->function = facts->function;
	self->user = GetUserId();
	self->shielded = facts->known;
	self->buffers = *buffers;
	self->wal = *wal;
	self->depth = GetCurrentTransactionNestLevel();
	self->outer = innermost;
	innermost = self;
	if (!facts->known || already)
		return;
	self->nest = take_settings(facts->kept);
	if (!dp_ledger_shield_may_ask(self->user))
		return;
	self->aside = MemoryContextAllocZero(TopTransactionContext,
										 sizeof(dp_bridge_hooks));
	dp_bridge_start_alone(self->aside);	/* after an error:
										 * forget_running_sub */
}

/* The next library's hook is called first, since it may raise an error. */
static void
start(FmgrInfo *call, Datum *arg)
{
	BufferUsage buffers = pgBufferUsage;
	WalUsage	wal = pgWalUsage;
	dp_shield_facts facts = {.definer = false};

	if (dp_bridge_has_others_rights())
		facts = dp_ledger_shield_find(call->fn_oid);
	if (facts.definer && facts.known && !is_shielded_already())
		raise_place();
	if (next_fmgr)
		next_fmgr(FHET_START, call, arg);
	if (facts.definer)
		push(call, &facts, &buffers, &wal);
}

/* ---- end and abort ---- */

/* Forget the innermost functions up to self, and restore the hooks. */
static void
pop(running *self)
{
	running    *last;

	do
	{
		last = innermost;
		innermost = last->outer;
		if (last->aside != NULL)
		{
			dp_bridge_restore_hooks(last->aside);
			pfree(last->aside);
		}
		if (last != self)
			pfree(last);
	} while (last != self);
}

/*
 * A function has ended.  After an error, the abort of its transaction restores
 * settings.  Returns whether other libraries' hooks were disabled while it
 * ran.
 */
static bool
stop(const FmgrInfo *call, bool aborted)
{
	running    *self = innermost;
	bool		aside;

	while (self != NULL && self->call != call)
		self = self->outer;
	if (self == NULL)
		return false;
	aside = self->aside != NULL;
	pop(self);
	if (self->nest > 0 && !aborted)
		leave_settings(self->nest);
	if (self->shielded)
	{
		pgBufferUsage = self->buffers;
		pgWalUsage = self->wal;
	}
	pfree(self);
	return aside;
}

/* Called for every SECURITY DEFINER function, with its rights and settings. */
static void
shield_function(FmgrHookEventType event, FmgrInfo *call, Datum *arg)
{
	if (event == FHET_START)
	{
		start(call, arg);
		return;
	}
	if (!telling && stop(call, event == FHET_ABORT))
	{
		telling = true;
		PG_TRY();
		{
			fmgr_hook(event, call, arg);
		}
		PG_FINALLY();
		{
			telling = false;
		}
		PG_END_TRY();
	}
	else if (next_fmgr)
		next_fmgr(event, call, arg);
}

/* Forget functions that began in a transaction of this depth or deeper. */
static void
forget_from(int depth)
{
	while (innermost != NULL && innermost->depth >= depth)
	{
		running    *self = innermost;

		pop(self);
		pfree(self);
	}
}

static void
forget_running(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_PRE_COMMIT &&
		event != XACT_EVENT_PARALLEL_PRE_COMMIT &&
		event != XACT_EVENT_PRE_PREPARE)
		forget_from(0);
}

static void
forget_running_sub(SubXactEvent event, SubTransactionId self,
				   SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		forget_from(GetCurrentTransactionNestLevel());
}

/* dp_ledger_shield_init: install the hook; called once, while preloading. */
void
dp_ledger_shield_init(void)
{
	dp_bridge_add_hook(&fmgr_hook, shield_function, &next_fmgr);
	RegisterXactCallback(forget_running, NULL);
	RegisterSubXactCallback(forget_running_sub, NULL);
}

/* ---- the building blocks' side ---- */

static void
raise_unknown(Oid function)
{
	const char *name = format_procedure(function);

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("function %s is not known to call a building block",
					name),
			 errdetail("What it reads with its owner's rights was therefore "
					   "not hidden from its caller.  %s",
					   dp_ledger_told_uncharged()),
			 errhint("Its owner can declare that it does: ALTER ROUTINE %s "
					 "SET dp_pg.procedure = on;", name)));
}

/*
 * dp_ledger_require_shield
 *	  Raise an error unless all functions that run with the current user's
 *	  rights on behalf of another role were shielded when they began.
 *
 * Errors: 55000.
 */
void
dp_ledger_require_shield(void)
{
	const running *self;
	bool		found = false;

	if (!dp_bridge_has_others_rights())
		return;
	for (self = innermost; self != NULL; self = self->outer)
	{
		if (self->user != GetUserId())
			continue;
		if (!self->shielded)
			raise_unknown(self->function);
		found = true;
	}
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a building block cannot be called here"),
				 errdetail("Another role's rights are used, but not by a "
						   "SECURITY DEFINER function.  Nothing was "
						   "charged."),
				 errhint("Call it in a SECURITY DEFINER function.")));
}
