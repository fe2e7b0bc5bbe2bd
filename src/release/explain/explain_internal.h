/*
 * explain_internal.h
 *	  What the files of explain share.
 *
 * Include postgres.h first.
 */
#ifndef EXPLAIN_INTERNAL_H
#define EXPLAIN_INTERNAL_H

#include "../../measure/aggregates/dp_aggregates.h"

/* ---- bounds_text.c ---- */
extern char *dp_explain_unit_bounds(const dp_release_spec *spec);
extern char *dp_explain_left_out(const dp_left_out *left);
extern void dp_explain_notice_left_out(const dp_release_spec *spec);

#endif							/* EXPLAIN_INTERNAL_H */
