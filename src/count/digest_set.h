/*
 * digest_set.h
 *	  Private to the count room: the number of distinct values of each of many
 *	  owners, in bounded memory (digest_set.c).  Include postgres.h first.
 */
#ifndef DP_COUNT_DIGEST_SET_H
#define DP_COUNT_DIGEST_SET_H

/* Memory of one set, at least; a public constant. */
#define DP_DIGEST_MEMORY_LEAST ((Size) 1024 * 1024)

/* An owner of values; `distinct` is valid once the set is finished. */
typedef struct dp_digest_owner
{
	int64		distinct;
	uint64		mix;			/* private to the set */
	struct dp_digest_owner *next;	/* set by the set */
} dp_digest_owner;

typedef struct dp_digest_set dp_digest_set;

extern dp_digest_set *dp_count_digests_new(MemoryContext context, Size memory);
extern void dp_count_digests_own(dp_digest_set *set, dp_digest_owner *owner);
extern void dp_count_digests_add(dp_digest_set *set, dp_digest_owner *owner,
								 uint64 high, uint64 low);
/* The first of its owners, linked by `next`, or NULL. */
extern dp_digest_owner *dp_count_digests_owners(dp_digest_set *set);
extern void dp_count_digests_finish(dp_digest_set *set);

#endif							/* DP_COUNT_DIGEST_SET_H */
