/*
 * shield_find.c
 *	  Which functions are known to call a building block.
 *
 * If the header sets dp_pg.procedure, that decides.  Otherwise a function is
 * known if its source names a building block, or calls a known function of the
 * same owner or of a superuser; for a body in standard SQL, dependencies are
 * used.  Comments and literals are searched as well, since literals may become
 * statements.  A building block is a C function with the symbol of one.
 *
 * The search need not be complete: functions that are not known get no answer
 * from a building block (shield.c).  Functions of roles other than the owner
 * do not count, so that nobody can make a function known by creating another
 * that it appears to call.
 *
 * Results are cached until pg_proc changes.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/formatting.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/syscache.h"

#include "ledger.h"
#include "shield.h"

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
 * dp_ledger_shield_may_ask
 *	  Whether the role may call a building block.
 */
bool
dp_ledger_shield_may_ask(Oid role)
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
		if (pg_strcasecmp(name, dp_shield_settings[i].name) == 0)
			return i;
	return -1;
}

/* Read name=value; true if it decides whether the function is known. */
static bool
read_setting(char *setting, dp_shield_facts *facts)
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
		if (!nulls[i] && read_setting(TextDatumGetCString(settings[i]),
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
	if (!OidIsValid(dp_bridge_extension_oid()))
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
make_room(void)
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

/* dp_ledger_shield_find: what the catalog says of a function. */
dp_shield_facts
dp_ledger_shield_find(Oid function)
{
	dp_shield_facts facts = {.function = function};
	dp_shield_facts *kept;
	MemoryContext work;
	MemoryContext old;

	make_room();
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
