/*
 * quarters.c
 *	  A query that measures a bound on the rows of a unit pays three quarters
 *	  of its price for its values, and has that bound in place of those that
 *	  nobody gives (measured_bound.c).
 */
#include "postgres.h"

#include "../../math/accounting/dp_accounting.h"
#include "../../base/dp_base.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../measure/aggregates/dp_aggregates.h"
#include "dp_prepare.h"
#include "prepare_internal.h"

/* Quarters of the price, and of delta, that measuring pays. */
#define QUARTERS_MEASURING 1

/*
 * dp_prepare_use_measured
 *	  The bounds with the measured total.  Others that are not set are taken
 *	  from it, but for a bound on groups that the relation declares which lacks
 *	  one on rows.
 */
dp_unit_bounds
dp_prepare_use_measured(const dp_unit_bounds *bounds)
{
	dp_unit_bounds b = *bounds;

	b.total = b.measured;
	b.total_from = DP_BOUND_MEASURED;
	b.missing = InvalidOid;
	if (b.rows_from != DP_BOUND_SET)
	{
		b.rows = b.total;
		b.rows_from = DP_BOUND_IMPLIED;
	}
	if (b.keys_from != DP_BOUND_SET &&
		!(b.keys_from == DP_BOUND_DECLARED && b.declared == bounds->missing))
	{
		b.keys = b.total;
		b.keys_from = DP_BOUND_IMPLIED;
	}
	return b;
}

/* dp_prepare_measures_rows: whether the block counts units by their rows. */
bool
dp_prepare_measures_rows(const dp_block *block)
{
	return block->values != NIL &&
		((const dp_value *) linitial(block->values))->kind ==
		DP_AGG_UNIT_ROWS;
}

/* dp_prepare_quarters: how much of its price and delta it pays; 0: all. */
int
dp_prepare_quarters(const dp_block *block, const dp_unit_bounds *bounds)
{
	return bounds->total_from == DP_BOUND_MEASURED ? DP_QUARTERS_MEASURED :
		dp_prepare_measures_rows(block) ? QUARTERS_MEASURING : 0;
}

/* dp_prepare_add_measuring: add what measuring its total costs, if it does. */
void
dp_prepare_add_measuring(const dp_release_spec *spec, dp_charge *sum)
{
	const dp_measuring *measuring = spec->measuring;

	if (measuring != NULL && !measuring->stored)
		dp_base_check_status(dp_accounting_charge_add(sum,
												  &measuring->rows->charge),
							 "add up the charge of a query");
}
