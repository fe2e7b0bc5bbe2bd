/*
 * key.h
 *	  Private to the query folder: classification of group keys.
 */
#ifndef DP_QUERY_KEY_H
#define DP_QUERY_KEY_H

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_collation.h"
#include "utils/formatting.h"
#include "utils/syscache.h"

#include "dp_query.h"

extern dp_refusal *dp_query_classify_key(Node *expression, Node *base,
										 Oid relid, dp_key *key);

#endif							/* DP_QUERY_KEY_H */
