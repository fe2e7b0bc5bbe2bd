/*
 * measure.h
 *	  Private to the release folder: one released value of a block.
 *
 * A measurement turns exact integers ("cells", additive over rows and over
 * groups) into one noisy value.  It lives through these steps, all on public
 * data but the last two:
 *
 *	  prepare	parameters -> grid, sensitivity, noise scale, charge
 *	  inner		the exact aggregates that the inner query computes for it
 *	  load		add one inner row's results to a group's cells
 *	  release	cells + noise -> the value
 *
 * Adding a measurement means one file, a line in registry.c, and SQL.
 */
#ifndef DP_RELEASE_MEASURE_H
#define DP_RELEASE_MEASURE_H

#include "nodes/primnodes.h"
#include "utils/numeric.h"

#include "../query/dp_query.h"

/*
 * How much one privacy unit can stand in the rows of a block: at most kappa
 * group keys, at most `rows` rows in each; `replace` says that neighbours
 * differ by replacing one unit instead of adding or removing one.
 */
typedef struct dp_contribution
{
	int64		kappa;
	int64		rows;
	bool		replace;
	bool		grouped;		/* there are group keys */
} dp_contribution;

/*
 * The public grid of a bounded measurement: a row is the integer
 * clamp(round(x / 2^exponent), low, high).
 */
typedef struct dp_grid
{
	int			exponent;
	int64		low;
	int64		high;
} dp_grid;

typedef struct dp_measure dp_measure;

typedef struct dp_measure_ops
{
	dp_aggregate_kind kind;
	const char *name;			/* in the ledger and EXPLAIN: "sum" */
	int			ncells;
	void		(*prepare) (dp_measure *measure);
	List	   *(*inner) (const dp_measure *measure);	/* of Aggref * */
	void		(*load) (const dp_measure *measure, const Datum *values,
						 const bool *nulls, dp_int128 *cells);
	Datum		(*release) (const dp_measure *measure,
							const dp_int128 *cells);
} dp_measure_ops;

struct dp_measure
{
	const dp_measure_ops *ops;

	/* from the query; nodes shared with the plan, read only */
	Aggref	   *aggregate;
	Oid			argument_type;	/* base type, InvalidOid for dp_count(*) */
	Oid			relid;
	AttrNumber	base_attnum;	/* column the argument is, or 0 */
	dp_contribution contribution;

	/* parameters as given; NULL: not given */
	Numeric		lower;
	Numeric		upper;
	Numeric		price;

	/* set by prepare; all public */
	dp_rational epsilon;
	dp_grid		grid;
	dp_uint128	sensitivity;	/* L1, in granules */
	dp_scale	scale;			/* of each noise, in granules */
	dp_charge	charge;
	int			first_column;	/* of the inner row, set by the release */
};

/* ---- registry.c ---- */
extern const dp_measure_ops *dp_measure_find(dp_aggregate_kind kind);

/* ---- measure.c: shared steps ---- */
extern Datum dp_release_read_declared(const char *text, Oid type,
									  int32 typmod);
extern void dp_measure_set_bounds(dp_measure *measure);
extern void dp_measure_set_noise(dp_measure *measure,
								 dp_uint128 sensitivity);
extern dp_uint128 dp_measure_times(dp_uint128 base, int64 factor);
extern dp_int128 dp_measure_add_noise(const dp_measure *measure,
									  dp_int128 exact);
extern Aggref *dp_measure_native(const dp_measure *measure, Oid function,
								 Oid result_type, List *arguments);
extern List *dp_measure_bounded_sum(const dp_measure *measure);
extern void dp_measure_load_sum(const Datum *values, const bool *nulls,
								dp_int128 *rows, dp_int128 *sum);
extern Datum dp_measure_from_granules(const dp_measure *measure,
									  dp_int128 granules, Oid type);
extern double dp_measure_granule(const dp_measure *measure);
extern bool dp_measure_is_integer_type(Oid type);

/* ---- grid.c ---- */
extern dp_grid dp_release_grid(Numeric lower, Numeric upper, Numeric granule,
							   bool integers);
extern Numeric dp_release_scale_numeric(Numeric x, int exponent);
extern Numeric dp_release_grid_value(const dp_grid *grid, dp_int128 granules);

/* ---- sum_state.c ---- */
extern Const *dp_release_sum_spec(const dp_grid *grid);
extern Oid	dp_release_sum_function(Oid argument_type);
extern Oid	dp_release_sum_type(void);

/* ---- the measurements ---- */
extern const dp_measure_ops dp_measure_count;
extern const dp_measure_ops dp_measure_sum;
extern const dp_measure_ops dp_measure_mean;

#endif							/* DP_RELEASE_MEASURE_H */
