/*
 * dp_measure.h
 *	  Public interface of the measure room: one released value of a block, and
 *	  all values of all its groups.
 *
 * A measurement turns exact integers ("cells", additive over rows and over
 * groups) into one noisy value.  It lives through these steps, all on public
 * data but the last two:
 *
 *	  prepare	parameters -> grid, sensitivity, noise or rate, charge, cells
 *	  inner		the exact aggregates that the inner query computes for it
 *	  load		add one inner row's results to a group's cells
 *	  release	cells + noise -> the value
 *
 * Several inner rows may belong to one group, so load adds.  A new measurement
 * needs one file, a kind and its symbol in the catalog's list, a line in
 * registry.c, and SQL.
 *
 * Functions begin with dp_measure_, or dp_cells_: the exact integers of all
 * groups.  Include postgres.h first.
 */
#ifndef DP_MEASURE_H
#define DP_MEASURE_H

#include "executor/tuptable.h"
#include "nodes/primnodes.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/numeric.h"

#include "../bound/dp_bound.h"
#include "../count/dp_count.h"
#include "../reader/dp_reader.h"

/*
 * How much of a block's rows may belong to one privacy unit: at most kappa
 * group keys, with at most `rows` rows in each; `replace`: neighbours differ
 * by replacing one unit instead of adding or removing one.  If units have many
 * rows (`many`), bounded.c enforces these bounds.
 */
typedef struct dp_contribution
{
	bool		many;
	int64		kappa;
	int64		rows;
	bool		replace;
	bool		grouped;		/* there are group keys */
} dp_contribution;

/*
 * Parameters after the argument, as the letters of a form: 'l' and 'u' bounds,
 * 'L' and 'U' those of the second one of a pair, 'f' a fraction, 'n' a number
 * of buckets or of answers, 'c' an array of candidates, 'e' epsilon (always
 * last).
 */
#define DP_PARAMETERS_MAX 5

typedef struct dp_measure dp_measure;

typedef struct dp_measure_ops
{
	dp_aggregate_kind kind;
	const char *name;			/* in the ledger and EXPLAIN: "sum" */
	const char *const *forms;	/* of different lengths, ends with NULL */
	void		(*prepare) (dp_measure *measure);
	List	   *(*inner) (const dp_measure *measure);	/* of Aggref * */
	void		(*load) (const dp_measure *measure, const Datum *values,
						 const bool *nulls, dp_cell *cells,
						 MemoryContext keep);

	/*
	 * *isnull is initially false; *error, the 95% error in the value's own
	 * unit, is initially NAN: unknown (additive.c).
	 */
	Datum		(*release) (const dp_measure *measure, const dp_cell *cells,
							bool *isnull, double *error);
	const char *error_suffix;	/* follows the 95% error in EXPLAIN; or NULL */

	/*
	 * If units have many rows, instead of inner and load: `row` is a row's
	 * number (bigint; COUNT: anything; DISTINCT: the value), NULL if it does
	 * not count; prepare sets in measure->bound what the rows of a unit become
	 * in a group; `add` adds a part.  NULL: such units are not supported.
	 */
	Expr	   *(*row) (const dp_measure *measure, Expr *argument);
	void		(*add) (const dp_measure *measure, const dp_bound_part *part,
						dp_cell *cells, MemoryContext keep);
} dp_measure_ops;

/* How a measurement is made private; decided by prepare. */
typedef enum dp_mechanism
{
	DP_MECHANISM_LAPLACE,		/* scale: of each noise */
	DP_MECHANISM_GAUSSIAN,		/* gaussian: of each noise */
	DP_MECHANISM_PERMUTE_AND_FLIP,	/* rate: of the scores' gaps */
	DP_MECHANISM_EXPONENTIAL
} dp_mechanism;

#define DP_MECHANISMS 4

/*
 * The second argument of a pair; fields as those of the same names in
 * dp_measure.
 */
typedef struct dp_second
{
	Oid			relid;
	AttrNumber	base_attnum;
	Node	   *base;
	Numeric		lower;
	Numeric		upper;
	dp_grid		grid;
} dp_second;

struct dp_measure
{
	const dp_measure_ops *ops;

	/* from the query; nodes shared with the plan, read only */
	const dp_value *value;
	Aggref	   *aggregate;
	const char *form;			/* of the call */
	List	   *arguments;		/* of Const *: values of its parameters */
	Oid			argument_type;	/* base type, InvalidOid for dp_count(*) */
	const List *relids;			/* OIDs by varno of base */
	Oid			relid;			/* relation of the column that the argument
								 * is */
	AttrNumber	base_attnum;	/* its number, or 0 */
	Node	   *base;			/* what the argument's values follow from, or
								 * NULL */
	const List *publics;		/* of Const *: the public parts of base */
	const List *conditions;		/* of the block: see dp_known */
	dp_contribution contribution;
	int64		groups;			/* of the block */
	int			collections;	/* aggregates of the block that keep values of
								 * rows; if this is one, at least 1 */

	dp_second	second;			/* the second argument of a pair */

	/* parameters as given; NULL if not given */
	Numeric		lower;			/* dates and times: days, microseconds */
	Numeric		upper;
	Numeric		fraction;
	Numeric		number;
	ArrayType  *candidates;
	dp_rational epsilon;		/* given, or from the setting */

	/* settings and facts at the start of the query */
	bool		gaussian;		/* dp_pg.mechanism */
	dp_filter	filter;			/* charges must suit it */
	dp_fixed	delta;			/* of Gaussian noise */

	/* set by prepare; all public */
	int			ncells;			/* per group; 1 unless prepare changes it */
	int64		state_size;		/* most bytes of a group's state in addition to
								 * cells; 0 unless prepare changes it */
	int			evaluated;		/* number of predicates evaluated for every
								 * row */
	bool		inferred;		/* the bounds were inferred from base */
	bool		on_grid;		/* grid is set */
	dp_grid		grid;
	dp_mechanism mechanism;
	dp_uint128	sensitivity;	/* L1 or L2, in granules or score units */
	dp_scale	scale;
	dp_gaussian noise;
	dp_rational rate;
	int64		choices;		/* number of candidates of a selection, for its
								 * error */
	int64		most;			/* of distinct values, above which none is
								 * released; -1: no limit.  dp_count only */
	dp_uint128	score_unit;		/* scores per row, for display; 0: 1 */
	int			power;			/* noise is in granules to this power; 1 */
	dp_bound_column bound;		/* units with many rows only */
	dp_charge	charge;
	void	   *plan;			/* anything else that prepare computes */
	const dp_measure *unprepared;	/* for undeclared keys: a copy from before
									 * prepare */

	/* set by the release */
	int			first_exact;	/* of its exact aggregates */
	int			columns;		/* their number */
	int			first_column;	/* of the inner row */
	int			state_value;	/* if that is a state, its number there */
};

/* ---- registry.c ---- */
extern const dp_measure_ops *dp_measure_find(dp_aggregate_kind kind);

/* ---- measure.c: shared steps ---- */
extern dp_attribute *dp_measure_find_bounds(dp_measure *measure);
extern void dp_measure_set_bounds(dp_measure *measure);
extern void dp_measure_coarsen(dp_measure *measure, int64 width);
extern dp_int128 dp_measure_width(const dp_measure *measure);
extern dp_uint128 dp_measure_product(dp_uint128 a, dp_uint128 b);
extern Datum dp_measure_from_granules(const dp_measure *measure,
									  dp_int128 granules, Oid type);
extern List *dp_measure_bounded_sum(const dp_measure *measure);
extern Const *dp_measure_column_spec(const dp_measure *measure,
									 dp_axis_kind kind, int64 n,
									 const Const *lookup);
extern List *dp_measure_count_column(const dp_measure *measure,
									 const Const *spec);
extern void dp_measure_load_tally(const dp_measure *measure,
								  const Datum *values, const bool *nulls,
								  dp_cell *cells, MemoryContext keep);
extern double dp_measure_granule(const dp_measure *measure);

/* ---- measure_sum.c ---- */
extern Datum dp_measure_release_mean(const dp_measure *measure,
									 dp_int128 rows, dp_int128 sum,
									 bool *isnull, double *error);

/* ---- measure_selection.c: what a choice by rank needs ---- */
extern void dp_measure_set_rank_grid(dp_measure *measure);
extern List *dp_measure_count_ranks(const dp_measure *measure);
extern void dp_measure_load_ranks(const dp_measure *measure,
								  const Datum *values, const bool *nulls,
								  dp_cell *cells, MemoryContext keep);

/* ---- parameters.c ---- */
extern const char *dp_measure_form(const dp_measure_ops *ops,
								   const Aggref *aggregate);
extern Expr *dp_measure_parameter(const dp_measure_ops *ops,
								  const Aggref *aggregate, int n);
extern void dp_measure_set_parameters(dp_measure *measure, int share,
									  int *location);
extern int64 dp_measure_number(const dp_measure *measure, int64 least,
							   int64 most, const char *what);

/* ---- additive.c: Laplace and Gaussian noise on integers ---- */
extern void dp_measure_set_noise(dp_measure *measure, dp_uint128 l1,
								 dp_uint128 l2_squared, bool scalar);
extern void dp_measure_set_group_noise(dp_measure *measure, dp_uint128 most);
extern bool dp_measure_read_delta(dp_fixed *delta);
extern dp_int128 dp_measure_add_noise(const dp_measure *measure,
									  dp_int128 exact);
extern double dp_measure_noise_scale(const dp_measure *measure);
extern dp_int128 dp_measure_none(const dp_measure *measure, int noises);
extern double dp_measure_noise_error(const dp_measure *measure, double beta);

/* ---- additive.c: the 95% error beside a value ---- */
extern double dp_measure_error_of_sum(const dp_measure *measure);
extern double dp_measure_error_of_mean(const dp_measure *measure,
									   dp_int128 above, dp_int128 total,
									   const dp_grid *grid);
extern double dp_measure_error_of_variance(const dp_measure *measure,
										   bool sample, dp_int128 row,
										   dp_int128 total);
extern double dp_measure_variance_within(bool sample, double share,
										 double error);
extern double dp_measure_error_of_squares(const dp_measure *measure,
										  dp_int128 total, double share);
extern double dp_measure_error_of_root(bool sample, double share,
									   double error);
extern double dp_measure_error_of_covariance(const dp_measure *measure,
											 dp_int128 total, double share);

/* ---- measure_count.c ---- */
extern int64 dp_measure_ranges_threshold(const dp_measure *measure);

/* ---- measure_selection.c: one candidate by integer scores ---- */
extern void dp_measure_set_votes(dp_measure *measure, int rounds);
extern int64 dp_measure_select(const dp_measure *measure,
							   const dp_int128 *scores, int64 n);

/* ---- the measurements ---- */
extern const dp_measure_ops dp_measure_conditions;
extern const dp_measure_ops dp_measure_count;
extern const dp_measure_ops dp_measure_sum;
extern const dp_measure_ops dp_measure_mean;
extern const dp_measure_ops dp_measure_quantile;
extern const dp_measure_ops dp_measure_median;
extern const dp_measure_ops dp_measure_min;
extern const dp_measure_ops dp_measure_sum_distinct;
extern const dp_measure_ops dp_measure_mean_distinct;
extern const dp_measure_ops dp_measure_max;
extern const dp_measure_ops dp_measure_variance;
extern const dp_measure_ops dp_measure_stddev;
extern const dp_measure_ops dp_measure_var_pop;
extern const dp_measure_ops dp_measure_stddev_pop;
extern const dp_measure_ops dp_measure_histogram;
extern const dp_measure_ops dp_measure_argmax;
extern const dp_measure_ops dp_measure_topk;
extern const dp_measure_ops dp_measure_bounds;
extern const dp_measure_ops dp_measure_corr;
extern const dp_measure_ops dp_measure_covar_pop;
extern const dp_measure_ops dp_measure_covar_samp;
extern const dp_measure_ops dp_measure_regr_avgx;
extern const dp_measure_ops dp_measure_regr_avgy;
extern const dp_measure_ops dp_measure_regr_count;
extern const dp_measure_ops dp_measure_regr_intercept;
extern const dp_measure_ops dp_measure_regr_r2;
extern const dp_measure_ops dp_measure_regr_slope;
extern const dp_measure_ops dp_measure_regr_sxx;
extern const dp_measure_ops dp_measure_regr_sxy;
extern const dp_measure_ops dp_measure_regr_syy;

/* ---- a whole block ---- */

/*
 * The release that decides which undeclared keys are released
 * (key_decision.c).
 */
typedef struct dp_key_decision
{
	dp_rational epsilon;
	dp_fixed	delta;
	uint64		changes;		/* the numbers of units that one unit
								 * changes */
	dp_key_law	law;
	dp_charge	charge;
} dp_key_decision;

/*
 * A block with every public quantity known: grids, sensitivities, scales, the
 * whole charge, the group keys.  Made by dp_run_prepare in the current context
 * from catalog and parameters, without reading rows, and constant then, except
 * that less noise may suffice where fewer keys are released (key_decision.c).
 */
typedef struct dp_release_spec
{
	dp_block   *block;
	List	   *arguments;		/* of Const *: values of the parameters */
	int			nmeasures;
	dp_measure *measures;
	int			nkeys;
	dp_domain **domains;
	List	   *exact;			/* of Aggref *, read only: the inner query's,
								 * of all measurements in order */
	List	   *settled_keys;	/* of dp_key *, in the connection: with
								 * parameters, clocks and users as constants */
	int64		groups;			/* product of the domains; 1 without keys */
	int64		held;			/* groups whose numbers are in memory */
	bool	   *large;			/* by key: public, but with so many values that
								 * it is released by threshold, too */
	bool		undeclared;		/* some keys are released by threshold */
	dp_key_decision decision;	/* if so */
	bool		many;			/* inner rows are rows of units: bounded.c */
	int64		max_rows;		/* if so, the bounds before public limits */
	int64		max_keys;		/* on groups; else 0 */
	bool		states;			/* inner rows are states: group_place.c */
	Size		memory;			/* bytes that its exact numbers may take */
	Size		row;			/* bytes of them that a parallel worker
								 * sends */
	List	   *families;		/* values that share no row: see
								 * run/release_price.c */
	dp_charge	charge;			/* of the whole release */
	bool		replace_one;	/* neighbours for which sensitivities hold */
	dp_ledger_part part;		/* the only part that it reads */
	bool		part_indexed;	/* one of many parts, with public size */
	Const	   *part_value;		/* of block->part_value, or NULL */
} dp_release_spec;

/* key_decision.c */

/* Most undeclared keys of a unit that can count. */
#define DP_TOLD_KEYS_MAX 10000

extern void dp_measure_set_decision(dp_release_spec *spec, int share);
extern void dp_measure_keep_unprepared(dp_measure *measure);
extern void dp_measure_allow_fewer(dp_measure *measure);
extern void dp_measure_adapt(const dp_release_spec *spec, int64 told);
typedef struct dp_told_names dp_told_names;
extern Size dp_measure_told_most(const dp_release_spec *spec);
extern dp_told_names *dp_measure_told_create(const dp_release_spec *spec);
extern bool dp_measure_is_told(const dp_release_spec *spec, int key);
extern int dp_measure_told_number(const dp_told_names *names);
extern Size dp_measure_told_write(const dp_told_names *names,
								  const Datum *values, const bool *nulls,
								  char *to);
extern void dp_measure_told_read(const dp_told_names *names, const char *from,
								 Datum *values, bool *nulls);

/* predicate_limit.c */
extern void dp_measure_check_predicates(int64 evaluated, int64 all,
										bool tell);
extern void dp_measure_check_cost(const dp_release_spec *spec, bool tell);
extern char *dp_measure_cost_text(const dp_release_spec *spec);

/* parameters.c, registry.c */
extern dp_rational dp_measure_default_price(int share);
extern int	dp_measure_count_default(const dp_block *block);
extern int	dp_measure_count_share(List *blocks);
extern int	dp_measure_enter_share(int share);

/* group_place.c */
extern Expr *dp_measure_row_place(const dp_measure *measure, Expr *argument,
								  dp_axis_kind kind, const Const *lookup);
extern void dp_measure_group_by_place(const dp_release_spec *spec,
									  Query *inner);
extern void dp_measure_set_states(dp_release_spec *spec);
extern Datum dp_measure_group_value(const dp_measure *measure, Datum state,
									int64 group);

/* bounded.c */
typedef struct dp_measure_units dp_measure_units;
extern Expr *dp_measure_row_granules(const dp_measure *measure,
									 Expr *argument);
extern Expr *dp_measure_row_case(Expr *condition, Expr *result);
extern void dp_measure_add_value(const dp_measure *measure,
								 const dp_bound_part *part, dp_cell *cells,
								 MemoryContext keep);
extern void dp_measure_add_rank(const dp_measure *measure,
								const dp_bound_part *part, dp_cell *cells,
								MemoryContext keep);
extern void dp_measure_set_bound(dp_measure *measure, dp_bound_kind kind);
extern void dp_measure_list_rows(const dp_release_spec *spec, Query *inner,
								 Expr *place);
extern dp_measure_units *dp_measure_units_create(const dp_release_spec *spec,
												 int helpers);
extern void dp_measure_units_add(dp_measure_units *units,
								 TupleTableSlot *slot);
extern Size dp_measure_row_bytes(const dp_release_spec *spec);
extern void dp_measure_units_end_part(dp_measure_units *units,
									  dp_cell *cells, int width,
									  MemoryContext keep);
extern void dp_measure_units_finish(dp_measure_units *units, dp_cell *cells,
									int width, MemoryContext keep);
typedef void (*dp_measure_told) (void *context, int64 group);
extern void dp_measure_units_tell(dp_measure_units *units, dp_cell *cells,
								  int width, dp_measure_told told,
								  void *context);
extern void dp_measure_units_told(const dp_measure_units *units,
								  Datum *values, bool *nulls);

/* state_memory.c */
extern Size dp_measure_memory(const dp_release_spec *spec);
extern Size dp_measure_row_memory(const dp_release_spec *spec);

/* cells.c */
typedef struct dp_cells dp_cells;
extern dp_cells *dp_measure_cells_create(const dp_release_spec *spec,
										 int helpers);
extern DestReceiver *dp_measure_cells_receiver(dp_cells *cells);
extern void dp_measure_cells_end_part(dp_cells *cells);
extern void dp_measure_cells_release(dp_cells *cells, TupleDesc result,
									 dp_reader_sink sink, void *context);

#endif							/* DP_MEASURE_H */
