/*
 * dp_aggregates.h
 *	  Public interface of the aggregates: from exact integers of groups to
 *	  released values.
 *
 * Include postgres.h first.
 */
#ifndef DP_AGGREGATES_H
#define DP_AGGREGATES_H

#include "executor/tuptable.h"
#include "nodes/primnodes.h"
#include "tcop/dest.h"
#include "utils/array.h"
#include "utils/numeric.h"

#include "../../math/numbers/dp_numbers.h"
#include "../../math/noise/dp_noise.h"
#include "../../math/accounting/dp_accounting.h"
#include "../../catalog/dp_catalog.h"
#include "../../ledger/dp_ledger.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/rowsets/dp_rowsets.h"
#include "../../query/split/dp_split.h"
#include "../../reader/dp_reader.h"
#include "../exact/dp_exact.h"
#include "../units/dp_units.h"

/*
 * How much of a block's rows may belong to one privacy unit: at most kappa
 * group keys, with at most `rows` rows in each and `total` in all; `replace`:
 * neighbours differ by replacing one unit instead of adding or removing one.
 * If units have many rows (`many`), unit_cells.c enforces these bounds.
 */
typedef struct dp_contribution
{
	bool		many;
	bool		once;			/* of each unit one row is proved */
	int64		kappa;
	int64		rows;
	int64		total;
	bool		replace;
	bool		grouped;		/* there are group keys */
} dp_contribution;

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
	void		(*add) (const dp_measure *measure, const dp_units_part *part,
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
	int64		units;			/* about how many its groups have together, by
								 * public numbers; 0: unknown */
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
	double		unit_noise;		/* that hides a one at this price, about */
	bool		sets;			/* other sets of groups have the value, too */

	/* settings and facts at the start of the query */
	bool		gaussian;		/* dp_pg.mechanism */
	dp_filter	filter;			/* charges must suit it */
	dp_fixed	delta;			/* of Gaussian noise */
	int			quarters;		/* of dp_pg.delta that it pays; 0: all */

	/* set by prepare; all public */
	int			ncells;			/* per group; 1 unless prepare changes it */
	int64		state_size;		/* most bytes of a group's state in addition to
								 * cells; 0 unless prepare changes it */
	int			evaluated;		/* number of predicates evaluated for every
								 * row */
	bool		inferred;		/* the bounds were inferred from base */
	bool		profiled;		/* they are those of a profile */
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
	dp_units_column bound;		/* units with many rows only */
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
extern const dp_measure_ops *dp_aggregates_find(dp_aggregate_kind kind);

/* ---- measurement.c: shared steps ---- */
extern double dp_aggregates_granule(const dp_measure *measure);

/* ---- parameters.c ---- */
extern const char *dp_aggregates_form(const dp_measure_ops *ops,
									  const Aggref *aggregate);
extern Expr *dp_aggregates_parameter(const dp_measure_ops *ops,
									 const Aggref *aggregate, int n);
extern void dp_aggregates_set_parameters(dp_measure *measure, int share,
										 int *location);
extern void dp_aggregates_take_quarters(int quarters, dp_rational *price);

/* ---- additive.c: Laplace and Gaussian noise on integers ---- */
extern double dp_aggregates_unit_noise(const dp_rational *epsilon);
extern double dp_aggregates_noise_scale(const dp_measure *measure);
extern double dp_aggregates_noise_error(const dp_measure *measure,
										double beta);
extern double dp_aggregates_rounded_error(const dp_measure *measure,
										  double error);

/* ---- count.c ---- */
extern int64 dp_aggregates_present_units(const dp_measure *measure);
extern int64 dp_aggregates_ranges_threshold(const dp_measure *measure);

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
 * whole charge, the group keys.  Made by dp_prepare_release in the current
 * context from catalog and parameters, without reading rows, and constant
 * then, except that less noise may suffice where fewer keys are released
 * (key_decision.c).
 */
typedef struct dp_release_spec
{
	dp_block   *block;
	List	   *arguments;		/* of Const *: values of the parameters */
	int			nmeasures;
	dp_measure *measures;
	int			nkeys;
	dp_domain **domains;		/* those of block->others follow */
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
	int64		least;			/* units of a group that the role is shown; 0:
								 * no limit */
	dp_unit_bounds bounds;		/* as decided, and by whom */
	bool		many;			/* inner rows are rows of units:
								 * unit_cells.c */
	int64		max_rows;		/* if so, the bounds before public limits */
	int64		max_keys;		/* on groups, or block->crossing; else 0 */
	int64		max_total;		/* rows of a unit in all groups; else 0 */
	dp_left_out left_out;		/* by the relation's profile */
	bool		states;			/* inner rows are states: group_place.c */
	Size		memory;			/* bytes that its exact numbers may take */
	Size		row;			/* bytes of them that a parallel worker
								 * sends */
	List	   *families;		/* values that share no row: see
								 * prepare/price.c */
	dp_charge	charge;			/* of the whole release */
	int			quarters;		/* of the asked price that it pays, as rows of
								 * units are counted before; 0: all */
	const struct dp_measuring *measuring;	/* if so (prepare) */
	dp_charge	also;			/* of a release that follows, without which
								 * this one must not be charged */
	bool		replace_one;	/* neighbours for which sensitivities hold */
	dp_ledger_part part;		/* the only part that it reads */
	bool		part_indexed;	/* one of many parts, with public size */
	Const	   *part_value;		/* of block->part_value, or NULL */
} dp_release_spec;

/* ---- key_decision.c ---- */

/* Most undeclared keys of a unit that can count. */
#define DP_RELEASED_KEYS_MAX 10000

extern void dp_aggregates_set_decision(dp_release_spec *spec, int share);
extern void dp_aggregates_keep_unprepared(dp_measure *measure);
extern void dp_aggregates_allow_fewer(dp_measure *measure);

/* ---- predicate_limit.c ---- */
extern void dp_aggregates_check_predicates(int64 evaluated, int64 all,
										   bool tell);
extern void dp_aggregates_check_cost(const dp_release_spec *spec, bool tell);
extern char *dp_aggregates_cost_text(const dp_release_spec *spec);

/* ---- registry.c ---- */
extern int	dp_aggregates_count_default(const dp_block *block);
extern int	dp_aggregates_count_share(List *blocks);
extern int	dp_aggregates_enter_share(int share);

/* ---- group_place.c ---- */
extern void dp_aggregates_group_by_place(const dp_release_spec *spec,
										 Query *inner);
extern void dp_aggregates_set_states(dp_release_spec *spec);

/* ---- unit_cells.c ---- */
extern Size dp_aggregates_row_bytes(const dp_release_spec *spec);

/* ---- state_memory.c ---- */
extern Size dp_aggregates_memory(const dp_release_spec *spec);
extern Size dp_aggregates_row_memory(const dp_release_spec *spec);

/* ---- cells.c ---- */
typedef struct dp_cells dp_cells;
extern dp_cells *dp_aggregates_cells_create(const dp_release_spec *spec,
											int helpers);
extern DestReceiver *dp_aggregates_cells_receiver(dp_cells *cells);
extern void dp_aggregates_cells_end_part(dp_cells *cells);
extern void dp_aggregates_cells_release(dp_cells *cells, TupleDesc result,
										dp_reader_sink sink, void *context);

#endif							/* DP_AGGREGATES_H */
