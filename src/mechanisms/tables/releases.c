/*
 * releases.c
 *	  Released tables: where a release may be called from, its charge, its
 *	  record in dp_pg.released, and the table it goes into.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "nodes/plannodes.h"
#include "parser/parsetree.h"
#include "pgstat.h"
#include "storage/latch.h"
#include "tcop/pquery.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../catalog/dp_table.h"
#include "../../ledger/dp_ledger.h"
#include "../../protect/dp_protect.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"
#include "tables_internal.h"

/* ----------------
 *		The table that the running statement writes, as far as it shows.
 * ----------------
 */

static char *
name_of(Oid relid)
{
	return get_rel_name(relid) ? dp_protect_qualified_name(relid) : NULL;
}

/*
 * target
 *	  The table of CREATE TABLE AS, SELECT INTO or INSERT that the client sent;
 *	  NULL for any other statement.
 */
static char *
target(void)
{
	PlannedStmt *statement;

	if (!PortalIsValid(ActivePortal) ||
		list_length(ActivePortal->stmts) != 1)
		return NULL;
	statement = linitial_node(PlannedStmt, ActivePortal->stmts);
	if (statement->commandType == CMD_UTILITY &&
		IsA(statement->utilityStmt, CreateTableAsStmt))
	{
		IntoClause *into =
		((CreateTableAsStmt *) statement->utilityStmt)->into;

		/* it has been created by now */
		return name_of(RangeVarGetRelid(into->rel, NoLock, true));
	}
	if (statement->commandType == CMD_INSERT &&
		statement->resultRelations != NIL)
		return name_of(rt_fetch(linitial_int(statement->resultRelations),
								statement->rtable)->relid);
	return NULL;
}

/* ----------------
 *		The process that reads tells the connection its progress
 *		(dp_pg.progress).
 * ----------------
 */

#define INTERVAL 50000			/* us between two tellings of one phase */

/* dp_tables_report_progress: see tables_internal.h. */
void
dp_tables_report_progress(dp_tables_reporter *teller, dp_phase phase,
						  int64 done)
{
	dp_tables_piece piece = {phase, done};
	TimestampTz now = GetCurrentTimestamp();

	if (phase == teller->phase && now - teller->at < INTERVAL)
		return;
	teller->phase = phase;
	teller->at = now;
	teller->sink(teller->context, &piece, sizeof(piece));
}

/* dp_tables_hear_progress: see tables_internal.h. */
bool
dp_tables_hear_progress(const void *data)
{
	const dp_tables_piece *piece = data;

	if (piece->phase == 0)
		return false;
	dp_base_progress((dp_phase) piece->phase, piece->done);
	return true;
}

/* ----------------
 *		What calls of this room's functions have in common.
 * ----------------
 */

/* dp_tables_counted: see tables_internal.h. */
char *
dp_tables_counted(int64 n, const char *one, const char *many)
{
	return psprintf(INT64_FORMAT " %s", n, n == 1 ? one : many);
}

/* dp_tables_failure: see tables_internal.h. */
double
dp_tables_failure(FunctionCallInfo fcinfo, int place)
{
	return dp_accounting_fixed_approx(
		dp_base_failure(fcinfo, place, "errors are no larger"));
}

/* dp_tables_rows: see tables_internal.h. */
double
dp_tables_rows(FunctionCallInfo fcinfo, int place)
{
	int64		rows = PG_GETARG_INT64(place);

	if (rows < 1 || rows > PG_INT32_MAX)
		dp_base_raise_parameter("max_rows must be from 1 to 2147483647",
								"It is the number of rows of a privacy "
								"unit that count.");
	return (double) rows;
}

/*
 * The result's columns must be known: in a SELECT list those of a record
 * are not.
 */
static void
check_form(FunctionCallInfo fcinfo, const char *function)
{
	const ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	if (result == NULL || !IsA(result, ReturnSetInfo) ||
		!(result->allowedModes & SFRM_Materialize) ||
		result->expectedDesc == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s must be called in FROM", function),
				 errdetail("It returns rows whose columns the query must "
						   "name."),
				 errhint("Write SELECT * FROM %s(...) AS t(...).",
						 function)));
}

/* dp_tables_check_place: see tables_internal.h. */
void
dp_tables_check_place(FunctionCallInfo fcinfo, const char *function)
{
	dp_base_require_preload();
	dp_base_forbid_serializable();
	dp_base_forbid_parallel();
	check_form(fcinfo, function);
}

/* dp_tables_request: see tables_internal.h. */
void
dp_tables_request(dp_ledger_request *out, const char *dataset,
				  const dp_ledger_standing *standing, int64 fingerprint,
				  const dp_charge *charge, const char *mechanism)
{
	MemSet(out, 0, sizeof(*out));
	namestrcpy(&out->dataset, dataset);
	strlcpy(out->mechanism, mechanism, DP_MECHANISM_LENGTH);
	out->charge = *charge;
	out->releases = 1;
	out->fingerprint = fingerprint;
	out->replace_one = standing->replace_one;
}

/* ----------------
 *		Records of what was released as a table: dp_pg.released.
 *
 * The ledger's worker writes the record in the transaction of the charge, so a
 * release that was rolled back is recorded as well: what was seen stays seen.
 * A second task adds results when the table was drawn; a record without them
 * is of a release that was paid for and perhaps not delivered.
 * ----------------
 */

/* ms for which handing over results is retried, and ms between attempts */
#define COMPLETE_PATIENCE 10000
#define COMPLETE_PAUSE 200

/* What the worker is given in addition to the text. */
typedef struct record_task
{
	int64		id;				/* 0: a new record, of the charge */
	double		error;
} record_task;

StaticAssertDecl(sizeof(record_task) <= DP_TASK_DATA,
				 "record_task must fit a task");

/* ---- the worker's side: rows of dp_pg.released ---- */

typedef struct release_row
{
	HeapTuple	tuple;			/* as read, palloc'd */
	int64		id;				/* of the ledger's line that paid for it */
	NameData	role_name;		/* as stored, like the next three */
	Oid			role;
	int64		cluster;
	NameData	dataset;
	TimestampTz at;
	char	   *what;			/* JSON, to be inserted */
	bool		has_error;
	double		error;
	bool		complete;		/* has results */
	char	   *results;		/* JSON, to be written */
} release_row;

#define RELEASE_RESULTS 1		/* what an update writes */

/* In the order of sql/84_smalldb.sql. */
#define DP_ROW release_row
static const dp_column release_columns[] = {
	DP_COL("id", VALUE, id, 0),
	DP_COL("role", BYTES, role_name, 0),
	DP_COL("role_oid", VALUE, role, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("dataset", BYTES, dataset, 0),
	DP_COL("at", VALUE, at, 0),
	DP_COL("what", JSON, what, 0),
	DP_COL_IF("error", VALUE, error, RELEASE_RESULTS, has_error),
	DP_COL_IF("results", JSON, results, RELEASE_RESULTS, complete)
};
#undef DP_ROW

static const dp_table released = DP_TABLE("released", release_row,
										  release_columns);

static void
forget_all(void)
{
}

static void
write_all(void)
{
}

static dp_task_result
insert_record(const dp_task_call *call)
{
	release_row row;

	MemSet(&row, 0, sizeof(row));
	row.id = call->ledger_id;
	row.role_name = call->asking_name;
	row.role = call->asking;
	row.dataset = call->dataset;
	row.at = call->now;
	row.cluster = dp_base_cluster_id();
	row.what = unconstify(char *, call->text);
	dp_catalog_insert_rows(&released, &row, 1);
	return DP_TASK_DONE;
}

/* Only the role that released may add, and only once. */
static dp_task_result
complete_record(const dp_task_call *call, const record_task *task)
{
	release_row row;
	ScanKeyData key;
	dp_found	found;

	dp_catalog_key(&key, &released, "id", Int64GetDatum(task->id));
	found = dp_catalog_find_row(&released, NULL, &key, 1, NULL,
								DP_ROW_SKIP_LOCKED, &row);
	if (found == DP_LOCKED)
		return DP_TASK_LOCKED;
	if (found == DP_FOUND && !row.complete && row.role == call->asking)
	{
		row.has_error = !isnan(task->error);
		row.error = task->error;
		row.complete = true;
		row.results = unconstify(char *, call->text);
		dp_catalog_update_row(&released, &row, RELEASE_RESULTS);
	}
	return DP_TASK_DONE;
}

static dp_task_result
run(const dp_task_call *call, dp_task_reply *reply)
{
	const record_task *task = call->data;

	return task->id == 0 ? insert_record(call) : complete_record(call, task);
}

static const dp_task_methods methods = {forget_all, run, write_all};

/* dp_tables_releases_init: register the tasks, in every process. */
void
dp_tables_releases_init(void)
{
	dp_ledger_register_task(DP_TASK_RELEASE, &methods);
}

/* ---- the connection's side ---- */

/* dp_tables_relation_name: see tables_internal.h. */
char *
dp_tables_relation_name(Oid relid)
{
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid),
				 errdetail("%s", dp_ledger_uncharged_text()),
				 errhint("It may have been dropped since the statement "
						 "began.")));
	return dp_protect_qualified_name(relid);
}

/* dp_tables_record_begin: see tables_internal.h. */
void
dp_tables_record_begin(dp_tables_record *record, const char *mechanism,
					   const dp_reading *reading)
{
	record->mechanism = mechanism;
	record->relation = reading ? dp_tables_relation_name(reading->relid) :
		NULL;
	record->base = reading ? dp_tables_relation_name(reading->base) : NULL;
	record->columns = NIL;
	initStringInfo(&record->parameters);
}

/* dp_tables_record_universe: the columns, and the number of cells. */
void
dp_tables_record_universe(dp_tables_record *record,
						  const dp_universe *universe)
{
	int			i;

	for (i = 0; i < universe->naxes; i++)
		record->columns = lappend(record->columns,
								  NameStr(universe->axes[i]->name));
	dp_tables_record_integer(record, "cells", universe->size);
}

/* Begin a parameter: its name. */
static StringInfo
start_parameter(dp_tables_record *record, const char *name)
{
	StringInfo	out = &record->parameters;

	if (out->len > 0)
		appendStringInfoString(out, ", ");
	escape_json(out, name);
	appendStringInfoString(out, ": ");
	return out;
}

/* dp_tables_record_number: see tables_internal.h; digits are a JSON number. */
void
dp_tables_record_number(dp_tables_record *record, const char *name,
						const char *digits)
{
	appendStringInfoString(start_parameter(record, name),
						   digits ? digits : "null");
}

/* dp_tables_record_integer: see tables_internal.h. */
void
dp_tables_record_integer(dp_tables_record *record, const char *name,
						 int64 value)
{
	dp_tables_record_number(record, name, psprintf(INT64_FORMAT, value));
}

static void
append_texts(StringInfo out, const List *texts)
{
	ListCell   *lc;

	if (texts == NIL)
	{
		appendStringInfoString(out, "null");
		return;
	}
	appendStringInfoChar(out, '[');
	foreach(lc, texts)
	{
		if (foreach_current_index(lc) > 0)
			appendStringInfoString(out, ", ");
		escape_json(out, lfirst(lc));
	}
	appendStringInfoChar(out, ']');
}

/* dp_tables_record_texts: see tables_internal.h. */
void
dp_tables_record_texts(dp_tables_record *record, const char *name,
					   const List *texts)
{
	append_texts(start_parameter(record, name), texts);
}

/* dp_tables_record_text: see tables_internal.h; text NULL: null. */
void
dp_tables_record_text(dp_tables_record *record, const char *name,
					  const char *text)
{
	StringInfoData json;

	initStringInfo(&json);
	if (text)
		escape_json(&json, text);
	dp_tables_record_number(record, name, text ? json.data : NULL);
	pfree(json.data);
}

static void
append_text(StringInfo out, const char *name, const char *text)
{
	escape_json(out, name);
	appendStringInfoString(out, ": ");
	if (text)
		escape_json(out, text);
	else
		appendStringInfoString(out, "null");
	appendStringInfoString(out, ", ");
}

static char *
record_text(const dp_tables_record *record)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	append_text(&out, "mechanism", record->mechanism);
	append_text(&out, "relation", record->relation);
	append_text(&out, "protected", record->base);
	append_text(&out, "target", target());
	appendStringInfoString(&out, "\"columns\": ");
	append_texts(&out, record->columns);
	appendStringInfo(&out, ", \"parameters\": {%s}}",
					 record->parameters.data);
	return out.data;
}

/* dp_tables_charge: see tables_internal.h. */
int64
dp_tables_charge(dp_ledger_request *request, const dp_tables_record *record)
{
	dp_ledger_receipt receipt;
	dp_task_reply reply;

	MemSet(&request->task, 0, sizeof(request->task));
	request->task.kind = DP_TASK_RELEASE;
	dp_ledger_run_task(request, record_text(record), &receipt, &reply);
	return receipt.ledger_id;
}

/*
 * Whether another attempt may succeed: the worker ended, or a resource was
 * short.
 */
static bool
may_pass(int sqlstate)
{
	return sqlstate == ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN ||
		sqlstate == ERRCODE_LOCK_NOT_AVAILABLE ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_INSUFFICIENT_RESOURCES;
}

/* Hand the results over; returns NULL or the error; a cancel is raised. */
static ErrorData *
try_complete(const char *dataset, int64 id, double error,
			 const char *results)
{
	dp_ledger_request request;
	dp_task_reply reply;
	record_task task;

	MemSet(&request, 0, sizeof(request));
	MemSet(&task, 0, sizeof(task));
	task.id = id;
	task.error = error;
	namestrcpy(&request.dataset, dataset);
	request.action = DP_LEDGER_TASK;
	request.task.kind = DP_TASK_RELEASE;
	memcpy(request.task.data, &task, sizeof(task));
	return dp_ledger_try_task(&request, psprintf("{%s}", results), &reply);
}

/*
 * dp_tables_finish: see tables_internal.h.  What was drawn has been paid for,
 * so it is returned even if the record cannot be completed, unless there is a
 * cancel. Completing may be done more than once, so it is retried for some
 * time: the worker may end in the middle of it, or be out of room.
 */
void
dp_tables_finish(const char *dataset, int64 id, double error,
				 const char *results)
{
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
												  COMPLETE_PATIENCE);
	ErrorData  *failure;

	while ((failure = try_complete(dataset, id, error, results)) != NULL &&
		   may_pass(failure->sqlerrcode) && GetCurrentTimestamp() < end)
	{
		dp_base_wait(COMPLETE_PAUSE);
	}
	if (failure)
		ereport(WARNING,
				(errcode(failure->sqlerrcode),
				 errmsg("could not complete the record of release "
						INT64_FORMAT, id),
				 errdetail("%s", failure->message)));
}
