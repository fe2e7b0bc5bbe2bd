/*
 * dp_answers.h
 *	  Public interface of answers: stored ones, and what a process keeps for
 *	  the next runs of a plan.
 *
 * Include postgres.h first.
 */
#ifndef DP_ANSWERS_H
#define DP_ANSWERS_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../reader/dp_reader.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../joined/dp_joined.h"
#include "../inner/dp_inner.h"
#include "../prepare/dp_prepare.h"

extern void dp_answers_init(void);	/* from _PG_init, preloading only */

/* ---- the key (answer_key.c) ---- */

/* One value in the text of a key, and how its type is stored. */
typedef struct dp_answer_value
{
	Size		at;
	Size		length;
	int16		typlen;
	bool		byval;
	char		align;
} dp_answer_value;

/* The parts of such a text (answer_key.c). */
typedef struct dp_answer_layout
{
	Size		common_at;		/* offset of the common part */
	Size		common;			/* length of the common part */
	int			n;				/* values */
	dp_answer_value *values;
} dp_answer_layout;

typedef struct dp_answer_key
{
	char	   *text;			/* compared, and stored with the answer */
	Size		length;
	dp_answer_layout layout;
	uint8		digest[DP_SHA256_BYTES];	/* of the text */
	int64		hash;			/* of the common part */
} dp_answer_key;

/* ---- finding (answer_store.c) ---- */

typedef struct dp_found_answer
{
	int64		id;				/* of the line of the ledger that paid */
	TimestampTz at;
	bytea	   *content;
	dp_answer_layout layout;	/* of the stored text */
	int		   *places;			/* of the requested values in it */
} dp_found_answer;

/* ---- kept.c ---- */
typedef struct dp_kept_rows
{
	Tuplestorestate *store;
	TupleTableSlot *slot;
	struct dp_group_order *order;	/* undeclared keys; or NULL */
} dp_kept_rows;

extern void dp_answers_store_row(void *context, const void *data, Size size);
extern bool dp_answers_kept_standing(int64 nonce, int index,
									 dp_ledger_standing *out);
extern Tuplestorestate *dp_answers_give_kept(int64 nonce, int index,
											 TupleDesc result, dp_stamp *stamp,
											 bool *stamped,
											 TimestampTz *stored_at);
extern void dp_answers_keep(int64 nonce, int index, const dp_stamp *stamp,
							const dp_ledger_standing *standing,
							TupleDesc result,
							TimestampTz stored_at, Tuplestorestate *store);

extern bool dp_answers_follows_from_plan(const dp_release_spec *spec,
										 const List *parameters,
										 ParamListInfo values);
extern uint64 dp_answers_find_job(int64 nonce, int index,
								  const dp_ledger_standing **standing,
								  const List **named);
extern Tuplestorestate *dp_answers_do_kept_job(uint64 number, int64 nonce,
											   int index, EState *estate,
											   TupleDesc result);
extern dp_kept_job *dp_answers_want_job(int64 nonce, int index,
										const dp_stamp *stamp,
										const dp_ledger_standing *standing,
										const List *named,
										const dp_release_spec *spec);
extern bool dp_answers_seal_job(dp_kept_job *wanted, dp_reader_job *job);
extern void dp_answers_keep_job(dp_kept_job *wanted);

/* ---- stored_answer.c ---- */

/* A release that runs, or that EXPLAIN looks at (run.c). */
typedef struct dp_release
{
	const dp_release_spec *spec;
	const dp_ledger_standing *standing;
	TupleDesc	result;
	dp_kept_job *wanted;		/* what its job is kept with, or NULL */
	dp_inner	run;
	Query	   *inner;			/* made ready */
	dp_joined_rows *joined;		/* or NULL */
	dp_joined_sizes sizes;		/* of these */
	bool		by_units;		/* private rows are gathered by unit */
	dp_ledger_request request;
	dp_ledger_receipt receipt;
} dp_release;

typedef struct dp_answer_stored
{
	bool		found;
	dp_found_answer answer;		/* if found */
	dp_answer_key *key;			/* of the answer found; else, locked, of the
								 * one to be stored; or NULL */
	TimestampTz rows_at;		/* the answer is no older than this */
} dp_answer_stored;

extern void dp_answers_find(const dp_release *release, bool wait,
							dp_answer_stored *out);
extern void dp_answers_give(const dp_release *release,
							const dp_answer_stored *stored,
							Tuplestorestate *store);
extern void dp_answers_keep_stored(const dp_release *release,
								   const dp_answer_stored *stored,
								   Tuplestorestate *store);

#endif							/* DP_ANSWERS_H */
