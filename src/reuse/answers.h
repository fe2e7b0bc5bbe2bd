/*
 * answers.h
 *	  Private to the reuse room: what its files share.
 */
#ifndef DP_REUSE_ANSWERS_H
#define DP_REUSE_ANSWERS_H

#include "lib/stringinfo.h"
#include "storage/lwlock.h"

#include "dp_reuse.h"

/* ---- tasks for the worker (answer_store.c) ---- */

typedef enum dp_answer_action
{
	DP_ANSWER_STORE,
	DP_ANSWER_REFRESH
} dp_answer_action;

/*
 * For DP_ANSWER_STORE the task's text is the key, then the rows in hexadecimal
 * digits.  Nothing here is private: the rows were released.
 */
typedef struct dp_answer_task
{
	dp_answer_action action;
	Oid			payer;
	int64		period;
	int64		ledger_id;
	TimestampTz at;
	int64		rows;
	uint64		key_length;
	uint8		digest[DP_SHA256_BYTES];
	int64		hash;
} dp_answer_task;

typedef struct dp_answer_reply
{
	int64		refreshed;		/* number of discarded answers */
} dp_answer_reply;

/* ---- answer_key.c ---- */
extern bool dp_reuse_match(const dp_reuse_key *key, const char *text,
						   Size length, dp_reuse_layout *out, int *places);
extern TupleDesc dp_reuse_stored_columns(const dp_reuse_layout *stored,
										 TupleDesc result, int nkeys,
										 bool errors);

/* ---- shared memory (answer_store.c) ---- */

typedef struct dp_hit
{
	Oid			database;
	int64		id;
	int64		hits;
	TimestampTz last;
} dp_hit;

#define DP_REUSE_HITS 1024
#define DP_REUSE_SECRET 32		/* bytes */

#endif							/* DP_REUSE_ANSWERS_H */
