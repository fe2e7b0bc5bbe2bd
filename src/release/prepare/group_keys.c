/*
 * group_keys.c
 *	  The public values of a block's group keys, once parameters are known:
 *	  which WHERE leaves, which are told by threshold, and in what order.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"
#include "utils/typcache.h"

#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../query/expressions/dp_expressions.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/keys/dp_keys.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../joined/dp_joined.h"
#include "dp_prepare.h"
#include "prepare_internal.h"

/* ----------------
 *		Public keys with more values than groups are allowed.
 *
 * Every combination of public keys is a row of the answer.  If these are more
 * than dp_pg.max_groups, and a delta is set, the keys with the most values are
 * released by threshold, as undeclared ones are, until the combinations of the
 * others fit; of keys with equally many values the first one goes first
 * (doc/theory.md T133).  The choice is public: it depends on the values that
 * WHERE leaves and on settings.
 *
 * The set of values stays as declared: a row with another value is in no
 * group, or in that of `other` (aggregates/key_decision.c).
 * ----------------
 */

/* Number of groups of the keys that are not large, at most PG_INT64_MAX. */
static int64
count_groups(const dp_release_spec *spec)
{
	int64		groups = 1;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		if (dp_domains_size(spec->domains[i]) == 0)
			return 0;
	for (i = 0; i < spec->nkeys; i++)
		if (!spec->large[i] &&
			__builtin_mul_overflow(groups,
								   dp_domains_size(spec->domains[i]),
								   &groups))
			return PG_INT64_MAX;
	return groups;
}

/* The first of the keys with the most values. */
static int
find_largest(const dp_release_spec *spec)
{
	int64		most = 0;
	int			largest = 0;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		int64		size = dp_domains_size(spec->domains[i]);

		if (spec->large[i] || size <= most)
			continue;
		most = size;
		largest = i;
	}
	return largest;
}

/* The numbers of values of the keys, such as "5 * 366 * 24". */
static char *
sizes_text(const dp_release_spec *spec)
{
	StringInfoData text;
	int			i;

	initStringInfo(&text);
	for (i = 0; i < spec->nkeys; i++)
		appendStringInfo(&text, "%s" INT64_FORMAT, i > 0 ? " * " : "",
						 dp_domains_size(spec->domains[i]));
	return text.data;
}

static void
domains_raise_too_many(const dp_release_spec *spec)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("query has too many public groups"),
			 errdetail("Every combination of public keys returns a row; "
					   "there are %s of them, and setting dp_pg.max_groups "
					   "is %d.", sizes_text(spec), dp_setting_max_groups),
			 dp_setting_delta[0] != '\0' ?
			 errhint("Group by fewer keys or narrower bounds.") :
			 errhint("Group by fewer keys or narrower bounds.  Or SET "
					 "dp_pg.delta, as in '1e-9': keys that enough units have "
					 "are then released by threshold, for one more epsilon "
					 "and the delta.")));
}

/* Condition lists are not counted in groups with names (bounder.c). */
static bool
domains_can_be_released(const dp_block *block)
{
	ListCell   *lc;

	foreach(lc, block->values)
		if (((const dp_value *) lfirst(lc))->kind == DP_AGG_CONDITIONS)
			return false;
	return dp_setting_delta[0] != '\0';
}

/*
 * dp_prepare_find_large_keys
 *	  Set which keys are released by threshold because of their size, and how
 *	  many groups the others have.  The domains are known.
 *
 * Errors: 54000 too many groups and no delta.  Source: doc/theory.md T133.
 */
void
dp_prepare_find_large_keys(dp_release_spec *spec)
{
	spec->large = palloc0(sizeof(bool) * Max(spec->nkeys, 1));
	spec->undeclared = dp_keys_has_undeclared(spec->block);
	spec->groups = count_groups(spec);
	while (spec->groups > dp_setting_max_groups)
	{
		if (!domains_can_be_released(spec->block))
			domains_raise_too_many(spec);
		spec->large[find_largest(spec)] = true;
		spec->undeclared = true;
		spec->groups = count_groups(spec);
	}
	if (spec->undeclared)
		spec->block = dp_keys_release_keys(spec->block);
}

static bool
has_large_keys(const dp_release_spec *spec)
{
	int			i;

	for (i = 0; i < spec->nkeys; i++)
		if (spec->large[i])
			return true;
	return false;
}

/*
 * dp_prepare_share
 *	  Each value of the release with the default price gets one of this many
 *	  shares of dp_pg.split.
 *
 * It was counted before it was known that keys would be released by threshold:
 * if they are, the values and the decision together take what the values alone
 * would have taken.
 */
int
dp_prepare_share(const dp_release_spec *spec)
{
	int			share = spec->block->share;
	int			n = Max(dp_aggregates_count_default(spec->block), 1);

	if (!has_large_keys(spec) || dp_keys_has_undeclared(spec->block))
		return share;
	return share + (Max(share, 1) + n - 1) / n;
}

/*
 * dp_prepare_large_text
 *	  The large keys, for EXPLAIN; NULL if there are none.
 */
char *
dp_prepare_large_text(const dp_release_spec *spec)
{
	StringInfoData text;
	int			i;

	if (!has_large_keys(spec))
		return NULL;
	initStringInfo(&text);
	for (i = 0; i < spec->nkeys; i++)
	{
		const TargetEntry *key = list_nth(spec->block->inner->targetList, i);

		if (spec->large[i])
			appendStringInfo(&text, "%s%s with " INT64_FORMAT " values",
							 text.len > 0 ? ", " : "", key->resname,
							 dp_domains_size(spec->domains[i]));
	}
	appendStringInfo(&text, ": released by threshold, because "
					 "dp_pg.max_groups is %d", dp_setting_max_groups);
	return text.data;
}

/* ----------------
 *		The values of a group key over joined rows: read by a query of the
 *		asking role, before anything is charged (keys/key_joined.c).
 * ----------------
 */

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
domains_receiver_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	dp_joined_check_columns(typeinfo, ((value_receiver *) self)->targets);
}

/* Make key = ANY (values) [OR key IS NULL]. */
static Node *
domains_make_condition(const dp_key *key, const value_receiver *values,
					   Datum array)
{
	TypeCacheEntry *cache = lookup_type_cache(values->type,
											  TYPECACHE_EQ_OPR);
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);
	Var		   *value = makeVar(1, dp_domains_named_input(key), key->type,
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
	test = dp_rowsets_null_test((Node *) copyObject(value), IS_NULL);
	return (Node *) makeBoolExpr(OR_EXPR, list_make2(any, test), -1);
}

/*
 * key_values
 *	  The condition that a key has one of the values that its query returns, or
 *	  is NULL, if NULL is among them or the key is nullable.
 *
 * Errors: those of the query; 54000 if there are more of them than groups are
 * allowed.
 */
static Node *
key_values(const dp_block *block, dp_key *key, EState *estate)
{
	value_receiver to = {0};
	Datum		array;

	to.receiver = *None_Receiver;
	to.receiver.receiveSlot = receive_value;
	to.receiver.rStartup = domains_receiver_startup;
	to.targets = ((const Query *) key->values)->targetList;
	to.type = getBaseType(key->type);
	to.null = key->nullable;
	to.context = CurrentMemoryContext;
	PushActiveSnapshot(estate->es_snapshot);
	dp_joined_execute(dp_joined_plan_subquery(block, (Query *) key->values,
											  estate->es_param_list_info),
					  DP_PRIVATE_QUERY_TEXT, &to.receiver,
					  estate->es_param_list_info, estate->es_queryEnv);
	PopActiveSnapshot();
	key->nullable = to.null;
	array = to.values == NULL ?
		PointerGetDatum(construct_empty_array(to.type)) :
		makeArrayResult(to.values, CurrentMemoryContext);
	return domains_make_condition(key, &to, array);
}

/* ----------------
 *		The public values of a block's group keys, once parameters are known.
 *
 * They are computed in the connection, with its settings, and sent to the
 * reader (reader_work.c).
 * ----------------
 */

static bool
is_param(Node *node, const dp_walk *walk)
{
	return IsA(node, Param);
}

/*
 * Make an expression of constants total, as where rows are read: it must raise
 * no error here that it does not raise there.
 */
static Node *
domains_total_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (!IsA(node, List) && !IsA(node, CaseWhen) && !contain_var_clause(node))
		return dp_expressions_make_total(node);
	return expression_tree_mutator(node, domains_total_mutator, context);
}

/*
 * The condition with constants for parameters and for what is computed from
 * them; NULL if a parameter has no value, so that it decides nothing.
 */
static Node *
domains_settle(PlannerInfo *root, Node *condition)
{
	Node	   *settled = domains_total_mutator(condition, NULL);

	settled = estimate_expression_value(root, settled);
	fix_opfuncids(settled);		/* for operators that NOT was pushed into */
	return dp_base_contains(settled, is_param, NULL, DP_WALK_ONE_LEVEL) ?
		NULL : settled;
}

/* A copy of the key with settled conditions. */
static dp_key *
settle_key(const dp_key *key, ParamListInfo params)
{
	PlannerGlobal *glob = makeNode(PlannerGlobal);
	PlannerInfo *root = makeNode(PlannerInfo);
	dp_key	   *copy = copyObject((dp_key *) key);
	List	   *conditions = NIL;
	ListCell   *lc;

	glob->boundParams = params;
	root->glob = glob;
	foreach(lc, copy->conditions)
	{
		Node	   *settled = domains_settle(root, lfirst(lc));

		if (settled != NULL)
			conditions = lappend(conditions, settled);
	}
	copy->conditions = conditions;
	if (copy->image != NULL)
		copy->image = domains_settle(root, copy->image);
	foreach(lc, copy->cases)
		lfirst(lc) = domains_settle(root, lfirst(lc));
	return copy;
}

/*
 * dp_prepare_decide_keys
 *	  A dp_domain * for each key of the block, then for block->others.  Errors:
 *	  54000 too many values; 55000 a declaration is gone; those of reading the
 *	  values of joined keys.
 *
 * *settled: list of dp_key *, the keys with constants for parameters, clocks
 * and users, by which rows are assigned to keys.
 */
List *
dp_prepare_decide_keys(const dp_block *block, EState *estate, List **settled)
{
	List	   *keys = list_concat_copy(block->keys, block->others);
	List	   *domains = NIL;
	ListCell   *lc;

	*settled = NIL;
	foreach(lc, keys)
	{
		dp_key	   *key = settle_key(lfirst(lc), estate->es_param_list_info);

		if (key->values != NULL)
			key->conditions = lcons(key_values(block, key, estate),
									key->conditions);
		domains = lappend(domains, dp_domains_decide(key));
		*settled = lappend(*settled, key);
	}
	return domains;
}

/* ----------------
 *		Leaves groups out of a release's rows that conditions over several keys
 *		exclude (keys/key_joined.c).
 *
 * A group with the value that stands for undeclared ones stays, since the
 * condition says nothing about those.
 * ----------------
 */

/*
 * dp_prepare_begin_key_conditions
 *	  The conditions, as a list of ExprState *, for rows of the plan's scan.
 */
List *
dp_prepare_begin_key_conditions(const dp_block *block, PlanState *plan)
{
	List	   *conditions = copyObject(block->key_conditions);

	fix_opfuncids((Node *) conditions);
	return ExecInitExprList(conditions, plan);
}

/*
 * dp_prepare_find_others
 *	  For each key the value that stands for undeclared ones, a Const *, or
 *	  NULL.
 */
List *
dp_prepare_find_others(const dp_release_spec *spec)
{
	List	   *others = NIL;
	int			i;

	for (i = 0; i < spec->nkeys; i++)
	{
		const dp_key *key = list_nth(spec->block->keys, i);
		int64		place = dp_domains_other(spec->domains[i]);
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
		value = dp_domains_domain_value(spec->domains[i], place, &isnull);
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
 * dp_prepare_may_have_rows
 *	  Do the conditions allow rows in the group of this row of the release?
 *
 * `conditions` and `others` from the functions above; the row's values must be
 * deformed.  Uses memory of the expression context.
 */
bool
dp_prepare_may_have_rows(List *conditions, const List *others,
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

/* ----------------
 *		Answers with undeclared keys, in the order of their keys.
 *
 * A reader returns groups in the order of a secret hash.  They are sorted in
 * the connection, where everything is released: texts by their bytes, NULL
 * last.  No two rows have the same keys, so the order is a function of what is
 * released.
 * ----------------
 */

struct dp_group_order
{
	Tuplesortstate *sort;
	int			nest;			/* of settings */
};

/*
 * dp_prepare_order_begin
 *	  Sort the rows of an answer, whose first columns are the keys.  Until its
 *	  end there are no messages of the sort: a client that asked for them and
 *	  does not read would hold up all that wait for the answer.
 */
dp_group_order *
dp_prepare_order_begin(const dp_release_spec *spec, TupleDesc result)
{
	dp_group_order *order = palloc(sizeof(dp_group_order));
	int			n = Max(spec->nkeys, 1);
	AttrNumber *columns = palloc(sizeof(AttrNumber) * n);
	Oid		   *operators = palloc(sizeof(Oid) * n);
	Oid		   *collations = palloc(sizeof(Oid) * n);
	bool	   *nulls_first = palloc0(sizeof(bool) * n);
	int			sorted = 0;
	ListCell   *lc;

	foreach(lc, spec->block->keys)
	{
		const dp_key *key = lfirst(lc);
		TypeCacheEntry *type = lookup_type_cache(getBaseType(key->type),
												 TYPECACHE_LT_OPR);

		/* a constant's type may have no order */
		if (!OidIsValid(type->lt_opr))
			continue;
		columns[sorted] = foreach_current_index(lc) + 1;
		operators[sorted] = type->lt_opr;
		collations[sorted++] = OidIsValid(key->collation) ?
			C_COLLATION_OID : InvalidOid;
	}
	order->nest = NewGUCNestLevel();
	if (GetConfigOption("trace_sort", true, false) != NULL)
		dp_base_set_local("trace_sort", "off");
	order->sort = tuplesort_begin_heap(result, sorted, columns, operators,
									   collations, nulls_first, work_mem,
									   NULL, TUPLESORT_NONE);
	return order;
}

/* dp_prepare_order_add: add one row. */
void
dp_prepare_order_add(dp_group_order *order, TupleTableSlot *slot)
{
	tuplesort_puttupleslot(order->sort, slot);
}

/*
 * dp_prepare_order_end: put all rows into the store, in order; slot: for them.
 */
void
dp_prepare_order_end(dp_group_order *order, TupleTableSlot *slot,
					 Tuplestorestate *store)
{
	tuplesort_performsort(order->sort);
	while (tuplesort_gettupleslot(order->sort, true, false, slot, NULL))
		tuplestore_puttupleslot(store, slot);
	tuplesort_end(order->sort);
	AtEOXact_GUC(false, order->nest);
}
