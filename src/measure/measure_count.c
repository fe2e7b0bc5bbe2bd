/*
 * measure_count.c
 *	  dp_count: the number of rows, of non-NULL values, or of distinct values.
 *
 * Sensitivity (doc/theory.md T41): a unit has at most m rows in each of at
 * most kappa keys, so counts change by kappa m in L1 and sqrt(kappa) m in L2;
 * by 2 kappa m and sqrt(2 kappa) m if a unit is replaced, which may change its
 * groups.  A row adds at most one distinct value, so DISTINCT is no worse;
 * distinct units are counted once, whatever their rows are.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/fmgroids.h"

#include "dp_measure.h"

/* Set what the rows of a unit become, and how many of them count at most. */
static void
set_bound(dp_measure *measure)
{
	bool		distinct = measure->aggregate->aggdistinct != NIL;

	if (distinct)
		dp_count_check_distinct(measure->argument_type, measure->collections);
	if (distinct && measure->value->of_units)
		measure->contribution.rows = 1;
	dp_measure_set_bound(measure, distinct && !measure->value->of_units ?
						 DP_BOUND_DISTINCT : DP_BOUND_COUNT);
}

static void
prepare(dp_measure *measure)
{
	const dp_contribution *c = &measure->contribution;
	dp_uint128	rows;
	dp_uint128	l1;
	dp_uint128	l2;				/* squared */

	if (c->many)
		set_bound(measure);
	rows = (dp_uint128) c->rows;
	l1 = dp_measure_product(rows, (dp_uint128) c->kappa);
	l2 = dp_measure_product(l1, rows);
	if (c->replace && c->grouped)
	{
		l1 = dp_measure_product(l1, 2);
		l2 = dp_measure_product(l2, 2);
	}
	measure->grid.exponent = 0;
	dp_measure_set_noise(measure, l1, l2, !c->grouped);
}

static List *
inner(const dp_measure *measure)
{
	TargetEntry *argument;

	if (measure->aggregate->args == NIL)
		return list_make1(dp_count_native(measure->aggregate, F_COUNT_,
										  INT8OID, NIL));
	if (measure->aggregate->aggdistinct != NIL)
		return list_make1(dp_count_distinct(measure->aggregate,
											measure->argument_type,
											measure->collections));
	argument = linitial(measure->aggregate->args);
	return list_make1(dp_count_native(measure->aggregate, F_COUNT_ANY,
									  INT8OID, list_make1(argument->expr)));
}

static void
load(const dp_measure *measure, const Datum *values, const bool *nulls,
	 dp_cell *cells, MemoryContext keep)
{
	if (!nulls[0])
		cells[0].integer += DatumGetInt64(values[0]);
}

/* A number if the row counts; for DISTINCT the value. */
static Expr *
row(const dp_measure *measure, Expr *argument)
{
	Expr	   *one = (Expr *) makeConst(INT8OID, -1, InvalidOid,
										 sizeof(int64), Int64GetDatum(1),
										 false, FLOAT8PASSBYVAL);

	if (argument == NULL)
		return one;
	if (measure->bound.kind == DP_BOUND_DISTINCT)
		return argument;
	return dp_measure_row_case((Expr *)
							   dp_block_null_test((Node *) argument,
												  IS_NOT_NULL), one);
}

static void
add(const dp_measure *measure, const dp_bound_part *part, dp_cell *cells,
	MemoryContext keep)
{
	cells[0].integer += part->rows;
}

static Datum
release(const dp_measure *measure, const dp_cell *cells, bool *isnull,
		double *error)
{
	*error = dp_measure_error_of_sum(measure);
	return dp_measure_from_granules(measure,
									dp_measure_add_noise(measure,
														 cells[0].integer),
									INT8OID);
}

static const char *const forms[] = {"", "e", NULL};

const dp_measure_ops dp_measure_count = {
	DP_AGG_COUNT, "count", forms, prepare, inner, load, release, NULL,
	row, add
};
