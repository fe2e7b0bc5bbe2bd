/*
 * store.h
 *	  What the files of the store share: rows of sessions, and the requests
 *	  that the worker carries out on them.
 *
 * Who writes.  Only the ledger's worker writes dp_pg.session, session_secret
 * and session_question; store_worker.c is the whole of it.  store.c and
 * question.c run in the asking session and have requests carried out, whose
 * exact numbers come from who reads the rows.  store_row.c is used by both.
 */
#ifndef DP_SESSION_STORE_H
#define DP_SESSION_STORE_H

#include "../catalog/dp_table.h"
#include "session.h"

/*
 * Questions are kept for ever.  Most bytes that the texts of one session may
 * have together, one counting as DP_SESSION_TEXT_LEAST bytes at least: its
 * row takes about as much again.
 */
#define DP_SESSION_TEXTS ((int64) 64 * 1024 * 1024)
#define DP_SESSION_TEXT_LEAST 64

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

extern const dp_table dp_table_session;
extern const dp_table dp_table_secret;
extern const dp_table dp_table_question;

#define DP_TABLE_SESSION (&dp_table_session)
#define DP_TABLE_SECRET (&dp_table_secret)
#define DP_TABLE_QUESTION (&dp_table_question)

/* A session with what the store alone needs to know. */
typedef struct dp_session_row
{
	dp_session	session;		/* details NULL until wanted */
	NameData	role_name;		/* as stored, like the next four */
	Oid			role;
	int64		cluster;
	Oid			database;
	NameData	payer_name;
	Oid			payer;			/* InvalidOid: exempt */
	int64		period;			/* of the payer's budget */
	char	   *relation;
	TimestampTz opened;
	bool		closed;
	HeapTuple	tuple;			/* as read, palloc'd */
	dp_values	values;
} dp_session_row;

typedef enum dp_session_fate
{
	DP_SESSION_WELL,
	DP_SESSION_MISSING,			/* or somebody else's */
	DP_SESSION_ELSEWHERE,		/* of another cluster or database, or its
								 * threshold is gone */
	DP_SESSION_CLOSED,
	DP_SESSION_NO_ABOVES,		/* the cutoff was reached */
	DP_SESSION_NO_QUESTIONS,	/* all of them have been asked */
	DP_SESSION_NO_BYTES,		/* their texts take all that they may */
	DP_SESSION_TOO_LONG,		/* this text takes more than is left */
	DP_SESSION_ENDED,			/* the budget that paid was renewed, or
								 * another one pays now */
	DP_SESSION_NEIGHBOURS,		/* the dataset has others by now */
	DP_SESSION_STALE
} dp_session_fate;

typedef enum dp_session_act
{
	DP_SESSION_OPEN,			/* text: details */
	DP_SESSION_ASK,				/* text: predicate */
	DP_SESSION_CLOSE,
	DP_SESSION_FAIL				/* urgent: an ask failed while reading */
} dp_session_act;

/* A task of the worker; of an ask score and value are exact and private. */
typedef struct dp_session_task
{
	dp_session_act act;
	dp_session_kind kind;
	int64		id;				/* but for opening */
	dp_session_terms terms;		/* to open */
	int32		seen;			/* to ask, like the rest */
	dp_int128	score;
	dp_int128	value;
	dp_int128	guess;
} dp_session_task;

typedef struct dp_session_verdict
{
	dp_session_fate fate;
	int64		bytes_left;		/* TOO_LONG */
	dp_session_reply reply;		/* WELL, to ask */
} dp_session_verdict;

StaticAssertDecl(sizeof(dp_session_task) <= DP_TASK_DATA,
				 "tasks of sessions do not fit");
StaticAssertDecl(sizeof(dp_session_verdict) <= DP_TASK_REPLY,
				 "answers about sessions do not fit");

/* store_row.c */
extern dp_found dp_session_read_row(int64 id, dp_row_lock lock,
									dp_session_row *out);
extern void dp_session_insert(const dp_session_row *row);
extern void dp_session_write(const dp_session_row *row, TimestampTz closed,
							 const char *reason);
extern bool dp_session_read_secret(int64 id, dp_int128 *armed,
								   HeapTuple *tuple);
extern void dp_session_write_secret(int64 id, dp_int128 armed,
									HeapTuple tuple);
extern void dp_session_append_question(int64 id, int64 question,
									   const char *predicate, int32 number,
									   dp_int128 answer, dp_int128 guess);
extern dp_int128 dp_session_get_int128(const dp_values *row, int column);
extern dp_session_fate dp_session_judge(const dp_session_row *row);
extern bool dp_session_fits(const dp_session *session, const char *predicate);
extern void dp_session_count_text(dp_session *session, const char *predicate);

/* store.c */
extern void dp_session_raise_closed(int64 id, const char *detail);
extern void dp_session_raise_too_long(int64 id, int64 bytes_left,
									  const char *predicate);
extern void dp_session_raise_fate(dp_session_fate fate, int64 id,
								  const dp_session_terms *terms);
extern void dp_session_check_fate(const dp_session_row *row);
extern dp_session_task *dp_session_start_task(dp_ledger_request *request,
											  const NameData *dataset,
											  dp_session_act act);

/* question.c */
extern void dp_session_question_init(void);

/* store_worker.c */
extern const dp_task_methods dp_session_tasks;

#endif							/* DP_SESSION_STORE_H */
