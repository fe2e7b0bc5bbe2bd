/*
 * vc_dimension.c
 *	  dp_vc_dimension: the VC dimension of a list of queries over a universe,
 *	  the most cells that they shatter, that is, tell apart in every way.
 *
 * Cells are rows of a table of truth, queries its columns.  Rows that are
 * equal count once, and so do columns.  A set of k cells puts each query into
 * one of 2^k classes, by which of the cells it holds in; the set is shattered
 * when no class is empty.  So a set of d can only grow out of sets whose
 * classes have 2^(d - k) members each, which prunes the search
 * (doc/theory.md T120).
 *
 * All of it is public, and nothing is charged.  The work has a fixed limit, so
 * that the answer is a function of the arguments alone.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "../../base/dp_base.h"
#include "../../query/domains/dp_domains.h"
#include "../../query/split/dp_split.h"
#include "../readings/dp_readings.h"
#include "../workload/dp_workload.h"

/* The VC dimension of predicates, or a bound on it. */
typedef struct dimension
{
	int64		queries;		/* that differ somewhere in the universe */
	int			dimension;
	bool		exact;
	int			found;			/* cells of a shattered set */
} dimension;

/* Most bytes of a table of truth, which is one palloc. */
#define TABLE_MOST (INT64CONST(1) << 25)

/* Most looks at a query in a cell: a second or two. */
#define WORK_MOST (INT64CONST(1) << 30)

/* A table of truth: its rows by pointers, each `width` bytes long. */
typedef struct table
{
	int64		n;
	int64		width;
	char	  **row;
} table;

typedef struct search
{
	const table *cells;
	int			target;			/* the size that is looked for */
	uint32	  **label;			/* [k]: the class of each query by k cells */
	uint32	   *members;		/* of each class */
	int64	  **left;			/* [k]: the cells that split those classes */
	int64		work;
} search;

/* ---- the table ---- */

static table *
make_table(int64 n, int64 width)
{
	table	   *made = palloc(sizeof(table));
	char	   *bytes = palloc(n * width);
	int64		i;

	made->n = n;
	made->width = width;
	made->row = palloc(sizeof(char *) * n);
	for (i = 0; i < n; i++)
		made->row[i] = bytes + i * width;
	return made;
}

/* The part of a universe that some query uses; raises for an invalid query. */
static dp_universe *
narrow_universe(const dp_universe *universe, List *texts, MemoryContext each)
{
	bool		used[DP_UNIVERSE_AXES] = {false};
	dp_universe *part = palloc0(sizeof(dp_universe));
	ListCell   *lc;
	int			i;

	foreach(lc, texts)
	{
		MemoryContext old = MemoryContextSwitchTo(each);
		dp_linear_query *query = dp_workload_read_predicate(universe,
															lfirst(lc),
															"dp_vc_dimension");

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < query->naxes; i++)
			used[query->axes[i]] = true;
		MemoryContextSwitchTo(old);
		MemoryContextReset(each);
	}
	part->relid = universe->relid;
	part->axes = palloc(sizeof(dp_axis *) * universe->naxes);
	part->size = 1;
	for (i = 0; i < universe->naxes; i++)
	{
		if (!used[i])
			continue;
		part->axes[part->naxes++] = universe->axes[i];
		if (__builtin_mul_overflow(part->size, universe->axes[i]->size,
								   &part->size))
			part->size = PG_INT64_MAX;
	}
	return part;
}

/* A row for each cell, a column for each query. */
static table *
dimension_table_of(const dp_universe *universe, List *texts,
				   MemoryContext each)
{
	table	   *cells = make_table(universe->size, list_length(texts));
	int32	   *weights = palloc(sizeof(int32) * universe->size);
	ListCell   *lc;
	int64		cell;

	foreach(lc, texts)
	{
		MemoryContext old = MemoryContextSwitchTo(each);

		CHECK_FOR_INTERRUPTS();
		dp_workload_expand(universe,
						   dp_workload_read_query(universe, lfirst(lc)),
						   weights);
		for (cell = 0; cell < universe->size; cell++)
			cells->row[cell][foreach_current_index(lc)] = weights[cell] > 0;
		MemoryContextSwitchTo(old);
		MemoryContextReset(each);
	}
	pfree(weights);
	return cells;
}

static table *
transpose(const table *of)
{
	table	   *made = make_table(of->width, of->n);
	int64		i;
	int64		j;

	for (i = 0; i < of->n; i++)
		for (j = 0; j < of->width; j++)
			made->row[j][i] = of->row[i][j];
	return made;
}

static int
compare_rows(const void *a, const void *b, void *width)
{
	return memcmp(*(char *const *) a, *(char *const *) b,
				  *(const int64 *) width);
}

/* Equal rows become one. */
static void
keep_distinct(table *of)
{
	int64		kept = 0;
	int64		i;

	qsort_arg(of->row, of->n, sizeof(char *), compare_rows, &of->width);
	for (i = 0; i < of->n; i++)
		if (kept == 0 || compare_rows(&of->row[kept - 1], &of->row[i],
									  &of->width) != 0)
			of->row[kept++] = of->row[i];
	of->n = kept;
}

/* ---- bounds ---- */

/* The lesser of the numbers of queries that hold and do not hold in a cell. */
static int64
lesser_side(const table *cells, int64 cell)
{
	int64		inside = 0;
	int64		q;

	for (q = 0; q < cells->width; q++)
		inside += cells->row[cell][q];
	return Min(inside, cells->width - inside);
}

/*
 * The largest d for which there are 2^d queries and d cells that each have
 * 2^(d - 1) of them on both sides.
 */
static int
bound_of(const table *cells)
{
	int			d = pg_leftmost_one_pos64(cells->width);
	int64		enough;
	int64		cell;

	for (; d > 0; d--)
	{
		CHECK_FOR_INTERRUPTS();
		enough = 0;
		for (cell = 0; cell < cells->n; cell++)
			enough += lesser_side(cells, cell) >= INT64CONST(1) << (d - 1);
		if (enough >= d)
			break;
	}
	return d;
}

/* ---- the search ---- */

/* The classes of k + 1 cells, the last of which is this one. */
static void
classify(search *s, int k, int64 cell)
{
	const char *holds = s->cells->row[cell];
	int64		q;

	s->work += s->cells->width;
	for (q = 0; q < s->cells->width; q++)
		s->label[k + 1][q] = s->label[k][q] | (uint32) holds[q] << k;
}

/* Whether a cell splits each class of k cells into two that are enough. */
static bool
splits(search *s, int k, int64 cell)
{
	uint32		least = (uint32) 1 << (s->target - k - 1);
	uint32		classes = (uint32) 1 << (k + 1);
	uint32		i;
	int64		q;

	classify(s, k, cell);
	memset(s->members, 0, sizeof(uint32) * classes);
	for (q = 0; q < s->cells->width; q++)
		s->members[s->label[k + 1][q]]++;
	for (i = 0; i < classes; i++)
		if (s->members[i] < least)
			return false;
	return true;
}

/*
 * Whether k cells grow to the target by some of the candidates.  One that does
 * not split the classes of k cells does not split those of more either.
 */
static bool
grows(search *s, int k, const int64 *candidate, int64 n)
{
	int64	   *left = s->left[k];
	int64		nleft = 0;
	int64		i;

	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < n && s->work < WORK_MOST; i++)
		if (splits(s, k, candidate[i]))
			left[nleft++] = candidate[i];
	if (k + 1 == s->target)
		return nleft > 0;
	for (i = 0; nleft - i >= s->target - k && s->work < WORK_MOST; i++)
	{
		classify(s, k, left[i]);
		if (grows(s, k + 1, left + i + 1, nleft - i - 1))
			return true;
	}
	return false;
}

/* The largest size that is found; *exact when no larger one exists. */
static int
search_sizes(const table *cells, int most, bool *exact)
{
	search		s = {cells};
	int64	   *all = palloc(sizeof(int64) * cells->n);
	int64		cell;
	int			i;

	for (cell = 0; cell < cells->n; cell++)
		all[cell] = cell;
	s.members = palloc(sizeof(uint32) << most);
	s.label = palloc(sizeof(uint32 *) * (most + 1));
	s.left = palloc(sizeof(int64 *) * (most + 1));
	for (i = 0; i <= most; i++)
	{
		s.label[i] = palloc0(sizeof(uint32) * cells->width);
		s.left[i] = palloc(sizeof(int64) * cells->n);
	}
	for (s.target = 1; s.target <= most; s.target++)
		if (!grows(&s, 0, all, cells->n))
			break;
	*exact = s.target > most || s.work < WORK_MOST;
	return s.target - 1;
}

/*
 * find_dimension
 *	  The VC dimension of predicates over a universe of any size.
 *
 * texts: at least one.  out->dimension is the dimension itself when
 * out->exact, else a bound that it does not exceed; a set of out->found cells
 * is shattered in either case.  out->queries: those that differ somewhere, if
 * all were compared, else their number.
 *
 * Errors: those of dp_workload_read_query.
 * Source: doc/theory.md T120 (book, Definition 4.2).
 */
static void
find_dimension(const dp_universe *universe, List *texts, dimension *out)
{
	MemoryContext each = AllocSetContextCreate(CurrentMemoryContext,
											   "dp_pg query",
											   ALLOCSET_DEFAULT_SIZES);
	int64		n = list_length(texts);
	dp_universe *part = narrow_universe(universe, texts, each);
	table	   *cells;
	table	   *queries;

	out->queries = n;
	out->dimension = pg_leftmost_one_pos64(n);
	out->found = 0;
	out->exact = out->dimension == 0 || part->naxes == 0;
	if (out->exact)
		out->dimension = 0;
	if (out->exact || part->size > TABLE_MOST / n)
		return;

	cells = dimension_table_of(part, texts, each);
	MemoryContextDelete(each);
	keep_distinct(cells);
	queries = transpose(cells);
	keep_distinct(queries);
	cells = transpose(queries);
	out->queries = queries->n;
	out->dimension = bound_of(cells);
	out->found = search_sizes(cells, out->dimension, &out->exact);
	if (out->exact)
		out->dimension = out->found;
}

/* ---- the function ---- */

/* Places of the arguments and of the row. */
enum
{
	ARG_RELATION,
	ARG_COLUMNS,
	ARG_QUERIES,
	ARG_BINS
};

enum
{
	OUT_DIMENSION,
	OUT_EXACT,
	OUT_SHATTERED,
	OUT_UNIVERSE,
	OUT_QUERIES,
	OUT_END
};

/*
 * The universe.  Only roles that may query the relation may see it, so a
 * reading is verified as dp_smalldb's is, but not run.
 */
static dp_universe *
vc_dimension_read_universe(FunctionCallInfo fcinfo)
{
	dp_universe *universe;
	int			first = 0;
	dp_reading_table table = {1, &first};

	dp_base_require_argument(fcinfo, ARG_RELATION,
							 "relation of dp_vc_dimension",
							 "Give the name of a table or view.");
	dp_base_require_argument(fcinfo, ARG_COLUMNS,
							 "columns of dp_vc_dimension",
							 "Write columns => ARRAY['smoker', 'age'].");
	universe = dp_workload_make_universe(
		PG_GETARG_OID(ARG_RELATION), PG_GETARG_ARRAYTYPE_P(ARG_COLUMNS),
		PG_ARGISNULL(ARG_BINS) ? NULL : PG_GETARG_ARRAYTYPE_P(ARG_BINS),
		PG_INT64_MAX);
	(void) dp_readings_of_tables(universe->relid, universe->naxes,
								 universe->axes, 1, &table);
	return universe;
}

PG_FUNCTION_INFO_V1(dp_synth_sql_vc_dimension);

/*
 * dp_synth_sql_vc_dimension
 *	  dp_vc_dimension(relation, columns, queries, bins): see
 *	  sql/84_smalldb.sql.
 *
 * Errors: 22004 a NULL; those of dp_workload_make_universe, of
 * dp_readings_of_tables, of dp_split_predicate_texts and of find_dimension.
 */
Datum
dp_synth_sql_vc_dimension(PG_FUNCTION_ARGS)
{
	Datum		values[OUT_END];
	bool		nulls[OUT_END] = {false};
	dp_universe *universe = vc_dimension_read_universe(fcinfo);
	dimension found;

	dp_base_require_argument(fcinfo, ARG_QUERIES,
							 "queries of dp_vc_dimension",
							 "Write them as ARRAY['smoker', 'age < 18'].");
	find_dimension(universe, dp_split_predicate_texts(
							PG_GETARG_ARRAYTYPE_P(ARG_QUERIES)), &found);

	values[OUT_DIMENSION] = Int64GetDatum(found.dimension);
	values[OUT_EXACT] = BoolGetDatum(found.exact);
	values[OUT_SHATTERED] = Int64GetDatum(found.found);
	values[OUT_UNIVERSE] = Int64GetDatum(universe->size);
	values[OUT_QUERIES] = Int64GetDatum(found.queries);
	PG_RETURN_DATUM(dp_base_make_row(fcinfo, values, nulls));
}
