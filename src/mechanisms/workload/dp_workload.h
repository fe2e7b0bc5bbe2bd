/*
 * dp_workload.h
 *	  Public interface of workloads: a universe of cells, and queries over it.
 *
 * A universe is the product of axes.  A linear query is a predicate over
 * cells, or a weight from 0 to 1 of each: it is evaluated on public values
 * only, never on rows, so any expression of built-in functions will do.  The
 * data meets a query through the counts of the cells of the axes that the
 * query names.
 *
 * Include postgres.h first.
 */
#ifndef DP_WORKLOAD_H
#define DP_WORKLOAD_H

#include "access/tupdesc.h"
#include "nodes/execnodes.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../query/domains/dp_domains.h"
#include "../../reader/dp_reader.h"
#include "../readings/dp_readings.h"

#define DP_UNIVERSE_CELLS (1 << 20)	/* most of a universe in memory */
#define DP_UNIVERSE_AXES 64

typedef struct dp_universe
{
	Oid			relid;
	int			naxes;
	dp_axis   **axes;
	int64		size;			/* cells; PG_INT64_MAX when more */
} dp_universe;

/*
 * Make a universe from an SQL function's columns (text[]) and bins (integer[]
 * of the same length, 0 or NULL: none; NULL array: none at all).  22023,
 * 42703, 54000.
 */
extern dp_universe *dp_workload_make_universe(Oid relid, ArrayType *columns,
											  ArrayType *bins, int64 most);
extern List *dp_workload_to_list(const dp_universe *universe);
extern dp_universe *dp_workload_from_list(const List *list);
/*
 * A sentence for the hint of an error about too many cells, with a space
 * before it; empty when no column may be NULL.
 */
extern const char *dp_workload_null_hint(const dp_universe *universe);
/* Cells of a table over some axes; it must not overflow. */
extern int64 dp_workload_cells(const dp_universe *universe, int naxes,
							   const int *axes);
/* Places of a cell on each axis; size must not have saturated. */
extern void dp_workload_places(const dp_universe *universe, int64 cell,
							   int64 *places);

/*
 * The weights of cells by a query: a table over the axes that it names, in
 * granules of which DP_WEIGHT_ONE are 1.  A predicate weighs 0 or 1.
 */
typedef struct dp_linear_query
{
	const char *text;
	bool		predicate;
	int			naxes;
	int		   *axes;			/* ascending */
	int64		size;			/* product of their sizes */
	int32	   *weights;		/* size of them, in the order of
								 * dp_reading_table */
} dp_linear_query;

/*
 * Errors as dp_split_read_public_predicate, 54000 too many cells, 22023 a
 * weight that is not from 0 to 1, and what evaluating it on public values
 * raises.
 */
extern dp_linear_query *dp_workload_read_query(const dp_universe *universe,
											   const char *text);
/* The same; 0A000 for a weight, which `what` does not take. */
extern dp_linear_query *dp_workload_read_predicate(const dp_universe *universe,
												   const char *text,
												   const char *what);
/* The cell of the query's table that each cell of the universe is in. */
extern void dp_workload_map(const dp_universe *universe,
							const dp_linear_query *query, int32 *cells);
/* The weight of each cell of the universe, universe->size of them. */
extern void dp_workload_expand(const dp_universe *universe,
							   const dp_linear_query *query, int32 *weights);
/* The reading whose counts, weighed and added, are the query's granules. */
extern dp_reading *dp_workload_reading(const dp_universe *universe,
									   const dp_linear_query *query);
/* All tables of k axes, in lexical order. */
extern int	dp_workload_marginals(const dp_universe *universe, int k,
								  dp_reading_table **out);

extern void dp_workload_init(void); /* from _PG_init, preloading only */

/*
 * The noisy number of rows (noisy_rows.c), for which one part of
 * DP_WORKLOAD_COUNT_SHARE of epsilon is spent; after the noise it is clamped
 * to least .. most.  dp_workload_count_rows reads and sums a reading's counts,
 * after `charge`; dp_workload_noisy_count is for uses of readings that have
 * been charged for it.
 */
#define DP_WORKLOAD_COUNT_SHARE 20
extern dp_scale dp_workload_count_scale(uint64 sensitivity,
										const dp_rational *epsilon);
extern int64 dp_workload_count_rows(dp_reading *reading,
									const dp_rational *epsilon, int64 least,
									int64 most, dp_reader_charge charge,
									void *context);
extern int64 dp_workload_noisy_count(const dp_scale *scale, dp_int128 exact,
									 int64 least, int64 most);

/* "a text, b integer" */
extern char *dp_workload_columns_text(const dp_universe *universe);
/*
 * For SETOF record functions that return rows of cells: the caller's column
 * list must match the universe by name and type (22023 with both lists
 * otherwise), followed by a column of the function's own, such as "weight
 * double precision"; NULL: none.
 */
extern void dp_workload_check_columns(const dp_universe *universe,
									  TupleDesc wanted, const char *own);
/* The same for distributions: the column comes last. */
#define DP_PROBABILITY_COLUMN "probability double precision"
extern void dp_workload_check_distribution(const dp_universe *universe,
										   TupleDesc wanted);
extern void dp_workload_put_distribution(const dp_universe *universe,
										 const double *probability,
										 ReturnSetInfo *result);
/* The same for rows of a relation's own type, NULL outside the universe. */
extern void dp_workload_check_rows(const dp_universe *universe,
								   TupleDesc rows);
extern void dp_workload_values(const dp_universe *universe, int64 cell,
							   Datum *values, bool *nulls);

#endif							/* DP_WORKLOAD_H */
