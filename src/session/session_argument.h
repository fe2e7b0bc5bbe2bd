/*
 * session_argument.h
 *	  Arguments of this room's functions; session_argument.c has the
 *	  contracts.
 */
#ifndef DP_SESSION_ARGUMENT_H
#define DP_SESSION_ARGUMENT_H

#include "fmgr.h"

#include "session.h"

extern Oid	dp_session_relation(FunctionCallInfo fcinfo, int place,
								const char *function);
extern int64 dp_session_id(FunctionCallInfo fcinfo);
extern char *dp_session_predicate(FunctionCallInfo fcinfo);
extern dp_fixed dp_session_delta(FunctionCallInfo fcinfo, int place);

#endif							/* DP_SESSION_ARGUMENT_H */
