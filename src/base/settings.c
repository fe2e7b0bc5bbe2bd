/*
 * settings.c
 *	  The settings dp_pg.*, and how long those of a client hold.
 */
#include "postgres.h"

#include <limits.h>

#include "access/xact.h"
#include "datatype/timestamp.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/datetime.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/plancache.h"
#include "utils/timestamp.h"

#include "../math/accounting/dp_accounting.h"
#include "dp_base.h"
#include "base_internal.h"

static void scope_assigned(void);
static void scope_init(void);

/* ----------------
 *		Durations in settings, written as intervals.  Parsing raises no errors,
 *		since check hooks must not.
 * ----------------
 */

/* Longest text; each field is then shorter than half of the buffer. */
#define LONGEST 64

/* Months and days count as in comparisons of intervals. */
static int64
microseconds(const struct pg_itm_in *time)
{
	int64		days = ((int64) time->tm_year * MONTHS_PER_YEAR +
						time->tm_mon) * DAYS_PER_MONTH + time->tm_mday;

	return days * USECS_PER_DAY + time->tm_usec;
}

/*
 * read_duration
 *	  Microseconds of an interval of more than 0 and at most 366 days.  False
 *	  for any other text.
 */
static bool
read_duration(const char *text, int64 *out)
{
	char		buffer[2 * LONGEST];
	char	   *field[MAXDATEFIELDS];
	int			type[MAXDATEFIELDS];
	struct pg_itm_in time = {0};
	int			kind;
	int			n;

	if (strlen(text) >= LONGEST ||
		ParseDateTime(text, buffer, sizeof(buffer), field, type,
					  MAXDATEFIELDS, &n) != 0 ||
		DecodeInterval(field, type, n, INTERVAL_FULL_RANGE, &kind,
					   &time) != 0 ||
		kind != DTK_DELTA)
		return false;
	if (abs(time.tm_year) > 1 || abs(time.tm_mon) > MONTHS_PER_YEAR ||
		abs(time.tm_mday) > 366 || time.tm_usec > 366 * USECS_PER_DAY ||
		time.tm_usec < 0)
		return false;
	*out = microseconds(&time);
	return *out > 0 && *out <= 366 * USECS_PER_DAY;
}

/* ----------------
 *		The settings dp_pg.*.
 *
 * Users may set what only chooses among private answers, such as the default
 * price.  What bounds privacy or protects the server is superuser-only.  No
 * setting makes noise weaker, predictable or absent.
 *
 * Users' settings of queries are reported to the client (GUC_REPORT), so that
 * a connection pool can track them for each client.
 * ----------------
 */

#define DEFAULT_EPSILON "0.1"
#define DEFAULT_CEILING "10"
#define DEFAULT_FLOOR "0.001"

typedef enum setting_choice
{
	SETTING_OFF,
	SETTING_ON,
	SETTING_AUTO				/* on in transparent mode */
} setting_choice;

typedef enum setting_lifetime
{
	SETTING_SESSION,
	SETTING_TRANSACTION
} setting_lifetime;

static int	setting_split = SETTING_AUTO;
static int	setting_suppress = SETTING_AUTO;
static int	setting_scope = SETTING_SESSION;

/* The defaults hold also if the library was not preloaded. */
char	   *dp_setting_epsilon = DEFAULT_EPSILON;
char	   *dp_setting_epsilon_ceiling = DEFAULT_CEILING;
char	   *dp_setting_epsilon_floor = DEFAULT_FLOOR;
char	   *dp_setting_delta = "";
int			dp_setting_bounds = DP_SETTING_AUTO;
int			dp_setting_mechanism = DP_SETTING_LAPLACE;
bool		dp_setting_transparent = false;
int			dp_setting_max_groups = 1000000;
int			dp_setting_max_keys = 0;
int			dp_setting_max_rows = 0;
int			dp_setting_max_total = 0;
int			dp_setting_max_predicates_per_row = 1000;
char	   *dp_setting_publish_schema = NULL;
int			dp_setting_readers = 4;
int			dp_setting_reader_timeout = 10000;
int			dp_setting_reuse_limit = 16384;
int			dp_setting_reader_memory = 1048576;
int			dp_setting_run_timeout = 0;
int			dp_setting_worker_idle = 10000;
int			dp_setting_worker_lock_timeout = 1000;
int			dp_setting_workers = 3;

/* dp_pg.reuse, and what it means. */
static char *setting_reuse = "auto";
static int64 reuse_age = 0;		/* microseconds; 0: off, -1: auto */

/* Has a meaning in function headers only, read by ledger/shield.c. */
static bool setting_procedure = false;

static bool preloaded = false;

static const struct config_enum_entry bound_sources[] = {
	{"auto", DP_SETTING_AUTO, false},
	{"measure", DP_SETTING_MEASURE, false},
	{NULL, 0, false}
};

static const struct config_enum_entry mechanisms[] = {
	{"laplace", DP_SETTING_LAPLACE, false},
	{"gaussian", DP_SETTING_GAUSSIAN, false},
	{NULL, 0, false}
};

static const struct config_enum_entry scopes[] = {
	{"session", SETTING_SESSION, false},
	{"transaction", SETTING_TRANSACTION, false},
	{NULL, 0, false}
};

/* auto: on in transparent mode, otherwise off; the rest as for a boolean. */
static const struct config_enum_entry choices[] = {
	{"auto", SETTING_AUTO, false},
	{"off", SETTING_OFF, false},
	{"on", SETTING_ON, false},
	{"true", SETTING_ON, true},
	{"false", SETTING_OFF, true},
	{"yes", SETTING_ON, true},
	{"no", SETTING_OFF, true},
	{"1", SETTING_ON, true},
	{"0", SETTING_OFF, true},
	{NULL, 0, false}
};

/* Whether a choice is on, given the current meaning of auto. */
static bool
settings_is_chosen(int choice)
{
	return choice == SETTING_ON ||
		(choice == SETTING_AUTO && dp_setting_transparent);
}

/* dp_base_splits: whether dp_pg.epsilon is the price of a whole query. */
bool
dp_base_splits(void)
{
	return settings_is_chosen(setting_split);
}

/* dp_base_suppresses: whether groups that look empty are omitted. */
bool
dp_base_suppresses(void)
{
	return settings_is_chosen(setting_suppress);
}

static void
assign_text(const char *newval, void *extra)
{
	scope_assigned();
}

static void
assign_number(int newval, void *extra)
{
	scope_assigned();
}

/*
 * dp_base_reuse_age
 *	  Maximum age of a stored answer, in microseconds; 0: answers are neither
 *	  reused nor stored.
 */
int64
dp_base_reuse_age(void)
{
	if (reuse_age >= 0)
		return reuse_age;
	return dp_setting_transparent ? USECS_PER_HOUR : 0;
}

/* Cached plans depend on the setting, so they are discarded. */
static void
assign_transparent(bool newval, void *extra)
{
	scope_assigned();
	if (newval != dp_setting_transparent)
		ResetPlanCache();
}

static void
assign_split(int newval, void *extra)
{
	scope_assigned();
	if (newval != setting_split)
		ResetPlanCache();
}

static void
assign_suppress(int newval, void *extra)
{
	scope_assigned();
	if (newval != setting_suppress)
		ResetPlanCache();
}

/*
 * Whether the text is a plain positive decimal number below 10^12 with at most
 * 24 digits after the point.  A check hook must not raise errors, so numeric's
 * input function is not used.
 */
static bool
is_positive_decimal(const char *text)
{
	int			whole = 0;
	int			fraction = 0;
	bool		point = false;
	bool		nonzero = false;
	const char *p;

	for (p = text; *p; p++)
	{
		if (*p == '.' && !point)
			point = true;
		else if (*p >= '0' && *p <= '9')
		{
			nonzero = nonzero || *p != '0';
			if (point)
				fraction++;
			else
				whole++;
		}
		else
			return false;
	}
	return nonzero && whole <= 12 && fraction <= DP_FIXED_DIGITS;
}

static bool
check_epsilon(char **newval, void **extra, GucSource source)
{
	if (is_positive_decimal(*newval))
		return true;
	GUC_check_errdetail("It must be a positive number below 10^12 in decimal "
						"digits, at most 24 of them after the point.");
	GUC_check_errhint("Write it like 0.1.");
	return false;
}

static bool
check_optional_epsilon(char **newval, void **extra, GucSource source)
{
	return (*newval)[0] == '\0' || check_epsilon(newval, extra, source);
}

/*
 * A delta in decimal digits or as 1e-9, strictly between 10^-24 and 1, of at
 * most 40 characters.
 */
static bool
check_delta(char **newval, void **extra, GucSource source)
{
	const char *text = *newval;
	char	   *end;
	double		value;

	if (text[0] == '\0')
		return true;
	value = strspn(text, "0123456789.eE-") == strlen(text) &&
		strlen(text) <= 40 ? strtod(text, &end) : 0;
	if (value > 1.0e-24 && value < 1 && *end == '\0')
		return true;
	GUC_check_errdetail("It must be a number above 1e-24 and below 1.");
	GUC_check_errhint("Write it like 1e-9.");
	return false;
}

/* The meaning of dp_pg.reuse, as reuse_age; false if it is invalid. */
static bool
read_reuse(const char *text, int64 *age)
{
	*age = pg_strcasecmp(text, "auto") == 0 ? -1 : 0;
	return *age == -1 || pg_strcasecmp(text, "off") == 0 ||
		read_duration(text, age);
}

static bool
check_reuse(char **newval, void **extra, GucSource source)
{
	int64		age;

	if (read_reuse(*newval, &age))
		return true;
	GUC_check_errdetail("It must be off, auto, or an interval of more than 0 "
						"and at most 366 days.");
	GUC_check_errhint("Write it like '1 hour'.");
	return false;
}

static void
assign_reuse(const char *newval, void *extra)
{
	(void) read_reuse(newval, &reuse_age);
	scope_assigned();
}

/*
 * dp_base_settings_init
 *	  Define the settings; called once, while the library is preloaded.
 */
void
dp_base_settings_init(void)
{
	preloaded = process_shared_preload_libraries_in_progress;

	DefineCustomEnumVariable("dp_pg.bounds",
							 "Where a query takes bounds on the rows of a "
							 "unit from that nobody gives.",
							 "auto: nowhere; measure: a quarter of its price "
							 "measures one with noise.",
							 &dp_setting_bounds, DP_SETTING_AUTO,
							 bound_sources, PGC_USERSET, GUC_REPORT,
							 NULL, assign_number, NULL);
	DefineCustomStringVariable("dp_pg.delta",
							   "Delta of a private value with Gaussian noise.",
							   "Decimal text, such as 1e-9.",
							   &dp_setting_delta, "",
							   PGC_USERSET, GUC_REPORT,
							   check_delta, assign_text, NULL);
	DefineCustomStringVariable("dp_pg.epsilon",
							   "Price of a private value for which none is "
							   "given.",
							   "Decimal text; smaller is more private.",
							   &dp_setting_epsilon, DEFAULT_EPSILON,
							   PGC_USERSET, GUC_REPORT,
							   check_epsilon, assign_text, NULL);
	DefineCustomStringVariable("dp_pg.epsilon_ceiling",
							   "Largest epsilon a private value may ask for.",
							   "Empty: no limit.",
							   &dp_setting_epsilon_ceiling, DEFAULT_CEILING,
							   PGC_SUSET, 0,
							   check_optional_epsilon, NULL, NULL);
	DefineCustomStringVariable("dp_pg.epsilon_floor",
							   "Smallest epsilon of a charge: of all that a "
							   "query releases together.",
							   "Empty: no limit.",
							   &dp_setting_epsilon_floor, DEFAULT_FLOOR,
							   PGC_SUSET, 0,
							   check_optional_epsilon, NULL, NULL);
	DefineCustomIntVariable("dp_pg.max_groups",
							"Largest number of public group keys of a query.",
							NULL,
							&dp_setting_max_groups, 1000000, 1, 100000000,
							PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.max_keys",
							"Largest number of groups of one unit that count.",
							"0: as the owner declared.",
							&dp_setting_max_keys, 0, 0, INT_MAX,
							PGC_USERSET, GUC_REPORT,
							NULL, assign_number, NULL);
	DefineCustomIntVariable("dp_pg.max_predicates_per_row",
							"Largest number of predicates of a list that are "
							"evaluated for every row.",
							"Predicates that are counted together are not "
							"included.",
							&dp_setting_max_predicates_per_row,
							1000, 1, INT_MAX,
							PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.max_rows",
							"Largest number of rows of one unit that count in "
							"a group.",
							"0: as the owner declared.",
							&dp_setting_max_rows, 0, 0, INT_MAX,
							PGC_USERSET, GUC_REPORT,
							NULL, assign_number, NULL);
	DefineCustomIntVariable("dp_pg.max_total",
							"Largest number of rows of one unit that count in "
							"all groups together.",
							"0: as the owner declared.",
							&dp_setting_max_total, 0, 0, INT_MAX,
							PGC_USERSET, GUC_REPORT,
							NULL, assign_number, NULL);
	DefineCustomEnumVariable("dp_pg.mechanism",
							 "Noise of private numbers.",
							 "laplace: pure privacy, and permute-and-flip for "
							 "selections; gaussian: needs dp_pg.delta, and "
							 "the exponential mechanism for selections.",
							 &dp_setting_mechanism, DP_SETTING_LAPLACE,
							 mechanisms, PGC_USERSET, GUC_REPORT,
							 NULL, assign_number, NULL);
	DefineCustomBoolVariable("dp_pg.procedure",
							 "Says whether a function calls a building block.",
							 "For the header of a function whose source does "
							 "not show it; has no effect elsewhere.",
							 &setting_procedure, false,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("dp_pg.publish_schema",
							   "Schema in which dp_protect publishes a view "
							   "of the table.",
							   "Empty: it publishes where it is told to.",
							   &dp_setting_publish_schema, "",
							   PGC_USERSET, GUC_REPORT,
							   NULL, assign_text, NULL);
	DefineCustomIntVariable("dp_pg.reader_memory",
							"Memory that a private query may reserve in each "
							"process that reads rows.",
							"It follows from the query and public numbers; a "
							"query that needs more fails, uncharged.",
							&dp_setting_reader_memory, 1048576, 65536,
							MAX_KILOBYTES,
							PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.reader_timeout",
							"Longest wait of a private query for a reader, or "
							"for a process of the ledger.",
							"If it is exceeded, nothing is charged.",
							&dp_setting_reader_timeout,
							10000, 1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.readers",
							"Largest number of processes that read private "
							"rows.",
							"Each takes one of max_worker_processes.",
							&dp_setting_readers, 4, 1, 1024,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
	DefineCustomStringVariable("dp_pg.reuse",
							   "Maximum age of a stored answer that is given "
							   "again, free of charge, to an identical "
							   "private query.",
							   "off, auto or an interval; auto: 1 hour if "
							   "dp_pg.transparent is on, otherwise off.",
							   &setting_reuse, "auto",
							   PGC_USERSET, GUC_REPORT,
							   check_reuse, assign_reuse, NULL);
	DefineCustomIntVariable("dp_pg.reuse_limit",
							"Maximum size of the stored answers of one "
							"budget.",
							"The oldest are dropped; 0: none is stored.",
							&dp_setting_reuse_limit, 16384, 0, MAX_KILOBYTES,
							PGC_SIGHUP, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.run_timeout",
							"Longest time that a reader works for one private "
							"query.",
							"The query is then canceled; its charge stands. "
							"0: no limit.",
							&dp_setting_run_timeout, 0, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("dp_pg.setting_scope",
							 "How long a client's settings for private "
							 "queries last.",
							 "transaction: no longer than the transaction "
							 "that sets them, for pools that give a session "
							 "to many clients.",
							 &setting_scope, SETTING_SESSION,
							 scopes, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("dp_pg.split",
							 "Makes dp_pg.epsilon the price of a whole query.",
							 "It is divided among the values without an "
							 "epsilon of their own; auto: if "
							 "dp_pg.transparent is on.",
							 &setting_split, SETTING_AUTO,
							 choices, PGC_USERSET, GUC_REPORT,
							 NULL, assign_split, NULL);
	DefineCustomEnumVariable("dp_pg.suppress",
							 "Omits groups and values whose noisy number of "
							 "rows cannot be distinguished from none.",
							 "Decided by a number that the query releases; "
							 "auto: if dp_pg.transparent is on.",
							 &setting_suppress, SETTING_AUTO,
							 choices, PGC_USERSET, GUC_REPORT,
							 NULL, assign_suppress, NULL);
	DefineCustomBoolVariable("dp_pg.transparent",
							 "Reads plain aggregates over protected relations "
							 "as private ones.",
							 "Only if the role may not read the relation.",
							 &dp_setting_transparent, false,
							 PGC_USERSET, GUC_REPORT,
							 NULL, assign_transparent, NULL);
	DefineCustomIntVariable("dp_pg.worker_idle",
							"Time after which an idle worker or reader exits.",
							"Processes that dp_pg.workers keeps do not exit.",
							&dp_setting_worker_idle, 10000, 10, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.worker_lock_timeout",
							"Longest wait of the ledger worker for a lock.",
							NULL,
							&dp_setting_worker_lock_timeout,
							1000, 1, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("dp_pg.workers",
							"Number of processes that are kept for private "
							"queries.",
							"Each takes one of max_worker_processes "
							"permanently; more are started while some are "
							"left.",
							&dp_setting_workers, 3, 0, 1024,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
	MarkGUCPrefixReserved("dp_pg");
	scope_init();
}

/*
 * dp_base_set_local
 *	  Change a setting, whatever the user's rights are, until the innermost
 *	  level made by NewGUCNestLevel ends.
 */
void
dp_base_set_local(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_SUSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

/* dp_base_preloaded: whether shared_preload_libraries loaded the library. */
bool
dp_base_preloaded(void)
{
	return preloaded;
}

/* dp_base_require_preload: raise 55000 unless preloaded. */
void
dp_base_require_preload(void)
{
	if (!preloaded)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("dp_pg must be loaded when the server starts"),
				 errdetail("Without it no query is private and no budget is "
						   "charged, so nothing is answered."),
				 errhint("Add dp_pg to shared_preload_libraries and restart "
						 "the server.")));
}

PG_FUNCTION_INFO_V1(dp_bridge_check_preload);

/*
 * dp_bridge_check_preload
 *	  SQL-callable: raise 55000 unless the library is preloaded.  The install
 *	  script calls it first, so that CREATE EXTENSION fails early.
 */
Datum
dp_bridge_check_preload(PG_FUNCTION_ARGS)
{
	dp_base_require_preload();
	PG_RETURN_VOID();
}

/* ----------------
 *		dp_pg.setting_scope: how long a client's settings for private queries
 *		last.
 *
 * A connection pool gives one session to many clients, a transaction at a
 * time, so what one of them SETs would choose the price that the next ones
 * pay.  With scope "transaction" a client's value counts only in the
 * transaction that set it:
 *
 *	- SET outside of a transaction block, which would have no effect, raises an
 *		error before it is executed; so does ALTER ROLE of the session's own
 *		role, whose values all clients would get;
 *	- before a transaction commits, what was set in it and would outlive it is
 *		reset to the default of role, database or server, as by a ROLLBACK.  If
 *		it was set outside of a block, for example by set_config, the
 *		transaction fails, so that nobody relies on the value;
 *	- nothing is charged with a value that came otherwise: from the
 *		connection's options, or from before the scope was changed.
 *
 * SET LOCAL and the SET clause of a function end by themselves.  This applies
 * to client sessions only: readers and workers get their values from a
 * session.
 * ----------------
 */

/*
 * All settings that any user may set, except dp_pg.procedure, which is only
 * for function headers.
 */
static const char *const names[] = {
	"dp_pg.bounds", "dp_pg.delta", "dp_pg.epsilon", "dp_pg.max_keys",
	"dp_pg.max_rows", "dp_pg.max_total", "dp_pg.mechanism",
	"dp_pg.publish_schema", "dp_pg.reuse", "dp_pg.split", "dp_pg.suppress",
	"dp_pg.transparent",
};

static ProcessUtility_hook_type next_process_utility = NULL;

/*
 * A value was set within a block in the current transaction.  For several
 * statements sent together this cannot be seen when it ends.
 */
static bool set_in_block = false;

/* The server's record of a setting, which is never moved. */
static const struct config_generic *
settings_record_of(int i)
{
	static struct config_generic *records[lengthof(names)];

	if (records[i] == NULL)
		records[i] = dp_base_find_setting(names[i]);
	return records[i];
}

static bool
applies(void)
{
	return setting_scope == SETTING_TRANSACTION &&
		(MyBackendType == B_BACKEND || MyBackendType == B_WAL_SENDER);
}

static bool
is_scoped(const char *name)
{
	int			i;

	for (i = 0; name != NULL && i < lengthof(names); i++)
		if (pg_strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

/*
 * scope_assigned: called from the assign hooks of these settings.  A
 * subtransaction may be that of a function and does not imply a block.
 */
static void
scope_assigned(void)
{
	if (IsTransactionState() && IsTransactionBlock() && !IsSubTransaction())
		set_in_block = true;
}

/* ---- statements ---- */

static void
raise_outside(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_NO_ACTIVE_SQL_TRANSACTION),
			 errmsg("\"%s\" cannot be set outside of a transaction block",
					name),
			 errdetail("dp_pg.setting_scope is transaction: other clients may "
					   "share the session, so a value counts only within the "
					   "transaction that sets it."),
			 errhint("Use SET LOCAL in a transaction block; ALTER ROLE by an "
					 "administrator sets a default.")));
}

static void
forbid_set(const VariableSetStmt *statement)
{
	if ((statement->kind == VAR_SET_VALUE ||
		 statement->kind == VAR_SET_CURRENT) && !statement->is_local &&
		is_scoped(statement->name) && !IsTransactionBlock())
		raise_outside(statement->name);
}

/* Clients must not change the defaults of a role that others share. */
static void
forbid_alter_role(const AlterRoleSetStmt *statement)
{
	if (statement->role == NULL || superuser() ||
		get_rolespec_oid(statement->role, true) != GetSessionUserId() ||
		(statement->setstmt->kind != VAR_RESET_ALL &&
		 !is_scoped(statement->setstmt->name)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to change the session's own role"),
			 errdetail("dp_pg.setting_scope is transaction: other clients may "
					   "share the role, and its settings would choose what "
					   "they pay."),
			 errhint("Ask an administrator.")));
}

static void
check_statement(PlannedStmt *statement, const char *query,
				bool read_only_tree, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *environment,
				DestReceiver *receiver, QueryCompletion *completion)
{
	const Node *utility = statement->utilityStmt;

	if (IsA(utility, VariableSetStmt) && applies())
		forbid_set((const VariableSetStmt *) utility);
	else if (IsA(utility, AlterRoleSetStmt) && applies())
		forbid_alter_role((const AlterRoleSetStmt *) utility);
	if (next_process_utility)
		next_process_utility(statement, query, read_only_tree, context,
							 params, environment, receiver, completion);
	else
		standard_ProcessUtility(statement, query, read_only_tree, context,
								params, environment, receiver, completion);
}

/* ---- transactions ---- */

/* Whether the value would outlive its transaction. */
static bool
is_lasting(const struct config_generic *record)
{
	return record->stack != NULL && (record->stack->state == GUC_SET ||
									 record->stack->state == GUC_SET_LOCAL);
}

/* Before the transaction ends, reset what a client has set to the default. */
static void
set_back(void)
{
	int			i;

	for (i = 0; i < lengthof(names); i++)
	{
		const struct config_generic *record = settings_record_of(i);

		if (record->source < PGC_S_INTERACTIVE && !is_lasting(record))
			continue;
		if (is_lasting(record) && record->source >= PGC_S_INTERACTIVE &&
			!IsTransactionBlock() && !set_in_block)
			raise_outside(names[i]);
		(void) set_config_option(names[i], NULL, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SET, true, 0, false);
	}
}

static void
end_transaction(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (applies())
				set_back();
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			set_in_block = false;
			break;
		default:
			break;
	}
}

/* ---- charges ---- */

/*
 * dp_base_check_scope
 *	  Raise an error if a setting that affects charges was not made as
 *	  dp_pg.setting_scope requires.
 *
 * Errors: 55000.
 */
void
dp_base_check_scope(void)
{
	int			i;

	for (i = 0; applies() && i < lengthof(names); i++)
	{
		const struct config_generic *record = settings_record_of(i);

		/*
		 * if the current transaction set it, the former value is on the stack
		 */
		if (record->source != PGC_S_CLIENT &&
			(record->source < PGC_S_INTERACTIVE || record->stack != NULL))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("\"%s\" was not set by this transaction", names[i]),
				 errdetail("dp_pg.setting_scope is transaction, but the value "
						   "is that of the connection.  Nothing was charged."),
				 record->source == PGC_S_CLIENT ?
				 errhint("Remove it from the connection's options, and use "
						 "SET LOCAL in a transaction block.") :
				 errhint("RESET %s, and use SET LOCAL in a transaction block.",
						 names[i])));
	}
}

/* scope_init: once, while preloading. */
static void
scope_init(void)
{
	dp_base_add_hook(&ProcessUtility_hook, check_statement,
					 &next_process_utility);
	RegisterXactCallback(end_transaction, NULL);
}
