/*
 * store_row.c
 *	  Rows of dp_pg.session, session_secret and session_question.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "store.h"

#define SESSION_KEY "session_pkey"
#define SECRET_KEY "session_secret_pkey"

const dp_table dp_table_session = {"session", SESSION_END - 1};
const dp_table dp_table_secret = {"session_secret", SECRET_END - 1};
const dp_table dp_table_question = {"session_question", QUESTION_END - 1};

static const char *const kind_name[] = {"sparse_vector", "weights"};

static void
raise_corrupted(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the catalog of sessions holds an invalid %s", what)));
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

/* dp_session_get_int128: what set_int128 has set. */
dp_int128
dp_session_get_int128(const dp_values *row, int column)
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
		dp_session_get_int128(row, SESSION_THRESHOLD_SENSITIVITY);
	plan->threshold_epsilon = dp_get_fixed(row, SESSION_THRESHOLD_EPSILON);
	plan->query_sensitivity =
		dp_session_get_int128(row, SESSION_QUERY_SENSITIVITY);
	plan->query_epsilon = dp_get_fixed(row, SESSION_QUERY_EPSILON);
	plan->answer_sensitivity =
		dp_session_get_int128(row, SESSION_ANSWER_SENSITIVITY);
	plan->answer_epsilon = dp_get_fixed(row, SESSION_ANSWER_EPSILON);
	plan->offset = DatumGetInt64(dp_get(row, SESSION_OFFSET));
	plan->alpha = dp_session_get_int128(row, SESSION_ALPHA);
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
	terms->sensitivity = dp_session_get_int128(row, SESSION_SENSITIVITY);
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

/* dp_session_read_row: a session, locked as told. */
dp_found
dp_session_read_row(int64 id, dp_row_lock lock, dp_session_row *out)
{
	ScanKeyData key;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_row_key(&key, SESSION_ID, INT8OID, Int64GetDatum(id));
	found = dp_row_find(DP_TABLE_SESSION, SESSION_KEY, &key, 1, NULL, lock,
						&out->tuple, &out->values);
	if (found == DP_FOUND)
		fetch(&out->values, out);
	return found;
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

/* dp_session_insert: a new session; all but `closed` and values are set. */
void
dp_session_insert(const dp_session_row *new)
{
	const dp_session *session = &new->session;
	const dp_session_terms *terms = &session->terms;
	dp_values	row;

	dp_row_start(DP_TABLE_SESSION, &row);
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
	dp_row_append(DP_TABLE_SESSION, &row, 1);
}

/*
 * dp_session_write
 *	  What changes of a session that was read and locked: the counts, and with
 *	  a reason the end.  All counts have a fixed size.
 */
void
dp_session_write(const dp_session_row *row, TimestampTz closed,
				 const char *reason)
{
	dp_values	values;

	dp_row_start(DP_TABLE_SESSION, &values);
	dp_set(&values, SESSION_ASKED, Int64GetDatum(row->session.asked));
	dp_set(&values, SESSION_ABOVE, Int32GetDatum(row->session.above));
	dp_set(&values, SESSION_BYTES_LEFT,
		   Int64GetDatum(row->session.bytes_left));
	if (reason)
	{
		dp_set(&values, SESSION_CLOSED, TimestampTzGetDatum(closed));
		dp_set(&values, SESSION_REASON, CStringGetTextDatum(reason));
	}
	dp_row_update(DP_TABLE_SESSION, row->tuple, &values);
}

/*
 * dp_session_read_secret
 *	  The armed threshold of a session; false when there is none, because the
 *	  session has ended or came out of a dump.
 */
bool
dp_session_read_secret(int64 id, dp_int128 *armed, HeapTuple *tuple)
{
	ScanKeyData key;
	dp_values	row;
	bytea	   *bytes;

	dp_row_key(&key, SECRET_SESSION, INT8OID, Int64GetDatum(id));
	if (dp_row_find(DP_TABLE_SECRET, SECRET_KEY, &key, 1, NULL, DP_ROW_READ,
					tuple, &row) != DP_FOUND)
		return false;
	bytes = DatumGetByteaPP(dp_get(&row, SECRET_ARMED));
	if (VARSIZE_ANY_EXHDR(bytes) != sizeof(dp_int128))
		raise_corrupted("threshold");
	memcpy(armed, VARDATA_ANY(bytes), sizeof(dp_int128));
	return true;
}

/*
 * dp_session_write_secret
 *	  Arm a session: anew when the tuple is one that was read, else for the
 *	  first time.
 */
void
dp_session_write_secret(int64 id, dp_int128 armed, HeapTuple tuple)
{
	int32		space[(VARHDRSZ + sizeof(dp_int128)) / sizeof(int32)];
	bytea	   *bytes = (bytea *) space;
	dp_values	row;

	dp_row_start(DP_TABLE_SECRET, &row);
	dp_set(&row, SECRET_SESSION, Int64GetDatum(id));
	SET_VARSIZE(bytes, sizeof(space));
	memcpy(VARDATA(bytes), &armed, sizeof(armed));
	dp_set(&row, SECRET_ARMED, PointerGetDatum(bytes));
	if (tuple)
		dp_row_update(DP_TABLE_SECRET, tuple, &row);
	else
		dp_row_append(DP_TABLE_SECRET, &row, 1);
}

static Datum
saturate(dp_int128 x)
{
	return Int64GetDatum(x > PG_INT64_MAX ? PG_INT64_MAX :
						 x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x);
}

/*
 * dp_session_append_question
 *	  One answered question; number is 0 unless it was "above".  The row takes
 *	  the same space whatever the other values are.
 */
void
dp_session_append_question(int64 id, int64 question, const char *predicate,
						   int32 number, dp_int128 answer, dp_int128 guess)
{
	dp_values	row;

	dp_row_start(DP_TABLE_QUESTION, &row);
	dp_set(&row, QUESTION_SESSION, Int64GetDatum(id));
	dp_set(&row, QUESTION_NUMBER, Int64GetDatum(question));
	dp_set(&row, QUESTION_ANSWER, saturate(answer));
	dp_set(&row, QUESTION_GUESS, saturate(guess));
	dp_set(&row, QUESTION_ABOVE_NUMBER, Int32GetDatum(number));
	dp_set(&row, QUESTION_ABOVE, BoolGetDatum(number > 0));
	dp_set(&row, QUESTION_PREDICATE, CStringGetTextDatum(predicate));
	dp_row_append(DP_TABLE_QUESTION, &row, 1);
}

/*
 * dp_session_judge
 *	  May the session still be asked, as far as its own row tells?
 */
dp_session_fate
dp_session_judge(const dp_session_row *row)
{
	const dp_session *session = &row->session;

	if (row->cluster != dp_bridge_cluster_id() ||
		row->database != MyDatabaseId)
		return DP_SESSION_ELSEWHERE;
	if (row->closed)
		return DP_SESSION_CLOSED;
	if (session->above >= session->terms.cutoff)
		return DP_SESSION_NO_ABOVES;
	if (session->asked >= session->terms.questions)
		return DP_SESSION_NO_QUESTIONS;
	if (session->bytes_left <= 0)
		return DP_SESSION_NO_BYTES;
	return DP_SESSION_WELL;
}

/* dp_session_fits: may a question with this text still be kept? */
bool
dp_session_fits(const dp_session *session, const char *predicate)
{
	return (int64) strlen(predicate) <= session->bytes_left;
}

/* dp_session_count_text: a question with this text is kept. */
void
dp_session_count_text(dp_session *session, const char *predicate)
{
	int64		bytes = Max(strlen(predicate), DP_SESSION_TEXT_LEAST);

	session->bytes_left = Max(session->bytes_left - bytes, 0);
}
