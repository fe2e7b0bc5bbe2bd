/*
 * answer_shared.c
 *	  Shared memory about stored answers: hits that are not yet written, and
 *	  when answers were discarded.
 *
 * A hit must be cheap, so it is counted here and written by the worker when it
 * next stores an answer.  Unwritten counts are lost when the server stops, or
 * when too many other answers have hits.
 *
 * An answer is not stored if its rows may have been read before answers of its
 * budget were discarded.  There is a mark for each budget, and for the owner
 * one for all budgets (payer InvalidOid).  If there are too few marks, the
 * oldest is removed, and its time then applies to all budgets.
 *
 * All of it is protected by one lock, which is never held while waiting.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/timestamp.h"

#include "answers.h"

#define MARKS 1024

typedef struct refresh_mark
{
	Oid			database;
	Oid			payer;
	NameData	dataset;
	TimestampTz at;				/* 0: not used */
} refresh_mark;

typedef struct shared_answers
{
	LWLock	   *lock;			/* immutable */
	uint8		secret[DP_REUSE_SECRET];	/* drawn at server start;
											 * immutable */
	int			nhits;
	dp_hit		hit[DP_REUSE_HITS];
	TimestampTz forgotten;		/* time of the latest removed mark */
	refresh_mark mark[MARKS];
} shared_answers;

static shared_answers *shared = NULL;

static Size
shared_size(void)
{
	return sizeof(shared_answers);
}

static void
start_shared(void *area, bool fresh, LWLock *lock)
{
	shared = area;
	if (!fresh)
		return;
	shared->lock = lock;
	if (!pg_strong_random(shared->secret, sizeof(shared->secret)))
		elog(ERROR, "could not draw a random number");
}

/* dp_reuse_shared_init: ask for the memory; from _PG_init, preloading. */
void
dp_reuse_shared_init(void)
{
	dp_bridge_share("dp_pg_answers", shared_size, start_shared);
}

/* dp_reuse_copy_secret: the secret that is mixed into lock tags. */
void
dp_reuse_copy_secret(uint8 *out)
{
	memcpy(out, shared->secret, DP_REUSE_SECRET);
}

/* ---- hits ---- */

/* The count of an answer, or NULL; the caller holds the lock. */
static dp_hit *
find_hit(int64 id)
{
	int			i;

	for (i = 0; i < shared->nhits; i++)
		if (shared->hit[i].id == id && shared->hit[i].database == MyDatabaseId)
			return &shared->hit[i];
	return NULL;
}

/* An unused count, or the least recently used one. */
static dp_hit *
take_hit(void)
{
	dp_hit	   *oldest = &shared->hit[0];
	int			i;

	if (shared->nhits < DP_REUSE_HITS)
		return &shared->hit[shared->nhits++];
	for (i = 1; i < DP_REUSE_HITS; i++)
		if (shared->hit[i].last < oldest->last)
			oldest = &shared->hit[i];
	return oldest;
}

/* dp_reuse_count_hit: an answer was given again. */
void
dp_reuse_count_hit(int64 id)
{
	TimestampTz now = GetCurrentTimestamp();
	dp_hit	   *hit;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	hit = find_hit(id);
	if (hit == NULL)
	{
		hit = take_hit();
		hit->database = MyDatabaseId;
		hit->id = id;
		hit->hits = 0;
	}
	hit->hits++;
	hit->last = now;
	LWLockRelease(shared->lock);
}

/* dp_reuse_recent_hits: add unwritten hits to a row. */
void
dp_reuse_recent_hits(dp_answer_row *row)
{
	const dp_hit *hit;

	LWLockAcquire(shared->lock, LW_SHARED);
	hit = find_hit(row->id);
	if (hit != NULL)
	{
		row->hits += hit->hits;
		row->last_hit = hit->last;
	}
	LWLockRelease(shared->lock);
}

/* dp_reuse_copy_hits: counts of this database, at most DP_REUSE_HITS. */
int
dp_reuse_copy_hits(dp_hit *hits)
{
	int			n = 0;
	int			i;

	LWLockAcquire(shared->lock, LW_SHARED);
	for (i = 0; i < shared->nhits; i++)
		if (shared->hit[i].database == MyDatabaseId)
			hits[n++] = shared->hit[i];
	LWLockRelease(shared->lock);
	return n;
}

/* dp_reuse_take_hits: subtract written hits; there may be newer ones. */
void
dp_reuse_take_hits(const dp_hit *hits, int n)
{
	int			i;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	for (i = 0; i < n; i++)
	{
		dp_hit	   *hit = find_hit(hits[i].id);

		if (hit == NULL)
			continue;
		hit->hits -= hits[i].hits;
		if (hit->hits <= 0)
			*hit = shared->hit[--shared->nhits];
	}
	LWLockRelease(shared->lock);
}

/* ---- discarded answers ---- */

static bool
is_mark_of(const refresh_mark *mark, const NameData *dataset, Oid payer)
{
	return mark->database == MyDatabaseId && mark->payer == payer &&
		strcmp(NameStr(mark->dataset), NameStr(*dataset)) == 0;
}

/* The mark of a budget; otherwise the oldest one, or an unused one. */
static refresh_mark *
find_mark(const NameData *dataset, Oid payer)
{
	refresh_mark *oldest = &shared->mark[0];
	int			i;

	for (i = 0; i < MARKS; i++)
	{
		refresh_mark *mark = &shared->mark[i];

		if (is_mark_of(mark, dataset, payer))
			return mark;
		if (mark->at < oldest->at)
			oldest = mark;
	}
	return oldest;
}

/* dp_reuse_mark_refresh: the answers of a budget are discarded now. */
void
dp_reuse_mark_refresh(const NameData *dataset, Oid payer, TimestampTz at)
{
	refresh_mark *mark;

	LWLockAcquire(shared->lock, LW_EXCLUSIVE);
	mark = find_mark(dataset, payer);
	if (!is_mark_of(mark, dataset, payer))
		shared->forgotten = Max(shared->forgotten, mark->at);
	mark->database = MyDatabaseId;
	mark->payer = payer;
	mark->dataset = *dataset;
	mark->at = at;
	LWLockRelease(shared->lock);
}

/*
 * dp_reuse_was_refreshed
 *	  Whether answers of a budget may have been discarded at this time or
 *	  later.
 */
bool
dp_reuse_was_refreshed(const NameData *dataset, Oid payer, TimestampTz at)
{
	const Oid	payers[] = {payer, InvalidOid};
	bool		refreshed;
	int			i;

	LWLockAcquire(shared->lock, LW_SHARED);
	refreshed = shared->forgotten >= at;
	for (i = 0; i < lengthof(payers); i++)
	{
		const refresh_mark *mark = find_mark(dataset, payers[i]);

		if (is_mark_of(mark, dataset, payers[i]) && mark->at >= at)
			refreshed = true;
	}
	LWLockRelease(shared->lock);
	return refreshed;
}
