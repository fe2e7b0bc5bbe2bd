/*
 * key_condition.c
 *	  Evaluate the conditions of a group key for public values.
 *
 * They are conditions that all rows satisfy, made of functions that are
 * allowed on private rows, so they neither raise errors nor have side effects;
 * here they are applied to public values only.  They are evaluated in their
 * total versions, as in the inner query, and under the settings of the
 * connection.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "../../base/dp_base.h"
#include "../expressions/dp_expressions.h"
#include "dp_domains.h"
#include "domains_internal.h"

struct dp_conditions
{
	List	   *states;			/* of ExprState * */
	ExprState  *image;			/* of the key, or NULL */
	ExprContext *econtext;
	TupleTableSlot *slot;		/* DP_KEY_COLUMN, DP_KEY_VALUE */
};

static bool
is_column_numbered(Node *node, const dp_walk *walk)
{
	return IsA(node, Var) &&
		((Var *) node)->varattno == *(AttrNumber *) walk->context;
}

/*
 * dp_domains_mentions: whether a condition mentions the key's column or value.
 */
bool
dp_domains_mentions(const Node *condition, AttrNumber which)
{
	return dp_base_contains((Node *) condition, is_column_numbered, &which,
							DP_WALK_ONE_LEVEL);
}

static bool
note_type(Node *node, const dp_walk *walk)
{
	Oid		   *types = walk->context;

	if (IsA(node, Var))
		types[((Var *) node)->varattno - 1] = ((Var *) node)->vartype;
	return false;
}

/* A slot for the two values, with the types that conditions and key use. */
static TupleTableSlot *
make_slot(const dp_key *key, const List *conditions)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);
	Oid			types[2] = {key->type, key->type};
	int			i;

	(void) dp_base_contains(key->image, note_type, types, DP_WALK_ONE_LEVEL);
	(void) dp_base_contains((Node *) conditions, note_type, types,
							DP_WALK_ONE_LEVEL);
	for (i = 0; i < 2; i++)
		TupleDescInitEntry(desc, i + 1, NULL, types[i], -1, 0);
	return MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
}

/*
 * dp_domains_conditions_begin
 *	  Prepare to evaluate some of the key's conditions, and its image.
 */
dp_conditions *
dp_domains_conditions_begin(const dp_key *key, const List *conditions)
{
	dp_conditions *made = palloc0(sizeof(dp_conditions));
	ListCell   *lc;

	made->slot = make_slot(key, conditions);
	made->econtext = CreateStandaloneExprContext();
	made->econtext->ecxt_scantuple = made->slot;
	foreach(lc, conditions)
	{
		Node	   *total = dp_expressions_make_total(copyObject(lfirst(lc)));

		made->states = lappend(made->states,
							   ExecInitExpr((Expr *) total, NULL));
	}
	if (key->image != NULL)
		made->image = ExecInitExpr((Expr *) dp_expressions_make_total(
									   copyObject(key->image)), NULL);
	return made;
}

static void
condition_set_values(dp_conditions *conditions, Datum column, bool column_null,
					 Datum value, bool value_null)
{
	TupleTableSlot *slot = conditions->slot;

	ResetExprContext(conditions->econtext);
	ExecClearTuple(slot);
	slot->tts_values[DP_KEY_COLUMN - 1] = column;
	slot->tts_isnull[DP_KEY_COLUMN - 1] = column_null;
	slot->tts_values[DP_KEY_VALUE - 1] = value;
	slot->tts_isnull[DP_KEY_VALUE - 1] = value_null;
	ExecStoreVirtualTuple(slot);
}

/* dp_domains_conditions_hold: whether all of them are true. */
bool
dp_domains_conditions_hold(dp_conditions *conditions, Datum column,
						   bool column_null, Datum value, bool value_null)
{
	ListCell   *lc;

	if (conditions->states == NIL)
		return true;
	condition_set_values(conditions, column, column_null, value, value_null);
	foreach(lc, conditions->states)
	{
		bool		isnull;
		Datum		holds = ExecEvalExprSwitchContext(lfirst(lc),
													  conditions->econtext,
													  &isnull);

		if (isnull || !DatumGetBool(holds))
			return false;
	}
	return true;
}

/*
 * dp_domains_conditions_image
 *	  The key for a value of its column, palloc'd.
 */
Datum
dp_domains_conditions_image(dp_conditions *conditions, Datum column,
							bool column_null, bool *isnull)
{
	ExprState  *image = conditions->image;
	int16		length;
	bool		by_value;
	Datum		value;

	condition_set_values(conditions, column, column_null, (Datum) 0, true);
	value = ExecEvalExprSwitchContext(image, conditions->econtext, isnull);
	if (*isnull)
		return (Datum) 0;
	get_typlenbyval(exprType((Node *) image->expr), &length, &by_value);
	return by_value ? value : datumCopy(value, by_value, length);
}

/* dp_domains_conditions_end: release the executor's state. */
void
dp_domains_conditions_end(dp_conditions *conditions)
{
	FreeExprContext(conditions->econtext, true);
	ExecDropSingleTupleTableSlot(conditions->slot);
}
