/*
 * dp_account.h
 *	  Public interface of the account room: the SQL functions of accounting,
 *	  and the plan that they share with sessions.
 *
 * Include postgres.h first.
 */
#ifndef DP_ACCOUNT_H
#define DP_ACCOUNT_H

#include "../bridge/dp_bridge.h"

/* ---- online multiplicative weights (accounting.c) ---- */
extern dp_fixed dp_account_weights_alpha(Numeric x);
extern void dp_account_weights_plan(const dp_weights_request *request,
									bool noisy, dp_weights_plan *out);

#endif							/* DP_ACCOUNT_H */
