/*
 * argument.h
 *	  What functions of this folder are given and answer; argument.c has the
 *	  contracts.  `floats`: numbers are double precision.
 */
#ifndef DP_SESSION_ARGUMENT_H
#define DP_SESSION_ARGUMENT_H

#include "fmgr.h"

#include "session.h"

extern void dp_session_require(FunctionCallInfo fcinfo, int place,
							   const char *what);
extern Oid	dp_session_relation(FunctionCallInfo fcinfo, int place,
								const char *function);
extern int64 dp_session_id(FunctionCallInfo fcinfo);
extern char *dp_session_predicate(FunctionCallInfo fcinfo);
extern Numeric dp_session_number(FunctionCallInfo fcinfo, int place,
								 bool floats);
extern dp_fixed dp_session_epsilon(FunctionCallInfo fcinfo, int place,
								   bool floats);
extern dp_fixed dp_session_delta(FunctionCallInfo fcinfo, int place,
								 bool floats);
extern dp_fixed dp_session_beta(FunctionCallInfo fcinfo, int place,
								bool floats, const char *promise);
extern dp_sparse_method dp_session_method(FunctionCallInfo fcinfo, int place);
extern Datum dp_session_make_row(FunctionCallInfo fcinfo, Datum *values,
								 bool *nulls);

#endif							/* DP_SESSION_ARGUMENT_H */
