/*
 * store.h
 *	  What the files of the store share: rows of sessions, and the requests
 *	  that the worker carries out on them.
 *
 * Who writes.  Only the ledger's worker writes dp_pg.session, session_secret
 * and session_question, in store_worker.c.  store.c runs in the
 * asking connection and sends requests, whose exact numbers come from the
 * process that reads the rows.
 */
#ifndef DP_SESSION_STORE_H
#define DP_SESSION_STORE_H

#include "session.h"

/*
 * Questions are kept forever.  Most bytes that the texts of one session may
 * have together, one counting as DP_SESSION_TEXT_LEAST bytes at least: its row
 * takes about as much again.
 */
#define DP_SESSION_TEXTS ((int64) 64 * 1024 * 1024)
#define DP_SESSION_TEXT_LEAST 64

/* A session with what the worker and the asking connection also need. */
typedef struct dp_session_row
{
	HeapTuple	tuple;			/* as read, palloc'd */
	dp_session	session;		/* details NULL until wanted */
	NameData	role_name;		/* as stored, like the next four */
	Oid			role;
	int64		cluster;
	Oid			database;
	NameData	payer_name;
	Oid			payer;			/* InvalidOid: exempt */
	int64		period;			/* of the payer's budget */
	text	   *relation;		/* its name; like the next, for the time of
								 * `tuple`; text_to_cstring decodes it */
	text	   *details;		/* state of its kind */
	TimestampTz opened;
	bool		closed;
	TimestampTz closed_at;
	char	   *reason;			/* NULL: still open */
} dp_session_row;

typedef enum dp_session_fate
{
	DP_SESSION_WELL,
	DP_SESSION_MISSING,			/* or another role's */
	DP_SESSION_ELSEWHERE,		/* of another cluster or database, or its
								 * threshold is gone */
	DP_SESSION_CLOSED,
	DP_SESSION_NO_ABOVES,		/* the cutoff was reached */
	DP_SESSION_NO_QUESTIONS,	/* all of them have been asked */
	DP_SESSION_NO_BYTES,		/* their texts take all that they may */
	DP_SESSION_TOO_LONG,		/* this text takes more than is left */
	DP_SESSION_ENDED,			/* the budget that paid was renewed, or
								 * another one pays now */
	DP_SESSION_NEIGHBOURS,		/* the dataset's have changed */
	DP_SESSION_STALE
} dp_session_fate;

typedef enum dp_session_act
{
	DP_SESSION_OPEN,			/* text: details */
	DP_SESSION_ASK,				/* text: predicate */
	DP_SESSION_CLOSE,
	DP_SESSION_FAIL				/* urgent: an ask failed while reading */
} dp_session_act;

/* A task of the worker; score and value of an ask are exact and private. */
typedef struct dp_session_task
{
	dp_session_act act;
	dp_session_kind kind;
	int64		id;				/* except to open */
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

/* store.c */
extern void dp_session_question_init(void);

/* store_worker.c */
extern dp_found dp_session_read(int64 id, dp_row_lock lock,
								dp_session_row *out);
extern dp_session_fate dp_session_judge(const dp_session_row *row);
extern bool dp_session_fits(const dp_session *session, const char *predicate);
extern const dp_task_methods dp_session_tasks;

#endif							/* DP_SESSION_STORE_H */
