/*
 * reading.h
 *	  Private to the reading room: what a reading was verified to be.
 */
#ifndef DP_READING_READING_H
#define DP_READING_READING_H

#include "../count/dp_count.h"
#include "../run/dp_run.h"
#include "dp_reading.h"

struct dp_reading_plan
{
	dp_block   *block;
	dp_condition_counting *counting;	/* of predicates; else NULL and */
	Const	   *spec;			/* of the tables */
	List	   *columns;
	List	   *conditions;		/* units with many rows: as counting, which is
								 * then NULL */
};

/* ---- verify.c ---- */
extern void dp_reading_forget_position(void *arg);
extern Query *dp_reading_rewrite_conditions(Query *query, Const *epsilon);
extern dp_block *dp_reading_verify_conditions(Query *query);
extern List *dp_reading_block_conditions(const dp_block *block);
extern Query *dp_reading_select_columns(Oid relid, const AttrNumber *columns,
										int n);

/*
 * weight_interval.c: 22023 when a weight among the texts, whose block it is,
 * may have values that are not from 0 to 1.
 */
extern void dp_reading_check_weights(const dp_block *block, List *texts);

/* ---- reading_rows.c: units with many rows ---- */

typedef struct dp_reading_rows dp_reading_rows;
extern List *dp_reading_rows_targets(const struct dp_reading_plan *plan);
extern Size dp_reading_rows_bytes(Node *of, Oid unit);
extern dp_reading_rows *dp_reading_rows_create(Node *of, Oid unit, int64 m);
extern void dp_reading_rows_add(dp_reading_rows *rows, TupleTableSlot *slot);
extern void dp_reading_rows_end_part(dp_reading_rows *rows, int64 *counts);
extern void dp_reading_rows_finish(dp_reading_rows *rows, int64 *counts);

/* reading.c: how many of the predicates are evaluated for every row. */
extern int	dp_reading_evaluated(Oid relid, List *texts);

#endif							/* DP_READING_READING_H */
