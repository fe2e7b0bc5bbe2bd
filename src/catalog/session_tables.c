/*
 * session_tables.c
 *	  Rows of sessions, of their thresholds and questions, and of released
 *	  tables.
 */
#include "postgres.h"

#include <math.h>

#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"

#include "table_access.h"

/* ----------------
 *		Rows of dp_pg.session, session_secret and session_question.
 * ----------------
 */

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
 *	  Lock the three tables until the end of the transaction, and check that
 *	  they are the extension's.
 *
 * Errors: 55000 when the extension is not installed here, 55P03.
 */
void
dp_catalog_lock_sessions(LOCKMODE mode)
{
	table_close(dp_catalog_open_table(&sessions, mode), NoLock);
	table_close(dp_catalog_open_table(&secrets, mode), NoLock);
	table_close(dp_catalog_open_table(&questions, mode), NoLock);
}

static dp_session_kind
get_kind(const dp_values *row)
{
	char	   *name = dp_catalog_get_text(row, SESSION_KIND);
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

	if (!dp_acct_sparse_parse(dp_catalog_get_text(row, SESSION_METHOD),
							  &method))
		raise_corrupted("method");
	return method;
}

/* Set a numeric column to an integer. */
static void
set_int128(dp_values *row, int column, dp_int128 x)
{
	dp_catalog_set(row, column,
				   NumericGetDatum(dp_bridge_int128_to_numeric(x)));
}

/* Get a column set by set_int128. */
static dp_int128
get_int128(const dp_values *row, int column)
{
	dp_int128	x = 0;
	Datum		value = dp_catalog_get(row, column);

	if (!dp_bridge_numeric_to_int128(DatumGetNumeric(value), &x))
		raise_corrupted("number");
	return x;
}

static void
fetch_plan(const dp_values *row, dp_sparse_plan *plan)
{
	plan->method = get_method(row);
	plan->two_sided = dp_catalog_get_bool(row, SESSION_TWO_SIDED);
	plan->numeric = dp_catalog_get_bool(row, SESSION_NUMERIC);
	plan->fresh = dp_catalog_get_bool(row, SESSION_FRESH);
	plan->threshold_sensitivity =
		get_int128(row, SESSION_THRESHOLD_SENSITIVITY);
	plan->threshold_epsilon =
		dp_catalog_get_fixed(row, SESSION_THRESHOLD_EPSILON);
	plan->query_sensitivity =
		get_int128(row, SESSION_QUERY_SENSITIVITY);
	plan->query_epsilon = dp_catalog_get_fixed(row, SESSION_QUERY_EPSILON);
	plan->answer_sensitivity =
		get_int128(row, SESSION_ANSWER_SENSITIVITY);
	plan->answer_epsilon = dp_catalog_get_fixed(row, SESSION_ANSWER_EPSILON);
	plan->offset = dp_catalog_get_int64(row, SESSION_OFFSET);
	plan->alpha = get_int128(row, SESSION_ALPHA);
	plan->charge.epsilon = dp_catalog_get_fixed(row, SESSION_EPSILON);
	plan->charge.rho = dp_catalog_get_fixed(row, SESSION_RHO);
	plan->charge.delta = dp_catalog_get_fixed(row, SESSION_DELTA);
}

static void
session_fetch(const dp_values *row, dp_session_row *out)
{
	dp_session *session = &out->session;
	dp_session_terms *terms = &session->terms;

	session->id = dp_catalog_get_int64(row, SESSION_ID);
	session->asked = dp_catalog_get_int64(row, SESSION_ASKED);
	session->above = dp_catalog_get_int32(row, SESSION_ABOVE);
	session->bytes_left = dp_catalog_get_int64(row, SESSION_BYTES_LEFT);
	terms->kind = get_kind(row);
	terms->relid = dp_catalog_get_oid(row, SESSION_RELATION_OID);
	terms->dataset = dp_catalog_get_name(row, SESSION_DATASET);
	terms->replace_one = dp_catalog_get_neighbours(row, SESSION_NEIGHBOURS);
	terms->sensitivity = get_int128(row, SESSION_SENSITIVITY);
	terms->threshold = dp_catalog_get_int64(row, SESSION_THRESHOLD);
	terms->questions = dp_catalog_get_int64(row, SESSION_QUESTIONS);
	terms->cutoff = dp_catalog_get_int32(row, SESSION_CUTOFF);
	terms->beta = dp_catalog_get_double(row, SESSION_BETA);
	fetch_plan(row, &terms->plan);
	out->role = dp_catalog_get_oid(row, SESSION_ROLE_OID);
	out->role_name = dp_catalog_get_name(row, SESSION_ROLE);
	out->cluster = dp_catalog_get_int64(row, SESSION_CLUSTER);
	out->database = dp_catalog_get_oid(row, SESSION_DATABASE);
	if (!dp_catalog_is_null(row, SESSION_PAYER))
	{
		out->payer_name = dp_catalog_get_name(row, SESSION_PAYER);
		out->payer = dp_catalog_get_oid(row, SESSION_PAYER_OID);
	}
	out->period = dp_catalog_get_int64(row, SESSION_PERIOD);
	out->opened = dp_catalog_get_time(row, SESSION_OPENED);
	out->closed = !dp_catalog_is_null(row, SESSION_CLOSED);
}

/* dp_catalog_read_session: a session, locked as `lock` says. */
dp_found
dp_catalog_read_session(int64 id, dp_row_lock lock, dp_session_row *out)
{
	ScanKeyData key;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	out->values = palloc(sizeof(dp_values));
	dp_catalog_key(&key, SESSION_ID, INT8OID, Int64GetDatum(id));
	found =
		dp_catalog_find_row(&sessions, NULL, &key, 1, NULL, lock, &out->tuple,
							out->values);
	if (found == DP_FOUND)
		session_fetch(out->values, out);
	return found;
}

/* dp_catalog_session_details: state of its kind, never NULL. */
char *
dp_catalog_session_details(const dp_session_row *row)
{
	return dp_catalog_get_text(row->values, SESSION_DETAILS);
}

/* dp_catalog_session_relation: the relation's name at the opening. */
char *
dp_catalog_session_relation(const dp_session_row *row)
{
	return dp_catalog_get_text(row->values, SESSION_RELATION);
}

/* dp_catalog_session_reason: why it was closed; NULL: still open. */
char *
dp_catalog_session_reason(const dp_session_row *row)
{
	if (dp_catalog_is_null(row->values, SESSION_REASON))
		return NULL;
	return dp_catalog_get_text(row->values, SESSION_REASON);
}

static void
set_plan(dp_values *row, const dp_sparse_plan *plan)
{
	dp_catalog_set_text(row, SESSION_METHOD,
						dp_acct_sparse_name(plan->method));
	dp_catalog_set_bool(row, SESSION_TWO_SIDED, plan->two_sided);
	dp_catalog_set_bool(row, SESSION_NUMERIC, plan->numeric);
	dp_catalog_set_bool(row, SESSION_FRESH, plan->fresh);
	set_int128(row, SESSION_THRESHOLD_SENSITIVITY,
			   plan->threshold_sensitivity);
	dp_catalog_set_fixed(row, SESSION_THRESHOLD_EPSILON,
						 plan->threshold_epsilon);
	set_int128(row, SESSION_QUERY_SENSITIVITY, plan->query_sensitivity);
	dp_catalog_set_fixed(row, SESSION_QUERY_EPSILON, plan->query_epsilon);
	set_int128(row, SESSION_ANSWER_SENSITIVITY, plan->answer_sensitivity);
	dp_catalog_set_fixed(row, SESSION_ANSWER_EPSILON, plan->answer_epsilon);
	dp_catalog_set_int64(row, SESSION_OFFSET, plan->offset);
	set_int128(row, SESSION_ALPHA, plan->alpha);
	dp_catalog_set_fixed(row, SESSION_EPSILON, plan->charge.epsilon);
	dp_catalog_set_fixed(row, SESSION_RHO, plan->charge.rho);
	dp_catalog_set_fixed(row, SESSION_DELTA, plan->charge.delta);
}

/* dp_catalog_insert_session: insert a new row; `closed` is not used. */
void
dp_catalog_insert_session(const dp_session_row *new)
{
	const dp_session *session = &new->session;
	const dp_session_terms *terms = &session->terms;
	dp_values	row;

	dp_catalog_start_row(&sessions, &row);
	dp_catalog_set_int64(&row, SESSION_ID, session->id);
	dp_catalog_set_text(&row, SESSION_KIND, kind_name[terms->kind]);
	dp_catalog_set_name(&row, SESSION_ROLE, &new->role_name);
	dp_catalog_set_oid(&row, SESSION_ROLE_OID, new->role);
	dp_catalog_set_int64(&row, SESSION_CLUSTER, new->cluster);
	dp_catalog_set_oid(&row, SESSION_DATABASE, new->database);
	dp_catalog_set_name(&row, SESSION_DATASET, &terms->dataset);
	if (OidIsValid(new->payer))
	{
		dp_catalog_set_name(&row, SESSION_PAYER, &new->payer_name);
		dp_catalog_set_oid(&row, SESSION_PAYER_OID, new->payer);
	}
	dp_catalog_set_int64(&row, SESSION_PERIOD, new->period);
	dp_catalog_set_oid(&row, SESSION_RELATION_OID, terms->relid);
	dp_catalog_set_text(&row, SESSION_RELATION, new->relation);
	dp_catalog_set_neighbours(&row, SESSION_NEIGHBOURS, terms->replace_one);
	set_int128(&row, SESSION_SENSITIVITY, terms->sensitivity);
	dp_catalog_set_int64(&row, SESSION_THRESHOLD, terms->threshold);
	dp_catalog_set_int64(&row, SESSION_QUESTIONS, terms->questions);
	dp_catalog_set_int32(&row, SESSION_CUTOFF, terms->cutoff);
	dp_catalog_set_double(&row, SESSION_BETA, terms->beta);
	set_plan(&row, &terms->plan);
	dp_catalog_set_int64(&row, SESSION_ASKED, session->asked);
	dp_catalog_set_int32(&row, SESSION_ABOVE, session->above);
	dp_catalog_set_int64(&row, SESSION_BYTES_LEFT, session->bytes_left);
	dp_catalog_set_time(&row, SESSION_OPENED, new->opened);
	dp_catalog_set_text(&row, SESSION_DETAILS, session->details);
	dp_catalog_append_rows(&sessions, &row, 1);
}

/*
 * dp_catalog_write_session
 *	  Update a session that was read and locked: the counts, and if there is a
 *	  reason, the end.  All counts have a fixed size.
 */
void
dp_catalog_write_session(const dp_session_row *row, TimestampTz closed,
						 const char *reason)
{
	dp_values	values;

	dp_catalog_start_row(&sessions, &values);
	dp_catalog_set_int64(&values, SESSION_ASKED, row->session.asked);
	dp_catalog_set_int32(&values, SESSION_ABOVE, row->session.above);
	dp_catalog_set_int64(&values, SESSION_BYTES_LEFT, row->session.bytes_left);
	if (reason)
	{
		dp_catalog_set_time(&values, SESSION_CLOSED, closed);
		dp_catalog_set_text(&values, SESSION_REASON, reason);
	}
	dp_catalog_update_row(&sessions, row->tuple, &values);
}

/*
 * dp_catalog_read_secret
 *	  The armed threshold of a session; false if there is none, because the
 *	  session has ended or comes from a dump.
 */
bool
dp_catalog_read_secret(int64 id, dp_int128 *armed, HeapTuple *tuple)
{
	ScanKeyData key;
	dp_values	row;
	bytea	   *bytes;

	dp_catalog_key(&key, SECRET_SESSION, INT8OID, Int64GetDatum(id));
	if (dp_catalog_find_row(&secrets, NULL, &key, 1, NULL, DP_ROW_READ, tuple,
							&row) != DP_FOUND)
		return false;
	bytes = DatumGetByteaPP(dp_catalog_get(&row, SECRET_ARMED));
	if (VARSIZE_ANY_EXHDR(bytes) != sizeof(dp_int128))
		raise_corrupted("threshold");
	memcpy(armed, VARDATA_ANY(bytes), sizeof(dp_int128));
	return true;
}

/*
 * dp_catalog_write_secret
 *	  Arm a session: again if `tuple` was read, for the first time if NULL.
 */
void
dp_catalog_write_secret(int64 id, dp_int128 armed, HeapTuple tuple)
{
	int32		space[(VARHDRSZ + sizeof(dp_int128)) / sizeof(int32)];
	bytea	   *bytes = (bytea *) space;
	dp_values	row;

	dp_catalog_start_row(&secrets, &row);
	dp_catalog_set_int64(&row, SECRET_SESSION, id);
	SET_VARSIZE(bytes, sizeof(space));
	memcpy(VARDATA(bytes), &armed, sizeof(armed));
	dp_catalog_set(&row, SECRET_ARMED, PointerGetDatum(bytes));
	if (tuple)
		dp_catalog_update_row(&secrets, tuple, &row);
	else
		dp_catalog_append_rows(&secrets, &row, 1);
}

/* dp_catalog_delete_secret: disarm a session; the row was read. */
void
dp_catalog_delete_secret(HeapTuple tuple)
{
	dp_catalog_delete_row(&secrets, tuple);
}

static Datum
saturate(dp_int128 x)
{
	return Int64GetDatum(x > PG_INT64_MAX ? PG_INT64_MAX :
						 x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x);
}

/*
 * dp_catalog_append_question
 *	  Insert an answered question; number is 0 unless it was "above".  The size
 *	  of the row depends only on the predicate.
 */
void
dp_catalog_append_question(int64 id, int64 question, const char *predicate,
						   int32 number, dp_int128 answer, dp_int128 guess)
{
	dp_values	row;

	dp_catalog_start_row(&questions, &row);
	dp_catalog_set_int64(&row, QUESTION_SESSION, id);
	dp_catalog_set_int64(&row, QUESTION_NUMBER, question);
	dp_catalog_set(&row, QUESTION_ANSWER, saturate(answer));
	dp_catalog_set(&row, QUESTION_GUESS, saturate(guess));
	dp_catalog_set_int32(&row, QUESTION_ABOVE_NUMBER, number);
	dp_catalog_set_bool(&row, QUESTION_ABOVE, number > 0);
	dp_catalog_set_text(&row, QUESTION_PREDICATE, predicate);
	dp_catalog_append_rows(&questions, &row, 1);
}

/* dp_wanted */
static bool
session_is_above(const dp_values *row)
{
	return dp_catalog_get_bool(row, QUESTION_ABOVE);
}

/*
 * dp_catalog_list_aboves
 *	  The "above"s (dp_session_above *) of a session with asked_at > after, in
 *	  order, palloc'd.
 *
 * There is no index on "above"s only, because its entries would show in what a
 * question writes (doc/theory.md T60).  So all questions after `after`, whose
 * number is bounded by the limit on their texts, are read.
 */
List *
dp_catalog_list_aboves(int64 id, int64 after)
{
	ScanKeyData keys[2];
	List	   *aboves = NIL;
	ListCell   *lc;

	dp_catalog_key(&keys[0], QUESTION_SESSION, INT8OID, Int64GetDatum(id));
	ScanKeyInit(&keys[1], QUESTION_NUMBER, BTGreaterStrategyNumber, F_INT8GT,
				Int64GetDatum(after));
	foreach(lc,
			dp_catalog_list_rows(&questions, NULL, keys, 2, session_is_above))
	{
		const dp_values *row = lfirst(lc);
		dp_session_above *above = palloc0(sizeof(*above));

		above->number = dp_catalog_get_int32(row, QUESTION_ABOVE_NUMBER);
		above->asked_at = dp_catalog_get_int64(row, QUESTION_NUMBER);
		above->predicate = dp_catalog_get_text(row, QUESTION_PREDICATE);
		above->answer = dp_catalog_get_int64(row, QUESTION_ANSWER);
		above->guess = dp_catalog_get_int64(row, QUESTION_GUESS);
		aboves = lappend(aboves, above);
	}
	return aboves;
}

/* ----------------
 *		Rows of dp_pg.released: released tables.
 * ----------------
 */

/* Columns in the order of sql/84_smalldb.sql. */
enum
{
	RELEASED_ID = 1,
	RELEASED_ROLE,
	RELEASED_ROLE_OID,
	RELEASED_CLUSTER,
	RELEASED_DATASET,
	RELEASED_AT,
	RELEASED_WHAT,
	RELEASED_ERROR,
	RELEASED_RESULTS,
	RELEASED_END
};


static const dp_table releases = {"released", RELEASED_END - 1};

static Datum
json_of(const char *text)
{
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(text));
}

/*
 * dp_catalog_insert_release
 *	  Insert a release without results; `what` is a JSON text.
 */
void
dp_catalog_insert_release(const dp_release_row *new, const char *what)
{
	dp_values	row;

	dp_catalog_start_row(&releases, &row);
	dp_catalog_set_int64(&row, RELEASED_ID, new->id);
	dp_catalog_set_name(&row, RELEASED_ROLE, &new->role_name);
	dp_catalog_set_oid(&row, RELEASED_ROLE_OID, new->role);
	dp_catalog_set_int64(&row, RELEASED_CLUSTER, dp_bridge_cluster_id());
	dp_catalog_set_name(&row, RELEASED_DATASET, &new->dataset);
	dp_catalog_set_time(&row, RELEASED_AT, new->at);
	dp_catalog_set(&row, RELEASED_WHAT, json_of(what));
	dp_catalog_append_rows(&releases, &row, 1);
}

/* dp_catalog_read_release: a release, locked as `lock` says. */
dp_found
dp_catalog_read_release(int64 id, dp_row_lock lock, dp_release_row *out)
{
	ScanKeyData key;
	dp_values	row;
	dp_found	found;

	MemSet(out, 0, sizeof(*out));
	dp_catalog_key(&key, RELEASED_ID, INT8OID, Int64GetDatum(id));
	found = dp_catalog_find_row(&releases, NULL, &key, 1, NULL, lock,
								&out->tuple, &row);
	if (found != DP_FOUND)
		return found;
	out->id = id;
	out->role_name = dp_catalog_get_name(&row, RELEASED_ROLE);
	out->role = dp_catalog_get_oid(&row, RELEASED_ROLE_OID);
	out->dataset = dp_catalog_get_name(&row, RELEASED_DATASET);
	out->at = dp_catalog_get_time(&row, RELEASED_AT);
	out->complete = !dp_catalog_is_null(&row, RELEASED_RESULTS);
	return DP_FOUND;
}

/*
 * dp_catalog_complete_release
 *	  Write the results, a JSON text, and the error (NaN: none) of a release
 *	  that was read and locked.
 */
void
dp_catalog_complete_release(const dp_release_row *row, double error,
							const char *results)
{
	dp_values	values;

	dp_catalog_start_row(&releases, &values);
	if (!isnan(error))
		dp_catalog_set_double(&values, RELEASED_ERROR, error);
	dp_catalog_set(&values, RELEASED_RESULTS, json_of(results));
	dp_catalog_update_row(&releases, row->tuple, &values);
}
