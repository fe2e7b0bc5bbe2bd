/*
 * dp_keys.h
 *	  Public interface of keys: which expressions of GROUP BY have public
 *	  values.
 *
 * Include postgres.h first.
 */
#ifndef DP_KEYS_H
#define DP_KEYS_H

#include "access/tupdesc.h"
#include "datatype/timestamp.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"
#include "utils/array.h"
#include "utils/snapshot.h"

#include "../../base/dp_base.h"
#include "../domains/dp_domains.h"
#include "../rowsets/dp_rowsets.h"

/* ---- key.c ---- */
extern dp_refusal *dp_keys_classify(Node *expression, Node *base,
									Oid relid, dp_key *key);
extern dp_refusal *dp_keys_classify_image(Query *query, Node *base,
										  dp_key *key, dp_refusal *refusal,
										  Expr **column);
extern dp_refusal *dp_keys_classify_undeclared(Node *expression, dp_key *key,
											   dp_refusal *refusal);
extern dp_refusal *dp_keys_refuse_undeclared(const Aggref *aggregate);
extern Expr *dp_keys_no_unit(void);

/*
 * Whether the block has keys that are released by threshold.
 */
extern bool dp_keys_has_undeclared(const dp_block *block);

/*
 * The block in a form in which any of its keys can be released by threshold;
 * if every row is a unit, a copy with many = true.
 */
extern dp_block *dp_keys_release_keys(dp_block *block);

/* ---- key_joined.c ---- */
extern List *dp_keys_conjuncts(Query *query);
extern dp_refusal *dp_keys_find_key_conditions(const List *conjuncts,
											   Node *base, dp_key *key,
											   dp_refusal *refusal);
extern dp_refusal *dp_keys_classify_joined(const dp_block *block, Node *base,
										   const List *conjuncts,
										   const List *conditions,
										   dp_key *key, Node **values,
										   dp_refusal *refusal);
extern List *dp_keys_conditions(List *bases, const List *conjuncts);
extern List *dp_keys_join(const dp_block *block, const List *bases,
						  const List *conditions);

#endif							/* DP_KEYS_H */
