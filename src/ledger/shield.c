/*
 * shield.c
 *	  Hide from the caller of an owner's procedure, which computes exact
 *	  numbers in the caller's process, what this leaves behind, from the start
 *	  of the procedure to its end or abort.
 *
 * A function is shielded when it is known to call a building block (see below)
 * and runs with another role's rights.  Then
 *
 *	  - it does not begin in a serializable transaction: a caller that catches
 *		the error of the building block would keep the predicate locks, which
 *		name the pages and rows that were read, until the transaction ends;
 *	  - counters of buffers and WAL are at its end or abort what they were at
 *		its start, and nothing is counted for tables, functions and statements;
 *	  - no message of level DEBUG or LOG is sent while it runs;
 *	  - settings of the caller that steer how rows are read do not reach it;
 *	  - half of the stack is left when it begins;
 *	  - no other library's hook that could see rows runs while it does
 *		(base/hooks.c), if its owner may call a building block.  Functions of
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

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/elog.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "../base/dp_base.h"
#include "dp_ledger.h"
#include "ledger_internal.h"

/* ----------------
 *		Settings that the caller must not choose while an owner's procedure
 *		runs.
 * ----------------
 */

/*
 * The first three control statistics; only a superuser can set them, also in a
 * header.  The others steer how rows are read, and the owner may set them in a
 * header.
 */
static const dp_shield_setting shield_settings[DP_SHIELD_SETTINGS] = {
	{"track_counts", "off"},
	{"track_functions", "none"},
	{"pg_stat_statements.track", "none"},
	{"gin_fuzzy_search_limit", "0"},
	{"hash_mem_multiplier", "2"},
	{"jit", "off"},
	{"max_parallel_workers_per_gather", "0"},
	{"work_mem", "64MB"},
};

/* ----------------
 *		Which functions are known to call a building block.
 *
 * If the header sets dp_pg.procedure, that decides.  Otherwise a function is
 * known if its source names a building block, or calls a known function of the
 * same owner or of a superuser; for a body in standard SQL, dependencies are
 * used.  Comments and literals are searched as well, since literals may become
 * statements.  A building block is a C function with the symbol of one.
 *
 * The search need not be complete: functions that are not known get no answer
 * from a building block.  Functions of roles other than the owner do not
 * count, so that no other role can make a function known by creating another
 * that it appears to call.
 *
 * Results are cached until pg_proc changes.
 * ----------------
 */

#define HEADER "dp_pg.procedure"

/* One search from a function, down to building blocks. */
typedef struct search
{
	Oid			owner;			/* of the function that is judged */
	List	   *seen;			/* OIDs of functions already searched */
} search;

static bool leads_to_block(search *s, Oid function);

/* ---- sources ---- */

static bool
is_block(const char *symbol)
{
	return strncmp(symbol, "dp_procedure_sql_", 17) == 0 ||
		strcmp(symbol, "dp_ledger_sql_charge") == 0 ||
		strcmp(symbol, "dp_synth_sql_net_values") == 0;
}

/* OIDs of all functions of a name, or only of those in C. */
static List *
functions_named(const char *name, bool in_c)
{
	CatCList   *list = SearchSysCacheList1(PROCNAMEARGSNSP,
										   CStringGetDatum(name));
	List	   *functions = NIL;
	int			i;

	for (i = 0; i < list->n_members; i++)
	{
		Form_pg_proc form = (Form_pg_proc)
		GETSTRUCT(&list->members[i]->tuple);

		if (form->oid >= FirstNormalObjectId &&
			(!in_c || form->prolang == ClanguageId))
			functions = lappend_oid(functions, form->oid);
	}
	ReleaseSysCacheList(list);
	return functions;
}

static bool
any_leads_to_block(search *s, const List *functions)
{
	const ListCell *lc;

	foreach(lc, functions)
		if (leads_to_block(s, lfirst_oid(lc)))
			return true;
	return false;
}

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		(c >= '0' && c <= '9') || c == '_' || c == '$' || IS_HIGHBIT_SET(c);
}

static bool
is_called(const char *end)
{
	end += *end == '"';
	end += strspn(end, " \t\r\n");
	return *end == '(';
}

/*
 * A word before a parenthesis may be any function.  Elsewhere it may become
 * part of a statement, and only the names of building blocks count.
 */
static bool
name_leads_to_block(search *s, const char *start, const char *end)
{
	char	   *name = pnstrdup(start, end - start);
	char	   *lower = asc_tolower(name, end - start);
	bool		called = is_called(end);

	if (!called && strncmp(lower, "dp_", 3) != 0 &&
		strcmp(lower, "charge") != 0)
		return false;
	return any_leads_to_block(s, functions_named(name, !called)) ||
		(strcmp(name, lower) != 0 &&
		 any_leads_to_block(s, functions_named(lower, !called)));
}

static bool
source_leads_to_block(search *s, const char *source)
{
	const char *at = source;

	while (*at != '\0')
	{
		const char *start = at;

		while (is_word(*at))
			at++;
		if (at > start && at - start < NAMEDATALEN &&
			name_leads_to_block(s, start, at))
			return true;
		if (at == start)
			at++;
	}
	return false;
}

/* The same for a body in standard SQL, which has no source text. */
static bool
body_leads_to_block(search *s, Oid function)
{
	Relation	rel = table_open(DependRelationId, AccessShareLock);
	List	   *functions = NIL;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key[0], Anum_pg_depend_classid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_objid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(function));
	scan = systable_beginscan(rel, DependDependerIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->refclassid == ProcedureRelationId)
			functions = lappend_oid(functions, form->refobjid);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return any_leads_to_block(s, functions);
}

static bool
leads_to_block(search *s, Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	Datum		source;
	bool		isnull;
	bool		found = false;

	if (function < FirstNormalObjectId || list_member_oid(s->seen, function))
		return false;
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	s->seen = lappend_oid(s->seen, function);
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	if (isnull || form->prolang == INTERNALlanguageId)
		found = false;
	else if (form->prolang == ClanguageId)
		found = is_block(TextDatumGetCString(source));
	else if (form->proowner == s->owner || superuser_arg(form->proowner))
		found = source_leads_to_block(s, TextDatumGetCString(source)) ||
			(form->prolang == SQLlanguageId &&
			 body_leads_to_block(s, function));
	ReleaseSysCache(tuple);
	return found;
}

/*
 * shield_may_ask
 *	  Whether the role may call a building block.
 */
static bool
shield_may_ask(Oid role)
{
	static const char *const names[] = {
		"dp_laplace", "dp_gaussian", "dp_exponential", "dp_noisy_max",
		"dp_above_threshold", "dp_net_values", "charge"
	};
	search		s = {InvalidOid, NIL};
	int			i;

	for (i = 0; i < lengthof(names); i++)
	{
		ListCell   *lc;

		foreach(lc, functions_named(names[i], true))
			if (leads_to_block(&s, lfirst_oid(lc)) &&
				object_aclcheck(ProcedureRelationId, lfirst_oid(lc), role,
								ACL_EXECUTE) == ACLCHECK_OK)
				return true;
	}
	return false;
}

/* ---- headers ---- */

static int
place_of_setting(const char *name)
{
	int			i;

	for (i = 0; i < DP_SHIELD_SETTINGS; i++)
		if (pg_strcasecmp(name, shield_settings[i].name) == 0)
			return i;
	return -1;
}

/* Read name=value; true if it decides whether the function is known. */
static bool
shield_read_setting(char *setting, dp_shield_facts *facts)
{
	char	   *value = strchr(setting, '=');
	int			place;

	if (value == NULL)
		return false;
	*value++ = '\0';
	place = place_of_setting(setting);
	if (place >= 0)
		facts->kept |= 1U << place;
	return pg_strcasecmp(setting, HEADER) == 0 &&
		parse_bool(value, &facts->known);
}

static bool
read_header(Datum config, dp_shield_facts *facts)
{
	Datum	   *settings;
	bool	   *nulls;
	int			n;
	int			i;
	bool		decided = false;

	deconstruct_array(DatumGetArrayTypeP(config), TEXTOID, -1, false,
					  TYPALIGN_INT, &settings, &nulls, &n);
	for (i = 0; i < n; i++)
		if (!nulls[i] && shield_read_setting(TextDatumGetCString(settings[i]),
											 facts))
			decided = true;
	return decided;
}

/* ---- the catalog ---- */

static void
read_facts(dp_shield_facts *facts)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID,
										ObjectIdGetDatum(facts->function));
	search		s = {InvalidOid, NIL};
	bool		decided = false;
	Datum		config;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return;
	facts->definer = ((Form_pg_proc) GETSTRUCT(tuple))->prosecdef;
	s.owner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	config = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proconfig, &isnull);
	if (!isnull)
		decided = read_header(config, facts);
	ReleaseSysCache(tuple);
	if (facts->definer && !decided)
		facts->known = leads_to_block(&s, facts->function);
	if (!OidIsValid(dp_base_extension_oid()))
		facts->known = false;
}

static HTAB *known_facts = NULL;
static bool outdated = false;

static void
forget_facts(Datum arg, int cacheid, uint32 hashvalue)
{
	outdated = true;
}

static void
shield_make_room(void)
{
	HASHCTL		control;

	if (known_facts != NULL && !outdated)
		return;
	if (known_facts != NULL)
		hash_destroy(known_facts);
	else
		CacheRegisterSyscacheCallback(PROCOID, forget_facts, (Datum) 0);
	known_facts = NULL;
	memset(&control, 0, sizeof(control));
	control.keysize = sizeof(Oid);
	control.entrysize = sizeof(dp_shield_facts);
	known_facts = hash_create("dp_pg functions", 16, &control,
							  HASH_ELEM | HASH_BLOBS);
	outdated = false;
}

/* shield_find: what the catalog says about a function. */
static dp_shield_facts
shield_find(Oid function)
{
	dp_shield_facts facts = {.function = function};
	dp_shield_facts *kept;
	MemoryContext work;
	MemoryContext old;

	shield_make_room();
	kept = hash_search(known_facts, &function, HASH_FIND, NULL);
	if (kept != NULL)
		return *kept;
	work = AllocSetContextCreate(CurrentMemoryContext, "dp_pg function",
								 ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(work);
	read_facts(&facts);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	kept = hash_search(known_facts, &function, HASH_ENTER, NULL);
	*kept = facts;
	return facts;
}

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
	dp_base_hooks *aside;		/* other libraries' hooks; NULL: none */
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
	dp_base_set_local("max_stack_depth", half);
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
			GetConfigOption(shield_settings[i].name, true, false) != NULL)
			dp_base_set_local(shield_settings[i].name,
							  shield_settings[i].value);
	if (client_min_messages < NOTICE)
		dp_base_set_local("client_min_messages", "notice");
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
	dp_base_forbid_serializable();
	dp_base_forbid_parallel();
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
	if (!shield_may_ask(self->user))
		return;
	self->aside = MemoryContextAllocZero(TopTransactionContext,
										 sizeof(dp_base_hooks));
	dp_base_start_alone(self->aside);	/* after an error:
										 * forget_running_sub */
}

/* The next library's hook is called first, since it may raise an error. */
static void
start(FmgrInfo *call, Datum *arg)
{
	BufferUsage buffers = pgBufferUsage;
	WalUsage	wal = pgWalUsage;
	dp_shield_facts facts = {.definer = false};

	if (dp_base_has_others_rights())
		facts = shield_find(call->fn_oid);
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
			dp_base_restore_hooks(last->aside);
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
	dp_base_add_hook(&fmgr_hook, shield_function, &next_fmgr);
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
					   dp_ledger_uncharged_text()),
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

	if (!dp_base_has_others_rights())
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
