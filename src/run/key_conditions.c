/*
 * key_conditions.c
 *	  Groups that conditions over several keys exclude (block/key_together.c)
 *	  are left out of the rows of a release.
 *
 * The value that stands for undeclared ones says nothing of those, so a group
 * with it stays.
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
 *	  The conditions, for rows of the plan's scan: of ExprState *.
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
 *	  What stands for undeclared values, for each key: of Const * or NULL.
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

/* Has the row a key that stands for undeclared values? */
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
 *	  May the group of a row of the release have rows, whatever they are?
 *
 * `conditions` and `others` as the functions above give them; the row's values
 * are taken apart.  Memory of the expression context is used.
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
