/*
 * query.c
 *	  Linear queries: predicates over the cells of a universe, or weights of
 *	  them.
 *
 * A cell stands for its public values; a bin for the representative inside it.
 * So a predicate that cuts through a bin takes all of it or nothing, and all
 * of a bin weighs the same.
 */
#include "postgres.h"

#include "access/tupdesc.h"

#include "workload.h"

#define MARGINALS_MAX 100000

/* ---- reading ---- */

static TupleDesc
describe_columns(const dp_universe *universe)
{
	TupleDesc	columns = CreateTemplateTupleDesc(universe->naxes);
	int			i;

	for (i = 0; i < universe->naxes; i++)
	{
		const dp_axis *axis = universe->axes[i];

		TupleDescInitEntry(columns, i + 1, NameStr(axis->name), axis->type,
						   axis->typmod, 0);
		TupleDescInitEntryCollation(columns, i + 1, axis->collation);
	}
	return columns;
}

static dp_linear_query *
query_of_truth(const dp_truth *truth, const char *text)
{
	dp_linear_query *query = palloc(sizeof(dp_linear_query));
	int64		cell;

	query->text = pstrdup(text);
	query->predicate = truth->weights == NULL;
	query->naxes = truth->naxes;
	query->axes = truth->axes;
	query->size = truth->size;
	query->weights = truth->weights;
	if (!query->predicate)
		return query;
	query->weights = palloc(sizeof(int32) * query->size);
	for (cell = 0; cell < query->size; cell++)
		query->weights[cell] = truth->values[cell] == DP_TRUTH_TRUE ?
			DP_WEIGHT_ONE : 0;
	return query;
}

/*
 * dp_workload_read_query
 *	  The predicate or weight as a table over the axes that it names, in the
 *	  current context.  Unknown does not hold, NULL and NaN weigh nothing.
 *
 * Errors: those of dp_block_read_public_predicate; 54000 when the product of
 * those axes is above DP_UNIVERSE_CELLS; 22023 a weight that is not from 0 to
 * 1; what evaluating it on public values raises.
 */
dp_linear_query *
dp_workload_read_query(const dp_universe *universe, const char *text)
{
	TupleDesc	columns = describe_columns(universe);
	bool		total;
	Node	   *expression;

	expression = dp_block_read_public_predicate(universe->relid, columns,
												text, &total);
	return query_of_truth(dp_workload_make_truth(universe, columns, expression,
												 total),
						  text);
}

/*
 * dp_workload_read_predicate
 *	  See dp_workload.h.  Errors: those above; 0A000 a weight.
 */
dp_linear_query *
dp_workload_read_predicate(const dp_universe *universe, const char *text,
						   const char *what)
{
	dp_linear_query *query = dp_workload_read_query(universe, text);

	if (!query->predicate)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("%s takes predicates, not weights", what),
				 errdetail("\"%s\" is a number, not a condition.", text),
				 errhint("Write a condition, as in 'age < 18'.")));
	return query;
}

/* ---- cells ---- */

/*
 * dp_workload_map
 *	  cells[cell] for every cell of the universe, which must be small enough
 *	  to have an array.
 */
void
dp_workload_map(const dp_universe *universe, const dp_linear_query *query,
				int32 *cells)
{
	int64		strides[DP_UNIVERSE_AXES];
	int64		places[DP_UNIVERSE_AXES] = {0};
	int			last = universe->naxes - 1;
	int64		inner = universe->axes[last]->size;
	int64		from = 0;
	int64		cell;

	dp_workload_strides(universe, universe->naxes, NULL, query->naxes,
						query->axes, strides);
	for (cell = 0; cell < universe->size; cell += inner)
	{
		int64		j;
		int			i;

		for (j = 0; j < inner; j++)
			cells[cell + j] = (int32) (from + j * strides[last]);
		for (i = last - 1; i >= 0; i--)
		{
			from += strides[i];
			if (++places[i] < universe->axes[i]->size)
				break;
			from -= strides[i] * places[i];
			places[i] = 0;
		}
	}
}

/* dp_workload_expand: weights[cell] likewise. */
void
dp_workload_expand(const dp_universe *universe, const dp_linear_query *query,
				   int32 *weights)
{
	int64		cell;

	dp_workload_map(universe, query, weights);
	for (cell = 0; cell < universe->size; cell++)
		weights[cell] = query->weights[weights[cell]];
}

/*
 * dp_workload_reading
 *	  A reading of query->size counts: times their weights they add up to the
 *	  query's granules.  Reads nothing yet.  Errors: dp_reading_of_tables.
 */
dp_reading *
dp_workload_reading(const dp_universe *universe, const dp_linear_query *query)
{
	dp_reading_table table = {query->naxes, query->axes};

	return dp_reading_of_tables(universe->relid, universe->naxes,
								universe->axes, 1, &table);
}

/* ---- marginals ---- */

static void
check_marginals(const dp_universe *universe, int k)
{
	double		tables = 1;
	int			i;

	if (k < 0 || k > universe->naxes)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("marginals must be from 0 to the number of columns, "
						"not %d", k),
				 errdetail("The number of columns is %d.", universe->naxes),
				 errhint("It is the number of columns of each table.")));
	for (i = 0; i < k; i++)
		tables = tables * (universe->naxes - i) / (i + 1);
	if (tables > MARGINALS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("there are too many marginals"),
				 errdetail("There are %.0f tables of %d columns; at most %d "
						   "are allowed.", tables, k, MARGINALS_MAX),
				 errhint("Use smaller marginals, or fewer columns.")));
}

/* The next k of n in lexical order; false after the last. */
static bool
next_axes(int *axes, int k, int n)
{
	int			i = k - 1;
	int			j;

	while (i >= 0 && axes[i] == n - k + i)
		i--;
	if (i < 0)
		return false;
	axes[i]++;
	for (j = i + 1; j < k; j++)
		axes[j] = axes[j - 1] + 1;
	return true;
}

/*
 * dp_workload_marginals
 *	  All tables of k axes of the universe, in lexical order; their number.
 *
 * Errors: 22023 k is negative or larger than the number of axes; 54000 too
 * many tables.
 */
int
dp_workload_marginals(const dp_universe *universe, int k,
					  dp_reading_table **out)
{
	int			axes[DP_UNIVERSE_AXES];
	int			capacity = 16;
	int			n = 0;
	int			i;

	check_marginals(universe, k);
	*out = palloc(sizeof(dp_reading_table) * capacity);
	for (i = 0; i < k; i++)
		axes[i] = i;
	do
	{
		int		   *copy = palloc(sizeof(int) * Max(k, 1));

		memcpy(copy, axes, sizeof(int) * k);
		if (n == capacity)
			*out = repalloc(*out, sizeof(dp_reading_table) * (capacity *= 2));
		(*out)[n].naxes = k;
		(*out)[n++].axes = copy;
	} while (next_axes(axes, k, universe->naxes));
	return n;
}
