/*
 * find_answer.c
 *	  Find a stored answer, or wait for one that is being made.
 *
 * If several connections ask the same query at once, the one that holds the
 * lock of the key pays and the others wait.  It is a PostgreSQL lock, so that
 * cancel, lock_timeout and the deadlock detector end a wait for it, and it is
 * released if its holder's transaction fails.  Then the next connection pays.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/timestamp.h"

#include "answers.h"

/* The fourth field of the lock's name; users' advisory locks have 1 or 2. */
#define LOCK_FIELD 0xDB50

/*
 * The tag is a digest with a secret: otherwise a user could look in pg_locks
 * for queries that others may ask.
 */
static void
set_tag(LOCKTAG *tag, const dp_reuse_key *key)
{
	uint8		bytes[DP_REUSE_SECRET + DP_SHA256_BYTES];
	uint8		digest[DP_SHA256_BYTES];
	uint32		name[2];

	dp_reuse_copy_secret(bytes);
	memcpy(bytes + DP_REUSE_SECRET, key->digest, DP_SHA256_BYTES);
	dp_bridge_sha256(bytes, sizeof(bytes), digest);
	memcpy(name, digest, sizeof(name));
	SET_LOCKTAG_ADVISORY(*tag, MyDatabaseId, name[0], name[1], LOCK_FIELD);
}

/*
 * dp_reuse_lock
 *	  Acquire the right to make the answer of a key.  Returns whether that had
 *	  to wait for another process.
 *
 * Errors: 55P03, 57014, 40P01.
 */
bool
dp_reuse_lock(const dp_reuse_key *key)
{
	LOCKTAG		tag;

	set_tag(&tag, key);
	if (LockAcquire(&tag, ExclusiveLock, false, true) !=
		LOCKACQUIRE_NOT_AVAIL)
		return false;
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	return true;
}

/* dp_reuse_unlock: release the lock; errors release it, too. */
void
dp_reuse_unlock(const dp_reuse_key *key)
{
	LOCKTAG		tag;

	set_tag(&tag, key);
	(void) LockRelease(&tag, ExclusiveLock, false);
}

/*
 * dp_reuse_is_of_here
 *	  Whether it was stored in this database of this cluster.
 */
bool
dp_reuse_is_of_here(const dp_answer_row *row)
{
	return row->cluster == dp_bridge_cluster_id() &&
		row->database == MyDatabaseId;
}

typedef struct answer_search
{
	const dp_reuse_key *key;
	const dp_ledger_standing *standing;
	bool		found;
	dp_reuse_answer *out;		/* the youngest one so far */
} answer_search;

/*
 * dp_answer_wanted: whether it is younger than the one found so far, and
 * acceptable.
 */
static bool
is_wanted(const dp_answer_row *row, void *context)
{
	answer_search *search = context;
	const dp_reuse_key *key = search->key;
	TimestampTz now = GetCurrentTimestamp();
	dp_reuse_layout layout;
	int		   *places;

	if (row->payer != search->standing->payer_role ||
		!dp_reuse_is_of_here(row) || row->at > now ||
		now - row->at > dp_bridge_reuse_age() ||
		(search->found && row->at <= search->out->at))
		return false;
	places = palloc(sizeof(int) * Max(key->layout.n, 1));
	if (!dp_reuse_match(key, VARDATA_ANY(row->key),
						VARSIZE_ANY_EXHDR(row->key), &layout, places))
		return false;
	search->found = true;
	search->out->id = row->id;
	search->out->at = row->at;
	search->out->layout = layout;
	search->out->places = places;
	return true;
}

/*
 * dp_reuse_find
 *	  The youngest answer that has all values of the key and is not too old for
 *	  the asker; false: none.  The caller has checked the asker's rights.
 */
bool
dp_reuse_find(const dp_reuse_key *key, const dp_ledger_standing *standing,
			  dp_reuse_answer *out)
{
	answer_search search = {key, standing, false, out};

	out->content = dp_catalog_find_answer(key->hash, is_wanted, &search);
	return search.found;
}
