/*
 * reading.h
 *	  Private to the release folder: what a reading was verified to be.
 */
#ifndef DP_RELEASE_READING_H
#define DP_RELEASE_READING_H

#include "count_tables.h"

struct dp_reading_plan
{
	dp_block   *block;
	dp_condition_counting *counting;	/* of predicates; else NULL and */
	Const	   *spec;			/* of the tables */
	List	   *columns;
};

#endif							/* DP_RELEASE_READING_H */
