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

/* ---- reading.c ---- */
extern void dp_reading_forget_position(void *arg);
extern Query *dp_reading_rewrite_conditions(Query *query, Const *epsilon);
extern dp_block *dp_reading_verify_conditions(Query *query);
extern List *dp_reading_block_conditions(const dp_block *block);
extern Query *dp_reading_select_columns(Oid relid, const AttrNumber *columns,
										int n);

/* ---- reading_use.c: units with many rows ---- */

typedef struct dp_reading_rows dp_reading_rows;

/* reading.c: how many of the predicates are evaluated for every row. */
extern int	dp_reading_evaluated(Oid relid, List *texts);

#endif							/* DP_READING_READING_H */
