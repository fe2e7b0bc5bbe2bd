/*
 * session_row.c
 *	  Rows of dp_pg.session, session_secret and session_question.
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "dp_rows.h"

/* Columns in the order of sql/25_session.sql. */
enum
{
	SESSION_ID = 1,
	SESSION_KIND,
	SESSION_ROLE,
	SESSION_ROLE_OID,
	SESSION_CLUSTER,
	SESSION_DATABASE,
	SESSION_DATASET,
	SESSION_PAYER,
	SESSION_PAYER_OID,
	SESSION_PERIOD,
	SESSION_RELATION_OID,
	SESSION_RELATION,
	SESSION_NEIGHBOURS,
	SESSION_SENSITIVITY,
	SESSION_THRESHOLD,
	SESSION_QUESTIONS,
	SESSION_CUTOFF,
	SESSION_BETA,
	SESSION_METHOD,
	SESSION_TWO_SIDED,
	SESSION_NUMERIC,
	SESSION_FRESH,
	SESSION_THRESHOLD_SENSITIVITY,
	SESSION_THRESHOLD_EPSILON,
	SESSION_QUERY_SENSITIVITY,
	SESSION_QUERY_EPSILON,
	SESSION_ANSWER_SENSITIVITY,
	SESSION_ANSWER_EPSILON,
	SESSION_OFFSET,
	SESSION_ALPHA,
	SESSION_EPSILON,
	SESSION_RHO,
	SESSION_DELTA,
	SESSION_ASKED,
	SESSION_ABOVE,
	SESSION_BYTES_LEFT,
	SESSION_OPENED,
	SESSION_CLOSED,
	SESSION_REASON,
	SESSION_DETAILS,
	SESSION_END
};

enum
{
	SECRET_SESSION = 1,
	SECRET_ARMED,
	SECRET_END
};

enum
{
	QUESTION_SESSION = 1,
	QUESTION_NUMBER,
	QUESTION_ANSWER,
	QUESTION_GUESS,
	QUESTION_ABOVE_NUMBER,
	QUESTION_ABOVE,
	QUESTION_PREDICATE,
	QUESTION_END
};


static const dp_table sessions = {"session", SESSION_END - 1};
static const dp_table secrets = {"session_secret", SECRET_END - 1};
static const dp_table questions = {"session_question", QUESTION_END - 1};

static const char *const kind_name[] = {"sparse_vector", "weights"};

static void
raise_corrupted(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the catalog of sessions holds an invalid %s", what)));
}

/*
 * dp_catalog_lock_sessions
 *	  Lock the three tables until the end of the transaction and make sure
 *	  that they are the extension's.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
void
dp_catalog_lock_sessions(LOCKMODE mode)
{
	table_close(dp_table_open(&sessions, mode), NoLock);
	table_close(dp_table_open(&secrets, mode), NoLock);
	table_close(dp_table_open(&questions, mode), NoLock);
}

static dp_session_kind
get_kind(const dp_values *row)
{
	char	   *name = TextDatumGetCString(dp_get(row, SESSION_KIND));
	int			i;

	for (i = 0; i < lengthof(kind_name); i++)
		if (strcmp(name, kind_name[i]) == 0)
			return (dp_session_kind) i;
	raise_corrupted("kind");
	return DP_SESSION_SPARSE_VECTOR;
}

static dp_sparse_method
get_method(const dp_values *row)
{
	dp_sparse_method method = DP_SPARSE_BEST;

	if (!dp_acct_sparse_parse(TextDatumGetCString(dp_get(row,
														 SESSION_METHOD)),
							  &method))
		raise_corrupted("method");
	return method;
}

/* A column of type numeric that holds an integer. */
static void
set_int128(dp_values *row, int column, dp_int128 x)
{
	dp_set(row, column, NumericGetDatum(dp_bridge_int128_to_numeric(x)));
}

/* What set_int128 has set. */
static dp_int128
get_int128(const dp_values *row, int column)
{
	dp_int128	x = 0;

	if (!dp_bridge_numeric_to_int128(DatumGetNumeric(dp_get(row, column)),
									 &x))
		raise_corrupted("number");
	return x;
}

static void
fetch_plan(const dp_values *row, dp_sparse_plan *plan)
{
	plan->method = get_method(row);
	plan->two_sided = DatumGetBool(dp_get(row, SESSION_TWO_SIDED));
	plan->numeric = DatumGetBool(dp_get(row, SESSION_NUMERIC));
	plan->fresh = DatumGetBool(dp_get(row, SESSION_FRESH));
	plan->threshold_sensitivity =
		get_int128(row, SESSION_THRESHOLD_SENSITIVITY);
	plan->threshold_epsilon = dp_get_fixed(row, SESSION_THRESHOLD_EPSILON);
	plan->query_sensitivity =
		get_int128(row, SESSION_QUERY_SENSITIVITY);
	plan->query_epsilon = dp_get_fixed(row, SESSION_QUERY_EPSILON);
	plan->answer_sensitivity =
		get_int128(row, SESSION_ANSWER_SENSITIVITY);
	plan->answer_epsilon = dp_get_fixed(row, SESSION_ANSWER_EPSILON);
	plan->offset = DatumGetInt64(dp_get(row, SESSION_OFFSET));
	plan->alpha = get_int128(row, SESSION_ALPHA);
	plan->charge.epsilon = dp_get_fixed(row, SESSION_EPSILON);
	plan->charge.rho = dp_get_fixed(row, SESSION_RHO);
	plan->charge.delta = dp_get_fixed(row, SESSION_DELTA);
}

static void
fetch(const dp_values *row, dp_session_row *out)
{
	dp_session *session = &out->session;
	dp_session_terms *terms = &session->terms;

	session->id = DatumGetInt64(dp_get(row, SESSION_ID));
	session->asked = DatumGetInt64(dp_get(row, SESSION_ASKED));
	session->above = DatumGetInt32(dp_get(row, SESSION_ABOVE));
	session->bytes_left = DatumGetInt64(dp_get(row, SESSION_BYTES_LEFT));
	terms->kind = get_kind(row);
	terms->relid = DatumGetObjectId(dp_get(row, SESSION_RELATION_OID));
	terms->dataset = *DatumGetName(dp_get(row, SESSION_DATASET));
	terms->replace_one =
		strcmp(TextDatumGetCString(dp_get(row, SESSION_NEIGHBOURS)),
			   "replace_one") == 0;
	terms->sensitivity = get_int128(row, SESSION_SENSITIVITY);
	terms->threshold = DatumGetInt64(dp_get(row, SESSION_THRESHOLD));
	terms->questions = DatumGetInt64(dp_get(row, SESSION_QUESTIONS));
	terms->cutoff = DatumGetInt32(dp_get(row, SESSION_CUTOFF));
	terms->beta = DatumGetFloat8(dp_get(row, SESSION_BETA));
	fetch_plan(row, &terms->plan);
	out->role = DatumGetObjectId(dp_get(row, SESSION_ROLE_OID));
	out->role_name = *DatumGetName(dp_get(row, SESSION_ROLE));
	out->cluster = DatumGetInt64(dp_get(row, SESSION_CLUSTER));
	out->database = DatumGetObjectId(dp_get(row, SESSION_DATABASE));
	if (!row->null[SESSION_PAYER - 1])
	{
		out->payer_name = *DatumGetName(dp_get(row, SESSION_PAYER));
		out->payer = DatumGetObjectId(dp_get(row, SESSION_PAYER_OID));
	}
	out->period = DatumGetInt64(dp_get(row, SESSION_PERIOD));
	out->opened = DatumGetTimestampTz(dp_get(row, SESSION_OPENED));
	out->closed = !row->null[SESSION_CLOSED - 1];
}

/* dp_catalog_read_session: a session, locked as told. */
dp_found
dp_catalog_read_session(int64 id, dp_row_lock lock, dp_session_row *out)
{
	ScanKeyData key;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	out->values = palloc(sizeof(dp_values));
	dp_row_key(&key, SESSION_ID, INT8OID, Int64GetDatum(id));
	found = dp_row_find(&sessions, NULL, &key, 1, NULL, lock,
						&out->tuple, out->values);
	if (found == DP_FOUND)
		fetch(out->values, out);
	return found;
}

/* dp_catalog_session_details: what its kind keeps, never NULL. */
char *
dp_catalog_session_details(const dp_session_row *row)
{
	return TextDatumGetCString(dp_get(row->values, SESSION_DETAILS));
}

/* dp_catalog_session_relation: the relation's name when it was opened. */
char *
dp_catalog_session_relation(const dp_session_row *row)
{
	return TextDatumGetCString(dp_get(row->values, SESSION_RELATION));
}

/* dp_catalog_session_reason: why it was closed; NULL: it was not. */
char *
dp_catalog_session_reason(const dp_session_row *row)
{
	if (row->values->null[SESSION_REASON - 1])
		return NULL;
	return TextDatumGetCString(dp_get(row->values, SESSION_REASON));
}

static void
set_plan(dp_values *row, const dp_sparse_plan *plan)
{
	dp_set(row, SESSION_METHOD,
		   CStringGetTextDatum(dp_acct_sparse_name(plan->method)));
	dp_set(row, SESSION_TWO_SIDED, BoolGetDatum(plan->two_sided));
	dp_set(row, SESSION_NUMERIC, BoolGetDatum(plan->numeric));
	dp_set(row, SESSION_FRESH, BoolGetDatum(plan->fresh));
	set_int128(row, SESSION_THRESHOLD_SENSITIVITY,
			   plan->threshold_sensitivity);
	dp_set_fixed(row, SESSION_THRESHOLD_EPSILON, plan->threshold_epsilon);
	set_int128(row, SESSION_QUERY_SENSITIVITY, plan->query_sensitivity);
	dp_set_fixed(row, SESSION_QUERY_EPSILON, plan->query_epsilon);
	set_int128(row, SESSION_ANSWER_SENSITIVITY, plan->answer_sensitivity);
	dp_set_fixed(row, SESSION_ANSWER_EPSILON, plan->answer_epsilon);
	dp_set(row, SESSION_OFFSET, Int64GetDatum(plan->offset));
	set_int128(row, SESSION_ALPHA, plan->alpha);
	dp_set_fixed(row, SESSION_EPSILON, plan->charge.epsilon);
	dp_set_fixed(row, SESSION_RHO, plan->charge.rho);
	dp_set_fixed(row, SESSION_DELTA, plan->charge.delta);
}

/* dp_catalog_insert_session: all but `closed` and values are set. */
void
dp_catalog_insert_session(const dp_session_row *new)
{
	const dp_session *session = &new->session;
	const dp_session_terms *terms = &session->terms;
	dp_values	row;

	dp_row_start(&sessions, &row);
	dp_set(&row, SESSION_ID, Int64GetDatum(session->id));
	dp_set(&row, SESSION_KIND, CStringGetTextDatum(kind_name[terms->kind]));
	dp_set(&row, SESSION_ROLE, NameGetDatum(&new->role_name));
	dp_set(&row, SESSION_ROLE_OID, ObjectIdGetDatum(new->role));
	dp_set(&row, SESSION_CLUSTER, Int64GetDatum(new->cluster));
	dp_set(&row, SESSION_DATABASE, ObjectIdGetDatum(new->database));
	dp_set(&row, SESSION_DATASET, NameGetDatum(&terms->dataset));
	if (OidIsValid(new->payer))
	{
		dp_set(&row, SESSION_PAYER, NameGetDatum(&new->payer_name));
		dp_set(&row, SESSION_PAYER_OID, ObjectIdGetDatum(new->payer));
	}
	dp_set(&row, SESSION_PERIOD, Int64GetDatum(new->period));
	dp_set(&row, SESSION_RELATION_OID, ObjectIdGetDatum(terms->relid));
	dp_set(&row, SESSION_RELATION, CStringGetTextDatum(new->relation));
	dp_set(&row, SESSION_NEIGHBOURS,
		   CStringGetTextDatum(terms->replace_one ? "replace_one" :
							   "add_remove"));
	set_int128(&row, SESSION_SENSITIVITY, terms->sensitivity);
	dp_set(&row, SESSION_THRESHOLD, Int64GetDatum(terms->threshold));
	dp_set(&row, SESSION_QUESTIONS, Int64GetDatum(terms->questions));
	dp_set(&row, SESSION_CUTOFF, Int32GetDatum(terms->cutoff));
	dp_set(&row, SESSION_BETA, Float8GetDatum(terms->beta));
	set_plan(&row, &terms->plan);
	dp_set(&row, SESSION_ASKED, Int64GetDatum(session->asked));
	dp_set(&row, SESSION_ABOVE, Int32GetDatum(session->above));
	dp_set(&row, SESSION_BYTES_LEFT, Int64GetDatum(session->bytes_left));
	dp_set(&row, SESSION_OPENED, TimestampTzGetDatum(new->opened));
	dp_set(&row, SESSION_DETAILS, CStringGetTextDatum(session->details));
	dp_row_append(&sessions, &row, 1);
}

/*
 * dp_catalog_write_session
 *	  What changes of a session that was read and locked: the counts, and with
 *	  a reason the end.  All counts have a fixed size.
 */
void
dp_catalog_write_session(const dp_session_row *row, TimestampTz closed,
						 const char *reason)
{
	dp_values	values;

	dp_row_start(&sessions, &values);
	dp_set(&values, SESSION_ASKED, Int64GetDatum(row->session.asked));
	dp_set(&values, SESSION_ABOVE, Int32GetDatum(row->session.above));
	dp_set(&values, SESSION_BYTES_LEFT,
		   Int64GetDatum(row->session.bytes_left));
	if (reason)
	{
		dp_set(&values, SESSION_CLOSED, TimestampTzGetDatum(closed));
		dp_set(&values, SESSION_REASON, CStringGetTextDatum(reason));
	}
	dp_row_update(&sessions, row->tuple, &values);
}

/*
 * dp_catalog_read_secret
 *	  The armed threshold of a session; false when there is none, because the
 *	  session has ended or came out of a dump.
 */
bool
dp_catalog_read_secret(int64 id, dp_int128 *armed, HeapTuple *tuple)
{
	ScanKeyData key;
	dp_values	row;
	bytea	   *bytes;

	dp_row_key(&key, SECRET_SESSION, INT8OID, Int64GetDatum(id));
	if (dp_row_find(&secrets, NULL, &key, 1, NULL, DP_ROW_READ, tuple,
					&row) != DP_FOUND)
		return false;
	bytes = DatumGetByteaPP(dp_get(&row, SECRET_ARMED));
	if (VARSIZE_ANY_EXHDR(bytes) != sizeof(dp_int128))
		raise_corrupted("threshold");
	memcpy(armed, VARDATA_ANY(bytes), sizeof(dp_int128));
	return true;
}

/*
 * dp_catalog_write_secret
 *	  Arm a session: anew when the tuple is one that was read, else for the
 *	  first time.
 */
void
dp_catalog_write_secret(int64 id, dp_int128 armed, HeapTuple tuple)
{
	int32		space[(VARHDRSZ + sizeof(dp_int128)) / sizeof(int32)];
	bytea	   *bytes = (bytea *) space;
	dp_values	row;

	dp_row_start(&secrets, &row);
	dp_set(&row, SECRET_SESSION, Int64GetDatum(id));
	SET_VARSIZE(bytes, sizeof(space));
	memcpy(VARDATA(bytes), &armed, sizeof(armed));
	dp_set(&row, SECRET_ARMED, PointerGetDatum(bytes));
	if (tuple)
		dp_row_update(&secrets, tuple, &row);
	else
		dp_row_append(&secrets, &row, 1);
}

/* dp_catalog_delete_secret: disarm a session; the row was read. */
void
dp_catalog_delete_secret(HeapTuple tuple)
{
	dp_row_delete(&secrets, tuple);
}

static Datum
saturate(dp_int128 x)
{
	return Int64GetDatum(x > PG_INT64_MAX ? PG_INT64_MAX :
						 x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x);
}

/*
 * dp_catalog_append_question
 *	  One answered question; number is 0 unless it was "above".  The row takes
 *	  the same space whatever the other values are.
 */
void
dp_catalog_append_question(int64 id, int64 question, const char *predicate,
						   int32 number, dp_int128 answer, dp_int128 guess)
{
	dp_values	row;

	dp_row_start(&questions, &row);
	dp_set(&row, QUESTION_SESSION, Int64GetDatum(id));
	dp_set(&row, QUESTION_NUMBER, Int64GetDatum(question));
	dp_set(&row, QUESTION_ANSWER, saturate(answer));
	dp_set(&row, QUESTION_GUESS, saturate(guess));
	dp_set(&row, QUESTION_ABOVE_NUMBER, Int32GetDatum(number));
	dp_set(&row, QUESTION_ABOVE, BoolGetDatum(number > 0));
	dp_set(&row, QUESTION_PREDICATE, CStringGetTextDatum(predicate));
	dp_row_append(&questions, &row, 1);
}

/* dp_wanted */
static bool
is_above(const dp_values *row)
{
	return DatumGetBool(dp_get(row, QUESTION_ABOVE));
}

/*
 * dp_catalog_list_aboves
 *	  The "above"s of a session with asked_at > after, in order, of
 *	  dp_session_above *, palloc'd.
 *
 * No index lists "above"s alone, since an entry for them only would show in
 * what a question writes (doc/theory.md T60).  So all questions after `after`
 * are looked at, which the limit on their texts bounds, and "above"s are kept.
 */
List *
dp_catalog_list_aboves(int64 id, int64 after)
{
	ScanKeyData keys[2];
	List	   *aboves = NIL;
	ListCell   *lc;

	dp_row_key(&keys[0], QUESTION_SESSION, INT8OID, Int64GetDatum(id));
	ScanKeyInit(&keys[1], QUESTION_NUMBER, BTGreaterStrategyNumber, F_INT8GT,
				Int64GetDatum(after));
	foreach(lc, dp_row_list(&questions, NULL, keys, 2,
								   is_above))
	{
		const dp_values *row = lfirst(lc);
		dp_session_above *above = palloc0(sizeof(*above));

		above->number = DatumGetInt32(dp_get(row, QUESTION_ABOVE_NUMBER));
		above->asked_at = DatumGetInt64(dp_get(row, QUESTION_NUMBER));
		above->predicate =
			TextDatumGetCString(dp_get(row, QUESTION_PREDICATE));
		above->answer = DatumGetInt64(dp_get(row, QUESTION_ANSWER));
		above->guess = DatumGetInt64(dp_get(row, QUESTION_GUESS));
		aboves = lappend(aboves, above);
	}
	return aboves;
}
