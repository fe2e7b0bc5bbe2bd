/*
 * release.h
 *	  Private to the release folder: a block made ready to run, and the steps
 *	  of running it.
 */
#ifndef DP_RELEASE_RELEASE_H
#define DP_RELEASE_RELEASE_H

#include "executor/instrument.h"
#include "executor/tuptable.h"
#include "nodes/pathnodes.h"
#include "nodes/execnodes.h"
#include "tcop/dest.h"
#include "utils/tuplestore.h"

#include "../measure/dp_measure.h"
#include "dp_release.h"

/* Parameters of the aggregates, whose values dp_release_prepare is given, as
 * a list of constants. */
extern List *dp_release_parameter_exprs(const dp_block *block);
extern dp_release_spec *dp_release_prepare(dp_block *block,
										   const dp_ledger_standing *standing,
										   List *arguments);
/* 22023 when a price is outside what the dataset's owner allows. */
extern void dp_release_check_prices(const dp_release_spec *spec,
									const dp_ledger_standing *standing);
extern const char *dp_release_mechanism_name(const dp_measure *measure);
extern char *dp_release_mechanism_text(const dp_release_spec *spec);

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
								 * dp_inner_plan */
	dp_reader_needs needs;		/* dp_inner_plan */
} dp_inner;

extern void dp_release_check_preconditions(void);
extern PlannedStmt *dp_inner_plan(dp_inner *run, Query *inner, bool workers);

/* needs.c */
extern bool dp_inner_find_needs(Query *inner, dp_reader_needs *needs,
								bool *toast);

/* run.c */
extern void dp_release_request(const dp_release_spec *spec,
							   dp_ledger_request *request);

extern Query *dp_release_make_ready(const dp_block *block,
									const dp_ledger_standing *standing,
									Query *inner, Const *part,
									dp_inner *run);
extern Tuplestorestate *dp_release_run(dp_release_spec *spec,
									   const dp_ledger_standing *standing,
									   EState *estate, TupleDesc result);
extern List *dp_release_take_rights(const dp_block *block,
									const dp_ledger_standing *standing,
									Query *query, dp_public_facts *facts);

/* The text of a query over a relation that an argument names; by its address
 * the release knows it. */
extern const char dp_release_named_text[];
extern void dp_release_execute(PlannedStmt *plan, const char *text,
							   DestReceiver *receiver, ParamListInfo params,
							   QueryEnvironment *environment);
extern PlannedStmt *dp_release_plan_subquery(const dp_block *block,
											 Query *subquery,
											 ParamListInfo params);

/* public_plan.c */
extern void dp_public_plan_init(void);
extern PlannedStmt *dp_public_plan(Query *inner, bool workers,
								   dp_public_facts *facts);

/* rights.c */
extern void dp_release_check_rights_first(Query *query);
extern bool dp_release_expect_functions(bool expect);
extern void dp_release_check_rights_met(PlannerInfo *root, Oid relid);

/* row_security.c */
extern void dp_release_hide_rows(PlannerInfo *root, RelOptInfo *rel);
extern void dp_release_hide_rows_first(PlannerInfo *root, RelOptInfo *rel,
									   const RangeTblEntry *entry);

/* part.c */
extern void dp_release_set_part(dp_release_spec *spec, bool replace,
								Datum value, bool isnull);
extern void dp_release_check_part(dp_release_spec *spec, Snapshot snapshot);

/* locks.c */
extern List *dp_release_lock_toast(const List *relids, List **locked);

/* work.c */
extern void dp_release_fill_job(const dp_release_spec *spec,
								const dp_ledger_standing *standing,
								TupleDesc result, dp_reader_job *job);
extern void dp_release_work_init(void);

/* inner.c */
extern Query *dp_release_inner_query(dp_release_spec *spec);

/* explain.c */
struct ExplainState;
extern void dp_release_explain(const dp_release_spec *spec, bool charged,
							   EState *estate, struct ExplainState *es);

/* last_release.c */
extern void dp_release_remember(const dp_release_spec *spec,
								const dp_ledger_receipt *receipt);

/* describe.c: one released value for people: all texts palloc'd. */
typedef struct dp_description
{
	char	   *name;			/* "dp_sum(age)" or the aggregate's name */
	char	   *mechanism;
	char	   *epsilon;
	char	   *delta;
	char	   *rho;
	char	   *sensitivity;
	char	   *scale;
	char	   *error;			/* 95% error */
} dp_description;

extern dp_description dp_release_describe(const dp_release_spec *spec,
										  int measure);

/* planner.c: the range table function that stands for a release */
extern Oid	dp_release_marker(void);	/* InvalidOid: not installed */

/* node.c */
extern void dp_release_node_init(void);
extern void dp_release_add_path(PlannerInfo *root, RelOptInfo *rel,
								List *block, uint64 nonce, int index);

/* quiet.c */
extern void dp_release_quiet_init(void);
extern void dp_release_refuse_loud(void);

#endif							/* DP_RELEASE_RELEASE_H */
