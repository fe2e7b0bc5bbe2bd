/*
 * kept_answer.c
 *	  A stored answer that was given to a plan, kept by this process for the
 *	  plan's next run.
 *
 * A dashboard repeats its queries.  Whether the query is the same, whether the
 * role may ask it, who pays and which answer is stored depends on the plan,
 * the user, the settings sent to readers, clocks, and the contents of tables
 * and catalogs.  The plan is identified by its nonce (planner.c); a stamp
 * (bridge/stamp.c), the settings and the clock show that nothing else has
 * changed.  Then a look-up would find the same answer.  Rights are checked
 * again anyway when the plan begins (node.c).
 *
 * Only plans are taken that depend on nothing else: without parameters,
 * subqueries, joined rows, conditions over several keys, and functions that
 * are not immutable.  What is kept was released to this role; the oldest entry
 * is evicted.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "run.h"

#define MOST_BYTES (64 * 1024)

typedef struct kept_answer
{
	dp_kept		kept;			/* first, so that it can be cast */
	dp_stamp	stamp;
	char	   *settings;
	dp_ledger_standing standing;
	int64		id;				/* of the answer */
	TimestampTz at;
	bytea	   *content;		/* its rows, as requested */
	dp_past_release *past;		/* what dp_last_release() shows */
} kept_answer;

static dp_kept_ring answers;

static char *
all_settings(void)
{
	StringInfoData text;

	initStringInfo(&text);
	dp_reader_append_settings(&text);
	return text.data;
}

/*
 * dp_run_kept_standing
 *	  Get what the asking role may spend, if a plan with this nonce was given
 *	  an answer and nothing has changed since; else return false, and
 *	  dp_ledger_require_budget decides.
 */
bool
dp_run_kept_standing(int64 nonce, int index, dp_ledger_standing *out)
{
	const kept_answer *answer = dp_run_kept_find(&answers, nonce, index);
	dp_stamp	now;

	if (answer == NULL || !dp_bridge_read_stamp(&now) ||
		!dp_bridge_same_stamp(&answer->stamp, &now) ||
		dp_ledger_is_renewed(&answer->standing, GetCurrentTimestamp()))
		return false;
	*out = answer->standing;
	return true;
}

/* Would a look-up find the same answer now? */
static bool
holds(const kept_answer *answer, const dp_stamp *stamp)
{
	TimestampTz now = GetCurrentTimestamp();
	char	   *settings;
	bool		same;

	if (!dp_bridge_same_stamp(&answer->stamp, stamp) || answer->at > now ||
		now - answer->at > dp_bridge_reuse_age() ||
		dp_ledger_is_renewed(&answer->standing, now))
		return false;
	settings = all_settings();
	same = strcmp(settings, answer->settings) == 0;
	pfree(settings);
	return same;
}

/*
 * dp_run_give_kept
 *	  The rows of a kept answer, in a store of the current context, and when it
 *	  was stored.  If NULL, the release must look the answer up; *stamp, if
 *	  *stamped, was taken before.
 *
 * Errors: as dp_run_give_answer.
 */
Tuplestorestate *
dp_run_give_kept(int64 nonce, int index, TupleDesc result, dp_stamp *stamp,
				 bool *stamped, TimestampTz *stored_at)
{
	const kept_answer *answer = dp_run_kept_find(&answers, nonce, index);
	Tuplestorestate *store;

	*stamped = dp_bridge_read_stamp(stamp);
	if (answer == NULL || !*stamped || !holds(answer, stamp))
		return NULL;
	dp_run_check_preconditions();
	dp_bridge_check_scope();
	store = tuplestore_begin_heap(true, false, work_mem);
	dp_reuse_put_rows(answer->content, result, store);
	dp_reuse_count_hit(answer->id);
	dp_run_remember_past(answer->past, answer->id);
	*stored_at = answer->at;
	return store;
}

/*
 * Do the values of the key always follow from its declaration and conditions,
 * and does the key follow from its column?
 */
static bool
is_plain(const dp_key *key)
{
	return key->values == NULL && !contain_mutable_functions(key->image) &&
		!contain_mutable_functions((Node *) key->cases) &&
		(key->base == NULL || is_plain(key->base));
}

/*
 * dp_run_follows_from_plan
 *	  Is what a release asks determined by its plan, as long as declarations,
 *	  settings and rights stay the same?
 */
bool
dp_run_follows_from_plan(const dp_release_spec *spec, const List *parameters,
						 ParamListInfo values)
{
	const dp_block *block = spec->block;
	ListCell   *lc;

	if ((values != NULL && values->numParams > 0) ||
		block->subqueries != NIL || block->sources != NIL ||
		block->key_conditions != NIL ||
		contain_mutable_functions((Node *) block->inner) ||
		contain_mutable_functions((Node *) parameters))
		return false;
	foreach(lc, block->keys)
		if (!is_plain(lfirst(lc)))
			return false;
	return true;
}

/*
 * dp_run_keep
 *	  Keep the rows of the answer that dp_run_remember has just noted, with the
 *	  stamp that was taken before it was looked up.
 */
void
dp_run_keep(int64 nonce, int index, const dp_stamp *stamp,
			const dp_release_spec *spec, const List *parameters,
			ParamListInfo values, const dp_ledger_standing *standing,
			TupleDesc result, TimestampTz stored_at, Tuplestorestate *store)
{
	kept_answer *answer = dp_run_kept_find(&answers, nonce, index);
	MemoryContext context;
	MemoryContext old;
	int64		rows;

	if (answer != NULL)
		dp_run_kept_forget(&answers, &answer->kept);
	if (!dp_run_follows_from_plan(spec, parameters, values))
		return;
	context = AllocSetContextCreate(CurrentMemoryContext,
									"dp_pg kept answer",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	answer = palloc0(sizeof(kept_answer));
	answer->content = dp_reuse_pack(store, result, MOST_BYTES, &rows);
	answer->past = dp_run_copy_past(&answer->id);
	answer->kept.context = context;
	answer->kept.nonce = nonce;
	answer->kept.index = index;
	answer->stamp = *stamp;
	answer->settings = all_settings();
	answer->standing = *standing;
	answer->at = stored_at;
	MemoryContextSwitchTo(old);
	if (answer->content == NULL)
	{
		MemoryContextDelete(context);
		return;
	}
	dp_run_kept_add(&answers, &answer->kept);
}
