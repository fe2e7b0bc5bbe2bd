/*
 * session_sparse.h
 *	  What the calls of sparse vector share: their parameters, and the plan
 *	  made of them.
 */
#ifndef DP_SESSION_SPARSE_H
#define DP_SESSION_SPARSE_H

#include "session_argument.h"

/* Places of the parameters among the arguments of a function. */
typedef struct dp_sparse_places
{
	int			threshold;
	int			cutoff;
	int			epsilon;
	int			questions;		/* -1: there is no such argument */
	int			alpha;
	int			delta;
	int			confidence;
	int			method;
	int			numeric;
} dp_sparse_places;

/* A call as it was requested, and its plan; all public. */
typedef struct dp_sparse_call
{
	dp_sparse_request request;
	Numeric		alpha;			/* wanted; NULL: whatever is reached */
	dp_session_terms terms;		/* of plan_sparse */
	char		mechanism[DP_MECHANISM_LENGTH]; /* for the ledger */
	const char *rows;			/* dp_reading_rows_text */
} dp_sparse_call;

/* sparse_vector.c */
extern void dp_session_sparse_init(void);

#endif							/* DP_SESSION_SPARSE_H */
