/*
 * run.c
 *	  Run one release: plan, charge, have it read, take the noisy rows.
 *
 * The order is what makes it private:
 *
 *	  1. subqueries of the block run, each with a charge of its own, and what
 *		 it joins is read;
 *	  2. the inner query is planned, with the table owner's right to read;
 *	  3. a reader makes everything ready;
 *	  4. the charge becomes durable;
 *	  5. the reader executes the inner query; only now is a private row read;
 *	  6. it draws noise and forgets the exact numbers (reader_work.c).
 *
 * Steps 1 and 2 are here.  The order of 3 to 6 is that of reader/process.c in
 * the reader and reader/ask.c in the connection.
 *
 * The result of 2 and the price may be kept for the next run (kept.c),
 * which begins with 3.
 *
 * Only noisy rows are returned.  Steps 5 and 6 happen in this process only for
 * roles that may read the rows anyway (src/reader).
 *
 * Rights: no function gains the table owner's rights.  The inner query's entry
 * of the protected relation is checked as its owner (checkAsUser).  The
 * current user changes only for subqueries of a view that an argument names,
 * and to the role that asks (run_subquery).
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "../../base/dp_base.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/expressions/dp_expressions.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/exact/dp_exact.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "../rights/dp_rights.h"
#include "../joined/dp_joined.h"
#include "../inner/dp_inner.h"
#include "../prepare/dp_prepare.h"
#include "../explain/dp_explain.h"
#include "../answers/dp_answers.h"
#include "dp_run.h"
#include "run_internal.h"

/* See dp_prepare.h. */
const char	dp_run_named_text[] = "dp_argmax(relation, predicates)";

/* ---- subqueries of the block ---- */

typedef struct scalar_receiver
{
	DestReceiver receiver;
	int			rows;
	bool		isnull;
	Datum		value;
	int16		length;
	bool		by_value;
	const List *targets;		/* of the subquery */
	MemoryContext context;
} scalar_receiver;

static bool
receive_scalar(TupleTableSlot *slot, DestReceiver *self)
{
	scalar_receiver *scalar = (scalar_receiver *) self;
	MemoryContext old;

	if (++scalar->rows > 1)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("more than one row returned by a subquery used as an "
						"expression")));
	scalar->value = slot_getattr(slot, 1, &scalar->isnull);
	old = MemoryContextSwitchTo(scalar->context);
	if (!scalar->isnull)
		scalar->value = datumCopy(scalar->value, scalar->by_value,
								  scalar->length);
	MemoryContextSwitchTo(old);
	return true;
}

static void
scalar_startup(DestReceiver *self, int operation, TupleDesc typeinfo)
{
	dp_joined_check_columns(typeinfo, ((scalar_receiver *) self)->targets);
}

/*
 * Run one uncorrelated scalar subquery, with its own charges, and return its
 * value as a constant.
 *
 * It runs as the current user, as it would without us.  But if an argument
 * named the relation, the subquery belongs to a view, perhaps of the asking
 * role: a SECURITY DEFINER function that passes such a name on must not lend
 * its owner's rights to functions in that view, now or, by settings that they
 * leave behind, later.
 */
static Const *
run_subquery(const dp_block *block, Query *subquery, const dp_inner *run)
{
	TargetEntry *target = linitial(subquery->targetList);
	Oid			type = exprType((Node *) target->expr);
	scalar_receiver scalar;
	PlannedStmt *plan;
	dp_acting	acting;

	memset(&scalar, 0, sizeof(scalar));
	scalar.receiver = *None_Receiver;
	scalar.receiver.receiveSlot = receive_scalar;
	scalar.receiver.rStartup = scalar_startup;
	scalar.isnull = true;
	scalar.targets = subquery->targetList;
	scalar.context = CurrentMemoryContext;
	get_typlenbyval(type, &scalar.length, &scalar.by_value);

	if (run->named)
		dp_ledger_act_as_asker(&acting, false);
	plan = dp_joined_plan_subquery(block, subquery, run->params);
	dp_joined_execute(plan, DP_PRIVATE_QUERY_TEXT, &scalar.receiver,
					   run->params, run->environment);
	if (run->named)
		dp_ledger_act_as_before(&acting);
	return makeConst(type, exprTypmod((Node *) target->expr),
					 exprCollation((Node *) target->expr), scalar.length,
					 scalar.isnull ? (Datum) 0 : scalar.value, scalar.isnull,
					 scalar.by_value);
}

/* Values of the parameters that splitting a block introduced. */
typedef struct made_up
{
	List	   *constants;		/* of Const *: results of hoisted subqueries */
	Const	   *part;			/* value of the charged part, or NULL */
	bool		unknown;		/* subqueries have not run */
} made_up;

/* The constant for a parameter; the parameter itself if it is unknown. */
static Node *
run_value_of(const Param *param, const made_up *values)
{
	int			n = DP_HOISTED_PARAM(param->paramid);
	Const	   *constant = values->part;

	if (param->paramid != DP_PART_PARAM)
	{
		if (values->unknown)
			return copyObject((Node *) param);
		if (n >= list_length(values->constants))
			elog(ERROR, "parameter of a subquery is out of range");
		constant = list_nth(values->constants, n);
	}
	if (constant == NULL || constant->consttype != param->paramtype)
		elog(ERROR, "parameter of a subquery has an unexpected type");
	return (Node *) copyObject(constant);
}

static Node *
fill_params_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN &&
		((Param *) node)->paramid < 0)
		return run_value_of((Param *) node, context);
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node,
										   fill_params_mutator, context, 0);
	return expression_tree_mutator(node, fill_params_mutator, context);
}

/* ---- the steps ---- */

#define WORKER_BYTES (16 * 1024 * 1024)
#define ROW_BYTES (64 * 1024 * 1024)

/*
 * Workers hand over one state for each group that they found; with large
 * states that takes longer than it saves.  The reader reserves memory for a
 * worker's row twice for each worker (reader/process.c).  For units with many
 * rows they hand over all rows.
 */
static dp_workers
run_find_workers(const dp_release_spec *spec)
{
	int64		size = 0;
	int			i;

	for (i = 0; i < spec->nmeasures; i++)
		size += spec->measures[i].ncells * (int64) sizeof(dp_cell) +
			spec->measures[i].state_size;
	if (spec->many)
		return DP_WORKERS_ROWS;
	return spec->row <= ROW_BYTES &&
		(spec->nkeys == 0 || size * spec->groups <= WORKER_BYTES) ?
		DP_WORKERS_STATES : DP_WORKERS_NONE;
}

/* Number of private sources with names: all protected relations, or none. */
static int
count_private_names(const dp_block *block)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, block->sources)
		n += OidIsValid(((const dp_joined *) lfirst(lc))->relid);
	return n;
}

/*
 * dp_run_make_ready
 *	  Set run->ready, the queries over protected relations: run the block's
 *	  subqueries, unless run->unknown, fill in their values, take rights, and
 *	  prove what the block relies on.  `inner` is the block's own query; `part`
 *	  is the value of its part, or NULL.  Returns the own query.  Requires an
 *	  active snapshot, which is that of the reading.
 *
 * Errors: those of dp_rights_take and dp_rights_prove; 0A000 if rewriting
 * added something to a query that must not see private rows; those of
 * dp_expressions_settle_policies.
 */
Query *
dp_run_make_ready(const dp_block *block, const dp_ledger_standing *standing,
				  Query *inner, Const *part, dp_inner *run)
{
	made_up		values = {NIL, part, run->unknown};
	const dp_ready *own;
	ListCell   *lc;

	foreach(lc, run->unknown ? NIL : block->subqueries)
		values.constants = lappend(values.constants,
								   run_subquery(block, lfirst(lc), run));
	if (values.constants != NIL || values.part != NULL)
		inner = (Query *) fill_params_mutator((Node *) inner, &values);
	run->ready = dp_rights_list_private(block, inner);
	foreach(lc, run->ready)
	{
		Query	   *query = ((dp_ready *) lfirst(lc))->query;
		dp_refusal *refusal;

		dp_expressions_settle_policies(query);
		refusal = dp_expressions_check_query(query);
		if (refusal != NULL)
			dp_base_raise_refusal(refusal, NULL);
	}
	dp_rights_take(block, standing, run->ready);
	dp_rights_prove(block, run->ready);
	own = linitial(run->ready);
	run->facts.private_names = count_private_names(block);
	run->facts.relid = own->relid;
	run->facts.rows = own->relation->rows;
	run->relations = list_copy(own->relids);
	return inner;
}

static void
release_init(dp_release *release, const dp_release_spec *spec,
			 const dp_ledger_standing *standing, EState *estate,
			 TupleDesc result)
{
	memset(release, 0, sizeof(*release));
	release->spec = spec;
	release->standing = standing;
	release->result = result;
	release->run.params = estate->es_param_list_info;
	release->run.environment = estate->es_queryEnv;
	release->run.context = CurrentMemoryContext;
	release->run.named = estate->es_sourceText == dp_run_named_text;
	release->run.local = standing->exempt;
	release->run.facts.groups = (long) spec->groups + 1;
	if (spec->part_indexed)
	{
		release->run.facts.part_attnum = spec->block->part_attnum;
		release->run.facts.part_value = spec->part_value;
	}
}

/*
 * Make the block's queries ready, its own with the exact aggregates in place
 * of the dp_ ones: keys first, then the unit if units have many rows, then the
 * aggregates, then the keys of other sets.
 */
static void
ready_release(dp_release *release)
{
	const dp_release_spec *spec = release->spec;
	Query	   *inner = copyObject(spec->block->inner);
	List	   *targets =
	list_copy_head(inner->targetList, dp_rowsets_first_aggregate(spec->block));
	ListCell   *lc;

	foreach(lc, (List *) copyObject(spec->exact))
		targets = lappend(targets,
						  makeTargetEntry(lfirst(lc), list_length(targets) + 1,
										  pstrdup("exact"), false));
	foreach(lc, dp_rowsets_other_targets(spec->block, inner))
		(void) dp_rowsets_add_target(&targets, (Node *)
									 lfirst_node(TargetEntry, lc)->expr,
									 "key");
	inner->targetList = targets;
	release->inner = dp_run_make_ready(spec->block, release->standing, inner,
									   spec->part_value, &release->run);
}

/* Up to this fanout, joined rows may be spooled to disk as they are. */
#define MOST_AS_THEY_COME 8

/*
 * dp_run_choose_gathering
 *	  The block, or an equivalent one: if one protected relation is joined and
 *	  each of its rows makes many, its rows are gathered by unit, too, so that
 *	  joined rows stay in memory (units/gather.c). row: bytes of a row
 *	  that is bounded; counted: how many rows of a unit may count.
 *
 * Errors: 54000 one row may be joined with too many.
 */
dp_block *
dp_run_choose_gathering(dp_block *block, Size row, int64 counted,
						const dp_joined_sizes *joined)
{
	dp_gather_limits limits = {.fanout = joined->fanout};
	bool		several = count_private_names(block) > 0;
	Size		least;

	if (dp_rowsets_joins_once(block))
		dp_joined_check_once(block, joined->fanout);
	if (!several && joined->fanout <= MOST_AS_THEY_COME)
		return block;
	if (!several)
		block = dp_rowsets_name_private(block);
	dp_joined_set_levels(block, row, joined->widest, &limits);
	least = dp_joined_least_bytes(&limits);
	dp_joined_check_fanout(joined->fanout, least);
	dp_joined_notice_room(joined->fanout, least, counted,
						  !dp_rowsets_joins_plainly(block->inner));
	return block;
}

static dp_block *
choose_way(const dp_release_spec *spec, const dp_joined_sizes *sizes)
{
	bool		bounded = spec->many && !spec->block->single &&
		!dp_prepare_measures_rows(spec->block);

	return dp_run_choose_gathering(spec->block,
								   spec->many ?
								   dp_aggregates_row_bytes(spec) : 0,
								   bounded ? spec->max_total : 1, sizes);
}

/* The release was charged (dp_reader_charge): remember it. */
static void
remember_release(void *context)
{
	const dp_release *release = context;

	dp_explain_remember(release->spec, &release->receipt);
}

/* Plan the release, and set what a reader needs for it. */
static void
make_job(dp_release *release, dp_reader_job *job)
{
	const dp_release_spec *spec = release->spec;

	memset(job, 0, sizeof(*job));
	job->memory = spec->memory;
	job->row = spec->row;
	dp_aggregates_group_by_place(spec, release->inner);
	dp_inner_plan_job(spec->block, &release->run, run_find_workers(spec),
					  release->joined, job);
	dp_run_fill_job(release, job);
}

/* Plan a release, charge it, and take the rows that a reader returns. */
static void
read_release(dp_release *release, dp_kept_rows *rows)
{
	const dp_release_spec *spec = release->spec;
	dp_kept_job *wanted = release->wanted;
	dp_reader_job job;

	make_job(release, &job);
	dp_prepare_request(spec, &release->request);
	job.request = &release->request;
	job.receipt = &release->receipt;
	if (wanted != NULL && !dp_answers_seal_job(wanted, &job))
		wanted = NULL;
	rows->slot = MakeSingleTupleTableSlot(release->result,
										  &TTSOpsMinimalTuple);
	if (spec->undeclared)
		rows->order = dp_prepare_order_begin(spec, release->result);
	dp_reader_run(&job, remember_release, release, dp_answers_store_row, rows);
	if (rows->order != NULL)
		dp_prepare_order_end(rows->order, rows->slot, rows->store);
	ExecDropSingleTupleTableSlot(rows->slot);
	if (wanted != NULL)
		dp_answers_keep_job(wanted);
}

/*
 * Answer from a stored answer, or by reading; returns when it was stored, or
 * 0.
 */
static TimestampTz
answer_release(dp_release *release, dp_kept_rows *rows)
{
	dp_answer_stored stored;

	dp_answers_find(release, true, &stored);
	if (stored.found)
	{
		dp_answers_give(release, &stored, rows->store);
		return stored.answer.at;
	}
	read_release(release, rows);
	dp_answers_keep_stored(release, &stored, rows->store);
	return 0;
}

/*
 * dp_run_release
 *	  Run a prepared release and return its rows; *stored_at: when they were
 *	  stored, or 0; `wanted`: what its job is kept with, or NULL.  The
 *	  tuplestore lives in the current context; everything else is freed.
 */
Tuplestorestate *
dp_run_release(const dp_release_spec *spec, const dp_ledger_standing *standing,
			   EState *estate, TupleDesc result, dp_kept_job *wanted,
			   TimestampTz *stored_at)
{
	dp_kept_rows rows = {tuplestore_begin_heap(true, false, work_mem)};
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg release",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	dp_release	release;
	dp_release_spec joining;

	*stored_at = 0;
	release_init(&release, spec, standing, estate, result);
	release.wanted = wanted;
	PushActiveSnapshot(estate->es_snapshot);
	if (dp_prepare_is_free(spec))
	{
		/* the public values of all groups, and nothing else */
		dp_joined_check(spec->block, &release.run);
		rows.slot = MakeSingleTupleTableSlot(result, &TTSOpsMinimalTuple);
		dp_aggregates_cells_release(dp_aggregates_cells_create(spec, 0),
									result, dp_answers_store_row, &rows);
		ExecDropSingleTupleTableSlot(rows.slot);
	}
	else
	{
		dp_inner_check_preconditions();
		dp_base_progress_begin(DP_WORK_QUERY, spec->block->relid, 0);
		dp_base_progress(DP_PHASE_JOINING, 0);
		release.joined = dp_joined_read(spec->block, &release.run);
		release.sizes = dp_joined_get_sizes(release.joined);
		if (release.joined != NULL)
		{
			dp_joined_notice_lost(spec, release.sizes.matched);
			joining = *spec;
			joining.block = choose_way(spec, &release.sizes);
			release.spec = &joining;
			release.by_units = joining.block != spec->block;
		}
		ready_release(&release);
		dp_base_progress(DP_PHASE_READING, 0);
		*stored_at = answer_release(&release, &rows);
		dp_base_progress_end();
	}
	PopActiveSnapshot();
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return rows.store;
}

/*
 * dp_run_measure
 *	  Have the total of a query measured, and return the query with it.
 */
dp_release_spec *
dp_run_measure(const dp_release_spec *spec, const dp_ledger_standing *standing,
			   EState *estate)
{
	TupleDesc	result = CreateTemplateTupleDesc(1);
	TupleTableSlot *slot;
	Tuplestorestate *store;
	TimestampTz stored_at;
	dp_release_spec *chosen;
	ArrayType  *counts;
	bool		isnull;

	TupleDescInitEntry(result, 1, "units", INT8ARRAYOID, -1, 0);
	store = dp_run_release(spec->measuring->rows, standing, estate, result,
						   NULL, &stored_at);
	slot = MakeSingleTupleTableSlot(result, &TTSOpsMinimalTuple);
	tuplestore_rescan(store);
	if (!tuplestore_gettupleslot(store, true, false, slot))
		elog(ERROR, "rows of units were not counted");
	counts = DatumGetArrayTypeP(slot_getattr(slot, 1, &isnull));
	if (isnull || ArrayGetNItems(ARR_NDIM(counts),
								 ARR_DIMS(counts)) != DP_UNITS_SIZES)
		elog(ERROR, "rows of units were counted otherwise");
	chosen = dp_prepare_take_total(spec, (const int64 *) ARR_DATA_PTR(counts),
								   stored_at != 0);
	ExecDropSingleTupleTableSlot(slot);
	tuplestore_end(store);
	return chosen;
}

/*
 * dp_run_look_ahead
 *	  For EXPLAIN: when the answer was stored with which the release would be
 *	  answered now.  Without one 0, after raising what planning the release
 *	  would raise: EXPLAIN shows no price for a query that cannot run.  What
 *	  depends on queries that have not run, on joined rows, or on parameters
 *	  without values, is not known.  Requires an active snapshot; reads no row,
 *	  charges nothing.
 *
 * Errors: those of running it.
 */
TimestampTz
dp_run_look_ahead(const dp_release_spec *spec,
				  const dp_ledger_standing *standing, EState *estate,
				  TupleDesc result)
{
	const dp_block *block = spec->block;
	dp_release	release;
	dp_answer_stored stored = {false};
	dp_reader_job job;

	if (dp_prepare_is_free(spec))
		return 0;
	release_init(&release, spec, standing, estate, result);
	release.run.unknown = block->subqueries != NIL ||
		(estate->es_top_eflags & DP_COMPAT_NO_VALUES) != 0;
	release.run.facts.shares_rows = true;
	release.sizes = dp_joined_get_sizes(NULL);
	if (block->sources != NIL)
		(void) choose_way(spec, &release.sizes);
	ready_release(&release);
	if (!release.run.unknown && block->sources == NIL &&
		spec->measuring == NULL)
		dp_answers_find(&release, false, &stored);
	if (stored.found)
		return stored.answer.at;
	make_job(&release, &job);
	if (!standing->exempt)
		dp_reader_check_memory(&job);
	return 0;
}
