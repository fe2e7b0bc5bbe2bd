/*
 * stored_answer.c
 *	  Answers a release from a stored answer, or stores its answer.
 *
 * This is a release's side: its key, and when an answer is looked up or
 * stored.  The store itself is answer_store.c.
 *
 * The look-up happens after subqueries have run and joined rows have been
 * read, since both are part of the question, and after rights were checked;
 * before anything is planned, charged or read.  If there is no stored answer,
 * this process makes one while others with the same question wait.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "../inner/dp_inner.h"
#include "../explain/dp_explain.h"
#include "dp_answers.h"
#include "answers_internal.h"

/* ----------------
 *		One digest of all rows that a block joins, independent of their order:
 *		the digest of the rows' sorted digests.
 * ----------------
 */

typedef struct row_digest
{
	uint8		bytes[DP_SHA256_BYTES];
} row_digest;

static int
stored_compare_digests(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(row_digest));
}

/* The digest of each row preceded by the number of its source. */
static int64
digest_piece(StringInfo digests, const char *data, Size size)
{
	Size		at = 0;
	int64		n = 0;

	while (at < size)
	{
		dp_piece_row head;
		Size		length;
		row_digest	digest;

		CHECK_FOR_INTERRUPTS();
		memcpy(&head, data + at, sizeof(head));
		length = MAXALIGN(sizeof(head)) + head.size;
		dp_base_sha256(data + at, length, digest.bytes);
		appendBinaryStringInfo(digests, (const char *) &digest,
							   sizeof(digest));
		at += MAXALIGN(length);
		n++;
	}
	return n;
}

/* digest_joined: write DP_SHA256_BYTES bytes to *out. */
static void
digest_joined(const dp_joined_rows *rows, uint8 *out)
{
	StringInfoData digests;
	const char *data;
	Size		size;
	int64		n = 0;
	int			i;

	initStringInfo(&digests);
	for (i = 0; (data = dp_joined_piece(rows, i, &size)) != NULL; i++)
		n += digest_piece(&digests, data, size);
	qsort(digests.data, n, sizeof(row_digest), stored_compare_digests);
	dp_base_sha256(digests.data, digests.len, out);
	pfree(digests.data);
}

static dp_answer_key *
make_key(const dp_release *release)
{
	uint8		digest[DP_SHA256_BYTES];
	dp_answer_asked asked = {0};
	ListCell   *lc;

	asked.spec = release->spec;
	asked.standing = release->standing;
	asked.inner = dp_inner_settle(release->inner, release->run.params);
	for_each_from(lc, release->run.ready, 1)
		asked.scans = lappend(asked.scans,
							  dp_inner_settle(((dp_ready *) lfirst(lc))->query,
											  release->run.params));
	asked.fanout = release->sizes.fanout;
	asked.widest = release->sizes.widest;
	asked.by_units = release->by_units;
	asked.result = release->result;
	if (release->joined != NULL)
	{
		digest_joined(release->joined, digest);
		asked.joined = digest;
	}
	return dp_answers_make_key(&asked);
}

/*
 * While subqueries ran or this process waited, the budget may have been used
 * up, or another budget or period may pay.  A charge would notice that.
 */
static bool
still_pays(const dp_release *release, dp_ledger_standing *now)
{
	const dp_ledger_standing *before = release->standing;

	dp_ledger_require_budget(release->spec->block->dataset, now);
	return now->payer_role == before->payer_role &&
		now->period == before->period && !now->exempt;
}

/* While this process waited, rights and declarations may have changed, too. */
static bool
still_asks(const dp_release *release)
{
	dp_ledger_standing now;
	bool		pays = still_pays(release, &now);

	dp_rights_take(release->spec->block, &now, release->run.ready);
	dp_rights_prove(release->spec->block, release->run.ready);
	return pays;
}

/*
 * Does the snapshot see the relations as they are read? Called after
 * everything was locked: to an old snapshot, a relation that was truncated or
 * rewritten since may seem empty.
 */
static bool
sees_relations(const dp_block *block)
{
	ListCell   *lc;
	ListCell   *step;

	if (!dp_catalog_is_seen(block->relid))
		return false;
	foreach(lc, block->sources)
	{
		const dp_joined *source = lfirst(lc);

		if (OidIsValid(source->relid) && !dp_catalog_is_seen(source->relid))
			return false;
		foreach(step, source->step_relids)
			if (!dp_catalog_is_seen(lfirst_oid(step)))
				return false;
	}
	return true;
}

/*
 * Look up a stored answer; it is used only if the same budget would pay now.
 */
static bool
find(const dp_release *release, dp_answer_stored *out)
{
	dp_ledger_standing now;

	out->found = dp_answers_find_stored(out->key, release->standing,
										&out->answer);
	out->found = out->found && still_pays(release, &now);
	return out->found;
}

/*
 * dp_answers_find
 *	  Look for a stored answer.  If there is none, this process makes it, and
 *	  out->key is locked; NULL if nothing can be stored, as on a standby.
 *	  `wait` false: only look, as EXPLAIN does.
 *
 * Errors: 55P03, 57014 and 40P01 while waiting; those of rights.
 */
void
dp_answers_find(const dp_release *release, bool wait,
				dp_answer_stored *out)
{
	memset(out, 0, sizeof(*out));
	if (dp_base_reuse_age() == 0 || release->standing->exempt ||
		release->run.named || RecoveryInProgress())
		return;
	out->rows_at = dp_answers_time_of_rows();
	out->key = make_key(release);
	if (out->key == NULL)
		return;
	if (find(release, out) || !wait)
		return;
	if (!dp_answers_may_store())
	{
		out->key = NULL;
		return;
	}
	if (dp_answers_lock(out->key) && !still_asks(release))
	{
		dp_answers_unlock(out->key);
		out->key = NULL;
		return;
	}
	if (find(release, out))
		dp_answers_unlock(out->key);
}

/*
 * dp_answers_give
 *	  Put the rows of the stored answer into a store. dp_pg.setting_scope
 *	  applies as for a charge, since a setting decides whether old answers are
 *	  used.
 *
 * Errors: 55000 of dp_pg.setting_scope.
 */
void
dp_answers_give(const dp_release *release,
				const dp_answer_stored *stored, Tuplestorestate *store)
{
	const dp_release_spec *spec = release->spec;
	dp_ledger_receipt receipt;

	dp_base_check_scope();
	dp_answers_unpack(&stored->answer, stored->key, release->result,
					  spec->nkeys, store);
	dp_answers_count_hit(stored->answer.id);
	memset(&receipt, 0, sizeof(receipt));
	receipt.ledger_id = stored->answer.id;
	dp_explain_remember(spec, &receipt);
}

/*
 * dp_answers_keep_stored: store what was released and paid for; processes that
 * wait may continue.
 */
void
dp_answers_keep_stored(const dp_release *release,
					   const dp_answer_stored *stored, Tuplestorestate *store)
{
	if (stored->key == NULL)
		return;
	if (sees_relations(release->spec->block))
		dp_answers_store(stored->key, release->standing,
						 release->spec->block->dataset,
						 release->receipt.ledger_id,
						 stored->rows_at, store, release->result);
	dp_answers_unlock(stored->key);
}
