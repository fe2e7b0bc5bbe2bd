/*
 * session.h
 *	  Private to the session room: interactive mechanisms whose state lives
 *	  in the catalog.
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
#ifndef DP_SESSION_SESSION_H
#define DP_SESSION_SESSION_H

#include "../workload/dp_workload.h"
#include "dp_session.h"

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

/* store.c: all raise errors; no rollback undoes what they did */

/* Charge and open; returns the session's id.  Errors of dp_ledger_charge. */
extern int64 dp_session_open(const dp_session_terms *terms,
							 const char *details, int32 releases,
							 int64 fingerprint, const char *mechanism);
/*
 * The asking role's own session.  42704 no such session of this role; 42809
 * it is of another kind; 55000 closed; 53400 its "above"s, its questions or
 * the bytes of their texts are used up; 42P01 its relation is gone; the last
 * three not for `reading_only`.
 */
extern dp_session *dp_session_find(int64 id, dp_session_kind kind,
								   bool reading_only);
extern void dp_session_close(int64 id, dp_session_kind kind);

/*
 * store.c: dp_session_ask reads and has the worker decide; once rows are
 * being read, any error, a cancel or a FATAL closes the session.
 */
extern void dp_session_check_predicate(const char *predicate);
extern void dp_session_ask(const dp_session *session, dp_reading *reading,
						   const dp_session_question *question,
						   dp_session_reply *reply);

/*
 * store_worker.c: the "above"s (dp_session_above *) of a session with
 * asked_at > after, in order, palloc'd.
 */
extern List *dp_session_list_aboves(int64 id, int64 after);

/* sparse_vector.c */
extern char *dp_session_tell_charge(const dp_charge *charge, dp_fixed for_n,
									const char *dataset);
extern char *dp_session_tell_number(int64 n, const char *what);

#endif							/* DP_SESSION_SESSION_H */
