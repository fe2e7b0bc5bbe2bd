/*
 * dp_accounting_functions.h
 *	  Public interface of the SQL functions of accounting.
 *
 * Include postgres.h first.
 */
#ifndef DP_ACCOUNTING_FUNCTIONS_H
#define DP_ACCOUNTING_FUNCTIONS_H

#include "utils/numeric.h"

#include "../../math/accounting/dp_accounting.h"

/* ---- online multiplicative weights (accounting.c) ---- */
extern dp_fixed dp_accounting_functions_alpha(Numeric x);
extern void dp_accounting_functions_weights(const dp_weights_request *request,
											bool noisy, dp_weights_plan *out);

#endif							/* DP_ACCOUNTING_FUNCTIONS_H */
