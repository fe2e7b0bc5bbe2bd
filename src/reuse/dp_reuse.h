/*
 * dp_reuse.h
 *	  Public interface of the reuse room: stored answers.
 *
 * A release that is identical to an earlier one is answered with the values
 * released then, and nothing is charged, since the asker's budget has already
 * paid for them (doc/theory.md T130).  Releases are identical if they have the
 * same key: everything that determines the released values, except the private
 * rows and the noise.  An answer with more values than requested can be used,
 * too (T132).
 *
 * Include postgres.h first.
 */
#ifndef DP_REUSE_H
#define DP_REUSE_H

#include "executor/tuptable.h"
#include "utils/tuplestore.h"

#include "../measure/dp_measure.h"

extern void dp_reuse_init(void);	/* from _PG_init, preloading only */

/* ---- the key (answer_key.c) ---- */

/* One value in the text of a key, and how its type is stored. */
typedef struct dp_reuse_value
{
	Size		at;
	Size		length;
	int16		typlen;
	bool		byval;
	char		align;
} dp_reuse_value;

/* The parts of such a text (answer_key.c). */
typedef struct dp_reuse_layout
{
	Size		common_at;		/* offset of the common part */
	Size		common;			/* length of the common part */
	int			n;				/* values */
	dp_reuse_value *values;
} dp_reuse_layout;

typedef struct dp_reuse_key
{
	char	   *text;			/* compared, and stored with the answer */
	Size		length;
	dp_reuse_layout layout;
	uint8		digest[DP_SHA256_BYTES];	/* of the text */
	int64		hash;			/* of the common part */
} dp_reuse_key;

/* What the key is made from; not modified. */
typedef struct dp_reuse_asked
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
} dp_reuse_asked;

/* NULL: the release can neither be stored nor answered from storage. */
extern dp_reuse_key *dp_reuse_make_key(const dp_reuse_asked *asked);

/* ---- finding (answer_store.c) ---- */

typedef struct dp_reuse_answer
{
	int64		id;				/* of the line of the ledger that paid */
	TimestampTz at;
	bytea	   *content;
	dp_reuse_layout layout;		/* of the stored text */
	int		   *places;			/* of the requested values in it */
} dp_reuse_answer;

extern bool dp_reuse_find(const dp_reuse_key *key,
						  const dp_ledger_standing *standing,
						  dp_reuse_answer *out);
extern bool dp_reuse_lock(const dp_reuse_key *key);
extern void dp_reuse_unlock(const dp_reuse_key *key);

/* ---- counting (answer_store.c) ---- */
extern void dp_reuse_count_hit(int64 id);

/* ---- rows of an answer as bytes (answer_store.c) ---- */
extern bytea *dp_reuse_pack(Tuplestorestate *store, TupleDesc result,
							Size most, int64 *rows);
extern void dp_reuse_put_rows(const bytea *content, TupleDesc result,
							  Tuplestorestate *store);
extern void dp_reuse_unpack(const dp_reuse_answer *answer,
							const dp_reuse_key *key, TupleDesc result,
							int nkeys, Tuplestorestate *store);

/* ---- what may be stored (answer_store.c) ---- */
extern bool dp_reuse_may_store(void);
extern TimestampTz dp_reuse_time_of_rows(void);

/* ---- storing (answer_store.c) ---- */
extern void dp_reuse_store(const dp_reuse_key *key,
						   const dp_ledger_standing *standing,
						   const char *dataset, int64 ledger_id,
						   TimestampTz at, Tuplestorestate *store,
						   TupleDesc result);

#endif							/* DP_REUSE_H */
