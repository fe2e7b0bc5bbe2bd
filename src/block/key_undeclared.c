/*
 * key_undeclared.c
 *	  Keys without public values: released by threshold.
 *
 * A value of such a key is released if enough units have it; the decision is
 * noisy and is charged with an epsilon and a delta (doc/theory.md T104, T105).
 * This happens only if dp_pg.delta is set; otherwise such a key is refused.
 *
 * A value is released in one spelling for all that are equal, since the
 * spelling would otherwise be a row's: so the key's type must be one that
 * places/told_value.c can spell, and its collation deterministic.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "split.h"

static const char *const threshold_hint =
"Or SET dp_pg.delta, as in '1e-9': keys that enough units have are then "
"released by threshold, for one more epsilon and the delta.";

/* Extend the refusal of a key that could be released, with both ways out. */
static dp_refusal *
add_hint(dp_refusal *refusal)
{
	refusal->hint = refusal->hint == NULL ? pstrdup(threshold_hint) :
		psprintf("%s  %s", refusal->hint, threshold_hint);
	return refusal;
}

static bool
can_be_told(const dp_key *key)
{
	return dp_places_can_be_told(getBaseType(key->type)) &&
		(!OidIsValid(key->collation) ||
		 get_collation_isdeterministic(key->collation));
}

static dp_refusal *
refuse_type(Node *expression, const dp_key *key, const dp_refusal *public)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							exprLocation(expression),
							"Setting dp_pg.delta is set, but values that are "
							"equal have no single spelling that could be "
							"released.",
							public->hint != NULL ?
							psprintf("Cast the key to text or to a number, "
									 "under a deterministic collation.  %s",
									 public->hint) :
							"Cast the key to text or to a number, under a "
							"deterministic collation.",
							"group key of type %s cannot be released by "
							"threshold",
							format_type_be(key->type));
}

/*
 * dp_block_classify_undeclared
 *	  Classify a verified grouping expression; `refusal` says why it is not
 *	  public, or NULL.  Returns the refusal that remains; NULL if its values
 *	  are released by threshold.
 */
dp_refusal *
dp_block_classify_undeclared(Node *expression, dp_key *key,
							 dp_refusal *refusal)
{
	if (refusal == NULL)
		return NULL;
	if (dp_setting_delta[0] == '\0')
		return can_be_told(key) ? add_hint(refusal) : refusal;
	if (!can_be_told(key))
		return refuse_type(expression, key, refusal);
	key->kind = DP_KEY_UNDECLARED;
	key->attnum = 0;
	key->nullable = true;		/* its single place among public values */
	key->constant = NULL;
	key->conditions = NIL;
	key->image = NULL;
	key->cases = NIL;
	key->base = NULL;
	return NULL;
}

/*
 * dp_block_refuse_undeclared: refuse an aggregate that is not supported with
 * them.
 */
dp_refusal *
dp_block_refuse_undeclared(const Aggref *aggregate)
{
	return dp_bridge_refuse(ERRCODE_FEATURE_NOT_SUPPORTED,
							aggregate->location, NULL,
							"Declare the keys, name them in WHERE, or ask for "
							"one condition at a time.",
							"%s is not supported with undeclared group keys",
							get_func_name(aggregate->aggfnoid));
}

/* dp_block_has_undeclared: see dp_block.h. */
bool
dp_block_has_undeclared(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->keys)
		if (((const dp_key *) lfirst(lc))->kind == DP_KEY_UNDECLARED)
			return true;
	return false;
}

/* dp_block_no_unit: the unit of rows that are units themselves. */
Expr *
dp_block_no_unit(void)
{
	return (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(0), false, true);
}

/* dp_block_tell_keys: see dp_block.h. */
dp_block *
dp_block_tell_keys(dp_block *block)
{
	dp_block   *told;
	Expr	   *unit;
	ListCell   *lc;

	if (block->many)
		return block;
	told = copyObject(block);
	unit = dp_block_no_unit();
	told->many = true;
	told->single = true;
	told->unit_type = exprType((Node *) unit);
	told->inner->targetList =
		list_insert_nth(told->inner->targetList, list_length(told->keys),
						makeTargetEntry(unit, 0, pstrdup("unit"), false));
	foreach(lc, told->inner->targetList)
		((TargetEntry *) lfirst(lc))->resno = foreach_current_index(lc) + 1;
	return told;
}
