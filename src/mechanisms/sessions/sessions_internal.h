/*
 * sessions_internal.h
 *	  Private to sessions: interactive mechanisms whose state lives in the
 *	  catalog.
 */
#ifndef SESSIONS_INTERNAL_H
#define SESSIONS_INTERNAL_H

#include "fmgr.h"
#include "utils/numeric.h"

#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../readings/dp_readings.h"

/*
 * Interactive mechanisms whose state lives
 * in the catalog.
 *
 * Design.  A session is a row of dp_pg.session, and its noisy threshold a row
 * of dp_pg.session_secret that nobody may read.  Both are written by the
 * ledger's worker only.  Opening is one transaction of the worker: charge,
 * session, armed threshold.  An ask first has the private rows read; the
 * process that reads them, a reader unless the asker may read them anyway,
 * hands the exact value to the worker, which locks the session, draws,
 * compares, advances the state and commits; only then does it answer the
 * asker.  So what an answer reveals is on disk before anybody sees it; rolling
 * back, a crash or a second connection can neither take an "above" back nor
 * meet the same noise twice.  The charge was made for everything that a
 * session of these terms can ever answer.
 *
 * An error while an ask reads private rows closes the session.
 */

typedef enum dp_session_kind
{
	DP_SESSION_SPARSE_VECTOR,
	DP_SESSION_WEIGHTS
} dp_session_kind;

/* What is fixed when a session opens; all of it is public. */
typedef struct dp_session_terms
{
	dp_session_kind kind;
	Oid			relid;
	NameData	dataset;
	uint64		sensitivity;	/* of one count, for which the plan was made */
	int64		threshold;		/* T, without the plan's offset */
	int64		questions;		/* most that can be asked */
	int32		cutoff;			/* most "above"s */
	double		beta;			/* of the plan's alpha, for display */
	bool		replace_one;	/* the plan's neighbouring relation */
	dp_sparse_plan plan;
} dp_session_terms;

/* Current state of a session. */
typedef struct dp_session
{
	int64		id;				/* of the ledger's line that paid for it */
	dp_session_terms terms;
	int64		asked;
	int32		above;
	int64		bytes_left;		/* left for texts of questions */
	char	   *details;		/* state of its kind; never NULL */
} dp_session;

/* One "above" as it is stored; only its analyst may see it. */
typedef struct dp_session_above
{
	int32		number;			/* from 1 */
	int64		asked_at;		/* number of the question, from 1 */
	char	   *predicate;
	int64		answer;
	int64		guess;
} dp_session_above;

/*
 * A question, as far as it is public.  Its value is the sum of a reading's
 * counts, each times a weight, as a number of rows; a numeric answer adds
 * noise to it.  The score, which is compared with the threshold, is the value,
 * or how far it is from the guess.
 */
typedef struct dp_session_question
{
	const char *predicate;		/* kept with the answer */
	const int32 *weights;		/* of counts, in granules; NULL: 1 each */
	bool		distance;		/* the score is a distance */
	int32		seen;			/* "above"s that the guess was computed with;
								 * -1: it depends on none */
	dp_int128	guess;			/* weights: n f(x), kept with an "above" */
} dp_session_question;

typedef struct dp_session_reply
{
	bool		stale;			/* another "above" came first: nothing was
								 * drawn or counted, guess and ask again */
	bool		above;
	bool		numeric;		/* answer is set */
	dp_int128	answer;
	int64		asked;			/* this one included */
	int32		above_count;
} dp_session_reply;

/* session_store.c: all raise errors; no rollback undoes what they did */

/* Charge and open; returns the session's id.  Errors of dp_ledger_charge. */
extern int64 dp_sessions_open(const dp_session_terms *terms,
							  const char *details, int32 releases,
							  int64 fingerprint, const char *mechanism);
/*
 * The asking role's own session.  42704 no such session of this role; 42809
 * it is of another kind; 55000 closed; 53400 its "above"s, its questions or
 * the bytes of their texts are used up; 42P01 its relation is gone; the last
 * three not for `reading_only`.
 */
extern dp_session *dp_sessions_find(int64 id, dp_session_kind kind,
									bool reading_only);
extern void dp_sessions_close(int64 id, dp_session_kind kind);

/*
 * session_store.c: dp_sessions_ask reads and has the worker decide; once rows
 * are being read, any error, a cancel or a FATAL closes the session.
 */
extern void dp_sessions_check_predicate(const char *predicate);
extern void dp_sessions_ask(const dp_session *session, dp_reading *reading,
							const dp_session_question *question,
							dp_session_reply *reply);

/*
 * session_worker.c: the "above"s (dp_session_above *) of a session with
 * asked_at > after, in order, palloc'd.
 */
extern List *dp_sessions_list_aboves(int64 id, int64 after);

/* ---- sparse_vector.c ---- */
extern char *dp_sessions_charge_text(const dp_charge *charge, dp_fixed for_n,
									 const char *dataset);
extern char *dp_sessions_number_text(int64 n, const char *what);

/* ---- arguments of this room's functions (session_argument.c) ---- */

extern Oid	dp_sessions_relation(FunctionCallInfo fcinfo, int place,
								 const char *function);
extern int64 dp_sessions_id(FunctionCallInfo fcinfo);
extern char *dp_sessions_predicate(FunctionCallInfo fcinfo);
extern dp_fixed dp_sessions_delta(FunctionCallInfo fcinfo, int place);

/*
 * What the files of the store share: rows of sessions, and the requests
 * that the worker carries out on them.
 *
 * Who writes.  Only the ledger's worker writes dp_pg.session, session_secret
 * and session_question, in session_worker.c.  session_store.c runs in the
 * asking connection and sends requests, whose exact numbers come from the
 * process that reads the rows.
 */

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

/* ---- session_store.c ---- */
extern void dp_sessions_question_init(void);

/* ---- session_worker.c ---- */
extern dp_found dp_sessions_read(int64 id, dp_row_lock lock,
								 dp_session_row *out);
extern dp_session_fate dp_sessions_judge(const dp_session_row *row);
extern bool dp_sessions_fits(const dp_session *session, const char *predicate);
extern const dp_task_methods dp_sessions_tasks;

#endif							/* SESSIONS_INTERNAL_H */
