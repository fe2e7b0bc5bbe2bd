/*
 * dp_joined.h
 *	  Public interface of joined rows: what a block joins with private rows,
 *	  and brings together by units.
 *
 * Include postgres.h first.
 */
#ifndef DP_JOINED_H
#define DP_JOINED_H

#include "executor/executor.h"
#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/execnodes.h"
#include "nodes/params.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"
#include "utils/tuplestore.h"

#include "../../query/rowsets/dp_rowsets.h"
#include "../../reader/dp_reader.h"
#include "../../measure/units/dp_units.h"
#include "../../measure/aggregates/dp_aggregates.h"

/*
 * All public facts about the relation of an inner query; its plan is made from
 * these.
 */
typedef struct dp_public_facts
{
	Oid			relid;			/* the protected relation */
	int64		rows;			/* its size class, or 0 */
	AttrNumber	part_attnum;	/* column of the part that an index may read */
	const Const *part_value;	/* NULL: no index may be read */
	long		groups;			/* at most, including one for rows in no
								 * group */
	bool		toast_needed;	/* workers would fetch out-of-line values */

	int			private_names;	/* named rows with numbers up to this are
								 * private */
	bool		shares_rows;	/* workers may have a copy of the public
								 * ones */
	Size		widest;			/* most bytes of one of the public ones */

	/* Set while planning. */
	bool		copied;			/* workers will have that copy */
	bool		toast_met;		/* and a relation has out-of-line values */
	bool		workers_known;	/* by a storage parameter, or enough pages */
	bool		pages_counted;
	int			children;		/* including the relation itself; or 0 */
	double		width;			/* of a stored row in bytes; or 0 */
	Oid			index;			/* the one that may be read, or InvalidOid */
} dp_public_facts;

/* One inner query (inner_plan.c); the caller sets the first six fields. */
typedef struct dp_inner
{
	ParamListInfo params;
	QueryEnvironment *environment;
	MemoryContext context;		/* for the text of an error */
	bool		named;			/* an argument names the relation: see
								 * run_subquery */
	bool		local;			/* the asking role may read the rows anyway */
	bool		unknown;		/* EXPLAIN: values of subqueries are, and with
								 * GENERIC_PLAN those of parameters */
	List	   *ready;			/* of dp_ready *: its own first, then those of
								 * other private rows; make_ready */
	dp_public_facts facts;		/* relid and rows: make_ready; about joined
								 * rows: dp_joined_read */
	List	   *relations;		/* OIDs of all that it opens: make_ready and
								 * dp_inner_plan_job */
	dp_reader_needs needs;		/* dp_inner_plan_job */
	Size		memory;			/* of one row's expressions: likewise */
	Size		row;			/* most bytes of a row that it returns:
								 * likewise */
} dp_inner;

/* ---- what a block joins, by units or not (joined_rows.c) ---- */
typedef struct dp_joined_rows dp_joined_rows;

/* What is known of joined rows before private rows are read. */
typedef struct dp_joined_sizes
{
	int64		fanout;			/* most rows joined with a private one:
								 * joined_rows.c */
	int64		matched;		/* the same, without the choice of none */
	Size		widest;			/* bytes of a row */
} dp_joined_sizes;

extern dp_joined_rows *dp_joined_read(const dp_block *block,
									  dp_inner *run);
extern void dp_joined_check(const dp_block *block, const dp_inner *run);
extern Size dp_joined_memory(const dp_joined_rows *rows);
extern Size dp_joined_bytes(const dp_joined_rows *rows);
extern dp_joined_sizes dp_joined_get_sizes(const dp_joined_rows *rows);
extern int	dp_joined_pieces(const dp_joined_rows *rows);
extern const void *dp_joined_next(void *context, Size *size);
extern bool dp_joined_counts_rows(const dp_block *block);
extern void dp_joined_notice_rows_lost(const dp_block *block, int64 matched,
									   int64 kept);
extern void dp_joined_set_levels(const dp_block *block, Size row, Size public,
								 dp_gather_limits *limits);

extern int64 dp_joined_fanout_multiply(int64 a, int64 b);

extern void dp_joined_check_fanout(int64 fanout, Size record);
extern void dp_joined_check_once(const dp_block *block, int64 fanout);
extern void dp_joined_notice_lost(const dp_release_spec *spec, int64 matched);
extern void dp_joined_notice_room(int64 fanout, Size record, int64 counted,
								  bool levels);
extern const char *dp_joined_piece(const dp_joined_rows *rows, int n,
								   Size *size);

/* A row in a piece; its minimal tuple follows, at an aligned address. */
typedef struct dp_piece_row
{
	int32		number;			/* of the source */
	uint32		size;			/* of the tuple */
} dp_piece_row;
extern Size dp_joined_least_bytes(const dp_gather_limits *limits);

/* ---- named_stores.c ---- */
typedef struct dp_named_stores dp_named_stores;

extern dp_named_stores *dp_joined_named_create(const dp_block *block,
											   dp_gather_limits *limits,
											   dp_reader_source source,
											   void *context);
extern QueryEnvironment *dp_joined_environment(const dp_named_stores *all);
extern DestReceiver *dp_joined_named_scan(dp_named_stores *all, int n);
extern bool dp_joined_named_next(dp_named_stores *all);
extern void dp_joined_shared_rows_init(void);

/* Plans from public facts. */
extern void dp_joined_share_rows(PlannerInfo *root, RelOptInfo *rel);
extern bool dp_joined_is_shared_path(const Path *path);
extern bool dp_joined_is_shared(const Plan *plan);
extern bool dp_joined_mark_shared(Plan *plan, bool gathered);

/* Cost of a step that settings turn off, before 18: more than all others. */
#define DP_JOINED_OFF 1e80

/* ---- own_query.c ---- */
extern void dp_joined_execute(PlannedStmt *plan, const char *text,
							   DestReceiver *receiver, ParamListInfo params,
							   QueryEnvironment *environment);
extern PlannedStmt *dp_joined_plan_subquery(const dp_block *block,
											 Query *subquery,
											 ParamListInfo params);
extern void dp_joined_check_columns(TupleDesc columns, const List *targets);

/*
 * How nodes show rows of a tuplestore.
 */

/*
 * dp_joined_show_stored
 *	  A row of a tuplestore in a virtual slot, which plans of scans expect;
 *	  valid while the other slot holds it.
 */
static inline TupleTableSlot *
dp_joined_show_stored(TupleTableSlot *slot, TupleTableSlot *minimal)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	slot_getallattrs(minimal);
	memcpy(slot->tts_values, minimal->tts_values, sizeof(Datum) * natts);
	memcpy(slot->tts_isnull, minimal->tts_isnull, sizeof(bool) * natts);
	return ExecStoreVirtualTuple(slot);
}

#endif							/* DP_JOINED_H */
