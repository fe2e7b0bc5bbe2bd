/*
 * key_conditions.c
 *	  Leaves groups out of a release's rows that conditions over several keys
 *	  exclude (block/key_together.c).
 *
 * A group with the value that stands for undeclared ones stays, since the
 * condition says nothing about those.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "run.h"

/*
 * dp_run_begin_key_conditions
 *	  The conditions, as a list of ExprState *, for rows of the plan's scan.
 */
List *
dp_run_begin_key_conditions(const dp_block *block, PlanState *plan)
{
	List	   *conditions = copyObject(block->key_conditions);

	fix_opfuncids((Node *) conditions);
	return ExecInitExprList(conditions, plan);
}

/*
 * dp_run_find_others
 *	  For each key the value that stands for undeclared ones, a Const *, or
 *	  NULL.
 */
List *
dp_run_find_others(const dp_release_spec *spec)
{
	List	   *others = NIL;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		const dp_key *key = list_nth(spec->block->keys, i);
		int64		place = dp_places_domain_other(spec->domains[i]);
		int16		length;
		bool		by_value;
		bool		isnull;
		Datum		value;

		if (place < 0)
		{
			others = lappend(others, NULL);
			continue;
		}
		get_typlenbyval(key->type, &length, &by_value);
		value = dp_places_domain_value(spec->domains[i], place, &isnull);
		others = lappend(others, makeConst(key->type, key->typmod,
										   key->collation, length, value,
										   isnull, by_value));
	}
	return others;
}

/* Has one of the row's keys the value that stands for undeclared ones? */
static bool
has_other(TupleTableSlot *slot, const List *others)
{
	ListCell   *lc;

	foreach(lc, others)
	{
		const Const *other = lfirst(lc);
		int			i = foreach_current_index(lc);

		if (other != NULL && !slot->tts_isnull[i] &&
			datum_image_eq(slot->tts_values[i], other->constvalue,
						   other->constbyval, other->constlen))
			return true;
	}
	return false;
}

/*
 * dp_run_may_have_rows
 *	  Do the conditions allow rows in the group of this row of the release?
 *
 * `conditions` and `others` from the functions above; the row's values must be
 * deformed.  Uses memory of the expression context.
 */
bool
dp_run_may_have_rows(List *conditions, const List *others,
					 TupleTableSlot *slot, ExprContext *econtext)
{
	ListCell   *lc;

	if (conditions == NIL || has_other(slot, others))
		return true;
	econtext->ecxt_scantuple = slot;
	foreach(lc, conditions)
	{
		bool		isnull;
		Datum		holds = ExecEvalExprSwitchContext(lfirst(lc), econtext,
													  &isnull);

		if (isnull || !DatumGetBool(holds))
			return false;
	}
	return true;
}
