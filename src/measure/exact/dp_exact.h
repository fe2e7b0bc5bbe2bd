/*
 * dp_exact.h
 *	  Public interface of exact aggregates of inner queries: their specs, and
 *	  reading their results.
 *
 * Code inlined into transition functions is in dp_to_grid.h.  Names that do
 * not begin with dp_count_: dp_grid_, dp_counts_ (rows by grid point),
 * dp_counted_ (tables over axes), dp_conditions_ and dp_condition_.
 *
 * Include postgres.h first.
 */
#ifndef DP_EXACT_H
#define DP_EXACT_H

#include "nodes/bitmapset.h"
#include "nodes/primnodes.h"
#include "utils/numeric.h"

#include "../../math/noise/dp_noise.h"
#include "../../query/domains/dp_domains.h"

/* ---- grids ---- */

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

/*
 * The content of a group's cell: an exact integer that starts at 0, or a state
 * of the measurement's own that starts as NULL and lives in the context that
 * load is given.
 */
typedef union dp_cell
{
	dp_int128	integer;
	void	   *state;
} dp_cell;

/* Double the granule; the bounds stay within the old ones. */
static inline void
dp_grid_double(dp_grid *grid)
{
	/* Shifting rounds down, so the lower bound is rounded up. */
	grid->low = (grid->low >> 1) + (grid->low & 1);
	grid->high >>= 1;
	grid->exponent++;
}

/* ---- native.c ---- */
extern dp_grid dp_exact_grid(Numeric lower, Numeric upper, Numeric granule,
							 bool integers, bool outward);
extern Numeric dp_exact_scale_numeric(Numeric x, int exponent);
extern Numeric dp_exact_grid_value(const dp_grid *grid, dp_int128 granules);
extern Aggref *dp_exact_native(const Aggref *asked, Oid function,
							   Oid result_type, List *arguments);

/* ---- sum_state.c ---- */
extern List *dp_exact_bounded_sum(const Aggref *asked, Oid type,
								  const dp_grid *grid);
extern void dp_exact_load_sum(const Datum *values, const bool *nulls,
								dp_cell *rows, dp_cell *sum);

/* ---- row_granules.c ---- */
extern Expr *dp_exact_row_granules(Expr *argument, Oid type,
								   const dp_grid *grid);

/* ---- count_tables.c: linear queries with values from 0 to 1 ---- */

/* Granules of the weight 1; with 2^43 rows sums still fit into 64 bits. */
#define DP_WEIGHT_BITS 20
#define DP_WEIGHT_ONE (INT64CONST(1) << DP_WEIGHT_BITS)

typedef struct dp_weight_scale dp_weight_scale;
extern dp_weight_scale *dp_exact_weight_scale(int64 beyond);
extern int64 dp_exact_weigh(const dp_weight_scale *scale, Datum value,
							Oid type);

/* The total granules of all rows, at least 0, as a rounded number of rows. */
static inline int64
dp_weight_rows(dp_int128 granules)
{
	return (int64) ((granules + DP_WEIGHT_ONE / 2) >> DP_WEIGHT_BITS);
}

/* ---- count_tables.c: tables over axes ---- */

/*
 * Most columns of one dp_pg.count_tables: state and spec are arguments, too.
 */
#define DP_COUNTED_AXES_MAX (FUNC_MAX_ARGS - 2)

/*
 * A table over axes.  The number of a cell is the sum of p[i] * product of
 * later sizes, for the places p of a row.  Counted are either all cells, in
 * this order, or the listed ones, each number once, in the order of the list.
 */
typedef struct dp_counted_table
{
	int			naxes;
	const int  *axes;			/* indexes into the axes given */
	int64		nlisted;
	const uint64 *listed;		/* NULL: all cells */
} dp_counted_table;

extern Const *dp_exact_tables_spec(int naxes, dp_axis *const *axes,
								   int ntables, const dp_counted_table *tables,
								   bool whole);
extern Const *dp_exact_column_spec(const dp_places *places,
								   const Const *lookup);
extern Aggref *dp_exact_tables_native(const Aggref *asked, const Const *spec,
									  List *columns);

/* The same for single rows, whose places are kept meanwhile. */
extern int	dp_exact_tables_axes(const Const *spec);
extern bool dp_exact_tables_find(const Const *spec, const Datum *values,
								 const bool *nulls, int32 *places);
extern void dp_exact_tables_add(const Const *spec, const int32 *places,
								int64 *counts);

/* ---- distinct_count.c ---- */

/* Memory of all collections of a block together; a public constant. */
#define DP_DISTINCT_MEMORY ((Size) 64 * 1024 * 1024)

extern Aggref *dp_exact_distinct(const Aggref *asked, Oid type,
								 int collections);
extern void dp_exact_check_distinct(Oid type, int collections);

/* Distinct digests of groups, for src/measure/units. */
typedef struct dp_distinct_groups dp_distinct_groups;
extern dp_distinct_groups *dp_exact_distinct_create(int64 groups,
													int collections);
extern void dp_exact_distinct_put(dp_distinct_groups *distinct, int64 group,
								  uint64 high, uint64 low);
/* Call finish after the last digest; then the counts are valid. */
extern void dp_exact_distinct_finish(dp_distinct_groups *distinct);
extern int64 dp_exact_distinct_of(const dp_distinct_groups *distinct,
								  int64 group);

/* ---- square_state.c ---- */
extern List *dp_exact_bounded_squares(const Aggref *asked, Oid type,
									  const dp_grid *grid);
extern void dp_exact_load_squares(const Datum *values, const bool *nulls,
									dp_cell *rows, dp_cell *sum,
									dp_cell *squares);

/* ---- pair_state.c ---- */

extern List *dp_exact_bounded_pairs(const Aggref *asked, Expr *first,
									const dp_grid *grid, Expr *second,
									const dp_grid *second_grid);
extern Expr *dp_exact_row_pair(const Aggref *native);
extern dp_pair_sums dp_exact_read_pairs(const Datum *values,
										const bool *nulls);

/* ---- group_sums.c ---- */

/*
 * Public ranges of powers of two, from the most negative one on: exponents of
 * the first and last one on either side of 0, the place of 0, their number.
 */
typedef struct dp_ranges
{
	int			least;
	int			most;
	int			zero;
	int			n;
} dp_ranges;

extern dp_ranges dp_exact_ranges(Oid type);
extern List *dp_exact_range_counts(const Aggref *asked, Oid type);
extern Expr *dp_exact_row_range(Expr *argument);

/* ---- group_sums.c: counts of public cells ---- */

typedef struct dp_tally_state
{
	int32		vl_len_;
	int32		n;
	int64		counts[FLEXIBLE_ARRAY_MEMBER];
} dp_tally_state;

/* ---- group_sums.c: the public group of a row; numbers of groups ---- */
extern Const *dp_exact_group_keys(const dp_axis_finder *finder, Size length,
								  const int32 *map, int64 n, int32 places);

/* A key: which argument, and its public values, by dp_exact_group_keys. */
typedef struct dp_group_key
{
	int			argument;
	const Const *keys;
} dp_group_key;

/*
 * A value: the sum of an argument of this base type on a grid; or, without
 * one, the number of rows whose argument is not NULL (ANYOID), or of all rows
 * (InvalidOid).
 */
typedef struct dp_group_value
{
	Oid			type;
	int			argument;
	const dp_grid *grid;
} dp_group_value;

/* Most arguments of one dp_pg.group_sums beside state and spec. */
#define DP_GROUP_ARGUMENTS_MAX (FUNC_MAX_ARGS - 2)

extern Const *dp_exact_group_spec(int64 groups, int arguments, int nkeys,
								  const dp_group_key *keys, int nvalues,
								  const dp_group_value *values);
extern Aggref *dp_exact_group_sums(const Aggref *asked, const Const *spec,
								   List *arguments);
extern void *dp_exact_group_number(Datum of, int64 group, int value);

/* ---- grid_counts.c: rows at each point of a grid ---- */

/* Most points of a grid; the counts of one group take at most 8 bytes each. */
#define DP_COUNTS_CELLS (4 * 1024 * 1024)

typedef struct dp_grid_counts dp_grid_counts;

/* Add saved counts to state, or to a new one in `keep` if that is NULL. */
extern dp_grid_counts *dp_exact_grid_merge(dp_grid_counts *state, Datum saved,
										   MemoryContext keep);

/* Add one row at a point, counted from 0, likewise. */
extern dp_grid_counts *dp_exact_grid_add(dp_grid_counts *state, int64 points,
										 int64 point, MemoryContext keep);

/*
 * The most bytes of a state on a grid of `points` points, in memory or saved.
 */
extern Size dp_exact_grid_bytes(int64 points);

/* The rows of a group by grid point, as dp_noise_quantile takes them. */
extern void dp_exact_grid_rank(const dp_grid_counts *state, int64 low,
							   dp_ranked_rows *out);
extern List *dp_exact_grid_inner(const Aggref *asked, Oid type,
								 const dp_grid *grid);

/* ---- condition_counts.c ---- */
typedef struct dp_condition_counting dp_condition_counting;
extern dp_condition_counting *dp_exact_conditions_plan(List *conditions);
/*
 * The number of conditions that no table counts, so that each row evaluates
 * them.
 */
extern int	dp_exact_conditions_evaluated(const dp_condition_counting *c);
extern Size dp_exact_conditions_memory(const dp_condition_counting *c);
extern List *dp_exact_conditions_natives(const dp_condition_counting *counting,
										 const Aggref *asked);
extern void dp_exact_conditions_load(const dp_condition_counting *counting,
									 const Datum *values, const bool *nulls,
									 int64 *counts);
extern List *dp_exact_conditions_evaluate(const Aggref *asked, List *all);
extern int64 dp_exact_conditions_load_one(const Datum *values,
										  const bool *nulls, List *all, int i);

/* ---- condition_match.c: single rows, for units with many ---- */

typedef struct dp_condition_words dp_condition_words;
extern void dp_exact_words_check(int64 n);
extern dp_condition_words *dp_exact_words_plan(const List *conditions);
extern int	dp_exact_words_bits(const dp_condition_words *c);
extern int	dp_exact_words_weights(const dp_condition_words *c);
extern void dp_exact_words_pack(const dp_condition_words *c,
								const Datum *values, const bool *nulls,
								uint64 *words);
extern int	dp_exact_words_total(const dp_condition_words *c, int i);

#endif							/* DP_EXACT_H */
