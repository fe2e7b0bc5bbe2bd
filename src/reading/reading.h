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
extern List *dp_reading_block_conditions(const dp_block *block);

/* ---- reading_use.c: units with many rows ---- */

typedef struct dp_reading_rows dp_reading_rows;

#endif							/* DP_READING_READING_H */
