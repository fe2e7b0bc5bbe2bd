/*
 * key_values.c
 *	  The values of a group key over joined rows: read by a query of the asking
 *	  role, before anything is charged (block/key_joined.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "run.h"

#define MOST_BYTES ((Size) 16 * 1024 * 1024)

typedef struct value_receiver
{
	DestReceiver receiver;
	ArrayBuildState *values;
	const List *targets;		/* of the query */
	Oid			type;
	int			count;
	Size		bytes;
	bool		null;			/* a NULL was read */
	MemoryContext context;
} value_receiver;

static bool
receive_value(TupleTableSlot *slot, DestReceiver *self)
{
	value_receiver *to = (value_receiver *) self;
	bool		isnull;
	Datum		value = slot_getattr(slot, 1, &isnull);
	int16		length;
	bool		by_value;

	if (isnull)
	{
		to->null = true;
		return true;
	}
	get_typlenbyval(to->type, &length, &by_value);
	to->bytes += datumGetSize(value, by_value, length);
	if (++to->count > dp_setting_max_groups || to->bytes > MOST_BYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("query has too many public groups"),
				 errdetail("Every value of a group key that is joined returns "
						   "a row; they may be as many as setting "
						   "dp_pg.max_groups says, %d, and take %zu MB.",
						   dp_setting_max_groups,
						   MOST_BYTES / (1024 * 1024)),
				 errhint("Name the values that are wanted in WHERE, as in key "
						 "IN (1, 2).")));
	to->values = accumArrayResult(to->values, value, false, to->type,
								  to->context);
	return true;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	dp_run_check_columns(typeinfo, ((value_receiver *) self)->targets);
}

/* Make key = ANY (values) [OR key IS NULL]. */
static Node *
make_condition(const dp_key *key, const value_receiver *values, Datum array)
{
	TypeCacheEntry *cache = lookup_type_cache(values->type,
											  TYPECACHE_EQ_OPR);
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);
	Var		   *value = makeVar(1, dp_places_named_input(key), key->type,
								key->typmod, key->collation, 0);
	Node	   *test;

	any->opno = cache->eq_opr;
	set_sa_opfuncid(any);
	any->useOr = true;
	any->inputcollid = key->collation;
	any->args = list_make2(value,
						   makeConst(get_array_type(values->type), -1,
									 key->collation, -1, array, false,
									 false));
	any->location = -1;
	convert_saop_to_hashed_saop((Node *) any);
	if (!values->null)
		return (Node *) any;
	test = dp_block_null_test((Node *) copyObject(value), IS_NULL);
	return (Node *) makeBoolExpr(OR_EXPR, list_make2(any, test), -1);
}

/*
 * dp_run_key_values
 *	  The condition that a key has one of the values that its query returns, or
 *	  is NULL, if NULL is among them or the key is nullable.
 *
 * Errors: those of the query; 54000 if there are more of them than groups are
 * allowed.
 */
Node *
dp_run_key_values(const dp_block *block, dp_key *key, EState *estate)
{
	value_receiver to = {0};
	Datum		array;

	to.receiver = *None_Receiver;
	to.receiver.receiveSlot = receive_value;
	to.receiver.rStartup = receiver_startup;
	to.targets = ((const Query *) key->values)->targetList;
	to.type = getBaseType(key->type);
	to.null = key->nullable;
	to.context = CurrentMemoryContext;
	PushActiveSnapshot(estate->es_snapshot);
	dp_run_execute(dp_run_plan_subquery(block, (Query *) key->values,
										estate->es_param_list_info),
				   DP_PRIVATE_QUERY_TEXT, &to.receiver,
				   estate->es_param_list_info, estate->es_queryEnv);
	PopActiveSnapshot();
	key->nullable = to.null;
	array = to.values == NULL ?
		PointerGetDatum(construct_empty_array(to.type)) :
		makeArrayResult(to.values, CurrentMemoryContext);
	return make_condition(key, &to, array);
}
