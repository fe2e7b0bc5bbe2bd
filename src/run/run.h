/*
 * run.h
 *	  Private to the run room: a block made ready to run, and the steps of
 *	  running it.
 */
#ifndef DP_RUN_RUN_H
#define DP_RUN_RUN_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/pathnodes.h"
#include "nodes/execnodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../reuse/dp_reuse.h"
#include "dp_run.h"

/*
 * The parameters of the aggregates, whose values dp_run_prepare takes as a
 * list of constants, and the domains of the keys.
 */
extern List *dp_run_parameter_exprs(const dp_block *block);
extern dp_release_spec *dp_run_prepare(dp_block *block,
										   const dp_ledger_standing *standing,
										   List *arguments, List *domains,
										   const dp_unit_bounds *bounds,
										   Snapshot snapshot, int *location);
extern bool dp_run_is_free(const dp_release_spec *spec);
extern int	dp_run_count_values(const dp_release_spec *spec);
/* The mechanism that decides about undeclared keys. */
extern const char dp_run_decision_name[];
/* 22023 if a price is outside what the dataset's owner allows. */
extern void dp_run_check_prices(const dp_release_spec *spec,
									const dp_ledger_standing *standing);
extern const char *dp_run_mechanism_name(const dp_measure *measure);
extern void dp_run_request(const dp_release_spec *spec,
						   dp_ledger_request *request);

/* inner_plan.c */

typedef struct dp_kept_job dp_kept_job; /* kept.c */

/* run.c */
extern Tuplestorestate *dp_run_release(const dp_release_spec *spec,
									   const dp_ledger_standing *standing,
									   EState *estate, TupleDesc result,
									   dp_kept_job *wanted,
									   TimestampTz *stored_at);
extern TimestampTz dp_run_look_ahead(const dp_release_spec *spec,
									 const dp_ledger_standing *standing,
									 EState *estate, TupleDesc result);

/* kept.c */
typedef struct dp_run_rows
{
	Tuplestorestate *store;
	TupleTableSlot *slot;
	struct dp_told_order *order;	/* undeclared keys; or NULL */
} dp_run_rows;

extern void dp_run_store_row(void *context, const void *data, Size size);
#define DP_RUN_KEPT 64

typedef struct dp_kept
{
	MemoryContext context;		/* holds the struct that begins with this, and
								 * all that it points to */
	int64		nonce;
	int			index;
} dp_kept;

typedef struct dp_kept_ring
{
	dp_kept    *entry[DP_RUN_KEPT];
	int			next;			/* the next to be overwritten */
} dp_kept_ring;
extern bool dp_run_kept_standing(int64 nonce, int index,
								 dp_ledger_standing *out);
extern Tuplestorestate *dp_run_give_kept(int64 nonce, int index,
										 TupleDesc result, dp_stamp *stamp,
										 bool *stamped,
										 TimestampTz *stored_at);
extern void dp_run_keep(int64 nonce, int index, const dp_stamp *stamp,
						const dp_ledger_standing *standing, TupleDesc result,
						TimestampTz stored_at, Tuplestorestate *store);

extern bool dp_run_follows_from_plan(const dp_release_spec *spec,
									 const List *parameters,
									 ParamListInfo values);
extern uint64 dp_run_find_job(int64 nonce, int index,
							  const dp_ledger_standing **standing,
							  const List **named);
extern Tuplestorestate *dp_run_do_kept_job(uint64 number, int64 nonce,
										   int index, EState *estate,
										   TupleDesc result);
extern dp_kept_job *dp_run_want_job(int64 nonce, int index,
									const dp_stamp *stamp,
									const dp_ledger_standing *standing,
									const List *named,
									const dp_release_spec *spec);
extern bool dp_run_seal_job(dp_kept_job *wanted, dp_reader_job *job);
extern void dp_run_keep_job(dp_kept_job *wanted);

/* public_plan.c */
typedef struct dp_inner_planning dp_inner_planning;

extern void dp_run_public_plan_init(void);
extern dp_inner_planning *dp_run_leave_inner(void);
extern void dp_run_enter_inner(dp_inner_planning *inner);
extern bool dp_run_is_inner(const Query *query, const char *text);
extern PlannedStmt *dp_run_plan_met(planner_hook_type behind, Query *query,
									const char *text, int options,
									ParamListInfo params);
extern PlannedStmt *dp_run_public_plan(Query *inner, dp_workers workers,
									   dp_public_facts *facts);

/* ordinary.c */
extern bool dp_run_is_ordinary(Query *query);
extern bool dp_run_may_hold_block(Query *query);

/* rights.c */
extern const dp_relation *dp_run_look_up(const dp_block *block, Oid relid);
extern bool dp_run_lacks_right(Query *query);
extern bool dp_run_reaches_protected(Query *query);
extern void dp_run_check_rights_first(Query *query);
extern void dp_run_check_rights_met(PlannerInfo *root, Oid relid);
extern dp_refusal *dp_run_make_refusal(Oid named, Oid relid, Query *query,
									   const char *hint);
extern dp_refusal *dp_run_refuse_entries(Query *level);

/* release_price.c */
extern void dp_run_find_disjoint(dp_release_spec *spec);
extern void dp_run_add_values(const dp_release_spec *spec,
							  const dp_charge *charges, dp_charge *sum);
extern char *dp_run_disjoint_text(const dp_release_spec *spec);
extern void dp_run_set_part(dp_release_spec *spec, Const *value,
							Snapshot snapshot);

/* row_security.c */
extern void dp_run_hide_rows(PlannerInfo *root, RelOptInfo *rel);
extern void dp_run_hide_rows_first(PlannerInfo *root, RelOptInfo *rel,
									   const RangeTblEntry *entry);
extern List *dp_run_lock_toast(const List *relids, List **locked);

/* own_query.c */
extern PlannedStmt *dp_run_plan_subquery(const dp_block *block,
											 Query *subquery,
											 ParamListInfo params);
extern void dp_run_check_columns(TupleDesc columns, const List *targets);
extern void dp_run_open_only(PlannedStmt *plan, ParamListInfo params,
							 QueryEnvironment *environment);

/* joined_rows.c */

/* The rows of a source so far. */
typedef struct dp_fanout_tally
{
	const dp_joined *source;
	uint64	   *hashes;			/* of the values in its join columns */
	int64		rows;
	int64		room;
	int64		most;			/* at the end: most rows that match one row, at
								 * least 1 */
} dp_fanout_tally;

extern int64 dp_run_fanout_multiply(int64 a, int64 b);
extern void dp_run_check_fanout(int64 fanout, Size record);
extern void dp_run_check_once(const dp_block *block, int64 fanout);
extern void dp_run_tell_lost(const dp_release_spec *spec, int64 matched);
extern void dp_run_tell_room(int64 fanout, Size record, int64 counted,
							 bool levels);
extern const char *dp_run_joined_piece(const dp_joined_rows *rows, int n,
									   Size *size);

/* A row in a piece; its minimal tuple follows, at an aligned address. */
typedef struct dp_piece_row
{
	int32		number;			/* of the source */
	uint32		size;			/* of the tuple */
} dp_piece_row;
extern Size dp_run_least_bytes(const dp_gather_limits *limits);

/* stored_answer.c */

/* A release that runs, or that EXPLAIN looks at (run.c). */
typedef struct dp_release
{
	const dp_release_spec *spec;
	const dp_ledger_standing *standing;
	TupleDesc	result;
	dp_kept_job *wanted;		/* what its job is kept with, or NULL */
	dp_inner	run;
	Query	   *inner;			/* made ready */
	dp_joined_rows *joined;		/* or NULL */
	dp_joined_sizes sizes;		/* of these */
	bool		by_units;		/* private rows are gathered by unit */
	dp_ledger_request request;
	dp_ledger_receipt receipt;
} dp_release;

typedef struct dp_run_stored
{
	bool		found;
	dp_reuse_answer answer;		/* if found */
	dp_reuse_key *key;			/* of the answer found; else, locked, of the
								 * one to be stored; or NULL */
	TimestampTz rows_at;		/* the answer is no older than this */
} dp_run_stored;

extern void dp_run_find_answer(const dp_release *release, bool wait,
							   dp_run_stored *out);
extern void dp_run_give_answer(const dp_release *release,
							   const dp_run_stored *stored,
							   Tuplestorestate *store);
extern void dp_run_keep_answer(const dp_release *release,
							   const dp_run_stored *stored,
							   Tuplestorestate *store);

/* kept_plan.c */
typedef struct dp_kept_plan dp_kept_plan;

extern PlannedStmt *dp_run_find_plan(const Query *query, const char *text,
									 int options, ParamListInfo params);
extern dp_kept_plan *dp_run_want_plan(Query *query, const char *text,
									  int options, ParamListInfo params);
extern void dp_run_keep_plan(dp_kept_plan *wanted, PlannedStmt *plan);

/* inner_plan.c: parameters, times and the user's name become constants */
extern Query *dp_run_settle(Query *inner, ParamListInfo params);

/* follow_keys.c */
typedef struct dp_followed dp_followed;

/* Takes a row whose unit has been found. */
typedef void (*dp_follow_sink) (void *context, Datum unit,
								MinimalTuple tuple);

extern dp_followed *dp_run_follow_create(const dp_joined *source,
										 dp_follow_sink sink, void *context);
extern DestReceiver *dp_run_follow_scan(dp_followed *all, int n);
extern void dp_run_follow(dp_followed *all);

/* work.c */
extern void dp_run_fill_job(const dp_release *release, dp_reader_job *job);
extern void dp_run_work_init(void);

/* key_domains.c */
extern void dp_run_find_large_keys(dp_release_spec *spec);
extern int	dp_run_share(const dp_release_spec *spec);
extern char *dp_run_large_text(const dp_release_spec *spec);
extern List *dp_run_begin_key_conditions(const dp_block *block,
										 PlanState *plan);
extern List *dp_run_find_others(const dp_release_spec *spec);
extern bool dp_run_may_have_rows(List *conditions, const List *others,
								 TupleTableSlot *slot, ExprContext *econtext);
extern List *dp_run_decide_keys(const dp_block *block, EState *estate,
								List **settled);
typedef struct dp_told_order dp_told_order;

extern dp_told_order *dp_run_order_begin(const dp_release_spec *spec,
										 TupleDesc result);
extern void dp_run_order_add(dp_told_order *order, TupleTableSlot *slot);
extern void dp_run_order_end(dp_told_order *order, TupleTableSlot *slot,
							 Tuplestorestate *store);

/* explain.c */
struct ExplainState;
extern void dp_run_explain(const dp_release_spec *spec, bool charged,
						   TimestampTz stored_at, EState *estate,
						   struct ExplainState *es);
typedef struct dp_past_release dp_past_release;

extern void dp_run_remember(const dp_release_spec *spec,
								const dp_ledger_receipt *receipt);
extern dp_past_release *dp_run_hold_past(MemoryContext context,
										 int64 *ledger_id);
extern void dp_run_remember_past(dp_past_release *past, int64 ledger_id);

/* node.c */
typedef struct dp_shared_store
{
	EState	   *root;
	int64		nonce;
	int			index;
	Tuplestorestate *store;		/* NULL until the release has run */
	TimestampTz stored_at;		/* when the stored answer was stored, or 0 */
	const dp_release_spec *spec;	/* what it ran as; NULL for a kept job or
									 * answer */
	List	   *others;			/* of the keys (key_domains.c) */
	int			references;
} dp_shared_store;
/* The node that the custom scan of a release carries. */
typedef struct dp_release_plan
{
	ExtensibleNode node;
	dp_block   *block;
	int64		nonce;			/* of the planner call */
	int			index;			/* of the block in that call */
} dp_release_plan;

/* What a reader is sent for a release (work.c). */
typedef struct dp_release_input
{
	ExtensibleNode node;
	dp_block   *block;			/* without subqueries, which have run */
	List	   *arguments;		/* of Const *: for dp_run_prepare */
	List	   *domains;		/* of the keys, each a list */
	List	   *aggregates;		/* exact ones, of all measurements */
	List	   *types;			/* OIDs: of the columns of the answer */
} dp_release_input;

extern void dp_run_node_init(void);
extern void dp_run_add_path(PlannerInfo *root, RelOptInfo *rel,
								dp_block *block, uint64 nonce, int index);
extern bool dp_run_is_release(const Plan *plan);

/* named_stores.c */
extern void dp_run_shared_rows_init(void);

/* quiet.c */
extern void dp_run_quiet_init(void);
extern void dp_run_forbid_loud(void);

#endif							/* DP_RUN_RUN_H */
