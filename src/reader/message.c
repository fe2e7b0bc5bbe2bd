/*
 * message.c
 *	  What a connection sends to a reader: a job, and the state of the
 *	  connection that its answer may depend on.
 *
 * That is its snapshot and transaction, the user whose rights count, and some
 * settings.  A reader gets nothing else from a connection.
 */
#include "postgres.h"

#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodes.h"
#include "utils/combocid.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"
#include "utils/snapmgr.h"

#include "../base/dp_base.h"
#include "../ledger/dp_ledger.h"
#include "dp_reader.h"
#include "reader_internal.h"

/* ----------------
 *		The settings of a connection that a reader is sent, and whether they
 *		have changed since they were sent.
 * ----------------
 */

/*
 * Settings that the value of an allowed expression may depend on, and those
 * from which prices are prepared. default_text_search_config is not among
 * them: functions that use it are not allowed on private rows.
 */
static const char *const settings[DP_SENT_SETTINGS] = {
	"DateStyle", "IntervalStyle", "TimeZone", "timezone_abbreviations",
	"extra_float_digits", "bytea_output", "lc_monetary", "lc_numeric",
	"lc_time", "dp_pg.bounds", "dp_pg.delta", "dp_pg.epsilon",
	"dp_pg.epsilon_ceiling",
	"dp_pg.epsilon_floor", "dp_pg.max_groups", "dp_pg.max_keys",
	"dp_pg.max_rows", "dp_pg.max_total", "dp_pg.mechanism", "dp_pg.split",
	"dp_pg.suppress", "dp_pg.transparent",
};

/*
 * write_settings: write name and value of each, each ended by a zero
 * byte.
 */
static void
write_settings(StringInfo out)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
	{
		const char *value = GetConfigOption(settings[i], false, false);

		appendBinaryStringInfo(out, settings[i], strlen(settings[i]) + 1);
		appendBinaryStringInfo(out, value, strlen(value) + 1);
	}
}

/*
 * dp_reader_append_settings
 *	  Append all settings that an answer may depend on, as unambiguous text.
 */
void
dp_reader_append_settings(StringInfo out)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
	{
		const char *value = GetConfigOption(settings[i], false, false);

		appendStringInfo(out, "\n%s %zu:%s", settings[i], strlen(value),
						 value);
	}
}

static const struct config_generic *
message_record_of(int i)
{
	static const struct config_generic *records[DP_SENT_SETTINGS];

	if (records[i] == NULL)
		records[i] = dp_base_find_setting(settings[i]);
	return records[i];
}

/* The value of a setting, unless it is a string. */
static int64
message_number_of(const struct config_generic *record)
{
	int64		bits = 0;

	switch (record->vartype)
	{
		case PGC_BOOL:
			return *((const struct config_bool *) record)->variable;
		case PGC_INT:
			return *((const struct config_int *) record)->variable;
		case PGC_REAL:
			memcpy(&bits, ((const struct config_real *) record)->variable,
				   sizeof(double));
			return bits;
		case PGC_ENUM:
			return *((const struct config_enum *) record)->variable;
		case PGC_STRING:
			break;
	}
	return bits;
}

/* The value of a setting that is a string. */
static const char *
message_text_of(const struct config_generic *record)
{
	const char *text = NULL;

	if (record->vartype == PGC_STRING)
		text = *((const struct config_string *) record)->variable;
	return text == NULL ? "" : text;
}

/*
 * note_settings
 *	  The current values that are not strings.
 */
static void
note_settings(dp_sent_values *out)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
		out->number[i] = message_number_of(message_record_of(i));
}

/*
 * same_settings
 *	  Are the settings still those that were noted and written? Looking up each
 *	  by name and writing it took a twelfth of the time of a small statement.
 */
static bool
same_settings(const dp_sent_values *values, const char *written)
{
	int			i;

	for (i = 0; i < lengthof(settings); i++)
	{
		const struct config_generic *record = message_record_of(i);
		const char *value = written + strlen(settings[i]) + 1;

		if (values->number[i] != message_number_of(record) ||
			(record->vartype == PGC_STRING &&
			 strcmp(message_text_of(record), value) != 0))
			return false;
		written = value + strlen(value) + 1;
	}
	return true;
}

#define MOST_BYTES (64 * 1024 * 1024)	/* most bytes of a message */

/* The first part that does not depend on snapshot and transaction. */
#define FIRST_SEALED DP_PART_SETTINGS

struct dp_reader_sealed
{
	dp_message	head;			/* without what describe_session fills in */
	dp_sent_values settings;
	int			size;
	char	   *parts;			/* from FIRST_SEALED on */
};

static void
append_node(StringInfo out, const void *node)
{
	char	   *text = nodeToString(node);

	appendBinaryStringInfo(out, text, strlen(text) + 1);
	pfree(text);
}

static void
append_oids(StringInfo out, const List *oids)
{
	ListCell   *lc;

	foreach(lc, oids)
		appendBinaryStringInfo(out, (char *) &lfirst_oid(lc), sizeof(Oid));
}

/* Append `size` bytes for a function of PostgreSQL to write. */
static char *
append_room(StringInfo out, Size size)
{
	char	   *room;

	enlargeStringInfo(out, size);
	room = out->data + out->len;
	out->len += size;
	return room;
}

static void
message_append_part(StringInfo out, const dp_reader_job *job,
					dp_message_part part)
{
	Snapshot	snapshot = GetActiveSnapshot();
	Size		size;

	switch (part)
	{
		case DP_PART_TRANSACTION:
			size = EstimateTransactionStateSpace();
			SerializeTransactionState(size, append_room(out, size));
			break;
		case DP_PART_COMBO:
			size = EstimateComboCIDStateSpace();
			SerializeComboCIDState(size, append_room(out, size));
			break;
		case DP_PART_SNAPSHOT:
			size = EstimateSnapshotSpace(snapshot);
			SerializeSnapshot(snapshot, append_room(out, size));
			break;
		case DP_PART_SETTINGS:
			write_settings(out);
			break;
		case DP_PART_RELATIONS:
			append_oids(out, job->relations);
			break;
		case DP_PART_TOAST:
			append_oids(out, job->needs.toast);
			break;
		case DP_PART_ENUMS:
			append_oids(out, job->needs.enums);
			break;
		case DP_PART_COLLATIONS:
			append_oids(out, job->needs.collations);
			break;
		case DP_PART_PLAN:
			append_node(out, job->plan);
			break;
		case DP_PART_SCANS:
			append_node(out, job->scans);
			break;
		case DP_PART_INPUT:
			append_node(out, job->input);
			break;
		case DP_PART_DATA:
			appendBinaryStringInfo(out, job->data, job->size);
			break;
		case DP_PARTS:
			break;
	}
}

/*
 * Append the parts of a message from `first` until before `end`, and their
 * sizes to its head.
 */
static void
append_parts(StringInfo out, const dp_reader_job *job, dp_message *head,
			 dp_message_part first, dp_message_part end)
{
	dp_message_part part;

	for (part = first; part < end; part++)
	{
		int			start = out->len;

		message_append_part(out, job, part);
		head->size[part] = out->len - start;
		while (out->len != MAXALIGN(out->len))
			appendStringInfoChar(out, '\0');
	}
}

static void
describe_job(const dp_reader_job *job, dp_message *head)
{
	bool		parallel = job->plan->parallelModeNeeded;
	ListCell   *lc;

	foreach(lc, job->scans)
		parallel |= lfirst_node(PlannedStmt, lc)->parallelModeNeeded;
	memset(head, 0, sizeof(*head));
	head->kind = job->kind;
	head->memory = job->memory;
	head->row = job->row;
	head->worker = parallel ? job->worker : 0;
	head->shared = job->shared;
	head->more = job->source != NULL;
}

static void
describe_session(dp_message *head)
{
	head->database = MyDatabaseId;
	GetUserIdAndSecContext(&head->user, &head->security);
	head->writes = TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/*
 * dp_reader_process_memory
 *	  Bytes that rows may make a process take: states, and a row made of them,
 *	  which is copied once, to the reader or to the release.
 */
Size
dp_reader_process_memory(Size memory, Size row)
{
	return memory + 2 * row;
}

/* The reader may do all of its own work in addition to that of one worker. */
static void
check_memory(const dp_message *head)
{
	Size		bytes = dp_reader_process_memory(head->memory, head->row) +
		head->worker;

	if (bytes / 1024 <= (Size) dp_setting_reader_memory)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("private query may need too much memory"),
			 errdetail("A process that reads rows for it may need %zu MB, "
					   "whatever the rows are, and dp_pg.reader_memory "
					   "is %d MB.  %s", bytes / (1024 * 1024) + 1,
					   dp_setting_reader_memory / 1024,
					   dp_ledger_uncharged_text()),
			 head->worker > 0 ?
			 errhint("Ask for fewer groups, buckets or values, join fewer "
					 "relations, or ask without parallel workers (SET "
					 "max_parallel_workers_per_gather = 0), or ask the "
					 "administrator for a higher dp_pg.reader_memory.") :
			 errhint("Ask for fewer groups, buckets or values, join fewer "
					 "relations, or ask the administrator for a higher "
					 "dp_pg.reader_memory.")));
}

/* dp_reader_check_memory: see dp_reader.h. */
void
dp_reader_check_memory(const dp_reader_job *job)
{
	dp_message	head;

	describe_job(job, &head);
	check_memory(&head);
}

/* dp_reader_seal: see dp_reader.h; in the current context. */
dp_reader_sealed *
dp_reader_seal(const dp_reader_job *job)
{
	dp_reader_sealed *sealed = palloc(sizeof(dp_reader_sealed));
	StringInfoData parts;

	Assert(!job->local && job->source == NULL);
	initStringInfo(&parts);
	describe_job(job, &sealed->head);
	append_parts(&parts, job, &sealed->head, FIRST_SEALED, DP_PARTS);
	note_settings(&sealed->settings);
	sealed->size = parts.len;
	sealed->parts = parts.data;
	return sealed;
}

/* dp_reader_has_settings: are the settings those with which it was sealed? */
bool
dp_reader_has_settings(const dp_reader_sealed *sealed)
{
	return same_settings(&sealed->settings, sealed->parts);
}

/*
 * dp_reader_build_message
 *	  A job as bytes; requires an active snapshot, which is the job's.
 */
void
dp_reader_build_message(const dp_reader_job *job, StringInfo out)
{
	dp_message	head;

	if (job->sealed != NULL)
		head = job->sealed->head;
	else
		describe_job(job, &head);
	check_memory(&head);
	describe_session(&head);
	(void) append_room(out, MAXALIGN(sizeof(head)));
	append_parts(out, job, &head, 0, FIRST_SEALED);
	if (job->sealed != NULL)
		appendBinaryStringInfo(out, job->sealed->parts, job->sealed->size);
	else
		append_parts(out, job, &head, FIRST_SEALED, DP_PARTS);
	memcpy(out->data, &head, sizeof(head));
	if (out->len > MOST_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the private query is too large"),
				 errdetail("With its constants and parameters it takes %d "
						   "bytes; at most %d are allowed.  Nothing was "
						   "charged.",
						   out->len, MOST_BYTES),
				 errhint("Use fewer or shorter constants.")));
}

/* dp_reader_add_ticket: put a charge's ticket into a message. */
void
dp_reader_add_ticket(StringInfo message, const dp_ledger_ticket *ticket)
{
	((dp_message *) message->data)->ticket = *ticket;
}

/* dp_reader_find_part: find a part of a message. */
const char *
dp_reader_find_part(const dp_message *message, dp_message_part part)
{
	const char *start = (const char *) message + MAXALIGN(sizeof(*message));
	int			i;

	for (i = 0; i < part; i++)
		start += MAXALIGN(message->size[i]);
	return start;
}

/* dp_reader_check_message: check a received message, at an aligned address. */
const dp_message *
dp_reader_check_message(const void *data, Size size)
{
	const dp_message *message = data;

	if (size < MAXALIGN(sizeof(dp_message)) ||
		message->kind >= DP_READER_KINDS ||
		message->database != MyDatabaseId ||
		dp_reader_find_part(message, DP_PARTS) != (const char *) data + size)
		elog(ERROR, "invalid message of %zu bytes to a reader", size);
	return message;
}
