/*
 * weights.h
 *	  What the calls of online multiplicative weights share.
 *
 * Such a session keeps as its details the universe and the public numbers that
 * its hypothesis is made of, as they were when it opened.  The hypothesis
 * itself is computed from them and from the session's "above"s.
 */
#ifndef DP_SESSION_WEIGHTS_H
#define DP_SESSION_WEIGHTS_H

#include "../account/dp_account.h"
#include "session_argument.h"

/* What dp_session.details holds. */
typedef struct dp_weights_details
{
	dp_universe *universe;
	int64		n;				/* public number of rows */
	dp_fixed	alpha;			/* answers are within 3 alpha n */
	dp_fixed	step;			/* of an update at least: eta */
} dp_weights_details;

/* A public distribution over the cells (hypothesis.c owns it). */
typedef struct dp_hypothesis
{
	int64		session;
	char	   *text;			/* the session's details */
	dp_weights_details details;
	int32		updates;		/* "above"s that it has learned from */
	int64		asked_at;		/* which question the last of them was */
	double		slack;			/* most rows that an answer is off by */
	double	   *probability;	/* adds up to 1 */
} dp_hypothesis;

/* weights_open.c */
extern char *dp_session_write_weights(const dp_weights_details *details);
extern void dp_session_read_weights(const char *text,
									dp_weights_details *out);

/* hypothesis.c */
extern dp_hypothesis *dp_session_hypothesis_of(const dp_session *session);
extern double dp_session_hypothesis_fraction(const dp_hypothesis *hypothesis,
											 const dp_linear_query *query);
extern int64 dp_session_hypothesis_count(const dp_hypothesis *hypothesis,
										 double fraction);

#endif							/* DP_SESSION_WEIGHTS_H */
