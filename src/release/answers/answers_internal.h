/*
 * answers_internal.h
 *	  Private to answers: their keys, and how they are stored and kept.
 *
 * Include postgres.h first.
 */
#ifndef ANSWERS_INTERNAL_H
#define ANSWERS_INTERNAL_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "storage/lwlock.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "dp_answers.h"

/* ---- the key (answer_key.c) ---- */

/* What the key is made from; not modified. */
typedef struct dp_answer_asked
{
	const dp_release_spec *spec;
	const dp_ledger_standing *standing;
	Query	   *inner;			/* without parameters; exact aggregates */
	List	   *scans;			/* of Query *: of other private relations */
	const uint8 *joined;		/* digest of public rows, or NULL */
	int64		fanout;			/* bounds of joined rows; also widest */
	Size		widest;
	bool		by_units;		/* private rows are named rows, too */
	TupleDesc	result;
} dp_answer_asked;

/* NULL: the release can neither be stored nor answered from storage. */
extern dp_answer_key *dp_answers_make_key(const dp_answer_asked *asked);

/*
 * What its files share.
 */

/* ---- answer_key.c ---- */
extern bool dp_answers_match(const dp_answer_key *key, const char *text,
							 Size length, dp_answer_layout *out, int *places);
extern TupleDesc dp_answers_stored_columns(const dp_answer_layout *stored,
										   TupleDesc result, int nkeys,
										   bool errors);

/* ---- finding (answer_store.c) ---- */

extern bool dp_answers_find_stored(const dp_answer_key *key,
								   const dp_ledger_standing *standing,
								   dp_found_answer *out);
extern bool dp_answers_lock(const dp_answer_key *key);
extern void dp_answers_unlock(const dp_answer_key *key);

/* ---- counting (answer_store.c) ---- */
extern void dp_answers_count_hit(int64 id);

/* ---- rows of an answer as bytes (answer_store.c) ---- */
extern bytea *dp_answers_pack(Tuplestorestate *store, TupleDesc result,
							  Size most, int64 *rows);
extern void dp_answers_put_rows(const bytea *content, TupleDesc result,
								Tuplestorestate *store);
extern void dp_answers_unpack(const dp_found_answer *answer,
							  const dp_answer_key *key, TupleDesc result,
							  int nkeys, Tuplestorestate *store);

/* ---- what may be stored (answer_store.c) ---- */
extern bool dp_answers_may_store(void);
extern TimestampTz dp_answers_time_of_rows(void);

/* ---- storing (answer_store.c) ---- */
extern void dp_answers_store(const dp_answer_key *key,
							 const dp_ledger_standing *standing,
							 const char *dataset, int64 ledger_id,
							 TimestampTz at, Tuplestorestate *store,
							 TupleDesc result);

typedef enum dp_answer_action
{
	DP_ANSWER_STORE,
	DP_ANSWER_REFRESH
} dp_answer_action;

/* ---- tasks for the worker (answer_store.c) ---- */

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

/* ---- shared memory (answer_store.c) ---- */

typedef struct dp_hit
{
	Oid			database;
	int64		id;
	int64		hits;
	TimestampTz last;
} dp_hit;

#define DP_ANSWERS_HITS 1024
#define DP_ANSWERS_SECRET 32	/* bytes */

/* ---- kept.c ---- */
#define DP_ANSWERS_KEPT 64

typedef struct dp_kept
{
	MemoryContext context;		/* holds the struct that begins with this, and
								 * all that it points to */
	int64		nonce;
	int			index;
} dp_kept;

typedef struct dp_kept_ring
{
	dp_kept    *entry[DP_ANSWERS_KEPT];
	int			next;			/* the next to be overwritten */
} dp_kept_ring;

#endif							/* ANSWERS_INTERNAL_H */
