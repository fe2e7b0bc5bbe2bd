/*
 * key.h
 *	  Private to the query folder: classification of group keys.
 */
#ifndef DP_QUERY_KEY_H
#define DP_QUERY_KEY_H

#include "dp_query.h"

extern dp_refusal *dp_query_classify_key(Node *expression, Node *base,
										 Oid relid, dp_key *key);

#endif							/* DP_QUERY_KEY_H */
