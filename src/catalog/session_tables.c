/*
 * session_tables.c
 *	  Rows of sessions, of their thresholds and questions, and of released
 *	  tables.
 */
#include "postgres.h"

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

static const char *
kind_label(int i)
{
	static const char *const labels[] = {"sparse_vector", "weights"};

	return i < lengthof(labels) ? labels[i] : NULL;
}

static const char *
method_label(int i)
{
	return dp_acct_sparse_name((dp_sparse_method) i);
}

/* What updates write. */
#define SESSION_COUNTS 1
#define SESSION_CLOSING 2

/* In the order of sql/25_session.sql. */
#define DP_ROW dp_session_row
static const dp_column session_columns[] = {
	DP_COL("id", VALUE, session.id, 0),
	DP_COL_LABELS("kind", session.terms.kind, 0, kind_label),
	DP_COL("role", BYTES, role_name, 0),
	DP_COL("role_oid", VALUE, role, 0),
	DP_COL("cluster", VALUE, cluster, 0),
	DP_COL("database", VALUE, database, 0),
	DP_COL("dataset", BYTES, session.terms.dataset, 0),
	DP_COL_IF("payer", BYTES, payer_name, 0, payer),
	DP_COL_OR_NULL("payer_oid", VALUE, payer, 0),
	DP_COL("period", VALUE, period, 0),
	DP_COL("relation_oid", VALUE, session.terms.relid, 0),
	DP_COL("relation", LONG, relation, 0),
	DP_COL_NEIGHBOURS("neighbours", session.terms.replace_one, 0),
	DP_COL("sensitivity", INT128, session.terms.sensitivity, 0),
	DP_COL("threshold", VALUE, session.terms.threshold, 0),
	DP_COL("questions", VALUE, session.terms.questions, 0),
	DP_COL("cutoff", VALUE, session.terms.cutoff, 0),
	DP_COL("beta", VALUE, session.terms.beta, 0),
	DP_COL_LABELS("method", session.terms.plan.method, 0, method_label),
	DP_COL("two_sided", VALUE, session.terms.plan.two_sided, 0),
	DP_COL("numeric_answers", VALUE, session.terms.plan.numeric, 0),
	DP_COL("fresh", VALUE, session.terms.plan.fresh, 0),
	DP_COL("threshold_sensitivity", INT128,
			  session.terms.plan.threshold_sensitivity, 0),
	DP_COL("threshold_epsilon", FIXED,
			  session.terms.plan.threshold_epsilon, 0),
	DP_COL("query_sensitivity", INT128,
			  session.terms.plan.query_sensitivity, 0),
	DP_COL("query_epsilon", FIXED, session.terms.plan.query_epsilon, 0),
	DP_COL("answer_sensitivity", INT128,
			  session.terms.plan.answer_sensitivity, 0),
	DP_COL("answer_epsilon", FIXED, session.terms.plan.answer_epsilon, 0),
	DP_COL("threshold_offset", VALUE, session.terms.plan.offset, 0),
	DP_COL("alpha", INT128, session.terms.plan.alpha, 0),
	DP_COL("epsilon", FIXED, session.terms.plan.charge.epsilon, 0),
	DP_COL("rho", FIXED, session.terms.plan.charge.rho, 0),
	DP_COL("delta", FIXED, session.terms.plan.charge.delta, 0),
	DP_COL("asked", VALUE, session.asked, SESSION_COUNTS),
	DP_COL("above", VALUE, session.above, SESSION_COUNTS),
	DP_COL("bytes_left", VALUE, session.bytes_left, SESSION_COUNTS),
	DP_COL("opened", VALUE, opened, 0),
	DP_COL_IF("closed", VALUE, closed_at, SESSION_CLOSING, closed),
	DP_COL_OR_NULL("reason", TEXT, reason, SESSION_CLOSING),
	DP_COL("details", LONG, details, 0)
};
#undef DP_ROW

typedef struct secret_row
{
	HeapTuple	tuple;
	int64		session;
	bytea	   *armed;
} secret_row;

#define SECRET_ARM 1			/* what an update writes */

#define DP_ROW secret_row
static const dp_column secret_columns[] = {
	DP_COL("session", VALUE, session, 0),
	DP_COL("armed", LONG, armed, SECRET_ARM)
};
#undef DP_ROW

typedef struct question_row
{
	int64		session;
	dp_session_above asked;
	bool		above;
} question_row;

#define DP_ROW question_row
static const dp_column question_columns[] = {
	DP_COL("session", VALUE, session, 0),
	DP_COL("question", VALUE, asked.asked_at, 0),
	DP_COL("answer", VALUE, asked.answer, 0),
	DP_COL("guess", VALUE, asked.guess, 0),
	DP_COL("number", VALUE, asked.number, 0),
	DP_COL("above", VALUE, above, 0),
	DP_COL("predicate", TEXT, asked.predicate, 0)
};
#undef DP_ROW

static const dp_table sessions = DP_TABLE("session", dp_session_row,
										  session_columns);
static const dp_table secrets = DP_TABLE("session_secret", secret_row,
										 secret_columns);
static const dp_table questions = DP_TABLE("session_question", question_row,
										   question_columns);

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

/* dp_catalog_read_session: a session, locked as `lock` says. */
dp_found
dp_catalog_read_session(int64 id, dp_row_lock lock, dp_session_row *out)
{
	ScanKeyData key;

	dp_catalog_key(&key, &sessions, "id", Int64GetDatum(id));
	return dp_catalog_find_row(&sessions, NULL, &key, 1, NULL, lock, out);
}

/* dp_catalog_insert_session: insert a new row. */
void
dp_catalog_insert_session(const dp_session_row *new)
{
	dp_catalog_insert_rows(&sessions, new, 1);
}

/*
 * dp_catalog_write_session
 *	  Update a session that was read and locked: the counts, and if it is
 *	  closed, the end.  All counts have a fixed size.
 */
void
dp_catalog_write_session(const dp_session_row *row)
{
	dp_catalog_update_row(&sessions, row, row->closed ?
						  SESSION_COUNTS | SESSION_CLOSING : SESSION_COUNTS);
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
	secret_row	row;
	bytea	   *bytes;

	dp_catalog_key(&key, &secrets, "session", Int64GetDatum(id));
	if (dp_catalog_find_row(&secrets, NULL, &key, 1, NULL, DP_ROW_READ,
							&row) != DP_FOUND)
		return false;
	*tuple = row.tuple;
	bytes = DatumGetByteaPP(PointerGetDatum(row.armed));
	if (VARSIZE_ANY_EXHDR(bytes) != sizeof(dp_int128))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the threshold of a session is invalid")));
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
	secret_row	row = {tuple, id, (bytea *) space};

	SET_VARSIZE(row.armed, sizeof(space));
	memcpy(VARDATA(row.armed), &armed, sizeof(armed));
	if (tuple)
		dp_catalog_update_row(&secrets, &row, SECRET_ARM);
	else
		dp_catalog_insert_rows(&secrets, &row, 1);
}

/* dp_catalog_delete_secret: disarm a session; the row was read. */
void
dp_catalog_delete_secret(HeapTuple tuple)
{
	dp_catalog_delete_row(&secrets, tuple);
}

static int64
saturate(dp_int128 x)
{
	return x > PG_INT64_MAX ? PG_INT64_MAX :
		x < PG_INT64_MIN ? PG_INT64_MIN : (int64) x;
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
	question_row row = {0};

	row.session = id;
	row.asked.asked_at = question;
	row.asked.answer = saturate(answer);
	row.asked.guess = saturate(guess);
	row.asked.number = number;
	row.asked.predicate = unconstify(char *, predicate);
	row.above = number > 0;
	dp_catalog_insert_rows(&questions, &row, 1);
}

/* dp_wanted */
static bool
session_is_above(const void *row)
{
	return ((const question_row *) row)->above;
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

	dp_catalog_key(&keys[0], &questions, "session", Int64GetDatum(id));
	ScanKeyInit(&keys[1], dp_catalog_column(&questions, "question"),
				BTGreaterStrategyNumber, F_INT8GT, Int64GetDatum(after));
	foreach(lc, dp_catalog_list_rows(&questions, NULL, keys, 2,
									 session_is_above, 0))
		aboves = lappend(aboves, &((question_row *) lfirst(lc))->asked);
	return aboves;
}

/* ----------------
 *		Rows of dp_pg.released: released tables.
 * ----------------
 */

#define RELEASE_RESULTS 1		/* what an update writes */

/* In the order of sql/84_smalldb.sql. */
#define DP_ROW dp_release_row
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

static const dp_table releases = DP_TABLE("released", dp_release_row,
										  release_columns);

/* dp_catalog_insert_release: insert a release without results. */
void
dp_catalog_insert_release(dp_release_row *new)
{
	new->cluster = dp_bridge_cluster_id();
	dp_catalog_insert_rows(&releases, new, 1);
}

/* dp_catalog_read_release: a release, locked as `lock` says. */
dp_found
dp_catalog_read_release(int64 id, dp_row_lock lock, dp_release_row *out)
{
	ScanKeyData key;

	dp_catalog_key(&key, &releases, "id", Int64GetDatum(id));
	return dp_catalog_find_row(&releases, NULL, &key, 1, NULL, lock, out);
}

/*
 * dp_catalog_complete_release
 *	  Write results and error of a release that was read and locked.
 */
void
dp_catalog_complete_release(const dp_release_row *row)
{
	dp_catalog_update_row(&releases, row, RELEASE_RESULTS);
}
