/*
 * readings_internal.h
 *	  Private to readings: what a reading was verified to be.
 */
#ifndef READINGS_INTERNAL_H
#define READINGS_INTERNAL_H

#include "../../query/rowsets/dp_rowsets.h"

/* ---- reading.c ---- */
extern List *dp_readings_block_conditions(const dp_block *block);

/* ---- reading_use.c: units with many rows ---- */

typedef struct dp_reading_rows dp_reading_rows;

#endif							/* READINGS_INTERNAL_H */
