/*
 * dp_run.h
 *	  Public interface of the run folder: the planner hook and the node that
 *	  charges, has rows read and noise added; and the steps that readings take
 *	  too.
 *
 * Functions begin with dp_run_, dp_inner_ (the inner query) or dp_public_
 * (its plan from public facts).  Include postgres.h first.
 */
#ifndef DP_RUN_H
#define DP_RUN_H

#include "nodes/params.h"
#include "nodes/plannodes.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"

#include "../measure/dp_measure.h"

extern void dp_run_init(void);	/* from _PG_init, preloading only */

/*
 * All that is public about the relation of an inner query, which is what its
 * plan is made from.
 */
typedef struct dp_public_facts
{
	Oid			relid;			/* the protected relation */
	int64		rows;			/* its size class, or 0 */
	AttrNumber	part_attnum;	/* column of the part that may be read by an
								 * index */
	const Const *part_value;	/* NULL: no part may */
	long		groups;			/* at most, and one for rows in none */
	bool		toast_needed;	/* workers would fetch out-of-line values */

	int			private_names;	/* rows with a number up to this are private */

	/* Noted while planning */
	bool		toast_met;		/* and some relation has any */
	bool		workers_told;	/* by a storage parameter, or enough pages */
	bool		pages_counted;
	int			children;		/* with the relation itself; or 0 */
	double		width;			/* of a stored row in bytes; or 0 */
	Oid			index;			/* that may be read, or none */
} dp_public_facts;

/* inner_plan.c: one inner query; the caller fills the first five. */
typedef struct dp_inner
{
	ParamListInfo params;
	QueryEnvironment *environment;
	MemoryContext context;		/* that an error's text is made in */
	bool		named;			/* relation by name: see run_subquery */
	bool		local;			/* the asker may read the rows anyway */
	dp_public_facts facts;		/* relid and rows: make_ready */
	List	   *relations;		/* OIDs of all that it opens: make_ready and
								 * dp_run_plan_inner */
	dp_reader_needs needs;		/* dp_run_plan_inner */
	Size		memory;			/* of one row: dp_run_plan_inner */
} dp_inner;

extern void dp_run_check_preconditions(void);
extern PlannedStmt *dp_run_plan_inner(dp_inner *run, Query *inner,
									  bool workers);

/* ---- run.c ---- */
extern Query *dp_run_make_ready(const dp_block *block,
									const dp_ledger_standing *standing,
									Query *inner, Const *part,
									dp_inner *run);

/* ---- take_rights.c ---- */
extern List *dp_run_take_rights(const dp_block *block, Oid relid,
									const dp_ledger_standing *standing,
									Query *query, dp_public_facts *facts);

/* ---- prepare.c ---- */

/* How many rows of a unit in one group, and in how many groups, count. */
typedef struct dp_unit_bounds
{
	int64		rows;
	int64		keys;
} dp_unit_bounds;

extern dp_unit_bounds dp_run_unit_bounds(const dp_block *block);

/* The text of a query over a relation that an argument names; by its address
 * the release knows it. */
extern const char dp_run_named_text[];

/* ---- own_query.c ---- */
extern void dp_run_execute(PlannedStmt *plan, const char *text,
							   DestReceiver *receiver, ParamListInfo params,
							   QueryEnvironment *environment);

#endif							/* DP_RUN_H */
