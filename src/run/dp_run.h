/*
 * dp_run.h
 *	  Public interface of the run room: the planner hook and the node that
 *	  charges, has rows read and noise added; and the steps that readings
 *	  share.
 *
 * Functions begin with dp_run_, dp_inner_ (the inner query) or dp_public_ (its
 * plan from public facts).  Include postgres.h first.
 */
#ifndef DP_RUN_H
#define DP_RUN_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"

#include "../bound/dp_bound.h"
#include "../measure/dp_measure.h"
#include "../reader/dp_reader.h"

extern void dp_run_init(void);	/* from _PG_init, preloading only */

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
	bool		workers_told;	/* by a storage parameter, or enough pages */
	bool		pages_counted;
	int			children;		/* including the relation itself; or 0 */
	double		width;			/* of a stored row in bytes; or 0 */
	Oid			index;			/* the one that may be read, or InvalidOid */
} dp_public_facts;

/* What parallel workers of an inner query hand over, if it has any. */
typedef enum dp_workers
{
	DP_WORKERS_NONE,
	DP_WORKERS_STATES,			/* a row or a few: states of groups */
	DP_WORKERS_ROWS				/* the rows they read, in packs
								 * (reader/pack.c) */
} dp_workers;

/* A query of a block over a protected relation (rights.c). */
typedef struct dp_ready
{
	Query	   *query;
	Oid			relid;
	List	   *key;			/* of a step to units: columns of its key */

	/* set when rights are taken */
	const dp_relation *relation;
	List	   *relids;			/* OIDs of all relations that it names */
} dp_ready;

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
								 * rows: dp_run_read_joined */
	List	   *relations;		/* OIDs of all that it opens: make_ready and
								 * dp_run_plan_job */
	dp_reader_needs needs;		/* dp_run_plan_job */
	Size		memory;			/* of one row's expressions: likewise */
	Size		row;			/* most bytes of a row that it returns:
								 * likewise */
} dp_inner;

extern void dp_run_check_preconditions(void);

/* ---- rights.c ---- */
extern void dp_run_ask_others(const List *all);
extern List *dp_run_list_private(const dp_block *block, Query *inner);
extern void dp_run_take_rights(const dp_block *block,
							   const dp_ledger_standing *standing,
							   const List *all);
extern void dp_run_prove(const dp_block *block, const List *all);

/* ---- prepare.c ---- */

/* How many rows of a unit in one group count, and in how many groups. */
typedef struct dp_unit_bounds
{
	int64		rows;
	int64		keys;
} dp_unit_bounds;

extern dp_unit_bounds dp_run_unit_bounds(const dp_block *block);

/*
 * The text of a query over a relation that an argument names; the release
 * recognizes it by its address.
 */
extern const char dp_run_named_text[];

/* ---- what a block joins, and brings together by units ---- */

/* joined_rows.c */
typedef struct dp_joined_rows dp_joined_rows;

/* What is known of joined rows before private rows are read. */
typedef struct dp_joined_sizes
{
	int64		fanout;			/* most rows joined with a private one:
								 * joined_rows.c */
	int64		matched;		/* the same, without the choice of none */
	Size		widest;			/* bytes of a row */
} dp_joined_sizes;

extern dp_joined_rows *dp_run_read_joined(const dp_block *block,
										  dp_inner *run);
extern void dp_run_check_joined(const dp_block *block, const dp_inner *run);
extern Size dp_run_joined_memory(const dp_joined_rows *rows);
extern Size dp_run_joined_bytes(const dp_joined_rows *rows);
extern dp_joined_sizes dp_run_get_joined_sizes(const dp_joined_rows *rows);
extern int	dp_run_joined_pieces(const dp_joined_rows *rows);
extern const void *dp_run_next_joined(void *context, Size *size);
extern void dp_run_tell_rows_lost(const dp_block *block, int64 matched,
								  int64 kept);
extern void dp_run_set_levels(const dp_block *block, Size row, Size public,
							  dp_gather_limits *limits);

/* run.c */
extern Query *dp_run_make_ready(const dp_block *block,
									const dp_ledger_standing *standing,
									Query *inner, Const *part,
									dp_inner *run);
extern dp_block *dp_run_find_way(dp_block *block, Size row, int64 counted,
								 const dp_joined_sizes *joined);

/* inner_plan.c */
extern void dp_run_plan_job(const dp_block *block, dp_inner *run,
							dp_workers workers, const dp_joined_rows *joined,
							dp_reader_job *job);
extern void dp_run_check_ready(const dp_block *block,
							   const dp_ledger_standing *standing);

/* named_stores.c */
typedef struct dp_named_stores dp_named_stores;

extern dp_named_stores *dp_run_named_create(const dp_block *block,
											dp_gather_limits *limits,
											dp_reader_source source,
											void *context);
extern QueryEnvironment *dp_run_named_environment(const dp_named_stores *all);
extern DestReceiver *dp_run_named_scan(dp_named_stores *all, int n);
extern bool dp_run_named_next(dp_named_stores *all);

/* ---- own_query.c ---- */
extern void dp_run_execute(PlannedStmt *plan, const char *text,
							   DestReceiver *receiver, ParamListInfo params,
							   QueryEnvironment *environment);

#endif							/* DP_RUN_H */
